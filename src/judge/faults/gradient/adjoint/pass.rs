//! One direction of a scan: its states, forwards, and their cotangents, backwards.

use num_complex::Complex64;

use super::super::variant::{Carry, Clip, Edge, Factor, LastState, Narrow};
use super::{Channel, Pass, Row, Scan, Source, rounded};

impl Channel<'_> {
    /// One direction: its states, and their cotangents.
    pub(super) fn pass(&self, row: &Row, n: usize, scan: &Scan, reversed: bool) -> Pass {
        let Channel { variant, problem, .. } = *self;
        let len = row.u.len();
        let order = |i: usize| if reversed { len - 1 - i } else { i };
        let edge = |l: usize| self.edge(len, l, reversed);
        let mut pass = Pass {
            before: vec![Complex64::ZERO; len],
            after: vec![Complex64::ZERO; len],
            p: vec![Complex64::ZERO; len],
            own: vec![Complex64::ZERO; len],
            initial: Complex64::ZERO,
        };
        let length = variant.edge.map_or(1, |(length, _)| length);
        let is_initial = variant.has_initial && !reversed && len > 0;
        let given = |of: Source, is_there: bool| match is_there {
            true => self.given_at(of, self.at, n, 0),
            false => Complex64::ZERO,
        };
        let initial = given(Source::InitialState, is_initial);
        let mut x = initial;
        // What the forward pass has, which keeps the states that chunks start from.
        let mut kept = x;
        let mut history = vec![x];
        for l in (0..len).map(order) {
            let mut a_bar = scan.steps[l].a_bar;
            match edge(l) {
                Some(Edge::State(factor)) => x *= factor,
                Some(Edge::Stored(to)) => x = rounded(to, kept),
                Some(Edge::InitialStateAgain) => x = initial,
                Some(Edge::StateOfChunkBefore) => x = history[history.len().saturating_sub(length + 1)],
                Some(Edge::StateOneBefore) => x = history[history.len().saturating_sub(2)],
                Some(Edge::StateUndecayed) => a_bar = Complex64::ONE,
                Some(Edge::StateDecayedTwice) => a_bar *= a_bar,
                _ => {}
            }
            pass.before[l] = x;
            let input = scan.steps[l].h * scan.forces[l] * row.u[l];
            x = self.narrowed(Narrow::State, a_bar * x + input);
            kept = scan.steps[l].a_bar * kept + input;
            history.push(kept);
            pass.after[l] = x;
        }
        let last = given(Source::LastState, len > 0);
        let last = if variant.unconjugated == Some(Factor::LastState) { last } else { last.conj() };
        let last = match variant.last_state {
            LastState::Ignored => Complex64::ZERO,
            LastState::InBothScans => last,
            _ if reversed => Complex64::ZERO,
            LastState::Doubled => last * problem.output_factor(),
            LastState::Halved => last * 0.5,
            LastState::Right | LastState::Everywhere => last,
        };
        let everywhere = variant.last_state == LastState::Everywhere && !reversed;
        let direction = self.directions()[usize::from(reversed)];
        let early = problem.reads_before();
        let mut arriving = last;
        for i in (0..len).rev() {
            let l = order(i);
            let read = self.as_conjugated(Factor::C, scan.reads[l]) * (row.read[0][l] * direction);
            let here = if early { Complex64::ZERO } else { read };
            let again = if everywhere && i + 1 < len { last } else { Complex64::ZERO };
            let p = self.narrowed(Narrow::Adjoint, arriving + here + again);
            let p = self.clipped(Clip::Adjoint, p);
            (pass.p[l], pass.own[l]) = (p, here);
            let (is_first, from) = (i == 0, scan.steps[l].a_bar);
            let decay = match (variant.carry[usize::from(reversed)], edge(l)) {
                _ if is_first && !variant.decays_initial => Complex64::ONE,
                _ if is_first => from,
                (Carry::Lost, _) => Complex64::ZERO,
                (Carry::Undecayed, _) | (_, Some(Edge::Undecayed)) => Complex64::ONE,
                (carry, edge) => {
                    let own = scan.steps[order(i - 1)].a_bar;
                    let a_bar = if carry == Carry::Own { own } else { from };
                    match edge {
                        Some(Edge::Adjoint(factor)) => a_bar * factor,
                        Some(Edge::DecayedTwice) => a_bar * a_bar,
                        Some(Edge::DecayedByOwn) => own,
                        Some(Edge::DecayedByEnd) => scan.steps[order((i + length).min(len) - 1)].a_bar,
                        _ => a_bar,
                    }
                }
            };
            arriving = self.as_conjugated(Factor::ABar, decay) * p;
            match edge(l) {
                Some(Edge::LastStateAgain) => arriving += last,
                Some(Edge::AdjointStored(to)) => arriving = rounded(to, arriving),
                _ => {}
            }
            if early {
                arriving += read;
            }
        }
        if let Some((reach, Edge::Reach)) = variant.edge.filter(|_| variant.edge_in[usize::from(reversed)]) {
            for i in 0..len {
                let end = (i + reach).min(len);
                let from = if end == len { last } else { Complex64::ZERO };
                let step = |p: Complex64, j: usize| pass.own[order(j)] + p;
                pass.p[order(i)] = (i..end).rev().fold(from, |p, j| {
                    let here = step(p, j);
                    if j > i { scan.steps[order(j)].a_bar * here } else { here }
                });
            }
        }
        pass.initial = arriving;
        pass
    }
}

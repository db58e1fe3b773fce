//! One direction of a scan: its states, forwards, and their cotangents, backwards.

use num_complex::Complex64;

use super::super::structure::{By, Field, Site};
use super::super::variant::{Carry, Clip, Edge, Factor, LastState, Narrow};
use super::step::changed;
use super::{Channel, Pass, Row, Scan, Source, rounded};
use crate::problem::Shape;

impl Channel<'_> {
    /// One direction: its states, and their cotangents.
    pub(super) fn pass(&self, row: &Row, n: usize, scan: &Scan, reversed: bool) -> Pass {
        self.pass_from(self.left_behind(n, row.u.len(), reversed), (row, scan), n, reversed)
    }

    /// What the batch's items before have left for the states and for their cotangents to start from: nothing, as a rule.
    pub(super) fn left_behind(&self, n: usize, len: usize, reversed: bool) -> [Complex64; 2] {
        let [states, adjoint] = [Site::StatesStart, Site::AdjointStart].map(|site| self.swaps(site).next());
        let mut left = [Complex64::ZERO; 2];
        if states.is_none() && adjoint.is_none() {
            return left;
        }
        let order = |i: usize| if reversed { len - 1 - i } else { i };
        for item in 0..self.at.0 {
            let before = Channel { at: (item, self.at.1), ..*self };
            let row = before.row(len);
            let pass = before.pass_from(left, (&row, &before.scan(&row, n)), n, reversed);
            left = [
                states.map_or(Complex64::ZERO, |by| match by {
                    By::Stale => pass.after[order(len - 1)],
                    _ => pass.before[order(len - 1)],
                }),
                adjoint.map_or(Complex64::ZERO, |by| match by {
                    By::Stale => pass.initial,
                    _ => pass.p[order(0)],
                }),
            ];
        }
        left
    }

    pub(super) fn pass_from(
        &self,
        [states_start, adjoint_start]: [Complex64; 2],
        (row, scan): (&Row, &Scan),
        n: usize,
        reversed: bool,
    ) -> Pass {
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
        // Gradients themselves are multiplied by conjugates.
        let field = |site: Site, of: Field, l: usize| match scan.field(row, of, l) {
            value if site == Site::LastState => value.conj(),
            value => value,
        };
        let state_at = |site: Site, of: Source, l: usize| {
            let mut value = self.given_at(of, self.at, n, 0);
            for by in self.swaps(site) {
                let Shape { dim, dstate, .. } = problem.shape;
                let elsewhere = match by {
                    By::Of(axis, map) => Some(self.moved(self.at, n, axis, map)),
                    By::Strides => {
                        let flat = n * dim + self.at.1;
                        Some(((self.at.0, flat / dstate), flat % dstate))
                    }
                    _ => None,
                };
                value = match elsewhere {
                    Some((at, n)) => self.given_at(of, at, n, 0),
                    None => changed(by, value, |of| field(site, of, l)),
                };
            }
            value
        };
        let length = variant.edge.map_or(1, |(length, _)| length);
        let is_initial = variant.has_initial && !reversed && len > 0;
        let initial =
            if is_initial { state_at(Site::InitialState, Source::InitialState, 0) } else { Complex64::ZERO };
        let mut x = initial + states_start;
        // What the forward pass has, which keeps the states that chunks start from.
        let mut kept = x;
        let mut history = vec![x];
        for l in (0..len).map(order) {
            let mut a_bar = scan.a_bar[l];
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
            let input = scan.h[l] * scan.forces[l] * row.u_at[0][l];
            x = self.narrowed(Narrow::State, a_bar * x + input);
            kept = scan.a_bar[l] * kept + input;
            history.push(kept);
            pass.after[l] = x;
        }
        let last =
            if len == 0 { Complex64::ZERO } else { state_at(Site::LastState, Source::LastState, len - 1) };
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
        let mut arriving = last + adjoint_start;
        for i in (0..len).rev() {
            let l = order(i);
            let read = self.as_conjugated(Factor::C, scan.reads[l]) * (row.read[0][l] * direction);
            let here = if early { Complex64::ZERO } else { read };
            let again = if everywhere && i + 1 < len { last } else { Complex64::ZERO };
            let p = self.narrowed(Narrow::Adjoint, arriving + here + again);
            let p = self.clipped(Clip::Adjoint, p);
            (pass.p[l], pass.own[l]) = (p, here);
            let (is_first, from) = (i == 0, scan.decays[l]);
            let decay = match (variant.carry[usize::from(reversed)], edge(l)) {
                _ if is_first && !variant.decays_initial => Complex64::ONE,
                _ if is_first => from,
                (Carry::Lost, _) => Complex64::ZERO,
                (Carry::Undecayed, _) | (_, Some(Edge::Undecayed)) => Complex64::ONE,
                (carry, edge) => {
                    let own = scan.decays[order(i - 1)];
                    let a_bar = if carry == Carry::Own { own } else { from };
                    match edge {
                        Some(Edge::Adjoint(factor)) => a_bar * factor,
                        Some(Edge::DecayedTwice) => a_bar * a_bar,
                        Some(Edge::DecayedByOwn) => own,
                        Some(Edge::DecayedByEnd) => scan.decays[order((i + length).min(len) - 1)],
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
                    if j > i { scan.decays[order(j)] * here } else { here }
                });
            }
        }
        pass.initial = arriving;
        if len > 0 && self.swaps(Site::InitialGradient).next().is_some() {
            let arriving: Vec<Complex64> =
                (0..len).map(|i| scan.decays[order(i)] * pass.p[order(i)]).collect();
            let field = |of: Field, l: usize| scan.field(row, of, l);
            pass.initial =
                self.at_site(Site::InitialGradient, Source::Computed, n, arriving.into(), &field)[0];
        }
        pass
    }
}

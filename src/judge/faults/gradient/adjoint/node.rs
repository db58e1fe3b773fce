//! What one state adds to each gradient: products of states and cotangents.

use num_complex::Complex64;

use super::super::variant::{Edge, Factor, Input, ReversedState};
use super::{Channel, Node, Pass, Row};
use crate::tensor::GradientName::{A, B, C, Delta, DeltaBias, U, Z};

impl Channel<'_> {
    pub(super) fn node(&self, row: &Row, n: usize) -> Node {
        let Channel { variant, problem, .. } = *self;
        let (seqlen, len) = (problem.shape.seqlen, row.u.len());
        let with_b = problem.reads_with_b();
        let scan = self.scan(row, n);
        let a = scan.a;
        let passes: Vec<Pass> = [false, true][..1 + usize::from(variant.bidirectional)]
            .iter()
            .map(|&reversed| self.pass(row, n, &scan, reversed))
            .collect();
        fn before(pass: &Pass) -> &[Complex64] {
            &pass.before
        }
        fn after(pass: &Pass) -> &[Complex64] {
            &pass.after
        }
        let read = |is_before: bool| if is_before { before } else { after };
        let in_y = read(problem.reads_before());
        let in_c = read(problem.reads_before() != variant.c_reads_before);
        // Of all else, too, only what is wanted is computed.
        let wanted = [self.wants(&[Delta, DeltaBias]), self.wants(&[A])];
        let [of_u, of_b, of_c, of_z] = [U, B, C, Z].map(|name| self.wants(&[name]));
        let of_steps = wanted[0] || wanted[1];

        let by = |factor: Factor, value: Complex64| self.as_conjugated(factor, value);
        let weight = |input: Input, l: usize| match input {
            Input::Right => scan.steps[l].h,
            Input::WithoutDelta if row.step[l] == 0.0 => Complex64::ZERO,
            Input::WithoutDelta => scan.steps[l].h / row.step[l],
            Input::Missing => Complex64::ONE,
        };
        let mut node = Node {
            y: vec![0.0; len],
            u: vec![0.0; len],
            delta: vec![0.0; len],
            a: vec![],
            b: vec![Complex64::ZERO; len],
            c: vec![Complex64::ZERO; len],
            initial: passes[0].initial,
        };
        let (pick, chunk) = variant.positions;
        let one = variant.of_positions().is_none();
        node.a.extend(one.then_some(Complex64::ZERO));
        for l in 0..len {
            let [mut by_a_bar, mut seen, mut y] = [Complex64::ZERO; 3];
            for (i, (pass, direction)) in passes.iter().zip(self.directions()).enumerate() {
                let side = if i == 0 { ReversedState::Right } else { variant.reversed_state };
                let multiplied = match side {
                    ReversedState::Right if self.edge(len, l, i == 1) == Some(Edge::Unread) => {
                        Complex64::ZERO
                    }
                    ReversedState::Right
                        if variant.a_bar_reads_after
                            || self.edge(len, l, i == 1) == Some(Edge::ReadsAfter) =>
                    {
                        pass.after[l]
                    }
                    ReversedState::Right => pass.before[l],
                    ReversedState::OtherSide if l == 0 => Complex64::ZERO,
                    ReversedState::OtherSide => pass.after[l - 1],
                    ReversedState::Forward => passes[0].before[l],
                };
                by_a_bar += pass.p[l] * by(Factor::State, multiplied);
                y += in_y(pass)[l] * direction;
                seen += in_c(pass)[l] * direction;
            }
            let p = passes.iter().map(|pass| pass.p[l]).sum::<Complex64>();
            if of_z {
                node.y[l] = (scan.reads[l] * y).re;
            }
            if of_u {
                let at = l.checked_add_signed(variant.u_b_offset).filter(|&at| at < len);
                let force = if variant.u_has_b {
                    at.map_or(Complex64::ZERO, |at| scan.forces[at])
                } else {
                    Complex64::ONE
                };
                let weighted = by(Factor::Input, weight(variant.u_input, l)) * by(Factor::B, force);
                node.u[l] = (p * weighted).re;
            }
            if of_b || of_c {
                let by_reads = seen * row.read[1][l];
                let u = if variant.b_has_u { row.u[l] } else { 1.0 };
                (node.b[l], node.c[l]) = match with_b {
                    true => (by_reads * scan.c[l], by_reads * scan.b[l]),
                    false if of_b => {
                        let weight = by(Factor::Input, weight(variant.b_input, l));
                        (p * weight * u, by_reads)
                    }
                    false => (Complex64::ZERO, by_reads),
                };
            }
            if row.is_dropped[l] || !of_steps {
                continue;
            }
            let by_h = p * by(Factor::B, scan.forces[l]) * row.u[l];
            let step = &scan.steps[l];
            let shares = |i: usize| {
                let mut slopes = [step.a_bar_by[i], step.h_by[i]].map(|slope| by(Factor::Slopes, slope));
                slopes[0] = by(Factor::ABarSlopes, slopes[0]);
                slopes[1] = by(Factor::InputSlopes, slopes[1]);
                if i == 0 && variant.unconjugated == Some(Factor::A) && a != Complex64::ZERO {
                    slopes[0] *= a.conj() / a;
                }
                [by_a_bar * slopes[0], by_h * slopes[1]]
            };
            let of = |[a_bar, h]: [Complex64; 2], factors: [f64; 2]| a_bar * factors[0] + h * factors[1];
            if wanted[0] {
                node.delta[l] = of(shares(0), variant.delta_shares).re;
            }
            if wanted[1] && pick.has(l, seqlen, chunk) {
                let of_a = of(shares(1), variant.a_shares);
                if one { node.a[0] += of_a } else { node.a.push(of_a) }
            }
        }
        node
    }
}

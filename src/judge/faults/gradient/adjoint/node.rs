//! What one state adds to each gradient: products of states and cotangents.

use std::borrow::Cow;

use num_complex::Complex64;

use super::super::structure::{By, Field, Sides, Site, Swap};
use super::super::variant::{Edge, Factor, Input, ReversedState, Variant};
use super::{Channel, Node, Pass, Row, Source};
use crate::tensor::GradientName::{A, B, C, Delta, DeltaBias, U, Z};

impl Channel<'_> {
    /// States or cotangents of each direction as a place has them.
    pub(super) fn sides<'v>(
        &self,
        site: Site,
        passes: &'v [Pass],
        of: impl Fn(&'v Pass) -> &'v [Complex64],
        field: &dyn Fn(Field, usize) -> Complex64,
    ) -> Vec<Cow<'v, [Complex64]>> {
        let mut sides: Vec<Cow<[Complex64]>> = passes.iter().map(|pass| of(pass).into()).collect();
        for by in self.swaps(site).filter(|_| !passes[0].p.is_empty()) {
            let nothing = || Cow::from(vec![Complex64::ZERO; passes[0].p.len()]);
            match by {
                By::Own => sides = passes.iter().map(|pass| (&pass.own[..]).into()).collect(),
                By::Carried => {
                    let carried =
                        |pass: &Pass| pass.p.iter().zip(&pass.own).map(|(p, own)| p - own).collect();
                    sides = passes.iter().map(carried).collect();
                }
                By::Sides(_) if sides.len() < 2 => {}
                By::Sides(Sides::ForwardAlone) => sides[1] = nothing(),
                By::Sides(Sides::ReversedAlone) => sides[0] = nothing(),
                By::Sides(Sides::ForwardForBoth) => sides[1] = sides[0].clone(),
                By::Sides(Sides::ReversedForBoth) => sides[0] = sides[1].clone(),
                By::Sides(Sides::Exchanged) => sides.swap(0, 1),
                By::StartsWithZero => sides[0].to_mut()[0] = Complex64::ZERO,
                By::StartsWithLast => {
                    let last = passes[0].after.last().copied().unwrap_or_default();
                    sides[0].to_mut()[0] = last;
                }
                By::StartsWithOwn => sides[0].to_mut()[0] = passes[0].after[0],
                _ => {}
            }
        }
        sides.into_iter().map(|side| self.at_site(site, Source::Computed, 0, side, field)).collect()
    }

    /// Without the changes of one direction, for the other one.
    pub(super) fn in_other_direction(&self, reversed: bool) -> Option<Variant> {
        let is_other = |swap: &Swap| swap.side.is_some_and(|side| side != reversed);
        let swaps = self.variant.swaps;
        let kept = swaps.map(|swap| swap.filter(|swap| !is_other(swap)));
        (kept != swaps).then_some(Variant { swaps: kept, ..*self.variant })
    }

    pub(super) fn node(&self, row: &Row, n: usize) -> Node {
        let Channel { variant, problem, .. } = *self;
        let (seqlen, len) = (problem.shape.seqlen, row.u.len());
        let with_b = problem.reads_with_b();
        let scan = self.scan(row, n);
        let a = scan.a;
        let passes: Vec<Pass> = [false, true][..1 + usize::from(variant.bidirectional)]
            .iter()
            .map(|&reversed| match self.in_other_direction(reversed) {
                // A change of one direction leaves the other as it is.
                Some(variant) => {
                    let plain = Channel { variant: &variant, ..*self };
                    let row = plain.row(len);
                    plain.pass(&row, n, &plain.scan(&row, n), reversed)
                }
                None => self.pass(row, n, &scan, reversed),
            })
            .collect();
        let field = |of: Field, l: usize| scan.field(row, of, l);
        let [p_in_u, p_in_b, p_in_a_bar, p_in_h] =
            [Site::AdjointInU, Site::AdjointInB, Site::AdjointInABar, Site::AdjointInH]
                .map(|site| self.sides(site, &passes, |pass| &pass.p, &field));
        let states = self.sides(Site::StateInABar, &passes, |pass| &pass.before, &field);
        let read = |site: Site, before: bool| {
            self.sides(site, &passes, move |pass| if before { &pass.before } else { &pass.after }, &field)
        };
        let states_in_y = read(Site::StateInOutput, problem.reads_before());
        let states_in_c = read(Site::StateInC, problem.reads_before() != variant.c_reads_before);
        // Of Ā and h, by Δ and by A.
        let slopes = [[Site::ABarByDelta, Site::HByDelta], [Site::ABarByA, Site::HByA]];
        let wanted = [self.wants(&[Delta, DeltaBias]), self.wants(&[A])];
        // Of all else, too, only what is wanted is computed.
        let [of_u, of_b, of_c, of_z] = [U, B, C, Z].map(|name| self.wants(&[name]));
        let of_steps = wanted[0] || wanted[1];
        let reads_in_y = if of_z { self.reads(Site::CInOutput, row, n, &scan) } else { vec![] };
        let [forces_in_h, forces_in_u] = [(Site::BInShare, of_steps), (Site::BInU, of_u)]
            .map(|(site, wanted)| if wanted { self.forces(site, row, n, &scan) } else { vec![] });
        let [h_in_u, h_in_b] =
            [(Site::HInU, of_u), (Site::HInB, of_b && !with_b)].map(|(site, wanted)| match wanted {
                true => self.coefficients(site, row, n, &scan, |step| step.h),
                false => vec![],
            });
        let slopes: [[Vec<Complex64>; 2]; 2] = std::array::from_fn(|i| {
            let [of_a_bar, of_h] = slopes[i];
            if !wanted[i] {
                return [vec![], vec![]];
            }
            [
                self.coefficients(of_a_bar, row, n, &scan, |step| step.a_bar_by[i]),
                self.coefficients(of_h, row, n, &scan, |step| step.h_by[i]),
            ]
        });

        let by = |factor: Factor, value: Complex64| self.as_conjugated(factor, value);
        let weight = |input: Input, h: &[Complex64], l: usize| match input {
            Input::Right => h[l],
            Input::WithoutDelta if row.step[l] == 0.0 => Complex64::ZERO,
            Input::WithoutDelta => h[l] / row.step[l],
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
                    ReversedState::Right => states[i][l],
                    ReversedState::OtherSide if l == 0 => Complex64::ZERO,
                    ReversedState::OtherSide => pass.after[l - 1],
                    ReversedState::Forward => passes[0].before[l],
                };
                by_a_bar += p_in_a_bar[i][l] * by(Factor::State, multiplied);
                y += states_in_y[i][l] * direction;
                seen += states_in_c[i][l] * direction;
            }
            let summed = |of: &[Cow<[Complex64]>]| of.iter().map(|values| values[l]).sum::<Complex64>();
            if of_z {
                node.y[l] = (reads_in_y[l] * y).re;
            }
            if of_u {
                let at = l.checked_add_signed(variant.u_b_offset).filter(|&at| at < len);
                let force = if variant.u_has_b {
                    at.map_or(Complex64::ZERO, |at| forces_in_u[at])
                } else {
                    Complex64::ONE
                };
                let weighted = by(Factor::Input, weight(variant.u_input, &h_in_u, l)) * by(Factor::B, force);
                node.u[l] = (summed(&p_in_u) * weighted).re;
            }
            if of_b || of_c {
                let by_reads = seen * row.read[1][l];
                let u = if variant.b_has_u { row.u_at[2][l] } else { 1.0 };
                (node.b[l], node.c[l]) = match with_b {
                    true => (by_reads * scan.c[l], by_reads * scan.b[l]),
                    false if of_b => {
                        let weight = by(Factor::Input, weight(variant.b_input, &h_in_b, l));
                        (summed(&p_in_b) * weight * u, by_reads)
                    }
                    false => (Complex64::ZERO, by_reads),
                };
            }
            if row.is_dropped[l] || !of_steps {
                continue;
            }
            let by_h = summed(&p_in_h) * by(Factor::B, forces_in_h[l]) * row.u_at[1][l];
            let shares = |i: usize| {
                let mut slopes = [&slopes[i][0], &slopes[i][1]].map(|slopes| by(Factor::Slopes, slopes[l]));
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

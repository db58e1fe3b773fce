//! What one channel adds to each gradient.

use num_complex::Complex64;

use super::super::variant::{GateSlope, Length, Misread, Over};
use super::{Channel, Node, Share, Source, sigmoid};
use crate::problem::{Operand, Shape};
use crate::tensor::GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};

impl Channel<'_> {
    /// Of all states, or of one.
    pub(super) fn shares(&self, only: Option<usize>) -> Vec<Share> {
        let Channel { variant, problem, at: (batch, d), .. } = *self;
        let Shape { batch: batches, dim, dstate, seqlen, groups } = problem.shape;
        let len = match variant.length {
            Length::Right => seqlen,
            Length::PaddedTo(tile) => seqlen.next_multiple_of(tile),
            Length::CutTo(tile) => seqlen / tile * tile,
            Length::WithoutLast => seqlen - 1,
        };
        let start = problem.sequence_index(batch, d, 0);
        let row = self.row(len);
        let half = if variant.bidirectional { 0.5 } else { 1.0 };
        let factor = problem.output_factor() * half;
        let skip = problem.d.as_ref().map_or(0.0, |values| f64::from(values[d]));
        let states: Vec<usize> = only.map_or((0..dstate).collect(), |n| vec![n]);
        let nodes: Vec<Node> = states.iter().map(|&n| self.node(&row, n)).collect();

        let there = len.min(seqlen);
        let sum = |of: fn(&Node) -> &Vec<f64>, picks: bool| -> Vec<f64> {
            let kept = states.iter().zip(&nodes);
            let kept = kept.filter(|&(&n, _)| !picks || variant.states.has(n, dstate, 1));
            let narrow = variant.sum_over(Over::States).filter(|_| picks);
            let add = |sum: f64, value: f64| narrow.map_or(sum + value, |of| of.add(sum, value));
            kept.fold(vec![0.0; len], |mut sums, (_, node)| {
                sums.iter_mut().zip(of(node)).for_each(|(sum, value)| *sum = add(*sum, *value));
                sums
            })
        };
        let (pick, chunk) = variant.positions;
        let is_summed = |l: &usize| pick.has(*l, seqlen, chunk);
        let mut du = sum(|node| &node.u, true);
        let mut ddelta = sum(|node| &node.delta, true);
        for l in 0..len {
            du[l] += variant.skip * skip * row.gated[1][l];
            ddelta[l] *= row.slope[l];
        }
        let of_d = |l: usize| row.gated[2][l] * if variant.d_has_u { row.u[l] } else { 1.0 };
        let mut shares = vec![];
        let own = |name| problem.gradient_index(name, self.at);
        // What each position adds, where their order matters.
        let summed = |values: Vec<f64>| -> Vec<f64> {
            let kept = values.iter().enumerate().filter(|(l, _)| is_summed(l)).map(|(_, value)| *value);
            if variant.of_positions().is_some() { kept.collect() } else { vec![kept.sum()] }
        };
        if variant.batch.has(batch, batches, 1) {
            shares.push((DeltaBias, own(DeltaBias), summed(ddelta.clone())));
            shares.push((D, own(D), summed((0..len).map(of_d).collect())));
        }
        if problem.z.is_some() && self.wants(&[Z]) {
            let y = sum(|node| &node.y, false);
            let z = self.inputs(Source::Z, len);
            let slope = |l: usize| {
                let (z, silu) = (z[l], row.gate[l]);
                match variant.gate_slope {
                    GateSlope::Right => sigmoid(z) * (1.0 + z * sigmoid(-z)),
                    GateSlope::Sigmoid => sigmoid(z),
                    GateSlope::Silu => silu,
                    GateSlope::OfSigmoid => sigmoid(z) * sigmoid(-z),
                    GateSlope::SignSlip => sigmoid(z) * (1.0 - z * sigmoid(-z)),
                    GateSlope::Parenthesis => sigmoid(z) * (1.0 + z) * sigmoid(-z),
                    GateSlope::WithoutComplement => sigmoid(z) * (1.0 + z),
                    GateSlope::Sum => sigmoid(z) + z * sigmoid(-z),
                    GateSlope::WithoutSigmoid => 1.0 + z * sigmoid(-z),
                    GateSlope::Missing => 1.0,
                }
            };
            let dout = self.inputs(Source::Dout, len);
            let of_z = |l: usize| {
                let s = variant.gated[0] * factor * y[l] + variant.gated[1] * skip * row.u[l];
                dout[l] * s * row.gate[l].powi(i32::from(variant.gated_output)) * slope(l)
            };
            shares.push((Z, start, (0..there).map(of_z).collect()));
        }
        du.truncate(there);
        ddelta.truncate(there);
        shares.extend([(U, start, du), (Delta, own(Delta), ddelta)]);
        let width = problem.weights.width();
        let parts = |p: &Complex64| [p.re, -p.im].into_iter().take(width);
        for (&n, node) in states.iter().zip(&nodes) {
            if variant.batch.has(batch, batches, 1) {
                // One A of all states collects from all of them.
                let of_state = if problem.shared_by(A).is_some() { 0 } else { n * width };
                shares.push((A, own(A) + of_state, node.a.iter().flat_map(parts).collect()));
            }
            for (name, operand, by) in [(B, problem.b_operand, &node.b), (C, problem.c_operand, &node.c)] {
                let at = self.place(name, Misread::SumInModuloGroup);
                let start = problem.operand_index(operand, at, n, 0);
                let per_group = dim / groups;
                match operand {
                    Operand::Constant if variant.batch.has(batch, batches, 1) => {
                        let kept = (0..len).filter(is_summed).map(|l| by[l]);
                        let kept: Vec<Complex64> = match variant.of_positions() {
                            Some(_) => kept.collect(),
                            None => vec![kept.sum()],
                        };
                        shares.push((name, start, kept.iter().flat_map(parts).collect()));
                    }
                    Operand::Variable if variant.group.has(d % per_group, per_group, 1) => {
                        shares.push((name, start, by[..there].iter().flat_map(parts).collect()));
                    }
                    _ => {}
                }
            }
            shares.push((InitialState, problem.state_index(self.at, n), parts(&node.initial).collect()));
        }
        shares
    }
}

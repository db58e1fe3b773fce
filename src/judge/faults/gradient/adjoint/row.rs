//! What the states of a channel share: its inputs, Δ, gates and what is read of the outputs.

use super::super::variant::{Narrow, SoftplusSlope};
use super::{Channel, Row, Source, sigmoid, softplus};
use crate::tensor::GradientName::Delta;

impl Channel<'_> {
    pub(super) fn row(&self, len: usize) -> Row {
        let Channel { variant, problem, .. } = *self;
        let bias = problem.delta_bias.as_ref().map_or(0.0, |values| f64::from(values[self.at.1]));
        let raw = self.deltas(self.read_at(Delta), len);
        let slope = |raw: f64| {
            let biased = raw + bias;
            match variant.softplus_slope {
                SoftplusSlope::Missing => 1.0,
                _ if !problem.delta_softplus => 1.0,
                SoftplusSlope::Right => sigmoid(biased),
                SoftplusSlope::WithoutBias => sigmoid(raw),
                SoftplusSlope::OfDelta => sigmoid(softplus(biased)),
                SoftplusSlope::Squared => sigmoid(biased).powi(2),
                SoftplusSlope::Softplus => softplus(biased),
            }
        };
        let limit = problem.conventions.limit;
        let unlimited = |raw: f64| if problem.delta_softplus { softplus(raw + bias) } else { raw + bias };
        let step = |raw: f64| limit.of(unlimited(raw));
        let u = self.inputs(Source::U, len);
        let z = self.inputs(Source::Z, len);
        let has_gate = problem.z.is_some();
        let dout = self.inputs(Source::Dout, len);
        let gate: Vec<f64> = z.iter().map(|&z| if has_gate { z * sigmoid(z) } else { 1.0 }).collect();
        let gated = variant.gates.map(|times| {
            let ds = dout.iter().zip(&gate).map(|(dout, gate)| dout * gate.powi(i32::from(times)));
            ds.map(|ds| self.narrowed(Narrow::Gated, ds.into()).re).collect::<Vec<f64>>()
        });
        let half = if variant.bidirectional { 0.5 } else { 1.0 };
        let factor = problem.output_factor().powi(i32::from(variant.output_factors)) * half;
        let read = variant.douts.map(|dout| gated[0].iter().map(|ds| ds * factor * dout).collect());
        Row {
            step: raw.iter().map(|&raw| step(raw)).collect(),
            slope: raw.iter().map(|&raw| slope(raw) * limit.slope(unlimited(raw))).collect(),
            gate,
            gated,
            read,
            is_dropped: (0..len).map(|l| variant.drops_masked && u[l] == 0.0 && raw[l] == 0.0).collect(),
            u,
        }
    }

    pub(super) fn deltas(&self, at: (usize, usize), len: usize) -> Vec<f64> {
        let Channel { problem, .. } = *self;
        let there = |l: usize| f64::from(problem.delta[problem.sequence_index(at.0, at.1, l)]);
        (0..len).map(|l| if l < problem.shape.seqlen { there(l) } else { 0.0 }).collect()
    }
}

//! What the states of a channel share: its inputs, Δ, gates and what is read of the outputs.

use num_complex::Complex64;

use super::super::structure::{Axis, By, Field, Gate, Map, Site, StepSize};
use super::super::variant::{Narrow, SoftplusSlope};
use super::{Channel, Row, Source, sigmoid, softplus};
use crate::tensor::GradientName::Delta;

impl Row {
    pub(super) fn field(&self, field: Field, l: usize) -> Complex64 {
        match field {
            Field::Delta => self.step[l],
            Field::DeltaSquared => self.step[l].powi(2),
            Field::DeltaCubed => self.step[l].powi(3),
            Field::U => self.u[l],
            Field::SoftplusSlope => self.slope[l],
            Field::Gate => self.gate[l],
            _ => 1.0,
        }
        .into()
    }
}

impl Channel<'_> {
    pub(super) fn row(&self, len: usize) -> Row {
        let Channel { variant, problem, .. } = *self;
        let mut bias = problem.delta_bias.as_ref().map_or(0.0, |values| f64::from(values[self.at.1]));
        let mut raw = self.deltas(self.read_at(Delta), len);
        for by in self.swaps(Site::Deltas) {
            raw = match by {
                By::At(offset) => {
                    let at = |l: usize| l.checked_add_signed(offset).and_then(|l| raw.get(l).copied());
                    (0..len).map(|l| at(l).unwrap_or_default()).collect()
                }
                By::Of(Axis::Position, Map::Within(length)) => {
                    (0..len).map(|l| raw[l % usize::from(length)]).collect()
                }
                By::Of(Axis::Position, _) => raw.into_iter().rev().collect(),
                By::Of(axis, map) => self.deltas(self.moved(self.at, 0, axis, map).0, len),
                By::Narrow(to) => raw.into_iter().map(|raw| f64::from(to.round(raw as f32))).collect(),
                _ => raw,
            };
            bias = if by == By::Step(StepSize::WithoutBias) { 0.0 } else { bias };
        }
        let (raw, bias) = (raw, bias);
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
        let gate = z.iter().map(|&z| if has_gate { z * sigmoid(z) } else { 1.0 }).collect();
        let is_dropped = (0..len).map(|l| variant.drops_masked && u[l] == 0.0 && raw[l] == 0.0).collect();
        let mut row = Row {
            step: raw.iter().map(|&raw| step(raw)).collect(),
            slope: raw.iter().map(|&raw| slope(raw)).collect(),
            u_at: Default::default(),
            gated: Default::default(),
            read: Default::default(),
            raw,
            bias,
            gate,
            is_dropped,
            u,
        };
        let mut slope = self.row_at(Site::SoftplusSlope, Source::Computed, &row, row.slope.clone());
        for by in self.swaps(Site::SoftplusSlope) {
            let of = |slope: f64, x: f64| match by {
                By::OneAbove(from) if x > f64::from(from) => 1.0,
                By::Complement => sigmoid(-x),
                By::OfSigmoid => sigmoid(x) * sigmoid(-x),
                _ => slope,
            };
            slope.iter_mut().zip(&row.raw).for_each(|(slope, raw)| *slope = of(*slope, raw + bias));
        }
        slope.iter_mut().zip(&row.raw).for_each(|(slope, raw)| *slope *= limit.slope(unlimited(*raw)));
        row.slope = slope;
        let u_sites = [Site::UInStates, Site::UInShare, Site::UInB];
        row.u_at = u_sites.map(|site| self.row_at(site, Source::U, &row, row.u.clone()));
        let dout = self.inputs(Source::Dout, len);
        let gated = |(gate, of_dout, times): (Site, Site, u8)| -> Vec<f64> {
            let gates = self.gates(gate, &row, &z);
            let dout = self.row_at(of_dout, Source::Dout, &row, dout.clone());
            let ds = dout.iter().zip(gates).map(|(dout, gate)| dout * gate.powi(i32::from(times)));
            ds.map(|ds| self.narrowed(Narrow::Gated, ds.into()).re).collect()
        };
        let [scan, skip, of_d] = variant.gates;
        row.gated = [
            (Site::GateInAdjoint, Site::DoutInAdjoint, scan),
            (Site::GateInSkip, Site::DoutInSkip, skip),
            (Site::GateInD, Site::DoutInD, of_d),
            (Site::GateInC, Site::DoutInC, scan),
        ]
        .map(gated);
        let half = if variant.bidirectional { 0.5 } else { 1.0 };
        let factor = problem.output_factor().powi(i32::from(variant.output_factors)) * half;
        row.read = [(0, Site::DoutInAdjoint), (3, Site::DoutInC)].map(|(consumer, site)| {
            let of = |factor: f64, by: By| match by {
                By::WithoutFactor => factor / problem.output_factor(),
                By::WithoutHalf => factor / half,
                _ => factor,
            };
            let factor = self.swaps(site).fold(factor, of);
            let site = if consumer == 0 { Site::OutputInAdjoint } else { Site::OutputInC };
            let gated = self.row_at(site, Source::Computed, &row, row.gated[consumer].clone());
            gated.into_iter().map(|ds| ds * factor).collect()
        });
        row
    }

    pub(super) fn deltas(&self, at: (usize, usize), len: usize) -> Vec<f64> {
        let Channel { problem, .. } = *self;
        let there = |l: usize| f64::from(problem.delta[problem.sequence_index(at.0, at.1, l)]);
        (0..len).map(|l| if l < problem.shape.seqlen { there(l) } else { 0.0 }).collect()
    }

    /// The gate as a place has it.
    pub(super) fn gates(&self, site: Site, row: &Row, z: &[f64]) -> Vec<f64> {
        let mut gates = row.gate.clone();
        for by in self.swaps(site) {
            let of = |of: &dyn Fn(f64) -> f64| z.iter().map(|&z| of(z)).collect::<Vec<f64>>();
            gates = match by {
                By::Gate(Gate::Sigmoid) => of(&sigmoid),
                By::Gate(Gate::Argument) => of(&|z| z),
                By::Gate(Gate::Slope) => of(&|z| sigmoid(z) * (1.0 + z * sigmoid(-z))),
                By::Of(axis @ (Axis::Batch | Axis::Channel), map) => {
                    let (at, _) = self.moved(self.at, 0, axis, map);
                    let z = |l: usize| self.given_at(Source::Z, at, 0, l).re;
                    (0..gates.len()).map(|l| z(l) * sigmoid(z(l))).collect()
                }
                _ => gates,
            };
        }
        self.row_at(site, Source::Computed, row, gates)
    }

    /// Δ as another step size has it.
    pub(super) fn resized(&self, size: StepSize, row: &Row) -> Vec<f64> {
        let has_softplus = self.problem.delta_softplus;
        let limit = self.problem.conventions.limit;
        let step = |x: f64| limit.of(if has_softplus { softplus(x) } else { x });
        let len = row.raw.len();
        let of_raw = |of: &dyn Fn(f64) -> f64| row.raw.iter().map(|&raw| of(raw)).collect();
        match size {
            StepSize::WithoutBias => of_raw(&step),
            StepSize::WithoutSoftplus => of_raw(&|raw| limit.of(raw + row.bias)),
            StepSize::Raw => of_raw(&|raw| limit.of(raw)),
            StepSize::PlainAbove(from) => of_raw(&|raw| {
                if raw + row.bias > f64::from(from) { limit.of(raw + row.bias) } else { step(raw + row.bias) }
            }),
            StepSize::At(offset) => {
                let at = |l: usize| l.checked_add_signed(offset).and_then(|l| row.step.get(l).copied());
                (0..len).map(|l| at(l).unwrap_or_default()).collect()
            }
            StepSize::Of(axis, map) => {
                let (at, _) = self.moved(self.at, 0, axis, map);
                self.deltas(at, len).into_iter().map(|raw| step(raw + row.bias)).collect()
            }
            StepSize::Narrow(to) => row.step.iter().map(|&step| f64::from(to.round(step as f32))).collect(),
        }
    }
}

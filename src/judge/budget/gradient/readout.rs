//! What stands around a channel's states: Δ and its slope, skip and gate, and the gradients that they take part in.

use super::channel::Channel;
use super::total::Total;
use crate::judge::budget::{limit_slope, silu, step_size};
use crate::problem::Stage;
use crate::problem::stages::Fast;
use crate::promise::allowance::Arithmetic;

/// One position.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Δ, and its relative error.
    pub delta: (f64, f64),
    /// Its derivative by delta, and that one's error.
    pub slope: (f64, f64),
    pub u: f64,
    /// ∂L/∂(y + D·u), and its error.
    pub ungated: (f64, f64),
    /// The same by Re Σ C x.
    pub read: (f64, f64),
}

/// A channel's positions.
pub struct Readout<'a> {
    channel: &'a Channel<'a>,
    pub steps: Vec<Position>,
    /// What y is of Re Σ C x.
    scale: f64,
}

impl<'a> Readout<'a> {
    pub fn new(channel: &'a Channel<'a>) -> Self {
        let Channel { problem, given, at, contract, form, .. } = *channel;
        let directions = if form.is_bidirectional() { 2.0 } else { 1.0 };
        let scale = problem.output_factor() / directions;
        let arithmetic = contract.arithmetic;
        let step = |l: usize| {
            let index = problem.sequence_index(at.0, at.1, l);
            let dout = f64::from(given.dout[index]);
            let ungated = match &problem.z {
                None => (dout, 0.0),
                Some(z) => {
                    let z = f64::from(z[index]);
                    let gate = silu(z);
                    let vanished = if z < arithmetic.gate_underflow { gate.abs() } else { 0.0 };
                    let error = (arithmetic.gate(z) + arithmetic.unit) * gate.abs() + vanished;
                    let lost = 2.0 * arithmetic.underflow * (1.0 + dout.abs());
                    (dout * gate, dout.abs() * error + if dout * gate == 0.0 { 0.0 } else { lost })
                }
            };
            let bias = problem.delta_bias.as_ref().map(|bias| f64::from(bias[at.1]));
            let slope = match problem.delta_softplus {
                false => (1.0, 0.0),
                true => slope(f64::from(problem.delta[index]), bias, arithmetic),
            };
            let (within, either) = limit_slope(problem, at, l, arithmetic);
            let slope = (slope.0 * within, slope.1 * within.max(either) + slope.0 * either);
            Position {
                delta: step_size(problem, at, l, arithmetic),
                slope,
                u: f64::from(problem.u[index]),
                ungated,
                read: (ungated.0 * scale, ungated.1 * scale),
            }
        };
        Readout { channel, steps: (0..problem.shape.seqlen).map(step).collect(), scale }
    }

    /// From the sums over states, of which there are so many of so many parts, to the gradients of u and delta.
    pub fn finish(
        &self,
        du: &mut [Total],
        ddelta: &mut [Total],
        y: &mut [Total],
        (states, width): (usize, usize),
    ) {
        let Channel { problem, at, contract, .. } = *self.channel;
        let arithmetic = contract.arithmetic;
        let u = arithmetic.unit;
        let additions = (states * width) as f64;
        for (l, step) in self.steps.iter().enumerate() {
            // Many begin the sum over states with the skip: each addition then rounds it, too.
            if let Some(skip) = problem.d.as_ref().map(|d| f64::from(d[at.1])) {
                let (ds, error) = step.ungated;
                let rounded = u * (skip * ds).abs() + 2.0 * arithmetic.underflow;
                du[l] = du[l].plus(skip * ds, skip.abs() * error * (1.0 + u) + rounded, u);
            }
            du[l] = du[l].summed(additions, u);
            ddelta[l] = ddelta[l].summed(additions, u);
            if problem.delta_softplus || !problem.conventions.limit.is_none() {
                ddelta[l] = ddelta[l].times(step.slope.0, step.slope.1, 1.0, arithmetic);
            }
            // Where two directions are averaged they are added first.
            y[l] = y[l].summed(additions + 1.0, u);
        }
    }

    /// `grad.z` of each position, from Re Σ C x.
    pub fn gate_gradients(&self, y: &[Total]) -> Option<Vec<Total>> {
        let Channel { problem, given, at, contract, .. } = *self.channel;
        let arithmetic = contract.arithmetic;
        let gates = problem.z.as_ref()?;
        let of = |(l, y): (usize, &Total)| {
            let index = problem.sequence_index(at.0, at.1, l);
            let step = &self.steps[l];
            let mut s = y.times(self.scale, 0.0, 0.0, arithmetic);
            if let Some(skip) = problem.d.as_ref().map(|d| f64::from(d[at.1])) {
                let product = skip * step.u;
                let rounded = arithmetic.unit * product.abs() + 2.0 * arithmetic.underflow;
                s = s.plus(product, rounded, arithmetic.unit);
            }
            let s = s.kept(arithmetic.stages.rounding(Stage::Y));
            let (slope, terms, error) = gate_slope(f64::from(gates[index]), arithmetic);
            // Rounding costs what the slope is a sum of: near its zero that is not the slope.
            let mut gated = s.times(slope, error, 1.0, arithmetic);
            gated.size += s.size * (terms - slope.abs());
            gated.times(f64::from(given.dout[index]), 0.0, 1.0, arithmetic)
        };
        Some(y.iter().enumerate().map(of).collect())
    }

    /// Σ u ∂L/∂(y + D·u)
    pub fn skip_gradient(&self) -> Total {
        let arithmetic = self.channel.contract.arithmetic;
        let mut total = Total::default();
        for Position { u, ungated: (ds, error), .. } in &self.steps {
            let product = u * ds;
            // Equal products round alike.
            let error = u.abs() * error + arithmetic.unit * (product.abs() + u.abs() * error);
            let error = error + if product == 0.0 { 0.0 } else { 2.0 * arithmetic.underflow };
            total.add(&Total {
                value: [product, 0.0],
                worst: error,
                linear: error,
                size: product.abs(),
                weight: product.abs() + error,
                ..Total::default()
            });
        }
        total
    }
}

/// softplus′(delta + bias) = σ, and its error: the sigmoid's own, and the rounding of the sum, which moves σ by σ(−x)|x| of itself. A kernel that returns Δ itself above 20 may have 1 there.
fn slope(delta: f64, bias: Option<f64>, arithmetic: Arithmetic) -> (f64, f64) {
    let (x, rounded) = match bias {
        Some(bias) => (delta + bias, arithmetic.unit),
        None => (delta, 0.0),
    };
    let (rising, falling) = (sigmoid(x), sigmoid(-x));
    let threshold = if x > 20.0 { 2.0 * falling } else { 0.0 };
    let error = rising * (arithmetic.sigmoid(x) + falling * x.abs() * rounded) + threshold;
    // eˣ may be subnormal.
    (rising, error + 2.0 * arithmetic.underflow)
}

/// (z σ(z))′ = σ(z)(1 + z σ(−z)), its terms without signs, and its error: that of these, and where σ(−z) is taken as 1 − σ(z) what
/// that loses.
fn gate_slope(z: f64, arithmetic: Arithmetic) -> (f64, f64, f64) {
    let (rising, falling) = (sigmoid(z), sigmoid(-z));
    let slope = rising * (1.0 + z * falling);
    let terms = rising * (1.0 + z.abs() * falling);
    let lost = if z > 0.0 { z * rising } else { 0.0 };
    let vanished = if z < arithmetic.gate_underflow { terms } else { 0.0 };
    let of_sigmoid = 2.0 * arithmetic.unit + arithmetic.fast_quotient(Fast::Gate);
    let error = arithmetic.gate_slope(z) * terms + of_sigmoid * lost + vanished;
    (slope, terms, error + 2.0 * arithmetic.underflow * (1.0 + z.abs()))
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

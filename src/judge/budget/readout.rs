//! From the states of a channel to its stored outputs.

use super::state::Position;
use super::states::Channel;
use super::{LAMBDA, or_less, store_error};
use crate::problem::{Problem, Stage};
use crate::promise::allowance::Arithmetic;
use crate::tensor::TensorName;

/// What adding up the states costs, whatever their values.
#[derive(Clone, Copy, Debug)]
pub struct ReadoutRoundings {
    /// Sums that a term may pass. A complex state is added in two parts, either of which may round the sum. The two
    /// directions of poly are one more addition.
    pub additions: f64,
    /// Each of the products with C may underflow.
    pub vanished: f64,
}

impl ReadoutRoundings {
    pub fn count(problem: &Problem, directions: f64, arithmetic: Arithmetic) -> Self {
        let parts = (problem.shape.dstate * problem.weights.width()) as f64;
        ReadoutRoundings {
            additions: parts + (directions - 1.0),
            vanished: 2.0 * arithmetic.underflow * parts * directions,
        }
    }
}

/// What an output is, and bounds on its error: what is judged by, the worst case, and the level of rounding. Each comes
/// with the part that rounding to the storage type takes, which lifted kernels leave out.
pub struct OutputBounds {
    pub value: f64,
    pub judged: (f64, f64),
    pub worst: (f64, f64),
    pub rounding: (f64, f64),
}

/// From what the states of a channel add up to, to its stored outputs.
pub struct Readout<'a> {
    channel: Channel<'a>,
    /// What y is of Re Σ C x: 2 for conjugate pairs, halved where two directions are averaged.
    scale: f64,
    roundings: ReadoutRoundings,
}

impl<'a> Readout<'a> {
    pub fn new(channel: Channel<'a>) -> Self {
        let Channel { problem, contract, .. } = channel;
        let directions = channel.directions();
        let scale = problem.output_factor() / directions;
        Readout {
            channel,
            scale,
            roundings: ReadoutRoundings::count(problem, directions, contract.arithmetic),
        }
    }

    /// Roundings of the sum over states, in an arithmetic of this unit, at the worst.
    pub fn of_sums(&self, unit: f64, p: &Position) -> f64 {
        let products = self.channel.readout_product() * unit / self.channel.contract.arithmetic.unit;
        (products * (1.0 + unit) + self.roundings.additions * unit) * p.magnitude
    }

    /// The output at l, where one z or b occurs so often.
    pub fn bounds(&self, l: usize, p: &Position, repeats: f64) -> OutputBounds {
        let Channel { problem, contract, .. } = self.channel;
        let ReadoutRoundings { additions, vanished } = self.roundings;
        let (u, mu) = (contract.arithmetic.unit, self.channel.readout_product());
        let y = contract.arithmetic.stages.rounding(Stage::Y);
        let mut vanished = vanished + y.underflow * (2.0 + p.weights);
        if problem.reads_with_b() {
            vanished += 2.0 * contract.arithmetic.underflow * p.weights;
        }
        // Each state where it is read, and their sum.
        let narrowed = 2.0 * y.unit * (1.0 + y.unit) * p.magnitude;
        let operands = self.channel.ssd().map_or(0.0, |ssd| ssd.error(4, p.terms + p.carried, p.lost));
        let narrowed = narrowed + operands * (1.0 + y.unit).powi(2) * (1.0 + mu + additions * u);
        let worst = p.carried + self.of_sums(u, p) + vanished + narrowed;
        let random = p.variance + additions * u * u * p.magnitude * p.magnitude;
        let stagnating = p.stagnating * problem.weights.width() as f64;
        let linear = p.linear + stagnating * u * p.magnitude + vanished + narrowed;
        let judged = or_less(linear + LAMBDA * (repeats * random).sqrt(), worst);
        let after = self.after(l);
        let [(value, judged), (_, worst), (_, rounding)] = [judged, worst, u * p.terms]
            .map(|bound| self.finished(after, self.scale * p.y, self.scale * bound));
        OutputBounds { value, judged, worst, rounding }
    }

    /// Skip and gate at l: what is added, and what multiplies it with the gate's z.
    fn after(&self, l: usize) -> After {
        let Channel { problem, at: (batch, channel), .. } = self.channel;
        let index = problem.sequence_index(batch, channel, l);
        let skipped = problem.d.as_ref().map(|skip| f64::from(skip[channel]) * f64::from(problem.u[index]));
        let gate = problem.z.as_ref().map(|gate| {
            let z = f64::from(gate[index]);
            (z, silu(z))
        });
        After { skipped, gate }
    }

    /// From y, known to `bound`, to the stored output: its value, and the bound after skip and gate and that on the
    /// rounding to the storage type.
    fn finished(&self, after: After, y: f64, bound: f64) -> (f64, (f64, f64)) {
        let Channel { problem, contract, .. } = self.channel;
        let arithmetic = contract.arithmetic;
        let u = arithmetic.unit;
        let (mut value, mut bound) = (y, bound);
        let gate = arithmetic.stages.rounding(Stage::Gate);
        if let Some(skipped) = after.skipped {
            let rounding = arithmetic.stages.rounding(Stage::Y);
            let u = u + rounding.unit;
            bound += u * skipped.abs() * (1.0 + u) + 2.0 * rounding.underflow;
            value += skipped;
            bound += u * (value.abs() + bound);
        }
        if let Some((z, silu)) = after.gate {
            let factor = silu.abs();
            // exp(−z) may overflow, and the factor be subnormal: rounded to the grid that subnormals have.
            let vanished = if z < arithmetic.gate_underflow { factor } else { 0.0 };
            let subnormal =
                if z == 0.0 { 0.0 } else { 2.0 * arithmetic.underflow + gate.underflow * (1.0 + z.abs()) };
            bound = factor * bound
                + ((arithmetic.gate(z) + 3.0 * gate.unit) * factor + vanished + subnormal)
                    * (value.abs() + bound);
            value *= silu;
        }
        bound += arithmetic.underflow + gate.underflow;
        let store = match arithmetic {
            Arithmetic::DOUBLE => 0.0,
            _ => store_error(problem, TensorName::Out, value.abs() + bound),
        };
        (value, (bound, store))
    }
}

/// z·sigmoid(z)
pub fn silu(z: f64) -> f64 {
    z / (1.0 + (-z).exp())
}

/// What comes after the states, at one position.
#[derive(Clone, Copy)]
struct After {
    /// D u
    skipped: Option<f64>,
    /// z, and z·sigmoid(z)
    gate: Option<(f64, f64)>,
}

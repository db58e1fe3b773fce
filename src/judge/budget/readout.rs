//! From the states of a channel to its stored outputs.

use super::states::State;
use super::{GENERIC, complex_at};
use crate::judge::ulp::Format;
use crate::problem::{InputType, Problem};
use crate::promise::allowance::Arithmetic;

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

/// What the states of one channel add up to at each position.
#[derive(Clone, Default)]
pub struct Position {
    /// y before skip and gate.
    pub y: f64,
    /// Σ |Cₙ| Eₙ
    pub carried: f64,
    /// Σ |Cₙ| (|xₙ| + Eₙ)
    pub magnitude: f64,
    /// Σ |Cₙ| Dₙ
    pub linear: f64,
    /// Σ |Cₙ| Mₙ
    pub terms: f64,
    /// Σ |Cₙ|² (Vₙ + J u² M̂ₙ² + μ² (|xₙ| + Eₙ)²)
    pub variance: f64,
    /// |Cₙ| (|xₙ| + Eₙ), one for each state and direction.
    pub sizes: Vec<f64>,
}

impl Position {
    /// How many states are so small beside all together that adding them rounds in the direction that they give it.
    pub fn stagnating(&self, u: f64) -> f64 {
        let small = |size: &&f64| **size > 0.0 && **size < GENERIC * u * self.magnitude;
        self.sizes.iter().filter(small).count() as f64
    }
}

/// Adds what state n is worth at each position to `positions`.
pub fn add_states<'a>(
    positions: &mut [Position],
    problem: &Problem,
    channel: (usize, usize),
    n: usize,
    arithmetic: Arithmetic,
    states: impl Iterator<Item = (usize, &'a State)>,
) {
    let mu = arithmetic.product(problem.weights);
    for (l, state) in states {
        let c_index = problem.operand_index(problem.c_operand, channel, n, l);
        let c = complex_at(problem.weights, &problem.c, c_index);
        let position = &mut positions[l];
        let size = state.x.norm() + state.worst;
        position.y += (c * state.x).re;
        position.carried += c.norm() * state.worst;
        position.magnitude += c.norm() * size;
        position.linear += c.norm() * state.linear;
        position.terms += c.norm() * state.magnitude;
        position.sizes.push(c.norm() * size);
        position.variance += c.norm_sqr() * (state.variance + mu * mu * size * size);
    }
}

/// From y, known to `bound`, to the stored output: the bound after skip and gate, and that on the rounding to the
/// storage type, which lifted kernels leave out.
pub fn output_bound(
    problem: &Problem,
    (batch, channel): (usize, usize),
    l: usize,
    y: f64,
    bound: f64,
    arithmetic: Arithmetic,
) -> (f64, f64) {
    let u = arithmetic.unit;
    let (mut value, mut bound) = (y, bound);
    let index = problem.sequence_index(batch, channel, l);
    if let Some(skip) = &problem.d {
        let skipped = f64::from(skip[channel]) * f64::from(problem.u[index]);
        bound += u * skipped.abs() * (1.0 + u);
        value += skipped;
        bound += u * (value.abs() + bound);
    }
    if let Some(gate) = &problem.z {
        let z = f64::from(gate[index]);
        let factor = (z / (1.0 + (-z).exp())).abs();
        // exp(−z) may overflow, and the factor be subnormal: rounded to the grid that subnormals have.
        let vanished = if z < arithmetic.gate_underflow { factor } else { 0.0 };
        let subnormal = if z == 0.0 { 0.0 } else { 2.0 * arithmetic.underflow };
        bound = factor * bound + (arithmetic.gate() * factor + vanished + subnormal) * (value.abs() + bound);
        value *= factor;
    }
    bound += arithmetic.underflow;
    let store = match problem.input {
        _ if arithmetic == Arithmetic::DOUBLE => 0.0,
        InputType::F32 => 0.0,
        narrow => Format::for_input(narrow).rounding_error(value.abs() + bound),
    };
    (bound, store)
}

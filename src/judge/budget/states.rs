//! The states of one channel, position by position: what they are, and what rounding may do to them.

use num_complex::Complex64;

use super::{GENERIC, LAMBDA, complex_at, or_less};
use crate::formula::OFFSETS;
use crate::judge::model::{self, Step};
use crate::method::Method;
use crate::problem::Problem;
use crate::promise::Contract;
use crate::promise::allowance::{self, Arithmetic};

/// The maps x → Ā x + b of one state.
pub struct StateSteps {
    pub z: Vec<Complex64>,
    coefficients: Vec<Step>,
    pub inputs: Vec<StepInput>,
}

/// b_l = B̄_l u_l, and what a kernel's may be off.
#[derive(Clone, Copy)]
pub struct StepInput {
    pub b_u: Complex64,
    /// By its coefficient, and by an underflow.
    coefficient: f64,
    /// By the products that form it from B̄ and u.
    product: f64,
}

/// The maps of state n along the sequence, each Δ with its relative error.
pub fn state_steps(
    method: Method,
    problem: &Problem,
    channel: (usize, usize),
    n: usize,
    steps: &[(f64, f64)],
    contract: &Contract,
) -> StateSteps {
    let a = complex_at(problem.weights, &problem.a, problem.weight_index(channel.1, n));
    let arithmetic = contract.arithmetic;
    let input_error = contract.input_error(problem.weights);
    // A product that underflows: the last one, or one that B multiplies yet, where B is applied apart.
    let apart = contract.applies_b_apart();
    let mut maps = StateSteps { z: Vec::new(), coefficients: Vec::new(), inputs: Vec::new() };
    for (l, &delta) in steps.iter().enumerate() {
        let b_index = problem.operand_index(problem.b_operand, channel, n, l);
        let b = complex_at(problem.weights, &problem.b, b_index);
        let step = model::step(method, problem.weights, delta, a, b, contract);
        let vanished = 2.0 * arithmetic.underflow * if apart { 1.0 + b.norm() } else { 1.0 };
        let [before, after] = step.neighbours;
        let mut input = StepInput { b_u: Complex64::ZERO, coefficient: 0.0, product: 0.0 };
        for (b_bar, offset) in [Some((step.b_bar, step.b_bar_error)), before, after].into_iter().zip(OFFSETS)
        {
            let u = f64::from(problem.u_at(channel, l as isize + offset));
            let Some((b_bar, error)) = b_bar.filter(|_| u != 0.0) else { continue };
            let b_u = b_bar * u;
            input.coefficient += times(error, u.abs()) * (1.0 + input_error) + vanished;
            input.product += input_error * b_u.norm();
            if input.b_u == Complex64::ZERO {
                input.b_u = b_u;
            } else {
                // One more sum.
                input.product += arithmetic.unit * (input.b_u.norm() + b_u.norm());
                input.b_u += b_u;
            }
        }
        maps.z.push(a * delta.0);
        maps.inputs.push(input);
        maps.coefficients.push(step);
    }
    maps
}

/// What is known of a state after one position.
#[derive(Clone, Copy, Default)]
pub struct State {
    pub x: Complex64,
    /// M
    pub magnitude: f64,
    /// E
    pub worst: f64,
    /// D, and the roundings that are not taken as random
    pub linear: f64,
    /// V + J u² M̂²
    pub variance: f64,
    /// u M
    pub rounding: f64,
}

impl State {
    /// The judged bound and the worst case.
    pub fn bounds(&self, repeats: f64) -> (f64, f64) {
        (or_less(self.linear + LAMBDA * (repeats * self.variance).sqrt(), self.worst), self.worst)
    }
}

/// The states along `order` (the recurrences of [`super`]).
pub fn states(
    problem: &Problem,
    maps: &StateSteps,
    arithmetic: Arithmetic,
    order: impl Iterator<Item = usize>,
) -> Vec<State> {
    let (u, mu) = (arithmetic.unit, arithmetic.product(problem.weights));
    let most_joins = allowance::scan_joins(problem.shape.seqlen);
    let growth = (1.0 + mu) * (1.0 + u);
    let mut state = State::default();
    // V itself, and whether every rounding so far may be random.
    let (mut variance, mut random) = (0.0, true);
    // The largest M̂ so far: a tree multiplies it by products of Ā that may have underflowed on their own.
    let mut largest = 1.0f64;
    order
        .enumerate()
        .map(|(position, l)| {
            // The first p + 1 terms have p sums between them, however they are joined: adding a zero is exact.
            let joins = most_joins.min(position as f64);
            let (step, input, z) = (&maps.coefficients[l], maps.inputs[l], maps.z[l]);
            let (a_abs, b_abs) = (step.a_bar.norm(), input.b_u.norm());
            let a_computed = (a_abs + step.a_bar_error) * growth;
            let a_excess = step.a_bar_error * growth + a_abs * (growth - 1.0);
            // A product that underflows loses at most half a subnormal, if there is anything to multiply: of a state, or of
            // what then multiplies one.
            let underflow = 2.0 * arithmetic.underflow * largest * f64::from(state.magnitude > 0.0);
            let beta = input.coefficient + input.product;
            let worst = times(a_computed, state.worst)
                + times(a_excess, state.magnitude)
                + beta * (1.0 + joins * u)
                + times(joins * u, b_abs)
                + underflow;
            let magnitude = times(a_abs, state.magnitude) + b_abs;
            // Of what the product with Ā and the sum with b round.
            let before = times(a_computed, state.magnitude + state.worst);
            let after = magnitude + worst;
            largest = largest.max(after);
            let product = if z == Complex64::ZERO { 0.0 } else { mu * before };
            let sum = if input.b_u == Complex64::ZERO { 0.0 } else { u * after };
            let mut linear = times(a_computed, state.linear)
                + times(step.a_bar_error, state.x.norm())
                + input.coefficient
                + underflow;
            variance = times(a_computed * a_computed, variance) + input.product * input.product;
            let product_is_random = (step.a_bar - 1.0).norm() >= GENERIC * u;
            let sum_is_random = b_abs >= GENERIC * u * a_abs * state.magnitude;
            for (rounding, is_random) in [(product, product_is_random), (sum, sum_is_random)] {
                if is_random {
                    variance += rounding * rounding;
                } else {
                    linear += rounding;
                    random &= rounding == 0.0;
                }
            }
            let x = match state.x {
                Complex64::ZERO => input.b_u,
                x => step.a_bar * x + input.b_u,
            };
            let rounding = u * magnitude;
            state = State { x, magnitude, worst, linear, variance, rounding };
            let mut seen = state;
            let (joined, joined_variance) = (times(joins, u * after), times(joins, (u * after).powi(2)));
            if random {
                seen.variance += joined_variance;
            } else {
                seen.linear += joined;
            }
            seen
        })
        .collect()
}

/// a·b, where nothing times whatever is nothing: an unbounded Ā of a state that is still 0.
fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

/// Δ at one position, and the relative error that a kernel's Δ may have: the sum with the bias rounds, and
/// softplus multiplies that relative error of x by |x·σ(x)/softplus(x)|.
pub fn step_size(
    problem: &Problem,
    (batch, channel): (usize, usize),
    l: usize,
    arithmetic: Arithmetic,
) -> (f64, f64) {
    let delta = f64::from(problem.delta[problem.sequence_index(batch, channel, l)]);
    let (x, sum_error) = match &problem.delta_bias {
        Some(bias) => (delta + f64::from(bias[channel]), arithmetic.unit),
        None => (delta, 0.0),
    };
    if !problem.delta_softplus {
        return (x, sum_error);
    }
    let softplus = softplus(x);
    let sigmoid = 1.0 / (1.0 + (-x).exp());
    // Both vanish together as x → −∞, where softplus(x) → eˣ and its conditioning → |x|.
    let conditioning = if softplus > 0.0 { (x * sigmoid / softplus).abs() } else { x.abs() };
    // A subnormal Δ is rounded to the grid that subnormals have.
    let subnormal = if softplus > 0.0 { 2.0 * arithmetic.underflow / softplus } else { 0.0 };
    (softplus, conditioning * sum_error + arithmetic.softplus() + subnormal)
}

/// log(1 + eˣ); x itself where e⁻ˣ is nothing beside it.
pub fn softplus(x: f64) -> f64 {
    if x > 40.0 { x } else { x.exp().ln_1p() }
}

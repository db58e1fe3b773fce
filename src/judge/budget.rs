//! The derived bound on every output element and last state of a selective scan.
//!
//! # Derivation
//!
//! Write Â, b̂ for computed coefficients with |Â − Ā_l| ≤ α_l and |b̂ − B̄_l u_l| ≤ β_l ([`super::model`]).
//! Unrolled, x_l = Σ_{k≤l} (Π_{j=k+1..l} Ā_j) B̄_k u_k. However a scan associates its (Ā, b) pairs, serially or
//! as a tree, the computed term k is the product of the same l−k computed Â_j and b̂_k, rounded in exactly l−k
//! products (μ each), and passes at most l−k+J additions (u each): one for each join to its left neighbours
//! and J for those to its right ([`allowance::scan_joins`]). A serial scan and any block-parallel one thus
//! have the same bound:
//!
//! ```text
//! M_l = |Ā_l| M_{l−1} + |b_l|                                          (the exact terms' magnitudes)
//! M̂_l = (|Ā_l| + α_l)(1+μ)(1+u) M̂_{l−1} + (|b_l| + β_l)(1+u)^J          (the computed terms' magnitudes)
//! |x̂_l − x_l| ≤ E_l = M̂_l − M_l
//! ```
//!
//! E_l is accumulated by its own recurrence, free of cancellation. The output adds, for y = Σₙ Cₙ xₙ, Σ|Cₙ|Eₙ
//! and, for each product and the sum of N terms in any order, (μ + N·u) Σ|Cₙ|(|xₙ| + Eₙ); then skip, gate and
//! the one rounding to the storage type. `poly` averages two scans, each with its own E.
//!
//! Worst-case bounds: no sign of any rounding error is assumed.

use num_complex::Complex64;

use super::allowance::{self, HALF_SUBNORMAL, SUM, U};
use super::contract::Contract;
use super::model::{self, Step};
use super::ulp::Format;
use crate::method::Method;
use crate::problem::{InputType, Problem, Weights};

/// Bounds on |got − want|, for the judged channels only.
#[derive(Clone, Debug)]
pub struct Budget {
    /// (judged channels, seqlen)
    pub out: Vec<f64>,
    /// (judged channels, seqlen): the part of `out` that rounding to the 16-bit input type takes; 0 for f32,
    /// whose last operation is rounded like any other.
    pub store: Vec<f64>,
    /// (judged channels, dstate): for complex states, on the modulus of the error.
    pub last_state: Vec<f64>,
}

/// The bounds for `method` on `problem`, for kernels that keep the `contract`.
pub fn scan(method: Method, problem: &Problem, contract: &Contract) -> Budget {
    let mut budget = Budget { out: Vec::new(), store: Vec::new(), last_state: Vec::new() };
    for &channel in &problem.judged_channels {
        channel_budget(method, problem, channel, contract, &mut budget);
    }
    budget
}

/// What the states of one channel add up to at each position.
#[derive(Clone, Copy, Default)]
struct Position {
    /// y before skip and gate.
    y: f64,
    /// Σ |Cₙ| Eₙ
    carried: f64,
    /// Σ |Cₙ| (|xₙ| + Eₙ)
    magnitude: f64,
}

fn channel_budget(
    method: Method,
    problem: &Problem,
    channel: (usize, usize),
    contract: &Contract,
    budget: &mut Budget,
) {
    let seqlen = problem.shape.seqlen;
    let steps: Vec<(f64, f64)> = (0..seqlen).map(|l| step_size(problem, channel, l)).collect();
    let mut positions = vec![Position::default(); seqlen];
    for n in 0..problem.shape.dstate {
        let (coefficients, inputs) = state_steps(method, problem, channel, n, &steps, contract);
        let forward = states(problem, &coefficients, &inputs, 0..seqlen);
        budget.last_state.push(forward.last().map_or(0.0, |s| s.error) + HALF_SUBNORMAL);
        add_states(&mut positions, problem, channel, n, (0..seqlen).zip(&forward));
        if method.is_bidirectional() {
            let backward = states(problem, &coefficients, &inputs, (0..seqlen).rev());
            add_states(&mut positions, problem, channel, n, (0..seqlen).rev().zip(&backward));
        }
    }
    let scale = if problem.weights == Weights::Complex { 2.0 } else { 1.0 }
        * if method.is_bidirectional() { 0.5 } else { 1.0 };
    for (l, position) in positions.iter().enumerate() {
        let (bound, store) = output_bound(method, problem, channel, l, position, scale);
        budget.out.push(bound + store);
        budget.store.push(store);
    }
}

/// Δ at one position, and the relative error that a kernel's Δ may have: the sum with the bias rounds, and
/// softplus multiplies that relative error of x by |x·σ(x)/softplus(x)|.
pub fn step_size(problem: &Problem, (batch, channel): (usize, usize), l: usize) -> (f64, f64) {
    let delta = f64::from(problem.delta[problem.sequence_index(batch, channel, l)]);
    let (x, sum_error) = match &problem.delta_bias {
        Some(bias) => (delta + f64::from(bias[channel]), U),
        None => (delta, 0.0),
    };
    if !problem.delta_softplus {
        return (x, sum_error);
    }
    let softplus = x.exp().ln_1p().max(x);
    let sigmoid = 1.0 / (1.0 + (-x).exp());
    // Both vanish together as x → −∞, where softplus(x) → eˣ and its conditioning → |x|.
    let conditioning = if softplus > 0.0 { (x * sigmoid / softplus).abs() } else { x.abs() };
    (softplus, conditioning * sum_error + allowance::SOFTPLUS)
}

/// The coefficients of state n at each position, and the inputs b_l = B̄_l u_l with their bounds β_l.
fn state_steps(
    method: Method,
    problem: &Problem,
    channel: (usize, usize),
    n: usize,
    steps: &[(f64, f64)],
    contract: &Contract,
) -> (Vec<Step>, Vec<(Complex64, f64)>) {
    let a = complex_at(problem.weights, &problem.a, problem.weight_index(channel.1, n));
    let mu = allowance::product(problem.weights);
    steps
        .iter()
        .enumerate()
        .map(|(l, &delta)| {
            let b_index = problem.operand_index(problem.b_operand, channel, n, l);
            let b = complex_at(problem.weights, &problem.b, b_index);
            let u = f64::from(problem.u[problem.sequence_index(channel.0, channel.1, l)]);
            let step = model::step(method, problem.weights, delta, a, b, contract);
            // Two products more: with u, and with a B that the kernel may apply apart.
            let b_u = step.b_bar * u;
            let beta = step.b_bar_error * u.abs() * (1.0 + 2.0 * mu) + 2.0 * mu * b_u.norm();
            (step, (b_u, beta + 2.0 * HALF_SUBNORMAL * f64::from(u != 0.0)))
        })
        .unzip()
}

struct State {
    x: Complex64,
    error: f64,
}

/// x_l and E_l along `order` (module docs).
fn states(
    problem: &Problem,
    steps: &[Step],
    inputs: &[(Complex64, f64)],
    order: impl Iterator<Item = usize>,
) -> Vec<State> {
    let mu = allowance::product(problem.weights);
    let joins = allowance::scan_joins(problem.shape.seqlen) * SUM;
    let mut x = Complex64::ZERO;
    let (mut magnitude, mut error) = (0.0, 0.0);
    order
        .map(|l| {
            let (step, (b_u, beta)) = (&steps[l], inputs[l]);
            let a_abs = step.a_bar.norm();
            let growth = (1.0 + mu) * (1.0 + SUM);
            let a_computed = (a_abs + step.a_bar_error) * growth;
            let a_excess = step.a_bar_error * growth + a_abs * (growth - 1.0);
            // A product that underflows loses at most half a subnormal, if there is anything to multiply.
            let underflow = 2.0 * HALF_SUBNORMAL * f64::from(magnitude > 0.0);
            error = a_computed * error
                + a_excess * magnitude
                + beta * (1.0 + joins)
                + joins * b_u.norm()
                + underflow;
            magnitude = a_abs * magnitude + b_u.norm();
            x = step.a_bar * x + b_u;
            State { x, error }
        })
        .collect()
}

fn add_states<'a>(
    positions: &mut [Position],
    problem: &Problem,
    channel: (usize, usize),
    n: usize,
    states: impl Iterator<Item = (usize, &'a State)>,
) {
    for (l, state) in states {
        let c_index = problem.operand_index(problem.c_operand, channel, n, l);
        let c = complex_at(problem.weights, &problem.c, c_index);
        let position = &mut positions[l];
        position.y += (c * state.x).re;
        position.carried += c.norm() * state.error;
        position.magnitude += c.norm() * (state.x.norm() + state.error);
    }
}

/// From the states to the stored output: the bound on sum, average, skip and gate, and that on the rounding.
fn output_bound(
    method: Method,
    problem: &Problem,
    (batch, channel): (usize, usize),
    l: usize,
    position: &Position,
    scale: f64,
) -> (f64, f64) {
    let mu = allowance::product(problem.weights);
    // The two directions of poly are one more addition.
    let additions = problem.shape.dstate as f64 + f64::from(u8::from(method.is_bidirectional()));
    let mut value = scale * position.y;
    let mut bound = scale * (position.carried + (mu * (1.0 + U) + additions * SUM) * position.magnitude);
    let index = problem.sequence_index(batch, channel, l);
    if let Some(skip) = &problem.d {
        let skipped = f64::from(skip[channel]) * f64::from(problem.u[index]);
        bound += U * skipped.abs() * (1.0 + U);
        value += skipped;
        bound += SUM * (value.abs() + bound);
    }
    if let Some(gate) = &problem.z {
        let z = f64::from(gate[index]);
        let factor = (z / (1.0 + (-z).exp())).abs();
        let vanished = if z < allowance::GATE_UNDERFLOW { factor } else { 0.0 };
        bound = factor * bound + (allowance::GATE * factor + vanished) * (value.abs() + bound);
        value *= factor;
    }
    bound += HALF_SUBNORMAL;
    let store = match problem.input {
        InputType::F32 => 0.0,
        narrow => Format::of(narrow).rounding_error(value.abs() + bound),
    };
    (bound, store)
}

/// The weight at `index`, widened.
pub fn complex_at(weights: Weights, values: &[f32], index: usize) -> Complex64 {
    match weights {
        Weights::Real => Complex64::new(f64::from(values[index]), 0.0),
        Weights::Complex => Complex64::new(f64::from(values[index]), f64::from(values[index + 1])),
    }
}

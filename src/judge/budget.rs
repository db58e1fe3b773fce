//! The derived bounds on every output element and last state of a selective scan: the one that is judged by, and
//! the worst case beyond which no rounding explains an error.
//!
//! # What is computed
//!
//! x_l = Ā_l x_{l−1} + b_l with b_l = B̄_l u_l. The kernel's coefficients are off by |Â − Ā_l| ≤ α_l and
//! |b̂ − b_l| ≤ β_l ([`super::model`], [`super::contract`]). Unrolled, x_l = Σ_{k≤l} (Π_{j=k+1..l} Ā_j) b_k. However a
//! scan associates its (Ā, b) pairs, serially or as a tree, the computed term k is the product of the same l−k computed
//! Â_j and b̂_k, rounded in exactly l−k products (μ each), and passes at most l−k+J additions (u each): one for each
//! join to its left neighbours and J for those to its right ([`allowance::scan_joins`]; at most l, as there are no more). Everything below holds for
//! every such association.
//!
//! # Worst case
//!
//! ```text
//! M_l = |Ā_l| M_{l−1} + |b_l|                                          (the exact terms' magnitudes)
//! M̂_l = (|Ā_l| + α_l)(1+μ)(1+u) M̂_{l−1} + (|b_l| + β_l)(1+u)^J          (the computed terms' magnitudes)
//! |x̂_l − x_l| ≤ E_l = M̂_l − M_l
//! ```
//!
//! E_l is accumulated by its own recurrence, free of cancellation. The output adds, for y = Σₙ Cₙ xₙ, Σ|Cₙ|Eₙ
//! and, for each product and the sum of N terms (2N for complex weights, whose parts are added one by one) in any order,
//! (μ + N·u) Σ|Cₙ|(|xₙ| + Eₙ); then skip, gate and the one rounding to the storage type. `poly` averages two scans, each with its own E.
//!
//! # The bound that is judged by
//!
//! The error splits exactly, in two steps. First coefficients: the scan with Â, b̂ in exact arithmetic is off by at
//! most D_l = (|Ā_l| + α_l) D_{l−1} + α_l|x_{l−1}| + β_l. Approximations are systematic, and are never assumed to cancel.
//! Then roundings: replaced by exact operations one at a time, each rounding δ_r of an intermediate value contributes δ_r
//! times what that value contributes to the result, of modulus at most the sum of the |T̂_k| of the terms k in it.
//! Following Higham and Mary (2019, "A new approach to probabilistic rounding error analysis"; mean independence as
//! in Connolly, Higham and Mary 2021) take the δ_r as random with mean zero given the earlier ones. The rounding error
//! of any real functional of the states is then a martingale with differences of at most c_r, and by Azuma and
//! Hoeffding exceeds λ√(Σc_r²) with probability at most 2exp(−λ²/2): no γ̃ₙ and no term of second order, since
//! coefficients enter as they were computed, and magnitudes as M̂. Two terms k, k' have at most l − max(k, k') products and
//! as many additions and J more in common, whatever the tree, so that over all roundings r
//!
//! ```text
//! Σ_r c_r² ≤ Σ_{k,k'} |T̂_k||T̂_k'| ((l − max(k,k'))(μ² + u²) + J u²) = V_l + J u² M̂_l²
//! V_l = (|Â_l|(1+μ)(1+u))² V_{l−1} + (μ |Â_l| M̂_{l−1})² + (u M̂_l)² + (ι|b̂_l|)²         (ι: of forming b̂ from B̄ and u)
//! ```
//!
//! This is √n for n. States add as Σ|Cₙ|²Vₙ, the readout (μ² Σ|Cₙxₙ|² + N u² (Σ|Cₙxₙ|)²), and the bound is
//! Σ|Cₙ|Dₙ + λ√ΣV, or the worst case where that is smaller (always for short sequences). Skip, gate and store stay
//! worst-case: they are few.
//!
//! λ = 8 ([`LAMBDA`]): one element of a sound kernel is beyond with probability at most 2e⁻³² < 2.6·10⁻¹⁴, some element of a
//! run of 10⁷ with less than 2.6·10⁻⁷ (the union bound). The default run judges about two million.
//!
//! # Where roundings are not independent
//!
//! Rounding is deterministic: the same operation on the same operands errs the same way every time, and n equal
//! errors add to n, not √n. Two cases are detected, and stay linear in just the part that they touch:
//!
//! - **Repeats.** Equal z have the same Ā, and all products of them the same error; equal b are added the same way as a
//!   state settles (constant Δ and u, repeated eigenvalues; the two directions of `poly`, which share their products).
//!   With m the most often that one nonzero z, or one nonzero b, occurs among a channel's states and positions (twice
//!   that for `poly`), each group of equal roundings has at most m members, (Σ_group c)² ≤ m Σ_group c², and V is taken
//!   m times. All equal gives back n for √n.
//! - **Stagnation.** A rounding is as good as random only if it discards several bits of something. Where
//!   |Ā_l − 1| < 16u the product with Ā_l, and where |b_l| < 16u·|Ā_l|M_{l−1} the sum, errs in the direction that its
//!   operands give it (a b below half an ulp of x is lost entirely, each time). Such roundings enter D_l, not V_l, and
//!   J u M̂_l does from there on. So does adding a state to y that is below 16u of all of them together.
//!
//! Other dependence is not detected: inputs with few bits, b that differ by less than x can show, or distinct z with one
//! rounded Ā (over some thousands of positions such inputs have been made to exceed the judged bound twice, within a
//! quarter of the worst case). It is not hidden either: an error beyond the judged
//! bound fails its case, and says whether it is beyond the worst case too, which no assumption underlies. `cargo test`
//! measures on every regime that no correct path is beyond either.

use std::collections::HashMap;

use num_complex::Complex64;

use super::allowance::{self, Arithmetic};
use super::contract::Contract;
use super::model::{self, Step};
use super::ulp::Format;
use crate::method::Method;
use crate::problem::{InputType, Problem, Weights};

/// How many standard deviations, so to speak, the judged bound allows (module docs).
pub const LAMBDA: f64 = 8.0;

/// Below this many u a relative change is so small that its rounding is not random (module docs).
pub const GENERIC: f64 = 16.0;

/// Bounds on |got − want|, for the judged channels only.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// (judged channels, seqlen): what is judged by.
    pub out: Vec<f64>,
    /// (judged channels, seqlen): at least `out`; no rounding explains an error beyond it.
    pub worst_out: Vec<f64>,
    /// (judged channels, seqlen): the part of `out` that rounding to the 16-bit input type takes; 0 for f32,
    /// whose last operation is rounded like any other.
    pub store: Vec<f64>,
    /// (judged channels, dstate): for complex states, on the modulus of the error.
    pub last_state: Vec<f64>,
    pub worst_last_state: Vec<f64>,
    /// (judged channels, seqlen): what rounding every term Π Ā · b · C of y once costs, and one rounding of each operation after that. The level of rounding itself: no f32 scan does much better, and an error
    /// of this size means nothing.
    pub rounding_out: Vec<f64>,
    /// (judged channels, dstate), likewise.
    pub rounding_last_state: Vec<f64>,
    /// How often one nonzero z or b occurs in the channel that has most repeats (module docs).
    pub repeats: f64,
}

/// The bounds for `method` on `problem`, for kernels that keep the `contract`.
pub fn scan(method: Method, problem: &Problem, contract: &Contract) -> Budget {
    let mut budget = Budget::default();
    for &channel in &problem.judged_channels {
        channel_budget(method, problem, channel, contract, &mut budget);
    }
    budget
}

/// What the states of one channel add up to at each position.
#[derive(Clone, Default)]
struct Position {
    /// y before skip and gate.
    y: f64,
    /// Σ |Cₙ| Eₙ
    carried: f64,
    /// Σ |Cₙ| (|xₙ| + Eₙ)
    magnitude: f64,
    /// Σ |Cₙ| Dₙ
    linear: f64,
    /// Σ |Cₙ| Mₙ
    terms: f64,
    /// Σ |Cₙ|² (Vₙ + J u² M̂ₙ² + μ² (|xₙ| + Eₙ)²)
    variance: f64,
    /// |Cₙ| (|xₙ| + Eₙ), one for each state and direction.
    sizes: Vec<f64>,
}

impl Position {
    /// How many states are so small beside all together that adding them rounds in the direction that they give it.
    fn stagnating(&self, u: f64) -> f64 {
        let small = |size: &&f64| **size > 0.0 && **size < GENERIC * u * self.magnitude;
        self.sizes.iter().filter(small).count() as f64
    }
}

fn channel_budget(
    method: Method,
    problem: &Problem,
    channel: (usize, usize),
    contract: &Contract,
    budget: &mut Budget,
) {
    let arithmetic = contract.arithmetic;
    let seqlen = problem.shape.seqlen;
    let steps: Vec<(f64, f64)> = (0..seqlen).map(|l| step_size(problem, channel, l, arithmetic)).collect();
    let maps: Vec<StateSteps> = (0..problem.shape.dstate)
        .map(|n| state_steps(method, problem, channel, n, &steps, contract))
        .collect();
    let directions = if method.is_bidirectional() { 2.0 } else { 1.0 };
    let repeats = directions * repeats(&maps);
    budget.repeats = budget.repeats.max(repeats);
    let mut positions = vec![Position::default(); seqlen];
    for (n, steps) in maps.iter().enumerate() {
        let forward = states(problem, steps, arithmetic, 0..seqlen);
        let last = forward.last().copied().unwrap_or_default();
        let (judged, worst) = last.bounds(repeats);
        budget.last_state.push(judged + arithmetic.underflow);
        budget.worst_last_state.push(worst + arithmetic.underflow);
        budget.rounding_last_state.push(last.rounding + arithmetic.underflow);
        add_states(&mut positions, problem, channel, n, arithmetic, (0..seqlen).zip(&forward));
        if method.is_bidirectional() {
            let backward = states(problem, steps, arithmetic, (0..seqlen).rev());
            add_states(&mut positions, problem, channel, n, arithmetic, (0..seqlen).rev().zip(&backward));
        }
    }
    let scale = if problem.weights == Weights::Complex { 2.0 } else { 1.0 } / directions;
    // A complex state is added in two parts, either of which may round the sum. The two directions of poly are one more
    // addition.
    let width = problem.weights.width() as f64;
    let additions = problem.shape.dstate as f64 * width + (directions - 1.0);
    let (u, mu) = (arithmetic.unit, arithmetic.product(problem.weights));
    // Each of the products with C may underflow.
    let vanished = 2.0 * arithmetic.underflow * problem.shape.dstate as f64 * width * directions;
    for (l, p) in positions.iter().enumerate() {
        let worst = p.carried + (mu * (1.0 + u) + additions * u) * p.magnitude + vanished;
        let random = p.variance + additions * u * u * p.magnitude * p.magnitude;
        let linear = p.linear + p.stagnating(u) * width * u * p.magnitude + vanished;
        let judged = or_less(linear + LAMBDA * (repeats * random).sqrt(), worst);
        let finished = |bound: f64| output_bound(problem, channel, l, scale * p.y, scale * bound, arithmetic);
        let ((judged, store), (worst, worst_store)) = (finished(judged), finished(worst));
        budget.out.push(judged + store);
        budget.worst_out.push(worst + worst_store);
        budget.store.push(store);
        let (rounding, store) = finished(u * p.terms);
        budget.rounding_out.push(rounding + store);
    }
}

/// The smaller one, where `bound` may be a NaN made of infinities.
fn or_less(bound: f64, worst: f64) -> f64 {
    if bound < worst { bound } else { worst }
}

/// How often the most frequent nonzero z, or b, occurs (module docs).
fn repeats(maps: &[StateSteps]) -> f64 {
    let most = |values: &mut dyn Iterator<Item = Complex64>| {
        let mut counts: HashMap<(u64, u64), u32> = HashMap::new();
        for value in values.filter(|v| *v != Complex64::ZERO) {
            *counts.entry((value.re.to_bits(), value.im.to_bits())).or_default() += 1;
        }
        counts.into_values().max().unwrap_or(1)
    };
    let z = most(&mut maps.iter().flat_map(|m| m.z.iter().copied()));
    let b = most(&mut maps.iter().flat_map(|m| m.inputs.iter().map(|input| input.b_u)));
    f64::from(z.max(b))
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
    let softplus = x.exp().ln_1p().max(x);
    let sigmoid = 1.0 / (1.0 + (-x).exp());
    // Both vanish together as x → −∞, where softplus(x) → eˣ and its conditioning → |x|.
    let conditioning = if softplus > 0.0 { (x * sigmoid / softplus).abs() } else { x.abs() };
    // A subnormal Δ is rounded to the grid that subnormals have.
    let subnormal = if softplus > 0.0 { 2.0 * arithmetic.underflow / softplus } else { 0.0 };
    (softplus, conditioning * sum_error + arithmetic.softplus() + subnormal)
}

/// The maps x → Ā x + b of one state.
struct StateSteps {
    z: Vec<Complex64>,
    coefficients: Vec<Step>,
    inputs: Vec<StepInput>,
}

/// b_l = B̄_l u_l, and what a kernel's may be off.
#[derive(Clone, Copy)]
struct StepInput {
    b_u: Complex64,
    /// By its coefficient, and by an underflow.
    coefficient: f64,
    /// By the products that form it from B̄ and u.
    product: f64,
}

fn state_steps(
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
    let mut maps = StateSteps { z: Vec::new(), coefficients: Vec::new(), inputs: Vec::new() };
    for (l, &delta) in steps.iter().enumerate() {
        let b_index = problem.operand_index(problem.b_operand, channel, n, l);
        let b = complex_at(problem.weights, &problem.b, b_index);
        let u = f64::from(problem.u[problem.sequence_index(channel.0, channel.1, l)]);
        let step = model::step(method, problem.weights, delta, a, b, contract);
        let b_u = step.b_bar * u;
        maps.z.push(a * delta.0);
        maps.inputs.push(StepInput {
            b_u,
            coefficient: step.b_bar_error * u.abs() * (1.0 + input_error)
                + 2.0 * arithmetic.underflow * f64::from(u != 0.0),
            product: input_error * b_u.norm(),
        });
        maps.coefficients.push(step);
    }
    maps
}

/// What is known of a state after one position.
#[derive(Clone, Copy, Default)]
struct State {
    x: Complex64,
    /// M
    magnitude: f64,
    /// E
    worst: f64,
    /// D, and the roundings that are not taken as random
    linear: f64,
    /// V + J u² M̂²
    variance: f64,
    /// u M
    rounding: f64,
}

impl State {
    /// The judged bound and the worst case.
    fn bounds(&self, repeats: f64) -> (f64, f64) {
        (or_less(self.linear + LAMBDA * (repeats * self.variance).sqrt(), self.worst), self.worst)
    }
}

/// The states along `order` (module docs).
fn states(
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
            let worst = a_computed * state.worst
                + a_excess * state.magnitude
                + beta * (1.0 + joins * u)
                + joins * u * b_abs
                + underflow;
            let magnitude = a_abs * state.magnitude + b_abs;
            // Of what the product with Ā and the sum with b round.
            let before = a_computed * (state.magnitude + state.worst);
            let after = magnitude + worst;
            largest = largest.max(after);
            let product = if z == Complex64::ZERO { 0.0 } else { mu * before };
            let sum = if input.b_u == Complex64::ZERO { 0.0 } else { u * after };
            let mut linear = (a_abs + step.a_bar_error) * growth * state.linear
                + step.a_bar_error * state.x.norm()
                + input.coefficient
                + underflow;
            variance = a_computed * a_computed * variance + input.product * input.product;
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
            let x = step.a_bar * state.x + input.b_u;
            let rounding = u * magnitude;
            state = State { x, magnitude, worst, linear, variance, rounding };
            let mut seen = state;
            let (joined, joined_variance) = (joins * u * after, joins * (u * after).powi(2));
            if random {
                seen.variance += joined_variance;
            } else {
                seen.linear += joined;
            }
            seen
        })
        .collect()
}

fn add_states<'a>(
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

/// From the states to the stored output: the bound on skip, gate and what `bound` is already, and that on the rounding
/// to the storage type, which lifted kernels leave out.
fn output_bound(
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
        let vanished = if z < arithmetic.gate_underflow { factor } else { 0.0 };
        bound = factor * bound + (arithmetic.gate() * factor + vanished) * (value.abs() + bound);
        value *= factor;
    }
    bound += arithmetic.underflow;
    let store = match problem.input {
        _ if arithmetic == Arithmetic::DOUBLE => 0.0,
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

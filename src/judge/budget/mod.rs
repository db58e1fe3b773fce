//! The derived bounds on every output element and last state of a selective scan: the one that is judged by, and
//! the worst case beyond which no rounding explains an error.
//!
//! # What is computed
//!
//! x_l = Ā_l x_{l−1} + b_l with b_l = B̄_l u_l. The kernel's coefficients are off by |Â − Ā_l| ≤ α_l and
//! |b̂ − b_l| ≤ β_l ([`super::model`], [`crate::promise::contract`]). Unrolled, x_l = Σ_{k≤l} (Π_{j=k+1..l} Ā_j) b_k. However a
//! scan associates its (Ā, b) pairs, serially or as a tree, the computed term k is the product of the same l−k computed
//! Â_j and b̂_k (an initial state is b₋₁, without an error), rounded in exactly l−k products (μ each), and passes at most
//! l−k+J additions (u each): one for each
//! join to its left neighbours and J for those to its right ([`crate::promise::allowance::scan_joins`]; at most l, as there are
//! no more). Everything below holds for every such association.
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
//! (μ + N·u) Σ|Cₙ|(|xₙ| + Eₙ); then skip, gate and the one rounding to the storage type. `poly` averages two scans,
//! each with its own E.
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

mod readout;
mod states;

use num_complex::Complex64;

pub use self::readout::ReadoutRoundings;
use self::readout::{OutputBounds, Readout};
use self::states::{Channel, ChannelStates, Repeats, states};
pub use self::states::{softplus, step_size};
use crate::formula::Form;
use crate::problem::{Problem, Weights};
use crate::promise::Contract;
use crate::tensor::{Named, TensorName};

/// How many standard deviations, so to speak, the judged bound allows (module docs).
pub const LAMBDA: f64 = 8.0;

/// Below this many u a relative change is so small that its rounding is not random (module docs).
pub const GENERIC: f64 = 16.0;

/// Bounds on |got − want| of one tensor's judged channels, one for each element: of a complex one, on the modulus of the
/// error.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// What the elements are, in f64 ([`super::quick`] has its error); of a complex one both parts.
    pub value: Vec<f64>,
    /// What is judged by.
    pub bound: Vec<f64>,
    /// At least `bound`; no rounding explains an error beyond it.
    pub worst_case: Vec<f64>,
    /// The part of `bound` that rounding to the 16-bit input type takes; 0 for f32, whose last operation is rounded like
    /// any other.
    pub store: Vec<f64>,
    /// What rounding every term Π Ā · b · C of the element once costs, and one rounding of each operation after that. The
    /// level of rounding itself: no f32 scan does much better, and an error of this size means nothing.
    pub rounding: Vec<f64>,
}

impl Bounds {
    fn push(&mut self, judged: f64, worst_case: f64, store: f64, rounding: f64) {
        self.bound.push(bound(judged));
        self.worst_case.push(bound(worst_case));
        self.store.push(store);
        self.rounding.push(bound(rounding));
    }

    fn push_output(&mut self, output: &OutputBounds) {
        self.value.push(output.value);
        let whole = |(bound, store): (f64, f64)| bound + store;
        self.push(whole(output.judged), whole(output.worst), output.judged.1, whole(output.rounding));
    }
}

/// The bounds of a scan's tensors.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    pub tensors: Named<Bounds>,
    /// How often one nonzero z or b occurs in the channel that has most repeats (module docs).
    pub repeats: f64,
}

/// The bounds for `form` on `problem`, for kernels that keep the `contract`.
pub fn scan(form: impl Into<Form>, problem: &Problem, contract: &Contract) -> Budget {
    let form = form.into();
    let (mut out, mut last_state, mut repeats) = (Bounds::default(), Bounds::default(), 0.0f64);
    for &at in &problem.judged_channels {
        let channel = Channel { form, problem, at, contract };
        repeats = repeats.max(channel_bounds(channel, (&mut out, &mut last_state)));
    }
    let tensors = [(TensorName::Out, out), (TensorName::LastState, last_state)].into_iter().collect();
    Budget { tensors, repeats }
}

/// Adds one channel's bounds; how often its most frequent z or b occurs.
fn channel_bounds(channel: Channel, bounds: (&mut Bounds, &mut Bounds)) -> f64 {
    let mut counted = Repeats::default();
    let states = states(channel, Some(&mut counted));
    let repeats = channel.directions() * counted.most();
    push_channel(channel, &states, repeats, bounds);
    repeats
}

/// Adds what the states of a channel come to, where one z or b occurs `repeats` times.
fn push_channel(
    channel: Channel,
    states: &ChannelStates,
    repeats: f64,
    (out, last_state): (&mut Bounds, &mut Bounds),
) {
    let Channel { problem, contract, .. } = channel;
    let arithmetic = contract.arithmetic;
    for state in &states.last {
        last_state.value.extend(&[state.x.re, state.x.im][..problem.weights.width()]);
        let rounding = arithmetic.unit * state.magnitude;
        let [judged, worst, rounding] =
            [state.judged(repeats), state.worst, rounding].map(|b| b + arithmetic.underflow);
        last_state.push(judged, worst, 0.0, rounding);
    }
    let readout = Readout::new(channel);
    for (l, position) in states.positions.iter().enumerate() {
        out.push_output(&readout.bounds(l, position, repeats));
    }
}

/// One channel's values, and bounds of two kinds.
pub struct ChannelBudget<'a> {
    channel: Channel<'a>,
    states: ChannelStates,
}

impl<'a> ChannelBudget<'a> {
    pub fn new(
        form: impl Into<Form>,
        problem: &'a Problem,
        at: (usize, usize),
        contract: &'a Contract,
    ) -> Self {
        let channel = Channel { form: form.into(), problem, at, contract };
        ChannelBudget { channel, states: states(channel, None) }
    }

    /// The largest |ΔA|.
    pub fn largest_z(&self) -> f64 {
        self.states.largest_z
    }

    /// Bounds as if nothing repeated: at most those that are judged by, and found without counting.
    pub fn least(&self) -> Named<Bounds> {
        self.bounds(self.channel.directions())
    }

    /// The bounds that are judged by.
    pub fn judged(&self) -> Named<Bounds> {
        let mut counted = Repeats::default();
        states(self.channel, Some(&mut counted));
        self.bounds(self.channel.directions() * counted.most())
    }

    fn bounds(&self, repeats: f64) -> Named<Bounds> {
        let (mut out, mut last_state) = (Bounds::default(), Bounds::default());
        push_channel(self.channel, &self.states, repeats, (&mut out, &mut last_state));
        [(TensorName::Out, out), (TensorName::LastState, last_state)].into_iter().collect()
    }
}

/// The smaller one, where the first may be a NaN made of infinities.
fn or_less(judged: f64, worst: f64) -> f64 {
    if judged < worst { judged } else { worst }
}

/// What comes of infinities bounds nothing.
fn bound(value: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { value }
}

/// The weight at `index`, widened.
pub fn complex_at(weights: Weights, values: &[f32], index: usize) -> Complex64 {
    match weights {
        Weights::Real => Complex64::new(f64::from(values[index]), 0.0),
        Weights::Complex => Complex64::new(f64::from(values[index]), f64::from(values[index + 1])),
    }
}

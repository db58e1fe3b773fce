//! Changes with a number that has to be found, and changes that hold somewhere only: one of each.

use holdfast::formula::{Fraction, Function, Term};
use holdfast::judge::faults::around::{
    Activation, Carry, Chunks, Finish, FoundTerm, GateFunction, Gated, Guarded, Limited, Raised, STATES,
};
use holdfast::judge::faults::only::{Every, Only};
use holdfast::judge::faults::partial_sums::PartialSums;
use holdfast::judge::faults::variant::{BUse, Clamp, Power, Variant};
use holdfast::method::Method;
use holdfast::problem::Weights;

pub type Change = (&'static str, fn(&mut Variant));

/// Changes with a number that has to be found.
pub const NUMBERS: &[Change] = &[
    ("Δ × 0.7", |v| v.step_sizes.iter_mut().for_each(|s| s.factor = 0.7)),
    ("Δ × 1.25 in B̄", |v| v.step_sizes[1].factor = 1.25),
    ("Δ × 1.5 in Ā", |v| v.step_sizes[0].factor = 1.5),
    ("delta × 1.7 before softplus", |v| v.step_sizes.iter_mut().for_each(|s| s.raw = 1.7)),
    ("bias × 0.3", |v| v.step_sizes.iter_mut().for_each(|s| s.before = 0.3)),
    ("softplus with β = 2.5", |v| {
        let activation = Activation::Softplus { beta: 2.5, above: f64::INFINITY };
        v.step_sizes.iter_mut().for_each(|s| s.activation = activation);
    }),
    ("softplus above −1.5 left out", |v| {
        let activation = Activation::Softplus { beta: 1.0, above: -1.5 };
        v.step_sizes.iter_mut().for_each(|s| s.activation = activation);
    }),
    ("Δ ≤ 0.08", |v| v.clamp = Clamp::AtMost(0.08)),
    ("Δ ≥ 0.06", |v| v.clamp = Clamp::AtLeast(0.06)),
    ("0.05 ≤ Δ ≤ 0.1", |v| v.clamp = Clamp::Between(0.05, 0.1)),
    ("Δ < 0.05 is 0", |v| v.clamp = Clamp::ZeroBelow(0.05)),
    ("A × 0.8", |v| v.a_factor = [(0.8, 0.8); 2]),
    ("A × −0.5", |v| v.a_factor = [(-0.5, -0.5); 2]),
    ("A × 1.2 in B̄", |v| v.a_factor[1] = (1.2, 1.2)),
    ("A × 1.2 in Ā", |v| v.a_factor[0] = (1.2, 1.2)),
    ("Im A × 0.9", |v| v.a_factor = [(1.0, 0.9); 2]),
    ("Re A × 0.9", |v| v.a_factor = [(0.9, 1.0); 2]),
    ("A + 0.05", |v| v.a_offset = 0.05),
    ("A − 0.002", |v| v.a_offset = -0.002),
    ("|u| ≤ 0.5", |v| v.limits[Limited::U as usize] = (-0.5, 0.5)),
    ("z ≤ 0.75", |v| v.limits[Limited::Gate as usize].1 = 0.75),
    ("|B| ≤ 0.5", |v| v.limits[Limited::B as usize] = (-0.5, 0.5)),
    ("|C| ≤ 0.6", |v| v.limits[Limited::C as usize] = (-0.6, 0.6)),
    ("|x| ≤ 0.02", |v| v.limits[Limited::State as usize] = (-0.02, 0.02)),
    ("|C x| ≤ 0.01", |v| v.limits[Limited::Sum as usize] = (-0.01, 0.01)),
    ("B̄/B ≤ 0.06", |v| v.limits[Limited::BBar as usize].1 = 0.06),
    ("Re z ≥ −0.2 in Ā", |v| v.limits[Limited::OfABar as usize].0 = -0.2),
    ("Re z ≥ −0.2 in B̄", |v| v.limits[Limited::OfBBar as usize].0 = -0.2),
    ("the state × 0.9 everywhere", |v| v.chunks = Some(Chunks::new(1, Carry::Times(0.9)))),
    ("the state × 0.75 at multiples of 3", |v| v.chunks = Some(Chunks::new(3, Carry::Times(0.75)))),
    ("the state is 0 at 3 and 7", |v| (v.resets[0], v.resets[1]) = (3, 7)),
    ("swish with 1.3", |v| v.gate = GateFunction::Swish(1.3)),
    ("the skip × 0.3", |v| v.skip = 0.3),
    ("the readout × 0.6", |v| v.readout_factor = 0.6),
    ("the readout × 0.6, the skip × 3", |v| (v.readout_factor, v.skip) = (0.6, 3.0)),
    ("the input × 1.37", |v| v.input_factor = 1.37),
    ("|out| ≤ 0.05", |v| v.finish = Finish::Clipped(0.05)),
    ("state 1 counts twice, state 0 not at all", |v| {
        let mut counts = [2; STATES];
        (counts[0], counts[1]) = (0, 4);
        v.counts = Some(counts);
    }),
    ("B̄ = Δ + Δ²A/3", |v| *v = v.of_terms(&[term(1, 1, 1, 0), term(1, 3, 1, 1)])),
    ("B̄ = 2Δ²", |v| *v = v.of_terms(&[term(2, 1, 2, 0)])),
    ("B̄ = Δφ₁ + Δφ₂/4", |v| *v = v.of_terms(&[phi(1, 1, 1, 1), phi(1, 4, 1, 2)])),
    ("(eᶻ − 1)/z with 1.5 for 1", |v| {
        let mut sums = PartialSums::RIGHT;
        sums.of_powers[0][0] = Fraction(-1, 2);
        v.partial_sums = Some(sums);
    }),
    ("B̄ of zoh where |z| < 0.2", |v| (v.b_bar, v.other_below) = (Method::Zoh.into(), 0.2)),
    ("0.05 ≤ Δ ≤ 0.2 in B̄", |v| v.step_sizes[1].clamp = Clamp::Between(0.05, 0.2)),
    ("the gate of the skip alone", |v| v.gated = Gated::Skip),
    ("z·silu(y)", |v| v.gate = GateFunction::OfOutput),
    ("operands exchanged within chunks of 4", |v| v.exchanged = Some(4)),
    ("φ₂ = (2eᶻ − 1 − 2z/3)/z², φ₁ = (eᶻ − 1/2)/z", |v| {
        let mut sums = PartialSums::RIGHT;
        sums.of_exponential[1] = Fraction::ONE;
        sums.of_powers[1][1] = Fraction(1, 3);
        sums.of_powers[0][0] = Fraction(1, 2);
        v.partial_sums = Some(sums);
    }),
    ("B̄u = Δ²φ₁ B²u(l − 1) + Δ/3 u(l + 1)²", |v| {
        let before = FoundTerm { b: 2, offset: -1, ..phi(1, 1, 2, 1) };
        let after = FoundTerm { b: 0, u: 2, offset: 1, ..term(1, 3, 1, 0) };
        *v = v.of_terms(&[before, after]);
    }),
];

/// The same that only real weights can have.
pub const REAL: &[Change] = &[
    ("Ā ≥ 0.8", |v| v.a_bar_limits.0 = 0.8),
    ("Ā ≤ 0.9", |v| v.a_bar_limits.1 = 0.9),
    ("P Σ B̄u/(P + 0.001)", |v| v.raised = Raised::Added(1e-3)),
    ("P Σ B̄u/max(P, 0.5)", |v| v.raised = Raised::AtLeast(0.5)),
];

/// Those with a number.
pub fn numbers(weights: Weights) -> impl Iterator<Item = &'static Change> {
    NUMBERS.iter().chain(REAL.iter().filter(move |_| weights == Weights::Real))
}

/// Changes that hold somewhere only.
pub const PLACES: &[Change] = &[
    ("C negated at odd positions", |v| {
        (v.c_use, v.only) = (BUse::Negated, Only::Reads(Every::Of { length: 2, at: 1 }));
    }),
    ("B twice at the last position of each 4", |v| {
        (v.b_use, v.only) = (BUse::Twice, Only::Positions(Every::Of { length: 4, at: 3 }));
    }),
    ("Δ doubled from position 5 on", |v| {
        (v.step_delta, v.only) = (Power::Doubled, Only::Positions(Every::From(5)));
    }),
    ("B negated in state 1", |v| (v.b_use, v.only) = (BUse::Negated, Only::States(Every::one(1)))),
    ("Ā of 2Δ in state 0", |v| (v.a_bar_delta, v.only) = (Power::Doubled, Only::States(Every::one(0)))),
    ("Ā of 2Δ where Δ < 0.07", |v| {
        (v.a_bar_delta, v.only) = (Power::Doubled, Only::Below(Guarded::Delta, 0.07));
    }),
    ("Ā of Δ² where |A| ≥ 1", |v| {
        (v.a_bar_delta, v.only) = (Power::Squared, Only::Above(Guarded::A, 1.0));
    }),
    ("Ā by bilinear where |z| ≥ 0.2", |v| {
        (v.a_bar, v.only) = (Method::Bilinear.into(), Only::Above(Guarded::Z, 0.2));
    }),
    ("B̄ by zoh where |z| < 0.15", |v| {
        (v.b_bar, v.only) = (Method::Zoh.into(), Only::Below(Guarded::Z, 0.15));
    }),
];

/// Δᵖzᵏ with a factor.
fn term(numerator: i32, denominator: u32, delta: i32, power: usize) -> FoundTerm {
    of_function(Fraction(numerator, denominator), delta, Function::Power(power))
}

/// Δᵖφₖ with a factor.
fn phi(numerator: i32, denominator: u32, delta: i32, k: usize) -> FoundTerm {
    of_function(Fraction(numerator, denominator), delta, Function::Phi(k))
}

fn of_function(factor: Fraction, delta: i32, of: Function) -> FoundTerm {
    FoundTerm { term: Term { factor, delta, of }, b: 1, u: 1, offset: 0 }
}

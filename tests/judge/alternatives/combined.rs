//! What is said of changes that have a number, hold somewhere only, or come in twos.

use std::collections::BTreeMap;

use holdfast::formula::{Fraction, Function, Term};
use holdfast::judge::diagnose::{Alternative, alternatives, identify};
use holdfast::judge::faults::around::{
    Activation, Carry, Chunks, Finish, FoundTerm, GateFunction, Guarded, Limited, Raised, STATES,
};
use holdfast::judge::faults::only::{Every, Only};
use holdfast::judge::faults::partial_sums::PartialSums;
use holdfast::judge::faults::variant::{BUse, Clamp, Power, Variant};
use holdfast::method::Method;
use holdfast::results::Diagnosis;
use holdfast::tensor::{Named, Tensors};
use rand::RngExt as _;
use rayon::prelude::*;
use rstest::rstest;

use super::planted::Planting;
use super::{LENGTH, problems};
use crate::figures::golden;
use crate::support::problems::generator;

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
    ("Ā ≥ 0.8", |v| v.a_bar_limits.0 = 0.8),
    ("Ā ≤ 0.9", |v| v.a_bar_limits.1 = 0.9),
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
    ("P Σ B̄u/(P + 0.001)", |v| v.raised = Raised::Added(1e-3)),
    ("P Σ B̄u/max(P, 0.5)", |v| v.raised = Raised::AtLeast(0.5)),
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
];

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

/// What is planted: a sentence, and what comes of it.
struct Planted {
    what: String,
    got: Tensors<f64>,
}

/// Every third of them, so that each is tried on two problems.
fn alone(planting: &Planting, changes: &[Change], of: usize) -> Vec<Planted> {
    let changes = changes.iter().skip(of % 3).step_by(3);
    let planted = |(what, change): &Change| {
        let mut variant = Variant::specified(planting.method);
        change(&mut variant);
        Planted { what: (*what).to_owned(), got: planting.got(&variant) }
    };
    changes.map(planted).collect()
}

/// Alternatives by their names: what differs in a place or a number alone counts once.
fn by_name(all: &[Alternative]) -> Vec<Vec<&Alternative>> {
    let mut names: BTreeMap<&str, Vec<&Alternative>> = BTreeMap::new();
    all.iter().for_each(|one| names.entry(&one.name).or_default().push(one));
    names.into_values().collect()
}

/// Two changes at random, each of which shows beside the other.
fn pairs(planting: &Planting, count: usize) -> Vec<Planted> {
    let mut rng = generator("two changes at random");
    let all = alternatives(planting.method, &planting.problem, LENGTH);
    let names = by_name(&all);
    let mut planted = Vec::new();
    while planted.len() < count {
        let [first, second] = [(); 2].map(|()| {
            let of = &names[rng.random_range(0..names.len())];
            of[rng.random_range(0..of.len())]
        });
        let mut variant = first.variant;
        second.change(&mut variant);
        let got = planting.got(&variant);
        let shows = |other: &Alternative| planting.got(&other.variant) != got;
        if shows(first) && shows(second) && !planting.failing(&got).is_empty() {
            planted.push(Planted { what: format!("{}; {}", first.what, second.what), got });
        }
    }
    planted
}

/// One change at random in the channels of a batch, or in every other channel, where all others are right.
fn in_some_channels(planting: &Planting, count: usize) -> Vec<Planted> {
    let mut rng = generator("a change in some channels");
    let all = alternatives(planting.method, &planting.problem, LENGTH);
    let names = by_name(&all);
    let right = planting.got(&Variant::specified(planting.method));
    let channels = planting.problem.judged_channels.len();
    let mut planted = Vec::new();
    while planted.len() < count {
        let of = &names[rng.random_range(0..names.len())];
        let one = of[rng.random_range(0..of.len())];
        let is_even = rng.random();
        let mut got = planting.got(&one.variant);
        for (name, tensor) in right.iter() {
            let row = tensor.values.len() / channels;
            for (i, right) in tensor.values.iter().enumerate() {
                let channel = i / row;
                let is_wrong = if is_even { channel % 2 == 1 } else { channel < channels / 2 };
                if !is_wrong {
                    got[name].values[i] = *right;
                }
            }
        }
        if !planting.failing(&got).is_empty() {
            let place = if is_even { "every other channel" } else { "the first half of the channels" };
            planted.push(Planted { what: format!("{}; in {place}", one.what), got });
        }
    }
    planted
}

/// What is said of it: at once, or after a longer search (»).
fn line(planting: &Planting, planted: &Planted) -> String {
    let failing = planting.failing(&planted.got);
    let sentence = |one: &Diagnosis| format!("{}: {}", one.name, one.what);
    let sentences = |found: &Named<Vec<Diagnosis>>| -> Vec<String> {
        found
            .iter()
            .filter_map(|(name, all)| all.first().map(|first| format!("{name}: {}", sentence(first))))
            .collect()
    };
    let at_once = planting.by_tensor(&planted.got, &failing);
    let (mark, said) = match sentences(&at_once) {
        said if said.is_empty() => ("»", sentences(&identify(&planting.case(&planted.got), &failing))),
        said => ("→", said),
    };
    format!("{}\n    {mark} {}\n", planted.what, said.join("\n      "))
}

fn table(planting: &Planting, all: &[Planted]) -> String {
    all.par_iter().map(|planted| line(planting, planted)).collect()
}

#[rstest]
fn what_is_said_of_numbers_places_and_pairs_is_as_recorded(#[values(0, 1, 2, 3, 4, 5)] at: usize) {
    let description = "Changes to a scan with a number, at some places, and in twos, planted; what is said of each tensor at \
                       once (→) or after a longer search (»).";
    let (method, problem) = problems().swap_remove(at);
    let planting = Planting::new(method, problem);
    let mut all = alone(&planting, NUMBERS, at);
    all.extend(alone(&planting, PLACES, at));
    all.retain(|planted| !planting.failing(&planted.got).is_empty());
    all.extend(in_some_channels(&planting, 5));
    all.extend(pairs(&planting, 10));
    golden(&format!("combined-{method}"), description, &table(&planting, &all));
}

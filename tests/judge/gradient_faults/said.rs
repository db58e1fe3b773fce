//! What is said of gradients with a number or two faults in them.

use holdfast::judge::faults::gradient::catalogue::{self, Fault};
use holdfast::judge::faults::gradient::variant::Variant;
use holdfast::judge::faults::gradient::{adjoint, edges, find};
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::tensor::GradientName::{self, C, D, InitialState, Z};
use holdfast::tensor::Gradients;
use rand::RngExt as _;
use rayon::prelude::*;

use super::{Known, random};
use crate::figures::{assert_some, golden};
use crate::support::problems::{Layout, generator};

/// Problems that are small, and have whatever a fault can be about.
pub fn problems() -> Vec<(Method, (Problem, OutputGradients))> {
    use Operand::{Constant, Variable};
    use Weights::{Complex, Real};
    let mut rng = generator("small backward passes");
    let mut draw = |(batch, dim, dstate, seqlen, groups), weights, b, c| {
        let shape = Shape { batch, dim, dstate, seqlen, groups };
        random(&Layout { shape, weights, input: InputType::F32, b, c, gate: true, extras: true }, &mut rng)
    };
    vec![
        (Method::Zoh, draw((2, 4, 1, 7, 2), Real, Variable, Variable)),
        (Method::Poly, draw((2, 2, 1, 7, 1), Complex, Variable, Constant)),
        (Method::Bilinear, draw((2, 2, 1, 7, 2), Complex, Constant, Variable)),
        (Method::HighOrder, draw((2, 2, 2, 7, 1), Real, Constant, Constant)),
        (Method::Foh, draw((2, 2, 2, 7, 1), Complex, Variable, Variable)),
        (Method::Rk4, draw((2, 2, 2, 7, 2), Real, Variable, Variable)),
    ]
}

/// What becomes of a value: its place, the value, the largest one, and all of them.
type Spoil = fn(usize, &[f64], f64) -> f64;
const SPOILED: &[(&str, Spoil)] = &[
    ("× 0.7", |i, all, _| 0.7 * all[i]),
    ("× −2", |i, all, _| -2.0 * all[i]),
    ("one later", |i, all, _| if i == 0 { 0.0 } else { all[i - 1] }),
    ("one earlier", |i, all, _| all.get(i + 1).copied().unwrap_or(0.0)),
    ("in reverse", |i, all, _| all[all.len() - 1 - i]),
    ("the first half is 0", |i, all, _| if 2 * i < all.len() { 0.0 } else { all[i] }),
    ("the last third is 0", |i, all, _| if 3 * i >= 2 * all.len() { 0.0 } else { all[i] }),
    ("the first half × 1.5", |i, all, _| if 2 * i < all.len() { 1.5 * all[i] } else { all[i] }),
    ("halves exchanged", |i, all, _| all[(i + all.len() / 2) % all.len()]),
    ("halves added", |i, all, _| all[i] + all[(i + all.len() / 2) % all.len()]),
    ("the second half has both", |i, all, _| {
        let half = all.len() / 2;
        if i < half { all[i] } else { all[i] + all[i - half] }
    }),
    ("cut to a third", |i, all, largest| all[i].clamp(-largest / 3.0, largest / 3.0)),
    ("in bf16", |i, all, _| half::bf16::from_f64(all[i]).to_f64()),
    ("in f16", |i, all, _| half::f16::from_f64(all[i]).to_f64()),
    ("small ones are 0", |i, all, largest| if all[i].abs() < 0.2 * largest { 0.0 } else { all[i] }),
    ("squared", |i, all, _| all[i] * all[i]),
    ("absolute", |i, all, _| all[i].abs()),
];

/// A sentence, and the gradients.
type Planted = (String, Gradients<f64>);

/// A gradient spoiled on its own.
fn spoiled(known: &Known, i: usize) -> Planted {
    let names: Vec<GradientName> = known.want.iter().map(|(name, _)| name).collect();
    let ((what, spoil), name) = (SPOILED[i], names[i % names.len()]);
    let mut got = known.want.clone();
    let all = &known.want[name].values;
    let largest = super::largest(all);
    got[name].values = (0..all.len()).map(|i| spoil(i, all, largest)).collect();
    (format!("{name}: {what}"), got)
}

/// A fault that has a factor.
fn part(known: &Known, i: usize) -> Option<Planted> {
    let (part, factor) = (&catalogue::PARTS[i], [0.5, 1.3, -1.0, 0.25, 3.0][i % 5]);
    if !part.applies(known.method.into(), known.problem) {
        return None;
    }
    let absent = known.compute(part);
    let got = known.want.map(|name, want| {
        let values = want.values.iter().zip(&absent[name].values);
        want.with(values.map(|(want, absent)| absent + (want - absent) * factor).collect())
    });
    Some((format!("{} × {factor}", part.name), got))
}

/// Two faults at random, of the catalogue and of chunks.
fn pair(known: &Known) -> Planted {
    let mut rng = generator(&format!("two faults of {} at random", known.method));
    let all: Vec<&Fault> = catalogue::ALL.iter().chain(edges::ALL.iter()).collect();
    loop {
        let listed = all[rng.random_range(0..catalogue::ALL.len())];
        let other = all[rng.random_range(0..all.len())];
        let form = known.method.into();
        if listed.applies(form, known.problem) && other.applies(form, known.problem) {
            let mut variant = Variant::specified(form);
            listed.change(&mut variant);
            other.change(&mut variant);
            let got = adjoint::gradients(&variant, known.problem, known.given);
            return (format!("{} + {}", listed.name, other.name), got);
        }
    }
}

/// Two faults in a gradient of few numbers, or of few models, and all others right.
#[rustfmt::skip]
const PAIRS: [(Method, Weights, GradientName, [&str; 2]); 7] = [
    (Method::Zoh, Weights::Real, D, ["d-without-u", "sum-without-first"]),
    (Method::Bilinear, Weights::Complex, D, ["gate-missing-in-skip", "position-last-alone"]),
    (Method::Zoh, Weights::Real, Z, ["z-without-skip", "gate-slope-sigmoid"]),
    (Method::Foh, Weights::Complex, Z, ["z-output-doubled", "gate-slope-sum"]),
    (Method::Poly, Weights::Real, Z, ["reversed-missing", "z-skip-doubled"]),
    (Method::HighOrder, Weights::Real, InitialState, ["dlast-state-ignored", "initial-state-undecayed"]),
    (Method::Rk4, Weights::Complex, C, ["c-reads-before", "gate-missing-in-scan"]),
];

/// What is said of each gradient that fails.
fn line(known: &Known, (what, got): &Planted) -> String {
    let got = got.map(|_, tensor| tensor.with(tensor.values.iter().map(|v| f64::from(*v as f32)).collect()));
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, all) in known.judged(&got).iter() {
        let first = all.first().map_or("(nothing)".to_owned(), |one| format!("{}: {}", one.name, one.what));
        match said.iter_mut().find(|(known, _)| *known == first) {
            Some((_, names)) => names.push(name.name()),
            None => said.push((first, vec![name.name()])),
        }
    }
    let each = said.into_iter().map(|(first, names)| format!("    {}: {first}\n", names.join(", ")));
    format!("{}, {what}\n{}", known.method, each.collect::<String>())
}

/// Two faults in a gradient of few numbers, or of few models, and all others right.
fn of_pairs() -> Vec<(Method, (Problem, OutputGradients))> {
    let drawn = PAIRS.map(|(method, weights, ..)| {
        let shape = Shape { batch: 2, dim: 4, dstate: 1, seqlen: 9, groups: 2 };
        let (b, c) = (Operand::Variable, Operand::Variable);
        let layout = Layout { shape, weights, input: InputType::F32, b, c, gate: true, extras: true };
        (method, random(&layout, &mut generator("two faults in one gradient")))
    });
    drawn.into()
}

/// What is planted in the first of these, and in the second.
fn all_planted(known: &[Known], of_pairs: &[Known]) -> Vec<(usize, Planted)> {
    let mut all: Vec<(usize, Planted)> = Vec::new();
    let count = known.len();
    all.extend((0..SPOILED.len()).map(|i| (i % count, spoiled(&known[i % count], i))));
    let parts = 0..catalogue::PARTS.len();
    all.extend(parts.filter_map(|i| Some((i % count, part(&known[i % count], i)?))));
    for (i, known) in known.iter().enumerate() {
        all.push((i, pair(known)));
    }
    // A factor on z in Ā alone, near 1 and far from it: of C, as all other gradients are right.
    for exponent in [0.4, 0.55, 0.9995, 1.0004, 1.9] {
        let variant = Variant { exponent, ..Variant::specified(Method::Zoh.into()) };
        let mut got = known[0].want.clone();
        got[C] = adjoint::gradients(&variant, known[0].problem, known[0].given)[C].clone();
        all.push((0, (format!("exp({exponent}z)"), got)));
    }
    for (i, (known, (.., name, faults))) in of_pairs.iter().zip(PAIRS).enumerate() {
        let mut variant = Variant::specified(known.method.into());
        faults.iter().for_each(|fault| find(fault).expect("a fault").change(&mut variant));
        let mut got = known.want.clone();
        got[name] = adjoint::gradients(&variant, known.problem, known.given)[name].clone();
        all.push((count + i, (format!("{name}: {}", faults.join(" + ")), got)));
    }
    all
}

/// Hands on all that are planted, and what is said of each.
fn with_planted(then: impl Fn(usize, &(dyn Fn(usize) -> String + Sync))) {
    let (drawn, of_pairs) = (problems(), of_pairs());
    let mut all_known: Vec<Known> = drawn.iter().map(|(method, drawn)| Known::new(*method, drawn)).collect();
    let of_pairs: Vec<Known> = of_pairs.iter().map(|(method, drawn)| Known::new(*method, drawn)).collect();
    let all = all_planted(&all_known, &of_pairs);
    all_known.extend(of_pairs);
    then(all.len(), &|i| line(&all_known[all[i].0], &all[i].1));
}

#[test]
fn what_is_said_of_some_numbers_places_and_pairs_is_as_recorded() {
    with_planted(|count, said| assert_some("changes/gradient-said", count, 7, said));
}

#[test]
#[ignore = "one in seven is compared in `cargo test`: .ci/long"]
fn what_is_said_of_numbers_places_and_pairs_is_as_recorded() {
    let description = "Gradients that are wrong by a number, at some places, or by two faults: what is said first of each that fails. \
                       `cargo test` compares one in seven.";
    with_planted(|count, said| {
        let all = (0..count).into_par_iter().map(said);
        golden("gradient-said", description, &all.collect::<String>());
    });
}

//! What is said of gradients with a number, a place or two faults in them.

use holdfast::judge::diagnose::Work;
use holdfast::judge::faults::gradient::adjoint;
use holdfast::judge::faults::gradient::catalogue::{self, Fault};
use holdfast::judge::faults::gradient::structure;
use holdfast::judge::faults::gradient::variant::Variant;
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::tensor::{GradientName, Gradients};
use rand::RngExt as _;
use rayon::prelude::*;
use rstest::rstest;

use super::{Known, random};
use crate::figures::golden;
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
        (Method::Zoh, draw((2, 4, 2, 9, 2), Real, Variable, Variable)),
        (Method::Poly, draw((2, 2, 2, 9, 1), Complex, Variable, Constant)),
        (Method::Bilinear, draw((2, 2, 2, 8, 2), Complex, Constant, Variable)),
        (Method::HighOrder, draw((2, 2, 2, 9, 1), Real, Constant, Constant)),
        (Method::Foh, draw((2, 2, 3, 7, 1), Complex, Variable, Variable)),
        (Method::Rk4, draw((2, 2, 2, 9, 2), Real, Variable, Variable)),
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

/// Every third of them: what one problem does not have two others have.
fn third<T>(all: impl Iterator<Item = T>, of: usize) -> impl Iterator<Item = (usize, T)> {
    all.enumerate().filter(move |(at, _)| at % 3 == of % 3)
}

/// Gradients spoiled on their own, one way after the other.
fn spoiled(known: &Known, of: usize) -> Vec<Planted> {
    let names: Vec<GradientName> = known.want.iter().map(|(name, _)| name).collect();
    let planted = |(at, (what, spoil)): (usize, &(&str, Spoil))| {
        let name = names[(at + of) % names.len()];
        let mut got = known.want.clone();
        let all = &known.want[name].values;
        let largest = super::largest(all);
        got[name].values = (0..all.len()).map(|i| spoil(i, all, largest)).collect();
        (format!("{name}: {what}"), got)
    };
    third(SPOILED.iter(), of).map(planted).collect()
}

/// Faults that have each of these factors.
fn parts(known: &Known, of: usize) -> Vec<Planted> {
    let applies = |part: &&Fault| part.applies(known.method.into(), known.problem);
    let factors = [0.5, 1.3, -1.0, 0.25, 3.0];
    let planted = |(at, part): (usize, &Fault)| {
        let factor = factors[at % factors.len()];
        let absent = known.compute(part);
        let got = known.want.map(|name, want| {
            let values = want.values.iter().zip(&absent[name].values);
            want.with(values.map(|(want, absent)| absent + (want - absent) * factor).collect())
        });
        (format!("{} × {factor}", part.name), got)
    };
    third(catalogue::PARTS.iter().filter(applies), of).map(planted).collect()
}

/// Two faults at random, of the catalogue and of single places.
fn pairs(known: &Known, count: usize) -> Vec<Planted> {
    let mut rng = generator("two faults at random");
    let all: Vec<&Fault> = catalogue::ALL.iter().chain(structure::ALL.iter()).collect();
    let mut planted = Vec::new();
    while planted.len() < count {
        let listed = all[rng.random_range(0..catalogue::ALL.len())];
        let other = all[rng.random_range(0..all.len())];
        let form = known.method.into();
        if !listed.applies(form, known.problem) || !other.applies(form, known.problem) {
            continue;
        }
        let mut variant = Variant::specified(form);
        listed.change(&mut variant);
        other.change(&mut variant);
        let got = adjoint::gradients(&variant, known.problem, known.given);
        planted.push((format!("{} + {}", listed.name, other.name), got));
    }
    planted
}

/// Faults of single places with a factor, in one gradient that they touch.
fn scaled_places(known: &Known, count: usize) -> Vec<Planted> {
    let mut rng = generator("places with a factor");
    let mut planted = Vec::new();
    while planted.len() < count {
        let fault = &structure::ALL[rng.random_range(0..structure::ALL.len())];
        let name = fault.touches[rng.random_range(0..fault.touches.len())];
        if !fault.applies(known.method.into(), known.problem) || known.want.get(name).is_none() {
            continue;
        }
        let mut got = known.want.clone();
        got[name].values = known.compute(fault)[name].values.iter().map(|value| 3.0 * value).collect();
        planted.push((format!("{name}: {} × 3", fault.name), got));
    }
    planted
}

fn line(known: &Known, (what, got): &Planted) -> String {
    let got = got.map(|_, tensor| tensor.with(tensor.values.iter().map(|v| f64::from(*v as f32)).collect()));
    let work = Work::default();
    let said = known.counted(&got, &work);
    let each = said.iter().map(|(name, all)| {
        let all: Vec<String> = all.iter().take(2).map(|one| format!("{}: {}", one.name, one.what)).collect();
        format!("    {name}: {}\n", all.join(" | "))
    });
    format!("{what} [{}]\n{}", work.done(), each.collect::<String>())
}

#[rstest]
fn what_is_said_of_numbers_places_and_pairs_is_as_recorded(#[values(0, 1, 2, 3, 4, 5)] at: usize) {
    let description = "Gradients that are wrong by a number, at some places, or by two faults: what is said of each that fails; in \
                       brackets how many positions × states that takes.";
    let (method, problem) = problems().swap_remove(at);
    let known = Known::new(method, &problem);
    let mut all = spoiled(&known, at);
    all.extend(parts(&known, at));
    all.extend(scaled_places(&known, 3));
    all.extend(pairs(&known, 2));
    let table: String = all.par_iter().map(|planted| line(&known, planted)).collect();
    golden(&format!("backward-combined-{method}"), description, &table);
}

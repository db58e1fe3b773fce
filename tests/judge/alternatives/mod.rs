//! Promise: every change to a scan that is looked for in recordings computes what its name says.

mod coefficients;
mod compared;
mod functions;
mod numbers;
mod plain;
mod planted;
mod put_together;
mod reading;
mod returned;
mod said;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use holdfast::judge::diagnose::{Alternative, alternatives};
use holdfast::judge::faults::scan;
use holdfast::judge::faults::variant::Variant;
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::tensor::TensorName;
use rand::RngExt as _;

use self::numbers::{PLACES, numbers};
use crate::figures::{Figure, golden};
use crate::support::problems::{Layout, generator};

/// Of chunks and blocks: none that is tried whatever fails first.
const LENGTH: usize = 3;

/// What the changes are tried on: together they have whatever a change can be about.
fn problems() -> Vec<(Method, Problem)> {
    use Operand::{Constant, Variable};
    let mut rng = generator("alternatives");
    let mut draw = |method, (batch, dim, dstate, seqlen, groups), weights, input, (b, c), gate| {
        let shape = Shape { batch, dim, dstate, seqlen, groups };
        let layout = Layout { shape, weights, input, b, c, gate, extras: gate };
        let mut problem = layout.random(&mut rng);
        problem.judged_channels = problem.channels().collect();
        // Something to skip, and something that grows.
        problem.u[2] = 0.0;
        problem.a[0] = 0.25;
        let states = problem.shape.batch * problem.a.len();
        problem.initial_state = gate.then(|| (0..states).map(|_| rng.random_range(-1.0f32..1.0)).collect());
        (method, problem)
    };
    let (real, complex) = (Weights::Real, Weights::Complex);
    let f32 = InputType::F32;
    vec![
        draw(Method::Zoh, (2, 4, 3, 11, 2), real, f32, (Variable, Variable), true),
        draw(Method::Poly, (2, 2, 2, 10, 1), complex, InputType::Bf16, (Variable, Variable), true),
        draw(Method::Bilinear, (2, 3, 2, 9, 1), complex, f32, (Constant, Constant), false),
        draw(Method::HighOrder, (1, 4, 2, 9, 2), real, InputType::F16, (Variable, Constant), true),
        draw(Method::Foh, (2, 2, 3, 9, 1), complex, f32, (Variable, Variable), false),
        draw(Method::Rk4, (1, 2, 2, 10, 1), real, f32, (Constant, Variable), false),
    ]
}

/// The same, but for poly in fewer positions and states: it has two scans, and each change in either alone and in both.
fn planted_problems() -> Vec<(Method, Problem)> {
    let mut all = problems();
    let shape = Shape { batch: 2, dim: 2, dstate: 1, seqlen: 7, groups: 1 };
    let (b, c) = (Operand::Variable, Operand::Variable);
    let (weights, input) = (Weights::Complex, InputType::Bf16);
    let layout = Layout { shape, weights, input, b, c, gate: true, extras: true };
    let (_, poly) = all.iter_mut().find(|(method, _)| *method == Method::Poly).expect("one of the six");
    *poly = layout.random(&mut generator("alternatives in two scans"));
    poly.judged_channels = poly.channels().collect();
    poly.u[2] = 0.0;
    poly.a[0] = 0.25;
    all
}

/// Which changes there are of a name; of those in one of two scans alone, which scan that is, as all changes of both are there.
fn kind(alternative: &Alternative) -> &str {
    match alternative.what.rsplit_once("; in the ") {
        Some((_, "forward scan alone")) => "in the forward scan alone",
        Some((_, "reversed scan alone")) => "in the reversed scan alone",
        _ => &alternative.name,
    }
}

/// What all changes compute in a few figures: it says that one of them computes something else, and [`compared`] says which.
#[derive(Default)]
struct Figures {
    /// Of outputs and of last states.
    values: [Figure; 2],
    bounds: [Figure; 2],
    overflows: usize,
}

impl Figures {
    fn add(&mut self, variant: &Variant, problem: &Problem) {
        for &at in &problem.judged_channels {
            let channel = scan::channel(variant, problem, at);
            let beyond = channel.tensors.values().any(|row| row.beyond.contains(&true));
            self.overflows += usize::from(beyond);
            for (i, name) in TensorName::SCANNED.into_iter().enumerate() {
                channel.tensors[name].values.iter().for_each(|value| self.values[i].add(*value));
                channel.tensors[name].bound.iter().for_each(|bound| self.bounds[i].add_size(*bound));
            }
        }
    }

    fn line(&self) -> String {
        let of = |i: usize| format!("{:.7} ± {:.5}", self.values[i].sum, self.bounds[i].sum);
        let not_finite: usize = self.values.iter().chain(&self.bounds).map(|figure| figure.not_finite).sum();
        format!("{} | {} | {not_finite} not finite | {} overflow", of(0), of(1), self.overflows)
    }
}

/// Words in lines of some hundred letters.
pub fn wrapped<'a>(words: impl IntoIterator<Item = &'a str>, indent: &str) -> String {
    let mut text = String::new();
    let mut width = usize::MAX;
    for word in words {
        if width > 100 {
            let _ = write!(text, "{}{indent}{word}", if text.is_empty() { "" } else { "\n" });
            width = word.len();
        } else {
            let _ = write!(text, ", {word}");
            width += 2 + word.len();
        }
    }
    text + "\n"
}

/// Which changes there are, by the first words of their names, and what all of them compute.
#[test]
fn the_changes_that_are_looked_for_are_as_recorded() {
    let description = "Changes to a scan that are looked for in recordings of six small problems. What all of a method compute: Σ v/(1 + \
                       |v|) ± Σ log₁₀ bound, weighted, of outputs and of last states. Then their names, by the first word, with how \
                       many changes each method has of them.";
    let mut names: BTreeMap<String, (BTreeSet<String>, BTreeMap<Method, usize>)> = BTreeMap::new();
    let mut table = String::new();
    for (method, problem) in problems() {
        let all = alternatives(method, &problem, LENGTH);
        let mut figures = Figures::default();
        all.iter().for_each(|one| figures.add(&one.variant, &problem));
        for (_, change) in numbers(problem.weights).chain(PLACES) {
            let mut variant = Variant::specified(method);
            change(&mut variant);
            figures.add(&variant, &problem);
        }
        for one in &all {
            let name = kind(one);
            let word = name.split(['-', ' ']).next().unwrap_or_default();
            let (of_word, counts) = names.entry(word.to_owned()).or_default();
            of_word.insert(name.to_owned());
            *counts.entry(method).or_default() += 1;
        }
        let _ = writeln!(table, "{method}: {} changes | {}", all.len(), figures.line());
    }
    for (word, (of_word, counts)) in &names {
        let counts: Vec<String> = counts.iter().map(|(method, count)| format!("{method} {count}")).collect();
        let _ = writeln!(table, "{word}: {}", counts.join(", "));
        table += &wrapped(of_word.iter().map(String::as_str), "    ");
    }
    golden("scan-names", description, &table);
}

/// A change to one of two scans alone has to be computed over all positions: it is looked for where these and the states are few.
#[test]
fn one_of_two_scans_is_looked_at_where_it_is_short() {
    let of_one_scan = |dstate, seqlen| {
        let shape = Shape { batch: 1, dim: 1, dstate, seqlen, groups: 1 };
        let (b, c) = (Operand::Variable, Operand::Variable);
        let (weights, input) = (Weights::Real, InputType::F32);
        let layout = Layout { shape, weights, input, b, c, gate: false, extras: false };
        let problem = layout.random(&mut generator("one of two scans"));
        let all = alternatives(Method::Poly, &problem, LENGTH);
        all.iter().filter(|one| one.what.ends_with("; in the reversed scan alone")).count()
    };
    for (dstate, seqlen) in [(1, 4096), (64, 64), (4096, 1)] {
        assert!(of_one_scan(dstate, seqlen) > 100, "{dstate} {seqlen}");
    }
    for (dstate, seqlen) in [(1, 4097), (64, 65), (65, 64)] {
        assert_eq!(of_one_scan(dstate, seqlen), 0, "{dstate} {seqlen}");
    }
}

/// silu(−120) is −10⁻⁵⁰, which f32 has as 0: the bound covers that, and next to nothing more.
#[test]
fn a_gate_that_underflows_may_be_0() {
    let (method, mut problem) =
        problems().into_iter().find(|(_, problem)| problem.z.is_some()).expect("gated");
    problem.input = InputType::F32;
    problem.z.iter_mut().for_each(|z| z.fill(-120.0));
    let channel = scan::channel(&Variant::specified(method), &problem, problem.judged_channels[0]);
    let out = &channel.tensors[TensorName::Out];
    for (value, bound) in out.values.iter().zip(&out.bound) {
        assert!(value.abs() <= *bound && *bound < 1e-40, "{value:e} {bound:e}");
        assert!(value.abs() < 1e-45, "{value:e}");
    }
}

//! Promise: every change to a scan that is looked for in recordings computes what its name says.

mod coefficients;
mod combined;
mod compared;
mod functions;
mod late;
mod numbers;
mod other_forms;
mod plain;
mod planted;
mod put_together;
mod reading;
mod returned;

use std::collections::BTreeMap;
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

/// A sentence with # for each number in it.
fn without_numbers(what: &str) -> String {
    let mut text = String::new();
    for c in what.chars() {
        match c {
            '0'..='9' | '.' if text.ends_with('#') => {}
            '0'..='9' => text.push('#'),
            c => text.push(c),
        }
    }
    text
}

/// What the changes with one sentence compute.
#[derive(Default)]
struct Figures {
    count: usize,
    /// Of outputs and of last states.
    values: [Figure; 2],
    bounds: [Figure; 2],
    overflows: usize,
}

impl Figures {
    fn add(&mut self, variant: &Variant, problem: &Problem) {
        self.count += 1;
        for &at in &problem.judged_channels {
            let channel = scan::channel(variant, problem, at);
            self.overflows += usize::from(channel.overflows);
            for (i, name) in TensorName::ALL.into_iter().enumerate() {
                channel.tensors[name].values.iter().for_each(|value| self.values[i].add(*value));
                channel.tensors[name].bound.iter().for_each(|bound| self.bounds[i].add_size(*bound));
            }
        }
    }
}

/// A change without its numbers; of one that is in one of two scans alone which scan that is, as all changes of both are there.
fn kind(alternative: &Alternative) -> String {
    let what = without_numbers(&alternative.what);
    match what.rsplit_once("; ") {
        Some((_, scan)) if scan.ends_with(" scan alone") => scan.to_owned(),
        _ => format!("{}: {what}", alternative.name),
    }
}

/// One line for each kind: how many changes are of it, and what they compute.
fn table(method: Method, problem: &Problem) -> String {
    let mut kinds: Vec<String> = Vec::new();
    let mut figures: BTreeMap<String, Figures> = BTreeMap::new();
    let mut add = |kind: String, variant: &Variant| {
        if !figures.contains_key(&kind) {
            kinds.push(kind.clone());
        }
        figures.entry(kind).or_default().add(variant, problem);
    };
    alternatives(method, problem, LENGTH).iter().for_each(|one| add(kind(one), &one.variant));
    for (what, change) in numbers(problem.weights).chain(PLACES) {
        let mut variant = Variant::specified(method);
        change(&mut variant);
        add((*what).to_owned(), &variant);
    }
    let mut text = String::new();
    for kind in kinds {
        let Figures { count, values, bounds, overflows } = &figures[&kind];
        let _ = write!(text, "{kind} | {count}");
        for (value, bound) in values.iter().zip(bounds) {
            let _ = write!(text, " | {:.7} ± {:.5}", value.sum, bound.sum);
        }
        let not_finite: usize = values.iter().chain(bounds).map(|figure| figure.not_finite).sum();
        if not_finite + overflows > 0 {
            let _ = write!(text, " | {not_finite} not finite, {overflows} overflow");
        }
        text.push('\n');
    }
    text
}

/// That it is right, the kernels' own faults and the plain scan say.
#[test]
fn what_changes_compute_is_as_recorded() {
    let description = "Every change to a scan that is looked for in recordings: how many are of a kind; of outputs and of last \
                       states Σ v/(1 + |v|) ± Σ log₁₀ bound, weighted.";
    for (method, problem) in problems() {
        golden(&format!("forward-{method}"), description, &table(method, &problem));
    }
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

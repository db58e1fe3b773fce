//! How many faults of a backward pass there are, what they apply to, and what they compute.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use holdfast::judge::faults::gradient::catalogue::{self, Fault};
use holdfast::judge::faults::gradient::edges;
use holdfast::method::Method;
use holdfast::problem::conventions::StateHolds;
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::tensor::GradientName;

use super::said::problems;
use super::{Known, random};
use crate::figures::{Figure, golden};
use crate::support::problems::{Layout, generator};

/// What an input, a statement or a size takes from a problem.
type Less = (&'static str, fn(&mut Problem));
const LESS: [Less; 25] = [
    ("no gate", |p| p.z = None),
    ("no skip", |p| p.d = None),
    ("neither", |p| (p.z, p.d) = (None, None)),
    ("no bias", |p| p.delta_bias = None),
    ("no softplus", |p| p.delta_softplus = false),
    ("neither", |p| (p.delta_bias, p.delta_softplus) = (None, false)),
    ("no initial state", |p| p.initial_state = None),
    ("a constant B", |p| p.b_operand = Operand::Constant),
    ("a constant C", |p| p.c_operand = Operand::Constant),
    ("states without a constant B", |p| {
        (p.b_operand, p.conventions.state) = (Operand::Constant, StateHolds::InputAlone);
    }),
    ("1 item of the batch", |p| p.shape.batch = 1),
    ("16 items", |p| p.shape.batch = 16),
    ("17 items", |p| p.shape.batch = 17),
    ("1 channel", |p| (p.shape.dim, p.shape.groups) = (1, 1)),
    ("1 group", |p| p.shape.groups = 1),
    ("4 groups", |p| p.shape.groups = 4),
    ("1 state", |p| p.shape.dstate = 1),
    ("1 position", |p| p.shape.seqlen = 1),
    ("2 positions", |p| p.shape.seqlen = 2),
    ("3 positions", |p| p.shape.seqlen = 3),
    ("16 positions", |p| p.shape.seqlen = 16),
    ("17 positions", |p| p.shape.seqlen = 17),
    ("32 positions", |p| p.shape.seqlen = 32),
    ("256 positions", |p| p.shape.seqlen = 256),
    ("257 positions", |p| p.shape.seqlen = 257),
];

/// Every method with both kinds of weights, then the one that has the most with less.
fn various() -> Vec<(String, Method, Problem)> {
    let mut rng = generator("what faults apply to");
    let shape = Shape { batch: 2, dim: 4, dstate: 2, seqlen: 33, groups: 2 };
    let (b, c) = (Operand::Variable, Operand::Variable);
    let mut draw = |weights| {
        let layout = Layout { shape, weights, input: InputType::F32, b, c, gate: true, extras: true };
        random(&layout, &mut rng).0
    };
    let drawn = Weights::ALL.map(|weights| (weights, draw(weights)));
    let mut all = Vec::new();
    for method in Method::ALL {
        let of =
            drawn.iter().map(|(weights, problem)| (format!("{method} {weights}"), method, problem.clone()));
        all.extend(of);
    }
    for (less, change) in LESS {
        let (weights, mut problem) = drawn[1].clone();
        change(&mut problem);
        all.push((format!("poly {weights}, {less}"), Method::Poly, problem));
    }
    all
}

/// Faults of the catalogue, parts, and edges of chunks of usual lengths and of any.
fn lists() -> [(&'static str, Vec<&'static Fault>); 4] {
    [
        ("catalogue", catalogue::ALL.iter().collect()),
        ("parts", catalogue::PARTS.iter().collect()),
        ("edges", edges::ALL.iter().collect()),
        ("of any length", edges::OF_ANY_LENGTH.iter().collect()),
    ]
}

fn counts(text: &mut String, what: &str, is: impl Fn(&Fault) -> bool) {
    let count = |(name, of): (&str, Vec<&Fault>)| {
        format!("{name} {}", of.into_iter().filter(|fault| is(fault)).count())
    };
    let _ = writeln!(text, "{what}: {}", lists().map(count).join(", "));
}

/// Diagnoses plant the faults with what computes them, so that a wrong one agrees with itself; here it would differ from what
/// was recorded.
#[test]
fn faults_are_what_is_recorded() {
    let description = "Faults of backward passes: how many there are, how many have a property, and how many apply to a problem. Then how \
                       many change each gradient, and what these compute: Σ v/(1 + |v|), weighted.";
    let mut text = String::new();
    counts(&mut text, "all", |_| true);
    counts(&mut text, "round", Fault::rounds);
    counts(&mut text, "are separate", Fault::is_separate);
    counts(&mut text, "are factors", Fault::is_factor);
    for (what, method, problem) in various() {
        counts(&mut text, &what, |fault| fault.applies(method.into(), &problem));
    }
    let mut sentences = Figure::default();
    lists().iter().flat_map(|(_, of)| of).for_each(|fault| {
        fault.what.bytes().for_each(|byte| sentences.add_size(byte.into()));
    });
    let _ = writeln!(text, "Σ log₁₀ of the bytes of all sentences: {:.6}", sentences.sum);
    for (method, problem) in &problems() {
        let known = Known::new(*method, problem);
        let mut changed: BTreeMap<GradientName, (usize, Figure)> = BTreeMap::new();
        for fault in lists().iter().flat_map(|(_, of)| of) {
            if !fault.applies((*method).into(), &problem.0) {
                continue;
            }
            for (name, computed, want) in known.compute(fault).zip(&known.want) {
                if !known.same(&computed.values, &want.values) {
                    let (count, figure) = changed.entry(name).or_default();
                    *count += 1;
                    computed.values.iter().for_each(|value| figure.add(*value));
                }
            }
        }
        for (name, (count, Figure { sum, not_finite, .. })) in changed {
            let _ = writeln!(text, "{method}: {count} change {name}: {sum:.7}, {not_finite} not finite");
        }
    }
    golden("gradient-faults", description, &text);
}

//! Promise: two faults are looked for where no single one explains a gradient, and chunks of any length in two of them only where
//! there are numbers enough to tell.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use holdfast::judge::diagnose::Work;
use holdfast::judge::faults::gradient::adjoint;
use holdfast::judge::faults::gradient::find;
use holdfast::judge::faults::gradient::variant::Variant;
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Shape, Weights};
use holdfast::tensor::GradientName::{self, C, D, InitialState, Z};
use holdfast::tensor::Gradients;
use rstest::rstest;

use super::blank::told;
use super::{Known, random};
use crate::figures::golden;
use crate::support::problems::{Layout, generator};

fn layout(
    weights: Weights,
    (batch, dim, dstate, seqlen, groups): (usize, usize, usize, usize, usize),
) -> Layout {
    let shape = Shape { batch, dim, dstate, seqlen, groups };
    let (b, c) = (Operand::Variable, Operand::Variable);
    Layout { shape, weights, input: InputType::F32, b, c, gate: true, extras: true }
}

/// One gradient as it is with these faults, and all others right.
fn planted(known: &Known, name: GradientName, faults: &[&str]) -> Gradients<f64> {
    let mut variant = Variant::specified(known.method.into());
    faults.iter().for_each(|fault| find(fault).expect("a fault").change(&mut variant));
    let mut got = known.want.clone();
    got[name] = adjoint::gradients(&variant, known.problem, known.given)[name].clone();
    got
}

/// In rows of sixteen positions chunks of any length are tried with what else there is, and in shorter ones they are not: two of
/// thousands agree with so few numbers by chance.
#[rstest]
#[case(16, true)]
#[case(15, false)]
fn chunks_of_any_length_in_pairs(#[case] seqlen: usize, #[case] is_named: bool) {
    let layout = layout(Weights::Real, (1, 2, 1, seqlen, 1));
    let drawn = random(&layout, &mut generator("chunks of any length in pairs"));
    let known = Known::new(Method::Zoh, &drawn);
    let faults = ["state-in-backward-lost-at-5", "gate-slope-sigmoid"];
    let judged = known.judged(&planted(&known, Z, &faults));
    let first = judged[Z].first().map_or("", |first| &first.name);
    let found: BTreeSet<&str> = first.split(" + ").collect();
    assert_eq!(found == BTreeSet::from(faults), is_named, "{judged:?}");
}

/// What explains a gradient alone needs no second one.
#[test]
fn one_is_enough() {
    let drawn = random(&layout(Weights::Real, (2, 4, 2, 9, 2)), &mut generator("one is enough"));
    let known = Known::new(Method::Zoh, &drawn);
    for (name, fault) in [(Z, "gate-slope-sum"), (D, "d-without-u"), (C, "c-reads-before")] {
        let judged = known.judged(&planted(&known, name, &[fault]));
        assert_eq!(judged[name].first().map(|first| first.name.as_str()), Some(fault));
        assert!(judged[name].iter().all(|one| !one.name.contains(" + ")), "{judged:?}");
    }
}

/// In gradients of few numbers, or of few models.
#[rustfmt::skip]
const PAIRS: [(Method, Weights, GradientName, [&str; 2]); 7] = [
    (Method::Zoh, Weights::Real, D, ["d-without-u", "sum-without-first"]),
    (Method::Bilinear, Weights::Complex, D, ["gate-missing-in-skip", "dout-in-d-of-position-after"]),
    (Method::Zoh, Weights::Real, Z, ["z-without-skip", "gate-slope-sigmoid"]),
    (Method::Foh, Weights::Complex, Z, ["z-output-doubled", "gate-slope-sum"]),
    (Method::Poly, Weights::Real, Z, ["reversed-missing", "z-skip-doubled"]),
    (Method::HighOrder, Weights::Real, InitialState, ["dlast-state-ignored", "initial-state-undecayed"]),
    (Method::Rk4, Weights::Complex, C, ["c-reads-before", "gate-missing-in-scan"]),
];

#[test]
fn what_is_said_of_two_faults_is_as_recorded() {
    let description = "Two faults in one gradient, all others right: what is said of it; in brackets how many positions × states \
                       that takes.";
    let mut table = String::new();
    for (method, weights, name, faults) in PAIRS {
        let drawn = random(&layout(weights, (2, 4, 2, 9, 2)), &mut generator("two faults in one gradient"));
        let known = Known::new(method, &drawn);
        let work = Work::default();
        let judged = known.counted(&planted(&known, name, &faults), &work);
        let _ = writeln!(table, "{method} {weights}, {name}: {} [{}]", faults.join(" + "), work.done());
        told(&judged[name]).iter().for_each(|said| {
            let _ = writeln!(table, "    {said}");
        });
    }
    golden("backward-pairs", description, &table);
}

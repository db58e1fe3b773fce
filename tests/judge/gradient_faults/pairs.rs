//! Promise: two faults are looked for where no single one explains a gradient, and chunks of any length in two of them only where
//! there are numbers enough to tell.

use std::collections::BTreeSet;

use holdfast::judge::faults::gradient::adjoint;
use holdfast::judge::faults::gradient::find;
use holdfast::judge::faults::gradient::variant::Variant;
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Shape, Weights};
use holdfast::tensor::GradientName::{self, C, D, Z};
use holdfast::tensor::Gradients;

use super::{Known, random};
use crate::cases::each;
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
#[test]
fn chunks_of_any_length_in_pairs() {
    let cases: [(usize, bool); 2] = [(16, true), (15, false)];
    each(cases, |(seqlen, is_named)| {
        let layout = layout(Weights::Real, (1, 2, 1, seqlen, 1));
        let drawn = random(&layout, &mut generator("chunks of any length in pairs"));
        let known = Known::new(Method::Zoh, &drawn);
        let faults = ["state-in-backward-lost-at-5", "gate-slope-sigmoid"];
        let judged = known.judged(&planted(&known, Z, &faults));
        let first = judged[Z].first().map_or("", |first| &first.name);
        let found: BTreeSet<&str> = first.split(" + ").collect();
        assert_eq!(found == BTreeSet::from(faults), is_named, "{judged:?}");
    });
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

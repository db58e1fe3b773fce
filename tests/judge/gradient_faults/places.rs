//! Faults of single places, and two faults at once.

use std::collections::BTreeSet;

use holdfast::judge::faults::gradient::catalogue;
use holdfast::judge::faults::gradient::variant::Variant;
use holdfast::judge::faults::gradient::{adjoint, all, find, structure};
use holdfast::method::Method;
use holdfast::problem::{Operand, Shape, Weights};
use holdfast::tensor::GradientName::{self, A, B, C, D, Delta, InitialState, U, Z};

use super::planted::outcome;
use super::{Known, firsts, noisy, problems, random};
use crate::cases::each;
use crate::support::problems::{Layout, generator};

#[test]
fn what_is_wrong_with_one_gradient_hides_nothing_of_another() {
    let cases = [
        (Method::Zoh, "b-without-delta", B, "a-without-a-bar", A),
        (Method::Foh, "c-reads-before", C, "softplus-slope-missing", Delta),
        (Method::Poly, "gate-slope-sigmoid", Z, "u-without-skip", U),
        (Method::Bilinear, "d-without-u", D, "initial-state-undecayed", InitialState),
    ];
    for weights in Weights::ALL {
        let problems = problems(weights, None);
        for (method, first, of_first, second, of_second) in cases {
            let known = Known::new(method, &problems[0]);
            let mut got = known.want.clone();
            for (fault, name) in [(first, of_first), (second, of_second)] {
                let fault = catalogue::find(fault).expect("in the catalogue");
                got[name] = known.compute(fault)[name].clone();
            }
            let got = noisy(&got, &mut generator("what_is_wrong_with_one_gradient"));
            let mut expected = vec![(of_first, first), (of_second, second)];
            expected.sort();
            assert_eq!(firsts(&known.judged(&got)), expected, "{method} {weights}");
        }
    }
}

const PAIRS: [(Method, GradientName, &str, &str); 7] = [
    (Method::Zoh, Delta, "delta-without-h", "softplus-slope-without-bias"),
    (Method::Zoh, B, "no-recurrence", "group-first-alone"),
    (Method::Foh, U, "u-without-skip", "gate-missing-in-scan"),
    (Method::Bilinear, A, "a-bar-reads-after", "batch-last-alone"),
    (Method::Poly, Delta, "reversed-missing", "softplus-slope-squared"),
    (Method::HighOrder, B, "dlast-state-ignored", "b-without-u"),
    (Method::Rk4, Z, "z-without-skip", "gate-slope-sigmoid"),
];

fn pairs_are_named_together(weights: Weights) {
    let problems = problems(weights, None);
    for (method, name, first, second) in PAIRS {
        let known = Known::new(method, &problems[0]);
        let mut variant = Variant::specified(method.into());
        for name in [first, second] {
            catalogue::find(name).expect("in the catalogue").change(&mut variant);
        }
        let mut got = known.want.clone();
        got[name] = adjoint::gradients(&variant, known.problem, known.given)[name].clone();
        let diagnoses = known.judged(&noisy(&got, &mut generator("two_faults_in_one_gradient")));
        let found: BTreeSet<&str> = firsts(&diagnoses)[0].1.split(" + ").collect();
        assert_eq!(found, BTreeSet::from([first, second]), "{method} {weights}: {diagnoses:?}");
    }
}

#[test]
#[ignore = "in small problems pairs are in golden/changes: .ci/long"]
fn two_faults_in_one_gradient_are_named_together() {
    each(Weights::ALL, pairs_are_named_together);
}

/// Places of every kind, each in a method that has it, planted in all gradients.
const PLACES: [(Method, Weights, &str); 33] = [
    (Method::Zoh, Weights::Real, "u-in-b-of-position-before"),
    (Method::Zoh, Weights::Real, "b-in-products-of-modulo-group"),
    (Method::Zoh, Weights::Real, "a-bar-slope-by-a-times-delta-without-bias"),
    (Method::Zoh, Weights::Real, "dlast-state-of-other-strides"),
    (Method::Zoh, Weights::Real, "dlast-state-again-at-16"),
    (Method::Zoh, Weights::Real, "gate-bf16"),
    (Method::Zoh, Weights::Real, "deltas-of-delta-without-bias"),
    (Method::Zoh, Weights::Real, "adjoint-start-stale"),
    (Method::Zoh, Weights::Real, "states-start-stale"),
    (Method::Zoh, Weights::Complex, "dlast-state-real-part"),
    (Method::Zoh, Weights::Complex, "a-bar-in-states-conjugated"),
    (Method::Zoh, Weights::Complex, "dout-in-c-without-factor"),
    (Method::Foh, Weights::Real, "adjoint-decayed-by-chunk-end-at-8"),
    (Method::Foh, Weights::Real, "state-in-backward-decayed-twice-at-16"),
    (Method::Foh, Weights::Complex, "h-in-b-real-part"),
    (Method::Foh, Weights::Real, "h-slope-by-delta-of-zoh"),
    (Method::Foh, Weights::Real, "h-in-b-is-h-slope"),
    (Method::Bilinear, Weights::Real, "a-bar-slopes-times-denominator"),
    (Method::Bilinear, Weights::Real, "output-in-c-missing"),
    (Method::Bilinear, Weights::Complex, "adjoint-in-u-real-part"),
    (Method::Poly, Weights::Real, "state-in-c-forward-for-both"),
    (Method::Poly, Weights::Real, "state-in-z-forward-alone"),
    (Method::Poly, Weights::Real, "reversed-a-bar-in-adjoint-of-position-after"),
    (Method::Poly, Weights::Complex, "forward-dout-in-adjoint-of-position-before"),
    (Method::HighOrder, Weights::Real, "softplus-slope-complement"),
    (Method::HighOrder, Weights::Real, "h-term-2-times-1-over-2"),
    (Method::HighOrder, Weights::Real, "h-slope-term-3-by-a-over-delta"),
    (Method::HighOrder, Weights::Real, "h-slope-term-2-by-delta-of-phi-2"),
    (Method::HighOrder, Weights::Complex, "initial-gradient-unconjugated"),
    (Method::Rk4, Weights::Real, "a-bar-slopes-of-rk4-classical"),
    (Method::Rk4, Weights::Real, "dout-in-d-of-channel-after"),
    (Method::Rk4, Weights::Complex, "state-in-share-starts-with-zero"),
    (Method::Rk4, Weights::Real, "h-and-b-in-u-missing"),
];

fn places_are_named(places: &[(Method, Weights, &str)]) {
    for weights in Weights::ALL {
        let (batch, dim, dstate, seqlen, groups) = (2, 4, 2, 21, 2);
        let shape = Shape { batch, dim, dstate, seqlen, groups };
        let plain = Layout::plain(batch, dim, dstate, seqlen);
        let varies = Operand::Variable;
        let layout = Layout { shape, weights, b: varies, c: varies, gate: true, extras: true, ..plain };
        let drawn = random(&layout, &mut generator("a_place_is_named_with_what_stands_there"));
        for &(method, _, place) in places.iter().filter(|place| place.1 == weights) {
            let fault = find(place).unwrap_or_else(|| panic!("{place} is no place"));
            let known = Known::new(method, &drawn);
            assert!(fault.applies(method.into(), known.problem), "{place}");
            let outcome = outcome(fault, weights, &[known]);
            assert!("=~".contains(outcome.mark), "{place}: {} {:?}", outcome.mark, outcome.wrong);
        }
    }
}

#[test]
fn a_place_is_named_with_what_stands_there() {
    places_are_named(&PLACES.into_iter().step_by(4).collect::<Vec<_>>());
}

#[test]
#[ignore = "one place in four is tried in `cargo test`: .ci/long"]
fn every_place_is_named_with_what_stands_there() {
    places_are_named(&PLACES);
}

#[test]
fn names_of_places_are_different_and_say_what_they_touch() {
    let mut names: Vec<&str> = all().map(|(name, _)| name).collect();
    names.sort();
    let twice: Vec<&[&str]> = names.windows(2).filter(|two| two[0] == two[1]).collect();
    // Parts share the name of what they are a part of.
    let twice: Vec<&str> = twice.iter().map(|two| two[0]).filter(|name| !name.ends_with("-scaled")).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let problems = problems(Weights::Real, None);
    let known = Known::new(Method::Poly, &problems[0]);
    let some = structure::ALL.iter().step_by(11);
    some.filter(|fault| fault.applies(Method::Poly.into(), known.problem)).for_each(|fault| {
        for (name, planted) in known.compute(fault).iter() {
            let changes = !known.same(&known.want[name].values, &planted.values);
            assert!(!changes || fault.touches.contains(&name), "{} touches {name}", fault.name);
        }
    });
}

/// What would have changed a gradient that is right is not named first.
#[test]
fn what_is_right_tells_causes_apart() {
    let problems = problems(Weights::Real, None);
    let known = Known::new(Method::Poly, &problems[0]);
    let fault = catalogue::find("reversed-missing").expect("in the catalogue");
    let mut got = known.want.clone();
    got[Z] = known.compute(fault)[Z].clone();
    let diagnoses = known.judged(&noisy(&got, &mut generator("what_is_right_tells_causes_apart")));
    assert_eq!(firsts(&diagnoses), [(Z, "state-in-z-forward-alone")]);
    assert!(diagnoses[Z].iter().any(|diagnosis| diagnosis.name == "reversed-missing"), "{diagnoses:?}");
}

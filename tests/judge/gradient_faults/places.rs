//! What is wrong with several gradients, and two faults at once.

use std::collections::BTreeSet;

use holdfast::judge::faults::gradient::catalogue;
use holdfast::judge::faults::gradient::variant::Variant;
use holdfast::judge::faults::gradient::{adjoint, all, edges};
use holdfast::method::Method;
use holdfast::problem::Weights;
use holdfast::tensor::GradientName::{self, A, B, C, D, Delta, InitialState, U, Z};

use super::{Known, firsts, noisy, problems};
use crate::cases::each;
use crate::support::problems::generator;

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

#[test]
fn names_are_different_and_say_what_they_touch() {
    let mut names: Vec<&str> = all().map(|(name, _)| name).collect();
    names.sort();
    let twice: Vec<&[&str]> = names.windows(2).filter(|two| two[0] == two[1]).collect();
    // Parts share the name of what they are a part of.
    let twice: Vec<&str> = twice.iter().map(|two| two[0]).filter(|name| !name.ends_with("-scaled")).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let problems = problems(Weights::Real, None);
    let known = Known::new(Method::Poly, &problems[0]);
    let some = edges::ALL.iter().step_by(11);
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

//! Promise: of what a step function computes, a case is told what explains the errors at its own elements, and no more.

use holdfast::judge::diagnose::Work;
use holdfast::judge::reconstruct::expansion::Point;
use holdfast::judge::reconstruct::{Reconstruction, identify};
use holdfast::method::Method;
use holdfast::problem::Weights;
use holdfast::problem::elements::Elements;
use holdfast::results::Diagnosis;
use holdfast::tensor::Coefficients;
use num_complex::Complex64 as C;

use crate::cases::each;

/// Ā and B̄u of a real element: Δ, A, B and u.
type Step = fn(f64, f64, f64, f64) -> [f64; 2];

fn evaluate(step: Step) -> impl Fn(&Elements) -> Option<Coefficients<f64>> + Sync {
    move |elements: &Elements| {
        let problem = &elements.coefficients;
        let one = |i: usize| {
            let [delta, a, b, u] = [problem.delta[i], problem.a[i], problem.b[i], elements.u[i]];
            step(delta.into(), a.into(), b.into(), u.into())
        };
        let all: Vec<[f64; 2]> = (0..problem.delta.len()).map(one).collect();
        Some(Coefficients {
            a_bar: all.iter().map(|step| step[0]).collect(),
            b_bar: all.iter().map(|step| step[1]).collect(),
        })
    }
}

fn found(step: Step) -> Reconstruction {
    identify(Method::Zoh, Weights::Real, &evaluate(step), &Work::default()).expect("it is wrong")
}

/// What explains the errors of these steps of length ½, by their z.
fn explained(step: Step, of: Step, z: &[f64]) -> Option<Diagnosis> {
    let point = |z: &f64| Point { delta: 0.5, a: C::from(2.0 * z), b: C::from(-0.75), u: 2.0 };
    found(step).explains(&z.iter().map(point).collect::<Vec<_>>(), &evaluate(of))
}

/// zoh, with a factor 3 in B̄ where z < −6, and Ā squared where z > 2.
fn at_two_places(delta: f64, a: f64, b: f64, u: f64) -> [f64; 2] {
    let z = delta * a;
    let (of_a, of_b) = (if z > 2.0 { 2.0 } else { 1.0 }, if z < -6.0 { 3.0 } else { 1.0 });
    [(of_a * z).exp(), of_b * delta * b * u]
}

/// zoh with Δ² in the place of Δ in B̄, and Ā that is 1 where z > 2.
fn everywhere_and_at_a_place(delta: f64, a: f64, b: f64, u: f64) -> [f64; 2] {
    let z = delta * a;
    [if z > 2.0 { 1.0 } else { z.exp() }, delta * delta * b * u]
}

#[test]
fn a_case_is_told_what_its_own_elements_need() {
    let cases: [(Step, &[f64], Option<(&str, &str)>); 4] = [
        (at_two_places, &[-1.0, 0.5, 1.5], None),
        (at_two_places, &[-1.0, 3.0, 4.0], Some(("a-bar-formula", "Ā is exp(2·z) where Re z > 2"))),
        (at_two_places, &[-1.0, -7.0, -9.0], Some(("b-bar-formula", "B̄ is 3Δ where Re z < -6"))),
        (everywhere_and_at_a_place, &[-1.0, 0.5], Some(("b-bar-formula", "B̄ computes Δ²; specified Δ"))),
    ];
    each(cases, |(step, z, says)| {
        let found = explained(step, step, z).map(|one| (one.name, one.what));
        assert_eq!(found.as_ref().map(|(name, what)| (&**name, &**what)), says);
    });
}

/// Both at once have both names.
#[test]
fn what_is_needed_of_both_is_said_of_both() {
    let both = explained(at_two_places, at_two_places, &[-7.0, 3.0]).expect("explained");
    assert_eq!(both.name, "a-bar-formula + b-bar-formula");
    assert!(both.what.starts_with("Ā is ") && both.what.contains("; B̄ is "), "{}", both.what);
    assert_eq!(both.residual, 0.0);
}

/// z < −6: B̄ is 3Δ. Of an element elsewhere nothing is said, so that all of its error is left.
#[test]
fn what_is_left_is_measured() {
    // There it is off by twice its size, which is cut at 1, beside ⅔: too much is left.
    let as_much: Step = |delta, a, b, u| [(delta * a).exp(), 3.0 * delta * b * u];
    assert!(explained(at_two_places, as_much, &[-7.0, -1.0]).is_none());
    // And by a thousandth.
    let a_little: Step = |delta, a, b, u| {
        let factor = if delta * a < -6.0 { 3.0 } else { 1.001 };
        [(delta * a).exp(), factor * delta * b * u]
    };
    let left = explained(at_two_places, a_little, &[-7.0, -1.0]).expect("explained").residual;
    assert!((left / (0.001 / (2.0 / 3.0)) - 1.0).abs() < 1e-3, "{left}");
    // What was found is not what is there: 2Δ for 3Δ leaves half of what is off.
    let another: Step = |delta, a, b, u| {
        let factor = if delta * a < -6.0 { 2.0 } else { 1.0 };
        [(delta * a).exp(), factor * delta * b * u]
    };
    assert!(explained(at_two_places, another, &[-7.0]).is_none());
}

/// Of what is wrong and no formula that is known the whole is told, and no case that is explained by the other coefficient.
#[test]
fn what_is_not_known_is_counted_at_other_steps() {
    let step: Step = |delta, a, b, u| {
        let z = delta * a;
        [z.max(-3.0).exp(), (3.0 + (1.0 + z.abs()).ln().sin()) * delta * b * u]
    };
    let said = found(step).whole();
    let of_a_bar = "Ā is taken with Re z held at -3 where Re z < -3";
    // Near that border nothing is tried.
    let tried: Vec<usize> = said.what.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [.., others, all] = tried[..] else { panic!("{}", said.what) };
    assert!(others == all && (230..=240).contains(&all), "{}", said.what);
    let expected = format!("{of_a_bar}; at {all} of {all} other steps B̄ is not the specified one");
    assert_eq!((&*said.name, &*said.what), ("a-bar-formula", &*expected));
    // The same Ā beside the specified B̄.
    let of_case: Step = |delta, a, b, u| [(delta * a).max(-3.0).exp(), delta * b * u];
    let explained = explained(step, of_case, &[-1.0, -4.0]).expect("explained");
    assert_eq!(explained.what, of_a_bar);
}

/// What is right at ordinary steps beside what is said has no such count, and what is wrong there, too, has one.
#[test]
fn what_is_wrong_beside_what_is_said_is_counted() {
    let cases: [(&str, Step, &str, Option<&str>); 3] = [
        ("all is said", at_two_places, "B̄ is 3Δ where Re z < -6", None),
        (
            "nowhere right",
            |delta: f64, a: f64, b: f64, u: f64| {
                let z = delta * a;
                [z.exp(), if z == 0.0 { f64::NAN } else { 3.0 + (1.0 + z.abs()).ln().sin() } * delta * b * u]
            },
            "B̄ is NaN where z = 0",
            Some("; at 240 of 240 other steps B̄ is something else"),
        ),
        (
            "to one side alone",
            |delta: f64, a: f64, b: f64, u: f64| {
                let z = delta * a;
                [z.exp(), if z < 0.0 { (z.exp_m1() / z) * delta } else { delta } * b * u]
            },
            "B̄ ",
            None,
        ),
    ];
    each(cases, |(_, step, says, and)| {
        let said = found(step).whole().what;
        assert!(said.contains(says), "{said}");
        match and {
            Some(and) => assert!(said.ends_with(and), "{said}"),
            None => assert!(!said.contains("other steps"), "{said}"),
        }
    });
}

/// Where no number is returned, one that is leaves all of its error, and what is off somewhere is off there whatever it is.
#[test]
fn what_is_not_finite_and_what_is_unknown_explain_what_they_say() {
    let not_finite: Step = |delta, a, b, u| {
        let z = delta * a;
        [z.exp(), if z > 2.0 { f64::NAN } else { delta * b * u }]
    };
    let explains =
        |of: Step| explained(not_finite, of, &[-1.0, 3.0, 4.0]).map(|one| (one.name, one.what, one.residual));
    let says = ("b-bar-formula".to_owned(), "B̄ is NaN where Re z > 2".to_owned(), 0.0);
    assert_eq!(explains(not_finite), Some(says));
    assert_eq!(explains(|delta, a, b, u| [(delta * a).exp(), 2.0 * delta * b * u]), None);
    let unknown: Step = |delta, a, b, u| {
        let z = delta * a;
        [z.exp(), if z > 2.0 { (1.0 + z).ln().sin() + 3.0 } else { 1.0 } * delta * b * u]
    };
    let said = explained(unknown, unknown, &[-1.0, 3.0]).expect("explained");
    assert_eq!(
        (&*said.name, &*said.what),
        ("off-in-a-region", "B̄ is another function than elsewhere where Re z > 2")
    );
    assert_eq!(said.residual, 0.0);
}

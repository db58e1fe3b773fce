//! Closed forms of φ-functions with other numbers in them, and limits beyond which these are taken.

use holdfast::method::Method;
use num_complex::Complex64 as C;

use super::{Planting, Step, assert_said, drawn, plain};
use crate::cases::each;

/// A closed form, and how it is written.
type ClosedForm = (fn(C) -> C, &'static str);

/// What takes the place of φ₂ in foh.
const OF_PHI_2: &[ClosedForm] = &[
    (|z| (z.exp() - 1.0 - z / 2.0) / (z * z), "(eᶻ − 1 − z/2)/z²"),
    (|z| (z.exp() - 1.0) / (z * z), "(eᶻ − 1)/z²"),
    (|z| (z.exp() - z) / (z * z), "(eᶻ − z)/z²"),
    (|z| z.exp() / (z * z), "eᶻ/z²"),
    (|z| (2.0 * z.exp() - 1.0 - z) / (z * z), "(2eᶻ − 1 − z)/z²"),
    (|z| (z.exp() / 2.0 - 1.0 - z) / (z * z), "(eᶻ/2 − 1 − z)/z²"),
    (|z| (-z.exp() - 1.0 - z) / (z * z), "(−eᶻ − 1 − z)/z²"),
    (|z| (z.exp() + 1.0 - z) / (z * z), "(eᶻ + 1 − z)/z²"),
    (|z| (z.exp() - 1.5 - z) / (z * z), "(eᶻ − 3/2 − z)/z²"),
    (|z| (z.exp() - 1.0 + z) / (z * z), "(eᶻ − 1 + z)/z²"),
    (|z| (z.exp() - 1.0 / 3.0 - 4.0 * z) / (z * z), "(eᶻ − 1/3 − 4z)/z²"),
];

#[test]
fn the_numerator_is_written_as_it_is() {
    let planting = Planting::new(Method::Foh, drawn(plain(2, 2, 16)));
    let said = |(phi, text): &(fn(C) -> C, &str)| {
        let got = planting.with_step(|s| [s.z().exp(), s.driven(s.delta * s.delta * phi(s.z()))]);
        (planting.at_once(&got), format!("phi-closed-form: in B̄ φ₂ is {text}, for (eᶻ − 1 − z)/z²"))
    };
    assert_said(OF_PHI_2.iter().map(said));
}

/// B̄ of highorder with other numerators of φ₁, φ₂ and φ₃.
fn of_numerators(s: Step, [first, second, third]: [C; 3]) -> C {
    let z = s.z();
    let [p1, p2, p3] = [first / z, second / (z * z), third / (z * z * z)];
    s.driven(s.delta * p1 + s.delta.powi(2) * p2 + s.delta.powi(3) * p3 / 2.0)
}

fn numerators(z: C) -> [C; 3] {
    let e = z.exp();
    [e - 1.0, e - 1.0 - z, e - 1.0 - z - z * z / 2.0]
}

#[test]
fn it_is_said_which_function_has_the_wrong_number() {
    let cases: [(&str, fn(Step) -> C, &str); 3] = [
        (
            "the first",
            |s: Step| {
                let [first, second, third] = numerators(s.z());
                of_numerators(s, [first + 0.5, second, third])
            },
            "φ₁ is (eᶻ − 1/2)/z, for (eᶻ − 1)/z",
        ),
        (
            "the third",
            |s: Step| {
                let [first, second, third] = numerators(s.z());
                of_numerators(s, [first, second, third - s.z() * s.z() / 2.0])
            },
            "φ₃ is (eᶻ − 1 − z − z²)/z³, for (eᶻ − 1 − z − z²/2)/z³",
        ),
        (
            "two of them",
            |s: Step| {
                let [first, second, third] = numerators(s.z());
                of_numerators(s, [first + 0.5, second + s.z() / 4.0, third])
            },
            "φ₁ is (eᶻ − 1/2)/z, for (eᶻ − 1)/z; φ₂ is (eᶻ − 1 − 3z/4)/z², for (eᶻ − 1 − z)/z²",
        ),
    ];
    each(cases, |(_, input, text)| {
        let planting = Planting::new(Method::HighOrder, drawn(plain(2, 3, 20)));
        let got = planting.with_step(|s| [s.z().exp(), input(s)]);
        assert_eq!(planting.at_once(&got), format!("phi-closed-form: in B̄ {text}"));
    });
}

/// Where a series takes over near 0, the closed form is wrong beyond that alone. The likely mistakes are known by name: a sum that
/// stops early, factorials that are one too high, a 1 that is subtracted twice, signs that alternate.
#[test]
fn a_likely_closed_form_is_found_beyond_a_limit() {
    let cases: [(fn(C) -> C, &str); 4] = [
        (|z: C| (z.exp() - 1.0) / (z * z), "(eᶻ − 1)/z²"),
        (|z: C| (z.exp() - 1.0 - z / 2.0) / (z * z), "(eᶻ − 1 − z/2)/z²"),
        (|z: C| (z.exp() - 2.0 - z) / (z * z), "(eᶻ − 2 − z)/z²"),
        (|z: C| (z.exp() - 1.0 + z) / (z * z), "(eᶻ − 1 + z)/z²"),
    ];
    each(cases, |(phi, text)| {
        let mut problem = drawn(plain(2, 2, 12));
        problem.a = vec![-3.5, -1.5, -2.0, -3.0];
        let planting = Planting::new(Method::Foh, problem);
        let got = planting.with_step(|s| match s.z().norm() {
            size if size < 0.3 => planting.right(s),
            _ => [s.z().exp(), s.driven(s.delta * s.delta * phi(s.z()))],
        });
        let expected = format!(
            "phi-closed-form-in-part: in B̄ φ₂ is {text}, for (eᶻ − 1 − z)/z²: where |ΔA| is at least 0.3 alone"
        );
        assert_eq!(planting.after_long(&got), expected);
    });
}

/// A series of its own near 0, with numbers that no other change has.
#[test]
fn a_series_that_holds_below_a_limit_is_written_out() {
    let cases: [(f64, &str); 2] = [(1.0 / 3.0, "Δ + Δ²A/3"), (-0.25, "Δ − Δ²A/4")];
    each(cases, |(second, text)| {
        let mut problem = drawn(plain(2, 1, 14));
        problem.a = vec![-3.5, -3.0];
        let planting = Planting::new(Method::Bilinear, problem);
        let got = planting.with_step(|s| {
            let [a_bar, input] = planting.right(s);
            let series = s.driven(s.delta * (1.0 + second * s.z()));
            [a_bar, if s.z().norm() < 0.5 { series } else { input }]
        });
        let expected = format!(
            "b-bar-other-near-0: B̄ has {text} in place of Δ(1 − ΔA/2)⁻¹ where |ΔA| is below 0.5, and is right elsewhere"
        );
        assert_eq!(planting.after_long(&got), expected);
    });
}

/// A number that nobody would have typed is put down to no closed form.
#[test]
fn a_number_that_no_fraction_is_gets_no_closed_form() {
    let planting = Planting::new(Method::Foh, drawn(plain(1, 2, 14)));
    let got = planting.with_step(|s| {
        let z = s.z();
        [z.exp(), s.driven(s.delta * s.delta * (z.exp() - 1.0 - 0.7234 * z) / (z * z))]
    });
    assert_said([(planting.at_once(&got), String::new())]);
}

//! Numbers that steps are made of: at the edges of limits, at 0, beside what is specified, and what an error becomes.

use std::f64::consts::LN_2;

use holdfast::formula::{Form, Fraction, Textbook};
use holdfast::judge::faults::around::{
    Activation, Asymptote, Carry, Chunks, Finish, GateFunction, Guarded, limited,
};
use holdfast::judge::faults::partial_sums::PartialSums;
use holdfast::judge::faults::step::{Bounded, a_bar, in_parts, is_other, modulus, terms};
use holdfast::judge::faults::variant::{Clamp, Power, Sum, Variant};
use holdfast::method::Method;
use holdfast::problem::InputType;
use holdfast::promise::allowance::U;
use num_complex::Complex64;

use super::changed;
use crate::cases::{crossed, each};

/// What an activation makes of a relative error is x f′/f: by a difference.
#[test]
fn an_activation_multiplies_a_relative_error_by_its_slope() {
    let cases: [(&str, Activation); 6] = [
        ("none", Activation::None),
        ("softplus", Activation::SOFTPLUS),
        ("of 2x", Activation::Softplus { beta: 2.0, above: f64::INFINITY }),
        ("cut", Activation::Softplus { beta: 1.0, above: 0.5 }),
        ("square", Activation::Square),
        ("abs", Activation::Abs),
    ];
    each(crossed(cases, [-3.0, -0.25, 0.25, 3.0, 50.0]), |((_, activation), x): (_, f64)| {
        let (value, conditioning) = activation.of(x);
        let h = 1e-6;
        let slope = (activation.of(x * (1.0 + h)).0 - activation.of(x * (1.0 - h)).0) / (2.0 * h);
        assert!((conditioning - (slope / value).abs()).abs() < 1e-6 * (1.0 + conditioning), "{conditioning}");
    });
}

/// Where a bound on that is enough, it is one, and no more than twice the size of x above it.
#[test]
fn an_activation_bounds_what_becomes_of_a_relative_error() {
    let cases: [(&str, Activation, fn(f64) -> f64); 5] = [
        ("exp", Activation::Exp, f64::exp),
        ("sigmoid", Activation::Sigmoid, |x: f64| 1.0 / (1.0 + (-x).exp())),
        ("silu", Activation::Silu, |x: f64| x / (1.0 + (-x).exp())),
        ("log of square", Activation::LogOfSquare, |x: f64| (1.0 + x * x).ln()),
        ("relu", Activation::Relu, |x: f64| if x > 0.0 { x } else { 0.0 }),
    ];
    each(crossed(cases, [-3.0, -0.25, 0.25, 3.0]), |((_, activation, function), x): (_, f64)| {
        let (value, conditioning) = activation.of(x);
        assert!((value - function(x)).abs() < 1e-12, "{value}");
        let h = 1e-6;
        let slope = ((function(x * (1.0 + h)) - function(x * (1.0 - h))) / (2.0 * h)).abs();
        assert!(slope <= conditioning * value.abs() * (1.0 + 1e-6), "{conditioning}");
        assert!((x.abs().min(1.0)..=x.abs() + 2.0).contains(&conditioning), "{conditioning}");
    });
}

#[test]
fn softplus_is_what_it_is_given_above_its_threshold_alone() {
    let softplus = |beta, above, x| Activation::Softplus { beta, above }.of(x).0;
    assert_eq!((softplus(1.0, 1.0, 1.0_f64.next_up()), softplus(2.0, -1.0, -0.5)), (1.0_f64.next_up(), -0.5));
    assert!((softplus(1.0, 0.0, 0.0) - LN_2).abs() < 1e-15);
    assert!((softplus(2.0, 0.0, 0.0) - LN_2 / 2.0).abs() < 1e-15);
    assert_eq!(Activation::Stated.of(-3.0), (-3.0, 1.0));
    // e^−800 is 0 in double, and a relative error of x still becomes |x| times that of e^x.
    assert_eq!(Activation::SOFTPLUS.of(-800.0), (0.0, 800.0));
}

#[test]
fn a_clamp_keeps_what_is_within() {
    let cases: [(Clamp, [f64; 6]); 5] = [
        (Clamp::None, [-2.0, -0.5, 0.0, 0.25, 0.5, 2.0]),
        (Clamp::AtMost(0.25), [-2.0, -0.5, 0.0, 0.25, 0.25, 0.25]),
        (Clamp::AtLeast(0.25), [0.25, 0.25, 0.25, 0.25, 0.5, 2.0]),
        (Clamp::Between(-0.5, 0.5), [-0.5, -0.5, 0.0, 0.25, 0.5, 0.5]),
        // What is as large as the guard stays; what is negative is guarded as well.
        (Clamp::ZeroBelow(0.5), [-2.0, -0.5, 0.0, 0.0, 0.5, 2.0]),
    ];
    each(cases, |(clamp, want)| {
        assert_eq!([-2.0, -0.5, 0.0, 0.25, 0.5, 2.0].map(|delta| clamp.of(delta)), want);
    });
}

#[test]
fn a_power_takes_the_place_of_a_step() {
    let cases: [(Power, [f64; 2]); 4] = [
        (Power::One, [-0.5, 3.0]),
        (Power::Missing, [1.0, 1.0]),
        (Power::Doubled, [-1.0, 6.0]),
        (Power::Squared, [0.25, 9.0]),
    ];
    each(cases, |(power, want)| {
        assert_eq!([-0.5, 3.0].map(|delta| power.of(delta)), want);
    });
}

#[test]
fn what_is_no_number_is_within_no_limits() {
    let limits = (-1.0, 2.0);
    assert_eq!([-3.0, -1.0, 0.5, 2.0, 3.0].map(|x| limited(limits, x)), [-1.0, -1.0, 0.5, 2.0, 2.0]);
    assert!(limited(limits, f64::NAN).is_nan());
    let in_both = |re, im| in_parts(Complex64::new(re, im), (0.5, 2.0));
    assert_eq!(in_both(3.0, 0.25), Complex64::new(2.0, 0.5));
    // A real number stays one.
    assert_eq!(in_both(0.0, 0.0), Complex64::new(0.5, 0.0));
    assert_eq!(modulus(Complex64::new(-3.0, 4.0)), 5.0);
    assert_eq!(modulus(Complex64::new(-3.0, 0.0)), 3.0);
}

/// A guard asks whether something is below a number: what is as large is not.
#[test]
fn a_guard_asks_for_the_size_of_this() {
    let cases: [(Guarded, f64); 4] =
        [(Guarded::Z, 2.5), (Guarded::RealPartOfZ, 1.5), (Guarded::A, 5.0), (Guarded::Delta, 0.5)];
    each(cases, |(guarded, size)| {
        let a = Complex64::new(-3.0, 4.0);
        assert_eq!((guarded.of(0.5, a), guarded.of(-0.5, a)), (size, size));
        let below = |end| {
            let variant = changed(Method::Zoh, |v| (v.guarded, v.other_below) = (guarded, end));
            is_other(&variant, 0.5, a)
        };
        assert_eq!((below(size), below(size.next_up()), below(f64::INFINITY)), (false, true, true));
    });
}

/// Without Δ nothing enters a state in no time, whatever else is divided by it.
#[test]
fn a_step_of_0_gives_nothing() {
    for method in Method::ALL {
        for power in [Power::One, Power::Missing, Power::Doubled, Power::Squared] {
            let variant = changed(method, |v| v.b_bar_delta = power);
            let t = terms(&variant, 0.0, 0.0, Complex64::new(-1.0, 0.5));
            assert_eq!(t.first + t.higher + t.neighbour, Complex64::ZERO, "{method} {power:?}");
        }
    }
}

/// A sum that is wrong in one method is right in any other.
#[test]
fn a_wrong_sum_is_that_of_its_method() {
    let cases: [(Sum, &[Method]); 5] = [
        (Sum::PolyShare(Fraction(1, 4)), &[Method::Poly]),
        (Sum::Cut(0), &[Method::HighOrder]),
        (Sum::Cut(1), &[Method::HighOrder]),
        (Sum::WithoutFactorials, &[Method::HighOrder]),
        (Sum::Powers(1, 5), &[Method::Foh, Method::Poly, Method::HighOrder]),
    ];
    each(cases, |(sum, of)| {
        for method in Method::ALL {
            let sized = |sum| {
                let t = terms(&changed(method, |v| v.sum = sum), 0.5, 0.0, Complex64::new(-1.0, 0.5));
                (t.first, t.higher)
            };
            assert_eq!(sized(sum) != sized(Sum::Right), of.contains(&method), "{method}");
        }
    });
}

/// φ₁ = −1/z, φ₂ = −1/z − 1/z², φ₃ = −1/(2z) − 1/z² − 1/z³ without the exponential, or their first terms alone.
#[test]
fn a_phi_function_without_its_exponential_is_a_sum_of_powers() {
    let z = Complex64::new(-4.0, 0.0);
    let of = |first, k| Asymptote { of_phi: None, first }.of(k, z);
    assert_eq!([1, 2, 3].map(|k| of(true, k).re), [0.25, 0.25, 0.125]);
    assert_eq!([1, 2, 3].map(|k| of(false, k).re), [0.25, 0.25 - 0.0625, 0.125 - 0.0625 + 0.015625]);
}

/// cᵢ is 1/i! less what is added.
#[test]
fn a_coefficient_of_a_closed_form_is_what_it_is_subtracted_with() {
    let mut sums = PartialSums::RIGHT;
    sums.of_powers[2][2] = Fraction(1, 4);
    sums.of_exponential[1] = Fraction(1, 2);
    assert_eq!((sums.coefficient(3, 2), sums.coefficient(2, 2), sums.coefficient(3, 0)), (0.25, 0.5, 1.0));
    let (z, exponential) = (Complex64::new(2.0, 0.0), Complex64::new(8.0, 0.0));
    let added = [1, 2, 3].map(|k| sums.added(k, z, exponential).re);
    assert_eq!(added, [0.0, 8.0 / 2.0 / 4.0, 4.0 / 4.0 / 8.0]);
}

/// A chunk begins at a multiple of its length from where its scan counts; the first one does not begin, it is there.
#[test]
fn chunks_begin_at_multiples() {
    let cases: [(&str, bool, bool, &[usize]); 3] = [
        ("forward", false, false, &[3, 6]),
        ("reversed by position", true, false, &[5, 2]),
        ("reversed from the end", true, true, &[5, 2]),
    ];
    each(cases, |(_, reverse, from_end, want)| {
        let chunks = Chunks { from_end, ..Chunks::new(3, Carry::Times(0.0)) };
        let at = |chunks: Chunks, seqlen: usize| -> Vec<usize> {
            let l = |k: usize| if reverse { seqlen - 1 - k } else { k };
            (0..seqlen).filter(|k| chunks.begins((*k, l(*k)), seqlen, reverse)).map(l).collect()
        };
        assert_eq!(at(chunks, 9), want);
        let of_other = Chunks { of: [reverse, !reverse], ..chunks };
        assert_eq!(at(of_other, 9), [0; 0]);
        // Of eight positions the reversed scan counts otherwise from its end.
        let of_eight: &[usize] = match (reverse, from_end) {
            (false, _) => &[3, 6],
            (true, false) => &[5, 2],
            (true, true) => &[4, 1],
        };
        assert_eq!(at(chunks, 8), of_eight);
    });
}

#[test]
fn an_output_is_finished_like_this() {
    let cases: [(Finish, [f64; 3]); 3] = [
        (Finish::Given, [-3.0, 0.5, 3.0]),
        (Finish::Relu, [0.0, 0.5, 3.0]),
        (Finish::Clipped(2.0), [-2.0, 0.5, 2.0]),
    ];
    each(cases, |(finish, want)| {
        assert_eq!([-3.0, 0.5, 3.0].map(|x| finish.of(x)), want);
    });
}

/// At the edges of their pieces.
#[test]
fn a_gate_has_these_pieces() {
    let cases: [(GateFunction, [f64; 6]); 4] = [
        (GateFunction::HardSwish, [0.0, 0.0, -1.0 / 3.0, 0.0, 3.0, 4.0]),
        (GateFunction::Relu, [0.0, 0.0, 0.0, 0.0, 3.0, 4.0]),
        (GateFunction::Linear, [-4.0, -3.0, -1.0, 0.0, 3.0, 4.0]),
        (GateFunction::One, [1.0; 6]),
    ];
    each(cases, |(gate, want)| {
        let got = [-4.0, -3.0, -1.0, 0.0, 3.0, 4.0].map(|z| gate.of(z, 7.0, 5.0));
        assert!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-15), "{got:?}");
    });
}

/// A sum of powers is off by what moves its terms, 1 + 2|z| roundings of z, however small their sum is; and by the contract on
/// that.
#[test]
fn what_cancels_in_a_bar_is_off_by_the_terms() {
    let euler = Variant::specified(Form::Textbook(Textbook::Euler));
    let far = a_bar(&euler, 0.5, 0.0, Complex64::new(-1.0, 0.0));
    let near = a_bar(&euler, 0.5, 0.0, Complex64::new(-1.998, 0.0));
    assert!((near.value.re - 0.001).abs() < 1e-15 && far.value.re == 0.5);
    assert!((far.error / U - (0.5 * 8.0 + 2.0)).abs() < 1e-9, "{}", far.error / U);
    assert!((near.error / U - (0.001 * 8.0 + 2.998)).abs() < 1e-9, "{}", near.error / U);
}

/// Next to a tie either way is within the error; else one way is, and there is none.
#[test]
fn a_number_next_to_a_tie_may_be_rounded_either_way() {
    let of = |value: f64, error| Bounded { value: value.into(), error }.rounded(InputType::Bf16);
    let last = 1.0 / 128.0;
    let tie = of(1.0 + last / 2.0, 1e-12);
    assert!(tie.value.re == 1.0 && tie.error < 2e-12, "{tie:?}");
    let tie = of(1.0 + last / 2.0, 1e-6);
    assert!(tie.value.re == 1.0 && (tie.error - last).abs() < 1e-9, "{tie:?}");
    let above = of(1.0 + last * 0.75, 1e-6);
    assert!(above.value.re == 1.0 + last && above.error < 2e-6, "{above:?}");
    // An error that reaches over two numbers counts as far as it reaches.
    let wide = of(1.0, 2.0 * last);
    assert!(wide.value.re == 1.0 && wide.error >= 2.0 * last && wide.error < 3.0 * last, "{wide:?}");
    let as_it_is = Bounded { value: Complex64::from(0.3), error: 1e-3 }.rounded(InputType::F32);
    assert_eq!((as_it_is.value.re, as_it_is.error), (0.3, 1e-3));
    let scaled = Bounded { value: Complex64::from(0.5), error: 0.25 }.scaled(-4.0);
    assert_eq!((scaled.value.re, scaled.error), (-2.0, 1.0));
}

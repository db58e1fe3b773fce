//! Another exponential than that of z: of other exponents, with a short ln 2 or 2π, or in powers of two.

use std::f64::consts::{FRAC_PI_2, LN_2, LOG2_E, PI, TAU};

use holdfast::judge::model::phi;
use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;

use super::{OfZ, a_bar, both, closed, method_of, polynomial, step_by_step, sum_with, term, usual, with_phi};
use crate::cases::crossed;
use crate::reconstructed::{List, Wrong, list};

/// A rounding and its name.
type Rounding = (&'static str, fn(f64) -> f64);

const ROUNDINGS: [Rounding; 3] = [("round", f64::round), ("floor", f64::floor), ("trunc", f64::trunc)];

/// exp(z) with k times a short ln 2 taken off, times 2ᵏ.
fn of_short_ln_2(short: f64, rounding: fn(f64) -> f64, z: C) -> C {
    let k = rounding(z.re / LN_2);
    (z - k * short).exp() * k.exp2()
}

/// exp(z) with k times a period taken off the angle.
fn of_period(period: f64, rounding: fn(f64) -> f64, z: C) -> C {
    (z - C::I * (period * rounding(z.im / period))).exp()
}

/// 2ᵏ times a polynomial of what is left, in units of ln 2 or of 1.
fn of_powers_of_two(coefficients: &[f64], rounding: fn(f64) -> f64, of_two: bool, z: C) -> C {
    let k = rounding(z.re / LN_2);
    let rest = if of_two { z.re / LN_2 - k } else { z.re - k * LN_2 };
    polynomial(coefficients, rest.into()) * k.exp2()
}

/// What Ā is stands where exp(z) should in the φ-functions, too.
fn of_steps_from_a_wrong_transition() -> Vec<List> {
    [1, 2, 3]
        .into_iter()
        .map(|k: usize| {
            let transitions: [(&str, OfZ); 3] = [
                ("2ᵏ(1 + r + r²/2)", |z| of_powers_of_two(&[1.0, 1.0, 0.5], f64::floor, false, z)),
                ("(1 + z/1024)¹⁰²⁴", |z| (1.0 + z / 1024.0).powi(1024)),
                ("exp(z) with 0.693 for ln 2", |z| of_short_ln_2(0.693, f64::round, z)),
            ];
            let reciprocals: [(&str, OfZ); 2] =
                [("1/z", |z| 1.0 / z), ("1/|z|", |z| (1.0 / z.norm()).into())];
            let (name, a_bar) = transitions[k - 1];
            let wrong = reciprocals.map(|(text, reciprocal)| {
                both(format!("Ā = {name}, of which φ{k} is made by {text}"), a_bar, move |delta, z| {
                    sum_with((k, usual(k)), delta, z, step_by_step((k, 1, 0), a_bar(z), reciprocal(z), z))
                })
            });
            list("of-own", (method_of(k), Weights::Real), wrong)
        })
        .collect()
}

/// The same of complex numbers. `zoh` has no φ-function that it might be taken for where it is right.
fn of_steps_from_a_wrong_complex_transition() -> Vec<List> {
    let rising: OfZ = |z| C::new(z.re.abs(), z.im).exp();
    let reduced: OfZ = |z| of_period(6.3, f64::round, z);
    let right: OfZ = |z| 1.0 / z;
    let conjugate: OfZ = |z| 1.0 / z.conj();
    let all: [(&str, OfZ, usize, OfZ); 5] = [
        ("Ā = exp(|Re z| + i Im z), of which φ₁ is made", rising, 1, right),
        ("Ā = exp(|Re z| + i Im z), of which φ₂ is made", rising, 2, right),
        ("Ā = exp(|Re z| + i Im z), of which φ₃ is made", rising, 3, right),
        ("Ā = exp(|Re z| + i Im z), of which φ₂ is made by 1/conj(z)", rising, 2, conjugate),
        ("Ā = exp(z) with 6.3 for 2π, of which φ₂ is made", reduced, 2, right),
    ];
    let wrong = all.map(|(what, a_bar, k, reciprocal)| {
        both(what, a_bar, move |delta, z| match z == C::ZERO {
            true => phi(z)[k] * delta,
            false => step_by_step((k, 1, 0), a_bar(z), reciprocal(z), z) * delta,
        })
    });
    vec![list("of-own", (Method::Zoh, Weights::Complex), wrong)]
}

/// The exponent of the φ-functions alone is wrong: with names of constants, with few digits, with many.
fn of_closed_forms_with_another_exponent() -> Vec<List> {
    let cases: [(usize, [(f64, f64); 3]); 3] = [
        (1, [(1.0, 0.99), (0.5, 1.44), (1.0 / 6.0, 1.2345678)]),
        (2, [(2.0, LN_2), (1.0, LOG2_E), (0.5, 1.2345678)]),
        (3, [(1.0 / 6.0, LOG2_E), (2.0, LN_2), (0.5, 0.37)]),
    ];
    cases
        .into_iter()
        .map(|(k, exponents)| {
            let wrong = exponents.map(|(c, s)| {
                let what = format!("{c:.3} φ{k} of exp({s:.7}z)");
                with_phi(what, (k, c), move |z| closed(k, (z * s).exp(), z))
            });
            list("exponents", (method_of(k), Weights::Real), wrong)
        })
        .collect()
}

/// The same with a number for each part. A fourth is no factor that is looked for.
fn of_closed_forms_with_other_exponents() -> Vec<List> {
    let cases: [(usize, [(f64, f64, f64); 2]); 3] = [
        (1, [(0.5, LN_2, 1.0), (2.0, 1.2345678, 1.2345678)]),
        (2, [(1.0, 1.0, LOG2_E), (0.25, 0.99, 0.99)]),
        (3, [(1.0 / 6.0, 1.2345678, 0.7), (1.0, 1.0, 0.5)]),
    ];
    cases
        .into_iter()
        .map(|(k, exponents)| {
            let wrong = exponents.map(|(c, re, im)| {
                let what = format!("{c:.3} φ{k} of exp({re:.7} Re z + {im:.7} i Im z)");
                with_phi(what, (k, c), move |z| closed(k, C::new(re * z.re, im * z.im).exp(), z))
            });
            list("exponents", (method_of(k), Weights::Complex), wrong)
        })
        .collect()
}

/// The exponent of Ā is wrong, and that of the φ-functions is the same; of two of them the exponential has a factor, too.
fn of_one_wrong_exponent_in_both() -> Vec<List> {
    crossed([1, 2, 3], [Weights::Real, Weights::Complex])
        .into_iter()
        .map(|(k, weights): (usize, Weights)| {
            let (re, im) = if weights == Weights::Real { (0.9, 0.9) } else { (0.9, 1.1) };
            let factor = if k == 2 { 0.8 } else { 1.0 };
            let exponential = move |z: C| C::new(re * z.re, im * z.im).exp() * factor;
            let what = format!("Ā = {factor} exp({re} Re z + {im} i Im z), of which φ{k} is made");
            let of_phi = move |delta, z: C| sum_with((k, usual(k)), delta, z, closed(k, exponential(z), z));
            list("one-exponent", (method_of(k), weights), [both(what, exponential, of_phi)])
        })
        .collect()
}

/// A constant as it may be typed.
fn short(constant: f64, decimals: usize) -> f64 {
    format!("{constant:.decimals$}").parse().expect("it is a number")
}

/// Where real numbers are reduced to powers of 2: short constants, polynomials that are too short or wrong in their last term.
fn of_powers_of_two_with_what_is_left() -> Vec<List> {
    const OF_TWO: &[f64] = &[1.0, 0.7, 0.25, 1.0 / 18.0, 0.01, 1.0 / 750.0];
    const OF_ONE: [&[f64]; 5] = [
        &[1.0, 1.1],
        &[1.0, 1.0, 0.55],
        &[1.0, 1.0, 0.5, 11.0 / 60.0],
        &[1.0, 1.0, 0.5, 1.0 / 6.0, 11.0 / 240.0],
        &[1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 60.0],
    ];
    const OF_LOGARITHMS: &[(&str, &[f64])] = &[
        ("1 + r ln 2 + (r ln 2)²/2", &[1.0, LN_2, LN_2 * LN_2 / 2.0]),
        ("1 + r ln 2 + 0.24r²", &[1.0, LN_2, 0.24]),
        ("1 + 0.693r + 0.2402r² + 0.0556r³ + 0.0096r⁴", &[1.0, 0.693, 0.2402, 0.0556, 0.0096]),
    ];
    let constants = [3, 4, 5, 6].map(|decimals| short(LN_2, decimals)).into_iter().chain([0.6]);
    let mut wrong: Vec<Wrong> = constants
        .zip(ROUNDINGS.into_iter().cycle())
        .map(|(constant, (name, rounding))| {
            let what = format!("Ā with {constant} for ln 2, {name}");
            a_bar(what, move |z| of_short_ln_2(constant, rounding, z))
        })
        .collect();
    for degree in 1..=5 {
        let (name, rounding) = ROUNDINGS[degree % 2];
        let what = format!("Ā = 2ᵏ times a polynomial of degree {degree}, {name}");
        let of_one = OF_ONE[degree - 1];
        wrong.push(a_bar(what, move |z| of_powers_of_two(of_one, rounding, false, z)));
        let (name, rounding) = ROUNDINGS[(degree + 1) % 2];
        let what = format!("Ā = 2ᵏ times a polynomial of degree {degree} in z/ln 2 − k, {name}");
        let of_two = &OF_TWO[..=degree];
        wrong.push(a_bar(what, move |z| of_powers_of_two(of_two, rounding, true, z)));
    }
    wrong.extend(OF_LOGARITHMS.iter().map(|&(text, coefficients)| {
        let what = format!("Ā = 2ᵏ({text}), r = z/ln 2 − k");
        a_bar(what, move |z| of_powers_of_two(coefficients, f64::floor, true, z))
    }));
    // What is cut off towards 0 is no rounding that is looked for here.
    wrong.push(a_bar("Ā = 2ᵏ(1 + r + r²/2), trunc", |z| {
        of_powers_of_two(&[1.0, 1.0, 0.5], f64::trunc, false, z)
    }));
    wrong.push(term("B̄ = Δ 2ᵏ(1 + r + 0.55r²)", 1, |z| {
        of_powers_of_two(OF_ONE[1], f64::round, false, z)
    }));
    vec![list("powers-of-two", (Method::Zoh, Weights::Real), wrong)]
}

/// Where the angle of a complex number is reduced: whole, half and quarter turns with few digits.
fn of_angles_that_are_reduced() -> Vec<List> {
    let periods = [
        ("6.28", short(TAU, 2), "round"),
        ("6.3", 6.3, "floor"),
        ("6.28", short(TAU, 2), "trunc"),
        ("7", 7.0, "round"),
        ("π", PI, "round"),
        ("3.1416", short(PI, 4), "floor"),
        ("π/2", FRAC_PI_2, "trunc"),
        ("1.57", short(FRAC_PI_2, 2), "round"),
    ];
    let mut wrong: Vec<Wrong> = periods
        .into_iter()
        .map(|(text, period, name)| {
            let (_, rounding) = ROUNDINGS.into_iter().find(|one| one.0 == name).expect("one of three");
            a_bar(format!("Ā with multiples of {text}, {name}"), move |z| of_period(period, rounding, z))
        })
        .collect();
    wrong.push(a_bar("Ā with 0.693 for ln 2, floor", |z| of_short_ln_2(0.693, f64::floor, z)));
    vec![list("angles", (Method::Zoh, Weights::Complex), wrong)]
}

/// Exponentials with factors of the exponent and of the value, as fractions, constants and decimals.
fn of_real_exponents() -> Vec<List> {
    let exponents = [
        ("0.9", 0.9),
        ("−log₂e", -LOG2_E),
        ("0.7·ln 2", 0.7 * LN_2),
        ("π", PI),
        ("1.2345678", 1.2345678),
        ("1.000002", 1.000002),
    ];
    let plain = exponents.map(|(text, s)| a_bar(format!("Ā = exp({text}·z)"), move |z| (z * s).exp()));
    let with_factors = [
        a_bar("Ā = (5/2)exp(z/3)", |z| 2.5 * (z / 3.0).exp()),
        a_bar("Ā = −exp(0.9z)", |z| -(0.9 * z).exp()),
        term("B̄ = 3Δ² exp(−0.3z)", 2, |z| 3.0 * (-0.3 * z).exp()),
    ];
    let wrong: Vec<Wrong> = plain.into_iter().chain(with_factors).collect();
    vec![list("exponentials", (Method::Zoh, Weights::Real), wrong)]
}

/// The same of complex numbers, whose parts may have factors of their own.
fn of_complex_exponents() -> Vec<List> {
    let exponents =
        [(1.0, 0.75), (1.0, 0.0), (0.9, 1.1), (LN_2, 1.0), (1.2345678, 0.7654321), (1.2345678, 1.2345678)];
    let exponential = |(s, t): (f64, f64)| move |z: C| C::new(s * z.re, t * z.im).exp();
    let plain =
        exponents.map(|(s, t)| a_bar(format!("Ā = exp({s:.7} Re z + {t:.7} i Im z)"), exponential((s, t))));
    let parts = [
        a_bar("Ā = Re exp(z)", |z| z.exp().re.into()),
        a_bar("Ā = i exp(conj(z))", |z| C::I * z.conj().exp()),
    ];
    vec![list("exponentials", (Method::Zoh, Weights::Complex), plain.into_iter().chain(parts))]
}

/// To one side of 0 alone no two arguments are opposite, and there the formula is found all the same.
fn of_closed_forms_to_one_side() -> Vec<List> {
    [Weights::Real, Weights::Complex]
        .into_iter()
        .map(|weights: Weights| {
            // No formula that is known.
            let strange = |z: C| phi(z)[2] * (1.2 + 0.3 * (3.1 * z.re + z.im).sin());
            let mut wrong =
                vec![term("B̄ = Δ²φ₂ of exp(0.9z) where Re z ≤ 0 and |z| ≥ 0.9", 2, move |z| {
                    if z.re <= 0.0 && z.norm() >= 0.9 { closed(2, (0.9 * z).exp(), z) } else { strange(z) }
                })];
            if weights == Weights::Complex {
                wrong.push(term("B̄ = Δ²φ₂(Re z + 2i Im z) where Re z < 0", 2, move |z| {
                    if z.re < 0.0 { phi(C::new(z.re, 2.0 * z.im))[2] } else { strange(z) }
                }));
            }
            list("to-one-side", (Method::Foh, weights), wrong)
        })
        .collect()
}

pub fn lists() -> Vec<List> {
    let all: [fn() -> Vec<List>; 10] = [
        of_steps_from_a_wrong_transition,
        of_steps_from_a_wrong_complex_transition,
        of_closed_forms_with_another_exponent,
        of_closed_forms_with_other_exponents,
        of_one_wrong_exponent_in_both,
        of_powers_of_two_with_what_is_left,
        of_angles_that_are_reduced,
        of_real_exponents,
        of_complex_exponents,
        of_closed_forms_to_one_side,
    ];
    all.into_iter().flat_map(|of| of()).collect()
}

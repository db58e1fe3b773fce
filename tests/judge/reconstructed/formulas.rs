//! Wrong steps whose formulas have to be searched for: each way of searching is needed by at least one, and others lie just
//! beside what is looked for.

use std::f64::consts::{FRAC_PI_2, LN_2, LOG2_E, PI, TAU};

use holdfast::judge::model::phi;
use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;
use rstest::rstest;

use super::{Wrong, recorded};

/// A function of z.
type OfZ = fn(C) -> C;

/// A real one.
type RealOfZ = fn(C) -> f64;

/// Another Ā: this function of z.
fn a_bar(what: impl Into<String>, f: impl Fn(C) -> C + Sync + 'static) -> Wrong {
    Wrong::new(what, move |own, s| [f(s.z()), own(s)[1]])
}

/// Another B̄: this function of Δ and z.
fn b_bar(what: impl Into<String>, f: impl Fn(f64, C) -> C + Sync + 'static) -> Wrong {
    Wrong::new(what, move |own, s| [own(s)[0], f(s.delta, s.z()) * s.b * s.u])
}

/// Another B̄: Δᵖf(z).
fn term(what: impl Into<String>, power: i32, f: impl Fn(C) -> C + Sync + 'static) -> Wrong {
    b_bar(what, move |delta, z| f(z) * delta.powi(power))
}

/// Another Ā and another B̄.
fn both(
    what: impl Into<String>,
    a_bar: impl Fn(C) -> C + Sync + 'static,
    b_bar: impl Fn(f64, C) -> C + Sync + 'static,
) -> Wrong {
    Wrong::new(what, move |_, s| [a_bar(s.z()), b_bar(s.delta, s.z()) * s.b * s.u])
}

/// Σ cⱼ zʲ
fn polynomial(coefficients: &[f64], z: C) -> C {
    coefficients.iter().rev().fold(C::ZERO, |sum, &c| sum * z + c)
}

/// φ₁ to φ₃ by their closed forms of an exponential, right or not.
fn closed(k: usize, exponential: C, z: C) -> C {
    match k {
        1 => (exponential - 1.0) / z,
        2 => (exponential - 1.0 - z) / (z * z),
        _ => (exponential - 1.0 - z - z * z / 2.0) / (z * z * z),
    }
}

/// φₖ up to its term in zˡ.
fn cut(k: usize, last: usize, z: C) -> C {
    let sum = (k + 1..=k + last).rev().fold(C::ONE, |sum, j| 1.0 + z * sum / j as f64);
    sum / [1.0, 1.0, 2.0, 6.0][k]
}

/// The method that a wrong φₖ is tried in.
fn method_of(k: usize) -> Method {
    [Method::Zoh, Method::Foh, Method::HighOrder][k - 1]
}

/// The factors of φ₁ to φ₃ there.
fn usual(k: usize) -> f64 {
    [1.0, 1.0, 0.5][k - 1]
}

/// B̄ with c times a wrong φₖ: cΔφ₁, cΔ²φ₂, or Δφ₁ + Δ²φ₂ + cΔ³φ₃. Where z = 0, which closed forms have no value for, it is
/// right.
fn sum_with((k, factor): (usize, f64), delta: f64, z: C, wrong: C) -> C {
    let [_, p1, p2, _] = phi(z);
    let others = if k == 3 { p1 * delta + p2 * delta * delta } else { C::ZERO };
    let last = if z == C::ZERO { phi(z)[k] } else { wrong };
    others + last * factor * delta.powi(k as i32)
}

/// The same with this function of z in the place of φₖ.
fn with_phi(what: impl Into<String>, of: (usize, f64), wrong: impl Fn(C) -> C + Sync + 'static) -> Wrong {
    b_bar(what, move |delta, z| sum_with(of, delta, z, wrong(z)))
}

/// Where 1/w is conj(w)/|w|²: what may stand above.
const ABOVE: [(&str, OfZ); 4] =
    [("conj(w)", |w| w.conj()), ("w", |w| w), ("Re w", |w| w.re.into()), ("1", |_| C::ONE)];

/// What may stand below.
const BELOW: [(&str, RealOfZ); 8] = [
    ("|w|²", |w| w.re * w.re + w.im * w.im),
    ("Re(w²)", |w| (w * w).re),
    ("|w|", |w| w.re.hypot(w.im)),
    ("Re(w)²", |w| w.re.powi(2)),
    ("Im(w)²", |w| w.im.powi(2)),
    ("(Re w + Im w)²", |w| (w.re + w.im).powi(2)),
    ("(Re w + Im w)", |w| w.re + w.im),
    ("1", |_| 1.0),
];

/// Which of both.
type Slip = (usize, usize);

fn slip((above, below): Slip, w: C) -> C {
    (ABOVE[above].1)(w) / (BELOW[below].1)(w)
}

fn slip_text((above, below): Slip) -> String {
    format!("{}/{}", ABOVE[above].0, BELOW[below].0)
}

/// All but the right one.
fn slips() -> impl Iterator<Item = Slip> {
    (1..32).map(|i| (i % 4, i / 4))
}

/// Bilinear divides by 1 − z/2: in both coefficients by the same reciprocal, which is wrong.
#[test]
fn of_a_pole_with_a_wrong_reciprocal() {
    let wrong = slips().map(|at| {
        let what = format!("{} for 1/w, w = 1 − z/2", slip_text(at));
        let inverse = move |z: C| slip(at, 1.0 - z / 2.0);
        both(what, move |z| (1.0 + z / 2.0) * inverse(z), move |delta, z| inverse(z) * delta)
    });
    recorded("reciprocals", (Method::Bilinear, Weights::Complex), &wrong.collect::<Vec<_>>());
}

/// Closed forms divide by z and by z². Where z = 0 both are right.
#[rstest]
#[case::by_z(1, [(1, 0), (3, 2), (2, 3)])]
#[case::by_its_square(2, [(2, 1), (0, 2), (3, 5)])]
fn of_closed_forms_with_a_wrong_reciprocal(#[case] k: usize, #[case] slips: [Slip; 3]) {
    let wrong = slips.map(|at| {
        let w = if k == 1 { "z" } else { "z²" };
        let what = format!("{} for 1/w, w = {w}", slip_text(at));
        b_bar(what, move |delta, z| {
            let [p0, p1, p2, _] = phi(z);
            match (z == C::ZERO, k) {
                (true, 1) => p1 * delta + p2 * (0.5 * delta * delta),
                (true, _) => p2 * delta * delta,
                (_, 1) => (p0 - 1.0) * slip(at, z) * delta + p2 * (0.5 * delta * delta),
                _ => (p0 - 1.0 - z) * slip(at, z * z) * delta * delta,
            }
        })
    });
    let method = if k == 1 { Method::Poly } else { Method::Foh };
    recorded("reciprocals", (method, Weights::Complex), &wrong);
}

/// What else may be divided, and by what else.
#[test]
fn of_other_quotients_with_a_wrong_reciprocal() {
    const ALL: &[(&str, OfZ, &str, OfZ, Slip)] = &[
        ("1", |_| C::ONE, "1 − z", |z| 1.0 - z, (1, 2)),
        ("1", |_| C::ONE, "1 − z", |z| 1.0 - z, (0, 1)),
        ("1", |_| C::ONE, "1 + z/2", |z| 1.0 + z / 2.0, (3, 6)),
        ("z", |z| z, "1 + z/2", |z| 1.0 + z / 2.0, (3, 0)),
        ("exp(z)", |z| z.exp(), "1 − z", |z| 1.0 - z, (0, 5)),
        ("(exp(z) − z/2)", |z| z.exp() - z / 2.0, "1 − z/2", |z| 1.0 - z / 2.0, (2, 0)),
    ];
    let wrong = ALL.iter().map(|&(dividend, above, w, below, at)| {
        let what = format!("B̄ = Δ·{dividend}·{}, w = {w}", slip_text(at));
        term(what, 1, move |z| above(z) * slip(at, below(z)))
    });
    recorded("reciprocals", (Method::Zoh, Weights::Complex), &wrong.collect::<Vec<_>>());
}

/// Reciprocals that have no value on an axis can be the formula of no more than a place beside it.
#[rstest]
fn of_wrong_reciprocals_beside_an_axis(#[values(1, 2)] k: usize) {
    let wrong = [("Re z < −1", (0, 3)), ("|Im z| > 1", (3, 4))].map(|(place, at)| {
        let what = format!("{} for 1/z in the last step where {place}", slip_text(at).replace('w', "z"));
        with_phi(what, (k, 1.0), move |z| {
            let [p0, p1, p2, _] = phi(z);
            let is_there = if place == "Re z < −1" { z.re < -1.0 } else { z.im.abs() > 1.0 };
            match (is_there, k) {
                (true, 1) => (p0 - 1.0) * slip(at, z),
                (true, _) => (p1 - 1.0) * slip(at, z),
                (_, 1) => p1,
                _ => p2,
            }
        })
    });
    recorded("beside-an-axis", (method_of(k), Weights::Complex), &wrong);
}

/// Which φ-function is made step by step, the first step with the wrong reciprocal, and the φ-function that is made at once, by
/// a power of the reciprocal; 0 for none.
type Steps = (usize, usize, usize);

const STEPS: [Steps; 7] = [(1, 1, 0), (2, 1, 0), (2, 2, 0), (3, 1, 0), (3, 2, 0), (3, 3, 0), (3, 1, 2)];

fn steps_text((k, from, start): Steps) -> String {
    format!("φ{k} from step {from} on{}", if start == 2 { ", φ₂ at once" } else { "" })
}

/// φₖ = (φₖ₋₁ − 1/(k − 1)!)/z
fn step_by_step((k, from, start): Steps, exponential: C, reciprocal: C, z: C) -> C {
    let begun = if start == 2 { (exponential - 1.0 - z) * reciprocal * reciprocal } else { exponential };
    (start + 1..=k).fold(begun, |below, step| {
        let over = if step >= from { reciprocal } else { 1.0 / z };
        (below - [1.0, 1.0, 0.5][step - 1]) * over
    })
}

/// Real numbers have one wrong reciprocal. An exponential of 0 is what underflows.
#[rstest]
fn of_steps_with_moduli_and_without_an_exponential(#[values(1, 2, 3)] k: usize) {
    let exponentials: [(&str, OfZ); 2] = [("exp(z)", |z| z.exp()), ("0", |_| C::ZERO)];
    let reciprocals: [(&str, OfZ); 2] = [("1/z", |z| 1.0 / z), ("1/|z|", |z| (1.0 / z.norm()).into())];
    let mut wrong = Vec::new();
    for (exponential, of_exponential) in exponentials {
        for (reciprocal, of_reciprocal) in reciprocals {
            for at in STEPS.into_iter().filter(|at| at.0 == k) {
                // A right reciprocal is the same in all steps, and with a right exponential nothing is wrong.
                let is_right = reciprocal == "1/z" && (exponential == "exp(z)" || at != (k, 1, 0));
                if is_right || exponential == "0" && at.1 > 1 {
                    continue;
                }
                let what = format!("{exponential}, {reciprocal}: {}", steps_text(at));
                let of_z = move |z: C| step_by_step(at, of_exponential(z), of_reciprocal(z), z);
                wrong.push(with_phi(what, (k, usual(k)), of_z));
            }
        }
    }
    recorded("step-by-step", (method_of(k), Weights::Real), &wrong);
}

const SLIPPED: [(Steps, Slip); 6] = [
    ((2, 1, 0), (1, 0)),
    ((2, 1, 0), (2, 5)),
    ((2, 2, 0), (3, 0)),
    ((3, 2, 0), (3, 6)),
    ((3, 3, 0), (1, 1)),
    ((3, 1, 2), (1, 0)),
];

/// 0.03 is none that is looked for, and the smallest ones change next to nothing.
const ADDED: [(Steps, f64); 7] = [
    ((1, 1, 0), 0.5),
    ((1, 1, 0), 0.03),
    ((1, 1, 0), 1e-6),
    ((2, 1, 0), 0.1),
    ((2, 2, 0), 1e-5),
    ((3, 1, 0), 0.01),
    ((3, 1, 2), 0.005),
];

/// Complex numbers have all wrong reciprocals, and |z|² with something added to it.
#[rstest]
fn of_steps_with_wrong_complex_reciprocals(#[values(1, 2, 3)] k: usize) {
    let of_order = |at: &Steps| at.0 == k;
    let slipped = SLIPPED.into_iter().filter(|(at, _)| of_order(at)).map(|(at, slipped)| {
        let what = format!("{} for 1/z: {}", slip_text(slipped).replace('w', "z"), steps_text(at));
        with_phi(what, (k, usual(k)), move |z| step_by_step(at, z.exp(), slip(slipped, z), z))
    });
    let added = ADDED.into_iter().filter(|(at, _)| of_order(at)).map(|(at, epsilon)| {
        let what = format!("conj(z)/(|z|² + {epsilon}) for 1/z: {}", steps_text(at));
        let inverse = move |z: C| z.conj() / (z.norm_sqr() + epsilon);
        with_phi(what, (k, usual(k)), move |z| step_by_step(at, z.exp(), inverse(z), z))
    });
    let nothing = [((2, 1, 0), (1, 0)), ((3, 2, 0), (0, 2))];
    let nothing = nothing.into_iter().filter(|(at, _)| of_order(at)).map(|(at, slipped)| {
        let reciprocal = slip_text(slipped).replace('w', "z");
        let what = format!("0 for exp(z), {reciprocal} for 1/z: {}", steps_text(at));
        with_phi(what, (k, usual(k)), move |z| step_by_step(at, C::ZERO, slip(slipped, z), z))
    });
    let wrong: Vec<Wrong> = slipped.chain(added).chain(nothing).collect();
    recorded("step-by-step", (method_of(k), Weights::Complex), &wrong);
}

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
#[rstest]
fn of_steps_from_a_wrong_transition(#[values(1, 2, 3)] k: usize) {
    let transitions: [(&str, OfZ); 3] = [
        ("2ᵏ(1 + r + r²/2)", |z| of_powers_of_two(&[1.0, 1.0, 0.5], f64::floor, false, z)),
        ("(1 + z/1024)¹⁰²⁴", |z| (1.0 + z / 1024.0).powi(1024)),
        ("exp(z) with 0.693 for ln 2", |z| of_short_ln_2(0.693, f64::round, z)),
    ];
    let reciprocals: [(&str, OfZ); 2] = [("1/z", |z| 1.0 / z), ("1/|z|", |z| (1.0 / z.norm()).into())];
    let (name, a_bar) = transitions[k - 1];
    let wrong = reciprocals.map(|(text, reciprocal)| {
        both(format!("Ā = {name}, of which φ{k} is made by {text}"), a_bar, move |delta, z| {
            sum_with((k, usual(k)), delta, z, step_by_step((k, 1, 0), a_bar(z), reciprocal(z), z))
        })
    });
    recorded("of-own", (method_of(k), Weights::Real), &wrong);
}

/// The same of complex numbers. `zoh` has no φ-function that it might be taken for where it is right.
#[test]
fn of_steps_from_a_wrong_complex_transition() {
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
    recorded("of-own", (Method::Zoh, Weights::Complex), &wrong);
}

/// The exponent of the φ-functions alone is wrong: with names of constants, with few digits, with many.
#[rstest]
#[case(1, [(1.0, 0.99), (0.5, 1.44), (1.0 / 6.0, 1.2345678)])]
#[case(2, [(2.0, LN_2), (1.0, LOG2_E), (0.5, 1.2345678)])]
#[case(3, [(1.0 / 6.0, LOG2_E), (2.0, LN_2), (0.5, 0.37)])]
fn of_closed_forms_with_another_exponent(#[case] k: usize, #[case] exponents: [(f64, f64); 3]) {
    let wrong = exponents.map(|(c, s)| {
        let what = format!("{c:.3} φ{k} of exp({s:.7}z)");
        with_phi(what, (k, c), move |z| closed(k, (z * s).exp(), z))
    });
    recorded("exponents", (method_of(k), Weights::Real), &wrong);
}

/// The same with a number for each part. A fourth is no factor that is looked for.
#[rstest]
#[case(1, [(0.5, LN_2, 1.0), (2.0, 1.2345678, 1.2345678)])]
#[case(2, [(1.0, 1.0, LOG2_E), (0.25, 0.99, 0.99)])]
#[case(3, [(1.0 / 6.0, 1.2345678, 0.7), (1.0, 1.0, 0.5)])]
fn of_closed_forms_with_other_exponents(#[case] k: usize, #[case] exponents: [(f64, f64, f64); 2]) {
    let wrong = exponents.map(|(c, re, im)| {
        let what = format!("{c:.3} φ{k} of exp({re:.7} Re z + {im:.7} i Im z)");
        with_phi(what, (k, c), move |z| closed(k, C::new(re * z.re, im * z.im).exp(), z))
    });
    recorded("exponents", (method_of(k), Weights::Complex), &wrong);
}

/// The exponent of Ā is wrong, and that of the φ-functions is the same; of two of them the exponential has a factor, too.
#[rstest]
fn of_one_wrong_exponent_in_both(
    #[values(1, 2, 3)] k: usize,
    #[values(Weights::Real, Weights::Complex)] weights: Weights,
) {
    let (re, im) = if weights == Weights::Real { (0.9, 0.9) } else { (0.9, 1.1) };
    let factor = if k == 2 { 0.8 } else { 1.0 };
    let exponential = move |z: C| C::new(re * z.re, im * z.im).exp() * factor;
    let what = format!("Ā = {factor} exp({re} Re z + {im} i Im z), of which φ{k} is made");
    let of_phi = move |delta, z: C| sum_with((k, usual(k)), delta, z, closed(k, exponential(z), z));
    recorded("one-exponent", (method_of(k), weights), &[both(what, exponential, of_phi)]);
}

/// A constant as it may be typed.
fn short(constant: f64, decimals: usize) -> f64 {
    format!("{constant:.decimals$}").parse().expect("it is a number")
}

/// Where real numbers are reduced to powers of 2: short constants, polynomials that are too short or wrong in their last term.
#[test]
fn of_powers_of_two_with_what_is_left() {
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
    recorded("powers-of-two", (Method::Zoh, Weights::Real), &wrong);
}

/// Where the angle of a complex number is reduced: whole, half and quarter turns with few digits.
#[test]
fn of_angles_that_are_reduced() {
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
    recorded("angles", (Method::Zoh, Weights::Complex), &wrong);
}

/// (P/Q)ᵐ of z/m
fn raised(above: &[f64], below: &[f64], m: i32, z: C) -> C {
    let x = z / f64::from(m);
    (polynomial(above, x) / polynomial(below, x)).powi(m)
}

/// Exponentials by squarings, and by other powers: of what is small enough, of what is taken for a polynomial, of no power
/// that is looked for.
#[rstest]
fn of_squarings(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    type Root = (&'static str, &'static [f64], &'static [f64], &'static [i32]);
    const REAL: &[Root] = &[
        ("1 + x", &[1.0, 1.0], &[1.0], &[5, 7, 1000, 16, 1 << 20]),
        ("1/(1 − x)", &[1.0], &[1.0, -1.0], &[4, 10]),
        ("1 + x + x²/2", &[1.0, 1.0, 0.5], &[1.0], &[4]),
        ("(1 + x/2)/(1 − x/2)", &[1.0, 0.5], &[1.0, -0.5], &[10]),
        ("1 + x + x²/2 + x³/6", &[1.0, 1.0, 0.5, 1.0 / 6.0], &[1.0], &[3, 8]),
        ("1 + x + x²/3", &[1.0, 1.0, 1.0 / 3.0], &[1.0], &[16]),
    ];
    const COMPLEX: &[Root] =
        &[("1 + x", &[1.0, 1.0], &[1.0], &[1024]), ("(1 + x/2)/(1 − x/2)", &[1.0, 0.5], &[1.0, -0.5], &[5])];
    let roots = if weights == Weights::Real { REAL } else { COMPLEX };
    let all = roots.iter().flat_map(|&(text, above, below, powers)| {
        powers.iter().map(move |&m| {
            let what = format!("Ā = ({text}) to the power of {m}, x = z/{m}");
            a_bar(what, move |z| raised(above, below, m, z))
        })
    });
    let in_b = term("B̄ = Δ(1 + z/256)²⁵⁶", 1, |z| raised(&[1.0, 1.0], &[1.0], 256, z));
    recorded("squarings", (Method::Zoh, weights), &all.chain([in_b]).collect::<Vec<_>>());
}

/// Quotients of polynomials: those nearest to exp(z) of all degrees, with one factor that is no fraction, with two.
#[rstest]
fn of_quotients(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    type Quotient = (&'static str, &'static [f64], &'static [f64]);
    const ALL: &[Quotient] = &[
        ("1/(1 − z)", &[1.0], &[1.0, -1.0]),
        ("1/(1 − z + z²/2)", &[1.0], &[1.0, -1.0, 0.5]),
        ("[1/2]", &[1.0, 1.0 / 3.0], &[1.0, -2.0 / 3.0, 1.0 / 6.0]),
        ("[2/1]", &[1.0, 2.0 / 3.0, 1.0 / 6.0], &[1.0, -1.0 / 3.0]),
        ("[2/2]", &[1.0, 0.5, 1.0 / 12.0], &[1.0, -0.5, 1.0 / 12.0]),
        ("[1/3]", &[1.0, 0.25], &[1.0, -0.75, 0.25, -1.0 / 24.0]),
        ("[3/1]", &[1.0, 0.75, 0.25, 1.0 / 24.0], &[1.0, -0.25]),
        ("[3/2]", &[1.0, 0.6, 0.15, 1.0 / 60.0], &[1.0, -0.4, 0.05]),
        ("[3/3]", &[1.0, 0.5, 0.1, 1.0 / 120.0], &[1.0, -0.5, 0.1, -1.0 / 120.0]),
        ("[1/4]", &[1.0, 0.2], &[1.0, -0.8, 0.3, -1.0 / 15.0, 1.0 / 120.0]),
        ("0.1234567/(1 − z/3)", &[0.1234567], &[1.0, -1.0 / 3.0]),
        ("(1 + 0.1234567z)/(1 − z/3)", &[1.0, 0.1234567], &[1.0, -1.0 / 3.0]),
        ("(1 + 0.1234567z)/(1 − 0.7654321z)", &[1.0, 0.1234567], &[1.0, -0.7654321]),
        ("1 + z/5 as a single one, 0 at −5", &[1.0, 0.2f32 as f64], &[1.0]),
    ];
    // Fewer of complex numbers.
    let step = if weights == Weights::Real { 1 } else { 7 };
    let wrong = ALL.iter().step_by(step).map(|&(text, above, below)| {
        a_bar(format!("Ā = {text}"), move |z| polynomial(above, z) / polynomial(below, z))
    });
    recorded("quotients", (Method::Zoh, weights), &wrong.collect::<Vec<_>>());
}

/// Polynomials up to the highest degree and one beyond, and what differs from one that is specified: terms that are wrong,
/// missing, too many.
#[test]
fn of_polynomials() {
    const ALL: &[(&str, &[f64])] = &[
        ("1 + z/2 + z²/6 + z³/24 + z⁴/120", &[1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0]),
        ("1 + z/3 + z²/6 + z³/24", &[1.0, 1.0 / 3.0, 1.0 / 6.0, 1.0 / 24.0]),
        ("1 + z/3 + z²/5 + z³/24", &[1.0, 1.0 / 3.0, 0.2, 1.0 / 24.0]),
        ("1 + z²/6 + z³/24", &[1.0, 0.0, 1.0 / 6.0, 1.0 / 24.0]),
        ("1 + z/2 + z²/3", &[1.0, 0.5, 1.0 / 3.0]),
        ("2 + z + z²/3 + z³/12", &[2.0, 1.0, 1.0 / 3.0, 1.0 / 12.0]),
        ("1 + z/2 + 0.1654321z² + 0.0412345z³", &[1.0, 0.5, 0.1654321, 0.0412345]),
        ("1 + z/2 + z²/6.00002 + z³/24", &[1.0, 0.5, 1.0 / 6.00002, 1.0 / 24.0]),
    ];
    let mut wrong: Vec<Wrong> = [5, 8, 9]
        .into_iter()
        .map(|degree| {
            let coefficients: Vec<f64> = (0..=degree).map(|j| 1.0 / (f64::from(j) + 2.0)).collect();
            term(format!("B̄ = Δ Σ zʲ/(j + 2) up to z{degree}"), 1, move |z| polynomial(&coefficients, z))
        })
        .collect();
    let listed = ALL.iter().map(|&(text, coefficients)| {
        term(format!("B̄ = Δ({text})"), 1, move |z| polynomial(coefficients, z))
    });
    wrong.extend(listed);
    recorded("polynomials", (Method::Rk4, Weights::Real), &wrong);
}

/// What is specified is no polynomial: its series cut, and wrong in a term or two.
#[test]
fn of_series_of_quotients() {
    let series = [1.0, 1.0, 0.5, 0.25];
    let mut wrong: Vec<Wrong> = (1..4)
        .map(|last| {
            let what = format!("Ā up to z{last}");
            a_bar(what, move |z| polynomial(&series[..=last], z))
        })
        .collect();
    wrong.extend([0, 2].map(|last| {
        let what = format!("B̄ up to z{last}");
        term(what, 1, move |z| (0..=last).map(|j| z.powi(j) * 0.5f64.powi(j)).sum())
    }));
    wrong.extend([
        a_bar("Ā = 1 + z + z²/3", |z| 1.0 + z + z * z / 3.0),
        a_bar("Ā = −(1 + z/2)/(1 − z/2)", |z| -(1.0 + z / 2.0) / (1.0 - z / 2.0)),
        term("B̄ = Δ/(1 + z/2)", 1, |z| 1.0 / (1.0 + z / 2.0)),
        term("B̄ = Δ²/(1 − z/2)", 2, |z| 1.0 / (1.0 - z / 2.0)),
        term("B̄ = Δ/(1 − z/2)²", 1, |z| (1.0 - z / 2.0).powi(-2)),
        term("B̄ = Δ/((1 − z)(1 + z))", 1, |z| 1.0 / ((1.0 - z) * (1.0 + z))),
        term("B̄ = Δ/((1 − z)(1 + z)(1 − z/5))", 1, |z| {
            1.0 / ((1.0 - z) * (1.0 + z) * (1.0 - z / 5.0))
        }),
    ]);
    recorded("series", (Method::Bilinear, Weights::Real), &wrong);
}

/// φ₄, by its series or of φ₃.
fn phi4(z: C) -> C {
    match z.norm() < 2.0 {
        true => (5..40).rev().fold(C::ONE, |sum, j| 1.0 + z * sum / f64::from(j)) / 24.0,
        false => (phi(z)[3] - 1.0 / 6.0) / z,
    }
}

/// What sums are made of.
const FUNCTIONS: [(&str, OfZ); 11] = [
    ("1", |_| C::ONE),
    ("φ₁", |z| phi(z)[1]),
    ("φ₂", |z| phi(z)[2]),
    ("φ₃", |z| phi(z)[3]),
    ("exp(z)", |z| z.exp()),
    ("z", |z| z),
    ("1/(1 − z/2)", |z| 1.0 / (1.0 - z / 2.0)),
    ("1/(1 + z/2)", |z| 1.0 / (1.0 + z / 2.0)),
    ("1/(1 − z)", |z| 1.0 / (1.0 - z)),
    ("z²", |z| z * z),
    ("φ₄", phi4),
];

/// Each function beside another one, alone, and with factors that are no fractions.
#[test]
fn of_one_function_or_two() {
    let count = FUNCTIONS.len();
    let pairs = (0..count).step_by(2).map(|i| {
        let ((f, of), (g, other)) = (FUNCTIONS[i], FUNCTIONS[(i + 3) % count]);
        term(format!("B̄ = Δ({f} − {g}/2)"), 1, move |z| of(z) - other(z) / 2.0)
    });
    let [_, one, two, three, exponential, ..] = FUNCTIONS.map(|(_, f)| f);
    let odd = [
        term("B̄ = 0.1234567Δφ₄", 1, |z| 0.1234567 * phi4(z)),
        term("B̄ = Δ(φ₁ + 0.1234567φ₂)", 1, move |z| one(z) + 0.1234567 * two(z)),
        term("B̄ = Δ(0.1234567φ₁ + 0.7654321φ₂)", 1, move |z| {
            0.1234567 * one(z) + 0.7654321 * two(z)
        }),
        term("B̄ = Δ(exp(z) + φ₃/2 + 0.1234567z)", 1, move |z| {
            exponential(z) + three(z) / 2.0 + 0.1234567 * z
        }),
    ];
    recorded("sums", (Method::Zoh, Weights::Real), &pairs.chain(odd).collect::<Vec<_>>());
}

/// Three functions, in both coefficients by turns.
#[test]
fn of_three_functions() {
    let count = FUNCTIONS.len();
    let wrong = (0..count).step_by(3).map(|i| {
        let [(f, first), (g, second), (h, third)] = [i, i + 1, i + 4].map(|i| FUNCTIONS[i % count]);
        let sum = move |z: C| first(z) + 2.0 * second(z) - third(z) / 3.0;
        match i % 2 {
            0 => term(format!("B̄ = Δ²({f} + 2·{g} − {h}/3)"), 2, sum),
            _ => a_bar(format!("Ā = {f} + 2·{g} − {h}/3"), sum),
        }
    });
    recorded("sums", (Method::Foh, Weights::Complex), &wrong.collect::<Vec<_>>());
}

/// The beginnings of series that are too long for a polynomial, up to one that is longer than any that is looked for.
#[rstest]
fn of_long_series(#[values(1, 2, 3)] k: usize) {
    let in_b = [8, 24, 25]
        .into_iter()
        .map(|last| with_phi(format!("φ{k} up to z{last}"), (k, usual(k)), move |z| cut(k, last, z)));
    // One of the exponential, and one with a factor that is no fraction.
    let more = match k {
        1 => a_bar("Ā = exp(z) up to z9", |z| cut(0, 9, z)),
        _ => with_phi(format!("0.1234567φ{k} up to z12"), (k, 0.1234567), move |z| cut(k, 12, z)),
    };
    recorded("long-series", (method_of(k), Weights::Real), &in_b.chain([more]).collect::<Vec<_>>());
}

/// Several φ-functions that are cut: all at one order in Δ, or each at its own.
#[rstest]
#[case(Method::Poly, Weights::Complex)]
#[case(Method::HighOrder, Weights::Real)]
fn of_several_series(#[case] method: Method, #[case] weights: Weights) {
    let factors = if method == Method::Poly { [1.0, 0.5, 0.0] } else { [1.0, 1.0, 0.5] };
    let orders = [[13, 13, 13], [4, 5, 6], [0, 12, 12]];
    let wrong = orders.map(|orders| {
        let what = format!("cut at orders {orders:?}; 0 is whole");
        b_bar(what, move |delta, z| {
            let of_phi = |k: usize| match orders[k - 1] {
                0 => phi(z)[k],
                order => cut(k, order - k, z),
            };
            (1..=3).map(|k| of_phi(k) * (factors[k - 1] * delta.powi(k as i32))).sum()
        })
    });
    recorded("several-series", (method, weights), &wrong);
}

/// One coefficient of a series is wrong: beside a φ-function stands a power of z.
#[rstest]
fn of_a_wrong_coefficient_of_a_series(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    let powers: &[i32] = if weights == Weights::Real { &[3, 4, 10, 11] } else { &[6] };
    let at = |power: i32| {
        let k = (power % 4) as usize;
        // As large as the function at some arguments.
        let factor = 0.02 / (1..=power).map(f64::from).product::<f64>();
        (k, move |z: C| phi(z)[k] + z.powi(power) * factor)
    };
    let all = powers.iter().map(|&power| {
        let (k, f) = at(power);
        match k {
            0 => a_bar(format!("Ā = exp(z) + c z{power}"), f),
            _ => term(format!("B̄ = Δ(φ{k} + c z{power})"), 1, f),
        }
    });
    let odd = term("B̄ = Δ(0.1234567φ₂ + z³/100)", 1, |z| 0.1234567 * phi(z)[2] + z * z * z / 100.0);
    recorded("beside-a-power", (Method::Zoh, weights), &all.chain([odd]).collect::<Vec<_>>());
}

/// Divided by z once more than should be, twice, three times; and closed forms with wrong numbers.
#[test]
fn over_powers_of_z() {
    const ALL: &[(&str, OfZ)] = &[
        ("φ₁/z", |z| phi(z)[1] / z),
        ("φ₂/(2z²)", |z| phi(z)[2] / (2.0 * z * z)),
        ("1/z³", |z| 1.0 / (z * z * z)),
        ("1/z⁴", |z| 1.0 / (z * z * z * z)),
        ("(exp(z) − 2)/z", |z| (z.exp() - 2.0) / z),
        ("(exp(z) − 1 − 2z)/z²", |z| (z.exp() - 1.0 - 2.0 * z) / (z * z)),
        ("(exp(z) − 1 − z/2)/z³", |z| (z.exp() - 1.0 - z / 2.0) / (z * z * z)),
        ("(φ₁ + φ₂)/z", |z| (phi(z)[1] + phi(z)[2]) / z),
        ("(exp(z) − 1.2345678)/z", |z| (z.exp() - 1.2345678) / z),
        ("(exp(z) − 2 − 3z + φ₁)/z²", |z| (z.exp() - 2.0 - 3.0 * z + phi(z)[1]) / (z * z)),
    ];
    let wrong = ALL.iter().map(|&(text, f)| term(format!("B̄ = Δ·{text}"), 1, f));
    recorded("over-powers", (Method::Zoh, Weights::Real), &wrong.collect::<Vec<_>>());
}

/// The same with exponentials of one part of z alone, or of conj(z).
#[test]
fn over_powers_of_z_with_parts_of_an_exponential() {
    const ALL: &[(&str, OfZ)] = &[
        ("cos(Im z)", |z| z.im.cos().into()),
        ("exp(i Im z)/z²", |z| C::new(0.0, z.im).exp() / (z * z)),
        ("(exp(Re z) − 1)/z", |z| (z.re.exp() - 1.0) / z),
        ("(exp(i Im z) − 1)/z", |z| (C::new(0.0, z.im).exp() - 1.0) / z),
        ("(exp(conj(z)) − 1)/z", |z| (z.conj().exp() - 1.0) / z),
        ("(exp(z) − cos(Im z))/z", |z| (z.exp() - z.im.cos()) / z),
        ("(exp(z) − exp(Re z))/z", |z| (z.exp() - z.re.exp()) / z),
        ("(exp(Re z) − 1 − z)/z²", |z| (z.re.exp() - 1.0 - z) / (z * z)),
        ("exp(Re z) + exp(i Im z)", |z| z.re.exp() + C::new(0.0, z.im).exp()),
    ];
    let wrong = ALL.iter().map(|&(text, f)| term(format!("B̄ = Δ·{text}"), 1, f));
    recorded("over-powers", (Method::Zoh, Weights::Complex), &wrong.collect::<Vec<_>>());
}

/// What may stand in the place of z.
const ARGUMENTS: [(&str, OfZ); 12] = [
    ("−z", |z| -z),
    ("z/2", |z| z / 2.0),
    ("2z", |z| 2.0 * z),
    ("z ln 2", |z| z * LN_2),
    ("z log₂e", |z| z * LOG2_E),
    ("3z", |z| 3.0 * z),
    ("conj(z)", |z| z.conj()),
    ("Re z", |z| z.re.into()),
    ("|z|", |z| z.norm().into()),
    ("−|Re z| + i Im z", |z| C::new(-z.re.abs(), z.im)),
    ("|Re z| + i Im z", |z| C::new(z.re.abs(), z.im)),
    ("Re z + i |Im z|", |z| C::new(z.re, z.im.abs())),
];

/// What may become of a value.
const PARTS: [(&str, OfZ); 3] =
    [("Re", |x| x.re.into()), ("i Im", |x| C::new(0.0, x.im)), ("i", |x| C::I * x)];

/// φ₂ of another argument, and parts of it.
#[rstest]
fn of_other_arguments(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    // Of real numbers those that these have.
    let range = if weights == Weights::Real { 0..6 } else { 6..12 };
    let whole = ARGUMENTS
        .into_iter()
        .take(range.end)
        .skip(range.start)
        .map(|(text, of)| term(format!("B̄ = Δ²φ₂({text})"), 2, move |z| phi(of(z))[2]));
    let parts = PARTS.into_iter().filter(|_| weights == Weights::Complex).flat_map(|(part, of)| {
        let plain = term(format!("B̄ = {part} Δ²φ₂(z)"), 2, move |z| of(phi(z)[2]));
        // One more argument for each.
        let (text, argument) = match part {
            "Re" => ARGUMENTS[2],
            "i Im" => ARGUMENTS[0],
            _ => ARGUMENTS[6],
        };
        let other = term(format!("B̄ = {part} Δ²φ₂({text})"), 2, move |z| of(phi(argument(z))[2]));
        [plain, other]
    });
    let more = term("B̄ = −3Δ²φ₃(−z)", 2, |z| -3.0 * phi(-z)[3]);
    recorded("arguments", (Method::Foh, weights), &whole.chain(parts).chain([more]).collect::<Vec<_>>());
}

/// A polynomial of another argument, and parts of it.
#[test]
fn of_polynomials_of_other_arguments() {
    let coefficients = [1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0];
    let of_arguments = ARGUMENTS.into_iter().skip(6).step_by(2).map(|(text, of)| {
        term(format!("B̄ is specified of {text}"), 1, move |z| polynomial(&coefficients, of(z)))
    });
    let of_parts = PARTS.into_iter().take(2).map(|(text, of)| {
        term(format!("B̄ is {text} of what is specified"), 1, move |z| of(polynomial(&coefficients, z)))
    });
    let turned = term("B̄ is i times what is specified of conj(z)", 1, move |z| {
        C::I * polynomial(&coefficients, z.conj())
    });
    let wrong: Vec<Wrong> = of_arguments.chain(of_parts).chain([turned]).collect();
    recorded("arguments", (Method::Rk4, Weights::Complex), &wrong);
}

/// A quotient of another argument, above and below or below alone.
#[test]
fn of_quotients_of_other_arguments() {
    let of_arguments = ARGUMENTS.into_iter().skip(7).step_by(4).map(|(text, of)| {
        let what = format!("both are specified of {text}");
        let quotient = move |z: C| (1.0 + of(z) / 2.0) / (1.0 - of(z) / 2.0);
        both(what, quotient, move |delta, z| delta / (1.0 - of(z) / 2.0))
    });
    let of_parts = PARTS.into_iter().take(2).map(|(text, of)| {
        let what = format!("both are {text} of what is specified");
        let quotient = move |z: C| of((1.0 + z / 2.0) / (1.0 - z / 2.0));
        both(what, quotient, move |delta, z| of(1.0 / (1.0 - z / 2.0)) * delta)
    });
    let below = [
        a_bar("Ā = (1 + z/3)/(1 − 2z*/3 + z*²/6)", |z| {
            (1.0 + z / 3.0) / (1.0 - z.conj() / 1.5 + z.conj() * z.conj() / 6.0)
        }),
        term("B̄ = Δ/(1 − z*/2 + z*²/12)", 1, |z| {
            1.0 / (1.0 - z.conj() / 2.0 + z.conj() * z.conj() / 12.0)
        }),
    ];
    let wrong: Vec<Wrong> = of_arguments.chain(of_parts).chain(below).collect();
    recorded("arguments", (Method::Bilinear, Weights::Complex), &wrong);
}

/// Another factor on the real part of z than on its imaginary part.
#[test]
fn of_parts_with_factors_of_their_own() {
    let pairs = [
        ("1", 1.0, "ln 2", LN_2),
        ("ln 2", LN_2, "1", 1.0),
        ("−1", -1.0, "2", 2.0),
        ("1", 1.0, "2", 2.0),
        ("1/2", 0.5, "1", 1.0),
        ("log₂e", LOG2_E, "ln 2", LN_2),
        ("1", 1.0, "3", 3.0),
    ];
    let of_phi = pairs.into_iter().enumerate().map(|(i, (re, s, im, t))| {
        let k = 1 + i % 3;
        let what = format!("B̄ = Δ²φ{k}({re}·Re z + {im}·i Im z)");
        term(what, 2, move |z| phi(C::new(s * z.re, t * z.im))[k])
    });
    let of_polynomial = term("B̄ = Δ²(1 + w/3 + w²/12), w = 2 Re z + i Im z", 2, |z| {
        let w = C::new(2.0 * z.re, z.im);
        1.0 + w / 3.0 + w * w / 12.0
    });
    let of_square =
        term("B̄ = Δ²w²/3, w = Re z + 2i Im z", 2, |z| C::new(z.re, 2.0 * z.im).powi(2) / 3.0);
    let wrong: Vec<Wrong> = of_phi.chain([of_polynomial, of_square]).collect();
    recorded("parts", (Method::Foh, Weights::Complex), &wrong);
}

/// Exponentials with factors of the exponent and of the value, as fractions, constants and decimals.
#[test]
fn of_real_exponents() {
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
    recorded("exponentials", (Method::Zoh, Weights::Real), &wrong);
}

/// The same of complex numbers, whose parts may have factors of their own.
#[test]
fn of_complex_exponents() {
    let exponents =
        [(1.0, 0.75), (1.0, 0.0), (0.9, 1.1), (LN_2, 1.0), (1.2345678, 0.7654321), (1.2345678, 1.2345678)];
    let exponential = |(s, t): (f64, f64)| move |z: C| C::new(s * z.re, t * z.im).exp();
    let plain =
        exponents.map(|(s, t)| a_bar(format!("Ā = exp({s:.7} Re z + {t:.7} i Im z)"), exponential((s, t))));
    let parts = [
        a_bar("Ā = Re exp(z)", |z| z.exp().re.into()),
        a_bar("Ā = i exp(conj(z))", |z| C::I * z.conj().exp()),
    ];
    recorded(
        "exponentials",
        (Method::Zoh, Weights::Complex),
        &plain.into_iter().chain(parts).collect::<Vec<_>>(),
    );
}

/// f(z) with ε added to what it is divided by.
fn guarded(of: impl Fn(C) -> C, below: impl Fn(C) -> C, epsilon: f64, z: C) -> C {
    of(z) * below(z) / (below(z) + epsilon)
}

/// φ₂ with something added to z² or to z: from what shows everywhere to what shows nearly nowhere, negative, with too many
/// digits; and where NaN lies beside it.
#[rstest]
fn of_guarded_squares(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    let of_square = [0.1, 2e-9, -0.01, 0.01234];
    let of_z = [0.01, 1e-7];
    let squares = of_square.map(|epsilon| {
        term(format!("B̄ = Δ²φ₂, z² + {epsilon}"), 2, move |z| {
            guarded(|z| phi(z)[2], |z| z * z, epsilon, z)
        })
    });
    let once = of_z.map(|epsilon| {
        term(format!("B̄ = Δ²φ₂, z + {epsilon}"), 2, move |z| guarded(|z| phi(z)[2], |z| z, epsilon, z))
    });
    let with_nan = term("B̄ = Δ²φ₂, z² + 0.0000001; NaN where Re z > 1.2", 2, |z| match z.re > 1.2 {
        true => f64::NAN.into(),
        false => guarded(|z| phi(z)[2], |z| z * z, 1e-7, z),
    });
    let factor =
        term("B̄ = −Δ²φ₂/3, z² + 0.05", 2, |z| guarded(|z| phi(z)[2] / -3.0, |z| z * z, 0.05, z));
    // Fewer of complex numbers.
    let all = [with_nan, factor].into_iter().chain(squares).chain(once);
    let wrong: Vec<Wrong> = all.step_by(if weights == Weights::Real { 1 } else { 2 }).collect();
    recorded("guarded", (Method::Foh, weights), &wrong);
}

/// Δφ₁ + Δ²φ₂ + ½Δ³φ₃ with something added to the zᵖ of each; nothing where that is 0.
fn guarded_sum(delta: f64, z: C, power: i32, epsilons: [f64; 3]) -> C {
    let of_phi = |k: usize| match epsilons[k - 1] == 0.0 {
        true => phi(z)[k],
        false => guarded(|z| phi(z)[k], |z| z.powi(power), epsilons[k - 1], z),
    };
    of_phi(1) * delta + of_phi(2) * delta * delta + of_phi(3) * (0.5 * delta * delta * delta)
}

/// The same of each term of a sum, by each power that it may be divided by.
#[rstest]
fn of_guarded_terms(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    let all = [
        (1, [0.01, 0.0, 0.0]),
        (1, [0.0, 0.001, 0.0]),
        (1, [0.0, 0.0, 0.02]),
        (2, [0.0, 0.0, 0.005]),
        (3, [0.0, 0.0, 0.001]),
        (1, [0.01, 0.01, 0.01]),
        (3, [0.0, 0.0, 2e-11]),
        (3, [0.0, 0.0, 1e-10]),
    ];
    // Fewer of real numbers.
    let step = if weights == Weights::Real { 3 } else { 1 };
    let wrong = all.into_iter().step_by(step).map(|(power, epsilons)| {
        let what = format!("z{power} + {epsilons:?}");
        b_bar(what, move |delta, z| guarded_sum(delta, z, power, epsilons))
    });
    recorded("guarded", (Method::HighOrder, weights), &wrong.collect::<Vec<_>>());
}

/// The same of quotients.
#[rstest]
#[case(Method::Bilinear, Weights::Real)]
#[case(Method::Bilinear, Weights::Complex)]
#[case(Method::Zoh, Weights::Real)]
fn of_guarded_poles(#[case] method: Method, #[case] weights: Weights) {
    let (alpha, text): (f64, &str) =
        if method == Method::Bilinear { (0.5, "1 − z/2") } else { (1.0, "1 − z") };
    let in_b = [0.01, -0.003].map(|epsilon| {
        term(format!("B̄ = Δ/({text} + {epsilon})"), 1, move |z| 1.0 / (1.0 - alpha * z + epsilon))
    });
    let in_a = a_bar(format!("Ā divided by {text} + 0.01"), move |z| {
        (1.0 + (1.0 - alpha) * z) / (1.01 - alpha * z)
    });
    recorded("guarded-poles", (method, weights), &in_b.into_iter().chain([in_a]).collect::<Vec<_>>());
}

/// A product of two complex numbers, of which the second one has just been computed.
type Product = fn(C, C) -> C;

const PRODUCTS: [(&str, Product); 6] = [
    ("part by part", |a, x| C::new(a.re * x.re, a.im * x.im)),
    ("with + in the real part", |a, x| C::new(a.re * x.re + a.im * x.im, a.re * x.im + a.im * x.re)),
    ("with one cross term", |a, x| C::new(a.re * x.re - a.im * x.im, a.re * x.im)),
    ("with − in the imaginary part", |a, x| C::new(a.re * x.re - a.im * x.im, a.re * x.im - a.im * x.re)),
    ("in place", |a, x| {
        let re = a.re * x.re - a.im * x.im;
        C::new(re, a.re * x.im + a.im * re)
    }),
    ("of moduli", |a, x| (a.norm() * x.norm()).into()),
];

/// z² by a wrong product; z³ and z⁴ of it, by the same or by a right one.
fn powers(product: Product, again: bool, z: C) -> [C; 3] {
    let next = |power: C| if again { product(power, z) } else { power * z };
    let square = product(z, z);
    [square, next(square), next(next(square))]
}

/// A polynomial of powers that are formed wrongly.
#[test]
fn of_wrong_powers() {
    let cubic = PRODUCTS.into_iter().enumerate().map(|(i, (name, product))| {
        let (again, text) = if i % 2 == 0 { (false, "z²") } else { (true, "z² and z³") };
        term(format!("B̄ up to z³, {text} {name}"), 1, move |z| {
            let [square, cube, _] = powers(product, again, z);
            1.0 + z / 2.0 + square / 6.0 + cube / 24.0
        })
    });
    // What ends with z², and what goes on to z⁴.
    let (crossed, in_place) = (PRODUCTS[2].1, PRODUCTS[4].1);
    let others = [
        a_bar("Ā up to z² with one cross term", move |z| 1.0 + z + crossed(z, z) / 2.0),
        a_bar("Ā up to z⁴, each in place", move |z| {
            let [square, cube, fourth] = powers(in_place, true, z);
            1.0 + z + square / 2.0 + cube / 6.0 + fourth / 24.0
        }),
    ];
    recorded("powers", (Method::Rk4, Weights::Complex), &cubic.chain(others).collect::<Vec<_>>());
}

/// Closed forms of φ₂ and φ₃ over such powers; of φ₃ some have a wrong power above, too.
#[rstest]
fn of_closed_forms_with_wrong_powers(#[values(2, 3)] k: usize) {
    // The two others of φ₂ are what a wrong reciprocal makes.
    let some = PRODUCTS.into_iter().enumerate().filter(|&(i, _)| k == 3 || i < 3 || i == 4);
    let wrong = some.map(|(i, (name, product))| {
        let again = i % 2 == 0;
        let what = match (k, again) {
            (2, _) => format!("φ₂ over z² {name}"),
            (_, true) => format!("φ₃ over z³, each product {name}"),
            (_, false) => format!("φ₃ with z² {name}, above and below"),
        };
        with_phi(what, (k, usual(k)), move |z| {
            let [square, cube, _] = powers(product, again, z);
            let above = if again { z * z } else { square };
            match k {
                2 => (z.exp() - 1.0 - z) / square,
                _ => (z.exp() - 1.0 - z - above / 2.0) / cube,
            }
        })
    });
    recorded("powers", (method_of(k), Weights::Complex), &wrong.collect::<Vec<_>>());
}

/// Horner's form, in which the product of one step is wrong.
fn nest(coefficients: &[f64], at: usize, product: Product, z: C) -> C {
    let mut from_highest = coefficients.iter().rev();
    let highest = C::from(*from_highest.next().expect("it is no empty sum"));
    from_highest.enumerate().fold(highest, |sum, (step, &c)| {
        let next = if step + 1 == at { product(z, sum) } else { z * sum };
        next + c
    })
}

/// Each wrong product in the first step, in the last one and in one between.
#[test]
fn of_nests_with_a_wrong_product() {
    let coefficients = [1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0];
    let cubic = PRODUCTS.into_iter().take(5).enumerate().flat_map(|(i, (name, product))| {
        // What is between is no formula that is looked for.
        let steps: &[usize] = if i == 0 { &[1, 2, 3] } else { &[1, 3] };
        steps.iter().map(move |&at| {
            term(format!("B̄ with product {at} {name}"), 1, move |z| nest(&coefficients, at, product, z))
        })
    });
    let series = [1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0];
    let others = [(4, 4, 4), (5, 1, 3), (6, 6, 1)];
    let others = others.map(|(degree, at, which)| {
        let (name, product) = PRODUCTS[which];
        let what = format!("Ā up to z{degree} with product {at} {name}");
        a_bar(what, move |z| nest(&series[..=degree], at, product, z))
    });
    let sparse = a_bar("Ā = 1 + z(z(z/6)) with the last product in place", |z| {
        nest(&[1.0, 0.0, 0.0, 1.0 / 6.0], 3, PRODUCTS[4].1, z)
    });
    recorded(
        "nests",
        (Method::Rk4, Weights::Complex),
        &cubic.chain(others).chain([sparse]).collect::<Vec<_>>(),
    );
}

/// |1 − z/2|² is multiplied out wrongly: each of its terms, one too many, and something added.
#[test]
fn of_wrong_moduli() {
    type Modulus = fn(f64, f64) -> f64;
    const ALL: &[(&str, Modulus)] = &[
        ("1 − 2x + x²/4 + y²/4", |x, y| 1.0 - 2.0 * x + x * x / 4.0 + y * y / 4.0),
        ("1 − x + x²/2 + y²/4", |x, y| 1.0 - x + x * x / 2.0 + y * y / 4.0),
        ("1 − x + x²/4 + 0.3456789y²", |x, y| 1.0 - x + x * x / 4.0 + 0.3456789 * y * y),
        ("1 − x + x²/4 + y²/4 + xy/8", |x, y| 1.0 - x + x * x / 4.0 + y * y / 4.0 + x * y / 8.0),
        ("1 − x + y/2 + x²/4 + y²/4", |x, y| 1.0 - x + y / 2.0 + x * x / 4.0 + y * y / 4.0),
        ("1.01 − x + x²/4 + y²/4", |x, y| 1.01 - x + x * x / 4.0 + y * y / 4.0),
        ("0.98 − x + x²/4 + 0.3y²", |x, y| 0.98 - x + x * x / 4.0 + 0.3 * y * y),
        ("1.13 − x + x²/4 + y²/4", |x, y| 1.13 - x + x * x / 4.0 + y * y / 4.0),
    ];
    let wrong = ALL.iter().map(|&(text, modulus)| {
        let inverse = move |z: C| (1.0 - z.conj() / 2.0) / modulus(z.re, z.im);
        let what = format!("{text} for |1 − z/2|², z = x + iy");
        both(what, move |z| (1.0 + z / 2.0) * inverse(z), move |delta, z| inverse(z) * delta)
    });
    recorded("moduli", (Method::Bilinear, Weights::Complex), &wrong.collect::<Vec<_>>());
}

/// Polynomials of z and conj(z), alone and over one of both parts.
#[test]
fn of_polynomials_of_both_parts() {
    const ALL: &[(&str, OfZ)] = &[
        ("1 + z*/2 + z²/6", |z| 1.0 + z.conj() / 2.0 + z * z / 6.0),
        ("1 + z/2 + z²z*/24", |z| 1.0 + z / 2.0 + z * z.norm_sqr() / 24.0),
        ("1 + z/2 + (zz*)²/120", |z| 1.0 + z / 2.0 + z.norm_sqr() * z.norm_sqr() / 120.0),
        ("z*/2 − z⁴/9", |z| z.conj() / 2.0 - z * z * z * z / 9.0),
        ("(1 + z/4)/(1 + x² + y²/2)", |z| (1.0 + z / 4.0) / (1.0 + z.re * z.re + z.im * z.im / 2.0)),
        ("(1 − z*/4)/(1 + x²/3 + y² − xy/5)", |z| {
            (1.0 - z.conj() / 4.0) / (1.0 + z.re * z.re / 3.0 + z.im * z.im - z.re * z.im / 5.0)
        }),
        ("(1 + zz*)/(1 + x²/3 + y)²", |z| {
            (1.0 + z.norm_sqr()) / C::from((1.0 + z.re * z.re / 3.0 + z.im).powi(2))
        }),
    ];
    let wrong = ALL.iter().map(|&(text, f)| term(format!("B̄ = Δ({text})"), 1, f));
    recorded("both-parts", (Method::Zoh, Weights::Complex), &wrong.collect::<Vec<_>>());
}

/// exp(z) by its parts, of which the first of each is right.
const REAL_PARTS: [(&str, RealOfZ); 5] = [
    ("Re exp(z)", |z| z.exp().re),
    ("cos(Im z)", |z| z.im.cos()),
    ("Im exp(z)", |z| z.exp().im),
    ("exp(Re z)", |z| z.re.exp()),
    ("1", |_| 1.0),
];
const IMAGINARY_PARTS: [(&str, RealOfZ); 6] = [
    ("Im exp(z)", |z| z.exp().im),
    ("sin(Im z)", |z| z.im.sin()),
    ("Re exp(z)", |z| z.exp().re),
    ("exp(Re z) Im z", |z| z.re.exp() * z.im),
    ("Im z", |z| z.im),
    ("0", |_| 0.0),
];

/// The closed forms of φ₁, φ₂ and φ₃ with an exponential of wrong parts.
#[rstest]
fn of_closed_forms_with_wrong_parts(#[values(1, 2, 3)] k: usize) {
    let pairs = (0..30_usize).map(|i| (i / 6, i % 6));
    // Every third pair, each in one of the three; not the right one.
    let some = pairs.filter(|&(re, im)| (re + im) % 3 == 1).enumerate();
    let wrong = some.filter(|&(i, _)| 1 + i % 3 == k).map(|(_, (re, im))| {
        let ((real, re), (imaginary, im)) = (REAL_PARTS[re], IMAGINARY_PARTS[im]);
        let what = format!("φ{k} of {real} + i {imaginary}");
        with_phi(what, (k, usual(k)), move |z| closed(k, C::new(re(z), im(z)), z))
    });
    recorded("wrong-parts", (method_of(k), Weights::Complex), &wrong.collect::<Vec<_>>());
}

/// Closed forms of φ₃ with wrong numbers, of which a sum of few pieces is none.
#[rstest]
fn of_closed_forms_with_wrong_numbers(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    let all: [(&str, [f64; 4]); 3] = [
        ("exp(z) − 1 − z − z²/3", [1.0, -1.0, -1.0, -1.0 / 3.0]),
        ("2exp(z) − 1 − z − z²/2", [2.0, -1.0, -1.0, -0.5]),
        ("exp(z) − 1 − z − 0.1234567z²", [1.0, -1.0, -1.0, -0.1234567]),
    ];
    let wrong = all.map(|(text, [c, c0, c1, c2])| {
        with_phi(format!("φ₃ of {text}"), (3, 0.5), move |z| {
            (c * z.exp() + c0 + c1 * z + c2 * z * z) / (z * z * z)
        })
    });
    recorded("wrong-numbers", (Method::HighOrder, weights), &wrong);
}

/// What B̄u and Ā have of u and B: all monomials that are looked for, fewer of real numbers, sums of several, and some that
/// are not.
#[rstest]
fn of_other_monomials(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    let of_b: [(&str, OfZ); 5] = [
        ("", |_| C::ONE),
        ("B", |b| b),
        ("B²", |b| b * b),
        ("conj(B)", |b| b.conj()),
        ("|B|²", |b| b.norm_sqr().into()),
    ];
    let (count, step) = if weights == Weights::Real { (3, 2) } else { (5, 1) };
    let all = (0..3_usize).flat_map(|power| (0..count).map(move |i| (power, i))).filter(|&at| at != (1, 1));
    let mut wrong: Vec<Wrong> = all
        .step_by(step)
        .map(|(power, i)| {
            let (text, of) = of_b[i];
            let what = format!("B̄u of {}{text}", ["1·", "u", "u²"][power]);
            Wrong::new(what, move |_, s| {
                let [p0, p1, p2, _] = phi(s.z());
                let h = p1 * s.delta + p2 * (0.5 * s.delta * s.delta);
                [p0, h * of(s.b) * s.u.powi(power as i32)]
            })
        })
        .collect();
    wrong.extend([
        Wrong::new("Ā times B", |own, s| [own(s)[0] * s.b, own(s)[1]]),
        Wrong::new("B̄u + 0.001Δu²", |own, s| [own(s)[0], own(s)[1] + 0.001 * s.delta * s.u * s.u]),
        Wrong::new("B̄u + ΔzB² + u", |own, s| [own(s)[0], own(s)[1] + s.z() * s.delta * s.b * s.b + s.u]),
        Wrong::new("Δφ₁uB + ½Δ²φ₂u²", |_, s| {
            let [p0, p1, p2, _] = phi(s.z());
            let (first, second) = (p1 * s.delta, p2 * (0.5 * s.delta * s.delta));
            [p0, first * s.b * s.u + second * s.u * s.u]
        }),
        Wrong::new("B̄u³", |own, s| [own(s)[0], own(s)[1] * s.u * s.u]),
        Wrong::new("both are 0", |_, _| [C::ZERO; 2]),
    ]);
    recorded("monomials", (Method::Poly, weights), &wrong);
}

/// Powers of Δ, alone and in sums, and powers of A that they come with.
#[test]
fn of_powers_of_the_step() {
    const SUMS: [&[i32]; 4] = [&[-1, 3], &[-2, 0, 2, 4], &[0, 1, 2, 3, 4], &[1, 6]];
    let f = |z: C| phi(z)[2];
    let alone = [-3, -2, 0, 1, 5, 6].map(|power| term(format!("B̄ = Δ^{power} φ₂"), power, f));
    let sums = SUMS.map(|powers| {
        let what = format!("B̄ = Σ Δ^p φ₂, p in {powers:?}");
        b_bar(what, move |delta, z| f(z) * powers.iter().map(|&p| delta.powi(p)).sum::<f64>())
    });
    let mixed = [
        b_bar("B̄ = Aφ₂", move |delta, z| f(z) * z / delta),
        b_bar("B̄ = A²/3", |delta, z| z * z / (3.0 * delta * delta)),
        b_bar("B̄ = Δ − Δ³A²/7 + Δ²", |delta, z| (1.0 - z * z / 7.0) * delta + delta * delta),
        b_bar("B̄ = Δφ₂ + Δ³φ₁ + A/5", move |delta, z| {
            f(z) * delta + phi(z)[1] * delta.powi(3) + z / delta / 5.0
        }),
    ];
    let wrong: Vec<Wrong> = alone.into_iter().chain(sums).chain(mixed).collect();
    recorded("powers-of-the-step", (Method::Foh, Weights::Real), &wrong);
}

/// Factors beside the borders of what is taken for a fraction, a constant, a single number or nothing at all.
#[test]
fn of_factors() {
    let all = [
        ("1 + 0.9·2⁻²⁰", 1.0 + 0.9 / (1 << 20) as f64),
        ("1 + 3.6·2⁻²⁰", 1.0 + 3.6 / (1 << 20) as f64),
        ("1 + 4.4·2⁻²⁰", 1.0 + 4.4 / (1 << 20) as f64),
        ("1/65", 1.0 / 65.0),
        ("1/40320", 1.0 / 40320.0),
        ("1/40321", 1.0 / 40321.0),
        ("1001", 1001.0),
        ("0.166667", 0.166667),
        ("π", PI),
        ("−log₂e", -LOG2_E),
        ("3.9·log₂e", 3.9 * LOG2_E),
        ("4.1·ln 2", 4.1 * LN_2),
        ("1.23456·10⁻⁷", 1.23456e-7),
    ];
    let wrong = all.map(|(text, factor)| {
        Wrong::new(format!("B̄ × {text}"), move |own, s| [own(s)[0], own(s)[1] * factor])
    });
    recorded("factors", (Method::Zoh, Weights::Real), &wrong);
}

/// Terms of a sum that are missing, too many, in each other's places or at another power of Δ, or have a wrong factor.
#[test]
fn of_wrong_terms() {
    type OfStep = fn(f64, [C; 4]) -> C;
    const ALL: &[(&str, OfStep)] = &[
        ("Δφ₁ + Δ²φ₂", |d, [_, p1, p2, _]| p1 * d + p2 * d * d),
        ("Δ²φ₂ + ½Δ³φ₃", |d, [_, _, p2, p3]| p2 * d * d + p3 * 0.5 * d.powi(3)),
        ("Δφ₁ − Δ²φ₂ + ½Δ³φ₃", |d, [_, p1, p2, p3]| {
            p1 * d - p2 * d * d + p3 * 0.5 * d.powi(3)
        }),
        ("Δφ₁ + πΔ²φ₂ + ½Δ³φ₃", |d, [_, p1, p2, p3]| {
            p1 * d + p2 * PI * d * d + p3 * 0.5 * d.powi(3)
        }),
        ("Δφ₁ + Δ²φ₂ + 0.1234567Δ³φ₃", |d, [_, p1, p2, p3]| {
            p1 * d + p2 * d * d + p3 * 0.1234567 * d.powi(3)
        }),
        ("Δφ₁ + Δ⁴φ₂ + ½Δ³φ₃", |d, [_, p1, p2, p3]| {
            p1 * d + p2 * d.powi(4) + p3 * 0.5 * d.powi(3)
        }),
        ("Δφ₁ + Δ²φ₃ + ½Δ³φ₂", |d, [_, p1, p2, p3]| {
            p1 * d + p3 * d * d + p2 * 0.5 * d.powi(3)
        }),
        ("Δφ₂ + Δ²φ₂ + ½Δ³φ₃", |d, [_, _, p2, p3]| p2 * d + p2 * d * d + p3 * 0.5 * d.powi(3)),
        ("Δφ₁ + Δ²/2 + ½Δ³φ₃", |d, [_, p1, _, p3]| p1 * d + p3 * 0.5 * d.powi(3) + d * d / 2.0),
        ("Δφ₁ + Δ²φ₂ + ½Δ³φ₃ + Δ", |d, [_, p1, p2, p3]| {
            p1 * d + p2 * d * d + p3 * 0.5 * d.powi(3) + d
        }),
        ("Δφ₁ + Δφ₂ + Δ²φ₂ + ½Δ³φ₃", |d, [_, p1, p2, p3]| {
            p1 * d + p2 * d + p2 * d * d + p3 * 0.5 * d.powi(3)
        }),
        ("Δ²φ₁ + Δ³φ₂ + ½Δ⁴φ₃", |d, [_, p1, p2, p3]| {
            p1 * d * d + p2 * d.powi(3) + p3 * 0.5 * d.powi(4)
        }),
    ];
    let wrong = ALL.iter().map(|&(text, f)| b_bar(format!("B̄ = {text}"), move |delta, z| f(delta, phi(z))));
    recorded("terms", (Method::HighOrder, Weights::Real), &wrong.collect::<Vec<_>>());
}

/// Series that are cut in a place, which is chosen by |z| or by something else: those of all φ-functions together, or of one
/// alone, or each after another order. 0 is whole.
#[test]
fn of_series_in_a_place() {
    type Place = (&'static str, fn(f64, C) -> bool);
    let places: [(Place, [usize; 3]); 6] = [
        (("|z| < 2", |_, z| z.norm() < 2.0), [6, 6, 6]),
        (("|z| < 5", |_, z| z.norm() < 5.0), [12, 12, 12]),
        (("|Re z| + |Im z| < 3", |_, z| z.re.abs() + z.im.abs() < 3.0), [8, 0, 0]),
        (("Δ < 0.5", |delta, _| delta < 0.5), [0, 6, 0]),
        (("|A| < 2", |delta, z| z.norm() < 2.0 * delta), [0, 0, 7]),
        (("Re z > −3", |_, z| z.re > -3.0), [6, 7, 8]),
    ];
    let wrong = places.map(|((text, is_there), orders)| {
        b_bar(format!("cut at orders {orders:?} where {text}"), move |delta, z| {
            let of_phi = |k: usize| match orders[k - 1] {
                0 => phi(z)[k],
                _ if !is_there(delta, z) => phi(z)[k],
                order => cut(k, order - k, z),
            };
            of_phi(1) * delta + of_phi(2) * delta * delta + of_phi(3) * (0.5 * delta * delta * delta)
        })
    });
    recorded("cut-in-a-place", (Method::HighOrder, Weights::Complex), &wrong);
}

/// The same where the function is wrong elsewhere, too.
#[test]
fn of_series_in_a_place_beside_what_is_wrong() {
    let wrong = [
        term("B̄ = 3Δ²φ₂, cut after z⁴ where |z| < 2", 2, |z| {
            3.0 * if z.norm() < 2.0 { cut(2, 4, z) } else { phi(z)[2] }
        }),
        term("B̄ = Δ²φ₁, cut after z⁵ where |z| < 2", 2, |z| {
            if z.norm() < 2.0 { cut(1, 5, z) } else { phi(z)[1] }
        }),
        term("B̄ = Δ²φ₂, cut after z³³ where Re z < −12", 2, |z| {
            if z.re < -12.0 { cut(2, 33, z) } else { phi(z)[2] }
        }),
        term("B̄ = Δ²φ₂, cut after z³⁰ where Re z < −12", 2, |z| {
            if z.re < -12.0 { cut(2, 30, z) } else { phi(z)[2] }
        }),
    ];
    recorded("cut-beside", (Method::Foh, Weights::Real), &wrong);
}

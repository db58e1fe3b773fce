//! Promise: what a step function computes is said as a formula, with what is different from the specified one, and nothing
//! is said of a right one.

use std::f64::consts::{LN_2, LOG2_E, PI};

use holdfast::formula::Function;
use holdfast::judge::diagnose::Work;
use holdfast::judge::model::{function, phi};
use holdfast::judge::reconstruct::{Reconstruction, identify, text};
use holdfast::method::Method;
use holdfast::problem::Weights;
use holdfast::problem::elements::Elements;
use holdfast::program::complex::{Powers, Product};
use holdfast::tensor::Coefficients;
use num_complex::Complex64 as C;

use crate::cases::{crossed, each};

/// Ā and B̄u of one element: Δ, A, B and u.
type Step = fn(f64, C, C, f64) -> [C; 2];

fn found(method: Method, weights: Weights, step: Step) -> Option<Reconstruction> {
    found_of(method, weights, &step)
}

/// What is found of a step function.
pub fn found_of(
    method: Method,
    weights: Weights,
    step: &(dyn Fn(f64, C, C, f64) -> [C; 2] + Sync),
) -> Option<Reconstruction> {
    found_by((method, weights), step, &Work::default())
}

/// The same, as far as the work goes.
fn found_by(
    (method, weights): (Method, Weights),
    step: &(dyn Fn(f64, C, C, f64) -> [C; 2] + Sync),
    work: &Work,
) -> Option<Reconstruction> {
    let evaluate = |elements: &Elements| {
        let problem = &elements.coefficients;
        let width = weights.width();
        let at = |values: &[f32], i: usize| match weights {
            Weights::Real => C::from(f64::from(values[i])),
            Weights::Complex => C::new(values[2 * i].into(), values[2 * i + 1].into()),
        };
        let (mut a_bar, mut b_bar) = (Vec::new(), Vec::new());
        for i in 0..problem.delta.len() {
            let u = f64::from(elements.u[i]);
            let [a, b] = step(problem.delta[i].into(), at(&problem.a, i), at(&problem.b, i), u);
            a_bar.extend(&[a.re, a.im][..width]);
            b_bar.extend(&[b.re, b.im][..width]);
        }
        Some(Coefficients { a_bar, b_bar })
    };
    identify(method, weights, &evaluate, work)
}

#[test]
fn what_is_ended_says_nothing_and_what_is_not_says_the_same() {
    // What is wrong with Ā is found at once, and with B̄ far from the origin much later.
    let step = |delta: f64, a: C, b: C, u: f64| {
        let [a_bar, b_bar] = right(Method::Foh, delta, a, b, u);
        [a_bar * 1.5, if (a * delta).norm() > 3.0 { b_bar * 0.75 } else { b_bar }]
    };
    let said =
        |work: &Work| found_by((Method::Foh, Weights::Complex), &step, work).map(|found| found.whole());
    let whole = Work::default();
    let told = said(&whole);
    assert!(told.is_some() && !whole.is_cut());
    for eighths in 0..=9 {
        let part = Work::default().up_to(whole.done() * eighths / 8);
        assert_eq!(said(&part), told.clone().filter(|_| !part.is_cut()), "{eighths} of 8");
        assert_eq!(part.is_cut(), eighths < 8, "{eighths} of 8");
    }
}

/// The specified step.
pub fn right(method: Method, delta: f64, a: C, b: C, u: f64) -> [C; 2] {
    let z = a * delta;
    let of = |of| function(of, z, &phi(z));
    let [p1, p2, p3] = [1, 2, 3].map(|k| of(Function::Phi(k)));
    let sum = match method {
        Method::Zoh => delta.into(),
        Method::Foh => p2 * delta * delta,
        Method::Bilinear => delta / (1.0 - z / 2.0),
        Method::Poly => p1 * delta + p2 * (0.5 * delta * delta),
        Method::HighOrder => p1 * delta + p2 * delta.powi(2) + p3 * (0.5 * delta.powi(3)),
        Method::Rk4 => (1.0 + z / 2.0 + z * z / 6.0 + z * z * z / 24.0) * delta,
    };
    let a_bar = if method == Method::Bilinear { (1.0 + z / 2.0) / (1.0 - z / 2.0) } else { z.exp() };
    [a_bar, sum * b * u]
}

fn right_of<const M: usize>(delta: f64, a: C, b: C, u: f64) -> [C; 2] {
    right(Method::ALL[M], delta, a, b, u)
}

#[test]
fn of_a_right_step_nothing_is_said() {
    each(
        crossed([Weights::Real, Weights::Complex], [0, 1, 2, 3, 4, 5]),
        |(weights, method): (Weights, usize)| {
            let steps: [Step; 6] =
                [right_of::<0>, right_of::<1>, right_of::<2>, right_of::<3>, right_of::<4>, right_of::<5>];
            let said = found(Method::ALL[method], weights, steps[method]);
            assert!(said.is_none(), "{said:?}");
        },
    );
}

/// A right φ₂ whose closed form loses digits near 0, and whose factors are as coarse as single ones.
#[test]
fn rounding_is_no_formula() {
    let said = found(Method::Foh, Weights::Real, |delta: f64, a: C, b: C, u: f64| {
        let z = a * delta;
        let phi2 = if z == C::ZERO { C::from(0.5) } else { (z.exp() - 1.0 - z) / (z * z) };
        [z.exp(), phi2 * (f64::from(1.0f32 / 3.0) * 3.0 * delta * delta) * b * u]
    });
    assert!(said.is_none(), "{said:?}");
}

/// What is wrong with a step, what must be said of it, and the fault model's name where there is one.
type Case = (&'static str, Method, Weights, Step, &'static str, &'static [&'static str]);

/// Each is wrong in one thing or two.
#[rustfmt::skip]
const CASES: [Case; 38] = [
        ("cut everywhere", Method::Poly, Weights::Real, |delta, a, b, u| {
            let sum = delta + a * delta.powi(2) / 2.0 + a * a * delta.powi(3) / 6.0 + 0.5 * delta * delta * (0.5 + a * delta / 6.0);
            [(a * delta).exp(), sum * b * u]
        }, "b-bar-formula", &["B̄ computes Δ + Δ²A/2 + Δ³A²/6 + Δ²/4 + Δ³A/12", "all terms from Δ⁴ on are missing"]),
        ("another factor", Method::Poly, Weights::Complex, |delta, a, b, u| {
            let phi = phi(a * delta);
            [phi[0], (phi[1] * delta + phi[2] * delta * delta / 6.0) * b * u]
        }, "b-bar-formula", &["½Δ²φ₂ is multiplied by 1/3"]),
        ("wrong term", Method::Rk4, Weights::Real, |delta, a, b, u| {
            let z = a * delta;
            [z.exp(), (1.0 + z / 2.0 + z * z / 3.0 + z * z * z / 24.0) * delta * b * u]
        }, "b-bar-formula", &["B̄ computes Δ + Δ²A/2 + Δ³A²/3 + Δ⁴A³/24; specified Δ + Δ²A/2 + Δ³A²/6 + Δ⁴A³/24; Δ³A²/3 in place of Δ³A²/6"]),
        ("u missing", Method::HighOrder, Weights::Real, |delta, a, b, u| {
            let phi = phi(a * delta);
            [phi[0], (phi[1] * delta * u + phi[2] * delta.powi(2) + phi[3] * (0.5 * delta.powi(3)) * u) * b]
        }, "b-bar-formula", &["Δ²φ₂·B in place of Δ²φ₂"]),
        ("b conjugated", Method::Foh, Weights::Complex, |delta, a, b, u| {
            let phi = phi(a * delta);
            [phi[0], phi[2] * delta * delta * b.conj() * u]
        }, "b-bar-formula", &["B̄u is right times u conj(B) in place of u B"]),
        ("exponent", Method::Zoh, Weights::Complex, |delta, a, b, u| {
            [C::new(delta * a.re, 0.75 * delta * a.im).exp(), delta * b * u]
        }, "a-bar-formula", &["Ā computes exp(Re z + 3/4·i Im z)", "the exponent's imaginary part has the factor 3/4"]),
        ("pade", Method::Zoh, Weights::Real, |delta, a, b, u| {
            let z = a * delta;
            [(1.0 + z / 2.0 + z * z / 12.0) / (1.0 - z / 2.0 + z * z / 12.0), delta * b * u]
        }, "a-bar-formula", &["Ā computes (1 + z/2 + z²/12)/(1 − z/2 + z²/12)"]),
        ("nan", Method::Foh, Weights::Real, |delta, a, b, u| {
            let phi = phi(a * delta);
            [phi[0], if a == C::ZERO { C::from(f64::NAN) } else { phi[2] * delta * delta * b * u }]
        }, "b-bar-formula", &["B̄ is NaN where A = 0"]),
        ("guard", Method::Foh, Weights::Complex, |delta, a, b, u| {
            let phi = phi(a * delta);
            [phi[0], if delta < 1e-3 { C::from(delta) } else { phi[2] * delta * delta } * b * u]
        }, "b-bar-formula", &["B̄ is Δ where Δ < 0.001"]),
        ("branch", Method::Foh, Weights::Real, |delta, a, b, u| {
            let z = a * delta;
            let phi2 = if z.norm() < 0.3 { 0.5 + z / 6.0 } else { phi(z)[2] };
            [z.exp(), phi2 * delta * delta * b * u]
        }, "b-bar-formula", &["B̄ is Δ²/2 + Δ³A/6 where |z| < 0.3"]),
        ("a log", Method::Zoh, Weights::Real, |delta, a, b, u| [(-a.exp() * delta).exp(), delta * b * u], "a-bar-formula", &[
            "Ā is the specified one with −exp(A) in the place of A"
        ]),
        ("wrong branch", Method::Poly, Weights::Real, |delta, a, b, u| {
            let z = a * delta;
            let [p0, p1, p2, _] = phi(z);
            let p2 = if z.norm() <= 2.0 { p2 - z / 24.0 } else { p2 };
            [p0, (p1 * delta + p2 * (0.5 * delta * delta)) * b * u]
        }, "b-bar-formula", &["B̄ is Δφ₁ + ½Δ²φ₂ − Δ³A/48 where |z| < 2"]),
        ("conjugate below", Method::Bilinear, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            [(1.0 + z / 2.0) / (1.0 - z.conj() / 2.0), b * u * delta / (1.0 - z.conj() / 2.0)]
        }, "a-bar-formula + b-bar-formula", &["Ā computes (1 + z/2)/(1 − conj(z)/2)", "B̄ computes Δ/(1 − conj(z)/2)"]),
        ("interleaved", Method::Zoh, Weights::Complex, |delta, a, b, u| {
            let (a_bar, b_bar) = ((a * delta).exp(), b * u * delta);
            [C::new(a_bar.re, b_bar.re), C::new(a_bar.im, b_bar.im)]
        }, "a-bar-formula + b-bar-formula", &["Re B̄u in the place of Im Ā, Im Ā in the place of Re B̄u"]),
        ("exchanged with a sign", Method::Zoh, Weights::Complex, |delta, a, b, u| {
            let (a_bar, b_bar) = ((a * delta).exp(), b * u * delta);
            [a_bar, C::new(-b_bar.im, b_bar.re)]
        }, "a-bar-formula + b-bar-formula", &["−Im B̄u in the place of Re B̄u"]),
        ("one term more", Method::HighOrder, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            let p = phi(z);
            let phi4 = if z.norm() < 1e-3 { 1.0 / 24.0 + z / 120.0 } else { (p[3] - 1.0 / 6.0) / z };
            [p[0], (p[1] * delta + p[2] * delta.powi(2) + p[3] * (0.5 * delta.powi(3)) + phi4 * (delta.powi(4) / 6.0)) * b * u]
        }, "b-bar-formula", &["(1/6)Δ⁴φ₄ is too much"]),
        ("fallback", Method::Bilinear, Weights::Real, |delta, a, b, u| {
            let z = a * delta;
            if delta < 2e-3 { [1.0 + z, delta * b * u] } else { right(Method::Bilinear, delta, a, b, u) }
        }, "a-bar-formula + b-bar-formula", &["Ā is 1 + ΔA where Δ < 0.002", "B̄ is Δ where Δ < 0.002"]),
        ("branch by sum", Method::Foh, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            let phi2 = if z.re.abs() + z.im.abs() < 0.25 { 0.5 + z / 6.0 } else { phi(z)[2] };
            [z.exp(), phi2 * delta * delta * b * u]
        }, "b-bar-formula", &["B̄ is Δ²/2 + Δ³A/6 where |Re z| + |Im z| < 0.25"]),
        ("another method", Method::Foh, Weights::Complex, |delta, a, b, u| right(Method::Bilinear, delta, a, b, u), "a-bar-formula + b-bar-formula", &[
            "Ā computes (1 + z/2)/(1 − z/2); specified exp(z)", "B̄ computes Δ/(1 − z/2); specified Δ²φ₂"
        ]),
        ("product", Method::Foh, Weights::Complex, |delta, a, b, u| {
            let f = phi(a * delta)[2] * delta * delta;
            [(a * delta).exp(), C::new(f.re * b.re + f.im * b.im, f.re * b.im + f.im * b.re) * u]
        }, "b-bar-formula", &["Re(Δ²φ₂) + (i Im(Δ²φ₂))·u conj(B)"]),
        ("divided once more", Method::Foh, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            [z.exp(), phi(z)[2] / a * delta * b * u]
        }, "b-bar-formula", &["B̄ computes Δφ₂/A; specified Δ²φ₂"]),
        ("expm1 of parts", Method::Poly, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            // Without what cos loses to 1.
            let above = C::new(z.re.exp_m1() * z.im.cos(), z.re.exp() * z.im.sin());
            let phi1 = if z == C::ZERO { C::ONE } else { above / z };
            [z.exp(), (phi1 * delta + phi(z)[2] * (0.5 * delta * delta)) * b * u]
        }, "b-bar-formula", &["B̄ computes (exp(z) − cos(Im z))/A + ½Δ²φ₂"]),
        ("scaled in one part", Method::Foh, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            let scaled = C::new(z.re * std::f64::consts::LOG2_E, z.im);
            [z.exp(), phi(scaled)[2] * delta * delta * b * u]
        }, "b-bar-formula", &["B̄ computes Δ²φ₂(log₂e·Re z + i Im z)"]),
        ("exponent held", Method::Zoh, Weights::Real, |delta, a, b, u| {
            [(a * delta).re.max(-5.0).exp().into(), b * u * delta]
        }, "a-bar-formula", &["Ā is taken with Re z held at -5 where Re z < -5"]),
        ("step held in one", Method::HighOrder, Weights::Complex, |delta, a, b, u| {
            let [_, b_bar] = right(Method::HighOrder, delta.max(0.01), a, b, u);
            [(a * delta).exp(), b_bar]
        }, "b-bar-formula", &["B̄ is taken with Δ held at 0.01 where Δ < 0.01"]),
        ("one of three cut", Method::HighOrder, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            let p = phi(z);
            let p3 = if z.re.abs().max(z.im.abs()) < 0.5 { 1.0 / 6.0 + z / 24.0 } else { p[3] };
            [p[0], (p[1] * delta + p[2] * delta.powi(2) + p3 * (0.5 * delta.powi(3))) * b * u]
        }, "b-bar-formula", &["B̄ is Δφ₁ + Δ²φ₂ + ½Δ³φ₃ (cut after its term in z) where max(|Re z|, |Im z|) < 0.5"]),
        ("asymptote", Method::Foh, Weights::Real, |delta, a, b, u| {
            let z = a * delta;
            let phi2 = if z.re < -6.0 { 1.0 / z } else { phi(z)[2] };
            [z.exp(), phi2 * delta * delta * b * u]
        }, "b-bar-formula", &["B̄ is Δ/A where Re z < -6"]),
        ("divided by the modulus", Method::Foh, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            let square = z * z;
            // |z²| in place of |z²|².
            let phi2 = if z.norm() < 1e-3 { C::ZERO } else { phi(z)[2] * square * square.conj() / square.norm() };
            [z.exp(), phi2 * delta * delta * b * u]
        }, "b-bar-formula", &["[conj(w)/(|w|) with w = z²]"]),
        ("wrong modulus", Method::Bilinear, Weights::Complex, |delta, a, b, u| {
            let below = 1.0 - a * delta / 2.0;
            // |1 − z/2|² with twice the square of its imaginary part.
            let inverse = below.conj() / (below.re.powi(2) + 2.0 * below.im.powi(2));
            [(1.0 + a * delta / 2.0) * inverse, b * u * delta * inverse]
        }, "a-bar-formula + b-bar-formula", &["Im(z)²/2 in place of Im(z)²/4"]),
        ("guarded twice", Method::Foh, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            let inverse = z.conj() / (z.norm_sqr() + 0.005);
            let phi2 = if z.norm() < 0.25 { phi(z)[2] } else { ((z.exp() - 1.0) * inverse - 1.0) * inverse };
            [z.exp(), phi2 * delta * delta * b * u]
        }, "b-bar-formula", &["|z|² + 0.005"]),
        ("step twice", Method::Bilinear, Weights::Real, |delta, a, b, u| {
            let z = a * delta;
            [(1.0 + z / 2.0) / (1.0 - z / 2.0), b * u * delta / (1.0 - z * delta / 2.0)]
        }, "b-bar-formula", &["B̄ is the specified one with Δ²A in the place of z"]),
        ("modulus", Method::Poly, Weights::Real, |delta, a, b, u| right(Method::Poly, delta, -a.re.abs() * C::ONE, b, u), "a-bar-formula + b-bar-formula", &[
            "Ā is taken with −A in the place of A where Re A > 0", "B̄ is taken with −A in the place of A where Re A > 0"
        ]),
        ("base two", Method::Zoh, Weights::Real, |delta, a, b, u| {
            let of_two = (a * delta).re / LN_2;
            let r = of_two - of_two.round();
            [(of_two.round().exp2() * (1.0 + r * (0.7 + r * 0.25))).into(), delta * b * u]
        }, "a-bar-formula", &["2ᵏ(1 + 7r/10 + r²/4) with k = round(z/ln 2) and r = z/ln 2 − k"]),
        ("short ln 2", Method::Zoh, Weights::Real, |delta, a, b, u| {
            let z = (a * delta).re;
            let k = (z / LN_2).floor();
            [(k.exp2() * (z - k * 0.693).exp()).into(), delta * b * u]
        }, "a-bar-formula", &["2ᵏ·exp(z − 0.693·k) with k = floor(Re z/ln 2)"]),
        ("short period", Method::Zoh, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            [(z - C::I * (6.3 * (z.im / 6.3).round())).exp(), delta * b * u]
        }, "a-bar-formula", &["exp(z − 6.3·ik) with k = round(Im z/6.3)"]),
        ("unknown", Method::Foh, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            let factor = if z.norm() < 0.5 { 1.0 + 0.01 * (9.0 * z.norm()).cos() } else { 1.0 };
            [z.exp(), phi(z)[2] * factor * delta * delta * b * u]
        }, "off-in-a-region", &["B̄ is another function than elsewhere where |z| < 0.5"]),
        ("series of one length", Method::Poly, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            let series = |k: usize| (0..=20).rev().fold(C::ZERO, |sum, j| sum * z + Function::Phi(k).coefficient(j));
            let phis = if z.re.abs() < 1.0 { [series(1), series(2)] } else { [phi(z)[1], phi(z)[2]] };
            [z.exp(), (phis[0] * delta + phis[1] * (0.5 * delta * delta)) * b * u]
        }, "b-bar-formula", &["B̄ is Δφ₁ (cut after its term in z²⁰) + ½Δ²φ₂ (cut after its term in z²⁰) where |Re z| < 1"]),
        ("expm1 of a whole angle", Method::Poly, Weights::Complex, |delta, a, b, u| {
            let z = a * delta;
            // 2 sin² of the angle, where that of its half is right.
            let re = z.re.exp_m1() * z.im.cos() - 2.0 * z.im.sin().powi(2);
            let phi1 = if z == C::ZERO { C::ONE } else { C::new(re, z.re.exp() * z.im.sin()) / z };
            [z.exp(), (phi1 * delta + phi(z)[2] * (0.5 * delta * delta)) * b * u]
        }, "b-bar-formula", &["B̄ computes (exp(z) − 1 − cos(Im z) + cos(2 Im z))/A + ½Δ²φ₂"]),
];

fn is_said(cases: impl IntoIterator<Item = Case>) {
    each(cases, |(_, method, weights, step, name, said)| {
        let found = found(method, weights, step).expect("something is wrong").whole();
        assert_eq!(found.name, name, "{}", found.what);
        for part in said {
            assert!(found.what.contains(part), "{part}: {}", found.what);
        }
    });
}

#[test]
fn what_is_computed_is_said_of_one_in_three() {
    is_said(CASES.into_iter().step_by(3));
}

#[test]
#[ignore = "`cargo test` tries one step in three: .ci/long"]
fn what_is_computed_is_said() {
    is_said(CASES);
}

/// What differs more and more with z has no border, and nothing is said of where it is.
fn has_no_region(weights: Weights) {
    let said = found(Method::Foh, weights, |delta: f64, a: C, b: C, u: f64| {
        let z = a * delta;
        [z.exp(), phi(z)[2] * (1.0 + 1e-5 * z.norm_sqr().sqrt().sin()) * delta * delta * b * u]
    });
    assert!(said.is_none(), "{said:?}");
}

#[test]
fn what_is_off_by_degrees_has_no_region() {
    has_no_region(Weights::Complex);
}

#[test]
#[ignore = "`cargo test` tries complex weights: .ci/long"]
fn what_is_off_by_degrees_has_no_region_in_real_weights() {
    has_no_region(Weights::Real);
}

/// What is said of a wrong z² is what is computed, and nothing is said of higher powers first.
#[test]
fn the_text_of_a_wrong_square_is_what_it_computes() {
    let z = C::new(0.75, -1.25);
    let (re, im) = (z.re, z.im);
    for product in Product::WRONG {
        let said = match product.square() {
            "Re(z)² + i Im(z)²" => C::new(re * re, im * im),
            "Re(z)² + Im(z)² + 2i Re(z) Im(z)" => C::new(re * re + im * im, 2.0 * re * im),
            "Re(z)² − Im(z)² + i Re(z) Im(z)" => C::new(re * re - im * im, re * im),
            "Re(z)² − Im(z)²" => C::from(re * re - im * im),
            "r + i(r + Re(z)) Im(z), with r = Re(z)² − Im(z)²" => {
                let r = re * re - im * im;
                C::new(r, (r + re) * im)
            }
            "|z|²" => C::from(z.norm_sqr()),
            text => panic!("unknown: {text}"),
        };
        assert!((product.of(z, z) - said).norm() <= 1e-15, "{product:?}: {}", product.square());
    }
    assert!(!Powers::wrong().next().expect("there are some").text().contains("higher"));
}

/// Constants by their names, fractions as such, and all else by its digits.
#[test]
fn a_number_is_said_as_it_was_meant() {
    let cases: [(f64, &str); 9] = [
        (LN_2, "ln 2"),
        (-LOG2_E, "−log₂e"),
        (PI, "π"),
        (1.0 / 3.0, "1/3"),
        (-4.0, "−4"),
        (0.7 * LN_2, "0.7·ln 2"),
        (-1.003 * LOG2_E, "−1.003·log₂e"),
        (0.123456789, "0.123457"),
        (1.23456789e-5, "1.23457e−5"),
    ];
    each(cases, |(value, said)| {
        assert_eq!(text::number(value), said);
    });
}

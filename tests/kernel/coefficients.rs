//! The accuracy contract of `kernels/discretize.cuh`: for |z| ≤ 80, Ā and B̄ are within `Contract::PRODUCTION` of what
//! spec.md §2 says for exactly the given f32 Δ, A, B; and the limits beyond.
//!
//! The values compared with are computed in f64, where z = ΔA is exact, in forms that lose at most some 2⁻²⁷ even near
//! the complex zeros that f32 inputs can reach. They are a check of the kernels, not the harness's certified truth.

use std::f64::consts::{FRAC_PI_2, LN_2};

use holdfast::formula::{Function, Term, Transition};
use holdfast::judge::budget::complex_at;
use holdfast::judge::coefficient;
use holdfast::kernel::{Backend, Coefficients, CpuBackend, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, Weights, sweep};
use holdfast::promise::Contract;
use holdfast::results::Verdict;
use holdfast::truth;
use num_complex::Complex64;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

use crate::support::problems::generator;

/// Elements drawn per method and weight type.
const SAMPLES: usize = 40_000;
/// What contracts are in.
const UNIT: f64 = 1.0 / 16_777_216.0;

/// (Δ, A, B)
type Element = (f32, [f32; 2], [f32; 2]);

fn exp_m1(z: Complex64) -> Complex64 {
    let half = (0.5 * z.im).sin();
    Complex64::new(z.re.exp_m1() * z.im.cos() - 2.0 * half * half, z.re.exp() * z.im.sin())
}

/// φ₁, φ₂, φ₃, by the Taylor series of φ₃ where the closed form would lose more than 2⁻⁴⁸.
fn phi(z: Complex64) -> [Complex64; 3] {
    if z.norm() < 2.0 {
        let phi3 = (4..36).rev().fold(Complex64::from(1.0), |p, k| p * z / f64::from(k) + 1.0) / 6.0;
        let phi2 = z * phi3 + 0.5;
        [z * phi2 + 1.0, phi2, phi3]
    } else {
        let phi1 = exp_m1(z) / z;
        let phi2 = (phi1 - 1.0) / z;
        [phi1, phi2, (phi2 - 0.5) / z]
    }
}

/// The roots of 24 + 12z + 4z² + z³ with Im z ≥ 0, each in two f64s.
const ROOTS: [[Complex64; 2]; 2] = [
    [Complex64::new(-2.785_293_563_405_282, 0.0), Complex64::new(1.568_465_399_491_107_1e-16, 0.0)],
    [
        Complex64::new(-0.607_353_218_297_359_2, 2.871_899_728_219_912_4),
        Complex64::new(3.259_903_248_796_029e-17, -1.742_578_634_856_793_7e-16),
    ],
];

/// 24 + 12z + 4z² + z³; near a root, which elements can reach to 2⁻⁴⁸ (real) and 2⁻²⁶, as (z − root)(z² + …).
fn rk4_polynomial(z: Complex64) -> Complex64 {
    if z.im < 0.0 {
        return rk4_polynomial(z.conj()).conj();
    }
    for [root, rest] in ROOTS {
        if (z - root).norm() < 0.1 {
            let quotient = (z + 4.0 + root) * z + 12.0 + root * (4.0 + root);
            return (z - root - rest) * quotient;
        }
    }
    ((z + 4.0) * z + 12.0) * z + 24.0
}

/// Numerator over 96 of B̄/B at A = 0, Δ = ½ (spec.md §2 with φₖ(0) = 1/k!).
pub fn step_in_96ths(method: Method) -> i64 {
    let sum = 96.0 * sum(method, 0.5, Complex64::ZERO).re;
    assert_eq!(sum, sum.round(), "{method}");
    sum as i64
}

/// B̄/B, term by term of the formula: what is tried here is how accurate the kernels are, and not which formula is theirs.
fn sum(method: Method, delta: f64, z: Complex64) -> Complex64 {
    let phis = phi(z);
    let value = |term: &Term| {
        let function = match term.of {
            Function::Phi(0) => z.exp(),
            Function::Phi(k) => phis[k - 1],
            Function::Power(k) => z.powu(k as u32),
            Function::Resolvent(alpha) => 1.0 / (1.0 - z * alpha.value()),
        };
        function * (term.factor.value() * delta.powi(term.delta))
    };
    method.formula().now().iter().map(value).sum()
}

/// Ā and B̄ of spec.md §2.
fn exact(method: Method, (delta, a, b): Element) -> [Complex64; 2] {
    let delta = f64::from(delta);
    let z = Complex64::new(delta * f64::from(a[0]), delta * f64::from(a[1]));
    let b = Complex64::new(f64::from(b[0]), f64::from(b[1]));
    let formula = method.formula();
    let a_bar = match formula.a_bar {
        Transition::Exponential => Complex64::from_polar(z.re.exp(), z.im),
        Transition::Quotient(alpha) => (1.0 + z * alpha.complement().value()) / (1.0 - z * alpha.value()),
        Transition::Polynomial(factors) => {
            factors.iter().rev().fold(Complex64::ZERO, |sum, factor| sum * z + factor.value())
        }
    };
    // The roots of this one are within reach.
    let is_rk4 = formula.now() == Method::Rk4.formula().now();
    [a_bar, b * if is_rk4 { rk4_polynomial(z) / 24.0 * delta } else { sum(method, delta, z) }]
}

/// Error of a coefficient over its modulus, in units of 2⁻²⁴; parts in the subnormal range may be off by half a
/// subnormal each.
fn units(got: Complex64, want: Complex64) -> f64 {
    if want.norm() > f64::from(f32::MAX) {
        // Real ones are infinite with their sign; of a complex one either part may still be finite.
        let overflows = want.im != 0.0 || got.re == f64::INFINITY.copysign(want.re);
        return if overflows { 0.0 } else { f64::INFINITY };
    }
    let subnormal = 2f64.powi(-149) / if want.im == 0.0 { 2.0 } else { 1.0 };
    let error = (got - want).norm();
    if error <= subnormal {
        return 0.0;
    }
    let units = (error - subnormal) / (want.norm() * UNIT);
    if units.is_nan() { f64::INFINITY } else { units }
}

fn problem(weights: Weights, elements: &[Element]) -> CoefficientProblem {
    let parts = |value: &[f32; 2]| value[..weights.width()].to_vec();
    CoefficientProblem {
        weights,
        delta: elements.iter().map(|e| e.0).collect(),
        a: elements.iter().flat_map(|e| parts(&e.1)).collect(),
        b: elements.iter().flat_map(|e| parts(&e.2)).collect(),
    }
}

fn compute(method: Method, weights: Weights, elements: &[Element]) -> Coefficients {
    CpuBackend::new().coefficients(method, &problem(weights, elements)).expect("it runs")
}

/// The largest error in Ā and in B̄, in units of 2⁻²⁴; panics with the element where one is beyond the contract.
fn worst(method: Method, weights: Weights, elements: &[Element]) -> [f64; 2] {
    let contract = Contract::PRODUCTION;
    let limits = [contract.a_bar_error(method, weights) / UNIT, contract.b_bar_error(method, weights) / UNIT];
    let got = compute(method, weights, elements);
    let mut worst = [0.0f64; 2];
    for (i, &element) in elements.iter().enumerate() {
        let want = exact(method, element);
        for (k, values) in [&got.a_bar, &got.b_bar].into_iter().enumerate() {
            let error = units(complex_at(weights, values, i * weights.width()), want[k]);
            assert!(
                error <= limits[k],
                "{method}, {weights}: {} is off by {error} (limit {}) at delta, A, B = {element:?}, want {:e}",
                ["a_bar", "b_bar"][k],
                limits[k],
                want[k]
            );
            worst[k] = worst[k].max(error);
        }
    }
    worst
}

fn log_uniform(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    rng.random_range(low.ln()..high.ln()).exp()
}

/// Steps of every size that training produces, and far beyond.
fn step(rng: &mut ChaCha8Rng) -> f32 {
    match rng.random_range(0..4) {
        0 => log_uniform(rng, 1e-9, 10.0) as f32,
        1 => log_uniform(rng, 1e-30, 1e4) as f32,
        2 => 1.0,
        _ => log_uniform(rng, 1e-3, 1.0) as f32,
    }
}

fn weight(rng: &mut ChaCha8Rng) -> f32 {
    match rng.random_range(0..4) {
        0 => 1.0,
        1 => log_uniform(rng, 1e-12, 1e12) as f32,
        _ => rng.random_range(-3.0..3.0),
    }
}

/// A = z/Δ and up to two units in the last place beside it, unless the product leaves |z| ≤ 80.
fn element_at(rng: &mut ChaCha8Rng, delta: f32, z: Complex64, weights: Weights) -> Option<Element> {
    let mut part = |z: f64| {
        let a = (z / f64::from(delta)) as f32;
        if a == 0.0 { a } else { f32::from_bits(a.to_bits() + rng.random_range(0..3)) }
    };
    let a = [part(z.re), if weights == Weights::Complex { part(z.im) } else { 0.0 }];
    let size = f64::from(delta) * f64::from(a[0]).hypot(f64::from(a[1]));
    let b = [weight(rng), if weights == Weights::Complex { weight(rng) } else { 0.0 }];
    // On bilinear's pole itself there is no value.
    let on_pole = f64::from(delta) * f64::from(a[0]) == 2.0 && a[1] == 0.0;
    (!on_pole && size <= 80.0 && a[0].abs() < 1e37 && a[1].abs() < 1e37).then_some((delta, a, b))
}

/// Where real coefficients are hard: 0, rk4's real root, the pole and the zero of bilinear, ±½ ln 2 and ±1 (thresholds of
/// the implementation), where e^z becomes small against 1, the ends of the range.
const REAL_PLACES: [f64; 14] = [
    1e-7,
    -2.785_293_563_405_282,
    2.0,
    -2.0,
    1.0,
    -1.0,
    0.346_573_6,
    -0.346_573_6,
    -16.6,
    -39.5,
    -57.0,
    79.999,
    -79.999,
    0.5,
];

fn real_elements(rng: &mut ChaCha8Rng) -> Vec<Element> {
    let mut elements = Vec::with_capacity(SAMPLES);
    while elements.len() < SAMPLES {
        let sign = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
        let z = match rng.random_range(0..5) {
            0 => rng.random_range(-80.0..80.0),
            1 => sign * log_uniform(rng, 1e-9, 80.0),
            2 => rng.random_range(-3.0..3.0),
            _ => {
                REAL_PLACES[rng.random_range(0..REAL_PLACES.len())]
                    * (1.0 + sign * log_uniform(rng, 1e-8, 0.1))
            }
        };
        let delta = step(rng);
        elements.extend(element_at(rng, delta, Complex64::from(z), Weights::Real));
    }
    elements
}

#[test]
fn real_coefficients_keep_the_contract() {
    let mut rng = generator("real_coefficients_keep_the_contract");
    for method in Method::ALL {
        let [a_bar, b_bar] = worst(method, Weights::Real, &real_elements(&mut rng));
        println!("{method}, real: a_bar {a_bar:.3}, b_bar {b_bar:.3} units of 2^-24");
        assert!(a_bar > 0.3 && b_bar > 0.3, "nothing rounds: the measurement is broken");
    }
}

/// A complex zero of B̄/B as a function of z with |z| < 75, by Newton's method from a random place: where f32 cancels.
fn zero_of_factor(rng: &mut ChaCha8Rng, method: Method, delta: f64) -> Option<Complex64> {
    let factor = |z| sum(method, delta, z) / delta;
    let mut z = Complex64::new(rng.random_range(-2.0..12.0), rng.random_range(0.0..70.0));
    for _ in 0..40 {
        let f = factor(z);
        let slope = (factor(z + 1e-6) - factor(z - 1e-6)) / 2e-6;
        z -= f / slope;
        if z.is_nan() || z.norm() > 75.0 {
            return None;
        }
    }
    (factor(z).norm() < 1e-9).then_some(z)
}

fn complex_elements(rng: &mut ChaCha8Rng, method: Method) -> Vec<Element> {
    let mut zeros = Vec::new();
    for _ in 0..400 {
        let delta = if rng.random_bool(0.5) { 1.0 } else { log_uniform(rng, 0.02, 8.0) as f32 };
        zeros.extend(zero_of_factor(rng, method, f64::from(delta)).map(|zero| (delta, zero)));
    }
    let has_zeros =
        method.formula().now().iter().any(|t| !matches!(t.of, Function::Power(0) | Function::Resolvent(_)));
    assert_eq!(has_zeros, zeros.len() > 3, "{method}: {} zeros found", zeros.len());
    let mut elements = Vec::with_capacity(SAMPLES);
    while elements.len() < SAMPLES {
        let mut delta = step(rng);
        let angle = rng.random_range(0.0..std::f64::consts::TAU);
        let offset = Complex64::from_polar(log_uniform(rng, 1e-8, 0.3), angle);
        let z = match rng.random_range(0..9) {
            0 => Complex64::from_polar(log_uniform(rng, 1e-9, 80.0), angle),
            1 => Complex64::new(rng.random_range(-80.0..80.0), rng.random_range(-80.0..80.0)),
            2 => Complex64::new(0.0, rng.random_range(-80.0..80.0)),
            // Multiples of 2πi, the zeros of φ₁.
            3 => Complex64::new(0.0, std::f64::consts::TAU * f64::from(rng.random_range(-12..13))) + offset,
            // bilinear's pole, and its zero.
            4 => (2.0 + offset) * if rng.random_bool(0.5) { 1.0 } else { -1.0 },
            // The threshold between series and closed form.
            5 => Complex64::from_polar(1.5 * (1.0 + 1e-6 * rng.random_range(-1.0..1.0)), angle),
            // The ends of both reduced arguments, where the parts of e^z are off by most.
            6 => Complex64::new(
                LN_2 * (f64::from(rng.random_range(-80..80)) + 0.5 + rng.random_range(-0.03..0.03)),
                FRAC_PI_2 * (f64::from(rng.random_range(-30..30)) + 0.5 + rng.random_range(-0.03..0.03)),
            ),
            _ if has_zeros => {
                let (step, zero) = zeros[rng.random_range(0..zeros.len())];
                delta = step;
                zero + offset
            }
            _ => Complex64::from_polar(rng.random_range(0.0..10.0), angle),
        };
        elements.extend(element_at(rng, delta, z, Weights::Complex));
    }
    elements
}

#[test]
fn complex_coefficients_keep_the_contract() {
    let mut rng = generator("complex_coefficients_keep_the_contract");
    for method in Method::ALL {
        let elements = complex_elements(&mut rng, method);
        let [a_bar, b_bar] = worst(method, Weights::Complex, &elements);
        println!("{method}, complex: a_bar {a_bar:.3}, b_bar {b_bar:.3} units of 2^-24");
        assert!(a_bar > 0.3 && b_bar > 0.3, "nothing rounds: the measurement is broken");
    }
}

/// Where f64 is left with no digits: against the harness's certified truth.
#[test]
fn beside_roots_the_contract_is_kept_for_steps_of_either_sign() {
    for sweep in sweep::all().into_iter().filter(|sweep| sweep.name.ends_with("roots")) {
        for method in Method::ALL {
            let [mut forward, mut backward] = [0.0f64; 2];
            for seed in 1..=4 {
                let problem = sweep.draw(seed);
                let want = truth::coefficient::solve(method, &problem).expect("certified");
                let got = CpuBackend::new().coefficients(method, &problem).expect("it runs");
                let got = (&got.a_bar[..], &got.b_bar[..]);
                let want = (&want.a_bar[..], &want.b_bar[..]);
                let judgement = coefficient::judge(method, &problem, got, want, &Contract::PRODUCTION);
                for (i, point) in judgement.points.iter().enumerate() {
                    let worst = if problem.delta[i] < 0.0 { &mut backward } else { &mut forward };
                    *worst = worst.max(point.b_bar_ulp / point.b_bar_allowed);
                }
                let worst = &judgement.worst_b_bar;
                assert_eq!(judgement.verdict, Verdict::Pass, "{method}, seed {seed}: {worst:?}");
            }
            println!(
                "{method}, {}: B̄ at {forward:.3} forward and {backward:.3} backward of the contract",
                sweep.name
            );
        }
    }
}

/// Δ, A and B with |z| just above 1, where plain closed forms lose most, or about a root of rk4's polynomial, which Horner's
/// scheme does not see coming.
fn hard_for_plain_sums(rng: &mut ChaCha8Rng, weights: Weights) -> Vec<Element> {
    let complex = weights == Weights::Complex;
    let mut elements = Vec::with_capacity(SAMPLES);
    while elements.len() < SAMPLES {
        let delta = log_uniform(rng, 1e-3, 1e3) as f32;
        let angle = if complex {
            rng.random_range(0.0..6.3)
        } else {
            f64::from(rng.random_range(0..2)) * std::f64::consts::PI
        };
        let root = ROOTS[usize::from(complex && rng.random_bool(0.5))][0];
        let z = match rng.random_range(0..3) {
            0 => Complex64::from_polar(rng.random_range(0.9..1.3), angle),
            1 => Complex64::from_polar(log_uniform(rng, 1e-3, 40.0), angle),
            _ => root * (1.0 + log_uniform(rng, 1e-8, 0.1)),
        };
        let z = if complex { z } else { z.re.into() };
        elements.extend(element_at(rng, delta, z, weights));
    }
    elements
}

#[test]
fn the_reference_path_keeps_the_framework_contract() {
    let mut rng = generator("the_reference_path_keeps_the_framework_contract");
    for method in Method::ALL {
        for weights in Weights::ALL {
            let elements = hard_for_plain_sums(&mut rng, weights);
            let parts = |value: Complex64| [value.re, value.im][..weights.width()].to_vec();
            let (a_bar, b_bar): (Vec<_>, Vec<_>) = elements
                .iter()
                .map(|&element| exact(method, element))
                .map(|[a, b]| (parts(a), parts(b)))
                .unzip();
            let problem = problem(weights, &elements);
            let got = ReferenceBackend.coefficients(method, &problem).expect("runs");
            let got = (&got.a_bar[..], &got.b_bar[..]);
            let want = (&a_bar.concat()[..], &b_bar.concat()[..]);
            let judgement = coefficient::judge(method, &problem, got, want, &Contract::FRAMEWORK);
            let worst = [judgement.worst_a_bar, judgement.worst_b_bar].map(|worst| worst.expect("judged"));
            println!("{method}, {weights}: {:.2} and {:.2}", worst[0].ratio, worst[1].ratio);
            assert_eq!(judgement.verdict, Verdict::Pass, "{method}, {weights}: {worst:?}");
            // A bound, and not a blanket.
            assert!(worst.iter().all(|worst| worst.ratio > 0.05), "{method}, {weights}: {worst:?}");
        }
    }
}

#[test]
fn limits_at_zero_are_exact() {
    // spec.md §1: φₖ(0) = 1/k!. B is a multiple of 96, so that highorder's Δ³/12 is a float.
    for weights in Weights::ALL {
        for a in [0.0, -0.0, 1e-38, -1e-45] {
            for method in Method::ALL {
                let want = step_in_96ths(method) as f32;
                let element = (0.5, [a, 0.0], [96.0, 0.0]);
                let got = compute(method, weights, &[element]);
                assert_eq!((got.a_bar[0], got.b_bar[0]), (1.0, want), "{method}, {weights}, A = {a:e}");
            }
        }
    }
}

#[test]
fn a_zero_step_or_input_weight_gives_zero() {
    for weights in Weights::ALL {
        for method in Method::ALL {
            for a in [[-1.0, 3.0], [0.0, 0.0], [-1e6, 1e6], [1e30, 0.0]] {
                let still = compute(method, weights, &[(0.0, a, [1.0, 2.0])]);
                assert_eq!(still.a_bar[0], 1.0, "{method}, {weights}, A = {a:?}");
                assert!(still.b_bar.iter().all(|&b| b == 0.0), "{method}, {weights}, A = {a:?}: {still:?}");
                let deaf = compute(method, weights, &[(0.1, a, [0.0, 0.0])]);
                assert!(deaf.b_bar.iter().all(|&b| b == 0.0), "{method}, {weights}, A = {a:?}: {deaf:?}");
            }
        }
    }
}

#[test]
fn e_to_the_z_underflows_gradually_and_overflows_to_infinity() {
    let zs = [-86.0, -87.0, -87.5, -90.0, -95.0, -100.0, -103.0, -103.9, -104.5, -200.0, -1e6, -1e30];
    for z in zs.into_iter().chain([80.0, 88.0, 88.7, 88.8, 100.0, 1e6]) {
        worst(Method::Zoh, Weights::Real, &[(1.0, [z, 0.0], [1.0, 0.0])]);
    }
}

#[test]
fn nothing_finite_turns_into_nan() {
    let mut rng = generator("nothing_finite_turns_into_nan");
    let sizes = [0.0, 1e-30, 1e-9, 0.5, 2.0, 80.0, 89.0, 120.0, 200.0, 1e3, 1e6, 1e20];
    let mut elements: Vec<Element> = Vec::new();
    for re in sizes {
        for im in sizes {
            for (re_sign, im_sign) in [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)] {
                for delta in [1.0, 1e-20, 4.0, 1e4] {
                    elements.push((
                        delta,
                        [re_sign * re / delta, im_sign * im / delta],
                        [weight(&mut rng), weight(&mut rng)],
                    ));
                }
            }
        }
    }
    // Exactly on the pole there is no value.
    elements.retain(|&(delta, a, _)| delta * a[0] != 2.0 && a[0].is_finite() && a[1].is_finite());
    for method in Method::ALL {
        for weights in Weights::ALL {
            let got = compute(method, weights, &elements);
            for (i, element) in elements.iter().enumerate() {
                let w = weights.width();
                let parts = got.a_bar[i * w..][..w].iter().chain(&got.b_bar[i * w..][..w]);
                assert!(
                    parts.into_iter().all(|part| !part.is_nan()),
                    "{method}, {weights}: NaN at {element:?}"
                );
            }
        }
    }
}

#[test]
fn left_of_the_range_the_closed_forms_hold_still() {
    // Far left every φ is a polynomial in 1/z, well within reach.
    let mut rng = generator("left_of_the_range_the_closed_forms_hold_still");
    let elements: Vec<Element> = (0..2000)
        .map(|_| {
            (step(&mut rng).clamp(1e-3, 10.0), -log_uniform(&mut rng, 8.0, 1e7) as f32, weight(&mut rng))
        })
        .map(|(delta, z, b)| (delta, [z * 10.0 / delta, 0.0], [b, 0.0]))
        .collect();
    for method in Method::ALL {
        worst(method, Weights::Real, &elements);
    }
}

//! Sweeps of (Δ, A, B) on which Ā and B̄ themselves are judged, without a scan around them.

use std::f64::consts::PI;

use num_complex::Complex64;

use super::inputs::{Draw, draw_coefficients};
use super::roots::{self, Combination};
use super::{CoefficientProblem, Weights};

/// A named set of (Δ, A, B) triples.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    pub name: &'static str,
    /// Why it is hard, in one sentence.
    pub why: &'static str,
    pub weights: Weights,
    /// Whether only those are judged on it who promise B̄ over the whole range of f32, and beside roots and poles
    /// ([`crate::promise::Promise::whole_range`]).
    pub whole_range: bool,
    draw: fn(Weights, &mut Draw) -> CoefficientProblem,
}

/// |z| of what the kernels' f32 path was made for.
const USUAL: (f64, f64) = (1e-9, 80.0);

/// |z| around the places at which the φ-functions change from series to closed forms.
const BAND: (f64, f64) = (0.05, 4.0);

/// Triples of a random sweep: enough that a fault in any binade of z is hit.
const RANDOM_POINTS: usize = 512;

impl Sweep {
    /// The triples: the same for the same seed, whatever else a run holds.
    pub fn draw(&self, seed: u64) -> CoefficientProblem {
        (self.draw)(self.weights, &mut Draw::new(seed, &format!("sweep/{}/{}", self.name, self.weights)))
    }
}

#[rustfmt::skip]
pub fn all() -> Vec<Sweep> {
    let sweep = |name, why, weights, draw| Sweep { name, why, weights, whole_range: false, draw };
    let of_whole_range = |sweep| Sweep { whole_range: true, ..sweep };
    vec![
        sweep("real axis",
            "z of either sign, |z| log-uniform from 1e-9 to 80: every branch of every φ-function",
            Weights::Real, |weights, draw| draw_coefficients(weights, RANDOM_POINTS, USUAL, draw)),
        sweep("complex plane", "z at any angle, |z| log-uniform from 1e-9 to 80", Weights::Complex,
            |weights, draw| draw_coefficients(weights, RANDOM_POINTS, USUAL, draw)),
        sweep("hard real places",
            "z = 0, Δ = 0, beside the pole at 2, the zeros at −2 and −2.785 (rk4), where exp underflows",
            Weights::Real, hard_places),
        sweep("hard complex places", "the same, the imaginary axis, multiples of 2πi and the zeros of φ₂",
            Weights::Complex, hard_places),
        sweep("dense real band",
            "|z| from 0.05 to 4, of either sign: a series used too far, or a closed form used too early, is off here",
            Weights::Real, dense_band),
        sweep("dense complex band", "|z| from 0.05 to 4 at any angle: the same", Weights::Complex,
            dense_band),
        of_whole_range(sweep("real roots",
            "the floats nearest to the roots of rk4's polynomial and of poly's sum, and to bilinear's zero and pole",
            Weights::Real, near_roots)),
        of_whole_range(sweep("complex roots",
            "near and nearest to the roots of rk4's polynomial and of each method's sum of φ-functions",
            Weights::Complex, near_roots)),
        of_whole_range(sweep("real far right",
            "z from 80 to 200 with a tiny B: e^z overflows, and B̄ does not", Weights::Real, far_right)),
        of_whole_range(sweep("complex far right", "Re z from 80 to 200 with a tiny B: the same",
            Weights::Complex, far_right)),
        of_whole_range(sweep("real extremes",
            "Δ, A and B at the ends of f32's range: nothing on the way to B̄ may overflow or underflow before it does",
            Weights::Real, extreme_scales)),
        of_whole_range(sweep("complex extremes", "Δ, A and B at the ends of f32's range: the same",
            Weights::Complex, extreme_scales)),
        of_whole_range(sweep("fast turns",
            "|Im z| from 10³ to 3·10⁴: reducing the angle takes more digits than pairs of f32 have",
            Weights::Complex, fast_turns)),
    ]
}

fn dense_band(weights: Weights, draw: &mut Draw) -> CoefficientProblem {
    let mut problem = draw_coefficients(weights, RANDOM_POINTS, BAND, draw);
    // Steps beyond 1, which are rare above: highorder has no other path than pairs of floats with them, and φ₃ the larger a share
    // the larger they are.
    for delta in [1.5f32, 8.0, 64.0, 512.0] {
        for size in [0.06, 0.105, 0.11, 0.12, 0.14, 0.18, 0.3, 0.6, 0.9] {
            let z = draw.weight(weights);
            let z = z * (size / z.norm());
            problem.push(delta, z / f64::from(delta), draw.weight(weights));
        }
    }
    problem
}

/// The real zero of 1 + z/2 + z²/6 + z³/24, the factor of Δ B in rk4.
const RK4_ZERO: f64 = -2.785_293_563_405_282;

/// One of its two other zeros.
const RK4_COMPLEX_ZERO: Complex64 = Complex64::new(-0.607_353_218_297_359, 2.871_899_728_219_912_4);

/// The zero of φ₂ nearest to the origin (its conjugate is one too).
const PHI2_ZERO: Complex64 = Complex64::new(2.088_843_015_613_044, 7.461_489_285_654_255);

fn hard_places(weights: Weights, draw: &mut Draw) -> CoefficientProblem {
    let real = |re: f64| Complex64::new(re, 0.0);
    let mut targets = vec![Complex64::ZERO];
    targets.extend([1e-30, -1e-30, 40.0, 79.0].map(real));
    targets.extend([-87.0, -88.5, -95.0, -103.0, -104.5, -150.0, -1e3, -3e4].map(real));
    let mut around = [2.0, -2.0, 1.0, -1.0, 0.5, -0.5, RK4_ZERO].map(real).to_vec();
    if weights == Weights::Complex {
        targets.extend([0.1, 1.0, 3.0, 30.0, 79.0].map(|im| Complex64::new(0.0, im)));
        targets.extend([-100.0, -200.0].map(|re| Complex64::new(re, 60.0)));
        around.extend([1.0, 2.0, 5.0, 12.0].map(|k| Complex64::new(0.0, 2.0 * PI * k)));
        around.extend([PHI2_ZERO, PHI2_ZERO.conj()]);
    }
    for center in around {
        for k in 0..18 {
            let away = 2f64.powi(-k - 3) * if draw.unit() < 0.5 { -1.0 } else { 1.0 };
            let turned = match weights {
                Weights::Real => real(away),
                Weights::Complex => {
                    let angle = 2.0 * PI * draw.unit();
                    Complex64::new(away * libm::cos(angle), away * libm::sin(angle))
                }
            };
            targets.push(center * (1.0 + turned));
        }
    }
    let mut problem = CoefficientProblem::new(weights);
    for z in targets {
        for delta in [1e-3f32, 0.7, 5.0] {
            problem.push(delta, z / f64::from(delta), Complex64::new(draw.normal(), draw.normal()));
        }
    }
    problem.push(0.0, Complex64::new(-3.0, 1.0), Complex64::ONE);
    problem.push(0.5, Complex64::new(-3.0, 1.0), Complex64::ZERO);
    problem
}

/// (Δ, Re A, Im A) beside roots of poly and highorder where the terms are some thirty times their sum and the kernels' e^z is
/// off by more than it mostly is, by a search among 10⁶ such points: a limit of cancellation that is ten times too high
/// shows at one point of a thousand there.
#[rustfmt::skip]
const UNLUCKY: [(f32, f32, f32); 10] = [(4.0964236, 0.26579124, 4.6148596),
    (0.83317244, 0.4368829, 15.113073), (0.90452546, 0.43302438, 13.89543),
    (0.8095444, 0.44051412, 23.279556), (0.91162264, 0.39428726, 20.698275),
    (0.39369935, 0.86803025, 31.955082), (0.36590362, 0.9587687, 51.48458), (0.3893304, 0.9396071, 48.37972),
    (0.44831565, 0.93678766, 42.02745), (0.39491665, 0.9585551, 31.809586)];

/// (Δ, A) beside the real root that poly has with a step below −2, likewise.
const UNLUCKY_REAL: [(f32, f32); 4] =
    [(-3.3861434, 0.30070916), (-3.1286943, 0.5516043), (-2.9225376, 0.82285976), (-3.4157214, 0.27531806)];

/// (Δ, A) whose product comes within 2⁻⁴² of rk4's real zero, by a search among all of this size: it has 48 bits, and a
/// polynomial in plain double has eight left there.
const BESIDE_RK4_ZERO: [(f32, f32); 3] =
    [(1.635546, -1.7029748), (1.5239295, -1.827705), (1.6285856, -1.7102531)];

/// (Δ, Re A, Im A) nearest to roots of sums of φ-functions, by a search among 10⁶ steps of either sign for each of them:
/// relative to the distance from 0, within 2⁻⁵⁰ of poly's real root, and within 2⁻³⁴ to 2⁻³⁸ of complex ones. In double
/// the kernels would be off by up to 10¹² times their contract.
const NEAREST_REAL: [(f32, f32); 3] =
    [(-2.7304785, 1.1890615), (-3.0565512, 0.64399683), (-2.0546808, 18.287947)];
#[rustfmt::skip]
const NEAREST_COMPLEX: [(f32, f32, f32); 9] = [(-2.1487722, 6.7214255, 6.721035),
    (-2.0553017, 18.082638, -18.082638), (-3.9789138, 0.0053977873, -6.235089),
    (-4.00226, -0.00028220704, -3.8604445), (-0.08502387, 0.5109361, -295.5972),
    (6.968691, 0.38229105, 1.9916303), (7.3591785, 0.18541476, 0.89957696), (7.963409, 0.3861047, 1.6376984),
    (0.27425167, 0.9370747, 91.64596)];

/// The same where the terms cancel without a remainder, or all but: what multiplies e^z is 0 (A = −1/2 for poly, (−1 ± i)/2
/// for highorder) and e^z is large, or what stands beside it is 0 (A = −1/(2 + Δ), (−1 ± i)/(2 + Δ)) and e^z is small, or
/// z is small where poly has its root at 0 (Δ = −4). With half as many digits in e^z nothing of B̄ would be left.
#[rustfmt::skip]
const EXACT_REAL: [(f32, f32); 8] = [(-100.0, -0.5), (-150.0, -0.5), (-150.0, -0.50000006), (-2.125, 8.0),
    (-2.03125, 32.0), (-4.0, 1e-3), (-4.0, -1e-9), (-3.999999, 3.5762804e-7)];
#[rustfmt::skip]
const EXACT_COMPLEX: [(f32, f32, f32); 6] = [(-100.0, -0.5, 0.5), (-150.0, -0.5, -0.50000006),
    (-2.125, 8.0, -8.0), (-2.03125, 32.0, 32.0), (-4.0, 1e-3, -2e-3), (-4.0, 1e-9, 3e-9)];

/// (Δ, Re A, Im A) where e^z has as large a share in foh's, poly's or highorder's sum as the kernels allow it in pairs of
/// floats (3.4 to 3.7 times the sum), and one float drops most of it, by a search among 1.6·10⁷ for each: B̄ is then off by
/// 3.5 to 4 units, beside its rounding.
#[rustfmt::skip]
const UNLUCKY_EXPONENTIAL: [(f32, f32, f32); 11] = [(7.8820953, 0.44027653, 4.984007),
    (0.08857083, 39.924026, 301.3582), (0.24219881, 14.478239, 110.42534),
    (0.49092638, 0.09024785, 63.717125), (0.5765654, 0.12468562, 54.28997),
    (0.4455396, 0.032580025, 14.406285), (1.0732429, 0.65429735, 35.21991), (0.23987877, 0.165173, 157.60446),
    (0.18686834, 0.18440334, 135.37492), (0.23356578, 0.17082684, 160.93398),
    (0.1837183, 0.1462634, 206.15102)];

/// (Δ, Re A, Im A) where poly's sum has its root at Δ = −4, z = 0, and the series of φ₃ the largest share that the kernels
/// allow it, by a search among 6·10⁶: its 1/6 as one float puts B̄ off by 8 to 10 units.
#[rustfmt::skip]
const UNLUCKY_SERIES: [(f32, f32, f32); 4] = [(-4.034674, -0.01366945, -0.00095100864),
    (-3.9324062, 0.027403746, -0.0029129435), (-3.9042885, 0.03426507, -0.0026741507),
    (-3.9515018, 0.016672473, -0.00047826985)];

/// Where highorder's real sum, which has no root, is least beside its terms, some of them where e^z and the series are off
/// by more than they mostly are, by a search among 10⁶; far to the left its terms are z² times the sum.
#[rustfmt::skip]
const LEAST_REAL: [(f32, f32); 7] = [(-3.0506496, 0.33270198), (-2.905556, 0.35547712),
    (-2.8365445, 0.35154969), (-3.0256157, 0.33042252), (-2.000091, 13830.371), (-2.0000563, 14876.829),
    (-2.0007691, 177.80908)];

/// Steps for which each root is looked for.
const STEPS_AT_ROOTS: usize = 16;

fn near_roots(weights: Weights, draw: &mut Draw) -> CoefficientProblem {
    let mut problem = CoefficientProblem::new(weights);
    let real = |re: f64| Complex64::new(re, 0.0);
    for _ in 0..STEPS_AT_ROOTS {
        let delta = draw.log_uniform(1e-3, 8.0) as f32;
        let mut around = vec![real(RK4_ZERO), real(2.0), real(-2.0)];
        if weights == Weights::Complex {
            around.push(draw.conjugated(RK4_COMPLEX_ZERO));
            let turns = f64::from(1 + (3.0 * draw.unit()) as u32);
            let found = Combination::ALL.map(|sum| roots::nearest(sum, f64::from(delta), turns));
            around.extend(found.into_iter().flatten().map(|root| draw.conjugated(root)));
        }
        for root in around {
            nearest_floats(&mut problem, delta, root, draw);
            if weights == Weights::Complex {
                // Around a root |sum| grows like the distance: here the terms are up to 200 times the sum.
                for _ in 0..6 {
                    let angle = 2.0 * PI * draw.unit();
                    let away =
                        Complex64::new(libm::cos(angle), libm::sin(angle)) * draw.log_uniform(1e-3, 0.3);
                    problem.push(delta, root * (1.0 + away) / f64::from(delta), draw.weight(weights));
                }
            }
        }
    }
    let unlucky: &[(f32, f32, f32)] = match weights {
        Weights::Real => &BESIDE_RK4_ZERO.map(|(delta, a)| (delta, a, 0.0)),
        Weights::Complex => &UNLUCKY,
    };
    for &(delta, re, im) in unlucky {
        problem.push(delta, Complex64::new(re.into(), im.into()), draw.weight(weights));
    }
    if weights == Weights::Complex {
        // So near to bilinear's pole that the square of 1 − z/2 is subnormal, or nothing.
        for away in [1e-19, -1e-20, 1e-21, -1e-25] {
            problem.push(1.0, Complex64::new(2.0, away), draw.weight(weights));
        }
        // Backward steps: what watches for cancellation must not take Δ for positive. φ₂'s zero is anyone's.
        for _ in 0..STEPS_AT_ROOTS / 4 {
            let delta = -draw.log_uniform(1e-3, 8.0) as f32;
            nearest_floats(&mut problem, delta, draw.conjugated(PHI2_ZERO), draw);
        }
    }
    backward_roots(&mut problem, draw);
    let cancelling: Vec<(f32, f32, f32)> = match weights {
        Weights::Real => {
            let all = NEAREST_REAL.iter().chain(&EXACT_REAL).chain(&LEAST_REAL).chain(&UNLUCKY_REAL);
            all.map(|&(delta, a)| (delta, a, 0.0)).collect()
        }
        Weights::Complex => {
            let all = NEAREST_COMPLEX.iter().chain(&EXACT_COMPLEX).chain(&UNLUCKY_EXPONENTIAL);
            all.chain(&UNLUCKY_SERIES).copied().collect()
        }
    };
    for (delta, re, im) in cancelling {
        problem.push(delta, Complex64::new(re.into(), im.into()), draw.weight(weights));
    }
    problem
}

/// Adds A beside the roots that sums of φ-functions have with negative steps: those turns away from 0 move to the left
/// of it, and poly has real ones, and highorder some where e^z is nothing, that no positive step has.
fn backward_roots(problem: &mut CoefficientProblem, draw: &mut Draw) {
    for _ in 0..STEPS_AT_ROOTS {
        let z = draw.log_uniform(0.05, 60.0) * if draw.unit() < 0.5 { -1.0 } else { 1.0 };
        let delta = roots::step_of_poly(z) as f32;
        let root = roots::from(Combination::Poly, f64::from(delta), Complex64::from(z));
        let mut found = vec![(delta, root)];
        if problem.weights == Weights::Complex {
            let delta = -draw.log_uniform(1e-3, 8.0) as f32;
            let turns = f64::from(1 + (3.0 * draw.unit()) as u32);
            let sums = [Combination::Poly, Combination::HighOrder];
            let turned = sums.map(|sum| roots::nearest(sum, f64::from(delta), turns));
            found.extend(turned.into_iter().flatten().map(|root| (delta, root)));
            let delta = -(2.0 + draw.log_uniform(0.05, 0.5)) as f32;
            found.push((delta, roots::far_left(f64::from(delta))));
        }
        for (delta, root) in found {
            let root = draw.conjugated(root);
            nearest_floats(problem, delta, root, draw);
            // From where pairs of floats are left with too few digits on.
            let away = draw.log_uniform(1e-7, 0.3);
            problem.push(delta, root * (1.0 + away) / f64::from(delta), draw.weight(problem.weights));
        }
    }
}

/// Adds A beside root/Δ: some floats below it to some above, but for those that are bilinear's pole itself.
fn nearest_floats(problem: &mut CoefficientProblem, delta: f32, root: Complex64, draw: &mut Draw) {
    let target = root / f64::from(delta);
    for away in -2..=2i32 {
        let beside = |part: f64| f32::from_bits((part as f32).to_bits().wrapping_add_signed(away));
        let re = f64::from(beside(target.re));
        let im = if target.im == 0.0 { 0.0 } else { target.im };
        if re * f64::from(delta) != 2.0 {
            problem.push(delta, Complex64::new(re, im), draw.weight(problem.weights));
        }
    }
}

fn far_right(weights: Weights, draw: &mut Draw) -> CoefficientProblem {
    let mut problem = CoefficientProblem::new(weights);
    for _ in 0..RANDOM_POINTS / 2 {
        let delta = draw.log_uniform(1e-3, 8.0) as f32;
        let z = Complex64::new(draw.uniform(80.0, 200.0), draw.uniform(-60.0, 60.0));
        let b = draw.weight(weights) * draw.log_uniform(1e-38, 1e-10);
        problem.push(delta, z / f64::from(delta), b);
    }
    // Where e^Re z overflows and one part of e^z may not, and B̄ = 0 sends nothing to a path of its own.
    for _ in 0..RANDOM_POINTS / 16 {
        let delta = draw.log_uniform(1e-3, 8.0) as f32;
        let z = Complex64::new(draw.uniform(86.0, 90.0), draw.uniform(-60.0, 60.0));
        problem.push(delta, z / f64::from(delta), Complex64::ZERO);
    }
    problem
}

/// Powers of ten that f32 has room for.
const DECADES: f64 = 37.0;

fn extreme_scales(weights: Weights, draw: &mut Draw) -> CoefficientProblem {
    let power_of_ten = |exponent: f64| libm::pow(10.0, exponent.clamp(-DECADES, DECADES));
    let mut problem = CoefficientProblem::new(weights);
    for i in 0..RANDOM_POINTS * 3 / 4 {
        let decades = draw.uniform(-30.0, 30.0);
        let delta = power_of_ten(decades) as f32;
        let angle = draw.uniform(0.0, 2.0 * PI);
        let z = draw.log_uniform(1e-3, 80.0);
        let z = match weights {
            Weights::Real => Complex64::new(z * libm::cos(angle).signum(), 0.0),
            Weights::Complex => Complex64::new(z * libm::cos(angle), z * libm::sin(angle)),
        };
        // ΔB or Δ²B of moderate size, something between the two, or ΔB itself at an end of the range.
        let b = match i % 3 {
            0 => -decades * draw.uniform(1.0, 2.0),
            1 => draw.uniform(34.0, 38.5) - decades,
            _ => draw.uniform(-40.0, -30.0) - decades,
        };
        problem.push(delta, z / f64::from(delta), draw.weight(weights) * power_of_ten(b));
    }
    // h and B at some 45°, so that B̄'s real part is what two products leave of each other that are both above the largest f32.
    for _ in 0..RANDOM_POINTS / 8 {
        let delta = draw.uniform(2.0, 3.5) as f32;
        let z = Complex64::new(draw.uniform(-0.3, 0.3), draw.uniform(1.2, 2.0));
        let b = Complex64::new(draw.uniform(2.5e38, 3.3e38), draw.uniform(2.5e38, 3.3e38));
        let is_conjugated = draw.unit() < 0.5;
        let [z, b] = [z, b].map(|x| if is_conjugated { x.conj() } else { x });
        problem.push(delta, z / f64::from(delta), b);
    }
    // A log₂e has no low part any more, and no value.
    for (delta, a, b) in [(2e38, -1.3e-38, 1e-38), (1e-38, -2.5e38, 1e38)] {
        problem.push(delta, Complex64::new(a, 0.0), Complex64::new(b, 0.0));
    }
    problem
}

fn fast_turns(weights: Weights, draw: &mut Draw) -> CoefficientProblem {
    let mut problem = CoefficientProblem::new(weights);
    for _ in 0..RANDOM_POINTS / 2 {
        let delta = draw.log_uniform(1e-3, 8.0) as f32;
        let z = Complex64::new(draw.uniform(-10.0, 5.0), draw.log_uniform(1e3, 3e4));
        let z = draw.conjugated(z);
        problem.push(delta, z / f64::from(delta), draw.weight(weights));
    }
    problem
}

/// The Δ sweep behind a plot of |Ā| and |B̄/Δ| against |z|.
#[derive(Clone, Debug)]
pub struct Curve {
    /// A in words.
    pub a: &'static str,
    /// |A|
    pub a_abs: f64,
    /// One A, B = 1, Δ ascending.
    pub problem: CoefficientProblem,
}

/// One curve for each weight type: on the negative real axis, and at 45° in the left half-plane.
pub fn curves() -> Vec<Curve> {
    const POINTS: u32 = 160;
    let deltas = || (0..POINTS).map(|i| (1e-3 * libm::pow(8e4, f64::from(i) / f64::from(POINTS - 1))) as f32);
    let curve = |a: &'static str, weights, value: &[f32], one: &[f32]| Curve {
        a,
        a_abs: value.iter().fold(0.0, |norm: f64, &x| norm.hypot(f64::from(x))),
        problem: CoefficientProblem {
            weights,
            delta: deltas().collect(),
            a: value.repeat(POINTS as usize),
            b: one.repeat(POINTS as usize),
        },
    };
    vec![
        curve("-1", Weights::Real, &[-1.0], &[1.0]),
        curve("-1+1i", Weights::Complex, &[-1.0, 1.0], &[1.0, 0.0]),
    ]
}

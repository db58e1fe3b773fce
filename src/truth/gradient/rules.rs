//! What differs from one route and arithmetic to the next: how Δ, the gate and a step come about, each with its derivatives.
//!
//! The literal route differentiates the published formulas themselves, by dual numbers ([`super::dual`]); where they cancel
//! (z → 0) it does so with the power series of φ₃. The bounded route evaluates the identities of [`super::step`] with a
//! proven error.

use nalgebra::DMatrix;
use num_traits::One;

use super::dual::Dual;
use super::known::{Known, Live};
use super::number::Number;
use super::step::{Functions, Phis, Step, last_phi};
use crate::formula::{Fraction, ReadsNow};
use crate::problem::LARGEST_EXPONENT;
use crate::truth::dense::expm;
use crate::truth::dense::floor::{self, BoundedMatrix};
use crate::truth::dense::matrix::norm_exponent;
use crate::truth::literal::{self, Ingredients, Quantity};
use crate::truth::number::ball::Ball;
use crate::truth::number::elementary::{
    self, Exponent, Scalar, exp_by_doubling, exp_by_halving, softplus_by_artanh, softplus_by_halley,
};
use crate::truth::number::mag::Mag;
use crate::truth::number::scalar::{Entry, Real};

/// One route in one arithmetic.
pub struct Rules<V: Number> {
    /// softplus and its derivative, the sigmoid.
    pub softplus: fn(&V::Real) -> [V::Real; 2],
    /// z·sigmoid(z) and its derivative.
    pub gate: fn(&V::Real) -> [V::Real; 2],
    /// The step of a form at (Δ, A); none where it cannot be computed.
    pub step: fn(ReadsNow, &V::Real, &V) -> Option<Step<V>>,
    /// e^z of a matrix of so many rows, row by row; none where it cannot be computed.
    pub exponential: fn(&[V], usize) -> Option<Vec<V>>,
    /// The inverse, likewise.
    pub inverse: fn(&[V], usize) -> Option<Vec<V>>,
}

/// Names of the two routes, for certificates.
pub const ROUTES: (&str, &str) =
    ("adjoints of the literal formulas, differentiated forward,", "of inverse-free ones");

impl<T: Exponent> Rules<T> {
    /// The literal route.
    pub fn literal() -> Self {
        Rules {
            softplus: |raw| {
                let exp = exp_by_halving(*raw);
                [softplus_by_halley(*raw), exp / (<T::Part as One>::one() + exp)]
            },
            gate: |z| literal_gate(*z, exp_by_halving(-*z)),
            step: |form, delta, a| {
                let needs_exp = last_phi(&form.formula()).is_some();
                let exp = if needs_exp { a.scale(*delta).exp_by_parts() } else { T::zero() };
                literal_step(form, delta, a, exp, |exp, z, lost| {
                    if lost > LITERAL_LOSS {
                        return None;
                    }
                    if lost <= T::Part::SPARE {
                        return Some(literal::remainders(exp, z));
                    }
                    // What is left of eᶻ by its series; each is the derivative of the next.
                    let [first, second, third] = elementary::remainders(z.value);
                    Some([z.through(first, exp.value), z.through(second, first), z.through(third, second)])
                })
            },
            exponential: literal_exponential,
            inverse: literal_inverse,
        }
    }
}

impl<T: Exponent> Rules<Ball<T>> {
    /// The route with a proven error.
    pub fn bounded() -> Self {
        Rules {
            softplus: |raw| [softplus_by_artanh(raw), sigmoid(exp_by_doubling(&negative(raw)))],
            gate: |z| bounded_gate(z, exp_by_doubling),
            step: |form, delta, a| {
                bounded_step(form, delta, a, |z, last| phis(z, last, -1, elementary::by_taylor))
            },
            exponential: bounded_exponential,
            inverse: bounded_inverse,
        }
    }
}

/// Routes in a scalar without tables, for what 237 bits leave open. Softplus is not among what they know.
pub struct Slow;

impl Slow {
    pub fn literal<T: Entry>() -> Rules<T> {
        Rules {
            softplus: |_| std::array::from_fn(|_| T::Part::exact(f64::NAN)),
            gate: |z| {
                let exp = expm::pade(&single(-z.clone()), 0).map(|m| m[0].clone());
                literal_gate(z.clone(), exp.unwrap_or_else(|| T::Part::exact(f64::NAN)))
            },
            step: |form, delta, a| {
                let z = a.clone().scale(delta.clone());
                let exp = expm::pade(&single(z), 0)?[0].clone();
                literal_step(form, delta, a, exp, |exp, z, lost| {
                    let spare = i64::from(T::Part::BITS) - f64::MANTISSA_DIGITS as i64 - T::Part::REQUIRED;
                    (lost <= spare).then(|| literal::remainders(exp, z))
                })
            },
            exponential: literal_exponential,
            inverse: literal_inverse,
        }
    }

    pub fn bounded<T: Entry>() -> Rules<Ball<T>> {
        Rules {
            softplus: |raw| std::array::from_fn(|_| Ball { radius: Mag::UNBOUNDED, ..raw.clone() }),
            gate: |z| {
                bounded_gate(z, |z| {
                    let exact = BoundedMatrix::exact(single(z.mid.clone()));
                    floor::exponential(&exact, 0).at((0, 0))
                })
            },
            step: |form, delta, a| {
                bounded_step(form, delta, a, |z, last| phis(z, last, REDUCED, taylor_of_balls))
            },
            exponential: bounded_exponential,
            inverse: bounded_inverse,
        }
    }
}

impl Rules<Live> {
    /// What can be other than zero, whatever cancels.
    pub fn live() -> Self {
        Rules {
            softplus: |_| [Live::REAL, Live::REAL],
            gate: |z| [if z.is_zero() { Live::zero() } else { Live::REAL }, Live::REAL],
            step: |form, delta, a| {
                let z = a.scaled(delta);
                // A power series with real terms, as are the resolvent's.
                let series = Live::REAL.plus(&z);
                let given = Functions { delta: *delta, a: *a, z, phis: [series; 5], resolvent: series };
                Some(given.step(form))
            },
            exponential: |z, n| Some(Live::series(z, n)),
            inverse: |m, n| Some(Live::series(m, n)),
        }
    }
}

impl Rules<Known> {
    /// Exact arithmetic.
    pub fn known() -> Self {
        Rules {
            softplus: |_| [Known::REAL, Known::REAL],
            gate: |z| match z.is_zero() {
                true => [Known::zero(), Known::one().ratio(Fraction::HALF)],
                false => [Known::REAL, Known::REAL],
            },
            step: |form, delta, a| {
                let z = a.scaled(delta);
                let phi = |k: u32| match z.is_zero() {
                    true => Known::one().ratio(Fraction(1, (1..=k).product())),
                    // A power series with real terms.
                    false => Known::REAL.plus(&z.times(&Known::REAL)),
                };
                let formula = form.formula();
                let alpha = formula.pole().unwrap_or(Fraction(0, 1));
                let resolvent = Known::one().minus(&z.ratio(alpha)).inverse();
                let phis = [phi(0), phi(1), phi(2), phi(3), phi(4)];
                Some(Functions { delta: delta.clone(), a: a.clone(), z, phis, resolvent }.step(form))
            },
            exponential: |z, n| Some(Known::series(z, n)),
            inverse: |m, n| Some(Known::series(m, n)),
        }
    }
}

/// Bits that the literal formulas and their derivatives would lose to cancellation, 4·log₂(1/|z|), and not certify: the power
/// series stands in.
pub const LITERAL_LOSS: i64 = 50;

/// The third integral loses most, its derivative by A one power of z more.
pub fn literal_loss<T: Entry>(z: &T) -> i64 {
    -4 * z.exponent_bound().unwrap_or(-1000)
}

/// The scalars without tables halve z to 2 to this before they sum a series.
const REDUCED: i64 = -9;

/// ‖z‖ may be at most 2 to this: in two doubles, whose range is left soon, and in others.
const LARGEST: [i64; 2] = [8, LARGEST_EXPONENT];

fn matrix<T: Entry>(rows: &[T], n: usize) -> DMatrix<T> {
    DMatrix::from_row_slice(n, n, rows)
}

fn rows<T: Entry>(of: &DMatrix<T>) -> Vec<T> {
    of.transpose().iter().cloned().collect()
}

fn balls<T: Entry>(rows: &[Ball<T>], n: usize) -> BoundedMatrix<T> {
    let entry = |i: usize, j: usize| &rows[i * n + j];
    BoundedMatrix {
        mid: DMatrix::from_fn(n, n, |i, j| entry(i, j).mid.clone()),
        radius: DMatrix::from_fn(n, n, |i, j| entry(i, j).radius),
    }
}

fn rows_of_balls<T: Entry>(of: &BoundedMatrix<T>) -> Vec<Ball<T>> {
    let n = of.mid.nrows();
    (0..n * n).map(|i| of.at((i / n, i % n))).collect()
}

fn is_in_range<T: Entry>(z: &DMatrix<T>) -> bool {
    norm_exponent(z).is_none_or(|found| found <= LARGEST[usize::from(!T::Part::NARROW)])
}

fn literal_exponential<T: Entry>(z: &[T], n: usize) -> Option<Vec<T>> {
    let z = matrix(z, n);
    let exp = if is_in_range(&z) { expm::pade(&z, 0) } else { None };
    exp.as_ref().map(rows)
}

fn literal_inverse<T: Entry>(m: &[T], n: usize) -> Option<Vec<T>> {
    Quantity::inverse(&matrix(m, n)).as_ref().map(rows)
}

fn bounded_exponential<T: Entry>(z: &[Ball<T>], n: usize) -> Option<Vec<Ball<T>>> {
    let z = balls(z, n);
    is_in_range(&z.mid).then(|| rows_of_balls(&floor::exponential(&z, 0)))
}

fn bounded_inverse<T: Entry>(m: &[Ball<T>], n: usize) -> Option<Vec<Ball<T>>> {
    let solved = floor::solve(&balls(m, n), &[BoundedMatrix::exact(DMatrix::identity(n, n))])?;
    solved.first().map(rows_of_balls)
}

fn single<T: Entry>(x: T) -> DMatrix<T> {
    DMatrix::from_element(1, 1, x)
}

fn negative<R: Real>(x: &Ball<R>) -> Ball<R> {
    Ball { mid: -x.mid.clone(), radius: x.radius }
}

/// z/(1 + e⁻ᶻ), and its derivative by the quotient rule.
fn literal_gate<R: Real>(z: R, falling: R) -> [R; 2] {
    let below = R::one() + falling.clone();
    let above = below.clone() + z.clone() * falling;
    [z / below.clone(), above / (below.clone() * below)]
}

/// 1/(1 + e⁻ᶻ) for e⁻ᶻ
fn sigmoid<R: Real>(falling: Ball<R>) -> Ball<R> {
    Ball::one().over(&Number::plus(&Ball::one(), &falling))
}

/// zσ(z) and σ(z)(1 + zσ(−z)).
fn bounded_gate<R: Real>(z: &Ball<R>, exp: impl Fn(&Ball<R>) -> Ball<R>) -> [Ball<R>; 2] {
    // Of eᶻ and e⁻ᶻ the one that a large |z| of either sign needs anyway; σ(−z) = e⁻ᶻ σ(z).
    let falling = exp(&negative(z));
    let rising = sigmoid(falling.clone());
    let slope = rising.times(&Number::plus(&Ball::one(), &z.times(&falling.times(&rising))));
    [z.times(&rising), slope]
}

/// What is left of eᶻ without the first terms of its series, from eᶻ, z and the bits that would be lost; none where the series
/// of φ₃ has to stand in.
type Left<T> = Option<[Dual<T>; 3]>;

fn literal_step<T: Entry>(
    form: ReadsNow,
    delta: &T::Part,
    a: &T,
    exp: T,
    left: impl Fn(&Dual<T>, &Dual<T>, i64) -> Left<T>,
) -> Option<Step<T>> {
    let one = Dual::constant(T::one());
    let a = Dual { value: a.clone(), slopes: [T::zero(), T::one()] };
    let delta = Dual::step(delta.clone());
    let z = Quantity::scaled(&a, &delta);
    let exp = z.through(exp.clone(), exp);
    let mut integrals = Vec::new();
    if form.formula().phis() > 0 {
        integrals = match left(&exp, &z, literal_loss(&z.value)) {
            Some(left) => literal::integrals(&a.inverse()?, left, &one).into(),
            None => integrals_by_series(&z, &delta),
        };
    }
    let with = Ingredients { a: &a, b: &one, delta: &delta, z: &z, exp: &exp, integrals: &integrals };
    let [a_bar, b_bar, ..] = literal::panels(*form, &with)?;
    let (a_bar, b_bar) = (a_bar?, b_bar?);
    Some(Step { a_bar: a_bar.value, a_bar_by: a_bar.slopes, b_bar: b_bar.value, b_bar_by: b_bar.slopes })
}

/// Δφ₁, Δ²φ₂ and Δ³φ₃ by φ₃ = Σ zᵏ/(k+3)!, nested.
fn integrals_by_series<T: Entry>(z: &Dual<T>, delta: &Dual<T::Part>) -> Vec<Dual<T>> {
    let exponent = z.value.exponent_bound().unwrap_or(-1000);
    let over = |x: &Dual<T>, n: usize| x.over(&Dual::constant(T::Part::exact(n as f64)));
    let mut sum = Dual::constant(T::one());
    // One term more, for the derivative.
    for k in (1..=series_terms(exponent, T::Part::BITS) + 1).rev() {
        sum = over(&Quantity::times(z, &sum), k + 3).plus_identity(1.0);
    }
    let phi3 = over(&sum, 6);
    let phi2 = Quantity::times(z, &phi3).plus_identity(0.5);
    let phi1 = Quantity::times(z, &phi2).plus_identity(1.0);
    let scaled = |phi: Dual<T>, p: usize| (0..p).fold(phi, |x, _| Quantity::scaled(&x, delta));
    vec![scaled(phi1, 1), scaled(phi2, 2), scaled(phi3, 3)]
}

/// The fewest m ≥ 1 for which xᵐ/m! is below 2^−bits where |x| ≤ 2^exponent.
fn series_terms(exponent: i64, bits: u32) -> usize {
    let (mut below, mut m) = (0.0, 0);
    while below <= f64::from(bits) {
        m += 1;
        below += (m as f64).log2() - exponent as f64;
    }
    m
}

fn bounded_step<T: Entry>(
    form: ReadsNow,
    delta: &Ball<T::Part>,
    a: &Ball<T>,
    phis: impl Fn(&Ball<T>, usize) -> Phis<Ball<T>>,
) -> Option<Step<Ball<T>>> {
    let formula = form.formula();
    let z = Number::scaled(a, delta);
    let resolvent = match formula.pole() {
        Some(alpha) => Ball::one().over(&Number::minus(&Ball::one(), &z.ratio(alpha))),
        None => Ball::one(),
    };
    let none = || std::array::from_fn(|_| Ball::zero());
    let phis = last_phi(&formula).map_or_else(none, |last| phis(&z, last));
    Some(Functions { delta: delta.clone(), a: a.clone(), z, phis, resolvent }.step(form))
}

/// φₖ of the last k by a series at z/2ʲ, where |z/2ʲ| ≤ 2^`reduced` and j ≥ 1; the others from it by φₖ = 1/k! + z φₖ₊₁, and
/// back by φₖ(2z) = 2⁻ᵏ [eᶻ φₖ(z) + Σ_{j=1}^{k} φⱼ(z)/(k−j)!]. Zero beyond the last.
fn phis<T: Entry>(
    z: &Ball<T>,
    last: usize,
    reduced: i64,
    series: impl Fn(&Ball<T>, usize, i64) -> Ball<T>,
) -> Phis<Ball<T>> {
    let inverse_factorial = |k: usize| Ball::<T>::one().ratio(Fraction(1, (1..=k as u32).product()));
    let exponent = z.mid.exponent_bound();
    let halvings = exponent.map_or(0, |exponent| (exponent - reduced).max(1));
    let small = Ball::shifted(z, -halvings);
    let mut phi: Phis<Ball<T>> = std::array::from_fn(|_| Ball::zero());
    phi[last] = series(&small, last, exponent.map_or(-1000, |exponent| exponent - halvings));
    for k in (0..last).rev() {
        phi[k] = Number::plus(&inverse_factorial(k), &small.times(&phi[k + 1]));
    }
    for _ in 0..halvings {
        let doubled = |k: usize| match k {
            0 => phi[0].times(&phi[0]),
            _ => {
                let term = |j: usize| phi[j].ratio(Fraction(1, (1..=(k - j) as u32).product()));
                let sum = (1..=k).fold(phi[0].times(&phi[k]), |sum, j| Number::plus(&sum, &term(j)));
                Ball::shifted(&sum, -(k as i64))
            }
        };
        phi = std::array::from_fn(|k| if k > last { Ball::zero() } else { doubled(k) });
    }
    phi
}

/// Σ zᵏ/(k + start)! for |z| ≤ 2^exponent ≤ ½, every rounding with its error. What is dropped after m terms is below
/// 2|z|ᵐ⁺¹/(m + 1)!, and the radius of z is allowed for by a doubled |z|.
fn taylor_of_balls<T: Entry>(z: &Ball<T>, start: usize, exponent: i64) -> Ball<T> {
    let m = series_terms(exponent + 1, T::Part::BITS);
    let integer = |n: usize| Ball::<T>::exact(T::from_real(T::Part::exact(n as f64)));
    let mut sum = Ball::one();
    for k in (1..=m).rev() {
        sum = Number::plus(&Ball::one(), &z.times(&sum).over(&integer(k + start)));
    }
    sum.radius = sum.radius + Mag::pow2(1 - i64::from(T::Part::BITS));
    if !z.radius.at_most_pow2(exponent) {
        sum.radius = Mag::UNBOUNDED;
    }
    sum.over(&integer((1..=start).product()))
}

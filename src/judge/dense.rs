//! Bounds and verdicts of dense steps, whose Ā and B̄ are matrices, from the conditioning of the very system.
//!
//! With u the unit roundoff of the arithmetic ([`DensePromise`]), norms without an index those of Frobenius, |X| the matrix of moduli,
//! and n states. What comes out is rounded once more, on store.
//!
//! **Products.** |fl(XY) − XY| ≤ γ|X||Y|, γ = nu; of complex ones each part has 2n roundings of at most |X||Y|, γ = 2√2·nu. So
//! ‖fl(XY) − XY‖ ≤ γ‖X‖‖Y‖.
//!
//! **Exponentials.** x = z/2ˢ with θ = ‖x‖_∞ ≤ 2. Its series, of q = 5 blocks of three terms, passes a term of degree k through at most k − 1
//! products and every term through a few sums; Σ (k − 1)θᵏ/k! = (θ − 1)e^θ + 1 is at most (q + 1)(e^θ − 1 − θ).
//! ‖|x|ᵏ‖ ≤ √n θᵏ, since a row's 2-norm is at most its 1-norm, so
//!
//! ‖δe‖ ≤ √n [(q + 1)γ(e^θ − 1 − θ) + 5u e^θ + θ^(3q+1)/(3q+1)!·(1 + θ)],   and √n uθe^θ where z is rounded.
//!
//! A square X² of a matrix that is off by δX is off by XδX + δXX + δX² and its own rounding: ‖δ(X²)‖ ≤ (2‖X‖₂ + ‖δX‖)‖δX‖ + γ(‖X‖ + ‖δX‖)².
//! The s squares follow the true powers e^{z/2ᵏ}, so what comes of this is no guess about hidden growth: of matrices that do not grow it
//! is ‖z‖ units, the condition of e^z; of others (Grcar) it is larger as the powers on the way are. ‖X‖₂ ≤ ‖(X*X)⁴‖^⅛, within n^(1/16).
//!
//! **φ-functions.** v_k ≈ φ_k(x)B, a column at a time, in 2-norms. Horner's scheme: ‖δv_k‖ ≤ √n ‖B‖_∞ (γ + 4u) e^θ and the rest of the
//! series. A doubling, v_k ← 2⁻ᵏ(e v_k + Σ v_j/(k−j)!), is off by what its parts are, (‖e‖₂ + ‖δe‖)‖δv_k‖ + ‖δe‖‖v_k‖ + Σ ‖δv_j‖/(k−j)!, and by (γ + 4u) of
//! the sizes of its terms.
//!
//! **Polynomials** of `rk4`, and `zoh`'s ΔB, entry by entry: each term |z|ᵏ|B| passes up to three products, each with a few roundings.
//!
//! **Quotients.** Ā = 2M⁻¹ − I and B̄ = M⁻¹ΔB for M = I − z/2. M⁻¹ by Gauss–Jordan elimination with partial pivoting: |δM⁻¹| ≤ G(|M⁻¹| + |δM⁻¹|),
//! G = 2γ(|M⁻¹||L||U| + 3|U⁻¹||U|) (Higham, Accuracy and Stability, 2nd ed., theorem 14.5, by columns) + 2u|M⁻¹|(I + |z/2|) for the roundings of
//! M itself: the sum of Gᵏ|M⁻¹|. Where ‖G‖ is above ½, M cannot be told from a singular matrix, and the bound is infinite. L and U are those of
//! pivots in f64: where two entries of a column are alike to a few roundings a kernel may take the other row, whose factors are as large to a
//! small factor. Not pivoting at all is not within it where the factors grow.
//!
//! These are worst cases, n for √n and norms for entries: roundings of a good kernel take 5 % of the bound at 4 states, and a few
//! thousandths of a percent of e^z's at 64 complex ones.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use nalgebra::{Complex, DMatrix};

use super::scan;
use super::ulp::Format;
use super::verdict::{Element, Tally, worst};
use crate::formula::{Form, Function, Term};
use crate::method::Method;
use crate::problem::Weights;
use crate::problem::dense::DenseProblem;
use crate::promise::DensePromise;
use crate::results::{TensorResult, Wrong};
use crate::tensor::{Coefficients, DenseName, Named};

type Matrix = DMatrix<Complex<f64>>;

/// φ-functions that a B̄ may have.
const PHIS: usize = 3;
/// ‖G‖ up to which there is an inverse, and terms of its series: what is left is below 2⁻⁵⁰ then.
const REGULAR: f64 = 0.5;
const TERMS: usize = 50;
/// Share of a matrix by which the product of its factors in f64 may miss it, with room for growth.
const FACTORED: f64 = 1e-10;

/// A system, and what all methods' bounds on it have in common.
pub struct System {
    weights: Weights,
    delta: f64,
    z: Matrix,
    b: Matrix,
    promise: DensePromise,
    /// x, and e^x, e^{2x}, …, e^z.
    x: Matrix,
    levels: Vec<Level>,
}

/// e^{z/2ᵏ}, and what a kernel may have it off by.
struct Level {
    value: Matrix,
    /// At least its 2-norm.
    spread: f64,
    error: f64,
}

impl System {
    pub fn new(problem: &DenseProblem, i: usize, promise: DensePromise) -> Self {
        let (delta, a, b) = problem.system(i);
        let z = a * Complex::from(delta);
        let (x, halvings) = halved(&z, promise.norm);
        let mut system = System { weights: problem.weights, delta, z, b, promise, x, levels: Vec::new() };
        system.levels = system.exponentials(halvings);
        system
    }

    fn gamma(&self) -> f64 {
        let factor = if self.weights == Weights::Complex { 2.0 * std::f64::consts::SQRT_2 } else { 1.0 };
        factor * self.z.nrows() as f64 * self.promise.unit
    }

    fn exponentials(&self, halvings: usize) -> Vec<Level> {
        let DensePromise { unit, underflow, rounds_z, .. } = self.promise;
        let (n, gamma) = (self.z.nrows() as f64, self.gamma());
        let theta = row_norm(&self.x);
        let rest = remainder(theta);
        let products = (f64::from(DensePromise::BLOCKS) + 1.0) * gamma * (theta.exp_m1() - theta);
        let of_z = if rounds_z { unit * theta * theta.exp() } else { 0.0 };
        // Underflows of 2n roundings in each of n² entries, in Frobenius' norm.
        let lost = 2.0 * n * n * underflow;
        let error = n.sqrt() * (products + 5.0 * unit * theta.exp() + rest + of_z) + lost;
        let value = series(&self.x, 0);
        let mut levels = vec![Level { spread: spread(&value), error, value }];
        for _ in 0..halvings {
            let Level { value, spread: before, error } = &levels[levels.len() - 1];
            let rounded = gamma * (value.norm() + error).powi(2) + lost;
            let error = (2.0 * before + error) * error + rounded;
            let value = value * value;
            levels.push(Level { spread: spread(&value), error, value });
        }
        levels
    }

    /// Errors that Ā (n, n) and B̄ (n, m) may have before they are rounded on store.
    fn errors(&self, method: Method) -> [DMatrix<f64>; 2] {
        if method == Method::Bilinear {
            return self.of_quotient();
        }
        let last = &self.levels[self.levels.len() - 1];
        let a_bar = DMatrix::from_element(self.z.nrows(), self.z.nrows(), last.error);
        let (mut phis, mut powers) = ([0.0; PHIS], Vec::new());
        for Term { factor, of, .. } in Form::from(method).formula().now() {
            match of {
                Function::Phi(k) => phis[k - 1] = factor.value(),
                Function::Power(_) => powers.push(factor.value()),
                Function::Resolvent(_) => unreachable!("bilinear alone has one"),
            }
        }
        [a_bar, if powers.is_empty() { self.of_phis(&phis) } else { self.of_powers(&powers) }]
    }

    /// Those of Δ Σ c_k zᵏ B, c_0 first.
    fn of_powers(&self, factors: &[f64]) -> DMatrix<f64> {
        let DensePromise { unit, underflow, rounds_z, .. } = self.promise;
        let (z, b, delta) = (self.z.map(Complex::norm), self.b.map(Complex::norm), self.delta.abs());
        let products = factors.len() - 1;
        let sizes = factors.iter().rev().fold(b.map(|_| 0.0), |sum, factor| &b * *factor + &z * sum);
        let each = match products {
            0 => unit,
            _ => products as f64 * (self.gamma() + 4.0 * unit + if rounds_z { unit } else { 0.0 }),
        };
        sizes.map(|size| delta * (each * size + products as f64 * underflow) + underflow)
    }

    /// Those of Σ w_k Δᵏ φ_k(z) B, w_1 first.
    fn of_phis(&self, weights: &[f64]) -> DMatrix<f64> {
        let DensePromise { unit, underflow, rounds_z, .. } = self.promise;
        let (n, columns) = self.b.shape();
        let (each, theta) = (self.gamma() + 4.0 * unit, row_norm(&self.x));
        let rounded = if rounds_z { unit * theta } else { 0.0 };
        let start = (n as f64).sqrt() * ((each + rounded) * theta.exp() + remainder(theta));
        let mut errors = DMatrix::zeros(n, columns);
        let starts: Vec<Matrix> = (1..=weights.len()).map(|k| series(&self.x, k)).collect();
        for c in 0..columns {
            let b = self.b.column(c);
            // Underflows of n + 2 roundings in each of n entries, in their norm; in the series as often as it has terms.
            let lost = underflow * (n as f64 + 2.0) * (n as f64).sqrt();
            let begun = lost * f64::from(DensePromise::DEGREE);
            let mut v: Vec<_> = starts.iter().map(|phi| (phi * b, start * b.camax() + begun)).collect();
            for Level { value, spread, error } in &self.levels[..self.levels.len() - 1] {
                let frobenius = value.norm();
                let next = |k: usize| {
                    let (own, off) = &v[k - 1];
                    let mut sum = value * own + own;
                    let mut sizes = (frobenius + error + 1.0) * (own.norm() + off);
                    let mut total = (spread + error) * off + error * own.norm() + off;
                    let mut factorial = 1.0;
                    for j in (1..k).rev() {
                        factorial *= (k - j) as f64;
                        let (lower, off) = &v[j - 1];
                        sum += lower / Complex::from(factorial);
                        sizes += (lower.norm() + off) / factorial;
                        total += off / factorial;
                    }
                    let half = 0.5f64.powi(k as i32);
                    (sum * Complex::from(half), half * (total + each * sizes) + lost)
                };
                v = (1..=v.len()).map(next).collect();
            }
            let mut power = 1.0;
            for (weight, (v, off)) in weights.iter().zip(&v) {
                power *= self.delta.abs();
                for r in 0..n {
                    errors[(r, c)] += weight * power * (off + 8.0 * unit * v[r].norm()) + underflow;
                }
            }
        }
        errors
    }

    fn of_quotient(&self) -> [DMatrix<f64>; 2] {
        let n = self.z.nrows();
        let half = &self.z * Complex::from(0.5);
        let m = Matrix::identity(n, n) - &half;
        let lu = m.clone().lu();
        let unknown = |columns| DMatrix::from_element(n, columns, f64::INFINITY);
        let none = || [unknown(n), unknown(self.b.ncols())];
        let (Some(inverse), Some(upper)) = (lu.try_inverse(), lu.u().try_inverse()) else { return none() };
        // M = (PᵀL)U, or nothing is known of it.
        let mut lower = lu.l();
        lu.p().inv_permute_rows(&mut lower);
        if (&lower * lu.u() - &m).norm() > FACTORED * m.norm() {
            return none();
        }
        let sizes = |of: &Matrix| of.map(Complex::norm);
        let (lower, u) = (sizes(&lower), sizes(&lu.u()));
        let DensePromise { unit, underflow, .. } = self.promise;
        let inverse = sizes(&inverse);
        let own = &inverse * (DMatrix::identity(n, n) + sizes(&half)) * (2.0 * unit);
        let growth = (&inverse * &lower + sizes(&upper) * 3.0) * u * (2.0 * self.gamma()) + own;
        let size = growth.norm();
        if size.is_nan() || size > REGULAR {
            return none();
        }
        let mut term = &growth * &inverse;
        let mut error = term.clone();
        for _ in 1..TERMS {
            if term.norm() <= f64::EPSILON * error.norm() {
                break;
            }
            term = &growth * term;
            error += &term;
        }
        let b = self.b.map(|b| b.norm() * self.delta.abs());
        let of_input = &error * &b + (&inverse + &error) * b * (self.gamma() + 3.0 * unit);
        let mut of_state = error.zip_map(&inverse, |error, inverse| 2.0 * error + unit * 2.0 * inverse);
        (0..n).for_each(|i| of_state[(i, i)] += unit);
        // Underflows on the way are carried as roundings are.
        let lost = underflow * (1.0 + 4.0 * n as f64 * (1.0 + inverse.norm()));
        [of_state, of_input].map(|errors| errors.map(|error| error + lost))
    }
}

/// Ā and B̄ of many systems, judged against certified ones of the same layout.
pub fn judge(
    method: Method,
    problem: &DenseProblem,
    systems: &[System],
    got: &Coefficients,
    want: &Coefficients<f64>,
) -> Named<TensorResult, DenseName> {
    let errors: Vec<_> = systems.iter().map(|system| system.errors(method)).collect();
    let tensors = [
        (DenseName::ABar, &got.a_bar, &want.a_bar, problem.n),
        (DenseName::BBar, &got.b_bar, &want.b_bar, problem.m),
    ];
    let judged = |(name, got, want, columns): (DenseName, &Vec<f32>, &Vec<f64>, usize)| {
        let width = problem.weights.width();
        let place = |at: usize| {
            let entry = at / width;
            let (i, within) = (entry / (problem.n * columns), entry % (problem.n * columns));
            [i, within / columns, within % columns]
        };
        let mut tally = Tally::default();
        let mut failing = Vec::new();
        for (at, (&got, &want)) in got.iter().zip(want).enumerate() {
            let [i, r, c] = place(at);
            let error = errors[i][name as usize][(r, c)];
            let largest = (want.abs() + error).min(f32::MAX.into());
            let store = Format::F32.rounding_error(largest);
            let bound = if error.is_nan() { f64::INFINITY } else { error + store };
            let element = Element { got: got.into(), want, bound, store };
            tally.add(element, Format::F32);
            if bound.is_finite() && (element.distance(Format::F32).ratio > 1.0 || got.is_nan()) {
                failing.push(place(at));
            }
        }
        let ratio = tally.worst.map_or(f64::NAN, |(_, _, distance)| distance.ratio);
        let shown = |(at, element, distance)| {
            let [i, r, c] = place(at);
            let part = if width == 1 { "" } else { [".re", ".im"][at % 2] };
            let inputs = vec![
                format!("system {i}: {} states, delta = {:e}", problem.n, problem.delta[i]),
                format!(
                    "‖z‖ = {:.3e}, ‖e^z‖ = {:.3e}",
                    systems[i].z.norm(),
                    systems[i].levels.last().map_or(f64::NAN, |level| level.value.norm())
                ),
            ];
            worst(&format!("{name}{part}"), vec![i, r, c], element, distance, inputs)
        };
        let mut result = scan::of_tally(&tally, ratio, shown);
        if let Some(&first) = failing.first() {
            result.wrong = vec![located(problem, columns, &failing, first, want.len())];
        }
        (name, result)
    };
    tensors.into_iter().map(judged).collect()
}

/// Where the failing entries are: which systems, and what part of their matrices.
fn located(
    problem: &DenseProblem,
    columns: usize,
    failing: &[[usize; 3]],
    first: [usize; 3],
    judged: usize,
) -> Wrong {
    let mut places = Vec::new();
    let count = problem.delta.len();
    let wrong: Vec<usize> = (0..count).filter(|i| failing.iter().any(|at| at[0] == *i)).collect();
    if wrong.len() < count {
        places.push(format!("system {}", wrong.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")));
    }
    if columns == problem.n && problem.n > 1 {
        let sides = failing.iter().map(|at| at[1].cmp(&at[2])).collect::<BTreeSet<Ordering>>();
        let side = match *sides.into_iter().collect::<Vec<_>>() {
            [Ordering::Equal] => "the diagonal",
            [Ordering::Less] => "above the diagonal",
            [Ordering::Greater] => "below the diagonal",
            [Ordering::Less, Ordering::Greater] => "off the diagonal",
            _ => "",
        };
        places.extend(Some(side).filter(|side| !side.is_empty()).map(str::to_owned));
    }
    for (axis, name, size) in [(1, "row", problem.n), (2, "column", columns)] {
        let all = || failing.iter().map(|at| at[axis]);
        let (low, high) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        match () {
            () if size == 1 || (low, high) == (0, size - 1) => {}
            () if low == high => places.push(format!("{name} {low}")),
            () if high == size - 1 => places.push(format!("{name}s from {low} on")),
            () => places.push(format!("{name}s {low} to {high}")),
        }
    }
    Wrong {
        values: String::new(),
        elements: failing.len(),
        judged,
        first: first.to_vec(),
        places,
        covers: 0,
        like: String::new(),
    }
}

/// The largest sum of a row by |re| + |im|, as kernels halve by it.
fn row_norm(of: &Matrix) -> f64 {
    of.row_iter().map(|row| row.iter().map(|x| x.re.abs() + x.im.abs()).sum()).fold(0.0, f64::max)
}

/// z over a power of two, of a norm of at most this, and the power.
fn halved(z: &Matrix, most: f64) -> (Matrix, usize) {
    let (mut norm, mut halvings) = (row_norm(z), 0);
    // Larger ones have no e^z that the truth knows.
    while norm > most && halvings < 40 {
        norm *= 0.5;
        halvings += 1;
    }
    (z * Complex::from(0.5f64.powi(halvings as i32)), halvings)
}

/// φ_k(x), for a norm of x of at most 2.
fn series(x: &Matrix, k: usize) -> Matrix {
    let n = x.nrows();
    let mut sum = Matrix::identity(n, n);
    for j in (1..=28).rev() {
        sum = Matrix::identity(n, n) + x * sum / Complex::from((j + k) as f64);
    }
    sum / Complex::from((1..=k).product::<usize>() as f64)
}

/// Rest of the series of e^θ beyond the kernels' degree.
fn remainder(theta: f64) -> f64 {
    let first = (1..=DensePromise::DEGREE + 1).fold(1.0, |term, k| term * theta / f64::from(k));
    // The terms after it fall faster than these.
    first * (theta / f64::from(DensePromise::DEGREE)).exp() * (1.0 + theta)
}

/// At least the 2-norm, and at most n^(1/16) times it.
fn spread(of: &Matrix) -> f64 {
    let size = of.norm();
    if size == 0.0 || !size.is_finite() {
        return size;
    }
    let unit = of / Complex::from(size);
    let square = unit.adjoint() * unit;
    let fourth = &square * &square;
    size * (&fourth * &fourth).norm().powf(0.125)
}

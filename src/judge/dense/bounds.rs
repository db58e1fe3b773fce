//! Bounds of dense steps, whose Ā and B̄ are matrices, from the conditioning of the very system.
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
//! **Derivatives.** e^z's along G is in the corner of exp [[z, G], [0, z]]. Squares of that matrix take X to X² and the corner L to XL + LX. With δ
//! and λ what X and L are off, ‖δ(X²)‖ ≤ (2‖X‖₂ + δ)δ + γ‖(|X| + |δX|)²‖, and
//!
//! λ' = 2(‖X‖₂ + δ)λ + 2δ‖L‖ + 2γ(‖|X||L| + |L||X|‖ + 2(‖X‖λ + δ‖L‖ + δλ)),
//!
//! a row of the corner having 2n terms. For x = z/2ˢ a series is off by γ Σ (k − 1)|x|ᵏ/k! for products, 5u e^{|x|} for sums, and u|x|e^{|x|}
//! where z is rounded; L by the derivatives of these along |G|/2ˢ. Both are taken twice, for schemes whose coefficients have
//! other signs. ‖∫ e^{tz} E e^{(1−t)z} dt‖ is at most e^{‖x‖} for x, and 2‖e^x‖₂ times as much along 2E for 2x. One that squares both side by side, or
//! scales G first, rounds no more. Roundings are the same ones whatever power of two scales G, given s.
//!
//! **Polynomials** of `rk4` and others, and `zoh`'s ΔB, entry by entry: each term |z|ᵏ|B| passes as many products, each with a few roundings.
//!
//! **Quotients.** Ā = 2M⁻¹ − I and B̄ = M⁻¹ΔB for M = I − αz, α = ½. M⁻¹ by Gauss–Jordan elimination with partial pivoting: |δM⁻¹| ≤ G(|M⁻¹| + |δM⁻¹|),
//! G = 2γ(|M⁻¹||L||U| + 3|U⁻¹||U|) (Higham, Accuracy and Stability, 2nd ed., theorem 14.5, by columns) + 2u|M⁻¹|(I + |αz|) for the roundings of
//! M itself: the sum of Gᵏ|M⁻¹|. Where ‖G‖ is above ½, M cannot be told from a singular matrix, and the bound is infinite. L and U are those of
//! pivots in f64: where two entries of a column are alike to a few roundings a kernel may take the other row, whose factors are as large to a
//! small factor. Not pivoting at all is not within it where the factors grow.
//!
//! Others may solve for M⁻¹N, N = I + (1 − α)z, or multiply by an inverse: |δ(M⁻¹N)| ≤ |δM⁻¹||N| + (|M⁻¹| + |δM⁻¹|)((γ + 3u)|N| + u(I + 2(1 − α)|z|))
//! has room for both (Higham, theorem 9.4 and §14.1) and for the roundings of N; entry by entry they get the larger of this and of the above.
//! Their exponentials are taken to be no worse than by a series of degree 18 from a norm of 1 on; for Padé approximants that is not derived,
//! but seen.
//!
//! These are worst cases, n for √n and norms for entries: roundings of a good kernel take 5 % of the bound at 4 states, and a few
//! thousandths of a percent of e^z's at 64 complex ones.

use std::borrow::Cow;

use nalgebra::{Complex, DMatrix};

use crate::formula::{Form, Fraction, Function, Term, Transition};
use crate::problem::Weights;
use crate::promise::DensePromise;

pub type Matrix = DMatrix<Complex<f64>>;
/// Δ, A and B.
pub type Step = (f64, Matrix, Matrix);

/// φ-functions that a B̄ may have.
const PHIS: usize = 3;
/// ‖G‖ up to which there is an inverse, and terms of its series: what is left is below 2⁻⁵⁰ then.
const REGULAR: f64 = 0.5;
const TERMS: usize = 50;
/// Share of a matrix by which the product of its factors in f64 may miss it, with room for growth.
const FACTORED: f64 = 1e-10;

/// A system, and what all forms' bounds on it have in common.
pub struct System {
    /// Its place among those of a run.
    pub index: usize,
    pub weights: Weights,
    pub delta: f64,
    pub a: Matrix,
    pub b: Matrix,
    promise: DensePromise,
    pub z: Matrix,
    /// Halvings of z before its series, as these kernels choose them.
    pub halvings: usize,
    /// e^x, e^{2x}, …, e^z where they are kept.
    levels: Vec<Level>,
}

/// e^{z/2ᵏ}, and what a kernel may have it off by.
#[derive(Clone)]
struct Level {
    value: Matrix,
    /// At least its 2-norm.
    spread: f64,
    error: f64,
}

/// A matrix in f64, and how far an implementation may be from the exact one before it rounds on store.
#[derive(Clone, Debug)]
pub struct Bounded {
    pub value: Matrix,
    pub error: DMatrix<f64>,
}

/// Derivative of e^z along a matrix, and what an implementation may have it off by, in Frobenius' norm.
#[derive(Clone, Debug)]
pub struct Derivative {
    pub value: Matrix,
    pub error: f64,
    /// At least ‖∫ e^{tz} E e^{(1−t)z} dt‖ of each E of norm 1.
    pub sensitivity: f64,
}

impl Level {
    fn bounded(&self) -> Bounded {
        let Level { value, error, .. } = self;
        Bounded { value: value.clone(), error: value.map(|_| *error) }
    }
}

impl System {
    pub fn new(weights: Weights, index: usize, (delta, a, b): Step, promise: DensePromise) -> Self {
        let z = &a * Complex::from(delta);
        let halvings = halvings(&z, promise.norm);
        System { index, weights, delta, a, b, promise, z, halvings, levels: Vec::new() }
    }

    /// Keeps the exponentials, s + 1 matrices, for the bounds of several forms. Many systems have no room for them.
    #[must_use]
    pub fn prepared(mut self) -> Self {
        self.levels = self.exponentials();
        self
    }

    /// System of another step in its place.
    pub fn with(&self, step: Step) -> Self {
        System::new(self.weights, self.index, step, self.promise)
    }

    /// Its step.
    pub fn step(&self) -> Step {
        (self.delta, self.a.clone(), self.b.clone())
    }

    /// Ā (n, n) and B̄ (n, m), the coefficient of u_l.
    pub fn solved(&self, form: Form) -> [Bounded; 2] {
        let formula = form.formula();
        // One walk for both.
        let levels = if formula.is_rational() { Cow::default() } else { self.levels() };
        let state = match (formula.a_bar, levels.last()) {
            (Transition::Exponential, Some(last)) => last.bounded(),
            _ => self.of_state(formula.a_bar),
        };
        [state, self.of_terms(formula.now(), &levels)]
    }

    fn levels(&self) -> Cow<'_, [Level]> {
        if self.levels.is_empty() { Cow::Owned(self.exponentials()) } else { Cow::Borrowed(&self.levels) }
    }

    /// Share of a bound of [`System::solved`] by which its values, which are computed in double, may be off themselves.
    pub fn own_share(&self) -> f64 {
        DensePromise::ACCURATE.unit / self.promise.unit
    }

    /// Unit roundoff of the arithmetic.
    pub fn unit(&self) -> f64 {
        self.promise.unit
    }

    /// ‖z‖ and ‖e^z‖.
    pub fn norms(&self) -> [f64; 2] {
        [self.z.norm(), self.of_state(Transition::Exponential).value.norm()]
    }

    /// Derivative of e^z along a matrix, from z/2ˢ with this s at least, and what an exponential of [[z, G], [0, z]] may have it off by
    /// (module documentation, "Derivatives").
    pub fn derivative(&self, along: &Matrix, halvings: usize) -> Derivative {
        let DensePromise { unit, underflow, rounds_z, .. } = self.promise;
        let halvings = halvings.max(self.halvings);
        let half = Complex::from(0.5f64.powi(halvings as i32));
        let (x, g) = (&self.z * half, along * half);
        let real = |of: &Matrix| sizes(of).map(Complex::from);
        let (mut gamma, n) = (self.gamma(), x.nrows() as f64);
        let [mut value, mut slope] = series_with(&x, &g);
        // Moduli in their place, and Σ (k − 1)|x|ᵏ/k!.
        let (x_size, g_size) = (real(&x), real(&g));
        let [e, by] = series_with(&x_size, &g_size);
        let [p, p_by] = [&x_size * &e, &g_size * &e + &x_size * &by];
        let identity = Matrix::identity(x.nrows(), x.nrows());
        let of_z = if rounds_z { unit } else { 0.0 };
        let rest = self.promise.remainder(row_norm(&x));
        let lost = 2.0 * n * n * underflow;
        let mut off = 2.0 * (gamma * (&p - &e + identity).norm() + 5.0 * unit * e.norm() + of_z * p.norm());
        off += n.sqrt() * rest + lost;
        let mut slope_off =
            2.0 * (2.0 * gamma * (&p_by - &by).norm() + 5.0 * unit * by.norm() + of_z * p_by.norm());
        slope_off += f64::from(self.promise.degree + 1) * n.sqrt() * rest * g.norm() + lost;
        let mut sensitivity = x.norm().exp();
        gamma *= 1.0 + unit;
        for _ in 0..halvings {
            let (spread, size, along) = (spread(&value), value.norm(), slope.norm());
            let (value_size, slope_size) = (real(&value), real(&slope));
            let terms = (&value_size * &slope_size + &slope_size * &value_size).norm();
            let terms = terms + 2.0 * (size * slope_off + off * along + off * slope_off);
            slope_off = 2.0 * ((spread + off) * slope_off + off * along) + 2.0 * gamma * terms + lost;
            let terms = (&value_size * &value_size).norm() + (2.0 * size + off) * off;
            off = (2.0 * spread + off) * off + gamma * terms + lost;
            slope = &value * &slope + &slope * &value;
            value = &value * &value;
            sensitivity *= spread;
        }
        Derivative { value: slope, error: slope_off, sensitivity }
    }

    /// x = z/2ˢ
    fn x(&self) -> Matrix {
        &self.z * Complex::from(0.5f64.powi(self.halvings as i32))
    }

    /// Ā
    pub fn of_state(&self, transition: Transition) -> Bounded {
        let (rows, columns) = self.z.shape();
        match transition {
            Transition::Exponential => {
                let levels = self.levels();
                levels[levels.len() - 1].bounded()
            }
            Transition::Quotient(alpha) => self.of_quotient(alpha, None),
            Transition::Polynomial(factors) => {
                let factors: Vec<f64> = factors.iter().map(|factor| factor.value()).collect();
                self.of_powers(&factors, (1.0, &Matrix::identity(rows, columns)))
            }
        }
    }

    /// B̄ of one input.
    pub fn of_input(&self, terms: &[Term]) -> Bounded {
        let is_of_phi = terms.iter().any(|term| matches!(term.of, Function::Phi(_)));
        self.of_terms(terms, &if is_of_phi { self.levels() } else { Cow::default() })
    }

    fn of_terms(&self, terms: &[Term], levels: &[Level]) -> Bounded {
        let (mut phis, mut powers, mut pole) = ([(0.0, 0); PHIS], Vec::new(), None);
        for Term { factor, delta, of } in terms {
            match of {
                Function::Phi(0) => return self.of_held(factor.value() * self.delta.powi(*delta), levels),
                Function::Phi(k) => phis[k - 1] = (factor.value(), *delta),
                Function::Power(_) => powers.push(factor.value()),
                Function::Resolvent(alpha) => pole = Some(*alpha),
            }
        }
        match pole {
            Some(alpha) => self.of_quotient(alpha, Some(&self.b)),
            None if powers.is_empty() => self.of_phis(&phis, levels),
            None => self.of_powers(&powers, (self.delta, &self.b)),
        }
    }

    /// A multiple of e^z B, which is a term of its own in every form that has it.
    fn of_held(&self, by: f64, levels: &[Level]) -> Bounded {
        let Level { value, error, .. } = &levels[levels.len() - 1];
        let DensePromise { unit, underflow, .. } = self.promise;
        let b = self.b.map(Complex::norm);
        let reached = value.map(|x| x.norm() + error) * &b;
        let carried = value.map(|_| *error) * &b;
        let error = (carried + reached * (self.gamma() + 2.0 * unit)) * by.abs();
        Bounded { value: value * &self.b * Complex::from(by), error: error.add_scalar(underflow) }
    }

    fn gamma(&self) -> f64 {
        let factor = if self.weights == Weights::Complex { 2.0 * std::f64::consts::SQRT_2 } else { 1.0 };
        factor * self.z.nrows() as f64 * self.promise.unit
    }

    fn exponentials(&self) -> Vec<Level> {
        let DensePromise { unit, underflow, rounds_z, .. } = self.promise;
        let (n, gamma) = (self.z.nrows() as f64, self.gamma());
        let x = self.x();
        let theta = row_norm(&x);
        let rest = self.promise.remainder(theta);
        let products = (f64::from(self.promise.degree) / 3.0 + 1.0) * gamma * (theta.exp_m1() - theta);
        let of_z = if rounds_z { unit * theta * theta.exp() } else { 0.0 };
        // Underflows of 2n roundings in each of n² entries, in Frobenius' norm.
        let lost = 2.0 * n * n * underflow;
        let error = n.sqrt() * (products + 5.0 * unit * theta.exp() + rest + of_z) + lost;
        let value = series(&x, 0);
        let mut levels = vec![Level { spread: spread(&value), error, value }];
        for _ in 0..self.halvings {
            let Level { value, spread: before, error } = &levels[levels.len() - 1];
            let rounded = gamma * (value.norm() + error).powi(2) + lost;
            let error = (2.0 * before + error) * error + rounded;
            let value = value * value;
            levels.push(Level { spread: spread(&value), error, value });
        }
        levels
    }

    /// d Σ c_k zᵏ X of (d, X), c_0 first.
    pub(super) fn of_powers(&self, factors: &[f64], (delta, of): (f64, &Matrix)) -> Bounded {
        let DensePromise { unit, underflow, rounds_z, .. } = self.promise;
        let (z, b) = (self.z.map(Complex::norm), of.map(Complex::norm));
        let products = factors.len() - 1;
        // From the last one on: a z that overflows is no part of ΔB.
        let (last, rest) = (factors[products], &factors[..products]);
        let sizes = rest.iter().rev().fold(&b * last, |sum, factor| &b * *factor + &z * sum);
        let sum = rest
            .iter()
            .rev()
            .fold(of * Complex::from(last), |sum, factor| of * Complex::from(*factor) + &self.z * sum);
        let each = match products {
            0 => unit,
            _ => products as f64 * (self.gamma() + 4.0 * unit + if rounds_z { unit } else { 0.0 }),
        };
        let error = |size: f64| delta.abs() * (each * size + products as f64 * underflow) + underflow;
        Bounded { value: sum * Complex::from(delta), error: sizes.map(error) }
    }

    /// Σ w_k Δᵖ φ_k(z) B of (w_k, p), w_1 first.
    fn of_phis(&self, weights: &[(f64, i32)], levels: &[Level]) -> Bounded {
        let DensePromise { unit, underflow, rounds_z, .. } = self.promise;
        let (n, columns) = self.b.shape();
        let x = self.x();
        let (each, theta) = (self.gamma() + 4.0 * unit, row_norm(&x));
        let rounded = if rounds_z { unit * theta } else { 0.0 };
        let start = (n as f64).sqrt() * ((each + rounded) * theta.exp() + self.promise.remainder(theta));
        let mut sum = Bounded { value: Matrix::zeros(n, columns), error: DMatrix::zeros(n, columns) };
        let starts: Vec<Matrix> = (1..=weights.len()).map(|k| series(&x, k)).collect();
        for c in 0..columns {
            let b = self.b.column(c);
            // Underflows of n + 2 roundings in each of n entries, in their norm; in the series as often as it has terms.
            let lost = underflow * (n as f64 + 2.0) * (n as f64).sqrt();
            let begun = lost * f64::from(self.promise.degree);
            let mut v: Vec<_> = starts.iter().map(|phi| (phi * b, start * b.camax() + begun)).collect();
            for Level { value, spread, error } in &levels[..levels.len() - 1] {
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
            for (&(weight, power), (v, off)) in weights.iter().zip(&v) {
                let by = weight * self.delta.powi(power);
                for r in 0..n {
                    sum.value[(r, c)] += v[r] * by;
                    sum.error[(r, c)] += by.abs() * (off + 8.0 * unit * v[r].norm()) + underflow;
                }
            }
        }
        sum
    }

    /// M⁻¹(I + (1 − α)z) of M = I − αz, or M⁻¹ΔX.
    pub fn of_quotient(&self, alpha: Fraction, of: Option<&Matrix>) -> Bounded {
        let n = self.z.nrows();
        let share = &self.z * Complex::from(alpha.value());
        let m = Matrix::identity(n, n) - &share;
        let over = match of {
            Some(of) => of * Complex::from(self.delta),
            None => Matrix::identity(n, n) + &self.z * Complex::from(alpha.complement().value()),
        };
        let lu = m.clone().lu();
        let unknown = |value: Matrix| Bounded { error: value.map(|_| f64::INFINITY), value };
        let (Some(inverse), Some(value)) = (lu.try_inverse(), lu.solve(&over)) else {
            return unknown(over.map(|_| f64::NAN.into()));
        };
        // M = (PᵀL)U, or nothing is known of it.
        let (mut lower, u) = (lu.l(), lu.u());
        lu.p().inv_permute_rows(&mut lower);
        let Some(upper) = u.clone().try_inverse() else { return unknown(value) };
        if (&lower * &u - &m).norm() > FACTORED * m.norm() {
            return unknown(value);
        }
        let (lower, u) = (sizes(&lower), sizes(&u));
        let DensePromise { unit, underflow, is_known, .. } = self.promise;
        let inverse = sizes(&inverse);
        let own = &inverse * (DMatrix::identity(n, n) + sizes(&share)) * (2.0 * unit);
        let growth = (&inverse * &lower + sizes(&upper) * 3.0) * u * (2.0 * self.gamma()) + own;
        let size = growth.norm();
        if size.is_nan() || size > REGULAR {
            return unknown(value);
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
        let over = sizes(&over);
        let solved = &error * &over + (&inverse + &error) * &over * (self.gamma() + 3.0 * unit);
        let error = match of {
            Some(_) => solved,
            None => {
                // Ā computed as M⁻¹/α − (1 − α)/α I.
                let by = 1.0 / alpha.value();
                let mut inverted = error.zip_map(&inverse, |error, inverse| by * error + unit * by * inverse);
                (0..n).for_each(|i| inverted[(i, i)] += unit * alpha.complement().value() * by);
                // As M⁻¹N its N has the roundings of z, and those of a sum that may be far smaller.
                let of_sum = DMatrix::identity(n, n) + sizes(&self.z) * (2.0 * alpha.complement().value());
                let solved = solved + (&inverse + &error) * of_sum * unit;
                if is_known { inverted } else { inverted.zip_map(&solved, f64::max) }
            }
        };
        // Underflows on the way are carried as roundings are.
        let lost = underflow * (1.0 + 4.0 * n as f64 * (1.0 + inverse.norm()));
        Bounded { value, error: error.map(|error| error + lost) }
    }
}

/// Bound of the Frobenius norm of an Ā's error. That of an exponential is one of the norm, entry by entry.
pub fn norm_of_state(transition: Transition, error: &DMatrix<f64>) -> f64 {
    if transition == Transition::Exponential { most(error) } else { error.norm() }
}

fn most(error: &DMatrix<f64>) -> f64 {
    error.iter().fold(
        0.0,
        |most: f64, error| if most.is_nan() || error.is_nan() { f64::NAN } else { most.max(*error) },
    )
}

/// Bound of the norm of a B̄'s error, of one column: those of φ-functions are of its norm.
pub fn norm_of_input(terms: &[Term], error: &DMatrix<f64>) -> f64 {
    let is_of_phi = terms.iter().any(|term| matches!(term.of, Function::Phi(1..)));
    if is_of_phi { most(error) } else { error.norm() }
}

/// The largest sum of a row by |re| + |im|, as kernels halve by it.
fn row_norm(of: &Matrix) -> f64 {
    of.row_iter().map(|row| row.iter().map(|x| x.re.abs() + x.im.abs()).sum()).fold(0.0, f64::max)
}

/// Halvings after which z has a norm of at most this.
fn halvings(z: &Matrix, most: f64) -> usize {
    let (mut norm, mut halvings) = (row_norm(z), 0);
    // Larger ones have no e^z that the truth knows.
    while norm > most && halvings < 40 {
        norm *= 0.5;
        halvings += 1;
    }
    halvings
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

/// Moduli of all entries.
pub fn sizes(of: &Matrix) -> DMatrix<f64> {
    of.map(Complex::norm)
}

/// e^x and its derivative along g, likewise.
fn series_with(x: &Matrix, g: &Matrix) -> [Matrix; 2] {
    let identity = Matrix::identity(x.nrows(), x.nrows());
    let (mut sum, mut slope) = (identity.clone(), x.map(|_| Complex::from(0.0)));
    for j in (1..=29).rev() {
        let over = Complex::from(f64::from(j));
        slope = (g * &sum + x * slope) / over;
        sum = &identity + x * sum / over;
    }
    [sum, slope]
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

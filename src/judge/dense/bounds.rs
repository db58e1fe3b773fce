//! Bounds of dense steps, whose Ā and B̄ are matrices, from the conditioning of the very system.
//!
//! With u the unit roundoff of the arithmetic ([`DensePromise`]), norms without an index those of Frobenius, |X| the matrix of moduli,
//! and n states. What comes out is rounded once more, on store.
//!
//! **Products.** |fl(XY) − XY| ≤ γ|X||Y|, γ = nu; of complex ones each part has 2n roundings of at most |X||Y|, γ = 2√2·nu. So
//! ‖fl(XY) − XY‖ ≤ γ‖X‖‖Y‖.
//!
//! **Exponentials.** x = z/2ˢ with θ = ‖x‖_∞ ≤ 2. Its series, of blocks or by Horner's scheme, passes a term of degree k through at most k
//! products and every term through a few sums; what is beyond its degree d is left. With Σ k|x|ᵏ/k! = |x|e^{|x|}, entry by entry
//!
//! |δe| ≤ E = γ|x|e^{|x|} + 5u e^{|x|} + |x|^{d+1}/(d+1)! e^{|x|},   and u|x|e^{|x|} where z is rounded.
//!
//! A square X² of a matrix that is off by δX is off by XδX + δXX + δX² and its own rounding:
//!
//! |δ(X²)| ≤ |X|E + E(|X| + E) + γ(|X| + E)²        ‖δ(X²)‖ ≤ (2‖X‖₂ + ‖δX‖)‖δX‖ + γ‖(|X| + E)²‖
//!
//! Both are followed, and each entry is at most the norm, which is at most that of all entries. The s squares follow the true powers e^{z/2ᵏ},
//! so what comes of this is no guess about hidden growth: of matrices that do not grow it is ‖z‖ units, the condition of e^z; of others (Grcar) it
//! is larger as the powers on the way are. Entries tell where a matrix is graded or triangular, as LegS is. ‖X‖₂ ≤ ‖(X*X)⁴‖^⅛, within n^(1/16).
//!
//! **φ-functions.** v_k ≈ φ_k(x)B, a column at a time. Horner's scheme passes a term j of v_k through j products: |δv_k| ≤ (γ + 4u) e^{|x|}|B| and the
//! rest of the series. A doubling, v_k ← 2⁻ᵏ(e v_k + Σ v_j/(k−j)!), is off by what its parts are, |e||δv_k| + |δe|(|v_k| + |δv_k|) + Σ |δv_j|/(k−j)!, and
//! by (γ + 4u) of the sizes of its terms; in 2-norms likewise, with ‖e‖₂.
//!
//! **Derivatives.** e^z's along G is in the corner of exp [[z, G], [0, z]]. Squares of that matrix take X to X² and the corner L to XL + LX. With E
//! and Λ what X and L are off,
//!
//! Λ' = (|X| + E)Λ + Λ(|X| + E) + E|L| + |L|E + 2γ((|X| + E)(|L| + Λ) + (|L| + Λ)(|X| + E)),
//!
//! a row of the corner having 2n terms; in norm 2(‖X‖₂ + ‖E‖)‖Λ‖ + 2‖E‖‖L‖ and the same roundings. L of a series is off by the derivatives of
//! the above along |G|/2ˢ. What G itself is off goes through |X| alike, or comes to at most κ‖δG‖: ‖∫ e^{tz} D e^{(1−t)z} dt‖ is at most
//! e^{‖x‖} for x, and 2‖e^x‖₂ times as much along 2D for 2x. One that squares both side by side, or scales G first, rounds no more. Roundings are
//! the same ones whatever power of two scales G, given s. More halvings leave less of a series and round more often: of these kernels, whose series
//! in double leaves more than roundings, the larger of the bounds with the fewest and with the most counts, entry by entry.
//!
//! Series of these kernels are off entry by entry. Those of others may be quotients, whose errors have no regard for small entries or zeros of a
//! triangle: they may be off by a norm wherever it is. ‖|x|ᵏ‖ ≤ √n θᵏ, since a row's 2-norm is at most its 1-norm, so that norm is √n times the
//! above of θ, with (q + 1)(e^θ − 1 − θ) for products of q blocks of three terms; of derivatives, twice that of the entries, for coefficients
//! that have other signs. Squares are those of all.
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

pub use super::series::sizes;
use super::series::{halvings, phi, power_with, product, row_norm, series, series_with, spread};
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
    of: Bounded,
    /// At least its 2-norm.
    spread: f64,
}

/// A matrix in f64, and how far an implementation may be from the exact one before it rounds on store: entry by entry, and in Frobenius' norm.
#[derive(Clone, Debug)]
pub struct Bounded {
    pub value: Matrix,
    pub error: DMatrix<f64>,
    pub norm: f64,
}

/// Derivative of e^z along a matrix.
#[derive(Clone, Debug)]
pub struct Derivative {
    pub of: Bounded,
    /// At least ‖∫ e^{tz} E e^{(1−t)z} dt‖ of each E of norm 1.
    pub sensitivity: f64,
}

impl Bounded {
    /// A matrix that is off by as much entry by entry.
    pub fn by_entries(value: Matrix, error: DMatrix<f64>) -> Self {
        Bounded { norm: error.norm(), value, error }
    }

    /// A matrix whose error has this norm at most, beside those of its entries.
    pub fn new(value: Matrix, error: DMatrix<f64>, norm: f64) -> Self {
        let norm = least(norm, error.norm());
        Bounded { value, error: error.map(|entry| least(entry, norm)), norm }
    }

    /// Adds errors of entries.
    pub fn add(&mut self, more: &DMatrix<f64>) {
        self.error += more;
        self.norm += more.norm();
    }

    /// With errors so many times as large.
    #[must_use]
    pub fn scaled(self, by: f64) -> Self {
        Bounded { value: self.value, error: self.error * by, norm: self.norm * by }
    }

    /// The product with another matrix, of which a row has roundings of so much of its moduli.
    #[must_use]
    pub fn times(&self, other: &Bounded, gamma: f64) -> Self {
        let [reach, of_other] = [self.reach(), other.reach()];
        let error = sizes(&self.value) * &other.error + &self.error * &of_other + &reach * &of_other * gamma;
        let [size, of_other] = [self.value.norm(), other.value.norm()];
        let norm = size * other.norm
            + self.norm * (of_other + other.norm)
            + gamma * (size + self.norm) * (of_other + other.norm);
        Bounded::new(product(&self.value, &other.value), error, norm)
    }

    /// As many times of it as a number that may be off by so much says.
    #[must_use]
    pub fn multiple(&self, by: Complex<f64>, off: f64) -> Self {
        let size = by.norm() + off;
        let error = &self.error * size + sizes(&self.value) * off;
        Bounded { value: &self.value * by, error, norm: self.norm * size + self.value.norm() * off }
    }

    /// Adds an error in each entry.
    fn and_lost(mut self, lost: f64) -> Self {
        self.norm += lost * (self.error.len() as f64).sqrt();
        self.error.add_scalar_mut(lost);
        self
    }

    /// Moduli that its entries reach.
    pub fn reach(&self) -> DMatrix<f64> {
        sizes(&self.value) + &self.error
    }
}

/// The smaller of two bounds, of which one that is no number bounds nothing.
pub fn least(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() { f64::NAN } else { one.min(other) }
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
            (Transition::Exponential, Some(last)) => last.of.clone(),
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

    /// Derivative of e^z along a matrix that is off by so much, from z/2ˢ with an s from the fewest to the most, in the corner of an exponential of
    /// [[z, G], [0, z]] (module documentation, "Derivatives").
    pub fn derivative(&self, along: &Matrix, off: &DMatrix<f64>, [fewest, most]: [usize; 2]) -> Derivative {
        let mut found = self.halved(along, off, most);
        if self.promise.is_known && fewest < most {
            let other = self.halved(along, off, fewest);
            found.of.error.zip_apply(&other.of.error, |error, other| *error = error.max(other));
            found.of.norm = found.of.norm.max(other.of.norm);
            found.sensitivity = found.sensitivity.max(other.sensitivity);
        }
        found
    }

    /// Derivative from z/2ˢ with this s.
    fn halved(&self, along: &Matrix, off: &DMatrix<f64>, halvings: usize) -> Derivative {
        let half = 0.5f64.powi(halvings as i32);
        let (x, g) = (&self.z * Complex::from(half), along * Complex::from(half));
        let (gamma, lost) = (self.gamma() * (1.0 + self.promise.unit), self.lost());
        let [value, slope] = series_with(&x, &g);
        let (x_size, g_size) = (sizes(&x), sizes(&g));
        let of_value = self.of_series(&x_size, &series(&x_size, 0));
        // Twice as much, for schemes whose coefficients have other signs.
        let begun = |value: Matrix, error: DMatrix<f64>| {
            let norm = 2.0 * error.norm();
            self.begun(value, error * 2.0, norm).and_lost(lost)
        };
        let (mut now, mut corner) = (begun(value, of_value), begun(slope, self.of_slope(&x_size, &g_size)));
        let [_, mut carried] = series_with(&x_size, &(off * half));
        let mut sensitivity = x.norm().exp();
        for _ in 0..halvings {
            let (spread, reach, of_corner) = (spread(&now.value), now.reach(), corner.reach());
            let size = sizes(&corner.value);
            let both = |one: &DMatrix<f64>, other: &DMatrix<f64>| one * other + other * one;
            let rounded = both(&reach, &of_corner) * (2.0 * gamma);
            let entries = both(&reach, &corner.error) + both(&now.error, &size) + &rounded;
            let norm = 2.0 * ((spread + now.norm) * corner.norm + now.norm * corner.value.norm());
            let value = product(&now.value, &corner.value) + product(&corner.value, &now.value);
            corner = Bounded::new(value, entries, norm + rounded.norm()).and_lost(lost);
            carried = both(&reach, &carried);
            sensitivity *= spread + now.norm;
            now = self.squared(&now, spread, gamma);
        }
        let norm = least(sensitivity * off.norm(), carried.norm());
        let error = corner.error + carried.map(|entry| least(entry, norm));
        Derivative { of: Bounded::new(corner.value, error, corner.norm + norm), sensitivity }
    }

    /// How far each entry of e^x may be off for a series, by moduli of x and their e^x.
    fn of_series(&self, x: &DMatrix<f64>, e: &DMatrix<f64>) -> DMatrix<f64> {
        let p = x * e;
        let [rest, _] = power_with(x, None, self.promise.degree + 1);
        p * (self.gamma() + self.of_z()) + e * (5.0 * self.promise.unit) + rest * e
    }

    /// How far each entry of the derivative of e^x along g may be off for a series, by moduli of both.
    fn of_slope(&self, x: &DMatrix<f64>, g: &DMatrix<f64>) -> DMatrix<f64> {
        let [e, by] = series_with(x, g);
        let p_by = g * &e + x * &by;
        let [rest, rest_by] = power_with(x, Some(g), self.promise.degree + 1);
        p_by * (2.0 * self.gamma() + self.of_z()) + &by * (5.0 * self.promise.unit) + rest_by * e + rest * by
    }

    /// Unit of z's rounding, where it is rounded.
    fn of_z(&self) -> f64 {
        if self.promise.rounds_z { self.promise.unit } else { 0.0 }
    }

    /// Underflows of some eight products of n terms in each entry, complex ones of 2n in each part.
    fn lost(&self) -> f64 {
        32.0 * self.z.nrows() as f64 * self.promise.underflow
    }

    /// The square of a matrix of which this is at least the 2-norm.
    fn squared(&self, of: &Bounded, spread: f64, gamma: f64) -> Bounded {
        let Bounded { value, error, norm } = of;
        let reach = of.reach();
        let rounded = &reach * &reach * gamma;
        let entries = sizes(value) * error + error * &reach + &rounded;
        Bounded::new(product(value, value), entries, (2.0 * spread + norm) * norm + rounded.norm())
            .and_lost(self.lost())
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
                levels[levels.len() - 1].of.clone()
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
        let Level { of, .. } = &levels[levels.len() - 1];
        let DensePromise { unit, underflow, .. } = self.promise;
        let b = sizes(&self.b);
        let error = (&of.error * &b + of.reach() * &b * (self.gamma() + 2.0 * unit)) * by.abs();
        Bounded::by_entries(&of.value * &self.b * Complex::from(by), error.add_scalar(underflow))
    }

    /// Roundings of a product with its matrices, for the moduli of the factors.
    pub fn gamma(&self) -> f64 {
        self.promise.gamma(self.weights, self.z.nrows())
    }

    fn exponentials(&self) -> Vec<Level> {
        let x = self.x();
        let level = |of: Bounded| Level { spread: spread(&of.value), of };
        let size = sizes(&x);
        let error = self.of_series(&size, &series(&size, 0));
        let (theta, unit) = (row_norm(&x), self.promise.unit);
        let products = (f64::from(self.promise.degree) / 3.0 + 1.0) * self.gamma() * (theta.exp_m1() - theta);
        let rounded = 5.0 * unit * theta.exp() + self.of_z() * theta * theta.exp();
        let norm = (x.nrows() as f64).sqrt() * (products + rounded + self.promise.remainder(theta));
        let start = self.begun(phi(&x, 0), error, norm).and_lost(self.lost());
        let mut levels = vec![level(start)];
        for _ in 0..self.halvings {
            let Level { of, spread } = &levels[levels.len() - 1];
            levels.push(level(self.squared(of, *spread, self.gamma())));
        }
        levels
    }

    /// A value of a series whose entries are off by so much, or where it is of others, and may be no series, by this in norm.
    fn begun(&self, value: Matrix, error: DMatrix<f64>, norm: f64) -> Bounded {
        let of_others = if self.promise.is_known { error } else { error.map(|_| norm) };
        Bounded::new(value, of_others, norm)
    }

    /// d Σ c_k zᵏ X of (d, X), c_0 first.
    pub fn of_powers(&self, factors: &[f64], (delta, of): (f64, &Matrix)) -> Bounded {
        let DensePromise { unit, underflow, rounds_z, .. } = self.promise;
        let (z, b) = (self.z.map(Complex::norm), of.map(Complex::norm));
        let products = factors.len() - 1;
        // From the last one on: a z that overflows is no part of ΔB.
        let (last, rest) = (factors[products], &factors[..products]);
        let sizes = rest.iter().rev().fold(&b * last, |sum, factor| &b * *factor + &z * sum);
        let sum = rest.iter().rev().fold(of * Complex::from(last), |sum, factor| {
            of * Complex::from(*factor) + product(&self.z, &sum)
        });
        let each = match products {
            0 => unit,
            _ => products as f64 * (self.gamma() + 4.0 * unit + if rounds_z { unit } else { 0.0 }),
        };
        let error = |size: f64| delta.abs() * (each * size + products as f64 * underflow) + underflow;
        Bounded::by_entries(sum * Complex::from(delta), sizes.map(error))
    }

    /// Σ w_k Δᵖ φ_k(z) B of (w_k, p), w_1 first.
    fn of_phis(&self, weights: &[(f64, i32)], levels: &[Level]) -> Bounded {
        let DensePromise { unit, underflow, .. } = self.promise;
        let (n, columns) = self.b.shape();
        let (x, each) = (self.x(), self.gamma() + 4.0 * unit);
        let size = sizes(&x);
        let e = series(&size, 0);
        let [rest, _] = power_with(&size, None, self.promise.degree + 1);
        let start = &e * each + &size * &e * self.of_z() + rest * e;
        let theta = row_norm(&x);
        let norm = (each + self.of_z() * theta) * theta.exp() + self.promise.remainder(theta);
        let lost = 4.0 * underflow * (n as f64 + 2.0);
        // φ_k = xφ_{k+1} + I/k!
        let mut starts = vec![phi(&x, weights.len())];
        for k in (1..weights.len()).rev() {
            let factorial = (1..=k).product::<usize>() as f64;
            let lower = product(&x, &starts[0]) + Matrix::identity(n, n) / Complex::from(factorial);
            starts.insert(0, lower);
        }
        let mut sum = Bounded::by_entries(Matrix::zeros(n, columns), DMatrix::zeros(n, columns));
        sum.norm = 0.0;
        for c in 0..columns {
            let b = self.b.columns(c, 1).into_owned();
            let error = &start * sizes(&b);
            let begun = lost * f64::from(self.promise.degree);
            let mut v: Vec<Bounded> = starts
                .iter()
                .map(|phi| {
                    let norm = (n as f64).sqrt() * norm * b.camax();
                    self.begun(phi * &b, error.clone(), norm).and_lost(begun)
                })
                .collect();
            for Level { of, spread } in &levels[..levels.len() - 1] {
                let next = |k: usize| {
                    let own = &v[k - 1];
                    let (mut value, mut reach) = (&of.value * &own.value + &own.value, own.reach());
                    let mut entries = sizes(&of.value) * &own.error + &of.error * &reach + &own.error;
                    let mut norm = (spread + of.norm) * own.norm + of.norm * own.value.norm() + own.norm;
                    reach += of.reach() * &reach;
                    let mut factorial = 1.0;
                    for j in (1..k).rev() {
                        factorial *= (k - j) as f64;
                        let lower = &v[j - 1];
                        value += &lower.value / Complex::from(factorial);
                        reach += lower.reach() / factorial;
                        entries += &lower.error / factorial;
                        norm += lower.norm / factorial;
                    }
                    let half = 0.5f64.powi(k as i32);
                    let rounded = reach * each;
                    norm += rounded.norm();
                    Bounded::new(value * Complex::from(half), (entries + rounded) * half, norm * half)
                        .and_lost(lost)
                };
                v = (1..=v.len()).map(next).collect();
            }
            let mut norm = 0.0;
            for (&(weight, power), of) in weights.iter().zip(&v) {
                let by = weight * self.delta.powi(power);
                for r in 0..n {
                    sum.value[(r, c)] += of.value[r] * by;
                    sum.error[(r, c)] +=
                        by.abs() * (of.error[r] + 8.0 * unit * of.value[r].norm()) + underflow;
                }
                norm += by.abs() * (of.norm + 8.0 * unit * of.value.norm()) + underflow * (n as f64).sqrt();
            }
            sum.norm = sum.norm.hypot(norm);
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
        let unknown = |value: Matrix| Bounded::by_entries(value.clone(), value.map(|_| f64::INFINITY));
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
        Bounded::by_entries(value, error.add_scalar(lost))
    }
}

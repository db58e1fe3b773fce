//! What exact arithmetic knows about a dense step: zeros proved by structure or by Cayley–Hamilton, and
//! entries that are rational numbers.
//!
//! A complex A is taken as the real matrix of twice the size that acts on (Re x, Im x), so that the real and
//! the imaginary part of an entry are proved apart.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

use dashu_int::ops::BitTest;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use nalgebra::DMatrix;

use super::defective;
use super::modular::{Residue, is_singular};
use super::rational::{self, Gaussian, exact};
use crate::formula::{Formula, Fraction, Function, Term, Transition};
use crate::truth::number::scalar::Entry;

/// Real unknowns up to which exact linear systems are solved: their numbers grow to that many × 60 bits.
const LARGEST_SOLVE: usize = 48;

/// Real unknowns up to which that is quicker than a wider scalar.
const SMALL_SOLVE: usize = 6;
/// Real unknowns up to which a singular matrix is proved to be.
const LARGEST_PROOF: usize = 64;

/// One problem in exact arithmetic. Rows are real unknowns: part p of entry i is row i + p·n.
pub struct Exact {
    formula: Formula,
    n: usize,
    dim: usize,
    a: Vec<Vec<f64>>,
    /// Columns of Ā's right factor I, then of B.
    sources: Vec<Vec<f64>>,
    delta: f64,
    /// reach[i][j]: some power of A couples unknown j to unknown i.
    reach: Vec<Vec<bool>>,
    singular: bool,
    /// By source, see `last_nonzero_residue`.
    lasts: RefCell<BTreeMap<usize, Vec<Option<usize>>>>,
    solved: OnceCell<Option<Vec<Vec<RBig>>>>,
}

impl Exact {
    pub fn new<T: Entry>(formula: Formula, a: &DMatrix<T>, b: &DMatrix<T>, delta: f64) -> Self {
        use crate::truth::number::scalar::Real;
        let n = a.nrows();
        let dim = n * T::WIDTH;
        let part = |x: &T, p: usize| x.part(p).to_nearest_f64();
        let entry = |row: usize, column: usize| {
            let x = &a[(row % n, column % n)];
            match (row / n, column / n) {
                (0, 1) => -part(x, 1),
                (1, 0) => part(x, 1),
                _ => part(x, 0),
            }
        };
        let unit = |j: usize| (0..dim).map(|i| if i == j { 1.0 } else { 0.0 }).collect();
        let column = |j: usize| (0..dim).map(|i| part(&b[(i % n, j)], i / n)).collect();
        let sources = (0..n).map(unit).chain((0..b.ncols()).map(column)).collect();
        let mut a: Vec<Vec<f64>> = (0..dim).map(|i| (0..dim).map(|j| entry(i, j)).collect()).collect();
        let singular = is_singular(residues(&a, |_, _, x| x))
            && (dim > LARGEST_PROOF || {
                proves_singular(a.iter().map(|row| row.iter().map(|&x| exact(x)).collect()).collect())
            });
        if delta == 0.0 {
            // ΔA = 0, and Δ multiplies every B: what A is does not matter.
            a.iter_mut().for_each(|row| row.fill(0.0));
        }
        let reach = transitive_closure(&a);
        Exact {
            formula,
            n,
            dim,
            a,
            sources,
            delta,
            reach,
            singular,
            lasts: RefCell::default(),
            solved: OnceCell::new(),
        }
    }

    /// Whether A has no inverse. For a very large A this is all but certain only.
    pub fn is_singular(&self) -> bool {
        self.singular
    }

    /// Whether I − αΔA has no inverse. A matrix too large to prove it of is left to the solver to refuse.
    pub fn at_pole(&self) -> bool {
        let Some(alpha) = self.formula.pole() else { return false };
        let share = Residue::of(self.delta).times(Residue::of(alpha.value()));
        let one = |i, j| if i == j { Residue::ONE } else { Residue::ZERO };
        is_singular(residues(&self.a, |i, j, x| one(i, j).minus(share.times(x))))
            && self.dim <= LARGEST_PROOF
            && proves_singular(self.below(alpha))
    }

    /// I − αΔA
    fn below(&self, alpha: Fraction) -> Vec<Vec<RBig>> {
        let share = exact(self.delta) * rational::fraction(alpha);
        let entry = |i: usize, j: usize| {
            let identity = if i == j { RBig::ONE } else { RBig::ZERO };
            identity - &share * exact(self.a[i][j])
        };
        (0..self.dim).map(|i| (0..self.dim).map(|j| entry(i, j)).collect()).collect()
    }

    /// The size of A if its couplings have no cycle (but for the diagonal), else 0.
    pub fn chain(&self) -> usize {
        let cyclic = (0..self.dim).any(|i| (0..i).any(|j| self.reach[i][j] && self.reach[j][i]));
        if cyclic { 0 } else { self.n }
    }

    fn source(&self, panel: usize, column: usize) -> &[f64] {
        &self.sources[if panel == 0 { column } else { self.n + column }]
    }

    /// The entry if exact arithmetic knows it: as a zero (of every power of A, hence of every power series in
    /// A and its analytic continuation), or as a rational number. `row` counts real unknowns. Linear systems
    /// are solved where they are small, or when asked to be `thorough`.
    pub fn entry(&self, panel: usize, row: usize, column: usize, thorough: bool) -> Option<RBig> {
        let source = self.source(panel, column);
        if (0..self.dim).all(|k| source[k] == 0.0 || !self.reach[row][k]) {
            return Some(RBig::ZERO);
        }
        if let Some(value) = self.polynomial_entry(panel, row, column) {
            return Some(value);
        }
        let last = self.last_nonzero_residue(row, panel, column);
        if last.is_none_or(|k| k < self.dim) {
            let moments = self.moments(row, source);
            let terms = moments.iter().rposition(|m| !m.is_zero()).map_or(0, |k| k + 1);
            // By Cayley–Hamilton dim zeros in a row are followed by zeros only.
            if terms <= self.dim {
                return self.series(panel, &moments[..terms]);
            }
        }
        if let Some(value) = self.defective_entry(panel, row, source) {
            return Some(value);
        }
        if thorough || self.dim <= SMALL_SOLVE { self.solved_entry(panel, row, column) } else { None }
    }

    /// See [`defective`].
    fn defective_entry(&self, panel: usize, row: usize, source: &[f64]) -> Option<RBig> {
        if self.formula.is_rational() {
            return None;
        }
        let (n, width) = (self.n, self.dim / self.n);
        let parts = |k: usize| (0..width).map(move |p| k + p * n);
        let reaches = |i: usize, j: usize| parts(i).any(|i| parts(j).any(|j| self.reach[i][j]));
        let sourced = |k: usize| (0..n).any(|l| parts(l).any(|l| source[l] != 0.0) && reaches(k, l));
        let between: Vec<usize> = (0..n).filter(|&k| reaches(row % n, k) && sourced(k)).collect();
        if between.len() > defective::LARGEST {
            return None;
        }
        let delta = exact(self.delta);
        let number = |re: f64, im: f64| Gaussian { re: exact(re), im: exact(im) };
        let second = |row: usize| if width == 2 { row + n } else { row };
        let imaginary = |x: f64| if width == 2 { x } else { 0.0 };
        let z: Vec<Vec<Gaussian>> = between
            .iter()
            .map(|&i| {
                let entry = |&j: &usize| number(self.a[i][j], imaginary(self.a[second(i)][j])).scale(&delta);
                between.iter().map(entry).collect()
            })
            .collect();
        let vector: Vec<Gaussian> =
            between.iter().map(|&k| number(source[k], imaginary(source[second(k)]))).collect();
        let at = between.iter().position(|&k| k == row % n)?;
        defective::entry((&self.formula, panel), &delta, &z, &vector, (at, row / n))
    }

    /// The last k < 2·dim for which e_rowᵀ Aᵏ source is not 0 modulo the prime; found for all rows at once.
    fn last_nonzero_residue(&self, row: usize, panel: usize, column: usize) -> Option<usize> {
        let index = if panel == 0 { column } else { self.n + column };
        let mut lasts = self.lasts.borrow_mut();
        let last = lasts.entry(index).or_insert_with(|| {
            let a = residues(&self.a, |_, _, x| x);
            let mut vector: Vec<Residue> = self.sources[index].iter().map(|&x| Residue::of(x)).collect();
            let mut last = vec![None; self.dim];
            for k in 0..2 * self.dim {
                for (last, _) in last.iter_mut().zip(&vector).filter(|(_, x)| **x != Residue::ZERO) {
                    *last = Some(k);
                }
                let dot = |row: &Vec<Residue>| {
                    row.iter().zip(&vector).fold(Residue::ZERO, |sum, (&x, &y)| sum.plus(x.times(y)))
                };
                vector = a.iter().map(dot).collect();
            }
            last
        });
        last[row]
    }

    /// e_rowᵀ Aᵏ source for k < 2·dim, exactly.
    fn moments(&self, row: usize, source: &[f64]) -> Vec<RBig> {
        let (a, a_scale) = integers(self.a.iter().flatten());
        let (mut vector, scale) = integers(source.iter());
        let mut scale = scale;
        let mut moments = Vec::with_capacity(2 * self.dim);
        for _ in 0..2 * self.dim {
            moments.push(RBig::from_parts(vector[row].clone(), UBig::ONE << scale));
            let dot = |coefficients: &[IBig]| {
                let products = coefficients.iter().zip(&vector).filter(|(x, y)| !x.is_zero() && !y.is_zero());
                products.fold(IBig::ZERO, |sum, (x, y)| sum + x * y)
            };
            vector = a.chunks(self.dim).map(dot).collect();
            scale += a_scale;
        }
        moments
    }

    /// Σ cₖ Δᵏ⁺ʲ mₖ with the form's series in z; the moments beyond are zero.
    fn series(&self, panel: usize, moments: &[RBig]) -> Option<RBig> {
        let delta = exact(self.delta);
        let mut sum = RBig::ZERO;
        let mut power = RBig::ONE;
        for (k, moment) in moments.iter().enumerate() {
            if !moment.is_zero() {
                sum += self.coefficient(panel, k, &delta)? * &power * moment;
            }
            power *= &delta;
        }
        Some(sum)
    }

    /// The coefficient of zᵏ in the panel's series; none for a panel that the form does not have.
    fn coefficient(&self, panel: usize, k: usize, delta: &RBig) -> Option<RBig> {
        let inverse_factorial = |n: usize| {
            let factorial = (1..=n).fold(UBig::ONE, |f, i| f * UBig::from(i));
            RBig::from_parts(IBig::ONE, factorial)
        };
        let power = |alpha, n: usize| (0..n).fold(RBig::ONE, |power, _| power * rational::fraction(alpha));
        let of = |function: Function| match function {
            Function::Phi(j) => inverse_factorial(k + j),
            Function::Power(j) => RBig::from(u8::from(k == j)),
            Function::Resolvent(alpha) => power(alpha, k),
        };
        if let Some(terms) = self.terms(panel) {
            let values = terms.iter().map(|term| rational::factor(term, delta) * of(term.of));
            return values.reduce(|sum, value| sum + value);
        }
        Some(match self.formula.a_bar {
            Transition::Exponential => inverse_factorial(k),
            Transition::Quotient(_) if k == 0 => RBig::ONE,
            Transition::Quotient(alpha) => power(alpha, k - 1),
            Transition::Polynomial(factors) => factors.get(k).map_or(RBig::ZERO, |&c| rational::fraction(c)),
        })
    }

    /// What a B̄ is the sum of; none for Ā.
    fn terms(&self, panel: usize) -> Option<&'static [Term]> {
        panel.checked_sub(1).map(|input| self.formula.b_bar[input])
    }

    /// Panels that are polynomials of z.
    fn polynomial_entry(&self, panel: usize, row: usize, column: usize) -> Option<RBig> {
        let power = |term: &Term| if let Function::Power(k) = term.of { Some(k) } else { None };
        let degree = match (self.terms(panel), self.formula.a_bar) {
            (Some(terms), _) => terms.iter().map(power).collect::<Option<Vec<_>>>()?.into_iter().max()?,
            (None, Transition::Polynomial(factors)) => factors.len() - 1,
            (None, Transition::Exponential | Transition::Quotient(_)) => return None,
        };
        let mut moments = self.moments(row, self.source(panel, column));
        moments.truncate(degree + 1);
        self.series(panel, &moments)
    }

    /// An entry from the exact solution of (I − αz) X = (I, B).
    fn solved_entry(&self, panel: usize, row: usize, column: usize) -> Option<RBig> {
        let alpha = self.formula.pole()?;
        let is_resolvent = |term: &Term| term.of == Function::Resolvent(alpha);
        let resolvents = self.terms(panel).is_none_or(|terms| terms.iter().all(is_resolvent));
        if !resolvents || panel == 0 && self.formula.a_bar != Transition::Quotient(alpha) {
            return None;
        }
        let index = if panel == 0 { column } else { self.n + column };
        let x = self.solved.get_or_init(|| self.solve(alpha)).as_ref()?.get(index)?.get(row)?.clone();
        let Some(terms) = self.terms(panel) else {
            // (I − αz)⁻¹(I + (1 − α)z) = (X − (1 − α)I)/α with X = (I − αz)⁻¹
            let identity = RBig::from(u8::from(row == column));
            return Some((x - identity * rational::fraction(alpha.complement())) / rational::fraction(alpha));
        };
        let delta = exact(self.delta);
        terms
            .iter()
            .map(|term| rational::factor(term, &delta))
            .reduce(|sum, factor| sum + factor)
            .map(|f| x * f)
    }

    /// Gauss–Jordan over the rationals; columns of the solution.
    fn solve(&self, alpha: Fraction) -> Option<Vec<Vec<RBig>>> {
        if self.dim > LARGEST_SOLVE {
            return None;
        }
        let mut rows = self.below(alpha);
        for (i, row) in rows.iter_mut().enumerate() {
            row.extend(self.sources.iter().map(|s| exact(s[i])));
        }
        for k in 0..self.dim {
            let pivot = (k..self.dim).find(|&i| !rows[i][k].is_zero())?;
            rows.swap(k, pivot);
            let inverse = RBig::ONE / &rows[k][k];
            rows[k].iter_mut().for_each(|x| *x *= &inverse);
            let head = rows[k].clone();
            for row in rows.iter_mut().enumerate().filter(|(i, _)| *i != k).map(|(_, row)| row) {
                let factor = row[k].clone();
                if !factor.is_zero() {
                    row.iter_mut().zip(&head).for_each(|(x, h)| *x -= &factor * h);
                }
            }
        }
        let solution = |j: usize| rows.iter().map(|row| row[self.dim + j].clone()).collect();
        Some((0..self.sources.len()).map(solution).collect())
    }
}

fn residues(a: &[Vec<f64>], map: impl Fn(usize, usize, Residue) -> Residue) -> Vec<Vec<Residue>> {
    let row = |(i, row): (usize, &Vec<f64>)| {
        row.iter().enumerate().map(|(j, &x)| map(i, j, Residue::of(x))).collect()
    };
    a.iter().enumerate().map(row).collect()
}

/// Whether the matrix, in rows, is singular, by Gauss over the rationals.
fn proves_singular(mut rows: Vec<Vec<RBig>>) -> bool {
    let n = rows.len();
    for k in 0..n {
        let Some(pivot) = (k..n).find(|&i| !rows[i][k].is_zero()) else { return true };
        rows.swap(k, pivot);
        let (above, below) = rows.split_at_mut(k + 1);
        let head = &above[k];
        for row in below.iter_mut().filter(|row| !row[k].is_zero()) {
            let factor = &row[k] / &head[k];
            for (x, h) in row[k..].iter_mut().zip(&head[k..]) {
                *x -= &factor * h;
            }
        }
    }
    false
}

fn transitive_closure(rows: &[Vec<f64>]) -> Vec<Vec<bool>> {
    let n = rows.len();
    let mut reach: Vec<Vec<bool>> = rows.iter().map(|r| r.iter().map(|&x| x != 0.0).collect()).collect();
    (0..n).for_each(|i| reach[i][i] = true);
    for k in 0..n {
        let through = reach[k].clone();
        for row in reach.iter_mut().filter(|row| row[k]) {
            row.iter_mut().zip(&through).for_each(|(x, &y)| *x |= y);
        }
    }
    reach
}

/// The numbers as integers over a common 2^scale.
fn integers<'a>(values: impl Iterator<Item = &'a f64> + Clone) -> (Vec<IBig>, usize) {
    let rationals: Vec<RBig> = values.map(|&x| exact(x)).collect();
    // Denominators are powers of two: the longest is a multiple of all.
    let scale = rationals.iter().map(|r| r.denominator().bit_len() - 1).max().unwrap_or(0);
    let scaled =
        rationals.iter().map(|r| r.numerator().clone() << (scale + 1 - r.denominator().bit_len())).collect();
    (scaled, scale)
}

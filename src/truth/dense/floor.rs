//! The error floor: matrices with a proven bound of every entry's error.
//!
//! Two routes that agree may agree on noise, where both lose everything to the same cancellation. So the
//! inverse-free route carries a bound of its own error, and a value counts only where that bound, too, lies
//! below the last place of its f64, as far as [`crate::truth::certify`] says. The routes' agreement then guards against mistakes in either
//! formula; the bound guards against cancellation.
//!
//! **Rounding.** With u = 2^−BITS, a real operation gives x∘y(1 + δ), |δ| ≤ u, sums below the normal range
//! are exact, and anything else below 2^`UNDERFLOW` is taken to have lost everything. In norm, a complex
//! product errs by at most √5 u |x||y|, a quotient by 8u |x/y| (numerator √5, squared norm 2, division 1),
//! both taken as the next power of two. Bounds are [`Mag`]s, whose every operation rounds up, and which do
//! not underflow.
//!
//! **Products.** With X = X̃ + E, |E| ≤ R entrywise and Y = Ỹ + F, |F| ≤ S,
//! |XY − fl(X̃Ỹ)| ≤ |X̃|S + R(|Ỹ| + S) + (2k + 8) u |X̃||Ỹ|, where k products are added, in any order.
//!
//! **Taylor.** The terms kept are computed with the rules above. Of those dropped, with S = |z| (scaled) and
//! any τ > ρ(S), V = Σ (S/τ)ˡ satisfies SV = τ(V − I) ≤ τV and V ≥ I, so Sᵏ ≤ SᵏV ≤ τᵏV entrywise, and
//! Σ_{k≥q} |zᵏ|/k! ≤ τ^q/q! · 1/(1 − τ/(q+1)) · V. Here τ is twice the bound of ‖S‖₁, so S/τ has column sums
//! of at most ½; V comes from Kleene's algorithm (elimination without subtractions), rounded up. V is as
//! graded as z: small entries get small bounds, structural zeros get zero.
//!
//! **Solves.** For MX = R with a computed solution X̃ and any matrix C (here a computed inverse of M), if
//! |I − CM| ≤ E and Ew + v ≤ w entrywise for some w > 0, v ≥ |C(R − MX̃)|, then ρ(E) < 1, C and M are
//! regular, and |X − X̃| = |(I − (I − CM))⁻¹ C(R − MX̃)| ≤ w. The residuals are computed with their
//! errors; w is found by iteration and then checked.

use nalgebra::DMatrix;

use super::expm::Plan;
use super::lu::{Lu, Pivoting};
use super::matrix::{self, inverse_factorials};
use crate::truth::number::ball::{Ball, Enclosure, rounding};
use crate::truth::number::mag::Mag;
use crate::truth::number::scalar::{Entry, Real};

/// A matrix of balls.
#[derive(Clone, Debug)]
pub struct BoundedMatrix<T: Entry> {
    pub mid: DMatrix<T>,
    pub radius: DMatrix<Mag>,
}

impl<T: Entry> BoundedMatrix<T> {
    pub fn exact(mid: DMatrix<T>) -> Self {
        let radius = DMatrix::from_element(mid.nrows(), mid.ncols(), Mag::ZERO);
        BoundedMatrix { mid, radius }
    }

    pub fn at(&self, at: (usize, usize)) -> Ball<T> {
        Ball { mid: self.mid[at].clone(), radius: self.radius[at] }
    }

    pub fn view(&self, at: (usize, usize), shape: (usize, usize)) -> Self {
        BoundedMatrix {
            mid: self.mid.view(at, shape).into_owned(),
            radius: self.radius.view(at, shape).into_owned(),
        }
    }

    fn map(&self, f: impl Fn(Ball<T>) -> Ball<T>) -> Self {
        let mut result = self.clone();
        for (mid, radius) in result.mid.iter_mut().zip(result.radius.iter_mut()) {
            let ball = f(Ball { mid: mid.clone(), radius: *radius });
            (*mid, *radius) = (ball.mid, ball.radius);
        }
        result
    }

    fn zip(&self, other: &Self, f: impl Fn(Ball<T>, Ball<T>) -> Ball<T>) -> Self {
        let mut result = self.clone();
        let others = other.mid.iter().zip(other.radius.iter());
        for ((mid, radius), (m, &r)) in result.mid.iter_mut().zip(result.radius.iter_mut()).zip(others) {
            let ball = f(Ball { mid: mid.clone(), radius: *radius }, Ball { mid: m.clone(), radius: r });
            (*mid, *radius) = (ball.mid, ball.radius);
        }
        result
    }

    pub fn minus(&self, other: &Self) -> Self {
        self.zip(other, |x, y| x.minus(&y))
    }

    pub fn plus_identity(mut self, c: &Ball<T::Part>) -> Self {
        let c = Ball { mid: T::from_real(c.mid.clone()), radius: c.radius };
        for i in 0..self.mid.nrows() {
            let sum = self.at((i, i)).plus(&c);
            (self.mid[(i, i)], self.radius[(i, i)]) = (sum.mid, sum.radius);
        }
        self
    }

    pub fn shifted(&self, n: i64) -> Self {
        self.map(|x| x.shifted(n))
    }

    pub fn times(&self, other: &Self) -> Self {
        let mid = matrix::product(&self.mid, &other.mid);
        let (x, y) = (sizes(&self.mid), sizes(&other.mid));
        let units = Mag::count(2 * self.mid.ncols() + 8).shifted(-i64::from(T::Part::BITS));
        let lost = |y: Mag| y * units;
        // |X|(S + cY) + R(Y + S)
        let carried = y.zip_map(&other.radius, |y, s| s + lost(y));
        let whole = y.zip_map(&other.radius, |y, s| y + s);
        let mut radius = mag_product::<T::Part>(&x, &carried);
        if self.radius.iter().any(|r| !r.is_zero()) {
            radius = radius.zip_map(&mag_product::<T::Part>(&self.radius, &whole), |a, b| a + b);
        }
        BoundedMatrix { mid, radius }
    }
}

impl<T: Entry> Enclosure for BoundedMatrix<T> {
    type Real = T::Part;

    fn plus(&self, other: &Self) -> Self {
        self.zip(other, |x, y| x.plus(&y))
    }

    fn scale(&self, factor: &Ball<T::Part>) -> Self {
        self.map(|x| x.scale(factor))
    }
}

fn sizes<T: Entry>(m: &DMatrix<T>) -> DMatrix<Mag> {
    m.map(|x| x.size())
}

/// Magnitudes as doubles, column by column; none unless all are so near to 1 that no product of two leaves the range of
/// doubles, or of a scalar.
fn plain(m: &DMatrix<Mag>) -> Option<Vec<f64>> {
    let near = |m: &Mag| m.exponent().is_none_or(|e| e.abs() <= 450);
    m.iter().map(|m| if near(m) { m.to_f64() } else { None }).collect()
}

/// Each sum of k products of doubles is at most k + 1 roundings too small.
fn plain_product((rows, columns): (usize, usize), a: &[f64], b: &[f64]) -> DMatrix<Mag> {
    let inner = a.len() / rows;
    let up = 1.0 + (inner + 2) as f64 * f64::EPSILON;
    let mut sums = vec![0.0; rows * columns];
    for (sums, b) in sums.chunks_exact_mut(rows).zip(b.chunks_exact(inner)) {
        for (a, factor) in a.chunks_exact(rows).zip(b) {
            for (sum, entry) in sums.iter_mut().zip(a) {
                *sum += entry * factor;
            }
        }
    }
    DMatrix::from_iterator(rows, columns, sums.into_iter().map(|sum| Mag::new(sum * up, 0)))
}

/// A product of magnitudes; each term stands for at least what underflow may have cost it.
fn mag_product<R: Real>(a: &DMatrix<Mag>, b: &DMatrix<Mag>) -> DMatrix<Mag> {
    if let (Some(x), Some(y)) = (plain(a), plain(b)) {
        return plain_product((a.nrows(), b.ncols()), &x, &y);
    }
    let mut result = DMatrix::from_element(a.nrows(), b.ncols(), Mag::ZERO);
    for j in 0..b.ncols() {
        for k in (0..b.nrows()).filter(|&k| !b[(k, j)].is_zero()) {
            let factor = b[(k, j)];
            for i in 0..a.nrows() {
                let entry = a[(i, k)];
                if !entry.is_zero() {
                    let term = entry * factor;
                    let term = if term.exponent().is_some_and(|e| e < R::UNDERFLOW) {
                        Mag::pow2(R::UNDERFLOW)
                    } else {
                        term
                    };
                    result[(i, j)] = result[(i, j)] + term;
                }
            }
        }
    }
    result
}

/// Σ_{l≥0} Tˡ for column sums of at most ½ or so, rounded up; none where a pivot gets too large.
fn star(mut t: DMatrix<Mag>) -> Option<DMatrix<Mag>> {
    let n = t.nrows();
    for k in 0..n {
        let loops = t[(k, k)].star()?;
        let row: Vec<Mag> = (0..n).map(|j| t[(k, j)]).collect();
        for i in (0..n).filter(|&i| !t[(i, k)].is_zero()).collect::<Vec<_>>() {
            let into = t[(i, k)] * loops;
            for (j, &onward) in row.iter().enumerate().filter(|(_, m)| !m.is_zero()) {
                t[(i, j)] = t[(i, j)] + into * onward;
            }
        }
    }
    (0..n).for_each(|i| t[(i, i)] = t[(i, i)] + Mag::pow2(0));
    Some(t)
}

/// 1/start!, …; a computed factorial errs by a unit per factor.
fn coefficients<R: Real>(terms: usize) -> Vec<Ball<R>> {
    let rounded = |(k, mid): (usize, R)| {
        let radius = rounding::<R>(mid.magnitude() * Mag::count(k + 2), 1);
        Ball { mid, radius }
    };
    inverse_factorials(0, terms).into_iter().enumerate().map(rounded).collect()
}

/// start + Σ cₖ powerₖ over the k products that there are, with `plain` sizes and radii of the powers; none where a number is
/// not near enough to 1 for them.
///
/// Each product errs by |c|r + rc(|p| + r) and its rounding, 4u|c||p|, and each sum by 2u of what it comes to, which is at
/// most |start| + Σ|cₖ||powerₖ|, and less than a unit in 2⁴⁰ more for the errors themselves.
fn combination<T: Entry>(
    start: &BoundedMatrix<T>,
    powers: &[BoundedMatrix<T>],
    sizes_and_radii: &[(Vec<f64>, Vec<f64>)],
    coefficients: &[Ball<T::Part>],
) -> Option<BoundedMatrix<T>> {
    let unit = Mag::pow2(-i64::from(T::Part::BITS));
    let near = |m: Mag| m.exponent().is_none_or(|e| e.abs() <= 450).then(|| m.to_f64()).flatten();
    let unit = near(unit)?;
    let mut mid = start.mid.clone();
    let (mut size, mut radius) = (plain(&sizes(&start.mid))?, plain(&start.radius)?);
    for (power, ((p, r), c)) in powers.iter().zip(sizes_and_radii.iter().zip(coefficients)) {
        let (by, off) = (near(c.mid.magnitude())?, near(c.radius)?);
        T::add_scaled(mid.as_mut_slice(), power.mid.as_slice(), &T::from_real(c.mid.clone()));
        for ((size, radius), (p, r)) in size.iter_mut().zip(&mut radius).zip(p.iter().zip(r)) {
            *size += by * p;
            *radius += by * r + off * (p + r) + 4.0 * unit * by * p;
        }
    }
    // No more than ten roundings of f64 for each product, and of each sum.
    let count = coefficients.len() as f64;
    let up = 1.0 + 10.0 * (count + 1.0) * f64::EPSILON;
    let sums = 2.0 * unit * count * (1.0 + 2f64.powi(-40));
    let whole =
        size.iter().zip(&radius).map(|(size, radius)| Mag::new((radius + sums * (size + radius)) * up, 0));
    let radius = DMatrix::from_iterator(mid.nrows(), mid.ncols(), whole);
    Some(BoundedMatrix { mid, radius })
}

/// Σ cₖ zᵏ, associated as [`matrix::polynomial`] does.
fn polynomial<T: Entry>(z: &BoundedMatrix<T>, coefficients: &[Ball<T::Part>]) -> BoundedMatrix<T> {
    let n = z.mid.nrows();
    let block = (coefficients.len() as f64).sqrt().ceil().max(1.0) as usize;
    let mut powers = vec![z.clone()];
    while powers.len() < block {
        powers.push(powers[powers.len() - 1].times(z));
    }
    let plain_powers: Option<Vec<_>> =
        powers.iter().map(|p| Some((plain(&sizes(&p.mid))?, plain(&p.radius)?))).collect();
    let mut sum = BoundedMatrix::exact(DMatrix::<T>::zeros(n, n));
    for (index, chunk) in coefficients.chunks(block).enumerate().rev() {
        if (index + 1) * block < coefficients.len() {
            sum = sum.times(&powers[block - 1]);
        }
        let quick = plain_powers.as_ref().and_then(|plain| combination(&sum, &powers, plain, &chunk[1..]));
        if let Some(quick) = quick {
            sum = quick.plus_identity(&chunk[0]);
            continue;
        }
        for (power, c) in powers.iter().zip(&chunk[1..]) {
            sum = sum.plus(&power.scale(c));
        }
        sum = sum.plus_identity(&chunk[0]);
    }
    sum
}

/// eᶻ with its error. `chain` is the longest path of couplings in an acyclic z, else 0: terms up to there are
/// the leading ones of some entry, so they are not truncated, however small.
pub fn exponential<T: Entry>(z: &BoundedMatrix<T>, chain: usize) -> BoundedMatrix<T> {
    let n = z.mid.nrows();
    let Some(exponent) = norm_bound(z) else { return BoundedMatrix::exact(DMatrix::identity(n, n)) };
    // For twice the norm, because that is what the bound of the tail is made of.
    let Plan { squarings, degree } = Plan::taylor(exponent + 1, T::Part::BITS);
    let (degree, reduced) = (degree + chain, exponent - squarings);
    let small = z.shifted(-squarings);
    let mut value = polynomial(&small, &coefficients::<T::Part>(degree));
    // The tail: τ = 2^(reduced + 1), so that S/τ has norm at most ½.
    let tau = reduced + 1;
    let scaled = sizes(&small.mid).zip_map(&small.radius, |x, r| (x + r).shifted(-tau));
    match star(scaled) {
        Some(paths) => {
            // τ^q/q! · 2, term by term from below: factorials as magnitudes would round the wrong way.
            let mut tail = Mag::pow2(1);
            for k in 1..=degree + 1 {
                tail = tail * Mag::new(1.0 / k as f64 * (1.0 + f64::EPSILON), tau);
            }
            value.radius = value.radius.zip_map(&paths, |r, v| r + v * tail);
        }
        None => value.radius.fill(Mag::UNBOUNDED),
    }
    for _ in 0..squarings {
        value = value.times(&value);
    }
    value
}

/// M⁻¹R for each right side, none where M cannot be inverted at this precision.
pub fn solve<T: Entry>(m: &BoundedMatrix<T>, rights: &[BoundedMatrix<T>]) -> Option<Vec<BoundedMatrix<T>>> {
    let n = m.mid.nrows();
    let lu = Lu::new(m.mid.clone(), Pivoting::Partial);
    let inverse = BoundedMatrix::exact(lu.inverse()?);
    let identity = Ball::exact(-T::Part::pow2(0));
    let away = inverse.times(m).plus_identity(&identity);
    let away = sizes(&away.mid).zip_map(&away.radius, |x, r| x + r);
    let mut solutions = Vec::new();
    for right in rights {
        let mid = lu.solve(&right.mid)?;
        let residual = right.minus(&m.times(&BoundedMatrix::exact(mid.clone())));
        let residual = inverse.times(&residual);
        // A nonzero floor far below everything keeps w > 0.
        let v = sizes(&residual.mid).zip_map(&residual.radius, |x, r| x + r);
        let tiny = Mag::pow2(T::Part::UNDERFLOW);
        let v = v.map_with_location(|i, _, v| {
            let reached = !v.is_zero() || (0..n).any(|k| !away[(i, k)].is_zero());
            if reached { v + tiny } else { v }
        });
        let onward = |w: &DMatrix<Mag>| v.zip_map(&mag_product::<T::Part>(&away, w), |v, x| v + x);
        let mut w = v.clone();
        for _ in 0..3 {
            w = onward(&w);
        }
        w.apply(|w| *w = w.shifted(1));
        let needed = onward(&w);
        for (mut w, needed) in w.column_iter_mut().zip(needed.column_iter()) {
            if needed.iter().zip(w.iter()).any(|(n, w)| n.max(*w) != *w) {
                w.fill(Mag::UNBOUNDED);
            }
        }
        solutions.push(BoundedMatrix { mid, radius: w });
    }
    Some(solutions)
}

/// An upper bound of log₂‖z‖₁ with the radii; none for an exact zero.
pub fn norm_bound<T: Entry>(z: &BoundedMatrix<T>) -> Option<i64> {
    let columns = (0..z.mid.ncols()).map(|j| {
        let sum = (0..z.mid.nrows()).map(|i| z.mid[(i, j)].size() + z.radius[(i, j)]);
        sum.fold(Mag::ZERO, |a, b| a + b)
    });
    columns.filter_map(Mag::exponent).max().map(|e| e + 1)
}

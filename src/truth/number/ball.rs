//! [`Ball`], a number with a proven bound of its error: what the inverse-free route computes with.
//!
//! See [`crate::truth::dense::floor`] for the model of rounding and for matrices.

use super::mag::Mag;
use super::scalar::{Entry, Real};

/// The set of numbers within `radius` of `mid`: a disc, where T is complex. Discs, unlike rectangles, do not
/// grow when they are turned, so a long oscillating scan keeps its bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball<T> {
    pub mid: T,
    pub radius: Mag,
}

/// What rounding a result of at most this size costs: `units` of 2^−BITS, or everything below the range.
#[inline]
pub fn rounding<R: Real>(size: Mag, units_exponent: i64) -> Mag {
    match size.exponent() {
        None => Mag::ZERO,
        Some(e) if e < R::UNDERFLOW => Mag::pow2(R::UNDERFLOW),
        Some(_) => size.shifted(units_exponent - i64::from(R::BITS)),
    }
}

/// What is summed and scaled with its error: a number, or a matrix.
pub trait Enclosure: Clone {
    type Real: Real;
    fn plus(&self, other: &Self) -> Self;
    /// The product with a real number.
    fn scale(&self, factor: &Ball<Self::Real>) -> Self;
}

impl<T: Entry> Enclosure for Ball<T> {
    type Real = T::Part;

    fn plus(&self, other: &Self) -> Self {
        if self.is_exact_zero() {
            return other.clone();
        }
        if other.is_exact_zero() {
            return self.clone();
        }
        let mid = self.mid.clone() + other.mid.clone();
        // A sum below the normal range is exact.
        let rounded = mid.size().shifted(1 - i64::from(T::Part::BITS));
        Ball { mid, radius: self.radius + other.radius + rounded }
    }

    fn scale(&self, factor: &Ball<T::Part>) -> Self {
        if self.is_exact_zero() || factor.is_exact_zero() {
            return Self::zero();
        }
        let mid = self.mid.clone().scale(factor.mid.clone());
        let radius = product_radius::<T::Part>(
            (self.mid.size(), self.radius),
            (factor.mid.magnitude(), factor.radius),
        );
        Ball { mid, radius }
    }
}

impl<T: Entry> Ball<T> {
    pub fn exact(mid: T) -> Self {
        Ball { mid, radius: Mag::ZERO }
    }

    pub fn zero() -> Self {
        Self::exact(T::zero())
    }

    pub fn one() -> Self {
        Self::exact(T::one())
    }

    /// Whether it is zero and nothing else.
    pub fn is_exact_zero(&self) -> bool {
        self.radius.is_zero() && self.mid.is_zero()
    }

    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&Ball { mid: -other.mid.clone(), radius: other.radius })
    }

    pub fn times(&self, other: &Self) -> Self {
        if self.is_exact_zero() || other.is_exact_zero() {
            return Self::zero();
        }
        let mid = self.mid.clone() * other.mid.clone();
        let radius =
            product_radius::<T::Part>((self.mid.size(), self.radius), (other.mid.size(), other.radius));
        Ball { mid, radius }
    }

    /// The quotient. Where the divisor may be zero nothing is known.
    pub fn over(&self, divisor: &Self) -> Self {
        if self.is_exact_zero() {
            return Self::zero();
        }
        let mid = self.mid.clone() / divisor.mid.clone();
        let size = divisor.mid.size();
        // Complex division squares the divisor, which must stay in range.
        let in_range =
            size.exponent().is_some_and(|e| e > T::Part::UNDERFLOW / 2 && e < -(T::Part::UNDERFLOW / 2));
        // What parts of that square, and of its product with the numerator, lose below the range is less than a unit then.
        let least = T::Part::UNDERFLOW + i64::from(T::Part::BITS);
        let product = self.mid.size() * size;
        let whole = |size: Mag| T::WIDTH == 1 || size.exponent().is_none_or(|e| e > least + 2);
        let in_range = in_range && whole(size * size) && whole(product);
        let radius = match size.inverse_beyond(divisor.radius).filter(|_| in_range) {
            None => Mag::UNBOUNDED,
            Some(inverse) => {
                let quotient = mid.size();
                let carried = (self.radius + quotient * divisor.radius) * inverse;
                // Of the complex quotient: numerator √5, squared norm 2, division 1 units.
                carried + rounding::<T::Part>((self.mid.size() * inverse).max(quotient), 4)
            }
        };
        Ball { mid, radius }
    }

    pub fn shifted(&self, n: i64) -> Self {
        let mut radius = self.radius.shifted(n);
        if !self.mid.shifts_exactly(n) {
            radius = radius + Mag::pow2(T::Part::UNDERFLOW);
        }
        Ball { mid: self.mid.shifted(n), radius }
    }

    /// One part; a disc lies within the square around it.
    pub fn part(&self, index: usize) -> Ball<T::Part> {
        Ball { mid: self.mid.part(index), radius: self.radius }
    }
}

/// |x|·ry + rx·(|y| + ry), and the rounding of the product: √5 units where it is complex.
#[inline]
pub fn product_radius<R: Real>((x, rx): (Mag, Mag), (y, ry): (Mag, Mag)) -> Mag {
    let mut radius = rounding::<R>(x * y, 2);
    // Parts of a complex product below the range of the arithmetic, under a larger whole.
    if radius.exponent().is_some_and(|e| e < R::UNDERFLOW) {
        radius = Mag::pow2(R::UNDERFLOW);
    }
    if !ry.is_zero() {
        radius = radius + x * ry;
    }
    if !rx.is_zero() {
        radius = radius + rx * (y + ry);
    }
    radius
}

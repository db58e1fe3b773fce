//! When a rounding is justified, and the certificate that says so.
//!
//! Precision climbs (Ziv's strategy): [`super::number::double_double`], 237 bits, and where those leave a doubt 512 and
//! 4096. A certificate names the narrowest and the widest arithmetic by which a value was justified.

use std::fmt;

use super::number::ball::Ball;
use super::number::scalar::Real;
use super::number::wide::Wide;

/// Bits beyond the last place of the f64 to which two routes must agree, and below which the proven error of
/// one of them must lie: in 237 bits or more.
pub const REQUIRED_BITS: i64 = 100;

/// Bits beyond the last place to which two routes must agree in two doubles, which have 49 of them. The agreement is a guard
/// against mistakes in a formula, and weaker by as much: 77 significant bits of it, not 153. That the rounding is right is
/// proved by the error bound, as in any arithmetic: it has to be below the distance to the next boundary, by a factor of two,
/// and nothing is gained by asking for more. What that leaves in doubt is computed in 237 bits.
pub const REQUIRED_OF_TWO_DOUBLES: i64 = 24;
/// In two doubles no boundary may be closer than this many bits below the last place, however small the error bound is.
const CLOSEST_OF_TWO_DOUBLES: i64 = 40;

/// An f64's last place is never below this power of two.
pub(super) const SUBNORMAL_PLACE: i64 = -1074;

/// How a value was justified. Certificates of several values add up with [`Certificate::absorb`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// The two computations that were compared.
    pub routes: (&'static str, &'static str),
    /// Bits of the widest arithmetic that was needed.
    pub bits: u32,
    /// Bits of the narrowest arithmetic by which a value was justified; 0 where none was compared.
    pub least_bits: u32,
    /// The worst agreement, in bits beyond the last place of the f64; none when every value was exact.
    pub agreement: Option<i64>,
    /// Values that two routes justified.
    pub compared: usize,
    /// Values that are zero, and proved to be.
    pub proved_zero: usize,
    /// Other values taken from exact rational arithmetic.
    pub exact: usize,
    /// Values beyond the range of f64, rounded to ±∞.
    pub overflowed: usize,
    /// Why the literal route was not available (everywhere), if so: another algorithm stood in.
    pub unavailable: Option<&'static str>,
}

impl Certificate {
    pub fn new(routes: (&'static str, &'static str)) -> Self {
        Certificate { routes, ..Certificate::default() }
    }

    /// Adds what another certificate justifies.
    pub fn absorb(&mut self, other: &Certificate) {
        self.bits = self.bits.max(other.bits);
        self.narrowed_to(other.least_bits);
        self.agreement = match (self.agreement, other.agreement) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.compared += other.compared;
        self.proved_zero += other.proved_zero;
        self.exact += other.exact;
        self.overflowed += other.overflowed;
        self.unavailable = self.unavailable.or(other.unavailable);
    }

    fn narrowed_to(&mut self, bits: u32) {
        self.least_bits = match (self.least_bits, bits) {
            (0, bits) | (bits, 0) => bits,
            (a, b) => a.min(b),
        };
    }

    pub(super) fn count(&mut self, settled: Settled, bits: u32) {
        self.bits = self.bits.max(bits);
        self.narrowed_to(bits);
        self.compared += 1;
        self.overflowed += usize::from(settled.value.is_infinite());
        self.agreement = Some(self.agreement.map_or(settled.agreement, |a| a.min(settled.agreement)));
    }

    pub(super) fn count_exact(&mut self, value: f64) {
        if value == 0.0 {
            self.proved_zero += 1;
        } else {
            self.exact += 1;
            self.overflowed += usize::from(value.is_infinite());
        }
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "certified: {} and {}", self.routes.0, self.routes.1)?;
        if let Some(bits) = self.agreement {
            write!(f, " agree to {bits} bits beyond the last place at ")?;
            if self.least_bits < self.bits {
                write!(f, "{} to ", self.least_bits)?;
            }
            write!(f, "{} bits", self.bits)?;
        }
        write!(f, "; {} compared", self.compared)?;
        for (count, what) in [
            (self.proved_zero, "proved zero"),
            (self.exact, "exact rationals"),
            (self.overflowed, "beyond the range of f64"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        if let Some(reason) = self.unavailable {
            write!(f, "\nliteral route not available: {reason}; a second algorithm stood in")?;
        }
        Ok(())
    }
}

/// A justified rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    pub value: f64,
    /// Bits beyond the f64's last place to which the routes agree.
    pub agreement: i64,
}

/// Why two routes do not justify a rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Both are exactly zero, which needs a proof.
    Zero,
    /// They agree to fewer than [`Real::REQUIRED`] bits.
    Disagreement,
    /// They agree, but a boundary between two roundings is too close to call.
    Boundary,
    /// The proven error of the inverse-free route is not far enough below the last place.
    Floor,
    /// One left the range of the arithmetic.
    NotFinite,
}

impl Doubt {
    pub fn reason(self) -> &'static str {
        match self {
            Doubt::Zero => "both routes give zero without a proof",
            Doubt::Disagreement => "the two routes agree to too few bits beyond the last place",
            Doubt::Boundary => "the value lies on a rounding boundary",
            Doubt::Floor => "the proven error bound is not far enough below the last place",
            Doubt::NotFinite => "the arithmetic left its range",
        }
    }
}

/// The f64 that both `x` and all of `bounded` round to, if they agree to [`Real::REQUIRED`] bits beyond its last
/// place, the radius is as far below it, and no rounding boundary comes closer than that to either. In two doubles the radius
/// need only be below the distance to the boundary, twice.
///
/// The truth lies within the radius, so the rounding is proved by the radius alone; that the literal route
/// agrees guards against a mistake in the formulas.
pub fn settle<R: Real>(x: &R, bounded: &Ball<R>) -> Result<Settled, Doubt> {
    let (y, radius) = (&bounded.mid, bounded.radius);
    if !x.is_finite() || !y.is_finite() {
        return Err(Doubt::NotFinite);
    }
    let (Some(x_exponent), Some(y_exponent)) = (x.exponent(), y.exponent()) else {
        return Err(if x.is_zero() && y.is_zero() { Doubt::Zero } else { Doubt::Disagreement });
    };
    let exponent = x_exponent.max(y_exponent);
    let place = (exponent - 52).max(SUBNORMAL_PLACE);
    let difference = x.clone() - y.clone();
    let agreement = match difference.exponent() {
        None => place - (exponent + 1 - i64::from(R::BITS)),
        Some(e) => place - (e + 1),
    };
    if !radius.at_most_pow2(if R::NARROW { place - 2 } else { place - R::REQUIRED - 1 }) {
        return Err(Doubt::Floor);
    }
    if agreement < R::REQUIRED {
        return Err(Doubt::Disagreement);
    }
    if exponent < SUBNORMAL_PLACE - 1 {
        // Below half the smallest subnormal only the sign is left to round: it takes a relative agreement.
        let below = y_exponent - R::REQUIRED / 2;
        let value = y.to_nearest_f64();
        return match difference.exponent() {
            _ if !radius.at_most_pow2(below) => Err(Doubt::Floor),
            Some(e) if e >= below => Err(Doubt::Disagreement),
            _ => Ok(Settled { value, agreement }),
        };
    }
    let (low, high) = if x <= y { (x, y) } else { (y, x) };
    let at_distance = |bits: i64| {
        let margin = R::pow2(place - bits);
        if margin.is_zero() {
            // Below the range of the arithmetic: nothing is known of a boundary.
            return None;
        }
        let value = (low.clone() - margin.clone()).to_nearest_f64();
        let upper = (high.clone() + margin).to_nearest_f64();
        (!value.is_nan() && value.to_bits() == upper.to_bits()).then_some(Settled { value, agreement })
    };
    if R::NARROW {
        // What these sums themselves round off, 49 bits below the last place, is far below half of either margin.
        let margin = radius.exponent().map_or(i64::MIN, |e| e + 2).max(place - CLOSEST_OF_TWO_DOUBLES);
        return at_distance(place - margin).ok_or(Doubt::Boundary);
    }
    // A wider scalar resolves a closer boundary, if the routes agree that much more closely.
    let resolved = i64::from(R::BITS) - (i64::from(Wide::BITS) - REQUIRED_BITS);
    let close = agreement >= resolved && radius.at_most_pow2(place - resolved - 1);
    let closer = || if close { at_distance(resolved) } else { None };
    at_distance(R::REQUIRED).or_else(closer).ok_or(Doubt::Boundary)
}

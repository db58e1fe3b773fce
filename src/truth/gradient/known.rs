//! What is known of a number without computing it to some precision: [`Live`], which of its parts can be other than zero, at
//! next to no cost; and [`Known`], its value where that is rational. They settle the zeros and the ties that no finite precision
//! can.

use dashu_int::ops::BitTest;
use dashu_ratio::RBig;

use super::number::Number;
use crate::formula::Fraction;
use crate::truth::exact::rational::{self, Gaussian, exact};

/// Whether the real and the imaginary part can be other than zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Live(pub [bool; 2]);

impl Live {
    /// A real number of which nothing is known.
    pub const REAL: Live = Live([true, false]);

    pub fn is_zero(&self) -> bool {
        self.0 == [false; 2]
    }

    /// The real part if it is zero.
    pub fn rounded(&self) -> Option<f64> {
        (!self.0[0]).then_some(0.0)
    }

    /// Any power series with real terms of a matrix, row by row.
    pub fn series(z: &[Live], n: usize) -> Vec<Live> {
        let identity = |i: usize| if i.is_multiple_of(n + 1) { Live::REAL } else { Live::zero() };
        let mut sum: Vec<Live> = (0..n * n).map(identity).collect();
        loop {
            let entry = |i: usize| {
                let terms = (0..n).map(|k| z[i / n * n + k].times(&sum[k * n + i % n]));
                terms.fold(sum[i], |sum, term| sum.plus(&term))
            };
            let next: Vec<Live> = (0..n * n).map(entry).collect();
            if next == sum {
                return sum;
            }
            sum = next;
        }
    }
}

impl Number for Live {
    type Real = Live;

    fn zero() -> Self {
        Live([false; 2])
    }

    fn one() -> Self {
        Live::REAL
    }

    fn given(parts: &[f32]) -> Self {
        Live(std::array::from_fn(|i| parts.get(i).is_some_and(|&part| part != 0.0)))
    }

    fn plus(&self, other: &Self) -> Self {
        Live([self.0[0] || other.0[0], self.0[1] || other.0[1]])
    }

    fn times(&self, other: &Self) -> Self {
        let (x, y) = (self.0, other.0);
        Live([(x[0] && y[0]) || (x[1] && y[1]), (x[0] && y[1]) || (x[1] && y[0])])
    }

    fn scaled(&self, factor: &Live) -> Self {
        self.times(factor)
    }

    fn ratio(&self, Fraction(above, _): Fraction) -> Self {
        if above == 0 { Self::zero() } else { *self }
    }

    fn shifted(&self, _: i64) -> Self {
        *self
    }

    fn part(&self, index: usize) -> Live {
        Live([self.0[index], false])
    }

    fn log_size(&self) -> Option<i64> {
        (!self.is_zero()).then_some(0)
    }
}

/// A number, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    Exact(Gaussian),
    Live(Live),
}

/// Bits of a denominator or a numerator beyond which a value is given up: no rounding boundary asks for as many.
const LONGEST: usize = 1 << 11;

impl Known {
    /// A real number of which nothing is known.
    pub const REAL: Known = Known::Live(Live::REAL);

    pub fn is_zero(&self) -> bool {
        self.live().is_zero()
    }

    /// Any power series with real terms of a matrix, row by row.
    pub fn series(z: &[Known], n: usize) -> Vec<Known> {
        let live: Vec<Live> = z.iter().map(Known::live).collect();
        Live::series(&live, n).into_iter().map(Known::Live).collect()
    }

    fn live(&self) -> Live {
        match self {
            Known::Exact(value) => Live([!value.re.is_zero(), !value.im.is_zero()]),
            Known::Live(live) => *live,
        }
    }

    /// The real part, rounded to the nearest f64: of a rational number, or where it cannot but be zero.
    pub fn rounded(&self) -> Option<f64> {
        match self {
            Known::Exact(value) => Some(rational::round(&value.re)),
            Known::Live(live) => live.rounded(),
        }
    }

    /// 1/x; at zero nothing is known.
    pub fn inverse(&self) -> Self {
        match self {
            Known::Exact(value) => value.inverse().map_or(Known::Live(Live([true; 2])), Known::Exact),
            Known::Live(live) => Known::Live(*live),
        }
    }

    fn bounded(value: Gaussian) -> Self {
        let long = |x: &RBig| x.denominator().bit_len().max(x.numerator().bit_len()) > LONGEST;
        let known = Known::Exact(value);
        match &known {
            Known::Exact(value) if long(&value.re) || long(&value.im) => Known::Live(known.live()),
            _ => known,
        }
    }
}

impl Number for Known {
    type Real = Known;

    fn zero() -> Self {
        Known::Exact(Gaussian::zero())
    }

    fn one() -> Self {
        Known::Exact(Gaussian::real(RBig::ONE))
    }

    fn given(parts: &[f32]) -> Self {
        Known::Exact(Gaussian::from_parts(parts))
    }

    fn plus(&self, other: &Self) -> Self {
        match (self, other) {
            (Known::Exact(x), Known::Exact(y)) => Known::bounded(x + y),
            _ => Known::Live(self.live().plus(&other.live())),
        }
    }

    fn times(&self, other: &Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self::zero();
        }
        match (self, other) {
            (Known::Exact(x), Known::Exact(y)) => Known::bounded(x * y),
            _ => Known::Live(self.live().times(&other.live())),
        }
    }

    fn scaled(&self, factor: &Known) -> Self {
        self.times(factor)
    }

    fn ratio(&self, Fraction(above, below): Fraction) -> Self {
        match self {
            Known::Exact(x) => Known::bounded(x.scale(&(RBig::from(above) / RBig::from(below)))),
            live if above != 0 => live.clone(),
            _ => Self::zero(),
        }
    }

    fn shifted(&self, n: i64) -> Self {
        match self {
            Known::Exact(x) => {
                let power = exact(2f64.powi(n as i32));
                Known::bounded(x.scale(&power))
            }
            live => live.clone(),
        }
    }

    fn part(&self, index: usize) -> Known {
        match self {
            Known::Exact(x) => Known::Exact(Gaussian::real(x.part(index).clone())),
            Known::Live(live) => Known::Live(live.part(index)),
        }
    }

    fn log_size(&self) -> Option<i64> {
        (!self.is_zero()).then_some(0)
    }
}

//! Arithmetic modulo a prime: settles cheaply whether exact arithmetic is worth its price.
//!
//! A nonzero residue proves that an exact number is not zero. A zero residue proves nothing by itself.

use super::rational::decomposed;

/// 2 is a primitive root of it. Modulo a Mersenne prime a power of two would pass for another (2⁶¹ ≡ 1), and
/// powers of two are what binary inputs are made of.
const PRIME: u64 = (1 << 62) - 117;

/// 2⁶² modulo the prime.
const FOLD: u128 = 117;
const HALF: Residue = Residue(PRIME.div_ceil(2));

/// A residue, below the prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residue(u64);

impl Residue {
    pub const ZERO: Residue = Residue(0);
    pub const ONE: Residue = Residue(1);

    /// A finite f64 m·2ᵉ is a fraction without the prime in its denominator, so it has a residue.
    pub fn of(value: f64) -> Self {
        let (significand, exponent) = decomposed(value);
        let base = if exponent < 0 { HALF } else { Residue(2) };
        let power = base.power(exponent.unsigned_abs());
        let magnitude = Residue(significand).times(power);
        if value < 0.0 { Residue::ZERO.minus(magnitude) } else { magnitude }
    }

    pub fn plus(self, other: Self) -> Self {
        let sum = self.0 + other.0;
        Residue(if sum >= PRIME { sum - PRIME } else { sum })
    }

    pub fn minus(self, other: Self) -> Self {
        self.plus(Residue(if other.0 == 0 { 0 } else { PRIME - other.0 }))
    }

    pub fn times(self, other: Self) -> Self {
        // 2⁶² ≡ 117: folded twice, the product is below twice the prime.
        let fold = |x: u128| (x >> 62) * FOLD + (x & ((1 << 62) - 1));
        let folded = fold(fold(u128::from(self.0) * u128::from(other.0))) as u64;
        Residue(if folded >= PRIME { folded - PRIME } else { folded })
    }

    fn power(self, mut exponent: u64) -> Self {
        let (mut power, mut result) = (self, Residue::ONE);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result.times(power);
            }
            power = power.times(power);
            exponent >>= 1;
        }
        result
    }

    /// By Fermat; of zero it is zero.
    pub fn inverse(self) -> Self {
        self.power(PRIME - 2)
    }
}

/// Whether the square matrix, in rows, is singular modulo the prime. If not, it is regular; if so it is
/// singular but for a chance of about 2⁻⁵⁰.
pub fn is_singular(mut rows: Vec<Vec<Residue>>) -> bool {
    let n = rows.len();
    for k in 0..n {
        let Some(pivot) = (k..n).find(|&i| rows[i][k] != Residue::ZERO) else { return true };
        rows.swap(k, pivot);
        let inverse = rows[k][k].inverse();
        let (above, below) = rows.split_at_mut(k + 1);
        let head = &above[k];
        for row in below.iter_mut().filter(|row| row[k] != Residue::ZERO) {
            let factor = row[k].times(inverse);
            for (entry, &leading) in row[k..].iter_mut().zip(&head[k..]) {
                *entry = entry.minus(factor.times(leading));
            }
        }
    }
    false
}

//! The matrix exponential of the literal route, by diagonal Padé, and the degrees for it and for the Taylor
//! series of [`super::floor`]. Both square alike, and so share the conditioning of that phase: it is the
//! error bound of the other route, not their agreement, that a certificate rests on there.

use nalgebra::DMatrix;
use num_traits::One;

use super::lu::{Lu, Pivoting};
use super::matrix::{inverse_factorials, norm_exponent, plus_identity, polynomial, product, shifted};
use crate::truth::number::scalar::{Entry, Real};

/// Bits by which truncation stays below the precision.
const GUARD: f64 = 12.0;

/// A scaling by 2^−squarings and the degree that goes with it.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub squarings: i64,
    pub degree: usize,
}

impl Plan {
    /// For a Taylor series with norm 2^`exponent` before scaling: the scaling that costs the fewest products,
    /// about 2√degree + squarings. The tail after degree m at norm θ ≤ ½ is below 2 θ^(m+1)/(m+1)!.
    pub fn taylor(exponent: i64, bits: u32) -> Plan {
        let plans = (-40..=-1).map(|reduced: i64| {
            let squarings = (exponent - reduced).max(0);
            Plan { squarings, degree: taylor_degree(exponent - squarings, bits) }
        });
        let cost = |p: &Plan| 2.0 * (p.degree as f64).sqrt() + p.squarings as f64;
        plans.min_by(|p, q| cost(p).total_cmp(&cost(q))).unwrap_or(Plan { squarings: 0, degree: 1 })
    }

    /// For the [q/q] Padé approximant at norm θ ≤ 1, whose error is about
    /// (q!)² θ^(2q+1)/((2q)!(2q+1)!).
    fn pade(exponent: i64, bits: u32) -> Plan {
        let squarings = exponent.max(0);
        let theta = (exponent - squarings) as f64;
        let mut log_error = theta;
        let mut degree = 0;
        while log_error > -(f64::from(bits) + GUARD) {
            degree += 1;
            let q = degree as f64;
            log_error += 2.0 * theta - (4.0 * (2.0 * q - 1.0) * (2.0 * q + 1.0)).log2();
        }
        Plan { squarings, degree: degree.max(2) }
    }
}

fn taylor_degree(exponent: i64, bits: u32) -> usize {
    let mut log_tail = 1.0;
    let mut degree = 0;
    loop {
        log_tail += exponent as f64 - ((degree + 1) as f64).log2();
        if log_tail < -(f64::from(bits) + GUARD) {
            return degree.max(1);
        }
        degree += 1;
    }
}

/// eᶻ by diagonal Padé, `chain` as for [`super::floor::exponential`]: (V − U)⁻¹(V + U), U the odd and V the even terms of the numerator. None if the
/// denominator turns out singular (it is not, for a finite z).
pub fn pade<T: Entry>(z: &DMatrix<T>, chain: usize) -> Option<DMatrix<T>> {
    let n = z.nrows();
    let Some(exponent) = norm_exponent(z) else { return Some(DMatrix::identity(n, n)) };
    let plan = Plan::pade(exponent, T::Part::BITS);
    let q = plan.degree + chain.div_ceil(2);
    let z = shifted(z, -plan.squarings);
    let real = |k: usize| T::Part::exact(k as f64);
    let mut coefficients = vec![T::Part::one()];
    for j in 0..q {
        let next = coefficients[j].clone() * real(q - j) / (real(2 * q - j) * real(j + 1));
        coefficients.push(next);
    }
    let every_other = |start| coefficients.iter().skip(start).step_by(2).cloned().collect::<Vec<_>>();
    let square = product(&z, &z);
    let even = polynomial(&square, &every_other(0));
    let odd = product(&z, &polynomial(&square, &every_other(1)));
    let mut value = Lu::new(&even - &odd, Pivoting::Partial).solve(&(even + odd))?;
    for _ in 0..plan.squarings {
        value = product(&value, &value);
    }
    Some(value)
}

/// φ₁, φ₂, φ₃ as matrices, by the Taylor series of φ₃ at z/2^k and the doubling formulas
/// φₖ(2z) = 2⁻ᵏ [eᶻ φₖ(z) + Σ_{j=1}^{k} φⱼ(z)/(k−j)!]: the second algorithm where A⁻¹ is not available.
pub fn phi_by_doubling<T: Entry>(z: &DMatrix<T>, chain: usize) -> [DMatrix<T>; 3] {
    let one = T::Part::one();
    let half = one.times_pow2(-1);
    let exponent = norm_exponent(z).unwrap_or(-1000);
    // One more halving than the augmented route takes, so that not even small matrices share a series.
    let plan = Plan::taylor(exponent + 1, T::Part::BITS);
    let halvings = plan.squarings.max(1);
    let mut z = shifted(z, -halvings);
    let mut third = polynomial(&z, &inverse_factorials(3, plan.degree + chain));
    let mut second = plus_identity(product(&z, &third), &half);
    let mut first = plus_identity(product(&z, &second), &one);
    for _ in 0..halvings {
        // eᶻ + I
        let exp = plus_identity(plus_identity(product(&z, &first), &one), &one);
        third = shifted(&(product(&exp, &third) + shifted(&first, -1) + &second), -3);
        second = shifted(&(product(&exp, &second) + &first), -2);
        first = shifted(&product(&exp, &first), -1);
        z = shifted(&z, 1);
    }
    [first, second, third]
}

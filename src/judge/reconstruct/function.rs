//! Which function of z some values are: sums of what the methods are made of, quotients of polynomials, exponentials of
//! scaled arguments.

use num_complex::Complex64;

use super::fit::{TOLERANCE, factors, plausible, residual, snapped};
use crate::formula::{Fraction, Function};
use crate::judge::model;

/// What stands in the place of z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    Z,
    Conjugate,
    RealPart,
    /// Of z, a real factor.
    Scaled(f64),
}

impl Argument {
    fn of(self, z: Complex64) -> Complex64 {
        match self {
            Argument::Z => z,
            Argument::Conjugate => z.conj(),
            Argument::RealPart => z.re.into(),
            Argument::Scaled(factor) => z * factor,
        }
    }
}

/// What becomes of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Whole,
    Real,
    /// The imaginary part, times i.
    Imaginary,
}

impl Part {
    fn of(self, value: Complex64) -> Complex64 {
        match self {
            Part::Whole => value,
            Part::Real => value.re.into(),
            Part::Imaginary => Complex64::new(0.0, value.im),
        }
    }
}

/// A function of one argument, with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Σ c f
    Sum(Vec<(f64, Function)>),
    /// P/Q by their coefficients, lowest first; Q(0) = 1.
    Quotient(Vec<f64>, Vec<f64>),
    /// P(z)/Q(z̄), likewise.
    ConjugateBelow(Vec<f64>, Vec<f64>),
    /// c·exp(s Re z + i t Im z): c, s, t.
    Exponential(f64, f64, f64),
}

/// A function as it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub argument: Argument,
    pub part: Part,
    pub shape: Shape,
}

/// A value of P, whose coefficients stand lowest first.
fn polynomial(coefficients: &[f64], z: Complex64) -> Complex64 {
    coefficients.iter().rev().fold(Complex64::ZERO, |sum, &c| sum * z + c)
}

pub fn function(of: Function, z: Complex64) -> Complex64 {
    match of {
        Function::Phi(k @ 4..) => phi(k, z),
        _ => model::function(of, z, &model::phi(z)),
    }
}

/// φₖ beyond those that methods have: by its series near 0, by φₖ₊₁ = (φₖ − 1/k!)/z elsewhere.
fn phi(k: usize, z: Complex64) -> Complex64 {
    let coefficient = |i: usize| Function::Phi(k).coefficient(i);
    if z.norm() < 2.0 {
        return (0..32).rev().fold(Complex64::ZERO, |sum, i| sum * z + coefficient(i));
    }
    let below = if k == 4 { model::phi(z)[3] } else { phi(k - 1, z) };
    (below - Function::Phi(k - 1).coefficient(0)) / z
}

impl Shape {
    fn value(&self, z: Complex64) -> Complex64 {
        match self {
            Shape::Sum(terms) => terms.iter().map(|&(factor, of)| function(of, z) * factor).sum(),
            Shape::Quotient(above, below) => polynomial(above, z) / polynomial(below, z),
            Shape::ConjugateBelow(above, below) => polynomial(above, z) / polynomial(below, z.conj()),
            Shape::Exponential(factor, re, im) => Complex64::new(z.re * re, z.im * im).exp() * factor,
        }
    }

    /// The coefficients of a polynomial.
    pub fn as_polynomial(&self) -> Option<Vec<f64>> {
        match self {
            Shape::Quotient(above, below) if below.len() == 1 => Some(above.clone()),
            Shape::Sum(terms) => {
                let mut all = Vec::new();
                for &(factor, of) in terms {
                    let Function::Power(k) = of else { return None };
                    all.resize(all.len().max(k + 1), 0.0);
                    all[k] += factor;
                }
                Some(all)
            }
            _ => None,
        }
    }
}

impl Found {
    pub fn value(&self, z: Complex64) -> Complex64 {
        self.part.of(self.shape.value(self.argument.of(z)))
    }

    /// A function of z itself.
    pub fn plain(shape: Shape) -> Self {
        Found { argument: Argument::Z, part: Part::Whole, shape }
    }
}

/// What sums are made of, the plainest first.
const BASIS: [Function; 11] = [
    Function::Power(0),
    Function::Phi(1),
    Function::Phi(2),
    Function::Phi(3),
    Function::Phi(0),
    Function::Power(1),
    Function::Resolvent(Fraction(1, 2)),
    Function::Resolvent(Fraction(-1, 2)),
    Function::Resolvent(Fraction(1, 1)),
    Function::Power(2),
    Function::Phi(4),
];

/// The values of a function at some points, and what an error of each is measured in.
struct Samples<'a> {
    z: &'a [Complex64],
    values: &'a [Complex64],
    scales: Vec<f64>,
}

/// The function that has these values; none if it is none of those that are known here.
pub fn find(z: &[Complex64], values: &[Complex64]) -> Option<Found> {
    let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.norm()));
    if !largest.is_finite() || largest == 0.0 {
        return None;
    }
    // A zero of the function is no reason to measure in nothing.
    let scales = values.iter().map(|value| value.norm().max(largest * TOLERANCE)).collect();
    let samples = Samples { z, values, scales };
    let complex = z.iter().any(|z| z.im != 0.0);
    let plain = samples.single(Argument::Z, Part::Whole).or_else(|| samples.exponential());
    let plain = plain.or_else(|| samples.quotient(Argument::Z, Part::Whole)).or_else(|| samples.sum());
    plain.or_else(|| samples.changed(complex))
}

impl Samples<'_> {
    /// The function if it leaves no more than a fit may.
    fn accepted(&self, found: Found) -> Option<Found> {
        let model: Vec<Complex64> = self.z.iter().map(|&z| found.value(z)).collect();
        (residual(&model, self.values, &self.scales) <= TOLERANCE).then_some(found)
    }

    fn column(&self, f: impl Fn(Complex64) -> Complex64) -> Vec<Complex64> {
        self.z.iter().map(|&z| f(z)).collect()
    }

    /// c f(argument) for one function of the basis.
    fn single(&self, argument: Argument, part: Part) -> Option<Found> {
        BASIS.iter().find_map(|&of| self.of_basis(&[of], argument, part))
    }

    fn of_basis(&self, functions: &[Function], argument: Argument, part: Part) -> Option<Found> {
        let columns: Vec<_> =
            functions.iter().map(|&of| self.column(|z| part.of(function(of, argument.of(z))))).collect();
        let factors = factors(&columns, self.values, &self.scales)?;
        let factors: Vec<f64> = factors.into_iter().map(snapped).collect();
        if functions.len() > 1 && !plausible(&factors) {
            return None;
        }
        let terms = factors.into_iter().zip(functions.iter().copied()).collect();
        self.accepted(Found { argument, part, shape: Shape::Sum(terms) })
    }

    /// Two or three functions of the basis.
    fn sum(&self) -> Option<Found> {
        let pairs = (0..BASIS.len()).flat_map(|i| (0..i).map(move |j| vec![BASIS[j], BASIS[i]]));
        let triples = (0..BASIS.len())
            .flat_map(|i| (0..i).flat_map(move |j| (0..j).map(move |k| vec![BASIS[k], BASIS[j], BASIS[i]])));
        pairs.chain(triples).find_map(|functions| self.of_basis(&functions, Argument::Z, Part::Whole))
    }

    /// A quotient of polynomials, the lowest degrees first; among them all polynomials up to degree 8. With a conjugate
    /// argument only what is below is of it.
    fn quotient(&self, argument: Argument, part: Part) -> Option<Found> {
        let polynomials = (1..=8).map(|above| (above, 0));
        let quotients =
            [(0, 1), (1, 1), (0, 2), (1, 2), (2, 1), (2, 2), (1, 3), (3, 1), (2, 3), (3, 2), (3, 3)];
        polynomials.chain(quotients).find_map(|(above, below)| self.of_degrees(above, below, argument, part))
    }

    fn of_degrees(&self, above: usize, below: usize, argument: Argument, part: Part) -> Option<Found> {
        // P − f Q = f with Q(0) = 1: linear in what is unknown.
        let below_is_conjugate = below > 0 && argument == Argument::Conjugate;
        if below > 0 && (part != Part::Whole || !matches!(argument, Argument::Z | Argument::Conjugate)) {
            return None;
        }
        let power = |k: usize| self.column(|z| part.of(argument.of(z).powu(k as u32)));
        let of_z = |k: usize| self.column(|z| z.powu(k as u32));
        let mut columns: Vec<_> =
            (0..=above).map(|k| if below_is_conjugate { of_z(k) } else { power(k) }).collect();
        columns.extend(
            (1..=below).map(|k| {
                power(k).into_iter().zip(self.values).map(|(power, value)| -power * value).collect()
            }),
        );
        let factors = factors(&columns, self.values, &self.scales)?;
        // What rounding leaves of a coefficient that is 0.
        let or_zero = |&c: &f64| if c.abs() < TOLERANCE * TOLERANCE.sqrt() { 0.0 } else { snapped(c) };
        let factors: Vec<f64> = factors.iter().map(or_zero).collect();
        if !plausible(&factors) {
            return None;
        }
        let (above, below) = factors.split_at(above + 1);
        let (above, below) = (above.to_vec(), [&[1.0], below].concat());
        let shape = match argument {
            Argument::Conjugate if below.len() > 1 => Shape::ConjugateBelow(above, below),
            _ => Shape::Quotient(above, below),
        };
        let argument = if below_is_conjugate { Argument::Z } else { argument };
        self.accepted(Found { argument, part, shape })
    }

    /// An exponential whose real and imaginary parts are scaled.
    fn exponential(&self) -> Option<Found> {
        // Where nothing wraps: small arguments.
        let near = |&i: &usize| self.z[i].norm() <= 0.5 && self.z[i].norm() > 0.0;
        let near: Vec<usize> = (0..self.z.len()).filter(near).collect();
        let first = *near.iter().find(|&&i| self.z[i].re != 0.0)?;
        let opposite = *near.iter().find(|&&i| self.z[i] == -self.z[first])?;
        let factor = (self.values[first] * self.values[opposite]).re;
        let factor = if factor > 0.0 { snapped(factor.sqrt()) } else { return None };
        let slope = |part: fn(Complex64) -> f64| {
            let i = near.iter().copied().find(|&i| part(self.z[i]) != 0.0)?;
            Some(part((self.values[i] / factor).ln()) / part(self.z[i]))
        };
        let re = slope(|z| z.re)?;
        let im = slope(|z| z.im).unwrap_or(re);
        // What scales both parts is one number.
        let numbers = [factor, re, im];
        let count = if (re - im).abs() <= TOLERANCE * re.abs() { 2 } else { 3 };
        plausible(&numbers[..count])
            .then(|| Found::plain(Shape::Exponential(factor, re, im)))
            .and_then(|f| self.accepted(f))
    }

    /// Another argument, or a part of the value alone.
    fn changed(&self, complex: bool) -> Option<Found> {
        use Argument::{Conjugate, RealPart, Scaled, Z};
        let ln2 = std::f64::consts::LN_2;
        let scaled = [-1.0, 0.5, 2.0, ln2, 1.0 / ln2].map(Scaled);
        let parts: &[Part] =
            if complex { &[Part::Whole, Part::Real, Part::Imaginary] } else { &[Part::Whole] };
        let arguments: &[Argument] = if complex { &[Z, Conjugate, RealPart] } else { &[Z] };
        let mut all =
            arguments.iter().copied().chain(scaled).flat_map(|a| parts.iter().map(move |&p| (a, p)));
        all.find_map(|(argument, part)| {
            self.single(argument, part)
                .or_else(|| self.quotient(argument, part).filter(|_| argument != Z || part != Part::Whole))
        })
    }
}

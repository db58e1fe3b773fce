//! What a formula may be as a function of z: sums of what the methods are made of, quotients of polynomials, exponentials of
//! scaled arguments. [`super::search`] finds which of them some values are.

use num_complex::Complex64;

use super::division::Divisor;
use super::horner::Horner;
use super::mixed::Mixed;
use super::recurrence::Recurrence;
use super::reduced::{BaseTwo, Reduced};
use super::wrong_exponential::WrongExponential;
use crate::formula::Function;
use crate::judge::model;
use crate::program::complex::Powers;
use crate::program::complex::Slip;

/// What stands in the place of z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    Z,
    Conjugate,
    RealPart,
    /// −|Re z| + i Im z
    Falling,
    /// |Re z| + i Im z
    Rising,
    /// Re z + i |Im z|
    Upper,
    /// Of z, a real factor.
    Scaled(f64),
    /// A factor of the real part, and one of the imaginary part.
    Parts(f64, f64),
}

impl Argument {
    pub fn of(self, z: Complex64) -> Complex64 {
        match self {
            Argument::Z => z,
            Argument::Conjugate => z.conj(),
            Argument::RealPart => z.re.into(),
            Argument::Falling => Complex64::new(-z.re.abs(), z.im),
            Argument::Rising => Complex64::new(z.re.abs(), z.im),
            Argument::Upper => Complex64::new(z.re, z.im.abs()),
            Argument::Scaled(factor) => z * factor,
            Argument::Parts(re, im) => Complex64::new(z.re * re, z.im * im),
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
    /// Times i: of a conjugate number its parts in each other's places.
    Turned,
}

impl Part {
    pub fn of(self, value: Complex64) -> Complex64 {
        match self {
            Part::Whole => value,
            Part::Real => value.re.into(),
            Part::Imaginary => Complex64::new(0.0, value.im),
            Part::Turned => Complex64::I * value,
        }
    }
}

/// What sums over powers of z and results of wrong divisions are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Piece {
    Of(Function),
    /// exp(Re z)
    ExpOfReal,
    /// exp(i Im z)
    Turn,
    /// exp(conj(z))
    ExpOfConjugate,
    /// cos(Im z)
    CosOfImaginary,
    /// cos(2 Im z), of which sin²(Im z) is made: the half of an angle that is taken whole.
    CosOfTwice,
    /// exp(s Re z + i t Im z): s, t.
    ExpOfParts(f64, f64),
    /// A power of z that is formed wrongly.
    Wrong(Powers, usize),
    /// An exponential whose parts are made of wrong factors.
    ExpOf(WrongExponential),
}

impl Piece {
    pub fn value(self, z: Complex64) -> Complex64 {
        match self {
            Piece::Of(of) => function(of, z),
            Piece::ExpOfReal => z.re.exp().into(),
            Piece::Turn => Complex64::new(0.0, z.im).exp(),
            Piece::ExpOfConjugate => z.conj().exp(),
            Piece::CosOfImaginary => z.im.cos().into(),
            Piece::CosOfTwice => (2.0 * z.im).cos().into(),
            Piece::ExpOfParts(re, im) => Complex64::new(z.re * re, z.im * im).exp(),
            Piece::Wrong(wrong, k) => wrong.power(z, k),
            Piece::ExpOf(wrong) => wrong.value(z),
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
    /// Σ c f / zᵏ
    Over(Vec<(f64, Piece)>, usize),
    /// Σ c f times a reciprocal that is formed wrongly.
    Divided(Vec<(f64, Piece)>, Divisor, Slip),
    /// Σ c f over a power of z that is formed wrongly; over nothing for 0.
    OverWrong(Vec<(f64, Piece)>, Powers, usize),
    /// c f d/(d + ε): something is added to what f is divided by.
    Guarded(f64, Function, Divisor, f64),
    /// (P(z/m)/Q(z/m))ᵐ, by their coefficients.
    Raised(Vec<f64>, Vec<f64>, i32),
    /// The beginning of the series of c φₖ: c, k and the power that it ends with.
    Cut(f64, usize, usize),
    /// A polynomial by its coefficients, lowest first, in Horner's form with a wrong product.
    Nested(Vec<f64>, Horner),
    /// A quotient in which the parts of z stand for themselves.
    Mixed(Mixed),
    /// c φₖ that is formed step by step of what is wrong: c, k.
    Stepwise(f64, usize, Recurrence),
    /// exp(z) of an argument that is reduced wrongly.
    Reduced(Reduced),
    /// A power of 2 times a polynomial of what is left.
    BaseTwo(BaseTwo),
}

/// A function as it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub argument: Argument,
    pub part: Part,
    pub shape: Shape,
}

fn sum(pieces: &[(f64, Piece)], z: Complex64) -> Complex64 {
    pieces.iter().map(|&(factor, piece)| piece.value(z) * factor).sum()
}

/// A value of P, whose coefficients stand lowest first.
pub fn polynomial(coefficients: &[f64], z: Complex64) -> Complex64 {
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
            Shape::Over(pieces, k) => sum(pieces, z) / z.powu(*k as u32),
            Shape::Divided(pieces, divisor, slip) => sum(pieces, z) * slip.of(divisor.of(z)),
            Shape::OverWrong(pieces, wrong, k) => sum(pieces, z) / wrong.power(z, *k),
            Shape::Guarded(factor, of, divisor, epsilon) => {
                let below = divisor.of(z);
                function(*of, z) * *factor * below / (below + epsilon)
            }
            Shape::Raised(above, below, m) => {
                let z = z / f64::from(*m);
                (polynomial(above, z) / polynomial(below, z)).powi(*m)
            }
            Shape::Cut(..) => polynomial(&self.as_polynomial().unwrap_or_default(), z),
            Shape::Nested(coefficients, horner) => horner.value(coefficients, z),
            Shape::Mixed(mixed) => mixed.value(z),
            Shape::Stepwise(factor, k, recurrence) => recurrence.phi(*k, z) * *factor,
            Shape::Reduced(reduced) => reduced.value(z),
            Shape::BaseTwo(base_two) => base_two.value(z),
        }
    }

    /// The coefficients of a polynomial.
    pub fn as_polynomial(&self) -> Option<Vec<f64>> {
        match self {
            Shape::Quotient(above, below) if below.len() == 1 => Some(above.clone()),
            &Shape::Cut(factor, k, last) => {
                Some((0..=last).map(|j| factor * Function::Phi(k).coefficient(j)).collect())
            }
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

    /// The factors of Re z and Im z in the exponent, where it is nothing but an exponential.
    pub fn as_exponent(&self) -> Option<(f64, f64)> {
        match self.shape {
            Shape::Exponential(_, re, im) => Some((re, im)),
            _ => None,
        }
    }

    /// A function of z itself.
    pub fn plain(shape: Shape) -> Self {
        Found { argument: Argument::Z, part: Part::Whole, shape }
    }
}

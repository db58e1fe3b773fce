//! Which [function](super::function) of z some values are, the plainest first.

use num_complex::Complex64;

use super::division::Divisor;
use super::expansion::Probe;
use super::fit::{self, TOLERANCE, plausible, recognized, residual, snapped};
use super::function::{Argument, Found, Part, Piece, Shape, function, polynomial};
use crate::formula::{Fraction, Function};
use crate::judge::diagnose::Work;
use crate::program::complex::Powers;
use crate::program::complex::Slip;

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

/// What a sum over a power of z is made of, the plainest first; those of complex numbers alone come last.
const PIECES: [Piece; 10] = [
    Piece::Of(Function::Phi(0)),
    Piece::Of(Function::Power(0)),
    Piece::Of(Function::Power(1)),
    Piece::Of(Function::Phi(1)),
    Piece::Of(Function::Phi(2)),
    Piece::Turn,
    Piece::ExpOfReal,
    Piece::ExpOfConjugate,
    Piece::CosOfImaginary,
    Piece::CosOfTwice,
];

/// How many of them real numbers have, too.
const REAL_PIECES: usize = 5;

/// Functions, and what each may be divided by where something is added to that.
pub const GUARDED: [(Function, Divisor); 8] = [
    (Function::Phi(1), Divisor::Z),
    (Function::Phi(2), Divisor::Z),
    (Function::Phi(2), Divisor::Square),
    (Function::Phi(3), Divisor::Z),
    (Function::Phi(3), Divisor::Cube),
    (Function::Phi(3), Divisor::Square),
    (Function::Resolvent(Fraction(1, 2)), Divisor::Pole(Fraction(1, 2))),
    (Function::Resolvent(Fraction(1, 1)), Divisor::Pole(Fraction(1, 1))),
];

/// What a wrong division may divide.
const DIVIDENDS: [Piece; 3] =
    [Piece::Of(Function::Power(0)), Piece::Of(Function::Power(1)), Piece::Of(Function::Phi(0))];

/// What a wrong division may be by.
const DIVISORS: [Divisor; 5] = [
    Divisor::Pole(Fraction(1, 2)),
    Divisor::Z,
    Divisor::Square,
    Divisor::Pole(Fraction(1, 1)),
    Divisor::Pole(Fraction(-1, 2)),
];

/// The last term of a series that is looked for.
const CUT: usize = 24;

/// The last power whose coefficient alone may be wrong.
const BESIDE: usize = 10;

/// Subsets of one to so many, the smallest first.
fn subsets(count: usize, most: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = (1..1usize << count)
        .map(|set| (0..count).filter(|i| set >> i & 1 == 1).collect())
        .filter(|chosen: &Vec<usize>| chosen.len() <= most)
        .collect();
    all.sort_by_key(Vec::len);
    all
}

/// The values of a function at some points, and what an error of each is measured in.
pub struct Samples<'a> {
    pub z: &'a [Complex64],
    pub values: &'a [Complex64],
    pub scales: Vec<f64>,
    /// When it ends.
    pub work: &'a Work,
}

/// The function that has these values; none if it is none of those that are known here, or where the work is over. What stands in the
/// place of exp(z) elsewhere in the same source may stand in this one, too.
pub fn find(z: &[Complex64], values: &[Complex64], probe: &Probe) -> Option<Found> {
    let own = probe.own.as_ref();
    let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.norm()));
    if !largest.is_finite() || largest == 0.0 {
        return None;
    }
    // A zero of the function is no reason to measure in nothing.
    let scales = values.iter().map(|value| value.norm().max(largest * TOLERANCE)).collect();
    let samples = Samples { z, values, scales, work: probe.work };
    let complex = z.iter().any(|z| z.im != 0.0);
    let plain = samples.single(Argument::Z, Part::Whole).or_else(|| samples.exponential());
    let plain = plain.or_else(|| samples.quotient(Argument::Z, Part::Whole)).or_else(|| samples.sum());
    plain
        .or_else(|| samples.cut())
        .or_else(|| samples.beside_power())
        .or_else(|| samples.over_powers(complex, 1))
        .or_else(|| samples.changed(complex))
        .or_else(|| samples.over_powers(complex, 3))
        .or_else(|| if complex { samples.scaled_parts().or_else(|| samples.divided_wrongly()) } else { None })
        .or_else(|| samples.with_exponent(own?.as_exponent()?))
        .or_else(|| samples.guarded())
        .or_else(|| samples.raised())
        .or_else(|| if complex { samples.of_wrong_powers().or_else(|| samples.nested()) } else { None })
        .or_else(|| if complex { samples.mixed().or_else(|| samples.over_powers(complex, 4)) } else { None })
        .or_else(|| samples.reduced())
        .or_else(|| samples.base_two())
        .or_else(|| samples.stepwise(own))
        .or_else(|| samples.closed_forms(complex))
}

/// A number as somebody typed it: of up to three digits.
pub fn typed(value: f64) -> Option<f64> {
    let short: f64 = format!("{value:.2e}").parse().ok()?;
    ((short - value).abs() <= 1e-4 * value.abs() && short != 0.0).then_some(short)
}

impl Samples<'_> {
    /// The factors of these columns, by which they add up to the values.
    pub fn factors(&self, columns: &[Vec<Complex64>]) -> Option<Vec<f64>> {
        self.factors_of(columns, self.values)
    }

    /// The same of other values.
    fn factors_of(&self, columns: &[Vec<Complex64>], values: &[Complex64]) -> Option<Vec<f64>> {
        if self.work.is_over() {
            return None;
        }
        self.work.add(values.len() * columns.len());
        fit::factors(columns, values, &self.scales)
    }

    /// The function if it leaves no more than a fit may.
    pub fn accepted(&self, found: Found) -> Option<Found> {
        let model: Vec<Complex64> = self.z.iter().map(|&z| found.value(z)).collect();
        (residual(&model, self.values, &self.scales) <= TOLERANCE).then_some(found)
    }

    pub fn column(&self, f: impl Fn(Complex64) -> Complex64) -> Vec<Complex64> {
        self.z.iter().map(|&z| f(z)).collect()
    }

    /// c f(argument) for one function of the basis.
    fn single(&self, argument: Argument, part: Part) -> Option<Found> {
        BASIS.iter().find_map(|&of| self.of_basis(&[of], argument, part))
    }

    fn of_basis(&self, functions: &[Function], argument: Argument, part: Part) -> Option<Found> {
        let columns: Vec<_> =
            functions.iter().map(|&of| self.column(|z| part.of(function(of, argument.of(z))))).collect();
        let factors = self.factors(&columns)?;
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
        let is_scaled = matches!(argument, Argument::RealPart | Argument::Scaled(_) | Argument::Parts(..));
        if below > 0 && (part != Part::Whole || is_scaled) {
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
        let factors = self.factors(&columns)?;
        // What rounding leaves of a coefficient that is 0.
        let or_zero = |&c: &f64| if c.abs() < TOLERANCE * TOLERANCE.sqrt() { 0.0 } else { snapped(c) };
        let round: Vec<f64> = factors.iter().map(or_zero).collect();
        if !plausible(&round) {
            return None;
        }
        let with = |factors: &[f64]| {
            let (above, below) = factors.split_at(above + 1);
            let (above, below) = (above.to_vec(), [&[1.0], below].concat());
            let shape = match argument {
                Argument::Conjugate if below.len() > 1 => Shape::ConjugateBelow(above, below),
                _ => Shape::Quotient(above, below),
            };
            let argument = if below_is_conjugate { Argument::Z } else { argument };
            self.accepted(Found { argument, part, shape })
        };
        // Near a zero of the function a constant that is typed as a single one is no fraction.
        with(&round).or_else(|| with(&factors))
    }

    /// The beginning of a series that is too long to be fitted.
    fn cut(&self) -> Option<Found> {
        let all = (0..=3).flat_map(|k| (5..=CUT).map(move |last| (k, last)));
        all.into_iter().find_map(|(k, last)| {
            let coefficients: Vec<f64> = (0..=last).map(|j| Function::Phi(k).coefficient(j)).collect();
            let column = self.column(|z| polynomial(&coefficients, z));
            let factor = snapped(self.factors(&[column])?[0]);
            recognized(factor)?;
            self.accepted(Found::plain(Shape::Cut(factor, k, last)))
        })
    }

    /// A φ-function in whose series one coefficient is wrong.
    fn beside_power(&self) -> Option<Found> {
        let all = (0..=3).flat_map(|k| (0..=BESIDE).map(move |power| (k, power)));
        all.into_iter().find_map(|(k, power)| {
            let functions = [Function::Phi(k), Function::Power(power)];
            let columns = functions.map(|of| self.column(|z| function(of, z)));
            let found = self.factors(&columns)?;
            let factor = snapped(found[0]);
            recognized(factor)?;
            let terms = vec![(factor, functions[0]), (snapped(found[1]), functions[1])];
            self.accepted(Found::plain(Shape::Sum(terms)))
        })
    }

    /// An exponential whose real and imaginary parts are scaled.
    fn exponential(&self) -> Option<Found> {
        // Where nothing wraps: small arguments.
        let near = |&i: &usize| self.z[i].norm() <= 0.5 && self.z[i].norm() > 0.0;
        let near: Vec<usize> = (0..self.z.len()).filter(near).collect();
        let first = *near.iter().find(|&&i| self.z[i].re != 0.0)?;
        let opposite = *near.iter().find(|&&i| self.z[i] == -self.z[first])?;
        let square = (self.values[first] * self.values[opposite]).re;
        // So near 0 the exponential has a positive real part.
        let sign = self.values[first].re.signum();
        let factor = if square > 0.0 { snapped(sign * square.sqrt()) } else { return None };
        let slope = |part: fn(Complex64) -> f64| {
            let i = near.iter().copied().find(|&i| part(self.z[i]) != 0.0)?;
            Some(part((self.values[i] / factor).ln()) / part(self.z[i]))
        };
        let re = slope(|z| z.re)?;
        let im = slope(|z| z.im).unwrap_or(re);
        // One that is lost beside the other is 0.
        let beside = |one: f64, other: f64| if one.abs() <= TOLERANCE * other.abs() { 0.0 } else { one };
        let (re, im) = (beside(re, im), beside(im, re));
        // What scales both parts is one number.
        let numbers = [factor, re, im];
        let count = if (re - im).abs() <= TOLERANCE * re.abs() { 2 } else { 3 };
        plausible(&numbers[..count])
            .then(|| Found::plain(Shape::Exponential(factor, re, im)))
            .and_then(|f| self.accepted(f))
    }

    /// Another argument, or a part of the value alone.
    fn changed(&self, complex: bool) -> Option<Found> {
        use Argument::{Conjugate, Falling, RealPart, Rising, Scaled, Upper, Z};
        let ln2 = std::f64::consts::LN_2;
        let scaled = [-1.0, 0.5, 2.0, ln2, 1.0 / ln2].map(Scaled);
        let parts: &[Part] =
            if complex { &[Part::Whole, Part::Real, Part::Imaginary, Part::Turned] } else { &[Part::Whole] };
        let arguments: &[Argument] = if complex { &[Z, Conjugate, RealPart] } else { &[Z] };
        let others: &[Argument] = if complex { &[Falling, Rising, Upper] } else { &[] };
        let all = arguments.iter().copied().chain(scaled).flat_map(|a| parts.iter().map(move |&p| (a, p)));
        let mut all = all.chain(others.iter().map(|&a| (a, Part::Whole)));
        all.find_map(|(argument, part)| {
            // A polynomial of what is scaled is one of z.
            let is_other = (argument, part) != (Z, Part::Whole) && !matches!(argument, Scaled(_));
            let quotient = || if is_other { self.quotient(argument, part) } else { None };
            self.single(argument, part).or_else(quotient)
        })
    }

    /// Factors of these columns, if they look chosen and leave no more than a fit may.
    pub fn sum_of(
        &self,
        columns: &[Vec<Complex64>],
        chosen: &[usize],
        shape: impl Fn(Vec<(f64, usize)>) -> Shape,
    ) -> Option<Found> {
        let picked: Vec<_> = chosen.iter().map(|&i| columns[i].clone()).collect();
        let found: Vec<f64> = self.factors(&picked)?.into_iter().map(snapped).collect();
        // What a step function is made of by hand has simple factors, all of them.
        if found.iter().any(|&factor| recognized(factor).is_none()) {
            return None;
        }
        self.accepted(Found::plain(shape(found.into_iter().zip(chosen.iter().copied()).collect())))
    }

    /// Up to so many exponentials and powers, of complex numbers also exponentials of one part alone, over a power of z: what is divided by
    /// z once more than it should, or a closed form of which a part has been formed wrongly.
    fn over_powers(&self, complex: bool, most: usize) -> Option<Found> {
        let count = if complex { PIECES.len() } else { REAL_PIECES };
        let chosen = subsets(count, most);
        // Over nothing only what the other shapes lack.
        (0..=3).filter(|&k| k > 0 || complex).find_map(|k| {
            let column = |piece: &Piece| self.column(|z| piece.value(z) / z.powu(k as u32));
            let columns: Vec<_> = PIECES[..count].iter().map(column).collect();
            let shape = |found: Vec<(f64, usize)>| {
                Shape::Over(found.into_iter().map(|(factor, i)| (factor, PIECES[i])).collect(), k)
            };
            chosen.iter().find_map(|chosen| self.sum_of(&columns, chosen, shape))
        })
    }

    /// Closed forms with another exponential than that of z.
    fn with_exponent(&self, (re, im): (f64, f64)) -> Option<Found> {
        let powers = [0, 1, 2].map(|k| Piece::Of(Function::Power(k)));
        let pieces = [&[Piece::ExpOfParts(re, im)], &powers[..]].concat();
        (1..=3).find_map(|k| {
            let column = |piece: &Piece| self.column(|z| piece.value(z) / z.powu(k as u32));
            let columns: Vec<_> = pieces.iter().map(column).collect();
            let shape = |found: Vec<(f64, usize)>| {
                Shape::Over(found.into_iter().map(|(factor, i)| (factor, pieces[i])).collect(), k)
            };
            subsets(pieces.len(), 4).iter().find_map(|chosen| self.sum_of(&columns, chosen, shape))
        })
    }

    /// One function that is divided by a little more than it should be: c f d = (d + ε) values is linear in c and ε.
    fn guarded(&self) -> Option<Found> {
        GUARDED.iter().find_map(|&(of, divisor)| {
            let right = self.column(|z| function(of, z) * divisor.of(z));
            let minus: Vec<Complex64> = self.values.iter().map(|value| -value).collect();
            let wanted: Vec<Complex64> =
                self.z.iter().zip(self.values).map(|(&z, value)| divisor.of(z) * value).collect();
            let found = self.factors_of(&[right, minus], &wanted)?;
            recognized(found[0])?;
            let shape = Shape::Guarded(snapped(found[0]), of, divisor, typed(found[1])?);
            self.accepted(Found::plain(shape))
        })
    }

    /// (P/Q)ᵐ of z/m, as exp(z) is approximated by squarings: the root that is near exp(z/m).
    fn raised(&self) -> Option<Found> {
        let near: Vec<usize> = (0..self.z.len()).filter(|&i| self.z[i].norm() <= 2.0).collect();
        let of = |m: i32, above: usize, below: usize| {
            let size = f64::from(m);
            let z: Vec<Complex64> = near.iter().map(|&i| self.z[i] / size).collect();
            let root = |&i: &usize| {
                let (z, value) = (self.z[i], self.values[i]);
                (z / size).exp() * (value / z.exp()).powf(1.0 / size)
            };
            let roots: Vec<Complex64> = near.iter().map(root).collect();
            let power = |k: usize| z.iter().map(|z| z.powu(k as u32)).collect::<Vec<_>>();
            let mut columns: Vec<Vec<Complex64>> = (0..=above).map(power).collect();
            let of_below = |k| power(k).into_iter().zip(&roots).map(|(z, root)| -z * root).collect();
            columns.extend((1..=below).map(of_below));
            let found: Vec<f64> =
                fit::factors(&columns, &roots, &vec![1.0; roots.len()])?.into_iter().map(snapped).collect();
            if found.iter().any(|&factor| recognized(factor).is_none()) {
                return None;
            }
            let (above, below) = found.split_at(above + 1);
            let shape = Shape::Raised(above.to_vec(), [&[1.0], below].concat(), m);
            self.accepted(Found::plain(shape))
        };
        let degrees = [(1, 0), (0, 1), (2, 0), (1, 1), (3, 0)];
        let powers = (1..=20).map(|squarings| 1i32 << squarings).chain([3, 5, 10, 100, 1000]);
        let mut all = degrees.into_iter().flat_map(|degree| powers.clone().map(move |m| (degree, m)));
        all.find_map(|((above, below), m)| of(m, above, below))
    }

    /// Polynomials and closed forms in which powers of z are formed wrongly.
    fn of_wrong_powers(&self) -> Option<Found> {
        Powers::wrong().find_map(|wrong| {
            let of = |pieces: &[Piece], below: usize, chosen: &[Vec<usize>]| {
                let column = |piece: &Piece| self.column(|z| piece.value(z) / wrong.power(z, below));
                let columns: Vec<_> = pieces.iter().map(column).collect();
                let shape = |found: Vec<(f64, usize)>| {
                    let above = found.into_iter().filter(|one| one.0 != 0.0);
                    Shape::OverWrong(above.map(|(factor, i)| (factor, pieces[i])).collect(), wrong, below)
                };
                chosen.iter().find_map(|chosen| self.sum_of(&columns, chosen, shape))
            };
            let powers: Vec<Piece> = (0..=4).map(|k| Piece::Wrong(wrong, k)).collect();
            let beginnings: Vec<Vec<usize>> = (3..=5).map(|count| (0..count).collect()).collect();
            let closed = [Function::Phi(0), Function::Power(0), Function::Power(1), Function::Power(2)];
            let mut pieces: Vec<Piece> = closed.into_iter().map(Piece::Of).collect();
            pieces.push(Piece::Wrong(wrong, 2));
            let chosen = subsets(pieces.len(), 4);
            of(&powers, 0, &beginnings).or_else(|| (2..=3).find_map(|below| of(&pieces, below, &chosen)))
        })
    }

    /// A reciprocal whose parts are put together wrongly, times what is divided.
    fn divided_wrongly(&self) -> Option<Found> {
        let chosen = subsets(DIVIDENDS.len(), 3);
        DIVISORS.iter().find_map(|&divisor| {
            Slip::all().find_map(|slip| {
                let column = |piece: &Piece| self.column(|z| piece.value(z) * slip.of(divisor.of(z)));
                let columns: Vec<_> = DIVIDENDS.iter().map(column).collect();
                let shape = |found: Vec<(f64, usize)>| {
                    let pieces = found.into_iter().map(|(factor, i)| (factor, DIVIDENDS[i])).collect();
                    Shape::Divided(pieces, divisor, slip)
                };
                chosen.iter().find_map(|chosen| self.sum_of(&columns, chosen, shape))
            })
        })
    }

    /// A function whose argument has another factor on its real part than on its imaginary part, as where A·log₂e is used as
    /// it is: how far both factors are apart is read off small arguments.
    fn scaled_parts(&self) -> Option<Found> {
        let named = [1.0, std::f64::consts::LN_2, std::f64::consts::LOG2_E, -1.0, 2.0, 0.5];
        let pairs = named.iter().flat_map(|&re| named.map(|im| (re, im)));
        let arguments = pairs.filter(|(re, im)| re != im).map(|(re, im)| Argument::Parts(re, im));
        let mut arguments = arguments.filter(|argument| self.has_slopes_of(*argument));
        arguments.find_map(|argument| {
            self.single(argument, Part::Whole).or_else(|| self.quotient(argument, Part::Whole))
        })
    }

    /// Whether the slopes at 0 along both axes are in the ratio of this argument's factors, as far as differences of small
    /// arguments say.
    fn has_slopes_of(&self, argument: Argument) -> bool {
        let value = |z: Complex64| self.z.iter().position(|&other| other == z).map(|i| self.values[i]);
        let smallest =
            self.z.iter().filter(|z| z.im == 0.0).map(|z| z.re.abs()).fold(f64::INFINITY, f64::min);
        let slope = |direction: Complex64| {
            let step = direction * smallest;
            Some((value(step)? - value(-step)?) / direction / argument_slope(argument, direction))
        };
        // To one side of 0 there are no differences, and the fit decides.
        let (Some(re), Some(im)) = (slope(Complex64::ONE), slope(Complex64::I)) else { return true };
        (re - im).norm() <= 0.05 * re.norm().max(im.norm())
    }
}

/// By how much the argument moves along a direction, for one of z.
fn argument_slope(argument: Argument, direction: Complex64) -> f64 {
    (argument.of(direction) / direction).re
}

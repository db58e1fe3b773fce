//! What is returned in a place as a sum of few terms: powers of Δ times the functions that methods are made of.

use num_complex::Complex64;

use super::expansion::{Expansion, Monomial, Point, Term, Which};
use super::fit::{TOLERANCE, factors, plausible, recognized, residual, snapped};
use super::function::{Found, Shape};
use crate::formula::Function;
use crate::judge::diagnose::Work;

/// How many points a sum must meet for each of its factors.
pub const EVIDENCE: usize = 4;

/// Arguments that are counted: one more than three terms, and two more for a factor that is no fraction.
const ARGUMENTS: usize = 6;

/// What is returned at these points, if it is a sum of up to three terms, or what is returned elsewhere and one or two more.
pub fn find(
    which: Which,
    values: &[(Point, Complex64)],
    elsewhere: &Expansion,
    work: &Work,
) -> Option<Expansion> {
    // At these points u and B are 1.
    let specified = if which == Which::BBar { Monomial::BU } else { Monomial::CONSTANT };
    let monomial = elsewhere.0.first().map_or(specified, |term| term.monomial);
    let term = |power, function| Term { monomial, power, function };
    let not_zero = values.iter().filter(|(_, got)| *got != Complex64::ZERO);
    let (points, got): (Vec<Point>, Vec<Complex64>) = not_zero.copied().unzip();
    if got.is_empty() {
        return Some(Expansion::default());
    }
    let scales: Vec<f64> = got.iter().map(|value| value.norm()).collect();
    let functions = [
        Function::Power(0),
        Function::Power(1),
        Function::Power(2),
        Function::Phi(0),
        Function::Phi(1),
        Function::Phi(2),
    ];
    let terms: Vec<(i32, Function)> =
        functions.iter().flat_map(|&of| (0..=3).map(move |power| (power, of))).collect();
    let single = |&(power, of): &(i32, Function)| term(power, Found::plain(Shape::Sum(vec![(1.0, of)])));
    let column = |one: &(i32, Function)| -> Vec<Complex64> {
        let alone = Expansion(vec![single(one)]);
        points.iter().map(|point| alone.value(point).0).collect()
    };
    let columns: Vec<_> = terms.iter().map(column).collect();
    let singles = (0..terms.len()).map(|i| vec![i]);
    let pairs = (0..terms.len()).flat_map(|i| (0..i).map(move |j| vec![j, i]));
    // Three terms of a polynomial.
    let triples = (0..12).flat_map(|i| (0..i).flat_map(move |j| (0..j).map(move |k| vec![k, j, i])));
    // Elsewhere's terms with a factor of 1 have no column.
    let rest: Vec<Complex64> =
        points.iter().zip(&got).map(|(point, got)| got - elsewhere.value(point).0).collect();
    let alone = singles.clone().chain(pairs.clone()).chain(triples).map(|chosen| (chosen, false));
    let more =
        singles.chain(pairs).filter(|chosen| chosen.iter().all(|&i| i < 12)).map(|chosen| (chosen, true));
    // At few arguments powers of Δ alone fit what is a function of z.
    let mut arguments: Vec<Complex64> = Vec::new();
    for z in points.iter().map(Point::z) {
        if arguments.len() < ARGUMENTS && !arguments.contains(&z) {
            arguments.push(z);
        }
    }
    // A factor that is no fraction fits one argument more.
    let enough_for = |found: &[f64]| {
        let odd = found.iter().filter(|&&factor| recognized(factor).is_none()).count();
        odd == 0 || arguments.len() > found.len() + 2 * odd
    };
    // Where e^z is below what is compared, φ-functions are powers of 1/z, which say more.
    let has_exponential = points.iter().any(|point| point.z().re > TOLERANCE.ln());
    let enough = |chosen: &Vec<usize>| {
        got.len() >= EVIDENCE * chosen.len()
            && arguments.len() > chosen.len()
            && (has_exponential || chosen.iter().all(|&i| i < 12))
    };
    let mut all = alone.chain(more).filter(|(chosen, _)| enough(chosen)).take_while(|_| !work.is_over());
    all.find_map(|(chosen, beside)| {
        let got = if beside { &rest } else { &got };
        let picked: Vec<Vec<Complex64>> = chosen.iter().map(|&i| columns[i].clone()).collect();
        let found: Vec<f64> = factors(&picked, got, &scales)?.into_iter().map(snapped).collect();
        if !plausible(&found) || !enough_for(&found) {
            return None;
        }
        let sum = |row: usize| picked.iter().zip(&found).map(|(column, factor)| column[row] * factor).sum();
        let model: Vec<Complex64> = (0..got.len()).map(sum).collect();
        let scaled = |(&i, &factor): (&usize, &f64)| {
            let (power, of) = terms[i];
            term(power, Found::plain(Shape::Sum(vec![(factor, of)])))
        };
        let terms = if beside { elsewhere.0.clone() } else { Vec::new() };
        let terms = || terms.into_iter().chain(chosen.iter().zip(&found).map(scaled)).collect();
        (residual(&model, got, &scales) <= 4.0 * TOLERANCE).then(|| Expansion(terms()))
    })
}

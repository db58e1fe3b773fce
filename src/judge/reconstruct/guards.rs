//! Small numbers that are added to what a term is divided by: near 0 alone they show, where the term is what it should be times
//! d/(d + ε), and ε is the same at every point.

use num_complex::Complex64;

use super::division::Divisor;
use super::expansion::{Expansion, Point, Probe, Term, Which};
use super::fit::blurred;
use super::function::{Found, Shape};
use super::places;
use super::search::{self, GUARDED};
use crate::formula::Function;

/// A share of a term that is surely off, and of what may be left of that.
const OFF: f64 = 1e-3;
const LEFT: f64 = 1e-4;
/// The fewest points that say so.
const FEWEST: usize = 6;

/// The expansion with one of its terms guarded, where that is what is returned near 0; none where nothing is off there.
pub fn find(probe: &Probe, which: Which, model: &Expansion) -> Option<Expansion> {
    let points: Vec<Point> =
        places::grid(probe.weights).into_iter().filter(|point| point.delta >= 1.0 / 64.0).collect();
    let got: Vec<Complex64> = probe.ask(&points)?.into_iter().map(|step| step[which as usize]).collect();
    let guarded = |at: usize, of: Function, divisor: Divisor| -> Option<Expansion> {
        let term = &model.0[at];
        let Shape::Sum(sum) = &term.function.shape else { return None };
        let [(factor, own)] = sum[..] else { return None };
        if own != of || term.function != Found::plain(term.function.shape.clone()) {
            return None;
        }
        let with = |epsilon: f64| {
            let shape = Shape::Guarded(factor, of, divisor, epsilon);
            let mut all = model.clone();
            all.0[at] = Term { function: Found::plain(shape), ..term.clone() };
            all
        };
        let others = Expansion(
            model.0.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, one)| one.clone()).collect(),
        );
        let alone = Expansion(vec![term.clone()]);
        // What the points say that show it best.
        let says = |(point, got): (&Point, &Complex64)| {
            let (whole, rest) = (alone.value(point).0, got - others.value(point).0);
            let off = (rest - whole).norm() / whole.norm();
            let clear = off > OFF && off < 1.0 - OFF && blurred(point.z()) < OFF * off;
            clear.then(|| (divisor.of(point.z()) * (whole / rest - 1.0)).re)
        };
        let mut all: Vec<f64> = points.iter().zip(&got).filter_map(says).filter(|x| x.is_finite()).collect();
        all.sort_by(f64::total_cmp);
        let epsilon = search::typed(*all.get(all.len() / 2).filter(|_| all.len() >= FEWEST)?)?;
        let changed = with(epsilon);
        let holds = points.iter().zip(&got).all(|(point, got)| {
            let (want, size) = changed.value(point);
            let allowed = LEFT + blurred(point.z());
            !want.is_finite() || !got.is_finite() || (got - want).norm() <= allowed * size
        });
        holds.then_some(changed)
    };
    let places =
        (0..model.0.len()).flat_map(|at| GUARDED.iter().map(move |&(of, divisor)| (at, of, divisor)));
    places.into_iter().find_map(|(at, of, divisor)| guarded(at, of, divisor))
}

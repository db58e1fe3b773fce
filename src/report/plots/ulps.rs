//! Errors of Ā and B̄ against |z|, one panel per method.

use plotters::style::RGBColor;

use super::Sheet;
use super::axis::{Axis, Panel, Scale};
use super::canvas::{Canvas, Point};
use super::palette::{self, Marker};
use crate::method::Method;
use crate::problem::Weights;
use crate::report::sweeps::{self, Coefficient};
use crate::results::{CoefficientPoint, Results};

/// Points kept along |z|: the largest error of each of so many steps.
const BINS: usize = 110;
/// Above this the error axis is logarithmic.
const MOST_LINEAR: f64 = 24.0;
/// Half the length of the dash at what is allowed, in pixels.
const DASH: f64 = 2.5;

type Points = (Method, Vec<CoefficientPoint>);

/// Of the sweeps of one weight type.
pub fn sheet(results: &Results, weights: Weights) -> Option<Sheet<'_>> {
    let methods = sweeps::points(results, weights);
    methods.first()?;
    let title = format!("Error of Ā and B̄ against |z| = |ΔA|, {weights} weights");
    let height = 58.0 + methods.len().div_ceil(3) as f64 * 226.0;
    let unit = match weights {
        Weights::Real => "units in the last place of an f32",
        Weights::Complex => "2⁻²⁴ of the coefficient's modulus (normwise)",
    };
    let draw = move |canvas: &Canvas| draw(canvas, weights, &methods);
    Some(Sheet::new("coefficients", weights, title, height, draw).about(unit))
}

fn draw(canvas: &Canvas, weights: Weights, methods: &[Points]) {
    for (coefficient, x) in [(Coefficient::ABar, 60.0), (Coefficient::BBar, 130.0)] {
        let (marker, colour) = mark(coefficient);
        canvas.marker(marker, (x, 38.0), 4.0, colour);
        canvas.entry(coefficient.name(), (x + 10.0, 38.0));
    }
    for (coefficient, x) in [(Coefficient::ABar, 200.0), (Coefficient::BBar, 210.0)] {
        dash(canvas, (x, 38.0), mark(coefficient).1);
    }
    canvas.entry("allowed there", (220.0, 38.0));
    for (i, (method, points)) in methods.iter().enumerate() {
        let (left, top) = (54.0 + (i % 3) as f64 * 258.0, 72.0 + (i / 3) as f64 * 226.0);
        let (right, bottom) = (left + 220.0, top + 162.0);
        let all = methods.iter().flat_map(|(_, points)| points);
        let x = Axis::decades(all.map(|p| p.z_re.hypot(p.z_im)), (left, right)).within(1e-12, 1e6);
        let panel = Panel { x, y: errors(methods, (bottom, top)) };
        panel.draw(canvas, (5, 6));
        for coefficient in Coefficient::ALL {
            let (marker, colour) = mark(coefficient);
            for (z, error, allowed) in thinned(points, coefficient, &x) {
                canvas.marker(marker, panel.place((z, error)), 2.1, colour);
                if allowed <= panel.y.high {
                    dash(canvas, panel.place((z, allowed)), colour);
                }
            }
        }
        canvas.heading(method.name(), (left + 2.0, top - 9.0));
        canvas.label("|z|", ((left + right) / 2.0, bottom + 26.0));
        if i.is_multiple_of(3) {
            let unit = match weights {
                Weights::Real => "error / f32 ulp",
                Weights::Complex => "error / (2⁻²⁴ · modulus)",
            };
            canvas.upright(unit, (left - 38.0, (top + bottom) / 2.0));
        }
    }
}

/// One error axis for all panels, so that they compare: linear while all of it is a few units.
fn errors(methods: &[Points], place: (f64, f64)) -> Axis {
    let of = |p: &CoefficientPoint| [p.a_bar_ulp, p.b_bar_ulp, p.a_bar_allowed, p.b_bar_allowed];
    let points = || methods.iter().flat_map(|(_, points)| points);
    let values = || points().flat_map(of).filter(|value| value.is_finite());
    let largest = values().fold(1.0, f64::max);
    if largest <= MOST_LINEAR {
        return Axis::linear(1.1 * largest, place);
    }
    let limits = Axis::decades(values().chain([0.1, 100.0]), place);
    Axis { scale: Scale::Log, ..limits.within(1e-2, 1e6) }
}

fn dash(canvas: &Canvas, (x, y): Point, colour: RGBColor) {
    canvas.line(&[(x - DASH, y), (x + DASH, y)], colour, 1.0);
}

fn mark(coefficient: Coefficient) -> (Marker, RGBColor) {
    match coefficient {
        Coefficient::ABar => (Marker::Circle, palette::BLUE),
        Coefficient::BBar => (Marker::TriangleUp, palette::ORANGE),
    }
}

/// |z|, error and bound of the point with the largest error of each of [`BINS`] steps along the axis; a NaN is larger
/// than any.
fn thinned(points: &[CoefficientPoint], coefficient: Coefficient, x: &Axis) -> Vec<(f64, f64, f64)> {
    let mut bins = vec![None::<(f64, f64, f64)>; BINS + 1];
    for point in points {
        let z = point.z_re.hypot(point.z_im);
        let error = coefficient.error(point);
        let share = (x.place(z) - x.start) / (x.end - x.start);
        let bin = &mut bins[(share * BINS as f64) as usize];
        if bin.is_none_or(|(_, worst, _)| sweeps::is_larger(error, worst)) {
            *bin = Some((z, error, coefficient.allowed(point)));
        }
    }
    bins.into_iter().flatten().collect()
}

//! The errors of Ā and B̄.

use plotters::style::RGBColor;

use super::Sheet;
use super::axis::{Axis, Panel, Scale};
use super::canvas::{Anchor, Canvas, Point};
use super::palette::{self, Marker};
use crate::method::Method;
use crate::problem::Weights;
use crate::report::sweeps::{self, Coefficient};
use crate::report::text;
use crate::results::{CoefficientPoint, Results};

/// Points kept along |z|: the largest error of each of so many steps.
const BINS: usize = 55;
/// Above this the error axis is logarithmic.
const MOST_LINEAR: f64 = 24.0;
/// Half the length of the dash at what is allowed, in pixels.
const DASH: f64 = 3.0;

type Points = (Method, Vec<CoefficientPoint>);

/// Errors of the sweeps of one weight type against |z|, one panel per method.
pub fn against_z(results: &Results, weights: Weights) -> Option<Sheet<'_>> {
    let methods = sweeps::points(results, weights);
    methods.first()?;
    let title = format!("Error of Ā and B̄ against |z| = |ΔA|, {weights} weights");
    let height = 58.0 + methods.len().div_ceil(3) as f64 * 226.0;
    let unit = match weights {
        Weights::Real => "units in the last place of an f32",
        Weights::Complex => "2⁻²⁴ of the coefficient's modulus (normwise)",
    };
    let draw = move |canvas: &Canvas| draw_against_z(canvas, weights, &methods);
    Some(Sheet::new("coefficients", weights, title, height, draw).about(unit))
}

fn draw_against_z(canvas: &Canvas, weights: Weights, methods: &[Points]) {
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
        let panel = Panel { x, y: error_axis(methods, (bottom, top)) };
        panel.draw(canvas, (5, 6));
        for coefficient in Coefficient::ALL {
            let (marker, colour) = mark(coefficient);
            for (z, error, allowed) in thinned(points, coefficient, &x) {
                canvas.marker(marker, panel.place((z, error)), 2.9, colour);
                let [of_z, got, most] = [z, error, allowed].map(|value| text::number(value, 2));
                let said =
                    format!("{method}, {}, |z| = {of_z}: error {got}, allowed {most}", coefficient.name());
                canvas.note(panel.place((z, error)), said);
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
fn error_axis(methods: &[Points], place: (f64, f64)) -> Axis {
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

const COLUMNS: usize = 24;
const ROWS: usize = 12;
/// Colours: shares of the bound up to these; the last one stands for all beyond.
const LEVELS: [f64; 6] = [0.2, 0.4, 0.6, 0.8, 1.0, f64::INFINITY];

/// Errors of the complex sweeps over the plane: |z| along, the angle of z up, error/bound as a colour.
pub fn over_plane(results: &Results) -> Option<Sheet<'_>> {
    let methods = sweeps::points(results, Weights::Complex);
    methods.first()?;
    let height = 72.0 + methods.len() as f64 * 116.0 + 14.0;
    let title = "Error/bound of Ā and B̄ over the complex plane of z = ΔA";
    Some(Sheet::new("plane", Weights::Complex, title, height, move |canvas| draw_plane(canvas, &methods)))
}

fn draw_plane(canvas: &Canvas, methods: &[Points]) {
    canvas.entry("error / bound:", (160.0, 40.0));
    for (i, level) in LEVELS.iter().enumerate() {
        let x = 262.0 + i as f64 * 82.0;
        canvas.rectangle((x, 33.0), (x + 20.0, 47.0), colour(i));
        canvas.frame((x, 33.0), (x + 20.0, 47.0), palette::FAINT, 0.75);
        let label = if level.is_finite() { format!("≤ {level}") } else { "above 1".to_owned() };
        canvas.entry(&label, (x + 26.0, 40.0));
    }
    let last = methods.len() - 1;
    for (i, (method, points)) in methods.iter().enumerate() {
        let top = 72.0 + i as f64 * 116.0;
        canvas.heading(method.name(), (12.0, top + 48.0));
        for (coefficient, left) in [(Coefficient::ABar, 120.0), (Coefficient::BBar, 476.0)] {
            plane_panel(canvas, points, coefficient, (left, top), i == last);
        }
    }
}

fn colour(level: usize) -> RGBColor {
    if level + 1 == LEVELS.len() {
        palette::LIMIT
    } else {
        palette::heat(level as f64 / (LEVELS.len() - 2) as f64).0
    }
}

fn plane_panel(
    canvas: &Canvas,
    points: &[CoefficientPoint],
    coefficient: Coefficient,
    (left, top): Point,
    labelled: bool,
) {
    let (right, bottom) = (left + 306.0, top + 92.0);
    let modulus = |p: &CoefficientPoint| p.z_re.hypot(p.z_im);
    let x = Axis::decades(points.iter().map(modulus), (left, right)).within(1e-10, 1e4);
    let panel = Panel { x, y: Axis::between(-180.0, 180.0, (bottom, top)) };
    let mut worst = vec![None::<f64>; COLUMNS * ROWS];
    for point in points.iter().filter(|p| modulus(p) > 0.0) {
        let angle = point.z_im.atan2(point.z_re).to_degrees();
        let column = cell(panel.x.place(modulus(point)), (left, right), COLUMNS);
        let row = cell(panel.y.place(angle), (top, bottom), ROWS);
        let error = share(coefficient.error(point), coefficient.allowed(point));
        let found = &mut worst[row * COLUMNS + column];
        if found.is_none_or(|w| sweeps::is_larger(error, w)) {
            *found = Some(error);
        }
    }
    let (width, height) = ((right - left) / COLUMNS as f64, (bottom - top) / ROWS as f64);
    let levels: Vec<Option<usize>> = worst.into_iter().map(|w| w.map(level)).collect();
    canvas.rectangle((left, top), (right, bottom), palette::GRID);
    for (row, levels) in levels.chunks(COLUMNS).enumerate() {
        // Neighbours of one colour are one rectangle: a third of the file.
        let mut column = 0;
        for run in levels.chunk_by(|a, b| a == b) {
            if let Some(level) = run[0] {
                let from = (left + column as f64 * width, top + row as f64 * height);
                canvas.rectangle(from, (from.0 + run.len() as f64 * width, from.1 + height), colour(level));
            }
            column += run.len();
        }
    }
    for degrees in [-90.0, 0.0, 90.0] {
        let y = panel.y.place(degrees);
        canvas.line(&[(left, y), (right, y)], palette::FAINT, 0.5);
        canvas.text(&format!("{degrees}°"), (left - 5.0, y), 10.5, palette::INK, Anchor::End);
    }
    canvas.frame((left, top), (right, bottom), palette::FAINT, 1.0);
    canvas.entry(coefficient.name(), (left + 4.0, top - 9.0));
    if labelled {
        panel.label_x(canvas, panel.x.ticks(8));
        canvas.label("|z| (no unit), angle of z upwards", ((left + right) / 2.0, bottom + 27.0));
    }
}

fn cell(place: f64, (from, to): (f64, f64), cells: usize) -> usize {
    (((place - from) / (to - from) * cells as f64) as usize).min(cells - 1)
}

/// What is allowed where nothing is, is nothing.
fn share(error: f64, allowed: f64) -> f64 {
    if error == 0.0 { 0.0 } else { error / allowed }
}

/// The colour of a share: a NaN is beyond everything.
fn level(share: f64) -> usize {
    LEVELS.iter().position(|l| share <= *l).unwrap_or(LEVELS.len() - 1)
}

//! Errors of Ā and B̄ over the complex plane: |z| along, the angle of z up, the error as a colour.

use plotters::style::RGBColor;

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Point};
use super::{Sheet, palette};
use crate::method::Method;
use crate::problem::Weights;
use crate::report::sweeps::{self, Coefficient};
use crate::results::{CoefficientPoint, Results};

const COLUMNS: usize = 24;
const ROWS: usize = 12;
/// Colours: errors up to these, in 2⁻²⁴ of the modulus; the last one stands for all beyond.
const LEVELS: [f64; 6] = [0.5, 1.0, 2.0, 4.0, 8.0, f64::INFINITY];

/// One picture, of the complex sweeps.
pub fn sheet(results: &Results) -> Option<Sheet<'_>> {
    let methods = sweeps::points(results, Weights::Complex);
    methods.first()?;
    let height = 72.0 + methods.len() as f64 * 116.0 + 14.0;
    let title = "Error of Ā and B̄ over the complex plane of z = ΔA";
    Some(Sheet::new("plane", Weights::Complex, title, height, move |canvas| draw(canvas, &methods)))
}

fn draw(canvas: &Canvas, methods: &[(Method, Vec<CoefficientPoint>)]) {
    canvas.entry("error / (2⁻²⁴ · modulus):", (100.0, 40.0));
    for (i, level) in LEVELS.iter().enumerate() {
        let x = 262.0 + i as f64 * 82.0;
        canvas.rectangle((x, 33.0), (x + 20.0, 47.0), colour(i));
        canvas.frame((x, 33.0), (x + 20.0, 47.0), palette::FAINT, 0.75);
        let label = if level.is_finite() { format!("≤ {level}") } else { "over 8".to_owned() };
        canvas.entry(&label, (x + 26.0, 40.0));
    }
    let last = methods.len() - 1;
    for (i, (method, points)) in methods.iter().enumerate() {
        let top = 72.0 + i as f64 * 116.0;
        canvas.heading(method.name(), (12.0, top + 48.0));
        for (coefficient, left) in [(Coefficient::ABar, 120.0), (Coefficient::BBar, 476.0)] {
            panel(canvas, points, coefficient, (left, top), i == last);
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

fn panel(
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
        let error = coefficient.error(point);
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

/// The colour of an error: a NaN is beyond everything.
fn level(error: f64) -> usize {
    LEVELS.iter().position(|l| error <= *l).unwrap_or(LEVELS.len() - 1)
}

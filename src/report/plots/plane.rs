//! Errors of Ā and B̄ over the complex plane: |z| along, the angle of z up, the error as a colour.

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Drawn, Point, picture};
use super::{Plot, palette};
use crate::method::Method;
use crate::problem::Weights;
use crate::report::ReportError;
use crate::report::sweeps::Coefficient;
use crate::results::{CoefficientPoint, Results};

const COLUMNS: usize = 24;
const ROWS: usize = 12;
/// Colours: errors up to these, in 2⁻²⁴ of the modulus; the last one stands for all beyond.
const LEVELS: [f64; 6] = [0.5, 1.0, 2.0, 4.0, 8.0, f64::INFINITY];

/// One picture, of the complex sweeps.
pub fn plot(results: &Results) -> Result<Option<Plot>, ReportError> {
    let sweeps = || results.coefficients.iter().filter(|s| s.weights == Weights::Complex);
    let of = |m: Method| sweeps().filter(move |s| s.method == m).flat_map(|s| &s.points).copied();
    let methods: Vec<(Method, Vec<CoefficientPoint>)> = Method::ALL
        .into_iter()
        .map(|m| (m, of(m).collect::<Vec<_>>()))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    if methods.is_empty() {
        return Ok(None);
    }
    let (name, title) =
        ("plane-complex".to_owned(), "Error of Ā and B̄ over the complex plane of z = ΔA".to_owned());
    let height = 72.0 + methods.len() as f64 * 116.0 + 14.0;
    let svg = picture(&name, &title, (800.0, height), |canvas| draw(canvas, &title, &methods))?;
    let how_to_read = "Each cell is the largest error of the coefficient, in 2⁻²⁴ of its modulus (the contract is \
                       8), for the swept z of that modulus and angle: 0° is growth, ±90° the imaginary axis, ±180° \
                       decay; grey was not swept. A band that stands out along one angle or one modulus is a place where the \
                       formula cancels or its argument is reduced badly."
        .to_owned();
    Ok(Some(Plot { name, title, how_to_read, svg }))
}

fn draw(canvas: &Canvas, title: &str, methods: &[(Method, Vec<CoefficientPoint>)]) -> Drawn {
    canvas.bold(title, (12.0, 16.0), 14.0, palette::INK, Anchor::Start)?;
    canvas.text("error / (2⁻²⁴ · modulus):", (100.0, 40.0), 12.0, palette::INK, Anchor::Start)?;
    for (i, level) in LEVELS.iter().enumerate() {
        let x = 262.0 + i as f64 * 82.0;
        canvas.rectangle((x, 33.0), (x + 20.0, 47.0), colour(i))?;
        canvas.frame((x, 33.0), (x + 20.0, 47.0), palette::FAINT, 0.75)?;
        let label = if level.is_finite() { format!("≤ {level}") } else { "over 8".to_owned() };
        canvas.text(&label, (x + 26.0, 40.0), 12.0, palette::INK, Anchor::Start)?;
    }
    let last = methods.len() - 1;
    for (i, (method, points)) in methods.iter().enumerate() {
        let top = 72.0 + i as f64 * 116.0;
        canvas.bold(method.name(), (12.0, top + 48.0), 12.0, palette::INK, Anchor::Start)?;
        for (coefficient, left) in [(Coefficient::ABar, 120.0), (Coefficient::BBar, 476.0)] {
            panel(canvas, points, coefficient, (left, top), i == last)?;
        }
    }
    Ok(())
}

fn colour(level: usize) -> plotters::style::RGBColor {
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
) -> Drawn {
    let (right, bottom) = (left + 306.0, top + 92.0);
    let modulus = |p: &CoefficientPoint| p.z_re.hypot(p.z_im);
    let x = Axis::decades(points.iter().map(modulus), (left, right)).within(1e-10, 1e4);
    let panel = Panel { x, y: Axis::between(-180.0, 180.0, (bottom, top)) };
    let mut worst = vec![None::<f64>; COLUMNS * ROWS];
    for point in points.iter().filter(|p| modulus(p) > 0.0) {
        let (column, row) =
            (cell(panel.x.place(modulus(point)), (left, right), COLUMNS), point.z_im.atan2(point.z_re));
        let row = cell(panel.y.place(row.to_degrees()), (top, bottom), ROWS);
        let error = coefficient.error(point);
        let found = &mut worst[row * COLUMNS + column];
        if found.is_none_or(|w| !w.is_nan() && (error.is_nan() || error > w)) {
            *found = Some(error);
        }
    }
    let (width, height) = ((right - left) / COLUMNS as f64, (bottom - top) / ROWS as f64);
    let levels: Vec<Option<usize>> = worst.into_iter().map(|w| w.map(level)).collect();
    canvas.rectangle((left, top), (right, bottom), palette::GRID)?;
    for (row, levels) in levels.chunks(COLUMNS).enumerate() {
        // Neighbours of one colour are one rectangle: a third of the file.
        let mut column = 0;
        for run in levels.chunk_by(|a, b| a == b) {
            if let Some(level) = run[0] {
                let from = (left + column as f64 * width, top + row as f64 * height);
                let to = (from.0 + run.len() as f64 * width, from.1 + height);
                canvas.rectangle(from, to, colour(level))?;
            }
            column += run.len();
        }
    }
    let (upper, lower) = panel.corners();
    for degrees in [-90.0, 0.0, 90.0] {
        let y = panel.y.place(degrees);
        canvas.line(&[(left, y), (right, y)], palette::FAINT, 0.5)?;
        canvas.text(&format!("{degrees}°"), (left - 5.0, y), 10.5, palette::INK, Anchor::End)?;
    }
    canvas.frame(upper, lower, palette::FAINT, 1.0)?;
    let heading = (left + 4.0, top - 9.0);
    canvas.text(coefficient.symbol(), heading, 12.0, palette::INK, Anchor::Start)?;
    if labelled {
        for (value, label) in panel.x.ticks(8) {
            canvas.text(&label, (panel.x.place(value), bottom + 11.0), 11.0, palette::INK, Anchor::Middle)?;
        }
        let middle = ((left + right) / 2.0, bottom + 27.0);
        canvas.text("|z| (no unit), angle of z upwards", middle, 12.0, palette::INK, Anchor::Middle)?;
    }
    Ok(())
}

fn cell(place: f64, (from, to): (f64, f64), cells: usize) -> usize {
    (((place - from) / (to - from) * cells as f64) as usize).min(cells - 1)
}

/// The colour of an error: a NaN is beyond everything.
fn level(error: f64) -> usize {
    LEVELS.iter().position(|l| error <= *l).unwrap_or(LEVELS.len() - 1)
}

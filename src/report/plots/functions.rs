//! The errors of functions of one float over all of f32.

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Point};
use super::{Sheet, palette};
use crate::report::text;
use crate::results::Results;
use crate::results::functions::{FunctionRange, RANGES};

/// The middle of the horizontal axis: below it arguments are negative.
const MIDDLE: f64 = RANGES as f64 / 2.0;

/// What a function used of its promise at each sign and exponent: one panel per function.
pub fn shares(results: &Results) -> Option<Sheet<'_>> {
    results.functions.first()?;
    let functions: Vec<&[FunctionRange]> =
        results.functions.chunk_by(|a, b| a.function == b.function).collect();
    let height = 40.0 + functions.len().div_ceil(3) as f64 * 128.0;
    let draw = move |canvas: &Canvas| {
        for (i, ranges) in functions.iter().enumerate() {
            let corner = (54.0 + (i % 3) as f64 * 252.0, 56.0 + (i / 3) as f64 * 128.0);
            panel(canvas, ranges, corner);
            if i.is_multiple_of(3) {
                canvas.upright("error / bound", (corner.0 - 40.0, corner.1 + 38.0));
            }
        }
    };
    Some(Sheet::new(
        "functions",
        "",
        "Share of the promise that each function used, over all of f32",
        height,
        draw,
    ))
}

/// Where arguments of this range are.
fn place(range: &FunctionRange) -> f64 {
    let (.., exponent) = range.order();
    MIDDLE + f64::from(exponent) + if range.negative { -0.5 } else { 0.5 }
}

fn panel(canvas: &Canvas, ranges: &[FunctionRange], (left, top): Point) {
    let (right, bottom) = (left + 216.0, top + 76.0);
    // What fails is at the upper edge, in the shaded part.
    let panel =
        Panel { x: Axis::between(0.0, RANGES as f64, (left, right)), y: Axis::linear(1.25, (bottom, top)) };
    canvas.rectangle((left, top), (right, panel.y.place(1.0)), palette::OVER);
    panel.draw(canvas, (0, 2));
    let one = 127.5;
    let ticks = [
        (MIDDLE - one - 64.0, "−2⁶⁴"),
        (MIDDLE - one, "−1"),
        (MIDDLE, "0"),
        (MIDDLE + one, "1"),
        (MIDDLE + one + 64.0, "2⁶⁴"),
    ];
    for (at, _) in ticks {
        canvas.line(&[(panel.x.place(at), top), (panel.x.place(at), bottom)], palette::GRID, 0.75);
    }
    panel.label_x(canvas, ticks.map(|(at, label)| (at, label.to_owned())).into());
    canvas.dashed(
        &[panel.place((0.0, 1.0)), panel.place((RANGES as f64, 1.0))],
        palette::LIMIT,
        1.5,
        palette::DASHES,
    );
    canvas.bold(ranges[0].function.name(), (left, top - 9.0), 11.5, palette::INK, Anchor::Start);
    // Ranges beside each other, as far as they were judged: a line that ends where nothing was.
    let judged = |range: &&FunctionRange| range.judged > 0;
    let points: Vec<(f64, f64)> = ranges.iter().filter(judged).map(|r| (place(r), r.worst_share)).collect();
    for part in points.chunk_by(|a, b| b.0 - a.0 < 1.5) {
        let places: Vec<Point> = bends(part).iter().map(|&point| panel.place(point)).collect();
        canvas.line(&places, palette::BLUE, 1.5);
    }
    let worst = points.iter().copied().reduce(|a, b| if b.1 > a.1 || b.1.is_nan() { b } else { a });
    if let Some((at, share)) = worst {
        let said = format!("{}: error/bound {} at most", ranges[0].function, text::share(share));
        canvas.note(panel.place((at, share)), said);
    }
    canvas.frame((left, top), (right, bottom), palette::FAINT, 1.0);
}

/// A line's points without those between two of the same height.
fn bends(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let same = |i: usize, j: usize| points[i].1.to_bits() == points[j].1.to_bits();
    let between = |i: usize| i > 0 && i + 1 < points.len() && same(i - 1, i) && same(i, i + 1);
    (0..points.len()).filter(|&i| !between(i)).map(|i| points[i]).collect()
}

//! Errors of the outputs along the sequence, with their bounds.

use super::Sheet;
use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Point};
use super::palette::{self, Marker};
use crate::problem::Weights;
use crate::report::text;
use crate::results::{ErrorSequence, Results};

/// One panel per method.
pub fn sheet(results: &Results, weights: Weights) -> Option<Sheet<'_>> {
    let of_weights = |s: &&ErrorSequence| s.weights == weights && !s.position.is_empty();
    let sequences: Vec<_> = results.errors.sequences.iter().filter(of_weights).collect();
    let first = sequences.first()?;
    let problem =
        first.case.strip_suffix(first.method.name()).map_or(&*first.case, |id| id.trim_end_matches('/'));
    let title = format!("Output error along the sequence, {weights} weights");
    let height = 46.0 + sequences.len().div_ceil(3) as f64 * 206.0;
    let draw = move |canvas: &Canvas| draw(canvas, &sequences);
    Some(Sheet::new("sequence", weights, title, height, draw).about(&text::fit(problem, 100)))
}

fn draw(canvas: &Canvas, sequences: &[&ErrorSequence]) {
    canvas.marker(Marker::Circle, (60.0, 40.0), 3.0, palette::BLUE);
    canvas.entry("error", (70.0, 40.0));
    canvas.dashed(&[(130.0, 40.0), (164.0, 40.0)], palette::LIMIT, 1.75, palette::DASHES);
    canvas.entry("derived bound of that output", (170.0, 40.0));
    for (i, sequence) in sequences.iter().enumerate() {
        let corner = (60.0 + (i % 3) as f64 * 257.0, 76.0 + (i / 3) as f64 * 206.0);
        panel(canvas, sequence, sequences, corner);
        if i.is_multiple_of(3) {
            canvas.upright("|got − truth|", (corner.0 - 46.0, corner.1 + 68.0));
        }
    }
}

fn panel(canvas: &Canvas, sequence: &ErrorSequence, all: &[&ErrorSequence], (left, top): Point) {
    let (right, bottom) = (left + 214.0, top + 136.0);
    // One axis for all, so that the panels compare.
    let values = all.iter().flat_map(|s| s.error.iter().chain(&s.bound)).copied();
    let last = all.iter().filter_map(|s| s.position.last()).max().copied().unwrap_or(0);
    let panel = Panel {
        x: Axis::linear((last + 1) as f64, (left, right)),
        y: Axis::decades(values, (bottom, top)).within(1e-14, 1e12),
    };
    panel.draw(canvas, (4, 6));
    let at = |values: &[f64]| -> Vec<Point> {
        sequence.position.iter().zip(values).map(|(&l, &v)| panel.place((l as f64, v))).collect()
    };
    for ((place, error), bound) in at(&sequence.error).into_iter().zip(&sequence.error).zip(&sequence.bound) {
        let over = error.is_nan() || error > bound;
        canvas.marker(Marker::Circle, place, 1.6, if over { palette::LIMIT } else { palette::BLUE });
    }
    canvas.dashed(&at(&sequence.bound), palette::LIMIT, 1.5, palette::DASHES);
    canvas.heading(sequence.method.name(), (left + 2.0, top - 9.0));
    let middle = ((left + right) / 2.0, bottom + 27.0);
    canvas.text("position l in the sequence", middle, 11.5, palette::INK, Anchor::Middle);
}

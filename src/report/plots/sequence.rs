//! Errors of the outputs along the sequence, with their bounds.

use super::Plot;
use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Drawn, Point, picture};
use super::palette::{self, Marker};
use crate::problem::Weights;
use crate::report::{ReportError, text};
use crate::results::Results;
use crate::results::profile::ErrorSequence;

/// One picture per weight type, one panel per method.
pub fn plots(results: &Results) -> Result<Vec<Plot>, ReportError> {
    let mut plots = Vec::new();
    for weights in Weights::ALL {
        let of_weights = |s: &&ErrorSequence| s.weights == weights && !s.position.is_empty();
        let sequences: Vec<_> = results.errors.sequences.iter().filter(of_weights).collect();
        let Some(first) = sequences.first() else { continue };
        let name = format!("sequence-{weights}");
        let title = format!("Output error along the sequence, {weights} weights");
        let height = 46.0 + sequences.len().div_ceil(3) as f64 * 206.0;
        let svg = picture(&name, &title, (800.0, height), |canvas| draw(canvas, &title, &sequences))?;
        let problem =
            first.case.strip_suffix(first.method.name()).map_or(&*first.case, |id| id.trim_end_matches('/'));
        let how_to_read = format!(
            "Dots are errors of single outputs on {}, the longest f32 problem of the run: of each stretch of the \
             sequence the output nearest its bound, which is the line above it. Errors that keep their distance are \
             well; errors that grow towards the line, or jump at a power of two, point to a state that is carried \
             from chunk to chunk with a loss.",
            text::fit(problem, 100)
        );
        plots.push(Plot { name, title, how_to_read, svg });
    }
    Ok(plots)
}

fn draw(canvas: &Canvas, title: &str, sequences: &[&ErrorSequence]) -> Drawn {
    canvas.bold(title, (12.0, 16.0), 14.0, palette::INK, Anchor::Start)?;
    canvas.marker(Marker::Circle, (60.0, 40.0), 3.0, palette::BLUE)?;
    canvas.text("error", (70.0, 40.0), 12.0, palette::INK, Anchor::Start)?;
    canvas.dashed(&[(130.0, 40.0), (164.0, 40.0)], palette::LIMIT, 1.75, &[7.0, 4.0])?;
    canvas.text("derived bound of that output", (170.0, 40.0), 12.0, palette::INK, Anchor::Start)?;
    for (i, sequence) in sequences.iter().enumerate() {
        let corner = (60.0 + (i % 3) as f64 * 257.0, 76.0 + (i / 3) as f64 * 206.0);
        panel(canvas, sequence, sequences, corner)?;
        if i.is_multiple_of(3) {
            canvas.upright("|got − truth|", (corner.0 - 46.0, corner.1 + 68.0), 12.0, palette::INK)?;
        }
    }
    Ok(())
}

fn panel(canvas: &Canvas, sequence: &ErrorSequence, all: &[&ErrorSequence], (left, top): Point) -> Drawn {
    let (right, bottom) = (left + 214.0, top + 136.0);
    // One axis for all, so that the panels compare.
    let values = all.iter().flat_map(|s| s.error.iter().chain(&s.bound)).copied();
    let last = all.iter().filter_map(|s| s.position.last()).max().copied().unwrap_or(0);
    let panel = Panel {
        x: Axis::linear((last + 1) as f64, (left, right)),
        y: Axis::decades(values, (bottom, top)).within(1e-14, 1e12),
    };
    panel.draw(canvas, (4, 6))?;
    let at = |values: &[f64]| -> Vec<Point> {
        sequence.position.iter().zip(values).map(|(&l, &v)| panel.place((l as f64, v))).collect()
    };
    for ((place, error), bound) in at(&sequence.error).into_iter().zip(&sequence.error).zip(&sequence.bound) {
        let over = error.is_nan() || error > bound;
        canvas.marker(Marker::Circle, place, 1.6, if over { palette::LIMIT } else { palette::BLUE })?;
    }
    canvas.dashed(&at(&sequence.bound), palette::LIMIT, 1.5, &[7.0, 4.0])?;
    canvas.bold(sequence.method.name(), (left + 2.0, top - 9.0), 12.0, palette::INK, Anchor::Start)?;
    let label = "position l in the sequence";
    canvas.text(label, ((left + right) / 2.0, bottom + 27.0), 11.5, palette::INK, Anchor::Middle)
}

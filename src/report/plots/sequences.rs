//! The errors of a kernel's outputs and gradients along the sequence, as shares of their bounds.

use super::Sheet;
use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Point};
use super::palette::{self, Marker};
use crate::method::Method;
use crate::problem::Weights;
use crate::report::{groups, text};
use crate::results::{BACKWARD, ErrorSequence, Results};
use crate::tensor::ComputedName;

const LEFT: f64 = 72.0;
const RIGHT: f64 = 780.0;
const TOP: f64 = 66.0;
/// From a row of panels to the next one, where there are several.
const ROW: f64 = 92.0;
/// All rows together, at least.
const ROWS: f64 = 180.0;
const GAP: f64 = 11.0;

/// The share of its bound that the error of the outputs uses along the sequence: a column of panels per method.
pub fn outputs(results: &Results, weights: Weights) -> Option<Sheet<'_>> {
    sheet(results, weights, "sequence", "Output", |tensor| tensor.output().is_some())
}

/// Errors of gradients along the sequence: a row of panels for each.
pub fn gradients(results: &Results, weights: Weights) -> Option<Sheet<'_>> {
    sheet(results, weights, "gradient-sequence", "Gradient", |tensor| tensor.gradient().is_some())
}

fn sheet<'a>(
    results: &'a Results,
    weights: Weights,
    kind: &'static str,
    of: &str,
    wanted: fn(ComputedName) -> bool,
) -> Option<Sheet<'a>> {
    let is_wanted = |s: &&ErrorSequence| s.weights == weights && wanted(s.tensor) && !s.position.is_empty();
    let sequences: Vec<_> = results.errors.sequences.iter().filter(is_wanted).collect();
    let first = sequences.first()?;
    let case = first.case.strip_suffix(BACKWARD).unwrap_or(&first.case);
    let problem = case.strip_suffix(&format!("/{}", first.method)).unwrap_or(case);
    let mut rows = groups::by_key(sequences, |s| s.tensor);
    rows.sort_by_key(|(tensor, _)| *tensor);
    let title = format!("{of} error along the sequence as a share of its bound, {weights} weights");
    let row = ROW.max(ROWS / rows.len() as f64);
    let height = TOP + rows.len() as f64 * row + 34.0;
    let draw = move |canvas: &Canvas| draw_rows(canvas, &rows, row);
    Some(Sheet::new(kind, weights, title, height, draw).about(&text::fit(problem, 100)))
}

fn draw_rows(canvas: &Canvas, rows: &[(ComputedName, Vec<&ErrorSequence>)], row: f64) {
    let all = || rows.iter().flat_map(|(_, sequences)| sequences);
    let used = |method: &Method| all().any(|s| s.method == *method);
    let methods: Vec<Method> = Method::ALL.into_iter().filter(used).collect();
    let last = all().filter_map(|s| s.position.last()).max().copied().unwrap_or(0);
    // One scale for all, so that the panels compare.
    let shares: Vec<f64> = all().flat_map(|s| shares(s)).chain([0.1, 9.9]).collect();
    canvas.dashed(&[(LEFT, 36.0), (LEFT + 34.0, 36.0)], palette::LIMIT, 1.75, palette::DASHES);
    canvas.entry("the bound derived for each element", (LEFT + 40.0, 36.0));
    let step = (RIGHT - LEFT + GAP) / methods.len() as f64;
    for (i, (tensor, sequences)) in rows.iter().enumerate() {
        let (top, bottom) = (TOP + i as f64 * row, TOP + (i + 1) as f64 * row - GAP);
        canvas.upright(tensor.name(), (16.0, (top + bottom) / 2.0));
        for (column, method) in methods.iter().enumerate() {
            let left = LEFT + column as f64 * step;
            let panel = Panel {
                x: Axis::linear((last + 1) as f64, (left, left + step - GAP)),
                y: Axis::decades(shares.iter().copied(), (bottom, top)).within(1e-4, 1e4),
            };
            let is_last = i + 1 == rows.len();
            draw_panel(canvas, &panel, (column == 0, is_last));
            if i == 0 {
                canvas.heading(method.name(), (left + 2.0, TOP - 10.0));
            }
            if let Some(sequence) = sequences.iter().find(|s| s.method == *method) {
                draw_sequence(canvas, &panel, sequence);
            }
        }
    }
    let bottom = TOP + rows.len() as f64 * row + 20.0;
    canvas.label(
        "position l in the sequence (each panel: error / bound, no unit)",
        ((LEFT + RIGHT) / 2.0, bottom),
    );
}

/// What fails is in the shaded part. Labels only along the left and the lower edge of the sheet.
fn draw_panel(canvas: &Canvas, panel: &Panel, (is_first, is_last): (bool, bool)) {
    let Panel { x, y } = panel;
    canvas.rectangle((x.start, y.end), (x.end, y.place(1.0)), palette::OVER);
    for (value, label) in y.ticks(3) {
        let at = y.place(value);
        canvas.line(&[(x.start, at), (x.end, at)], palette::GRID, 0.75);
        if is_first {
            canvas.text(&label, (x.start - 5.0, at), 11.0, palette::INK, Anchor::End);
        }
    }
    for (value, label) in x.ticks(2) {
        let at = x.place(value);
        canvas.line(&[(at, y.start), (at, y.end)], palette::GRID, 0.75);
        if is_last {
            canvas.text(&label, (at, y.start + 11.0), 11.0, palette::INK, Anchor::Middle);
        }
    }
    canvas.frame((x.start, y.end), (x.end, y.start), palette::FAINT, 1.0);
    canvas.dashed(&[(x.start, y.place(1.0)), (x.end, y.place(1.0))], palette::LIMIT, 1.5, palette::DASHES);
}

fn draw_sequence(canvas: &Canvas, panel: &Panel, sequence: &ErrorSequence) {
    let shares = shares(sequence);
    let places: Vec<Point> =
        sequence.position.iter().zip(&shares).map(|(&l, &share)| panel.place((l as f64, share))).collect();
    canvas.line(&places, palette::BLUE, 1.25);
    let worst = (0..shares.len()).max_by(|&a, &b| shares[a].total_cmp(&shares[b]));
    for (i, &place) in places.iter().enumerate() {
        let fails = shares[i].is_nan() || shares[i] > 1.0;
        if fails {
            canvas.marker(Marker::Circle, place, 1.8, palette::LIMIT);
        }
        if fails || worst == Some(i) {
            let ErrorSequence { method, tensor, position, error, bound, .. } = sequence;
            let [share, error, bound] =
                [text::share(shares[i]), text::number(error[i], 2), text::number(bound[i], 2)];
            let l = position[i];
            canvas.note(
                place,
                format!("{tensor} of {method}, l = {l}: error {error}, bound {bound}, error/bound {share}"),
            );
        }
    }
}

/// error/bound of each stretch's element that is nearest its bound; no error needs no bound.
fn shares(sequence: &ErrorSequence) -> Vec<f64> {
    let of = |(error, bound): (&f64, &f64)| if *error == 0.0 { 0.0 } else { error / bound };
    sequence.error.iter().zip(&sequence.bound).map(of).collect()
}

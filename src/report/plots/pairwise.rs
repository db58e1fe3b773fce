//! How far apart the methods are on one problem: the truth's matrix beside a kernel's.

use super::canvas::{Anchor, Canvas, Point};
use super::{Sheet, palette};
use crate::formula::Form;
use crate::problem::Weights;
use crate::report::pairs::{self, PairedProblem};
use crate::report::text;
use crate::results::{PairStatus, PairwiseMatrix, Results};

/// Both matrices stand side by side.
const WIDTH: f64 = 312.0;
const TOP: f64 = 92.0;
const HEIGHT: f64 = 484.0;
/// Relative differences below this are drawn alike.
const FLOOR: f64 = 1e-6;

/// The first problem that fails, or else the first one.
pub fn sheet(results: &Results, weights: Weights) -> Option<Sheet<'_>> {
    let mut problems = pairs::by_problem(results);
    problems.retain(|problem| problem.weights == weights && problem.tensor.output().is_some());
    let both = |p: &PairedProblem| p.truth.is_some() && !p.kernels.is_empty();
    let chosen = problems.iter().position(both).unwrap_or(0);
    let problem = problems.into_iter().nth(chosen)?;
    let title = format!("Pairwise differences of the methods' outputs, {weights} weights");
    let about = problem.problem;
    let draw = move |canvas: &Canvas| draw(canvas, &problem);
    Some(Sheet::new("pairwise", weights, title, HEIGHT, draw).about(&text::line(about)))
}

fn draw(canvas: &Canvas, problem: &PairedProblem) {
    let subtitle = format!("relative L2 on {}", text::fit(problem.problem, 100));
    canvas.text(&subtitle, (12.0, 37.0), 12.0, palette::FAINT, Anchor::Start);
    for (matrix, left) in [(problem.truth, 82.0), (problem.kernels.first().copied(), 478.0)] {
        match matrix {
            Some(matrix) => panel(canvas, matrix, left),
            None => {
                let middle = (left + WIDTH / 2.0, TOP + WIDTH / 2.0);
                canvas.text("no matrix", middle, 13.0, palette::FAINT, Anchor::Middle);
            }
        }
    }
    scale(canvas);
}

fn panel(canvas: &Canvas, matrix: &PairwiseMatrix, left: f64) {
    let heading = match matrix.source.as_str() {
        pairs::TRUTH => "truth".to_owned(),
        source => format!("kernel ({})", text::fit(source, 24)),
    };
    canvas.bold(&heading, (left, TOP - 32.0), 13.0, palette::INK, Anchor::Start);
    let forms = pairs::columns(matrix);
    let size = WIDTH / forms.len() as f64;
    for (i, &row) in forms.iter().enumerate() {
        let middle = (i as f64 + 0.5) * size;
        canvas.text(row.name(), (left - 6.0, TOP + middle), 11.5, palette::INK, Anchor::End);
        canvas.text(row.name(), (left + middle, TOP - 10.0), 11.0, palette::INK, Anchor::Middle);
        for (j, &column) in forms.iter().enumerate() {
            let corner = (left + j as f64 * size, TOP + i as f64 * size);
            cell(canvas, matrix, (row, column), (corner, size));
        }
    }
    // Frames last: a neighbour must not cover them.
    for pair in matrix.pairs.iter().filter(|p| p.status.is_failure()) {
        for (i, j) in [(pair.left, pair.right), (pair.right, pair.left)] {
            let place = |form| forms.iter().position(|known| *known == form).unwrap_or(0) as f64 * size;
            let (x, y) = (left + place(j), TOP + place(i));
            canvas.frame((x + 1.5, y + 1.5), (x + size - 1.5, y + size - 1.5), palette::LIMIT, 3.0);
        }
    }
}

fn cell(canvas: &Canvas, matrix: &PairwiseMatrix, (row, column): (Form, Form), ((x, y), size): (Point, f64)) {
    let middle = (x + size / 2.0, y + size / 2.0);
    let (corner, end) = ((x + 1.0, y + 1.0), (x + size - 1.0, y + size - 1.0));
    if row == column {
        return canvas.rectangle(corner, end, palette::GRID);
    }
    let pair = pairs::entry(matrix, row, column).filter(|p| p.status != PairStatus::Unmeasured);
    let Some(pair) = pair else {
        canvas.rectangle(corner, end, palette::PAPER);
        canvas.frame(corner, end, palette::GRID, 1.0);
        return canvas.text(text::UNMEASURED, middle, 12.0, palette::FAINT, Anchor::Middle);
    };
    let (colour, ink) = palette::heat(heat(pair.rel_l2));
    canvas.rectangle(corner, end, colour);
    let number = text::share(pair.rel_l2);
    if !pair.status.is_failure() {
        return canvas.text(&number, middle, 12.0, ink, Anchor::Middle);
    }
    canvas.bold(&number, (middle.0, middle.1 - 7.0), 12.0, ink, Anchor::Middle);
    canvas.text(pair.status.name(), (middle.0, middle.1 + 9.0), 9.5, ink, Anchor::Middle);
}

/// 0 for no difference (or one below the floor), 1 for one as large as the outputs; a NaN is dark.
fn heat(rel_l2: f64) -> f64 {
    if rel_l2.is_nan() { 1.0 } else { 1.0 - rel_l2.clamp(FLOOR, 1.0).log10() / FLOOR.log10() }
}

/// The colours' meaning, along the bottom.
fn scale(canvas: &Canvas) {
    let (left, top, width) = (250.0, HEIGHT - 56.0, 300.0);
    for i in 0..60 {
        let x = left + width * f64::from(i) / 60.0;
        let (colour, _) = palette::heat((f64::from(i) + 0.5) / 60.0);
        canvas.rectangle((x, top), (x + width / 60.0, top + 12.0), colour);
    }
    for (share, label) in [(0.0, "≤ 10⁻⁶"), (1.0 / 3.0, "10⁻⁴"), (2.0 / 3.0, "0.01"), (1.0, "≥ 1")]
    {
        canvas.text(label, (left + width * share, top + 23.0), 11.0, palette::INK, Anchor::Middle);
    }
    canvas.label("relative L2 difference (no unit)", (left + width / 2.0, top + 41.0));
}

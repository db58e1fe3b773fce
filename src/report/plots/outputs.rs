//! The errors of a kernel's outputs.

use super::axis::{Axis, Panel, Scale};
use super::canvas::{Anchor, Canvas, Point};
use super::palette;
use super::{Sheet, lines};
use crate::formula::Form;
use crate::problem::Weights;
use crate::report::grid::{self, Row};
use crate::report::text;
use crate::results::profile::{DECADES, ErrorHistogram, STEPS};
use crate::results::{Results, Verdict};

const LEFT: f64 = 178.0;
const RIGHT: f64 = 785.0;
const TOP: f64 = 64.0;
const ROW: f64 = 19.0;
/// All rows together: a narrow window shows pictures at eight tenths of their size.
const ROWS: f64 = 80.0;

/// The share of the allowed error that each method used in each regime that was measured.
pub fn shares(results: &Results, weights: Weights) -> Option<Sheet<'_>> {
    let title = format!("Share of the allowed error used, {weights} weights");
    share_of_each("shares", title, grid::rows(results), weights)
}

/// The same of each gradient, over all regimes.
pub fn gradients(results: &Results, weights: Weights) -> Option<Sheet<'_>> {
    let title = format!("Share of the allowed error used by each gradient, {weights} weights");
    share_of_each("gradients", title, grid::gradients(results), weights)
}

fn share_of_each<'a>(
    stem: &'static str,
    title: String,
    mut rows: Vec<Row<'a>>,
    weights: Weights,
) -> Option<Sheet<'a>> {
    let measured = |cell: &grid::Cell| cell.worst().is_some_and(|worst| worst.share.is_some());
    rows.retain(|row| row.weights == weights && row.cells.iter().any(measured));
    rows.first()?;
    let used = |m: &Form| rows.iter().any(|row| !row.cells[m.index()].judged.is_empty());
    let forms: Vec<Form> = Form::all().filter(used).collect();
    let legend = lines::legend(&forms);
    let top = TOP + (legend.len() - 1) as f64 * lines::LINE;
    let row = ROW.max(ROWS / rows.len() as f64);
    let height = top + rows.len() as f64 * row + 52.0;
    let draw = move |canvas: &Canvas| draw_shares(canvas, &rows, &legend, (top, row));
    Some(Sheet::new(stem, weights, title, height, draw))
}

fn draw_shares(canvas: &Canvas, rows: &[Row], legend: &[Vec<Form>], (top, height): (f64, f64)) {
    let forms: Vec<Form> = legend.concat();
    let bottom = top + rows.len() as f64 * height;
    let ratios = rows.iter().flat_map(|r| &r.cells).filter_map(|c| c.worst()?.share);
    let x = Axis::decades(ratios.chain([0.1, 9.9]), (LEFT, RIGHT)).within(1e-4, 1e4);
    let panel = Panel { x, y: Axis::linear(rows.len() as f64, (bottom, top)) };
    lines::draw_legend(canvas, legend, (LEFT - 12.0, 42.0));
    canvas.rectangle((x.place(1.0), top), (RIGHT, bottom), palette::OVER);
    panel.draw(canvas, (9, 0));
    canvas.dashed(&[(x.place(1.0), top), (x.place(1.0), bottom)], palette::LIMIT, 1.75, palette::DASHES);
    let unit = "share of the allowance used (no unit; 1 is the bound)";
    canvas.label(unit, ((LEFT + RIGHT) / 2.0, bottom + 32.0));
    for (i, row) in rows.iter().enumerate() {
        let row_top = top + i as f64 * height;
        canvas.line(&[(LEFT, row_top), (RIGHT, row_top)], palette::GRID, 0.75);
        let middle = row_top + height / 2.0;
        // In a wide font as well: what is longer would leave the sheet.
        canvas.text(&text::fit(row.name, 22), (LEFT - 10.0, middle), 11.5, palette::INK, Anchor::End);
        for (place, form) in forms.iter().enumerate() {
            let measured = row.cells[form.index()].worst().filter(|w| w.verdict != Verdict::Unmeasured);
            let Some(share) = measured.and_then(|worst| worst.share) else { continue };
            let look = palette::form_look(*form);
            // Spread within the row, so that equal shares do not cover each other.
            let y = row_top + height * (0.2 + 0.72 * place as f64 / forms.len() as f64);
            canvas.marker(look.marker, (x.place(share), y), 3.6, look.colour);
            let said = format!("{form}, {}: error/bound {}", row.name, text::share(share));
            canvas.note((x.place(share), y), said);
        }
    }
    canvas.frame((LEFT, top), (RIGHT, bottom), palette::FAINT, 1.0);
}

/// How many outputs used which share of their bound: one panel per method.
pub fn histogram(results: &Results, weights: Weights) -> Option<Sheet<'_>> {
    let of_weights = |h: &&ErrorHistogram| h.weights == weights && h.total() > 0;
    let histograms: Vec<_> = results.errors.histograms.iter().filter(of_weights).collect();
    histograms.first()?;
    let title = format!("Errors as shares of their bounds, all f32 outputs, {weights} weights");
    let height = 26.0 + histograms.len().div_ceil(3) as f64 * 196.0;
    let draw = move |canvas: &Canvas| draw_histograms(canvas, &histograms);
    Some(Sheet::new("histogram", weights, title, height, draw))
}

fn draw_histograms(canvas: &Canvas, histograms: &[&ErrorHistogram]) {
    let percents = histograms.iter().flat_map(|h| h.counts.iter().map(|&c| percent(c, h)));
    let most = percents.fold(1.0, f64::max);
    for (i, histogram) in histograms.iter().enumerate() {
        let corner = (54.0 + (i % 3) as f64 * 258.0, 58.0 + (i / 3) as f64 * 196.0);
        histogram_panel(canvas, histogram, most, corner);
        if i.is_multiple_of(3) {
            canvas.upright("outputs / %", (corner.0 - 38.0, corner.1 + 62.0));
        }
    }
}

fn percent(count: usize, histogram: &ErrorHistogram) -> f64 {
    100.0 * count as f64 / histogram.total() as f64
}

fn histogram_panel(canvas: &Canvas, histogram: &ErrorHistogram, most: f64, (left, top): Point) {
    let (right, bottom) = (left + 220.0, top + 124.0);
    let low = 10f64.powi(-(DECADES as i32));
    let panel = Panel {
        x: Axis { scale: Scale::Log, low, high: 10.0, start: left, end: right },
        y: Axis::linear(1.1 * most, (bottom, top)),
    };
    let bound = panel.x.place(1.0);
    canvas.rectangle((bound, top), (right, bottom), palette::OVER);
    panel.draw(canvas, (7, 4));
    let step = (bound - left) / histogram.counts.len() as f64;
    let height = |count| (bottom - panel.y.place(percent(count, histogram))).max(1.0);
    for (i, &count) in histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let x = left + i as f64 * step;
        canvas.rectangle((x + 0.5, bottom - height(count)), (x + step - 0.5, bottom), palette::BLUE);
    }
    if histogram.above > 0 {
        let x = bound + (right - bound) / 2.0;
        let top = bottom - height(histogram.above).max(3.0);
        canvas.rectangle((x - step, top), (x + step, bottom), palette::LIMIT);
        let count = text::fit(&histogram.above.to_string(), 9);
        let at = (right - 3.0, (top - 9.0).max(panel.y.end + 8.0));
        canvas.text(&count, at, 10.5, palette::INK, Anchor::End);
        canvas.note((x, top), format!("{}: {count} outputs beyond their bounds", histogram.method));
    }
    canvas.dashed(&[(bound, top), (bound, bottom)], palette::LIMIT, 1.5, palette::DASHES);
    let none = percent(histogram.none, histogram);
    canvas.heading(histogram.method.name(), (left + 2.0, top - 10.0));
    let note = format!("{} outputs, {none:.1}% exact", histogram.total());
    canvas.text(&note, (right, top - 10.0), 11.0, palette::FAINT, Anchor::End);
    let unit = format!("error / bound (no unit; {STEPS} bars to a decade)");
    canvas.text(&unit, ((left + right) / 2.0, bottom + 27.0), 11.0, palette::INK, Anchor::Middle);
}

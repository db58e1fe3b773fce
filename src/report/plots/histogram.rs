//! How many outputs used which share of their bound.

use super::axis::{Axis, Panel, Scale};
use super::canvas::{Anchor, Canvas, Point};
use super::{Sheet, palette};
use crate::problem::Weights;
use crate::results::Results;
use crate::results::profile::{DECADES, ErrorHistogram, STEPS};

/// One panel per method.
pub fn sheet(results: &Results, weights: Weights) -> Option<Sheet<'_>> {
    let of_weights = |h: &&ErrorHistogram| h.weights == weights && h.total() > 0;
    let histograms: Vec<_> = results.errors.histograms.iter().filter(of_weights).collect();
    histograms.first()?;
    let title = format!("Errors as shares of their bounds, all f32 outputs, {weights} weights");
    let height = 26.0 + histograms.len().div_ceil(3) as f64 * 196.0;
    let draw = move |canvas: &Canvas| draw(canvas, &histograms);
    Some(Sheet::new("histogram", weights, title, height, draw))
}

fn draw(canvas: &Canvas, histograms: &[&ErrorHistogram]) {
    let percents = histograms.iter().flat_map(|h| h.counts.iter().map(|&c| percent(c, h)));
    let most = percents.fold(1.0, f64::max);
    for (i, histogram) in histograms.iter().enumerate() {
        let corner = (54.0 + (i % 3) as f64 * 258.0, 58.0 + (i / 3) as f64 * 196.0);
        panel(canvas, histogram, most, corner);
        if i.is_multiple_of(3) {
            canvas.upright("outputs / %", (corner.0 - 38.0, corner.1 + 62.0));
        }
    }
}

fn percent(count: usize, histogram: &ErrorHistogram) -> f64 {
    100.0 * count as f64 / histogram.total() as f64
}

fn panel(canvas: &Canvas, histogram: &ErrorHistogram, most: f64, (left, top): Point) {
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
        canvas.rectangle((x - step, bottom - height(histogram.above)), (x + step, bottom), palette::LIMIT);
    }
    canvas.dashed(&[(bound, top), (bound, bottom)], palette::LIMIT, 1.5, palette::DASHES);
    let none = percent(histogram.none, histogram);
    canvas.heading(histogram.method.name(), (left + 2.0, top - 10.0));
    let above = if histogram.above > 0 { format!(", {} above", histogram.above) } else { String::new() };
    let note = format!("{} outputs, {none:.1}% exact{above}", histogram.total());
    canvas.text(&note, (right, top - 10.0), 11.0, palette::FAINT, Anchor::End);
    let unit = format!("error / bound (no unit; {STEPS} bars to a decade)");
    canvas.text(&unit, ((left + right) / 2.0, bottom + 27.0), 11.0, palette::INK, Anchor::Middle);
}

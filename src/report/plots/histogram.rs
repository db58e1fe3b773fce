//! How many outputs used which share of their bound.

use super::axis::{Axis, Panel, Scale};
use super::canvas::{Anchor, Canvas, Drawn, Point, picture};
use super::{Plot, palette};
use crate::problem::Weights;
use crate::report::ReportError;
use crate::results::Results;
use crate::results::profile::{DECADES, ErrorHistogram, STEPS};

/// One picture per weight type, one panel per method.
pub fn plots(results: &Results) -> Result<Vec<Plot>, ReportError> {
    let mut plots = Vec::new();
    for weights in Weights::ALL {
        let of_weights = |h: &&ErrorHistogram| h.weights == weights && h.total() > 0;
        let histograms: Vec<_> = results.errors.histograms.iter().filter(of_weights).collect();
        if histograms.is_empty() {
            continue;
        }
        let name = format!("histogram-{weights}");
        let title = format!("Errors as shares of their bounds, all f32 outputs, {weights} weights");
        let height = 26.0 + histograms.len().div_ceil(3) as f64 * 196.0;
        let svg = picture(&name, &title, (800.0, height), |canvas| draw(canvas, &title, &histograms))?;
        let how_to_read =
            "Each bar counts the outputs whose error is that share of the bound derived for them; \
                           the dashed line is the bound, and a pass has nothing beyond it. A heap far to the \
                           left is an exact kernel or a generous bound (worst-case bounds grow faster than \
                           errors do); a second heap or a tail towards the line is a part of the inputs on \
                           which the kernel is less accurate."
                .to_owned();
        plots.push(Plot { name, title, how_to_read, svg });
    }
    Ok(plots)
}

fn draw(canvas: &Canvas, title: &str, histograms: &[&ErrorHistogram]) -> Drawn {
    canvas.bold(title, (12.0, 16.0), 14.0, palette::INK, Anchor::Start)?;
    let percents = histograms.iter().flat_map(|h| h.counts.iter().map(|&c| percent(c, h)));
    let most = percents.fold(1.0, f64::max);
    for (i, histogram) in histograms.iter().enumerate() {
        let corner = (54.0 + (i % 3) as f64 * 258.0, 58.0 + (i / 3) as f64 * 196.0);
        panel(canvas, histogram, most, corner)?;
        if i.is_multiple_of(3) {
            canvas.upright("outputs / %", (corner.0 - 38.0, corner.1 + 62.0), 12.0, palette::INK)?;
        }
    }
    Ok(())
}

fn percent(count: usize, histogram: &ErrorHistogram) -> f64 {
    100.0 * count as f64 / histogram.total() as f64
}

fn panel(canvas: &Canvas, histogram: &ErrorHistogram, most: f64, (left, top): Point) -> Drawn {
    let (right, bottom) = (left + 220.0, top + 124.0);
    let low = 10f64.powi(-(DECADES as i32));
    let panel = Panel {
        x: Axis { scale: Scale::Log, low, high: 10.0, start: left, end: right },
        y: Axis::linear(1.1 * most, (bottom, top)),
    };
    let bound = panel.x.place(1.0);
    canvas.rectangle((bound, top), (right, bottom), palette::OVER)?;
    panel.draw(canvas, (7, 4))?;
    let step = (bound - left) / histogram.counts.len() as f64;
    for (i, &count) in histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (x, height) =
            (left + i as f64 * step, (bottom - panel.y.place(percent(count, histogram))).max(1.0));
        canvas.rectangle((x + 0.5, bottom - height), (x + step - 0.5, bottom), palette::BLUE)?;
    }
    if histogram.above > 0 {
        let height = (bottom - panel.y.place(percent(histogram.above, histogram))).max(1.0);
        let x = bound + (right - bound) / 2.0;
        canvas.rectangle((x - step, bottom - height), (x + step, bottom), palette::LIMIT)?;
    }
    canvas.dashed(&[(bound, top), (bound, bottom)], palette::LIMIT, 1.5, &[7.0, 4.0])?;
    let none = percent(histogram.none, histogram);
    canvas.bold(histogram.method.name(), (left + 2.0, top - 10.0), 12.0, palette::INK, Anchor::Start)?;
    let above = if histogram.above > 0 { format!(", {} above", histogram.above) } else { String::new() };
    let note = format!("{} outputs, {none:.1}% exact{above}", histogram.total());
    canvas.text(&note, (right, top - 10.0), 11.0, palette::FAINT, Anchor::End)?;
    let middle = (left + right) / 2.0;
    let unit = format!("error / bound (no unit; {STEPS} bars to a decade)");
    canvas.text(&unit, (middle, bottom + 27.0), 11.0, palette::INK, Anchor::Middle)
}

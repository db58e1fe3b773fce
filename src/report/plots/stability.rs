//! Where |Ā(z)| ≤ 1.

use plotters::style::RGBColor;

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Point};
use super::{Sheet, palette};
use crate::report::{groups, text};
use crate::results::Results;
use crate::results::analysis::{StabilityRegion, StabilityRow};

/// One panel for each different Ā.
pub fn sheet(results: &Results) -> Option<Sheet<'_>> {
    let kinds = groups::by_key(&results.analysis.stability, |region| &region.forms);
    kinds.first()?;
    let title = "Stability regions: |Ā(z)| ≤ 1 in the plane of z = ΔA";
    Some(Sheet::new("stability", "", title, 360.0, move |canvas| draw(canvas, &kinds)))
}

fn draw(canvas: &Canvas, kinds: &[(&Vec<String>, Vec<&StabilityRegion>)]) {
    let (stable, halved) = (palette::heat(0.33).0, palette::heat(0.62).0);
    for (colour, label, x) in [(stable, "|Ā| ≤ 1", 60.0), (halved, "|Ā| ≤ ½", 150.0)] {
        canvas.rectangle((x, 33.0), (x + 20.0, 47.0), colour);
        canvas.entry(label, (x + 26.0, 40.0));
    }
    for (i, (forms, kind)) in kinds.iter().take(3).enumerate() {
        let (left, top) = (56.0 + i as f64 * 254.0, 84.0);
        let (right, bottom) = (left + 224.0, top + 224.0);
        let [re, im] = [kind[0].re, kind[0].im];
        let panel = Panel {
            x: Axis::between(re[0], re[1], (left, right)),
            y: Axis::between(im[0], im[1], (bottom, top)),
        };
        for region in kind {
            shade(canvas, &panel, region, if region.bound < 1.0 { halved } else { stable });
        }
        panel.draw(canvas, (8, 8));
        for line in [[(0.0, im[0]), (0.0, im[1])], [(re[0], 0.0), (re[1], 0.0)]] {
            canvas.line(&line.map(|p| panel.place(p)), palette::FAINT, 1.0);
        }
        let heading = text::fit(&forms.join(", "), 40);
        canvas.bold(&heading, (left + 2.0, top - 12.0), 11.0, palette::INK, Anchor::Start);
        canvas.label("Re z (no unit)", ((left + right) / 2.0, bottom + 28.0));
        if i == 0 {
            canvas.upright("Im z (no unit)", (left - 34.0, (top + bottom) / 2.0));
        }
    }
}

/// Fills the region: rows with as many intervals each make one shape for each interval, which ends in a point beyond
/// its last row where the next one has fewer.
fn shade(canvas: &Canvas, panel: &Panel, region: &StabilityRegion, colour: RGBColor) {
    let rows = &region.rows;
    let step = rows.windows(2).map(|pair| pair[1].im - pair[0].im).next().unwrap_or(0.0);
    let mut first = 0usize;
    for run in rows.chunk_by(|a, b| a.intervals.len() == b.intervals.len()) {
        let (before, after) = (first.checked_sub(1).map(|i| &rows[i]), rows.get(first + run.len()));
        first += run.len();
        for k in 0..run[0].intervals.len() {
            let apex = |neighbour: Option<&StabilityRow>, end: &StabilityRow, away: f64| -> Option<Point> {
                let [from, to] = end.intervals[k];
                neighbour.filter(|n| n.intervals.len() < end.intervals.len())?;
                Some(((from + to) / 2.0, end.im + away))
            };
            let mut corners: Vec<Point> = run.iter().map(|row| (row.intervals[k][0], row.im)).collect();
            corners.extend(apex(after, &run[run.len() - 1], step / 2.0));
            corners.extend(run.iter().rev().map(|row| (row.intervals[k][1], row.im)));
            corners.extend(apex(before, &run[0], -step / 2.0));
            let places: Vec<Point> = corners.into_iter().map(|p| panel.place(p)).collect();
            canvas.polygon(&places, colour);
        }
    }
}

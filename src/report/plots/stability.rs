//! Where |Ā(z)| ≤ 1.

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Drawn, Point, picture};
use super::{Plot, palette};
use crate::report::{ReportError, text};
use crate::results::Results;
use crate::results::analysis::{StabilityRegion, StabilityRow};

/// One panel for each different Ā.
pub fn plot(results: &Results) -> Result<Option<Plot>, ReportError> {
    let regions = &results.analysis.stability;
    let mut kinds: Vec<Vec<&StabilityRegion>> = Vec::new();
    for region in regions {
        match kinds.iter_mut().find(|kind| kind[0].forms == region.forms) {
            Some(kind) => kind.push(region),
            None => kinds.push(vec![region]),
        }
    }
    if kinds.is_empty() {
        return Ok(None);
    }
    let (name, title) =
        ("stability".to_owned(), "Stability regions: |Ā(z)| ≤ 1 in the plane of z = ΔA".to_owned());
    let svg = picture(&name, &title, (800.0, 360.0), |canvas| draw(canvas, &title, &kinds))?;
    let how_to_read = "In the shaded part a step does not enlarge the state, in the part shaded twice it halves it at \
                       least; everything left of the vertical axis should be shaded, for there the continuous system \
                       decays. eᶻ and bilinear shade exactly that half, but bilinear hardly damps large |z|: its \
                       second shade is a disc, from -6 to -2/3 on the real axis; the classical Runge–Kutta method, which \
                       none of the methods is, is stable in a bounded region only."
        .to_owned();
    Ok(Some(Plot { name, title, how_to_read, svg }))
}

fn draw(canvas: &Canvas, title: &str, kinds: &[Vec<&StabilityRegion>]) -> Drawn {
    canvas.bold(title, (12.0, 16.0), 14.0, palette::INK, Anchor::Start)?;
    let (stable, halved) = (palette::heat(0.33).0, palette::heat(0.62).0);
    for (colour, label, x) in [(stable, "|Ā| ≤ 1", 60.0), (halved, "|Ā| ≤ ½", 150.0)] {
        canvas.rectangle((x, 33.0), (x + 20.0, 47.0), colour)?;
        canvas.text(label, (x + 26.0, 40.0), 12.0, palette::INK, Anchor::Start)?;
    }
    for (i, kind) in kinds.iter().take(3).enumerate() {
        let (left, top) = (56.0 + i as f64 * 254.0, 84.0);
        let (right, bottom) = (left + 224.0, top + 224.0);
        let [re, im] = [kind[0].re, kind[0].im];
        let panel = Panel {
            x: Axis::between(re[0], re[1], (left, right)),
            y: Axis::between(im[0], im[1], (bottom, top)),
        };
        for region in kind {
            shade(canvas, &panel, region, if region.bound < 1.0 { halved } else { stable })?;
        }
        panel.draw(canvas, (8, 8))?;
        for line in [[(0.0, im[0]), (0.0, im[1])], [(re[0], 0.0), (re[1], 0.0)]] {
            canvas.line(&line.map(|p| panel.place(p)), palette::FAINT, 1.0)?;
        }
        let heading = text::fit(&kind[0].forms.join(", "), 40);
        canvas.bold(&heading, (left + 2.0, top - 12.0), 11.0, palette::INK, Anchor::Start)?;
        let middle = (left + right) / 2.0;
        canvas.text("Re z (no unit)", (middle, bottom + 28.0), 12.0, palette::INK, Anchor::Middle)?;
        if i == 0 {
            canvas.upright("Im z (no unit)", (left - 34.0, (top + bottom) / 2.0), 12.0, palette::INK)?;
        }
    }
    Ok(())
}

/// Fills the region: rows with as many intervals each make one shape for each interval, which ends in a point beyond
/// its last row where the next one has fewer.
fn shade(
    canvas: &Canvas,
    panel: &Panel,
    region: &StabilityRegion,
    colour: plotters::style::RGBColor,
) -> Drawn {
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
            canvas.polygon(&places, colour)?;
        }
    }
    Ok(())
}

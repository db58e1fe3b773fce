//! B̄/Δ → B: whether the methods take in their input as the steps get smaller.

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Drawn, Point, picture};
use super::{Plot, legend, palette, series};
use crate::method::Method;
use crate::report::ReportError;
use crate::results::Results;
use crate::results::analysis::ConsistencyCurve;

const TOP: f64 = 82.0;
const BOTTOM: f64 = 330.0;

pub fn plot(results: &Results) -> Result<Option<Plot>, ReportError> {
    let curves: Vec<(Method, &ConsistencyCurve)> = Method::ALL
        .into_iter()
        .filter_map(|m| Some((m, results.analysis.consistency.iter().find(|c| c.form == m.name())?)))
        .collect();
    if curves.is_empty() {
        return Ok(None);
    }
    let (name, title) = ("consistency".to_owned(), "Consistency: B̄/(ΔB) as Δ → 0, A = -1".to_owned());
    let svg = picture(&name, &title, (800.0, 380.0), |canvas| draw(canvas, &title, &curves))?;
    let how_to_read = "Left, the input that a step of length Δ takes in, relative to ΔB: a consistent method tends to \
                       1 (the dashed line) as Δ shrinks, to the left, and foh tends to 0. Right, the distance from 1 \
                       on logarithmic axes: a falling line is consistent, and its slope tells how fast it gets there \
                       (zoh is at 1 from the start, on the lower edge; highorder's first-order terms happen to \
                       cancel for A = -1)."
        .to_owned();
    Ok(Some(Plot { name, title, how_to_read, svg }))
}

fn draw(canvas: &Canvas, title: &str, curves: &[(Method, &ConsistencyCurve)]) -> Drawn {
    canvas.bold(title, (12.0, 16.0), 14.0, palette::INK, Anchor::Start)?;
    let methods: Vec<Method> = curves.iter().map(|(method, _)| *method).collect();
    legend::methods(canvas, &methods, (64.0, 42.0), true)?;
    let deltas = || curves.iter().flat_map(|(_, c)| &c.delta).copied();
    let ratios = || curves.iter().flat_map(|(_, c)| &c.b_bar_over_delta).copied();
    let panels = [
        ("B̄/(ΔB) (no unit)", 66.0, Axis::around(ratios().chain([0.0, 1.1]), (BOTTOM, TOP))),
        ("|B̄/(ΔB) − 1| (no unit)", 470.0, Axis::decades([1e-6, 1.0].into_iter(), (BOTTOM, TOP))),
    ];
    for (i, (label, left, y)) in panels.into_iter().enumerate() {
        let panel = Panel { x: Axis::decades(deltas(), (left, left + 314.0)), y };
        panel.draw(canvas, (6, 7))?;
        if i == 0 {
            let limit = panel.y.place(1.0);
            canvas.dashed(&[(left, limit), (left + 314.0, limit)], palette::FAINT, 1.25, &[7.0, 4.0])?;
        }
        for (method, curve) in curves {
            let value = |ratio: &f64| if i == 0 { *ratio } else { (ratio - 1.0).abs() };
            let points: Vec<Point> =
                curve.delta.iter().copied().zip(curve.b_bar_over_delta.iter().map(value)).collect();
            series::marked(canvas, &panel, &points, palette::look(*method))?;
        }
        let middle = (left + 157.0, BOTTOM + 30.0);
        canvas.text("Δ (units of time)", middle, 12.0, palette::INK, Anchor::Middle)?;
        canvas.upright(label, (left - 50.0, (TOP + BOTTOM) / 2.0), 12.0, palette::INK)?;
    }
    Ok(())
}

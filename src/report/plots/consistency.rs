//! B̄/Δ → B: whether the methods take in their input as the steps get smaller.

use super::axis::{Axis, Panel};
use super::canvas::{Canvas, Point};
use super::{Sheet, legend, palette, series};
use crate::method::Method;
use crate::results::Results;
use crate::results::analysis::ConsistencyCurve;

/// Where the panels end below and above.
const Y: (f64, f64) = (330.0, 82.0);

pub fn sheet(results: &Results) -> Option<Sheet<'_>> {
    let curve = |m: Method| Some((m, results.analysis.consistency.iter().find(|c| c.form == m.name())?));
    let curves: Vec<_> = Method::ALL.into_iter().filter_map(curve).collect();
    let title = "Consistency: B̄/(ΔB) as Δ → 0, A = -1";
    let draw = move |canvas: &Canvas| draw(canvas, &curves);
    results.analysis.consistency.first().map(|_| Sheet::new("consistency", "", title, 380.0, draw))
}

fn draw(canvas: &Canvas, curves: &[(Method, &ConsistencyCurve)]) {
    let methods: Vec<Method> = curves.iter().map(|(method, _)| *method).collect();
    legend::methods(canvas, &methods, (64.0, 42.0), true);
    let deltas = || curves.iter().flat_map(|(_, c)| &c.delta).copied();
    let ratios = curves.iter().flat_map(|(_, c)| &c.b_bar_over_delta).copied();
    let panels = [
        ("B̄/(ΔB) (no unit)", 66.0, Axis::around(ratios.chain([0.0, 1.1]), Y)),
        ("|B̄/(ΔB) − 1| (no unit)", 470.0, Axis::decades([1e-6, 1.0].into_iter(), Y)),
    ];
    for (i, (label, left, y)) in panels.into_iter().enumerate() {
        let panel = Panel { x: Axis::decades(deltas(), (left, left + 314.0)), y };
        panel.draw(canvas, (6, 7));
        if i == 0 {
            let limit = panel.y.place(1.0);
            canvas.dashed(&[(left, limit), (left + 314.0, limit)], palette::FAINT, 1.25, palette::DASHES);
        }
        for (method, curve) in curves {
            let value = |ratio: &f64| if i == 0 { *ratio } else { (ratio - 1.0).abs() };
            let values = curve.b_bar_over_delta.iter().map(value);
            let points: Vec<Point> = curve.delta.iter().copied().zip(values).collect();
            series::marked(canvas, &panel, &points, palette::look(*method));
        }
        panel.name_axes(canvas, ("Δ (units of time)", 30.0), (label, 50.0));
    }
}

//! |Ā| and |B̄/Δ| of the methods against |z|: what their formulas are, from the truth.

use super::axis::{Axis, Panel};
use super::canvas::Canvas;
use super::{Sheet, legend, palette, series};
use crate::report::groups;
use crate::results::{MethodCurve, Results};

/// Where the panels end below and above.
const Y: (f64, f64) = (346.0, 66.0);

/// Which of a curve's values a panel shows.
type CurveValues = fn(&MethodCurve) -> &[f64];

const PANELS: [(&str, f64, CurveValues); 2] = [
    ("|Ā| (no unit)", 66.0, |c| &c.a_bar_abs),
    ("|B̄/Δ| (in units of B)", 468.0, |c| &c.b_bar_over_delta_abs),
];

/// One picture per weight type and A.
pub fn sheets(results: &Results) -> Vec<Sheet<'_>> {
    let mut groups = groups::by_key(&results.curves, |curve| (curve.weights, &*curve.a));
    groups.sort_by_key(|((weights, _), _)| *weights);
    let mut sheets: Vec<Sheet> = Vec::new();
    for ((weights, a), curves) in groups {
        let of_weights = format!("magnitudes-{weights}");
        let taken = sheets.iter().filter(|sheet| sheet.name.starts_with(&of_weights)).count();
        let which = if taken == 0 { weights.to_string() } else { format!("{weights}-{}", taken + 1) };
        let title = format!("|Ā| and |B̄/Δ| of the methods against |z|, {weights} weights, A = {a}, B = 1");
        sheets.push(Sheet::new("magnitudes", which, title, 394.0, move |canvas| draw(canvas, &curves)));
    }
    sheets
}

fn draw(canvas: &Canvas, curves: &[&MethodCurve]) {
    let methods: Vec<_> = curves.iter().map(|c| c.method).collect();
    legend::methods(canvas, &methods, (64.0, 42.0), true);
    for (label, left, values) in PANELS {
        let all = curves.iter().flat_map(|c| values(c)).copied();
        let steps = curves.iter().flat_map(|c| &c.z_abs).copied();
        let panel = Panel {
            x: Axis::decades(steps, (left, left + 318.0)).within(1e-12, 1e6),
            // Beyond these limits nothing is left, or nothing can be compared.
            y: Axis::decades(all.chain([1.0]), Y).within(1e-6, 1e6),
        };
        panel.draw(canvas, (7, 8));
        for (i, curve) in curves.iter().enumerate() {
            let points = series::points(&curve.z_abs, values(curve));
            series::line(canvas, &panel, &points, palette::look(curve.method), i);
        }
        panel.name_axes(canvas, ("|z| = |ΔA| (no unit)", 30.0), (label, 48.0));
    }
}

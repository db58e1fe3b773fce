//! |Ā| and |B̄/Δ| of the methods against |z|: what their formulas are, from the truth.

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Drawn, picture};
use super::{Plot, legend, palette, series};
use crate::problem::Weights;
use crate::report::{ReportError, text};
use crate::results::{MethodCurve, Results};

const TOP: f64 = 66.0;
const BOTTOM: f64 = 346.0;

/// Which of a curve's values a panel shows.
type Values = fn(&MethodCurve) -> &[f64];

/// One picture per weight type and A.
pub fn plots(results: &Results) -> Result<Vec<Plot>, ReportError> {
    let mut groups: Vec<((Weights, &str), Vec<&MethodCurve>)> = Vec::new();
    for curve in &results.curves {
        let key = (curve.weights, curve.a.as_str());
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, curves)) => curves.push(curve),
            None => groups.push((key, vec![curve])),
        }
    }
    groups.sort_by_key(|((weights, _), _)| *weights);
    let mut plots: Vec<Plot> = Vec::new();
    for ((weights, a), curves) in groups {
        let stem = format!("magnitudes-{weights}");
        let taken = plots.iter().filter(|p| p.name.starts_with(&stem)).count();
        let name = if taken == 0 { stem } else { format!("{stem}-{}", taken + 1) };
        let title = format!("|Ā| and |B̄/Δ| of the methods against |z|, {weights} weights, A = {a}, B = 1");
        let svg = picture(&name, &title, (800.0, 394.0), |canvas| draw(canvas, &title, &curves))?;
        let how_to_read = "Left, how much of the state one step keeps: five methods share eᶻ and lie on one \
                           line, bilinear leaves it near |z| = 1 and forgets less at large steps. Right, how \
                           much of the input a step takes in per unit of time: a consistent method tends to \
                           |B| = 1 on the left side, so a line that falls there (foh) loses its input as the \
                           steps get smaller."
            .to_owned();
        plots.push(Plot { name, title, how_to_read, svg });
    }
    Ok(plots)
}

fn draw(canvas: &Canvas, title: &str, curves: &[&MethodCurve]) -> Drawn {
    canvas.bold(&text::fit(title, 100), (12.0, 16.0), 14.0, palette::INK, Anchor::Start)?;
    let methods: Vec<_> = curves.iter().map(|c| c.method).collect();
    legend::methods(canvas, &methods, (64.0, 42.0), true)?;
    let panels: [(&str, f64, Values); 2] = [
        ("|Ā| (no unit)", 66.0, |c| &c.a_bar_abs),
        ("|B̄/Δ| (in units of B)", 468.0, |c| &c.b_bar_over_delta_abs),
    ];
    for (label, left, values) in panels {
        let all = curves.iter().flat_map(|c| values(c)).copied();
        let steps = curves.iter().flat_map(|c| &c.z_abs).copied();
        let panel = Panel {
            x: Axis::decades(steps, (left, left + 318.0)).within(1e-12, 1e6),
            // Beyond these limits nothing is left, or nothing can be compared.
            y: Axis::decades(all.chain([1.0]), (BOTTOM, TOP)).within(1e-6, 1e6),
        };
        panel.draw(canvas, (7, 8))?;
        for (i, curve) in curves.iter().enumerate() {
            let points: Vec<_> = curve.z_abs.iter().copied().zip(values(curve).iter().copied()).collect();
            series::line(canvas, &panel, &points, palette::look(curve.method), i)?;
        }
        let middle = (left + 159.0, BOTTOM + 30.0);
        canvas.text("|z| = |ΔA| (no unit)", middle, 12.0, palette::INK, Anchor::Middle)?;
        canvas.upright(label, (left - 48.0, (TOP + BOTTOM) / 2.0), 12.0, palette::INK)?;
    }
    Ok(())
}

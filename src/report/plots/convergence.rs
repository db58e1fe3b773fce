//! Discretization errors against Δ, with the order that was measured beside the expected one.

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Drawn, picture};
use super::{Plot, legend, palette, series};
use crate::analysis::{SYSTEMS, order};
use crate::report::{ReportError, methods};
use crate::results::Results;
use crate::results::analysis::MethodAnalysis;
use crate::truth::Form;

const TOP: f64 = 62.0;
const BOTTOM: f64 = 330.0;

/// A picture's name, whom it is about, and the forms in it.
type Kind = (&'static str, &'static str, fn(&Form) -> bool);
/// A row of the table: its label, its height, and a form's cell.
type TableRow = (&'static str, f64, fn(&MethodAnalysis, Form) -> String);

/// The methods, and the textbook forms.
pub fn plots(results: &Results) -> Result<Vec<Plot>, ReportError> {
    let analysis = &results.analysis;
    if analysis.convergence.is_empty() {
        return Ok(Vec::new());
    }
    let kinds: [Kind; 2] = [
        ("convergence", "the methods", |form| matches!(form, Form::Method(_))),
        ("convergence-textbook", "the textbook forms", |form| matches!(form, Form::Textbook(_))),
    ];
    let mut plots = Vec::new();
    for (name, who, belongs) in kinds {
        let forms: Vec<Form> = Form::all().filter(belongs).collect();
        let title = format!("Discretization error against Δ, {who}, {}", SYSTEMS[0].name);
        let svg = picture(name, &title, (800.0, 456.0), |canvas| draw(canvas, &title, &forms, analysis))?;
        let held = if name == "convergence" {
            "Of the methods none gets beyond order 1 for an input that varies, because each takes one sample of \
             it in a step, and foh's error does not vanish at all."
        } else {
            "zoh-exact and foh-textbook are exact for a constant input (their lines are on the lower edge); the two \
             forms with u at both ends of a step reach order 2 for the smooth one, but lose an order where the input \
             jumps, at t = 0."
        };
        let how_to_read = format!(
            "Each line is the relative error of the state at T = 1 when that time is divided into steps of length Δ: \
             the steeper the line, the faster smaller steps help, and its slope is the order in the table below it. \
             {held}"
        );
        plots.push(Plot { name: name.to_owned(), title, how_to_read, svg });
    }
    Ok(plots)
}

fn draw(canvas: &Canvas, title: &str, forms: &[Form], analysis: &MethodAnalysis) -> Drawn {
    canvas.bold(title, (12.0, 16.0), 14.0, palette::INK, Anchor::Start)?;
    let panels =
        [(order::CONSTANT, "constant input, u = 1", 70.0), (order::SMOOTH, "smooth input, u = t²", 470.0)];
    let (start, step) = if forms.len() > 5 { (124.0, 660.0 / forms.len() as f64) } else { (117.0, 137.0) };
    for (input, heading, left) in panels {
        let curves = analysis.convergence.iter().filter(|c| c.system == SYSTEMS[0].name && c.input == input);
        let curves: Vec<_> = curves.collect();
        let panel = Panel {
            x: Axis::decades(curves.iter().flat_map(|c| &c.delta).copied(), (left, left + 310.0)),
            y: errors(curves.iter().flat_map(|c| &c.error).copied()),
        };
        panel.draw(canvas, (4, 7))?;
        for form in forms {
            let Some(curve) = curves.iter().find(|c| c.form == form.name()) else { continue };
            let points: Vec<_> = curve.delta.iter().copied().zip(curve.error.iter().copied()).collect();
            series::marked(canvas, &panel, &points, palette::form_look(*form))?;
        }
        canvas.bold(heading, (left + 2.0, TOP - 12.0), 12.0, palette::INK, Anchor::Start)?;
        let middle = (left + 155.0, BOTTOM + 28.0);
        canvas.text("Δ (units of time)", middle, 12.0, palette::INK, Anchor::Middle)?;
        canvas.upright("relative error of x(1)", (left - 52.0, (TOP + BOTTOM) / 2.0), 12.0, palette::INK)?;
    }
    // The table stands right below the legend, in its columns.
    legend::row(canvas, forms, (start, 384.0), step, true)?;
    let rows: [TableRow; 2] = [
        ("order, constant", 410.0, |a, form| {
            both(
                a.forms.iter().find(|f| f.form == form.name()).map(|f| f.order_constant),
                methods::order_constant(form),
            )
        }),
        ("order, smooth", 434.0, |a, form| {
            both(
                a.forms.iter().find(|f| f.form == form.name()).map(|f| f.order_smooth),
                methods::order_smooth(form),
            )
        }),
    ];
    for (label, y, cell) in rows {
        canvas.text(label, (12.0, y), 12.0, palette::INK, Anchor::Start)?;
        for (i, form) in forms.iter().enumerate() {
            let x = start + i as f64 * step;
            canvas.text(&cell(analysis, *form), (x, y), 12.0, palette::INK, Anchor::Start)?;
        }
    }
    canvas.text("found (expected)", (12.0, 384.0), 11.0, palette::FAINT, Anchor::Start)
}

/// Down to the smallest error that is no mere rounding: what is exact is on the lower edge.
fn errors(all: impl Iterator<Item = f64>) -> Axis {
    Axis::decades(all.filter(|e| *e > 1e-14).chain([0.01, 1.0]), (BOTTOM, TOP)).within(1e-13, 1e3)
}

/// `1.00 (1)`
fn both(measured: Option<Option<f64>>, expected: Option<u8>) -> String {
    let expected = expected.map_or("exact".to_owned(), |order| order.to_string());
    match measured {
        None => format!("– ({expected})"),
        Some(None) => format!("exact ({expected})"),
        Some(Some(order)) => format!("{} ({expected})", methods::order_text(order)),
    }
}

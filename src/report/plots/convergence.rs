//! Discretization errors against Δ, with the order that was measured beside the expected one.

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas};
use super::{Sheet, legend, palette, series};
use crate::analysis::{SYSTEMS, order};
use crate::report::methods;
use crate::results::Results;
use crate::results::analysis::{FormProperties, MethodAnalysis};
use crate::truth::Form;

const TOP: f64 = 62.0;
const BOTTOM: f64 = 330.0;

/// A row of the table: its label, its height, and a form's order as measured and as expected.
type OrderRow = (&'static str, f64, fn(&FormProperties) -> Option<f64>, fn(Form) -> Option<u8>);

const ORDERS: [OrderRow; 2] = [
    ("order, constant", 410.0, |found| found.order_constant, methods::order_constant),
    ("order, smooth", 434.0, |found| found.order_smooth, methods::order_smooth),
];

/// The methods, and the textbook forms.
pub fn sheets(results: &Results) -> Vec<Sheet<'_>> {
    let analysis = &results.analysis;
    if analysis.convergence.is_empty() {
        return Vec::new();
    }
    let (own, textbook): (Vec<Form>, Vec<Form>) =
        Form::all().partition(|form| matches!(form, Form::Method(_)));
    let sheet = |(kind, who, forms): (_, &str, Vec<Form>)| {
        let title = format!("Discretization error against Δ, {who}, {}", SYSTEMS[0].name);
        Sheet::new(kind, "", title, 456.0, move |canvas| draw(canvas, &forms, analysis))
    };
    let kinds =
        [("convergence", "the methods", own), ("convergence-textbook", "the textbook forms", textbook)];
    kinds.into_iter().map(sheet).collect()
}

fn draw(canvas: &Canvas, forms: &[Form], analysis: &MethodAnalysis) {
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
        panel.draw(canvas, (4, 7));
        for form in forms {
            let Some(curve) = curves.iter().find(|c| c.form == form.name()) else { continue };
            let points = series::points(&curve.delta, &curve.error);
            series::marked(canvas, &panel, &points, palette::form_look(*form));
        }
        canvas.heading(heading, (left + 2.0, TOP - 12.0));
        panel.name_axes(canvas, ("Δ (units of time)", 28.0), ("relative error of x(1)", 52.0));
    }
    // The table stands right below the legend, in its columns.
    legend::row(canvas, forms, (start, 384.0), step, true);
    for (label, y, measured, expected) in ORDERS {
        canvas.entry(label, (12.0, y));
        for (i, &form) in forms.iter().enumerate() {
            let found = analysis.forms.iter().find(|f| f.form == form.name());
            let found = found.map_or("–".to_owned(), |found| methods::measured_order(measured(found)));
            let both = format!("{found} ({})", methods::expected_order(expected(form)));
            canvas.entry(&both, (start + i as f64 * step, y));
        }
    }
    canvas.text("found (expected)", (12.0, 384.0), 11.0, palette::FAINT, Anchor::Start);
}

/// Down to the smallest error that is no mere rounding: what is exact is on the lower edge.
fn errors(all: impl Iterator<Item = f64>) -> Axis {
    Axis::decades(all.filter(|e| *e > 1e-14).chain([0.01, 1.0]), (BOTTOM, TOP)).within(1e-13, 1e3)
}

//! The methods themselves: formulas, and what was measured of them beside what the specification says.

use serde::Serialize;

use crate::method::Method;
use crate::report::{methods, text};
use crate::results::analysis::{FormProperties, MethodAnalysis};
use crate::truth::{Form, Textbook};

#[derive(Serialize)]
pub struct FormulaView {
    name: &'static str,
    /// The production API's number; empty for a textbook form.
    id: String,
    a_bar: &'static str,
    b_bar: &'static str,
    scan: &'static str,
    constant: Measured,
    smooth: Measured,
    consistency: Measured,
    unit: Measured,
    note: &'static str,
    textbook: bool,
}

/// What was measured, what is expected, and whether they disagree.
#[derive(Default, Serialize)]
pub struct Measured {
    measured: String,
    expected: String,
    class: &'static str,
}

/// The methods, each with its textbook form below it, and the textbook form that belongs to none.
pub fn formulas(analysis: &MethodAnalysis) -> Vec<FormulaView> {
    let mut views = Vec::new();
    for method in Method::ALL {
        views.push(FormulaView {
            id: method.id().to_string(),
            a_bar: method.a_bar_formula(),
            b_bar: method.b_bar_formula(),
            scan: if method.is_bidirectional() { "both ways" } else { "causal" },
            note: methods::note(method),
            ..view(method.into(), analysis)
        });
        views.extend(methods::textbook(method).map(|form| textbook(form, analysis)));
    }
    let paired = |form: &Textbook| Method::ALL.iter().any(|m| methods::textbook(*m) == Some(*form));
    views.extend(Textbook::ALL.into_iter().filter(|form| !paired(form)).map(|form| textbook(form, analysis)));
    views
}

fn textbook(form: Textbook, analysis: &MethodAnalysis) -> FormulaView {
    let (a_bar, b_bar) = methods::textbook_formulas(form);
    FormulaView { a_bar, b_bar, scan: "textbook", textbook: true, ..view(form.into(), analysis) }
}

fn view(form: Form, analysis: &MethodAnalysis) -> FormulaView {
    let found = analysis.forms.iter().find(|f| f.form == form.name());
    let measured =
        |of: fn(&FormProperties, Form) -> Measured| found.map_or_else(Measured::default, |f| of(f, form));
    FormulaView {
        name: form.name(),
        id: String::new(),
        a_bar: "",
        b_bar: "",
        scan: "",
        constant: measured(|f, form| order(f.order_constant, methods::order_constant(form))),
        smooth: measured(|f, form| order(f.order_smooth, methods::order_smooth(form))),
        consistency: measured(consistency),
        unit: measured(unit),
        note: "",
        textbook: false,
    }
}

fn order(measured: Option<f64>, expected: Option<u8>) -> Measured {
    let agrees = measured.map(f64::round) == expected.map(f64::from);
    Measured {
        measured: measured.map_or("exact".to_owned(), methods::order_text),
        expected: expected.map_or("exact".to_owned(), |order| order.to_string()),
        class: class(agrees),
    }
}

fn consistency(found: &FormProperties, form: Form) -> Measured {
    let limit = if methods::is_consistent(form) { 1.0 } else { 0.0 };
    Measured {
        measured: format!("{:.4}", found.b_bar_over_delta),
        expected: if limit == 1.0 { "1" } else { "0" }.to_owned(),
        class: class((found.b_bar_over_delta - limit).abs() < 0.5),
    }
}

fn unit(found: &FormProperties, form: Form) -> Measured {
    let change = found.time_scale_change;
    Measured {
        measured: if change == 0.0 { "0".to_owned() } else { text::number(change, 2) },
        expected: if methods::is_time_scale_invariant(form) { "invariant" } else { "depends" }.to_owned(),
        class: class((change == 0.0) == methods::is_time_scale_invariant(form)),
    }
}

fn class(agrees: bool) -> &'static str {
    if agrees { "" } else { "fail" }
}

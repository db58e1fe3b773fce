//! The methods themselves: formulas, and what was measured of them beside what the specification says.

use minijinja::{Value, context};

use crate::method::Method;
use crate::report::{methods, text};
use crate::results::analysis::{FormProperties, MethodAnalysis};
use crate::truth::{Form, Textbook};

/// The methods, each with its textbook form below it, and the textbook form that belongs to none.
pub fn formulas(analysis: &MethodAnalysis) -> Vec<Value> {
    let mut views = Vec::new();
    for method in Method::ALL {
        views.push(context! {
            // The production API's number.
            id => method.id().to_string(),
            a_bar => method.a_bar_formula(),
            b_bar => method.b_bar_formula(),
            scan => if method.is_bidirectional() { "both ways" } else { "causal" },
            note => method.what(),
            textbook => false,
            ..properties(method.into(), analysis)
        });
        views.extend(methods::textbook(method).map(|form| textbook(form, analysis)));
    }
    let paired = |form: &Textbook| Method::ALL.iter().any(|m| methods::textbook(*m) == Some(*form));
    views.extend(Textbook::ALL.into_iter().filter(|form| !paired(form)).map(|form| textbook(form, analysis)));
    views
}

fn textbook(form: Textbook, analysis: &MethodAnalysis) -> Value {
    let (a_bar, b_bar) = methods::textbook_formulas(form);
    let properties = properties(form.into(), analysis);
    context! { id => "", a_bar, b_bar, scan => "textbook", note => "", textbook => true, ..properties }
}

/// The form's name, and its properties as far as they were measured.
fn properties(form: Form, analysis: &MethodAnalysis) -> Value {
    let found = analysis.forms.iter().find(|f| f.form == form.name());
    context! { name => form.name(), properties => found.map_or(Vec::new(), |found| measured(found, form)) }
}

/// Both orders, consistency, and what a change of the unit of time does.
fn measured(found: &FormProperties, form: Form) -> Vec<Value> {
    let order = |measured: Option<f64>, expected: Option<u8>| {
        let agrees = measured.map(f64::round) == expected.map(f64::from);
        property(methods::measured_order(measured), methods::expected_order(expected), agrees)
    };
    let (limit, expected) = if methods::is_consistent(form) { (1.0, "1") } else { (0.0, "0") };
    let (ratio, change) = (found.b_bar_over_delta, found.time_scale_change);
    let invariant = methods::is_time_scale_invariant(form);
    vec![
        order(found.order_constant, methods::order_constant(form)),
        order(found.order_smooth, methods::order_smooth(form)),
        property(format!("{ratio:.4}"), expected.to_owned(), (ratio - limit).abs() < 0.5),
        property(
            if change == 0.0 { "0".to_owned() } else { text::number(change, 2) },
            if invariant { "invariant" } else { "depends" }.to_owned(),
            (change == 0.0) == invariant,
        ),
    ]
}

/// What was measured, what is expected, and whether they disagree.
fn property(measured: String, expected: String, agrees: bool) -> Value {
    context! { measured, expected, class => if agrees { "" } else { "fail" } }
}

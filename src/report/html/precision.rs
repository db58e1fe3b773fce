//! How sharp the verdicts are: sensitivity, and truncation apart from rounding.

use minijinja::{Value, context};

use super::cases::Anchors;
use super::view::Tag;
use crate::formula::Form;
use crate::method::Method;
use crate::problem::Weights;
use crate::report::precision::{by_regime, gradients_by_regime, lifted, shrinks};
use crate::report::{grid, text};
use crate::results::{CaseResult, ErrorPart, GradientSensitivity, Lifting, Results, Sensitivity};

/// One row per regime and weight type: the smallest error of Ā and of B̄ that fails.
pub fn sensitivity(results: &Results) -> Vec<Value> {
    let view = |((regime, weights), measured): ((&str, Weights), Vec<&Sensitivity>)| {
        let cell = |method: Form| {
            let found = measured.iter().find(|s| s.method == method);
            found.map_or_else(String::new, |s| format!("{} · {}", power(s.a_bar), power(s.b_bar)))
        };
        let cells: Vec<_> = grid::methods(results).into_iter().map(cell).collect();
        context! { regime, weights => weights.name(), cells }
    };
    by_regime(results).into_iter().map(view).collect()
}

/// One row per regime and weight type: the smallest error of each derivative that fails.
pub fn gradient_sensitivity(results: &Results) -> Vec<Value> {
    let view = |((regime, weights), measured): ((&str, Weights), Vec<&GradientSensitivity>)| {
        let cell = |method: Form| {
            let found = measured.iter().find(|s| s.method == method);
            found.map_or_else(String::new, |s| s.derivatives().map(power).join(" · "))
        };
        let cells: Vec<_> = grid::methods(results).into_iter().map(cell).collect();
        context! { regime, weights => weights.name(), cells }
    };
    gradients_by_regime(results).into_iter().map(view).collect()
}

/// `2⁻¹⁴`, or `none` where no error that was tried shows.
fn power(exponent: Option<i32>) -> String {
    exponent.map_or("none".to_owned(), |k| format!("2{}", text::superscript(k)))
}

/// One row per method and weight type, of the cases that were also run in double.
pub fn lifting(results: &Results, anchors: &Anchors) -> Vec<Value> {
    let mut views = Vec::new();
    for method in Method::ALL {
        for weights in Weights::ALL {
            let mut cases = lifted(results);
            cases.retain(|(case, _)| (case.method, case.weights) == (method.into(), weights));
            if cases.is_empty() {
                continue;
            }
            let shrinks = shrinks(&cases);
            let bits =
                |shrink: Option<&f64>| shrink.map_or(text::UNMEASURED.to_owned(), |s| format!("{s:.1}"));
            views.push(context! {
                method => method.name(),
                weights => weights.name(),
                cases => cases.len(),
                truncation => worst(&cases, anchors, |l| &l.truncation),
                rounding => worst(&cases, anchors, |l| &l.rounding),
                // Bits that double gains on f32 outputs.
                least => bits(shrinks.first()),
                median => bits(shrinks.get(shrinks.len() / 2)),
            });
        }
    }
    views
}

/// The largest share of one part, leading to its case.
fn worst(lifted: &[(&CaseResult, &Lifting)], anchors: &Anchors, part: fn(&Lifting) -> &ErrorPart) -> Tag {
    let key = |lifting: &Lifting| grid::severity(part(lifting).share);
    let worst = lifted.iter().max_by(|a, b| key(a.1).total_cmp(&key(b.1)));
    let Some((case, lifting)) = worst else { return Tag::default() };
    let share = part(lifting).share;
    Tag {
        text: text::share(share),
        class: if share <= 1.0 { "pass" } else { "fail" }.to_owned(),
        href: anchors.case_link(case),
        title: text::fit(&case.id, 120),
    }
}

//! How sharp the verdicts are: sensitivity, and truncation apart from rounding.

use minijinja::{Value, context};

use super::cases::Anchors;
use super::view::Tag;
use crate::formula::Form;
use crate::method::Method;
use crate::notation;
use crate::problem::Weights;
use crate::report::precision::{by_regime, gradients_by_regime, lifted, shrinks};
use crate::report::{grid, text};
use crate::results::{CaseResult, ErrorPart, Lifting, Results};

/// One row per regime and weight type: the smallest error of Ā and of B̄ that fails.
pub fn sensitivity(results: &Results) -> Vec<Value> {
    rows(results, by_regime(results), |one| one.method, |one| vec![one.a_bar, one.b_bar])
}

/// The same of each derivative.
pub fn gradient_sensitivity(results: &Results) -> Vec<Value> {
    rows(results, gradients_by_regime(results), |one| one.method, |one| one.derivatives().to_vec())
}

fn rows<T>(
    results: &Results,
    by_regime: Vec<((&str, Weights), Vec<&T>)>,
    method: fn(&T) -> Method,
    exponents: fn(&T) -> Vec<Option<i32>>,
) -> Vec<Value> {
    let row = |((regime, weights), measured): ((&str, Weights), Vec<&T>)| {
        let cell = |form: Form| {
            let found = measured.iter().find(|one| method(one) == form);
            found.map_or_else(String::new, |one| {
                exponents(one).into_iter().map(power).collect::<Vec<_>>().join(" · ")
            })
        };
        let cells: Vec<_> = grid::methods(results).into_iter().map(cell).collect();
        context! { regime, weights => weights.name(), cells }
    };
    by_regime.into_iter().map(row).collect()
}

/// `2⁻¹⁴`, or `none` where no error that was tried shows.
fn power(exponent: Option<i32>) -> String {
    exponent.map_or("none".to_owned(), |k| format!("2{}", notation::superscript(k)))
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

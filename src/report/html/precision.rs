//! How sharp the verdicts are: sensitivity, and truncation apart from rounding.

use serde::Serialize;

use super::anchors::Anchors;
use super::view::Tag;
use crate::method::Method;
use crate::problem::{InputType, Weights};
use crate::report::{grid, text};
use crate::results::Sensitivity;
use crate::results::{CaseResult, Results};
use crate::results::{Lifting, Part};

#[derive(Serialize)]
pub struct SensitivityView {
    regime: String,
    weights: &'static str,
    cells: Vec<String>,
}

/// One row per regime and weight type: the smallest error of Ā and of B̄ that fails.
pub fn sensitivity(results: &Results) -> Vec<SensitivityView> {
    let methods = grid::methods(results);
    let mut rows: Vec<(&str, Weights)> = Vec::new();
    for one in &results.sensitivity {
        if !rows.contains(&(&*one.regime, one.weights)) {
            rows.push((&one.regime, one.weights));
        }
    }
    let cell = |regime: &str, weights: Weights, method: Method| {
        let same = |s: &&Sensitivity| (&*s.regime, s.weights, s.method) == (regime, weights, method);
        let found = results.sensitivity.iter().find(same);
        found.map_or_else(String::new, |s| format!("{} · {}", power(s.a_bar), power(s.b_bar)))
    };
    let view = |(regime, weights): (&str, Weights)| SensitivityView {
        regime: text::fit(regime, 60),
        weights: weights.name(),
        cells: methods.iter().map(|&m| cell(regime, weights, m)).collect(),
    };
    rows.into_iter().map(view).collect()
}

/// `2⁻¹⁴`, or `none` where no error that was tried shows.
fn power(exponent: Option<i32>) -> String {
    let digit = |c: char| {
        c.to_digit(10).map_or('⁻', |d| ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][d as usize])
    };
    exponent
        .map_or("none".to_owned(), |k| format!("2{}", k.to_string().chars().map(digit).collect::<String>()))
}

#[derive(Serialize)]
pub struct LiftingView {
    method: &'static str,
    weights: &'static str,
    cases: usize,
    truncation: Tag,
    rounding: Tag,
    /// The least and the median number of bits that double gains on f32 outputs.
    least: String,
    median: String,
}

/// One row per method and weight type, of the cases that were also run in double.
pub fn lifting(results: &Results, anchors: &Anchors) -> Vec<LiftingView> {
    let mut views = Vec::new();
    for method in Method::ALL {
        for weights in Weights::ALL {
            let of_row = |c: &&CaseResult| (c.method, c.weights) == (method, weights);
            let lifted: Vec<(&CaseResult, &Lifting)> =
                results.cases.iter().filter(of_row).filter_map(|c| Some((c, c.lifted.as_ref()?))).collect();
            if lifted.is_empty() {
                continue;
            }
            // A 16-bit output is rounded on store, which double does not do: that gain says nothing.
            let f32_only = lifted.iter().filter(|(case, _)| case.input == InputType::F32);
            let mut shrinks: Vec<f64> = f32_only.filter_map(|(_, l)| l.shrink).collect();
            shrinks.sort_by(f64::total_cmp);
            let bits =
                |shrink: Option<&f64>| shrink.map_or(text::UNMEASURED.to_owned(), |s| format!("{s:.1}"));
            views.push(LiftingView {
                method: method.name(),
                weights: weights.name(),
                cases: lifted.len(),
                truncation: worst(&lifted, anchors, |l| &l.truncation),
                rounding: worst(&lifted, anchors, |l| &l.rounding),
                least: bits(shrinks.first()),
                median: bits(shrinks.get(shrinks.len() / 2)),
            });
        }
    }
    views
}

/// The largest share of one part, leading to its case.
fn worst(lifted: &[(&CaseResult, &Lifting)], anchors: &Anchors, part: fn(&Lifting) -> &Part) -> Tag {
    let key = |lifting: &Lifting| grid::severity(part(lifting).share);
    let worst = lifted.iter().max_by(|a, b| {
        let (a, b) = (key(a.1), key(b.1));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let Some((case, lifting)) = worst else { return Tag::default() };
    let share = part(lifting).share;
    Tag {
        text: text::share(share),
        class: if share <= 1.0 { "pass" } else { "fail" }.to_owned(),
        href: anchors
            .explained(&case.id)
            .or_else(|| anchors.case(&case.id))
            .map(|anchor| format!("#{anchor}"))
            .unwrap_or_default(),
        title: text::fit(&case.id, 120),
    }
}

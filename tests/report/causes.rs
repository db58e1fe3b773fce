//! Promise: a summary of what is wrong counts every failing case once, with its cause or without.

use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Weights};
use holdfast::report::console::{self, Detail};
use holdfast::results::{BACKWARD, CaseResult, Diagnosis, Results, Search, Verdict};

use crate::fixture;

/// A name counts with all of its words and places, and a case that fails as another does with that one's name.
#[test]
fn the_counts_of_what_is_wrong_add_up() {
    let mut results = fixture::empty();
    let named = |i: usize, (name, what): (&str, &str)| {
        let (weights, input, b) = (Weights::Real, InputType::F32, Operand::Variable);
        let case = fixture::case(&format!("run-{i}"), weights, input, b, Method::Zoh, 9.0);
        CaseResult { diagnosis: vec![Diagnosis::new(name, what, 0.0)], ..case }
    };
    let names = [("lost", "x_l at 16"), ("lost", "x_l at 16"), ("lost", "x_l at 32"), ("late", "B")];
    let others = [("early", "C"), ("odd", "u"), ("lost", "")];
    results.cases = names.into_iter().chain(others).enumerate().map(|(i, said)| named(i, said)).collect();
    results.cases[6].search = Some(Search::As(results.cases[0].id.clone()));
    results.cases[6].diagnosis.clear();
    let text = console::render(&results, None, false);
    let line = "7 of 7 cases: in 4 of 7 lost, in 3 of the 4: x_l at 16; in 1 of 7 odd: u; in 1 of 7 early: C; in 1 of 7 other names";
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(line), "{text}");
}

/// A sweep's cause explains no pair of a problem in which the method passes.
#[test]
fn pairs_of_a_case_whose_cause_is_named_are_listed_only_where_all_is() {
    let mut results = fixture::spoil(fixture::small());
    let found = || vec![Diagnosis::new("phi-taylor-4", "", 0.0)];
    let sweep =
        results.coefficients.iter_mut().find(|sweep| sweep.verdict == Verdict::Fail).expect("one fails");
    sweep.diagnosis = found();
    let shown = |results: &Results, detail| {
        console::render_view(results, console::View { detail, ..Default::default() })
    };
    let text = shown(&results, Detail::Normal);
    assert!(text.contains("FAIL zoh and foh: ") && !text.contains("is said above"), "{text}");
    let is_of_pairs = |case: &&mut CaseResult| case.method == Method::Foh && case.weights == Weights::Real;
    for case in results.cases.iter_mut().filter(is_of_pairs) {
        (case.verdict, case.diagnosis) = (Verdict::Fail, found());
    }
    let [usual, verbose] = [Detail::Normal, Detail::Verbose].map(|detail| shown(&results, detail));
    assert!(usual.contains("6 fail, 2 unmeasured\n  what is wrong with foh is said above\n"), "{usual}");
    assert!(verbose.contains("FAIL zoh and foh: ") && !verbose.contains("is said above"), "{verbose}");
}

/// A mistake in the scan alone makes gradients wrong that have no name for it.
#[test]
fn gradients_without_a_cause_may_follow_from_outputs_that_fail() {
    let mut results = fixture::with_gradients(fixture::small());
    let said = "may follow from them";
    let backward = results.cases.iter().position(CaseResult::is_backward).expect("one of them");
    let id = results.cases[backward].id.strip_suffix(BACKWARD).expect("its pass").to_owned();
    results.cases[backward].verdict = Verdict::Fail;
    let text = |results: &Results| {
        console::render(results, None, false).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(!text(&results).contains(said));
    let forward = results.cases.iter().position(|case| case.id == id).expect("of the same problem");
    results.cases[forward].verdict = Verdict::Fail;
    assert_eq!(text(&results).matches(said).count(), 1, "{}", text(&results));
}

#[test]
fn every_broken_method_is_among_the_explained_failures() {
    let text = console::render(&fixture::spoil(fixture::passing()), None, false);
    let explained = text.split("═══").next().unwrap();
    for method in ["foh", "poly", "highorder", "rk4", "bilinear"] {
        assert!(explained.contains(&format!("--method {method} ")), "{method}\n{explained}");
    }
}

#[test]
fn the_console_names_every_regime_and_counts_every_case() {
    let results = fixture::passing();
    let text = console::render(&results, None, false);
    for regime in fixture::REGIMES {
        assert!(text.contains(regime), "{regime}");
    }
    let cases = results.cases.len();
    assert!(text.contains(&format!("{cases} cases: {cases} pass, 0 fail, 0 unmeasured")), "{text}");
    assert_eq!(text.lines().last().unwrap(), "holdfast 0.1.0: PASS");
}

//! Promise: a summary of what is wrong counts every failing case once, with its cause or without.

use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Weights};
use holdfast::report::console;
use holdfast::results::{CaseResult, Diagnosis, Search};

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

//! Promise: what the README and the guide show of `verify --header` and `diff` is what these print. Held here, where the
//! headers are compiled.

use holdfast::cli::output::backend_line;
use holdfast::diff::{Request as DiffRequest, diff};
use holdfast::judge::diagnose::Budget;
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{InputType, Operand, Weights, regime};
use holdfast::report::{console, revisions};
use holdfast::verify::Request;
use rstest::rstest;

use crate::fixtures::header;
use crate::support::run::verify;
use crate::support::samples;

fn file(name: &str) -> String {
    format!("tests/headers/{name}.cuh")
}

#[rstest]
#[case("rk4-is-zoh", "short")]
#[case("early-formulas", "short")]
#[case("naive", "tiny-z")]
fn a_judged_header_is_shown_as_it_is(#[case] name: &str, #[case] hard: &str) {
    if !samples::comparable() {
        return;
    }
    let filter = Filter {
        regimes: vec![regime::find(hard).expect("a regime")],
        weights: vec![Weights::Real],
        inputs: vec![InputType::F32],
        ..Filter::default()
    };
    let option = format!(" --header {}", file(name));
    let request = Request { filter, sensitivity: false, rerun: option.clone(), ..Request::everything(1) };
    let results = verify(&request, header(name).as_ref());
    let command = format!("holdfast verify{option} --regime {hard} --weights real");
    samples::hold(&command, &console::render(&results, None, false));
}

#[test]
fn a_judged_backward_is_shown_as_it_is() {
    if !samples::comparable() {
        return;
    }
    let filter = Filter { weights: vec![Weights::Real], inputs: vec![InputType::F32], ..Filter::default() };
    let name = "backward/of-zoh";
    let option = format!(" --header {}", file(name));
    let methods = vec![Method::Foh];
    let request =
        Request { filter, methods, sensitivity: false, rerun: option.clone(), ..Request::everything(1) };
    let results = verify(&request, header(name).as_ref());
    let command = format!("holdfast verify{option} --method foh --weights real");
    samples::hold(&command, &console::render(&results, None, false));
}

#[test]
fn two_compared_headers_are_shown_as_they_are() {
    if !samples::comparable() {
        return;
    }
    let (old, new) = ("foh-exact-zoh", "accurate");
    let request = DiffRequest {
        methods: vec![Method::Foh],
        weights: vec![Weights::Real],
        b: Operand::ALL.to_vec(),
        seed: 1,
        diagnosis: Budget::Thorough,
    };
    let found = diff(&request, header(old).as_ref(), header(new).as_ref(), (file(old), file(new)));
    let command = format!("holdfast diff {} {} --method foh --weights real", file(old), file(new));
    samples::hold(&command, &(revisions::render(&found) + &backend_line("cpu", "it is there")));
}

//! Promise: the parts of one plan, merged, are the undivided run, and nothing else is merged.

use holdfast::kernel::CpuBackend;
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{InputType, Weights};
use holdfast::report::{console, json};
use holdfast::results::Results;
use holdfast::results::merge::{MergeError, merge};
use holdfast::verify::Request;

use crate::support::run::verify;

/// Part of a run in which rk4 fails: cases, sweeps and invariants.
fn run(part: Option<(usize, usize)>) -> Results {
    let filter = Filter { weights: vec![Weights::Real], inputs: vec![InputType::F32], ..Filter::default() };
    let methods = vec![Method::Zoh, Method::Rk4];
    let request = Request { filter, methods, sensitivity: false, part, ..Request::everything(1) };
    verify(&request, &CpuBackend::with_faults("runs-as-zoh", None).expect("in the list"))
}

#[test]
fn merged_parts_are_the_undivided_run_and_missing_ones_are_named() {
    let whole = run(None);
    let mut parts: Vec<Results> = (0..3).map(|index| run(Some((index, 3)))).collect();
    assert!(parts.iter().all(|part| part.cases.len() < whole.cases.len()));
    let text = |results: &Results| json::to_string(results).expect("JSON");
    for order in [[0, 1, 2], [2, 0, 1]] {
        let merged = merge(order.map(|i| parts[i].clone()).to_vec()).expect("all parts of one plan");
        // Page and tables are made of these values alone.
        assert_eq!(text(&merged), text(&whole));
        assert_eq!(console::render(&merged, None, false), console::render(&whole, None, false));
    }
    let refused = |parts: &[Results]| merge(parts.to_vec()).expect_err("not the parts of one run");
    assert_eq!(refused(&[]), MergeError::Nothing);
    assert_eq!(refused(&[whole]), MergeError::Whole);
    assert!(
        matches!(refused(&parts[..2]), MergeError::Missing { first, .. } if first == parts[2].cases[0].id)
    );
    let twice = [parts[0].clone(), parts[0].clone()];
    assert_eq!(refused(&twice), MergeError::Twice { index: 0, of: 3 });
    let lost = parts[1].cases.pop().expect("a case");
    assert!(matches!(refused(&parts), MergeError::Missing { count: 1, first, .. } if first == lost.id));
    parts[1].cases.extend([lost.clone(), lost.clone()]);
    assert_eq!(refused(&parts), MergeError::Unplanned { id: lost.id });
    parts[1].cases.pop();
    parts[1].seed = 2;
    let (one, other) = ("1".to_owned(), "2".to_owned());
    assert_eq!(refused(&parts), MergeError::Other { what: "seed", one, other });
}

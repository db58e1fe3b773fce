//! Promise: the worst element of each method says something of the method, and all of its value is shown.

use holdfast::method::Method;
use holdfast::problem::Weights;
use holdfast::report::{console, markdown, summary, text};
use holdfast::results::{CaseResult, Results, Sensitivity, Verdict, Worst};

use crate::fixture;
use crate::pages::page;

#[test]
fn complex_coefficients_are_shown_with_both_parts_everywhere() {
    let mut results = fixture::small();
    let sweep = results.coefficients.iter_mut().find(|sweep| sweep.weights == Weights::Complex).unwrap();
    sweep.verdict = Verdict::Fail;
    sweep.worst_a_bar = Some(Worst {
        got_parts: vec![0.25, -0.5],
        want_parts: vec![0.25, 0.5],
        ..fixture::worst("a_bar", 7.0)
    });
    let texts = [page(&results), markdown::page(&results).unwrap(), console::render(&results, None, false)];
    for text in texts {
        for part in ["0.250000000 - 0.500000000·i", "0.250000000 + 0.500000000·i", "2⁻²⁴ of the modulus"]
        {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}

/// A share that no error has to be as large as is said with its reason.
#[test]
fn an_error_of_a_value_that_is_to_be_0_is_said_to_be_one() {
    for (want, says) in
        [(0.0, "× its bound, of a value that is to be 0"), (1e-40, "of a value below the normal range")]
    {
        let said = text::worst(&Worst { want, ..fixture::worst("out", 1e43) });
        assert!(said.ends_with(says), "{said}");
    }
}

/// Where B = 0 every output is D·u, whatever the method: the largest share of all says nothing of it.
#[test]
fn the_worst_of_a_method_is_one_that_says_something_of_it() {
    let mut results = fixture::small();
    let of = |case: &&mut CaseResult| case.method == Method::Poly && case.weights == Weights::Real;
    let [silent, other] = [0, 1].map(|i| results.cases.iter_mut().filter(of).nth(i).unwrap().regime.clone());
    for case in results.cases.iter_mut().filter(of) {
        let share = if case.regime == silent {
            0.99
        } else if case.regime == other {
            0.6
        } else {
            0.1
        };
        case.worst = Some(fixture::worst("out", share));
    }
    let one = |regime: &String, exponent| Sensitivity {
        method: Method::Poly,
        weights: Weights::Real,
        regime: regime.clone(),
        problem: String::new(),
        a_bar: None,
        b_bar: exponent,
    };
    results.sensitivity = vec![one(&silent, None), one(&other, Some(-20))];
    let shown = |results: &Results| {
        let lines = summary::methods(results);
        let line = lines.iter().find(|line| line.method == Method::Poly).unwrap();
        line.worst_case[0].unwrap().regime.clone()
    };
    assert_eq!(shown(&results), other);
    // A failure is never left out, and neither is all that there is.
    let fails = results.cases.iter_mut().filter(of).find(|case| case.regime == silent).unwrap();
    fails.verdict = Verdict::Fail;
    assert_eq!(shown(&results), silent);
    results.cases.iter_mut().for_each(|case| case.verdict = Verdict::Pass);
    results.cases.retain(|case| case.regime == silent);
    assert_eq!(shown(&results), silent);
}

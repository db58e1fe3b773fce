//! Promise: a comparison finds what became slower beyond doubt, and compares nothing that cannot be.

use holdfast::results::bench::{Cost, Spread, Timed, Work};
use holdfast::results::bench_compare::{BenchComparison, NotComparable, compare};
use holdfast::results::{Results, Verdict};

fn timed(id: &str, times: &[f64]) -> Timed {
    Timed {
        id: id.to_owned(),
        work: Work::Operation,
        scan: None,
        operation: None,
        backend: "cpu".to_owned(),
        verdict: Verdict::Pass,
        reason: String::new(),
        cost: Cost::default(),
        warm: Spread::of(times),
        cold: None,
        first: None,
        kernel: None,
        share: None,
        error: None,
    }
}

fn run(bench: Vec<Timed>) -> Results {
    Results { bench, ..Results::empty(1, "cpu", "this one".to_owned(), String::new()) }
}

/// Nine times from 1 % below to 1 % above.
fn around(median: f64) -> Vec<f64> {
    (-4..=4).map(|i| median * (1.0 + 0.0025 * f64::from(i))).collect()
}

fn both(old: &[f64], new: &[f64]) -> BenchComparison {
    let of = |times| run(vec![timed("a", times)]);
    compare(&of(old), &of(new), 0.1, false).expect("comparable")
}

#[test]
fn slower_is_what_no_interval_excuses() {
    assert!(!both(&around(1.0), &around(1.0)).regressed());
    assert!(!both(&around(1.0), &around(0.5)).regressed());
    assert!(!both(&around(1.0), &around(1.09)).regressed(), "allowed");
    assert!(!both(&around(1.0), &around(1.105)).regressed(), "in doubt");
    let slower = both(&around(1.0), &around(1.13));
    assert!(slower.regressed() && slower.changes[0].slower);
    let [low, high] = slower.changes[0].interval.expect("of seven runs or more");
    assert!(low < 1.13 && 1.13 < high && low > 1.1, "{low} {high}");
    // One run each decides nothing.
    let single = both(&[1.0], &[2.0]);
    assert!(!single.regressed() && single.changes[0].interval.is_none() && single.changes[0].ratio == 2.0);
}

#[test]
fn what_is_gone_is_a_regression_and_what_is_new_is_none() {
    let (one, two) = (run(vec![timed("a", &[1.0])]), run(vec![timed("a", &[1.0]), timed("b", &[1.0])]));
    let compared = |old, new| compare(old, new, 0.1, false).expect("comparable");
    assert_eq!((compared(&two, &one).gone, compared(&two, &one).regressed()), (vec!["b".to_owned()], true));
    assert_eq!((compared(&one, &two).added, compared(&one, &two).regressed()), (vec!["b".to_owned()], false));
    // Listed, but not timed.
    let untimed = run(vec![timed("a", &[])]);
    assert!(compared(&one, &untimed).regressed());
}

#[test]
fn other_devices_are_refused_unless_that_is_asked_for() {
    let old = run(vec![timed("a", &[1.0])]);
    let new = Results { device: "another one".to_owned(), ..old.clone() };
    let refused = compare(&old, &new, 0.1, false).expect_err("two devices");
    assert!(refused.to_string().contains("this one and another one"), "{refused}");
    let allowed = compare(&old, &new, 0.1, true).expect("asked for");
    assert!(allowed.devices.is_some() && !allowed.regressed());
    let none = compare(&run(Vec::new()), &old, 0.1, false).expect_err("no benchmark");
    assert_eq!(none, NotComparable::NoBenchmark { which: "the old file" });
}

//! Promise: the smallest error that is caught is found in a handful of runs.

use holdfast::judge::sensitivity::{LARGEST, SMALLEST, smallest_caught};

#[test]
fn bisection_finds_every_threshold_in_a_handful_of_runs() {
    for threshold in SMALLEST..=LARGEST {
        let runs = std::cell::Cell::new(0);
        let caught = |size: f64| {
            runs.set(runs.get() + 1);
            size >= 2f64.powi(threshold)
        };
        assert_eq!(smallest_caught(caught), Some(threshold));
        assert!(runs.get() <= 6, "{}", runs.get());
    }
    assert_eq!(smallest_caught(|_| false), None);
}

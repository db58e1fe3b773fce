//! Promise: the smallest error that is caught is found in a handful of runs, and in two where it is known of something alike.

use holdfast::judge::sensitivity::{LARGEST, SMALLEST, smallest_caught, smallest_caught_near};

#[test]
fn every_threshold_is_found_in_a_handful_of_runs() {
    for threshold in (SMALLEST..=LARGEST).map(Some).chain([None]) {
        let runs = std::cell::Cell::new(0);
        let caught = |size: f64| {
            runs.set(runs.get() + 1);
            threshold.is_some_and(|threshold| size >= 2f64.powi(threshold))
        };
        assert_eq!(smallest_caught(caught), threshold);
        for alike in [None].into_iter().chain((SMALLEST - 2..=LARGEST + 2).map(Some)) {
            runs.set(0);
            assert_eq!(smallest_caught_near(alike, caught), threshold, "{alike:?}");
            let most = if alike.is_some() && alike == threshold { 2 } else { 9 };
            assert!(runs.get() <= most, "{} for {threshold:?} from {alike:?}", runs.get());
        }
    }
}

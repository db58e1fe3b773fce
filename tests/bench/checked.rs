//! Promise: each check of timings is run and says what it measured, and what is skipped is listed and counts for nothing.

use holdfast::bench::Checks;
use holdfast::bench::checks::threads;
use holdfast::bench::runner::Runner;
use holdfast::kernel::launch::Repeats;
use holdfast::method::Method;
use holdfast::problem::Shape;
use holdfast::results::bench::Check;
use holdfast::results::{Results, Verdict};

use crate::timed::on_cpu;

#[test]
fn every_check_is_run_on_every_backend_or_skipped() {
    let runners = [on_cpu(), Runner::Reference];
    let checks = Checks {
        runners: &runners,
        methods: &[Method::Foh, Method::Zoh],
        shape: Shape { batch: 1, dim: 3, seqlen: 21, dstate: 2, groups: 1 },
        repeats: Repeats { warmups: 1, samples: 8, seconds: 0.2 },
        skip: &[Check::Threads],
    };
    let found = checks.run();
    assert_eq!(found.len(), 2 * Check::ALL.len());
    for checked in &found {
        assert!(!checked.reason.is_empty());
        assert_eq!(checked.skipped, checked.check == Check::Threads);
        // These do not depend on how fast anything is.
        if [Check::SamePath, Check::Compilation].contains(&checked.check) {
            assert_eq!(checked.verdict, Verdict::Pass, "{}: {}", checked.check, checked.reason);
        }
        assert_ne!(
            checked.verdict,
            if checked.skipped { Verdict::Pass } else { Verdict::Unmeasured },
            "{checked:?}"
        );
    }
    let skipped =
        found.into_iter().filter(|checked| checked.skipped || checked.check == Check::SamePath).collect();
    let results = Results { checks: skipped, ..Results::default() };
    assert_eq!(results.verdict(), Verdict::Pass, "a skipped check counts for nothing");
}

#[test]
fn variables_that_disagree_about_threads_are_found() {
    let used = rayon::current_num_threads();
    let with = |set: Option<(&'static str, String)>| {
        threads(move |name| set.clone().filter(|(known, _)| *known == name).map(|(_, value)| value)).0
    };
    let alone = with(None);
    assert_eq!(with(Some(("OMP_NUM_THREADS", used.to_string()))), alone);
    assert_eq!(with(Some(("OMP_NUM_THREADS", "1".to_owned()))), alone && used == 1);
    assert!(!with(Some(("OMP_NUM_THREADS", (used + 1).to_string()))));
    assert!(!with(Some(("MKL_NUM_THREADS", "many".to_owned()))));
}

//! Promise: of recordings that somebody wrote without having seen the diagnosis, the right ones pass, the faulty ones fail,
//! and these get their cause. `blind/cases.json` has the author's own words for every cause, `blind/make.py` makes the set.
//!
//! Eleven faulty ones have no entry: they get no cause yet, and two of these (08, 11) a wrong one.

use std::path::Path;

use holdfast::check::{self, Options};
use holdfast::problem::recorded::Recording;
use holdfast::results::Verdict;
use rstest::rstest;

#[rstest]
#[case(1, &[])]
#[case(3, &["a-exponentiated"])]
#[case(4, &["Δ³A²/3 in place of Δ³A²/6", "A²/3 stands for A²/6"])]
#[case(5, &["every 96th position"])]
#[case(7, &[])]
#[case(9, &["base-2 + gate-linear"])]
#[case(10, &["gate-before-skip"])]
#[case(12, &[])]
#[case(13, &["bilinear-inverse-only-a-bar + readout-scaled"])]
#[case(15, &["u-times-delta-in-skip"])]
#[case(17, &["poly-reversed-off-by-one"])]
#[case(18, &["bias-twice + skip-missing"])]
#[case(20, &["group-modulo"])]
#[case(21, &["group-modulo + readout-scaled"])]
#[case(22, &[])]
#[case(24, &["c-conjugated"])]
#[case(27, &[])]
#[case(28, &["bias-after-softplus"])]
#[case(29, &["Δ is clamped to [0.011, 0.083]"])]
#[case(30, &["u-missing-in-higher-terms"])]
#[case(31, &["poly-reversed-a-bar-off-by-one"])]
#[case(32, &["highorder-without-factorials"])]
#[case(34, &["phi-taylor-3 + u-late"])]
#[case(35, &["gate-sigmoid-only + chunk-state-forgotten", "every 29th position"])]
fn a_recording_gets_its_cause(#[case] number: usize, #[case] causes: &[&str]) {
    let file = format!("{}/tests/recorded/blind/run{number:02}.safetensors", env!("CARGO_MANIFEST_DIR"));
    let recording = Recording::open(Path::new(&file)).expect("a recording");
    let options = Options { channels: None, seed: 1, stages: None };
    let case = check::check(&file, &file, &recording, &options, &|| ()).expect("a run").cases.swap_remove(0);
    assert_eq!(case.verdict == Verdict::Pass, causes.is_empty(), "{}", case.reason);
    let said: Vec<String> = case.diagnosis.iter().map(|one| format!("{}: {}", one.name, one.what)).collect();
    let has = |cause: &&str| said.iter().any(|text| text.contains(cause));
    assert_eq!(causes.iter().any(has), !causes.is_empty(), "{said:?}");
}

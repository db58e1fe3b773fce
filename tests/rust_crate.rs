//! Promise: the tests that `src/guide/rust_tests.md` shows to authors of other crates work, and say what is wrong.

use holdfast::testing;

#[test]
fn the_recorded_scans_are_right() {
    let results = testing::recording("golden/recorded/torch-f32-complex.safetensors");
    testing::assert_passes(&results);
}

#[test]
fn the_header_is_right() {
    let results = testing::header("tests/headers/accurate.cuh");
    testing::assert_passes(&results);
    insta::with_settings!({ snapshot_path => "../golden", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("header-differences", testing::differences(&results));
    });
}

#[test]
#[should_panic(expected = "runs-as-zoh: it computes zoh")]
fn a_wrong_header_panics_with_the_finding() {
    testing::assert_passes(&testing::header("tests/headers/rk4-is-zoh.cuh"));
}

#[test]
#[should_panic(expected = "hint: ")]
fn a_file_that_is_no_recording_panics_with_a_hint() {
    testing::recording("Cargo.toml");
}

#[test]
fn the_guide_shows_these_tests() {
    let page = include_str!("../src/guide/rust_tests.md");
    for line in
        include_str!("rust_crate.rs").lines().skip(5).take(15).filter(|line| line.contains("testing::"))
    {
        let asked = line.split('"').next().unwrap_or_default().trim();
        assert!(page.contains(asked), "{asked}");
    }
}

//! What tests of the CUDA path need that a machine may lack: a skip is not a pass, so it is said, and
//! `HOLDFAST_REQUIRE_NVRTC=1` or `HOLDFAST_REQUIRE_GPU=1` turns it into a failure.
#![allow(dead_code)]

use std::io::Write;

/// Says, past the test harness's capture, that a test measured nothing; or fails where it had to.
pub fn unmeasured(test: &str, variable: &str, why: &str) {
    let required = std::env::var(variable).is_ok_and(|value| !value.is_empty() && value != "0");
    assert!(!required, "{test} could not be measured, but {variable} is set: {why}");
    // Written to the stream itself: `eprintln!` of a passing test is swallowed.
    let line = format!("unmeasured: {test}: {why} ({variable}=1 makes this a failure)\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Whether NVRTC can compile here; if not, the test is unmeasured.
pub fn has_nvrtc(test: &str) -> bool {
    match holdfast::kernel::cuda::nvrtc::version() {
        Ok(_) => true,
        Err(error) => {
            unmeasured(test, "HOLDFAST_REQUIRE_NVRTC", &error.to_string());
            false
        }
    }
}

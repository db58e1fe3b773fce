//! Recordings and headers judged in the tests of another crate: a few lines each, with all that was found in the message of a
//! test that fails. A file that cannot be judged panics with the error, which says what was expected.

use std::fmt::Write as _;
use std::path::Path;

use crate::check::files::{Files, Run};
use crate::check::{Budget, Options};
#[cfg(feature = "kernels")]
use crate::kernel::foreign::{ForeignBackend, Header};
#[cfg(feature = "kernels")]
use crate::problem::{InputType, plan::Filter, regime};
use crate::results::Results;
#[cfg(feature = "kernels")]
use crate::verify::{Request, verify};

/// The verdicts on a recorded run, every element judged.
///
/// # Panics
/// A file that is no recorded run.
#[track_caller]
pub fn recording(path: impl AsRef<Path>) -> Results {
    let path = path.as_ref();
    let name = path.to_string_lossy().into_owned();
    let run = Run { path: path.to_owned(), argument: name.clone(), name };
    let command = format!("holdfast check {}", path.display());
    let options = Options { diagnosis: Budget::USUAL, ..Options::EVERYTHING };
    let checked = Files::open(vec![run], options, command, None);
    let checked = checked.and_then(|files| files.check(&|| {}));
    checked.unwrap_or_else(|error| panic!("{error}"))
}

/// The verdicts on a header's coefficients, compiled for this CPU: every method at the regime `short`.
///
/// # Panics
/// A file that is no header, or no C++ compiler.
#[cfg(feature = "kernels")]
#[track_caller]
pub fn header(path: impl AsRef<Path>) -> Results {
    let header = Header::read(path.as_ref()).unwrap_or_else(|error| panic!("{error}"));
    let backend = ForeignBackend::on_cpu(header).unwrap_or_else(|error| panic!("{error}"));
    let regimes = regime::find("short").into_iter().collect();
    let filter = Filter { regimes, inputs: vec![InputType::F32], ..Filter::default() };
    let rerun = format!(" --header {}", path.as_ref().display());
    let diagnosis = Budget::USUAL;
    let request = Request { filter, rerun, diagnosis, sensitivity: false, ..Request::everything(1) };
    verify(&request, &backend, &|| {})
}

/// Panics with the whole finding unless every verdict passes.
///
/// # Panics
/// Some verdict fails, or could not be measured.
#[cfg(feature = "report")]
#[track_caller]
pub fn assert_passes(results: &Results) {
    let passes = results.verdict() == crate::results::Verdict::Pass;
    assert!(passes, "{}", crate::report::console::render(results, None, false));
}

/// How far apart the outputs of methods are, a line for each pair of each problem that has a matrix: ‖left − right‖₂ relative to
/// the larger one, rounded up to a power of two, so that a snapshot changes with a method and not with a rounding.
pub fn differences(results: &Results) -> String {
    let mut text = String::new();
    for matrix in results.pairwise.iter().filter(|matrix| matrix.source != "truth") {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}, {} by {}", matrix.problem, matrix.tensor, matrix.source);
        for pair in &matrix.pairs {
            let size = if pair.rel_l2 > 0.0 {
                format!("2^{}", pair.rel_l2.log2().ceil() as i32)
            } else {
                "0".into()
            };
            let _ = writeln!(text, "  {} and {}: {size}, {}", pair.left, pair.right, pair.status);
        }
    }
    text
}

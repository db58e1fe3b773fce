//! Promise: a GPU keeps what is promised of the kernels' functions at every f32, by the recorded certificates of these very sources.

use std::fs::read_to_string;
use std::path::Path;

use holdfast::functions::rules;
use holdfast::kernel::functions::{self, Arguments, evaluate};
use holdfast::results::Verdict;
use holdfast::results::functions::FunctionSummary;
use holdfast::scalar_function::ScalarFunction as F;
use serde::Deserialize;

/// `functions.json` of `holdfast sweep --exhaustive --backend cuda`.
#[derive(Deserialize)]
struct Certificate {
    device: String,
    kernel_source: String,
    command: String,
    functions: Vec<FunctionSummary>,
}

fn recorded() -> Certificate {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/h200/functions.json");
    let text = read_to_string(path).expect("golden/h200 is part of the repository");
    serde_json::from_str(&text).expect("a certificate")
}

#[test]
fn every_function_is_certified_at_every_f32() {
    let certificate = recorded();
    // An instruction of a GPU is what its architecture has.
    assert!(certificate.device.contains("(sm_90"), "{}", certificate.device);
    assert_eq!(certificate.command, "holdfast sweep --exhaustive --backend cuda");
    assert_eq!(
        certificate.kernel_source,
        functions::source(),
        "of other sources (hint: `.ci/gpu` records it)"
    );
    let certified: Vec<F> = certificate.functions.iter().map(|one| one.function).collect();
    assert_eq!(certified, F::ALL);
    for one in &certificate.functions {
        assert!(one.exhaustive, "{one:?}");
        assert_eq!(one.judged + one.outside + one.nans, 1 << 32, "{one:?}");
        assert_eq!((one.verdict, one.failing, one.undecided), (Verdict::Pass, 0, 0), "{one:?}");
        assert_eq!((one.lost_nans, one.wrong_signs), (0, 0), "{one:?}");
        assert!(one.worst_share <= 1.0, "{one:?}");
    }
}

/// Whether it takes an exponential or a logarithm from the compiler's library, which is another one here, or is an instruction of
/// a GPU's.
fn is_another_here(function: F) -> bool {
    let of_library = matches!(function, F::LibraryExp | F::LibraryLog1p | F::Softplus | F::Sigmoid);
    let of_gpu = function.name().starts_with("hardware-");
    of_library || of_gpu || matches!(function, F::Gate | F::GateSlope)
}

/// What these were promised when they were certified: their worst shares are of it, and cannot be found anew on another device.
#[test]
fn what_runs_otherwise_here_is_promised_what_was_certified() {
    let mut promised = 0;
    for function in F::ALL.into_iter().filter(|function| is_another_here(*function)) {
        let units = match function {
            F::LibraryExp => 2.625,
            F::LibraryLog1p => 1.5,
            F::HardwareExp2 => 2.875,
            F::HardwareReciprocal => 2.0,
            F::HardwareCos | F::HardwareSin => 11.375,
            F::Softplus => 4.125 + 1.0 / f64::from(1 << 9),
            F::Sigmoid => 5.625,
            F::Gate => 4.625,
            F::GateSlope => 8.625,
            other => panic!("{other}"),
        };
        assert_eq!(rules(function).units, units, "{function} (hint: `.ci/gpu` records a certificate)");
        promised += 1;
    }
    assert_eq!(promised, 10);
}

/// The promises are those that the certificates were made with, and the values those of this source.
#[test]
fn the_worst_argument_is_as_bad_here_as_there() {
    for one in recorded().functions.iter().filter(|one| !is_another_here(one.function)) {
        let function = one.function;
        let at = |x: f32| {
            let arguments = Arguments { first: x.to_bits(), stride: 1, count: 1 };
            let values = [f32::NAN, evaluate(function, &[x])[0]];
            functions::judge(function, arguments, &values, &rules(function)).tally.found
        };
        assert_eq!(at(one.worst_share_at).worst_share, one.worst_share, "{one:?}");
        assert_eq!(at(one.worst_ulp_at).worst_ulp, one.worst_ulp, "{one:?}");
    }
}

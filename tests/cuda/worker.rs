//! Promise: a kernel that faults, hangs, dies or leaves its output unwritten is one failed case with its reason, and
//! every other case still runs. Here the worker runs on a stand-in for a GPU; `.ci/gpu` repeats it on a real one.

use std::time::{Duration, Instant};

use holdfast::kernel::cuda::cache::Cache;
use holdfast::kernel::cuda::{CudaBackend, CudaError, Setup};
use holdfast::kernel::registry::Misbehaviour;
use holdfast::kernel::worker::Program;
use holdfast::kernel::{Backend, CpuBackend, KernelError};
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, Operand, Problem, Shape, Weights};
use holdfast::tensor::TensorName;
use rayon::prelude::*;
use rstest::rstest;

use crate::support::problems::{Layout, bits, generator, layouts};

fn setup(memory: usize, limit: Duration) -> Setup {
    Setup {
        program: Program {
            path: env!("CARGO_BIN_EXE_holdfast").into(),
            arguments: vec!["worker".to_owned(), "--stand-in".to_owned(), memory.to_string()],
        },
        cache: Cache::at("unused"),
        arch: None,
        limit,
    }
}

fn backend() -> CudaBackend {
    CudaBackend::with_setup(setup(1 << 28, Duration::from_secs(60))).expect("the stand-in starts")
}

fn problem() -> Problem {
    Layout::plain(2, 3, 4, 37).random(&mut generator("cuda_worker"))
}

/// The case after a fault.
fn assert_still_works(backend: &CudaBackend) {
    let problem = problem();
    let want = CpuBackend::new().scan(Method::Rk4, &problem).expect("the kernel runs");
    let got = backend.scan(Method::Rk4, &problem).expect("the case after the fault runs");
    assert_eq!(bits(&got[TensorName::Out].values), bits(&want[TensorName::Out].values));
}

#[test]
fn every_layout_comes_back_bit_for_bit() {
    let backend = backend();
    let mut rng = generator("every_layout_comes_back_bit_for_bit");
    for layout in layouts(Shape { batch: 2, dim: 4, dstate: 3, seqlen: 9, groups: 2 }) {
        let problem = layout.random(&mut rng);
        for method in Method::ALL {
            let want = CpuBackend::new().scan(method, &problem).expect("the kernel runs");
            let got = backend.scan(method, &problem).expect("the kernel runs in the worker");
            assert_eq!(
                bits(&got[TensorName::Out].values),
                bits(&want[TensorName::Out].values),
                "{method} {layout:?}"
            );
            assert_eq!(
                bits(&got[TensorName::LastState].values),
                bits(&want[TensorName::LastState].values),
                "{method} {layout:?}"
            );
        }
    }
}

#[rstest]
fn coefficients_come_back_bit_for_bit(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    let n = 100;
    let ramp = |len: usize, scale: f32| (0..len).map(|i| scale * (i as f32 - 30.0)).collect::<Vec<_>>();
    let problem = CoefficientProblem {
        weights,
        delta: ramp(n, 1e-2),
        a: ramp(n * weights.width(), 0.3),
        b: ramp(n * weights.width(), 0.1),
    };
    let backend = backend();
    for method in Method::ALL {
        let want = CpuBackend::new().coefficients(method, &problem).expect("the kernel runs");
        let got = backend.coefficients(method, &problem).expect("the kernel runs in the worker");
        assert_eq!(bits(&got.a_bar), bits(&want.a_bar));
        assert_eq!(bits(&got.b_bar), bits(&want.b_bar));
    }
}

#[rstest]
#[case::illegal_address(Misbehaviour::IllegalAddress, "illegal memory access")]
#[case::unwritten(Misbehaviour::Unwritten, "left 1 of 222 elements of `out` unwritten, the first at 221")]
#[case::past_the_end(Misbehaviour::PastTheEnd, "past the end of `out`")]
#[case::before_the_start(Misbehaviour::BeforeTheStart, "wrote 4 bytes before the start of `out`")]
#[case::changed_input(Misbehaviour::ChangedInput, "changed its input `u`")]
#[case::abort(Misbehaviour::Abort, "the worker process died")]
fn a_fault_is_one_failed_case_with_its_reason(#[case] which: Misbehaviour, #[case] reason: &str) {
    let backend = backend();
    assert_still_works(&backend);
    let error = backend.misbehave(which, &problem()).expect_err("a kernel that misbehaves");
    assert!(matches!(&error, KernelError::Fault(text) if text.contains(reason)), "{error}");
    assert_still_works(&backend);
}

#[test]
fn a_hang_ends_at_the_time_limit() {
    let limit = Duration::from_millis(1500);
    let backend = CudaBackend::with_setup(setup(1 << 28, limit)).expect("the stand-in starts");
    let start = Instant::now();
    let error = backend.misbehave(Misbehaviour::Hang, &problem()).expect_err("a kernel that hangs");
    assert!(start.elapsed() >= limit && start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert!(
        matches!(&error, KernelError::Fault(text) if text.starts_with("no result after 1.5 s")),
        "{error}"
    );
    assert_still_works(&backend);
}

#[test]
fn faults_among_many_threads_stay_with_their_cases() {
    let backend = backend();
    let problem = problem();
    let want = bits(
        &CpuBackend::new().scan(Method::Zoh, &problem).expect("the kernel runs")[TensorName::Out].values,
    );
    let wrong: Vec<String> = (0..40)
        .into_par_iter()
        .filter_map(|i| match i % 5 {
            0 => match backend.misbehave(Misbehaviour::ALL[[0, 2, 3, 6][i / 5 % 4]], &problem) {
                Err(KernelError::Fault(_)) => None,
                other => Some(format!("case {i} should fail: {other:?}")),
            },
            _ => match backend.scan(Method::Zoh, &problem) {
                Ok(got) if bits(&got[TensorName::Out].values) == want => None,
                other => Some(format!("case {i} should pass: {other:?}")),
            },
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn too_little_memory_is_an_error_of_its_own() {
    let backend =
        CudaBackend::with_setup(setup(1 << 16, Duration::from_secs(60))).expect("the stand-in starts");
    let mut layout = Layout::plain(1, 1, 4, 30_000);
    layout.b = Operand::Variable;
    let large = layout.random(&mut generator("too_little_memory"));
    let error = backend.scan(Method::Zoh, &large).expect_err("too large");
    assert!(matches!(error, KernelError::OutOfMemory { needed: 122_048, .. }), "{error:?}");
    assert_still_works(&backend);
}

#[test]
fn a_worker_that_cannot_start_says_why() {
    let mut none = setup(0, Duration::from_secs(1));
    none.program.path = "/nonexistent/holdfast".into();
    let error = CudaBackend::with_setup(none).err().expect("no such program");
    assert!(error.to_string().starts_with("the worker process cannot be started: "), "{error}");
    let mut other = setup(0, Duration::from_secs(1));
    other.program.arguments = vec!["doctor".to_owned()];
    let error = CudaBackend::with_setup(other).err().expect("no worker");
    assert!(matches!(&error, CudaError::Worker(text) if text.starts_with("died")), "{error}");
}

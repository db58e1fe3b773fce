//! Promise: on a machine with a GPU, `cargo test` runs the CUDA kernels on it. Elsewhere these tests are unmeasured.
//! `.ci/gpu` goes much further.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use holdfast::check::on_device::DeviceJudge;
use holdfast::check::{self, Options};
use holdfast::judge::agreement::{Agreement, agreement};
use holdfast::judge::budget;
use holdfast::kernel::cuda::{CudaBackend, Setup};
use holdfast::kernel::golden;
use holdfast::kernel::registry::Misbehaviour;
use holdfast::kernel::worker::Program;
use holdfast::kernel::{Backend, CpuBackend, KernelError};
use holdfast::method::Method;
use holdfast::problem::recorded::Recording;
use holdfast::promise::Contract;
use holdfast::tensor::TensorName;

use crate::support::problems::{Layout, bits, generator};
use crate::unmeasured::unmeasured;

/// GPU tests run one after the other.
fn serial() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn backend(test: &str) -> Option<CudaBackend> {
    let program =
        Program { path: env!("CARGO_BIN_EXE_holdfast").into(), arguments: vec!["worker".to_owned()] };
    let mut setup = Setup::from_environment(program);
    setup.limit = Duration::from_secs(10);
    match CudaBackend::with_setup(setup) {
        Ok(backend) => Some(backend),
        Err(error) => {
            unmeasured(test, "HOLDFAST_REQUIRE_GPU", &error.to_string());
            None
        }
    }
}

#[test]
fn the_gpu_agrees_with_the_cpu_run_of_the_same_source() {
    let _guard = serial();
    let Some(backend) = backend("CUDA against the CPU") else { return };
    let mut total = Agreement::default();
    for spec in golden::specs() {
        let problem = spec.draw(golden::SEED);
        for method in Method::ALL {
            let got = backend.scan(method, &problem).expect("the kernel runs on the GPU");
            let want = CpuBackend::new().scan(method, &problem).expect("the kernel runs");
            let found =
                agreement(&problem, &got, &want, &budget::scan(method, &problem, &Contract::PRODUCTION));
            assert!(found.ratio <= 1.0, "{}/{method}: {:.3} of the bounds apart", spec.id(), found.ratio);
            total.add(found);
        }
    }
    println!("{}: at most {:.3} of the bounds apart", backend.device(), total.ratio);
    assert!(total.values > 10_000);
}

#[test]
fn faults_on_the_gpu_stay_with_their_cases() {
    let _guard = serial();
    let Some(backend) = backend("faults on a GPU") else { return };
    let problem = Layout::plain(2, 3, 4, 37).random(&mut generator("cuda_gpu"));
    let want = bits(
        &backend.scan(Method::Zoh, &problem).expect("the kernel runs on the GPU")[TensorName::Out].values,
    );
    for which in Misbehaviour::ALL {
        let error = backend.misbehave(which, &problem).expect_err("a kernel that misbehaves");
        assert!(matches!(error, KernelError::Fault(_)), "{which:?}: {error}");
        let after = backend.scan(Method::Zoh, &problem).expect("the case after the fault runs");
        assert_eq!(bits(&after[TensorName::Out].values), want, "after {which:?}");
    }
}

/// `check` itself compares some channels of each run bit by bit; a difference is an error.
#[test]
fn the_judge_on_the_gpu_says_what_the_one_on_the_cpu_says() {
    let _guard = serial();
    let mut judge = match DeviceJudge::open() {
        Ok(judge) => judge,
        Err(error) => {
            unmeasured("the judge on a GPU", "HOLDFAST_REQUIRE_GPU", &error.to_string());
            return;
        }
    };
    let options = Options::EVERYTHING;
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/recorded");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("in the repository") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "safetensors") {
            continue;
        }
        let recording = Recording::open(&path).expect("a recorded run");
        let on_cpu = check::check("run", "run", &recording, &options, &|| ()).expect("judged");
        let on_gpu = check::check_with(Some(&mut judge), ("run", "run"), &recording, &options, &|| ());
        let on_gpu = on_gpu.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let text = |checked: &check::Checked| format!("{:?}", checked.cases);
        assert_eq!(text(&on_gpu), text(&on_cpu), "{}", path.display());
        assert!(on_gpu.note.why.contains("cross-checked"), "{}", on_gpu.note.why);
        files += 1;
    }
    assert!(files > 5, "{files}");
}

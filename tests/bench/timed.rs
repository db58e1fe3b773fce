//! Promise: a worker times what it is asked to, as often as it is asked to, and computes what it always does. Here a CPU stands in for a GPU.

use std::time::Duration;

use holdfast::bench::runner::Runner;
use holdfast::bench::{machine, problems};
use holdfast::kernel::KernelError;
use holdfast::kernel::cuda::cache::Cache;
use holdfast::kernel::cuda::{CudaBackend, Setup};
use holdfast::kernel::launch::{Clock, Job, Repeats, Timing};
use holdfast::kernel::registry::Kernel;
use holdfast::kernel::worker::Program;
use holdfast::operation::Operation;
use holdfast::promise::Tier;

pub fn setup() -> Setup {
    Setup {
        program: Program {
            path: env!("CARGO_BIN_EXE_holdfast").into(),
            arguments: vec!["worker".to_owned()],
        },
        cache: Cache::at("unused"),
        arch: None,
        limit: Duration::from_secs(60),
    }
}

pub fn on_cpu() -> Runner {
    Runner::on_cpu(setup(), Tier::Accurate).expect("the worker starts")
}

fn timing(samples: usize) -> Timing {
    let repeats = Repeats { warmups: 2, samples, seconds: 60.0 };
    Timing { repeats, clock: Clock::Device, flush: None, collect: true, peers: Vec::new() }
}

fn values(operation: Operation, z: &[f32]) -> Vec<f64> {
    let job = || Job::operation(operation, z);
    let (series, returned) =
        on_cpu().time(Kernel::Measure(operation), job, &timing(3)).expect("the operation runs");
    assert_eq!(series.warm.len(), 3);
    assert!(series.cold.is_empty() && series.first > 0.0);
    returned.expect("asked for").values().concat()
}

#[test]
fn operations_compute_what_they_are_called() {
    let z = problems::arguments(64);
    for operation in Operation::OF_NUMBERS {
        let want = |z: f64| match operation {
            Operation::Exp | Operation::ExpLibrary => z.exp(),
            Operation::Phi1 | Operation::Phi1Solve => z.exp_m1() / z,
            _ => 1.0 / (1.0 - 0.5 * z),
        };
        let got = values(operation, &z);
        assert_eq!(got.len(), z.len());
        for (z, got) in z.iter().zip(got) {
            let want = want(f64::from(*z));
            assert!((got - want).abs() <= 1e-6 * want.abs(), "{operation} of {z}: {got}, not {want}");
        }
    }
}

#[test]
fn a_cold_run_has_its_flush() {
    let flush = Some(Job::machine(Operation::Read, 1 << 12, 0));
    let timing = Timing { flush, ..timing(4) };
    let z = problems::arguments(256);
    let kernel = Kernel::Measure(Operation::Exp);
    let run = |timing: &Timing| {
        on_cpu().time(kernel, || Job::operation(Operation::Exp, &z), timing).expect("it runs").0
    };
    let series = run(&timing);
    assert_eq!((series.warm.len(), series.cold.len(), series.footprints.len()), (4, 4, 1));
    assert_eq!((series.footprints[0].blocks, series.footprints[0].threads), (1, 256));
    let repeats = Repeats { samples: 0, ..timing.repeats };
    let none = run(&Timing { repeats, ..timing.clone() });
    assert!(none.warm.is_empty() && none.cold.is_empty());
    // However little time there is, each kind is run once.
    let repeats = Repeats { seconds: 1e-9, ..timing.repeats };
    let little = run(&Timing { repeats, ..timing });
    assert_eq!((little.warm.len(), little.cold.len()), (1, 1));
}

#[test]
fn what_does_not_fit_is_said_and_the_worker_lives() {
    let mut setup = setup();
    setup.program.arguments.extend(["--stand-in".to_owned(), "4096".to_owned()]);
    let worker = CudaBackend::with_setup(setup).expect("the worker starts");
    let run = |n: usize| {
        let z = problems::arguments(n);
        worker.time(Kernel::Measure(Operation::Exp), || Job::operation(Operation::Exp, &z), &timing(1))
    };
    assert!(matches!(run(1 << 16), Err(KernelError::OutOfMemory { .. })));
    assert!(run(16).is_ok());
}

#[test]
fn a_machine_is_measured() {
    let runner = on_cpu();
    let machine = machine::measure(&runner, 0.01);
    let peaks = machine.peaks.expect("measured");
    assert!([peaks.copy, peaks.fused, peaks.special].iter().all(|peak| peak.is_finite() && *peak > 0.0));
    assert_eq!((machine.backend.as_str(), machine.clocks.as_slice()), ("cpu", &[][..]));
    assert!(machine::measure(&Runner::Reference, 0.01).peaks.is_none());
}

//! Promise: a kernel that ends its process or never ends is one failed case with its reason, and the next one runs.

use std::time::{Duration, Instant};

use holdfast::kernel::cpu::Crash;
use holdfast::kernel::{Backend, CpuBackend, KernelError};
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, Problem, Weights};
use holdfast::tensor::TensorName;
use rayon::prelude::*;
use rstest::rstest;

use crate::support::problems::{Layout, bits, generator};

/// Where the kernels crash.
const WHERE: &str = "block 0, thread 3: ";

fn problem() -> Problem {
    Layout::plain(2, 3, 4, 37).random(&mut generator("crashes"))
}

fn out(backend: &CpuBackend, problem: &Problem) -> Result<Vec<u32>, KernelError> {
    backend.scan(Method::Rk4, problem).map(|output| bits(&output[TensorName::Out].values))
}

fn fault(crash: Crash) -> String {
    match out(&CpuBackend::crashing(crash), &problem()) {
        Err(KernelError::Fault(reason)) => reason,
        other => panic!("{crash:?} is no fault: {other:?}"),
    }
}

#[rstest]
#[case(Crash::StoreNearNull, "signal 11; its last words: block 0, thread 3: an illegal memory access")]
#[case(Crash::StoreFarAway, "signal 11; its last words: block 0, thread 3: an illegal memory access")]
#[case(Crash::Trap, "signal 4; its last words: block 0, thread 3: an illegal instruction")]
#[case(Crash::Abort, "signal 6; its last words: block 0, thread 3: it gave up")]
#[case(Crash::Exit, "exit status: 3")]
#[cfg_attr(
    target_arch = "x86_64",
    case(
        Crash::UnalignedLoad,
        "signal 11; its last words: block 0, thread 3: an unaligned or impossible address"
    ),
    case(Crash::Division, "signal 8; its last words: block 0, thread 3: a division by zero")
)]
fn a_crash_is_one_fault_with_its_reason(#[case] crash: Crash, #[case] how: &str) {
    let want = out(&CpuBackend::new(), &problem()).expect("the kernel runs");
    assert_eq!(fault(crash), format!("the worker process died: {how}"));
    assert_eq!(out(&CpuBackend::new(), &problem()), Ok(want));
}

/// How far it gets before memory ends depends on what lies below the stacks.
#[test]
fn endless_recursion_is_a_fault() {
    let reason = fault(Crash::Recursion);
    assert!(reason.starts_with("the worker process died: signal "), "{reason}");
}

/// What the C library says of it comes first.
#[test]
fn what_a_library_says_before_it_aborts_is_in_the_reason() {
    let reason = fault(Crash::DoubleFree);
    assert!(reason.starts_with("the worker process died: signal 6; its last words: "), "{reason}");
    assert!(reason.contains(WHERE), "{reason}");
    #[cfg(target_env = "gnu")]
    assert!(reason.contains("double free"), "{reason}");
}

#[test]
fn element_wise_kernels_crash_alike() {
    let one = |value: f32| vec![value];
    let problem = CoefficientProblem { weights: Weights::Real, delta: one(0.5), a: one(-2.0), b: one(1.0) };
    let error =
        CpuBackend::crashing(Crash::Trap).coefficients(Method::Zoh, &problem).expect_err("it crashes");
    assert!(error.to_string().starts_with("kernel fault: the worker process died: signal 4"), "{error}");
    let lifted = CpuBackend::crashing(Crash::Trap).lifted_coefficients(Method::Zoh, &problem);
    assert!(matches!(lifted, Some(Err(KernelError::Fault(_)))), "{lifted:?}");
}

#[test]
fn a_kernel_that_never_ends_is_stopped_and_after_two_cases_given_up() {
    let limit = Duration::from_millis(700);
    let backend = CpuBackend::crashing(Crash::EndlessLoop).with_limit(limit);
    let start = Instant::now();
    for _ in 0..2 {
        match out(&backend, &problem()) {
            Err(KernelError::TimedOut(reason)) => {
                assert_eq!(reason, "no result after 0.7 s (hint: HOLDFAST_CASE_SECONDS sets the limit)");
            }
            other => panic!("it was not stopped: {other:?}"),
        }
    }
    assert!(start.elapsed() >= 2 * limit);
    for again in [&backend, &backend.clone()] {
        let reason = "not run: rk4 hung in 2 other cases".to_owned();
        assert_eq!(out(again, &problem()), Err(KernelError::Fault(reason)));
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    // Another backend has not seen it.
    assert!(out(&CpuBackend::new(), &problem()).is_ok());
}

/// How often each is waited for: one that sleeps, and one that is busy beside many that come first.
#[cfg(target_os = "linux")]
#[test]
fn a_busy_machine_is_no_fault_of_a_kernel() {
    use std::cell::Cell;
    use std::process::Command;
    use std::thread;

    use holdfast::kernel::worker::limit;
    use holdfast::leftovers::process::{Process, Usage};

    let spawned = |command: &str| Process::spawn(Command::new("sh").args(["-c", command])).expect("a shell");
    let limit = Duration::from_millis(40);
    let waits = |process: &Process| {
        let count = Cell::new(0);
        let reply = limit::of_its_own_time(process, limit, || -> Option<()> {
            count.set(count.get() + 1);
            thread::sleep(limit);
            None
        });
        assert_eq!(reply, None);
        count.get()
    };
    assert_eq!(waits(&spawned("exec sleep 60")), 1);
    let busy = "while :; do :; done";
    let last_in_line = spawned(&format!("exec nice -n 19 sh -c '{busy}'"));
    let has_begun = |usage: Option<Usage>| usage.is_some_and(|usage| !usage.time.is_zero());
    while !has_begun(last_in_line.usage()) {
        thread::sleep(Duration::from_millis(5));
    }
    let cores = thread::available_parallelism().map_or(2, usize::from);
    let _others: Vec<Process> = (0..2 * cores).map(|_| spawned(busy)).collect();
    assert!(waits(&last_in_line) > 1);
}

#[test]
fn crashes_among_many_threads_stay_with_their_cases() {
    let problem = problem();
    let want = out(&CpuBackend::new(), &problem).expect("the kernel runs");
    let crashes = [Crash::StoreNearNull, Crash::Abort, Crash::Exit, Crash::Recursion];
    let wrong: Vec<String> = (0..80)
        .into_par_iter()
        .filter_map(|i| match i % 4 {
            0 => match out(&CpuBackend::crashing(crashes[i / 4 % 4]), &problem) {
                Err(KernelError::Fault(_)) => None,
                other => Some(format!("case {i} should fail: {other:?}")),
            },
            _ => match out(&CpuBackend::new(), &problem) {
                Ok(got) if got == want => None,
                other => Some(format!("case {i} should pass: {other:?}")),
            },
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// More than the memory that the processes for kernels usually have.
#[test]
fn a_large_problem_finds_room() {
    let large = Layout::plain(1, 64, 1, 100_000).random(&mut generator("large"));
    let all = CpuBackend::new().scan(Method::Zoh, &large).expect("the kernel runs");
    let last = &all[TensorName::Out].values[63 * 100_000..];
    assert!(last.iter().all(|value| value.is_finite()) && last.iter().any(|&value| value != 0.0));
}

/// State and parent of every process.
#[cfg(target_os = "linux")]
fn zombies_of_this_process() -> usize {
    let stat = |entry: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()
    };
    let own = std::process::id().to_string();
    let is_zombie = |stat: &String| {
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        fields.next() == Some("Z") && fields.next() == Some(&own)
    };
    std::fs::read_dir("/proc").expect("a folder").filter_map(stat).filter(is_zombie).count()
}

#[cfg(target_os = "linux")]
#[test]
fn no_process_is_left_behind() {
    for crash in [Crash::Abort, Crash::Exit, Crash::StoreFarAway] {
        fault(crash);
    }
    // Other tests' processes take a moment, too.
    let start = Instant::now();
    while zombies_of_this_process() > 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "{} are left", zombies_of_this_process());
        std::thread::sleep(Duration::from_millis(20));
    }
}

//! What runs the kernels on a CPU catches what would hang or corrupt a GPU; faults can be planted; bad input is an
//! error, not a panic.

use holdfast::kernel::{Backend, CpuBackend, KernelError, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Problem, Weights};
use holdfast::tensor::TensorName;

use crate::support::planted::{FAULTS, affects, planted};
use crate::support::problems::{Layout, bits, generator};

#[test]
fn divergence_and_overflow_are_reported_instead_of_hanging() {
    for (which, message) in [
        (0, "barrier divergence: thread 0 waits at the barrier of line"),
        (1, "barrier divergence: thread 32 is at line"),
        (2, "shuffle with inactive lanes: thread 0 waits in the shuffle of line"),
        (3, "shuffle with inactive lanes: thread 0 waits at the barrier of line"),
        (4, "thread 1 overflowed its stack"),
    ] {
        match CpuBackend::misbehave(which) {
            Err(KernelError::Fault(text)) => {
                assert!(text.contains(message), "kernel {which} was reported as: {text}");
            }
            other => panic!("kernel {which} was not caught: {other:?}"),
        }
    }
    // The machine is as good as new afterwards: 0 + 1 + … + 63.
    assert_eq!(CpuBackend::misbehave(6), Ok("2016".to_owned()));
}

#[test]
fn shared_memory_is_poisoned_before_every_block() {
    assert_eq!(CpuBackend::misbehave(6), Ok("2016".to_owned()));
    let text = CpuBackend::misbehave(5).expect("the kernel runs");
    assert!(text.contains("nan"), "unwritten shared memory read as {text}");
}

#[test]
fn the_lists_of_faults_agree() {
    assert_eq!(CpuBackend::fault_name(0), Some("none"));
    let names: Vec<&str> = (0..).map_while(CpuBackend::fault_name).collect();
    assert!(names.iter().all(|fault| CpuBackend::with_faults(fault, None).is_ok() || *fault == "none"));
    // The kernels count from the first of each block, by the ids of methods.
    for prefix in ["runs-as", "b-bar-of"] {
        let first = names.iter().position(|name| *name == format!("{prefix}-zoh")).expect("in the list");
        let block = Method::ALL.map(|method| format!("{prefix}-{method}"));
        assert_eq!(&names[first..first + block.len()], &block);
    }
    assert!(CpuBackend::with_faults("rk4-is-zoh", None).is_err());
    assert_eq!(CpuBackend::fault_name(1000), None);
    assert_eq!(CpuBackend::fault_name(-1), None);
}

#[test]
fn this_build_has_no_fault_planted() {
    assert_eq!(CpuBackend::planted_fault(), None);
}

fn problem(weights: Weights) -> Problem {
    let mut rng = generator("faults");
    let mut layout = Layout::plain(1, 2, 3, 200);
    layout.weights = weights;
    let mut problem = layout.random(&mut rng);
    // Steps that tell a truncated series from a whole one.
    problem.delta.iter_mut().for_each(|delta| *delta *= 4.0);
    problem
}

#[test]
fn each_fault_changes_the_methods_it_affects_and_no_other() {
    for weights in Weights::ALL {
        let problem = problem(weights);
        for method in Method::ALL {
            let sound = CpuBackend::new().scan(method, &problem).expect("the kernel runs");
            for fault in FAULTS {
                let faulty = planted(fault).scan(method, &problem).expect("the kernel runs");
                let changed = bits(&faulty[TensorName::Out].values) != bits(&sound[TensorName::Out].values);
                assert_eq!(changed, affects(fault, method, weights), "{fault} on {method}, {weights}");
            }
        }
    }
}

#[test]
fn faulty_methods_compute_what_the_fault_says() {
    let problem = problem(Weights::Complex);
    let out = |backend: CpuBackend, method| {
        bits(&backend.scan(method, &problem).expect("the kernel runs")[TensorName::Out].values)
    };
    let sound = |method| out(CpuBackend::new(), method);
    assert_eq!(out(planted("runs-as-zoh"), Method::Rk4), sound(Method::Zoh));
    assert_eq!(out(planted("runs-as-highorder"), Method::Poly), sound(Method::HighOrder));
    assert_eq!(out(planted("runs-as-poly"), Method::HighOrder), sound(Method::Poly));
}

fn unsupported(change: impl FnOnce(&mut Problem)) -> &'static str {
    let mut problem = problem(Weights::Real);
    change(&mut problem);
    let errors = [&CpuBackend::new() as &dyn Backend, &ReferenceBackend].map(|backend| {
        match backend.scan(Method::Zoh, &problem) {
            Err(KernelError::Unsupported { what, .. }) => what,
            other => panic!("{}: expected an error, got {other:?}", backend.name()),
        }
    });
    assert_eq!(errors[0], errors[1]);
    errors[0]
}

#[test]
fn ill_shaped_problems_are_typed_errors() {
    assert_eq!(unsupported(|p| p.shape.seqlen = 0), "seqlen");
    assert_eq!(unsupported(|p| p.shape.dstate = 257), "dstate");
    assert_eq!(unsupported(|p| p.shape.groups = 3), "groups");
    assert_eq!(unsupported(|p| p.shape.groups = 0), "groups");
    assert_eq!(unsupported(|p| p.shape.batch = usize::MAX), "u");
    assert_eq!(unsupported(|p| p.u.truncate(3)), "u");
    assert_eq!(unsupported(|p| p.delta.push(0.0)), "delta");
    assert_eq!(unsupported(|p| p.a.clear()), "A");
    assert_eq!(unsupported(|p| p.b_operand = Operand::Variable), "B");
    assert_eq!(unsupported(|p| p.c.truncate(1)), "C");
    assert_eq!(unsupported(|p| p.d = Some(vec![])), "D");
    assert_eq!(unsupported(|p| p.z = Some(vec![0.0])), "z");
    assert_eq!(unsupported(|p| p.delta_bias = Some(vec![0.0; 3])), "delta_bias");
    assert_eq!(unsupported(|p| p.weights = Weights::Complex), "A");
}

#[test]
fn the_copy_with_faults_says_that_it_takes_f32_only() {
    let mut layout = Layout::plain(1, 1, 1, 4);
    layout.input = InputType::Bf16;
    let problem = layout.random(&mut generator("f32 only"));
    let error = planted("runs-as-zoh").scan(Method::Rk4, &problem).expect_err("no such kernel");
    assert!(error.to_string().contains("expected f32"), "{error}");
}

#[test]
fn the_backend_names_what_it_runs_on() {
    assert_eq!(CpuBackend::new().name(), "cpu");
    assert!(CpuBackend::new().device().contains(std::env::consts::ARCH));
    assert_eq!(holdfast::kernel::production_hash().len(), 64);
}

/// The driver of foreign headers on a GPU takes the production kernels' parameters, and declares them anew: it knows nothing of theirs.
#[test]
fn the_driver_of_headers_declares_the_parameters_of_a_scan() {
    let fields = |file: &str, title: &str| -> Vec<String> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels").join(file);
        let text = std::fs::read_to_string(path).expect("a source file");
        let (_, body) = text.split_once(title).expect("the parameters");
        let (body, _) = body.split_once("};").expect("their end");
        let code = body.lines().filter_map(|line| line.split("//").next());
        let declared =
            code.flat_map(|line| line.split([',', ';'])).filter_map(|one| one.split(' ').next_back());
        declared.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let titles = ["struct ScanOperands {", "struct ScanParams : ScanOperands {"];
    let own = titles.map(|title| fields("launch.cuh", title)).concat();
    assert!(own.len() >= 26 && own.contains(&"chunk_len".to_owned()), "{own:?}");
    assert_eq!(fields("foreign/driver.cuh", "struct ScanParams {"), own);
}

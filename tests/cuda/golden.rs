//! Promise: the kernels still compute what they computed on real hardware. The CPU build of the same source is
//! compared with recorded outputs of a GPU, inside the derived bounds; `holdfast golden` records them.

use std::collections::BTreeSet;
use std::path::Path;

use holdfast::judge::agreement::{Agreement, agreement};
use holdfast::judge::budget;
use holdfast::kernel::golden::{self, FILE, Golden, GoldenCase};
use holdfast::kernel::{Backend, CpuBackend};
use holdfast::method::Method;
use holdfast::problem::plan::Spec;
use holdfast::promise::Contract;
use holdfast::tensor::{TensorName, Tensors};

fn recorded() -> Golden {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/h200").join(FILE);
    let text = std::fs::read_to_string(path).expect("golden/h200 is part of the repository");
    serde_json::from_str(&text).expect("goldens")
}

fn compare(case: &GoldenCase, spec: &Spec, change: impl FnOnce(&mut Tensors<f32>)) -> Agreement {
    let method: Method = case.method.parse().expect("a method");
    let problem = spec.draw(golden::SEED);
    assert_eq!(
        case.inputs,
        golden::input_hash(&problem),
        "{}: other inputs than were recorded",
        case.problem
    );
    let mut want = case.output(&problem).expect("hexadecimal floats");
    assert_eq!(want[TensorName::Out].values.len(), problem.shape.sequence_len());
    change(&mut want);
    let got = CpuBackend::new().scan(method, &problem).expect("the kernel runs");
    agreement(&problem, &got, &want, &budget::scan(method, &problem, &Contract::PRODUCTION))
}

#[test]
fn the_cpu_run_agrees_with_what_the_gpu_computed() {
    let golden = recorded();
    let specs = golden::specs();
    let mut total = Agreement::default();
    let mut seen = BTreeSet::new();
    for case in &golden.cases {
        let spec =
            specs.iter().find(|spec| spec.id() == case.problem).expect("a recorded problem is planned");
        let found = compare(case, spec, |_| ());
        assert!(
            found.ratio <= 1.0,
            "{}/{}: {:.3} of the bounds apart",
            case.problem,
            case.method,
            found.ratio
        );
        total.add(found);
        assert!(seen.insert((case.problem.clone(), case.method.clone())), "{} twice", case.problem);
    }
    assert_eq!(seen.len(), specs.len() * Method::ALL.len(), "cases are missing");
    println!(
        "{}: at most {:.3} of the bounds apart, {} of {} values equal in all bits",
        golden.provenance.device, total.ratio, total.equal, total.values
    );
    for text in [&golden.provenance.flags, &golden.provenance.kernel_source, &golden.provenance.device] {
        assert!(!text.is_empty());
    }
}

/// Without this, a comparison that looks at nothing would pass.
#[test]
fn a_drift_would_show() {
    let spec = golden::specs().into_iter().next().expect("a problem");
    let problem = spec.draw(golden::SEED);
    for method in Method::ALL {
        let output = CpuBackend::new().scan(method, &problem).expect("the kernel runs");
        let budget = budget::scan(method, &problem, &Contract::PRODUCTION);
        let same = agreement(&problem, &output, &output, &budget);
        assert_eq!((same.ratio, same.equal), (0.0, same.values));
        let mut drifted = output.clone();
        for value in &mut drifted[TensorName::Out].values {
            *value *= 1.0 + 1e-4;
        }
        assert!(agreement(&problem, &output, &drifted, &budget).ratio > 1.0, "{method}");
    }
}

#[test]
fn goldens_cover_every_kernel_family() {
    let specs = golden::specs();
    let count = |test: &dyn Fn(&Spec) -> bool| specs.iter().filter(|spec| test(spec)).count();
    use holdfast::problem::{InputType, Operand, Weights};
    for weights in Weights::ALL {
        for input in InputType::ALL {
            for gate in [false, true] {
                assert!(
                    count(&|s| s.weights == weights && s.input == input && s.regime.recipe.gate == gate) > 0,
                    "{weights} {input} gate {gate}"
                );
            }
        }
        for (b, c) in Operand::ALL.into_iter().flat_map(|b| Operand::ALL.map(|c| (b, c))) {
            assert!(count(&|s| s.weights == weights && s.b == b && s.c == c) > 0, "{weights} b {b} c {c}");
        }
    }
}

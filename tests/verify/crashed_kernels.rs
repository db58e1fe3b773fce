//! Promise: a kernel that crashes or never ends fails where it does, everywhere that a reader looks, and the run goes on.

use std::fs;
use std::time::Duration;

use holdfast::kernel::cpu::Crash;
use holdfast::kernel::{Backend, Coefficients, CpuBackend, KernelError};
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{CoefficientProblem, Problem, Weights, regime};
use holdfast::report;
use holdfast::results::{Results, Verdict};
use holdfast::tensor::{ElementType, Tensors};
use holdfast::verify::Request;
use rstest::rstest;

use crate::support::run::{method_of, verify};

/// The production kernels, but one of them crashes: foh with complex weights and f16 inputs.
struct OneCrashes {
    sound: CpuBackend,
    crashing: CpuBackend,
}

impl Backend for OneCrashes {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        self.sound.device()
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>, KernelError> {
        let crashes = crashes(method, problem.weights, problem.input.into());
        if crashes { &self.crashing } else { &self.sound }.scan(method, problem)
    }

    fn coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Result<Coefficients, KernelError> {
        self.sound.coefficients(method, problem)
    }
}

fn crashes(method: Method, weights: Weights, input: ElementType) -> bool {
    (method, weights, input) == (Method::Foh, Weights::Complex, ElementType::F16)
}

fn run(crash: Crash) -> Results {
    let crashing = CpuBackend::crashing(crash).with_limit(Duration::from_millis(500));
    let filter = Filter { regimes: vec![regime::find("short").expect("a regime")], ..Filter::default() };
    let request = Request { filter, sensitivity: false, ..Request::everything(1) };
    verify(&request, &OneCrashes { sound: CpuBackend::new(), crashing })
}

#[rstest]
#[case(Crash::StoreFarAway, "the worker process died: signal 11; its last words: block 0, thread 3: ")]
#[case(Crash::Abort, "the worker process died: signal 6; its last words: block 0, thread 3: ")]
#[case(Crash::EndlessLoop, "no result after 0.5 s")]
fn a_crash_fails_its_own_cases_in_every_report(#[case] crash: Crash, #[case] reason: &str) {
    let results = run(crash);
    let (failed, rest): (Vec<_>, Vec<_>) =
        results.cases.iter().partition(|case| crashes(method_of(case), case.weights, case.input));
    assert!(!failed.is_empty() && rest.len() > 10 * failed.len(), "{} of {}", failed.len(), rest.len());
    for case in &failed {
        assert_eq!(case.verdict, Verdict::Fail, "{}", case.id);
        let given_up = crash == Crash::EndlessLoop && case.reason.contains("not run: foh hung in 2 other");
        let said = case.reason.starts_with(&format!("kernel fault: {reason}"));
        assert!(said || given_up, "{}: {}", case.id, case.reason);
    }
    for case in rest {
        assert_eq!(case.verdict, Verdict::Pass, "{}: {}", case.id, case.reason);
    }
    // The command line's exit status is 1 then.
    assert_eq!(results.verdict(), Verdict::Fail);

    let home = tempfile::tempdir().expect("a temporary directory");
    let written = report::write(&results, &home.path().join("report")).expect("writable");
    let page = fs::read_to_string(&written.html).expect("a page");
    let json = fs::read_to_string(written.html.with_file_name("results.json")).expect("results");
    let console = report::console::render(&results, None, false);
    for (name, text) in [("page", page), ("results.json", json), ("console", console)] {
        // Lines may be broken between words.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(reason.trim()), "the {name} does not say why");
    }
}

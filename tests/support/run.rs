//! Runs of one test program: each problem's truth is solved for the first of them.

use std::sync::LazyLock;

use holdfast::kernel::Backend;
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{InputType, Operand};
use holdfast::results::{CaseResult, Results};
use holdfast::verify::{Known, Request, verify_knowing};

/// Of a case whose kernel ran here, and so has a method.
pub fn method_of(case: &CaseResult) -> Method {
    case.method.method().expect("no kernel here computes a textbook form")
}

/// Of each regime and type of weights the problem in f32 that has B and C at every position.
pub fn in_one_layout() -> Filter {
    let (inputs, variable) = (vec![InputType::F32], vec![Operand::Variable]);
    Filter { inputs, b: variable.clone(), c: variable, ..Filter::default() }
}

/// What a run has found out of its problems, for the next one.
pub fn known() -> &'static Known {
    static KNOWN: LazyLock<Known> = LazyLock::new(Known::keeping);
    &KNOWN
}

pub fn verify(request: &Request, backend: &dyn Backend) -> Results {
    verify_knowing(known(), request, backend, &|| {})
}

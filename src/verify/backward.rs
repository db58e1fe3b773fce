//! Backward passes of planned problems through kernel, bounds and judge.

use super::{Request, place};
use crate::case;
use crate::formula::Form;
use crate::judge::budget::gradient::Pass;
use crate::judge::scan::{self, Place};
use crate::kernel::Backend;
use crate::method::Method;
use crate::problem::plan::Spec;
use crate::results::{BACKWARD, CaseResult};

/// The id of a method's backward pass on a problem.
pub fn id(spec: &Spec, method: Method) -> String {
    format!("{}/{method}{BACKWARD}", spec.id())
}

/// The verdict on each method's backward pass; none of a backend that has no backward pass.
pub fn solve(request: &Request, backend: &dyn Backend, spec: &Spec) -> Vec<CaseResult> {
    let problem = spec.draw(request.seed);
    let given = spec.draw_given(&problem, request.seed);
    let (inputs, contract) = (problem.fingerprint(), backend.promise().contract);
    let judged = |&method: &Method| {
        let usual = place(request, backend, spec, method);
        let rerun = format!("{} --pass backward", usual.rerun);
        let place = Place { id: id(spec, method), inputs: inputs.clone(), rerun, ..usual };
        let got = match backend.gradients(method, &problem, &given)? {
            Ok(got) => got,
            Err(error) => return Some(case::without_output(method, &problem, place, &error)),
        };
        let pass = Pass { form: Form::Method(method), problem: &problem, given: &given, contract: &contract };
        Some(scan::case(method, &problem, place, case::gradients(pass, &got, &|| {})))
    };
    request.methods.iter().filter_map(judged).collect()
}

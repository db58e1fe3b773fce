//! Backward passes of planned problems through kernel, bounds and judge.

use super::{Passes, Request, place};
use crate::case;
use crate::formula::Form;
use crate::judge::budget::gradient::Pass;
use crate::judge::scan::{self, Place};
use crate::kernel::Backend;
use crate::problem::plan::Spec;
use crate::results::CaseResult;

/// The verdict on each method's backward pass; none of a backend that has no backward pass.
pub fn solve(request: &Request, backend: &dyn Backend, spec: &Spec) -> Vec<CaseResult> {
    let problem = spec.draw(request.seed);
    let given = spec.draw_given(&problem, request.seed);
    let (inputs, contract) = (problem.fingerprint(), backend.promise().contract);
    let judged = |&method| {
        let usual = place(request, backend, spec, method, Passes::Backward);
        let place = Place { inputs: inputs.clone(), ..usual };
        let got = match backend.gradients(method, &problem, &given)? {
            Ok(got) => got,
            Err(error) => return Some(case::without_output(method, &problem, place, &error)),
        };
        let pass = Pass { form: Form::Method(method), problem: &problem, given: &given, contract: &contract };
        Some(scan::case(method, &problem, place, case::gradients(pass, &got, &|| {})))
    };
    request.methods.iter().filter_map(judged).collect()
}

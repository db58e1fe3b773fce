//! Backward passes of planned problems through kernel, bounds and judge.

use super::{Passes, Request, place, precision};
use crate::case;
use crate::judge::budget::gradient::Pass;
use crate::judge::scan::{self, Place};
use crate::judge::{budget, profile, relative};
use crate::kernel::{Backend, KernelError, ReferenceBackend};
use crate::method::Method;
use crate::problem::plan::Spec;
use crate::results::Verdict;
use crate::results::whole::Found;
use crate::tensor::{Gradients, Named};

/// What of a problem's gradients is shown, although nothing fails.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// The errors along the sequence.
    pub sequences: bool,
    /// The matrices of methods.
    pub matrices: bool,
    /// The lifted run.
    pub lifted: bool,
    /// How small an error is caught.
    pub sensitivity: bool,
}

/// The verdict on each method's backward pass, and how far apart they are; none of a backend that has no backward pass.
pub fn solve(request: &Request, backend: &dyn Backend, spec: &Spec, shown: Shown) -> Found {
    let problem = spec.draw(request.seed);
    let given = spec.draw_given(&problem, request.seed);
    let Some(contract) = backend.promise().backward else { return Found::default() };
    let inputs = problem.fingerprint();
    type Run = Result<Gradients<f32>, KernelError>;
    let run = |&method: &Method| Some((method, backend.gradients(method, &problem, &given)?));
    let runs: Vec<(Method, Run)> = request.methods.iter().filter_map(run).collect();
    let compares = runs.len() > 1 && runs.iter().any(|(_, run)| run.is_ok());
    let lifts = backend.promise().lifted_is_judged && precision::lifts_gradients(&problem);
    let always_lifts = lifts && shown.lifted;
    let measures = shown.sensitivity && precision::measures_gradients(&problem);
    let (mut found, mut passes) = (Found::default(), Vec::new());
    for (method, run) in &runs {
        let usual = place(request, backend, spec, *method, Passes::Backward);
        let place = Place { inputs: inputs.clone(), ..usual };
        let pass = Pass { form: (*method).into(), problem: &problem, given: &given, contract: &contract };
        let got = match run {
            Ok(got) => got,
            Err(error) => {
                found.cases.push(case::without_output(*method, &problem, place, error));
                if compares {
                    let budget = budget::gradient::bounds(pass);
                    let want =
                        budget.tensors.map(|name, bounds| problem.gradient(name, bounds.value.clone()));
                    let none = Named::default();
                    passes.push(case::outputs_of_gradients(*pass.form, None, &none, &(want, budget)));
                }
                continue;
            }
        };
        let judged = case::gradients(pass, got, true, &|| {});
        let mut case = scan::case(*method, &problem, place, judged.tensors.clone());
        if let Some(known) = &judged.known {
            let reference = ReferenceBackend.gradients(*method, &problem, &given).and_then(Result::ok);
            if let Some(reference) = &reference {
                let (want, budget) = known;
                let zeta = contract.z_roundings;
                case::gate(&mut case, relative::gradients(&problem, got, reference, want, budget, zeta));
            }
            // What fails without an error does not say how large one has to be.
            if measures && case.verdict == Verdict::Pass {
                let measured =
                    precision::gradient_sensitivity(spec, *method, pass, got, reference.as_ref(), known);
                found.gradient_sensitivity.push(measured);
            }
            if always_lifts || lifts && case.verdict == Verdict::Fail {
                let bounds = &known.1.tensors;
                case.lifted = precision::lifted_gradients(backend, pass, case.verdict, got, bounds);
            }
            if shown.sequences {
                let wide = case::widened(got);
                for (name, got, want) in wide.zip(&known.0).filter(|(name, ..)| problem.varies(*name)) {
                    let (id, bounds) = ((*method, &*case.id, name.into()), &known.1.tensors[name]);
                    found.sequences.push(profile::of_gradient(id, &problem, got, want, bounds));
                }
            }
            if compares {
                passes.push(case::outputs_of_gradients(*pass.form, Some(got), &judged.tensors, known));
            }
        }
        found.cases.push(case);
    }
    let (regime, id) = (&*spec.regime.name, spec.id());
    let compared = case::Compared { problem: &problem, source: backend.name(), regime, id: &id };
    found.add_gradients(compared.gradients(passes), shown.matrices);
    found
}

//! Ā and B̄ of dense systems, scans with them and the gradients of these, over their regimes.

use std::sync::Arc;

use super::{Passes, Request, one_of_both};
use crate::case::{self, Compared, dense as dense_case};
use crate::judge::budget::gradient::Pass;
use crate::judge::diagnose::Case;
use crate::judge::scan::{self, Place};
use crate::judge::{budget, dense, explain};
use crate::kernel::{Backend, KernelError};
use crate::method::Method;
use crate::problem::Problem;
use crate::problem::dense::DenseRegime;
use crate::promise::{DensePromise, Promise};
use crate::results::explained;
use crate::results::whole::Found;
use crate::results::{BACKWARD, CaseResult, DENSE, PairTotals, Verdict};
use crate::tensor::Tensors;
use crate::truth;

/// Cases of a method: its steps, its scan, and the scan's gradients.
pub fn ids(regime: &DenseRegime, method: Method) -> [String; 3] {
    let unit = unit(regime);
    [format!("{unit}/{method}"), format!("{unit}/scan/{method}"), format!("{unit}/scan/{method}{BACKWARD}")]
}

/// The id of all methods' cases together.
pub fn unit(regime: &DenseRegime) -> String {
    format!("{DENSE}{}/{}", regime.name, regime.weights)
}

/// Where a case of a regime stands.
fn place(
    (request, backend): (&Request, &dyn Backend),
    regime: &DenseRegime,
    (method, pass): (Method, Passes),
    id: String,
    inputs: String,
) -> Place {
    let one_of_both = one_of_both(backend.promise(), pass);
    Place {
        id,
        regime: regime.title(),
        inputs,
        backend: backend.name().to_owned(),
        rerun: format!(
            "holdfast verify --dense --method {method} --weights {} --backend {} --seed {}{one_of_both}{}",
            regime.weights,
            backend.name(),
            request.seed,
            request.rerun
        ),
    }
}

fn none() -> KernelError {
    KernelError::Unavailable("it has no kernel of dense systems".to_owned())
}

/// The verdict on each method's steps and scan, and how far apart the steps are.
pub fn solve(request: &Request, backend: &dyn Backend, promise: DensePromise, regime: &DenseRegime) -> Found {
    let problem = regime.draw(request.seed);
    let place = |id: String, inputs: &str, method: Method| {
        place((request, backend), regime, (method, Passes::Forward), id, inputs.to_owned())
    };
    let inputs = problem.fingerprint();
    let all: Vec<usize> = (0..problem.delta.len()).collect();
    let systems = dense_case::systems(&problem, &all, promise);
    let mut outputs = Vec::new();
    let judged = |&method: &Method| {
        let [id, ..] = ids(regime, method);
        let place = place(id, &inputs, method);
        match backend.dense(method, &problem).unwrap_or_else(|| Err(none())) {
            Ok(got) => {
                let wanted = dense_case::wanted(method.into(), &problem, &systems, systems.len());
                let (wanted, got) = (wanted.as_ref(), dense::stored(&got));
                outputs.extend(wanted.ok().map(|wanted| dense_case::outputs(wanted, &got, all.len())));
                let mut case = dense_case::judge((method.into(), &problem), place, wanted, &got);
                if let (Ok(wanted), Verdict::Fail) = (wanted, case.verdict)
                    && let Some(work) = request.diagnosis.begin().of_case(&[])
                {
                    dense_case::explain(&mut case, wanted, &got, &work);
                }
                case
            }
            Err(error) => {
                let (verdict, reason) = (case::verdict_of(&error), error.to_string());
                scan::without_output(method, dense_case::described(&problem), place, verdict, reason)
            }
        }
    };
    let mut cases: Vec<CaseResult> = request.methods.iter().map(judged).collect();
    let scanned = regime.scan(request.seed);
    let inputs = scanned.fingerprint();
    let judged = |&method: &Method| {
        let [_, id, _] = ids(regime, method);
        let got = backend.dense_scan(method, &scanned).unwrap_or_else(|| Err(none()));
        judge_scan(request, (method, &scanned), place(id, &inputs, method), (backend.promise(), &got))
    };
    cases.extend(request.methods.iter().map(judged));
    let (regime, id) = (&regime.title(), &unit(regime));
    let compared = Compared { problem: &problem, source: backend.name(), regime, id };
    let matrices = compared.coefficients(&all, outputs);
    let pairs = PairTotals::of_passes(matrices.iter().flatten());
    Found { cases, matrices, pairs, ..Found::default() }
}

/// The verdict on the gradients of each method's scan; none of a backend that has no backward pass.
pub fn solve_backward(request: &Request, backend: &dyn Backend, regime: &DenseRegime) -> Found {
    let (problem, given) = regime.backward(request.seed);
    let Some(contract) = backend.promise().backward else { return Found::default() };
    let inputs = problem.fingerprint();
    let judged = |&method: &Method| {
        let [.., id] = ids(regime, method);
        let place = place((request, backend), regime, (method, Passes::Backward), id, inputs.clone());
        match backend.gradients(method, &problem, &given).unwrap_or_else(|| Err(none())) {
            Ok(got) => {
                let pass =
                    Pass { form: method.into(), problem: &problem, given: &given, contract: &contract };
                scan::case(method, &problem, place, case::gradients(pass, &got, false, &|| {}).tensors)
            }
            Err(error) => case::without_output(method, &problem, place, &error),
        }
    };
    Found { cases: request.methods.iter().map(judged).collect(), ..Found::default() }
}

/// The verdict on a scan, and what it is computed as where it fails.
fn judge_scan(
    request: &Request,
    (method, problem): (Method, &Problem),
    place: Place,
    (promise, got): (Promise, &Result<Tensors<f32>, KernelError>),
) -> CaseResult {
    let truth = truth::scan::solve(problem, &[method]).map(|mut truths| truths.swap_remove(0).tensors);
    let budget = Arc::new(budget::scan(method, problem, &promise.contract));
    let known = truth.as_ref().map(|want| (want, Arc::clone(&budget)));
    let (mut case, _) = case::judge((method, problem), place, promise, known, got.as_ref());
    let work = request.diagnosis.begin().of_case(&[]).filter(|_| case.verdict == Verdict::Fail);
    if let (Ok(want), Ok(got), Some(work)) = (&truth, got, work) {
        let got = &problem.judged(got);
        let failed = Case { form: method.into(), problem, got, want, budget: &budget, work: &work };
        let found = explain::explained(&failed, &explained::failing_outputs(&case));
        explained::diagnosed(&mut case, found);
    }
    case
}

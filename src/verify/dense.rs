//! Ā and B̄ of dense systems, over their regimes.

use super::Request;
use crate::case;
use crate::judge::dense::{self, System};
use crate::judge::scan::{self, Described, Place};
use crate::kernel::{Backend, KernelError};
use crate::method::Method;
use crate::problem::dense::{DenseProblem, DenseRegime};
use crate::problem::{InputType, Operand, Shape};
use crate::promise::DensePromise;
use crate::results::{CaseResult, DENSE, Verdict};
use crate::truth::{TruthError, dense_systems};

pub fn id(regime: &DenseRegime, method: Method) -> String {
    format!("{}/{method}", unit(regime))
}

/// The id of all methods' cases together.
pub fn unit(regime: &DenseRegime) -> String {
    format!("{DENSE}{}/{}", regime.name, regime.weights)
}

/// The verdict on each method.
pub fn solve(
    request: &Request,
    backend: &dyn Backend,
    promise: DensePromise,
    regime: &DenseRegime,
) -> Vec<CaseResult> {
    let problem = regime.draw(request.seed);
    let inputs = problem.fingerprint();
    let systems: Vec<System> = (0..problem.delta.len()).map(|i| System::new(&problem, i, promise)).collect();
    let judged = |&method: &Method| {
        let place = Place {
            id: id(regime, method),
            regime: regime.title(),
            inputs: inputs.clone(),
            backend: backend.name().to_owned(),
            rerun: format!(
                "holdfast verify --dense --method {method} --weights {} --backend {} --seed {}{}",
                regime.weights,
                backend.name(),
                request.seed,
                request.rerun
            ),
        };
        let none = || Err(KernelError::Unavailable("it has no kernel of dense systems".to_owned()));
        let got = backend.dense(method, &problem).unwrap_or_else(none);
        match got.map_err(|error| (case::verdict_of(&error), error.to_string())).and_then(|got| {
            let unmeasured = |error: TruthError| (Verdict::Unmeasured, error.to_string());
            Ok((got, dense_systems::solve(method, &problem).map_err(unmeasured)?))
        }) {
            Ok((got, want)) => {
                let tensors = dense::judge(method, &problem, &systems, &got, &want);
                scan::case(method, described(&problem), place, tensors)
            }
            Err((verdict, reason)) => {
                scan::without_output(method, described(&problem), place, verdict, reason)
            }
        }
    };
    request.methods.iter().map(judged).collect()
}

/// Systems are in the place of channels, and none has a sequence.
fn described(problem: &DenseProblem) -> Described {
    let shape = Shape { batch: 1, dim: problem.delta.len(), dstate: problem.n, seqlen: 1, groups: 1 };
    let (b, c) = (Operand::Constant, Operand::Constant);
    Described { shape, weights: problem.weights, input: InputType::F32, b, c }
}

//! Ā and B̄ of dense systems, over their regimes.

use super::Request;
use crate::case::{self, Compared, dense as dense_case};
use crate::judge::dense;
use crate::judge::scan::{self, Place};
use crate::kernel::{Backend, KernelError};
use crate::method::Method;
use crate::problem::dense::DenseRegime;
use crate::promise::DensePromise;
use crate::results::whole::Found;
use crate::results::{DENSE, PairTotals, Verdict};

pub fn id(regime: &DenseRegime, method: Method) -> String {
    format!("{}/{method}", unit(regime))
}

/// The id of all methods' cases together.
pub fn unit(regime: &DenseRegime) -> String {
    format!("{DENSE}{}/{}", regime.name, regime.weights)
}

/// The verdict on each method, and how far apart they are.
pub fn solve(request: &Request, backend: &dyn Backend, promise: DensePromise, regime: &DenseRegime) -> Found {
    let problem = regime.draw(request.seed);
    let inputs = problem.fingerprint();
    let all: Vec<usize> = (0..problem.delta.len()).collect();
    let systems = dense_case::systems(&problem, &all, promise);
    let mut outputs = Vec::new();
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
        match backend.dense(method, &problem).unwrap_or_else(none) {
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
    let cases = request.methods.iter().map(judged).collect();
    let (regime, id) = (&regime.title(), &unit(regime));
    let compared = Compared { problem: &problem, source: backend.name(), regime, id };
    let matrices = compared.coefficients(&all, outputs);
    let pairs = PairTotals::of_passes(matrices.iter().flatten());
    Found { cases, matrices, pairs, ..Found::default() }
}

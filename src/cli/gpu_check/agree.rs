//! CUDA and CPU runs of the same kernels, against each other: both lie within a bound of the truth, so they lie
//! within twice that bound of each other.

use rayon::prelude::*;

use super::{Finding, device_finding};
use crate::judge::agreement::{Agreement, agreement};
use crate::judge::budget;
use crate::kernel::cuda::CudaBackend;
use crate::kernel::{Backend, CpuBackend};
use crate::method::Method;
use crate::problem::InputType;
use crate::problem::plan::{self, Filter};
use crate::promise::Contract;

pub fn run(backend: &CudaBackend, input: Option<InputType>) -> Vec<Finding> {
    let specs = plan::plan(&Filter { inputs: input.into_iter().collect(), ..Filter::default() });
    let found: Vec<(Method, String, Result<Agreement, String>)> = specs
        .par_iter()
        .flat_map_iter(|spec| {
            let problem = spec.draw(1);
            Method::ALL.map(|method| {
                let both = backend.scan(method, &problem).and_then(|got| {
                    let want = CpuBackend::new().scan(method, &problem)?;
                    Ok(agreement(
                        &problem,
                        &got,
                        &want,
                        &budget::scan(method, &problem, &Contract::PRODUCTION),
                    ))
                });
                (method, spec.id(), both.map_err(|error| error.to_string()))
            })
        })
        .collect();
    let mut rows = vec![device_finding(backend)];
    for method in Method::ALL {
        let mut total = Agreement::default();
        let mut trouble = Vec::new();
        let mut cases = 0;
        for (_, id, outcome) in found.iter().filter(|(m, _, _)| *m == method) {
            cases += 1;
            match outcome {
                Ok(agreement) => {
                    if agreement.ratio > 1.0 {
                        trouble.push(format!("{id}: {:.2} of the bounds", agreement.ratio));
                    }
                    total.add(*agreement);
                }
                Err(error) => trouble.push(format!("{id}: {error}")),
            }
        }
        let figure = match trouble.first() {
            Some(first) => format!("{} of {cases} problems disagree; {first}", trouble.len()),
            None => format!(
                "{cases} problems: at most {:.3} of the bounds apart, {:.2}% of {} values equal in all bits",
                total.ratio,
                100.0 * total.equal as f64 / total.values.max(1) as f64,
                total.values
            ),
        };
        rows.push(Finding {
            what: method.to_string(),
            passed: trouble.is_empty() && total.values > 0,
            figure,
        });
    }
    rows
}

//! Scans on a GPU against those on the CPU, against the truth, and beside faults.

use std::time::Instant;

use rayon::prelude::*;

use super::{Args, Finding, MAMBA_1_4B, device_finding, mamba, same_bits};
use crate::judge::agreement::{Agreement, agreement};
use crate::judge::{budget, scan};
use crate::kernel::cuda::CudaBackend;
use crate::kernel::registry::Misbehaviour;
use crate::kernel::{Backend, CpuBackend, KernelError};
use crate::method::Method;
use crate::problem::plan::{self, Filter};
use crate::problem::{InputType, Operand, Problem, Shape, Weights};
use crate::promise::Contract;
use crate::results::Verdict;
use crate::tensor::TensorName;
use crate::truth;
use crate::truth::scan::ScanTruth;

/// CUDA and CPU runs of the same kernels, against each other: both lie within a bound of the truth, so they lie within
/// twice that bound of each other.
pub fn agree(backend: &CudaBackend, input: Option<InputType>) -> Vec<Finding> {
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

/// Planted faults: each must fail its own case, with its reason, and leave the next one alone.
pub fn faults(backend: &CudaBackend) -> Vec<Finding> {
    let shape = Shape { batch: 2, dim: 3, dstate: 4, seqlen: 37, groups: 1 };
    let layout = (Operand::Variable, Operand::Variable);
    let problem = mamba("gpu-check/faults", shape, Weights::Real, InputType::F32, layout, false);
    let mut rows = vec![device_finding(backend)];
    let want = match backend.scan(Method::Zoh, &problem) {
        Ok(output) => output[TensorName::Out].values.clone(),
        Err(error) => return vec![Finding::new("a case without a fault", Err(error))],
    };
    for which in Misbehaviour::ALL {
        let start = Instant::now();
        let outcome = backend.misbehave(which, &problem);
        let seconds = start.elapsed().as_secs_f64();
        let after = backend.scan(Method::Zoh, &problem);
        let next_runs = after.as_ref().is_ok_and(|output| same_bits(&output[TensorName::Out].values, &want));
        let (caught, reason) = match outcome {
            Err(KernelError::Fault(reason)) => (true, reason),
            Err(error) => (false, format!("another error: {error}")),
            Ok(_) => (false, "not noticed".to_owned()),
        };
        let next = match after {
            Ok(_) if next_runs => "the next case runs".to_owned(),
            Ok(_) => "the next case is wrong".to_owned(),
            Err(error) => format!("the next case fails: {error}"),
        };
        rows.push(Finding {
            what: format!("{which:?}"),
            passed: caught && next_runs,
            figure: format!("{seconds:.1} s: {reason}; {next}"),
        });
    }
    rows
}

/// The shape of Mamba-1 1.4B at full size, a few channels of it judged against the truth.
pub fn full_size(backend: &dyn Backend, args: &Args) -> Vec<Finding> {
    // The stand-in would take hours.
    let shape =
        if args.stand_in { Shape { batch: 1, dim: 8, seqlen: 300, ..MAMBA_1_4B } } else { MAMBA_1_4B };
    let mut rows = vec![device_finding(backend)];
    for input in [InputType::F32, InputType::Bf16] {
        if args.input.is_some_and(|only| only != input) {
            continue;
        }
        let layout = (Operand::Variable, Operand::Variable);
        let problem = mamba("gpu-check/full-size", shape, Weights::Real, input, layout, true);
        match truth::scan::solve(&problem, &Method::ALL) {
            Ok(truths) => rows.extend(truths.iter().map(|truth| judged(backend, &problem, truth))),
            Err(error) => rows.push(Finding::new(format!("{input} {shape}: truth"), Err(error))),
        }
    }
    rows
}

fn judged(backend: &dyn Backend, problem: &Problem, truth: &ScanTruth) -> Finding {
    let method = truth.method;
    let what = format!("{method} {} {}", problem.input, problem.shape);
    let start = Instant::now();
    let output = match backend.scan(method, problem) {
        Ok(output) => output,
        Err(error) => return Finding::new(what, Err(error)),
    };
    let seconds = start.elapsed().as_secs_f64();
    let budget = budget::scan(method, problem, &Contract::PRODUCTION);
    let tensors = scan::judge(method, problem, &output, &truth.tensors, &budget);
    let verdict = scan::verdict(&tensors);
    let judged: usize = tensors.values().map(|tensor| tensor.judged).sum();
    let worst = tensors.values().filter_map(|tensor| Some(tensor.worst.as_ref()?.ratio)).fold(0.0, f64::max);
    let max_ulp = tensors[TensorName::Out].max_ulp;
    let finite = output[TensorName::Out].values.iter().all(|value| value.is_finite());
    Finding {
        what,
        passed: verdict == Verdict::Pass && finite,
        figure: format!(
            "{judged} values judged, worst {:.3} of the bound, {max_ulp:.1} ulp; all values finite: {finite}; \
             {seconds:.1} s with both copies",
            worst
        ),
    }
}

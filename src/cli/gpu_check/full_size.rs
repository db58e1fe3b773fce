//! The shape of Mamba-1 1.4B at full size, a few channels of it judged against the truth.

use std::time::Instant;

use super::{Args, Finding, MAMBA_1_4B, device_finding, mamba};
use crate::judge::{budget, scan};
use crate::kernel::Backend;
use crate::method::Method;
use crate::problem::{InputType, Operand, Problem, Shape, Weights};
use crate::promise::Contract;
use crate::results::Verdict;
use crate::tensor::TensorName;
use crate::truth;
use crate::truth::scan::ScanTruth;

pub fn run(backend: &dyn Backend, args: &Args) -> Vec<Finding> {
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

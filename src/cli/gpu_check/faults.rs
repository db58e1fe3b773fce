//! Planted faults: each must fail its own case, with its reason, and leave the next one alone.

use std::time::Instant;

use super::{Finding, device_finding, mamba, same_bits};
use crate::kernel::cuda::CudaBackend;
use crate::kernel::registry::Misbehaviour;
use crate::kernel::{Backend, KernelError};
use crate::method::Method;
use crate::problem::{InputType, Operand, Shape, Weights};
use crate::tensor::TensorName;

pub fn run(backend: &CudaBackend) -> Vec<Finding> {
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

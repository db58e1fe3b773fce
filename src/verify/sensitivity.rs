//! Plants smaller and smaller errors in the kernels' coefficients, and sees which the verdict catches.

use crate::case::SolvedCase;
use crate::judge::scan;
use crate::judge::sensitivity::smallest_caught;
use crate::kernel::CpuBackend;
use crate::problem::plan::Spec;
use crate::results::Sensitivity;
use crate::tensor::Tensors;

/// The smallest errors of Ā and of B̄ that fail this case. Truth, bounds and the reference's error are those of the case;
/// only the kernel runs again, some six times each, over the judged channels.
pub fn of_case(spec: &Spec, case: &SolvedCase, reference: Option<&Tensors<f64>>) -> Sensitivity {
    let fails = |backend: CpuBackend| {
        let Ok(got) = backend.scan_judged(case.method, case.problem) else { return false };
        let relative = reference.and_then(|reference| case.relative(&got, reference));
        !scan::within(&got, case.want, &case.budget) || relative.is_some_and(|relative| !relative.passes())
    };
    Sensitivity {
        method: case.method,
        weights: spec.weights,
        regime: spec.regime.name.clone(),
        problem: spec.id(),
        a_bar: smallest_caught(|size| fails(CpuBackend::perturbed(size, 0.0))),
        b_bar: smallest_caught(|size| fails(CpuBackend::perturbed(0.0, size))),
    }
}

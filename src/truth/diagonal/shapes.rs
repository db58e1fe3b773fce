//! Whether a problem's tensors have the shapes of spec.md §3 and hold only finite numbers.

use super::coefficient::check_tensor;
use crate::problem::{Operand, Problem, Shape};
use crate::truth::error::TruthError;

pub(super) fn validate(problem: &Problem) -> Result<(), TruthError> {
    let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
    let mismatch = |what, expected: String, found: String| TruthError::Shape { what, expected, found };
    for (what, size) in [("batch", batch), ("dim", dim), ("dstate", dstate), ("seqlen", seqlen)] {
        if size == 0 {
            return Err(mismatch(what, "at least 1".into(), "0".into()));
        }
    }
    if groups == 0 || dim % groups != 0 {
        return Err(mismatch("groups", format!("a divisor of dim = {dim}"), groups.to_string()));
    }
    let width = problem.weights.width();
    let sequence = batch * dim * seqlen;
    let operand = |operand| match operand {
        Operand::Constant => dim * dstate * width,
        Operand::Variable => batch * groups * dstate * seqlen * width,
    };
    check_tensor("u", &problem.u, sequence)?;
    check_tensor("delta", &problem.delta, sequence)?;
    check_tensor("A", &problem.a, dim * dstate * width)?;
    check_tensor("B", &problem.b, operand(problem.b_operand))?;
    check_tensor("C", &problem.c, operand(problem.c_operand))?;
    for (what, tensor, expected) in
        [("D", &problem.d, dim), ("z", &problem.z, sequence), ("delta_bias", &problem.delta_bias, dim)]
    {
        if let Some(values) = tensor {
            check_tensor(what, values, expected)?;
        }
    }
    match problem.judged_channels.iter().find(|&&(b, d)| b >= batch || d >= dim) {
        Some(found) => {
            Err(mismatch("judged_channels", format!("below ({batch}, {dim})"), format!("{found:?}")))
        }
        None => Ok(()),
    }
}

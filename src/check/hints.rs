//! What the inputs of a recorded run say of a mistake in the recording, before any verdict.

use crate::problem::recorded::RecordedOutput;
use crate::problem::{InputType, Operand, Problem, Shape, Weights};
use crate::tensor::TensorName;

/// Fewer values than this may be round by chance.
const FEWEST: usize = 64;

/// One sentence for each mistake that the values betray.
pub fn hints(problem: &Problem, outputs: &[RecordedOutput]) -> Vec<String> {
    let mut hints = Vec::new();
    let Shape { dim, seqlen, .. } = problem.shape;
    let bias = |i: usize| problem.delta_bias.as_ref().map_or(0.0, |bias| bias[i / seqlen % dim]);
    let steps = problem.delta.iter().enumerate().map(|(i, delta)| delta + bias(i));
    if !problem.delta_softplus && all(steps, |delta| delta < 0.0) {
        hints.push(
            "every delta is negative: if softplus makes the step of it, the metadata need delta_softplus = true"
                .to_owned(),
        );
    }
    // The logarithm of 1 is 0.
    let real_parts = problem.a.iter().step_by(problem.weights.width()).copied();
    if real_parts.len() > 1 && all(real_parts, |a| a > 0.0) {
        let what = if problem.weights == Weights::Real { "A" } else { "real part of A" };
        hints.push(format!("no {what} is negative, so that states grow: is it A_log? A is −exp(A_log)"));
    }
    if problem.input == InputType::F32 {
        let out = outputs.iter().map(|output| &output.tensors[TensorName::Out].values);
        let variable = |operand, values| Some(values).filter(|_| operand == Operand::Variable);
        let operands = [variable(problem.b_operand, &problem.b), variable(problem.c_operand, &problem.c)];
        let inputs = [Some(&problem.u), Some(&problem.delta), problem.z.as_ref()]
            .into_iter()
            .chain(operands)
            .flatten();
        let values = || out.clone().chain(inputs.clone()).flatten().copied();
        let narrow = [InputType::Bf16, InputType::F16]
            .into_iter()
            .find(|narrow| values().all(|value| value.is_nan() || narrow.round(value) == value));
        let informative = values().filter(|value| *value != 0.0 && value.abs() != 1.0).count();
        if let Some(narrow) = narrow.filter(|_| informative >= FEWEST) {
            hints.push(format!(
                "the inputs and every output are f32 but hold values of {narrow} only: the metadata input_type = {narrow} says so, \
                 and allows for the rounding on store"
            ));
        }
    }
    hints
}

/// Whether there is some value, and it is so for all that are not zero.
fn all(values: impl Iterator<Item = f32>, is: impl Fn(f32) -> bool) -> bool {
    let mut nonzero = values.filter(|value| *value != 0.0).peekable();
    nonzero.peek().is_some() && nonzero.all(is)
}

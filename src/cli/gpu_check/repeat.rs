//! What a result may depend on: its inputs, and nothing else.

use super::{Row, device_row, mamba, same_bits};
use crate::kernel::{Backend, KernelError};
use crate::method::Method;
use crate::problem::sweep;
use crate::problem::{InputType, Operand, Problem, Shape, Weights};
use crate::tensor::{TensorName, Tensors};

/// Lengths of one warp, of several with a tail, and of more than one chunk.
const LENGTHS: [usize; 3] = [37, 700, 5000];

fn problems() -> Vec<(String, Problem)> {
    let mut problems = Vec::new();
    for weights in Weights::ALL {
        for (input, seqlen) in InputType::ALL.into_iter().zip(LENGTHS) {
            let shape = Shape { batch: 3, dim: 8, dstate: 16, seqlen, groups: 2 };
            let layout = (Operand::Variable, Operand::Variable);
            let name = format!("{weights} {input} {shape}");
            let problem = mamba(&format!("gpu-check/repeat/{name}"), shape, weights, input, layout, true);
            problems.push((name, problem));
        }
    }
    problems
}

fn row(what: String, outcome: Result<Option<String>, KernelError>, good: &str) -> Row {
    let (passed, figure) = match outcome {
        Ok(None) => (true, good.to_owned()),
        Ok(Some(what)) => (false, what),
        Err(error) => (false, error.to_string()),
    };
    Row { what, passed, figure }
}

/// Every method ten times on the same inputs.
pub fn ten_times(backend: &dyn Backend) -> Vec<Row> {
    let mut rows = vec![device_row(backend)];
    let same = |l: &Tensors<f32>, r: &Tensors<f32>| l.zip(r).all(|(_, l, r)| same_bits(&l.values, &r.values));
    for (name, problem) in problems() {
        let outcome = Method::ALL.into_iter().try_fold(None, |found: Option<String>, method| {
            let first = backend.scan(method, &problem)?;
            for i in 2..=10 {
                if !same(&backend.scan(method, &problem)?, &first) {
                    return Ok(Some(format!("{method}: run {i} differs from run 1")));
                }
            }
            Ok(found)
        });
        rows.push(row(name, outcome, "ten runs of each method, all bits equal"));
    }
    for sweep in sweep::all() {
        let problem = sweep.draw(1);
        let outcome = Method::ALL.into_iter().try_fold(None, |found: Option<String>, method| {
            let first = backend.coefficients(method, &problem)?;
            for i in 2..=10 {
                let again = backend.coefficients(method, &problem)?;
                if !same_bits(&again.a_bar, &first.a_bar) || !same_bits(&again.b_bar, &first.b_bar) {
                    return Ok(Some(format!("{method}: run {i} differs from run 1")));
                }
            }
            Ok(found)
        });
        rows.push(row(sweep.name.to_owned(), outcome, "ten runs of each method, all bits equal"));
    }
    rows
}

/// Rolls the batch by one, and fills all channels but one of each with other numbers: neither may show elsewhere.
pub fn independence(backend: &dyn Backend) -> Vec<Row> {
    let mut rows = vec![device_row(backend)];
    for (name, problem) in problems() {
        let outcome = Method::ALL.into_iter().try_fold(None, |found: Option<String>, method| {
            Ok(found.or(dependence(backend, method, &problem)?.map(|what| format!("{method}: {what}"))))
        });
        rows.push(row(name, outcome, "no method sees batch position or other channels"));
    }
    rows
}

fn dependence(
    backend: &dyn Backend,
    method: Method,
    problem: &Problem,
) -> Result<Option<String>, KernelError> {
    let first = backend.scan(method, problem)?;
    let rolled = backend.scan(method, &rolled(problem))?;
    let per_batch = problem.shape.dim * problem.shape.seqlen;
    let mut expected = first[TensorName::Out].values.clone();
    expected.rotate_left(per_batch);
    if !same_bits(&rolled[TensorName::Out].values, &expected) {
        return Ok(Some("the position in the batch shows".to_owned()));
    }
    let kept = 5;
    let other = backend.scan(method, &with_other_channels(problem, kept))?;
    for batch in 0..problem.shape.batch {
        let start = problem.sequence_index(batch, kept, 0);
        let range = start..start + problem.shape.seqlen;
        if !same_bits(&other[TensorName::Out].values[range.clone()], &first[TensorName::Out].values[range]) {
            return Ok(Some(format!("channel {kept} of batch {batch} sees other channels")));
        }
    }
    // Else the comparison would show nothing.
    Ok(same_bits(&other[TensorName::Out].values, &first[TensorName::Out].values)
        .then(|| "other inputs change nothing at all".to_owned()))
}

/// Batch i becomes batch i − 1.
fn rolled(problem: &Problem) -> Problem {
    let mut rolled = problem.clone();
    let rotate = |tensor: &mut Vec<f32>| {
        let per_batch = tensor.len() / problem.shape.batch;
        tensor.rotate_left(per_batch);
    };
    let tensors = [&mut rolled.u, &mut rolled.delta].into_iter().chain(rolled.z.as_mut());
    for tensor in tensors {
        rotate(tensor);
    }
    for (operand, tensor) in [(problem.b_operand, &mut rolled.b), (problem.c_operand, &mut rolled.c)] {
        if operand == Operand::Variable {
            rotate(tensor);
        }
    }
    rolled
}

/// Every channel but `kept` of each batch reads its u backwards.
fn with_other_channels(problem: &Problem, kept: usize) -> Problem {
    let mut other = problem.clone();
    for (i, channel) in other.u.chunks_mut(problem.shape.seqlen).enumerate() {
        if i % problem.shape.dim != kept {
            channel.reverse();
        }
    }
    other
}

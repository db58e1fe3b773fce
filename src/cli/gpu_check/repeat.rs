//! What a result may depend on: its inputs, and nothing else.

use super::{Finding, device_finding, mamba, same_bits};
use crate::kernel::cuda::CudaBackend;
use crate::kernel::{Backend, Instantiation, KernelError, Lanes};
use crate::method::Method;
use crate::problem::{InputType, Operand, Problem, Shape, Weights, sweep};
use crate::promise::Tier;
use crate::tensor::TensorName;

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

/// A row for what every method does on one problem: `trouble` finds what is wrong with a method, if anything is.
fn row(
    what: impl Into<String>,
    good: &str,
    trouble: impl Fn(Method) -> Result<Option<String>, KernelError>,
) -> Finding {
    let found = Method::ALL.into_iter().find_map(|method| match trouble(method) {
        Ok(found) => found.map(|what| format!("{method}: {what}")),
        Err(error) => Some(error.to_string()),
    });
    Finding::new(what, found.map_or(Ok(good.to_owned()), Err))
}

/// Runs something ten times; which run differs from the first one.
fn ten<T>(
    run: impl Fn() -> Result<T, KernelError>,
    same: impl Fn(&T, &T) -> bool,
) -> Result<Option<String>, KernelError> {
    let first = run()?;
    for i in 2..=10 {
        if !same(&run()?, &first) {
            return Ok(Some(format!("run {i} differs from run 1")));
        }
    }
    Ok(None)
}

/// Every method ten times on the same inputs.
pub fn ten_times(backend: &dyn Backend) -> Vec<Finding> {
    let mut rows = vec![device_finding(backend)];
    let good = "ten runs of each method, all bits equal";
    for (name, problem) in problems() {
        rows.push(row(name, good, |method| {
            ten(
                || backend.scan(method, &problem),
                |l, r| l.zip(r).all(|(_, l, r)| same_bits(&l.values, &r.values)),
            )
        }));
    }
    for sweep in sweep::all() {
        let problem = sweep.draw(1);
        rows.push(row(sweep.name, good, |method| {
            ten(
                || backend.coefficients(method, &problem),
                |l, r| same_bits(&l.a_bar, &r.a_bar) && same_bits(&l.b_bar, &r.b_bar),
            )
        }));
    }
    rows
}

/// Rolls the batch by one, and fills all channels but one of each with other numbers: neither may show elsewhere. And scans with few
/// lanes a channel and with eight.
pub fn independence(backend: CudaBackend) -> Vec<Finding> {
    let mut rows = vec![device_finding(&backend)];
    let good = "no method sees batch position or other channels";
    for (name, problem) in problems() {
        rows.push(row(name, good, |method| dependence(&backend, method, &problem)));
    }
    rows.extend(lanes(backend));
    rows
}

/// Of kernels with few lanes, every storage type and tier: whether their bits are those of eight.
fn lanes(mut backend: CudaBackend) -> Vec<Finding> {
    let mut problems: Vec<_> = problems().into_iter().filter(|(_, it)| it.weights == Weights::Real).collect();
    // Three blocks, the last of them with two channels; an odd number of positions.
    let shape = Shape { batch: 2, dim: 130, dstate: 13, seqlen: 197, groups: 1 };
    let name = format!("real f32 {shape}");
    let layout = (Operand::Variable, Operand::Variable);
    let wide = mamba(&format!("gpu-check/lanes/{name}"), shape, Weights::Real, InputType::F32, layout, false);
    problems.push((name, wide));
    let compared =
        |method, it: &Problem| Instantiation::for_problem(method, it).has_few_lanes(it.shape.dstate);
    if !problems.iter().all(|(_, it)| WITH_FEW_LANES.iter().all(|&method| compared(method, it))) {
        return vec![Finding::new("few lanes", Err::<String, _>("there is no such kernel"))];
    }
    let mut rows = Vec::new();
    for tier in [Tier::Accurate, Tier::Fast] {
        let mut runs = Vec::new();
        for lanes in [Lanes::Few, Lanes::Eight] {
            backend = backend.in_tier(tier).with_spread(lanes, 1);
            let scan = |(_, it): &(String, Problem)| WITH_FEW_LANES.map(|method| backend.scan(method, it));
            runs.push(problems.iter().map(scan).collect::<Vec<_>>());
        }
        let eight = runs.pop().into_iter().flatten();
        let few = runs.pop().into_iter().flatten();
        for (((name, _), few), eight) in problems.iter().zip(few).zip(eight) {
            let same: Result<Vec<bool>, KernelError> = few
                .into_iter()
                .zip(eight)
                .map(|(few, eight)| Ok(few?.zip(&eight?).all(|(_, l, r)| same_bits(&l.values, &r.values))))
                .collect();
            let outcome = match same {
                Ok(same) if same.iter().all(|&same| same) => Ok("few lanes and eight, all bits equal"),
                Ok(_) => Err("few lanes compute other bits than eight".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            rows.push(Finding::new(format!("{name}, {tier}"), outcome.map(str::to_owned)));
        }
    }
    rows
}

const WITH_FEW_LANES: [Method; 2] = [Method::Zoh, Method::Bilinear];

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

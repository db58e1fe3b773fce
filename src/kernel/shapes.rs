//! Checks that a problem's tensors have the sizes that its shape promises, before any of them is read.

use super::KernelError;
use crate::kernel::Result;
use crate::problem::conventions::{Coupling, INITIAL_STATE, STATE_MATRIX};
use crate::problem::dense::DenseProblem;
use crate::problem::{CoefficientProblem, Conventions, InputType, OutputGradients, Problem, Shape, Weights};

const LARGER: &str = "a larger system is the reference path's: nalgebra, SciPy";
const HINT: &str = "see the table of shapes in the problem module's documentation";

pub fn unsupported(
    what: &'static str,
    found: impl ToString,
    expected: impl ToString,
    hint: &'static str,
) -> KernelError {
    KernelError::Unsupported { what, found: found.to_string(), expected: expected.to_string(), hint }
}

fn check_len(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        Ok(())
    } else {
        Err(unsupported(what, format!("{found} values"), format!("{expected} values"), HINT))
    }
}

/// The product of some sizes, or an error where it leaves the address space.
fn product(what: &'static str, sizes: &[usize]) -> Result<usize> {
    sizes
        .iter()
        .try_fold(1usize, |total, &size| total.checked_mul(size))
        .filter(|&total| total <= isize::MAX as usize / 16)
        .ok_or_else(|| unsupported(what, format!("{sizes:?} elements"), "a size that fits in memory", HINT))
}

/// Positions are 32-bit numbers, which a tile's length may be added to.
const MOST_POSITIONS: usize = i32::MAX as usize - 1024;

/// Every size at least 1, dstate at most 256, seqlen at most 2³¹ − 1025, groups dividing dim, and each tensor of the right length (spec.md §3).
pub fn check_scan(problem: &Problem) -> Result<()> {
    if problem.initial_state.is_some() {
        let hint = "holdfast.scan in Python goes on from one";
        return Err(unsupported("convention", INITIAL_STATE, "none", hint));
    }
    check_scan_from_any_state(problem)
}

/// Checks a scan that may start from an initial state.
pub fn check_scan_from_any_state(problem: &Problem) -> Result<()> {
    check_scan_of(problem, Coupling::Diagonal)
}

/// Checks a scan with a matrix A for each channel: dstate at most 64.
pub fn check_dense_scan(problem: &Problem) -> Result<()> {
    let Shape { dim, dstate, .. } = problem.shape;
    if dstate > DenseProblem::MOST_STATES {
        let expected = format!("at most {} with a dense A", DenseProblem::MOST_STATES);
        return Err(unsupported("dstate", dstate, expected, LARGER));
    }
    product("A", &[dim, dstate, dstate, problem.weights.width()])?;
    check_scan_of(problem, Coupling::Dense)
}

fn check_scan_of(problem: &Problem, coupling: Coupling) -> Result<()> {
    if problem.packed.is_some() {
        let hint = "scan each sequence by itself";
        return Err(unsupported("packed sequences", "some", "none", hint));
    }
    check_sizes(problem.shape, problem.weights)?;
    let axes = problem.conventions.axes;
    if problem.conventions.coupling != coupling {
        let (found, expected) = (problem.conventions.coupling, coupling);
        let hint = "a dense A has kernels of its own, Backend::dense_scan";
        return Err(unsupported(STATE_MATRIX, found, expected, hint));
    }
    if problem.conventions != (Conventions { axes, coupling, ..Conventions::default() }) {
        let stated = problem.conventions.stated();
        let types = problem.conventions.types.stated().map(|(name, stored)| format!("{name} in {stored}"));
        let stated = stated.iter().map(|(key, value)| format!("{key} = {value}")).chain(types);
        let stated: Vec<String> = stated.collect();
        let hint = "recordings alone have others";
        return Err(unsupported("convention", stated.join(", "), "spec.md §3's own", hint));
    }
    for (what, values, expected) in problem.inputs() {
        values.map_or(Ok(()), |values| check_len(what, values.len(), expected))?;
    }
    Ok(())
}

/// Sizes that the kernels take.
pub fn check_sizes(shape: Shape, weights: Weights) -> Result<()> {
    let Shape { batch, dim, dstate, seqlen, groups } = shape;
    for (what, size) in
        [("batch", batch), ("dim", dim), ("dstate", dstate), ("seqlen", seqlen), ("groups", groups)]
    {
        if size == 0 {
            return Err(unsupported(what, 0, "at least 1", "an empty problem has no output to judge"));
        }
    }
    if dstate > Shape::MAX_DSTATE {
        return Err(unsupported("dstate", dstate, "at most 256", "spec.md §3 bounds the state size"));
    }
    if seqlen > MOST_POSITIONS {
        return Err(unsupported(
            "seqlen",
            seqlen,
            format!("at most {MOST_POSITIONS}"),
            "the kernels count positions in 32 bits",
        ));
    }
    if dim % groups != 0 {
        let expected = format!("a divisor of dim = {dim}");
        return Err(unsupported("groups", groups, expected, "channel d reads group d / (dim / groups)"));
    }
    let width = weights.width();
    product("u", &[batch, dim, seqlen])?;
    product("A", &[dim, dstate, width])?;
    product("variable B or C", &[batch, groups, dstate, seqlen, width])?;
    let states = product("last state", &[batch, dim, dstate, width])?;
    // Blocks are numbered by a 32-bit index, of which there is at most one for each channel.
    if product("channels", &[batch, dim])? > i32::MAX as usize || states > isize::MAX as usize / 16 {
        return Err(unsupported("channels", batch * dim, "at most 2147483647", "split the batch"));
    }
    Ok(())
}

/// The same, and of a backward pass what it starts from.
pub fn check_backward(problem: &Problem, given: &OutputGradients) -> Result<()> {
    if problem.is_dense() { check_dense_scan(problem) } else { check_scan(problem) }?;
    let Shape { batch, dim, dstate, .. } = problem.shape;
    check_len("dout", given.dout.len(), problem.shape.sequence_len())?;
    given.dlast_state.as_ref().map_or(Ok(()), |values| {
        check_len("dlast_state", values.len(), batch * dim * dstate * problem.weights.width())
    })
}

/// What takes f32 inputs only.
pub fn check_f32(input: InputType, hint: &'static str) -> Result<()> {
    if input == InputType::F32 { Ok(()) } else { Err(unsupported("input type", input, "f32", hint)) }
}

/// One A (n, n) and one B (n, m) per Δ, n from 1 to 64, at least one of them.
pub fn check_dense(problem: &DenseProblem) -> Result<()> {
    let DenseProblem { weights, n, m, ref delta, ref a, ref b } = *problem;
    if !(1..=DenseProblem::MOST_STATES).contains(&n) {
        return Err(unsupported("n", n, format!("1 to {}", DenseProblem::MOST_STATES), LARGER));
    }
    if m == 0 || delta.is_empty() {
        let found = format!("{} systems of {m} inputs", delta.len());
        return Err(unsupported("B", found, "at least one of each", HINT));
    }
    check_len("A", a.len(), product("A", &[delta.len(), n, n, weights.width()])?)?;
    check_len("B", b.len(), product("B", &[delta.len(), n, m, weights.width()])?)
}

/// One A and one B per Δ.
pub fn check_coefficients(problem: &CoefficientProblem) -> Result<()> {
    let expected = product("A", &[problem.delta.len(), problem.weights.width()])?;
    check_len("A", problem.a.len(), expected)?;
    check_len("B", problem.b.len(), expected)
}

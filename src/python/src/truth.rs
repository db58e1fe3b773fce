//! Certified values.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use holdfast::formula::Form;
use holdfast::method::Method;
use holdfast::problem::OutputGradients;
use holdfast::problem::recorded::RecordedRun;
use holdfast::tensor::TensorName;
use holdfast::truth::dense::{DenseTruth, Input, discretize};
use holdfast::truth::{TruthError, gradient};
use nalgebra::{Complex, DMatrix};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::recorded::{NamedArray, on_whole_run, value_error};
use crate::waiting;

/// Ā and B̄'s, row by row, two floats for a complex entry; then the certificate.
type Certified = (Vec<Option<Vec<f64>>>, String);

fn matrix<I: Input>(values: &[f64], rows: usize) -> DMatrix<I> {
    let numbers: Vec<I> = values
        .chunks_exact(I::WIDTH)
        .map(|parts| I::from_parts([parts[0], parts.get(1).copied().unwrap_or(0.0)]))
        .collect();
    let columns = numbers.len() / rows.max(1);
    DMatrix::from_row_slice(rows, columns, &numbers)
}

fn certified<I: Input>(
    form: Form,
    a: &[f64],
    b: &[f64],
    rows: usize,
    delta: f64,
) -> Result<Certified, TruthError> {
    let DenseTruth { a_bar, b_bar, b_bar_prev, b_bar_next, certificate } =
        discretize(form, &matrix::<I>(a, rows), &matrix::<I>(b, rows), delta)?;
    let flat = |m: DMatrix<I>| -> Vec<f64> {
        m.transpose().iter().flat_map(|x| x.parts()[..I::WIDTH].to_vec()).collect()
    };
    let all = vec![Some(flat(a_bar)), Some(flat(b_bar)), b_bar_prev.map(flat), b_bar_next.map(flat)];
    Ok((all, certificate.to_string()))
}

/// Discretizes x' = Ax + Bu with A of so many rows and B of as many, both row by row.
#[pyfunction]
pub fn discretize_dense(
    py: Python<'_>,
    form: &str,
    a: Vec<f64>,
    b: Vec<f64>,
    rows: usize,
    is_complex: bool,
    delta: f64,
) -> PyResult<Certified> {
    let form: Form = form.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
    let solved = waiting::work(py, move |_| match is_complex {
        true => certified::<Complex<f64>>(form, &a, &b, rows, delta),
        false => certified::<f64>(form, &a, &b, rows, delta),
    })?;
    solved.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Of each (A, B, Δ), numbers all of them, on all cores; the certificate is the last one's. None are left where it is stopped.
fn certified_elements<I: Input>(
    form: Form,
    (a, b): (&[f64], &[f64]),
    deltas: &[f64],
    stop: &AtomicBool,
) -> Result<Certified, TruthError> {
    let numbers = a.par_chunks_exact(I::WIDTH).zip(b.par_chunks_exact(I::WIDTH)).zip(deltas);
    let each = numbers.map(|((a, b), delta)| {
        let stopped = stop.load(Ordering::Relaxed);
        (!stopped).then(|| certified::<I>(form, a, b, 1, *delta)).transpose()
    });
    let each: Vec<Certified> = each.collect::<Result<Option<_>, _>>()?.unwrap_or_default();
    let joined =
        |which: usize| each.iter().map(|(parts, _)| parts[which].clone()).collect::<Option<Vec<_>>>();
    let all = (0..4).map(|which| joined(which).map(|parts| parts.concat())).collect();
    Ok((all, each.last().map(|(_, certificate)| certificate.clone()).unwrap_or_default()))
}

/// Discretizes x' = ax + bu for each of these a, b and steps.
#[pyfunction]
pub fn discretize_elements(
    py: Python<'_>,
    form: &str,
    a: Vec<f64>,
    b: Vec<f64>,
    is_complex: bool,
    deltas: Vec<f64>,
) -> PyResult<Certified> {
    let form: Form = form.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
    let solved = waiting::work(py, move |stop| match is_complex {
        true => certified_elements::<Complex<f64>>(form, (&a, &b), &deltas, &stop),
        false => certified_elements::<f64>(form, (&a, &b), &deltas, &stop),
    })?;
    solved.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A gradient by its name, its numbers, the shape, and whether there are two numbers to each complex one.
type Gradient<'py> = (&'static str, Bound<'py, PyArray1<f64>>, Vec<usize>, bool);

/// The gradients of a loss by the inputs of a run, and their certificate. In place of what the run put out stand the loss's
/// gradients by it.
#[pyfunction]
pub fn gradients<'py>(
    py: Python<'py>,
    tensors: Vec<NamedArray>,
    metadata: BTreeMap<String, String>,
    method: &str,
) -> PyResult<(Vec<Gradient<'py>>, String)> {
    let method: Method = method.parse().map_err(value_error)?;
    let solved = on_whole_run(py, tensors, metadata, move |RecordedRun { problem, outputs }| {
        let given =
            |name| outputs.iter().find_map(|output| output.tensors.get(name)).map(|t| t.values.clone());
        let given = OutputGradients {
            dout: given(TensorName::Out).unwrap_or_default(),
            dlast_state: given(TensorName::LastState),
        };
        gradient::solve(&problem, &given, &[method])
    })?;
    let truth = solved.map_err(value_error)?.remove(0);
    let named = truth.tensors.into_iter().map(|(name, tensor)| {
        (name.name(), PyArray1::from_vec(py, tensor.values), tensor.shape, tensor.width == 2)
    });
    Ok((named.collect(), truth.certificate.to_string()))
}

//! Arrays judged as a recorded run, and arrays run through the kernels of this crate.

use std::collections::BTreeMap;
use std::io::{self, Seek as _};
use std::path::PathBuf;
use std::time::Instant;

use holdfast::check::on_device::DeviceJudge;
use holdfast::check::{self, Options, Reason};
use holdfast::cli::check::JudgeOn;
use holdfast::judge::diagnose::Budget;
use holdfast::kernel::{Backend, CpuBackend, KernelError, ReferenceBackend};
use holdfast::leftovers::scratch;
use holdfast::method::Method;
use holdfast::problem::Problem;
use holdfast::problem::recorded::{RecordError, Recorded, RecordedRun, Recording, check_keys};
use holdfast::tensor::TensorName;
use holdfast::tensor_file::TensorFile;
use numpy::{PyArray1, PyUntypedArray};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::findings::Findings;
use crate::memory::{MemoryFile, View};
use crate::waiting;

/// A tensor's name, how its numbers are stored, its shape, and where they are.
pub type NamedArray<'py> = (String, String, Vec<usize>, Bound<'py, PyUntypedArray>);

fn views(tensors: Vec<NamedArray>) -> PyResult<Vec<View>> {
    let view = |(name, stored, shape, array): NamedArray| View::new(name, &stored, shape, &array);
    tensors.into_iter().map(view).collect()
}

pub fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn opened(file: MemoryFile) -> Result<Recording<MemoryFile>, RecordError> {
    let len = file.len();
    Recording::new(TensorFile::new(file, len)?)
}

/// Judges the arrays as `holdfast check` judges a file of them. `name` identifies the run, and
/// `rerun` says how it is repeated.
#[pyfunction]
#[pyo3(name = "check", signature = (tensors, metadata, name, rerun, *, channels, seed, backend, diagnosis, causes, threads=None))]
#[expect(clippy::too_many_arguments, reason = "all that a call from Python has to say")]
pub fn judge(
    py: Python<'_>,
    tensors: Vec<NamedArray>,
    metadata: BTreeMap<String, String>,
    name: String,
    rerun: String,
    channels: Option<usize>,
    seed: u64,
    backend: &str,
    diagnosis: &str,
    causes: Vec<String>,
    threads: Option<usize>,
) -> PyResult<Findings> {
    let views = views(tensors)?;
    let backend: JudgeOn = backend.parse().map_err(value_error)?;
    // The arithmetic is stated as a file states it.
    let diagnosis: Budget = diagnosis.parse().map_err(value_error)?;
    let options = Options { channels, seed, diagnosis, causes, ..Options::EVERYTHING };
    let command = rerun.clone();
    let begun = Instant::now();
    let few = threads.map(|threads| ThreadPoolBuilder::new().num_threads(threads).build()).transpose();
    let few = few.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let check = move |stop| -> Result<_, Reason> {
        let mut device = match backend {
            JudgeOn::Cpu => None,
            JudgeOn::Auto => DeviceJudge::open().ok(),
            JudgeOn::Cuda => {
                Some(DeviceJudge::open().map_err(|error| Reason::Device(Box::new(error.into())))?)
            }
        };
        let file = MemoryFile::new(views, &metadata, stop);
        let len = file.len();
        let recorded = Recorded::new(TensorFile::new(file, len).map_err(RecordError::from)?)?;
        let names = (name.as_str(), name.as_str());
        let mut checked = check::check_recorded(device.as_mut(), names, &recorded, &options, &|| {})?;
        checked.cases.iter_mut().for_each(|case| case.rerun.clone_from(&rerun));
        Ok(checked)
    };
    let checked = waiting::work(py, move |stop| match few {
        None => check(stop),
        Some(few) => few.install(|| check(stop)),
    })?;
    match checked {
        Ok(checked) => Ok(Findings::of(check::results(vec![checked], seed, command), begun)),
        Err(reason) if reason.is_missing() => Err(PyRuntimeError::new_err(reason.to_string())),
        Err(reason) => Err(value_error(reason)),
    }
}

/// Raises `ValueError` where a key of metadata is none of a recording's, and stands for something.
#[pyfunction]
pub fn known_metadata(keys: Vec<String>) -> PyResult<()> {
    check_keys(keys.iter().map(String::as_str)).map_err(value_error)
}

/// Advice for an argument of other people's scans, if a recording has something in its place.
#[pyfunction]
pub fn elsewhere(name: &str) -> Option<&'static str> {
    holdfast::problem::recorded::elsewhere(name)
}

/// Saves the arrays as the file that they are judged as. It appears whole or not at all.
#[pyfunction]
pub fn record(
    py: Python<'_>,
    path: PathBuf,
    tensors: Vec<NamedArray>,
    metadata: BTreeMap<String, String>,
) -> PyResult<()> {
    let views = views(tensors)?;
    let written = waiting::work(py, move |stop| -> io::Result<Result<(), RecordError>> {
        let mut file = MemoryFile::new(views, &metadata, stop);
        let len = file.len();
        // What is no recorded run is not saved as one.
        if let Err(error) = TensorFile::new(&mut file, len).map_err(RecordError::from).and_then(Recorded::new)
        {
            return Ok(Err(error));
        }
        file.rewind()?;
        let mut temporary = scratch::file(scratch::parent(&path), ".holdfast-run-")?;
        io::copy(&mut file, &mut *temporary)?;
        temporary.publish(|new| new.persist(&path)).transpose().map_err(|error| error.error)?;
        Ok(Ok(()))
    })?;
    written?.map_err(value_error)
}

/// Does the work on a run of the arrays with all of its rows, as [`waiting::work`] does it.
///
/// # Errors
/// That's, and `ValueError` for arrays that are no run.
pub fn on_whole_run<T: Send + 'static>(
    py: Python<'_>,
    tensors: Vec<NamedArray>,
    metadata: BTreeMap<String, String>,
    work: impl FnOnce(RecordedRun) -> T + Send + 'static,
) -> PyResult<T> {
    let views = views(tensors)?;
    let worked = waiting::work(py, move |stop| {
        let recording = opened(MemoryFile::new(views, &metadata, stop))?;
        let shape = recording.layout().shape;
        let run = recording.read(&(0..shape.batch * shape.dim).collect::<Vec<_>>())?;
        // All rows are held.
        Ok(work(RecordedRun { problem: Problem { held: None, ..run.problem }, ..run }))
    })?;
    worked.map_err(|error: RecordError| value_error(error))
}

/// An output by its name, as so many bytes of f32, and its shape.
type Output<'py> = (&'static str, Bound<'py, PyArray1<f32>>, Vec<usize>);

/// Runs the production kernels' CPU build on the inputs of a run, or the reference path where it starts from a state; its own
/// outputs are not looked at.
#[pyfunction]
pub fn scan<'py>(
    py: Python<'py>,
    tensors: Vec<NamedArray>,
    metadata: BTreeMap<String, String>,
    method: &str,
) -> PyResult<Vec<Output<'py>>> {
    let method: Method = method.parse().map_err(value_error)?;
    let scanned = on_whole_run(py, tensors, metadata, move |RecordedRun { problem, .. }| {
        let outputs = match problem.initial_state {
            None => CpuBackend::new().scan(method, &problem)?,
            Some(_) => ReferenceBackend.scan(method, &problem)?,
        };
        Ok((outputs, problem.weights.width()))
    })?;
    let (outputs, width) = scanned.map_err(|error: KernelError| match error {
        KernelError::Unsupported { .. } => value_error(error),
        _ => PyRuntimeError::new_err(error.to_string()),
    })?;
    let named = outputs.into_iter().map(|(name, tensor)| {
        let mut shape = tensor.shape;
        if name == TensorName::LastState && width == 2 {
            shape.push(2);
        }
        (name.name(), PyArray1::from_vec(py, tensor.values), shape)
    });
    Ok(named.collect())
}

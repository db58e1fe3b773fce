//! What the Python package `holdfast` is made of: arrays in, findings out. Its own words, checks of arguments and frameworks
//! are in Python, beside this crate; what computes and what judges is the library's.

mod bench;
mod borrowed;
mod findings;
mod memory;
mod problems;
mod recorded;
mod truth;
mod waiting;

use std::ffi::OsString;
use std::path::PathBuf;

use holdfast::kernel::cuda::worker::{name_program, this_program};
use holdfast::kernel::worker::Program;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The whole command line. From here on an interrupt ends the process, without Python's own handlers.
#[pyfunction]
fn program(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    waiting::begin()?;
    Ok(py.detach(|| holdfast::cli::program(&arguments)))
}

/// How this interpreter is started as a worker: its own executable is none.
#[pyfunction]
fn worker_is(path: PathBuf, arguments: Vec<String>) {
    name_program(Program { path, arguments });
}

/// What is started as a worker.
#[pyfunction]
fn worker() -> PyResult<(PathBuf, Vec<String>)> {
    let program = this_program().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok((program.path, program.arguments))
}

/// To be called before the interpreter ends. A copy that `fork` has made leaves workers to the process that they are of.
#[pyfunction]
fn end_workers(py: Python<'_>) {
    if waiting::is_left_behind() {
        return;
    }
    py.detach(holdfast::kernel::cpu::end_workers);
}

#[pymodule]
fn _holdfast(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<findings::Findings>()?;
    module.add_class::<problems::Problem>()?;
    module.add_class::<bench::Race>()?;
    module.add_class::<borrowed::Kernel>()?;
    module.add_function(wrap_pyfunction!(program, module)?)?;
    module.add_function(wrap_pyfunction!(worker_is, module)?)?;
    module.add_function(wrap_pyfunction!(worker, module)?)?;
    module.add_function(wrap_pyfunction!(end_workers, module)?)?;
    module.add_function(wrap_pyfunction!(waiting::forked, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::judge, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::record, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::known_metadata, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::elsewhere, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::scan, module)?)?;
    module.add_function(wrap_pyfunction!(bench::shapes, module)?)?;
    module.add_function(wrap_pyfunction!(borrowed::missing, module)?)?;
    module.add_function(wrap_pyfunction!(problems::problems, module)?)?;
    module.add_function(wrap_pyfunction!(problems::regimes, module)?)?;
    module.add_function(wrap_pyfunction!(problems::losses, module)?)?;
    module.add_function(wrap_pyfunction!(problems::methods, module)?)?;
    module.add_function(wrap_pyfunction!(problems::forms, module)?)?;
    module.add_function(wrap_pyfunction!(truth::discretize_dense, module)?)?;
    module.add_function(wrap_pyfunction!(truth::discretize_elements, module)?)?;
    module.add_function(wrap_pyfunction!(truth::gradients, module)?)?;
    Ok(())
}

//! A function of the caller's timed in turn with the production kernels.

use std::cell::RefCell;
use std::time::Instant;

use holdfast::bench::beside::{self, Asked};
use holdfast::bench::plan::Drawn;
use holdfast::bench::sizes::{self, Preset};
use holdfast::kernel::KernelError;
use holdfast::kernel::launch::{Clock, DeviceError, Launch, Opponent, Repeats};
use holdfast::kernel::select::Choice;
use holdfast::problem::Shape;
use holdfast::promise::Tier;
use holdfast::results::bench::TimedScan;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::findings::Findings;
use crate::problems::{Input, inputs_of};
use crate::recorded::value_error;
use crate::waiting;

/// A scan of one shape, and the inputs that are drawn for it.
#[pyclass(frozen, module = "holdfast._holdfast")]
pub struct Race {
    scan: TimedScan,
    drawn: Drawn,
}

/// A preset's name, and its batch, dim, seqlen and dstate.
type NamedShape = (&'static str, (usize, usize, usize, usize));

/// The presets of the command line that have one shape.
#[pyfunction]
pub fn shapes() -> Vec<NamedShape> {
    let named = |preset: Preset| match preset.shapes(true)[..] {
        [Shape { batch, dim, seqlen, dstate, .. }] => Some((preset.name(), (batch, dim, seqlen, dstate))),
        _ => None,
    };
    Preset::ALL.into_iter().filter_map(named).collect()
}

/// The caller's function: `call()` runs it, and `returned()` has what the last run returned, as a list of bytes: of out, and perhaps of the last state.
struct Caller<'a, 'py> {
    py: Python<'py>,
    call: &'a Bound<'py, PyAny>,
    returned: &'a Bound<'py, PyAny>,
    /// What it raised.
    raised: RefCell<Option<PyErr>>,
}

impl Caller<'_, '_> {
    /// Ends the timing: the caller's own error is the caller's to see.
    fn end(&self, error: PyErr) -> DeviceError {
        self.raised.replace(Some(error));
        DeviceError::Broken("the function raised an error".to_owned())
    }
}

impl Opponent for Caller<'_, '_> {
    fn compute(&self, _: &Launch, _: bool) -> Result<(), DeviceError> {
        let ran = self.py.check_signals().and_then(|()| self.call.call0());
        ran.map(drop).map_err(|error| self.end(error))
    }

    fn returned(&self) -> Option<Vec<Option<Vec<u8>>>> {
        let bytes = self.returned.call0().and_then(|bytes| bytes.extract::<Vec<PyBackedBytes>>());
        let bytes = bytes.map_err(|error| self.end(error)).unwrap_or_default();
        Some(bytes.iter().map(|bytes| Some(bytes.to_vec())).collect())
    }
}

#[pymethods]
impl Race {
    /// `shape` as `--shape` of the command line has it.
    #[new]
    fn new(method: &str, shape: &str, weights: &str, input: &str) -> PyResult<Self> {
        let shape = sizes::parse(shape)
            .map_err(|expected| value_error(format!("shape is ({shape}), expected ({expected})")))?;
        let scan = TimedScan {
            method: method.parse().map_err(value_error)?,
            weights: weights.parse().map_err(value_error)?,
            input: input.parse().map_err(value_error)?,
            shape,
        };
        Ok(Race { scan, drawn: Drawn::new(shape, scan.weights, scan.input) })
    }

    /// Every input that the scan has.
    fn inputs<'py>(&self, py: Python<'py>) -> Vec<Input<'py>> {
        inputs_of(py, &self.drawn.problem)
    }

    /// Times both. `backend` is `cuda` or `cpu`; `waits`: the function has done its work when it returns, and the host's clock tells the time.
    #[expect(clippy::too_many_arguments, reason = "all that a call from Python has to say")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        name: String,
        tier: &str,
        backend: &str,
        pace: (usize, f64),
        waits: bool,
        command: String,
        call: &Bound<'py, PyAny>,
        returned: &Bound<'py, PyAny>,
    ) -> PyResult<Findings> {
        waiting::begin()?;
        let (samples, seconds) = pace;
        let asked = Asked {
            name,
            scan: self.scan,
            choice: if backend == "cuda" { Choice::Cuda } else { Choice::Cpu },
            tier: tier.parse::<Tier>().map_err(value_error)?,
            repeats: Repeats { warmups: 5, samples, seconds },
            clock: if waits { Clock::Host } else { Clock::Device },
            command,
        };
        let begun = Instant::now();
        let caller = Caller { py, call, returned, raised: RefCell::new(None) };
        let found = beside::compare(&asked, &self.drawn, &caller);
        match (caller.raised.take(), found) {
            (Some(error), _) => Err(error),
            (None, Ok(results)) => Ok(Findings::of(results, begun)),
            (None, Err(error)) => Err(PyRuntimeError::new_err(KernelError::to_string(&error))),
        }
    }
}

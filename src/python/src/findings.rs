//! What a check found, and its renderings: the same as on the command line.

use std::path::PathBuf;
use std::time::Instant;

use holdfast::cli;
use holdfast::report::{
    self, ReportError,
    console::{Detail, View},
    html, json, plots,
};
use holdfast::results::{PairTotals, Results, Verdict};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// One run's results, or those of several.
#[pyclass(frozen, module = "holdfast._holdfast")]
pub struct Findings(pub Results);

fn raised(error: ReportError) -> PyErr {
    match error {
        ReportError::Io { .. } => PyOSError::new_err(error.to_string()),
        ReportError::NotAReport { .. } => PyValueError::new_err(error.to_string()),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

impl Findings {
    /// Stamp of a run that began then.
    pub fn of(mut results: Results, begun: Instant) -> Findings {
        cli::output::stamp(&mut results, Some(begun.elapsed()));
        Findings(results)
    }
}

#[pymethods]
impl Findings {
    /// What several runs found, as one.
    #[staticmethod]
    fn merged(py: Python<'_>, parts: Vec<Py<Findings>>, command: String) -> Findings {
        let mut whole = Results::empty(1, "", String::new(), command);
        for (i, part) in parts.iter().enumerate() {
            let part = part.borrow(py).0.clone();
            whole.undiagnosed |= part.undiagnosed && part.verdict() == Verdict::Fail;
            if i == 0 {
                (whole.seed, whole.backend) = (part.seed, part.backend);
                (whole.created, whole.revision) = (part.created.clone(), part.revision);
            }
            whole.created = whole.created.min(part.created);
            if !whole.device.split(" | ").any(|known| known == part.device) {
                let between = if i == 0 { "" } else { " | " };
                whole.device += &format!("{between}{}", part.device);
            }
            whole.regimes.extend(part.regimes);
            whole.sampled |= part.sampled;
            whole.cases.extend(part.cases);
            whole.pairwise.extend(part.pairwise);
            whole.pairs = PairTotals::sum([whole.pairs, part.pairs]);
            whole.gradient_pairs = PairTotals::sum([whole.gradient_pairs, part.gradient_pairs]);
        }
        Findings(whole)
    }

    /// What [`Findings::json`] wrote.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Findings> {
        let read = serde_json::from_str(text);
        read.map(Findings).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn json(&self) -> PyResult<String> {
        json::to_string(&self.0).map_err(raised)
    }

    /// `pass`, `unmeasured` or `fail`.
    fn verdict(&self) -> &'static str {
        self.0.verdict().name()
    }

    /// The console's report.
    #[pyo3(signature = (verbose = false, colour = false))]
    fn text(&self, verbose: bool, colour: bool) -> String {
        let detail = if verbose { Detail::Verbose } else { Detail::Normal };
        let notes = cli::check::judged(&self.0);
        report::console::render_view(&self.0, View { notes: &notes, colour, detail, ..View::default() })
    }

    /// The report's page, which needs nothing else.
    fn page(&self) -> PyResult<String> {
        plots::all(&self.0).and_then(|plots| html::page(&self.0, &plots)).map_err(raised)
    }

    /// The whole report as a directory.
    fn write(&self, directory: PathBuf) -> PyResult<()> {
        report::write(&self.0, &directory).map(drop).map_err(raised)
    }
}

//! Renders what the judge found: console tables, JSON, Markdown, one self-contained HTML page, SVG plots.
//!
//! One value, [`Results`], and many renderers. Nothing here computes a number: the renderers pick, group,
//! sort and format. Nothing here prints either: the console report is a `String`.
//!
//! ```
//! use holdfast::kernel::CpuBackend;
//! use holdfast::method::Method;
//! use holdfast::problem::{plan::Filter, regime};
//! use holdfast::verify::{Request, verify};
//!
//! let l1 = regime::find("l1").expect("in the table");
//! let filter = Filter { regimes: vec![l1], ..Filter::default() };
//! let request = Request { filter, methods: vec![Method::Zoh], ..Request::everything(1) };
//! let results = verify(&request, &CpuBackend::new(), &|| {});
//! let text = holdfast::report::console::render(&results, None, false);
//! assert!(text.starts_with("holdfast") && text.contains("PASS"));
//! let json = holdfast::report::json::to_string(&results)?;
//! assert!(json.contains("\"schema\": 3"));
//! # Ok::<(), holdfast::report::ReportError>(())
//! ```
//!
//! - [`write()`]: a whole report directory, replaced only when the new one is complete
//! - [`console`]: the verdict table and the explained failures, at most 100 columns wide
//! - [`compare`]: what changed between two runs
//! - [`json`]: the machine output, also behind `--json FILE`
//! - [`junit`], [`github`]: for services that run tests
//! - [`parquet`]: tables for query engines
//! - [`html`], [`markdown`]: the pages, from the templates beside this code
//! - [`plots`]: the pictures, by plotters
//! - [`grid`], [`failures`], [`pairs`], [`sweeps`], [`summary`]: what the renderers share, as plain values

pub mod bench;
pub mod bench_compare;
mod causes;
pub mod compare;
pub mod console;
pub mod failures;
pub mod functions;
pub mod github;
pub mod grid;
mod groups;
pub mod html;
pub mod invariants;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod methods;
pub mod pairs;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod plots;
pub mod precision;
pub mod revisions;
pub mod summary;
pub mod sweeps;
mod tables;
mod template;
pub mod text;
mod write;

use std::path::PathBuf;

pub use write::{WrittenReport, may_be_written, may_hold_files, replace, write, write_again};

#[allow(unused_imports)] // for the documentation above
use crate::results::Results;

/// Why a report was not written. Whatever was there before is then still there.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(
        "cannot {action} `{}`: {source} (hint: look at what is there and who may write, or choose another place)",
        path.display()
    )]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error(
        "expected a new or empty directory or a holdfast report at `{}`, found {found} \
         (hint: choose another directory with --out, or move it away)",
        path.display()
    )]
    NotAReport { path: PathBuf, found: String },
    #[error("cannot fill in the template `{name}`: {source}")]
    Template { name: &'static str, source: minijinja::Error },
    #[error("cannot draw the plot `{name}`: {reason}")]
    Plot { name: String, reason: String },
    #[error("cannot serialize the results: {0}")]
    Json(#[from] serde_json::Error),
    #[error("cannot serialize the results as JUnit's XML: {0}")]
    Junit(#[from] quick_junit::SerializeError),
    #[error(
        "this program was built without tables, expected cargo's feature `parquet` (hint: it is a default one)"
    )]
    NoParquet,
    #[cfg(feature = "parquet")]
    #[error("cannot write the results as Parquet: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
}

impl ReportError {
    /// Wraps an I/O error with what was attempted on which path.
    fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> ReportError {
        let path = path.into();
        move |source| ReportError::Io { action, path, source }
    }
}

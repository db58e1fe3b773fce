//! The machine output: results ([`crate::results::Results`], [`crate::results::revisions::Diff`]) as JSON, in the layout
//! that the guide's page `results.md` documents.
//!
//! JSON knows no NaN and no infinity; such a number is `null`, and the hex text beside it still tells it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use serde_json::error::Category;
use serde_json::ser::{Formatter, Serializer};

use super::ReportError;
use crate::leftovers::scratch;
use crate::results::compare::RunComparison;
use crate::results::{OLDEST_SCHEMA, Results, SCHEMA};

/// The results as JSON with a line for each field, and for each entry of a field that is a list.
pub fn to_string(results: &impl Serialize) -> Result<String, ReportError> {
    let mut text = Vec::new();
    results.serialize(&mut Serializer::with_formatter(&mut text, Lines::default()))?;
    text.push(b'\n');
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Breaks lines where people look for a field or an entry, and nowhere else: indentation would be half of the file.
#[derive(Default)]
struct Lines {
    depth: usize,
    /// Whether nothing stands in the innermost list or object yet.
    empty: bool,
}

impl Lines {
    const DEEPEST: usize = 2;

    fn begin<W: ?Sized + Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        to.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        let empty = std::mem::take(&mut self.empty);
        self.depth -= 1;
        if !empty && self.depth < Self::DEEPEST {
            self.line(to)?;
        }
        to.write_all(bracket)
    }

    fn next<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.empty = false;
        to.write_all(if first { b"" } else { b"," })?;
        if self.depth <= Self::DEEPEST { self.line(to) } else { Ok(()) }
    }

    fn line<W: ?Sized + Write>(&self, to: &mut W) -> io::Result<()> {
        write!(to, "\n{:1$}", "", 2 * self.depth)
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next(to, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next(to, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(if self.depth <= Self::DEEPEST { b": " } else { b":" })
    }
}

/// Why a file's results were not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read `{}`: {source} (hint: `holdfast verify --json FILE` writes one)", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error(
        "`{}` ends in the middle, at line {line} (hint: it may be truncated; copy it again, or repeat the run)",
        path.display()
    )]
    Truncated { path: PathBuf, line: usize },
    #[error(
        "`{}` is no JSON, expected holdfast's results: {source} (hint: reports have them in results.json)",
        path.display()
    )]
    NotJson { path: PathBuf, source: serde_json::Error },
    #[error(
        "`{}` is JSON, but none of holdfast's results: {found} (hint: reports have them in results.json)",
        path.display()
    )]
    NotResults { path: PathBuf, found: String },
    #[error(
        "`{}` has schema {found}, expected {} to {SCHEMA} (hint: another version of holdfast wrote it; repeat the run)",
        path.display(),
        OLDEST_SCHEMA
    )]
    Schema { path: PathBuf, found: String },
}

/// Reads what [`write()`] wrote.
pub fn read(file: &Path) -> Result<Results, ReadError> {
    let path = || file.to_owned();
    let text = fs::read(file).map_err(|source| ReadError::Io { path: path(), source })?;
    let value: Value = serde_json::from_slice(&text).map_err(|source| match source.classify() {
        Category::Eof => ReadError::Truncated { path: path(), line: source.line() },
        _ => ReadError::NotJson { path: path(), source },
    })?;
    // The schema before anything that it may have changed.
    match value.get("schema") {
        Some(schema)
            if schema.as_u64().is_some_and(|s| (OLDEST_SCHEMA.into()..=SCHEMA.into()).contains(&s)) => {}
        Some(schema) => return Err(ReadError::Schema { path: path(), found: schema.to_string() }),
        None => {
            let found = "it has no field `schema`".to_owned();
            return Err(ReadError::NotResults { path: path(), found });
        }
    }
    serde_json::from_value(value)
        .map_err(|error| ReadError::NotResults { path: path(), found: error.to_string() })
}

/// A comparison, as [`to_string`] has results.
pub fn of_comparison(comparison: &RunComparison) -> Result<String, ReportError> {
    #[derive(serde::Serialize)]
    struct ComparisonFile<'a> {
        schema: u32,
        regressed: bool,
        #[serde(flatten)]
        comparison: &'a RunComparison,
    }
    let output = ComparisonFile { schema: SCHEMA, regressed: comparison.regressed(), comparison };
    to_string(&output)
}

/// Writes the results to `file`: it holds either what it held before or all of them. Something that is no
/// regular file, as `/dev/stdout`, is written to as it is.
pub fn write(results: &impl Serialize, file: &Path) -> Result<(), ReportError> {
    put(file, to_string(results)?)
}

/// Whether [`write()`] finds a place for `file`: to be asked before a run whose results would else be lost.
///
/// # Errors
/// [`ReportError::Io`] for a directory, or a place that nothing can be written to.
pub fn may_be_written(file: &Path) -> Result<(), ReportError> {
    let cannot = ReportError::io("write", file);
    match fs::metadata(file) {
        Ok(found) if found.is_dir() => Err(cannot(std::io::ErrorKind::IsADirectory.into())),
        Ok(found) if !found.is_file() => Ok(()),
        _ => {
            let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
            scratch::probe(target.parent().unwrap_or(Path::new("/"))).map_err(cannot)
        }
    }
}

/// Writes what a file is to hold, as [`write()`] does results.
pub fn put(file: &Path, content: impl AsRef<[u8]>) -> Result<(), ReportError> {
    if fs::metadata(file).is_ok_and(|m| !m.is_file()) {
        return fs::write(file, content).map_err(ReportError::io("write", file));
    }
    // A link keeps pointing to the file that it points to.
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let parent = scratch::parent(&target);
    fs::create_dir_all(parent).map_err(ReportError::io("create", parent))?;
    let temporary = scratch::file(parent, ".holdfast-json-");
    let mut temporary = temporary.map_err(ReportError::io("create a file in", parent))?;
    temporary.write_all(content.as_ref()).map_err(ReportError::io("write", file))?;
    let moved = temporary.publish(|file| file.persist(&target));
    moved.transpose().map_err(|e| ReportError::io("write", file)(e.error))?;
    Ok(())
}

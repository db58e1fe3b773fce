//! The machine output: results ([`crate::judge::results::Results`], [`crate::diff::Diff`]) as JSON, in the layout that design.md fixes.
//!
//! JSON knows no NaN and no infinity; such a number is `null`, and the hex text beside it still tells it.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde::Serialize;

use super::ReportError;

/// The results as indented JSON with a final line feed.
pub fn to_string(results: &impl Serialize) -> Result<String, ReportError> {
    let mut text = serde_json::to_string_pretty(results)?;
    text.push('\n');
    Ok(text)
}

/// Writes the results to `file`: it holds either what it held before or all of them. Something that is no
/// regular file, as `/dev/stdout`, is written to as it is.
pub fn write(results: &impl Serialize, file: &Path) -> Result<(), ReportError> {
    let text = to_string(results)?;
    if fs::metadata(file).is_ok_and(|m| !m.is_file()) {
        return fs::write(file, text).map_err(ReportError::io("write", file));
    }
    // A link keeps pointing to the file that it points to.
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let parent = match target.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(ReportError::io("create", parent))?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".holdfast-json-");
    #[cfg(unix)]
    {
        // The process's umask still applies; the default of 0600 would hide the file from its readers.
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut temporary = builder.tempfile_in(parent).map_err(ReportError::io("create a file in", parent))?;
    temporary.write_all(text.as_bytes()).map_err(ReportError::io("write", file))?;
    temporary.persist(&target).map_err(|e| ReportError::io("write", file)(e.error))?;
    Ok(())
}

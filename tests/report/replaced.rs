//! Promise: a report that fails half-way, or is interrupted, leaves the old one.

use std::fs;
use std::path::Path;

use holdfast::report::{self, ReportError, replace};

use crate::fixture;

/// Writes a report; its page.
fn old_report(dir: &Path) -> String {
    let written = report::write(&fixture::empty(), dir).unwrap();
    fs::read_to_string(written.html).unwrap()
}

#[test]
fn a_failing_write_leaves_the_old_report_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("latest");
    let page = old_report(&dir);
    let failed = replace(&dir, |new| {
        fs::write(new.join("index.html"), "half").unwrap();
        let missing = new.join("missing/file");
        fs::write(&missing, "half").map_err(|source| ReportError::Io {
            action: "write",
            path: missing,
            source,
        })
    });
    assert!(matches!(failed, Err(ReportError::Io { action: "write", .. })));
    assert_eq!(fs::read_to_string(dir.join("index.html")).unwrap(), page);
    let left: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["latest"]);
}

#[test]
fn an_interrupted_write_leaves_the_old_report() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("latest");
    let page = old_report(&dir);
    let panicked = std::panic::catch_unwind(|| replace::<()>(&dir, |_| panic!("interrupted")));
    assert!(panicked.is_err());
    assert_eq!(fs::read_to_string(dir.join("index.html")).unwrap(), page);
}

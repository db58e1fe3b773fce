//! A report directory is replaced as a whole or not at all, and only when it is ours.

use std::fs;
use std::path::Path;

use holdfast::report::{self, ReportError, json};
use holdfast::results::bench::{Check, Checked};
use holdfast::results::{Results, Verdict};

use crate::fixture;
use crate::parquet::timed;

/// Every file below `dir` with its content, hidden ones too.
fn tree(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            files.extend(tree(&entry.path()).into_iter().map(|(n, c)| (format!("{name}/{n}"), c)));
        } else {
            files.push((name, fs::read(entry.path()).unwrap()));
        }
    }
    files.sort();
    files
}

fn names(dir: &Path) -> Vec<String> {
    tree(dir).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_report_has_its_parts_and_leaves_nothing_beside_it() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("a/b/latest");
    let written = report::write(&fixture::small(), &dir).unwrap();
    for file in [&written.html, &written.markdown, &written.json].into_iter().chain(&written.plots) {
        assert!(fs::metadata(file).unwrap().len() > 100, "{}", file.display());
    }
    assert_eq!(written.plots.len(), 20);
    assert_eq!(fs::read_dir(dir.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_newer_report_replaces_the_older_one_whole() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("latest");
    report::write(&fixture::small(), &dir).unwrap();
    let first = fs::read(dir.join("results.json")).unwrap();
    report::write(&fixture::empty(), &dir).unwrap();
    let parts = ["index.html", "previous.json", "report.md", "results.json", "results.parquet"];
    assert_eq!(names(&dir), parts);
    assert_eq!(fs::read(dir.join("previous.json")).unwrap(), first);
    fs::create_dir(home.path().join("void")).unwrap();
    report::write(&fixture::small(), &home.path().join("void")).unwrap();
}

#[test]
fn checks_alone_make_no_table() {
    let checked = Checked {
        check: Check::WarmUp,
        backend: "cpu".to_owned(),
        verdict: Verdict::Pass,
        skipped: false,
        reason: String::new(),
    };
    let checks = Results { checks: vec![checked], ..fixture::empty() };
    let timed = Results { bench: vec![timed("one", &[1e-3])], ..checks.clone() };
    let tables = |results: &Results| {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("bench");
        report::write(results, &dir).unwrap();
        names(&dir).into_iter().filter(|name| name.ends_with(".parquet")).collect::<Vec<_>>()
    };
    assert_eq!(tables(&checks), [""; 0]);
    assert_eq!(tables(&timed), ["timings.parquet"]);
}

#[test]
fn what_is_not_a_report_is_not_replaced() {
    let home = tempfile::tempdir().unwrap();
    let (notes, mixed, file) =
        (home.path().join("notes"), home.path().join("mixed"), home.path().join("file"));
    fs::create_dir(&notes).unwrap();
    fs::write(notes.join("index.html"), "mine").unwrap();
    report::write(&fixture::small(), &mixed).unwrap();
    fs::write(mixed.join("notes.txt"), "mine").unwrap();
    fs::write(&file, "mine").unwrap();
    let before = tree(home.path());
    for dir in [notes, mixed, file] {
        let error = report::write(&fixture::small(), &dir).unwrap_err();
        assert!(matches!(error, ReportError::NotAReport { .. }), "{error}");
        assert!(error.to_string().contains("hint: "), "{error}");
    }
    assert!(before == tree(home.path()));
}

#[cfg(unix)]
#[test]
fn a_failing_write_leaves_the_old_report_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("latest");
    report::write(&fixture::small(), &dir).unwrap();
    let before = tree(home.path());
    // A parent that cannot be created into: not by permissions, which root ignores.
    let error = report::write(&fixture::small(), &dir.join("index.html/below")).unwrap_err();
    assert!(matches!(error, ReportError::Io { .. }), "{error}");
    assert!(before == tree(home.path()));
}

#[cfg(unix)]
#[test]
fn a_link_to_a_report_stays_a_link() {
    let home = tempfile::tempdir().unwrap();
    let (dir, link) = (home.path().join("dated"), home.path().join("latest"));
    report::write(&fixture::small(), &dir).unwrap();
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    report::write(&fixture::empty(), &link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(!dir.join("plots/shares-real.svg").exists());
}

#[cfg(unix)]
#[test]
fn others_may_read_what_was_written() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let (dir, plain) = (home.path().join("latest"), home.path().join("plain"));
    report::write(&fixture::small(), &dir).unwrap();
    fs::create_dir(&plain).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&dir), mode(&plain));
    json::write(&fixture::small(), &home.path().join("run.json")).unwrap();
    assert_eq!(mode(&home.path().join("run.json")), mode(&dir.join("results.json")));
}

#[test]
fn json_is_replaced_whole_and_its_directory_is_made() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("out/run.json");
    json::write(&fixture::small(), &file).unwrap();
    json::write(&fixture::empty(), &file).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), json::to_string(&fixture::empty()).unwrap());
    assert_eq!(names(home.path()), ["out/run.json"]);
}

/// Also a way to look: the pages stay in the build's own directory, `target/tmp/report-*`.
#[test]
fn runs_of_every_kind_have_a_page() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, results) in [
        ("report-pass", fixture::passing()),
        ("report-fail", fixture::spoil(fixture::passing())),
        ("report-empty", fixture::empty()),
    ] {
        let written = report::write(&results, &dir.join(name)).unwrap();
        assert!(written.html.is_file() && written.markdown.is_file() && written.json.is_file());
        assert_eq!(written.plots.is_empty(), results.cases.is_empty(), "{name}");
    }
}

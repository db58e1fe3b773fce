//! Promise: what `cargo test` leaves to `.ci/long`, other cases of it expect as well: every name, every formula, and every
//! phrase but for its numbers. Right recordings are never left out.

use std::collections::BTreeSet;
use std::path::Path;

/// Whose tables are read.
const FOLDERS: [&str; 2] = ["tests/recorded", "tests/judge/gradient_faults"];

struct Case {
    line: String,
    /// With its file.
    test: String,
    is_left_out: bool,
}

/// The cases of all tests, but of those that are left out as a whole.
fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for folder in FOLDERS.map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)) {
        for file in folder.read_dir().expect("a folder").map(|entry| entry.expect("a file").path()) {
            if file.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let (mut of_test, mut is_left_out) = (Vec::new(), false);
            for line in std::fs::read_to_string(&file).expect("text").lines() {
                if line.starts_with("#[ignore") {
                    is_left_out = true;
                } else if line.starts_with("#[case") {
                    of_test.push((line.to_owned(), std::mem::take(&mut is_left_out)));
                } else if let Some(test) = line.strip_prefix("fn ") {
                    let test = format!("{}: {test}", file.display());
                    let cases = of_test.drain(..).filter(|_| !is_left_out);
                    all.extend(cases.map(|(line, is_left_out)| Case {
                        line,
                        test: test.clone(),
                        is_left_out,
                    }));
                    is_left_out = false;
                }
            }
        }
    }
    all
}

/// What a case expects: names of findings, formulas as they are, and what else is said without its numbers.
fn expects(line: &str) -> Vec<String> {
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let is_name = |part: &str| part.contains('-') && part.chars().all(is_of_name);
    let texts = line.split('"').skip(1).step_by(2).filter(|text| !text.is_empty());
    let of = |text: &str| -> Vec<String> {
        match () {
            () if text.split(" + ").all(is_name) => text.split(" + ").map(str::to_owned).collect(),
            () if !text.is_ascii() => vec![text.to_owned()],
            () => vec![text.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty()).collect()],
        }
    };
    texts.flat_map(of).collect()
}

#[test]
fn what_is_left_out_is_expected_by_others() {
    let (left_out, kept): (Vec<Case>, Vec<Case>) = cases().into_iter().partition(|case| case.is_left_out);
    assert!(!left_out.is_empty() && left_out.len() < kept.len());
    let expected: BTreeSet<String> = kept.iter().flat_map(|case| expects(&case.line)).collect();
    for Case { line, test, .. } in &left_out {
        assert!(!line.contains("&[]"), "a right one: {line}");
        assert!(kept.iter().any(|other| other.test == *test), "all cases of {test}");
        let missing: Vec<String> = expects(line).into_iter().filter(|one| !expected.contains(one)).collect();
        assert!(missing.is_empty(), "{missing:?} of {line}");
    }
}

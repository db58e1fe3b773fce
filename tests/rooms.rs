//! Promise: data flows one way, and so does `use`: problem → truth and kernel → judge → results → report.

use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::path::Path;

/// Rooms, and those that they may import.
const ROOMS: &[(&str, &str)] = &[
    ("guide hexfloat leftovers named notation parallel sorted tensor_file", ""),
    ("method tensor", "named"),
    ("operation", "named"),
    ("scalar_function", "method named"),
    ("formula", "method named"),
    ("problem", "formula hexfloat method named tensor tensor_file"),
    ("truth", "formula method parallel problem scalar_function tensor trapezoidal"),
    ("promise", "formula method problem scalar_function"),
    ("trapezoidal", "parallel problem promise tensor"),
    ("kernel", "hexfloat leftovers method operation problem promise scalar_function tensor tensor_file"),
    ("results", "formula method operation problem scalar_function tensor"),
    ("analysis", "formula method parallel problem results tensor truth"),
    ("parts", "leftovers results"),
    ("program", "formula notation problem tensor"),
    (
        "judge",
        "formula hexfloat method notation parallel problem program promise results sorted tensor trapezoidal",
    ),
    ("case diff", "formula judge kernel method parallel problem promise results tensor truth"),
    ("verify", "analysis case formula judge kernel method parts problem promise results tensor truth"),
    (
        "check",
        "case formula judge kernel method parts problem promise results tensor tensor_file trapezoidal truth",
    ),
    ("testing", "check kernel problem report results verify"),
    ("bench", "case judge kernel method operation parts problem promise results tensor truth"),
    ("functions", "kernel parts promise results scalar_function truth"),
    ("report", "analysis formula judge leftovers method notation problem results tensor truth"),
    (
        "cli",
        "check diff formula hexfloat judge kernel leftovers method problem promise report results tensor tensor_file",
    ),
    ("cli", "bench case functions named operation parts scalar_function truth verify"),
];

/// The code of a file, or of all files in a folder, line by line and without comments.
fn code(path: &Path) -> Vec<String> {
    if let Ok(entries) = read_dir(path) {
        return entries.flat_map(|entry| code(&entry.expect("an entry").path())).collect();
    }
    let source = path.extension().filter(|extension| *extension == "rs");
    let text = source.and_then(|_| read_to_string(path).ok()).unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::to_owned).collect()
}

/// The roots of the crates below `src/`, which declare rooms. Between crates the compiler holds the direction as well.
const CRATES: [&str; 8] = [
    "lib.rs",
    "crates/methods/lib.rs",
    "crates/base/lib.rs",
    "crates/truth/lib.rs",
    "crates/judge/lib.rs",
    "crates/report/lib.rs",
    "crates/kernel/lib.rs",
    "crates/runs/lib.rs",
];

#[test]
fn every_room_imports_only_what_it_may() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let named = |line| str::strip_suffix(str::trim_start_matches(line, "pub ").strip_prefix("mod ")?, ";");
    let roots: Vec<String> = CRATES.iter().flat_map(|root| code(&src.join(root))).collect();
    let declared: BTreeSet<&str> = roots.iter().filter_map(|line| named(line)).collect();
    let has = |words: &str, word: &str| words.split_whitespace().any(|other| other == word);
    let mut wrong = BTreeSet::new();
    for room in declared {
        let rows: Vec<_> = ROOMS.iter().filter(|row| has(row.0, room)).collect();
        assert!(!rows.is_empty(), "{room} is no room of this table");
        let code = [code(&src.join(format!("{room}.rs"))), code(&src.join(room))].concat();
        for path in code.iter().flat_map(|line| line.split("crate::").skip(1)) {
            let other = path.split(|c: char| c != '_' && !c.is_alphanumeric()).next().unwrap_or_default();
            if other != room && !rows.iter().any(|row| has(row.1, other)) {
                wrong.insert(format!("{room} imports crate::{path}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

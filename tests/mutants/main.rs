//! Promise: every mutant of the kernels fails `holdfast verify`, and no harmless rewrite is called wrong.
//!
//! The mutants are data ([`table`]): substitutions in the kernels' sources. Each is compiled into a library by itself, run
//! by a worker process, and judged as `holdfast verify` judges, until the first verdict that fails.
//!
//! `cargo test` sees that every substitution still fits, that the record has every mutant, and tries a few at
//! one seed. `.ci/mutants kernels` tries all at seeds 1 to 8 and writes the record: this program has its own `main`, since
//! its workers speak through standard output.

mod compile;
mod judge;
mod kernel;
mod record;
mod run;
mod table;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use table::{Fate, Mutant};

/// What `cargo test` runs.
const TESTS: [(&str, fn()); 3] = [
    ("every_substitution_fits_once", every_substitution_fits_once),
    ("the_record_has_every_mutant", the_record_has_every_mutant),
    ("some_mutants_are_caught", some_mutants_are_caught),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [kernel::WORKER, library] => match kernel::serve(Path::new(library)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        ["kernels", ref rest @ ..] => run::all(rest),
        _ => {
            let names: Vec<&str> = words.into_iter().filter(|word| !word.starts_with('-')).collect();
            for (name, test) in TESTS {
                if names.is_empty() || names.iter().any(|asked| name.contains(asked)) {
                    test();
                    println!("test {name} ... ok");
                }
            }
            ExitCode::SUCCESS
        }
    }
}

fn every_substitution_fits_once() {
    let mutants = table::all();
    for mutant in &mutants {
        let count = compile::source(mutant.file).matches(mutant.old).count();
        assert_eq!(count, 1, "{}: its old text in kernels/{}", mutant.id, mutant.file);
        assert!(mutant.old != mutant.new && !mutant.methods.is_empty(), "{}", mutant.id);
    }
    let ids: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.id).collect();
    assert_eq!(ids.len(), mutants.len());
    let count = |which: fn(&Fate) -> bool| mutants.iter().filter(|mutant| which(&mutant.fate)).count();
    let caught = count(|fate| matches!(fate, Fate::Caught { .. }));
    let harmless = count(|fate| matches!(fate, Fate::Harmless(_)));
    assert!(caught >= 370 && harmless >= 55, "{caught} and {harmless}");
}

fn the_record_has_every_mutant() {
    let text = std::fs::read_to_string(record::path()).expect("the record");
    let rows: BTreeSet<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
    let mutants = table::all();
    for mutant in &mutants {
        let row = record::row_as_it_must_be(mutant, run::SEEDS.count());
        assert!(rows.contains(&*row), "{row} (hint: .ci/mutants kernels {})", mutant.id);
    }
    assert_eq!(rows.len(), mutants.len());
}

/// One of each variant, and one that is harmless: compiling one takes a second or two.
fn some_mutants_are_caught() {
    let few = [
        "foh-negated",
        "fast-reciprocal-a-little-small",
        "lanes-rows-of-the-first-eight-states",
        "chunks-both-directions-in-one-place",
        "back-constant-b-of-the-first-tile",
        "lanes-packets-of-two",
        "back-store-h-twice",
        "dense-columns-in-pivots-order",
    ];
    let mutants: Vec<Mutant> = table::all().into_iter().filter(|m| few.contains(&m.id)).collect();
    assert_eq!(mutants.len(), few.len());
    let outcomes = run::try_all(&mutants, 1..=1);
    for (mutant, outcome) in mutants.iter().zip(&outcomes) {
        assert!(outcome.is_as_it_must_be(mutant, 1), "{}: {outcome:?}", mutant.id);
    }
}

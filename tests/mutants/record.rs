//! The record of mutants.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::compile::root;
use crate::run::Outcome;
use crate::table::{self, Fate, Kind, Mutant, Variant};

/// What stands before the tables.
const INTRODUCTION: &str = "\
# Mutants of the kernels

The record that `.ci/mutants kernels` writes: a row for each mutant. [The guide](../src/guide/mutants.md) says what they are.
";

pub fn path() -> PathBuf {
    root().join("golden/mutants.md")
}

/// A mutant's row, of which this became.
fn row(mutant: &Mutant, said: &str) -> String {
    format!("| `{}` | `{}` | {} | {said} |", mutant.id, mutant.file, mutant.what.replace('|', "\\|"))
}

/// Its row where it is as it must be.
pub fn row_as_it_must_be(mutant: &Mutant, seeds: usize) -> String {
    row(mutant, &said(mutant, |_| seeds))
}

/// Says of these what became of them. The rows of others stay where they are as they must be.
///
/// # Errors
/// A record that cannot be read or written.
pub fn renew(tried: &[(&Mutant, &Outcome)], seeds: usize) -> std::io::Result<()> {
    let known = fs::read_to_string(path())?;
    let known: BTreeSet<&str> = known.lines().collect();
    let row_of = |mutant: &Mutant| match tried.iter().find(|(one, _)| one.id == mutant.id) {
        Some((_, outcome)) => row(mutant, &outcome_of(mutant, outcome, seeds)),
        None => Some(row_as_it_must_be(mutant, seeds))
            .filter(|row| known.contains(&**row))
            .unwrap_or_else(|| row(mutant, NOT_TRIED)),
    };
    fs::write(path(), whole(&table::all(), row_of, seeds))
}

/// By what a mutant was caught, at how many seeds, or why it is harmless.
fn said(mutant: &Mutant, caught: impl Fn(&Kind) -> usize) -> String {
    match mutant.fate {
        Fate::Caught { by, .. } => {
            let each: Vec<_> = by.iter().map(|kind| format!("{} {}", kind.name(), caught(kind))).collect();
            each.join(", ")
        }
        Fate::Harmless(why) => why.to_owned(),
    }
}

/// The same, marked where it is not as it must be.
fn outcome_of(mutant: &Mutant, outcome: &Outcome, seeds: usize) -> String {
    let said = said(mutant, |kind| outcome.caught.get(kind).copied().unwrap_or_default());
    let mark = match mutant.fate {
        _ if outcome.is_as_it_must_be(mutant, seeds) => "",
        _ if outcome.rejected.is_some() => REJECTED,
        Fate::Caught { .. } => SURVIVES,
        Fate::Harmless(_) => ALARM,
    };
    said + mark
}

const NOT_TRIED: &str = "not tried yet";
const SURVIVES: &str = "; **survives**";
const ALARM: &str = "; **raises an alarm**";
const REJECTED: &str = "; **does not compile**";

/// The whole record, of these rows.
fn whole(mutants: &[Mutant], row: impl Fn(&Mutant) -> String, seeds: usize) -> String {
    let of = |which: fn(&Fate) -> bool| mutants.iter().filter(|m| which(&m.fate)).collect::<Vec<&Mutant>>();
    let caught = of(|fate| matches!(fate, Fate::Caught { .. }));
    let harmless = of(|fate| matches!(fate, Fate::Harmless(_)));
    let marked = |all: &[&Mutant], mark: &str| all.iter().filter(|mutant| row(mutant).contains(mark)).count();
    let mut text = INTRODUCTION.to_owned();
    text += &format!(
        "\n{} mutants at seeds 1 to {seeds}: {} survive at some seed. {} harmless rewrites: {} of them raise an alarm.\n",
        caught.len(),
        marked(&caught, SURVIVES) + marked(&caught, NOT_TRIED),
        harmless.len(),
        marked(&harmless, ALARM),
    );
    let mut table = |title: &str, all: &[&Mutant], columns: &str| {
        text += &format!("\n## {title}\n\n| {columns} |\n|---|---|---|---|\n");
        all.iter().for_each(|mutant| text += &(row(mutant) + "\n"));
    };
    for variant in Variant::ALL {
        let own: Vec<&Mutant> = caught.iter().copied().filter(|mutant| mutant.variant == variant).collect();
        table(variant.title(), &own, "mutant | file | what it changes | caught by, at how many seeds");
    }
    table("Harmless rewrites", &harmless, "rewrite | file | what it changes | why it is harmless");
    text
}

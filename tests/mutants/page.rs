//! The guide's page of mutants.

use std::fs;
use std::path::PathBuf;

use crate::compile::root;
use crate::run::Outcome;
use crate::table::{self, Fate, Mutant, Variant};

/// What stands before the tables.
const INTRODUCTION: &str = include_str!("page.md");

/// Its links.
const LINKS: &str = "\n[backward]: backward.md\n[case]: glossary.md#case\n[sweep]: glossary.md#sweep\n[tier]: glossary.md#tier\n[verdict]: glossary.md#verdict\n";

/// `src/guide/mutants.md`
pub fn path() -> PathBuf {
    root().join("src/guide/mutants.md")
}

/// What a mutant's row begins with.
pub fn row_start(mutant: &Mutant) -> String {
    format!("| `{}` | `{}` | {} |", mutant.id, mutant.file, mutant.what.replace('|', "\\|"))
}

/// Says of these what became of them. The rows of all others stay as they are.
///
/// # Errors
/// A page that cannot be read or written.
pub fn renew(tried: &[(&Mutant, &Outcome)], seeds: usize) -> std::io::Result<()> {
    let known = fs::read_to_string(path())?;
    let known: Vec<&str> = known.lines().collect();
    let row = |mutant: &Mutant| {
        let start = row_start(mutant);
        match tried.iter().find(|(one, _)| one.id == mutant.id) {
            Some((_, outcome)) => format!("{start} {} |", said(mutant, outcome, seeds)),
            None => {
                let known = known.iter().find(|line| line.starts_with(&start));
                known.map_or(format!("{start} {NOT_TRIED} |"), |line| (*line).to_owned())
            }
        }
    };
    fs::write(path(), page(&table::all(), row, seeds))
}

/// What became of a mutant, or why nothing becomes of it.
fn said(mutant: &Mutant, outcome: &Outcome, seeds: usize) -> String {
    let (text, otherwise) = match mutant.fate {
        Fate::Caught { by, .. } => {
            let count = |kind| outcome.caught.get(kind).copied().unwrap_or_default();
            let each: Vec<_> = by.iter().map(|kind| format!("{} {}", kind.name(), count(kind))).collect();
            (each.join(", "), SURVIVES)
        }
        Fate::Harmless(why) => (why.to_owned(), ALARM),
        Fate::Survives(why) => (why.to_owned(), CAUGHT),
    };
    if outcome.is_as_it_must_be(mutant, seeds) { text } else { text + otherwise }
}

const NOT_TRIED: &str = "not tried yet";
const SURVIVES: &str = "; **survives**";
const ALARM: &str = "; **raises an alarm**";
const CAUGHT: &str = "; **is caught**";

/// The whole page, of these rows.
fn page(mutants: &[Mutant], row: impl Fn(&Mutant) -> String, seeds: usize) -> String {
    let of = |which: fn(&Fate) -> bool| mutants.iter().filter(|m| which(&m.fate)).collect::<Vec<&Mutant>>();
    let caught = of(|fate| matches!(fate, Fate::Caught { .. }));
    let harmless = of(|fate| matches!(fate, Fate::Harmless(_)));
    let surviving = of(|fate| matches!(fate, Fate::Survives(_)));
    let marked = |all: &[&Mutant], mark: &str| all.iter().filter(|mutant| row(mutant).contains(mark)).count();
    let mut text = INTRODUCTION.to_owned();
    text += &format!(
        "\n{} mutants at seeds 1 to {seeds}: {} survive at some seed. {} harmless rewrites: {} of them raise an alarm.\n",
        caught.len() + surviving.len(),
        surviving.len() + marked(&caught, SURVIVES) + marked(&caught, NOT_TRIED),
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
    table("Mutants that survive", &surviving, "mutant | file | what it changes | why nothing sees it");
    table("Harmless rewrites", &harmless, "rewrite | file | what it changes | why it is harmless");
    text + LINKS
}

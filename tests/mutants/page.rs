//! The guide's page of mutants.

use std::path::PathBuf;

use crate::compile::root;
use crate::run::Outcome;
use crate::table::{Fate, Mutant};

/// What stands before the tables.
const INTRODUCTION: &str = include_str!("page.md");

/// Its links.
const LINKS: &str =
    "\n[case]: glossary.md#case\n[sweep]: glossary.md#sweep\n[verdict]: glossary.md#verdict\n";

/// `src/guide/mutants.md`
pub fn path() -> PathBuf {
    root().join("src/guide/mutants.md")
}

/// What a mutant's row begins with.
pub fn row_start(mutant: &Mutant) -> String {
    format!("| `{}` | `{}` | {} |", mutant.id, mutant.file, mutant.what.replace('|', "\\|"))
}

/// The page that says what became of every mutant.
pub fn page(mutants: &[Mutant], outcomes: &[Outcome], seeds: usize) -> String {
    let all = || mutants.iter().zip(outcomes);
    let harmless = |mutant: &Mutant| matches!(mutant.fate, Fate::Harmless(_));
    let count = |which: bool| all().filter(|(mutant, _)| harmless(mutant) == which).count();
    let surviving = all().filter(|(m, o)| !harmless(m) && !o.is_as_it_must_be(m, seeds)).count();
    let alarms = all().filter(|(m, o)| harmless(m) && !o.is_as_it_must_be(m, seeds)).count();
    let mut text = INTRODUCTION.to_owned();
    text += &format!(
        "\n{} mutants at seeds 1 to {seeds}: {surviving} survive at some seed. {} harmless rewrites: {alarms} of them \
         raise an alarm.\n",
        count(false),
        count(true)
    );
    text += "\n## Mutants\n\n| mutant | file | what it changes | caught by, at how many seeds |\n|---|---|---|---|\n";
    for (mutant, outcome) in all().filter(|(mutant, _)| !harmless(mutant)) {
        let Fate::Caught { by, .. } = mutant.fate else { continue };
        let each = by
            .iter()
            .map(|kind| format!("{} {}", kind.name(), outcome.caught.get(kind).copied().unwrap_or_default()));
        text += &format!("{} {} |\n", row_start(mutant), each.collect::<Vec<_>>().join(", "));
    }
    text += "\n## Harmless rewrites\n\n| rewrite | file | what it changes | why it is harmless |\n|---|---|---|---|\n";
    for (mutant, outcome) in all() {
        let Fate::Harmless(why) = mutant.fate else { continue };
        let alarm = if outcome.caught.is_empty() { "" } else { "; **raises an alarm**" };
        text += &format!("{} {why}{alarm} |\n", row_start(mutant));
    }
    text + LINKS
}

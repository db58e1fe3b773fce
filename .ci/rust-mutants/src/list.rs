//! Which mutants there are: as cargo-mutants lists them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::Value;

/// A change of one expression, arm or function.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// Its place in the list, from 1.
    pub id: u32,
    /// `src/judge/ulp.rs:12:5: replace + with - in f`
    pub name: String,
    pub file: String,
    pub genre: String,
    /// Line and column, from 1.
    pub start: (usize, usize),
    /// The line of the source, as it is before anything is changed.
    pub line: String,
    pub replacement: String,
}

impl Mutant {
    /// Its name without line and column, which any other change moves.
    pub fn lasting_name(&self) -> String {
        lasting(&self.name)
    }
}

/// A mutant's name without line and column.
pub fn lasting(name: &str) -> String {
    let mut parts = name.splitn(4, ':');
    let (file, change) = (parts.next().unwrap_or(""), parts.nth(2).unwrap_or("").trim());
    format!("{file}: {change}")
}

/// All mutants of the files in `folders`.
///
/// # Errors
/// cargo-mutants that cannot run, or answers in another form.
pub fn all(tree: &Path, cargo_mutants: &Path, folders: &[&str]) -> Result<Vec<Mutant>, String> {
    let mut command = Command::new(cargo_mutants);
    command.current_dir(tree).args(["mutants", "--workspace", "--list", "--json"]);
    let output = command.output().map_err(|e| format!("{}: {e}", cargo_mutants.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let list: Value = serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo-mutants: {e}"))?;
    let mut sources: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut line = |file: &str, number: usize| {
        let lines = sources.entry(file.to_owned()).or_insert_with(|| {
            let text = std::fs::read_to_string(tree.join(file)).unwrap_or_default();
            text.lines().map(|line| line.trim().to_owned()).collect()
        });
        lines.get(number - 1).cloned().unwrap_or_default()
    };
    let mut mutant = |(i, entry): (usize, &Value)| {
        // The roots of inner crates name their files from where they are.
        let text = |key: &str| Some(below_src(entry[key].as_str()?));
        let number = |key: &str| Some(entry["span"]["start"][key].as_u64()? as usize);
        Some(Mutant {
            id: i as u32 + 1,
            name: text("name")?,
            file: text("file")?,
            genre: text("genre")?,
            start: (number("line")?, number("column")?),
            line: line(&text("file")?, number("line")?),
            replacement: text("replacement").unwrap_or_default(),
        })
    };
    let entries = list.as_array().ok_or("cargo-mutants: no list")?;
    let all = entries.iter().enumerate().map(|e| mutant(e).ok_or(format!("cargo-mutants: {}", e.1)));
    let is_asked = |m: &Mutant| folders.iter().any(|folder| m.file.starts_with(folder));
    all.filter(|m| m.as_ref().map_or(true, is_asked)).collect()
}

/// `src/crates/judge/../../judge/ulp.rs` as `src/judge/ulp.rs`, at the start of a text.
fn below_src(text: &str) -> String {
    let inner = text.strip_prefix("src/crates/").and_then(|rest| rest.split_once("/../../"));
    inner.map_or_else(|| text.to_owned(), |(_, rest)| format!("src/{rest}"))
}

/// `count` of them, in the order in which `seed` draws them; all where there are no more.
pub fn sample(mut all: Vec<Mutant>, count: usize, seed: u64) -> Vec<Mutant> {
    let mut lots = ChaCha8Rng::seed_from_u64(seed);
    for i in 0..count.min(all.len()) {
        let j = i + (lots.next_u64() % (all.len() - i) as u64) as usize;
        all.swap(i, j);
    }
    all.truncate(count);
    all
}

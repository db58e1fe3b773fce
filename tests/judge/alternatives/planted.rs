//! What is said at once where a change is planted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use holdfast::judge::diagnose::{Alternative, Work, alternatives};
use holdfast::judge::faults::scan;
use holdfast::judge::faults::variant::Variant;
use holdfast::results::Diagnosis;
use holdfast::tensor::{TensorName, Tensors};
use rayon::prelude::*;

use super::{LENGTH, kind, planted_problems};
use crate::figures::{ANEW, golden};
use crate::planting::Planting;

/// A sentence with # for each number in it.
fn without_numbers(what: &str) -> String {
    let mut text = String::new();
    for c in what.chars() {
        match c {
            '0'..='9' | '.' if text.ends_with('#') => {}
            '0'..='9' => text.push('#'),
            c => text.push(c),
        }
    }
    text
}

impl Planting {
    /// What a kernel with the change returns: rounded to the type that is stored.
    pub fn got(&self, variant: &Variant) -> Tensors<f64> {
        let channels = self.problem.judged_channels.iter();
        let rows: Vec<scan::Channel> =
            channels.map(|&at| scan::channel(variant, &self.problem, at)).collect();
        let input = self.problem.input;
        self.want.map(|name, want| {
            let stored = |value: &f64| match name {
                TensorName::Out => f64::from(input.round(*value as f32)),
                _ => f64::from(*value as f32),
            };
            want.with(rows.iter().flat_map(|row| row.tensors[name].values.iter().map(stored)).collect())
        })
    }

    /// What is said at once of the first tensor that fails, none where all pass.
    fn said_at_once(&self, got: &Tensors<f64>) -> Option<Vec<Diagnosis>> {
        let failing = self.failing(got);
        let said = self.by_tensor(got, &failing, &Work::default()).get(*failing.first()?).cloned();
        Some(said.unwrap_or_default())
    }
}

/// Those of a name that are planted: the first, the middle and the last of each sentence; they differ in a number.
fn some<'a>(of_name: &[&'a Alternative]) -> Vec<&'a Alternative> {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, alternative) in of_name.iter().enumerate() {
        places.entry(without_numbers(&alternative.what)).or_default().push(i);
    }
    // Those of one scan alone are of all kinds.
    let is_of_scan = kind(of_name[0]) != of_name[0].name;
    let mut chosen: Vec<usize> = Vec::new();
    if is_of_scan {
        chosen.extend((0..of_name.len()).step_by(64));
    } else {
        for of_sentence in places.values() {
            chosen.extend(of_sentence.iter().step_by((of_sentence.len() / 2).max(1)));
            chosen.extend(of_sentence.last());
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().map(|i| of_name[i]).collect()
}

/// What is said of each that is planted: its mark, and the first name that is another one.
fn marks(planting: &Planting, planted: &[&Alternative]) -> (String, BTreeSet<String>) {
    let (mut marks, mut others) = (String::new(), BTreeSet::new());
    for alternative in planted {
        let said = planting.said_at_once(&planting.got(&alternative.variant));
        let is_it = |one: &Diagnosis| one.name == alternative.name && one.what == alternative.what;
        let mark = match &said {
            None => '.',
            Some(said) if said.is_empty() => '?',
            Some(said) => match said.iter().position(is_it) {
                Some(0) => '=',
                Some(_) => '~',
                None => '≈',
            },
        };
        let other = said.iter().flatten().next().filter(|one| mark == '≈' && one.name != alternative.name);
        others.extend(other.map(|one| one.name.clone()));
        marks.push(mark);
    }
    (marks, others)
}

/// The names of all changes, in the order in which they come, and those of each.
fn by_kind(all: &[Alternative]) -> Vec<(&str, Vec<&Alternative>)> {
    let mut kinds: Vec<(&str, Vec<&Alternative>)> = Vec::new();
    for one in all {
        match kinds.iter_mut().find(|(known, _)| *known == kind(one)) {
            Some((_, of_kind)) => of_kind.push(one),
            None => kinds.push((kind(one), vec![one])),
        }
    }
    kinds
}

/// Each of all names in each method: minutes.
#[test]
#[ignore = "every change in every method takes minutes: .ci/long"]
fn what_is_said_of_planted_changes_is_as_recorded() {
    let description = "Changes to a scan, planted: how many are named first (=), named later (~), pass (.), have another name (≈), get \
                       none at once (?). Then all names of which not every change is first or passes, and what some are called \
                       instead. `cargo test` compares one name in 32, in one of the methods that have it.";
    let mut counts = String::new();
    let mut rows: Vec<(String, Vec<String>, BTreeSet<String>)> = Vec::new();
    for (method, problem) in planted_problems() {
        let planting = Planting::new(method, problem);
        let all = alternatives(method, &planting.problem, LENGTH);
        let kinds = by_kind(&all);
        let marked: Vec<(String, BTreeSet<String>)> =
            kinds.par_iter().map(|(_, of_kind)| marks(&planting, &some(of_kind))).collect();
        let count = |mark| {
            marked.iter().map(|(marks, _)| marks.chars().filter(|c| *c == mark).count()).sum::<usize>()
        };
        let of: Vec<String> = "=~.≈?".chars().map(|mark| format!("{mark} {}", count(mark))).collect();
        let _ = writeln!(counts, "{method}: {} names, {}", kinds.len(), of.join(", "));
        for ((name, _), (marks, others)) in kinds.iter().zip(marked) {
            let at = rows.iter().position(|row| row.0 == *name).unwrap_or_else(|| {
                rows.push(((*name).to_owned(), Vec::new(), BTreeSet::new()));
                rows.len() - 1
            });
            rows[at].1.push(format!("{method} {marks}"));
            rows[at].2.extend(others);
        }
    }
    for (name, cells, others) in rows {
        let is_plain = cells.iter().all(|cell| !cell.contains(['~', '≈', '?']));
        if !is_plain {
            let others: Vec<String> = others.into_iter().collect();
            let others =
                if others.is_empty() { String::new() } else { format!(" → {}", others.join(", ")) };
            let _ = writeln!(counts, "{name}: {}{others}", cells.join(", "));
        }
    }
    golden("scan-planted", description, &counts);
}

/// One name in 32, in one of the methods that have it, by turns.
#[test]
fn what_is_said_of_some_is_as_recorded() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/changes/scan-planted.snap");
    let golden = std::fs::read_to_string(golden).expect("a snapshot");
    let cases = planted_problems();
    let all = cases.iter().map(|(method, problem)| alternatives(*method, problem, LENGTH));
    let all: Vec<Vec<Alternative>> = all.collect();
    let kinds: Vec<Vec<(&str, Vec<&Alternative>)>> = all.iter().map(|all| by_kind(all)).collect();
    let mut names: Vec<&str> = kinds.iter().flatten().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let plantings: Vec<Planting> =
        cases.iter().map(|(method, problem)| Planting::new(*method, problem.clone())).collect();
    let wrong = names.into_par_iter().enumerate().filter(|(i, _)| i % 32 == 0).filter_map(|(i, name)| {
        let of =
            |kinds: &'_ Vec<(&str, Vec<&Alternative>)>| kinds.iter().position(|(known, _)| *known == name);
        let have: Vec<(usize, usize)> =
            kinds.iter().enumerate().filter_map(|(at, kinds)| Some((at, of(kinds)?))).collect();
        let (at, which) = have[i / 32 % have.len()];
        let (marks, _) = marks(&plantings[at], &some(&kinds[at][which].1));
        let row = golden.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let cell = format!("{} {marks}", cases[at].0);
        let is_so = match row {
            Some(row) => row.split(" → ").next()?.split(", ").any(|known| known == cell),
            None => !marks.contains(['~', '≈', '?']),
        };
        (!is_so)
            .then(|| format!("{name}: {cell}, recorded is {}", row.unwrap_or("that all are first or pass")))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}\n{ANEW}", wrong.join("\n"));
}

//! What is said at once where a change is planted.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use holdfast::judge::diagnose::{Alternative, Work, alternatives};
use holdfast::judge::faults::scan;
use holdfast::judge::faults::variant::Variant;
use holdfast::results::Diagnosis;
use holdfast::tensor::{TensorName, Tensors};
use rayon::prelude::*;
use rstest::rstest;

use super::{LENGTH, kind, problems};
use crate::figures::golden;
use crate::planting::Planting;

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

    /// What is said at once of the first tensor that fails, none where all pass; and what that takes.
    fn said_with_work(&self, got: &Tensors<f64>) -> (Option<Vec<Diagnosis>>, u64) {
        let (failing, work) = (self.failing(got), Work::default());
        let Some(first) = failing.first() else { return (None, 0) };
        let said = self.by_tensor(got, &failing, &work).get(*first).cloned();
        (Some(said.unwrap_or_default()), work.done())
    }
}

/// The first, the middle and the last of each kind: they differ in a number.
fn some(all: Vec<Alternative>) -> Vec<Alternative> {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, alternative) in all.iter().enumerate() {
        places.entry(kind(alternative)).or_default().push(i);
    }
    let mut chosen: Vec<usize> = Vec::new();
    for of_kind in places.values() {
        // Those of one scan alone are of all kinds.
        let is_of_scan = of_kind.len() > 300;
        let step = if is_of_scan { 64 } else { (of_kind.len() / 2).max(1) };
        chosen.extend(of_kind.iter().step_by(step));
        chosen.extend(of_kind.last());
    }
    chosen.sort_unstable();
    chosen.dedup();
    let mut of_all: Vec<Option<Alternative>> = all.into_iter().map(Some).collect();
    chosen.into_iter().filter_map(|i| of_all[i].take()).collect()
}

#[rstest]
fn what_is_said_of_planted_changes_is_as_recorded(#[values(0, 1, 2, 3, 4, 5)] at: usize) {
    let description = "Every kind of change to a scan, planted: how many are named first (=), named (~), pass (.), have another \
                       name (≈), get none at once (?), as what a statement of the recording would accept; in brackets how many \
                       positions × states that takes; and the first other name.";
    let (method, problem) = problems().swap_remove(at);
    let planting = Planting::new(method, problem);
    let all = some(alternatives(method, &planting.problem, LENGTH));
    let said: Vec<(Option<Vec<Diagnosis>>, u64)> = all
        .par_iter()
        .map(|alternative| planting.said_with_work(&planting.got(&alternative.variant)))
        .collect();
    let mut kinds: Vec<(String, String, u64, Option<String>)> = Vec::new();
    for (alternative, (said, work)) in all.iter().zip(said) {
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
        let other = said.iter().flatten().next().filter(|_| mark != '=');
        let other = other.map(|one| format!("{}: {}", one.name, one.what));
        let kind = kind(alternative);
        match kinds.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, marks, of_all, first)) => {
                marks.push(mark);
                *of_all += work;
                *first = first.take().or(other);
            }
            None => kinds.push((kind, mark.to_string(), work, other)),
        }
    }
    let mut table = String::new();
    for (kind, marks, work, other) in kinds {
        let other = other.map_or(String::new(), |other| format!(" → {other}"));
        let _ = writeln!(table, "{marks} [{work}] {kind}{other}");
    }
    golden(&format!("named-{method}"), description, &table);
}

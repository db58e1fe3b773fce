//! What is said at once where a change is planted.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use holdfast::judge::budget::{self, Budget};
use holdfast::judge::diagnose::{Alternative, Case, Effort, Models, Work, alternatives, by_tensor};
use holdfast::judge::faults::scan;
use holdfast::judge::faults::variant::Variant;
use holdfast::method::Method;
use holdfast::problem::Problem;
use holdfast::promise::Contract;
use holdfast::results::Diagnosis;
use holdfast::tensor::{Named, TensorName, Tensors};
use holdfast::truth;
use rayon::prelude::*;
use rstest::rstest;

use super::{LENGTH, kind, problems};
use crate::figures::golden;

/// A problem that changes are planted on, and what judges them.
pub struct Planting {
    pub method: Method,
    pub problem: Problem,
    want: Tensors<f64>,
    budget: Budget,
    models: Models,
}

impl Planting {
    pub fn new(method: Method, problem: Problem) -> Self {
        let want = truth::scan::solve(&problem, &[method]).expect("certified").remove(0).tensors;
        let budget = budget::scan(method, &problem, &Contract::PRODUCTION);
        let models = Models::compute(method, &problem);
        Planting { method, problem, want, budget, models }
    }

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

    /// The tensors that fail.
    pub fn failing(&self, got: &Tensors<f64>) -> Vec<TensorName> {
        let fails = |name: &TensorName| {
            let (got, want, bounds) = (&got[*name], &self.want[*name], &self.budget.tensors[*name].bound);
            let within = |i: usize| (got.values[i] - want.values[i]).abs() <= bounds[i / want.width];
            !(0..got.values.len()).all(within)
        };
        TensorName::ALL.into_iter().filter(fails).collect()
    }

    /// The first position at which an output of any channel fails.
    pub fn first_failure(&self, got: &Tensors<f64>) -> Option<usize> {
        let (got, want) = (&got[TensorName::Out].values, &self.want[TensorName::Out].values);
        let bounds = &self.budget.tensors[TensorName::Out].bound;
        let fails = |i: &usize| {
            let off = (got[*i] - want[*i]).abs();
            off.is_nan() || off > bounds[*i]
        };
        (0..got.len()).filter(fails).map(|i| i % self.problem.shape.seqlen).min()
    }

    pub fn case<'a>(&'a self, got: &'a Tensors<f64>, work: &'a Work) -> Case<'a> {
        let Planting { method, problem, want, budget, .. } = self;
        Case { form: (*method).into(), problem, got, want, budget, work }
    }

    /// What is said at once of the tensors that fail.
    pub fn by_tensor(
        &self,
        got: &Tensors<f64>,
        failing: &[TensorName],
        work: &Work,
    ) -> Named<Vec<Diagnosis>> {
        by_tensor(&self.case(got, work), failing, &self.models, Effort::RECORDED)
    }

    /// What is said at once of the first tensor that fails, none where all pass; and what that takes.
    fn said(&self, got: &Tensors<f64>) -> (Option<Vec<Diagnosis>>, u64) {
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
    let said: Vec<(Option<Vec<Diagnosis>>, u64)> =
        all.par_iter().map(|alternative| planting.said(&planting.got(&alternative.variant))).collect();
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

//! What changed between two runs: verdicts first, then errors, then what is gone or new.
//!
//! Scans are matched by their case ids, sweeps and invariants by name, weights and method, functions by name, and the lifted runs of
//! scans and sweeps by what they lift: everything that has a verdict is compared, pairs by number. Runs of another seed, and
//! recorded runs from files that merely have the same name, have other inputs under the same ids: they must not be
//! compared ([`Incomparable`]).
//!
//! - A tensor of a case is compared by its verdict, where that on the whole case is the same in both runs.
//! - A verdict is **worse** when it is no pass and was another verdict before: a failure that can no longer be
//!   measured is not mended. It is better when it has become a pass.
//! - An error **moved** when the larger of the two shares of the allowance is more than [`FACTOR`] times the smaller
//!   and at least [`NOTABLE`]. The same kernels give the same bits on the same machine, so any move is real; the rule
//!   keeps out those that say nothing: a worst share is the largest of some hundred rounding errors, and another order
//!   of the same operations moves it by less than 2, or moves it far below the bound.
//! - A case, sweep or invariant of which **fewer** elements are judged than before is a regression, whatever its verdict.
//! - Lifted runs are left out where the backends differ and one of them has no double build: nothing was lost then. The
//!   same backend without its lifted runs has lost them.
//! - What one run was not asked for ([`Results::planned`]) is left out, and pairs with it: a filtered run is compared with a whole one
//!   by what both have.
//! - Two runs that have nothing in common are no evidence: that is a regression as well.
//! - Of pairs only the failing ones are listed in results; the rest is compared by number.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::functions::{FunctionSummary, summaries};
use super::pairs::PairTotals;
use super::precision::Lifting;
use super::schema::{CaseResult, CoefficientResult, Results, TensorResult, Worst};
use super::verdict::Verdict;
use crate::formula::Form;

/// A share of the allowance that became this many times larger or smaller has moved.
pub const FACTOR: f64 = 2.0;
/// Both shares below this are nothing to look at: four bits are left to the bound.
pub const NOTABLE: f64 = 1.0 / 16.0;

/// One case, sweep, invariant, lifted run or function as one of the two runs has it.
#[derive(Clone, Debug, Serialize)]
pub struct Item {
    pub id: String,
    /// None of a function, which is not one method's.
    pub method: Option<Form>,
    pub verdict: Verdict,
    /// The worst share of the allowance used; none when nothing was measured.
    pub share: Option<f64>,
    /// Elements judged; none where that is not counted apart.
    pub judged: Option<usize>,
}

/// The same item in both runs.
#[derive(Clone, Debug, Serialize)]
pub struct ItemChange {
    pub old: Item,
    pub new: Item,
}

/// Everything that differs between two runs.
#[derive(Clone, Debug, Serialize)]
pub struct RunComparison {
    /// Verdicts that are worse, then those that are better, each in the order of the new run.
    pub verdicts: Vec<ItemChange>,
    /// Errors that moved under the same verdict, the largest factor first.
    pub errors: Vec<ItemChange>,
    /// Of which fewer elements are judged than before, although something still is; each is among the others as well.
    pub narrower: Vec<ItemChange>,
    /// Only in the old run.
    pub gone: Vec<Item>,
    /// Only in the new run.
    pub added: Vec<Item>,
    /// Items in both runs about which there is nothing to say.
    pub unchanged: usize,
    pub old_pairs: PairTotals,
    pub new_pairs: PairTotals,
    /// Those of gradients.
    pub old_gradient_pairs: PairTotals,
    pub new_gradient_pairs: PairTotals,
    /// Pairs that fail in the new run only: `problem: method vs method`, of a gradient with `in` its name behind it.
    pub failing_pairs: Vec<String>,
    /// Items of one run that the other was not asked for: neither they nor pairs are compared then.
    pub left_out: usize,
}

/// The runs' inputs differ: the same id does not stand for the same thing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    #[error(
        "the runs have the seeds {old} and {new}, expected the same: their inputs differ \
         (hint: repeat one of them with --seed {old})"
    )]
    OtherSeed { old: String, new: String },
    #[error(
        "`{id}` has {what} {old} in one and {new} in the other, expected the same problem \
         (hint: compare runs of the same inputs; recorded runs are matched by their files' names)"
    )]
    OtherProblem { id: String, what: &'static str, old: String, new: String },
}

/// Compares two runs.
///
/// # Errors
/// [`Incomparable`], when the same id stands for different inputs.
pub fn compare(old: &Results, new: &Results) -> Result<RunComparison, Incomparable> {
    if (old.seed, &old.seeds) != (new.seed, &new.seeds) {
        return Err(Incomparable::OtherSeed { old: old.all_seeds(), new: new.all_seeds() });
    }
    same_problems(old, new)?;
    let all = count(old) + count(new);
    let parts = (asked_of(new, old), asked_of(old, new));
    let (old, new) = (&*parts.0, &*parts.1);
    let left_out = all - count(old) - count(new);
    let lifted = old.backend == new.backend || old.lifted().next().is_some() && new.lifted().next().is_some();
    let (old_items, new_items) = (items(old, lifted), items(new, lifted));
    let before: BTreeMap<&str, &Item> = old_items.iter().map(|item| (item.id.as_str(), item)).collect();
    let after: BTreeSet<&str> = new_items.iter().map(|item| item.id.as_str()).collect();
    let (mut verdicts, mut errors, mut added, mut unchanged) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let mut narrower = Vec::new();
    for new in &new_items {
        let Some(&old) = before.get(new.id.as_str()) else {
            added.push(new.clone());
            continue;
        };
        let change = ItemChange { old: old.clone(), new: new.clone() };
        if change.is_narrower() {
            narrower.push(change.clone());
        }
        match () {
            () if old.verdict != new.verdict => verdicts.push(change),
            () if change.moved() => errors.push(change),
            () => unchanged += 1,
        }
    }
    verdicts.extend(tensor_verdicts(old, new));
    verdicts.sort_by_key(|change| !change.is_worse());
    errors.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
    Ok(RunComparison {
        verdicts,
        errors,
        narrower,
        gone: old_items.iter().filter(|item| !after.contains(item.id.as_str())).cloned().collect(),
        added,
        unchanged,
        old_pairs: old.pairs,
        new_pairs: new.pairs,
        old_gradient_pairs: old.gradient_pairs,
        new_gradient_pairs: new.gradient_pairs,
        failing_pairs: match left_out {
            0 => failing_pairs(new).difference(&failing_pairs(old)).cloned().collect(),
            _ => Vec::new(),
        },
        left_out,
    })
}

/// What of `results` another run was asked for, too; pairs are left as they are.
fn asked_of<'a>(other: &Results, results: &'a Results) -> Cow<'a, Results> {
    let Some(planned) = &other.planned else { return Cow::Borrowed(results) };
    let planned: BTreeSet<&str> = planned.iter().map(String::as_str).collect();
    let mut part = results.clone();
    part.cases.retain(|case| planned.contains(case.id.as_str()));
    part.coefficients.retain(|sweep| planned.contains(sweep.id().as_str()));
    part.invariants.retain(|law| planned.contains(law.id().as_str()));
    Cow::Owned(part)
}

fn count(results: &Results) -> usize {
    results.cases.len() + results.coefficients.len() + results.invariants.len()
}

impl RunComparison {
    /// Whether the new run is worse: in a verdict of something that both have, by something of which less is judged, by
    /// something that is gone, by something new that does not pass, or by its pairs; or whether it has nothing to compare.
    pub fn regressed(&self) -> bool {
        self.compared() == 0
            || self.verdicts.iter().any(ItemChange::is_worse)
            || !self.narrower.is_empty()
            || !self.gone.is_empty()
            || self.added.iter().any(|item| item.verdict != Verdict::Pass)
            || self.pairs_regressed()
    }

    /// How many items both runs have; of a case whose tensors alone changed, those as well.
    pub fn compared(&self) -> usize {
        self.verdicts.len() + self.errors.len() + self.unchanged
    }

    /// Whether more pairs fail or are unmeasured, or fewer problems were compared.
    pub fn pairs_regressed(&self) -> bool {
        if self.left_out > 0 {
            return false;
        }
        self.new_pairs.is_worse_than(&self.old_pairs)
            || self.new_gradient_pairs.is_worse_than(&self.old_gradient_pairs)
            || !self.failing_pairs.is_empty()
    }
}

impl Item {
    fn new(
        id: String,
        method: impl Into<Form>,
        verdict: Verdict,
        worst: &Option<Worst>,
        judged: Option<usize>,
    ) -> Self {
        let method = Some(method.into());
        Item { id, method, verdict, share: worst.as_ref().map(|worst| worst.share), judged }
    }
}

impl ItemChange {
    pub fn is_worse(&self) -> bool {
        self.new.verdict != self.old.verdict && self.new.verdict != Verdict::Pass
    }

    /// Whether fewer elements are judged than before. What can no longer be measured at all has a worse verdict instead.
    pub fn is_narrower(&self) -> bool {
        self.new.verdict != Verdict::Unmeasured && self.new.judged < self.old.judged
    }

    /// By what the share grew or shrank, at least 1: infinite when one of the two is no number.
    pub fn factor(&self) -> f64 {
        let (Some(old), Some(new)) = (self.old.share, self.new.share) else {
            return if self.old.share == self.new.share { 1.0 } else { f64::INFINITY };
        };
        match (old.is_finite(), new.is_finite()) {
            (true, true) if old == new => 1.0,
            (true, true) => old.max(new) / old.min(new),
            (false, false) => 1.0,
            _ => f64::INFINITY,
        }
    }

    /// Whether the new share is the larger one; one that is no number is larger than any.
    pub fn grew(&self) -> bool {
        let size =
            |item: &Item| item.share.map_or(-1.0, |share| if share.is_nan() { f64::INFINITY } else { share });
        size(&self.new) > size(&self.old)
    }

    /// The rule of the module documentation.
    fn moved(&self) -> bool {
        let reaches = |item: &Item| item.share.is_some_and(|share| share.is_nan() || share >= NOTABLE);
        self.factor() > FACTOR && (reaches(&self.old) || reaches(&self.new))
    }
}

/// The same id must stand for the same inputs. Files of an earlier version have no hash of them.
fn same_problems(old: &Results, new: &Results) -> Result<(), Incomparable> {
    let before: BTreeMap<&str, &CaseResult> = old.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    for new in &new.cases {
        let Some(old) = before.get(new.id.as_str()) else { continue };
        // Of several seeds each run shows its worst.
        let drawn_alike = old.seeds.as_ref().map(|s| s.shown) == new.seeds.as_ref().map(|s| s.shown);
        let hashed = !old.inputs.is_empty() && !new.inputs.is_empty() && drawn_alike;
        let texts = |case: &CaseResult| {
            [
                ("weights", case.weights.to_string()),
                ("input type", case.input.to_string()),
                ("shape", case.shape.to_string()),
                ("B", case.b.to_string()),
                ("C", case.c.to_string()),
                ("inputs of hash", if hashed { case.inputs.clone() } else { String::new() }),
            ]
        };
        for ((what, old), (_, other)) in texts(old).into_iter().zip(texts(new)) {
            if old != other {
                return Err(Incomparable::OtherProblem { id: new.id.clone(), what, old, new: other });
            }
        }
    }
    Ok(())
}

/// Everything that has a verdict of its own: cases, sweeps, invariants, then the lifted runs if `lifted`, and functions.
fn items(results: &Results, lifted: bool) -> Vec<Item> {
    let of_case = |case: &CaseResult| {
        Item::new(case.id.clone(), case.method, case.verdict, &case.worst, Some(case.judged))
    };
    let cases = results.cases.iter().map(|case| (of_case(case), &case.lifted));
    let sweeps = results.coefficients.iter().map(|sweep| (of_sweep(sweep), &sweep.lifted));
    let (mut items, lifts): (Vec<Item>, Vec<&Option<Lifting>>) = cases.chain(sweeps).unzip();
    let lifts: Vec<Item> = items
        .iter()
        .zip(lifts)
        .filter(|_| lifted)
        .filter_map(|(item, lifting)| lifting.as_ref().map(|lifting| of_lifted(item, lifting)))
        .collect();
    let laws = results.invariants.iter();
    items.extend(laws.map(|law| Item::new(law.id(), law.method, law.verdict, &law.worst, Some(law.judged))));
    items.extend(lifts);
    items.extend(summaries(&results.functions).into_iter().map(of_function));
    items
}

/// A function over all that was swept of it.
fn of_function(of: FunctionSummary) -> Item {
    let (id, judged) = (format!("functions/{}", of.function), Some(of.judged as usize));
    Item { id, method: None, verdict: of.verdict, share: Some(of.worst_share), judged }
}

/// The lifted run of a case or sweep; its share is that of the truncation, which its verdict is about.
fn of_lifted(item: &Item, lifting: &Lifting) -> Item {
    // A reason says why there is no share: it faulted, or there is no bound.
    let share = lifting.reason.is_empty().then_some(lifting.truncation.share);
    let id = format!("{}/lifted", item.id);
    Item { id, method: item.method, verdict: lifting.verdict, share, judged: None }
}

/// Tensors whose verdict changed although that on their case did not: one that fails hides nothing of the others. Files
/// of schema 1 tell nothing of them.
fn tensor_verdicts(old: &Results, new: &Results) -> Vec<ItemChange> {
    let before: BTreeMap<&str, &CaseResult> = old.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let mut changes = Vec::new();
    for new in &new.cases {
        let Some(old) = before.get(new.id.as_str()).filter(|old| old.verdict == new.verdict) else {
            continue;
        };
        for (name, was, is) in old.tensors.zip(&new.tensors) {
            let item = |tensor: &TensorResult| {
                let id = format!("{}/{name}", new.id);
                Item::new(id, new.method, tensor.verdict, &tensor.worst, Some(tensor.judged))
            };
            if was.verdict != is.verdict {
                changes.push(ItemChange { old: item(was), new: item(is) });
            }
        }
    }
    changes
}

fn of_sweep(sweep: &CoefficientResult) -> Item {
    let shares = sweep.worst_a_bar.iter().chain(&sweep.worst_b_bar).map(|worst| worst.share);
    let worse = |a: f64, b: f64| if a.is_nan() || a > b { a } else { b };
    let judged = Some(sweep.points.len());
    Item { share: shares.reduce(worse), ..Item::new(sweep.id(), sweep.method, sweep.verdict, &None, judged) }
}

fn failing_pairs(results: &Results) -> BTreeSet<String> {
    let failing = results.pairwise.iter().flat_map(|matrix| {
        let pairs = matrix.pairs.iter().filter(|pair| pair.status.is_failure());
        let name = matrix.tensor.gradient().map_or(String::new(), |name| format!(" in {name}"));
        pairs.map(move |pair| format!("{}: {} vs {}{name}", matrix.problem, pair.left, pair.right))
    });
    failing.collect()
}

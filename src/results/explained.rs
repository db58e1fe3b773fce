//! Which failed cases of a run are explained (diagnosing each of them would cost more than the run), and how what explains
//! them becomes part of the results. What was found out in the parts of a run is put together here as in an undivided run.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::schema::{CaseResult, CoefficientResult, Diagnosis, Results, Search, TensorResult};
use super::verdict::Verdict;
use crate::formula::Form;
use crate::problem::{Operand, Weights};
use crate::tensor::{ComputedName, GradientName, Named, TensorName};

/// What a diagnosis is named whose cause is lost digits: true whatever else there is.
pub const LOST_DIGITS: &str = "lost-digits";

/// What one is named that says where a coefficient is off, and not what it is there: any cause is worth more.
pub const OFF_SOMEWHERE: &str = "off-in-a-region";

/// Cases explained for each method, weight type and pass: those that a report shows first, and the smallest ones of
/// different regimes, which tell most faults apart. A run in which everything fails thus pays for 72.
const WORST: usize = 2;
const SMALLEST: usize = 4;

/// Indices of the cases to explain.
pub fn chosen(cases: &[CaseResult]) -> Vec<usize> {
    let all = Form::all().flat_map(|method| Weights::ALL.map(|weights| (method, weights)));
    let passes = all.flat_map(|of| [(of, false), (of, true)]);
    passes.flat_map(|(of, is_backward)| choose(cases, of, is_backward)).collect()
}

/// An id, and the seed that it was drawn with.
pub type Judged = (String, u64);

/// What one formula computes: a method, for weights of a type and a layout of B.
pub type FormulaKey = (Form, Weights, Operand);

/// What was found out of failures. A part of a run explains at least what the whole run shows of its cases.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Explanations {
    /// What each case's tensors look like.
    pub cases: Vec<(Judged, Named<Vec<Diagnosis>, ComputedName>)>,
    /// How far that was looked for, where not to the end.
    #[serde(default)]
    pub searches: Vec<(Judged, Search)>,
    /// The formulas of a header that were found out.
    pub formulas: BTreeSet<FormulaKey>,
    /// Cases and sweeps that such a formula explains.
    pub by_formula: Vec<(Judged, Diagnosis)>,
    /// Names that sweeps were given and the source of a header refutes.
    pub refuted: Vec<(Judged, Vec<String>)>,
}

impl Explanations {
    /// Adds those of another part.
    pub fn extend(&mut self, other: Explanations) {
        self.cases.extend(other.cases);
        self.searches.extend(other.searches);
        self.formulas.extend(other.formulas);
        self.by_formula.extend(other.by_formula);
        self.refuted.extend(other.refuted);
    }

    /// Puts them into the results of the whole run: of a few failed cases what they look like; and what a header is found to
    /// compute in the place of that, where it explains the errors at their own elements, or beside it where they lose digits.
    pub fn apply(self, results: &mut Results) {
        let seed = results.seed;
        let chosen = chosen(&results.cases);
        let mut looks: BTreeMap<Judged, _> = self.cases.into_iter().collect();
        let mut searches: BTreeMap<Judged, Search> = self.searches.into_iter().collect();
        for &at in &chosen {
            let case = &mut results.cases[at];
            case.search = searches.remove(&(case.id.clone(), case.shown_seed(seed)));
            if let Some(diagnoses) = looks.remove(&(case.id.clone(), case.shown_seed(seed))) {
                diagnosed(case, diagnoses);
            }
        }
        let refuted: BTreeMap<Judged, Vec<String>> = self.refuted.into_iter().collect();
        for sweep in &mut results.coefficients {
            if let Some(names) = refuted.get(&(sweep.id(), sweep.shown_seed(seed))) {
                sweep.diagnosis.retain(|one| !names.contains(&one.name));
            }
        }
        if self.formulas.is_empty() {
            return;
        }
        let by_formula: BTreeMap<Judged, Diagnosis> = self.by_formula.into_iter().collect();
        let shown = with_either_layout(&results.cases, chosen);
        let failing = failing_formulas(&results.cases, &shown, &results.coefficients);
        let explains = |(form, weights, b): FormulaKey, judged: Judged| {
            let explained = by_formula.get(&judged)?;
            // Where the other layout fails for another reason, this is said of one alone.
            let other =
                (form, weights, if b == Operand::Constant { Operand::Variable } else { Operand::Constant });
            let scope = match (failing.contains(&other) && !self.formulas.contains(&other), b) {
                (false, _) => "",
                (true, Operand::Constant) => "where B is constant, ",
                (true, Operand::Variable) => "where B varies, ",
            };
            Some(Diagnosis { what: format!("{scope}{}", explained.what), ..explained.clone() })
        };
        for at in shown {
            let case = &mut results.cases[at];
            let judged = (case.id.clone(), case.shown_seed(seed));
            let Some(found) = explains((case.method, case.weights, case.b), judged) else { continue };
            let said = |name: TensorName| {
                // What is lost in single alone is no less true for what else there is.
                let rounding = case.tensors[name].diagnosis.iter().find(|one| one.name == LOST_DIGITS);
                rounding.map_or_else(
                    || found.clone(),
                    |lost| Diagnosis { what: format!("{}; {}", lost.what, found.what), ..lost.clone() },
                )
            };
            // A cause is worth more than a region.
            let has_cause = |name: &TensorName| !case.tensors[*name].diagnosis.is_empty();
            let is_kept = |name: &TensorName| found.name != OFF_SOMEWHERE || !has_cause(name);
            let diagnoses: Named<Vec<Diagnosis>> = failing_outputs(case)
                .into_iter()
                .filter(is_kept)
                .map(|name| (name, vec![said(name)]))
                .collect();
            diagnosed(case, diagnoses);
        }
        for sweep in results.coefficients.iter_mut().filter(|one| one.verdict == Verdict::Fail) {
            let judged = (sweep.id(), sweep.shown_seed(seed));
            if let Some(found) = explains(formula_of_sweep(sweep), judged)
                && (found.name != OFF_SOMEWHERE || sweep.diagnosis.is_empty())
            {
                sweep.diagnosis = vec![found];
            }
        }
    }
}

/// A sweep has B at every point.
pub fn formula_of_sweep(sweep: &CoefficientResult) -> FormulaKey {
    (Form::Method(sweep.method), sweep.weights, Operand::Variable)
}

/// The formulas that fail in some of the cases or in a sweep.
pub fn failing_formulas(
    cases: &[CaseResult],
    chosen: &[usize],
    sweeps: &[CoefficientResult],
) -> BTreeSet<FormulaKey> {
    // A formula is not to blame for its derivatives.
    let forward = chosen.iter().map(|&at| &cases[at]).filter(|case| !case.is_backward());
    let of_cases = forward.map(formula);
    of_cases.chain(sweeps.iter().filter(|one| one.verdict == Verdict::Fail).map(formula_of_sweep)).collect()
}

/// With them the smallest failing case of each layout of B that none of them has: its cause may be another.
fn with_either_layout(cases: &[CaseResult], mut chosen: Vec<usize>) -> Vec<usize> {
    for at in smallest_of_formulas(cases) {
        if chosen.iter().all(|&other| formula(&cases[other]) != formula(&cases[at])) {
            chosen.push(at);
        }
    }
    chosen
}

/// The smallest failing case of each formula.
pub fn smallest_of_formulas(cases: &[CaseResult]) -> Vec<usize> {
    let mut failing: Vec<usize> = (0..cases.len())
        .filter(|&at| cases[at].verdict == Verdict::Fail && cases[at].worst.is_some())
        .filter(|&at| !cases[at].is_backward())
        .collect();
    failing.sort_by_key(|&at| size(&cases[at]));
    let mut known = BTreeSet::new();
    failing.retain(|&at| known.insert(formula(&cases[at])));
    failing
}

fn formula(case: &CaseResult) -> FormulaKey {
    (case.method, case.weights, case.b)
}

/// The outputs of a failed case that are to be explained: those that fail, or all where only all of them together do.
pub fn failing_outputs(case: &CaseResult) -> Vec<TensorName> {
    let fails = |tensor: &TensorResult| tensor.verdict == Verdict::Fail;
    let any = case.tensors.values().any(fails);
    case.tensors
        .iter()
        .filter(|(_, tensor)| !any || fails(tensor))
        .filter_map(|(name, _)| name.output())
        .collect()
}

/// The gradients of a failed case that fail.
pub fn failing_gradients(case: &CaseResult) -> Vec<GradientName> {
    let failing = case.tensors.iter().filter(|(_, tensor)| tensor.verdict == Verdict::Fail);
    failing.filter_map(|(name, _)| name.gradient()).collect()
}

/// Adds what explains some of a case's tensors.
pub fn diagnosed<N: Ord + Copy + Into<ComputedName>>(
    case: &mut CaseResult,
    diagnoses: Named<Vec<Diagnosis>, N>,
) {
    for (name, diagnosis) in diagnoses {
        if let Some(tensor) = case.tensors.get_mut(name) {
            tensor.diagnosis = diagnosis;
        }
    }
    case.diagnosis = headline(case);
}

/// Causes of the worst tensor; none where another one that fails has no name: a cause of one is no cause of both.
pub fn headline(case: &CaseResult) -> Vec<Diagnosis> {
    let is_unexplained =
        |tensor: &TensorResult| tensor.verdict == Verdict::Fail && tensor.diagnosis.is_empty();
    match worst_tensor(case) {
        Some(worst) if !case.tensors.values().any(is_unexplained) => worst.diagnosis.clone(),
        _ => Vec::new(),
    }
}

/// The tensor with the worst verdict, and among those the one with the largest share of its allowance used. Of two that are
/// as bad the first one, which the others may follow from.
pub fn worst_tensor(case: &CaseResult) -> Option<&TensorResult> {
    let share = |tensor: &TensorResult| tensor.worst.as_ref().map_or(f64::NEG_INFINITY, |worst| worst.share);
    let worse = |a: &TensorResult, b: &TensorResult| {
        a.verdict > b.verdict || a.verdict == b.verdict && share(a) > share(b)
    };
    case.tensors.values().reduce(|known, other| if worse(other, known) { other } else { known })
}

/// As long as it takes to solve: positions times states of the judged channels.
fn size(case: &CaseResult) -> usize {
    case.judged * case.shape.dstate
}

/// Of the failed cases of one pass of a method. A kernel that returned nothing has no output to explain.
fn choose(cases: &[CaseResult], (method, weights): (Form, Weights), is_backward: bool) -> Vec<usize> {
    let failed = |case: &CaseResult| {
        case.verdict == Verdict::Fail
            && case.worst.is_some()
            && !case.has_no_scan()
            && (case.method, case.weights) == (method, weights)
            && case.is_backward() == is_backward
    };
    let mut failing: Vec<usize> = (0..cases.len()).filter(|&at| failed(&cases[at])).collect();
    let ratio = |at: usize| cases[at].worst.as_ref().map_or(f64::NAN, |worst| worst.ratio);
    failing.sort_by(|&a, &b| ratio(b).total_cmp(&ratio(a)));
    let mut chosen: Vec<usize> = failing.iter().take(WORST).copied().collect();
    failing.sort_by_key(|&at| size(&cases[at]));
    let mut regimes: Vec<&str> = Vec::new();
    for at in failing {
        if regimes.len() < SMALLEST && !regimes.contains(&cases[at].regime.as_str()) {
            regimes.push(&cases[at].regime);
            if !chosen.contains(&at) {
                chosen.push(at);
            }
        }
    }
    chosen
}

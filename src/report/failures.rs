//! What failed, worst first, with everything that explains it.

use super::sweeps::Coefficient;
use super::{grid, invariants, precision, text};
use crate::formula::Form;
use crate::problem::Weights;
use crate::results::explained::chosen;
use crate::results::{
    BACKWARD, CaseResult, CoefficientResult, Diagnosis, InvariantResult, Lifting, OfSeeds, Results,
    TensorResult, Verdict, Worst, seeds_text,
};
use crate::tensor::ComputedName;

/// A failed scan, coefficient sweep or invariant. A scan or sweep whose run in double alone fails is one, too.
#[derive(Clone, Copy, Debug)]
pub enum Failure<'a> {
    Case(&'a CaseResult),
    Sweep(&'a CoefficientResult),
    Invariant(&'a InvariantResult),
}

/// Every failure. The worst of each method comes first, then the second worst of each, and so on: one broken
/// method must not hide another one behind its many regimes. Before them comes the worst on ordinary inputs, which are
/// what users have. Sweeps precede the other scans: wrong coefficients are why a scan is wrong. Broken invariants come last: they say that something is wrong, seldom what.
pub fn all(results: &Results) -> Vec<Failure<'_>> {
    let mut ranked: Vec<(usize, Failure)> = Vec::new();
    for method in Form::all() {
        let sweeps = results.coefficients.iter().filter(|s| s.method == method);
        let sweeps = sweeps.filter(|s| failed(s.verdict) || lifted_failed(s.lifted.as_ref()));
        let cases = results.cases.iter().filter(|c| c.method == method);
        let mut cases: Vec<_> =
            cases.filter(|c| failed(c.verdict) || lifted_failed(c.lifted.as_ref())).collect();
        cases.sort_by(|a, b| grid::worse(a, b));
        // The best example is what users have.
        let ordinary =
            |case: &CaseResult| results.regimes.iter().any(|r| r.ordinary && r.name == case.regime);
        let example = cases.iter().position(|case| ordinary(case)).map(|at| cases.remove(at));
        let invariants = results.invariants.iter().filter(|i| failed(i.verdict) && i.method == method);
        let mut invariants: Vec<_> = invariants.collect();
        invariants.sort_by(|a, b| invariants::worse(a, b));
        let failures = example.into_iter().map(Failure::Case).chain(sweeps.map(Failure::Sweep));
        let failures = failures.chain(cases.into_iter().map(Failure::Case));
        ranked.extend(failures.chain(invariants.into_iter().map(Failure::Invariant)).enumerate());
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, failure)| failure).collect()
}

/// So many of them, in their order. A fourth is kept for invariants: a method that is wrong in a hundred regimes must
/// not hide that it also breaks a law.
pub fn explained<'a>(failures: &[Failure<'a>], most: usize) -> Vec<Failure<'a>> {
    let is_invariant = |failure: &Failure| matches!(failure, Failure::Invariant(_));
    let invariants = failures.iter().filter(|f| is_invariant(f)).count();
    let others = failures.len() - invariants;
    let mut left = [most - invariants.min((most / 4).max(most.saturating_sub(others))), 0];
    left[1] = most - left[0];
    let mut take = |failure: &&Failure| {
        let left = &mut left[usize::from(is_invariant(failure))];
        let taken = *left > 0;
        *left -= usize::from(taken);
        taken
    };
    failures.iter().filter(|f| take(f)).copied().collect()
}

fn failed(verdict: Verdict) -> bool {
    verdict == Verdict::Fail
}

fn lifted_failed(lifted: Option<&Lifting>) -> bool {
    lifted.is_some_and(|lifted| failed(lifted.verdict))
}

/// The most names of one failure that are shown.
pub const SHOWN: usize = 3;

/// Said of what fails in double alone: its worst element is within its bound.
const LIFTED_ALONE: &str =
    "only its run in double fails: the formula is not the specified one, by less than f32 shows";

/// `fails with 3 of 200 seeds: 3,17..18`
fn seeds(of: &OfSeeds) -> String {
    let named = text::fit(&seeds_text(&of.failed), 60);
    format!("fails with {} of {}: {named}", of.failed.len(), text::count(of.judged, "seed"))
}

/// `out passes; last_state fails: state-without-b`; none where all tensors fail, for one and the same reason.
pub fn tensors(case: &CaseResult) -> Option<String> {
    let likeliest = |tensor: &TensorResult| tensor.diagnosis.first().map(|d| d.name.clone());
    let alike = |a: &TensorResult, b: &TensorResult| a.verdict == b.verdict && likeliest(a) == likeliest(b);
    let first = case.tensors.values().next()?;
    if case.tensors.values().all(|tensor| alike(tensor, first)) {
        return None;
    }
    let said = |(name, tensor): (ComputedName, &TensorResult)| match (tensor.verdict, likeliest(tensor)) {
        (Verdict::Pass, _) => format!("{name} passes"),
        (Verdict::Unmeasured, _) => format!("{name} is unmeasured"),
        (Verdict::Fail, Some(model)) => format!("{name} fails: {model}"),
        (Verdict::Fail, None) => format!("{name} fails"),
    };
    Some(case.tensors.iter().map(said).collect::<Vec<_>>().join("; "))
}

/// Lines on where each tensor fails.
fn places(case: &CaseResult) -> Vec<String> {
    case.tensors.iter().flat_map(|(name, tensor)| text::located(name.name(), &tensor.wrong)).collect()
}

impl<'a> Failure<'a> {
    /// The sentence in the place of a diagnosis, with the tensors that it is of where others have one; empty where there is a diagnosis, or
    /// nothing that could have one.
    pub fn unexplained(&self, results: &Results) -> String {
        let (search, is_tried) = match self {
            Failure::Case(case) => (
                case.search.as_ref(),
                chosen(&results.cases).iter().any(|&at| results.cases[at].id == case.id),
            ),
            _ => (None, true),
        };
        match self {
            // Only a few of many cases of a method are explained.
            _ if search.is_none() && !is_tried && !results.undiagnosed => String::new(),
            Failure::Invariant(_) => String::new(),
            _ if self.worst().is_empty() || !self.diagnosis().is_empty() => String::new(),
            _ => {
                let mut said = search.map_or_else(|| text::unexplained(results), text::ended);
                if self.follows(results) {
                    said += "; the outputs fail as well, and these gradients may follow from them";
                }
                if self.besides().is_empty() {
                    said
                } else {
                    format!("{}: {said}", self.unnamed().join(", "))
                }
            }
        }
    }

    /// Whether it is of gradients, and the outputs of the same inputs fail.
    fn follows(&self, results: &Results) -> bool {
        let Failure::Case(case) = self else { return false };
        let is_forward = |other: &CaseResult| {
            let is_of_id = case.id.strip_suffix(BACKWARD) == Some(other.id.as_str());
            let is_of_inputs = !case.inputs.is_empty() && case.inputs == other.inputs;
            !other.is_backward() && other.method == case.method && (is_of_id || is_of_inputs)
        };
        case.is_backward() && results.cases.iter().any(|other| failed(other.verdict) && is_forward(other))
    }

    /// The tensors that fail and have no diagnosis.
    fn unnamed(&self) -> Vec<String> {
        let Failure::Case(case) = self else { return Vec::new() };
        let is_unnamed = |tensor: &TensorResult| failed(tensor.verdict) && tensor.diagnosis.is_empty();
        case.tensors
            .iter()
            .filter(|(_, tensor)| is_unnamed(tensor))
            .map(|(name, _)| name.to_string())
            .collect()
    }

    pub fn method(&self) -> Form {
        match self {
            Failure::Case(case) => case.method,
            Failure::Sweep(sweep) => sweep.method.into(),
            Failure::Invariant(invariant) => invariant.method.into(),
        }
    }

    /// The case's id, or the sweep's name in the same style.
    pub fn title(&self) -> String {
        match self {
            Failure::Case(case) => case.id.clone(),
            Failure::Sweep(sweep) => sweep.id(),
            Failure::Invariant(invariant) => invariant.id(),
        }
    }

    /// Whether `other` shows all that there is to see: the same method and weights for the same cause, or for the same
    /// reason no output. One that was not `tried` to explain is like any other of its method.
    pub fn is_like(&self, other: &Failure, tried: bool) -> bool {
        let reason = self.reason();
        if self.worst().is_empty() && !reason.is_empty() && reason != LIFTED_ALONE {
            return reason == other.reason();
        }
        let law = |failure: &Failure| matches!(failure, Failure::Invariant(_));
        let cause = |failure: &Failure<'a>| failure.diagnosis().first().map(|d| (&*d.name, d.sentence()));
        !law(self)
            && !law(other)
            && (self.method(), self.weights()) == (other.method(), other.weights())
            && match cause(self) {
                Some(own) => other.diagnosis().first().is_some_and(|d| own == (&*d.name, d.sentence())),
                None => !tried,
            }
    }

    pub fn weights(&self) -> Weights {
        match self {
            Failure::Case(case) => case.weights,
            Failure::Sweep(sweep) => sweep.weights,
            Failure::Invariant(invariant) => invariant.weights,
        }
    }

    /// The verdict, with that of its run in double.
    pub fn verdict_with_lifted(&self, verdict: Verdict) -> Verdict {
        let lifted = match self {
            Failure::Case(case) => case.lifted.as_ref(),
            Failure::Sweep(sweep) => sweep.lifted.as_ref(),
            Failure::Invariant(_) => None,
        };
        Verdict::of_all([verdict].into_iter().chain(lifted.map(|lifted| lifted.verdict)))
    }

    /// The likeliest cause, or why there is no number, or else the worst element.
    pub fn in_a_line(&self) -> String {
        match (self.diagnosis().first(), self.reason(), self.worst().first()) {
            (Some(cause), ..) => format!("looks like {}", text::diagnosis(cause)),
            (None, "", Some(worst)) => text::worst(worst),
            (None, reason, _) => reason.to_owned(),
        }
    }

    /// What ran, beyond what the title says.
    pub fn detail(&self) -> String {
        match self {
            Failure::Case(case) => {
                format!("{}, {} elements judged, backend {}", case.shape, case.judged, case.backend)
            }
            Failure::Sweep(sweep) => format!("{} points, backend {}", sweep.points.len(), sweep.backend),
            Failure::Invariant(i) => {
                let compared = text::count(i.judged, "comparison");
                format!("must hold: {}; probe {}, {compared}, backend {}", i.what, i.problem, i.backend)
            }
        }
    }

    pub fn reason(&self) -> &'a str {
        match self {
            Failure::Case(case) if case.verdict == Verdict::Pass => LIFTED_ALONE,
            Failure::Sweep(sweep) if sweep.verdict == Verdict::Pass => LIFTED_ALONE,
            Failure::Case(case) => &case.reason,
            Failure::Sweep(sweep) => &sweep.reason,
            Failure::Invariant(invariant) => &invariant.reason,
        }
    }

    /// The worst element; of a sweep the worst Ā and the worst B̄, as far as they fail.
    pub fn worst(&self) -> Vec<&'a Worst> {
        match self {
            Failure::Case(case) => case.worst.iter().collect(),
            Failure::Sweep(sweep) => {
                let failing = Coefficient::ALL.into_iter().filter(|c| failed(c.verdict(sweep)));
                failing.filter_map(|c| c.worst(sweep)).collect()
            }
            Failure::Invariant(invariant) => invariant.worst.iter().collect(),
        }
    }

    /// Which of its tensors fail, where not all do alike; where those do; which bounds it is beyond; truncation
    /// and rounding apart.
    pub fn notes(&self) -> Vec<String> {
        let (of_seeds, notes) = match self {
            Failure::Case(case) => (
                &case.seeds,
                [Vec::from_iter(tensors(case)), places(case), precision::of_case(case)].concat(),
            ),
            Failure::Sweep(sweep) => (&sweep.seeds, precision::of_sweep(sweep)),
            Failure::Invariant(law) => (&law.seeds, Vec::new()),
        };
        of_seeds.iter().map(seeds).chain(notes).collect()
    }

    /// Likeliest first; [`SHOWN`] of them are shown.
    pub fn diagnosis(&self) -> &'a [Diagnosis] {
        match self {
            Failure::Case(case) => &case.diagnosis,
            Failure::Sweep(sweep) => &sweep.diagnosis,
            Failure::Invariant(_) => &[],
        }
    }

    /// What the tensors beside the worst one look like, where that is something else: `grad.A, grad.D look like …`.
    pub fn besides(&self) -> Vec<String> {
        let Failure::Case(case) = self else { return Vec::new() };
        let mut said: Vec<(Vec<String>, &Diagnosis)> = Vec::new();
        for (name, tensor) in case.tensors.iter().filter(|(_, tensor)| failed(tensor.verdict)) {
            let Some(cause) = tensor.diagnosis.first() else { continue };
            if case.diagnosis.iter().take(SHOWN).any(|shown| shown.name == cause.name) {
                continue;
            }
            match said.iter_mut().find(|(_, other)| (&other.name, &other.what) == (&cause.name, &cause.what))
            {
                Some((names, _)) => names.push(name.to_string()),
                None => said.push((vec![name.to_string()], cause)),
            }
        }
        let said = said.into_iter().map(|(names, cause)| {
            let verb = if names.len() == 1 { "looks" } else { "look" };
            format!("{} {verb} like {}", names.join(", "), text::diagnosis(cause))
        });
        said.collect()
    }

    /// The command that reruns it; empty when the results have none.
    pub fn rerun(&self) -> &'a str {
        match self {
            Failure::Case(case) => &case.rerun,
            Failure::Sweep(sweep) => &sweep.rerun,
            Failure::Invariant(invariant) => &invariant.rerun,
        }
    }
}

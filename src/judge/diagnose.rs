//! What a failed case looks like: the fault models that explain its recorded output, alone or in pairs.
//!
//! # When a model explains an output
//!
//! Every model comes with a bound on what a sound f32 kernel with that fault may be off it
//! ([`super::faults::scan`]). With e = got − model, and the case's own error got − want beside it:
//!
//! - its **share** is the largest |e| / bound over outputs and last states: at most 1 if the model is right;
//! - its **residual** is ‖e‖ / ‖got − want‖, each element in units of the larger of the model's bound and the
//!   specified method's, so that small elements count as much as large ones. Its inverse says how much better than
//!   the specified method the model fits.
//!
//! A model explains the case if its share is at most 1 and its residual at most ¼: rounding is all that is
//! left, and the model is needed to say so ([`NEEDED`]). A pair must also be that much better than each of its
//! two alone. Failing those, a model whose share is above 1 is still named when all but [`NEARLY`] of the error
//! is gone: a constant typed with four digits is the fault that it looks like. States rounded to 16 bits are
//! named from [`NEARLY_ROUNDED`] on: a recorded state that lies next to a rounding boundary goes the other way
//! than the model's, and that error has the size of the roundings themselves.
//!
//! Where the recorded value is infinite or NaN, a model agrees that is beyond the range of f32 there
//! ([`Row::beyond`](super::faults::scan::Row::beyond)); before that, and in channels that stay within the range, values have to
//! be finite and fit. What is no number proves nothing by itself: finite wrong elements and channels that leave the range at exactly
//! the model's position, at least [`FEWEST_TOLD`] together or as many as there is wrong, have to say the same.
//!
//! Of a recording, what no model explains is identified: [`Effort::RECORDED`] at once and [`identify`](fn@identify) in a second
//! or more find what differs and the numbers in it, and accept it by the same rule.
//!
//! What nothing explains gets no diagnosis. Models that coincide on the problem keep the catalogue's order.

mod budget;
pub(super) mod fit;
mod identify;
pub mod sweep;
mod work;

use std::borrow::Cow;
use std::sync::Arc;

pub use self::budget::{Budget, BudgetError, CASES, Searches};
use self::fit::{Fit, channels_by_error, fit, refuted_at_once};
pub(super) use self::identify::numbers;
use self::identify::{Explanation, Outcome, Search};
pub use self::work::Work;
use super::faults::Fault;
use super::faults::catalogue::{self, Entry};
use super::faults::pieces::{self, Pieces};
use super::faults::scan::{self, Channel, Row};
use super::faults::variant::Variant;
use crate::formula::Form;
use crate::parallel;
use crate::problem::stretch::Inputs as _;
use crate::problem::{InputType, Problem};
use crate::results::Diagnosis;
use crate::sorted;
use crate::tensor::{Named, TensorName, Tensors};

/// The most that may remain of the error for a model to be needed.
pub const NEEDED: f64 = 0.25;
/// The most that may remain where more than rounding remains: 2⁻⁶.
pub const NEARLY: f64 = 1.0 / 64.0;
/// The same for states rounded to 16 bits: one flipped rounding among 64 of its size.
pub const NEARLY_ROUNDED: f64 = 1.0 / 8.0;
/// Residuals closer than this are equal: the models are the same but for the order of f64 operations.
const SAME: f64 = 1e-6;
/// Elements that a model with free numbers has to say something of.
pub(super) const FEWEST_TOLD: usize = 8;
/// How many models a diagnosis names.
const NAMED: usize = 5;

/// A failed case, the judged channels only.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub form: Form,
    pub problem: &'a Problem,
    /// What was recorded.
    pub got: &'a Tensors<f64>,
    pub want: &'a Tensors<f64>,
    pub budget: &'a super::budget::Budget,
    /// Where what looking for a cause takes is counted.
    pub work: &'a Work,
}

impl Case<'_> {
    /// A judged channel of a variant; none of its numbers is one where the work is over.
    fn channel(&self, variant: &Variant, channel: (usize, usize)) -> Channel {
        if self.work.is_over() {
            let outline = self.problem.outline();
            let unknown = |name| {
                let (rest, width, _) = outline.layout(name);
                let len = rest.iter().product::<usize>();
                (name, Row::unknown(len, width))
            };
            let tensors = self.want.iter().map(|(name, _)| unknown(name)).collect();
            return Channel { tensors };
        }
        self.work.add(self.problem.shape.seqlen * self.problem.shape.dstate);
        scan::channel(variant, self.problem, channel)
    }

    /// Its first outputs ([`scan::beginning`]).
    fn beginning(&self, variant: &Variant, channel: (usize, usize), len: usize) -> Option<Row> {
        if self.work.is_over() {
            return Some(Row::unknown(len, 1));
        }
        self.work.add(len * self.problem.shape.dstate);
        scan::beginning(variant, self.problem, channel, len)
    }

    /// What its first outputs are made of ([`pieces::pieces`]).
    fn pieces(&self, variant: &Variant, channel: (usize, usize), len: usize) -> Option<Pieces> {
        if self.work.is_over() {
            return None;
        }
        self.work.add(len * self.problem.shape.dstate);
        pieces::pieces(variant, self.problem, channel, len)
    }
}

/// A change to the specified scan that is looked for in recordings.
pub struct Alternative {
    pub name: String,
    /// One sentence.
    pub what: String,
    /// The scan with it.
    pub variant: Variant,
    change: Arc<dyn Fn(&mut Variant) + Send + Sync>,
}

impl Alternative {
    /// Changes another scan likewise.
    pub fn change(&self, variant: &mut Variant) {
        (self.change)(variant);
    }
}

/// Every change that is looked for alone in a recording of this problem and has no number that is found in the data; of chunks
/// and blocks, whose length is found, those of `length` positions, and of clipped outputs one.
pub fn alternatives(form: impl Into<Form>, problem: &Problem, length: usize) -> Vec<Alternative> {
    identify::alternatives(problem, form.into(), length)
}

/// How much to look for.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How long to look for pairs: in positions times states that may be computed. A count, not a time, so that
    /// the same case gets the same diagnosis on every machine; a million take about a second.
    pub pairs: usize,
    /// Whether what no fault model explains is identified.
    pub identify: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { pairs: 1_500_000, identify: false }
    }
}

impl Effort {
    /// No pairs at all.
    pub const SINGLE: Effort = Effort { pairs: 0, identify: false };
    /// Of recordings: nobody can run their kernel on inputs that would say more.
    pub const RECORDED: Effort = Effort { pairs: 1_500_000, identify: true };
}

/// Every fault model that applies to a method and a problem, computed: what diagnoses of any number of outputs
/// start from.
pub struct Models {
    /// With the judged channels, in order.
    singles: Vec<(&'static Entry, Vec<Channel>)>,
}

impl Models {
    pub fn compute(form: impl Into<Form>, problem: &Problem) -> Self {
        Models::asked(form.into(), problem, &Work::default())
    }

    /// Those that are looked for in a case.
    pub fn of(case: &Case) -> Self {
        Models::asked(case.form, case.problem, case.work)
    }

    fn asked(form: Form, problem: &Problem, work: &Work) -> Self {
        let asked = catalogue::ALL.iter().filter(|entry| work.asks(entry.name));
        let applying: Vec<&Entry> = asked.filter(|entry| entry.fault.applies(form, problem)).collect();
        let computed = |entry: &&'static Entry| {
            let variant = variant(form, &[entry.fault]);
            let channels = problem.judged_channels.iter();
            let compute = |&channel| (!work.is_over()).then(|| scan::channel(&variant, problem, channel));
            Some((*entry, channels.map(compute).collect::<Option<_>>()?))
        };
        Models { singles: parallel::filter_map(&applying, &computed) }
    }
}

/// The models that explain each of the `failing` tensors, best first.
///
/// A model that explains all tensors of the case, those that pass among them, comes first: it is named for all that fail. So
/// is what is identified of all of them, where one is right. Failing that, each tensor is explained on its own, by a single
/// model; then all together by a pair; then each by a pair. A wrong last state thus hides nothing of what is wrong with the
/// output.
pub fn by_tensor(
    case: &Case,
    failing: &[TensorName],
    models: &Models,
    effort: Effort,
) -> Named<Vec<Diagnosis>> {
    let all: Vec<TensorName> = case.got.iter().map(|(name, _)| name).collect();
    let together = Explained::new(case, &all, models);
    let shared = (together.exact.is_empty() && all.len() > 1).then(|| together.with_pairs(effort));
    let one_is_right = failing.len() < all.len();
    let mut of_output = Vec::new();
    let mut diagnosed = |&name: &TensorName| {
        let Some(shared) = &shared else { return (name, together.with_pairs(effort).named()) };
        // What a right tensor refutes explains no other better than what explains both.
        if one_is_right && shared.is_identified() {
            return (name, shared.named());
        }
        let alone = Explained::new(case, &[name], models);
        let found = match () {
            () if !alone.exact.is_empty() => alone,
            () if shared.is_explained() => return (name, shared.named()),
            // What the output refutes, it refutes alone.
            () => alone.with_pairs(Effort {
                identify: effort.identify && (name != TensorName::Out || !shared.is_refuted),
                ..effort
            }),
        };
        if name == TensorName::Out && !shared.is_explained() {
            of_output = found.explanations();
        }
        // What only nearly fits has to fit everything.
        (name, if found.is_explained() { found.named() } else { shared.named() })
    };
    let each: Vec<(TensorName, Vec<Diagnosis>)> = failing.iter().map(&mut diagnosed).collect();
    // What explains the output, with what is wrong with the last state beside it.
    let beside = match failing.contains(&TensorName::LastState) && effort.identify && !of_output.is_empty() {
        true => together.search().with_last_state(&of_output),
        false => Outcome::Nothing,
    };
    match diagnoses(&beside) {
        beside if beside.is_empty() => each.into_iter().collect(),
        beside => failing.iter().map(|&name| (name, beside.clone())).collect(),
    }
}

/// What can be identified of the failing tensors that nothing else explains: of all tensors together, or of each alone. It
/// takes longer than all that comes before.
pub fn identify(case: &Case, failing: &[TensorName]) -> Named<Vec<Diagnosis>> {
    let all: Vec<TensorName> = case.got.iter().map(|(name, _)| name).collect();
    let search = |tensors: &[TensorName], say: &dyn Fn(Search) -> Outcome| {
        let order = channels_by_error(case, tensors);
        let applying = catalogue::ALL.iter().filter(|entry| entry.fault.applies(case.form, case.problem));
        say(Search::new(case, tensors, &order, applying))
    };
    let of_all = search(&all, &|search| search.thorough());
    let together = diagnoses(&of_all);
    if !together.is_empty() {
        // Better than what explains one of them alone.
        let wrong = all.into_iter().filter(|name| is_wrong(case, *name));
        return wrong.map(|name| (name, together.clone())).collect();
    }
    // What the output refutes, it refutes alone.
    let is_done = |name| all.len() == 1 || name == TensorName::Out && matches!(of_all, Outcome::Refuted);
    let (mut each, mut of_output) = (Vec::new(), Vec::new());
    for &name in failing {
        let mut alone =
            if is_done(name) { Outcome::Nothing } else { search(&[name], &|search| search.thorough()) };
        if let (TensorName::Out, Outcome::Explained(found)) = (name, &alone)
            && failing.contains(&TensorName::LastState)
        {
            let beside = diagnoses(&search(&all, &|search| search.with_last_state(found)));
            if !beside.is_empty() {
                return failing.iter().map(|&name| (name, beside.clone())).collect();
            }
            of_output.clone_from(found);
        }
        if name == TensorName::LastState && diagnoses(&alone).is_empty() {
            alone = search(&[name], &|search| search.with_fewer(&of_output));
        }
        each.push((name, diagnoses(&alone)));
    }
    each.into_iter().collect()
}

/// Whether anything of a tensor is beyond its bound.
fn is_wrong(case: &Case, name: TensorName) -> bool {
    let (got, want, bounds) = (&case.got[name], &case.want[name], &case.budget.tensors[name].bound);
    let within = |(i, (got, exact)): (usize, (&f64, &f64))| (got - exact).abs() <= bounds[i / want.width];
    !got.values.iter().zip(&want.values).enumerate().all(within)
}

/// What was identified, best first.
fn diagnoses(outcome: &Outcome) -> Vec<Diagnosis> {
    match outcome {
        Outcome::Explained(found) => found.iter().take(NAMED).map(Explanation::named).collect(),
        _ => Vec::new(),
    }
}

/// The models that explain all tensors of the case together, best first.
pub fn diagnose(case: &Case, models: &Models, effort: Effort) -> Vec<Diagnosis> {
    let all: Vec<TensorName> = case.got.iter().map(|(name, _)| name).collect();
    Explained::new(case, &all, models).with_pairs(effort).named()
}

/// How every model fits some tensors of a case, and which of them explain these.
#[derive(Clone)]
struct Explained<'a> {
    case: &'a Case<'a>,
    tensors: Vec<TensorName>,
    order: Vec<usize>,
    singles: Vec<(&'static Entry, Fit)>,
    exact: Vec<(Vec<&'static Entry>, Fit)>,
    /// What was identified where no single model explains it; none where a statement of the recording does.
    identified: Option<Vec<Explanation>>,
    /// Whether the output refutes all that could be identified.
    is_refuted: bool,
}

impl<'a> Explained<'a> {
    /// By single models.
    fn new(case: &'a Case, tensors: &[TensorName], models: &Models) -> Self {
        let order = channels_by_error(case, tensors);
        let fitted = |(entry, channels): &(&'static Entry, Vec<Channel>)| {
            (*entry, fit(case, tensors, &order, |row| Cow::Borrowed(&channels[row]), false))
        };
        let singles: Vec<(&Entry, Fit)> = models.singles.iter().map(fitted).collect();
        let exact = singles.iter().filter(|(_, fit)| fit.explains()).map(|&(entry, fit)| (vec![entry], fit));
        let exact = exact.collect();
        Explained {
            case,
            tensors: tensors.to_vec(),
            order,
            singles,
            exact,
            identified: Some(Vec::new()),
            is_refuted: false,
        }
    }

    fn is_identified(&self) -> bool {
        self.identified.as_ref().is_some_and(|found| !found.is_empty())
    }

    fn is_explained(&self) -> bool {
        !self.exact.is_empty() || self.identified.as_ref().is_none_or(|found| !found.is_empty())
    }

    /// By what is identified at once and by pairs, where no single model explains it; where a model nearly does, by all that
    /// can be identified.
    fn with_pairs(&self, effort: Effort) -> Self {
        let mut whole = self.clone();
        if self.is_explained() {
            return whole;
        }
        let search = effort.identify.then(|| self.search());
        let accept = |whole: &mut Self, outcome: Outcome| match outcome {
            Outcome::Nothing => {}
            Outcome::Refuted => whole.is_refuted = true,
            Outcome::Elsewhere => whole.identified = None,
            Outcome::Explained(found) => whole.identified = Some(found),
        };
        if let Some(search) = &search {
            accept(&mut whole, search.quick());
        }
        if !whole.is_explained() {
            whole.exact = pairs(self, effort);
        }
        if let (Some(search), false) = (&search, whole.is_explained() || whole.nearly().next().is_none()) {
            accept(&mut whole, search.thorough());
        }
        whole
    }

    /// What may be identified of these tensors.
    fn search(&self) -> Search<'_> {
        Search::new(self.case, &self.tensors, &self.order, self.singles.iter().map(|(entry, _)| *entry))
    }

    /// What explains these tensors, as far as it is to be combined with more.
    fn explanations(&self) -> Vec<Explanation> {
        let identified = self.identified.iter().flatten().cloned();
        let of_models = self.exact.iter().map(|(entries, fit)| Explanation::of(entries, *fit));
        identified.chain(of_models).take(NAMED).collect()
    }

    fn named(&self) -> Vec<Diagnosis> {
        match &self.identified {
            None => return Vec::new(),
            Some(found) if !found.is_empty() => {
                return found.iter().take(NAMED).map(Explanation::named).collect();
            }
            Some(_) => {}
        }
        best_first(self.exact.clone(), self.nearly().map(|(entry, fit)| (vec![entry], fit)).collect())
    }

    /// Models that leave little, and more than rounding.
    fn nearly(&self) -> impl Iterator<Item = (&'static Entry, Fit)> {
        self.singles.iter().copied().filter(|(entry, fit)| {
            let rounds = matches!(entry.fault, Fault::State(to) if to != InputType::F32);
            !fit.explains() && fit.residual <= if rounds { NEARLY_ROUNDED } else { NEARLY }
        })
    }
}

/// What is reported: the models that explain, then those that nearly do.
fn best_first(mut exact: Vec<(Vec<&Entry>, Fit)>, mut nearly: Vec<(Vec<&Entry>, Fit)>) -> Vec<Diagnosis> {
    by_residual(&mut exact);
    by_residual(&mut nearly);
    exact.into_iter().chain(nearly).take(NAMED).map(|(entries, fit)| named(&entries, fit)).collect()
}

fn named(entries: &[&Entry], fit: Fit) -> Diagnosis {
    let join = |text: fn(&Entry) -> &'static str, with: &str| {
        entries.iter().map(|entry| text(entry)).collect::<Vec<_>>().join(with)
    };
    Diagnosis { name: join(|e| e.name, " + "), what: join(|e| e.what, "; "), residual: fit.residual }
}

/// Ascending; equal ones stay in the catalogue's order.
fn by_residual(models: &mut [(Vec<&Entry>, Fit)]) {
    sorted::by_number(models, &|(_, fit)| fit.residual);
    // A chain of equals, each within SAME of the first, goes back into the catalogue's order.
    let position = |entries: &[&Entry]| -> Vec<usize> {
        entries.iter().filter_map(|e| catalogue::ALL.iter().position(|other| other.name == e.name)).collect()
    };
    let mut start = 0;
    while start < models.len() {
        let first = models[start].1.residual;
        let len = models[start..].iter().take_while(|(_, fit)| fit.residual <= first * (1.0 + SAME)).count();
        sorted::by_key(&mut models[start..start + len], &|(entries, _)| position(entries));
        start += len;
    }
}

/// The specified form with these faults in it: what runs another form first, as others change parts of that.
pub(super) fn variant(form: Form, faults: &[Fault]) -> Variant {
    let mut variant = Variant::specified(form);
    let (forms, others): (Vec<_>, Vec<_>) = faults.iter().partition(|f| matches!(f, Fault::RunsAs(_)));
    forms.into_iter().chain(others).for_each(|fault: &Fault| fault.change(&mut variant));
    variant
}

/// Pairs that explain the case. Those whose members remove most of the error by themselves come first, as far
/// as the effort goes.
fn pairs(explained: &Explained, effort: Effort) -> Vec<(Vec<&'static Entry>, Fit)> {
    let Explained { case, tensors, order, singles, .. } = explained;
    let shape = case.problem.shape;
    let per_pair = shape.seqlen * shape.dstate * if case.form.is_bidirectional() { 2 } else { 1 };
    let mut ranked: Vec<usize> = (0..singles.len()).collect();
    sorted::by_number(&mut ranked, &|&single| singles[single].1.residual);
    let mut combinations: Vec<(usize, usize)> = Vec::new();
    for (rank, &second) in ranked.iter().enumerate() {
        combinations.extend(ranked[..rank].iter().map(|&first| (first.min(second), first.max(second))));
    }
    combinations.truncate(effort.pairs / per_pair.max(1));
    let explains = |&(first, second): &(usize, usize)| {
        let ((a, fit_a), (b, fit_b)) = (singles[first], singles[second]);
        if a.fault.excludes(b.fault) {
            return None;
        }
        let variant = variant(case.form, &[a.fault, b.fault]);
        if refuted_at_once(case, tensors, order, &variant) {
            return None;
        }
        let channel = |row: usize| Cow::Owned(case.channel(&variant, case.problem.judged_channels[row]));
        let fit = fit(case, tensors, order, channel, true);
        let is_needed = fit.residual <= NEEDED * fit_a.residual.min(fit_b.residual);
        (fit.explains() && is_needed).then(|| (vec![a, b], fit))
    };
    parallel::filter_map(&combinations, &explains)
}

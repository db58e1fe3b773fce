//! What a failed case looks like: the fault models that explain its recorded output, alone or in pairs.
//!
//! # When a model explains an output
//!
//! Every model comes with a bound on what a sound f32 kernel with that fault may be off it
//! ([`super::explain::evaluate`]). With e = got − model, and the case's own error got − want beside it:
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
//! ([`Row::beyond`]); before that, and in channels that stay within the range, values have to
//! be finite and fit. What is no number proves nothing by itself: finite wrong elements and channels that leave the range at exactly
//! the model's position, at least [`FEWEST_TOLD`] together or as many as there is wrong, have to say the same. The first channel of each
//! such position counts for three: it says which one of as many as the sequence has.
//!
//! A recording that no model explains may be an edit of the specified program, which is looked for there and accepted by the same rule
//! ([`super::explain`]).
//!
//! What nothing explains gets no diagnosis. Models that coincide on the problem keep the catalogue's order.

mod budget;
pub(super) mod fit;
pub mod sweep;
mod work;

use std::borrow::Cow;

pub use self::budget::{Budget, BudgetError, CASES, Searches};
use self::fit::{Fit, channels_by_error, fit, refuted_at_once};
pub use self::work::Work;
use super::explain::{Channel, Evaluator, Row, Window, changes_right_outputs};
use super::faults::Fault;
use super::faults::catalogue::{self, Entry};
use super::faults::program;
use super::faults::variant::Variant;
use crate::formula::Form;
use crate::parallel;
use crate::problem::stretch::Inputs as _;
use crate::problem::{InputType, Problem};
use crate::program::{Graph, Program, Symbol};
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
    /// Whether its work is over; else what so many positions of a channel take is counted.
    fn is_over(&self, len: usize) -> bool {
        let is_over = self.work.is_over();
        self.work.add(if is_over { 0 } else { len * self.problem.shape.dstate });
        is_over
    }

    /// A judged channel of a program; none of its numbers is one where the work is over.
    fn channel(&self, program: &(Graph, Program), channel: (usize, usize)) -> Channel {
        if self.is_over(self.problem.shape.seqlen) {
            let outline = self.problem.outline();
            let unknown = |name| {
                let (rest, width, _) = outline.layout(name);
                (name, Row::unknown(rest.iter().product(), width))
            };
            return Channel { tensors: self.want.iter().map(|(name, _)| unknown(name)).collect() };
        }
        computed(program, self.problem, channel)
    }

    /// Its first outputs, of a program whose outputs depend on no later positions.
    fn beginning(
        &self,
        (graph, program): &(Graph, Program),
        channel: (usize, usize),
        len: usize,
    ) -> Option<Row> {
        if program.find(Symbol::ReversedState).is_some() {
            return None;
        }
        if self.is_over(len) {
            return Some(Row::unknown(len, 1));
        }
        let window = Window { first: 0, len };
        Some(Evaluator::new(self.problem, channel, window, [None, None]).out(graph, program))
    }
}

/// A channel of a program.
fn computed((graph, program): &(Graph, Program), problem: &Problem, channel: (usize, usize)) -> Channel {
    Channel { tensors: Evaluator::whole(problem, channel).tensors(graph, program) }
}

/// How long to look for pairs of models: in positions times states that may be computed. A count, not a time, so that the same case gets
/// the same diagnosis on every machine; a million take about a second.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub pairs: usize,
    /// Whether models are named that leave little of the error, and more than rounding.
    pub nearly: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { pairs: 1_500_000, nearly: true }
    }
}

impl Effort {
    /// No pairs at all.
    pub const SINGLE: Effort = Effort { pairs: 0, nearly: true };
    /// Single models that leave rounding alone.
    pub const EXACT: Effort = Effort { pairs: 0, nearly: false };
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
            let program = program::program(form, problem, &[entry.fault]);
            let channels = problem.judged_channels.iter();
            let compute = |&channel| (!work.is_over()).then(|| computed(&program, problem, channel));
            Some((*entry, channels.map(compute).collect::<Option<_>>()?))
        };
        Models { singles: parallel::filter_map(&applying, &computed) }
    }
}

/// The models that explain each of the `failing` tensors, best first.
///
/// A model that explains all tensors of the case, those that pass among them, comes first: it is named for all that fail. Failing
/// that, each tensor is explained on its own, by a single model, and then all together by a pair. A wrong last state thus hides nothing of
/// what is wrong with the output.
pub fn by_tensor(
    case: &Case,
    failing: &[TensorName],
    models: &Models,
    effort: Effort,
) -> Named<Vec<Diagnosis>> {
    let all: Vec<TensorName> = case.got.iter().map(|(name, _)| name).collect();
    let together = Explained::new(case, &all, models);
    let shared = (together.exact.is_empty() && all.len() > 1).then(|| together.with_pairs(effort));
    let diagnosed = |&name: &TensorName| {
        let Some(shared) = &shared else { return (name, together.with_pairs(effort).named(effort)) };
        let alone = Explained::new(case, &[name], models);
        // What only nearly fits, and a pair, has to fit everything.
        (name, if alone.exact.is_empty() { shared.named(effort) } else { alone.named(effort) })
    };
    failing.iter().map(diagnosed).collect()
}

/// The models that explain all tensors of the case together, best first.
pub fn diagnose(case: &Case, models: &Models, effort: Effort) -> Vec<Diagnosis> {
    let all: Vec<TensorName> = case.got.iter().map(|(name, _)| name).collect();
    Explained::new(case, &all, models).with_pairs(effort).named(effort)
}

/// How every model fits some tensors of a case, and which of them explain these.
#[derive(Clone)]
struct Explained<'a> {
    case: &'a Case<'a>,
    tensors: Vec<TensorName>,
    order: Vec<usize>,
    singles: Vec<(&'static Entry, Fit)>,
    exact: Vec<(Vec<&'static Entry>, Fit)>,
}

impl<'a> Explained<'a> {
    /// By single models.
    fn new(case: &'a Case, tensors: &[TensorName], models: &Models) -> Self {
        let order = channels_by_error(case, tensors);
        let fitted = |(entry, channels): &(&'static Entry, Vec<Channel>)| {
            (*entry, fit(case, tensors, &order, |row| Cow::Borrowed(&channels[row]), false))
        };
        let singles: Vec<(&Entry, Fit)> = models.singles.iter().map(fitted).collect();
        // Models of a last state alone that leave right outputs as they are come before all others.
        let of_state_alone = tensors == [TensorName::LastState];
        let leaves_outputs = |channels: &[Channel]| {
            let changes =
                |&row: &usize| changes_right_outputs(case, row, &channels[row].tensors[TensorName::Out]);
            of_state_alone && !order.iter().any(changes)
        };
        let explaining = singles.iter().zip(&models.singles).filter(|((_, fit), _)| fit.explains());
        let explaining: Vec<_> =
            explaining.map(|(&(entry, fit), (_, channels))| (entry, fit, leaves_outputs(channels))).collect();
        let any_leaves = explaining.iter().any(|(.., leaves)| *leaves);
        let kept = explaining.into_iter().filter(|(.., leaves)| *leaves || !any_leaves);
        let exact = kept.map(|(entry, fit, _)| (vec![entry], fit)).collect();
        Explained { case, tensors: tensors.to_vec(), order, singles, exact }
    }

    /// By pairs, where no single model explains it.
    fn with_pairs(&self, effort: Effort) -> Self {
        let mut whole = self.clone();
        if whole.exact.is_empty() {
            whole.exact = pairs(self, effort);
        }
        whole
    }

    fn named(&self, effort: Effort) -> Vec<Diagnosis> {
        let nearly = self.nearly().filter(|_| effort.nearly);
        best_first(self.exact.clone(), nearly.map(|(entry, fit)| (vec![entry], fit)).collect())
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
    Diagnosis::new(join(|e| e.name, " + "), join(|e| e.what, "; "), fit.residual)
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

/// The specified coefficients with these faults in them: what runs another form first, as others change parts of that.
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
        let program = program::program(case.form, case.problem, &[a.fault, b.fault]);
        if refuted_at_once(case, tensors, order, &program) {
            return None;
        }
        let channel = |row: usize| Cow::Owned(case.channel(&program, case.problem.judged_channels[row]));
        let fit = fit(case, tensors, order, channel, true);
        let is_needed = fit.residual <= NEEDED * fit_a.residual.min(fit_b.residual);
        (fit.explains() && is_needed).then(|| (vec![a, b], fit))
    };
    parallel::filter_map(&combinations, &explains)
}

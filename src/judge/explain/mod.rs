//! Finds the edit of the specified program that computes what a failed run did, and says it as a program.
//!
//! A hypothesis is the [program](crate::program) that a form specifies with an [edit](crate::program::edit), at all positions or some.
//! Hypotheses are tried by how many bits it takes to say them. Most are refuted by a few positions around the first failure
//! of a channel ([`look`]), which begin with the specified state where all before them is right; what is left is compared with
//! every element, by the rule of all diagnoses ([`super::diagnose`]): all elements within the program's own bounds, and at most a quarter of the
//! error left. Numbers are found by least squares ([`number`]).

mod accepted;
mod aliases;
mod apart;
mod column;
mod evaluate;
mod functions;
pub mod gradients;
mod last_state;
mod look;
mod naming;
mod number;
mod pairs;
mod part;
mod places;
mod point;
mod said;
mod terms;
mod values;
mod written;

use std::cell::Cell;
use std::collections::BTreeSet;

pub use self::column::Column;
pub use self::evaluate::{Channel, Entering, Evaluator, Row, Window};
use self::look::Looks;
use super::diagnose::Case;
use super::diagnose::fit::{Fit, channels_by_error};
use crate::formula::Form;
use crate::problem::{InputType, Problem};
use crate::program::edit::{Edit, Patch};
use crate::program::proposed;
use crate::program::writing::Writing;
use crate::program::{Function, Graph, Id, Input, Op, Program, Symbol};
use crate::results::Diagnosis;
use crate::tensor::{Named, TensorName};

/// Bits within which hypotheses that explain a run are said beside each other.
const BESIDE: f64 = 1.0;
/// Hypotheses that are said.
const SAID: usize = 3;

/// Units of work in which one edit is looked for.
const EDIT_WORK: u64 = 100_000_000;
/// Units of coefficients, each of which takes as long as some hundred positions do.
const COEFFICIENT_WORK: u64 = 500_000;
/// Outputs, or residuals, that differ by less than this, relative, are of the same computation.
const SAME: f64 = 1e-6;
/// Wrong elements of which an explanation has to tell one at least.
const TOLD: usize = 3;

/// The most that bounds may be wider than the specified ones where a way of writing has terms that cancel.
const WIDEST: f64 = 4.0;

/// Numbers carried into chunks of which up to two that are found in the data may make what they like.
const CARRIED: usize = 4;

/// How far beyond its bound an edit puts an output that is right, at least, if it is not so.
const CONTRADICTS: f64 = 4.0;

/// Positions times states of which a program's values are kept.
const KEPT: usize = 1 << 18;

/// The specified program of a problem, with its graph.
pub fn specified(form: Form, problem: &Problem) -> (Graph, Program) {
    let mut graph = Graph::new(problem);
    let program = Program::specified(form, problem, &mut graph);
    (graph, program)
}

/// One edit that explains the failing tensors of a case, or another form, best first; within [`EDIT_WORK`] of work, and as much again where some
/// channels pass.
pub fn by_edits(case: &Case, failing: &[TensorName]) -> Named<Vec<Diagnosis>> {
    of_each((case, false), failing, &|search| search.with_an_edit())
}

/// Two edits, as long as there is time.
pub fn by_two_edits(case: &Case, failing: &[TensorName]) -> Named<Vec<Diagnosis>> {
    of_each((case, true), failing, &|search| search.with_two())
}

/// One edit with a number at some places, or of another way of writing: this takes longer than two edits do.
pub fn by_edits_at_length(case: &Case, failing: &[TensorName]) -> Named<Vec<Diagnosis>> {
    of_each((case, true), failing, &|search| search.at_length())
}

/// Two edits, each in some channels, that explain all tensors together, or the output alone.
pub fn by_edits_apart(case: &Case, failing: &[TensorName]) -> Named<Vec<Diagnosis>> {
    let all: Vec<TensorName> = case.got.iter().map(|(name, _)| name).collect();
    if !is_asked(case, &all) {
        return Named::default();
    }
    let together = Search::new(case, &all).apart();
    let found = together.map(|found| (found, failing)).or_else(|| {
        let out = failing.iter().position(|name| *name == TensorName::Out).filter(|_| all.len() > 1)?;
        Some((Search::new(case, &[TensorName::Out]).apart()?, &failing[out..=out]))
    });
    let Some((found, of)) = found.filter(|_| !case.work.is_over()) else { return Named::default() };
    of.iter().map(|&name| (name, vec![found.clone()])).collect()
}

/// Names that scripts may know, of other forms and of edits, in the order of the alphabet. Any other edit has one that is made of its place
/// and of what is there.
pub fn names() -> Vec<String> {
    let forms = Form::all()
        .flat_map(|form| ["runs-as", "a-bar-of", "b-bar-of"].map(|part| format!("{part}-{}", form.name())));
    let names: BTreeSet<String> = forms.chain(aliases::all().map(str::to_owned)).collect();
    names.into_iter().collect()
}

/// Explains each of the failing tensors, by one edit, two in different channels, two, or one that takes long to find.
pub fn explained(case: &Case, failing: &[TensorName]) -> Named<Vec<Diagnosis>> {
    let mut found: Named<Vec<Diagnosis>> = Named::default();
    for explain in [by_edits, by_edits_apart, by_two_edits, by_edits_at_length] {
        let is_open = |name: &TensorName| found.get(*name).is_none_or(Vec::is_empty);
        let open: Vec<TensorName> = failing.iter().copied().filter(is_open).collect();
        if !open.is_empty() && !case.work.is_over() {
            explain(case, &open).into_iter().for_each(|(name, more)| found.insert(name, more));
        }
    }
    found
}

/// Explains outputs in 16 bits that are cut off where they are to be rounded, which looser bounds would accept.
pub fn by_cut_off(case: &Case, failing: &[TensorName]) -> Named<Vec<Diagnosis>> {
    let mut all = Named::default();
    let is_narrow = case.problem.stored(TensorName::Out) != InputType::F32;
    if is_narrow && is_asked(case, failing) && failing.contains(&TensorName::Out) {
        let mut search = Search::new(case, &[TensorName::Out]);
        let edits = proposed::cut_off(&search.program, case.problem).into_iter().collect();
        let found = search.tried(edits);
        all.insert(TensorName::Out, search.said(found));
    }
    all
}

/// Explains outputs of a step that are [its coefficients](super::diagnose::sweep): an edit of Ā or of B̄.
pub(super) fn of_coefficients(case: &Case) -> Vec<Diagnosis> {
    let mut search = Search::new(case, &[TensorName::Out]);
    search.of_coefficients = true;
    search.specified = search.along(search.specified.clone());
    search.program = search.specified.clone();
    search.most = case.work.end_of_stage(COEFFICIENT_WORK);
    let found = search.alone();
    if case.work.is_over() { Vec::new() } else { search.said(found) }
}

/// Whether edits can be looked for in these tensors.
fn is_asked(case: &Case, all: &[TensorName]) -> bool {
    all.iter().all(|name| TensorName::SCANNED.contains(name)) && !is_constant(case)
}

/// Explains all tensors together, or each of the failing ones alone, by what a search finds, which may be a long one.
fn of_each(
    (case, is_long): (&Case, bool),
    failing: &[TensorName],
    found: &dyn Fn(&mut Search) -> Vec<Found>,
) -> Named<Vec<Diagnosis>> {
    let all: Vec<TensorName> = case.got.iter().map(|(name, _)| name).collect();
    if !is_asked(case, &all) {
        return Named::default();
    }
    let alone = Cell::new(false);
    let of = |tensors: &[TensorName], of_output: &[Edit]| {
        let mut search = Search::new(case, tensors);
        search.as_specified = alone.get();
        search.begin_with(of_output);
        let found = match of_output.is_empty() {
            true => found(&mut search),
            false => search.as_it_is().into_iter().chain(search.with_plain()).take(1).collect(),
        };
        let found: Vec<Found> = found.into_iter().filter(|one| !search.contradicts_out(one)).collect();
        let edits =
            found.first().filter(|one| one.writing == Writing::Specified).map(|one| one.edits.clone());
        let said = if case.work.is_over() { Vec::new() } else { search.said(found) };
        (said, edits.unwrap_or_default())
    };
    let (together, _) = of(&all, &[]);
    // Where another last state is right, an output is hardly explained by what changes that, too: not worth a long search.
    let is_right = |name: &TensorName| *name == TensorName::Out || !is_wrong_in(case, *name);
    let is_output = is_long && failing == [TensorName::Out] && all.iter().all(is_right);
    if !together.is_empty() || all.len() == 1 || is_output {
        return failing.iter().map(|&name| (name, together.clone())).collect();
    }
    let mut named: Named<Vec<Diagnosis>> = Named::default();
    // An edit of an output that has a name already may be in the last state as well.
    let mut of_output = match failing.contains(&TensorName::Out) {
        false if all.contains(&TensorName::Out) && is_wrong_in(case, TensorName::Out) => {
            of(&[TensorName::Out], &[]).1
        }
        _ => Vec::new(),
    };
    let is_output_open = |named: &Named<Vec<Diagnosis>>| {
        failing.contains(&TensorName::Out) && named.get(TensorName::Out).is_none_or(Vec::is_empty)
    };
    for &name in failing {
        // What a last state was computed in would show in the output, which has no cause.
        if name == TensorName::LastState && is_output_open(&named) {
            alone.set(true);
        }
        let (mut said, edits) = of(&[name], &[]);
        if name == TensorName::Out {
            of_output = edits;
        } else if said.is_empty() && !of_output.is_empty() {
            // A last state may have the edit of the output and one of its own.
            said = of(&[name], &of_output).0;
        }
        if !said.is_empty() {
            named.insert(name, said);
        }
    }
    named
}

/// Whether anything of a tensor is beyond its bound.
fn is_wrong_in(case: &Case, name: TensorName) -> bool {
    let (got, want, bounds) = (&case.got[name], &case.want[name], &case.budget.tensors[name].bound);
    let mut elements = got.values.iter().zip(&want.values).enumerate();
    elements.any(|(i, (got, want_of))| is_wrong(*got, *want_of, bounds[i / want.width]))
}

/// Whether a channel's outputs that are right would be others as they are computed here.
fn changes_right_outputs(case: &Case, row: usize, computed: &Row) -> bool {
    let Some(got) = case.got.get(TensorName::Out) else { return false };
    let (want, bounds) = (&case.want[TensorName::Out].values, &case.budget.tensors[TensorName::Out].bound);
    let first = row * case.problem.shape.seqlen;
    computed.values.iter().zip(first..).any(|(value, at)| {
        let is_right = !is_wrong(got.values[at], want[at], bounds[at]);
        is_right && (value - want[at]).abs() > CONTRADICTS * bounds[at]
    })
}

/// Whether all outputs are one number, not 0: any limit computes that, whatever is under it.
fn is_constant(case: &Case) -> bool {
    let out = case.got.get(TensorName::Out).map_or(&[][..], |out| &out.values);
    out.first().is_some_and(|first| *first != 0.0 && out.iter().all(|value| value == first))
}

/// A way of writing the program, and edits of it, that together explain a case.
struct Found {
    writing: Writing,
    edits: Vec<Edit>,
    fit: Fit,
    /// Outputs in the looks: what computes the same has the same.
    outputs: Vec<f64>,
}

impl Found {
    /// Whether outputs, or without any residuals, are alike.
    fn computes_like(&self, other: &Found) -> bool {
        let is_near = |a: f64, b: f64, size: f64| (a - b).abs() <= SAME * size || a == b;
        let size = self.outputs.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let outputs = self.outputs.iter().zip(&other.outputs);
        match self.outputs.is_empty() {
            true => is_near(self.fit.residual, other.fit.residual, self.fit.residual),
            false => outputs.into_iter().all(|(a, b)| is_near(*a, *b, size) || a.is_nan() && b.is_nan()),
        }
    }

    fn cost(&self) -> f64 {
        self.writing.cost() + self.edits.iter().map(Edit::cost).sum::<f64>()
    }
}

/// Looks for one edit more, or for a way of writing.
type Find<'f, 'a> = &'f dyn Fn(&mut Search<'a>) -> Vec<Found>;

/// A search for what explains some tensors of a case.
struct Search<'a> {
    case: &'a Case<'a>,
    tensors: Vec<TensorName>,
    /// Judged channels, the most wrong one first.
    order: Vec<usize>,
    graph: Graph,
    specified: Program,
    /// The program that is edited, how it is written, and the edits that it has: none of the specified one.
    program: Program,
    writing: Writing,
    edits: Vec<Edit>,
    /// Nodes of the specified program, and of the one that is edited.
    known: usize,
    nodes: usize,
    looks: Looks<'a>,
    /// Evaluators of whole channels, as far as there is room for them.
    whole: Vec<Option<Evaluator<'a>>>,
    /// The channels in which alone hypotheses hold, in words; none for all.
    part: Option<String>,
    /// Whether ways of writing what is specified are left out.
    as_specified: bool,
    /// Whether only what Ā and B̄ are made of may be edited.
    of_coefficients: bool,
    /// Work that is done when it ends.
    most: u64,
}

impl<'a> Search<'a> {
    fn new(case: &'a Case<'a>, tensors: &[TensorName]) -> Self {
        let (graph, program) = specified(case.form, case.problem);
        let order = channels_by_error(case, tensors);
        let looks = Looks::new(case, tensors, &order, &graph, &program);
        let shape = case.problem.shape;
        let each = case.problem.floats_of_a() / case.problem.weights.width();
        let kept = KEPT / (shape.seqlen * each).max(1);
        let channels = case.problem.judged_channels.iter().enumerate();
        let is_kept = |row: usize| order.iter().position(|at| *at == row).is_some_and(|at| at < kept);
        let whole =
            channels.map(|(row, at)| is_kept(row).then(|| Evaluator::whole(case.problem, *at))).collect();
        let nodes = graph.len();
        let specified = program.clone();
        Search {
            case,
            tensors: tensors.to_vec(),
            order,
            graph,
            specified,
            program,
            writing: Writing::Specified,
            edits: Vec::new(),
            known: nodes,
            nodes,
            looks,
            whole,
            part: None,
            as_specified: false,
            of_coefficients: false,
            most: u64::MAX,
        }
    }

    /// Starts from a program that has edits.
    fn begin_with(&mut self, edits: &[Edit]) {
        for edit in edits {
            self.program = edit.apply(&mut self.graph, &self.program);
        }
        self.nodes = self.graph.len();
        self.edits = edits.to_vec();
    }

    /// Whether an edit is looked for, by its place and its name.
    fn asks(&self, edit: &Edit) -> bool {
        if self.of_coefficients && !self.is_of_coefficients(edit) {
            return false;
        }
        // Without an infinity a statement of the run accepts it.
        let overflows = || self.case.got.values().any(|got| got.values.iter().any(|got| !got.is_finite()));
        if edit.patch == Patch::Instead(Some(Function::NaiveSoftplus)) && !overflows() {
            return false;
        }
        self.case.work.asks_for_all()
            || self.case.work.asks(&naming::name_in(self.writing, &self.graph, &self.program, edit))
    }

    /// A program whose output is read from the scan along the sequence alone, where only coefficients are looked at.
    fn along(&self, program: Program) -> Program {
        let against = program.find(Symbol::ReversedState).filter(|_| self.of_coefficients);
        let terms = program.find(Symbol::Readout).map_or_else(Vec::new, |readout| {
            self.graph
                .reached(&[readout])
                .into_iter()
                .rev()
                .find_map(|id| match self.graph.op(id) {
                    Op::Sum(terms) => Some(terms.clone()),
                    _ => None,
                })
                .unwrap_or_default()
        });
        let is_along =
            |term: &&Id| against.is_some_and(|against| !self.graph.reached(&[**term]).contains(&against));
        let out = terms.iter().find(is_along).copied().unwrap_or(program.out);
        Program { out, ..program }
    }

    /// Whether an edit is about what Ā and B̄ are made of; u is a factor of what enters, and none of theirs.
    fn is_of_coefficients(&self, edit: &Edit) -> bool {
        let Some(Op::Scan(scan)) = self.program.find(Symbol::State).map(|state| self.graph.op(state)) else {
            return false;
        };
        let target = edit.target(&self.graph);
        let is_within = self.graph.reached(&[scan.decay, scan.drive]).contains(&target);
        is_within && *self.graph.op(target) != Op::Input(Input::U)
    }

    /// Whether no more is to be looked for.
    fn is_over(&self) -> bool {
        self.case.work.is_stage_over(self.most)
    }

    /// One edit, in all channels or in those that fail. Where others pass, what holds everywhere is an edit that changes nothing in
    /// these, as that of an input that they have not.
    fn with_an_edit(&mut self) -> Vec<Found> {
        self.most = self.case.work.end_of_stage(EDIT_WORK);
        let Some(part) = part::failing(self.case, &self.tensors) else { return self.alone() };
        let found = self.first(&[&Self::other_forms, &Self::with_plain, &Self::with_number]);
        if !found.is_empty() {
            return found;
        }
        // Channels that pass compute what is specified.
        self.most = self.case.work.end_of_stage(EDIT_WORK);
        self.order.retain(|row| part.rows.contains(row));
        self.part = Some(part.described);
        self.alone()
    }

    /// One edit of the specified program, another form, or an edit of another way of writing. Numbers take longest and come last.
    fn alone(&mut self) -> Vec<Found> {
        let otherwise = |search: &mut Self| search.written_otherwise(&Self::with_plain, true);
        let otherwise_at_places = |search: &mut Self| search.written_otherwise(&Self::at_places, false);
        self.first(&[
            &Self::other_forms,
            &Self::with_plain,
            &otherwise,
            &Self::at_places,
            &Self::at_values,
            &Self::coefficients_at_values,
            &Self::cut_series_at_values,
            &Self::with_two_coefficients,
            &Self::with_number,
            &otherwise_at_places,
        ])
    }

    /// One edit of which a number is looked for at each place, or in each way of writing: what takes longest.
    fn at_length(&mut self) -> Vec<Found> {
        self.most = self.case.work.end_of_stage(EDIT_WORK);
        if let Some(part) = part::failing(self.case, &self.tensors) {
            self.order.retain(|row| part.rows.contains(row));
            self.part = Some(part.described);
        }
        let otherwise = |search: &mut Self| search.written_otherwise(&Self::with_number, false);
        self.first(&[&Self::scaled_at_places, &otherwise, &Self::scaled_at_values])
    }

    /// The first of these that finds something.
    fn first(&mut self, stages: &[Find<'_, 'a>]) -> Vec<Found> {
        for stage in stages {
            if self.is_over() {
                break;
            }
            let found = stage(self);
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// One edit more without a number that is found, everywhere.
    fn with_plain(&mut self) -> Vec<Found> {
        let mut edits = self.of_writing(proposed::plain(&self.graph, &self.program, self.case.problem));
        if self.tensors == [TensorName::LastState] {
            edits.extend(last_state::edits(self));
        }
        self.tried(edits)
    }

    /// One edit more with a number that is found, everywhere.
    fn with_number(&mut self) -> Vec<Found> {
        let edits = self.of_writing(proposed::with_number(&self.graph, &self.program, self.case.problem));
        self.with_numbers(&edits)
    }

    /// Keeps the edits that are about what a way of writing has of its own: the others are tried as edits of the specified program.
    fn of_writing(&self, edits: Vec<Edit>) -> Vec<Edit> {
        match self.writing {
            Writing::Specified => edits,
            _ => proposed::of_writing(&self.graph, &self.program, edits, self.known),
        }
    }

    /// Forgets what is not of the program that is edited.
    fn forget(&mut self) {
        self.graph.truncate(self.nodes);
        self.looks.truncate(self.nodes);
        self.whole.iter_mut().flatten().for_each(|evaluator| evaluator.truncate(self.nodes));
    }

    /// The cheapest first; of equal cost the one that is nearest to the output: it says the most.
    fn sort(&self, edits: &mut [Edit]) {
        let target = |edit: &Edit| edit.target(&self.graph);
        edits.sort_by(|a, b| a.cost().total_cmp(&b.cost()).then_with(|| target(b).cmp(&target(a))));
    }

    /// Tries edits, the cheapest first, and keeps those that explain the case.
    fn tried(&mut self, mut edits: Vec<Edit>) -> Vec<Found> {
        edits.retain(|edit| self.asks(edit));
        self.sort(&mut edits);
        let mut found: Vec<Found> = Vec::new();
        for edit in edits {
            let most =
                found.first().map_or(f64::INFINITY, |one| one.edits[one.edits.len() - 1].cost() + BESIDE);
            if edit.cost() > most || self.is_over() {
                break;
            }
            found.extend(self.explains(edit));
        }
        found
    }

    /// Tries edits whose number is found, and keeps those that explain the case.
    fn with_numbers(&mut self, edits: &[Edit]) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let asks =
            |edit: &&Edit| self.asks(edit) || number::of_limit(edit).is_some_and(|edit| self.asks(&edit));
        for edit in edits.iter().filter(asks).copied().collect::<Vec<_>>() {
            if self.is_over() {
                break;
            }
            let candidates = number::candidates(self, edit);
            found.extend(candidates.into_iter().find_map(|edit| self.explains(edit)));
        }
        found.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
        let most = found.first().map_or(f64::INFINITY, |one| one.cost() + BESIDE);
        found.retain(|one| one.cost() <= most);
        found
    }

    /// Puts what was found into words; of hypotheses that compute the same, the first.
    fn said(&mut self, found: Vec<Found>) -> Vec<Diagnosis> {
        let mut said: Vec<Diagnosis> = Vec::new();
        let mut known: Vec<Found> = Vec::new();
        for one in found {
            if known.iter().any(|other| other.computes_like(&one)) {
                continue;
            }
            let program = one.writing.program(self.case.form, self.case.problem, &mut self.graph);
            let written = (one.writing, program.as_ref().unwrap_or(&self.specified));
            let diagnosis =
                said::diagnosis(&mut self.graph, &self.specified, written, &one.edits, one.fit.residual);
            let diagnosis = match &self.part {
                Some(part) => diagnosis.in_part(part),
                None => diagnosis,
            };
            self.graph.truncate(self.nodes);
            said.push(diagnosis);
            known.push(one);
        }
        said.truncate(SAID);
        said
    }
}

/// Whether a number is beyond its bound; what is no number is.
fn is_wrong(got: f64, want: f64, bound: f64) -> bool {
    let is_within = (got - want).abs() <= bound;
    !is_within
}

//! What a failed run computed, as the specified program with an edit: found by search, and said as a program.
//!
//! A hypothesis is the [program](crate::program) that a form specifies with an [edit](crate::program::edit), at all positions or some.
//! Hypotheses are tried by how many bits it takes to say them. Most are refuted by a few positions around the first failure
//! of a channel ([`look`]), which begin with the specified state where all before them is right; what is left is compared with
//! every element, by the rule of all diagnoses ([`super::diagnose`]): all elements within the program's own bounds, and at most a quarter of the
//! error left. Numbers are found by least squares ([`number`]).

mod evaluate;
mod functions;
pub mod gradients;
mod last_state;
mod look;
mod number;
mod part;
mod said;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

pub use self::evaluate::{Column, Entering, Evaluator, Window};
use self::look::Looks;
use super::diagnose::fit::{Fit, channels_by_error, fit};
use super::diagnose::{Case, FEWEST_TOLD, NEARLY, NEEDED};
use super::faults::scan::Channel;
use crate::formula::Form;
use crate::problem::conventions::Direction;
use crate::problem::{Operand, Problem};
use crate::program::edit::{self, Edit, Patch};
use crate::program::writing::Writing;
use crate::program::{Axis, Graph, Place, Program, Set, Symbol};
use crate::results::Diagnosis;
use crate::tensor::{Named, TensorName};

/// The most bits of an edit that says less than two changes.
const SIMPLE: f64 = 8.0;
/// Bits within which hypotheses that explain a run are said beside each other.
const BESIDE: f64 = 1.0;
/// Hypotheses that are said.
const SAID: usize = 3;

/// Units of work in which one edit is looked for.
const MOST: u64 = 40_000_000;
/// Outputs, or residuals, that differ by less than this, relative, are of the same computation.
const SAME: f64 = 1e-6;
/// Edits that a second one is tried with, and the most of the error that they may leave.
const FIRSTS: usize = 24;
const WORTH: f64 = 0.97;
/// States at which an edit is tried alone.
const STATES: u32 = 16;

/// The most that bounds may be wider than the specified ones where a way of writing has terms that cancel.
const WIDEST: f64 = 4.0;

/// Positions times states of which a program's values are kept.
const KEPT: usize = 1 << 18;

/// The specified program of a problem, with its graph.
pub fn specified(form: Form, problem: &Problem) -> (Graph, Program) {
    let varies = [problem.b_operand, problem.c_operand].map(|operand| operand == Operand::Variable);
    let mut graph = Graph::new(varies);
    let program = Program::specified(form, problem, &mut graph);
    (graph, program)
}

/// One edit that explains the failing tensors of a case, or another form, best first; within [`MOST`] of work, and as much again where some
/// channels pass.
pub fn by_edits(case: &Case, failing: &[TensorName]) -> Named<Vec<Diagnosis>> {
    of_each(case, failing, &|search| search.with_an_edit())
}

/// The same of what takes fewer words than two changes do.
pub fn by_simple_edits(case: &Case, failing: &[TensorName]) -> Named<Vec<Diagnosis>> {
    of_each(case, failing, &|search| {
        let mut found = search.with_an_edit();
        found.retain(|one| one.cost() <= SIMPLE);
        found
    })
}

/// Two edits, as long as there is time.
pub fn by_two_edits(case: &Case, failing: &[TensorName]) -> Named<Vec<Diagnosis>> {
    of_each(case, failing, &|search| search.with_two())
}

/// What explains all tensors together, or each of the failing ones alone.
fn of_each(
    case: &Case,
    failing: &[TensorName],
    found: &dyn Fn(&mut Search) -> Vec<Found>,
) -> Named<Vec<Diagnosis>> {
    let all: Vec<TensorName> = case.got.iter().map(|(name, _)| name).collect();
    // Who asks for names asks for those of models. Of a reversed run places would be told against the file's own order.
    let is_asked = case.work.asks_for_all()
        && all.iter().all(|name| TensorName::SCANNED.contains(name))
        && case.problem.conventions.direction == Direction::Forward
        && !is_constant(case);
    let of = |tensors: &[TensorName]| {
        let mut search = Search::new(case, tensors);
        let found = found(&mut search);
        if case.work.is_over() { Vec::new() } else { search.said(found) }
    };
    if !is_asked {
        return Named::default();
    }
    let together = of(&all);
    if !together.is_empty() || all.len() == 1 {
        return failing.iter().map(|&name| (name, together.clone())).collect();
    }
    failing.iter().map(|&name| (name, of(&[name]))).filter(|(_, found)| !found.is_empty()).collect()
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
    /// Work that is done when it ends.
    most: u64,
}

impl<'a> Search<'a> {
    fn new(case: &'a Case<'a>, tensors: &[TensorName]) -> Self {
        let (graph, program) = specified(case.form, case.problem);
        let order = channels_by_error(case, tensors);
        let looks = Looks::new(case, tensors, &order, &graph, &program);
        let shape = case.problem.shape;
        let kept = KEPT / (shape.seqlen * shape.dstate).max(1);
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
            most: u64::MAX,
        }
    }

    /// Whether no more is to be looked for.
    fn is_over(&self) -> bool {
        self.case.work.is_over() || self.case.work.done() >= self.most
    }

    /// One edit, in all channels or in those that fail. Where others pass, what holds everywhere is an edit that changes nothing in
    /// these, as that of an input that they have not.
    fn with_an_edit(&mut self) -> Vec<Found> {
        self.most = self.case.work.done() + MOST;
        let Some(part) = part::failing(self.case, &self.tensors) else { return self.alone() };
        let found = self.with_one(false);
        if !found.is_empty() {
            return found;
        }
        // Channels that pass compute what is specified.
        self.most = self.case.work.done() + MOST;
        self.order.retain(|row| part.rows.contains(row));
        self.part = Some(part.described);
        self.alone()
    }

    /// One edit of the specified program, another form, or an edit of another way of writing.
    fn alone(&mut self) -> Vec<Found> {
        let found = self.with_one(true);
        if found.is_empty() { self.written_otherwise() } else { found }
    }

    /// One edit more, everywhere and then at some places.
    fn with_one(&mut self, has_places: bool) -> Vec<Found> {
        let mut plain = edit::plain(&self.graph, &self.program, self.case.problem);
        let mut numbers = edit::with_number(&self.graph, &self.program, self.case.problem);
        if self.writing != Writing::Specified {
            // The others are tried as edits of the specified program.
            let state = self.specified.find(Symbol::State);
            for edits in [&mut plain, &mut numbers] {
                *edits = edit::of_writing(std::mem::take(edits), self.known, state);
            }
        }
        if self.tensors == [TensorName::LastState] {
            plain.extend(last_state::edits(self));
        }
        let mut found = self.tried(plain.clone());
        if found.is_empty() {
            found = self.with_numbers(&numbers);
        }
        let places = if has_places { self.looks.places(self.case) } else { Vec::new() };
        for at in places {
            if !found.is_empty() || self.is_over() {
                break;
            }
            // Some states of what all states have alike are no place.
            let is_there =
                |edit: &&Edit| at.axis != Axis::State || self.graph.extent(edit.target(&self.graph)).state;
            let placed = |edit: &Edit| Edit { at: Some(at), ..*edit };
            let edits = plain.iter().filter(is_there).map(placed).collect();
            let factors = numbers.iter().filter(|edit| matches!(edit.patch, Patch::Scaled(_)));
            let factors: Vec<Edit> = factors.filter(is_there).map(placed).collect();
            found = self.tried(edits);
            if found.is_empty() {
                found = self.with_numbers(&factors);
            }
        }
        found
    }

    /// Other forms, and one edit of other ways of writing.
    fn written_otherwise(&mut self) -> Vec<Found> {
        let (form, nodes) = (self.case.form, self.nodes);
        let chunks = self.looks.chunks(self.case.problem.shape.seqlen).into_iter().map(Writing::Chunked);
        let all = Writing::others(form).into_iter().chain(chunks).chain([Writing::Inverses]);
        let mut found = Vec::new();
        for writing in all {
            if self.is_over() {
                break;
            }
            let Some(program) = writing.program(form, self.case.problem, &mut self.graph) else {
                self.graph.truncate(nodes);
                continue;
            };
            (self.program, self.writing, self.nodes) = (program.clone(), writing, self.graph.len());
            if let Writing::Other { .. } = writing {
                found.extend(self.explained_by(&program, false, 1));
            } else {
                let looks = Looks::from_start(self.case, &self.tensors, &self.order);
                let usual = std::mem::replace(&mut self.looks, looks);
                found.extend(self.with_one(false));
                self.looks = usual;
            }
            (self.program, self.writing, self.nodes) = (self.specified.clone(), Writing::Specified, nodes);
            self.forget();
        }
        found.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
        let most = found.first().map_or(f64::INFINITY, |one| one.cost() + BESIDE);
        found.retain(|one| one.cost() <= most);
        found
    }

    /// Two edits, the first of which leaves less of the error than the specified program does.
    fn with_two(&mut self) -> Vec<Found> {
        // What is no number agrees with too much that has two edits.
        let is_finite = |name: &TensorName| self.case.got[*name].values.iter().all(|got| got.is_finite());
        if !self.tensors.iter().all(is_finite) {
            return Vec::new();
        }
        let (specified, nodes) = (self.specified.clone(), self.nodes);
        let all = self.looks.left(self.case, &self.graph, &specified);
        let mut firsts: Vec<(f64, Edit)> = Vec::new();
        let mut seen: Vec<crate::program::Id> = Vec::new();
        let numbers = edit::with_number(&self.graph, &specified, self.case.problem);
        let factors = numbers.into_iter().filter(|edit| !matches!(edit.patch, Patch::Plus(..)));
        let mut candidates = edit::plain(&self.graph, &specified, self.case.problem);
        self.sort(&mut candidates);
        let found: Vec<Edit> = factors.flat_map(|edit| number::least(self, edit)).collect();
        for edit in candidates.into_iter().chain(found) {
            if self.is_over() {
                break;
            }
            let program = edit.apply(&mut self.graph, &specified);
            let left = self.looks.left(self.case, &self.graph, &program);
            self.forget();
            // Equal programs are one node.
            let is_new = !seen.contains(&program.out) || program.out.index() >= nodes;
            if left < WORTH * all && is_new {
                seen.push(program.out);
                firsts.push((left, edit));
            }
        }
        firsts.sort_by(|a, b| a.0.total_cmp(&b.0));
        firsts.truncate(FIRSTS);
        let mut best: Vec<Found> = Vec::new();
        for (_, first) in firsts {
            if self.is_over() {
                break;
            }
            self.program = first.apply(&mut self.graph, &specified);
            self.nodes = self.graph.len();
            self.edits = vec![first];
            let alone = self.fit(&self.program.clone(), false).0.residual;
            let mut found = self.with_one(false);
            (self.program, self.nodes) = (specified.clone(), nodes);
            self.edits.clear();
            self.forget();
            // Each of the two is needed.
            found.retain(|one| {
                let others =
                    one.edits.last().filter(|edit| edit.is_of(nodes)).map(|edit| self.left_by(*edit));
                let least = others.into_iter().chain([alone]).fold(f64::INFINITY, f64::min);
                one.fit.residual <= NEEDED * least
            });
            best.extend(found);
            if !best.is_empty() {
                break;
            }
        }
        best
    }

    /// Residual of one edit alone.
    fn left_by(&mut self, edit: Edit) -> f64 {
        let program = edit.apply(&mut self.graph, &self.specified);
        let residual = self.fit(&program, false).0.residual;
        self.forget();
        residual
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

    /// Those of these edits that explain the case, the cheapest first.
    fn tried(&mut self, mut edits: Vec<Edit>) -> Vec<Found> {
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

    /// How an edit fits the case, where it explains it.
    fn explains(&mut self, edit: Edit) -> Option<Found> {
        let program = edit.apply(&mut self.graph, &self.program);
        let is_same = program.out == self.program.out && program.last_state == self.program.last_state;
        let is_far = edit.reads_far(&self.graph);
        let has_number = edit.has_number() || self.edits.iter().any(Edit::has_number);
        let least = if has_number { FEWEST_TOLD } else { 1 };
        let found = if is_same { None } else { self.explained_by(&program, is_far, least) };
        self.forget();
        let mut found = found?;
        found.edits.push(edit);
        let is_doubtful = self.writing != Writing::Specified || found.edits.iter().any(Edit::is_fitted);
        (!is_doubtful || found.fit.residual <= NEARLY).then_some(found)
    }

    /// How a program with the edits that there are fits the case, where it explains it.
    ///
    /// Looks say nothing of one that reads far from them. Numbers that were found in a few elements are explained by any number: so many
    /// have to be told at least.
    fn explained_by(&mut self, program: &Program, reads_far: bool, least: usize) -> Option<Found> {
        let held = reads_far || !self.looks.refute(self.case, &self.graph, program);
        let (fit, told) = held.then(|| self.fit(program, true))?;
        if !(fit.explains() && fit.tells && told >= least) {
            return None;
        }
        let outputs = self.looks.outputs(&self.graph, program);
        Some(Found { writing: self.writing, edits: self.edits.clone(), fit, outputs })
    }

    /// How a program fits, and how many of the elements that are wrong it says something of: those that are more than its bound,
    /// or exactly its own value.
    fn fit(&mut self, program: &Program, hasty: bool) -> (Fit, usize) {
        let (case, graph) = (self.case, &self.graph);
        let (whole, told) = (RefCell::new(&mut self.whole), Cell::new(0));
        let is_wide = self.writing == Writing::Inverses;
        let channel = |row: usize| {
            case.work.add(case.problem.shape.seqlen * case.problem.shape.dstate);
            let mut whole = whole.borrow_mut();
            let mut tensors = match &mut whole[row] {
                Some(evaluator) => evaluator.tensors(graph, program),
                None => {
                    Evaluator::whole(case.problem, case.problem.judged_channels[row]).tensors(graph, program)
                }
            };
            for (name, of) in tensors.iter_mut().filter(|(name, _)| self.tensors.contains(name)) {
                let (got, want) = (&case.got[name], &case.want[name]);
                let (from, bounds) = (row * of.values.len(), &case.budget.tensors[name].bound);
                for (i, &value) in of.values.iter().enumerate() {
                    let at = from + i;
                    let (got, want, bound) = (got.values[at], want.values[at], bounds[at / want.width]);
                    let own = &mut of.bound[i / case.want[name].width];
                    if is_wide {
                        // Terms that cancel lose digits that no other way of writing loses.
                        *own = own.min(WIDEST * bound);
                    }
                    // What is no number proves nothing by itself.
                    let is_told = got.is_finite() && (got - want).abs() > bound;
                    told.set(told.get() + usize::from(is_told && (got.abs() > *own || got == value)));
                }
            }
            Cow::Owned(Channel { tensors })
        };
        let fit = fit(case, &self.tensors, &self.order, channel, hasty);
        (fit, told.get())
    }

    /// The same of edits whose number is found.
    fn with_numbers(&mut self, edits: &[Edit]) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        for edit in edits {
            if self.is_over() {
                break;
            }
            let candidates = number::candidates(self, *edit);
            found.extend(candidates.into_iter().find_map(|edit| self.explains(edit)));
        }
        found.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
        let most = found.first().map_or(f64::INFINITY, |one| one.cost() + BESIDE);
        found.retain(|one| one.cost() <= most);
        found
    }

    /// What was found in words; of what computes the same, the first.
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
                Some(part) => Diagnosis { what: format!("{part}: {}", diagnosis.what), ..diagnosis },
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

/// Positions at which an edit may hold alone, of a run that is right before `first`.
fn positions(first: usize, seqlen: usize) -> Vec<Place> {
    let mut sets = Vec::new();
    if let Some(from) = u32::try_from(first).ok().filter(|from| *from > 0) {
        sets.extend([Set::Only(from), Set::From(from), Set::Multiples(from)]);
        sets.extend([2, 3, 4].map(|by| from / by).into_iter().filter(|of| *of > 1).map(Set::Multiples));
        sets.push(Set::BeforeMultiples(from + 1));
        sets.retain(|set| !matches!(set, Set::Multiples(of) if (*of as usize) >= seqlen || *of < 2));
    } else {
        sets.push(Set::Only(0));
    }
    sets.into_iter().map(Place::positions).collect()
}

/// States in which an edit may hold alone: those whose last states are wrong, or any where these are right or not there.
fn states(case: &Case) -> Vec<Place> {
    let dstate = case.problem.shape.dstate;
    let mut wrong = vec![false; dstate];
    if let (Some(got), Some(want)) =
        (case.got.get(TensorName::LastState), case.want.get(TensorName::LastState))
    {
        let bounds = &case.budget.tensors[TensorName::LastState].bound;
        for (i, (got, exact)) in got.values.iter().zip(&want.values).enumerate() {
            let at = i / want.width;
            wrong[at % dstate] |= is_wrong(*got, *exact, bounds[at]);
        }
    }
    let sets = || {
        let all = 0..u32::try_from(dstate).unwrap_or(u32::MAX).min(STATES);
        all.clone().skip(1).map(Set::From).chain(all.map(Set::Only))
    };
    let is_right = !wrong.contains(&true);
    let is_it = |set: &Set| is_right || (0..dstate).all(|n| set.contains(n) == wrong[n]);
    if dstate < 2 { Vec::new() } else { sets().filter(is_it).map(Place::states).collect() }
}

//! What a failed backward pass computed, as the specified one with an edit: the search of [`super`], for gradients (spec.md §6).

mod aliases;
mod backward;
mod edits;
mod fit;
mod rows;

use self::backward::Backward;
use self::edits::{
    add_terms, all_gradients, at_places, carried, folded_otherwise, is_idle, of_folds, of_gradients,
    of_slopes, unlikely, with_terms, within,
};
use self::fit::{Fit, Hypothesis, Part};
use self::rows::{elements, index_along};
pub use self::rows::{row, rows};
use super::evaluate::Evaluator;
use super::{SAID, SAME, said};
use crate::formula::Form;
use crate::judge::diagnose::{NEEDED, Work};
use crate::problem::conventions::Direction;
use crate::problem::{OutputGradients, Problem, Weights};
use crate::program::adjoint::Derivation;
use crate::program::edit::{Edit, Patch};
use crate::program::proposed;
use crate::program::writing::Writing;
use crate::program::{Axis, Graph, Id, Place, Program, Set, Symbol};
use crate::results::Diagnosis;
use crate::tensor::GradientName::{self, Delta, U, Z};
use crate::tensor::{Gradients, Named};

/// Units of work in which one edit of a gradient is looked for.
const MOST: u64 = 20_000_000;
/// Positions times states of all channels up to which all values of the specified program are kept.
const KEPT: usize = 1 << 15;
/// Bits within which edits that explain a gradient are said beside each other, and how many are compared in others.
const BESIDE: f64 = 1.0;
const CANDIDATES: usize = 12;
/// How far beyond its bound an edit puts a gradient that is right, at least, if it is not so.
const CONTRADICTS: f64 = 4.0;
/// Lengths of chunks that are tried for each end of what is wrong.
const DIVISORS: usize = 8;
/// Edits that a second one is tried with, the most of the error that they leave, and the most bits of the second.
const FIRSTS: usize = 16;
const WORTH: f64 = 0.97;
const SECOND: f64 = 9.0;

/// A backward pass that failed.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// A method; of textbook forms edits alone are known.
    pub form: Form,
    pub problem: &'a Problem,
    pub given: &'a OutputGradients,
    /// What was recorded, the gradients that there are.
    pub got: &'a Gradients<f64>,
    /// The truth of each of them.
    pub want: &'a Gradients<f64>,
    /// The judged bound of every element: one for each complex one.
    pub bounds: &'a Named<Vec<f64>, GradientName>,
    /// Where what looking for a cause takes is counted.
    pub work: &'a Work,
}

/// The specified program of a problem with its gradients, and its graph; none of a form that has no gradients.
pub fn specified(form: Form, problem: &Problem, given: &OutputGradients) -> Option<(Graph, Program)> {
    let (mut graph, program) = super::specified(form, problem);
    let sees_state = given.dlast_state.is_some();
    let program = program.with_gradients(problem, sees_state, Derivation::default(), &mut graph)?;
    Some((graph, program))
}

/// What explains each failing gradient of a case, best first: the specified backward pass with an edit or two, another way of
/// differentiating, or another form; nothing where none does.
///
/// Each gradient is looked at on its own, so that what is wrong with one hides nothing of what is wrong with another. Of what explains
/// one that comes first which changes no gradient that is right, and which explains most of the others.
pub fn by_edits(case: &Case, failing: &[GradientName]) -> Named<Vec<Diagnosis>, GradientName> {
    let is_asked = case.problem.packed.is_none() && case.problem.conventions.direction == Direction::Forward;
    let Some(mut search) = Search::new(case, failing).filter(|_| is_asked) else {
        return Named::default();
    };
    let mut found: Vec<Hypothesis> = Vec::new();
    for at in 0..search.failing.len() {
        for one in search.of_tensor(at) {
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    let open: Vec<usize> = (0..search.failing.len())
        .filter(|at| !found.iter().any(|one| search.fit(*at, one, true).is_some_and(|fit| fit.agrees(one))))
        .collect();
    for at in open {
        let pairs = search.pairs(at, &found);
        found.extend(pairs);
    }
    if case.work.is_over() { Named::default() } else { search.said(&found) }
}

/// A gradient.
struct Gradient {
    name: GradientName,
    /// Its rows, the most wrong one first.
    rows: Vec<(usize, usize)>,
    /// What is wrong with it, where that is a part.
    part: Option<Part>,
}

/// A way of writing the backward pass, with its values.
struct Written<'a> {
    writing: Backward,
    graph: Graph,
    program: Program,
    nodes: usize,
    evaluator: Evaluator<'a>,
}

impl Written<'_> {
    /// The program with one gradient for all of its outputs.
    fn of(&self, name: GradientName) -> Option<Program> {
        let out = self.program.find(Symbol::Gradient(name))?;
        let reached = self.graph.reached(&[out]);
        let is_of = |(symbol, id): &&(Symbol, Id)| match symbol {
            Symbol::Gradient(other) => *other == name,
            Symbol::Readout => false,
            // What reads the state before is said by the state's name.
            Symbol::State | Symbol::ReversedState => true,
            _ => reached.contains(id),
        };
        let named = self.program.named.iter().filter(is_of).copied().collect();
        Some(Program { out, last_state: out, named })
    }

    fn forget(&mut self) {
        self.graph.truncate(self.nodes);
        self.evaluator.truncate(self.nodes);
    }
}

struct Search<'a> {
    case: &'a Case<'a>,
    written: Vec<Written<'a>>,
    failing: Vec<Gradient>,
    passing: Vec<Gradient>,
    /// Positions at which alone an edit may hold.
    places: Vec<Place>,
    /// Edits of the specified pass that leave less of the error of a gradient, each with what it leaves.
    partial: Vec<(f64, Edit)>,
    keeps: bool,
}

impl<'a> Search<'a> {
    fn new(case: &'a Case<'a>, failing: &[GradientName]) -> Option<Self> {
        let shape = case.problem.shape;
        let mut search = Search {
            case,
            written: Vec::new(),
            failing: Vec::new(),
            passing: Vec::new(),
            places: Vec::new(),
            partial: Vec::new(),
            keeps: shape.sequence_len() * shape.dstate <= KEPT,
        };
        for (name, _) in case.got.iter() {
            if !search.specifies(name)? {
                continue;
            }
            let (rows, part) = (search.by_error(name), search.part(name));
            let one = Gradient { name, rows, part };
            if failing.contains(&name) { search.failing.push(one) } else { search.passing.push(one) }
        }
        search.places = search.positions();
        Some(search)
    }

    /// The number of a way of writing; none of one that has no gradients.
    fn written(&mut self, writing: Backward) -> Option<usize> {
        if let Some(known) = self.written.iter().position(|one| one.writing == writing) {
            return Some(known);
        }
        let Case { form, problem, given, .. } = *self.case;
        let (mut graph, forward) = super::specified(form, problem);
        let forward = match writing.form {
            None => forward,
            Some((a_bar, b_bar)) => Writing::Other { a_bar, b_bar }.program(form, problem, &mut graph)?,
        };
        let sees_state = given.dlast_state.is_some();
        let program = forward.with_gradients(problem, sees_state, writing.derivation, &mut graph)?;
        folded_otherwise(&mut graph, &program, problem);
        add_terms(&mut graph, &program, form.formula().is_rational());
        let (nodes, evaluator) = (graph.len(), Evaluator::backward(problem, given));
        self.written.push(Written { writing, graph, program, nodes, evaluator });
        Some(self.written.len() - 1)
    }

    /// Whether the specified program computes what was to be computed: of another an edit says nothing.
    fn specifies(&mut self, name: GradientName) -> Option<bool> {
        let number = self.written(Backward::default())?;
        let Some(program) = self.written[number].of(name) else { return Some(false) };
        let all = rows(self.case.problem, name);
        let is_right = all.into_iter().all(|at| {
            let values = self.values((number, program.out), (name, None), at);
            let (want, bounds) = (&self.case.want[name], &self.case.bounds[name]);
            values.into_iter().all(|(index, value, error)| {
                let (want, bound) = (want.values[index], bounds[index / want.width]);
                let is_beyond = !value.is_finite() || want.abs() >= f64::from(f32::MAX);
                is_beyond || (value - want).abs() <= bound.max(error)
            })
        });
        Some(is_right)
    }

    fn by_error(&self, name: GradientName) -> Vec<(usize, usize)> {
        let most = |at: (usize, usize)| {
            let all = elements(self.case.problem, name, at).into_iter();
            all.map(|(index, _)| self.largest(name, index)).fold(0.0, f64::max)
        };
        let mut rows: Vec<(f64, (usize, usize))> =
            rows(self.case.problem, name).into_iter().map(|at| (most(at), at)).collect();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        rows.into_iter().map(|(_, at)| at).collect()
    }

    /// The indices along an axis at which alone a gradient is wrong, where these are a short rule.
    fn part(&self, name: GradientName) -> Option<Part> {
        let shape = self.case.problem.shape;
        [Axis::Position, Axis::State, Axis::Channel, Axis::Item].into_iter().find_map(|axis| {
            let len = match axis {
                Axis::Position => shape.seqlen,
                Axis::State => shape.dstate,
                Axis::Channel => shape.dim,
                _ => shape.batch,
            };
            let (mut wrong, mut there) = (vec![false; len], vec![false; len]);
            for at in rows(self.case.problem, name) {
                for (index, place) in elements(self.case.problem, name, at) {
                    let along = index_along(axis, at, place);
                    there[along] = true;
                    wrong[along] |= self.largest(name, index) > 1.0;
                }
            }
            let of = |set: Set| (0..len).all(|i| !there[i] || set.contains(i) == wrong[i]);
            let first = wrong.iter().position(|wrong| *wrong)? as u32;
            let last = wrong.iter().rposition(|wrong| *wrong)? as u32;
            let sets = [
                Set::From(first),
                Set::Until(last + 1),
                Set::Only(first),
                Set::Every { of: 2, rest: 1 },
                Set::Every { of: 2, rest: 0 },
            ];
            let is_all = wrong == there;
            sets.into_iter().find(|set| !is_all && of(*set)).map(|set| Part { axis, set })
        })
    }

    /// Places where chunks may begin, by the first and the last positions that are wrong.
    fn positions(&self) -> Vec<Place> {
        let seqlen = self.case.problem.shape.seqlen;
        let (mut first, mut last) = (seqlen, 0);
        for one in self.failing.iter().filter(|one| self.case.problem.varies(one.name)) {
            for at in &one.rows {
                for (index, (l, _)) in elements(self.case.problem, one.name, *at) {
                    if self.largest(one.name, index) > 1.0 {
                        (first, last) = (first.min(l), last.max(l));
                    }
                }
            }
        }
        let divisors = |of: usize| (2..=of).rev().filter(move |by| of.is_multiple_of(*by)).take(DIVISORS);
        let mut sets = vec![Set::Only(0)];
        if first > last {
            let lengths = (2..12).map(|power| 1 << power).filter(|of| (*of as usize) < seqlen);
            sets.extend(lengths.flat_map(|of| [Set::Multiples(of), Set::BeforeMultiples(of)]));
        } else {
            let of = |at: usize| divisors(at).map(|of| of as u32);
            sets.extend(of(first).map(Set::Multiples));
            sets.extend(of(first + 1).map(Set::BeforeMultiples));
            if last + 1 < seqlen {
                sets.extend(of(last + 1).flat_map(|of| [Set::BeforeMultiples(of), Set::Multiples(of)]));
                sets.extend(of(last).map(Set::Multiples));
            }
        }
        let mut known: Vec<Set> = Vec::new();
        for set in sets {
            if !known.contains(&set) {
                known.push(set);
            }
        }
        known.into_iter().map(Place::positions).collect()
    }

    /// What explains a gradient: an edit of the specified pass, another way of writing, an edit of the pass as automatic differentiation
    /// writes it, or a number; in all of it, or in the part that is wrong.
    fn of_tensor(&mut self, at: usize) -> Vec<Hypothesis> {
        let part = self.failing[at].part;
        for part in [None].into_iter().chain(part.map(Some)) {
            let mut found = self.edited(at, Backward::default(), part);
            if found.is_empty() {
                found = self.written_otherwise(at, part);
            }
            if found.is_empty() {
                found = self.edited(at, Backward::by_chain(), part);
            }
            for writing in [Backward::default(), Backward::by_chain()] {
                if found.is_empty() {
                    found = self.with_numbers(at, writing, part);
                }
            }
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    fn is_over(&self, most: u64) -> bool {
        self.case.work.is_over() || self.case.work.done() > most
    }

    /// Edits of a way of writing, at all sites.
    fn plain(&mut self, at: usize, writing: Backward) -> Vec<Edit> {
        let Some(number) = self.written(writing) else { return Vec::new() };
        let (case, places, written) = (self.case, &self.places, &self.written[number]);
        let Some(program) = written.of(self.failing[at].name) else { return Vec::new() };
        let graph = &written.graph;
        let mut edits = proposed::plain(graph, &program, case.problem);
        edits.extend(within(graph, &program, &edits));
        edits.extend(of_folds(graph, &program, case.problem));
        edits.extend(at_places(graph, &program, &edits, places));
        edits.extend(carried(graph, &program, places));
        if case.problem.weights == Weights::Complex {
            edits.extend(of_slopes(&program));
        }
        edits.extend(of_gradients(graph, &program, &all_gradients(&written.program)));
        edits.retain(|edit| !is_idle(graph, edit));
        let id = |edit: &Edit| edit.target(graph);
        let cost = |edit: &Edit| edit.cost() + unlikely(graph, edit);
        edits.sort_by(|a, b| cost(a).total_cmp(&cost(b)).then_with(|| id(b).cmp(&id(a))));
        edits
    }

    /// One edit of a way of writing, the cheapest first.
    fn edited(&mut self, at: usize, writing: Backward, part: Option<Part>) -> Vec<Hypothesis> {
        let most = self.case.work.done() + MOST;
        let mut found: Vec<Hypothesis> = Vec::new();
        self.partial.clear();
        for edit in self.plain(at, writing) {
            let one = Hypothesis { writing, edits: [Some(edit), None], part };
            let limit = found.first().map_or(f64::INFINITY, |one| one.cost() + BESIDE);
            if one.cost() > limit || found.len() >= CANDIDATES || self.is_over(most) {
                break;
            }
            let Some(fit) = self.fit(at, &one, true) else { continue };
            if fit.explains(&one) {
                found.push(one);
            } else if fit.residual() < WORTH {
                self.partial.push((fit.residual(), edit));
            }
        }
        found
    }

    /// The position from which on gradients are 0.
    fn end(&self) -> Option<u32> {
        let mut end = 0;
        for one in self.failing.iter().filter(|one| matches!(one.name, U | Delta)) {
            for at in &one.rows {
                let all = elements(self.case.problem, one.name, *at).into_iter();
                let there = all.filter(|(index, _)| self.case.got[one.name].values[*index] != 0.0);
                end = end.max(there.map(|(_, (l, _))| l + 1).max().unwrap_or(0));
            }
        }
        (1..self.case.problem.shape.seqlen).contains(&end).then_some(end as u32)
    }

    /// Other ways of differentiating, and other forms.
    fn written_otherwise(&mut self, at: usize, part: Option<Part>) -> Vec<Hypothesis> {
        let mut found: Vec<Hypothesis> = Vec::new();
        for writing in Backward::others(self.case.form, self.end()) {
            let one = Hypothesis { writing, edits: [None; 2], part };
            let limit = found.first().map_or(f64::INFINITY, |one| one.cost() + BESIDE);
            if self.case.work.is_over() || one.cost() > limit {
                break;
            }
            if self.fit(at, &one, true).is_some_and(|fit| fit.explains(&one)) {
                found.push(one);
            } else {
                self.written.retain(|one| one.writing != writing);
            }
        }
        found
    }

    fn with_numbers(&mut self, at: usize, writing: Backward, part: Option<Part>) -> Vec<Hypothesis> {
        let most = self.case.work.done() + MOST;
        let Some(number) = self.written(writing) else { return Vec::new() };
        let Some(program) = self.written[number].of(self.failing[at].name) else { return Vec::new() };
        let graph = &self.written[number].graph;
        let mut edits = proposed::with_number(graph, &program, self.case.problem);
        edits.retain(|edit| matches!(edit.patch, Patch::Scaled(_) | Patch::Turned(_)));
        edits.extend(with_terms(graph, &program));
        let mut found: Vec<Hypothesis> = Vec::new();
        for edit in edits {
            if self.is_over(most) {
                break;
            }
            let one = Hypothesis { writing, edits: [Some(edit), None], part };
            let candidates = self.numbers(at, one);
            found.extend(
                candidates
                    .into_iter()
                    .find(|one| self.fit(at, one, true).is_some_and(|fit| fit.explains(one))),
            );
        }
        found.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
        let limit = found.first().map_or(f64::INFINITY, |one| one.cost() + BESIDE);
        found.retain(|one| one.cost() <= limit);
        found.truncate(CANDIDATES);
        found
    }

    /// Two edits, the first of which explains another gradient or leaves less of the error.
    fn pairs(&mut self, at: usize, found: &[Hypothesis]) -> Vec<Hypothesis> {
        let (is_plain, specified) = (|one: &&Hypothesis| one.edits[1].is_none(), Backward::default());
        let mut writings: Vec<Backward> = found.iter().filter(is_plain).map(|one| one.writing).collect();
        writings.push(specified);
        writings.dedup();
        writings.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
        writings
            .into_iter()
            .map(|writing| self.two(at, writing, found))
            .find(|pairs| !pairs.is_empty())
            .unwrap_or_default()
    }

    /// The same of one way of writing.
    fn two(&mut self, at: usize, writing: Backward, found: &[Hypothesis]) -> Vec<Hypothesis> {
        let seconds = self.plain(at, writing);
        if writing == Backward::default() {
            let _ = self.edited(at, writing, None);
        } else {
            self.partial.clear();
        }
        let mut partial = std::mem::take(&mut self.partial);
        partial.sort_by(|a, b| a.0.total_cmp(&b.0));
        let known = found.iter().filter(|one| one.writing == writing && one.edits[1].is_none());
        let known = known.filter_map(|one| one.edits[0]);
        let mut firsts: Vec<Edit> = Vec::new();
        let mut left = Vec::new();
        for (residual, edit) in known.map(|edit| (0.0, edit)).chain(partial) {
            // Of those that leave as much the first stands for all.
            if firsts.len() < FIRSTS
                && !left.iter().any(|known: &f64| residual > 0.0 && (known - residual).abs() < 1e-9)
            {
                firsts.push(edit);
                left.push(residual);
            }
        }
        let most = self.case.work.done() + MOST;
        for first in firsts {
            let alone = Hypothesis { writing, edits: [Some(first), None], part: None };
            let alone = self.fit(at, &alone, true).map_or(1.0, Fit::residual);
            for second in seconds.iter().take_while(|second| second.cost() <= SECOND) {
                if self.is_over(most) {
                    return Vec::new();
                }
                let one = Hypothesis { writing, edits: [Some(first), Some(*second)], part: None };
                let Some(fit) = self.fit(at, &one, true).filter(|fit| fit.explains(&one)) else { continue };
                let other = Hypothesis { writing, edits: [Some(*second), None], part: None };
                let other = self.fit(at, &other, true).map_or(1.0, Fit::residual);
                if fit.residual() <= NEEDED * alone.min(other) {
                    return vec![one];
                }
            }
        }
        Vec::new()
    }

    /// Whether a hypothesis would change a gradient that is right.
    fn contradicts(&mut self, one: &Hypothesis) -> bool {
        for at in 0..self.passing.len() {
            let name = self.passing[at].name;
            // A pass that keeps its outputs has grad.z right, whatever it reads wrongly on its way back.
            if name == Z || one.part.is_some() {
                continue;
            }
            let Some((number, id)) = self.node(name, one) else { continue };
            let rows = self.passing[at].rows.clone();
            let is_beyond = rows.into_iter().any(|row| {
                let values = self.values((number, id), (name, None), row);
                let (want, bounds) = (&self.case.want[name], &self.case.bounds[name]);
                values.into_iter().any(|(index, value, _)| {
                    let off = (value - want.values[index]).abs();
                    off.is_nan() || off > CONTRADICTS * bounds[index / want.width]
                })
            });
            self.written[number].forget();
            if is_beyond {
                return true;
            }
        }
        false
    }

    /// What was found in words, for each gradient; of what computes the same, the first.
    fn said(&mut self, found: &[Hypothesis]) -> Named<Vec<Diagnosis>, GradientName> {
        let mut ranked = Vec::new();
        for one in found {
            let fits: Vec<Option<Fit>> = (0..self.failing.len())
                .map(|at| self.fit(at, one, true).filter(|fit| fit.explains(one) || fit.agrees(one)))
                .collect();
            let count = fits.iter().flatten().count();
            ranked.push((self.contradicts(one), std::cmp::Reverse(count), *one, fits));
        }
        ranked.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.cost().total_cmp(&b.2.cost())));
        let mut said = Named::default();
        for at in 0..self.failing.len() {
            let (name, row) = (self.failing[at].name, self.failing[at].rows[0]);
            let (mut sentences, mut known): (Vec<Diagnosis>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
            for (is_contradicted, _, one, fits) in &ranked {
                let Some((number, id)) = self.node(name, one).filter(|_| fits[at].is_some()) else {
                    continue;
                };
                let values = self.values((number, id), (name, one.part), row);
                self.written[number].forget();
                let values: Vec<f64> = values.into_iter().map(|(_, value, _)| value).collect();
                let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= SAME * a.abs().max(b.abs()) || a == b;
                if known.iter().any(|known| known.iter().zip(&values).all(is_near)) {
                    continue;
                }
                known.push(values);
                let Some(fit) = fits[at] else { continue };
                sentences.push(self.sentence(name, one, *is_contradicted, fit.residual()));
            }
            sentences.truncate(SAID);
            said.insert(name, sentences);
        }
        said
    }

    fn sentence(
        &mut self,
        name: GradientName,
        one: &Hypothesis,
        is_contradicted: bool,
        residual: f64,
    ) -> Diagnosis {
        let number = self.written(one.writing).unwrap_or(0);
        let mut found = match (&mut self.written[number], one.edits[0]) {
            (written, Some(_)) if written.of(name).is_some() => {
                let edits: Vec<Edit> = one.edits().collect();
                let program = written.of(name).unwrap_or_else(|| written.program.clone());
                let as_written = (Writing::Specified, &program);
                let mut found = said::diagnosis(&mut written.graph, &program, as_written, &edits, residual);
                written.forget();
                let known: Option<Vec<String>> =
                    edits.iter().map(|edit| aliases::named(&written.graph, &program, edit, name)).collect();
                if let Some(names) = known {
                    found.name = names.join(" + ");
                }
                found
            }
            _ => {
                let (name, what) = one.writing.said();
                Diagnosis { name, what, residual }
            }
        };
        if let Some(Part { axis, set }) = one.part {
            found.what = format!("{} alone: {}", Place { axis, set }.described(), found.what);
        }
        if is_contradicted {
            found.what = format!("in {name} alone: {}", found.what);
        }
        found
    }
}

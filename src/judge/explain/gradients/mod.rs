//! What a failed backward pass computed, as the specified one with an edit: the search of [`super`], for gradients (spec.md §6).
//!
//! Each gradient is looked at where it is most wrong, and what that does not refute in whole.

mod backward;
mod edits;
mod fit;
mod hypothesis;
mod names;
mod part;
mod rows;
mod said;
mod slopes;

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use self::backward::Backward;
use self::edits::{
    add_terms, all_gradients, at_places, is_idle, masked, of_both, of_carries, of_constants, of_decays,
    of_folds, of_gradients, of_slopes, of_sums, of_sums_like, with_members, with_terms, within,
};
use self::fit::{Fit, largest};
use self::hypothesis::{Base, Hypothesis, of_gradient};
use self::part::Part;
use self::rows::channels;
pub use self::rows::{Row, row, rows};
pub use self::slopes::with_slopes_times;
use super::evaluate::Evaluator;
use crate::formula::Form;
use crate::judge::diagnose::{NEEDED, Work};
use crate::judge::ulp::Format;
use crate::method::Method;
use crate::problem::conventions::Direction;
use crate::problem::{OutputGradients, Problem, Weights};
use crate::program::adjoint::Derivation;
use crate::program::edit::{Edit, Patch, Site};
use crate::program::proposed;
use crate::program::writing::Writing;
use crate::program::{Borders, Graph, Id, Place, Program, Symbol};
use crate::results::Diagnosis;
use crate::tensor::GradientName::{self, Delta, DeltaBias, U, Z};
use crate::tensor::{Gradients, Named};

/// Units of work in which one edit of a gradient is looked for.
const EDIT_WORK: u64 = 20_000_000;
/// Positions times states up to which the values of a way of writing are kept, of all channels or of the most wrong row.
const KEPT: usize = 1 << 15;
/// Positions times states up to which all values of a pass that is computed in whole are kept.
const WHOLE: usize = 1 << 17;
/// Bits within which edits that explain a gradient are said beside each other, and how many are compared in others.
const BESIDE: f64 = 1.0;
const CANDIDATES: usize = 12;
/// How far beyond its bound an edit puts a gradient that is right, at least, if it is not so.
const CONTRADICTS: f64 = 4.0;
/// Changes that a second one is tried with, the most of the error that they leave, and the most bits of the second.
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

/// Every known name of an edit, and every way of differentiating that has a name, with what it says is wrong.
pub fn listed() -> (Vec<&'static str>, Vec<(String, String)>) {
    let seqlen = 0;
    let of_rules =
        Backward::others(Method::Zoh.into(), None, None).into_iter().filter(|one| one.form.is_none());
    let is_of_forms =
        |one: &Backward| one.derivation.slopes_of.is_some() || one.derivation.products_of.is_some();
    let of_rules = of_rules.filter(|one| !is_of_forms(one)).map(|one| one.said(seqlen));
    let of_forms = OF_FORMS.map(|(name, what)| (name.to_owned(), what.to_owned()));
    let names: BTreeSet<&str> = names::all().collect();
    (names.into_iter().collect(), of_rules.chain(of_forms).collect())
}

/// Ways of writing that other forms have.
const OF_FORMS: [(&str, &str); 6] = [
    ("backward-of-FORM", "it is the backward pass of another form"),
    ("slopes-of-FORM", "the derivatives of Ā and B̄ by Δ and A are those of another form"),
    ("h-in-products-of-FORM", "B̄/B in grad.u and grad.B is that of another form"),
    (
        "padded-to-N",
        "the sequence is padded with delta = 0 and u = 0, and what is beyond the end adds to the gradients",
    ),
    (
        "backward-crosses-borders",
        "the forward scan goes on over the borders of packed sequences, and its adjoint likewise",
    ),
    ("tail-N-without-gradient", "positions behind the last multiple are left out"),
];

/// The specified program of a problem with its gradients, and its graph; none of a form that has no gradients.
pub fn specified(form: Form, problem: &Problem, given: &OutputGradients) -> Option<(Graph, Program)> {
    let (mut graph, program) = super::specified(form, problem);
    let sees_state = given.dlast_state.is_some();
    let program = program.with_gradients(problem, sees_state, Derivation::default(), &mut graph)?;
    Some((graph, program))
}

/// Explains each failing gradient of a case, best first: by an edit or two of the specified backward pass, by another way of
/// differentiating, or by another form; by nothing where none does.
///
/// Each gradient is looked at on its own, so that what is wrong with one hides nothing of what is wrong with another. Of what explains
/// one that comes first which changes no gradient that is right, and which explains most of the others.
pub fn diagnose(case: &Case, failing: &[GradientName]) -> Named<Vec<Diagnosis>, GradientName> {
    let mut all: Named<Vec<Diagnosis>, GradientName> =
        failing.iter().map(|name| (*name, Vec::new())).collect();
    let is_asked = case.problem.conventions.direction == Direction::Forward;
    let Some(mut search) = Search::new(case, failing).filter(|_| is_asked) else {
        return all;
    };
    let mut found: Vec<Hypothesis> = Vec::new();
    for at in 0..search.failing.len() {
        if search.is_explained(at, &found) {
            continue;
        }
        for one in search.of_tensor(at) {
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    let open: Vec<usize> = (0..search.failing.len())
        .filter(|at| !found.iter().any(|one| search.fit(*at, one).is_some_and(|fit| fit.agrees(one))))
        .collect();
    for at in open {
        let more = match search.likewise(at, &found) {
            Some(one) => vec![one],
            None => search.pairs(at, &found),
        };
        found.extend(more);
    }
    if !case.work.is_over() {
        search.said(&found).into_iter().for_each(|(name, said)| all.insert(name, said));
    }
    let is_open = all.get(DeltaBias).is_some_and(Vec::is_empty);
    if let (true, Some(of_delta)) = (is_open && sums_what_it_has(case), all.get(Delta)) {
        all[DeltaBias] = of_delta.clone();
    }
    all
}

/// Whether grad.delta_bias is the sum of the grad.delta that was recorded: what is wrong with one is wrong with both.
fn sums_what_it_has(case: &Case) -> bool {
    let (Some(delta), Some(bias)) = (case.got.get(Delta), case.got.get(DeltaBias)) else {
        return false;
    };
    let (count, format) = (bias.values.len(), Format::for_input(delta.element));
    let rows = delta.values.chunks(case.problem.shape.seqlen);
    if rows.len() != case.problem.shape.batch * count {
        return false;
    }
    let mut sums = vec![(0.0, 0.0); count];
    for (row, values) in rows.enumerate() {
        let (sum, off) = &mut sums[row % count];
        for value in values {
            *sum += value;
            *off += format.rounding_error(*value);
        }
    }
    let is_it = |(d, (sum, off)): (usize, &(f64, f64))| {
        (bias.values[d] - sum).abs() <= case.bounds[DeltaBias][d] + off
    };
    sums.iter().enumerate().all(is_it)
}

/// Whether a hypothesis has one of the names that are looked for.
fn is_asked(case: &Case, written: &Written, program: &Program, one: &Hypothesis) -> bool {
    if case.work.asks_for_all() {
        return true;
    }
    let name = match one.change {
        None => one.base.writing.said(case.problem.shape.seqlen as u32).0,
        Some(edit) => names::named(&written.graph, program, &edit, case.problem),
    };
    case.work.asks(names::in_part(one.part.is_some(), &name))
}

/// A gradient.
struct Gradient {
    name: GradientName,
    /// Its rows, the most wrong one first.
    rows: Rc<Vec<Row>>,
    /// What may be wrong with it alone.
    parts: Vec<Part>,
}

/// A way of writing the backward pass, with what is known to be wrong with it, and its values.
struct Written<'a> {
    base: Base,
    graph: Graph,
    program: Program,
    nodes: usize,
    evaluator: Evaluator<'a>,
}

impl Written<'_> {
    fn of(&self, name: GradientName) -> Option<Program> {
        of_gradient(&self.graph, &self.program, name)
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
    /// Positions at which alone an edit may hold, and lengths of chunks.
    places: Vec<Place>,
    chunks: Vec<u32>,
    /// What leaves less of the error of a gradient, each with what it leaves.
    partial: Vec<(f64, Base)>,
}

impl<'a> Search<'a> {
    fn new(case: &'a Case<'a>, failing: &[GradientName]) -> Option<Self> {
        let mut search = Search {
            case,
            written: Vec::new(),
            failing: Vec::new(),
            passing: Vec::new(),
            places: Vec::new(),
            chunks: Vec::new(),
            partial: Vec::new(),
        };
        for (name, _) in case.got.iter() {
            if !search.specifies(name)? {
                continue;
            }
            let rows = search.by_error(name);
            let parts = if failing.contains(&name) { search.parts(name, &rows) } else { Vec::new() };
            let one = Gradient { name, rows: Rc::new(rows), parts };
            if failing.contains(&name) { search.failing.push(one) } else { search.passing.push(one) }
        }
        search.find_places();
        Some(search)
    }

    /// The number of a way of writing; none of one that has no gradients.
    fn written(&mut self, base: Base) -> Option<usize> {
        if let Some(known) = self.written.iter().position(|one| one.base == base) {
            return Some(known);
        }
        let Case { form, problem, given, .. } = *self.case;
        let writing = base.writing;
        let (mut graph, forward) = super::specified(form, problem);
        let mut forward = match writing.form {
            None => forward,
            Some((a_bar, b_bar)) => {
                let (a_bar, b_bar) = (Some(a_bar), Some(b_bar));
                Writing::Other { a_bar, b_bar }.program(form, problem, &mut graph)?
            }
        };
        if let Some((_, count)) = writing.padded {
            let site = Site::Value(forward.last_state);
            forward = Edit { site, patch: Patch::Padded(count), when: None }.apply(&mut graph, &forward);
        }
        for symbol in [Symbol::State, Symbol::ReversedState] {
            if let (Some(scan), true) = (forward.find(symbol), writing.borders != Borders::All) {
                let patch = Patch::Borders(writing.borders);
                forward = Edit { site: Site::Value(scan), patch, when: None }.apply(&mut graph, &forward);
            }
        }
        let sees_state = given.dlast_state.is_some();
        let mut program = forward.with_gradients(problem, sees_state, writing.derivation, &mut graph)?;
        add_terms(&mut graph, &program, (problem, form.formula().is_rational()));
        if let Some(edit) = base.first {
            program = edit.apply(&mut graph, &program);
        }
        let (nodes, evaluator) = (graph.len(), Evaluator::backward(problem, given));
        self.written.push(Written { base, graph, program, nodes, evaluator });
        Some(self.written.len() - 1)
    }

    /// Forgets the values of a way of writing, but for those of a small problem and of the most wrong row.
    fn keep_few(&mut self, number: usize, name: GradientName, at: (usize, usize)) {
        let (shape, problem) = (self.case.problem.shape, self.case.problem);
        let of_position = problem.floats_of_a() / problem.weights.width();
        let of_row = channels(problem, name) * shape.seqlen * of_position;
        let is_first = self
            .failing
            .iter()
            .any(|one| one.name == name && one.rows.first().is_some_and(|row| row.at == at));
        let is_small = shape.sequence_len() * of_position <= KEPT;
        if !(is_small || is_first && of_row <= KEPT) {
            self.written[number].evaluator.forget_all();
        }
    }

    /// Whether the specified program computes what was to be computed: of another an edit says nothing.
    fn specifies(&mut self, name: GradientName) -> Option<bool> {
        let number = self.written(Base::default())?;
        let Some(id) = self.written[number].program.find(Symbol::Gradient(name)) else {
            return Some(false);
        };
        let is_right = rows(self.case.problem, name).iter().all(|row| {
            let values = self.values((number, id), (name, None), row);
            let (want, bounds) = (&self.case.want[name], &self.case.bounds[name]);
            values.into_iter().all(|(index, value, error)| {
                let (want, bound) = (want.values[index], bounds[index / want.width]);
                let is_beyond = !value.is_finite() || want.abs() >= f64::from(f32::MAX);
                is_beyond || (value - want).abs() <= bound.max(error)
            })
        });
        Some(is_right)
    }

    fn by_error(&self, name: GradientName) -> Vec<Row> {
        let most = |row: &Row| {
            row.elements.iter().map(|one| largest(self.case, name, one.index)).fold(0.0, f64::max)
        };
        let mut rows: Vec<(f64, Row)> =
            rows(self.case.problem, name).into_iter().map(|row| (most(&row), row)).collect();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// Explains a gradient by a change of the specified pass or another way of writing it, by a change of the pass as automatic
    /// differentiation has it, or by a number; in all of it, or in the part that is wrong.
    fn of_tensor(&mut self, at: usize) -> Vec<Hypothesis> {
        let parts = self.failing[at].parts.clone();
        for part in [None].into_iter().chain(parts.into_iter().map(Some)) {
            let mut found = self.changed(at, Base::default(), part);
            if found.is_empty() {
                found = self.changed(at, Base::of(Backward::by_chain()), part);
            }
            for writing in [Backward::default(), Backward::by_chain()] {
                if found.is_empty() {
                    found = self.with_numbers(at, Base::of(writing), part);
                }
            }
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// Whether what explains another gradient explains this one as well, and would change none that is right.
    fn is_explained(&mut self, at: usize, found: &[Hypothesis]) -> bool {
        found.iter().filter(|one| one.part.is_none()).any(|one| {
            let is_it = self.fit(at, one).is_some_and(|fit| fit.explains(one) || fit.agrees(one));
            is_it && !self.contradicts(one)
        })
    }

    /// Hypotheses of a way of writing, the cheapest first: edits at all sites, and other ways of writing in the place of the specified
    /// one.
    fn tried(&mut self, at: usize, base: Base, part: Option<Part>) -> Vec<Hypothesis> {
        let end = self.end();
        let Some(number) = self.written(base) else { return Vec::new() };
        let (case, written) = (self.case, &self.written[number]);
        let Some(program) = written.of(self.failing[at].name) else { return Vec::new() };
        let graph = &written.graph;
        let mut edits = proposed::plain(graph, &program, case.problem);
        edits.extend(within(graph, &program, &edits));
        edits.extend(of_both(graph, &program, &edits));
        edits.extend(of_decays(graph, &program));
        edits.extend(of_constants(&program));
        edits.extend(of_folds(graph, &program, case.problem));
        edits.extend(of_sums(graph, &program, case.problem));
        edits.extend(of_carries(graph, &program, &self.chunks));
        edits.extend(masked(graph, &program));
        edits.extend(at_places(graph, &program, &edits, &self.places));
        if case.problem.weights == Weights::Complex {
            edits.extend(of_slopes(&program));
        }
        edits.extend(of_gradients(graph, &program, &all_gradients(&written.program)));
        edits.retain(|edit| !is_idle(graph, edit));
        let others = if base == Base::default() {
            Backward::others(case.form, end, Some(case.problem))
                .into_iter()
                .filter(|one| !case.problem.is_dense() || !one.has_rules())
                .collect()
        } else {
            Vec::new()
        };
        let of = |base, change| Hypothesis { base, change, part, extra: 0.0 };
        // Values with a name come first of as many bits, the outermost before all others, and those without one last.
        let of_writings = others.into_iter().map(|writing| ((1, None), of(Base::of(writing), None)));
        let mut parts: HashMap<Id, bool> = HashMap::new();
        let of_edits = edits.into_iter().map(|edit| {
            let target = edit.target(graph);
            // A part of a gradient is mostly a part of what is written.
            let of_part = if part.is_some() && target != program.out { 0.25 } else { 0.0 };
            let one = Hypothesis { extra: edits::beside(graph, &edit) + of_part, ..of(base, Some(edit)) };
            let is_part = *parts.entry(target).or_insert_with(|| names::is_part(graph, &program, target));
            ((if is_part { 2 } else { 0 }, Some(target)), one)
        });
        let mut all: Vec<((u8, Option<Id>), Hypothesis)> = of_writings.chain(of_edits).collect();
        all.retain(|(_, one)| is_asked(case, written, &program, one));
        all.sort_by(|a, b| a.1.cost().total_cmp(&b.1.cost()).then(b.0.cmp(&a.0)));
        all.into_iter().map(|(_, one)| one).collect()
    }

    /// One change of a way of writing, the cheapest first; of matrices those first that leave their functions as they are.
    fn changed(&mut self, at: usize, base: Base, part: Option<Part>) -> Vec<Hypothesis> {
        self.partial.clear();
        let all = self.tried(at, base, part);
        let Some(number) = self.written(base).filter(|_| self.case.problem.is_dense()) else {
            return self.fitting(at, all);
        };
        let graph = &self.written[number].graph;
        let functions = graph.ids().filter(|id| graph.is_function_of_matrix(*id)).collect::<Vec<_>>();
        let below = graph.reached(&functions);
        let is_slow = |one: &Hypothesis| one.change.is_none_or(|edit| edit.is_within(&below));
        let (slow, fast): (Vec<_>, Vec<_>) = all.into_iter().partition(is_slow);
        let found = self.fitting(at, fast);
        if found.is_empty() { self.fitting(at, slow) } else { found }
    }

    /// Those of these hypotheses that explain a gradient, in their order.
    fn fitting(&mut self, at: usize, all: Vec<Hypothesis>) -> Vec<Hypothesis> {
        let most = self.case.work.end_of_stage(EDIT_WORK);
        let mut found: Vec<Hypothesis> = Vec::new();
        for one in all {
            let limit = found.first().map_or(f64::INFINITY, |one| one.cost() + BESIDE);
            if one.cost() > limit || found.len() >= CANDIDATES || self.case.work.is_stage_over(most) {
                break;
            }
            let fit = self.fit(at, &one);
            let is_it = fit.is_some_and(|fit| fit.explains(&one));
            if is_it {
                found.push(one);
            } else if one.change.is_none() {
                self.written.retain(|known| known.base != one.base);
            }
            let residual = fit.map_or(1.0, Fit::residual);
            if let (true, Some(base)) = (!is_it && residual < WORTH, one.as_base()) {
                self.partial.push((residual, base));
            }
        }
        found
    }

    /// The position from which on gradients are 0.
    fn end(&self) -> Option<u32> {
        let mut end = 0;
        for one in self.failing.iter().filter(|one| matches!(one.name, U | Delta)) {
            let all = one.rows.iter().flat_map(|row| &row.elements);
            let there = all.filter(|element| self.case.got[one.name].values[element.index] != 0.0);
            end = end.max(there.map(|element| element.at.0 + 1).max().unwrap_or(0));
        }
        (1..self.case.problem.shape.seqlen).contains(&end).then_some(end as u32)
    }

    fn with_numbers(&mut self, at: usize, base: Base, part: Option<Part>) -> Vec<Hypothesis> {
        let most = self.case.work.end_of_stage(EDIT_WORK);
        let Some(number) = self.written(base) else { return Vec::new() };
        let Some(program) = self.written[number].of(self.failing[at].name) else { return Vec::new() };
        let graph = &self.written[number].graph;
        let mut edits = proposed::with_number(graph, &program, self.case.problem);
        edits.retain(|edit| matches!(edit.patch, Patch::Scaled(_) | Patch::Turned(_)));
        edits.extend(with_members(graph, &program, self.case.problem));
        edits.extend(with_terms(graph, &program));
        let changed = |edit| Hypothesis { base, change: Some(edit), part, extra: 0.0 };
        let mut all: Vec<Hypothesis> = edits.into_iter().map(changed).collect();
        all.retain(|one| is_asked(self.case, &self.written[number], &program, one));
        let mut found: Vec<Hypothesis> = Vec::new();
        for one in all {
            if self.case.work.is_stage_over(most) {
                break;
            }
            let mut candidates = self.numbers(at, one).into_iter();
            found.extend(candidates.find(|one| self.fit(at, one).is_some_and(|fit| fit.explains(one))));
        }
        found.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
        let limit = found.first().map_or(f64::INFINITY, |one| one.cost() + BESIDE);
        found.retain(|one| one.cost() <= limit);
        found.truncate(CANDIDATES);
        found
    }

    /// A sum of a gradient that is wrong as one of another is: so little tells it that this alone would explain nothing.
    fn likewise(&mut self, at: usize, found: &[Hypothesis]) -> Option<Hypothesis> {
        let number = self.written(Base::default())?;
        let of = self.written[number].of(self.failing[at].name)?;
        let all = found.iter().filter(|one| one.base == Base::default());
        let graph = &self.written[number].graph;
        let edits = all.flat_map(|one| {
            let edits = one.change.map(|edit| of_sums_like(graph, &of, &edit)).unwrap_or_default();
            edits.into_iter().map(|edit| Hypothesis { change: Some(edit), ..*one })
        });
        let edits: Vec<Hypothesis> = edits.collect();
        edits.into_iter().find(|one| self.fit(at, one).is_some_and(|fit| fit.agrees(one)))
    }

    /// Two changes, the first of which explains another gradient or leaves less of the error.
    fn pairs(&mut self, at: usize, found: &[Hypothesis]) -> Vec<Hypothesis> {
        let known = found.iter().filter_map(Hypothesis::as_base).map(|base| (0.0, base));
        let mut bases: Vec<(f64, Base)> = known.collect();
        let _ = self.changed(at, Base::default(), None);
        let mut partial = std::mem::take(&mut self.partial);
        partial.sort_by(|a, b| a.0.total_cmp(&b.0));
        bases.extend(partial);
        let mut left: Vec<f64> = Vec::new();
        // Of those that leave as much the first stands for all.
        bases.retain(|(residual, _)| {
            let is_new = *residual == 0.0 || !left.iter().any(|known| (known - residual).abs() < 1e-9);
            left.push(*residual);
            is_new
        });
        bases.truncate(FIRSTS);
        let most = self.case.work.end_of_stage(EDIT_WORK);
        for (_, base) in bases {
            if let Some(one) = self.beside(at, base, most) {
                return vec![one];
            }
        }
        Vec::new()
    }

    /// A change beside what is known to be wrong, that explains more than either alone.
    fn beside(&mut self, at: usize, base: Base, most: u64) -> Option<Hypothesis> {
        let first = Hypothesis { base, change: None, part: None, extra: 0.0 };
        let alone = self.fit(at, &first).map_or(1.0, Fit::residual);
        let specified = self.written(Base::default())?;
        let nodes = self.written[specified].nodes;
        let seconds = self.tried(at, base, None).into_iter();
        for one in seconds.take_while(|one| one.cost() <= base.cost() + SECOND) {
            if self.case.work.is_stage_over(most) {
                break;
            }
            let Some(fit) = self.fit(at, &one).filter(|fit| fit.explains(&one)) else { continue };
            let is_there = match one.change {
                Some(edit) => edit.is_of(nodes),
                _ => true,
            };
            let second = Hypothesis { base: Base::default(), ..one };
            let other = if is_there { self.fit(at, &second).map_or(1.0, Fit::residual) } else { 1.0 };
            if fit.residual() <= NEEDED * alone.min(other) {
                return Some(one);
            }
        }
        self.written.retain(|one| one.base == Base::default() || one.base != base);
        None
    }

    /// Whether a hypothesis would change a gradient that is right.
    fn contradicts(&mut self, one: &Hypothesis) -> bool {
        if one.part.is_some() {
            return false;
        }
        for at in 0..self.passing.len() {
            let name = self.passing[at].name;
            // A pass that keeps its outputs has grad.z right, whatever it reads wrongly on its way back.
            if name == Z {
                continue;
            }
            let Some((number, id)) = self.node(name, one) else { continue };
            let rows = self.passing[at].rows.clone();
            let is_beyond = rows.iter().any(|row| {
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
}

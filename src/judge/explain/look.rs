//! Looks at a few positions of a channel, which refute nearly every hypothesis.

use super::evaluate::{Entering, Evaluator, Window};
use super::places;
use crate::judge::diagnose::Case;
use crate::problem::Problem;
use crate::program::{Axis, Graph, Place, Program, Set, Symbol};
use crate::tensor::TensorName;

/// Channels that are looked at.
pub const CHANNELS: usize = 3;
/// Positions of a first and of a second look.
const LENGTHS: [usize; 2] = [6, 48];

/// Lengths of chunks that are tried.
const CHUNKS: usize = 6;

/// Lengths that chunks usually have.
const USUAL: [usize; 5] = [64, 32, 16, 128, 256];

/// A look at one channel.
pub struct Look<'a> {
    pub row: usize,
    /// The channel.
    pub at: (usize, usize),
    pub window: Window,
    pub evaluator: Evaluator<'a>,
}

pub struct Looks<'a> {
    pub all: Vec<Look<'a>>,
    /// The first wrong position of any channel that is looked at.
    pub first: Option<usize>,
    /// The last one.
    last: Option<usize>,
    /// Whether no output depends on later positions.
    is_causal: bool,
    /// Whether sequences are packed: then what is wrong begins behind a border, wherever a chunk does.
    is_packed: bool,
}

impl<'a> Looks<'a> {
    /// Short looks at the most wrong channels first, then longer ones. Of scans in both directions every position depends on all others.
    pub fn new(
        case: &'a Case<'a>,
        tensors: &[TensorName],
        order: &[usize],
        graph: &Graph,
        program: &Program,
    ) -> Self {
        let rows = spread(case, order);
        let firsts = rows.into_iter().filter_map(|row| Some((row, first_failure(case, row)?))).take(CHANNELS);
        Looks::around(case, tensors, &firsts.collect::<Vec<_>>(), (graph, program))
    }

    /// Looks around the first failures of a program with an edit, for another one.
    pub fn after(
        case: &'a Case<'a>,
        tensors: &[TensorName],
        order: &[usize],
        (graph, program): (&Graph, &Program),
    ) -> Self {
        let seqlen = case.problem.shape.seqlen;
        let failure = |&row: &usize| {
            let mut whole = Evaluator::whole(case.problem, case.problem.judged_channels[row]);
            let of = whole.out(graph, program);
            let got = &case.got[TensorName::Out].values[row * seqlen..];
            let first = (0..seqlen).find(|&l| super::is_wrong(got[l], of.values[l], of.bound[l]))?;
            Some((row, first))
        };
        let rows = spread(case, order);
        let firsts: Vec<(usize, usize)> = rows.iter().take(CHANNELS).filter_map(failure).collect();
        Looks::around(case, tensors, &firsts, (graph, program))
    }

    /// Looks at channels around their first failures.
    fn around(
        case: &'a Case<'a>,
        tensors: &[TensorName],
        firsts: &[(usize, usize)],
        (graph, program): (&Graph, &Program),
    ) -> Self {
        let seqlen = case.problem.shape.seqlen;
        let first = firsts.iter().map(|(_, first)| *first).min();
        let is_causal = program.find(Symbol::ReversedState).is_none();
        let is_packed = case.problem.packed.is_some();
        let mut looks = Looks { all: Vec::new(), first, last: None, is_causal, is_packed };
        if !tensors.contains(&TensorName::Out) {
            return looks;
        }
        looks.last = firsts.iter().filter_map(|(row, _)| last_failure(case, *row)).max();
        for len in LENGTHS {
            for &(row, first) in firsts {
                let window = match is_causal {
                    true => {
                        let first = first.saturating_sub(1);
                        Window { first, len: len.min(seqlen - first) }
                    }
                    false => Window { first: 0, len: seqlen },
                };
                let at = case.problem.judged_channels[row];
                let entering =
                    if window.first > 0 { entering(case.problem, at, graph, program) } else { [None, None] };
                looks.add(case, row, window, entering);
            }
        }
        looks
    }

    /// Looks that begin with the sequence and go on behind the first failure: of programs whose scans have not the specified states.
    pub fn at_start(&self, case: &'a Case<'a>, tensors: &[TensorName], order: &[usize]) -> Self {
        let seqlen = case.problem.shape.seqlen;
        let firsts = order.iter().filter_map(|&row| Some((row, first_failure(case, row)?))).take(CHANNELS);
        let mut looks = Looks { all: Vec::new(), ..*self };
        for (row, first) in firsts.filter(|_| tensors.contains(&TensorName::Out)) {
            for len in LENGTHS {
                looks.add(case, row, Window { first: 0, len: (first + len).min(seqlen) }, [None, None]);
            }
        }
        looks
    }

    fn add(&mut self, case: &'a Case<'a>, row: usize, window: Window, entering: Entering) {
        if !self.all.iter().any(|look| (look.row, look.window) == (row, window)) {
            let at = case.problem.judged_channels[row];
            let evaluator = Evaluator::new(case.problem, at, window, entering);
            self.all.push(Look { row, at, window, evaluator });
        }
    }

    /// Whether all positions before some later one are right.
    pub fn begins_late(&self) -> bool {
        self.first.is_some_and(|first| first > 1)
    }

    /// Lengths of chunks at one of whose starts a run that is right up to there may go wrong, and usual ones where it goes wrong at once.
    pub fn chunks(&self, seqlen: usize, with_usual: bool) -> Vec<u32> {
        let first = self.first.filter(|first| *first > 1);
        // What is wrong may end with the first chunk.
        let end = self.last.map(|last| last + 1).filter(|end| *end < seqlen);
        let known = [first, first.map(|first| first - 1), end].into_iter().flatten();
        // The first position of a chunk may be right, where its own step is what counts.
        let starts = known.flat_map(|start| [start, start / 2, start / 3]);
        // What is wrong within each chunk shows in the first one, and tells no length.
        let usual = if self.begins_late() && !self.is_packed || !with_usual { &[][..] } else { &USUAL[..] };
        let mut starts: Vec<usize> = starts.chain(usual.iter().copied()).collect();
        if self.is_packed {
            starts.rotate_right(usual.len());
        }
        let mut lengths: Vec<u32> = Vec::new();
        for length in starts.into_iter().filter(|length| (2..seqlen).contains(length)) {
            let length = length as u32;
            if !lengths.contains(&length) {
                lengths.push(length);
            }
        }
        lengths.truncate(CHUNKS);
        lengths
    }

    /// Whether a look finds an output that is beyond a program's own bound.
    pub fn refute(&mut self, case: &Case, graph: &Graph, program: &Program) -> bool {
        let (got, seqlen) = (&case.got[TensorName::Out].values, case.problem.shape.seqlen);
        self.all.iter_mut().any(|look| {
            case.work.add_positions(case.problem, look.window.len);
            let row = look.evaluator.out(graph, program);
            let from = look.row * seqlen + look.window.first;
            let mut elements = row.values.iter().zip(&row.bound).zip(&row.beyond).zip(&got[from..]);
            elements.any(|(((value, bound), beyond), got)| match (beyond, got.is_finite()) {
                (true, is_finite) => is_finite,
                (false, false) => true,
                (false, true) => (got - value).abs() > *bound,
            })
        })
    }

    pub fn truncate(&mut self, nodes: usize) {
        self.all.iter_mut().for_each(|look| look.evaluator.truncate(nodes));
    }

    /// Places at which alone something may be wrong.
    pub fn places(&self, case: &Case) -> Vec<Place> {
        let seqlen = case.problem.shape.seqlen;
        let (first, last) = (self.first.unwrap_or(0), self.last.unwrap_or(seqlen - 1));
        // What comes behind may be right where a scan runs against the sequence.
        let behind = if self.is_causal { seqlen - 1 } else { last };
        let mut positions = places::positions([first, behind], seqlen);
        positions.extend(self.beginning(seqlen));
        positions.extend(self.of_sequences(case));
        positions.into_iter().chain(places::states(case)).collect()
    }

    /// One packed sequence alone, and places that are counted from the start of each, as chunks may be.
    fn of_sequences(&self, case: &Case) -> Vec<Place> {
        let seqlen = case.problem.shape.seqlen;
        let Some(packed) = &case.problem.packed else { return Vec::new() };
        let first = |look: &Look| {
            let first = first_failure(case, look.row)?;
            let own = &packed.at(look.at.0, first).positions;
            Some((first - own.start, Set::Between(own.start as u32, own.end as u32 - 1)))
        };
        let firsts: Vec<(usize, Set)> = self.all.iter().filter_map(first).collect();
        let Some(&(first, alone)) = firsts.iter().min_by_key(|(first, _)| first) else { return Vec::new() };
        let of_each = places::positions([first, seqlen - 1], seqlen);
        let of_each = of_each.into_iter().map(|place| Place { axis: Axis::Offset, ..place });
        [Place::positions(alone)].into_iter().chain(of_each).collect()
    }

    /// The positions up to the last wrong one, where others come behind.
    pub fn beginning(&self, seqlen: usize) -> Option<Place> {
        let end = self.last? + 1;
        (self.is_causal && end < seqlen).then(|| Place::positions(Set::Until(end as u32)))
    }

    /// A program's outputs in all looks.
    pub fn outputs(&mut self, graph: &Graph, program: &Program) -> Vec<f64> {
        let rows = self.all.iter_mut().map(|look| look.evaluator.out(graph, program));
        rows.flat_map(|row| row.values).collect()
    }

    /// How much of the error a program leaves: squares of what is left in units of the specified bounds, each up to a limit.
    pub fn left(&mut self, case: &Case, graph: &Graph, program: &Program) -> f64 {
        let seqlen = case.problem.shape.seqlen;
        let (got, bounds) = (&case.got[TensorName::Out].values, &case.budget.tensors[TensorName::Out].bound);
        let mut sum = 0.0;
        for look in &mut self.all {
            let row = look.evaluator.out(graph, program);
            let from = look.row * seqlen + look.window.first;
            for ((value, got), bound) in row.values.iter().zip(&got[from..]).zip(&bounds[from..]) {
                let off = (got - value).abs() / bound;
                sum += (1.0 + if off.is_finite() { off } else { 1e6 }).log2();
            }
        }
        sum
    }
}

/// Rows in another order, the first of each batch item first: what one item has from another does not show in the first.
fn spread(case: &Case, order: &[usize]) -> Vec<usize> {
    let item = |row: &usize| case.problem.judged_channels[*row].0;
    let is_first = |at: usize| order[..at].iter().all(|other| item(other) != item(&order[at]));
    let (firsts, others): (Vec<usize>, Vec<usize>) = (0..order.len()).partition(|at| is_first(*at));
    firsts.into_iter().chain(others).map(|at| order[at]).collect()
}

/// The first output of a channel that is beyond its bound.
fn first_failure(case: &Case, row: usize) -> Option<usize> {
    (0..case.problem.shape.seqlen).find(|&l| fails(case, row, l))
}

/// The last one.
fn last_failure(case: &Case, row: usize) -> Option<usize> {
    (0..case.problem.shape.seqlen).rev().find(|&l| fails(case, row, l))
}

/// Whether an output is beyond its bound.
fn fails(case: &Case, row: usize, l: usize) -> bool {
    let at = row * case.problem.shape.seqlen + l;
    let (got, want) = (&case.got[TensorName::Out], &case.want[TensorName::Out]);
    super::is_wrong(got.values[at], want.values[at], case.budget.tensors[TensorName::Out].bound[at])
}
/// States of the specified program at every position.
fn entering(problem: &Problem, at: (usize, usize), graph: &Graph, program: &Program) -> Entering {
    let mut whole = Evaluator::whole(problem, at);
    [Symbol::State, Symbol::ReversedState].map(|symbol| Some(whole.column(graph, program.find(symbol)?, at)))
}

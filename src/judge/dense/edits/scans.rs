//! Edits of the steps of a scan with a dense A, whose hypotheses are those of steps alone; others are edits of its program.
//!
//! Each is tried on a channel up to a little behind its first failure, and what holds there on all of the channels that fail.

use std::collections::BTreeSet;
use std::ops::Range;

use num_complex::Complex64;

use super::super::bounds::{Bounded, System};
use super::super::{Elements, Stored, Wanted};
use super::text::{SPECIFIED, term_text, written};
use super::{Change, EVIDENCE, Failing, Hypothesis, TOGETHER};
use crate::formula::Fraction;
use crate::judge::budget::coupled::{column, matrix};
use crate::judge::budget::{Bounds, Edit, of_edited, step_size};
use crate::judge::diagnose::Case;
use crate::judge::location::Mask;
use crate::judge::quick::RADIUS;
use crate::judge::ulp::Format;
use crate::problem::{Problem, Stages};
use crate::program::matrices::coefficient;
use crate::promise::{Contract, Promise};
use crate::results::{Diagnosis, Edited};
use crate::tensor::{DenseName, Named, TensorName};

/// Positions behind the first failure that a hypothesis is tried on first.
const BEHIND: usize = 8;

/// Rows or columns that a loop takes at a time.
const BLOCK: usize = 4;

/// Factors of terms that are usual.
const FACTORS: [Fraction; 8] = [
    Fraction(0, 1),
    Fraction(1, 1),
    Fraction(-1, 1),
    Fraction(1, 2),
    Fraction(2, 1),
    Fraction(1, 6),
    Fraction(1, 3),
    Fraction(1, 24),
];

/// A channel that fails: its place among the judged ones, itself, and its first failing position.
struct Channel {
    row: usize,
    at: (usize, usize),
    first: usize,
}

/// How well a hypothesis explains a channel: evidence, and squares of errors in units of bounds, its own and the formula's.
#[derive(Default)]
struct Fit {
    bits: f64,
    left: f64,
    was: f64,
}

/// A trial: the number of a hypothesis, and the tensors that have it.
type Tried = (usize, &'static [DenseName]);

/// A trial in words.
struct Candidate {
    tried: Tried,
    name: String,
    what: String,
    specified: String,
    computed: String,
}

/// Causes of failing tensors of a scan with a dense A.
pub fn explain(case: &Case, failing: &[TensorName]) -> Named<Vec<Diagnosis>> {
    let search = Search { case, contract: Promise::recorded(Stages::NONE).contract };
    let channels = search.channels();
    let (Some(probe), None) = (channels.first(), &case.problem.packed) else { return Named::default() };
    let seqlen = case.problem.shape.seqlen;
    let near = if case.form.is_bidirectional() { seqlen } else { (probe.first + BEHIND).min(seqlen) };
    let mut left: Vec<(Candidate, Fit)> = Vec::new();
    search.on(probe, &mut |steps, fit| {
        let all = candidates(case, steps).into_iter().filter(|one| case.work.asks(&one.name));
        left = all.filter_map(|one| fit(one.tried, near).map(|_| (one, Fit::default()))).collect();
    });
    for channel in channels.iter().take_while(|_| !case.work.is_over()) {
        if left.is_empty() {
            break;
        }
        search.on(channel, &mut |_, fit| {
            left.retain_mut(|(one, whole)| fit(one.tried, seqlen).is_some_and(|found| whole.add(found)));
        });
    }
    let is_all = channels.len() == case.problem.judged_channels.len();
    let places = channels.iter().map(|channel| format!("{:?}", channel.at)).collect::<Vec<_>>().join(", ");
    let place = if is_all { String::new() } else { format!("channels {places}") };
    let mut seen = BTreeSet::new();
    let evident =
        left.into_iter().filter(|(one, fit)| fit.bits >= EVIDENCE && seen.insert(one.computed.clone()));
    let found: Vec<Diagnosis> = evident.take(TOGETHER).map(|(one, fit)| said(one, &place, &fit)).collect();
    failing.iter().map(|&name| (name, found.clone())).collect()
}

fn said(one: Candidate, place: &str, fit: &Fit) -> Diagnosis {
    let Candidate { name, what, specified, computed, .. } = one;
    let within = if place.is_empty() { "" } else { &format!(", in {place}") };
    let what = format!("{what}{within} (specified {specified}; computed {computed})");
    let edits = vec![Edited { name: name.clone(), specified, computed, place: place.to_owned() }];
    Diagnosis { edits, ..Diagnosis::new(name, what, (fit.left / fit.was).sqrt()) }
}

/// Hypotheses in words.
fn candidates(case: &Case, steps: &[(DenseName, Hypothesis)]) -> Vec<Candidate> {
    let mut all = Vec::new();
    for (at, (tensor, hypothesis)) in steps.iter().enumerate() {
        let is_of_inputs = matches!(hypothesis.change, Change::Inputs(_));
        let (symbol, alone): (_, &[DenseName]) = match tensor {
            DenseName::ABar => ("Ā", &[DenseName::ABar]),
            DenseName::BBar => ("B̄", &[DenseName::BBar]),
        };
        let specified = format!("{symbol} = {}", written(*tensor, case.form.formula(), SPECIFIED));
        let computed = format!("{symbol} = {}", hypothesis.computed);
        let of = |parts: &'static [DenseName]| Candidate {
            tried: (at, parts),
            name: hypothesis.name.clone(),
            what: match is_of_inputs && parts.len() == 1 {
                true => format!("{}, in {symbol} alone", hypothesis.what),
                false => hypothesis.what.clone(),
            },
            specified: specified.clone(),
            computed: computed.clone(),
        };
        // Inputs that are read otherwise are so in both, and then in one alone.
        let both: &[DenseName] = &DenseName::ALL;
        all.extend((is_of_inputs && *tensor == DenseName::ABar).then(|| of(both)));
        all.push(of(alone));
    }
    all
}

impl Fit {
    fn add(&mut self, other: Fit) -> bool {
        *self = Fit { bits: self.bits + other.bits, left: self.left + other.left, was: self.was + other.was };
        true
    }
}

impl Failing<'_> {
    /// B̄ with one of its terms left out, or with another factor that is usual.
    fn other_factors(&self) -> Vec<Hypothesis<'_>> {
        let terms = if self.name == DenseName::BBar { self.formula().now() } else { &[] };
        let mut all = Vec::new();
        for (at, term) in terms.iter().enumerate() {
            let text = term_text(self.name, *term, SPECIFIED);
            for factor in FACTORS.into_iter().filter(|factor| *factor != term.factor) {
                let mut others = terms.to_vec();
                others[at].factor = factor;
                if factor.0 == 0 {
                    others.remove(at);
                }
                let computed =
                    if others.is_empty() { "0".to_owned() } else { coefficient(&others, SPECIFIED) };
                let (name, what) = match factor.0 {
                    0 => ("b-bar-term-missing", format!("the term {text} is left out")),
                    _ => ("b-bar-factor", format!("the term {text} has another factor")),
                };
                let values =
                    move |place: usize| (!others.is_empty()).then(|| self.system(place).of_input(&others));
                all.push(Hypothesis::new(name, &what, &computed, Box::new(values)));
            }
        }
        all
    }

    /// Ā without rows or columns at its end, or without a block.
    fn lost_blocks(&self) -> Vec<Hypothesis<'_>> {
        let n = self.elements.n;
        if self.name != DenseName::ABar || n <= BLOCK {
            return Vec::new();
        }
        let specified = written(self.name, self.formula(), SPECIFIED);
        let ends = || (BLOCK..n).step_by(BLOCK).chain([n - 1]);
        let rows = ends().map(|from| (format!("rows from {from} on"), from..n, 0..n));
        let columns = ends().map(|from| (format!("columns from {from} on"), 0..n, from..n));
        let firsts = || (0..n).step_by(BLOCK);
        let blocks = firsts().flat_map(|r| firsts().map(move |c| (r..n.min(r + BLOCK), c..n.min(c + BLOCK))));
        let blocks = blocks.map(|(r, c)| {
            (format!("rows {} to {}, columns {} to {}", r.start, r.end - 1, c.start, c.end - 1), r, c)
        });
        let lost = |(words, rows, columns): (String, Range<usize>, Range<usize>)| {
            let values = move |place: usize| {
                let [Bounded { mut value, mut error, .. }, _] = self.system(place).solved(self.wanted.form);
                value.view_range_mut(rows.clone(), columns.clone()).fill(Complex64::ZERO);
                error.view_range_mut(rows.clone(), columns.clone()).fill(0.0);
                Some(Bounded::by_entries(value, error))
            };
            let (what, computed) = (format!("{words} of Ā are 0"), format!("{specified}, but 0 in {words}"));
            Hypothesis::new("a-bar-in-part", &what, &computed, Box::new(values))
        };
        rows.chain(columns).chain(blocks).map(lost).collect()
    }
}

/// How well something explains a channel up to a position; none where it does not.
type Fits<'f> = &'f dyn Fn(Tried, usize) -> Option<Fit>;

/// Takes hypotheses of steps, and how well what is tried explains the channel.
type Shown<'s> = &'s mut dyn FnMut(&[(DenseName, Hypothesis)], Fits);

struct Search<'c> {
    case: &'c Case<'c>,
    contract: Contract,
}

impl Search<'_> {
    /// Channels that fail, in their order.
    fn channels(&self) -> Vec<Channel> {
        let Case { problem, got, want, budget, .. } = self.case;
        let count = problem.judged_channels.len();
        let fails = |name: TensorName, row: usize| -> Option<usize> {
            let (got, want, bound) = (got.get(name)?, want.get(name)?, &budget.tensors[name].bound);
            let len = want.values.len() / count;
            let is_wrong = |&i: &usize| {
                let error = (got.values[i] - want.values[i]).abs();
                error.is_nan() || error > bound[i / want.width]
            };
            (row * len..(row + 1) * len).find(is_wrong).map(|i| i - row * len)
        };
        let of_row = |(row, &at): (usize, &(usize, usize))| {
            let of_state = || fails(TensorName::LastState, row).map(|_| problem.shape.seqlen - 1);
            let first = fails(TensorName::Out, row).or_else(of_state)?;
            Some(Channel { row, at, first })
        };
        problem.judged_channels.iter().enumerate().filter_map(of_row).collect()
    }

    /// Shows hypotheses of a channel's steps, with the tensor that each is of, and how well they and other things explain the channel.
    fn on(&self, channel: &Channel, each: Shown) {
        let Case { problem, form, work, .. } = *self.case;
        let (weights, n, at) = (problem.weights, problem.shape.dstate, channel.at);
        let a = matrix(problem, at.1);
        let system = |l: usize| {
            let b = column(problem, (&problem.b, problem.b_operand), at, l);
            let (delta, _) = step_size(problem, at, l, self.contract.arithmetic);
            System::new(weights, l, (delta, a.clone(), b), self.contract.dense)
        };
        work.add_positions(problem, problem.shape.seqlen);
        let systems: Vec<System> = (0..problem.shape.seqlen).map(system).collect();
        let wanted = Wanted::quick(form, weights, &systems);
        let nothing = Stored { values: Vec::new(), format: Format::F32 };
        let of_tensor = |name| Failing {
            wanted: &wanted,
            name,
            elements: Elements::new(&wanted, name),
            got: &nothing,
            mask: Mask { axes: Vec::new(), flat: None },
            systems: Vec::new(),
            work,
        };
        let both = DenseName::ALL.map(of_tensor);
        let mut steps = Vec::new();
        for one in &both {
            let all =
                [one.readings(), one.other_functions(), one.slips(), one.other_factors(), one.lost_blocks()];
            steps.extend(all.into_iter().flatten().map(|hypothesis| (one.name, hypothesis)));
        }
        let fits = |tried: Tried, positions: usize| {
            if work.is_over() {
                return None;
            }
            work.add(positions * n.pow(3));
            let (at, parts) = tried;
            self.compare(problem, channel, positions, &|l| {
                let (tensor, hypothesis) = &steps[at];
                let [a_bar, input] = match &hypothesis.change {
                    Change::Inputs(of) => systems[l].with(of(l)?).solved(form).map(Some),
                    Change::Values(of) if *tensor == DenseName::ABar => [Some(of(l)?), None],
                    Change::Values(of) => [None, Some(of(l)?)],
                };
                let has = |name| parts.contains(&name);
                Some([a_bar.filter(|_| has(DenseName::ABar)), input.filter(|_| has(DenseName::BBar))])
            })
        };
        each(&steps, &fits);
    }

    /// How well a problem with an edit of its steps explains a channel of the case.
    fn compare(&self, problem: &Problem, channel: &Channel, positions: usize, edit: &Edit) -> Option<Fit> {
        let Case { form, got, want, budget, .. } = self.case;
        let known = of_edited(*form, (problem, channel.at), &self.contract, positions, edit)?;
        let count = self.case.problem.judged_channels.len();
        let is_whole = positions == problem.shape.seqlen;
        let mut fit = Fit::default();
        for (name, Bounds { value, bound, .. }) in known.iter() {
            let (Some(got), Some(want)) = (got.get(name), want.get(name)) else { continue };
            if name == TensorName::LastState && !is_whole {
                continue;
            }
            let row = channel.row * (want.values.len() / count);
            for (i, &value) in value.iter().enumerate() {
                let (got, want) = (got.values[row + i], want.values[row + i]);
                let bound = bound[i / self.width(name)] * (1.0 + RADIUS);
                let (error, was) = ((got - value).abs(), (got - want).abs());
                // A bound that is infinite says nothing, and neither does what is no number.
                if !(bound.is_finite() && error <= bound) {
                    return None;
                }
                let own = budget.tensors[name].bound[(row + i) / self.width(name)];
                let bits = (was / bound).log2().min((value.abs() / bound).log2()).clamp(0.0, 24.0);
                fit.bits += if was > own { bits } else { 0.0 };
                fit.left += (error / bound).powi(2);
                fit.was += (was / own).min(1e150).powi(2);
            }
        }
        Some(fit)
    }

    /// Values of an element of a tensor.
    fn width(&self, name: TensorName) -> usize {
        self.case.want[name].width
    }
}

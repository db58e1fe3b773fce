//! The states of one channel, walked position by position, eight at a time.

use std::ops::Range;

use super::GENERIC;
use super::repeats::Repeats;
use super::state::{
    AffineStep, KeptState, Lanes, Position, PositionSums, State, StepInput, StepRoundings, WIDTH,
};
use super::step_size::step_size;
use super::tensor_cores::TensorCores;
use crate::formula::{Form, OFFSETS, Transition};
use crate::judge::lanes::{ComplexLanes, Value};
use crate::judge::model::{Model, Step};
use crate::problem::stages::{LogSpace, Rounding, StateRead, StoredState};
use crate::problem::{Operand, Problem, Sequence, Stage, Weights};
use crate::promise::Contract;
use crate::promise::allowance::{self, Arithmetic};

/// Where and how a channel is walked.
#[derive(Clone, Copy)]
pub struct Channel<'a> {
    pub form: Form,
    /// The whole, or some positions of it.
    pub problem: &'a Problem,
    /// Batch and channel.
    pub at: (usize, usize),
    pub contract: &'a Contract,
    /// The position that is the problem's first one.
    pub first: usize,
    /// Of the whole.
    pub seqlen: usize,
    pub lead: Lead,
}

/// Surroundings of a packed sequence that is scanned in log space: exponents are summed over blocks of the item.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lead {
    /// Positions of the block in which it begins that come before it.
    pub len: usize,
    /// Σ|Δ| of these, at least; infinite over padding, of which nothing is known.
    pub steps: f64,
    /// The number of that block.
    pub block: usize,
    /// Positions of the item.
    pub item: usize,
    /// Whether something comes after it, of which a scan backwards would have sums.
    pub is_followed: bool,
}

/// Σ|Δ| since the last block began, along an item of packed sequences.
pub struct Running {
    /// Positions of a block; none where nothing is summed.
    block: Option<usize>,
    item: usize,
    unit: f64,
    steps: f64,
}

impl Running {
    /// Where nothing was read yet of an item of so many positions.
    pub fn new(arithmetic: Arithmetic, item: usize) -> Running {
        let blocks = arithmetic.stages.log_space;
        let block = blocks.map(|log_space| log_space.block.map_or(item.max(1), |block| block.get()));
        Running { block, item, unit: arithmetic.unit, steps: 0.0 }
    }

    /// Surroundings of the next sequence.
    pub fn lead(&self, sequence: &Sequence) -> Lead {
        let Some(block) = self.block else { return Lead::default() };
        let Range { start, end } = sequence.positions;
        let (len, block) = (start % block, start / block);
        let steps = if len > 0 { self.steps } else { 0.0 };
        Lead { len, steps, block, item: self.item, is_followed: end < self.item }
    }

    /// Goes over these positions of a problem whose first one is `first`.
    pub fn pass(
        &mut self,
        problem: &Problem,
        at: (usize, usize),
        first: usize,
        arithmetic: Arithmetic,
        positions: Range<usize>,
    ) {
        let Some(block) = self.block else { return };
        for l in positions {
            if l % block == 0 {
                self.steps = 0.0;
            }
            let step = step_size(problem, at, l - first, arithmetic).0.abs();
            self.steps = (self.steps + step) * (1.0 + self.unit);
        }
    }

    pub fn pad(&mut self) {
        self.steps = f64::INFINITY;
    }
}

/// All states of a channel at one position.
#[derive(Clone)]
pub enum States {
    Real(Vec<State<Lanes>>),
    Complex(Vec<State<ComplexLanes<WIDTH>>>),
}

impl States {
    /// Before anything was read.
    pub fn new(weights: Weights, dstate: usize) -> States {
        let chunks = dstate.div_ceil(WIDTH);
        match weights {
            Weights::Real => States::Real(vec![State::new(Lanes::ZERO, Rounding::NONE); chunks]),
            Weights::Complex => {
                States::Complex(vec![State::new(ComplexLanes::all(0.0), Rounding::NONE); chunks])
            }
        }
    }

    /// x_{−1}, of a channel's first positions.
    pub fn initial(channel: Channel) -> States {
        fn of<V: Value<WIDTH>>(channel: Channel) -> Vec<State<V>> {
            let problem = channel.problem;
            let rounding = channel.contract.arithmetic.stages.rounding(Stage::State);
            let weight = Weight::<V>::initial(&channel);
            let load = |chunk| weight.as_ref().map_or(V::all(0.0), |x| x.load(0, chunk));
            (0..problem.shape.dstate.div_ceil(WIDTH)).map(|chunk| State::new(load(chunk), rounding)).collect()
        }
        match channel.problem.weights {
            Weights::Real => States::Real(of(channel)),
            Weights::Complex => States::Complex(of(channel)),
        }
    }

    /// What they take, in bytes.
    pub fn bytes(weights: Weights, dstate: usize) -> usize {
        let one = match weights {
            Weights::Real => size_of::<State<Lanes>>(),
            Weights::Complex => size_of::<State<ComplexLanes<WIDTH>>>(),
        };
        one * dstate.div_ceil(WIDTH)
    }

    /// Walks these positions of the whole, forwards or backwards, and adds what they come to.
    pub fn walk(&mut self, channel: Channel, positions: Range<usize>, backwards: bool, sums: &mut Sums) {
        match self {
            States::Real(states) => {
                let mut kept = std::mem::take(&mut sums.real);
                match channel.form.is_bidirectional() {
                    true => real::<true>(channel, states, positions, backwards, (&mut kept, sums)),
                    false => real::<false>(channel, states, positions, backwards, (&mut kept, sums)),
                }
                sums.real = kept;
            }
            States::Complex(states) => {
                let mut kept = std::mem::take(&mut sums.complex);
                match channel.form.is_bidirectional() {
                    true => complex::<true>(channel, states, positions, backwards, (&mut kept, sums)),
                    false => complex::<false>(channel, states, positions, backwards, (&mut kept, sums)),
                }
                sums.complex = kept;
            }
        }
    }

    /// What they are after so many positions. An initial state is none that was joined.
    pub fn kept(&self, channel: Channel, after: usize) -> Vec<KeptState> {
        fn of<V: Value<WIDTH>>(channel: Channel, states: &[State<V>], after: usize) -> Vec<KeptState> {
            let unit = channel.contract.arithmetic.of_states().unit;
            let joins = after.checked_sub(1).map_or(0.0, |before| channel.joins(before, false));
            let read = |state: &State<V>| match channel.log_space() {
                Some(_) => state.summed_as_a_tree(unit, channel.exponent_joins()),
                None => *state,
            };
            let kept = states.iter().flat_map(|state| read(state).kept(unit, joins));
            kept.take(channel.problem.shape.dstate).collect()
        }
        match self {
            States::Real(states) => of(channel, states, after),
            States::Complex(states) => of(channel, states, after),
        }
    }
}

/// What the states add up to at some positions.
#[derive(Default)]
pub struct Sums {
    pub positions: Vec<Position>,
    /// |Cₙ| (|xₙ| + Eₙ) at a position: of two directions, the first one's are kept until the other comes by.
    sizes: Vec<Lanes>,
    /// The largest |ΔA| so far; infinite at a pole.
    pub largest_z: f64,
    /// What operands that underflow may take with them, of a sequence so far.
    pub lost: f64,
    /// Of two directions, the steps of the first one, for the other: by position and eight states.
    real: Vec<AffineStep<Lanes>>,
    complex: Vec<AffineStep<ComplexLanes<WIDTH>>>,
}

impl Sums {
    /// Nothing yet, at so many positions.
    pub fn clear(&mut self, channel: Channel, positions: usize) {
        self.positions.clear();
        self.real.clear();
        self.complex.clear();
        self.positions.resize(positions, Position::default());
        let kept = if channel.form.is_bidirectional() { 2 * positions } else { 1 };
        self.sizes.resize(kept * channel.problem.shape.dstate.div_ceil(WIDTH), Lanes::ZERO);
    }

    /// What a position takes, in bytes.
    pub fn bytes(form: Form, weights: Weights, dstate: usize) -> usize {
        let step = match weights {
            Weights::Real => size_of::<AffineStep<Lanes>>(),
            Weights::Complex => size_of::<AffineStep<ComplexLanes<WIDTH>>>(),
        };
        let kept = if form.is_bidirectional() { 2 * size_of::<Lanes>() + step } else { 0 };
        size_of::<Position>() + kept * dstate.div_ceil(WIDTH)
    }
}

#[multiversion::multiversion(targets("x86_64+avx2"))]
fn real<const BOTH_WAYS: bool>(
    channel: Channel,
    states: &mut [State<Lanes>],
    positions: Range<usize>,
    backwards: bool,
    (kept, sums): (&mut Vec<AffineStep<Lanes>>, &mut Sums),
) {
    channel.walk::<_, BOTH_WAYS>(states, positions, backwards, (kept, sums));
}

#[multiversion::multiversion(targets("x86_64+avx2"))]
fn complex<const BOTH_WAYS: bool>(
    channel: Channel,
    states: &mut [State<ComplexLanes<WIDTH>>],
    positions: Range<usize>,
    backwards: bool,
    (kept, sums): (&mut Vec<AffineStep<ComplexLanes<WIDTH>>>, &mut Sums),
) {
    channel.walk::<_, BOTH_WAYS>(states, positions, backwards, (kept, sums));
}

/// Counts what repeats at these positions of the whole.
pub fn count(channel: Channel, positions: Range<usize>, repeats: &mut Repeats) {
    match channel.problem.weights {
        Weights::Real => count_real(channel, positions, repeats),
        Weights::Complex => count_complex(channel, positions, repeats),
    }
}

#[multiversion::multiversion(targets("x86_64+avx2"))]
fn count_real(channel: Channel, positions: Range<usize>, repeats: &mut Repeats) {
    channel.count::<Lanes>(positions, repeats);
}

#[multiversion::multiversion(targets("x86_64+avx2"))]
fn count_complex(channel: Channel, positions: Range<usize>, repeats: &mut Repeats) {
    channel.count::<ComplexLanes<WIDTH>>(positions, repeats);
}

/// B or C of one channel, eight states at a time.
pub struct Weight<'a, V> {
    problem: &'a Problem,
    values: &'a [f32],
    /// Where each state's begin.
    starts: Vec<usize>,
    /// Those that do not change with the position.
    constant: Option<Vec<V>>,
}

impl<'a, V: Value<WIDTH>> Weight<'a, V> {
    #[inline(always)]
    fn new(channel: &Channel<'a>, values: &'a [f32], operand: Operand) -> Self {
        Weight::of(channel.problem, channel.at, values, operand)
    }

    /// Of a channel's A, B or C.
    #[inline(always)]
    pub fn of(problem: &'a Problem, at: (usize, usize), values: &'a [f32], operand: Operand) -> Self {
        let start = |n| problem.operand_index(operand, at, n, 0);
        let starts = (0..problem.shape.dstate).map(start).collect();
        let mut weight = Weight { problem, values, starts, constant: None };
        if operand == Operand::Constant {
            let chunks = problem.shape.dstate.div_ceil(WIDTH);
            weight.constant = Some((0..chunks).map(|chunk| weight.load(0, chunk)).collect());
        }
        weight
    }

    /// x_{−1}; none where it is 0.
    #[inline(always)]
    fn initial(channel: &Channel<'a>) -> Option<Self> {
        Weight::of_states(channel.problem, channel.at, channel.problem.initial_state.as_ref())
    }

    /// Of a channel's states, where they are given.
    #[inline(always)]
    pub fn of_states(problem: &'a Problem, at: (usize, usize), values: Option<&'a Vec<f32>>) -> Option<Self> {
        let starts = (0..problem.shape.dstate).map(|n| problem.state_index(at, n)).collect();
        Some(Weight { problem, values: values?, starts, constant: None })
    }

    #[inline(always)]
    pub fn at(&self, l: usize, chunk: usize) -> V {
        match &self.constant {
            Some(values) => values[chunk],
            None => self.load(l, chunk),
        }
    }

    /// Past the last state there are zeros.
    #[inline(always)]
    pub fn load(&self, l: usize, chunk: usize) -> V {
        let starts = &self.starts[chunk * WIDTH..];
        let width = self.problem.weights.width();
        let (mut re, mut im) = ([0.0; WIDTH], [0.0; WIDTH]);
        for (lane, start) in starts.iter().take(WIDTH).enumerate() {
            let at = start + l * width;
            re[lane] = f64::from(self.values[at]);
            if width == 2 {
                im[lane] = f64::from(self.values[at + 1]);
            }
        }
        V::from_parts(re, im)
    }
}

impl Channel<'_> {
    /// How many scans are averaged.
    pub fn directions(&self) -> f64 {
        if self.form.is_bidirectional() { 2.0 } else { 1.0 }
    }

    /// What the product of a state with C may be off, relative; with a B beside C it is two.
    pub fn readout_product(&self) -> f64 {
        let mu = self.contract.arithmetic.product(self.problem.weights);
        if self.problem.reads_with_b() { mu * (2.0 + mu) } else { mu }
    }

    /// How many joins a term may still pass that so many positions come before. An initial state is one term more.
    #[inline(always)]
    fn joins(&self, before: usize, backwards: bool) -> f64 {
        let given = !backwards && self.problem.initial_state.is_some();
        allowance::scan_joins(self.seqlen).min((before + usize::from(given)) as f64)
    }

    /// How products of Ā are scanned, if in log space: those that are exponentials.
    pub fn log_space(&self) -> Option<LogSpace> {
        let is_exponential = self.form.formula().a_bar == Transition::Exponential;
        self.contract.arithmetic.stages.log_space.filter(|_| is_exponential)
    }

    /// Positions of a block of running sums, at most.
    fn block(&self) -> usize {
        let block = self.log_space().and_then(|log_space| log_space.block);
        let all = self.lead.len + self.seqlen;
        block.map_or(all, |block| block.get().min(all))
    }

    /// Joins of a tree that adds a running sum.
    fn exponent_joins(&self) -> f64 {
        allowance::scan_joins(self.block())
    }

    /// Products on tensor cores, of a scan that may have them.
    pub fn ssd(&self) -> Option<TensorCores> {
        let is_scan = self.log_space().is_some() && !self.form.is_bidirectional();
        let operands = self.contract.arithmetic.stages.ssd.filter(|_| is_scan)?.rounding();
        let terms = self.block() + self.problem.shape.dstate * self.problem.weights.width();
        Some(TensorCores { operands, additions: 4.0 * terms as f64 * self.contract.arithmetic.unit })
    }

    /// Sums of a state's step beside the one with Ā x: one for each further input.
    pub fn further_sums(&self) -> f64 {
        self.form.formula().b_bar[1..].iter().filter(|terms| !terms.is_empty()).count() as f64
    }

    /// Compiled apart for forms of two directions, so that the others do nothing for those.
    #[inline(always)]
    fn walk<V: Value<WIDTH>, const BOTH_WAYS: bool>(
        self,
        states: &mut [State<V>],
        range: Range<usize>,
        backwards: bool,
        (kept, sums): (&mut Vec<AffineStep<V>>, &mut Sums),
    ) {
        let Channel { form, problem, at, contract, first, seqlen, lead } = self;
        let arithmetic = contract.arithmetic;
        let chunks = states.len();
        let model = Model::new(form, problem.weights, contract);
        let a = Weight::<V>::new(&self, &problem.a, Operand::Constant);
        let b = Weight::<V>::new(&self, &problem.b, problem.b_operand);
        let c = Weight::<V>::new(&self, &problem.c, problem.c_operand);
        let mu = self.readout_product();
        let (reads_before, reads_with_b) = (problem.reads_before(), problem.reads_with_b());
        let of_states = arithmetic.of_states();
        let log_space = self.log_space();
        let block = log_space.and_then(|log_space| log_space.block);
        let stored_state = arithmetic.stages.stored_state;
        let exponent_joins = self.exponent_joins();
        let roundings = StepRoundings {
            arithmetic: of_states,
            mu: of_states.product(problem.weights),
            further_sums: self.further_sums(),
            in_log_space: log_space.is_some(),
        };
        let has_operands = self.ssd().is_some();
        let Sums { positions, sizes, lost, .. } = sums;
        // Where the sizes of one position, and of one direction, are.
        let (row, own) = match (BOTH_WAYS, backwards) {
            (true, _) => (2 * chunks, usize::from(backwards) * chunks),
            (false, _) => (0, 0),
        };
        let pole = form.formula().pole().map(|alpha| 1.0 / alpha.value());
        let mut largest_z = Lanes::ZERO;
        // The second direction takes the steps that the first one has left.
        let keeps = BOTH_WAYS && kept.is_empty();
        let takes = BOTH_WAYS && !keeps;
        if keeps {
            kept.resize(range.len() * chunks, AffineStep::none());
        }
        for step in 0..range.len() {
            // Of this stretch, of the problem, and how many positions come before it.
            let i = if backwards { range.len() - 1 - step } else { step };
            let l = range.start + i - first;
            let before = if backwards { seqlen - 1 - (first + l) } else { first + l };
            let joins = self.joins(before, backwards);
            let earlier_joins = self.joins(before.saturating_sub(1), backwards);
            let delta = step_size(problem, at, l, arithmetic);
            let row_start = i * row;
            // Blocks are those of the item. A sequence has exponents of what is before it in its block.
            let of_item = if backwards { before } else { lead.len + before };
            let begins_block = block.is_some_and(|block| of_item % block.get() == 0);
            let leads = before == 0 && if backwards { lead.is_followed } else { lead.len > 0 };
            // Nothing bounds a scan backwards over blocks that others begin.
            let lead_steps = if backwards { f64::INFINITY } else { lead.steps };
            let mut sums = PositionSums::ZERO;
            // Of products on tensor cores: the largest Ā, Σ|ΔB| and |B̄|, and Σ M̂.
            let (mut growth, mut operands, mut terms) = (Lanes::ONE, Lanes::ZERO, Lanes::ZERO);
            for (chunk, state) in states.iter_mut().enumerate() {
                let (a, mut b, mut c) = (a.at(0, chunk), b.at(l, chunk), c.at(l, chunk));
                let apart = if reads_with_b { c.norm() } else { Lanes::ZERO };
                if reads_with_b {
                    (b, c) = (V::all(1.0), c * b);
                }
                let previous = *state;
                if begins_block {
                    state.begin_block(Lanes::ZERO);
                }
                if leads {
                    state.begin_block((a.norm() * lead_steps).unless_zero(a.norm()));
                }
                let place = i * chunks + chunk;
                if takes {
                    let AffineStep { a_bar, a_bar_error, input, z } = &kept[place];
                    state.advance((*a_bar, *a_bar_error), input, *z, joins, roundings);
                } else {
                    let step = model.step(delta, a, b);
                    let (a_bar, a_bar_error, input) = (step.a_bar, step.a_bar_error, self.input(&step, b, l));
                    let z = a * delta.0;
                    let size = z.norm();
                    let infinite = Lanes::all(f64::INFINITY);
                    let at_pole = pole.is_some_and(|pole| (z - pole).norm().any_below(f64::MIN_POSITIVE));
                    largest_z = largest_z.max(if at_pole { infinite } else { size });
                    if keeps {
                        kept[place] = AffineStep { a_bar, a_bar_error, input, z: size };
                    }
                    state.advance((a_bar, a_bar_error), &input, size, joins, roundings);
                    if has_operands {
                        growth = growth.max(a_bar.norm() + a_bar_error);
                        operands = operands + b.norm() * delta.0.abs() + step.b_bar.norm();
                        terms = terms + state.size();
                    }
                }
                let unrounded = *state;
                let mut read_as = &unrounded;
                if let Some(StoredState { stored, read }) = stored_state {
                    state.store(stored.rounding());
                    if read == StateRead::Stored {
                        read_as = &*state;
                    }
                }
                let (read, joins) = if reads_before { (&previous, earlier_joins) } else { (read_as, joins) };
                let summed;
                let read = match roundings.in_log_space {
                    true => {
                        summed = read.summed_as_a_tree(of_states.unit, exponent_joins);
                        &summed
                    }
                    false => read,
                };
                let seen = read.seen(of_states.unit, joins);
                sizes[row_start + own + chunk] = sums.add((c, apart), read, seen, mu);
            }
            sums.add_to(&mut positions[i]);
            if has_operands {
                let growth = growth.0.into_iter().fold(1.0, f64::max);
                let u = f64::from(problem.u_at(at, l as isize)).abs();
                *lost = growth * *lost + (1.0 + u) * (1.0 + delta.0.abs() + operands.sum());
                positions[i].lost = terms.sum() + (1.0 + positions[i].weights) * *lost;
            }
            // Forwards comes last.
            if !backwards {
                let small = Lanes::all(GENERIC * arithmetic.unit * positions[i].magnitude);
                let mut count = Lanes::ZERO;
                for &size in &sizes[row_start..row_start + row.max(chunks)] {
                    let below = Lanes::if_less(size, small, Lanes::ONE, Lanes::ZERO);
                    count = count + below.unless_zero(size);
                }
                positions[i].stagnating = count.sum();
            }
        }
        sums.largest_z = largest_z.0.into_iter().fold(sums.largest_z, f64::max);
    }

    #[inline(always)]
    fn count<V: Value<WIDTH>>(self, range: Range<usize>, repeats: &mut Repeats) {
        let Channel { form, problem, at, contract, first, .. } = self;
        let dstate = problem.shape.dstate;
        let model = Model::new(form, problem.weights, contract);
        let a = Weight::<V>::new(&self, &problem.a, Operand::Constant);
        let b = Weight::<V>::new(&self, &problem.b, problem.b_operand);
        for l in range.start - first..range.end - first {
            let delta = step_size(problem, at, l, contract.arithmetic);
            for chunk in 0..dstate.div_ceil(WIDTH) {
                let (a, b) = (a.at(0, chunk), b.at(l, chunk));
                let b = if problem.reads_with_b() { V::all(1.0) } else { b };
                let (z, b_u) = (a * delta.0, self.input(&model.step(delta, a, b), b, l).b_u);
                for lane in 0..WIDTH.min(dstate - chunk * WIDTH) {
                    repeats.count(z.at(lane), b_u.at(lane));
                }
            }
        }
    }

    /// b of the step at l, for B̄'s error and B.
    #[inline(always)]
    fn input<V: Value<WIDTH>>(&self, step: &Step<V, Lanes>, b: V, l: usize) -> StepInput<V> {
        let Channel { problem, contract, .. } = self;
        let arithmetic = contract.arithmetic;
        let [du, state] = [Stage::Du, Stage::State].map(|stage| arithmetic.stages.rounding(stage));
        // A narrower state rounds b even where there is nothing to add it to.
        let input_error = contract.input_error(problem.weights) + 2.0 * du.unit + state.unit;
        let underflow = arithmetic.underflow + du.underflow + state.underflow;
        // A product that underflows: the last one, or one that B multiplies yet, where B is applied apart.
        let vanished = match contract.applies_b_apart() {
            true => (b.norm() + 1.0) * (2.0 * underflow),
            false => Lanes::all(2.0 * underflow),
        };
        let [before, after] = step.neighbours;
        let mut input = StepInput::<V>::none();
        for (b_bar, offset) in [Some((step.b_bar, step.b_bar_error)), before, after].into_iter().zip(OFFSETS)
        {
            let Some((b_bar, error)) = b_bar else { continue };
            let u = f64::from(problem.u_at(self.at, l as isize + offset));
            if u == 0.0 {
                continue;
            }
            let b_u = b_bar * u;
            let (size, known) = (b_u.norm(), input.b_u.norm());
            input.coefficient = input.coefficient + error * (u.abs() * (1.0 + input_error)) + vanished;
            // ΔB may underflow before u multiplies it.
            input.coefficient = input.coefficient + Lanes::all(2.0 * du.underflow * u.abs());
            // One more sum, where there is anything to add to: also what came out as 0, and may not be.
            let reached = size + error * u.abs();
            let sum = ((known + reached) * arithmetic.of_states().unit).unless_zero(input.size);
            input.product = input.product + size * input_error + sum;
            input.b_u = input.b_u + b_u;
            input.size = input.size + reached;
        }
        input
    }
}

//! The states of one channel, position by position, eight at a time: what they are, and what rounding may do to them.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::ops::Range;

use num_complex::Complex64;

use super::{GENERIC, LAMBDA, or_less};
use crate::formula::Form;
use crate::formula::OFFSETS;
use crate::judge::lanes::{self, ComplexLanes, Value};
use crate::judge::model::{Model, Step};
use crate::problem::stages::Rounding;
use crate::problem::{Operand, Problem, Stage, Weights};
use crate::promise::Contract;
use crate::promise::allowance::{self, Arithmetic};

/// How many states are computed at a time.
const WIDTH: usize = 8;

pub type Lanes = lanes::Lanes<WIDTH>;

/// What the states of one channel add up to at a position, before skip and gate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Re Σ Cₙ xₙ
    pub y: f64,
    /// Σ |Cₙ| Eₙ
    pub carried: f64,
    /// Σ |Cₙ| (|xₙ| + Eₙ)
    pub magnitude: f64,
    /// Σ |Cₙ| Dₙ
    pub linear: f64,
    /// Σ |Cₙ| Mₙ
    pub terms: f64,
    /// Σ |Cₙ|
    pub weights: f64,
    /// Σ |Cₙ|² (Vₙ + J u² M̂ₙ² + μ² (|xₙ| + Eₙ)²)
    pub variance: f64,
    /// How many states are so small beside all together that adding them rounds in the direction that they give it.
    pub stagnating: f64,
}

/// A state after the last position.
#[derive(Clone, Copy, Debug)]
pub struct LastState {
    pub x: Complex64,
    /// E
    pub worst: f64,
    /// D, and the roundings that are not taken as random
    pub linear: f64,
    /// V + J u² M̂²
    pub variance: f64,
    /// M
    pub magnitude: f64,
}

impl LastState {
    /// The bound that is judged by.
    pub fn judged(&self, repeats: f64) -> f64 {
        or_less(self.linear + LAMBDA * (repeats * self.variance).sqrt(), self.worst)
    }
}

/// How often each nonzero z, and each nonzero b, occurs (module docs of [`super`]), of a share of all of them: those whose
/// hash ends so. The share is halved whenever it takes more memory than there is.
pub struct Repeats {
    z: Occurrences,
    b: Occurrences,
    share: Share,
    /// Different numbers that are held.
    capacity: usize,
    /// The halves that were given up.
    pub left: Vec<Share>,
}

type Occurrences = HashMap<(u64, u64), u64, BuildHasherDefault<BitsHasher>>;

/// Those numbers of whose hash these bits are `value`.
#[derive(Clone, Copy)]
pub struct Share {
    bits: u32,
    value: u64,
}

impl Share {
    /// All numbers.
    pub const WHOLE: Share = Share { bits: 0, value: 0 };

    /// A table takes a number's place from the last bits of its hash, so that these are not the share's.
    fn has(self, key: (u64, u64)) -> bool {
        let hash = BuildHasherDefault::<BitsHasher>::default().hash_one(key) >> 32;
        hash & ((1 << self.bits) - 1) == self.value
    }
}

impl Repeats {
    pub fn new(share: Share, capacity: usize) -> Repeats {
        let [z, b] = [Occurrences::default(), Occurrences::default()];
        Repeats { z, b, share, capacity, left: Vec::new() }
    }

    #[inline(always)]
    fn count(&mut self, z: Complex64, b: Complex64) {
        for (occurrences, value) in [(&mut self.z, z), (&mut self.b, b)] {
            let key = (value.re.to_bits(), value.im.to_bits());
            if value != Complex64::ZERO && (self.share.bits == 0 || self.share.has(key)) {
                *occurrences.entry(key).or_default() += 1;
            }
        }
        if self.z.len() + self.b.len() > self.capacity && self.share.bits < 32 {
            self.halve();
        }
    }

    #[cold]
    fn halve(&mut self) {
        let Share { bits, value } = self.share;
        self.share = Share { bits: bits + 1, value };
        self.left.push(Share { bits: bits + 1, value: value | 1 << bits });
        for occurrences in [&mut self.z, &mut self.b] {
            occurrences.retain(|key, _| self.share.has(*key));
        }
    }

    /// Of the most frequent one.
    pub fn most(&self) -> u64 {
        self.z.values().chain(self.b.values()).copied().max().unwrap_or(1)
    }
}

/// Mixes the bits of a few floats, much faster than what withstands an attacker.
#[derive(Default)]
struct BitsHasher(u64);

impl Hasher for BitsHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    fn write_u64(&mut self, bits: u64) {
        // The upper half of the product depends on all bits, and so does its sum with the lower one.
        let product = u128::from(self.0 ^ bits) * 0x9e37_79b9_7f4a_7c15;
        self.0 = ((product >> 64) as u64) ^ product as u64;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

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
            States::Real(states) => real(channel, states, positions, backwards, sums),
            States::Complex(states) => complex(channel, states, positions, backwards, sums),
        }
    }

    /// What they are after the last position.
    pub fn last(&self, channel: Channel) -> Vec<LastState> {
        fn of<V: Value<WIDTH>>(channel: Channel, states: &[State<V>]) -> Vec<LastState> {
            let unit = channel.contract.arithmetic.of_states().unit;
            let joins = channel.joins(channel.seqlen.saturating_sub(1), false);
            let last = states.iter().flat_map(|state| state.last(unit, joins));
            last.take(channel.problem.shape.dstate).collect()
        }
        match self {
            States::Real(states) => of(channel, states),
            States::Complex(states) => of(channel, states),
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
}

impl Sums {
    /// Nothing yet, at so many positions.
    pub fn clear(&mut self, channel: Channel, positions: usize) {
        self.positions.clear();
        self.positions.resize(positions, Position::default());
        let kept = if channel.form.is_bidirectional() { 2 * positions } else { 1 };
        self.sizes.resize(kept * channel.problem.shape.dstate.div_ceil(WIDTH), Lanes::ZERO);
    }

    /// What a position takes, in bytes.
    pub fn bytes(form: Form, dstate: usize) -> usize {
        let kept = if form.is_bidirectional() { 2 * dstate.div_ceil(WIDTH) } else { 0 };
        size_of::<Position>() + kept * size_of::<Lanes>()
    }
}

#[multiversion::multiversion(targets("x86_64+avx2"))]
fn real(
    channel: Channel,
    states: &mut [State<Lanes>],
    positions: Range<usize>,
    backwards: bool,
    sums: &mut Sums,
) {
    channel.walk(states, positions, backwards, sums);
}

#[multiversion::multiversion(targets("x86_64+avx2"))]
fn complex(
    channel: Channel,
    states: &mut [State<ComplexLanes<WIDTH>>],
    positions: Range<usize>,
    backwards: bool,
    sums: &mut Sums,
) {
    channel.walk(states, positions, backwards, sums);
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

/// b_l = B̄_l u_l, and what a kernel's may be off.
#[derive(Clone, Copy)]
struct StepInput<V> {
    b_u: V,
    /// By its coefficient, and by an underflow.
    coefficient: Lanes,
    /// By the products that form it from B̄ and u.
    product: Lanes,
}

/// B or C of one channel, eight states at a time.
struct Weight<'a, V> {
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
        let problem = channel.problem;
        let start = |n| problem.operand_index(operand, channel.at, n, 0);
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
        let problem = channel.problem;
        let values = problem.initial_state.as_ref()?;
        let starts = (0..problem.shape.dstate).map(|n| problem.state_index(channel.at, n)).collect();
        Some(Weight { problem, values, starts, constant: None })
    }

    #[inline(always)]
    fn at(&self, l: usize, chunk: usize) -> V {
        match &self.constant {
            Some(values) => values[chunk],
            None => self.load(l, chunk),
        }
    }

    /// Past the last state there are zeros.
    #[inline(always)]
    fn load(&self, l: usize, chunk: usize) -> V {
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

    /// Sums of a state's step beside the one with Ā x: one for each further input.
    fn further_sums(&self) -> f64 {
        self.form.formula().b_bar[1..].iter().filter(|terms| !terms.is_empty()).count() as f64
    }

    #[inline(always)]
    fn walk<V: Value<WIDTH>>(
        self,
        states: &mut [State<V>],
        range: Range<usize>,
        backwards: bool,
        sums: &mut Sums,
    ) {
        let Channel { form, problem, at, contract, first, seqlen } = self;
        let arithmetic = contract.arithmetic;
        let chunks = states.len();
        let model = Model::new(form, problem.weights, contract);
        let a = Weight::<V>::new(&self, &problem.a, Operand::Constant);
        let b = Weight::<V>::new(&self, &problem.b, problem.b_operand);
        let c = Weight::<V>::new(&self, &problem.c, problem.c_operand);
        let mu = self.readout_product();
        let (reads_before, reads_with_b) = (problem.reads_before(), problem.reads_with_b());
        let further_sums = self.further_sums();
        let of_states = arithmetic.of_states();
        let state_mu = of_states.product(problem.weights);
        let Sums { positions, sizes, .. } = sums;
        // Where the sizes of one position, and of one direction, are.
        let (row, own) = match (form.is_bidirectional(), backwards) {
            (true, _) => (2 * chunks, usize::from(backwards) * chunks),
            (false, _) => (0, 0),
        };
        let pole = form.formula().pole().map(|alpha| 1.0 / alpha.value());
        let mut largest_z = Lanes::ZERO;
        for step in 0..range.len() {
            // Of this stretch, of the problem, and how many positions come before it.
            let i = if backwards { range.len() - 1 - step } else { step };
            let l = range.start + i - first;
            let before = if backwards { seqlen - 1 - (first + l) } else { first + l };
            let joins = self.joins(before, backwards);
            let earlier_joins = self.joins(before.saturating_sub(1), backwards);
            let delta = step_size(problem, at, l, arithmetic);
            let row_start = i * row;
            let mut sums = PositionSums::ZERO;
            for (chunk, state) in states.iter_mut().enumerate() {
                let (a, mut b, mut c) = (a.at(0, chunk), b.at(l, chunk), c.at(l, chunk));
                let apart = if reads_with_b { c.norm() } else { Lanes::ZERO };
                if reads_with_b {
                    (b, c) = (V::all(1.0), c * b);
                }
                let coefficients = model.step(delta, a, b);
                let input = self.input(&coefficients, b, l);
                let z = a * delta.0;
                let size = z.norm();
                let infinite = Lanes::all(f64::INFINITY);
                let at_pole = pole.is_some_and(|pole| (z - pole).norm().any_below(f64::MIN_POSITIVE));
                largest_z = largest_z.max(if at_pole { infinite } else { size });
                let previous = *state;
                state.advance(&coefficients, &input, size, joins, (of_states, state_mu, further_sums));
                let (read, joins) = if reads_before { (&previous, earlier_joins) } else { (&*state, joins) };
                let seen = read.seen(of_states.unit, joins);
                sizes[row_start + own + chunk] = sums.add((c, apart), read, seen, mu);
            }
            sums.add_to(&mut positions[i]);
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
        let mut input = StepInput { b_u: V::all(0.0), coefficient: Lanes::ZERO, product: Lanes::ZERO };
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
            // One more sum, where there is anything to add to.
            let sum = ((known + size) * arithmetic.of_states().unit).unless_zero(known);
            input.product = input.product + size * input_error + sum;
            input.b_u = input.b_u + b_u;
        }
        input
    }
}

/// What is known of eight states after one position.
#[derive(Clone, Copy)]
pub struct State<V> {
    x: V,
    /// M
    magnitude: Lanes,
    /// E
    worst: Lanes,
    /// D, and the roundings that are not taken as random
    linear: Lanes,
    /// V
    variance: Lanes,
    /// The largest M̂ so far: a tree multiplies it by products of Ā that may have underflowed on their own.
    largest: Lanes,
    /// Nonzero once a rounding was not taken as random.
    directed: Lanes,
}

impl<V: Value<WIDTH>> State<V> {
    #[inline(always)]
    fn new(x: V, rounding: Rounding) -> Self {
        let (zero, size) = (Lanes::ZERO, x.norm());
        // A state that is rounded is so where it is given, too.
        let rounded = (size * rounding.unit + Lanes::all(rounding.underflow)).unless_zero(size);
        State {
            x,
            magnitude: size,
            worst: rounded,
            linear: rounded,
            variance: zero,
            largest: Lanes::ONE.max(size),
            directed: zero,
        }
    }

    /// One step (the recurrences of [`super`]), of which a tree joins so many later.
    #[inline(always)]
    fn advance(
        &mut self,
        step: &Step<V, Lanes>,
        input: &StepInput<V>,
        z: Lanes,
        joins: f64,
        (arithmetic, mu, further_sums): (Arithmetic, f64, f64),
    ) {
        let u = arithmetic.unit;
        let growth = (1.0 + mu) * (1.0 + u * (1.0 + further_sums * (1.0 + u)));
        let (a_abs, b_abs) = (step.a_bar.norm(), input.b_u.norm());
        let a_computed = (a_abs + step.a_bar_error) * growth;
        let a_excess = step.a_bar_error * growth + a_abs * (growth - 1.0);
        // A product that underflows loses at most half a subnormal, if there is anything to multiply: of a state, or of
        // what then multiplies one.
        let underflow = (self.largest * (2.0 * arithmetic.underflow)).unless_zero(self.magnitude);
        let worst = a_computed.times(self.worst)
            + a_excess.times(self.magnitude)
            + (input.coefficient + input.product) * (1.0 + joins * u)
            + b_abs * (joins * u)
            + underflow;
        let old = a_abs.times(self.magnitude);
        let magnitude = old + b_abs;
        // What the product with Ā and the sum with b round. An exact operation does not.
        let product = (a_computed.times(self.magnitude + self.worst) * mu).unless_zero(z);
        let sums = (magnitude + worst) * (u * (1.0 + further_sums));
        let sum = if further_sums > 0.0 { sums } else { sums.unless_zero(b_abs) };
        // Those that cannot be taken as random.
        let directed_product =
            Lanes::if_less((step.a_bar - 1.0).norm(), Lanes::all(GENERIC * u), product, Lanes::ZERO);
        let directed_sum = Lanes::if_less(b_abs, old * (GENERIC * u), sum, Lanes::ZERO);
        let (product, sum) = (product - directed_product, sum - directed_sum);
        self.linear = a_computed.times(self.linear)
            + step.a_bar_error.times(self.x.norm())
            + input.coefficient
            + underflow
            + directed_product
            + directed_sum;
        self.variance = (a_computed * a_computed).times(self.variance)
            + input.product * input.product
            + product * product
            + sum * sum;
        self.directed = self.directed + directed_product + directed_sum;
        // An infinite Ā of a state that is still 0 adds nothing.
        let carried = V::if_less(Lanes::ZERO, self.x.norm(), step.a_bar * self.x, V::all(0.0));
        self.x = carried + input.b_u;
        self.largest = self.largest.max(magnitude + worst);
        (self.magnitude, self.worst) = (magnitude, worst);
    }

    /// D and V with J u² M̂², which a tree adds.
    #[inline(always)]
    fn seen(&self, u: f64, joins: f64) -> [Lanes; 2] {
        let joined = (self.magnitude + self.worst) * u;
        let random = (joined * joined) * joins;
        let random = Lanes::if_less(Lanes::ZERO, self.directed, Lanes::ZERO, random);
        let directed = Lanes::if_less(Lanes::ZERO, self.directed, joined * joins, Lanes::ZERO);
        [self.linear + directed, self.variance + random]
    }

    /// After the last position.
    #[inline(always)]
    fn last(&self, u: f64, joins: f64) -> [LastState; WIDTH] {
        let [linear, variance] = self.seen(u, joins);
        std::array::from_fn(|lane| LastState {
            x: self.x.at(lane),
            worst: self.worst.0[lane],
            linear: linear.0[lane],
            variance: variance.0[lane],
            magnitude: self.magnitude.0[lane],
        })
    }
}

/// What becomes a [`Position`], eight states in each place.
struct PositionSums {
    y: Lanes,
    carried: Lanes,
    magnitude: Lanes,
    linear: Lanes,
    terms: Lanes,
    weights: Lanes,
    variance: Lanes,
}

impl PositionSums {
    const ZERO: PositionSums = PositionSums {
        y: Lanes::ZERO,
        carried: Lanes::ZERO,
        magnitude: Lanes::ZERO,
        linear: Lanes::ZERO,
        terms: Lanes::ZERO,
        weights: Lanes::ZERO,
        variance: Lanes::ZERO,
    };

    /// Adds what eight states are worth, their D and V as they are seen; |C|(|x| + E). `apart` is |C| where B multiplies
    /// it or the state, whose product may underflow.
    #[inline(always)]
    fn add<V: Value<WIDTH>>(
        &mut self,
        (c, apart): (V, Lanes),
        state: &State<V>,
        [linear, variance]: [Lanes; 2],
        mu: f64,
    ) -> Lanes {
        let (weight, size) = (c.norm(), state.x.norm() + state.worst);
        let weighted = weight.times(size);
        self.y = self.y + (c * state.x).re();
        self.carried = self.carried + weight.times(state.worst);
        self.magnitude = self.magnitude + weighted;
        self.linear = self.linear + weight.times(linear);
        self.terms = self.terms + weight.times(state.magnitude);
        self.weights = self.weights + weight + apart + size.unless_zero(apart);
        let variance = variance + size * size * (mu * mu);
        self.variance = self.variance + (weight * weight).times(variance);
        weighted
    }

    #[inline(always)]
    fn add_to(&self, position: &mut Position) {
        position.y += self.y.sum();
        position.carried += self.carried.sum();
        position.magnitude += self.magnitude.sum();
        position.linear += self.linear.sum();
        position.terms += self.terms.sum();
        position.weights += self.weights.sum();
        position.variance += self.variance.sum();
    }
}

/// Δ at one position, and the relative error that a kernel's Δ may have: the sum with the bias rounds, and
/// softplus multiplies that relative error of x by |x·σ(x)/softplus(x)|.
pub fn step_size(
    problem: &Problem,
    (batch, channel): (usize, usize),
    l: usize,
    arithmetic: Arithmetic,
) -> (f64, f64) {
    let delta = f64::from(problem.delta[problem.sequence_index(batch, channel, l)]);
    let rounding = arithmetic.stages.rounding(Stage::Delta);
    let (x, sum_error) = match &problem.delta_bias {
        Some(bias) => (delta + f64::from(bias[channel]), arithmetic.unit + rounding.unit),
        None => (delta, 0.0),
    };
    if !problem.delta_softplus {
        let underflow = if sum_error > 0.0 && x != 0.0 { rounding.underflow / x.abs() } else { 0.0 };
        return (x, sum_error + underflow);
    }
    let softplus = softplus(x);
    let sigmoid = 1.0 / (1.0 + (-x).exp());
    // Both vanish together as x → −∞, where softplus(x) → eˣ and its conditioning → |x|.
    let conditioning = if softplus > 0.0 { (x * sigmoid / softplus).abs() } else { x.abs() };
    // A subnormal Δ is rounded to the grid that subnormals have.
    let underflow = 2.0 * arithmetic.underflow + rounding.underflow;
    let subnormal = if softplus > 0.0 { underflow / softplus } else { 0.0 };
    // log(1 + eˣ) as it stands: the sum is at least 1, and its rounding an error of u in the logarithm.
    let naive = arithmetic.stages.naive_softplus && softplus > 0.0;
    let rounded_sum = if naive { 2.0 * arithmetic.unit / softplus } else { 0.0 };
    let error = conditioning * sum_error + arithmetic.softplus() + subnormal + rounded_sum;
    (softplus, error + rounding.unit * (1.0 + error))
}

/// log(1 + eˣ); x itself where e⁻ˣ is nothing beside it.
pub fn softplus(x: f64) -> f64 {
    if x > 40.0 { x } else { x.exp().ln_1p() }
}

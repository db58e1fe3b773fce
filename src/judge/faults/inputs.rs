//! What a [`Variant`] reads of a problem's inputs, and what it makes of them before its scan. Positions are those of its own
//! scan, which may run backwards.

use num_complex::Complex64;

use super::around::{AUse, Activation, Flips, Limited, Pad, Stage, StepSize, UUse, limited};
use super::complex::{OfComplex, Way};
use super::place::{Input, Map, Order, Pairs, Place};
use super::step::{self, Bounded};
use super::variant::{BUse, Group, Variant};
use crate::judge::budget::{self, complex_at};
use crate::problem::{InputType, Operand, Problem, Weights};
use crate::promise::allowance::{self, U};

/// Inputs along the sequence, in the order of their numbers.
const SEQUENCES: [Input; 3] = [Input::U, Input::Delta, Input::Z];

/// The inputs of one channel, as a variant reads them.
pub struct Read<'a> {
    pub variant: &'a Variant,
    pub problem: &'a Problem,
    pub channel: (usize, usize),
    /// What enters the scan.
    pub u: Vec<f64>,
    /// What the skip takes.
    pub u_of_skip: Vec<f64>,
    pub u_given: Vec<f64>,
    pub z: Vec<f64>,
    /// Δ and its relative error, of Ā and of B̄.
    pub steps: [Vec<(f64, f64)>; 2],
    /// Where the channel begins in u, delta and z, those of them that are read as they should be.
    rows: [Option<usize>; 3],
    /// Where variable B and C begin that are read as they should be, which nearly all are.
    begin: [Option<usize>; 2],
    /// Whether these are used as they are read.
    given: [bool; 2],
    /// Whether B and C are read from the other end.
    mirrored: [bool; 2],
    /// A of each state, of Ā and of B̄.
    a: [Vec<Complex64>; 2],
    /// The relative error that a kernel's A may have.
    pub a_error: f64,
}

impl<'a> Read<'a> {
    /// Of the first `len` positions.
    pub fn new(variant: &'a Variant, problem: &'a Problem, channel: (usize, usize), len: usize) -> Self {
        let mut read = Read {
            variant,
            problem,
            channel,
            u: Vec::new(),
            u_of_skip: Vec::new(),
            u_given: Vec::new(),
            z: Vec::new(),
            steps: [Vec::new(), Vec::new()],
            rows: [None; 3],
            begin: [None; 2],
            given: [Input::B, Input::C].map(|input| is_given(variant, input)),
            mirrored: [false; 2],
            a: [Vec::new(), Vec::new()],
            a_error: a_error(variant),
        };
        read.a = [0, 1].map(|of| (0..problem.shape.dstate).map(|n| read.used_a(of, n)).collect());
        let row = problem.row_if_held(channel.0, channel.1).map(|row| row * problem.shape.seqlen);
        read.rows = SEQUENCES.map(|input| row.filter(|_| *read.place(input) == Place::RIGHT));
        read.begin = [Input::B, Input::C].map(|input| read.begin(input));
        // One position more, which a step may read, and where u is read early as many more as that is.
        let early = variant.u_use.iter().map(|of| if let UUse::At(by) = *of { by.max(0) } else { 0 });
        let ahead = (len + 1 + early.max().unwrap_or(0).unsigned_abs()).min(problem.shape.seqlen);
        read.u_given = (0..ahead).map(|l| read.sequence(Input::U, &problem.u, l)).collect();
        if let Some(z) = &problem.z {
            let limits = read.limits(Limited::Gate);
            read.z = (0..ahead).map(|l| limited(limits, read.sequence(Input::Z, z, l))).collect();
        }
        let [of_a_bar, of_b_bar] = &variant.step_sizes;
        // A mean needs the whole of its block.
        let whole = len
            .next_multiple_of(of_a_bar.mean_of.or(of_b_bar.mean_of).unwrap_or(1))
            .min(problem.shape.seqlen);
        let steps = |of: &StepSize| -> Vec<(f64, f64)> {
            let mut steps: Vec<(f64, f64)> = (0..whole).map(|l| read.step_size(of, l)).collect();
            for block in steps.chunks_mut(of.mean_of.unwrap_or(1)).filter(|block| block.len() > 1) {
                let sum: f64 = block.iter().map(|(delta, _)| delta).sum();
                let error: f64 = block.iter().map(|(delta, error)| delta.abs() * error).sum();
                let count = block.len() as f64;
                block.fill((sum / count, error / sum.abs().max(f64::MIN_POSITIVE) + count * U));
            }
            steps.truncate(len);
            steps
        };
        let of_a_bar = steps(of_a_bar);
        let of_b_bar = match variant.step_sizes[0] == variant.step_sizes[1] {
            true => of_a_bar.clone(),
            false => steps(of_b_bar),
        };
        read.steps = [of_a_bar, of_b_bar];
        let [of_scan, of_skip] = variant.u_use.map(|of| read.used_u(of, ahead));
        // What the scan alone does with it.
        let in_scan = |u: f64| read.rounded(Stage::U, limited(read.limits(Limited::U), u).into()).re;
        read.u = of_scan.into_iter().map(in_scan).collect();
        read.u_of_skip = of_skip;
        read
    }

    /// What a reversed scan by flipping does not flip, it reads from the other end: all of it, and as it is used, so that
    /// whatever else is wrong with it stays.
    pub fn mirror(&mut self, flips: Flips) {
        if !flips.u {
            self.u.reverse();
        }
        if !flips.delta {
            self.steps.iter_mut().for_each(|steps| steps.reverse());
        }
        self.mirrored = [!flips.b, !flips.c];
    }

    /// Where B or C of a position is.
    #[inline]
    fn operand_at(&self, input: Input, l: usize) -> usize {
        let mirrored = self.mirrored[usize::from(input == Input::C)];
        if mirrored { self.problem.shape.seqlen - 1 - l } else { l }
    }

    /// u at a position of the scan; before the start it is 0, past the end it is held (spec.md §2, "Textbook forms").
    #[inline]
    pub fn u_at(&self, l: isize) -> f64 {
        usize::try_from(l).map_or(0.0, |l| self.u[l.min(self.u.len() - 1)])
    }

    fn used_u(&self, of: UUse, len: usize) -> Vec<f64> {
        let used = |l: usize| {
            let u = self.u_given[l];
            let silu = |x: f64| x / (1.0 + (-x).exp());
            match of {
                UUse::Given => u,
                UUse::Silu => silu(u),
                UUse::Gated => self.z.get(l).map_or(u, |z| u * silu(*z)),
                UUse::One => 1.0,
                UUse::Squared => u * u,
                UUse::Relu => u.max(0.0),
                UUse::Tanh => u.tanh(),
                UUse::At(by) => {
                    let at = usize::try_from(l as isize + by).ok();
                    at.and_then(|at| self.u_given.get(at)).copied().unwrap_or(0.0)
                }
                UUse::Reversed => self.sequence(Input::U, &self.problem.u, self.problem.shape.seqlen - 1 - l),
                UUse::In(map) => {
                    let l = map.of(l, self.problem.shape.seqlen);
                    l.map_or(0.0, |l| self.sequence(Input::U, &self.problem.u, l))
                }
                UUse::TwiceAtLast(length) => u * if (l + 1).is_multiple_of(length) { 2.0 } else { 1.0 },
                UUse::TimesDelta => u * self.steps[1].get(l).map_or(f64::NAN, |step| step.0),
            }
        };
        (0..len).map(used).collect()
    }

    #[inline]
    fn place(&self, input: Input) -> &Place {
        &self.variant.places[input as usize]
    }

    /// Where a position of the scan is in memory.
    #[inline]
    pub fn in_memory(&self, l: usize) -> usize {
        if self.variant.reverse { self.problem.shape.seqlen - 1 - l } else { l }
    }

    /// A number of u, delta or z; one that the problem does not hold is none.
    fn sequence(&self, input: Input, values: &[f32], l: usize) -> f64 {
        if let Some(begin) = self.rows[input as usize] {
            return f64::from(values[begin + self.in_memory(l)]);
        }
        let (place, shape) = (self.place(input), self.problem.shape);
        let (batch, channel) = (
            place.batch.of(self.channel.0, shape.batch),
            self.index(place.channel, self.channel.1, shape.dim),
        );
        let (Some(batch), Some(channel), Some(l)) = (batch, channel, place.l.of(l, shape.seqlen)) else {
            return 0.0;
        };
        let (mut channel, mut l) = (channel, self.in_memory(l));
        if place.transposed {
            let within = l * shape.dim + channel;
            (channel, l) = (within / shape.seqlen, within % shape.seqlen);
        }
        let mut batch = batch;
        if place.order != Place::RIGHT.order {
            let sizes = [shape.batch, shape.dim, 1, shape.seqlen];
            [batch, channel, _, l] = reordered(place.order, sizes, [batch, channel, 0, l]);
        }
        if let Some(stride) = place.row_stride {
            let flat = (batch * shape.dim + channel) * stride + l;
            if flat >= shape.batch * shape.dim * shape.seqlen {
                return 0.0;
            }
            let row = flat / shape.seqlen;
            (batch, channel, l) = (row / shape.dim, row % shape.dim, flat % shape.seqlen);
        }
        let row = self.problem.row_if_held(batch, channel);
        row.map_or(f64::NAN, |row| f64::from(values[row * shape.seqlen + l]))
    }

    /// The index that is read for `i` of `n`, also where it is that of another axis.
    fn index(&self, map: Map, i: usize, n: usize) -> Option<usize> {
        match map {
            Map::OfBatch => Some(self.channel.0 % n),
            Map::OfChannel => Some(self.channel.1 % n),
            map => map.of(i, n),
        }
    }

    /// A number for each channel.
    pub fn of_channel(&self, input: Input, values: &[f32]) -> f64 {
        let channel = self.index(self.place(input).channel, self.channel.1, self.problem.shape.dim);
        channel.map_or(0.0, |channel| f64::from(values[channel]))
    }

    /// Δ and its relative error, as [`crate::judge::budget::step_size`].
    fn step_size(&self, step: &StepSize, l: usize) -> (f64, f64) {
        let Some(l) = step.l.of(l, self.problem.shape.seqlen) else { return (0.0, 0.0) };
        self.step_size_of(step, self.sequence(Input::Delta, &self.problem.delta, l))
    }

    /// Δ and its relative error, of Ā or of B̄, at the position that a map has for l.
    pub fn step_of(&self, which: usize, map: Map, l: usize) -> (f64, f64) {
        let at = map.of(l, self.problem.shape.seqlen);
        at.map_or((0.0, 0.0), |at| self.step_size(&self.variant.step_sizes[which], at))
    }

    /// Δ of Ā at a position that is padded.
    pub fn padded_step(&self, pad: Pad) -> (f64, f64) {
        let step = &self.variant.step_sizes[0];
        match pad {
            Pad::Zeros => self.step_size_of(step, 0.0),
            Pad::ZerosWithoutBias => self.step_size_of(&StepSize { before: 0.0, after: 0.0, ..*step }, 0.0),
            Pad::LastStep | Pad::LastPosition => self.steps[0].last().copied().unwrap_or_default(),
        }
    }

    fn step_size_of(&self, step: &StepSize, delta: f64) -> (f64, f64) {
        let problem = self.problem;
        let mut x = step.raw * delta;
        let bias = problem.delta_bias.as_ref().map_or(0.0, |bias| self.of_channel(Input::Bias, bias));
        let has_bias = problem.delta_bias.is_some();
        let mut error = if step.raw == 1.0 { 0.0 } else { U };
        if has_bias && step.before != 0.0 {
            let sum = x + step.before * bias;
            let two = if step.before == 1.0 { 1.0 } else { 2.0 };
            let before = if error == 0.0 { 0.0 } else { (x * error / sum).abs() };
            (x, error) = (sum, before + two * U);
        }
        let activation = match step.activation {
            Activation::Stated if problem.delta_softplus => Activation::SOFTPLUS,
            activation => activation,
        };
        let is_identity = match activation {
            Activation::Stated | Activation::None => true,
            Activation::Softplus { above, .. } => x > above,
            _ => false,
        };
        if !is_identity {
            let (value, conditioning) = activation.of(x);
            // As `softplus=naive` allows it.
            let of_sum = if activation == Activation::Naive { 2.0 * U / value } else { 0.0 };
            (x, error) = (value, conditioning * error + allowance::SOFTPLUS + of_sum);
        }
        if step.again {
            let (value, conditioning) = Activation::SOFTPLUS.of(x);
            (x, error) = (value, conditioning * error + allowance::SOFTPLUS);
        }
        if has_bias && step.after != 0.0 {
            let sum = x + step.after * bias;
            (x, error) = (sum, (x * error / sum).abs() + U);
        }
        let (x, error) = budget::limited((x, error), problem.conventions.limit, 0.0);
        let clamped = self.variant.clamp.of(step.clamp.of(x));
        let stepped = step.factor * self.variant.step_delta.of(clamped);
        // A square doubles it, and clamps and squares round once more.
        let error = 2.0 * error + U + if step.factor == 1.0 { 0.0 } else { U };
        match self.variant.stages[Stage::Delta as usize] {
            InputType::F32 => (stepped, error),
            to => {
                let rounded = Bounded { value: stepped.into(), error: error * stepped.abs() }.rounded(to);
                (rounded.value.re, rounded.error / rounded.value.re.abs().max(f64::MIN_POSITIVE))
            }
        }
    }

    fn group(&self, input: Input) -> Group {
        self.variant.groups[usize::from(input == Input::C)]
    }

    fn begin(&self, input: Input) -> Option<usize> {
        let (problem, shape) = (self.problem, self.problem.shape);
        let operand = if input == Input::C { problem.c_operand } else { problem.b_operand };
        let is_right = *self.place(input) == Place::RIGHT && self.group(input) == Group::Block;
        if operand != Operand::Variable || !is_right {
            return None;
        }
        let row = problem.group_row_if_held(self.channel.0, self.channel.1 / (shape.dim / shape.groups))?;
        Some(row * shape.dstate * shape.seqlen * problem.weights.width())
    }

    /// B or C at a position, as it lies in memory.
    #[inline]
    fn operand(&self, input: Input, n: usize, l: usize) -> Complex64 {
        let problem = self.problem;
        if let Some(begin) = self.begin[usize::from(input == Input::C)] {
            let within = n * problem.shape.seqlen + self.in_memory(l);
            let values = if input == Input::C { &problem.c } else { &problem.b };
            return complex_at(problem.weights, values, begin + within * problem.weights.width());
        }
        self.operand_elsewhere(input, n, l)
    }

    /// The same, where it is constant, or not read as it should be.
    fn operand_elsewhere(&self, input: Input, n: usize, l: usize) -> Complex64 {
        let (problem, place) = (self.problem, self.place(input));
        let (operand, values) = match input {
            Input::C => (problem.c_operand, &problem.c),
            _ => (problem.b_operand, &problem.b),
        };
        let (shape, width) = (problem.shape, problem.weights.width());
        let (batch, channel) = self.channel;
        let Some(n) = self.index(place.state, n, shape.dstate) else { return Complex64::ZERO };
        match operand {
            Operand::Constant => {
                let Some(channel) = self.index(place.channel, channel, shape.dim) else {
                    return Complex64::ZERO;
                };
                self.weight(values, place, (channel, n))
            }
            Operand::Variable => {
                let group = match self.group(input) {
                    Group::Block => channel / (shape.dim / shape.groups),
                    Group::Modulo => channel % shape.groups,
                    Group::At(group) => group,
                    Group::Rolled(by) => (channel / (shape.dim / shape.groups) + by) % shape.groups,
                    Group::Divided(k) => channel / k % shape.groups,
                };
                let (batch, l) = (place.batch.of(batch, shape.batch), place.l.of(l, shape.seqlen));
                let (Some(mut batch), Some(l)) = (batch, l) else { return Complex64::ZERO };
                let (mut group, mut n, mut l) = (group, n, self.in_memory(l));
                if place.order != Place::RIGHT.order {
                    let sizes = [shape.batch, shape.groups, shape.dstate, shape.seqlen];
                    [batch, group, n, l] = reordered(place.order, sizes, [batch, group, n, l]);
                }
                if let Some(stride) = place.row_stride {
                    let mut flat = ((batch * shape.groups + group) * shape.dstate + n) * stride + l;
                    if flat >= shape.batch * shape.groups * shape.dstate * shape.seqlen {
                        return Complex64::ZERO;
                    }
                    (l, flat) = (flat % shape.seqlen, flat / shape.seqlen);
                    (n, flat) = (flat % shape.dstate, flat / shape.dstate);
                    (batch, group) = (flat / shape.groups, flat % shape.groups);
                }
                let Some(row) = problem.group_row_if_held(batch, group) else {
                    return Complex64::new(f64::NAN, 0.0);
                };
                let (first, plane) = (row * shape.dstate * shape.seqlen * width, shape.dstate * shape.seqlen);
                let index = if place.transposed { l * shape.dstate + n } else { n * shape.seqlen + l };
                self.number(values, place.pairs, (first, index), (shape.seqlen, plane))
            }
        }
    }

    /// A, or a constant B or C.
    fn weight(&self, values: &[f32], place: &Place, (channel, n): (usize, usize)) -> Complex64 {
        let shape = self.problem.shape;
        let index = match place.row_stride {
            Some(stride) => channel * stride + n,
            None if place.transposed => n * shape.dim + channel,
            None => channel * shape.dstate + n,
        };
        if index >= shape.dim * shape.dstate {
            return Complex64::ZERO;
        }
        self.number(values, place.pairs, (0, index), (shape.dstate, shape.dim * shape.dstate))
    }

    /// A number of a block that starts at `first`, with rows and planes of so many numbers.
    fn number(
        &self,
        values: &[f32],
        pairs: Pairs,
        (first, index): (usize, usize),
        (row, plane): (usize, usize),
    ) -> Complex64 {
        let weights = self.problem.weights;
        let apart = |re: usize, im: usize| {
            let at = |index: usize| f64::from(values[first + index]);
            Complex64::new(at(re), at(im))
        };
        match pairs {
            _ if weights == Weights::Real => complex_at(weights, values, first + index),
            Pairs::Interleaved => complex_at(weights, values, first + 2 * index),
            Pairs::Halves => {
                let re = index / row * 2 * row + index % row;
                apart(re, re + row)
            }
            Pairs::Planes => apart(index, index + plane),
            Pairs::Exchanged => apart(2 * index + 1, 2 * index),
        }
    }

    /// An operand as it is used.
    #[inline]
    fn used(&self, input: Input, of: BUse, n: usize, l: usize) -> Complex64 {
        let other = if input == Input::B { Input::C } else { Input::B };
        let number = self.operand(if of == BUse::Exchanged { other } else { input }, n, l);
        let dstate = self.problem.shape.dstate;
        let all = || (0..dstate).map(|m| self.operand(input, m, l));
        match of {
            BUse::Normalized => number / all().map(|b| b.norm_sqr()).sum::<f64>().sqrt(),
            BUse::RmsNormalized => number / (all().map(|b| b.norm_sqr()).sum::<f64>() / dstate as f64).sqrt(),
            BUse::Softmax => number.exp() / all().map(Complex64::exp).sum::<Complex64>(),
            of => step::used(of, number),
        }
    }

    #[inline]
    fn limits(&self, of: Limited) -> (f64, f64) {
        self.variant.limits[of as usize]
    }

    /// A number that has no error of its own, as a stage has it.
    #[inline]
    fn rounded(&self, stage: Stage, value: Complex64) -> Complex64 {
        Bounded { value, error: 0.0 }.rounded(self.variant.stages[stage as usize]).value
    }

    /// What is made of a number on its way.
    #[inline]
    fn on_way(&self, way: Way, number: Complex64) -> Complex64 {
        self.variant.ways[way as usize].of(number)
    }

    /// What B multiplies u with: 1 where it multiplies C.
    #[inline]
    pub fn b(&self, n: usize, l: usize) -> Complex64 {
        if self.problem.reads_with_b() { Complex64::ONE } else { self.given_b(n, l) }
    }

    #[inline]
    pub fn given_b(&self, n: usize, l: usize) -> Complex64 {
        if self.given[0] {
            return self.operand(Input::B, n, self.operand_at(Input::B, l));
        }
        let b = self.on_way(Way::B, self.used(Input::B, self.variant.b_use, n, self.operand_at(Input::B, l)));
        self.rounded(Stage::B, step::in_parts(b, self.limits(Limited::B)))
    }

    #[inline]
    pub fn c(&self, n: usize, l: usize) -> Complex64 {
        if self.given[1] {
            return self.operand(Input::C, n, self.operand_at(Input::C, l));
        }
        let c = self.on_way(Way::C, self.used(Input::C, self.variant.c_use, n, self.operand_at(Input::C, l)));
        self.rounded(Stage::C, step::in_parts(c, self.limits(Limited::C)))
    }

    fn given_a(&self, n: usize) -> Complex64 {
        let (problem, place) = (self.problem, self.place(Input::A));
        let shape = problem.shape;
        let channel = self.index(place.channel, self.channel.1, shape.dim);
        let n = self.index(place.state, n, shape.dstate);
        let (Some(channel), Some(n)) = (channel, n) else { return Complex64::ZERO };
        self.weight(&problem.a, place, (channel, n))
    }

    /// Of Ā, or of B̄.
    #[inline]
    pub fn a(&self, coefficient: usize, n: usize) -> Complex64 {
        self.a[coefficient][n]
    }

    fn used_a(&self, coefficient: usize, n: usize) -> Complex64 {
        let a = self.given_a(n);
        // A kernel of real weights gets a NaN from a negative number, and no complex logarithm.
        let log = |x: Complex64| match self.problem.weights {
            Weights::Real => x.re.ln().into(),
            Weights::Complex => x.ln(),
        };
        let used = match self.variant.a_use[coefficient] {
            AUse::Given => a,
            AUse::Negated => -a,
            AUse::NegativeExponential => -a.exp(),
            AUse::Exponential => a.exp(),
            AUse::Logarithm => log(-a),
            AUse::NegativeLogarithm => -log(-a),
            AUse::RealPart => a.re.into(),
            AUse::WithoutRealPart => Complex64::new(0.0, a.im),
            AUse::ExponentialOfRealPart => Complex64::new(-a.re.exp(), a.im),
            AUse::LogarithmOfRealPart => Complex64::new((-a.re).ln(), a.im),
            AUse::Conjugated => a.conj(),
            AUse::Modulus => a.norm().into(),
            AUse::NegativeModulus => (-a.norm()).into(),
            AUse::Reciprocal => 1.0 / a,
            AUse::Mean => {
                let dstate = self.problem.shape.dstate;
                (0..dstate).map(|m| self.given_a(m)).sum::<Complex64>() / dstate as f64
            }
        };
        let (re, im) = self.variant.a_factor[coefficient];
        self.rounded(Stage::A, Complex64::new(used.re * re + self.variant.a_offset, used.im * im))
    }
}

/// Whether nothing is made of B or C on its way.
fn is_given(variant: &Variant, input: Input) -> bool {
    let (of, way, limited, stage) = match input {
        Input::C => (variant.c_use, Way::C, Limited::C, Stage::C),
        _ => (variant.b_use, Way::B, Limited::B, Stage::B),
    };
    of == BUse::Once
        && variant.ways[way as usize] == OfComplex::Given
        && variant.limits[limited as usize] == (f64::NEG_INFINITY, f64::INFINITY)
        && variant.stages[stage as usize] == InputType::F32
}

/// Where the number at `index` is where memory is taken to have its axes in another order.
fn reordered(order: Order, sizes: [usize; 4], index: [usize; 4]) -> [usize; 4] {
    let mut flat = 0;
    for axis in order.map(usize::from) {
        flat = flat * sizes[axis] + index[axis];
    }
    let mut right = [0; 4];
    for axis in (0..4).rev() {
        (right[axis], flat) = (flat % sizes[axis], flat / sizes[axis]);
    }
    right
}

/// The relative error that a kernel's A may have.
fn a_error(variant: &Variant) -> f64 {
    let made = |of: AUse| -> f64 {
        match of {
            AUse::Given | AUse::Negated | AUse::RealPart | AUse::WithoutRealPart | AUse::Conjugated => 0.0,
            AUse::Mean => 8.0,
            _ => 4.0,
        }
    };
    let [of_a_bar, of_b_bar] = variant.a_use.map(made);
    let scaled = variant.a_factor != [(1.0, 1.0); 2] || variant.a_offset != 0.0;
    (of_a_bar.max(of_b_bar) + if scaled { 1.0 } else { 0.0 }) * U
}

//! The scan of a [`Variant`] over one channel, in f64, with a bound on what a sound f32 kernel with the same
//! fault may be off.
//!
//! The bound is [`crate::judge::budget`]'s recurrence on the variant's own magnitudes, with coefficients'
//! errors to first order. It says how closely a recorded output must match a fault model, not whether a
//! kernel is right.

use num_complex::Complex64;

use super::around::{
    Before, Carry, Decay, Delay, Flips, FoundTerm, Initial, Limited, Pad, Raised, STATES, Steps,
};
use super::carried::{Carried, State};
use super::complex::{Product, Way};
use super::exponent_sum::ExponentSum;
use super::inputs::Read;
use super::maps::Map;
use super::moved;
use super::only::Only;
use super::readout::{self, Sums};
use super::step::{self, Bounded, Coefficients, modulus};
use super::variant::{BUse, Directions, LastState, Readout, Reversed, Tail, Variant};
use crate::formula::Function;
use crate::judge::budget::{self, complex_at};
use crate::judge::ulp::Format;
use crate::method::Method;
use crate::problem::{InputType, Problem};
use crate::promise::allowance::{self, HALF_SUBNORMAL, SUM};
use crate::tensor::{Named, TensorName};

/// One channel of a tensor, as a variant computes it.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// As a kernel lays them out: re and im of complex elements in turn.
    pub values: Vec<f64>,
    /// One for each element.
    pub bound: Vec<f64>,
    /// Whether an element follows from anything beyond the range of f32, or of the type that it is stored in: what a kernel
    /// returns there depends on how it associates the scan, and need be no number.
    pub beyond: Vec<bool>,
}

impl Row {
    /// Elements of which nothing is known.
    pub fn unknown(len: usize, width: usize) -> Self {
        let none = vec![f64::NAN; len];
        Row { values: none.repeat(width), bound: none, beyond: vec![false; len] }
    }

    pub(super) fn push(&mut self, last: Last, problem: &Problem) {
        let Last { state: Bounded { value, error }, beyond } = last;
        self.values.extend(&[value.re, value.im][..problem.weights.width()]);
        let size = value.re.abs().max(value.im.abs()) + error;
        let store = budget::store_error(problem, TensorName::LastState, size);
        self.bound.push(error + HALF_SUBNORMAL + store);
        let format = Format::for_input(problem.stored(TensorName::LastState));
        self.beyond.push(beyond || is_beyond(modulus(value), format));
    }
}

/// Whether a number of this modulus is infinite in a format; what is no number is.
pub(super) fn is_beyond(size: f64, format: Format) -> bool {
    size.is_nan() || size >= format.overflow_threshold()
}

/// What a variant computes for one channel.
#[derive(Clone, Debug)]
pub struct Channel {
    pub tensors: Named<Row>,
}

/// Runs `variant` over one channel of the problem.
pub fn channel(variant: &Variant, problem: &Problem, channel: (usize, usize)) -> Channel {
    let seqlen = problem.shape.seqlen;
    let in_one_scan = variant.in_one_scan.filter(|_| variant.bidirectional);
    // What is right in one scan is what poly specifies, the only method that has two.
    let other = variant.of_other_scan(Method::Poly);
    let [of_forward, of_backward] = match in_one_scan {
        None => [variant; 2],
        Some(false) => [variant, &other],
        Some(true) => [&other, variant],
    };
    let right = right_elsewhere(of_forward, variant);
    let elsewhere = right.as_ref().map(|right| VariantScan::new(right, problem, channel, seqlen));
    let run = VariantScan::new(of_forward, problem, channel, seqlen).beside(elsewhere.as_ref());
    let mut sums = vec![Sums::default(); seqlen];
    let mut last_state = Row::default();
    let flips = variant.bidirectional && variant.flips != Flips::RIGHT;
    let reversed = match (flips, in_one_scan) {
        (true, _) => Some(VariantScan::of_reversed(variant, problem, channel)),
        (false, Some(_)) => Some(VariantScan::new(of_backward, problem, channel, seqlen)),
        (false, None) => None,
    };
    let mut of_reversed = vec![Sums::default(); if reversed.is_some() { seqlen } else { 0 }];
    for n in 0..problem.shape.dstate {
        let maps = run.maps(n, seqlen);
        let mut last = run.add_states(n, &maps, false, &mut sums);
        let backward: Option<Last> = variant.bidirectional.then(|| match &reversed {
            Some(run) => {
                let maps = run.maps(n, seqlen);
                run.add_states(n, &maps, true, &mut of_reversed)
            }
            None => run.add_states(n, &maps, true, &mut sums),
        });
        match variant.last_state {
            LastState::Right | LastState::Moved(_) | LastState::Transposed => {}
            LastState::WithoutB => last = run.state_of_u(n),
            LastState::ChunkEarly(length) => {
                let before = (seqlen - 1) / length * length;
                last = run.state_after(n, &maps[..before]);
            }
            LastState::OfReversed => last = backward.unwrap_or(last),
            LastState::Doubled => last.state = last.state.scaled(2.0),
            LastState::Times(factor) => last.state = last.state.scaled(factor),
            LastState::Early(by) => last = run.state_after(n, &maps[..seqlen.saturating_sub(by)]),
            LastState::Padded(by, pad) => last.state = run.padded(n, last.state, (by, pad)),
            LastState::Within(from, to) if !(from..to).contains(&n) => last = Last::default(),
            LastState::Within(..) => {}
            LastState::OfComplex(of) => last.state.value = of.of(last.state.value),
            LastState::WithoutInput => {
                let before = run.state_after(n, &maps[..seqlen - 1]).state;
                let state = State { at: before, size: modulus(before.value) };
                last.state = state.times(maps[seqlen - 1].a).at;
            }
        }
        last_state.push(last, problem);
    }
    if matches!(variant.last_state, LastState::Moved(_) | LastState::Transposed) {
        last_state = moved::row(variant, problem, channel);
    }
    for (l, of_reversed) in of_reversed.into_iter().enumerate() {
        let at = if variant.flips.back { l } else { seqlen - 1 - l };
        sums[at].backward = of_reversed.backward;
        sums[at].magnitude += of_reversed.magnitude;
        sums[at].beyond |= of_reversed.beyond;
    }
    let mut out = Row::unknown(seqlen, 1);
    // Skip and gate come after both scans.
    let around = reversed.as_ref().filter(|_| in_one_scan == Some(false)).unwrap_or(&run);
    for l in 0..seqlen {
        let at = around.read.in_memory(l);
        (out.values[at], out.bound[at], out.beyond[at]) = around.output(l, &sums);
    }
    let tensors = [(TensorName::Out, out), (TensorName::LastState, last_state)].into_iter().collect();
    Channel { tensors }
}

/// What holds elsewhere, of a scan that holds somewhere only.
fn right_elsewhere(scan: &Variant, of: &Variant) -> Option<Variant> {
    (scan.only != Only::Everywhere).then(|| of.elsewhere(of.form))
}

/// Whether outputs depend on later positions.
pub fn looks_ahead(variant: &Variant) -> bool {
    let reads_ahead = matches!(variant.delay, Delay::Readout(by) if by < 0);
    // By Ā of the position after.
    let one_more = |carry| matches!(carry, Carry::Decayed(Decay { steps: Steps::OneMore, .. }));
    variant.bidirectional
        || variant.reverse
        || reads_ahead
        || variant.initial == Initial::Circular
        || variant.chunks.is_some_and(|chunks| one_more(chunks.carry))
}

/// The outputs at the first `len` positions, as [`channel`] has them; none where these depend on later ones.
pub fn beginning(variant: &Variant, problem: &Problem, channel: (usize, usize), len: usize) -> Option<Row> {
    if looks_ahead(variant) {
        return None;
    }
    let right = right_elsewhere(variant, variant);
    let elsewhere = right.as_ref().map(|right| VariantScan::new(right, problem, channel, len));
    let run = VariantScan::new(variant, problem, channel, len).beside(elsewhere.as_ref());
    let mut sums = vec![Sums::default(); len];
    for n in 0..problem.shape.dstate {
        let maps = run.maps(n, len);
        run.add_states(n, &maps, false, &mut sums);
    }
    let mut row = Row::unknown(len, 1);
    (0..len).for_each(|l| (row.values[l], row.bound[l], row.beyond[l]) = run.output(l, &sums));
    Some(row)
}

/// The outputs at the first `len` positions of a variant whose B̄ is each of these terms alone, as [`beginning`] has them: all
/// that the terms have in common is computed once. None where outputs depend on later positions, or on other scans.
pub fn of_terms(
    variant: &Variant,
    problem: &Problem,
    channel: (usize, usize),
    len: usize,
    terms: &[FoundTerm],
) -> Option<Vec<Vec<f64>>> {
    let is_on_its_own = variant.only == Only::Everywhere && !matches!(variant.initial, Initial::EndOf(_));
    if !is_on_its_own || looks_ahead(variant) {
        return None;
    }
    // One term stands for all: φ-functions are computed where any takes one.
    let is_phi = |found: &&FoundTerm| matches!(found.term.of, Function::Phi(_));
    let one = terms.iter().find(is_phi).or(terms.first()).copied();
    let variant = variant.of_terms(one.as_slice());
    let run = VariantScan::new(&variant, problem, channel, len);
    let mut sums = vec![vec![Sums::default(); len]; terms.len()];
    for n in 0..problem.shape.dstate {
        let phis = run.phis(n, len);
        let a_bars: Vec<Option<Bounded>> = (0..len).map(|l| run.moving_a_bar(n, l)).collect();
        for (term, sums) in terms.iter().zip(&mut sums) {
            let alone = [Some(*term)];
            let input = |l: usize, a: Bounded| Map { a, b: run.input((n, l), Some(&alone), a, &phis[l]) };
            let maps = (0..len).map(|l| a_bars[l].map_or(Map::NONE, |a| input(l, a)));
            run.add_states(n, &maps.collect::<Vec<_>>(), false, sums);
        }
    }
    let outputs = |sums: &Vec<Sums>| (0..len).map(|l| run.output(l, sums).0).collect();
    Some(sums.iter().map(outputs).collect())
}

#[derive(Default)]
pub(super) struct Last {
    pub state: Bounded,
    /// Whether the scan has left the range of f32.
    beyond: bool,
}

pub(super) struct VariantScan<'a> {
    pub variant: &'a Variant,
    pub problem: &'a Problem,
    pub channel: (usize, usize),
    pub read: Read<'a>,
    pub coefficients: Coefficients<'a>,
    /// What holds where the variant does not.
    pub elsewhere: Option<&'a VariantScan<'a>>,
}

impl<'a> VariantScan<'a> {
    pub fn new(variant: &'a Variant, problem: &'a Problem, channel: (usize, usize), len: usize) -> Self {
        let read = Read::new(variant, problem, channel, len);
        VariantScan {
            variant,
            problem,
            channel,
            read,
            coefficients: Coefficients::new(variant),
            elsewhere: None,
        }
    }

    fn beside(self, elsewhere: Option<&'a VariantScan<'a>>) -> Self {
        VariantScan { elsewhere, ..self }
    }

    /// The scan whose Ā and B̄ state n of position l has.
    pub fn moving(&self, n: usize, l: usize) -> &VariantScan<'a> {
        let Some(elsewhere) = self.elsewhere else { return self };
        let step = || (elsewhere.read.steps[1][l].0, elsewhere.read.a(1, n));
        if self.variant.only.holds((n, l), step) { self } else { elsewhere }
    }

    /// The scan that decides about what is read of it there.
    fn reading(&self, n: usize, l: usize) -> &VariantScan<'a> {
        self.elsewhere.filter(|_| !self.variant.only.reads(n, l)).unwrap_or(self)
    }

    /// The reversed scan where it flips otherwise than it should.
    fn of_reversed(variant: &'a Variant, problem: &'a Problem, channel: (usize, usize)) -> Self {
        let mut scan = VariantScan::new(variant, problem, channel, problem.shape.seqlen);
        scan.read.mirror(variant.flips);
        scan
    }

    #[inline]
    pub fn ignored(&self, l: usize) -> bool {
        let seqlen = self.problem.shape.seqlen;
        match self.variant.tail {
            Tail::Whole => false,
            Tail::LastIgnored => l + 1 == seqlen,
            Tail::Ignored(width) => l >= seqlen - seqlen % width,
        }
    }

    #[inline]
    pub fn is_skipped(&self, l: usize) -> bool {
        self.variant.skips_zeros && self.read.u_at(l as isize) == 0.0
    }

    /// The last state where u is scanned in place of B u.
    fn state_of_u(&self, n: usize) -> Last {
        let (variant, len) = (Variant { b_use: BUse::Never, ..*self.variant }, self.read.steps[0].len());
        let run = VariantScan::new(&variant, self.problem, self.channel, len);
        let maps = run.maps(n, len);
        run.state_after(n, &maps)
    }

    /// The state after these positions.
    pub fn state_after(&self, n: usize, maps: &[Map]) -> Last {
        self.add_states(n, maps, false, &mut vec![Sums::default(); maps.len()])
    }

    /// A last state after so many padded positions.
    fn padded(&self, n: usize, last: Bounded, (by, pad): (usize, Pad)) -> Bounded {
        let mu = allowance::product(self.problem.weights);
        let (delta, delta_error) = self.read.padded_step(pad);
        let a = self.coefficients.a_bar(delta, delta_error + self.read.a_error, self.read.a(0, n));
        let b = match pad {
            Pad::LastPosition => self.maps(n, self.problem.shape.seqlen)[self.problem.shape.seqlen - 1].b,
            _ => Bounded::default(),
        };
        let (a_abs, b_abs) = (modulus(a.value), modulus(b.value));
        let mut state = last;
        for _ in 0..by {
            let size = modulus(state.value) + state.error;
            state.error = (a_abs + a.error) * state.error
                + (a.error + mu * a_abs) * size
                + b.error
                + SUM * (a_abs * size + b_abs);
            state.value = a.value * state.value + b.value;
        }
        state
    }

    /// What the scan of state n starts from, and the sum of the moduli that this is made of.
    pub fn initial(&self, n: usize, reverse: bool) -> State {
        let problem = self.problem;
        let in_both = self.variant.initial == Initial::InBoth;
        let given = problem.initial_state.as_ref().filter(|_| !reverse || in_both);
        let given = given.map_or(Complex64::ZERO, |x| {
            complex_at(problem.weights, x, problem.state_index(self.channel, n))
        });
        let value = match self.variant.initial {
            Initial::Ignored => Complex64::ZERO,
            Initial::Conjugated => given.conj(),
            Initial::Given | Initial::WithoutFirstDecay | Initial::InBoth => given,
            Initial::EndOfForward if reverse => return self.end_of(self.channel, n, false),
            Initial::EndOfForward => given,
            Initial::Circular => return self.end_of(self.channel, n, reverse),
            Initial::EndOf(before) => match self.run_before(before, n) {
                Some((channel, n)) => return self.end_of(channel, n, reverse),
                None => given,
            },
        };
        State { at: Bounded { value, error: 0.0 }, size: modulus(value) }
    }

    /// The scan that ran before that of state n, its channel and its state.
    fn run_before(&self, before: Before, n: usize) -> Option<((usize, usize), usize)> {
        let (batch, d) = self.channel;
        let of_batch = batch.checked_sub(1);
        match before {
            Before::Itself => Some((self.channel, n)),
            Before::Batch => Some(((of_batch?, d), n)),
            Before::Channel => Some(((batch, d.checked_sub(1)?), n)),
            Before::BatchOrChannel => match d.checked_sub(1) {
                Some(d) => Some(((batch, d), n)),
                None => Some(((of_batch?, self.problem.shape.dim - 1), n)),
            },
            Before::State => Some((self.channel, n.checked_sub(1)?)),
        }
    }

    /// What the scan of a channel's state ends with; one that the problem does not hold is not known.
    fn end_of(&self, channel: (usize, usize), n: usize, reverse: bool) -> State {
        let seqlen = self.problem.shape.seqlen;
        if self.problem.row_if_held(channel.0, channel.1).is_none() {
            let unknown = Complex64::new(f64::NAN, f64::NAN);
            return State { at: Bounded { value: unknown, error: 0.0 }, size: 0.0 };
        }
        // What ran before on the same inputs has started from 0.
        let from_0 = Variant { initial: Initial::Given, ..*self.variant };
        let is_first = matches!(self.variant.initial, Initial::EndOf(Before::Itself) | Initial::Circular);
        let variant = if is_first { &from_0 } else { self.variant };
        let right = right_elsewhere(variant, variant);
        let elsewhere = right.as_ref().map(|right| VariantScan::new(right, self.problem, channel, seqlen));
        let run = VariantScan::new(variant, self.problem, channel, seqlen).beside(elsewhere.as_ref());
        let maps = run.maps(n, seqlen);
        let last = run.add_states(n, &maps, reverse, &mut vec![Sums::default(); seqlen]);
        State { at: last.state, size: modulus(last.state.value) + last.state.error }
    }

    /// Adds what state n contributes to y in one direction, as far as there are maps; its last state.
    fn add_states(&self, n: usize, maps: &[Map], reverse: bool, sums: &mut [Sums]) -> Last {
        let (variant, seqlen) = (self.variant, self.problem.shape.seqlen);
        let mu = allowance::product(self.problem.weights);
        let joins = allowance::scan_joins(seqlen) * SUM;
        let growth = (1.0 + mu) * (1.0 + SUM);
        let problem = self.problem;
        let mut x = self.initial(n, reverse);
        // What products of Ā that have underflowed on their own may multiply.
        let mut largest = x.size.max(1.0);
        let mut beyond = false;
        let mut late: Vec<State> = Vec::new();
        let mut carried = Carried::new(x, variant.chunks);
        let one = Bounded { value: Complex64::ONE, error: 0.0 };
        // On a circle an input counts once, and what it leaves after a whole turn is cut off.
        let turn = match variant.initial {
            Initial::Circular => maps.iter().map(|map| map.a.value).product::<Complex64>(),
            _ => Complex64::ZERO,
        };
        // Ā up to here, where inputs are decayed by the steps before them.
        let mut product = one;
        let mut exponents = ExponentSum::default();
        let without_input =
            if reverse { variant.reversed == Reversed::WithoutInput } else { variant.without_input };
        let behind = usize::from(problem.reads_before());
        let behind = if let Delay::State(by) = variant.delay { behind + by } else { behind };
        for k in 0..maps.len() {
            let l = if reverse { seqlen - 1 - k } else { k };
            let Map { mut a, mut b } = maps[l];
            b.value *= 1.0 - turn;
            let moving = self.moving(n, l);
            let is_off = moving.variant.reversed == Reversed::ABarOffByOne;
            if reverse && is_off && l + 1 < seqlen && !self.ignored(l) {
                a = moving.a_bar(n, l + 1);
            }
            if k == 0 && variant.initial == Initial::WithoutFirstDecay {
                a = one;
            }
            if let Some(sums) = variant.exponent_sums {
                a = exponents.decay(sums, a);
            }
            if k > 0 && variant.resets.contains(&l) {
                a = Bounded::default();
            }
            let before = carried.whole(x);
            if behind > 0 {
                late.push(before);
            }
            if let Some(chunks) = variant.chunks
                && chunks.begins((k, l), seqlen, reverse)
                && !self.ignored(l)
            {
                carried.enter(chunks, &mut x, &mut a);
            }
            let decay = a;
            if let Some(length) = variant.exchanged {
                if k % length == 0 {
                    carried.give(&mut x);
                    product = one;
                }
                let size = modulus(product.value);
                b.error = (size + product.error) * b.error + (product.error + mu * size) * modulus(b.value);
                b.value *= product.value;
                product.error = (modulus(a.value) + a.error) * growth * product.error
                    + (a.error + mu * modulus(a.value)) * size;
                product.value *= a.value;
                a = one;
            }
            if variant.raised != Raised::Not {
                // P/(P + ε) of what a sound scan adds; P has the errors of all its factors.
                let size = modulus(product.value) * modulus(a.value);
                product.error = (modulus(a.value) + a.error) * growth * product.error
                    + (a.error + mu * modulus(a.value)) * modulus(product.value);
                product.value *= a.value;
                let (below, relative) = match variant.raised {
                    Raised::AtLeast(least) => (size.max(least), product.error / size.max(least)),
                    Raised::Added(more) => (size + more, product.error / (size + more)),
                    Raised::Not => (size, 0.0),
                };
                let factor = if size > 0.0 { size / below } else { 0.0 };
                b.error = factor * (b.error + (2.0 * relative + 4.0 * mu) * modulus(b.value));
                b.value *= factor;
            }
            let multiplied = moving.variant.products[0];
            let longer = multiplied.longer(modulus(a.value));
            let a_abs = modulus(a.value) * longer;
            a.error *= longer;
            let excess = a.error * growth + a_abs * (growth - 1.0);
            let underflow = 2.0 * HALF_SUBNORMAL * largest * f64::from(x.size > 0.0);
            x.at.error = (a_abs + a.error) * growth * x.at.error
                + excess * x.size
                + b.error * (1.0 + joins)
                + joins * modulus(b.value)
                + underflow;
            x.size = a_abs * x.size + modulus(b.value);
            largest = largest.max(x.size + x.at.error);
            let was_beyond = beyond;
            beyond |= is_beyond(x.size, Format::F32) || is_beyond(a_abs, Format::F32);
            let sum = match multiplied {
                Product::Right => a.value * x.at.value + b.value,
                _ => multiplied.plus((a.value, x.at.value), b.value),
            };
            let sum = moving.variant.ways[Way::Kept as usize].of(rounded(sum, variant.state));
            x.at.value = step::in_parts(sum, moving.variant.limits[Limited::State as usize]);
            let next = maps.get(if reverse { l.wrapping_sub(1) } else { l + 1 }).map_or(one, |next| next.a);
            carried.decay(decay, next, before, b);
            let dropped = match variant.directions {
                Directions::CausalOnly => reverse,
                Directions::BackwardOnly => !reverse,
                _ => false,
            };
            if dropped && variant.bidirectional || self.ignored(l) {
                continue;
            }
            let reading = self.reading(n, l);
            let here = reading.variant;
            let (behind, without_input) = match std::ptr::eq(here, variant) {
                true => (behind, without_input),
                false => (usize::from(problem.reads_before()), here.without_input && !reverse),
            };
            let read = match behind {
                0 if reverse && here.reversed == Reversed::OffByOne => before,
                0 if without_input => before.times(decay),
                0 => carried.whole(x),
                _ if late.len() >= behind => late[late.len() - behind],
                _ => State::default(),
            };
            let mut c = reading.read.c(n, l);
            if problem.reads_with_b() {
                c *= reading.read.given_b(n, l);
            }
            if here.readout == Readout::ImaginaryPart {
                c *= -Complex64::I;
            }
            if let Some(counts) = &here.counts {
                c *= f64::from(counts[n.min(STATES - 1)]) / 2.0;
            }
            let y = if reverse { &mut sums[l].backward } else { &mut sums[l].forward };
            y.value += (c * here.ways[Way::Read as usize].of(read.at.value)).re;
            y.error += modulus(c) * read.at.error;
            let products = if problem.reads_with_b() { 2.0 } else { 1.0 };
            sums[l].magnitude += products * modulus(c) * (modulus(read.at.value) + read.at.error);
            sums[l].beyond |= if behind > 0 { was_beyond } else { beyond };
        }
        Last { state: carried.last(x).at, beyond }
    }

    /// An output, its bound, and whether it is [`Row::beyond`].
    fn output(&self, l: usize, sums: &[Sums]) -> (f64, f64, bool) {
        if let Some(elsewhere) = self.elsewhere.filter(|_| !self.variant.only.has_output(l)) {
            return elsewhere.output(l, sums);
        }
        if self.ignored(l) {
            return (0.0, HALF_SUBNORMAL, false);
        }
        let of = match self.variant.delay {
            Delay::Output(by) if l < by => return (0.0, HALF_SUBNORMAL, false),
            Delay::Output(by) => return readout::output(&self.read, l - by, sums[l - by]),
            Delay::Readout(by) => {
                let from = usize::try_from(l as isize - by).ok();
                from.and_then(|from| sums.get(from)).copied().unwrap_or_default()
            }
            Delay::None | Delay::State(_) => sums[l],
        };
        readout::output(&self.read, l, of)
    }
}

/// A state stored in `to`: f32 itself is left to the bound.
fn rounded(x: Complex64, to: InputType) -> Complex64 {
    match to {
        InputType::F32 => x,
        narrow => {
            let round = |part: f64| f64::from(narrow.round(part as f32));
            Complex64::new(round(x.re), round(x.im))
        }
    }
}

//! The scan of a [`Variant`] over one channel, in f64, with a bound on what a sound f32 kernel with the same
//! fault may be off.
//!
//! The bound is [`crate::judge::budget`]'s recurrence on the variant's own magnitudes, with coefficients'
//! errors to first order. It says how closely a recorded output must match a fault model, not whether a
//! kernel is right.

use num_complex::Complex64;

use super::around::{Carry, Chunks, Delay, Initial};
use super::inputs::Read;
use super::readout::{self, Sums};
use super::step::{self, Bounded};
use super::variant::{BUse, Directions, LastState, Readout, Reversed, Sum, Tail, Variant};
use crate::formula::Form;
use crate::judge::budget::complex_at;
use crate::method::Method;
use crate::problem::{InputType, Problem};
use crate::promise::allowance::{self, HALF_SUBNORMAL, SUM, U};
use crate::tensor::{Named, TensorName};

/// One channel of a tensor, as a variant computes it.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// As a kernel lays them out: re and im of complex elements in turn.
    pub values: Vec<f64>,
    /// One for each element.
    pub bound: Vec<f64>,
}

/// What a variant computes for one channel.
#[derive(Clone, Debug)]
pub struct Channel {
    pub tensors: Named<Row>,
    /// Whether some state leaves the range of f32: what a kernel returns from there on depends on how it
    /// associates the scan.
    pub overflows: bool,
}

/// One position's map x → a x + b.
#[derive(Clone, Copy)]
struct Map {
    a: Bounded,
    b: Bounded,
}

/// Runs `variant` over one channel of the problem.
pub fn channel(variant: &Variant, problem: &Problem, channel: (usize, usize)) -> Channel {
    let seqlen = problem.shape.seqlen;
    let run = VariantScan::new(variant, problem, channel, seqlen);
    let mut sums = vec![Sums::default(); seqlen];
    let (mut last_state, mut overflows) = (Row::default(), false);
    for n in 0..problem.shape.dstate {
        let maps: Vec<Map> = (0..seqlen).map(|l| run.map(n, l)).collect();
        let mut last = run.add_states(n, &maps, false, &mut sums);
        overflows |= last.overflows;
        match variant.last_state {
            LastState::Right => {}
            LastState::WithoutB => last = run.state_of_u(n),
            LastState::ChunkEarly(length) => {
                let before = (seqlen - 1) / length * length;
                last = run.state_after(n, &maps[..before]);
            }
            LastState::Doubled => {
                last.state = Bounded { value: last.state.value * 2.0, error: last.state.error * 2.0 };
            }
            LastState::Early(by) => last = run.state_after(n, &maps[..seqlen.saturating_sub(by)]),
        }
        overflows |= last.overflows;
        let last = last.state;
        last_state.values.extend(&[last.value.re, last.value.im][..problem.weights.width()]);
        last_state.bound.push(last.error + HALF_SUBNORMAL);
        if variant.bidirectional {
            overflows |= run.add_states(n, &maps, true, &mut sums).overflows;
        }
    }
    let mut out = Row { values: vec![0.0; seqlen], bound: vec![0.0; seqlen] };
    for l in 0..seqlen {
        let at = run.read.in_memory(l);
        (out.values[at], out.bound[at]) = run.output(l, &sums);
    }
    let tensors = [(TensorName::Out, out), (TensorName::LastState, last_state)].into_iter().collect();
    Channel { tensors, overflows }
}

/// The outputs at the first `len` positions, as [`channel`] has them; none where these depend on later ones.
pub fn beginning(variant: &Variant, problem: &Problem, channel: (usize, usize), len: usize) -> Option<Row> {
    let looks_ahead = matches!(variant.delay, Delay::Readout(by) if by < 0);
    if variant.bidirectional || variant.reverse || looks_ahead {
        return None;
    }
    let run = VariantScan::new(variant, problem, channel, len);
    let mut sums = vec![Sums::default(); len];
    for n in 0..problem.shape.dstate {
        let maps: Vec<Map> = (0..len).map(|l| run.map(n, l)).collect();
        run.add_states(n, &maps, false, &mut sums);
    }
    let (values, bound) = (0..len).map(|l| run.output(l, &sums)).unzip();
    Some(Row { values, bound })
}

struct Last {
    state: Bounded,
    overflows: bool,
}

struct VariantScan<'a> {
    variant: &'a Variant,
    problem: &'a Problem,
    channel: (usize, usize),
    read: Read<'a>,
}

/// A state, what it may be off, and Σ |…| of what it is the sum of.
#[derive(Clone, Copy, Default)]
struct State {
    at: Bounded,
    size: f64,
}

impl<'a> VariantScan<'a> {
    fn new(variant: &'a Variant, problem: &'a Problem, channel: (usize, usize), len: usize) -> Self {
        VariantScan { variant, problem, channel, read: Read::new(variant, problem, channel, len) }
    }

    fn ignored(&self, l: usize) -> bool {
        let seqlen = self.problem.shape.seqlen;
        match self.variant.tail {
            Tail::Whole => false,
            Tail::LastIgnored => l + 1 == seqlen,
            Tail::Ignored(width) => l >= seqlen - seqlen % width,
        }
    }

    fn a_bar(&self, n: usize, l: usize) -> Bounded {
        let (delta, delta_error) = self.read.steps[0][l];
        step::a_bar(self.variant, delta, delta_error + self.read.a_error(), self.read.a(n))
    }

    fn map(&self, n: usize, l: usize) -> Map {
        if self.ignored(l) {
            let one = Bounded { value: Complex64::ONE, error: 0.0 };
            return Map { a: one, b: Bounded::default() };
        }
        let (a, b) = (self.read.a(n), self.read.b(n, l));
        let (delta, delta_error) = self.read.steps[1][l];
        let u_at = |l: isize| self.read.u_at(l);
        let u = u_at(l as isize);
        // Two products more, with u and with B.
        let mu = allowance::product(self.problem.weights);
        let delta_error = delta_error + self.read.a_error();
        let (value, size, relative) = match &self.variant.found {
            Some(found) => {
                let near = |offset: isize| u_at(l as isize + offset);
                step::found(self.variant, found, (delta, delta_error), (a, b), near)
            }
            None => {
                let t = step::terms(self.variant, delta, delta_error, a);
                let u_of_higher = if self.variant.u_in_higher_terms { u } else { 1.0 };
                let neighbour =
                    if t.neighbour == Complex64::ZERO { 0.0 } else { u_at(l as isize + t.offset) };
                let mut parts = [t.first * b * u, t.higher * b * u_of_higher, t.neighbour * b * neighbour];
                if self.variant.sum == Sum::OuterProducts && self.variant.b_bar == Form::Method(Method::Rk4) {
                    parts = self.outer_products(n, l, delta).map(|part| part * u);
                }
                (parts.iter().sum::<Complex64>(), parts.iter().map(|part| part.norm()).sum::<f64>(), t.error)
            }
        };
        let factor = self.variant.input_factor;
        let rounded = if factor == 1.0 { 4.0 * mu } else { 6.0 * mu };
        let mut b_u = Bounded {
            value: value * factor,
            error: size * factor.abs() * (relative + rounded) + 4.0 * HALF_SUBNORMAL * f64::from(size != 0.0),
        };
        let a = self.a_bar(n, l);
        if self.variant.decays_input {
            b_u.error = b_u.error * a.value.norm() + (a.error + mu * a.value.norm()) * b_u.value.norm();
            b_u.value *= a.value;
        }
        Map { a, b: b_u }
    }

    /// A²B as a(aᵀB), A³B as a(aᵀAB): the terms of first, second, and third and fourth order in Δ.
    fn outer_products(&self, n: usize, l: usize, delta: f64) -> [Complex64; 3] {
        let (mut ab, mut aab) = (Complex64::ZERO, Complex64::ZERO);
        for m in 0..self.problem.shape.dstate {
            let product = self.read.a(m) * self.read.b(m, l);
            ab += product;
            aab += self.read.a(m) * product;
        }
        let (a, b) = (self.read.a(n), self.read.b(n, l));
        let d2 = delta * delta / 2.0;
        [b * delta, a * b * d2, a * (ab * (d2 * delta / 3.0) + aab * (d2 * delta * delta / 12.0))]
    }

    /// The last state where u is scanned in place of B u.
    fn state_of_u(&self, n: usize) -> Last {
        let (variant, len) = (Variant { b_use: BUse::Never, ..*self.variant }, self.read.steps[0].len());
        let run = VariantScan::new(&variant, self.problem, self.channel, len);
        let maps: Vec<Map> = (0..len).map(|l| run.map(n, l)).collect();
        run.state_after(n, &maps)
    }

    /// The state after these positions.
    fn state_after(&self, n: usize, maps: &[Map]) -> Last {
        self.add_states(n, maps, false, &mut vec![Sums::default(); maps.len()])
    }

    fn initial(&self, n: usize, reverse: bool) -> Complex64 {
        let problem = self.problem;
        let given = problem.initial_state.as_ref().filter(|_| !reverse);
        let given = given.map_or(Complex64::ZERO, |x| {
            complex_at(problem.weights, x, problem.state_index(self.channel, n))
        });
        match self.variant.initial {
            Initial::Ignored => Complex64::ZERO,
            Initial::Conjugated => given.conj(),
            Initial::Given | Initial::WithoutFirstDecay => given,
        }
    }

    /// Adds what state n contributes to y in one direction, as far as there are maps; its last state.
    fn add_states(&self, n: usize, maps: &[Map], reverse: bool, sums: &mut [Sums]) -> Last {
        let (variant, seqlen) = (self.variant, self.problem.shape.seqlen);
        let mu = allowance::product(self.problem.weights);
        let joins = allowance::scan_joins(seqlen) * SUM;
        let growth = (1.0 + mu) * (1.0 + SUM);
        let problem = self.problem;
        let start = self.initial(n, reverse);
        let mut x = State { at: Bounded { value: start, error: 0.0 }, size: start.norm() };
        // What products of Ā that have underflowed on their own may multiply.
        let mut largest = x.size.max(1.0);
        let mut overflows = false;
        let mut late: Vec<State> = Vec::new();
        let mut carried = Carried::default();
        let behind = usize::from(problem.reads_before());
        let behind = if let Delay::State(by) = variant.delay { behind + by } else { behind };
        for k in 0..maps.len() {
            let l = if reverse { seqlen - 1 - k } else { k };
            let Map { mut a, b } = maps[l];
            if reverse && variant.reversed == Reversed::ABarOffByOne && l + 1 < seqlen && !self.ignored(l) {
                a = self.a_bar(n, l + 1);
            }
            if k == 0 && variant.initial == Initial::WithoutFirstDecay {
                a = Bounded { value: Complex64::ONE, error: 0.0 };
            }
            let before = carried.whole(x);
            if behind > 0 {
                late.push(before);
            }
            let edge = if reverse { l + 1 } else { l };
            if let Some(chunks) = variant.chunks
                && edge % chunks.length == 0
                && edge > 0
                && edge < seqlen
                && !self.ignored(l)
            {
                carried.enter(chunks, &mut x, &mut a);
            }
            let a_abs = a.value.norm();
            let excess = a.error * growth + a_abs * (growth - 1.0);
            let underflow = 2.0 * HALF_SUBNORMAL * largest * f64::from(x.size > 0.0);
            x.at.error = (a_abs + a.error) * growth * x.at.error
                + excess * x.size
                + b.error * (1.0 + joins)
                + joins * b.value.norm()
                + underflow;
            x.size = a_abs * x.size + b.value.norm();
            largest = largest.max(x.size + x.at.error);
            overflows |= x.size > f64::from(f32::MAX);
            x.at.value = rounded(a.value * x.at.value + b.value, variant.state);
            carried.decay(a);
            let dropped = match variant.directions {
                Directions::CausalOnly => reverse,
                Directions::BackwardOnly => !reverse,
                _ => false,
            };
            if dropped && variant.bidirectional || self.ignored(l) {
                continue;
            }
            let read = match behind {
                0 if reverse && variant.reversed == Reversed::OffByOne => before,
                0 => carried.whole(x),
                _ if late.len() >= behind => late[late.len() - behind],
                _ => State::default(),
            };
            let mut c = self.read.c(n, l);
            if problem.reads_with_b() {
                c *= self.read.given_b(n, l);
            }
            if variant.readout == Readout::ImaginaryPart {
                c *= -Complex64::I;
            }
            let y = if reverse { &mut sums[l].backward } else { &mut sums[l].forward };
            y.value += (c * read.at.value).re;
            y.error += c.norm() * read.at.error;
            let products = if problem.reads_with_b() { 2.0 } else { 1.0 };
            sums[l].magnitude += products * c.norm() * (read.at.value.norm() + read.at.error);
        }
        Last { state: carried.whole(x).at, overflows }
    }

    fn output(&self, l: usize, sums: &[Sums]) -> (f64, f64) {
        if self.ignored(l) {
            return (0.0, HALF_SUBNORMAL);
        }
        let of = match self.variant.delay {
            Delay::Output(by) if l < by => return (0.0, HALF_SUBNORMAL),
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

/// What a chunk was given, where that does not simply go on as the state.
#[derive(Clone, Copy, Default)]
struct Carried {
    /// Beside the chunk's own state, at the present position.
    beside: Option<(State, Chunks, bool)>,
    /// What the chunk before was given, or ended with.
    earlier: State,
}

impl Carried {
    /// At the first position of a chunk that `x` is carried into; Ā there is `a`.
    fn enter(&mut self, chunks: Chunks, x: &mut State, a: &mut Bounded) {
        let whole = self.whole(*x);
        let own = *x;
        match chunks.carry {
            Carry::Times(factor) => *a = Bounded { value: a.value * factor, error: a.error * factor.abs() },
            Carry::WithoutFirstDecay => *a = Bounded { value: Complex64::ONE, error: 0.0 },
            Carry::WithoutDecay => {
                (self.beside, *x) = (Some((whole, chunks, true)), State::default());
            }
            Carry::NotAccumulated => {
                (self.beside, *x) = (Some((own, chunks, true)), State::default());
            }
            Carry::AccumulatedWithoutDecay => {
                let given = add(self.earlier, own);
                (self.earlier, self.beside, *x) = (given, Some((given, chunks, true)), State::default());
            }
            Carry::Stale => {
                (self.beside, *x) = (Some((self.earlier, chunks, true)), State::default());
                self.earlier = whole;
            }
            Carry::FirstPositionOnly => {
                (self.beside, *x) = (Some((whole, chunks, true)), State::default());
            }
        }
    }

    /// One position further on.
    fn decay(&mut self, a: Bounded) {
        let Some((state, chunks, is_first)) = &mut self.beside else { return };
        match chunks.carry {
            Carry::WithoutDecay => {}
            Carry::FirstPositionOnly if !*is_first => *state = State::default(),
            _ => {
                let a_abs = a.value.norm();
                state.at.error = (a_abs + a.error) * (1.0 + 8.0 * U) * state.at.error
                    + (a.error + 8.0 * U * a_abs) * state.size;
                state.at.value *= a.value;
                state.size *= a_abs;
            }
        }
        *is_first = false;
    }

    fn whole(&self, x: State) -> State {
        self.beside.map_or(x, |(state, ..)| add(state, x))
    }
}

fn add(one: State, other: State) -> State {
    let size = one.size + other.size;
    let at =
        Bounded { value: one.at.value + other.at.value, error: one.at.error + other.at.error + SUM * size };
    State { at, size }
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

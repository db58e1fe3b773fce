//! The scan.

use std::collections::HashMap;
use std::f64::consts::TAU;
use std::num::NonZeroUsize;

use super::{Head, Number, Outputs};
use crate::problem::stages::LogSpace;
use crate::problem::trapezoidal::{Input, Output, Sizes};
use crate::promise::allowance::{U, scan_joins};

/// In which way the state is written. Both are the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// x_l = α_l x_{l−1} + β_l w_{l−1} + γ_l w_l
    AsSpecified,
    /// s_l = α_l s_{l−1} + (γ_l + σ_{l+1}) w_l with σ_l = (1 − λ_l)Δ_l, and x_l = s_l − σ_{l+1} w_l.
    Shifted,
}

/// Numbers that the channels of a head share at a position.
pub struct Position<N> {
    /// The argument of softplus.
    pub raw: N,
    /// Δ
    pub delta: N,
    /// α = e^{ΔA}
    pub decay: N,
    /// λ
    pub lambda: N,
    /// 1 − λ
    pub rest: N,
    /// σ = (1 − λ)Δ
    pub held: N,
    /// β = σα
    pub before: N,
    /// γ = λΔ
    pub now: N,
}

/// What the channels of a head share.
pub struct Prepared<N> {
    pub at: Vec<Position<N>>,
    /// tanh of angles, (l, k)
    pub tanh: Vec<N>,
    /// (cos θ, sin θ), (l, k)
    pub turns: Vec<[N; 2]>,
    /// θ after the last position, (k)
    pub last_angle: Vec<N>,
    /// B and C with their biases, turned: (l, n)
    pub b: Vec<N>,
    pub c: Vec<N>,
    /// w_{−1} is this times u_{−1}: (n)
    pub b_before: Option<Vec<N>>,
    /// Error of states and their cotangents where they are read, of all terms: by the joins of a scan, and in log space by the sum
    /// at the end of the block.
    pub of_reads: Vec<f64>,
    /// Positions of a block of running sums; none where decays are products.
    pub block: Option<usize>,
}

impl<N: Number> Prepared<N> {
    pub fn new(head: &Head, log_space: Option<LogSpace>) -> Self {
        let Sizes { l: len, n: states, k: angles, .. } = head.sizes;
        let mut all = Prepared {
            at: Vec::with_capacity(len),
            tanh: Vec::with_capacity(len * angles),
            turns: Vec::with_capacity(len * angles),
            last_angle: (0..angles).map(|k| head.or_zero(Input::InitialAngle, k)).collect(),
            b: Vec::with_capacity(len * states),
            c: Vec::with_capacity(len * states),
            b_before: head.inputs.get(Input::InitialB).map(|b| b.iter().map(|&b| N::exact(b)).collect()),
            of_reads: vec![U * scan_joins(len); len],
            block: log_space.map(|scan| scan.block.map_or(len, NonZeroUsize::get)),
        };
        let mut walks: Vec<Walk<N>> = all.last_angle.iter().map(Walk::new).collect();
        // The running sum of |ΔA| in its block.
        let mut sum = 0.0;
        for l in 0..len {
            let given: N = head.or_zero(Input::Delta, l);
            let raw = match head.number(Input::DeltaBias, 0) {
                Some(bias) => given.plus(&bias),
                None => given,
            };
            let delta = if head.delta_softplus { raw.softplus() } else { raw.clone() };
            let rate = match head.number::<N>(Input::Adt, l) {
                Some(rate) => rate,
                None => delta.times(&head.or_zero(Input::A, 0)),
            };
            let mut decay = rate.exp();
            if let Some(LogSpace { block }) = log_space {
                if block.is_some_and(|block| l % block == 0) {
                    sum = 0.0;
                }
                sum += rate.about().abs();
                // ([`crate::judge::budget`] has it: "In log space".)
                let off = U * sum;
                decay = decay.off_by(if off < 1.0 { off / (1.0 - off) } else { f64::INFINITY });
                all.of_reads[l] += (2.0 * scan_joins(len) + 2.0) * U * sum;
            }
            let lambda = match head.number::<N>(Input::Trap, l) {
                Some(trap) => trap.sigmoid(),
                None => head.or_zero(Input::Lambda, l),
            };
            let rest = N::one().minus(&lambda);
            let held = rest.times(&delta);
            let (before, now) = (held.times(&decay), lambda.times(&delta));
            all.turn(head, l, &delta, &mut walks);
            for (values, input, bias) in
                [(&mut all.b, Input::B, Input::BBias), (&mut all.c, Input::C, Input::CBias)]
            {
                let turns = &all.turns[l * angles..];
                let number = |n| {
                    let given: N = head.or_zero(input, l * states + n);
                    head.number(bias, n).map_or(given.clone(), |bias| given.plus(&bias))
                };
                for n in 0..states {
                    let Some([cos, sin]) = turns.get(n / 2).filter(|_| n / 2 < angles) else {
                        values.push(number(n));
                        continue;
                    };
                    let [even, odd] = [number(n & !1), number(n | 1)];
                    values.push(match n % 2 {
                        0 => even.times(cos).minus(&odd.times(sin)),
                        _ => even.times(sin).plus(&odd.times(cos)),
                    });
                }
            }
            all.at.push(Position { raw, delta, decay, lambda, rest, held, before, now });
        }
        all.of_reads
            .chunks_mut(all.block.unwrap_or(len))
            .for_each(|block| block.fill(block.last().copied().unwrap_or(0.0)));
        all
    }

    /// θ_l = θ_{l−1} + π tanh(angles_l) Δ_l
    fn turn(&mut self, head: &Head, l: usize, delta: &N, walks: &mut [Walk<N>]) {
        for (k, walk) in walks.iter_mut().enumerate() {
            let tanh = head.or_zero::<N>(Input::Angles, l * head.sizes.k + k).tanh();
            let theta = walk.add(&tanh.times(&N::pi()).times(delta));
            self.turns.push(theta.cos_sin());
            self.tanh.push(tanh);
            self.last_angle[k] = theta;
        }
    }

    /// w_l of a channel and state.
    fn input(&self, head: &Head, (l, p, n): (usize, usize, usize)) -> N {
        let Sizes { p: channels, n: states, .. } = head.sizes;
        self.b[l * states + n].times(&head.or_zero(Input::U, l * channels + p))
    }

    /// w_{−1}; none, for 0, where nothing is given there.
    pub fn input_before(&self, head: &Head, (p, n): (usize, usize)) -> Option<N> {
        Some(self.b_before.as_ref()?[n].times(&head.number(Input::InitialU, p)?))
    }

    /// The states x_{−1}, x_0, … of a channel: (1 + l, n).
    pub fn states(&self, head: &Head, writing: Writing, p: usize) -> Vec<N> {
        let states = head.sizes.n;
        let mut all = Vec::with_capacity((self.at.len() + 1) * states);
        all.extend((0..states).map(|n| head.or_zero::<N>(Input::InitialState, p * states + n)));
        let mut before: Vec<Option<N>> = (0..states).map(|n| self.input_before(head, (p, n))).collect();
        // Of the shifted writing, whose last state is none of the scan's.
        let mut carried: Vec<N> = all.clone();
        for (carried, w) in carried.iter_mut().zip(&before).filter(|_| writing == Writing::Shifted) {
            *carried = w.as_ref().map_or(carried.clone(), |w| carried.plus(&self.at[0].held.times(w)));
        }
        for (l, at) in self.at.iter().enumerate() {
            for n in 0..states {
                let w = self.input(head, (l, p, n));
                let decayed = at.decay.times(&carried[n]);
                let state = match writing {
                    Writing::AsSpecified => {
                        let old =
                            before[n].as_ref().map_or(decayed.clone(), |w| decayed.plus(&at.before.times(w)));
                        carried[n] = old.plus(&at.now.times(&w));
                        carried[n].clone()
                    }
                    Writing::Shifted => {
                        let next = self.at.get(l + 1).map_or_else(N::zero, |at| at.held.clone());
                        carried[n] = decayed.plus(&at.now.plus(&next).times(&w));
                        carried[n].minus(&next.times(&w))
                    }
                };
                all.push(state);
                before[n] = Some(w);
            }
        }
        all
    }

    /// y of a channel at a position, before skip and gate.
    pub fn read(&self, states: &[N], l: usize) -> N {
        N::dot(states, &self.c[l * states.len()..]).off_by(self.of_reads[l])
    }
}

/// Steps below so many u of what they are added to round the way they point, and not at random.
const GENERIC: f64 = 16.0;

/// An angle as it grows. Whatever positions a partial sum is over, it is not larger than the range that θ has had; and kept modulo 2π, not
/// than 2π, which is taken off or added with one rounding more, and is itself off by half of one: three in all.
struct Walk<N> {
    sum: N,
    range: [f64; 2],
    steps: HashMap<u64, usize>,
    random: usize,
    systematic: usize,
    repeats: usize,
}

impl<N: Number> Walk<N> {
    fn new(start: &N) -> Self {
        let range = [start.about().min(0.0), start.about().max(0.0)];
        Walk { sum: start.clone(), range, steps: HashMap::new(), random: 0, systematic: 0, repeats: 1 }
    }

    fn add(&mut self, step: &N) -> N {
        self.sum = self.sum.joined(step);
        let about = self.sum.about();
        self.range = [self.range[0].min(about), self.range[1].max(about)];
        let size = (self.range[1] - self.range[0]).max(TAU);
        match step.about().abs() < GENERIC * U * size {
            true => self.systematic += 3,
            false => self.random += 3,
        }
        let again = self.steps.entry(step.about().to_bits()).or_default();
        *again += 1;
        self.repeats = self.repeats.max(*again);
        self.sum.clone().walked(self.random, self.systematic, size, self.repeats)
    }
}

/// Everything that a head returns.
pub fn forward<N: Number>(head: &Head, prepared: &Prepared<N>, writing: Writing) -> Outputs<N> {
    let Sizes { l: len, p: channels, n: states, .. } = head.sizes;
    let mut out = vec![N::zero(); len * channels];
    let mut last_state = Vec::with_capacity(channels * states);
    for p in 0..channels {
        let all = prepared.states(head, writing, p);
        for l in 0..len {
            let y = skipped(head, (l, p), prepared.read(&all[(l + 1) * states..(l + 2) * states], l));
            out[l * channels + p] = match head.number::<N>(Input::Z, l * channels + p) {
                Some(z) => y.times(&z.times(&z.sigmoid())),
                None => y,
            };
        }
        let of_last = prepared.of_reads[len - 1];
        last_state.extend(all[len * states..].iter().map(|x| x.clone().off_by(of_last)));
    }
    let last_b = prepared.b[(len - 1) * states..].to_vec();
    let last_u = (0..channels).map(|p| head.or_zero(Input::U, (len - 1) * channels + p)).collect();
    let all = [
        (Output::Out, out),
        (Output::LastState, last_state),
        (Output::LastAngle, prepared.last_angle.clone()),
        (Output::LastB, last_b),
        (Output::LastU, last_u),
    ];
    all.into_iter().collect()
}

/// y + D u
pub(super) fn skipped<N: Number>(head: &Head, (l, p): (usize, usize), y: N) -> N {
    match head.number::<N>(Input::D, 0) {
        Some(d) => y.plus(&d.times(&head.or_zero(Input::U, l * head.sizes.p + p))),
        None => y,
    }
}

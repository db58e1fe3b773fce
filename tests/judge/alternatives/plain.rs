//! A plain evaluator of variants: what the documentation of a variant's fields says, computed step by step in f64. Of the fault
//! models' code it has what is specified where a change does not hold, and which places these are.

use holdfast::judge::faults::around::{Before, Carry, Delay, Flips, Initial, Limited, Raised, Stage, Steps};
use holdfast::judge::faults::complex::Way;
use holdfast::judge::faults::only::Only;
use holdfast::judge::faults::variant::{Readout, Reversed, Sum, Tail, Variant};
use holdfast::problem::{Conventions, Problem};
use num_complex::Complex64;

use super::coefficients::{At, Used};
use super::functions::{both_rounded, limited, of_complex, product, rounded};
use super::reading::Reading;
use super::returned::{last_state, moved_states, outputs};

pub type Result<T> = std::result::Result<T, &'static str>;

/// What the scan of a variant returns for every channel, computed plainly in f64: `out` is (batch, dim, seqlen), `last_state`
/// (batch, dim, dstate), re and im in turn where weights are complex.
pub struct Plain {
    pub out: Vec<f64>,
    pub last_state: Vec<f64>,
}

/// One state of one scan, step by step.
pub struct Track {
    pub start: Complex64,
    /// The state that each step leaves.
    pub states: Vec<Complex64>,
    /// What that is without the input of the step.
    pub decayed: Vec<Complex64>,
    pub last: Complex64,
}

/// One state's Ā and B̄u, step by step.
struct Inputs {
    a: Vec<Complex64>,
    b: Vec<Complex64>,
    /// Whether u is 0 there.
    is_zero: Vec<bool>,
}

/// One scan of one channel.
pub struct Scan<'a> {
    pub variant: &'a Variant,
    pub used: Used<'a>,
    /// What holds where the variant does not, as far as it is about some places only.
    pub elsewhere: Option<(&'a Variant, Used<'a>)>,
    /// What is specified.
    pub right: Used<'a>,
    /// The positions that the steps are at.
    pub positions: Vec<usize>,
    pub is_reversed: bool,
    pub tracks: Vec<Track>,
}

/// What the scans before have ended with: by direction, row and state.
pub type Ends = [Vec<Vec<Complex64>>; 2];

/// Err: a field of the variant that this evaluator does not model, by name.
pub fn plain(variant: &Variant, problem: &Problem) -> Result<Plain> {
    left_out(variant, problem)?;
    let shape = problem.shape;
    let mut ends: Ends = Default::default();
    let mut out = Vec::new();
    let mut last_states = Vec::new();
    let right = Variant::specified(variant.form);
    let elsewhere = elsewhere(variant);
    let elsewhere = Some(&elsewhere).filter(|_| variant.only != Only::Everywhere);
    for row in 0..shape.batch * shape.dim {
        let (batch, channel) = batch_and_channel(problem, row);
        let other = variant.of_other_scan(variant.form);
        let changed = variant.in_one_scan.filter(|_| variant.bidirectional);
        let of = |reversed: bool| if changed.is_some_and(|it| it != reversed) { &other } else { variant };
        let reading = |variant| Reading { variant, problem, batch, channel };
        let forward = Scan::new(reading(of(false)), (elsewhere, &right), false, row, &ends, None)?;
        let after: Vec<Complex64> = forward.tracks.iter().map(|track| track.last).collect();
        let reversed = if variant.bidirectional {
            Some(Scan::new(reading(of(true)), (elsewhere, &right), true, row, &ends, Some(&after))?)
        } else {
            None
        };
        ends[0].push(after);
        ends[1].push(reversed.iter().flat_map(|scan| &scan.tracks).map(|track| track.last).collect());
        let after_scans = if changed.is_some() { &other } else { variant };
        out.extend(outputs(reading(after_scans), &forward, reversed.as_ref())?);
        last_states.push(last_state(reading(of(false)), &forward, reversed.as_ref())?);
    }
    let width = problem.weights.width();
    let moved = moved_states(variant, problem, last_states);
    let last_state = moved.iter().flat_map(|x| [x.re, x.im].into_iter().take(width)).collect();
    Ok(Plain { out, last_state })
}

/// What holds where the variant does not.
fn elsewhere(variant: &Variant) -> Variant {
    let all = variant.elsewhere(variant.form);
    match variant.only {
        // What is read is changed in those states alone, too.
        Only::States(_) => {
            Variant { delay: Delay::None, without_input: false, reversed: Reversed::Right, ..all }
        }
        _ => all,
    }
}

pub fn batch_and_channel(problem: &Problem, row: usize) -> (usize, usize) {
    (row / problem.shape.dim, row % problem.shape.dim)
}

/// What this evaluator does not model.
fn left_out(variant: &Variant, problem: &Problem) -> Result<()> {
    let fields = [
        ("only in one scan", variant.only != Only::Everywhere && variant.in_one_scan.is_some()),
        ("conventions", problem.conventions != Conventions::default()),
        ("held", problem.held.is_some()),
    ];
    match fields.into_iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => Err(name),
        None => Ok(()),
    }
}

impl<'a> Scan<'a> {
    /// `after` is what the forward scan has ended with, for the reversed one.
    pub fn new(
        reading: Reading<'a>,
        (elsewhere, right): (Option<&'a Variant>, &'a Variant),
        is_reversed: bool,
        row: usize,
        ends: &Ends,
        after: Option<&[Complex64]>,
    ) -> Result<Self> {
        let (variant, problem) = (reading.variant, reading.problem);
        let mut positions: Vec<usize> = (0..counted(variant.tail, problem.shape.seqlen)).collect();
        if is_reversed != variant.reverse {
            positions.reverse();
        }
        let tracks = Vec::new();
        let of = |variant| Used::new(Reading { variant, ..reading });
        let elsewhere = elsewhere.map(|variant| (variant, of(variant)));
        let (used, right) = (of(variant), of(right));
        let mut scan = Scan { variant, used, elsewhere, right, positions, is_reversed, tracks };
        for n in 0..problem.shape.dstate {
            let steps = scan.steps(n)?;
            let given = given(problem, row, n);
            let start = scan.start(problem, (row, n), given, (ends, after), &steps);
            scan.tracks.push(scan.track(start, given, n, &steps));
        }
        Ok(scan)
    }

    /// How a state moves at a position.
    fn moves(&self, n: usize, l: usize) -> (&Variant, &Used<'a>) {
        let holds = self.variant.only.holds((n, self.counted_at(l)), || self.right.step(n, l));
        self.one_of(holds)
    }

    /// Which position a position counts as where a change is about some alone: of a scan that runs backwards they are counted
    /// from the end.
    fn counted_at(&self, l: usize) -> usize {
        if self.variant.reverse { self.used.u.len() - 1 - l } else { l }
    }

    /// How a state is read at a position.
    fn reads(&self, n: usize, l: usize) -> (&Variant, &Used<'a>) {
        self.one_of(self.variant.only.reads(n, self.counted_at(l)))
    }

    fn one_of(&self, holds: bool) -> (&Variant, &Used<'a>) {
        match &self.elsewhere {
            Some((variant, used)) if !holds => (variant, used),
            _ => (self.variant, &self.used),
        }
    }

    /// Where the step at a position reads its inputs, of a scan whose reversed one is read like this.
    fn at_of(&self, l: usize, reversed: Reversed) -> At {
        let last = self.used.u.len() - 1;
        if !self.is_reversed {
            return At { u: l, delta: l, a_bar: l, b: l };
        }
        let flipped = |is_flipped: bool| if is_flipped { l } else { last - l };
        let Flips { u, delta, b, .. } = self.variant.flips;
        let delta = flipped(delta);
        let a_bar = match reversed {
            Reversed::ABarOffByOne => (delta + 1).min(last),
            _ => delta,
        };
        At { u: flipped(u), delta, a_bar, b: flipped(b) }
    }

    pub fn at(&self, l: usize) -> At {
        self.at_of(l, self.variant.reversed)
    }

    fn steps(&self, n: usize) -> Result<Inputs> {
        let mut steps = Inputs { a: Vec::new(), b: Vec::new(), is_zero: Vec::new() };
        for l in self.positions.iter().copied() {
            let (variant, used) = self.moves(n, l);
            let at = self.at_of(l, variant.reversed);
            let mixes = variant.sum == Sum::OuterProducts;
            steps.a.push(used.a_bar(n, at)?);
            steps.b.push(if mixes { used.mixed_input(n, at) } else { used.input(n, at)? });
            steps.is_zero.push(used.u[at.u] == 0.0);
        }
        if let Some(sums) = self.variant.exponent_sums {
            let (mut sum, mut before) = (0.0, 0.0);
            for (k, l) in self.positions.iter().enumerate() {
                let exponent = self.used.log_a_bar(n, self.at(*l)).re;
                if sums.each {
                    sum = rounded(sums.to, sum + rounded(sums.to, exponent));
                } else {
                    sum += exponent;
                }
                let kept = rounded(sums.to, sum);
                steps.a[k] = Complex64::from((kept - before).exp());
                before = kept;
            }
        }
        Ok(steps)
    }

    /// What a state starts from.
    fn start(
        &self,
        problem: &Problem,
        (row, n): (usize, usize),
        given: Complex64,
        (ends, after): (&Ends, Option<&[Complex64]>),
        steps: &Inputs,
    ) -> Complex64 {
        let own = if self.is_reversed { Complex64::ZERO } else { given };
        let (batch, channel) = batch_and_channel(problem, row);
        let before = match self.variant.initial {
            Initial::Given | Initial::WithoutFirstDecay => return own,
            Initial::Ignored | Initial::Circular => return Complex64::ZERO,
            Initial::Conjugated => return own.conj(),
            Initial::InBoth => return given,
            Initial::EndOfForward => return after.map_or(own, |after| after[n]),
            Initial::EndOf(before) => before,
        };
        let ended = &ends[usize::from(self.is_reversed)];
        match before {
            Before::Itself => self.sequential(own, n, steps).last,
            Before::Batch if batch > 0 => ended[row - problem.shape.dim][n],
            Before::Channel if channel > 0 => ended[row - 1][n],
            Before::BatchOrChannel if row > 0 => ended[row - 1][n],
            Before::State if n > 0 => self.tracks[n - 1].last,
            _ => own,
        }
    }

    fn track(&self, start: Complex64, given: Complex64, n: usize, steps: &Inputs) -> Track {
        if self.variant.initial == Initial::Circular {
            return circular(if self.is_reversed { Complex64::ZERO } else { given }, steps);
        }
        if let Some(length) = self.variant.exchanged {
            return exchanged(start, steps, length);
        }
        if self.variant.chunks.is_some_and(|chunks| chunks.of[usize::from(self.is_reversed)]) {
            let initial = if self.is_reversed { Complex64::ZERO } else { given };
            return self.chunked(start, initial, steps);
        }
        if self.variant.raised != Raised::Not {
            return raised(self.variant.raised, start, steps);
        }
        self.sequential(start, n, steps)
    }

    /// One step after the other.
    fn sequential(&self, start: Complex64, n: usize, steps: &Inputs) -> Track {
        let mut track = Track { start, states: Vec::new(), decayed: Vec::new(), last: start };
        let mut x = start;
        for k in 0..steps.a.len() {
            let (mut a, b) = (steps.a[k], steps.b[k]);
            let variant = self.moves(n, self.positions[k]).0;
            if variant.resets.contains(&self.positions[k]) {
                x = Complex64::ZERO;
            }
            if k == 0 && variant.initial == Initial::WithoutFirstDecay && !self.is_reversed {
                a = Complex64::ONE;
            }
            let mut decayed = product(variant.products[0], a, x, Complex64::ZERO);
            let mut next = product(variant.products[0], a, x, b);
            if variant.decays_input {
                next = a * (x + b);
            }
            if variant.skips_zeros && steps.is_zero[k] {
                (decayed, next) = (x, x);
            }
            let kept = limited(
                variant.limits[Limited::State as usize],
                of_complex(variant.ways[Way::Kept as usize], next),
            );
            x = both_rounded(variant.state, kept);
            track.states.push(x);
            track.decayed.push(decayed);
        }
        track.last = x;
        track
    }

    /// Whether a chunk that is not the first begins at a step.
    fn begins(&self, k: usize) -> bool {
        let Some(chunks) = self.variant.chunks else { return false };
        let l = self.positions[k];
        let edge = match (self.is_reversed, chunks.from_end) {
            (false, _) => l,
            (true, true) => k,
            (true, false) => l + 1,
        };
        k > 0 && edge % chunks.length == 0
    }

    /// In chunks: each runs from 0, and what it is given is added where it has decayed.
    fn chunked(&self, start: Complex64, initial: Complex64, steps: &Inputs) -> Track {
        let carry = self.variant.chunks.map_or(Carry::Times(1.0), |chunks| chunks.carry);
        let count = steps.a.len();
        let all = |from: usize, to: usize| -> Complex64 {
            steps.a[from.min(count)..to.min(count)].iter().product()
        };
        let mut firsts: Vec<usize> = (0..count).filter(|k| *k == 0 || self.begins(*k)).collect();
        firsts.push(count);
        let mut track = Track { start, states: Vec::new(), decayed: Vec::new(), last: start };
        // What the chunk is given, and what that should have been.
        let (mut given, mut right) = (start, start);
        let mut ends: Vec<Complex64> = vec![start];
        for (j, pair) in firsts.windows(2).enumerate() {
            let (s, e) = (pair[0], pair[1]);
            // Of the carried state, by what it is multiplied at step k.
            let decay = |k: usize| -> Complex64 {
                if j == 0 {
                    return all(s, k + 1);
                }
                match carry {
                    Carry::WithoutFirstDecay => all(s + 1, k + 1),
                    Carry::WithoutDecay => Complex64::ONE,
                    Carry::FirstPositionOnly if k > s => Complex64::ZERO,
                    Carry::Decayed(decay) => match decay.steps {
                        Steps::Exclusive => all(s, k),
                        Steps::WithoutFirst => all(s + 1, k + 1),
                        Steps::OneMore => all(s, k + 2),
                        Steps::OneBefore => all(s - 1, k + 1),
                        Steps::FirstTwice => steps.a[s] * all(s, k + 1),
                        Steps::OwnAlone => steps.a[k],
                        Steps::Nothing => Complex64::ONE,
                    },
                    _ => all(s, k + 1),
                }
            };
            // What the chunk adds, and the same where each input has decayed by its own step, too. The first chunk is given
            // nothing: it starts from what the scan starts from.
            let (mut local, mut decayed_local) = (Complex64::ZERO, Complex64::ZERO);
            for k in s..e {
                track.decayed.push(steps.a[k] * local + decay(k) * given);
                local = steps.a[k] * local + steps.b[k];
                decayed_local = steps.a[k] * (decayed_local + steps.b[k]);
                track.states.push(local + decay(k) * given);
            }
            let end = track.states[e - 1];
            let own = if j == 0 { end } else { local };
            let others = if j == 0 { Complex64::ZERO } else { given };
            right = all(s, e) * right + local;
            track.last = end;
            let next = match carry {
                Carry::Times(factor) => factor * end,
                Carry::NotAccumulated => own,
                Carry::AccumulatedWithoutDecay => own + others,
                Carry::Stale => ends[j],
                Carry::LastButOne => {
                    if e > s + 1 {
                        track.states[e - 2]
                    } else {
                        given
                    }
                }
                Carry::OperandsExchanged => others + all(0, s) * own,
                Carry::InitialAgain => end + initial,
                Carry::InputsDecayed => all(s, e) * given + decayed_local,
                Carry::Rounded(to) => both_rounded(to, end),
                Carry::Decayed(decay) => {
                    if decay.last_right {
                        track.last = right;
                    }
                    if decay.passed_right { right } else { end }
                }
                _ => end,
            };
            ends.push(end);
            given = next;
        }
        track
    }

    /// The states that C reads at a step.
    fn read(&self, n: usize, k: usize) -> Complex64 {
        let track = &self.tracks[n];
        let before = |by: usize| match k.checked_sub(by) {
            Some(k) => track.states[k],
            None if by == k + 1 => track.start,
            None => Complex64::ZERO,
        };
        let variant = self.reads(n, self.positions[k]).0;
        let reversed = if self.is_reversed { variant.reversed } else { Reversed::Right };
        let state = match variant.delay {
            Delay::State(by) => before(by),
            _ if reversed == Reversed::OffByOne => before(1),
            _ if reversed == Reversed::WithoutInput => track.decayed[k],
            _ if variant.without_input && !self.is_reversed => track.decayed[k],
            _ => track.states[k],
        };
        of_complex(variant.ways[Way::Read as usize], state)
    }

    /// What is read of all states, at each position.
    fn readout(&self, problem: &Problem) -> Vec<f64> {
        let mut all = vec![0.0; problem.shape.seqlen];
        let last = all.len() - 1;
        let flips = self.variant.flips;
        for (k, l) in self.positions.iter().copied().enumerate() {
            let of_c = if self.is_reversed && !flips.c { last - l } else { l };
            let to = if self.is_reversed && !flips.back { last - l } else { l };
            let read = |n: usize| {
                let (variant, used) = self.reads(n, l);
                let count = variant.counts.map_or(1.0, |halves| f64::from(halves[n]) / 2.0);
                count * used.c[of_c][n] * self.read(n, k)
            };
            let sum: Complex64 = (0..problem.shape.dstate).map(read).sum();
            let variant = self.one_of(self.variant.only.has_output(l)).0;
            all[to] = variant.readout_factor
                * match variant.readout {
                    Readout::Right => problem.output_factor() * sum.re,
                    Readout::RealPartOnce => sum.re,
                    Readout::ImaginaryPart => problem.output_factor() * sum.im,
                };
        }
        all
    }
}

/// How many positions are not overlooked.
pub fn counted(tail: Tail, seqlen: usize) -> usize {
    match tail {
        Tail::Whole => seqlen,
        Tail::LastIgnored => seqlen - 1,
        Tail::Ignored(width) => seqlen / width * width,
    }
}

/// The given initial state of a state.
fn given(problem: &Problem, row: usize, n: usize) -> Complex64 {
    let width = problem.weights.width();
    let at = (row * problem.shape.dstate + n) * width;
    problem.initial_state.as_ref().map_or(Complex64::ZERO, |values| {
        let im = if width == 2 { values[at + 1] } else { 0.0 };
        Complex64::new(values[at].into(), im.into())
    })
}

/// Each input counts for as many positions as there are, around the end. What is given has gone around once.
fn circular(given: Complex64, steps: &Inputs) -> Track {
    let count = steps.a.len();
    let start = steps.a.iter().product::<Complex64>() * given;
    let mut track = Track { start, states: Vec::new(), decayed: Vec::new(), last: start };
    let mut around = start;
    for k in 0..count {
        // From the oldest input to the newest one.
        let (mut x, mut decayed) = (Complex64::ZERO, Complex64::ZERO);
        for i in 1..=count {
            let at = (k + i) % count;
            decayed = steps.a[at] * x;
            x = decayed + steps.b[at];
        }
        around *= steps.a[k];
        track.decayed.push(decayed + around);
        track.last = x + around;
        track.states.push(track.last);
    }
    track
}

/// An input is decayed by the steps of its chunk before it, and not by those after it.
fn exchanged(start: Complex64, steps: &Inputs, length: usize) -> Track {
    let mut track = Track { start, states: Vec::new(), decayed: Vec::new(), last: start };
    let mut given = start;
    let (mut all, mut sum) = (Complex64::ONE, Complex64::ZERO);
    for k in 0..steps.a.len() {
        if k > 0 && k % length == 0 {
            given = track.last;
            (all, sum) = (Complex64::ONE, Complex64::ZERO);
        }
        let added = all * steps.b[k];
        all *= steps.a[k];
        track.decayed.push(all * given + sum);
        sum += added;
        track.last = all * given + sum;
        track.states.push(track.last);
    }
    track
}

/// P Σ b/P, with P the product of all Ā so far, which is kept away from 0 where it divides.
fn raised(how: Raised, start: Complex64, steps: &Inputs) -> Track {
    let mut track = Track { start, states: Vec::new(), decayed: Vec::new(), last: start };
    let (mut all, mut sum) = (Complex64::ONE, start);
    for k in 0..steps.a.len() {
        all *= steps.a[k];
        track.decayed.push(all * sum);
        sum += match how {
            Raised::Not => steps.b[k] / all,
            Raised::Added(epsilon) => steps.b[k] / (all + epsilon),
            Raised::AtLeast(epsilon) => steps.b[k] / all.re.max(epsilon),
        };
        track.last = all * sum;
        track.states.push(track.last);
    }
    track
}

/// Values that are those of so many positions before; 0 beyond the ends.
pub fn late(values: &[f64], by: isize) -> Vec<f64> {
    let at = |l: usize| usize::try_from(l as isize - by).ok().and_then(|l| values.get(l).copied());
    (0..values.len()).map(|l| at(l).unwrap_or(0.0)).collect()
}

/// What is read of a scan's states, with what is about that scan alone.
pub fn readout_of(scan: &Scan, problem: &Problem) -> Vec<f64> {
    let values = scan.readout(problem);
    let stage = scan.variant.stages[Stage::Sum as usize];
    let in_one = |value: f64| if scan.variant.in_one_scan.is_some() { rounded(stage, value) } else { value };
    let Delay::Readout(by) = scan.variant.delay else { return values.into_iter().map(in_one).collect() };
    let moved = late(&values, by);
    let at = |l: usize| if scan.variant.only.has_output(l) { moved[l] } else { values[l] };
    (0..values.len()).map(at).map(in_one).collect()
}

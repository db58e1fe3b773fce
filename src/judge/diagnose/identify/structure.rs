//! Mistakes of structure that have a number of their own: how long a chunk is, by how much something lags, from where on it is
//! left out. Each is proposed for every number that it may have; the looks refute nearly all of them at once.

use super::changes::{Change, Part};
use super::chunks::{at_chunks, in_last_block};
use super::{complex, finder, guards, layout, partial_sums, quotients, scans};
use crate::formula::{Form, Function, Transition};
use crate::judge::faults::around::{
    AUse, Asymptote, Before, Delay, Finish, Flips, Initial, Limited, Residual, Stage, UUse,
};
use crate::judge::faults::place::{Input, Map};
use crate::judge::faults::variant::{Reversed, Variant};
use crate::problem::{Operand, Problem, Weights};

/// The longest lag, and the most indices that may be left out.
const LAG: usize = 64;
/// The longest lag that is tried beside something else.
const FEW: usize = 2;
/// Thresholds of softplus that are tried beside something else, but for those that are fault models.
const THRESHOLDS: [f64; 7] = [2.0, 3.0, 10.0, 4.0, 0.5, 6.0, 15.0];
/// Lengths of blocks that are tried whatever fails first.
const LENGTHS: [usize; 6] = [64, 32, 16, 128, 8, 4];
/// Positions × states of a channel up to which it is asked what one of two scans does otherwise than the other.
pub(super) const ONE_OF_TWO: usize = 4096;
/// Scans in a row up to which it is asked what one has left for the next: each of them is computed again for all after it.
const IN_A_ROW: usize = 64;

/// What may be read in another place: a name, how it is written, its inputs, and whether it is u of the scan alone.
pub struct Read {
    name: &'static str,
    written: &'static str,
    inputs: &'static [Input],
    of_scan: bool,
}

/// Sequences, each on its own.
pub fn sequences(problem: &Problem) -> Vec<Read> {
    let variable = |operand| operand == Operand::Variable;
    let (b, c) = (variable(problem.b_operand), variable(problem.c_operand));
    let read = |name, written, inputs| Read { name, written, inputs, of_scan: false };
    let mut all = Vec::new();
    all.extend(b.then(|| read("b", "B", &[Input::B])));
    all.extend(c.then(|| read("c", "C", &[Input::C])));
    all.push(Read { of_scan: true, ..read("u", "u of the scan", &[Input::U]) });
    all.push(read("delta", "delta", &[Input::Delta]));
    all.extend(problem.z.as_ref().map(|_| read("z", "z", &[Input::Z])));
    all.extend(problem.d.as_ref().map(|_| read("u-everywhere", "u", &[Input::U])));
    all.extend((b && c).then(|| read("b-and-c", "each of B and C", &[Input::B, Input::C])));
    all.extend((b || c).then(|| {
        read("every-input", "every input", &[Input::U, Input::Delta, Input::Z, Input::B, Input::C])
    }));
    all
}

impl Read {
    fn part(&self) -> Part {
        Part::Place(self.inputs[0] as usize)
    }

    /// These inputs at other positions.
    pub fn at(&self, name: &str, what: &str, map: Map) -> Change {
        let (inputs, of_scan) = (self.inputs, self.of_scan);
        let of_u = match map {
            Map::Shifted(by) if of_scan => Some(UUse::At(by)),
            _ => of_scan.then_some(UUse::In(map)),
        };
        let name = format!("{}-{name}", self.name);
        let what = format!("{} {what}", self.written);
        Change::new(self.part(), name, what, move |v: &mut Variant| match of_u {
            Some(of_u) => v.u_use[0] = of_u,
            None => inputs.iter().for_each(|&input| v.places[input as usize].l = map),
        })
    }
}

/// What is tried on its own, beside [`super::changes::all`].
pub fn all(problem: &Problem, form: Form) -> Vec<Change> {
    let mut all = near(problem, form);
    all.extend(in_one_coefficient(problem));
    all.extend(layout::pairs(problem));
    all.extend(flipped_in_part(problem));
    all.extend(left_out(problem));
    all.extend(lags(problem, LAG));
    all.extend(masked(problem));
    all.extend(guards::all(form, problem.weights));
    all.extend(quotients::all(form));
    all.extend(layout::row_strides(problem));
    all.extend(starts(problem));
    all.extend(in_blocks(problem));
    all.extend(LENGTHS.iter().flat_map(|length| in_last_block(problem, *length)));
    all.extend(LENGTHS.iter().flat_map(|length| scans::chunked_in_one_direction(form, *length)));
    // Of two scans no position is right that would tell how long a chunk is.
    let lengths = LENGTHS.iter().filter(|length| form.is_bidirectional() && **length < problem.shape.seqlen);
    all.extend(lengths.flat_map(|length| at_chunks(problem, *length)));
    all
}

/// What the whole output goes through at last; `most` is the largest modulus that was recorded.
pub fn finishes(most: f64) -> Vec<Change> {
    let functions = [
        (
            "clipped",
            // As f32 has it: in f64 it would be one with sixteen digits.
            format!("the output is clipped to [−{short}, {short}]", short = most as f32),
            Finish::Clipped(most),
        ),
        ("tanh", "the output goes through tanh".to_owned(), Finish::Tanh),
        ("relu", "the output goes through relu".to_owned(), Finish::Relu),
        ("silu", "the output goes through silu".to_owned(), Finish::Silu),
        ("sigmoid", "the output goes through a sigmoid".to_owned(), Finish::Sigmoid),
    ];
    let change = |(name, what, finish): (&str, String, Finish)| {
        Change::new(Part::Other, format!("output-{name}"), what, move |v: &mut Variant| v.finish = finish)
    };
    functions.map(change).into()
}

/// Sequences that are missing at the first positions, as behind a mask.
fn masked(problem: &Problem) -> Vec<Change> {
    let seqlen = problem.shape.seqlen;
    let mut all = Vec::new();
    for read in sequences(problem) {
        all.extend((1..seqlen.min(LAG + 1)).map(|k| {
            let first = if k == 1 { "position".to_owned() } else { format!("{k} positions") };
            let what = format!("is missing at the first {first}");
            read.at("missing-at-first", &what, Map::Within(k, seqlen))
        }));
    }
    all
}

/// What is missing from a position on, as where a sequence is taken for shorter than it is.
pub fn from_position(problem: &Problem, first: usize) -> Vec<Change> {
    let mut all: Vec<Change> = Vec::new();
    for read in sequences(problem) {
        let what = format!("is missing from position {first} on");
        all.push(read.at("missing-at-last", &what, Map::Within(0, first)));
    }
    let what = format!("Δ is 0 from position {first} on: states stand still there");
    all.push(Change::new(Part::Step, "delta-0-at-last", what, move |v: &mut Variant| {
        v.step_sizes.iter_mut().for_each(|step| step.l = Map::Within(0, first));
    }));
    all
}

/// What has no number of its own, or few: it is tried beside others, too.
pub fn near(problem: &Problem, form: Form) -> Vec<Change> {
    let mut all = without_input(form);
    all.extend(flips(problem, form));
    all.push(exchanged(None));
    all.extend(complex::all(problem, form));
    all.extend(layout::orders(problem));
    let grows = problem.a.chunks(problem.weights.width()).any(|a| a[0] > 0.0) || !problem.delta_softplus;
    if grows && form.formula().a_bar == Transition::Exponential {
        let what = "Ā is exp(min(ΔA, 0)), of complex numbers of the real part: what should grow stays";
        all.push(Change::new(Part::ABar, "a-bar-at-most-1", what, |v: &mut Variant| v.grows = false));
    }
    if form.is_bidirectional() {
        let what = "the reversed scan starts from what the forward one has ended with";
        all.push(Change::new(Part::Scan, "reversed-state-not-reset", what, |v: &mut Variant| {
            v.initial = Initial::EndOfForward;
        }));
    }
    let places = [
        ("residual-before-gate", "u is added beside the skip, as if D were D + 1", Residual::BeforeGate),
        (
            "residual-added",
            "u is added to the output, as a block around the scan does it",
            Residual::AfterGate,
        ),
    ];
    // Without a gate both are the same.
    for (name, what, residual) in places.into_iter().skip(usize::from(problem.z.is_none())) {
        all.push(Change::new(Part::Epilogue, name, what, move |v: &mut Variant| v.residual = residual));
    }
    if problem.u.contains(&0.0) {
        let what = "states stay as they are where u is 0, as where positions are taken for padding";
        all.push(Change::new(Part::Scan, "zero-u-skipped", what, |v: &mut Variant| v.skips_zeros = true));
    }
    all.extend(problem.d.as_ref().map(|_| {
        let what = "D multiplies what is read of the states in place of u, as where the output has been written over u";
        Change::new(Part::UValue, "skip-of-readout", what, |v: &mut Variant| v.skip_of_readout = true)
    }));
    all
}

/// What has few numbers, beside [`near`].
pub fn few(problem: &Problem, form: Form) -> Vec<Change> {
    let mut all = in_one_coefficient(problem);
    all.extend(layout::pairs(problem));
    all.extend(flipped_in_part(problem));
    all.extend(left_out(problem));
    all.extend(lags(problem, FEW));
    all.extend(guards::few(form));
    all.extend(quotients::few(form));
    all.extend(partial_sums::few(form));
    if problem.delta_softplus {
        all.extend(THRESHOLDS.map(finder::threshold));
    }
    all
}

/// Changes to one of two scans, where the other one is right.
pub fn in_one_scan<'a>(
    problem: &Problem,
    form: Form,
    changes: impl Iterator<Item = &'a Change>,
) -> Vec<Change> {
    let shape = problem.shape;
    if !form.is_bidirectional() || shape.seqlen * shape.dstate > ONE_OF_TWO {
        return Vec::new();
    }
    let is_of_scan = |change: &&Change| {
        let is_after = matches!(change.part, Part::Epilogue | Part::LastState | Part::Formula);
        let mut changed = Variant::specified(form);
        (change.change)(&mut changed);
        // What one of the two is by its own name, and their directions.
        let is_named = changed.reverse
            || changed.flips != Flips::RIGHT
            || changed.reversed != Reversed::Right
            || changed.chunks.is_some_and(|chunks| chunks.of != [true; 2] || chunks.from_end);
        !is_after && !is_named && !change.is_statement && changed != after_both(&changed, form)
    };
    let mut all = Vec::new();
    for change in changes.filter(is_of_scan) {
        for (reversed, name, written) in [(true, "reversed", "reversed"), (false, "forward", "forward")] {
            let of_both = change.change.clone();
            let what = format!("{}; in the {written} scan alone", change.what);
            let name = format!("{name}-scan-{}", change.name);
            all.push(Change::new(change.part, name, what, move |v: &mut Variant| {
                of_both(v);
                v.in_one_scan = Some(reversed);
            }));
        }
    }
    all
}

/// What a change does to both scans alone: skip and gate come after them, and what is given in the beginning is the forward
/// scan's.
fn after_both(changed: &Variant, form: Form) -> Variant {
    let mut after = changed.of_other_scan(form);
    after.u_use[1] = changed.u_use[1];
    for input in [Input::Z, Input::D] {
        after.places[input as usize] = changed.places[input as usize];
    }
    for limited in [Limited::Gate, Limited::Sum] {
        after.limits[limited as usize] = changed.limits[limited as usize];
    }
    after.stages[Stage::Sum as usize] = changed.stages[Stage::Sum as usize];
    if let Delay::Readout(_) | Delay::Output(_) = changed.delay {
        after.delay = changed.delay;
    }
    if !matches!(changed.initial, Initial::EndOf(_) | Initial::Circular) {
        after.initial = changed.initial;
    }
    after
}

/// States that are read without the input of their position.
fn without_input(form: Form) -> Vec<Change> {
    let change = |name: &str, what: &str, (forward, reversed): (bool, bool)| {
        Change::new(Part::Delay, name, what, move |v: &mut Variant| {
            v.without_input |= forward;
            if reversed {
                v.reversed = Reversed::WithoutInput;
            }
        })
    };
    if !form.is_bidirectional() {
        let what = "C reads the decayed state of before, without the input of its own position";
        return vec![change("reads-without-input", what, (true, false))];
    }
    let what = "one of the two scans is exclusive: the input of l counts once at l";
    let once = change("poly-input-once", what, (false, true));
    let what = "both scans are exclusive: position l reads their states without the input of l";
    vec![once, change("reads-without-input", what, (true, true))]
}

/// A reversed scan by flipping, in which not all is flipped.
fn flips(problem: &Problem, form: Form) -> Vec<Change> {
    if !form.is_bidirectional() {
        return Vec::new();
    }
    let variable = |operand| operand == Operand::Variable;
    let has = [true, true, variable(problem.b_operand), variable(problem.c_operand)];
    let mut all = Vec::new();
    for chosen in 1..1usize << 5 {
        let is_chosen = |i: usize| chosen >> i & 1 == 1;
        if (0..4).any(|i| is_chosen(i) && !has[i]) {
            continue;
        }
        let names: Vec<&str> = (0..4).filter(|&i| is_chosen(i)).map(|i| ["u", "Δ", "B", "C"][i]).collect();
        let flips = Flips {
            u: !is_chosen(0),
            delta: !is_chosen(1),
            b: !is_chosen(2),
            c: !is_chosen(3),
            back: !is_chosen(4),
        };
        let what = match (names.is_empty(), flips.back) {
            (true, _) => "the output of the reversed scan is not flipped back".to_owned(),
            (false, true) => format!("for the reversed scan {} is not flipped", names.join(", ")),
            (false, false) if names == ["C"] => {
                "the states of the reversed scan are not flipped back: C of l reads those of the position as far from the end"
                    .to_owned()
            }
            (false, false) => {
                format!("for the reversed scan {} is not flipped, and its output not flipped back", names.join(", "))
            }
        };
        all.push(Change::new(Part::Scan, "poly-flipped-in-part", what, move |v: &mut Variant| {
            v.flips = flips
        }));
    }
    all
}

/// A that is used otherwise in Ā or in B̄ only.
fn in_one_coefficient(problem: &Problem) -> Vec<Change> {
    let complex = problem.weights == Weights::Complex;
    let uses: [(&str, &str, AUse, bool); 8] = [
        ("real-part", "the imaginary part of A is dropped", AUse::RealPart, complex),
        ("conjugated", "A is conjugated", AUse::Conjugated, complex),
        ("negated", "A has the wrong sign", AUse::Negated, true),
        ("exponentiated", "A is −exp(A): A is taken for A_log", AUse::NegativeExponential, true),
        ("log", "A is log(−A)", AUse::Logarithm, true),
        ("log-negated", "A is −log(−A)", AUse::NegativeLogarithm, true),
        ("reciprocal", "A is 1/A", AUse::Reciprocal, true),
        ("mean", "every state has the mean A of its channel", AUse::Mean, problem.shape.dstate > 1),
    ];
    let mut all = Vec::new();
    for (name, what, of, _) in uses.into_iter().filter(|(.., shows)| *shows) {
        for (i, short, coefficient, other) in [(1, "b-bar", "B̄", "Ā"), (0, "a-bar", "Ā", "B̄")] {
            all.push(Change::new(
                Part::AValue,
                format!("a-{name}-in-{short}"),
                format!("{what} in {coefficient}, and not in {other}"),
                move |v: &mut Variant| v.a_use[i] = of,
            ));
        }
    }
    all
}

/// The operands of an associative scan in each other's place, in the whole of it or within chunks.
pub fn exchanged(length: Option<usize>) -> Change {
    let within = length.map_or(String::new(), |length| format!(" within chunks of {length}"));
    let what = format!(
        "the operands of the associative scan are exchanged{within}: an input is decayed by the steps before it, and not by \
         those after it"
    );
    let of = length.unwrap_or(usize::MAX);
    Change::new(Part::Scan, "scan-operands-exchanged", what, move |v: &mut Variant| v.exchanged = Some(of))
}

/// Some of the sequences flipped, and others not: as where a scan is reversed by flipping its inputs and its output.
fn flipped_in_part(problem: &Problem) -> Vec<Change> {
    let variable = |operand| operand == Operand::Variable;
    let sequences = [
        ("u", Input::U, true),
        ("Δ", Input::Delta, true),
        ("B", Input::B, variable(problem.b_operand)),
        ("C", Input::C, variable(problem.c_operand)),
    ];
    let count = sequences.len();
    let mut all = Vec::new();
    for chosen in 0..1usize << count {
        let is_chosen = move |i: usize| chosen >> i & 1 == 1;
        if (0..count).any(|i| is_chosen(i) && !sequences[i].2) {
            continue;
        }
        let names = |of_chosen: bool| {
            let of = (0..count).filter(|&i| sequences[i].2 && is_chosen(i) == of_chosen);
            of.map(|i| sequences[i].0).collect::<Vec<_>>().join(", ")
        };
        let (flipped, kept) = (names(true), names(false));
        for back in [true, false] {
            // All or nothing is a scan in one direction.
            if (back && kept.is_empty()) || (!back && flipped.is_empty()) {
                continue;
            }
            let what = match (back, flipped.is_empty()) {
                (true, true) => "what is read of the states is flipped along the sequence".to_owned(),
                (true, false) => format!(
                    "{flipped} flipped along the sequence before the scan and what is read of the states flipped back, but {kept} \
                     not"
                ),
                (false, _) => {
                    format!("{flipped} of the scan flipped along the sequence, and nothing flipped back")
                }
            };
            let change = move |v: &mut Variant| {
                v.reverse = back;
                for (i, (_, input, _)) in sequences.iter().enumerate() {
                    // Of a scan that runs backwards, what is not flipped is read the other way.
                    match (is_chosen(i) != back, input) {
                        (false, _) => {}
                        (true, Input::U) => v.u_use[0] = UUse::Reversed,
                        (true, input) => v.places[*input as usize].l = Map::Reversed,
                    }
                }
            };
            all.push(Change::new(Part::Scan, "flipped-in-part", what, change));
        }
    }
    all
}

/// States and channels that are left out.
fn left_out(problem: &Problem) -> Vec<Change> {
    let shape = problem.shape;
    let mut all = Vec::new();
    for (map, of) in some_of(shape.dstate) {
        let states = format!("state{of}");
        for (name, input, what) in [
            ("states-left-out", Input::B, "left out, in the output and in last_state"),
            ("states-not-read", Input::C, "left out of the output"),
        ] {
            let be = if of.starts_with('s') { "are" } else { "is" };
            let what = format!("{states} {be} {what}");
            all.push(Change::new(Part::Place(input as usize), name, what, move |v: &mut Variant| {
                v.places[input as usize].state = map;
            }));
        }
    }
    for (map, of) in some_of(shape.dim) {
        let be = if of.starts_with('s') { "are" } else { "is" };
        let what = format!("channel{of} {be} not computed");
        all.push(Change::new(
            Part::Place(Input::U as usize),
            "channels-left-out",
            what,
            move |v: &mut Variant| {
                v.places[Input::U as usize].channel = map;
            },
        ));
    }
    all
}

/// What is read where some of `n` indices are left out: the last ones, the first ones, or one of them.
pub fn some_of(n: usize) -> Vec<(Map, String)> {
    let most = n.min(LAG + 1);
    let last = (1..most).map(|k| (Map::Within(0, n - k), format!("s from {} on", n - k)));
    let first = (1..most).map(|k| (Map::Within(k, n), format!("s below {k}")));
    let one = (0..if n > 2 { most } else { 0 }).map(|i| (Map::Without(i), format!(" {i}")));
    last.chain(first).chain(one).collect()
}

/// Sequences that are read in another order within blocks, or once for each block.
fn in_blocks(problem: &Problem) -> Vec<Change> {
    let seqlen = problem.shape.seqlen;
    let mut all = Vec::new();
    for read in sequences(problem) {
        for k in LENGTHS.into_iter().chain([2]).filter(|k| *k < seqlen) {
            let what = format!("is that of the first position of each block of {k} for all of it");
            all.push(read.at("held-in-blocks", &what, Map::Floor(k)));
            let what = format!("is read from the last position to the first within each block of {k}");
            all.push(read.at("reversed-in-blocks", &what, Map::ReversedIn(k)));
        }
        for k in (2..seqlen).filter(|k| seqlen.is_multiple_of(*k)) {
            let what = format!("is read as a grid of {} rows, {k} columns one after the other", seqlen / k);
            all.push(read.at("columns-first", &what, Map::Columns(seqlen / k)));
        }
    }
    for k in LENGTHS.into_iter().chain([2]).filter(|k| *k < seqlen) {
        let what = format!("Δ is the mean of each block of {k} positions");
        all.push(Change::new(Part::Step, "delta-mean-of-blocks", what, move |v: &mut Variant| {
            v.step_sizes.iter_mut().for_each(|step| step.mean_of = Some(k));
        }));
    }
    let what = "the sequence is taken for a circle, as by a convolution of its own length: what its end leaves is at its beginning";
    all.push(Change::new(Part::Other, "circular", what, |v: &mut Variant| v.initial = Initial::Circular));
    all
}

/// φ-functions that are taken for what they are far from 0.
pub fn asymptotes(form: Form) -> Vec<Change> {
    let phis: Vec<usize> =
        (1..4).filter(|k| form.formula().now().iter().any(|term| term.of == Function::Phi(*k))).collect();
    let each = phis.iter().filter(|_| phis.len() > 1).map(|k| Some(*k));
    let of = (!phis.is_empty()).then_some(None).into_iter().chain(each);
    let mut all = Vec::new();
    for of_phi in of {
        let name = of_phi.map_or("each φₖ".to_owned(), |k| format!("φ{}", ["₀", "₁", "₂", "₃"][k]));
        for (first, text) in [(false, "what it is without exp(z)"), (true, "−1/((k − 1)! z)")] {
            let what = format!("{name} is taken for {text}");
            let asymptote = Some(Asymptote { of_phi, first });
            all.push(Change::new(Part::BBar, "phi-asymptote", what, move |v: &mut Variant| {
                v.asymptote = asymptote;
            }));
        }
    }
    all
}

/// Sequences that lag, by up to so many positions; what is out by one or two is tried with the others.
fn lags(problem: &Problem, most: usize) -> Vec<Change> {
    let mut all = Vec::new();
    for read in sequences(problem) {
        for by in 1..=most.min(problem.shape.seqlen - 1) as isize {
            for (by, sign) in [(-by, "−"), (by, "+")] {
                let name = if by < 0 { "late" } else { "early" };
                let what = format!("of position l is that of l {sign} {}", by.abs());
                all.push(read.at(name, &format!("{what}, 0 beyond the end"), Map::Shifted(by)));
                all.push(read.at(name, &format!("{what}, around the end"), Map::Rolled(by)));
                if by.unsigned_abs() <= FEW {
                    all.push(read.at(name, &format!("{what}, the last one beyond the end"), Map::Held(by)));
                }
            }
        }
    }
    all
}

/// A scan that starts from what that of the item of the batch before has ended with.
pub fn starts_of_batch(problem: &Problem) -> Option<Change> {
    starts(problem).into_iter().nth(1).filter(|_| problem.shape.batch > 1)
}

/// A scan that starts from what another one has ended with. Beside something else it fits by chance.
fn starts(problem: &Problem) -> Vec<Change> {
    let shape = problem.shape;
    let in_a_row = shape.batch * shape.dim;
    let all = [
        (Before::Itself, 2, "each scan", "a run before, of the same inputs,"),
        (Before::Batch, shape.batch, "each item of the batch", "the item before"),
        (
            Before::BatchOrChannel,
            in_a_row,
            "each channel",
            "the channel before, of the item before for the first",
        ),
        (Before::Channel, shape.dim, "each channel", "the channel before"),
        (Before::State, shape.dstate, "each state", "the state before"),
    ];
    let shows = all.into_iter().filter(|(_, count, ..)| (2..=IN_A_ROW).contains(count));
    let change = |(before, _, of, from): (Before, usize, &str, &str)| {
        let what = format!("the state is not set to 0: {of} starts from what {from} has ended with");
        Change::new(Part::Other, "state-not-reset", what, move |v: &mut Variant| {
            v.initial = Initial::EndOf(before);
        })
    };
    shows.map(change).collect()
}

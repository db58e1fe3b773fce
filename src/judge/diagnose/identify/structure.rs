//! Mistakes of structure that have a number of their own: how long a chunk is, by how much something lags, from where on it is
//! left out. Each is proposed for every number that it may have; the looks refute nearly all of them at once.

use super::changes::{Change, Part};
use super::{complex, finder, guards, scans};
use crate::formula::{Form, Function, Transition};
use crate::judge::faults::around::{
    AUse, Asymptote, AtChunks, Before, Carry, Chunks, Decay, Finish, Flips, InBlock, Initial, Input,
    LastBlock, Map, Order, Pairs, Place, Steps, UUse,
};
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
struct Read {
    name: &'static str,
    written: &'static str,
    inputs: &'static [Input],
    of_scan: bool,
}

/// Sequences, each on its own.
fn sequences(problem: &Problem) -> Vec<Read> {
    let variable = |operand| operand == Operand::Variable;
    let (b, c) = (variable(problem.b_operand), variable(problem.c_operand));
    let read = |name, written, inputs| Read { name, written, inputs, of_scan: false };
    let mut all = Vec::new();
    all.extend(b.then(|| read("b", "B", &[Input::B])));
    all.extend(c.then(|| read("c", "C", &[Input::C])));
    all.push(Read { of_scan: true, ..read("u", "u of the scan", &[Input::U]) });
    all.push(read("delta", "Δ", &[Input::Delta]));
    all.extend(problem.z.as_ref().map(|_| read("z", "z", &[Input::Z])));
    all.extend(problem.d.as_ref().map(|_| read("u-everywhere", "u", &[Input::U])));
    all.extend((b && c).then(|| read("b-and-c", "B and C", &[Input::B, Input::C])));
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
    fn at(&self, name: &str, what: &str, map: Map) -> Change {
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
    all.extend(pairs(problem));
    all.extend(flipped_in_part(problem));
    all.extend(left_out(problem));
    all.extend(lags(problem, LAG));
    all.extend(masked(problem));
    all.extend(guards::all(form, problem.weights));
    all.extend(row_strides(problem));
    all.extend(starts(problem));
    all.extend(in_blocks(problem));
    all.extend(LENGTHS.iter().flat_map(|length| in_last_block(problem, *length)));
    all.extend(LENGTHS.iter().flat_map(|length| scans::chunked_in_one_direction(form, *length)));
    all
}

/// What the whole output goes through at last; `most` is the largest modulus that was recorded.
pub fn finishes(most: f64) -> Vec<Change> {
    let functions = [
        ("clipped", format!("the output is clipped to [−{most}, {most}]"), Finish::Clipped(most)),
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
            let what = format!("is missing at the first {k} positions");
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
    all.extend(orders(problem));
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
    all.extend(pairs(problem));
    all.extend(flipped_in_part(problem));
    all.extend(left_out(problem));
    all.extend(lags(problem, FEW));
    all.extend(guards::few(form));
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
    // Skip and gate come after both.
    let is_of_scan = |change: &&Change| {
        let after = matches!(change.part, Part::Epilogue | Part::LastState | Part::Formula);
        !after && !change.is_statement
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

/// Inputs whose axes are taken to lie in memory in another order.
fn orders(problem: &Problem) -> Vec<Change> {
    let shape = problem.shape;
    let variable = |operand| operand == Operand::Variable;
    let (b, c) = (variable(problem.b_operand), variable(problem.c_operand));
    let operand = ["batch", "groups", "dstate", "seqlen"];
    let sequence = ["batch", "dim", "", "seqlen"];
    let (of_operand, of_sequence) =
        ([shape.batch, shape.groups, shape.dstate, shape.seqlen], [shape.batch, shape.dim, 1, shape.seqlen]);
    let inputs: [(&str, &str, &'static [Input], bool, bool); 6] = [
        ("u", "u", &[Input::U], true, false),
        ("delta", "delta", &[Input::Delta], true, false),
        ("z", "z", &[Input::Z], problem.z.is_some(), false),
        ("b", "B", &[Input::B], b, true),
        ("c", "C", &[Input::C], c, true),
        ("b-and-c", "each of B and C", &[Input::B, Input::C], b && c, true),
    ];
    let mut all = Vec::new();
    for (name, written, inputs, _, is_operand) in inputs.into_iter().filter(|(.., has, _)| *has) {
        let (axes, sizes) = if is_operand { (operand, of_operand) } else { (sequence, of_sequence) };
        let shows = |order: &Order| -> Vec<u8> {
            order.iter().copied().filter(|axis| sizes[usize::from(*axis)] > 1).collect()
        };
        let mut known = vec![shows(&Place::RIGHT.order)];
        // What is read along the wrong one of its last two axes is named otherwise, but for both of B and C.
        if inputs.len() == 1 {
            known.push(shows(if is_operand { &[0, 1, 3, 2] } else { &[0, 3, 2, 1] }));
        }
        for order in permutations() {
            let shown = shows(&order);
            if known.contains(&shown) {
                continue;
            }
            known.push(shown);
            let list = |order: &Order| {
                let names = order.iter().map(|axis| axes[usize::from(*axis)]).filter(|name| !name.is_empty());
                names.collect::<Vec<_>>().join(", ")
            };
            let what = format!(
                "the memory of {written}, ({}), is read as ({})",
                list(&Place::RIGHT.order),
                list(&order)
            );
            let change = move |v: &mut Variant| {
                inputs.iter().for_each(|&input| v.places[input as usize].order = order);
            };
            all.push(Change::new(
                Part::Place(inputs[0] as usize),
                format!("{name}-axes-exchanged"),
                what,
                change,
            ));
        }
    }
    all
}

/// Of four axes; those that exchange two come first.
fn permutations() -> Vec<Order> {
    let mut all: Vec<Order> = Vec::new();
    for code in 0..256u32 {
        let order = [0, 2, 4, 6].map(|shift| (code >> shift & 3) as u8);
        if (0..4).all(|axis| order.contains(&axis)) {
            all.push(order);
        }
    }
    all.sort_by_key(|order| (0..4u8).filter(|&axis| order[usize::from(axis)] != axis).count());
    all
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

/// Sequences in the last block of so many positions, where that is not full.
pub fn in_last_block(problem: &Problem, length: usize) -> Vec<Change> {
    let seqlen = problem.shape.seqlen;
    if seqlen < length || seqlen.is_multiple_of(length) {
        return Vec::new();
    }
    let ways = [
        ("stale", "is that of the block before", InBlock::By(-(length as isize))),
        ("held", "is that of the last position before", InBlock::Held),
        ("missing", "is missing", InBlock::Nothing),
    ];
    let mut all = Vec::new();
    for read in sequences(problem) {
        for (name, is, read_there) in ways {
            let what = format!("{is} in the last block of {length}, which is not full");
            let map = Map::InLastBlock(LastBlock { length, read: read_there });
            all.push(read.at(&format!("{name}-in-last-block"), &what, map));
        }
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

/// Complex numbers whose parts lie otherwise in memory.
fn pairs(problem: &Problem) -> Vec<Change> {
    if problem.weights == Weights::Real {
        return Vec::new();
    }
    let layouts = [
        (
            Pairs::Halves,
            "halves",
            "is read as halves: along its last axis all real parts, then all imaginary parts",
        ),
        (Pairs::Planes, "planes", "is read as two planes: all real parts, then all imaginary parts"),
        (Pairs::Exchanged, "parts-exchanged", "is read with real and imaginary parts in each other's place"),
    ];
    let of: [(&str, &str, &'static [Input]); 5] = [
        ("c", "C", &[Input::C]),
        ("b", "B", &[Input::B]),
        ("a", "A", &[Input::A]),
        ("b-and-c", "each of B and C", &[Input::B, Input::C]),
        ("a-b-and-c", "each of A, B and C", &[Input::A, Input::B, Input::C]),
    ];
    let mut all = Vec::new();
    for (layout, short, what) in layouts {
        for (name, written, inputs) in of {
            all.push(Change::new(
                Part::Place(inputs[0] as usize),
                format!("{name}-as-{short}"),
                format!("{written} {what}"),
                move |v: &mut Variant| {
                    inputs.iter().for_each(|&input| v.places[input as usize].pairs = layout);
                },
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

/// Inputs whose rows are taken to begin in memory at multiples of another number than their length.
fn row_strides(problem: &Problem) -> Vec<Change> {
    let shape = problem.shape;
    let constant = |operand| operand == Operand::Constant;
    let (b, c) = (constant(problem.b_operand), constant(problem.c_operand));
    let sequences = shape.batch * shape.dim;
    let of_operand = |is_constant: bool| match is_constant {
        true => (true, shape.dstate, shape.dim),
        false => (false, shape.seqlen, shape.batch * shape.groups * shape.dstate),
    };
    let inputs = [
        ("a", "A", Input::A, (true, shape.dstate, shape.dim)),
        ("b", "B", Input::B, of_operand(b)),
        ("c", "C", Input::C, of_operand(c)),
        ("u", "u", Input::U, (false, shape.seqlen, sequences)),
        ("delta", "delta", Input::Delta, (false, shape.seqlen, sequences)),
        ("z", "z", Input::Z, (false, shape.seqlen, if problem.z.is_some() { sequences } else { 0 })),
    ];
    let mut all = Vec::new();
    for (name, written, input, (is_constant, length, rows)) in inputs {
        let mut strides: Vec<usize> =
            [8, 16, 32, 64, 128].map(|multiple| length.next_multiple_of(multiple)).into();
        strides.extend([8, 16, 32, 64, 128].map(|multiple| length / multiple * multiple));
        strides.extend([length.saturating_sub(1), length + 1, shape.dim, shape.seqlen, shape.dstate]);
        if is_constant {
            strides.extend(1..2 * length);
        }
        // Further apart all rows but the first would be beyond the end.
        strides.retain(|stride| (1..rows * length).contains(stride) && *stride != length && rows > 1);
        strides.sort_unstable();
        strides.dedup();
        for stride in strides {
            let what =
                format!("rows of {written} are read {stride} numbers apart in memory in place of {length}");
            all.push(Change::new(
                Part::Place(input as usize),
                format!("{name}-row-stride"),
                what,
                move |v: &mut Variant| {
                    v.places[input as usize].row_stride = Some(stride);
                },
            ));
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

/// What may happen at the chunks of this length, beside [`super::scans::chunked`].
pub fn at_chunks(problem: &Problem, length: usize) -> Vec<Change> {
    let mut all = decayed(length);
    for read in sequences(problem) {
        let ways = [
            (0, Some(-1), "first", "is that of the position before"),
            (0, Some(1), "first", "is that of the position after"),
            (0, Some(-(length as isize)), "first", "is that of the chunk before"),
            (0, None, "first", "is missing"),
            (length - 1, Some(1), "last", "is that of the position after"),
            (length - 1, Some(-1), "last", "is that of the position before"),
            (length - 1, None, "last", "is missing"),
        ];
        let what = format!(
            "of position l is that of l % {length}: where it is read from does not advance from chunk to chunk"
        );
        all.push(read.at("not-advancing", &what, Map::Modulo(length)));
        for (at, by, place, is) in ways {
            let name = if by.is_some() { "stale-at-chunks" } else { "missing-at-chunks" };
            let what = format!("{is} at the {place} position of each chunk of {length}");
            all.push(read.at(name, &what, Map::Chunked(AtChunks { length, at, by })));
        }
    }
    all
}

/// A carried state that has decayed by other steps than it should have.
fn decayed(length: usize) -> Vec<Change> {
    let steps = [
        (
            Steps::Exclusive,
            "too-little",
            "one step too little: at position l by all steps of the chunk before l",
        ),
        (Steps::WithoutFirst, "too-little", "one step too little: not by the chunk's first step"),
        (Steps::OneMore, "too-much", "one step too much: at position l by that of l + 1, too"),
        (Steps::OneBefore, "too-much", "one step too much: by the last step of the chunk before, too"),
        (Steps::FirstTwice, "too-much", "one step too much: by the chunk's first step twice"),
        (Steps::Nothing, "too-little", "by nothing at any position"),
        (Steps::OwnAlone, "too-little", "too little: at position l by the step of l alone"),
    ];
    let mut all = Vec::new();
    for (steps, name, what) in steps {
        for (passed_right, last_right, passed) in [
            (true, true, "what is passed from chunk to chunk is right"),
            (true, false, "what is passed from chunk to chunk is right, last_state is not"),
            (false, false, "so it is passed on"),
        ] {
            // Passed on, these are the missing Ā of the first position, and Carry::WithoutDecay.
            if matches!(steps, Steps::WithoutFirst | Steps::Nothing) && !passed_right {
                continue;
            }
            let carry = Carry::Decayed(Decay { steps, passed_right, last_right });
            all.push(Change::new(
                Part::Carry,
                format!("chunk-carry-decayed-{name}"),
                format!("the state carried into a chunk of {length} has decayed {what}; {passed}"),
                move |v: &mut Variant| v.chunks = Some(Chunks::new(length, carry)),
            ));
        }
    }
    all
}

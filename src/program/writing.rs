//! Other ways of writing what a form specifies, and other forms: slips of an implementation are small edits of the way in which it is
//! written.

use super::build::{Parts, read_out};
use super::graph::{Axis, Borders, Function, Graph, Id, Index, Input, Op, Scan};
use super::mask::{Condition, Place, Set};
use super::{Program, Symbol};
use crate::formula::{Form, Textbook};
use crate::problem::Problem;

/// Positions that one thread scans by itself, at most.
const MOST_OF_A_THREAD: usize = 64;

/// A way of writing a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// As spec.md has it.
    Specified,
    /// Ā, B̄ or both of another form; none for the specified one.
    Other { a_bar: Option<Form>, b_bar: Option<Form> },
    /// B̄ by powers of A⁻¹ in the place of φ-functions (spec.md §2, the table's fourth column).
    Inverses,
    /// The scan that runs against the sequence, or of a form that has none the one along it, as one over flipped inputs whose readout is
    /// flipped back, with some of the flips.
    FlippedInPart(Flips),
    /// A scan in chunks of so many positions: what begins in a chunk by itself, and what is carried into it, decayed to each position.
    Chunked(u32),
    /// A scan by running sums of inputs that are divided by the product of the decays so far, or multiplied by e to the sum of
    /// the exponents, negated.
    RunningSums { divided: bool },
    /// A scan by running sums of inputs times what is left of them at the end, S_l = exp Σ_{j>l} Δ_j A, which are divided by that.
    SumsFromEnd,
    /// An input of which some factors are multiplied first.
    Grouped(Group),
    /// A scan in blocks by threads that shuffle, with a slip in its loop.
    Shuffled(Shuffled),
    /// The polynomials of rk4 by its stages.
    Stages,
}

/// A scan in the manner of Hillis and Steele: each thread of a block scans so many positions, and in each level takes what the thread 1, 2,
/// 4, … before has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shuffled {
    pub threads: u32,
    pub positions: u32,
    pub slip: Level,
}

/// A slip in the loop over levels, which is one and the same code for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The first thread that has one so far before it takes nothing: what the first of all has is lost.
    FirstIdle,
    /// Threads that have none so far before take their own once more, as a shuffle hands it to them.
    OwnTwice,
    /// The last level is not there.
    LastMissing,
    /// A decay by the product that is already updated, of the state that is taken.
    DecayFirst,
}

impl Shuffled {
    /// Those that may go wrong at this position first, which the first thread that starts from a wrong state has.
    pub fn beginning_at(first: usize, seqlen: usize) -> Vec<Writing> {
        let mut all = Vec::new();
        for threads in [32, 64, 128] {
            let of_thread = [
                (Level::FirstIdle, 2),
                (Level::DecayFirst, 2),
                (Level::OwnTwice, 1),
                (Level::LastMissing, threads / 2 + 1),
            ];
            for (slip, thread) in of_thread {
                let positions = first / thread;
                let fits = first == positions * thread && (1..=MOST_OF_A_THREAD).contains(&positions);
                // A longer block than the sequence is like any other.
                if fits && (threads == 32 || threads * positions < seqlen) {
                    let (threads, positions) = (threads as u32, positions as u32);
                    all.push(Writing::Shuffled(Shuffled { threads, positions, slip }));
                }
            }
        }
        all
    }
}

/// Factors of the input that a kernel multiplies first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    BBar,
    BU,
    DeltaU,
    DeltaB,
}

impl Group {
    pub const ALL: [Group; 4] = [Group::BBar, Group::BU, Group::DeltaU, Group::DeltaB];
}

/// Which of a scan's inputs are flipped along the sequence, and whether its readout is flipped back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flips {
    pub u: bool,
    pub delta: bool,
    pub b: bool,
    pub c: bool,
    pub readout: bool,
}

impl Flips {
    fn all() -> impl Iterator<Item = Flips> {
        (0..32u8).map(|bits| {
            let is = |bit: u8| bits >> bit & 1 == 1;
            Flips { u: is(0), delta: is(1), b: is(2), c: is(3), readout: is(4) }
        })
    }

    /// Each with its name.
    pub fn named(self) -> [(&'static str, bool); 5] {
        [("u", self.u), ("Δ", self.delta), ("B", self.b), ("C", self.c), ("the readout", self.readout)]
    }

    fn count(self) -> usize {
        self.named().into_iter().filter(|(_, is_flipped)| *is_flipped).count()
    }
}

impl Writing {
    /// The program written like this; none where that is no other way.
    pub fn program(self, form: Form, problem: &Problem, graph: &mut Graph) -> Option<Program> {
        let specified = Program::specified(form, problem, graph);
        match self {
            Writing::Specified => Some(specified),
            Writing::Other { a_bar, b_bar } => {
                let [a_bar, b_bar] = [a_bar, b_bar].map(|other| other.unwrap_or(form));
                let other = Program::of(Parts { a_bar, b_bar }, problem, graph);
                (other != specified).then_some(other)
            }
            // The product of decays is a scan of its own in these, and no matrix.
            Writing::Chunked(_)
            | Writing::RunningSums { .. }
            | Writing::SumsFromEnd
            | Writing::Shuffled(_)
                if problem.is_dense() =>
            {
                None
            }
            Writing::Inverses => by_inverses(&specified, graph).filter(|other| *other != specified),
            Writing::FlippedInPart(flips) => {
                flipped(&specified, flips, problem, graph).filter(|other| *other != specified)
            }
            Writing::Chunked(length) => chunked(&specified, length, graph),
            Writing::RunningSums { divided } => running_sums(&specified, divided, graph),
            Writing::SumsFromEnd => sums_from_end(&specified, graph),
            Writing::Grouped(group) => grouped(&specified, group, graph),
            Writing::Shuffled(shuffled) => self::shuffled(&specified, shuffled, graph),
            Writing::Stages => staged(&specified, form, graph),
        }
    }

    /// Whether it computes something else than what is specified.
    pub fn is_a_mistake(self) -> bool {
        matches!(self, Writing::Other { .. } | Writing::FlippedInPart(_) | Writing::Shuffled(_))
    }

    /// Whether it is right up to where f32's range ends.
    pub fn leaves_the_range(self) -> bool {
        matches!(self, Writing::RunningSums { .. } | Writing::SumsFromEnd)
    }

    /// Whether what is computed at one position is read at another far away.
    pub fn reads_far(self) -> bool {
        matches!(self, Writing::FlippedInPart(_) | Writing::Shuffled(_) | Writing::SumsFromEnd)
    }

    /// Bits that it takes to say it.
    pub fn cost(self) -> f64 {
        match self {
            Writing::Specified => 0.0,
            Writing::Other { a_bar: Some(_), b_bar: Some(_) } => 4.0,
            Writing::Other { .. } => 5.0,
            Writing::Inverses | Writing::Stages => 1.0,
            // The fewer flips are made, or forgotten, the likelier.
            Writing::FlippedInPart(flips) => 5.0 + 0.25 * flips.count().min(5 - flips.count()) as f64,
            Writing::Chunked(_) => 4.0,
            Writing::RunningSums { .. } | Writing::SumsFromEnd => 2.0,
            Writing::Grouped(_) => 0.5,
            Writing::Shuffled(_) => 6.0,
        }
    }

    /// Forms whose parts may stand in the place of a form's own.
    pub fn others(form: Form) -> Vec<Writing> {
        let mut all = Vec::new();
        for other in Form::all().filter(|other| *other != form).map(Some) {
            all.push(Writing::Other { a_bar: other, b_bar: other });
            all.push(Writing::Other { a_bar: None, b_bar: other });
            all.push(Writing::Other { a_bar: other, b_bar: None });
        }
        // Of one scan all flips together are the other direction.
        let is_part = |flips: &Flips| form.is_bidirectional() || flips.count() < 5;
        all.extend(Flips::all().filter(is_part).map(Writing::FlippedInPart));
        all
    }
}

/// φₖ(z) of a product with Δᵏ becomes A⁻ᵏ (eᶻ − Σ_{i<k} zⁱ/i!).
fn by_inverses(program: &Program, graph: &mut Graph) -> Option<Program> {
    let step = program.find(Symbol::StepSize)?;
    let a = graph.input(Input::A);
    let exponent = graph.product([step, a]);
    let inverse = graph.apply(Function::Reciprocal, a);
    let mut nodes = program.nodes();
    for id in graph.reached(&nodes) {
        let Op::Product(mut factors) = graph.op(id).clone() else { continue };
        let phi = factors.iter().find_map(|factor| match graph.op(*factor) {
            Op::Apply(Function::Phi(k), _) if *k > 0 => Some((*factor, usize::from(*k))),
            _ => None,
        });
        let Some((phi, k)) = phi else { continue };
        if factors.iter().filter(|factor| **factor == step).count() != k {
            continue;
        }
        factors.retain(|factor| *factor != step && *factor != phi);
        let mut terms = vec![graph.apply(Function::Exp, exponent)];
        let mut factorial = 1.0;
        for i in 0..k {
            factorial *= (i as f64).max(1.0);
            let number = graph.number(-1.0 / factorial);
            let powers = [vec![number], vec![exponent; i]].concat();
            terms.push(graph.product(powers));
        }
        let rest = graph.sum(terms);
        let written = graph.product([factors, vec![inverse; k], vec![rest]].concat());
        nodes = graph.replaced(&nodes, id, written);
    }
    Some(program.of_nodes(&nodes))
}

/// A scan over flipped inputs.
fn flipped(program: &Program, flips: Flips, problem: &Problem, graph: &mut Graph) -> Option<Program> {
    let against = program.find(Symbol::ReversedState);
    let state = against.or_else(|| program.find(Symbol::State))?;
    let Op::Scan(scan) = *graph.op(state) else { return None };
    let flip = |graph: &mut Graph, of| graph.add(Op::At { of, axis: Axis::Position, index: Index::Reversed });
    let (mut parts, c) = (vec![scan.decay, scan.drive], graph.input(Input::C));
    for (input, is_flipped) in [(Input::U, flips.u), (Input::Delta, flips.delta), (Input::B, flips.b)] {
        let of = graph.input(input);
        if is_flipped && graph.extent(of).position {
            let flipped = flip(graph, of);
            parts = graph.replaced(&parts, of, flipped);
        }
    }
    let exclusive = problem.reads_before();
    let along =
        |exclusive| Op::Scan(Scan { decay: parts[0], drive: parts[1], reversed: false, exclusive, ..scan });
    let (known, other) = (graph.add(Op::Scan(Scan { exclusive, ..scan })), graph.add(along(exclusive)));
    let readout = read_out(problem, known, graph);
    let mut read = read_out(problem, other, graph);
    if flips.c && graph.extent(c).position {
        let flipped = flip(graph, c);
        read = graph.replaced(&[read], c, flipped)[0];
    }
    if flips.readout {
        read = flip(graph, read);
    }
    let nodes = graph.replaced(&program.nodes(), readout, read);
    let written = program.of_nodes(&nodes);
    let last_state = match against {
        Some(_) => program.last_state,
        None => {
            let last = graph.add(along(false));
            graph.add(Op::Last(last))
        }
    };
    Some(Program { last_state, ..written })
}

/// B̄/B = Δ/6 (1 + 2κ₂ + 2κ₃ + κ₄) with κᵢ = kᵢ/k₁ of the stages k₁ = Ax + Bu, k₂ = A (x + Δ/2 k₁) + Bu, …, as u is held over a step: κ₂ = 1 + z/2,
/// κ₃ = 1 + κ₂z/2, κ₄ = 1 + κ₃z. Where Ā is rk4's, too, it is 1 + A B̄/B.
fn staged(program: &Program, form: Form, graph: &mut Graph) -> Option<Program> {
    let classical = Form::Textbook(Textbook::Rk4Classical);
    let (is_classical, is_of_rk4) = (form == classical, form.formula().b_bar == classical.formula().b_bar);
    let (state, step) = (program.find(Symbol::State)?, program.find(Symbol::StepSize)?);
    let Op::Scan(scan) = *graph.op(state) else { return None };
    let Op::Product(factors) = graph.op(scan.drive).clone() else { return None };
    let is_sum = |id: &Id| matches!(graph.op(*id), Op::Sum(_));
    let h = factors.into_iter().find(is_sum).filter(|_| is_of_rk4)?;
    let a = graph.input(Input::A);
    let (z, one, half, two) =
        (graph.product([step, a]), graph.number(1.0), graph.number(0.5), graph.number(2.0));
    let stage = |graph: &mut Graph, factors: Vec<Id>| {
        let moved = graph.product(factors);
        graph.sum([one, moved])
    };
    let second = stage(graph, vec![half, z]);
    let third = stage(graph, vec![half, z, second]);
    let fourth = stage(graph, vec![z, third]);
    let [twice, again] = [graph.product([two, second]), graph.product([two, third])];
    let all = graph.sum([one, twice, again, fourth]);
    let sixth = graph.number(1.0 / 6.0);
    let written = graph.product([sixth, step, all]);
    let mut nodes = graph.replaced(&program.nodes(), h, written);
    if is_classical {
        let moved = graph.product([a, written]);
        let decay = graph.sum([one, moved]);
        nodes = graph.replaced(&nodes, scan.decay, decay);
    }
    let mut program = program.of_nodes(&nodes);
    let stages = [(2, second), (3, third), (4, fourth)];
    program.named.extend(stages.map(|(number, id)| (Symbol::Stage(number), id)));
    Some(program)
}

/// x_l = x of this chunk alone + P_l c_{l−1}: P is the product of the decays since the chunk's start, that of l by itself, and c what
/// the chunks before l's have ended with.
fn chunked(program: &Program, length: u32, graph: &mut Graph) -> Option<Program> {
    let state = program.find(Symbol::State)?;
    let Op::Scan(scan) = *graph.op(state) else { return None };
    let (zero, one) = (graph.number(0.0), graph.number(1.0));
    let at = |set| Condition::At(Place::positions(set));
    let (starts, ends) = (at(Set::Multiples(length)), at(Set::BeforeMultiples(length)));
    // A chunk's own start and the decay of that; the product before a sequence begins, and at a chunk's start; borders of what is carried.
    let (start, of_start, nothing, first, borders) = match graph.is_packed() {
        false => (zero, zero, one, one, Borders::All),
        // A packed sequence's start is its chunk's own, and nothing is carried over its border.
        true => {
            let (minus, begins) = (graph.number(-1.0), graph.input(Input::Begins));
            let (opposite, decayed) = (graph.product([minus, begins]), graph.product([begins, scan.decay]));
            (scan.start, decayed, zero, graph.sum([one, opposite]), Borders::None)
        }
    };
    // For an edit that reads it: a decay that nobody asked for.
    if let Some(exponent) = program
        .find(Symbol::StepSize)
        .and_then(|step| graph.find(&Op::Product(vec![step, graph.find(&Op::Input(Input::A))?])))
    {
        graph.apply(Function::Exp, exponent);
    }
    let within = graph.add(Op::Choose { when: starts, yes: of_start, no: scan.decay });
    let local = graph.add(Op::Scan(Scan { decay: within, start, ..scan }));
    // The product of the decays before l, from 1 at the start of each chunk, the first one among them.
    let starts = at(Set::Every { of: length, rest: 0 });
    let before = graph.add(Op::At { of: scan.decay, axis: Axis::Position, index: Index::Shifted(-1) });
    let decay = graph.add(Op::Choose { when: starts, yes: zero, no: before });
    let drive = graph.add(Op::Choose { when: starts, yes: first, no: zero });
    let before = graph.add(Op::Scan(Scan { decay, drive, start: nothing, ..scan }));
    let product = graph.product([scan.decay, before]);
    let symbols = [(Symbol::ChunkState, local), (Symbol::ChunkDecay, product)];
    let decay = graph.add(Op::Choose { when: ends, yes: product, no: one });
    let drive = graph.add(Op::Choose { when: ends, yes: local, no: zero });
    let carried = graph.add(Op::Scan(Scan { decay, drive, exclusive: true, borders, ..scan }));
    let decayed = graph.product([product, carried]);
    let written = graph.sum([local, decayed]);
    // For edits that read them: what a chunk ends with, in the place of what it begins with, and what it has one position before its end.
    graph.add(Op::At { of: written, axis: Axis::Position, index: Index::BlockEnd(length) });
    let early =
        |graph: &mut Graph, of| graph.add(Op::At { of, axis: Axis::Position, index: Index::Shifted(-1) });
    let [product, local] = [product, local].map(|of| early(graph, of));
    let decay = graph.add(Op::Choose { when: ends, yes: product, no: one });
    let drive = graph.add(Op::Choose { when: ends, yes: local, no: zero });
    graph.add(Op::Scan(Scan { decay, drive, exclusive: true, borders, ..scan }));
    let nodes = graph.replaced(&program.nodes(), state, written);
    let mut program = program.of_nodes(&nodes);
    program.named.extend(symbols.into_iter().chain([(Symbol::ChunkCarry, carried)]));
    Some(program)
}

/// x_l = s_l + p_l (s of the threads before + p of them · what is carried into the block): s and p are a thread's own state and product.
fn shuffled(
    program: &Program,
    Shuffled { threads, positions, slip }: Shuffled,
    graph: &mut Graph,
) -> Option<Program> {
    let state = program.find(Symbol::State).filter(|_| program.find(Symbol::ReversedState).is_none())?;
    let Op::Scan(scan) = *graph.op(state) else { return None };
    if scan.exclusive || scan.reversed || graph.is_packed() {
        return None;
    }
    let block = threads * positions;
    let (zero, one) = (graph.number(0.0), graph.number(1.0));
    let at = |set| Condition::At(Place::positions(set));
    let starts = at(Set::Every { of: positions, rest: 0 });
    let decay = graph.add(Op::Choose { when: starts, yes: zero, no: scan.decay });
    let first = graph.add(Op::Choose { when: starts, yes: scan.decay, no: zero });
    let own_sum = graph.add(Op::Scan(Scan { decay, start: zero, ..scan }));
    let own_product = graph.add(Op::Scan(Scan { decay, drive: first, start: zero, ..scan }));
    let read = |graph: &mut Graph, (of, index, from), no| {
        let yes = graph.add(Op::At { of, axis: Axis::Position, index });
        graph.add(Op::Choose { when: at(Set::InBlocks { of: block, from }), yes, no })
    };
    let (mut sum, mut product) = (own_sum, own_product);
    let levels = threads.ilog2() - u32::from(slip == Level::LastMissing);
    for by in (0..levels).map(|level| positions << level) {
        let from = by + if slip == Level::FirstIdle { positions } else { 0 };
        let index = Index::Shifted(-(by as i32));
        let none = if slip == Level::OwnTwice { [sum, product] } else { [zero, one] };
        let taken =
            [(sum, none[0]), (product, none[1])].map(|(of, none)| read(graph, (of, index, from), none));
        let all = graph.product([product, taken[1]]);
        let decayed = graph.product([if slip == Level::DecayFirst { all } else { product }, taken[0]]);
        (sum, product) = (graph.sum([sum, decayed]), all);
    }
    let before = Index::BlockBefore(positions);
    let [of_sum, of_product] =
        [(sum, zero), (product, one)].map(|(of, none)| read(graph, (of, before, positions), none));
    let ends = at(Set::BeforeMultiples(block));
    let decay = graph.add(Op::Choose { when: ends, yes: product, no: one });
    let drive = graph.add(Op::Choose { when: ends, yes: sum, no: zero });
    let carried = graph.add(Op::Scan(Scan { decay, drive, exclusive: true, ..scan }));
    let decayed = graph.product([of_product, carried]);
    let entering = graph.sum([of_sum, decayed]);
    let decayed = graph.product([own_product, entering]);
    let written = graph.sum([own_sum, decayed]);
    let nodes = graph.replaced(&program.nodes(), state, written);
    Some(program.of_nodes(&nodes))
}

/// x_l = P_l (x_{−1} + Σ_{k≤l} drive_k / P_k) with P the product of the decays, e^S where these are exponentials; or with e^{−S} for 1/P.
fn running_sums(program: &Program, divided: bool, graph: &mut Graph) -> Option<Program> {
    let state = program.find(Symbol::State).filter(|_| program.find(Symbol::ReversedState).is_none())?;
    let Op::Scan(scan) = *graph.op(state) else { return None };
    let (zero, one) = (graph.number(0.0), graph.number(1.0));
    let sum = match *graph.op(scan.decay) {
        Op::Apply(Function::Exp, exponent) => Some(graph.add(Op::Scan(Scan::of(one, exponent, zero)))),
        _ => None,
    };
    let product = match sum {
        Some(sum) => graph.apply(Function::Exp, sum),
        None => graph.add(Op::Scan(Scan { drive: zero, start: one, ..scan })),
    };
    let (product, drive) = if divided {
        let product = graph.apply(Function::Single, product);
        (product, graph.add(Op::Quotient(scan.drive, product)))
    } else {
        let minus = graph.number(-1.0);
        let negated = graph.product([minus, sum?]);
        let weight = graph.apply(Function::Exp, negated);
        let weight = graph.apply(Function::Single, weight);
        (graph.apply(Function::Single, product), graph.product([scan.drive, weight]))
    };
    let running = graph.add(Op::Scan(Scan::of(one, drive, scan.start)));
    let written = graph.product([product, running]);
    let nodes = graph.replaced(&program.nodes(), state, written);
    let mut program = program.of_nodes(&nodes);
    program.named.extend(sum.map(|sum| (Symbol::ExponentSum, sum)));
    program.named.push((Symbol::ChunkDecay, product));
    Some(program)
}

/// x_l = Σ_{k≤l} drive_k S_k / S_l with S_l = e^Σ_{j>l} z_j, of a scan whose decays are exponentials and that starts from 0.
fn sums_from_end(program: &Program, graph: &mut Graph) -> Option<Program> {
    let state = program.find(Symbol::State).filter(|_| program.find(Symbol::ReversedState).is_none())?;
    let Op::Scan(scan) = *graph.op(state) else { return None };
    let (zero, one) = (graph.number(0.0), graph.number(1.0));
    let Op::Apply(Function::Exp, exponent) = *graph.op(scan.decay) else { return None };
    if scan.start != zero || graph.is_packed() {
        return None;
    }
    let behind = Scan { reversed: true, exclusive: true, ..Scan::of(one, exponent, zero) };
    let behind = graph.add(Op::Scan(behind));
    let left = graph.apply(Function::Exp, behind);
    let left = graph.apply(Function::Single, left);
    let drive = graph.product([scan.drive, left]);
    let running = graph.add(Op::Scan(Scan::of(one, drive, zero)));
    let written = graph.add(Op::Quotient(running, left));
    let nodes = graph.replaced(&program.nodes(), state, written);
    let mut program = program.of_nodes(&nodes);
    program.named.extend([(Symbol::ExponentSum, behind), (Symbol::ChunkDecay, left)]);
    Some(program)
}

/// A program in which a product of some factors of the input is a node of its own.
fn grouped(program: &Program, group: Group, graph: &mut Graph) -> Option<Program> {
    let Op::Scan(scan) = *graph.op(program.find(Symbol::State)?) else { return None };
    let Op::Product(factors) = graph.op(scan.drive).clone() else { return None };
    let (u, b, step) = (graph.input(Input::U), graph.input(Input::B), program.find(Symbol::StepSize)?);
    let is_first = |id: &Id| match group {
        Group::BBar => *id != u,
        Group::BU => [b, u].contains(id),
        Group::DeltaU => [step, u].contains(id),
        Group::DeltaB => [step, b].contains(id),
    };
    let (first, rest): (Vec<Id>, Vec<Id>) = factors.into_iter().partition(is_first);
    if first.len() < 2 || rest.is_empty() {
        return None;
    }
    let first = graph.product(first);
    let drive = graph.product([rest, vec![first]].concat());
    let nodes = graph.replaced(&program.nodes(), scan.drive, drive);
    let mut program = program.of_nodes(&nodes);
    program.named.push((Symbol::Group, first));
    Some(program)
}

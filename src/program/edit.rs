//! Edits of a program: one node, or one use of it, is another; everywhere or at some positions.

use super::graph::{Axis, Function, Graph, Id, Index, Input, Op, Real, Scan};
use super::mask::{Condition, Place, Set};
use super::print::CONSTANTS;
use super::{Program, Symbol};
use crate::formula::Fraction;
use crate::problem::{InputType, Problem, Weights};

/// What an edit is about: a value wherever it is used, or an operand of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    Value(Id),
    Use {
        user: Id,
        operand: usize,
    },
    /// A value in all that one node is made of, and not elsewhere: Δ, A or z of Ā alone, or of B̄ alone.
    Within {
        root: Id,
        of: Id,
    },
    /// Two inputs that are read alike, B and C.
    Both(Id, Id),
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patch {
    /// 0 of a term and 1 of a factor leave it out.
    Number(Real),
    Other(Id),
    /// Another function of the operand; none for that itself.
    Instead(Option<Function>),
    Applied(Function),
    At(Axis, Index),
    Rounded(InputType),
    Times(Id),
    Over(Id),
    Scaled(Real),
    /// The product of a node and a number is added.
    Plus(Id, Real),
    /// Real part at least, or at most, a number.
    AtLeast(Real),
    AtMost(Real),
    /// Real part between two numbers.
    Within(Real, Real),
    /// Imaginary part times a number.
    Turned(Real),
    /// The term of a sum that stands in this place among its operands is added to what the sum is an operand of, not to the sum.
    Outside {
        user: Id,
        term: usize,
    },
    /// A scan whose state is rounded as it is carried on.
    Stored(InputType),
    /// A fold that is computed in another way, kept in a narrow type or made of other channels.
    Kept(Id),
    /// A last state that goes on through so many padded positions, with delta and u of 0.
    Padded(u32),
    /// A scan in which what is carried has a factor as it arrives at some positions.
    Carried(Real),
    /// A last state that is that of the scan against the sequence, at its end.
    OtherDirection,
    /// A scan that starts from something else.
    Starting(Start),
    /// A product in which a function of one factor is taken of the others.
    FunctionMoved,
    /// A scan whose sequence is a ring: what is at its end goes on at its start, as in a convolution without zeros behind it.
    Circular,
    /// A scan that runs the other way.
    Reversed,
    /// A scan whose positions have the state before, or after, the other one.
    Exclusive,
    /// A scan whose operator has its operands exchanged: inputs are decayed by the steps before them and not by those after.
    Exchanged,
}

/// What a scan may start from by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The initial state, which the other direction starts from.
    Initial,
    /// The last state of the scan along the sequence.
    Last,
    /// What the item before has ended with.
    ItemBefore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edit {
    pub site: Site,
    pub patch: Patch,
    /// Where it holds; none for everywhere.
    pub when: Option<Condition>,
}

impl Edit {
    /// The node that is edited.
    pub fn target(&self, graph: &Graph) -> Id {
        match self.site {
            Site::Value(id) | Site::Both(id, _) | Site::Within { of: id, .. } => id,
            Site::Use { user, operand } => graph.op(user).operands()[operand],
        }
    }

    /// The program with it.
    pub fn apply(&self, graph: &mut Graph, program: &Program) -> Program {
        let target = self.target(graph);
        if let Patch::Outside { user, term } = self.patch {
            return outside(graph, program, (user, target), term);
        }
        let chosen = |graph: &mut Graph, target: Id| {
            let patched = self.patched(graph, target);
            let is_scan = matches!(self.patch, Patch::Stored(_) | Patch::Carried(_));
            match self.when {
                Some(when) if !is_scan => graph.add(Op::Choose { when, yes: patched, no: target }),
                _ => patched,
            }
        };
        let patched = chosen(graph, target);
        let nodes = match self.site {
            Site::Value(id) => graph.replaced(&program.nodes(), id, patched),
            Site::Both(_, other) => {
                let nodes = graph.replaced(&program.nodes(), target, patched);
                let of_other = chosen(graph, other);
                graph.replaced(&nodes, other, of_other)
            }
            Site::Within { root, of } => {
                let new = graph.replaced(&[root], of, patched)[0];
                graph.replaced(&program.nodes(), root, new)
            }
            Site::Use { user, operand } => {
                let op = graph.op(user).clone();
                let mut operands = op.operands();
                operands[operand] = patched;
                let new = graph.add(op.with(&operands));
                graph.replaced(&program.nodes(), user, new)
            }
        };
        program.of_nodes(&nodes)
    }

    /// The node in the place of its target.
    pub fn patched(&self, graph: &mut Graph, target: Id) -> Id {
        let of_scan = |graph: &Graph| match graph.op(target) {
            Op::Scan(scan) => Some(*scan),
            _ => None,
        };
        match self.patch {
            Patch::Number(number) => graph.add(Op::Number(number)),
            Patch::Other(other) | Patch::Kept(other) => other,
            Patch::Instead(function) => match (function, graph.op(target).operands()[..].first().copied()) {
                (Some(function), Some(of)) => graph.apply(function, of),
                (None, Some(of)) => of,
                (_, None) => target,
            },
            Patch::Applied(function) => graph.apply(function, target),
            Patch::At(axis, index) => graph.add(Op::At { of: target, axis, index }),
            Patch::Rounded(to) => graph.add(Op::Round(target, to)),
            Patch::Times(other) => graph.product([target, other]),
            Patch::Over(other) => {
                let inverse = graph.apply(Function::Reciprocal, other);
                graph.product([target, inverse])
            }
            Patch::Scaled(by) => {
                let number = graph.add(Op::Number(by));
                graph.product([number, target])
            }
            Patch::Plus(other, by) => {
                let number = graph.add(Op::Number(by));
                let term = graph.product([number, other]);
                graph.sum([target, term])
            }
            Patch::AtLeast(low) => {
                let high = Real::new(f64::INFINITY);
                graph.add(Op::Limit { of: target, low, high })
            }
            Patch::AtMost(high) => {
                let low = Real::new(f64::NEG_INFINITY);
                graph.add(Op::Limit { of: target, low, high })
            }
            Patch::Within(low, high) => graph.add(Op::Limit { of: target, low, high }),
            Patch::Turned(by) => graph.add(Op::Turned(target, by)),
            Patch::FunctionMoved => function_moved(graph, target).unwrap_or(target),
            Patch::Circular => match of_scan(graph) {
                Some(scan) => circular(graph, scan),
                None => target,
            },
            Patch::OtherDirection => match *graph.op(target) {
                Op::Last(of) => other_direction(graph, of).unwrap_or(target),
                _ => target,
            },
            Patch::Starting(start) => match of_scan(graph) {
                Some(scan) => starting(graph, scan, start),
                None => target,
            },
            Patch::Outside { .. } => target,
            Patch::Padded(count) => padded(graph, target, count).unwrap_or(target),
            Patch::Stored(to) => match of_scan(graph) {
                Some(scan) => {
                    let place = self.when.and_then(Condition::place);
                    let at = place.filter(|at| at.axis == Axis::Position).map(|at| at.set);
                    graph.add(Op::Scan(Scan { stored: Some((to, at)), ..scan }))
                }
                None => target,
            },
            Patch::Carried(factor) => match (of_scan(graph), self.when.and_then(Condition::place)) {
                (Some(scan), Some(at)) => {
                    graph.add(Op::Scan(Scan { carried: Some((factor, at.set)), ..scan }))
                }
                _ => target,
            },
            Patch::Reversed => match of_scan(graph) {
                Some(scan) => graph.add(Op::Scan(Scan { reversed: !scan.reversed, ..scan })),
                None => target,
            },
            Patch::Exclusive => match of_scan(graph) {
                Some(scan) => graph.add(Op::Scan(Scan { exclusive: !scan.exclusive, ..scan })),
                None => target,
            },
            Patch::Exchanged => match of_scan(graph) {
                Some(scan) => {
                    let (zero, one) = (graph.number(0.0), graph.number(1.0));
                    // Product of the decays before a position.
                    let before = Scan { drive: zero, start: one, exclusive: true, ..scan };
                    let before = graph.add(Op::Scan(before));
                    let drive = graph.product([scan.drive, before]);
                    graph.add(Op::Scan(Scan { decay: one, drive, ..scan }))
                }
                None => target,
            },
        }
    }

    /// Whether what is computed at one position is read at another far away.
    pub fn reads_far(&self, graph: &Graph) -> bool {
        let is_input = |id: Id| matches!(graph.op(id), Op::Input(_));
        let is_far = matches!(self.patch, Patch::At(Axis::Position, Index::Reversed | Index::At(_)));
        is_far && !is_input(self.target(graph))
            || matches!(self.patch, Patch::Reversed | Patch::Starting(_) | Patch::Circular)
    }

    /// Whether something is kept in a narrow type.
    pub fn rounds(&self) -> bool {
        matches!(self.patch, Patch::Rounded(_) | Patch::Stored(_) | Patch::Kept(_))
    }

    /// Whether its number was found in the data.
    pub fn has_number(&self) -> bool {
        match self.patch {
            Patch::Scaled(by) => by.value() != -1.0,
            Patch::Number(number) => ![0.0, 1.0].contains(&number.value()),
            Patch::Plus(_, by) => by.value().abs() != 1.0,
            Patch::Turned(_) | Patch::AtLeast(_) | Patch::AtMost(_) | Patch::Within(..) => true,
            _ => false,
        }
    }

    /// Whether it is an edit of these nodes, the first of a graph.
    pub fn is_of(&self, nodes: usize) -> bool {
        let site = match self.site {
            Site::Value(id) => id,
            Site::Use { user, .. } => user,
            Site::Within { root, of } => root.max(of),
            Site::Both(b, c) => b.max(c),
        };
        let patch = match self.patch {
            Patch::Other(id) | Patch::Kept(id) | Patch::Times(id) | Patch::Over(id) | Patch::Plus(id, _) => {
                Some(id)
            }
            Patch::Outside { user, .. } => Some(user),
            _ => None,
        };
        let others = [patch, self.when.and_then(Condition::of)].into_iter().flatten();
        site.index() < nodes && others.into_iter().all(|id| id.index() < nodes)
    }

    /// Whether it has a number that nobody would have typed.
    pub fn is_fitted(&self) -> bool {
        match self.patch {
            Patch::Scaled(by) | Patch::Plus(_, by) | Patch::Turned(by) | Patch::Number(by) => {
                bits(by.value()) >= NO_CHOICE
            }
            Patch::AtLeast(limit) | Patch::AtMost(limit) => bits(limit.value()) >= NO_CHOICE,
            Patch::Within(low, high) => bits(low.value()).max(bits(high.value())) >= NO_CHOICE,
            _ => false,
        }
    }

    /// How much it takes to say it, in bits: what is written by mistake more often takes fewer.
    pub fn cost(&self) -> f64 {
        let of_site = match self.site {
            Site::Value(_) => 0.0,
            Site::Use { .. } | Site::Both(..) | Site::Within { .. } => 1.0,
        };
        let of_patch = match self.patch {
            Patch::Number(number) if [0.0, 1.0].contains(&number.value()) => 3.0,
            Patch::Number(number) => 6.0 + bits(number.value()),
            Patch::Instead(None) => 3.0,
            // What everybody writes where a φ loses digits.
            Patch::Instead(Some(Function::Series(_, 1..=3))) => 2.75,
            Patch::Reversed | Patch::Exclusive => 3.75,
            // With the positions, which are said for less than those of other edits.
            Patch::Carried(factor) => 1.0 + bits(factor.value()),
            Patch::Exchanged => 4.0,
            Patch::Instead(Some(_)) => 4.5,
            Patch::At(_, Index::Shifted(by)) => 3.0 + f64::from(by.abs().min(4)),
            Patch::At(_, Index::Held(_) | Index::Rolled(_)) => 4.25,
            Patch::At(_, Index::BlockStart(_) | Index::BlockBefore(_) | Index::ReversedIn(_)) => 5.0,
            Patch::At(..) => 4.5,
            Patch::Outside { .. } => 4.0,
            Patch::Stored(_) => 6.0,
            Patch::Padded(_) => 8.0,
            Patch::AtLeast(limit) | Patch::AtMost(limit) => 5.0 + bits(limit.value()),
            Patch::Within(low, high) if low.value() == -high.value() => 6.0 + bits(high.value()),
            Patch::Within(low, high) => 6.0 + bits(low.value()) + bits(high.value()),
            Patch::Starting(_) | Patch::OtherDirection | Patch::FunctionMoved | Patch::Circular => 4.0,
            Patch::Turned(by) => 5.0 + bits(by.value()),
            Patch::Applied(Function::Conjugate | Function::RealPart | Function::ImaginaryPart) => 4.0,
            Patch::Applied(_) | Patch::Other(_) => 5.5,
            Patch::Rounded(_) | Patch::Kept(_) => 6.0,
            Patch::Times(_) | Patch::Over(_) => 6.5,
            Patch::Scaled(by) => 4.0 + bits(by.value()),
            Patch::Plus(_, by) => 9.0 + bits(by.value()),
        };
        let of_condition = match self.when {
            None => 0.0,
            Some(Condition::At(_)) => 5.0,
            Some(Condition::Below(_, limit) | Condition::Above(_, limit)) => 5.0 + bits(limit.value()),
        };
        of_site + of_patch + of_condition
    }
}

/// Bits of a number that somebody may have typed: few for small fractions and for few digits, many for any other.
fn bits(number: f64) -> f64 {
    match number {
        -1.0 => return 0.0,
        0.0 => return 1.0,
        _ if !number.is_finite() => return NO_CHOICE,
        _ => {}
    }
    if CONSTANTS.iter().any(|(constant, _)| (number.abs() / constant - 1.0).abs() < 1e-9) {
        return 5.0;
    }
    let is_whole = |number: f64| (number - number.round()).abs() < 1e-9 * number.abs().max(1.0);
    let fraction = (1..=24u32).find(|below| {
        let above = number * f64::from(*below);
        is_whole(above) && above.round() != 0.0 && above.abs() <= 64.0
    });
    let of_fraction = fraction.map(|below| 1.0 + f64::from(below).log2() + number.abs().max(1.0).log2());
    let digits = (0..6).find(|digits| {
        let scale = 10f64.powi(digits - number.abs().log10().floor() as i32);
        is_whole(number * scale)
    });
    let of_digits = digits.map(|digits| 2.0 + 3.3 * f64::from(digits));
    of_fraction.into_iter().chain(of_digits).fold(NO_CHOICE, f64::min)
}

/// Items back to which a state that is not reset is followed.
const ITEMS: usize = 4;
/// Bits of a number that nobody would have typed.
const NO_CHOICE: f64 = 20.0;

/// Values of a program that an edit may be about, each use by itself where there are several.
pub fn sites(graph: &Graph, program: &Program) -> Vec<Site> {
    let reached = graph.reached(&[program.out, program.last_state]);
    let mut users: Vec<Vec<Site>> = vec![Vec::new(); graph.len()];
    for &user in &reached {
        for (operand, of) in graph.op(user).operands().into_iter().enumerate() {
            users[of.index()].push(Site::Use { user, operand });
        }
    }
    let [b, c] =
        [Input::B, Input::C].map(|input| graph.find(&Op::Input(input)).filter(|id| reached.contains(id)));
    let mut sites: Vec<Site> = b.zip(c).map(|(b, c)| Site::Both(b, c)).into_iter().collect();
    if let Some(Op::Scan(scan)) = program.find(Symbol::State).map(|state| graph.op(state)) {
        let [of_decay, of_drive] = [scan.decay, scan.drive].map(|root| graph.reached(&[root]));
        for of in
            of_decay.into_iter().filter(|of| of_drive.contains(of) && !matches!(graph.op(*of), Op::Number(_)))
        {
            sites.extend([scan.decay, scan.drive].map(|root| Site::Within { root, of }));
        }
    }
    // What a scan takes from other scans, as chunks do, may be another one's alone.
    let scans = |within: &[Id]| -> Vec<Scan> {
        let of = |id: &Id| match graph.op(*id) {
            Op::Scan(scan) => Some(*scan),
            _ => None,
        };
        within.iter().filter_map(of).collect()
    };
    for outer in scans(&reached) {
        let roots = [outer.decay, outer.drive].into_iter();
        let inner =
            roots.flat_map(|root| scans(&graph.reached(&[root])).into_iter().map(move |scan| (root, scan)));
        sites.extend(
            inner.flat_map(|(root, scan)| [scan.decay, scan.drive].map(|of| Site::Within { root, of })),
        );
    }
    for &id in reached.iter().filter(|id| !matches!(graph.op(**id), Op::Number(_))) {
        sites.push(Site::Value(id));
        let uses = &users[id.index()];
        if uses.len() > 1 {
            sites.extend(uses);
        }
    }
    sites
}

/// The node that a site's replacement comes before: operands come before what uses them.
fn before(site: Site) -> Id {
    match site {
        Site::Value(id) | Site::Both(id, _) | Site::Within { of: id, .. } => id,
        Site::Use { user, .. } => user,
    }
}

/// The use that a site is, where it is one alone.
fn used_once(graph: &Graph, reached: &[Id], site: Site) -> Site {
    let Site::Value(id) = site else { return site };
    let mut uses = reached.iter().flat_map(|&user| {
        let operands = graph.op(user).operands().into_iter().enumerate();
        operands
            .filter(|(_, of)| *of == id)
            .map(move |(operand, _)| Site::Use { user, operand })
            .collect::<Vec<_>>()
    });
    match (uses.next(), uses.next()) {
        (Some(one), None) => one,
        _ => site,
    }
}

/// A program in which a term of a sum is added to what the sum is an operand of.
fn outside(graph: &mut Graph, program: &Program, (user, sum): (Id, Id), term: usize) -> Program {
    let mut terms = graph.op(sum).operands();
    let moved = terms.remove(term);
    let rest = graph.sum(terms);
    let op = graph.op(user).clone();
    let operands: Vec<Id> = op.operands().iter().map(|id| if *id == sum { rest } else { *id }).collect();
    let inner = graph.add(op.with(&operands));
    let new = graph.sum([inner, moved]);
    let nodes = graph.replaced(&program.nodes(), user, new);
    program.of_nodes(&nodes)
}

/// A product with the function of its last factor that is one taken of the others.
fn function_moved(graph: &mut Graph, product: Id) -> Option<Id> {
    let mut others = graph.op(product).operands();
    let at = others.iter().rposition(|factor| matches!(graph.op(*factor), Op::Apply(..)))?;
    let Op::Apply(function, argument) = *graph.op(others.remove(at)) else { return None };
    let rest = graph.product(others);
    let moved = graph.apply(function, rest);
    Some(graph.product([argument, moved]))
}

/// A scan around a ring: x_l (1 − P_{L−1}) + P_l x_{L−1}, where P_l is the product of the decays up to l. Inputs behind l reach it once
/// around the end, and those before it not twice.
fn circular(graph: &mut Graph, scan: Scan) -> Id {
    let (zero, one, minus) = (graph.number(0.0), graph.number(1.0), graph.number(-1.0));
    let state = graph.add(Op::Scan(scan));
    let product = graph.add(Op::Scan(Scan { drive: zero, start: one, exclusive: false, ..scan }));
    let (last, all) = (graph.add(Op::Last(state)), graph.add(Op::Last(product)));
    let around = graph.product([product, last]);
    let twice = graph.product([minus, all, state]);
    graph.sum([state, twice, around])
}

/// What a scan against the sequence ends with.
fn other_direction(graph: &mut Graph, state: Id) -> Option<Id> {
    let Op::Scan(scan) = *graph.op(state) else { return None };
    let against = graph.add(Op::Scan(Scan { reversed: !scan.reversed, exclusive: false, ..scan }));
    let first = graph.add(Op::At { of: against, axis: Axis::Position, index: Index::At(0) });
    Some(graph.add(Op::Last(first)))
}

/// What else a scan may start from.
fn starts(graph: &Graph, scan: Id, problem: &Problem) -> Vec<Start> {
    let is_against = matches!(graph.op(scan), Op::Scan(scan) if scan.reversed);
    let mut all = Vec::new();
    if is_against {
        all.push(Start::Last);
    }
    if is_against && problem.initial_state.is_some() {
        all.push(Start::Initial);
    }
    if problem.shape.batch > 1 {
        all.push(Start::ItemBefore);
    }
    all
}

/// A scan that starts from something else.
fn starting(graph: &mut Graph, scan: Scan, start: Start) -> Id {
    let last = |graph: &mut Graph, scan: Scan| {
        let of = graph.add(Op::Scan(Scan { exclusive: false, ..scan }));
        graph.add(Op::Last(of))
    };
    match start {
        Start::Initial => {
            let start = graph.input(Input::InitialState);
            graph.add(Op::Scan(Scan { start, ..scan }))
        }
        Start::Last => {
            let along = Scan { reversed: false, ..scan };
            let start = last(graph, along);
            graph.add(Op::Scan(Scan { start, ..scan }))
        }
        Start::ItemBefore => {
            // Each item adds to what those before have left.
            let mut whole = scan;
            for _ in 0..ITEMS {
                let of = last(graph, whole);
                let before = graph.add(Op::At { of, axis: Axis::Item, index: Index::Shifted(-1) });
                let start = graph.sum([scan.start, before]);
                whole = Scan { start, ..scan };
            }
            graph.add(Op::Scan(whole))
        }
    }
}

/// A last state after so many positions more, at which delta and u are 0.
fn padded(graph: &mut Graph, last: Id, count: u32) -> Option<Id> {
    let Op::Last(of) = *graph.op(last) else { return None };
    let decay = padded_decay(graph, of)?;
    Some(graph.product([vec![last], vec![decay; count as usize]].concat()))
}

/// Decay of a scan at a padded position.
pub fn padded_decay(graph: &mut Graph, state: Id) -> Option<Id> {
    let Op::Scan(scan) = *graph.op(state) else { return None };
    let (delta, zero) = (graph.input(Input::Delta), graph.number(0.0));
    Some(graph.replaced(&[scan.decay], delta, zero)[0])
}

/// Edits without a number that is found, at all sites.
pub fn plain(graph: &Graph, program: &Program, problem: &Problem) -> Vec<Edit> {
    let sites = sites(graph, program);
    let reached = graph.reached(&[program.out, program.last_state]);
    let mut edits = Vec::new();
    for site in sites {
        let mut add = |patch| edits.push(Edit { site, patch, when: None });
        let alone = Edit { site, patch: Patch::Number(Real::ZERO), when: None };
        let target = alone.target(graph);
        let (op, extent) = (graph.op(target), graph.extent(target));
        if let Site::Both(..) = site {
            indices(graph, target, problem).into_iter().for_each(|(axis, index)| add(Patch::At(axis, index)));
            continue;
        }
        let before = before(site);
        [0.0, 1.0].into_iter().for_each(|number| add(Patch::Number(Real::new(number))));
        for &other in reached.iter().filter(|other| **other < before && **other != target) {
            let is_number = matches!(graph.op(other), Op::Number(_));
            if !is_number && graph.extent(other) == extent {
                add(Patch::Other(other));
            }
            if !is_number && graph.extent(other).is_within(extent) {
                add(Patch::Times(other));
                add(Patch::Over(other));
                add(Patch::Plus(other, Real::new(1.0)));
                add(Patch::Plus(other, Real::new(-1.0)));
            }
        }
        add(Patch::Times(target));
        if let Op::Apply(function, _) = op {
            add(Patch::Instead(None));
            others(*function).into_iter().for_each(|other| add(Patch::Instead(Some(other))));
        }
        if matches!(op, Op::Limit { .. } | Op::Last(_)) {
            add(Patch::Instead(None));
        }
        if matches!(op, Op::Last(_)) {
            add(Patch::OtherDirection);
            add(Patch::At(Axis::State, Index::Transposed));
        }
        if let Op::Product(factors) = op
            && factors.iter().any(|factor| matches!(graph.op(*factor), Op::Apply(..)))
        {
            add(Patch::FunctionMoved);
        }
        if let (Op::Sum(terms), Site::Use { user, .. }) = (op, used_once(graph, &reached, site)) {
            (0..terms.len()).for_each(|term| add(Patch::Outside { user, term }));
        }
        if matches!(op, Op::Scan(_)) {
            [InputType::Bf16, InputType::F16].into_iter().for_each(|to| add(Patch::Stored(to)));
            [Patch::Reversed, Patch::Exclusive, Patch::Exchanged].into_iter().for_each(&mut add);
            add(Patch::Circular);
            starts(graph, target, problem).into_iter().for_each(|start| add(Patch::Starting(start)));
        }
        applied(graph, target, problem).into_iter().for_each(|function| add(Patch::Applied(function)));
        for (axis, index) in indices(graph, target, problem) {
            add(Patch::At(axis, index));
        }
        [InputType::Bf16, InputType::F16].into_iter().for_each(|to| add(Patch::Rounded(to)));
        add(Patch::Scaled(Real::new(-1.0)));
    }
    edits
}

/// Inputs that are read some blocks before, of a run that goes wrong at the start of one.
pub fn of_blocks(graph: &Graph, program: &Program, place: Place) -> Vec<Edit> {
    let (Axis::Position, Set::From(first) | Set::Multiples(first)) = (place.axis, place.set) else {
        return Vec::new();
    };
    let is_input = |site: &Site| matches!(site, Site::Value(id) | Site::Within { of: id, .. } if matches!(graph.op(*id), Op::Input(_)));
    let sites =
        sites(graph, program).into_iter().filter(|site| is_input(site) || matches!(site, Site::Use { .. }));
    let powers = (2..9).map(|k| 1u32 << k);
    let divisors =
        [1, 2, 3].into_iter().map(|by| first / by).chain(powers).filter(|k| *k > 2 && first % k == 0);
    let mut lengths: Vec<i32> = divisors.map(|k| k as i32).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let lengths = &lengths;
    let edits = sites.flat_map(|site| {
        lengths.iter().map(move |length| {
            let patch = Patch::At(Axis::Position, Index::Shifted(-length));
            Edit { site, patch, when: None }
        })
    });
    let is_sequence = |edit: &Edit| {
        let target = edit.target(graph);
        matches!(graph.op(target), Op::Input(_)) && graph.extent(target).position
    };
    edits.filter(is_sequence).collect()
}

/// Those of these edits that are about what a way of writing adds to the specified nodes, or about what its scan is made of.
pub fn of_writing(edits: Vec<Edit>, specified: usize, state: Option<Id>) -> Vec<Edit> {
    let is_new = |edit: &Edit| match edit.site {
        Site::Value(id) | Site::Both(id, _) | Site::Within { root: id, .. } => id.index() >= specified,
        Site::Use { user, .. } => user.index() >= specified || Some(user) == state,
    };
    edits.into_iter().filter(is_new).collect()
}

/// Sites at which a factor, or a multiple of another node, may be looked for.
pub fn with_number(graph: &Graph, program: &Program, problem: &Problem) -> Vec<Edit> {
    let reached = graph.reached(&[program.out, program.last_state]);
    let mut edits = Vec::new();
    for site in sites(graph, program) {
        if matches!(site, Site::Both(..)) {
            continue;
        }
        let mut add = |patch| edits.push(Edit { site, patch, when: None });
        add(Patch::Scaled(Real::new(1.0)));
        let edit = Edit { site, patch: Patch::Scaled(Real::new(1.0)), when: None };
        let (target, before) = (edit.target(graph), before(site));
        let extent = graph.extent(target);
        // A constant in the place of a coefficient.
        if matches!(graph.op(target), Op::Apply(..) | Op::Sum(_)) && extent.state {
            add(Patch::Number(Real::new(0.5)));
        }
        if problem.weights == Weights::Complex && extent.state {
            add(Patch::Turned(Real::new(1.0)));
        }
        if extent.position || extent.state {
            add(Patch::AtLeast(Real::new(f64::NEG_INFINITY)));
            add(Patch::AtMost(Real::new(f64::INFINITY)));
            add(Patch::Within(Real::new(f64::NEG_INFINITY), Real::new(f64::INFINITY)));
        }
        for &other in reached.iter().filter(|other| **other < before && **other != target) {
            if graph.extent(other).is_within(graph.extent(target)) {
                add(Patch::Plus(other, Real::ZERO));
            }
        }
    }
    edits
}

/// Functions that are written in the place of one.
fn others(of: Function) -> Vec<Function> {
    use Function::{
        Exp, Exp2, NaiveSoftplus, OnePlus, Phi, Relu, Resolvent, Series, Sigmoid, Softplus, Tanh,
    };
    match of {
        Exp => {
            let series = (3..7).map(|terms| Series(0, terms));
            let others = [Exp2, OnePlus, Phi(1), Resolvent(Fraction::HALF), Resolvent(Fraction::ONE)];
            others.into_iter().chain(series).collect()
        }
        Phi(k) => {
            let series = (1..5).map(|terms| Series(k, terms));
            let phis = (1..4).filter(|other| *other != k).map(Phi);
            phis.chain([Exp]).chain(series).collect()
        }
        Resolvent(alpha) => {
            let opposite = Fraction(-alpha.0, alpha.1);
            let others = [opposite, Fraction::ONE, Fraction::HALF].map(Resolvent).into_iter();
            others
                .filter(|other| *other != of)
                .chain((2..5).map(|terms| Function::Geometric(alpha, terms)))
                .collect()
        }
        Softplus => vec![NaiveSoftplus, Exp, Relu, Sigmoid],
        Sigmoid => vec![Tanh, Softplus, Relu],
        Function::Silu => vec![Sigmoid, Function::QuickGelu, Relu, Tanh, Softplus],
        Function::RealPart => vec![Function::ImaginaryPart, Function::Abs],
        _ => Vec::new(),
    }
}

/// Functions that may be applied once more to a node.
fn applied(graph: &Graph, target: Id, problem: &Problem) -> Vec<Function> {
    use Function::{
        Abs, Conjugate, Exp, ImaginaryPart, NegatedExp, PartsExchanged, RealPart, Relu, Sigmoid, Silu,
        Softplus, Tanh,
    };
    let extent = graph.extent(target);
    match graph.op(target) {
        Op::Input(Input::A) if problem.weights == Weights::Complex => {
            vec![Conjugate, RealPart, ImaginaryPart, Exp, NegatedExp, Abs]
        }
        Op::Input(Input::A) => vec![Exp, NegatedExp, Abs],
        _ if extent.state && problem.weights == Weights::Complex => {
            vec![Conjugate, RealPart, ImaginaryPart, Abs, PartsExchanged]
        }
        _ if extent.state => vec![Abs],
        _ if extent.position => vec![Softplus, Sigmoid, Silu, Tanh, Relu, Exp, Abs],
        _ => vec![Exp, Sigmoid],
    }
}

/// Other indices at which a node may be read.
fn indices(graph: &Graph, target: Id, problem: &Problem) -> Vec<(Axis, Index)> {
    let (extent, shape) = (graph.extent(target), problem.shape);
    let mut all = Vec::new();
    let shifted = |by: i32| [Index::Shifted(by), Index::Rolled(by)];
    let Op::Input(input) = graph.op(target) else {
        if extent.position {
            all.extend([-1, 1].map(|by| (Axis::Position, Index::Shifted(by))));
            all.extend([Index::Held(1), Index::Reversed].map(|index| (Axis::Position, index)));
        }
        return all;
    };
    let of_states = matches!(input, Input::InitialState | Input::LastStateGradient);
    let of_channels = of_states || matches!(input, Input::U | Input::Delta | Input::Z | Input::OutGradient);
    let of_groups = matches!(input, Input::B | Input::C) && extent.position;
    if extent.position && shape.seqlen > 1 {
        let others = [Index::Held(1), Index::Reversed, Index::At(0)];
        let all_shifted = [-1, 1, -2, 2].into_iter().flat_map(shifted);
        // A block that is read before the next one is there.
        let earlier = (3..9).map(|k| 1i32 << k).filter(|k| (*k as usize) < shape.seqlen);
        let all_shifted = all_shifted.chain(earlier.map(|by| Index::Shifted(-by)));
        let blocks = (1..9).map(|k| 1u32 << k).filter(|k| (*k as usize) < shape.seqlen);
        let blocks = blocks.flat_map(|k| [Index::BlockStart(k), Index::Modulo(k), Index::ReversedIn(k)]);
        all.extend(all_shifted.chain(others).chain(blocks).map(|index| (Axis::Position, index)));
    }
    let is_weight = matches!(input, Input::A | Input::D | Input::DeltaBias) || !of_channels && !of_groups;
    let last = match (of_channels, of_groups, is_weight) {
        _ if of_states => shape.dstate.min(shape.dim),
        (true, ..) => shape.seqlen.min(shape.dim),
        (_, true, _) => shape.seqlen.min(shape.dstate),
        _ => shape.dstate.min(shape.dim),
    };
    if last > 1 && !matches!(input, Input::D | Input::DeltaBias) {
        all.push((Axis::State, Index::Transposed));
    }
    if problem.weights == Weights::Complex && extent.state {
        all.push((Axis::State, Index::Halves));
    }
    let rows = || [Index::At(0), Index::Reversed].into_iter().chain([1, -1].into_iter().flat_map(shifted));
    if shape.batch > 1 && of_channels {
        all.push((Axis::Item, Index::Transposed));
    }
    if shape.batch > 1 && (of_channels || of_groups) {
        all.extend(rows().map(|index| (Axis::Item, index)));
    }
    if shape.dim > 1 && !of_groups {
        all.extend(rows().map(|index| (Axis::Channel, index)));
        let heads = [2, 4, 8].into_iter().filter(|k| (*k as usize) < shape.dim);
        all.extend(heads.map(|k| (Axis::Channel, Index::BlockStart(k))));
    }
    if shape.groups > 1 && of_groups {
        all.extend(
            [Index::At(0), Index::Modulo(shape.groups as u32), Index::Rolled(1)]
                .map(|index| (Axis::Group, index)),
        );
    }
    if shape.dstate > 1 && extent.state {
        all.extend(rows().map(|index| (Axis::State, index)));
    }
    all
}

//! Nodes that edits put in the place of others.

use super::Program;
use super::complex::Powers;
use super::edit::{Carry, Each, Start};
use super::graph::{Axis, Borders, Function, Graph, Id, Index, Input, Op, Real, Scan};
use super::mask::{Condition, Place, Set};

/// Items back to which a state that is not reset is followed.
const ITEMS: usize = 4;

/// A program in which a term of a sum is added to what the sum is an operand of.
pub(super) fn outside(graph: &mut Graph, program: &Program, (user, sum): (Id, Id), term: usize) -> Program {
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
pub(super) fn function_moved(graph: &mut Graph, product: Id) -> Option<Id> {
    if let Op::Limit { of, low, high } = *graph.op(product) {
        let Op::Apply(function, of) = *graph.op(of) else { return None };
        let limited = graph.add(Op::Limit { of, low, high });
        return Some(graph.apply(function, limited));
    }
    let mut others = graph.op(product).operands();
    let at = others.iter().rposition(|factor| matches!(graph.op(*factor), Op::Apply(..)))?;
    let Op::Apply(function, argument) = *graph.op(others.remove(at)) else { return None };
    let rest = graph.product(others);
    let moved = graph.apply(function, rest);
    Some(graph.product([argument, moved]))
}

/// A product whose repeated factor is a power that is made of complex products of some kind.
pub(super) fn with_powers(graph: &mut Graph, product: Id, powers: Powers) -> Option<Id> {
    let factors = graph.op(product).operands();
    let count = |id: &Id| factors.iter().filter(|other| *other == id).count();
    let repeated = *factors.iter().max_by_key(|id| count(id)).filter(|id| count(id) > 1)?;
    let power = graph.apply(Function::Power(count(&repeated) as u8, powers), repeated);
    let others: Vec<Id> = factors.iter().copied().filter(|id| *id != repeated).chain([power]).collect();
    Some(graph.product(others))
}

/// A function or a power of a matrix that is taken of each entry.
pub(super) fn by_entries(graph: &mut Graph, id: Id) -> Option<Id> {
    match graph.op(id).clone() {
        Op::Apply(function, of) if graph.is_matrix(of) => Some(graph.add(Op::Each(function, of))),
        Op::Product(factors) => {
            let count = |id: &Id| factors.iter().filter(|other| *other == id).count();
            let repeated = *factors.iter().find(|id| graph.is_matrix(**id) && count(id) > 1)?;
            let power = Function::Power(count(&repeated) as u8, Powers::RIGHT);
            let power = graph.add(Op::Each(power, repeated));
            let others = factors.into_iter().filter(|id| *id != repeated);
            // Matrices stand before what they multiply.
            let all: Vec<Id> = [power].into_iter().chain(others).collect();
            Some(graph.product(all))
        }
        _ => None,
    }
}

/// The derivative of a function of a matrix along another one, as if the two commuted.
pub(super) fn commuting(graph: &mut Graph, id: Id, left: bool) -> Option<Id> {
    let Op::Along(function, of, along) = *graph.op(id) else { return None };
    let value = graph.apply(function, of);
    let slope = match function {
        Function::Exp => vec![value],
        Function::Resolvent(alpha) => vec![graph.number(alpha.value()), value, value],
        _ => return None,
    };
    let [first, last] = if left { [slope, vec![along]] } else { [vec![along], slope] };
    Some(graph.product([first, last].concat()))
}

/// A scan around a ring: x_l (1 − P_{L−1}) + P_l x_{L−1}, where P_l is the product of the decays up to l. Inputs behind l reach it once
/// around the end, and those before it not twice.
pub(super) fn circular(graph: &mut Graph, scan: Scan) -> Id {
    let (zero, one, minus) = (graph.number(0.0), graph.number(1.0), graph.number(-1.0));
    let state = graph.add(Op::Scan(scan));
    let product = graph.add(Op::Scan(Scan { drive: zero, start: one, exclusive: false, ..scan }));
    let (last, all) = (graph.add(Op::Last(state)), graph.add(Op::Last(product)));
    let around = graph.product([product, last]);
    let twice = graph.product([minus, all, state]);
    graph.sum([state, twice, around])
}

/// Builds what a scan against the sequence ends with.
pub(super) fn other_direction(graph: &mut Graph, state: Id) -> Option<Id> {
    let Op::Scan(scan) = *graph.op(state) else { return None };
    let against = graph.add(Op::Scan(Scan { reversed: !scan.reversed, exclusive: false, ..scan }));
    let first = graph.add(Op::At { of: against, axis: Axis::Position, index: Index::At(0) });
    Some(graph.add(Op::Last(first)))
}

/// A value whose functions, or products, are all others.
pub(super) fn in_each(graph: &mut Graph, target: Id, each: Each) -> Id {
    let mut new = target;
    for id in graph.reached(&[target]) {
        let other = match (each, graph.op(id).clone()) {
            (Each::Series(terms), Op::Apply(Function::Phi(k @ 1..), of)) => {
                graph.apply(Function::Series(k, terms), of)
            }
            (Each::Once(factor), Op::Product(mut factors))
                if factors.iter().filter(|id| **id == factor).count() > 1 =>
            {
                factors.retain(|id| *id != factor);
                graph.product([factors, vec![factor]].concat())
            }
            (Each::Powers(powers), Op::Product(_)) => match with_powers(graph, id, powers) {
                Some(other) => other,
                None => continue,
            },
            (Each::ByEntries, _) => match by_entries(graph, id) {
                Some(other) => other,
                None => continue,
            },
            _ => continue,
        };
        new = graph.replaced(&[new], id, other)[0];
    }
    new
}

/// Reads what stands beside a position over the borders of packed sequences.
pub(super) fn across_borders(graph: &mut Graph, target: Id) -> Option<Id> {
    let axis = Axis::Position;
    // The state before a position, from the initial state on.
    let before = |graph: &mut Graph, of: Id, start: Id| {
        let before = graph.add(Op::At { of, axis, index: Index::Across(-1) });
        let when = Condition::At(Place::positions(Set::Only(0)));
        match graph.op(start) {
            Op::Number(Real::ZERO) => before,
            _ => graph.add(Op::Choose { when, yes: start, no: before }),
        }
    };
    match *graph.op(target) {
        Op::Scan(scan) if scan.exclusive => {
            let of = graph.add(Op::Scan(Scan { exclusive: false, ..scan }));
            Some(match scan.reversed {
                true => graph.add(Op::At { of, axis, index: Index::Shifted(1) }),
                false => before(graph, of, scan.start),
            })
        }
        Op::Last(of) => {
            let Op::Scan(scan) = *graph.op(of) else { return None };
            let before = before(graph, of, scan.start);
            Some(graph.add(Op::First(before)))
        }
        Op::At { of, axis, index: Index::Held(by) } => {
            Some(graph.add(Op::At { of, axis, index: Index::Across(by) }))
        }
        _ => None,
    }
}

/// A scan that starts from something else.
pub(super) fn starting(graph: &mut Graph, scan: Scan, start: Start) -> Id {
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
        Start::Undecayed => {
            let one = graph.number(1.0);
            let decay = match graph.is_packed() {
                true => {
                    let (minus, begins) = (graph.number(-1.0), graph.input(Input::Begins));
                    let opposite = graph.product([minus, begins]);
                    let within = graph.sum([one, opposite]);
                    let decayed = graph.product([within, scan.decay]);
                    graph.sum([begins, decayed])
                }
                false => {
                    let when = Condition::At(Place::positions(Set::Only(0)));
                    graph.add(Op::Choose { when, yes: one, no: scan.decay })
                }
            };
            graph.add(Op::Scan(Scan { decay, ..scan }))
        }
        Start::OfChunk(length) | Start::AtChunks(length) => {
            let (zero, one, minus) = (graph.number(0.0), graph.number(1.0), graph.number(-1.0));
            let begins = graph.input(Input::Begins);
            let at = |set| Condition::At(Place::positions(set));
            let first = at(Set::Every { of: length, rest: 0 });
            let decay = match start {
                // The product of all decays since the chunk's start, whatever sequence they are of.
                Start::OfChunk(_) => {
                    let before = Op::At { of: scan.decay, axis: Axis::Position, index: Index::Across(-1) };
                    let before = graph.add(before);
                    let decay = graph.add(Op::Choose { when: first, yes: zero, no: before });
                    let drive = graph.add(Op::Choose { when: first, yes: one, no: zero });
                    let before =
                        Scan { decay, drive, start: zero, borders: Borders::None, exclusive: false, ..scan };
                    let before = graph.add(Op::Scan(before));
                    graph.product([scan.decay, before])
                }
                _ => graph.add(Op::Choose { when: first, yes: scan.decay, no: zero }),
            };
            let opposite = graph.product([minus, begins]);
            let within = graph.sum([one, opposite]);
            let [begun, within] = [graph.product([begins, decay]), graph.product([within, scan.decay])];
            let decay = graph.sum([begun, within]);
            graph.add(Op::Scan(Scan { decay, ..scan }))
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

/// A scan that carries something else over the edges of chunks of so many positions.
pub(super) fn carrying(graph: &mut Graph, scan: Scan, what: Carry, length: u32) -> Id {
    let at = if scan.reversed { Set::BeforeMultiples(length) } else { Set::Multiples(length) };
    let when = Condition::At(Place::positions(at));
    let arriving = Scan { exclusive: true, ..scan };
    let from = match what {
        Carry::Times(by) => return graph.add(Op::Scan(Scan { carried: Some((by, at)), ..scan })),
        Carry::Decayed(times) => {
            let yes = graph.product(vec![scan.decay; times.into()]);
            let decay = graph.add(Op::Choose { when, yes, no: scan.decay });
            return graph.add(Op::Scan(Scan { decay, ..scan }));
        }
        Carry::Start => scan.start,
        Carry::Before(count) => {
            let of = graph.add(Op::Scan(arriving));
            let by = if scan.reversed { count as i32 } else { -(count as i32) };
            graph.add(Op::At { of, axis: Axis::Position, index: Index::Shifted(by) })
        }
        Carry::Rounded(to) => {
            let of = graph.add(Op::Scan(arriving));
            graph.add(Op::Round(of, to))
        }
    };
    let zero = graph.number(0.0);
    let decay = graph.add(Op::Choose { when, yes: zero, no: scan.decay });
    let carried = graph.product([scan.decay, from]);
    let begun = graph.sum([scan.drive, carried]);
    let drive = graph.add(Op::Choose { when, yes: begun, no: scan.drive });
    let new = graph.add(Op::Scan(Scan { decay, drive, ..scan }));
    // The state before an edge is the one that is carried over it.
    if scan.exclusive { graph.add(Op::Choose { when, yes: from, no: new }) } else { new }
}

/// A last state after so many positions more, at which delta and u are 0.
pub(super) fn padded(graph: &mut Graph, last: Id, count: u32) -> Option<Id> {
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

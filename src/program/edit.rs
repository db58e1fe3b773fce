//! Edits of a program: one node, or one use of it, is another; everywhere or at some positions.

use super::Program;
use super::complex::{Powers, Product, Slip};
use super::graph::{Accumulator, Axis, Borders, Function, Graph, Id, Index, Op, Over, Real, Scan};
use super::made::{
    across_borders, by_entries, carrying, circular, commuting, function_moved, in_each, other_direction,
    outside, padded, starting, with_powers,
};
use super::mask::{Condition, Place};
use super::matrices::Map;
use super::print::CONSTANTS;
use crate::problem::InputType;

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
    /// A value in what one operand of one operation is made of.
    WithinUse {
        user: Id,
        operand: usize,
        of: Id,
    },
    /// Two values that are alike: B and C, or those of the scans in both directions.
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
    /// A function of it; of a matrix that of each entry, but where it is one of a matrix itself.
    Applied(Function),
    /// A function or a power of a matrix that is taken of each entry.
    ByEntries,
    /// A derivative along a matrix that is a product with it, as if the two commuted: from the left, or from the right.
    Commuting {
        left: bool,
    },
    At(Axis, Index),
    Rounded(InputType),
    /// Minus the exponential of the logarithm of its negative, which is kept in a narrow type.
    LogRounded(InputType),
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
    /// A limit from both sides that lacks the upper, or the lower one.
    LimitMissing {
        upper: bool,
    },
    /// A complex product with a slip: powers in a product, a reciprocal, or the decay and the state of a scan.
    Powers(Powers),
    Slipped(Slip),
    Multiplied(Product),
    /// A scan whose matrix's product is written over its operand.
    InPlace,
    /// A scan whose state is kept between two numbers as it is carried on.
    KeptWithin(Real, Real),
    /// Imaginary part times a number.
    Turned(Real),
    /// Real part times a number.
    Stretched(Real),
    /// Cut off to a type where it is stored, towards 0.
    CutOff(InputType),
    /// One term of what is a sum, times other factors.
    OnlyTerm(Id),
    /// All functions or products that a value is made of.
    InEach(Each),
    /// The term of a sum that stands in this place among its operands is added to what the sum is an operand of, not to the sum.
    Outside {
        user: Id,
        term: usize,
    },
    /// A scan whose state is rounded as it is carried on.
    Stored(InputType),
    /// A last state that goes on through so many padded positions, with delta and u of 0.
    Padded(u32),
    /// A last state that is that of the scan against the sequence, at its end.
    OtherDirection,
    /// A scan that starts from something else.
    Starting(Start),
    /// A product in which a function of one factor is taken of the others.
    FunctionMoved,
    /// A scan whose sequence is a ring: what is at its end goes on at its start, as in a convolution without zeros behind it.
    Circular,
    /// A scan that starts anew at other borders of packed sequences.
    Borders(Borders),
    /// A scan whose positions have the state before, or an input that is read at another position, which are those of the sequence
    /// before, or of the next one, at the borders of packed ones; a last state that is the one before the sequence's first position.
    AcrossBorders,
    /// A scan that carries something else over the edges of chunks of so many positions, in its own direction.
    Carried {
        what: Carry,
        length: u32,
    },
    /// A sum over others, or one that is kept in a narrow type.
    Summed(Over, Option<Accumulator>),
    /// A scan that runs the other way.
    Reversed,
    /// A scan whose positions have the state before, or after, the other one.
    Exclusive,
    /// A scan whose operator has its operands exchanged: inputs are decayed by the steps before them and not by those after.
    Exchanged,
}

/// Changes of each of several functions or products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// φ-functions are their series, cut after so many terms.
    Series(u8),
    /// A factor that stands in a product more than once stands there once.
    Once(Id),
    /// Powers in products are made of complex products of some kind.
    Powers(Powers),
    /// Functions and powers of matrices are taken of each entry.
    ByEntries,
}

/// Values that a scan may carry over the edge of a chunk by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carry {
    /// Its state times a number.
    Times(Real),
    /// Its state, which the step that it arrives at decays so many times.
    Decayed(u8),
    /// The start of the scan.
    Start,
    /// Its right state of so many positions before.
    Before(u32),
    /// Its right state in a narrow type.
    Rounded(InputType),
}

/// Starts that a scan may have by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The initial state, which the other direction starts from.
    Initial,
    /// The last state of the scan along the sequence.
    Last,
    /// Last state of the item before.
    ItemBefore,
    /// Initial state, not decayed by the first step.
    Undecayed,
    /// Initial states of packed sequences, decayed from where a chunk of so many positions begins.
    OfChunk(u32),
    /// Initial states of those packed sequences alone that begin at a multiple of so many positions.
    AtChunks(u32),
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
            Site::Value(id) | Site::Both(id, _) => id,
            Site::Within { of, .. } | Site::WithinUse { of, .. } => of,
            Site::Use { user, operand } => graph.op(user).operands()[operand],
        }
    }

    /// Whether one of these nodes would be another with it.
    pub fn is_within(&self, nodes: &[Id]) -> bool {
        match self.site {
            Site::Value(id) => nodes.contains(&id),
            Site::Both(one, other) => nodes.contains(&one) || nodes.contains(&other),
            Site::Use { user, .. } | Site::WithinUse { user, .. } => nodes.contains(&user),
            Site::Within { root, .. } => nodes.contains(&root),
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
            let is_stored = matches!(self.patch, Patch::Stored(_));
            match self.when {
                Some(when) if !is_stored => graph.add(Op::Choose { when, yes: patched, no: target }),
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
            Site::Use { user, operand } | Site::WithinUse { user, operand, .. } => {
                let op = graph.op(user).clone();
                let mut operands = op.operands();
                operands[operand] = match self.site {
                    Site::WithinUse { of, .. } => graph.replaced(&[operands[operand]], of, patched)[0],
                    _ => patched,
                };
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
            Patch::Other(other) | Patch::OnlyTerm(other) => other,
            Patch::Instead(function) => match (function, graph.op(target).operands()[..].first().copied()) {
                (Some(function), Some(of)) => graph.apply(function, of),
                (None, Some(of)) => of,
                (_, None) => target,
            },
            Patch::Applied(function)
                if graph.is_matrix(target) && !matches!(function, Function::Mapped(_)) =>
            {
                graph.add(Op::Each(function, target))
            }
            Patch::Applied(function) => graph.apply(function, target),
            Patch::ByEntries => by_entries(graph, target).unwrap_or(target),
            Patch::Commuting { left } => commuting(graph, target, left).unwrap_or(target),
            Patch::At(axis, index) => graph.add(Op::At { of: target, axis, index }),
            Patch::Rounded(to) => graph.add(Op::Round(target, to)),
            Patch::LogRounded(to) => {
                let log = graph.apply(Function::LogOfNegated, target);
                let kept = graph.add(Op::Round(log, to));
                graph.apply(Function::NegatedExp, kept)
            }
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
            Patch::LimitMissing { upper } => match *graph.op(target) {
                Op::Limit { of, low, .. } if upper => {
                    graph.add(Op::Limit { of, low, high: Real::new(f64::INFINITY) })
                }
                Op::Limit { of, high, .. } => {
                    graph.add(Op::Limit { of, low: Real::new(f64::NEG_INFINITY), high })
                }
                _ => target,
            },
            Patch::Powers(powers) => with_powers(graph, target, powers).unwrap_or(target),
            Patch::Slipped(slip) => match *graph.op(target) {
                Op::Apply(Function::Resolvent(alpha), of) => {
                    let (one, share) = (graph.number(1.0), graph.number(-alpha.value()));
                    let term = graph.product([share, of]);
                    let w = graph.sum([one, term]);
                    graph.apply(Function::SlippedInverse(slip), w)
                }
                Op::Apply(Function::Reciprocal, of) => graph.apply(Function::SlippedInverse(slip), of),
                _ => target,
            },
            Patch::Multiplied(product) => match of_scan(graph) {
                Some(scan) => graph.add(Op::Scan(Scan { product, ..scan })),
                None => target,
            },
            Patch::InPlace => match of_scan(graph) {
                Some(scan) => graph.add(Op::Scan(Scan { in_place: true, ..scan })),
                None => target,
            },
            Patch::KeptWithin(low, high) => match of_scan(graph) {
                Some(scan) => graph.add(Op::Scan(Scan { limits: Some((low, high)), ..scan })),
                None => target,
            },
            Patch::Turned(by) => graph.add(Op::Turned(target, by)),
            Patch::Stretched(by) => {
                let number = graph.add(Op::Number(by));
                let both = graph.product([number, target]);
                graph.add(Op::Turned(both, Real::new(1.0 / by.value())))
            }
            Patch::CutOff(to) => graph.add(Op::CutOff(target, to)),
            Patch::InEach(each) => in_each(graph, target, each),
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
                Some(scan) => match self.when.and_then(Condition::place) {
                    // A scan knows positions of the item alone.
                    Some(Place { axis: Axis::Offset, .. }) => target,
                    place => {
                        let at = place.filter(|at| at.axis == Axis::Position).map(|at| at.set);
                        graph.add(Op::Scan(Scan { stored: Some((to, at)), ..scan }))
                    }
                },
                None => target,
            },
            Patch::Borders(borders) => match of_scan(graph) {
                Some(scan) => graph.add(Op::Scan(Scan { borders, ..scan })),
                None => target,
            },
            Patch::Carried { what, length } => match of_scan(graph) {
                Some(scan) => carrying(graph, scan, what, length),
                None => target,
            },
            Patch::Summed(over, kept) => match *graph.op(target) {
                Op::Fold(of, _) => {
                    let of = match *graph.op(of) {
                        Op::Fold(inner, _) if over == Over::ItemsAndPositions => inner,
                        _ => of,
                    };
                    graph.add(kept.map_or(Op::Fold(of, over), |sum| Op::Accumulate(of, over, sum)))
                }
                _ => target,
            },
            Patch::AcrossBorders => across_borders(graph, target).unwrap_or(target),
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
        let reads_end = matches!(self.patch, Patch::Other(id) if matches!(graph.op(id), Op::At { index: Index::BlockEnd(_), .. }));
        // A scan against the sequence has passed edges behind.
        let is_carried_against = matches!((self.site, self.patch), (Site::Both(..), Patch::Carried { .. }));
        reads_end
            || is_carried_against
            || is_far && !is_input(self.target(graph))
            || matches!(
                self.patch,
                Patch::Reversed
                    | Patch::Starting(_)
                    | Patch::Circular
                    | Patch::Borders(_)
                    | Patch::AcrossBorders
            )
    }

    /// Whether something is kept in a narrow type.
    pub fn rounds(&self) -> bool {
        matches!(
            self.patch,
            Patch::Rounded(_)
                | Patch::LogRounded(_)
                | Patch::Stored(_)
                | Patch::Summed(_, Some(_))
                | Patch::Carried { what: Carry::Rounded(_), .. }
                // A slope that loses its digits in f32: what it has left is rounded like a narrow type.
                | Patch::Instead(Some(Function::CancellingSigmoid))
        )
    }

    /// Whether its number was found in the data.
    pub fn has_number(&self) -> bool {
        match self.patch {
            Patch::Scaled(by) => !FACTORS.contains(&by.value()),
            Patch::Number(number) => ![0.0, 1.0].contains(&number.value()),
            Patch::Plus(_, by) => by.value().abs() != 1.0,
            Patch::Turned(_) | Patch::Stretched(_) | Patch::AtLeast(_) | Patch::AtMost(_) => true,
            Patch::Within(..) | Patch::KeptWithin(..) => true,
            _ => false,
        }
    }

    /// Whether it is an edit of these nodes, the first of a graph.
    pub fn is_of(&self, nodes: usize) -> bool {
        let site = match self.site {
            Site::Value(id) => id,
            Site::Use { user, .. } => user,
            Site::Within { root, of } => root.max(of),
            Site::WithinUse { user, of, .. } => user.max(of),
            Site::Both(b, c) => b.max(c),
        };
        let patch = match self.patch {
            Patch::Other(id) | Patch::OnlyTerm(id) | Patch::Times(id) | Patch::Over(id) => Some(id),
            Patch::Plus(id, _) | Patch::InEach(Each::Once(id)) => Some(id),
            Patch::Outside { user, .. } => Some(user),
            _ => None,
        };
        let others = [patch, self.when.and_then(Condition::of)].into_iter().flatten();
        site.index() < nodes && others.into_iter().all(|id| id.index() < nodes)
    }

    /// Whether it has a number that nobody would have typed.
    pub fn is_fitted(&self) -> bool {
        match self.patch {
            Patch::Scaled(by) | Patch::Plus(_, by) | Patch::Number(by) => bits(by.value()) >= NO_CHOICE,
            Patch::Turned(by) | Patch::Stretched(by) => bits(by.value()) >= NO_CHOICE,
            Patch::AtLeast(limit) | Patch::AtMost(limit) => bits(limit.value()) >= NO_CHOICE,
            Patch::Within(low, high) | Patch::KeptWithin(low, high) => {
                bits(low.value()).max(bits(high.value())) >= NO_CHOICE
            }
            _ => false,
        }
    }

    /// How much it takes to say it, in bits: what is written by mistake more often takes fewer.
    pub fn cost(&self) -> f64 {
        let of_site = match self.site {
            Site::Value(_) => 0.0,
            Site::Use { .. } | Site::Both(..) | Site::Within { .. } => 1.0,
            Site::WithinUse { .. } => 2.0,
        };
        let of_patch = match self.patch {
            Patch::Number(number) if [0.0, 1.0].contains(&number.value()) => 3.0,
            Patch::Number(number) => 6.0 + bits(number.value()),
            Patch::Instead(None) => 3.0,
            // Everybody writes these where a φ loses digits.
            Patch::Instead(Some(Function::Series(_, 1..=3))) => 2.75,
            Patch::Borders(Borders::None) | Patch::AcrossBorders => 3.5,
            Patch::Reversed | Patch::Exclusive | Patch::Borders(_) => 3.75,
            Patch::Exchanged | Patch::Carried { .. } => 4.0,
            Patch::Summed(_, None) => 4.5,
            Patch::Summed(_, Some(sum)) => 5.0 + f64::from(u8::from(sum.rounds_added)) / 4.0,
            Patch::Instead(Some(_)) => 4.5,
            Patch::At(_, Index::Shifted(by)) => 3.0 + f64::from(by.abs().min(4)),
            Patch::At(_, Index::Held(_) | Index::Clamped(_) | Index::Rolled(_)) => 4.25,
            Patch::At(_, Index::BlockStart(_) | Index::BlockBefore(_) | Index::ReversedIn(_)) => 5.0,
            Patch::At(..) => 4.5,
            Patch::Outside { .. } => 4.0,
            Patch::Stored(_) => 6.0,
            Patch::Padded(_) => 8.0,
            Patch::AtLeast(limit) | Patch::AtMost(limit) => 5.0 + bits(limit.value()),
            Patch::Within(low, high) | Patch::KeptWithin(low, high) if low.value() == -high.value() => {
                6.0 + bits(high.value())
            }
            Patch::Within(low, high) | Patch::KeptWithin(low, high) => {
                6.0 + bits(low.value()) + bits(high.value())
            }
            Patch::LimitMissing { .. } => 3.0,
            Patch::Powers(_) | Patch::Slipped(_) | Patch::Multiplied(_) | Patch::InPlace => 5.5,
            Patch::Starting(Start::OfChunk(_) | Start::AtChunks(_)) => 4.75,
            Patch::Starting(_) | Patch::OtherDirection | Patch::FunctionMoved | Patch::Circular => 4.0,
            Patch::Turned(by) | Patch::Stretched(by) => 5.0 + bits(by.value()),
            Patch::OnlyTerm(_) => 3.5,
            Patch::InEach(Each::Series(_)) => 2.75,
            Patch::InEach(Each::Once(_)) => 4.5,
            Patch::InEach(Each::Powers(_)) => 5.5,
            Patch::ByEntries | Patch::Commuting { .. } => 4.5,
            Patch::InEach(Each::ByEntries) => 4.25,
            Patch::Applied(Function::Mapped(Map::Without { .. })) => 5.75,
            Patch::Applied(Function::Mapped(_)) => 4.0,
            Patch::Applied(Function::Conjugate | Function::RealPart | Function::ImaginaryPart) => 4.0,
            Patch::Applied(_) | Patch::Other(_) => 5.5,
            Patch::Rounded(_) | Patch::LogRounded(_) | Patch::CutOff(_) => 6.0,
            Patch::Times(_) | Patch::Over(_) => 6.5,
            Patch::Scaled(by) => 4.0 + bits(by.value()),
            Patch::Plus(_, by) => 9.0 + bits(by.value()),
        };
        let of_condition = match self.when {
            None => 0.0,
            Some(Condition::At(_)) => 5.0,
            Some(Condition::Below(_, limit) | Condition::Beyond(_, limit) | Condition::Above(_, limit)) => {
                5.0 + bits(limit.value())
            }
        };
        of_site + of_patch + of_condition
    }
}

/// Bits of a number that somebody may have typed: few for small fractions and for few digits, many for any other.
pub fn bits(number: f64) -> f64 {
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

/// Factors that are tried without a look at the data: a sign that is lost, what is added twice, and half of a sum.
pub const FACTORS: [f64; 3] = [-1.0, 2.0, 0.5];
/// Bits of a number that nobody would have typed.
pub const NO_CHOICE: f64 = 20.0;

//! Expressions as nodes of a graph in which equal ones are one node.

use foldhash::HashMap;

use super::complex::{Powers, Product, Slip};
pub use super::index::Index;
use super::mask::{Condition, Set};
use super::matrices::Map;
use crate::formula::Fraction;
use crate::problem::{InputType, Operand, Problem};

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(u32);

impl Id {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A number, equal to those that have its bits; of a limit that is not there, an infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Real(u64);

impl Real {
    pub const ZERO: Real = Real(0);

    pub fn new(value: f64) -> Self {
        // 0 has one sign.
        Real((value + 0.0).to_bits())
    }

    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// An input tensor of a scan (spec.md §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    U,
    Delta,
    A,
    B,
    C,
    D,
    Z,
    DeltaBias,
    InitialState,
    /// ∂L/∂out and ∂L/∂last_state of a backward pass (spec.md §6).
    OutGradient,
    LastStateGradient,
    /// 1 at the first position of each packed sequence, and 0 elsewhere.
    Begins,
    /// 1 at the last position of each packed sequence, and 0 elsewhere.
    Ends,
}

/// A function of one number, or of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    Exp,
    Exp2,
    /// 1 + x, which a step by Euler takes for eˣ.
    OnePlus,
    /// φₖ (spec.md §1)
    Phi(u8),
    /// The series of φₖ, cut after so many terms; φ₀ is the exponential.
    Series(u8, u8),
    /// (1 − αx)⁻¹
    Resolvent(Fraction),
    /// Its series Σ (αx)ᵏ, cut after so many terms.
    Geometric(Fraction, u8),
    /// (I − αX)⁻¹ by elimination that exchanges rows of its matrix, and not those of what is divided.
    Unexchanged(Fraction),
    /// Entries of a matrix elsewhere, or some of them.
    Mapped(Map),
    Softplus,
    /// log(1 + e^{βx})/β, PyTorch's with another `beta`.
    SharpSoftplus(Real),
    /// log(1 + e^−|x|), the part of softplus that is added to max(x, 0).
    SoftplusRest,
    /// log(1 + eˣ) as it is written, which leaves the range of f32 with eˣ.
    NaiveSoftplus,
    /// x σ(x)
    Silu,
    /// x σ(1.702 x)
    QuickGelu,
    /// −eˣ
    NegatedExp,
    /// log(−x)
    LogOfNegated,
    /// −log(−x)
    NegatedLogOfNegated,
    Sigmoid,
    /// The sigmoid as 1 − e^−softplus(x) in f32, which cancels where it is small.
    CancellingSigmoid,
    Tanh,
    Relu,
    Abs,
    /// 1/x
    Reciprocal,
    Conjugate,
    RealPart,
    ImaginaryPart,
    /// Real and imaginary parts in the place of each other.
    PartsExchanged,
    /// As f32 keeps it: 0 below its range, and infinite above.
    Single,
    /// xᵏ, with complex products of some kind.
    Power(u8, Powers),
    /// x⁻¹, put together wrongly of the parts of a complex x.
    SlippedInverse(Slip),
    /// 1 within limits, and 0 elsewhere: the derivative of a clamp.
    Within(Real, Real),
}

/// An axis of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    Item,
    Channel,
    Group,
    State,
    Position,
    /// Positions of a packed sequence, counted from its start.
    Offset,
}

/// What a fold sums over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Over {
    States,
    Positions,
    /// The items of a batch.
    Items,
    /// So many channels in a row: those of a group, or of a head.
    Channels(u32),
    /// Channels that have the remainder of a group's number by the number of groups.
    Lanes(u32),
    /// The items of a batch, and the positions of each.
    ItemsAndPositions,
}

/// A sum that is kept in a narrow type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Accumulator {
    pub to: InputType,
    /// Whether what is added is rounded to it, too.
    pub rounds_added: bool,
    /// Whether it starts from the last.
    pub backwards: bool,
}

/// Borders of packed sequences at which a scan starts anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Borders {
    #[default]
    All,
    None,
    /// Those at multiples of so many positions of the item.
    OfBlocks(u32),
    /// All others than these.
    BetweenBlocks(u32),
    /// Those of the first item, in all items.
    OfFirstItem,
    /// All, so many positions later along the scan.
    Late(i8),
}

/// x_l = decay_l x_{l−1} + drive_l from a start, along the positions of a run or against them; of each packed sequence anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scan {
    pub decay: Id,
    pub drive: Id,
    pub start: Id,
    pub reversed: bool,
    /// Whether position l has x_{l−1}.
    pub exclusive: bool,
    /// A type that x is rounded to as it is carried on, everywhere or at some positions.
    pub stored: Option<(InputType, Option<Set>)>,
    /// A factor that what is carried has as it arrives at some positions.
    pub carried: Option<(Real, Set)>,
    /// Limits that the real part of x is kept within as it is carried on.
    pub limits: Option<(Real, Real)>,
    /// How decay and x are multiplied.
    pub product: Product,
    /// Whether each row of a matrix's product is written over what the rows after it read.
    pub in_place: bool,
    pub borders: Borders,
}

impl Scan {
    /// A scan along the positions.
    pub fn of(decay: Id, drive: Id, start: Id) -> Self {
        let (reversed, exclusive) = (false, false);
        let (stored, carried, limits, product) = (None, None, None, Product::Right);
        let (in_place, borders) = (false, Borders::All);
        Scan { decay, drive, start, reversed, exclusive, stored, carried, limits, product, in_place, borders }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Input(Input),
    Number(Real),
    Sum(Vec<Id>),
    Product(Vec<Id>),
    /// The first divided by the second.
    Quotient(Id, Id),
    Apply(Function, Id),
    /// A function of each entry of a matrix.
    Each(Function, Id),
    /// The matrix of the products of two columns' entries, of the first one's by rows.
    Outer(Id, Id),
    /// Sum of the products of two matrices' entries.
    Inner(Id, Id),
    /// The derivative of a function of a matrix, which comes first, along another one.
    Along(Function, Id, Id),
    At {
        of: Id,
        axis: Axis,
        index: Index,
    },
    Scan(Scan),
    /// The value at the first position, and at the last one; of packed sequences at that of each, for all of its positions.
    First(Id),
    Last(Id),
    Fold(Id, Over),
    /// A fold that is kept in a narrow type after each addition.
    Accumulate(Id, Over, Accumulator),
    Round(Id, InputType),
    /// Cut off to a type, towards 0.
    CutOff(Id, InputType),
    /// Real part within limits.
    Limit {
        of: Id,
        low: Real,
        high: Real,
    },
    /// Imaginary part times a number.
    Turned(Id, Real),
    /// One where a condition holds, the other elsewhere.
    Choose {
        when: Condition,
        yes: Id,
        no: Id,
    },
}

impl Op {
    /// Operands, in order.
    pub fn operands(&self) -> Vec<Id> {
        let mut operands = Vec::new();
        self.each_operand(|id| operands.push(id));
        operands
    }

    /// Visits the operands, in order.
    pub fn each_operand(&self, mut visit: impl FnMut(Id)) {
        match self {
            Op::Input(_) | Op::Number(_) => {}
            Op::Sum(of) | Op::Product(of) => of.iter().copied().for_each(visit),
            Op::Quotient(one, other)
            | Op::Outer(one, other)
            | Op::Inner(one, other)
            | Op::Along(_, one, other) => [*one, *other].into_iter().for_each(visit),
            Op::Apply(_, of)
            | Op::Each(_, of)
            | Op::First(of)
            | Op::Last(of)
            | Op::Accumulate(of, ..)
            | Op::CutOff(of, _)
            | Op::Fold(of, _)
            | Op::Round(of, _)
            | Op::Turned(of, _)
            | Op::At { of, .. }
            | Op::Limit { of, .. } => visit(*of),
            Op::Scan(scan) => [scan.decay, scan.drive, scan.start].into_iter().for_each(visit),
            Op::Choose { when, yes, no } => [*yes, *no].into_iter().chain(when.of()).for_each(visit),
        }
    }

    /// The same operation on other operands.
    pub fn with(&self, operands: &[Id]) -> Op {
        match (self, operands) {
            (Op::Sum(_), of) => Op::Sum(of.to_vec()),
            (Op::Product(_), of) => Op::Product(of.to_vec()),
            (Op::Quotient(..), &[above, below]) => Op::Quotient(above, below),
            (Op::Outer(..), &[one, other]) => Op::Outer(one, other),
            (Op::Inner(..), &[one, other]) => Op::Inner(one, other),
            (Op::Along(function, ..), &[of, along]) => Op::Along(*function, of, along),
            (Op::Apply(function, _), &[of]) => Op::Apply(*function, of),
            (Op::Each(function, _), &[of]) => Op::Each(*function, of),
            (Op::First(_), &[of]) => Op::First(of),
            (Op::Last(_), &[of]) => Op::Last(of),
            (Op::Fold(_, over), &[of]) => Op::Fold(of, *over),
            (Op::Accumulate(_, over, sum), &[of]) => Op::Accumulate(of, *over, *sum),
            (Op::Round(_, to), &[of]) => Op::Round(of, *to),
            (Op::CutOff(_, to), &[of]) => Op::CutOff(of, *to),
            (Op::Turned(_, by), &[of]) => Op::Turned(of, *by),
            (&Op::At { axis, index, .. }, &[of]) => Op::At { of, axis, index },
            (&Op::Limit { low, high, .. }, &[of]) => Op::Limit { of, low, high },
            (Op::Scan(scan), &[decay, drive, start]) => Op::Scan(Scan { decay, drive, start, ..*scan }),
            (&Op::Choose { when: when @ Condition::At(_), .. }, &[yes, no]) => Op::Choose { when, yes, no },
            (&Op::Choose { when: Condition::Below(_, limit), .. }, &[yes, no, of]) => {
                Op::Choose { when: Condition::Below(of, limit), yes, no }
            }
            (&Op::Choose { when: Condition::Above(_, limit), .. }, &[yes, no, of]) => {
                Op::Choose { when: Condition::Above(of, limit), yes, no }
            }
            (&Op::Choose { when: Condition::Beyond(_, limit), .. }, &[yes, no, of]) => {
                Op::Choose { when: Condition::Beyond(of, limit), yes, no }
            }
            _ => self.clone(),
        }
    }
}

/// Along which axes a node's values differ within one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub position: bool,
    pub state: bool,
    /// Whether it is a matrix of states by states, as a dense A is (spec.md §8).
    pub matrix: bool,
}

impl Extent {
    fn join(self, other: Extent) -> Extent {
        Extent {
            position: self.position || other.position,
            state: self.state || other.state,
            matrix: self.matrix || other.matrix,
        }
    }

    /// Whether it is a column of states.
    pub fn is_vector(self) -> bool {
        self.state && !self.matrix
    }

    /// Whether it has no axis that the other has not.
    pub fn is_within(self, other: Extent) -> bool {
        self.join(other) == other
    }
}

/// Operands come before what is made of them.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<(Op, Extent)>,
    known: HashMap<Op, Id>,
    /// Extent of inputs that a problem may have constant.
    varies: [bool; 2],
    /// Whether sequences are packed, of which each has states of its own.
    is_packed: bool,
    /// Whether A is a matrix.
    is_dense: bool,
}

impl Graph {
    /// No nodes yet of what a problem computes.
    pub fn new(problem: &Problem) -> Self {
        let varies = [problem.b_operand, problem.c_operand].map(|operand| operand == Operand::Variable);
        let (is_packed, is_dense) = (problem.packed.is_some(), problem.is_dense());
        Graph { varies, is_packed, is_dense, ..Graph::default() }
    }

    /// Whether sequences are packed.
    pub fn is_packed(&self) -> bool {
        self.is_packed
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// All nodes.
    pub fn ids(&self) -> impl Iterator<Item = Id> + use<> {
        (0..self.nodes.len() as u32).map(Id)
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn op(&self, id: Id) -> &Op {
        &self.nodes[id.index()].0
    }

    pub fn extent(&self, id: Id) -> Extent {
        self.nodes[id.index()].1
    }

    /// The node that an operation is, if there is one.
    pub fn find(&self, op: &Op) -> Option<Id> {
        self.known.get(op).copied()
    }

    fn is_number(&self, id: Id, value: f64) -> bool {
        *self.op(id) == Op::Number(Real::new(value))
    }

    /// The node that is this operation. Terms of 0, factors of 1 and products with 0 are not kept.
    pub fn add(&mut self, op: Op) -> Id {
        let op = match op {
            Op::Sum(mut of) => {
                of.retain(|id| !self.is_number(*id, 0.0));
                match of[..] {
                    [] => Op::Number(Real::ZERO),
                    [one] => return one,
                    _ => Op::Sum(of),
                }
            }
            Op::Product(of) if of.iter().any(|id| self.is_number(*id, 0.0)) => Op::Number(Real::ZERO),
            Op::Product(mut of) => {
                of.retain(|id| !self.is_number(*id, 1.0));
                match of[..] {
                    [] => Op::Number(Real::new(1.0)),
                    [one] => return one,
                    _ => Op::Product(of),
                }
            }
            other => other,
        };
        if let Some(&known) = self.known.get(&op) {
            return known;
        }
        let extent = self.extent_of(&op);
        let id = Id(self.nodes.len() as u32);
        self.nodes.push((op.clone(), extent));
        self.known.insert(op, id);
        id
    }

    pub fn input(&mut self, input: Input) -> Id {
        self.add(Op::Input(input))
    }

    pub fn number(&mut self, value: f64) -> Id {
        self.add(Op::Number(Real::new(value)))
    }

    pub fn sum(&mut self, of: impl Into<Vec<Id>>) -> Id {
        self.add(Op::Sum(of.into()))
    }

    pub fn product(&mut self, of: impl Into<Vec<Id>>) -> Id {
        self.add(Op::Product(of.into()))
    }

    pub fn apply(&mut self, function: Function, of: Id) -> Id {
        self.add(Op::Apply(function, of))
    }

    /// Forgets all nodes but the first so many.
    pub fn truncate(&mut self, len: usize) {
        for (op, _) in self.nodes.drain(len..) {
            self.known.remove(&op);
        }
    }

    fn extent_of(&self, op: &Op) -> Extent {
        let of = |position, state| Extent { position, state, matrix: false };
        match op {
            Op::Input(Input::U | Input::Delta | Input::Z | Input::OutGradient) => of(true, false),
            Op::Input(Input::Begins | Input::Ends) => of(true, false),
            Op::Input(Input::A) => Extent { matrix: self.is_dense, ..of(false, true) },
            Op::Input(Input::InitialState | Input::LastStateGradient) => of(self.is_packed, true),
            Op::Input(Input::B) => of(self.varies[0], true),
            Op::Input(Input::C) => of(self.varies[1], true),
            Op::Input(Input::D | Input::DeltaBias) | Op::Number(_) => of(false, false),
            Op::Scan(_) => of(true, true),
            Op::First(x) | Op::Last(x) => {
                let extent = self.extent(*x);
                Extent { position: self.is_packed && extent.position, ..extent }
            }
            Op::Fold(x, Over::Positions | Over::ItemsAndPositions)
            | Op::Accumulate(x, Over::Positions | Over::ItemsAndPositions, _) => {
                Extent { position: false, ..self.extent(*x) }
            }
            Op::Fold(x, Over::States) | Op::Accumulate(x, Over::States, _) => {
                of(self.extent(*x).position, false)
            }
            Op::Choose { when, .. } => {
                let axis = when.place().map(|place| place.axis);
                let along = matches!(axis, Some(Axis::Position | Axis::Offset));
                let own = of(along, axis == Some(Axis::State));
                op.operands().iter().fold(own, |all, id| all.join(self.extent(*id)))
            }
            Op::Inner(one, other) => of(self.extent(*one).join(self.extent(*other)).position, false),
            other => {
                let operands = other.operands();
                let all = operands.iter().fold(of(false, false), |all, id| all.join(self.extent(*id)));
                // Matrices times a column are one.
                let is_vector = operands.iter().any(|id| self.extent(*id).is_vector());
                let is_matrix = all.matrix && !(matches!(other, Op::Product(_)) && is_vector);
                Extent { matrix: is_matrix || matches!(other, Op::Outer(..)), ..all }
            }
        }
    }

    /// Whether a node is a matrix.
    pub fn is_matrix(&self, id: Id) -> bool {
        self.extent(id).matrix
    }

    /// Whether a node is a function of a matrix, or a derivative of one, which takes long to compute.
    pub fn is_function_of_matrix(&self, id: Id) -> bool {
        match self.op(id) {
            Op::Along(..) => true,
            Op::Apply(function, of) => self.is_matrix(*of) && !matches!(function, Function::Mapped(_)),
            _ => false,
        }
    }

    /// Nodes that these are made of, and these themselves, each once and after its operands.
    pub fn reached(&self, from: &[Id]) -> Vec<Id> {
        self.reached_since(0, from)
    }

    /// Those of them that are not among the first nodes.
    fn reached_since(&self, first: usize, from: &[Id]) -> Vec<Id> {
        let last = from.iter().map(|id| id.index() + 1).max().unwrap_or(0).max(first);
        let mut is_reached = vec![false; last - first];
        let reach = |is_reached: &mut Vec<bool>, id: Id| {
            if let Some(at) = id.index().checked_sub(first) {
                is_reached[at] = true;
            }
        };
        from.iter().for_each(|id| reach(&mut is_reached, *id));
        for at in (first..last).rev() {
            if is_reached[at - first] {
                self.nodes[at].0.each_operand(|id| reach(&mut is_reached, id));
            }
        }
        (first..last).filter(|&at| is_reached[at - first]).map(|at| Id(at as u32)).collect()
    }

    /// Puts one node in the place of another wherever these nodes are made of it, and gives them in order.
    pub fn replaced(&mut self, in_these: &[Id], old: Id, new: Id) -> Vec<Id> {
        // What nodes from the old one on are now.
        let mut now: Vec<Id> = (old.0..self.len() as u32).map(Id).collect();
        now[0] = new;
        let of = |now: &[Id], id: Id| id.index().checked_sub(old.index()).map_or(id, |at| now[at]);
        for id in self.reached_since(old.index() + 1, in_these) {
            let mut operands = self.op(id).operands();
            let mut is_changed = false;
            for operand in &mut operands {
                let changed = of(&now, *operand);
                is_changed |= changed != *operand;
                *operand = changed;
            }
            if is_changed {
                let changed = self.add(self.op(id).with(&operands));
                now[id.index() - old.index()] = changed;
            }
        }
        in_these.iter().map(|id| of(&now, *id)).collect()
    }
}

//! A backward pass as a composition of places (spec.md §6), and what may stand at each place instead of what belongs there.
//!
//! The catalogue has mistakes that somebody thought of. Here each place of the adjoint, of the derivatives and of what is
//! around them is combined with each alternative that makes sense for its kind, and the sentences are put together likewise.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::catalogue::{
    self, ADJOINT, ADJOINT_AND_C, Fault, READS_U, SCAN, SLOPES, STATES, STATES_AND_U, STEP,
};
use super::variant::{Edge, Variant};
use crate::formula::{Form, Textbook};
use crate::method::Method;
use crate::problem::{Operand, Problem, Weights};
use crate::tensor::GradientName::{self, A, B, C, D, U, Z};
use crate::tensor::InputType;

/// Items of a batch up to which it is asked what one has left for the next: each of them is computed again for all after it.
const STALE: usize = 16;

/// Where a quantity is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    UInStates,
    UInShare,
    UInB,
    UInD,
    UInSkip,
    BInStates,
    BInShare,
    BInU,
    CInAdjoint,
    CInOutput,
    ABarInStates,
    ABarInAdjoint,
    HInStates,
    HInU,
    HInB,
    ABarByDelta,
    HByDelta,
    ABarByA,
    HByA,
    StateInABar,
    StateInC,
    StateInOutput,
    AdjointInU,
    AdjointInB,
    AdjointInABar,
    AdjointInH,
    DoutInAdjoint,
    DoutInC,
    DoutInSkip,
    DoutInD,
    DoutInZ,
    GateInAdjoint,
    GateInC,
    GateInSkip,
    GateInD,
    GateSlope,
    SoftplusSlope,
    SkipInU,
    SkipInZ,
    LastState,
    InitialState,
    InitialGradient,
    DeltaInBias,
    /// dout times the gate, and ω.
    OutputInAdjoint,
    OutputInC,
    /// delta with its bias, wherever it is used.
    Deltas,
    /// What the scans start from besides.
    AdjointStart,
    StatesStart,
    /// The term of h with this number, and its derivatives by Δ and by A.
    TermOfH(u8),
    TermByDelta(u8),
    TermByA(u8),
}

/// A factor of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Delta,
    DeltaSquared,
    DeltaCubed,
    A,
    Argument,
    ABar,
    HByDelta,
    /// 1 − z/2
    Denominator,
    H,
    U,
    B,
    C,
    SoftplusSlope,
    Gate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Batch,
    Channel,
    State,
    Position,
}

/// Which index is read in place of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map {
    First,
    Before,
    After,
    Reversed,
    /// A channel of group d % groups.
    Modulo,
    /// That of its number in a chunk of this length.
    Within(u16),
}

/// Δ as it is put into a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepSize {
    WithoutBias,
    WithoutSoftplus,
    Raw,
    At(isize),
    Of(Axis, Map),
    Narrow(InputType),
    /// Softplus is left out above this.
    PlainAbove(u8),
}

/// Of both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    ForwardAlone,
    ReversedAlone,
    ForwardForBoth,
    ReversedForBoth,
    Exchanged,
}

/// What stands for the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    Sigmoid,
    Argument,
    Slope,
}

/// A function of z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    One,
    Phi(u8),
    /// A power of 1/(1 − z/2).
    Resolvent(u8),
}

/// Δⁱ Aʲ f(z)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    pub delta: u8,
    pub a: u8,
    pub of: Of,
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    One,
    Zero,
    Conjugate,
    RealPart,
    Magnitude,
    Squared,
    Times(Field),
    Over(Field),
    Is(Field),
    /// φ with this index in place of the function of a term.
    IsPhi(u8),
    Term(Term),
    /// The number a/b as a factor.
    Factor(i8, i8),
    At(isize),
    Of(Axis, Map),
    /// Read as if the last two axes had been exchanged.
    Strides,
    Narrow(InputType),
    Step(StepSize),
    AConjugate,
    ARealPart,
    AOf(Axis, Map),
    /// The factor Δ before a function of z, and the factor A of z's derivative by Δ.
    Chain(StepSize),
    ChainAConjugate,
    ChainAOf(Axis, Map),
    Form(Form),
    Sides(Sides),
    /// C·dout alone.
    Own,
    /// What is carried alone.
    Carried,
    Gate(Gate),
    OneAbove(u8),
    /// σ(−x), σ(x)σ(−x)
    Complement,
    OfSigmoid,
    WithoutFactor,
    WithoutHalf,
    /// At the first position.
    StartsWithZero,
    StartsWithLast,
    StartsWithOwn,
    /// What the batch's item before has ended with.
    Stale,
    /// Before it was multiplied by Ā.
    StaleUndecayed,
}

/// One place, or several at once, with what stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    pub sites: &'static [Site],
    pub by: By,
    /// In the reversed scan alone, or in the forward one; in both otherwise.
    pub side: Option<bool>,
}

impl Swap {
    /// Whether the problem has what it is about.
    pub fn applies(&self, form: Form, problem: &Problem) -> bool {
        let shape = problem.shape;
        let is_complex = problem.weights == Weights::Complex;
        let has = |site: &Site| match site {
            Site::UInSkip | Site::SkipInZ => problem.z.is_some() && problem.d.is_some(),
            Site::DoutInZ | Site::CInOutput | Site::StateInOutput | Site::GateSlope => problem.z.is_some(),
            Site::GateInAdjoint | Site::GateInC => problem.z.is_some(),
            Site::GateInSkip | Site::GateInD => problem.z.is_some() && problem.d.is_some(),
            Site::SkipInU | Site::DoutInSkip | Site::DoutInD | Site::UInD => problem.d.is_some(),
            Site::SoftplusSlope => problem.delta_softplus,
            Site::BInStates | Site::BInShare | Site::BInU | Site::UInB | Site::HInB => {
                !problem.reads_with_b()
            }
            Site::InitialState => problem.initial_state.is_some(),
            Site::TermOfH(at) | Site::TermByDelta(at) | Site::TermByA(at) => {
                usize::from(*at) < form.formula().now().len()
            }
            _ => true,
        };
        let axis = |axis: Axis, map: Map| match (axis, map) {
            (_, Map::Within(length)) => shape.seqlen > usize::from(length),
            (_, Map::Modulo) => shape.groups > 1 && shape.groups < shape.dim,
            (Axis::Batch, _) => shape.batch > 1,
            (Axis::Channel, _) => shape.dim > 1,
            (Axis::State, _) => shape.dstate > 1,
            (Axis::Position, _) => shape.seqlen > 1,
        };
        let fits = match self.by {
            By::Conjugate | By::RealPart | By::AConjugate | By::ARealPart => is_complex,
            By::ChainAConjugate | By::WithoutFactor => is_complex,
            By::Sides(_) | By::WithoutHalf => form.is_bidirectional(),
            By::Of(along, map) | By::AOf(along, map) | By::ChainAOf(along, map) => axis(along, map),
            By::Step(StepSize::Of(along, map)) | By::Chain(StepSize::Of(along, map)) => axis(along, map),
            By::Step(StepSize::WithoutBias) | By::Chain(StepSize::WithoutBias) => {
                problem.delta_bias.is_some()
            }
            By::Step(StepSize::WithoutSoftplus | StepSize::PlainAbove(_))
            | By::Chain(StepSize::WithoutSoftplus | StepSize::PlainAbove(_)) => problem.delta_softplus,
            By::Step(StepSize::Raw) | By::Chain(StepSize::Raw) => {
                problem.delta_softplus && problem.delta_bias.is_some()
            }
            By::Form(other) => {
                other.formula().now() != form.formula().now() || other.formula().a_bar != form.formula().a_bar
            }
            By::IsPhi(_) => !form.formula().is_rational(),
            By::Stale | By::StaleUndecayed => (2..=STALE).contains(&shape.batch),
            By::Times(Field::Gate) | By::Over(Field::Gate) => problem.z.is_some(),
            By::Times(Field::SoftplusSlope) | By::Over(Field::SoftplusSlope) => problem.delta_softplus,
            _ => true,
        };
        let reads = |site: &Site| match (site, self.by) {
            (
                Site::BInStates | Site::BInShare | Site::BInU,
                By::At(_) | By::Of(Axis::Batch | Axis::Position, _),
            ) => problem.b_operand == Operand::Variable,
            (Site::CInAdjoint | Site::CInOutput, By::At(_) | By::Of(Axis::Batch | Axis::Position, _)) => {
                problem.c_operand == Operand::Variable
            }
            _ => true,
        };
        let has_side = self.side.is_none() || form.is_bidirectional();
        fits && has_side && self.sites.iter().any(|site| has(site) && reads(site))
    }
}

impl Swap {
    pub fn has(&self, site: Site) -> bool {
        self.sites.contains(&site)
    }

    /// Whether it changes what Δ and A are put into.
    pub fn is_of_steps(&self) -> bool {
        let is = |site: &Site| {
            matches!(site, Site::Deltas | Site::TermOfH(_) | Site::TermByDelta(_) | Site::TermByA(_))
        };
        self.sites.iter().any(is)
    }

    /// Whether something is kept in a narrow type.
    pub fn rounds(&self) -> bool {
        matches!(self.by, By::Narrow(_) | By::Step(StepSize::Narrow(_)) | By::Chain(StepSize::Narrow(_)))
    }
}

/// What is tried at a kind of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A factor.
    Factor,
    Complex,
    Position,
    /// An input of a channel, of a state, of a group, or of one item of the batch.
    Channel,
    State,
    Group,
    Batch,
    Narrow,
    Product,
    /// Made of Δ and A by a formula.
    Step,
    Sides,
    Adjoint,
    Gate,
    Softplus,
    Strides,
    Stale,
    Share,
    /// The factor Δ before a function of z, and the factor A of z's derivative by Δ.
    Chain,
    ChainA,
    Output,
    Start,
    Unit,
    Square,
    Instead,
    Chunk,
    Number,
    Phi,
    Deltas,
}

const TYPES: [InputType; 2] = [InputType::Bf16, InputType::F16];

impl Kind {
    fn alternatives(self) -> Vec<By> {
        let of = |axis: Axis, maps: &[Map]| maps.iter().map(|&map| By::Of(axis, map)).collect::<Vec<_>>();
        let around = [Map::First, Map::Before, Map::After, Map::Reversed];
        match self {
            Kind::Factor => vec![By::One, By::Squared],
            Kind::Complex => vec![By::Conjugate, By::RealPart, By::Magnitude],
            Kind::Position => {
                vec![By::At(-1), By::At(1), By::At(-2), By::At(2), By::Of(Axis::Position, Map::Reversed)]
            }
            Kind::Channel => of(Axis::Channel, &around),
            Kind::State => of(Axis::State, &around),
            Kind::Group => of(Axis::Channel, &[Map::Modulo, Map::First]),
            Kind::Batch => of(Axis::Batch, &around),
            Kind::Narrow => TYPES.map(By::Narrow).to_vec(),
            Kind::Product => {
                FIELDS.iter().flat_map(|&(field, ..)| [By::Times(field), By::Over(field)]).collect()
            }
            Kind::Step => {
                let forms =
                    Method::ALL.map(Form::from).into_iter().chain(FORMS.map(Form::from)).map(By::Form);
                let channel = [Map::First, Map::After].map(|map| By::AOf(Axis::Channel, map));
                let state =
                    [Map::First, Map::After, Map::Before, Map::Reversed].map(|map| By::AOf(Axis::State, map));
                let of_a = [By::AConjugate, By::ARealPart].into_iter().chain(channel).chain(state);
                sizes().into_iter().map(By::Step).chain(of_a).chain(forms).collect()
            }
            Kind::Sides => [
                Sides::ForwardForBoth,
                Sides::ReversedForBoth,
                Sides::ForwardAlone,
                Sides::ReversedAlone,
                Sides::Exchanged,
            ]
            .map(By::Sides)
            .to_vec(),
            Kind::Adjoint => vec![By::Own, By::Carried],
            Kind::Gate => [Gate::Sigmoid, Gate::Argument, Gate::Slope].map(By::Gate).to_vec(),
            Kind::Softplus => {
                let above = [0, 1, 2, 3, 4, 5, 6, 8, 10, 15].map(By::OneAbove);
                [By::Complement, By::OfSigmoid].into_iter().chain(above).collect()
            }
            Kind::Strides => vec![By::Strides],
            Kind::Stale => vec![By::Stale, By::StaleUndecayed],
            Kind::Share => vec![By::Zero],
            Kind::Chain => sizes().into_iter().map(By::Chain).collect(),
            Kind::ChainA => {
                let state = [Map::First, Map::After, Map::Before, Map::Reversed]
                    .map(|map| By::ChainAOf(Axis::State, map));
                let channel = [Map::First, Map::After].map(|map| By::ChainAOf(Axis::Channel, map));
                [By::ChainAConjugate].into_iter().chain(state).chain(channel).collect()
            }
            Kind::Output => vec![By::WithoutFactor, By::WithoutHalf],
            Kind::Unit => vec![By::One],
            Kind::Square => vec![By::Squared],
            Kind::Instead => [Field::Delta, Field::H, Field::HByDelta, Field::ABar].map(By::Is).to_vec(),
            Kind::Chunk => of(Axis::Position, &[16, 32, 64, 128].map(Map::Within)),
            Kind::Phi => [0, 1, 2, 3, 4].map(By::IsPhi).to_vec(),
            Kind::Number => NUMBERS.map(|(above, below)| By::Factor(above, below)).to_vec(),
            Kind::Deltas => {
                let maps = [
                    (Axis::Batch, Map::First),
                    (Axis::Batch, Map::Before),
                    (Axis::Batch, Map::After),
                    (Axis::Channel, Map::First),
                    (Axis::Channel, Map::After),
                    (Axis::Channel, Map::Before),
                    (Axis::Position, Map::Reversed),
                ];
                let maps = maps
                    .into_iter()
                    .chain([16, 32, 64, 128].map(|length| (Axis::Position, Map::Within(length))));
                let maps = maps.map(|(axis, map)| By::Of(axis, map)).chain([-1, 1].map(By::At));
                [By::Step(StepSize::WithoutBias)]
                    .into_iter()
                    .chain(maps)
                    .chain(TYPES.map(By::Narrow))
                    .collect()
            }
            Kind::Start => vec![By::StartsWithZero, By::StartsWithLast, By::StartsWithOwn],
        }
    }
}

/// What Δ may be made of.
fn sizes() -> Vec<StepSize> {
    let sizes = [StepSize::WithoutBias, StepSize::WithoutSoftplus, StepSize::Raw];
    let sizes = sizes.into_iter().chain([-1, 1].map(StepSize::At)).chain(TYPES.map(StepSize::Narrow));
    let sizes = sizes.chain([1, 2, 5, 10].map(StepSize::PlainAbove));
    let maps = [
        (Axis::Batch, Map::First),
        (Axis::Batch, Map::Before),
        (Axis::Channel, Map::First),
        (Axis::Channel, Map::After),
    ];
    sizes.chain(maps.map(|(axis, map)| StepSize::Of(axis, map))).collect()
}

/// What a coefficient is mistaken for being multiplied by.
const NUMBERS: [(i8, i8); 14] = [
    (0, 1),
    (2, 1),
    (1, 2),
    (-1, 1),
    (3, 1),
    (1, 3),
    (4, 1),
    (1, 4),
    (3, 2),
    (2, 3),
    (6, 1),
    (1, 6),
    (-1, 2),
    (-2, 1),
];

/// The forms besides the methods that Ā or B̄ may be taken from.
const FORMS: [Textbook; 4] =
    [Textbook::ZohExact, Textbook::Rk4Classical, Textbook::Euler, Textbook::BackwardEuler];

#[rustfmt::skip]
const FIELDS: [(Field, &str, &str); 14] = [
    (Field::Delta, "delta", "Δ"),
    (Field::DeltaSquared, "delta-squared", "Δ²"),
    (Field::DeltaCubed, "delta-cubed", "Δ³"),
    (Field::A, "a", "A"),
    (Field::HByDelta, "h-slope", "h's derivative by Δ"),
    (Field::Argument, "z", "z = ΔA"),
    (Field::ABar, "a-bar", "Ā"),
    (Field::Denominator, "denominator", "1 − z/2"),
    (Field::H, "h", "h"),
    (Field::U, "u", "u"),
    (Field::B, "b", "B"),
    (Field::C, "c", "C"),
    (Field::SoftplusSlope, "softplus-slope", "the derivative of softplus"),
    (Field::Gate, "gate", "the gate"),
];

struct Place {
    name: &'static str,
    what: &'static str,
    sites: &'static [Site],
    touches: &'static [GradientName],
    kinds: &'static [Kind],
}

const fn place(
    name: &'static str,
    what: &'static str,
    sites: &'static [Site],
    touches: &'static [GradientName],
    kinds: &'static [Kind],
) -> Place {
    Place { name, what, sites, touches, kinds }
}

const READ: &[Kind] = &[Kind::Factor, Kind::Position, Kind::Chunk, Kind::Channel, Kind::Batch, Kind::Narrow];
const ENTERS: &[Kind] =
    &[Kind::Output, Kind::Factor, Kind::Position, Kind::Chunk, Kind::Channel, Kind::Batch, Kind::Narrow];
const OPERAND: &[Kind] = &[
    Kind::Factor,
    Kind::Complex,
    Kind::Position,
    Kind::Chunk,
    Kind::Group,
    Kind::Batch,
    Kind::State,
    Kind::Narrow,
];
const COEFFICIENT: &[Kind] =
    &[Kind::Complex, Kind::Step, Kind::Factor, Kind::Position, Kind::Product, Kind::Narrow];
const INPUT: &[Kind] = &[
    Kind::Complex,
    Kind::Step,
    Kind::Factor,
    Kind::Instead,
    Kind::Position,
    Kind::Product,
    Kind::Chain,
    Kind::Narrow,
];
const BY_DELTA: &[Kind] = &[
    Kind::Complex,
    Kind::Step,
    Kind::Square,
    Kind::Instead,
    Kind::Position,
    Kind::Product,
    Kind::ChainA,
    Kind::Narrow,
];
const BY_A: &[Kind] = &[
    Kind::Complex,
    Kind::Step,
    Kind::Unit,
    Kind::Square,
    Kind::Instead,
    Kind::Position,
    Kind::Product,
    Kind::Chain,
    Kind::Narrow,
];
const OF_A_BAR: &[Kind] = &[
    Kind::Complex,
    Kind::Step,
    Kind::Square,
    Kind::Instead,
    Kind::Phi,
    Kind::Position,
    Kind::Product,
    Kind::ChainA,
    Kind::Narrow,
];
const A_BAR_BY_A: &[Kind] = &[
    Kind::Complex,
    Kind::Step,
    Kind::Unit,
    Kind::Square,
    Kind::Instead,
    Kind::Phi,
    Kind::Position,
    Kind::Product,
    Kind::Chain,
    Kind::Narrow,
];
const A_BAR_SLOPE: &[Kind] =
    &[Kind::Complex, Kind::Step, Kind::Phi, Kind::Position, Kind::Product, Kind::Narrow];
const SLOPE: &[Kind] = &[Kind::Complex, Kind::Step, Kind::Position, Kind::Product, Kind::Narrow];
const STATE: &[Kind] = &[Kind::Unit, Kind::Complex, Kind::Position, Kind::Narrow, Kind::Sides, Kind::Product];
const SHARED: &[Kind] =
    &[Kind::Unit, Kind::Start, Kind::Complex, Kind::Position, Kind::Narrow, Kind::Sides, Kind::Product];
const CARRIED: &[Kind] =
    &[Kind::Complex, Kind::Position, Kind::Narrow, Kind::Sides, Kind::Adjoint, Kind::Product];
const COTANGENT: &[Kind] =
    &[Kind::Unit, Kind::Complex, Kind::Position, Kind::Narrow, Kind::Sides, Kind::Adjoint];
const GATE: &[Kind] = &[Kind::Factor, Kind::Gate, Kind::Position, Kind::Channel, Kind::Batch, Kind::Narrow];
const TERM: &[Kind] = &[Kind::Phi, Kind::Product, Kind::Complex, Kind::Unit];
const OF_H: &[Kind] = &[Kind::Number, Kind::Phi, Kind::Product];
const READS_H: &[GradientName] = &[U, GradientName::Delta, A, B, C, Z, GradientName::DeltaBias];

/// One place each, then places that share a cause.
#[rustfmt::skip]
const PLACES: &[Place] = &[
    place("u-in-b", "u in grad.B", &[Site::UInB], &[B], READ),
    place("u-in-d", "u in grad.D", &[Site::UInD], &[D], &[Kind::Factor, Kind::Position, Kind::Channel, Kind::Batch, Kind::Narrow, Kind::Product]),
    place("u-in-z", "u of the skip in grad.z", &[Site::UInSkip], &[Z], READ),
    place("u-in-share", "u in h's share", &[Site::UInShare], SLOPES, READ),
    place("u-in-states", "u in the states of the backward pass", &[Site::UInStates], STATES, READ),
    place("u-in-products", "u in the backward products", &[Site::UInShare, Site::UInB], &[GradientName::Delta, A, B, GradientName::DeltaBias], READ),
    place("b-in-u", "B in grad.u", &[Site::BInU], &[U], OPERAND),
    place("b-in-share", "B in h's share", &[Site::BInShare], SLOPES, OPERAND),
    place("b-in-states", "B in the states of the backward pass", &[Site::BInStates], STATES, OPERAND),
    place("b-in-products", "B in the backward products", &[Site::BInShare, Site::BInU], &[U, GradientName::Delta, A, GradientName::DeltaBias], OPERAND),
    place("c-in-adjoint", "C in the adjoint", &[Site::CInAdjoint], ADJOINT, OPERAND),
    place("c-in-z", "C in the output of grad.z", &[Site::CInOutput], &[Z], OPERAND),
    place("c", "C", &[Site::CInAdjoint, Site::CInOutput], SCAN, OPERAND),
    place("h-in-u", "h, B̄ for B = 1, in grad.u", &[Site::HInU], &[U], INPUT),
    place("h-in-b", "h, B̄ for B = 1, in grad.B", &[Site::HInB], &[B], INPUT),
    place("h-in-products", "h, B̄ for B = 1, in grad.u and grad.B", &[Site::HInU, Site::HInB], &[U, B], INPUT),
    place("h-and-b-in-u", "h·B, the factor of the adjoint in grad.u,", &[Site::HInU, Site::BInU], &[U], &[Kind::Unit, Kind::Complex]),
    place("h-and-u-in-b", "h·u, the factor of the adjoint in grad.B,", &[Site::HInB, Site::UInB], &[B], &[Kind::Unit]),
    place("b-and-u-in-share", "B·u in h's share", &[Site::BInShare, Site::UInShare], SLOPES, &[Kind::Unit]),
    place("h-in-states", "h, B̄ for B = 1, in the states of the backward pass", &[Site::HInStates], STATES, COEFFICIENT),
    place("a-bar-in-adjoint", "Ā in the adjoint recurrence", &[Site::ABarInAdjoint], ADJOINT, COEFFICIENT),
    place("a-bar-in-states", "Ā in the states of the backward pass", &[Site::ABarInStates], STATES, COEFFICIENT),
    place("a-bar", "Ā in the backward pass", &[Site::ABarInStates, Site::ABarInAdjoint], SCAN, COEFFICIENT),
    place("coefficients-of-states", "Ā and h in the states of the backward pass", &[Site::ABarInStates, Site::HInStates], STATES, &[Kind::Step, Kind::Narrow]),
    place("h-slope-by-delta", "h's derivative by Δ", &[Site::HByDelta], STEP, BY_DELTA),
    place("a-bar-slope-by-delta", "Ā's derivative by Δ", &[Site::ABarByDelta], STEP, OF_A_BAR),
    place("h-slope-by-a", "h's derivative by A", &[Site::HByA], &[A], BY_A),
    place("a-bar-slope-by-a", "Ā's derivative by A", &[Site::ABarByA], &[A], A_BAR_BY_A),
    place("a-bar-slopes", "Ā's derivative", &[Site::ABarByDelta, Site::ABarByA], SLOPES, A_BAR_SLOPE),
    place("h-slopes", "h's derivative", &[Site::HByDelta, Site::HByA], SLOPES, SLOPE),
    place("slopes-by-delta", "the derivative by Δ", &[Site::ABarByDelta, Site::HByDelta], STEP, BY_DELTA),
    place("slopes-by-a", "the derivative by A", &[Site::ABarByA, Site::HByA], &[A], BY_A),
    place("slopes", "each derivative by Δ and A", &[Site::ABarByA, Site::HByA, Site::ABarByDelta, Site::HByDelta], SLOPES, SLOPE),
    place("h-term-1", "term 1 of h", &[Site::TermOfH(0)], READS_H, OF_H),
    place("h-term-2", "term 2 of h", &[Site::TermOfH(1)], READS_H, OF_H),
    place("h-term-3", "term 3 of h", &[Site::TermOfH(2)], READS_H, OF_H),
    place("h-term-4", "term 4 of h", &[Site::TermOfH(3)], READS_H, OF_H),
    place("h-term-1-with-slopes", "term 1 of h with its derivatives", &[Site::TermOfH(0), Site::TermByDelta(0), Site::TermByA(0)], READS_H, &[Kind::Number]),
    place("h-term-2-with-slopes", "term 2 of h with its derivatives", &[Site::TermOfH(1), Site::TermByDelta(1), Site::TermByA(1)], READS_H, &[Kind::Number]),
    place("h-term-3-with-slopes", "term 3 of h with its derivatives", &[Site::TermOfH(2), Site::TermByDelta(2), Site::TermByA(2)], READS_H, &[Kind::Number]),
    place("h-term-4-with-slopes", "term 4 of h with its derivatives", &[Site::TermOfH(3), Site::TermByDelta(3), Site::TermByA(3)], READS_H, &[Kind::Number]),
    place("h-slope-term-1-by-delta", "the derivative by Δ of term 1 of h", &[Site::TermByDelta(0)], STEP, TERM),
    place("h-slope-term-2-by-delta", "the derivative by Δ of term 2 of h", &[Site::TermByDelta(1)], STEP, TERM),
    place("h-slope-term-3-by-delta", "the derivative by Δ of term 3 of h", &[Site::TermByDelta(2)], STEP, TERM),
    place("h-slope-term-4-by-delta", "the derivative by Δ of term 4 of h", &[Site::TermByDelta(3)], STEP, TERM),
    place("h-slope-term-1-by-a", "the derivative by A of term 1 of h", &[Site::TermByA(0)], &[A], TERM),
    place("h-slope-term-2-by-a", "the derivative by A of term 2 of h", &[Site::TermByA(1)], &[A], TERM),
    place("h-slope-term-3-by-a", "the derivative by A of term 3 of h", &[Site::TermByA(2)], &[A], TERM),
    place("h-slope-term-4-by-a", "the derivative by A of term 4 of h", &[Site::TermByA(3)], &[A], TERM),
    place("state-in-c", "the state in grad.C", &[Site::StateInC], &[C], STATE),
    place("state-in-z", "the state in the output of grad.z", &[Site::StateInOutput], &[Z], STATE),
    place("state-in-share", "the state in Ā's share", &[Site::StateInABar], SLOPES, SHARED),
    place("states", "the state in the backward products", &[Site::StateInABar, Site::StateInC], &[GradientName::Delta, A, C, GradientName::DeltaBias], STATE),
    place("adjoint-in-u", "the adjoint in grad.u", &[Site::AdjointInU], &[U], COTANGENT),
    place("adjoint-in-b", "the adjoint in grad.B", &[Site::AdjointInB], &[B], COTANGENT),
    place("adjoint-in-a-bar-share", "the adjoint in Ā's share", &[Site::AdjointInABar], SLOPES, COTANGENT),
    place("adjoint-in-h-share", "the adjoint in h's share", &[Site::AdjointInH], SLOPES, COTANGENT),
    place("adjoint-in-shares", "the adjoint in grad.delta and grad.A", &[Site::AdjointInABar, Site::AdjointInH], SLOPES, COTANGENT),
    place("adjoint-in-products", "the adjoint in every product", &[Site::AdjointInU, Site::AdjointInB, Site::AdjointInABar, Site::AdjointInH], ADJOINT, CARRIED),
    place("dout-in-adjoint", "dout in the adjoint", &[Site::DoutInAdjoint], ADJOINT, ENTERS),
    place("dout-in-c", "dout in grad.C", &[Site::DoutInC], &[C], ENTERS),
    place("dout-in-skip", "dout on the path of D in grad.u", &[Site::DoutInSkip], &[U], &[Kind::Factor, Kind::Position, Kind::Channel, Kind::Batch, Kind::Narrow, Kind::Product]),
    place("dout-in-d", "dout in grad.D", &[Site::DoutInD], &[D], READ),
    place("dout-in-z", "dout in grad.z", &[Site::DoutInZ], &[Z], &[Kind::Factor, Kind::Position, Kind::Channel, Kind::Batch, Kind::Narrow, Kind::Product]),
    place("dout-in-scan", "dout in the scan", &[Site::DoutInAdjoint, Site::DoutInC], ADJOINT_AND_C, &[Kind::Output, Kind::Number, Kind::Factor, Kind::Position, Kind::Chunk, Kind::Channel, Kind::Batch, Kind::Narrow]),
    place("dout", "dout", &[Site::DoutInAdjoint, Site::DoutInC, Site::DoutInSkip, Site::DoutInD, Site::DoutInZ], &GradientName::ALL, READ),
    place("gate-in-adjoint", "the gate of dout in the adjoint", &[Site::GateInAdjoint], ADJOINT, GATE),
    place("gate-in-c", "the gate of dout in grad.C", &[Site::GateInC], &[C], GATE),
    place("gate-in-skip", "the gate of dout on the path of D in grad.u", &[Site::GateInSkip], &[U], GATE),
    place("gate-in-d", "the gate of dout in grad.D", &[Site::GateInD], &[D], GATE),
    place("gate-in-scan", "the gate of dout in the scan", &[Site::GateInAdjoint, Site::GateInC], ADJOINT_AND_C, GATE),
    place("gate", "the gate of dout", &[Site::GateInAdjoint, Site::GateInC, Site::GateInSkip, Site::GateInD], &GradientName::ALL, GATE),
    place("gate-slope", "the gate's derivative", &[Site::GateSlope], &[Z], &[Kind::Factor, Kind::Position, Kind::Channel, Kind::Batch, Kind::Narrow, Kind::Product]),
    place("softplus-slope", "the derivative of softplus", &[Site::SoftplusSlope], STEP, &[Kind::Softplus, Kind::Position, Kind::Narrow, Kind::Product, Kind::Channel]),
    place("skip-in-u", "D in grad.u", &[Site::SkipInU], &[U], &[Kind::Factor, Kind::Channel, Kind::Narrow]),
    place("skip-in-z", "D in grad.z", &[Site::SkipInZ], &[Z], &[Kind::Factor, Kind::Channel, Kind::Narrow]),
    place("dlast-state", "dlast_state", &[Site::LastState], ADJOINT, &[Kind::Number, Kind::Complex, Kind::Batch, Kind::Channel, Kind::State, Kind::Strides, Kind::Product, Kind::Narrow]),
    place("initial-state", "the initial state in the backward pass", &[Site::InitialState], STATES, &[Kind::Complex, Kind::Batch, Kind::Channel, Kind::State, Kind::Strides, Kind::Product, Kind::Narrow]),
    place("adjoint-start", "the adjoint at the last position", &[Site::AdjointStart], ADJOINT, &[Kind::Stale]),
    place("states-start", "the state at the first position of the backward pass", &[Site::StatesStart], STATES, &[Kind::Stale]),
    place("initial-gradient", "what arrives at the initial state", &[Site::InitialGradient], &[GradientName::InitialState], &[Kind::Complex, Kind::Position, Kind::Product, Kind::Narrow]),
    place("output-in-adjoint", "dout with its gate in the adjoint", &[Site::OutputInAdjoint], ADJOINT, &[Kind::Factor]),
    place("output-in-c", "dout with its gate in grad.C", &[Site::OutputInC], &[C], &[Kind::Factor]),
    place("deltas", "delta in the backward pass", &[Site::Deltas], SCAN, &[Kind::Deltas]),
    place("u", "u in the backward pass", &[Site::UInStates, Site::UInShare, Site::UInB, Site::UInD, Site::UInSkip], READS_U, READ),
    place("b", "B in the backward pass", &[Site::BInStates, Site::BInShare, Site::BInU], STATES_AND_U, OPERAND),
    place("steps", "each coefficient of the backward pass", &[Site::ABarInStates, Site::HInStates, Site::ABarInAdjoint, Site::HInU, Site::HInB, Site::ABarByA, Site::HByA, Site::ABarByDelta, Site::HByDelta], SCAN, &[Kind::Step]),
    place("delta-in-bias", "the gradient of delta in the sum of grad.delta_bias", &[Site::DeltaInBias], &[GradientName::DeltaBias], &[Kind::Narrow, Kind::Position, Kind::Product]),
    place("initial-share", "the initial state's share", &[Site::InitialState], STATES, &[Kind::Share]),
];

/// A place with what stands there, in words.
fn worded(place: &Place, by: By) -> (String, String) {
    let narrow = |to: InputType| if to == InputType::Bf16 { "bf16" } else { "f16" };
    let field = |of: Field| FIELDS.iter().find(|(field, ..)| *field == of).map_or(("", ""), |f| (f.1, f.2));
    let is_forward = place.name.ends_with("states") || place.name == "initial-state";
    let of = |axis: Axis, map: Map| {
        let (short, long) = match axis {
            Axis::Batch => ("batch", "item of the batch"),
            Axis::Channel => ("channel", "channel"),
            Axis::State => ("state", "state"),
            Axis::Position => ("position", "position"),
        };
        match map {
            Map::First => (format!("of-first-{short}"), format!("that of the first {long} for all")),
            Map::Before => (format!("of-{short}-before"), format!("that of the {long} before")),
            Map::After => (format!("of-{short}-after"), format!("that of the {long} after")),
            Map::Reversed => (format!("{short}-reversed"), format!("read from the last {long} to the first")),
            Map::Within(length) => (
                format!("within-{length}"),
                format!("that of its {long} within a chunk of {length}, counted from the first chunk"),
            ),
            Map::Modulo => ("of-modulo-group".to_owned(), "that of group d mod groups".to_owned()),
        }
    };
    let near = |by: isize| match by {
        -1 => ("of-position-before".to_owned(), "that of the position before".to_owned()),
        1 => ("of-position-after".to_owned(), "that of the position after".to_owned()),
        by if by < 0 => (format!("of-{}-positions-before", -by), format!("that of {} positions before", -by)),
        by => (format!("of-{by}-positions-after"), format!("that of {by} positions after")),
    };
    let is = |(name, what): (String, String)| (name, format!("is {what}"));
    let plain = |name: &str, what: &str| (name.to_owned(), what.to_owned());
    let (name, what) = match by {
        By::One => plain("missing", "is missing"),
        By::Zero => plain("zero", "is 0"),
        By::Conjugate if is_forward => plain("conjugated", "is conjugated"),
        By::Conjugate => plain("unconjugated", "is not conjugated"),
        By::RealPart => plain("real-part", "has its real part alone"),
        By::Magnitude => plain("magnitude", "has its absolute value in its place"),
        By::Squared => plain("squared", "is squared"),
        By::Times(of) => (format!("times-{}", field(of).0), format!("has a factor {} too much", field(of).1)),
        By::Is(of) => (format!("is-{}", field(of).0), format!("has {} in its place", field(of).1)),
        By::IsPhi(k) => (format!("of-phi-{k}"), format!("has φ{k} for its function of z")),
        By::Factor(above, below) => {
            let value = if below == 1 { format!("{above}") } else { format!("{above}/{below}") };
            (
                format!("times-{}", value.replace('-', "minus-").replace('/', "-over-")),
                format!("has the factor {value}"),
            )
        }
        // A search puts it together and words it itself.
        By::Term(_) => plain("of-a-term", "is one term"),
        By::Over(of) => {
            (format!("over-{}", field(of).0), format!("lacks a factor {}: it is divided by it", field(of).1))
        }
        By::At(by) => is(near(by)),
        By::Of(axis, map) => is(of(axis, map)),
        By::Strides => plain("of-other-strides", "is read as if its channels and states were exchanged"),
        By::Narrow(to) => (narrow(to).to_owned(), format!("is kept in {}", narrow(to))),
        By::Step(size) | By::Chain(size) => {
            let (name, what) = match size {
                StepSize::WithoutBias => plain("without-bias", "without the bias"),
                StepSize::WithoutSoftplus => plain("without-softplus", "without softplus"),
                StepSize::Raw => plain("raw", "without bias and softplus"),
                StepSize::At(by) => near(by),
                StepSize::Of(axis, map) => of(axis, map),
                StepSize::Narrow(to) => (narrow(to).to_owned(), format!("in {}", narrow(to))),
                StepSize::PlainAbove(from) => {
                    (format!("plain-above-{from}"), format!("without softplus above {from}"))
                }
            };
            let what = what.replace("that of", "of");
            match by {
                By::Chain(_) => {
                    (format!("times-delta-{name}"), format!("has for its factor Δ the one {what}"))
                }
                _ => (format!("of-delta-{name}"), format!("is made of Δ {what}")),
            }
        }
        By::ChainAConjugate => plain("times-a-unconjugated", "has a factor A that is not conjugated"),
        By::ChainAOf(axis, map) => {
            let (name, what) = of(axis, map);
            (
                format!("times-a-{name}"),
                format!("has for its factor A the one {}", what.replace("that of", "of")),
            )
        }
        By::Complement => plain("complement", "is σ(−x) in place of σ(x)"),
        By::OfSigmoid => plain("of-sigmoid", "is that of the sigmoid, σ(x)σ(−x)"),
        By::WithoutFactor => plain("without-factor", "lacks the factor 2 of complex outputs"),
        By::WithoutHalf => plain("without-half", "lacks the ½ of both directions"),
        By::StartsWithZero => {
            plain("starts-with-zero", "is 0 at the first position, as if there were no initial state")
        }
        By::StartsWithLast => plain("starts-with-last", "is the one after the last position at the first"),
        By::StartsWithOwn => plain("starts-with-own", "is the one after the step at the first position"),
        By::AConjugate => plain("of-a-conjugated", "is made of A's conjugate"),
        By::ARealPart => plain("of-a-real-part", "is made of A's real part"),
        By::AOf(axis, map) => {
            let (name, what) = of(axis, map);
            (format!("of-a-{name}"), format!("is made of A {}", what.replace("that of", "of")))
        }
        By::Form(form) => (format!("of-{form}"), format!("is that of {form}")),
        By::Sides(Sides::ForwardForBoth) => {
            plain("forward-for-both", "is the forward scan's in both directions")
        }
        By::Sides(Sides::ReversedForBoth) => {
            plain("reversed-for-both", "is the reversed scan's in both directions")
        }
        By::Sides(Sides::ForwardAlone) => {
            plain("forward-alone", "is the forward scan's alone: the reversed one's is missing")
        }
        By::Sides(Sides::ReversedAlone) => {
            plain("reversed-alone", "is the reversed scan's alone: the forward one's is missing")
        }
        By::Sides(Sides::Exchanged) => plain("sides-exchanged", "is that of the other direction"),
        By::Own => plain("of-own-position", "is C·dout of its own position alone, without what is carried"),
        By::Carried => plain("carried-alone", "is what is carried alone, without C·dout of its own position"),
        By::Gate(Gate::Sigmoid) => plain("sigmoid", "is the sigmoid alone, without the factor z"),
        By::Gate(Gate::Argument) => plain("argument", "is z alone, without the sigmoid"),
        By::Gate(Gate::Slope) => plain("slope", "is the gate's derivative"),
        By::OneAbove(from) => (format!("one-above-{from}"), format!("is 1 above {from}")),
        By::Stale => plain("stale", "starts from what the batch's item before has ended with"),
        By::StaleUndecayed => {
            plain("stale-undecayed", "starts from what the batch's item before had at its last step")
        }
    };
    (format!("{}-{name}", place.name), format!("{} {what}", place.what))
}

/// Every single change, with its number.
static SWAPS: LazyLock<Vec<Swap>> =
    LazyLock::new(|| each().map(|(place, by, side)| Swap { sites: place.sites, by, side }).collect());

fn each() -> impl Iterator<Item = (&'static Place, By, Option<bool>)> {
    let of = |place: &'static Place, side: Option<bool>| {
        let all = place.kinds.iter().flat_map(|kind| kind.alternatives());
        all.map(move |by| (place, by, side))
    };
    let is_of_scan = |place: &&Place| place.sites.iter().all(|site| OF_SCANS.contains(site));
    let of_sides = [false, true]
        .into_iter()
        .flat_map(move |side| PLACES.iter().filter(is_of_scan).flat_map(move |place| of(place, Some(side))));
    PLACES.iter().flat_map(move |place| of(place, None)).chain(of_sides)
}

/// What each direction has of its own.
const OF_SCANS: [Site; 8] = [
    Site::UInStates,
    Site::BInStates,
    Site::CInAdjoint,
    Site::ABarInStates,
    Site::HInStates,
    Site::ABarInAdjoint,
    Site::DoutInAdjoint,
    Site::OutputInAdjoint,
];

/// Every single change of a place, and what goes wrong at the edges of chunks, as fault models.
pub static ALL: LazyLock<Vec<Fault>> = LazyLock::new(|| {
    let swaps = each().enumerate().map(|(number, (place, by, side))| {
        let (name, what) = worded(place, by);
        let (name, what) = match side {
            None => (name, what),
            Some(false) => (format!("forward-{name}"), format!("in the forward scan alone, {what}")),
            Some(true) => (format!("reversed-{name}"), format!("in the reversed scan alone, {what}")),
        };
        Fault::numbered(
            name.leak(),
            what.leak(),
            place.touches,
            |variant, number| variant.swap(SWAPS[number]),
            number,
        )
    });
    let edges = LENGTHS.iter().flat_map(|&length| edges_at(length));
    let is_new = |fault: &Fault| catalogue::find(fault.name).is_none();
    swaps.chain(edges).filter(is_new).collect()
});

/// The same of every other length that chunks, tiles and windows may have: what nothing else explains.
pub static OF_ANY_LENGTH: LazyLock<Vec<Fault>> = LazyLock::new(|| {
    let known: HashSet<&str> = catalogue::ALL.iter().chain(ALL.iter()).map(|fault| fault.name).collect();
    let lengths: Vec<usize> = (2..=LONGEST).collect();
    let edges = lengths.iter().flat_map(|&length| edges_at(length));
    let all = edges.chain(catalogue::windows(&lengths)).filter(|fault| !known.contains(fault.name));
    all.collect()
});

/// Of the lengths that are tried one by one.
const LONGEST: usize = 256;

/// What goes wrong at multiples of a length.
fn edges_at(length: usize) -> impl Iterator<Item = Fault> {
    EDGES.iter().enumerate().flat_map(move |(kind, (name, what, touches, _))| {
        SIDES.iter().enumerate().map(move |(side, (prefix, whose, _))| {
            let what = match what.contains("{}") {
                true => what.replace("{}", &length.to_string()),
                false => format!("{what} at multiples of {length}"),
            };
            let name = format!("{prefix}{name}-at-{length}").leak();
            let number = (length * EDGES.len() + kind) * SIDES.len() + side;
            Fault::numbered(name, format!("{whose}{what}").leak(), touches, edge, number)
        })
    })
}

/// Lengths of chunks; the catalogue has powers of two from 16 on for what is likeliest.
const LENGTHS: [usize; 20] =
    [4, 8, 10, 12, 16, 20, 24, 25, 32, 40, 48, 50, 64, 96, 100, 128, 256, 512, 1024, 2048];

#[rustfmt::skip]
const SIDES: [(&str, &str, [bool; 2]); 3] = [
    ("", "", [true, true]),
    ("forward-", "in the forward scan ", [true, false]),
    ("reversed-", "in the reversed scan ", [false, true]),
];

#[rustfmt::skip]
const EDGES: &[(&str, &str, &[GradientName], Edge)] = &[
    ("adjoint-lost", "the adjoint is lost", ADJOINT, Edge::Adjoint(0.0)),
    ("adjoint-undecayed", "the adjoint passes without Ā", ADJOINT, Edge::Undecayed),
    ("adjoint-doubled", "the adjoint counts twice", ADJOINT, Edge::Adjoint(2.0)),
    ("adjoint-halved", "the adjoint counts half", ADJOINT, Edge::Adjoint(0.5)),
    ("adjoint-negated", "the adjoint has the wrong sign", ADJOINT, Edge::Adjoint(-1.0)),
    ("adjoint-decayed-twice", "the adjoint is multiplied by Ā twice", ADJOINT, Edge::DecayedTwice),
    ("adjoint-decayed-by-own", "the adjoint is multiplied by Ā of the position that it arrives at", ADJOINT, Edge::DecayedByOwn),
    ("adjoint-decayed-by-chunk-end", "the adjoint is multiplied by Ā of the last position of the chunk that it leaves", ADJOINT, Edge::DecayedByEnd),
    ("dlast-state-again", "dlast_state is added again", ADJOINT, Edge::LastStateAgain),
    ("state-in-backward-lost", "the backward pass loses the state", STATES, Edge::State(0.0)),
    ("state-in-backward-doubled", "the state of the backward pass counts twice", STATES, Edge::State(2.0)),
    ("state-in-backward-undecayed", "the state of the backward pass is carried on without Ā", STATES, Edge::StateUndecayed),
    ("state-in-backward-decayed-twice", "the state of the backward pass is multiplied by Ā twice", STATES, Edge::StateDecayedTwice),
    ("initial-state-again", "the backward pass starts from the initial state again", STATES, Edge::InitialStateAgain),
    ("state-of-chunk-before", "the backward pass starts from the state that the chunk before has started from", STATES, Edge::StateOfChunkBefore),
    ("state-one-before", "the backward pass starts from the state of one position before", STATES, Edge::StateOneBefore),
    ("state-unread", "Ā's share has 0 for the state before", SLOPES, Edge::Unread),
    ("state-after-read", "Ā's share has the state after the step in place of the one before", SLOPES, Edge::ReadsAfter),
    ("state-bf16", "the state that the backward pass starts from is kept in bf16", STATES, Edge::Stored(InputType::Bf16)),
    ("state-f16", "the state that the backward pass starts from is kept in f16", STATES, Edge::Stored(InputType::F16)),
    ("adjoint-bf16", "the adjoint is kept in bf16", ADJOINT, Edge::AdjointStored(InputType::Bf16)),
    ("adjoint-f16", "the adjoint is kept in f16", ADJOINT, Edge::AdjointStored(InputType::F16)),
    ("adjoint-ends", "the adjoint has what {} positions add, its own and those after it, and nothing from further on", ADJOINT, Edge::Reach),
];

fn edge(variant: &mut Variant, number: usize) {
    let (kind, side) = (number / SIDES.len(), number % SIDES.len());
    variant.edge = Some((kind / EDGES.len(), EDGES[kind % EDGES.len()].3));
    variant.edge_in = SIDES[side].2;
}

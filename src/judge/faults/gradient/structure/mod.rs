//! A backward pass as a composition of places (spec.md §6), and what may stand at each place instead of what belongs there.
//!
//! The catalogue has mistakes that somebody thought of. Here each place of the adjoint, of the derivatives and of what is
//! around them is combined with each alternative that makes sense for its kind, and the sentences are put together likewise.

mod edges;
mod kinds;
mod places;
mod words;

use std::collections::HashSet;
use std::sync::LazyLock;

use self::edges::{LENGTHS, edges_at};
use self::places::{PLACES, Place};
use self::words::worded;
use super::catalogue::{self, Fault};
use crate::formula::Form;
use crate::problem::{Operand, Problem, Weights};
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

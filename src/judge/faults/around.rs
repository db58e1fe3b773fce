//! What may be otherwise around the formula, as data with free parameters: where each input is read, what is made of it,
//! how the step, the gate and the carried state are formed.

use std::f64::consts::{PI, SQRT_2};

use super::place::Map;
use super::variant::Clamp;
use crate::formula::Term;
use crate::judge::budget::softplus;
use crate::problem::InputType;

/// What softplus is replaced by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// Softplus where it is stated, nothing where it is not.
    Stated,
    /// softplus(βx)/β, the identity above the threshold.
    Softplus {
        beta: f64,
        above: f64,
    },
    /// log(1 + eˣ) as it is written, which is infinite where eˣ is.
    Naive,
    None,
    Exp,
    Relu,
    Sigmoid,
    Silu,
    Square,
    Abs,
    /// log(1 + x²)
    LogOfSquare,
}

impl Activation {
    pub const SOFTPLUS: Activation = Activation::Softplus { beta: 1.0, above: f64::INFINITY };

    /// Its value at x, and x·f′/f: what a relative error of x becomes.
    pub fn of(self, x: f64) -> (f64, f64) {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        match self {
            Activation::Stated | Activation::None => (x, 1.0),
            Activation::Softplus { above, .. } if x > above => (x, 1.0),
            Activation::Softplus { beta, .. } => {
                let value = softplus(beta * x) / beta;
                // Both vanish together as x → −∞.
                let conditioning = if value != 0.0 { x * sigmoid(beta * x) / value } else { x };
                (value, conditioning.abs())
            }
            Activation::Naive if x > f64::from(f32::MAX).ln() => (f64::INFINITY, 1.0),
            Activation::Naive => Activation::SOFTPLUS.of(x),
            Activation::Exp => (x.exp(), x.abs()),
            Activation::Relu => (x.max(0.0), 1.0),
            Activation::Sigmoid => (sigmoid(x), x.abs()),
            Activation::Silu => (x * sigmoid(x), 1.0 + x.abs()),
            Activation::Square => (x * x, 2.0),
            Activation::Abs => (x.abs(), 1.0),
            Activation::LogOfSquare => ((x * x).ln_1p(), 2.0),
        }
    }
}

/// How Δ is made: factor·clamp(f(raw·delta + before·bias) + after·bias).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSize {
    pub raw: f64,
    pub before: f64,
    pub activation: Activation,
    /// Whether softplus is applied to the result again.
    pub again: bool,
    pub after: f64,
    pub clamp: Clamp,
    pub factor: f64,
    /// Which position's it is.
    pub l: Map,
    /// Whether it is the mean of each block of so many positions.
    pub mean_of: Option<usize>,
}

impl StepSize {
    pub const RIGHT: StepSize = StepSize {
        raw: 1.0,
        before: 1.0,
        activation: Activation::Stated,
        again: false,
        after: 0.0,
        clamp: Clamp::None,
        factor: 1.0,
        l: Map::Same,
        mean_of: None,
    };
}

/// What is used as A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AUse {
    Given,
    Negated,
    /// −exp(A)
    NegativeExponential,
    /// exp(A)
    Exponential,
    /// log(−A), which A_log is
    Logarithm,
    /// −log(−A)
    NegativeLogarithm,
    RealPart,
    /// Its real part is dropped.
    WithoutRealPart,
    /// Re A is −exp(Re A), as where it is taken for a logarithm.
    ExponentialOfRealPart,
    /// Re A is log(−Re A), which is the logarithm itself.
    LogarithmOfRealPart,
    Conjugated,
    Modulus,
    /// −|A|
    NegativeModulus,
    Reciprocal,
    /// The mean over the channel's states.
    Mean,
}

/// Of which quantity a guard asks whether it is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarded {
    Z,
    /// Its real part.
    RealPartOfZ,
    A,
    Delta,
}

/// What poly's reversed scan flips before it runs as a forward one, and whether its output is flipped back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flips {
    pub u: bool,
    pub delta: bool,
    pub b: bool,
    pub c: bool,
    pub back: bool,
}

impl Flips {
    pub const RIGHT: Flips = Flips { u: true, delta: true, b: true, c: true, back: true };
}

/// What is used as u.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UUse {
    Given,
    Silu,
    /// u·silu(z)
    Gated,
    One,
    Relu,
    Tanh,
    TimesDelta,
    Squared,
    /// That of so many positions further on.
    At(isize),
    /// From the last position to the first.
    Reversed,
    /// That of another position.
    In(Map),
    /// It counts twice at the last position of each block of so many.
    TwiceAtLast(usize),
}

/// What becomes of an output at last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finish {
    Given,
    Tanh,
    Relu,
    Silu,
    Sigmoid,
    /// It is clipped to [−c, c].
    Clipped(f64),
}

impl Finish {
    /// Its value. No slope is above 1.1.
    pub fn of(self, x: f64) -> f64 {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        match self {
            Finish::Given => x,
            Finish::Tanh => x.tanh(),
            Finish::Relu => x.max(0.0),
            Finish::Silu => x * sigmoid(x),
            Finish::Sigmoid => sigmoid(x),
            Finish::Clipped(c) => x.clamp(-c, c),
        }
    }
}

/// What multiplies y in place of silu(z).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GateFunction {
    Silu,
    One,
    SiluSquared,
    Sigmoid,
    Linear,
    Gelu,
    GeluByTanh,
    Relu,
    Tanh,
    Softplus,
    /// z·sigmoid(βz)
    Swish(f64),
    /// z·silu(y) in place of y·silu(z)
    OfOutput,
    /// silu(u)
    OfU,
    /// silu(−z)
    Negated,
    /// silu(z) + 1
    PlusOne,
    HardSwish,
    Elu,
    Exp,
}

impl GateFunction {
    /// What multiplies `y`; `size` bounds how a relative error of y is multiplied beside it.
    pub fn of(self, z: f64, u: f64, y: f64) -> f64 {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        match self {
            GateFunction::Silu => z * sigmoid(z),
            GateFunction::One => 1.0,
            GateFunction::SiluSquared => (z * sigmoid(z)).powi(2),
            GateFunction::Sigmoid => sigmoid(z),
            GateFunction::Linear => z,
            GateFunction::Gelu => z * 0.5 * libm::erfc(-z / SQRT_2),
            GateFunction::GeluByTanh => {
                z * 0.5 * (1.0 + ((2.0 / PI).sqrt() * (z + 0.044_715 * z * z * z)).tanh())
            }
            GateFunction::Relu => z.max(0.0),
            GateFunction::Tanh => z.tanh(),
            GateFunction::Softplus => softplus(z),
            GateFunction::Swish(beta) => z * sigmoid(beta * z),
            GateFunction::OfOutput => z * sigmoid(y),
            GateFunction::OfU => u * sigmoid(u),
            GateFunction::Negated => -z * sigmoid(-z),
            GateFunction::PlusOne => z * sigmoid(z) + 1.0,
            GateFunction::HardSwish => z * (z + 3.0).clamp(0.0, 6.0) / 6.0,
            GateFunction::Elu => {
                if z > 0.0 {
                    z
                } else {
                    z.exp_m1()
                }
            }
            GateFunction::Exp => z.exp(),
        }
    }
}

/// What the gate multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gated {
    All,
    /// The forward scan and the skip.
    ForwardAndSkip,
    /// What is read of the states, and not the skip.
    Readout,
    Skip,
}

/// What arrives late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    None,
    /// C reads the state of so many positions before.
    State(usize),
    /// So does what C has read, before skip and gate.
    Readout(isize),
    /// So does the whole output.
    Output(usize),
}

/// What happens to the state that is carried from one chunk into the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carry {
    /// Multiplied; 0 forgets it.
    Times(f64),
    /// It enters without the first Ā of the chunk.
    WithoutFirstDecay,
    /// It is added to every position as it is.
    WithoutDecay,
    /// It holds what the chunk before has added alone, and not what that was given.
    NotAccumulated,
    /// It is added up over chunks without the decay of the chunk between.
    AccumulatedWithoutDecay,
    /// It is that of one chunk earlier.
    Stale,
    /// It is that of the last position but one of the chunk before.
    LastButOne,
    /// Each chunk's own state has decayed by all chunks before it, and the state before it by none: the operands with which
    /// chunks are joined are exchanged.
    OperandsExchanged,
    /// The initial state is added to it.
    InitialAgain,
    /// Within a chunk all is right, and what is handed on has each input decayed by its own step, too.
    InputsDecayed,
    /// It is rounded to a type.
    Rounded(InputType),
    /// It reaches the first position of the chunk only.
    FirstPositionOnly,
    /// At each position it has decayed by other steps than it should have.
    Decayed(Decay),
}

/// By how much a carried state has decayed at position l of a chunk that starts at s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decay {
    pub steps: Steps,
    /// Whether the next chunk is given what is right.
    pub passed_right: bool,
    /// Whether what is returned as the last state is right.
    pub last_right: bool,
}

/// The steps whose Ā a carried state is multiplied with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// s…l − 1
    Exclusive,
    /// s + 1…l
    WithoutFirst,
    /// s…l + 1
    OneMore,
    /// s − 1…l
    OneBefore,
    /// s…l, and s again
    FirstTwice,
    /// l
    OwnAlone,
    Nothing,
}

/// A scan in chunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chunks {
    pub length: usize,
    pub carry: Carry,
    /// Of the forward and of the reversed scan.
    pub of: [bool; 2],
    /// Whether those of the reversed scan begin at the end.
    pub from_end: bool,
}

impl Chunks {
    /// Of both scans, counted from the first position.
    pub fn new(length: usize, carry: Carry) -> Self {
        Chunks { length, carry, of: [true; 2], from_end: false }
    }

    /// Whether a chunk begins at step `k` of a scan, which is at position `l`, and is not its first.
    #[inline]
    pub fn begins(&self, (k, l): (usize, usize), seqlen: usize, reverse: bool) -> bool {
        let edge = match (reverse, self.from_end) {
            (false, _) => l,
            (true, true) => k,
            (true, false) => l + 1,
        };
        self.of[usize::from(reverse)] && edge % self.length == 0 && edge > 0 && edge < seqlen
    }
}

/// Positions at which a state is set to 0 on its way.
pub type Resets = [usize; 4];

/// No such position.
pub const NO_RESETS: Resets = [usize::MAX; 4];

/// Running sums of Ā's exponent from which decays are made, kept in a narrow type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExponentSums {
    pub to: InputType,
    /// Whether each exponent and each sum is rounded; where not, only what is stored of each sum is.
    pub each: bool,
}

/// Where u itself is added to what is returned, as a block around the scan does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    None,
    /// Beside the skip.
    BeforeGate,
    /// To the whole output.
    AfterGate,
}

/// A number that may be rounded to a narrow type on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    U,
    /// After bias, softplus and limits.
    Delta,
    A,
    B,
    C,
    ABar,
    /// B u, which Δ or B̄ without B multiplies.
    DrivenB,
    /// With B.
    BBar,
    /// B̄Bu.
    Input,
    /// What C reads of all states, before skip and gate.
    Sum,
}

/// The type that each [`Stage`] is rounded to.
pub type Stages = [InputType; 10];

/// A number that may be kept within limits on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    U,
    Gate,
    B,
    C,
    State,
    /// What C reads of all states, before skip and gate.
    Sum,
    /// Without B.
    BBar,
    /// Re z of Ā.
    OfABar,
    /// The same of B̄.
    OfBBar,
}

/// The limits of each [`Limited`], of complex numbers those of each part.
pub type Limits = [(f64, f64); 9];

/// A number within limits; NaN stays.
#[inline]
pub fn limited((least, most): (f64, f64), x: f64) -> f64 {
    if x < least {
        least
    } else if x > most {
        most
    } else {
        x
    }
}

/// What a φ-function is without its exponential, as far from 0 in the left half plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asymptote {
    /// The one that it is about.
    pub of_phi: Option<usize>,
    /// Whether its first term alone is kept.
    pub first: bool,
}

impl Asymptote {
    /// φₖ, as φₖ = (φₖ₋₁ − 1/(k − 1)!)/z makes it from φ₀ = 0.
    pub fn of(self, k: usize, z: num_complex::Complex64) -> num_complex::Complex64 {
        let factorial = |k: usize| (1..=k).map(|i| i as f64).product::<f64>();
        let first = -1.0 / factorial(k - 1) / z;
        if self.first || k == 1 { first } else { first + self.of(k - 1, z) / z }
    }
}

/// What padded positions hold behind the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pad {
    /// delta is 0, and goes the way of every delta; u is 0.
    Zeros,
    /// The same without the bias.
    ZerosWithoutBias,
    /// Δ of the last position; u is 0.
    LastStep,
    /// All of the last position.
    LastPosition,
}

/// What a scan starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    Given,
    Ignored,
    /// As if it were the first position's input: without the first Ā.
    WithoutFirstDecay,
    Conjugated,
    /// What another scan has ended with, as nobody has set the state to 0 in between.
    EndOf(Before),
    /// What the end of the sequence leaves where it is taken for a circle: each input counts for so many positions after it as
    /// there are, around the end.
    Circular,
    /// That which is given for the forward scan, of both.
    InBoth,
    /// The same of the reversed scan, which starts from what the forward one has ended with.
    EndOfForward,
}

/// By what a log-space scan, P Σ b/P with P the product of all Ā so far, keeps P away from 0 where it divides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Raised {
    Not,
    /// b/(P + ε)
    Added(f64),
    /// b/max(P, ε)
    AtLeast(f64),
}

/// Which scan runs before another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// A run of the same on the same inputs, which started from 0.
    Itself,
    Batch,
    Channel,
    /// Channel by channel, and batch by batch.
    BatchOrChannel,
    State,
}

/// A term of B̄u that was found in the data: factor·Δᵖ f(z) Bᵇ uʷ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundTerm {
    pub term: Term,
    /// b
    pub b: u8,
    /// w
    pub u: u8,
    /// Of u, as [`crate::formula::OFFSETS`].
    pub offset: isize,
}

/// As many states as may count otherwise.
pub const STATES: usize = 64;

/// How often each state counts in what is read, in halves.
pub type Counts = [i8; STATES];

/// As many terms as a fit may find.
pub const TERMS: usize = 6;

//! What is wrong with a backward pass, as numbers and choices that [`super::adjoint`] computes with.

use crate::formula::Form;
use crate::tensor::{GradientName, InputType};

/// What a cotangent has been multiplied by when it arrives at the position before in the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carry {
    /// Ā of the position that it comes from.
    Right,
    /// Nothing arrives.
    Lost,
    /// Ā of the position that it arrives at.
    Own,
    /// 1
    Undecayed,
}

/// What goes wrong where a chunk begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edge {
    /// The state that is carried in has this factor.
    State(f64),
    /// The cotangent that is carried out has this factor.
    Adjoint(f64),
    /// The cotangent that is carried out has not been multiplied by Ā.
    Undecayed,
    /// Ā's share has 0 for the state that is carried in, which the recurrence has.
    Unread,
    /// The states of the chunk start from one that was kept in this type.
    Stored(InputType),
    /// The cotangent that is carried out has been multiplied by Ā twice, by Ā of where it arrives, or by that of the last
    /// position of the chunk that it leaves.
    DecayedTwice,
    DecayedByOwn,
    DecayedByEnd,
    /// It has dlast_state added to it.
    LastStateAgain,
    /// It is kept in this type.
    AdjointStored(InputType),
    /// The state that is carried in has not been multiplied by Ā, or twice.
    StateUndecayed,
    StateDecayedTwice,
    /// The state that the chunk before has started from is carried in, or the one of one position before.
    StateOfChunkBefore,
    StateOneBefore,
    /// The initial state is carried in.
    InitialStateAgain,
    /// Ā's share has the state after its step.
    ReadsAfter,
    /// A cotangent reaches as many positions back, its own among them, and no further.
    Reach,
}

/// What the backward pass reads in place of an input, or where it adds what belongs to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misread {
    /// The batch's first item, for all.
    FirstBatch,
    /// Group d % groups, for channel d.
    ModuloGroup,
    /// What is summed over a group is added there.
    SumInModuloGroup,
}

/// The state that multiplies Ā's derivative in the reversed scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReversedState {
    /// Its own at l + 1.
    Right,
    /// Its own at l − 1.
    OtherSide,
    /// The forward scan's at l − 1.
    Forward,
}

/// A part of the derivative of one of h's terms, factor·Δᵖ·f(z).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlopePart {
    Whole,
    /// Through Δᵖ.
    Power,
    /// Through z.
    Argument,
    /// The term of this degree in the Taylor series of f′, where |z| < 1.
    Taylor(usize),
}

/// What φₖ′ = φₖ − kφₖ₊₁ is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhiSlope {
    Right,
    /// φₖ − φₖ₊₁
    WithoutK,
    /// φₖ₊₁
    Next,
    /// kφₖ₊₁
    KNext,
    /// φₖ
    Same,
    /// φₖ + kφₖ₊₁
    Plus,
    /// φₖ₋₁
    Before,
}

/// What (zᵏ)′ = kzᵏ⁻¹ is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerSlope {
    Right,
    /// zᵏ⁻¹
    WithoutK,
    /// (k + 1)zᵏ⁻¹
    NextK,
    /// (k − 1)zᵏ⁻¹
    KBefore,
    /// kzᵏ
    NotLowered,
    /// zᵏ
    Same,
}

/// What is kept within ±c.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clip {
    Adjoint(f64),
    Dout(f64),
}

/// How many positions the pass runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Right,
    /// Up to the next multiple, with delta, u and dout 0 there.
    PaddedTo(usize),
    /// Down to the last multiple.
    CutTo(usize),
    /// All but the last.
    WithoutLast,
}

/// How dlast_state enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastState {
    Right,
    Ignored,
    /// At every position.
    Everywhere,
    /// Into the reversed scan as well.
    InBothScans,
    /// With the factor 2 of complex outputs.
    Doubled,
    /// With the ½ of both directions.
    Halved,
}

/// A factor of the adjoint that is to be conjugated, where gradients themselves are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// Ā in the recurrence.
    ABar,
    /// C, through which the outputs' gradients arrive.
    C,
    /// The state that multiplies Ā.
    State,
    /// B, in whatever is made of the input term.
    B,
    /// h
    Input,
    /// The derivatives of Ā and h by Δ and by A.
    Slopes,
    /// The derivatives of Ā alone.
    ABarSlopes,
    /// Those of h alone.
    InputSlopes,
    /// A, in Ā's derivative by Δ.
    A,
    LastState,
}

/// What stands for the derivative of softplus, σ(delta + delta_bias).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftplusSlope {
    Right,
    /// 1
    Missing,
    /// σ(delta)
    WithoutBias,
    /// σ(Δ)
    OfDelta,
    Squared,
    /// Softplus itself.
    Softplus,
}

/// What stands for the derivative of the gate, σ(z)(1 + zσ(−z)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateSlope {
    Right,
    /// σ(z)
    Sigmoid,
    /// zσ(z)
    Silu,
    /// σ(z)σ(−z), the derivative of the sigmoid.
    OfSigmoid,
    /// σ(z)(1 − zσ(−z))
    SignSlip,
    /// σ(z)(1 + z)σ(−z)
    Parenthesis,
    /// σ(z)(1 + z)
    WithoutComplement,
    /// σ(z) + zσ(−z)
    Sum,
    /// 1 + zσ(−z)
    WithoutSigmoid,
    /// 1
    Missing,
}

/// A weight of the input term in a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// h
    Right,
    /// h/Δ
    WithoutDelta,
    /// 1
    Missing,
}

/// The part of a sum that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    All,
    First,
    Last,
    ButFirst,
    ButLast,
    /// Whole chunks.
    Whole,
    /// What is not beyond the end.
    Inside,
    /// The chunk of this number.
    Only(usize),
    /// What stands at this place within its chunk.
    Lane(usize),
}

impl Pick {
    /// Whether item `i` of `len` is kept, where items come in chunks.
    pub fn has(self, i: usize, len: usize, chunk: usize) -> bool {
        match self {
            Pick::All => true,
            Pick::First => i < chunk,
            Pick::Last => i >= (len - 1) / chunk * chunk,
            Pick::ButFirst => i >= chunk,
            Pick::ButLast => i < (len - 1) / chunk * chunk,
            Pick::Inside => i < len,
            Pick::Only(at) => i / chunk == at,
            Pick::Lane(at) => i % chunk == at,
            Pick::Whole => i < len / chunk * chunk,
        }
    }
}

/// A factor on whole gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    By(f64),
    /// One part in the batch, of what is summed over it.
    PerBatch,
    /// One part in the positions, of what is summed over them.
    PerPosition,
    /// One part in the channels of a group, of what is summed over them.
    PerChannel,
}

/// What becomes of complex gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complex {
    Right,
    Conjugated,
    RealPart,
    /// Re and im in each other's place.
    PartsExchanged,
}

/// What is kept in a narrow type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Narrow {
    /// The gradient of y + D·u.
    Gated,
    Adjoint,
    State,
}

/// What is summed one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    Positions,
    BatchAndPositions,
    /// The channels of a group.
    Group,
    States,
}

/// A sum that is kept in a narrow type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accumulator {
    pub over: Over,
    /// What is added is rounded to it.
    pub added: Option<InputType>,
    /// The sum is, after each addition.
    pub kept: Option<InputType>,
    /// Whether it starts from the last.
    pub backwards: bool,
}

impl Accumulator {
    /// The sum with one more.
    pub fn add(&self, sum: f64, value: f64) -> f64 {
        let round = |to: Option<InputType>, x: f64| to.map_or(x, |to| f64::from(to.round(x as f32)));
        round(self.kept, sum + round(self.added, value))
    }

    /// Whether what each position adds is asked for.
    pub fn is_of_positions(&self) -> bool {
        matches!(self.over, Over::Positions | Over::BatchAndPositions)
    }
}

/// What is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    Right,
    /// In f16's range: infinite beyond it.
    Overflows,
    /// Its largest number beyond it.
    Saturates,
    /// Variable tensors from the last position to the first.
    Reversed,
    /// grad.B and grad.C in each other's place.
    Exchanged,
    /// grad.A times A: the gradient of log(−A).
    OfLogA,
}

/// A backward pass. Pairs of Ā's share and h's are in this order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    /// Of Ā and h.
    pub form: Form,
    /// Of their derivatives.
    pub slopes_of: Form,
    pub bidirectional: bool,
    /// Factors on the forward and on the reversed scan's output, where there are both.
    pub directions: [f64; 2],
    /// Of the forward and of the reversed scan.
    pub carry: [Carry; 2],
    /// At multiples of this length.
    pub edge: Option<(usize, Edge)>,
    /// Whether that is so in the forward and in the reversed scan.
    pub edge_in: [bool; 2],
    pub length: Length,
    /// Whether positions whose delta and u are 0 are left out.
    pub drops_masked: bool,
    pub last_state: LastState,
    /// Whether states start from the initial state.
    pub has_initial: bool,
    /// Whether the initial state's gradient has Ā₀.
    pub decays_initial: bool,
    /// Whether Ā's share has the state after its step, in place of the one before.
    pub a_bar_reads_after: bool,
    pub reversed_state: ReversedState,
    pub misread: Option<(GradientName, Misread)>,
    /// Whether C's gradient has the state before the step, in place of the one after.
    pub c_reads_before: bool,
    pub unconjugated: Option<Factor>,
    /// Factors on Ā's and h's shares of grad.delta.
    pub delta_shares: [f64; 2],
    /// And of grad.A.
    pub a_shares: [f64; 2],
    /// Factors on ∂h/∂Δ through Δᵖ and through z.
    pub h_slope: [f64; 2],
    /// What is missing in the derivative of one of h's terms.
    pub h_slope_without: Option<(usize, SlopePart)>,
    pub phi_slope: PhiSlope,
    pub power_slope: PowerSlope,
    pub clip: Option<Clip>,
    /// A factor on z in an exponential Ā.
    pub exponent: f64,
    /// Whether derivatives by Δ have the factor A, and those by A the factor Δ, of z = ΔA.
    pub chain: [bool; 2],
    /// Whether Ā is differentiated as an exponential.
    pub a_bar_as_exponential: bool,
    pub softplus_slope: SoftplusSlope,
    /// How often dout is multiplied by the gate: for the scan, in D·dout of grad.u, for grad.D.
    pub gates: [u8; 3],
    pub gate_slope: GateSlope,
    /// Factors on y and on D·u in grad.z.
    pub gated: [f64; 2],
    /// How often the output in grad.z is multiplied by the gate.
    pub gated_output: u8,
    /// A factor on D·dout in grad.u.
    pub skip: f64,
    /// Whether grad.D has the factor u.
    pub d_has_u: bool,
    /// In grad.u.
    pub u_input: Input,
    /// Where grad.u reads B.
    pub u_b_offset: isize,
    pub u_has_b: bool,
    /// In grad.B.
    pub b_input: Input,
    pub b_has_u: bool,
    /// How often the outputs' gradients have the factor 2 of complex outputs as they enter the scan.
    pub output_factors: u8,
    /// Which states are summed in grad.u and grad.delta.
    pub states: Pick,
    /// Which chunks of positions are summed, of this length.
    pub positions: (Pick, usize),
    /// Which items of the batch.
    pub batch: Pick,
    /// Which channels of a group.
    pub group: Pick,
    pub narrow: Option<(Narrow, InputType)>,
    pub accumulator: Option<Accumulator>,
    pub scale: Scale,
    pub complex: Complex,
    pub store: Store,
    /// Factors on dout as it enters the adjoint, and grad.C.
    pub douts: [f64; 2],
}

impl Variant {
    /// The sum over positions that is kept in a narrow type.
    pub fn of_positions(&self) -> Option<Accumulator> {
        self.accumulator.filter(Accumulator::is_of_positions)
    }

    /// The sum over these that is.
    pub fn sum_over(&self, over: Over) -> Option<Accumulator> {
        self.accumulator.filter(|of| of.over == over)
    }

    /// Nothing wrong.
    pub fn specified(form: Form) -> Self {
        Variant {
            form,
            slopes_of: form,
            bidirectional: form.is_bidirectional(),
            directions: [1.0; 2],
            carry: [Carry::Right; 2],
            edge: None,
            edge_in: [true; 2],
            length: Length::Right,
            drops_masked: false,
            last_state: LastState::Right,
            has_initial: true,
            decays_initial: true,
            a_bar_reads_after: false,
            reversed_state: ReversedState::Right,
            misread: None,
            c_reads_before: false,
            unconjugated: None,
            delta_shares: [1.0; 2],
            a_shares: [1.0; 2],
            h_slope: [1.0; 2],
            h_slope_without: None,
            phi_slope: PhiSlope::Right,
            power_slope: PowerSlope::Right,
            clip: None,
            exponent: 1.0,
            chain: [true; 2],
            a_bar_as_exponential: false,
            softplus_slope: SoftplusSlope::Right,
            gates: [1; 3],
            gate_slope: GateSlope::Right,
            gated: [1.0; 2],
            gated_output: 0,
            skip: 1.0,
            d_has_u: true,
            u_input: Input::Right,
            u_b_offset: 0,
            u_has_b: true,
            b_input: Input::Right,
            b_has_u: true,
            output_factors: 1,
            states: Pick::All,
            positions: (Pick::All, 1),
            batch: Pick::All,
            group: Pick::All,
            narrow: None,
            accumulator: None,
            scale: Scale::By(1.0),
            complex: Complex::Right,
            store: Store::Right,
            douts: [1.0; 2],
        }
    }

    /// Whether Ā, h and their derivatives are those of this form with nothing wrong.
    pub fn has_steps_of(&self, form: Form) -> bool {
        let Variant { form, slopes_of, h_slope, h_slope_without, exponent, chain, .. } =
            Variant::specified(form);
        (self.form, self.slopes_of, self.h_slope, self.h_slope_without)
            == (form, slopes_of, h_slope, h_slope_without)
            && (self.exponent, self.chain, self.a_bar_as_exponential) == (exponent, chain, false)
            && (self.phi_slope, self.power_slope) == (PhiSlope::Right, PowerSlope::Right)
            && (self.length, self.misread) == (Length::Right, None)
    }
}

//! A selective scan with something wrong in it: what the fault models change, as data. Any two changes to
//! different parts can be made together.

use crate::formula::{Form, Fraction};
use crate::problem::InputType;

/// What takes the place of Δ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    One,
    Missing,
    Doubled,
    Squared,
}

/// How a bilinear coefficient uses its inverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inverse {
    Right,
    WrongFactor,
    None,
}

/// How B is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BUse {
    Once,
    Twice,
    Never,
    Conjugated,
}

/// Which positions a kernel overlooks at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    Whole,
    LastIgnored,
    /// What is beyond the last multiple of this many positions.
    Ignored(usize),
}

/// How poly's reversed scan is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reversed {
    Right,
    /// Position l reads the state of l + 1.
    OffByOne,
    /// Position l takes Ā of l + 1.
    ABarOffByOne,
}

/// Which directions poly adds up, and with which weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    Averaged,
    Summed,
    CausalOnly,
    BackwardOnly,
}

/// What is returned as the last state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastState {
    Right,
    /// That of u in place of B u, where B is constant.
    WithoutB,
    /// That before the last chunk of so many positions.
    ChunkEarly(usize),
    Doubled,
}

/// What is done with the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    Right,
    Missing,
    Doubled,
    /// The forward scan and the skip are gated, the reversed scan is not.
    BeforeAverage,
    BeforeSkip,
    SigmoidOnly,
}

/// What is done with the bias of Δ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bias {
    Right,
    Missing,
    AfterSoftplus,
}

/// A bound that Δ is forced into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clamp {
    None,
    AtMost(f64),
    AtLeast(f64),
    ZeroBelow(f64),
}

impl Clamp {
    /// What Δ becomes.
    pub fn of(self, delta: f64) -> f64 {
        match self {
            Clamp::None => delta,
            Clamp::AtMost(most) => delta.min(most),
            Clamp::AtLeast(least) => delta.max(least),
            Clamp::ZeroBelow(guard) => {
                if delta.abs() < guard {
                    0.0
                } else {
                    delta
                }
            }
        }
    }
}

/// What becomes of the sum Σ C x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readout {
    Right,
    /// The real part without the factor 2.
    RealPartOnce,
    ImaginaryPart,
}

/// Which terms of B̄'s sum of φ-functions are wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sum {
    Right,
    /// The weight of poly's φ₂ term, ½ if right.
    PolyShare(Fraction),
    /// highorder cut after i = 0, 1.
    Cut(u32),
    WithoutFactorials,
    /// Powers of Δ in the terms of φ₂ and φ₃: (1, 1) by 1/Δ and 1/Δ² too much, (3, 5) by Δ and Δ² too much.
    Powers(i32, i32),
    /// rk4's A², A³ as outer products: states mix.
    OuterProducts,
}

/// A selective scan with the choices that a fault model may make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    /// Whether the scan runs in both directions.
    pub bidirectional: bool,
    pub a_bar: Form,
    pub b_bar: Form,
    pub a_bar_inverse: Inverse,
    pub b_bar_inverse: Inverse,
    /// The factors on the real and the imaginary part of Ā's exponent.
    pub exponent: (f64, f64),
    /// After how many terms the series of each φ stops.
    pub taylor: Option<u32>,
    pub sum: Sum,
    pub u_in_higher_terms: bool,
    pub step_delta: Power,
    pub a_bar_delta: Power,
    pub b_bar_delta: Power,
    pub b_use: BUse,
    pub b_transposed: bool,
    pub c_transposed: bool,
    pub group_modulo: bool,
    /// At multiples of this length the carried state is multiplied by this factor.
    pub edge: Option<(usize, f64)>,
    pub tail: Tail,
    pub directions: Directions,
    pub reversed: Reversed,
    pub readout: Readout,
    /// How often the skip is added.
    pub skip: f64,
    pub gate: Gate,
    pub bias: Bias,
    /// Above this softplus is the identity; `None` leaves it out.
    pub softplus_above: Option<f64>,
    pub clamp: Clamp,
    /// The type that every state is rounded to.
    pub state: InputType,
    pub last_state: LastState,
    /// Whether 16-bit outputs are cut off in place of rounded.
    pub store_truncated: bool,
}

impl Variant {
    /// Nothing wrong.
    pub fn specified(form: impl Into<Form>) -> Self {
        let form = form.into();
        Variant {
            bidirectional: form.is_bidirectional(),
            a_bar: form,
            b_bar: form,
            a_bar_inverse: Inverse::Right,
            b_bar_inverse: Inverse::Right,
            exponent: (1.0, 1.0),
            taylor: None,
            sum: Sum::Right,
            u_in_higher_terms: true,
            step_delta: Power::One,
            a_bar_delta: Power::One,
            b_bar_delta: Power::One,
            b_use: BUse::Once,
            b_transposed: false,
            c_transposed: false,
            group_modulo: false,
            edge: None,
            tail: Tail::Whole,
            directions: Directions::Averaged,
            reversed: Reversed::Right,
            readout: Readout::Right,
            skip: 1.0,
            gate: Gate::Right,
            bias: Bias::Right,
            softplus_above: Some(f64::INFINITY),
            clamp: Clamp::None,
            state: InputType::F32,
            last_state: LastState::Right,
            store_truncated: false,
        }
    }
}

//! Coefficients with something wrong in them, as data, and what of a scan the fault models are about.

use crate::formula::{Form, Fraction};

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
    LastIgnored,
    /// What is beyond the last multiple of this many positions.
    Ignored(usize),
}

/// How poly's reversed scan is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reversed {
    /// Position l reads the state of l + 1.
    OffByOne,
    /// Position l takes Ā of l + 1.
    ABarOffByOne,
}

/// Which directions poly adds up, and with which weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    Summed,
    CausalOnly,
    BackwardOnly,
}

/// What is returned as the last state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LastState {
    /// That of u in place of B u, where B is constant.
    WithoutB,
    /// That before the last chunk of so many positions.
    ChunkEarly(usize),
    Doubled,
}

/// What is done with the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
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
            Clamp::ZeroBelow(guard) if delta.abs() < guard => 0.0,
            Clamp::ZeroBelow(_) => delta,
        }
    }
}

/// What becomes of the sum Σ C x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readout {
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

/// Coefficients with the choices that a fault model may make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
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
    pub clamp: Clamp,
}

impl Variant {
    /// Nothing wrong.
    pub fn specified(form: impl Into<Form>) -> Self {
        let form = form.into();
        Variant {
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
            clamp: Clamp::None,
        }
    }
}

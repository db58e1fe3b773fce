//! A selective scan with something wrong in it: what the fault models change, as data. Any two changes to
//! different parts can be made together.

use super::around::{
    AUse, Asymptote, Chunks, Counts, Delay, ExponentSums, Finish, Flips, FoundTerm, GateFunction, Gated,
    Guarded, Initial, Limits, NO_RESETS, Pad, Raised, Resets, Residual, Stages, StepSize, TERMS, UUse,
};
use super::complex::{Divisions, OfComplex, Powers, Product, Ways};
use super::only::Only;
use super::partial_sums::PartialSums;
use super::place::{Map, Place, Places};
use crate::formula::{Form, Fraction, Transition};
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
    /// Its series is cut after this power of αz.
    Cut(u32),
    /// The same with alternating signs, as that of (1 + αz)⁻¹.
    CutAlternating(u32),
}

/// How B is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BUse {
    Once,
    Twice,
    Never,
    Conjugated,
    RealPart,
    Negated,
    /// Divided by its norm over the states.
    Normalized,
    /// Divided by its root mean square over the states.
    RmsNormalized,
    /// A softmax over the states.
    Softmax,
    /// C in its place, or B in that of C.
    Exchanged,
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
    /// Position l reads its state without its own input.
    WithoutInput,
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LastState {
    Right,
    /// That of u in place of B u, where B is constant.
    WithoutB,
    /// That before the last chunk of so many positions.
    ChunkEarly(usize),
    /// That of the reversed scan, at the first position.
    OfReversed,
    Doubled,
    /// That before the last so many positions.
    Early(usize),
    /// That after so many padded positions more.
    Padded(usize, Pad),
    /// Only states from one up to another are written.
    Within(usize, usize),
    OfComplex(OfComplex),
    Times(f64),
    /// Without the input of the last position.
    WithoutInput,
    /// That of another batch, channel and state.
    Moved([Map; 3]),
    /// Its memory is (dstate, dim).
    Transposed,
}

/// Which group a channel reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// d / (dim / groups)
    Block,
    /// d % groups
    Modulo,
    At(usize),
    /// That of the block so many further on, around the end.
    Rolled(usize),
    /// d / k % groups
    Divided(usize),
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
    Between(f64, f64),
    ZeroBelow(f64),
}

impl Clamp {
    /// What Δ becomes.
    pub fn of(self, delta: f64) -> f64 {
        match self {
            Clamp::None => delta,
            Clamp::AtMost(most) => delta.min(most),
            Clamp::AtLeast(least) => delta.max(least),
            Clamp::Between(least, most) => delta.max(least).min(most),
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
    /// What is specified.
    pub form: Form,
    /// Where alone it changes what a state is multiplied with, what it is given and, at positions and in states, what is read.
    pub only: Only,
    /// Whether the scan runs in both directions.
    pub bidirectional: bool,
    pub a_bar: Form,
    pub b_bar: Form,
    pub a_bar_inverse: Inverse,
    pub b_bar_inverse: Inverse,
    /// The factors on the real and the imaginary part of Ā's exponent.
    pub exponent: (f64, f64),
    /// Whether its real part may be above 0.
    pub grows: bool,
    /// After how many terms the series of each φ stops.
    pub taylor: Option<u32>,
    /// Where |z| is below this, B̄ is that of `b_bar` and `taylor`; elsewhere it is that of the form that Ā has.
    pub other_below: f64,
    /// What that is asked of.
    pub guarded: Guarded,
    pub divisions: Divisions,
    pub sum: Sum,
    pub u_in_higher_terms: bool,
    pub step_delta: Power,
    pub a_bar_delta: Power,
    /// The same of the real and of the imaginary part of Ā's exponent.
    pub a_bar_delta_parts: [Power; 2],
    pub b_bar_delta: Power,
    pub b_use: BUse,
    pub c_use: BUse,
    /// In Ā and in B̄.
    pub a_use: [AUse; 2],
    /// On its real and its imaginary part, in Ā and in B̄.
    pub a_factor: [(f64, f64); 2],
    /// What is added to it.
    pub a_offset: f64,
    pub ways: Ways,
    /// Ā x, and B̄ with B.
    pub products: [Product; 2],
    /// Of the scan, and of the skip.
    pub u_use: [UUse; 2],
    /// In the order of [`super::place::Input`].
    pub places: Places,
    /// Of B and of C.
    pub groups: [Group; 2],
    /// In place of the form's Ā.
    pub transition: Option<Transition>,
    /// In place of the form's B̄.
    pub found: Option<[Option<FoundTerm>; TERMS]>,
    /// A factor on B̄u.
    pub input_factor: f64,
    /// Whether states stay as they are where u is 0.
    pub skips_zeros: bool,
    /// Whether Ā multiplies what its own position adds, too.
    pub decays_input: bool,
    /// Whether the scan runs from the last position to the first.
    pub reverse: bool,
    /// Whether the scan's operator has its operands exchanged, within chunks of so many positions: an input is decayed by the
    /// steps before it, and not by those after it.
    pub exchanged: Option<usize>,
    pub initial: Initial,
    /// Positions at which the state is set to 0.
    pub resets: Resets,
    /// The type that the running sums of Ā's exponent are kept in.
    pub exponent_sums: Option<ExponentSums>,
    /// How the state is carried from chunk to chunk.
    pub chunks: Option<Chunks>,
    pub delay: Delay,
    /// Whether C reads states without the input of their position.
    pub without_input: bool,
    pub tail: Tail,
    pub directions: Directions,
    pub reversed: Reversed,
    /// Of the reversed scan.
    pub flips: Flips,
    pub readout: Readout,
    /// How often the skip is added.
    pub skip: f64,
    /// Whether the skip takes what is read of the states in place of u.
    pub skip_of_readout: bool,
    /// Whether D multiplies the skip.
    pub skip_has_d: bool,
    /// Where u itself is added to what is returned.
    pub residual: Residual,
    /// A factor on what is read of the states.
    pub readout_factor: f64,
    /// How often each state counts there, where that is not once.
    pub counts: Option<Counts>,
    pub gate: GateFunction,
    pub gated: Gated,
    /// How Δ is made, of Ā and of B̄.
    pub step_sizes: [StepSize; 2],
    /// Of both.
    pub clamp: Clamp,
    /// Powers of z in B̄.
    pub powers: Powers,
    /// What φ-functions are taken for.
    pub asymptote: Option<Asymptote>,
    /// What is wrong with the closed forms of φ-functions.
    pub partial_sums: Option<PartialSums>,
    /// At which position Δ is that of each part of a quotient: of Ā's numerator, Ā's inverse, and B̄'s inverse.
    pub quotient_at: [Map; 3],
    /// The least and the largest that some numbers may be.
    pub limits: Limits,
    /// What is rounded on the way.
    pub stages: Stages,
    /// The type that every state is rounded to.
    pub state: InputType,
    pub last_state: LastState,
    /// Whether 16-bit outputs are cut off in place of rounded.
    pub store_truncated: bool,
    pub finish: Finish,
    /// Least and largest real Ā.
    pub a_bar_limits: (f64, f64),
    /// Of two scans the one that all changes before skip and gate are about, whether it is the reversed one; none for both.
    pub in_one_scan: Option<bool>,
    /// How the products of Ā that inputs are divided by in a log-space scan have been kept from 0; not in any other scan.
    pub raised: Raised,
}

impl Variant {
    /// The other of two scans where one alone is changed: as specified, but for what happens to both together.
    pub fn of_other_scan(&self, form: impl Into<Form>) -> Variant {
        Variant {
            directions: self.directions,
            readout: self.readout,
            readout_factor: self.readout_factor,
            skip: self.skip,
            skip_of_readout: self.skip_of_readout,
            skip_has_d: self.skip_has_d,
            residual: self.residual,
            gate: self.gate,
            gated: self.gated,
            state: self.state,
            last_state: self.last_state,
            finish: self.finish,
            store_truncated: self.store_truncated,
            ..Variant::specified(form)
        }
    }

    /// With these terms for B̄.
    pub fn of_terms(&self, terms: &[FoundTerm]) -> Variant {
        let mut found = [None; TERMS];
        found.iter_mut().zip(terms).for_each(|(slot, term)| *slot = Some(*term));
        Variant { found: Some(found), ..*self }
    }

    /// Nothing wrong.
    pub fn specified(form: impl Into<Form>) -> Self {
        let form = form.into();
        Variant {
            form,
            only: Only::Everywhere,
            bidirectional: form.is_bidirectional(),
            a_bar: form,
            b_bar: form,
            a_bar_inverse: Inverse::Right,
            b_bar_inverse: Inverse::Right,
            exponent: (1.0, 1.0),
            grows: true,
            skips_zeros: false,
            taylor: None,
            other_below: f64::INFINITY,
            guarded: Guarded::Z,
            divisions: Divisions::RIGHT,
            sum: Sum::Right,
            u_in_higher_terms: true,
            step_delta: Power::One,
            a_bar_delta: Power::One,
            a_bar_delta_parts: [Power::One; 2],
            b_bar_delta: Power::One,
            b_use: BUse::Once,
            c_use: BUse::Once,
            a_use: [AUse::Given; 2],
            a_factor: [(1.0, 1.0); 2],
            a_offset: 0.0,
            ways: [OfComplex::Given; 7],
            products: [Product::Right; 2],
            u_use: [UUse::Given; 2],
            places: [Place::RIGHT; 8],
            groups: [Group::Block; 2],
            transition: None,
            found: None,
            input_factor: 1.0,
            decays_input: false,
            reverse: false,
            exchanged: None,
            initial: Initial::Given,
            resets: NO_RESETS,
            exponent_sums: None,
            chunks: None,
            delay: Delay::None,
            without_input: false,
            tail: Tail::Whole,
            directions: Directions::Averaged,
            reversed: Reversed::Right,
            flips: Flips::RIGHT,
            readout: Readout::Right,
            skip: 1.0,
            skip_of_readout: false,
            skip_has_d: true,
            residual: Residual::None,
            readout_factor: 1.0,
            counts: None,
            gate: GateFunction::Silu,
            gated: Gated::All,
            step_sizes: [StepSize::RIGHT; 2],
            clamp: Clamp::None,
            powers: Powers::RIGHT,
            asymptote: None,
            partial_sums: None,
            quotient_at: [Map::Same; 3],
            limits: [(f64::NEG_INFINITY, f64::INFINITY); 9],
            stages: [InputType::F32; 10],
            state: InputType::F32,
            last_state: LastState::Right,
            store_truncated: false,
            finish: Finish::Given,
            a_bar_limits: (f64::NEG_INFINITY, f64::INFINITY),
            in_one_scan: None,
            raised: Raised::Not,
        }
    }
}

//! The places of the adjoint, of the derivatives and of what is around them.

use super::super::catalogue::{ADJOINT, ADJOINT_AND_C, READS_U, SCAN, SLOPES, STATES, STATES_AND_U, STEP};
use super::Site;
use super::kinds::Kind::{self, *};
use crate::tensor::GradientName::{self, A, B, C, D, U, Z};

pub(super) struct Place {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) sites: &'static [Site],
    pub(super) touches: &'static [GradientName],
    pub(super) kinds: &'static [Kind],
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

const READ: &[Kind] = &[Factor, Position, Chunk, Channel, Batch, Narrow];
const ENTERS: &[Kind] = &[Output, Factor, Position, Chunk, Channel, Batch, Narrow];
const OPERAND: &[Kind] = &[Factor, Complex, Position, Chunk, Group, Batch, State, Narrow];
const COEFFICIENT: &[Kind] = &[Complex, Step, Factor, Position, Product, Narrow];
const INPUT: &[Kind] = &[Complex, Step, Factor, Instead, Position, Product, Chain, Narrow];
const BY_DELTA: &[Kind] = &[Complex, Step, Square, Instead, Position, Product, ChainA, Narrow];
const BY_A: &[Kind] = &[Complex, Step, Unit, Square, Instead, Position, Product, Chain, Narrow];
const OF_A_BAR: &[Kind] = &[Complex, Step, Square, Instead, Phi, Position, Product, ChainA, Narrow];
const A_BAR_BY_A: &[Kind] = &[Complex, Step, Unit, Square, Instead, Phi, Position, Product, Chain, Narrow];
const A_BAR_SLOPE: &[Kind] = &[Complex, Step, Phi, Position, Product, Narrow];
const SLOPE: &[Kind] = &[Complex, Step, Position, Product, Narrow];
const STATE: &[Kind] = &[Unit, Complex, Position, Narrow, Sides, Product];
const SHARED: &[Kind] = &[Unit, Start, Complex, Position, Narrow, Sides, Product];
const CARRIED: &[Kind] = &[Complex, Position, Narrow, Sides, Adjoint, Product];
const COTANGENT: &[Kind] = &[Unit, Complex, Position, Narrow, Sides, Adjoint];
const GATE: &[Kind] = &[Factor, Gate, Position, Channel, Batch, Narrow];
const TERM: &[Kind] = &[Phi, Product, Complex, Unit];
const OF_H: &[Kind] = &[Number, Phi, Product];
const READS_H: &[GradientName] = &[U, GradientName::Delta, A, B, C, Z, GradientName::DeltaBias];

/// One place each, then places that share a cause.
#[rustfmt::skip]
pub(super) const PLACES: &[Place] = &[
    place("u-in-b", "u in grad.B", &[Site::UInB], &[B], READ),
    place("u-in-d", "u in grad.D", &[Site::UInD], &[D], &[Factor, Position, Channel, Batch, Narrow, Product]),
    place("u-in-z", "u of the skip in grad.z", &[Site::UInSkip], &[Z], READ),
    place("u-in-share", "u in B̄'s share", &[Site::UInShare], SLOPES, READ),
    place("u-in-states", "u in the states of the backward pass", &[Site::UInStates], STATES, READ),
    place("u-in-products", "u in the backward products", &[Site::UInShare, Site::UInB], &[GradientName::Delta, A, B, GradientName::DeltaBias], READ),
    place("b-in-u", "B in grad.u", &[Site::BInU], &[U], OPERAND),
    place("b-in-share", "B in B̄'s share", &[Site::BInShare], SLOPES, OPERAND),
    place("b-in-states", "B in the states of the backward pass", &[Site::BInStates], STATES, OPERAND),
    place("b-in-products", "B in the backward products", &[Site::BInShare, Site::BInU], &[U, GradientName::Delta, A, GradientName::DeltaBias], OPERAND),
    place("c-in-adjoint", "C in the adjoint", &[Site::CInAdjoint], ADJOINT, OPERAND),
    place("c-in-z", "C in the output of grad.z", &[Site::CInOutput], &[Z], OPERAND),
    place("c", "C", &[Site::CInAdjoint, Site::CInOutput], SCAN, OPERAND),
    place("h-in-u", "B̄/B in grad.u", &[Site::HInU], &[U], INPUT),
    place("h-in-b", "B̄/B in grad.B", &[Site::HInB], &[B], INPUT),
    place("h-in-products", "B̄/B in grad.u and grad.B", &[Site::HInU, Site::HInB], &[U, B], INPUT),
    place("h-and-b-in-u", "B̄, the factor of the adjoint in grad.u,", &[Site::HInU, Site::BInU], &[U], &[Unit, Complex]),
    place("h-and-u-in-b", "B̄/B·u, the factor of the adjoint in grad.B,", &[Site::HInB, Site::UInB], &[B], &[Unit]),
    place("b-and-u-in-share", "B·u in B̄'s share", &[Site::BInShare, Site::UInShare], SLOPES, &[Unit]),
    place("h-in-states", "B̄/B in the states of the backward pass", &[Site::HInStates], STATES, COEFFICIENT),
    place("a-bar-in-adjoint", "Ā in the adjoint recurrence", &[Site::ABarInAdjoint], ADJOINT, COEFFICIENT),
    place("a-bar-in-states", "Ā in the states of the backward pass", &[Site::ABarInStates], STATES, COEFFICIENT),
    place("a-bar", "Ā in the backward pass", &[Site::ABarInStates, Site::ABarInAdjoint], SCAN, COEFFICIENT),
    place("coefficients-of-states", "Ā and B̄ in the states of the backward pass", &[Site::ABarInStates, Site::HInStates], STATES, &[Step, Narrow]),
    place("h-slope-by-delta", "B̄'s derivative by Δ", &[Site::HByDelta], STEP, BY_DELTA),
    place("a-bar-slope-by-delta", "Ā's derivative by Δ", &[Site::ABarByDelta], STEP, OF_A_BAR),
    place("h-slope-by-a", "B̄'s derivative by A", &[Site::HByA], &[A], BY_A),
    place("a-bar-slope-by-a", "Ā's derivative by A", &[Site::ABarByA], &[A], A_BAR_BY_A),
    place("a-bar-slopes", "Ā's derivative", &[Site::ABarByDelta, Site::ABarByA], SLOPES, A_BAR_SLOPE),
    place("h-slopes", "B̄'s derivative", &[Site::HByDelta, Site::HByA], SLOPES, SLOPE),
    place("slopes-by-delta", "the derivative by Δ", &[Site::ABarByDelta, Site::HByDelta], STEP, BY_DELTA),
    place("slopes-by-a", "the derivative by A", &[Site::ABarByA, Site::HByA], &[A], BY_A),
    place("slopes", "each derivative by Δ and A", &[Site::ABarByA, Site::HByA, Site::ABarByDelta, Site::HByDelta], SLOPES, SLOPE),
    place("h-term-1", "term 1 of B̄", &[Site::TermOfH(0)], READS_H, OF_H),
    place("h-term-2", "term 2 of B̄", &[Site::TermOfH(1)], READS_H, OF_H),
    place("h-term-3", "term 3 of B̄", &[Site::TermOfH(2)], READS_H, OF_H),
    place("h-term-4", "term 4 of B̄", &[Site::TermOfH(3)], READS_H, OF_H),
    place("h-term-1-with-slopes", "term 1 of B̄ with its derivatives", &[Site::TermOfH(0), Site::TermByDelta(0), Site::TermByA(0)], READS_H, &[Number]),
    place("h-term-2-with-slopes", "term 2 of B̄ with its derivatives", &[Site::TermOfH(1), Site::TermByDelta(1), Site::TermByA(1)], READS_H, &[Number]),
    place("h-term-3-with-slopes", "term 3 of B̄ with its derivatives", &[Site::TermOfH(2), Site::TermByDelta(2), Site::TermByA(2)], READS_H, &[Number]),
    place("h-term-4-with-slopes", "term 4 of B̄ with its derivatives", &[Site::TermOfH(3), Site::TermByDelta(3), Site::TermByA(3)], READS_H, &[Number]),
    place("h-slope-term-1-by-delta", "the derivative by Δ of term 1 of B̄", &[Site::TermByDelta(0)], STEP, TERM),
    place("h-slope-term-2-by-delta", "the derivative by Δ of term 2 of B̄", &[Site::TermByDelta(1)], STEP, TERM),
    place("h-slope-term-3-by-delta", "the derivative by Δ of term 3 of B̄", &[Site::TermByDelta(2)], STEP, TERM),
    place("h-slope-term-4-by-delta", "the derivative by Δ of term 4 of B̄", &[Site::TermByDelta(3)], STEP, TERM),
    place("h-slope-term-1-by-a", "the derivative by A of term 1 of B̄", &[Site::TermByA(0)], &[A], TERM),
    place("h-slope-term-2-by-a", "the derivative by A of term 2 of B̄", &[Site::TermByA(1)], &[A], TERM),
    place("h-slope-term-3-by-a", "the derivative by A of term 3 of B̄", &[Site::TermByA(2)], &[A], TERM),
    place("h-slope-term-4-by-a", "the derivative by A of term 4 of B̄", &[Site::TermByA(3)], &[A], TERM),
    place("state-in-c", "the state in grad.C", &[Site::StateInC], &[C], STATE),
    place("state-in-z", "the state in the output of grad.z", &[Site::StateInOutput], &[Z], STATE),
    place("state-in-share", "the state in Ā's share", &[Site::StateInABar], SLOPES, SHARED),
    place("states", "the state in the backward products", &[Site::StateInABar, Site::StateInC], &[GradientName::Delta, A, C, GradientName::DeltaBias], STATE),
    place("adjoint-in-u", "the adjoint in grad.u", &[Site::AdjointInU], &[U], COTANGENT),
    place("adjoint-in-b", "the adjoint in grad.B", &[Site::AdjointInB], &[B], COTANGENT),
    place("adjoint-in-a-bar-share", "the adjoint in Ā's share", &[Site::AdjointInABar], SLOPES, COTANGENT),
    place("adjoint-in-h-share", "the adjoint in B̄'s share", &[Site::AdjointInH], SLOPES, COTANGENT),
    place("adjoint-in-shares", "the adjoint in grad.delta and grad.A", &[Site::AdjointInABar, Site::AdjointInH], SLOPES, COTANGENT),
    place("adjoint-in-products", "the adjoint in every product", &[Site::AdjointInU, Site::AdjointInB, Site::AdjointInABar, Site::AdjointInH], ADJOINT, CARRIED),
    place("dout-in-adjoint", "dout in the adjoint", &[Site::DoutInAdjoint], ADJOINT, ENTERS),
    place("dout-in-c", "dout in grad.C", &[Site::DoutInC], &[C], ENTERS),
    place("dout-in-skip", "dout on the path of D in grad.u", &[Site::DoutInSkip], &[U], &[Factor, Position, Channel, Batch, Narrow, Product]),
    place("dout-in-d", "dout in grad.D", &[Site::DoutInD], &[D], READ),
    place("dout-in-z", "dout in grad.z", &[Site::DoutInZ], &[Z], &[Factor, Position, Channel, Batch, Narrow, Product]),
    place("dout-in-scan", "dout in the scan", &[Site::DoutInAdjoint, Site::DoutInC], ADJOINT_AND_C, &[Output, Number, Factor, Position, Chunk, Channel, Batch, Narrow]),
    place("dout", "dout", &[Site::DoutInAdjoint, Site::DoutInC, Site::DoutInSkip, Site::DoutInD, Site::DoutInZ], &GradientName::ALL, READ),
    place("gate-in-adjoint", "the gate of dout in the adjoint", &[Site::GateInAdjoint], ADJOINT, GATE),
    place("gate-in-c", "the gate of dout in grad.C", &[Site::GateInC], &[C], GATE),
    place("gate-in-skip", "the gate of dout on the path of D in grad.u", &[Site::GateInSkip], &[U], GATE),
    place("gate-in-d", "the gate of dout in grad.D", &[Site::GateInD], &[D], GATE),
    place("gate-in-scan", "the gate of dout in the scan", &[Site::GateInAdjoint, Site::GateInC], ADJOINT_AND_C, GATE),
    place("gate", "the gate of dout", &[Site::GateInAdjoint, Site::GateInC, Site::GateInSkip, Site::GateInD], &GradientName::ALL, GATE),
    place("gate-slope", "the gate's derivative", &[Site::GateSlope], &[Z], &[Factor, Position, Channel, Batch, Narrow, Product]),
    place("softplus-slope", "the derivative of softplus", &[Site::SoftplusSlope], STEP, &[Softplus, Position, Narrow, Product, Channel]),
    place("skip-in-u", "D in grad.u", &[Site::SkipInU], &[U], &[Factor, Channel, Narrow]),
    place("skip-in-z", "D in grad.z", &[Site::SkipInZ], &[Z], &[Factor, Channel, Narrow]),
    place("dlast-state", "dlast_state", &[Site::LastState], ADJOINT, &[Number, Complex, Batch, Channel, State, Strides, Product, Narrow]),
    place("initial-state", "the initial state in the backward pass", &[Site::InitialState], STATES, &[Complex, Batch, Channel, State, Strides, Product, Narrow]),
    place("adjoint-start", "the adjoint at the last position", &[Site::AdjointStart], ADJOINT, &[Stale]),
    place("states-start", "the state at the first position of the backward pass", &[Site::StatesStart], STATES, &[Stale]),
    place("initial-gradient", "what arrives at the initial state", &[Site::InitialGradient], &[GradientName::InitialState], &[Complex, Position, Product, Narrow]),
    place("output-in-adjoint", "dout with its gate in the adjoint", &[Site::OutputInAdjoint], ADJOINT, &[Factor]),
    place("output-in-c", "dout with its gate in grad.C", &[Site::OutputInC], &[C], &[Factor]),
    place("deltas", "delta in the backward pass", &[Site::Deltas], SCAN, &[Deltas]),
    place("u", "u in the backward pass", &[Site::UInStates, Site::UInShare, Site::UInB, Site::UInD, Site::UInSkip], READS_U, READ),
    place("b", "B in the backward pass", &[Site::BInStates, Site::BInShare, Site::BInU], STATES_AND_U, OPERAND),
    place("steps", "each coefficient of the backward pass", &[Site::ABarInStates, Site::HInStates, Site::ABarInAdjoint, Site::HInU, Site::HInB, Site::ABarByA, Site::HByA, Site::ABarByDelta, Site::HByDelta], SCAN, &[Step]),
    place("delta-in-bias", "the gradient of delta in the sum of grad.delta_bias", &[Site::DeltaInBias], &[GradientName::DeltaBias], &[Narrow, Position, Product]),
    place("initial-share", "the initial state's share", &[Site::InitialState], STATES, &[Share]),
];

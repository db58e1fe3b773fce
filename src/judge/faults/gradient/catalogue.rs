//! The list of fault models of backward passes, specific before general: of models that coincide on a gradient, the earlier
//! one is named first.

use std::sync::LazyLock;

use super::variant::{
    Accumulator, Carry, Clip, Complex, Edge, Factor, GateSlope, Input, LastState, Length, Misread, Narrow,
    Over, PhiSlope, Pick, PowerSlope, ReversedState, Scale, SlopePart, SoftplusSlope, Store, Variant,
};
use crate::formula::{Form, Function};
use crate::method::Method;
use crate::problem::{Problem, Weights};
use crate::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use crate::tensor::InputType;

/// A fault model of a backward pass.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// In kebab-case.
    pub name: &'static str,
    /// What is wrong, in one sentence.
    pub what: &'static str,
    /// The gradients that it can change.
    pub touches: &'static [GradientName],
    /// With the number that distinguishes it from others of its kind.
    change: fn(&mut Variant, usize),
    number: usize,
}

impl Fault {
    /// One of a list, with its number there.
    pub fn numbered(
        name: &'static str,
        what: &'static str,
        touches: &'static [GradientName],
        change: fn(&mut Variant, usize),
        number: usize,
    ) -> Self {
        Fault { name, what, touches, change, number }
    }

    /// Puts the fault into `variant`.
    pub fn change(&self, variant: &mut Variant) {
        (self.change)(variant, self.number);
    }

    /// Whether the problem has what the fault is about. It may still have no effect.
    pub fn applies(&self, form: Form, problem: &Problem) -> bool {
        let specified = Variant::specified(form);
        let mut variant = specified;
        self.change(&mut variant);
        let seqlen = problem.shape.seqlen;
        let is_of_both = variant.directions != specified.directions
            || variant.carry[0] != variant.carry[1]
            || variant.edge_in != specified.edge_in
            || variant.reversed_state != specified.reversed_state
            || variant.last_state == LastState::Halved;
        let formula = form.formula();
        let has_term = |(i, part): (usize, SlopePart)| match (formula.now().get(i).map(|term| term.of), part)
        {
            (None, _) => false,
            (Some(of), SlopePart::Taylor(_)) => matches!(of, Function::Phi(1..)),
            (Some(of), _) => part == SlopePart::Whole || of != Function::Power(0),
        };
        let has_phi = formula.now().iter().any(|term| matches!(term.of, Function::Phi(1..)));
        let has_power = formula.now().iter().any(|term| matches!(term.of, Function::Power(1..)));
        let is_of_complex = variant.unconjugated.is_some() || variant.complex != specified.complex;
        let is_long_enough = match variant.length {
            Length::PaddedTo(tile) => !seqlen.is_multiple_of(tile),
            Length::CutTo(tile) => seqlen > tile && !seqlen.is_multiple_of(tile),
            Length::WithoutLast => seqlen > 1,
            Length::Right => true,
        };
        variant != specified
            && variant.h_slope_without.is_none_or(has_term)
            && (variant.phi_slope == PhiSlope::Right || has_phi)
            && (variant.power_slope == PowerSlope::Right || has_power)
            && is_long_enough
            && variant.edge.is_none_or(|(length, _)| length < seqlen)
            && (variant.positions.0 == Pick::All || variant.positions.1 < seqlen)
            && (form.is_bidirectional() || !is_of_both)
            && (problem.weights == Weights::Complex || !is_of_complex)
    }

    /// Whether something is kept in a narrow type: a value beside a rounding boundary may go the other way than the model's.
    pub fn rounds(&self) -> bool {
        let mut variant = Variant::specified(Method::Zoh.into());
        self.change(&mut variant);
        let is_stored = matches!(variant.edge, Some((_, Edge::Stored(_) | Edge::AdjointStored(_))));
        variant.narrow.is_some() || variant.accumulator.is_some() || is_stored
    }

    /// Whether each gradient may have it on its own: what it does in one says nothing of the others.
    pub fn is_separate(&self) -> bool {
        let specified = Variant::specified(Method::Poly.into());
        let mut variant = specified;
        self.change(&mut variant);
        let Variant { states, positions, batch, group, accumulator, scale, complex, store, .. } = specified;
        let kept = Variant { states, positions, batch, group, accumulator, scale, complex, store, ..variant };
        kept == specified
    }

    /// Whether it does no more than multiply whole gradients by a number, or almost all of them.
    pub fn is_factor(&self) -> bool {
        let specified = Variant::specified(Method::Poly.into());
        let mut variant = specified;
        self.change(&mut variant);
        let is_even = variant.directions[0] == variant.directions[1];
        let directions = if is_even { specified.directions } else { variant.directions };
        let (scale, output_factors) = (specified.scale, specified.output_factors);
        Variant { directions, scale, output_factors, ..variant } == specified
    }
}

/// The fault of this name.
pub fn find(name: &str) -> Option<&'static Fault> {
    ALL.iter().find(|fault| fault.name == name)
}

/// The name of a gradient that is 0 altogether.
pub const ZERO: &str = "gradient-zero";

/// Whatever an adjoint enters.
pub const ADJOINT: &[GradientName] = &[U, Delta, A, B, DeltaBias, InitialState];
/// Whatever the outputs' gradients enter.
pub const ADJOINT_AND_C: &[GradientName] = &[U, Delta, A, B, C, DeltaBias, InitialState];
/// Whatever a step's derivative enters.
pub const SLOPES: &[GradientName] = &[Delta, A, DeltaBias];
pub const STEP: &[GradientName] = &[Delta, DeltaBias];
/// Whatever a state enters.
pub const STATES: &[GradientName] = &[Delta, A, C, Z, DeltaBias];
/// Whatever B enters.
pub const STATES_AND_U: &[GradientName] = &[U, Delta, A, C, Z, DeltaBias];
/// Whatever u enters.
pub const READS_U: &[GradientName] = &[Delta, A, B, C, D, Z, DeltaBias];
pub const SCAN: &[GradientName] = &[U, Delta, A, B, C, Z, DeltaBias, InitialState];
const WEIGHTS: &[GradientName] = &[A, B, C, InitialState];
const SUMMED: &[GradientName] = &[A, B, C, D, DeltaBias];
const OPERANDS: &[GradientName] = &[B, C];
/// Whatever is summed over the states.
const STATES_SUMMED: &[GradientName] = &[U, Delta, DeltaBias];
const ALL_OF_THEM: &[GradientName] = &GradientName::ALL;

const fn fault(
    name: &'static str,
    what: &'static str,
    touches: &'static [GradientName],
    change: fn(&mut Variant, usize),
) -> Fault {
    Fault { name, what, touches, change, number: 0 }
}

/// A fault for each number, with the number in its name and its sentence in place of `{}`.
fn each(numbers: &[usize], shown: fn(usize) -> String, of: Fault) -> impl Iterator<Item = Fault> + use<'_> {
    let text = move |text: &str, number| -> &'static str { text.replace("{}", &shown(number)).leak() };
    numbers.iter().map(move |&number| Fault {
        name: text(of.name, number),
        what: text(of.what, number),
        number,
        ..of
    })
}

/// Lengths of chunks, and of tiles.
const CHUNKS: [usize; 8] = [16, 32, 64, 128, 256, 512, 1024, 2048];
const TILES: [usize; 11] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

/// Every fault model.
pub static ALL: LazyLock<Vec<Fault>> = LazyLock::new(|| {
    let methods: Vec<usize> = (0..Method::ALL.len()).collect();
    let method = |id: usize| Method::ALL[id].to_string();
    let of_methods = |of| each(&methods, method, of).collect::<Vec<_>>();
    let of_chunks = |of| each(&CHUNKS, |chunk| chunk.to_string(), of);
    let of_tiles = |tiles: &'static [usize], of| each(tiles, |tile| tile.to_string(), of);
    let mut all = SPECIFIC.to_vec();
    all.extend(of_methods(fault("backward-of-{}", "it is the backward pass of {}", SCAN, |v, id| {
        v.form = Method::ALL[id].into();
        (v.slopes_of, v.bidirectional) = (v.form, v.form.is_bidirectional());
    })));
    all.extend(of_methods(fault(
        "backward-coefficients-of-{}",
        "Ā and B̄ and their derivatives are those of {}, in the right directions",
        SCAN,
        |v, id| (v.form, v.slopes_of) = (Method::ALL[id].into(), Method::ALL[id].into()),
    )));
    all.extend(of_methods(fault(
        "slopes-of-{}",
        "the derivatives of Ā and B̄ by Δ and A are those of {}",
        SLOPES,
        |v, id| v.slopes_of = Method::ALL[id].into(),
    )));
    all.extend(GENERAL);
    let narrow = |to: usize| if SUMS[to] == InputType::Bf16 { "bf16" } else { "f16" }.to_owned();
    NARROW_SUMS.iter().for_each(|sum| all.extend(each(&[0, 1], narrow, *sum)));
    for edge in EDGES {
        all.extend(of_chunks(*edge));
    }
    for window in WINDOWS {
        all.extend(of_chunks(*window));
    }
    let tenths = |number: usize| (number as f64 / 10.0).to_string();
    CLIPPED.iter().for_each(|clip| all.extend(each(&LIMITS, tenths, *clip)));
    all.extend(of_tiles(&TILES, PADDED));
    all.extend(of_tiles(&TILES, DECAYED));
    // Below 4 it is the last position alone.
    all.extend(of_tiles(&TILES[1..], CUT));
    all
});

/// Of one gradient, or of one place in the adjoint.
#[rustfmt::skip]
const SPECIFIC: &[Fault] = &[
    // What Δ and A collect.
    fault("delta-without-h", "grad.delta lacks B̄'s derivative by Δ: it has Ā's share alone", STEP,
        |v, _| v.delta_shares = [1.0, 0.0]),
    fault("delta-without-a-bar", "grad.delta lacks Ā's derivative by Δ: it has B̄'s share alone", STEP,
        |v, _| v.delta_shares = [0.0, 1.0]),
    fault("a-without-h", "grad.A lacks B̄'s derivative by A: it has Ā's share alone", &[A],
        |v, _| v.a_shares = [1.0, 0.0]),
    fault("a-without-a-bar", "grad.A lacks Ā's derivative by A: it has B̄'s share alone", &[A],
        |v, _| v.a_shares = [0.0, 1.0]),
    fault("h-slope-without-z", "B̄'s derivative by Δ takes ΔA for a constant", STEP,
        |v, _| v.h_slope = [1.0, 0.0]),
    fault("h-slope-through-z-alone", "B̄'s derivative by Δ takes its powers of Δ for constants", STEP,
        |v, _| v.h_slope = [0.0, 1.0]),
    fault("phi-slope-without-k", "φₖ is differentiated as φₖ − φₖ₊₁, for φₖ − kφₖ₊₁", SLOPES,
        |v, _| v.phi_slope = PhiSlope::WithoutK),
    fault("phi-slope-next", "φₖ is differentiated as φₖ₊₁, for φₖ − kφₖ₊₁", SLOPES,
        |v, _| v.phi_slope = PhiSlope::Next),
    fault("phi-slope-k-next", "φₖ is differentiated as kφₖ₊₁, for φₖ − kφₖ₊₁", SLOPES,
        |v, _| v.phi_slope = PhiSlope::KNext),
    fault("phi-slope-same", "φₖ is differentiated as φₖ, as if it were an exponential", SLOPES,
        |v, _| v.phi_slope = PhiSlope::Same),
    fault("phi-slope-plus", "φₖ is differentiated as φₖ + kφₖ₊₁, with the wrong sign", SLOPES,
        |v, _| v.phi_slope = PhiSlope::Plus),
    fault("phi-slope-before", "φₖ is differentiated as φₖ₋₁", SLOPES,
        |v, _| v.phi_slope = PhiSlope::Before),
    fault("power-slope-without-k", "in B̄'s derivative zᵏ is differentiated as zᵏ⁻¹, for kzᵏ⁻¹", SLOPES,
        |v, _| v.power_slope = PowerSlope::WithoutK),
    fault("power-slope-next-k", "in B̄'s derivative zᵏ is differentiated as (k + 1)zᵏ⁻¹, for kzᵏ⁻¹", SLOPES,
        |v, _| v.power_slope = PowerSlope::NextK),
    fault("power-slope-k-before", "in B̄'s derivative zᵏ is differentiated as (k − 1)zᵏ⁻¹, for kzᵏ⁻¹", SLOPES,
        |v, _| v.power_slope = PowerSlope::KBefore),
    fault("power-slope-not-lowered", "in B̄'s derivative zᵏ is differentiated as kzᵏ, for kzᵏ⁻¹", SLOPES,
        |v, _| v.power_slope = PowerSlope::NotLowered),
    fault("power-slope-same", "in B̄'s derivative zᵏ is differentiated as zᵏ, as if it were an exponential", SLOPES,
        |v, _| v.power_slope = PowerSlope::Same),
    fault("delta-slope-without-a", "derivatives by Δ lack the factor A of z = ΔA", STEP,
        |v, _| v.chain[0] = false),
    fault("a-slope-without-delta", "derivatives by A lack the factor Δ of z = ΔA", &[A],
        |v, _| v.chain[1] = false),
    fault("a-bar-slope-exponential", "Ā is differentiated as if it were an exponential: ∂Ā/∂z = Ā", SLOPES,
        |v, _| v.a_bar_as_exponential = true),
    fault("log2e-in-delta", "Ā's share of grad.delta has a factor log₂e", STEP,
        |v, _| v.delta_shares[0] = std::f64::consts::LOG2_E),
    fault("log2e-in-a", "Ā's share of grad.A has a factor log₂e", &[A],
        |v, _| v.a_shares[0] = std::f64::consts::LOG2_E),
    fault("ln2-in-a", "Ā's share of grad.A has a factor ln 2", &[A],
        |v, _| v.a_shares[0] = std::f64::consts::LN_2),
    fault("gradient-of-log-a", "grad.A is the gradient of log(−A): it has a factor A", &[A],
        |v, _| v.store = Store::OfLogA),
    fault("a-bar-reads-after", "Ā's derivative is multiplied by the state after the update in place of the one before (off by one)", SLOPES,
        |v, _| v.a_bar_reads_after = true),
    fault("delta-one-state", "grad.delta and grad.u have the first state alone", &[U, Delta, DeltaBias],
        |v, _| v.states = Pick::First),
    fault("delta-last-state-alone", "grad.delta and grad.u have the last of the N states alone", &[U, Delta, DeltaBias],
        |v, _| v.states = Pick::Last),
    fault("masked-dropped", "positions whose delta and u are 0 add nothing to grad.delta, grad.delta_bias and grad.A", SLOPES,
        |v, _| v.drops_masked = true),
    // Softplus.
    fault("softplus-slope-missing", "the derivative of softplus is missing", STEP,
        |v, _| v.softplus_slope = SoftplusSlope::Missing),
    fault("softplus-slope-without-bias", "the derivative of softplus is taken at delta, without the bias", STEP,
        |v, _| v.softplus_slope = SoftplusSlope::WithoutBias),
    fault("softplus-slope-of-delta", "the derivative of softplus is taken at Δ, which went through softplus already", STEP,
        |v, _| v.softplus_slope = SoftplusSlope::OfDelta),
    fault("softplus-slope-squared", "the derivative of softplus is applied twice", STEP,
        |v, _| v.softplus_slope = SoftplusSlope::Squared),
    fault("softplus-for-its-slope", "softplus stands in place of its derivative", STEP,
        |v, _| v.softplus_slope = SoftplusSlope::Softplus),
    // The gate and the skip.
    fault("gate-missing-in-skip", "dout on the path of D, in grad.u and grad.D, has not been multiplied by the gate", &[U, D],
        |v, _| v.gates[1..].fill(0)),
    fault("gate-missing-in-scan", "the scan's share of grad.u has not been multiplied by the gate", ADJOINT_AND_C,
        |v, _| v.gates[0] = 0),
    fault("gate-missing-in-backward", "dout is not multiplied by the gate", ALL_OF_THEM,
        |v, _| v.gates = [0; 3]),
    fault("gate-twice-in-backward", "dout is multiplied by the gate twice", ALL_OF_THEM,
        |v, _| v.gates = [2; 3]),
    fault("gate-slope-of-sigmoid", "the gate's derivative is that of the sigmoid", &[Z],
        |v, _| v.gate_slope = GateSlope::OfSigmoid),
    fault("gate-slope-sigmoid", "the sigmoid stands in place of the gate's derivative", &[Z],
        |v, _| v.gate_slope = GateSlope::Sigmoid),
    fault("gate-slope-silu", "the gate itself stands in place of its derivative", &[Z],
        |v, _| v.gate_slope = GateSlope::Silu),
    fault("gate-slope-sign", "the gate's derivative has a sign slip: σ(z)(1 − zσ(−z))", &[Z],
        |v, _| v.gate_slope = GateSlope::SignSlip),
    fault("gate-slope-parenthesis", "the gate's derivative has a misplaced parenthesis: σ(z)(1 + z)σ(−z)", &[Z],
        |v, _| v.gate_slope = GateSlope::Parenthesis),
    fault("gate-slope-without-complement", "the gate's derivative lacks the factor σ(−z): σ(z)(1 + z)", &[Z],
        |v, _| v.gate_slope = GateSlope::WithoutComplement),
    fault("gate-slope-sum", "the gate's derivative lacks a factor σ(z): σ(z) + zσ(−z)", &[Z],
        |v, _| v.gate_slope = GateSlope::Sum),
    fault("gate-slope-without-sigmoid", "the gate's derivative lacks the factor σ(z): 1 + zσ(−z)", &[Z],
        |v, _| v.gate_slope = GateSlope::WithoutSigmoid),
    fault("gate-slope-missing", "the gate's derivative is missing: grad.z is dout times the output before the gate", &[Z],
        |v, _| v.gate_slope = GateSlope::Missing),
    fault("z-of-gated-output", "grad.z is made of the gated output in place of the one before the gate", &[Z],
        |v, _| v.gated_output = 1),
    fault("z-without-skip", "grad.z lacks D·u", &[Z], |v, _| v.gated = [1.0, 0.0]),
    fault("z-of-skip-alone", "grad.z has D·u alone, without y", &[Z], |v, _| v.gated = [0.0, 1.0]),
    fault("z-skip-doubled", "grad.z has D·u twice", &[Z], |v, _| v.gated = [1.0, 2.0]),
    fault("z-output-halved", "grad.z has half of y", &[Z], |v, _| v.gated = [0.5, 1.0]),
    fault("z-output-doubled", "grad.z has y twice", &[Z], |v, _| v.gated = [2.0, 1.0]),
    fault("d-without-u", "grad.D lacks the factor u", &[D], |v, _| v.d_has_u = false),
    fault("u-without-skip", "grad.u lacks D·dout", &[U], |v, _| v.skip = 0.0),
    fault("u-skip-doubled", "grad.u has D·dout twice", &[U], |v, _| v.skip = 2.0),
    // The input term.
    fault("u-without-delta", "grad.u lacks the factor Δ", &[U], |v, _| v.u_input = Input::WithoutDelta),
    fault("u-without-h", "grad.u lacks the factor B̄/B", &[U], |v, _| v.u_input = Input::Missing),
    fault("u-without-b", "grad.u lacks the factor B", &[U], |v, _| v.u_has_b = false),
    fault("u-b-before", "grad.u reads B of the position before", &[U], |v, _| v.u_b_offset = -1),
    fault("u-b-after", "grad.u reads B of the position after", &[U], |v, _| v.u_b_offset = 1),
    fault("b-without-delta", "grad.B lacks the factor Δ", &[B], |v, _| v.b_input = Input::WithoutDelta),
    fault("b-without-h", "grad.B lacks the factor B̄/B", &[B], |v, _| v.b_input = Input::Missing),
    fault("b-without-u", "grad.B lacks the factor u", &[B], |v, _| v.b_has_u = false),
    fault("c-reads-before", "grad.C is made of x_{l−1} in place of x_l", &[C], |v, _| v.c_reads_before = true),
    fault("b-and-c-exchanged", "grad.B and grad.C stand in each other's place", OPERANDS, |v, _| v.store = Store::Exchanged),
    // What is carried.
    fault("no-recurrence", "no adjoint is carried from position to position", ADJOINT, |v, _| v.carry = [Carry::Lost; 2]),
    fault("carry-of-own-position", "the adjoint of position l + 1 is multiplied by Ā_l in place of Ā_{l+1}", ADJOINT,
        |v, _| v.carry = [Carry::Own; 2]),
    fault("carry-without-a-bar", "the adjoint is carried without Ā", ADJOINT, |v, _| v.carry = [Carry::Undecayed; 2]),
    fault("reversed-carry-of-own-position", "the reversed scan's adjoint is multiplied by Ā of the wrong position", ADJOINT,
        |v, _| v.carry[1] = Carry::Own),
    fault("reversed-no-recurrence", "the reversed scan carries no adjoint", ADJOINT, |v, _| v.carry[1] = Carry::Lost),
    fault("forward-no-recurrence", "the forward scan carries no adjoint", ADJOINT, |v, _| v.carry[0] = Carry::Lost),
    fault("dlast-state-ignored", "dlast_state is ignored", ADJOINT, |v, _| v.last_state = LastState::Ignored),
    fault("dlast-state-everywhere", "dlast_state is added at every position", ADJOINT, |v, _| v.last_state = LastState::Everywhere),
    fault("dlast-state-in-both-scans", "dlast_state enters the reversed scan as well", ADJOINT, |v, _| v.last_state = LastState::InBothScans),
    fault("dlast-state-doubled", "dlast_state has the factor 2 of complex outputs", ADJOINT, |v, _| v.last_state = LastState::Doubled),
    fault("initial-state-ignored", "the backward pass starts its states from 0 in place of the initial state", STATES,
        |v, _| v.has_initial = false),
    fault("initial-state-undecayed", "grad.initial_state lacks Ā of the first position", &[InitialState],
        |v, _| v.decays_initial = false),
    // What is read.
    fault("b-of-first-batch", "the backward pass reads B of the batch's first item for all", STATES_AND_U, |v, _| v.misread = Some((B, Misread::FirstBatch))),
    fault("c-of-first-batch", "the backward pass reads C of the batch's first item for all", SCAN, |v, _| v.misread = Some((C, Misread::FirstBatch))),
    fault("u-of-first-batch", "the backward pass reads u of the batch's first item for all", READS_U, |v, _| v.misread = Some((U, Misread::FirstBatch))),
    fault("delta-of-first-batch", "the backward pass reads delta of the batch's first item for all", SCAN, |v, _| v.misread = Some((Delta, Misread::FirstBatch))),
    fault("b-of-modulo-group", "channel d reads B of group d mod groups", STATES_AND_U, |v, _| v.misread = Some((B, Misread::ModuloGroup))),
    fault("c-of-modulo-group", "channel d reads C of group d mod groups", SCAN, |v, _| v.misread = Some((C, Misread::ModuloGroup))),
    fault("b-sum-in-modulo-group", "grad.B of channel d is added to group d mod groups", &[B], |v, _| v.misread = Some((B, Misread::SumInModuloGroup))),
    fault("c-sum-in-modulo-group", "grad.C of channel d is added to group d mod groups", &[C], |v, _| v.misread = Some((C, Misread::SumInModuloGroup))),
    // Both directions.
    fault("dlast-state-halved", "dlast_state has the ½ of both directions", ADJOINT, |v, _| v.last_state = LastState::Halved),
    fault("reversed-state-of-other-side", "the reversed scan's Ā is multiplied by its state at l − 1 in place of l + 1", SLOPES,
        |v, _| v.reversed_state = ReversedState::OtherSide),
    fault("reversed-state-of-forward", "the reversed scan's Ā is multiplied by the forward scan's state", SLOPES,
        |v, _| v.reversed_state = ReversedState::Forward),
    fault("reversed-carry-without-a-bar", "the reversed scan's adjoint is carried without Ā", ADJOINT, |v, _| v.carry[1] = Carry::Undecayed),
    fault("forward-carry-without-a-bar", "the forward scan's adjoint is carried without Ā", ADJOINT, |v, _| v.carry[0] = Carry::Undecayed),
    fault("reversed-missing", "the reversed scan has no backward pass", SCAN, |v, _| v.directions[1] = 0.0),
    fault("forward-missing", "the forward scan's outputs have no backward pass", SCAN, |v, _| v.directions[0] = 0.0),
    fault("half-missing", "the gradients of both directions are summed, without ½", SCAN, |v, _| v.directions = [2.0; 2]),
    fault("reversed-missing-and-half", "the reversed scan has no backward pass, and the forward one no ½", SCAN,
        |v, _| v.directions = [2.0, 0.0]),
    // Complex numbers.
    fault("output-factor-missing", "dout enters the scan without the factor 2 of complex outputs", ADJOINT_AND_C, |v, _| v.output_factors = 0),
    fault("output-factor-twice", "dout enters the scan with one factor 2 too many", ADJOINT_AND_C, |v, _| v.output_factors = 2),
    fault("a-bar-unconjugated", "Ā is not conjugated in the adjoint recurrence", ADJOINT, |v, _| v.unconjugated = Some(Factor::ABar)),
    fault("c-unconjugated", "C is not conjugated where dout enters the adjoint", ADJOINT, |v, _| v.unconjugated = Some(Factor::C)),
    fault("state-unconjugated", "the state is not conjugated in Ā's share", SLOPES, |v, _| v.unconjugated = Some(Factor::State)),
    fault("b-unconjugated", "B is not conjugated in the gradients of what it multiplies", &[U, Delta, A, DeltaBias], |v, _| v.unconjugated = Some(Factor::B)),
    fault("h-unconjugated", "B̄/B is not conjugated in grad.u and grad.B", &[U, B], |v, _| v.unconjugated = Some(Factor::Input)),
    fault("slopes-unconjugated", "the derivatives of Ā and B̄ are not conjugated", SLOPES, |v, _| v.unconjugated = Some(Factor::Slopes)),
    fault("a-bar-slopes-unconjugated", "the derivatives of Ā are not conjugated", SLOPES, |v, _| v.unconjugated = Some(Factor::ABarSlopes)),
    fault("h-slopes-unconjugated", "the derivatives of B̄ are not conjugated", SLOPES, |v, _| v.unconjugated = Some(Factor::InputSlopes)),
    fault("a-unconjugated", "A is not conjugated in Ā's share of grad.delta", STEP, |v, _| v.unconjugated = Some(Factor::A)),
    fault("dlast-state-unconjugated", "dlast_state is taken for its conjugate", ADJOINT, |v, _| v.unconjugated = Some(Factor::LastState)),
];

/// Of whole gradients, and of sums.
#[rustfmt::skip]
const GENERAL: &[Fault] = &[
    fault("gradient-conjugated", "the gradient is conjugated", WEIGHTS, |v, _| v.complex = Complex::Conjugated),
    fault("gradient-real-part", "the gradient has no imaginary part", WEIGHTS, |v, _| v.complex = Complex::RealPart),
    fault("gradient-parts-exchanged", "real and imaginary parts stand in each other's place", WEIGHTS, |v, _| v.complex = Complex::PartsExchanged),
    fault("batch-first-alone", "the sum over the batch has its first item alone", SUMMED, |v, _| v.batch = Pick::First),
    fault("batch-last-alone", "the sum over the batch has its last item alone", SUMMED, |v, _| v.batch = Pick::Last),
    fault("batch-averaged", "the sum over the batch is an average", SUMMED, |v, _| v.scale = Scale::PerBatch),
    fault("group-first-alone", "the sum over a group has its first channel alone", OPERANDS, |v, _| v.group = Pick::First),
    fault("group-last-alone", "the sum over a group has its last channel alone", OPERANDS, |v, _| v.group = Pick::Last),
    fault("group-averaged", "the sum over a group is an average", OPERANDS, |v, _| v.scale = Scale::PerChannel),
    fault("position-first-alone", "the sum over positions has the first alone", SUMMED, |v, _| v.positions = (Pick::First, 1)),
    fault("position-last-alone", "the sum over positions has the last alone", SUMMED, |v, _| v.positions = (Pick::Last, 1)),
    fault("positions-averaged", "the sum over positions is an average", SUMMED, |v, _| v.scale = Scale::PerPosition),
    fault("sum-without-first", "the sum over positions lacks the first", SUMMED, |v, _| v.positions = (Pick::ButFirst, 1)),
    fault("sum-without-last", "the sum over positions lacks the last", SUMMED, |v, _| v.positions = (Pick::ButLast, 1)),
    fault("last-position-without-gradient", "the last position is left out", ALL_OF_THEM, |v, _| v.length = Length::WithoutLast),
    fault("gradient-doubled", "the gradient is twice what it is to be", ALL_OF_THEM, |v, _| v.scale = Scale::By(2.0)),
    fault("gradient-halved", "the gradient is half of what it is to be", ALL_OF_THEM, |v, _| v.scale = Scale::By(0.5)),
    fault("gradient-negated", "the gradient has the wrong sign", ALL_OF_THEM, |v, _| v.scale = Scale::By(-1.0)),
    fault(ZERO, "the gradient is 0", ALL_OF_THEM, |v, _| v.scale = Scale::By(0.0)),
    fault("gradient-reversed", "the gradient runs from the last position to the first", &[U, Delta, B, C, Z], |v, _| v.store = Store::Reversed),
    fault("gated-dout-bf16", "dout times the gate is kept in bf16", ALL_OF_THEM, |v, _| v.narrow = Some((Narrow::Gated, InputType::Bf16))),
    fault("gated-dout-f16", "dout times the gate is kept in f16", ALL_OF_THEM, |v, _| v.narrow = Some((Narrow::Gated, InputType::F16))),
    fault("adjoint-bf16", "the adjoint is kept in bf16", ADJOINT, |v, _| v.narrow = Some((Narrow::Adjoint, InputType::Bf16))),
    fault("adjoint-f16", "the adjoint is kept in f16", ADJOINT, |v, _| v.narrow = Some((Narrow::Adjoint, InputType::F16))),
    fault("state-in-backward-bf16", "the backward pass keeps its states in bf16", STATES, |v, _| v.narrow = Some((Narrow::State, InputType::Bf16))),
    fault("state-in-backward-f16", "the backward pass keeps its states in f16", STATES, |v, _| v.narrow = Some((Narrow::State, InputType::F16))),
    fault("sum-in-bf16", "the sum over positions is kept in bf16", SUMMED, |v, _| v.accumulator = kept(Over::Positions, InputType::Bf16)),
    fault("sum-in-f16", "the sum over positions is kept in f16", SUMMED, |v, _| v.accumulator = kept(Over::Positions, InputType::F16)),
    fault("sum-from-last-in-bf16", "the sum over positions, from the last one on, is kept in bf16", SUMMED, |v, _| v.accumulator = backwards(kept(Over::Positions, InputType::Bf16))),
    fault("sum-from-last-in-f16", "the sum over positions, from the last one on, is kept in f16", SUMMED, |v, _| v.accumulator = backwards(kept(Over::Positions, InputType::F16))),
    fault("sum-over-batch-in-bf16", "the sum over batch and positions is kept in bf16", SUMMED, |v, _| v.accumulator = kept(Over::BatchAndPositions, InputType::Bf16)),
    fault("sum-over-batch-in-f16", "the sum over batch and positions is kept in f16", SUMMED, |v, _| v.accumulator = kept(Over::BatchAndPositions, InputType::F16)),
    fault("gradient-overflows-f16", "what is beyond 65504, the range of f16, is infinite", ALL_OF_THEM, |v, _| v.store = Store::Overflows),
    fault("gradient-saturates-f16", "what is beyond 65504, the range of f16, is cut to it", ALL_OF_THEM, |v, _| v.store = Store::Saturates),
];

const fn kept(over: Over, to: InputType) -> Option<Accumulator> {
    Some(Accumulator { over, added: None, kept: Some(to), backwards: false })
}

/// From the last on.
fn backwards(of: Option<Accumulator>) -> Option<Accumulator> {
    of.map(|of| Accumulator { backwards: true, ..of })
}

/// With what is added rounded to the type that the sum is kept in.
fn rounded(of: Option<Accumulator>) -> Option<Accumulator> {
    of.map(|of| Accumulator { added: of.kept, ..of })
}

/// With what is added rounded alone.
fn added(of: Option<Accumulator>) -> Option<Accumulator> {
    of.map(|of| Accumulator { added: of.kept, kept: None, ..of })
}

const SUMS: [InputType; 2] = [InputType::Bf16, InputType::F16];

/// For each narrow type, by its number in [`SUMS`].
#[rustfmt::skip]
const NARROW_SUMS: &[Fault] = &[
    fault("sum-over-batch-from-last-in-{}", "the sum over the batch and over the positions from the last one on is kept in {}", SUMMED,
        |v, to| v.accumulator = backwards(kept(Over::BatchAndPositions, SUMS[to]))),
    fault("rounded-sum-in-{}", "what each position adds and the sum over them are kept in {}", SUMMED,
        |v, to| v.accumulator = rounded(kept(Over::Positions, SUMS[to]))),
    fault("rounded-sum-from-last-in-{}", "what each position adds and the sum over them, from the last one on, are kept in {}", SUMMED,
        |v, to| v.accumulator = backwards(rounded(kept(Over::Positions, SUMS[to])))),
    fault("rounded-sum-over-batch-in-{}", "what each position adds and the sum over batch and positions are kept in {}", SUMMED,
        |v, to| v.accumulator = rounded(kept(Over::BatchAndPositions, SUMS[to]))),
    fault("rounded-sum-over-batch-from-last-in-{}", "what each position adds and the sum over the batch and over the positions from the last one on are kept in {}", SUMMED,
        |v, to| v.accumulator = backwards(rounded(kept(Over::BatchAndPositions, SUMS[to])))),
    fault("added-in-{}", "what each position adds to a sum is rounded to {}", SUMMED,
        |v, to| v.accumulator = added(kept(Over::Positions, SUMS[to]))),
    fault("group-sum-in-{}", "the sum over the channels of a group is kept in {}", OPERANDS,
        |v, to| v.accumulator = kept(Over::Group, SUMS[to])),
    fault("group-sum-from-last-in-{}", "the sum over the channels of a group, from the last one on, is kept in {}", OPERANDS,
        |v, to| v.accumulator = backwards(kept(Over::Group, SUMS[to]))),
    fault("rounded-group-sum-in-{}", "what each channel of a group adds and the sum over them are kept in {}", OPERANDS,
        |v, to| v.accumulator = rounded(kept(Over::Group, SUMS[to]))),
    fault("rounded-group-sum-from-last-in-{}", "what each channel of a group adds and the sum over them, from the last one on, are kept in {}", OPERANDS,
        |v, to| v.accumulator = backwards(rounded(kept(Over::Group, SUMS[to])))),
    fault("added-to-group-in-{}", "what each channel of a group adds to its sum is rounded to {}", OPERANDS,
        |v, to| v.accumulator = added(kept(Over::Group, SUMS[to]))),
    fault("state-sum-in-{}", "the sum over the states is kept in {}", STATES_SUMMED,
        |v, to| v.accumulator = kept(Over::States, SUMS[to])),
    fault("rounded-state-sum-in-{}", "what each state adds and the sum over the states are kept in {}", STATES_SUMMED,
        |v, to| v.accumulator = rounded(kept(Over::States, SUMS[to]))),
    fault("state-share-in-{}", "what each state adds to a sum is rounded to {}", STATES_SUMMED,
        |v, to| v.accumulator = added(kept(Over::States, SUMS[to]))),
];

/// For each length of chunks.
#[rustfmt::skip]
const EDGES: &[Fault] = &[
    fault("adjoint-lost-at-{}", "the adjoint is lost at multiples of {}", ADJOINT, |v, n| v.edge = Some((n, Edge::Adjoint(0.0)))),
    fault("adjoint-doubled-at-{}", "the adjoint counts twice at multiples of {}", ADJOINT, |v, n| v.edge = Some((n, Edge::Adjoint(2.0)))),
    fault("adjoint-undecayed-at-{}", "the adjoint passes multiples of {} without Ā", ADJOINT, |v, n| v.edge = Some((n, Edge::Undecayed))),
    fault("state-in-backward-lost-at-{}", "the backward pass loses the state at multiples of {}", STATES, |v, n| v.edge = Some((n, Edge::State(0.0)))),
    fault("state-unread-at-{}", "Ā's share has 0 for the state before multiples of {}", SLOPES, |v, n| v.edge = Some((n, Edge::Unread))),
    fault("state-bf16-at-{}", "the states that the backward pass starts from at multiples of {} are kept in bf16", STATES, |v, n| v.edge = Some((n, Edge::Stored(InputType::Bf16)))),
    fault("state-f16-at-{}", "the states that the backward pass starts from at multiples of {} are kept in f16", STATES, |v, n| v.edge = Some((n, Edge::Stored(InputType::F16)))),
    fault("reversed-adjoint-lost-at-{}", "the reversed scan's adjoint is lost at multiples of {}", ADJOINT,
        |v, n| (v.edge, v.edge_in) = (Some((n, Edge::Adjoint(0.0))), [false, true])),
    fault("reversed-adjoint-undecayed-at-{}", "the reversed scan's adjoint passes multiples of {} without Ā", ADJOINT,
        |v, n| (v.edge, v.edge_in) = (Some((n, Edge::Undecayed)), [false, true])),
    fault("forward-adjoint-lost-at-{}", "the forward scan's adjoint alone is lost at multiples of {}", ADJOINT,
        |v, n| (v.edge, v.edge_in) = (Some((n, Edge::Adjoint(0.0))), [true, false])),
];

/// The same.
#[rustfmt::skip]
const WINDOWS: &[Fault] = &[
    fault("sum-of-first-{}", "the sum over positions has the first chunk of {} alone", SUMMED, |v, n| v.positions = (Pick::First, n)),
    fault("sum-of-last-{}", "the sum over positions has the last chunk of {} alone", SUMMED, |v, n| v.positions = (Pick::Last, n)),
    fault("sum-of-whole-{}", "the sum over positions has whole chunks of {} alone", SUMMED, |v, n| v.positions = (Pick::Whole, n)),
];

/// Parts that a gradient is linear in, each as its absence: what has another factor there is found by a fit of one number.
/// The sentence says what has the factor.
#[rustfmt::skip]
pub static PARTS: LazyLock<Vec<Fault>> = LazyLock::new(|| {
    let mut all = vec![
        fault("a-bar-share-scaled", "Ā's share", SLOPES, |v, _| (v.delta_shares[0], v.a_shares[0]) = (0.0, 0.0)),
        fault("h-share-scaled", "B̄'s share", SLOPES, |v, _| (v.delta_shares[1], v.a_shares[1]) = (0.0, 0.0)),
        fault("skip-scaled", "D·dout", &[U], |v, _| v.skip = 0.0),
        fault("z-output-scaled", "y", &[Z], |v, _| v.gated[0] = 0.0),
        fault("z-skip-scaled", "D·u", &[Z], |v, _| v.gated[1] = 0.0),
        fault("dlast-state-scaled", "dlast_state", ADJOINT, |v, _| v.last_state = LastState::Ignored),
        fault("initial-state-scaled", "the initial state", STATES, |v, _| v.has_initial = false),
        fault("dout-in-adjoint-scaled", "dout in the adjoint", ADJOINT,
            |v, _| v.douts[0] = 0.0),
        fault("dout-in-scan-scaled", "dout in the scan", ADJOINT_AND_C,
            |v, _| v.douts = [0.0; 2]),
        fault("first-position-scaled", "the first position's share", SUMMED, |v, _| v.positions = (Pick::ButFirst, 1)),
        fault("last-position-scaled", "the last position's share", SUMMED, |v, _| v.positions = (Pick::ButLast, 1)),
        fault("reversed-scaled", "the reversed scan", SCAN, |v, _| v.directions[1] = 0.0),
        fault("forward-scaled", "the forward scan", SCAN, |v, _| v.directions[0] = 0.0),
    ];
    let terms: Vec<usize> = (0..4 * SLOPE_PARTS.len()).collect();
    let text = |at: usize| format!("{}", at / SLOPE_PARTS.len() + 1);
    let mut of_terms: Vec<Fault> = each(&terms, text, fault("h-slope-term-{}-scaled", "", SLOPES, |v, at| {
        v.h_slope_without = Some((at / SLOPE_PARTS.len(), SLOPE_PARTS[at % SLOPE_PARTS.len()].0));
    })).collect();
    for part in &mut of_terms {
        let (term, what) = (part.number / SLOPE_PARTS.len() + 1, SLOPE_PARTS[part.number % SLOPE_PARTS.len()].1);
        part.what = format!("{what} of term {term} of B̄").leak();
    }
    all.extend(of_terms);
    for chunk in CHUNK_PARTS {
        all.extend(each(&CHUNKS, |chunk| chunk.to_string(), *chunk));
    }
    all
});

/// For each length of chunks.
#[rustfmt::skip]
const CHUNK_PARTS: &[Fault] = &[
    fault("first-{}-scaled", "the share of the first chunk of {}", SUMMED, |v, n| v.positions = (Pick::ButFirst, n)),
    fault("last-{}-scaled", "the share of the last chunk of {}", SUMMED, |v, n| v.positions = (Pick::ButLast, n)),
];

/// What a derivative of one of h's terms consists of.
#[rustfmt::skip]
const SLOPE_PARTS: [(SlopePart, &str); 8] = [
    (SlopePart::Whole, "the derivative"),
    (SlopePart::Power, "the derivative through the power of Δ"),
    (SlopePart::Argument, "the derivative through z"),
    (SlopePart::Taylor(0), "the constant in the Taylor series of φ′"),
    (SlopePart::Taylor(1), "the linear term in the Taylor series of φ′"),
    (SlopePart::Taylor(2), "the quadratic term in the Taylor series of φ′"),
    (SlopePart::Taylor(3), "the cubic term in the Taylor series of φ′"),
    (SlopePart::Taylor(4), "the quartic term in the Taylor series of φ′"),
];

/// Limits, in tenths.
const LIMITS: [usize; 8] = [1, 5, 10, 20, 30, 50, 100, 1000];
const CLIPPED: [Fault; 2] = [
    fault("adjoint-clipped-to-{}", "the adjoint is kept within ±{} at each position", ADJOINT, |v, n| {
        v.clip = Some(Clip::Adjoint(n as f64 / 10.0));
    }),
    fault("dout-clipped-to-{}", "dout is kept within ±{}", ALL_OF_THEM, |v, n| {
        v.clip = Some(Clip::Dout(n as f64 / 10.0));
    }),
];

/// What goes wrong with windows and tails of these lengths.
pub fn windows(lengths: &[usize]) -> impl Iterator<Item = Fault> + use<'_> {
    let all = WINDOWS.iter().chain([&CUT]);
    all.flat_map(move |window| each(lengths, |length| length.to_string(), *window))
}

/// For each length of tiles.
const PADDED: Fault = fault(
    "padded-to-{}",
    "the sequence is padded to a multiple of {} with delta = 0 and u = 0, and what is beyond the end adds to the gradients",
    ADJOINT,
    |v, n| v.length = Length::PaddedTo(n),
);
const DECAYED: Fault = fault(
    "decayed-to-{}",
    "dlast_state decays through a padding to a multiple of {}, with delta = 0 and u = 0",
    ADJOINT,
    |v, n| (v.length, v.positions) = (Length::PaddedTo(n), (Pick::Inside, 1)),
);
const CUT: Fault = fault(
    "tail-{}-without-gradient",
    "the positions beyond the last multiple of {} are left out",
    ALL_OF_THEM,
    |v, n| v.length = Length::CutTo(n),
);

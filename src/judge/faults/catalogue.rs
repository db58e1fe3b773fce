//! The list of fault models, specific before general: of models that coincide on a problem, the earlier one is
//! named first.

use std::sync::LazyLock;

use super::variant::{
    BUse, Bias, Clamp, Directions, Gate, Inverse, LastState, Power, Readout, Reversed, Sum, Tail,
};
use super::{ExponentPart, Fault};
use crate::formula::{Form, Fraction, Textbook};
use crate::method::Method;
use crate::problem::InputType;

/// A fault model and what a report says of it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub fault: Fault,
    /// In kebab-case; `kernels/faults/list.cuh` has it under the same name.
    pub name: &'static str,
    /// What is wrong, in one sentence.
    pub what: &'static str,
    /// Where such a bug comes from.
    pub origin: &'static str,
}

const fn entry(fault: Fault, name: &'static str, what: &'static str, origin: &'static str) -> Entry {
    Entry { fault, name, what, origin }
}

/// Every fault model.
pub static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let runs_as = Form::all().map(|form| {
        let (what, origin) = match form {
            Form::Method(_) => ("it computes", "a dispatch that falls through, or ids out of step"),
            Form::Textbook(Textbook::ZohExact) => {
                ("it computes the textbook form", "exact zoh under another name: the classic foh mistake")
            }
            Form::Textbook(_) => (
                "it computes the textbook form",
                "the form of textbooks and toolboxes in place of the specified one",
            ),
        };
        named(Fault::RunsAs(form), format!("runs-as-{form}"), format!("{what} {form}"), origin)
    });
    let b_bar_of = Method::ALL.map(|method| {
        let what = format!("B̄ is that of {method}, Ā and the scan are right");
        let fault = Fault::BBarOf(method.into());
        named(fault, format!("b-bar-of-{method}"), what, "coefficients copied from another branch")
    });
    let taylor = (1..=8).map(|count| {
        let plural = if count == 1 { "" } else { "s" };
        let what = format!("the series of every φ in B̄ stops after {count} term{plural}");
        let origin = "Taylor series in place of a division by A";
        named(Fault::Taylor(count), format!("phi-taylor-{count}"), what, origin)
    });
    let mut all = METHODS_OWN.to_vec();
    all.extend(runs_as.chain(A_BAR.iter().copied()).chain(b_bar_of));
    all.extend(B_BAR.iter().copied().chain(taylor).chain(REST.iter().copied()));
    all
});

/// An entry with a name and a sentence that are made, once, and kept.
fn named(fault: Fault, name: String, what: String, origin: &'static str) -> Entry {
    entry(fault, name.leak(), what.leak(), origin)
}

/// Of one method's formula.
#[rustfmt::skip]
const METHODS_OWN: &[Entry] = &[
    entry(Fault::Inverse(Inverse::WrongFactor, Inverse::WrongFactor), "bilinear-swapped",
        "the inverse is that of the wrong factor: Ā = (1 + ΔA/2)⁻¹(1 − ΔA/2), B̄ = (1 + ΔA/2)⁻¹ΔB", "the unstable form of early references: a sign slip in I ± ΔA/2"),
    entry(Fault::Inverse(Inverse::WrongFactor, Inverse::Right), "bilinear-a-bar-swapped",
        "Ā has the inverse of the wrong factor, B̄ is right", "a fix for the swapped factors that reached one coefficient only"),
    entry(Fault::Inverse(Inverse::Right, Inverse::WrongFactor), "bilinear-b-bar-swapped",
        "B̄ has the inverse of the wrong factor, Ā is right", "a fix for the swapped factors that reached one coefficient only"),
    entry(Fault::Inverse(Inverse::Right, Inverse::None), "bilinear-inverse-only-a-bar",
        "the inverse is applied to Ā only: B̄ = ΔB", "the input term copied from zoh"),
    entry(Fault::Inverse(Inverse::None, Inverse::Right), "bilinear-inverse-only-b-bar",
        "the inverse is applied to B̄ only: Ā = 1 + ΔA/2", "one solve for two right-hand sides, of which one is forgotten"),
    entry(Fault::Sum(Sum::PolyShare(Fraction(0, 1))), "poly-without-half-foh",
        "the foh term ½Δ²φ₂B is missing", "the formula as it was before the foh term was added"),
    entry(Fault::Sum(Sum::PolyShare(Fraction::ONE)), "poly-half-missing",
        "the factor ½ of the foh term is missing", "½ taken for the average's"),
    entry(Fault::Sum(Sum::PolyShare(Fraction(1, 4))), "poly-half-extra",
        "the factor ½ of the foh term is applied twice", "½ of the term and ½ of φ₂(0) both written out"),
    entry(Fault::Sum(Sum::Cut(0)), "highorder-n0",
        "the sum stops after its term n = 0", "a loop that ends before its bound"),
    entry(Fault::Sum(Sum::Cut(1)), "highorder-n1",
        "the sum stops after its term n = 1", "a loop that ends before its bound"),
    entry(Fault::Sum(Sum::WithoutFactorials), "highorder-without-factorials",
        "the terms of the sum lack their 1/i!", "1/i! taken for part of φ"),
    entry(Fault::Sum(Sum::Powers(1, 1)), "inverse-delta-extra",
        "the terms of φ₂ and φ₃ are divided by Δ and Δ²: every term has one Δ", "textbook φ-formulas, in which powers of time do not mix"),
    entry(Fault::Sum(Sum::Powers(3, 5)), "inverse-delta-missing",
        "the terms of φ₂ and φ₃ are multiplied by Δ and Δ² once too often", "A⁻² and A⁻³ formed from ΔA, and Δ² and Δ³ applied again"),
    entry(Fault::Sum(Sum::OuterProducts), "rk4-outer-products",
        "A² and A³ are outer products, not squares and cubes of each element: states mix", "an einsum over vectors where the diagonal matrix was meant"),
    entry(Fault::UMissing, "u-missing-in-higher-terms",
        "u multiplies the first term of B̄ only", "B̄u formed term by term from Δu and powers of Δ"),
];

#[rustfmt::skip]
const A_BAR: &[Entry] = &[
    entry(Fault::ABarOf(Form::Method(Method::Zoh)), "a-bar-of-zoh",
        "Ā is exp(ΔA), as in zoh", "coefficients copied from another branch"),
    entry(Fault::ABarOf(Form::Method(Method::Bilinear)), "a-bar-of-bilinear",
        "Ā is (1 − ΔA/2)⁻¹(1 + ΔA/2), as in bilinear", "coefficients copied from another branch"),
    entry(Fault::ABarOf(Form::Textbook(Textbook::Rk4Classical)), "a-bar-of-rk4-classical",
        "Ā is the series of exp(ΔA) up to its fourth power", "the exponential cut after four terms"),
];

#[rustfmt::skip]
const B_BAR: &[Entry] = &[
    entry(Fault::BBarOf(Form::Textbook(Textbook::ZohExact)), "b-bar-of-zoh-exact",
        "B̄ = Δφ₁B", "exact zoh's input term under another method"),
    entry(Fault::BBarSeries(2), "b-bar-series-2",
        "B̄ = ΔB(1 + z/2): exact zoh's series cut after 2 terms", "the highorder of early kernels"),
    entry(Fault::BBarSeries(3), "b-bar-series-3",
        "B̄ = ΔB(1 + z/2 + z²/6): exact zoh's series cut after 3 terms", "the poly of early kernels"),
];

/// Of whatever is left: exponents, Δ, the scan and what is around it.
#[rustfmt::skip]
const REST: &[Entry] = &[
    entry(Fault::Exponent(std::f64::consts::LOG2_E, ExponentPart::Whole), "log2e-twice",
        "log₂e is applied twice to the exponent of Ā", "A scaled by log₂e for exp2f, and then passed to a function that scales again"),
    entry(Fault::Exponent(std::f64::consts::LOG2_E, ExponentPart::Real), "log2e-twice-real",
        "log₂e is applied twice to the real part of Ā's exponent only", "A scaled by log₂e for exp2f, and then passed to a function that scales again"),
    entry(Fault::Exponent(std::f64::consts::LOG2_E, ExponentPart::Imaginary), "log2e-twice-imaginary",
        "log₂e is applied twice to the imaginary part of Ā's exponent only", "A scaled by log₂e for exp2f, and then passed to a function that scales again"),
    entry(Fault::Exponent(std::f64::consts::LN_2, ExponentPart::Whole), "base-2",
        "Ā is a power of 2 in place of e", "exp2f of an exponent that was never scaled by log₂e"),
    entry(Fault::Exponent(std::f64::consts::LN_2, ExponentPart::Real), "base-2-real",
        "Ā is a power of 2 in place of e in the real part of its exponent only", "exp2f of an exponent that was never scaled by log₂e"),
    entry(Fault::Exponent(std::f64::consts::LN_2, ExponentPart::Imaginary), "base-2-imaginary",
        "Ā is a power of 2 in place of e in the imaginary part of its exponent only", "exp2f of an exponent that was never scaled by log₂e"),
    entry(Fault::ABarDelta(Power::Missing), "a-bar-delta-missing",
        "Δ is missing in Ā", "a factor Δ applied elsewhere, or thought to be"),
    entry(Fault::ABarDelta(Power::Doubled), "a-bar-delta-doubled",
        "Δ is doubled in Ā", "Δ added to itself, or both halves of a step applied whole"),
    entry(Fault::ABarDelta(Power::Squared), "a-bar-delta-squared",
        "Δ is squared in Ā", "Δ multiplied in by the caller and by the kernel"),
    entry(Fault::BBarDelta(Power::Missing), "b-bar-delta-missing",
        "B̄ lacks a factor Δ, or is divided by Δ once too often", "a factor Δ applied elsewhere, or thought to be"),
    entry(Fault::BBarDelta(Power::Doubled), "b-bar-delta-doubled",
        "Δ is doubled in B̄", "Δ added to itself, or both halves of a step applied whole"),
    entry(Fault::BBarDelta(Power::Squared), "b-bar-delta-squared",
        "B̄ has one factor Δ too many, or lacks a division by Δ", "Δ multiplied in by the caller and by the kernel"),
    entry(Fault::StepDelta(Power::Missing), "step-delta-missing",
        "Δ is missing in the whole step", "a factor Δ applied elsewhere, or thought to be"),
    entry(Fault::StepDelta(Power::Doubled), "step-delta-doubled",
        "Δ is doubled in the whole step", "Δ added to itself, or both halves of a step applied whole"),
    entry(Fault::StepDelta(Power::Squared), "step-delta-squared",
        "Δ is squared in the whole step", "Δ multiplied in by the caller and by the kernel"),
    entry(Fault::Directions(Directions::CausalOnly), "poly-causal",
        "only the forward scan counts", "the bidirectional scan left to another path"),
    entry(Fault::Directions(Directions::BackwardOnly), "poly-backward-only",
        "only the reversed scan counts", "the second pass overwrites the first"),
    entry(Fault::Directions(Directions::Summed), "poly-summed",
        "the two scans are summed, not averaged", "½ forgotten after accumulating"),
    entry(Fault::Reversed(Reversed::OffByOne), "poly-reversed-off-by-one",
        "the reversed scan is read before its update (off by one): position l reads its state of l + 1", "an exclusive scan taken for an inclusive one"),
    entry(Fault::Reversed(Reversed::ABarOffByOne), "poly-reversed-a-bar-off-by-one",
        "the reversed scan takes Ā of the next position (off by one)", "flipping u but not Ā, or transposing the forward scan"),
    entry(Fault::LastState(LastState::WithoutB), "state-without-b",
        "a constant B is left out of the state: only last_state shows it (a recording may state it: state = without-b)", "kernels of the Mamba family, which fold a constant B into C"),
    entry(Fault::B(BUse::Twice), "b-twice",
        "B is applied twice", "B folded into the input and applied at the output again"),
    entry(Fault::B(BUse::Never), "b-missing",
        "B is not applied", "constant B left to the output, which leaves it to the input"),
    entry(Fault::LastState(LastState::ChunkEarly(2048)), "last-state-one-chunk-early",
        "last_state is the state before the last chunk of 2048 positions: only last_state shows it", "the wrong one of two sets of carried states"),
    entry(Fault::LastState(LastState::Doubled), "last-state-doubled",
        "last_state is twice what it should be: only last_state shows it", "the factor 2 of conjugate pairs applied to the state"),
    entry(Fault::B(BUse::Conjugated), "b-conjugated",
        "B is conjugated", "a Hermitian product where a plain one was meant"),
    entry(Fault::Readout(Readout::RealPartOnce), "real-part-once",
        "y is Re(C·state), without the factor 2 of complex weights (a recording may state it: complex_output = real-part)", "conjugate pairs counted once"),
    entry(Fault::Readout(Readout::ImaginaryPart), "imaginary-part",
        "y is the imaginary part of C·state in place of its real part", "re and im swapped in an interleaved array"),
    entry(Fault::Edge(128, 0.0), "chunk-128-state-lost",
        "the state is lost at multiples of 128", "a carry that is not stored, or read before it is"),
    entry(Fault::Edge(256, 0.0), "chunk-256-state-lost",
        "the state is lost at multiples of 256", "a carry that is not stored, or read before it is"),
    entry(Fault::Edge(512, 0.0), "chunk-512-state-lost",
        "the state is lost at multiples of 512", "a carry that is not stored, or read before it is"),
    entry(Fault::Edge(1024, 0.0), "chunk-1024-state-lost",
        "the state is lost at multiples of 1024", "a carry that is not stored, or read before it is"),
    entry(Fault::Edge(2048, 0.0), "chunk-2048-state-lost",
        "the state is lost at multiples of 2048", "a carry that is not stored, or read before it is"),
    entry(Fault::Edge(128, 2.0), "chunk-128-state-doubled",
        "the state counts twice at multiples of 128", "a carry applied by the scan and by its caller"),
    entry(Fault::Edge(256, 2.0), "chunk-256-state-doubled",
        "the state counts twice at multiples of 256", "a carry applied by the scan and by its caller"),
    entry(Fault::Edge(512, 2.0), "chunk-512-state-doubled",
        "the state counts twice at multiples of 512", "a carry applied by the scan and by its caller"),
    entry(Fault::Edge(1024, 2.0), "chunk-1024-state-doubled",
        "the state counts twice at multiples of 1024", "a carry applied by the scan and by its caller"),
    entry(Fault::Edge(2048, 2.0), "chunk-2048-state-doubled",
        "the state counts twice at multiples of 2048", "a carry applied by the scan and by its caller"),
    entry(Fault::Tail(Tail::LastIgnored), "last-element-ignored",
        "the last position is ignored", "a bound of seqlen − 1"),
    entry(Fault::Tail(Tail::Ignored(4)), "tail-4-ignored",
        "the positions beyond the last multiple of 4 are ignored", "whole vectors only, and no code for the rest"),
    entry(Fault::Tail(Tail::Ignored(8)), "tail-8-ignored",
        "the positions beyond the last multiple of 8 are ignored", "whole vectors only, and no code for the rest"),
    entry(Fault::Tail(Tail::Ignored(16)), "tail-16-ignored",
        "the positions beyond the last multiple of 16 are ignored", "whole vectors only, and no code for the rest"),
    entry(Fault::GroupModulo, "group-modulo",
        "a channel, or a head, reads the group of its number modulo their count", "d / (dim / groups) misread, or h / (heads / groups)"),
    entry(Fault::BTransposed, "b-transposed",
        "B is read along the wrong axis", "strides of a transposed tensor"),
    entry(Fault::CTransposed, "c-transposed",
        "C is read along the wrong axis", "strides of a transposed tensor"),
    entry(Fault::Skip(0.0), "skip-missing",
        "the skip D·u is missing", "an optional argument that is dropped"),
    entry(Fault::Skip(2.0), "skip-doubled",
        "the skip D·u is added twice", "added by each direction, or by kernel and caller"),
    entry(Fault::Skip(0.5), "skip-before-average",
        "the skip is added before the average: ½D·u", "the average applied last"),
    entry(Fault::Gate(Gate::Missing), "gate-missing",
        "the gate is missing", "an optional argument that is dropped"),
    entry(Fault::Gate(Gate::Doubled), "gate-doubled",
        "the gate is applied twice", "applied by kernel and caller"),
    entry(Fault::Gate(Gate::BeforeAverage), "gate-before-average",
        "the gate is applied before the average, to the forward scan only", "a gated forward pass averaged with a plain reversed one"),
    entry(Fault::Gate(Gate::BeforeSkip), "gate-before-skip",
        "the skip is added after the gate", "two epilogues in the wrong order"),
    entry(Fault::Gate(Gate::SigmoidOnly), "gate-sigmoid-only",
        "the gate is sigmoid(z), without its factor z", "sigmoid taken for silu"),
    entry(Fault::Bias(Bias::Missing), "bias-missing",
        "delta_bias is not added", "an optional argument that is dropped"),
    entry(Fault::Bias(Bias::AfterSoftplus), "bias-after-softplus",
        "delta_bias is added after softplus", "two prologues in the wrong order"),
    entry(Fault::Softplus(None), "softplus-missing", "softplus is not applied", "a flag that is dropped"),
    entry(Fault::Softplus(Some(1.0)), "softplus-above-1",
        "softplus(x) is x for x above 1 already", "the threshold 20 mistyped, or that of another type"),
    entry(Fault::Softplus(Some(5.0)), "softplus-above-5",
        "softplus(x) is x for x above 5 already", "the threshold 20 mistyped, or that of another type"),
    entry(Fault::Softplus(Some(8.0)), "softplus-above-8",
        "softplus(x) is x for x above 8 already", "the threshold 20 mistyped, or that of another type"),
    entry(Fault::Clamp(Clamp::AtMost(0.1)), "delta-at-most-0.1",
        "Δ is clamped to at most 0.1", "the range of the initialization applied to trained values"),
    entry(Fault::Clamp(Clamp::AtMost(1.0)), "delta-at-most-1",
        "Δ is clamped to at most 1", "a guard against overflow"),
    entry(Fault::Clamp(Clamp::AtLeast(1e-4)), "delta-at-least-1e-4",
        "Δ is clamped to at least 1e-4", "the floor of the initialization applied to trained values"),
    entry(Fault::Clamp(Clamp::AtLeast(1e-3)), "delta-at-least-1e-3",
        "Δ is clamped to at least 1e-3", "the range of the initialization applied to trained values"),
    entry(Fault::Clamp(Clamp::ZeroBelow(1e-8)), "delta-zero-below-1e-8",
        "Δ below 1e-8 is taken for 0", "a guard against dividing by a small number"),
    entry(Fault::StoreTruncated, "store-truncated",
        "16-bit outputs are truncated, not rounded to nearest", "the upper half of an f32's bits, or a conversion towards zero"),
    entry(Fault::State(InputType::F16), "state-f16",
        "the state is rounded to f16 at every position", "states kept in the input type"),
    entry(Fault::State(InputType::Bf16), "state-bf16",
        "the state is rounded to bf16 at every position", "states kept in the input type"),
];

/// What the kernels plant as well, and no diagnosis names: a name, and what is wrong. No bug has just this size; these
/// two stand for whatever there is no model of, which must get no name rather than a wrong one.
pub const NOT_NAMED: [(&str, &str); 2] = [
    ("a-bar-2e-18", "Ā of every position is off by 2⁻¹⁸"),
    ("b-bar-2e-18", "B̄ of every position is off by 2⁻¹⁸"),
];

/// The model of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}

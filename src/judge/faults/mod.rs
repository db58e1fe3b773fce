//! The catalogue of fault models: ways in which kernels of this kind go wrong, each a change to the specified
//! selective scan, computed in f64.
//!
//! A model has a name, a sentence and an origin ([`catalogue`]); it [applies](Fault::applies) to some methods
//! and problems, and is an edit of the [program](mod@program) that is specified. What coefficients alone show it
//! [changes](Fault::change) in a [`Variant`] of these. Two models that change different parts can be combined ([`Fault::excludes`]).
//!
//! Where two descriptions of a bug are one and the same formula, the catalogue has one model: Δ missing in B̄ is
//! 1/Δ too much, Δ squared is 1/Δ missing; for `rk4` the φ series cut after one term is `zoh`.

pub mod catalogue;
pub mod gradients;
pub mod program;
pub mod recorded;
pub mod step;
pub mod variant;

use std::mem::discriminant;

use self::variant::{
    BUse, Bias, Clamp, Directions, Gate, Inverse, LastState, Power, Readout, Reversed, Sum, Tail, Variant,
};
use crate::formula::{Form, Fraction, Function, Term, Textbook, Transition};
use crate::method::Method;
use crate::problem::{InputType, Operand, Problem, Weights};
use crate::tensor::TensorName;

/// Which part of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExponentPart {
    Whole,
    Real,
    Imaginary,
}

/// A fault model: one change to the specified scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Another form under this id: Ā, B̄ and the direction of the scan.
    RunsAs(Form),
    ABarOf(Form),
    BBarOf(Form),
    /// How bilinear's Ā and B̄ use their inverse.
    Inverse(Inverse, Inverse),
    Taylor(u32),
    /// B̄ is that of exact zoh by its series, cut after so many terms.
    BBarSeries(u32),
    /// Factor on the exponent of Ā.
    Exponent(f64, ExponentPart),
    StepDelta(Power),
    ABarDelta(Power),
    BBarDelta(Power),
    Sum(Sum),
    Directions(Directions),
    Reversed(Reversed),
    UMissing,
    B(BUse),
    Readout(Readout),
    /// The carried state multiplied by the factor at multiples of the length.
    Edge(usize, f64),
    Tail(Tail),
    GroupModulo,
    BTransposed,
    CTransposed,
    Skip(f64),
    Gate(Gate),
    Bias(Bias),
    /// Identity above the threshold; `None`: no softplus at all.
    Softplus(Option<f64>),
    Clamp(Clamp),
    State(InputType),
    LastState(LastState),
    StoreTruncated,
}

impl Fault {
    /// Whether both change the same part of the scan, and so cannot be combined.
    pub fn excludes(self, other: Fault) -> bool {
        // The inverse's variants may touch both coefficients; what only B̄ has comes with it.
        let of_b_bar = |fault| {
            use Fault::{BBarOf, BBarSeries, Inverse, Sum, Taylor};
            matches!(fault, BBarOf(_) | Inverse(..) | Taylor(_) | BBarSeries(_) | Sum(_))
        };
        discriminant(&self) == discriminant(&other) || of_b_bar(self) && of_b_bar(other)
    }

    /// Whether the fault can change what `form` computes, and is not the same as a more specific one for
    /// it (module docs).
    pub fn applies_to(self, form: impl Into<Form>) -> bool {
        let form = form.into();
        let formula = form.formula();
        let is_higher = |term: &Term| term.order() > formula.leading_order();
        let has_higher_terms = formula.now().iter().any(is_higher);
        let has_power =
            |least| formula.now().iter().any(|t| matches!(t.of, Function::Power(k) if k >= least));
        match self {
            // highorder-n0 is the same.
            Fault::RunsAs(exact @ Form::Textbook(Textbook::ZohExact)) => {
                form != exact && form != Method::HighOrder
            }
            Fault::RunsAs(other) => other != form,
            // Where B̄ is the same as well, it is runs-as.
            Fault::ABarOf(other) => {
                let other = other.formula();
                other.a_bar != formula.a_bar && other.b_bar != formula.b_bar
            }
            // bilinear-inverse-only-a-bar is the same.
            Fault::BBarOf(Form::Method(Method::Zoh)) if form == Method::Bilinear => false,
            // Where Ā and the direction are the same as well, it is runs-as.
            Fault::BBarOf(Form::Method(other)) => {
                let other = other.formula();
                (other.a_bar, other.bidirectional) != (formula.a_bar, formula.bidirectional)
            }
            // poly-without-half-foh is the same.
            Fault::BBarOf(Form::Textbook(_)) => matches!(formula.a_bar, Transition::Quotient(_)),
            Fault::Inverse(..) => formula.pole() == Some(Fraction::HALF),
            // A polynomial cut after one term is zoh's, and is not cut after its last.
            Fault::Taylor(count) => {
                formula.phis() > 0 || (2..formula.now().len()).contains(&(count as usize))
            }
            // Of a polynomial this is its own series cut short.
            Fault::BBarSeries(_) => !has_power(1),
            Fault::Exponent(..) => formula.a_bar == Transition::Exponential,
            Fault::Sum(Sum::PolyShare(_)) => form == Method::Poly,
            Fault::Sum(Sum::Cut(_) | Sum::WithoutFactorials) => form == Method::HighOrder,
            Fault::Sum(Sum::Powers(..)) => has_higher_terms && formula.phis() > 0,
            Fault::Sum(_) => has_power(2),
            Fault::Directions(_) | Fault::Reversed(_) | Fault::Gate(Gate::BeforeAverage) => {
                formula.bidirectional
            }
            Fault::Skip(share) => share != 0.5 || formula.bidirectional,
            Fault::UMissing => has_higher_terms,
            _ => true,
        }
    }

    /// Whether the fault can change anything with these weights.
    pub fn applies_to_weights(self, weights: Weights) -> bool {
        match self {
            Fault::Exponent(_, ExponentPart::Real | ExponentPart::Imaginary)
            | Fault::B(BUse::Conjugated)
            | Fault::Readout(_) => weights == Weights::Complex,
            _ => true,
        }
    }

    /// Whether the problem has what the fault is about: complex weights, a gate, groups, enough positions.
    /// A fault may still have no effect on it.
    pub fn applies(self, form: impl Into<Form>, problem: &Problem) -> bool {
        let seqlen = problem.shape.seqlen;
        let shows = match self {
            Fault::Sum(Sum::OuterProducts) => problem.shape.dstate > 1,
            Fault::Edge(length, _) => seqlen > length,
            Fault::Tail(Tail::Ignored(width)) => !seqlen.is_multiple_of(width),
            Fault::Directions(_) | Fault::Reversed(_) | Fault::Tail(_) => seqlen > 1,
            Fault::GroupModulo => problem.shape.groups > 1,
            Fault::Skip(_) => problem.d.is_some(),
            Fault::Gate(Gate::BeforeSkip) => problem.z.is_some() && problem.d.is_some(),
            Fault::Gate(_) => problem.z.is_some(),
            Fault::Bias(Bias::AfterSoftplus) => problem.delta_bias.is_some() && problem.delta_softplus,
            Fault::Bias(_) => problem.delta_bias.is_some(),
            Fault::Softplus(_) => problem.delta_softplus,
            Fault::LastState(LastState::WithoutB) => {
                problem.b_operand == Operand::Constant && !problem.reads_with_b()
            }
            Fault::Readout(Readout::RealPartOnce) => problem.output_factor() == 2.0,
            Fault::StoreTruncated => problem.stored(TensorName::Out) != InputType::F32,
            _ => true,
        };
        shows && self.applies_to_weights(problem.weights) && self.applies_to(form)
    }

    /// Whether Ā and B̄ alone, without a scan around them, can show it for these weights.
    pub fn shows_in_coefficients(self, weights: Weights) -> bool {
        let shows = match self {
            // States that mix take more than one element.
            Fault::Sum(Sum::OuterProducts) => false,
            // Summed over the two inputs that they read, their B̄ is that of zoh-exact and of bilinear.
            Fault::RunsAs(Form::Textbook(
                Textbook::FohTextbook | Textbook::FohCausal | Textbook::BilinearAveraged,
            )) => false,
            Fault::RunsAs(_) | Fault::ABarOf(_) | Fault::BBarOf(_) | Fault::Inverse(..) => true,
            Fault::Taylor(_) | Fault::BBarSeries(_) | Fault::Sum(_) | Fault::Exponent(..) => true,
            Fault::StepDelta(_) | Fault::ABarDelta(_) | Fault::BBarDelta(_) => true,
            Fault::B(_) | Fault::Clamp(_) => true,
            _ => false,
        };
        shows && self.applies_to_weights(weights)
    }

    /// Puts the fault into coefficients, where these alone can show it.
    pub fn change(self, variant: &mut Variant) {
        match self {
            Fault::RunsAs(form) => (variant.a_bar, variant.b_bar) = (form, form),
            Fault::ABarOf(form) => variant.a_bar = form,
            Fault::BBarOf(form) => variant.b_bar = form,
            Fault::Inverse(a_bar, b_bar) => {
                (variant.a_bar_inverse, variant.b_bar_inverse) = (a_bar, b_bar);
            }
            Fault::Taylor(count) => variant.taylor = Some(count),
            Fault::BBarSeries(count) => {
                (variant.b_bar, variant.taylor) = (Textbook::ZohExact.into(), Some(count));
            }
            Fault::Exponent(factor, part) => {
                let imaginary = if part == ExponentPart::Real { 1.0 } else { factor };
                variant.exponent = (if part == ExponentPart::Imaginary { 1.0 } else { factor }, imaginary);
            }
            Fault::StepDelta(power) => variant.step_delta = power,
            Fault::ABarDelta(power) => variant.a_bar_delta = power,
            Fault::BBarDelta(power) => variant.b_bar_delta = power,
            Fault::Sum(sum) => variant.sum = sum,
            Fault::UMissing => variant.u_in_higher_terms = false,
            Fault::B(b_use) => variant.b_use = b_use,
            Fault::Clamp(clamp) => variant.clamp = clamp,
            _ => {}
        }
    }
}

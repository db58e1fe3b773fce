//! Which faults a problem can show, and which of them change the same part of a scan.

use holdfast::formula::{Fraction, Textbook};
use holdfast::judge::faults::variant::{
    BUse, Bias, Directions, Gate, Inverse, LastState, Power, Readout, Reversed, Sum, Tail,
};
use holdfast::judge::faults::{ExponentPart, Fault};
use holdfast::method::Method;
use holdfast::problem::conventions::{ComplexOutput, StateHolds};
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};

use crate::cases::each;
use crate::support::problems::{Layout, generator};

/// Complex weights, everything that a problem can have, and constant B.
fn problem(seqlen: usize) -> Problem {
    let shape = Shape { batch: 1, dim: 2, dstate: 2, seqlen, groups: 2 };
    let layout = Layout {
        shape,
        weights: Weights::Complex,
        input: InputType::F16,
        c: Operand::Variable,
        gate: true,
        extras: true,
        ..Layout::plain(1, 2, 2, seqlen)
    };
    layout.random(&mut generator("which faults apply"))
}

#[test]
fn a_fault_needs_what_it_is_about() {
    let cases: [(Method, Fault, fn(&mut Problem)); 19] = [
        (Method::Rk4, Fault::Sum(Sum::OuterProducts), |p: &mut Problem| p.shape.dstate = 1),
        (Method::Zoh, Fault::Edge(16, 0.0), |p: &mut Problem| p.shape.seqlen = 16),
        (Method::Zoh, Fault::Tail(Tail::Ignored(4)), |p: &mut Problem| p.shape.seqlen = 20),
        (Method::Zoh, Fault::Tail(Tail::LastIgnored), |p: &mut Problem| p.shape.seqlen = 1),
        (Method::Poly, Fault::Directions(Directions::Summed), |p: &mut Problem| p.shape.seqlen = 1),
        (Method::Poly, Fault::Reversed(Reversed::OffByOne), |p: &mut Problem| p.shape.seqlen = 1),
        (Method::Zoh, Fault::GroupModulo, |p: &mut Problem| p.shape.groups = 1),
        (Method::Poly, Fault::Skip(0.5), |p: &mut Problem| p.d = None),
        (Method::Poly, Fault::Gate(Gate::BeforeAverage), |p: &mut Problem| p.z = None),
        (Method::Zoh, Fault::Bias(Bias::Missing), |p: &mut Problem| p.delta_bias = None),
        (Method::Zoh, Fault::Softplus(Some(1.0)), |p: &mut Problem| p.delta_softplus = false),
        (Method::Zoh, Fault::LastState(LastState::WithoutB), |p: &mut Problem| {
            p.b_operand = Operand::Variable
        }),
        (Method::Zoh, Fault::LastState(LastState::WithoutB), |p: &mut Problem| {
            p.conventions.state = StateHolds::InputAlone
        }),
        (Method::Zoh, Fault::Readout(Readout::RealPartOnce), |p: &mut Problem| {
            p.conventions.output = ComplexOutput::RealPart
        }),
        (Method::Zoh, Fault::Readout(Readout::ImaginaryPart), |p: &mut Problem| p.weights = Weights::Real),
        (Method::Zoh, Fault::B(BUse::Conjugated), |p: &mut Problem| p.weights = Weights::Real),
        (Method::Zoh, Fault::Exponent(2.0, ExponentPart::Imaginary), |p: &mut Problem| {
            p.weights = Weights::Real
        }),
        (Method::Zoh, Fault::Exponent(2.0, ExponentPart::Real), |p: &mut Problem| p.weights = Weights::Real),
        (Method::Zoh, Fault::StoreTruncated, |p: &mut Problem| p.input = InputType::F32),
    ];
    each(cases, |(method, fault, lose)| {
        let mut problem = problem(17);
        assert!(fault.applies(method, &problem), "{fault:?}");
        lose(&mut problem);
        assert!(!fault.applies(method, &problem), "{fault:?}");
    });
}

/// What a real problem does not have besides: the rest can be wrong with real weights as well.
#[test]
fn most_faults_do_not_need_complex_weights() {
    let cases: [Fault; 4] = [
        Fault::Exponent(2.0, ExponentPart::Whole),
        Fault::B(BUse::Twice),
        Fault::Edge(16, 0.0),
        Fault::StepDelta(Power::Squared),
    ];
    each(cases, |fault| {
        let problem = Problem { weights: Weights::Real, ..problem(17) };
        assert!(fault.applies(Method::Zoh, &problem), "{fault:?}");
        assert_eq!(fault.applies_to_weights(Weights::Complex), fault.applies_to_weights(Weights::Real));
    });
}

/// Textbook forms, which are never planted in kernels' own methods.
#[test]
fn a_fault_is_one_of_these_forms() {
    let cases: [(Fault, Textbook, bool); 36] = [
        (Fault::RunsAs(Textbook::ZohExact.into()), Textbook::FohCausal, true),
        (Fault::RunsAs(Textbook::ZohExact.into()), Textbook::ZohExact, false),
        (Fault::RunsAs(Method::Zoh.into()), Textbook::Euler, true),
        (Fault::RunsAs(Textbook::Euler.into()), Textbook::Euler, false),
        // With the same B̄ it is the other form altogether.
        (Fault::ABarOf(Textbook::Rk4Classical.into()), Textbook::Euler, true),
        (Fault::ABarOf(Method::Rk4.into()), Textbook::Rk4Classical, false),
        (Fault::ABarOf(Method::Foh.into()), Textbook::ZohExact, false),
        // So it is with the same Ā.
        (Fault::BBarOf(Method::Foh.into()), Textbook::ZohExact, false),
        (Fault::BBarOf(Method::Poly.into()), Textbook::ZohExact, true),
        (Fault::BBarOf(Method::Foh.into()), Textbook::BackwardEuler, true),
        (Fault::BBarOf(Textbook::ZohExact.into()), Textbook::BackwardEuler, true),
        (Fault::BBarOf(Textbook::ZohExact.into()), Textbook::Euler, false),
        (Fault::Inverse(Inverse::None, Inverse::Right), Textbook::BilinearAveraged, true),
        (Fault::Inverse(Inverse::None, Inverse::Right), Textbook::BackwardEuler, false),
        (Fault::Taylor(1), Textbook::FohCausal, true),
        (Fault::Taylor(1), Textbook::Rk4Classical, false),
        (Fault::Taylor(2), Textbook::Rk4Classical, true),
        (Fault::Taylor(3), Textbook::Rk4Classical, true),
        (Fault::Taylor(4), Textbook::Rk4Classical, false),
        (Fault::BBarSeries(2), Textbook::Rk4Classical, false),
        (Fault::BBarSeries(2), Textbook::Euler, true),
        (Fault::Exponent(2.0, ExponentPart::Whole), Textbook::FohCausal, true),
        (Fault::Exponent(2.0, ExponentPart::Whole), Textbook::Rk4Classical, false),
        (Fault::Sum(Sum::OuterProducts), Textbook::Rk4Classical, true),
        (Fault::Sum(Sum::OuterProducts), Textbook::FohCausal, false),
        (Fault::Sum(Sum::PolyShare(Fraction::ONE)), Textbook::ZohExact, false),
        (Fault::Sum(Sum::Cut(0)), Textbook::ZohExact, false),
        (Fault::Sum(Sum::Powers(1, 1)), Textbook::FohCausal, false),
        (Fault::Directions(Directions::Summed), Textbook::Euler, false),
        (Fault::Reversed(Reversed::OffByOne), Textbook::Euler, false),
        (Fault::Gate(Gate::BeforeAverage), Textbook::Euler, false),
        (Fault::Gate(Gate::Missing), Textbook::Euler, true),
        (Fault::Skip(0.5), Textbook::Euler, false),
        (Fault::Skip(2.0), Textbook::Euler, true),
        (Fault::UMissing, Textbook::Rk4Classical, true),
        (Fault::UMissing, Textbook::Euler, false),
    ];
    each(cases, |(fault, form, applies)| {
        assert_eq!(fault.applies_to(form), applies);
    });
}

/// Two faults of one part cannot be planted together; the parts of B̄ are one part.
#[test]
fn faults_of_one_part_exclude_each_other() {
    let cases: [(Fault, Fault, bool); 7] = [
        (Fault::Skip(0.0), Fault::Skip(2.0), true),
        (Fault::Skip(0.0), Fault::UMissing, false),
        (Fault::BBarOf(Method::Zoh.into()), Fault::Taylor(2), true),
        (Fault::Inverse(Inverse::None, Inverse::Right), Fault::BBarSeries(2), true),
        (Fault::Sum(Sum::Cut(0)), Fault::Inverse(Inverse::None, Inverse::Right), true),
        (Fault::Sum(Sum::Cut(0)), Fault::ABarOf(Method::Zoh.into()), false),
        (Fault::ABarDelta(Power::Doubled), Fault::BBarDelta(Power::Doubled), false),
    ];
    each(cases, |(one, other, exclude)| {
        assert_eq!((one.excludes(other), other.excludes(one)), (exclude, exclude));
    });
}

/// Ā and B̄ alone show what is about them, and nothing of a scan.
#[test]
fn coefficients_show_what_is_about_them() {
    let cases: [(Fault, bool); 12] = [
        (Fault::RunsAs(Method::Foh.into()), true),
        (Fault::RunsAs(Textbook::Euler.into()), true),
        (Fault::RunsAs(Textbook::FohTextbook.into()), false),
        (Fault::RunsAs(Textbook::FohCausal.into()), false),
        (Fault::RunsAs(Textbook::BilinearAveraged.into()), false),
        (Fault::Sum(Sum::OuterProducts), false),
        (Fault::Sum(Sum::Cut(0)), true),
        (Fault::ABarDelta(Power::Missing), true),
        (Fault::B(BUse::Twice), true),
        (Fault::Skip(0.0), false),
        (Fault::LastState(LastState::Doubled), false),
        (Fault::Readout(Readout::ImaginaryPart), false),
    ];
    each(cases, |(fault, shows)| {
        assert_eq!(fault.shows_in_coefficients(Weights::Complex), shows);
        // A conjugate of real numbers is nothing wrong.
        assert!(!Fault::B(BUse::Conjugated).shows_in_coefficients(Weights::Real));
    });
}

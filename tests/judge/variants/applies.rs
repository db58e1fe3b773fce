//! Which faults a problem can show, and which of them change the same part of a scan.

use holdfast::formula::{Fraction, Textbook};
use holdfast::judge::faults::variant::{
    BUse, Bias, Directions, Gate, Inverse, LastState, Power, Readout, Reversed, Sum, Tail,
};
use holdfast::judge::faults::{ExponentPart, Fault};
use holdfast::method::Method;
use holdfast::problem::conventions::{ComplexOutput, StateHolds};
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use rstest::rstest;

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

#[rstest]
#[case::states_that_mix(Method::Rk4, Fault::Sum(Sum::OuterProducts), |p: &mut Problem| p.shape.dstate = 1)]
#[case::an_edge(Method::Zoh, Fault::Edge(16, 0.0), |p: &mut Problem| p.shape.seqlen = 16)]
#[case::a_tail(Method::Zoh, Fault::Tail(Tail::Ignored(4)), |p: &mut Problem| p.shape.seqlen = 20)]
#[case::the_last_one(Method::Zoh, Fault::Tail(Tail::LastIgnored), |p: &mut Problem| p.shape.seqlen = 1)]
#[case::two_scans(Method::Poly, Fault::Directions(Directions::Summed), |p: &mut Problem| p.shape.seqlen = 1)]
#[case::a_reversed_scan(
    Method::Poly, Fault::Reversed(Reversed::OffByOne), |p: &mut Problem| p.shape.seqlen = 1
)]
#[case::groups(Method::Zoh, Fault::GroupModulo, |p: &mut Problem| p.shape.groups = 1)]
#[case::half_a_skip(Method::Poly, Fault::Skip(0.5), |p: &mut Problem| p.d = None)]
#[case::two_gates(Method::Poly, Fault::Gate(Gate::BeforeAverage), |p: &mut Problem| p.z = None)]
#[case::a_bias(Method::Zoh, Fault::Bias(Bias::Missing), |p: &mut Problem| p.delta_bias = None)]
#[case::softplus(Method::Zoh, Fault::Softplus(Some(1.0)), |p: &mut Problem| p.delta_softplus = false)]
#[case::a_constant_b(
    Method::Zoh, Fault::LastState(LastState::WithoutB), |p: &mut Problem| p.b_operand = Operand::Variable
)]
#[case::a_state_with_b(
    Method::Zoh, Fault::LastState(LastState::WithoutB),
    |p: &mut Problem| p.conventions.state = StateHolds::InputAlone
)]
#[case::pairs(
    Method::Zoh, Fault::Readout(Readout::RealPartOnce),
    |p: &mut Problem| p.conventions.output = ComplexOutput::RealPart
)]
#[case::a_readout(
    Method::Zoh, Fault::Readout(Readout::ImaginaryPart), |p: &mut Problem| p.weights = Weights::Real
)]
#[case::a_conjugate(Method::Zoh, Fault::B(BUse::Conjugated), |p: &mut Problem| p.weights = Weights::Real)]
#[case::an_angle(
    Method::Zoh, Fault::Exponent(2.0, ExponentPart::Imaginary), |p: &mut Problem| p.weights = Weights::Real
)]
#[case::a_size(
    Method::Zoh, Fault::Exponent(2.0, ExponentPart::Real), |p: &mut Problem| p.weights = Weights::Real
)]
#[case::narrow_outputs(Method::Zoh, Fault::StoreTruncated, |p: &mut Problem| p.input = InputType::F32)]
fn a_fault_needs_what_it_is_about(
    #[case] method: Method,
    #[case] fault: Fault,
    #[case] lose: fn(&mut Problem),
) {
    let mut problem = problem(17);
    assert!(fault.applies(method, &problem), "{fault:?}");
    lose(&mut problem);
    assert!(!fault.applies(method, &problem), "{fault:?}");
}

/// What a real problem does not have besides: the rest can be wrong with real weights as well.
#[rstest]
#[case(Fault::Exponent(2.0, ExponentPart::Whole))]
#[case(Fault::B(BUse::Twice))]
#[case(Fault::Edge(16, 0.0))]
#[case(Fault::StepDelta(Power::Squared))]
fn most_faults_do_not_need_complex_weights(#[case] fault: Fault) {
    let problem = Problem { weights: Weights::Real, ..problem(17) };
    assert!(fault.applies(Method::Zoh, &problem), "{fault:?}");
    assert_eq!(fault.applies_to_weights(Weights::Complex), fault.applies_to_weights(Weights::Real));
}

/// Textbook forms, which are never planted in kernels' own methods.
#[rstest]
#[case(Fault::RunsAs(Textbook::ZohExact.into()), Textbook::FohCausal, true)]
#[case(Fault::RunsAs(Textbook::ZohExact.into()), Textbook::ZohExact, false)]
#[case(Fault::RunsAs(Method::Zoh.into()), Textbook::Euler, true)]
#[case(Fault::RunsAs(Textbook::Euler.into()), Textbook::Euler, false)]
// With the same B̄ it is the other form altogether.
#[case(Fault::ABarOf(Textbook::Rk4Classical.into()), Textbook::Euler, true)]
#[case(Fault::ABarOf(Method::Rk4.into()), Textbook::Rk4Classical, false)]
#[case(Fault::ABarOf(Method::Foh.into()), Textbook::ZohExact, false)]
// So it is with the same Ā.
#[case(Fault::BBarOf(Method::Foh.into()), Textbook::ZohExact, false)]
#[case(Fault::BBarOf(Method::Poly.into()), Textbook::ZohExact, true)]
#[case(Fault::BBarOf(Method::Foh.into()), Textbook::BackwardEuler, true)]
#[case(Fault::BBarOf(Textbook::ZohExact.into()), Textbook::BackwardEuler, true)]
#[case(Fault::BBarOf(Textbook::ZohExact.into()), Textbook::Euler, false)]
#[case(Fault::Inverse(Inverse::None, Inverse::Right), Textbook::BilinearAveraged, true)]
#[case(Fault::Inverse(Inverse::None, Inverse::Right), Textbook::BackwardEuler, false)]
#[case(Fault::Taylor(1), Textbook::FohCausal, true)]
#[case(Fault::Taylor(1), Textbook::Rk4Classical, false)]
#[case(Fault::Taylor(2), Textbook::Rk4Classical, true)]
#[case(Fault::Taylor(3), Textbook::Rk4Classical, true)]
#[case(Fault::Taylor(4), Textbook::Rk4Classical, false)]
#[case(Fault::BBarSeries(2), Textbook::Rk4Classical, false)]
#[case(Fault::BBarSeries(2), Textbook::Euler, true)]
#[case(Fault::Exponent(2.0, ExponentPart::Whole), Textbook::FohCausal, true)]
#[case(Fault::Exponent(2.0, ExponentPart::Whole), Textbook::Rk4Classical, false)]
#[case(Fault::Sum(Sum::OuterProducts), Textbook::Rk4Classical, true)]
#[case(Fault::Sum(Sum::OuterProducts), Textbook::FohCausal, false)]
#[case(Fault::Sum(Sum::PolyShare(Fraction::ONE)), Textbook::ZohExact, false)]
#[case(Fault::Sum(Sum::Cut(0)), Textbook::ZohExact, false)]
#[case(Fault::Sum(Sum::Powers(1, 1)), Textbook::FohCausal, false)]
#[case(Fault::Directions(Directions::Summed), Textbook::Euler, false)]
#[case(Fault::Reversed(Reversed::OffByOne), Textbook::Euler, false)]
#[case(Fault::Gate(Gate::BeforeAverage), Textbook::Euler, false)]
#[case(Fault::Gate(Gate::Missing), Textbook::Euler, true)]
#[case(Fault::Skip(0.5), Textbook::Euler, false)]
#[case(Fault::Skip(2.0), Textbook::Euler, true)]
#[case(Fault::UMissing, Textbook::Rk4Classical, true)]
#[case(Fault::UMissing, Textbook::Euler, false)]
fn a_fault_is_one_of_these_forms(#[case] fault: Fault, #[case] form: Textbook, #[case] applies: bool) {
    assert_eq!(fault.applies_to(form), applies);
}

/// Two faults of one part cannot be planted together; the parts of B̄ are one part.
#[rstest]
#[case(Fault::Skip(0.0), Fault::Skip(2.0), true)]
#[case(Fault::Skip(0.0), Fault::UMissing, false)]
#[case(Fault::BBarOf(Method::Zoh.into()), Fault::Taylor(2), true)]
#[case(Fault::Inverse(Inverse::None, Inverse::Right), Fault::BBarSeries(2), true)]
#[case(Fault::Sum(Sum::Cut(0)), Fault::Inverse(Inverse::None, Inverse::Right), true)]
#[case(Fault::Sum(Sum::Cut(0)), Fault::ABarOf(Method::Zoh.into()), false)]
#[case(Fault::ABarDelta(Power::Doubled), Fault::BBarDelta(Power::Doubled), false)]
fn faults_of_one_part_exclude_each_other(#[case] one: Fault, #[case] other: Fault, #[case] exclude: bool) {
    assert_eq!((one.excludes(other), other.excludes(one)), (exclude, exclude));
}

/// Ā and B̄ alone show what is about them, and nothing of a scan.
#[rstest]
#[case(Fault::RunsAs(Method::Foh.into()), true)]
#[case(Fault::RunsAs(Textbook::Euler.into()), true)]
#[case(Fault::RunsAs(Textbook::FohTextbook.into()), false)]
#[case(Fault::RunsAs(Textbook::FohCausal.into()), false)]
#[case(Fault::RunsAs(Textbook::BilinearAveraged.into()), false)]
#[case(Fault::Sum(Sum::OuterProducts), false)]
#[case(Fault::Sum(Sum::Cut(0)), true)]
#[case(Fault::ABarDelta(Power::Missing), true)]
#[case(Fault::B(BUse::Twice), true)]
#[case(Fault::Skip(0.0), false)]
#[case(Fault::LastState(LastState::Doubled), false)]
#[case(Fault::Readout(Readout::ImaginaryPart), false)]
fn coefficients_show_what_is_about_them(#[case] fault: Fault, #[case] shows: bool) {
    assert_eq!(fault.shows_in_coefficients(Weights::Complex), shows);
    // A conjugate of real numbers is nothing wrong.
    assert!(!Fault::B(BUse::Conjugated).shows_in_coefficients(Weights::Real));
}

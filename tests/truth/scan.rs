//! The truth of scans on its own: zeros, ties and places where 237 bits do not suffice.

use dashu_ratio::RBig;
use holdfast::method::Method;
use holdfast::problem::conventions::Reads;
use holdfast::problem::plan::{Filter, plan};
use holdfast::problem::{CoefficientProblem, Problem, Weights};
use holdfast::tensor::TensorName;
use holdfast::truth::certify::{REQUIRED_BITS, REQUIRED_OF_TWO_DOUBLES};
use holdfast::truth::exact::rational;
use holdfast::truth::number::ball::Ball;
use holdfast::truth::number::double_double::DoubleDouble;
use holdfast::truth::number::elementary::{Scalar, softplus_by_artanh, softplus_by_halley};
use holdfast::truth::number::scalar::Real;
use holdfast::truth::{Textbook, TruthError, coefficient, dense, scan};
use nalgebra::DMatrix;
use rstest::rstest;

use crate::support::problems::channel;

fn only(problem: &Problem, method: Method) -> scan::ScanTruth {
    scan::solve(problem, &[method]).expect("certified").remove(0)
}

#[test]
fn a_silent_input_gives_proved_zeros() {
    let problem = channel(&[-1.0, -2.0], &[0.1; 5], &[0.0; 5]);
    for truth in scan::solve(&problem, &Method::ALL).expect("certified") {
        assert_eq!(truth.tensors[TensorName::Out].values, [0.0; 5]);
        assert_eq!((truth.certificate.proved_zero, truth.certificate.compared), (7, 0), "{}", truth.method);
    }
}

#[test]
fn an_exact_cancellation_is_proved_by_rational_arithmetic() {
    // A = 0 sums the inputs: 1 − 1 = 0 with a live state.
    let problem = channel(&[0.0], &[1.0; 3], &[1.0, -1.0, 0.5]);
    let truth = only(&problem, Method::Zoh);
    assert_eq!(truth.tensors[TensorName::Out].values, [1.0, 0.0, 0.5]);
    assert_eq!(truth.certificate.proved_zero, 1);
}

/// What stands before each update cancels, of both directions together; and the last state.
#[test]
fn states_that_cancel_are_proved_zeros() {
    let mut problem = channel(&[0.0], &[1.0; 3], &[1.0, 5.0, -1.0]);
    problem.conventions.reads = Reads::BeforeUpdate;
    // ½ Σ B̄ u of all other positions, B̄ = 1 + ¼.
    let truth = only(&problem, Method::Poly);
    assert_eq!(truth.tensors[TensorName::Out].values, [2.5, 0.0, 3.75]);
    assert_eq!(truth.certificate.proved_zero, 1);
    let truth = only(&channel(&[0.0], &[1.0; 2], &[1.0, -1.0]), Method::Zoh);
    assert_eq!(truth.tensors[TensorName::LastState].values, [0.0]);
    assert_eq!(truth.certificate.proved_zero, 2);
}

/// Δ, u, B, C whose product is an odd integer of 54 bits, halfway between two f64: twice its half, rounded
/// down, and the next.
const TIE: [u64; 4] = [3, 4_097, 1_048_577, 1_048_579];

/// The two f64 beside the tie.
fn beside_the_tie() -> [f64; 2] {
    let product: u64 = TIE.iter().product();
    assert_eq!((product.ilog2(), product % 2), (53, 1));
    [(product - 1) as f64, (product + 1) as f64]
}

fn at_the_tie(a: f32, before: f32) -> Problem {
    let [delta, u, b, c] = TIE.map(|x| x as f32);
    let mut problem = channel(&[a], &[delta; 2], &[before, u]);
    (problem.b, problem.c) = (vec![b], vec![c]);
    problem
}

#[test]
fn a_tie_is_settled_by_rational_arithmetic() {
    let truth = only(&at_the_tie(0.0, 0.0), Method::Zoh);
    let exact = TIE.iter().fold(RBig::ONE, |product, &x| product * RBig::from(x));
    assert_eq!(truth.tensors[TensorName::Out].values[1], rational::round(&exact));
    assert!(
        (truth.tensors[TensorName::Out].values[1] as u64).is_multiple_of(4),
        "to even: the significand's last bit is 0"
    );
    assert_eq!(truth.certificate.exact, 1);
}

/// Both directions are halved in rational arithmetic, too: with A = 0 and Δ = 4 is B̄ = Δ + ¼Δ² = 8.
#[test]
fn a_tie_of_poly_is_settled_by_rational_arithmetic() {
    let [delta, u, b, c] = TIE.map(|x| x as f32);
    let mut problem = channel(&[0.0], &[4.0], &[delta * u]);
    (problem.b, problem.c) = (vec![b], vec![c]);
    let truth = only(&problem, Method::Poly);
    let exact = TIE.iter().fold(RBig::from(8), |product, &x| product * RBig::from(x));
    assert_eq!(truth.tensors[TensorName::Out].values[0], rational::round(&exact));
}

#[rstest]
#[case::above(1.0, 1)]
#[case::below(-1.0, 0)]
fn a_tie_is_decided_by_a_decayed_state(#[case] before: f32, #[case] side: usize) {
    // The first input is left with e⁻¹⁹² of its weight, 277 bits below.
    let truth = only(&at_the_tie(-64.0, before), Method::Zoh);
    assert_eq!(truth.tensors[TensorName::Out].values[1], beside_the_tie()[side]);
    assert!(truth.certificate.bits > 237);
    // Half of it where half of the input before counts, decayed, too.
    let form = Textbook::ExpTrapezoidal;
    let truth = scan::solve(&at_the_tie(-64.0, before), &[form]).expect("certified").remove(0);
    assert_eq!(truth.tensors[TensorName::Out].values[1], beside_the_tie()[side] / 2.0);
    assert!(truth.certificate.bits > 237);
}

#[test]
fn bilinear_at_its_pole_is_refused() {
    let problem = channel(&[2.0], &[1.0], &[1.0]);
    let error = scan::solve(&problem, &[Method::Bilinear]).expect_err("the pole");
    assert!(matches!(error, TruthError::Pole { .. }), "{error}");
    assert!(scan::solve(&problem, &[Method::Zoh]).is_ok());
}

#[test]
fn poly_averages_two_directions_and_keeps_the_forward_state() {
    let problem = channel(&[-1.0, -3.0], &[0.25; 4], &[1.0, 0.0, 0.0, -2.0]);
    let mut reversed = problem.clone();
    reversed.u.reverse();
    let (forward, backward) = (only(&problem, Method::Poly), only(&reversed, Method::Poly));
    let mirrored: Vec<f64> = backward.tensors[TensorName::Out].values.iter().rev().copied().collect();
    assert_eq!(forward.tensors[TensorName::Out].values, mirrored, "a constant step has no direction");
    assert_ne!(forward.tensors[TensorName::LastState].values, backward.tensors[TensorName::LastState].values);
}

#[test]
fn shapes_and_numbers_are_checked_before_any_work() {
    let good = channel(&[-1.0], &[0.1; 3], &[1.0; 3]);
    let refuse = |change: fn(&mut Problem)| {
        let mut problem = good.clone();
        change(&mut problem);
        scan::solve(&problem, &[Method::Zoh]).expect_err("refused").to_string()
    };
    assert!(refuse(|p| p.u.truncate(2)).starts_with("u has shape 2 numbers, expected 3"));
    assert!(refuse(|p| p.shape.groups = 0).contains("groups"));
    assert!(refuse(|p| p.a[0] = f32::NAN).starts_with("A[0] is NaN"));
    assert!(refuse(|p| p.judged_channels = vec![(0, 1)]).contains("judged_channels"));
    assert!(refuse(|p| p.a[0] = -1e30).contains("log2 of the size"));
}

#[test]
fn held_input_makes_the_textbook_first_order_hold_exact() {
    // A constant input: foh-textbook and zoh-exact are the same step but for φ₁ − φ₂ + φ₂ = φ₁.
    let problem = channel(&[-1.5, -0.25], &[0.125; 6], &[0.75; 6]);
    let truths = scan::solve(&problem, &[Textbook::FohTextbook, Textbook::ZohExact]).expect("certified");
    assert_eq!(truths[0].tensors[TensorName::Out].values, truths[1].tensors[TensorName::Out].values);
}

/// Softplus, after which no wider scalar can come to the rescue, and complex weights.
fn softened() -> Problem {
    let mut problem = channel(&[-1.0, 0.5, -3.0, -2.0], &[-1.25, 0.5, 2.0], &[1.0, -0.5, 0.75]);
    problem.weights = Weights::Complex;
    problem.shape.dstate = 2;
    problem.c = vec![1.0, 0.25, -0.5, 0.75];
    problem.delta_softplus = true;
    problem
}

/// Δ of the literal route, and of the other one, too large by 2 to this relative to itself.
fn off<R: Scalar>(bits: [i64; 2], (literal, bounded): (R, Ball<R>)) -> (R, Ball<R>) {
    let [first, second] = bits.map(|bits| R::pow2(0) + R::pow2(bits));
    (literal * first, Ball { mid: bounded.mid * second, ..bounded })
}

fn soften<R: Scalar>(raw: &Ball<R>) -> (R, Ball<R>) {
    (softplus_by_halley(raw.mid), softplus_by_artanh(raw))
}

/// What leaves everything to 237 bits.
fn nothing(raw: &Ball<DoubleDouble>) -> (DoubleDouble, Ball<DoubleDouble>) {
    let nan = DoubleDouble::exact(f64::NAN);
    (nan, Ball { mid: nan, ..*raw })
}

const NONE: i64 = -240;

/// Steps by which the routes differ, and whether by so little that it is below what a certificate asks.
const DIFFERENT: [(scan::Steps, bool); 7] = [
    (scan::Steps { two_doubles: nothing, wide: |raw| off([-60, NONE], soften(raw)) }, false),
    (scan::Steps { two_doubles: nothing, wide: |raw| off([NONE, -60], soften(raw)) }, false),
    (scan::Steps { two_doubles: nothing, wide: |raw| off([-140, NONE], soften(raw)) }, false),
    (scan::Steps { two_doubles: nothing, wide: |raw| off([NONE, -140], soften(raw)) }, false),
    (scan::Steps { two_doubles: nothing, wide: |raw| off([-180, NONE], soften(raw)) }, true),
    // 77 bits are what two doubles have to agree to; what they leave is wrong in 237 bits, too.
    (
        scan::Steps {
            two_doubles: |raw| off([-66, NONE], soften(raw)),
            wide: |raw| off([-66, NONE], soften(raw)),
        },
        false,
    ),
    (
        scan::Steps {
            two_doubles: |raw| off([NONE, -66], soften(raw)),
            wide: |raw| off([NONE, -66], soften(raw)),
        },
        false,
    ),
];

/// A truth that compares a route with itself would certify every one of these.
#[rstest]
#[case(TensorName::Out, "output at")]
#[case(TensorName::LastState, "state after")]
fn routes_that_differ_certify_nothing(#[case] of: TensorName, #[case] place: &str) {
    let mut problem = softened();
    if of == TensorName::LastState {
        // All outputs are zero, and proved to be.
        problem.c.fill(0.0);
    }
    for (which, (steps, certifies)) in DIFFERENT.into_iter().enumerate() {
        for method in Method::ALL {
            let found = scan::solve_by(steps, &problem, &[method]).map(|_| ());
            assert_eq!(found.is_ok(), certifies, "{which}, {method}: {found:?}");
            if let Err(error) = found {
                let TruthError::Uncertified { place: found, .. } = &error else { panic!("{error}") };
                assert!(found.contains(place), "{found}");
            }
        }
    }
}

#[test]
fn a_route_that_is_off_is_overruled_by_a_wider_scalar() {
    fn literal<R: Scalar>(raw: &Ball<R>) -> (R, Ball<R>) {
        off([-60, NONE], (raw.mid, *raw))
    }
    fn bounded<R: Scalar>(raw: &Ball<R>) -> (R, Ball<R>) {
        off([NONE, -60], (raw.mid, *raw))
    }
    let problem = channel(&[-1.5, -0.25], &[0.375, 0.7], &[0.75, -1.0]);
    let as_given = scan::Steps::of(&problem);
    let right = scan::solve(&problem, &Method::ALL).expect("certified");
    for (steps, least) in [
        (scan::Steps { two_doubles: literal, ..as_given }, 237),
        (scan::Steps { two_doubles: bounded, ..as_given }, 237),
        (scan::Steps { two_doubles: nothing, wide: literal }, 512),
        (scan::Steps { two_doubles: nothing, wide: bounded }, 512),
    ] {
        for (found, right) in
            scan::solve_by(steps, &problem, &Method::ALL).expect("certified").iter().zip(&right)
        {
            assert_eq!(found.tensors, right.tensors, "{}", right.method);
            // By a wider scalar, or exactly where there is no exponential.
            let (found, right) = (&found.certificate, &right.certificate);
            assert!(found.bits >= least || found.exact > right.exact, "{found}");
            assert_eq!(right.bits, DoubleDouble::BITS, "{right}");
        }
    }
}

/// Every regime's channels, once in two doubles first and once in 237 bits from the start. Of those that differ in their length one
/// that is long.
#[test]
fn two_doubles_give_the_values_of_237_bits() {
    let mut specs = plan(&Filter::default());
    // One input type and layout of each regime and weight type.
    specs.dedup_by_key(|spec| (spec.regime.name.clone(), spec.weights));
    specs.retain(|spec| spec.regime.recipe.shape.seqlen < 300 || spec.regime.name == "seqlen-2049");
    let (mut narrow, mut all) = (0, 0);
    for spec in specs {
        let mut problem = spec.draw(2);
        problem.judged_channels.truncate(1);
        let wide = scan::Steps { two_doubles: nothing, ..scan::Steps::of(&problem) };
        let found = scan::solve(&problem, &Method::ALL).expect("certified");
        for (found, wide) in
            found.iter().zip(scan::solve_by(wide, &problem, &Method::ALL).expect("certified"))
        {
            let named = found.tensors.zip(&wide.tensors);
            let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            for (name, x, y) in named {
                assert_eq!(bits(&x.values), bits(&y.values), "{}, {}, {name:?}", spec.id(), found.method);
            }
            narrow += usize::from(found.certificate.bits == DoubleDouble::BITS);
            assert!(wide.certificate.bits != DoubleDouble::BITS, "{}", wide.certificate);
            all += 1;
        }
    }
    assert!(narrow * 3 > all * 2, "{narrow} of {all} need no more than two doubles");
}

/// No two routes round alike throughout: a certificate that says so has compared a number with itself.
#[test]
fn routes_are_two() {
    let itself = i64::from(DoubleDouble::BITS) - 53;
    let problem = softened();
    let elements = CoefficientProblem {
        weights: Weights::Real,
        delta: vec![0.3, 0.7, 1.9, 1.0],
        a: vec![-1.1, -0.3, -2.7, -1.9997],
        b: vec![1.3, 0.9, -0.7, 0.3],
    };
    // So large a step that two routes of 102 bits differ by more than a unit or two.
    let a =
        DMatrix::from_fn(9, 9, |i, j| ((7 * i + 13 * j) as f64).sin() / 3.0 - f64::from(u8::from(i == j)));
    let b = DMatrix::from_fn(9, 3, |i, j| 1.3 - 0.7 * (i * j) as f64 / 11.0);
    let mut alike = Vec::new();
    for method in Method::ALL {
        let certificates = [
            ("scan", only(&problem, method).certificate),
            ("elements", coefficient::solve(method, &elements).expect("certified").certificate),
            ("dense", dense::discretize(method, &a, &b, 2.9).expect("certified").certificate),
        ];
        for (what, certificate) in certificates {
            let agreement = certificate.agreement.expect("values were compared");
            assert_eq!(certificate.bits, DoubleDouble::BITS, "{what}, {method}: {certificate}");
            // Bilinear's quotients of two numbers that are exact: no route loses more than a unit.
            let exact = what == "elements" && method == Method::Bilinear;
            if !(REQUIRED_OF_TWO_DOUBLES..itself + i64::from(exact)).contains(&agreement) {
                alike.push(format!("{what}, {method}: {certificate}"));
            }
        }
    }
    assert!(alike.is_empty(), "{alike:#?}");
    let wide = scan::Steps { two_doubles: nothing, ..scan::Steps::of(&problem) };
    for truth in scan::solve_by(wide, &problem, &Method::ALL).expect("certified") {
        let agreement = truth.certificate.agreement.expect("values were compared");
        assert!((REQUIRED_BITS..237 - 53).contains(&agreement), "{}: {}", truth.method, truth.certificate);
    }
}

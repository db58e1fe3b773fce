//! Inputs on which two routes agree on noise: the truth has to be right or to refuse.
//!
//! Expected values are exact rationals, or by mpmath at 3000 bits.

use approx::assert_relative_eq;
use dashu_ratio::RBig;
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, InputType, Operand, Problem, Shape, Weights};
use holdfast::tensor::TensorName;
use holdfast::truth::dense::balance;
use holdfast::truth::dense::discretize;
use holdfast::truth::dense::floor::{self, BoundedMatrix};
use holdfast::truth::exact::rational::{exact, round};
use holdfast::truth::number::double_double::DoubleDouble;
use holdfast::truth::number::elementary::exp_by_halving;
use holdfast::truth::number::mag::Mag;
use holdfast::truth::number::scalar::Real;
use holdfast::truth::number::wide::Wide;
use holdfast::truth::{Form, Textbook, TruthError, coefficient, scan};
use nalgebra::{Complex, DMatrix};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rstest::rstest;

fn pow2(n: i32) -> f64 {
    2f64.powi(n)
}

fn column(values: &[f64]) -> DMatrix<f64> {
    DMatrix::from_column_slice(values.len(), 1, values)
}

#[test]
fn an_exactly_cancelling_entry_of_a_defective_exponential_is_zero() {
    let a = DMatrix::from_row_slice(3, 3, &[1.0, 1.0, -0.5, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    let truth = discretize(Method::Zoh, &a, &column(&[1.0; 3]), 1.0).expect("certified");
    assert_eq!(truth.a_bar[(0, 2)], 0.0);
    let mut turning = a.map(|x| Complex::new(x, 0.0));
    (0..3).for_each(|i| turning[(i, i)].im = 0.75);
    let b = column(&[1.0; 3]).map(|x| Complex::new(x, 0.0));
    let truth = discretize(Method::Zoh, &turning, &b, 1.0).expect("certified");
    assert_eq!(truth.a_bar[(0, 2)], Complex::new(0.0, 0.0));
}

/// Factors whose product is an odd integer of 54 bits: halfway between two doubles.
const TIE: [f64; 2] = [134_217_729.0, 67_108_865.0];

/// By the exact solution of a linear system, in each of its columns: what (I − z/2)⁻¹ leaves at a tie, and of what cancels.
#[test]
fn zeros_and_ties_of_a_linear_system_are_settled() {
    let a = DMatrix::from_row_slice(2, 2, &[-2.0, TIE[0], 0.0, -2.0]);
    let b = DMatrix::from_row_slice(2, 2, &[0.0, -TIE[0], TIE[1], 4.0]);
    let truth = discretize(Method::Bilinear, &a, &b, 1.0).expect("certified");
    let tie = round(&(exact(TIE[0]) * exact(TIE[1]) / RBig::from(8)));
    assert_eq!(truth.b_bar, DMatrix::from_row_slice(2, 2, &[tie, 0.0, TIE[1] / 2.0, 2.0]));
    assert_eq!(truth.a_bar, DMatrix::from_row_slice(2, 2, &[0.0, TIE[0] / 4.0, 0.0, 0.0]));
    assert!(truth.certificate.exact > 0);
}

/// φ₁′(1) = 1: of an entry whose shares of e¹ cancel a rational number is left.
#[test]
fn a_tie_that_is_left_of_an_exponential_is_settled() {
    let a = DMatrix::from_row_slice(2, 2, &[1.0, TIE[0], 0.0, 1.0]);
    let truth = discretize(Textbook::ZohExact, &a, &column(&[0.0, TIE[1]]), 1.0).expect("certified");
    assert_eq!(truth.b_bar[0], round(&(exact(TIE[0]) * exact(TIE[1]))));
    assert!(truth.certificate.exact > 0);
}

/// Exact arithmetic is asked before wider scalars are.
#[test]
fn what_cancels_exactly_climbs_no_higher_than_237_bits() {
    let a = DMatrix::from_row_slice(3, 3, &[1.0, 1.0, -0.5, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    let truth = discretize(Method::Zoh, &a, &column(&[1.0; 3]), 1.0).expect("certified");
    assert_eq!(truth.certificate.proved_zero, 4);
    assert_eq!(truth.certificate.bits, 237);
}

#[test]
fn balancing_makes_a_badly_scaled_matrix_small() {
    let a =
        DMatrix::from_row_slice(3, 3, &[1.0, pow2(60), 0.0, pow2(-60), 1.0, pow2(-90), 0.0, pow2(90), 1.0]);
    let a = a.map(DoubleDouble::exact);
    let balanced = balance::balance(&a, &balance::exponents(&a));
    assert!(balanced.iter().all(|x| x.to_nearest_f64() <= 2.0), "{balanced:?}");
    // Two bits are not worth it.
    let a = DMatrix::from_row_slice(2, 2, &[0.0, 4.0, 0.25, 0.0]).map(DoubleDouble::exact);
    assert_eq!(balance::exponents(&a), [0, 0]);
}

/// Another path from 3 to 1, of size ε and over a state of eigenvalue 0, is all that is left of the entry.
#[rstest]
#[case(-520)]
#[case(-600)]
fn what_a_cancellation_leaves_is_found_at_more_bits(#[case] size: i32) {
    let mut a = DMatrix::<f64>::zeros(4, 4);
    for (i, j, x) in [(0, 0, 1.0), (0, 1, 1.0), (0, 2, -0.5), (1, 1, 1.0), (1, 2, 1.0), (2, 2, 1.0)] {
        a[(i, j)] = x;
    }
    (a[(0, 3)], a[(3, 2)]) = (pow2(size), 1.0);
    let truth = discretize(Method::Zoh, &a, &column(&[1.0; 4]), 1.0).expect("certified");
    // ε times the divided difference e[1, 0, 1] = 1.
    assert_eq!(truth.a_bar[(0, 2)], pow2(size));
}

#[rstest]
#[case(Method::Rk4)]
#[case(Method::Bilinear)]
fn a_shared_order_of_summation_does_not_certify(#[case] method: Method) {
    let t = pow2(-116) * (1.0 + pow2(-20));
    let mut a = DMatrix::<f64>::zeros(4, 4);
    a.row_mut(0).copy_from_slice(&[0.0, 1.0, t, -1.0]);
    let b = column(&[0.0, pow2(120), 1.0, pow2(120)]);
    let truth = discretize(method, &a, &b, 1.0).expect("certified");
    assert_eq!(truth.b_bar[0], t / 2.0);
}

#[test]
fn a_nearly_singular_solve_is_not_certified_too_early() {
    let t = pow2(-236) * (1.0 + pow2(-20));
    let a = DMatrix::from_row_slice(2, 2, &[-2.0 * t, -2.0, -2.0, 0.0]);
    let truth = discretize(Method::Bilinear, &a, &column(&[1.0, 0.0]), 1.0).expect("certified");
    assert_eq!(truth.b_bar[0], round(&(RBig::ONE / exact(t))));
}

fn channel(delta: f32, u: &[f32]) -> Problem {
    Problem {
        shape: Shape { batch: 1, dim: 1, dstate: 1, seqlen: u.len(), groups: 1 },
        weights: Weights::Real,
        input: InputType::F32,
        b_operand: Operand::Constant,
        c_operand: Operand::Constant,
        u: u.to_vec(),
        delta: vec![delta; u.len()],
        a: vec![0.0],
        b: vec![1.0],
        c: vec![1.0],
        d: None,
        z: None,
        delta_bias: None,
        delta_softplus: false,
        initial_state: None,
        conventions: Default::default(),
        judged_channels: vec![(0, 0)],
        held: None,
        packed: None,
    }
}

#[test]
fn a_scan_that_cancels_keeps_what_is_left() {
    let t = (pow2(-116) * (1.0 + pow2(-20))) as f32;
    let problem = channel(1.0, &[pow2(120) as f32, t, -pow2(120) as f32]);
    // The same Δ where a bias is part of it.
    let biased = Problem { delta_bias: Some(vec![-0.75]), ..channel(1.75, &problem.u) };
    for problem in [problem, biased] {
        for truth in scan::solve(&problem, &[Method::Zoh, Method::Bilinear, Method::Rk4]).expect("certified")
        {
            assert_eq!(truth.tensors[TensorName::Out].values[2], f64::from(t), "{}", truth.method);
            assert_eq!(truth.tensors[TensorName::LastState].values[0], f64::from(t), "{}", truth.method);
        }
    }
}

/// Of forms that read the input before, too: half of each input counts at its own position, half at the next one.
#[test]
fn a_scan_of_averaged_inputs_that_cancels_keeps_what_is_left() {
    let t = (pow2(-116) * (1.0 + pow2(-20))) as f32;
    let problem = channel(1.0, &[pow2(120) as f32, t, -pow2(121) as f32]);
    let forms = [Textbook::FohCausal, Textbook::BilinearAveraged].map(Form::Textbook);
    for truth in scan::solve(&problem, &forms).expect("certified") {
        assert_eq!(truth.tensors[TensorName::Out].values[2], f64::from(t), "{}", truth.method);
        assert_eq!(truth.tensors[TensorName::LastState].values[0], f64::from(t), "{}", truth.method);
    }
}

#[test]
fn random_scans_that_cancel_are_sums_of_their_inputs() {
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    let mut draw = || (rng.random_range(-1.0..1.0) * pow2(rng.random_range(-100..100))) as f32;
    for _ in 0..20 {
        let (big, small, other) = (draw(), draw(), draw());
        let u = [big, small, -big, other, -small];
        for truth in scan::solve(&channel(1.0, &u), &[Method::Zoh, Method::Rk4]).expect("certified") {
            for l in 0..u.len() {
                let sum = u[..=l].iter().fold(RBig::ZERO, |sum, &u| sum + exact(f64::from(u)));
                assert_eq!(truth.tensors[TensorName::Out].values[l], round(&sum), "{}: {u:?}", truth.method);
            }
        }
    }
}

/// λI + PUP⁻¹ with integers: e^A = e^λ Σ Nᵏ/k!, whose zeros rational arithmetic knows.
#[test]
fn conjugated_nilpotents_have_their_exact_zeros_and_nothing_else() {
    let mut rng = ChaCha8Rng::seed_from_u64(77);
    let mut zeros = 0;
    for _ in 0..40 {
        let n = rng.random_range(3..=4);
        let lambda = [-1.0, 0.5, 1.0, -2.0, 3.0, 0.25][rng.random_range(0..6)];
        let mut shear = |m: &mut DMatrix<f64>| {
            for i in 0..n {
                for j in 0..i {
                    m[(i, j)] = f64::from(rng.random_range(-1..=1));
                }
            }
        };
        let (mut upper, mut p) = (DMatrix::zeros(n, n), DMatrix::identity(n, n));
        shear(&mut upper);
        upper = upper.transpose();
        shear(&mut p);
        if n == 3 {
            // One entry that cancels exactly: N₁₃ + N₁₂N₂₃/2 = 0.
            upper[(0, 2)] = -upper[(0, 1)] * upper[(1, 2)] / 2.0;
            p = DMatrix::identity(n, n);
        }
        let inverse = p.clone().try_inverse().expect("unimodular").map(f64::round);
        let nilpotent: DMatrix<f64> = &p * &upper * inverse;
        let mut sum = DMatrix::<f64>::identity(n, n) * 6.0;
        // Small integers: exact.
        sum += &nilpotent * 6.0 + &nilpotent * &nilpotent * 3.0 + &nilpotent * &nilpotent * &nilpotent;
        let a = nilpotent + DMatrix::identity(n, n) * lambda;
        let truth =
            discretize(Method::Zoh, &a, &column(&vec![1.0; n]), 1.0).unwrap_or_else(|e| panic!("{e}: {a}"));
        for (got, sum) in truth.a_bar.iter().zip(&sum) {
            zeros += usize::from(*sum == 0.0);
            let want = sum / 6.0 * lambda.exp();
            assert!((got - want).abs() <= want.abs() * 1e-14, "{got:e} for {want:e}: {a}");
        }
    }
    assert!(zeros > 40);
}

/// Cramer's rule over the rationals.
fn determinant(m: &[[RBig; 3]; 3]) -> RBig {
    let minor = |i: usize, j: usize| &m[1][i] * &m[2][j] - &m[1][j] * &m[2][i];
    &m[0][0] * minor(1, 2) - &m[0][1] * minor(0, 2) + &m[0][2] * minor(0, 1)
}

#[test]
fn graded_solves_are_right() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for _ in 0..40 {
        let mut draw = || rng.random_range(-1.0..1.0) * pow2(rng.random_range(-120..120));
        let a = DMatrix::from_fn(3, 3, |_, _| draw());
        let b = column(&[draw(), draw(), draw()]);
        let half = RBig::ONE / RBig::from(2);
        let minus: [[RBig; 3]; 3] = std::array::from_fn(|i| {
            std::array::from_fn(|j| RBig::from(u8::from(i == j)) - &half * exact(a[(i, j)]))
        });
        let whole = determinant(&minus);
        let truth = discretize(Method::Bilinear, &a, &b, 1.0).expect("certified");
        for j in 0..3 {
            let mut replaced = minus.clone();
            (0..3).for_each(|i| replaced[i][j] = exact(b[i]));
            assert_eq!(truth.b_bar[j], round(&(determinant(&replaced) / &whole)), "{a}");
        }
    }
}

#[rstest]
fn a_step_of_zero_is_the_identity(#[values(0, 1, 2, 3)] family: usize) {
    let c = Complex::new;
    let a = match family {
        0 => DMatrix::from_element(1, 1, c(1.0, 1.0)),
        1 => DMatrix::from_fn(3, 3, |i, j| c(f64::from(u8::from(i == j) * 2 + u8::from(j == i + 1)), 0.0)),
        2 => DMatrix::from_fn(3, 3, |i, j| c(i as f64 - j as f64, 0.0)),
        _ => DMatrix::from_element(1, 1, c(2.0, 0.0)),
    };
    let n = a.nrows();
    let b = DMatrix::from_element(n, 1, c(1.0, -2.0));
    for form in Form::all() {
        let truth = discretize(form, &a, &b, 0.0).unwrap_or_else(|e| panic!("{form}: {e}"));
        assert_eq!(truth.a_bar, DMatrix::identity(n, n), "{form}");
        assert!(truth.b_bar.iter().all(|x| *x == c(0.0, 0.0)), "{form}");
    }
}

#[test]
fn powers_of_two_are_no_poles() {
    for k in -70..70 {
        let one = DMatrix::from_element(1, 1, 1.0);
        let truth = discretize(Method::Bilinear, &one, &one, pow2(k));
        if k == 1 {
            assert!(matches!(truth, Err(TruthError::Pole { .. })));
            continue;
        }
        let delta = exact(pow2(k));
        let want = round(&(&delta / (RBig::ONE - &delta / RBig::from(2))));
        assert_eq!(truth.unwrap_or_else(|e| panic!("2^{k}: {e}")).b_bar[0], want);
    }
}

#[test]
fn a_part_too_small_for_its_number_climbs() {
    // Im e^z ≈ Im z, far below the rounding of |e^z| at 237 bits.
    let problem = CoefficientProblem {
        weights: Weights::Complex,
        delta: vec![1.0],
        a: vec![-1.0, 1e-40],
        b: vec![1.0, 0.0],
    };
    let truth = coefficient::solve(Method::Zoh, &problem).expect("certified");
    let want = (-1f64).exp() * f64::from(1e-40f32);
    assert_relative_eq!(truth.a_bar[1], want, epsilon = 0.0, max_relative = 1e-15);
}

/// The bounds of [`floor`], which are far above the errors that occur: a term that is missing shows in no value.
#[test]
fn bounds_of_matrices_have_every_term() {
    fn at_least(found: Mag, least: f64) -> bool {
        found.max(Mag::new(least, 0)) == found
    }
    let unit = 2f64.powi(-(DoubleDouble::BITS as i32));
    // e^z has z there: 1/1!, which may be off by 6 units, a product (4), and three sums (6).
    let z = DMatrix::from_fn(2, 2, |i, j| DoubleDouble::exact(if i < j { 2f64.powi(-10) } else { 0.0 }));
    let found = floor::exponential(&BoundedMatrix::exact(z), 0);
    assert!(at_least(found.radius[(0, 1)], 12.0 * unit * 2f64.powi(-10)), "{:?}", found.radius);
    assert!(found.radius[(1, 0)].is_zero());
    // |X|S + R(|Y| + S)
    let matrix = |mid: f64, radius: f64| BoundedMatrix {
        mid: DMatrix::from_element(3, 3, DoubleDouble::exact(mid)),
        radius: DMatrix::from_element(3, 3, Mag::new(radius, 0)),
    };
    for [x, r, y, s] in [[1.5, 0.0, -1.25, 0.25], [-3.0, 0.125, 0.7, 0.0], [1.1, 0.3, 1.9, 0.7]] {
        let product = matrix(x, r).times(&matrix(y, s));
        let exact = 3.0 * (x.abs() * s + r * (y.abs() + s));
        let mid = product.mid[0].to_nearest_f64();
        assert!((mid - 3.0 * x * y).abs() < 1e-14 && at_least(product.radius[0], exact), "{product:?}");
        assert!(!at_least(product.radius[0], exact * (1.0 + 1e-12)), "{product:?}");
    }
}

/// Also where only a path over other states leads: e^{h(I + N)} has e^h h²/2 there, and a series that ends earlier leaves the more.
#[test]
fn the_tail_of_an_exponential_is_bounded_in_every_entry() {
    for h in [pow2(-30), pow2(-20), 0.375] {
        let z =
            DMatrix::from_fn(3, 3, |i, j| DoubleDouble::exact(if j == i || j == i + 1 { h } else { 0.0 }));
        let found = floor::exponential(&BoundedMatrix::exact(z), 0);
        let [high, low] = found.mid[(0, 2)].parts().map(Wide::exact);
        let exact = exp_by_halving(Wide::exact(h)) * Wide::exact(h * h / 2.0);
        let off = (high + low - exact).to_nearest_f64().abs();
        let radius = found.radius[(0, 2)];
        assert!(off > 0.0 && radius.max(Mag::new(off, 0)) == radius, "{h}: {off:e} {radius:?}");
    }
}

//! The derivatives of dense steps: the diagonal scan's own, linear, adjoint to that of Aᴴ, and what differences tend to.

use holdfast::method::Method;
use holdfast::problem::{Operand, OutputGradients};
use holdfast::tensor::GradientName;
use holdfast::truth::TruthError;
use holdfast::truth::dense::discretize;
use holdfast::truth::dense::frechet::derivative;
use holdfast::truth::gradient::solve;
use nalgebra::{Complex, DMatrix};
use rstest::rstest;

use crate::support::problems::{Layout, generator};

/// Not normal, and without a symmetry.
fn matrix(n: usize, phase: f64) -> DMatrix<f64> {
    DMatrix::from_fn(n, n, |i, j| ((7 * i + 13 * j) as f64 + phase).sin() - 2.0 * f64::from(u8::from(i == j)))
}

/// One position from a state of 1, read by 1: grad.A is the derivative of Ā, and without that state that of B̄.
#[rstest]
fn size_one_has_the_gradients_of_the_scan(#[values(0, 1, 2, 3, 4, 5)] method: usize) {
    let method = Method::ALL[method];
    let single = |x: f64| DMatrix::from_element(1, 1, x);
    for (a, delta) in [(-1.5f32, 0.375f32), (-0.0009, 0.75), (-31.0, 2.0), (0.0, 0.5)] {
        let mut layout = Layout::plain(1, 1, 1, 1);
        layout.b = Operand::Variable;
        let mut problem = layout.random(&mut generator("size_one"));
        (problem.a, problem.delta) = (vec![a], vec![delta]);
        (problem.b, problem.c, problem.u) = (vec![0.75], vec![0.0], vec![1.0]);
        let given = OutputGradients { dout: vec![0.0], dlast_state: Some(vec![1.0]) };
        let mut gradient = |initial: f32, b: f32| {
            (problem.initial_state, problem.b) = (Some(vec![initial]), vec![b]);
            let truth = solve(&problem, &given, &[method]).expect("certified").remove(0);
            truth.tensors[GradientName::A].values[0]
        };
        let (a, b) = (single(f64::from(a)), single(0.75));
        let found = derivative(method, &a, &b, f64::from(delta), &single(1.0)).expect("certified");
        assert_eq!(found.a_bar[0], gradient(1.0, 0.0), "{method}, {a}");
        assert_eq!(found.b_bar[0], gradient(0.0, 0.75), "{method}, {a}");
    }
}

/// ⟨G, L(A, E)⟩ = ⟨L(Aᵀ, G), E⟩, and twice the direction gives twice the derivative, to the last bit.
#[rstest]
fn derivative_is_linear_and_adjoint_to_the_transpose(#[values(0, 1, 2, 3, 4, 5)] method: usize) {
    let method = Method::ALL[method];
    let (a, b, e, g) = (matrix(3, 0.0), DMatrix::from_element(3, 1, 0.5), matrix(3, 0.4), matrix(3, 0.9));
    let along = |a: &DMatrix<f64>, e: &DMatrix<f64>| derivative(method, a, &b, 0.7, e).expect("certified");
    let found = along(&a, &e);
    let twice = along(&a, &(2.0 * &e));
    assert_eq!(twice.a_bar, 2.0 * &found.a_bar);
    assert_eq!(twice.b_bar, 2.0 * &found.b_bar);
    let (left, right) = (g.dot(&found.a_bar), along(&a.transpose(), &g).a_bar.dot(&e));
    let size = g.norm() * found.a_bar.norm();
    assert!(left != 0.0 && (left - right).abs() <= 32.0 * f64::EPSILON * size, "{left} is not {right}");
}

/// Central differences over 2h, whose own error is h² times a sixth of the third derivative: below 10³, a choice.
#[rstest]
fn differences_tend_to_the_derivative(#[values(0, 1, 2, 3, 4, 5)] method: usize) {
    let method = Method::ALL[method];
    let complex = |n, phase| {
        let (re, im) = (matrix(n, phase), matrix(n, phase + 2.0));
        re.zip_map(&im, Complex::new)
    };
    let (a, e) = (complex(3, 0.0), complex(3, 0.4));
    let b = DMatrix::from_element(3, 1, Complex::new(0.5, -0.25));
    let h = 2f64.powi(-14);
    let found = derivative(method, &a, &b, 0.3, &e).expect("certified");
    let at = |h: f64| discretize(method, &(&a + &e * Complex::from(h)), &b, 0.3).expect("certified");
    let (above, below) = (at(h), at(-h));
    let over = Complex::from(1.0 / (2.0 * h));
    for (found, want) in
        [(found.a_bar, (above.a_bar - below.a_bar) * over), (found.b_bar, (above.b_bar - below.b_bar) * over)]
    {
        let error = (&found - &want).map(|x| x.norm()).max();
        let size = found.map(|x| x.norm()).max();
        let same = size == 0.0 && method == Method::Zoh;
        assert!(error <= 1e3 * h * h && (same || size > 1e3 * h * h), "{method}: {error:e} of {size:e}");
    }
}

#[test]
fn a_direction_of_another_shape_is_refused() {
    let error =
        derivative(Method::Zoh, &matrix(3, 0.0), &DMatrix::from_element(3, 1, 1.0), 0.1, &matrix(2, 0.0));
    let Err(error @ TruthError::Shape { .. }) = error else { panic!("refused") };
    assert!(error.to_string().contains("(2, 2) beside (3, 3), expected (3, 3)"), "{error}");
}

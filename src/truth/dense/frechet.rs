//! The derivative of a dense step in a direction of A (spec.md §6): of any function f of a matrix,
//!
//! f([[A, E], [0, A]]) = [[f(A), L(A, E)], [0, f(A)]]
//!
//! has the Fréchet derivative L(A, E) in its corner (Higham, Functions of Matrices, 2008, (3.16)). The step of that matrix is one
//! that [`discretize`] certifies like any other, by routes that do not differentiate.

use nalgebra::DMatrix;

use super::{Input, discretize};
use crate::method::Method;
use crate::truth::certify::Certificate;
use crate::truth::{Result, TruthError};

/// How Ā and B̄ change with A, entrywise correctly rounded.
#[derive(Clone, Debug)]
pub struct DenseDerivative<I: Input> {
    /// (n, n): the derivative of Ā
    pub a_bar: DMatrix<I>,
    /// (n, m): the derivative of B̄
    pub b_bar: DMatrix<I>,
    pub certificate: Certificate,
}

/// The derivatives of a method's Ā and B̄ along `direction`, an (n, n) change of A. In the direction A itself that of Ā is
/// Δ ∂Ā/∂Δ.
///
/// # Errors
/// As [`discretize`]'s, and a direction of another shape than A's.
pub fn derivative<I: Input>(
    method: Method,
    a: &DMatrix<I>,
    b: &DMatrix<I>,
    delta: f64,
    direction: &DMatrix<I>,
) -> Result<DenseDerivative<I>> {
    let (n, m) = b.shape();
    if direction.shape() != a.shape() || a.shape() != (n, n) {
        return Err(TruthError::Shape {
            what: "the direction, beside A",
            expected: format!("({n}, {n}) as B has {n} rows"),
            found: format!("{:?} beside {:?}", direction.shape(), a.shape()),
        });
    }
    let zero = I::from_parts([0.0; 2]);
    let mut twice = DMatrix::from_element(2 * n, 2 * n, zero);
    let mut inputs = DMatrix::from_element(2 * n, m, zero);
    for (i, j) in (0..n * n).map(|k| (k / n, k % n)) {
        twice[(i, j)] = a[(i, j)];
        twice[(n + i, n + j)] = a[(i, j)];
        twice[(i, n + j)] = direction[(i, j)];
    }
    for (i, j) in (0..n * m).map(|k| (k / m, k % m)) {
        inputs[(n + i, j)] = b[(i, j)];
    }
    let step = discretize(method, &twice, &inputs, delta)?;
    Ok(DenseDerivative {
        a_bar: step.a_bar.view((0, n), (n, n)).into_owned(),
        b_bar: step.b_bar.rows(0, n).into_owned(),
        certificate: step.certificate,
    })
}

//! What a dense route works on.

use nalgebra::DMatrix;

use super::matrix::scaled;
use crate::formula::Form;
use crate::truth::number::scalar::Entry;

/// One form's step for a matrix A.
pub struct Given<'a, T: Entry> {
    pub form: Form,
    pub a: &'a DMatrix<T>,
    pub b: &'a DMatrix<T>,
    pub delta: T::Part,
    /// ΔA
    pub z: DMatrix<T>,
    /// As for [`super::floor::exponential`].
    pub chain: usize,
}

impl<'a, T: Entry> Given<'a, T> {
    pub fn new(form: Form, a: &'a DMatrix<T>, b: &'a DMatrix<T>, delta: T::Part, chain: usize) -> Self {
        let z = scaled(a, &delta);
        Given { form, a, b, delta, z, chain }
    }
}

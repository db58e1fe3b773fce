//! What the program asks of a number.

/// A number that the program computes with.
pub trait Number: Clone + Send + Sync {
    fn exact(value: f32) -> Self;
    fn pi() -> Self;
    fn plus(&self, other: &Self) -> Self;
    fn minus(&self, other: &Self) -> Self;
    fn times(&self, other: &Self) -> Self;
    fn exp(&self) -> Self;
    /// 1/(1 + e⁻ˣ)
    fn sigmoid(&self) -> Self;
    fn tanh(&self) -> Self;
    /// log(1 + eˣ)
    fn softplus(&self) -> Self;
    fn cos_sin(&self) -> [Self; 2];

    /// The same, as an implementation may have it that is off by so much of all its terms: of numbers that carry what they may be off.
    fn off_by(self, _relative: f64) -> Self {
        self
    }

    /// The same sum, of which no partial sum is larger than this.
    fn within(self, _size: f64) -> Self {
        self
    }

    /// About what it is.
    fn about(&self) -> f64;

    fn zero() -> Self {
        Self::exact(0.0)
    }

    fn one() -> Self {
        Self::exact(1.0)
    }

    /// self + Σ xᵢ yᵢ
    fn plus_dot<'a>(
        self,
        x: impl IntoIterator<Item = &'a Self>,
        y: impl IntoIterator<Item = &'a Self>,
    ) -> Self
    where
        Self: 'a,
    {
        x.into_iter().zip(y).fold(self, |sum, (x, y)| sum.plus(&x.times(y)))
    }
}

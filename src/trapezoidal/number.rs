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

    /// A sum whose own rounding [`Number::summed`] counts, once for all of its terms.
    fn joined(&self, other: &Self) -> Self {
        self.plus(other)
    }

    /// The same after so many additions, in any order.
    fn summed(self, _additions: usize) -> Self {
        self
    }

    /// A running sum that stays within a size, with the roundings of its additions: so many that are as good as random, one of which
    /// comes again so often, and so many that are not.
    fn walked(self, _random: usize, _systematic: usize, _size: f64, _repeats: usize) -> Self {
        self
    }

    /// The same, as an implementation may have it that is off by so much more.
    fn off(self, _by: f64) -> Self {
        self
    }

    /// The largest that its terms may come to together, without their signs; 0 of numbers that do not carry what they may be off.
    fn reach(&self) -> f64 {
        0.0
    }

    /// About what it is.
    fn about(&self) -> f64;

    fn zero() -> Self {
        Self::exact(0.0)
    }

    fn one() -> Self {
        Self::exact(1.0)
    }

    /// The same, off by so much of all its terms.
    fn off_by(self, relative: f64) -> Self {
        let reach = self.reach();
        if reach == 0.0 { self } else { self.off(relative * reach) }
    }

    /// Σ xᵢ yᵢ in any order
    fn dot(x: &[Self], y: &[Self]) -> Self {
        let products = x.iter().zip(y).map(|(x, y)| x.times(y));
        products.fold(Self::zero(), |sum, product| sum.joined(&product)).summed(x.len().saturating_sub(1))
    }
}

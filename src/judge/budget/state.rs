//! The recurrences of [`super`] for eight states, one position after the other, and what the states add up to.

use std::f64::consts::SQRT_2;

use num_complex::Complex64;

use super::{GENERIC, LAMBDA, or_less};
use crate::judge::lanes::{self, Value};
use crate::judge::model::Step;
use crate::problem::stages::Rounding;
use crate::promise::allowance::Arithmetic;

/// How many states are computed at a time.
pub const WIDTH: usize = 8;

pub type Lanes = lanes::Lanes<WIDTH>;

/// What the states of one channel add up to at a position, before skip and gate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Re Σ Cₙ xₙ
    pub y: f64,
    /// Σ |Cₙ| Eₙ
    pub carried: f64,
    /// Σ |Cₙ| (|xₙ| + Eₙ)
    pub magnitude: f64,
    /// Σ |Cₙ| Dₙ
    pub linear: f64,
    /// Σ |Cₙ| Mₙ
    pub terms: f64,
    /// Σ |Cₙ|
    pub weights: f64,
    /// Σ |Cₙ|² (Vₙ + J u² M̂ₙ² + μ² (|xₙ| + Eₙ)²)
    pub variance: f64,
    /// Error per η where an operand underflows on tensor cores.
    pub lost: f64,
    /// How many states are so small beside all together that adding them rounds in the direction that they give it.
    pub stagnating: f64,
}

/// A state that is kept, as the last one is.
#[derive(Clone, Copy, Debug)]
pub struct KeptState {
    pub x: Complex64,
    /// E
    pub worst: f64,
    /// D, and the roundings that are not taken as random
    pub linear: f64,
    /// V + J u² M̂²
    pub variance: f64,
    /// M
    pub magnitude: f64,
}

impl KeptState {
    /// The bound that is judged by.
    pub fn judged(&self, repeats: f64) -> f64 {
        or_less(self.linear + LAMBDA * (repeats * self.variance).sqrt(), self.worst)
    }
}

/// b_l = B̄_l u_l, and what a kernel's may be off.
#[derive(Clone, Copy)]
pub struct StepInput<V> {
    pub b_u: V,
    /// Σⱼ |B̄ⱼ u_{l+j}|, and what their coefficients may be off: nonzero where there may be anything to add.
    pub size: Lanes,
    /// By its coefficient, and by an underflow.
    pub coefficient: Lanes,
    /// By the products that form it from B̄ and u.
    pub product: Lanes,
}

impl<V: Value<WIDTH>> StepInput<V> {
    /// Where nothing is added.
    #[inline(always)]
    pub fn none() -> Self {
        let zero = Lanes::ZERO;
        StepInput { b_u: V::all(0.0), size: zero, coefficient: zero, product: zero }
    }
}

/// x → Ā x + b for eight states, and what a kernel's may be off.
#[derive(Clone, Copy)]
pub struct AffineStep<V> {
    pub a_bar: V,
    pub a_bar_error: Lanes,
    pub input: StepInput<V>,
    /// |ΔA|
    pub z: Lanes,
}

impl<V: Value<WIDTH>> AffineStep<V> {
    /// What leaves nothing.
    pub fn none() -> Self {
        let zero = Lanes::ZERO;
        AffineStep { a_bar: V::all(0.0), a_bar_error: zero, input: StepInput::none(), z: zero }
    }
}

/// What is known of eight states after one position.
#[derive(Clone, Copy)]
pub struct State<V> {
    x: V,
    /// M
    magnitude: Lanes,
    /// E
    worst: Lanes,
    /// D, and the roundings that are not taken as random
    linear: Lanes,
    /// V
    variance: Lanes,
    /// The largest M̂ so far: a tree multiplies it by products of Ā that may have underflowed on their own.
    largest: Lanes,
    /// Nonzero once a rounding was not taken as random.
    directed: Lanes,
    /// S of a scan in log space, else 0.
    exponents: Lanes,
}

/// What a step rounds beside its coefficients.
#[derive(Clone, Copy)]
pub struct StepRoundings {
    /// Of states.
    pub arithmetic: Arithmetic,
    /// A product.
    pub mu: f64,
    /// Sums beside the one with Ā x.
    pub further_sums: f64,
    /// Whether products of Ā are exponentials of running sums.
    pub in_log_space: bool,
}

impl StepRoundings {
    /// What a step's product and sums multiply an error by.
    #[inline(always)]
    fn growth(&self) -> f64 {
        let u = self.arithmetic.unit;
        (1.0 + self.mu) * (1.0 + u * (1.0 + self.further_sums * (1.0 + u)))
    }

    /// At most what a kernel's step multiplies a state by.
    #[inline(always)]
    pub fn carried<V: Value<WIDTH>>(&self, step: &Step<V, Lanes>) -> Lanes {
        (step.a_bar.norm() + step.a_bar_error) * self.growth()
    }
}

/// A state as it is read, for what is made of states.
#[derive(Clone, Copy)]
pub struct Seen<V> {
    pub x: V,
    pub magnitude: Lanes,
    pub worst: Lanes,
    pub linear: Lanes,
    pub variance: Lanes,
    /// The share of V that this step's own roundings have.
    pub injected: Lanes,
    /// √J u M̂, where it is random.
    pub joined: Lanes,
}

/// Error of a rounding, of states of this size; where it underflows, of both parts of a complex one.
#[inline(always)]
fn rounded(size: Lanes, rounding: Rounding) -> Lanes {
    (size * rounding.unit + Lanes::all(SQRT_2 * rounding.underflow)).unless_zero(size)
}

impl<V: Value<WIDTH>> State<V> {
    /// After a step that carried what was before times `carried`, of which a tree joins so many later.
    #[inline(always)]
    pub fn read(&self, before: &Self, carried: Lanes, u: f64, joins: f64) -> Seen<V> {
        let [linear, variance] = self.seen(u, joins);
        let kept = (carried * carried).times(before.variance);
        Seen {
            x: self.x,
            magnitude: self.magnitude,
            worst: self.worst,
            linear,
            variance,
            // Rounding may leave a little less than nothing.
            injected: (self.variance - kept).max(Lanes::ZERO),
            joined: (variance - self.variance).max(Lanes::ZERO).sqrt(),
        }
    }

    #[inline(always)]
    pub fn new(x: V, rounding: Rounding) -> Self {
        let (zero, size) = (Lanes::ZERO, x.norm());
        // A state that is rounded is so where it is given, too.
        let rounded = rounded(size, rounding);
        State {
            x,
            magnitude: size,
            worst: rounded,
            linear: rounded,
            variance: zero,
            largest: Lanes::ONE.max(size),
            directed: zero,
            exponents: zero,
        }
    }

    /// Running sums begin anew, from what they have come to already.
    #[inline(always)]
    pub fn begin_block(&mut self, exponents: Lanes) {
        self.exponents = exponents;
    }

    /// M̂
    #[inline(always)]
    pub fn size(&self) -> Lanes {
        self.magnitude + self.worst
    }

    /// As it is read by a scan in log space, whose running sums may be added as a tree of so many joins.
    #[inline(always)]
    pub fn summed_as_a_tree(mut self, u: f64, joins: f64) -> Self {
        let off = self.exponents * (2.0 * (joins + 1.0) * u);
        let off = off * off.over_one_less();
        let lost = off.times(self.magnitude + self.worst);
        self.worst = self.worst + lost;
        self.linear = self.linear + lost;
        self
    }

    /// One step (the recurrences of [`super`]), of which a tree joins so many later.
    #[inline(always)]
    pub fn advance(
        &mut self,
        (a_bar, a_bar_error): (V, Lanes),
        input: &StepInput<V>,
        z: Lanes,
        joins: f64,
        roundings: StepRoundings,
    ) {
        let StepRoundings { arithmetic, mu, further_sums, in_log_space } = roundings;
        let (u, growth) = (arithmetic.unit, roundings.growth());
        let (a_abs, b_abs) = (a_bar.norm(), input.b_u.norm());
        let mut a_computed = (a_abs + a_bar_error) * growth;
        let mut a_excess = a_bar_error * growth + a_abs * (growth - 1.0);
        let mut summed = Lanes::ZERO;
        if in_log_space {
            self.exponents = (self.exponents + z) * (1.0 + u);
            summed = self.exponents * u;
            summed = summed * summed.over_one_less();
            a_excess = a_excess + a_computed.times(summed);
            a_computed = a_computed + a_computed.times(summed);
        }
        // A product that underflows loses at most half a subnormal, if there is anything to multiply: of a state, or of
        // what then multiplies one.
        let underflow =
            (self.largest * (2.0 * arithmetic.underflow)).unless_zero(self.magnitude + self.worst);
        let worst = a_computed.times(self.worst)
            + a_excess.times(self.magnitude)
            + (input.coefficient + input.product) * (1.0 + joins * u)
            + b_abs * (joins * u)
            + underflow;
        let old = a_abs.times(self.magnitude);
        let magnitude = old + b_abs;
        // What the product with Ā and the sums with b round. An exact operation does not.
        let product = (a_computed.times(self.magnitude + self.worst) * mu).unless_zero(z);
        let sums = (magnitude + worst) * (u * (1.0 + further_sums));
        let sum = sums.unless_zero(input.size);
        // Those that cannot be taken as random.
        let directed_product =
            Lanes::if_less((a_bar - 1.0).norm(), Lanes::all(GENERIC * u), product, Lanes::ZERO);
        let directed_sum = Lanes::if_less(b_abs, old * (GENERIC * u), sum, Lanes::ZERO);
        let (product, sum) = (product - directed_product, sum - directed_sum);
        let mut exponents = Lanes::ZERO;
        let mut directed_exponents = Lanes::ZERO;
        if in_log_space {
            exponents = a_computed.times(self.magnitude + self.worst).times(summed);
            let is_small = self.exponents * (GENERIC * u);
            directed_exponents = Lanes::if_less(z, is_small, exponents, Lanes::ZERO);
            exponents = exponents - directed_exponents;
        }
        self.linear = a_computed.times(self.linear)
            + a_bar_error.times(self.x.norm())
            + input.coefficient
            + underflow
            + directed_product
            + directed_sum
            + directed_exponents;
        self.variance = (a_computed * a_computed).times(self.variance)
            + input.product * input.product
            + product * product
            + sum * sum
            + exponents * exponents;
        self.directed = self.directed + directed_product + directed_sum;
        // An infinite Ā of a state that is still 0 adds nothing.
        let carried = V::if_less(Lanes::ZERO, self.x.norm(), a_bar * self.x, V::all(0.0));
        self.x = carried + input.b_u;
        self.largest = self.largest.max(magnitude + worst);
        (self.magnitude, self.worst) = (magnitude, worst);
    }

    /// Stored in a type that rounds so.
    #[inline(always)]
    pub fn store(&mut self, rounding: Rounding) {
        let rounded = rounded(self.x.norm() + self.worst, rounding);
        (self.worst, self.linear) = (self.worst + rounded, self.linear + rounded);
        self.largest = self.largest.max(self.magnitude + self.worst);
    }

    /// D and V with J u² M̂², which a tree adds.
    #[inline(always)]
    pub fn seen(&self, u: f64, joins: f64) -> [Lanes; 2] {
        let joined = (self.magnitude + self.worst) * u;
        let random = (joined * joined) * joins;
        let random = Lanes::if_less(Lanes::ZERO, self.directed, Lanes::ZERO, random);
        let directed = Lanes::if_less(Lanes::ZERO, self.directed, joined * joins, Lanes::ZERO);
        [self.linear + directed, self.variance + random]
    }

    /// As it is kept.
    #[inline(always)]
    pub fn kept(&self, u: f64, joins: f64) -> [KeptState; WIDTH] {
        let [linear, variance] = self.seen(u, joins);
        std::array::from_fn(|lane| KeptState {
            x: self.x.at(lane),
            worst: self.worst.0[lane],
            linear: linear.0[lane],
            variance: variance.0[lane],
            magnitude: self.magnitude.0[lane],
        })
    }
}

/// What becomes a [`Position`], eight states in each place.
pub struct PositionSums {
    y: Lanes,
    carried: Lanes,
    magnitude: Lanes,
    linear: Lanes,
    terms: Lanes,
    weights: Lanes,
    variance: Lanes,
}

impl PositionSums {
    pub const ZERO: PositionSums = PositionSums {
        y: Lanes::ZERO,
        carried: Lanes::ZERO,
        magnitude: Lanes::ZERO,
        linear: Lanes::ZERO,
        terms: Lanes::ZERO,
        weights: Lanes::ZERO,
        variance: Lanes::ZERO,
    };

    /// Adds what eight states are worth, their D and V as they are seen; |C|(|x| + E). `apart` is |C| where B multiplies
    /// it or the state, whose product may underflow.
    #[inline(always)]
    pub fn add<V: Value<WIDTH>>(
        &mut self,
        (c, apart): (V, Lanes),
        state: &State<V>,
        [linear, variance]: [Lanes; 2],
        mu: f64,
    ) -> Lanes {
        let (weight, size) = (c.norm(), state.x.norm() + state.worst);
        let weighted = weight.times(size);
        self.y = self.y + (c * state.x).re();
        self.carried = self.carried + weight.times(state.worst);
        self.magnitude = self.magnitude + weighted;
        self.linear = self.linear + weight.times(linear);
        self.terms = self.terms + weight.times(state.magnitude);
        self.weights = self.weights + weight + apart + size.unless_zero(apart);
        let variance = variance + size * size * (mu * mu);
        self.variance = self.variance + (weight * weight).times(variance);
        weighted
    }

    #[inline(always)]
    pub fn add_to(&self, position: &mut Position) {
        position.y += self.y.sum();
        position.carried += self.carried.sum();
        position.magnitude += self.magnitude.sum();
        position.linear += self.linear.sum();
        position.terms += self.terms.sum();
        position.weights += self.weights.sum();
        position.variance += self.variance.sum();
    }
}

//! Verdicts on every element of a large run, without the wide arithmetic of the truth: a value q in f64 and a proven bound r
//! on its own error. What that leaves open goes to the certified route, so that **every verdict equals the certified one
//! wherever there is one**.
//!
//! # Theorem
//!
//! Let w be the exact value of an element, E its worst-case bound under [`Contract::FRAMEWORK`] ([`super::budget`]), and q
//! what the recurrences there give in f64. Then |q − w| ≤ r with r = 2⁻²⁷ E ([`RADIUS`]).
//!
//! *Proof.* M̂ of the worst case, and with it E = M̂ − M, the readout, skip and gate, is a power series in the relative errors
//! that it allows (of Δ, z, Ā, B̄, each product and each sum, and of what underflows) with no negative coefficient, since
//! it adds and multiplies magnitudes, and 1/(1 − x) for x < 1. Without a constant term, since exact coefficients and exact
//! operations have no error. Such a series obeys E(tp) ≤ t E(p) for 0 ≤ t ≤ 1: each of its monomials does. So it is
//! enough that f64 errs, at each place, by at most t = 2⁻²⁷ = 4·2⁻²⁹ of what the contract allows there, where
//! u = 2⁻²⁴ and v = 2⁻⁵³ = 2⁻²⁹u:
//!
//! - Δ: a sum with the bias v of u; softplus at most 5v of 4u and more (an exponential and a logarithm within an ulp, 2v
//!   each, the former damped; above 40 it is left out, at less than v).
//! - z = ΔA: one rounding, v of u; none where Δ is given, 24 bits by 24.
//! - eᶻ ([`super::lanes`]): 4v of 8u; complex 4v + 3v + v of 8u. Bilinear's quotients: at most 5v of parts rounded
//!   once, 8v of 8u.
//! - φ₁, φ₂, φ₃: series below |z| = 1 and closed forms from there on, as [`super::sums`] allows a framework, rounding by
//!   rounding; eᶻ − 1 there by subtraction, within 4v·eᶻ + v|eᶻ − 1| of 4u·eᶻ + 2u|eᶻ − 1|, complex within
//!   9v·max(1, eˣ) of 25u.
//! - B̄ = hB and b = B̄u: two products, v or √5v each, of 2u or 2√5u beside the contract's 8u.
//! - Each product and sum of the scan, serial, and of the readout: v of u, √5v of √5u.
//! - Gate: an exponential within an ulp, a sum, a quotient, a product: 5v of 7u. Skip: as the readout.
//! - Stages that are stated to be in 16 bits ([`crate::problem::stages`]) are allowed that beside f32's roundings.
//! - What underflows in f64 is below 2⁻¹⁰⁷⁴, 2⁻⁹²⁴ of what is allowed for it.
//!
//! Each is within 2v of u. The factor of 2 that is left covers the roundings of E and b themselves (relative errors of
//! some v for each position and state, all of one sign), half an ulp of the certified truth, which is a rounded f64
//! (v|w| ≤ 2⁻²⁹E, as the last sum or product alone has u|w| in E), and those of the comparisons. ∎
//!
//! # Decisions
//!
//! With b the bound that is judged by: an element passes where |got − q| ≤ b − r, fails where |got − q| > b + r, and is open
//! otherwise, and where r > b/256. b needs the number of repeats, which takes longer to count than all the rest, and only
//! raises it: first the bound without repeats is tried, and what passes that is done with.
//! Open too is what the theorem does not cover, or the certified route refuses: values within their bound of an overflow,
//! channels with |ΔA| from [`LARGEST_Z`] on or at a form's pole (there only what fails is decided). An infinite bound is
//! infinite by either route. The certified route may also refuse a value that it cannot round; that cannot be foreseen.

use super::budget::{Bounds, ChannelBudget};
use super::ulp::Format;
use super::verdict::Element;
use crate::formula::Form;
use crate::problem::{LARGEST_EXPONENT, Problem};
use crate::promise::Contract;
use crate::tensor::{Named, Tensor, TensorName, Tensors};

/// r/E (module docs).
pub const RADIUS: f64 = 4.0 / (1u64 << 29) as f64;

/// The largest share of the judged bound that r may be.
pub const MOST: f64 = 1.0 / 256.0;

/// Where |ΔA| may be more than the truth takes: the larger part of a complex number is at least half its modulus.
pub const LARGEST_Z: f64 = (1u64 << (LARGEST_EXPONENT - 1)) as f64;

/// What is said of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Pass,
    Fail,
    Open,
    /// Its bound is infinite by either route: nothing can be judged.
    Unbounded,
}

/// Decides one element: `want` is q, and `worst_case` E with the rounding on store.
pub fn decide(element: Element, worst_case: f64, format: Format) -> Decision {
    let Element { got, want, bound, .. } = element;
    let radius = RADIUS * worst_case;
    if got.is_nan() {
        return Decision::Fail;
    }
    if bound == f64::INFINITY {
        return Decision::Unbounded;
    }
    let in_range = want.abs() + bound + radius < format.overflow_threshold();
    if !in_range || radius > MOST * bound {
        return Decision::Open;
    }
    if got.is_infinite() {
        // The exact value is not, nor may it be within its bound.
        return Decision::Fail;
    }
    let error = (got - want).abs();
    if error + radius <= bound {
        Decision::Pass
    } else if error - radius > bound {
        Decision::Fail
    } else {
        Decision::Open
    }
}

/// What the quick route says of some elements of one tensor.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuickTally {
    pub passed: usize,
    pub failed: usize,
    pub open: usize,
    /// Those whose bound is infinite: no truth would help.
    pub unbounded: usize,
    /// The largest share of an allowance used. At least that: of what passes as if nothing repeated, in units of the bound for
    /// that.
    pub share: f64,
    /// Where that is: the channel's row, and the position among its values.
    pub worst: Option<(usize, usize, Element)>,
    /// The largest error over its worst-case bound.
    pub worst_case_ratio: f64,
    pub max_ulp: f64,
    squared_error: f64,
    squared_want: f64,
}

impl QuickTally {
    pub fn elements(&self) -> usize {
        self.passed + self.failed + self.open + self.unbounded
    }

    fn add(&mut self, (row, i): (usize, usize), element: Element, worst_case: f64, format: Format) {
        match decide(element, worst_case, format) {
            Decision::Pass => self.passed += 1,
            Decision::Fail => self.failed += 1,
            Decision::Open => self.open += 1,
            Decision::Unbounded => {
                self.unbounded += 1;
                return;
            }
        }
        let distance = element.distance(format);
        if self.worst.is_none() || distance.share > self.share {
            (self.share, self.worst) = (distance.share, Some((row, i, element)));
        }
        let worst = Element { bound: worst_case, ..element }.distance(format);
        self.worst_case_ratio = self.worst_case_ratio.max(worst.ratio);
        self.max_ulp = self.max_ulp.max(distance.ulp);
        self.squared_error += distance.error * distance.error;
        if element.want.is_finite() {
            self.squared_want += element.want * element.want;
        }
    }

    pub fn absorb(&mut self, other: &QuickTally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.open += other.open;
        self.unbounded += other.unbounded;
        if self.worst.is_none() || other.share > self.share {
            (self.share, self.worst) = (other.share, other.worst);
        }
        self.worst_case_ratio = self.worst_case_ratio.max(other.worst_case_ratio);
        self.max_ulp = self.max_ulp.max(other.max_ulp);
        self.squared_error += other.squared_error;
        self.squared_want += other.squared_want;
    }

    /// ‖got − q‖₂ / ‖q‖₂; 0 when both are zero.
    pub fn rel_l2(&self) -> f64 {
        super::verdict::quotient(self.squared_error.sqrt(), self.squared_want.sqrt())
    }
}

/// Judges one channel of what a kernel returned for all of them, by [`Contract::FRAMEWORK`] or one that allows more.
pub fn judge(
    (form, contract): (impl Into<Form>, &Contract),
    problem: &Problem,
    (batch, channel): (usize, usize),
    got: &Tensors<f32>,
) -> Named<QuickTally> {
    let budget = ChannelBudget::new(form, problem, (batch, channel), contract);
    let row = batch * problem.shape.dim + channel;
    let tally = |bounds: &Named<Bounds>| -> Named<QuickTally> {
        let of = |(name, got, bounds): (TensorName, &Tensor<f32>, &Bounds)| (name, tally(got, row, bounds));
        got.zip(bounds).map(of).collect()
    };
    let mut tallies = tally(&budget.least());
    if tallies.values().any(|tally| tally.passed < tally.elements()) {
        tallies = tally(&budget.judged());
    }
    if budget.largest_z() >= LARGEST_Z {
        for (_, tally) in tallies.iter_mut() {
            *tally = QuickTally { passed: 0, open: tally.passed + tally.open, ..*tally };
        }
    }
    tallies
}

/// The quick values of the judged channels.
pub fn values(form: impl Into<Form>, problem: &Problem) -> Named<Vec<f64>> {
    let form = form.into();
    let mut all: Named<Vec<f64>> = Named::default();
    for &at in &problem.judged_channels {
        for (name, bounds) in ChannelBudget::new(form, problem, at, &Contract::FRAMEWORK).least() {
            match all.get_mut(name) {
                Some(values) => values.extend(bounds.value),
                None => all.insert(name, bounds.value),
            }
        }
    }
    all
}

fn tally(got: &Tensor<f32>, row: usize, bounds: &Bounds) -> QuickTally {
    let format = Format::for_input(got.element);
    let len = bounds.value.len();
    let mut tally = QuickTally::default();
    for (i, (&value, &want)) in got.values[row * len..].iter().zip(&bounds.value).enumerate() {
        let (at, got) = (i / got.width, value);
        let element = Element { got: f64::from(got), want, bound: bounds.bound[at], store: bounds.store[at] };
        tally.add((row, i), element, bounds.worst_case[at], format);
    }
    tally
}

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
//!   What is clamped to a limit l from y with |y| ≥ |l| is allowed (εy − |y − l|)⁺ of the ε of y. As a function of ε it is convex and 0 at
//!   0, hence E(tε) ≤ tE(ε); and f64's y, off by at most tεy, is on the other side only where nearly all of that is allowed.
//! - z = ΔA: one rounding, v of u; none where Δ is given, 24 bits by 24.
//! - eᶻ ([`super::lanes`]): 4v of 8u; complex 4v + 3v + v of 8u. Quotients by 1 − αz: at most 5v of parts rounded
//!   once, 8v of 8u. Ā as a polynomial (`euler`, `rk4-classical`): a term of zᵏ has k products and as many sums, within
//!   2v of the 8u and kθ that are allowed it.
//! - φ₁, φ₂, φ₃: series below |z| = 1 and closed forms from there on, as [`super::sums`] allows a framework, rounding by
//!   rounding; eᶻ − 1 there by subtraction, within 4v·eᶻ + v|eᶻ − 1| of 4u·eᶻ + 2u|eᶻ − 1|, complex within
//!   9v·max(1, eˣ) of 25u.
//! - B̄ = hB and b = B̄u: two products, v or √5v each, of 2u or 2√5u beside the contract's 8u.
//! - Each product and sum of the scan, serial, and of the readout: v of u, √5v of √5u.
//! - A B beside C: one product more, v or √5v of u or √5u. An initial state is exact. `softplus=naive`, `phi=naive` and `exp=fast`
//!   are allowed beside what is, and computed here as ever.
//! - Gate: an exponential within an ulp, a sum, a quotient, a product: 5v of 7u. Skip: as the readout.
//! - Stages that are stated to be in fewer bits, and scans in log space ([`crate::problem::stages`]), are allowed that beside
//!   f32's roundings, and computed here as ever.
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
//! raises it: first the bound without repeats is tried, and what passes that is done with. In a [`LONG`] channel the bound
//! as if all were repeats is tried next, which is at least b: what fails that is beyond b, too. What lies between the two is
//! counted only where its tensor has no failure yet. Otherwise it stays open, and the verdict on the tensor is known: all
//! that passes passes b, and what fails fails it. The count is exact, in as many walks as the memory makes necessary.
//! Open too is what the theorem does not cover, or the certified route refuses: values within their bound of an overflow,
//! channels with |ΔA| from [`LARGEST_Z`] on or at a form's pole (there only what fails is decided). An infinite bound is
//! infinite by either route. Gradients in double (`budget/gradient/coupled.rs`) have all of E but the rounding on store for r. The certified
//! route may also refuse a value that it cannot round; that cannot be foreseen.

use std::borrow::Cow;
use std::ops::Range;

use super::budget::ChannelBudget;
use super::ulp::Format;
use super::verdict::Element;
use crate::formula::Form;
use crate::problem::stretch::Inputs;
use crate::problem::{LARGEST_EXPONENT, Problem};
use crate::promise::Contract;
use crate::tensor::{Named, TensorName, Tensors};

/// r/E (module docs).
pub const RADIUS: f64 = 4.0 / (1u64 << 29) as f64;

/// The largest share of the judged bound that r may be.
pub const MOST: f64 = 1.0 / 256.0;

/// Where |ΔA| may be more than the truth takes: the larger part of a complex number is at least half its modulus.
pub const LARGEST_Z: f64 = (1u64 << (LARGEST_EXPONENT - 1)) as f64;

/// Channels of more positions × states than this are counted only where that decides something: no truth of one fits into
/// memory ([`crate::check::memory`]) that would need the count.
pub const LONG: usize = 5_500_000;

/// What is said of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Pass,
    Fail,
    Open,
    /// Its bound is infinite by either route: nothing can be judged.
    Unbounded,
}

/// Decides one element: `want` is q, and `radius` r.
pub fn decide(element: Element, radius: f64, format: Format) -> Decision {
    let Element { got, want, bound, .. } = element;
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
    /// Those of `open` that the count of repeats would decide.
    pub between: usize,
    /// The largest share of an allowance used. At least that: of what passes as if nothing repeated, in units of the bound for
    /// that, and of what fails as if everything did, likewise.
    pub share: f64,
    /// Where that is: the channel's row, and the position among its values.
    pub worst: Option<(usize, usize, Element)>,
    /// The largest error over its worst-case bound.
    pub worst_case_ratio: f64,
    pub max_ulp: f64,
    pub squared_error: f64,
    pub squared_want: f64,
}

impl QuickTally {
    pub fn elements(&self) -> usize {
        self.passed + self.failed + self.open + self.unbounded
    }

    /// Adds an element with the least and the largest bound that it may be judged by.
    pub fn add(
        &mut self,
        (row, i): (usize, usize),
        [least, most]: [Element; 2],
        (worst_case, radius): (f64, f64),
        format: Format,
    ) {
        let (mut element, mut decision) = (least, decide(least, radius, format));
        let is_open = matches!(decision, Decision::Fail | Decision::Open) && most.bound > least.bound;
        if is_open {
            element = most;
            if decide(most, radius, format) != Decision::Fail {
                decision = Decision::Open;
                self.between += 1;
            }
        }
        match decision {
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
        self.between += other.between;
        self.unbounded += other.unbounded;
        if self.worst.is_none() || other.share > self.share {
            (self.share, self.worst) = (other.share, other.worst);
        }
        self.worst_case_ratio = self.worst_case_ratio.max(other.worst_case_ratio);
        self.max_ulp = self.max_ulp.max(other.max_ulp);
        self.squared_error += other.squared_error;
        self.squared_want += other.squared_want;
    }

    /// The first number in which another one differs, with both values, bit by bit; a NaN equals any other.
    pub fn difference(&self, other: &QuickTally) -> Option<(&'static str, f64, f64)> {
        let numbers = |tally: &QuickTally| {
            let (row, at, element) = tally.worst.unwrap_or((usize::MAX, usize::MAX, Element::NONE));
            [
                ("passed", tally.passed as f64),
                ("failed", tally.failed as f64),
                ("open", tally.open as f64),
                ("unbounded", tally.unbounded as f64),
                ("the worst element's channel", row as f64),
                ("the worst element's place", at as f64),
                ("the worst element's got", element.got),
                ("the worst element's want", element.want),
                ("the worst element's bound", element.bound),
                ("the worst element's bound on store", element.store),
                ("share", tally.share),
                ("worst-case ratio", tally.worst_case_ratio),
                ("ulp", tally.max_ulp),
                ("squared error", tally.squared_error),
                ("squared want", tally.squared_want),
            ]
        };
        let same =
            |one: f64, other: f64| one.to_bits() == other.to_bits() || (one.is_nan() && other.is_nan());
        let pairs = numbers(self).into_iter().zip(numbers(other));
        let mut different = pairs.filter(|((_, one), (_, other))| !same(*one, *other));
        different.next().map(|((what, one), (_, other))| (what, one, other))
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
    let row = batch * problem.shape.dim + channel;
    let of = |name: TensorName, elements: Range<usize>| {
        let Some(tensor) = got.get(name) else { return Ok(None) };
        let start = row * tensor.shape[2..].iter().product::<usize>();
        let [start, end] = [elements.start, elements.end].map(|at| (start + at) * tensor.width);
        Ok(Some(Cow::Borrowed(&tensor.values[start..end])))
    };
    let Ok(tallies) = judge_stretches((form, contract), problem, (batch, channel), &of, LONG);
    tallies
}

/// Some elements of a channel's row of a tensor, both parts of complex ones; none where there is no such tensor.
pub type Got<'a, E> = dyn Fn(TensorName, Range<usize>) -> Result<Option<Cow<'a, [f32]>>, E> + 'a;

/// The same of a channel that is read a stretch at a time. What is `long`, in positions × states, is counted only where that
/// decides something (module docs).
pub fn judge_stretches<I: Inputs>(
    (form, contract): (impl Into<Form>, &Contract),
    inputs: &I,
    (batch, channel): (usize, usize),
    got: &Got<I::Error>,
    long: usize,
) -> Result<Named<QuickTally>, I::Error> {
    let budget = ChannelBudget::new(form, inputs, (batch, channel), contract);
    let row = batch * inputs.outline().shape.dim + channel;
    let tally = |repeats: &[f64]| tally((&budget, inputs), row, got, repeats);
    let least = budget.directions();
    let (mut tallies, largest_z) = tally(&[least])?;
    if tallies.values().any(|tally| tally.passed < tally.elements()) {
        let is_long = budget.steps() > long;
        if is_long {
            (tallies, _) = tally(&[least, budget.most_repeats()])?;
        }
        if !is_long || tallies.values().any(|tally| tally.between > 0 && tally.failed == 0) {
            let repeats = budget.repeats()?;
            // Where nothing repeats, that is what has been judged.
            if is_long || repeats > least {
                (tallies, _) = tally(&[repeats])?;
            }
        }
    }
    leave_open(&mut tallies, largest_z);
    Ok(tallies)
}

/// Leaves to the truth what passes, where |ΔA| may be more than the truth takes.
pub fn leave_open<N: Ord + Copy>(tallies: &mut Named<QuickTally, N>, largest_z: f64) {
    for (_, tally) in tallies.iter_mut().filter(|_| largest_z >= LARGEST_Z) {
        *tally = QuickTally { passed: 0, open: tally.passed + tally.open, ..*tally };
    }
}

/// What is tried first, as if nothing repeated; and the largest |ΔA|, infinite at a pole. Where that settles the channel
/// ([`is_settled`]), it is all that [`judge_stretches`] says.
pub fn first_try<I: Inputs>(
    (form, contract): (impl Into<Form>, &Contract),
    inputs: &I,
    (batch, channel): (usize, usize),
    got: &Got<I::Error>,
) -> Result<(Named<QuickTally>, f64), I::Error> {
    let budget = ChannelBudget::new(form, inputs, (batch, channel), contract);
    let row = batch * inputs.outline().shape.dim + channel;
    tally((&budget, inputs), row, got, &[budget.directions()])
}

/// Whether nothing else has to be tried.
pub fn is_settled<'a>(tallies: impl IntoIterator<Item = &'a QuickTally>, largest_z: f64) -> bool {
    largest_z < LARGEST_Z && tallies.into_iter().all(|tally| tally.passed == tally.elements())
}

/// One walk, with the bounds for the least and the largest count of repeats that there may be.
fn tally<I: Inputs>(
    (budget, inputs): (&ChannelBudget<I>, &I),
    row: usize,
    got: &Got<I::Error>,
    repeats: &[f64],
) -> Result<(Named<QuickTally>, f64), I::Error> {
    let outline = inputs.outline();
    let mut tallies: Named<QuickTally> = Named::default();
    let largest_z = budget.walk(repeats, |name, first, bounds| {
        let (least, most) = (&bounds[0], &bounds[bounds.len() - 1]);
        let Some(values) = got(name, first..first + least.bound.len())? else { return Ok(()) };
        let (_, width, element) = outline.layout(name);
        let format = Format::for_input(element);
        let mut tally = tallies.get(name).copied().unwrap_or_default();
        for (i, (&value, &want)) in values.iter().zip(&least.value).enumerate() {
            let at = i / width;
            let elements = [least, most].map(|bounds| {
                let (bound, store) = (bounds.bound[at], bounds.store[at]);
                Element { got: f64::from(value), want, bound, store }
            });
            let worst_case = least.worst_case[at];
            tally.add((row, first * width + i), elements, (worst_case, RADIUS * worst_case), format);
        }
        tallies.insert(name, tally);
        Ok(())
    })?;
    Ok((tallies, largest_z))
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

//! Ā and B̄ of a [`Variant`], in f64: accurate to 1e-12 wherever an f32 kernel's result means anything.

use num_complex::Complex64;

use super::around::{FoundTerm, Limited, limited};
use super::complex::{Division, OfComplex, Powers, Way};
use super::variant::{BUse, Inverse, Power, Sum, Variant};
use crate::formula::{Form, Formula, Fraction, Function, OFFSETS, Term, Transition};
use crate::judge::model;
use crate::method::Method;
use crate::problem::InputType;
use crate::promise::allowance::{COEFFICIENT, U};

/// A value and a bound on what a sound f32 computation of the same formula may be off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounded {
    pub value: Complex64,
    pub error: f64,
}

impl Bounded {
    /// Rounded to a type. What lies next to a tie may be rounded either way: both ways are within the error.
    #[inline]
    pub fn rounded(self, to: InputType) -> Self {
        if to == InputType::F32 { self } else { self.rounded_to(to) }
    }

    fn rounded_to(self, to: InputType) -> Self {
        let part = |x: f64| {
            let round = |x: f64| f64::from(to.round(x as f32));
            let [least, value, most] = [x - self.error, x, x + self.error].map(round);
            (value, (most - value).max(value - least))
        };
        let ((re, of_re), (im, of_im)) = (part(self.value.re), part(self.value.im));
        Bounded { value: Complex64::new(re, im), error: of_re.hypot(of_im) }
    }

    /// Multiplied with a number that rounds nothing.
    #[inline]
    pub fn scaled(self, factor: f64) -> Self {
        Bounded { value: self.value * factor, error: self.error * factor.abs() }
    }
}

/// B̄u = (first·u + higher·u′ + neighbour·u″)·B: u′ is u unless a fault drops it, u″ the input at
/// `offset` positions from here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    pub first: Complex64,
    pub higher: Complex64,
    pub neighbour: Complex64,
    pub offset: isize,
    /// Relative to the sum of the terms' moduli.
    pub error: f64,
}

impl Power {
    /// What takes the place of `delta`.
    pub fn of(self, delta: f64) -> f64 {
        match self {
            Power::One => delta,
            Power::Missing => 1.0,
            Power::Doubled => 2.0 * delta,
            Power::Squared => delta * delta,
        }
    }
}

/// |x|, a little faster than by `hypot`: squares of what f32 can hold are far from the limits of f64.
#[inline]
pub fn modulus(x: Complex64) -> f64 {
    if x.im == 0.0 { x.re.abs() } else { x.norm_sqr().sqrt() }
}

/// How much a relative change of z moves (1 ± αz)⁻¹, relative.
#[inline]
fn conditioning(alpha: Fraction, z: Complex64) -> f64 {
    let share = z * alpha.value();
    modulus(share) * (1.0 / modulus(1.0 - share) + 1.0 / modulus(1.0 + share))
}

/// Σ_{k ≤ most} xᵏ, which (1 − x)⁻¹ is cut to, and how much a relative change of x moves it, relative.
fn geometric(x: Complex64, most: u32) -> (Complex64, f64) {
    let sum: Complex64 = (0..=most).map(|k| x.powu(k)).sum();
    let moved: f64 = (0..=most).map(|k| f64::from(k + 1) * modulus(x).powi(k as i32)).sum();
    (sum, moved / modulus(sum).max(f64::MIN_POSITIVE))
}

impl Inverse {
    /// What stands for (1 − αz)⁻¹ where its series is cut.
    fn cut(self, share: Complex64) -> Option<(Complex64, f64)> {
        match self {
            Inverse::Cut(most) => Some(geometric(share, most)),
            Inverse::CutAlternating(most) => Some(geometric(-share, most)),
            _ => None,
        }
    }
}

/// The coefficients of a variant, with all of them that no step changes.
pub struct Coefficients<'v> {
    variant: &'v Variant,
    transition: Transition,
    /// Of B̄, and of B̄ where a guard does not select that.
    of_b_bar: Formula,
    of_a_bar: Formula,
    /// The leading orders of both.
    leading: [i32; 2],
    /// α of B̄'s pole.
    pole: Fraction,
    takes_phis: bool,
}

impl<'v> Coefficients<'v> {
    pub fn new(variant: &'v Variant) -> Self {
        let (of_b_bar, of_a_bar) = (variant.b_bar.formula(), variant.a_bar.formula());
        let is_phi = |term: &Term| matches!(term.of, Function::Phi(_));
        let takes_phis = |formula: &Formula| formula.b_bar.into_iter().flatten().any(is_phi);
        let found = variant.found.iter().flatten().flatten();
        Coefficients {
            variant,
            transition: variant.transition.unwrap_or(of_a_bar.a_bar),
            of_b_bar,
            of_a_bar,
            leading: [of_b_bar.leading_order(), of_a_bar.leading_order()],
            pole: of_b_bar.pole().unwrap_or(Fraction::HALF),
            takes_phis: takes_phis(&of_b_bar)
                || variant.other_below != f64::INFINITY && takes_phis(&of_a_bar)
                || found.map(|found| &found.term).any(is_phi),
        }
    }

    /// φ₀…φ₃ that B̄ takes at each of these steps of one A; nothing has a meaning where no term takes any.
    pub fn phis(&self, steps: &[(f64, f64)], a: Complex64) -> Vec<[Complex64; 4]> {
        if !self.takes_phis {
            return vec![[Complex64::ZERO; 4]; steps.len()];
        }
        let z: Vec<Complex64> = steps.iter().map(|(delta, _)| self.argument(*delta, a)).collect();
        model::phi_of_each(&z)
    }

    /// What B̄'s functions are taken of.
    fn argument(&self, delta: f64, a: Complex64) -> Complex64 {
        let is_found = self.variant.found.is_some() && is_other(self.variant, delta, a);
        if is_found { a * delta } else { within(a * delta, self.variant.limits[Limited::OfBBar as usize]) }
    }

    /// Ā for the step `delta`, known to `delta_error`.
    ///
    /// The bound is the contract on coefficients plus the conditioning of the formula for a z that is off by
    /// `delta_error` and one rounding, to first order ([`crate::judge::model::step`] has the derivation).
    #[inline]
    pub fn a_bar(&self, delta: f64, delta_error: f64, a: Complex64) -> Bounded {
        let variant = self.variant;
        let z = match variant.a_bar_delta_parts {
            [Power::One, Power::One] => a * variant.a_bar_delta.of(delta),
            [re, im] => Complex64::new(a.re * re.of(delta), a.im * im.of(delta)),
        };
        let z = within(z, variant.limits[Limited::OfABar as usize]);
        let theta = U + 2.0 * delta_error;
        let (value, relative) = match self.transition {
            Transition::Quotient(alpha) => {
                let (above, below) = (1.0 + z * alpha.complement().value(), 1.0 - z * alpha.value());
                let value = match variant.a_bar_inverse {
                    Inverse::Right => above / below,
                    Inverse::WrongFactor => below / above,
                    Inverse::None => above,
                    cut => above * cut.cut(z * alpha.value()).map_or(Complex64::ONE, |(sum, _)| sum),
                };
                let relative = match variant.a_bar_inverse.cut(z * alpha.value()) {
                    Some((_, moved)) => moved + conditioning(alpha.complement(), -z),
                    None => conditioning(alpha, z),
                };
                (value * variant.divisions.in_a_bar.ratio(below, delta), relative)
            }
            Transition::Polynomial(factors) => {
                let value: Complex64 = (0..).zip(factors).map(|(k, c)| z.powu(k) * c.value()).sum();
                // Cancellation: the terms' moduli, and their changes with z, against their sum.
                let term = |(k, c): (i32, &Fraction)| f64::from(k + 1) * c.value().abs() * modulus(z).powi(k);
                let size: f64 = (0..).zip(factors).map(term).sum();
                (value, size / modulus(value).max(f64::MIN_POSITIVE))
            }
            Transition::Exponential => {
                let real = if variant.grows { z.re } else { z.re.min(0.0) };
                let exponent = Complex64::new(real * variant.exponent.0, z.im * variant.exponent.1);
                (exp(exponent), modulus(exponent))
            }
        };
        let error = modulus(value) * (COEFFICIENT + relative * theta);
        Bounded { value: variant.ways[Way::ABar as usize].of(value), error }
    }

    /// The terms of B̄/B for the step `delta`, known to `delta_error`, of [`Coefficients::phis`] there.
    #[inline]
    pub fn terms(&self, (delta, delta_error): (f64, f64), a: Complex64, mut phis: [Complex64; 4]) -> Terms {
        let variant = self.variant;
        let z = within(a * delta, variant.limits[Limited::OfBBar as usize]);
        let (form, formula, leading, taylor) = match is_other(variant, delta, a) {
            true => (variant.b_bar, &self.of_b_bar, self.leading[0], variant.taylor),
            false => (variant.a_bar, &self.of_a_bar, self.leading[1], None),
        };
        if let Some(count) = taylor {
            phis[1..].iter_mut().zip(1..).for_each(|(phi, k)| *phi = series(z, k, count));
        }
        if let Some(asymptote) = variant.asymptote {
            let is_it = |k: usize| asymptote.of_phi.is_none_or(|only| only == k);
            (1..4).filter(|k| is_it(*k)).for_each(|k| phis[k] = asymptote.of(k, z));
        }
        let exponential = phis[0];
        if let Some(sums) = variant.partial_sums {
            (1..4).filter(|k| sums.changes(*k)).for_each(|k| phis[k] += sums.added(k, z, exponential));
        }
        let cut = taylor.map_or(usize::MAX, |count| count as usize);
        let divided = variant.divisions.in_b_bar;
        let function = |of| match (of, variant.b_bar_inverse) {
            (Function::Power(k), _) if k >= cut => Complex64::ZERO,
            (Function::Resolvent(alpha), Inverse::WrongFactor) => 1.0 / (1.0 + z * alpha.value()),
            (Function::Resolvent(_), Inverse::None) => Complex64::ONE,
            (Function::Resolvent(alpha), Inverse::Cut(_) | Inverse::CutAlternating(_)) => {
                variant.b_bar_inverse.cut(z * alpha.value()).map_or(Complex64::ONE, |(sum, _)| sum)
            }
            (Function::Resolvent(alpha), _) if divided != Division::Right => {
                model::function(of, z, &phis) * divided.ratio(1.0 - z * alpha.value(), delta)
            }
            (Function::Power(k @ 2..), _) if variant.powers != Powers::RIGHT => variant.powers.power(z, k),
            (Function::Phi(k @ 2..), _) if variant.powers != Powers::RIGHT => {
                model::function(of, z, &phis) * z.powu(k as u32) / variant.powers.power(z, k)
            }
            (Function::Phi(k @ 1..), _) if divided != Division::Right => {
                let is_it = variant.divisions.of_phi.is_none_or(|only| only == k);
                let ratio = if is_it { divided.ratio(a, delta).powu(k as u32) } else { Complex64::ONE };
                model::function(of, z, &phis) * ratio
            }
            _ => model::function(of, z, &phis),
        };
        let value = |term: &Term| {
            let changed = variant.sum.change(form, *term);
            changed.map_or(Complex64::ZERO, |t| function(t.of) * (t.factor.value() * power(delta, t.delta)))
        };
        let mut t = Terms { offset: -1, ..Terms::default() };
        for term in formula.now() {
            let higher = term.order() > leading;
            *if higher { &mut t.higher } else { &mut t.first } += value(term);
        }
        for (terms, offset) in formula.b_bar.into_iter().zip(OFFSETS).skip(1).filter(|(t, _)| !t.is_empty()) {
            (t.neighbour, t.offset) = (terms.iter().map(value).sum(), offset);
        }
        let factor = match variant.b_bar_delta {
            Power::One => 1.0,
            Power::Missing if delta == 0.0 => 0.0,
            Power::Missing => 1.0 / delta,
            Power::Doubled => 2.0,
            Power::Squared => delta,
        };
        let way = variant.ways[Way::BBar as usize];
        if way != OfComplex::Given {
            // Of the whole sum, as u multiplies it.
            (t.first, t.higher) = (way.of(t.first + t.higher), Complex64::ZERO);
            t.neighbour = way.of(t.neighbour);
        }
        for term in [&mut t.first, &mut t.higher, &mut t.neighbour] {
            *term *= factor;
        }
        let limits = variant.limits[Limited::BBar as usize];
        if limits != NO_LIMITS {
            (t.first, t.higher) = (in_parts(t.first + t.higher, limits), Complex64::ZERO);
        }
        t.error = self.error(delta_error, z);
        if let Some(sums) = variant.partial_sums {
            let lost = |term: &Term| match term.of {
                Function::Phi(k @ 1..) if sums.changes(k) => sums.lost(term, k, delta, (z, exponential)),
                _ => 0.0,
            };
            let lost: f64 = formula.b_bar.into_iter().flatten().map(lost).sum();
            let size = [t.first, t.higher, t.neighbour].into_iter().map(modulus).sum::<f64>();
            t.error += lost * factor.abs() / size.max(f64::MIN_POSITIVE);
        }
        t
    }

    /// Σ factor·Δᵖ f(z) Bᵇ uʷ of terms that were found; the sum of their moduli, and the error relative to that.
    #[inline]
    pub fn found(
        &self,
        terms: &[Option<FoundTerm>],
        (delta, delta_error): (f64, f64),
        (a, b): (Complex64, Complex64),
        u_at: impl Fn(isize) -> f64,
        phis: &[Complex64; 4],
    ) -> (Complex64, f64, f64) {
        let z = a * delta;
        let (mut sum, mut size) = (Complex64::ZERO, 0.0);
        for FoundTerm { term, b: of_b, u: of_u, offset } in terms.iter().flatten() {
            let value = model::function(term.of, z, phis) * (term.factor.value() * power(delta, term.delta));
            let part = value * b.powu(u32::from(*of_b)) * u_at(*offset).powi(i32::from(*of_u));
            sum += part;
            size += modulus(part);
        }
        (sum, size, self.error(delta_error, z))
    }

    /// The error of a sum of terms relative to the sum of their moduli: powers of Δ up to the sixth, and a φ whose logarithm
    /// moves by at most about |z| + 3 times that of z.
    fn error(&self, delta_error: f64, z: Complex64) -> f64 {
        let of_inverse = match self.variant.b_bar_inverse.cut(z * self.pole.value()) {
            Some((_, moved)) => moved,
            None => conditioning(self.pole, z),
        };
        COEFFICIENT + (U + delta_error) * (9.0 + modulus(z) + of_inverse)
    }
}

/// eᶻ, without an angle where there is none.
fn exp(z: Complex64) -> Complex64 {
    let size = z.re.exp();
    if z.im == 0.0 && size.is_finite() { Complex64::new(size, z.im) } else { z.exp() }
}

/// [`Coefficients::a_bar`] of one step.
pub fn a_bar(variant: &Variant, delta: f64, delta_error: f64, a: Complex64) -> Bounded {
    Coefficients::new(variant).a_bar(delta, delta_error, a)
}

/// Σ_{i < terms} zⁱ/(i + k)!, φₖ's own series
fn series(z: Complex64, k: u32, terms: u32) -> Complex64 {
    let mut term = Complex64::from(1.0 / (1..=k).map(f64::from).product::<f64>());
    let mut sum = Complex64::ZERO;
    for i in 0..terms {
        sum += term;
        term *= z / f64::from(i + 1 + k);
    }
    sum
}

/// xᵏ, as `powi` has it: the powers that Δ has are products.
#[inline]
fn power(x: f64, k: i32) -> f64 {
    match k {
        1 => x,
        2 => x * x,
        3 => x * (x * x),
        k => x.powi(k),
    }
}

impl Sum {
    /// A term of B̄ as it is summed; none where it is left out.
    #[inline]
    fn change(self, form: Form, term: Term) -> Option<Term> {
        if self == Sum::Right { Some(term) } else { self.wrong(form, term) }
    }

    fn wrong(self, form: Form, term: Term) -> Option<Term> {
        let poly = form == Form::Method(Method::Poly);
        let high_order = form == Form::Method(Method::HighOrder);
        Some(match (self, term.of, term.delta) {
            (Sum::Cut(i), Function::Phi(k), _) if high_order && k > i as usize + 1 => return None,
            (Sum::WithoutFactorials, ..) if high_order => Term { factor: Fraction::ONE, ..term },
            (Sum::PolyShare(share), Function::Phi(2), _) if poly => Term { factor: share, ..term },
            (Sum::Powers(delta, _), Function::Phi(2), 2) | (Sum::Powers(_, delta), Function::Phi(3), 3) => {
                Term { delta, ..term }
            }
            _ => term,
        })
    }
}

/// Whether B̄ is the one that a guard selects.
#[inline]
pub fn is_other(variant: &Variant, delta: f64, a: Complex64) -> bool {
    variant.other_below == f64::INFINITY || variant.guarded.of(delta, a) < variant.other_below
}

/// The terms of B̄/B for the step `delta`, known to `delta_error`.
pub fn terms(variant: &Variant, delta: f64, delta_error: f64, a: Complex64) -> Terms {
    let z = within(a * delta, variant.limits[Limited::OfBBar as usize]);
    Coefficients::new(variant).terms((delta, delta_error), a, model::phi(z))
}

const NO_LIMITS: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// With its real part within limits.
#[inline]
fn within(z: Complex64, limits: (f64, f64)) -> Complex64 {
    Complex64::new(limited(limits, z.re), z.im)
}

/// With both parts within limits.
#[inline]
pub fn in_parts(x: Complex64, limits: (f64, f64)) -> Complex64 {
    Complex64::new(limited(limits, x.re), if x.im == 0.0 { 0.0 } else { limited(limits, x.im) })
}

/// B as it is applied.
#[inline]
pub fn used(b_use: BUse, b: Complex64) -> Complex64 {
    match b_use {
        BUse::Once => b,
        BUse::Twice => b * b,
        BUse::Never => Complex64::ONE,
        BUse::Conjugated => b.conj(),
        BUse::RealPart => b.re.into(),
        BUse::Negated => -b,
        // What takes more than one number is not decided here.
        BUse::Normalized | BUse::RmsNormalized | BUse::Softmax | BUse::Exchanged => b,
    }
}

//! What each method and each textbook form computes, as data: the kind of its Ā, and every B̄ as a list of terms
//! c·Δᵖ·f(z) (spec.md §2). Whatever can be derived of a formula is: its value, its derivatives and its error, the exact
//! numbers it takes, where it has a pole, how it changes with the unit of time. Nothing here computes.
//!
//! It is one statement among several, on purpose. The truth's literal route ([`crate::truth::literal`]), the reference
//! path and the kernels each have their own, written without this one, so that a mistake in any of them shows.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use self::Function::{Phi, Power, Resolvent};
use crate::method::Method;
use crate::named::UnknownName;

named! {
    /// A form that textbooks have and production kernels do not, by its name in spec.md §2, "Textbook forms".
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Textbook {
        /// B̄ = Δ φ₁ B
        ZohExact => "zoh-exact",
        /// x_l = eᶻ x_{l−1} + Δ [(φ₁ − φ₂) B u_l + φ₂ B u_{l+1}]; past the end the input is held: u_L = u_{L−1}.
        FohTextbook => "foh-textbook",
        /// Ā = Σ_{k≤4} zᵏ/k!, B̄ as `rk4`.
        Rk4Classical => "rk4-classical",
        /// `bilinear` with the input (u_{l−1} + u_l)/2, u_{−1} = 0.
        BilinearAveraged => "bilinear-averaged",
        /// x_l = eᶻ x_{l−1} + ½ Δ (eᶻ B u_{l−1} + B u_l), u_{−1} = 0; B is the one at position l in both terms.
        ExpTrapezoidal => "exp-trapezoidal",
        /// `foh-textbook` over the step that ends at l: x_l = eᶻ x_{l−1} + Δ [φ₂ B u_l + (φ₁ − φ₂) B u_{l−1}], u_{−1} = 0.
        /// SciPy's and MATLAB's foh.
        FohCausal => "foh-causal",
        /// Ā = 1 + z, B̄ = ΔB: the forward rule.
        Euler => "euler",
        /// Ā = (1 − z)⁻¹, B̄ = (1 − z)⁻¹ΔB.
        BackwardEuler => "backward-euler",
    }
}

/// Anything that has a formula, methods first. In results it stands as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Form {
    Method(Method),
    Textbook(Textbook),
}

/// A number, exactly: the first divided by the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fraction(pub i32, pub u32);

impl Fraction {
    pub const ONE: Fraction = Fraction(1, 1);
    pub const HALF: Fraction = Fraction(1, 2);

    #[inline]
    pub fn value(self) -> f64 {
        f64::from(self.0) / f64::from(self.1)
    }

    /// 1 − α
    #[inline]
    pub fn complement(self) -> Self {
        Fraction(self.1 as i32 - self.0, self.1)
    }
}

/// A function of z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// φₖ (spec.md §1); φ₀ is the exponential.
    Phi(usize),
    /// zᵏ
    Power(usize),
    /// (I − αz)⁻¹
    Resolvent(Fraction),
}

impl Function {
    /// The coefficient of zᵏ in its series.
    pub fn coefficient(self, k: usize) -> f64 {
        match self {
            Phi(j) => inverse_factorial(j + k),
            Power(j) => f64::from(u8::from(j == k)),
            Resolvent(alpha) => alpha.value().powi(k as i32),
        }
    }
}

fn inverse_factorial(n: usize) -> f64 {
    (1..=n).fold(1.0, |inverse, i| inverse / i as f64)
}

/// factor·Δᵖ·f(z), which multiplies B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    pub factor: Fraction,
    /// p
    pub delta: i32,
    pub of: Function,
}

impl Term {
    /// The power of Δ that it starts with as Δ → 0.
    #[inline]
    pub fn order(&self) -> i32 {
        match self.of {
            Phi(_) | Resolvent(_) => self.delta,
            Power(k) => self.delta + k as i32,
        }
    }
}

/// The kind of Ā.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// eᶻ
    Exponential,
    /// (I − αz)⁻¹(I + (1 − α)z)
    Quotient(Fraction),
    /// Σ cₖ zᵏ
    Polynomial(&'static [Fraction]),
}

/// x_l = Ā x_{l−1} + Σⱼ B̄ⱼ u_{l+j}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formula {
    pub a_bar: Transition,
    /// B̄ⱼ for each j of [`OFFSETS`]; empty where that input is not read.
    pub b_bar: [&'static [Term]; 3],
    /// Whether the scan runs in both directions and averages (spec.md §2: `poly` alone).
    pub bidirectional: bool,
}

/// Which inputs a step may read: u_l, u_{l−1} and u_{l+1}.
pub const OFFSETS: [isize; 3] = [0, -1, 1];

/// What a formula gives at one step: Ā, then the coefficients of u_l, u_{l−1} and u_{l+1} as far as it has them.
pub type Panels<V> = [Option<V>; 4];

impl Formula {
    /// What multiplies u_l.
    #[inline]
    pub fn now(&self) -> &'static [Term] {
        self.b_bar[0]
    }

    /// Whether a step reads u_l alone.
    pub const fn reads_now_alone(&self) -> bool {
        self.b_bar[1].is_empty() && self.b_bar[2].is_empty()
    }

    #[inline]
    fn functions(&self) -> impl Iterator<Item = Function> {
        self.b_bar.into_iter().flatten().map(|term| term.of)
    }

    /// How many of φ₁, φ₂, φ₃ it takes.
    #[inline]
    pub fn phis(&self) -> usize {
        let phi = |of| if let Phi(k) = of { k } else { 0 };
        self.functions().map(phi).max().unwrap_or(0)
    }

    /// α where it divides by I − αz, with a pole at z = 1/α.
    #[inline]
    pub fn pole(&self) -> Option<Fraction> {
        let resolvent = |of| if let Resolvent(alpha) = of { Some(alpha) } else { None };
        match self.a_bar {
            Transition::Quotient(alpha) => Some(alpha),
            _ => self.functions().find_map(resolvent),
        }
    }

    /// Whether it is a rational function of Δ, A and B: without eᶻ and φ-functions.
    #[inline]
    pub fn is_rational(&self) -> bool {
        self.a_bar != Transition::Exponential && !self.functions().any(|of| matches!(of, Phi(_)))
    }

    /// The power of Δ with which B̄ vanishes as Δ → 0.
    #[inline]
    pub fn leading_order(&self) -> i32 {
        self.now().iter().map(Term::order).min().unwrap_or(0)
    }

    /// B̄/(ΔB) in the limit of Δ → 0, of all inputs together.
    pub fn limit(&self) -> f64 {
        self.at_order(1, 1)
    }

    /// What multiplies Δᵐ of all that B̄ is in Δᵖ f(z) B, by A's power m − p.
    fn at_order(&self, m: i32, p: i32) -> f64 {
        let terms = self.b_bar.into_iter().flatten().filter(|term| term.delta == p && p <= m);
        terms.map(|term| term.factor.value() * term.of.coefficient((m - p) as usize)).sum()
    }

    /// The order of the error for constant input: a step differs from eᶻ or from Δφ₁(z)B, all inputs together, from one
    /// power of Δ more on. None for an exact form.
    pub fn order(&self) -> Option<i32> {
        let a_bar = |m: usize| match self.a_bar {
            Transition::Exponential => inverse_factorial(m),
            Transition::Quotient(_) if m == 0 => 1.0,
            Transition::Quotient(alpha) => alpha.value().powi(m as i32 - 1),
            Transition::Polynomial(factors) => factors.get(m).map_or(0.0, |factor| factor.value()),
        };
        let differ = |x: f64, y: f64| (x - y).abs() > f64::EPSILON;
        (0..8).find(|&order| {
            let m = order + 1;
            let exact = inverse_factorial(m as usize);
            differ(a_bar(m as usize), exact)
                || (1..=m).any(|p| differ(self.at_order(m, p), if p == 1 { exact } else { 0.0 }))
        })
    }

    /// The powers of s by which the terms of B̄u grow under (A, B, Δ) → (A/s, B/s, sΔ), each once, ascending: z stays.
    pub fn powers_of_time(&self) -> Vec<i32> {
        let mut powers: Vec<i32> = self.b_bar.into_iter().flatten().map(|term| term.delta - 1).collect();
        powers.sort_unstable();
        powers.dedup();
        powers
    }
}

use Fraction as F;

const fn term(factor: Fraction, delta: i32, of: Function) -> Term {
    Term { factor, delta, of }
}

const HELD: &[Term] = &[term(F::ONE, 1, Power(0))];
const HALF_HELD: &[Term] = &[term(F::HALF, 1, Power(0))];
const HALF_EXPONENTIAL: &[Term] = &[term(F::HALF, 1, Phi(0))];
const RESOLVED: &[Term] = &[term(F::ONE, 1, Resolvent(F::HALF))];
const HALF_RESOLVED: &[Term] = &[term(F::HALF, 1, Resolvent(F::HALF))];
const BACKWARD: &[Term] = &[term(F::ONE, 1, Resolvent(F::ONE))];
const FIRST: &[Term] = &[term(F::ONE, 1, Phi(1))];
const SECOND: &[Term] = &[term(F::ONE, 1, Phi(2))];
const FIRST_LESS_SECOND: &[Term] = &[term(F::ONE, 1, Phi(1)), term(F(-1, 1), 1, Phi(2))];
const FOH: &[Term] = &[term(F::ONE, 2, Phi(2))];
const POLY: &[Term] = &[term(F::ONE, 1, Phi(1)), term(F::HALF, 2, Phi(2))];
const HIGH_ORDER: &[Term] = &[term(F::ONE, 1, Phi(1)), term(F::ONE, 2, Phi(2)), term(F::HALF, 3, Phi(3))];
const RUNGE_KUTTA: &[Term] = &[
    term(F::ONE, 1, Power(0)),
    term(F::HALF, 1, Power(1)),
    term(F(1, 6), 1, Power(2)),
    term(F(1, 24), 1, Power(3)),
];
/// 1 + z
const LINEAR: Transition = Transition::Polynomial(&[F::ONE, F::ONE]);
/// Σ_{k≤4} zᵏ/k!
const CUT: Transition = Transition::Polynomial(&[F::ONE, F::ONE, F::HALF, F(1, 6), F(1, 24)]);

impl Form {
    /// How many there are: what is laid out by form takes its length from here.
    pub const COUNT: usize = Method::ALL.len() + Textbook::ALL.len();

    pub fn all() -> impl Iterator<Item = Form> {
        Method::ALL.into_iter().map(Form::Method).chain(Textbook::ALL.into_iter().map(Form::Textbook))
    }

    /// Its place among [`Form::all`].
    pub fn index(self) -> usize {
        match self {
            Form::Method(method) => method as usize,
            Form::Textbook(textbook) => Method::ALL.len() + textbook as usize,
        }
    }

    /// The method that it is; none for a textbook form, which no kernel here computes.
    pub fn method(self) -> Option<Method> {
        if let Form::Method(method) = self { Some(method) } else { None }
    }

    /// Every name, for texts: `zoh, foh, …`.
    pub fn names() -> String {
        Form::all().map(Form::name).collect::<Vec<_>>().join(", ")
    }

    /// Whether the scan runs in both directions and averages.
    pub fn is_bidirectional(self) -> bool {
        self.formula().bidirectional
    }

    pub fn name(self) -> &'static str {
        match self {
            Form::Method(method) => method.name(),
            Form::Textbook(textbook) => textbook.name(),
        }
    }

    /// The formula, by φ-functions (spec.md §2).
    pub const fn formula(self) -> Formula {
        use Transition::{Exponential, Quotient};
        const fn formula(a_bar: Transition, b_bar: [&'static [Term]; 3]) -> Formula {
            Formula { a_bar, b_bar, bidirectional: false }
        }
        const fn causal(a_bar: Transition, now: &'static [Term]) -> Formula {
            formula(a_bar, [now, &[], &[]])
        }
        let tustin = Quotient(F::HALF);
        match self {
            Form::Method(method) => match method {
                Method::Zoh => causal(Exponential, HELD),
                Method::Foh => causal(Exponential, FOH),
                Method::Bilinear => causal(tustin, RESOLVED),
                Method::Poly => Formula { bidirectional: true, ..causal(Exponential, POLY) },
                Method::HighOrder => causal(Exponential, HIGH_ORDER),
                Method::Rk4 => causal(Exponential, RUNGE_KUTTA),
            },
            Form::Textbook(textbook) => match textbook {
                Textbook::ZohExact => causal(Exponential, FIRST),
                Textbook::FohTextbook => formula(Exponential, [FIRST_LESS_SECOND, &[], SECOND]),
                Textbook::Rk4Classical => causal(CUT, RUNGE_KUTTA),
                Textbook::BilinearAveraged => formula(tustin, [HALF_RESOLVED, HALF_RESOLVED, &[]]),
                Textbook::ExpTrapezoidal => formula(Exponential, [HALF_HELD, HALF_EXPONENTIAL, &[]]),
                Textbook::FohCausal => formula(Exponential, [SECOND, FIRST_LESS_SECOND, &[]]),
                Textbook::Euler => causal(LINEAR, HELD),
                Textbook::BackwardEuler => causal(Quotient(F::ONE), BACKWARD),
            },
        }
    }
}

impl Method {
    pub fn formula(self) -> Formula {
        Form::from(self).formula()
    }

    /// Whether the scan runs in both directions and averages.
    pub fn is_bidirectional(self) -> bool {
        Form::from(self).is_bidirectional()
    }
}

/// A form that reads u_l alone. The truth and the bounds of gradients sum no other terms, and of another form would agree on the
/// same wrong numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadsNow(Form);

/// A form without gradients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "gradients are asked for of {0}, which reads u_{{l−1}} or u_{{l+1}}, expected a form that reads u_l alone \
     (hint: its outputs can be judged)"
)]
pub struct ReadsNeighbours(pub Form);

const _: () = {
    let mut i = 0;
    while i < Method::ALL.len() {
        let formula = Form::Method(Method::ALL[i]).formula();
        assert!(formula.reads_now_alone(), "a method reads more than u_l, of which no gradient is computed");
        i += 1;
    }
};

impl From<Method> for ReadsNow {
    fn from(method: Method) -> Self {
        ReadsNow(method.into())
    }
}

impl TryFrom<Form> for ReadsNow {
    type Error = ReadsNeighbours;

    fn try_from(form: Form) -> Result<Self, ReadsNeighbours> {
        if form.formula().reads_now_alone() { Ok(ReadsNow(form)) } else { Err(ReadsNeighbours(form)) }
    }
}

impl Deref for ReadsNow {
    type Target = Form;

    fn deref(&self) -> &Form {
        &self.0
    }
}

impl PartialEq<Method> for Form {
    fn eq(&self, other: &Method) -> bool {
        *self == Form::Method(*other)
    }
}

impl PartialEq<Form> for Method {
    fn eq(&self, other: &Form) -> bool {
        other == self
    }
}

impl FromStr for Form {
    type Err = UnknownName;

    /// Reads a name; an id would be a second way to say the same.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownName { noun: "method", found: text.to_owned(), known: Form::names() };
        Form::all().find(|form| form.name() == text).ok_or_else(unknown)
    }
}

impl TryFrom<String> for Form {
    type Error = UnknownName;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse()
    }
}

impl From<Form> for String {
    fn from(form: Form) -> Self {
        form.name().to_owned()
    }
}

impl From<Method> for Form {
    fn from(method: Method) -> Self {
        Form::Method(method)
    }
}

impl From<Textbook> for Form {
    fn from(textbook: Textbook) -> Self {
        Form::Textbook(textbook)
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

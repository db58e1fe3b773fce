//! The textbook forms that reports set beside the methods (spec.md §2, "Textbook forms").

use std::fmt;
use std::str::FromStr;

use crate::method::Method;

/// A discretization as textbooks have it, known to the truth alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Textbook {
    /// B̄ = Δ φ₁ B
    ZohExact,
    /// x_l = eᶻ x_{l−1} + Δ [(φ₁ − φ₂) B u_l + φ₂ B u_{l+1}]; past the end the input is held: u_L = u_{L−1}.
    FohTextbook,
    /// Ā = Σ_{k≤4} zᵏ/k!, B̄ as `rk4`.
    Rk4Classical,
    /// `bilinear` with the input (u_{l−1} + u_l)/2, u_{−1} = 0.
    BilinearAveraged,
    /// x_l = eᶻ x_{l−1} + ½ Δ (eᶻ B u_{l−1} + B u_l), u_{−1} = 0; B is the one at position l in both terms.
    ExpTrapezoidal,
}

impl Textbook {
    pub const ALL: [Textbook; 5] = [
        Textbook::ZohExact,
        Textbook::FohTextbook,
        Textbook::Rk4Classical,
        Textbook::BilinearAveraged,
        Textbook::ExpTrapezoidal,
    ];

    /// The name in spec.md §2.
    pub fn name(self) -> &'static str {
        match self {
            Textbook::ZohExact => "zoh-exact",
            Textbook::FohTextbook => "foh-textbook",
            Textbook::Rk4Classical => "rk4-classical",
            Textbook::BilinearAveraged => "bilinear-averaged",
            Textbook::ExpTrapezoidal => "exp-trapezoidal",
        }
    }
}

/// Anything the truth can discretize by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    Method(Method),
    Textbook(Textbook),
}

impl Form {
    pub fn all() -> impl Iterator<Item = Form> {
        Method::ALL.into_iter().map(Form::Method).chain(Textbook::ALL.into_iter().map(Form::Textbook))
    }

    pub fn name(self) -> &'static str {
        match self {
            Form::Method(method) => method.name(),
            Form::Textbook(textbook) => textbook.name(),
        }
    }

    /// Whether Ā or B̄ needs eᶻ or a φ-function; the rest are rational functions of Δ, A and B.
    pub fn is_rational(self) -> bool {
        match self {
            Form::Method(Method::Bilinear)
            | Form::Textbook(Textbook::Rk4Classical | Textbook::BilinearAveraged) => true,
            Form::Method(Method::Zoh | Method::Foh | Method::Poly | Method::HighOrder | Method::Rk4)
            | Form::Textbook(Textbook::ZohExact | Textbook::FohTextbook | Textbook::ExpTrapezoidal) => false,
        }
    }

    /// Whether B̄ (not Ā) is a rational function of Δ, A and B.
    pub fn input_is_rational(self) -> bool {
        match self {
            Form::Method(Method::Zoh | Method::Bilinear | Method::Rk4) => true,
            Form::Method(Method::Foh | Method::Poly | Method::HighOrder) => false,
            Form::Textbook(_) => self.is_rational(),
        }
    }

    pub(super) fn is_bidirectional(self) -> bool {
        matches!(self, Form::Method(method) if method.is_bidirectional())
    }

    pub(super) fn has_pole(self) -> bool {
        match self {
            Form::Method(Method::Bilinear) => true,
            Form::Method(Method::Zoh | Method::Foh | Method::Poly | Method::HighOrder | Method::Rk4) => false,
            Form::Textbook(form) => form == Textbook::BilinearAveraged,
        }
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

/// The text names neither a method nor a textbook form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown method `{0}` (hint: one of {methods}, or its id 0 to {last}, or {forms})",
    methods = Method::names(),
    last = Method::ALL.len() - 1,
    forms = Textbook::ALL.map(Textbook::name).join(", ")
)]
pub struct UnknownForm(String);

impl FromStr for Form {
    type Err = UnknownForm;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let textbook = Textbook::ALL.into_iter().find(|t| t.name() == text).map(Form::Textbook);
        textbook.or_else(|| text.parse().ok().map(Form::Method)).ok_or_else(|| UnknownForm(text.to_owned()))
    }
}

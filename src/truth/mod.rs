//! High-precision results with certificates: what a method's formula says, correctly rounded to f64.
//!
//! Each value is computed by two routes. One carries a proven bound of its error ([`dense::floor`]); a value is rounded
//! only where that bound leaves no doubt about its last place, and where the routes agree far beyond it ([`certify`]). Two
//! doubles are tried first, then 237 bits and more.
//! Anything else is an error, not a number. The truth never sees a kernel, and it does not judge.
//!
//! ```
//! use holdfast::method::Method;
//! use holdfast::problem::{CoefficientProblem, Weights};
//!
//! // The certified step of x' = -2x + u over delta = 0.5 by the bilinear method.
//! let problem = CoefficientProblem {
//!     weights: Weights::Real,
//!     delta: vec![0.5],
//!     a: vec![-2.0],
//!     b: vec![1.0],
//! };
//! let truth = holdfast::truth::coefficient::solve(Method::Bilinear, &problem)?;
//! assert_eq!(truth.a_bar, [1.0 / 3.0]);
//! println!("{}", truth.certificate);
//! # Ok::<(), holdfast::truth::TruthError>(())
//! ```

pub mod certify;
pub mod dense;
pub mod dense_systems;
pub mod diagonal;
pub mod exact;
pub mod gradient;
pub mod inverse_free;
pub mod limit;
pub mod literal;
pub mod number;
pub mod scalar;
pub mod trapezoidal;

pub use crate::formula::{Form, Textbook};
pub use certify::Certificate;
pub use diagonal::{coefficient, scan};

/// A truth, or why it is refused.
pub type Result<T, E = TruthError> = std::result::Result<T, E>;

/// A request that the truth refuses. Every message says what was expected, what was found and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TruthError {
    #[error("{what} has shape {found}, expected {expected} (hint: spec.md §3 lists the shapes)")]
    Shape { what: &'static str, expected: String, found: String },
    #[error("{what}[{index}] is {found}, expected a finite number (hint: look at what produced it)")]
    NotFinite { what: &'static str, index: usize, found: String },
    #[error(
        "I − αΔA is singular at {place}, expected a regular one (hint: bilinear has a pole at ΔA = 2, backward-euler at 1)"
    )]
    Pole { place: String },
    #[error(
        "log2 of the size of ΔA is {found} at {place}, expected at most {limit} \
         (hint: exponentials beyond that leave the range of the arithmetic; reduce the step)"
    )]
    StepTooLarge { place: String, found: i64, limit: i64 },
    #[error(
        "{place} cannot be certified: {reason} at {bits} bits \
         (hint: a value on a rounding boundary, an exact cancellation or an extreme condition number)"
    )]
    Uncertified { place: String, reason: &'static str, bits: u32 },
}

impl TruthError {
    /// The same, told of another place.
    fn at(self, name: String) -> Self {
        let told = |place| format!("{name}: {place}");
        match self {
            TruthError::Uncertified { place, reason, bits } => {
                TruthError::Uncertified { place: told(place), reason, bits }
            }
            TruthError::Pole { place } => TruthError::Pole { place: told(place) },
            TruthError::StepTooLarge { place, found, limit } => {
                TruthError::StepTooLarge { place: told(place), found, limit }
            }
            other => other,
        }
    }
}

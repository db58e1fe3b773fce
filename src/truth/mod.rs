//! High-precision results with certificates: what a method's formula says, correctly rounded to f64.
//!
//! Each value is computed by two routes. One carries a proven bound of its error ([`dense::floor`]); a value is rounded
//! only where that bound lies [`certify::REQUIRED_BITS`] below its last place and the routes agree as closely.
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
pub mod diagonal;
pub mod error;
pub mod exact;
pub mod inverse_free;
pub mod literal;
pub mod number;

pub use crate::formula::{Form, Textbook};
pub use certify::Certificate;
pub use diagonal::{coefficient, scan};
pub use error::TruthError;

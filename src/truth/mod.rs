//! High-precision results with certificates: what a method's formula says, correctly rounded to f64.
//!
//! Each value is computed by two routes. One carries a proven bound of its error ([`floor`]); a value is rounded
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

pub mod augmented;
pub mod balance;
pub mod ball;
pub mod big;
pub mod certify;
pub mod coefficient;
pub mod defective;
pub mod dense;
pub mod element;
pub mod elementary;
pub mod error;
pub mod exact;
pub mod expm;
mod field;
pub mod floor;
pub mod literal;
pub mod mag;
pub mod matrix;
pub mod modular;
pub mod rational;
pub mod rescue;
pub mod routes;
pub mod scalar;
pub mod scan;

mod shapes;
pub mod textbook;
pub mod wide;

pub use certify::Certificate;
pub use error::TruthError;
pub use textbook::{Form, Textbook};

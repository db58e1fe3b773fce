//! **holdfast** answers one question for people who write state-space-model kernels: *does this kernel
//! compute what its formula says, as accurately as its arithmetic allows, and if not, what is wrong with it?*
//!
//! # The rooms
//!
//! ```text
//! problem ──► truth  ──┐
//!     │                ├──► judge ──► report
//!     └────► kernel ───┘
//! ```
//!
//! - [`problem`]: shapes, named regimes, inputs from a seed, recorded runs. Knows nothing of the rest.
//! - [`truth`]: high-precision results for a problem, with certificates. Never sees a kernel.
//! - [`kernel`]: everything that computes the same problem in production precision. Never sees the truth.
//! - [`analysis`]: what the methods are as approximations, measured with the truth; no kernel involved.
//! - [`judge`]: plain arrays from both sides in; bounds, verdicts and pairwise matrices out.
//! - [`report`]: renders what the judge returned. Computes nothing.
//!
//! What the numbers mean is in [`spec`], which comments cite as `spec.md`.
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
//!
//! [`verify`] walks a problem through all of them, [`check`](mod@check) a recorded run through all but the
//! kernel, [`diff`](mod@diff) two revisions of a foreign header through all; [`cli`] is the command line around them. [`method`] names the six methods, [`hexfloat`] writes numbers
//! exactly, and [`tensor_file`] reads safetensors files without trusting them.

pub mod analysis;
pub mod check;
pub mod cli;
pub mod diff;
pub mod hexfloat;
pub mod judge;
pub mod kernel;
pub mod method;
pub mod problem;
pub mod report;
#[doc = include_str!("spec.md")]
pub mod spec {}
pub mod tensor_file;
pub mod truth;
pub mod verify;

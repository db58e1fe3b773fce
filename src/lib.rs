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
//! - [`problem`]: shapes, named regimes, inputs from a seed. Knows nothing of the rest.
//! - [`truth`]: high-precision results for a problem, with certificates. Never sees a kernel.
//! - [`kernel`]: everything that computes the same problem in production precision. Never sees the truth.
//! - [`judge`]: plain arrays from both sides in; bounds, verdicts and pairwise matrices out.
//! - [`report`]: renders what the judge returned. Computes nothing.
//!
//! [`verify`] walks a problem through all of them, [`cli`] is the command line around it, [`method`] names
//! the six methods and [`hexfloat`] writes numbers exactly.

pub mod cli;
pub mod hexfloat;
pub mod judge;
pub mod kernel;
pub mod method;
pub mod problem;
pub mod report;
pub mod truth;
pub mod verify;

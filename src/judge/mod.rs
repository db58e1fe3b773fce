//! Judges what a kernel computed against the truth, from plain arrays: error budgets, verdicts, invariants, pairwise
//! matrices. Pure and silent; [`crate::results`] holds what it returns.
//!
//! ```
//! use holdfast::judge::{coefficient, diagnose};
//! use holdfast::method::Method;
//! use holdfast::problem::{CoefficientProblem, Weights};
//! use holdfast::promise::Contract;
//! use holdfast::results::Verdict;
//!
//! let problem = CoefficientProblem {
//!     weights: Weights::Real,
//!     delta: vec![0.5, 0.25],
//!     a: vec![-2.0, -1.0],
//!     b: vec![1.0, 3.0],
//! };
//! // What zoh's formula says: exp(ΔA) and ΔB. A kernel got the first right and forgot Δ in the second.
//! let want = ([(-1.0f64).exp(), (-0.25f64).exp()], [0.5, 0.75]);
//! let got = (want.0.map(|x| x as f32), [1.0f32, 3.0]);
//! let (got, want) = ((&got.0[..], &got.1[..]), (&want.0[..], &want.1[..]));
//! let judgement = coefficient::judge(Method::Zoh, &problem, got, want, &Contract::PRODUCTION);
//! assert_eq!(judgement.verdict, Verdict::Fail);
//! assert!(judgement.worst_a_bar.expect("judged").ratio < 1.0);
//! let looks_like = diagnose::sweep::diagnose(Method::Zoh, &problem, got, want, &diagnose::Work::default());
//! assert_eq!(looks_like[0].name, "b-bar-delta-missing");
//! ```

pub mod agreement;
pub mod budget;
pub mod coefficient;
pub mod dense;
pub mod diagnose;
pub mod explain;
pub mod gradient;
pub mod invariants;
pub mod lanes;
pub mod lean;
pub mod lifting;
pub mod linearized;
pub mod location;
pub mod lost_digits;
pub mod model;
mod numbers;
pub mod one_step;
pub mod pairwise;
pub mod profile;
pub mod quick;
pub mod recommendation;
pub mod reconstruct;
pub mod relative;
pub mod revisions;
pub mod scan;
pub mod sensitivity;
pub mod slight;
pub mod step;
pub mod sums;
pub mod trapezoidal;
pub mod ulp;
pub mod verdict;

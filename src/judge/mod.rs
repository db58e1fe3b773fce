//! Judges what a kernel computed against the truth, from plain arrays: error budgets, verdicts, invariants, pairwise
//! matrices. Pure and silent; [`results`] holds what it returns.

pub mod agreement;
pub mod allowance;
pub mod budget;
pub mod coefficient;
pub mod contract;
pub mod diagnose;
pub mod faults;
pub mod invariants;
pub mod lost_digits;
pub mod model;
pub mod pairwise;
pub mod profile;
pub mod recommendation;
pub mod results;
pub mod revisions;
pub mod scan;
pub mod ulp;
pub mod verdict;

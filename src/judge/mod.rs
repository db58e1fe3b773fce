//! Judges what a kernel computed against the truth, from plain arrays: error budgets, verdicts, pairwise
//! matrices. Pure and silent; [`results`] holds what it returns.

pub mod agreement;
pub mod allowance;
pub mod budget;
pub mod coefficient;
pub mod contract;
pub mod diagnose;
pub mod faults;
pub mod lifting;
pub mod model;
pub mod pairwise;
pub mod relative;
pub mod results;
pub mod scan;
pub mod sensitivity;
pub mod ulp;
pub mod verdict;

//! The judge: bounds, verdicts and causes. A crate of its own, which never sees the truth or a kernel. `holdfast` shows its
//! module.

#[macro_use]
extern crate holdfast_methods;

pub use holdfast_base::{
    formula, hexfloat, method, named, notation, parallel, problem, promise, results, sorted, tensor,
    trapezoidal,
};

#[path = "../../program/mod.rs"]
pub mod program;

#[path = "../../judge/mod.rs"]
pub mod judge;

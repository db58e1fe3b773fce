//! Pages, tables and plots of results. A crate of its own, since nothing that computes waits for it. `holdfast` shows its
//! module.

#[macro_use]
extern crate holdfast_methods;

pub use holdfast_base::{formula, leftovers, method, named, notation, problem, results, tensor};
pub use holdfast_judge::judge;
pub use holdfast_truth::{analysis, truth};

#[path = "../../report/mod.rs"]
pub mod report;

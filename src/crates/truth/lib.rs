//! The certified truth, and what the methods are by it. A crate of its own: wide arithmetic takes full optimization, which
//! all else need not wait for. `holdfast` shows its modules.

pub use holdfast_base::{formula, method, parallel, problem, results, scalar_function, tensor, trapezoidal};

#[path = "../../analysis/mod.rs"]
pub mod analysis;
#[path = "../../truth/mod.rs"]
pub mod truth;

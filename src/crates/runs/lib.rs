//! Whole runs: a problem, a recording or a header through all rooms, and the command line around them. A crate of its own,
//! which drives what others compute and is hardly optimized. `holdfast` shows its modules.

#[cfg(feature = "kernels")]
#[macro_use]
extern crate holdfast_methods;

pub use holdfast_base::{
    formula, hexfloat, leftovers, method, named, operation, parallel, problem, promise, results,
    scalar_function, tensor, tensor_file, trapezoidal,
};
pub use holdfast_judge::judge;
#[cfg(feature = "kernels")]
pub use holdfast_kernel::kernel;
#[cfg(feature = "report")]
pub use holdfast_report::report;
pub use holdfast_truth::{analysis, truth};

#[cfg(feature = "kernels")]
#[path = "../../bench/mod.rs"]
pub mod bench;
#[path = "../../case/mod.rs"]
pub mod case;
#[path = "../../check/mod.rs"]
pub mod check;
#[cfg(feature = "cli")]
#[path = "../../cli/mod.rs"]
pub mod cli;
#[cfg(feature = "kernels")]
#[path = "../../diff.rs"]
pub mod diff;
#[cfg(feature = "kernels")]
#[path = "../../functions/mod.rs"]
pub mod functions;
#[path = "../../parts/mod.rs"]
pub mod parts;
#[path = "../../testing.rs"]
pub mod testing;
#[cfg(feature = "kernels")]
#[path = "../../verify/mod.rs"]
pub mod verify;

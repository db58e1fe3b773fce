//! The kernels, on a GPU and on the CPU, and headers of other people. A crate of its own, with what `build.rs` compiles of
//! `kernels/`. `holdfast` shows its module.

#[macro_use]
extern crate holdfast_methods;

pub use holdfast_base::{
    hexfloat, leftovers, method, named, operation, problem, promise, scalar_function, tensor, tensor_file,
};

#[path = "../../kernel/mod.rs"]
pub mod kernel;

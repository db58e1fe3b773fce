//! The six methods and the textbook forms: their names and formulas, as plain data. A crate of its own, since `build.rs` of
//! `holdfast` writes the kernels' tables from the same statements.

#[macro_use]
#[path = "../../named.rs"]
pub mod named;
#[path = "../../formula.rs"]
pub mod formula;
#[path = "../../method.rs"]
pub mod method;
#[path = "../../scalar_function.rs"]
pub mod scalar_function;

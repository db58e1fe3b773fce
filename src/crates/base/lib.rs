//! Plain values that all rooms of `holdfast` share: problems, named tensors, promises and results. A crate of its own,
//! so that the truth and the judge are compiled beside each other, and only when they change. `holdfast` shows its modules.

#[macro_use]
extern crate holdfast_methods;

pub use holdfast_methods::{formula, method, named, scalar_function};

#[path = "../../hexfloat.rs"]
pub mod hexfloat;
#[path = "../../leftovers/mod.rs"]
pub mod leftovers;
#[path = "../../notation.rs"]
pub mod notation;
#[path = "../../operation.rs"]
pub mod operation;
#[path = "../../parallel.rs"]
pub mod parallel;
#[path = "../../problem/mod.rs"]
pub mod problem;
#[path = "../../promise/mod.rs"]
pub mod promise;
#[path = "../../results/mod.rs"]
pub mod results;
#[path = "../../sorted.rs"]
pub mod sorted;
#[path = "../../tensor.rs"]
pub mod tensor;
#[path = "../../tensor_file/mod.rs"]
pub mod tensor_file;
#[path = "../../trapezoidal/mod.rs"]
pub mod trapezoidal;

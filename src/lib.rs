//! holdfast judges discretization kernels of state-space models against certified ground truth.
pub mod cli;
pub mod hexfloat;
pub mod judge;
pub mod kernel;
pub mod method;
pub mod problem;
pub mod report;
pub mod truth;

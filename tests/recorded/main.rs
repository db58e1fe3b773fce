//! Promises of `holdfast check`: recorded runs are read whole or refused, and judged as live ones are.

#[path = "../support/mod.rs"]
mod support;

#[macro_use]
mod searched;

mod arithmetic;
mod backward;
mod backward_arithmetic;
mod backward_identified;
mod begins;
mod blind;
mod budget;
mod chunks;
mod conventions;
mod decode;
mod dense;
mod fast_math;
mod files;
mod formulas;
mod layouts;
mod lean;
mod location;
mod log_space;
mod memory;
mod native;
mod on_device;
mod outputs;
mod overflow;
mod packed;
mod packed_files;
mod runs;
mod setting;
mod ssd;
mod streamed;
mod trapezoidal;
mod written;

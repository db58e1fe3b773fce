//! Promises of the kernels on the CPU and of the reference path, without a truth or a judge of scans.

#[path = "../support/mod.rs"]
mod support;

mod agreement;
mod coefficients;
mod crashes;
mod exponential;
mod independence;
mod machinery;
mod plumbing;

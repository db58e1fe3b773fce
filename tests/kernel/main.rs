//! Promises of the kernels on the CPU and of the reference path, and of what they are told and run with: without a truth
//! or a judge of scans.

#[path = "../support/mod.rs"]
mod support;

mod agreement;
mod backward;
mod carried;
mod chunks;
mod coefficients;
mod crashes;
mod dense;
mod dense_backward;
mod dense_scan;
mod exponential;
mod independence;
mod lanes;
mod launch;
mod machinery;
mod messages;
mod methods;
mod plumbing;
mod tensors;

//! `holdfast bench`: how fast kernels are, and whether the timing can be believed. Values are judged of peers alone.
//!
//! A [`Plan`] lists what is timed ([`plan`]), on the problems of [`problems`]; a [`Runner`] times it ([`runner`]), in a worker process
//! that a fault may kill; [`machine`] measures what the device can do at most, [`cost`] counts what a scan asks for at least, and
//! [`checks`] tries the usual mistakes of benchmarks. What is found is plain values, [`crate::results::bench`].
//!
//! [`beside`] has a function of the caller's own take turns with the kernels, in this process.
//!
//! Timings never run beside each other.

pub mod beside;
pub mod checks;
pub mod cost;
pub mod machine;
pub mod peers;
pub mod plan;
pub mod problems;
pub mod runner;
pub mod sizes;

pub use checks::Checks;
pub use peers::Peer;
pub use plan::{Plan, Wanted};
pub use runner::Runner;
pub use sizes::Preset;

//! Promises of whole runs: the default run passes, and what is spoilt on purpose fails where it is spoilt.

#[path = "../support/mod.rs"]
mod support;

mod altered;
mod backward;
mod chunks;
mod crashed_kernels;
mod default_run;
mod derivatives;
mod gradients_measured;
mod invariants;
mod lifting;
mod merged_parts;
mod planted_faults;
mod sensitivity;
mod tiers;
mod unmeasured_kernels;

//! Promises of the CUDA path: what can be shown without a GPU, and on a machine that has one what needs it.

#[path = "../support/mod.rs"]
mod support;

mod arch;
mod cache;
mod compile;
mod compile_headers;
mod golden;
mod golden_text;
mod gpu;
mod log;
mod select;
mod unmeasured;
mod worker;

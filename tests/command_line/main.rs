//! Promises of the command line: what scripts depend on, what help and errors teach, what an interrupt leaves.

#[path = "../support/mod.rs"]
mod support;

mod asked;
mod contract;
mod guide;
mod help_texts;
mod interrupt;
mod names;
mod parts;

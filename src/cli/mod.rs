//! The command line, one module a subcommand. Only here is anything printed.

pub mod truth;
mod truth_files;

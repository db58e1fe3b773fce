//! Worker processes: what may crash or hang runs in one of them, so that a fault ends with its process and costs one case.
//!
//! Two programs are workers: `holdfast worker`, which launches kernels on a GPU ([`crate::kernel::cuda::worker`]), and what
//! a foreign header is compiled into for a CPU (`kernels/foreign/worker.cpp`). Both are started, asked and ended alike
//! ([`process`]), read and write the same messages ([`message`]), and are waited for as long ([`limit`]). Only what a
//! message's header says differs. What this crate's own kernels run in on a CPU ([`crate::kernel::cpu`]) is no program: it
//! is waited for as long, and ends in the same words.

pub mod limit;
pub mod message;
pub mod process;

pub use message::Message;
pub use process::{NoReply, Program, Worker};

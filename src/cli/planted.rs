//! `HOLDFAST_PLANT` plants a fault while kernels are built. Set for a program that was built without it, it would do
//! nothing, and a pass would be taken for a fault that was missed.

use crate::kernel::cpu::CpuBackend;

const VARIABLE: &str = "HOLDFAST_PLANT";

/// The program does not hold the fault that the environment asks for.
#[derive(Debug, thiserror::Error)]
#[error(
    "{VARIABLE} is `{asked}`, expected {built}, as when this program was built: the variable is read by the build \
     (hint: {VARIABLE}={asked} cargo run --release)"
)]
pub struct Error {
    asked: String,
    built: String,
}

/// Whether the fault that the environment asks for is the one that was built in.
pub fn check() -> Result<(), Error> {
    let Some(asked) = std::env::var(VARIABLE).ok().filter(|asked| !asked.is_empty()) else { return Ok(()) };
    let built = CpuBackend::planted_fault().and_then(CpuBackend::fault_name);
    if built == Some(asked.as_str()) {
        return Ok(());
    }
    Err(Error { asked, built: built.map_or("nothing".to_owned(), |name| format!("`{name}`")) })
}

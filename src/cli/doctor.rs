//! `holdfast doctor`: what this machine can run, and why not the rest.

use super::{Outcome, PASSED};
use crate::kernel::cpu::CpuBackend;
use crate::kernel::cuda::arch::{self, Arch};
use crate::kernel::cuda::cache::Cache;
use crate::kernel::cuda::{CudaError, gpu, nvrtc, worker};
use crate::kernel::launch::DeviceInfo;
use crate::kernel::{self, Backend};
use crate::report::console::width;
use crate::report::text::wrap;

pub fn run() -> Outcome {
    let driver = gpu::driver_present();
    // In a process of its own: a broken driver may crash instead of returning an error.
    let device = match &driver {
        Ok(()) => worker::this_program().and_then(|program| worker::start(&program).map(|(_, info)| info)),
        Err(error) => Err(error.clone()),
    };
    let device = device.as_ref();
    let nvrtc = nvrtc::version();
    let library = driver.map(|()| match device {
        Ok(DeviceInfo { driver: Some(version), .. }) => format!("libcuda, driver {version}"),
        _ => "libcuda".to_owned(),
    });
    let seen = device.map(|info| format!("{info}; {} visible, the first one runs", info.devices));
    let compiler = nvrtc.as_ref().map(|(major, minor)| format!("version {major}.{minor}"));
    let lines = [
        line("--backend cpu", Ok::<_, String>(cpu()), "runs the kernels' own source, without a GPU"),
        line(
            "reference",
            Ok::<_, String>("sequential f32 in Rust".to_owned()),
            "--backend reference: a baseline without a kernel",
        ),
        line("driver", library, "loads and launches kernels"),
        line("device", seen, "runs the kernels"),
        line("NVRTC", compiler, "compiles the kernels for the device"),
        line("architecture", architecture(device), "what the kernels are compiled for"),
        line("cache", cache(), "keeps compiled kernels for the next run"),
        line(
            "--backend cuda",
            cuda(device.is_ok(), nvrtc.is_ok()),
            "runs the kernels on the GPU: the production path",
        ),
    ];
    let sources = &kernel::production_hash()[..16];
    let head = format!("holdfast {}, kernel sources {sources}\n", env!("CARGO_PKG_VERSION"));
    Outcome::new(head + &lines.concat(), PASSED)
}

/// A part: whether it is there, what was found or why nothing was, and what it enables.
fn line(what: &str, found: Result<String, impl ToString>, enables: &str) -> String {
    let (answer, text) = match found {
        Ok(text) => ("yes", text),
        Err(error) => ("no", error.to_string()),
    };
    format!("{}\n{:20}{enables}\n", wrap(&format!("{what:<14} {answer:<4} "), &text, width()), "")
}

fn cpu() -> String {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {threads} threads", CpuBackend::new().device())
}

fn architecture(device: Result<&DeviceInfo, &CudaError>) -> Result<String, CudaError> {
    match std::env::var(arch::VARIABLE).ok().filter(|value| !value.is_empty()) {
        Some(text) => text.parse::<Arch>().map(|arch| format!("{arch}, by {}", arch::VARIABLE)),
        None => device
            .map(|info| format!("{}, the device's own", Arch::of_device(info.major, info.minor)))
            .map_err(Clone::clone),
    }
}

fn cache() -> Result<String, String> {
    let cache = Cache::from_environment();
    let place = cache.directory().map_or_else(|| "none".to_owned(), |path| path.display().to_string());
    match cache.trouble() {
        None => Ok(place),
        Some(trouble) => Err(format!("{place}: {trouble}")),
    }
}

fn cuda(device: bool, compiler: bool) -> Result<String, &'static str> {
    match (device, compiler) {
        (true, true) => Ok("all it takes is there".to_owned()),
        (false, true) => Err("no device, see above"),
        (true, false) => Err("no compiler, see above"),
        (false, false) => Err("neither a device nor a compiler, see above"),
    }
}

//! `holdfast doctor`: what this machine can run, and why not the rest.

use super::{Outcome, PASSED};
use crate::kernel::cpu::CpuBackend;
use crate::kernel::cuda::arch::{self, Arch};
use crate::kernel::cuda::cache::Cache;
use crate::kernel::cuda::{CudaError, gpu, nvrtc, worker};
use crate::kernel::launch::DeviceInfo;
use crate::kernel::{self, Backend};
use crate::report::console::WIDTH;
use crate::report::text::wrap;

/// One line of the report.
struct Finding {
    what: &'static str,
    there: bool,
    /// What was found, or why nothing was.
    text: String,
    enables: &'static str,
}

/// Runs the command.
pub fn run() -> Outcome {
    let mut findings = vec![cpu(), reference()];
    let driver = gpu::driver_present();
    // In a process of its own: a driver in disorder may do worse than fail.
    let device = match &driver {
        Ok(()) => worker::this_program().and_then(|program| worker::start(&program).map(|(_, info)| info)),
        Err(error) => Err(error.clone()),
    };
    let nvrtc = nvrtc::version();
    findings.push(finding(
        "driver",
        driver.map(|()| match &device {
            Ok(DeviceInfo { driver: Some(version), .. }) => format!("libcuda, driver {version}"),
            _ => "libcuda".to_owned(),
        }),
        "loads and launches kernels",
    ));
    findings.push(finding(
        "device",
        device
            .as_ref()
            .map(|info| format!("{info}; {} visible, the first one runs", info.devices))
            .map_err(Clone::clone),
        "runs the kernels",
    ));
    findings.push(finding(
        "NVRTC",
        nvrtc.clone().map(|(major, minor)| format!("version {major}.{minor}")),
        "compiles the kernels for the device",
    ));
    findings.push(architecture(&device));
    findings.push(cache());
    findings.push(cuda(&device, &nvrtc));
    let mut text = format!(
        "holdfast {}, kernel sources {}\n",
        env!("CARGO_PKG_VERSION"),
        &kernel::production_hash()[..16]
    );
    for Finding { what, there, text: found, enables } in findings {
        let answer = if there { "yes" } else { "no" };
        let prefix = format!("{what:<14} {answer:<4} ");
        text.push_str(&format!("{}\n{:20}{enables}\n", wrap(&prefix, &found, WIDTH), ""));
    }
    Outcome { text, status: PASSED }
}

fn finding(what: &'static str, found: Result<String, CudaError>, enables: &'static str) -> Finding {
    match found {
        Ok(text) => Finding { what, there: true, text, enables },
        Err(error) => Finding { what, there: false, text: error.to_string(), enables },
    }
}

fn cpu() -> Finding {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let text = format!("{}, {threads} threads", CpuBackend::new().device());
    Finding {
        what: "--backend cpu",
        there: true,
        text,
        enables: "runs the kernels' own source, without a GPU",
    }
}

fn reference() -> Finding {
    let text = "sequential f32 in Rust".to_owned();
    Finding {
        what: "reference",
        there: true,
        text,
        enables: "--backend reference: a baseline without a kernel",
    }
}

fn architecture(device: &Result<DeviceInfo, CudaError>) -> Finding {
    let own = device.as_ref().map(|info| Arch::of_device(info.major, info.minor)).map_err(Clone::clone);
    let variable = std::env::var(arch::VARIABLE).ok().filter(|value| !value.is_empty());
    let found = match variable {
        Some(text) => text.parse::<Arch>().map(|arch| format!("{arch}, by {}", arch::VARIABLE)),
        None => own.map(|arch| format!("{arch}, the device's own")),
    };
    finding("architecture", found, "what the kernels are compiled for")
}

fn cache() -> Finding {
    let cache = Cache::from_environment();
    let place = cache.directory().map_or_else(|| "none".to_owned(), |path| path.display().to_string());
    let (there, text) = match cache.trouble() {
        None => (true, place),
        Some(trouble) => (false, format!("{place}: {trouble}")),
    };
    Finding { what: "cache", there, text, enables: "keeps compiled kernels for the next run" }
}

fn cuda(device: &Result<DeviceInfo, CudaError>, nvrtc: &Result<(i32, i32), CudaError>) -> Finding {
    let missing = match (device, nvrtc) {
        (Ok(_), Ok(_)) => None,
        (Err(_), Ok(_)) => Some("no device, see above"),
        (Ok(_), Err(_)) => Some("no compiler, see above"),
        (Err(_), Err(_)) => Some("neither a device nor a compiler, see above"),
    };
    Finding {
        what: "--backend cuda",
        there: missing.is_none(),
        text: missing.unwrap_or("all it takes is there").to_owned(),
        enables: "runs the kernels on the GPU: the production path",
    }
}

//! Every kernel once, in this process: under a sanitizer, which cannot follow the harness into its worker.

use super::{Args, CliError, Finding, STAND_IN, mamba, no_cuda};
use crate::kernel::cpu::device::CpuDevice;
use crate::kernel::cuda::CudaError;
use crate::kernel::cuda::arch::{self, Arch};
use crate::kernel::cuda::cache::Cache;
use crate::kernel::cuda::gpu::Gpu;
use crate::kernel::cuda::images::Images;
use crate::kernel::launch::{Device, DeviceError, Element, Guarding, Job};
use crate::kernel::registry::{Instantiation, Kernel};
use crate::kernel::{Backend, CpuBackend, KernelError};
use crate::problem::{CoefficientProblem, InputType, Operand, Problem, Shape, Weights};
use crate::tensor::TensorName;

/// The device of this process, and images for it.
pub fn device(args: &Args) -> Result<(Box<dyn Device>, Option<Images>), CliError> {
    if args.stand_in {
        return Ok((Box::new(CpuDevice::with_memory(STAND_IN)), None));
    }
    let gpu = Gpu::open().map_err(no_cuda)?;
    let images = images(&gpu).map_err(no_cuda)?;
    Ok((Box::new(gpu), Some(images)))
}

/// Images for a GPU, as the environment's variables say.
pub fn images(gpu: &Gpu) -> Result<Images, CudaError> {
    let own = Arch::of_device(gpu.info().major, gpu.info().minor);
    let variable = std::env::var(arch::VARIABLE).ok();
    Images::new(Arch::selected(variable.as_deref(), own)?, Cache::from_environment())
}

pub fn run(args: &Args) -> Result<Vec<Finding>, CliError> {
    let (mut device, images) = device(args)?;
    let guarding = if args.sanitizer { Guarding::Off } else { Guarding::On };
    // One warp with a tail; two warps, vector loads; and for one layout of each method and weight type, chunks.
    let mut cases: Vec<(Kernel, usize)> = Kernel::production().map(|kernel| (kernel, 21)).collect();
    cases.extend(Kernel::production().map(|kernel| (kernel, 132)));
    let everything = |kernel: &Kernel| match kernel {
        Kernel::Scan(which) => {
            let variable = (which.b, which.c) == (Operand::Variable, Operand::Variable);
            which.input == InputType::F32 && variable && which.gate
        }
        _ => false,
    };
    cases.extend(Kernel::production().filter(everything).map(|kernel| (kernel, 2051)));
    let mut failures = Vec::new();
    let mut runs = 0;
    for (kernel, seqlen) in cases {
        runs += 1;
        if let Err((reason, gone)) = one(device.as_mut(), images.as_ref(), kernel, seqlen, guarding) {
            failures.push(format!("{} at seqlen {seqlen}: {reason}", kernel.name_expression()));
            if gone {
                break;
            }
        }
    }
    let outcome = match failures.first() {
        None => Ok(format!("{runs} launches on {}", device.info())),
        Some(first) => Err(format!("{} of {runs} launches fail; {first}", failures.len())),
    };
    Ok(vec![Finding::new("every instantiation", outcome)])
}

/// Runs a kernel and compares it, coarsely, with the CPU's: `Err` with the reason, and whether the device is gone.
fn one(
    device: &mut dyn Device,
    images: Option<&Images>,
    kernel: Kernel,
    seqlen: usize,
    guarding: Guarding,
) -> Result<(), (String, bool)> {
    let of_kernel = |error: KernelError| (error.to_string(), false);
    let (mut job, want) = match kernel {
        Kernel::Scan(which) => {
            let problem = scan_problem(which, seqlen);
            let want = CpuBackend::new().scan(which.method, &problem).map_err(of_kernel)?;
            (Job::scan(kernel, &problem, which.input.into()), want[TensorName::Out].values.clone())
        }
        Kernel::Discretize { method, weights } => {
            let problem = coefficient_problem(weights, seqlen);
            let want = CpuBackend::new().coefficients(method, &problem).map_err(of_kernel)?;
            (Job::coefficients(method, &problem, Element::F32), want.a_bar)
        }
        Kernel::Misbehave(_) => return Ok(()),
    };
    if let Some(images) = images {
        let image = images.get(kernel).map_err(|error| (error.to_string(), false))?;
        job.image = Some((*image).clone());
    }
    let outputs = job
        .execute(device, guarding)
        .map_err(|error| (error.to_string(), matches!(error, DeviceError::Broken(_))))?;
    let returned = job.returned(&outputs).map_err(of_kernel)?;
    let got = returned.first();
    // This finds wrong layouts; roundings are what verify judges.
    let unit = match job.outputs[0].element {
        Element::F64 | Element::F32 => 1e-4,
        Element::F16 => 2e-3,
        Element::Bf16 => 2e-2,
    };
    let size = want.iter().fold(0.0, |size: f64, &value| size.max(f64::from(value).abs()));
    let off = got.iter().zip(&want).position(|(got, &want)| {
        let apart = (got - f64::from(want)).abs();
        apart.is_nan() || apart > unit * size
    });
    match off {
        _ if got.len() != want.len() => Err((format!("{} outputs for {}", got.len(), want.len()), false)),
        Some(i) => Err((format!("output {i} is {:e}, the CPU's {:e}", got[i], want[i]), false)),
        None => Ok(()),
    }
}

fn scan_problem(which: Instantiation, seqlen: usize) -> Problem {
    let Instantiation { weights, input, b, c, gate, method } = which;
    let shape = Shape { batch: 2, dim: 2, dstate: 3, seqlen, groups: 2 };
    mamba(&format!("gpu-check/tiny/{method}"), shape, weights, input, (b, c), gate)
}

fn coefficient_problem(weights: Weights, n: usize) -> CoefficientProblem {
    let width = weights.width();
    let ramp = |len: usize, scale: f32| (0..len).map(|i| scale * (i as f32 + 0.5)).collect::<Vec<_>>();
    CoefficientProblem { weights, delta: ramp(n, 1e-3), a: ramp(n * width, -0.1), b: ramp(n * width, 0.1) }
}

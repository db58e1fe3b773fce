//! Every kernel: compiled, and launched once.

use std::time::Instant;

use rayon::prelude::*;

use super::{Args, CliError, Finding, STAND_IN, device_finding, mamba, no_cuda, output_gradients};
use crate::kernel::cpu::device::CpuDevice;
use crate::kernel::cuda::arch::{self, Arch};
use crate::kernel::cuda::cache::Cache;
use crate::kernel::cuda::images::Images;
use crate::kernel::cuda::{CudaBackend, CudaError, gpu};
use crate::kernel::launch::{Device, DeviceError, ElementType, Guarding, Job, Returned};
use crate::kernel::registry::{Instantiation, Kernel, Spread};
use crate::kernel::{Backend, Coefficients, CpuBackend, Derivatives, KernelError, Lanes};
use crate::problem::conventions::Coupling;
use crate::problem::dense::DenseProblem;
use crate::problem::{CoefficientProblem, InputType, Operand, Problem, Shape, Weights};
use crate::promise::Tier;
use crate::tensor::{Named, Tensor};

/// Compiles or loads every kernel, on all cores. Cold or cached: that depends on the cache directory.
pub fn compile(backend: &CudaBackend) -> Vec<Finding> {
    let start = Instant::now();
    let kernels: Vec<Kernel> = Kernel::production().chain(Kernel::forward(Tier::Fast)).collect();
    let errors: Vec<String> = kernels
        .par_iter()
        .filter_map(|&kernel| backend.prepare(kernel).err())
        .map(|e| e.to_string())
        .collect();
    let statistics = backend.statistics();
    let figure = format!(
        "{:.1} s on {} threads: {} compiled, {} from the cache, {:.1} s summed over threads",
        start.elapsed().as_secs_f64(),
        rayon::current_num_threads(),
        statistics.compiled,
        statistics.cached,
        statistics.time.as_secs_f64()
    );
    let outcome = errors.into_iter().next().map_or(Ok(figure), Err);
    vec![device_finding(backend), Finding::new(format!("{} kernels", kernels.len()), outcome)]
}

/// The device of this process, and images for it.
fn device(args: &Args) -> Result<(Box<dyn Device>, Option<Images>), CliError> {
    if args.stand_in {
        return Ok((Box::new(CpuDevice::with_memory(STAND_IN)), None));
    }
    let gpu = gpu::open().map_err(no_cuda)?;
    let images = images(&*gpu).map_err(no_cuda)?;
    Ok((gpu, Some(images)))
}

/// Images for a GPU, as the environment's variables say.
fn images(gpu: &dyn Device) -> Result<Images, CudaError> {
    let own = Arch::of_device(gpu.info().major, gpu.info().minor);
    let variable = std::env::var(arch::VARIABLE).ok();
    Images::new(Arch::selected(variable.as_deref(), own)?, Cache::from_environment())
}

/// The kernels that are launched each: backward ones with 16-bit storage, and those of the fast tier, for one layout, which is all in
/// which they differ.
fn launched() -> impl Iterator<Item = Kernel> {
    Kernel::production().chain(Kernel::forward(Tier::Fast)).filter(|kernel| match kernel {
        Kernel::Backward(which) => which.input == InputType::F32 || varies(which),
        Kernel::Scan(which) => which.tier == Tier::Accurate || varies(which),
        Kernel::ChunkSteps(which) => which.tier == Tier::Accurate || which.b == Operand::Variable,
        _ => true,
    })
}

/// Variable B and C, and a gate.
fn varies(which: &Instantiation) -> bool {
    (which.b, which.c) == (Operand::Variable, Operand::Variable) && which.gate
}

/// Every kernel once, in this process: under a sanitizer, which cannot follow the harness into its worker.
pub fn launch_each(args: &Args) -> Result<Vec<Finding>, CliError> {
    let (mut device, images) = device(args)?;
    let guarding = if args.sanitizer { Guarding::Off } else { Guarding::On };
    // One warp with a tail; two warps, vector loads; and for one layout of each method and weight type, chunks.
    let mut cases: Vec<(Kernel, usize)> = launched().map(|kernel| (kernel, 21)).collect();
    cases.extend(launched().map(|kernel| (kernel, 132)));
    let everything = |kernel: &Kernel| match kernel {
        Kernel::Scan(which) => which.input == InputType::F32 && varies(which),
        Kernel::ChunkSteps(which) => which.input == InputType::F32 && which.b == Operand::Variable,
        _ => false,
    };
    cases.extend(launched().filter(everything).map(|kernel| (kernel, 2051)));
    let mut failures = Vec::new();
    let mut runs = 0;
    for (kernel, seqlen) in cases {
        runs += 1;
        if let Err((reason, gone)) = one(device.as_mut(), images.as_ref(), kernel, seqlen, guarding) {
            let name = kernel.name_expression();
            failures.push(format!("{name}, {}, at seqlen {seqlen}: {reason}", kernel.tier()));
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

/// The least positions that have three chunks.
const CHUNKED: usize = 129;

/// Runs a kernel and compares it, coarsely, with the CPU's: `Err` with the reason, and whether the device is gone.
fn one(
    device: &mut dyn Device,
    images: Option<&Images>,
    kernel: Kernel,
    seqlen: usize,
    guarding: Guarding,
) -> Result<(), (String, bool)> {
    let of_kernel = |error: KernelError| (error.to_string(), false);
    let cpu = CpuBackend::in_tier(kernel.tier());
    let missing = || (format!("the CPU has no {}", kernel.name_expression()), false);
    // What comes back, tensor by tensor, is compared with the CPU's.
    type Values = Vec<Vec<f32>>;
    let (mut job, values, want): (Job, Box<dyn Fn(Returned) -> Values>, Values) = match kernel {
        Kernel::Scan(which) => {
            let problem = scan_problem(which, 3, seqlen);
            let want = cpu.scan(which.method, &problem).map_err(of_kernel)?;
            let job = Job::scan(kernel, &problem, which.input.into());
            (job, Box::new(move |returned| values(returned.scan(&problem))), values(want))
        }
        // With the scan itself, whose chunks they are.
        Kernel::ChunkSteps(which) => {
            // States of two blocks.
            let problem = scan_problem(which, 19, seqlen.max(CHUNKED));
            let want = cpu.scan(which.method, &problem).map_err(of_kernel)?;
            let spread = Spread::in_chunks(which, problem.shape.seqlen, 3);
            let job = Job::spread_scan(spread, &problem, which.input.into());
            (job, Box::new(move |returned| values(returned.scan(&problem))), values(want))
        }
        Kernel::Discretize { method, weights, .. } => {
            let problem = coefficient_problem(weights, seqlen);
            let want = cpu.coefficients(method, &problem).map_err(of_kernel)?;
            let values = |both: Coefficients| vec![both.a_bar, both.b_bar];
            let job = Job::coefficients(kernel, &problem, ElementType::F32);
            (job, Box::new(move |returned| values(returned.coefficients())), values(want))
        }
        Kernel::Backward(which) => {
            let problem = scan_problem(which, 3, seqlen);
            let given = output_gradients(&problem);
            let want =
                cpu.gradients(which.method, &problem, &given).ok_or_else(missing)?.map_err(of_kernel)?;
            let job = Job::backward(which.method, &problem, &given, problem.input.into());
            (job, Box::new(move |returned| values(returned.gradients(&problem))), values(want))
        }
        Kernel::Differentiate { method, weights } => {
            let problem = coefficient_problem(weights, seqlen);
            let want = cpu.derivatives(method, &problem).ok_or_else(missing)?.map_err(of_kernel)?;
            let values = |d: Derivatives| vec![d.a_bar, d.slope, d.h, d.h_by_delta, d.h_by_a];
            let job = Job::derivatives(method, &problem);
            (job, Box::new(move |returned| values(returned.derivatives())), values(want))
        }
        Kernel::Dense(which) => {
            // Whole tiles, which are loaded at once, and others.
            let rest = if seqlen < CHUNKED { 1 } else { 0 };
            let problem = dense_problem(which.weights, which.states() - rest);
            let want = cpu.dense(which.method, &problem).ok_or_else(missing)?.map_err(of_kernel)?;
            let values = |both: Coefficients| vec![both.a_bar, both.b_bar];
            let job = Job::dense(which, &problem);
            (job, Box::new(move |returned| values(returned.coefficients())), values(want))
        }
        Kernel::DenseScan(which) => {
            // Several matrices of a warp, and several warps of a matrix.
            let problem = coupled(scan_problem(which, if seqlen < CHUNKED { 5 } else { 33 }, seqlen));
            let want = cpu.dense_scan(which.method, &problem).ok_or_else(missing)?.map_err(of_kernel)?;
            let job = Job::dense_scan(which, &problem);
            (job, Box::new(move |returned| values(returned.scan(&problem))), values(want))
        }
        Kernel::DenseBackward(which) => {
            // A derivative for each position takes `racecheck` minutes of long ones.
            let (states, seqlen) = if seqlen < CHUNKED { (5, seqlen) } else { (33, 9) };
            let problem = coupled(scan_problem(which, states, seqlen));
            let given = output_gradients(&problem);
            let want =
                cpu.gradients(which.method, &problem, &given).ok_or_else(missing)?.map_err(of_kernel)?;
            let job = Job::backward(which.method, &problem, &given, problem.input.into());
            (job, Box::new(move |returned| values(returned.gradients(&problem))), values(want))
        }
        // Sums come after backward scans.
        Kernel::Sums(_)
        | Kernel::Misbehave(_)
        | Kernel::Judge(_)
        | Kernel::Evaluate(_)
        | Kernel::JudgeFunction(_)
        | Kernel::Measure(_) => return Ok(()),
    };
    let image = |kernel| match images {
        Some(images) => match images.get(kernel) {
            Ok(image) => Ok(Some((*image).clone())),
            Err(error) => Err((error.to_string(), false)),
        },
        None => Ok(None),
    };
    (job.image, job.image_then) = (image(kernel)?, kernel.then().map_or(Ok(None), image)?);
    let outputs = job
        .execute(device, guarding)
        .map_err(|error| (error.to_string(), matches!(error, DeviceError::Broken(_))))?;
    let got = values(job.returned(&outputs).map_err(of_kernel)?);
    // This finds wrong layouts; roundings are what verify judges.
    let unit = match job.outputs[0].element {
        ElementType::F64 | ElementType::F32 => 1e-4,
        ElementType::F16 => 2e-3,
        ElementType::Bf16 => 2e-2,
    };
    for (tensor, (got, want)) in got.iter().zip(&want).enumerate() {
        let size = want.iter().fold(0.0f32, |size, value| size.max(value.abs()));
        let off = got.iter().zip(want).position(|(got, want)| {
            let apart = (got - want).abs();
            apart.is_nan() || apart > unit * size
        });
        if let Some(i) = off {
            let reason = format!("output {i} of tensor {tensor} is {:e}, the CPU's {:e}", got[i], want[i]);
            return Err((reason, false));
        }
    }
    let lengths = |all: &Values| all.iter().map(Vec::len).collect::<Vec<_>>();
    match (lengths(&got), lengths(&want)) {
        (got, want) if got != want => Err((format!("{got:?} outputs for {want:?}"), false)),
        _ => Ok(()),
    }
}

/// The tensors' values, in the order of their names.
fn values<N: Ord>(tensors: Named<Tensor<f32>, N>) -> Vec<Vec<f32>> {
    tensors.into_iter().map(|(_, tensor)| tensor.values).collect()
}

fn scan_problem(which: Instantiation, dstate: usize, seqlen: usize) -> Problem {
    let Instantiation { weights, input, b, c, gate, method, .. } = which;
    // With few lanes a full block of each group and one with a single channel.
    let (dim, dstate) = if which.lanes == Lanes::Few { (130, 13) } else { (2, dstate) };
    let shape = Shape { batch: 2, dim, dstate, seqlen, groups: 2 };
    mamba(&format!("gpu-check/tiny/{method}"), shape, weights, input, (b, c), gate)
}

/// A scan with a matrix for each channel, which has the diagonal that there was.
pub fn coupled(mut problem: Problem) -> Problem {
    let (n, width) = (problem.shape.dstate, problem.weights.width());
    let states = problem.a.chunks(width).enumerate();
    let rows = states.flat_map(|(at, own)| {
        let (r, own) = (at % n, own.to_vec());
        let entry = move |k: usize, part: usize| match k == r {
            true => own[part],
            false => 0.02 * ((7 * r + 3 * k + part) % 5) as f32 - 0.04,
        };
        (0..n * width).map(move |at| entry(at / width, at % width))
    });
    problem.a = rows.collect();
    problem.conventions.coupling = Coupling::Dense;
    problem
}

/// Three systems of n states, with more inputs than a panel has.
fn dense_problem(weights: Weights, n: usize) -> DenseProblem {
    let (m, width) = (5, weights.width());
    let wave =
        |len: usize, scale: f32| (0..len * width).map(|i| scale * (i % 13) as f32 - 0.2).collect::<Vec<_>>();
    DenseProblem {
        weights,
        n,
        m,
        delta: vec![0.5, 0.1, 0.02],
        a: wave(3 * n * n, 0.03),
        b: wave(3 * n * m, 0.1),
    }
}

fn coefficient_problem(weights: Weights, n: usize) -> CoefficientProblem {
    let width = weights.width();
    let ramp = |len: usize, scale: f32| (0..len).map(|i| scale * (i as f32 + 0.5)).collect::<Vec<_>>();
    CoefficientProblem { weights, delta: ramp(n, 1e-3), a: ramp(n * width, -0.1), b: ramp(n * width, 0.1) }
}

//! How long a forward scan takes at the shape of Mamba-1 1.4B: CUDA events around one launch, warm, the median.

use super::{Args, CliError, Finding, MAMBA_1_4B, mamba, no_cuda, tiny};
use crate::kernel::cuda::gpu::Gpu;
use crate::kernel::cuda::images::Images;
use crate::kernel::launch::{Device, Guarding, Job};
use crate::kernel::registry::{Instantiation, Kernel};
use crate::method::Method;
use crate::problem::{InputType, Operand, Problem, Weights};

const WARMUPS: usize = 5;
const REPEATS: usize = 51;

pub fn run(args: &Args) -> Result<Vec<Finding>, CliError> {
    let mut gpu = Gpu::open().map_err(no_cuda)?;
    let images = tiny::images(&gpu).map_err(no_cuda)?;
    let mut rows = Vec::new();
    for weights in Weights::ALL {
        for input in [InputType::F32, InputType::Bf16] {
            if args.input.is_some_and(|only| only != input) {
                continue;
            }
            let layout = (Operand::Variable, Operand::Variable);
            let problem = mamba("gpu-check/time", MAMBA_1_4B, weights, input, layout, false);
            for method in Method::ALL {
                let timed = time(&mut gpu, &images, method, &problem);
                rows.push(Finding::new(format!("{method} {weights} {input}"), timed));
            }
        }
    }
    Ok(rows)
}

fn time(gpu: &mut Gpu, images: &Images, method: Method, problem: &Problem) -> Result<String, String> {
    let kernel = Kernel::Scan(Instantiation::for_problem(method, problem));
    let mut job = Job::scan(kernel, problem, problem.input.into());
    let image = images.get(kernel).map_err(|error| error.to_string())?;
    job.image = Some((*image).clone());
    let loaded = job.load(gpu, Guarding::Off);
    let times = loaded.and_then(|loaded| gpu.time(&loaded.launch, WARMUPS, REPEATS));
    gpu.free_all();
    let mut times = times.map_err(|error| error.to_string())?;
    times.sort_by(f32::total_cmp);
    let median = f64::from(times[times.len() / 2]);
    let (registers, local) = gpu.registers_and_local(&image).map_err(|error| error.to_string())?;
    let elements = problem.shape.sequence_len() as f64;
    Ok(format!(
        "median {median:.3} ms of {REPEATS} (fastest {:.3}, slowest {:.3}): {:.2} billion elements/s (batch·dim·seqlen); \
         {registers} registers, {local} bytes local",
        times[0],
        times[times.len() - 1],
        elements / median / 1e6
    ))
}

//! One kernel launch as data: what goes to the device and what comes back, in the tensors' storage types.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use super::cache::Image;
use super::device::{Device, DeviceError, Launch, Params};
use super::memory::{Buffer, Guarding};
use crate::kernel::cpu::ffi::{RawDiscretize, RawScan};
use crate::kernel::registry::{Instantiation, Kernel};
use crate::kernel::{Coefficients, CpuBackend, KernelError, ScanOutput};
use crate::method::Method;
use crate::problem::{CoefficientProblem, InputType, Operand, Problem, Shape, Weights};

/// A launch: sizes here, the tensors' bytes beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// [`Kernel::number`]
    kernel: u16,
    /// batch, dim, dstate, seqlen, groups; for coefficients: n, then zeros.
    sizes: [u64; 5],
    delta_softplus: bool,
    /// Bytes of one element of each output, and how many there are.
    outputs: Vec<(u64, u64)>,
    /// The compiled kernel, where the device needs one.
    pub image: Option<Image>,
}

/// The names of a scan's tensors, in order: inputs, then outputs.
const SCAN_INPUTS: [&str; 8] = ["u", "delta", "A", "B", "C", "D", "z", "delta_bias"];
const SCAN_OUTPUTS: [&str; 3] = ["out", "last_state", "workspace"];
const DISCRETIZE_INPUTS: [&str; 3] = ["delta", "A", "B"];
const DISCRETIZE_OUTPUTS: [&str; 2] = ["a_bar", "b_bar"];

/// A job and its inputs; an input that the problem lacks is `None`.
pub struct Prepared {
    pub job: Job,
    pub inputs: Vec<Option<Vec<u8>>>,
}

fn element_size(storage: InputType) -> u64 {
    match storage {
        InputType::F32 => 4,
        InputType::F16 | InputType::Bf16 => 2,
    }
}

fn encoded(values: &[f32], storage: InputType) -> Vec<u8> {
    match storage {
        InputType::F32 => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
        InputType::F16 => values.iter().flat_map(|&value| f16::from_f32(value).to_ne_bytes()).collect(),
        InputType::Bf16 => values.iter().flat_map(|&value| bf16::from_f32(value).to_ne_bytes()).collect(),
    }
}

fn decoded(bytes: &[u8], storage: InputType) -> Vec<f32> {
    match storage {
        InputType::F32 => {
            bytes.as_chunks::<4>().0.iter().map(|&element| f32::from_ne_bytes(element)).collect()
        }
        InputType::F16 => {
            bytes.as_chunks::<2>().0.iter().map(|&element| f16::from_ne_bytes(element).to_f32()).collect()
        }
        InputType::Bf16 => {
            bytes.as_chunks::<2>().0.iter().map(|&element| bf16::from_ne_bytes(element).to_f32()).collect()
        }
    }
}

/// The job of a scan whose sizes have been checked. `kernel` is the one that the problem needs, or one that
/// misbehaves in its place.
pub fn scan(kernel: Kernel, problem: &Problem) -> Prepared {
    let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
    let storage = problem.input;
    let operand = |which, values: &[f32]| {
        encoded(values, if which == Operand::Constant { InputType::F32 } else { storage })
    };
    let bidirectional =
        matches!(kernel, Kernel::Scan(Instantiation { method, .. }) if method.is_bidirectional());
    let length = problem.shape.sequence_len() as u64;
    let states = (batch * dim * dstate * problem.weights.width()) as u64;
    Prepared {
        job: Job {
            kernel: kernel.number(),
            sizes: [batch, dim, dstate, seqlen, groups].map(|size| size as u64),
            delta_softplus: problem.delta_softplus,
            // The workspace holds poly's reversed scan, in f32.
            outputs: vec![
                (element_size(storage), length),
                (4, states),
                (4, if bidirectional { length } else { 0 }),
            ],
            image: None,
        },
        inputs: vec![
            Some(encoded(&problem.u, storage)),
            Some(encoded(&problem.delta, storage)),
            Some(encoded(&problem.a, InputType::F32)),
            Some(operand(problem.b_operand, &problem.b)),
            Some(operand(problem.c_operand, &problem.c)),
            problem.d.as_ref().map(|d| encoded(d, InputType::F32)),
            problem.z.as_ref().map(|z| encoded(z, storage)),
            problem.delta_bias.as_ref().map(|bias| encoded(bias, InputType::F32)),
        ],
    }
}

/// The job of element-wise coefficients whose sizes have been checked.
pub fn coefficients(method: Method, problem: &CoefficientProblem) -> Prepared {
    let n = problem.delta.len() as u64;
    let tensor = |values: &[f32]| Some(encoded(values, InputType::F32));
    Prepared {
        job: Job {
            kernel: Kernel::Discretize { method, weights: problem.weights }.number(),
            sizes: [n, 0, 0, 0, 0],
            delta_softplus: false,
            outputs: vec![(4, n * problem.weights.width() as u64); 2],
            image: None,
        },
        inputs: vec![tensor(&problem.delta), tensor(&problem.a), tensor(&problem.b)],
    }
}

/// A scan's outputs, widened.
pub fn scan_output(storage: InputType, outputs: &[Vec<u8>]) -> Result<ScanOutput, KernelError> {
    let [out, last_state, ..] = outputs else { return Err(incomplete()) };
    Ok(ScanOutput { out: decoded(out, storage), last_state: decoded(last_state, InputType::F32) })
}

/// Ā and B̄.
pub fn coefficients_output(outputs: &[Vec<u8>]) -> Result<Coefficients, KernelError> {
    let [a_bar, b_bar] = outputs else { return Err(incomplete()) };
    Ok(Coefficients { a_bar: decoded(a_bar, InputType::F32), b_bar: decoded(b_bar, InputType::F32) })
}

fn incomplete() -> KernelError {
    KernelError::Unavailable("the worker returned fewer tensors than the kernel has".to_owned())
}

/// A job whose tensors lie on a device, ready to launch.
pub struct Loaded<'a> {
    inputs: Vec<Option<Buffer>>,
    outputs: Vec<Buffer>,
    pub launch: Launch<'a>,
}

/// Copies the inputs to the device. On failure nothing stays there.
pub fn load<'a>(
    job: &'a Job,
    inputs: &[Option<Vec<u8>>],
    device: &mut dyn Device,
    guarding: Guarding,
) -> Result<Loaded<'a>, DeviceError> {
    let mismatch = || DeviceError::Fault("the job's tensors do not fit its kernel".to_owned());
    let kernel = Kernel::numbered(job.kernel).ok_or_else(mismatch)?;
    let (input_names, output_names): (&[&str], &[&str]) = match kernel {
        Kernel::Discretize { .. } => (&DISCRETIZE_INPUTS, &DISCRETIZE_OUTPUTS),
        Kernel::Scan(_) | Kernel::Misbehave(_) => (&SCAN_INPUTS, &SCAN_OUTPUTS),
    };
    if inputs.len() != input_names.len() || job.outputs.len() != output_names.len() {
        return Err(mismatch());
    }
    let mut buffers = Buffers { inputs: Vec::new(), outputs: Vec::new() };
    let filled = buffers.fill(job, (inputs, input_names), output_names, device, guarding);
    if let Err(error) = filled {
        buffers.free(device);
        return Err(error);
    }
    let launch = launch(job, kernel, &buffers);
    Ok(Loaded { inputs: buffers.inputs, outputs: buffers.outputs, launch })
}

impl Loaded<'_> {
    /// Checks every guard zone and input, and fetches the outputs. Frees all memory either way.
    pub fn collect(
        self,
        inputs: &[Option<Vec<u8>>],
        job: &Job,
        device: &mut dyn Device,
    ) -> Result<Vec<Vec<u8>>, DeviceError> {
        let fetch = |device: &mut dyn Device| {
            for (buffer, bytes) in self.inputs.iter().zip(inputs) {
                if let (Some(buffer), Some(bytes)) = (buffer, bytes) {
                    buffer.check_input(device, bytes)?;
                }
            }
            let mut outputs = Vec::new();
            for (i, (buffer, &(size, _))) in self.outputs.iter().zip(&job.outputs).enumerate() {
                outputs.push(buffer.check_output(device, size as usize, i < 2)?);
            }
            // What only the kernel itself needed stays behind.
            outputs.truncate(2);
            Ok(outputs)
        };
        let outputs = fetch(device);
        self.free(device);
        outputs
    }

    /// Gives the memory back.
    pub fn free(self, device: &mut dyn Device) {
        Buffers { inputs: self.inputs, outputs: self.outputs }.free(device);
    }
}

/// Loads, runs and collects.
pub fn execute(
    job: &Job,
    inputs: &[Option<Vec<u8>>],
    device: &mut dyn Device,
    guarding: Guarding,
) -> Result<Vec<Vec<u8>>, DeviceError> {
    let loaded = load(job, inputs, device, guarding)?;
    match device.run(&loaded.launch) {
        Ok(()) => loaded.collect(inputs, job, device),
        Err(error) => {
            loaded.free(device);
            Err(error)
        }
    }
}

struct Buffers {
    inputs: Vec<Option<Buffer>>,
    outputs: Vec<Buffer>,
}

impl Buffers {
    fn fill(
        &mut self,
        job: &Job,
        (inputs, input_names): (&[Option<Vec<u8>>], &[&'static str]),
        output_names: &[&'static str],
        device: &mut dyn Device,
        guarding: Guarding,
    ) -> Result<(), DeviceError> {
        for (bytes, &name) in inputs.iter().zip(input_names) {
            let buffer =
                bytes.as_ref().map(|bytes| Buffer::input(device, guarding, name, bytes)).transpose()?;
            self.inputs.push(buffer);
        }
        for (&(size, len), &name) in job.outputs.iter().zip(output_names) {
            self.outputs.push(Buffer::output(device, guarding, name, (size * len) as usize)?);
        }
        Ok(())
    }

    fn free(self, device: &mut dyn Device) {
        for buffer in self.inputs.into_iter().flatten().chain(self.outputs) {
            buffer.free(device);
        }
    }
}

/// The kernel's argument and its launch, by the table of kernels/launch.cuh.
fn launch<'a>(job: &'a Job, kernel: Kernel, buffers: &Buffers) -> Launch<'a> {
    let input = |i: usize| buffers.inputs[i].as_ref().map_or(0, Buffer::address) as usize as *const _;
    let output = |i: usize| buffers.outputs[i].address() as usize as *mut _;
    let [first, second, dstate, seqlen, groups] = job.sizes.map(|size| size as i64);
    let image = job.image.as_ref();
    match kernel {
        Kernel::Discretize { .. } => {
            let threads = CpuBackend::discretize_threads();
            Launch {
                kernel,
                image,
                // No grid is empty; the kernel itself stops at n.
                blocks: (first as usize).div_ceil(threads).max(1) as u32,
                threads: threads as u32,
                shared: 0,
                params: Params::Discretize(RawDiscretize {
                    delta: input(0),
                    a: input(1),
                    b: input(2),
                    a_bar: output(0),
                    b_bar: output(1),
                    n: first,
                }),
            }
        }
        Kernel::Scan(_) | Kernel::Misbehave(_) => {
            let weights = match kernel {
                Kernel::Scan(which) => which.weights,
                _ => Weights::Real,
            };
            Launch {
                kernel,
                image,
                blocks: (first * second) as u32,
                threads: CpuBackend::block_threads(seqlen as usize) as u32,
                shared: CpuBackend::shared_bytes(dstate as usize, weights) as u32,
                params: Params::Scan(RawScan {
                    u: input(0),
                    delta: input(1),
                    a: input(2),
                    b: input(3),
                    c: input(4),
                    d: input(5),
                    z: input(6),
                    delta_bias: input(7),
                    out: output(0),
                    last_state: output(1),
                    workspace: output(2),
                    batch: first,
                    dim: second,
                    dstate,
                    seqlen,
                    groups,
                    delta_softplus: job.delta_softplus.into(),
                }),
            }
        }
    }
}

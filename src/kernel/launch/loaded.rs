//! A job on a device: its tensors in buffers, its launches, and what comes back.

use std::ptr::null_mut;

use super::buffer::{Buffer, Guarding, POISON};
use super::device::{Device, DeviceError, Launch, Params};
use super::job::{
    BACKWARD_INPUTS, Bytes, DENSE_BACKWARD_INPUTS, DENSE_SCAN_INPUTS, DIFFERENTIATE_INPUTS,
    DISCRETIZE_INPUTS, GRADIENTS, Job, MEASURE_INPUTS, Output, SCAN_INPUTS, backward_shape, directions,
    workspace_of,
};
use crate::kernel::CpuBackend;
use crate::kernel::cpu::ffi::{
    self, DenseUse, RawBackward, RawDense, RawDerivatives, RawDiscretize, RawInstantiation, RawMeasure,
    RawOperands, RawScan,
};
use crate::kernel::launch::Result;
use crate::kernel::registry::{Dense, Instantiation, Kernel};
use crate::method::Method;
use crate::promise::Tier;
use crate::tensor::StepName;

/// Place of the initial state among [`DENSE_BACKWARD_INPUTS`].
const INITIAL_STATE_OF_GRADIENTS: usize = 10;

/// Threads of a block of `kernels/bench/`.
const MEASURE_THREADS: usize = 256;

impl Job {
    /// Copies the inputs to the device, ready to launch. What lies there stays until [`Device::free_all`].
    pub fn load(&self, device: &mut dyn Device, guarding: Guarding) -> Result<Loaded<'_>> {
        let (names, outputs) = self.tables()?;
        if self.inputs.len() != names.len() || self.outputs.len() != outputs {
            return Err(DeviceError::Fault("the job's tensors do not fit its kernel".to_owned()));
        }
        let mut inputs = Vec::new();
        for (bytes, name) in self.inputs.iter().zip(names) {
            let bytes = bytes.as_ref();
            inputs.push(bytes.map(|bytes| Buffer::input(device, guarding, name, bytes)).transpose()?);
        }
        let mut outputs = Vec::new();
        for output in &self.outputs {
            outputs.push(Buffer::output(device, guarding, &output.name, output.bytes())?);
        }
        let workspace = Buffer::output(device, guarding, &self.workspace.name, self.workspace.bytes())?;
        if let Kernel::ChunkSteps(_) = self.kernel {
            workspace.make_stale(device, self.before_chunk_steps())?;
        }
        let buffers = Buffers { inputs, outputs, workspace };
        Ok(Loaded { job: self, launches: self.launches(&buffers.addresses()), buffers })
    }

    /// The names of the kernel's inputs, and how many outputs it has.
    pub fn tables(&self) -> Result<(&'static [&'static str], usize)> {
        Ok(match self.kernel {
            Kernel::Discretize { .. } | Kernel::Dense(_) => (&DISCRETIZE_INPUTS, 2),
            Kernel::Scan(_) | Kernel::ChunkSteps(_) | Kernel::Misbehave(_) => (&SCAN_INPUTS, 2),
            Kernel::DenseScan(_) => (&DENSE_SCAN_INPUTS, 2),
            Kernel::Backward(_) => (&BACKWARD_INPUTS, GRADIENTS.len() - 1),
            Kernel::DenseBackward(_) => (&DENSE_BACKWARD_INPUTS, GRADIENTS.len()),
            Kernel::Differentiate { .. } => (&DIFFERENTIATE_INPUTS, StepName::ALL.len()),
            Kernel::Measure(_) => (&MEASURE_INPUTS, 1),
            // The judge's rows stay on the device from one launch to the next; sums come after a scan.
            Kernel::Judge(_) | Kernel::Evaluate(_) | Kernel::JudgeFunction(_) | Kernel::Sums(_) => {
                return Err(DeviceError::Fault("the kernel takes no job of its own".to_owned()));
            }
        })
    }

    /// Loads, runs and collects: the outputs' bytes. No memory of the device stays in use.
    pub fn execute(&self, device: &mut dyn Device, guarding: Guarding) -> Result<Bytes> {
        let run = |device: &mut dyn Device| {
            let loaded = self.load(device, guarding)?;
            loaded.launches.iter().try_for_each(|launch| device.run(launch))?;
            loaded.collect(device)
        };
        let outputs = run(device);
        device.free_all();
        outputs
    }

    /// The bytes of a forward scan's workspace ahead of its chunks' steps: poly's reversed scan.
    fn before_chunk_steps(&self) -> usize {
        let reversed = self.kernel.is_bidirectional().then(|| self.sizes[0] * self.sizes[1] * self.sizes[3]);
        reversed.unwrap_or(0) * self.workspace.element.size()
    }

    /// The kernel's argument and its launch, by the tables of kernels/launch.cuh and kernels/launch_backward.cuh, and the launch
    /// after it.
    pub fn launches(&self, at: &Addresses) -> Vec<Launch<'_>> {
        let input = |i: usize| at.inputs[i] as usize as *const _;
        let output = |i: usize| at.outputs[i] as usize as *mut _;
        let [first, second, dstate, seqlen, groups] = self.sizes.map(|size| size as i64);
        let initial_state = |i: usize| if at.inputs.len() > i { input(i) } else { std::ptr::null() };
        let operands = |which: RawInstantiation, given: usize| RawOperands {
            u: input(0),
            delta: input(1),
            a: input(2),
            b: input(3),
            c: input(4),
            d: input(5),
            z: input(6),
            delta_bias: input(7),
            initial_state: initial_state(given),
            batch: first,
            dim: second,
            dstate,
            seqlen,
            groups,
            delta_softplus: self.delta_softplus.into(),
            method: which.method,
            input: which.input,
            variable_b: which.variable_b,
            variable_c: which.variable_c,
            width: 1 + which.complex,
        };
        let (kernel, image) = (self.kernel, self.image.as_ref());
        // No grid is empty; an element-wise kernel itself stops at n.
        let element_wise = |params| Launch {
            kernel,
            image,
            blocks: self.sizes[0].div_ceil(CpuBackend::discretize_threads()).max(1) as u32,
            threads: CpuBackend::discretize_threads() as u32,
            shared: 0,
            params,
        };
        let blocks = || ffi::holdfast_scan_blocks(first, second, groups, kernel.lanes().are_few());
        let scan = |shared: usize, params| Launch {
            kernel,
            image,
            blocks: blocks() as u32,
            threads: CpuBackend::block_threads() as u32,
            shared: shared as u32,
            params,
        };
        // A team of threads for each channel of the batch.
        let dense = |which: Instantiation, of: DenseUse, params| Launch {
            kernel,
            image,
            blocks: ffi::holdfast_dense_blocks(first * second, dstate, 1) as u32,
            threads: ffi::holdfast_dense_threads(dstate),
            shared: ffi::holdfast_dense_shared(&which.into(), dstate, of as i32) as u32,
            params,
        };
        match kernel {
            Kernel::Discretize { .. } => vec![element_wise(Params::Discretize(RawDiscretize {
                delta: input(0),
                a: input(1),
                b: input(2),
                a_bar: output(0),
                b_bar: output(1),
                n: first,
            }))],
            Kernel::Differentiate { .. } => vec![element_wise(Params::Differentiate(RawDerivatives {
                delta: input(0),
                a: input(1),
                a_bar: output(0),
                slope: output(1),
                h: output(2),
                h_by_delta: output(3),
                h_by_a: output(4),
                n: first,
            }))],
            Kernel::Dense(Dense { method, weights, tier, .. }) => {
                let [count, n, m] = [first, second, dstate];
                let params = RawDense {
                    delta: input(0),
                    a: input(1),
                    b: input(2),
                    a_bar: output(0),
                    b_bar: output(1),
                    count,
                    n,
                    m,
                    method: method.id().into(),
                };
                let which = RawInstantiation::of_elements(method, weights, tier);
                vec![Launch {
                    kernel,
                    image,
                    blocks: ffi::holdfast_dense_blocks(count, n, m) as u32,
                    threads: ffi::holdfast_dense_threads(n),
                    shared: ffi::holdfast_dense_shared(&which, n, DenseUse::Steps as i32) as u32,
                    params: Params::Dense(params),
                }]
            }
            Kernel::Measure(operation) => {
                let [n, repeat] = [self.sizes[0], self.sizes[1]];
                let from = if at.inputs[0] == 0 { at.workspace } else { at.inputs[0] };
                let params = RawMeasure {
                    from: from as usize as *const _,
                    to: output(0),
                    n: n as i64,
                    repeat: repeat as i64,
                    zero: 0.0,
                };
                vec![Launch {
                    kernel,
                    image,
                    blocks: n.div_ceil(operation.per_thread() * MEASURE_THREADS).max(1) as u32,
                    threads: MEASURE_THREADS as u32,
                    shared: 0,
                    params: Params::Measure(params),
                }]
            }
            Kernel::Backward(which) | Kernel::DenseBackward(which) => {
                let is_dense = matches!(kernel, Kernel::DenseBackward(_));
                let shape = backward_shape(which, is_dense, self.sizes, self.workspace.element);
                let parts = workspace_of(&shape);
                let part = |offset: i64| (at.workspace as usize + offset as usize) as *mut _;
                // What the problem lacks has no gradient.
                let optional = |of: usize, i: usize| {
                    if at.inputs.get(of).is_none_or(|&address| address == 0) { null_mut() } else { output(i) }
                };
                let params = RawBackward {
                    operands: operands(which.into(), INITIAL_STATE_OF_GRADIENTS),
                    dout: input(8),
                    dlast_state: input(9),
                    grad_u: output(0),
                    grad_delta: output(1),
                    grad_a: output(2),
                    grad_b: output(3),
                    grad_c: output(4),
                    grad_d: optional(5, 5),
                    grad_z: optional(6, 6),
                    grad_delta_bias: optional(7, 7),
                    grad_initial_state: optional(INITIAL_STATE_OF_GRADIENTS, 8),
                    states: part(parts.states),
                    a_sums: part(parts.a_sums),
                    b_sums: part(parts.b_sums),
                    c_sums: part(parts.c_sums),
                    d_sums: part(parts.d_sums),
                    delta_bias_sums: part(parts.delta_bias_sums),
                    cotangents: part(parts.cotangents),
                    is_dense: is_dense.into(),
                };
                let params = Params::Backward(params);
                let sums = Launch {
                    kernel: Kernel::Sums(which.input),
                    image: self.image_then.as_ref(),
                    blocks: ffi::holdfast_sum_blocks(&shape) as u32,
                    threads: ffi::holdfast_sum_threads(),
                    shared: 0,
                    params,
                };
                let own = if is_dense { dense(which, DenseUse::Gradients, params) } else { scan(0, params) };
                vec![own, sums]
            }
            Kernel::Scan(_)
            | Kernel::ChunkSteps(_)
            | Kernel::DenseScan(_)
            | Kernel::Misbehave(_)
            | Kernel::Judge(_)
            | Kernel::Evaluate(_)
            | Kernel::JudgeFunction(_)
            | Kernel::Sums(_) => {
                let (_, weights) = kernel.computes();
                let chunk_len = self.chunk_len as i64;
                let chunks = ffi::holdfast_chunks(seqlen, chunk_len);
                let steps = self.before_chunk_steps();
                let which = match kernel {
                    Kernel::Scan(which) | Kernel::ChunkSteps(which) | Kernel::DenseScan(which) => {
                        which.into()
                    }
                    _ => RawInstantiation::of_elements(Method::Zoh, weights, Tier::Accurate),
                };
                let params = Params::Scan(RawScan {
                    operands: operands(which, 8),
                    out: output(0),
                    last_state: output(1),
                    workspace: at.workspace as usize as *mut _,
                    chunk_steps: (at.workspace as usize + steps) as *mut _,
                    chunks,
                    chunk_len,
                });
                if let Kernel::DenseScan(which) = kernel {
                    return vec![dense(which, DenseUse::Scans, params)];
                }
                let shared = CpuBackend::shared_bytes(dstate as usize, weights);
                let Kernel::ChunkSteps(which) = kernel else { return vec![scan(shared, params)] };
                let directions = directions(kernel) as i32;
                let count = ffi::holdfast_chunk_step_blocks(blocks(), chunks, dstate, directions);
                let steps = Launch { blocks: count as u32, ..scan(0, params) };
                let scan = Launch {
                    kernel: Kernel::Scan(which),
                    image: self.image_then.as_ref(),
                    blocks: (blocks() * chunks) as u32,
                    ..scan(shared, params)
                };
                vec![steps, scan]
            }
        }
    }
}

/// A job whose tensors lie on a device.
pub struct Loaded<'a> {
    job: &'a Job,
    buffers: Buffers<'a>,
    /// One after the other.
    pub launches: Vec<Launch<'a>>,
}

struct Buffers<'a> {
    inputs: Vec<Option<Buffer<'a>>>,
    outputs: Vec<Buffer<'a>>,
    workspace: Buffer<'a>,
}

impl Buffers<'_> {
    fn addresses(&self) -> Addresses {
        let input = |buffer: &Option<Buffer>| buffer.as_ref().map_or(0, Buffer::address);
        Addresses {
            inputs: self.inputs.iter().map(input).collect(),
            outputs: self.outputs.iter().map(Buffer::address).collect(),
            workspace: self.workspace.address(),
        }
    }
}

/// Where a job's tensors lie on its device, each table in the order of the kernel's, and 0 for what there is not.
#[derive(Clone, Debug)]
pub struct Addresses {
    pub inputs: Vec<u64>,
    pub outputs: Vec<u64>,
    pub workspace: u64,
}

impl Loaded<'_> {
    /// Makes every output a NaN again, so that what is left unwritten is not what another run wrote.
    pub(super) fn poison(&self, device: &mut dyn Device) -> Result<()> {
        let mut outputs = self.buffers.outputs.iter().zip(&self.job.outputs);
        outputs.try_for_each(|(buffer, output)| device.fill(buffer.address(), POISON, output.bytes()))
    }

    /// Writes every input once more, whatever has become of it.
    pub(super) fn restore(&self, device: &mut dyn Device) -> Result<()> {
        let inputs = self.buffers.inputs.iter().zip(&self.job.inputs);
        inputs
            .filter_map(|(buffer, bytes)| buffer.as_ref().zip(bytes.as_ref()))
            .try_for_each(|(buffer, bytes)| device.write(buffer.address(), bytes))
    }

    /// Whether every input is what was loaded.
    pub(super) fn is_unchanged(&self, device: &mut dyn Device) -> Result<bool> {
        for (buffer, bytes) in self.buffers.inputs.iter().zip(&self.job.inputs) {
            let (Some(buffer), Some(bytes)) = (buffer, bytes) else { continue };
            let mut found = vec![0; bytes.len()];
            device.read(buffer.address(), &mut found)?;
            if found != *bytes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checks every guard zone and input, and fetches the outputs' bytes.
    pub(super) fn collect(&self, device: &mut dyn Device) -> Result<Bytes> {
        let Loaded { job, buffers, .. } = self;
        for (buffer, bytes) in buffers.inputs.iter().zip(&job.inputs) {
            if let (Some(buffer), Some(bytes)) = (buffer, bytes) {
                buffer.check_input(device, bytes)?;
            }
        }
        buffers.workspace.check_guards(device)?;
        let mut fetch = |(buffer, output): (&Buffer, &Output)| {
            buffer.check_output(device, output.element.size(), job.complete).map(Some)
        };
        buffers.outputs.iter().zip(&job.outputs).map(&mut fetch).collect()
    }
}

//! One launch as data: what goes to a device and what comes back, in the tensors' element types.

use num_traits::AsPrimitive;
use serde::{Deserialize, Serialize};

use super::buffer::{self, Buffer, Guarding};
use super::device::{Device, DeviceError, Launch, Params};
use super::element::Element;
use crate::kernel::cpu::ffi::{self, RawDiscretize, RawScan};
use crate::kernel::cuda::cache::Image;
use crate::kernel::registry::{Instantiation, Kernel};
use crate::kernel::{CpuBackend, KernelError, SCANNED, scanned};
use crate::method::Method;
use crate::problem::{CoefficientProblem, Operand, Problem, Shape, Weights};
use crate::tensor::{Coefficients, Tensor, TensorName, Tensors};

/// The names of the kernels' inputs, in the order of a job's.
const SCAN_INPUTS: [&str; 8] = ["u", "delta", "A", "B", "C", "D", "z", "delta_bias"];
const DISCRETIZE_INPUTS: [&str; 3] = ["delta", "A", "B"];

/// Tensors' bytes, of which some may be missing.
pub type Bytes = Vec<Option<Vec<u8>>>;

/// One launch: a kernel, its inputs and what it returns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub kernel: Kernel,
    /// The compiled kernel, where the device needs one.
    pub image: Option<Image>,
    /// batch, dim, dstate, seqlen, groups; for coefficients: n, then zeros.
    pub sizes: [usize; 5],
    pub delta_softplus: bool,
    /// Whether every element of the outputs will be written; not where only some blocks run.
    pub complete: bool,
    pub outputs: Vec<Output>,
    /// What only the kernel itself needs.
    pub workspace: Output,
    /// By the table of the kernel's inputs; those that the problem lacks are `None`. They travel beside the job.
    #[serde(skip)]
    pub inputs: Bytes,
}

/// A tensor that a kernel writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Output {
    name: String,
    pub element: Element,
    len: usize,
}

impl Output {
    fn workspace(element: Element, len: usize) -> Self {
        Output { name: "workspace".to_owned(), element, len }
    }

    fn bytes(&self) -> usize {
        self.len * self.element.size()
    }
}

/// The values of a job's outputs, widened, in the order of the outputs.
#[derive(Debug)]
pub struct Returned(Vec<Vec<f64>>);

impl Returned {
    /// Of a scan, in the precision that is asked for: at least that of the outputs.
    pub fn scan<T: Copy + 'static>(self, problem: &Problem) -> Tensors<T>
    where
        f64: AsPrimitive<T>,
    {
        scanned(problem, self.narrowed())
    }

    /// Of element-wise coefficients.
    pub fn coefficients<T: Copy + 'static>(self) -> Coefficients<T>
    where
        f64: AsPrimitive<T>,
    {
        let mut values = self.narrowed();
        let mut next = || values.next().unwrap_or_default();
        Coefficients { a_bar: next(), b_bar: next() }
    }

    fn narrowed<T: Copy + 'static>(self) -> impl Iterator<Item = Vec<T>>
    where
        f64: AsPrimitive<T>,
    {
        self.0.into_iter().map(|values| values.into_iter().map(AsPrimitive::as_).collect())
    }

    /// The first output's values.
    pub fn first(&self) -> &[f64] {
        self.0.first().map_or(&[], Vec::as_slice)
    }
}

impl Job {
    /// A scan whose sizes have been checked, with its sequences stored as `storage`: the problem's own type, or double for
    /// a lifted kernel. `kernel` is the one that the problem needs, or one that misbehaves in its place.
    pub fn scan(kernel: Kernel, problem: &Problem, storage: Element) -> Self {
        let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
        // Constant operands are weights: f32 whatever the input type.
        let operand = |which, values: &[f32]| {
            if which == Operand::Constant { Element::F32 } else { storage }.encode(values)
        };
        let weights = |values: &Vec<f32>| Element::F32.encode(values);
        let output = |name: TensorName| {
            let Tensor { shape, width, element, .. } = problem.tensor::<f32>(name, Vec::new());
            let element = if storage == Element::F64 { storage } else { element.into() };
            Output { name: name.to_string(), element, len: shape.iter().product::<usize>() * width }
        };
        // What a fault may run in another method's place needs what that one needs.
        let needs_workspace = kernel.is_bidirectional() || CpuBackend::planted_fault().is_some();
        let workspace = if needs_workspace { problem.shape.sequence_len() } else { 0 };
        Job {
            kernel,
            image: None,
            sizes: [batch, dim, dstate, seqlen, groups],
            delta_softplus: problem.delta_softplus,
            complete: true,
            outputs: SCANNED.map(output).to_vec(),
            // Poly's reversed scan.
            workspace: Output::workspace(
                if storage == Element::F64 { storage } else { Element::F32 },
                workspace,
            ),
            inputs: vec![
                Some(storage.encode(&problem.u)),
                Some(storage.encode(&problem.delta)),
                Some(weights(&problem.a)),
                Some(operand(problem.b_operand, &problem.b)),
                Some(operand(problem.c_operand, &problem.c)),
                problem.d.as_ref().map(weights),
                problem.z.as_ref().map(|z| storage.encode(z)),
                problem.delta_bias.as_ref().map(weights),
            ],
        }
    }

    /// Element-wise coefficients whose sizes have been checked, returned as `returned`: f32, or double by a lifted kernel.
    pub fn coefficients(method: Method, problem: &CoefficientProblem, returned: Element) -> Self {
        let n = problem.delta.len();
        let inputs = [&problem.delta, &problem.a, &problem.b];
        let len = n * problem.weights.width();
        let output = |name: &str| Output { name: name.to_owned(), element: returned, len };
        Job {
            kernel: Kernel::Discretize { method, weights: problem.weights },
            image: None,
            sizes: [n, 0, 0, 0, 0],
            delta_softplus: false,
            complete: true,
            outputs: vec![output("a_bar"), output("b_bar")],
            workspace: Output::workspace(returned, 0),
            inputs: inputs.map(|values| Some(Element::F32.encode(values))).to_vec(),
        }
    }

    /// Room for poly's workspace, whatever the kernel.
    pub fn with_workspace(mut self) -> Self {
        self.workspace.len = self.sizes[0] * self.sizes[1] * self.sizes[3];
        self
    }

    /// The bytes that [`Job::load`] allocates with guard zones, and in how many buffers.
    pub fn size(&self) -> (usize, usize) {
        let inputs = self.inputs.iter().flatten().map(Vec::len);
        let written = self.outputs.iter().chain([&self.workspace]).map(Output::bytes);
        let bytes = inputs.chain(written).map(buffer::guarded);
        bytes.fold((0, 0), |(total, buffers), bytes| (total + bytes, buffers + 1))
    }

    /// The outputs' values, from their bytes.
    ///
    /// # Errors
    /// There are not as many of them, or not of these sizes.
    pub fn returned(&self, outputs: &Bytes) -> Result<Returned, KernelError> {
        let value = |(output, bytes): (&Output, &Option<Vec<u8>>)| {
            let bytes = bytes.as_ref().filter(|bytes| bytes.len() == output.bytes())?;
            Some(output.element.decode(bytes))
        };
        let values: Option<Vec<_>> = self.outputs.iter().zip(outputs).map(value).collect();
        values.filter(|_| outputs.len() == self.outputs.len()).map(Returned).ok_or_else(|| {
            let reason = "the worker returned other tensors than the kernel has";
            KernelError::Unavailable(reason.to_owned())
        })
    }

    /// Copies the inputs to the device, ready to launch. What lies there stays until [`Device::free_all`].
    pub fn load(&self, device: &mut dyn Device, guarding: Guarding) -> Result<Loaded<'_>, DeviceError> {
        let (names, outputs): (&[&str], usize) = match self.kernel {
            Kernel::Discretize { .. } => (&DISCRETIZE_INPUTS, 2),
            Kernel::Scan(_) | Kernel::Misbehave(_) => (&SCAN_INPUTS, 2),
            // Its rows stay on the device from one launch to the next: it is launched without a job.
            Kernel::Judge(_) => return Err(DeviceError::Fault("the judge takes no job".to_owned())),
        };
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
        let buffers = Buffers { inputs, outputs, workspace };
        Ok(Loaded { job: self, launch: self.launch(&buffers), buffers })
    }

    /// Loads, runs and collects: the outputs' bytes. No memory of the device stays in use.
    pub fn execute(&self, device: &mut dyn Device, guarding: Guarding) -> Result<Bytes, DeviceError> {
        let run = |device: &mut dyn Device| {
            let loaded = self.load(device, guarding)?;
            device.run(&loaded.launch)?;
            loaded.collect(device)
        };
        let outputs = run(device);
        device.free_all();
        outputs
    }

    /// The kernel's argument and its launch, by the table of kernels/launch.cuh.
    fn launch(&self, buffers: &Buffers) -> Launch<'_> {
        let input = |i: usize| buffers.inputs[i].as_ref().map_or(0, Buffer::address) as usize as *const _;
        let output = |i: usize| buffers.outputs[i].address() as usize as *mut _;
        let [first, second, dstate, seqlen, groups] = self.sizes.map(|size| size as i64);
        let (kernel, image) = (self.kernel, self.image.as_ref());
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
            Kernel::Scan(_) | Kernel::Misbehave(_) | Kernel::Judge(_) => {
                let weights = match kernel {
                    Kernel::Scan(Instantiation { weights, .. }) => weights,
                    _ => Weights::Real,
                };
                Launch {
                    kernel,
                    image,
                    blocks: ffi::holdfast_scan_blocks(first, second, groups) as u32,
                    threads: CpuBackend::block_threads() as u32,
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
                        workspace: buffers.workspace.address() as usize as *mut _,
                        batch: first,
                        dim: second,
                        dstate,
                        seqlen,
                        groups,
                        delta_softplus: self.delta_softplus.into(),
                    }),
                }
            }
        }
    }
}

/// A job whose tensors lie on a device.
pub struct Loaded<'a> {
    job: &'a Job,
    buffers: Buffers<'a>,
    pub launch: Launch<'a>,
}

struct Buffers<'a> {
    inputs: Vec<Option<Buffer<'a>>>,
    outputs: Vec<Buffer<'a>>,
    workspace: Buffer<'a>,
}

impl Loaded<'_> {
    /// Checks every guard zone and input, and fetches the outputs' bytes.
    fn collect(self, device: &mut dyn Device) -> Result<Bytes, DeviceError> {
        let Loaded { job, buffers, .. } = self;
        for (buffer, bytes) in buffers.inputs.iter().zip(&job.inputs) {
            if let (Some(buffer), Some(bytes)) = (buffer, bytes) {
                buffer.check_input(device, bytes)?;
            }
        }
        buffers.workspace.check_output(device, job.workspace.element.size(), false)?;
        let mut fetch = |(buffer, output): (&Buffer, &Output)| {
            buffer.check_output(device, output.element.size(), job.complete).map(Some)
        };
        buffers.outputs.iter().zip(&job.outputs).map(&mut fetch).collect()
    }
}

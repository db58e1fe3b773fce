//! One launch as data, and the one that may come after it: what goes to a device and what comes back, in the tensors' element
//! types.

use std::ptr::null_mut;

use num_traits::AsPrimitive;
use serde::{Deserialize, Serialize};

use super::buffer::{self, Buffer, Guarding, POISON};
use super::device::{Device, DeviceError, Launch, Params};
use super::element::Element;
use crate::kernel::cpu::ffi::{
    self, BackwardShape, BackwardWorkspace, RawBackward, RawDerivatives, RawDiscretize, RawMeasure, RawScan,
};
use crate::kernel::cuda::cache::Image;
use crate::kernel::registry::{Instantiation, Kernel, Spread};
use crate::kernel::{CpuBackend, Derivatives, KernelError, SCANNED, scanned};
use crate::method::Method;
use crate::operation::Operation;
use crate::problem::one_step::OneStep;
use crate::problem::{CoefficientProblem, NamedInput, Operand, OutputGradients, Problem, Shape};
use crate::tensor::GradientName::{A, B, C, D, Delta, DeltaBias, U, Z};
use crate::tensor::{
    CoefficientGradients, Coefficients, GradientName, Gradients, Tensor, TensorName, Tensors,
};

/// The names of the kernels' inputs, in the order of a job's.
const SCAN_INPUTS: [&str; 8] = ["u", "delta", "A", "B", "C", "D", "z", "delta_bias"];
const DISCRETIZE_INPUTS: [&str; 3] = ["delta", "A", "B"];
const BACKWARD_INPUTS: [&str; 10] =
    ["u", "delta", "A", "B", "C", "D", "z", "delta_bias", "dout", "dlast_state"];
const DIFFERENTIATE_INPUTS: [&str; 2] = ["delta", "A"];
const MEASURE_INPUTS: [&str; 1] = ["z"];

/// What a backward scan computes, in the order of its outputs and of [`Problem::inputs`].
const GRADIENTS: [GradientName; 8] = [U, Delta, A, B, C, D, Z, DeltaBias];
/// Threads of a block of `kernels/bench/`.
const MEASURE_THREADS: usize = 256;
const DERIVATIVES: [&str; 5] = ["a_bar", "slope", "h", "h_by_delta", "h_by_a"];

/// Tensors' bytes, of which some may be missing.
pub type Bytes = Vec<Option<Vec<u8>>>;

/// One launch: a kernel, its inputs and what it returns. Where another kernel comes after it ([`Kernel::then`]), that one has the
/// same argument.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub kernel: Kernel,
    /// The compiled kernel, where the device needs one.
    pub image: Option<Image>,
    /// That of the kernel which comes after it.
    pub image_then: Option<Image>,
    /// batch, dim, dstate, seqlen, groups; for coefficients: n, then zeros.
    pub sizes: [usize; 5],
    /// Positions of each chunk of a forward scan; others ignore it.
    pub chunk_len: usize,
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

    /// What it takes.
    pub fn bytes(&self) -> usize {
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

    /// Of a backward scan: the gradients of what the problem has.
    pub fn gradients(self, problem: &Problem) -> Gradients<f32> {
        let inputs = problem.inputs();
        let named = GRADIENTS.into_iter().zip(self.narrowed()).zip(inputs);
        let there = named.filter(|(_, (_, values, _))| values.is_some());
        there.map(|((name, values), _)| (name, problem.gradient(name, values))).collect()
    }

    /// Of element-wise derivatives.
    pub fn derivatives(self) -> Derivatives {
        let mut values = self.narrowed();
        let mut next = || values.next().unwrap_or_default();
        Derivatives { a_bar: next(), slope: next(), h: next(), h_by_delta: next(), h_by_a: next() }
    }

    /// Of a header's gradients.
    pub fn coefficient_gradients<T: Copy + 'static>(
        self,
        coefficients: &CoefficientProblem,
    ) -> CoefficientGradients<T>
    where
        f64: AsPrimitive<T>,
    {
        let mut values = self.narrowed();
        let a = values.next().unwrap_or_default();
        let mut b = values.next().unwrap_or_default();
        let delta = b.split_off(b.len().min(coefficients.b.len()));
        CoefficientGradients { delta, a, b }
    }

    /// As they are.
    pub fn values(self) -> Vec<Vec<f64>> {
        self.0
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
}

/// The bytes of a scan's inputs, its sequences stored as `storage`.
fn scan_inputs(problem: &Problem, storage: Element) -> Bytes {
    // Constant operands are weights: f32 whatever the input type.
    let operand = |which, values: &[f32]| {
        if which == Operand::Constant { Element::F32 } else { storage }.encode(values)
    };
    let weights = |values: &Vec<f32>| Element::F32.encode(values);
    vec![
        Some(storage.encode(&problem.u)),
        Some(storage.encode(&problem.delta)),
        Some(weights(&problem.a)),
        Some(operand(problem.b_operand, &problem.b)),
        Some(operand(problem.c_operand, &problem.c)),
        problem.d.as_ref().map(weights),
        problem.z.as_ref().map(|z| storage.encode(z)),
        problem.delta_bias.as_ref().map(weights),
    ]
}

/// What the workspace of a backward scan depends on, in f32.
fn backward_shape(which: Instantiation, sizes: [usize; 5]) -> BackwardShape {
    let [batch, dim, dstate, seqlen, groups] = sizes.map(|size| size as i64);
    BackwardShape {
        batch,
        dim,
        dstate,
        seqlen,
        groups,
        width: which.weights.width() as i32,
        directions: if which.method.is_bidirectional() { 2 } else { 1 },
        variable_b: (which.b == Operand::Variable).into(),
        variable_c: (which.c == Operand::Variable).into(),
        element: Element::F32.size() as i32,
    }
}

/// In which a kernel scans.
fn directions(kernel: Kernel) -> usize {
    if kernel.is_bidirectional() { 2 } else { 1 }
}

fn workspace_of(shape: &BackwardShape) -> BackwardWorkspace {
    let mut workspace = BackwardWorkspace::default();
    ffi::holdfast_backward_workspace(shape, &mut workspace);
    workspace
}

/// The outputs' values, from their bytes.
fn decoded(outputs: &[Output], all: &[Option<Vec<u8>>]) -> Result<Returned, KernelError> {
    let value = |(output, bytes): (&Output, &Option<Vec<u8>>)| {
        let bytes = bytes.as_ref().filter(|bytes| bytes.len() == output.bytes())?;
        Some(output.element.decode(bytes))
    };
    let values: Option<Vec<_>> = outputs.iter().zip(all).map(value).collect();
    values.filter(|_| all.len() == outputs.len()).map(Returned).ok_or_else(|| {
        let reason = "what came back are other tensors than the kernel has";
        KernelError::Unavailable(reason.to_owned())
    })
}

impl Job {
    /// A scan whose sizes have been checked, with its sequences stored as `storage`: the problem's own type, or double for
    /// a lifted kernel. `kernel` is the one that the problem needs, or one that misbehaves in its place.
    pub fn scan(kernel: Kernel, problem: &Problem, storage: Element) -> Self {
        let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
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
            image_then: None,
            sizes: [batch, dim, dstate, seqlen, groups],
            chunk_len: seqlen,
            delta_softplus: problem.delta_softplus,
            complete: true,
            outputs: SCANNED.map(output).to_vec(),
            // Poly's reversed scan.
            workspace: Output::workspace(
                if storage == Element::F64 { storage } else { Element::F32 },
                workspace,
            ),
            inputs: scan_inputs(problem, storage),
        }
    }

    /// The same in chunks, with room for their steps behind poly's reversed scan.
    pub fn spread_scan(spread: Spread, problem: &Problem, storage: Element) -> Self {
        let mut job = Job::scan(spread.kernel(), problem, storage);
        job.chunk_len = spread.chunk_len;
        if spread.chunks > 1 {
            let Shape { batch, dim, dstate, .. } = problem.shape;
            let states = batch * dim * dstate * problem.weights.width();
            // Of the product of Ā, and of the state.
            job.workspace.len += 2 * directions(job.kernel) * spread.chunks * states;
        }
        job
    }

    /// The gradients of a scan whose sizes have been checked.
    pub fn backward(method: Method, problem: &Problem, given: &OutputGradients) -> Self {
        let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
        let sizes = [batch, dim, dstate, seqlen, groups];
        let which = Instantiation::for_problem(method, problem);
        let storage = Element::from(problem.input);
        let output = |(name, (_, values, len)): (GradientName, NamedInput)| Output {
            name: name.to_string(),
            element: problem.gradient::<f32>(name, Vec::new()).element.into(),
            // A gradient of what the problem lacks is no output.
            len: if values.is_some() { len } else { 0 },
        };
        let mut inputs = scan_inputs(problem, storage);
        inputs.push(Some(storage.encode(&given.dout)));
        inputs.push(given.dlast_state.as_ref().map(|values| Element::F32.encode(values)));
        let bytes = workspace_of(&backward_shape(which, sizes)).bytes as usize;
        Job {
            kernel: Kernel::Backward(which),
            image: None,
            image_then: None,
            sizes,
            chunk_len: seqlen,
            delta_softplus: problem.delta_softplus,
            complete: true,
            outputs: GRADIENTS.into_iter().zip(problem.inputs()).map(output).collect(),
            workspace: Output::workspace(Element::F32, bytes.div_ceil(Element::F32.size())),
            inputs,
        }
    }

    /// Element-wise derivatives whose sizes have been checked.
    pub fn derivatives(method: Method, problem: &CoefficientProblem) -> Self {
        let n = problem.delta.len();
        let len = n * problem.weights.width();
        let output = |name: &str| Output { name: name.to_owned(), element: Element::F32, len };
        Job {
            kernel: Kernel::Differentiate { method, weights: problem.weights },
            image: None,
            image_then: None,
            sizes: [n, 0, 0, 0, 0],
            chunk_len: 0,
            delta_softplus: false,
            complete: true,
            outputs: DERIVATIVES.map(output).to_vec(),
            workspace: Output::workspace(Element::F32, 0),
            inputs: [&problem.delta, &problem.a].map(|values| Some(Element::F32.encode(values))).to_vec(),
        }
    }

    /// Element-wise coefficients whose sizes have been checked, returned as `returned`: f32, or double by a lifted kernel.
    pub fn coefficients(kernel: Kernel, problem: &CoefficientProblem, returned: Element) -> Self {
        let n = problem.delta.len();
        let inputs = [&problem.delta, &problem.a, &problem.b];
        let len = n * problem.weights.width();
        let output = |name: &str| Output { name: name.to_owned(), element: returned, len };
        Job {
            kernel,
            image: None,
            image_then: None,
            sizes: [n, 0, 0, 0, 0],
            chunk_len: 0,
            delta_softplus: false,
            complete: true,
            outputs: vec![output("a_bar"), output("b_bar")],
            workspace: Output::workspace(returned, 0),
            inputs: inputs.map(|values| Some(Element::F32.encode(values))).to_vec(),
        }
    }

    /// The gradients of elements whose sizes have been checked, by the launch of their coefficients: behind B come those of
    /// the loss by Ā and by B̄, and behind the gradient by B that by Δ.
    pub fn coefficient_gradients(kernel: Kernel, elements: &OneStep, returned: Element) -> Self {
        let OneStep { coefficients, grad_a_bar, grad_b_bar, .. } = elements;
        let (n, width) = (coefficients.delta.len(), coefficients.weights.width());
        let behind_b = [&coefficients.b[..], grad_a_bar, grad_b_bar].concat();
        let inputs = [&coefficients.delta, &coefficients.a, &behind_b];
        let output = |name: &str, len: usize| Output { name: name.to_owned(), element: returned, len };
        Job {
            outputs: vec![output("d_A", n * width), output("d_B and d_delta", n * (width + 1))],
            inputs: inputs.map(|values| Some(Element::F32.encode(values))).to_vec(),
            ..Job::coefficients(kernel, coefficients, returned)
        }
    }

    /// A single operation on each of these values.
    pub fn operation(operation: Operation, values: &[f32]) -> Self {
        let inputs = vec![Some(Element::F32.encode(values))];
        Job { inputs, ..Job::measure(operation, values.len(), 0, 0) }
    }

    /// An operation on `n` floats that nobody has written, or, where it touches no memory, done so often by each of `n` threads.
    pub fn machine(operation: Operation, n: usize, repeat: usize) -> Self {
        let read = if operation.tells_clock() { 0 } else { n };
        Job::measure(operation, n, repeat, read)
    }

    fn measure(operation: Operation, n: usize, repeat: usize, read: usize) -> Self {
        let written = match operation {
            Operation::Read => 1,
            _ if operation.tells_clock() => n + 2,
            _ => n,
        };
        Job {
            kernel: Kernel::Measure(operation),
            image: None,
            image_then: None,
            sizes: [n, repeat, 0, 0, 0],
            chunk_len: 0,
            delta_softplus: false,
            complete: true,
            outputs: vec![Output { name: "values".to_owned(), element: Element::F32, len: written }],
            // What is read where nobody gives values.
            workspace: Output::workspace(Element::F32, read),
            inputs: vec![None],
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
        decoded(&self.outputs, outputs)
    }

    /// The same of those outputs that are there, up to the first one that is not: of a function that returns no last state.
    ///
    /// # Errors
    /// As above.
    pub fn returned_some(&self, outputs: &Bytes) -> Result<Returned, KernelError> {
        let there = outputs.iter().take(self.outputs.len()).take_while(|bytes| bytes.is_some()).count();
        decoded(&self.outputs[..there], &outputs[..there])
    }

    /// Copies the inputs to the device, ready to launch. What lies there stays until [`Device::free_all`].
    pub fn load(&self, device: &mut dyn Device, guarding: Guarding) -> Result<Loaded<'_>, DeviceError> {
        let (names, outputs): (&[&str], usize) = match self.kernel {
            Kernel::Discretize { .. } => (&DISCRETIZE_INPUTS, 2),
            Kernel::Scan(_) | Kernel::ChunkSteps(_) | Kernel::Misbehave(_) => (&SCAN_INPUTS, 2),
            Kernel::Backward(_) => (&BACKWARD_INPUTS, GRADIENTS.len()),
            Kernel::Differentiate { .. } => (&DIFFERENTIATE_INPUTS, DERIVATIVES.len()),
            Kernel::Measure(_) => (&MEASURE_INPUTS, 1),
            // The judge's rows stay on the device from one launch to the next; sums come after a scan.
            Kernel::Judge(_) | Kernel::Evaluate(_) | Kernel::JudgeFunction(_) | Kernel::Sums(_) => {
                return Err(DeviceError::Fault("the kernel takes no job of its own".to_owned()));
            }
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
        Ok(Loaded { job: self, launches: self.launches(&buffers), buffers })
    }

    /// Loads, runs and collects: the outputs' bytes. No memory of the device stays in use.
    pub fn execute(&self, device: &mut dyn Device, guarding: Guarding) -> Result<Bytes, DeviceError> {
        let run = |device: &mut dyn Device| {
            let loaded = self.load(device, guarding)?;
            loaded.launches.iter().try_for_each(|launch| device.run(launch))?;
            loaded.collect(device)
        };
        let outputs = run(device);
        device.free_all();
        outputs
    }

    /// The kernel's argument and its launch, by the tables of kernels/launch.cuh and kernels/launch_backward.cuh, and the launch
    /// after it.
    fn launches(&self, buffers: &Buffers) -> Vec<Launch<'_>> {
        let input = |i: usize| buffers.inputs[i].as_ref().map_or(0, Buffer::address) as usize as *const _;
        let output = |i: usize| buffers.outputs[i].address() as usize as *mut _;
        let [first, second, dstate, seqlen, groups] = self.sizes.map(|size| size as i64);
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
            Kernel::Measure(operation) => {
                let [n, repeat] = [self.sizes[0], self.sizes[1]];
                let from = match &buffers.inputs[0] {
                    Some(values) => values.address(),
                    None => buffers.workspace.address(),
                };
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
            Kernel::Backward(which) => {
                let shape = backward_shape(which, self.sizes);
                let at = workspace_of(&shape);
                let part = |offset: i64| (buffers.workspace.address() as usize + offset as usize) as *mut _;
                // What the problem lacks has no gradient.
                let optional = |i: usize| if self.inputs[i].is_some() { output(i) } else { null_mut() };
                let params = Params::Backward(RawBackward {
                    u: input(0),
                    delta: input(1),
                    a: input(2),
                    b: input(3),
                    c: input(4),
                    d: input(5),
                    z: input(6),
                    delta_bias: input(7),
                    dout: input(8),
                    dlast_state: input(9),
                    grad_u: output(0),
                    grad_delta: output(1),
                    grad_a: output(2),
                    grad_b: output(3),
                    grad_c: output(4),
                    grad_d: optional(5),
                    grad_z: optional(6),
                    grad_delta_bias: optional(7),
                    states: part(at.states),
                    a_sums: part(at.a_sums),
                    b_sums: part(at.b_sums),
                    c_sums: part(at.c_sums),
                    d_sums: part(at.d_sums),
                    delta_bias_sums: part(at.delta_bias_sums),
                    batch: first,
                    dim: second,
                    dstate,
                    seqlen,
                    groups,
                    delta_softplus: self.delta_softplus.into(),
                    width: shape.width,
                    variable_b: shape.variable_b,
                    variable_c: shape.variable_c,
                });
                let sums = Launch {
                    kernel: Kernel::Sums(which.input),
                    image: self.image_then.as_ref(),
                    blocks: ffi::holdfast_sum_blocks(&shape) as u32,
                    threads: ffi::holdfast_sum_threads(),
                    shared: 0,
                    params,
                };
                vec![scan(0, params), sums]
            }
            Kernel::Scan(_)
            | Kernel::ChunkSteps(_)
            | Kernel::Misbehave(_)
            | Kernel::Judge(_)
            | Kernel::Evaluate(_)
            | Kernel::JudgeFunction(_)
            | Kernel::Sums(_) => {
                let (_, weights) = kernel.computes();
                let chunk_len = self.chunk_len as i64;
                let chunks = ffi::holdfast_chunks(seqlen, chunk_len);
                let reversed =
                    if kernel.is_bidirectional() { self.sizes[0] * self.sizes[1] * self.sizes[3] } else { 0 };
                let steps = reversed * self.workspace.element.size();
                let params = Params::Scan(RawScan {
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
                    chunk_steps: (buffers.workspace.address() as usize + steps) as *mut _,
                    batch: first,
                    dim: second,
                    dstate,
                    seqlen,
                    groups,
                    chunks,
                    chunk_len,
                    delta_softplus: self.delta_softplus.into(),
                });
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

impl Loaded<'_> {
    /// Makes every output a NaN again, so that what is left unwritten is not what another run wrote.
    pub(super) fn poison(&self, device: &mut dyn Device) -> Result<(), DeviceError> {
        let mut outputs = self.buffers.outputs.iter().zip(&self.job.outputs);
        outputs.try_for_each(|(buffer, output)| device.fill(buffer.address(), POISON, output.bytes()))
    }

    /// Writes every input once more, whatever has become of it.
    pub(super) fn restore(&self, device: &mut dyn Device) -> Result<(), DeviceError> {
        let inputs = self.buffers.inputs.iter().zip(&self.job.inputs);
        inputs
            .filter_map(|(buffer, bytes)| buffer.as_ref().zip(bytes.as_ref()))
            .try_for_each(|(buffer, bytes)| device.write(buffer.address(), bytes))
    }

    /// Whether every input is what was loaded.
    pub(super) fn is_unchanged(&self, device: &mut dyn Device) -> Result<bool, DeviceError> {
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
    pub(super) fn collect(&self, device: &mut dyn Device) -> Result<Bytes, DeviceError> {
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

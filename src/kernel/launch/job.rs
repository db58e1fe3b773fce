//! One launch as data, and the one that may come after it: what goes to a device and what comes back, in the tensors' element
//! types. [`super::loaded`] has it on a device.

use num_traits::AsPrimitive;
use serde::{Deserialize, Serialize};

use super::buffer;
use crate::kernel::cpu::ffi::{self, BackwardShape, BackwardWorkspace};
use crate::kernel::cuda::cache::Image;
use crate::kernel::registry::{Dense, Instantiation, Kernel, Spread};
use crate::kernel::{CpuBackend, Derivatives, KernelError, Result, scanned};
use crate::method::Method;
use crate::operation::Operation;
use crate::problem::dense::DenseProblem;
use crate::problem::one_step::OneStep;
use crate::problem::{CoefficientProblem, NamedInput, Operand, OutputGradients, Problem, Shape};
use crate::promise::Tier;
use crate::tensor::GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use crate::tensor::{
    CoefficientGradients, Coefficients, ElementType, GradientName, Gradients, StepName, Tensor, TensorName,
    Tensors,
};

/// The names of the kernels' inputs, in the order of a job's.
pub(super) const SCAN_INPUTS: [&str; 8] = ["u", "delta", "A", "B", "C", "D", "z", "delta_bias"];
/// Inputs of element-wise coefficients and of dense systems.
pub(super) const DISCRETIZE_INPUTS: [&str; 3] = ["delta", "A", "B"];
/// A scan's with a dense A.
pub(super) const DENSE_SCAN_INPUTS: [&str; 9] =
    ["u", "delta", "A", "B", "C", "D", "z", "delta_bias", "initial_state"];
pub(super) const BACKWARD_INPUTS: [&str; 10] =
    ["u", "delta", "A", "B", "C", "D", "z", "delta_bias", "dout", "dlast_state"];
/// Inputs of gradients of scans with a dense A.
pub(super) const DENSE_BACKWARD_INPUTS: [&str; 11] =
    ["u", "delta", "A", "B", "C", "D", "z", "delta_bias", "dout", "dlast_state", "initial_state"];
pub(super) const DIFFERENTIATE_INPUTS: [&str; 2] = ["delta", "A"];
pub(super) const MEASURE_INPUTS: [&str; 1] = ["z"];

/// Gradients that a backward scan computes, in the order of its outputs and of [`Problem::inputs`]; the last with a dense A alone.
pub(super) const GRADIENTS: [GradientName; 9] = [U, Delta, A, B, C, D, Z, DeltaBias, InitialState];

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
    /// batch, dim, dstate, seqlen, groups; for coefficients: n, then zeros; for dense systems: how many, n, m, then zeros.
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
    pub(super) name: String,
    pub element: ElementType,
    len: usize,
}

impl Output {
    fn workspace(element: ElementType, len: usize) -> Self {
        Output { name: "workspace".to_owned(), element, len }
    }

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
    pub fn gradients<T: Copy + 'static>(self, problem: &Problem) -> Gradients<T>
    where
        f64: AsPrimitive<T>,
    {
        let inputs = problem.inputs();
        let named = GRADIENTS.into_iter().zip(self.narrowed()).zip(inputs);
        let there = named.filter(|(_, (_, values, _))| values.is_some());
        there.map(|((name, values), _)| (name, problem.gradient(name, values))).collect()
    }

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

    pub fn values(self) -> Vec<Vec<f64>> {
        self.0
    }

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
fn scan_inputs(problem: &Problem, storage: ElementType) -> Bytes {
    // Constant operands are weights: f32 whatever the input type.
    let operand = |which, values: &[f32]| {
        if which == Operand::Constant { ElementType::F32 } else { storage }.encode(values)
    };
    let weights = |values: &Vec<f32>| ElementType::F32.encode(values);
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

/// What the workspace of a backward scan depends on, whose arithmetic is this.
pub(super) fn backward_shape(
    which: Instantiation,
    is_dense: bool,
    sizes: [usize; 5],
    arithmetic: ElementType,
) -> BackwardShape {
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
        element: arithmetic.size() as i32,
        is_dense: is_dense.into(),
    }
}

/// As a job has them.
fn sizes_of(Shape { batch, dim, dstate, seqlen, groups }: Shape) -> [usize; 5] {
    [batch, dim, dstate, seqlen, groups]
}

/// Numbers that a scan keeps beside its outputs: poly's reversed scan, and behind it the steps of chunks.
fn scan_workspace(kernel: Kernel, chunks: usize, shape: Shape) -> usize {
    // What a fault may run in another method's place needs what that one needs.
    let is_needed = kernel.is_bidirectional() || CpuBackend::planted_fault().is_some();
    let reversed = if is_needed { shape.sequence_len() } else { 0 };
    let Shape { batch, dim, dstate, .. } = shape;
    // Of the product of Ā, and of the state.
    let steps = 2 * directions(kernel) * chunks * batch * dim * dstate * kernel.computes().1.width();
    if chunks > 1 { reversed + steps } else { reversed }
}

pub(super) fn directions(kernel: Kernel) -> usize {
    if kernel.is_bidirectional() { 2 } else { 1 }
}

pub(super) fn workspace_of(shape: &BackwardShape) -> BackwardWorkspace {
    let mut workspace = BackwardWorkspace::default();
    ffi::holdfast_backward_workspace(shape, &mut workspace);
    workspace
}

fn decoded(outputs: &[Output], all: &[Option<Vec<u8>>]) -> Result<Returned> {
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
    /// In one chunk, without inputs and workspace.
    fn of(kernel: Kernel, sizes: [usize; 5], outputs: Vec<Output>) -> Self {
        Job {
            kernel,
            image: None,
            image_then: None,
            sizes,
            chunk_len: sizes[3],
            delta_softplus: false,
            complete: true,
            outputs,
            workspace: Output::workspace(ElementType::F32, 0),
            inputs: Vec::new(),
        }
    }

    /// A scan whose sizes have been checked, with its sequences stored as `storage`: the problem's own type, or double for
    /// a lifted kernel. `kernel` is the one that the problem needs, or one that misbehaves in its place.
    pub fn scan(kernel: Kernel, problem: &Problem, storage: ElementType) -> Self {
        let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
        let output = |name: TensorName| {
            let Tensor { shape, width, element, .. } = problem.tensor::<f32>(name, Vec::new());
            let element = if storage == ElementType::F64 { storage } else { element.into() };
            Output { name: name.to_string(), element, len: shape.iter().product::<usize>() * width }
        };
        let workspace = scan_workspace(kernel, 1, problem.shape);
        let arithmetic = if storage == ElementType::F64 { storage } else { ElementType::F32 };
        Job {
            delta_softplus: problem.delta_softplus,
            inputs: scan_inputs(problem, storage),
            workspace: Output::workspace(arithmetic, workspace),
            ..Job::of(kernel, [batch, dim, dstate, seqlen, groups], TensorName::SCANNED.map(output).to_vec())
        }
    }

    /// The same in chunks, with room for their steps behind poly's reversed scan.
    pub fn spread_scan(spread: Spread, problem: &Problem, storage: ElementType) -> Self {
        let mut job = Job::scan(spread.kernel(), problem, storage);
        job.chunk_len = spread.chunk_len;
        job.workspace.len = scan_workspace(job.kernel, spread.chunks, problem.shape);
        job
    }

    /// The same of sizes that have been checked, whose tensors are the caller's.
    pub fn borrowed_scan(spread: Spread, shape: Shape, delta_softplus: bool) -> Self {
        let kernel = spread.kernel();
        let workspace = Output::workspace(ElementType::F32, scan_workspace(kernel, spread.chunks, shape));
        let sizes = sizes_of(shape);
        Job { chunk_len: spread.chunk_len, delta_softplus, workspace, ..Job::of(kernel, sizes, Vec::new()) }
    }

    /// Gradients likewise.
    pub fn borrowed_backward(which: Instantiation, shape: Shape, delta_softplus: bool) -> Self {
        let sizes = sizes_of(shape);
        let bytes = workspace_of(&backward_shape(which, false, sizes, ElementType::F32)).bytes as usize;
        let workspace = Output::workspace(ElementType::F32, bytes.div_ceil(ElementType::F32.size()));
        Job { delta_softplus, workspace, ..Job::of(Kernel::Backward(which), sizes, Vec::new()) }
    }

    /// The gradients of a scan whose sizes have been checked, with its sequences stored as `storage`: the problem's own type, or
    /// double for a lifted kernel, whose gradients are all of double then. A dense A has a kernel of its own.
    pub fn backward(
        method: Method,
        problem: &Problem,
        given: &OutputGradients,
        storage: ElementType,
    ) -> Self {
        let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
        let sizes = [batch, dim, dstate, seqlen, groups];
        let (which, is_dense) = (Instantiation::for_problem(method, problem), problem.is_dense());
        let arithmetic =
            if storage == ElementType::F64 || is_dense { ElementType::F64 } else { ElementType::F32 };
        let element = |name| match storage {
            ElementType::F64 => storage,
            _ => problem.gradient::<f32>(name, Vec::new()).element.into(),
        };
        let output = |(name, (_, values, len)): (GradientName, NamedInput)| Output {
            name: name.to_string(),
            element: element(name),
            // A gradient of what the problem lacks is no output.
            len: if values.is_some() { len } else { 0 },
        };
        let mut inputs = scan_inputs(problem, storage);
        inputs.push(Some(storage.encode(&given.dout)));
        inputs.push(given.dlast_state.as_ref().map(|values| ElementType::F32.encode(values)));
        let bytes = workspace_of(&backward_shape(which, is_dense, sizes, arithmetic)).bytes as usize;
        let mut outputs: Vec<Output> = GRADIENTS.into_iter().zip(problem.inputs()).map(output).collect();
        let kernel = if is_dense { Kernel::DenseBackward(which) } else { Kernel::Backward(which) };
        if is_dense {
            inputs.push(problem.initial_state.as_ref().map(|values| ElementType::F32.encode(values)));
        } else {
            outputs.truncate(GRADIENTS.len() - 1);
        }
        Job {
            delta_softplus: problem.delta_softplus,
            workspace: Output::workspace(arithmetic, bytes.div_ceil(arithmetic.size())),
            inputs,
            ..Job::of(kernel, sizes, outputs)
        }
    }

    /// ElementType-wise derivatives whose sizes have been checked.
    pub fn derivatives(method: Method, problem: &CoefficientProblem) -> Self {
        let n = problem.delta.len();
        let len = n * problem.weights.width();
        let output = |name: &str| Output { name: name.to_owned(), element: ElementType::F32, len };
        let kernel = Kernel::Differentiate { method, weights: problem.weights };
        let outputs = StepName::ALL.map(|name| output(name.name())).to_vec();
        Job {
            inputs: [&problem.delta, &problem.a].map(|values| Some(ElementType::F32.encode(values))).to_vec(),
            ..Job::of(kernel, [n, 0, 0, 0, 0], outputs)
        }
    }

    /// ElementType-wise coefficients whose sizes have been checked, returned as `returned`: f32, or double by a lifted kernel.
    pub fn coefficients(kernel: Kernel, problem: &CoefficientProblem, returned: ElementType) -> Self {
        let n = problem.delta.len();
        let inputs = [&problem.delta, &problem.a, &problem.b];
        let len = n * problem.weights.width();
        let output = |name: &str| Output { name: name.to_owned(), element: returned, len };
        Job {
            workspace: Output::workspace(returned, 0),
            inputs: inputs.map(|values| Some(ElementType::F32.encode(values))).to_vec(),
            ..Job::of(kernel, [n, 0, 0, 0, 0], vec![output("a_bar"), output("b_bar")])
        }
    }

    /// Dense systems whose sizes have been checked.
    pub fn dense(which: Dense, problem: &DenseProblem) -> Self {
        let DenseProblem { n, m, delta, a, b, .. } = problem;
        let output = |name: &str, len| Output { name: name.to_owned(), element: ElementType::F32, len };
        let outputs = vec![output("A_bar", a.len()), output("B_bar", b.len())];
        Job {
            inputs: [delta, a, b].map(|values| Some(ElementType::F32.encode(values))).to_vec(),
            ..Job::of(Kernel::Dense(which), [delta.len(), *n, *m, 0, 0], outputs)
        }
    }

    /// A scan with a dense A whose sizes have been checked.
    pub fn dense_scan(which: Instantiation, problem: &Problem) -> Self {
        let mut job = Job::scan(Kernel::DenseScan(which), problem, problem.input.into());
        job.inputs.push(problem.initial_state.as_ref().map(|values| ElementType::F32.encode(values)));
        if which.tier == Tier::Accurate {
            job.workspace.element = ElementType::F64;
        }
        job
    }

    /// The gradients of elements whose sizes have been checked, by the launch of their coefficients: behind B come those of
    /// the loss by Ā and by B̄, and behind the gradient by B that by Δ.
    pub fn coefficient_gradients(kernel: Kernel, elements: &OneStep, returned: ElementType) -> Self {
        let OneStep { coefficients, grad_a_bar, grad_b_bar, .. } = elements;
        let (n, width) = (coefficients.delta.len(), coefficients.weights.width());
        let behind_b = [&coefficients.b[..], grad_a_bar, grad_b_bar].concat();
        let inputs = [&coefficients.delta, &coefficients.a, &behind_b];
        let output = |name: &str, len: usize| Output { name: name.to_owned(), element: returned, len };
        Job {
            outputs: vec![output("d_A", n * width), output("d_B and d_delta", n * (width + 1))],
            inputs: inputs.map(|values| Some(ElementType::F32.encode(values))).to_vec(),
            ..Job::coefficients(kernel, coefficients, returned)
        }
    }

    /// A single operation on each of these values.
    pub fn operation(operation: Operation, values: &[f32]) -> Self {
        let inputs = vec![Some(ElementType::F32.encode(values))];
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
        let values = Output { name: "values".to_owned(), element: ElementType::F32, len: written };
        Job {
            // What is read where nobody gives values.
            workspace: Output::workspace(ElementType::F32, read),
            inputs: vec![None],
            ..Job::of(Kernel::Measure(operation), [n, repeat, 0, 0, 0], vec![values])
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
    pub fn returned(&self, outputs: &Bytes) -> Result<Returned> {
        decoded(&self.outputs, outputs)
    }

    /// The same of those outputs that are there, up to the first one that is not: of a function that returns no last state.
    pub fn returned_some(&self, outputs: &Bytes) -> Result<Returned> {
        let there = outputs.iter().take(self.outputs.len()).take_while(|bytes| bytes.is_some()).count();
        decoded(&self.outputs[..there], &outputs[..there])
    }
}

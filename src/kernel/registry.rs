//! The one list of kernel instantiations. Nothing else builds a kernel's name.

use std::ffi::c_int;

use serde::{Deserialize, Serialize};

use crate::kernel::cpu::ffi;
use crate::kernel::cpu::params::JUDGE_LANES;
use crate::method::Method;
use crate::operation::Operation;
use crate::problem::{InputType, Operand, Problem, Shape, Weights};
use crate::promise::Tier;
use crate::scalar_function::ScalarFunction;

/// One instantiation of the selective scan, forward or backward: every compile-time choice of `kernels/selective_scan.cu` and of
/// `kernels/selective_scan_backward.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instantiation {
    pub method: Method,
    pub weights: Weights,
    pub input: InputType,
    pub b: Operand,
    pub c: Operand,
    pub gate: bool,
    /// Of a forward scan; a backward one is [`Tier::Accurate`].
    pub tier: Tier,
    /// Of a forward scan; a backward one has [`Lanes::Eight`].
    pub lanes: Lanes,
}

/// How many threads share a channel. Forward scans have kernels with few, too, for what [`Instantiation::has_few_lanes`] says; these
/// are faster where channels are many (`kernels/launch.cuh`). Results are the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Lanes {
    Few,
    #[default]
    Eight,
}

impl Lanes {
    /// As the kernels' interface has it: 1 for few.
    pub fn are_few(self) -> c_int {
        (self == Lanes::Few).into()
    }
}

impl Instantiation {
    /// The kernel that a problem needs, in the accurate tier.
    pub fn for_problem(method: Method, problem: &Problem) -> Self {
        Instantiation {
            method,
            weights: problem.weights,
            input: problem.input,
            b: problem.b_operand,
            c: problem.c_operand,
            gate: problem.z.is_some(),
            tier: Tier::Accurate,
            lanes: Lanes::Eight,
        }
    }

    pub fn in_tier(self, tier: Tier) -> Self {
        Instantiation { tier, ..self }
    }

    /// The same with few lanes, where there is such a kernel for so many states.
    pub fn with_few_lanes(self, dstate: usize) -> Self {
        if self.has_few_lanes(dstate) { Instantiation { lanes: Lanes::Few, ..self } } else { self }
    }

    /// Whether there is a kernel with few lanes for it and so many states (`kernels/launch.cuh` says why).
    pub fn has_few_lanes(&self, dstate: usize) -> bool {
        matches!(self.method, Method::Zoh | Method::Bilinear)
            && self.weights == Weights::Real
            && (self.b, self.c) == (Operand::Variable, Operand::Variable)
            && dstate <= Instantiation::MOST_STATES_OF_FEW_LANES
    }

    /// `kStates` of `kernels/launch.cuh`.
    const MOST_STATES_OF_FEW_LANES: usize = 16;

    /// More than any device has room for; so many leave counts of blocks and places far from overflow.
    const MOST_CHANNELS: usize = 1 << 40;

    /// How a scan of a shape is the fastest on a device with so many multiprocessors; where either is nonsense, the usual one.
    pub fn fastest_for(self, shape: Shape, multiprocessors: u32) -> Spread {
        let Shape { batch, dim, seqlen, groups, dstate } = shape;
        let channels =
            batch.checked_mul(dim).filter(|&channels| channels != 0 && channels <= Self::MOST_CHANNELS);
        if channels.is_none() || multiprocessors == 0 || groups == 0 || dim % groups != 0 || seqlen == 0 {
            return Spread::unsplit(self, seqlen);
        }
        let [batch, dim, groups, len] = [batch, dim, groups, seqlen].map(|size| size as i64);
        let has_few = self.has_few_lanes(dstate).into();
        let mut chunks = 1;
        let directions = if self.method.is_bidirectional() { 2 } else { 1 };
        let multiprocessors = multiprocessors.into();
        let few =
            ffi::holdfast_spread(batch, dim, groups, len, has_few, directions, multiprocessors, &mut chunks);
        let which = if few != 0 { self.with_few_lanes(dstate) } else { self };
        Spread::in_chunks(which, seqlen, chunks as usize)
    }

    /// Every instantiation of the accurate tier with [`Lanes::Eight`]: every method × 2 weight types × 3 storage types × B × C × gate.
    pub fn all() -> impl Iterator<Item = Instantiation> {
        let mut list = Vec::new();
        for method in Method::ALL {
            for weights in Weights::ALL {
                for input in InputType::ALL {
                    for b in Operand::ALL {
                        for c in Operand::ALL {
                            for gate in [false, true] {
                                let (tier, lanes) = (Tier::Accurate, Lanes::Eight);
                                list.push(Instantiation { method, weights, input, b, c, gate, tier, lanes });
                            }
                        }
                    }
                }
            }
        }
        list.into_iter()
    }

    /// Every one of the accurate tier whose chunks' steps have a kernel of their own: C and the gate are none of their business.
    pub fn of_chunk_steps() -> impl Iterator<Item = Instantiation> {
        let all = Instantiation::all().chain(Instantiation::of_few_lanes());
        all.filter(|which| which.chunk_steps() == *which)
    }

    /// The one that stands for all whose scans with a dense A are one kernel: methods of its kind, storage types and layouts are
    /// chosen at run time.
    fn dense_scan(self) -> Self {
        let method = if self.method == Method::Bilinear { self.method } else { Method::Zoh };
        let which = Instantiation { method, input: InputType::F32, b: Operand::Variable, ..self };
        which.chunk_steps()
    }

    /// Every one of the accurate tier whose scan with a dense A, or whose gradients, have a kernel of their own.
    pub fn of_dense_scans() -> impl Iterator<Item = Instantiation> {
        Instantiation::all().filter(|which| which.dense_scan() == *which)
    }

    /// The one that stands for all with the same steps of chunks.
    fn chunk_steps(self) -> Self {
        Instantiation { c: Operand::Variable, gate: false, ..self }
    }

    /// Every one of the accurate tier with [`Lanes::Few`].
    pub fn of_few_lanes() -> impl Iterator<Item = Instantiation> {
        Instantiation::all().filter(|which| which.has_few_lanes(1)).map(|which| which.with_few_lanes(1))
    }

    /// The C++ expression that names a kernel of this template, as a CUDA compiler's name expression; `reads_out`: its layout has C
    /// and the gate.
    fn name_expression(&self, template: &str, reads_out: bool) -> String {
        let lanes = match self.lanes {
            Lanes::Few => format!(", float, {}", ffi::holdfast_scan_lanes(self.lanes.are_few())),
            Lanes::Eight => String::new(),
        };
        let readout = match reads_out {
            true => format!(", {}, {}", self.c == Operand::Variable, self.gate),
            false => String::new(),
        };
        format!(
            "holdfast::{template}<{}, {}, {}, {}{readout}{lanes}>",
            self.method.id(),
            storage(self.input),
            self.weights == Weights::Complex,
            self.b == Operand::Variable,
        )
    }
}

/// A forward scan's kernel, and the chunks that its sequence is in. Chunks are scanned side by side, which is faster where channels are
/// few (`kernels/launch.cuh`). A state before a chunk is rounded otherwise than without chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    pub which: Instantiation,
    /// Positions of each chunk but the last.
    pub chunk_len: usize,
    pub chunks: usize,
}

impl Spread {
    /// One chunk.
    pub fn unsplit(which: Instantiation, seqlen: usize) -> Self {
        Spread { which, chunk_len: seqlen, chunks: 1 }
    }

    /// About so many chunks, at least one: they begin at multiples of a tile.
    pub fn in_chunks(which: Instantiation, seqlen: usize, chunks: usize) -> Self {
        if chunks < 2 || seqlen == 0 {
            return Spread::unsplit(which, seqlen);
        }
        let [len, wanted] = [seqlen, chunks.min(seqlen)].map(|size| size as i64);
        let chunk_len = ffi::holdfast_chunk_len(len, wanted);
        Spread { which, chunk_len: chunk_len as usize, chunks: ffi::holdfast_chunks(len, chunk_len) as usize }
    }

    /// What is launched first: the scan, or the steps of its chunks.
    pub fn kernel(&self) -> Kernel {
        if self.chunks > 1 { Kernel::ChunkSteps(self.which) } else { Kernel::Scan(self.which) }
    }
}

/// A storage type in C++.
fn storage(input: InputType) -> &'static str {
    match input {
        InputType::F32 => "float",
        InputType::F16 => "holdfast::Half",
        InputType::Bf16 => "holdfast::Bfloat16",
    }
}

/// One compiled entry point: everything that a CUDA compiler is ever asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kernel {
    Scan(Instantiation),
    /// What the steps of each of this scan's chunks are together, launched before it.
    ChunkSteps(Instantiation),
    /// Ā and B̄ element by element.
    Discretize {
        method: Method,
        weights: Weights,
        tier: Tier,
    },
    /// The gradients of a scan, up to sums over its blocks.
    Backward(Instantiation),
    /// Those sums, launched after it.
    Sums(InputType),
    /// The derivatives of Ā and of h = B̄/B element by element.
    Differentiate {
        method: Method,
        weights: Weights,
    },
    /// Ā and B̄ of dense systems.
    Dense(Dense),
    /// A scan with a dense A.
    DenseScan(Instantiation),
    /// The gradients of one, up to sums over channels and the batch.
    DenseBackward(Instantiation),
    /// Not a kernel that anyone wants: see [`Misbehaviour`].
    Misbehave(Misbehaviour),
    /// No kernel that is judged, but the judge itself.
    Judge(Judge),
    /// A function of one float that the kernels are made of, at many arguments.
    Evaluate(ScalarFunction),
    /// The judge of what that returned.
    JudgeFunction(ScalarFunction),
    /// A single operation, to be timed.
    Measure(Operation),
}

/// One instantiation of the judge of `kernels/judge/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Judge {
    pub weights: Weights,
    /// How many states each of its lanes has, where that is known to the compiler.
    chunks: u8,
}

impl Judge {
    /// Lanes that walk a channel together.
    pub const LANES: usize = JUDGE_LANES;
    pub const THREADS: usize = 64;
    /// The most states that a lane may have for a kernel of its own.
    const OWN: usize = 2;

    /// The one for so many states.
    pub fn new(weights: Weights, dstate: usize) -> Self {
        let chunks = dstate.div_ceil(Judge::LANES);
        Judge { weights, chunks: if chunks <= Judge::OWN { chunks as u8 } else { 0 } }
    }

    /// How many states each lane has; 0 where the launch says.
    pub fn chunks(self) -> i32 {
        self.chunks.into()
    }

    pub fn all() -> impl Iterator<Item = Judge> {
        Weights::ALL
            .into_iter()
            .flat_map(|weights| (0..=Judge::OWN as u8).map(move |chunks| Judge { weights, chunks }))
    }
}

/// One instantiation of the kernels of dense systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Dense {
    pub method: Method,
    pub weights: Weights,
    pub tier: Tier,
    /// How many tiles are beside one another, where that is known to the compiler; 0 where the launch says. Results are the same bits.
    side: u8,
}

impl Dense {
    /// Those that have a kernel of their own: 4, 8, 16, 32 and 64 states, and up to three less.
    const SIDES: [u8; 5] = [1, 2, 4, 8, 16];
    /// `kTile` of `kernels/launch_dense.cuh`.
    const TILE: usize = 4;

    /// The one for so many states.
    pub fn new(method: Method, weights: Weights, tier: Tier, n: usize) -> Self {
        let side = n.div_ceil(Dense::TILE);
        let known = Dense::SIDES.into_iter().find(|&known| usize::from(known) == side);
        Dense { method, weights, tier, side: known.unwrap_or(0) }
    }

    /// One of each that is compiled.
    pub fn all(tier: Tier) -> impl Iterator<Item = Dense> {
        let of = move |weights, method| {
            let sides = std::iter::once(0).chain(Dense::SIDES);
            sides.map(move |side| Dense { method, weights, tier, side })
        };
        Weights::ALL.into_iter().flat_map(move |weights| {
            [Method::Zoh, Method::Bilinear].into_iter().flat_map(move |method| of(weights, method))
        })
    }

    /// The most states that it is for, or of those that no other is for.
    pub fn states(self) -> usize {
        if self.side == 0 { 24 } else { usize::from(self.side) * Dense::TILE }
    }
}

/// Methods and weight types, each with a kernel of its own.
fn elements() -> impl Iterator<Item = (Method, Weights)> {
    Method::ALL.into_iter().flat_map(|method| Weights::ALL.map(|weights| (method, weights)))
}

fn element_wise(template: &str, method: Method, weights: Weights) -> String {
    format!("holdfast::{template}<{}, {}>", method.id(), weights == Weights::Complex)
}

impl Kernel {
    /// Every kernel that users run, of the accurate tier: those of the forward pass, then those of the backward one.
    pub fn production() -> impl Iterator<Item = Kernel> {
        Kernel::forward(Tier::Accurate).chain(Kernel::backward())
    }

    /// All scans of a tier, all steps of chunks, all element-wise kernels, then those of dense systems and of their scans.
    pub fn forward(tier: Tier) -> impl Iterator<Item = Kernel> {
        let elements = elements().map(move |(method, weights)| Kernel::Discretize { method, weights, tier });
        let scans = Instantiation::all().chain(Instantiation::of_few_lanes());
        let steps = Instantiation::of_chunk_steps().map(move |which| Kernel::ChunkSteps(which.in_tier(tier)));
        let dense = Dense::all(tier).map(Kernel::Dense);
        let scans = scans.map(move |which| Kernel::Scan(which.in_tier(tier)));
        let dense_scans = Instantiation::of_dense_scans();
        let dense_scans = dense_scans.map(move |which| Kernel::DenseScan(which.in_tier(tier)));
        scans.chain(steps).chain(elements).chain(dense).chain(dense_scans)
    }

    /// The tier that it is compiled for.
    pub fn tier(&self) -> Tier {
        match *self {
            Kernel::Scan(Instantiation { tier, .. })
            | Kernel::ChunkSteps(Instantiation { tier, .. })
            | Kernel::DenseScan(Instantiation { tier, .. })
            | Kernel::Discretize { tier, .. }
            | Kernel::Dense(Dense { tier, .. }) => tier,
            _ => Tier::Accurate,
        }
    }

    /// How many threads share a channel, where it scans.
    pub fn lanes(&self) -> Lanes {
        if let Kernel::Scan(which) | Kernel::ChunkSteps(which) = self { which.lanes } else { Lanes::Eight }
    }

    /// All backward scans, the sums, all element-wise kernels, then backward scans with a dense A.
    pub fn backward() -> impl Iterator<Item = Kernel> {
        let elements = elements().map(|(method, weights)| Kernel::Differentiate { method, weights });
        let sums = InputType::ALL.into_iter().map(Kernel::Sums);
        let dense = Instantiation::of_dense_scans().map(Kernel::DenseBackward);
        Instantiation::all().map(Kernel::Backward).chain(sums).chain(elements).chain(dense)
    }

    /// The kernel that is launched after it, with the same argument.
    pub fn then(&self) -> Option<Kernel> {
        match *self {
            Kernel::Backward(which) | Kernel::DenseBackward(which) => Some(Kernel::Sums(which.input)),
            Kernel::ChunkSteps(which) => Some(Kernel::Scan(which)),
            _ => None,
        }
    }

    /// The kernel that is compiled for it: some differ in nothing.
    pub fn compiled(self) -> Kernel {
        match self {
            Kernel::ChunkSteps(which) => Kernel::ChunkSteps(which.chunk_steps()),
            Kernel::DenseScan(which) => Kernel::DenseScan(which.dense_scan()),
            Kernel::DenseBackward(which) => Kernel::DenseBackward(which.dense_scan()),
            // The launch says which of the methods that are made of exponentials.
            Kernel::Dense(which) if which.method != Method::Bilinear => {
                Kernel::Dense(Dense { method: Method::Zoh, ..which })
            }
            kernel => kernel,
        }
    }

    /// Whether it scans in both directions, and so needs a workspace.
    pub fn is_bidirectional(&self) -> bool {
        match self {
            Kernel::Scan(which) | Kernel::ChunkSteps(which) | Kernel::DenseScan(which) => {
                which.method.is_bidirectional()
            }
            _ => false,
        }
    }

    /// The method and the weights that it is launched for.
    pub fn computes(&self) -> (Method, Weights) {
        match *self {
            Kernel::Scan(Instantiation { method, weights, .. })
            | Kernel::ChunkSteps(Instantiation { method, weights, .. })
            | Kernel::Backward(Instantiation { method, weights, .. })
            | Kernel::DenseScan(Instantiation { method, weights, .. })
            | Kernel::DenseBackward(Instantiation { method, weights, .. })
            | Kernel::Discretize { method, weights, .. }
            | Kernel::Differentiate { method, weights }
            | Kernel::Dense(Dense { method, weights, .. }) => (method, weights),
            Kernel::Sums(_)
            | Kernel::Misbehave(_)
            | Kernel::Evaluate(_)
            | Kernel::JudgeFunction(_)
            | Kernel::Measure(_) => (Method::Zoh, Weights::Real),
            Kernel::Judge(judge) => (Method::Zoh, judge.weights),
        }
    }

    /// The file of `kernels/` that defines it.
    pub fn source(&self) -> &'static str {
        match self {
            Kernel::Scan(_) | Kernel::ChunkSteps(_) => "selective_scan.cu",
            Kernel::Discretize { .. } => "discretize.cu",
            Kernel::Backward(_) | Kernel::Sums(_) => "selective_scan_backward.cu",
            Kernel::Differentiate { .. } => "derivatives.cu",
            Kernel::Dense(_) => "dense.cu",
            Kernel::DenseScan(_) => "dense_scan.cu",
            Kernel::DenseBackward(_) => "dense_scan_backward.cu",
            Kernel::Misbehave(_) => "faults/misbehave.cu",
            Kernel::Judge(_) => "judge/judge.cu",
            Kernel::Evaluate(_) => "functions/evaluate.cu",
            Kernel::JudgeFunction(_) => "judge/functions.cu",
            Kernel::Measure(_) => "bench/bench.cu",
        }
    }

    /// The C++ expression that names it, as a CUDA compiler's name expression; the same in every tier.
    pub fn name_expression(&self) -> String {
        match self {
            Kernel::Scan(which) => which.name_expression("selective_scan", true),
            Kernel::ChunkSteps(which) => which.name_expression("chunk_steps", false),
            Kernel::Backward(which) => which.name_expression("selective_scan_backward", true),
            Kernel::Sums(input) => format!("holdfast::sum_gradients<{}>", storage(*input)),
            Kernel::Discretize { method, weights, .. } => {
                element_wise("discretize_elements", *method, *weights)
            }
            Kernel::Differentiate { method, weights } => {
                element_wise("differentiate_elements", *method, *weights)
            }
            Kernel::Dense(Dense { method, weights, tier, side }) => {
                let template =
                    if *method == Method::Bilinear { "dense_quotient" } else { "dense_exponential" };
                let arithmetic = if *tier == Tier::Fast { "float" } else { "double" };
                format!("holdfast::{template}<{}, {arithmetic}, {side}>", *weights == Weights::Complex)
            }
            Kernel::DenseScan(Instantiation { method, weights, tier, .. }) => {
                let arithmetic = if *tier == Tier::Fast { "float" } else { "double" };
                let (is_quotient, is_complex) = (*method == Method::Bilinear, *weights == Weights::Complex);
                format!("holdfast::dense_scan<{is_quotient}, {is_complex}, {arithmetic}>")
            }
            Kernel::DenseBackward(Instantiation { method, weights, .. }) => {
                let (is_quotient, is_complex) = (*method == Method::Bilinear, *weights == Weights::Complex);
                format!("holdfast::dense_scan_backward<{is_quotient}, {is_complex}>")
            }
            Kernel::Misbehave(which) => format!("holdfast::misbehave<{}>", *which as i32),
            Kernel::Measure(operation) => format!("holdfast_bench::measure<{}>", *operation as u8),
            Kernel::Judge(Judge { weights, chunks }) => {
                format!("holdfast_judge::judge<{}, {chunks}>", *weights == Weights::Complex)
            }
            Kernel::Evaluate(function) => format!("holdfast::evaluate_function<{}>", *function as i32),
            Kernel::JudgeFunction(function) => {
                format!("holdfast_judge::judge_function<{}>", *function as i32)
            }
        }
    }
}

named! {
    /// What the kernels of `kernels/faults/misbehave.cu` do on a GPU instead of a scan, to show that a fault stays where it
    /// happens. In the order of that file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[repr(i32)]
    pub enum Misbehaviour {
        /// Writes to an address that nobody owns: the context is broken from then on.
        IllegalAddress = 0 => "IllegalAddress",
        Hang = 1 => "Hang",
        Unwritten = 2 => "Unwritten",
        PastTheEnd = 3 => "PastTheEnd",
        BeforeTheStart = 4 => "BeforeTheStart",
        ChangedInput = 5 => "ChangedInput",
        /// Aborts. Where there is no GPU, the worker process itself does.
        Abort = 6 => "Abort",
    }
}

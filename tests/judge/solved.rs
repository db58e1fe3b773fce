//! The problems on which faults are told apart, and a kernel's output on them beside truth and bounds.

use half::f16;
use holdfast::judge::budget::{self, Budget};
use holdfast::judge::diagnose::{Case, Work};
use holdfast::judge::scan;
use holdfast::kernel::{Backend, CpuBackend};
use holdfast::method::Method;
use holdfast::problem::inputs::Draw;
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::promise::Contract;
use holdfast::results::Verdict;
use holdfast::tensor::{TensorName, Tensors};
use holdfast::truth::scan::ScanTruth;

/// What each problem shows that the others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Constant B and C, nothing else: coefficients, operand use, directions, tails.
    Plain,
    /// Groups, variable B and C, skip, gate, bias, softplus of arguments up to 14.
    Full,
    /// Steps from 1e-9 to 1e-2: guards and floors.
    Tiny,
    /// 2111 positions: chunk edges.
    Long,
    /// As `Plain`, stored in 16 bits. The copies that faults are planted in store f32 alone.
    Narrow(InputType),
}

impl Kind {
    /// Those in f32.
    pub const ALL: [Kind; 4] = [Kind::Plain, Kind::Full, Kind::Tiny, Kind::Long];
    pub const NARROW: [Kind; 2] = [Kind::Narrow(InputType::F16), Kind::Narrow(InputType::Bf16)];
}

fn values(len: usize, mut draw: impl FnMut() -> f64) -> Vec<f32> {
    (0..len).map(|_| draw() as f32).collect()
}

/// The problem of this kind: every length is 15 modulo 16, so that tails of 1, 4, 8 and 16 differ.
pub fn problem(kind: Kind, weights: Weights) -> Problem {
    let mut draw = Draw::new(1, &format!("diagnosis/{kind:?}/{weights}"));
    let (batch, dim, dstate, seqlen, groups) = match kind {
        Kind::Plain | Kind::Narrow(_) => (1, 3, 4, 31, 1),
        Kind::Full => (2, 4, 3, 47, 2),
        Kind::Tiny => (1, 2, 2, 31, 1),
        Kind::Long => (1, 1, 1, 2111, 1),
    };
    let shape = Shape { batch, dim, dstate, seqlen, groups };
    let width = weights.width();
    let operand = if matches!(kind, Kind::Full | Kind::Tiny) { Operand::Variable } else { Operand::Constant };
    let input = if let Kind::Narrow(input) = kind { input } else { InputType::F32 };
    let operand_len = match operand {
        Operand::Constant => dim * dstate * width,
        Operand::Variable => batch * groups * dstate * seqlen * width,
    };
    let full = kind == Kind::Full;
    let (low, high) = if kind == Kind::Long { (0.1, 0.4) } else { (0.3, 2.5) };
    let mut a = Vec::new();
    for _ in 0..dim * dstate {
        let size = draw.log_uniform(low, high);
        let angle = if weights == Weights::Real { std::f64::consts::PI } else { draw.uniform(1.8, 4.4) };
        a.push((size * angle.cos()) as f32);
        if weights == Weights::Complex {
            a.push((size * angle.sin()) as f32);
        }
    }
    let mut delta = Vec::new();
    for _ in 0..batch {
        for channel in 0..dim {
            for l in 0..seqlen {
                delta.push(match kind {
                    Kind::Plain | Kind::Narrow(_) => draw.log_uniform(0.02, 3.0),
                    // The argument of softplus; the bias is in ±½.
                    Kind::Full if l % 9 == 4 => draw.uniform(1.5, 14.0),
                    Kind::Full => draw.uniform(-4.0, 1.0),
                    Kind::Tiny if channel == 0 => draw.log_uniform(1e-9, 1e-7),
                    Kind::Tiny => draw.log_uniform(1e-5, 1e-2),
                    Kind::Long => draw.log_uniform(1e-3, 0.05),
                } as f32);
            }
        }
    }
    let stored = |values: Vec<f32>| values.into_iter().map(|value| input.round(value)).collect();
    Problem {
        shape,
        weights,
        input,
        b_operand: operand,
        c_operand: operand,
        u: stored(values(shape.sequence_len(), || draw.normal())),
        delta: stored(delta),
        a,
        b: values(operand_len, || draw.normal()),
        c: values(operand_len, || draw.normal()),
        d: full.then(|| values(dim, || draw.normal())),
        z: full.then(|| values(shape.sequence_len(), || 1.5 * draw.normal())),
        delta_bias: full.then(|| values(dim, || draw.uniform(-0.5, 0.5))),
        delta_softplus: full,
        initial_state: None,
        conventions: Default::default(),
        judged_channels: (0..batch * dim).map(|i| (i / dim, i % dim)).collect(),
        held: None,
        packed: None,
    }
}

/// One method on one problem, solved: whatever a kernel returns can be judged by it.
pub struct Solved {
    pub kind: Kind,
    pub method: Method,
    pub problem: Problem,
    pub truth: ScanTruth,
    pub budget: Budget,
    pub work: Work,
}

/// The method on the problem of this kind.
pub fn solve(kind: Kind, weights: Weights, method: Method) -> Solved {
    Solved::of(kind, problem(kind, weights), method)
}

/// What a kernel returned, and the verdict on it.
pub struct Run {
    /// The judged channels.
    pub tensors: Tensors<f64>,
    pub verdict: Verdict,
    pub failing: Vec<TensorName>,
}

impl Solved {
    pub fn of(kind: Kind, problem: Problem, method: Method) -> Solved {
        let mut truths = holdfast::truth::scan::solve(&problem, &[method]).expect("certified");
        let budget = budget::scan(method, &problem, &Contract::PRODUCTION);
        Solved { kind, method, truth: truths.remove(0), budget, work: Work::default(), problem }
    }

    pub fn run(&self, backend: &CpuBackend) -> Run {
        self.run_as(self.method, backend)
    }

    /// What `method` returns, judged as the case's own method.
    pub fn run_as(&self, method: Method, backend: &CpuBackend) -> Run {
        self.returned(&backend.scan(method, &self.problem).expect("the kernel runs"))
    }

    /// What the kernels return if 16-bit outputs are cut off: planted here, in outputs of f32 storage.
    pub fn run_cut_off(&self) -> Run {
        let wide = Problem { input: InputType::F32, ..self.problem.clone() };
        let mut output = CpuBackend::new().scan(self.method, &wide).expect("the kernel runs");
        for value in &mut output[TensorName::Out].values {
            *value = match self.problem.input {
                InputType::F32 => *value,
                // Its upper half.
                InputType::Bf16 => f32::from_bits(value.to_bits() & 0xffff_0000),
                // The first of its numbers that is not farther out.
                InputType::F16 => {
                    let nearest = f16::from_f32(*value);
                    let beyond = nearest.to_f32().abs() > value.abs();
                    f16::from_bits(nearest.to_bits() - u16::from(beyond)).to_f32()
                }
            };
        }
        self.returned(&output)
    }

    fn returned(&self, output: &Tensors<f32>) -> Run {
        let judged = scan::judge(self.method, &self.problem, output, &self.truth.tensors, &self.budget);
        let fails = judged.iter().filter(|(_, one)| one.verdict == Verdict::Fail);
        let failing = fails.map(|(name, _)| name).collect();
        Run { tensors: self.problem.judged(output), verdict: scan::verdict(&judged), failing }
    }

    pub fn case<'a>(&'a self, run: &'a Run) -> Case<'a> {
        Case {
            form: self.method.into(),
            problem: &self.problem,
            got: &run.tensors,
            want: &self.truth.tensors,
            budget: &self.budget,
            work: &self.work,
        }
    }
}

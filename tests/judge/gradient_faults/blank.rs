//! Problems whose gradients are 0 whatever goes wrong at one place: what is said of numbers that are put in their place is about
//! these numbers alone, and takes no time.

use holdfast::judge::diagnose::Work;
use holdfast::judge::faults::gradient::{Case, diagnose};
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::results::Diagnosis;
use holdfast::tensor::{GradientName, Gradients, Named};
use rand::RngExt as _;

use crate::support::problems::generator;

/// One gradient: what it is to be, what was recorded of it, and the bound of each element.
pub struct Numbers {
    pub name: GradientName,
    pub want: Vec<f64>,
    pub got: Vec<f64>,
    pub bounds: Vec<f64>,
}

pub struct Blank {
    pub problem: Problem,
    pub given: OutputGradients,
}

impl Blank {
    /// Every gradient is a sum of products that have two factors 0 at least.
    pub fn new(shape: Shape, weights: Weights, operand: Operand) -> Self {
        let (sequence, width) = (shape.sequence_len(), weights.width());
        let operands = vec![0.0; shape.operand_len(operand, weights)];
        let problem = Problem {
            shape,
            weights,
            input: InputType::F32,
            b_operand: operand,
            c_operand: operand,
            u: vec![0.0; sequence],
            delta: vec![0.25; sequence],
            a: vec![-1.0; shape.dim * shape.dstate * width],
            b: operands.clone(),
            c: operands,
            d: Some(vec![0.0; shape.dim]),
            z: Some(vec![1.0; sequence]),
            delta_bias: Some(vec![0.0; shape.dim]),
            delta_softplus: false,
            initial_state: Some(vec![0.0; shape.batch * shape.dim * shape.dstate * width]),
            conventions: Default::default(),
            judged_channels: Vec::new(),
            held: None,
            packed: None,
        };
        Blank { problem, given: OutputGradients { dout: vec![0.0; sequence], dlast_state: None } }
    }

    /// Of real weights.
    pub fn real(batch: usize, dim: usize, seqlen: usize) -> Self {
        Blank::new(Shape { batch, dim, dstate: 1, seqlen, groups: 1 }, Weights::Real, Operand::Constant)
    }

    /// The shape of a gradient, and its parts of each element.
    pub fn layout(&self, name: GradientName) -> (Vec<usize>, usize) {
        let outline = self.problem.gradient::<f64>(name, Vec::new());
        (outline.shape, outline.width)
    }

    /// How many numbers it has.
    pub fn count(&self, name: GradientName) -> usize {
        let (shape, width) = self.layout(name);
        shape.iter().product::<usize>() * width
    }

    /// The right numbers elsewhere: each element is the one at the index that is said, or 0.
    pub fn rearranged(
        &self,
        name: GradientName,
        want: &[f64],
        from: impl Fn(&[usize]) -> Option<Vec<usize>>,
    ) -> Vec<f64> {
        let outline = self.problem.gradient::<f64>(name, Vec::new());
        let value = |i: usize| {
            let at = from(&outline.index(i));
            at.map_or(0.0, |at| want[flat(&at, &outline.shape) * outline.width + i % outline.width])
        };
        (0..want.len()).map(value).collect()
    }

    /// What is said of these gradients, all of which fail.
    pub fn judged(&self, all: &[Numbers]) -> Named<Vec<Diagnosis>, GradientName> {
        let Blank { problem, given } = self;
        let tensors = |of: fn(&Numbers) -> &Vec<f64>| -> Gradients<f64> {
            all.iter().map(|one| (one.name, problem.gradient(one.name, of(one).clone()))).collect()
        };
        let (got, want) = (tensors(|one| &one.got), tensors(|one| &one.want));
        let bounds: Named<Vec<f64>, GradientName> =
            all.iter().map(|one| (one.name, one.bounds.clone())).collect();
        let failing: Vec<GradientName> = all.iter().map(|one| one.name).collect();
        let (form, work) = (Method::Zoh.into(), &Work::default());
        diagnose(&Case { form, problem, given, got: &got, want: &want, bounds: &bounds, work }, &failing)
    }

    /// What is said of one gradient, with a bound for each element.
    pub fn said_within(&self, name: GradientName, want: &[f64], got: &[f64], bounds: &[f64]) -> Vec<String> {
        let numbers = Numbers { name, want: want.to_vec(), got: got.to_vec(), bounds: bounds.to_vec() };
        told(&self.judged(&[numbers])[name])
    }

    /// The same with one bound for all.
    pub fn said(&self, name: GradientName, want: &[f64], got: &[f64], bound: f64) -> Vec<String> {
        let (shape, _) = self.layout(name);
        self.said_within(name, want, got, &vec![bound; shape.iter().product()])
    }
}

/// Where an element stands among all.
pub fn flat(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |flat, (at, len)| flat * len + at)
}

/// Numbers of either sign whose sizes are in 1…2: each is wrong where it is 0, and no two are the same.
pub fn irregular(count: usize) -> Vec<f64> {
    let mut rng = generator("irregular numbers");
    let mut draw = || {
        let size: f64 = rng.random_range(1.0..2.0);
        if rng.random_range(0..2) == 0 { size } else { -size }
    };
    (0..count).map(|_| draw()).collect()
}

/// Names with their sentences.
pub fn told(all: &[Diagnosis]) -> Vec<String> {
    all.iter().map(|one| format!("{}: {}", one.name, one.what)).collect()
}

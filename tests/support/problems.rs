//! Small problems for the kernels' own tests. Not every test uses every helper.
#![allow(dead_code)]

use holdfast::problem::{Conventions, InputType, Operand, OutputGradients, Problem, Shape, Weights};
use rand::RngExt as _;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

/// A generator seeded by the test's name, so that every case is replayable.
pub fn generator(name: &str) -> ChaCha8Rng {
    let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    println!("seed of `{name}`: {seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// Numbers from −1 to 1, as a type has them.
pub fn uniform(len: usize, input: InputType, rng: &mut ChaCha8Rng) -> Vec<f32> {
    (0..len).map(|_| input.round(rng.random_range(-1.0f32..1.0))).collect()
}

/// What is chosen of a random problem; the rest is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub shape: Shape,
    pub weights: Weights,
    pub input: InputType,
    pub b: Operand,
    pub c: Operand,
    pub gate: bool,
    pub extras: bool,
}

impl Layout {
    /// Real weights, f32, constant B and C, no gate.
    pub fn plain(batch: usize, dim: usize, dstate: usize, seqlen: usize) -> Self {
        Layout {
            shape: Shape { batch, dim, dstate, seqlen, groups: 1 },
            weights: Weights::Real,
            input: InputType::F32,
            b: Operand::Constant,
            c: Operand::Constant,
            gate: false,
            extras: false,
        }
    }

    /// Real weights, f32, variable B and C, and all that there may be.
    pub fn whole(shape: Shape) -> Self {
        let (b, c) = (Operand::Variable, Operand::Variable);
        Layout { b, c, gate: true, extras: true, shape, ..Layout::plain(1, 1, 1, 1) }
    }

    /// A problem, and the gradients of its outputs; with an initial state, and a loss that sees last states, where there is a gate.
    pub fn with_loss(&self, rng: &mut ChaCha8Rng) -> (Problem, OutputGradients) {
        let mut problem = self.random(rng);
        let states = problem.shape.batch * problem.a.len();
        problem.initial_state = self.gate.then(|| uniform(states, InputType::F32, rng));
        let dout = uniform(problem.u.len(), self.input, rng);
        let dlast_state = self.gate.then(|| uniform(states, InputType::F32, rng));
        (problem, OutputGradients { dout, dlast_state })
    }

    fn operand_len(&self, operand: Operand) -> usize {
        let Shape { batch, dim, dstate, seqlen, groups } = self.shape;
        self.weights.width()
            * match operand {
                Operand::Constant => dim * dstate,
                Operand::Variable => batch * groups * dstate * seqlen,
            }
    }

    /// Stable A (real: −4…−½, complex: S4D-Lin like), Δ in 0.01…0.3, everything else in −1…1. With `extras`: D,
    /// delta_bias and softplus. Every channel is judged.
    pub fn random(&self, rng: &mut ChaCha8Rng) -> Problem {
        let shape = self.shape;
        let input = self.input;
        let mut draw = |len: usize, low: f32, high: f32, storage: InputType| -> Vec<f32> {
            (0..len).map(|_| storage.round(rng.random_range(low..high))).collect()
        };
        let storage = |operand| if operand == Operand::Constant { InputType::F32 } else { input };
        let sequence = shape.sequence_len();
        let mut a = draw(shape.dim * shape.dstate * self.weights.width(), -4.0, -0.5, InputType::F32);
        if self.weights == Weights::Complex {
            for (i, part) in a.iter_mut().enumerate() {
                *part = if i % 2 == 0 { *part * 0.25 } else { -*part * 3.0 };
            }
        }
        let mut problem = Problem {
            shape,
            weights: self.weights,
            input,
            b_operand: self.b,
            c_operand: self.c,
            u: draw(sequence, -1.0, 1.0, input),
            delta: if self.extras {
                draw(sequence, -4.0, -1.5, input)
            } else {
                draw(sequence, 0.01, 0.3, input)
            },
            a,
            b: draw(self.operand_len(self.b), -1.0, 1.0, storage(self.b)),
            c: draw(self.operand_len(self.c), -1.0, 1.0, storage(self.c)),
            d: self.extras.then(|| draw(shape.dim, -1.0, 1.0, InputType::F32)),
            z: self.gate.then(|| draw(sequence, -2.0, 2.0, input)),
            delta_bias: self.extras.then(|| draw(shape.dim, -0.5, 0.5, InputType::F32)),
            delta_softplus: self.extras,
            initial_state: None,
            conventions: Default::default(),
            judged_channels: Vec::new(),
            held: None,
            packed: None,
        };
        problem.judged_channels = problem.channels().collect();
        problem
    }
}

/// Every layout: weights × input × B × C × gate, each with extras where there is a gate.
pub fn layouts(shape: Shape) -> impl Iterator<Item = Layout> {
    let mut list = Vec::new();
    for weights in Weights::ALL {
        for input in InputType::ALL {
            for b in Operand::ALL {
                for c in Operand::ALL {
                    for gate in [false, true] {
                        list.push(Layout { shape, weights, input, b, c, gate, extras: gate });
                    }
                }
            }
        }
    }
    list.into_iter()
}

/// The bits, so that equal means equal: −0 is not 0, and a NaN equals itself.
pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// One channel with constant real weights, of as many states as there are A: B and C are 1, and nothing else is there.
pub fn channel(a: &[f32], delta: &[f32], u: &[f32]) -> Problem {
    let dstate = a.len();
    Problem {
        shape: Shape { batch: 1, dim: 1, dstate, seqlen: u.len(), groups: 1 },
        weights: Weights::Real,
        input: InputType::F32,
        b_operand: Operand::Constant,
        c_operand: Operand::Constant,
        u: u.to_vec(),
        delta: delta.to_vec(),
        a: a.to_vec(),
        b: vec![1.0; dstate],
        c: vec![1.0; dstate],
        d: None,
        z: None,
        delta_bias: None,
        delta_softplus: false,
        initial_state: None,
        conventions: Conventions::default(),
        judged_channels: vec![(0, 0)],
        held: None,
        packed: None,
    }
}

//! What a backward pass starts from, and the shapes of what it computes (spec.md §6).

use super::inputs::Draw;
use super::{Operand, Problem, Shape};
use crate::tensor::{GradientName, Tensor};

/// The gradients of a loss by what a scan computes. Complex ones are ∂L/∂Re + i ∂L/∂Im, as PyTorch has them.
#[derive(Clone, Debug)]
pub struct OutputGradients {
    /// (batch, dim, seqlen). A kernel holds it in the input type, rounded to nearest.
    pub dout: Vec<f32>,
    /// (batch, dim, dstate)·w; none where the loss does not see the last state. Of packed sequences (batch, dim, last states, dstate)·w.
    pub dlast_state: Option<Vec<f32>>,
}

named! {
    /// What a planned problem's loss is of its outputs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Loss: "kind of loss" {
        /// Each `dout` is normal.
        Random => "random",
        /// One position of each channel.
        OneHot => "one-hot",
        /// The sum of all outputs.
        Sum => "sum",
        /// The last position of each channel alone.
        Last => "last",
        /// Each position takes back what the one before gave.
        Cancelling => "cancelling",
    }
}

impl Loss {
    /// One of all, and whether it sees the last state.
    pub fn any(draw: &mut Draw) -> (Self, bool) {
        let kinds = Loss::ALL;
        (kinds[((draw.unit() * kinds.len() as f64) as usize).min(kinds.len() - 1)], draw.unit() < 0.5)
    }

    /// The gradients of the loss by the outputs of a problem, as they are stored; the last state is seen where `sees_state`.
    pub fn draw(self, problem: &Problem, sees_state: bool, draw: &mut Draw) -> OutputGradients {
        let Shape { batch, dim, dstate, seqlen, .. } = problem.shape;
        let mut dout = Vec::with_capacity(problem.shape.sequence_len());
        for _ in 0..batch * dim {
            let chosen = ((draw.unit() * seqlen as f64) as usize).min(seqlen - 1);
            let first = draw.normal();
            dout.extend((0..seqlen).map(|l| match self {
                Loss::Random => draw.normal(),
                Loss::OneHot => f64::from(u8::from(l == chosen)),
                Loss::Sum => 1.0,
                Loss::Last => f64::from(u8::from(l + 1 == seqlen)),
                Loss::Cancelling => {
                    if l % 2 == 0 {
                        first
                    } else {
                        -first
                    }
                }
            }));
        }
        let stored = |value: f64| problem.input.round(value as f32);
        let [_, last_states] = problem.states_of_each();
        let states = batch * dim * last_states * dstate * problem.weights.width();
        OutputGradients {
            dout: dout.into_iter().map(stored).collect(),
            dlast_state: sees_state.then(|| (0..states).map(|_| draw.normal() as f32).collect()),
        }
    }
}

impl Problem {
    /// A gradient with the shape of its input, and stored like it.
    pub fn gradient<T>(&self, name: GradientName, values: Vec<T>) -> Tensor<T> {
        use GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
        let Shape { batch, dim, dstate, seqlen, groups } = self.shape;
        let weight = self.weights.width();
        let rows = dim / self.shared_by(name).unwrap_or(1);
        let operand = |operand: Operand| match operand {
            Operand::Constant => (vec![dim, dstate], weight),
            Operand::Variable => (vec![batch, groups, dstate, seqlen], weight),
        };
        let (shape, width) = match name {
            U | Delta | Z => (vec![batch, rows, seqlen], 1),
            A if self.is_dense() => (vec![dim, dstate, dstate], weight),
            A if self.shared_by(A).is_some() => (vec![rows], weight),
            A => operand(Operand::Constant),
            B => operand(self.b_operand),
            C => operand(self.c_operand),
            D | DeltaBias => (vec![rows], 1),
            InitialState => match self.states_of_each() {
                [1, _] => (vec![batch, dim, dstate], weight),
                [states, _] => (vec![batch, dim, states, dstate], weight),
            },
        };
        Tensor { shape, width, element: self.stored(name), values }
    }

    /// The gradients that there are, one for each input, in the order of inputs; and how many values each has, of all parts.
    pub fn gradients(&self) -> Vec<(GradientName, usize)> {
        let len = |name| {
            let blank = self.gradient(name, Vec::<f32>::new());
            blank.shape.iter().product::<usize>() * blank.width
        };
        let names = GradientName::ALL.into_iter().zip(self.inputs());
        names.filter_map(|(name, (_, values, _))| values.map(|_| (name, len(name)))).collect()
    }

    /// How many channels in a row add to one value of a gradient that heads have, or rows of a shared step; none of others. One of A is
    /// the sum over states, too.
    pub fn shared_by(&self, name: GradientName) -> Option<usize> {
        self.conventions.axes.shared.by(name)
    }

    /// Index of the first value that a channel adds to in a gradient: the one place that knows which channels share it.
    pub fn gradient_index(&self, name: GradientName, at: (usize, usize)) -> usize {
        use GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
        let (batch, channel) = at;
        let by = self.shared_by(name);
        let (row, rows) = (channel / by.unwrap_or(1), self.shape.dim / by.unwrap_or(1));
        match name {
            Delta if by.is_some() => (batch * rows + row) * self.shape.seqlen,
            U | Delta | Z => self.sequence_index(batch, channel, 0),
            A if by.is_some() => row * self.weights.width(),
            A => channel * self.floats_of_a(),
            B => self.operand_index(self.b_operand, at, 0, 0),
            C => self.operand_index(self.c_operand, at, 0, 0),
            D | DeltaBias => row,
            InitialState => self.state_index(at, 0),
        }
    }

    /// Whether an input, and so its gradient, has a value for each position.
    pub fn varies(&self, name: GradientName) -> bool {
        varies(name, self.b_operand, self.c_operand)
    }
}

/// The same where B and C are such operands.
pub fn varies(name: GradientName, b: Operand, c: Operand) -> bool {
    match name {
        GradientName::U | GradientName::Delta | GradientName::Z => true,
        GradientName::B => b == Operand::Variable,
        GradientName::C => c == Operand::Variable,
        GradientName::A | GradientName::D | GradientName::DeltaBias | GradientName::InitialState => false,
    }
}

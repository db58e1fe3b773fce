//! What a backward pass starts from, and the shapes of what it computes (spec.md §6).

use super::{InputType, Operand, Problem, Shape};
use crate::tensor::{GradientName, Tensor};

/// The gradients of a loss by what a scan computes. Complex ones are ∂L/∂Re + i ∂L/∂Im, as PyTorch has them.
#[derive(Clone, Debug)]
pub struct OutputGradients {
    /// (batch, dim, seqlen). A kernel holds it in the input type, rounded to nearest.
    pub dout: Vec<f32>,
    /// (batch, dim, dstate)·w; none where the loss does not see the last state.
    pub dlast_state: Option<Vec<f32>>,
}

impl Problem {
    /// A gradient with the shape of its input, and stored like it.
    pub fn gradient<T>(&self, name: GradientName, values: Vec<T>) -> Tensor<T> {
        use GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
        let Shape { batch, dim, dstate, seqlen, groups } = self.shape;
        let weight = self.weights.width();
        let operand = |operand: Operand| match operand {
            Operand::Constant => (vec![dim, dstate], weight, InputType::F32),
            Operand::Variable => (vec![batch, groups, dstate, seqlen], weight, self.input),
        };
        let (shape, width, element) = match name {
            U | Delta | Z => (vec![batch, dim, seqlen], 1, self.input),
            A => operand(Operand::Constant),
            B => operand(self.b_operand),
            C => operand(self.c_operand),
            D | DeltaBias => (vec![dim], 1, InputType::F32),
            InitialState => (vec![batch, dim, dstate], weight, InputType::F32),
        };
        Tensor { shape, width, element, values }
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

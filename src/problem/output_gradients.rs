//! What a backward pass starts from.

/// The gradients of a loss by what a scan computes. Complex ones are ∂L/∂Re + i ∂L/∂Im, as PyTorch has them.
#[derive(Clone, Debug)]
pub struct OutputGradients {
    /// (batch, dim, seqlen)
    pub dout: Vec<f32>,
    /// (batch, dim, dstate)·w; none where the loss does not see the last state.
    pub dlast_state: Option<Vec<f32>>,
}

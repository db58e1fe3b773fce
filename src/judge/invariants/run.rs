//! One run's outputs with the bound of each element, and the rearrangements that invariants need.

use num_complex::Complex64;

use crate::judge::budget::Budget;
use crate::problem::{Shape, Weights};
use crate::tensor::{TensorName, Tensors};

/// What a kernel returned for every channel, and how far from its truth it may be.
#[derive(Clone, Debug)]
pub struct ProbeRun {
    pub shape: Shape,
    pub weights: Weights,
    /// (batch, dim, seqlen)
    pub out: Vec<f64>,
    /// (batch, dim, dstate)
    pub last_state: Vec<Complex64>,
    /// Laid out like `out`.
    pub out_bound: Vec<f64>,
    /// Laid out like `last_state`; on the modulus.
    pub state_bound: Vec<f64>,
}

impl ProbeRun {
    /// From a kernel's arrays (spec.md §3), of an f32 problem whose every channel is judged.
    pub fn new(shape: Shape, weights: Weights, tensors: &Tensors<f32>, budget: &Budget) -> ProbeRun {
        let part = |v: &[f32], i: usize| v.get(i).map_or(0.0, |&x| f64::from(x));
        let (out, last_state) = (&tensors[TensorName::Out], &tensors[TensorName::LastState]);
        let states = last_state.values.chunks(weights.width());
        ProbeRun {
            shape,
            weights,
            out: out.values.iter().map(|&y| f64::from(y)).collect(),
            last_state: states.map(|v| Complex64::new(part(v, 0), part(v, 1))).collect(),
            out_bound: budget.tensors[TensorName::Out].bound.clone(),
            state_bound: budget.tensors[TensorName::LastState].bound.clone(),
        }
    }

    /// Whether nothing but zeros came out: an output that obeys every linear law and says nothing.
    pub fn is_zero(&self) -> bool {
        self.out.iter().all(|&y| y == 0.0) || self.last_state.iter().all(|&x| x == Complex64::ZERO)
    }

    /// The states and positions listed, in that order, as [`crate::problem::transform::select`] does to a problem.
    pub fn select(&self, states: &[usize], positions: &[usize]) -> ProbeRun {
        let pick = |values: &[f64], length: usize, at: &[usize]| -> Vec<f64> {
            values.chunks(length).flat_map(|row| at.iter().map(|&i| row[i])).collect()
        };
        let rows = self.last_state.chunks(self.shape.dstate);
        ProbeRun {
            shape: Shape { dstate: states.len(), seqlen: positions.len(), ..self.shape },
            weights: self.weights,
            out: pick(&self.out, self.shape.seqlen, positions),
            out_bound: pick(&self.out_bound, self.shape.seqlen, positions),
            last_state: rows.flat_map(|row| states.iter().map(|&n| row[n])).collect(),
            state_bound: pick(&self.state_bound, self.shape.dstate, states),
        }
    }

    /// The last states changed by `map`, which must keep their moduli.
    pub fn with_states(&self, map: impl Fn(Complex64) -> Complex64) -> ProbeRun {
        ProbeRun { last_state: self.last_state.iter().map(|&x| map(x)).collect(), ..self.clone() }
    }

    /// The bounds widened: of each last state by `state`, (batch, dim, dstate), and of each output by `out`.
    pub fn widened(mut self, out: &[f64], state: &[f64]) -> ProbeRun {
        self.out_bound.iter_mut().zip(out).for_each(|(bound, extra)| *bound += extra);
        self.state_bound.iter_mut().zip(state).for_each(|(bound, extra)| *bound += extra);
        self
    }
}

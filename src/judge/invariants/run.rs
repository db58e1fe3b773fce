//! One run's tensors with the bound of each element, and the rearrangements that invariants need.

use num_complex::Complex64;

use crate::judge::budget::Budget;
use crate::judge::budget::gradient::GradientBudget;
use crate::judge::ulp::Format;
use crate::tensor::{GradientName, Gradients, Named, Tensor, TensorName, Tensors};

/// A tensor that a kernel returned for every channel, and how far from its truth each element may be.
#[derive(Clone, Debug)]
pub struct ProbedTensor {
    /// (batch, dim, …), or a gradient's.
    pub shape: Vec<usize>,
    /// Real and imaginary part, or the real one alone.
    pub width: usize,
    /// What a kernel stores it in.
    pub format: Format,
    /// (shape), whatever the width.
    pub values: Vec<Complex64>,
    /// (shape); on the modulus.
    pub bound: Vec<f64>,
}

/// What a kernel returned for a probe: outputs, or gradients.
#[derive(Clone, Debug)]
pub struct ProbeRun<N = TensorName> {
    pub tensors: Named<ProbedTensor, N>,
}

impl<N: Copy + Ord> ProbeRun<N> {
    fn bounded(tensors: &Named<Tensor<f32>, N>, bound: impl Fn(N, usize) -> Vec<f64>) -> Self {
        let part = |v: &[f32], i: usize| v.get(i).map_or(0.0, |&x| f64::from(x));
        let probed = tensors.map(|name, tensor| ProbedTensor {
            shape: tensor.shape.clone(),
            width: tensor.width,
            format: Format::for_input(tensor.element),
            values: tensor
                .values
                .chunks(tensor.width)
                .map(|v| Complex64::new(part(v, 0), part(v, 1)))
                .collect(),
            bound: bound(name, tensor.values.len() / tensor.width),
        });
        ProbeRun { tensors: probed }
    }

    /// From a kernel's tensors, of a problem whose every element is known exactly.
    pub fn exact(tensors: &Named<Tensor<f32>, N>) -> Self {
        Self::bounded(tensors, |_, elements| vec![0.0; elements])
    }

    /// Whether some tensor has nothing but zeros in it: it obeys every linear law and says nothing.
    pub fn is_zero(&self) -> bool {
        self.tensors.values().any(|tensor| tensor.values.iter().all(|&x| x == Complex64::ZERO))
    }
}

impl ProbedTensor {
    /// Where the value at a place of the buffer is, along each axis.
    pub fn index(&self, mut place: usize) -> Vec<usize> {
        let mut index = vec![0; self.shape.len()];
        for (at, &length) in index.iter_mut().zip(&self.shape).rev() {
            (*at, place) = (place % length, place / length);
        }
        index
    }
}

impl ProbeRun<GradientName> {
    /// From a backward pass of an f32 problem.
    pub fn of_gradients(gradients: &Gradients<f32>, budget: &GradientBudget) -> Self {
        Self::bounded(gradients, |name, _| budget.tensors[name].bound.clone())
    }

    /// The gradients in another order: each value is the one that was where `from` says.
    pub fn rearranged(&self, from: impl Fn(GradientName, &[usize]) -> Vec<usize>) -> Self {
        let tensors = self.tensors.map(|name, tensor| {
            let place = |index: Vec<usize>| {
                index.iter().zip(&tensor.shape).fold(0, |place, (&at, &length)| place * length + at)
            };
            let places = (0..tensor.values.len()).map(|i| place(from(name, &tensor.index(i))));
            let places: Vec<usize> = places.collect();
            ProbedTensor {
                values: places.iter().map(|&i| tensor.values[i]).collect(),
                bound: places.iter().map(|&i| tensor.bound[i]).collect(),
                ..tensor.clone()
            }
        });
        ProbeRun { tensors }
    }

    /// All values conjugated: those of real ones stay.
    pub fn conjugated(mut self) -> Self {
        self.tensors.iter_mut().for_each(|(_, tensor)| tensor.values.iter_mut().for_each(|x| *x = x.conj()));
        self
    }
}

impl ProbeRun {
    /// From a kernel's tensors, of an f32 problem whose every channel is judged.
    pub fn new(tensors: &Tensors<f32>, budget: &Budget) -> ProbeRun {
        ProbeRun::bounded(tensors, |name, _| budget.tensors[name].bound.clone())
    }

    /// The states and positions listed, in that order, as [`crate::problem::transform::select`] does to a problem.
    pub fn select(&self, states: &[usize], positions: &[usize]) -> ProbeRun {
        fn pick<T: Copy>(values: &[T], length: usize, at: &[usize]) -> Vec<T> {
            values.chunks(length).flat_map(|row| at.iter().map(|&i| row[i])).collect()
        }
        let tensors = self.tensors.map(|name, tensor| {
            let at = match name {
                TensorName::Out | TensorName::DaCumsum => positions,
                TensorName::LastState | TensorName::ChunkStates => states,
            };
            let length = tensor.shape[2];
            ProbedTensor {
                shape: vec![tensor.shape[0], tensor.shape[1], at.len()],
                width: tensor.width,
                format: tensor.format,
                values: pick(&tensor.values, length, at),
                bound: pick(&tensor.bound, length, at),
            }
        });
        ProbeRun { tensors }
    }

    /// The last states changed by `map`, which must keep their moduli.
    pub fn with_states(&self, map: impl Fn(Complex64) -> Complex64) -> ProbeRun {
        let mut changed = self.clone();
        changed.tensors[TensorName::LastState].values.iter_mut().for_each(|x| *x = map(*x));
        changed
    }

    /// The bounds widened: of each last state by `state`, (batch, dim, dstate), and of each output by `out`.
    pub fn widened(mut self, out: &[f64], state: &[f64]) -> ProbeRun {
        for (name, extra) in [(TensorName::Out, out), (TensorName::LastState, state)] {
            self.tensors[name].bound.iter_mut().zip(extra).for_each(|(bound, extra)| *bound += extra);
        }
        self
    }
}

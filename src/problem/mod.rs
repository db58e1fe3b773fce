//! What is to be computed: shapes, inputs drawn from a seed, the named regimes that make them hard, and runs that
//! were recorded elsewhere.
//!
//! A [`Problem`] holds the tensors of one selective scan (spec.md §3), already rounded to their storage type.
//! It knows nothing of truth, kernels or verdicts.
//!
//! ```
//! use holdfast::problem::{InputType, Operand, Weights, plan::Spec, regime};
//!
//! let regime = regime::find("short").expect("in the table");
//! let (weights, input) = (Weights::Complex, InputType::Bf16);
//! let spec = Spec { regime, weights, input, b: Operand::Variable, c: Operand::Constant };
//! // The same tensors for the same seed, on every machine.
//! let problem = spec.draw(1);
//! assert_eq!(spec.id(), "short/complex/bf16/b-variable/c-constant");
//! assert_eq!(problem.u.len(), problem.shape.sequence_len());
//! assert_eq!(spec.draw(1).u, problem.u);
//! ```

mod axes;
pub mod conventions;
pub mod dense;
pub mod elements;
pub mod fingerprint;
pub mod inputs;
pub mod one_step;
pub mod output_gradients;
pub mod packed;
pub mod plan;
pub mod probe;
pub mod recorded;
pub mod regime;
pub mod roots;
pub mod setting;
pub mod shape;
pub mod stages;
pub mod stretch;
pub mod sweep;
pub mod transform;
pub mod trapezoidal;

use std::sync::Arc;

use num_complex::Complex64;

use self::conventions::{ComplexOutput, Coupling, Reads, StateHolds};
use self::stretch::Inputs;
use crate::tensor::{ComputedName, GradientName, Tensor, TensorName, Tensors};

pub use axes::{Axes, Order, Shared};
pub use conventions::Conventions;
pub use output_gradients::OutputGradients;
pub use packed::{Packed, Sequence};
pub use shape::{Operand, Shape, Weights};
pub use stages::{Stage, Stages};

pub use crate::tensor::InputType;

/// A scan has a truth up to this log2 of |ΔA|: beyond it exponentials leave the range of the arithmetic.
pub const LARGEST_EXPONENT: i64 = 16;

/// One selective scan's inputs. Every value is exactly representable in the tensor's storage type
/// ([`InputType`] for u, delta, z and variable B, C; f32 for the rest; or a type of its own,
/// [`conventions::Types`]) and is held widened to f32.
///
/// Complex values are two neighbouring floats, re then im: `w` below is 1 for real weights, 2 for complex.
#[derive(Clone, Debug)]
pub struct Problem {
    pub shape: Shape,
    pub weights: Weights,
    pub input: InputType,
    pub b_operand: Operand,
    pub c_operand: Operand,
    /// (batch, dim, seqlen)
    pub u: Vec<f32>,
    /// (batch, dim, seqlen), before bias and softplus
    pub delta: Vec<f32>,
    /// (dim, dstate)·w; dense, (dim, dstate, dstate)·w.
    pub a: Vec<f32>,
    /// Constant: (dim, dstate)·w. Variable: (batch, groups, dstate, seqlen)·w.
    pub b: Vec<f32>,
    /// Laid out like `b`.
    pub c: Vec<f32>,
    /// The skip D, (dim).
    pub d: Option<Vec<f32>>,
    /// The gate, (batch, dim, seqlen).
    pub z: Option<Vec<f32>>,
    /// (dim)
    pub delta_bias: Option<Vec<f32>>,
    pub delta_softplus: bool,
    /// (batch, dim, dstate)·w: x_{−1}, 0 where it is left out; poly's reversed scan starts from 0. Of packed sequences (batch, dim,
    /// initial states, dstate)·w.
    pub initial_state: Option<Vec<f32>>,
    pub conventions: Conventions,
    /// The channels (batch index, dim index) for which truth is computed and which are judged; a kernel
    /// always computes all of them (channels are independent, spec.md §1).
    pub judged_channels: Vec<(usize, usize)>,
    /// Which rows the tensors hold; none: all of them.
    pub held: Option<Held>,
    /// The sequences of each item; none: each is one.
    pub packed: Option<Arc<Packed>>,
}

/// The rows that a problem's tensors hold: a few channels of a recording that need not fit into memory. Sizes, indices and
/// weights, constant B and C among them, are the whole problem's all the same.
#[derive(Clone, Debug)]
pub struct Held {
    /// Of u, delta, z and outputs: batch·dim + channel, ascending.
    pub channels: Vec<usize>,
    /// Of variable B and C: batch·groups + group, ascending.
    pub groups: Vec<usize>,
}

/// Where a row is among those that are held.
///
/// # Panics
/// When it is not.
fn held_at(rows: Option<&Vec<usize>>, row: usize) -> usize {
    if_held(rows, row).expect("only rows that are held are asked for")
}

fn if_held(rows: Option<&Vec<usize>>, row: usize) -> Option<usize> {
    rows.map_or(Some(row), |rows| rows.binary_search(&row).ok())
}

/// An input's name in spec.md §3, its values, and how many of them the shape asks for.
pub type NamedInput<'a> = (&'static str, Option<&'a Vec<f32>>, usize);

impl Problem {
    /// Every input, none where it is left out.
    pub fn inputs(&self) -> [NamedInput<'_>; 9] {
        let Shape { dim, dstate, seqlen, .. } = self.shape;
        let held = self.held.as_ref();
        let sequence = held.map_or(self.shape.sequence_len(), |held| held.channels.len() * seqlen);
        let operand = |operand| match held {
            Some(held) if operand == Operand::Variable => {
                held.groups.len() * dstate * seqlen * self.weights.width()
            }
            _ => self.shape.operand_len(operand, self.weights),
        };
        let channels = held.map_or(self.shape.batch * dim, |held| held.channels.len());
        let states = channels * self.states_of_each()[0] * dstate * self.weights.width();
        [
            ("u", Some(&self.u), sequence),
            ("delta", Some(&self.delta), sequence),
            ("A", Some(&self.a), dim * self.floats_of_a()),
            ("B", Some(&self.b), operand(self.b_operand)),
            ("C", Some(&self.c), operand(self.c_operand)),
            ("D", self.d.as_ref(), dim),
            ("z", self.z.as_ref(), sequence),
            ("delta_bias", self.delta_bias.as_ref(), dim),
            (conventions::INITIAL_STATE, self.initial_state.as_ref(), states),
        ]
    }

    /// Copy with other values of each input that it has.
    pub fn with_inputs(&self, values: impl Fn(GradientName, &[f32]) -> Vec<f32>) -> Problem {
        let (judged_channels, held, packed) =
            (self.judged_channels.clone(), self.held.clone(), self.packed.clone());
        Problem { judged_channels, held, packed, ..self.of_inputs(values) }
    }

    /// A problem of other values of each input, of which all rows are held and no sequences packed, and in which nothing is judged yet.
    fn of_inputs(&self, values: impl Fn(GradientName, &[f32]) -> Vec<f32>) -> Problem {
        use GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
        let optional = |name, given: &Option<Vec<f32>>| given.as_deref().map(|given| values(name, given));
        Problem {
            u: values(U, &self.u),
            delta: values(Delta, &self.delta),
            a: values(A, &self.a),
            b: values(B, &self.b),
            c: values(C, &self.c),
            d: optional(D, &self.d),
            z: optional(Z, &self.z),
            delta_bias: optional(DeltaBias, &self.delta_bias),
            initial_state: optional(InitialState, &self.initial_state),
            judged_channels: Vec::new(),
            held: None,
            packed: None,
            ..*self
        }
    }

    /// How an input lies: floats of an element, positions of a row and rows of each channel or group, 1 where it has none.
    pub fn grid(&self, name: GradientName) -> [usize; 3] {
        use GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
        let (width, states) = match name {
            A | B | C | InitialState => (self.weights.width(), self.shape.dstate),
            U | Delta | D | Z | DeltaBias => (1, 1),
        };
        [width, if self.varies(name) { self.shape.seqlen } else { 1 }, states]
    }

    /// Every channel (batch index, dim index), in the order of the tensors' rows.
    pub fn channels(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let dim = self.shape.dim;
        (0..self.shape.batch * dim).map(move |row| (row / dim, row % dim))
    }

    /// Index of the first float of state n of x_{−1}, of the first one where a channel is given several.
    pub fn state_index(&self, (batch, channel): (usize, usize), n: usize) -> usize {
        let row = self.channel_row(batch, channel) * self.states_of_each()[0];
        (row * self.shape.dstate + n) * self.weights.width()
    }

    /// How many positions come before each state that is asked for: where chunks begin, and at last all of them.
    pub fn asked_states(&self) -> Vec<usize> {
        let seqlen = self.shape.seqlen;
        let starts = self.conventions.chunk.map(|chunk| (0..seqlen).step_by(chunk.get()));
        starts.into_iter().flatten().chain([seqlen]).collect()
    }

    /// Whether a constant B multiplies C, in place of u.
    #[inline]
    pub fn reads_with_b(&self) -> bool {
        self.conventions.state == StateHolds::InputAlone
    }

    /// Whether outputs read the state before its update.
    #[inline]
    pub fn reads_before(&self) -> bool {
        self.conventions.reads == Reads::BeforeUpdate
    }

    /// What y is of Re Σ C x, of one direction.
    #[inline]
    pub fn output_factor(&self) -> f64 {
        let pairs =
            self.weights == Weights::Complex && self.conventions.output == ComplexOutput::TwiceRealPart;
        if pairs { 2.0 } else { 1.0 }
    }

    /// Index of element (batch, channel, l) in `u`, `delta`, `z` and the output.
    pub fn sequence_index(&self, batch: usize, channel: usize, l: usize) -> usize {
        self.channel_row(batch, channel) * self.shape.seqlen + l
    }

    /// The row of a channel in `u`, `delta`, `z` and outputs.
    fn channel_row(&self, batch: usize, channel: usize) -> usize {
        held_at(self.held.as_ref().map(|held| &held.channels), batch * self.shape.dim + channel)
    }

    /// The row of a channel in `u`, `delta` and `z`; none where it is not held.
    #[inline]
    pub fn row_if_held(&self, batch: usize, channel: usize) -> Option<usize> {
        if_held(self.held.as_ref().map(|held| &held.channels), batch * self.shape.dim + channel)
    }

    /// Channels of a head, or that share their step size; 1 where each has its own.
    pub fn channels_of_a_head(&self) -> usize {
        let axes = self.conventions.axes;
        let of_heads = (axes.order == Order::Blhp).then_some(axes.headdim.max(1));
        of_heads.or(axes.shared.delta).unwrap_or(1)
    }

    /// How many channels in a row have the same steps: those of a head, or what shares a row of `delta`. None where each has its own,
    /// and of a problem that does not hold all channels of the first item.
    pub fn channels_of_a_step(&self) -> Option<usize> {
        let Shape { dim, seqlen, .. } = self.shape;
        let rows: Option<Vec<usize>> = (0..dim).map(|channel| self.row_if_held(0, channel)).collect();
        let rows = rows?;
        let steps = |channel: usize| &self.delta[rows[channel] * seqlen..][..seqlen];
        let bias = |channel: usize| self.delta_bias.as_ref().map(|bias| bias[channel]);
        let is_shared =
            |by: &usize| (0..dim).all(|c| (steps(c), bias(c)) == (steps(c / by * by), bias(c / by * by)));
        (2..dim).rev().filter(|by| dim.is_multiple_of(*by)).find(is_shared)
    }

    /// The same of [`Problem::group_row`].
    #[inline]
    pub fn group_row_if_held(&self, batch: usize, group: usize) -> Option<usize> {
        if_held(self.held.as_ref().map(|held| &held.groups), batch * self.shape.groups + group)
    }

    /// The row of a group in variable `b` and `c`, of (dstate, seqlen)·w values.
    pub fn group_row(&self, batch: usize, group: usize) -> usize {
        held_at(self.held.as_ref().map(|held| &held.groups), batch * self.shape.groups + group)
    }

    /// u at a position; before the start it is 0, past the end it is held (spec.md §2, "Textbook forms").
    pub fn u_at(&self, (batch, channel): (usize, usize), l: isize) -> f32 {
        match usize::try_from(l) {
            Ok(l) => self.u[self.sequence_index(batch, channel, l.min(self.shape.seqlen - 1))],
            Err(_) => 0.0,
        }
    }

    /// Type in which an output or a gradient is stored.
    pub fn stored(&self, name: impl Into<ComputedName>) -> InputType {
        let name = name.into();
        let is_of_input_type = match name {
            ComputedName::Output(output) => output == TensorName::Out,
            ComputedName::Gradient(of_input) => self.varies(of_input),
            ComputedName::Step(_) | ComputedName::Trapezoidal(_) | ComputedName::Dense(_) => false,
        };
        let usual = if is_of_input_type { self.input } else { InputType::F32 };
        self.conventions.types.get(name).unwrap_or(usual)
    }

    /// Type in which the input is stored that a gradient is by.
    pub fn stored_input(&self, of: GradientName) -> InputType {
        let usual = if self.varies(of) { self.input } else { InputType::F32 };
        self.conventions.types.input(of).unwrap_or(usual)
    }

    /// A tensor that a scan of every channel computed: (batch, dim, …)·width values.
    pub fn tensor<T>(&self, name: TensorName, values: Vec<T>) -> Tensor<T> {
        self.outline().tensor(name, values)
    }

    /// The same of the judged channels alone: (judged channels, …)·width values.
    pub fn judged_tensor<T>(&self, name: TensorName, values: Vec<T>) -> Tensor<T> {
        let (rest, width, element) = self.outline().layout(name);
        Tensor { shape: [vec![self.judged_channels.len()], rest].concat(), width, element, values }
    }

    /// The judged channels of tensors that have all, one after the other and widened.
    pub fn judged<T: Copy + Into<f64>>(&self, tensors: &Tensors<T>) -> Tensors<f64> {
        tensors.map(|name, tensor| {
            let row_len = tensor.shape[2..].iter().product::<usize>() * tensor.width;
            let rows = self.judged_channels.iter().map(|&(batch, channel)| self.channel_row(batch, channel));
            let values = rows.flat_map(|row| &tensor.values[row * row_len..(row + 1) * row_len]);
            self.judged_tensor(name, values.map(|&value| value.into()).collect())
        })
    }

    /// The index (batch, channel, …) of the value at `position` of a tensor of the judged channels.
    pub fn judged_index<T>(&self, tensor: &Tensor<T>, position: usize) -> Vec<usize> {
        let within = tensor.index(position);
        let (batch, channel) = self.judged_channels[within[0]];
        [&[batch, channel], &within[1..]].concat()
    }

    /// Whether A is a matrix for each channel.
    #[inline]
    pub fn is_dense(&self) -> bool {
        self.conventions.coupling == Coupling::Dense
    }

    /// Floats of a channel in `a`: its first is at as many times the channel.
    pub fn floats_of_a(&self) -> usize {
        let dstate = self.shape.dstate;
        (if self.is_dense() { dstate * dstate } else { dstate }) * self.weights.width()
    }

    /// Index of the first float of a diagonal A[channel, n] in `a`, and of B or C when they are constant.
    pub fn weight_index(&self, channel: usize, n: usize) -> usize {
        (channel * self.shape.dstate + n) * self.weights.width()
    }

    /// Index of the first float of B or C at (batch, channel, n, l), whichever way `operand` is laid out.
    /// Channel d reads group d / (dim / groups) (spec.md §3).
    pub fn operand_index(
        &self,
        operand: Operand,
        (batch, channel): (usize, usize),
        n: usize,
        l: usize,
    ) -> usize {
        match operand {
            Operand::Constant => self.weight_index(channel, n),
            Operand::Variable => {
                let group = channel / (self.shape.dim / self.shape.groups);
                let row = self.group_row(batch, group) * self.shape.dstate + n;
                (row * self.shape.seqlen + l) * self.weights.width()
            }
        }
    }
}

/// Elementwise discretization: Ā and B̄ of each (Δ, A, B) triple, without a scan.
#[derive(Clone, Debug)]
pub struct CoefficientProblem {
    pub weights: Weights,
    /// (n): the step itself, no bias or softplus is applied
    pub delta: Vec<f32>,
    /// (n)·w
    pub a: Vec<f32>,
    /// (n)·w
    pub b: Vec<f32>,
}

impl CoefficientProblem {
    /// Without triples.
    pub fn new(weights: Weights) -> Self {
        CoefficientProblem { weights, delta: Vec::new(), a: Vec::new(), b: Vec::new() }
    }

    /// One more triple, A and B rounded to f32; of real weights the real parts.
    pub fn push(&mut self, delta: f32, a: Complex64, b: Complex64) {
        let width = self.weights.width();
        self.delta.push(delta);
        self.a.extend(&[a.re as f32, a.im as f32][..width]);
        self.b.extend(&[b.re as f32, b.im as f32][..width]);
    }
}

//! What implementations do otherwise than spec.md §3 and say so: part of what is to be computed, stated and never guessed.

use std::num::NonZeroUsize;
use std::str::FromStr;

use super::Axes;
use crate::tensor::{ComputedName, GradientName, InputType, TensorName};

named! {
    /// Which state an output reads.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Reads: "reading" {
        /// y_l = C_l x_l
        #[default]
        AfterUpdate => "after-update",
        /// y_l = C_l x_{l−1}: a scan that starts late by one, and what SciPy's dlsim does.
        BeforeUpdate => "before-update",
    }
}

named! {
    /// What y is with complex weights.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ComplexOutput: "complex output" {
        /// 2 Re Σ C x: each state stands for a conjugate pair.
        #[default]
        TwiceRealPart => "twice-real-part",
        /// Re Σ C x
        RealPart => "real-part",
    }
}

named! {
    /// Where a constant B is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum StateHolds: "state" {
        /// x_l = Ā x_{l−1} + h B u_l
        #[default]
        B => "with-b",
        /// x_l = Ā x_{l−1} + h u_l, y_l = (C B) x_l, as kernels of the Mamba family have it.
        InputAlone => "without-b",
    }
}

named! {
    /// Which position a scan begins with. A [`Problem`](super::Problem) has its positions in the order of the scan.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Direction: "direction" {
        #[default]
        Forward => "forward",
        /// The last one, as the backward branch of a bidirectional model. Its last state is that after the first position.
        Reverse => "reverse",
    }
}

named! {
    /// How the states of a channel are coupled.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Coupling: "state matrix" {
        /// Each state is a recurrence of its own: A is (dim, dstate).
        #[default]
        Diagonal => "diagonal",
        /// A is a matrix for each channel, (dim, dstate, dstate), and so is Ā.
        Dense => "dense",
    }
}

/// Limits of Δ, to which it is clamped after bias and softplus; by default none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepLimit {
    /// Not negative, and at most `high`.
    low: f32,
    high: f32,
}

impl Eq for StepLimit {}

impl Default for StepLimit {
    fn default() -> Self {
        StepLimit::NONE
    }
}

impl StepLimit {
    pub const NONE: StepLimit = StepLimit { low: f32::NEG_INFINITY, high: f32::INFINITY };

    /// Limits rounded to f32, as kernels take them; none unless 0 ≤ low ≤ high and 0 < high.
    pub fn new(low: f64, high: f64) -> Option<StepLimit> {
        let (low, high) = (low as f32, high as f32);
        (0.0 <= low && low <= high && 0.0 < high && low.is_finite()).then_some(StepLimit { low, high })
    }

    pub fn is_none(self) -> bool {
        self == StepLimit::NONE
    }

    /// Lowest and highest Δ.
    pub fn ends(self) -> [f32; 2] {
        [self.low, self.high]
    }

    /// Δ within the limits.
    #[inline]
    pub fn of(self, delta: f64) -> f64 {
        delta.max(f64::from(self.low)).min(f64::from(self.high))
    }

    /// Slope of the clamped Δ by Δ, as `torch.clamp` has it: 0 outside, 1 within and on a border.
    pub fn slope(self, delta: f64) -> f64 {
        if self.of(delta) == delta { 1.0 } else { 0.0 }
    }
}

impl std::fmt::Display for StepLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.low, self.high)
    }
}

/// Two numbers, with a comma or brackets around them or without.
impl FromStr for StepLimit {
    type Err = NoLimit;

    fn from_str(text: &str) -> Result<Self, NoLimit> {
        let inner = text.trim().trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
        let parts = inner.split([',', ' ']).filter(|part| !part.is_empty());
        let numbers = parts.map(|part| part.parse().ok()).collect::<Option<Vec<f64>>>();
        match numbers.as_deref() {
            Some(&[low, high]) => StepLimit::new(low, high).ok_or(NoLimit),
            _ => Err(NoLimit),
        }
    }
}

/// The text has no limits of Δ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoLimit;

/// Types of tensors, where they are others than spec.md §3 has, and of gradients others than their inputs have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Types {
    /// By the gradient of each.
    inputs: [Option<InputType>; GradientName::ALL.len()],
    computed: [Option<InputType>; GradientName::ALL.len() + TensorName::ALL.len()],
}

impl Types {
    fn at(name: ComputedName) -> Option<usize> {
        match name {
            ComputedName::Gradient(of_input) => Some(of_input as usize),
            ComputedName::Output(output) => Some(GradientName::ALL.len() + output as usize),
            ComputedName::Step(_) | ComputedName::Trapezoidal(_) | ComputedName::Dense(_) => None,
        }
    }

    /// Type of an output or a gradient.
    pub fn get(self, name: impl Into<ComputedName>) -> Option<InputType> {
        let name = name.into();
        let of_input = || name.gradient().and_then(|of| self.input(of));
        Types::at(name).and_then(|at| self.computed[at]).or_else(of_input)
    }

    pub fn set(&mut self, name: impl Into<ComputedName>, stored: InputType) {
        if let Some(at) = Types::at(name.into()) {
            self.computed[at] = Some(stored);
        }
    }

    /// Type of the input that a gradient is by.
    pub fn input(self, of: GradientName) -> Option<InputType> {
        self.inputs[of as usize]
    }

    pub fn set_input(&mut self, of: GradientName, stored: InputType) {
        self.inputs[of as usize] = Some(stored);
    }

    /// Types of inputs alone.
    pub fn of_inputs(self) -> Types {
        Types { inputs: self.inputs, ..Types::default() }
    }

    /// Names of tensors with a type of their own.
    pub fn stated(self) -> impl Iterator<Item = (&'static str, InputType)> {
        let inputs = GradientName::ALL.map(GradientName::input).into_iter().zip(self.inputs);
        let gradients = GradientName::ALL.map(|name| ComputedName::from(name).name());
        let computed = gradients.into_iter().chain(TensorName::ALL.map(TensorName::name)).zip(self.computed);
        inputs.chain(computed).filter_map(|(name, stored)| Some((name, stored?)))
    }
}

/// The statements of a run; by default spec.md's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conventions {
    pub reads: Reads,
    pub output: ComplexOutput,
    pub state: StateHolds,
    pub direction: Direction,
    pub coupling: Coupling,
    pub limit: StepLimit,
    pub types: Types,
    /// Positions of a chunk, where tensors of chunks are asked for; changes no other number.
    pub chunk: Option<NonZeroUsize>,
    /// Order of the file's axes; changes no number.
    pub axes: Axes,
}

impl Conventions {
    /// Statements that have names, as metadata have them.
    pub fn statements(self) -> [(&'static str, &'static str); 5] {
        [
            (READS, self.reads.name()),
            (OUTPUT, self.output.name()),
            (STATE, self.state.name()),
            (DIRECTION, self.direction.name()),
            (STATE_MATRIX, self.coupling.name()),
        ]
    }

    /// The statements that are not spec.md's own.
    pub fn stated(self) -> Vec<(&'static str, String)> {
        let usual = Conventions::default().statements();
        let named = self.statements().into_iter().filter(|statement| !usual.contains(statement));
        let limit = (!self.limit.is_none()).then(|| (DT_LIMIT, self.limit.to_string()));
        named.map(|(key, name)| (key, name.to_owned())).chain(limit).collect()
    }
}

/// Keys of metadata.
pub const READS: &str = "reads";
pub const OUTPUT: &str = "complex_output";
pub const STATE: &str = "state";
pub const DIRECTION: &str = "direction";
pub const STATE_MATRIX: &str = "state_matrix";
pub const LAYOUT: &str = "layout";
pub const DT_LIMIT: &str = "dt_limit";
/// Positions of a chunk whose states, or running sums, are recorded.
pub const CHUNK: &str = "chunk";
/// Its other name.
pub const TIME_STEP_LIMIT: &str = "time_step_limit";
/// The input that stands for x_{−1}.
pub const INITIAL_STATE: &str = "initial_state";

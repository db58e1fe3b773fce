//! Named tensors: what a scan computes, what the truth says of it, what it may be off and what was found, each under the
//! name of the tensor that it is about. Truth, kernels, bounds, judge, recordings and results share these shapes.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::{Index, IndexMut};
use std::str::FromStr;

use half::{bf16, f16};
use serde::{Deserialize, Serialize, Serializer};

use crate::named::UnknownName;

named! {
    /// Storage type of u, delta, z, out and of variable B and C.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum InputType: "value" {
        F32 => "f32",
        F16 => "f16",
        Bf16 => "bf16",
    }
}

impl InputType {
    /// Rounds to this type (to nearest, ties to even) and widens back to f32.
    pub fn round(self, value: f32) -> f32 {
        match self {
            InputType::F32 => value,
            InputType::F16 => f16::from_f32(value).to_f32(),
            InputType::Bf16 => bf16::from_f32(value).to_f32(),
        }
    }
}

named! {
    /// An element's type. Inputs that it represents exactly are stored exactly; others are rounded.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ElementType {
        F64 => "f64",
        F32 => "f32",
        F16 => "f16",
        Bf16 => "bf16",
    }
}

impl From<InputType> for ElementType {
    fn from(input: InputType) -> Self {
        match input {
            InputType::F32 => ElementType::F32,
            InputType::F16 => ElementType::F16,
            InputType::Bf16 => ElementType::Bf16,
        }
    }
}

impl ElementType {
    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            ElementType::F64 => 8,
            ElementType::F32 => 4,
            ElementType::F16 | ElementType::Bf16 => 2,
        }
    }

    /// The values as a kernel reads them.
    pub fn encode(self, values: &[f32]) -> Vec<u8> {
        match self {
            ElementType::F64 => values.iter().flat_map(|&value| f64::from(value).to_ne_bytes()).collect(),
            ElementType::F32 => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            ElementType::F16 => values.iter().flat_map(|&value| f16::from_f32(value).to_ne_bytes()).collect(),
            ElementType::Bf16 => {
                values.iter().flat_map(|&value| bf16::from_f32(value).to_ne_bytes()).collect()
            }
        }
    }

    /// Widens values that a kernel wrote.
    pub fn decode(self, bytes: &[u8]) -> Vec<f64> {
        fn each<const N: usize>(bytes: &[u8], widened: impl Fn([u8; N]) -> f64) -> Vec<f64> {
            bytes.as_chunks().0.iter().map(|&element| widened(element)).collect()
        }
        match self {
            ElementType::F64 => each(bytes, f64::from_ne_bytes),
            ElementType::F32 => each(bytes, |element| f32::from_ne_bytes(element).into()),
            ElementType::F16 => each(bytes, |element| f16::from_ne_bytes(element).into()),
            ElementType::Bf16 => each(bytes, |element| bf16::from_ne_bytes(element).into()),
        }
    }
}

named! {
    /// A tensor that a kernel computes (spec.md §3).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TensorName: "tensor" {
        /// y of every position, with skip and gate.
        Out => "out",
        /// The state after the last position.
        LastState => "last_state",
        /// The state before each chunk of a chunked scan.
        ChunkStates => "chunk_states",
        /// Running sums of ΔA within each chunk.
        #[serde(rename = "dA_cumsum")]
        DaCumsum => "dA_cumsum",
    }
}

impl TensorName {
    /// What every scan computes.
    pub const SCANNED: [TensorName; 2] = [TensorName::Out, TensorName::LastState];
}

named! {
    /// The derivative of a loss by an input of a scan (spec.md §6), in the layout of that input.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum GradientName: "gradient" {
        #[serde(rename = "grad.u")]
        U => "grad.u",
        #[serde(rename = "grad.delta")]
        Delta => "grad.delta",
        #[serde(rename = "grad.A")]
        A => "grad.A",
        #[serde(rename = "grad.B")]
        B => "grad.B",
        #[serde(rename = "grad.C")]
        C => "grad.C",
        #[serde(rename = "grad.D")]
        D => "grad.D",
        #[serde(rename = "grad.z")]
        Z => "grad.z",
        #[serde(rename = "grad.delta_bias")]
        DeltaBias => "grad.delta_bias",
        #[serde(rename = "grad.initial_state")]
        InitialState => "grad.initial_state",
    }
}

impl GradientName {
    /// Name of the input.
    pub fn input(self) -> &'static str {
        self.name().trim_start_matches("grad.")
    }
}

named! {
    /// What a backward pass takes of one step (spec.md §6): Ā and h = B̄/B, each a function of Δ and A, and their derivatives.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum StepName: "part of a step" {
        ABar => "a_bar",
        /// ∂Ā/∂z, z = ΔA: A times it is ∂Ā/∂Δ, and Δ times it ∂Ā/∂A.
        Slope => "slope",
        H => "h",
        HByDelta => "h_by_delta",
        HByA => "h_by_a",
    }
}

named! {
    /// A step of a dense system, whose Ā and B̄ are matrices.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum DenseName: "matrix" {
        ABar => "A_bar",
        BBar => "B_bar",
    }
}

named! {
    /// What only runs of Mamba-3's rule have (spec.md §7): states that they end with, and gradients.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum TrapezoidalName: "tensor" {
        LastAngle => "last_angle",
        LastB => "last_B",
        LastU => "last_u",
        Adt => "grad.ADT",
        Lambda => "grad.lambda",
        Trap => "grad.trap",
        Angles => "grad.angles",
        BBias => "grad.B_bias",
        CBias => "grad.C_bias",
        InitialAngle => "grad.initial_angle",
        InitialB => "grad.initial_B",
        InitialU => "grad.initial_u",
    }
}

/// Declares what a verdict can be on, by the kinds of names that there are.
macro_rules! computed {
    ($(#[$of_type:meta])* pub enum $type:ident { $($kind:ident($name:ident),)* }) => {
        $(#[$of_type])*
        pub enum $type {
            $($kind($name),)*
        }

        impl $type {
            /// Name by which it is written and read.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$kind(name) => name.name(),)*
                }
            }

            /// Every one, kind by kind.
            fn all() -> Vec<$type> {
                [$(&$name::ALL.map($type::$kind)[..],)*].concat()
            }
        }

        $(impl From<$name> for $type {
            fn from(name: $name) -> Self {
                $type::$kind(name)
            }
        })*
    };
}

computed! {
    /// Tensor that a verdict can be on: something that a scan computes, a gradient of it, what a backward pass takes of a step, or a step
    /// of a dense system. Written and read by its name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(into = "String", try_from = "String")]
    pub enum ComputedName {
        Output(TensorName),
        Gradient(GradientName),
        Step(StepName),
        Trapezoidal(TrapezoidalName),
        Dense(DenseName),
    }
}

impl ComputedName {
    /// What every scan computes.
    pub fn out() -> Self {
        TensorName::Out.into()
    }

    /// Which output; none for what is none.
    pub fn output(self) -> Option<TensorName> {
        if let ComputedName::Output(name) = self { Some(name) } else { None }
    }

    /// Which gradient; none for what is none.
    pub fn gradient(self) -> Option<GradientName> {
        if let ComputedName::Gradient(name) = self { Some(name) } else { None }
    }

    /// Whether it is of systems whose A is a matrix.
    pub fn is_dense(self) -> bool {
        matches!(self, ComputedName::Dense(_))
    }
}

impl Display for ComputedName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ComputedName {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let all = ComputedName::all();
        all.iter().copied().find(|name| name.name() == text).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|name| name.name()).collect();
            UnknownName { noun: "tensor", found: text.to_owned(), known: known.join(", ") }
        })
    }
}

impl TryFrom<String> for ComputedName {
    type Error = UnknownName;

    fn try_from(text: String) -> Result<Self, UnknownName> {
        text.parse()
    }
}

impl From<ComputedName> for String {
    fn from(name: ComputedName) -> String {
        name.name().to_owned()
    }
}

/// Something for each of some tensors, in the order of their names: of a scan, or of its gradients. They are few: a list of them
/// takes less time to compile than a tree.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    from = "BTreeMap<N, V>",
    bound(deserialize = "V: Deserialize<'de>, N: Deserialize<'de> + Ord + Copy")
)]
pub struct Named<V, N = TensorName>(Vec<(N, V)>);

/// Named tensors with their values.
pub type Tensors<T> = Named<Tensor<T>>;

/// The gradients of a scan.
pub type Gradients<T> = Named<Tensor<T>, GradientName>;

impl<V, N: Ord + Copy> Named<V, N> {
    fn at(&self, name: N) -> Option<usize> {
        self.0.iter().position(|(known, _)| *known == name)
    }

    pub fn get(&self, name: impl Into<N>) -> Option<&V> {
        self.at(name.into()).map(|at| &self.0[at].1)
    }

    pub fn get_mut(&mut self, name: impl Into<N>) -> Option<&mut V> {
        self.at(name.into()).map(|at| &mut self.0[at].1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (N, &V)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (N, &mut V)> {
        self.0.iter_mut().map(|(name, value)| (*name, value))
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts `value` under `name`, in place of what was there.
    pub fn insert(&mut self, name: N, value: V) {
        let at = self.0.iter().take_while(|(known, _)| *known < name).count();
        match self.0.get_mut(at).filter(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.insert(at, (name, value)),
        }
    }

    /// Takes what is under `name`.
    pub fn remove(&mut self, name: N) -> Option<V> {
        self.at(name).map(|at| self.0.remove(at).1)
    }

    /// Leaves what has such a name.
    pub fn retain(&mut self, keeps: impl Fn(N) -> bool) {
        self.0.retain(|(name, _)| keeps(*name));
    }

    /// The same names with what `f` makes of each value.
    pub fn map<W>(&self, mut f: impl FnMut(N, &V) -> W) -> Named<W, N> {
        Named(self.iter().map(|(name, value)| (name, f(name, value))).collect())
    }

    /// The same under names of another kind.
    pub fn under<M: Ord + Copy>(self) -> Named<V, M>
    where
        N: Into<M>,
    {
        self.0.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }

    /// The names that both have, each with both values.
    pub fn zip<'a, W>(&'a self, other: &'a Named<W, N>) -> impl Iterator<Item = (N, &'a V, &'a W)> {
        self.iter().filter_map(|(name, value)| Some((name, value, other.get(name)?)))
    }
}

impl<V, N> Default for Named<V, N> {
    fn default() -> Self {
        Named(Vec::new())
    }
}

impl<V, N: Ord + Copy> FromIterator<(N, V)> for Named<V, N> {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(values: I) -> Self {
        let mut named = Named::default();
        values.into_iter().for_each(|(name, value)| named.insert(name, value));
        named
    }
}

impl<V, N: Ord + Copy> From<BTreeMap<N, V>> for Named<V, N> {
    fn from(values: BTreeMap<N, V>) -> Self {
        Named(values.into_iter().collect())
    }
}

impl<V: Serialize, N: Serialize> Serialize for Named<V, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<V, N> IntoIterator for Named<V, N> {
    type Item = (N, V);
    type IntoIter = std::vec::IntoIter<(N, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// # Panics
/// When nothing has the name.
impl<V, N: Ord + Copy + Display, K: Into<N>> Index<K> for Named<V, N> {
    type Output = V;

    fn index(&self, name: K) -> &V {
        let name = name.into();
        self.get(name).unwrap_or_else(|| panic!("no tensor `{name}`"))
    }
}

/// # Panics
/// When nothing has the name.
impl<V, N: Ord + Copy + Display, K: Into<N>> IndexMut<K> for Named<V, N> {
    fn index_mut(&mut self, name: K) -> &mut V {
        let name = name.into();
        self.get_mut(name).unwrap_or_else(|| panic!("no tensor `{name}`"))
    }
}

/// Values with their shape. A kernel's own have the leading dimensions (batch, dim); of the judged channels alone, the
/// first dimension counts those.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<T> {
    pub shape: Vec<usize>,
    /// Values of one element: 2, re and im, where it is complex.
    pub width: usize,
    /// What a kernel stores it in.
    pub element: InputType,
    /// (shape)·width
    pub values: Vec<T>,
}

impl<T> Tensor<T> {
    /// The same tensor with other values.
    pub fn with<U>(&self, values: Vec<U>) -> Tensor<U> {
        Tensor { shape: self.shape.clone(), width: self.width, element: self.element, values }
    }

    /// The index of the element at position `i` of the values, by the shape.
    pub fn index(&self, i: usize) -> Vec<usize> {
        unravel(&self.shape, i / self.width)
    }
}

/// The index of an element of a tensor, by its position among the others.
pub fn unravel(shape: &[usize], position: usize) -> Vec<usize> {
    let mut rest = position;
    let mut index: Vec<usize> = shape.iter().rev().map(|&size| (rest % size, rest /= size).0).collect();
    index.reverse();
    index
}

/// Ā and B̄, each (n)·w: in f32, or in double by a lifted kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients<T = f32> {
    pub a_bar: Vec<T>,
    pub b_bar: Vec<T>,
}

/// Ā, its derivative by z = ΔA, which is its slope, and h = B̄/B with its derivatives by Δ and by A (spec.md §6), each (n)·w.
/// ∂Ā/∂Δ is A times the slope, and ∂Ā/∂A is Δ times it.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivatives {
    pub a_bar: Vec<f32>,
    pub slope: Vec<f32>,
    pub h: Vec<f32>,
    pub h_by_delta: Vec<f32>,
    pub h_by_a: Vec<f32>,
}

impl Derivatives {
    /// The values of that name.
    pub fn of(&self, name: StepName) -> &[f32] {
        match name {
            StepName::ABar => &self.a_bar,
            StepName::Slope => &self.slope,
            StepName::H => &self.h,
            StepName::HByDelta => &self.h_by_delta,
            StepName::HByA => &self.h_by_a,
        }
    }
}

/// The gradients of a loss by what Ā and B̄ are made of: by Δ (n), and by A and B, each (n)·w. In f32, or in double by a
/// lifted kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct CoefficientGradients<T = f32> {
    pub delta: Vec<T>,
    pub a: Vec<T>,
    pub b: Vec<T>,
}

//! How a tensor's elements lie in memory.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use crate::problem::InputType;

/// An element's type. Inputs that it represents exactly are stored exactly; others are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Element {
    F64,
    F32,
    F16,
    Bf16,
}

impl From<InputType> for Element {
    fn from(input: InputType) -> Self {
        match input {
            InputType::F32 => Element::F32,
            InputType::F16 => Element::F16,
            InputType::Bf16 => Element::Bf16,
        }
    }
}

impl Element {
    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Element::F64 => 8,
            Element::F32 => 4,
            Element::F16 | Element::Bf16 => 2,
        }
    }

    /// The values as a kernel reads them.
    pub fn encode(self, values: &[f32]) -> Vec<u8> {
        match self {
            Element::F64 => values.iter().flat_map(|&value| f64::from(value).to_ne_bytes()).collect(),
            Element::F32 => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            Element::F16 => values.iter().flat_map(|&value| f16::from_f32(value).to_ne_bytes()).collect(),
            Element::Bf16 => values.iter().flat_map(|&value| bf16::from_f32(value).to_ne_bytes()).collect(),
        }
    }

    /// What a kernel wrote, widened.
    pub fn decode(self, bytes: &[u8]) -> Vec<f64> {
        fn each<const N: usize>(bytes: &[u8], widened: impl Fn([u8; N]) -> f64) -> Vec<f64> {
            bytes.as_chunks().0.iter().map(|&element| widened(element)).collect()
        }
        match self {
            Element::F64 => each(bytes, f64::from_ne_bytes),
            Element::F32 => each(bytes, |element| f32::from_ne_bytes(element).into()),
            Element::F16 => each(bytes, |element| f16::from_ne_bytes(element).into()),
            Element::Bf16 => each(bytes, |element| bf16::from_ne_bytes(element).into()),
        }
    }
}

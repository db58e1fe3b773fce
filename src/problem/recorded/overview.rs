//! Every number of a recorded run once, in the order of the file's tensors: whether they are what the run claims, and what
//! they say together.

use std::io::{Read, Seek};
use std::ops::Range;

use super::Recording;
use crate::problem::InputType;
use crate::problem::conventions::{INITIAL_STATE, Types};
use crate::problem::fingerprint::Fingerprint;
use crate::problem::recorded::Result;
use crate::problem::stretch::Inputs;
use crate::tensor::{Named, TensorName};

/// Floats that are read at a time.
const PIECE: usize = 1 << 18;

/// Fewer values than this may be round by chance.
const FEWEST: usize = 64;

/// What all numbers of a run say together.
#[derive(Clone, Debug)]
pub struct Overview {
    /// [`crate::problem::Problem::fingerprint`] of the inputs.
    pub fingerprint: String,
    /// The NaN of each output's tensors that have any, in the order of outputs.
    pub strays: Vec<Named<Strays>>,
    /// The rows with an `out` that is no number, of one output after the other.
    pub broken: Vec<usize>,
    /// Whether there are steps, with their bias, and none but negative ones.
    pub steps_are_negative: bool,
    /// Whether there are several A, and none but with a positive real part.
    pub a_is_positive: bool,
    /// The 16-bit type that every input and output is of although they are recorded in f32, or every output beside inputs of 16 bits.
    pub narrow: Option<InputType>,
}

/// The values of a tensor that are no numbers.
#[derive(Clone, Copy, Debug)]
pub struct Strays {
    pub count: usize,
    /// The first one's place among the tensor's values.
    pub first: usize,
}

/// Whether some value is not zero, and it is so for all of those.
#[derive(Default)]
struct All {
    some: bool,
    broken: bool,
}

impl All {
    fn add(&mut self, value: f32, is: bool) {
        self.some |= value != 0.0;
        self.broken |= value != 0.0 && !is;
    }

    fn holds(&self) -> bool {
        self.some && !self.broken
    }
}

/// Whether all values are of a 16-bit type.
struct Narrow {
    left: Vec<InputType>,
    informative: usize,
}

impl Narrow {
    fn add(&mut self, values: &[f32]) {
        self.left
            .retain(|narrow| values.iter().all(|value| value.is_nan() || narrow.round(*value) == *value));
        if self.informative < FEWEST {
            let is_informative = |value: &&f32| **value != 0.0 && value.abs() != 1.0;
            self.informative += values.iter().filter(is_informative).count();
        }
    }
}

impl<R: Read + Seek + Send> Recording<R> {
    /// Reads every number once.
    ///
    /// # Errors
    /// As [`Recording::read`]'s, of the first tensor that is wrong.
    pub fn overview(&self) -> Result<Overview> {
        let layout = self.layout();
        let (dim, seqlen) = (layout.shape.dim, layout.shape.seqlen);
        let operands = [layout.b_operand, layout.c_operand];
        let mut hash = Fingerprint::new(self.outline(), operands, layout.delta_softplus, layout.conventions);
        hash.packed(layout.packed.as_deref());
        let (mut negative, mut positive) = (All::default(), All::default());
        let mut narrow = Narrow { left: vec![InputType::Bf16, InputType::F16], informative: 0 };
        // Outputs of narrow inputs may have been widened alone.
        let (_, _, of_out) = self.outline().layout(TensorName::Out);
        let of_inputs = layout.input == InputType::F32 && layout.conventions.types == Types::default();
        narrow.left.retain(|_| of_inputs || layout.input != InputType::F32 && of_out == InputType::F32);
        let bias = self.optional("delta_bias", |name| self.input(name, 0..dim))?;
        for name in ["u", "delta", "A", "B", "C", "D", "z", "delta_bias", INITIAL_STATE] {
            let len = self.optional(name, |name| Ok(self.len(name)))?;
            hash.tensor(name, len);
            let is_input = layout.positions.contains_key(name);
            for range in pieces(len.unwrap_or(0)) {
                let start = range.start;
                let values = self.input(name, range)?;
                hash.values(&values);
                if is_input && of_inputs {
                    narrow.add(&values);
                }
                match name {
                    "delta" => (start..).zip(&values).for_each(|(i, delta)| {
                        let step = delta + bias.as_ref().map_or(0.0, |bias| bias[i / seqlen % dim]);
                        negative.add(step, step < 0.0);
                    }),
                    // A piece is even: it starts with a real part.
                    "A" => {
                        let real_parts = values.iter().step_by(layout.weights.width());
                        real_parts.for_each(|&a| positive.add(a, a > 0.0));
                    }
                    _ => {}
                }
            }
        }
        let (mut strays, mut broken) = (Vec::new(), Vec::new());
        for tensors in layout.outputs.values() {
            let mut of_output: Named<Strays> = Named::default();
            for (tensor, name) in tensors.iter() {
                let mut found = Strays { count: 0, first: 0 };
                for range in pieces(self.len(name)) {
                    let start = range.start;
                    let values = self.output(tensor, name, range)?;
                    if tensor == TensorName::Out {
                        narrow.add(&values);
                    }
                    for (i, _) in (start..).zip(&values).filter(|(_, value)| value.is_nan()) {
                        if found.count == 0 {
                            found.first = i;
                        }
                        found.count += 1;
                        if tensor == TensorName::Out && broken.last() != Some(&(i / seqlen)) {
                            broken.push(i / seqlen);
                        }
                    }
                }
                if found.count > 0 {
                    of_output.insert(tensor, found);
                }
            }
            strays.push(of_output);
        }
        Ok(Overview {
            fingerprint: hash.finish(),
            strays,
            broken,
            steps_are_negative: negative.holds(),
            // The logarithm of 1 is 0.
            a_is_positive: positive.holds() && self.len("A") > layout.weights.width(),
            narrow: narrow.left.first().copied().filter(|_| narrow.informative >= FEWEST),
        })
    }
}

fn pieces(len: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(PIECE).map(move |start| start..len.min(start + PIECE))
}

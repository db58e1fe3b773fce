//! The numbers of a recorded run: finite where they are inputs, and of the type that the run claims.

use std::io::{Read, Seek};

use super::layout::STATEMENTS;
use super::{Layout, RecordError, RecordedOutput, RecordedRun};
use crate::problem::{InputType, Operand, Problem};
use crate::tensor::{Named, TensorName};
use crate::tensor_file::{Stored, TensorFile, shape_text, shown};

pub(super) fn read<R: Read + Seek>(file: TensorFile<R>, layout: &Layout) -> Result<RecordedRun, RecordError> {
    let shape = layout.shape;
    let mut reader = RunReader { file, input: layout.input };
    let weight_or_input = |operand| match operand {
        Operand::Constant => InputType::F32,
        Operand::Variable => layout.input,
    };
    let problem = Problem {
        shape,
        weights: layout.weights,
        input: layout.input,
        b_operand: layout.b_operand,
        c_operand: layout.c_operand,
        u: reader.input("u", layout.input)?,
        delta: reader.input("delta", layout.input)?,
        a: reader.input("A", InputType::F32)?,
        b: reader.input("B", weight_or_input(layout.b_operand))?,
        c: reader.input("C", weight_or_input(layout.c_operand))?,
        d: reader.optional("D", InputType::F32)?,
        z: reader.optional("z", layout.input)?,
        delta_bias: reader.optional("delta_bias", InputType::F32)?,
        delta_softplus: layout.delta_softplus,
        initial_state: reader.optional("initial_state", InputType::F32)?,
        conventions: layout.conventions,
        judged_channels: (0..shape.batch * shape.dim).map(|i| (i / shape.dim, i % shape.dim)).collect(),
    };
    let mut outputs = Vec::with_capacity(layout.outputs.len());
    for (name, tensors) in &layout.outputs {
        let mut values = Named::default();
        for (tensor, stored_as) in tensors.iter() {
            let read = match tensor {
                TensorName::Out => reader.output(stored_as)?,
                TensorName::LastState => reader.floats(stored_as)?,
            };
            values.insert(tensor, problem.tensor(tensor, read));
        }
        outputs.push(RecordedOutput { name: name.clone(), tensors: values });
    }
    let mut provenance = reader.file.metadata().clone();
    provenance.retain(|key, _| !STATEMENTS.contains(&key.as_str()));
    Ok(RecordedRun { problem, outputs, stages: layout.stages, provenance })
}

struct RunReader<R> {
    file: TensorFile<R>,
    input: InputType,
}

impl<R: Read + Seek> RunReader<R> {
    fn floats(&mut self, name: &str) -> Result<Vec<f32>, RecordError> {
        let hint = "the file changed while it was read";
        let missing = || RecordError::Missing { name: shown(name), found: "none".into(), hint };
        self.file.floats(name)?.ok_or_else(missing)
    }

    fn optional(&mut self, name: &str, kind: InputType) -> Result<Option<Vec<f32>>, RecordError> {
        if self.file.info(name).is_none() { Ok(None) } else { self.input(name, kind).map(Some) }
    }

    fn input(&mut self, name: &str, kind: InputType) -> Result<Vec<f32>, RecordError> {
        let values = self.floats(name)?;
        if let Some(position) = values.iter().position(|v| !v.is_finite()) {
            let index = self.index(name, position);
            return Err(RecordError::NotFinite { name: shown(name), index, value: values[position] });
        }
        self.check_rounded(name, &values, kind)?;
        Ok(values)
    }

    fn output(&mut self, name: &str) -> Result<Vec<f32>, RecordError> {
        let values = self.floats(name)?;
        self.check_rounded(name, &values, self.input)?;
        Ok(values)
    }

    /// Whether every number is one of `kind`'s. Matters where it is stored wider than that.
    fn check_rounded(&self, name: &str, values: &[f32], kind: InputType) -> Result<(), RecordError> {
        let odd = |&value: &f32| !value.is_nan() && kind.round(value).to_bits() != value.to_bits();
        let Some(position) = values.iter().position(odd) else { return Ok(()) };
        let value = values[position];
        Err(RecordError::NotRounded {
            name: shown(name),
            index: self.index(name, position),
            value,
            rounded: kind.round(value),
            input: kind,
        })
    }

    /// A position among a tensor's floats as an index into the tensor.
    fn index(&self, name: &str, position: usize) -> String {
        let Some(info) = self.file.info(name) else { return position.to_string() };
        let mut shape = info.shape.clone();
        if info.stored == Stored::C64 {
            shape.push(2);
        }
        let mut rest = position;
        let mut index = vec![0; shape.len()];
        for (i, &size) in index.iter_mut().zip(&shape).rev() {
            *i = rest % size.max(1);
            rest /= size.max(1);
        }
        let part = if info.stored == Stored::C64 { index.pop() } else { None };
        let name = match part {
            Some(0) => " (re)",
            Some(_) => " (im)",
            None => "",
        };
        shape_text(&index) + name
    }
}

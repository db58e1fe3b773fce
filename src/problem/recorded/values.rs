//! The numbers of a recorded run, as many as are asked for: finite where they are inputs, and of the type that the run claims.

use std::borrow::Cow;
use std::io::{Read, Seek};
use std::ops::Range;
use std::sync::Arc;

use super::names::{DLAST_STATE, DOUT};
use super::{RecordError, RecordedBackward, RecordedOutput, RecordedRun, Recording};
use crate::problem::conventions::{Direction, INITIAL_STATE};
use crate::problem::recorded::Result;
use crate::problem::stretch::{Inputs, Outline, Stretch};
use crate::problem::{Conventions, Held, InputType, Operand, OutputGradients, Problem, Sequence, Shape};
use crate::tensor::{Gradients, Named, TensorName, unravel};
use crate::tensor_file::{Stored, shape_text, shown};

impl<R: Read + Seek + Send> Recording<R> {
    /// The inputs and outputs of these channels, in the order of rows, ascending. Constant weights are read whole.
    ///
    /// # Errors
    /// [`RecordError`] for inputs that are not finite, numbers that are not of the type that the run claims,
    /// and files that can no longer be read.
    pub fn read(&self, rows: &[usize]) -> Result<RecordedRun> {
        let Shape { batch, dim, groups, seqlen, .. } = self.layout.shape;
        let per_group = dim / groups;
        // A channel's own group, and the one that it has where groups are misread: a diagnosis looks at both.
        let of = |row: &usize| [row % dim / per_group, row % dim % groups].map(|g| row / dim * groups + g);
        let mut held = Held { channels: rows.to_vec(), groups: rows.iter().flat_map(of).collect() };
        held.groups.sort_unstable();
        held.groups.dedup();
        let sequence =
            |name| Ok(self.in_scan_order(self.rows(name, batch * dim, &held.channels)?, seqlen, 1));
        let width = self.layout.weights.width();
        let operand = |name, operand| match operand {
            Operand::Constant => self.whole(name),
            Operand::Variable => {
                Ok(self.in_scan_order(self.rows(name, batch * groups, &held.groups)?, seqlen, width))
            }
        };
        let problem = Problem {
            u: sequence("u")?,
            delta: sequence("delta")?,
            a: self.whole("A")?,
            b: operand("B", self.layout.b_operand)?,
            c: operand("C", self.layout.c_operand)?,
            d: self.optional("D", |name| self.whole(name))?,
            z: self.optional("z", sequence)?,
            delta_bias: self.optional("delta_bias", |name| self.whole(name))?,
            initial_state: self
                .optional(INITIAL_STATE, |name| self.rows(name, batch * dim, &held.channels))?,
            judged_channels: rows.iter().map(|row| (row / dim, row % dim)).collect(),
            ..self.blank()
        };
        let mut outputs = Vec::with_capacity(self.layout.outputs.len());
        for (name, tensors) in &self.layout.outputs {
            let mut values = Named::default();
            for (tensor, stored_as) in tensors.iter() {
                let len = self.row_len(tensor);
                let mut read = Vec::with_capacity(rows.len() * len);
                for row in rows {
                    let values = self.output(tensor, stored_as, row * len..(row + 1) * len)?;
                    read.extend(self.output_in_scan_order(tensor, values));
                }
                values.insert(tensor, problem.tensor(tensor, read));
            }
            outputs.push(RecordedOutput { name: name.clone(), tensors: values });
        }
        Ok(RecordedRun { problem: Problem { held: Some(held), ..problem }, outputs })
    }

    /// The backward passes, with all of the inputs; none where the file has none.
    ///
    /// # Errors
    /// As [`Recording::read`]'s.
    pub fn read_backward(&self) -> Result<Option<RecordedBackward>> {
        if self.layout.gradients.is_empty() {
            return Ok(None);
        }
        let Shape { batch, dim, seqlen, .. } = self.layout.shape;
        let rows: Vec<usize> = (0..batch * dim).collect();
        let problem = Problem { held: None, ..self.read(&rows)?.problem };
        let dout = self.in_scan_order(self.whole(DOUT)?, seqlen, 1);
        let dlast_state = self.optional(DLAST_STATE, |name| self.whole(name))?;
        let mut passes = Vec::new();
        for (output, tensors) in &self.layout.gradients {
            let mut gradients = Gradients::default();
            for (name, stored_as) in tensors.iter() {
                let blank = problem.gradient(name, Vec::<f32>::new());
                let values = self.floats(stored_as, 0..self.len(stored_as))?;
                self.check_rounded(stored_as, 0, &values, blank.element)?;
                let values = match problem.varies(name) {
                    true => self.in_scan_order(values, seqlen, blank.width),
                    false => values,
                };
                gradients.insert(name, blank.with(values));
            }
            passes.push((output.clone(), gradients));
        }
        Ok(Some(RecordedBackward { problem, given: OutputGradients { dout, dlast_state }, passes }))
    }

    /// Elements of a channel's row of an output, both parts of complex ones; none where it was not recorded.
    ///
    /// # Errors
    /// As [`Recording::read`]'s.
    pub fn outputs(
        &self,
        tensors: &Named<String>,
        tensor: TensorName,
        (batch, channel): (usize, usize),
        elements: Range<usize>,
    ) -> Result<Option<Cow<'static, [f32]>>> {
        let Some(name) = tensors.get(tensor) else { return Ok(None) };
        let (_, width, _) = self.outline().layout(tensor);
        let start = (batch * self.layout.shape.dim + channel) * self.row_len(tensor);
        let elements = if tensor == TensorName::Out { self.recorded(elements) } else { elements };
        let range = start + elements.start * width..start + elements.end * width;
        let values = self.output(tensor, name, range)?;
        Ok(Some(Cow::Owned(self.output_in_scan_order(tensor, values))))
    }

    /// Where positions of the scan are in the file.
    fn recorded(&self, positions: Range<usize>) -> Range<usize> {
        let seqlen = self.layout.shape.seqlen;
        match self.layout.conventions.direction {
            Direction::Forward => positions,
            Direction::Reverse => seqlen - positions.end..seqlen - positions.start,
        }
    }

    /// Runs of so many positions, of `width` floats each, from the file's order into the scan's.
    fn in_scan_order(&self, mut values: Vec<f32>, positions: usize, width: usize) -> Vec<f32> {
        if self.layout.conventions.direction == Direction::Reverse {
            for run in values.chunks_mut((positions * width).max(1)) {
                run.reverse();
                run.chunks_mut(width).for_each(<[f32]>::reverse);
            }
        }
        values
    }

    /// Rows of a computed tensor, or a part of one.
    fn output_in_scan_order(&self, tensor: TensorName, values: Vec<f32>) -> Vec<f32> {
        match tensor {
            TensorName::Out => self.in_scan_order(values, self.layout.shape.seqlen, 1),
            TensorName::LastState | TensorName::ChunkStates | TensorName::DaCumsum => values,
        }
    }

    /// The same of whole rows that follow one another.
    ///
    /// # Errors
    /// As [`Recording::read`]'s.
    pub fn output_rows(
        &self,
        tensors: &Named<String>,
        tensor: TensorName,
        rows: Range<usize>,
    ) -> Result<Option<Vec<f32>>> {
        let Some(name) = tensors.get(tensor) else { return Ok(None) };
        let len = self.row_len(tensor);
        let values = self.output(tensor, name, rows.start * len..rows.end * len)?;
        Ok(Some(self.output_in_scan_order(tensor, values)))
    }

    /// Rows of an input that follow one another, of which it has `count`; none where it is left out.
    ///
    /// # Errors
    /// As [`Recording::read`]'s.
    pub fn input_rows(
        &self,
        name: &'static str,
        count: usize,
        rows: Range<usize>,
    ) -> Result<Option<Vec<f32>>> {
        let len = self.len(name) / count.max(1);
        let (seqlen, width) = (self.layout.shape.seqlen, self.layout.weights.width());
        let is_variable = |operand| operand == Operand::Variable;
        self.optional(name, |name| {
            let values = self.input(name, rows.start * len..rows.end * len)?;
            Ok(match name {
                "u" | "delta" | "z" => self.in_scan_order(values, seqlen, 1),
                "B" if is_variable(self.layout.b_operand) => self.in_scan_order(values, seqlen, width),
                "C" if is_variable(self.layout.c_operand) => self.in_scan_order(values, seqlen, width),
                _ => values,
            })
        })
    }

    /// Floats of one channel of a computed tensor.
    fn row_len(&self, tensor: TensorName) -> usize {
        let (rest, width, _) = self.outline().layout(tensor);
        rest.iter().product::<usize>() * width
    }

    /// The problem without its numbers.
    fn blank(&self) -> Problem {
        let layout = &self.layout;
        Problem {
            shape: layout.shape,
            weights: layout.weights,
            input: layout.input,
            b_operand: layout.b_operand,
            c_operand: layout.c_operand,
            u: Vec::new(),
            delta: Vec::new(),
            a: Vec::new(),
            b: Vec::new(),
            c: Vec::new(),
            d: None,
            z: None,
            delta_bias: None,
            delta_softplus: layout.delta_softplus,
            initial_state: None,
            conventions: layout.conventions,
            judged_channels: Vec::new(),
            held: None,
            packed: layout.packed.clone(),
        }
    }

    /// Floats that an input has in the plain order, all of its elements' parts; 0 where it is left out.
    pub(super) fn len(&self, name: &str) -> usize {
        let stored = self.stored_len(name);
        self.layout.views.get(name).map_or(stored, |view| view.len(stored))
    }

    /// An input that may be left out.
    pub(super) fn optional<T>(
        &self,
        name: &'static str,
        read: impl Fn(&'static str) -> Result<T>,
    ) -> Result<Option<T>> {
        self.file.info(name).map(|_| read(name)).transpose()
    }

    fn whole(&self, name: &str) -> Result<Vec<f32>> {
        self.input(name, 0..self.len(name))
    }

    /// Some of an input's rows, of which there are `count`.
    fn rows(&self, name: &str, count: usize, rows: &[usize]) -> Result<Vec<f32>> {
        let len = self.len(name) / count;
        let mut values = Vec::with_capacity(rows.len() * len);
        for row in rows {
            values.extend(self.input(name, row * len..(row + 1) * len)?);
        }
        Ok(values)
    }

    /// Floats of an input.
    pub(super) fn input(&self, name: &str, range: Range<usize>) -> Result<Vec<f32>> {
        let start = range.start;
        let values = self.floats(name, range)?;
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let index = self.index(name, start + at);
            return Err(RecordError::NotFinite { name: self.called(name), index, value: values[at] });
        }
        let is_weight = match name {
            "B" => self.layout.b_operand == Operand::Constant,
            "C" => self.layout.c_operand == Operand::Constant,
            name => ["A", "D", "delta_bias", INITIAL_STATE, DLAST_STATE].contains(&name),
        };
        // A tensor that is not widened is of its type already.
        let is_wide = self.file.info(name).is_some_and(|info| info.stored.size() >= 4);
        let claimed = self.layout.claimed.filter(|_| is_wide && !is_weight);
        self.check_rounded(name, start, &values, claimed.unwrap_or(InputType::F32))?;
        Ok(values)
    }

    /// Floats of a computed tensor.
    pub(super) fn output(&self, tensor: TensorName, name: &str, range: Range<usize>) -> Result<Vec<f32>> {
        let start = range.start;
        let values = self.floats(name, range)?;
        let (_, _, element) = self.outline().layout(tensor);
        self.check_rounded(name, start, &values, element)?;
        Ok(values)
    }

    /// Floats as the file has them.
    pub(super) fn stored(&self, name: &str, range: Range<usize>) -> Result<Vec<f32>> {
        let hint = "the file changed while it was read";
        let missing = || RecordError::Missing {
            name: shown(name),
            expected: "it as before",
            found: "none".into(),
            hint,
        };
        self.file.floats(name, range)?.ok_or_else(missing)
    }

    /// Whether every number is one of `kind`'s. Matters where it is stored wider than that.
    fn check_rounded(&self, name: &str, start: usize, values: &[f32], kind: InputType) -> Result<()> {
        let odd = |&value: &f32| !value.is_nan() && kind.round(value).to_bits() != value.to_bits();
        let Some(at) = values.iter().position(odd) else { return Ok(()) };
        let value = values[at];
        Err(RecordError::NotRounded {
            name: self.called(name),
            index: self.index(name, start + at),
            value,
            rounded: kind.round(value),
            input: kind,
        })
    }

    fn called(&self, name: &str) -> String {
        self.file.info(name).map_or_else(|| shown(name), |info| info.called(name))
    }

    /// A position among a tensor's floats as an index into the tensor.
    fn index(&self, name: &str, position: usize) -> String {
        let Some(info) = self.file.info(name) else { return position.to_string() };
        let mut shape = info.shape.clone();
        if info.stored == Stored::C64 {
            shape.push(2);
        }
        let mut index = unravel(&shape, self.stored_at(name, position));
        let part = if info.stored == Stored::C64 { index.pop() } else { None };
        let name = match part {
            Some(0) => " (re)",
            Some(_) => " (im)",
            None => "",
        };
        shape_text(&index) + name
    }
}

impl<R: Read + Seek + Send> Inputs for Recording<R> {
    type Error = RecordError;

    fn outline(&self) -> Outline {
        let layout = &self.layout;
        let Conventions { direction, coupling, types, chunk, axes, .. } = layout.conventions;
        Outline {
            shape: layout.shape,
            weights: layout.weights,
            input: layout.input,
            direction,
            coupling,
            types,
            axes,
            last_states: layout.packing.last_states,
            chunk,
        }
    }

    fn sequences(&self, item: usize) -> Cow<'_, [Sequence]> {
        Sequence::of_item(self.layout.packed.as_deref(), item, self.layout.shape.seqlen)
    }

    fn stretch(&self, (batch, channel): (usize, usize), positions: Range<usize>) -> Result<Stretch<'_>> {
        let Shape { dim, dstate, seqlen, groups, .. } = self.layout.shape;
        let width = self.layout.weights.width();
        let given = self.layout.packing.initial_states;
        let Sequence { positions: own, initial, .. } = match &self.layout.packed {
            Some(packed) => packed.at(batch, positions.start).clone(),
            None => Sequence::whole(seqlen),
        };
        let several = self.layout.packed.as_deref().filter(|_| own.end < positions.end);
        let packed = several.map(|packed| Arc::new(packed.part(batch, &positions)));
        // A step may read u before and after it.
        let (first, end) = match packed {
            Some(_) => (positions.start, positions.end),
            None => (
                own.start.max(positions.start.saturating_sub(1)),
                own.end.min(positions.end.saturating_add(1)),
            ),
        };
        let recorded = self.recorded(first..end);
        let sequence = |name: &str| {
            let start = (batch * dim + channel) * seqlen;
            let values = self.input(name, start + recorded.start..start + recorded.end)?;
            Ok(self.in_scan_order(values, end - first, 1))
        };
        let blank = self.blank();
        let of_channel = |name: &str, len: usize| self.input(name, channel * len..(channel + 1) * len);
        let operand = |name: &str, operand| match operand {
            Operand::Constant => of_channel(name, dstate * width),
            Operand::Variable => {
                let group = batch * groups + channel / (dim / groups);
                let mut values = Vec::with_capacity(dstate * (end - first) * width);
                for row in group * dstate..(group + 1) * dstate {
                    let start = row * seqlen;
                    let range = (start + recorded.start) * width..(start + recorded.end) * width;
                    values.extend(self.input(name, range)?);
                }
                Ok(self.in_scan_order(values, end - first, width))
            }
        };
        let one = |name: &str| self.input(name, channel..channel + 1);
        let states = |slots: Range<usize>| {
            let row = (batch * dim + channel) * given;
            let [start, end] = [slots.start, slots.end].map(|slot| (row + slot) * dstate * width);
            self.optional(INITIAL_STATE, |name| self.input(name, start..end))
        };
        let initial = if packed.is_some() { Some(0..given) } else { initial.map(|slot| slot..slot + 1) };
        let problem = Problem {
            shape: Shape { batch: 1, dim: 1, groups: 1, seqlen: end - first, ..blank.shape },
            u: sequence("u")?,
            delta: sequence("delta")?,
            a: of_channel("A", blank.floats_of_a())?,
            b: operand("B", blank.b_operand)?,
            c: operand("C", blank.c_operand)?,
            d: self.optional("D", one)?,
            z: self.optional("z", sequence)?,
            delta_bias: self.optional("delta_bias", one)?,
            initial_state: initial.map_or(Ok(None), states)?,
            judged_channels: vec![(0, 0)],
            packed,
            ..blank
        };
        Ok(Stretch { problem: Cow::Owned(problem), at: (0, 0), first })
    }

    fn positions_at_once(&self) -> Option<usize> {
        self.positions_at_once
    }
}

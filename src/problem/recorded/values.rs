//! The numbers of a recorded run, as many as are asked for: finite where they are inputs, and of the type that the run claims.

use std::borrow::Cow;
use std::io::{Read, Seek};
use std::ops::Range;
use std::sync::Arc;

use super::names::{DLAST_STATE, DOUT};
use super::{Layout, RecordError, RecordedBackward, RecordedOutput, RecordedRun, Recording};
use crate::problem::conventions::{Direction, INITIAL_STATE};
use crate::problem::recorded::Result;
use crate::problem::stretch::{Inputs, Outline, Stretch};
use crate::problem::{Held, InputType, OutputGradients, Problem, Sequence, Shape};
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
        let of_rows =
            |name, count, rows: &[usize]| Ok(self.in_scan_order(name, self.rows(name, count, rows)?, seqlen));
        let problem = self.problem(|name| match (name, self.layout.positions.contains_key(name)) {
            ("B" | "C", true) => of_rows(name, batch * groups, &held.groups),
            (INITIAL_STATE, _) | (_, true) => of_rows(name, batch * dim, &held.channels),
            _ => self.whole(name),
        })?;
        let judged_channels = rows.iter().map(|row| (row / dim, row % dim)).collect();
        let mut outputs = Vec::with_capacity(self.layout.outputs.len());
        for (name, tensors) in &self.layout.outputs {
            let mut values = Named::default();
            for (tensor, stored_as) in tensors.iter() {
                let len = self.row_len(tensor);
                let mut read = Vec::with_capacity(rows.len() * len);
                for row in rows {
                    let values = self.output(tensor, stored_as, row * len..(row + 1) * len)?;
                    read.extend(self.in_scan_order(stored_as, values, seqlen));
                }
                values.insert(tensor, problem.tensor(tensor, read));
            }
            outputs.push(RecordedOutput { name: name.clone(), tensors: values });
        }
        Ok(RecordedRun { problem: Problem { held: Some(held), judged_channels, ..problem }, outputs })
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
        let dout = self.in_scan_order(DOUT, self.whole(DOUT)?, seqlen);
        let dlast_state = self.optional(DLAST_STATE, |name| self.whole(name))?;
        let mut passes = Vec::new();
        for (output, tensors) in &self.layout.gradients {
            let mut gradients = Gradients::default();
            for (name, stored_as) in tensors.iter() {
                let blank = problem.gradient(name, Vec::<f32>::new());
                let values = self.floats(stored_as, 0..self.len(stored_as))?;
                self.check_rounded(stored_as, 0, &values, blank.element)?;
                gradients.insert(name, blank.with(self.in_scan_order(stored_as, values, seqlen)));
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
        Ok(Some(Cow::Owned(self.in_scan_order(name, values, self.layout.shape.seqlen))))
    }

    /// Where positions of the scan are in the file.
    fn recorded(&self, positions: Range<usize>) -> Range<usize> {
        let seqlen = self.layout.shape.seqlen;
        match self.layout.conventions.direction {
            Direction::Forward => positions,
            Direction::Reverse => seqlen - positions.end..seqlen - positions.start,
        }
    }

    /// Runs of so many positions of a tensor, from the file's order into the scan's; as it is what has none.
    fn in_scan_order(&self, name: &str, mut values: Vec<f32>, positions: usize) -> Vec<f32> {
        let is_reversed = self.layout.conventions.direction == Direction::Reverse;
        if let Some(&width) = self.layout.positions.get(name).filter(|_| is_reversed) {
            for run in values.chunks_mut((positions * width).max(1)) {
                run.reverse();
                run.chunks_mut(width).for_each(<[f32]>::reverse);
            }
        }
        values
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
        Ok(Some(self.in_scan_order(name, values, self.layout.shape.seqlen)))
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
        self.optional(name, |name| {
            let values = self.input(name, rows.start * len..rows.end * len)?;
            Ok(self.in_scan_order(name, values, self.layout.shape.seqlen))
        })
    }

    /// Floats of one channel of a computed tensor.
    fn row_len(&self, tensor: TensorName) -> usize {
        let (rest, width, _) = self.outline().layout(tensor);
        rest.iter().product::<usize>() * width
    }

    /// The problem of these inputs, in which nothing is judged yet.
    fn problem(&self, read: impl Fn(&'static str) -> Result<Vec<f32>>) -> Result<Problem> {
        let layout = &self.layout;
        Ok(Problem {
            shape: layout.shape,
            weights: layout.weights,
            input: layout.input,
            b_operand: layout.b_operand,
            c_operand: layout.c_operand,
            u: read("u")?,
            delta: read("delta")?,
            a: read("A")?,
            b: read("B")?,
            c: read("C")?,
            d: self.optional("D", &read)?,
            z: self.optional("z", &read)?,
            delta_bias: self.optional("delta_bias", &read)?,
            delta_softplus: layout.delta_softplus,
            initial_state: self.optional(INITIAL_STATE, &read)?,
            conventions: layout.conventions,
            judged_channels: Vec::new(),
            held: None,
            packed: layout.packed.clone(),
        })
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
        let varies = self.layout.positions.contains_key(name);
        // A tensor that is not widened is of its type already.
        let is_wide = self.file.info(name).is_some_and(|info| info.stored.size() >= 4);
        let claimed = self.layout.claimed.filter(|_| is_wide && varies);
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
        let Layout { shape, weights, input, conventions, packing, .. } = *self.layout;
        Outline::new((shape, weights, input), conventions, packing.last_states)
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
        let of_rows = |name, rows: Range<usize>, width: usize| {
            let mut values = Vec::with_capacity(rows.len() * recorded.len() * width);
            for row in rows {
                let [start, end] = [recorded.start, recorded.end].map(|l| (row * seqlen + l) * width);
                values.extend(self.input(name, start..end)?);
            }
            Ok(self.in_scan_order(name, values, end - first))
        };
        let (row, group) = (batch * dim + channel, batch * groups + channel / (dim / groups));
        let slots = if packed.is_some() { 0..given } else { initial.map_or(0..0, |slot| slot..slot + 1) };
        let problem = self.problem(|name| match (name, self.layout.positions.get(name)) {
            ("B" | "C", Some(&width)) => of_rows(name, group * dstate..(group + 1) * dstate, width),
            (_, Some(&width)) => of_rows(name, row..row + 1, width),
            (INITIAL_STATE, _) if slots.is_empty() => Ok(Vec::new()),
            (INITIAL_STATE, _) => {
                let [start, end] = [slots.start, slots.end].map(|slot| (row * given + slot) * dstate * width);
                self.input(name, start..end)
            }
            _ => {
                let len = self.len(name) / dim;
                self.input(name, channel * len..(channel + 1) * len)
            }
        })?;
        let problem = Problem {
            shape: Shape { batch: 1, dim: 1, groups: 1, seqlen: end - first, ..problem.shape },
            initial_state: problem.initial_state.filter(|_| !slots.is_empty()),
            judged_channels: vec![(0, 0)],
            packed,
            ..problem
        };
        Ok(Stretch { problem: Cow::Owned(problem), at: (0, 0), first })
    }

    fn positions_at_once(&self) -> Option<usize> {
        self.positions_at_once
    }
}

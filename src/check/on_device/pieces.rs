//! A recording in pieces for a device: rows that follow one another, as many as the memory of either side takes, with Δ and the
//! gate as the judge has them. They are read by all threads together.

use std::io::{Read, Seek};
use std::ops::Range;

use rayon::prelude::*;

use crate::judge::budget::{silu, step_size_of};
use crate::kernel::cpu::params::JUDGE_KEPT;
use crate::kernel::registry::Judge;
use crate::problem::conventions::INITIAL_STATE;
use crate::problem::recorded::{Layout, RecordError, Recording};
use crate::problem::{Operand, Shape};
use crate::promise::Contract;
use crate::tensor::{Named, TensorName};

/// What a piece may take of this machine's memory, in bytes: there are two at a time, and what is read of one besides.
pub const PIECE: usize = 128 << 20;

/// What the reversed scans of a piece may take of the device's memory, in bytes, and of all that it has.
const WORKSPACE: usize = 2 << 30;
const WORKSPACE_SHARE: u64 = 4;

/// Some rows of a recording.
pub struct Piece {
    pub rows: Range<usize>,
    /// Of variable B and C.
    pub groups: Range<usize>,
    pub b: Option<Vec<f32>>,
    pub c: Option<Vec<f32>>,
    /// In the order of rows.
    pub blocks: Vec<Block>,
}

/// Some rows of a piece.
pub struct Block {
    pub rows: Range<usize>,
    pub delta: Vec<f64>,
    pub delta_error: Vec<f64>,
    pub u: Vec<f32>,
    pub gate: Option<Vec<f32>>,
    pub silu: Option<Vec<f64>>,
    pub initial: Option<Vec<f32>>,
    /// What is judged, output by output.
    pub got: Vec<Named<Vec<f32>>>,
}

/// How a recording is cut.
pub struct Plan {
    shape: Shape,
    variable: [bool; 2],
    /// Rows of a piece.
    pub rows: usize,
    /// Groups of a piece, at most.
    pub groups: usize,
    /// Numbers that the reversed scan keeps for each row.
    pub kept: usize,
    /// Weights that are the same for all rows.
    bias: Option<Vec<f32>>,
    has_gate: bool,
}

impl Plan {
    /// `piece` bytes of this machine's memory for each, and a share of the device's.
    pub fn new<R: Read + Seek + Send>(
        recording: &Recording<R>,
        piece: usize,
        memory: u64,
    ) -> Result<Plan, RecordError> {
        let layout = recording.layout();
        let Shape { batch, dim, dstate, seqlen, groups } = layout.shape;
        let bias = recording.input_rows("delta_bias", 1, 0..1)?;
        // A piece of no rows reads nothing, and says whether there is such a tensor.
        let has_gate = recording.input_rows("z", batch * dim, 0..0)?.is_some();
        let variable = [layout.b_operand, layout.c_operand].map(|operand| operand == Operand::Variable);
        let operands = variable.iter().filter(|variable| **variable).count();
        let group = operands * dstate * seqlen * layout.weights.width() * size_of::<f32>();
        // Of each position Δ twice, u, the gate with its silu, and the outputs; of each channel its part of a group.
        let position = 2 * size_of::<f64>()
            + size_of::<f32>() * (1 + layout.outputs.len())
            + if has_gate { size_of::<f32>() + size_of::<f64>() } else { 0 };
        let states = (1 + layout.outputs.len()) * dstate * layout.weights.width() * size_of::<f32>();
        let row = seqlen * position + states + group * groups / dim;
        // The first and the last group may be there for one channel each.
        let left = piece.saturating_sub(2 * group).max(piece / 8);
        let bidirectional = layout.outputs.keys().any(|name| name.form.is_bidirectional());
        let kept = match bidirectional {
            true => seqlen * (JUDGE_KEPT + dstate.next_multiple_of(Judge::LANES)),
            false => 0,
        };
        let workspace = WORKSPACE.min((memory / WORKSPACE_SHARE) as usize);
        let most = workspace.checked_div(kept * size_of::<f64>()).unwrap_or(usize::MAX);
        let rows = (left / row.max(1)).min(most).clamp(1, batch * dim);
        // Launches are rounded up to blocks.
        let of_block = Judge::THREADS / Judge::LANES;
        let rows = if rows > of_block { rows - rows % of_block } else { rows };
        let groups = (rows.div_ceil(dim / groups) + 1).min(batch * groups);
        Ok(Plan { shape: layout.shape, variable, rows, groups, kept, bias, has_gate })
    }

    /// The rows of each piece.
    pub fn pieces(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (all, rows) = (self.shape.batch * self.shape.dim, self.rows);
        (0..all).step_by(rows).map(move |start| start..all.min(start + rows))
    }

    pub fn has_gate(&self) -> bool {
        self.has_gate
    }

    /// The group of a row, among those of all batches.
    fn group(&self, row: usize) -> usize {
        let Shape { dim, groups, .. } = self.shape;
        row / dim * groups + row % dim / (dim / groups)
    }

    /// Reads the rows.
    pub fn read<R: Read + Seek + Send>(
        &self,
        recording: &Recording<R>,
        contract: &Contract,
        rows: Range<usize>,
    ) -> Result<Piece, RecordError> {
        let groups = self.group(rows.start)..self.group(rows.end - 1) + 1;
        let all_groups = self.shape.batch * self.shape.groups;
        let operand = |name: &'static str, variable: bool| match variable {
            true => recording.input_rows(name, all_groups, groups.clone()),
            false => Ok(None),
        };
        let (b, c) = (operand("B", self.variable[0])?, operand("C", self.variable[1])?);
        let each = rows.len().div_ceil(2 * rayon::current_num_threads());
        let starts: Vec<usize> = rows.clone().step_by(each).collect();
        let block = |start: usize| self.block(recording, contract, start..rows.end.min(start + each));
        let blocks = starts.into_par_iter().map(block).collect::<Result<Vec<_>, _>>()?;
        Ok(Piece { rows, groups, b, c, blocks })
    }

    fn block<R: Read + Seek + Send>(
        &self,
        recording: &Recording<R>,
        contract: &Contract,
        rows: Range<usize>,
    ) -> Result<Block, RecordError> {
        let Shape { batch, dim, seqlen, .. } = self.shape;
        let layout: &Layout = recording.layout();
        let sequence = |name: &'static str| recording.input_rows(name, batch * dim, rows.clone());
        let (raw, u) = (sequence("delta")?.unwrap_or_default(), sequence("u")?.unwrap_or_default());
        let (mut delta, mut delta_error) = (Vec::with_capacity(raw.len()), Vec::with_capacity(raw.len()));
        for (row, values) in rows.clone().zip(raw.chunks(seqlen)) {
            let bias = self.bias.as_ref().map(|bias| bias[row % dim]);
            for &value in values {
                let activation = (layout.delta_softplus, layout.conventions.limit);
                let (step, error) = step_size_of(value, bias, activation, contract.arithmetic);
                delta.push(step);
                delta_error.push(error);
            }
        }
        let gate = sequence("z")?;
        let silu = gate.as_ref().map(|gate| gate.iter().map(|&z| silu(f64::from(z))).collect());
        let initial = sequence(INITIAL_STATE)?;
        let mut got = Vec::with_capacity(layout.outputs.len());
        for tensors in layout.outputs.values() {
            let mut of_output = Named::default();
            for name in TensorName::SCANNED {
                if let Some(values) = recording.output_rows(tensors, name, rows.clone())? {
                    of_output.insert(name, values);
                }
            }
            got.push(of_output);
        }
        Ok(Block { rows, delta, delta_error, u, gate, silu, initial, got })
    }
}

//! Tensors of chunks, as scans in chunks keep them: the states before, and running sums of ΔA within each.

use std::num::NonZeroUsize;

use super::layout::{Layout, real_type, required};
use super::names::{CU_SEQLENS, SEQ_IDX};
use super::{RecordError, Result};
use crate::problem::axes::View;
use crate::problem::conventions::{CHUNK, Direction};
use crate::problem::{Axes, Conventions, Order, Shape, Weights};
use crate::tensor::TensorName;
use crate::tensor_file::{TensorFile, shown};

impl Layout {
    /// Tensors of chunks, and how long a chunk is: as is stated, or as the run where there is one.
    pub(super) fn check_chunks<R>(&mut self, file: &TensorFile<R>) -> Result<()> {
        let Conventions { direction, chunk: stated, axes: Axes { order, headdim, .. }, .. } =
            self.conventions;
        let Shape { batch, dim, seqlen, .. } = self.shape;
        self.conventions.chunk = None;
        let outputs = self.outputs.clone();
        let computed = outputs.values().flat_map(|tensors| tensors.iter());
        for (name, tensor) in computed.filter(|(name, _)| !TensorName::SCANNED.contains(name)) {
            let wrong = |expected, hint| Err(RecordError::Chunks { name: shown(tensor), expected, hint });
            let info = required(file, tensor)?;
            if file.info(SEQ_IDX).is_some() || file.info(CU_SEQLENS).is_some() {
                return wrong("sequences that are not packed", "leave it out, or record a sequence alone");
            }
            if direction == Direction::Reverse {
                return wrong(
                    "a scan from the first position on",
                    "leave it out, or flip what has positions",
                );
            }
            let of_states = name == TensorName::ChunkStates;
            if !of_states && (order != Order::Blhp || self.weights == Weights::Complex) {
                return wrong(
                    "layout blhp and a real A",
                    "with an A for each state, each has sums of its own",
                );
            }
            let is_one = info.shape.get(if of_states { 1 } else { 2 }) == Some(&1);
            let Some(chunk) = stated.or(NonZeroUsize::new(seqlen).filter(|_| is_one)) else {
                return wrong("the metadata `chunk`", "state chunk=64 for chunks of 64 positions");
            };
            self.conventions.chunk = Some(chunk);
            let chunks = seqlen.div_ceil(chunk.get());
            if of_states {
                self.check_state(tensor, info, vec![("b", batch), ("c", chunks)], chunks)?;
                continue;
            }
            real_type(tensor, info, None)?;
            let axes = [("b", batch), ("h", dim / headdim), ("c", chunks), ("k", chunk.get())];
            self.check_shape(tensor, info, &axes)?;
            let own = chunks.saturating_mul(chunk.get());
            self.see(tensor, View { shared_by: headdim, row: seqlen, own, turned: None });
        }
        match (stated, self.conventions.chunk) {
            (Some(chunk), None) => Err(RecordError::Metadata {
                key: CHUNK,
                found: chunk.to_string(),
                expected: "none without chunk_states or dA_cumsum: scan=log-space-64 states where running sums begin anew",
            }),
            _ => Ok(()),
        }
    }
}

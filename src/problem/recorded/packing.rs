//! Sequences that are packed into the items of a recorded run: `seq_idx`, or `cu_seqlens` ([`Packed`]).

use std::io::{Read, Seek};
use std::sync::Arc;

use super::layout::{Layout, mistyped, size};
use super::names::{CU_SEQLENS, DLAST_STATE, SEQ_IDX};
use super::{RecordError, Result};
use crate::problem::axes::View;
use crate::problem::conventions::{DIRECTION, Direction, INITIAL_STATE};
use crate::problem::{Packed, Shape};
use crate::tensor::TensorName;
use crate::tensor_file::{Stored, TensorFile, TensorInfo, shape_text};

/// States of each channel, as the header tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    pub initial_states: usize,
    pub last_states: usize,
}

impl Packing {
    /// As where nothing is packed.
    pub const NONE: Packing = Packing { initial_states: 1, last_states: 1 };
}

impl Layout {
    /// Whether sequences are packed, and how many states there are of each channel: one, or one for each sequence.
    pub(super) fn packing_of<R>(&self, file: &TensorFile<R>) -> Result<Packing> {
        let Shape { batch, seqlen, .. } = self.shape;
        let (indices, starts) = (file.info(SEQ_IDX), file.info(CU_SEQLENS));
        if indices.is_none() && starts.is_none() {
            return Ok(Packing::NONE);
        }
        [indices, starts].into_iter().flatten().try_for_each(has_integers)?;
        if self.conventions.direction == Direction::Reverse {
            let needs = "sequences that are not packed";
            return Err(RecordError::Contradiction {
                key: DIRECTION,
                found: Direction::Reverse.name(),
                needs,
            });
        }
        if let Some(info) = indices.filter(|info| info.shape[..] != [batch, seqlen]) {
            return Err(misplaced(info, format!("({batch}, {seqlen}), the sequence of each position")));
        }
        let Some(starts) = starts else { return Ok(Packing::NONE) };
        let count = sequences(starts, batch)?;
        let states = |name: Option<&str>| {
            let info = name.and_then(|name| file.info(name));
            if info.is_some_and(|info| info.shape.first() == Some(&1)) { 1 } else { count }
        };
        let last = self.outputs.values().find_map(|tensors| tensors.get(TensorName::LastState));
        let initial_states = states(Some(INITIAL_STATE));
        let last_states = states(last.map_or(Some(DLAST_STATE), |name| Some(name.as_str())));
        Ok(Packing { initial_states, last_states })
    }

    /// How states of each sequence are found: a sequence comes before its channels in the file.
    pub(super) fn see_states(&mut self, name: &str, count: usize) {
        let dim = self.shape.dim;
        self.see(name, View { turned: (count > 1).then_some((count, dim)), ..View::PLAIN });
    }

    /// The sequences, as the file's numbers tell.
    pub(super) fn packed<R: Read + Seek>(&self, file: &TensorFile<R>) -> Result<Option<Arc<Packed>>> {
        let seqlen = self.shape.seqlen;
        let Packing { initial_states, last_states, .. } = self.packing;
        let indices = file.integers(SEQ_IDX)?;
        if let (Some(indices), None) = (&indices, file.info(CU_SEQLENS)) {
            // Kernels differ in what a state is before padding or after it.
            let last = self.outputs.values().any(|tensors| tensors.get(TensorName::LastState).is_some());
            let has_last = last || file.info(DLAST_STATE).is_some();
            for (has, l, state) in [
                (file.info(INITIAL_STATE).is_some(), 0, "that starts from the initial state"),
                (has_last, seqlen - 1, "whose last state is recorded; or cu_seqlens"),
            ] {
                let padded = indices.iter().skip(l).step_by(seqlen).position(|&index| index < 0);
                if let Some(item) = padded.filter(|_| has) {
                    return Err(RecordError::Sequence {
                        name: SEQ_IDX,
                        found: indices[item * seqlen + l],
                        at: shape_text(&[item, l]),
                        expected: format!("a sequence {state}"),
                    });
                }
            }
            return Ok(Some(Arc::new(Packed::by_indices(indices, seqlen))));
        }
        let Some(ends) = file.integers(CU_SEQLENS)? else { return Ok(None) };
        let starts = starts(&ends, seqlen)?;
        let packed = Packed::by_starts(&starts, seqlen, [initial_states, last_states]);
        // Indices beside the starts say the same.
        if let Some(indices) = indices {
            let other = Packed::by_indices(&indices, seqlen);
            let differs = (0..seqlen).find(|&l| {
                let [own, other] = [&packed, &other].map(|packed| packed.at(0, l));
                (&own.positions, own.is_padding) != (&other.positions, other.is_padding)
            });
            if let Some(l) = differs {
                return Err(RecordError::Sequence {
                    name: SEQ_IDX,
                    found: indices[l],
                    at: shape_text(&[0, l]),
                    expected: format!("the sequences of {CU_SEQLENS}, or none of the two"),
                });
            }
        }
        Ok(Some(Arc::new(packed)))
    }
}

fn misplaced(info: &TensorInfo, expected: String) -> RecordError {
    RecordError::Shape {
        name: info.name.clone(),
        found: shape_text(&info.shape),
        expected,
        hint: format!("{SEQ_IDX} is (b, l), {CU_SEQLENS} (s + 1) with b = 1"),
    }
}

/// Where each sequence begins, and the last one ends, of so many positions.
pub(super) fn starts(ends: &[i64], seqlen: usize) -> Result<Vec<usize>> {
    let mut starts: Vec<usize> = Vec::with_capacity(ends.len());
    for (at, &end) in ends.iter().enumerate() {
        let place = usize::try_from(end).ok().filter(|&place| match starts.last() {
            None => place == 0,
            Some(&start) => start < place && place <= seqlen,
        });
        let Some(place) = place else {
            let expected = match starts.last() {
                None => "0, where the first sequence begins".to_owned(),
                Some(start) => format!("more than {start}, and at most {seqlen} positions"),
            };
            return Err(RecordError::Sequence { name: CU_SEQLENS, found: end, at: at.to_string(), expected });
        };
        starts.push(place);
    }
    Ok(starts)
}

fn has_integers(info: &TensorInfo) -> Result<()> {
    if matches!(info.stored, Stored::I32 | Stored::I64) {
        return Ok(());
    }
    let hint = "it has integers, as the kernel is given them";
    Err(mistyped(&info.name, info, "I32 or I64".to_owned(), hint))
}

/// How many sequences these starts are of, in a batch of so many items.
pub(super) fn sequences(starts: &TensorInfo, batch: usize) -> Result<usize> {
    has_integers(starts)?;
    if batch != 1 {
        let hint =
            "sequences that are packed are one item; of a batch, seq_idx tells which one each position is of";
        return Err(size("u", "batch", batch, format!("1 beside {CU_SEQLENS}"), hint));
    }
    match starts.shape[..] {
        [ends] if ends >= 2 => Ok(ends - 1),
        _ => Err(misplaced(starts, "(sequences + 1)".to_owned())),
    }
}

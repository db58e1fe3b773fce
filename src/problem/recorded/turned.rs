//! Numbers in the plain order, of files that have another ([`View`]). Where positions come before channels, a tensor is turned when
//! it is first asked for, and held from then on: a channel's numbers are nowhere together in such a file.

use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::{RecordError, Recording};
use crate::problem::Shape;
use crate::problem::axes::View;
use crate::problem::recorded::Result;
use crate::tensor_file::Stored;

/// Most that turned tensors of a file may take, in bytes.
pub(super) const MOST: usize = 4 << 30;

/// Positions that are turned at a time.
const AT_ONCE: usize = 64;

/// Turned tensors, by their names in the file.
pub(super) type Turned = Mutex<BTreeMap<String, Arc<Vec<f32>>>>;

impl<R: Read + Seek + Send> Recording<R> {
    /// Checks that the tensors that have to be turned may be held.
    pub(super) fn check_turned(&self) -> Result<()> {
        let turned = self.layout.views.iter().filter(|(_, view)| view.turned.is_some());
        let bytes = turned.map(|(name, _)| self.stored_len(name).saturating_mul(size_of::<f32>()));
        let found = bytes.fold(0, usize::saturating_add);
        if found <= MOST { Ok(()) } else { Err(RecordError::TooLargeToTurn { found }) }
    }

    /// Floats of a tensor, in the plain order; zeros where there is padding.
    pub(super) fn floats(&self, name: &str, range: Range<usize>) -> Result<Vec<f32>> {
        let mut values = self.found(name, range.clone())?;
        let packed = self.layout.packed.as_deref().filter(|packed| packed.is_padded());
        if let (Some(packed), Some(width)) = (packed, self.layout.positions.get(name)) {
            let Shape { batch, seqlen, .. } = self.layout.shape;
            let of_item = self.len(name) / batch;
            let is_padding = |i: usize| packed.at(i / of_item, i / width % seqlen).is_padding;
            range.zip(&mut values).filter(|(i, _)| is_padding(*i)).for_each(|(_, value)| *value = 0.0);
        }
        Ok(values)
    }

    /// Floats of a tensor in the plain order, with padding as it is in the file.
    fn found(&self, name: &str, range: Range<usize>) -> Result<Vec<f32>> {
        let Some(view) = self.layout.views.get(name).copied().filter(|_| !range.is_empty()) else {
            return self.stored(name, range);
        };
        let own = view.own_range(range.clone());
        let values = match view.turned {
            Some(sizes) => self.turned(name, sizes)?[own.clone()].to_vec(),
            None => self.stored(name, own.clone())?,
        };
        Ok(if view.repeats() { range.map(|i| values[view.own_at(i) - own.start]).collect() } else { values })
    }

    /// All floats of a tensor that has positions before rows, as rows.
    fn turned(&self, name: &str, (positions, rows): (usize, usize)) -> Result<Arc<Vec<f32>>> {
        let mut all = self.turned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(name) {
            return Ok(Arc::clone(known));
        }
        let len = self.stored_len(name);
        let items = self.layout.shape.batch;
        let width = len / (items * positions * rows).max(1);
        let mut turned = vec![0.0; len];
        for item in 0..items {
            for first in (0..positions).step_by(AT_ONCE) {
                let some = first..positions.min(first + AT_ONCE);
                let start = (item * positions + first) * rows * width;
                let read = self.stored(name, start..start + some.len() * rows * width)?;
                for row in 0..rows {
                    for l in some.clone() {
                        let from = ((l - first) * rows + row) * width;
                        let to = ((item * rows + row) * positions + l) * width;
                        turned[to..to + width].copy_from_slice(&read[from..from + width]);
                    }
                }
            }
        }
        let turned = Arc::new(turned);
        all.insert(name.to_owned(), Arc::clone(&turned));
        Ok(turned)
    }

    /// Floats that a tensor has in the file, all of its elements' parts; 0 where it is left out.
    pub(super) fn stored_len(&self, name: &str) -> usize {
        let parts = |stored| if stored == Stored::C64 { 2 } else { 1 };
        self.file.info(name).map_or(0, |info| info.len * parts(info.stored))
    }

    /// The place in the file of a float of the plain order.
    pub(super) fn stored_at(&self, name: &str, position: usize) -> usize {
        let Some(view) = self.layout.views.get(name).copied() else { return position };
        let View { turned, .. } = view;
        let elements = turned.map_or(1, |(positions, rows)| self.layout.shape.batch * positions * rows);
        view.stored_at(view.own_at(position), self.stored_len(name) / elements.max(1))
    }
}

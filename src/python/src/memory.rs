//! Arrays as a recorded run: read in place, strides and all, as if they were a safetensors file. So the reader of files is
//! the only one there is, nothing is copied, and what it accepts and says is the same.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use holdfast::tensor_file::Stored;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

/// An array under the name that a recorded run has for it.
pub struct View {
    name: String,
    stored: Stored,
    /// What the run has: the array's own numbers in their order, whatever its dimensions.
    shape: Vec<usize>,
    sizes: Vec<usize>,
    /// In bytes.
    strides: Vec<isize>,
    start: *const u8,
    /// Keeps the memory.
    _array: Py<PyUntypedArray>,
}

// SAFETY: the memory is only read, and lives as long as the array.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// The array as numbers that are stored so, in a tensor of this shape.
    ///
    /// # Errors
    /// `TypeError` for an array whose numbers have another size, or are more or fewer.
    pub fn new(
        name: String,
        stored: &str,
        shape: Vec<usize>,
        array: &Bound<'_, PyUntypedArray>,
    ) -> PyResult<View> {
        let known = Stored::ALL.into_iter().find(|known| known.name() == stored);
        let stored =
            known.filter(|known| known.size() == array.dtype().itemsize() as u64).ok_or_else(|| {
                let found = array.dtype().to_string();
                PyTypeError::new_err(format!("tensor `{name}` is of type {found}, expected one of {stored}"))
            })?;
        // SAFETY: an array that the interpreter holds.
        let start = unsafe { (*array.as_array_ptr()).fields.data.cast::<u8>().cast_const() };
        let (sizes, strides) = (array.shape().to_vec(), array.strides().to_vec());
        if sizes.iter().product::<usize>() != shape.iter().product::<usize>() {
            let text = format!("tensor `{name}` has shape {sizes:?}, expected one as large as {shape:?}");
            return Err(PyTypeError::new_err(text));
        }
        Ok(View { name, stored, shape, sizes, strides, start, _array: array.clone().unbind() })
    }

    fn bytes(&self) -> u64 {
        self.shape.iter().product::<usize>() as u64 * self.stored.size()
    }

    /// Copies the bytes from `from` on, as if the array were contiguous, as many as there are and fit.
    fn read(&self, from: u64, to: &mut [u8]) -> usize {
        let size = self.stored.size() as usize;
        let wanted = to.len().min((self.bytes() - from) as usize);
        let (inner, step) = match (self.sizes.last(), self.strides.last()) {
            (Some(&inner), Some(&step)) => (inner, step),
            _ => (1, size as isize),
        };
        let mut done = 0;
        while done < wanted {
            let at = from as usize + done;
            let (element, part) = (at / size, at % size);
            let (row, column) = (element / inner, element % inner);
            let mut offset = column as isize * step;
            let mut rest = row;
            let outer = self.sizes.len().saturating_sub(1);
            for (&len, &stride) in self.sizes[..outer].iter().zip(&self.strides[..outer]).rev() {
                offset += (rest % len) as isize * stride;
                rest /= len;
            }
            let left = wanted - done;
            let to = &mut to[done..wanted];
            // SAFETY: an index inside of the shape.
            let start = unsafe { self.start.offset(offset) };
            if part != 0 || left < size {
                // The end of one number, or the start of one: a complex one is read by halves.
                let count = (size - part).min(left);
                // SAFETY: one number.
                unsafe { ptr::copy_nonoverlapping(start.add(part), to.as_mut_ptr(), count) };
                done += count;
                continue;
            }
            let count = (left / size).min(inner - column);
            if step == size as isize {
                // SAFETY: what is left of a row whose numbers are neighbours.
                unsafe { ptr::copy_nonoverlapping(start, to.as_mut_ptr(), count * size) };
            } else {
                // SAFETY: what is left of a row.
                unsafe {
                    match size {
                        2 => gather::<2>(start, step, &mut to[..count * size]),
                        4 => gather::<4>(start, step, &mut to[..count * size]),
                        _ => gather::<8>(start, step, &mut to[..count * size]),
                    }
                }
            }
            done += count * size;
        }
        done
    }
}

/// Numbers that are `step` bytes apart.
///
/// # Safety
/// As many numbers as fill `to` can be read there.
unsafe fn gather<const N: usize>(start: *const u8, step: isize, to: &mut [u8]) {
    for (i, number) in to.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        // SAFETY: the caller's.
        *number = unsafe { start.offset(i as isize * step).cast::<[u8; N]>().read_unaligned() };
    }
}

/// The file that the arrays would be.
pub struct MemoryFile {
    header: Vec<u8>,
    /// With the place at which each starts.
    views: Vec<(u64, View)>,
    len: u64,
    position: u64,
    /// Once set, nothing can be read any more: whoever waited for the answer has been interrupted.
    stop: Arc<AtomicBool>,
}

impl MemoryFile {
    pub fn new(views: Vec<View>, metadata: &BTreeMap<String, String>, stop: Arc<AtomicBool>) -> Self {
        let mut entries = Map::new();
        entries.insert("__metadata__".to_owned(), json!(metadata));
        let mut end = 0;
        for view in &views {
            let start = end;
            end += view.bytes();
            let entry =
                json!({"dtype": view.stored.name(), "shape": view.shape, "data_offsets": [start, end]});
            entries.insert(view.name.clone(), entry);
        }
        let text = Value::Object(entries).to_string();
        let header = [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
        let mut next = header.len() as u64;
        let place = |view: View| {
            let start = next;
            next += view.bytes();
            (start, view)
        };
        let views = views.into_iter().map(place).collect();
        MemoryFile { header, views, len: next, position: 0, stop }
    }

    pub fn len(&self) -> u64 {
        self.len
    }
}

impl Read for MemoryFile {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::other("nobody waits for it any more"));
        }
        if self.position >= self.len || to.is_empty() {
            return Ok(0);
        }
        let count = match self.header.get(self.position as usize..) {
            Some(header) if !header.is_empty() => {
                let count = header.len().min(to.len());
                to[..count].copy_from_slice(&header[..count]);
                count
            }
            _ => {
                // The last one that starts here or before, empty ones left behind.
                let after = self.views.partition_point(|(start, _)| *start <= self.position);
                let (start, view) = &self.views[after - 1];
                view.read(self.position - start, to)
            }
        };
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for MemoryFile {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
        };
        self.position = position.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

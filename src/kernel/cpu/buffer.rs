//! Buffers as a kernel sees them: 32-byte aligned, in the storage type, with guard zones around outputs.

use half::{bf16, f16};

use crate::problem::InputType;

/// What the kernels' widest load takes: four doubles, when lifted.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Line([u8; 32]);

const LINE: usize = size_of::<Line>();
/// Lines before and after an output that must keep their pattern.
const GUARD_LINES: usize = 8;
/// All bits set: a NaN in f64, f32, f16 and bf16, so an element that is never written can never pass for a number.
const POISON: u8 = 0xff;

/// Bytes of one element of a storage type.
pub fn element_size(input: InputType) -> usize {
    match input {
        InputType::F32 => 4,
        InputType::F16 | InputType::Bf16 => 2,
    }
}

/// A kernel's input, in its storage type.
pub struct Input(Vec<Line>);

impl Input {
    /// Values that the storage type represents exactly are stored exactly; others are rounded.
    pub fn new(values: &[f32], storage: InputType) -> Self {
        let size = element_size(storage);
        let mut lines = vec![Line([0; LINE]); (values.len() * size).div_ceil(LINE)];
        let per_line = LINE / size;
        for (line, chunk) in lines.iter_mut().zip(values.chunks(per_line)) {
            for (bytes, &value) in line.0.chunks_mut(size).zip(chunk) {
                match storage {
                    InputType::F32 => bytes.copy_from_slice(&value.to_ne_bytes()),
                    InputType::F16 => bytes.copy_from_slice(&f16::from_f32(value).to_ne_bytes()),
                    InputType::Bf16 => bytes.copy_from_slice(&bf16::from_f32(value).to_ne_bytes()),
                }
            }
        }
        Input(lines)
    }

    /// Widened to double, exactly.
    pub fn widened(values: &[f32]) -> Self {
        let mut lines = vec![Line([0; LINE]); (values.len() * size_of::<f64>()).div_ceil(LINE)];
        for (line, chunk) in lines.iter_mut().zip(values.chunks(LINE / size_of::<f64>())) {
            for (bytes, &value) in line.0.chunks_mut(size_of::<f64>()).zip(chunk) {
                bytes.copy_from_slice(&f64::from(value).to_ne_bytes());
            }
        }
        Input(lines)
    }

    pub fn as_ptr(&self) -> *const std::ffi::c_void {
        self.0.as_ptr().cast()
    }
}

/// A kernel's output: poisoned before the run, with guard zones that are checked after it.
pub struct Output {
    lines: Vec<Line>,
    len: usize,
    /// None for double.
    storage: Option<InputType>,
    name: &'static str,
}

impl Output {
    pub fn new(name: &'static str, len: usize, storage: InputType) -> Self {
        Output::of(name, len, Some(storage))
    }

    /// In double.
    pub fn lifted(name: &'static str, len: usize) -> Self {
        Output::of(name, len, None)
    }

    fn of(name: &'static str, len: usize, storage: Option<InputType>) -> Self {
        let body = (len * storage.map_or(size_of::<f64>(), element_size)).div_ceil(LINE);
        Output { lines: vec![Line([POISON; LINE]); body + 2 * GUARD_LINES], len, storage, name }
    }

    /// Where the kernel writes. Valid for `len` elements.
    pub fn as_mut_ptr(&mut self) -> *mut std::ffi::c_void {
        self.lines[GUARD_LINES..].as_mut_ptr().cast()
    }

    fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        self.lines.iter().flat_map(|line| line.0)
    }

    /// The values, widened; or what the kernel did to the memory around them.
    pub fn into_values(self) -> Result<Vec<f32>, String> {
        // Of an output in double too: nothing there is lost that f32 can hold.
        Ok(self.into_doubles()?.into_iter().map(|value| value as f32).collect())
    }

    /// The same in double.
    pub fn into_doubles(self) -> Result<Vec<f64>, String> {
        let size = self.storage.map_or(size_of::<f64>(), element_size);
        let start = GUARD_LINES * LINE;
        let end = start + self.len * size;
        if let Some(at) = self.bytes().take(start).position(|byte| byte != POISON) {
            return Err(format!("wrote {} bytes before the start of `{}`", start - at, self.name));
        }
        // The rest of the last line guards, too.
        if let Some(at) = self.bytes().skip(end).position(|byte| byte != POISON) {
            return Err(format!("wrote {at} bytes past the end of `{}`", self.name));
        }
        let mut values = Vec::with_capacity(self.len);
        for line in &self.lines[GUARD_LINES..self.lines.len() - GUARD_LINES] {
            for bytes in line.0.chunks(size).take(self.len - values.len()) {
                values.push(match self.storage {
                    None => bytes.try_into().map_or(f64::NAN, f64::from_ne_bytes),
                    Some(InputType::F32) => bytes.try_into().map_or(f32::NAN, f32::from_ne_bytes).into(),
                    Some(InputType::F16) => f16::from_ne_bytes([bytes[0], bytes[1]]).into(),
                    Some(InputType::Bf16) => bf16::from_ne_bytes([bytes[0], bytes[1]]).into(),
                });
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_nobody_writes_is_nan_throughout() {
        for storage in InputType::ALL {
            let values = Output::new("out", 37, storage).into_values().expect("guards are intact");
            assert_eq!(values.len(), 37);
            assert!(values.iter().all(|value| value.is_nan()));
        }
    }

    #[test]
    fn writes_outside_an_output_are_reported() {
        for (offset, word) in [(-1isize, "before the start"), (37, "past the end"), (70, "past the end")] {
            let mut output = Output::new("out", 37, InputType::F16);
            let at: *mut u16 = output.as_mut_ptr().cast();
            // SAFETY: both offsets lie within the guard zones of the same allocation.
            unsafe { at.offset(offset).write(0) };
            let message = output.into_values().expect_err("a guard was overwritten");
            assert!(message.contains(word) && message.contains("`out`"), "{message}");
        }
    }

    #[test]
    fn values_come_back_as_they_were_written() {
        let values: Vec<f32> = (0..37).map(|i| i as f32 * 0.25).collect();
        for storage in InputType::ALL {
            let input = Input::new(&values, storage);
            let mut output = Output::new("out", values.len(), storage);
            // SAFETY: both are valid for that many bytes and do not overlap.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    input.as_ptr().cast::<u8>(),
                    output.as_mut_ptr().cast::<u8>(),
                    values.len() * element_size(storage),
                );
            }
            assert_eq!(output.into_values().expect("guards are intact"), values);
        }
    }
}

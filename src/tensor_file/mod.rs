//! Reads safetensors files without trusting them: no number of a header is believed before it is checked against
//! the file's real length, and nothing is allocated that the file does not hold.
//!
//! Memory stays below the header's limit, [`LARGEST_HEADER`], plus what the numbers asked for take: a file may have any size,
//! and is read where and when it is asked for. It is not mapped: one that shrinks meanwhile is an error then, not a signal.
//! What the tensors mean is for others to say.

mod header;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The largest file that is read whole, in bytes.
pub const LARGEST_FILE: u64 = 1 << 30;
/// The largest header that is read, in bytes.
pub const LARGEST_HEADER: u64 = 4 << 20;
/// Bytes before the header: its length.
const PREFIX: u64 = 8;

/// Beginnings of files of tensors that are no safetensors, their kinds, and a command that writes safetensors of each.
const OTHER_KINDS: [(&[u8], &str, &str); 3] = [
    (b"PK\x03\x04", "a zip archive, as torch.save and numpy.savez write them", "safetensors.torch.save_file"),
    (b"\x80\x02", "a pickle, as early versions of torch.save wrote them", "safetensors.torch.save_file"),
    (b"\x93NUMPY", "one array of numpy.save", "safetensors.numpy.save_file"),
];

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum TensorFileError {
    #[error("cannot read the file: {0} (hint: look at its name and permissions)")]
    Read(#[from] io::Error),
    #[error(
        "cannot read the file: found something that is no regular file, expected one (hint: save it first)"
    )]
    NotRegular,
    #[error(
        "the file has {found} bytes, expected at most {LARGEST_FILE} (hint: leave out what is not asked for)"
    )]
    FileTooLarge { found: u64 },
    #[error(
        "the file has {found} bytes, expected {expected} by its header (hint: it may be truncated or appended to)"
    )]
    Length { expected: u64, found: u64 },
    #[error(
        "the header claims {found} bytes, expected at most {LARGEST_HEADER} \
         (hint: it may be another kind of file)"
    )]
    HeaderTooLong { found: u64 },
    #[error("the file is {found}, expected safetensors (hint: load it, and save its tensors by {by})")]
    OtherKind { found: &'static str, by: &'static str },
    #[error("the header is not UTF-8 from its byte {at} on (hint: it may be another kind of file)")]
    HeaderNotText { at: usize },
    #[error("the header is not JSON as safetensors lays it out: {reason} (hint: it may be damaged)")]
    Header { reason: String },
    #[error("the header has two entries `{name}`, expected one (hint: it was not written by safetensors)")]
    Duplicate { name: String },
    #[error("tensor `{name}` {reason} (hint: {hint})")]
    Tensor { name: String, reason: String, hint: &'static str },
}

named! {
    /// How a tensor's numbers are stored, by the name in a header.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Stored {
        F16 => "F16",
        Bf16 => "BF16",
        F32 => "F32",
        F64 => "F64",
        /// Two F32, re then im.
        C64 => "C64",
        I32 => "I32",
        I64 => "I64",
    }
}

impl Stored {
    /// Bytes that one element takes.
    pub fn size(self) -> u64 {
        match self {
            Stored::F16 | Stored::Bf16 => 2,
            Stored::F32 | Stored::I32 => 4,
            Stored::F64 | Stored::C64 | Stored::I64 => 8,
        }
    }
}

/// One tensor of a file; the file is known to hold all of it.
#[derive(Clone, Debug)]
pub struct TensorInfo {
    /// In the file.
    pub name: String,
    pub stored: Stored,
    pub shape: Vec<usize>,
    /// Elements: the product of the shape.
    pub len: usize,
    /// Where its bytes start in the file.
    start: u64,
}

impl TensorInfo {
    /// Name as messages show it, of a tensor that is `own` here.
    pub fn called(&self, own: &str) -> String {
        if self.name == own { shown(own) } else { format!("{}` = `{}", shown(&self.name), shown(own)) }
    }
}

/// An open file whose header has been checked.
#[derive(Debug)]
pub struct TensorFile<R> {
    /// Read by one thread at a time, which takes far less time than what is done with the numbers.
    reader: Mutex<R>,
    tensors: BTreeMap<String, TensorInfo>,
    metadata: BTreeMap<String, String>,
}

impl TensorFile<File> {
    /// Opens the file at `path` and checks its header.
    pub fn open(path: &Path) -> Result<Self, TensorFileError> {
        let (file, len) = open(path)?;
        TensorFile::new(file, len)
    }
}

/// All bytes of a file that is not larger than [`LARGEST_FILE`].
///
/// # Errors
/// [`TensorFileError`] for a file that is larger, or cannot be read.
pub fn read_bounded(path: &Path) -> Result<Vec<u8>, TensorFileError> {
    let (file, len) = open(path)?;
    if len > LARGEST_FILE {
        return Err(TensorFileError::FileTooLarge { found: len });
    }
    let mut bytes = Vec::with_capacity(len as usize);
    // Also when it grows meanwhile.
    file.take(LARGEST_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open(path: &Path) -> Result<(File, u64), TensorFileError> {
    // Before it is opened: opening a pipe would wait for its other end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(TensorFileError::NotRegular);
    }
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    Ok((file, len))
}

impl<R> TensorFile<R> {
    /// Every tensor's name, ascending.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    pub fn info(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name)
    }

    /// Tensors under their own names, where they have others in the file.
    ///
    /// # Errors
    /// Names in the file of two that would have one.
    pub fn renamed(mut self, own_name: impl Fn(&str) -> Option<String>) -> Result<Self, [String; 2]> {
        let mut tensors = BTreeMap::new();
        for (name, info) in self.tensors {
            let (own, found) = (own_name(&name).unwrap_or(name), info.name.clone());
            if let Some(TensorInfo { name: other, .. }) = tensors.insert(own, info) {
                return Err([other, found]);
            }
        }
        self.tensors = tensors;
        Ok(self)
    }

    /// The texts that the file says of itself.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }
}

impl<R: Read + Seek> TensorFile<R> {
    /// Checks the header of a file of `len` bytes.
    pub fn new(mut reader: R, len: u64) -> Result<Self, TensorFileError> {
        if len < PREFIX {
            return Err(TensorFileError::Length { expected: PREFIX, found: len });
        }
        let mut prefix = [0; PREFIX as usize];
        reader.read_exact(&mut prefix)?;
        let header_len = u64::from_le_bytes(prefix);
        if header_len > LARGEST_HEADER {
            let other = OTHER_KINDS.iter().find(|(magic, ..)| prefix.starts_with(magic));
            return Err(match other {
                Some(&(_, found, by)) => TensorFileError::OtherKind { found, by },
                None => TensorFileError::HeaderTooLong { found: header_len },
            });
        }
        let data_start = PREFIX + header_len;
        if data_start > len {
            return Err(TensorFileError::Length { expected: data_start, found: len });
        }
        let mut text = vec![0; header_len as usize];
        reader.read_exact(&mut text)?;
        let text =
            std::str::from_utf8(&text).map_err(|e| TensorFileError::HeaderNotText { at: e.valid_up_to() })?;
        let (tensors, metadata) = header::parse(text, data_start, len)?;
        Ok(TensorFile { reader: Mutex::new(reader), tensors, metadata })
    }

    /// Some floats of a tensor, widened to f32; of a C64 re and im are one each. None when there is no such tensor, or when it
    /// is F64 or has integers; fewer than asked for where it has fewer.
    pub fn floats(&self, name: &str, range: Range<usize>) -> Result<Option<Vec<f32>>, TensorFileError> {
        let Some(info) = self.tensors.get(name) else { return Ok(None) };
        Ok(match info.stored {
            Stored::F64 | Stored::I32 | Stored::I64 => None,
            Stored::F16 => Some(self.decode(info, range, |b| half::f16::from_le_bytes(b).to_f32())?),
            Stored::Bf16 => Some(self.decode(info, range, |b| half::bf16::from_le_bytes(b).to_f32())?),
            Stored::F32 | Stored::C64 => Some(self.decode(info, range, f32::from_le_bytes)?),
        })
    }

    /// The numbers of an F64 tensor. None when there is no such tensor, or of another type.
    pub fn doubles(&self, name: &str) -> Result<Option<Vec<f64>>, TensorFileError> {
        match self.tensors.get(name) {
            Some(info) if info.stored == Stored::F64 => {
                self.decode(info, 0..info.len, f64::from_le_bytes).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The numbers of a tensor of integers. None when there is no such tensor, or of another type.
    pub fn integers(&self, name: &str) -> Result<Option<Vec<i64>>, TensorFileError> {
        let Some(info) = self.tensors.get(name) else { return Ok(None) };
        Ok(match info.stored {
            Stored::I32 => Some(self.decode(info, 0..info.len, |b| i64::from(i32::from_le_bytes(b)))?),
            Stored::I64 => Some(self.decode(info, 0..info.len, i64::from_le_bytes)?),
            _ => None,
        })
    }

    /// Reads numbers a piece at a time, so that their bytes and they themselves are never both held.
    fn decode<T, const N: usize>(
        &self,
        info: &TensorInfo,
        range: Range<usize>,
        number: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, TensorFileError> {
        const PIECE: u64 = 1 << 16;
        let bytes = info.len as u64 * info.stored.size();
        let [start, end] = [range.start, range.end].map(|at| bytes.min((at as u64).saturating_mul(N as u64)));
        let mut left = end.saturating_sub(start);
        let mut numbers = Vec::with_capacity((left / N as u64) as usize);
        let mut piece = vec![0; left.min(PIECE) as usize];
        while left > 0 {
            let now = &mut piece[..left.min(PIECE) as usize];
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            reader.seek(SeekFrom::Start(info.start + end - left))?;
            reader.read_exact(now)?;
            drop(reader);
            numbers.extend(now.as_chunks::<N>().0.iter().map(|&chunk| number(chunk)));
            left -= now.len() as u64;
        }
        Ok(numbers)
    }
}

/// A text from a file as messages may show it: short, and without control characters, which a terminal would obey.
pub fn shown(text: &str) -> String {
    const LONGEST: usize = 200;
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut short: String = text.chars().take(LONGEST).map(plain).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

/// A shape as messages show it: `(2, 3, 5)`, cut after eight sizes.
pub fn shape_text(shape: &[usize]) -> String {
    let mut sizes: Vec<String> = shape.iter().take(8).map(usize::to_string).collect();
    if shape.len() > 8 {
        sizes.push(format!("… {} dimensions", shape.len()));
    }
    format!("({})", sizes.join(", "))
}

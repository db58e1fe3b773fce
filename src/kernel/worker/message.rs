//! Messages between the harness and a worker: words of 64 bits in the machine's byte order (a number that starts every
//! message, the length of the header, the number of tensors, and the length of each or `MISSING`), then the header's
//! bytes, then the tensors'. `kernels/foreign/worker.cpp` reads and writes the same.

use std::io::{Error, ErrorKind, Read, Result, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Starts every message: whatever else a library prints into the stream is noticed.
const MAGIC: u64 = 0x686f_6c64_6661_7374;

/// In the place of a missing tensor's length.
const MISSING: u64 = u64::MAX;

/// Headers are small, except that they may hold one compiled kernel.
const LONGEST_HEADER: u64 = 64 << 20;

/// More than any kernel has.
const MOST_TENSORS: u64 = 64;

/// A header, which the two sides agree on, and tensors, of which some may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub header: Vec<u8>,
    pub tensors: Vec<Option<Vec<u8>>>,
}

impl Message {
    /// With a header of serde's data model, between two processes of this binary.
    pub fn new<T: Serialize>(header: &T, tensors: Vec<Option<Vec<u8>>>) -> Result<Self> {
        Ok(Message { header: postcard::to_stdvec(header).map_err(Error::other)?, tensors })
    }

    /// The header that [`Message::new`] was given.
    pub fn header<T: DeserializeOwned>(&self) -> Result<T> {
        postcard::from_bytes(&self.header).map_err(|_| strange("a header that cannot be read"))
    }

    /// Writes it.
    pub fn send(&self, to: &mut impl Write) -> Result<()> {
        let (length, count) = (self.header.len() as u64, self.tensors.len() as u64);
        if length > LONGEST_HEADER || count > MOST_TENSORS {
            return Err(Error::other("a message's header is too long"));
        }
        let lengths = self.tensors.iter().map(|t| t.as_ref().map_or(MISSING, |bytes| bytes.len() as u64));
        for word in [MAGIC, length, count].into_iter().chain(lengths) {
            to.write_all(&word.to_ne_bytes())?;
        }
        to.write_all(&self.header)?;
        for tensor in self.tensors.iter().flatten() {
            to.write_all(tensor)?;
        }
        to.flush()
    }

    /// Reads what [`Message::send`] wrote.
    ///
    /// # Errors
    /// `UnexpectedEof` where the other side is gone, `InvalidData` where it writes something else.
    pub fn receive(from: &mut impl Read) -> Result<Self> {
        if word(from)? != MAGIC {
            return Err(strange("something that is no message"));
        }
        let (length, count) = (word(from)?, word(from)?);
        if length > LONGEST_HEADER || count > MOST_TENSORS {
            return Err(strange("a header that is too long"));
        }
        let lengths = (0..count).map(|_| word(from)).collect::<Result<Vec<u64>>>()?;
        let header = exactly(from, length)?;
        let tensor = |length| if length == MISSING { Ok(None) } else { exactly(from, length).map(Some) };
        Ok(Message { header, tensors: lengths.into_iter().map(tensor).collect::<Result<_>>()? })
    }
}

fn strange(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("{what} in the stream of messages"))
}

fn word(from: &mut impl Read) -> Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes).map(|()| u64::from_ne_bytes(bytes))
}

fn exactly(from: &mut impl Read, length: u64) -> Result<Vec<u8>> {
    // Grows as bytes come, so that a wrong length cannot exhaust memory at once.
    let mut bytes = Vec::new();
    from.by_ref().take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

//! Messages between the harness and its worker: a length, a header by postcard, then the tensors' bytes as they are.

use std::io::{Error, ErrorKind, Read, Result, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::device::{DeviceError, DeviceInfo};
use super::job::Job;

/// What the harness asks of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub job: Job,
}

/// What a worker says: `Device` or `Cannot` once, unasked, then one reply to each request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    Device(DeviceInfo),
    /// It has no device, and why.
    Cannot(String),
    /// The outputs follow.
    Done,
    Failed(DeviceError),
}

/// Starts every message: whatever else a library prints into the stream is noticed.
const MAGIC: u32 = 0x686f_6c64;

/// Headers are small, except that they may hold one compiled kernel.
const LONGEST_HEADER: u32 = 64 << 20;

/// Sends a header and tensors, of which some may be missing.
pub fn send<T: Serialize>(to: &mut impl Write, header: &T, tensors: &[Option<Vec<u8>>]) -> Result<()> {
    let lengths: Vec<Option<u64>> = tensors.iter().map(|t| t.as_ref().map(|t| t.len() as u64)).collect();
    let header = postcard::to_stdvec(&(header, lengths)).map_err(Error::other)?;
    let length = u32::try_from(header.len()).ok().filter(|&l| l <= LONGEST_HEADER);
    let length = length.ok_or_else(|| Error::other("a message's header is too long"))?;
    to.write_all(&MAGIC.to_le_bytes())?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&header)?;
    for tensor in tensors.iter().flatten() {
        to.write_all(tensor)?;
    }
    to.flush()
}

/// Receives what [`send`] sent. `UnexpectedEof` where the other side is gone.
pub fn receive<T: DeserializeOwned>(from: &mut impl Read) -> Result<(T, Vec<Option<Vec<u8>>>)> {
    let strange =
        |what: &str| Error::new(ErrorKind::InvalidData, format!("{what} in the stream of messages"));
    let mut word = [0; 4];
    from.read_exact(&mut word)?;
    if u32::from_le_bytes(word) != MAGIC {
        return Err(strange("something that is no message"));
    }
    from.read_exact(&mut word)?;
    let length = u32::from_le_bytes(word);
    if length > LONGEST_HEADER {
        return Err(strange("a header that is too long"));
    }
    let mut header = vec![0; length as usize];
    from.read_exact(&mut header)?;
    let (header, lengths): (T, Vec<Option<u64>>) =
        postcard::from_bytes(&header).map_err(|_| strange("a header that cannot be read"))?;
    let mut tensors = Vec::with_capacity(lengths.len());
    for length in lengths {
        let Some(length) = length else {
            tensors.push(None);
            continue;
        };
        // Grows as bytes come, so that a wrong length cannot exhaust memory at once.
        let mut tensor = Vec::new();
        from.by_ref().take(length).read_to_end(&mut tensor)?;
        if tensor.len() as u64 != length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        tensors.push(Some(tensor));
    }
    Ok((header, tensors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were_sent() {
        let tensors = [Some(vec![1u8, 2, 3]), None, Some(vec![]), Some(vec![9; 70_000])];
        let mut stream = Vec::new();
        send(&mut stream, &Reply::Cannot("no".to_owned()), &tensors).expect("a Vec takes all");
        send(&mut stream, &Reply::Done, &[]).expect("a Vec takes all");
        let mut from = stream.as_slice();
        let (reply, received) = receive::<Reply>(&mut from).expect("a message");
        assert!(matches!(reply, Reply::Cannot(reason) if reason == "no"));
        assert_eq!(received, tensors);
        assert!(matches!(receive::<Reply>(&mut from), Ok((Reply::Done, rest)) if rest.is_empty()));
        let end = receive::<Reply>(&mut from).expect_err("the stream ends");
        assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn noise_and_truncation_are_errors() {
        let mut stream = Vec::new();
        send(&mut stream, &Reply::Done, &[Some(vec![7; 100])]).expect("a Vec takes all");
        for length in 0..stream.len() {
            assert!(receive::<Reply>(&mut &stream[..length]).is_err(), "{length} bytes of {}", stream.len());
        }
        for at in 0..8 {
            let mut noisy = stream.clone();
            noisy[at] ^= 0xff;
            assert!(receive::<Reply>(&mut noisy.as_slice()).is_err(), "noise at {at}");
        }
    }
}

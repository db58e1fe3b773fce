//! What a kernel sees of a device's memory: buffers between guard zones, outputs poisoned.

use super::device::{Device, DeviceError};
use crate::kernel::launch::Result;

/// All bits set: a NaN in f64, f32, f16 and bf16 that no arithmetic produces, neither a GPU's nor a CPU's.
pub const POISON: u8 = 0xff;

/// A number of usual size in f64 and f32: what an earlier launch may have left.
const STALE: u8 = 0x40;

/// Around outputs: not what a kernel computes of the poison that it reads past the end of an input.
const FENCE: u8 = 0xa5;

/// Bytes before and after a buffer that must keep their pattern. A multiple of the alignment of device memory, so
/// that buffers start aligned. Wider than a warp's widest store.
const GUARD: usize = 1024;

/// What a buffer of so many bytes takes with its guard zones.
pub fn guarded(bytes: usize) -> usize {
    bytes + 2 * GUARD
}

/// Whether buffers have guard zones and outputs are poisoned. A sanitizer watches exact bounds and initialization
/// itself, and both would hide faults from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarding {
    On,
    Off,
}

/// A buffer in device memory.
#[derive(Debug)]
pub struct Buffer<'a> {
    allocation: u64,
    guard: usize,
    /// What the guard zones are filled with.
    fence: u8,
    len: usize,
    /// The tensor's.
    name: &'a str,
}

impl<'a> Buffer<'a> {
    /// Copies an input to the device. No byte of it may change.
    pub fn input(device: &mut dyn Device, guarding: Guarding, name: &'a str, bytes: &[u8]) -> Result<Self> {
        let buffer = Buffer::allocate(device, guarding, POISON, (name, bytes.len()))?;
        if buffer.guard > 0 {
            device.fill(buffer.allocation, POISON, buffer.guard)?;
            device.fill(buffer.address() + bytes.len() as u64, POISON, buffer.guard)?;
        }
        device.write(buffer.address(), bytes)?;
        Ok(buffer)
    }

    /// An output of so many bytes, nothing of it written yet.
    pub fn output(device: &mut dyn Device, guarding: Guarding, name: &'a str, len: usize) -> Result<Self> {
        let buffer = Buffer::allocate(device, guarding, FENCE, (name, len))?;
        if buffer.guard > 0 {
            device.fill(buffer.allocation, FENCE, len + 2 * buffer.guard)?;
            device.fill(buffer.address(), POISON, len)?;
        }
        Ok(buffer)
    }

    /// Leaves numbers from this byte on where poison was: a scan in chunks takes a NaN there for an overflow, which it knows how to
    /// do without, so that what was never written would not show.
    pub fn make_stale(&self, device: &mut dyn Device, from: usize) -> Result<()> {
        if self.guard == 0 || from >= self.len {
            return Ok(());
        }
        device.fill(self.address() + from as u64, STALE, self.len - from)
    }

    fn allocate(
        device: &mut dyn Device,
        guarding: Guarding,
        fence: u8,
        (name, len): (&'a str, usize),
    ) -> Result<Self> {
        let guard = if guarding == Guarding::On { GUARD } else { 0 };
        // A device gives no empty allocation.
        let allocation = device.allocate((len + 2 * guard).max(1))?;
        Ok(Buffer { allocation, guard, fence, len, name })
    }

    /// Where the kernel finds it.
    pub fn address(&self) -> u64 {
        self.allocation + self.guard as u64
    }

    /// Fails if a guard zone was written to, or a byte of the input.
    pub fn check_input(&self, device: &mut dyn Device, bytes: &[u8]) -> Result<()> {
        if self.guard == 0 {
            return Ok(());
        }
        let found = self.read(device)?;
        match found.iter().zip(bytes).position(|(found, written)| found != written) {
            Some(at) => Err(DeviceError::Fault(format!("changed its input `{}` at byte {at}", self.name))),
            None => Ok(()),
        }
    }

    /// The bytes of an output whose elements have `size` bytes; or what the kernel did to the memory around them,
    /// or left undone: `complete` asks for every element.
    pub fn check_output(&self, device: &mut dyn Device, size: usize, complete: bool) -> Result<Vec<u8>> {
        let bytes = self.read(device)?;
        if !complete || self.guard == 0 {
            return Ok(bytes);
        }
        let unwritten = |element: &[u8]| element.iter().all(|&byte| byte == POISON);
        let Some(first) = bytes.chunks(size).position(unwritten) else { return Ok(bytes) };
        let count = bytes.chunks(size).filter(|element| unwritten(element)).count();
        let (all, name) = (self.len / size, self.name);
        let what = format!("left {count} of {all} elements of `{name}` unwritten, the first at {first}");
        Err(DeviceError::Fault(what))
    }

    /// Whether nothing wrote around it; what is in it is nobody's business, and some of it may never have been written.
    pub fn check_guards(&self, device: &mut dyn Device) -> Result<()> {
        if self.guard == 0 { Ok(()) } else { self.read(device).map(drop) }
    }

    /// Its bytes, guard zones intact.
    fn read(&self, device: &mut dyn Device) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.len + 2 * self.guard];
        device.read(self.allocation, &mut bytes)?;
        let written = |zone: &[u8]| zone.iter().position(|&byte| byte != self.fence);
        if let Some(at) = written(&bytes[..self.guard]) {
            let (before, name) = (self.guard - at, self.name);
            return Err(DeviceError::Fault(format!("wrote {before} bytes before the start of `{name}`")));
        }
        if let Some(at) = written(&bytes[self.guard + self.len..]) {
            let what = format!("wrote past the end of `{}`, at byte {at} after it", self.name);
            return Err(DeviceError::Fault(what));
        }
        bytes.truncate(self.guard + self.len);
        bytes.drain(..self.guard);
        Ok(bytes)
    }
}

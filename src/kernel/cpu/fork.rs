//! Launches in a copy of this process, so that a kernel which crashes or never ends costs its own case and no more.
//!
//! A copy is made by `fork`, before its first launch, and serves one launch after the other. It shares one piece of memory
//! with this process, at the same address in both: there lie the order and the tensors, so that nothing is copied on the way.
//! Whatever else a kernel writes to is the copy's own.
//!
//! ```text
//! this process                      copy
//! buffers, guard zones, order       (the same memory)
//! one byte ═══════ socket ════════► runs the blocks
//!                  one byte ◄═══════ status, message
//! checks, judge
//! ```
//!
//! It needs no program to start, unlike the other workers ([`crate::kernel::worker`]): whatever links this library has it. It is
//! waited for as they are, and its end is told in the same words. What a kernel damaged in the copy itself must not meet
//! another case: after any fault, the next launch gets a new copy.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::io::{Error, ErrorKind, PipeReader, Read, Result, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rayon::prelude::*;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::call::{Build, Call};
use super::device::{LINE, stand_in};
use super::ffi;
use crate::kernel::launch::{Device, DeviceError, DeviceInfo, Launch};
use crate::kernel::worker::NoReply;
use crate::kernel::worker::limit;
use crate::kernel::worker::process::{how_it_ended, tail};
use crate::leftovers::process::Process;

/// Shared bytes that every copy has: an order, and the tensors of all but the largest launches. Only what is used takes
/// memory.
const USUAL: usize = 64 << 20;

/// Copies that wait for a launch. They end with this process.
static IDLE: Mutex<Vec<Fork>> = Mutex::new(Vec::new());

/// What lies at the start of the shared memory. The copy may be broken: nothing is believed of what it leaves here, and any
/// bytes are valid in what is read.
#[repr(C, align(32))]
struct Head {
    status: c_int,
    message: [u8; 512],
    order: Order,
}

struct Order {
    call: Call,
    /// In all, or as many as are listed.
    blocks: c_uint,
    listed: *const c_uint,
}

const HEAD: usize = size_of::<Head>().next_multiple_of(LINE);

/// Runs in the copy.
extern "C" fn obey(head: *mut c_void) {
    let head = head.cast::<Head>();
    // SAFETY: the shared memory, which the harness leaves alone until it has its answer.
    unsafe {
        let Order { call, blocks, listed } = &(*head).order;
        let message = &raw mut (*head).message;
        for i in 0..*blocks {
            let block = if listed.is_null() { i } else { *listed.add(i as usize) };
            (*head).status = call.block(block, message.cast::<c_char>(), (*message).len());
            if (*head).status != 0 {
                return;
            }
        }
    }
}

/// Memory that this process and one copy share.
struct Shared {
    start: *mut u8,
    len: usize,
}

// SAFETY: it belongs to whoever has the value.
unsafe impl Send for Shared {}

impl Shared {
    fn new(len: usize) -> Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        // SAFETY: new memory, at an address of the system's choice.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, flags)? };
        Ok(Shared { start: start.cast(), len })
    }

    /// Later copies are not to reach it.
    fn hide(&self) {
        #[cfg(target_os = "linux")]
        // SAFETY: its own memory. Where the system refuses, one copy's kernel could reach another's tensors.
        let _ =
            unsafe { rustix::mm::madvise(self.start.cast(), self.len, rustix::mm::Advice::LinuxDontFork) };
    }

    /// Where an address points to, if so many bytes are there, behind the order.
    fn at(&self, address: u64, len: usize) -> std::result::Result<*mut u8, DeviceError> {
        let offset = (address as usize).wrapping_sub(self.start as usize);
        let end = offset.checked_add(len).filter(|&end| end <= self.len && offset >= HEAD);
        // SAFETY: inside of this memory.
        end.map(|_| unsafe { self.start.add(offset) })
            .ok_or_else(|| DeviceError::Broken(format!("an illegal memory access at {address:#x}")))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: whoever has the value is the last to use the memory.
        let _ = unsafe { munmap(self.start.cast(), self.len) };
    }
}

/// A copy of this process. Killed when dropped.
struct Fork {
    process: Process,
    socket: UnixStream,
    errors: PipeReader,
    shared: Shared,
}

/// One that waits, if there is any. What somebody else has ended meanwhile is no fault of the next kernel.
fn idle() -> Option<Fork> {
    let next = || IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    std::iter::from_fn(next).find_map(|mut copy| matches!(copy.process.try_wait(), Ok(None)).then_some(copy))
}

/// Ends the copies that wait, and waits for them: a process that ends without it leaves that to the system.
pub fn end_workers() {
    let idle = std::mem::take(&mut *IDLE.lock().unwrap_or_else(PoisonError::into_inner));
    // Each takes a moment.
    idle.into_par_iter().for_each(drop);
}

impl Fork {
    fn start(bytes: usize) -> Result<Self> {
        let shared = Shared::new(bytes)?;
        let (socket, theirs) = UnixStream::pair()?;
        let (errors, written) = std::io::pipe()?;
        let process = Process::fork(|| {
            let head = shared.start.cast::<c_void>();
            // SAFETY: the copy runs nothing but `obey`, on its share of that memory.
            let id = unsafe { ffi::holdfast_fork(theirs.as_raw_fd(), written.as_raw_fd(), obey, head) };
            let id = u32::try_from(id).map_err(|_| Error::last_os_error());
            shared.hide();
            id
        })?;
        Ok(Fork { process, socket, errors, shared })
    }

    /// Has the blocks run.
    fn run(&mut self, order: Order, limit: Duration) -> std::result::Result<(), DeviceError> {
        let head = self.shared.start.cast::<Head>();
        // SAFETY: the copy waits.
        unsafe { head.write(Head { status: 0, message: [0; 512], order }) };
        let asked = self.socket.set_read_timeout(Some(limit)).and_then(|()| self.socket.write_all(&[1]));
        let socket = &mut self.socket;
        let answered = asked.map_or(Some(false), |()| {
            limit::of_its_own_time(&self.process, limit, || match socket.read_exact(&mut [0]) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
                read => Some(read.is_ok()),
            })
        });
        match answered {
            Some(true) => {}
            Some(false) => {
                return Err(NoReply::Died(how_it_ended(&mut self.process, || tail(&self.errors))).into());
            }
            None => return Err(NoReply::TimedOut(limit).into()),
        }
        // SAFETY: any bytes are valid there, and the copy waits again.
        let (status, message) = unsafe { ((*head).status, (*head).message) };
        if status == 0 { Ok(()) } else { Err(DeviceError::Fault(ffi::text(&message))) }
    }
}

/// The memory of a copy of this process, and the launches in it.
pub struct ForkedDevice {
    copy: Fork,
    build: Build,
    /// The blocks that run, where it is not all of them.
    only: Option<Vec<c_uint>>,
    limit: Duration,
    /// Bytes of the shared memory.
    used: usize,
}

impl ForkedDevice {
    /// With room for so many bytes in so many buffers.
    pub fn new(
        (bytes, buffers): (usize, usize),
        build: Build,
        only: Option<Vec<c_uint>>,
        limit: Duration,
    ) -> Result<Self> {
        let listed = only.as_ref().map_or(0, |only| size_of_val(only.as_slice()));
        let needed = HEAD + bytes + listed + (buffers + 1) * LINE;
        let idle = if needed > USUAL { None } else { idle() };
        let copy = idle.map_or_else(|| Fork::start(needed.max(USUAL)), Ok)?;
        Ok(ForkedDevice { copy, build, only, limit, used: HEAD })
    }

    /// Keeps the copy for the next launch, after one without a fault. One with more memory than usual would hold on to it.
    pub fn give_back(self) {
        if self.copy.shared.len <= USUAL {
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self.copy);
        }
    }
}

impl Device for ForkedDevice {
    fn info(&self) -> DeviceInfo {
        stand_in(self.copy.shared.len)
    }

    fn allocate(&mut self, bytes: usize) -> std::result::Result<u64, DeviceError> {
        let free = self.copy.shared.len - self.used;
        let taken = bytes.checked_next_multiple_of(LINE).filter(|&taken| taken <= free);
        let taken = taken.ok_or(DeviceError::OutOfMemory { needed: bytes as u64, free: free as u64 })?;
        let address = self.copy.shared.start as u64 + self.used as u64;
        self.used += taken;
        Ok(address)
    }

    fn free_all(&mut self) {
        self.used = HEAD;
    }

    fn fill(&mut self, address: u64, byte: u8, len: usize) -> std::result::Result<(), DeviceError> {
        let to = self.copy.shared.at(address, len)?;
        // SAFETY: so many bytes are there, and the copy waits or is gone.
        unsafe { to.write_bytes(byte, len) };
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> std::result::Result<(), DeviceError> {
        let to = self.copy.shared.at(address, bytes.len())?;
        // SAFETY: as above.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> std::result::Result<(), DeviceError> {
        let from = self.copy.shared.at(address, bytes.len())?;
        // SAFETY: as above.
        unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn run(&mut self, launch: &Launch) -> std::result::Result<(), DeviceError> {
        let call = Call::new(self.build, launch)?;
        let (blocks, listed) = match self.only.take() {
            None => (launch.blocks, ptr::null()),
            Some(only) => {
                let bytes: Vec<u8> = only.iter().flat_map(|block| block.to_ne_bytes()).collect();
                let address = self.allocate(bytes.len())?;
                self.write(address, &bytes)?;
                (only.len() as c_uint, address as usize as *const c_uint)
            }
        };
        self.copy.run(Order { call, blocks, listed }, self.limit)
    }
}

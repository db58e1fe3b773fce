//! A function of somebody else's that is timed beside the kernels: `kernels/bench/holdfast_peer.h` is its contract. It runs in the
//! worker process, which it may break without harm to anything else.

use std::ffi::{c_int, c_longlong, c_void};
use std::path::Path;

use super::device::{DeviceError, Launch, Params};
use super::timing::Opponent;
use crate::kernel::cpu::ffi;
use crate::kernel::launch::Result;
use crate::kernel::registry::Kernel;
use crate::problem::{Operand, Weights};

/// `HOLDFAST_PEER_VERSION` of the header.
const VERSION: c_int = 1;

/// What the function is called.
const SYMBOL: &str = "holdfast_peer_scan";

/// `HoldfastPeerScan` of the header.
#[repr(C)]
struct RawPeerScan {
    version: c_int,
    gpu: c_int,
    method: c_int,
    input: c_int,
    complex: c_int,
    variable_b: c_int,
    variable_c: c_int,
    delta_softplus: c_int,
    inputs: [*const c_void; 8],
    outputs: [*mut c_void; 2],
    sizes: [c_longlong; 5],
}

type Scan = unsafe extern "C" fn(*const RawPeerScan) -> c_int;

/// A loaded library.
pub struct Peer {
    library: libloading::Library,
}

impl Peer {
    /// Loads a library, which is trusted as much as the program itself is.
    ///
    /// # Errors
    /// There is none, or it lacks the function.
    pub fn load(path: &Path) -> Result<Self> {
        let fail = |error: libloading::Error| {
            DeviceError::Fault(format!("{} is no library with {SYMBOL}: {error}", path.display()))
        };
        // SAFETY: its constructors run; whoever names a library trusts it.
        let library = unsafe { libloading::Library::new(path) }.map_err(fail)?;
        // SAFETY: only looked up.
        unsafe { library.get::<Scan>(SYMBOL.as_bytes()) }.map_err(fail)?;
        Ok(Peer { library })
    }
}

impl Opponent for Peer {
    /// Calls the function in the place of a launch.
    fn compute(&self, launch: &Launch, gpu: bool) -> Result<()> {
        let (Kernel::Scan(which) | Kernel::ChunkSteps(which), Params::Scan(params)) =
            (launch.kernel, &launch.params)
        else {
            return Err(DeviceError::Fault("peers compute forward scans alone".to_owned()));
        };
        let given = &params.operands;
        let scan = RawPeerScan {
            version: VERSION,
            gpu: gpu.into(),
            method: which.method.id().into(),
            input: ffi::number(which.input),
            complex: (which.weights == Weights::Complex).into(),
            variable_b: (which.b == Operand::Variable).into(),
            variable_c: (which.c == Operand::Variable).into(),
            delta_softplus: given.delta_softplus,
            inputs: [given.u, given.delta, given.a, given.b, given.c, given.d, given.z, given.delta_bias],
            outputs: [params.out, params.last_state],
            sizes: [given.batch, given.dim, given.dstate, given.seqlen, given.groups],
        };
        // SAFETY: the symbol was there when the library was loaded; the header says what it is.
        let function = unsafe { self.library.get::<Scan>(SYMBOL.as_bytes()) };
        let function = function.map_err(|error| DeviceError::Fault(error.to_string()))?;
        // SAFETY: the tensors are as large as their sizes say, and live through the run.
        match unsafe { function(&scan) } {
            0 => Ok(()),
            1 => Err(DeviceError::Fault("the peer does not support this scan".to_owned())),
            status => Err(DeviceError::Fault(format!("the peer failed with status {status}"))),
        }
    }
}

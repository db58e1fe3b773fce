//! A launch as the kernels' C interface takes it.

use std::ffi::{c_char, c_int, c_uint};

use super::crash::Crash;
use super::ffi::{
    self, RawBackward, RawDense, RawDerivatives, RawDiscretize, RawInstantiation, RawMeasure, RawScan,
};
use crate::kernel::launch::{DeviceError, Launch, Params};
use crate::kernel::registry::{Kernel, Lanes};
use crate::problem::Weights;
use crate::promise::Tier;

/// Which copy of the kernels runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Build {
    /// As `kernels/faults/list.cuh` numbers it, in the copy with faults; none in the production kernels.
    pub fault: Option<c_int>,
    /// Of Ā and of B̄, relative; in the copy with faults only.
    pub perturbation: [f64; 2],
    /// The copy whose arithmetic is double.
    pub lifted: bool,
    /// The tier of the production kernels. Copies have the accurate one.
    pub tier: Tier,
    /// Of forward scans, where there is such a kernel.
    pub lanes: Lanes,
    /// Chunks that the production kernels' forward scans are asked for; 0 and 1 for none.
    pub chunks: usize,
    /// What runs in the place of all of them.
    pub crash: Option<Crash>,
}

/// What each block of a launch calls.
#[derive(Clone, Copy)]
pub enum Call {
    Scan { which: RawInstantiation, fault: c_int, params: RawScan },
    ChunkSteps { which: RawInstantiation, params: RawScan },
    Discretize { which: RawInstantiation, fault: c_int, params: RawDiscretize },
    Backward { which: RawInstantiation, params: RawBackward },
    Sums { input: c_int, params: RawBackward },
    Differentiate { method: c_int, complex: c_int, params: RawDerivatives },
    Dense { which: RawInstantiation, params: RawDense },
    DenseScan { which: RawInstantiation, params: RawScan },
    DenseBackward { which: RawInstantiation, params: RawBackward },
    Measure { operation: c_int, params: RawMeasure },
    Crash(Crash),
}

impl Call {
    /// # Errors
    /// The kernel takes other parameters, or is none of this build.
    pub fn new(build: Build, launch: &Launch) -> Result<Self, DeviceError> {
        let Build { fault, perturbation, lifted, crash, tier: _, lanes: _, chunks: _ } = build;
        let fault = fault.unwrap_or(-1);
        Ok(match (crash, launch.kernel, launch.params) {
            (Some(crash), ..) => Call::Crash(crash),
            (None, Kernel::Scan(which), Params::Scan(params)) => {
                let which = RawInstantiation::from(which).perturbed(perturbation);
                Call::Scan { which: if lifted { which.lifted() } else { which }, fault, params }
            }
            (None, Kernel::ChunkSteps(which), Params::Scan(params)) => {
                Call::ChunkSteps { which: which.into(), params }
            }
            (None, Kernel::Discretize { method, weights, tier }, Params::Discretize(params)) => {
                let which = RawInstantiation::of_elements(method, weights, tier);
                Call::Discretize { which: if lifted { which.lifted() } else { which }, fault, params }
            }
            (None, Kernel::Backward(which), Params::Backward(params)) => {
                let which = RawInstantiation::from(which);
                Call::Backward { which: if lifted { which.lifted() } else { which }, params }
            }
            (None, Kernel::Sums(input), Params::Backward(params)) => {
                Call::Sums { input: if lifted { ffi::LIFTED_SUMS } else { ffi::number(input) }, params }
            }
            (None, Kernel::Differentiate { method, weights }, Params::Differentiate(params)) => {
                let complex = (weights == Weights::Complex).into();
                Call::Differentiate { method: method.id().into(), complex, params }
            }
            (None, Kernel::Dense(which), Params::Dense(params)) => {
                let which = RawInstantiation::of_elements(which.method, which.weights, which.tier);
                Call::Dense { which, params }
            }
            (None, Kernel::DenseScan(which), Params::Scan(params)) => {
                Call::DenseScan { which: which.into(), params }
            }
            (None, Kernel::DenseBackward(which), Params::Backward(params)) => {
                Call::DenseBackward { which: which.into(), params }
            }
            (None, Kernel::Measure(operation), Params::Measure(params)) => {
                Call::Measure { operation: operation as c_int, params }
            }
            _ => return Err(DeviceError::Fault("the kernel takes other parameters".to_owned())),
        })
    }

    /// Runs one block on this thread: 0, or something else with a message in `text`.
    ///
    /// # Safety
    /// The parameters' addresses are those of buffers as large as their sizes say, and nothing else uses what this block
    /// writes. `text` has room for `size` characters.
    pub unsafe fn block(&self, block: c_uint, text: *mut c_char, size: usize) -> c_int {
        // SAFETY: as the caller says.
        unsafe {
            match self {
                Call::Scan { which, fault, params } => {
                    ffi::holdfast_scan(which, *fault, params, block, 1, text, size)
                }
                Call::ChunkSteps { which, params } => {
                    ffi::holdfast_chunk_steps(which, params, block, 1, text, size)
                }
                Call::Discretize { which, fault, params } => {
                    ffi::holdfast_discretize(which, *fault, params, block, 1, text, size)
                }
                Call::Backward { which, params } if which.lifted != 0 => {
                    ffi::holdfast_lifted_backward(which, params, block, 1, text, size)
                }
                Call::Backward { which, params } => {
                    ffi::holdfast_backward(which, params, block, 1, text, size)
                }
                Call::Sums { input, params } => {
                    ffi::holdfast_sum_gradients(*input, params, block, 1, text, size)
                }
                Call::Differentiate { method, complex, params } => {
                    ffi::holdfast_differentiate(*method, *complex, params, block, 1, text, size)
                }
                Call::Dense { which, params } => ffi::holdfast_dense(which, params, block, 1, text, size),
                Call::DenseScan { which, params } => {
                    ffi::holdfast_dense_scan(which, params, block, 1, text, size)
                }
                Call::DenseBackward { which, params } => {
                    ffi::holdfast_dense_backward(which, params, block, 1, text, size)
                }
                Call::Measure { operation, params } => {
                    ffi::holdfast_measure(*operation, params, block);
                    0
                }
                Call::Crash(crash) => ffi::holdfast_crash(*crash as c_int, block, text, size),
            }
        }
    }
}

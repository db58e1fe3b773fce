//! The production kernels on a framework's own tensors, where they lie.

use holdfast::kernel::borrowed::{self, Asked, Borrowed};
use holdfast::kernel::launch::Addresses;
use holdfast::kernel::{Instantiation, KernelError, Lanes};
use holdfast::problem::{Operand, Shape, Weights};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::recorded::value_error;
use crate::waiting;

/// A scan or its gradients, of one shape on one device, compiled.
#[pyclass(frozen, module = "holdfast._holdfast")]
pub struct Kernel {
    borrowed: Borrowed,
    on_cpu: bool,
}

fn raised(error: KernelError) -> PyErr {
    match error {
        KernelError::Unsupported { .. } => value_error(error),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

#[pymethods]
impl Kernel {
    /// `names`: method, tier and input type. `flags`: complex weights, variable B, variable C, a gate, softplus, gradients. `sizes`: batch,
    /// dim, dstate, seqlen, groups. `gpu`: its number, none for the CPU.
    #[new]
    fn new(
        py: Python<'_>,
        names: (String, String, String),
        flags: [bool; 6],
        sizes: [usize; 5],
        gpu: Option<i32>,
    ) -> PyResult<Self> {
        let (method, tier, input) = names;
        let [complex, variable_b, variable_c, gate, delta_softplus, backward] = flags;
        let [batch, dim, dstate, seqlen, groups] = sizes;
        let operand = |variable| if variable { Operand::Variable } else { Operand::Constant };
        let which = Instantiation {
            method: method.parse().map_err(value_error)?,
            weights: if complex { Weights::Complex } else { Weights::Real },
            input: input.parse().map_err(value_error)?,
            b: operand(variable_b),
            c: operand(variable_c),
            gate,
            tier: tier.parse().map_err(value_error)?,
            lanes: Lanes::Eight,
        };
        let which = if backward { which.in_tier(Default::default()) } else { which };
        let shape = Shape { batch, dim, dstate, seqlen, groups };
        let asked = Asked { which, shape, delta_softplus, backward };
        let borrowed = py.detach(|| Borrowed::new(&asked, gpu)).map_err(raised)?;
        Ok(Kernel { borrowed, on_cpu: gpu.is_none() })
    }

    /// Bytes that a launch needs beside its tensors.
    #[getter]
    fn workspace(&self) -> usize {
        self.borrowed.workspace()
    }

    /// Launches: on the CPU with other threads running meanwhile, on a GPU without waiting.
    fn launch(
        &self,
        py: Python<'_>,
        inputs: Vec<u64>,
        outputs: Vec<u64>,
        workspace: u64,
        stream: u64,
    ) -> PyResult<()> {
        let addresses = Addresses { inputs, outputs, workspace };
        // SAFETY: holdfast/_torch.py, which alone calls this, has checked the tensors, and holds them.
        let launch = || unsafe { self.borrowed.launch(&addresses, stream) };
        if self.on_cpu {
            waiting::begin()?;
            return py.detach(launch).map_err(raised);
        }
        launch().map_err(raised)
    }
}

/// Why no kernel can run on the GPU of this number; none where they can.
#[pyfunction]
pub fn missing(py: Python<'_>, gpu: i32) -> Option<String> {
    py.detach(|| borrowed::open(gpu).err()).map(|error| error.to_string())
}

//! The production kernels with something done to their gradients.

use holdfast::kernel::{Backend, Coefficients, CpuBackend, KernelError};
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, OutputGradients, Problem};
use holdfast::promise::Promise;
use holdfast::tensor::{Gradients, Tensors};

/// Runs a method's backward pass as that of `runs_as`, in f32 and in double, and does `to` to what came out in f32.
pub struct Altered {
    pub runs_as: fn(Method) -> Method,
    pub to: fn(&mut Gradients<f32>),
}

impl Backend for Altered {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn device(&self) -> String {
        String::new()
    }

    fn promise(&self) -> Promise {
        Promise::PRODUCTION
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>, KernelError> {
        CpuBackend::new().scan(method, problem)
    }

    fn coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Result<Coefficients, KernelError> {
        CpuBackend::new().coefficients(method, problem)
    }

    fn gradients(
        &self,
        method: Method,
        problem: &Problem,
        given: &OutputGradients,
    ) -> Option<Result<Gradients<f32>, KernelError>> {
        let run = CpuBackend::new().gradients((self.runs_as)(method), problem, given)?;
        Some(run.map(|mut gradients| {
            (self.to)(&mut gradients);
            gradients
        }))
    }

    fn lifted_gradients(
        &self,
        method: Method,
        problem: &Problem,
        given: &OutputGradients,
    ) -> Option<Result<Gradients<f64>, KernelError>> {
        CpuBackend::new().lifted_gradients((self.runs_as)(method), problem, given)
    }
}

//! The production kernels with something done to their gradients.

use holdfast::judge::explain::gradients::with_slopes_times;
use holdfast::kernel::{Backend, Coefficients, CpuBackend, KernelError};
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, OutputGradients, Problem};
use holdfast::promise::Promise;
use holdfast::tensor::{Gradients, Tensors};

/// Runs a method's backward pass as that of `runs_as`, in f32 and in double, or not at all, and does `to` to what came out in f32. What
/// is `planted`, a factor of one of the four derivatives less 1, adds to it what such a pass has beyond the right one.
pub struct Altered {
    pub runs_as: fn(Method) -> Option<Method>,
    pub to: fn(&mut Gradients<f32>),
    pub planted: Option<(usize, f64)>,
}

/// As the kernels have it.
pub const SOUND: Altered = Altered { runs_as: Some, to: |_| {}, planted: None };

pub const FOH_AS_ZOH: Altered =
    Altered { runs_as: |method| Some(if method == Method::Foh { Method::Zoh } else { method }), ..SOUND };

pub const WITHOUT_FOH: Altered =
    Altered { runs_as: |method| Some(method).filter(|&method| method != Method::Foh), ..SOUND };

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
        let Some(method) = (self.runs_as)(method) else {
            return Some(Err(KernelError::Unavailable("no such pass".to_owned())));
        };
        let run = CpuBackend::new().gradients(method, problem, given)?;
        Some(run.map(|mut gradients| {
            (self.to)(&mut gradients);
            if let Some((derivative, size)) = self.planted {
                let computed =
                    with_slopes_times(method.into(), problem, given, 1.0 + size).expect("gradients");
                let (right, wrong) = (&computed[0], &computed[1 + derivative]);
                for (name, tensor) in gradients.iter_mut() {
                    let more = wrong[name]
                        .values
                        .iter()
                        .zip(&right[name].values)
                        .map(|(wrong, right)| wrong - right);
                    let values = tensor.values.iter_mut().zip(more);
                    values.for_each(|(value, more)| *value = (f64::from(*value) + more) as f32);
                }
            }
            gradients
        }))
    }

    fn lifted_gradients(
        &self,
        method: Method,
        problem: &Problem,
        given: &OutputGradients,
    ) -> Option<Result<Gradients<f64>, KernelError>> {
        CpuBackend::new().lifted_gradients((self.runs_as)(method)?, problem, given)
    }
}

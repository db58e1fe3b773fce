//! Gradients on a GPU: against the truth, against the CPU's, and against themselves.

use rayon::prelude::*;

use super::{Finding, device_finding, mamba, output_gradients, same_bits};
use crate::kernel::cuda::CudaBackend;
use crate::kernel::{Backend, CpuBackend, ReferenceBackend};
use crate::method::Method;
use crate::problem::sweep;
use crate::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};
use crate::tensor::{GradientName, Gradients};
use crate::truth::gradient;

/// The largest error of a value that passes whatever the problem, over its size and the root of the tensor's mean square together, in
/// units of 2⁻²⁴: it finds kernels that are wrong on a GPU, and the fine gate is the CPU's. Where Δ, which softplus rounds, is
/// further off than a gradient tolerates, so is the plain f32 path: then twice its error passes.
const MOST: f64 = 128.0;

/// Every layout and storage type, a block that is not full, and a tile with a tail.
fn problems(input: Option<InputType>) -> Vec<(String, Problem)> {
    let mut problems = Vec::new();
    for weights in Weights::ALL {
        for input in InputType::ALL.into_iter().filter(|other| input.is_none_or(|input| input == *other)) {
            for b in Operand::ALL {
                for c in Operand::ALL {
                    for gate in [false, true] {
                        let shape = Shape { batch: 2, dim: 6, dstate: 5, seqlen: 37, groups: 2 };
                        let name = format!("{weights} {input} {b} B, {c} C, gate {gate}");
                        let problem =
                            mamba(&format!("gpu-check/backward/{name}"), shape, weights, input, (b, c), gate);
                        problems.push((name, problem));
                    }
                }
            }
        }
        let shape = Shape { batch: 2, dim: 17, dstate: 17, seqlen: 135, groups: 1 };
        let layout = (Operand::Variable, Operand::Variable);
        let name = format!("{weights} {shape}");
        let problem =
            mamba(&format!("gpu-check/backward/{name}"), shape, weights, InputType::F32, layout, true);
        problems.push((name, problem));
    }
    problems
}

/// The largest difference of a value from another over the other's size and the root of its tensor's mean square together, beyond
/// what storage rounds, and the tensor.
fn apart(got: &Gradients<f32>, want: &Gradients<f64>) -> (f64, GradientName) {
    let mut most = (0.0f64, GradientName::U);
    for (name, got, want) in got.zip(want) {
        let square: f64 = want.values.iter().map(|x| x * x).sum();
        let size = (square / want.values.len() as f64).sqrt();
        let rounded = match want.element {
            InputType::F32 => 0.0,
            InputType::F16 => 2f64.powi(-11),
            InputType::Bf16 => 2f64.powi(-8),
        };
        for (&got, &want) in got.values.iter().zip(&want.values) {
            // Both may be rounded, and not to the same value.
            let error = (f64::from(got) - want).abs() - 2.0 * rounded * want.abs() - 2f64.powi(-24) * rounded;
            let units =
                if error.is_nan() { f64::INFINITY } else { error / (size + want.abs()) * 2f64.powi(24) };
            if units > most.0 {
                most = (units, name);
            }
        }
    }
    if got.iter().count() == want.iter().count() { most } else { (f64::INFINITY, most.1) }
}

fn widened(gradients: &Gradients<f32>) -> Gradients<f64> {
    gradients.map(|_, tensor| tensor.with(tensor.values.iter().map(|&value| value.into()).collect()))
}

/// What a method's gradients of a problem are off.
struct Errors {
    truth: (f64, GradientName),
    cpu: f64,
    /// Those of the plain f32 path, off the truth.
    reference: f64,
}

fn errors(
    backend: &CudaBackend,
    method: Method,
    problem: &Problem,
    given: &OutputGradients,
) -> Result<Errors, String> {
    let run = |backend: &dyn Backend| match backend.gradients(method, problem, given) {
        Some(result) => result.map_err(|error| error.to_string()),
        None => Err(format!("{} has no backward pass", backend.name())),
    };
    let (got, on_cpu, reference) = (run(backend)?, run(&CpuBackend::new())?, run(&ReferenceBackend)?);
    let truth = gradient::solve(problem, given, &[method]).map_err(|error| error.to_string())?.remove(0);
    for _ in 0..9 {
        let again = run(backend)?;
        if !got.zip(&again).all(|(_, first, again)| same_bits(&first.values, &again.values)) {
            return Err("another run has other bits".to_owned());
        }
    }
    Ok(Errors {
        truth: apart(&got, &truth.tensors),
        cpu: apart(&got, &widened(&on_cpu)).0,
        reference: apart(&reference, &truth.tensors).0,
    })
}

/// Gradients of small problems, and derivatives of coefficients.
pub fn gradients(backend: &CudaBackend, input: Option<InputType>) -> Vec<Finding> {
    let problems = problems(input);
    let mut rows = vec![device_finding(backend)];
    for method in Method::ALL {
        let found: Vec<(&str, Result<Errors, String>)> = problems
            .par_iter()
            .map(|(name, problem)| {
                (name.as_str(), errors(backend, method, problem, &output_gradients(problem)))
            })
            .collect();
        let mut most = [0.0f64; 3];
        let mut trouble = Vec::new();
        for (name, outcome) in found {
            match outcome {
                Ok(Errors { truth: (truth, tensor), cpu, reference }) => {
                    most = [most[0].max(truth), most[1].max(cpu), most[2].max(reference)];
                    if truth.max(cpu) > MOST.max(2.0 * reference) {
                        let why = format!(
                            "{name}: {tensor} {truth:.1} units off the truth, {cpu:.1} off the CPU's"
                        );
                        trouble.push(format!("{why}, the plain f32 path {reference:.1}"));
                    }
                }
                Err(error) => trouble.push(format!("{name}: {error}")),
            }
        }
        let outcome = match trouble.first() {
            None => Ok(format!(
                "{} problems: at most {:.1} units of 2^-24 off the truth (the plain f32 path {:.1}), {:.1} off the CPU's; \
                 ten runs alike",
                problems.len(),
                most[0],
                most[2],
                most[1]
            )),
            Some(first) => Err(format!("{} of {} problems; {first}", trouble.len(), problems.len())),
        };
        rows.push(Finding::new(method.to_string(), outcome));
        rows.push(Finding::new(format!("{method}: derivatives"), derivatives(backend, method)));
    }
    rows
}

/// Those of every sweep on the GPU and on the CPU: they differ where their libraries' exponentials do, in double.
fn derivatives(backend: &CudaBackend, method: Method) -> Result<String, String> {
    let (mut values, mut equal, mut most) = (0, 0, 0.0f64);
    for sweep in sweep::all() {
        let problem = sweep.draw(1);
        let run = |backend: &dyn Backend| match backend.derivatives(method, &problem) {
            Some(result) => result.map_err(|error| error.to_string()),
            None => Err(format!("{} has no such kernel", backend.name())),
        };
        let (got, want) = (run(backend)?, run(&CpuBackend::new())?);
        let width = problem.weights.width();
        let pairs = [
            (got.a_bar, want.a_bar),
            (got.slope, want.slope),
            (got.h, want.h),
            (got.h_by_delta, want.h_by_delta),
            (got.h_by_a, want.h_by_a),
        ];
        for (got, want) in pairs {
            for (got, want) in got.chunks(width).zip(want.chunks(width)) {
                values += 1;
                if same_bits(got, want) {
                    equal += 1;
                    continue;
                }
                let norm = |x: &[f32]| x.iter().map(|&part| f64::from(part).powi(2)).sum::<f64>().sqrt();
                let apart: Vec<f32> = got.iter().zip(want).map(|(got, want)| got - want).collect();
                let units = norm(&apart) / norm(want) * 2f64.powi(24);
                most = if units.is_nan() { f64::INFINITY } else { most.max(units) };
            }
        }
    }
    let figure =
        format!("{equal} of {values} values equal in all bits, the others at most {most:.1} units apart");
    if most <= 4.0 && values > 0 { Ok(figure) } else { Err(figure) }
}

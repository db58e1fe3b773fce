//! Gradients on a GPU: against their bounds, as the CPU's are, and against themselves.

use rayon::prelude::*;

use super::kernels::coupled;
use super::{Finding, device_finding, mamba, output_gradients, same_bits};
use crate::case;
use crate::judge::budget::gradient::Pass;
use crate::kernel::cuda::CudaBackend;
use crate::kernel::{Backend, CpuBackend};
use crate::method::Method;
use crate::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights, sweep};
use crate::results::Verdict;
use crate::tensor::Gradients;

/// Every layout and storage type, a block that is not full, a tile with a tail, and scans with a dense A.
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
        // A matrix for each channel: several of a warp, one of several warps, and as much shared memory as there is.
        for (dstate, b, gate) in
            [(5, Operand::Variable, true), (16, Operand::Constant, false), (64, Operand::Constant, true)]
        {
            // The truth of a large one takes seconds a position.
            let [several, seqlen] = if dstate < 64 { [2, 7] } else { [1, 2] };
            let shape = Shape { batch: several, dim: several, dstate, seqlen, groups: 1 };
            let name = format!("{weights} dense {shape}");
            let seed = format!("gpu-check/backward/{name}");
            let problem = mamba(&seed, shape, weights, InputType::F32, (b, Operand::Variable), gate);
            problems.push((name, coupled(problem)));
        }
    }
    problems
}

/// The largest share of a bound that a method's gradients of a problem take, on the GPU and on the CPU. The bounds are those of
/// `verify --pass backward`.
fn shares(
    backend: &CudaBackend,
    method: Method,
    problem: &Problem,
    given: &OutputGradients,
) -> Result<[f64; 2], String> {
    let run = |backend: &dyn Backend| match backend.gradients(method, problem, given) {
        Some(result) => result.map_err(|error| error.to_string()),
        None => Err(format!("{} has no backward pass", backend.name())),
    };
    let (got, on_cpu) = (run(backend)?, run(&CpuBackend::new())?);
    for _ in 0..9 {
        let again = run(backend)?;
        if !got.zip(&again).all(|(_, first, again)| same_bits(&first.values, &again.values)) {
            return Err("another run has other bits".to_owned());
        }
    }
    let contract = &backend.promise().backward.ok_or("it promises no backward pass")?;
    let pass = Pass { form: method.into(), problem, given, contract };
    let share = |gradients: &Gradients<f32>| {
        let mut most = 0.0f64;
        for (name, tensor) in case::gradients(pass, gradients, false, &|| {}).tensors.iter() {
            if tensor.verdict != Verdict::Pass {
                return Err(format!("{name}: {} {}", tensor.verdict, tensor.reason));
            }
            most = tensor.worst.as_ref().map_or(most, |worst| most.max(worst.share));
        }
        Ok(most)
    };
    Ok([share(&got)?, share(&on_cpu)?])
}

/// Gradients of small problems, and derivatives of coefficients.
pub fn gradients(backend: &CudaBackend, input: Option<InputType>) -> Vec<Finding> {
    let problems = problems(input);
    let mut rows = vec![device_finding(backend)];
    for method in Method::ALL {
        let of = |(name, problem): &(String, Problem)| {
            let shares = shares(backend, method, problem, &output_gradients(problem));
            shares.map_err(|error| format!("{name}: {error}"))
        };
        let found: Result<Vec<[f64; 2]>, String> = problems.par_iter().map(of).collect();
        let outcome = found.map(|shares| {
            let most = |i: usize| shares.iter().fold(0.0, |most: f64, share| most.max(share[i]));
            let [gpu, cpu] = [0, 1].map(most);
            format!(
                "{} problems: at most {gpu:.3} of a bound, {cpu:.3} on the CPU; ten runs alike",
                problems.len()
            )
        });
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
                // Of infinities that are equal nothing is left.
                let difference = |(&got, &want): (&f32, &f32)| if got == want { 0.0 } else { got - want };
                let apart: Vec<f32> = got.iter().zip(want).map(difference).collect();
                let units = norm(&apart) / norm(want) * 2f64.powi(24);
                most = if units.is_nan() { f64::INFINITY } else { most.max(units) };
            }
        }
    }
    let figure =
        format!("{equal} of {values} values equal in all bits, the others at most {most:.1} units apart");
    if most <= 4.0 && values > 0 { Ok(figure) } else { Err(figure) }
}

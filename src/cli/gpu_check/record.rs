//! A recorded run of a whole layer, made by the GPU's own kernel: what `check --backend cuda` is timed on.

use std::collections::HashMap;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::{Args, Finding, MAMBA_1_4B, mamba};
use crate::kernel::Backend;
use crate::method::Method;
use crate::problem::{InputType, Operand, Problem, Shape, Weights};
use crate::tensor::TensorName;

/// Writes the run, as one of `method`.
pub fn record(backend: &dyn Backend, args: &Args, method: Method, path: &Path) -> Vec<Finding> {
    // The stand-in takes too long for all of it.
    let shape =
        if args.stand_in { Shape { batch: 1, dim: 96, seqlen: 512, ..MAMBA_1_4B } } else { MAMBA_1_4B };
    let layout = (Operand::Variable, Operand::Variable);
    let problem = mamba("gpu-check/record", shape, Weights::Real, InputType::F32, layout, true);
    vec![Finding::new(format!("record {method}, {shape}"), write(backend, &problem, method, path))]
}

fn write(backend: &dyn Backend, problem: &Problem, method: Method, path: &Path) -> Result<String, String> {
    let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
    let got = backend.scan(method, problem).map_err(|error| error.to_string())?;
    let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    for (name, values, _) in problem.inputs() {
        let Some(values) = values else { continue };
        let shape = match name {
            "u" | "delta" | "z" => vec![batch, dim, seqlen],
            "A" => vec![dim, dstate],
            "B" | "C" => vec![batch, groups, dstate, seqlen],
            _ => vec![dim],
        };
        tensors.push((name.to_owned(), shape, bytes(values)));
    }
    for (name, rest) in [(TensorName::Out, seqlen), (TensorName::LastState, dstate)] {
        tensors.push((format!("{name}.{method}"), vec![batch, dim, rest], bytes(&got[name].values)));
    }
    let mut views = Vec::with_capacity(tensors.len());
    for (name, shape, bytes) in &tensors {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes).map_err(|error| error.to_string())?;
        views.push((name, view));
    }
    let metadata = HashMap::from([
        ("delta_softplus".to_owned(), problem.delta_softplus.to_string()),
        ("device".to_owned(), backend.device()),
    ]);
    safetensors::serialize_to_file(views, Some(metadata), path).map_err(|error| error.to_string())?;
    let len = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    Ok(format!("{} MB", len / 1_000_000))
}

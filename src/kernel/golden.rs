//! Outputs recorded on real hardware: which cases, how they are written down, and how they are read again. A machine
//! without a GPU runs the same cases on the CPU and compares, so that a drift in the kernels shows there.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Backend;
use crate::hexfloat;
use crate::kernel::Result;
use crate::method::Method;
use crate::problem::conventions::INITIAL_STATE;
use crate::problem::plan::{self, Filter, Spec};
use crate::problem::{InputType, Problem, regime};
use crate::tensor::{Named, Tensors};

/// The seed of the recorded inputs.
pub const SEED: u64 = 1;

/// The file in a folder of goldens.
pub const FILE: &str = "scans.json";

/// Every recorded output of one device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Golden {
    pub provenance: Provenance,
    pub cases: Vec<GoldenCase>,
}

/// Where the numbers come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Device, driver, toolkit and architecture, in words.
    pub device: String,
    /// What the kernels were compiled with.
    pub flags: String,
    /// SHA-256 of the kernel sources that ran.
    pub kernel_source: String,
    pub holdfast: String,
    pub seed: u64,
    /// What records them again.
    pub command: String,
}

/// One method on one problem.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GoldenCase {
    /// [`Spec::id`]
    pub problem: String,
    pub method: String,
    /// SHA-256 of all input tensors: other inputs must not pass for a drift of the kernels.
    pub inputs: String,
    /// Hexadecimal floats, separated by spaces; beside the other fields, each under its name.
    #[serde(flatten)]
    pub tensors: Named<String>,
}

/// The problems that are recorded: small, and together every method, weight type, input type and layout of B and C,
/// with and without gate, skip, bias and softplus.
pub fn specs() -> Vec<Spec> {
    let regimes = ["short", "everything-on"].into_iter().filter_map(regime::find).collect();
    let mut specs = plan::plan(&Filter { regimes, inputs: InputType::ALL.to_vec(), ..Filter::default() });
    // Every layout in f32, and for the other types those where B and C differ from the last one's.
    specs.retain(|spec| spec.input == InputType::F32 || spec.b == spec.c);
    specs
}

pub fn record(backend: &dyn Backend, flags: String) -> Result<Golden> {
    let mut cases = Vec::new();
    for spec in specs() {
        let problem = spec.draw(SEED);
        for method in Method::ALL {
            let output = backend.scan(method, &problem)?;
            cases.push(GoldenCase {
                problem: spec.id(),
                method: method.to_string(),
                inputs: input_hash(&problem),
                tensors: output.map(|_, tensor| written(&tensor.values)),
            });
        }
    }
    let provenance = Provenance {
        device: backend.device(),
        flags,
        kernel_source: super::sources::production_hash().to_owned(),
        holdfast: env!("CARGO_PKG_VERSION").to_owned(),
        seed: SEED,
        command: "holdfast golden --out golden/h200".to_owned(),
    };
    Ok(Golden { provenance, cases })
}

impl GoldenCase {
    /// The recorded numbers; `None` where a text is no list of hexadecimal floats.
    pub fn output(&self, problem: &Problem) -> Option<Tensors<f32>> {
        self.tensors.iter().map(|(name, text)| Some((name, problem.tensor(name, read(text)?)))).collect()
    }
}

/// SHA-256 over every tensor's length and bits. Kernels take no initial state.
pub fn input_hash(problem: &Problem) -> String {
    let mut hash = Sha256::new();
    for (_, tensor, _) in problem.inputs().into_iter().filter(|(name, ..)| *name != INITIAL_STATE) {
        let values = tensor.map_or(&[][..], Vec::as_slice);
        hash.update((values.len() as u64).to_le_bytes());
        values.iter().for_each(|value| hash.update(value.to_bits().to_le_bytes()));
    }
    hexfloat::bytes(&hash.finalize())
}

fn written(values: &[f32]) -> String {
    values.iter().map(|&value| hexfloat::f32(value)).collect::<Vec<_>>().join(" ")
}

fn read(text: &str) -> Option<Vec<f32>> {
    text.split_whitespace().map(parse).collect()
}

/// What [`hexfloat::f32`] writes.
fn parse(text: &str) -> Option<f32> {
    let (sign, magnitude) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let magnitude = match magnitude {
        "nan" => f64::NAN,
        "inf" => f64::INFINITY,
        _ => {
            let (mantissa, exponent) = magnitude.strip_prefix("0x")?.split_once('p')?;
            let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
            let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
            let exponent =
                exponent.parse::<i32>().ok()?.checked_sub(4 * i32::try_from(fraction.len()).ok()?)?;
            // Exact: at most 53 bits, far inside the range of f64.
            digits as f64 * 2f64.powi(exponent)
        }
    };
    Some((sign * magnitude) as f32)
}

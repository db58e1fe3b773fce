//! The kernel sources, carried inside the binary: what NVRTC compiles is what this binary was built with.

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use super::CpuBackend;
use crate::hexfloat;

/// A source file of `kernels/` or of a folder in it: its name there, and its text.
pub struct Source {
    pub name: &'static str,
    pub text: &'static str,
}

/// Files of a folder, and after the semicolon those that the build has made.
macro_rules! sources {
    ($folder:literal: $($name:literal),* $(,)? $(; $($made:literal),*)?) => {
        &[
            $(sources!(@one $name, $folder, $name),)*
            $($(sources!(@one $made, env!("OUT_DIR"), "/", $made),)*)?
        ]
    };
    (@one $name:literal, $($path:expr),*) => {
        $crate::kernel::sources::Source { name: $name, text: include_str!(concat!($($path),*)) }
    };
}
pub(super) use sources;

/// The production programs.
const PROGRAMS: &[Source] = sources![
    "../../kernels/":
    "selective_scan.cu", "discretize.cu", "selective_scan_backward.cu", "derivatives.cu", "dense.cu",
    "dense_scan.cu", "dense_scan_backward.cu",
];

/// What they include.
const HEADERS: &[Source] = sources![
    "../../kernels/":
    "activation.cuh", "chunk_steps.cuh", "complex.cuh", "dense.cuh", "dense_scan.cuh", "dense_step.cuh", "derivatives.cuh", "discretize.cuh", "exponential.cuh",
    "fast.cuh", "gradient_sums.cuh", "hardware.cuh", "hooks.cuh", "lanes.cuh", "launch.cuh", "launch_backward.cuh",
    "launch_dense.cuh", "pair.cuh", "phi.cuh", "platform.cuh", "precise.cuh", "selective_scan.cuh", "selective_scan_backward.cuh", "step.cuh",
    "storage.cuh", "tile.cuh", "wide.cuh",
];

/// Programs that no user runs.
const TEST_PROGRAMS: &[Source] = sources!["../../kernels/": "faults/misbehave.cu"];

/// What is included as well where the build plants a fault in the production kernels.
const FAULT_HEADERS: &[Source] =
    sources!["../../kernels/": "faults/list.cuh", "faults/planted.cuh"; "faults/forms.cuh"];

/// The judge, which has no line in common with the kernels that it judges.
const JUDGE: &[Source] = sources!["../../kernels/": "judge/judge.cu"];
const JUDGE_HEADERS: &[Source] = sources![
    "../../kernels/":
    "judge/judge.cuh", "judge/numbers.cuh", "judge/params.h", "judge/platform.cuh", "judge/step.cuh",
    "judge/walk.cuh",
];

/// What asks the production sources for the functions that they are made of, and what judges those.
const FUNCTIONS: &[Source] = sources!["../../kernels/": "functions/evaluate.cu", "judge/functions.cu"];
const FUNCTION_HEADERS: &[Source] = sources![
    "../../kernels/": "functions/evaluate.cuh", "functions/params.h", "judge/functions.cuh";
    "scalar_functions.h"
];

/// Single operations and what a device can do at most, for benchmarks.
const BENCH: &[Source] = sources!["../../kernels/": "bench/bench.cu"];
const BENCH_HEADERS: &[Source] = sources!["../../kernels/": "bench/operations.cuh", "bench/params.h", "functions/evaluate.cuh"; "scalar_functions.h"];

/// The program of that name.
pub fn program(name: &str) -> Option<&'static Source> {
    PROGRAMS
        .iter()
        .chain(TEST_PROGRAMS)
        .chain(JUDGE)
        .chain(FUNCTIONS)
        .chain(BENCH)
        .find(|source| source.name == name)
}

/// The production programs and what they include: every source that results are recorded with.
pub fn production() -> impl Iterator<Item = &'static Source> {
    PROGRAMS.iter().chain(HEADERS)
}

/// Every file that a program of this build includes.
pub fn headers(program: &Source) -> impl Iterator<Item = &'static Source> {
    let planted = CpuBackend::planted_fault().map_or(&[] as &[Source], |_| FAULT_HEADERS);
    let is_one_of = |programs: &[Source]| programs.iter().any(|one| one.name == program.name);
    let more = match () {
        () if is_one_of(FUNCTIONS) => FUNCTION_HEADERS,
        () if is_one_of(BENCH) => BENCH_HEADERS,
        () => &[],
    };
    let of_judge = program.name.starts_with("judge/");
    let (headers, planted) = if of_judge { (JUDGE_HEADERS, &[] as &[Source]) } else { (HEADERS, planted) };
    headers.iter().chain(planted).chain(more)
}

/// SHA-256 over a program and every header: names, lengths and texts.
pub fn hash(program: &'static Source) -> [u8; 32] {
    hash_of(std::iter::once(program).chain(headers(program)))
}

/// SHA-256, in hex, over the sources of the production kernels: what results are recorded with.
pub fn production_hash() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| hexfloat::bytes(&hash_of(production())))
}

/// SHA-256, in hex, over the production sources and what asks them for their functions.
pub fn functions_hash() -> String {
    let asking =
        FUNCTIONS.iter().chain(FUNCTION_HEADERS).filter(|source| source.name.starts_with("functions/"));
    hexfloat::bytes(&hash_of(production().chain(asking)))
}

/// SHA-256 over sources, by name, length and text, in the order given.
pub fn hash_of<'a>(sources: impl Iterator<Item = &'a Source>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for source in sources {
        hash.update(source.name);
        hash.update([0]);
        hash.update((source.text.len() as u64).to_le_bytes());
        hash.update(source.text);
    }
    hash.finalize().into()
}

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

macro_rules! sources {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$($crate::kernel::sources::Source { name: $name, text: include_str!(concat!($folder, $name)) }),*]
    };
}
pub(super) use sources;

/// The production programs.
const PROGRAMS: &[Source] = sources!["../../kernels/": "selective_scan.cu", "discretize.cu"];

/// What they include.
const HEADERS: &[Source] = sources![
    "../../kernels/":
    "complex.cuh",
    "discretize.cuh",
    "exponential.cuh",
    "hooks.cuh",
    "launch.cuh",
    "pair.cuh",
    "phi.cuh",
    "platform.cuh",
    "precise.cuh",
    "scan.cuh",
    "selective_scan.cuh",
    "storage.cuh",
];

/// Programs that no user runs.
const TEST_PROGRAMS: &[Source] = sources!["../../kernels/": "faults/misbehave.cu"];

/// What is included as well where the build plants a fault in the production kernels.
const FAULT_HEADERS: &[Source] = sources!["../../kernels/": "faults/list.cuh", "faults/planted.cuh"];

/// The program of that name.
pub fn program(name: &str) -> Option<&'static Source> {
    PROGRAMS.iter().chain(TEST_PROGRAMS).find(|source| source.name == name)
}

/// Every file that a program of this build includes.
pub fn headers() -> impl Iterator<Item = &'static Source> {
    let planted = CpuBackend::planted_fault().map_or(&[] as &[Source], |_| FAULT_HEADERS);
    HEADERS.iter().chain(planted)
}

/// SHA-256 over a program and every header: names, lengths and texts.
pub fn hash(program: &'static Source) -> [u8; 32] {
    hash_of(std::iter::once(program).chain(headers()))
}

/// SHA-256, in hex, over the sources of the production kernels: what results are recorded with.
pub fn production_hash() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| hexfloat::bytes(&hash_of(PROGRAMS.iter().chain(HEADERS))))
}

fn hash_of<'a>(sources: impl Iterator<Item = &'a Source>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for source in sources {
        hash.update(source.name);
        hash.update([0]);
        hash.update((source.text.len() as u64).to_le_bytes());
        hash.update(source.text);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names(sources: &[Source]) -> BTreeSet<String> {
        sources.iter().map(|source| source.name.to_owned()).collect()
    }

    /// The hash covers all of the folder itself and nothing below it: what is renamed or reworded in `host/`,
    /// `faults/` or `foreign/` leaves it as it is.
    #[test]
    fn the_production_sources_are_the_files_of_the_folder() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels");
        let entries = std::fs::read_dir(folder).expect("the kernels are there").map(|entry| {
            let name = entry.expect("an entry").file_name();
            name.into_string().expect("UTF-8")
        });
        let (programs, others): (BTreeSet<String>, BTreeSet<String>) = entries
            .filter(|name| name.ends_with(".cu") || name.ends_with(".cuh"))
            .partition(|name| name.ends_with(".cu"));
        assert_eq!(names(PROGRAMS), programs);
        assert_eq!(names(HEADERS), others);
    }

    /// The rest is reached at two places: through the seam for faults, and for a compiler that is not CUDA's.
    #[test]
    fn production_sources_include_production_sources_and_know_no_fault() {
        let mut below = BTreeSet::new();
        for source in PROGRAMS.iter().chain(HEADERS) {
            for line in source.text.lines() {
                let Some(included) = line.strip_prefix("#include \"") else { continue };
                let included = included.trim_end_matches('"');
                if included.contains('/') {
                    below.insert((source.name, included));
                } else {
                    assert!(names(HEADERS).contains(included), "{included}");
                }
            }
            let text = source.text.to_lowercase();
            assert!(source.name == "hooks.cuh" || !text.contains("fault"), "{:?}", source.name);
        }
        let expected = [("hooks.cuh", "faults/planted.cuh"), ("platform.cuh", "host/cuda_host.h")];
        assert_eq!(below, BTreeSet::from(expected));
    }

    #[test]
    fn every_source_counts_by_name_and_text() {
        let hash = |name: &'static str, text: &'static str| hash_of([Source { name, text }].iter());
        let sources = [("a", "b"), ("ab", ""), ("a", "c"), ("c", "b"), ("a", "b ")];
        let hashes: BTreeSet<[u8; 32]> = sources.into_iter().map(|(name, text)| hash(name, text)).collect();
        assert_eq!(hashes.len(), sources.len());
        assert_eq!(production_hash().len(), 64);
    }
}

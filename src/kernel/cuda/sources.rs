//! The kernel sources, carried inside the binary: what NVRTC compiles is what this binary was built with.

use std::ffi::CStr;

use sha2::{Digest, Sha256};

/// A source file of `kernels/`: its name there, and its text.
pub struct Source {
    pub name: &'static CStr,
    pub text: &'static str,
}

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        &[$(Source {
            name: match CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            },
            text: include_str!(concat!("../../../kernels/", $name)),
        }),*]
    };
}

/// What a program starts from.
pub const PROGRAMS: &[Source] = sources!["selective_scan.cu", "discretize.cu", "misbehave.cu"];

/// What programs include.
pub const HEADERS: &[Source] = sources![
    "complex.cuh",
    "discretize.cuh",
    "exponential.cuh",
    "faults.cuh",
    "launch.cuh",
    "pair.cuh",
    "phi.cuh",
    "planted.cuh",
    "platform.cuh",
    "precise.cuh",
    "scan.cuh",
    "selective_scan.cuh",
    "storage.cuh",
];

/// The program of that name.
pub fn program(name: &str) -> Option<&'static Source> {
    PROGRAMS.iter().find(|source| source.name.to_bytes() == name.as_bytes())
}

/// SHA-256 over a program and every header: names, lengths and texts.
pub fn hash(program: &Source) -> [u8; 32] {
    let mut hash = Sha256::new();
    for source in std::iter::once(program).chain(HEADERS) {
        hash.update(source.name.to_bytes_with_nul());
        hash.update((source.text.len() as u64).to_le_bytes());
        hash.update(source.text);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_of_the_folder_is_carried() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels");
        for entry in std::fs::read_dir(folder).expect("the kernels are there") {
            let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
            let of = |sources: &[Source]| sources.iter().any(|s| s.name.to_bytes() == name.as_bytes());
            if name.ends_with(".cuh") {
                assert!(of(HEADERS), "{name} is not in HEADERS");
            } else if name.ends_with(".cu") {
                assert!(of(PROGRAMS), "{name} is not in PROGRAMS");
            }
        }
    }
}

//! Promise: the binary carries the kernels' sources, and results are recorded with a hash of all that runs in production
//! and of nothing else.

use std::collections::BTreeSet;

use holdfast::kernel::production_hash;
use holdfast::kernel::sources::{Source, hash_of, production};

fn names() -> BTreeSet<String> {
    production().map(|source| source.name.to_owned()).collect()
}

/// The hash covers all of the folder itself and nothing below it: what is renamed or reworded in `host/`, `faults/` or
/// `foreign/` leaves it as it is.
#[test]
fn the_production_sources_are_the_files_of_the_folder() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels");
    let entries = std::fs::read_dir(folder).expect("the kernels are there").map(|entry| {
        let name = entry.expect("an entry").file_name();
        name.into_string().expect("UTF-8")
    });
    let sources = entries.filter(|name| name.ends_with(".cu") || name.ends_with(".cuh"));
    assert_eq!(names(), sources.collect());
}

/// The rest is reached at two places: through the seam for faults, and for a compiler that is not CUDA's.
#[test]
fn production_sources_include_production_sources_and_know_no_fault() {
    let mut below = BTreeSet::new();
    for source in production() {
        for line in source.text.lines() {
            let Some(included) = line.strip_prefix("#include \"") else { continue };
            let included = included.trim_end_matches('"');
            if included.contains('/') {
                below.insert((source.name, included));
            } else {
                assert!(included.ends_with(".cuh") && names().contains(included), "{included}");
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

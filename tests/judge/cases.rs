//! Tables of cases: one test walks all of them and names at the end those that failed. A test for each would be a function for
//! each, which takes long to compile.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Tries every case, also after one has failed.
pub fn each<T: Debug>(cases: impl IntoIterator<Item = T>, test: impl Fn(T)) {
    let mut failed = Vec::new();
    for (at, case) in cases.into_iter().enumerate() {
        let name: String = format!("{at}: {case:?}").chars().take(200).collect();
        if catch_unwind(AssertUnwindSafe(|| test(case))).is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "these cases failed, as said above:\n{}", failed.join("\n"));
}

/// Each of these with each of those.
pub fn crossed<A: Clone, B: Clone>(
    these: impl IntoIterator<Item = A>,
    those: impl IntoIterator<Item = B>,
) -> Vec<(A, B)> {
    let those: Vec<B> = those.into_iter().collect();
    these
        .into_iter()
        .flat_map(|a| those.iter().map(move |b| (a.clone(), b.clone())).collect::<Vec<_>>())
        .collect()
}

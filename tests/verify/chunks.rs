//! Promise: a forward scan whose sequence is in chunks keeps the bounds of one that is not.

use std::collections::BTreeSet;

use holdfast::judge::invariants::Invariant;
use holdfast::kernel::CpuBackend;
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::regime;
use holdfast::promise::Tier;
use holdfast::results::Verdict;
use holdfast::verify::{Passes, Request};

use crate::support::run::{in_one_layout, verify};

/// Chunks begin at multiples of so many positions.
const SHORTEST: usize = 64;

fn passes_in_chunks(tier: Tier, chunks: usize, filter: Filter) {
    let long = || regime::all().iter().filter(|regime| regime.recipe.shape.seqlen > SHORTEST);
    let filter = Filter { regimes: long().collect(), ..filter };
    let request = Request { passes: Passes::Forward, filter, sensitivity: false, ..Request::everything(1) };
    let results = verify(&request, &CpuBackend::in_tier(tier).with_chunks(chunks));
    let failing = results.cases.iter().filter(|case| case.verdict != Verdict::Pass);
    let wrong: Vec<&str> = failing.map(|case| case.id.as_str()).collect();
    assert!(wrong.is_empty(), "{tier}, {chunks} chunks: {wrong:#?}");
    let tried: BTreeSet<&str> = results.cases.iter().map(|case| &*case.regime).collect();
    assert_eq!(tried.len(), long().count(), "{tier}");
}

/// What a chunk begins with is the same whatever is stored, and however B and C are: one of each.
#[test]
fn every_regime_passes_in_chunks() {
    passes_in_chunks(Tier::Accurate, 7, in_one_layout());
    passes_in_chunks(Tier::Fast, 3, in_one_layout());
}

#[test]
#[ignore = "`cargo test` tries one layout of each regime: .ci/long"]
fn every_case_passes_in_chunks() {
    passes_in_chunks(Tier::Accurate, 7, Filter::default());
}

/// A NaN sends its channel's block through the whole sequence at once, and what lies ahead of it is rounded as without chunks: that law
/// asks for the same bits there. One method that scans forward, and the one that scans both ways: the formulas have no part in it.
#[test]
fn every_law_but_that_of_nan_holds_in_chunks() {
    let (methods, everything) = (vec![Method::Foh, Method::Poly], Request::everything(1));
    let request = Request { passes: Passes::Forward, invariants_only: true, methods, ..everything };
    let results = verify(&request, &CpuBackend::new().with_chunks(7));
    let wrong: Vec<String> = results
        .invariants
        .iter()
        .filter(|law| law.verdict != Verdict::Pass && law.name != Invariant::NanInput.name())
        .map(|law| law.id())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(results.invariants.len() > 80, "{} laws", results.invariants.len());
}

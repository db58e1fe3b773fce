//! Promise: a forward scan whose sequence is in chunks keeps the bounds of one that is not.

use holdfast::judge::invariants::Invariant;
use holdfast::kernel::CpuBackend;
use holdfast::problem::plan::Filter;
use holdfast::problem::regime;
use holdfast::promise::Tier;
use holdfast::results::Verdict;
use holdfast::verify::{Passes, Request};

use crate::support::run::verify;

/// Chunks begin at multiples of so many positions.
const SHORTEST: usize = 64;

#[test]
fn every_regime_passes_in_chunks() {
    let long = regime::all().iter().filter(|regime| regime.recipe.shape.seqlen > SHORTEST);
    let filter = Filter { regimes: long.collect(), ..Filter::default() };
    let request = Request { passes: Passes::Forward, filter, sensitivity: false, ..Request::everything(1) };
    for (tier, chunks) in [(Tier::Accurate, 7), (Tier::Fast, 3)] {
        let results = verify(&request, &CpuBackend::in_tier(tier).with_chunks(chunks));
        let wrong: Vec<&str> = results
            .cases
            .iter()
            .filter(|case| case.verdict != Verdict::Pass)
            .map(|case| case.id.as_str())
            .collect();
        assert!(wrong.is_empty(), "{tier}, {chunks} chunks: {wrong:#?}");
        assert!(results.cases.len() > 900, "{} cases", results.cases.len());
    }
}

/// A NaN sends its channel's block through the whole sequence at once, and what lies ahead of it is rounded as without chunks: that law
/// asks for the same bits there.
#[test]
fn every_law_but_that_of_nan_holds_in_chunks() {
    let request = Request { passes: Passes::Forward, invariants_only: true, ..Request::everything(1) };
    let results = verify(&request, &CpuBackend::new().with_chunks(7));
    let wrong: Vec<String> = results
        .invariants
        .iter()
        .filter(|law| law.verdict != Verdict::Pass && law.name != Invariant::NanInput.name())
        .map(|law| law.id())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(results.invariants.len() > 200, "{} laws", results.invariants.len());
}

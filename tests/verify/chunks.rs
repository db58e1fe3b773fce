//! Promise: a forward scan whose sequence is in chunks keeps the bounds of one that is not.

use std::collections::BTreeSet;

use holdfast::judge::invariants::Invariant;
use holdfast::kernel::CpuBackend;
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{InputType, Operand, regime};
use holdfast::promise::Tier;
use holdfast::results::Verdict;
use holdfast::verify::{Passes, Request};

use crate::support::run::verify;

/// Chunks begin at multiples of so many positions.
const SHORTEST: usize = 64;

#[test]
fn every_regime_passes_in_chunks() {
    let long = || regime::all().iter().filter(|regime| regime.recipe.shape.seqlen > SHORTEST);
    // What a chunk begins with is the same whatever is stored, and however B and C are: the fast tier has one of each.
    let (f32, variable) = (vec![InputType::F32], vec![Operand::Variable]);
    let of_one = Filter { inputs: f32, b: variable.clone(), c: variable, ..Filter::default() };
    for (tier, chunks, filter) in [(Tier::Accurate, 7, Filter::default()), (Tier::Fast, 3, of_one)] {
        let filter = Filter { regimes: long().collect(), ..filter };
        let everything = Request::everything(1);
        let request = Request { passes: Passes::Forward, filter, sensitivity: false, ..everything };
        let results = verify(&request, &CpuBackend::in_tier(tier).with_chunks(chunks));
        let wrong: Vec<&str> = results
            .cases
            .iter()
            .filter(|case| case.verdict != Verdict::Pass)
            .map(|case| case.id.as_str())
            .collect();
        assert!(wrong.is_empty(), "{tier}, {chunks} chunks: {wrong:#?}");
        let tried: BTreeSet<&str> = results.cases.iter().map(|case| &*case.regime).collect();
        assert_eq!(tried.len(), long().count(), "{tier}");
    }
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

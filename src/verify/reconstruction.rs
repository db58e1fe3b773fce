//! What the methods of a foreign header compute, for those that fail: one cause for a method and a weight type.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::judge::lost_digits;
use crate::judge::reconstruct::{self, Reconstruction};
use crate::judge::scan;
use crate::kernel::Backend;
use crate::method::Method;
use crate::problem::{Operand, Weights};
use crate::results::{CaseResult, CoefficientResult, Diagnosis, Verdict, explained};

/// Puts what a backend's source is found to compute in the place of what the explained cases look like, and beside it where
/// they lose digits. Nothing changes where the backend cannot be asked, or where its formulas are right.
pub fn fill(backend: &dyn Backend, cases: &mut [CaseResult], sweeps: &mut [CoefficientResult]) {
    let mut failing: Vec<(Method, Weights)> = cases
        .iter()
        .filter(|case| case.verdict == Verdict::Fail && case.reason.is_empty())
        .filter_map(|case| Some((case.method.method()?, case.weights)))
        .chain(
            sweeps
                .iter()
                .filter(|sweep| sweep.verdict == Verdict::Fail)
                .map(|sweep| (sweep.method, sweep.weights)),
        )
        .collect();
    failing.sort_unstable();
    failing.dedup();
    let found: BTreeMap<(Method, Weights), Diagnosis> = failing
        .into_par_iter()
        .filter_map(|(method, weights)| {
            Some(((method, weights), identify(backend, method, weights)?.diagnosis()))
        })
        .collect();
    for at in explained::chosen(cases) {
        let case = &mut cases[at];
        let found = case.method.method().and_then(|method| found.get(&(method, case.weights)));
        let Some(found) = found else { continue };
        let said = |name| {
            let known = &case.tensors[name].diagnosis;
            // What is lost in single alone is no less true for what else there is.
            let rounding = known.iter().find(|one| one.name == lost_digits::NAME);
            rounding.map_or_else(
                || found.clone(),
                |lost| Diagnosis { what: format!("{}; {}", lost.what, found.what), ..lost.clone() },
            )
        };
        let diagnoses = scan::failing(case).into_iter().map(|name| (name, vec![said(name)])).collect();
        scan::diagnosed(case, diagnoses);
    }
    for sweep in sweeps.iter_mut().filter(|sweep| sweep.verdict == Verdict::Fail) {
        if let Some(diagnosis) = found.get(&(sweep.method, sweep.weights)) {
            sweep.diagnosis = vec![diagnosis.clone()];
        }
    }
}

/// With variable B, and where nothing is wrong with that, with constant B.
fn identify(backend: &dyn Backend, method: Method, weights: Weights) -> Option<Reconstruction> {
    [Operand::Variable, Operand::Constant].into_iter().find_map(|b| {
        let evaluate = |elements: &_| backend.probed(method, b, elements)?.ok();
        let mut found = reconstruct::identify(method, weights, &evaluate)?;
        if b == Operand::Constant {
            found.scope = "where B is constant, ";
        }
        Some(found)
    })
}

//! What is known of a problem, whichever kernel is judged on it: its truth, the bounds of a promise, and what each fault
//! model makes of it. A single run asks for most of it once and keeps nothing. Several runs in one process can share it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::judge::budget::{self, Budget};
use crate::judge::diagnose::Models;
use crate::method::Method;
use crate::problem::Problem;
use crate::promise::Contract;
use crate::truth::TruthError;
use crate::truth::scan::{ScanTruth, solve};

/// What earlier runs found out, if it is to be kept.
#[derive(Default)]
pub struct Known {
    kept: Option<Mutex<HashMap<String, Facts>>>,
}

/// Of one problem.
#[derive(Default)]
struct Facts {
    truths: BTreeMap<Method, Arc<ScanTruth>>,
    budgets: Vec<(Method, Contract, Arc<Budget>)>,
    models: BTreeMap<Method, Arc<Models>>,
}

impl Known {
    /// Keeps everything that it is asked for.
    pub fn keeping() -> Self {
        Known { kept: Some(Mutex::default()) }
    }

    pub fn of<'a>(&'a self, problem: &'a Problem) -> KnownProblem<'a> {
        let key = || format!("{} {:?}", problem.fingerprint(), problem.judged_channels);
        KnownProblem { problem, kept: self.kept.as_ref().map(|kept| (kept, key())) }
    }
}

/// What is known of one problem.
pub struct KnownProblem<'a> {
    problem: &'a Problem,
    kept: Option<(&'a Mutex<HashMap<String, Facts>>, String)>,
}

impl KnownProblem<'_> {
    /// # Errors
    /// As [`solve`].
    pub fn truths(&self, methods: &[Method]) -> Result<Vec<Arc<ScanTruth>>, TruthError> {
        let kept = self.look(|facts| facts.truths.clone()).unwrap_or_default();
        let missing: Vec<Method> = methods.iter().copied().filter(|m| !kept.contains_key(m)).collect();
        let solved = if missing.is_empty() { Vec::new() } else { solve(self.problem, &missing)? };
        let mut solved: BTreeMap<Method, Arc<ScanTruth>> =
            solved.into_iter().map(|truth| (truth.method, Arc::new(truth))).collect();
        self.look(|facts| facts.truths.extend(solved.clone()));
        solved.extend(kept);
        Ok(methods.iter().filter_map(|method| solved.get(method).cloned()).collect())
    }

    pub fn budget(&self, method: Method, contract: &Contract) -> Arc<Budget> {
        let same = |kept: &&(Method, Contract, _)| (kept.0, &kept.1) == (method, contract);
        let kept = self.look(|facts| facts.budgets.iter().find(same).map(|kept| kept.2.clone()));
        kept.flatten().unwrap_or_else(|| {
            let budget = Arc::new(budget::scan(method, self.problem, contract));
            self.look(|facts| facts.budgets.push((method, *contract, budget.clone())));
            budget
        })
    }

    pub fn models(&self, method: Method) -> Arc<Models> {
        let kept = self.look(|facts| facts.models.get(&method).cloned());
        kept.flatten().unwrap_or_else(|| {
            let models = Arc::new(Models::compute(method, self.problem));
            self.look(|facts| facts.models.insert(method, models.clone()));
            models
        })
    }

    /// Looks at what is kept of the problem, or adds to it. Nothing is computed meanwhile: a thread that waits for other
    /// threads' work may be given a piece that looks here as well.
    fn look<T>(&self, at: impl FnOnce(&mut Facts) -> T) -> Option<T> {
        let (kept, key) = self.kept.as_ref()?;
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        Some(at(kept.entry(key.clone()).or_default()))
    }
}

//! Facts that are known of a problem, whichever kernel is judged on it: its truth, the bounds of a promise, and what copies of the kernels
//! return that several backends have in common. A single run keeps them as long as the problem is at hand. Several runs in one process
//! can share them.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use crate::judge::budget::{self, Budget};
use crate::kernel::{Backend, CpuBackend, KernelError, ReferenceBackend};
use crate::method::Method;
use crate::problem::Problem;
use crate::promise::Contract;
use crate::tensor::Tensors;
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
    repeats: BTreeMap<Method, Arc<Vec<f64>>>,
    budgets: Vec<(Method, Contract, Arc<Budget>)>,
    /// By whether A is one last place off.
    references: BTreeMap<(Method, bool), Arc<Tensors<f64>>>,
    lifted: BTreeMap<(Method, String), Arc<Tensors<f64>>>,
    /// By the bits of what Ā and B̄ are off by.
    perturbed: BTreeMap<(Method, [u64; 2]), Arc<Tensors<f64>>>,
}

impl Known {
    /// Keeps everything that it is asked for.
    pub fn keeping() -> Self {
        Known { kept: Some(Mutex::default()) }
    }

    pub fn of<'a>(&'a self, problem: &'a Problem) -> KnownProblem<'a> {
        let key = || format!("{} {:?}", problem.fingerprint(), problem.judged_channels);
        let kept =
            self.kept.as_ref().map_or_else(|| Kept::Here(Mutex::default()), |all| Kept::In(all, key()));
        KnownProblem { problem, kept }
    }
}

/// What is known of one problem.
pub struct KnownProblem<'a> {
    problem: &'a Problem,
    kept: Kept<'a>,
}

/// Where what is known of a problem stands.
enum Kept<'a> {
    Here(Mutex<Facts>),
    /// Beside that of others, under its key.
    In(&'a Mutex<HashMap<String, Facts>>, String),
}

impl KnownProblem<'_> {
    pub fn truths(&self, methods: &[Method]) -> Result<Vec<Arc<ScanTruth>>, TruthError> {
        let kept = self.look(|facts| facts.truths.clone());
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
        kept.unwrap_or_else(|| {
            // Counting them takes as long as the bounds do.
            let count = || Ok(budget::repeats(method, self.problem));
            let Ok::<_, Infallible>(repeats) = self.kept_or(|facts| &mut facts.repeats, method, count);
            let budget = Arc::new(budget::scan_of(method, self.problem, contract, &repeats));
            self.look(|facts| facts.budgets.push((method, *contract, budget.clone())));
            budget
        })
    }

    /// The same-precision paths that a kernel of this contract is measured against ([`crate::judge::relative`]).
    pub fn references(&self, method: Method, contract: &Contract) -> Vec<Tensors<f64>> {
        let problem = self.problem;
        let off = || Problem { a: problem.a.iter().map(|a| a.next_up()).collect(), ..problem.clone() };
        let run = |is_off| match is_off {
            true => ReferenceBackend.scan_judged(method, &off()),
            false => ReferenceBackend.scan_judged(method, problem),
        };
        let of = |is_off| self.kept_or(|facts| &mut facts.references, (method, is_off), || run(is_off)).ok();
        let off = if contract.z_roundings > 1.0 { of(true) } else { None };
        of(false).into_iter().chain(off).map(|path| Tensors::clone(&path)).collect()
    }

    /// The lifted run, which all backends with the same [`Backend::copies`] share; none where the backend has none.
    pub fn lifted(
        &self,
        backend: &dyn Backend,
        method: Method,
    ) -> Option<Result<Arc<Tensors<f64>>, KernelError>> {
        let run = || backend.lifted(method, self.problem);
        let Some(copies) = backend.copies() else { return Some(run()?.map(Arc::new)) };
        // None is no result that could be kept.
        let run = || run().map_or(Err(None), |run| run.map_err(Some));
        match self.kept_or(|facts| &mut facts.lifted, (method, copies), run) {
            Ok(lifted) => Some(Ok(lifted)),
            Err(error) => error.map(Err),
        }
    }

    /// The judged channels by kernels whose Ā and B̄ are off by these ([`CpuBackend::perturbed`]).
    pub fn perturbed(&self, method: Method, off: [f64; 2]) -> Result<Arc<Tensors<f64>>, KernelError> {
        let [a_bar, b_bar] = off;
        let run = || CpuBackend::perturbed(a_bar, b_bar).scan_judged(method, self.problem);
        self.kept_or(|facts| &mut facts.perturbed, (method, off.map(f64::to_bits)), run)
    }

    /// What is kept of the problem under this key, or is computed now.
    fn kept_or<K: Ord, T, E>(
        &self,
        kept: fn(&mut Facts) -> &mut BTreeMap<K, Arc<T>>,
        key: K,
        compute: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        if let Some(known) = self.look(|facts| kept(facts).get(&key).cloned()) {
            return Ok(known);
        }
        let known = Arc::new(compute()?);
        self.look(|facts| kept(facts).insert(key, known.clone()));
        Ok(known)
    }

    /// Looks at what is kept of the problem, or adds to it. Nothing is computed meanwhile: a thread that waits for other
    /// threads' work may be given a piece that looks here as well.
    fn look<T>(&self, at: impl FnOnce(&mut Facts) -> T) -> T {
        match &self.kept {
            Kept::Here(facts) => at(&mut facts.lock().unwrap_or_else(PoisonError::into_inner)),
            Kept::In(all, key) => {
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                at(all.entry(key.clone()).or_default())
            }
        }
    }
}

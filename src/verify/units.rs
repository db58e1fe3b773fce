//! A request as units of work that know nothing of each other: each planned problem, each sweep of coefficients or of their
//! derivatives, each regime of dense systems, and the laws of each method and weight type, once for each seed. Any of them can be solved alone, on any machine, in any order.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::backward::Shown;
use super::{
    Known, Request, backward, curves, dense, derivatives, diagnosis, invariants, notes, reconstruction,
    solve, solve_sweep,
};
use crate::analysis;
use crate::judge::diagnose::{Budget, Searches};
use crate::kernel::Backend;
use crate::method::Method;
use crate::problem::dense::DenseRegime;
use crate::problem::plan::{self, Filter, Spec};
use crate::problem::sweep::Sweep;
use crate::problem::{InputType, Weights};
use crate::promise::{Promise, Tier};
use crate::results::explained::Explanations;
use crate::results::pairs::showcase;
use crate::results::whole::Found;
use crate::results::{CaseResult, CoefficientResult, Results, Verdict};

/// What a unit solves, before its numbers are drawn.
#[derive(Clone, Debug)]
pub enum Work {
    Problem(Spec),
    Sweep(Sweep),
    /// The derivatives of coefficients over a sweep.
    Derivatives(Sweep),
    Laws(Method, Weights),
    Dense(DenseRegime),
}

impl Work {
    /// Unique in a plan.
    pub fn id(&self) -> String {
        match self {
            Work::Problem(spec) => spec.id(),
            Work::Sweep(sweep) => format!("coefficients/{}/{}", sweep.name, sweep.weights),
            Work::Derivatives(sweep) => derivatives::unit(sweep),
            Work::Laws(method, weights) => format!("invariants/{weights}/{method}"),
            Work::Dense(regime) => dense::unit(regime),
        }
    }

    /// About how long it takes one core, in microseconds, as measured on one machine: only what the units are to each other
    /// matters, and a part that gets too much is late, not wrong.
    fn cost(&self, methods: usize) -> u64 {
        let one = match self {
            // f32 is solved in double as well, and to more digits.
            Work::Problem(spec) => {
                3_000 + size(spec) as u64 * if spec.input == InputType::F32 { 5 } else { 2 }
            }
            Work::Sweep(_) => 5_000,
            Work::Derivatives(_) => 50_000,
            // Products of matrices, of which there are some tens.
            Work::Dense(regime) => 1_000 + (regime.n.pow(3) * regime.weights.width().pow(2)) as u64,
            Work::Laws(_, weights) => return 250_000 + 100_000 * weights.width() as u64,
        };
        one * methods as u64
    }
}

/// Positions times states of the judged channels, where a complex product is four.
fn size(spec: &Spec) -> usize {
    let recipe = &spec.regime.recipe;
    let channels = recipe.judged_channels.min(recipe.shape.batch * recipe.shape.dim);
    channels * recipe.shape.dstate * recipe.shape.seqlen * spec.weights.width().pow(2)
}

/// All units of a request on a backend. They are counted seed by seed: unit `i` has the work `i % works().len()`.
pub struct Plan<'a> {
    backend: &'a dyn Backend,
    promise: Promise,
    /// The request for each of its seeds.
    requests: Vec<Request>,
    works: Vec<Work>,
}

impl<'a> Plan<'a> {
    pub fn new(request: &Request, backend: &'a dyn Backend) -> Self {
        let promise = backend.promise();
        let works = request.specs(promise).into_iter().map(Work::Problem);
        let works = works.chain(request.sweeps(promise).into_iter().map(Work::Sweep));
        let works = works.chain(request.derivatives(promise).into_iter().map(Work::Derivatives));
        let laws = request.probed().into_iter().map(|(method, weights)| Work::Laws(method, weights));
        let of_seed = |(place, seed): (usize, u64)| Request {
            seed,
            more_seeds: Vec::new(),
            // Measured once.
            sensitivity: request.sensitivity && place == 0,
            ..request.clone()
        };
        let requests = request.seeds().into_iter().enumerate().map(of_seed).collect();
        let dense = request.dense(promise).into_iter().map(Work::Dense);
        Plan { backend, promise, requests, works: works.chain(laws).chain(dense).collect() }
    }

    pub fn backend(&self) -> &'a dyn Backend {
        self.backend
    }

    /// The work of every seed.
    pub fn works(&self) -> &[Work] {
        &self.works
    }

    /// What each work costs, as far as one can tell beforehand.
    pub fn costs(&self) -> Vec<u64> {
        let methods = self.requests.first().map_or(0, |request| request.methods.len());
        self.works.iter().map(|work| work.cost(methods)).collect()
    }

    /// Whether there are several seeds.
    pub fn has_seeds(&self) -> bool {
        self.requests.len() > 1
    }

    /// How many units there are.
    pub fn len(&self) -> usize {
        self.works.len() * self.requests.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of a unit's work, and its seed.
    pub fn at(&self, unit: usize) -> (usize, u64) {
        (unit % self.works.len(), self.requests[unit / self.works.len()].seed)
    }

    /// The problem that a case is of.
    pub fn spec_of(&self, case: &CaseResult) -> Option<&Spec> {
        let input = InputType::ALL.into_iter().find(|&input| case.input == input.into())?;
        let key = (&*case.regime, case.weights, input, case.b, case.c);
        self.works.iter().find_map(|work| match work {
            Work::Problem(spec) if spec.key() == key => Some(spec),
            _ => None,
        })
    }

    /// What a sweep's points are drawn from.
    pub fn sweep_of(&self, judged: &CoefficientResult) -> Option<&Sweep> {
        self.works.iter().find_map(|work| match work {
            Work::Sweep(sweep) if (sweep.name, sweep.weights) == (&*judged.sweep, judged.weights) => {
                Some(sweep)
            }
            _ => None,
        })
    }

    /// Solves these units on all cores, the largest first, so that none idles at the end, and hands on what each of them found.
    ///
    /// # Errors
    /// The first that `found` returns; then nothing more is begun.
    pub fn solve<E: Send>(
        &self,
        known: &Known,
        units: &[usize],
        found: &(dyn Fn(usize, Found) -> Result<(), E> + Sync),
    ) -> Result<(), E> {
        let costs = self.costs();
        let mut units = units.to_vec();
        units.sort_by_key(|unit| std::cmp::Reverse(costs[unit % self.works.len()]));
        let failed = AtomicBool::new(false);
        units.par_iter().with_max_len(1).try_for_each(|&unit| {
            if failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let request = &self.requests[unit / self.works.len()];
            let mut judged = self.solve_one(known, request, &self.works[unit % self.works.len()]);
            if request.fail_fast && judged.verdicts().any(|verdict| verdict == Verdict::Fail) {
                failed.store(true, Ordering::Relaxed);
            }
            if let Some(only) = &request.only {
                // All methods of a problem run together.
                judged.cases.retain(|case| only.contains(&case.id));
                judged.coefficients.retain(|sweep| only.contains(&sweep.id()));
                judged.invariants.retain(|law| only.contains(&law.id()));
            }
            found(unit, judged)
        })
    }

    fn solve_one(&self, known: &Known, request: &Request, work: &Work) -> Found {
        match work {
            Work::Problem(spec) => {
                let is_first = self.is_first_of_its_kind(spec);
                let mut found = match request.judges_forward() {
                    true => solve(request, known, self.backend, spec, is_first),
                    false => Found::default(),
                };
                let sequences = self.shows_sequences(request, spec);
                if !sequences {
                    found.sequences.clear();
                }
                if request.judges_backward(self.promise) && !spec.regime.leaves_range {
                    let is_measured = is_measured_backwards(spec);
                    let shown = Shown {
                        sequences,
                        matrices: self.shows_matrices(spec),
                        lifted: is_measured,
                        sensitivity: is_measured && request.sensitivity && self.promise.perturbable,
                    };
                    found.add_backward(backward::solve(request, self.backend, spec, shown));
                }
                if spec.input != InputType::F32 {
                    found.histograms.clear();
                }
                found
            }
            Work::Sweep(sweep) => {
                Found { coefficients: solve_sweep(request, self.backend, sweep), ..Found::default() }
            }
            Work::Derivatives(sweep) => {
                Found { cases: derivatives::solve(request, self.backend, sweep), ..Found::default() }
            }
            Work::Dense(regime) => {
                let forward = self.promise.dense.filter(|_| request.judges_forward());
                let mut found =
                    forward.map_or_else(Found::default, |it| dense::solve(request, self.backend, it, regime));
                if request.judges_backward(self.promise) {
                    found.add_backward(dense::solve_backward(request, self.backend, regime));
                }
                found
            }
            Work::Laws(method, weights) => Found {
                invariants: invariants::run(request, self.backend, *method, *weights),
                ..Found::default()
            },
        }
    }

    /// Sensitivity is measured on the first f32 problem of each regime and weight type.
    fn is_first_of_its_kind(&self, spec: &Spec) -> bool {
        let of_f32 = |s: &Spec| s.input == InputType::F32 && s.weights == spec.weights;
        let first = self.works.iter().find_map(|work| match work {
            Work::Problem(s) if of_f32(s) && s.regime.name == spec.regime.name => Some(s),
            _ => None,
        });
        first.is_some_and(|first| first.key() == spec.key())
    }

    /// Whether the errors along the sequence are shown: of the first seed's first of the longest f32 problems of a weight type.
    fn shows_sequences(&self, request: &Request, spec: &Spec) -> bool {
        let alike = self.works.iter().filter_map(|work| match work {
            Work::Problem(other) if other.weights == spec.weights && other.input == InputType::F32 => {
                Some(other)
            }
            _ => None,
        });
        // `max_by_key` takes the last of equals.
        let longest = alike.rev().max_by_key(|other| other.regime.recipe.shape.seqlen);
        let first = self.requests.first().map(|first| first.seed);
        first == Some(request.seed) && longest.is_some_and(|longest| longest.key() == spec.key())
    }

    /// Whether the matrices of gradients are shown even where nothing fails.
    fn shows_matrices(&self, spec: &Spec) -> bool {
        let specs: Vec<&Spec> = self
            .works
            .iter()
            .filter_map(|work| if let Work::Problem(spec) = work { Some(spec) } else { None })
            .collect();
        let keys = specs.iter().map(|spec| (spec.weights, spec.input.into(), &*spec.regime.name));
        showcase(spec.weights, keys).is_some_and(|place| specs[place].key() == spec.key())
    }

    /// How long to look for why things fail.
    pub fn diagnosis(&self) -> Budget {
        self.requests.first().map_or(Budget::Off, |request| request.diagnosis)
    }

    /// Of results that are not explained yet, why things in them fail; nothing where that is not asked for. `told` is called after
    /// each case that is explained.
    pub fn explain(
        &self,
        known: &Known,
        results: &Results,
        (searches, told): (Searches, &(dyn Fn() + Sync)),
    ) -> Explanations {
        if searches.budget == Budget::Off {
            return Explanations::default();
        }
        let mut explanations = diagnosis::explain(self, known, results, (&searches, told));
        reconstruction::explain(self, results, &searches, &mut explanations);
        explanations
    }

    /// Everything in the results that no unit finds.
    pub fn head(&self) -> Results {
        let Some(request) = self.requests.first() else { return Results::default() };
        let backend = self.backend;
        let mut head =
            Results::empty(request.seed, backend.name(), backend.device(), request.command.clone());
        if self.requests.len() > 1 {
            head.seeds = self.requests.iter().map(|request| request.seed).collect();
        }
        if !request.invariants_only && !request.dense_only {
            (head.curves, head.analysis) = (curves(request), analysis::methods().clone());
        }
        head.tier = (backend.tier() != Tier::default()).then(|| backend.tier().name().to_owned());
        head.kernel_source = backend.source();
        head.undiagnosed = request.diagnosis == Budget::Off;
        head.regimes = notes(request, self.promise);
        head.planned = Some(request.plan(self.promise));
        head
    }
}

/// Whether a backward pass is lifted, though nothing fails, and its sensitivity measured: of the first f32 problem of each regime and
/// weight type. What else a plan has does not matter, so that two of them agree on what both have.
fn is_measured_backwards(spec: &Spec) -> bool {
    let alone = Filter { regimes: vec![spec.regime], weights: vec![spec.weights], ..Filter::default() };
    let first = plan::plan(&alone).into_iter().find(|first| first.input == InputType::F32);
    first.is_some_and(|first| first.key() == spec.key())
}

//! What `holdfast verify` says of a mutant, verdict by verdict until the first that fails. Truths of forward passes
//! are computed once for all mutants of a seed.

use std::sync::OnceLock;

use holdfast::judge::diagnose::Budget;
use holdfast::judge::invariants::Invariant;
use holdfast::judge::scan::Place;
use holdfast::kernel::{Backend, KernelError};
use holdfast::method::Method;
use holdfast::problem::plan::{Filter, Spec, plan};
use holdfast::problem::sweep::{self, Sweep};
use holdfast::problem::{CoefficientProblem, InputType, Problem, Weights};
use holdfast::results::{CaseResult, Lifting, Verdict};
use holdfast::truth::coefficient::{self, CoefficientTruth};
use holdfast::truth::scan::{self, ScanTruth};
use holdfast::verify::invariants::{Subject, check};
use holdfast::verify::{self, Passes, Plan, Request, Work, judge_scan, judge_sweep};

use crate::table::{Kind, Mutant, Variant};

const METHODS: usize = Method::ALL.len();

/// The sweeps and problems of one seed, with their truths as far as they have been asked for.
pub struct Known {
    pub seed: u64,
    sweeps: Vec<KnownSweep>,
    /// The smallest first.
    scans: Vec<KnownScan>,
}

struct KnownSweep {
    sweep: Sweep,
    problem: CoefficientProblem,
    truths: [OnceLock<CoefficientTruth>; METHODS],
}

struct KnownScan {
    spec: Spec,
    problem: OnceLock<Problem>,
    truths: [OnceLock<ScanTruth>; METHODS],
}

impl Known {
    pub fn new(seed: u64) -> Self {
        let sweeps = sweep::all().into_iter().map(|sweep| KnownSweep {
            problem: sweep.draw(seed),
            sweep,
            truths: Default::default(),
        });
        let mut specs = plan(&Filter::default());
        specs.sort_by_key(size);
        let scans = specs.into_iter().map(|spec| KnownScan {
            spec,
            problem: OnceLock::new(),
            truths: Default::default(),
        });
        Known { seed, sweeps: sweeps.collect(), scans: scans.collect() }
    }
}

/// States times positions of what is judged of a problem.
fn size(spec: &Spec) -> usize {
    let recipe = &spec.regime.recipe;
    let channels = recipe.judged_channels.min(recipe.shape.batch * recipe.shape.dim);
    channels * recipe.shape.dstate * recipe.shape.seqlen
}

impl KnownSweep {
    fn truth(&self, method: Method) -> &CoefficientTruth {
        self.truths[usize::from(method.id())]
            .get_or_init(|| coefficient::solve(method, &self.problem).expect("certified"))
    }
}

impl KnownScan {
    fn problem(&self, seed: u64) -> &Problem {
        self.problem.get_or_init(|| self.spec.draw(seed))
    }

    fn truth(&self, method: Method, seed: u64) -> &ScanTruth {
        self.truths[usize::from(method.id())].get_or_init(|| {
            let solved = scan::solve(self.problem(seed), &[method]).expect("certified");
            solved.into_iter().next().expect("one method's")
        })
    }
}

/// The first verdict of this kind that fails, if any: its id. Regimes named in `first` are tried first, and no scans of more
/// than `largest` states times positions at all.
pub fn first_failure(
    known: &Known,
    backend: &dyn Backend,
    mutant: &Mutant,
    kind: Kind,
    (first, largest): (&[&str], usize),
) -> Option<String> {
    let methods = mutant.methods;
    if matches!(mutant.variant, Variant::Backward | Variant::Dense | Variant::DenseBackward) {
        return planned(known.seed, backend, mutant, kind, (first, largest));
    }
    match kind {
        Kind::Sweep => sweeps(known, backend, methods, false),
        Kind::Case => cases(known, backend, methods, (first, largest), false),
        Kind::Invariant => invariants(known, backend, mutant),
        Kind::Lifted => sweeps(known, backend, methods, true)
            .or_else(|| cases(known, backend, methods, (first, largest), true)),
    }
}

/// The same of a backward pass, or of dense systems, unit by unit of `holdfast verify --pass backward`, or `--dense`: the smallest problem
/// first.
fn planned(
    seed: u64,
    backend: &dyn Backend,
    mutant: &Mutant,
    kind: Kind,
    (first, largest): (&[&str], usize),
) -> Option<String> {
    let request = Request {
        passes: if mutant.variant == Variant::Dense { Passes::Forward } else { Passes::Backward },
        dense_only: matches!(mutant.variant, Variant::Dense | Variant::DenseBackward),
        methods: mutant.methods.to_vec(),
        sensitivity: false,
        diagnosis: Budget::Off,
        ..Request::everything(seed)
    };
    let plan = Plan::new(&request, backend);
    let mut units: Vec<(bool, usize, usize)> = Vec::new();
    for (unit, work) in plan.works().iter().enumerate() {
        match work {
            Work::Problem(spec) if matches!(kind, Kind::Case | Kind::Lifted) => {
                let shape = spec.regime.recipe.shape;
                if shape.dstate * shape.seqlen <= largest {
                    units.push((!first.contains(&spec.regime.name.as_str()), size(spec), unit));
                }
            }
            // The other backward pass has kernels of its own.
            Work::Dense(regime) if kind == Kind::Case && mutant.variant != Variant::Backward => {
                units.push((!first.contains(&&*regime.title()), regime.n, unit));
            }
            Work::Derivatives(_) if kind == Kind::Sweep => units.push((false, 0, unit)),
            Work::Laws(..) if kind == Kind::Invariant => units.push((false, 0, unit)),
            _ => {}
        }
    }
    units.sort_unstable();
    let failed_case = |case: &CaseResult| match kind {
        Kind::Lifted => case.lifted.as_ref().is_some_and(|lifted| lifted.verdict == Verdict::Fail),
        _ => case.verdict == Verdict::Fail,
    };
    units.into_iter().find_map(|(.., unit)| {
        let found = plan.solve(&verify::Known::default(), &[unit], &|_, found| {
            let case = found.cases.iter().find(|case| failed_case(case)).map(|case| case.id.clone());
            let law = found.invariants.iter().find(|law| law.verdict == Verdict::Fail).map(|law| law.id());
            // What was not run would pass for what survives.
            let run = found.verdicts().all(|verdict| verdict != Verdict::Unmeasured);
            assert!(run, "{:?}", found.cases.iter().map(|case| &case.reason).collect::<Vec<_>>());
            case.or(law).map_or(Ok(()), Err)
        });
        found.err()
    })
}

fn fails(lifted: Option<Lifting>) -> bool {
    lifted.is_some_and(|lifted| lifted.verdict == Verdict::Fail)
}

/// Faults of a kernel are failures; what the harness itself lacks is none.
fn is_fault(error: &KernelError) -> bool {
    assert!(error.is_fault(), "the mutant was not run: {error}");
    true
}

fn sweeps(known: &Known, backend: &dyn Backend, methods: &[Method], lifted: bool) -> Option<String> {
    known.sweeps.iter().find_map(|known| {
        methods.iter().find_map(|&method| {
            let failed = match judge_sweep(backend, method, &known.problem, known.truth(method)) {
                Err(error) => is_fault(&error),
                Ok((_, _, double)) if lifted => fails(double),
                Ok((_, judgement, _)) => judgement.verdict == Verdict::Fail,
            };
            failed.then(|| format!("{}/{method}", known.sweep.name))
        })
    })
}

fn cases(
    known: &Known,
    backend: &dyn Backend,
    methods: &[Method],
    (first, largest): (&[&str], usize),
    lifted: bool,
) -> Option<String> {
    let hinted = |scan: &&KnownScan| first.contains(&scan.spec.regime.name.as_str());
    let in_turn = known.scans.iter().filter(hinted).chain(known.scans.iter().filter(|scan| !hinted(scan)));
    // In double there is one storage type.
    let wanted = |scan: &&KnownScan| {
        let shape = scan.spec.regime.recipe.shape;
        shape.dstate * shape.seqlen <= largest && (!lifted || scan.spec.input == InputType::F32)
    };
    let mut in_turn = in_turn.filter(wanted);
    in_turn.find_map(|scan| {
        methods.iter().find_map(|&method| {
            let problem = scan.problem(known.seed);
            let run = backend.scan(method, problem);
            if let Err(error) = &run
                && !lifted
                && is_fault(error)
            {
                return Some(format!("{}/{method}", scan.spec.id()));
            }
            let truth = scan.truth(method, known.seed);
            let nothing = verify::Known::default();
            let nothing = nothing.of(problem);
            let case =
                judge_scan(backend, &nothing, (method, problem), place(), Ok(truth), run.as_ref()).case;
            let failed = if lifted { fails(case.lifted) } else { case.verdict == Verdict::Fail };
            failed.then(|| format!("{}/{method}", scan.spec.id()))
        })
    })
}

/// Nobody reads where these cases stand.
fn place() -> Place {
    let [id, regime, inputs, backend, rerun] = Default::default();
    Place { id, regime, inputs, backend, rerun }
}

fn invariants(known: &Known, backend: &dyn Backend, mutant: &Mutant) -> Option<String> {
    let contract = backend.promise().contract;
    let subject = Subject { backend, contract, seed: known.seed, inputs: &InputType::ALL };
    // A scan that meets a NaN goes without chunks, and then rounds otherwise ahead of it, too.
    let keeps_bits = |law: &Invariant| mutant.variant != Variant::Chunks || *law != Invariant::NanInput;
    let mut laws = Invariant::ALL.into_iter().filter(|law| !law.is_of_gradients() && keeps_bits(law));
    laws.find_map(|law| {
        mutant.methods.iter().find_map(|&method| {
            let mut weights = Weights::ALL.into_iter().filter(|&weights| law.applies(method, weights));
            let fails = |w: &Weights| check(subject, law, method, *w).verdict == Verdict::Fail;
            weights.find(fails).map(|weights| format!("{}/{weights}/{method}", law.name()))
        })
    })
}

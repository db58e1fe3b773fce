//! A whole run: every planned problem through truth, kernel and judge. The one place where the rooms meet;
//! silent, and free of verdict logic of its own.

mod backward;
mod dense;
mod derivatives;
mod diagnosis;
pub mod invariants;
mod known;
pub mod part;
mod precision;
mod reconstruction;
mod units;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

pub use self::known::{Known, KnownProblem};
pub use self::units::{Plan, Work};
use crate::case::{self, SolvedCase};
use crate::judge::coefficient::{self, Judgement};
use crate::judge::diagnose::Budget;
use crate::judge::invariants::Invariant;
use crate::judge::scan::Place;
use crate::judge::{diagnose, profile};
use crate::kernel::{Backend, Coefficients, KernelError};
use crate::method::Method;
use crate::problem::dense::DenseRegime;
use crate::problem::plan::{self, Filter, Spec};
use crate::problem::sweep::{self, Sweep};
use crate::problem::{self, CoefficientProblem, InputType, Problem, Weights};
use crate::promise::Promise;
use crate::results::whole::{Found, Whole};
use crate::results::{
    BACKWARD, CaseResult, CoefficientResult, Lifting, MethodCurve, PairTotals, RegimeNote, Results, Verdict,
};
use crate::tensor::{TensorName, Tensors};
use crate::truth;
use crate::truth::TruthError;
use crate::truth::coefficient::CoefficientTruth;
use crate::truth::scan::ScanTruth;

named! {
    /// Which way through a scan is judged.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Passes: "pass" {
        /// Outputs and last states, coefficients, and the laws of the scan.
        Forward => "forward",
        /// Gradients.
        Backward => "backward",
        #[default]
        Both => "both",
    }
}

/// What a run is to cover.
#[derive(Clone, Debug)]
pub struct Request {
    pub passes: Passes,
    pub filter: Filter,
    /// In the order of ids.
    pub methods: Vec<Method>,
    pub seed: u64,
    /// All of the work is done with each of these as well.
    pub more_seeds: Vec<u64>,
    /// Neither cases nor sweeps.
    pub invariants_only: bool,
    /// Dense systems alone.
    pub dense_only: bool,
    /// Options of the command that a rerun of one case needs: a foreign header's.
    pub rerun: String,
    /// The command line that asked for it, for provenance.
    pub command: String,
    /// Whether to measure how small an error of a coefficient is caught, on the CPU build of the kernels, and of a derivative, in what
    /// came out of a backward pass.
    pub sensitivity: bool,
    /// Only what has one of these ids; none for everything.
    pub only: Option<BTreeSet<String>>,
    /// Begin nothing more once something fails.
    pub fail_fast: bool,
    /// How long to look for why what fails does.
    pub diagnosis: Budget,
}

impl Request {
    /// Every regime and method.
    pub fn everything(seed: u64) -> Self {
        let command = format!("holdfast verify --seed {seed}");
        Request {
            passes: Passes::Both,
            filter: Filter::default(),
            methods: Method::ALL.to_vec(),
            seed,
            more_seeds: Vec::new(),
            invariants_only: false,
            dense_only: false,
            sensitivity: true,
            only: None,
            fail_fast: false,
            diagnosis: Budget::Thorough,
            rerun: String::new(),
            command,
        }
    }

    /// Every seed, ascending.
    pub fn seeds(&self) -> Vec<u64> {
        let all: BTreeSet<u64> = self.more_seeds.iter().copied().chain([self.seed]).collect();
        all.into_iter().collect()
    }

    /// The ids of everything that the run has a verdict on, in its order.
    pub fn plan(&self, promise: Promise) -> Vec<String> {
        let methods = || self.methods.iter();
        let cases = self.specs(promise).into_iter().flat_map(|spec| self.ids_of(&spec, promise));
        let sweeps = self
            .sweeps(promise)
            .into_iter()
            .flat_map(|sweep| methods().map(move |&m| sweep_id(&sweep, m)).collect::<Vec<_>>());
        let derivatives = self
            .derivatives(promise)
            .into_iter()
            .flat_map(|sweep| methods().map(move |&m| derivatives::id(&sweep, m)).collect::<Vec<_>>());
        let probed = self.probed();
        let laws = Invariant::ALL.into_iter().flat_map(|law| {
            let own = self.judges_law(law, promise);
            let applying =
                probed.iter().filter(move |&&(method, weights)| own && law.applies(method, weights));
            applying.map(move |&(method, weights)| law_id(law, method, weights))
        });
        let dense = self.dense(promise).into_iter();
        let dense = dense.flat_map(|regime| {
            methods().flat_map(|&m| self.dense_ids(&regime, m, promise)).collect::<Vec<_>>()
        });
        let all = cases.chain(sweeps).chain(derivatives).chain(laws).chain(dense);
        all.filter(|id| self.only.as_ref().is_none_or(|only| only.contains(id))).collect()
    }

    fn specs(&self, promise: Promise) -> Vec<Spec> {
        if self.invariants_only || self.dense_only {
            return Vec::new();
        }
        let judges_any = self.judges_forward() || self.judges_backward(promise);
        if self.methods.is_empty() || !judges_any {
            return Vec::new();
        }
        let mut specs = plan::plan(&self.filter);
        // What was asked for by its name is run.
        let promised = |spec: &Spec| promise.whole_range || !spec.regime.leaves_range;
        let is_named = !self.filter.regimes.is_empty() || self.only.is_some();
        specs.retain(|spec| is_named || promised(spec));
        specs.retain(|spec| self.asks_for_any(self.ids_of(spec, promise).into_iter()));
        specs
    }

    /// The cases of a problem, in their order.
    fn ids_of(&self, spec: &Spec, promise: Promise) -> Vec<String> {
        let forward = self.methods.iter().filter(|_| self.judges_forward());
        let is_backward = self.judges_backward(promise) && !spec.regime.leaves_range;
        let backward = self.methods.iter().filter(|_| is_backward);
        let forward = forward.map(|&method| case_id(spec, method, Passes::Forward));
        forward.chain(backward.map(|&method| case_id(spec, method, Passes::Backward))).collect()
    }

    fn judges_forward(&self) -> bool {
        self.passes != Passes::Backward
    }

    fn judges_backward(&self, promise: Promise) -> bool {
        promise.backward.is_some() && self.passes != Passes::Forward
    }

    /// Whether a law is of a pass that is judged, and of what the kernel itself does: the scan of a header is the harness's, and
    /// would count in favour of one that has no part in it.
    fn judges_law(&self, law: Invariant, promise: Promise) -> bool {
        match law.is_of_gradients() {
            true => self.judges_backward(promise),
            false => self.judges_forward() && (promise.scans || !law.is_of_the_scan()),
        }
    }

    /// Whether one of the ids is among those that alone are wanted.
    fn asks_for_any(&self, mut ids: impl Iterator<Item = String>) -> bool {
        ids.any(|id| self.only.as_ref().is_none_or(|only| only.contains(&id)))
    }

    fn sweeps(&self, promise: Promise) -> Vec<Sweep> {
        if self.judges_forward() { self.sweeps_of(promise, sweep_id) } else { Vec::new() }
    }

    /// Those on which derivatives, or the backward of coefficients, are judged.
    fn derivatives(&self, promise: Promise) -> Vec<Sweep> {
        let judges_any = promise.differentiates || promise.step_derivatives;
        match judges_any && self.passes != Passes::Forward {
            true => self.sweeps_of(promise, derivatives::id),
            false => Vec::new(),
        }
    }

    fn sweeps_of(&self, promise: Promise, id: fn(&Sweep, Method) -> String) -> Vec<Sweep> {
        if self.invariants_only || self.dense_only || !self.judges_f32_beyond_regimes() {
            return Vec::new();
        }
        let promised = |s: &Sweep| promise.whole_range || !s.whole_range;
        let asked = |s: &Sweep| self.asks_for_any(self.methods.iter().map(|&m| id(s, m)));
        sweep::all().into_iter().filter(|s| self.asks_for(s.weights) && promised(s) && asked(s)).collect()
    }

    /// Those of dense systems.
    fn dense(&self, promise: Promise) -> Vec<DenseRegime> {
        let judges_any = self.judges_forward() || self.judges_backward(promise);
        if !judges_any
            || promise.dense.is_none()
            || self.methods.is_empty()
            || self.invariants_only
            || !self.judges_f32_beyond_regimes()
        {
            return Vec::new();
        }
        let asked = |regime: &DenseRegime| {
            self.asks_for(regime.weights)
                && self.asks_for_any(self.methods.iter().flat_map(|&m| self.dense_ids(regime, m, promise)))
        };
        problem::dense::all().into_iter().filter(asked).collect()
    }

    /// Ids of a method's cases of a regime of theirs.
    fn dense_ids(&self, regime: &DenseRegime, method: Method, promise: Promise) -> Vec<String> {
        let [step, scan, gradients] = dense::ids(regime, method);
        let forward = self.judges_forward().then_some([step, scan]);
        let backward = self.judges_backward(promise).then_some(gradients);
        forward.into_iter().flatten().chain(backward).collect()
    }

    /// The methods and weight types whose invariants are probed.
    fn probed(&self) -> Vec<(Method, Weights)> {
        if self.dense_only || !self.judges_f32_beyond_regimes() {
            return Vec::new();
        }
        let weights: Vec<_> = Weights::ALL.into_iter().filter(|w| self.asks_for(*w)).collect();
        let all = self.methods.iter().flat_map(|&m| weights.iter().map(move |&w| (m, w)));
        let asked = |m, w| self.asks_for_any(Invariant::ALL.into_iter().map(|law| law_id(law, m, w)));
        all.filter(|&(m, w)| asked(m, w)).collect()
    }

    fn asks_for(&self, weights: Weights) -> bool {
        self.filter.weights.is_empty() || self.filter.weights.contains(&weights)
    }

    /// Coefficients are judged, and invariants probed, whenever f32 is: they belong to no regime, and have no input
    /// type of their own.
    fn judges_f32_beyond_regimes(&self) -> bool {
        let f = &self.filter;
        f.regimes.is_empty() && (f.inputs.is_empty() || f.inputs.contains(&InputType::F32))
    }
}

fn sweep_id(sweep: &Sweep, method: Method) -> String {
    format!("coefficients/{}/{}/{method}", sweep.name, sweep.weights)
}

fn law_id(law: Invariant, method: Method, weights: Weights) -> String {
    format!("invariant/{}/{weights}/{method}", law.name())
}

/// Runs the request on `backend`, calling `progress` after each unit of work.
pub fn verify(request: &Request, backend: &dyn Backend, progress: &(dyn Fn() + Sync)) -> Results {
    verify_knowing(&Known::default(), request, backend, progress)
}

/// The same for several runs that share what is known of their problems.
pub fn verify_knowing(
    known: &Known,
    request: &Request,
    backend: &dyn Backend,
    progress: &(dyn Fn() + Sync),
) -> Results {
    let plan = Plan::new(request, backend);
    let mut results = judge(&plan, known, progress);
    plan.explain(known, &results, (plan.diagnosis().begin(), &|| {})).apply(&mut results);
    results
}

/// The verdicts alone on what a plan has.
pub fn judge(plan: &Plan, known: &Known, progress: &(dyn Fn() + Sync)) -> Results {
    let whole = Mutex::new(Whole::new(plan.has_seeds()));
    let units: Vec<usize> = (0..plan.len()).collect();
    let Ok(()) = plan.solve(known, &units, &|unit, found| {
        let (place, seed) = plan.at(unit);
        whole.lock().unwrap_or_else(PoisonError::into_inner).add(place, seed, found);
        progress();
        Ok::<(), Infallible>(())
    });
    let whole = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
    whole.results(plan.head())
}

/// Why each regime and sweep of the request is hard.
fn notes(request: &Request, promise: Promise) -> Vec<RegimeNote> {
    let mut notes: Vec<RegimeNote> = Vec::new();
    let regimes = request
        .specs(promise)
        .into_iter()
        .map(|s| (s.regime.name.clone(), s.regime.why, s.regime.is_ordinary()));
    let sweeps = request.sweeps(promise).into_iter().map(|s| (s.name.to_owned(), s.why, false));
    let derivatives = request.derivatives(promise).into_iter();
    let derivatives = derivatives.map(|s| (derivatives::regime(&s), s.why, false));
    let dense = request.dense(promise).into_iter().map(|r| (r.title(), r.why, false));
    for (name, why, ordinary) in regimes.chain(sweeps).chain(derivatives).chain(dense) {
        if notes.iter().all(|note| note.name != name) {
            notes.push(RegimeNote { name, why: why.to_owned(), ordinary });
        }
    }
    notes
}

/// The verdict on each method's outputs. `is_first` of its kind: what takes long is measured as well.
fn solve(request: &Request, known: &Known, backend: &dyn Backend, spec: &Spec, is_first: bool) -> Found {
    let problem = spec.draw(request.seed);
    let known = known.of(&problem);
    let runs: Vec<_> = request.methods.iter().map(|&method| backend.scan(method, &problem)).collect();
    // A header that does not compile has failed without any truth.
    let truths = match runs.iter().all(Result::is_err) {
        true => Ok(Vec::new()),
        false => known.truths(&request.methods),
    };
    let inputs = problem.fingerprint();
    let place =
        |method| Place { inputs: inputs.clone(), ..place(request, backend, spec, method, Passes::Forward) };
    let mut cases = Vec::new();
    let mut outputs = Vec::new();
    let (mut histograms, mut sequences) = (Vec::new(), Vec::new());
    let mut sensitivity = Vec::new();
    let is_asked_for = !request.filter.regimes.is_empty() || precision::measures(&problem);
    let measures = is_first && request.sensitivity && backend.promise().perturbable && is_asked_for;
    for (i, (&method, run)) in request.methods.iter().zip(runs).enumerate() {
        let truth = match (&truths, &run) {
            (Ok(truths), Err(error)) if truths.is_empty() => {
                cases.push(case::without_output(method, &problem, place(method), error));
                continue;
            }
            (Ok(truths), _) => Ok(&*truths[i]),
            (Err(error), _) => Err(error),
        };
        let judged = judge_scan(backend, &known, (method, &problem), place(method), truth, run.as_ref());
        let JudgedScan { case, solved: Some(solved), got, references } = judged else {
            cases.push(judged.case);
            continue;
        };
        if measures {
            let before = sensitivity.last();
            let measured = precision::sensitivity(spec, &solved, &known, &references, before);
            sensitivity.push(measured);
        }
        if let Some(got) = &got {
            let [out, want] = [got, solved.want].map(|tensors| &tensors[TensorName::Out]);
            let bounds = &solved.budget.tensors[TensorName::Out];
            let (histogram, sequence) =
                profile::of_case((method, case.id.as_str()), &problem, out, want, bounds);
            histograms.push(histogram);
            sequences.push(sequence);
        }
        outputs.push(solved.outputs(got.as_ref()));
        cases.push(case);
    }
    let (regime, id) = (&spec.regime.name, spec.id());
    let compared = case::Compared { problem: &problem, source: backend.name(), regime, id: &id };
    let matrices = vec![compared.outputs(&outputs)];
    let pairs = PairTotals::of_passes(matrices.iter().flatten());
    Found { cases, histograms, sequences, sensitivity, matrices, pairs, ..Found::default() }
}

/// One method on one problem, judged: against its bounds, against the same-precision reference, and in double.
pub struct JudgedScan<'a> {
    pub case: CaseResult,
    /// None where there is no truth.
    solved: Option<SolvedCase<'a>>,
    /// The judged channels.
    got: Option<Tensors<f64>>,
    /// Of the same channels.
    references: Vec<Tensors<f64>>,
}

/// Judges what `backend` returned for a problem whose truth is known.
pub fn judge_scan<'a>(
    backend: &dyn Backend,
    known: &KnownProblem,
    (method, problem): (Method, &'a Problem),
    place: Place,
    truth: Result<&'a ScanTruth, &TruthError>,
    run: Result<&Tensors<f32>, &KernelError>,
) -> JudgedScan<'a> {
    let promise = backend.promise();
    let truth = truth.map(|truth| (&truth.tensors, known.budget(method, &promise.contract)));
    let (mut case, solved) = case::judge((method, problem), place, promise, truth, run);
    let Some(solved) = solved else {
        return JudgedScan { case, solved: None, got: None, references: Vec::new() };
    };
    let got = run.ok().map(|output| problem.judged(output));
    let references = known.references(method, &promise.contract);
    if let Some(got) = &got {
        case::gate(&mut case, solved.relative(got, &references));
    }
    case.lifted = precision::lifted_case(backend, &solved, known, case.verdict, got.as_ref());
    JudgedScan { case, solved: Some(solved), got, references }
}

/// The id of one pass of a method over a problem.
fn case_id(spec: &Spec, method: Method, pass: Passes) -> String {
    let suffix = if pass == Passes::Backward { BACKWARD } else { "" };
    format!("{}/{method}{suffix}", spec.id())
}

/// Words of a rerun for the pass, where there are two.
fn one_of_both(promise: Promise, pass: Passes) -> String {
    if promise.backward.is_some() { format!(" --pass {pass}") } else { String::new() }
}

fn place(request: &Request, backend: &dyn Backend, spec: &Spec, method: Method, pass: Passes) -> Place {
    let Spec { regime, weights, input, b, c } = spec;
    let one_of_both = one_of_both(backend.promise(), pass);
    Place {
        id: case_id(spec, method, pass),
        regime: regime.name.clone(),
        inputs: String::new(),
        backend: backend.name().to_owned(),
        rerun: format!(
            "holdfast verify --method {method} --regime {} --weights {weights} --input {input} --b {b} --c {c} \
             --backend {} --seed {}{one_of_both}{}",
            regime.name,
            backend.name(),
            request.seed,
            request.rerun
        ),
    }
}

fn widened(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| v.into()).collect()
}

fn solve_sweep(request: &Request, backend: &dyn Backend, sweep: &Sweep) -> Vec<CoefficientResult> {
    let problem = sweep.draw(request.seed);
    request
        .methods
        .iter()
        .map(|&method| {
            let judged =
                truth::coefficient::solve(method, &problem).map_err(|e| (Verdict::Unmeasured, e.to_string()));
            let judged = judged.and_then(|want| {
                let sweep = judge_sweep(backend, method, &problem, &want);
                let (got, judged, lifted) = sweep.map_err(|e| (case::verdict_of(&e), e.to_string()))?;
                let diagnosis = match judged.verdict {
                    Verdict::Fail if request.diagnosis != Budget::Off => {
                        let exact = (&want.a_bar[..], &want.b_bar[..]);
                        let lost = precision::lost_in_sweep(backend, method, &problem, &got, &want);
                        lost.map_or_else(
                            || {
                                let got = (&got.a_bar[..], &got.b_bar[..]);
                                diagnose::sweep::diagnose(
                                    method,
                                    &problem,
                                    got,
                                    exact,
                                    &diagnose::Work::default(),
                                )
                            },
                            |lost| vec![lost],
                        )
                    }
                    _ => Vec::new(),
                };
                Ok((judged, diagnosis, lifted))
            });
            let result = CoefficientResult {
                method,
                weights: sweep.weights,
                sweep: sweep.name.to_owned(),
                backend: backend.name().to_owned(),
                verdict: Verdict::Unmeasured,
                reason: String::new(),
                worst_a_bar: None,
                worst_b_bar: None,
                points: Vec::new(),
                diagnosis: Vec::new(),
                lifted: None,
                seeds: None,
                rerun: rerun_of_sweep(request, backend, sweep, method),
            };
            match judged {
                Err((verdict, reason)) => CoefficientResult { verdict, reason, ..result },
                Ok((j, diagnosis, lifted)) => CoefficientResult {
                    lifted,
                    verdict: j.verdict,
                    worst_a_bar: j.worst_a_bar,
                    worst_b_bar: j.worst_b_bar,
                    points: j.points,
                    diagnosis,
                    ..result
                },
            }
        })
        .collect()
}

/// Every sweep of a method and weight type: there is no narrower command.
fn rerun_of_sweep(request: &Request, backend: &dyn Backend, sweep: &Sweep, method: Method) -> String {
    format!(
        "holdfast verify --method {method} --weights {} --backend {} --seed {}{}",
        sweep.weights,
        backend.name(),
        request.seed,
        request.rerun
    )
}

/// What `backend` computes for a sweep whose truth is known, the judgement of it, and that of its lifted run.
pub fn judge_sweep(
    backend: &dyn Backend,
    method: Method,
    problem: &CoefficientProblem,
    want: &CoefficientTruth,
) -> Result<(Coefficients, Judgement, Option<Lifting>), KernelError> {
    let got = backend.coefficients(method, problem)?;
    let exact = (&want.a_bar[..], &want.b_bar[..]);
    let contract = backend.promise().contract;
    let judged = coefficient::judge(method, problem, (&got.a_bar, &got.b_bar), exact, &contract);
    let wide = [widened(&got.a_bar), widened(&got.b_bar)];
    let lifted = precision::lifted_sweep(backend, method, problem, judged.verdict, &wide, want);
    Ok((got, judged, lifted))
}

/// |Ā| and |B̄/Δ| against |z| for the report, straight from the truth. A curve that cannot be certified (at a
/// pole, say) is left out.
fn curves(request: &Request) -> Vec<MethodCurve> {
    let mut curves = Vec::new();
    for curve in sweep::curves() {
        for &method in &request.methods {
            let Ok(truth) = truth::coefficient::solve(method, &curve.problem) else { continue };
            let width = curve.problem.weights.width();
            let norms = |values: &[f64]| -> Vec<f64> {
                values.chunks(width).map(|v| v.iter().fold(0.0, |norm: f64, x| norm.hypot(*x))).collect()
            };
            let deltas = curve.problem.delta.iter().map(|&d| f64::from(d));
            curves.push(MethodCurve {
                method,
                weights: curve.problem.weights,
                a: curve.a.to_owned(),
                z_abs: deltas.clone().map(|delta| delta * curve.a_abs).collect(),
                a_bar_abs: norms(&truth.a_bar),
                b_bar_over_delta_abs: norms(&truth.b_bar).iter().zip(deltas).map(|(b, d)| b / d).collect(),
            });
        }
    }
    curves
}

//! Promise: each invariant holds for correct kernels, and can fail. Faults come from the catalogue, planted in a copy
//! of the kernels; what no fault of it breaks is broken by a backend that misbehaves.

use holdfast::judge::invariants::Invariant;
use holdfast::kernel::{Backend, Coefficients, CpuBackend, KernelError, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{CoefficientProblem, InputType, OutputGradients, Problem, Weights, regime};
use holdfast::promise::{Contract, Promise};
use holdfast::report::console;
use holdfast::results::{InvariantResult, Verdict};
use holdfast::tensor::{Gradients, TensorName, Tensors};
use holdfast::verify::Request;
use holdfast::verify::invariants::{Subject, check};
use rayon::prelude::*;

use crate::default_run;
use crate::support::binary::{self, output};
use crate::support::run::verify;

/// The laws alone.
fn laws(request: Request, backend: &dyn Backend) -> Vec<InvariantResult> {
    verify(&Request { invariants_only: true, ..request }, backend).invariants
}

fn hold(results: &[InvariantResult]) {
    for weights in Weights::ALL {
        for method in Method::ALL {
            for invariant in Invariant::ALL {
                let mut of_it = results.iter().filter(|i| {
                    (i.name.as_str(), i.method, i.weights) == (invariant.name(), method, weights)
                });
                let expected = usize::from(invariant.applies(method, weights));
                assert_eq!(of_it.clone().count(), expected, "{} {method} {weights}", invariant.name());
                assert!(of_it.all(|i| i.verdict == Verdict::Pass && i.judged > 0), "{results:#?}");
            }
        }
    }
}

#[test]
fn every_invariant_holds_for_correct_kernels() {
    hold(&default_run::results().invariants);
    // Laws of the reference path are probed with one type of weights, in turn.
    let contract = ReferenceBackend.promise().contract;
    let subject = Subject { backend: &ReferenceBackend, contract, seed: 1, inputs: &InputType::ALL };
    let methods = Method::ALL.into_iter().enumerate();
    let some: Vec<_> = methods
        .flat_map(|(i, method)| {
            let laws = Invariant::ALL.into_iter().enumerate();
            laws.map(move |(j, law)| (law, method, Weights::ALL[(i + j) % 2]))
        })
        .filter(|&(law, method, weights)| law.applies(method, weights))
        .collect();
    some.into_par_iter().for_each(|(law, method, weights)| {
        let found = check(subject, law, method, weights);
        assert!(found.verdict == Verdict::Pass && found.judged > 0, "{found:#?}");
    });
}

#[test]
#[ignore = "`cargo test` tries each law and method with one type of weights: .ci/long"]
fn every_invariant_holds_for_the_reference_path() {
    hold(&laws(Request::everything(1), &ReferenceBackend));
}

/// What breaks the law.
#[derive(Clone, Copy, Debug)]
enum Culprit {
    /// A fault of `kernels/faults/list.cuh`.
    Planted(&'static str),
    Misbehaving(Misbehaviour),
}

/// The CPU's kernels, spoilt.
#[derive(Clone, Copy, Debug)]
enum Misbehaviour {
    /// 1e-3 is added to every output.
    Offset,
    /// The first batch entry leaks into the last one.
    BatchLeak,
    /// Nothing but zeros.
    Silent,
    /// A fault in every run.
    Faulting,
    /// Zero for every NaN, of gradients too.
    NanIsZero,
    /// 16-bit outputs one too large in their last place where the kernel's is odd.
    Odd,
    /// 1e-3 is added to every gradient.
    GradientOffset,
    /// Every gradient is 1 % too large.
    GradientScaled,
    /// A thousandth of each gradient's first value is added to its last one.
    GradientLeak,
    /// A gradient with a NaN has nothing else.
    GradientNanSpreads,
}

struct Misbehaving(Misbehaviour);

impl Backend for Misbehaving {
    fn name(&self) -> &'static str {
        "misbehaving"
    }

    fn device(&self) -> String {
        "a test".to_owned()
    }

    fn promise(&self) -> Promise {
        CpuBackend::new().promise()
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>, KernelError> {
        let mut output = CpuBackend::new().scan(method, problem)?;
        match self.0 {
            Misbehaviour::Offset => output[TensorName::Out].values.iter_mut().for_each(|y| *y += 1e-3),
            Misbehaviour::BatchLeak => {
                let last = output[TensorName::Out].values.len()
                    - output[TensorName::Out].values.len() / problem.shape.batch;
                output[TensorName::Out].values[last] += 1e-3 * output[TensorName::Out].values[0];
            }
            Misbehaviour::Silent => {
                output[TensorName::Out].values.fill(0.0);
                output[TensorName::LastState].values.fill(0.0);
            }
            Misbehaviour::NanIsZero => {
                let nans = output[TensorName::Out].values.iter_mut().filter(|y| y.is_nan());
                nans.for_each(|y| *y = 0.0);
            }
            Misbehaviour::Odd => {
                let odd = |y: &&mut f32| y.to_bits() >> 16 & 1 == 1 && problem.input == InputType::Bf16;
                let values = output[TensorName::Out].values.iter_mut().filter(odd);
                values.for_each(|y| *y = f32::from_bits(y.to_bits() + (1 << 16)));
            }
            Misbehaviour::Faulting => return Err(KernelError::Fault("barrier".to_owned())),
            Misbehaviour::GradientOffset
            | Misbehaviour::GradientScaled
            | Misbehaviour::GradientLeak
            | Misbehaviour::GradientNanSpreads => {}
        }
        Ok(output)
    }

    fn gradients(
        &self,
        method: Method,
        problem: &Problem,
        given: &OutputGradients,
    ) -> Option<Result<Gradients<f32>, KernelError>> {
        let spoil = |mut gradients: Gradients<f32>| {
            for (_, tensor) in gradients.iter_mut() {
                let leaked = 1e-3 * tensor.values[0];
                let values = &mut tensor.values;
                match self.0 {
                    Misbehaviour::GradientOffset => values.iter_mut().for_each(|x| *x += 1e-3),
                    Misbehaviour::GradientScaled => values.iter_mut().for_each(|x| *x *= 1.01),
                    Misbehaviour::GradientLeak => *values.last_mut().expect("not empty") += leaked,
                    Misbehaviour::GradientNanSpreads if values.iter().any(|x| x.is_nan()) => {
                        values.fill(f32::NAN);
                    }
                    Misbehaviour::NanIsZero => {
                        values.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
                    }
                    _ => {}
                }
            }
            gradients
        };
        CpuBackend::new().gradients(method, problem, given).map(|run| run.map(spoil))
    }

    fn coefficients(&self, method: Method, p: &CoefficientProblem) -> Result<Coefficients, KernelError> {
        CpuBackend::new().coefficients(method, p)
    }
}

fn verdict(culprit: Culprit, invariant: Invariant, method: Method, weights: Weights) -> Verdict {
    let of = |backend: &dyn Backend| {
        let subject = Subject { backend, contract: Contract::PRODUCTION, seed: 1, inputs: &InputType::ALL };
        check(subject, invariant, method, weights).verdict
    };
    match culprit {
        Culprit::Planted(name) => of(&CpuBackend::with_faults(name, None).expect("a fault of the kernels")),
        Culprit::Misbehaving(how) => of(&Misbehaving(how)),
    }
}

#[test]
fn every_invariant_is_broken_by_a_fault() {
    use Culprit::{Misbehaving, Planted};
    use Invariant::*;
    use Method::*;
    use Weights::{Complex, Real};
    let table = [
        (ZeroInput, Planted("u-missing-in-higher-terms"), Rk4, Real),
        (UHomogeneous, Planted("u-missing-in-higher-terms"), HighOrder, Real),
        (UAdditive, Planted("state-f16"), Zoh, Real),
        (BHomogeneous, Planted("b-twice"), Zoh, Complex),
        (BHomogeneous, Planted("b-missing"), Rk4, Real),
        (BAdditive, Planted("b-twice"), Foh, Real),
        (CHomogeneous, Misbehaving(Misbehaviour::Offset), Bilinear, Real),
        (CAdditive, Misbehaving(Misbehaviour::Offset), Poly, Complex),
        (ComplexLinear, Planted("b-conjugated"), Bilinear, Complex),
        (Causality, Planted("runs-as-poly"), Zoh, Real),
        (Causality, Planted("runs-as-foh-textbook"), Foh, Real),
        (TimeReversal, Planted("poly-causal"), Poly, Real),
        (TimeReversal, Planted("poly-reversed-off-by-one"), Poly, Real),
        (TimeScale, Planted("runs-as-zoh"), HighOrder, Real),
        (TimeScale, Planted("runs-as-zoh"), Foh, Complex),
        (TimeScale, Planted("runs-as-poly"), Zoh, Real),
        (TimeScale, Planted("delta-zero-below-1e-8"), Rk4, Real),
        (TimeScaleStep, Planted("runs-as-zoh"), Poly, Complex),
        (TimeScaleStep, Planted("poly-half-missing"), Poly, Real),
        (TimeScaleStep, Planted("phi-taylor-4"), Foh, Real),
        (Conjugation, Planted("imaginary-part"), Zoh, Complex),
        (ChannelIndependence, Planted("c-transposed"), Zoh, Real),
        (BatchIndependence, Misbehaving(Misbehaviour::BatchLeak), Rk4, Real),
        (GroupIndependence, Planted("group-modulo"), Bilinear, Complex),
        (StateIndependence, Planted("rk4-outer-products"), Rk4, Real),
        (StatePermutation, Planted("b-transposed"), Poly, Real),
        (Splitting, Planted("chunk-128-state-lost"), Bilinear, Real),
        (Splitting, Planted("last-element-ignored"), Poly, Real),
        (ZeroStep, Planted("delta-at-least-1e-4"), Foh, Complex),
        (ZeroStep, Planted("chunk-128-state-lost"), HighOrder, Real),
        (SmallStep, Planted("delta-zero-below-1e-8"), Poly, Complex),
        (Stability, Planted("bilinear-swapped"), Bilinear, Real),
        (Stability, Planted("bilinear-swapped"), Bilinear, Complex),
        (SingleStates, Planted("rk4-outer-products"), Rk4, Real),
        (RepeatedStates, Planted("rk4-outer-products"), Rk4, Complex),
        (NanInput, Misbehaving(Misbehaviour::NanIsZero), Bilinear, Complex),
        (StoredRounding, Misbehaving(Misbehaviour::NanIsZero), Foh, Real),
        (StoredRounding, Misbehaving(Misbehaviour::Odd), Rk4, Real),
        (GradientZero, Misbehaving(Misbehaviour::GradientOffset), Zoh, Real),
        (GradientHomogeneous, Misbehaving(Misbehaviour::GradientOffset), Foh, Complex),
        (GradientAdditive, Misbehaving(Misbehaviour::GradientOffset), Bilinear, Real),
        (DotProduct, Misbehaving(Misbehaviour::GradientScaled), Poly, Real),
        (DotProduct, Misbehaving(Misbehaviour::GradientScaled), HighOrder, Complex),
        (GradientIndependence, Misbehaving(Misbehaviour::GradientLeak), HighOrder, Real),
        (GradientCausality, Misbehaving(Misbehaviour::GradientLeak), Rk4, Real),
        (GradientConjugation, Misbehaving(Misbehaviour::GradientOffset), Zoh, Complex),
        (GradientReversal, Misbehaving(Misbehaviour::GradientLeak), Poly, Complex),
        (GradientPermutation, Misbehaving(Misbehaviour::GradientLeak), Bilinear, Real),
        (GradientNan, Misbehaving(Misbehaviour::GradientNanSpreads), Zoh, Complex),
        (GradientNan, Misbehaving(Misbehaviour::NanIsZero), Foh, Real),
    ];
    table.into_par_iter().for_each(|(invariant, culprit, method, weights)| {
        let verdict = verdict(culprit, invariant, method, weights);
        assert_eq!(verdict, Verdict::Fail, "{} by {culprit:?}, {method} {weights}", invariant.name());
    });
    for invariant in Invariant::ALL {
        assert!(table.iter().any(|row| row.0 == invariant), "nothing breaks {}", invariant.name());
    }
}

#[test]
fn a_kernel_that_returns_only_zeros_or_nothing_obeys_no_law() {
    for how in [Misbehaviour::Silent, Misbehaviour::Faulting] {
        for invariant in Invariant::ALL.into_iter().filter(|i| i.applies(Method::Zoh, Weights::Complex)) {
            let found = verdict(Culprit::Misbehaving(how), invariant, Method::Zoh, Weights::Complex);
            assert_eq!(found, Verdict::Fail, "{} by {how:?}", invariant.name());
        }
    }
}

#[test]
fn a_broken_invariant_fails_the_run_and_shows_its_worst_element_and_its_command() {
    let request = Request {
        invariants_only: true,
        methods: vec![Method::Rk4],
        filter: Filter { weights: vec![Weights::Real], ..Filter::default() },
        ..Request::everything(1)
    };
    let healthy = verify(&request, &CpuBackend::new());
    assert_eq!(healthy.verdict(), Verdict::Pass);
    assert!(healthy.cases.is_empty() && healthy.coefficients.is_empty());
    let broken = verify(&request, &Misbehaving(Misbehaviour::BatchLeak));
    assert_eq!(broken.verdict(), Verdict::Fail);
    let text = console::render(&broken, None, false);
    for part in [
        "FAIL invariant/batch-independence/real/rk4",
        "worst out[1, 0, 0]",
        "with other inputs in batch entry 0",
        "holdfast verify --invariants-only --method rk4 --weights real",
    ] {
        assert!(text.contains(part), "{part} not in\n{text}");
    }
}

#[test]
fn filters_leave_invariants_out_where_they_leave_sweeps_out() {
    let request = |filter: Filter| Request { filter, methods: vec![Method::Zoh], ..Request::everything(1) };
    let probed = |filter: Filter| laws(request(filter), &ReferenceBackend).len();
    let l1 = regime::find("l1").expect("in the table");
    assert_eq!(probed(Filter { regimes: vec![l1], ..Filter::default() }), 0);
    assert_eq!(probed(Filter { inputs: vec![InputType::F16], ..Filter::default() }), 0);
    let planned = |filter: Filter| {
        let plan = request(filter).plan(ReferenceBackend.promise());
        plan.iter().filter(|id| id.starts_with("invariant/")).count()
    };
    let real = planned(Filter { weights: vec![Weights::Real], ..Filter::default() });
    assert!(real > 0 && planned(Filter::default()) > real);
}

#[test]
fn the_rerun_command_probes_the_invariants_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let json = folder.path().join("results.json");
    let command = "verify --invariants-only --method foh --weights complex --backend cpu --seed 3 --json";
    let output = output(binary::command().args(command.split(' ')).arg(&json));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    let text = std::fs::read_to_string(&json).expect("written");
    let results: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(results["cases"].as_array().map(Vec::len), Some(0));
    let invariants = results["invariants"].as_array().expect("a list");
    let applying = Invariant::ALL.into_iter().filter(|i| i.applies(Method::Foh, Weights::Complex)).count();
    assert_eq!(invariants.len(), applying);
    for invariant in invariants {
        let rerun = invariant["rerun"].as_str().expect("a command");
        assert_eq!(rerun, format!("holdfast {}", command.trim_end_matches(" --json")));
    }
}

/// Coefficients of somebody else, in a scan of the harness's own: the reference path in a header's clothes.
struct Header;

impl Backend for Header {
    fn name(&self) -> &'static str {
        "header"
    }

    fn device(&self) -> String {
        "a test".to_owned()
    }

    fn promise(&self) -> Promise {
        Promise::HEADER
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>, KernelError> {
        ReferenceBackend.scan(method, problem)
    }

    fn coefficients(&self, method: Method, p: &CoefficientProblem) -> Result<Coefficients, KernelError> {
        ReferenceBackend.coefficients(method, p)
    }
}

#[test]
fn laws_of_the_harness_s_own_scan_do_not_count_for_a_header() {
    let filter = Filter { weights: vec![Weights::Complex], ..Filter::default() };
    let request = Request { methods: vec![Method::Zoh], filter, ..Request::everything(1) };
    let names = |backend: &dyn Backend| -> Vec<String> {
        laws(request.clone(), backend).into_iter().map(|law| law.name).collect()
    };
    let (whole, header) = (names(&ReferenceBackend), names(&Header));
    assert!(whole.iter().any(|name| name == "causality") && whole.iter().any(|name| name == "single-states"));
    let not_a_header_s = |law: Invariant| law.is_of_the_scan() || law.is_of_gradients();
    let own = |name: &String| Invariant::ALL.into_iter().any(|law| law.name() == name && not_a_header_s(law));
    assert_eq!(header, whole.into_iter().filter(|name| !own(name)).collect::<Vec<_>>());
    for law in ["u-additive", "b-homogeneous", "time-scale", "conjugation", "stability", "nan-input"] {
        assert!(header.iter().any(|name| name == law), "{law}: {header:?}");
    }
}

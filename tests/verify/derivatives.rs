//! Promise: what the kernels' backward pass takes of a step is judged element by element over the sweeps, in every run that judges
//! gradients.

use holdfast::kernel::{Backend, Coefficients, CpuBackend, Derivatives, KernelError};
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{CoefficientProblem, Problem, regime};
use holdfast::promise::{Promise, Tier};
use holdfast::results::{BACKWARD, CaseResult, Results, SWEPT, Verdict};
use holdfast::tensor::{ComputedName, StepName, Tensors};
use holdfast::verify::{Passes, Plan, Request};

use crate::altered::SOUND;
use crate::support::run::verify;

/// The derivatives alone of a backward run.
fn of_sweeps(backend: &dyn Backend, methods: &[Method], seed: u64) -> Results {
    let request =
        Request { passes: Passes::Backward, methods: methods.to_vec(), ..Request::everything(seed) };
    let planned = request.plan(backend.promise()).into_iter();
    let only = planned.filter(|id| id.starts_with(SWEPT)).collect();
    verify(&Request { only: Some(only), ..request }, backend)
}

#[test]
fn derivatives_of_the_kernels_keep_their_promise() {
    // The default run has the first seed's.
    for seed in 2..=4 {
        let results = of_sweeps(&CpuBackend::new(), &Method::ALL, seed);
        // 13 sweeps, six methods.
        assert_eq!(results.cases.len(), 78);
        for case in &results.cases {
            assert_eq!(case.verdict, Verdict::Pass, "{seed}, {}: {} {:?}", case.id, case.reason, case.worst);
            let judged: Vec<ComputedName> = case.tensors.iter().map(|(name, _)| name).collect();
            assert_eq!(judged, StepName::ALL.map(ComputedName::Step), "{}", case.id);
        }
    }
}

#[test]
fn they_are_judged_wherever_gradients_are() {
    let planned = |backend: &dyn Backend, passes| {
        let request = Request { passes, ..Request::everything(1) };
        request.plan(backend.promise()).iter().filter(|id| id.starts_with(SWEPT)).count()
    };
    let (accurate, fast) = (CpuBackend::new(), CpuBackend::in_tier(Tier::Fast));
    assert_eq!([Passes::Both, Passes::Backward, Passes::Forward].map(|p| planned(&accurate, p)), [78, 78, 0]);
    assert_eq!(planned(&fast, Passes::Both), 0);
    let faulty = CpuBackend::with_faults("runs-as-zoh", None).expect("in the list");
    assert_eq!(planned(&faulty, Passes::Both), 0);
}

/// `overflowing-products` is for those who promise the whole range or who name it, and has no backward pass.
#[test]
fn what_leaves_the_range_is_planned_for_few_and_forward_alone() {
    let regime = regime::find("overflowing-products").expect("in the table");
    let named = Filter { regimes: vec![regime], ..Filter::default() };
    let planned = |promise: Promise, passes, filter: &Filter| -> Vec<String> {
        let request = Request { passes, filter: filter.clone(), ..Request::everything(1) };
        request.plan(promise).into_iter().filter(|id| id.starts_with(&regime.name)).collect()
    };
    let (own, others) = (Promise::PRODUCTION, Promise::REFERENCE);
    let all = planned(own, Passes::Both, &Filter::default());
    // Real and complex weights, six methods.
    assert_eq!(all.len(), 12);
    assert!(all.iter().all(|id| !id.ends_with(BACKWARD)), "{all:?}");
    assert_eq!(planned(own, Passes::Both, &named), all);
    assert!(planned(others, Passes::Both, &Filter::default()).is_empty());
    assert_eq!(planned(others, Passes::Both, &named), all);
    let request = Request { passes: Passes::Backward, filter: named, ..Request::everything(1) };
    assert!(Plan::new(&request, &CpuBackend::new()).is_empty());
}

/// What was planned is never dropped silently.
#[test]
fn a_backend_that_promises_derivatives_and_has_none_is_not_measured() {
    let results = of_sweeps(&SOUND, &[Method::Zoh], 1);
    assert_eq!(results.cases.len(), 13);
    assert!(results.cases.iter().all(|case| case.verdict == Verdict::Unmeasured));
    assert!(results.cases.iter().all(|case| case.reason == "it has no derivatives"));
}

/// The CPU's kernels, but for one part of each step's derivatives.
struct Spoilt {
    inner: CpuBackend,
    name: StepName,
    /// What a number there becomes, at this place among them.
    spoil: fn(usize, f32) -> f32,
}

impl Backend for Spoilt {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn device(&self) -> String {
        self.inner.device()
    }

    fn promise(&self) -> Promise {
        self.inner.promise()
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>, KernelError> {
        self.inner.scan(method, problem)
    }

    fn coefficients(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Result<Coefficients, KernelError> {
        self.inner.coefficients(method, problem)
    }

    fn derivatives(
        &self,
        method: Method,
        problem: &CoefficientProblem,
    ) -> Option<Result<Derivatives, KernelError>> {
        let spoilt = |mut all: Derivatives| {
            let values = match self.name {
                StepName::ABar => &mut all.a_bar,
                StepName::Slope => &mut all.slope,
                StepName::H => &mut all.h,
                StepName::HByDelta => &mut all.h_by_delta,
                StepName::HByA => &mut all.h_by_a,
            };
            values.iter_mut().enumerate().for_each(|(i, value)| *value = (self.spoil)(i, *value));
            all
        };
        Some(self.inner.derivatives(method, problem)?.map(spoilt))
    }
}

/// Both what is off by 2⁻¹⁸ throughout and one NaN.
#[test]
fn each_part_of_a_step_that_is_off_fails_and_no_other() {
    let spoils: [fn(usize, f32) -> f32; 2] =
        [|_, x| x * (1.0 + 2f32.powi(-18)), |i, x| if i == 40 { f32::NAN } else { x }];
    for name in StepName::ALL {
        for spoil in spoils {
            let spoilt = Spoilt { inner: CpuBackend::new(), name, spoil };
            let results = of_sweeps(&spoilt, &[Method::Foh, Method::Bilinear], 1);
            let is_usual = |case: &&CaseResult| ["∂ real axis", "∂ complex plane"].contains(&&*case.regime);
            let usual: Vec<&CaseResult> = results.cases.iter().filter(is_usual).collect();
            assert_eq!(usual.len(), 4);
            for case in usual {
                for (judged, tensor) in case.tensors.iter() {
                    let wrong = tensor.verdict == Verdict::Fail;
                    assert_eq!(wrong, judged == name.into(), "{}: {judged}, {name} is spoilt", case.id);
                    let shown = tensor.worst.as_ref().expect("an element");
                    assert!(shown.inputs[0].starts_with("delta = "), "{shown:?}");
                }
            }
        }
    }
}

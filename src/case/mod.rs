//! One method on one problem through truth, bounds and judge, whatever its output comes from: a backend that runs here
//! ([`crate::verify`]; a foreign header is one), or a recording ([`crate::check`](mod@crate::check)).

pub mod dense;

use std::sync::Arc;

use crate::formula::Form;
use crate::judge::budget::gradient::{GradientBudget, Pass};
use crate::judge::budget::{self, Budget};
use crate::judge::diagnose::Work;
use crate::judge::explain::gradients;
use crate::judge::pairwise::{self, MethodOutputs};
use crate::judge::scan::{self, Place};
use crate::judge::ulp::Format;
use crate::judge::{gradient, lean, relative};
use crate::method::Method;
use crate::problem::stretch::Inputs;
use crate::problem::{Problem, Weights};
use crate::promise::{KernelError, Promise};
use crate::results::{CaseResult, Diagnosis, PairwiseMatrix, Relative, TensorResult, Verdict};
use crate::tensor::{ComputedName, ElementType, GradientName, Gradients, Named, TensorName, Tensors};
use crate::truth::{self, TruthError};

/// A case whose truth is known, with all that a judgement of it needs.
pub struct SolvedCase<'a, M = Method> {
    /// A method that runs here, or whatever form a recording has.
    pub method: M,
    pub problem: &'a Problem,
    pub want: &'a Tensors<f64>,
    pub budget: Arc<Budget>,
    pub promise: Promise,
}

/// The verdict on what a kernel returned, and the solved case where there is a truth. With it come the bounds of the
/// promise.
pub fn judge<'a, M: Copy + Into<Form>>(
    (method, problem): (M, &'a Problem),
    place: Place,
    promise: Promise,
    truth: Result<(&'a Tensors<f64>, Arc<Budget>), &TruthError>,
    got: Result<&Tensors<f32>, &KernelError>,
) -> (CaseResult, Option<SolvedCase<'a, M>>) {
    let (want, budget) = match truth {
        Ok(known) => known,
        Err(error) => {
            let (unmeasured, reason) = (Verdict::Unmeasured, error.to_string());
            return (scan::without_output(method, problem, place, unmeasured, reason), None);
        }
    };
    let case = match got {
        Ok(got) => {
            let tensors = scan::judge(method, problem, got, want, &budget);
            let mut case = scan::case(method, problem, place, tensors);
            let (contract, stages) = (&promise.contract, promise.contract.arithmetic.stages);
            if case.verdict == Verdict::Pass && stages != stages.in_f32() {
                let got = (&problem.judged(got), want);
                let asked = lean::Asked::Possibility;
                let leaning = lean::leaning(method.into(), problem, contract, got, &budget, asked);
                scan::add_leaning(&mut case, &leaning, stages);
            }
            case
        }
        Err(error) => without_output(method, problem, place, error),
    };
    (case, Some(SolvedCase { method, problem, want, budget, promise }))
}

/// Positions × states × channels up to which a certified truth is asked for what the quick route leaves open of gradients: some
/// 100 µs each. A position of a dense A has n³ products of numbers, of which so many take as long.
const CERTIFIED: usize = 100_000;
const PRODUCTS: usize = 32;

/// Elements of all gradients up to which a failure is diagnosed: each model computes as many.
const DIAGNOSED: usize = 4_000_000;

/// Whether these are few enough to be diagnosed.
pub fn are_diagnosed(got: &Gradients<f32>) -> bool {
    got.values().map(|tensor| tensor.values.len()).sum::<usize>() <= DIAGNOSED
}

/// The verdicts on a backward pass's gradients, and what they were judged by.
#[derive(Clone, Debug, Default)]
pub struct JudgedGradients {
    pub tensors: Named<TensorResult, GradientName>,
    /// What each gradient is, and what it may be off: by the quick route, or certified where that left something open. None
    /// where it was not to be kept.
    pub known: Option<CertifiedGradients>,
}

/// Explanations of those gradients of a judged backward pass that fail.
pub fn diagnose_gradients(
    pass: Pass,
    got: &Gradients<f32>,
    failing: &[GradientName],
    work: &Work,
) -> Named<Vec<Diagnosis>, GradientName> {
    if failing.is_empty() || !are_diagnosed(got) {
        return Named::default();
    }
    let Pass { form, problem, given, .. } = pass;
    let GradientBudget { tensors: bounds, .. } = budget::gradient::bounds(pass);
    let want = got.map(|name, tensor| tensor.with(bounds[name].value.clone()));
    let got = widened(got);
    let bounds = bounds.map(|_, bounds| bounds.bound.clone());
    let (got, want, bounds) = (&got, &want, &bounds);
    let case = gradients::Case { form: *form, problem, given, got, want, bounds, work };
    gradients::diagnose(&case, failing)
}

pub fn widened(got: &Gradients<f32>) -> Gradients<f64> {
    got.map(|_, tensor| tensor.with(tensor.values.iter().map(|&x| f64::from(x)).collect()))
}

/// A certified truth of gradients, and their bounds.
pub type CertifiedGradients = (Gradients<f64>, GradientBudget);

/// The verdicts on the gradients of a method, every element by a certified truth; and that truth with the bounds, where there is
/// one. Nothing is explained.
pub fn certified_gradients(
    pass: Pass,
    got: &Gradients<f32>,
) -> (Named<TensorResult, GradientName>, Option<CertifiedGradients>) {
    let bounds = budget::gradient::bounds(pass);
    let methods: Vec<Method> = pass.form.method().into_iter().collect();
    match truth::gradient::solve(pass.problem, pass.given, &methods).map(|mut truths| truths.pop()) {
        Ok(Some(truth)) => {
            let tensors = gradient::by_truth(pass, got, &truth.tensors, &bounds);
            (tensors, Some((truth.tensors, bounds)))
        }
        without => {
            let reason = without.err().map_or("there is no truth".to_owned(), |error| error.to_string());
            (gradient::without_truth(got, &reason), None)
        }
    }
}

/// The verdicts on a backward pass's gradients, and where `keeps` what they were judged by. Nothing is explained. By the quick
/// route, and where that leaves something open and the problem is small by a certified truth. `advance` is told of each channel.
/// Where y is stated to be kept in 16 bits, the errors of grad.z are also judged together.
pub fn gradients(
    pass: Pass,
    got: &Gradients<f32>,
    keeps: bool,
    advance: &(dyn Fn() + Sync),
) -> JudgedGradients {
    let mut judged = by_bounds(pass, got, keeps, advance);
    let stages = pass.contract.arithmetic.stages;
    if stages != stages.in_f32()
        && let (Some(got), Some(z)) = (got.get(GradientName::Z), judged.tensors.get_mut(GradientName::Z))
        && z.verdict == Verdict::Pass
        && let Some(lean) = lean::leaning_of_z(pass, got)
    {
        (z.verdict, z.reason) = (Verdict::Fail, lean.reason(stages));
        z.beyond = scan::beyond(z.verdict, z.worst_case_ratio);
    }
    judged
}

fn by_bounds(pass: Pass, got: &Gradients<f32>, keeps: bool, advance: &(dyn Fn() + Sync)) -> JudgedGradients {
    let shape = pass.problem.shape;
    let n = shape.dstate;
    let each = if pass.problem.is_dense() { n.max(n.pow(3) / PRODUCTS) } else { n };
    let is_small = shape.sequence_len().saturating_mul(each) <= CERTIFIED;
    let mut quick = gradient::quick(pass, got, keeps || is_small, advance);
    let bounds = GradientBudget { tensors: std::mem::take(&mut quick.bounds), walked: quick.walked };
    let mut judged = JudgedGradients { tensors: gradient::by_quick(pass, &quick, got), known: None };
    let by_quick = |bounds: GradientBudget| {
        (bounds.tensors.map(|name, bounds| got[name].with(bounds.value.clone())), bounds)
    };
    let (true, Some(method)) = (quick.is_open() && is_small, pass.form.method()) else {
        judged.known = keeps.then(|| by_quick(bounds));
        return judged;
    };
    match truth::gradient::solve(pass.problem, pass.given, &[method]) {
        Ok(truths) => {
            judged.tensors = gradient::by_truth(pass, got, &truths[0].tensors, &bounds);
            // Of a recording that has some of the gradients, those.
            judged.known = keeps.then(|| (got.map(|name, _| truths[0].tensors[name].clone()), bounds));
        }
        Err(error) => {
            judged.known = keeps.then(|| by_quick(bounds));
            for (_, tensor) in judged.tensors.iter_mut().filter(|(_, t)| t.verdict == Verdict::Unmeasured) {
                tensor.reason = error.to_string();
            }
        }
    }
    judged
}

/// Lets a case that passes its bounds fail by the relative gate.
pub fn gate(case: &mut CaseResult, relative: Option<Relative>) {
    case.relative = relative;
    if let (Verdict::Pass, Some(relative)) = (case.verdict, relative)
        && !relative.passes()
    {
        (case.verdict, case.reason) = (Verdict::Fail, relative.reason());
    }
}

/// What a matrix of methods needs of each gradient of a pass. `got` is what was computed, none where nothing was; what could
/// not be measured is none either.
pub fn outputs_of_gradients(
    form: Form,
    got: Option<&Gradients<f32>>,
    tensors: &Named<TensorResult, GradientName>,
    (want, budget): &CertifiedGradients,
) -> Named<MethodOutputs, GradientName> {
    let is_measured = |name| tensors.get(name).is_some_and(|tensor| tensor.verdict != Verdict::Unmeasured);
    want.map(|name, want| {
        let got = got.filter(|_| is_measured(name)).and_then(|got| got.get(name));
        let bounds = &budget.tensors[name].bound;
        MethodOutputs {
            form,
            format: Format::for_input(want.element),
            truth: want.values.clone(),
            kernel: got.map(|got| got.values.iter().map(|&x| x.into()).collect()),
            bound: bounds.iter().flat_map(|&bound| std::iter::repeat_n(bound, want.width)).collect(),
        }
    })
}

/// A case whose kernel returned nothing, for this reason.
pub fn without_output(
    form: impl Into<Form>,
    problem: &Problem,
    place: Place,
    error: &KernelError,
) -> CaseResult {
    scan::without_output(form, problem, place, verdict_of(error), error.to_string())
}

/// A kernel that faults has been measured, and found wanting; one that could not be run has not been measured.
pub fn verdict_of(error: &KernelError) -> Verdict {
    if error.is_fault() { Verdict::Fail } else { Verdict::Unmeasured }
}

impl<M: Copy + Into<Form>> SolvedCase<'_, M> {
    /// `got` against the same-precision references.
    pub fn relative(&self, got: &Tensors<f64>, references: &[Tensors<f64>]) -> Option<Relative> {
        relative::judge(got, references, self.want, &self.budget, self.promise.contract.z_roundings)
    }

    /// What a matrix of methods needs of this one, `got` being its judged channels.
    pub fn outputs(&self, got: Option<&Tensors<f64>>) -> MethodOutputs {
        MethodOutputs {
            form: self.method.into(),
            format: Format::for_input(self.problem.stored(TensorName::Out)),
            truth: self.want[TensorName::Out].values.clone(),
            kernel: got.map(|got| got[TensorName::Out].values.clone()),
            bound: self.budget.tensors[TensorName::Out].bound.clone(),
        }
    }
}

/// What is compared between methods: `regime` and `id` are the problem's in results, `source` is what computed it.
#[derive(Clone, Copy)]
pub struct Compared<'a, P = Problem> {
    pub problem: &'a P,
    pub source: &'a str,
    pub regime: &'a str,
    pub id: &'a str,
}

impl Compared<'_> {
    /// The truth's matrix of methods and that of the source.
    pub fn outputs(&self, outputs: &[MethodOutputs]) -> [PairwiseMatrix; 2] {
        let problem = self.problem;
        let indexed = problem.judged_tensor(TensorName::Out, Vec::<f64>::new());
        let outline = problem.outline();
        let index =
            |position| outline.recorded_index(TensorName::Out, problem.judged_index(&indexed, position));
        self.matrices(ComputedName::out(), (problem.weights, problem.input.into()), outputs, index)
    }

    /// The same of each gradient, of the passes that have it.
    pub fn gradients(&self, passes: Vec<Named<MethodOutputs, GradientName>>) -> Vec<[PairwiseMatrix; 2]> {
        let (problem, outline) = (self.problem, self.problem.outline());
        let matrices = |(name, outputs): (GradientName, Vec<MethodOutputs>)| {
            let indexed = problem.gradient(name, Vec::<f64>::new());
            let index = |position| outline.recorded_index(name, indexed.index(position));
            self.matrices(name.into(), (problem.weights, problem.input.into()), &outputs, index)
        };
        by_tensor(&GradientName::ALL, passes).map(matrices).collect()
    }
}

/// Each tensor that several methods have, with theirs.
fn by_tensor<N: Copy + Ord>(
    names: &[N],
    mut methods: Vec<Named<MethodOutputs, N>>,
) -> impl Iterator<Item = (N, Vec<MethodOutputs>)> {
    let of_name = move |&name: &N| (name, methods.iter_mut().filter_map(|all| all.remove(name)).collect());
    names.iter().map(of_name).filter(|(_, outputs): &(N, Vec<MethodOutputs>)| outputs.len() > 1)
}

impl<P> Compared<'_, P> {
    fn matrices(
        &self,
        tensor: ComputedName,
        (weights, input): (Weights, ElementType),
        outputs: &[MethodOutputs],
        index: impl Fn(usize) -> Vec<usize>,
    ) -> [PairwiseMatrix; 2] {
        let (truth, kernel) = pairwise::matrices(outputs, index);
        [("truth", truth), (self.source, kernel)].map(|(source, pairs)| PairwiseMatrix {
            source: source.to_owned(),
            regime: self.regime.to_owned(),
            weights,
            input,
            problem: self.id.to_owned(),
            tensor,
            pairs,
        })
    }
}

//! The verdict on one method's selective scan: outputs and last states against the truth, element by element.

use std::num::NonZeroUsize;

use super::budget::{self, Bounds, Budget};
use super::lean::Lean;
use super::location;
use super::quick::QuickTally;
use super::ulp::Format;
use super::verdict::{Distance, Element, Tally, worst_recorded};
use crate::formula::Form;
use crate::problem::conventions::Direction;
use crate::problem::stretch::{Inputs, Outline, Stretch};
use crate::problem::{Operand, Order, Problem, Shape, Stages, Weights};
use crate::promise::Contract;
use crate::promise::allowance::Arithmetic;
use crate::results::explained::{headline, worst_tensor};
use crate::results::{Beyond, CaseResult, TensorResult, Verdict, Worst};
use crate::tensor::{ComputedName, ElementType, GradientName, Named, Tensor, TensorName, Tensors};

/// Judges each tensor that the kernel returned for every channel against the truth of the judged ones.
pub fn judge(
    form: impl Into<Form>,
    problem: &Problem,
    got: &Tensors<f32>,
    want: &Tensors<f64>,
    budget: &Budget,
) -> Named<TensorResult> {
    let form = form.into();
    let judged = problem.judged(got);
    judged
        .zip(want)
        .map(|(name, judged, want)| {
            let bounds = &budget.tensors[name];
            let (tallied, strays) =
                (tally(judged, want, bounds), strays(problem.outline(), name, &got[name]));
            let mut result = result(form, problem, name, (judged, tallied), strays);
            if result.verdict == Verdict::Fail {
                result.wrong = location::of_output(problem, name, (judged, want), bounds);
            }
            (name, result)
        })
        .collect()
}

/// The values of all channels that are no numbers, as a reason to fail. Channels without a truth are still the kernel's to
/// compute: a NaN there is an element never written.
fn strays(outline: Outline, name: TensorName, got: &Tensor<f32>) -> Option<String> {
    let first = got.values.iter().position(|value| value.is_nan())?;
    let count = got.values.iter().filter(|value| value.is_nan()).count();
    Some(strays_at(name, count, &outline.recorded_index(name, got.index(first))))
}

fn strays_at(name: TensorName, count: usize, index: &[usize]) -> String {
    format!("{count} values are NaN, over all channels, the first of them {name}{index:?}")
}

/// Fails a case for values that are no numbers, so many and the first of them at this place among the values of a tensor of all
/// channels, of which the case may have seen a few.
pub fn add_strays(case: &mut CaseResult, outline: Outline, name: TensorName, (count, first): (usize, usize)) {
    let Some(tensor) = case.tensors.get_mut(name) else { return };
    // Its place is in the order of the file's positions, not of the scan's.
    let in_file = Outline { direction: Direction::Forward, ..outline };
    let index = in_file.recorded_index(name, outline.tensor(name, Vec::<f32>::new()).index(first));
    (tensor.verdict, tensor.reason) = (Verdict::Fail, strays_at(name, count, &index));
    tensor.beyond = beyond(tensor.verdict, tensor.worst_case_ratio);
    summarize(case);
}

/// What the verdicts on tensors come to.
pub fn verdict(tensors: &Named<TensorResult>) -> Verdict {
    Verdict::of_all(tensors.values().map(|tensor| tensor.verdict))
}

/// Whether every element of the judged channels is within its bound, as far as it has one.
pub fn within(got: &Tensors<f64>, want: &Tensors<f64>, budget: &Budget) -> bool {
    got.zip(want).all(|(name, got, want)| !tally(got, want, &budget.tensors[name]).0.fails())
}

/// What the comparison of a tensor comes to, and its largest error over the worst-case bound.
fn tally(got: &Tensor<f64>, want: &Tensor<f64>, bounds: &Bounds) -> (Tally, f64) {
    let format = Format::for_input(want.element);
    let (mut tally, mut worst_case) = (Tally::default(), 0.0f64);
    for (i, (&got, &exact)) in got.values.iter().zip(&want.values).enumerate() {
        let at = i / want.width;
        let element = Element { got, want: exact, bound: bounds.bound[at], store: bounds.store[at] };
        tally.add(element, format);
        let distance = Element { bound: bounds.worst_case[at], ..element }.distance(format);
        worst_case = worst_case.max(distance.ratio);
    }
    (tally, worst_case)
}

/// What the comparison of a tensor comes to, with its largest error over the worst-case bound. Where it is wrong is for others to add.
pub(super) fn of_tally(
    tally: &Tally,
    worst_case_ratio: f64,
    shown: impl FnOnce((usize, Element, Distance)) -> Worst,
) -> TensorResult {
    let (verdict, reason) = match () {
        () if tally.fails() => (Verdict::Fail, ""),
        () if tally.unbounded.is_some() => (Verdict::Unmeasured, UNBOUNDED),
        () if tally.passes() => (Verdict::Pass, ""),
        () => (Verdict::Fail, ""),
    };
    TensorResult {
        verdict,
        reason: reason.to_owned(),
        beyond: beyond(verdict, worst_case_ratio),
        worst_case_ratio,
        judged: tally.judged,
        quick: 0,
        worst: tally.worst.map(shown),
        max_ulp: tally.max_ulp,
        rel_l2: tally.rel_l2(),
        wrong: Vec::new(),
        diagnosis: Vec::new(),
    }
}

fn result(
    form: Form,
    problem: &Problem,
    name: TensorName,
    (tensor, (tally, worst_case)): (&Tensor<f64>, (Tally, f64)),
    strays: Option<String>,
) -> TensorResult {
    let shown = |(position, element, distance)| {
        let index = problem.judged_index(tensor, position);
        let Ok(shown) = shown((form, problem, name), (tensor.width, position, index), (element, distance));
        shown
    };
    let mut result = of_tally(&tally, worst_case, shown);
    if let Some(strays) = strays {
        (result.verdict, result.reason) = (Verdict::Fail, strays);
        result.beyond = beyond(result.verdict, worst_case);
    }
    result
}

/// The worst element, at this position of the tensor's values and this index (batch, channel, …).
fn shown<I: Inputs>(
    (form, inputs, name): (Form, &I, TensorName),
    (width, position, index): (usize, usize, Vec<usize>),
    (element, distance): (Element, Distance),
) -> Result<Worst, I::Error> {
    let part = match (width, position % width) {
        (1, _) => "",
        (_, 0) => ".re",
        (_, _) => ".im",
    };
    // The state and the position that say most of the element.
    let outline = inputs.outline();
    let (n, l) = match (name, &index[2..]) {
        (TensorName::Out, at) => (0, at[0]),
        (TensorName::LastState, at) => {
            let slot = if at.len() > 1 { at[0] } else { 0 };
            let sequences = inputs.sequences(index[0]);
            let own = sequences.iter().find(|sequence| sequence.last == Some(slot));
            (at[at.len() - 1], own.map_or(outline.shape.seqlen, |own| own.positions.end) - 1)
        }
        (TensorName::ChunkStates, at) => {
            let start = at[0] * outline.chunk.map_or(1, NonZeroUsize::get);
            (at[1], start.saturating_sub(1))
        }
        (TensorName::DaCumsum, at) => (0, at[0]),
    };
    let stretch = inputs.stretch((index[0], index[1]), l..l + 1)?;
    let inputs = inputs_at(form, &stretch, (outline, [index[0], index[1], n, l]));
    Ok(worst_recorded(&format!("{name}{part}"), (outline, name.into(), index), element, distance, inputs))
}

/// Where a case stands in a run.
#[derive(Clone, Debug)]
pub struct Place {
    pub id: String,
    pub regime: String,
    /// The problem's fingerprint.
    pub inputs: String,
    pub backend: String,
    /// The command that reruns just this case.
    pub rerun: String,
}

/// What results say of a problem.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    pub shape: Shape,
    pub weights: Weights,
    pub input: ElementType,
    pub b: Operand,
    pub c: Operand,
}

impl From<&Problem> for Described {
    fn from(problem: &Problem) -> Self {
        let &Problem { shape, weights, input, b_operand: b, c_operand: c, .. } = problem;
        Described { shape, weights, input: input.into(), b, c }
    }
}

/// A case of which nothing was compared, for this reason.
pub fn without_output(
    form: impl Into<Form>,
    problem: impl Into<Described>,
    place: Place,
    verdict: Verdict,
    reason: String,
) -> CaseResult {
    let Described { shape, weights, input, b, c } = problem.into();
    CaseResult {
        id: place.id,
        method: form.into(),
        weights,
        input,
        b,
        c,
        regime: place.regime,
        shape,
        inputs: place.inputs,
        backend: place.backend,
        verdict,
        reason,
        beyond: Beyond::None,
        worst_case_ratio: f64::NAN,
        relative: None,
        lifted: None,
        judged: 0,
        worst: None,
        max_ulp: f64::NAN,
        rel_l2: f64::NAN,
        diagnosis: Vec::new(),
        search: None,
        tensors: Named::default(),
        seeds: None,
        rerun: place.rerun,
    }
}

/// A case of these tensors, not yet diagnosed.
pub fn case<N: Ord + Copy + Into<ComputedName>>(
    form: impl Into<Form>,
    problem: impl Into<Described>,
    place: Place,
    tensors: Named<TensorResult, N>,
) -> CaseResult {
    let mut case = without_output(form, problem, place, Verdict::Unmeasured, String::new());
    case.tensors = tensors.under();
    summarize(&mut case);
    case
}

/// Adds to a case what is known of the same tensors of other channels, from their truth.
pub fn absorb(case: &mut CaseResult, others: Named<TensorResult>) {
    for (name, other) in others {
        let Some(tensor) = case.tensors.get_mut(name) else { continue };
        let worse = |a: &TensorResult, b: &TensorResult| {
            let share = |t: &TensorResult| t.worst.as_ref().map_or(f64::NEG_INFINITY, |worst| worst.share);
            share(a) > share(b)
        };
        if other.verdict > tensor.verdict {
            (tensor.verdict, tensor.reason) = (other.verdict, other.reason.clone());
        }
        if tensor.wrong.is_empty() {
            tensor.wrong.clone_from(&other.wrong);
        }
        if worse(&other, tensor) {
            tensor.worst.clone_from(&other.worst);
        }
        tensor.judged += other.judged;
        tensor.worst_case_ratio = tensor.worst_case_ratio.max(other.worst_case_ratio);
        tensor.beyond = beyond(tensor.verdict, tensor.worst_case_ratio);
        tensor.max_ulp = tensor.max_ulp.max(other.max_ulp);
    }
    summarize(case);
}

/// Fails tensors of a case whose elements are within their bounds, and whose errors together are no roundings of these stages. Of
/// several findings the one of most elements is said.
pub fn add_leaning(case: &mut CaseResult, leaning: &[(TensorName, Lean)], stages: Stages) {
    for (name, tensor) in case.tensors.iter_mut() {
        let of_tensor = leaning.iter().filter(|(leaning, _)| Some(*leaning) == name.output());
        let Some((_, lean)) = of_tensor.max_by_key(|(_, lean)| lean.elements) else { continue };
        if tensor.verdict == Verdict::Pass {
            (tensor.verdict, tensor.reason) = (Verdict::Fail, lean.reason(stages));
            tensor.beyond = beyond(tensor.verdict, tensor.worst_case_ratio);
        }
    }
    summarize(case);
}

/// Adds to a case what the quick route says: of the channels that have a truth, and of the others.
pub fn add_quick<I: Inputs>(
    case: &mut CaseResult,
    inputs: &I,
    certified: &Named<QuickTally>,
    others: &Named<QuickTally>,
) -> Result<(), I::Error> {
    let failed: usize = certified.values().chain(others.values()).map(|tally| tally.failed).sum();
    if case.tensors.is_empty() && failed > 0 {
        // The method has no truth: what fails by the quick route fails all the same.
        case.verdict = Verdict::Fail;
        case.reason =
            format!("{failed} elements are beyond their bounds, and none can be shown: {}", case.reason);
        return Ok(());
    }
    let form = case.method;
    for (name, tensor) in case.tensors.iter_mut() {
        let Some(name) = name.output() else { continue };
        let [known, others] =
            [certified, others].map(|tallies| tallies.get(name).copied().unwrap_or_default());
        let worse = |tensor: &mut TensorResult, verdict: Verdict, reason: String| {
            if verdict > tensor.verdict {
                (tensor.verdict, tensor.reason) = (verdict, reason);
            }
        };
        // Both routes judge these. What they say must be the same: that is the theorem.
        let fails = tensor.verdict == Verdict::Fail;
        if known.elements() == 0 && tensor.reason.is_empty() {
            // No channel has a truth: the quick route alone decides.
            tensor.verdict = Verdict::Pass;
        }
        let shown_share = tensor.worst.as_ref().map_or(f64::NEG_INFINITY, |worst| worst.share);
        if known.elements() == 0 || others.failed > 0 && others.share > shown_share {
            // By its quick value.
            let of = |(row, i, element): (usize, usize, Element)| {
                let whole = inputs.outline().tensor(name, Vec::<f64>::new());
                let row_len = whole.shape[2..].iter().product::<usize>() * whole.width;
                let distance = element.distance(Format::for_input(whole.element));
                let at = row * row_len + i;
                shown((form, inputs, name), (whole.width, at, whole.index(at)), (element, distance))
            };
            tensor.worst = others.worst.map(of).transpose()?;
        }
        let comparable = known.elements() > 0 && known.open == 0 && tensor.reason.is_empty();
        if comparable && fails != (known.failed > 0) {
            let reason =
                "the quick and the certified route disagree, which is a defect of holdfast: please report it";
            (tensor.verdict, tensor.reason) = (tensor.verdict.max(Verdict::Unmeasured), reason.to_owned());
        }
        if others.open > 0 {
            let reason =
                format!("{} elements are left open by the quick route, and have no truth", others.open);
            worse(tensor, Verdict::Unmeasured, reason);
        }
        if others.unbounded > 0 {
            worse(tensor, Verdict::Unmeasured, UNBOUNDED.to_owned());
        }
        if others.failed > 0 {
            worse(tensor, Verdict::Fail, String::new());
        }
        tensor.judged += others.elements();
        tensor.quick += others.passed + others.failed;
        tensor.worst_case_ratio = tensor.worst_case_ratio.max(others.worst_case_ratio);
        tensor.beyond = beyond(tensor.verdict, tensor.worst_case_ratio);
        tensor.max_ulp = tensor.max_ulp.max(others.max_ulp);
        let mut whole = known;
        whole.absorb(&others);
        tensor.rel_l2 = whole.rel_l2();
    }
    summarize(case);
    Ok(())
}

/// Why an element without a bound is not measured.
pub const UNBOUNDED: &str = "the derived bound is infinite: nothing can be judged there";

/// Which bounds are exceeded, for this verdict and the largest error over its worst-case bound.
pub fn beyond(verdict: Verdict, worst_case_ratio: f64) -> Beyond {
    match verdict {
        Verdict::Fail if worst_case_ratio <= 1.0 => Beyond::Probabilistic,
        Verdict::Fail => Beyond::WorstCase,
        _ => Beyond::None,
    }
}

/// Fills in what a case says of its tensors together.
fn summarize(case: &mut CaseResult) {
    let (Some(worst), Some(first)) = (worst_tensor(case), case.tensors.values().next()) else { return };
    let (worst, first) = (worst.clone(), first.clone());
    case.verdict = worst.verdict;
    case.reason = worst.reason;
    case.beyond = case.tensors.values().map(|t| t.beyond).max().unwrap_or_default();
    case.worst_case_ratio = case.tensors.values().fold(0.0, |most, t| most.max(t.worst_case_ratio));
    case.judged = case.tensors.values().map(|t| t.judged).sum();
    case.worst = worst.worst;
    (case.max_ulp, case.rel_l2) = (first.max_ulp, first.rel_l2);
    case.diagnosis = headline(case);
}

/// The inputs of an item's channel and state at a position, as texts; A and B with their indices as they were given.
fn inputs_at(
    form: Form,
    stretch: &Stretch,
    (outline, [item, row, n, position]): (Outline, [usize; 4]),
) -> Vec<String> {
    let (problem, channel, l) = (&*stretch.problem, stretch.at, position - stretch.first);
    let Outline { axes, shape, .. } = outline;
    let of_heads = (axes.order == Order::Blhp).then_some(axes.headdim).or(axes.shared.a);
    let of_a = of_heads.map_or(vec![row, n], |channels| vec![row / channels]);
    let of_b = match problem.b_operand {
        Operand::Constant => vec![row, n],
        Operand::Variable => vec![item, row / (shape.dim / shape.groups), n, position],
    };
    let (delta, _) = budget::step_size(problem, channel, l, Arithmetic::SINGLE);
    // The number as a step has it, and what it is of.
    let named = match (problem.delta_softplus, problem.delta_bias.is_some()) {
        (false, false) => "delta",
        (false, true) => "delta + delta_bias",
        (true, false) => "softplus(delta)",
        (true, true) => "softplus(delta + delta_bias)",
    };
    let clamped = if problem.conventions.limit.is_none() { "" } else { "clamped " };
    let given = [
        format!("{clamped}{named} = {delta:e}"),
        format!("u = {:e}", problem.u[problem.sequence_index(channel.0, channel.1, l)]),
    ];
    if problem.is_dense() {
        let len = problem.floats_of_a();
        let squares = problem.a[channel.1 * len..][..len].iter().map(|&a| f64::from(a).powi(2));
        let norm = delta.abs() * squares.sum::<f64>().sqrt();
        return [&given[..], &[format!("‖ΔA‖ = {norm:.3e}, {0} × {0}", shape.dstate)]].concat();
    }
    let [delta_is, u_is] = given;
    let a = budget::complex_at(problem.weights, &problem.a, problem.weight_index(channel.1, n));
    let b = problem.operand_index(problem.b_operand, channel, n, l);
    let b = budget::complex_at(problem.weights, &problem.b, b);
    let step = super::model::step(form, problem.weights, (delta, 0.0), a, b, &Contract::PRODUCTION);
    let show = |name: &str, value: num_complex::Complex64| match problem.weights {
        Weights::Real => format!("{name} = {:e}", value.re),
        Weights::Complex => format!("{name} = {:e}{:+e}i", value.re, value.im),
    };
    vec![
        delta_is,
        show(&format!("A{:?}", outline.recorded_index(GradientName::A, of_a)), a),
        show(&format!("B{:?}", outline.recorded_index(GradientName::B, of_b)), b),
        u_is,
        show("a_bar", step.a_bar),
        show("b_bar", step.b_bar),
    ]
}

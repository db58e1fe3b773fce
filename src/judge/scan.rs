//! The verdict on one method's selective scan: outputs and last states against the truth, element by element.

use super::allowance::Arithmetic;
use super::budget::{self, Budget};
use super::contract::Contract;
use super::ulp::Format;
use super::verdict::{Element, Tally, worst};
use crate::method::Method;
use crate::problem::{Problem, Weights};
use crate::results::{Beyond, CaseResult, Verdict, Worst};

/// What the truth says about the judged channels of a problem.
#[derive(Clone, Copy, Debug)]
pub struct Want<'a> {
    /// (judged channels, seqlen)
    pub out: &'a [f64],
    /// (judged channels, dstate)·w
    pub last_state: &'a [f64],
}

/// What a kernel returned, for every channel.
#[derive(Clone, Copy, Debug)]
pub struct Got<'a> {
    /// (batch, dim, seqlen)
    pub out: &'a [f32],
    /// (batch, dim, dstate)·w; none where it was not recorded.
    pub last_state: Option<&'a [f32]>,
}

/// A scan's verdict and the figures behind it.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub verdict: Verdict,
    /// Why it is unmeasured; empty otherwise.
    pub reason: String,
    pub beyond: Beyond,
    /// Largest error over its worst-case bound.
    pub worst_case_ratio: f64,
    pub judged: usize,
    pub worst: Option<Worst>,
    pub max_ulp: f64,
    pub rel_l2: f64,
}

impl Judgement {
    /// Nothing was compared, for this reason.
    pub fn unmeasured(reason: String) -> Self {
        Judgement {
            verdict: Verdict::Unmeasured,
            reason,
            beyond: Beyond::None,
            worst_case_ratio: f64::NAN,
            judged: 0,
            worst: None,
            max_ulp: f64::NAN,
            rel_l2: f64::NAN,
        }
    }

    /// As a case of the results, not yet diagnosed.
    pub fn into_case(self, method: Method, problem: &Problem, place: Place) -> CaseResult {
        CaseResult {
            id: place.id,
            method,
            weights: problem.weights,
            input: problem.input,
            b: problem.b_operand,
            c: problem.c_operand,
            regime: place.regime,
            shape: problem.shape,
            inputs: place.inputs,
            backend: place.backend,
            verdict: self.verdict,
            reason: self.reason,
            beyond: self.beyond,
            worst_case_ratio: self.worst_case_ratio,
            relative: None,
            lifted: None,
            judged: self.judged,
            worst: self.worst,
            max_ulp: self.max_ulp,
            rel_l2: self.rel_l2,
            diagnosis: Vec::new(),
            rerun: place.rerun,
        }
    }
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

/// What all comparisons come to.
struct Tallies {
    out: Tally,
    last_state: Tally,
    /// Largest error over its worst-case bound.
    worst_case_ratio: f64,
}

fn compare(problem: &Problem, got: (&[f64], Option<&[f64]>), want: Want, budget: &Budget) -> Tallies {
    let width = problem.weights.width();
    let mut t = Tallies { out: Tally::default(), last_state: Tally::default(), worst_case_ratio: 0.0 };
    let mut add = |tally: &mut Tally, element: Element, worst: f64, format: Format| {
        tally.add(element, format);
        let ratio = Element { bound: worst, ..element }.distance(format).ratio;
        t.worst_case_ratio = t.worst_case_ratio.max(ratio);
    };
    for (i, (&got, &want)) in got.0.iter().zip(want.out).enumerate() {
        let element = Element { got, want, bound: budget.out[i], store: budget.store[i] };
        add(&mut t.out, element, budget.worst_out[i], Format::of(problem.input));
    }
    for (i, (&got, &want)) in got.1.unwrap_or_default().iter().zip(want.last_state).enumerate() {
        let element = Element { got, want, bound: budget.last_state[i / width], store: 0.0 };
        // The weight type is f32 whatever the input type.
        add(&mut t.last_state, element, budget.worst_last_state[i / width], Format::F32);
    }
    t
}

/// Whether every judged output and last state is within its bound, as far as it has one.
pub fn within(problem: &Problem, got: Want, want: Want, budget: &Budget) -> bool {
    let t = compare(problem, (got.out, Some(got.last_state)), want, budget);
    !t.out.fails() && !t.last_state.fails()
}

/// Judges every output and last state (where there is one) of the judged channels against `budget`.
pub fn judge(method: Method, problem: &Problem, got: Got, want: Want, budget: &Budget) -> Judgement {
    let out = problem.judged_sequences(got.out);
    let last_state = got.last_state.map(|values| problem.judged_states(values));
    let t = compare(problem, (&out, last_state.as_deref()), want, budget);
    let (verdict, reason) = verdict(got, &t.out, &t.last_state);
    let beyond = match verdict {
        Verdict::Fail if t.worst_case_ratio <= 1.0 => Beyond::Probabilistic,
        Verdict::Fail => Beyond::WorstCase,
        _ => Beyond::None,
    };
    Judgement {
        verdict,
        reason,
        beyond,
        worst_case_ratio: t.worst_case_ratio,
        judged: t.out.judged + t.last_state.judged,
        worst: worst_of(method, problem, &t.out, &t.last_state),
        max_ulp: t.out.max_ulp,
        rel_l2: t.out.rel_l2(),
    }
}

fn verdict(got: Got, out: &Tally, last_state: &Tally) -> (Verdict, String) {
    // Channels without a truth are still the kernel's to compute: a NaN there is an element never written.
    let strays = got.out.iter().chain(got.last_state.unwrap_or_default()).filter(|v| v.is_nan()).count();
    if strays > 0 {
        (Verdict::Fail, format!("{strays} values are NaN, over all channels"))
    } else if out.fails() || last_state.fails() {
        (Verdict::Fail, String::new())
    } else if out.unbounded.is_some() || last_state.unbounded.is_some() {
        (Verdict::Unmeasured, "the derived bound is infinite: nothing can be judged there".to_owned())
    } else if out.passes() && (got.last_state.is_none() || last_state.passes()) {
        (Verdict::Pass, String::new())
    } else {
        (Verdict::Fail, String::new())
    }
}

fn worst_of(method: Method, problem: &Problem, out: &Tally, last_state: &Tally) -> Option<Worst> {
    let (seqlen, dstate, width) = (problem.shape.seqlen, problem.shape.dstate, problem.weights.width());
    let out = out.worst?;
    let Some(last_state) = last_state.worst.filter(|state| state.2.share > out.2.share) else {
        let (row, l) = (out.0 / seqlen, out.0 % seqlen);
        let channel = problem.judged_channels[row];
        let inputs = inputs_at(method, problem, channel, 0, l);
        return Some(worst("out", vec![channel.0, channel.1, l], out.1, out.2, inputs));
    };
    let (row, i) = (last_state.0 / (dstate * width), last_state.0 % (dstate * width));
    let channel = problem.judged_channels[row];
    let tensor = match (problem.weights, i % 2) {
        (Weights::Real, _) => "last_state",
        (Weights::Complex, 0) => "last_state.re",
        (Weights::Complex, _) => "last_state.im",
    };
    let n = i / width;
    let inputs = inputs_at(method, problem, channel, n, seqlen - 1);
    Some(worst(tensor, vec![channel.0, channel.1, n], last_state.1, last_state.2, inputs))
}

/// The inputs of state n at position l, as texts.
fn inputs_at(method: Method, problem: &Problem, channel: (usize, usize), n: usize, l: usize) -> Vec<String> {
    let (delta, _) = budget::step_size(problem, channel, l, Arithmetic::SINGLE);
    let a = budget::complex_at(problem.weights, &problem.a, problem.weight_index(channel.1, n));
    let b = problem.operand_index(problem.b_operand, channel, n, l);
    let b = budget::complex_at(problem.weights, &problem.b, b);
    let step = super::model::step(method, problem.weights, (delta, 0.0), a, b, &Contract::PRODUCTION);
    let show = |name: &str, value: num_complex::Complex64| match problem.weights {
        Weights::Real => format!("{name} = {:e}", value.re),
        Weights::Complex => format!("{name} = {:e}{:+e}i", value.re, value.im),
    };
    vec![
        format!("delta = {delta:e}"),
        show(&format!("A[{n}]"), a),
        show(&format!("B[{n}]"), b),
        format!("u = {:e}", problem.u[problem.sequence_index(channel.0, channel.1, l)]),
        show(&format!("a_bar[{n}]"), step.a_bar),
        show(&format!("b_bar[{n}]"), step.b_bar),
    ]
}

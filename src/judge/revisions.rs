//! Two revisions of a kernel header, compared element by element: which is closer to the specification?
//!
//! # When a difference counts
//!
//! Every Ā and B̄u has a derived bound ([`super::coefficient::bounds`] under [`Contract::FOREIGN`]; B̄u has two more
//! products, with u and with B). Errors are in units of it. Where two revisions' bits differ,
//!
//! - both errors at most 1: both are as right as f32 allows, and the difference is **rounding**;
//! - both above 1, and the two values at most twice the bound apart: two roundings of one wrong value may be that far
//!   apart, so the difference is **rounding** here as well;
//! - otherwise the new one is **closer** if its error is the smaller one, and **farther** if not.
//!
//! Where an element has no finite bound, a difference means none of this: such values are counted apart
//! ([`MethodDiff::unbounded`]).
//!
//! An element that leaves its bound thus counts as farther even where it moves by less than rounding may, and one that
//! comes into it as closer. Errors that no number tells (a NaN, an infinity) are larger than every other one, and equal to
//! each other. No tolerance is typed anywhere.

use num_complex::Complex64;

use super::budget::complex_at;
use super::diagnose::{Work, sweep};
use super::reconstruct::expansion::{Evaluate, Point};
use super::ulp::Format;
use super::{coefficient, reconstruct};
use crate::method::Method;
use crate::problem::elements::Elements;
use crate::problem::{Operand, Weights};
use crate::promise::Contract;
use crate::promise::allowance::{self, HALF_SUBNORMAL};
use crate::results::Diagnosis;
use crate::results::revisions::{Change, Difference, MethodDiff};

/// Far off is an error of so many bounds: half of the digits of an f32 are wrong.
const FAR: f64 = 4096.0;

/// Why a revision computed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoOutput {
    pub reason: String,
    /// Whether it is the revision's own fault, and not this machine's.
    pub is_fault: bool,
}

/// What a revision computed: (n)·w each, or why it did not.
pub type RevisionOutput<'a> = Result<(&'a [f32], &'a [f32]), NoOutput>;

/// Elements that a cause is held against: enough to meet a place that matters.
const EXPLAINED: usize = 400;

/// What a revision computes on the elements in place of what is specified, by the formula that its double build tells or by
/// the fault model that its Ā and B̄ look like: u is 1 in `got`. None where nothing was found, as far as the work went.
pub fn cause(
    method: Method,
    elements: &Elements,
    (evaluate, work): (&Evaluate, &Work),
    got: impl FnOnce() -> Option<[Vec<f32>; 2]>,
    want: (&[f64], &[f64]),
) -> Option<Diagnosis> {
    let problem = &elements.coefficients;
    let (count, width) = (problem.delta.len(), problem.weights.width());
    let point = |i: usize| Point {
        delta: problem.delta[i].into(),
        a: complex_at(problem.weights, &problem.a, i * width),
        b: complex_at(problem.weights, &problem.b, i * width),
        u: elements.u[i].into(),
    };
    let points: Vec<Point> = (0..count).step_by(count.div_ceil(EXPLAINED).max(1)).map(point).collect();
    let formula = reconstruct::identify(method, problem.weights, evaluate, work);
    let formula = formula.map(|found| found.named(method, evaluate, work));
    formula.and_then(|formula| formula.explains(&points, evaluate)).or_else(|| {
        if work.is_over() {
            return None;
        }
        let [a_bar, b_bar] = got()?;
        sweep::diagnose(method, problem, (&a_bar, &b_bar), want, work).into_iter().next()
    })
}

/// Compares two revisions on the elements, whose Ā and B̄ (not B̄u) the truth knows.
pub fn compare(
    method: Method,
    b: Operand,
    elements: &Elements,
    old: RevisionOutput,
    new: RevisionOutput,
    want: Result<(&[f64], &[f64]), String>,
) -> MethodDiff {
    let blank = MethodDiff::blank(method, elements.coefficients.weights, b);
    let want = match want {
        Ok(want) => want,
        Err(reason) => return MethodDiff { new_reason: reason, ..blank },
    };
    let worst = |run: &RevisionOutput| {
        let values = *run.as_ref().ok()?;
        Some(worst(each(method, elements, want, values).map(|value| value.error)))
    };
    let trained = |run: &RevisionOutput| {
        let values = each(method, elements, want, *run.as_ref().ok()?);
        let values = values.filter(|value| elements.is_trained(value.index));
        let mut errors = values.map(|value| value.error).peekable();
        errors.peek()?;
        Some(self::worst(errors).0)
    };
    let (old_worst, new_worst) = (worst(&old), worst(&new));
    let reason =
        |run: &RevisionOutput| run.as_ref().err().map(|none| none.reason.clone()).unwrap_or_default();
    let blank = MethodDiff {
        old_worst: old_worst.map(|(worst, _)| worst),
        new_worst: new_worst.map(|(worst, _)| worst),
        old_trained: trained(&old),
        new_trained: trained(&new),
        old_infinite: old_worst.map(|(_, infinite)| infinite),
        new_infinite: new_worst.map(|(_, infinite)| infinite),
        old_reason: reason(&old),
        new_reason: reason(&new),
        ..blank
    };
    let change = match (old, new) {
        (Ok(old), Ok(new)) => {
            let (old, new) = (each(method, elements, want, old), each(method, elements, want, new));
            return tally(blank, elements, old, new);
        }
        // What this machine lacks says nothing of the revisions.
        (Err(NoOutput { is_fault: false, .. }), _) | (_, Err(NoOutput { is_fault: false, .. })) => {
            Change::Unmeasured
        }
        (Err(_), Err(_)) => Change::BothBroken,
        (Err(_), Ok(_)) => Change::Mended,
        (Ok(_), Err(_)) => Change::Broken,
    };
    MethodDiff { change, ..blank }
}

/// The largest error, and how many are infinite. One that is no number is infinite.
fn worst(errors: impl Iterator<Item = f64>) -> (f64, usize) {
    errors.fold((0.0, 0), |(worst, infinite), error| match error.is_finite() {
        true => (error.max(worst), infinite),
        false => (f64::INFINITY, infinite + 1),
    })
}

/// One value of one revision.
struct Value {
    is_b: bool,
    index: usize,
    got: Complex64,
    bits: (u32, u32),
    want: Complex64,
    bound: f64,
    /// |got − want| / bound
    error: f64,
}

/// Ā, then B̄u, of every element.
fn each<'a>(
    method: Method,
    elements: &'a Elements,
    want: (&'a [f64], &'a [f64]),
    got: (&'a [f32], &'a [f32]),
) -> impl Iterator<Item = Value> + 'a {
    let problem = &elements.coefficients;
    let width = problem.weights.width();
    let mu = allowance::product(problem.weights);
    let (a_bounds, b_bounds) = coefficient::bounds(method, problem, want, &Contract::FOREIGN);
    (0..problem.delta.len()).flat_map(move |index| {
        let (a_bound, b_bound) = (a_bounds[index], b_bounds[index]);
        let at = index * width;
        let part = |values: &[f64]| Complex64::new(values[at], if width == 2 { values[at + 1] } else { 0.0 });
        let u = f64::from(elements.u[index]);
        let b_bar_u = part(want.1) * u;
        // As in the budget of a scan: the products with u and with B.
        let products = b_bound * u.abs() * (1.0 + 2.0 * mu) + 2.0 * mu * b_bar_u.norm();
        let b_bound = products + 2.0 * HALF_SUBNORMAL * f64::from(u != 0.0);
        [(false, got.0, part(want.0), a_bound), (true, got.1, b_bar_u, b_bound)].map(
            |(is_b, values, want, bound)| {
                let got = complex_at(problem.weights, values, at);
                // All NaNs are one.
                let bits = |value: f32| if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() };
                let bits = (bits(values[at]), if width == 2 { bits(values[at + 1]) } else { 0 });
                Value { is_b, index, got, bits, want, bound, error: error(got, want, bound) }
            },
        )
    })
}

/// |got − want| in units of the bound; infinite for what is not finite, unless that part of the truth may lie beyond f32's
/// range, and for what no number tells.
fn error(got: Complex64, want: Complex64, bound: f64) -> f64 {
    let parts = [(got.re, want.re), (got.im, want.im)];
    let is_wrong = |(got, want): &(f64, f64)| {
        let may_overflow = want.abs() + bound >= Format::F32.overflow_threshold();
        got.is_nan() || got.is_infinite() && !(may_overflow && got.signum() == want.signum())
    };
    if parts.iter().any(is_wrong) {
        return f64::INFINITY;
    }
    let [re, im] = parts.map(|(got, want)| if got.is_finite() { got - want } else { 0.0 });
    let error = re.hypot(im);
    // Without a finite bound no finite number is known to be wrong.
    if error == 0.0 || bound == f64::INFINITY {
        return 0.0;
    }
    let share = error / bound;
    if share.is_nan() { f64::INFINITY } else { share }
}

fn tally(
    mut comparison: MethodDiff,
    elements: &Elements,
    old: impl Iterator<Item = Value>,
    new: impl Iterator<Item = Value>,
) -> MethodDiff {
    // The worst of each kind, by how much it matters.
    let mut worst: [Option<(f64, Value, Value)>; 3] = [None, None, None];
    for (old, new) in old.zip(new) {
        comparison.compared += 1;
        if old.bits == new.bits {
            comparison.equal += 1;
            continue;
        }
        // A NaN is told from numbers without any bound.
        if old.bound == f64::INFINITY && old.error.is_infinite() == new.error.is_infinite() {
            comparison.unbounded += 1;
            continue;
        }
        let gap = (old.got - new.got).norm() / old.bound;
        let (kind, weight) = match change(old.error, new.error, gap) {
            Change::Closer => (1, old.error),
            Change::Farther => (2, new.error),
            // Two that are no numbers are as far apart as can be.
            _ => (0, if gap.is_nan() { f64::INFINITY } else { gap }),
        };
        match kind {
            0 => comparison.rounding += 1,
            1 => comparison.closer += 1,
            _ => comparison.farther += 1,
        }
        if worst[kind].as_ref().is_none_or(|(heaviest, ..)| weight > *heaviest) {
            worst[kind] = Some((weight, old, new));
        }
    }
    comparison.change = match (comparison.closer, comparison.farther, comparison.rounding) {
        (0, 0, 0) if comparison.unbounded > 0 => Change::Unmeasured,
        (0, 0, 0) => Change::Equal,
        (0, 0, _) => Change::Rounding,
        (_, 0, _) => Change::Closer,
        (0, ..) => Change::Farther,
        _ => Change::Mixed,
    };
    let far = |worst: Option<f64>| worst.is_some_and(|worst| worst > FAR);
    let differ = !matches!(comparison.change, Change::Equal | Change::Unmeasured);
    if differ && far(comparison.old_trained) && far(comparison.new_trained) {
        comparison.change = Change::BothWrong;
    }
    let kinds = [Change::Rounding, Change::Closer, Change::Farther];
    let found = kinds.into_iter().zip(worst).filter_map(|(kind, worst)| Some((kind, worst?)));
    comparison.differences =
        found.map(|(kind, (_, old, new))| difference(kind, elements, &old, &new)).collect();
    comparison
}

/// What a difference between two values comes to (module docs): their errors and the gap between them, all in units of the
/// bound.
fn change(old: f64, new: f64, gap: f64) -> Change {
    let one_rounding = old <= 1.0 && new <= 1.0 || old > 1.0 && new > 1.0 && gap <= 2.0;
    if one_rounding || old == new {
        Change::Rounding
    } else if new < old {
        Change::Closer
    } else {
        Change::Farther
    }
}

fn difference(change: Change, elements: &Elements, old: &Value, new: &Value) -> Difference {
    let problem = &elements.coefficients;
    let (index, complex) = (old.index, problem.weights == Weights::Complex);
    let at = index * problem.weights.width();
    // Inputs and values are f32: their shortest texts; the truth has all its digits.
    let single = |value: Complex64| match complex {
        true => format!("{:e}{:+e}i", value.re as f32, value.im as f32),
        false => format!("{:e}", value.re as f32),
    };
    let weight =
        |name: &str, values: &[f32]| format!("{name} = {}", single(complex_at(problem.weights, values, at)));
    Difference {
        change,
        value: if old.is_b { "b_bar_u" } else { "a_bar" }.to_owned(),
        index,
        inputs: vec![
            format!("delta = {:e}", problem.delta[index]),
            weight("A", &problem.a),
            weight("B", &problem.b),
            format!("u = {:e}", elements.u[index]),
        ],
        old: single(old.got),
        new: single(new.got),
        truth: match complex {
            true => format!("{:e}{:+e}i", old.want.re, old.want.im),
            false => format!("{:e}", old.want.re),
        },
        old_error: old.error,
        new_error: new.error,
        trained: elements.is_trained(index),
    }
}

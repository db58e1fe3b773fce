//! What explains wrong gradients of coefficients, one step of a scan for each element ([`crate::problem::one_step`]): lost digits;
//! that they are those of another method, or nowhere conjugated, by whose own bounds they pass; and edits of backward
//! passes, as far as a backward of coefficients can have them.

use super::budget::gradient::{self, GradientBudget, Pass};
use super::diagnose::Work;
use super::explain::gradients::{self, Case};
use super::lost_digits;
use super::ulp::Format;
use super::verdict::{Distance, Element};
use crate::method::Method;
use crate::problem::{Problem, Weights};
use crate::results::Diagnosis;
use crate::sorted;
use crate::tensor::{GradientName, Gradients, Named};

/// Of a complex gradient.
pub const UNCONJUGATED: (&str, &str) = (
    "derivatives-unconjugated",
    "the derivatives are not conjugated, as JAX has it: PyTorch's gradient is ∂L/∂Re + i ∂L/∂Im",
);

/// Parts of the names of edits whose fault is the scan's around the coefficients. An element is a channel, a batch and a sequence
/// of its own here, so that some of them agree with what is wrong with the coefficients.
const OF_THE_SCAN: [&str; 6] = ["adjoint", "batch", "channel", "group", "position", "state"];

/// What a model's value may be off, relative.
const VALUE: f64 = 1.0 / (1u64 << 40) as f64;

/// Gradients, their certified truth and bounds, and what the same source makes in double, where it has such a build.
pub struct Judged<'a> {
    pub pass: Pass<'a>,
    /// As [`in_range`] has them.
    pub got: &'a Gradients<f64>,
    pub want: &'a Gradients<f64>,
    pub budget: &'a GradientBudget,
    pub lifted: Option<&'a Gradients<f64>>,
    /// Where what looking for a cause takes is counted.
    pub work: &'a Work,
}

/// Computed gradients, where an infinity that is right is the number that it stands for: models are not rounded to f32.
pub fn in_range(got: &Gradients<f32>, want: &Gradients<f64>) -> Gradients<f64> {
    let value = |(&got, &want): (&f32, &f64)| {
        let element = Element { got: got.into(), want, bound: 0.0, store: 0.0 };
        let is_right = got.is_infinite() && element.distance(Format::F32) == Distance::NONE;
        if is_right { want } else { got.into() }
    };
    got.map(|name, tensor| tensor.with(tensor.values.iter().zip(&want[name].values).map(value).collect()))
}

/// What explains each of the failing gradients, best first. A name that all of them have stands first.
pub fn diagnose(judged: &Judged, failing: &[GradientName]) -> Named<Vec<Diagnosis>, GradientName> {
    let Judged { pass, got, want, budget, lifted, work } = judged;
    let bounds = budget.tensors.map(|_, bounds| bounds.bound.clone());
    let lost = |name: GradientName| {
        let double = &lifted.as_ref()?.get(name)?.values;
        lost_digits::found((&got[name], &want[name]), double, &bounds[name])
    };
    let mut found: Named<Vec<Diagnosis>, GradientName> =
        failing.iter().filter_map(|&name| Some((name, vec![lost(name)?]))).collect();
    let wrong: Vec<GradientName> =
        failing.iter().copied().filter(|&name| found.get(name).is_none()).collect();
    if wrong.is_empty() {
        return found;
    }
    let Pass { form, problem, given, .. } = *pass;
    let case = Case { form: *form, problem, given, got, want, bounds: &bounds, work };
    for (name, models) in gradients::diagnose(&case, &wrong) {
        let of_coefficients = |model: &Diagnosis| !OF_THE_SCAN.iter().any(|part| model.name.contains(part));
        found.insert(name, models.into_iter().filter(of_coefficients).collect());
    }
    let mut add = |name: GradientName, (model, what): (&str, &str), fit: Option<f64>| {
        if let (Some(residual), Some(models)) = (fit, found.get_mut(name)) {
            models.retain(|known| known.name != model);
            models.insert(0, Diagnosis::new(model, what, residual));
        }
    };
    for other in Method::ALL.into_iter().filter(|&other| *form != other) {
        let model = gradient::bounds(Pass { form: other.into(), ..*pass });
        // What is right has to be that method's, too.
        let fits = got.map(|name, _| fit(judged, name, &model));
        if fits.values().all(Option::is_some) {
            let (name_of_model, what) =
                (format!("backward-of-{other}"), format!("it is the backward pass of {other}"));
            for &name in &wrong {
                add(name, (&name_of_model, &what), fits[name]);
            }
        }
    }
    if problem.weights == Weights::Complex {
        let problem = conjugated(problem);
        let model = gradient::bounds(Pass { problem: &problem, ..*pass });
        for &name in &wrong {
            add(name, UNCONJUGATED, fit(judged, name, &model));
        }
    }
    put_common_first(&mut found, &wrong);
    found
}

/// f is real on the real line, so that f(z) is the conjugate of f at the conjugate: with A and B conjugated, the gradients are
/// those that lack their conjugates.
fn conjugated(problem: &Problem) -> Problem {
    let conjugated = |values: &[f32]| {
        values.iter().enumerate().map(|(i, &part)| if i % 2 == 0 { part } else { -part }).collect()
    };
    Problem { a: conjugated(&problem.a), b: conjugated(&problem.b), ..problem.clone() }
}

/// What a model leaves of the error, in units of the judged bounds; none where the gradient is beyond one of the model's own.
fn fit(judged: &Judged, name: GradientName, model: &GradientBudget) -> Option<f64> {
    let (got, want, model) = (&judged.got[name], &judged.want[name], &model.tensors[name]);
    let (mut left, mut all): (f64, f64) = (0.0, 0.0);
    for (i, (&got, &want)) in got.values.iter().zip(&want.values).enumerate() {
        let value = *model.value.get(i)?;
        let at = i / judged.want[name].width;
        let off = (got - value).abs();
        // The value itself is one in f64, which a bound of 0 does not know.
        if off.is_nan() || off > model.bound[at] + value.abs() * VALUE {
            return None;
        }
        let bound = judged.budget.tensors[name].bound[at];
        if bound > 0.0 && bound.is_finite() {
            left += (off / bound).powi(2);
            all += ((got - want) / bound).powi(2);
        }
    }
    Some(if left == 0.0 { 0.0 } else { (left / all).sqrt() })
}

fn put_common_first(found: &mut Named<Vec<Diagnosis>, GradientName>, wrong: &[GradientName]) {
    let has = |models: &[Diagnosis], name: &str| models.iter().any(|model| model.name == name);
    let explained: Vec<Vec<Diagnosis>> = wrong
        .iter()
        .filter_map(|&name| found.get(name).cloned())
        .filter(|models| !models.is_empty())
        .collect();
    for &name in wrong {
        if let Some(models) = found.get_mut(name) {
            sorted::by_key(models, &|model| !explained.iter().all(|other| has(other, &model.name)));
        }
    }
}

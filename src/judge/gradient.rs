//! The verdict on a backward pass: every element of every gradient against its derived bound
//! ([`super::budget::gradient`]), by the quick route where that decides ([`super::quick`]), else by a certified truth.

use super::budget::Bounds;
use super::budget::gradient::{GradientBudget, Pass, Walked, walk};
use super::location::{self, Location};
use super::quick::{QuickTally, RADIUS, leave_open};
use super::scan::{UNBOUNDED, beyond, of_tally};
use super::ulp::Format;
use super::verdict::{Element, Tally, worst_recorded};
use crate::problem::stretch::Inputs as _;
use crate::results::{TensorResult, Verdict};
use crate::tensor::{GradientName, Gradients, Named, Tensor};

/// What the quick route says of a backward pass.
#[derive(Clone, Debug, Default)]
pub struct QuickGradients {
    pub tallies: Named<QuickTally, GradientName>,
    /// Where elements fail.
    pub locations: Named<Location, GradientName>,
    pub walked: Walked,
    /// What the elements are, and their bounds, where that was to be kept.
    pub bounds: Named<Bounds, GradientName>,
}

impl QuickGradients {
    /// Whether a certified truth would decide more.
    pub fn is_open(&self) -> bool {
        self.tallies.values().any(|tally| tally.open > 0)
    }
}

/// Every element, by its quick value, which is kept where `keeps`. `advance` is told of each channel.
pub fn quick(pass: Pass, got: &Gradients<f32>, keeps: bool, advance: &(dyn Fn() + Sync)) -> QuickGradients {
    let mut kept: Named<Bounds, GradientName> = Named::default();
    let mut tallies: Named<QuickTally, GradientName> = got.map(|_, _| QuickTally::default());
    let mut locations =
        got.map(|name, tensor| Location::of_tensor(pass.problem, name, &tensor.shape, tensor));
    // Values in f64 are as far off as those of a kernel in double, before it rounds them.
    let is_double = pass.problem.is_dense() && pass.contract.of_dense_gradients() != *pass.contract;
    let walked = walk(pass, advance, &mut |name, first, bounds| {
        let (Some(tensor), Some(tally)) = (got.get(name), tallies.get_mut(name)) else { return };
        let format = Format::for_input(tensor.element);
        for (i, &want) in bounds.value.iter().enumerate() {
            let (at, place) = (i / tensor.width, first * tensor.width + i);
            let got = f64::from(tensor.values[place]);
            let element = Element { got, want, bound: bounds.bound[at], store: bounds.store[at] };
            let worst_case = bounds.worst_case[at];
            let radius = if is_double { worst_case - element.store } else { RADIUS * worst_case };
            tally.add((0, place), [element; 2], (worst_case, radius), format);
            locations[name].add(place, element, format);
        }
        match kept.get_mut(name) {
            _ if !keeps => {}
            Some(known) => known.extend(bounds),
            None => kept.insert(name, bounds),
        }
    });
    leave_open(&mut tallies, walked.largest_z);
    QuickGradients { tallies, locations, walked, bounds: kept }
}

/// What that comes to, tensor by tensor. What it leaves open is not measured.
pub fn by_quick(
    pass: Pass,
    quick: &QuickGradients,
    got: &Gradients<f32>,
) -> Named<TensorResult, GradientName> {
    let outline = pass.problem.outline();
    let of = |(name, tally, tensor): (GradientName, &QuickTally, &Tensor<f32>)| {
        let format = Format::for_input(tensor.element);
        let (verdict, reason) = match tally {
            _ if tally.failed > 0 => (Verdict::Fail, String::new()),
            _ if tally.open > 0 => {
                let open = tally.open;
                (
                    Verdict::Unmeasured,
                    format!("{open} elements are left open by the quick route, and have no truth"),
                )
            }
            _ if tally.unbounded > 0 => (Verdict::Unmeasured, UNBOUNDED.to_owned()),
            _ => (Verdict::Pass, String::new()),
        };
        let shown = tally.worst.map(|(_, place, element)| {
            worst_recorded(
                &named(name, tensor, place),
                (outline, name.into(), tensor.index(place)),
                element,
                element.distance(format),
                Vec::new(),
            )
        });
        let result = TensorResult {
            verdict,
            reason,
            beyond: beyond(verdict, tally.worst_case_ratio),
            worst_case_ratio: tally.worst_case_ratio,
            judged: tally.elements(),
            quick: tally.passed + tally.failed,
            worst: shown,
            max_ulp: tally.max_ulp,
            rel_l2: tally.rel_l2(),
            wrong: if verdict == Verdict::Fail {
                let known = (pass.problem, pass.given, got);
                let index = |place| outline.recorded_index(name, tensor.index(place));
                quick.locations[name].wrong(index, || location::of_gradient(name, known, None))
            } else {
                Vec::new()
            },
            diagnosis: Vec::new(),
        };
        (name, result)
    };
    quick.tallies.zip(got).map(of).collect()
}

/// Whether every element is within its bound, as far as it has one.
pub fn within(got: &Gradients<f32>, want: &Gradients<f64>, budget: &GradientBudget) -> bool {
    got.zip(want).all(|(name, got, want)| {
        let (format, bounds, mut tally) =
            (Format::for_input(want.element), &budget.tensors[name], Tally::default());
        for (i, (&got, &exact)) in got.values.iter().zip(&want.values).enumerate() {
            let (bound, store) = (bounds.bound[i / want.width], bounds.store[i / want.width]);
            tally.add(Element { got: f64::from(got), want: exact, bound, store }, format);
        }
        !tally.fails()
    })
}

/// Every element against its certified truth.
pub fn by_truth(
    pass: Pass,
    got: &Gradients<f32>,
    want: &Gradients<f64>,
    budget: &GradientBudget,
) -> Named<TensorResult, GradientName> {
    let outline = pass.problem.outline();
    let of = |(name, tensor, want): (GradientName, &Tensor<f32>, &Tensor<f64>)| {
        let (format, bounds) = (Format::for_input(want.element), &budget.tensors[name]);
        let (mut tally, mut worst_case) = (Tally::default(), 0.0f64);
        let mut location = Location::of_tensor(pass.problem, name, &want.shape, want);
        for (i, (&got, &exact)) in tensor.values.iter().zip(&want.values).enumerate() {
            let at = i / want.width;
            let (bound, store) = (bounds.bound[at], bounds.store[at]);
            let element = Element { got: f64::from(got), want: exact, bound, store };
            tally.add(element, format);
            location.add(i, element, format);
            let farthest = Element { bound: bounds.worst_case[at], ..element };
            worst_case = worst_case.max(farthest.distance(format).ratio);
        }
        let mut result = of_tally(&tally, worst_case, |(place, element, distance)| {
            let index = (outline, name.into(), want.index(place));
            worst_recorded(&named(name, want, place), index, element, distance, Vec::new())
        });
        if result.verdict == Verdict::Fail {
            let known = (pass.problem, pass.given, got);
            let index = |place| outline.recorded_index(name, want.index(place));
            result.wrong = location.wrong(index, || location::of_gradient(name, known, Some((want, bounds))));
        }
        (name, result)
    };
    got.zip(want).map(of).collect()
}

/// Of gradients without a truth, for this reason.
pub fn without_truth(got: &Gradients<f32>, reason: &str) -> Named<TensorResult, GradientName> {
    let unmeasured = || TensorResult {
        verdict: Verdict::Unmeasured,
        reason: reason.to_owned(),
        beyond: beyond(Verdict::Unmeasured, 0.0),
        worst_case_ratio: 0.0,
        judged: 0,
        quick: 0,
        worst: None,
        max_ulp: 0.0,
        rel_l2: 0.0,
        wrong: Vec::new(),
        diagnosis: Vec::new(),
    };
    got.map(|_, _| unmeasured())
}

/// The tensor, and which part of a complex element.
fn named<T>(name: GradientName, tensor: &Tensor<T>, place: usize) -> String {
    match (tensor.width, place % tensor.width) {
        (1, _) => name.to_string(),
        (_, 0) => format!("{name}.re"),
        (_, _) => format!("{name}.im"),
    }
}

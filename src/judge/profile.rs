//! How errors spread: over their bounds, and along the sequence. For reports; verdicts need only the worst element.

use super::budget::Bounds;
use super::ulp::Format;
use super::verdict::{Distance, Element};
use crate::method::Method;
use crate::problem::Problem;
use crate::results::{ErrorHistogram, ErrorSequence};
use crate::tensor::{ComputedName, Tensor};

/// Positions kept of a sequence: of each stretch the worst one.
const STRETCHES: usize = 128;
/// The same of a gradient, of which a run has more, and draws them smaller.
const STRETCHES_OF_GRADIENT: usize = 64;

/// One case's histogram and its errors along the sequence: outputs and their truth, of the judged channels.
pub fn of_case(
    (method, case): (Method, &str),
    problem: &Problem,
    got: &Tensor<f64>,
    want: &Tensor<f64>,
    bounds: &Bounds,
) -> (ErrorHistogram, ErrorSequence) {
    let mut histogram = ErrorHistogram::new(method, problem.weights);
    let count = |distance: &Distance| histogram.count(distance.share);
    let tensor = ComputedName::out();
    let sequence = along((method, case, tensor), problem, (got, want, bounds), STRETCHES, count);
    (histogram, sequence)
}

/// The errors along the sequence of a gradient that has a value for each position: such a tensor's last axis is the position.
pub fn of_gradient(
    (method, case, tensor): (Method, &str, ComputedName),
    problem: &Problem,
    got: &Tensor<f64>,
    want: &Tensor<f64>,
    bounds: &Bounds,
) -> ErrorSequence {
    let judged = (got, want, bounds);
    along((method, case, tensor), problem, judged, STRETCHES_OF_GRADIENT, |_| {})
}

/// Of each stretch of the sequence the element with the largest share; `each` is told of all.
fn along(
    (method, case, tensor): (Method, &str, ComputedName),
    problem: &Problem,
    (got, want, bounds): (&Tensor<f64>, &Tensor<f64>, &Bounds),
    stretches: usize,
    mut each: impl FnMut(&Distance),
) -> ErrorSequence {
    let (format, seqlen) = (Format::for_input(want.element), problem.shape.seqlen);
    let stretches = stretches.min(seqlen);
    let mut worst: Vec<Option<(f64, usize, f64, f64)>> = vec![None; stretches];
    for (i, (&got, &exact)) in got.values.iter().zip(&want.values).enumerate() {
        let at = i / want.width;
        let (l, bound) = (at % seqlen, bounds.bound[at]);
        let distance = Element { got, want: exact, bound, store: bounds.store[at] }.distance(format);
        each(&distance);
        let stretch = &mut worst[l * stretches / seqlen];
        if stretch.is_none_or(|(share, ..)| distance.share > share) {
            *stretch = Some((distance.share, l, distance.error, bound));
        }
    }
    let kept: Vec<_> = worst.into_iter().flatten().collect();
    ErrorSequence {
        method,
        weights: problem.weights,
        case: case.to_owned(),
        tensor,
        position: kept.iter().map(|k| k.1).collect(),
        error: kept.iter().map(|k| k.2).collect(),
        bound: kept.iter().map(|k| k.3).collect(),
    }
}

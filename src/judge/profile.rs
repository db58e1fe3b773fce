//! How errors spread: over their bounds, and along the sequence. For reports; verdicts need only the worst element.

use super::budget::Bounds;
use super::ulp::Format;
use super::verdict::Element;
use crate::method::Method;
use crate::problem::Problem;
use crate::results::{ErrorHistogram, ErrorSequence};
use crate::tensor::Tensor;

/// Positions kept of a sequence: of each stretch the worst one.
const STRETCHES: usize = 128;

/// One case's histogram and its errors along the sequence: outputs and their truth, of the judged channels.
pub fn of_case(
    (method, case): (Method, &str),
    problem: &Problem,
    got: &Tensor<f64>,
    want: &Tensor<f64>,
    bounds: &Bounds,
) -> (ErrorHistogram, ErrorSequence) {
    let format = Format::for_input(problem.input);
    let seqlen = problem.shape.seqlen;
    let mut histogram = ErrorHistogram::new(method, problem.weights);
    let mut worst: Vec<Option<(f64, usize, f64, f64)>> = vec![None; STRETCHES.min(seqlen)];
    for (i, (&got, &want)) in got.values.iter().zip(&want.values).enumerate() {
        let (l, bound) = (i % seqlen, bounds.bound[i]);
        let distance = Element { got, want, bound, store: bounds.store[i] }.distance(format);
        histogram.count(distance.share);
        let stretch = &mut worst[l * STRETCHES.min(seqlen) / seqlen];
        if stretch.is_none_or(|(share, ..)| distance.share > share) {
            *stretch = Some((distance.share, l, distance.error, bound));
        }
    }
    let kept: Vec<_> = worst.into_iter().flatten().collect();
    let sequence = ErrorSequence {
        method,
        weights: problem.weights,
        case: case.to_owned(),
        position: kept.iter().map(|k| k.1).collect(),
        error: kept.iter().map(|k| k.2).collect(),
        bound: kept.iter().map(|k| k.3).collect(),
    };
    (histogram, sequence)
}

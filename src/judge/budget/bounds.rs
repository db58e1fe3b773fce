//! Bounds of a tensor, element by element.

use super::readout::OutputBounds;
use super::state::KeptState;
use super::states::Channel;
use crate::judge::ulp::Format;
use crate::problem::{InputType, Problem};
use crate::tensor::TensorName;

/// Bounds on |got − want| of one tensor's judged channels, one for each element: of a complex one, on the modulus of the
/// error.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// Values of the elements, in f64 ([`super::quick`] has its error); of a complex one both parts.
    pub value: Vec<f64>,
    /// Bound that each is judged by.
    pub bound: Vec<f64>,
    /// At least `bound`; no rounding explains an error beyond it.
    pub worst_case: Vec<f64>,
    /// The part of `bound` that rounding to the 16-bit input type takes; 0 for f32, whose last operation is rounded like
    /// any other.
    pub store: Vec<f64>,
    /// Cost of rounding every term Π Ā · b · C of the element once, and of one rounding of each operation after that. The
    /// level of rounding itself: no f32 scan does much better, and an error of this size means nothing.
    pub rounding: Vec<f64>,
}

impl Bounds {
    pub(super) fn push(&mut self, judged: f64, worst_case: f64, store: f64, rounding: f64) {
        self.bound.push(bound(judged));
        self.worst_case.push(bound(worst_case));
        self.store.push(store);
        self.rounding.push(bound(rounding));
    }

    /// Bounds of so many elements that are 0, of `width` values each.
    pub(super) fn of_nothing(len: usize, width: usize) -> Bounds {
        let least = vec![f64::from(f32::MIN_POSITIVE); len];
        Bounds {
            value: vec![0.0; len * width],
            bound: least.clone(),
            worst_case: least.clone(),
            store: vec![0.0; len],
            rounding: least,
        }
    }

    /// Bounds of states that are kept as this tensor, where one z or b occurs `repeats` times.
    pub(super) fn of_states(
        channel: Channel,
        name: TensorName,
        (states, lost): (&[KeptState], f64),
        repeats: f64,
    ) -> Bounds {
        let Channel { problem, contract, .. } = channel;
        let arithmetic = contract.arithmetic;
        let mut bounds = Bounds::default();
        for state in states {
            bounds.value.extend(&[state.x.re, state.x.im][..problem.weights.width()]);
            let rounding = arithmetic.unit * state.magnitude;
            let operands = channel.ssd().map_or(0.0, |ssd| ssd.error(2, state.magnitude + state.worst, lost));
            let [judged, worst, rounding] =
                [state.judged(repeats) + operands, state.worst + operands, rounding]
                    .map(|b| b + arithmetic.underflow);
            let size = state.x.re.abs().max(state.x.im.abs());
            let [store, of_worst, of_rounding] =
                [judged, worst, rounding].map(|b| store_error(problem, name, size + b));
            bounds.push(judged + store, worst + of_worst, store, rounding + of_rounding);
        }
        bounds
    }

    /// Those of more elements.
    pub fn extend(&mut self, more: Bounds) {
        self.value.extend(more.value);
        self.bound.extend(more.bound);
        self.worst_case.extend(more.worst_case);
        self.store.extend(more.store);
        self.rounding.extend(more.rounding);
    }

    pub(super) fn push_output(&mut self, output: &OutputBounds) {
        self.value.push(output.value);
        let whole = |(bound, store): (f64, f64)| bound + store;
        self.push(whole(output.judged), whole(output.worst), output.judged.1, whole(output.rounding));
    }
}

/// Error of rounding a number of at most this size to the type of an output; none in f32, whose last operation is rounded like any
/// other.
pub fn store_error(problem: &Problem, output: TensorName, size: f64) -> f64 {
    match problem.stored(output) {
        InputType::F32 => 0.0,
        narrow => Format::for_input(narrow).rounding_error(size),
    }
}

/// What comes of infinities bounds nothing.
fn bound(value: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { value }
}

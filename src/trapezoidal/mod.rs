//! Mamba-3's rule (spec.md §7) as a program over any numbers: with those of the truth it gives the truth, with numbers that carry the
//! error of f32 the bounds. One head of one sequence at a time, forwards and backwards.

mod backward;
mod forward;
mod number;

pub use forward::{Prepared, Writing, forward};
pub use number::Number;

use crate::parallel;
use crate::problem::stages::LogSpace;
use crate::problem::trapezoidal::{Cotangents, Input, Inputs, Output, Sizes, Trapezoidal, Unit};
use crate::tensor::Named;

/// Results of a head's inputs, by the same axes.
pub type Outputs<N> = Named<Vec<N>, Output>;

/// Gradients by each input that there is.
pub type Gradients<N> = Named<Vec<N>, Input>;

/// A head of a sequence, with its sizes.
pub struct Head<'a> {
    pub sizes: Sizes,
    pub inputs: &'a Inputs,
    pub delta_softplus: bool,
}

impl Head<'_> {
    /// An element of an input; none where that is left out.
    fn number<N: Number>(&self, input: Input, at: usize) -> Option<N> {
        self.inputs.get(input).map(|values| N::exact(values[at]))
    }

    /// An element, which is 0 where its input is left out.
    fn or_zero<N: Number>(&self, input: Input, at: usize) -> N {
        self.number(input, at).unwrap_or_else(N::zero)
    }
}

/// Outputs of these heads, each by itself.
pub fn outputs<N: Number>(
    problem: &Trapezoidal,
    units: &[Unit],
    (writing, log_space): (Writing, Option<LogSpace>),
) -> Vec<Outputs<N>> {
    of_heads(problem, units, log_space, |head, prepared, _| forward(head, prepared, writing))
}

/// Result of a function for each of these heads.
fn of_heads<N: Number, T: Send>(
    problem: &Trapezoidal,
    units: &[Unit],
    log_space: Option<LogSpace>,
    made: impl Fn(&Head, &Prepared<N>, Unit) -> T + Sync,
) -> Vec<T> {
    parallel::map(units, &|&unit| {
        let (sizes, inputs) = (problem.sizes_of(unit), problem.inputs_of(unit));
        let head = Head { sizes, inputs: &inputs, delta_softplus: problem.delta_softplus };
        made(&head, &Prepared::new(&head, log_space), unit)
    })
}

/// The gradients of a whole run by each input, for a loss with these by what it returns.
pub fn gradients<N: Number>(
    problem: &Trapezoidal,
    given: &Cotangents,
    (writing, log_space): (Writing, Option<LogSpace>),
) -> Gradients<N> {
    let units = problem.units();
    let parts = of_heads(problem, &units, log_space, |head, prepared, unit| {
        backward::gradients(head, prepared, writing, &problem.cotangents_of(given, unit))
    });
    let mut whole: Gradients<N> = problem.inputs.map(|_, tensor| vec![N::zero(); tensor.values.len()]);
    for (&unit, part) in units.iter().zip(&parts) {
        for (name, values) in part.iter() {
            let sums = &mut whole[name];
            for (at, value) in problem.places(name.axes(), unit).into_iter().zip(values) {
                sums[at] = sums[at].joined(value);
            }
        }
    }
    // Of heads that read one group, and of sequences.
    let most = problem.sequences.len().max(problem.sizes.h / problem.sizes.g);
    for (_, sums) in whole.iter_mut().filter(|_| most > 1) {
        sums.iter_mut().for_each(|sum| *sum = sum.clone().summed(most - 1));
    }
    whole
}

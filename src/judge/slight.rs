//! Slight mistakes: a factor next to 1 on one of the things that a scan multiplies.
//!
//! To first order such a factor 1 + α moves every element by α times a derivative that is known, so α is found by least squares over all
//! elements, in units of their bounds, and leaves rounding alone where it is the cause. It is named by the rule of every fault model: each
//! element is within its bound then, and at most a quarter of the error is left ([`super::diagnose::NEEDED`]).

use super::diagnose::{Case, NEEDED};
use super::linearized::{Channel, State};
use crate::parallel;
use crate::problem::Problem;
use crate::promise::Contract;
use crate::results::Diagnosis;
use crate::tensor::{Named, TensorName};

/// Factors further than this from 1 are looked for as edits.
const SLIGHT: f64 = 0.5;

/// Things that a factor may be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factor {
    Out,
    Readout,
    Input,
    Skip,
    Decay,
    Step,
}

impl Factor {
    const ALL: [Factor; 6] =
        [Factor::Out, Factor::Readout, Factor::Input, Factor::Skip, Factor::Decay, Factor::Step];

    fn applies(self, problem: &Problem) -> bool {
        match self {
            Factor::Skip => problem.d.is_some(),
            _ => true,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Factor::Out => "out-scaled",
            Factor::Readout => "readout-scaled",
            Factor::Input => "input-scaled",
            Factor::Skip => "skip-scaled",
            Factor::Decay => "a-scaled-in-a-bar",
            Factor::Step => "delta-scaled",
        }
    }

    /// One sentence. With a last state, which a factor on B̄ would scale, the readout's is on C or on the sum.
    fn what(self, factor: &str, has_last: bool) -> String {
        match self {
            Factor::Out => format!("out is multiplied by {factor}"),
            Factor::Readout if has_last => {
                format!(
                    "what the states contribute is multiplied by {factor}: a factor on C or on the sum over states"
                )
            }
            Factor::Readout => {
                format!(
                    "what the states contribute is multiplied by {factor}: a factor on B̄, on C or on their sum"
                )
            }
            Factor::Input => {
                format!("what enters the states is multiplied by {factor}: a factor on B̄, B or u")
            }
            Factor::Skip => format!("the skip D·u is multiplied by {factor}"),
            Factor::Decay => format!(
                "A is multiplied by {factor} in Ā only: where Ā is a power of 2, by a log₂e of too few digits, say"
            ),
            Factor::Step => format!("Δ is multiplied by {factor}"),
        }
    }

    /// How much out and the last states of a channel move, by its factor.
    fn ways(self, channel: &Channel, out: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let states = || channel.moved(|state: &State| state.input);
        let nothing = |(out, last): (Vec<f64>, Vec<f64>)| (out, vec![0.0; last.len()]);
        match self {
            Factor::Readout => nothing(channel.seen(|state| [state.before, state.x])),
            Factor::Out => (out.to_vec(), nothing(channel.seen(|state| [state.before, state.x])).1),
            Factor::Skip => {
                let (y, last) = nothing(channel.seen(|state| [state.before, state.x]));
                (out.iter().zip(&y).map(|(out, y)| out - y).collect(), last)
            }
            Factor::Input => states(),
            Factor::Decay => channel.moved(|state| state.moved[0] * state.before),
            Factor::Step => channel.moved(|state| state.moved[0] * state.before + state.moved[1]),
        }
    }
}

/// The slight factors that explain all tensors of a case.
pub fn explain(case: &Case, failing: &[TensorName]) -> Named<Vec<Diagnosis>> {
    let asked = Factor::ALL.into_iter().filter(|factor| case.work.asks(factor.name()));
    let mut found: Vec<Diagnosis> = asked
        .filter(|factor| factor.applies(case.problem))
        .filter_map(|factor| fitted(case, factor))
        .collect();
    let best = found.iter().map(|one| one.residual).fold(f64::INFINITY, f64::min);
    // Another place of the same factor is as likely; a factor of something else is not.
    found.retain(|one| one.residual <= 2.0 * best);
    found.truncate(3);
    if found.is_empty() {
        return Named::default();
    }
    failing.iter().map(|&name| (name, found.clone())).collect()
}

/// A slight factor with its value, if it explains the case.
fn fitted(case: &Case, factor: Factor) -> Option<Diagnosis> {
    let Case { form, problem, got, want, budget, .. } = *case;
    let rows: Vec<usize> = (0..problem.judged_channels.len()).collect();
    // The error of each element and how far it moves, in units of its bound.
    let of_row = |&row: &usize| {
        let channel = Channel::new(form, problem, &Contract::FRAMEWORK, row);
        let own = |name: TensorName| {
            let len = want[name].values.len() / rows.len();
            row * len..(row + 1) * len
        };
        let (out, last) = factor.ways(&channel, &want[TensorName::Out].values[own(TensorName::Out)]);
        let mut elements = Vec::new();
        for (name, got, want) in got.zip(want) {
            let ways = if name == TensorName::Out { &out } else { &last };
            for (at, way) in own(name).zip(ways) {
                let bound = budget.tensors[name].bound[at / want.width];
                elements.push(((got.values[at] - want.values[at]) / bound, way / bound));
            }
        }
        elements
    };
    case.work.add(2 * problem.shape.seqlen * problem.shape.dstate * rows.len());
    let elements: Vec<(f64, f64)> = parallel::map(&rows, &of_row).concat();
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| elements.iter().map(of).sum::<f64>();
    let (moved, errors) = (sum(&|(_, way)| way * way), sum(&|(error, _)| error * error));
    let alpha = sum(&|(error, way)| error * way) / moved;
    let left = sum(&|(error, way)| (error - alpha * way).powi(2));
    let residual = (left / errors).sqrt();
    let is_within = elements.iter().all(|(error, way)| (error - alpha * way).abs() <= 1.0);
    // A NaN explains nothing, and 0 is no factor that is slightly off.
    (is_within && residual <= NEEDED && alpha.abs() < SLIGHT).then(|| {
        // The fewest digits that say as much as is known: what is left is not all random.
        let known = 30.0 * (left / moved / elements.len() as f64).sqrt().max(1e-9);
        let says =
            |text: &String| text.parse::<f64>().is_ok_and(|typed| (typed - 1.0 - alpha).abs() <= known);
        let typed = (1..9).map(|digits| format!("{:.digits$}", 1.0 + alpha)).find(says);
        let text = &typed.unwrap_or_else(|| format!("{}", 1.0 + alpha));
        Diagnosis::new(factor.name(), factor.what(text, got.get(TensorName::LastState).is_some()), residual)
    })
}

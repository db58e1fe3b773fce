//! Whether a failure is that of a scan which starts from a state that was not recorded.
//!
//! An output is linear in that state: got − q = R x₋₁, R being what each of its numbers changes, for q as if it were 0. It is
//! fitted by least squares in units of the bounds, and the channel judged anew from there. A state has few numbers, which could
//! fit as many errors of any kind: a channel counts only if at least twice as many of its elements fail, also by the bounds of
//! the scan that starts from there. Those of a very large state allow anything.

use std::io::{Read, Seek};

use nalgebra::{DMatrix, DVector};

use super::every;
use crate::formula::Form;
use crate::judge::budget::ChannelBudget;
use crate::problem::Problem;
use crate::problem::recorded::{RecordError, Recording};
use crate::problem::stretch::{Changed, Inputs, Outline};
use crate::promise::Contract;
use crate::tensor::{Named, TensorName};

/// Positions that a state is fitted to: it shows most in the first ones.
const FITTED: usize = 4096;

/// Numbers of a state, and positions × states, that are worth a fit: each number takes a walk of the channel.
const MOST: (usize, usize) = (64, 1 << 22);

/// A recording whose scans start from this state.
fn starting_from<R: Read + Seek + Send>(
    inputs: &Recording<R>,
    state: Vec<f32>,
) -> Changed<'_, Recording<R>, impl Fn(&mut Problem) + Sync> {
    Changed { inputs, change: move |problem: &mut Problem| problem.initial_state = Some(state.clone()) }
}

/// The largest share of a bound in each tensor of a channel's row, if some initial state brings all of it within its bounds.
pub fn fit<R: Read + Seek + Send>(
    recording: &Recording<R>,
    (form, tensors): (Form, &Named<String>),
    contract: &Contract,
    row: usize,
) -> Result<Option<Named<f64>>, RecordError> {
    let Outline { shape, weights, .. } = recording.outline();
    let at = (row / shape.dim, row % shape.dim);
    let numbers = shape.dstate * weights.width();
    let steps = shape.seqlen.saturating_mul(shape.dstate);
    if recording.layout().packed.is_some()
        || recording.has_initial_state()
        || numbers > MOST.0
        || steps > MOST.1
    {
        return Ok(None);
    }
    // Values, bounds and what was recorded, of the first positions and of the last state.
    let walked = |state: Vec<f32>| -> Result<[Vec<f64>; 3], RecordError> {
        let inputs = starting_from(recording, state);
        let budget = ChannelBudget::new(form, &inputs, at, contract);
        let mut columns: [Vec<f64>; 3] = Default::default();
        budget.walk(&[budget.directions()], |name, first, bounds| {
            let bounds = &bounds[0];
            let count = match name {
                TensorName::Out => bounds.bound.len().min(FITTED.saturating_sub(first)),
                TensorName::LastState | TensorName::ChunkStates | TensorName::DaCumsum => bounds.bound.len(),
            };
            let Some(got) = recording.outputs(tensors, name, at, first..first + count)? else {
                return Ok(());
            };
            let width = got.len() / count.max(1);
            columns[0].extend(&bounds.value[..got.len()]);
            columns[1].extend((0..got.len()).map(|i| bounds.bound[i / width]));
            columns[2].extend(got.iter().map(|&got| f64::from(got)));
            Ok(())
        })?;
        Ok(columns)
    };
    let [without, bounds, got] = walked(vec![0.0; numbers])?;
    let are_few = |bounds: &[f64]| {
        let failing = (0..got.len()).filter(|&i| (got[i] - without[i]).abs() > bounds[i]);
        failing.count() < 2 * numbers
    };
    if are_few(&bounds) || got.iter().any(|got| !got.is_finite()) {
        return Ok(None);
    }
    let in_bounds = |differences: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
        let weighted = differences.zip(&bounds).map(|(difference, bound)| difference / bound);
        weighted.map(|share| if share.is_finite() { share } else { 0.0 }).collect()
    };
    let mut responses = Vec::with_capacity(numbers * got.len());
    for number in 0..numbers {
        let mut state = vec![0.0; numbers];
        state[number] = 1.0;
        let [with, ..] = walked(state)?;
        responses.extend(in_bounds(&mut with.iter().zip(&without).map(|(with, without)| with - without)));
    }
    let responses = DMatrix::from_vec(got.len(), numbers, responses);
    let errors = in_bounds(&mut got.iter().zip(&without).map(|(got, without)| got - without));
    let svd = responses.svd(true, true);
    // What shows in nothing stays 0.
    let least = svd.singular_values.max() * f64::EPSILON * got.len() as f64;
    let Ok(state) = svd.solve(&DVector::from_vec(errors), least) else { return Ok(None) };
    let state: Vec<f32> = state.iter().map(|&x| x as f32).collect();
    let [_, of_state, _] = walked(state.clone())?;
    if are_few(&of_state) {
        return Ok(None);
    }
    let inputs = starting_from(recording, state);
    let tallies = every::judge_as((recording, tensors), &inputs, (form, contract), row)?;
    let fits = tallies.values().all(|tally| tally.passed == tally.elements());
    Ok(fits.then(|| tallies.map(|_, tally| tally.share)))
}

//! A last state whose numbers have been written to, or are read from, other places than their own.

use super::scan::{Last, Row, VariantScan};
use super::variant::{LastState, Variant};
use crate::problem::Problem;

/// A last state whose numbers are those of other places.
pub fn row(variant: &Variant, problem: &Problem, (batch, d): (usize, usize)) -> Row {
    let (shape, width) = (problem.shape, problem.weights.width());
    let from = |n: usize| -> Option<(usize, usize, usize)> {
        match variant.last_state {
            LastState::Moved([of_batch, of_channel, of_state]) => Some((
                of_batch.of(batch, shape.batch)?,
                of_channel.of(d, shape.dim)?,
                of_state.of(n, shape.dstate)?,
            )),
            _ => {
                // Where its number lies in memory.
                let at = d * shape.dstate + n;
                Some((batch, at % shape.dim, at / shape.dim))
            }
        }
    };
    // Of each channel that one of the numbers is of, so much as these take.
    let mut scans: Vec<VariantScan> = Vec::new();
    let mut row = Row::default();
    for n in 0..shape.dstate {
        let Some((batch, d, n)) = from(n) else {
            row.push(Last::default(), problem);
            continue;
        };
        // What is not held cannot be computed.
        if problem.row_if_held(batch, d).is_none() {
            row.values.extend(vec![f64::NAN; width]);
            row.bound.push(0.0);
            row.beyond.push(false);
            continue;
        }
        let known = scans.iter().position(|scan| scan.channel == (batch, d)).unwrap_or_else(|| {
            scans.push(VariantScan::new(variant, problem, (batch, d), shape.seqlen));
            scans.len() - 1
        });
        let maps = scans[known].maps(n, shape.seqlen);
        row.push(scans[known].state_after(n, &maps), problem);
    }
    row
}

//! How often each state counts in what is read: outputs are linear in that, so that it is found by least squares. A sum over
//! lanes that goes wrong leaves states out, or takes them twice.

use nalgebra::{DMatrix, DVector};

use super::changes::{Change, Part};
use super::looks::{self, Look};
use super::{Candidate, Search};
use crate::judge::faults::around::{Counts, GateFunction, STATES};
use crate::judge::faults::place::{Input, Map};
use crate::judge::faults::variant::Variant;

/// Elements for each state, at least.
const ELEMENTS: usize = 4;
/// The most positions × states × states.
const MOST: usize = 4_000_000;
/// Channels that are looked at.
const CHANNELS: usize = 3;
/// The most that a count may be off.
const NEAR: f64 = 0.01;
/// Singular values below this part of the largest do not tell states apart.
const TOLD_APART: f64 = 1e-7;

/// A hypothesis with other counts, where these explain what is looked at.
pub fn find(search: &Search, start: &Candidate) -> Option<Candidate> {
    let case = search.case;
    let shape = case.problem.shape;
    let states = shape.dstate;
    let variant = &start.variant;
    let len = shape.seqlen.min(2 * ELEMENTS * states);
    let is_linear = variant.gate != GateFunction::OfOutput && variant.counts.is_none();
    let reads_all = variant.places[Input::C as usize].state == Map::Same;
    let takes = len * states * states * CHANNELS;
    if !(2..=STATES).contains(&states) || !is_linear || !reads_all || takes > MOST {
        return None;
    }
    let looks: Vec<Look> =
        search.order.iter().take(CHANNELS).map(|&row| Look { len, ..search.whole(row) }).collect();
    let outputs = |variant: &Variant| looks::weighed(case, &looks, variant);
    let reading = |states: Map| {
        let mut variant = *variant;
        variant.places[Input::C as usize].state = states;
        variant
    };
    let bounds: Vec<f64> = outputs(variant).into_iter().map(|(_, (_, bound))| bound).collect();
    let without = outputs(&reading(Map::Within(0, 0)));
    let left = without.iter().zip(&bounds).map(|((got, (without, _)), bound)| (got - without) / bound);
    let target = DVector::from_iterator(bounds.len(), left);
    let columns: Vec<DVector<f64>> = (0..states)
        .map(|n| {
            let with = outputs(&reading(Map::Within(n, n + 1)));
            let own = with
                .iter()
                .zip(&without)
                .zip(&bounds)
                .map(|(((_, (with, _)), (_, (without, _))), bound)| (with - without) / bound);
            DVector::from_iterator(bounds.len(), own)
        })
        .collect();
    let is_finite = |column: &DVector<f64>| column.iter().all(|x| x.is_finite());
    if bounds.len() < ELEMENTS * states || !is_finite(&target) || !columns.iter().all(is_finite) {
        return None;
    }
    let svd = DMatrix::from_columns(&columns).svd(true, true);
    if svd.singular_values.min() < TOLD_APART * svd.singular_values.max() {
        return None;
    }
    let solved = svd.solve(&target, 0.0).ok()?;
    let mut counts: Counts = [2; STATES];
    for (count, found) in counts.iter_mut().zip(&solved) {
        let halves = (2.0 * found).round();
        if (found - halves / 2.0).abs() > NEAR || halves.abs() > 8.0 {
            return None;
        }
        *count = halves as i8;
    }
    let is_other = counts[..states].iter().any(|count| *count != 2);
    is_other.then(|| search.joined(start, change(counts, states)))
}

/// Other counts, in words.
fn change(counts: Counts, states: usize) -> Change {
    let those = |count: i8| -> Vec<String> {
        (0..states).filter(|n| counts[*n] == count).map(|n| n.to_string()).collect()
    };
    let mut kinds: Vec<i8> = counts[..states].iter().copied().filter(|count| *count != 2).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let part = |count: &i8| {
        let (of, states) = (those(*count), if those(*count).len() == 1 { "state" } else { "states" });
        let times = match count {
            0 => "not at all".to_owned(),
            1 => "half".to_owned(),
            4 => "twice".to_owned(),
            -2 => "with the wrong sign".to_owned(),
            count => format!("{} times", f64::from(*count) / 2.0).replace('-', "−"),
        };
        format!("{states} {} {times}", of.join(", "))
    };
    let parts: Vec<String> = kinds.iter().map(part).collect();
    let name = if kinds == [0] { "states-not-read" } else { "states-counted-otherwise" };
    let others = if counts[..states].contains(&2) { ", and the others once" } else { "" };
    let what = format!("C·state counts {}{others}", parts.join(", "));
    Change::new(Part::Readout, name, what, move |v: &mut Variant| v.counts = Some(counts))
}

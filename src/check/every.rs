//! Every element of a recorded run by the quick route, and which channels are worth a certified truth.

use rayon::prelude::*;

use crate::judge::quick::{self, QuickTally};
use crate::problem::Problem;
use crate::problem::inputs::Draw;
use crate::problem::recorded::RecordedOutput;
use crate::promise::Contract;
use crate::tensor::{Named, TensorName};

/// What the quick route says of each tensor of each channel, in the order of channels.
pub type Survey = Vec<Named<QuickTally>>;

/// Judges every channel of every output. `advance` is told of each channel.
pub fn survey(
    problem: &Problem,
    outputs: &[RecordedOutput],
    contract: &Contract,
    advance: &(dyn Fn() + Sync),
) -> Vec<Survey> {
    let channels: Vec<(usize, usize)> = problem.channels().collect();
    let of_output = |output: &RecordedOutput| {
        let of_channel = |&at: &(usize, usize)| {
            let tallies = quick::judge((output.name.form, contract), problem, at, &output.tensors);
            advance();
            tallies
        };
        channels.par_iter().map(of_channel).collect()
    };
    outputs.iter().map(of_output).collect()
}

/// Those that some output leaves open.
pub fn open(surveys: &[Survey]) -> Vec<usize> {
    let is_open =
        |row: &usize| surveys.iter().any(|survey| survey[*row].values().any(|tally| tally.open > 0));
    (0..channels(surveys)).filter(is_open).collect()
}

fn channels(surveys: &[Survey]) -> usize {
    surveys.first().map_or(0, Vec::len)
}

/// `count` channels for the certified route: open ones first, then for each tensor of each output the one with the largest
/// share, then by their shares until half are chosen, and the rest by lot.
pub fn choose(surveys: &[Survey], count: usize, draw: Draw) -> Vec<usize> {
    let all = channels(surveys);
    let mut shares = vec![0.0f64; all];
    let mut worst: Vec<usize> = Vec::new();
    for survey in surveys {
        for name in TensorName::ALL {
            let share = |row: usize| survey[row].get(name).map_or(0.0, |tally| tally.share);
            worst.extend((0..all).max_by(|&a, &b| share(a).total_cmp(&share(b)).then(b.cmp(&a))));
            shares.iter_mut().enumerate().for_each(|(row, most)| *most = most.max(share(row)));
        }
    }
    let mut ranked: Vec<usize> = (0..all).collect();
    ranked.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
    ranked.truncate(count.div_ceil(2));
    let first = open(surveys).into_iter().chain(worst).chain(ranked);
    chosen(all, count, first, draw)
}

/// `count` of all channels: those first, as many as there is room for, and the rest by lot. In their own order.
pub fn chosen(all: usize, count: usize, first: impl Iterator<Item = usize>, mut draw: Draw) -> Vec<usize> {
    let mut is_chosen = vec![false; all];
    let mut left = count;
    for row in first {
        if left > 0 && !is_chosen[row] {
            (is_chosen[row], left) = (true, left - 1);
        }
    }
    let others: Vec<usize> = (0..all).filter(|&row| !is_chosen[row]).collect();
    for lot in draw.choose(left.min(others.len()), others.len()) {
        is_chosen[others[lot]] = true;
    }
    (0..all).filter(|&row| is_chosen[row]).collect()
}

/// What a survey says of these channels together, and of all others.
pub fn split(survey: &Survey, rows: &[usize]) -> [Named<QuickTally>; 2] {
    let mut of = [Named::default(), Named::default()];
    for (row, tallies) in survey.iter().enumerate() {
        let total: &mut Named<QuickTally> = &mut of[usize::from(rows.binary_search(&row).is_err())];
        for (name, tally) in tallies.iter() {
            match total.get_mut(name) {
                Some(total) => total.absorb(tally),
                None => total.insert(name, *tally),
            }
        }
    }
    of
}

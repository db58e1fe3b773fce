//! Every element of a recorded run by the quick route, and which channels are worth a certified truth.

use std::io::{Read, Seek};

use rayon::prelude::*;

use crate::formula::Form;
use crate::judge::quick::{self, QuickTally};
use crate::problem::inputs::Draw;
use crate::problem::recorded::{OutputName, RecordError, Recording};
use crate::problem::stretch::Inputs;
use crate::promise::Contract;
use crate::tensor::{Named, TensorName};

/// What the quick route says of each tensor, channel by channel.
pub type Survey = Named<Vec<QuickTally>>;

/// Channels whose tallies are put away together.
const AT_ONCE: usize = 4096;

/// What the quick route says of one channel of an output, whose tensors have these names in the file.
pub fn judge<R: Read + Seek + Send>(
    recording: &Recording<R>,
    (name, tensors): (&OutputName, &Named<String>),
    contract: &Contract,
    row: usize,
) -> Result<Named<QuickTally>, RecordError> {
    judge_as((recording, tensors), recording, (name.form, contract), row)
}

/// What it says of the same tensors as another form of other inputs.
pub fn judge_as<R: Read + Seek + Send>(
    (recording, tensors): (&Recording<R>, &Named<String>),
    inputs: &impl Inputs<Error = RecordError>,
    promised: (Form, &Contract),
    row: usize,
) -> Result<Named<QuickTally>, RecordError> {
    let dim = recording.layout().shape.dim;
    let at = (row / dim, row % dim);
    let got = |tensor, elements| recording.outputs(tensors, tensor, at, elements);
    quick::judge_stretches(promised, inputs, at, &got, quick::LONG)
}

/// Judges every channel of every output. `advance` is told of each channel.
pub fn survey<R: Read + Seek + Send>(
    recording: &Recording<R>,
    contract: &Contract,
    advance: &(dyn Fn() + Sync),
) -> Result<Vec<Survey>, RecordError> {
    let shape = recording.layout().shape;
    let all = shape.batch * shape.dim;
    let mut surveys = Vec::new();
    for output in &recording.layout().outputs {
        let mut survey: Survey = output.1.map(|_, _| Vec::with_capacity(all));
        for start in (0..all).step_by(AT_ONCE) {
            let of_channel = |row| {
                let tallies = judge(recording, output, contract, row);
                advance();
                tallies
            };
            let rows = (start..all.min(start + AT_ONCE)).into_par_iter();
            for tallies in rows.map(of_channel).collect::<Result<Vec<_>, _>>()? {
                tallies.into_iter().for_each(|(name, tally)| survey[name].push(tally));
            }
        }
        surveys.push(survey);
    }
    Ok(surveys)
}

/// Those that some output leaves open.
pub fn open(surveys: &[Survey]) -> Vec<usize> {
    let is_open =
        |row: &usize| surveys.iter().any(|survey| survey.values().any(|tallies| tallies[*row].open > 0));
    (0..channels(surveys)).filter(is_open).collect()
}

/// The channels with an element that fails, in one of these tensors.
pub fn failing(survey: &Survey, tensors: &[TensorName]) -> Vec<usize> {
    let fails = |row: &usize| {
        tensors.iter().any(|tensor| survey.get(*tensor).is_some_and(|tallies| tallies[*row].failed > 0))
    };
    (0..survey.values().next().map_or(0, Vec::len)).filter(fails).collect()
}

fn channels(surveys: &[Survey]) -> usize {
    surveys.first().and_then(|survey| survey.values().next()).map_or(0, Vec::len)
}

/// `count` channels for the certified route: open ones first, then for each tensor of each output the one with the largest
/// share, then by their shares until half are chosen, and the rest by lot.
pub fn choose(surveys: &[Survey], count: usize, draw: Draw) -> Vec<usize> {
    let all = channels(surveys);
    let mut shares = vec![0.0f64; all];
    let mut worst: Vec<usize> = Vec::new();
    for survey in surveys {
        let recorded = survey.iter().map(|(name, _)| name).filter(|name| !TensorName::SCANNED.contains(name));
        for name in TensorName::SCANNED.into_iter().chain(recorded) {
            let share = |row: usize| survey.get(name).map_or(0.0, |tallies| tallies[row].share);
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
    for (name, tallies) in survey.iter() {
        let mut totals = [QuickTally::default(); 2];
        for (row, tally) in tallies.iter().enumerate() {
            totals[usize::from(rows.binary_search(&row).is_err())].absorb(tally);
        }
        of.iter_mut().zip(totals).for_each(|(of, total): (&mut Named<QuickTally>, _)| of.insert(name, total));
    }
    of
}

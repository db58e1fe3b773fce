//! One of the sequences that are packed into a run, on which a failure is explained: as a problem of its own.

use crate::formula::Form;
use crate::judge::budget;
use crate::problem::recorded::RecordedOutput;
use crate::problem::{Problem, Sequence, Stages};
use crate::promise::Promise;
use crate::tensor::TensorName;
use crate::truth::scan::ScanTruth;

/// A sequence, what was recorded of it, and its truth.
pub struct Alone {
    pub problem: Problem,
    pub output: RecordedOutput,
    pub truth: ScanTruth<Form>,
    /// Where it is, as the end of a sentence.
    pub place: String,
}

/// The sequence in which most elements are beyond their bounds.
pub fn worst(
    problem: &Problem,
    (output, truth): (&RecordedOutput, &ScanTruth<Form>),
    stages: Stages,
) -> Alone {
    let contract = Promise::recorded(stages).contract;
    let budget = budget::scan(truth.method, problem, &contract);
    let (got, rows) = (problem.judged(&output.tensors), &problem.judged_channels);
    let beyond = |item: usize, sequence: &Sequence| -> usize {
        let of = |name: TensorName| {
            let (Some(got), Some(want)) = (got.get(name), truth.tensors.get(name)) else { return 0 };
            let Some(within) = problem.within_row(sequence, name) else { return 0 };
            let (len, bounds) = (want.values.len() / rows.len(), &budget.tensors[name].bound);
            let own = (0..rows.len()).filter(|&row| rows[row].0 == item);
            let elements = own.flat_map(|row| within.clone().map(move |i| row * len + i));
            let is_off = |i: &usize| {
                let error = (got.values[*i] - want.values[*i]).abs();
                error.is_nan() || error > bounds[i / want.width]
            };
            elements.filter(is_off).count()
        };
        TensorName::ALL.map(of).into_iter().sum()
    };
    let items: std::collections::BTreeSet<usize> = rows.iter().map(|(item, _)| *item).collect();
    let all = items.into_iter().flat_map(|item| {
        let own = problem.sequences(item).into_owned();
        own.into_iter().filter(|sequence| !sequence.is_padding).map(move |sequence| (item, sequence))
    });
    // The first of several.
    let most = all
        .map(|(item, sequence)| (beyond(item, &sequence), item, sequence))
        .reduce(|most, next| if next.0 > most.0 { next } else { most });
    let (_, item, sequence) = most.unwrap_or_else(|| (0, 0, problem.sequences(0)[0].clone()));
    let alone = problem.of_sequence(item, &sequence);
    let values = problem.values_within((item, &sequence), rows, &output.tensors);
    let tensors = values.into_iter().map(|(name, values)| (name, alone.tensor(name, values))).collect();
    let wanted = problem.values_within((item, &sequence), rows, &truth.tensors);
    let wanted = wanted.into_iter().map(|(name, values)| (name, alone.judged_tensor(name, values))).collect();
    let (first, last) = (sequence.positions.start, sequence.positions.end - 1);
    let place = match last - first {
        0 => format!("; in the sequence at position {first} of item {item}"),
        _ => {
            format!("; in the sequence at positions {first} to {last} of item {item}, counted from its start")
        }
    };
    Alone {
        output: RecordedOutput { name: output.name.clone(), tensors },
        truth: ScanTruth { tensors: wanted, ..truth.clone() },
        place,
        problem: alone,
    }
}

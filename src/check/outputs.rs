//! Two recorded outputs against each other: whether they differ by what their truths differ by, within both bounds.

use rayon::prelude::*;
use serde::Serialize;

use crate::judge::budget::ChannelBudget;
use crate::judge::pairwise::{self, MethodOutputs};
use crate::judge::quick::{self, QuickTally};
use crate::judge::ulp::Format;
use crate::problem::Stages;
use crate::problem::conventions::Direction;
use crate::problem::recorded::{RecordedOutput, RecordedRun};
use crate::problem::stretch::Inputs;
use crate::promise::{Contract, Promise};
use crate::results::{Pair, PairStatus, Verdict};
use crate::tensor::TensorName;
use crate::tensor_file::shape_text;

/// One recorded tensor of a run.
#[derive(Clone, Copy, Debug)]
pub struct OneOutput<'a> {
    pub run: &'a RecordedRun,
    /// The arithmetic that the file states.
    pub stages: Stages,
    pub output: &'a RecordedOutput,
    pub tensor: TensorName,
}

/// What the quick route says of it.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedOutput {
    pub verdict: Verdict,
    pub elements: usize,
    /// The largest share of a bound that an error uses.
    pub share: f64,
}

/// Two outputs, by quick values: where an output is measured, their own errors are below 1/256 of its bounds.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedOutputs {
    pub left: JudgedOutput,
    pub right: JudgedOutput,
    /// Whether both runs have the same inputs. If not, each output is compared with its own truth all the same.
    pub same_inputs: bool,
    /// How far apart the truths are.
    pub truth: Pair,
    /// How far apart the outputs are, and whether that is what the truths are, within the sum of both bounds.
    pub outputs: Pair,
}

/// Why two outputs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAlike {
    #[error(
        "the second output is {found}, expected {expected} as the first (hint: compare what is of one kind)"
    )]
    Tensor { found: TensorName, expected: TensorName },
    #[error(
        "the second output has shape {found}, expected {expected} as the first (hint: compare the same layer of the \
         same batch)"
    )]
    Shape { found: String, expected: String },
    #[error(
        "the second output is of a {found} scan, expected {expected} as the first (hint: their positions do not \
         belong together)"
    )]
    Direction { found: Direction, expected: Direction },
}

/// Compares two tensors, element by element.
pub fn compare(left: OneOutput, right: OneOutput) -> Result<ComparedOutputs, NotAlike> {
    if left.tensor != right.tensor {
        return Err(NotAlike::Tensor { found: right.tensor, expected: left.tensor });
    }
    let shape = |one: &OneOutput| {
        let tensor = &one.output.tensors[one.tensor];
        let width = (tensor.width > 1).then_some(tensor.width);
        tensor.shape.iter().copied().chain(width).collect::<Vec<usize>>()
    };
    let (expected, found) = (shape(&left), shape(&right));
    if expected != found {
        return Err(NotAlike::Shape { found: shape_text(&found), expected: shape_text(&expected) });
    }
    let (tensor, outline) = (&left.output.tensors[left.tensor], left.run.problem.outline());
    let direction = |one: &OneOutput| one.run.problem.conventions.direction;
    if direction(&left) != direction(&right) {
        return Err(NotAlike::Direction { found: direction(&right), expected: direction(&left) });
    }
    let both = [left.outputs(), right.outputs()];
    let (mut truth, mut outputs) =
        pairwise::matrices(&both, |position| outline.recorded_index(left.tensor, tensor.index(position)));
    let same_inputs = left.run.problem.fingerprint() == right.run.problem.fingerprint();
    // Two in, one pair out.
    let (truth, mut outputs) = (truth.swap_remove(0), outputs.swap_remove(0));
    let (left, right) = (left.judged(), right.judged());
    if [&left, &right].iter().any(|judged| judged.verdict == Verdict::Unmeasured) {
        outputs.status = PairStatus::Unmeasured;
    }
    Ok(ComparedOutputs { left, right, same_inputs, truth, outputs })
}

impl OneOutput<'_> {
    fn contract(&self) -> Contract {
        Promise::recorded(self.stages).contract
    }

    fn channels(&self) -> Vec<(usize, usize)> {
        self.run.problem.channels().collect()
    }

    /// Every channel's quick values and bounds, beside what was recorded.
    fn outputs(&self) -> MethodOutputs {
        let (problem, form, contract) = (&self.run.problem, self.output.name.form, self.contract());
        let tensor = &self.output.tensors[self.tensor];
        let of_channel = |&at: &(usize, usize)| {
            let bounds = ChannelBudget::new(form, problem, at, &contract).judged();
            let bounds = &bounds[self.tensor];
            let bound = bounds.bound.iter().flat_map(|bound| vec![*bound; tensor.width]);
            (bounds.value.clone(), bound.collect::<Vec<f64>>())
        };
        let rows: Vec<(Vec<f64>, Vec<f64>)> = self.channels().par_iter().map(of_channel).collect();
        let (truth, bound): (Vec<Vec<f64>>, Vec<Vec<f64>>) = rows.into_iter().unzip();
        MethodOutputs {
            form,
            format: Format::for_input(tensor.element),
            truth: truth.concat(),
            kernel: Some(tensor.values.iter().map(|&value| value.into()).collect()),
            bound: bound.concat(),
        }
    }

    fn judged(&self) -> JudgedOutput {
        let (problem, form, contract) = (&self.run.problem, self.output.name.form, self.contract());
        let of_channel = |&at: &(usize, usize)| {
            quick::judge((form, &contract), problem, at, &self.output.tensors)[self.tensor]
        };
        let tallies: Vec<QuickTally> = self.channels().par_iter().map(of_channel).collect();
        let mut all = QuickTally::default();
        tallies.iter().for_each(|tally| all.absorb(tally));
        let verdict = match (all.failed, all.passed == all.elements()) {
            (0, true) => Verdict::Pass,
            (0, false) => Verdict::Unmeasured,
            _ => Verdict::Fail,
        };
        JudgedOutput { verdict, elements: all.elements(), share: all.share }
    }
}

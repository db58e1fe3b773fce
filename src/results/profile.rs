//! How errors spread: over their bounds, and along the sequence. For reports; verdicts need only the worst element.

use serde::{Deserialize, Serialize};

use super::nullable;
use crate::method::Method;
use crate::problem::Weights;
use crate::tensor::ComputedName;

/// Steps of a decade that shares are counted in, and the decades from 1 down.
pub const STEPS: usize = 4;

pub const DECADES: usize = 6;

/// What a run's errors look like.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ErrorProfile {
    /// Over every judged output of every f32 case, one for each method and weight type.
    pub histograms: Vec<ErrorHistogram>,
    /// Each method on the longest f32 problem of each weight type: its outputs, and the gradients that have positions.
    pub sequences: Vec<ErrorSequence>,
}

/// How many judged outputs used which share of their allowance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorHistogram {
    pub method: Method,
    pub weights: Weights,
    pub none: usize,
    /// Shares up to 1, [`STEPS`] equal steps of the logarithm to a decade, [`DECADES`] of them, ascending; the
    /// first step also has all that is smaller.
    pub counts: Vec<usize>,
    pub above: usize,
}

/// The errors of one tensor of a scan along the sequence, with their bounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorSequence {
    pub method: Method,
    pub weights: Weights,
    pub case: String,
    #[serde(default = "ComputedName::out")]
    pub tensor: ComputedName,
    /// Ascending: of each stretch of the sequence, over all that is judged there, where the largest share is.
    pub position: Vec<usize>,
    #[serde(default, with = "nullable::shorts")]
    pub error: Vec<f64>,
    #[serde(default, with = "nullable::shorts")]
    pub bound: Vec<f64>,
}

impl ErrorHistogram {
    pub fn new(method: Method, weights: Weights) -> Self {
        ErrorHistogram { method, weights, none: 0, counts: vec![0; STEPS * DECADES], above: 0 }
    }

    /// Everything that was judged.
    pub fn total(&self) -> usize {
        self.none + self.above + self.counts.iter().sum::<usize>()
    }

    /// Counts one share; a NaN is above.
    pub fn count(&mut self, share: f64) {
        if share == 0.0 {
            self.none += 1;
        } else if share <= 1.0 {
            let from_top = (-share.log10() * STEPS as f64) as usize;
            self.counts[(STEPS * DECADES - 1).saturating_sub(from_top)] += 1;
        } else {
            self.above += 1;
        }
    }

    fn add(&mut self, other: &ErrorHistogram) {
        self.none += other.none;
        self.above += other.above;
        self.counts.iter_mut().zip(&other.counts).for_each(|(total, count)| *total += count);
    }
}

impl ErrorProfile {
    /// Brings cases together; `sequences` are those that are to be shown.
    pub fn collect<'a>(
        histograms: impl Iterator<Item = &'a ErrorHistogram>,
        sequences: Vec<ErrorSequence>,
    ) -> Self {
        let mut totals: Vec<ErrorHistogram> = Vec::new();
        for one in histograms {
            match totals.iter_mut().find(|t| (t.method, t.weights) == (one.method, one.weights)) {
                Some(total) => total.add(one),
                None => totals.push(one.clone()),
            }
        }
        totals.sort_by_key(|t| (t.weights, t.method));
        ErrorProfile { histograms: totals, sequences }
    }
}

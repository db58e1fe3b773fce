//! What sweeps over all of f32 found of the functions of one float that the kernels are made of.

use serde::{Deserialize, Serialize};

use super::nullable;
use super::verdict::Verdict;
use crate::scalar_function::ScalarFunction;

/// A function at arguments of one sign and binary exponent: 2²³ of them, or every so many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionRange {
    pub function: ScalarFunction,
    pub negative: bool,
    pub exponent: u8,
    pub every: u32,
    pub verdict: Verdict,
    pub judged: u64,
    pub outside: u64,
    pub nans: u64,
    pub lost_nans: u64,
    pub failing: u64,
    pub undecided: u64,
    pub misrounded: u64,
    pub ties: u64,
    pub falls: u64,
    pub wrong_signs: u64,
    #[serde(deserialize_with = "nullable::one")]
    pub worst_share: f64,
    pub worst_share_at: f32,
    #[serde(deserialize_with = "nullable::one")]
    pub worst_ulp: f64,
    pub worst_ulp_at: f32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failing: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_fall: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_wrong_sign: Option<f32>,
    pub histogram: Vec<u64>,
}

impl FunctionRange {
    /// Its place among all: by function, the negative arguments first, and with growing argument.
    pub fn order(&self) -> (ScalarFunction, bool, i32) {
        let exponent = i32::from(self.exponent);
        (self.function, !self.negative, if self.negative { -exponent } else { exponent })
    }
}

/// A function over all its ranges: a certificate, where all arguments were judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionSummary {
    pub function: ScalarFunction,
    pub verdict: Verdict,
    /// Whether every f32 was an argument.
    pub exhaustive: bool,
    /// Of all ranges, the worst of them where it is no count.
    pub judged: u64,
    pub outside: u64,
    pub nans: u64,
    pub lost_nans: u64,
    pub failing: u64,
    pub undecided: u64,
    pub misrounded: u64,
    pub ties: u64,
    pub falls: u64,
    pub wrong_signs: u64,
    #[serde(deserialize_with = "nullable::one")]
    pub worst_share: f64,
    pub worst_share_at: f32,
    #[serde(deserialize_with = "nullable::one")]
    pub worst_ulp: f64,
    pub worst_ulp_at: f32,
    pub first_failing: Option<f32>,
    pub first_fall: Option<f32>,
    pub first_wrong_sign: Option<f32>,
    pub histogram: Vec<u64>,
}

/// Signs times exponents.
pub const RANGES: usize = 512;

/// One summary for each function, in order. The ranges are expected in theirs ([`FunctionRange::order`]).
pub fn summaries(ranges: &[FunctionRange]) -> Vec<FunctionSummary> {
    ranges.chunk_by(|a, b| a.function == b.function).map(summary).collect()
}

fn summary(ranges: &[FunctionRange]) -> FunctionSummary {
    let sum = |count: fn(&FunctionRange) -> u64| ranges.iter().map(count).sum();
    let worst = |of: fn(&FunctionRange) -> (f64, f32)| {
        // An infinity that was written and read is a NaN: nothing is worse.
        let larger =
            |a: (f64, f32), b: (f64, f32)| if !a.0.is_nan() && (b.0.is_nan() || b.0 > a.0) { b } else { a };
        ranges.iter().filter(|range| range.judged > 0).map(of).reduce(larger).unwrap_or((f64::NAN, f32::NAN))
    };
    let first = |of: fn(&FunctionRange) -> Option<f32>| {
        ranges.iter().filter_map(of).min_by(|a, b| a.abs().total_cmp(&b.abs()))
    };
    let (worst_share, worst_share_at) = worst(|range| (range.worst_share, range.worst_share_at));
    let (worst_ulp, worst_ulp_at) = worst(|range| (range.worst_ulp, range.worst_ulp_at));
    let mut histogram = vec![0; ranges.iter().map(|range| range.histogram.len()).max().unwrap_or(0)];
    for range in ranges {
        histogram.iter_mut().zip(&range.histogram).for_each(|(sum, count)| *sum += count);
    }
    FunctionSummary {
        function: ranges[0].function,
        verdict: Verdict::of_all(ranges.iter().map(|range| range.verdict)),
        exhaustive: ranges.len() == RANGES && ranges.iter().all(|range| range.every == 1),
        judged: sum(|range| range.judged),
        outside: sum(|range| range.outside),
        nans: sum(|range| range.nans),
        lost_nans: sum(|range| range.lost_nans),
        failing: sum(|range| range.failing),
        undecided: sum(|range| range.undecided),
        misrounded: sum(|range| range.misrounded),
        ties: sum(|range| range.ties),
        falls: sum(|range| range.falls),
        wrong_signs: sum(|range| range.wrong_signs),
        worst_share,
        worst_share_at,
        worst_ulp,
        worst_ulp_at,
        first_failing: first(|range| range.first_failing),
        first_fall: first(|range| range.first_fall),
        first_wrong_sign: first(|range| range.first_wrong_sign),
        histogram,
    }
}

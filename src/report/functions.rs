//! Sweeps over all of f32 in rows: one function over all its ranges.

use minijinja::Value;
use serde::Serialize;

use super::summary::{self, Totals};
use super::template::value;
use super::{ReportError, json, text};
use crate::results::functions::{FunctionSummary, summaries};
use crate::results::{Results, Verdict};

/// What the columns are, of [`row`].
pub const COLUMNS: [&str; 8] =
    ["function", "arguments", "share", "at x", "ulp", "at x", "not nearest", "falls"];

pub const LEGEND: &str = "share: the largest error over what is promised; ulp: the largest in f32 ulps (cos and sin: in 2⁻²⁴); each with \
                          its argument; how many values are not the nearest f32, and how many are below the one before where the function \
                          increases: neither is promised";

/// The functions that were swept.
pub fn all(results: &Results) -> Vec<FunctionSummary> {
    summaries(&results.functions)
}

/// How many functions pass.
pub fn totals(results: &Results) -> Totals {
    summary::totals(all(results).iter().map(|one| one.verdict))
}

#[derive(Serialize)]
pub struct FunctionRow {
    pub name: &'static str,
    /// In one sentence.
    pub what: &'static str,
    /// All but its name, by [`COLUMNS`].
    pub cells: Vec<String>,
    /// How its share is shown.
    pub class: &'static str,
    /// What keeps it from passing, by verdict and in words.
    pub wrong: Vec<(&'static str, String)>,
}

/// Every function, for a page.
pub fn rows(results: &Results) -> Value {
    let row = |one: &FunctionSummary| FunctionRow {
        name: one.function.name(),
        what: one.function.what(),
        cells: row(one)[1..].to_vec(),
        class: one.verdict.name(),
        wrong: problems(one).into_iter().map(|(verdict, what)| (verdict.name(), what)).collect(),
    };
    value(all(results).iter().map(row).collect::<Vec<_>>())
}

pub fn row(of: &FunctionSummary) -> [String; 8] {
    let share = match of.verdict {
        Verdict::Pass => text::share(of.worst_share),
        Verdict::Unmeasured => text::UNMEASURED.to_owned(),
        Verdict::Fail => format!("FAIL {}", text::share(of.worst_share)),
    };
    let at = |error: f64, x: f32| if error == 0.0 { String::new() } else { format!("{x:.4e}") };
    // What is said of some functions alone.
    let only = |is: bool, text: String| if is { text } else { text::UNMEASURED.to_owned() };
    [
        of.function.to_string(),
        if of.exhaustive { "all".to_owned() } else { of.judged.to_string() },
        share,
        at(of.worst_share, of.worst_share_at),
        text::number(of.worst_ulp, 3),
        at(of.worst_ulp, of.worst_ulp_at),
        only(!of.function.is_of_unit_circle(), percent(of.misrounded, of.judged)),
        only(of.function.is_increasing(), of.falls.to_string()),
    ]
}

fn percent(count: u64, all: u64) -> String {
    match count {
        0 => "0".to_owned(),
        _ => format!("{} %", text::number(100.0 * count as f64 / all.max(1) as f64, 2)),
    }
}

/// The certificate of a run's functions: what [`FunctionSummary`] says of each, and what was run where.
#[derive(Serialize)]
struct Certificate<'a> {
    version: &'a str,
    device: &'a str,
    kernel_source: &'a str,
    command: &'a str,
    functions: Vec<FunctionSummary>,
}

/// `functions.json`; none where no function was swept.
pub fn certificate(results: &Results) -> Result<Option<String>, ReportError> {
    let functions = all(results);
    if functions.is_empty() {
        return Ok(None);
    }
    let Results { version, device, kernel_source, command, .. } = results;
    let certificate = Certificate { version, device, kernel_source, command, functions };
    json::to_string(&certificate).map(Some)
}

/// What keeps a function from passing, in words after its verdict; nothing where it passes.
pub fn problems(of: &FunctionSummary) -> Vec<(Verdict, String)> {
    let some = |verdict, count: u64, what: &str, at: Option<f32>| {
        let at = at.map_or(String::new(), |x| format!(", the first from zero at x = {x:e}"));
        (count > 0).then(|| (verdict, format!("{}: {what}{at}", text::count(count as usize, "value"))))
    };
    [
        some(Verdict::Fail, of.failing, "beyond what is promised", of.first_failing),
        some(Verdict::Fail, of.lost_nans, "no NaN for a NaN", None),
        some(Verdict::Unmeasured, of.undecided, "not decided", None),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The same in a line for each, the verdict first.
pub fn problem_lines(results: &Results) -> Vec<String> {
    let all = all(results);
    let lines = all.iter().flat_map(|one| {
        problems(one)
            .into_iter()
            .map(|(verdict, what)| format!("{} {}: {what}", text::verdict(verdict), one.function))
    });
    lines.collect()
}

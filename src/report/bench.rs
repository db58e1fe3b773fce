//! Benchmarks in rows: what was timed, beside what it is compared with.

use minijinja::Value;
use serde::Serialize;

use super::summary::{self, Totals};
use super::template::value;
use super::text;
use crate::method::Method;
use crate::results::bench::{Check, Machine, Scaling, Spread, Timed, scalings};
use crate::results::bench_compare::SLOWER;
use crate::results::{Results, Verdict};

/// What the columns of a table are, of [`Row`]; the first one of operations is another.
pub const COLUMNS: [&str; 11] =
    ["method", "median", "± 95 %", "cold", "elem/s", "GB/s", "Gflop/s", "roof", "regs", "occ.", "error"];

pub const LEGEND: &str = "median of warm runs, and by how much it may be off; cold: after the caches were flushed; \
    GB/s, Gflop/s: what the formula asks for at least, a second; roof: the time that the device needs at least for it, \
    over that which it took; registers of a thread; threads that a multiprocessor holds, of those it could; \
    error: the largest, over its bound, where outputs were judged";

/// Timings that stand in one table.
#[derive(Serialize)]
pub struct Group {
    /// `forward, real, f32, b8 d512 n16 l1024, on cuda`
    pub title: String,
    /// Those of [`COLUMNS`] that any row has something in.
    pub columns: Vec<&'static str>,
    pub rows: Vec<Row>,
}

#[derive(Serialize)]
pub struct Row {
    /// By [`COLUMNS`].
    pub cells: Vec<String>,
    pub verdict: &'static str,
    pub reason: String,
}

/// Seconds as people read them: `1.23 µs`, `4.5 ms`.
pub fn seconds(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let fits = |(unit, _): &(f64, &str)| seconds >= 0.9995 * unit;
    match units.into_iter().find(fits) {
        Some((unit, name)) => format!("{} {name}", text::number(seconds / unit, 3)),
        None => format!("{} ns", text::number(seconds * 1e9, 3)),
    }
}

/// By how much the median may be off, in percent of it; none of too few runs.
fn percent_off(spread: &Spread) -> Option<f64> {
    let [low, high] = spread.interval?;
    Some(100.0 * (high - spread.median).max(spread.median - low) / spread.median)
}

fn off(spread: &Spread) -> String {
    percent_off(spread).map_or(text::UNMEASURED.to_owned(), |off| format!("{} %", text::number(off, 2)))
}

/// How many medians may be off by more than a comparison looks for, in a line; none where none is.
pub fn uncertain(results: &Results) -> Option<String> {
    let of = |timed: &'_ Timed| percent_off(timed.warm.as_ref()?).filter(|off| *off > SLOWER);
    let all: Vec<(f64, &Timed)> =
        results.bench.iter().filter_map(|timed| Some((of(timed)?, timed))).collect();
    let (worst, timed) = all.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "UNCERTAIN {} of {} may be off by more than {SLOWER} %, {} by {} %: `--compare` finds little in them \
         (hint: --seconds 10 --samples 501, while nothing else runs)",
        all.len(),
        text::count(results.bench.len(), "median"),
        timed.id,
        text::number(*worst, 3)
    ))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn row(timed: &Timed, machines: &[Machine]) -> Row {
    let none = || text::UNMEASURED.to_owned();
    let name = match (timed.scan, timed.operation) {
        (Some(scan), _) => scan.method.to_string(),
        (None, Some(operation)) => operation.to_string(),
        (None, None) => String::new(),
    };
    let of_warm = |show: fn(&Spread) -> String| timed.warm.as_ref().map_or_else(none, show);
    let rates = timed.rates(machines);
    let rate = |show: &dyn Fn(crate::results::bench::Rates) -> String| rates.map_or_else(none, show);
    // What was compiled for a device has registers.
    let kernel = timed.kernel.filter(|kernel| kernel.registers > 0);
    let cells = vec![
        name,
        of_warm(|warm| seconds(warm.median)),
        of_warm(off),
        timed.cold.map_or_else(none, |cold| seconds(cold.median)),
        rate(&|rates| format!("{:.2e}", rates.elements)),
        rate(&|rates| text::number(rates.bytes * 1e-9, 3)),
        rate(&|rates| text::number(rates.flops * 1e-9, 3)),
        rate(&|rates| rates.roofline.map_or_else(none, percent)),
        kernel.map_or_else(none, |kernel| kernel.registers.to_string()),
        kernel.map_or_else(none, |kernel| percent(kernel.occupancy)),
        timed.share.map_or_else(none, |share| text::outcome(timed.verdict, Some(share))),
    ];
    Row { cells, verdict: timed.verdict.name(), reason: timed.reason.clone() }
}

/// All timings, table by table.
pub fn groups(results: &Results) -> Vec<Group> {
    let mut groups: Vec<(&Timed, Group)> = Vec::new();
    for timed in &results.bench {
        let same =
            |(first, _): &(&Timed, Group)| first.group() == timed.group() && first.backend == timed.backend;
        let place = groups.iter().position(same).unwrap_or_else(|| {
            let title = format!("{}, on {}", title(timed), timed.backend);
            groups.push((timed, Group { title, columns: COLUMNS.to_vec(), rows: Vec::new() }));
            groups.len() - 1
        });
        groups[place].1.rows.push(row(timed, &results.machines));
    }
    groups.into_iter().map(|(_, group)| group.without_empty()).collect()
}

impl Group {
    /// Without the columns in which nothing was measured.
    fn without_empty(mut self) -> Group {
        let filled: Vec<bool> = (0..self.columns.len())
            .map(|i| self.rows.iter().any(|row| row.cells[i] != text::UNMEASURED))
            .collect();
        let keep = |i: usize| filled[i];
        let mut at = 0..;
        self.columns.retain(|_| at.next().is_some_and(keep));
        for row in &mut self.rows {
            let mut at = 0..;
            row.cells.retain(|_| at.next().is_some_and(keep));
        }
        self
    }
}

/// What stands above a table.
fn title(timed: &Timed) -> String {
    match timed.scan {
        Some(scan) => format!("{}, {}, {}, {}", timed.work, scan.weights, scan.input, scan.shape),
        None => "single operations".to_owned(),
    }
}

/// What the devices can do, a line each.
pub fn machines(results: &Results) -> Vec<String> {
    let line = |machine: &Machine| {
        let peaks = match &machine.peaks {
            Some(peaks) => format!(
                "copies {} GB/s, {} Gflop/s, {} special functions a second, all measured",
                text::number(peaks.copy * 1e-9, 3),
                text::number(peaks.fused * 1e-9, 3),
                text::number(peaks.special, 3)
            ),
            None => "what it can do at most was not measured".to_owned(),
        };
        let clocks: Vec<String> = machine.clocks.iter().map(|clock| format!("{:.0}", clock * 1e-6)).collect();
        let clock = match clocks[..] {
            [] => String::new(),
            _ => format!(
                "; clock under load {} MHz{}",
                clocks.join(", then "),
                if machine.clock > 0.0 { format!(" of {:.0}", machine.clock * 1e-6) } else { String::new() }
            ),
        };
        let slowed = match machine.slowed() {
            Some(share) if share > SLOWED => format!("; THROTTLED by {} on the way", percent(share)),
            _ => String::new(),
        };
        format!("{}: {peaks}{clock}{slowed}", machine.backend)
    };
    results
        .machines
        .iter()
        .filter(|machine| machine.cache_bytes > 0 || machine.peaks.is_some())
        .map(line)
        .collect()
}

/// How much slower a clock may become before it is said.
const SLOWED: f64 = 0.03;

/// How many times as long the other backends take, for each method of each table: the first backend against each other one.
pub fn against(results: &Results) -> Vec<String> {
    let median = |timed: &Timed| timed.warm.map(|warm| warm.median);
    let first = match results.machines.first() {
        Some(machine) => &machine.backend,
        None => return Vec::new(),
    };
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for timed in results.bench.iter().filter(|timed| timed.backend != *first) {
        let same = |other: &&Timed| {
            other.backend == *first
                && other.group() == timed.group()
                && other.scan == timed.scan
                && other.operation == timed.operation
        };
        let (Some(scan), Some(ours)) = (timed.scan, results.bench.iter().find(same).and_then(median)) else {
            continue;
        };
        let Some(theirs) = median(timed) else { continue };
        let head = format!("time of {} over that of {first}, {}: ", timed.backend, title(timed));
        let said = format!("{} {}", scan.method, text::number(theirs / ours, 3));
        add(&mut lines, head, said);
    }
    lines.into_iter().map(|(head, all)| head + &all.join(", ")).collect()
}

/// How times grow with the sizes: a line for each size, pass and backend.
pub fn scaling(results: &Results) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for Scaling { size, work, method, weights, input, backend, points, exponent } in scalings(&results.bench)
    {
        let [from, to] = [points.first(), points.last()].map(|point| point.map_or(0.0, |point| point.0));
        let head =
            format!("time ~ {size}^p from {from} to {to}, {work} on {backend}, {weights} {input}: p = ");
        add(&mut lines, head, format!("{exponent:.2} {method}"));
    }
    lines.into_iter().map(|(head, all)| head + &all.join(", ")).collect()
}

/// Adds what is said under a head, which is made where there is none.
fn add(lines: &mut Vec<(String, Vec<String>)>, head: String, said: String) {
    match lines.iter_mut().find(|(known, _)| *known == head) {
        Some((_, all)) => all.push(said),
        None => lines.push((head, vec![said])),
    }
}

/// How many timings were measured, and how many checks pass.
pub fn totals(results: &Results) -> [Totals; 2] {
    let timings = summary::totals(results.bench.iter().map(|timed| timed.verdict));
    let run = results.checks.iter().filter(|checked| !checked.skipped);
    [timings, summary::totals(run.map(|checked| checked.verdict))]
}

#[derive(Serialize)]
pub struct CheckRow {
    pub name: &'static str,
    pub backend: String,
    /// In one sentence.
    pub what: &'static str,
    pub verdict: &'static str,
    pub reason: String,
}

pub fn checks(results: &Results) -> Vec<CheckRow> {
    let row = |checked: &crate::results::bench::Checked| CheckRow {
        name: Check::name(checked.check),
        backend: checked.backend.clone(),
        what: checked.check.what(),
        verdict: if checked.skipped { "skipped" } else { checked.verdict.name() },
        reason: checked.reason.clone(),
    };
    results.checks.iter().map(row).collect()
}

/// What kept things from being timed, each with its id.
pub fn unmeasured(results: &Results) -> Vec<String> {
    let not = results.bench.iter().filter(|timed| timed.verdict != Verdict::Pass);
    not.map(|timed| format!("{} {}: {}", text::verdict(timed.verdict), timed.id, timed.reason)).collect()
}

/// Everything for a page; none where nothing was timed.
pub fn page(results: &Results) -> Value {
    #[derive(Serialize)]
    struct Page {
        groups: Vec<Group>,
        machines: Vec<String>,
        against: Vec<String>,
        scaling: Vec<String>,
        checks: Vec<CheckRow>,
        unmeasured: Vec<String>,
        legend: &'static str,
        total: String,
    }
    if !is_of(results) {
        return Value::from(());
    }
    let [timings, checks_total] = totals(results);
    let mut total = timings.text("timing");
    if checks_total.all() > 0 {
        total += &format!("; {}", checks_total.text("check"));
    }
    value(Page {
        groups: groups(results),
        machines: machines(results),
        against: against(results),
        scaling: scaling(results),
        checks: checks(results),
        unmeasured: unmeasured(results),
        legend: LEGEND,
        total,
    })
}

/// The scans of the first backend as a table in Markdown: a row for each method, a column for each pass, weight type, input type,
/// shape, and tier of the kernels.
pub fn table(results: &Results) -> String {
    let first = results.machines.first().map_or("", |machine| &machine.backend);
    let first = first.strip_suffix("-fast").unwrap_or(first);
    // By what a backend's name has behind it in the fast tier.
    let tier = |timed: &Timed| {
        let behind = timed.backend.strip_prefix(first)?;
        ["", "-fast"].into_iter().find(|known| *known == behind)
    };
    let scans: Vec<&Timed> =
        results.bench.iter().filter(|timed| timed.scan.is_some() && tier(timed).is_some()).collect();
    let mut columns = Vec::new();
    for timed in &scans {
        let column = (timed.group(), tier(timed));
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let heads = columns.iter().filter_map(|&((work, of), tier)| {
        let tier = if tier == Some("") { "" } else { ", fast tier" };
        of.map(|(weights, input, shape)| format!("{work}, {weights}, {input}, {shape}{tier}"))
    });
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(std::iter::once("method".to_owned()).chain(heads).collect());
    text += &format!("|---|{}\n", "--:|".repeat(columns.len()));
    for method in Method::ALL {
        let of = |column| {
            let this = |timed: &&&Timed| {
                (timed.group(), tier(timed)) == column && timed.scan.is_some_and(|scan| scan.method == method)
            };
            let warm = scans.iter().find(this).and_then(|timed| timed.warm);
            warm.map_or(text::UNMEASURED.to_owned(), |warm| seconds(warm.median))
        };
        let cells: Vec<String> = columns.iter().map(|&column| of(column)).collect();
        if cells.iter().any(|cell| cell != text::UNMEASURED) {
            text += &line([vec![format!("`{method}`")], cells].concat());
        }
    }
    text
}

/// Whether these are timings, and nothing that passes or fails.
pub fn is_timed_only(results: &Results) -> bool {
    !results.bench.is_empty()
        && results.checks.is_empty()
        && results.bench.iter().all(|timed| timed.share.is_none())
}

/// Whether these are the results of a benchmark.
pub fn is_of(results: &Results) -> bool {
    !results.bench.is_empty() || !results.checks.is_empty()
}

//! Promise: a benchmark is shown on a terminal of 100 columns, on a page with its pictures, and in Markdown; also where nothing was timed.

use holdfast::report::{bench, console, html, junit, markdown, plots};
use holdfast::results::bench::{Check, Checked, KernelUse, Machine, Peaks, Timed};
use holdfast::results::{Results, Verdict};

use crate::parts::run;

/// A run on this machine, as if on a GPU that became slower.
fn results() -> Results {
    let mut results = run().clone();
    results.machines[0].clocks = vec![1.98e9, 1.7e9];
    results.machines[0].clock = 1.98e9;
    results.checks = vec![
        Checked {
            check: Check::WarmUp,
            backend: "cpu".to_owned(),
            verdict: Verdict::Pass,
            skipped: false,
            reason: "1 ms in the first half, 1 ms in the second".to_owned(),
        },
        Checked {
            check: Check::Threads,
            backend: "cpu".to_owned(),
            verdict: Verdict::Unmeasured,
            skipped: true,
            reason: "skipped, as was asked for".to_owned(),
        },
    ];
    results
}

#[test]
fn a_benchmark_is_shown_wherever_results_are() {
    let results = results();
    // A table with every column there is.
    let mut wide = results.clone();
    for timed in &mut wide.bench {
        timed.share = Some(0.0123);
        let kernel = KernelUse { registers: 128, occupancy: 0.625, ..KernelUse::default() };
        (timed.kernel, timed.cold) = (Some(kernel), timed.warm);
    }
    let widest = console::render(&wide, None, false);
    assert!(widest.contains("occ.") && widest.contains("error"), "{widest}");
    assert!(widest.lines().all(|line| line.chars().count() <= 100), "{widest}");
    let text = console::render(&results, None, false);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    for said in [
        "forward, complex, f32, b1 d3 n2 l9, on cpu",
        "THROTTLED",
        "25/25 timings and 1/1 checks pass",
        "time ~ seqlen^",
        "SKIPPED",
    ] {
        assert!(text.contains(said), "{said} in {text}");
    }
    let pictures = plots::all(&results).expect("drawn");
    let names: Vec<&str> = pictures.iter().map(|plot| plot.name.as_str()).collect();
    assert_eq!(names, ["roofline", "times", "scaling"]);
    assert!(pictures.iter().all(|plot| !plot.how_to_read.is_empty() && !plot.svg.contains("NaN")));
    let page = html::page(&results, &pictures).expect("rendered");
    assert!(page.contains("id=\"bench\"") && page.contains("plot-roofline") && page.contains("warm-up"));
    assert!(!page.contains("id=\"cases\""), "a benchmark judges no case");
    assert!(markdown::page(&results).expect("rendered").contains("timings"));
    assert!(junit::to_string(&results).expect("rendered").contains("warm-up/cpu"));
}

/// A median that may as well be twice as large passes nothing.
#[test]
fn timings_alone_are_no_verdict_and_uncertain_ones_are_called_so() {
    let mut results = results();
    results.checks.clear();
    for spread in results.bench.iter_mut().filter_map(|timed| timed.warm.as_mut()) {
        spread.interval = Some([spread.median; 2]);
    }
    let sure = console::render(&results, None, false);
    assert!(sure.contains(": TIMED") && sure.contains("25/25 timings taken"), "{sure}");
    assert!(!sure.contains("PASS") && !sure.contains("UNCERTAIN"), "{sure}");
    let spread = results.bench[3].warm.as_mut().expect("timed");
    spread.interval = Some([spread.median, 2.16 * spread.median]);
    let text = console::render(&results, None, false);
    let said =
        format!("UNCERTAIN 1 of 25 medians may be off by more than 10 %, {} by 116 %", results.bench[3].id);
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line(&text).contains(&said), "{said} in {text}");
}

#[test]
fn what_could_not_be_timed_is_shown_with_its_reason() {
    let mut results = results();
    for timed in &mut results.bench {
        (timed.warm, timed.cold, timed.first) = (None, None, None);
        (timed.verdict, timed.reason) = (Verdict::Unmeasured, "out of memory".to_owned());
    }
    assert_eq!(results.verdict(), Verdict::Unmeasured);
    let text = console::render(&results, None, false);
    assert!(text.contains("UNMEASURED operation/exp/cpu: out of memory"), "{text}");
    let pictures = plots::all(&results).expect("drawn");
    assert!(pictures.is_empty());
    html::page(&results, &pictures).expect("rendered");
}

#[test]
fn numbers_of_any_size_are_drawn() {
    for time in [0.0, 1e-300, 1e300] {
        let mut results = results();
        for spread in results.bench.iter_mut().flat_map(|timed| [&mut timed.warm, &mut timed.cold]).flatten()
        {
            (spread.median, spread.fastest, spread.slowest) = (time, time, time);
            spread.interval = None;
        }
        plots::all(&results).expect("drawn");
        console::render(&results, None, false);
    }
    let mut results = results();
    results.machines = vec![Machine {
        backend: "cpu".to_owned(),
        peaks: Some(Peaks { copy: 0.0, fused: f64::INFINITY, special: f64::NAN }),
        ..Machine::default()
    }];
    plots::all(&results).expect("drawn");
    console::render(&results, None, false);
}

/// The guide's table is that of the benchmark that was recorded on the GPU, where there is one.
#[test]
fn the_table_is_made_of_medians_and_the_guide_has_the_recorded_one() {
    let results = results();
    let table = bench::table(&results);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "a head and two methods: {table}");
    assert!(
        lines[0].starts_with("| method | forward, complex, f32, b1 d3 n2 l9 | backward, complex,"),
        "{table}"
    );
    assert!(lines.iter().all(|line| line.matches('|').count() == 8), "{table}");
    let warm = results.bench.iter().find(|timed| timed.id == "forward/complex/f32/b1-d3-n2-l9/zoh/cpu");
    let median = bench::seconds(warm.and_then(|timed| timed.warm).expect("timed").median);
    assert!(lines[2].starts_with(&format!("| `zoh` | {median} |")), "{table}");
    // What the first backend did not time is not another one's time.
    let mut without = results.clone();
    without.bench.retain(|timed| timed.id != "forward/complex/f32/b1-d3-n2-l9/zoh/cpu");
    assert!(bench::table(&without).contains("| `zoh` | – |"));
    // The fast tier has columns of its own.
    let mut both = results.clone();
    let fast = both.bench.iter().filter(|timed| timed.scan.is_some() && timed.backend == "cpu").cloned();
    let fast: Vec<_> = fast.map(|timed| Timed { backend: "cpu-fast".to_owned(), ..timed }).collect();
    both.bench.extend(fast);
    let table = bench::table(&both);
    assert!(table.contains("forward, complex, f32, b1 d3 n2 l9, fast tier |"), "{table}");
    assert!(table.lines().all(|line| line.matches('|').count() == 14), "{table}");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for (file, page) in
        [("bench.json", "src/guide/benchmarks.md"), ("bench-tiers.json", "reports/h200/README.md")]
    {
        let recorded = root.join("reports/h200").join(file);
        if recorded.exists() {
            let table = bench::table(&holdfast::report::json::read(&recorded).expect("a benchmark"));
            let text = std::fs::read_to_string(root.join(page)).expect("a page");
            assert!(text.contains(&table), "{page} lacks what `holdfast bench --table` says:\n{table}");
        }
    }
}

#[test]
fn times_are_read_in_units_of_their_size() {
    let shown = [2.0, 0.0123, 4.56e-5, 7e-9, 0.9999].map(bench::seconds);
    assert_eq!(shown, ["2.00 s", "12.3 ms", "45.6 µs", "7.00 ns", "1.00 s"]);
}

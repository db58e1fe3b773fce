//! Promise: `cargo run --release` exits 0. The same run, in the test profile: every case of every regime, every
//! sweep and every pair passes on the CPU build of the kernels, and the verdict table is the golden one.

use std::collections::BTreeMap;
use std::fmt::Write;

use holdfast::judge::results::{Results, Verdict};
use holdfast::kernel::CpuBackend;
use holdfast::method::Method;
use holdfast::report::console;
use holdfast::verify::{Request, verify};

/// Passing and all cases of each regime, weight type and method. No errors: they are the machine's own libm's
/// business, below the bound.
fn verdict_table(results: &Results) -> String {
    let mut rows: BTreeMap<(usize, String), BTreeMap<Method, (usize, usize)>> = BTreeMap::new();
    for case in &results.cases {
        let order = results.regimes.iter().position(|note| note.name == case.regime).expect("noted");
        let row = rows.entry((order, format!("{} {}", case.regime, case.weights))).or_default();
        let (passed, all) = row.entry(case.method).or_default();
        *passed += usize::from(case.verdict == Verdict::Pass);
        *all += 1;
    }
    let mut text = format!("{:24}", "passed of all cases");
    for method in Method::ALL {
        write!(text, "{method:>10}").unwrap();
    }
    text.push('\n');
    for ((_, name), row) in rows {
        write!(text, "{name:24}").unwrap();
        for (passed, all) in row.values() {
            write!(text, "{:>10}", format!("{passed}/{all}")).unwrap();
        }
        text.push('\n');
    }
    text
}

#[test]
fn every_verdict_of_the_default_run_passes() {
    let results = verify(&Request::everything(1), &CpuBackend::new(), &|| {});
    assert_eq!(results.verdict(), Verdict::Pass, "\n{}", console::render(&results, None, false));
    assert!(results.pairs.agree > 1000 && results.coefficients.len() == 24);
    insta::with_settings!({
        snapshot_path => "../golden",
        prepend_module_to_snapshot => false,
        description => format!("Verdicts of the default run, seed 1, backend cpu, kernels {}.", results.kernel_source),
        omit_expression => true,
    }, { insta::assert_snapshot!("verdict-table", verdict_table(&results)) });
}

//! The report's pages show everything that the results hold, need nothing else, and stay small.

mod support_report;

use holdfast::judge::faults::catalogue;
use holdfast::judge::results::Results;
use holdfast::method::Method;
use holdfast::problem::Weights;
use holdfast::report::{console, html, invariants, json, markdown, plots};
use support_report as fixture;

fn every_kind() -> Vec<(&'static str, Results)> {
    vec![
        ("passing", fixture::passing()),
        ("failing", fixture::spoil(fixture::passing())),
        ("small", fixture::small()),
        ("small failing", fixture::spoil(fixture::small())),
        ("empty", fixture::empty()),
    ]
}

fn page(results: &Results) -> String {
    html::page(results, &plots::all(results).unwrap()).unwrap()
}

#[test]
fn the_page_shows_every_case_and_every_anchor_leads_somewhere() {
    for (name, results) in every_kind() {
        let page = page(&results);
        let rows = page.matches("<span id=\"case-").count();
        assert_eq!(rows, results.cases.len(), "{name}");
        for link in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert_eq!(page.matches(&format!(" id=\"{link}\"")).count(), 1, "{name}: #{link}");
        }
        for id in page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{name}: {id} twice");
        }
        for section in
            ["verdict", "ran", "methods", "failures", "matrix", "coefficients", "pairwise", "plots"]
        {
            assert!(page.contains(&format!("id=\"{section}\"")), "{name}: {section}");
        }
    }
}

#[test]
fn the_page_shows_every_pair_of_every_problem() {
    let results = fixture::passing();
    let page = page(&results);
    for matrix in &results.pairwise {
        assert!(page.contains(&matrix.problem.replace('/', "&#x2f;")), "{}", matrix.problem);
    }
    let cells: usize = results.pairwise.iter().map(|m| m.pairs.len()).sum();
    let shown = page.matches(" × the sum of both bounds; mean ").count();
    assert_eq!(shown, cells);
}

/// What stands between two texts, the first time.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    page.split_once(from).and_then(|(_, rest)| rest.split_once(to)).unwrap_or_else(|| panic!("no {from}")).0
}

#[test]
fn each_method_leads_to_its_worst_element_passing_or_not() {
    for results in [fixture::passing(), fixture::spoil(fixture::passing())] {
        let page = page(&results);
        for method in Method::ALL {
            for weights in Weights::ALL {
                let anchor = format!("worst-{method}-{weights}");
                let line = between(&page, &format!("<tr id=\"method-{method}\">"), "</tr>");
                assert!(line.contains(&format!("href=\"#{anchor}\"")), "{anchor}: {line}");
                let card = between(&page, &format!("id=\"{anchor}\">"), "</article>");
                // A kernel that faulted has no element to show, but a reason.
                let faulted = card.contains("kernel fault: barrier");
                let element = ["Worst element", "got", "want", "bound", "0x1.", "Inputs there"];
                assert!(element.iter().all(|part| card.contains(part)) || faulted, "{anchor}: {card}");
                assert!(
                    card.contains("Most ulp in any case") && card.contains("holdfast verify"),
                    "{anchor}: {card}"
                );
            }
        }
    }
}

#[test]
fn the_page_sets_what_was_measured_beside_what_is_specified() {
    let mut results = fixture::small();
    let row = |results: &Results, name: &str| {
        between(&page(results), &format!("<tr id=\"formula-{name}\""), "</tr>").to_owned()
    };
    for (name, orders) in [("rk4", ["4.00 (4)", "1.00 (1)"]), ("zoh-exact", ["exact (exact)", "1.00 (1)"])] {
        let row = row(&results, name);
        assert!(orders.iter().all(|order| row.contains(order)) && !row.contains("fail"), "{row}");
    }
    assert!(row(&results, "foh").contains("0.0000 (0)"));
    results.analysis.forms.iter_mut().for_each(|form| form.order_constant = Some(3.0));
    assert!(row(&results, "rk4").contains("class=\"num fail\">3.00 (4)"));
}

#[test]
fn the_page_shows_every_invariant_and_how_it_came_out() {
    let results = fixture::spoil(fixture::small());
    let page = page(&results);
    for row in invariants::rows(&results) {
        let shown = between(&page, &format!("<tr id=\"invariant-{}\">", row.name), "</tr>");
        for method in invariants::methods(&results) {
            assert!(shown.contains(&format!(">{}</td>", row.text(method))), "{} {method}: {shown}", row.name);
        }
    }
    assert!(!results.invariants.is_empty());
}

#[test]
fn the_page_shows_the_whole_fault_catalogue() {
    let page = page(&fixture::empty());
    let matrix = between(&page, "id=\"confusion\"", "</section>");
    assert_eq!(matrix.matches("<tr id=\"fault-").count(), catalogue::ALL.len());
    assert!(matrix.contains("Of 902 planted faults 902 were caught and named first"), "{}", &matrix[..900]);
}

#[test]
fn the_page_needs_no_network_and_runs_no_script() {
    for (name, results) in every_kind() {
        let page = page(&results);
        for forbidden in ["http:", "https:", "<script", "<link", "<img", "<iframe", "url(", "@import", "src="]
        {
            assert!(!page.contains(forbidden), "{name}: {forbidden}");
        }
        assert!(!page.contains('\u{1b}'), "{name}: a control character");
    }
}

#[test]
fn hostile_names_reach_no_page_unescaped() {
    let results = fixture::spoil(fixture::small());
    let page = page(&results);
    assert!(page.contains("&lt;script&gt;alert("));
    let markdown = markdown::page(&results).unwrap();
    assert!(!markdown.contains("<script>"));
    for plot in plots::all(&results).unwrap() {
        assert!(!plot.svg.contains("<script>") && !plot.svg.contains('\u{1b}'), "{}", plot.name);
    }
    let text = console::render(&results, None, false);
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn pages_stay_within_their_sizes() {
    for (name, results) in every_kind() {
        let (page, markdown) = (page(&results).len(), markdown::page(&results).unwrap().len());
        assert!(page < 3_000_000, "{name}: index.html has {page} bytes");
        assert!(markdown < 60_000, "{name}: report.md has {markdown} bytes");
    }
}

#[test]
fn a_run_in_which_everything_fails_still_fits() {
    let mut results = fixture::passing();
    for _ in 0..3 {
        let copies: Vec<_> = results.cases.iter().take(1000).cloned().collect();
        results.cases.extend(copies);
    }
    for (i, case) in results.cases.iter_mut().enumerate() {
        case.id = format!("{}-{i}-{}", case.id, "|<&".repeat(30));
        case.regime = format!("{}{}", "<&".repeat(40), i % 60);
        case.verdict = holdfast::judge::results::Verdict::Fail;
        case.reason = "`*_[|".repeat(100);
    }
    let page = page(&results);
    assert!(page.len() < 3_000_000, "{}", page.len());
    for link in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).take(500) {
        assert!(page.contains(&format!(" id=\"{link}\"")), "#{link}");
    }
    let markdown = markdown::page(&results).unwrap();
    assert!(markdown.len() < markdown::BYTES, "{}", markdown.len());
}

#[test]
fn the_console_report_fits_a_hundred_columns() {
    for (name, results) in every_kind() {
        let text = console::render(&results, Some("reports/latest".as_ref()), false);
        for line in text.lines() {
            // A command's single long argument stays whole, to be pasted.
            let argument = line.ends_with(" \\") && line.split_whitespace().count() == 3;
            assert!(argument || line.chars().count() <= console::WIDTH, "{name}: {line}");
        }
    }
}

#[test]
fn the_console_names_every_regime_and_counts_every_case() {
    let results = fixture::passing();
    let text = console::render(&results, None, false);
    for regime in fixture::REGIMES {
        assert!(text.contains(regime), "{regime}");
    }
    let cases = results.cases.len();
    assert!(text.contains(&format!("{cases} cases: {cases} pass, 0 fail, 0 unmeasured")), "{text}");
    assert!(text.starts_with("holdfast 0.1.0: PASS\n"));
}

#[test]
fn nothing_measured_is_not_a_pass() {
    let mut results = fixture::small();
    results.coefficients.clear();
    for case in &mut results.cases {
        *case = fixture::unmeasured(case.clone(), "no GPU on this machine");
    }
    for results in [results, fixture::empty()] {
        let text = console::render(&results, None, false);
        assert!(text.starts_with("holdfast 0.1.0: UNMEASURED\n"), "{text}");
        assert!(!page(&results).contains(">PASS<"));
        assert!(!markdown::page(&results).unwrap().contains("PASS"));
    }
}

#[test]
fn what_was_not_measured_is_explained_everywhere() {
    let results = fixture::spoil(fixture::small());
    let reason = "2 unmeasured: no GPU on this machine";
    assert!(console::render(&results, None, false).contains(reason));
    assert!(markdown::page(&results).unwrap().contains(reason));
    assert!(page(&results).contains(reason));
}

#[test]
fn colour_changes_nothing_but_the_colour() {
    let results = fixture::spoil(fixture::small());
    let coloured = console::render(&results, None, true);
    assert!(coloured.contains("\u{1b}[1;31mFAIL\u{1b}[0m"));
    let plain = ["\u{1b}[1;31m", "\u{1b}[1;32m", "\u{1b}[1;33m", "\u{1b}[0m"]
        .into_iter()
        .fold(coloured, |text, code| text.replace(code, ""));
    assert_eq!(plain, console::render(&results, None, false));
}

#[test]
fn every_broken_method_is_among_the_explained_failures() {
    let text = console::render(&fixture::spoil(fixture::passing()), None, false);
    let explained = text.split("═══").next().unwrap();
    for method in ["foh", "poly", "highorder", "rk4", "bilinear"] {
        assert!(explained.contains(&format!("--method {method} ")), "{method}\n{explained}");
    }
}

#[test]
fn json_holds_every_case_and_no_bare_nan() {
    let results = fixture::spoil(fixture::small());
    let value: serde_json::Value = serde_json::from_str(&json::to_string(&results).unwrap()).unwrap();
    assert_eq!(value["schema"], 1);
    assert_eq!(value["cases"].as_array().unwrap().len(), results.cases.len());
    let nan = value["cases"].as_array().unwrap().iter().find(|c| c["worst"]["got"].is_null());
    assert!(nan.is_some());
}

#[test]
fn console_text_is_as_agreed() {
    snapshot("console-pass", console::render(&fixture::small(), Some("reports/latest".as_ref()), false));
    let failing = fixture::spoil(fixture::small());
    snapshot("console-fail", console::render(&failing, Some("reports/latest".as_ref()), false));
    snapshot("console-empty", console::render(&fixture::empty(), None, false));
}

#[test]
fn markdown_is_as_agreed() {
    snapshot("markdown-pass", markdown::page(&fixture::small()).unwrap());
    snapshot("markdown-fail", markdown::page(&fixture::spoil(fixture::small())).unwrap());
    snapshot("markdown-empty", markdown::page(&fixture::empty()).unwrap());
}

fn snapshot(name: &str, text: String) {
    insta::with_settings!({
        snapshot_path => "../golden/report",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}

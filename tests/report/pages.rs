//! The report's pages show everything that the results hold, need nothing else, and stay small.

use std::collections::BTreeSet;

use holdfast::method::Method;
use holdfast::problem::Weights;
use holdfast::report::{console, github, grid, html, invariants, json, markdown, plots, summary};
use holdfast::results::{
    CoefficientResult, ErrorPart, HeaderInstantiation, HeaderNote, Lifting, Results, Verdict,
};

use crate::fixture;

fn every_kind() -> Vec<(&'static str, Results)> {
    vec![
        ("passing", fixture::passing()),
        ("failing", fixture::spoil(fixture::passing())),
        ("small", fixture::small()),
        ("small failing", fixture::spoil(fixture::small())),
        ("gradients", fixture::with_gradients(fixture::passing())),
        (
            "gradients failing",
            fixture::spoil(fixture::spoil_gradients(fixture::with_gradients(fixture::small()))),
        ),
        ("dense", fixture::with_dense(fixture::small())),
        ("empty", fixture::empty()),
    ]
}

pub fn page(results: &Results) -> String {
    html::page(results, &plots::all(results).unwrap()).unwrap()
}

#[test]
fn the_page_shows_every_case_and_every_anchor_leads_somewhere() {
    for (name, results) in every_kind() {
        let page = page(&results);
        let rows = page.matches("<span id=\"case-").count();
        assert_eq!(rows, results.cases.len(), "{name}");
        assert!(!page.contains("&amp;#x2f;") && !page.contains("&lt;wbr"), "{name}: escaped twice");
        let named = |begin: &'static str| {
            let rests = page.split(begin).skip(1);
            rests.map(|rest| rest.split('"').next().unwrap())
        };
        let mut ids = BTreeSet::new();
        for id in named(" id=\"") {
            assert!(ids.insert(id), "{name}: {id} twice");
        }
        for link in named("href=\"#") {
            assert!(ids.contains(link), "{name}: #{link}");
        }
        for section in ["verdict", "ran", "failures"] {
            assert!(page.contains(&format!("id=\"{section}\"")), "{name}: {section}");
        }
        for section in ["methods", "worst", "matrix", "coefficients", "pairwise", "plots", "cases"] {
            assert_eq!(page.contains(&format!("id=\"{section}\"")), name != "empty", "{name}: {section}");
        }
        assert_eq!(page.contains("id=\"dense\""), name == "dense", "{name}");
    }
}

/// As a recording has it: one case, of one weight type.
#[test]
fn what_did_not_run_is_not_shown() {
    let mut results = fixture::empty();
    results.cases = fixture::small().cases;
    results.cases.truncate(1);
    let page = page(&results);
    let unseen =
        ["coefficient sweep", "invariant", "pairs of methods", "complex weights", "in double", "No case"];
    let said = page.split("id=\"formulas\"").next().unwrap();
    for text in unseen {
        assert!(!said.contains(text), "{text}");
    }
    let line = between(&page, "<tr id=\"method-zoh\">", "</tr>");
    assert_eq!(line.matches("<td").count(), 4, "{line}");
    let markdown = markdown::page(&results).unwrap();
    assert!(!markdown.contains("sweep") && !markdown.contains("Pairwise"), "{markdown}");
}

#[test]
fn the_page_says_when_it_was_begun_how_long_it_took_and_of_which_revision() {
    let mut results = fixture::small();
    assert!(!page(&results).contains("<dt>begun</dt>"));
    (results.created, results.took) = ("2026-11-28T09:30:00Z".to_owned(), Some(42.3));
    results.revision = "fddeefd-dirty".to_owned();
    let page = page(&results);
    assert!(page.contains("<dt>begun</dt><dd>2026-11-28T09:30:00Z, in 42 s</dd>"));
    assert!(page.contains("<dd>0.1.0, revision <code>fddeefd-dirty</code></dd>"));
    let said = "Begun 2026-11-28T09:30:00Z, in 42 s, holdfast's revision `fddeefd-dirty`. Backend cpu";
    assert!(markdown::page(&results).unwrap().contains(said));
}

#[test]
fn a_methods_line_has_the_worst_of_its_cases_and_sweeps() {
    let mut results = fixture::small();
    let of_zoh =
        |sweep: &&mut CoefficientResult| sweep.method == Method::Zoh && sweep.weights == Weights::Real;
    let sweep = results.coefficients.iter_mut().find(of_zoh).unwrap();
    sweep.worst_b_bar.as_mut().unwrap().ratio = 0.998;
    (sweep.points[7].b_bar_ulp, sweep.points[7].b_bar_allowed) = (153_409.0, 2.5e6);
    let line = between(&page(&results), "<tr id=\"method-zoh\">", "</tr>").to_owned();
    assert!(line.contains("<a href=\"#sweep-real-axis-real\">1.00</a>"), "{line}");
    assert!(line.contains("<td>B̄ real axis</td>"), "{line}");
    // Many ulp that pass are told with what they may be.
    assert!(line.contains("B̄ 153409 of 2.5e6"), "{line}");
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
                // To its own sweep where that is worse.
                let places = [&*anchor, "sweep-", "fail-"].map(|place| format!("href=\"#{place}"));
                assert!(places.iter().any(|place| line.contains(place)), "{anchor}: {line}");
                let card = between(&page, &format!("id=\"{anchor}\">"), "</article>");
                // A kernel that faulted has no element to show, but a reason.
                let faulted = card.contains("kernel fault: barrier");
                let element = ["Worst element", "got", "want", "bound", "0x1.", "Inputs there"];
                assert!(element.iter().all(|part| card.contains(part)) || faulted, "{anchor}: {card}");
                assert!(card.contains("Most ulp: ") && card.contains("holdfast verify"), "{anchor}: {card}");
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
        let shown = between(&page, &format!("<tr id=\"invariant-{}-{}\">", row.name, row.weights), "</tr>");
        for method in invariants::methods(&results) {
            let cell = [format!(">{}</td>", row.text(method)), format!(">{}</a></td>", row.text(method))];
            assert!(cell.iter().any(|cell| shown.contains(cell)), "{} {method}: {shown}", row.name);
        }
    }
    assert!(!results.invariants.is_empty());
    // The one weight type obeys a law that the other one breaks.
    let law = |weights| {
        let rows = invariants::rows(&results);
        let row = rows.iter().find(|row| (row.name, row.weights) == ("u-additive", weights)).unwrap();
        row.text(Method::Bilinear)
    };
    assert_eq!([law(Weights::Real), law(Weights::Complex)], ["FAIL 7e3", "0.040"]);
}

/// A header with one weight type that does not compile, as a compiler and a careless path put it.
fn judged_header() -> HeaderNote {
    let error = "driver.cuh:70:86: error: cannot convert 'c10::complex<float>' to 'float'";
    let lines = ["in file included from <stdin>", error, "```</code> | note: \u{1b}[31margument 3"];
    let one = |weights, lines: &[&str]| HeaderInstantiation {
        weights,
        b: None,
        compiles: lines.is_empty(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    HeaderNote {
        path: "mine/kernel`s <new>.cuh".to_owned(),
        instantiations: vec![one(Weights::Real, &[]), one(Weights::Complex, &lines)],
        backward: None,
    }
}

#[test]
fn the_judged_header_and_what_the_compiler_said_of_it_are_shown() {
    let mut results = fixture::small();
    assert!(!page(&results).contains("header judged"));
    assert!(!markdown::page(&results).unwrap().contains("Header"));
    assert!(!page(&results).contains("not probed"));
    results.header = Some(judged_header());
    let page = page(&results);
    let laws = between(&page, "<section id=\"invariants\">", "</section>");
    assert!(laws.contains("are not probed: c-homogeneous, c-additive, causality"), "{laws}");
    let ran = between(&page, "<section id=\"ran\">", "</section>");
    let parts = [
        "mine&#x2f;kernel`s &lt;new&gt;.cuh",
        "real weights: <span class=\"pass\">compiles</span></div>",
        "complex weights: <span class=\"fail\">does not compile</span>: <code>driver.cuh:70:86: error: ",
        "<details><summary>what the compiler said, 3 lines</summary>",
        "in file included from &lt;stdin&gt;",
        "note: \u{fffd}[31margument 3",
    ];
    for part in parts {
        assert!(ran.contains(part), "{part}\n{ran}");
    }
    let markdown = markdown::page(&results).unwrap();
    let parts = [
        "Header `mine/kernel's <new>.cuh`: real compiles, complex **does not compile**.",
        "It has no `compute_discretization_backward`: no derivatives are judged.",
        "What the compiler said of complex weights: driver.cuh:70:86: error: ",
        "\n```\nin file included from <stdin>\n",
        "\n   </code> | note:  [31margument 3\n```\n",
    ];
    for part in parts {
        assert!(markdown.contains(part), "{part}\n{markdown}");
    }
    assert!(ran.contains("no <code>compute_discretization_backward</code>: no derivatives judged"), "{ran}");
    if let Some(header) = &mut results.header {
        header.backward = Some(header.instantiations.clone());
    }
    let page = self::page(&results);
    let ran = between(&page, "<section id=\"ran\">", "</section>");
    assert!(ran.contains("backward, complex weights: <span class=\"fail\">does not compile</span>"), "{ran}");
    let markdown = markdown::page(&results).unwrap();
    let parts = [
        "Its `compute_discretization_backward`: real compiles, complex **does not compile**.",
        "What the compiler said of the backward of complex weights: driver.cuh:70:86: error: ",
    ];
    for part in parts {
        assert!(markdown.contains(part), "{part}\n{markdown}");
    }
    if let Some(header) = &mut results.header {
        header.instantiations[1].lines = vec!["error: ".to_owned() + &"template<".repeat(500); 400];
    }
    assert!(markdown::page(&results).unwrap().len() < markdown::BYTES);
}

/// The explained failure with this title.
fn explained<'a>(page: &'a str, title: &str) -> (&'a str, &'a str) {
    let title = format!("<code>{}</code></summary>", title.replace('/', "&#x2f;"));
    let (before, rest) = page.split_once(&*title).unwrap_or_else(|| panic!("no {title}"));
    let anchor = before.rsplit_once("class=\"failure\" id=\"").unwrap().1.split('"').next().unwrap();
    (anchor, rest.split_once("</details>").unwrap().0)
}

#[test]
fn failures_of_every_kind_lead_to_their_table_and_back() {
    let results = fixture::spoil(fixture::small());
    let page = page(&results);
    let sweep = results.coefficients.iter().find(|s| s.verdict == Verdict::Fail).unwrap();
    let case = results.cases.iter().find(|c| c.verdict == Verdict::Fail && !c.diagnosis.is_empty()).unwrap();
    let kinds = [
        (
            "invariant/u-additive/real/bilinear".to_owned(),
            "invariant-u-additive-real".to_owned(),
            "fault models are fitted",
        ),
        (
            format!("coefficients/{}/{}/{}", sweep.sweep, sweep.weights, sweep.method),
            "sweep-real-axis-real".to_owned(),
            "No cause found: no fault model explains it",
        ),
        (case.id.clone(), format!("case-{}", case.id.replace('/', "-")), "Looks like <b>phi-taylor-4"),
    ];
    for (title, place, says) in kinds {
        let (anchor, failure) = explained(&page, &title);
        assert!(failure.contains(&format!("href=\"#{place}\"")), "{title}: {failure}");
        for part in [says, "Worst element", "Rerun just this", "holdfast verify"] {
            assert!(failure.contains(part), "{title}: no {part} in {failure}");
        }
        assert!(page.matches(&format!(" id=\"{place}\"")).count() == 1, "{place}");
        let tables = page.split_once("<section id=\"matrix\">").unwrap().1;
        assert!(tables.contains(&format!("href=\"#{anchor}\"")), "{title}: nothing leads back to {anchor}");
    }
}

/// Two hundred wrong cases of a method come before its one broken law.
#[test]
fn a_broken_invariant_is_explained_and_open_however_much_else_fails() {
    let mut results = fixture::passing();
    for case in results.cases.iter_mut().filter(|case| case.method == Method::Bilinear) {
        case.verdict = Verdict::Fail;
    }
    let page = page(&fixture::spoil(results));
    let (anchor, failure) = explained(&page, "invariant/u-additive/real/bilinear");
    assert!(failure.contains("Rerun just this"), "{failure}");
    assert!(page.contains(&format!("<details open class=\"failure\" id=\"{anchor}\">")), "{anchor}");
    assert_eq!(page.matches("class=\"failure\" id=\"fail-").count(), 60 + 1);
    assert!(page.contains("more, in the <a href=\"#cases\">"));
}

#[test]
fn a_method_is_said_to_fail_where_its_invariants_alone_do() {
    let mut results = fixture::small();
    let row = |page: &str| between(page, "<tr id=\"method-rk4\">", "</tr>").to_owned();
    assert!(row(&page(&results)).contains(">PASS<"));
    assert!(!page(&results).contains("class=\"suspects\""));
    let broken = results.invariants.iter_mut().find(|i| i.method == Method::Rk4).unwrap();
    broken.verdict = Verdict::Fail;
    let page = page(&results);
    assert!(row(&page).contains(">FAIL<"), "{}", row(&page));
    let suspects = between(&page, "<ul class=\"suspects\">", "</ul>");
    assert!(suspects.contains("<b>rk4</b> fails: 1 invariant. <a href=\"#fail-1\">"), "{suspects}");
}

#[test]
fn a_case_that_fails_in_double_alone_is_a_failure() {
    let mut results = fixture::small();
    let share = ErrorPart { share: 3.5e4, max: 1e-12, rel_l2: 1e-13 };
    results.cases[3].lifted = Some(Lifting {
        verdict: Verdict::Fail,
        reason: String::new(),
        shrink: Some(4.0),
        conclusion: None,
        rounding: ErrorPart { share: 0.2, ..share },
        truncation: share,
    });
    let page = page(&results);
    let (_, failure) = explained(&page, &results.cases[3].id);
    for part in
        ["only its run in double fails", "lifted to double: fail", "truncation (lifted - want): 4e4 of its"]
    {
        assert!(failure.contains(part), "no {part} in {failure}");
    }
    assert!(between(&page, "<ul class=\"suspects\">", "</ul>").contains("runs in double"));
    assert!(markdown::page(&results).unwrap().contains("only its run in double fails"));
}

#[test]
fn failing_pairs_are_explained_with_the_command_that_reruns_them() {
    let results = fixture::spoil(fixture::small());
    let page = page(&results);
    let table = between(&page, "id=\"fail-pairs\"", "</details>");
    assert!(table.contains("<b>6 pairs of methods</b>"), "{table}");
    let problem = &results.pairwise.iter().find(|m| m.source != "truth").unwrap();
    assert!(
        table.contains(
            "zoh / foh</th><td><code>out</code></td><td class=\"what\">they differ, but not by what the truth says</td>\
             <td class=\"num\">4e4</td>"
        ),
        "{table}"
    );
    assert!(table.contains("href=\"#pair-1\"") && table.contains("2 problems"), "{table}");
    let shown = between(&page, "<details id=\"pair-1\"", "</details>");
    assert!(shown.contains(&problem.problem.replace('/', "&#x2f;")), "{shown}");
    assert!(shown.contains("--method zoh --method foh"), "{shown}");
}

/// Totals, a method's line, and what is said to be wrong with it.
#[test]
fn backward_cases_are_counted_apart_wherever_cases_are() {
    let mut results = fixture::with_gradients(fixture::small());
    let wrong = results.cases.iter_mut().filter(|case| case.is_backward() && case.method == Method::Foh);
    wrong.for_each(|case| case.verdict = Verdict::Fail);
    let all = results.cases.iter().filter(|case| case.method == Method::Foh && !case.is_backward()).count();
    let lines = summary::methods(&results);
    let foh = lines.iter().find(|line| line.method == Method::Foh).expect("a line");
    assert_eq!(foh.cases.map(|totals| (totals.pass, totals.all())), [(all, all), (0, 2)]);
    let page = page(&results);
    assert!(page.contains("<th>cases</th><th>backward cases</th>"), "the heads of a method's counts");
    let line = between(&page, "<tr id=\"method-foh\">", "</tr>");
    let cells = format!("<td class=\"nowrap\">{all} of {all}</td><td class=\"nowrap\">0 of 2</td>");
    assert!(line.contains(&cells), "{line}");
    let console = console::render(&results, None, false);
    assert!(console.contains("FAIL foh, complex weights: 1 of 1 backward case: "), "{console}");
    let summary = github::summary(&results);
    assert!(summary.contains(&format!("| foh | FAIL | {all}/{all} pass | 0/2 pass |")), "{summary}");
}

/// As those of outputs, each under the name of its tensor.
#[test]
fn failing_pairs_of_gradients_are_explained_like_those_of_outputs() {
    let results = fixture::spoil_gradients(fixture::with_gradients(fixture::small()));
    assert_eq!((results.pairs.failing(), results.gradient_pairs.failing()), (0, 1));
    let page = page(&results);
    let table = between(&page, "id=\"fail-pairs\"", "</details>");
    assert!(table.contains("<b>1 pair of methods</b> is not"), "{table}");
    assert!(
        table.contains("zoh / foh</th><td><code>grad.A</code></td><td class=\"what\">they differ, but"),
        "{table}"
    );
    let shown = between(&page, "<details id=\"pair-1\" open>", "</details>");
    assert!(shown.contains("<b>grad.A</b>") && shown.contains("worst at grad.A[1, 2, 99]"), "{shown}");
    assert!(shown.contains("--method zoh --method foh") && shown.contains("--pass backward"), "{shown}");
    let totals = between(&page, "<ul class=\"totals\">", "</ul>");
    assert!(totals.contains("their gradients on 2 problems: 59 agree with the truth, 1 fail"), "{totals}");
    let console = console::render(&results, None, false);
    let line = "pairwise, gradients of 2 problems: 59 agree with the truth's differences, 1 fail";
    assert!(console.contains(line) && console.contains("at grad.A[1, 2, 99]"), "{console}");
    assert!(console.contains("and 59/60 pairs of"), "{console}");
    let markdown = markdown::page(&results).unwrap();
    assert!(markdown.contains("Gradients of 2 problems: 59 pairs of methods agree"), "{markdown}");
    assert!(markdown.contains("| zoh / foh | grad.A | **off** |"), "{markdown}");
}

#[test]
fn the_page_shows_the_whole_fault_catalogue() {
    let page = page(&fixture::empty());
    let matrix = between(&page, "id=\"confusion\"", "</section>");
    let faults = html::confusion::record().len();
    assert_eq!(matrix.matches("<tr id=\"fault-").count(), faults);
    let counts = matrix.split_once("Of ").and_then(|(_, rest)| rest.split_once(" were caught and named"));
    let (planted, named) =
        counts.and_then(|(counts, _)| counts.split_once(" planted faults ")).expect("two counts");
    assert!(
        named.parse::<usize>().expect("a number") * 50 > planted.parse::<usize>().expect("a number") * 49
    );
    // Most are planted in several methods.
    assert!(planted.parse::<usize>().expect("a number") > 4 * faults, "{planted}");
}

#[test]
fn the_page_needs_no_network_and_runs_no_script_but_its_own() {
    let own = include_str!("../../src/report/templates/page.js");
    assert!(
        ["fetch(", "XMLHttpRequest", "import", "innerHTML", "eval("].iter().all(|word| !own.contains(word))
    );
    for (name, results) in every_kind() {
        let page = page(&results);
        for forbidden in ["http:", "https:", "<link", "<img", "<iframe", "url(", "@import", "src="] {
            assert!(!page.contains(forbidden), "{name}: {forbidden}");
        }
        assert_eq!(page.matches("<script").count(), 1, "{name}");
        assert_eq!(between(&page, "<script>", "</script>").trim(), own.trim(), "{name}");
        assert!(
            page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; script-src"),
            "{name}"
        );
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
        case.verdict = holdfast::results::Verdict::Fail;
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
fn nothing_measured_is_not_a_pass() {
    let mut results = fixture::small();
    results.coefficients.clear();
    for case in &mut results.cases {
        *case = fixture::unmeasured(case.clone(), "no GPU on this machine");
    }
    for results in [results, fixture::empty()] {
        let text = console::render(&results, None, false);
        assert_eq!(text.lines().last().unwrap(), "holdfast 0.1.0: UNMEASURED", "{text}");
        assert!(!page(&results).contains(">PASS<"));
        assert!(!markdown::page(&results).unwrap().contains("PASS"));
    }
}

/// One unmeasured case among passing ones: its method's line, its cell and the run are unmeasured; other methods pass.
#[test]
fn one_unmeasured_case_keeps_its_method_its_cell_and_the_run_from_passing() {
    let mut results = fixture::small();
    let zoh = results.cases.iter().find(|case| case.method == Method::Zoh).unwrap();
    let sibling = fixture::unmeasured(zoh.clone(), "no GPU on this machine");
    let (regime, weights) = (sibling.regime.clone(), sibling.weights);
    results.cases.push(sibling);
    assert_eq!(results.verdict(), Verdict::Unmeasured);
    for line in summary::methods(&results) {
        let expected = if line.method == Method::Zoh { Verdict::Unmeasured } else { Verdict::Pass };
        assert_eq!(line.verdict, expected, "{}", line.method);
    }
    let rows = grid::rows(&results);
    let row = rows.iter().find(|row| row.name == regime && row.weights == weights).unwrap();
    assert_eq!(row.cells[0].verdict(), Some(Verdict::Unmeasured));
    assert!(row.cells[0].text().ends_with('–'), "{}", row.cells[0].text());
    assert_eq!(row.cells[1].verdict(), Some(Verdict::Pass));
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
fn json_holds_every_case_and_no_bare_nan() {
    let results = fixture::spoil(fixture::small());
    let value: serde_json::Value = serde_json::from_str(&json::to_string(&results).unwrap()).unwrap();
    assert_eq!(value["schema"], 3);
    assert_eq!(value["cases"][0]["tensors"]["last_state"]["verdict"], "pass");
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
        snapshot_path => "../../golden/report",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}

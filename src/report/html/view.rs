//! The page's contents as the template takes them: texts, classes and links, nothing left to decide.

use serde::Serialize;

use super::anchors::{self, Anchors};
use crate::method::Method;
use crate::problem::Weights;
use crate::report::failures::Failure;
use crate::report::sweeps::{self, Coefficient};
use crate::report::{grid, summary, text};
use crate::results::{CaseResult, CoefficientResult, RegimeNote, Results, Verdict, Worst};

/// A short text with a colour, perhaps a link and a longer text for those who point at it.
#[derive(Default, Serialize)]
pub struct Tag {
    pub text: String,
    pub class: String,
    pub href: String,
    pub title: String,
}

#[derive(Serialize)]
pub struct MethodView {
    name: &'static str,
    verdict: Tag,
    /// How many of its cases, sweeps and invariants pass.
    passing: [String; 3],
    /// Per weight type: the worst case, its regime, and the worst sweep.
    worst: Vec<WorstView>,
}

#[derive(Serialize)]
pub struct WorstView {
    case: Tag,
    regime: String,
    sweep: Tag,
}

/// One line per method.
pub fn methods(results: &Results, anchors: &Anchors) -> Vec<MethodView> {
    let view = |line: summary::MethodLine| {
        let worst = (0..Weights::ALL.len()).map(|i| WorstView {
            case: line.worst_case[i].map_or_else(Tag::default, |case| Tag {
                href: format!("#{}", worst_anchor(line.method, Weights::ALL[i])),
                ..case_tag(case, anchors)
            }),
            regime: line.worst_case[i].map_or_else(String::new, |case| text::fit(&case.regime, 22)),
            sweep: line.worst_sweep[i].map_or_else(Tag::default, sweep_tag),
        });
        MethodView {
            name: line.method.name(),
            verdict: verdict_tag(line.verdict),
            passing: passing(&line),
            worst: worst.collect(),
        }
    };
    summary::methods(results).into_iter().map(view).collect()
}

/// `43 of 44`, and how many of them were not measured; nothing where none was asked for.
fn passing(line: &summary::MethodLine) -> [String; 3] {
    [line.cases, line.sweeps, line.invariants].map(|totals| match (totals.all(), totals.unmeasured) {
        (0, _) => String::new(),
        (all, 0) => format!("{} of {all}", totals.pass),
        (all, unmeasured) => format!("{} of {all}, {unmeasured} unmeasured", totals.pass),
    })
}

/// The worst errors of Ā and B̄.
fn sweep_tag(sweep: &CoefficientResult) -> Tag {
    let parts = Coefficient::ALL.map(|c| {
        let ulp = c.largest(sweep).map_or("–".to_owned(), |ulp| text::number(ulp, 3));
        format!("{} {ulp}", c.symbol())
    });
    let class = text::verdict_class(sweep.verdict).to_owned();
    Tag { text: parts.join(", "), class, title: sweep.sweep.clone(), ..Tag::default() }
}

/// Where the worst element of a method with one weight type is shown.
fn worst_anchor(method: Method, weights: Weights) -> String {
    format!("worst-{method}-{weights}")
}

#[derive(Serialize)]
pub struct WorstCaseView {
    anchor: String,
    method: &'static str,
    weights: &'static str,
    verdict: Tag,
    case: String,
    detail: String,
    element: Option<WorstElement>,
    /// Why there is none.
    reason: String,
    rel_l2: String,
    /// The most ulp that any case has, and where.
    ulp: String,
    ulp_case: String,
    ulp_href: String,
    /// The worst sweep's Ā and B̄.
    coefficients: Tag,
    coefficient_unit: &'static str,
    rerun: String,
}

/// The worst case of each method and weight type, passing or not, with its worst element.
pub fn worst_cases(results: &Results, anchors: &Anchors) -> Vec<WorstCaseView> {
    let mut views = Vec::new();
    for line in summary::methods(results) {
        for (i, weights) in Weights::ALL.into_iter().enumerate() {
            let Some(case) = line.worst_case[i] else { continue };
            let of_line = |c: &&CaseResult| c.method == line.method && c.weights == weights;
            let measured = |c: &&CaseResult| c.verdict != Verdict::Unmeasured;
            let ulp = results.cases.iter().filter(of_line).filter(measured).max_by(|a, b| {
                let [a, b] = [a, b].map(|case| grid::severity(case.max_ulp));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            });
            views.push(WorstCaseView {
                anchor: worst_anchor(line.method, weights),
                method: line.method.name(),
                weights: weights.name(),
                verdict: case_tag(case, anchors),
                case: text::fit(&case.id, 200),
                detail: format!("{}, {} elements judged, backend {}", case.shape, case.judged, case.backend),
                element: case.worst.as_ref().map(worst_element),
                reason: text::fit(&case.reason, 400),
                rel_l2: text::number(case.rel_l2, 3),
                ulp: ulp.map_or_else(String::new, |case| text::number(case.max_ulp, 3)),
                ulp_case: ulp.map_or_else(String::new, |case| text::fit(&case.id, 120)),
                ulp_href: ulp.and_then(|case| anchors.case(&case.id)).unwrap_or_default().to_owned(),
                coefficients: line.worst_sweep[i].map_or_else(Tag::default, sweep_tag),
                coefficient_unit: if weights == Weights::Real {
                    "f32 ulp"
                } else {
                    "· 2⁻²⁴ of the modulus"
                },
                rerun: text::line(&case.rerun),
            });
        }
    }
    views
}

#[derive(Serialize)]
pub struct WhyView {
    anchor: String,
    name: String,
    why: String,
}

/// Why each regime and sweep is hard.
pub fn whys(results: &Results) -> Vec<WhyView> {
    let view = |note: &RegimeNote| WhyView {
        anchor: why_anchor(&note.name),
        name: text::fit(&note.name, 60),
        why: note.why.clone(),
    };
    results.regimes.iter().map(view).collect()
}

fn why_anchor(name: &str) -> String {
    format!("why-{}", super::anchors::slug(name))
}

fn verdict_tag(verdict: Verdict) -> Tag {
    let class = text::verdict_class(verdict).to_owned();
    Tag { text: text::verdict(verdict).to_owned(), class, ..Tag::default() }
}

fn case_tag(case: &CaseResult, anchors: &Anchors) -> Tag {
    let share = grid::share(case).map(text::share);
    let text = match case.verdict {
        Verdict::Fail => format!("FAIL {}", share.unwrap_or_default()).trim_end().to_owned(),
        Verdict::Unmeasured => text::UNMEASURED.to_owned(),
        Verdict::Pass => share.unwrap_or_else(|| "pass".to_owned()),
    };
    let anchor = anchors.explained(&Failure::Case(case).title()).or_else(|| anchors.case(&case.id));
    let href = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
    Tag { text, class: text::verdict_class(case.verdict).to_owned(), href, title: text::fit(&case.id, 120) }
}

#[derive(Serialize)]
pub struct MatrixRow {
    anchor: String,
    regime: String,
    /// Where it says why the regime is hard, and what it says.
    why_anchor: String,
    why: String,
    weights: &'static str,
    cells: Vec<Tag>,
}

/// Colour in three steps; the number says the rest.
fn headroom(share: Option<f64>) -> &'static str {
    match share {
        Some(share) if share > 0.8 => " near",
        Some(share) if share > 0.4 => " half",
        _ => " low",
    }
}

/// The verdict matrix; each cell leads to its worst case.
pub fn matrix(results: &Results, anchors: &Anchors) -> Vec<MatrixRow> {
    let methods = grid::methods(results);
    let cell = |cell: &grid::Cell| {
        let Some(worst) = cell.worst() else { return Tag::default() };
        let mut class = cell.verdict().map_or("", text::verdict_class).to_owned();
        if class == "pass" {
            class.push_str(headroom(grid::share(worst)));
        }
        let title =
            format!("{}; worst: {}", text::count(cell.cases.len(), "case"), text::fit(&worst.id, 120));
        Tag { text: cell.text(), class, title, ..case_tag(worst, anchors) }
    };
    let why = |name: &str| {
        let note = results.regimes.iter().find(|note| note.name == name);
        note.map_or_else(String::new, |note| note.why.clone())
    };
    let view = |row: grid::Row| MatrixRow {
        anchor: format!("regime-{}-{}", super::anchors::slug(row.regime), row.weights),
        regime: text::fit(row.regime, 60),
        why_anchor: if why(row.regime).is_empty() { String::new() } else { why_anchor(row.regime) },
        why: why(row.regime),
        weights: row.weights.name(),
        cells: methods.iter().map(|m| cell(&row.cells[*m as usize])).collect(),
    };
    grid::rows(results).into_iter().map(view).collect()
}

#[derive(Serialize)]
pub struct WorstElement {
    element: String,
    verdict: String,
    /// Name, decimal, hex or ULP.
    values: Vec<[String; 3]>,
    inputs: Vec<String>,
}

/// So many failures are open from the start, and half as many invariants wherever they are.
const OPEN: usize = 12;

#[derive(Serialize)]
pub struct FailureView {
    anchor: String,
    open: bool,
    title: String,
    method: &'static str,
    detail: String,
    reason: String,
    worst: Vec<WorstElement>,
    /// Which bounds it is beyond, and truncation and rounding apart.
    precision: Vec<String>,
    diagnosis: Vec<String>,
    /// What to say where no fault model explains it.
    unexplained: &'static str,
    rerun: String,
    /// The table that it is in, and its place there.
    table: &'static str,
    href: String,
}

/// The failures that have an anchor, each with everything that explains it.
pub fn failures(failures: &[Failure], anchors: &Anchors) -> Vec<FailureView> {
    let laws = failures.iter().enumerate().filter(|(_, f)| matches!(f, Failure::Invariant(_)));
    let laws: Vec<usize> = laws.map(|(i, _)| i).take(OPEN / 2).collect();
    let view = |(i, failure): (usize, &Failure)| FailureView {
        anchor: format!("fail-{}", i + 1),
        open: i < OPEN || laws.contains(&i),
        title: failure.title(),
        method: failure.method().name(),
        detail: failure.detail(),
        reason: failure.reason().to_owned(),
        worst: failure.worst().into_iter().map(worst_element).collect(),
        precision: failure.notes(),
        diagnosis: failure.diagnosis().iter().map(text::diagnosis).collect(),
        unexplained: match failure {
            Failure::Invariant(_) => {
                "An invariant says that something is wrong, not what: fault models are fitted to cases and sweeps."
            }
            _ if failure.worst().is_empty() => "",
            _ => "No fault model of the catalogue explains it.",
        },
        rerun: text::line(failure.rerun()),
        table: match failure {
            Failure::Case(_) => "all cases",
            Failure::Sweep(_) => "coefficient sweeps",
            Failure::Invariant(_) => "invariants",
        },
        href: match failure {
            Failure::Case(case) => anchors.case(&case.id).unwrap_or_default().to_owned(),
            Failure::Sweep(sweep) => anchors::sweep(&sweep.sweep, sweep.weights),
            Failure::Invariant(invariant) => anchors::invariant(&invariant.name),
        },
    };
    failures.iter().enumerate().map(view).collect()
}

/// One method that fails, for the top of the page.
#[derive(Serialize)]
pub struct SuspectView {
    method: &'static str,
    /// How much of what fails.
    counts: String,
    /// Its first failure that is explained.
    href: String,
    /// What its failures look like, or why they are failures; empty where nothing says so.
    looks_like: String,
    reason: String,
}

/// The methods that fail.
pub fn suspects(results: &Results, failures: &[Failure]) -> Vec<SuspectView> {
    let view = |line: summary::MethodLine| {
        let of_method = || failures.iter().filter(|f| f.method() == line.method);
        let at = failures.iter().position(|f| f.method() == line.method)?;
        let parts =
            [(line.cases, "case"), (line.sweeps, "coefficient sweep"), (line.invariants, "invariant")];
        let parts = parts.into_iter().filter(|(totals, _)| totals.fail > 0);
        let parts: Vec<_> = parts.map(|(totals, noun)| text::count(totals.fail, noun)).collect();
        Some(SuspectView {
            method: line.method.name(),
            counts: if parts.is_empty() { "runs in double".to_owned() } else { parts.join(", ") },
            href: format!("fail-{}", at + 1),
            looks_like: of_method()
                .find_map(|f| f.diagnosis().first())
                .map_or_else(String::new, text::diagnosis),
            reason: text::fit(failures[at].reason(), 160),
        })
    };
    summary::methods(results).into_iter().filter_map(view).collect()
}

fn worst_element(worst: &Worst) -> WorstElement {
    let row = |name: &str, value: f64, digits: usize, beside: &str| {
        [name.to_owned(), text::number(value, digits), beside.to_owned()]
    };
    WorstElement {
        element: text::element(worst),
        verdict: text::verdict_on_error(worst.ratio),
        values: vec![
            row("got", worst.got, 9, &worst.got_hex),
            row("want", worst.want, 9, &worst.want_hex),
            row("error", worst.error, 3, &format!("{} ulp", text::number(worst.ulp, 3))),
            row("bound", worst.bound, 3, ""),
        ],
        inputs: worst.inputs.clone(),
    }
}

#[derive(Serialize)]
pub struct SweepView {
    /// Of the sweep's first row alone.
    anchor: String,
    name: String,
    weights: &'static str,
    coefficient: &'static str,
    cells: Vec<Tag>,
}

/// Two rows per sweep: Ā and B̄.
pub fn sweeps(results: &Results, anchors: &Anchors) -> Vec<SweepView> {
    let methods = grid::methods(results);
    let mut views = Vec::new();
    let mut taken = std::collections::HashSet::new();
    for row in sweeps::rows(results) {
        for coefficient in Coefficient::ALL {
            let cell = |method: &Method| {
                let result = row.cells[*method as usize];
                let Some(found) = result else { return Tag::default() };
                let mut class = match found.verdict {
                    Verdict::Fail if !coefficient.failed(found) => "pass",
                    verdict => text::verdict_class(verdict),
                }
                .to_owned();
                if class == "pass" {
                    class.push_str(headroom(coefficient.worst(found).map(|w| w.share)));
                }
                let title = coefficient.worst(found).map_or(found.reason.clone(), |w| {
                    format!("{} ulp at {}", text::number(w.ulp, 3), w.inputs.join(", "))
                });
                let explained = anchors.explained(&Failure::Sweep(found).title());
                let href = explained.map(|anchor| format!("#{anchor}")).unwrap_or_default();
                Tag { text: coefficient.text(result), class, href, title }
            };
            let cells = methods.iter().map(cell).collect();
            let (name, symbol) = (row.sweep.to_owned(), coefficient.symbol());
            let anchor = Some(anchors::sweep(row.sweep, row.weights)).filter(|a| taken.insert(a.clone()));
            let anchor = anchor.unwrap_or_default();
            views.push(SweepView { anchor, name, weights: row.weights.name(), coefficient: symbol, cells });
        }
    }
    views
}

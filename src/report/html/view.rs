//! The page's contents as the template takes them: texts, classes and links, nothing left to decide.

use minijinja::{Value, context};
use serde::Serialize;

use super::cases::{Anchors, sweep_anchor};
use crate::formula::Form;
use crate::method::Method;
use crate::problem::Weights;
use crate::report::failures::Failure;
use crate::report::sweeps::{self, Coefficient};
use crate::report::template::value;
use crate::report::{grid, invariants, summary, text};
use crate::results::{CaseResult, CoefficientResult, Results, Verdict, Worst};

/// A short text with a colour, perhaps a link and a longer text for those who point at it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tag {
    pub text: String,
    pub class: String,
    pub href: String,
    pub title: String,
}

impl From<Tag> for Value {
    fn from(tag: Tag) -> Value {
        value(tag)
    }
}

/// The weight types that anything was judged of.
pub fn weights(results: &Results) -> Vec<Weights> {
    let mut all = Weights::ALL.to_vec();
    all.retain(|weights| {
        results.cases.iter().any(|case| case.weights == *weights)
            || results.coefficients.iter().any(|sweep| sweep.weights == *weights)
    });
    all
}

pub fn methods(results: &Results, anchors: &Anchors) -> Vec<Value> {
    let view = |line: summary::MethodLine| {
        // Per weight type: what is worst, where it is, and the worst sweep.
        let worst = |weights: &Weights| {
            let i = *weights as usize;
            let (share, place) = match line.worst(i) {
                Some((summary::Worst::Case(case), _)) => {
                    let href = format!("#{}", worst_anchor(line.method, *weights));
                    (Tag { href, ..case_tag(case, anchors) }, case.regime.clone())
                }
                Some((summary::Worst::Sweep(sweep, coefficient), share)) => {
                    let explained = anchors.link(Failure::Sweep(sweep));
                    let row = || format!("#{}", sweep_anchor(&sweep.sweep, *weights));
                    let href = if explained.is_empty() { row() } else { explained };
                    let (text, class) =
                        (text::outcome(sweep.verdict, share), sweep.verdict.name().to_owned());
                    let place = format!("{} {}", coefficient.name(), sweep.sweep);
                    (Tag { text, class, href, ..Tag::default() }, place)
                }
                None => Default::default(),
            };
            let sweep = line.worst_sweep[i].map_or_else(Tag::default, sweep_tag);
            context! { share, place, sweep }
        };
        let worst: Vec<_> = weights(results).iter().map(worst).collect();
        let (text, class) = (text::verdict(line.verdict), line.verdict.name().to_owned());
        context! {
            name => line.method.name(),
            verdict => Tag { text, class, ..Tag::default() },
            passing => counted(&line).map(|(_, totals)| passing(totals)).to_vec(),
            worst,
        }
    };
    summary::methods(results).into_iter().map(view).collect()
}

/// One count of a method's line, by name.
fn counted(line: &summary::MethodLine) -> [(&'static str, summary::Totals); 4] {
    let [cases, backward] = line.cases;
    [
        ("case", cases),
        ("backward case", backward),
        ("coefficient sweep", line.sweeps),
        ("invariant", line.invariants),
    ]
}

/// Counts of a method's line that a run has: the place of each there, and the head of its column.
pub fn judged(results: &Results) -> Vec<(usize, &'static str)> {
    let has = |backward: bool| results.cases.iter().any(|case| case.is_backward() == backward);
    let all = [
        ("cases", has(false)),
        ("backward cases", has(true)),
        ("sweeps", !results.coefficients.is_empty()),
        ("invariants", !results.invariants.is_empty()),
    ];
    let there = all.into_iter().enumerate().filter(|(_, (_, is_there))| *is_there);
    there.map(|(at, (name, _))| (at, name)).collect()
}

/// `43 of 44`, and how many of them were not measured; nothing where none was asked for.
fn passing(totals: summary::Totals) -> String {
    match (totals.all(), totals.unmeasured) {
        (0, _) => String::new(),
        (all, 0) => format!("{} of {all}", totals.pass),
        (all, unmeasured) => format!("{} of {all}, {unmeasured} unmeasured", totals.pass),
    }
}

/// The largest errors of Ā and B̄, each with what it may be there.
fn sweep_tag(sweep: &CoefficientResult) -> Tag {
    let parts = Coefficient::ALL.map(|c| {
        let of = |point| [c.error(point), c.allowed(point)].map(|ulp| text::number(ulp, 2)).join(" of ");
        format!("{} {}", c.name(), c.largest(sweep).map_or(text::UNMEASURED.to_owned(), of))
    });
    let class = sweep.verdict.name().to_owned();
    Tag { text: parts.join(",\n"), class, title: sweep.sweep.clone(), ..Tag::default() }
}

/// Where the worst element of a method with one weight type is shown.
fn worst_anchor(method: Form, weights: Weights) -> String {
    format!("worst-{method}-{weights}")
}

/// The worst case of each method and weight type, passing or not, with its worst element.
pub fn worst_cases(results: &Results, anchors: &Anchors) -> Vec<Value> {
    let mut views = Vec::new();
    for line in summary::methods(results) {
        for (i, weights) in Weights::ALL.into_iter().enumerate() {
            let Some(case) = line.worst_case[i] else { continue };
            // Ulp of gradients, which sum up until nothing is left, say nothing.
            // A run of backward passes alone shows those of its worst case.
            let of_line =
                |c: &&CaseResult| c.method == line.method && c.weights == weights && !c.is_backward();
            let measured = |c: &&CaseResult| c.verdict != Verdict::Unmeasured;
            let measured = results.cases.iter().filter(of_line).filter(measured);
            let most_ulp =
                measured.max_by(|a, b| grid::severity(a.max_ulp).total_cmp(&grid::severity(b.max_ulp)));
            let most_ulp = most_ulp.unwrap_or(case);
            views.push(context! {
                anchor => worst_anchor(line.method, weights),
                method => line.method.name(),
                weights => weights.name(),
                verdict => case_tag(case, anchors),
                case => value(case),
                detail => Failure::Case(case).detail(),
                element => case.worst.as_ref().map(element),
                ulp => most_ulp.max_ulp,
                ulp_case => &most_ulp.id,
                ulp_share => text::outcome(most_ulp.verdict, grid::share(most_ulp)),
                ulp_href => anchors.case(&most_ulp.id).unwrap_or_default(),
                coefficients => line.worst_sweep[i].map_or_else(Tag::default, sweep_tag),
                coefficient_unit => match weights {
                    Weights::Real => "f32 ulp allowed",
                    Weights::Complex => "· 2⁻²⁴ of the modulus allowed",
                },
            });
        }
    }
    views
}

fn case_tag(case: &CaseResult, anchors: &Anchors) -> Tag {
    Tag {
        text: text::outcome(case.verdict, grid::share(case)),
        class: case.verdict.name().to_owned(),
        href: anchors.case_link(case),
        title: text::fit(&case.id, 120),
    }
}

/// Colour in three steps; the number says the rest.
pub fn headroom(share: Option<f64>) -> &'static str {
    match share {
        Some(share) if share > 0.8 => "near",
        Some(share) if share > 0.4 => "half",
        _ => "low",
    }
}

/// The class of a cell: a pass is coloured by its share.
fn class(verdict: Verdict, share: Option<f64>) -> String {
    match verdict {
        Verdict::Pass => format!("pass {}", headroom(share)),
        verdict => verdict.name().to_owned(),
    }
}

/// Rows of the verdict matrix; each cell leads to its worst case.
pub fn matrix(rows: Vec<grid::Row>, results: &Results, anchors: &Anchors) -> Vec<Value> {
    let cell = |cell: &grid::Cell| {
        let (Some(worst), Some(verdict)) = (cell.worst(), cell.verdict()) else { return Tag::default() };
        let cases = text::count(cell.judged.len(), "case");
        let title = format!("{cases}; worst: {}", text::fit(&worst.case.id, 120));
        Tag { text: cell.text(), class: class(verdict, worst.share), title, ..case_tag(worst.case, anchors) }
    };
    let view = |row: grid::Row| {
        let note = results.regimes.iter().find(|note| note.name == row.name);
        let cells = grid::methods(results).into_iter().map(|m| cell(&row.cells[m.index()]));
        context! {
            name => row.name,
            why => note.map_or("", |note| &note.why),
            weights => row.weights.name(),
            cells => cells.collect::<Vec<_>>(),
        }
    };
    rows.into_iter().map(view).collect()
}

/// So many failures are open from the start, and half as many invariants wherever they are.
const OPEN: usize = 12;

/// The failures that have an anchor, each with everything that explains it.
pub fn failures(results: &Results, failures: &[Failure], anchors: &Anchors) -> Vec<Value> {
    let laws = failures.iter().enumerate().filter(|(_, f)| matches!(f, Failure::Invariant(_)));
    let laws: Vec<usize> = laws.map(|(i, _)| i).take(OPEN / 2).collect();
    let view = |(i, failure): (usize, &Failure)| {
        // The table that it is in, and its place there.
        let (table, href) = match failure {
            Failure::Case(case) => ("all cases", anchors.case(&case.id).unwrap_or_default().to_owned()),
            Failure::Sweep(sweep) => ("coefficient sweeps", sweep_anchor(&sweep.sweep, sweep.weights)),
            Failure::Invariant(law) => {
                ("invariants", format!("invariant-{}-{}", text::slug(&law.name), law.weights))
            }
        };
        context! {
            anchor => format!("fail-{}", i + 1),
            open => i < OPEN || laws.contains(&i),
            title => failure.title(),
            method => failure.method().name(),
            detail => failure.detail(),
            reason => failure.reason(),
            worst => failure.worst().into_iter().map(element).collect::<Vec<_>>(),
            precision => failure.notes(),
            diagnosis => failure.diagnosis().iter().map(text::diagnosis).collect::<Vec<_>>(),
            unexplained => match failure {
                Failure::Invariant(_) => {
                    "an invariant says that something is wrong, not what: fault models are fitted to cases and sweeps"
                        .to_owned()
                }
                _ => failure.unexplained(results),
            },
            rerun => failure.rerun(),
            table,
            href,
        }
    };
    failures.iter().enumerate().map(view).collect()
}

/// The methods that fail, for the top of the page: how much of what fails, the first failure that is explained, and what
/// the failures look like, or why they are failures.
pub fn suspects(results: &Results, failures: &[Failure]) -> Vec<Value> {
    let view = |line: summary::MethodLine| {
        let of_method = || failures.iter().filter(|f| f.method() == line.method);
        let at = failures.iter().position(|f| f.method() == line.method)?;
        let parts = counted(&line).into_iter().filter(|(_, totals)| totals.fail > 0);
        let parts: Vec<_> = parts.map(|(noun, totals)| text::count(totals.fail, noun)).collect();
        Some(context! {
            method => line.method.name(),
            counts => if parts.is_empty() { "runs in double".to_owned() } else { parts.join(", ") },
            href => format!("fail-{}", at + 1),
            looks_like => of_method().find_map(|f| f.diagnosis().first()).map(text::diagnosis),
            reason => failures[at].reason(),
        })
    };
    summary::methods(results).into_iter().filter_map(view).collect()
}

fn element(worst: &Worst) -> Value {
    context! {
        element => text::element(&worst.tensor, &worst.index),
        verdict => text::verdict_on_error(worst.ratio),
        numbers => text::numbers(worst),
        inputs => &worst.inputs,
    }
}

/// Two rows per sweep: Ā and B̄.
pub fn sweeps(results: &Results, anchors: &Anchors) -> Vec<Value> {
    let methods = grid::methods(results);
    let mut views = Vec::new();
    let mut taken = std::collections::HashSet::new();
    for row in sweeps::rows(results) {
        for coefficient in Coefficient::ALL {
            let cell = |form: &Form| {
                let result = row.cells[form.index()];
                let Some(found) = result else { return Tag::default() };
                let worst = coefficient.worst(found);
                let title = worst.map_or(found.reason.clone(), |w| {
                    let (ulp, share) = (text::number(w.ulp, 3), text::share(w.ratio));
                    format!("{ulp} ulp, {share} of what is allowed there, at {}", w.inputs.join(", "))
                });
                let class = class(coefficient.verdict(found), worst.map(|w| w.share));
                Tag {
                    text: coefficient.text(result),
                    class,
                    href: anchors.link(Failure::Sweep(found)),
                    title,
                }
            };
            // Of the sweep's first row alone.
            let anchor = Some(sweep_anchor(row.sweep, row.weights)).filter(|a| taken.insert(a.clone()));
            views.push(context! {
                anchor,
                name => row.sweep,
                weights => row.weights.name(),
                coefficient => coefficient.name(),
                cells => methods.iter().map(cell).collect::<Vec<_>>(),
            });
        }
    }
    views
}

/// One row per invariant, one cell per method that any was probed with; a failing one leads to its explanation.
pub fn invariants(results: &Results, anchors: &Anchors) -> Vec<Value> {
    let methods = invariants::methods(results);
    let view = |row: invariants::InvariantRow| {
        let cell = |method: &Method| {
            let Some(worst) = row.worst(*method) else { return Tag::default() };
            let title = text::fit(&format!("{}; {}", worst.problem, worst.rerun), 240);
            let href = anchors.link(Failure::Invariant(worst));
            Tag { text: row.text(*method), class: class(worst.verdict, None), href, title }
        };
        let cells = methods.iter().map(cell).collect::<Vec<_>>();
        context! { name => row.name, weights => row.weights.name(), what => row.what, cells }
    };
    invariants::rows(results).into_iter().map(view).collect()
}

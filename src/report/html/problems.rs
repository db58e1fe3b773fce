//! The pairwise matrices as the template takes them.

use serde::Serialize;

use super::view::Tag;
use crate::method::Method;
use crate::report::pairs::{self, PairedProblem};
use crate::report::text;
use crate::results::{Pair, PairStatus, PairwiseMatrix, Results};

#[derive(Serialize)]
pub struct PairTotalsView {
    problems: String,
    agreeing: usize,
    failing: usize,
    unmeasured: usize,
}

pub fn pair_totals(results: &Results) -> PairTotalsView {
    let totals = pairs::totals(results);
    PairTotalsView {
        problems: text::count(totals.problems, "problem"),
        agreeing: totals.agreeing,
        failing: totals.failing,
        unmeasured: totals.unmeasured,
    }
}

#[derive(Serialize)]
pub struct ProblemView {
    problem: String,
    weights: &'static str,
    failed: bool,
    matrices: Vec<PairMatrixView>,
    failing: Vec<FailingView>,
}

/// A failing pair in words, and the command that reruns its two methods; empty when the results have none.
#[derive(Serialize)]
struct FailingView {
    text: String,
    rerun: String,
}

#[derive(Serialize)]
pub struct PairMatrixView {
    source: String,
    header: Vec<&'static str>,
    rows: Vec<(&'static str, Vec<Tag>)>,
}

/// Two methods that are not as far apart as the truth says, over all problems that the page shows.
#[derive(Serialize)]
pub struct FailingPairView {
    left: &'static str,
    right: &'static str,
    what: &'static str,
    problems: String,
    /// The first of those problems, and its place on the page.
    problem: String,
    href: String,
    truth: String,
    kernel: String,
}

/// The failing pairs of these problems, which are in the order of the page.
pub fn failing(problems: &[PairedProblem]) -> Vec<FailingPairView> {
    let mut found: Vec<(&Pair, Vec<usize>)> = Vec::new();
    for (i, problem) in problems.iter().enumerate() {
        for pair in problem.kernels.iter().flat_map(|m| &m.pairs).filter(|p| p.status.is_failure()) {
            let same = |(p, _): &&mut (&Pair, _)| {
                (p.left, p.right, p.status) == (pair.left, pair.right, pair.status)
            };
            match found.iter_mut().find(same) {
                Some((_, places)) => places.push(i),
                None => found.push((pair, vec![i])),
            }
        }
    }
    let view = |(pair, places): (&Pair, Vec<usize>)| {
        let first = &problems[places[0]];
        let truth = first.truth.and_then(|truth| pairs::entry(truth, pair.left, pair.right));
        FailingPairView {
            left: pair.left.name(),
            right: pair.right.name(),
            what: pairs::explain(pair.status),
            problems: text::count(places.len(), "problem"),
            problem: text::fit(first.problem, 120),
            href: format!("pair-{}", places[0] + 1),
            truth: truth.map_or(text::UNMEASURED.to_owned(), |t| text::number(t.rel_l2, 3)),
            kernel: text::number(pair.rel_l2, 3),
        }
    };
    found.into_iter().map(view).collect()
}

/// One problem's matrices, the truth's first, and its failing pairs in words.
pub fn problem(problem: &PairedProblem, results: &Results) -> ProblemView {
    let mut matrices: Vec<_> = problem.truth.iter().chain(&problem.kernels).map(|m| pair_matrix(m)).collect();
    matrices.extend(problem.kernels.iter().map(|m| difference(m)));
    let pairs = problem.kernels.iter().flat_map(|m| &m.pairs).filter(|p| p.status.is_failure());
    ProblemView {
        problem: problem.problem.to_owned(),
        weights: problem.weights.name(),
        failed: problem.failed(),
        matrices,
        failing: pairs
            .map(|pair| FailingView { text: describe(pair), rerun: rerun(problem.problem, pair, results) })
            .collect(),
    }
}

/// The left method's command with the right method besides.
fn rerun(problem: &str, pair: &Pair, results: &Results) -> String {
    let id = format!("{problem}/{}", pair.left);
    let case = results.cases.iter().find(|case| case.id == id).map_or("", |case| &*case.rerun);
    let option = format!("--method {}", pair.left);
    if !case.contains(&option) {
        return String::new();
    }
    text::line(&case.replacen(&option, &format!("{option} --method {}", pair.right), 1))
}

fn describe(pair: &Pair) -> String {
    let index: Vec<_> = pair.worst_index.iter().map(usize::to_string).collect();
    format!(
        "{} and {}: {}; worst at out[{}], {} × the sum of both bounds; mean {}, max {}, {} ulp",
        pair.left,
        pair.right,
        pairs::explain(pair.status),
        index.join(", "),
        text::share(pair.ratio),
        text::number(pair.mean, 3),
        text::number(pair.max, 3),
        text::number(pair.max_ulp, 3),
    )
}

/// How far the kernel's difference of two methods is from the truth's, where that is worst: in units of both bounds.
fn difference(matrix: &PairwiseMatrix) -> PairMatrixView {
    let tag = |pair: &Pair| {
        let class = match pair.status {
            PairStatus::Unmeasured => "unmeasured",
            status if status.is_failure() => "fail",
            _ => "pass low",
        };
        let text = match pair.status {
            PairStatus::Unmeasured => text::UNMEASURED.to_owned(),
            _ => text::share(pair.ratio),
        };
        Tag { text, class: class.to_owned(), ..Tag::default() }
    };
    PairMatrixView {
        source: format!("difference of {}, in both bounds", matrix.source),
        ..triangle(matrix, tag)
    }
}

/// The strict upper triangle: rows but the last method, columns but the first.
fn triangle(matrix: &PairwiseMatrix, tag: impl Fn(&Pair) -> Tag) -> PairMatrixView {
    let cell = |row: Method, column: Method| {
        pairs::entry(matrix, row, column).filter(|_| row < column).map_or_else(Tag::default, &tag)
    };
    let (rows, columns) = (&Method::ALL[..Method::ALL.len() - 1], &Method::ALL[1..]);
    PairMatrixView {
        source: matrix.source.clone(),
        header: columns.iter().map(|m| m.name()).collect(),
        rows: rows.iter().map(|r| (r.name(), columns.iter().map(|c| cell(*r, *c)).collect())).collect(),
    }
}

/// Relative L2 differences.
fn pair_matrix(matrix: &PairwiseMatrix) -> PairMatrixView {
    triangle(matrix, |pair| {
        let (text, class) = match pair.status {
            PairStatus::Unmeasured => (text::UNMEASURED.to_owned(), "unmeasured"),
            PairStatus::Oracle => (text::share(pair.rel_l2), ""),
            PairStatus::Agrees => (text::share(pair.rel_l2), "pass low"),
            status => (format!("{}\n{}", text::share(pair.rel_l2), pairs::status(status)), "fail"),
        };
        Tag { text, class: class.to_owned(), title: describe(pair), ..Tag::default() }
    })
}

//! The pairwise matrices as the template takes them.

use serde::Serialize;

use super::view::Tag;
use crate::judge::results::{Pair, PairStatus, PairwiseMatrix, Results};
use crate::method::Method;
use crate::report::pairs::{self, PairedProblem};
use crate::report::text;

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
    failing: Vec<String>,
}

#[derive(Serialize)]
pub struct PairMatrixView {
    source: String,
    header: Vec<&'static str>,
    rows: Vec<(&'static str, Vec<Tag>)>,
}

/// One problem's matrices, the truth's first, and its failing pairs in words.
pub fn problem(problem: &PairedProblem) -> ProblemView {
    let mut matrices: Vec<_> = problem.truth.iter().chain(&problem.kernels).map(|m| pair_matrix(m)).collect();
    matrices.extend(problem.kernels.iter().map(|m| difference(m)));
    let pairs = problem.kernels.iter().flat_map(|m| &m.pairs).filter(|p| p.status.is_failure());
    ProblemView {
        problem: problem.problem.to_owned(),
        weights: problem.weights.name(),
        failed: problem.failed(),
        matrices,
        failing: pairs.map(describe).collect(),
    }
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

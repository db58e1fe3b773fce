//! The pairwise matrices as the template takes them.

use minijinja::{Value, context};

use super::view::Tag;
use crate::formula::Form;
use crate::report::pairs::{self, PairedProblem};
use crate::report::{grid, groups, template, text};
use crate::results::{Pair, PairStatus, PairwiseMatrix, Results};
use crate::tensor::ComputedName;

/// Two methods that are not as far apart as the truth says, over these problems, which are in the order of the page.
pub fn failing(problems: &[PairedProblem]) -> Vec<Value> {
    let failing = problems.iter().enumerate().flat_map(|(i, p)| p.failing().map(move |pair| (i, pair)));
    let key = |(i, pair): &(usize, &Pair)| (problems[*i].tensor, pair.left, pair.right, pair.status);
    let found = groups::by_key(failing, key);
    let view = |(_, places): (_, Vec<(usize, &Pair)>)| {
        let size = |pair: &Pair| grid::severity(pair.ratio);
        // Among equals, the first.
        let worst = places.iter().rev().max_by(|a, b| size(a.1).total_cmp(&size(b.1)));
        let &(place, pair) = worst.unwrap_or(&places[0]);
        let problem = &problems[place];
        context! {
            tensor => problem.tensor.name(),
            left => pair.left.name(),
            right => pair.right.name(),
            what => pair.status.what(),
            problems => places.len(),
            // The worst of those problems, and its place on the page.
            problem => problem.problem,
            href => anchor(place),
            by => text::share(pair.ratio),
        }
    };
    found.into_iter().map(view).collect()
}

/// The name of a problem's place on the page.
fn anchor(place: usize) -> String {
    format!("pair-{}", place + 1)
}

/// The matrices of the problem at this place, the truth's first, and its failing pairs in words.
pub fn problem(place: usize, problem: &PairedProblem, results: &Results) -> Value {
    let mut matrices: Vec<_> = problem.truth.iter().chain(&problem.kernels).map(|m| pair_matrix(m)).collect();
    matrices.extend(problem.kernels.iter().map(|m| difference(m)));
    let describe = |pair| describe(problem.tensor, pair);
    let pair = |pair| context! { text => describe(pair), rerun => rerun(problem, pair, results) };
    context! {
        anchor => anchor(place),
        problem => problem.problem,
        tensor => problem.tensor.name(),
        failed => problem.failed(),
        matrices,
        failing => problem.failing().map(pair).collect::<Vec<_>>(),
    }
}

/// The command that reruns both methods, the left one's with the right one besides; empty when the results have none.
fn rerun(problem: &PairedProblem, pair: &Pair, results: &Results) -> String {
    let id = problem.case(pair.left);
    let case = results.cases.iter().find(|case| case.id == id).map_or("", |case| &*case.rerun);
    let option = format!("--method {}", pair.left);
    if !case.contains(&option) {
        return String::new();
    }
    text::line(&case.replacen(&option, &format!("{option} --method {}", pair.right), 1))
}

fn describe(tensor: ComputedName, pair: &Pair) -> String {
    let [mean, max, ulp] = [pair.mean, pair.max, pair.max_ulp].map(|number| text::number(number, 3));
    format!("{}; mean {mean}, max {max}, {ulp} ulp", text::pair(tensor, pair))
}

/// Relative L2 differences.
fn pair_matrix(matrix: &PairwiseMatrix) -> Value {
    triangle(matrix, matrix.source.clone(), |pair| {
        let (text, class) = match pair.status {
            PairStatus::Unmeasured => (text::UNMEASURED.to_owned(), "unmeasured"),
            PairStatus::Oracle => (text::share(pair.rel_l2), ""),
            PairStatus::Agrees => (text::share(pair.rel_l2), "pass low"),
            status => (format!("{}\n{}", text::share(pair.rel_l2), status.name()), "fail"),
        };
        Tag { text, class: class.to_owned(), title: describe(matrix.tensor, pair), ..Tag::default() }
    })
}

/// How far the kernel's difference of two methods is from the truth's, where that is worst: in units of both bounds.
fn difference(matrix: &PairwiseMatrix) -> Value {
    triangle(matrix, format!("difference of {}, in both bounds", matrix.source), |pair| {
        let (text, class) = match pair.status {
            PairStatus::Unmeasured => (text::UNMEASURED.to_owned(), "unmeasured"),
            status => (text::share(pair.ratio), if status.is_failure() { "fail" } else { "pass low" }),
        };
        Tag { text, class: class.to_owned(), ..Tag::default() }
    })
}

/// The strict upper triangle: rows but the last method, columns but the first.
fn triangle(matrix: &PairwiseMatrix, source: String, tag: impl Fn(&Pair) -> Tag) -> Value {
    let forms = pairs::columns(matrix);
    let (rows, columns) = (&forms[..forms.len() - 1], &forms[1..]);
    let cell = |row: Form, column: Form| {
        pairs::entry(matrix, row, column).filter(|_| row < column).map_or_else(Tag::default, &tag)
    };
    let cells = |row: &Form| columns.iter().map(|column| cell(*row, *column)).collect::<Vec<_>>();
    let rows: Vec<_> = rows.iter().map(|row| context! { name => row.name(), cells => cells(row) }).collect();
    context! { source, header => template::names(columns), rows }
}

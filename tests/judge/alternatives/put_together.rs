//! What a scan in one direction is put together of makes the scan; of poly's two, what is found of pairs of changes
//! ([`super::combined`]) says so.

use holdfast::judge::diagnose::alternatives;
use holdfast::judge::faults::pieces::{Pieces, pieces};
use holdfast::judge::faults::scan;
use holdfast::judge::faults::variant::Variant;
use holdfast::problem::Problem;
use holdfast::tensor::TensorName;

use super::{LENGTH, problems};

/// gain·Σ Re C x + offset of a scan in one direction.
fn outputs(pieces: &Pieces, states: usize) -> Vec<f64> {
    let mut x = pieces.initial.clone();
    let mut all = Vec::new();
    for (l, (gain, offset)) in pieces.epilogue.iter().enumerate() {
        let mut sum = 0.0;
        for (n, x) in x.iter_mut().enumerate() {
            let i = l * states + n;
            let before = *x;
            *x = pieces.a_bar[i] * *x + pieces.k[i] * pieces.b[i] * pieces.u[l];
            let read = if pieces.course.without_input { pieces.a_bar[i] * before } else { *x };
            sum += (pieces.c[i] * read).re;
        }
        all.push(gain * sum + offset);
    }
    all
}

/// Compares where there are pieces; whether there are.
fn is_put_together(variant: &Variant, problem: &Problem) -> bool {
    let shape = problem.shape;
    let all: Option<Vec<Pieces>> =
        problem.channels().map(|at| pieces(variant, problem, at, shape.seqlen)).collect();
    let Some(all) = all.filter(|_| !variant.bidirectional) else { return false };
    for (pieces, at) in all.iter().zip(problem.channels()) {
        let row = &scan::channel(variant, problem, at).tensors[TensorName::Out];
        let own = outputs(pieces, shape.dstate);
        let largest = row.values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        for (own, value) in own.iter().zip(&row.values) {
            let is_same = (own - value).abs() <= 1e-12 * largest || !own.is_finite() && !value.is_finite();
            assert!(is_same, "{at:?}: {own} {value}, {variant:?}");
        }
    }
    true
}

#[test]
fn pieces_make_the_scan_that_they_are_of() {
    let mut count = 0;
    for (method, problem) in problems() {
        let all = alternatives(method, &problem, LENGTH);
        // Pieces are not cut off to 16 bits.
        let all = all.iter().filter(|one| !one.variant.store_truncated);
        count += all.filter(|one| is_put_together(&one.variant, &problem)).count();
    }
    assert!(count > 3000, "{count}");
}

//! Promise: of each stretch of a sequence the worst element is kept, with its place, its error and its bound.

use holdfast::judge::budget::Bounds;
use holdfast::judge::profile::{of_case, of_gradient};
use holdfast::method::Method;
use holdfast::problem::InputType;
use holdfast::tensor::{ComputedName, GradientName, Tensor};

use crate::support::problems::{Layout, generator};

/// Errors that differ from place to place, over rows of so many positions.
fn judged(rows: usize, seqlen: usize) -> (Tensor<f64>, Tensor<f64>, Bounds) {
    let count = rows * seqlen;
    let want: Vec<f64> = (0..count).map(|i| 1.0 + (i % 5) as f64).collect();
    let error = |i: usize| 1e-7 * (i * 37 % 101) as f64;
    let got = want.iter().enumerate().map(|(i, want)| want + error(i)).collect();
    let tensor = |values| Tensor { shape: vec![rows, seqlen], width: 1, element: InputType::F32, values };
    let bound: Vec<f64> = (0..count).map(|i| 2e-5 * (1.0 + (i * 11 % 7) as f64)).collect();
    let bounds = Bounds { bound, store: vec![0.0; count], ..Bounds::default() };
    (tensor(got), tensor(want), bounds)
}

/// The place, the error and the bound of the largest share in positions `from..to` of any row.
fn worst(
    (got, want, bounds): &(Tensor<f64>, Tensor<f64>, Bounds),
    seqlen: usize,
    (from, to): (usize, usize),
) -> (usize, f64, f64) {
    let mut worst = (0, 0.0, f64::INFINITY);
    for i in (0..got.values.len()).filter(|i| (from..to).contains(&(i % seqlen))) {
        let (error, bound) = ((got.values[i] - want.values[i]).abs(), bounds.bound[i]);
        if error / bound > worst.1 / worst.2 {
            worst = (i % seqlen, error, bound);
        }
    }
    worst
}

#[test]
fn the_worst_of_each_stretch_is_kept() {
    let case = (Method::Foh, "a case");
    for (seqlen, stretches, of_gradients) in [(1024, 128, 64), (9, 9, 9)] {
        let problem = Layout::plain(1, 3, 1, seqlen).random(&mut generator("profile"));
        let judged = judged(3, seqlen);
        let (got, want, bounds) = &judged;
        let (histogram, sequence) = of_case(case, &problem, got, want, bounds);
        let gradient = of_gradient(
            (case.0, case.1, ComputedName::Gradient(GradientName::U)),
            &problem,
            got,
            want,
            bounds,
        );
        assert_eq!((sequence.case.as_str(), sequence.method), (case.1, case.0));
        for (sequence, stretches) in [(&sequence, stretches), (&gradient, of_gradients)] {
            assert_eq!(sequence.position.len(), stretches);
            for at in 0..stretches {
                let length = seqlen / stretches;
                let (position, error, bound) = worst(&judged, seqlen, (at * length, (at + 1) * length));
                assert_eq!(sequence.position[at], position, "{at} of {stretches}");
                assert_eq!(sequence.bound[at], bound);
                assert!((sequence.error[at] - error).abs() <= 1e-12);
            }
        }
        let exact = got.values.iter().zip(&want.values).filter(|(got, want)| got == want).count();
        assert_eq!((histogram.none, histogram.above), (exact, 0));
        assert_eq!(histogram.none + histogram.counts.iter().sum::<usize>(), got.values.len());
    }
}

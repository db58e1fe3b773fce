//! Promise: invariants compare whole runs within the sum of their bounds, or exactly.

use holdfast::judge::invariants::comparison::{Budgeted, Comparison};
use holdfast::judge::invariants::run::{ProbeRun, ProbedTensor};
use holdfast::judge::ulp::Format;
use holdfast::results::Verdict;
use holdfast::tensor::TensorName;
use num_complex::Complex64;

fn run(out: [f32; 2], bound: f64) -> ProbeRun {
    stored(out, bound, Format::F32)
}

fn stored(out: [f32; 2], bound: f64, format: Format) -> ProbeRun {
    let values = out.map(|y| Complex64::new(f64::from(y), 0.0)).to_vec();
    let tensor = ProbedTensor { shape: vec![1, 1, 2], width: 1, format, values, bound: vec![bound; 2] };
    ProbeRun { tensors: [(TensorName::Out, tensor)].into_iter().collect() }
}

fn compared(got: &ProbeRun, want: &[(f64, &ProbeRun)], budgeted: Budgeted) -> Comparison {
    let mut comparison = Comparison::default();
    comparison.all("", got, want, budgeted);
    comparison
}

#[test]
fn bounds_add_up_with_the_factors() {
    let (got, want) = (run([1.0, 2.0], 0.25), run([0.5, 0.625], 0.125));
    // |2 − 2·0.625| = 0.75 against 0.25 + 2·0.125.
    let comparison = compared(&got, &[(2.0, &want)], Budgeted::Derived);
    let worst = comparison.worst.as_ref().expect("compared");
    assert_eq!((worst.index.clone(), worst.ratio), (vec![0, 0, 1], 1.5));
    assert_eq!(comparison.verdict(), Verdict::Fail);
    assert_eq!(compared(&got, &[(1.0, &got)], Budgeted::Derived).verdict(), Verdict::Pass);
}

#[test]
fn exactly_forgives_nothing_but_the_sign_of_zero() {
    let one = run([0.0, 1.0], 10.0);
    let exactly = |other: [f32; 2]| compared(&run(other, 10.0), &[(1.0, &one)], Budgeted::Exactly).verdict();
    assert_eq!(exactly([-0.0, 1.0]), Verdict::Pass);
    assert_eq!(exactly([0.0, 1f32.next_up()]), Verdict::Fail);
    assert_eq!(exactly([0.0, f32::NAN]), Verdict::Fail);
}

#[test]
fn nothing_compared_and_infinite_bounds_are_no_pass() {
    assert_eq!(Comparison::default().verdict(), Verdict::Unmeasured);
    let run = run([1.0, 2.0], f64::INFINITY);
    assert_eq!(compared(&run, &[(1.0, &run)], Budgeted::Derived).verdict(), Verdict::Unmeasured);
}

/// The neighbour of 1 in each type is one unit in the last place away, not 65536 of an f32's.
#[test]
fn units_in_the_last_place_are_those_of_the_tensors_own_type() {
    for (format, next) in [(Format::F32, 1f32.next_up()), (Format::F16, 1.0009766), (Format::BF16, 1.0078125)]
    {
        let (got, want) = (stored([next, 0.0], 0.0, format), stored([1.0, 0.0], 0.0, format));
        let worst = compared(&got, &[(1.0, &want)], Budgeted::Exactly).worst.expect("compared");
        assert_eq!(worst.ulp, 1.0, "{format:?}");
    }
}

//! Promise: a fault is named that leaves a quarter of the error within the bounds, or nearly none of it near them, and no other.

use holdfast::judge::faults::gradient::find;
use holdfast::method::Method;
use holdfast::problem::OutputGradients;
use holdfast::tensor::GradientName::C;

use super::{Known, drawn, largest};
use crate::cases::each;
use crate::support::problems::{Layout, generator};

/// Whether a fault is named of a constant C with three states that is as the fault has it but for so much of the error, which is
/// so many of the bounds: too few numbers for anything but single faults.
fn is_named(fault: &str, left: f64, share: f64) -> bool {
    let mut rng = generator("three states");
    let problem = Layout::plain(2, 1, 3, 9).random(&mut rng);
    let dout = drawn(problem.u.len(), &mut rng);
    let drawn = (problem, OutputGradients { dout, dlast_state: None });
    let mut known = Known::new(Method::Zoh, &drawn);
    let model = known.compute(find(fault).expect("a fault"))[C].values.clone();
    let want = known.want[C].values.clone();
    let ratio = (largest(&model) / largest(&want)).max(1.0);
    let moves: Vec<f64> = model.iter().zip(&want).map(|(model, want)| model - want).collect();
    // Of the way that is gone.
    let part = left / (1.0 + left);
    known.bounds[C] = moves.iter().map(|by| part * by.abs() / (share * ratio)).collect();
    let mut got = known.want.clone();
    got[C].values = want.iter().zip(&moves).map(|(want, by)| want + (1.0 - part) * by).collect();
    known.judged(&got)[C].iter().any(|found| found.name == fault)
}

/// What is kept in a narrow type leaves more than roundings: values beside a boundary.
#[test]
fn what_a_fault_leaves() {
    let cases: [(&str, &str, f64, f64, bool); 12] = [
        ("explains", "sum-without-first", 0.24, 0.95, true),
        ("leaves too much", "sum-without-first", 0.26, 0.95, false),
        ("is beyond a bound", "sum-without-first", 0.24, 1.05, false),
        ("explains and leaves little", "sum-without-first", 0.1, 0.95, true),
        ("leaves little beyond a bound", "sum-without-first", 0.1, 1.05, false),
        ("leaves nearly nothing", "sum-without-first", 1.0 / 66.0, 15.5, true),
        ("leaves nearly nothing far beyond", "sum-without-first", 1.0 / 66.0, 16.5, false),
        ("leaves a little too much", "sum-without-first", 1.0 / 62.0, 15.5, false),
        ("leaves roundings", "sum-in-bf16", 1.0 / 8.2, 15.5, true),
        ("leaves roundings far beyond", "sum-in-bf16", 1.0 / 8.2, 100.0, true),
        ("leaves more than roundings", "sum-in-bf16", 1.0 / 7.8, 15.5, false),
        ("leaves no roundings", "sum-without-first", 1.0 / 8.2, 15.5, false),
    ];
    each(cases, |(_, fault, left, share, named)| {
        assert_eq!(is_named(fault, left, share), named);
    });
}

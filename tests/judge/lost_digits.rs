//! Promise: digits are called lost where the same source in double has them, and nowhere else.

use holdfast::judge::diagnose::NEEDED;
use holdfast::judge::lost_digits::{LEFT_IN_DOUBLE, NAME, found};
use holdfast::problem::InputType;
use holdfast::tensor::Tensor;

use crate::cases::each;

/// Two complex elements with bounds of their own.
const BOUNDS: [f64; 2] = [0.5, 4.0];
const WANT: [f64; 4] = [1.0, -2.0, 3.0, 0.25];

fn tensor(values: [f64; 4]) -> Tensor<f64> {
    Tensor { shape: vec![2], width: 2, element: InputType::F32, values: values.to_vec() }
}

/// What is off by so many units of its own bound.
fn off(units: [f64; 4]) -> [f64; 4] {
    [0, 1, 2, 3].map(|i| WANT[i] + units[i] * BOUNDS[i / 2])
}

fn residual(single: [f64; 4], double: [f64; 4]) -> Option<f64> {
    let diagnosis = found((&tensor(off(single)), &tensor(WANT)), &off(double), &BOUNDS)?;
    assert_eq!(diagnosis.name, NAME);
    Some(diagnosis.residual)
}

fn norm(units: [f64; 4]) -> f64 {
    units.iter().map(|unit| unit * unit).sum::<f64>().sqrt()
}

/// All but 2⁻²⁰ of the error is gone, whatever is left of it; or three quarters are, and the rest is within its bounds.
#[test]
fn what_double_mends_is_lost_digits() {
    let cases: [(&str, [f64; 4], [f64; 4], bool); 7] = [
        ("nearly all", [1e9, 0.0, -2e9, 1e8], [500.0, 0.0, -900.0, 100.0], true),
        ("a little more is left", [1e9, 0.0, -2e9, 1e8], [1500.0, 0.0, -2100.0, 100.0], false),
        ("most within bounds", [8.0, -3.0, 1.0, 5.0], [0.9, -1.0, 0.5, 0.75], true),
        ("most beyond a bound", [8.0, -3.0, 1.0, 5.0], [1.1, -0.5, 0.5, 0.75], false),
        ("too much is left", [2.0, -3.0, 1.0, 1.0], [0.9, -1.0, 0.5, 0.75], false),
        ("the last counts", [0.0, 0.0, 0.0, 5.0], [0.0, 0.0, 0.0, 1.5], false),
        ("the first counts", [5.0, 0.0, 0.0, 0.0], [1.5, 0.0, 0.0, 0.0], false),
    ];
    each(cases, |(_, single, double, is_lost)| {
        let left = norm(double) / norm(single);
        let is_within = double.iter().all(|unit| unit.abs() <= 1.0);
        assert_eq!(left <= LEFT_IN_DOUBLE || is_within && left <= NEEDED, is_lost, "{left}");
        let residual = residual(single, double);
        assert_eq!(residual.is_some(), is_lost);
        assert!(
            residual.is_none_or(|residual| (residual - left).abs() <= 1e-6 * left),
            "{residual:?} {left}"
        );
    });
}

#[test]
fn what_is_no_number_has_lost_no_digits() {
    assert!(residual([f64::NAN, 0.0, 0.0, 0.0], [0.0; 4]).is_none());
    assert!(residual([f64::INFINITY, 0.0, 0.0, 0.0], [0.0; 4]).is_none());
    assert!(residual([8.0, 0.0, 0.0, 0.0], [f64::NAN, 0.0, 0.0, 0.0]).is_none());
    // Where double has fewer values, nothing is known of the others.
    let (got, want) = (tensor(off([8.0, 0.0, 0.0, 0.0])), tensor(WANT));
    assert!(found((&got, &want), &WANT[..3], &BOUNDS).is_none());
}

/// Equal values are no error, even where nothing may be off.
#[test]
fn a_bound_of_0_is_met_by_what_is_equal() {
    let (mut got, want) = (tensor(WANT), tensor(WANT));
    got.values[2] += 8.0;
    let left = found((&got, &want), &WANT, &[0.0, 1.0]).expect("lost digits").residual;
    assert_eq!(left, 0.0);
}

//! Promise: the functions that quick values are made of err by no more than their documentation says, everywhere.

use holdfast::judge::lanes::{ComplexLanes, Lanes, Value};
use holdfast::truth::number::ball::Ball;
use holdfast::truth::number::elementary::exp_by_doubling;
use holdfast::truth::number::scalar::Entry;
use holdfast::truth::number::wide::Wide;
use nalgebra::Complex;
use num_complex::Complex64;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const WIDTH: usize = 8;

/// The unit roundoff of f64.
const V: f64 = f64::EPSILON / 2.0;

fn exact(z: Complex64) -> Complex<Wide> {
    exp_by_doubling(&Ball::exact(Complex::<Wide>::exact_entry(z))).mid
}

/// |got − want| in units of `unit`, part by part.
fn errors(got: Complex64, want: &Complex<Wide>, unit: f64) -> [f64; 2] {
    use holdfast::truth::number::scalar::Real;
    let error = |got: f64, want: &Wide| (Wide::exact(got) - *want).to_nearest_f64().abs() / unit;
    [error(got.re, &want.re), error(got.im, &want.im)]
}

/// Numbers that are evenly spread, of all sizes, and beside the multiples of what the argument is reduced by.
fn arguments(random: &mut ChaCha8Rng, largest: f64, period: f64) -> [f64; WIDTH] {
    std::array::from_fn(|lane| {
        let spread = random.random_range(-1.0..1.0) * largest;
        match lane % 4 {
            0 | 1 => spread,
            2 => spread.signum() * largest * 2f64.powf(-random.random_range(0.0..60.0)),
            _ => {
                ((spread / period).round() + 0.5 * random.random_range(0..2) as f64)
                    * period
                    * (1.0 + 1e-15 * spread.signum())
            }
        }
    })
}

#[test]
fn the_exponential_is_within_four_units_of_roundoff() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut worst = 0.0f64;
    for _ in 0..2_000 {
        let x = arguments(&mut random, 700.0, std::f64::consts::LN_2);
        let got = Value::exp(Lanes(x));
        for (lane, x) in x.into_iter().enumerate() {
            let want = exact(Complex64::from(x));
            let [error, _] = errors(got.at(lane), &want, V * got.0[lane]);
            worst = worst.max(error);
        }
    }
    assert!(worst <= 4.0, "{worst}");
    // The measure works: such a function cannot be right to the last bit.
    assert!(worst > 0.5, "{worst}");
}

#[test]
fn sine_and_cosine_are_within_two_units_of_roundoff() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut worst = 0.0f64;
    for round in 0..2_000 {
        let largest = if round % 2 == 0 { 10.0 } else { 65_536.0 };
        let y = arguments(&mut random, largest, std::f64::consts::FRAC_PI_2);
        let z = ComplexLanes { re: Lanes::ZERO, im: Lanes(y) };
        for (lane, y) in y.into_iter().enumerate() {
            let got = z.exp().at(lane);
            let [cos, sin] = errors(got, &exact(Complex64::new(0.0, y)), V);
            worst = worst.max(cos).max(sin);
        }
    }
    assert!(worst <= 2.0, "{worst}");
    assert!(worst > 0.5, "{worst}");
}

#[test]
fn the_exponential_leaves_its_range_at_both_ends_as_it_should() {
    let ends = [-1e9, -746.0, -740.0, -708.5, 0.0, 709.5, 710.0, 1e9];
    let got = Value::exp(Lanes(ends));
    assert_eq!([got.0[0], got.0[1], got.0[4]], [0.0, 0.0, 1.0]);
    // Subnormal results round once more, to the grid that these have.
    for lane in [2, 3] {
        assert!((got.0[lane] - ends[lane].exp()).abs() <= 1e-323 + 4.0 * V * got.0[lane], "{lane}");
    }
    assert!(got.0[5].is_finite() && got.0[6] == f64::INFINITY && got.0[7] == f64::INFINITY);
}

#[test]
fn a_norm_neither_overflows_nor_vanishes() {
    for size in [1e-300, 1e-160, 1e-140, 1.0, 1e140, 1e160, 1e300] {
        let z = ComplexLanes::<WIDTH> { re: Lanes::all(3.0 * size), im: Lanes::all(4.0 * size) };
        assert!((z.norm().0[0] / (5.0 * size) - 1.0).abs() <= 4.0 * V, "{size:e}");
    }
    assert_eq!(ComplexLanes::<WIDTH>::all(0.0).norm(), Lanes::ZERO);
}

#[test]
fn nothing_times_whatever_is_nothing() {
    let infinite = Lanes::<WIDTH>::all(f64::INFINITY);
    assert_eq!(infinite.times(Lanes::ZERO), Lanes::ZERO);
    assert_eq!(infinite.times(Lanes::ONE), infinite);
    assert_eq!(infinite.unless_zero(Lanes::ZERO), Lanes::ZERO);
}

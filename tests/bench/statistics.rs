//! Promise: medians and their intervals are those of order statistics, whatever the samples, and fitted exponents are those of the data.

use holdfast::bench;
use holdfast::problem::{InputType, Shape, Weights};
use holdfast::results::Verdict;
use holdfast::results::bench::{Cost, Spread, Timed, TimedScan, Work, interval_rank, scalings, slope};

#[test]
fn nothing_has_no_spread_and_one_sample_has_no_interval() {
    assert_eq!(Spread::of(&[]), None);
    assert_eq!(Spread::of(&[f64::NAN, f64::INFINITY]), None);
    let one = Spread::of(&[0.25]).expect("one sample");
    assert_eq!((one.samples, one.median, one.interval), (1, 0.25, None));
    assert_eq!((one.fastest, one.slowest, one.range()), (0.25, 0.25, [0.25, 0.25]));
}

#[test]
fn the_median_is_the_middle_whatever_the_order() {
    let of = |times: &[f64]| Spread::of(times).expect("samples").median;
    assert_eq!(of(&[3.0, 1.0, 2.0]), 2.0);
    assert_eq!(of(&[4.0, 1.0, 3.0, 2.0]), 2.5);
    assert_eq!(of(&[9.0, f64::NAN, 1.0, 2.0]), 2.0);
}

/// P(X ≤ k) of a binomial with n and ½, times 2ⁿ: exactly.
fn below(n: u32, k: u32) -> u128 {
    let mut choose = 1u128;
    let mut sum = 1;
    for i in 1..=k {
        choose = choose * u128::from(n - i + 1) / u128::from(i);
        sum += choose;
    }
    sum
}

#[test]
fn the_interval_is_the_narrowest_with_that_confidence() {
    for n in 0..=100u32 {
        // 2 P(X ≤ k) ≤ 1/20 of 2ⁿ, in whole numbers.
        let holds = |k: u32| 40 * below(n, k) <= 1 << n;
        let want = (0..n / 2).take_while(|&k| holds(k)).last().map(|k| k as usize);
        assert_eq!(interval_rank(n as usize), want, "{n} samples");
    }
    assert_eq!([5, 6, 9, 51].map(interval_rank), [None, Some(0), Some(1), Some(18)]);
    let times: Vec<f64> = (1..=9).map(f64::from).collect();
    assert_eq!(Spread::of(&times).expect("samples").interval, Some([2.0, 8.0]));
}

#[test]
fn many_samples_have_an_interval_too() {
    // 2⁻ⁿ is below the smallest f64.
    let rank = interval_rank(10_000).expect("an interval") as f64;
    // By the normal approximation n/2 − 1.96 √n/2.
    assert!((rank - (5000.0 - 98.0)).abs() < 2.0, "{rank}");
}

#[test]
fn the_slope_of_a_power_is_its_exponent() {
    let points = [1.0f64, 2.0, 4.0, 8.0].map(|x| (x, 3.0 * x.powf(1.5)));
    assert!((slope(&points) - 1.5).abs() < 1e-12);
}

fn timed(shape: Shape, median: f64) -> Timed {
    let method = holdfast::method::Method::Foh;
    Timed {
        id: shape.to_string(),
        work: Work::Forward,
        scan: Some(TimedScan { method, weights: Weights::Real, input: InputType::F32, shape }),
        operation: None,
        backend: "cpu".to_owned(),
        verdict: Verdict::Pass,
        reason: String::new(),
        cost: Cost::default(),
        warm: Spread::of(&[median]),
        cold: None,
        first: None,
        kernel: None,
        share: None,
        error: None,
    }
}

#[test]
fn times_of_a_sweep_have_an_exponent_for_each_size() {
    let shapes = bench::Preset::Sweep.shapes(false);
    // Proportional to each size but dstate, whose square it grows with.
    let time = |s: &Shape| (s.batch * s.dim * s.seqlen * s.dstate * s.dstate) as f64;
    let bench: Vec<Timed> = shapes.iter().map(|shape| timed(*shape, time(shape))).collect();
    let found = scalings(&bench);
    let exponents: Vec<(&str, f64)> =
        found.iter().map(|one| (one.size, (one.exponent * 1e9).round() / 1e9)).collect();
    assert_eq!(exponents, [("seqlen", 1.0), ("dim", 1.0), ("batch", 1.0), ("dstate", 2.0)]);
    assert!(found.iter().all(|one| one.points.len() == 4));
    assert!(scalings(&bench[..3]).is_empty(), "two sizes are no line");
}

//! Promise: ulps, roundings and overflow are those of the format, tried on one small enough to list.

use holdfast::judge::ulp::Format;

/// A float small enough to list: 4 significand bits, exponents −3 to 3.
const TINY: Format = Format { precision: 4, min_exponent: -3, max_exponent: 3 };

/// Every non-negative finite number of `TINY`, ascending, built from its definition.
fn tiny_values() -> Vec<f64> {
    let subnormal = (0..8).map(|m| f64::from(m) * 2f64.powi(-3 - 3));
    let normal = (-3..=3).flat_map(|e| (8..16).map(move |m| f64::from(m) * 2f64.powi(e - 3)));
    subnormal.chain(normal).collect()
}

#[test]
fn ulp_is_the_gap_to_the_next_number_of_every_tiny_float() {
    let values = tiny_values();
    for pair in values.windows(2) {
        assert_eq!(TINY.ulp(pair[0]), pair[1] - pair[0], "at {}", pair[0]);
        assert_eq!(TINY.ulp(-pair[0]), pair[1] - pair[0]);
        // Between two neighbours the ulp is that of the lower one: it is a property of the binade.
        let between = 0.75 * pair[0] + 0.25 * pair[1];
        assert_eq!(TINY.distance(pair[0], between), 0.25);
        assert_eq!(TINY.distance(pair[1], between), 0.75);
    }
}

#[test]
fn rounding_error_is_attained_and_never_exceeded_by_tiny_floats() {
    let values = tiny_values();
    for pair in values.windows(2) {
        for i in 0..=64 {
            let x = pair[0] + (pair[1] - pair[0]) * f64::from(i) / 64.0;
            let nearest = values.iter().map(|v| (v - x).abs()).fold(f64::INFINITY, f64::min);
            assert!(nearest <= TINY.rounding_error(x), "{x}");
        }
        let middle = 0.5 * (pair[0] + pair[1]);
        assert_eq!(middle - pair[0], TINY.rounding_error(middle));
    }
}

#[test]
fn overflow_starts_half_an_ulp_above_the_largest_number() {
    assert_eq!(TINY.overflow_threshold(), 15.5);
    assert_eq!(Format::F16.overflow_threshold(), 65520.0);
    let f32_threshold = Format::F32.overflow_threshold();
    assert_eq!(f32_threshold as f32, f32::INFINITY);
    assert_eq!(f32_threshold.next_down() as f32, f32::MAX);
}

#[test]
fn ulp_matches_the_neighbours_of_f32_at_the_ends_of_its_range() {
    for x in [0.0f32, f32::from_bits(1), f32::MIN_POSITIVE, 1.0, 1.5, 3e38, 1e-40] {
        assert_eq!(Format::F32.ulp(f64::from(x)), f64::from(x.next_up()) - f64::from(x), "{x}");
    }
}

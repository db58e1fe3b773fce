//! Promise: arithmetic of two doubles errs by no more than its theorems say, gives the same bits on every processor, and ends
//! as no number at all where its range does.

use std::cmp::Ordering;

use dashu_int::IBig;
use dashu_int::ops::Abs;
use holdfast::truth::exact::rational;
use holdfast::truth::number::ball::Ball;
use holdfast::truth::number::double_double::DoubleDouble;
use holdfast::truth::number::elementary::{
    exp_by_doubling, exp_by_halving, phi_by_doubling, softplus_by_artanh, softplus_by_halley,
};
use holdfast::truth::number::mag::Mag;
use holdfast::truth::number::scalar::Real;
use holdfast::truth::number::wide::Wide;
use nalgebra::Complex;
use num_traits::One;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// All operands are multiples of 2 to this.
const LAST: i64 = -560;

/// x·2^−LAST
fn integer(x: DoubleDouble) -> IBig {
    let part = |x: f64| {
        let (m, e) = rational::decomposed(x);
        let m = IBig::from(m) << usize::try_from(e.max(LAST) - LAST).expect("not below");
        assert!(e >= LAST || x == 0.0, "{x:e}");
        if x < 0.0 { -m } else { m }
    };
    let [high, low] = x.parts();
    part(high) + part(low)
}

/// Whether |found − exact| ≤ units·2⁻¹⁰⁶|exact|, u² being 2⁻¹⁰⁶.
fn near(units: u32, found: &IBig, exact: &IBig) -> bool {
    let off: IBig = (found - exact).abs() << 106;
    off <= exact.clone().abs() * IBig::from(units)
}

/// What each theorem allows, in u², rounded up: 3/(1 − 4u), 8, and 15 + 56u.
const SUM: u32 = 4;
const PRODUCT: u32 = 8;
const QUOTIENT: u32 = 16;

fn is_normalized(x: DoubleDouble) -> bool {
    let [high, low] = x.parts();
    high + low == high
}

/// From 1 to 2, of few bits or nearly all.
fn significand(rng: &mut ChaCha8Rng) -> f64 {
    let bits: u64 = match rng.random_range(0..6) {
        0 => 0,
        1 => 1 << rng.random_range(0..52),
        2 => (1 << 52) - 1,
        3 => ((1 << 52) - 1) & !(1 << rng.random_range(0..52)),
        4 => rng.random::<u64>() & ((1 << 52) - 1) & !((1 << rng.random_range(20..34)) - 1),
        _ => rng.random::<u64>() & ((1 << 52) - 1),
    };
    f64::from_bits(1023 << 52 | bits)
}

fn signed(rng: &mut ChaCha8Rng, x: f64) -> f64 {
    if rng.random() { x } else { -x }
}

/// Its low part is as large as can be, any, far below, or nothing.
fn number(rng: &mut ChaCha8Rng, exponent: i32) -> DoubleDouble {
    let scale = 2f64.powi(exponent);
    let high = significand(rng);
    let half = (high.next_up() - high) / 2.0;
    let low = match rng.random_range(0..6) {
        0 => 0.0,
        1 => half,
        2 => half.next_down(),
        3 => half * significand(rng) / 2.0 * 2f64.powi(-rng.random_range(0..100)),
        _ => half * significand(rng) / 2.0,
    };
    let (high, low) = (signed(rng, high) * scale, signed(rng, low) * scale);
    DoubleDouble::from_sum(high, low)
}

/// Anything, and what nearly cancels.
fn operands(rng: &mut ChaCha8Rng) -> (DoubleDouble, DoubleDouble) {
    let exponent = rng.random_range(-60..60);
    let x = number(rng, exponent);
    let apart = [0, 1, 2, 51, 52, 53, 54, 55, 104, 105, 106, 107, rng.random_range(0..120)];
    let below = exponent - apart[rng.random_range(0..apart.len())];
    let y = match rng.random_range(0..5) {
        0 => -x + number(rng, below),
        // The same high part.
        1 => {
            let half = 2f64.powi(exponent - 54) * significand(rng);
            DoubleDouble::from_sum(-x.parts()[0], signed(rng, half))
        }
        _ => number(rng, below),
    };
    (x, y)
}

#[test]
fn every_operation_errs_by_no_more_than_its_theorem_says() {
    let mut rng = ChaCha8Rng::seed_from_u64(61);
    let shift = usize::try_from(-LAST).expect("positive");
    for _ in 0..350_000 {
        let (x, y) = operands(&mut rng);
        let (a, b) = (integer(x), integer(y));
        let sum = &a + &b;
        let found = x + y;
        assert!(is_normalized(found) && near(SUM, &integer(found), &sum), "{x:?} + {y:?} = {found:?}");
        let difference = &a - &b;
        assert!(near(SUM, &integer(x - y), &difference), "{x:?} - {y:?}");
        let (found, product) = (x * y, &a * &b);
        assert!(is_normalized(found), "{x:?} * {y:?} = {found:?}");
        assert!(near(PRODUCT, &(integer(found) << shift), &product), "{x:?} * {y:?} = {found:?}");
        let [split, fused] = x.products(y).map(|z| z.parts().map(f64::to_bits));
        assert_eq!(split, fused, "{x:?} * {y:?}");
        if y != DoubleDouble::exact(0.0) {
            // |q − x/y| ≤ u|x/y|, multiplied by y.
            let (found, left) = (x / y, &a << shift);
            assert!(is_normalized(found) && near(QUOTIENT, &(integer(found) * &b), &left), "{x:?} / {y:?}");
        }
        assert_eq!(x.partial_cmp(&y), a.partial_cmp(&b), "{x:?} and {y:?}");
        // floor of log2
        let size = a.clone().abs();
        let exponent = usize::try_from(x.exponent().expect("not zero") - LAST).expect("above");
        assert!(size >= IBig::ONE << exponent && size < IBig::ONE << (exponent + 1), "{x:?}: {exponent}");
    }
}

#[test]
fn the_nearest_double_is_the_high_one() {
    let mut rng = ChaCha8Rng::seed_from_u64(62);
    for _ in 0..20_000 {
        let (x, y) = operands(&mut rng);
        for x in [x, x + y, x * y] {
            let [high, low] = x.parts().map(rational::exact);
            assert_eq!(x.to_nearest_f64().to_bits(), rational::round(&(high + low)).to_bits(), "{x:?}");
        }
    }
    assert!(DoubleDouble::exact(f64::NAN).to_nearest_f64().is_nan());
}

/// The same bits by both ways to the error of a product, at the ends of the range as well: there it is no number, or as good as
/// nothing is lost below 2^UNDERFLOW.
#[test]
fn the_ends_of_the_range_are_the_same_on_every_processor() {
    let mut rng = ChaCha8Rng::seed_from_u64(63);
    let (mut out_of_range, mut tiny) = (0, 0);
    for _ in 0..200_000 {
        let all = [rng.random_range(-1000..1020), rng.random_range(-1000..1020)];
        let (x, y) = (number(&mut rng, all[0]), number(&mut rng, all[1]));
        let [split, fused] = x.products(y);
        assert_eq!(split.is_finite(), fused.is_finite(), "{x:?} * {y:?}");
        let sum = x + y;
        assert!(!sum.is_finite() || is_normalized(sum));
        let large = all.iter().any(|&e| e > 990);
        if large || all[0] + all[1] > 1024 {
            assert!(!split.is_finite(), "{x:?} * {y:?}");
            out_of_range += 1;
            continue;
        }
        if !split.is_finite() {
            assert!(all.contains(&990) || all[0] + all[1] > 1018, "{x:?} * {y:?}");
            continue;
        }
        assert_eq!(split.parts().map(f64::to_bits), fused.parts().map(f64::to_bits), "{x:?} * {y:?}");
        if i64::from(all[0] + all[1]) < DoubleDouble::UNDERFLOW - 2 {
            assert!(split.magnitude().at_most_pow2(DoubleDouble::UNDERFLOW));
            tiny += 1;
            continue;
        }
        let [a, b, found] = [x, y, split].map(|x| {
            let [high, low] = x.parts().map(rational::exact);
            high + low
        });
        if all[0] + all[1] < -600 {
            // Exact arithmetic of far exponents takes its time: only where it matters.
            let (product, unit) = (&a * &b, rational::exact(2f64.powi(-102)));
            let (off, allowed) = (found - &product, product * unit);
            let least = rational::exact(2f64.powi(-1000)) * rational::exact(2f64.powi(-20));
            let size = |x: dashu_ratio::RBig| if x < dashu_ratio::RBig::ZERO { -x } else { x };
            let bound =
                if i64::from(all[0] + all[1]) < DoubleDouble::UNDERFLOW { least } else { size(allowed) };
            assert_ne!(size(off).cmp(&bound), Ordering::Greater, "{x:?} * {y:?}");
        }
    }
    assert!(out_of_range > 10_000 && tiny > 10_000, "{out_of_range} {tiny}");
}

#[test]
fn what_leaves_the_range_is_no_number_and_stays_it() {
    let (one, huge) = (DoubleDouble::one(), DoubleDouble::exact(f64::MAX));
    let [infinite, divided, tiny] =
        [huge + huge, one / DoubleDouble::exact(0.0), DoubleDouble::pow2(-910) / DoubleDouble::pow2(-500)];
    for gone in [infinite, divided, tiny, huge * one, huge * huge] {
        assert!(!gone.is_finite() && gone.magnitude().is_unbounded(), "{gone:?}");
        for more in [gone + one, gone - gone, gone * one, one / gone, gone * DoubleDouble::exact(0.0)] {
            assert!(!more.is_finite(), "{gone:?}: {more:?}");
        }
    }
}

#[test]
fn a_shift_that_loses_something_says_so() {
    let mut rng = ChaCha8Rng::seed_from_u64(64);
    let mut lossy = 0;
    for _ in 0..100_000 {
        let exponent = rng.random_range(-900..900);
        let x = number(&mut rng, exponent);
        let n = rng.random_range(-1500..100);
        let back = x.times_pow2(n).times_pow2(-n);
        if x.shifts_exactly(n) && n < 0 {
            assert_eq!(back, x, "{n}");
        } else {
            lossy += usize::from(back != x);
        }
    }
    let far = DoubleDouble::from_sum(1.0, 2f64.powi(-1000));
    assert!(lossy > 1000 && far.shifts_exactly(-50) && !far.shifts_exactly(-100));
}

fn widened(x: DoubleDouble) -> Wide {
    let [high, low] = x.parts().map(Wide::exact);
    high + low
}

/// By the same functions in 237 bits. What the series alone may lose, doubled, is part of every bound.
#[test]
fn functions_of_two_doubles_hold_those_of_237_bits() {
    let mut rng = ChaCha8Rng::seed_from_u64(65);
    let holds = |found: Ball<DoubleDouble>, exact: Wide, what: &str, z: f64| {
        let off = (widened(found.mid) - exact).magnitude();
        assert_eq!(off.max(found.radius), found.radius, "{what} at {z:e}: {off:?} of {found:?}");
        assert!(!found.radius.is_unbounded());
    };
    let series = Mag::count(14).shifted(-i64::from(DoubleDouble::BITS));
    for _ in 0..4000 {
        let exponent = rng.random_range(-40..5);
        let significand = significand(&mut rng) * 2f64.powi(exponent);
        let z = signed(&mut rng, significand);
        let (narrow, wide) = (Ball::exact(DoubleDouble::exact(z)), Ball::exact(Wide::exact(z)));
        let exp = exp_by_doubling(&narrow);
        holds(exp, exp_by_halving(Wide::exact(z)), "exp", z);
        assert!(z.abs() > 0.5 || exp.radius.max(series) == exp.radius, "{z:e}: {exp:?}");
        holds(softplus_by_artanh(&narrow), softplus_by_halley(Wide::exact(z)), "softplus", z);
        for (k, (found, exact)) in
            phi_by_doubling(&narrow).into_iter().zip(phi_by_doubling(&wide)).enumerate()
        {
            holds(found, exact.mid, &format!("phi {k}"), z);
        }
        let turned = rng.random_range(-8.0..8.0);
        let found =
            phi_by_doubling(&Ball::exact(Complex::new(DoubleDouble::exact(z), DoubleDouble::exact(turned))));
        let exact = phi_by_doubling(&Ball::exact(Complex::new(Wide::exact(z), Wide::exact(turned))));
        for (k, (found, exact)) in found.into_iter().zip(exact).enumerate() {
            for part in 0..2 {
                let exact = [exact.mid.re, exact.mid.im][part];
                holds(found.part(part), exact, &format!("part {part} of phi {k}"), z);
            }
        }
    }
}

//! Roundings and their justification: the two scalars against exact rationals, and [`settle`] on the edges.

use dashu_ratio::RBig;
use holdfast::truth::certify::{self, Doubt, REQUIRED_BITS, REQUIRED_OF_TWO_DOUBLES, Settled};
use holdfast::truth::dense::lu::{Lu, Pivoting};
use holdfast::truth::dense::matrix;
use holdfast::truth::exact::rational;
use holdfast::truth::number::ball::Ball;
use holdfast::truth::number::big::Big;
use holdfast::truth::number::double_double::DoubleDouble;
use holdfast::truth::number::fast;
use holdfast::truth::number::mag::Mag;
use holdfast::truth::number::scalar::{Entry, Real};
use holdfast::truth::number::wide::Wide;
use nalgebra::{Complex, DMatrix};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rstest::rstest;

/// A number of 237 bits of any sign, with this exponent's field and few or many ones.
fn bits(rng: &mut ChaCha8Rng, exponent: i64) -> fast::Bits {
    const ONES: u128 = (1 << fast::FRACTION_HIGH_BITS) - 1;
    let (high, low) = match rng.random_range(0..6) {
        0 => (0, 0),
        1 => (0, 1 << rng.random_range(0..128)),
        2 => (ONES, u128::MAX),
        3 => (ONES, !(1 << rng.random_range(0..128))),
        // At the edge of what one limb holds.
        4 => (rng.random::<u128>() & ONES & !((1 << rng.random_range(43..47)) - 1), 0),
        _ => (rng.random::<u128>() & ONES, rng.random()),
    };
    let sign = u128::from(rng.random::<bool>()) << 127;
    (sign | (exponent as u128) << fast::FRACTION_HIGH_BITS | high, low)
}

#[test]
fn fast_sums_and_products_have_the_bits_of_f256() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let (mut sums, mut products, all) = (0, 0, 100_000);
    for i in 0..all {
        // Now and then any exponent at all, those of zero and of infinity among them.
        let exponent = if i % 20 == 0 { rng.random_range(0..=0x7_ffff) } else { fast::EXPONENT_BIAS };
        let apart = [0, 1, 2, 18, 19, 127, 128, 129, 236, 237, 238, 239, 255, 256, rng.random_range(0..300)];
        let apart = apart[rng.random_range(0..apart.len())];
        let (x, mut y) = (bits(&mut rng, exponent), bits(&mut rng, (exponent - apart).max(0)));
        if i % 10 == 0 {
            // The opposite, but for a few of the last bits.
            y = (x.0 ^ 1 << 127, x.1 ^ 1 << rng.random_range(0..4));
        }
        let (by_f256, of) = ([x, y].map(f256::f256::from_bits), |z: f256::f256| z.to_bits());
        if by_f256.iter().any(|number| number.is_nan()) {
            continue;
        }
        let [u, v] = by_f256;
        for (a, b) in [(x, y), (y, x)] {
            if let Some(sum) = fast::sum(a, b) {
                assert_eq!(sum, of(u + v), "{a:x?} + {b:x?}");
                sums += 1;
            }
            if let Some(product) = fast::product(a, b) {
                assert_eq!(product, of(u * v), "{a:x?} * {b:x?}");
                products += 1;
            }
        }
    }
    assert!(sums > all && products > all, "{sums} {products}");
}

/// The rule, where the error of the second number is taken to be zero.
fn settle<R: Real>(x: &R, y: &R) -> Result<Settled, Doubt> {
    certify::settle(x, &Ball::exact(y.clone()))
}

/// Sums a + b whose exact value is hard to round: ties, near ties, powers of two, subnormals, the top.
fn hard_sums() -> Vec<(f64, f64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let tiny = f64::from_bits(1);
    let mut sums = vec![
        (f64::MAX, 2f64.powi(969)),
        (f64::MAX, 2f64.powi(970)),
        (f64::MAX, 2f64.powi(970) - 2f64.powi(920)),
        (-f64::MAX, -2f64.powi(971)),
        (1.0, -2f64.powi(-54)),
        (1.0, -2f64.powi(-55)),
        (f64::MIN_POSITIVE, -tiny),
        (0.0, tiny),
    ];
    for _ in 0..4000 {
        let a = f64::from_bits(rng.random::<u64>() & !(1 << 63)).min(f64::MAX / 4.0);
        // Half of a's last place, exactly and with the smallest disturbance.
        let half = (a.next_up() - a) / 2.0;
        sums.extend([(a, half), (a, -half), (a, half * 0.5), (-a, half), (a, half * rng.random::<f64>())]);
    }
    sums.retain(|(a, b)| a.is_finite() && b.is_finite());
    sums
}

/// The rational's own rounding, and of what overflows, infinity.
fn want(exact: &RBig) -> u64 {
    rational::round(exact).to_bits()
}

fn rounds_like_rationals<R: Real>() {
    let below = RBig::from_parts(1.into(), dashu_int::UBig::ONE << 1075);
    for (a, b) in hard_sums() {
        let sum = rational::exact(a) + rational::exact(b);
        // Sums of more bits than R holds are not exact in it.
        let spread = a.abs().max(b.abs()).log2() - a.abs().min(b.abs()).log2();
        if b != 0.0 && spread > f64::from(R::BITS) - 110.0 {
            continue;
        }
        let got = R::exact(a) + R::exact(b);
        assert_eq!(got.to_nearest_f64().to_bits(), want(&sum), "{a:e} + {b:e}");
        // Down to and below the subnormals, by powers of two.
        for shift in [-1000, -1050, -1074] {
            let scaled = &sum * RBig::from_parts(1.into(), dashu_int::UBig::ONE << -shift as usize);
            if scaled.is_zero() || (scaled < below && scaled > -&below) {
                continue;
            }
            assert_eq!(
                got.times_pow2(shift as i64).to_nearest_f64().to_bits(),
                want(&scaled),
                "{a:e} + {b:e}"
            );
        }
    }
}

#[test]
fn wide_rounds_to_nearest_even_like_exact_rationals() {
    rounds_like_rationals::<Wide>();
}

#[test]
fn big_rounds_to_nearest_even_like_exact_rationals() {
    rounds_like_rationals::<Big<512>>();
}

#[test]
fn specials_keep_their_kind_and_sign() {
    assert!(Wide::exact(f64::NAN).to_nearest_f64().is_nan());
    assert_eq!(Wide::exact(f64::NEG_INFINITY).to_nearest_f64(), f64::NEG_INFINITY);
    assert_eq!(Wide::exact(-0.0).to_nearest_f64().to_bits(), (-0.0f64).to_bits());
    let least = Wide::exact(f64::from_bits(1));
    assert_eq!(least.to_nearest_f64().to_bits(), 1);
    assert_eq!(least.times_pow2(-1).to_nearest_f64(), 0.0, "a tie goes to the even zero");
    assert_eq!((-least.times_pow2(-2)).to_nearest_f64().to_bits(), (-0.0f64).to_bits());
    let above = least.times_pow2(-1) + least.times_pow2(-200);
    assert_eq!(above.to_nearest_f64().to_bits(), 1);
    assert!(Big::<512>::exact(f64::INFINITY).to_nearest_f64().is_nan());
    assert!((Big::<512>::exact(1.0) / Big::<512>::exact(0.0)).to_nearest_f64().is_nan());
}

#[rstest]
#[case::agreeing(REQUIRED_BITS + 1, Ok(()))]
#[case::too_far_apart(REQUIRED_BITS - 2, Err(Doubt::Disagreement))]
fn routes_must_agree_to_the_required_bits(#[case] bits: i64, #[case] verdict: Result<(), Doubt>) {
    let third = Wide::exact(1.0) / Wide::exact(3.0);
    // The last place of 1/3 is 2^−54.
    let other = third + Wide::pow2(-54 - bits);
    assert_eq!(settle(&third, &other).map(|s| assert_eq!(s.value, 1.0 / 3.0)), verdict);
}

/// A boundary that lies below both routes' results is within reach of the lower one, whichever route that is.
#[test]
fn a_boundary_below_both_routes_is_in_doubt() {
    let tie = DoubleDouble::exact(1.0) + DoubleDouble::pow2(-53);
    let low = tie + DoubleDouble::pow2(-86);
    let high = low + DoubleDouble::pow2(-77);
    for (x, y) in [(high, low), (low, high)] {
        let enclosed = Ball { mid: y, radius: Mag::pow2(-84) };
        assert_eq!(certify::settle(&x, &enclosed), Err(Doubt::Boundary));
    }
}

#[test]
fn a_boundary_is_never_crossed_in_doubt() {
    let tie = Wide::exact(1.0) + Wide::pow2(-53);
    assert_eq!(settle(&tie, &tie), Err(Doubt::Boundary));
    let near = tie + Wide::pow2(-52 - REQUIRED_BITS - 1);
    assert_eq!(settle(&near, &near), Err(Doubt::Boundary));
    let clear = tie + Wide::pow2(-52 - REQUIRED_BITS + 1);
    assert_eq!(settle(&clear, &clear).expect("clear").value, 1.0f64.next_up());
    // A wider scalar resolves what the narrow one cannot.
    let tie = Big::<512>::exact(1.0) + Big::pow2(-53);
    let near = tie.clone() - Big::pow2(-300);
    assert_eq!(settle(&tie, &tie), Err(Doubt::Boundary));
    assert_eq!(settle(&near, &near).expect("clear").value, 1.0);
}

#[test]
fn zeros_and_vanishing_numbers_need_a_reason() {
    let zero = Wide::exact(0.0);
    assert_eq!(settle(&zero, &zero), Err(Doubt::Zero));
    assert_eq!(settle(&zero, &Wide::pow2(-3000)), Err(Doubt::Disagreement));
    let small = Wide::pow2(-3000);
    assert_eq!(settle(&-small, &-small).expect("a sign").value.to_bits(), (-0.0f64).to_bits());
    assert_eq!(settle(&small, &-small), Err(Doubt::Disagreement), "noise has no sign");
    let infinite = Wide::exact(f64::INFINITY);
    assert_eq!(settle(&infinite, &infinite), Err(Doubt::NotFinite));
    // Half the smallest subnormal and three halves of it lie between two numbers; what is beside or below them does not.
    let halves = |count: f64| Wide::exact(count) * Wide::pow2(-1075);
    for (count, value) in [
        (0.5, Some(0.0)),
        (1.0, None),
        (1.5, Some(5e-324)),
        (2.0, Some(5e-324)),
        (3.0, None),
        (3.5, Some(1e-323)),
    ] {
        let settled = settle(&halves(count), &halves(count));
        assert_eq!(settled.map(|s| s.value), value.ok_or(Doubt::Boundary), "{count} × 2^-1075");
    }
}

#[rstest]
#[case(Pivoting::Partial)]
#[case(Pivoting::Complete)]
fn systems_are_solved_over_both_scalars(#[case] pivoting: Pivoting) {
    fn residual<R: Real>(pivoting: Pivoting) -> R {
        let n = 6;
        let hilbert = DMatrix::from_fn(n, n, |i, j| {
            Complex::new(R::one() / R::exact((i + j + 1) as f64), R::exact(f64::from(u8::from(i == j))))
        });
        // The largest entries are not on the diagonal.
        let reversed = DMatrix::from_fn(n, n, |i, j| hilbert[(n - 1 - i, j)].clone());
        let factored = Lu::new(reversed.clone(), pivoting);
        let inverse = factored.inverse().expect("regular");
        let right = DMatrix::from_element(n, 1, Complex::new(R::one(), R::zero()));
        let solved = factored.solve(&right).expect("regular");
        let off = [matrix::product(&reversed, &solved) - &right, matrix::product(&inverse, &right) - solved];
        off.iter().flatten().fold(R::zero(), |sum, x| sum + x.norm1())
    }
    // A few bits of 237 or 512 go to the condition of a well-conditioned matrix.
    assert!(residual::<Wide>(pivoting) < Wide::pow2(-53 - REQUIRED_BITS));
    assert!(residual::<Big<512>>(pivoting) < Big::pow2(-53 - REQUIRED_BITS - 237));
    let singular = DMatrix::from_element(2, 2, Wide::exact(1.0));
    assert!(Lu::new(singular, pivoting).inverse().is_none());
}

#[test]
fn agreement_proves_nothing_beyond_the_error_bound() {
    let third = Wide::exact(1.0) / Wide::exact(3.0);
    let place = -2 - 52;
    let within = |bits: i64| Ball { mid: third, radius: Mag::pow2(place - bits) };
    assert!(certify::settle(&third, &within(REQUIRED_BITS + 1)).is_ok());
    assert_eq!(certify::settle(&third, &within(REQUIRED_BITS)), Err(Doubt::Floor));
    assert_eq!(certify::settle(&third, &Ball { mid: third, radius: Mag::UNBOUNDED }), Err(Doubt::Floor));
}

/// In two doubles a boundary may be as near as the error bound is small, and the routes have fewer bits to agree in.
#[test]
fn two_doubles_round_where_their_error_bound_is_below_the_distance_to_a_boundary() {
    type D = DoubleDouble;
    let tie = D::exact(1.0) + D::pow2(-53);
    let ball = |mid: D, exponent: i64| Ball { mid, radius: Mag::pow2(exponent) };
    assert_eq!(certify::settle(&tie, &ball(tie, -97)), Err(Doubt::Boundary));
    for (side, want) in [(D::pow2(-80), 1.0f64.next_up()), (-D::pow2(-80), 1.0)] {
        let near = tie + side;
        assert_eq!(certify::settle(&near, &ball(near, -84)).expect("clear").value, want);
        for unclear in [-80, -79, -70, -60] {
            assert_eq!(certify::settle(&near, &ball(near, unclear)), Err(Doubt::Boundary), "{unclear}");
        }
        for unknown in [-52, 0, 2000] {
            assert_eq!(certify::settle(&near, &ball(near, unknown)), Err(Doubt::Floor), "{unknown}");
        }
        assert_eq!(certify::settle(&near, &Ball { mid: near, radius: Mag::UNBOUNDED }), Err(Doubt::Floor));
    }
    // The last place of 1/3 is 2^−54.
    let third = D::exact(1.0) / D::exact(3.0);
    let other = |bits: i64| third + D::pow2(-54 - bits);
    for (bits, agree) in [(REQUIRED_OF_TWO_DOUBLES + 1, true), (REQUIRED_OF_TWO_DOUBLES - 2, false)] {
        for (x, y) in [(third, other(bits)), (other(bits), third)] {
            let settled = certify::settle(&x, &ball(y, -95));
            assert_eq!(
                settled.map(|settled| settled.value),
                if agree { Ok(1.0 / 3.0) } else { Err(Doubt::Disagreement) }
            );
        }
    }
    // Where the margin itself would underflow nothing is known.
    let least = D::exact(2f64.powi(-1040));
    assert_eq!(certify::settle(&least, &Ball::exact(least)), Err(Doubt::Boundary));
    let gone = D::exact(f64::MAX) + D::exact(f64::MAX);
    assert_eq!(certify::settle(&gone, &ball(gone, 0)), Err(Doubt::NotFinite));
}

#[test]
fn the_inverse_of_a_rational_number_is_its_own() {
    for parts in [[3.0, 5.0], [-0.5, 0.25], [7.0, 0.0], [0.0, -2.0]] {
        let number = rational::Gaussian::from_parts(&parts);
        let one = &number * &number.inverse().expect("not zero");
        assert_eq!((one.re, one.im), (RBig::ONE, RBig::ZERO), "{parts:?}");
    }
    assert!(rational::Gaussian::from_parts(&[0.0, 0.0]).inverse().is_none());
}

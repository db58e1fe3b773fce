//! Promise: a [`Mag`] is never below what it bounds, and a [`Ball`] holds every result of the numbers in it, by exact
//! arithmetic.
//!
//! Everything here is an integer times a power of two, and stays one: rationals without the common divisors that would
//! take most of the time. Quotients and roots are compared after multiplying out.

use std::any::Any;
use std::ops::{Add, Mul, Sub};

use dashu_int::IBig;
use dashu_int::ops::BitTest;
use holdfast::truth::exact::rational;
use holdfast::truth::number::ball::{Ball, Enclosure, rounding};
use holdfast::truth::number::big::Big;
use holdfast::truth::number::double_double::DoubleDouble;
use holdfast::truth::number::mag::Mag;
use holdfast::truth::number::scalar::{Entry, Real};
use holdfast::truth::number::wide::Wide;
use nalgebra::Complex;
use num_traits::{One, Zero};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// m·2^e
#[derive(Clone, Debug)]
struct Exact {
    m: IBig,
    e: i64,
}

impl Exact {
    fn int(m: i64) -> Exact {
        Exact { m: IBig::from(m), e: 0 }
    }

    fn pow2(e: i64) -> Exact {
        Exact { m: IBig::ONE, e }
    }

    fn of_f64(x: f64) -> Exact {
        let (m, e) = rational::decomposed(x);
        Exact { m: if x < 0.0 { -IBig::from(m) } else { IBig::from(m) }, e }
    }

    fn of_mag(x: Mag) -> Exact {
        let Some(e) = x.exponent() else { return Exact::int(0) };
        let significand = Exact::of_f64(x.shifted(-e).to_f64().expect("from 1 to 2"));
        Exact { e: significand.e + e, ..significand }
    }

    /// The leading f64, then that of what it leaves, and so on: each difference is exact.
    fn of<R: Real>(x: &R) -> Exact {
        if let Some(x) = (x as &dyn Any).downcast_ref::<DoubleDouble>() {
            let [high, low] = x.parts().map(Exact::of_f64);
            return &high + &low;
        }
        let Some(e) = x.exponent() else { return Exact::int(0) };
        let (mut rest, mut sum, last) = (x.times_pow2(-e), IBig::ZERO, i64::from(R::BITS) + 64);
        while !rest.is_zero() {
            let leading = rest.to_nearest_f64();
            let piece = Exact::of_f64(leading);
            sum += piece.m << usize::try_from(piece.e + last).expect("above the last place");
            rest -= R::exact(leading);
        }
        Exact { m: sum, e: e - last }
    }

    /// Whether a number that is not negative is at most another one.
    fn at_most(&self, other: &Exact) -> bool {
        if self.m.is_zero() || other.m.is_zero() {
            return self.m.is_zero();
        }
        let top = |x: &Exact| x.m.bit_len() as i64 + x.e;
        if top(self) != top(other) { top(self) < top(other) } else { (other - self).m >= IBig::ZERO }
    }

    fn at(&self, e: i64) -> IBig {
        &self.m << (self.e - e) as usize
    }
}

impl Add for &Exact {
    type Output = Exact;
    fn add(self, other: &Exact) -> Exact {
        if self.m.is_zero() || other.m.is_zero() {
            return if self.m.is_zero() { other.clone() } else { self.clone() };
        }
        let e = self.e.min(other.e);
        Exact { m: self.at(e) + other.at(e), e }
    }
}

impl Sub for &Exact {
    type Output = Exact;
    fn sub(self, other: &Exact) -> Exact {
        self + &Exact { m: -&other.m, e: other.e }
    }
}

impl Mul for &Exact {
    type Output = Exact;
    fn mul(self, other: &Exact) -> Exact {
        Exact { m: &self.m * &other.m, e: self.e + other.e }
    }
}

/// A complex number; a real one's second part is zero.
#[derive(Clone, Debug)]
struct Point([Exact; 2]);

impl Point {
    fn of<T: Entry>(x: &T) -> Point {
        Point(std::array::from_fn(|i| if i < T::WIDTH { Exact::of(&x.part(i)) } else { Exact::int(0) }))
    }

    fn plus(&self, other: &Point) -> Point {
        Point([&self.0[0] + &other.0[0], &self.0[1] + &other.0[1]])
    }

    fn minus(&self, other: &Point) -> Point {
        Point([&self.0[0] - &other.0[0], &self.0[1] - &other.0[1]])
    }

    fn times(&self, other: &Point) -> Point {
        let ([a, b], [c, d]) = (&self.0, &other.0);
        Point([&(a * c) - &(b * d), &(a * d) + &(b * c)])
    }

    /// |x|²
    fn square(&self) -> Exact {
        &(&self.0[0] * &self.0[0]) + &(&self.0[1] * &self.0[1])
    }
}

/// A number of this exponent with few bits, those of an f64 or all.
fn real<R: Real>(rng: &mut ChaCha8Rng, exponent: i64) -> R {
    let mut x = R::exact(rng.random_range(1.0..2.0));
    match rng.random_range(0..8) {
        0 => x = R::exact(1.0 + f64::from(rng.random_range(0..16)) / 16.0),
        1 | 2 => {}
        _ => {
            for k in 1..=i64::from(R::BITS) / 53 {
                x += R::exact(rng.random_range(-1.0..1.0)).times_pow2(-53 * k);
            }
        }
    }
    if rng.random() { x } else { -x }.times_pow2(exponent)
}

/// Of parts that are alike in size, or not at all, or zero.
fn number<T: Entry>(rng: &mut ChaCha8Rng, exponent: i64) -> T {
    let re = real::<T::Part>(rng, exponent);
    let im = match rng.random_range(0..4) {
        0 => T::Part::zero(),
        1 => {
            let below = rng.random_range(0..200);
            real(rng, exponent - below)
        }
        _ => real(rng, exponent),
    };
    if rng.random() { T::entry_from_parts(re, im) } else { T::from_real(re) }
}

/// Nothing, far below, below, beside and far above a number of this exponent.
fn radius(rng: &mut ChaCha8Rng, exponent: i64) -> Mag {
    let relative = match rng.random_range(0..5) {
        0 => return Mag::ZERO,
        1 => rng.random_range(-300..-180),
        2 => rng.random_range(-60..-2),
        3 => rng.random_range(-3..3),
        _ => rng.random_range(3..60),
    };
    Mag::new(rng.random_range(1.0..2.0), exponent + relative)
}

/// Two balls: anything, sums that nearly cancel, both ends of the range, zeros.
fn operands<T: Entry>(rng: &mut ChaCha8Rng) -> [Ball<T>; 2] {
    // Exact arithmetic over the whole range of exponents takes a thousand times as long.
    let narrow = T::Part::BITS == DoubleDouble::BITS;
    let exponent = match rng.random_range(0..400) {
        0 if narrow => -949,
        1 if narrow => -475 + rng.random_range(-90..90),
        2 if narrow => 400,
        0 => -262_000,
        1 => -131_000 + rng.random_range(-300..300),
        2 => 130_000,
        _ => rng.random_range(-60..60),
    };
    let near = |rng: &mut ChaCha8Rng| exponent + rng.random_range(-60..60);
    let x: T = number(rng, exponent);
    let y = match rng.random_range(0..8) {
        0 => -x.clone(),
        1 | 2 => {
            let e = exponent - rng.random_range(1..i64::from(T::Part::BITS) + 4);
            number::<T>(rng, e) - x.clone()
        }
        3 => {
            let e = exponent - rng.random_range(0..500);
            number(rng, e)
        }
        _ => {
            let e = near(rng);
            number(rng, e)
        }
    };
    [x, y].map(|mid| match rng.random_range(0..30) {
        0 => Ball::zero(),
        1 => Ball { mid: T::zero(), radius: Mag::new(1.5, near(rng)) },
        _ => {
            let e = if rng.random() { exponent } else { near(rng) };
            Ball { mid, radius: radius(rng, e) }
        }
    })
}

/// A number in the ball, on its edge more often than not.
fn inside<T: Entry>(rng: &mut ChaCha8Rng, ball: &Ball<T>) -> Point {
    let mid = Point::of(&ball.mid);
    let angle: f64 = rng.random_range(0.0..std::f64::consts::TAU);
    let direction = match rng.random_range(0..6) {
        0 => return mid,
        1 | 2 if T::WIDTH == 2 => {
            // Rounded, and still not beyond the edge.
            let within = 1.0 - 2f64.powi(-50);
            [angle.cos() * within, angle.sin() * within]
        }
        3 if T::WIDTH == 2 => [0.0, 1.0],
        4 => [angle.cos(), 0.0],
        5 => [-1.0, 0.0],
        _ => [1.0, 0.0],
    };
    let radius = Exact::of_mag(ball.radius);
    mid.plus(&Point(direction.map(|part| &radius * &Exact::of_f64(part))))
}

/// That the ball is a bound at all.
fn bounds<T: Entry>(ball: &Ball<T>) -> bool {
    !ball.radius.is_unbounded() && (0..T::WIDTH).all(|i| ball.mid.part(i).is_finite())
}

/// That |x| is at most the radius times |by|.
fn within(x: &Point, radius: Mag, by: &Point) -> bool {
    let radius = Exact::of_mag(radius);
    x.square().at_most(&(&(&radius * &radius) * &by.square()))
}

/// Six operations on each of so many pairs of balls.
fn holds_every_result<T: Entry>(seed: u64, pairs: usize) {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let one = Point([Exact::int(1), Exact::int(0)]);
    let mut unbounded = 0;
    for _ in 0..pairs {
        let [x, y] = operands::<T>(rng);
        let [real, _] = operands::<T::Part>(rng);
        let shift = if rng.random_range(0..200) == 0 { -262_100 } else { rng.random_range(-300..300) };
        let part = rng.random_range(0..T::WIDTH);
        let (a, b, c) = (inside(rng, &x), inside(rng, &y), inside(rng, &real));
        let power = Exact::pow2(shift);
        let shifted = Point([&a.0[0] * &power, &a.0[1] * &power]);
        for (name, ball, exact) in [
            ("plus", x.plus(&y), a.plus(&b)),
            ("minus", x.minus(&y), a.minus(&b)),
            ("times", x.times(&y), a.times(&b)),
            ("scale", x.scale(&real), a.times(&c)),
            ("shifted", x.shifted(shift), shifted),
        ] {
            let off = exact.minus(&Point::of(&ball.mid));
            assert!(bounds(&ball), "{name} of {x:?}, {y:?}, {real:?}");
            assert!(within(&off, ball.radius, &one), "{name} of {x:?}, {y:?}, {real:?}, {shift}: {ball:?}");
        }
        let off = &a.0[part] - &Exact::of(&x.part(part).mid);
        assert!(within(&Point([off, Exact::int(0)]), x.part(part).radius, &one), "part of {x:?}");
        let quotient = x.over(&y);
        if !bounds(&quotient) {
            unbounded += 1;
            continue;
        }
        let divisor = Point::of(&y.mid).square();
        let reach = Exact::of_mag(y.radius);
        let zero = divisor.at_most(&(&reach * &reach));
        assert!(x.is_exact_zero() || !zero, "{x:?} over {y:?}, which may be zero: {quotient:?}");
        let off = a.minus(&Point::of(&quotient.mid).times(&b));
        assert!(within(&off, quotient.radius, &b), "{x:?} over {y:?}: {quotient:?}");
    }
    assert!(unbounded < pairs * 2 / 3, "{unbounded} quotients of {pairs} have no bound");
}

#[test]
fn a_ball_holds_every_result_of_the_numbers_in_it() {
    std::thread::scope(|scope| {
        scope.spawn(|| holds_every_result::<DoubleDouble>(50, 60_000));
        scope.spawn(|| holds_every_result::<Complex<DoubleDouble>>(51, 25_000));
        scope.spawn(|| holds_every_result::<Wide>(41, 60_000));
        scope.spawn(|| holds_every_result::<Complex<Wide>>(42, 25_000));
        scope.spawn(|| holds_every_result::<Big<512>>(43, 3_000));
        scope.spawn(|| holds_every_result::<Complex<Big<512>>>(44, 2_000));
    });
}

/// Of any exponent, seldom an enormous one; or zero.
fn mag(rng: &mut ChaCha8Rng) -> Mag {
    let exponent = match rng.random_range(0..500) {
        0 => return Mag::ZERO,
        1 => rng.random_range(-20_000..20_000),
        2..100 => rng.random_range(-1..1),
        _ => rng.random_range(-120..120),
    };
    match rng.random_range(0..8) {
        0 => Mag::pow2(exponent),
        1 => Mag::new(2f64.next_down(), exponent),
        _ => Mag::new(rng.random_range(1.0..2.0), exponent),
    }
}

#[test]
fn a_mag_is_never_below_what_it_bounds_and_hardly_above() {
    let rng = &mut ChaCha8Rng::seed_from_u64(45);
    let one = Exact::int(1);
    // What a few roundings upwards may add.
    let tight = |x: &Exact| x + &(x * &Exact::pow2(-47));
    for _ in 0..70_000 {
        let (x, y) = (mag(rng), mag(rng));
        let (a, b) = (Exact::of_mag(x), Exact::of_mag(y));
        let (sum, product, longest) = (x + y, x * y, x.hypot(y));
        for (name, bound, exact) in [
            ("sum", Exact::of_mag(sum), &a + &b),
            ("product", Exact::of_mag(product), &a * &b),
            ("square of hypot", &Exact::of_mag(longest) * &Exact::of_mag(longest), &(&a * &a) + &(&b * &b)),
            ("larger", Exact::of_mag(x.max(y)), if a.at_most(&b) { b.clone() } else { a.clone() }),
        ] {
            let holds = exact.at_most(&bound) && bound.at_most(&tight(&tight(&exact)));
            assert!(holds, "{name} of {x:?} and {y:?}");
        }
        // Exact: numbers and powers of two.
        let (m, e) = (
            rng.random_range(0.0..1.0) * 2f64.powi(rng.random_range(-1070..1000)),
            rng.random_range(-90..90),
        );
        let exact = &Exact::of_f64(m) * &Exact::pow2(e);
        let made = Exact::of_mag(Mag::new(m, e));
        assert!(exact.at_most(&made) && made.at_most(&exact), "{m:e}, {e}");
        let (moved, exact) = (Exact::of_mag(x.shifted(e)), &a * &Exact::pow2(e));
        assert!(exact.at_most(&moved) && moved.at_most(&exact), "{x:?} shifted by {e}");
        let n = x.exponent().unwrap_or(0) + rng.random_range(-1..3);
        assert_eq!(x.at_most_pow2(n), a.at_most(&Exact::pow2(n)), "{x:?} and 2^{n}");
        let f64_above = x.to_f64().is_none_or(|above| a.at_most(&Exact::of_f64(above)));
        assert!(f64_above, "{x:?} as an f64");
        let most = usize::MAX >> rng.random_range(0..64);
        let count = rng.random_range(0..=most);
        let exact = Exact { m: IBig::from(count), e: 0 };
        let counted = Exact::of_mag(Mag::count(count));
        assert!(exact.at_most(&counted) && counted.at_most(&tight(&exact)), "{count}");
        // 1/(1 − x), and 1/(|y| − r) for any |y| that the bound y is tight to.
        if let Some(star) = x.star() {
            let whole = &Exact::of_mag(star) * &(&one - &a);
            assert!(one.at_most(&whole) && whole.at_most(&tight(&tight(&one))), "{x:?}: {star:?}");
        }
        let r = radius(rng, y.exponent().unwrap_or(0));
        if let Some(inverse) = y.inverse_beyond(r) {
            let least = &(&b - &(&b * &Exact::pow2(-40))) - &Exact::of_mag(r);
            assert!(one.at_most(&(&Exact::of_mag(inverse) * &least)), "{y:?} with {r:?}: {inverse:?}");
        }
    }
    assert!(
        mag(rng).inverse_beyond(Mag::UNBOUNDED).is_none() && Mag::ZERO.inverse_beyond(Mag::ZERO).is_none()
    );
}

/// What is rounded off a result of this size, to nearest: half of its last place.
#[test]
fn a_rounding_costs_its_units_or_everything_below_the_range() {
    let rng = &mut ChaCha8Rng::seed_from_u64(46);
    for _ in 0..10_000 {
        let size = mag(rng);
        let want = &Exact::of_mag(size) * &Exact::pow2(3 - i64::from(Wide::BITS));
        assert!(want.at_most(&Exact::of_mag(rounding::<Wide>(size, 3))), "{size:?}");
    }
    let vanishing = Mag::pow2(Wide::UNDERFLOW - 1);
    assert_eq!(rounding::<Wide>(vanishing, 0), Mag::pow2(Wide::UNDERFLOW));
    let tiny = Ball::exact(Wide::pow2(Wide::UNDERFLOW / 2 - 300));
    let vanished = tiny.times(&tiny);
    // What is left of a complex numerator may have lost everything, though numerator and divisor are in range.
    let [above, below] = [-700, -400].map(|e| Ball::exact(Complex::from_real(DoubleDouble::pow2(e))));
    let small = Ball::exact(Complex::from_real(DoubleDouble::pow2(-473)));
    assert!(small.over(&small).radius.is_unbounded());
    assert!(above.over(&below).radius.is_unbounded() && !above.over(&Ball::one()).radius.is_unbounded());
    assert!(!vanished.radius.is_zero() && Ball::exact(Wide::one()).over(&tiny).radius.is_unbounded());
}

/// Sizes are upper bounds, tight to 2⁻⁴⁰, as what divides by them relies on.
#[test]
fn the_size_of_a_number_is_above_it_and_near() {
    fn check<T: Entry>(seed: u64) {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..20_000 {
            let exponent = rng.random_range(-80..80);
            let x: T = number(rng, exponent);
            let (square, size) = (Point::of(&x).square(), Exact::of_mag(x.size()));
            let near = &square + &(&square * &Exact::pow2(-40));
            assert!(square.at_most(&(&size * &size)) && (&size * &size).at_most(&near), "{x:?}");
        }
    }
    check::<DoubleDouble>(52);
    check::<Complex<DoubleDouble>>(53);
    check::<Wide>(47);
    check::<Complex<Wide>>(48);
    check::<Big<512>>(49);
}

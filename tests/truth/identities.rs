//! The truth of dense steps on its own: identities that hold whatever computes them.
//!
//! Two computations of one value are compared by the truth's own rule, [`settle`]: 100 bits beyond the last
//! place of every entry's f64, so no tolerance is typed here.

use dashu_ratio::RBig;
use holdfast::formula::{Fraction, Function, Term};
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, Weights};
use holdfast::truth::certify::{REQUIRED_BITS, REQUIRED_OF_TWO_DOUBLES, settle};
use holdfast::truth::dense::expm;
use holdfast::truth::dense::floor::{self, BoundedMatrix};
use holdfast::truth::dense::matrix::{plus_identity, product, scaled, shifted};
use holdfast::truth::dense::{Input, discretize};
use holdfast::truth::exact::rational;
use holdfast::truth::number::ball::Ball;
use holdfast::truth::number::elementary::{exp_by_doubling, exp_by_halving, phi_by_doubling, phi_direct};
use holdfast::truth::number::scalar::{Entry, Real};
use holdfast::truth::number::wide::Wide;
use holdfast::truth::{Form, TruthError, coefficient};
use nalgebra::{Complex, DMatrix};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rstest::rstest;

/// Numbers in [−1, 1), the same in every run.
fn draws(seed: u64) -> impl FnMut() -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    move || rng.random_range(-1.0..1.0)
}

fn stable(n: usize, seed: u64) -> DMatrix<f64> {
    let mut draw = draws(seed);
    DMatrix::from_fn(n, n, |i, j| draw() - if i == j { n as f64 / 2.0 } else { 0.0 })
}

fn stable_complex(n: usize, seed: u64) -> DMatrix<Complex<f64>> {
    let (re, im) = (stable(n, seed), stable(n, seed + 1));
    re.zip_map(&im, Complex::new)
}

fn hippo_legs(n: usize) -> DMatrix<f64> {
    let root = |i: usize| ((2 * i + 1) as f64).sqrt();
    DMatrix::from_fn(n, n, |i, k| match i.cmp(&k) {
        std::cmp::Ordering::Greater => -root(i) * root(k),
        std::cmp::Ordering::Equal => -(i as f64 + 1.0),
        std::cmp::Ordering::Less => 0.0,
    })
}

fn jordan(n: usize, value: f64) -> DMatrix<f64> {
    DMatrix::from_fn(n, n, |i, k| if i == k { value } else { f64::from(u8::from(k == i + 1)) })
}

fn wide<I: Input>(m: &DMatrix<I>) -> DMatrix<I::Over<Wide>> {
    m.map(<I::Over<Wide> as Entry>::exact_entry)
}

fn taylor<T: Entry>(z: &DMatrix<T>) -> DMatrix<T> {
    floor::exponential(&BoundedMatrix::exact(z.clone()), 0).mid
}

/// Every part of every entry settles, or is zero in both.
fn assert_settles<T: Entry<Part = Wide>>(x: &DMatrix<T>, y: &DMatrix<T>, context: &str) {
    assert_eq!(x.shape(), y.shape());
    for (index, (x, y)) in x.iter().zip(y.iter()).enumerate() {
        for part in 0..T::WIDTH {
            let (x, y) = (x.part(part), y.part(part));
            let zero = Wide::exact(0.0);
            if x != zero || y != zero {
                settle(&x, &Ball::exact(y))
                    .unwrap_or_else(|d| panic!("{context}, entry {index}: {d:?}, {x:?} and {y:?}"));
            }
        }
    }
}

fn semigroup<I: Input>(a: &DMatrix<I>, c: f64, context: &str) {
    let a = wide(a);
    let by = |factor: f64| scaled(&a, &Wide::exact(factor));
    let left = product(&taylor(&a), &taylor(&by(c)));
    let right = expm::pade(&by(1.0 + c), 0).expect("a regular denominator");
    assert_settles(&left, &right, context);
}

#[rstest]
fn exponentials_of_one_matrix_multiply(#[values(1, 2, 5, 12)] n: usize, #[values(0.5, 2.0, -0.25)] c: f64) {
    semigroup(&stable(n, 11), c, "real");
    semigroup(&stable_complex(n, 13), c, "complex");
}

#[rstest]
fn phi_functions_of_a_matrix_obey_their_recurrence(#[values(1, 4, 9)] n: usize) {
    let z = wide(&stable_complex(n, 5));
    let [phi1, phi2, phi3] = expm::phi_by_doubling(&z, 0);
    let one = Wide::exact(1.0);
    let exp = expm::pade(&z, 0).expect("a regular denominator");
    assert_settles(&product(&z, &phi1), &plus_identity(exp, &-one), "z φ₁ = eᶻ − 1");
    assert_settles(&product(&z, &phi2), &plus_identity(phi1, &-one), "z φ₂ = φ₁ − 1");
    assert_settles(&product(&z, &phi3), &plus_identity(phi2, &-one.times_pow2(-1)), "z φ₃ = φ₂ − 1/2");
}

/// Terms of their series are as many as its bits take, whatever the size of a number.
#[test]
fn phi_functions_of_a_matrix_are_those_of_a_number() {
    for x in [0.03, 0.12, 0.49, 0.99, 1.99, 3.99, 7.9, 15.9, 31.9] {
        let z = Wide::exact(-x);
        let [_, known @ ..] = phi_by_doubling(&Ball::exact(z));
        let matrix = expm::phi_by_doubling(&DMatrix::from_element(1, 1, z), 0);
        for (k, (matrix, known)) in matrix.iter().zip(known).enumerate() {
            let off = (matrix[(0, 0)] - known.mid).exponent().unwrap_or(-10_000);
            let bits = known.mid.exponent().expect("not 0") - off;
            assert!(bits > 222, "φ{} of {x}: {bits} bits", k + 1);
        }
    }
}

/// Couplings over many steps, each of them tiny, have one term of the series, however small: zᵏ/(k + j)! of φⱼ.
#[test]
fn phi_functions_of_a_long_chain_have_its_last_term() {
    let n = 12;
    let tiny = 2f64.powi(-60);
    let z = DMatrix::from_fn(n, n, |i, j| Wide::exact(if j == i + 1 { tiny } else { 0.0 }));
    for (k, phi) in expm::phi_by_doubling(&z, n - 1).iter().enumerate() {
        let mut term = (2..=k + 1).fold(Wide::exact(1.0), |term, m| term / Wide::exact(m as f64));
        for j in 0..n {
            let off = (phi[(0, j)] - term).exponent().unwrap_or(-10_000);
            assert!(term.exponent().expect("not 0") - off > 222, "φ{} after {j} steps", k + 1);
            term = term * Wide::exact(tiny) / Wide::exact((j + k + 2) as f64);
        }
    }
}

#[test]
fn diagonal_steps_are_the_scalar_ones() {
    let values = [-0.5f32, -2.0, 3.25, 0.0, -1e-6, -40.0];
    let n = values.len();
    let a = DMatrix::from_fn(n, n, |i, j| if i == j { f64::from(values[i]) } else { 0.0 });
    let b = DMatrix::from_element(n, 1, 0.75);
    let delta = 0.1f32;
    for form in Form::all() {
        let problem = CoefficientProblem {
            weights: Weights::Real,
            delta: vec![delta; n],
            a: values.to_vec(),
            b: vec![0.75; n],
        };
        let scalar = coefficient::solve(form, &problem).expect("certified");
        let dense = discretize(form, &a, &b, f64::from(delta)).expect("certified");
        assert_eq!(dense.a_bar.diagonal().as_slice(), scalar.a_bar, "{form}");
        assert_eq!(dense.b_bar.as_slice(), scalar.b_bar, "{form}");
        assert!(dense.certificate.proved_zero >= n * (n - 1), "{form}");
    }
}

#[rstest]
fn permutations_and_powers_of_two_commute_with_every_form(#[values(0, 9)] spread: i32) {
    let (n, a) = (4, stable_complex(4, 21));
    let b = DMatrix::from_fn(n, 2, |i, j| Complex::new(1.0 - i as f64, 0.5 + j as f64));
    let order = [2usize, 0, 3, 1];
    let scale = |i: usize| f64::powi(2.0, spread * i as i32);
    let similar = DMatrix::from_fn(n, n, |i, j| a[(order[i], order[j])] * (scale(i) / scale(j)));
    let inputs = DMatrix::from_fn(n, 2, |i, j| b[(order[i], j)] * scale(i));
    for form in Form::all() {
        let plain = discretize(form, &a, &b, 0.25).expect("certified");
        let moved = discretize(form, &similar, &inputs, 0.25).expect("certified");
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let want = plain.a_bar[(order[i], order[j])] * (scale(i) / scale(j));
            assert_eq!(moved.a_bar[(i, j)], want, "{form}");
        }
        for (i, j) in (0..n).flat_map(|i| (0..2).map(move |j| (i, j))) {
            assert_eq!(moved.b_bar[(i, j)], plain.b_bar[(order[i], j)] * scale(i), "{form}");
        }
    }
}

#[test]
fn steps_at_a_zero_matrix_are_their_limits() {
    let delta = 0.3;
    let (a, b) = (DMatrix::zeros(2, 2), DMatrix::from_element(2, 1, 1.0));
    let d = rational::exact(delta);
    // f(0)
    let at_zero = |of| match of {
        Function::Phi(k) => (1..=k).fold(RBig::ONE, |inverse, i| inverse / RBig::from(i)),
        Function::Power(k) => {
            if k == 0 {
                RBig::ONE
            } else {
                RBig::ZERO
            }
        }
        Function::Resolvent(_) => RBig::ONE,
    };
    let limit = |term: &Term| {
        let Fraction(above, below) = term.factor;
        RBig::from(above) / RBig::from(below) * d.pow(term.delta as isize) * at_zero(term.of)
    };
    for form in Form::all() {
        let truth = discretize(form, &a, &b, delta).expect("certified");
        let now = form.formula().now().iter().map(limit).fold(RBig::ZERO, |sum, term| sum + term);
        assert_eq!(truth.a_bar, DMatrix::identity(2, 2), "{form}");
        assert_eq!(truth.b_bar, DMatrix::from_element(2, 1, rational::round(&now)), "{form}");
    }
}

#[test]
fn a_singular_matrix_is_reported_and_a_regular_one_is_not() {
    let mut a = stable(4, 3);
    a.set_row(3, &a.row(0).into_owned());
    let b = DMatrix::from_element(4, 1, 1.0);
    for form in Form::all() {
        let inverts = form.formula().phis() > 0;
        let truth = discretize(form, &a, &b, 0.1).expect("certified");
        assert_eq!(truth.certificate.unavailable, inverts.then_some("A is singular"), "{form}");
        let regular = discretize(form, &stable(4, 3), &b, 0.1).expect("certified");
        assert_eq!(regular.certificate.unavailable, None, "{form}");
    }
}

/// The families of the truth, each certified by all methods, real and complex.
#[rstest]
#[case::hippo_legs(hippo_legs(12))]
#[case::jordan(jordan(9, -1.0))]
#[case::nilpotent(jordan(9, 0.0))]
#[case::skew_symmetric(&stable(8, 1) - stable(8, 1).transpose())]
#[case::random_stable(stable(10, 2))]
#[case::badly_scaled(DMatrix::from_fn(6, 6, |i, j| stable(6, 4)[(i, j)] * f64::powi(10.0, 9 * (i as i32 - j as i32))))]
#[case::stiff(DMatrix::from_fn(5, 5, |i, j| if i == j { -f64::powi(9.0, i as i32) } else { 0.125 }))]
fn families_are_certified(#[case] a: DMatrix<f64>, #[values(1e-9, 0.05)] delta: f64) {
    let b = DMatrix::from_fn(a.nrows(), 1, |i, _| 1.0 + i as f64 / 3.0);
    let turned = a.map(|x| Complex::new(x, 0.375 * x));
    for method in Method::ALL {
        let truth = discretize(method, &a, &b, delta).unwrap_or_else(|e| panic!("{method}: {e}"));
        let least = if truth.certificate.least_bits < 237 { REQUIRED_OF_TWO_DOUBLES } else { REQUIRED_BITS };
        assert!(truth.certificate.agreement.is_none_or(|bits| bits >= least));
        let complex = discretize(method, &turned, &b.map(|x| Complex::new(x, -x)), delta);
        assert!(complex.unwrap_or_else(|e| panic!("{method}: {e}")).a_bar.nrows() == a.nrows());
    }
}

#[test]
fn the_largest_legs_matrix_is_certified() {
    let n = 64;
    let b = DMatrix::from_fn(n, 1, |i, _| ((2 * i + 1) as f64).sqrt());
    for method in [Method::Bilinear, Method::HighOrder] {
        let truth = discretize(method, &hippo_legs(n), &b, 1e-3).expect("certified");
        assert_eq!(truth.certificate.proved_zero, n * (n - 1) / 2, "{method}");
    }
}

#[test]
fn zeros_by_cancellation_are_proved() {
    // L N L⁻¹ by unit triangular integers: A⁴ = 0, and no entry of A is zero for its structure.
    let n = 4;
    let low = DMatrix::from_fn(n, n, |i, j| f64::from(u8::from(i >= j)));
    let inverse = DMatrix::from_fn(n, n, |i, j| match i.wrapping_sub(j) {
        0 => 1.0,
        1 => -1.0,
        _ => 0.0,
    });
    let nilpotent = &low * jordan(n, 0.0) * &inverse;
    // N³ has one nonzero entry; its last row of Ā ends in 1 + Δ·… exactly.
    let truth =
        discretize(Method::Zoh, &nilpotent, &DMatrix::from_element(n, 1, 1.0), 1.0).expect("certified");
    let exact = |i: usize, j: usize| {
        let mut power = DMatrix::<f64>::identity(n, n);
        let mut factorial = 1.0;
        let mut sum = RBig::ZERO;
        for k in 0..n {
            sum += rational::exact(power[(i, j)]) / rational::exact(factorial);
            power = &power * &nilpotent;
            factorial *= (k + 1) as f64;
        }
        rational::round(&sum)
    };
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
        assert_eq!(truth.a_bar[(i, j)].to_bits(), exact(i, j).to_bits(), "[{i}, {j}]");
    }
    // B is an eigenvector whose third entry is 0, although every entry of A is not.
    let a = DMatrix::from_row_slice(3, 3, &[-1.5, 0.5, 0.3, 0.25, -1.25, -0.7, 0.9, -0.9, -2.0]);
    let b = DMatrix::from_column_slice(3, 1, &[1.0, 1.0, 0.0]);
    for method in Method::ALL {
        let truth = discretize(method, &a, &b, 0.5).expect("certified");
        assert_eq!(truth.b_bar[2].to_bits(), 0.0f64.to_bits(), "{method}");
        assert_eq!(truth.certificate.proved_zero, 1, "{method}");
    }
}

#[test]
fn bad_input_is_refused_with_its_reason() {
    let a = stable(3, 1);
    let b = DMatrix::from_element(3, 1, 1.0);
    let refuse = |a: &DMatrix<f64>, b: &DMatrix<f64>, delta, method| {
        discretize::<f64>(method, a, b, delta).expect_err("refused")
    };
    let zoh = Method::Zoh;
    assert!(matches!(refuse(&a.rows(0, 2).into_owned(), &b, 0.1, zoh), TruthError::Shape { what: "A", .. }));
    assert!(matches!(refuse(&a, &b.rows(0, 2).into_owned(), 0.1, zoh), TruthError::Shape { what: "B", .. }));
    assert!(matches!(refuse(&DMatrix::zeros(0, 0), &b, 0.1, zoh), TruthError::Shape { what: "A", .. }));
    assert!(matches!(refuse(&a, &b, f64::NAN, zoh), TruthError::NotFinite { what: "delta", .. }));
    let mut holed = a.clone();
    holed[(1, 2)] = f64::INFINITY;
    assert!(matches!(refuse(&holed, &b, 0.1, zoh), TruthError::NotFinite { what: "A", index: 5, .. }));
    assert!(matches!(refuse(&(&a * 1e200), &b, 1.0, zoh), TruthError::StepTooLarge { .. }));
    let pole = DMatrix::from_row_slice(2, 2, &[3.0, 1.0, -1.0, 1.0]);
    let b = DMatrix::from_element(2, 1, 1.0);
    assert!(matches!(refuse(&pole, &b, 1.0, Method::Bilinear), TruthError::Pole { .. }));
}

#[test]
fn overflow_and_underflow_round_like_any_value() {
    let one = DMatrix::from_element(1, 1, 1.0);
    let at = |z: f64| discretize(Method::Zoh, &one, &one, z).expect("certified");
    assert_eq!(at(800.0).a_bar[0], f64::INFINITY);
    assert_eq!(at(800.0).certificate.overflowed, 1);
    let held = discretize(Method::Zoh, &DMatrix::zeros(1, 1), &DMatrix::from_element(1, 1, 1e300), 1e100);
    let held = held.expect("certified");
    assert_eq!((held.b_bar[0], held.certificate.overflowed), (f64::INFINITY, 1));
    assert_eq!(at(-5000.0).a_bar[0].to_bits(), 0.0f64.to_bits());
    assert_eq!(at(-744.0).a_bar[0].to_bits(), 2, "e^−744 is 1.97·2^−1074");
    assert_eq!(at(-1e7).a_bar[0], 0.0, "beyond the 237-bit scalar's exponents");
}

#[test]
fn small_entries_beside_large_ones_are_rounded_correctly() {
    // Ā of a Jordan chain: e^λΔ Δᵏ/k!, down to the subnormals.
    let (n, delta) = (24, 1e-15);
    let truth = discretize(Method::Zoh, &jordan(n, 0.0), &DMatrix::from_element(n, 1, 1.0), delta)
        .expect("certified");
    let mut want = RBig::ONE;
    for k in 0..n {
        assert_eq!(truth.a_bar[(0, k)].to_bits(), rational::round(&want).to_bits(), "Δ^{k}/{k}!");
        want *= rational::exact(delta) / RBig::from(k + 1);
    }
    assert!(truth.a_bar[(0, 20)] > 0.0 && truth.a_bar[(0, 20)] < f64::MIN_POSITIVE);
    let scale = shifted(&wide(&jordan(2, 1.0)), 3);
    assert_eq!(scale[(0, 1)].to_nearest_f64(), 8.0);
}

/// The literal exponential, which comes without a bound, against one that has one: as many terms as its halved argument needs.
#[test]
fn exponentials_by_halving_have_the_bits_that_they_promise() {
    for x in [1.999, -1.999, 0.01561, 3.99, -63.9, 0.4999, -1.0, 1e-9] {
        let exact = Wide::exact(x);
        let by_doubling = exp_by_doubling(&Ball::exact(exact));
        let off = (exp_by_halving(exact) - by_doubling.mid) / by_doubling.mid;
        // The series leaves out 2⁻²¹⁵, and each squaring doubles that; |x| is brought to 2⁻⁷.
        let squarings = (x.abs().log2().floor() as i64 + 8).max(0);
        assert!(off.exponent().is_none_or(|bits| bits < squarings - 215), "{x}: {:?}", off.exponent());
    }
}

/// All four, of which a step takes those that it needs.
#[test]
fn phi_functions_by_their_series_are_those_by_doubling() {
    for x in [0.49, -0.3, 0.0625, 1e-5] {
        let z = Wide::exact(x);
        let by_doubling = phi_by_doubling(&Ball::exact(z));
        for (k, (direct, ball)) in phi_direct(z).into_iter().zip(by_doubling).enumerate() {
            let off = (direct - ball.mid) / ball.mid;
            assert!(off.exponent().is_none_or(|bits| bits < -205), "φ{k}({x}): {:?}", off.exponent());
        }
    }
}

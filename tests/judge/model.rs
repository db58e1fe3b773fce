//! Promise: the f64 model that bounds are made of is what the specification says.

use holdfast::formula::Form;
use holdfast::judge::model::{phi, phi_of_each, step};
use holdfast::method::Method;
use holdfast::problem::Weights;
use holdfast::promise::Contract;
use num_complex::Complex64;

/// The Taylor branch and the recurrence meet at |z| = 1 all around the circle.
#[test]
fn phi_branches_agree_where_they_meet() {
    for i in 0..64 {
        let z = Complex64::from_polar(1.0, 0.1 * f64::from(i));
        let (inside, outside) = (phi(z * (1.0 - 1e-9)), phi(z * (1.0 + 1e-9)));
        for k in 0..4 {
            assert!((inside[k] - outside[k]).norm() < 1e-8, "phi{k} at {z}");
        }
    }
}

/// Several at a time are what each is alone, to the last bit, but for the sign of a zero.
#[test]
fn phi_of_each_is_phi() {
    let sizes = [0.0, 1e-200, 1e-9, 0.3, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 5.0, 60.0, 699.0, 709.9, 1e4, f64::NAN];
    let real = sizes.iter().flat_map(|size| [-size, *size]).map(Complex64::from);
    let complex = sizes.iter().flat_map(|size| (0..7).map(|i| Complex64::from_polar(*size, f64::from(i))));
    let mixed: Vec<Complex64> = real.clone().chain(complex).collect();
    let real: Vec<Complex64> = real.filter(|z| z.re.abs() < 700.0).collect();
    let bits = |phi: &Complex64| [phi.re, phi.im].map(|part| (part + 0.0).to_bits());
    for len in (1..=real.len()).chain([mixed.len()]) {
        let z = if len <= real.len() { &real[real.len() - len..] } else { &mixed[..] };
        for (z, together) in z.iter().zip(phi_of_each(z)) {
            let alone = phi(*z);
            let is_same = |k: &usize| {
                bits(&together[*k]) == bits(&alone[*k]) || together[*k].is_nan() && alone[*k].is_nan()
            };
            assert!((0..4).all(|k| is_same(&k)), "{z}: {together:?} and {alone:?}");
        }
    }
}

/// The sensitivities are those of the functions: a finite difference in Δ and in z sees the same.
#[test]
fn budget_covers_a_relative_change_of_delta_and_not_much_more() {
    let change = 1e-5;
    for method in Method::ALL {
        for (re, im) in [(-1.0, 0.0), (-0.5, 3.0), (0.3, -20.0), (-30.0, 4.0), (-1e-4, 1e-4)] {
            let (a, b) = (Complex64::new(re, im), Complex64::new(1.0, -0.5));
            let of =
                |delta, error| step(method, Weights::Complex, (delta, error), a, b, &Contract::FRAMEWORK);
            let exact = of(0.7, change);
            let moved = of(0.7 * (1.0 + change), 0.0);
            let contract = of(0.7, 0.0);
            for (moved, exact, bound, floor) in [
                (moved.a_bar, exact.a_bar, exact.a_bar_error, contract.a_bar_error),
                (moved.b_bar, exact.b_bar, exact.b_bar_error, contract.b_bar_error),
            ] {
                let error = (moved - exact).norm();
                assert!(error <= bound, "{method} at {a}: {error} > {bound}");
                // Triangle inequalities cost at most a factor of a few, not an order of magnitude.
                assert!(bound - floor <= 6.0 * error + 1e-300, "{method} at {a}: {bound} for {error}");
            }
        }
    }
}

/// What 16 bits lose of Δ is too much for the first order alone, which vanishes at some points.
#[test]
fn budget_covers_what_16_bits_lose_of_delta() {
    use std::f64::consts::PI;
    for form in Form::all() {
        for (re, im) in [(0.0, 2.0 * PI), (-1.0, 0.0), (0.0, 4.0 * PI), (-2.0, 0.0), (-0.5, 3.0), (-8.0, 9.0)]
        {
            let (a, b) = (Complex64::new(re, im), Complex64::new(1.0, -0.5));
            for change in [0.5f64.powi(8), -0.5f64.powi(8), 0.5f64.powi(11)] {
                let of =
                    |delta, error| step(form, Weights::Complex, (delta, error), a, b, &Contract::FRAMEWORK);
                let (exact, moved) = (of(1.0, change.abs()), of(1.0 + change, 0.0));
                let now = (moved.b_bar, exact.b_bar, exact.b_bar_error);
                let beside = moved.neighbours.iter().zip(exact.neighbours);
                let beside =
                    beside.filter_map(|(moved, exact)| Some((moved.as_ref()?.0, exact?.0, exact?.1)));
                let a_bar = (moved.a_bar, exact.a_bar, exact.a_bar_error);
                for (moved, exact, bound) in beside.chain([now, a_bar]) {
                    let error = (moved - exact).norm();
                    assert!(error <= bound, "{form} at {a}, {change}: {error} > {bound}");
                }
            }
        }
    }
}

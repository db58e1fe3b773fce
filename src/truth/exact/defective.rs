//! Entries of e^z and of the φ-functions that are rational, zero mostly, where z has but one eigenvalue λ ≠ 0
//! on the states that matter.
//!
//! With N = z − λI and Nᵐb = 0 from some m on, f(z)b = Σ f⁽ᵐ⁾(λ)/m! Nᵐb, which for eᶻ and for the φₖ is
//! p + q e^λ with p and q rational in λ. By Lindemann e^λ is transcendental for an algebraic λ ≠ 0, and 1,
//! e^λ and its conjugate are independent over the algebraic numbers where λ is not real. So an entry is
//! rational if and only if its q is zero, and then it is p.

use dashu_ratio::RBig;

use super::rational::Gaussian;
use crate::method::Method;
use crate::truth::textbook::{Form, Textbook};

/// States beyond which exact arithmetic would take too long.
pub const LARGEST: usize = 24;

/// The weights of eᶻ, φ₁, φ₂ and φ₃ in a panel.
fn weights(form: Form, panel: usize, delta: &RBig) -> Option<[RBig; 4]> {
    let half = || RBig::ONE / RBig::from(2);
    let zero = || RBig::ZERO;
    let [d1, d2] = [delta.clone(), delta * delta];
    let d3 = &d2 * delta;
    Some(match (form, panel) {
        (form, 0) if !form.is_rational() => [RBig::ONE, zero(), zero(), zero()],
        (Form::Method(method), 1) => match method {
            Method::Foh => [zero(), zero(), d2, zero()],
            Method::Poly => [zero(), d1, d2 * half(), zero()],
            Method::HighOrder => [zero(), d1, d2, d3 * half()],
            // Rational whatever z is.
            Method::Zoh | Method::Bilinear | Method::Rk4 => return None,
        },
        (Form::Textbook(Textbook::ZohExact), 1) => [zero(), d1, zero(), zero()],
        (Form::Textbook(Textbook::FohTextbook), 1) => [zero(), d1.clone(), -d1, zero()],
        (Form::Textbook(Textbook::FohTextbook), 3) => [zero(), zero(), d1, zero()],
        (Form::Textbook(Textbook::ExpTrapezoidal), 2) => [d1 * half(), zero(), zero(), zero()],
        _ => return None,
    })
}

/// One part of entry `row` of the panel applied to `source`, where it is rational. `z` is ΔA among the states
/// that lie between the two.
pub fn entry(
    (form, panel): (Form, usize),
    delta: &RBig,
    z: &[Vec<Gaussian>],
    source: &[Gaussian],
    (row, part): (usize, usize),
) -> Option<RBig> {
    let n = z.len();
    let weights = weights(form, panel, delta)?;
    if n == 0 || n > LARGEST {
        return None;
    }
    let trace = (0..n).fold(Gaussian::zero(), |sum, i| &sum + &z[i][i]);
    let lambda = trace.scale(&(RBig::ONE / RBig::from(n as u64)));
    let inverse = lambda.inverse()?;
    // The row's entry of Nᵐ·source.
    let mut moments = Vec::new();
    let mut vector = source.to_vec();
    while vector.iter().any(|x| !x.is_zero()) {
        if moments.len() == n {
            return None;
        }
        moments.push(vector[row].clone());
        let next = |i: usize| {
            let terms = (0..n).filter(|&j| !vector[j].is_zero() && !z[i][j].is_zero());
            let sum = terms.fold(Gaussian::zero(), |sum, j| &sum + &(&z[i][j] * &vector[j]));
            &sum - &(&lambda * &vector[i])
        };
        vector = (0..n).map(next).collect();
    }
    let power = |base: &Gaussian, k: usize| (0..k).fold(Gaussian::real(RBig::ONE), |x, _| &x * base);
    let factorial = |k: usize| RBig::from((1..=k as u64).product::<u64>());
    let over_factorial = |k: usize| (1..=k as u64).fold(RBig::ONE, |x, i| x / RBig::from(i));
    // The coefficient of Nᵐ in z^−k: binomial(−k, m) λ^(−k−m).
    let negative_power = |k: usize, m: usize| {
        let binomial =
            (0..m).fold(RBig::ONE, |x, i| x * RBig::from(-((k + i) as i64)) / RBig::from(i as u64 + 1));
        power(&inverse, k + m).scale(&binomial)
    };
    let (mut p, mut q) = (Gaussian::zero(), Gaussian::zero());
    for (m, moment) in moments.iter().enumerate() {
        for (k, weight) in weights.iter().enumerate().filter(|(_, w)| !w.is_zero()) {
            let product = (0..=m)
                .fold(Gaussian::zero(), |sum, c| &sum + &negative_power(k, m - c).scale(&over_factorial(c)));
            q = &q + &(moment * &product).scale(weight);
            for j in 0..k {
                let term = negative_power(k - j, m).scale(&(RBig::ONE / factorial(j)));
                p = &p - &(moment * &term).scale(weight);
            }
        }
    }
    let free = if lambda.im.is_zero() { q.part(part).is_zero() } else { q.is_zero() };
    free.then(|| p.part(part).clone())
}

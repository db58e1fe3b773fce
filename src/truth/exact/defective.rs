//! Entries of e^z and of the φ-functions that are rational, zero mostly, where z has but one eigenvalue λ ≠ 0
//! on the states that matter.
//!
//! With N = z − λI and Nᵐb = 0 from some m on, f(z)b = Σ f⁽ᵐ⁾(λ)/m! Nᵐb, which for eᶻ and for the φₖ is
//! p + q e^λ with p and q rational in λ. By Lindemann e^λ is transcendental for an algebraic λ ≠ 0, and 1,
//! e^λ and its conjugate are independent over the algebraic numbers where λ is not real. So an entry is
//! rational if and only if its q is zero, and then it is p.

use dashu_ratio::RBig;

use super::rational::{self, Gaussian};
use crate::formula::{Formula, Function, Transition};

/// States beyond which exact arithmetic would take too long.
pub const LARGEST: usize = 24;

/// The weights of eᶻ, φ₁, φ₂ and φ₃ in a panel that is made of nothing else.
fn weights(formula: &Formula, panel: usize, delta: &RBig) -> Option<[RBig; 4]> {
    let mut weights = [const { RBig::ZERO }; 4];
    if panel == 0 {
        weights[0] = RBig::ONE;
        return (formula.a_bar == Transition::Exponential).then_some(weights);
    }
    for term in formula.b_bar[panel - 1] {
        let Function::Phi(k) = term.of else { return None };
        weights[k] += rational::factor(term, delta);
    }
    Some(weights)
}

/// One part of entry `row` of the panel applied to `source`, where it is rational. `z` is ΔA among the states
/// that lie between the two.
pub fn entry(
    (formula, panel): (&Formula, usize),
    delta: &RBig,
    z: &[Vec<Gaussian>],
    source: &[Gaussian],
    (row, part): (usize, usize),
) -> Option<RBig> {
    let n = z.len();
    let weights = weights(formula, panel, delta)?;
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

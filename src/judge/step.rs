//! The verdict on what a backward pass takes of one step, element by element, against the kernels' promise
//! ([`crate::promise::derivatives`]), whatever z.

use num_complex::Complex64;

use super::budget::complex_at;
use super::coefficient;
use super::scan::{UNBOUNDED, beyond};
use crate::formula::{Form, Function, Term};
use crate::method::Method;
use crate::problem::{CoefficientProblem, Weights};
use crate::promise::allowance::{HALF_SUBNORMAL, U};
use crate::promise::derivatives::{CANCELLATION, Units, production};
use crate::results::{TensorResult, Verdict};
use crate::tensor::{Derivatives, Named, StepName};

/// Judges computed steps against their certified values, each (n)·w.
pub fn judge(
    method: Method,
    problem: &CoefficientProblem,
    got: &Derivatives,
    want: &Named<Vec<f64>, StepName>,
) -> Named<TensorResult, StepName> {
    let bounds = bounds(method, problem, want);
    want.zip(&bounds)
        .map(|(name, want, bounds)| (name, result(name, problem, got.of(name), want, bounds)))
        .collect()
}

fn result(
    name: StepName,
    problem: &CoefficientProblem,
    got: &[f32],
    want: &[f64],
    bounds: &[f64],
) -> TensorResult {
    let inputs = |i: usize| coefficient::inputs(problem, &["delta", "A", "z"], i);
    let (distances, worst) = coefficient::compare(name.name(), problem, &inputs, (got, want), bounds);
    let ratio = worst.as_ref().map_or(f64::NAN, |worst| worst.ratio);
    let is_unbounded = bounds.iter().any(|bound| !bound.is_finite());
    let (verdict, reason) = match &worst {
        Some(worst) if worst.ratio.is_nan() || worst.ratio > 1.0 => (Verdict::Fail, String::new()),
        Some(_) if !is_unbounded => (Verdict::Pass, String::new()),
        _ => (Verdict::Unmeasured, UNBOUNDED.to_owned()),
    };
    let finite = |sum: f64, x: f64| if x.is_finite() { x.mul_add(x, sum) } else { sum };
    let off = got.iter().zip(want).map(|(&got, &want)| f64::from(got) - want).fold(0.0, finite);
    let size = want.iter().copied().fold(0.0, finite);
    TensorResult {
        verdict,
        reason,
        beyond: beyond(verdict, ratio),
        worst_case_ratio: ratio,
        judged: want.len(),
        quick: 0,
        worst,
        max_ulp: distances.iter().fold(0.0, |most, (ulp, _)| most.max(*ulp)),
        rel_l2: if off == 0.0 { 0.0 } else { (off / size).sqrt() },
        wrong: Vec::new(),
        diagnosis: Vec::new(),
    }
}

/// What each may be off, (n), normwise: its units, two underflows, and where sums cancel what double leaves of their terms. At
/// Δ = 0 all are 0 or 1, as are Ā and its slope at A = 0, and nothing rounds; nor does it where h is Δ itself.
pub fn bounds(
    method: Method,
    problem: &CoefficientProblem,
    want: &Named<Vec<f64>, StepName>,
) -> Named<Vec<f64>, StepName> {
    let width = problem.weights.width();
    let Units { a_bar, slope, h, h_by_delta, h_by_a } = production(method, problem.weights);
    want.map(|name, want| {
        let units = match name {
            StepName::ABar => a_bar,
            StepName::Slope => slope,
            StepName::H => h,
            StepName::HByDelta => h_by_delta,
            StepName::HByA => h_by_a,
        };
        let bound = |(i, want): (usize, &[f64])| {
            let delta = f64::from(problem.delta[i]);
            let a = complex_at(problem.weights, &problem.a, i * width);
            let is_one = matches!(name, StepName::ABar | StepName::Slope) && a == Complex64::ZERO;
            if units == 0.0 || delta == 0.0 || is_one {
                return 0.0;
            }
            let size = want.iter().fold(0.0, |norm: f64, part| norm.hypot(*part));
            let cancels = problem.weights == Weights::Complex || delta < 0.0 || method == Method::Rk4;
            let lost = match cancels {
                true => CANCELLATION * terms(method, name, delta, a),
                false => 0.0,
            };
            let bound = units * U * size + lost + 2.0 * HALF_SUBNORMAL;
            // What comes of infinities bounds nothing.
            if bound.is_nan() { f64::INFINITY } else { bound }
        };
        want.chunks(width).enumerate().map(bound).collect()
    })
}

/// The sizes of what a sum is made of, without signs.
fn terms(method: Method, name: StepName, delta: f64, a: Complex64) -> f64 {
    let formula = Form::Method(method).formula();
    let z = a * delta;
    let of = |&Term { factor, delta: p, of }: &Term| {
        let (size, p) = match name {
            StepName::ABar | StepName::Slope => return 0.0,
            StepName::H => (sizes(of, z)[0], p),
            StepName::HByDelta => (growth(p, of, z), p - 1),
            StepName::HByA => (sizes(of, z)[1], p + 1),
        };
        factor.value().abs() * delta.abs().powi(p) * size
    };
    formula.now().iter().map(of).sum()
}

/// Of f and f′. φₖ is made of eᶻ and the first terms of its series, over zᵏ, or near 0 of its series; φₖ′ of φₖ and k φₖ₊₁.
fn sizes(of: Function, z: Complex64) -> [f64; 2] {
    let size = z.norm();
    match of {
        Function::Phi(k) => [phi(k, z), phi(k, z) + k as f64 * phi(k + 1, z)],
        Function::Power(k) => {
            let below = k.checked_sub(1).map_or(0.0, |below| size.powi(below as i32));
            [size.powi(k as i32), k as f64 * below]
        }
        Function::Resolvent(alpha) => {
            let r = (1.0 - z * alpha.value()).norm().recip();
            [r, alpha.value() * r * r]
        }
    }
}

/// Of (p + z d/dz) f.
fn growth(p: i32, of: Function, z: Complex64) -> f64 {
    match of {
        Function::Phi(k) if k > 0 => f64::from((p - k as i32).abs()) * phi(k, z) + phi(k - 1, z),
        of => f64::from(p.abs()) * sizes(of, z)[0] + z.norm() * sizes(of, z)[1],
    }
}

fn phi(k: usize, z: Complex64) -> f64 {
    let size = z.norm();
    if size < 2.0 {
        return size.exp() / (1..=k).product::<usize>() as f64;
    }
    let (mut series, mut term) = (z.re.exp(), 1.0);
    for j in 1..=k {
        series += term;
        term *= size / j as f64;
    }
    series / size.powi(k as i32)
}

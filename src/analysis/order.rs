//! The order of each form: how fast the error of the state at T = 1 vanishes as Δ is halved.
//!
//! x_N comes from the certified scan, and x(T) from the certified dense truth: an input that is a polynomial in t is
//! the output of a chain of integrators, so [x; p; p'; …] is itself a system with a held input, and zero-order hold
//! steps over it exactly. Both are correctly rounded; u, Δ and t² at every step are exact in f32.
//!
//! Where the samples are taken is part of a form. A step from t to t+Δ has u_l = u(t+Δ) in spec.md §2, and with it
//! u_{l−1} = u(t); `foh-textbook` alone has u_l = u(t) and u_{l+1} = u(t+Δ). The forms with u_{l−1} take u = 0 before
//! the start, so that an input which jumps at t = 0 costs their first step an order.

use nalgebra::{Complex, DMatrix};

use super::{Convergence, SYSTEMS, System};
use crate::parallel;
use crate::problem::Problem;
use crate::tensor::TensorName;
use crate::truth::{Form, Textbook, TruthError, dense, scan};

pub const CONSTANT: &str = "constant";
pub const SMOOTH: &str = "smooth";
/// Steps to T = 1: 2 to this, from the coarsest to the finest Δ. t² then takes 16 bits at most.
const HALVINGS: std::ops::RangeInclusive<u32> = 1..=8;
/// Relative errors up to this are the roundings of two numbers to f64, each of two parts: the form is exact.
const EXACT: f64 = 4.0 * f64::EPSILON;

/// Every form, system and input.
pub fn measure() -> Result<Vec<Convergence>, TruthError> {
    let mut jobs = Vec::new();
    for system in SYSTEMS {
        for input in [CONSTANT, SMOOTH] {
            jobs.extend(Form::all().map(|form| (system, input, form)));
        }
    }
    parallel::try_each(jobs.len(), &|i| converge(&jobs[i].0, jobs[i].1, jobs[i].2))
}

/// The order of a form for an input over the real system; none where it is exact.
pub fn find(all: &[Convergence], form: Form, input: &str) -> Option<f64> {
    let system = SYSTEMS[0].name;
    let found = all
        .iter()
        .find(|c| (c.form.as_str(), c.system.as_str(), c.input.as_str()) == (form.name(), system, input));
    found.and_then(|c| observed(&c.error))
}

/// log₂ of the ratio of the last two errors, whose steps are halved; none where the last one is nothing but
/// rounding.
pub fn observed(errors: &[f64]) -> Option<f64> {
    match errors {
        [.., before, last] if *last > EXACT => Some((before / last).log2()),
        _ => None,
    }
}

fn converge(system: &System, input: &str, form: Form) -> Result<Convergence, TruthError> {
    let exact = state_at_one(system, input)?;
    let (mut deltas, mut errors) = (Vec::new(), Vec::new());
    for halvings in HALVINGS {
        let problem = problem(system, input, form, 1 << halvings);
        let state = &scan::solve(&problem, &[form])?[0].tensors[TensorName::LastState].values;
        let state = Complex::new(state[0], state.get(1).copied().unwrap_or(0.0));
        deltas.push(0.5f64.powi(halvings as i32));
        errors.push((state - exact).norm() / exact.norm());
    }
    Ok(Convergence {
        form: form.name().to_owned(),
        system: system.name.to_owned(),
        input: input.to_owned(),
        delta: deltas,
        error: errors,
    })
}

fn u(input: &str, t: f32) -> f32 {
    if input == CONSTANT { 1.0 } else { t * t }
}

/// x(1) of x' = Ax + u(t), x(0) = 0.
fn state_at_one(system: &System, input: &str) -> Result<Complex<f64>, TruthError> {
    let (a, one, zero) = (system.a(), Complex::new(1.0, 0.0), Complex::new(0.0, 0.0));
    let two = one + one;
    let (a, b) = if input == CONSTANT {
        (DMatrix::from_element(1, 1, a), DMatrix::from_element(1, 1, one))
    } else {
        // x' = Ax + p, p' = q, q' = 2: p = t².
        let rows = [a, one, zero, zero, zero, one, zero, zero, zero];
        (DMatrix::from_row_slice(3, 3, &rows), DMatrix::from_row_slice(3, 1, &[zero, zero, two]))
    };
    Ok(dense::discretize(Textbook::ZohExact, &a, &b, 1.0)?.b_bar[0])
}

/// `steps` equal steps from 0 to 1.
fn problem(system: &System, input: &str, form: Form, steps: usize) -> Problem {
    let step = 1.0 / steps as f32;
    let at_start = form == Form::Textbook(Textbook::FohTextbook);
    let mut delta = vec![step; steps];
    let mut samples: Vec<f32> =
        (0..steps).map(|l| u(input, step * (if at_start { l } else { l + 1 }) as f32)).collect();
    if at_start {
        // u_{l+1} of the last step; a step of no length changes no state.
        delta.push(0.0);
        samples.push(u(input, 1.0));
    }
    super::response::one_state(system, delta, samples)
}

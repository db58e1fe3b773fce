//! A same-precision reference path: f32 throughout, one position after the other, the closed forms of spec.md §2.
//!
//! It is what a careful framework implementation would compute without a kernel: the baseline that a kernel's error
//! is measured against. It is not the truth, and does not meet the kernels' accuracy contract: z = ΔA is rounded.

mod backward;

use std::ops::{Add, Mul};

use num_complex::Complex32;
use num_traits::Num;
use rayon::prelude::*;

use super::{Backend, Coefficients, scanned, shapes};
use crate::kernel::Result;
use crate::method::Method;
use crate::problem::{CoefficientProblem, OutputGradients, Problem, Weights};
use crate::promise::Promise;
use crate::tensor::{Gradients, TensorName, Tensors};

/// The sequential f32 path.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceBackend;

/// What real and complex weights have in common.
trait Weight: Num + Copy + Send + Sync + Add<f32, Output = Self> + Mul<f32, Output = Self> {
    /// Floats per weight.
    const WIDTH: usize;
    /// What one state adds to y: C x, or 2 Re(C x), since a complex state stands for a conjugate pair (spec.md §3).
    fn readout(self, x: Self) -> f32;
    fn load(at: &[f32]) -> Self;
    fn store(self, to: &mut Vec<f32>);
    fn exp(self) -> Self;
    /// e^z − 1 without cancellation near 0.
    fn exp_m1(self) -> Self;
    fn norm(self) -> f32;
}

impl Weight for f32 {
    const WIDTH: usize = 1;
    fn readout(self, x: f32) -> f32 {
        self * x
    }
    fn load(at: &[f32]) -> f32 {
        at[0]
    }
    fn store(self, to: &mut Vec<f32>) {
        to.push(self);
    }
    fn exp(self) -> f32 {
        f32::exp(self)
    }
    fn exp_m1(self) -> f32 {
        f32::exp_m1(self)
    }
    fn norm(self) -> f32 {
        self.abs()
    }
}

impl Weight for Complex32 {
    const WIDTH: usize = 2;
    fn readout(self, x: Complex32) -> f32 {
        2.0 * (self.re * x.re - self.im * x.im)
    }
    fn load(at: &[f32]) -> Complex32 {
        Complex32::new(at[0], at[1])
    }
    fn store(self, to: &mut Vec<f32>) {
        to.extend([self.re, self.im]);
    }
    fn exp(self) -> Complex32 {
        let (sin, cos) = self.im.sin_cos();
        let modulus = self.re.exp();
        Complex32::new(modulus * cos, modulus * sin)
    }
    fn exp_m1(self) -> Complex32 {
        // e^x cos y − 1 = (e^x − 1) cos y − 2 sin²(y/2)
        let (sin, cos) = self.im.sin_cos();
        let half = (0.5 * self.im).sin();
        Complex32::new(self.re.exp_m1() * cos - 2.0 * half * half, self.re.exp() * sin)
    }
    fn norm(self) -> f32 {
        Complex32::norm(self)
    }
}

/// φ₁, φ₂, φ₃ (spec.md §1).
fn phi<W: Weight>(z: W) -> [W; 3] {
    if z.norm() < 1.0 {
        // φ₃ = Σ zᵏ/(k+3)!; what follows the twelfth term is below 2⁻³⁵. Upwards by φₖ = 1/k! + z φₖ₊₁.
        let series = (4..16).rev().fold(W::one(), |p, k| p * z * (1.0 / k as f32) + 1.0);
        let phi3 = series * (1.0 / 6.0);
        let phi2 = z * phi3 + 0.5;
        [z * phi2 + 1.0, phi2, phi3]
    } else {
        let phi1 = z.exp_m1() / z;
        let phi2 = (phi1 + -1.0) / z;
        [phi1, phi2, (phi2 + -0.5) / z]
    }
}

/// (Ā, B̄) of one element (spec.md §2).
fn discretize<W: Weight>(method: Method, delta: f32, a: W, b: W) -> (W, W) {
    let z = a * delta;
    let step = b * delta;
    match method {
        Method::Zoh => (z.exp(), step),
        Method::Foh => (z.exp(), phi(z)[1] * delta * step),
        Method::Bilinear => {
            let below = z * -0.5 + 1.0;
            ((z * 0.5 + 1.0) / below, step / below)
        }
        Method::Poly => {
            let [phi1, phi2, _] = phi(z);
            (z.exp(), (phi1 + phi2 * (0.5 * delta)) * step)
        }
        Method::HighOrder => {
            let [phi1, phi2, phi3] = phi(z);
            (z.exp(), (phi1 + (phi2 + phi3 * (0.5 * delta)) * delta) * step)
        }
        Method::Rk4 => (z.exp(), (((z * (1.0 / 24.0) + 1.0 / 6.0) * z + 0.5) * z + 1.0) * step),
    }
}

/// y and the last state of one channel.
fn scan_channel(method: Method, problem: &Problem, at: (usize, usize)) -> (Vec<f32>, Vec<f32>) {
    match problem.weights {
        Weights::Real => scan_with::<f32>(method, problem, at),
        Weights::Complex => scan_with::<Complex32>(method, problem, at),
    }
}

fn scan_with<W: Weight>(
    method: Method,
    problem: &Problem,
    (batch, channel): (usize, usize),
) -> (Vec<f32>, Vec<f32>) {
    let shape = problem.shape;
    let first = problem.sequence_index(batch, channel, 0);
    let bias = problem.delta_bias.as_ref().map_or(0.0, |bias| bias[channel]);
    let delta: Vec<f32> = problem.delta[first..first + shape.seqlen]
        .iter()
        .map(|&delta| {
            let delta = delta + bias;
            // spec.md §3: a kernel may return Δ itself above 20, where log(1 + e^Δ) rounds to it.
            if problem.delta_softplus && delta <= 20.0 { delta.exp().ln_1p() } else { delta }
        })
        .collect();
    let mut y = vec![0.0; shape.seqlen];
    let mut last_state = Vec::with_capacity(shape.dstate * W::WIDTH);
    for n in 0..shape.dstate {
        let a = W::load(&problem.a[problem.weight_index(channel, n)..]);
        let step = |x: W, l: usize| {
            let b = W::load(&problem.b[problem.operand_index(problem.b_operand, (batch, channel), n, l)..]);
            let (a_bar, b_bar) = discretize(method, delta[l], a, b);
            a_bar * x + b_bar * problem.u[first + l]
        };
        let readout = |x: W, l: usize| {
            let at = problem.operand_index(problem.c_operand, (batch, channel), n, l);
            W::load(&problem.c[at..]).readout(x)
        };
        // The scan that runs back starts from zero (spec.md §3).
        let at = problem.state_index((batch, channel), n);
        let mut x = problem.initial_state.as_ref().map_or(W::zero(), |states| W::load(&states[at..]));
        for (l, y) in y.iter_mut().enumerate() {
            x = step(x, l);
            *y += readout(x, l);
        }
        x.store(&mut last_state);
        if method.is_bidirectional() {
            let mut x = W::zero();
            for (l, y) in y.iter_mut().enumerate().rev() {
                x = step(x, l);
                *y += readout(x, l);
            }
        }
    }
    for (l, y) in y.iter_mut().enumerate() {
        if method.is_bidirectional() {
            *y *= 0.5;
        }
        // Skip and gate once, after the average (spec.md §2).
        if let Some(d) = &problem.d {
            *y += d[channel] * problem.u[first + l];
        }
        if let Some(z) = &problem.z {
            let z = z[first + l];
            *y *= z / (1.0 + (-z).exp());
        }
        *y = problem.input.round(*y);
    }
    (y, last_state)
}

fn coefficients<W: Weight>(method: Method, problem: &CoefficientProblem) -> Coefficients {
    let mut result = Coefficients { a_bar: Vec::new(), b_bar: Vec::new() };
    for (i, &delta) in problem.delta.iter().enumerate() {
        let at = i * W::WIDTH;
        let (a_bar, b_bar) = discretize(method, delta, W::load(&problem.a[at..]), W::load(&problem.b[at..]));
        a_bar.store(&mut result.a_bar);
        b_bar.store(&mut result.b_bar);
    }
    result
}

impl ReferenceBackend {
    /// The scan of the judged channels alone.
    pub fn scan_judged(&self, method: Method, problem: &Problem) -> Result<Tensors<f64>> {
        shapes::check_scan_from_any_state(problem)?;
        let channels = problem.judged_channels.iter().map(|&at| scan_channel(method, problem, at));
        let (out, last_state): (Vec<_>, Vec<_>) = channels.unzip();
        let named = [(TensorName::Out, out), (TensorName::LastState, last_state)];
        let widened = |rows: Vec<Vec<f32>>| rows.into_iter().flatten().map(f64::from).collect();
        Ok(named.into_iter().map(|(name, rows)| (name, problem.judged_tensor(name, widened(rows)))).collect())
    }
}

impl Backend for ReferenceBackend {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn device(&self) -> String {
        format!("{} CPU, sequential f32 in Rust", std::env::consts::ARCH)
    }

    /// No kernel's.
    fn source(&self) -> String {
        String::new()
    }

    fn promise(&self) -> Promise {
        Promise::REFERENCE
    }

    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>> {
        shapes::check_scan_from_any_state(problem)?;
        let dim = problem.shape.dim;
        let rows = (0..problem.shape.batch * dim).into_par_iter();
        let channels = rows.map(|row| scan_channel(method, problem, (row / dim, row % dim)));
        let (out, last_state): (Vec<_>, Vec<_>) = channels.unzip();
        Ok(scanned(problem, [out.concat(), last_state.concat()]))
    }

    fn gradients(
        &self,
        method: Method,
        problem: &Problem,
        given: &OutputGradients,
    ) -> Option<Result<Gradients<f32>>> {
        Some(backward::gradients(method, problem, given))
    }

    fn coefficients(&self, method: Method, problem: &CoefficientProblem) -> Result<Coefficients> {
        shapes::check_coefficients(problem)?;
        Ok(match problem.weights {
            Weights::Real => coefficients::<f32>(method, problem),
            Weights::Complex => coefficients::<Complex32>(method, problem),
        })
    }
}

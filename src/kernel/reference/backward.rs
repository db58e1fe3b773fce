//! The gradients of spec.md §6 in plain sequential f32, written without the kernels: what a framework would compute with one
//! careful loop. A yardstick, and no truth: z = ΔA is rounded, and so is every sum.

use num_complex::Complex32;
use rayon::prelude::*;

use super::{Weight, phi};
use crate::kernel::{Result, shapes};
use crate::method::Method;
use crate::problem::{Operand, OutputGradients, Problem, Weights};
use crate::tensor::GradientName::{A, B, C, D, Delta, DeltaBias, U, Z};
use crate::tensor::Gradients;

/// What cotangents ask of a weight besides.
trait Cotangent: Weight {
    /// A cotangent is the conjugate of a gradient.
    fn conjugated(self) -> Self;
    /// Re(x y)
    fn real_product(self, other: Self) -> f32;
    /// ω of spec.md §6, of one direction.
    const OMEGA: f32;
}

impl Cotangent for f32 {
    fn conjugated(self) -> f32 {
        self
    }
    fn real_product(self, other: f32) -> f32 {
        self * other
    }
    const OMEGA: f32 = 1.0;
}

impl Cotangent for Complex32 {
    fn conjugated(self) -> Complex32 {
        self.conj()
    }
    fn real_product(self, other: Complex32) -> f32 {
        self.re * other.re - self.im * other.im
    }
    const OMEGA: f32 = 2.0;
}

/// Ā and h, each with its derivatives by Δ and by A.
struct Step<W> {
    a_bar: W,
    a_bar_by: [W; 2],
    h: W,
    h_by: [W; 2],
}

/// j/(j+k)! for j = 1…20 of φₖ′, k = 1, 2, 3.
const SERIES: [[f32; 20]; 3] = [coefficients(1), coefficients(2), coefficients(3)];

const fn coefficients(k: usize) -> [f32; 20] {
    let (mut all, mut j) = ([0.0; 20], 1);
    while j <= 20 {
        let (mut factorial, mut i) = (1.0, 1);
        while i <= j + k {
            factorial *= i as f32;
            i += 1;
        }
        all[j - 1] = j as f32 / factorial;
        j += 1;
    }
    all
}

/// The derivative of φₖ for |z| < 2, Σ j zʲ⁻¹/(j+k)!: what follows the twentieth term is below 2⁻⁴⁰.
fn series<W: Weight>(k: usize, z: W) -> W {
    SERIES[k - 1].into_iter().rev().fold(W::zero(), |sum, coefficient| sum * z + coefficient)
}

/// φ₁, φ₂, φ₃ as the forward scan has them, and their derivatives. Those are (φₖ₋₁′ − φₖ)/z: the identity φₖ − k φₖ₊₁ cancels far
/// to the left.
fn functions<W: Weight>(z: W) -> ([W; 3], [W; 3]) {
    let values = phi(z);
    if z.norm() < 2.0 {
        return (values, [1, 2, 3].map(|k| series(k, z)));
    }
    let [first, second, third] = values;
    let slope = (z.exp() - first) / z;
    let second_slope = (slope - second) / z;
    (values, [slope, second_slope, (second_slope - third) / z])
}

/// One step (spec.md §6, "Step").
fn step<W: Weight>(method: Method, delta: f32, a: W) -> Step<W> {
    let z = a * delta;
    let real = |x: f32| W::zero() + x;
    let (slope, a_bar, h, h_by) = match method {
        Method::Bilinear => {
            let resolvent = W::one() / (z * -0.5 + 1.0);
            let square = resolvent * resolvent;
            let h_by = [square, square * (0.5 * delta * delta)];
            (square, (z * 0.5 + 1.0) * resolvent, resolvent * delta, h_by)
        }
        Method::Zoh => (z.exp(), z.exp(), real(delta), [W::one(), W::zero()]),
        Method::Rk4 => {
            let h = (((z * (1.0 / 24.0) + 1.0 / 6.0) * z + 0.5) * z + 1.0) * delta;
            let by_delta = ((z * (1.0 / 6.0) + 0.5) * z + 1.0) * z + 1.0;
            let by_a = ((z * 0.125 + 1.0 / 3.0) * z + 0.5) * (delta * delta);
            (z.exp(), z.exp(), h, [by_delta, by_a])
        }
        Method::Foh => {
            let ([first, second, _], [_, slope, _]) = functions(z);
            let square = delta * delta;
            (z.exp(), z.exp(), second * square, [first * delta, slope * (square * delta)])
        }
        Method::Poly => {
            let ([first, second, _], [slope, second_slope, _]) = functions(z);
            let half = 0.5 * delta;
            let by_a = (slope + second_slope * half) * (delta * delta);
            (z.exp(), z.exp(), (first + second * half) * delta, [z.exp() + first * half, by_a])
        }
        Method::HighOrder => {
            let (phi, slope) = functions(z);
            let half = 0.5 * delta;
            let h = (phi[0] + (phi[1] + phi[2] * half) * delta) * delta;
            let by_delta = z.exp() + (phi[0] + phi[1] * half) * delta;
            let by_a = (slope[0] + (slope[1] + slope[2] * half) * delta) * (delta * delta);
            (z.exp(), z.exp(), h, [by_delta, by_a])
        }
    };
    Step { a_bar, a_bar_by: [a * slope, slope * delta], h, h_by }
}

/// What one channel adds to every gradient: values of its own row, and of its weights, state by state.
#[derive(Default)]
struct Share {
    u: Vec<f32>,
    delta: Vec<f32>,
    z: Vec<f32>,
    a: Vec<f32>,
    /// At each position.
    b: Vec<f32>,
    c: Vec<f32>,
    d: f32,
    delta_bias: f32,
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

fn channel<W: Cotangent>(
    method: Method,
    problem: &Problem,
    given: &OutputGradients,
    at: (usize, usize),
) -> Share {
    let (batch, d) = at;
    let len = problem.shape.seqlen;
    let start = problem.sequence_index(batch, d, 0);
    let row = |values: &[f32]| values[start..start + len].to_vec();
    let (u, dout) = (row(&problem.u), row(&given.dout));
    let z = problem.z.as_deref().map(row);
    let bias = problem.delta_bias.as_ref().map_or(0.0, |bias| bias[d]);
    let raw: Vec<f32> = row(&problem.delta).into_iter().map(|delta| delta + bias).collect();
    // As in the forward scan.
    let softplus = |x: f32| if problem.delta_softplus && x <= 20.0 { x.exp().ln_1p() } else { x };
    let delta: Vec<f32> = raw.iter().map(|&x| softplus(x)).collect();
    let skip = problem.d.as_ref().map_or(0.0, |skip| skip[d]);
    let gate = |l: usize| z.as_ref().map_or(1.0, |z| z[l] * sigmoid(z[l]));
    let ungated: Vec<f32> = (0..len).map(|l| dout[l] * gate(l)).collect();
    let both = method.is_bidirectional();
    let omega = if both { 0.5 * W::OMEGA } else { W::OMEGA };

    let mut share = Share { u: ungated.iter().map(|ds| skip * ds).collect(), ..Share::default() };
    let mut y = vec![0.0f32; len];
    let mut by_step = vec![0.0f32; len];
    for n in 0..problem.shape.dstate {
        let operand =
            |values: &[f32], operand, l| W::load(&values[problem.operand_index(operand, at, n, l)..]);
        let b: Vec<W> = (0..len).map(|l| operand(&problem.b, problem.b_operand, l)).collect();
        let c: Vec<W> = (0..len).map(|l| operand(&problem.c, problem.c_operand, l)).collect();
        let a = W::load(&problem.a[problem.weight_index(d, n)..]);
        let steps: Vec<Step<W>> = delta.iter().map(|&delta| step(method, delta, a)).collect();
        let last = given.dlast_state.as_ref();
        let last = last.map_or(W::zero(), |last| W::load(&last[problem.state_index(at, n)..]).conjugated());
        let mut by_a = W::zero();
        let (mut by_b, mut by_c) = (vec![W::zero(); len], vec![W::zero(); len]);
        // A direction's positions in the order of its scan, and what arrives at its last state.
        let forward: Vec<usize> = (0..len).collect();
        let reversed: Vec<usize> = (0..len).rev().collect();
        let directions = [(forward, last), (reversed, W::zero())];
        for (order, arriving) in directions.into_iter().take(if both { 2 } else { 1 }) {
            let mut states = Vec::with_capacity(len + 1);
            states.push(W::zero());
            for (i, &l) in order.iter().enumerate() {
                let x = states[i];
                states.push(steps[l].a_bar * x + steps[l].h * b[l] * u[l]);
            }
            let mut returned = arriving;
            for (i, &l) in order.iter().enumerate().rev() {
                let (before, x, e) = (states[i], states[i + 1], omega * ungated[l]);
                let p = c[l] * e + returned;
                returned = steps[l].a_bar * p;
                let (by_transition, by_input) = (p * before, p * b[l]);
                y[l] += omega * c[l].real_product(x);
                share.u[l] += steps[l].h.real_product(by_input);
                by_step[l] += steps[l].a_bar_by[0].real_product(by_transition);
                by_step[l] += steps[l].h_by[0].real_product(by_input) * u[l];
                by_a = by_a + steps[l].a_bar_by[1] * by_transition;
                // zoh's h has no A in it: 0 times a NaN of u or B would be one.
                if method != Method::Zoh {
                    by_a = by_a + steps[l].h_by[1] * by_input * u[l];
                }
                by_b[l] = by_b[l] + steps[l].h * p * u[l];
                by_c[l] = by_c[l] + x * e;
            }
        }
        by_a.conjugated().store(&mut share.a);
        by_b.iter().for_each(|x| x.conjugated().store(&mut share.b));
        by_c.iter().for_each(|x| x.conjugated().store(&mut share.c));
    }
    // From e^x, as PyTorch has it: 1/(1 + e^−x) is 0 below −88.7, where the slope is not yet.
    let slope = |x: f32| if problem.delta_softplus && x <= 20.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 };
    share.delta = by_step.iter().zip(&raw).map(|(by, &raw)| by * slope(raw)).collect();
    share.delta_bias = share.delta.iter().sum();
    share.d = ungated.iter().zip(&u).map(|(ds, u)| ds * u).sum();
    if let Some(z) = &z {
        let slope = |z: f32| sigmoid(z) * (1.0 + z * sigmoid(-z));
        share.z = (0..len).map(|l| dout[l] * (y[l] + skip * u[l]) * slope(z[l])).collect();
    }
    share
}

/// The gradients of every input that the problem has.
///
/// # Errors
/// [`KernelError::Unsupported`] where a tensor is not as large as the shape says.
pub fn gradients(method: Method, problem: &Problem, given: &OutputGradients) -> Result<Gradients<f32>> {
    shapes::check_backward(problem, given)?;
    let of_channel = match problem.weights {
        Weights::Real => channel::<f32>,
        Weights::Complex => channel::<Complex32>,
    };
    let channels: Vec<(usize, usize)> = problem.channels().collect();
    let shares: Vec<Share> = channels.par_iter().map(|&at| of_channel(method, problem, given, at)).collect();
    let names = [U, Delta, A, B, C, D, Z, DeltaBias];
    let there = names.into_iter().zip(problem.inputs()).filter(|(_, (_, values, _))| values.is_some());
    let mut values: Gradients<f32> =
        there.map(|(name, (_, _, len))| (name, problem.gradient(name, vec![0.0; len]))).collect();
    let width = problem.weights.width();
    for (&at, share) in channels.iter().zip(&shares) {
        let mut add = |name, start: usize, added: &[f32]| {
            if let Some(tensor) = values.get_mut(name) {
                tensor.values[start..].iter_mut().zip(added).for_each(|(sum, value)| *sum += value);
            }
        };
        let start = problem.sequence_index(at.0, at.1, 0);
        for (name, row) in [(U, &share.u), (Delta, &share.delta), (Z, &share.z)] {
            add(name, start, row);
        }
        add(A, problem.weight_index(at.1, 0), &share.a);
        for (name, operand, added) in [(B, problem.b_operand, &share.b), (C, problem.c_operand, &share.c)] {
            let of_state = problem.shape.seqlen * width;
            for (n, added) in added.chunks(of_state).enumerate() {
                let to = problem.operand_index(operand, at, n, 0);
                match operand {
                    Operand::Variable => add(name, to, added),
                    Operand::Constant => added.chunks(width).for_each(|value| add(name, to, value)),
                }
            }
        }
        add(D, at.1, &[share.d]);
        add(DeltaBias, at.1, &[share.delta_bias]);
    }
    for (_, tensor) in values.iter_mut() {
        let element = tensor.element;
        tensor.values.iter_mut().for_each(|value| *value = element.round(*value));
    }
    Ok(values)
}

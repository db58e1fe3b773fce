//! What a store rounds, and what a load must not: outputs that are one number, whole.

use num_complex::Complex64;

use super::laws::{Bench, LawResult};
use crate::judge::invariants::comparison::Budgeted;
use crate::judge::invariants::{Comparison, ProbeRun};
use crate::problem::inputs::Draw;
use crate::problem::{InputType, Operand, Problem, Shape, Weights};
use crate::tensor::TensorName;

/// Neighbours among which numbers to be rounded are chosen, beside the special ones.
const RANDOM: usize = 128;

/// Channels of the problem that holds every 16-bit number.
const CHANNELS: usize = 64;

pub fn stored_rounding(bench: &Bench, c: &mut Comparison) -> LawResult<()> {
    for &input in bench.subject.inputs {
        let mut draw = Draw::new(bench.subject.seed, &format!("invariants/stored/{input}"));
        // Each channel's D, as it is stored.
        let d = to_be_rounded(input, &mut draw);
        let shape = Shape { batch: 1, dim: d.len(), dstate: 1, seqlen: 1, groups: 1 };
        let skipped = silent(bench.problem.weights, input, shape, vec![1.0; d.len()], d);
        compare(bench, c, &format!("D as {input}"), &skipped)?;
        if input == InputType::F32 {
            continue;
        }
        // Every number of 16 bits, loaded and stored.
        let u: Vec<f32> = (0..=u16::MAX)
            .map(|bits| Some(of_bits(input, bits)).filter(|u| u.is_finite()).unwrap_or(1.0))
            .collect();
        let shape = Shape { dim: CHANNELS, seqlen: u.len() / CHANNELS, ..shape };
        let loaded = silent(bench.problem.weights, input, shape, u, vec![1.0; CHANNELS]);
        compare(bench, c, &format!("every u of {input}"), &loaded)?;
    }
    Ok(())
}

fn compare(bench: &Bench, c: &mut Comparison, how: &str, problem: &Problem) -> LawResult<()> {
    let output = bench.subject.backend.scan(bench.method, problem)?;
    let got = ProbeRun::exact(&output);
    let skip = problem.d.as_deref().unwrap_or_default();
    let mut want = got.clone();
    want.tensors[TensorName::LastState].values.fill(Complex64::ZERO);
    let out = &mut want.tensors[TensorName::Out].values;
    for (i, (out, u)) in out.iter_mut().zip(&problem.u).enumerate() {
        let product = problem.input.round(skip[i / problem.shape.seqlen] * u);
        *out = Complex64::new(product.into(), 0.0);
    }
    c.not_a_number(how, &got, &want, Budgeted::Exactly, |name, at| {
        Some(name == TensorName::Out && skip[at[1]].is_nan())
    });
    Ok(())
}

/// A problem of which nothing but D·u is left.
fn silent(weights: Weights, input: InputType, shape: Shape, u: Vec<f32>, d: Vec<f32>) -> Problem {
    let constant = |value: f32| vec![value; shape.dim * shape.dstate * weights.width()];
    Problem {
        shape,
        weights,
        input,
        b_operand: Operand::Constant,
        c_operand: Operand::Constant,
        delta: vec![0.5; u.len()],
        u,
        a: constant(-1.0),
        b: constant(0.0),
        c: constant(1.0),
        d: Some(d),
        z: None,
        delta_bias: None,
        delta_softplus: false,
        initial_state: None,
        conventions: Default::default(),
        judged_channels: (0..shape.dim).map(|channel| (0, channel)).collect(),
        held: None,
        packed: None,
    }
}

/// The number of these bits; of f32 the one that begins with them.
fn of_bits(input: InputType, bits: u16) -> f32 {
    match input {
        InputType::F16 => half::f16::from_bits(bits).to_f32(),
        InputType::Bf16 | InputType::F32 => f32::from_bits(u32::from(bits) << 16),
    }
}

/// Numbers of the type, the middles between neighbours, and the floats beside these; then what is no number.
fn to_be_rounded(input: InputType, draw: &mut Draw) -> Vec<f32> {
    let infinity = match input {
        InputType::F16 => 0x7c00,
        InputType::Bf16 | InputType::F32 => 0x7f80,
    };
    let ends = [0, 1, 2, infinity - 2, infinity - 1];
    let random: Vec<u16> = (0..RANDOM).map(|_| (draw.unit() * f64::from(infinity)) as u16).collect();
    let mut values = vec![f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    for bits in ends.into_iter().chain(random) {
        let of = |bits: u16| f64::from(of_bits(input, bits));
        // Past the largest number the next one is as far away as the one before.
        let upper = if bits + 1 == infinity { 2.0 * of(bits) - of(bits - 1) } else { of(bits + 1) };
        let (lower, middle) = (of(bits) as f32, (0.5 * (of(bits) + upper)) as f32);
        let sign = if draw.unit() < 0.5 { 1.0 } else { -1.0 };
        values.extend([lower, middle, middle.next_up(), middle.next_down()].map(|value| sign * value));
    }
    // A skip of −0 is stored as 0 + (−0)·1.
    values.retain(|value| *value != 0.0);
    values
}

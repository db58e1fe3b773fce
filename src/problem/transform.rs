//! Problems made from other problems: what an invariant compares a problem with. Pure, and exact wherever the
//! result has to be a number of f32: values are moved, negated, or scaled by powers of two.

use super::{Operand, Problem};

/// Where a value of a tensor belongs; `None` along the axes that the tensor lacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct ValueIndex {
    pub batch: Option<usize>,
    pub channel: Option<usize>,
    /// Of a variable B or C only.
    pub group: Option<usize>,
    pub state: Option<usize>,
    pub l: Option<usize>,
}

/// u, B and C rounded to multiples of 2⁻⁸: sums of two of them are exact in f32 while they stay below 2¹⁵.
pub fn quantized(mut problem: Problem) -> Problem {
    for values in [&mut problem.u, &mut problem.b, &mut problem.c] {
        values.iter_mut().for_each(to_multiple);
    }
    problem
}

/// Rounds to a multiple of 2⁻⁸.
pub fn to_multiple(value: &mut f32) {
    *value = (*value * 256.0).round() / 256.0;
}

/// Every value times `factor`; exact for powers of two, barring overflow and underflow.
pub fn scaled(values: &[f32], factor: f32) -> Vec<f32> {
    values.iter().map(|value| value * factor).collect()
}

/// left + right; exact for [`quantized`] values.
pub fn sum(left: &[f32], right: &[f32]) -> Vec<f32> {
    left.iter().zip(right).map(|(l, r)| l + r).collect()
}

/// Complex values, re and im interleaved, times i (`sign` = 1) or −i (−1): exact.
pub fn times_i(values: &[f32], sign: f32) -> Vec<f32> {
    values.chunks(2).flat_map(|v| [-sign * v[1], sign * v[0]]).collect()
}

/// Complex values, re and im interleaved, conjugated.
pub fn conjugate(values: &[f32]) -> Vec<f32> {
    values.chunks(2).flat_map(|v| [v[0], -v[1]]).collect()
}

/// A, B and C of complex weights conjugated.
pub fn conjugated(problem: &Problem) -> Problem {
    Problem {
        a: conjugate(&problem.a),
        b: conjugate(&problem.b),
        c: conjugate(&problem.c),
        initial_state: problem.initial_state.as_deref().map(conjugate),
        ..problem.clone()
    }
}

/// (A, B, Δ) → (A/s, B/s, sΔ): the same system in another unit of time. Exact for powers of two; only for problems
/// without softplus, which knows no unit.
pub fn time_scaled(problem: &Problem, s: f32) -> Problem {
    Problem {
        a: scaled(&problem.a, 1.0 / s),
        b: scaled(&problem.b, 1.0 / s),
        delta: scaled(&problem.delta, s),
        delta_bias: problem.delta_bias.as_ref().map(|bias| scaled(bias, s)),
        ..problem.clone()
    }
}

/// The problem whose states and positions are those listed, in that order: permuted, repeated, reversed, cut.
pub fn select(problem: &Problem, states: &[usize], positions: &[usize]) -> Problem {
    let mut shape = problem.shape;
    (shape.dstate, shape.seqlen) = (states.len(), positions.len());
    let (dstate, seqlen, width) = (problem.shape.dstate, problem.shape.seqlen, problem.weights.width());
    let sequence = |values: &[f32]| -> Vec<f32> {
        values.chunks(seqlen).flat_map(|row| positions.iter().map(|&l| row[l])).collect()
    };
    let weights = |values: &[f32]| -> Vec<f32> {
        let rows = values.chunks(dstate * width);
        rows.flat_map(|row| states.iter().flat_map(|&n| row[n * width..][..width].to_vec())).collect()
    };
    let operand = |kind, values: &[f32]| match kind {
        Operand::Constant => weights(values),
        Operand::Variable => {
            let mut picked = Vec::new();
            for group in values.chunks(dstate * seqlen * width) {
                for &n in states {
                    for &l in positions {
                        picked.extend_from_slice(&group[(n * seqlen + l) * width..][..width]);
                    }
                }
            }
            picked
        }
    };
    Problem {
        shape,
        u: sequence(&problem.u),
        delta: sequence(&problem.delta),
        a: weights(&problem.a),
        b: operand(problem.b_operand, &problem.b),
        c: operand(problem.c_operand, &problem.c),
        z: problem.z.as_deref().map(sequence),
        initial_state: problem.initial_state.as_deref().map(weights),
        ..problem.clone()
    }
}

/// The problem with one position more in front, of step `delta`, input `u` and the given variable B, (batch, groups,
/// dstate)·w. C, and the gate, are zero there. Only for problems without bias, softplus and constant B.
pub fn prepended(problem: &Problem, delta: f32, u: f32, b: &[f32]) -> Problem {
    let (seqlen, width) = (problem.shape.seqlen, problem.weights.width());
    let sequence = |values: &[f32], first: f32| -> Vec<f32> {
        values.chunks(seqlen).flat_map(|row| [&[first], row].concat()).collect()
    };
    let rows = |values: &[f32], first: &dyn Fn(usize) -> Vec<f32>| -> Vec<f32> {
        let rows = values.chunks(seqlen * width).enumerate();
        rows.flat_map(|(i, row)| [&first(i)[..], row].concat()).collect()
    };
    let mut shape = problem.shape;
    shape.seqlen += 1;
    Problem {
        shape,
        u: sequence(&problem.u, u),
        delta: sequence(&problem.delta, delta),
        b: rows(&problem.b, &|i| b[i * width..][..width].to_vec()),
        c: match problem.c_operand {
            Operand::Constant => problem.c.clone(),
            Operand::Variable => rows(&problem.c, &|_| vec![0.0; width]),
        },
        z: problem.z.as_ref().map(|z| sequence(z, 0.0)),
        ..problem.clone()
    }
}

/// The problem with the values of `other`, which is of the same shape, at the places that `picked` picks.
pub fn grafted(problem: &Problem, other: &Problem, picked: &dyn Fn(ValueIndex) -> bool) -> Problem {
    let shape = problem.shape;
    let width = problem.weights.width();
    let graft = |to: &[f32], from: &[f32], place: &dyn Fn(usize) -> ValueIndex| -> Vec<f32> {
        (0..to.len()).map(|i| if picked(place(i)) { from[i] } else { to[i] }).collect()
    };
    let sequence = |i: usize| ValueIndex {
        batch: Some(i / shape.seqlen / shape.dim),
        channel: Some(i / shape.seqlen % shape.dim),
        l: Some(i % shape.seqlen),
        ..ValueIndex::default()
    };
    let weight = |i: usize| ValueIndex {
        channel: Some(i / width / shape.dstate),
        state: Some(i / width % shape.dstate),
        ..ValueIndex::default()
    };
    let row = |i: usize| i / width / shape.seqlen;
    let variable = |i: usize| ValueIndex {
        batch: Some(row(i) / shape.dstate / shape.groups),
        group: Some(row(i) / shape.dstate % shape.groups),
        state: Some(row(i) % shape.dstate),
        l: Some(i / width % shape.seqlen),
        ..ValueIndex::default()
    };
    let channel = |i: usize| ValueIndex { channel: Some(i), ..ValueIndex::default() };
    let operand = |kind, to: &[f32], from: &[f32]| match kind {
        Operand::Constant => graft(to, from, &weight),
        Operand::Variable => graft(to, from, &variable),
    };
    let optional = |to: &Option<Vec<f32>>, from: &Option<Vec<f32>>, place: &dyn Fn(usize) -> ValueIndex| {
        to.as_deref().zip(from.as_deref()).map(|(to, from)| graft(to, from, place))
    };
    Problem {
        u: graft(&problem.u, &other.u, &sequence),
        delta: graft(&problem.delta, &other.delta, &sequence),
        a: graft(&problem.a, &other.a, &weight),
        b: operand(problem.b_operand, &problem.b, &other.b),
        c: operand(problem.c_operand, &problem.c, &other.c),
        d: optional(&problem.d, &other.d, &channel),
        z: optional(&problem.z, &other.z, &sequence),
        delta_bias: optional(&problem.delta_bias, &other.delta_bias, &channel),
        ..problem.clone()
    }
}

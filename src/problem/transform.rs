//! Problems made from other problems: what an invariant compares a problem with. Pure, and exact wherever the
//! result has to be a number of f32: values are moved, negated, or scaled by powers of two.

use super::{Problem, Shape};
use crate::tensor::GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};

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
    problem.with_inputs(|name, values| match name {
        A | B | C | InitialState => conjugate(values),
        U | Delta | D | Z | DeltaBias => values.to_vec(),
    })
}

/// (A, B, Δ) → (A/s, B/s, sΔ): the same system in another unit of time. Exact for powers of two; only for problems
/// without softplus, which knows no unit.
pub fn time_scaled(problem: &Problem, s: f32) -> Problem {
    problem.with_inputs(|name, values| match name {
        A | B => scaled(values, 1.0 / s),
        Delta | DeltaBias => scaled(values, s),
        U | C | D | Z | InitialState => values.to_vec(),
    })
}

/// The problem whose states and positions are those listed, in that order: permuted, repeated, reversed, cut.
pub fn select(problem: &Problem, states: &[usize], positions: &[usize]) -> Problem {
    let selected = problem.with_inputs(|name, values| {
        let [width, len, rows] = problem.grid(name);
        let states = if matches!(name, A | B | C | InitialState) { states } else { &[0] };
        let positions = if problem.varies(name) { positions } else { &[0] };
        let mut picked = Vec::new();
        for block in values.chunks(rows * len * width) {
            for &n in states {
                for &l in positions {
                    picked.extend_from_slice(&block[(n * len + l) * width..][..width]);
                }
            }
        }
        picked
    });
    Problem { shape: Shape { dstate: states.len(), seqlen: positions.len(), ..problem.shape }, ..selected }
}

/// The problem with one position more in front, of step `delta`, input `u` and the given variable B, (batch, groups,
/// dstate)·w. C, and the gate, are zero there. Only for problems without bias, softplus and constant B.
pub fn prepended(problem: &Problem, delta: f32, u: f32, b: &[f32]) -> Problem {
    let longer = problem.with_inputs(|name, values| {
        if !problem.varies(name) {
            return values.to_vec();
        }
        let [width, len, _] = problem.grid(name);
        let first = |row: usize| match name {
            U => vec![u],
            Delta => vec![delta],
            B => b[row * width..][..width].to_vec(),
            _ => vec![0.0; width],
        };
        let rows = values.chunks(len * width).enumerate();
        rows.flat_map(|(row, values)| [&first(row)[..], values].concat()).collect()
    });
    Problem { shape: Shape { seqlen: problem.shape.seqlen + 1, ..problem.shape }, ..longer }
}

/// The problem with the values of `other`, which is of the same shape, at the places that `picked` picks; with its own initial state.
pub fn grafted(problem: &Problem, other: &Problem, picked: &dyn Fn(ValueIndex) -> bool) -> Problem {
    problem.with_inputs(|name, own| {
        let (_, Some(other), _) = other.inputs()[name as usize] else { return own.to_vec() };
        let ([width, len, rows], varies) = (problem.grid(name), problem.varies(name));
        let is_of_groups = varies && matches!(name, B | C);
        let has_states = matches!(name, A | B | C);
        let count = if is_of_groups { problem.shape.groups } else { problem.shape.dim };
        let place = |i: usize| {
            let (l, row) = (i / width % len, i / width / len);
            let (batch, own) = (row / rows / count, row / rows % count);
            ValueIndex {
                batch: varies.then_some(batch),
                channel: (!is_of_groups).then_some(own),
                group: is_of_groups.then_some(own),
                state: has_states.then_some(row % rows),
                l: varies.then_some(l),
            }
        };
        let picks = |i: usize| name != InitialState && picked(place(i));
        (0..own.len()).map(|i| if picks(i) { other[i] } else { own[i] }).collect()
    })
}

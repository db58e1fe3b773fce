//! Names what a failed sweep of coefficients computes. Each element (Δ, A, B) is a channel of a scan of one position, whose edits are
//! looked for as those of any scan.
//!
//! An item that starts from a state of 1 and has no input returns Ā, and one that starts from 0 and has an input of 1 returns B̄. Of
//! complex weights each of these is two items, one for either part, which C selects: 2 Re(½ x) = Re x, 2 Re(−½i x) = Im x.
//! Poly's scan against the sequence is left out.

use super::{Case, Work};
use crate::formula::Form;
use crate::judge::budget::{Bounds, Budget};
use crate::judge::explain;
use crate::problem::{CoefficientProblem, InputType, Operand, Problem, Shape, Weights};
use crate::promise::allowance::{COEFFICIENT, HALF_SUBNORMAL};
use crate::results::Diagnosis;
use crate::sorted;
use crate::tensor::{TensorName, Tensors};

/// Explains computed coefficients (f32, (n)·w; Ā and B̄), of which the truth says `want`, best first.
pub fn diagnose(
    form: impl Into<Form>,
    problem: &CoefficientProblem,
    got: (&[f32], &[f32]),
    want: (&[f64], &[f64]),
    work: &Work,
) -> Vec<Diagnosis> {
    let form = form.into();
    let width = problem.weights.width();
    let each = [got.0, got.1].into_iter().zip([want.0, want.1]);
    // The contract is normwise.
    let bound = |want: &[f64]| COEFFICIENT * norm(want) + 2.0 * HALF_SUBNORMAL;
    let ratio = |element: usize| {
        let at = element * width..(element + 1) * width;
        let of = each.clone().map(|(got, want)| {
            let (got, want) = (&got[at.clone()], &want[at.clone()]);
            let off: Vec<f64> = got.iter().zip(want).map(|(got, want)| f64::from(*got) - want).collect();
            norm(&off) / bound(want)
        });
        of.fold(0.0, |most: f64, ratio| if ratio.is_nan() { f64::INFINITY } else { most.max(ratio) })
    };
    let chosen = chosen(problem.delta.len(), ratio);
    let scan = one_step(problem, &chosen);
    let (mut got_out, mut want_out, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
    for (got, want) in each.clone() {
        for part in 0..width {
            let of = |element: &usize| element * width + part;
            got_out.extend(chosen.iter().map(|element| f64::from(got[of(element)])));
            want_out.extend(chosen.iter().map(|element| want[of(element)]));
            bounds.extend(chosen.iter().map(|element| bound(&want[element * width..][..width])));
        }
    }
    let nothing = vec![0.0; bounds.len()];
    let bounds = Bounds {
        value: want_out.clone(),
        worst_case: bounds.clone(),
        bound: bounds,
        store: nothing.clone(),
        rounding: nothing,
    };
    let of = |values| -> Tensors<f64> {
        [(TensorName::Out, scan.judged_tensor(TensorName::Out, values))].into_iter().collect()
    };
    let case = Case {
        form,
        problem: &scan,
        got: &of(got_out),
        want: &of(want_out),
        budget: &Budget { tensors: [(TensorName::Out, bounds)].into_iter().collect(), repeats: 1.0 },
        work,
    };
    explain::of_coefficients(&case)
}

/// Elements that are looked at: those with the largest errors, and as many others, by turns: right ones refute, too.
const LOOKED_AT: usize = 64;

fn chosen(count: usize, ratio: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    sorted::by_number(&mut all, &|element| -ratio(*element));
    let others = all.split_off(count.min(LOOKED_AT));
    all.extend(others.iter().step_by(others.len().div_ceil(LOOKED_AT).max(1)));
    all.sort_unstable();
    all
}

fn norm(parts: &[f64]) -> f64 {
    parts.iter().map(|part| part * part).sum::<f64>().sqrt()
}

/// The scan whose outputs are Ā of these elements, and then B̄.
fn one_step(problem: &CoefficientProblem, elements: &[usize]) -> Problem {
    let (n, weights) = (elements.len(), problem.weights);
    let of = |values: &[f32], width: usize| -> Vec<f32> {
        elements.iter().flat_map(|element| values[element * width..][..width].iter().copied()).collect()
    };
    let selections: &[[f32; 2]] = match weights {
        Weights::Real => &[[1.0, 0.0]],
        Weights::Complex => &[[0.5, 0.0], [0.0, -0.5]],
    };
    let parts = selections.len();
    let items = 2 * parts;
    // A number for each item of Ā, and another one for those of B̄.
    let each = |of_a_bar: f32, of_b_bar: f32, count: usize| {
        let values = [of_a_bar, of_b_bar].map(|value| vec![value; parts * count]);
        values.concat()
    };
    let width = weights.width();
    let starts = each(1.0, 0.0, n).into_iter().flat_map(|re| [re, 0.0].into_iter().take(width));
    let c = selections.iter().cycle().take(items).flat_map(|part| part.iter().copied().take(width));
    Problem {
        shape: Shape { batch: items, dim: n, dstate: 1, seqlen: 1, groups: 1 },
        weights,
        input: InputType::F32,
        b_operand: Operand::Constant,
        c_operand: Operand::Variable,
        u: each(0.0, 1.0, n),
        delta: of(&problem.delta, 1).repeat(items),
        a: of(&problem.a, width),
        b: of(&problem.b, width),
        c: c.collect(),
        d: None,
        z: None,
        delta_bias: None,
        delta_softplus: false,
        initial_state: Some(starts.collect()),
        conventions: Default::default(),
        judged_channels: (0..items).flat_map(|item| (0..n).map(move |channel| (item, channel))).collect(),
        held: None,
        packed: None,
    }
}

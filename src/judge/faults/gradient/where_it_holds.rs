//! Where something is wrong that is right elsewhere: above or below a limit of what stands at the same position.

use std::fmt;

use super::diagnose::{Look, TELLING};
use crate::judge::numbers::roundest;
use crate::tensor::GradientName::{Delta, U, Z};

/// A set of positions.
pub struct Limit {
    what: &'static str,
    is_above: bool,
    text: String,
    holds: Vec<bool>,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Limit { what, text, .. } = self;
        write!(f, "where {what} is {} {text}", if self.is_above { "at least" } else { "below" })
    }
}

impl Limit {
    /// The model where it holds, and what is right elsewhere.
    pub fn of(&self, look: &Look, model: &[f64]) -> Vec<f64> {
        let want = &look.case.want[look.name].values;
        let pairs = model.iter().zip(want).zip(&self.holds);
        pairs.map(|((model, want), holds)| if *holds { *model } else { *want }).collect()
    }
}

/// The limit that separates what is as the model has it from what is right: enough of either, that are not both.
pub fn limit(look: &Look, model: &[f64]) -> Option<Limit> {
    if !matches!(look.name, U | Delta | Z) || look.case.problem.shared_by(look.name).is_some() {
        return None;
    }
    let (got, want) = (&look.case.got[look.name].values, &look.case.want[look.name].values);
    let bounds = &look.case.bounds[look.name];
    let near = |values: &[f64], i: usize| (got[i] - values[i]).abs() <= bounds[i];
    let wrong: Vec<usize> = (0..got.len()).filter(|&i| !near(want, i)).collect();
    let right: Vec<usize> = (0..got.len()).filter(|&i| near(want, i) && !near(model, i)).collect();
    if wrong.len() < TELLING || right.len() < TELLING || !wrong.iter().all(|&i| near(model, i)) {
        return None;
    }
    quantities(look).into_iter().find_map(|(what, values)| {
        let range = |of: &[usize]| {
            of.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &i| {
                (low.min(values[i]), high.max(values[i]))
            })
        };
        let (wrong, right) = (range(&wrong), range(&right));
        let is_above = right.1 < wrong.0;
        let (below, above) = if is_above { (right.1, wrong.0) } else { (wrong.1, right.0) };
        if below.is_nan() || above.is_nan() || below >= above {
            return None;
        }
        let limit = match (below < 0.0, above > 0.0) {
            (true, true) => 0.0,
            // What is at the lower end is below the limit, and what is at the upper one is not.
            (true, false) => -roundest((-above).next_down(), (-below).next_down())?,
            _ => roundest(below, above)?,
        };
        let holds = values.iter().map(|&value| (value >= limit) == is_above).collect();
        Some(Limit { what, is_above, text: format!("{limit}"), holds })
    })
}

/// What stands at each element, likelier limits first.
fn quantities(look: &Look) -> Vec<(&'static str, Vec<f64>)> {
    let problem = look.case.problem;
    let (dim, seqlen) = (problem.shape.dim, problem.shape.seqlen);
    let at = |i: usize| (i / seqlen / dim, i / seqlen % dim, i % seqlen);
    let len = look.case.want[look.name].values.len();
    let of = |values: &[f32]| -> Vec<f64> {
        let index = |(batch, d, l)| problem.sequence_index(batch, d, l);
        (0..len).map(|i| f64::from(values[index(at(i))])).collect()
    };
    let sizes = |values: &[f64]| values.iter().map(|value| value.abs()).collect::<Vec<f64>>();
    let delta = of(&problem.delta);
    let bias = |i: usize| problem.delta_bias.as_ref().map_or(0.0, |bias| f64::from(bias[at(i).1]));
    let biased: Vec<f64> = delta.iter().enumerate().map(|(i, delta)| delta + bias(i)).collect();
    let softplus = |x: &f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    let mut all = Vec::new();
    if problem.delta_softplus {
        all.push(("Δ", biased.iter().map(softplus).collect()));
        all.push(("delta + bias", biased));
        all.push(("delta", delta));
    } else {
        all.push(("Δ", biased));
        all.push(("delta", delta));
    }
    if let Some(z) = problem.z.as_ref().map(|z| of(z)) {
        all.push(("|z|", sizes(&z)));
        all.push(("z", z));
    }
    let (u, dout) = (of(&problem.u), of(&look.case.given.dout));
    all.extend([("|u|", sizes(&u)), ("u", u), ("|dout|", sizes(&dout)), ("dout", dout)]);
    all.push(("its size", sizes(&look.case.want[look.name].values)));
    all
}

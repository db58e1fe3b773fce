//! Channels in which alone a run fails: others that pass are evidence, too, so that a hypothesis may hold in these alone.

use crate::judge::diagnose::Case;
use crate::judge::location::{Along, Indices};
use crate::problem::stretch::Inputs as _;
use crate::tensor::TensorName;

/// Axes along which channels lie.
const OF_CHANNELS: [&str; 3] = ["item", "head", "channel"];

/// Some of the judged channels.
pub struct Part {
    /// Their rows among those that are judged.
    pub rows: Vec<usize>,
    /// The shortest true rule for them, in words, where all channels are judged.
    pub described: String,
}

/// The channels that fail, where others pass and a short rule is true of all of them.
pub fn failing(case: &Case, tensors: &[TensorName]) -> Option<Part> {
    let channels = &case.problem.judged_channels;
    let fails: Vec<bool> = (0..channels.len()).map(|row| is_wrong(case, tensors, row)).collect();
    if !fails.contains(&true) || !fails.contains(&false) {
        return None;
    }
    let rows = (0..channels.len()).filter(|&row| fails[row]).collect();
    Some(Part { rows, described: described(case, &fails, "in the channels that fail")? })
}

/// The shortest rule that is true of these judged channels and of no others, in words; nothing of all. Where only some channels are judged
/// no rule is known to be true of the others, and they are called something else.
pub fn described(case: &Case, is_one: &[bool], of_some: &str) -> Option<String> {
    if !is_one.contains(&false) {
        return Some(String::new());
    }
    let channels = &case.problem.judged_channels;
    let (outline, shape) = (case.problem.outline(), case.problem.shape);
    let whole = outline.tensor(TensorName::Out, Vec::<f64>::new()).shape;
    let axes: Vec<(&'static str, usize)> = outline.recorded_axes(TensorName::Out, &whole);
    let indices: Vec<Vec<usize>> = channels
        .iter()
        .map(|&(item, channel)| outline.recorded_index(TensorName::Out, vec![item, channel, 0]))
        .collect();
    let mut is_in_part = vec![true; channels.len()];
    let mut phrases = Vec::new();
    for (axis, &(noun, len)) in
        axes.iter().enumerate().filter(|(_, axis)| axis.1 > 1 && OF_CHANNELS.contains(&axis.0))
    {
        let (mut judged, mut chosen) = (vec![false; len], vec![false; len]);
        for (index, is_one) in indices.iter().zip(is_one) {
            judged[index[axis]] = true;
            chosen[index[axis]] |= is_one;
        }
        let set = Indices::shortest(&judged, &chosen)?;
        if !set.is_rule() {
            return None;
        }
        is_in_part.iter_mut().zip(&indices).for_each(|(is_in, index)| *is_in &= set.contains(index[axis]));
        if set != Indices::All {
            let judged = judged.iter().filter(|judged| **judged).count();
            phrases.push(Along { noun, len, judged, set }.to_string());
        }
    }
    let has_all = channels.len() == shape.batch * shape.dim;
    let described = if has_all { format!("in {} alone", phrases.join(", ")) } else { of_some.to_owned() };
    (is_in_part == is_one).then_some(described)
}

/// Whether anything of these tensors in a channel is beyond its bound.
pub fn is_wrong(case: &Case, tensors: &[TensorName], row: usize) -> bool {
    let of = case.got.zip(case.want).filter(|(name, ..)| tensors.contains(name));
    of.into_iter().any(|(name, got, want)| {
        let bounds = &case.budget.tensors[name].bound;
        let len = got.values.len() / case.problem.judged_channels.len();
        (row * len..(row + 1) * len)
            .any(|i| super::is_wrong(got.values[i], want.values[i], bounds[i / want.width]))
    })
}

//! Places of a tensor's elements that fail: short rules, each true of the indices along one axis at which some element fails. They
//! take one look at each element that fails, and say nothing of a cause.

use super::budget::Bounds;
use super::quick::QuickTally;
use super::ulp::Format;
use super::verdict::Element;
use crate::problem::Problem;
use crate::problem::stretch::{Inputs as _, Outline};
use crate::results::{CaseResult, TensorResult, Verdict, Wrong};
use crate::tensor::{GradientName, Tensor, TensorName};

/// Values in the place of right ones, as [`Wrong::values`] has them; the first stands for any.
const VALUES: [&str; 4] = ["", "0", "infinite", "NaN"];

/// Periods of an axis that are tried.
const PERIODS: std::ops::RangeInclusive<usize> = 3..=64;

/// Axes along which channels lie.
const OF_CHANNELS: [&str; 3] = ["item", "head", "channel"];

/// Indices of a list that are named.
const NAMED: usize = 3;

/// Axis of a tensor: the noun for one of its indices, and which of these are judged, and have failures of each kind.
#[derive(Clone, Debug)]
struct Axis {
    noun: &'static str,
    judged: Vec<bool>,
    wrong: [Vec<bool>; VALUES.len()],
}

impl Axis {
    fn new((noun, len): (&'static str, usize)) -> Self {
        Axis { noun, judged: vec![true; len], wrong: std::array::from_fn(|_| vec![false; len]) }
    }
}

/// Elements of one tensor that fail.
#[derive(Clone, Debug)]
pub struct Places {
    axes: Vec<Axis>,
    judged: usize,
    /// How many there are of each kind, and the index of the first.
    found: [(usize, Vec<usize>); VALUES.len()],
}

impl Places {
    fn new(axes: Vec<Axis>) -> Self {
        Places { axes, judged: 0, found: Default::default() }
    }

    /// Places in a tensor with these axes, each by the noun for an index and how many there are.
    pub fn of_axes(axes: impl Iterator<Item = (&'static str, usize)>) -> Self {
        Places::new(axes.map(Axis::new).collect())
    }

    /// Places in a gradient, which has the layout of its input.
    pub fn of_gradient<T>(outline: Outline, name: GradientName, tensor: &Tensor<T>) -> Self {
        Places::of_axes(outline.recorded_axes(name, &tensor.shape).into_iter())
    }

    /// Adds an element, which is at this index where it fails.
    pub fn add(&mut self, element: Element, format: Format, index: impl FnOnce() -> Vec<usize>) {
        self.judged += 1;
        let within = element.bound == f64::INFINITY || element.distance(format).ratio <= 1.0;
        if within && !element.got.is_nan() {
            return;
        }
        let kind = match element.got {
            got if got.is_nan() => 3,
            got if got.is_infinite() => 2,
            0.0 => 1,
            _ => 0,
        };
        let index = index();
        for (axis, &at) in self.axes.iter_mut().zip(&index) {
            axis.wrong[kind][at] = true;
        }
        let (count, first) = &mut self.found[kind];
        *count += 1;
        if *count == 1 || index < *first {
            *first = index;
        }
    }

    /// All of them together, and then those of one kind, where there are others.
    pub fn wrong(&self) -> Vec<Wrong> {
        let kinds: Vec<usize> = (0..VALUES.len()).filter(|&kind| self.found[kind].0 > 0).collect();
        let of = |values: usize, kinds: &[usize]| {
            let places = self.axes.iter().map(|axis| {
                let is_wrong = |at: usize| kinds.iter().any(|&kind| axis.wrong[kind][at]);
                (axis, (0..axis.judged.len()).map(is_wrong).collect::<Vec<bool>>())
            });
            let places: Vec<(&Axis, Vec<bool>)> = places.collect();
            Wrong {
                values: VALUES[values].to_owned(),
                elements: kinds.iter().map(|&kind| self.found[kind].0).sum(),
                judged: self.judged,
                first: kinds.iter().map(|&kind| &self.found[kind].1).min().cloned().unwrap_or_default(),
                places: places
                    .iter()
                    .filter_map(|(axis, wrong)| rule(axis.noun, &axis.judged, wrong))
                    .collect(),
            }
        };
        match kinds[..] {
            [] => Vec::new(),
            [one] => vec![of(one, &kinds)],
            _ => {
                let special = kinds.iter().filter(|kind| **kind > 0).map(|&kind| of(kind, &[kind]));
                std::iter::once(of(0, &kinds)).chain(special).collect()
            }
        }
    }
}

/// Elements of an output's judged channels that fail, at their indices as it was recorded.
pub fn of_output(
    problem: &Problem,
    name: TensorName,
    (got, want): (&Tensor<f64>, &Tensor<f64>),
    bounds: &Bounds,
) -> Vec<Wrong> {
    let (format, outline) = (Format::for_input(want.element), problem.outline());
    let whole = outline.tensor(name, Vec::<f64>::new()).shape;
    let mut axes: Vec<Axis> = outline.recorded_axes(name, &whole).into_iter().map(Axis::new).collect();
    let of_channels = axes.iter_mut().filter(|axis| OF_CHANNELS.contains(&axis.noun));
    of_channels.for_each(|axis| axis.judged.fill(false));
    for &(batch, channel) in &problem.judged_channels {
        let first = [&[batch, channel][..], &vec![0; whole.len() - 2]].concat();
        let index = outline.recorded_index(name, first);
        axes.iter_mut().zip(index).for_each(|(axis, at)| axis.judged[at] = true);
    }
    let mut places = Places::new(axes);
    for (i, (&value, &exact)) in got.values.iter().zip(&want.values).enumerate() {
        let at = i / want.width;
        let element = Element { got: value, want: exact, bound: bounds.bound[at], store: bounds.store[at] };
        places.add(element, format, || outline.recorded_index(name, problem.judged_index(got, i)));
    }
    places.wrong()
}

/// Adds to what is known of some channels of a tensor which items and channels fail by the quick route, of all of them.
pub fn add_channels(case: &mut CaseResult, name: TensorName, outline: Outline, tallies: &[QuickTally]) {
    let Some(TensorResult { verdict: Verdict::Fail, wrong, .. }) = case.tensors.get_mut(name) else { return };
    let (batch, dim) = (outline.shape.batch, outline.shape.dim);
    let axes = outline.recorded_axes(name, &[batch, dim, outline.shape.seqlen]).into_iter().map(Axis::new);
    let mut axes: Vec<Axis> = axes.collect();
    for row in (0..tallies.len()).filter(|&row| tallies[row].failed > 0) {
        let index = outline.recorded_index(name, vec![row / dim, row % dim, 0]);
        axes.iter_mut().zip(index).for_each(|(axis, at)| axis.wrong[0][at] = true);
    }
    let axes = axes.iter().filter(|axis| OF_CHANNELS.contains(&axis.noun));
    let channels: Vec<String> =
        axes.filter_map(|axis| rule(axis.noun, &axis.judged, &axis.wrong[0])).collect();
    if wrong.is_empty() {
        wrong.push(Wrong::default());
    }
    let all = &mut wrong[0];
    let known = all.elements;
    all.elements = tallies.iter().map(|tally| tally.failed).sum();
    all.judged = tallies.iter().map(QuickTally::elements).sum();
    all.places.retain(|place| !OF_CHANNELS.iter().any(|noun| place.contains(noun)));
    if all.elements > known {
        all.values.clear();
        all.places.iter_mut().for_each(|place| place.push_str(" where there is a truth"));
    }
    all.places.splice(..0, channels);
}

/// Rule that is true of those indices, of the judged ones, that are wrong; none for an axis with one.
fn rule(noun: &str, judged: &[bool], wrong: &[bool]) -> Option<String> {
    let all: Vec<usize> = (0..judged.len()).filter(|&at| judged[at]).collect();
    let some: Vec<usize> = all.iter().copied().filter(|&at| wrong[at]).collect();
    let (&[first, ..], &[.., last], true) = (&some[..], &some[..], all.len() > 1) else { return None };
    let right = || all.iter().copied().filter(|&at| !wrong[at]);
    let are = |is_in: &dyn Fn(usize) -> bool| all.iter().all(|&at| wrong[at] == is_in(at));
    let period =
        || PERIODS.take_while(|period| 2 * period <= all.len()).find(|p| are(&|at| at % p == first % p));
    let is_whole = all.len() == judged.len();
    Some(match some.len() {
        count if count == all.len() && is_whole => format!("all {noun}s"),
        count if count == all.len() => format!("all judged {noun}s"),
        1 => format!("{noun} {first}"),
        _ if are(&|at| at >= first) => format!("{noun}s from {first} on"),
        _ if are(&|at| at <= last) => format!("{noun}s up to {last}"),
        _ if are(&|at| (first..=last).contains(&at)) => format!("{noun}s {first} to {last}"),
        _ if all.len() > NAMED && are(&|at| at % 2 == 1) => format!("odd {noun}s"),
        _ if all.len() > NAMED && are(&|at| at % 2 == 0) => format!("even {noun}s"),
        count if count + 1 == all.len() => format!("all {noun}s but {}", right().next()?),
        count if count <= NAMED => {
            let named: Vec<String> = some.iter().map(usize::to_string).collect();
            let (last, others) = named.split_last()?;
            format!("{noun}s {} and {last}", others.join(", "))
        }
        count => match period() {
            Some(period) => format!("each {noun} {} + {period}k", first % period),
            None => format!("{count} of {} {noun}s", all.len()),
        },
    })
}

//! Location of a failure: which elements of a tensor fail, as the shortest rule that is true of those that fail and of those that pass,
//! and what their values are like. It takes one look at each element while that is judged and some more at a tensor that fails, and says
//! nothing of a cause.

mod likeness;
mod mask;
mod rule;

use self::likeness::Factor;
pub use self::likeness::Sources;
pub use self::mask::{Along, Indices, Mask};
pub use self::rule::{Axis, Rule};
use super::budget::{Bounds, ChannelBudget};
use super::quick::{LONG, QuickTally};
use super::ulp::Format;
use super::verdict::Element;
use crate::formula::Form;
use crate::parallel;
use crate::problem::conventions::Direction;
use crate::problem::stretch::{Inputs as _, Outline};
use crate::problem::{OutputGradients, Problem};
use crate::promise::Contract;
use crate::results::Wrong;
use crate::tensor::{ComputedName, GradientName, Gradients, Named, Tensor, TensorName, Tensors};

/// Values in the place of right ones, as [`Wrong::values`] has them.
const VALUES: [(Kind, &str); 3] = [(Kind::Zero, "0"), (Kind::Infinite, "infinite"), (Kind::Nan, "NaN")];

/// What is known of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Kind {
    Unjudged,
    /// Of an infinite bound: nothing can be said of it.
    Unbounded,
    Right,
    /// Right, and 0: so it would be where 0 stands in the place of right ones.
    RightZero,
    /// Beyond its bound, and none of the following.
    Beyond,
    Zero,
    Infinite,
    Nan,
}

/// Elements of one tensor, as they were judged.
#[derive(Clone, Debug)]
pub struct Location {
    name: ComputedName,
    axes: Vec<Axis>,
    width: usize,
    kinds: Vec<Kind>,
    factor: Factor,
    /// Positions at which sequences begin, where those are one item's, or every item's.
    sequences: Vec<usize>,
}

impl Location {
    pub fn new(name: impl Into<ComputedName>, axes: Vec<Axis>, (values, width): (usize, usize)) -> Self {
        let (kinds, factor) = (vec![Kind::Unjudged; values], Factor::ANY);
        Location { name: name.into(), axes, width, kinds, factor, sequences: Vec::new() }
    }

    /// Of the values of a tensor of a problem, which has this shape where it is whole.
    pub fn of_tensor<T>(
        problem: &Problem,
        name: impl Into<ComputedName>,
        shape: &[usize],
        of: &Tensor<T>,
    ) -> Self {
        let name = name.into();
        let starts = |item| problem.sequences(item).iter().map(|s| s.positions.start).collect::<Vec<_>>();
        let first = starts(0);
        let is_one = (1..problem.shape.batch).all(|item| starts(item) == first);
        let is_forward = problem.conventions.direction == Direction::Forward;
        let values = of.shape.iter().product::<usize>() * of.width;
        let location = Location::new(name, problem.outline().recorded_axes(name, shape), (values, of.width));
        Location { sequences: if is_one && is_forward { first } else { Vec::new() }, ..location }
    }

    /// Adds the element at this place among the values.
    pub fn add(&mut self, place: usize, element: Element, format: Format) {
        self.kinds[place] = match element.got {
            got if got.is_nan() => Kind::Nan,
            _ if element.bound == f64::INFINITY => Kind::Unbounded,
            got if element.distance(format).ratio <= 1.0 => {
                if got == 0.0 {
                    Kind::RightZero
                } else {
                    Kind::Right
                }
            }
            0.0 => Kind::Zero,
            got if got.is_infinite() => Kind::Infinite,
            _ => {
                self.factor.add(element);
                Kind::Beyond
            }
        };
    }

    /// Flat index in the recorded tensor of each value's element; `index` gives its indices for a place.
    fn order(&self, index: impl Fn(usize) -> Vec<usize>) -> Vec<usize> {
        let flat = |at: Vec<usize>| self.axes.iter().zip(at).fold(0, |flat, ((_, len), at)| flat * len + at);
        (0..self.kinds.len()).map(|place| flat(index(place))).collect()
    }

    /// Rule for all elements that fail; none where none does.
    pub fn rule(&self, index: impl Fn(usize) -> Vec<usize>) -> Option<Rule> {
        self.rule_of(&self.order(index), |kind| kind >= Kind::Beyond, Kind::Unbounded)
    }

    /// Rule for elements of such kinds; those of `either` may be of them, too.
    fn rule_of(&self, order: &[usize], is_wrong: impl Fn(Kind) -> bool + Copy, either: Kind) -> Option<Rule> {
        let says_something = |kind: Kind| ![Kind::Unjudged, Kind::Unbounded, either].contains(&kind);
        let elements = order.iter().zip(&self.kinds).filter(|(_, kind)| says_something(**kind));
        Rule::shortest(&self.axes, &self.sequences, elements.map(|(&flat, &kind)| (flat, is_wrong(kind))))
    }

    /// All elements that fail, and then those of one kind, where there are others. `index` gives the indices in the recorded tensor for a place
    /// among the values, and `sources` where these may be from.
    pub fn wrong(
        &self,
        index: impl Fn(usize) -> Vec<usize>,
        sources: impl FnOnce() -> Sources,
    ) -> Vec<Wrong> {
        let judged = self.kinds.iter().filter(|kind| **kind != Kind::Unjudged).count();
        let order = self.order(&index);
        let found = |is_wrong: &dyn Fn(Kind) -> bool, values: &str, either| {
            let rule = self.rule_of(&order, is_wrong, either)?;
            let wrong = (0..order.len()).filter(|&place| is_wrong(self.kinds[place]));
            let first = wrong.min_by_key(|&place| order[place]).map(&index).unwrap_or_default();
            let (values, like) = (values.to_owned(), String::new());
            let (places, covers) = (rule.phrases(), rule.unsaid_covers());
            Some(Wrong { values, elements: rule.fails, judged, first, places, covers, like })
        };
        let of_kind = |&(kind, said): &(Kind, &str)| {
            let either = if kind == Kind::Zero { Kind::RightZero } else { Kind::Unbounded };
            found(&|other| other == kind, said, either)
        };
        let Some(mut all) = found(&|kind| kind >= Kind::Beyond, "", Kind::Unbounded) else {
            return Vec::new();
        };
        let special: Vec<Wrong> = VALUES.iter().filter_map(of_kind).collect();
        match special.iter().position(|one| one.elements == all.elements) {
            Some(one) => vec![special[one].clone()],
            None => {
                all.like = self.like(&order, sources).unwrap_or_default();
                std::iter::once(all).chain(special).collect()
            }
        }
    }

    /// What the values are that are beyond their bounds.
    fn like(&self, order: &[usize], sources: impl FnOnce() -> Sources) -> Option<String> {
        if let Some(factor) = self.factor.said() {
            return Some(format!("{factor} × the right values"));
        }
        let total = self.axes.iter().map(|(_, len)| len).product::<usize>() * self.width;
        if total > likeness::LARGEST {
            return None;
        }
        let failing: Vec<usize> =
            (0..self.kinds.len()).filter(|&place| self.kinds[place] == Kind::Beyond).collect();
        let sources = sources();
        // Where some rows alone are there, values may be from others.
        let rounded = likeness::rounded(&failing, &sources);
        if rounded.is_some() || order.len() != total {
            return rounded;
        }
        let flat = |place: usize| order[place] * self.width + place % self.width;
        let mut failing: Vec<usize> = failing.into_iter().map(flat).collect();
        failing.sort_unstable();
        let recorded = |values: Vec<f64>| {
            let mut to = vec![0.0; total];
            values.into_iter().enumerate().for_each(|(place, value)| to[flat(place)] = value);
            to
        };
        let Sources { got, want, others } = sources;
        let sources = Sources {
            got: recorded(got),
            want: want.map(|both| both.map(recorded)),
            others: others.into_iter().map(|(name, values)| (name, recorded(values))).collect(),
        };
        likeness::elsewhere(self.name.name(), (&self.axes, self.width), &failing, &sources)
    }
}

impl Sources {
    /// With right values where they are at hand, and of other tensors all of as many values.
    pub fn new<'a>(
        got: Vec<f64>,
        want: Option<(&Tensor<f64>, &Bounds)>,
        others: impl Iterator<Item = (&'static str, &'a [f32])>,
    ) -> Sources {
        let alike = others.filter(|(_, values)| values.len() == got.len());
        let others =
            alike.map(|(name, values)| (name, values.iter().map(|&value| f64::from(value)).collect()));
        let others = others.collect();
        let both = |(want, bounds): (&Tensor<f64>, &Bounds)| {
            let bound = (0..want.values.len()).map(|i| bounds.bound[i / want.width]);
            [want.values.clone(), bound.collect()]
        };
        Sources { got, want: want.map(both), others }
    }
}

/// Elements of an output's judged channels that fail.
pub fn of_output(
    problem: &Problem,
    name: TensorName,
    (got, want): (&Tensor<f64>, &Tensor<f64>),
    bounds: &Bounds,
) -> Vec<Wrong> {
    let (format, outline) = (Format::for_input(want.element), problem.outline());
    let whole = outline.tensor(name, Vec::<f64>::new()).shape;
    let mut location = Location::of_tensor(problem, name, &whole, want);
    for (i, (&value, &exact)) in got.values.iter().zip(&want.values).enumerate() {
        let at = i / want.width;
        let element = Element { got: value, want: exact, bound: bounds.bound[at], store: bounds.store[at] };
        location.add(i, element, format);
    }
    let index = |place| outline.recorded_index(name, problem.judged_index(got, place));
    location.wrong(index, || {
        let inputs = problem.inputs().into_iter().filter(|_| problem.judged_channels.is_sorted());
        let others = inputs.filter_map(|(name, values, _)| Some((name, &values?[..])));
        Sources::new(got.values.clone(), Some((want, bounds)), others)
    })
}

/// What may stand in a gradient, with the right values where they are at hand.
pub fn of_gradient(
    name: GradientName,
    (problem, given, got): (&Problem, &OutputGradients, &Gradients<f32>),
    want: Option<(&Tensor<f64>, &Bounds)>,
) -> Sources {
    let inputs = problem.inputs().into_iter().filter_map(|(name, values, _)| Some((name, &values?[..])));
    let gradients = got.iter().filter(|(other, _)| *other != name);
    let gradients = gradients.map(|(name, tensor)| (name.name(), &tensor.values[..]));
    let others = inputs.chain([("dout", &given.dout[..])]).chain(gradients);
    Sources::new(got[name].values.iter().map(|&value| f64::from(value)).collect(), want, others)
}

/// Elements of all outputs that fail, by their quick values. The problem has every channel; `fails` says which have a failure.
pub fn of_quick(
    (form, contract): (Form, &Contract),
    problem: &Problem,
    got: &Tensors<f32>,
    fails: impl Fn(usize) -> bool + Sync,
) -> Named<Vec<Wrong>> {
    let bounds_of = |row: usize| {
        let budget = ChannelBudget::new(form, problem, problem.judged_channels[row], contract);
        // What passes as if nothing repeated does.
        let is_counted = fails(row) && budget.steps() <= LONG;
        if is_counted { budget.judged() } else { budget.least() }
    };
    let all = parallel::each(problem.judged_channels.len(), &bounds_of);
    let judged = problem.judged(got);
    let of_tensor = |name, judged: &Tensor<f64>| {
        let mut bounds = Bounds::default();
        all.iter().filter_map(|row| row.get(name)).for_each(|row| bounds.extend(row.clone()));
        let want = judged.with(std::mem::take(&mut bounds.value));
        of_output(problem, name, (judged, &want), &bounds)
    };
    judged.map(of_tensor)
}

/// Elements of an output that fail by the quick route, of which only so many are known in each channel.
pub fn of_channels(outline: Outline, tallies: &[QuickTally]) -> Wrong {
    let axes = outline.recorded_axes(TensorName::Out, &[outline.shape.batch, outline.shape.dim, 1]);
    let rows = tallies.iter().enumerate().map(|(row, tally)| (row, tally.failed > 0));
    let rule = Rule::shortest(&axes, &[], rows);
    Wrong {
        elements: tallies.iter().map(|tally| tally.failed).sum(),
        judged: tallies.iter().map(QuickTally::elements).sum(),
        places: rule.iter().flat_map(Rule::phrases).collect(),
        ..Wrong::default()
    }
}

//! What a regime leaves open of its problems: how their tensors are laid out, with heads or without, sequences that are packed, and a
//! few steps from a state. And their tensors as a file has them.

use std::borrow::Cow;
use std::sync::Arc;

use super::axes::View;
use super::inputs::{self, Draw};
use super::plan::Spec;
use super::regime::Recipe;
use super::stretch::Inputs as _;
use super::{InputType, Order, Packed, Problem, Shape};
use crate::tensor::{GradientName, Tensor};

named! {
    /// How sequences that are packed are told apart.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PackedBy: "packing" {
        /// By the sequence that each position belongs to.
        Indices => "seq_idx",
        /// By where each of them begins, in one item. Each has a last state.
        Starts => "cu_seqlens",
    }
}

/// In which setting a problem is posed.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub order: Order,
    /// Channels of a head, of [`Order::Blhp`]: each channel of the regime is a head of so many.
    pub headdim: usize,
    pub packed: Option<PackedBy>,
    /// Positions of a problem that starts from a state; none: those of the regime, from 0.
    pub steps: Option<usize>,
    /// Type in which that state is stored.
    pub state: InputType,
}

/// Borders that are drawn of each item.
const BORDERS: usize = 3;

impl PackedBy {
    /// Sequences of items of this shape.
    fn draw(self, shape: Shape, draw: &mut Draw) -> Packed {
        let seqlen = shape.seqlen;
        let mut items = (0..shape.batch).map(|_| starts(seqlen, draw));
        match self {
            PackedBy::Starts => {
                let starts = items.next().expect("a batch has an item");
                let count = starts.len() - 1;
                Packed::by_starts(&starts, seqlen, [count; 2])
            }
            PackedBy::Indices => {
                let of_item = |starts: Vec<usize>| {
                    let index = move |l| starts.partition_point(|&start| start <= l) as i64 - 1;
                    (0..seqlen).map(index).collect::<Vec<i64>>()
                };
                Packed::by_indices(&items.flat_map(of_item).collect::<Vec<i64>>(), seqlen)
            }
        }
    }
}

impl Setting {
    fn recipe(&self, regime: Recipe) -> Recipe {
        let headdim = (self.order == Order::Blhp).then_some(self.headdim);
        let Shape { batch, dim, seqlen, .. } = regime.shape;
        let shape = Shape {
            batch: if self.packed == Some(PackedBy::Starts) { 1 } else { batch },
            dim: dim * headdim.unwrap_or(1),
            seqlen: self.steps.unwrap_or(seqlen),
            ..regime.shape
        };
        Recipe { shape, headdim, ..regime }
    }
}

/// Where sequences of an item begin, and where the last one ends. Borders are inside of chunks, whose lengths are even; and one of the
/// sequences has a single position.
fn starts(seqlen: usize, draw: &mut Draw) -> Vec<usize> {
    let mut starts: Vec<usize> = draw.choose(BORDERS, seqlen / 2).into_iter().map(|i| 2 * i + 1).collect();
    let at = (draw.unit() * starts.len() as f64) as usize;
    starts.extend(starts.get(at).map(|start| start + 1));
    starts.extend([0, seqlen]);
    starts.sort_unstable();
    starts.dedup();
    starts
}

impl Spec {
    /// Draws the problem's tensors in this setting: the same for the same seed.
    pub fn draw_in(&self, setting: &Setting, seed: u64) -> Problem {
        let id = self.id();
        let recipe = setting.recipe(self.regime.recipe);
        let operands = (self.b, self.c);
        let mut problem =
            inputs::draw(&recipe, self.weights, self.input, operands, &mut Draw::new(seed, &id));
        problem.conventions.axes.order = setting.order;
        if let Some(by) = setting.packed {
            let mut draw = Draw::new(seed, &format!("{id}/packed"));
            problem.packed = Some(Arc::new(by.draw(problem.shape, &mut draw)));
        }
        if setting.steps.is_some() {
            let mut draw = Draw::new(seed, &format!("{id}/initial_state"));
            let (shape, width) = (problem.shape, problem.weights.width());
            let len = shape.batch * shape.dim * problem.states_of_each()[0] * shape.dstate * width;
            let value = |_| setting.state.round(draw.normal() as f32);
            problem.initial_state = Some((0..len).map(value).collect());
        }
        problem
    }
}

impl Problem {
    /// Values that lie as those of an input do, as a file of this problem's layout has them: their shape, to which complex ones add a
    /// dimension of 2, and the floats.
    pub fn recorded<'v>(&self, like: GradientName, values: &'v [f32]) -> (Vec<usize>, Cow<'v, [f32]>) {
        let Tensor { shape, width, .. } = self.gradient(like, Vec::<f32>::new());
        let axes = self.outline().recorded_axes(like, &shape);
        let sizes = axes.into_iter().map(|(_, size)| size).chain((width == 2).then_some(2)).collect();
        let mut own = Cow::Borrowed(values);
        let len = shape.iter().product::<usize>() * width;
        if len < values.len() {
            // The first row of those that share one.
            let rows = if like == GradientName::Delta { shape[0] * shape[1] } else { shape[0] };
            let firsts = values.chunks(values.len() / rows).flat_map(|shared| &shared[..len / rows]);
            own = Cow::Owned(firsts.copied().collect());
        }
        let rows = len / (shape[0] * self.shape.seqlen * width);
        let turned = match like {
            GradientName::InitialState if shape.len() == 4 => Some((shape[2], shape[1])),
            _ if self.varies(like) => self.conventions.axes.order.turned(self.shape.seqlen, rows),
            _ => None,
        };
        let Some((positions, rows)) = turned else { return (sizes, own) };
        let (view, each) = (View { turned, ..View::PLAIN }, len / (shape[0] * positions * rows));
        let mut stored = vec![0.0; len];
        own.iter().enumerate().for_each(|(at, value)| stored[view.stored_at(at, each)] = *value);
        (sizes, Cow::Owned(stored))
    }
}

//! Shapes of a recorded run's tensors in its layout, and what is said of one that has another.

use super::layout::{Layout, misshapen, required};
use crate::problem::axes::View;
use crate::problem::output_gradients::varies;
use crate::problem::recorded::Result;
use crate::problem::{Axes, Order, Shape};
use crate::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use crate::tensor_file::{Stored, TensorFile, TensorInfo, shown};

/// Axis: its letter, and its size; 0 is any.
pub(super) type Axis = (&'static str, usize);

impl Order {
    /// The axes of u.
    pub(super) fn sequence(self) -> &'static str {
        match self {
            Order::Bdl => "(batch, dim, seqlen)",
            Order::Bld => "(batch, seqlen, dim)",
            Order::Blhp => "(batch, seqlen, heads, p)",
        }
    }

    /// The axes of A.
    pub(super) fn weight(self) -> &'static str {
        match self {
            Order::Bdl | Order::Bld => {
                "(dim, dstate), or (dim, dstate, 2) for complex F32, or (dim, dstate, dstate), or (heads) of what their channels share"
            }
            Order::Blhp => "(heads)",
        }
    }

    /// The order that u probably has if it does not have this one.
    pub(super) fn other(self) -> &'static str {
        match self {
            Order::Bdl => {
                "state the metadata `layout` = `bld` if u, delta, z and outputs are (b, l, d); or transpose(1, 2).contiguous() each"
            }
            _ => {
                "leave out the metadata `layout` if u, delta, z and outputs are (b, d, l); or transpose(1, 2).contiguous() each"
            }
        }
    }

    /// A variable B or C of these sizes: batch, groups, dstate, seqlen.
    pub(super) fn operand(self, [b, g, n, l]: [usize; 4]) -> Vec<Axis> {
        match self {
            Order::Bdl => vec![("b", b), ("g", g), ("n", n), ("l", l)],
            Order::Bld | Order::Blhp => vec![("b", b), ("l", l), ("g", g), ("n", n)],
        }
    }

    /// Message for a B or C that has too few axes.
    pub(super) fn groups(self) -> &'static str {
        match self {
            Order::Bdl => "a variable B or C has a dimension of groups: B.unsqueeze(1) for a single one",
            _ => "B and C are (b, l, g, n): B.unsqueeze(2) for a single group",
        }
    }
}

/// Whether a tensor has these axes.
pub(super) fn fits(info: &TensorInfo, axes: &[Axis]) -> bool {
    info.shape.len() == axes.len() && info.shape.iter().zip(axes).all(|(found, axis)| *found == axis.1)
}

/// `(2, groups, 16, 64)`
pub(super) fn shape_of(axes: &[Axis]) -> String {
    let sizes: Vec<String> = axes
        .iter()
        .map(|axis| match *axis {
            ("g", 0) => "groups".to_owned(),
            (letter, 0) => letter.to_owned(),
            (_, size) => size.to_string(),
        })
        .collect();
    format!("({})", sizes.join(", "))
}

/// `(b, l, h)`
fn letters(axes: &[Axis]) -> String {
    let letters: Vec<&str> = axes.iter().map(|(letter, _)| *letter).collect();
    format!("({})", letters.join(", "))
}

/// Call that brings a tensor with these axes in another order into this one; none where it has others.
pub(super) fn turned(info: &TensorInfo, axes: &[Axis], order: Order) -> Option<String> {
    let name = shown(&info.name);
    // The first axis of that size which is still free stands at each place of the file.
    let mut free: Vec<usize> = (0..axes.len()).collect();
    let mut found = Vec::new();
    // A size of 0 is any: what fits others comes first.
    for &size in info.shape.iter() {
        let fit = |at: &usize| axes[free[*at]].1 == size;
        let at = (0..free.len()).find(fit).or_else(|| (0..free.len()).find(|at| axes[free[*at]].1 == 0))?;
        found.push(free.remove(at));
    }
    if !free.is_empty() || found.is_sorted() {
        return None;
    }
    let named: Vec<Axis> = found.iter().map(|&at| axes[at]).collect();
    let moved: Vec<usize> = (0..found.len()).filter(|&at| found[at] != at).collect();
    let from = |at: usize| found.iter().position(|&other| other == at).unwrap_or(at);
    let how = match moved[..] {
        [first, second] => format!("{name}.transpose({first}, {second}).contiguous()"),
        _ => {
            let order: Vec<String> = (0..found.len()).map(|at| from(at).to_string()).collect();
            format!("{name}.permute({}).contiguous()", order.join(", "))
        }
    };
    let positions_first = named.get(1).is_some_and(|axis| axis.0 == "l");
    let other = match (order, positions_first) {
        (Order::Bdl, true) => {
            "; or state the metadata `layout` = `bld` if all that have positions are like this"
        }
        (Order::Bld, false) => {
            "; or leave out the metadata `layout` if all that have positions are like this"
        }
        _ => "",
    };
    let (is, wanted) = (letters(&named), letters(axes));
    Some(format!("{name} is {is}: transpose it to {wanted} by {how}{other}"))
}

/// Checks that a tensor has these axes, of an order whose shapes a hint tells.
pub(super) fn check_axes(
    name: &str,
    info: &TensorInfo,
    axes: &[Axis],
    (order, shapes): (Order, &str),
) -> Result<()> {
    if fits(info, axes) {
        return Ok(());
    }
    let hint = turned(info, axes, order).unwrap_or_else(|| shapes.to_owned());
    Err(misshapen(name, info, shape_of(axes), hint))
}

impl Layout {
    /// Checks that a tensor has these axes.
    pub(super) fn check_shape(&self, name: &str, info: &TensorInfo, axes: &[Axis]) -> Result<()> {
        let order = self.conventions.axes.order;
        check_axes(name, info, axes, (order, order.shapes()))
    }

    /// The axes of all channels.
    pub(super) fn channel_axes(&self, dim: usize) -> Vec<Axis> {
        let Axes { order, headdim, .. } = self.conventions.axes;
        match order {
            Order::Bdl | Order::Bld => vec![("d", dim)],
            Order::Blhp => vec![("h", dim / headdim.max(1)), ("p", headdim)],
        }
    }

    /// A row of positions for each channel, or for each of those that share one where they may; how many rows there are.
    pub(super) fn check_sequence(&mut self, name: &str, info: &TensorInfo, is_shared: bool) -> Result<usize> {
        let dim = self.shape.dim;
        let Axes { order, headdim, .. } = self.conventions.axes;
        let rows = match order {
            _ if !is_shared => dim,
            Order::Blhp => dim / headdim,
            Order::Bdl | Order::Bld => self.steps(info).unwrap_or(dim),
        };
        let axes = match order {
            Order::Blhp if is_shared => self.sequence_axes(&[("h", rows)]),
            Order::Bdl | Order::Bld if rows < dim => self.sequence_axes(&[("k", rows)]),
            _ => self.sequence_axes(&self.channel_axes(dim)),
        };
        self.check_shape(name, info, &axes)?;
        self.see_positions(name, rows, 1);
        Ok(rows)
    }

    /// Takes note of a tensor of so many rows of positions, with so many floats at each.
    pub(super) fn see_positions(&mut self, name: &str, rows: usize, width: usize) {
        let turned = self.conventions.axes.order.turned(self.shape.seqlen, rows);
        self.see(name, View { turned, ..View::PLAIN });
        self.positions.insert(name.to_owned(), width);
    }

    fn sequence_axes(&self, rows: &[Axis]) -> Vec<Axis> {
        let (b, l) = (("b", self.shape.batch), ("l", self.shape.seqlen));
        match self.conventions.axes.order {
            Order::Bdl => [&[b], rows, &[l]].concat(),
            Order::Bld | Order::Blhp => [&[b, l], rows].concat(),
        }
    }

    /// The rows of a tensor that channels may share, if it has fewer of them than there are channels.
    fn steps(&self, info: &TensorInfo) -> Option<usize> {
        let at = if self.conventions.axes.order == Order::Bdl { 1 } else { 2 };
        let rows = *info.shape.get(at)?;
        let divides = rows > 0 && self.shape.dim.is_multiple_of(rows);
        (divides && fits(info, &self.sequence_axes(&[("k", rows)]))).then_some(rows)
    }

    /// A number for each channel, or for each of so many heads; how many there are.
    pub(super) fn check_channels(&self, name: &str, info: &TensorInfo, heads: &[usize]) -> Result<usize> {
        let dim = self.shape.dim;
        let Axes { order, headdim, .. } = self.conventions.axes;
        let axes = match (order, &info.shape[..]) {
            (Order::Blhp, [_, _]) if name == "D" => self.channel_axes(dim),
            (Order::Blhp, _) => vec![("h", dim / headdim)],
            (_, [found]) if heads.contains(found) => vec![("h", *found)],
            _ => vec![("d", dim)],
        };
        self.check_shape(name, info, &axes)?;
        Ok(info.len)
    }

    /// How a tensor is found, where it does not have the plain order.
    pub(super) fn see(&mut self, name: &str, view: View) {
        match view.is_plain() {
            true => self.views.remove(name),
            false => self.views.insert(name.to_owned(), view),
        };
    }

    /// How many channels share a number of a gradient, by its shape, which need not be its input's: where channels have inputs of
    /// their own, a kernel of heads still sums their gradients. None where they do not.
    pub(super) fn shared(&self, name: GradientName, info: &TensorInfo) -> Option<usize> {
        let Shape { dim, .. } = self.shape;
        let Axes { order, headdim, .. } = self.conventions.axes;
        let by = |rows: usize| (rows > 0 && dim.is_multiple_of(rows)).then(|| dim / rows);
        match (name, order, &info.shape[..]) {
            (Delta, Order::Blhp, _) => {
                fits(info, &self.sequence_axes(&[("h", dim / headdim)])).then_some(headdim)
            }
            (Delta, ..) => self.steps(info).filter(|&rows| rows < dim).and_then(by),
            (A | D | DeltaBias, Order::Blhp, [rows]) => (*rows == dim / headdim).then_some(headdim),
            (A, _, [rows]) => by(*rows),
            (D | DeltaBias, _, [rows]) if *rows < dim => by(*rows),
            (A | D | DeltaBias | U | B | C | Z | InitialState, ..) => None,
        }
    }

    /// Takes note of how a gradient lies in the file, and of who shares its numbers.
    pub(super) fn see_gradient(
        &mut self,
        name: GradientName,
        stored_as: &str,
        info: &TensorInfo,
        shared: Option<usize>,
    ) -> Result<()> {
        let Shape { dim, dstate, groups, .. } = self.shape;
        match name {
            B | C if varies(name, self.b_operand, self.c_operand) => {
                self.see_positions(stored_as, groups * dstate, self.weights.width());
            }
            U | Delta | Z => self.see_positions(stored_as, dim / shared.unwrap_or(1), 1),
            InitialState => self.see_states(stored_as, self.packing.initial_states),
            A | B | C | D | DeltaBias => {}
        }
        self.share(name, stored_as, info, shared)
    }

    /// All backward passes share alike: they are compared with each other.
    fn share(
        &mut self,
        name: GradientName,
        stored_as: &str,
        info: &TensorInfo,
        by: Option<usize>,
    ) -> Result<()> {
        let others = self.gradients.values().filter_map(|tensors| tensors.get(name));
        let is_first = others.into_iter().next().is_none_or(|first| first == stored_as);
        let Some(known) = self.conventions.axes.shared.of(name) else { return Ok(()) };
        if !is_first && *known != by {
            return Err(misshapen(
                stored_as,
                info,
                format!("the shape of the first {name}"),
                "judge passes that sum over other channels in files of their own",
            ));
        }
        *known = by;
        Ok(())
    }
}

/// States, where A says nothing of them: of a B whose positions stand where this order has them, or where another one does.
pub(super) fn dstate_of<R>(file: &TensorFile<R>, order: Order, seqlen: usize) -> Result<usize> {
    let b = required(file, "B")?;
    let are_second = b.shape.get(1) == Some(&seqlen);
    // Re and im may alternate there.
    let are_last = b.shape.get(3).is_some_and(|&last| last == seqlen || last == seqlen.saturating_mul(2));
    let at = match (b.shape.len(), order) {
        (3, Order::Blhp) => 2,
        (..4, _) => 1,
        _ if are_second != are_last => {
            if are_second {
                3
            } else {
                2
            }
        }
        (_, Order::Bdl) => 2,
        _ => 3,
    };
    let none = || misshapen("B", b, shape_of(&order.operand([0; 4])), order.shapes());
    b.shape.get(at).copied().ok_or_else(none)
}

/// Shape of a complex tensor in elements: floats come in pairs, or alternate along the sequence where that is the last of four axes. None
/// where they do neither.
pub(super) fn complex_shape(info: &TensorInfo, varies: bool) -> Option<Vec<usize>> {
    match (info.stored, &info.shape[..]) {
        (Stored::C64, all) => Some(all.to_vec()),
        (_, [b, g, n, last]) if varies => last.is_multiple_of(2).then(|| vec![*b, *g, *n, last / 2]),
        (_, [all @ .., 2]) => Some(all.to_vec()),
        _ => None,
    }
}

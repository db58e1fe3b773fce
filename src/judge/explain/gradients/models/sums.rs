//! Sums that gradients are made of, and what goes wrong in them.

use super::pass::Pass;
use crate::problem::InputType;
use crate::program::{Accumulator, Axis, Condition, Id, Op, Over, Place, Set};
use crate::tensor::GradientName::{self, Delta, DeltaBias, U};

pub(super) fn is_of_channels(over: Over) -> bool {
    matches!(over, Over::Channels(_))
}

impl Pass<'_> {
    pub(super) fn sum_in_modulo_group(&mut self, name: GradientName) -> Option<()> {
        let (root, groups) = (self.gradient(name)?, self.problem.shape.groups as u32);
        let fold = self.graph.reached(&[root]).into_iter().find_map(|id| match *self.graph.op(id) {
            Op::Fold(of, Over::Channels(_)) => Some((id, of)),
            _ => None,
        });
        let (id, of) = fold.filter(|_| groups > 1 && self.problem.varies(name))?;
        let new = self.graph.add(Op::Fold(of, Over::Lanes(groups)));
        self.in_gradient(name, id, new)
    }

    /// A sum that a gradient is made of, and what it sums.
    pub(super) fn fold(&self, root: Id, is_it: fn(Over) -> bool) -> Option<(Id, Id, Over)> {
        self.graph.reached(&[root]).into_iter().rev().find_map(|id| match *self.graph.op(id) {
            Op::Fold(of, over) if is_it(over) && self.members(over) > 1 => Some((id, of, over)),
            _ => None,
        })
    }

    pub(super) fn members(&self, over: Over) -> u32 {
        let shape = self.problem.shape;
        match over {
            Over::Items => shape.batch as u32,
            Over::Positions | Over::ItemsAndPositions => shape.seqlen as u32,
            Over::Channels(count) => count,
            Over::Lanes(groups) => shape.dim as u32 / groups,
            Over::States => shape.dstate as u32,
        }
    }

    pub(super) fn averaged(&mut self, root: Id, is_it: fn(Over) -> bool) -> Option<Id> {
        let (fold, _, over) = self.fold(root, is_it)?;
        let new = self.times(fold, 1.0 / f64::from(self.members(over)));
        Some(self.within(root, fold, new))
    }

    /// A gradient whose sum lacks members, by the last one's number.
    pub(super) fn lacking(&mut self, root: Id, is_it: fn(Over) -> bool, lacks: fn(u32) -> Set) -> Option<Id> {
        let (fold, of, over) = self.fold(root, is_it)?;
        let axis = match over {
            Over::Items => Axis::Item,
            Over::Channels(_) | Over::Lanes(_) => Axis::Channel,
            Over::States => Axis::State,
            Over::Positions | Over::ItemsAndPositions => Axis::Position,
        };
        let when = Condition::At(Place { axis, set: lacks(self.members(over) - 1) });
        let yes = self.number(0.0);
        let kept = self.graph.add(Op::Choose { when, yes, no: of });
        let new = self.graph.add(Op::Fold(kept, over));
        Some(self.within(root, fold, new))
    }

    /// A gradient by Δ or u of some states alone.
    pub(super) fn of_states(&mut self, name: GradientName, root: Id, lacks: fn(u32) -> Set) -> Option<Id> {
        let is_it = matches!(name, U | Delta | DeltaBias);
        if is_it { self.lacking(root, |over| over == Over::States, lacks) } else { None }
    }

    /// A gradient whose sum is kept in a narrow type.
    pub(super) fn kept(&mut self, root: Id, over: Over, sum: Accumulator) -> Option<Id> {
        let (fold, of, over) = match over {
            Over::Positions => self.fold(root, |over| over == Over::Positions)?,
            Over::States => self.fold(root, |over| over == Over::States)?,
            Over::ItemsAndPositions => {
                let (fold, of, _) = self.fold(root, |over| over == Over::Items)?;
                let Op::Fold(of, Over::Positions) = *self.graph.op(of) else { return None };
                (fold, of, over)
            }
            _ => self.fold(root, is_of_channels)?,
        };
        let new = self.graph.add(Op::Accumulate(of, over, sum));
        Some(self.within(root, fold, new))
    }

    /// A gradient whose sum is one of rounded members.
    pub(super) fn rounded(&mut self, root: Id, is_it: fn(Over) -> bool, to: InputType) -> Option<Id> {
        let (fold, of, over) = self.fold(root, is_it)?;
        let rounded = self.graph.add(Op::Round(of, to));
        let new = self.graph.add(Op::Fold(rounded, over));
        Some(self.within(root, fold, new))
    }
}

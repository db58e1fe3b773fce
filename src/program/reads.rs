//! Other places at which a node may be read by mistake.

use super::graph::{Axis, Graph, Id, Index, Input, Op};
use crate::problem::{Problem, Weights};

/// Other indices at which a node may be read.
pub(super) fn indices(graph: &Graph, target: Id, problem: &Problem) -> Vec<(Axis, Index)> {
    let (extent, shape) = (graph.extent(target), problem.shape);
    let mut all = Vec::new();
    let shifted = |by: i32| [Index::Shifted(by), Index::Rolled(by)];
    let Op::Input(input) = graph.op(target) else {
        if matches!(graph.op(target), Op::Scan(scan) if scan.exclusive) && shape.dstate > 1 {
            // A slot that all share.
            let last = Index::At(shape.dstate as u32 - 1);
            all.extend(
                [Index::At(0), last, Index::Rolled(-1), Index::Rolled(1)].map(|index| (Axis::State, index)),
            );
        }
        if problem.packed.is_some() && matches!(graph.op(target), Op::First(_) | Op::Last(_)) {
            all.extend([-1, 1].map(|by| (Axis::Position, Index::Sequence(by))));
        } else if extent.position {
            all.extend([-1, 1].map(|by| (Axis::Position, Index::Shifted(by))));
            all.extend(
                [Index::Held(1), Index::Clamped(-1), Index::Reversed].map(|index| (Axis::Position, index)),
            );
        }
        return all;
    };
    let of_states = matches!(input, Input::InitialState | Input::LastStateGradient);
    let of_channels = of_states || matches!(input, Input::U | Input::Delta | Input::Z | Input::OutGradient);
    let of_groups = matches!(input, Input::B | Input::C) && extent.position;
    if of_states && extent.position {
        let others = [
            Index::FirstSequence,
            Index::OnlyFirstSequence,
            Index::SequencesReversed,
            Index::Sequence(-1),
            Index::Sequence(1),
        ];
        all.extend(others.map(|index| (Axis::Position, index)));
    } else if extent.position && shape.seqlen > 1 {
        let others = [Index::Held(1), Index::Clamped(-1), Index::Reversed, Index::At(0)];
        let all_shifted = [-1, 1, -2, 2].into_iter().flat_map(shifted);
        // A block that is read before the next one is there.
        let earlier = (3..9).map(|k| 1i32 << k).filter(|k| (*k as usize) < shape.seqlen);
        let all_shifted = all_shifted.chain(earlier.map(|by| Index::Shifted(-by)));
        let blocks = (1..9).map(|k| 1u32 << k).filter(|k| (*k as usize) < shape.seqlen);
        let blocks = blocks.flat_map(|k| [Index::BlockStart(k), Index::Modulo(k), Index::ReversedIn(k)]);
        all.extend(all_shifted.chain(others).chain(blocks).map(|index| (Axis::Position, index)));
    }
    let is_weight = matches!(input, Input::A | Input::D | Input::DeltaBias) || !of_channels && !of_groups;
    let last = match (of_channels, of_groups, is_weight) {
        _ if of_states => shape.dstate.min(shape.dim),
        (true, ..) => shape.seqlen.min(shape.dim),
        (_, true, _) => shape.seqlen.min(shape.dstate),
        _ => shape.dstate.min(shape.dim),
    };
    if last > 1 && !extent.matrix && !matches!(input, Input::D | Input::DeltaBias) {
        all.push((Axis::State, Index::Transposed));
    }
    let head = problem.channels_of_a_head();
    if of_states && shape.dstate > 1 && head > 1 && head < shape.dim {
        all.push((Axis::State, Index::TransposedIn(head as u32)));
    }
    if problem.weights == Weights::Complex && extent.is_vector() {
        all.push((Axis::State, Index::Halves));
    }
    let rows = || [Index::At(0), Index::Reversed].into_iter().chain([1, -1].into_iter().flat_map(shifted));
    if shape.batch > 1 && of_channels {
        all.push((Axis::Item, Index::Transposed));
    }
    if shape.batch > 1 && (of_channels || of_groups) {
        all.extend(rows().map(|index| (Axis::Item, index)));
    }
    if shape.dim > 1 && !of_groups {
        all.extend(rows().map(|index| (Axis::Channel, index)));
        let heads = [2, 4, 8].into_iter().filter(|k| (*k as usize) < shape.dim);
        all.extend(heads.clone().map(|k| (Axis::Channel, Index::BlockStart(k))));
        // A head's number in the place of a channel's, and rows that channels share taken for rows that repeat.
        if is_weight && head > 1 {
            all.push((Axis::Channel, Index::Divided(head as u32)));
        }
        if extent.matrix {
            let rows = heads.filter(|k| shape.dim.is_multiple_of(*k as usize));
            all.extend(rows.map(|k| (Axis::Channel, Index::Strided(k))));
        }
        if let Some(by) = problem.channels_of_a_step() {
            let (heads, by) = ((shape.dim / by) as u32, by as u32);
            all.extend([Index::Strided(heads), Index::Exchanged(by)].map(|index| (Axis::Channel, index)));
        }
    }
    if shape.groups > 1 && of_groups {
        all.extend(
            [Index::At(0), Index::Modulo(shape.groups as u32), Index::Rolled(1)]
                .map(|index| (Axis::Group, index)),
        );
        let of_group = (shape.dim / shape.groups) as u32;
        let blocks = (1..7)
            .map(|power| 1 << power)
            .filter(|k| (*k as usize) < shape.dim && !of_group.is_multiple_of(*k));
        all.extend(blocks.map(|k| (Axis::Group, Index::BlockStart(k))));
    }
    if shape.dstate > 1 && extent.is_vector() {
        all.extend(rows().map(|index| (Axis::State, index)));
    }
    all
}

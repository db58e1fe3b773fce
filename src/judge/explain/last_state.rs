//! Last states that are those of another position: which one is seen in the states of one channel.

use std::ops::Range;

use super::Search;
use super::evaluate::Evaluator;
use crate::program::edit::{Edit, Patch, Site};
use crate::program::made;
use crate::program::{Axis, Index, Op};
use crate::tensor::TensorName;

/// The most padded positions that a last state may have gone on through.
const PADDED: f64 = 1024.0;

/// Edits that give a last state of its most wrong channel: the state of a position before, or that after padded positions.
pub fn edits(search: &mut Search) -> Vec<Edit> {
    let problem = search.case.problem;
    let (last, Some(&row)) = (search.program.last_state, search.order.first()) else { return Vec::new() };
    let Op::Last(state) = *search.graph.op(last) else { return Vec::new() };
    let at = problem.judged_channels[row];
    let (shape, width) = (problem.shape, problem.weights.width());
    // The last sequence that has a state; positions are counted from its start.
    let sequences = problem.sequences(at.0);
    let own = sequences.iter().rev().find_map(|own| Some((own.positions.clone(), own.last?)));
    let Some((Range { start, end }, slot)) = own else { return Vec::new() };
    let [_, slots] = problem.states_of_each();
    let got = &search.case.got[TensorName::LastState].values[(row * slots + slot) * shape.dstate * width..];
    let mut whole = Evaluator::whole(problem, at);
    let states = whole.column(&search.graph, state, at);
    // A relative distance that no other position has by chance, and that f16 allows.
    let is_near = |l: usize| {
        (0..shape.dstate).all(|n| {
            let (value, error) = states.at(l, n);
            (got[n * width] - value.re).abs() <= error + value.norm() * 1e-3
        })
    };
    let site = Site::Use { user: last, operand: 0 };
    let early = (start..end - 1).rev().filter(|l| is_near(*l)).take(2).map(|l| {
        let patch = Patch::At(Axis::Position, Index::At((l - start) as u32));
        Edit { site, patch, when: None }
    });
    let mut edits: Vec<Edit> = early.collect();
    if let Some(decay) = made::padded_decay(&mut search.graph, state) {
        let decays = whole.column(&search.graph, decay, at);
        // The state in which the count shows best: the larger its decay the more a step is.
        let counts = (0..shape.dstate).filter_map(|n| {
            let (by, here) = (decays.at(0, n).0.norm().ln(), states.at(end - 1, n).0.norm());
            let got = if width == 2 { got[2 * n].hypot(got[2 * n + 1]) } else { got[n].abs() };
            let count = (got / here).ln() / by;
            (count.is_finite() && (0.5..PADDED).contains(&count)).then_some((by.abs(), count.round()))
        });
        let best = counts.min_by(|a, b| a.0.total_cmp(&b.0));
        edits.extend(best.map(|(_, count)| Edit {
            site: Site::Value(last),
            patch: Patch::Padded(count as u32),
            when: None,
        }));
    }
    search.forget();
    edits
}

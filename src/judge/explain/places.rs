//! Positions and states at which alone something may be wrong.

use super::is_wrong;
use crate::judge::diagnose::Case;
use crate::program::{Place, Set};
use crate::tensor::TensorName;

/// States at which an edit is tried alone.
const STATES: u32 = 16;

/// Positions at which an edit may hold alone, of a run that is right before `first`, or of one in both directions that is right
/// behind `last`.
pub fn positions([first, last]: [usize; 2], seqlen: usize) -> Vec<Place> {
    let mut sets = Vec::new();
    if let Some(from) = u32::try_from(first).ok().filter(|from| *from > 0) {
        sets.extend([Set::Only(from), Set::From(from), Set::Multiples(from)]);
        sets.extend([2, 3, 4].map(|by| from / by).into_iter().filter(|of| *of > 1).map(Set::Multiples));
        sets.push(Set::BeforeMultiples(from + 1));
        sets.retain(|set| !matches!(set, Set::Multiples(of) if (*of as usize) >= seqlen || *of < 2));
    } else {
        sets.push(Set::Only(0));
    }
    let behind = (seqlen - 1).saturating_sub(last) as u32;
    if behind > 0 {
        let last = last as u32;
        let starts = [1, 2, 3].into_iter().flat_map(|by| {
            [
                Set::BeforeMultiples((last + 1) / by),
                Set::Every { of: behind / by, rest: last % (behind / by).max(1) },
            ]
        });
        let is_short = |set: &Set| match set {
            Set::BeforeMultiples(of) | Set::Every { of, .. } => (2..seqlen).contains(&(*of as usize)),
            _ => true,
        };
        sets.extend(starts.filter(is_short));
        sets.push(Set::Only(last));
    }
    sets.into_iter().map(Place::positions).collect()
}

/// States in which an edit may hold alone: those whose last states are wrong, or any where these are right or not there.
pub fn states(case: &Case) -> Vec<Place> {
    let dstate = case.problem.shape.dstate;
    let mut wrong = vec![false; dstate];
    if let (Some(got), Some(want)) =
        (case.got.get(TensorName::LastState), case.want.get(TensorName::LastState))
    {
        let bounds = &case.budget.tensors[TensorName::LastState].bound;
        for (i, (got, exact)) in got.values.iter().zip(&want.values).enumerate() {
            let at = i / want.width;
            wrong[at % dstate] |= is_wrong(*got, *exact, bounds[at]);
        }
    }
    let sets = || {
        let all = 0..u32::try_from(dstate).unwrap_or(u32::MAX).min(STATES);
        let every = (2..=4u32).flat_map(|of| (0..of).map(move |rest| Set::Every { of, rest }));
        all.clone().skip(1).map(Set::From).chain(all.map(Set::Only)).chain(every)
    };
    let is_right = !wrong.contains(&true);
    let is_it = |set: &Set| is_right || (0..dstate).all(|n| set.contains(n) == wrong[n]);
    if dstate < 2 { Vec::new() } else { sets().filter(is_it).map(Place::states).collect() }
}

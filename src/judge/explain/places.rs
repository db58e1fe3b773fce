//! Positions and states at which alone something may be wrong.

use super::{Found, Search, is_wrong};
use crate::judge::diagnose::Case;
use crate::problem::conventions::Direction;
use crate::program::edit::{Edit, Patch};
use crate::program::proposed;
use crate::program::writing::Writing;
use crate::program::{Axis, Condition, Place, Set};
use crate::tensor::TensorName;

/// States at which an edit is tried alone.
const STATES: u32 = 16;

impl Search<'_> {
    /// One edit more at some positions or at some states.
    pub(super) fn at_places(&mut self) -> Vec<Found> {
        let plain = self.of_writing(proposed::plain(&self.graph, &self.program, self.case.problem));
        let places = match self.writing {
            Writing::Specified => self.places(),
            _ => self.looks.beginning(self.case.problem.shape.seqlen).into_iter().collect(),
        };
        for place in places {
            let mut edits = plain.clone();
            if self.writing == Writing::Specified {
                edits.extend(proposed::of_blocks(&self.graph, &self.program, place));
            }
            let edits = self.at(&edits, place);
            let found = self.tried(edits);
            if !found.is_empty() || self.is_over() {
                return found;
            }
        }
        Vec::new()
    }

    /// A factor more there.
    pub(super) fn scaled_at_places(&mut self) -> Vec<Found> {
        let mut factors = proposed::with_number(&self.graph, &self.program, self.case.problem);
        factors.retain(|edit| matches!(edit.patch, Patch::Scaled(_)));
        for place in self.places() {
            let edits = self.at(&factors, place);
            let found = self.with_numbers(&edits);
            if !found.is_empty() || self.is_over() {
                return found;
            }
        }
        Vec::new()
    }

    fn places(&self) -> Vec<Place> {
        let mut places = self.looks.places(self.case);
        // Positions of a reversed run would be told against the file's own order.
        let is_reversed = self.case.problem.conventions.direction == Direction::Reverse;
        places.retain(|place| place.axis == Axis::State || !is_reversed);
        places
    }

    /// These edits at a place.
    fn at(&self, edits: &[Edit], place: Place) -> Vec<Edit> {
        // Some states of what all states have alike are no place.
        let is_there =
            |edit: &&Edit| place.axis != Axis::State || self.graph.extent(edit.target(&self.graph)).state;
        let placed = |edit: &Edit| Edit { when: Some(Condition::At(place)), ..*edit };
        edits.iter().filter(is_there).map(placed).collect()
    }
}

/// Positions at which an edit may hold alone, of a run that is right before `first`, or of one in both directions that is right
/// behind `last`.
pub fn positions([first, last]: [usize; 2], seqlen: usize) -> Vec<Place> {
    let mut sets = Vec::new();
    if let Some(from) = u32::try_from(first).ok().filter(|from| *from > 0) {
        sets.extend([Set::Only(from), Set::From(from), Set::Multiples(from)]);
        sets.extend([2, 3, 4].map(|by| from / by).into_iter().filter(|of| *of > 1).map(Set::Multiples));
        sets.push(Set::BeforeMultiples(from + 1));
        // The middles of blocks.
        sets.push(Set::Every { of: 2 * from, rest: from });
        let is_short = |of: u32| (2..seqlen).contains(&(of as usize));
        sets.retain(|set| !matches!(set, Set::Multiples(of) | Set::Every { of, .. } if !is_short(*of)));
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
        // A warp or two may be all that is summed.
        let wide = (5..8).map(|power| 1 << power).filter(|from| (*from as usize) < dstate);
        all.clone().skip(1).chain(wide).map(Set::From).chain(all.map(Set::Only)).chain(every)
    };
    let is_right = !wrong.contains(&true);
    let is_it = |set: &Set| is_right || (0..dstate).all(|n| set.contains(n) == wrong[n]);
    if dstate < 2 { Vec::new() } else { sets().filter(is_it).map(Place::states).collect() }
}

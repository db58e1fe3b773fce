//! Where alone a gradient is wrong, where that is a short rule.

use super::Search;
use super::fit::largest;
use super::hypothesis::Base;
use super::rows::{Element, Row, index_along};
use crate::judge::numbers::roundest;
use crate::program::{Axis, Id, Input, Op, Place, Real, Set, Symbol};
use crate::tensor::GradientName::{self, Delta, U, Z};

/// Lengths of chunks that are tried for each end of what is wrong.
const DIVISORS: usize = 8;

/// Wrong and right elements that a limit is to tell apart, of either as many.
const TELLING: usize = 4;

/// Bounds above which a right element has a size.
const SIZED: f64 = 4096.0;

impl Search<'_> {
    /// Places where chunks may begin, by the first and the last positions that are wrong.
    pub(super) fn find_places(&mut self) {
        let seqlen = self.case.problem.shape.seqlen;
        let (mut first, mut last) = (seqlen, 0);
        for one in self.failing.iter().filter(|one| self.case.problem.varies(one.name)) {
            for element in one.rows.iter().flat_map(|row| &row.elements) {
                if largest(self.case, one.name, element.index) > 1.0 {
                    (first, last) = (first.min(element.at.0), last.max(element.at.0));
                }
            }
        }
        let divisors = |of: usize| {
            (2..=of).rev().filter(move |by| of.is_multiple_of(*by)).take(DIVISORS).map(|of| of as u32)
        };
        let mut sets = vec![Set::Only(0)];
        if first > last {
            let lengths = (2..12).map(|power| 1 << power).filter(|of| (*of as usize) < seqlen);
            self.chunks = lengths.clone().collect();
            sets.extend(lengths.flat_map(|of| [Set::Multiples(of), Set::BeforeMultiples(of)]));
        } else {
            let ends = divisors(first).chain(divisors(last + 1));
            self.chunks = ends.filter(|of| (*of as usize) < seqlen).collect();
            sets.extend(divisors(first).map(Set::Multiples));
            sets.extend(divisors(first + 1).map(Set::BeforeMultiples));
            if last + 1 < seqlen {
                sets.extend(divisors(last + 1).flat_map(|of| [Set::BeforeMultiples(of), Set::Multiples(of)]));
                sets.extend(divisors(last).map(Set::Multiples));
            }
        }
        let mut known: Vec<Set> = Vec::new();
        for set in sets {
            if !known.contains(&set) {
                known.push(set);
            }
        }
        self.places = known.into_iter().map(Place::positions).collect();
    }
}

/// Elements of a gradient: some indices along an axis, or those at which a value is beyond a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    Along(Axis, Set),
    Limit { of: Id, is_size: bool, is_above: bool, limit: Real },
}

impl Part {
    /// Whether it has an element, where a value is as it is.
    pub fn has(self, at: (usize, usize), element: &Element, value: f64) -> bool {
        match self {
            Part::Along(axis, set) => set.contains(index_along(axis, at, element.at)),
            Part::Limit { is_size, is_above, limit, .. } => {
                (if is_size { value.abs() } else { value } >= limit.value()) == is_above
            }
        }
    }

    pub fn described(self, text: impl FnOnce(Id) -> String) -> String {
        match self {
            Part::Along(axis, set) => Place { axis, set }.described(),
            Part::Limit { of, is_size, is_above, limit } => {
                let what = if is_size { format!("|{}|", text(of)) } else { text(of) };
                format!("where {what} is {} {}", if is_above { "at least" } else { "below" }, limit.value())
            }
        }
    }
}

impl Search<'_> {
    /// Where alone a gradient is wrong; nothing where it is everywhere or by no short rule.
    pub(super) fn parts(&mut self, name: GradientName, rows: &[Row]) -> Vec<Part> {
        self.along(name, rows).into_iter().chain(self.limit(name, rows)).collect()
    }

    fn along(&self, name: GradientName, rows: &[Row]) -> Option<Part> {
        let shape = self.case.problem.shape;
        [Axis::Position, Axis::State, Axis::Channel, Axis::Item].into_iter().find_map(|axis| {
            let len = match axis {
                Axis::Position => shape.seqlen,
                Axis::State => shape.dstate,
                Axis::Channel => shape.dim,
                _ => shape.batch,
            };
            let (mut wrong, mut there) = (vec![false; len], vec![false; len]);
            for row in rows {
                for element in &row.elements {
                    let along = index_along(axis, row.at, element.at);
                    there[along] = true;
                    wrong[along] |= largest(self.case, name, element.index) > 1.0;
                }
            }
            let of = |set: Set| (0..len).all(|i| !there[i] || set.contains(i) == wrong[i]);
            let first = wrong.iter().position(|wrong| *wrong)? as u32;
            let last = wrong.iter().rposition(|wrong| *wrong)? as u32;
            let sets = [
                Set::From(first),
                Set::Until(last + 1),
                Set::Only(first),
                Set::Every { of: 2, rest: 1 },
                Set::Every { of: 2, rest: 0 },
                Set::Between(first, last),
            ];
            let is_all = wrong == there;
            sets.into_iter().find(|set| !is_all && of(*set)).map(|set| Part::Along(axis, set))
        })
    }

    /// The limit of a value at the same position that tells what is wrong from what is right.
    fn limit(&mut self, name: GradientName, rows: &[Row]) -> Option<Part> {
        if !matches!(name, U | Delta | Z) || self.case.problem.shared_by(name).is_some() {
            return None;
        }
        let number = self.written(Base::default())?;
        let written = &mut self.written[number];
        let input = |input: Input| written.graph.find(&Op::Input(input));
        let step = written.program.find(Symbol::StepSize);
        let quantities = [
            (step, false),
            (input(Input::Delta), false),
            (input(Input::Z), false),
            (input(Input::Z), true),
            (input(Input::U), true),
            (input(Input::U), false),
            (input(Input::OutGradient), true),
            (input(Input::OutGradient), false),
        ];
        quantities.into_iter().find_map(|(of, is_size)| {
            let of = of?;
            let none = (f64::INFINITY, f64::NEG_INFINITY, 0);
            let (mut wrong, mut right) = (none, none);
            for row in rows {
                let column = written.evaluator.column(&written.graph, of, row.at);
                for element in &row.elements {
                    let value = column.at(element.at.0, 0).0.re;
                    let value = if is_size { value.abs() } else { value };
                    let error = largest(self.case, name, element.index);
                    // An element of no size is right whatever is wrong elsewhere.
                    let size = self.case.want[name].values[element.index].abs();
                    if error <= 1.0 && size < SIZED * self.case.bounds[name][element.index] {
                        continue;
                    }
                    let range = if error > 1.0 { &mut wrong } else { &mut right };
                    *range = (range.0.min(value), range.1.max(value), range.2 + 1);
                }
            }
            let is_above = right.1 < wrong.0;
            let (below, above) = if is_above { (right.1, wrong.0) } else { (wrong.1, right.0) };
            if wrong.2 < TELLING || right.2 < TELLING || below.is_nan() || above.is_nan() || below >= above {
                return None;
            }
            let limit = match (below < 0.0, above > 0.0) {
                (true, true) => 0.0,
                // What is at the lower end is below the limit, and what is at the upper one is not.
                (true, false) => -roundest((-above).next_down(), (-below).next_down())?,
                _ => roundest(below, above)?,
            };
            Some(Part::Limit { of, is_size, is_above, limit: Real::new(limit) })
        })
    }
}

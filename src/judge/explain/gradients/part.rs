//! Where alone a gradient is wrong, where that is a short rule.

use super::Search;
use super::fit::largest;
use super::hypothesis::Base;
use super::rows::{Element, Row, index_along};
use crate::judge::numbers::roundest;
use crate::program::{Axis, Id, Input, Op, Place, Real, Set, Symbol};
use crate::tensor::GradientName::{self, Delta, U, Z};

/// Wrong and right elements that a limit is to tell apart, of either as many.
const TELLING: usize = 4;

/// Bounds above which a right element has a size.
const SIZED: f64 = 4096.0;

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

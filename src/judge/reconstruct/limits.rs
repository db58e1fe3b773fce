//! Limits that Δ, A, z or a part of one is kept within. What a limit is, a single value says: the number that makes the formula
//! agree there. It is a limit if every other value is that of the formula, too, with this number in the place of what is beyond it.

use num_complex::Complex64;

use super::conditions::{Condition, Measure, rounded_value};
use super::expansion::{Expansion, Point, Probe, Which};
use super::fit::blurred;
use super::places::FOUND;
use super::replaced::{FAR, Replaced, WIDE};
use crate::sorted;

/// What may have limits, the plainest first.
const LIMITED: [Measure; 6] =
    [Measure::Delta, Measure::RealZ, Measure::ImaginaryZ, Measure::Z, Measure::RealA, Measure::A];

/// Values that are off beyond one limit, at least; around it more is asked.
const FEWEST: usize = 2;
/// How far from a limit that is, relative to it, and from how many points.
const AROUND: [f64; 6] = [0.5, 0.9, 0.98, 1.02, 1.1, 1.4];
const WAYS: usize = 12;
/// The same around 0.
const AROUND_0: [f64; 6] = [-1e-1, -1e-2, -1e-3, 1e-3, 1e-2, 1e-1];
/// Values of which each may say what a limit is.
const ASKED: usize = 6;
/// Numbers that a solution is looked for at first: of each sign, this many in each decade.
const IN_A_DECADE: i32 = 8;
const DECADES: std::ops::Range<i32> = -5..2;
/// Starts that are refined, and steps of each.
const STARTS: usize = 6;
const NEWTON: usize = 24;

/// Beyond which number it is, and what is taken there.
pub type Limit = (Condition, Replaced);

/// One value: the point, what is returned there, and whether that is what the formula says.
struct Value {
    point: Point,
    got: Complex64,
    is_off: bool,
}

/// How near a value is to the formula at another point, in units of what is allowed there; none where nothing can be told.
fn distance(formula: &Expansion, point: &Point, at: &Point, got: Complex64) -> Option<f64> {
    let (want, size) = formula.value(at);
    // What is no number agrees with nothing.
    if !want.is_finite() {
        return Some(f64::INFINITY);
    }
    let is_near = at.z().re.abs() <= FAR && at.z().im.abs() <= WIDE;
    let is_clear = is_near && size.is_normal() && size < 1e30;
    let allowed = FOUND + blurred(point.z()).min(blurred(at.z()));
    (is_clear && allowed < 1e-3).then(|| (got - want).norm() / (allowed * size))
}

/// The least and the largest that something may be, as far as both are there.
struct Limits<'a> {
    formula: &'a Expansion,
    measure: Measure,
    /// Whether Δu keeps its Δ.
    beside: bool,
    below: Option<f64>,
    above: Option<f64>,
}

impl Limits<'_> {
    fn held(&self, end: f64) -> Option<Replaced> {
        self.measure.held_at(end).into_iter().nth(usize::from(self.beside))
    }

    /// How near a value is to what these limits make of the formula; none where nothing can be told.
    fn distance(&self, value: &Value) -> Option<f64> {
        let x = self.measure.of(&value.point);
        let end = self.below.filter(|below| x < *below).or(self.above.filter(|above| x > *above));
        let at = end.and_then(|end| self.held(end)).map_or(value.point, |held| (held.moved)(&value.point));
        distance(self.formula, &value.point, &at, value.got)
    }

    fn agree(&self, value: &Value) -> bool {
        self.distance(value).is_none_or(|distance| distance <= 1.0)
    }

    /// Numbers that make the formula agree with one value, round ones first.
    fn solutions(&self, value: &Value) -> Vec<f64> {
        let off = |t: f64| -> Option<(Complex64, f64)> {
            let at = (self.held(t)?.moved)(&value.point);
            let (want, size) = self.formula.value(&at);
            (want.is_finite() && size.is_normal()).then(|| (want - value.got, size))
        };
        let near = |t: f64| off(t).map_or(f64::INFINITY, |(off, size)| off.norm() / size);
        let sizes: Vec<f64> = DECADES
            .flat_map(|decade| {
                (0..IN_A_DECADE)
                    .map(move |i| 10f64.powf(f64::from(decade) + f64::from(i) / f64::from(IN_A_DECADE)))
            })
            .collect();
        let is_signed = matches!(self.measure, Measure::RealZ | Measure::RealA);
        let negative = sizes.iter().rev().filter(|_| is_signed).map(|size| -size);
        let grid: Vec<f64> = negative.chain([0.0]).chain(sizes.iter().copied()).collect();
        let values: Vec<f64> = grid.iter().map(|&t| near(t)).collect();
        let is_least = |i: &usize| {
            let beside = [i.checked_sub(1), Some(i + 1)].into_iter().flatten().filter_map(|i| values.get(i));
            values[*i].is_finite() && beside.into_iter().all(|other| values[*i] <= *other)
        };
        let mut starts: Vec<usize> = (0..grid.len()).filter(is_least).collect();
        sorted::by_number(&mut starts, &|&i| values[i]);
        let refined = |&i: &usize| {
            let mut t = grid[i];
            for _ in 0..NEWTON {
                let step = 1e-6 * t.abs().max(1e-6);
                let (Some((low, _)), Some((here, _)), Some((high, _))) =
                    (off(t - step), off(t), off(t + step))
                else {
                    return None;
                };
                let slope = (high - low) / (2.0 * step);
                let moved = (here * slope.conj()).re / slope.norm_sqr();
                if !moved.is_finite() {
                    break;
                }
                t -= moved;
            }
            (near(t) <= 1e-4).then_some(t)
        };
        let mut all: Vec<f64> = Vec::new();
        for t in starts.iter().take(STARTS).filter_map(refined) {
            let t = if t.abs() < 1e-9 { 0.0 } else { t };
            // A size that is held at 0 is a part that is dropped, which has a formula of its own.
            if t <= 0.0 && !is_signed {
                continue;
            }
            for t in [if t == 0.0 { t } else { rounded_value(t) }, t] {
                if !all.contains(&t) {
                    all.push(t);
                }
            }
        }
        all
    }

    /// The other limit beside one that is known, or none where none is needed; nothing where both do not explain all values.
    fn completed(self, values: &[Value]) -> Option<Self> {
        let left: Vec<&Value> = values.iter().filter(|value| !self.agree(value)).collect();
        if left.is_empty() {
            return Some(self);
        }
        let is_below = self.below.is_some();
        let beyond = |one: &Value, t: f64| {
            let x = self.measure.of(&one.point);
            if is_below { x > t } else { x < t }
        };
        left.iter().take(ASKED / 2).find_map(|value| {
            self.solutions(value).into_iter().filter(|t| beyond(value, *t)).find_map(|t| {
                let (below, above) = if is_below { (self.below, Some(t)) } else { (Some(t), self.above) };
                let both = Limits { below, above, ..self };
                (below < above && values.iter().all(|value| both.agree(value))).then_some(both)
            })
        })
    }

    /// Whether enough values that are off, and of which something can be told, lie beyond each of them.
    fn are_told(&self, values: &[Value]) -> bool {
        let told = |value: &&Value| value.is_off && self.distance(value).is_some();
        let off = |test: &dyn Fn(f64) -> bool| {
            let beyond = values.iter().filter(|value| test(self.measure.of(&value.point)));
            beyond.filter(told).count() >= FEWEST
        };
        self.below.is_none_or(|below| off(&|x| x < below))
            && self.above.is_none_or(|above| off(&|x| x > above))
    }
}

/// Whether limits are what is returned close to each of them: where it ends is asked, and not concluded from what lies far beyond.
pub fn end_there(
    probe: &Probe,
    which: Which,
    formula: &Expansion,
    (limits, values): (&[Limit], &[(Point, Complex64)]),
) -> bool {
    let around = limits.iter().flat_map(|(condition, _)| {
        let (Condition::Below(measure, end) | Condition::Above(measure, end)) = *condition else {
            return Vec::new();
        };
        // Of every direction that A has here some points, none of them far from the limit. Around 0 every size is near.
        let near = |point: &&Point| {
            let x = measure.of(point);
            point.delta > 0.0 && if end == 0.0 { x != 0.0 } else { (0.2..5.0).contains(&(x / end)) }
        };
        let near: Vec<&Point> = values.iter().map(|(point, _)| point).filter(near).collect();
        let ways = near.iter().step_by(near.len().div_ceil(WAYS).max(1));
        let asked = if end == 0.0 { AROUND_0 } else { AROUND.map(|share| share * end) };
        ways.flat_map(|point| asked.map(|x| measure.scaled(point, x / measure.of(point)))).collect()
    });
    let points: Vec<Point> = around.collect();
    if points.is_empty() {
        return false;
    }
    let Some(steps) = probe.ask(&points) else { return false };
    points.iter().zip(&steps).all(|(point, step)| {
        let held = limits.iter().find(|(condition, _)| condition.holds(point)).map(|(_, held)| held);
        let at = held.map_or(*point, |held| (held.moved)(point));
        let got = step[which as usize];
        let is_lost = !got.is_finite() && !formula.value(&at).0.is_finite();
        is_lost || distance(formula, point, &at, got).is_none_or(|distance| distance <= 1.0)
    })
}

/// The limits that explain what is returned at all of these points, with what is taken beyond each.
pub fn find(formula: &Expansion, values: &[(Point, Complex64)]) -> Option<Vec<Limit>> {
    let value = |&(point, got): &(Point, Complex64)| Value {
        point,
        got,
        is_off: distance(formula, &point, &point, got).is_some_and(|distance| distance > 1.0),
    };
    let values: Vec<Value> = values.iter().map(value).collect();
    let off: Vec<&Value> = values.iter().filter(|value| value.is_off).collect();
    if off.len() < FEWEST {
        return None;
    }
    let asked: Vec<&Value> = off.iter().copied().step_by(off.len().div_ceil(ASKED)).collect();
    let kinds = LIMITED.iter().flat_map(|&measure| [false, true].map(move |beside| (measure, beside)));
    let found = kinds.filter(|(measure, beside)| !beside || *measure == Measure::Delta).find_map(
        |(measure, beside)| {
            let none = Limits { formula, measure, beside, below: None, above: None };
            asked.iter().find_map(|value| {
                let x = measure.of(&value.point);
                none.solutions(value).into_iter().find_map(|t| {
                    let (below, above) = if x < t { (Some(t), None) } else { (None, Some(t)) };
                    let one = Limits { below, above, ..none };
                    // Of two limits each explains a part of what is off: a third of it is enough to go on.
                    let shown = asked.iter().filter(|value| one.agree(value)).count();
                    if 3 * shown < asked.len() {
                        return None;
                    }
                    one.completed(&values).filter(|limits| limits.are_told(&values))
                })
            })
        },
    )?;
    let side = |condition: fn(Measure, f64) -> Condition, end: Option<f64>| {
        let end = end?;
        Some((condition(found.measure, end), found.held(end)?))
    };
    Some(
        [side(Condition::Below, found.below), side(Condition::Above, found.above)]
            .into_iter()
            .flatten()
            .collect(),
    )
}

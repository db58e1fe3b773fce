//! Where a step function is another one than in general: guards against small steps, branches of a series that end too
//! early, limits that hold z or Δ, NaN at A = 0. Where they are, [`conditions`] say.

use std::collections::BTreeMap;

use num_complex::Complex64;

use super::conditions::{self, BISECTIONS, Condition, Measure, rounded_value};
use super::expansion::{self, Expansion, Point, Probe, Which};
use super::fit::{TOLERANCE, blurred};
use super::replaced::{self, Replaced};
use super::{cut, few_terms, limits, text};
use crate::problem::Weights;
use crate::sorted;

/// From this on a disagreement may be all rounding.
const UNCLEAR: f64 = 1.0 / 64.0;

/// Points from tiny to large steps, with |z| of every size.
pub fn grid(weights: Weights) -> Vec<Point> {
    let directions: &[(f64, f64)] = match weights {
        Weights::Real => &[(-1.0, 0.0), (1.0, 0.0)],
        Weights::Complex => &[
            (-1.0, 0.0),
            (-0.75, 1.0),
            (0.0, 1.0),
            (0.5, -0.75),
            (0.75, 0.0),
            (-0.25, -1.5),
            (-0.03125, 1.0),
            (0.0625, -1.0),
        ],
    };
    // Some between those of one ratio, so that z has more than the powers of 4.
    let between = (-6..=6).step_by(4).map(|k| 1.5 * f64::from(k).exp2());
    let sizes = (-18..=18).step_by(2).map(|k| f64::from(k).exp2()).chain(between);
    let a = directions.iter().flat_map(|&(x, y)| sizes.clone().map(move |r| Complex64::new(r * x, r * y)));
    let a: Vec<Complex64> = a.chain([Complex64::ZERO]).collect();
    let deltas = (-34..=4).step_by(2).map(|k| f64::from(k).exp2()).chain([0.0]);
    let all = deltas.flat_map(|delta| a.iter().map(move |&a| Point::unit(delta, a)));
    all.filter(|point| (-30.0..20.0).contains(&point.z().re) && point.z().im.abs() < 40.0).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Agrees,
    NotFinite,
    Other,
    /// What rounding leaves tells nothing.
    Unclear,
}

fn class(model: &Expansion, point: &Point, got: Complex64) -> Class {
    class_of(model.value(point), point, got)
}

/// Beside a value and what its terms' moduli sum up to.
fn class_of((want, size): (Complex64, f64), point: &Point, got: Complex64) -> Class {
    if !(want.is_finite() && size < 1e30) {
        return Class::Unclear;
    }
    if !got.is_finite() {
        return Class::NotFinite;
    }
    let off = (got - want).norm();
    let allowed = blurred(point.z());
    match () {
        () if off <= allowed.min(UNCLEAR) * size => Class::Agrees,
        () if allowed < UNCLEAR => Class::Other,
        () => Class::Unclear,
    }
}

/// What Ā or B̄u is in a place.
#[derive(Clone, Debug)]
pub enum Content {
    NotFinite,
    Formula(Expansion),
    /// What it is elsewhere, of something else.
    Of(Replaced, Expansion),
    /// Another one than elsewhere.
    Unknown,
}

impl Content {
    /// Its value, and the sum of its terms' moduli; NaN where it is no number.
    pub fn value(&self, point: &Point) -> (Complex64, f64) {
        match self {
            Content::Formula(formula) => formula.value(point),
            Content::Of(replaced, formula) => {
                let moved = (replaced.moved)(point);
                let (value, size) = formula.value(&moved);
                let is_far = moved.z().re.abs() > replaced::FAR || moved.z().im.abs() > replaced::WIDE;
                (value, if is_far { f64::INFINITY } else { size })
            }
            Content::NotFinite | Content::Unknown => (f64::NAN.into(), f64::NAN),
        }
    }

    /// Whether it is no number there, or nearly none.
    fn overflows(&self, point: &Point) -> bool {
        matches!(self, Content::Formula(_) | Content::Of(..)) && {
            let (value, size) = self.value(point);
            !(value.is_finite() && size < 1e300)
        }
    }

    fn text(&self, which: Which, name: &str) -> String {
        match self {
            Content::Formula(formula) => format!("{name} is {}", text::expansion(which, formula)),
            Content::Of(replaced, _) => format!("{name} is taken with {}", replaced.text),
            Content::NotFinite => format!("{name} is not finite"),
            Content::Unknown => format!("{name} is another function than elsewhere"),
        }
    }
}

/// A place where Ā or B̄u is another function than elsewhere.
#[derive(Clone, Debug)]
pub struct Place {
    pub condition: Condition,
    pub content: Content,
    /// As a sentence without a full stop.
    pub text: String,
}

/// The step function on the grid, beside what `model` says.
fn asked<'a>(probe: &'a Probe<'a>, which: Which, model: &'a Expansion) -> Option<Asked<'a>> {
    let points = grid(probe.weights);
    let steps = probe.ask(&points)?;
    let value = |(point, step): (&Point, &[Complex64; 2])| {
        let got = step[which as usize];
        Value { point: *point, got, class: class(model, point, got) }
    };
    Some(Asked { probe, which, model, values: points.iter().zip(&steps).map(value).collect() })
}

/// What is beyond limits, where these explain all numbers that are not what `model` says, and where there are none.
pub fn within_limits(probe: &Probe, which: Which, name: &str, model: &Expansion) -> Vec<Place> {
    let limits = |asked: Asked| Some(asked.beside_not_finite(asked.within_limits(name)?, name));
    asked(probe, which, model).and_then(limits).unwrap_or_default()
}

/// The places where Ā or B̄u is not what `model` says, as far as they can be told; `name` is the coefficient's.
pub fn find(probe: &Probe, which: Which, name: &str, model: &Expansion) -> Vec<Place> {
    let Some(asked) = asked(probe, which, model) else { return Vec::new() };
    let all = asked.within_limits(name).unwrap_or_else(|| asked.all_others(name));
    asked.beside_not_finite(all, name)
}

/// By what values are told apart where they lie in two places.
const APART: [fn(&Point) -> bool; 5] = [
    |point| point.z().re < 0.0,
    |point| point.z().norm() < 0.75,
    |point| point.z().norm() < 3.0,
    |point| point.delta < 0.015,
    |point| point.a.norm() < 0.75,
];

/// What is returned at a point.
#[derive(Clone, Copy)]
struct Value {
    point: Point,
    got: Complex64,
    class: Class,
}

/// A step function that has been asked on the grid.
struct Asked<'a> {
    probe: &'a Probe<'a>,
    which: Which,
    /// What it is elsewhere.
    model: &'a Expansion,
    values: Vec<Value>,
}

/// What is asked of a hypothesis beyond what the numbers of the grid say: thresholds are known to six digits.
pub const FOUND: f64 = 16.0 * TOLERANCE;

/// Steps at which every power of Δ counts.
const ORDINARY: [f64; 4] = [0.25, 1.0, 4.0, 16.0];

/// How near the ends on several lines are to each other where they are one threshold.
const SAME_END: f64 = 2e-3;

/// By what a value is off at once at the border of a place, in units of what is taken for equal.
const JUMP: f64 = 8.0;

/// The fewest of them that make one.
const FEWEST_ENDS: usize = 3;

/// The same where the value does not jump there.
const SOFT_END: f64 = 0.05;

/// The value that at least three in four of these have, to so much of it.
fn common(values: impl Iterator<Item = f64>, slack: f64) -> Option<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    let middle = *all.get(all.len() / 2)?;
    let same = all.iter().filter(|x| (*x - middle).abs() <= slack * middle.abs()).count();
    (same >= FEWEST_ENDS && 4 * same >= 3 * all.len() && middle != 0.0).then_some(middle)
}

impl Asked<'_> {
    fn of_class(&self, class: Class) -> Vec<(Point, Complex64)> {
        self.values.iter().filter(|one| one.class == class).map(|one| (one.point, one.got)).collect()
    }

    /// What stands beyond one limit or two, where that is all that is off.
    fn within_limits(&self, name: &str) -> Option<Vec<Place>> {
        let finite = self.values.iter().filter(|one| one.got.is_finite());
        let values: Vec<(Point, Complex64)> = finite.map(|one| (one.point, one.got)).collect();
        let place = |(condition, held): limits::Limit| {
            let content = Content::Of(held, self.model.clone());
            let text = format!("{} where {}", content.text(self.which, name), condition.text());
            let beyond: Vec<_> = values.iter().filter(|(point, _)| condition.holds(point)).copied().collect();
            self.stays(Place { condition, content, text }, &beyond)
        };
        let found = limits::find(self.model, &values)?;
        let ends = limits::end_there(self.probe, self.which, self.model, (&found, &values));
        if ends { found.into_iter().map(place).collect() } else { None }
    }

    /// These places, and where nothing finite is returned beside them.
    fn beside_not_finite(&self, mut all: Vec<Place>, name: &str) -> Vec<Place> {
        // What overflows where it is something else is no place of its own.
        let overflows = |one: &Value| {
            let says =
                |place: &Place| place.condition.holds(&one.point) && place.content.overflows(&one.point);
            one.class == Class::NotFinite && all.iter().any(says)
        };
        if !self.values.iter().any(overflows) {
            all.extend(self.not_finite(name));
        }
        all
    }

    fn got_at(&self, point: &Point) -> Option<Complex64> {
        self.probe.ask(&[*point]).map(|steps| steps[0][self.which as usize])
    }

    fn class_at(&self, point: &Point) -> Class {
        self.got_at(point).map_or(Class::Unclear, |got| class(self.model, point, got))
    }

    fn not_finite(&self, name: &str) -> Option<Place> {
        let values = self.of_class(Class::NotFinite);
        if values.is_empty() {
            return None;
        }
        let condition = self.condition(&values, Class::NotFinite, &|_, _| false)?;
        let is_nan = values.iter().all(|(_, got)| got.re.is_nan() || got.im.is_nan());
        let what = if is_nan { "NaN" } else { "not finite" };
        let text = format!("{name} is {what} where {}", condition.text());
        self.stays(Place { condition, content: Content::NotFinite, text }, &values)
    }

    /// The place where it is another function, or two.
    fn all_others(&self, name: &str) -> Vec<Place> {
        if let Some(place) = self.other(name).filter(|place| !matches!(place.content, Content::Unknown)) {
            return vec![place];
        }
        let of = |test: &dyn Fn(&Point) -> bool| {
            let values =
                self.values.iter().filter(|one| one.class != Class::Other || test(&one.point)).copied();
            let part = Asked { values: values.collect(), ..*self };
            part.other(name).filter(|place| !matches!(place.content, Content::Unknown))
        };
        let mut apart = APART.iter().filter(|test| {
            let (mut some, mut others) = (false, false);
            self.values.iter().filter(|one| one.class == Class::Other).for_each(|one| {
                *if test(&one.point) { &mut some } else { &mut others } = true;
            });
            some && others
        });
        let parts = |test: &fn(&Point) -> bool| -> Vec<Place> {
            of(test).into_iter().chain(of(&|point| !test(point))).collect()
        };
        let two = apart.by_ref().map(parts).find(|places| places.len() == 2);
        two.unwrap_or_else(|| self.other(name).into_iter().collect())
    }

    /// The place where it is another function: what that is comes first, as what is like it elsewhere says nothing.
    fn other(&self, name: &str) -> Option<Place> {
        let values = self.of_class(Class::Other);
        if values.is_empty() {
            return None;
        }
        let place = |condition: Condition, content: Content| {
            let text = format!("{} where {}", content.text(self.which, name), condition.text());
            self.stays(Place { condition, content, text }, &values)
        };
        let of_a = || Some(Content::Of(replaced::of_a_at(self.model, &values, FOUND)?, self.model.clone()));
        let cut = || cut::find(&values, self.model).map(Content::Formula);
        let known = few_terms::find(self.which, &values, self.model, self.probe.work)
            .map(Content::Formula)
            .or_else(of_a)
            .or_else(cut);
        let known = known.and_then(|content| {
            let condition = self.condition(&values, Class::Other, &|point, got| {
                class_of(content.value(point), point, got) != Class::Other
            })?;
            // A limit says more than the function that it makes.
            Some(self.held(&condition, &values).unwrap_or((condition, content)))
        });
        if let Some((condition, content)) = known {
            return place(condition, content);
        }
        // By what is surely off alone: beyond that both functions may be alike, far from the border of the place.
        let (sharp, all) = (self.around(&values, true), self.around(&values, false));
        let mut known = sharp.iter().chain(&all).filter_map(|condition| {
            let in_region = || Some((*condition, self.in_region(condition, &values)?));
            let (condition, content) = self.held(condition, &values).or_else(in_region)?;
            self.is_consistent(&condition, &content).then_some((condition, content))
        });
        // Where the difference begins to be seen is no border of anything. The region that has least in it that agrees comes
        // first: it is within others.
        let region = || {
            let regions = sharp.iter().filter_map(|condition| Some((self.agreeing(condition)?, *condition)));
            Some((regions.min_by_key(|(agreeing, _)| *agreeing)?.1, Content::Unknown))
        };
        let (condition, content) = known.next().or_else(region)?;
        place(condition, content)
    }

    /// What was found at u = B = 1 must hold for others.
    fn stays(&self, place: Place, values: &[(Point, Complex64)]) -> Option<Place> {
        let b = if self.probe.weights == Weights::Complex {
            Complex64::new(0.5, -1.5)
        } else {
            Complex64::from(-0.75)
        };
        let some = values.iter().step_by(values.len().div_ceil(8));
        let others: Vec<Point> = some.map(|(point, _)| Point { b, u: 2e3, ..*point }).collect();
        let steps = self.probe.ask(&others)?;
        let stays = others.iter().zip(steps).all(|(point, step)| {
            let got = step[self.which as usize];
            match &place.content {
                Content::NotFinite => class(self.model, point, got) == Class::NotFinite,
                Content::Unknown => class(self.model, point, got) != Class::Agrees,
                content => class_of(content.value(point), point, got) != Class::Other,
            }
        });
        stays.then_some(place)
    }

    /// The condition that all of these values fulfil and none of the others that are clear; where `alike` is true of a point, it
    /// may lie on either side.
    fn condition(
        &self,
        values: &[(Point, Complex64)],
        kind: Class,
        alike: &dyn Fn(&Point, Complex64) -> bool,
    ) -> Option<Condition> {
        let agrees = |one: &&Value| one.class == Class::Agrees && !alike(&one.point, one.got);
        let outside: Vec<Point> = self.values.iter().filter(agrees).map(|one| one.point).collect();
        let inside: Vec<Point> = values.iter().map(|one| one.0).collect();
        let is_elsewhere = |point: &Point| {
            let got = self.got_at(point);
            got.is_some_and(|got| class(self.model, point, got) == Class::Agrees && !alike(point, got))
        };
        conditions::find((&inside, &outside), &|point| self.class_at(point) == kind, &is_elsewhere)
    }

    /// Thresholds that all that is off lies beyond, found without knowing what it is there. On lines on which A or Δ alone grows,
    /// what is off ends somewhere; the ends that are a threshold have one measure on all lines. With `sharp` only those ends
    /// count at which the value jumps.
    fn around(&self, values: &[(Point, Complex64)], sharp: bool) -> Vec<Condition> {
        let same = if sharp { SAME_END } else { SOFT_END };
        let condition = |measure: Measure, end: f64| {
            let slack = same * end.abs();
            let of = |(point, _): &(Point, Complex64)| measure.of(point);
            match () {
                () if values.iter().map(of).all(|x| x < end + slack) => Some(Condition::Below(measure, end)),
                () if values.iter().map(of).all(|x| x > end - slack) => Some(Condition::Above(measure, end)),
                () => None,
            }
        };
        let mut all = Vec::new();
        for of_delta in [false, true] {
            let (first, last) = self.ends(of_delta, sharp);
            let measures = Measure::ALL.into_iter().filter(|one| (*one == Measure::Delta) == of_delta);
            let with_ends = measures.flat_map(|measure| [(measure, &last), (measure, &first)]);
            all.extend(with_ends.filter_map(|(measure, ends)| {
                condition(measure, common(ends.iter().map(|end| measure.of(end)), same)?)
            }));
        }
        all
    }

    /// Where what is off begins, and where it ends, on each line on which A grows at an ordinary step, or Δ at any A.
    fn ends(&self, of_delta: bool, sharp: bool) -> (Vec<Point>, Vec<Point>) {
        type Key = [i64; 3];
        let key = |point: &Point| -> Key {
            let round = |x: f64| (x * 1e6).round() as i64;
            match of_delta {
                true => [round(point.a.re), round(point.a.im), 0],
                false => {
                    let direction = point.a / point.a.norm();
                    [round(direction.re), round(direction.im), round(point.delta)]
                }
            }
        };
        let is_on = |one: &&Value| {
            let ordinary = of_delta || ORDINARY.contains(&one.point.delta);
            ordinary && blurred(one.point.z()) <= FOUND && one.class != Class::Unclear
        };
        let mut lines: BTreeMap<Key, Vec<&Value>> = BTreeMap::new();
        self.values.iter().filter(is_on).for_each(|one| lines.entry(key(&one.point)).or_default().push(one));
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for line in lines.values_mut() {
            sorted::by_number(line, &|one| one.point.z().norm());
            let is_off = |one: &&Value| one.class == Class::Other;
            let (Some(from), Some(to)) = (line.iter().position(is_off), line.iter().rposition(is_off)) else {
                continue;
            };
            let border = |off: usize, right: usize| {
                let right = line.get(right)?;
                self.border(&line[off].point, &right.point, sharp)
            };
            first.extend(from.checked_sub(1).and_then(|before| border(from, before)));
            last.extend(border(to, to + 1));
        }
        (first, last)
    }

    /// The point between one that is off and one that is not, at which that changes; with `sharp` only if much is off at once.
    fn border(&self, off: &Point, right: &Point, sharp: bool) -> Option<Point> {
        let at = |share: f64| {
            let ratio = |from: f64, to: f64| if from == to { from } else { from * (to / from).powf(share) };
            let single = |x: f64| f64::from(x as f32);
            let size = ratio(off.a.norm(), right.a.norm()) / off.a.norm();
            let a = Complex64::new(single(off.a.re * size), single(off.a.im * size));
            Point::unit(single(ratio(off.delta, right.delta)), a)
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            *if self.class_at(&at(middle)) == Class::Other { &mut low } else { &mut high } = middle;
        }
        let jumps = || {
            let inside = at(low);
            let (want, size) = self.model.value(&inside);
            let off = (self.got_at(&inside)? - want).norm();
            Some(off > JUMP * blurred(inside.z()) * size)
        };
        (!sharp || jumps() == Some(true)).then(|| at(0.5 * (low + high)))
    }

    /// What it is elsewhere, with what the condition asks for held at its end.
    fn held(&self, condition: &Condition, values: &[(Point, Complex64)]) -> Option<(Condition, Content)> {
        let (Condition::Below(measure, end) | Condition::Above(measure, end)) = *condition else {
            return None;
        };
        // A threshold is a round number more often than not. Beyond it a function goes on without a jump, so that where it begins
        // is known to a few hundredths.
        let digits = |digits: usize| format!("{end:.digits$e}").parse::<f64>().unwrap_or(end);
        let near = [digits(0), digits(1)].into_iter().filter(|round| (round / end - 1.0).abs() < SOFT_END);
        let ends = [rounded_value(end), end].into_iter().chain(near);
        let mut all = ends.flat_map(|end| measure.held_at(end).into_iter().map(move |held| (end, held)));
        let (end, held) = all.find(|(_, held)| replaced::agrees(held, self.model, values, FOUND))?;
        let condition = match condition {
            Condition::Below(..) => Condition::Below(measure, end),
            _ => Condition::Above(measure, end),
        };
        Some((condition, Content::Of(held, self.model.clone())))
    }

    /// The formula in a region of z, found there as it is elsewhere.
    fn in_region(&self, condition: &Condition, values: &[(Point, Complex64)]) -> Option<Content> {
        let (Condition::Below(measure, end) | Condition::Above(measure, end)) = *condition else {
            return None;
        };
        if !measure.is_of_z() {
            return None;
        }
        let below = matches!(condition, Condition::Below(..));
        let z: Vec<Complex64> = expansion::arguments(self.probe.weights)
            .into_iter()
            .flat_map(|z| [z, z * end.abs() / 6.0, z * end.abs() / 2.0, z * end.abs()])
            .filter(
                |z| if below { end.abs() >= 6.0 || z.norm() >= end.abs() / 64.0 } else { z.norm() < 30.0 },
            )
            .map(|z| Complex64::new(f64::from(z.re as f32), f64::from(z.im as f32)))
            .filter(|z| condition.holds(&Point::unit(1.0, *z)))
            .collect();
        let mut chosen: Vec<Complex64> = Vec::new();
        for z in z {
            if !chosen.contains(&z) {
                chosen.push(z);
            }
        }
        let found = (chosen.len() >= few_terms::EVIDENCE)
            .then(|| expansion::find(self.probe, self.which, &chosen))??;
        let content = Content::Formula(found);
        let meets =
            |(point, got): &(Point, Complex64)| class_of(content.value(point), point, *got) != Class::Other;
        values.iter().all(meets).then_some(content)
    }

    /// How many points of a region agree, as far as ordinary steps and arguments show; none where most of what is clear does not
    /// differ.
    fn agreeing(&self, condition: &Condition) -> Option<usize> {
        let is_inside = |one: &&Value| {
            let ordinary = ORDINARY.contains(&one.point.delta) && blurred(one.point.z()) <= FOUND;
            ordinary && condition.holds(&one.point)
        };
        let count =
            |class: Class| self.values.iter().filter(is_inside).filter(|one| one.class == class).count();
        let agreeing = count(Class::Agrees);
        (count(Class::Other) > 3 * agreeing).then_some(agreeing)
    }

    /// Whether all that lies in the region agrees with what was found for it.
    fn is_consistent(&self, condition: &Condition, content: &Content) -> bool {
        let inside = self.values.iter().filter(|one| condition.holds(&one.point));
        inside
            .filter(|one| matches!(one.class, Class::Agrees | Class::Other))
            .all(|one| class_of(content.value(&one.point), &one.point, one.got) != Class::Other)
    }
}

//! Conditions that describe a region of steps: what they measure, and their thresholds, found by bisection.

use num_complex::Complex64;

use super::expansion::Point;
use super::replaced::Replaced;
use crate::sorted;

/// Bisections of a threshold: three digits of what lies a factor of 2⁴ apart in each of two numbers.
pub const BISECTIONS: usize = 24;

/// What a place may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Delta,
    A,
    Z,
    RealZ,
    ImaginaryZ,
    /// |Re z|
    SizeOfRealZ,
    RealA,
    /// |Re z| + |Im z|, a size that costs no root.
    SumZ,
    /// max(|Re z|, |Im z|), likewise.
    LargestZ,
}

impl Measure {
    /// The plainest first: on some points several of them part the same.
    pub const ALL: [Measure; 9] = [
        Measure::Z,
        Measure::Delta,
        Measure::A,
        Measure::RealZ,
        Measure::ImaginaryZ,
        Measure::SizeOfRealZ,
        Measure::RealA,
        Measure::SumZ,
        Measure::LargestZ,
    ];

    pub fn of(self, point: &Point) -> f64 {
        match self {
            Measure::Delta => point.delta,
            Measure::A => point.a.norm(),
            Measure::RealA => point.a.re,
            Measure::Z => point.z().norm(),
            Measure::RealZ => point.z().re,
            Measure::ImaginaryZ => point.z().im.abs(),
            Measure::SizeOfRealZ => point.z().re.abs(),
            Measure::SumZ => point.z().l1_norm(),
            Measure::LargestZ => point.z().re.abs().max(point.z().im.abs()),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Measure::Delta => "Δ",
            Measure::A => "|A|",
            Measure::RealA => "Re A",
            Measure::Z => "|z|",
            Measure::RealZ => "Re z",
            Measure::ImaginaryZ => "|Im z|",
            Measure::SizeOfRealZ => "|Re z|",
            Measure::SumZ => "|Re z| + |Im z|",
            Measure::LargestZ => "max(|Re z|, |Im z|)",
        }
    }

    /// What is taken in the place of a point where the measure may not be beyond `end`: a limit of Δ may leave Δu as it is.
    pub fn held_at(self, end: f64) -> Vec<Replaced> {
        let all = self.held(end);
        let beside = if self == Measure::Delta { all.as_ref().map(Replaced::beside_drive) } else { None };
        all.into_iter().chain(beside).collect()
    }

    fn held(self, end: f64) -> Option<Replaced> {
        let text = |of: &str| format!("{of} held at {}", rounded(end));
        let part = move |x: f64| if x == 0.0 { x } else { end.abs().copysign(x) };
        Some(match self {
            Measure::Delta => Replaced::new(text("Δ"), move |point| Point { delta: end, ..*point }),
            Measure::A => Replaced::new(text("|A|"), move |point| Point {
                a: point.a * (end / point.a.norm()),
                ..*point
            }),
            Measure::RealA => Replaced::new(text("Re A"), move |point| Point {
                a: Complex64::new(end, point.a.im),
                ..*point
            }),
            Measure::Z => Replaced::of_z(text("|z|"), move |delta, a| a * delta * (end / (a * delta).norm())),
            Measure::RealZ => {
                Replaced::of_z(text("Re z"), move |delta, a| Complex64::new(end, (a * delta).im))
            }
            Measure::SizeOfRealZ => {
                Replaced::of_z(text("|Re z|"), move |delta, a| Complex64::new(part(a.re), (a * delta).im))
            }
            Measure::ImaginaryZ => {
                Replaced::of_z(text("|Im z|"), move |delta, a| Complex64::new((a * delta).re, part(a.im)))
            }
            Measure::SumZ | Measure::LargestZ => return None,
        })
    }

    /// Whether it depends on z alone.
    pub fn is_of_z(self) -> bool {
        !matches!(self, Measure::Delta | Measure::A | Measure::RealA)
    }

    /// A point at which the measure is so many times that of this one: a step of another length where it is of Δ, another A
    /// where not.
    pub fn scaled(self, point: &Point, factor: f64) -> Point {
        let single = |x: f64| f64::from(x as f32);
        match self {
            Measure::Delta => Point::unit(single(point.delta * factor), point.a),
            _ => Point::unit(
                point.delta,
                Complex64::new(single(point.a.re * factor), single(point.a.im * factor)),
            ),
        }
    }
}

/// Where a place is.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    Exactly(&'static str, fn(&Point) -> bool),
    Below(Measure, f64),
    Above(Measure, f64),
}

impl Condition {
    pub fn holds(&self, point: &Point) -> bool {
        match *self {
            Condition::Exactly(_, test) => test(point),
            Condition::Below(measure, end) => measure.of(point) < end,
            Condition::Above(measure, end) => measure.of(point) > end,
        }
    }

    pub fn text(&self) -> String {
        match *self {
            Condition::Exactly(text, _) => text.to_owned(),
            Condition::Below(measure, end) => format!("{} < {}", measure.name(), rounded(end)),
            Condition::Above(measure, end) => format!("{} > {}", measure.name(), rounded(end)),
        }
    }
}

/// The condition that all of `inside` fulfil and none of `outside`, nor what lies beyond the grid. `holds` asks whether a point is like
/// those inside, `is_elsewhere` whether it is like those outside.
pub fn find(
    (inside, outside): (&[Point], &[Point]),
    holds: &dyn Fn(&Point) -> bool,
    is_elsewhere: &dyn Fn(&Point) -> bool,
) -> Option<Condition> {
    type Test = (&'static str, fn(&Point) -> bool);
    let exact: [Test; 10] = [
        ("A = 0", |p| p.a == Complex64::ZERO),
        ("Δ = 0", |p| p.delta == 0.0),
        ("z = 0", |p| p.z() == Complex64::ZERO),
        ("A is real", |p| p.a.im == 0.0),
        ("Re A = 0", |p| p.a.re == 0.0),
        ("Re A > 0", |p| p.a.re > 0.0),
        ("Re A < 0", |p| p.a.re < 0.0),
        ("Im A > 0", |p| p.a.im > 0.0),
        ("Im A < 0", |p| p.a.im < 0.0),
        ("A ≠ 0", |p| p.a != Complex64::ZERO),
    ];
    let exactly = |test: fn(&Point) -> bool| inside.iter().all(test) && !outside.iter().any(test);
    if let Some(&(text, test)) = exact.iter().find(|(_, test)| exactly(*test)) {
        // Smaller than anything on the grid, and not 0.
        let tiny = |point: &Point, size: f64| Point {
            delta: if point.delta == 0.0 { size } else { point.delta },
            a: if point.a == Complex64::ZERO { size.into() } else { point.a },
            ..*point
        };
        let only = [1e-7, 1e-12, 1e-30]
            .iter()
            .all(|&size| inside.iter().take(WAYS).map(|p| tiny(p, size)).all(|p| test(&p) || !holds(&p)));
        return only.then_some(Condition::Exactly(text, test));
    }
    let mut all = Measure::ALL.iter().filter_map(|&measure| {
        let by = |a: &&Point, b: &&Point| measure.of(a).total_cmp(&measure.of(b));
        let (lowest, highest) = (outside.iter().min_by(by)?, outside.iter().max_by(by)?);
        let below = inside.iter().all(|point| measure.of(point) < measure.of(lowest));
        let above = inside.iter().all(|point| measure.of(point) > measure.of(highest));
        let end = threshold(measure, inside, measure.of(if below { lowest } else { highest }), holds);
        match (below, above) {
            (true, _) => Some(Condition::Below(measure, end?)),
            (_, true) => Some(Condition::Above(measure, end?)),
            _ => None,
        }
    });
    // It must not end again between and beyond the grid's points, and be the same in directions in which none is inside.
    let lasts = |condition: &Condition| {
        let (measure, end, factors) = match *condition {
            Condition::Below(measure, end) => (measure, end, [0.6, 0.3, 0.02, 1e-4]),
            Condition::Above(measure, end) => (measure, end, [1.4, 1.9, 3.0, 5.0]),
            Condition::Exactly(..) => return true,
        };
        let ways = inside.iter().step_by(inside.len().div_ceil(WAYS));
        let moved = ways.flat_map(|point| factors.map(|factor| measure.scaled(point, factor)));
        let from_outside = nearest(measure, outside, end).into_iter().take(WAYS);
        let beside = from_outside.flat_map(|point| {
            JUST_WITHIN.map(|share| measure.scaled(point, share * end / measure.of(point)))
        });
        moved
            .chain(beside)
            .all(|point| !condition.holds(&point) || point.z().re.abs() > 20.0 || !is_elsewhere(&point))
    };
    all.find(lasts)
}

/// Ways from the inside on which a threshold is looked for.
const WAYS: usize = 12;

/// How far within its threshold a place is asked about in directions in which none of its points lie: the side decides which of
/// the two that is.
const JUST_WITHIN: [f64; 2] = [0.97, 1.03];

/// How many of them must end at one value: on a way across a zero of the function, rounding may end it early.
const MOST_WAYS: usize = 9;

/// Points from which the measure comes to `end` by its size alone: the nearest in each direction of A, then the next ones, as
/// what depends on the direction shows.
fn nearest(measure: Measure, points: &[Point], end: f64) -> Vec<&Point> {
    let ratio = |point: &Point| end / measure.of(point);
    let distance = |point: &Point| ratio(point).ln().abs();
    let mut all: Vec<&Point> =
        points.iter().filter(|point| ratio(point) > 0.0 && ratio(point).is_finite()).collect();
    sorted::by_number(&mut all, &|point| distance(point));
    let mut taken: Vec<(Complex64, usize)> = Vec::new();
    all.sort_by_cached_key(|point| {
        let size = point.a.norm();
        let direction = if size > 0.0 { point.a / size } else { point.a };
        match taken.iter_mut().find(|(known, _)| (known - direction).norm() < 1e-6) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                taken.push((direction, 0));
                0
            }
        }
    });
    all
}

/// Where the condition ends on ways from inside to where the measure is `end`; none where that is not at one value, to a
/// thousandth: then it is another condition.
fn threshold(measure: Measure, inside: &[Point], end: f64, holds: &dyn Fn(&Point) -> bool) -> Option<f64> {
    let from = nearest(measure, inside, end);
    let mut ends: Vec<f64> =
        from.iter().take(WAYS).filter_map(|point| end_of_way(measure, point, end, holds)).collect();
    ends.sort_by(f64::total_cmp);
    let middle = *ends.get(ends.len() / 2)?;
    let same = ends.iter().filter(|end| (*end - middle).abs() <= 1e-3 * middle.abs()).count();
    (same >= MOST_WAYS).then_some(middle)
}

/// Where the condition ends on one way; none where it does not end.
fn end_of_way(measure: Measure, inside: &Point, end: f64, holds: &dyn Fn(&Point) -> bool) -> Option<f64> {
    // On the way only what is measured changes, so that nothing else can end the place.
    let ratio = end / measure.of(inside);
    if (ratio - 1.0).abs() <= 1e-6 {
        return None;
    }
    let way = |share: f64| measure.scaled(inside, ratio.powf(share));
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        *if holds(&way(middle)) { &mut low } else { &mut high } = middle;
    }
    (!holds(&way(1.0))).then(|| measure.of(&way(0.5 * (low + high))))
}

/// A round number where the value is one, else that of three digits.
pub fn rounded_value(value: f64) -> f64 {
    let digits = |digits: usize| format!("{value:.digits$e}").parse::<f64>().unwrap_or(value);
    (0..3).map(digits).find(|round| (round / value - 1.0).abs() < 1e-3).unwrap_or(digits(2))
}

/// The same as a text.
fn rounded(value: f64) -> String {
    let rounded = rounded_value(value);
    if rounded == 0.0 || (1e-3..1e4).contains(&rounded.abs()) {
        format!("{rounded}")
    } else {
        format!("{rounded:e}")
    }
}

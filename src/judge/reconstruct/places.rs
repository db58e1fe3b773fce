//! Where a step function is another one than in general: guards against small steps, branches of a series that end too
//! early, NaN at A = 0. The places are described by one of a few conditions, whose threshold is found by bisection.

use num_complex::Complex64;

use super::expansion::{Expansion, Monomial, Point, Probe, Term, Which};
use super::fit::{TOLERANCE, factors, plausible, residual, snapped};
use super::function::{Found, Shape};
use super::text;
use crate::formula::Function;
use crate::problem::Weights;

/// What a double may have lost where it sums what cancels, as φ₃'s closed form does: its roundoff over |z|³, with room
/// for the operations that it has.
pub fn blurred(z: Complex64) -> f64 {
    4.0 * TOLERANCE + 64.0 * f64::EPSILON * z.norm().powi(-3)
}

/// From this on a disagreement may be all rounding.
const UNCLEAR: f64 = 1.0 / 64.0;

/// Bisections of a threshold: three digits of what lies a factor of 2⁴ apart in each of two numbers.
const BISECTIONS: usize = 24;

/// Points from tiny to large steps, with |z| of every size.
pub fn grid(weights: Weights) -> Vec<Point> {
    let directions: &[(f64, f64)] = match weights {
        Weights::Real => &[(-1.0, 0.0), (1.0, 0.0)],
        Weights::Complex => {
            &[(-1.0, 0.0), (-0.75, 1.0), (0.0, 1.0), (0.5, -0.75), (0.75, 0.0), (-0.25, -1.5)]
        }
    };
    let sizes = (-18..=18).step_by(2).map(|k| f64::from(k).exp2());
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
    let (want, size) = model.value(point);
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

/// What a place may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Delta,
    A,
    Z,
    RealZ,
    ImaginaryZ,
    /// |Re z| + |Im z|, a size that costs no root.
    SumZ,
    /// max(|Re z|, |Im z|), likewise.
    LargestZ,
}

impl Measure {
    const ALL: [Measure; 7] = [
        Measure::Z,
        Measure::Delta,
        Measure::A,
        Measure::SumZ,
        Measure::LargestZ,
        Measure::RealZ,
        Measure::ImaginaryZ,
    ];

    fn of(self, point: &Point) -> f64 {
        match self {
            Measure::Delta => point.delta,
            Measure::A => point.a.norm(),
            Measure::Z => point.z().norm(),
            Measure::RealZ => point.z().re,
            Measure::ImaginaryZ => point.z().im.abs(),
            Measure::SumZ => point.z().l1_norm(),
            Measure::LargestZ => point.z().re.abs().max(point.z().im.abs()),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Measure::Delta => "Δ",
            Measure::A => "|A|",
            Measure::Z => "|z|",
            Measure::RealZ => "Re z",
            Measure::ImaginaryZ => "|Im z|",
            Measure::SumZ => "|Re z| + |Im z|",
            Measure::LargestZ => "max(|Re z|, |Im z|)",
        }
    }

    /// A point at which the measure is so many times that of this one: a step of another length where it is of Δ, another A
    /// where not.
    fn scaled(self, point: &Point, factor: f64) -> Point {
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

    fn text(&self) -> String {
        match *self {
            Condition::Exactly(text, _) => text.to_owned(),
            Condition::Below(measure, end) => format!("{} < {}", measure.name(), rounded(end)),
            Condition::Above(measure, end) => format!("{} > {}", measure.name(), rounded(end)),
        }
    }
}

/// A place where Ā or B̄u is another function than elsewhere.
#[derive(Clone, Debug)]
pub struct Place {
    pub condition: Condition,
    /// What it is there; none where it is no number.
    pub content: Option<Expansion>,
    /// As a sentence without a full stop.
    pub text: String,
}

/// The places where Ā or B̄u is not what `model` says, as far as they can be told; `name` is the coefficient's.
pub fn find(probe: &Probe, which: Which, name: &str, model: &Expansion) -> Vec<Place> {
    let points = grid(probe.weights);
    let Some(steps) = probe.ask(&points) else { return Vec::new() };
    let classed: Vec<(Point, Complex64, Class)> = points
        .iter()
        .zip(&steps)
        .map(|(point, step)| (*point, step[which as usize], class(model, point, step[which as usize])))
        .collect();
    let of_kind = |kind| {
        let values: Vec<(Point, Complex64)> =
            classed.iter().filter(|one| one.2 == kind).map(|one| (one.0, one.1)).collect();
        let content = if kind == Class::Other { Some(content(&values, model)?) } else { None };
        // Where both functions agree to what can be seen, a point may lie on either side.
        let elsewhere = |point: &Point, got: Complex64| {
            class(model, point, got) == Class::Agrees
                && content.as_ref().is_none_or(|content| class(content, point, got) == Class::Other)
        };
        let outside: Vec<Point> =
            classed.iter().filter(|one| elsewhere(&one.0, one.1)).map(|one| one.0).collect();
        let inside: Vec<Point> = values.iter().map(|one| one.0).collect();
        let class_at = |point: &Point| {
            let step = probe.ask(&[*point]).map(|steps| steps[0][which as usize]);
            step.map_or(Class::Unclear, |got| class(model, point, got))
        };
        let is_elsewhere = |point: &Point| {
            let step = probe.ask(&[*point]).map(|steps| steps[0][which as usize]);
            step.is_some_and(|got| elsewhere(point, got))
        };
        let condition = condition((&inside, &outside), kind, &class_at, &is_elsewhere)?;
        let what = match &content {
            Some(content) => text::expansion(which, content),
            None if values.iter().all(|(_, got)| got.re.is_nan() || got.im.is_nan()) => "NaN".to_owned(),
            None => "not finite".to_owned(),
        };
        let text = format!("{name} is {what} where {}", condition.text());
        let place = Place { condition, content, text };
        // What was found at u = B = 1 must hold for others.
        let b = if probe.weights == Weights::Complex {
            Complex64::new(0.5, -1.5)
        } else {
            Complex64::from(-0.75)
        };
        let others: Vec<Point> =
            inside.iter().step_by(inside.len().div_ceil(8)).map(|p| Point { b, u: 2e3, ..*p }).collect();
        let steps = probe.ask(&others)?;
        let stays = others.iter().zip(steps).all(|(point, step)| {
            let class_of = |model| class(model, point, step[which as usize]);
            place
                .content
                .as_ref()
                .map_or(class_of(model) == Class::NotFinite, |content| class_of(content) != Class::Other)
        });
        stays.then_some(place)
    };
    [Class::NotFinite, Class::Other]
        .into_iter()
        .filter(|kind| classed.iter().any(|one| one.2 == *kind))
        .filter_map(of_kind)
        .collect()
}

/// The condition that all of `inside` fulfil and none of `outside`, nor what lies beyond the grid.
fn condition(
    (inside, outside): (&[Point], &[Point]),
    kind: Class,
    class_at: &dyn Fn(&Point) -> Class,
    is_elsewhere: &dyn Fn(&Point) -> bool,
) -> Option<Condition> {
    type Test = (&'static str, fn(&Point) -> bool);
    let exact: [Test; 6] = [
        ("A = 0", |p| p.a == Complex64::ZERO),
        ("Δ = 0", |p| p.delta == 0.0),
        ("z = 0", |p| p.z() == Complex64::ZERO),
        ("A is real", |p| p.a.im == 0.0),
        ("Re A = 0", |p| p.a.re == 0.0),
        ("Re A > 0", |p| p.a.re > 0.0),
    ];
    let exactly = |test: fn(&Point) -> bool| inside.iter().all(test) && !outside.iter().any(test);
    if let Some(&(text, test)) = exact.iter().find(|(_, test)| exactly(*test)) {
        // Smaller than anything on the grid, and not 0.
        let tiny = |point: &Point, size: f64| Point {
            delta: if point.delta == 0.0 { size } else { point.delta },
            a: if point.a == Complex64::ZERO { size.into() } else { point.a },
            ..*point
        };
        let only = [1e-7, 1e-12, 1e-30].iter().all(|&size| {
            inside.iter().take(WAYS).map(|p| tiny(p, size)).all(|p| test(&p) || class_at(&p) != kind)
        });
        return only.then_some(Condition::Exactly(text, test));
    }
    let holds = |point: &Point| class_at(point) == kind;
    let mut all = Measure::ALL.iter().filter_map(|&measure| {
        let by = |a: &&Point, b: &&Point| measure.of(a).total_cmp(&measure.of(b));
        let (lowest, highest) = (outside.iter().min_by(by)?, outside.iter().max_by(by)?);
        let below = inside.iter().all(|point| measure.of(point) < measure.of(lowest));
        let above = inside.iter().all(|point| measure.of(point) > measure.of(highest));
        let end = threshold(measure, inside, measure.of(if below { lowest } else { highest }), &holds);
        match (below, above) {
            (true, _) => Some(Condition::Below(measure, end?)),
            (_, true) => Some(Condition::Above(measure, end?)),
            _ => None,
        }
    });
    // It must not end again between and beyond the grid's points.
    let lasts = |condition: &Condition| {
        let (measure, factors) = match condition {
            Condition::Below(measure, _) => (*measure, [0.6, 0.3, 0.02, 1e-4]),
            Condition::Above(measure, _) => (*measure, [1.4, 1.9, 3.0, 5.0]),
            Condition::Exactly(..) => return true,
        };
        let ways = inside.iter().step_by(inside.len().div_ceil(WAYS));
        let mut moved = ways.flat_map(|point| factors.map(|factor| measure.scaled(point, factor)));
        moved.all(|point| !condition.holds(&point) || point.z().re.abs() > 20.0 || !is_elsewhere(&point))
    };
    all.find(lasts)
}

/// Ways from the inside on which a threshold is looked for.
const WAYS: usize = 12;

/// How many of them must end at one value: on a way across a zero of the function, rounding may end it early.
const MOST_WAYS: usize = 9;

/// Where the condition ends on ways from inside to where the measure is `end`; none where that is not at one value, to a
/// thousandth: then it is another condition.
fn threshold(measure: Measure, inside: &[Point], end: f64, holds: &dyn Fn(&Point) -> bool) -> Option<f64> {
    let mut from: Vec<&Point> = inside.iter().collect();
    let distance = |point: &Point| (end / measure.of(point)).ln().abs();
    from.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    // The nearest in each direction of A, then the next ones: what depends on the direction shows.
    let mut taken: Vec<(Complex64, usize)> = Vec::new();
    from.sort_by_cached_key(|point| {
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
    let moves = ratio > 0.0 && ratio.is_finite() && (ratio - 1.0).abs() > 1e-6;
    if !moves {
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

/// A round number where the value is one, else three digits.
fn rounded(value: f64) -> String {
    let digits = |digits: usize| format!("{value:.digits$e}").parse::<f64>().unwrap_or(value);
    let rounded = (0..3).map(digits).find(|round| (round / value - 1.0).abs() < 1e-3).unwrap_or(digits(2));
    if (1e-3..1e4).contains(&rounded.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}

/// How many points a sum must meet for each of its factors.
const EVIDENCE: usize = 4;

/// What is returned at these points, if it is a sum of up to three terms, or what is returned elsewhere and one or two more.
fn content(values: &[(Point, Complex64)], elsewhere: &Expansion) -> Option<Expansion> {
    // At these points u and B are 1.
    let monomial = elsewhere.0.first().map_or(Monomial::CONSTANT, |term| term.monomial);
    let term = |power, function| Term { monomial, power, function };
    let not_zero = values.iter().filter(|(_, got)| *got != Complex64::ZERO);
    let (points, got): (Vec<Point>, Vec<Complex64>) = not_zero.copied().unzip();
    if got.is_empty() {
        return Some(Expansion::default());
    }
    let scales: Vec<f64> = got.iter().map(|value| value.norm()).collect();
    let functions = [
        Function::Power(0),
        Function::Power(1),
        Function::Power(2),
        Function::Phi(0),
        Function::Phi(1),
        Function::Phi(2),
    ];
    let terms: Vec<(i32, Function)> =
        functions.iter().flat_map(|&of| (0..=3).map(move |power| (power, of))).collect();
    let single = |&(power, of): &(i32, Function)| term(power, Found::plain(Shape::Sum(vec![(1.0, of)])));
    let column = |one: &(i32, Function)| -> Vec<Complex64> {
        let alone = Expansion(vec![single(one)]);
        points.iter().map(|point| alone.value(point).0).collect()
    };
    let columns: Vec<_> = terms.iter().map(column).collect();
    let singles = (0..terms.len()).map(|i| vec![i]);
    let pairs = (0..terms.len()).flat_map(|i| (0..i).map(move |j| vec![j, i]));
    // Three terms of a polynomial.
    let triples = (0..12).flat_map(|i| (0..i).flat_map(move |j| (0..j).map(move |k| vec![k, j, i])));
    // Elsewhere's terms with a factor of 1 have no column.
    let rest: Vec<Complex64> =
        points.iter().zip(&got).map(|(point, got)| got - elsewhere.value(point).0).collect();
    let alone = singles.clone().chain(pairs.clone()).chain(triples).map(|chosen| (chosen, false));
    let more =
        singles.chain(pairs).filter(|chosen| chosen.iter().all(|&i| i < 12)).map(|chosen| (chosen, true));
    alone.chain(more).filter(|(chosen, _)| got.len() >= EVIDENCE * chosen.len()).find_map(
        |(chosen, beside)| {
            let got = if beside { &rest } else { &got };
            let picked: Vec<Vec<Complex64>> = chosen.iter().map(|&i| columns[i].clone()).collect();
            let found: Vec<f64> = factors(&picked, got, &scales)?.into_iter().map(snapped).collect();
            if !plausible(&found) {
                return None;
            }
            let sum =
                |row: usize| picked.iter().zip(&found).map(|(column, factor)| column[row] * factor).sum();
            let model: Vec<Complex64> = (0..got.len()).map(sum).collect();
            let scaled = |(&i, &factor): (&usize, &f64)| {
                let (power, of) = terms[i];
                term(power, Found::plain(Shape::Sum(vec![(factor, of)])))
            };
            let terms = if beside { elsewhere.0.clone() } else { Vec::new() };
            let terms = || terms.into_iter().chain(chosen.iter().zip(&found).map(scaled)).collect();
            (residual(&model, got, &scales) <= 4.0 * TOLERANCE).then(|| Expansion(terms()))
        },
    )
}

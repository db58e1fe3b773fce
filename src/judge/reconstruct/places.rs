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
fn blurred(z: Complex64) -> f64 {
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
enum Measure {
    Delta,
    A,
    Z,
    RealZ,
    ImaginaryZ,
    /// |Re z| + |Im z|, the size that costs no root.
    SumZ,
}

impl Measure {
    const ALL: [Measure; 6] =
        [Measure::Z, Measure::Delta, Measure::A, Measure::SumZ, Measure::RealZ, Measure::ImaginaryZ];

    fn of(self, point: &Point) -> f64 {
        match self {
            Measure::Delta => point.delta,
            Measure::A => point.a.norm(),
            Measure::Z => point.z().norm(),
            Measure::RealZ => point.z().re,
            Measure::ImaginaryZ => point.z().im.abs(),
            Measure::SumZ => point.z().l1_norm(),
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
        }
    }
}

/// Sentences without a full stop on where Ā or B̄u is not what `model` says, one for each kind of place; `name` is the
/// coefficient's.
pub fn describe(probe: &Probe, which: Which, name: &str, model: &Expansion) -> Vec<String> {
    let points = grid(probe.weights);
    let Some(steps) = probe.ask(&points) else { return Vec::new() };
    let classed: Vec<(Point, Complex64, Class)> = points
        .iter()
        .zip(&steps)
        .map(|(point, step)| (*point, step[which as usize], class(model, point, step[which as usize])))
        .collect();
    let mut said = Vec::new();
    for kind in [Class::NotFinite, Class::Other] {
        let inside: Vec<Point> = classed.iter().filter(|one| one.2 == kind).map(|one| one.0).collect();
        if inside.is_empty() {
            continue;
        }
        let values: Vec<(Point, Complex64)> =
            classed.iter().filter(|one| one.2 == kind).map(|one| (one.0, one.1)).collect();
        let content = if kind == Class::Other { content(&values, model) } else { None };
        // Where both functions agree to what can be seen, a point may lie on either side.
        let elsewhere = |point: &Point, got: Complex64| {
            class(model, point, got) == Class::Agrees
                && content.as_ref().is_none_or(|content| class(content, point, got) == Class::Other)
        };
        let outside: Vec<Point> =
            classed.iter().filter(|one| elsewhere(&one.0, one.1)).map(|one| one.0).collect();
        let holds = |point: &Point| {
            let step = probe.ask(&[*point]).map(|steps| steps[0][which as usize]);
            step.is_some_and(|got| class(model, point, got) == kind)
        };
        let place = condition(&inside, &outside, &holds);
        let what = match kind {
            Class::NotFinite if values.iter().all(|(_, got)| got.re.is_nan() || got.im.is_nan()) => {
                format!("{name} is NaN")
            }
            Class::NotFinite => format!("{name} is not finite"),
            _ => match &content {
                Some(content) => format!("{name} is {}", text::expansion(which, content)),
                None => format!("{name} is something else"),
            },
        };
        said.extend(match place {
            Some(place) => Some(format!("{what} where {place}")),
            // Of scattered points, only what is sure to be no rounding.
            None if kind == Class::NotFinite || content.is_some() => {
                let (point, _) = values[values.len() / 2];
                let (delta, a) = (point.delta, complex(point.a));
                Some(format!("{what} at some points, for instance Δ = {delta:e}, A = {a}"))
            }
            None => None,
        });
    }
    said
}

fn complex(a: Complex64) -> String {
    if a.im == 0.0 { format!("{:e}", a.re) } else { format!("{:e}{:+e}i", a.re, a.im) }
}

/// The condition that all of `inside` fulfil and none of `outside`.
fn condition(inside: &[Point], outside: &[Point], holds: &dyn Fn(&Point) -> bool) -> Option<String> {
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
    if let Some((text, _)) = exact.iter().find(|(_, test)| exactly(*test)) {
        return Some((*text).to_owned());
    }
    let mut found: Vec<(f64, String)> = Measure::ALL
        .iter()
        .filter_map(|&measure| {
            let by = |a: &&Point, b: &&Point| measure.of(a).total_cmp(&measure.of(b));
            let (above, below) = (outside.iter().min_by(by)?, outside.iter().max_by(by)?);
            let inside_below = inside.iter().all(|point| measure.of(point) < measure.of(above));
            let inside_above = inside.iter().all(|point| measure.of(point) > measure.of(below));
            let (sign, to) = match (inside_below, inside_above) {
                (true, _) => ('<', above),
                (_, true) => ('>', below),
                _ => return None,
            };
            let (value, spread) = threshold(measure, inside, measure.of(to), holds)?;
            Some((spread, format!("{} {sign} {}", measure.name(), rounded(value))))
        })
        .collect();
    // What the place really depends on ends everywhere at the same value.
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().next().map(|(_, text)| text)
}

/// Ways from the inside on which a threshold is looked for.
const WAYS: usize = 12;

/// Where the condition ends on ways from inside to where the measure is `end`, and how far these ends lie apart, relative.
/// Ends within a thousandth count as the same.
fn threshold(
    measure: Measure,
    inside: &[Point],
    end: f64,
    holds: &dyn Fn(&Point) -> bool,
) -> Option<(f64, f64)> {
    let mut from: Vec<&Point> = inside.iter().collect();
    let distance = |point: &Point| (end / measure.of(point)).ln().abs();
    from.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    let ends: Vec<f64> =
        from.iter().take(WAYS).filter_map(|point| end_of_way(measure, point, end, holds)).collect();
    let (least, most) = (ends.iter().copied().reduce(f64::min)?, ends.iter().copied().reduce(f64::max)?);
    let spread = ((most - least) / most).abs();
    Some((if least.abs() > most.abs() { least } else { most }, if spread < 1e-3 { 0.0 } else { spread }))
}

/// Where the condition ends on one way; none where it does not end.
fn end_of_way(measure: Measure, inside: &Point, end: f64, holds: &dyn Fn(&Point) -> bool) -> Option<f64> {
    // On the way only what is measured changes, so that nothing else can end the place.
    let ratio = end / measure.of(inside);
    let moves = ratio > 0.0 && ratio.is_finite() && (ratio - 1.0).abs() > 1e-6;
    if !moves {
        return None;
    }
    let way = |share: f64| {
        let single = |x: f64| f64::from(x as f32);
        let scale = ratio.powf(share);
        match measure {
            Measure::Delta => Point::unit(single(inside.delta * scale), inside.a),
            _ => Point::unit(
                inside.delta,
                Complex64::new(single(inside.a.re * scale), single(inside.a.im * scale)),
            ),
        }
    };
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

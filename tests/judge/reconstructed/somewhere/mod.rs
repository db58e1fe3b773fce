//! Something is wrong at one place alone, beyond a limit, to one side of a border, or of another step than the one that is
//! asked about.

mod limits;
mod replaced;
mod terms;
mod values;

use holdfast::judge::model::phi;
use num_complex::Complex64 as C;

use super::{List, Own, Step, Wrong};

pub fn lists() -> Vec<List> {
    [limits::lists(), replaced::lists(), terms::lists(), values::lists()].into_iter().flatten().collect()
}

/// Which coefficients are wrong.
#[derive(Clone, Copy)]
enum In {
    ABar,
    BBar,
    Both,
}

impl In {
    /// Each in turn.
    fn turn(i: usize) -> In {
        [In::BBar, In::ABar, In::Both][i % 3]
    }

    fn name(self) -> &'static str {
        match self {
            In::ABar => "Ā",
            In::BBar => "B̄",
            In::Both => "both",
        }
    }

    /// These coefficients of a wrong step, the others of the right one.
    fn of(self, [a_bar, b_bar]: [C; 2], right: [C; 2]) -> [C; 2] {
        match self {
            In::ABar => [a_bar, right[1]],
            In::BBar => [right[0], b_bar],
            In::Both => [a_bar, b_bar],
        }
    }
}

/// A number as it stands in a label.
fn number(x: f64) -> String {
    let text = if x != 0.0 && x.abs() < 1e-3 { format!("{x:e}") } else { x.to_string() };
    text.replace('-', "−")
}

/// Another z beside Δ as it is.
fn with_z(s: Step, z: C) -> Step {
    if s.delta == 0.0 { s } else { Step { a: z / s.delta, ..s } }
}

/// Another Δ everywhere but in Δu.
fn beside_drive(s: Step, delta: f64) -> Step {
    let share = if delta == 0.0 { 1.0 } else { s.delta / delta };
    Step { delta, u: s.u * share, ..s }
}

/// What a place may be about.
type Measure = (&'static str, fn(Step) -> f64);

const Z: Measure = ("|z|", |s| s.z().norm());
const DELTA: Measure = ("Δ", |s| s.delta);
const A: Measure = ("|A|", |s| s.a.norm());
const RE_Z: Measure = ("Re z", |s| s.z().re);
const RE_A: Measure = ("Re A", |s| s.a.re);
const SUM: Measure = ("|Re z| + |Im z|", |s| s.z().re.abs() + s.z().im.abs());
const LARGEST: Measure = ("max(|Re z|, |Im z|)", |s| s.z().re.abs().max(s.z().im.abs()));
const SIZE_IM_Z: Measure = ("|Im z|", |s| s.z().im.abs());
const SIZE_RE_Z: Measure = ("|Re z|", |s| s.z().re.abs());

/// Of what a border is, to which side of it something is wrong, and where it is.
type Border = (Measure, char, f64);

fn is_beyond(((_, measure), side, end): Border, s: Step) -> bool {
    if side == '<' { measure(s) < end } else { measure(s) > end }
}

fn border_text(((name, _), side, end): Border) -> String {
    format!("{name} {side} {}", number(end))
}

/// Whether a step is at a place.
type Holds = fn(Step) -> bool;

/// Smaller than any |z| but 0.
const NOTHING: f64 = 1e-300;

/// What is computed in the place of Ā and of B̄u.
type Change = fn(Own, Step) -> [C; 2];

/// The same by a name.
type Content = (&'static str, Change);

const RIGHT: Content = ("right", |own, s| own(s));
const ZERO: Content = ("0", |_, _| [C::ZERO; 2]);
const ONE: Content = ("1", |_, s| [C::ONE, s.b * s.u]);
const NAN: Content = ("NaN", |_, _| [C::from(f64::NAN); 2]);
const INFINITE: Content = ("∞", |_, _| [C::from(f64::INFINITY); 2]);
const LINEAR: Content = ("Δ", |_, s| [s.delta.into(), s.b * s.u * s.delta]);
const INVERSE: Content = ("−1/A", |_, s| [-1.0 / s.a, -s.b * s.u / s.a]);
const RESOLVENT: Content = ("(Δ)/(1 − z)", |_, s| of_step(s, 1.0 / (1.0 - s.z())));
const EXP_OF_HALF: Content = ("(Δ)exp(z/2)", |_, s| of_step(s, (s.z() / 2.0).exp()));
const FIRST: Content = ("(Δ)φ₁", |_, s| of_step(s, phi(s.z())[1]));
const THIRD: Content = ("(Δ)φ₃", |_, s| of_step(s, phi(s.z())[3]));
const RAISED: Content = ("(Δ)(1 + z/16)¹⁶", |_, s| of_step(s, (1.0 + s.z() / 16.0).powi(16)));
const UNKNOWN: Content = ("unknown", |own, s| own(s).map(|x| strange(s) * x));

/// A function of z alone, and Δ times it.
fn of_step(s: Step, value: C) -> [C; 2] {
    [value, s.b * s.u * s.delta * value]
}

/// No formula has this factor, which differs at every size of z and is not near 1 anywhere.
fn strange(s: Step) -> f64 {
    1.3 + 0.1 * (9.0 * (s.z().norm() + 1e-30).ln()).cos()
}

/// Something else where a condition holds.
fn at(
    of: In,
    content: &str,
    value: impl Fn(Own, Step) -> [C; 2] + Sync + 'static,
    place: &str,
    holds: impl Fn(Step) -> bool + Sync + 'static,
) -> Wrong {
    let what = format!("{} = {content} where {place}", of.name());
    Wrong::new(what, move |own, s| if holds(s) { of.of(value(own, s), own(s)) } else { own(s) })
}

/// Something else beyond a border.
fn beyond(of: In, (content, value): Content, border: Border) -> Wrong {
    at(of, content, value, &border_text(border), move |s| is_beyond(border, s))
}

/// A function of one number, as of z or of A.
type Function = fn(C) -> C;

/// What may stand in the place of A; the first six differ with real weights, too, and the last one is not known.
const OF_A: &[(&str, Function)] = &[
    ("−A", |a| -a),
    ("−exp(A)", |a| -a.exp()),
    ("exp(A)", |a| a.exp()),
    ("1/A", |a| 1.0 / a),
    ("|A|", |a| a.norm().into()),
    ("−|A|", |a| (-a.norm()).into()),
    ("−exp(Re A) + i Im A", |a| C::new(-a.re.exp(), a.im)),
    ("exp(Re A) + i Im A", |a| C::new(a.re.exp(), a.im)),
    ("i Im A", |a| C::new(0.0, a.im)),
    ("−|Re A| + i Im A", |a| C::new(-a.re.abs(), a.im)),
    ("A²", |a| a * a),
];

fn re_z_from_minus_3(s: Step) -> Step {
    with_z(s, C::new(s.z().re.max(-3.0), s.z().im))
}

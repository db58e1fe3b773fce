//! What has no expansion: the specified formula with something else in the place of A, Δ or z, which is no function of z, and
//! results in each other's places.

use std::fmt;
use std::sync::Arc;

use num_complex::Complex64;

use super::expansion::{Expansion, Point, Probe, Which};
use super::fit::{TOLERANCE, blurred};
use super::{difference, search};
use crate::formula::Form;
use crate::notation::raised;
use crate::problem::Weights;

/// What stands in the place of a number, as a text and as a function.
type Change<T> = (&'static str, fn(T) -> T);

/// What may stand in the place of A, and how it is written.
const OF_A: [Change<Complex64>; 10] = [
    ("A", |a| a),
    ("−exp(A)", |a| -a.exp()),
    ("exp(A)", |a| a.exp()),
    ("−exp(Re A) + i Im A", |a| Complex64::new(-a.re.exp(), a.im)),
    ("exp(Re A) + i Im A", |a| Complex64::new(a.re.exp(), a.im)),
    ("|A|", |a| a.norm().into()),
    ("−|A|", |a| (-a.norm()).into()),
    ("1/A", |a| 1.0 / a),
    ("i Im A", |a| Complex64::new(0.0, a.im)),
    ("−|Re A| + i Im A", |a| Complex64::new(-a.re.abs(), a.im)),
];

/// The same of Δ.
const OF_DELTA: [Change<f64>; 9] = [
    ("Δ", |delta| delta),
    ("softplus(Δ)", |delta| delta.exp().ln_1p()),
    ("exp(Δ)", f64::exp),
    ("log(1 + Δ)", f64::ln_1p),
    ("1", |_| 1.0),
    ("Δ²", |delta| delta * delta),
    ("√Δ", f64::sqrt),
    ("tanh(Δ)", f64::tanh),
    ("1/Δ", |delta| 1.0 / delta),
];

/// Values of A, around 1 in size.
fn values_of_a(weights: Weights) -> Vec<Complex64> {
    let sizes = [0.25, 0.75, 1.0, 1.5, 2.5];
    let directions: &[(f64, f64)] = match weights {
        Weights::Real => &[(-1.0, 0.0), (1.0, 0.0)],
        Weights::Complex => &[(-1.0, 0.5), (-0.5, -1.0), (0.25, 0.75), (0.5, -0.25)],
    };
    sizes.iter().flat_map(|&r| directions.iter().map(move |&(x, y)| Complex64::new(r * x, r * y))).collect()
}

/// At which point the formula is taken in the place of a given one.
pub type Moved = Arc<dyn Fn(&Point) -> Point + Send + Sync>;

/// Something else in the place of Δ, A or z.
#[derive(Clone)]
pub struct Replaced {
    pub moved: Moved,
    /// `1/A in the place of A`
    pub text: String,
}

impl Replaced {
    pub fn new(text: String, moved: impl Fn(&Point) -> Point + Send + Sync + 'static) -> Self {
        Replaced { moved: Arc::new(moved), text }
    }

    /// The same where Δu stays what it is, in which every B̄u has one Δ.
    pub fn beside_drive(&self) -> Self {
        let moved = self.moved.clone();
        Replaced::new(format!("{} (not in Δu)", self.text), move |point| {
            let point_there = moved(point);
            Point { u: point.u * point.delta / point_there.delta, ..point_there }
        })
    }

    /// Another z alone, beside Δ as it is.
    pub fn of_z(text: String, z: impl Fn(f64, Complex64) -> Complex64 + Send + Sync + 'static) -> Self {
        Replaced::new(text, move |point| Point { a: z(point.delta, point.a) / point.delta, ..*point })
    }
}

impl fmt::Debug for Replaced {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What may stand in the place of Δ and A.
fn of_both() -> impl Iterator<Item = Replaced> {
    let all = OF_DELTA.iter().flat_map(|delta| OF_A.iter().map(move |a| (delta, a)));
    all.skip(1).map(|(of_delta, of_a)| {
        let replaced = [(of_delta.0, "Δ"), (of_a.0, "A")].into_iter().filter(|(text, usual)| text != usual);
        let replaced: Vec<String> =
            replaced.map(|(text, usual)| format!("{text} in the place of {usual}")).collect();
        let (delta, a) = (of_delta.1, of_a.1);
        Replaced::new(replaced.join(" and "), move |point| Point {
            delta: delta(point.delta),
            a: a(point.a),
            ..*point
        })
    })
}

/// What may stand in the place of z where Δ stays what it is: products with other powers of Δ, for each part of A its own, and
/// a sum.
fn of_z(weights: Weights) -> Vec<Replaced> {
    let power = |power: i32, a: &str| format!("{}{a}", raised("Δ", power));
    let powers = [1, 2, 0, 3];
    let mut all = Vec::new();
    for re in powers {
        for im in powers {
            let is_usual = (re, im) == (1, 1);
            if is_usual || weights == Weights::Real && re != im {
                continue;
            }
            let text = if re == im {
                power(re, "A")
            } else {
                format!("{} + i {}", power(re, " Re A"), power(im, " Im A")).replace("  ", " ")
            };
            let z =
                move |delta: f64, a: Complex64| Complex64::new(delta.powi(re) * a.re, delta.powi(im) * a.im);
            all.push(Replaced::of_z(format!("{} in the place of z", text.trim()), z));
        }
    }
    all.push(Replaced::of_z("Δ + A in the place of z".to_owned(), |delta, a| a + delta));
    all
}

/// Something with one number in it in the place of z, Δ or A.
struct Numbered {
    of: &'static str,
    /// Whether the number is a factor; it is added where not.
    is_factor: bool,
    moved: fn(f64, &Point) -> Point,
}

/// Another z alone.
fn with_z(point: &Point, z: Complex64) -> Point {
    Point { a: z / point.delta, ..*point }
}

/// What may be off by a number, the plainest first.
const NUMBERED: [Numbered; 7] = [
    Numbered { of: "z", is_factor: false, moved: |x, point| with_z(point, point.z() + x) },
    Numbered { of: "Δ", is_factor: false, moved: |x, point| Point { delta: point.delta + x, ..*point } },
    Numbered { of: "A", is_factor: false, moved: |x, point| Point { a: point.a + x, ..*point } },
    Numbered { of: "z", is_factor: true, moved: |x, point| with_z(point, point.z() * x) },
    Numbered { of: "Δ", is_factor: true, moved: |x, point| Point { delta: point.delta * x, ..*point } },
    Numbered {
        of: "Re A",
        is_factor: true,
        moved: |x, point| Point { a: Complex64::new(point.a.re * x, point.a.im), ..*point },
    },
    Numbered {
        of: "Im A",
        is_factor: true,
        moved: |x, point| Point { a: Complex64::new(point.a.re, point.a.im * x), ..*point },
    },
];

impl Numbered {
    fn with(&self, x: f64) -> Replaced {
        let (of, moved) = (self.of, self.moved);
        let number = super::text::digits(x.abs());
        let text = match (self.is_factor, x < 0.0) {
            (true, is_negative) => format!("{}{number}·{of}", if is_negative { "−" } else { "" }),
            (false, true) => format!("{of} − {number}"),
            (false, false) => format!("{of} + {number}"),
        };
        Replaced::new(format!("{text} in the place of {of}"), move |point| moved(x, point))
    }

    /// Where the number is looked for first.
    fn starts(&self) -> &'static [f64] {
        if self.is_factor { &[1.0, 0.5, 2.0, -1.0] } else { &[0.0] }
    }
}

/// Newton steps, far more than what is near enough needs.
const NEWTON: usize = 12;

/// A number in the place of z, Δ or A: what it is, one value says, and all others must agree.
fn numbered(formula: &Expansion, values: &[(Point, Complex64)]) -> Option<Replaced> {
    let (point, got) = values.get(values.len() / 2)?;
    let kinds = NUMBERED.iter().flat_map(|kind| [false, true].map(|beside| (kind, beside)));
    let mut kinds = kinds.filter(|(kind, beside)| kind.of == "Δ" || !beside);
    kinds.find_map(|(kind, beside)| {
        let of = |x: f64| if beside { kind.with(x).beside_drive() } else { kind.with(x) };
        let at = |x: f64| formula.value(&(of(x).moved)(point)).0;
        kind.starts().iter().find_map(|&start| {
            let mut x = start;
            for _ in 0..NEWTON {
                let step = 1e-6;
                let slope = (at(x + step) - at(x - step)) / (2.0 * step);
                x += ((got - at(x)) / slope).re;
            }
            let replaced = of(search::typed(x)?);
            agrees(&replaced, formula, values, 4.0 * TOLERANCE).then_some(replaced)
        })
    })
}

/// Where one of them makes the formula agree everywhere.
pub fn find(probe: &Probe, which: Which, specified: &Expansion) -> Option<Replaced> {
    let points: Vec<Point> = [0.125, 0.5, 0.75, 1.25]
        .iter()
        .flat_map(|&delta| values_of_a(probe.weights).into_iter().map(move |a| Point::unit(delta, a)))
        .collect();
    let got: Vec<Complex64> = probe.ask(&points)?.into_iter().map(|step| step[which as usize]).collect();
    let values: Vec<(Point, Complex64)> = points.into_iter().zip(got).collect();
    let beside = of_both().filter(|one| one.text.contains("place of Δ")).map(|one| one.beside_drive());
    let mut all = of_both().chain(of_z(probe.weights)).chain(beside);
    all.find(|replaced| agrees(replaced, specified, &values, 4.0 * TOLERANCE))
        .or_else(|| numbered(specified, &values))
}

/// Whether it holds at other steps, too: smaller and larger ones, with another B and u.
pub fn holds_elsewhere(probe: &Probe, which: Which, specified: &Expansion, replaced: &Replaced) -> bool {
    let b = if probe.weights == Weights::Complex { Complex64::new(0.5, -1.5) } else { (-1.5).into() };
    let sizes = [(0.0625, 1.0), (0.0625, 6.0), (0.5, 6.0), (3.0, 0.25), (3.0, 1.0)];
    let points = sizes.iter().flat_map(|&(delta, size)| {
        values_of_a(probe.weights).into_iter().map(move |a| Point { delta, a: a * size, b, u: -0.5 })
    });
    let points: Vec<Point> = points.collect();
    let Some(steps) = probe.ask(&points) else { return false };
    let values: Vec<(Point, Complex64)> =
        points.into_iter().zip(steps).map(|(point, step)| (point, step[which as usize])).collect();
    agrees(replaced, specified, &values, 4.0 * TOLERANCE)
}

/// Beyond this exponent nothing is told: a constant that is typed as a single one is off by so much there.
pub const FAR: f64 = 30.0;
/// The same of the angle.
pub const WIDE: f64 = 40.0;

/// How many values must tell something where most are that far.
const FEWEST: usize = 6;

/// Whether values are those of a formula with something replaced, as far as double is sure of them.
pub fn agrees(replaced: &Replaced, formula: &Expansion, values: &[(Point, Complex64)], allowed: f64) -> bool {
    let near: Vec<(&Point, Complex64, Point)> = values
        .iter()
        .map(|(point, got)| (point, *got, (replaced.moved)(point)))
        // What is no number agrees with nothing.
        .filter(|(.., moved)| moved.z().re.is_nan() || moved.z().re.abs() <= FAR)
        .collect();
    near.len() >= FEWEST.min(values.len())
        && near.into_iter().all(|(point, got, moved)| {
            let (want, size) = formula.value(&moved);
            (got - want).norm() <= (allowed + blurred(point.z())) * size
        })
}

/// Another A alone that makes a formula agree with these values: what may stand in its place where it is of one kind.
pub fn of_a_at(formula: &Expansion, values: &[(Point, Complex64)], allowed: f64) -> Option<Replaced> {
    let negated = Replaced::new("−A in the place of A".to_owned(), |point| Point { a: -point.a, ..*point });
    let others = OF_A.iter().skip(1).map(|&(text, a)| {
        Replaced::new(format!("{text} in the place of A"), move |point| Point { a: a(point.a), ..*point })
    });
    let mut all = std::iter::once(negated).chain(others);
    all.find(|replaced| agrees(replaced, formula, values, allowed))
}

/// The four numbers that a complex step returns, or the two of a real one.
fn components(weights: Weights, step: [Complex64; 2]) -> Vec<f64> {
    match weights {
        Weights::Real => vec![step[0].re, step[1].re],
        Weights::Complex => vec![step[0].re, step[0].im, step[1].re, step[1].im],
    }
}

/// A sentence without a full stop, where every number that a step returns is one of those that it should return, perhaps with
/// the other sign, but not all of them in their places; and whether it is more than signs.
pub fn permuted(probe: &Probe, form: Form) -> Option<(String, bool)> {
    let b =
        if probe.weights == Weights::Complex { Complex64::new(0.5, -1.5) } else { Complex64::new(-1.5, 0.0) };
    // Of both signs: what is always positive would do for its modulus.
    let points: Vec<Point> = [(0.125, b, 0.75), (0.5, -b, 0.75), (0.75, b, -0.75)]
        .into_iter()
        .flat_map(|(delta, b, u)| {
            values_of_a(probe.weights).into_iter().map(move |a| Point { delta, a, b, u })
        })
        .collect();
    let got: Vec<Vec<f64>> =
        probe.ask(&points)?.into_iter().map(|step| components(probe.weights, step)).collect();
    let specified = [Which::ABar, Which::BBar].map(|which| difference::specified(form, which));
    let want: Vec<Vec<f64>> = points
        .iter()
        .map(|point| components(probe.weights, [0, 1].map(|i| specified[i].value(point).0)))
        .collect();
    let count = want.first()?.len();
    let names: &[&str] = if count == 2 { &["Ā", "B̄u"] } else { &["Re Ā", "Im Ā", "Re B̄u", "Im B̄u"] };
    let is = |i: usize, j: usize, sign: f64| {
        let largest = want.iter().fold(0.0, |most: f64, row| most.max(row[j].abs()));
        got.iter().zip(&want).all(|(got, want)| (got[i] - sign * want[j]).abs() <= 4.0 * TOLERANCE * largest)
    };
    let signed = [1.0, -1.0];
    let places: Vec<(usize, f64)> = (0..count)
        .map(|i| (0..count).flat_map(|j| signed.map(|sign| (j, sign))).find(|&(j, sign)| is(i, j, sign)))
        .collect::<Option<_>>()?;
    let wrong: Vec<String> = places
        .iter()
        .enumerate()
        .filter(|&(i, &(j, sign))| (i, 1.0) != (j, sign))
        .map(|(i, &(j, sign))| {
            format!("{}{} in the place of {}", if sign < 0.0 { "−" } else { "" }, names[j], names[i])
        })
        .collect();
    let moves = places.iter().enumerate().any(|(i, &(j, _))| i != j);
    (!wrong.is_empty()).then(|| (format!("Ā and B̄ are returned with {}", wrong.join(", ")), moves))
}

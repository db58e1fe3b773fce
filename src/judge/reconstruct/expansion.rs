//! What a step function is in u, B and Δ: a sum of monomials in u and B, each times powers of Δ, each times a function of
//! z = ΔA. Found by asking at chosen points, whose numbers are exact in f32.

use num_complex::Complex64;

use super::fit::{TOLERANCE, factors};
use super::function::{Found, Shape};
use super::search;
use crate::judge::diagnose::Work;
use crate::problem::elements::Elements;
use crate::problem::{CoefficientProblem, Weights};
use crate::tensor::Coefficients;

/// What a step function is called with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub delta: f64,
    pub a: Complex64,
    pub b: Complex64,
    pub u: f64,
}

impl Point {
    /// Where B and u are 1.
    pub fn unit(delta: f64, a: Complex64) -> Self {
        Point { delta, a, b: Complex64::ONE, u: 1.0 }
    }

    pub fn z(&self) -> Complex64 {
        self.a * self.delta
    }
}

/// A step function in double arithmetic: Ā and B̄u of each element, or none where it returned nothing.
pub type Evaluate<'a> = dyn Fn(&Elements) -> Option<Coefficients<f64>> + Sync + 'a;

/// Asks a step function.
pub struct Probe<'a> {
    pub weights: Weights,
    pub evaluate: &'a Evaluate<'a>,
    /// What stands where exp(z) should, if something does.
    pub own: Option<Found>,
    /// When it ends: then nothing is answered any more.
    pub work: &'a Work,
}

impl Probe<'_> {
    /// Ā and B̄u at each point; none where the work is over.
    pub fn ask(&self, points: &[Point]) -> Option<Vec<[Complex64; 2]>> {
        if self.work.is_over() {
            return None;
        }
        self.work.add(points.len());
        let mut coefficients = CoefficientProblem::new(self.weights);
        points.iter().for_each(|p| coefficients.push(p.delta as f32, p.a, p.b));
        let u = points.iter().map(|p| p.u as f32).collect();
        let returned = (self.evaluate)(&Elements { coefficients, u })?;
        let width = self.weights.width();
        let at = |values: &[f64], i: usize| match self.weights {
            Weights::Real => Complex64::from(values[i]),
            Weights::Complex => Complex64::new(values[2 * i], values[2 * i + 1]),
        };
        let whole = |values: &[f64]| values.len() == points.len() * width;
        (whole(&returned.a_bar) && whole(&returned.b_bar))
            .then(|| (0..points.len()).map(|i| [at(&returned.a_bar, i), at(&returned.b_bar, i)]).collect())
    }
}

/// What a term has of B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfB {
    None,
    Once,
    Conjugated,
    Squared,
    /// |B|²
    Modulus,
}

impl OfB {
    fn all(weights: Weights) -> &'static [OfB] {
        match weights {
            Weights::Real => &[OfB::None, OfB::Once, OfB::Squared],
            Weights::Complex => &[OfB::None, OfB::Once, OfB::Conjugated, OfB::Squared, OfB::Modulus],
        }
    }

    pub fn of(self, b: Complex64) -> Complex64 {
        match self {
            OfB::None => Complex64::ONE,
            OfB::Once => b,
            OfB::Conjugated => b.conj(),
            OfB::Squared => b * b,
            OfB::Modulus => b.norm_sqr().into(),
        }
    }
}

/// uʲ times what it has of B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monomial {
    pub u: i32,
    pub b: OfB,
}

impl Monomial {
    /// That of Ā.
    pub const CONSTANT: Monomial = Monomial { u: 0, b: OfB::None };
    /// That of every specified B̄u.
    pub const BU: Monomial = Monomial { u: 1, b: OfB::Once };

    fn at(self, b: Complex64, u: f64) -> Complex64 {
        self.b.of(b) * u.powi(self.u)
    }
}

/// One term: monomial · Δᵖ · f(z).
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    pub monomial: Monomial,
    /// p
    pub power: i32,
    pub function: Found,
}

/// A sum of terms: what a coefficient is found to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expansion(pub Vec<Term>);

impl Expansion {
    /// Its value, and the sum of its terms' moduli.
    pub fn value(&self, point: &Point) -> (Complex64, f64) {
        let terms = self.0.iter().map(|term| {
            let scale = term.monomial.at(point.b, point.u) * point.delta.powi(term.power);
            // 0 · f is 0, also where f is at its pole.
            if scale == Complex64::ZERO { scale } else { scale * term.function.value(point.z()) }
        });
        terms.fold((Complex64::ZERO, 0.0), |(sum, size), term| (sum + term, size + term.norm()))
    }
}

/// Ā or B̄u.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    ABar = 0,
    BBar = 1,
}

/// Steps at which powers of Δ are told apart. Ordinary ones: guards against small steps are found afterwards.
const DELTAS: [f64; 7] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0];

/// Powers of Δ that a term may have.
const POWERS: std::ops::RangeInclusive<i32> = -2..=5;

/// How many of them one sum may have: one more than any method, and fewer than there are steps.
const MOST_POWERS: u32 = 4;

/// At how many values of z a function may have no value.
const POLES: usize = 2;

/// Values of z: dyadic, of both signs, small and large. Those near ±2 are left out, where quotients have their poles.
pub fn arguments(weights: Weights) -> Vec<Complex64> {
    let real = [0.03125, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.25, 1.5, 2.75, 3.5, 5.0];
    match weights {
        Weights::Real => {
            let both = real.iter().flat_map(|&x| [-x, x]);
            both.chain([-7.0, -9.0]).map(Complex64::from).collect()
        }
        Weights::Complex => {
            let directions = [
                (1.0, 0.0),
                (0.75, 0.625),
                (0.0, 1.0),
                (-0.5, 0.875),
                (-1.0, 0.25),
                (-0.75, -0.625),
                (-1.0, 0.0),
                (0.0, -1.0),
                (0.625, -0.75),
            ];
            let sizes = [0.0625, 0.25, 0.5, 1.0, 1.5, 3.0, 5.0];
            sizes.iter().flat_map(|&r| directions.map(|(x, y)| Complex64::new(r * x, r * y))).collect()
        }
    }
}

/// What Ā or B̄u is, as far as it is a sum of such terms at the given z; none otherwise.
pub fn find(probe: &Probe, which: Which, z: &[Complex64]) -> Option<Expansion> {
    // A pole tells nothing of what is around it.
    let values = probe.ask(&z.iter().map(|&z| Point::unit(1.0, z)).collect::<Vec<_>>())?;
    let finite = z.iter().zip(values).filter(|(_, step)| step[which as usize].is_finite());
    let kept: Vec<Complex64> = finite.map(|(&z, _)| z).collect();
    let z = if z.len() <= kept.len() + POLES { &kept[..] } else { z };
    let mut terms = Vec::new();
    for (monomial, values) in monomials(probe, which, z)? {
        let powers = powers(&values)?;
        for (power, values) in powers {
            terms.extend(split(search::find(z, &values, probe)?).map(|function| Term {
                monomial,
                power,
                function,
            }));
        }
    }
    Some(Expansion(terms))
}

/// A sum of several functions as terms of their own; what is a polynomial stays one.
fn split(found: Found) -> impl Iterator<Item = Found> {
    let parts = match &found.shape {
        Shape::Sum(terms) if found.shape.as_polynomial().is_none() => {
            terms.iter().map(|&term| Found { shape: Shape::Sum(vec![term]), ..found.clone() }).collect()
        }
        _ => vec![found],
    };
    parts.into_iter()
}

/// For each z one value for each of [`DELTAS`].
type Table = Vec<[Complex64; DELTAS.len()]>;

/// The monomials that are there, with what multiplies each.
fn monomials(probe: &Probe, which: Which, z: &[Complex64]) -> Option<Vec<(Monomial, Table)>> {
    let ofs = OfB::all(probe.weights);
    let all: Vec<Monomial> = (0..=2).flat_map(|u| ofs.iter().map(move |&b| Monomial { u, b })).collect();
    let b: &[(f64, f64)] = match probe.weights {
        Weights::Real => &[(1.0, 0.0), (-1.0, 0.0), (2.0, 0.0), (-0.5, 0.0)],
        Weights::Complex => &[(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (1.0, 1.0), (2.0, -0.5), (-0.5, -1.5)],
    };
    let u = [1.0, -1.0, 2.0, 0.5];
    let around: Vec<(Complex64, f64)> =
        b.iter().flat_map(|&(re, im)| u.map(|u| (Complex64::new(re, im), u))).collect();
    let columns: Vec<Vec<Complex64>> =
        all.iter().map(|monomial| around.iter().map(|&(b, u)| monomial.at(b, u)).collect()).collect();
    // Which are there: at a few points.
    let few: Vec<Complex64> = z.iter().copied().step_by(5).collect();
    let steps = [DELTAS[0], 1.0, DELTAS[DELTAS.len() - 1]];
    let mut there = vec![false; all.len()];
    for &z in &few {
        for delta in steps {
            let points: Vec<Point> =
                around.iter().map(|&(b, u)| Point { delta, a: z / delta, b, u }).collect();
            let values: Vec<Complex64> =
                probe.ask(&points)?.into_iter().map(|step| step[which as usize]).collect();
            let found = complex_factors(&columns, &values)?;
            let largest = found.iter().fold(0.0, |most: f64, factor| most.max(factor.norm()));
            for (there, factor) in there.iter_mut().zip(&found) {
                *there |= factor.norm() > largest * TOLERANCE;
            }
        }
    }
    let kept: Vec<usize> = (0..all.len()).filter(|&i| there[i]).collect();
    let alone = match (which, kept[..].as_ref()) {
        (Which::ABar, &[one]) => all[one] == Monomial::CONSTANT,
        (Which::BBar, &[one]) => all[one] == Monomial::BU,
        _ => false,
    };
    // One point decides where there is one monomial.
    let around: &[(Complex64, f64)] = if alone { &[(Complex64::ONE, 1.0)] } else { &around };
    let columns: Vec<Vec<Complex64>> =
        kept.iter().map(|&i| around.iter().map(|&(b, u)| all[i].at(b, u)).collect()).collect();
    let mut tables = vec![Table::new(); kept.len()];
    let points: Vec<Point> = z
        .iter()
        .flat_map(|&z| DELTAS.iter().map(move |&delta| (delta, z / delta)))
        .flat_map(|(delta, a)| around.iter().map(move |&(b, u)| Point { delta, a, b, u }))
        .collect();
    let values: Vec<Complex64> = probe.ask(&points)?.into_iter().map(|step| step[which as usize]).collect();
    for rows in values.chunks(around.len() * DELTAS.len()) {
        tables.iter_mut().for_each(|table| table.push([Complex64::ZERO; DELTAS.len()]));
        for (at, values) in rows.chunks(around.len()).enumerate() {
            let found = complex_factors(&columns, values)?;
            for (table, factor) in tables.iter_mut().zip(found) {
                table.last_mut()?[at] = factor;
            }
        }
    }
    Some(kept.into_iter().map(|i| all[i]).zip(tables).collect())
}

/// Complex factors of the columns: those that leave no more than a fit may.
fn complex_factors(columns: &[Vec<Complex64>], values: &[Complex64]) -> Option<Vec<Complex64>> {
    let size = values.iter().fold(0.0, |most: f64, value| most.max(value.norm()));
    // What is no number is no 0.
    if values.iter().all(|value| *value == Complex64::ZERO) {
        return Some(vec![Complex64::ZERO; columns.len()]);
    }
    if columns.is_empty() {
        return None;
    }
    let i = Complex64::I;
    let both: Vec<Vec<Complex64>> = columns
        .iter()
        .flat_map(|column| [column.clone(), column.iter().map(|value| value * i).collect()])
        .collect();
    let real = factors(&both, values, &vec![size; values.len()])?;
    let found: Vec<Complex64> = real.chunks(2).map(|pair| Complex64::new(pair[0], pair[1])).collect();
    let model = |row: usize| {
        found.iter().zip(columns).map(|(factor, column)| factor * column[row]).sum::<Complex64>()
    };
    let fits = (0..values.len()).all(|row| (model(row) - values[row]).norm() <= TOLERANCE * size);
    fits.then_some(found)
}

/// The fewest powers of Δ of which every row of the table is a sum, with what multiplies each at each z.
fn powers(table: &Table) -> Option<Vec<(i32, Vec<Complex64>)>> {
    let all: Vec<i32> = POWERS.collect();
    // The fewest first.
    let mut subsets: Vec<Vec<i32>> = (1u32..1 << all.len())
        .filter(|set| set.count_ones() <= MOST_POWERS)
        .map(|set| (0..all.len()).filter(|i| set >> i & 1 == 1).map(|i| all[i]).collect())
        .collect();
    subsets.sort_by_key(Vec::len);
    subsets.into_iter().find_map(|powers| {
        let columns: Vec<Vec<Complex64>> =
            powers.iter().map(|&p| DELTAS.iter().map(|delta| delta.powi(p).into()).collect()).collect();
        let mut found = vec![Vec::new(); powers.len()];
        for row in table {
            let factors = row_factors(&columns, row)?;
            found.iter_mut().zip(factors).for_each(|(found, factor)| found.push(factor));
        }
        Some(powers.into_iter().zip(found).collect())
    })
}

fn row_factors(columns: &[Vec<Complex64>], row: &[Complex64]) -> Option<Vec<Complex64>> {
    let largest = row.iter().fold(0.0, |most: f64, value| most.max(value.norm()));
    if row.iter().all(|value| *value == Complex64::ZERO) {
        return Some(vec![Complex64::ZERO; columns.len()]);
    }
    // Each value in units of itself: a power of Δ must fit at the smallest step as well.
    let scales: Vec<f64> = row.iter().map(|value| value.norm().max(largest * TOLERANCE)).collect();
    let parts = |part: fn(&Complex64) -> f64| -> Option<Vec<f64>> {
        let values: Vec<Complex64> = row.iter().map(|value| part(value).into()).collect();
        if values.iter().all(|value| value.re == 0.0) {
            Some(vec![0.0; columns.len()])
        } else {
            factors(columns, &values, &scales)
        }
    };
    let (re, im) = (parts(|value| value.re)?, parts(|value| value.im)?);
    let found: Vec<Complex64> = re.into_iter().zip(im).map(|(re, im)| Complex64::new(re, im)).collect();
    let fits = (0..row.len()).all(|at| {
        let model: Complex64 = found.iter().zip(columns).map(|(factor, column)| factor * column[at]).sum();
        (model - row[at]).norm() <= TOLERANCE * scales[at]
    });
    fits.then_some(found)
}

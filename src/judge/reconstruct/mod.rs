//! What a step function computes, reconstructed: a foreign header can be called anywhere, in double, so that its Ā and its
//! B̄u can be asked for their formulas.
//!
//! # How
//!
//! 1. At fixed Δ and A, B̄u is a sum of monomials in u and B ([`expansion::Monomial`]): uB if it is right. Values at more
//!    (u, B) than there are monomials decide which are there.
//! 2. At fixed z, what multiplies a monomial is a sum of powers of Δ: values at seven steps decide which, the fewest that
//!    leave no more than [`fit::TOLERANCE`].
//! 3. What multiplies a power of Δ is a function of z. [`function::find`] tries, the plainest first: the functions that
//!    methods are made of, with any factor; exponentials of a scaled argument; polynomials and quotients of polynomials, with
//!    any coefficients; sums of two or three of these functions; other arguments (z̄, Re z, z/2) and parts.
//! 4. The formula is compared with the specified one, term by term ([`difference`]).
//!    Where no such formula is found, the specified one is tried with something else in the place of A or Δ ([`replaced`]).
//! 5. Where the function is another one than in general is asked on a grid of steps from 2⁻³⁴ on ([`places`]).
//!
//! Each step is a fit with far fewer unknowns than values, accepted if every value is met to 2⁻²⁰: an error in a formula is
//! larger, and constants typed as single ones are as coarse. Where no such formula is found nothing is said of it.
//!
//! The name of a [fault model](super::faults) comes first where it agrees with the function at every point that was asked.

pub mod difference;
pub mod expansion;
pub mod fit;
pub mod function;
pub mod places;
pub mod replaced;
pub mod text;

use num_complex::Complex64;

use self::expansion::{Evaluate, Expansion, Point, Probe, Which};
use self::fit::TOLERANCE;
use super::diagnose::variant;
use super::faults::catalogue::{self, Entry};
use super::faults::step;
use crate::formula::Form;
use crate::method::Method;
use crate::problem::Weights;
use crate::results::Diagnosis;

/// What a step function was found to compute.
#[derive(Clone, Debug)]
pub struct Reconstruction {
    /// The fault model that agrees with it everywhere; often none.
    pub model: Option<&'static Entry>,
    /// Where that holds, as the beginning of a sentence; mostly nothing.
    pub scope: &'static str,
    /// What is wrong, in full: the formulas side by side, the difference, the places.
    pub what: Vec<String>,
}

impl Reconstruction {
    /// As a diagnosis: by the name of the fault model that it is, or of the coefficients that are wrong.
    pub fn diagnosis(&self) -> Diagnosis {
        let both = |text: &String| text.starts_with("Ā and B̄");
        let wrong = |name: &str| self.what.iter().any(|text| text.starts_with(name) || both(text));
        let formula = match (wrong("Ā"), wrong("B̄")) {
            (true, true) => "a-bar-formula + b-bar-formula",
            (true, false) => "a-bar-formula",
            _ => "b-bar-formula",
        };
        let what = format!("{}{}", self.scope, self.what.join("; "));
        let (name, what) = match self.model {
            Some(model) => (model.name, format!("{}: {what}", model.what)),
            None => (formula, what),
        };
        Diagnosis { name: name.to_owned(), what, residual: TOLERANCE }
    }
}

/// What is wrong with a method's step, for these weights; none where nothing is, or nothing can be said.
pub fn identify(method: Method, weights: Weights, evaluate: &Evaluate) -> Option<Reconstruction> {
    let probe = Probe { weights, evaluate };
    let mut found = Reconstruction { model: None, scope: "", what: Vec::new() };
    for (which, name) in [(Which::ABar, "Ā"), (Which::BBar, "B̄")] {
        let right = difference::specified(method.into(), which);
        let arguments = expansion::arguments(weights);
        let computed = in_general(&probe, which, &arguments, &right);
        let model = match &computed {
            Some(computed) if !difference::same(computed, &right, &arguments) => {
                let (is, should) = (text::expansion(which, computed), text::expansion(which, &right));
                let mut said = vec![format!("{name} computes {is}"), format!("specified {should}")];
                said.extend(difference::describe(which, computed, &right, &arguments));
                found.what.push(said.join("; "));
                computed
            }
            Some(_) => &right,
            None => {
                found.what.extend(replaced::describe(&probe, which, name, &right));
                continue;
            }
        };
        let places = places::describe(&probe, which, name, model);
        found.what.extend(places);
    }
    if found.what.is_empty() {
        found.what.extend(replaced::permuted(&probe, method.into()));
    }
    if !found.what.is_empty() {
        found.model = model(&probe, method);
    }
    (!found.what.is_empty()).then_some(found)
}

/// What Ā or B̄u is at all z, or else at those to one side of a branch.
fn in_general(probe: &Probe, which: Which, z: &[Complex64], right: &Expansion) -> Option<Expansion> {
    // The specified formula first: where half of all values agree, the rest is a matter of places.
    let ordinary: Vec<Point> =
        [0.25, 1.0, 2.0].iter().flat_map(|&d| z.iter().map(move |&z| Point::unit(d, z / d))).collect();
    let steps = probe.ask(&ordinary)?;
    let agree = ordinary.iter().zip(&steps).filter(|(point, step)| {
        let (want, size) = right.value(point);
        (step[which as usize] - want).norm() <= 4.0 * TOLERANCE * size
    });
    let everywhere = expansion::find(probe, which, z);
    if everywhere.is_some() {
        return everywhere;
    }
    if 2 * agree.count() > ordinary.len() {
        return Some(right.clone());
    }
    // Where a branch is wrong, the formula is the one beside it.
    let sides: [fn(&Complex64) -> bool; 5] = [
        |z| z.norm() >= 2.75,
        |z| z.norm() >= 1.0,
        |z| z.norm() <= 0.5,
        |z| z.re < 0.0,
        |z| z.re <= 0.0 && z.norm() >= 1.0,
    ];
    let found: Vec<Expansion> = sides
        .iter()
        .filter_map(|side| {
            let z: Vec<Complex64> = z.iter().copied().filter(side).collect();
            expansion::find(probe, which, &z)
        })
        .collect();
    let specified = found.iter().find(|found| difference::same(found, right, z));
    specified.or(found.first()).cloned()
}

/// The fault model that agrees at every point with both coefficients, the most specific one.
fn model(probe: &Probe, method: Method) -> Option<&'static Entry> {
    let z = expansion::arguments(probe.weights);
    let b: &[Complex64] = match probe.weights {
        Weights::Real => &[Complex64::ONE, Complex64::new(-2.0, 0.0)],
        Weights::Complex => &[Complex64::ONE, Complex64::new(0.5, -1.5)],
    };
    let ordinary = [0.25, 1.0, 2.0].iter().flat_map(|&delta| {
        z.iter().flat_map(move |&z| b.iter().map(move |&b| Point { delta, a: z / delta, b, u: -0.5 }))
    });
    let points: Vec<Point> = ordinary.chain(places::grid(probe.weights)).collect();
    let steps = probe.ask(&points)?;
    let agrees = |entry: &&Entry| {
        entry.fault.applies_to(method)
            && entry.fault.shows_in_coefficients(probe.weights)
            && points.iter().zip(&steps).all(|(point, step)| matches(entry, method.into(), point, *step))
    };
    catalogue::ALL.iter().find(agrees)
}

fn matches(entry: &Entry, form: Form, point: &Point, step: [Complex64; 2]) -> bool {
    let z = point.z();
    // Where double itself loses digits, or a model has no value, nothing is decided.
    let allowed = 4.0 * TOLERANCE + 64.0 * f64::EPSILON * z.norm().powi(-3);
    if allowed > 1e-3 || z.re.abs() > 20.0 {
        return true;
    }
    let variant = variant(form, &[entry.fault]);
    let delta = variant.clamp.of(variant.step_delta.of(point.delta));
    let a_bar = step::a_bar(&variant, delta, 0.0, point.a).value;
    let terms = step::terms(&variant, delta, 0.0, point.a);
    let u_higher = if variant.u_in_higher_terms { point.u } else { 1.0 };
    let parts = [terms.first * point.u, terms.higher * u_higher, terms.neighbour * point.u];
    let b_bar = parts.iter().sum::<Complex64>() * step::used(variant.b_use, point.b);
    let size = parts.iter().map(|part| part.norm()).sum::<f64>() * point.b.norm().max(1.0);
    let near = |got: Complex64, want: Complex64, size: f64| {
        !want.is_finite() || (got - want).norm() <= allowed * size
    };
    near(step[0], a_bar, a_bar.norm()) && near(step[1], b_bar, size)
}

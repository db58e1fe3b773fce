//! The truth of what a backward pass takes of one step, element by element: Ā, its slope by z = ΔA, and h = B̄/B with its derivatives
//! by Δ and by A (spec.md §6), each correctly rounded to f64, by the routes and arithmetics of gradients.

use nalgebra::Complex;

use super::climb::{Climb, WIDEST};
use super::number::Number;
use super::rules::{ROUTES, Rules};
use crate::formula::ReadsNow;
use crate::method::Method;
use crate::parallel;
use crate::problem::{CoefficientProblem, Weights};
use crate::tensor::{Named, StepName};
use crate::truth::certify::{Certificate, Doubt, settle};
use crate::truth::diagonal::coefficient::{check_exponent, validate_elements};
use crate::truth::number::ball::Ball;
use crate::truth::number::elementary::Exponent;
use crate::truth::number::scalar::{Entry, Real};
use crate::truth::number::wide::Wide;
use crate::truth::{Result, TruthError};

/// One method's steps.
#[derive(Clone, Debug)]
pub struct StepTruth {
    /// Each (n)·w.
    pub values: Named<Vec<f64>, StepName>,
    pub certificate: Certificate,
}

const NAMES: usize = StepName::ALL.len();

/// The steps of each (Δ, A) of `problem`, whose B does not matter.
///
/// # Errors
/// As [`crate::truth::coefficient::solve`]'s.
pub fn solve(method: Method, problem: &CoefficientProblem) -> Result<StepTruth> {
    validate_elements(problem)?;
    let form = ReadsNow::from(method);
    let elements = parallel::try_each(problem.delta.len(), &|i| {
        let mut element = Element::new(form, problem, i);
        match problem.weights {
            Weights::Real => element.check::<Wide>()?,
            Weights::Complex => element.check::<Complex<Wide>>()?,
        }
        element.climb(problem.weights, false);
        element.settled()
    })?;
    let mut certificate = Certificate::new(ROUTES);
    let mut values: Named<Vec<f64>, StepName> =
        StepName::ALL.into_iter().map(|name| (name, Vec::new())).collect();
    for element in &elements {
        certificate.absorb(&element.certificate);
        for (name, values) in values.iter_mut() {
            let found = element.values[name as usize];
            values.extend(&found[..problem.weights.width()]);
        }
    }
    Ok(StepTruth { values, certificate })
}

/// One (Δ, A), with what is settled of it and what is not.
struct Element<'p> {
    form: ReadsNow,
    i: usize,
    delta: f32,
    a: &'p [f32],
    /// One or two parts each. For the slope ∂Ā/∂A, which is Δ times it.
    values: [[f64; 2]; NAMES],
    open: Vec<(StepName, usize, Doubt)>,
    certificate: Certificate,
}

impl<'p> Element<'p> {
    fn new(form: ReadsNow, problem: &'p CoefficientProblem, i: usize) -> Self {
        let width = problem.weights.width();
        let parts = |name| (0..width).map(move |part| (name, part, Doubt::Floor));
        Element {
            form,
            i,
            delta: problem.delta[i],
            a: &problem.a[i * width..][..width],
            values: [[0.0; 2]; NAMES],
            open: StepName::ALL.into_iter().flat_map(parts).collect(),
            certificate: Certificate::new(ROUTES),
        }
    }

    fn place(&self) -> String {
        format!("element {}", self.i)
    }

    /// That z is in range and the form at no pole.
    fn check<T: Exponent>(&self) -> Result<()> {
        let z = T::given(self.a).scaled(&T::Part::given(&[self.delta]));
        check_exponent(z, self.form.formula().pole().as_slice(), || self.place())
    }

    /// In the order of their names.
    fn step<V: Number>(&self, rules: &Rules<V>) -> Option<[V; NAMES]> {
        let step = (rules.step)(self.form, &V::Real::given(&[self.delta]), &V::given(self.a))?;
        let [_, a_bar_by_a] = step.a_bar_by;
        let [h_by_delta, h_by_a] = step.b_bar_by;
        Some([step.a_bar, a_bar_by_a, step.b_bar, h_by_delta, h_by_a])
    }

    /// With the slope itself: one rounding more.
    fn settled(mut self) -> Result<Self> {
        if let Some(&(name, _, doubt)) = self.open.first() {
            let place = format!("{}: {name}", self.place());
            return Err(TruthError::Uncertified { place, reason: doubt.reason(), bits: WIDEST });
        }
        let slope = &mut self.values[StepName::Slope as usize];
        match self.delta {
            // f′(0) of every Ā = f(z).
            0.0 => *slope = [1.0, 0.0],
            delta => slope.iter_mut().for_each(|part| *part /= f64::from(delta)),
        }
        Ok(self)
    }
}

impl Climb for Element<'_> {
    fn settle<T: Entry>(&mut self, literal: &Rules<T>, bounded: &Rules<Ball<T>>) {
        if self.open.is_empty() {
            return;
        }
        let (Some(literal), Some(bounded)) = (self.step(literal), self.step(bounded)) else { return };
        let Element { values, certificate, .. } = self;
        self.open.retain_mut(|(name, part, doubt)| {
            let at = *name as usize;
            match settle(&literal[at].part(*part), &bounded[at].part(*part)) {
                Ok(settled) => {
                    certificate.count(settled, T::Part::BITS);
                    values[at][*part] = settled.value;
                    false
                }
                Err(found) => {
                    *doubt = found;
                    true
                }
            }
        });
    }

    fn know<V: Number>(&mut self, rules: &Rules<V>, rounded: fn(&V::Real) -> Option<f64>) {
        if self.open.is_empty() {
            return;
        }
        let Some(known) = self.step(rules) else { return };
        let Element { values, certificate, .. } = self;
        self.open.retain(|&(name, part, doubt)| {
            let agreed = |value: &f64| *value == 0.0 || doubt != Doubt::Disagreement;
            let value = rounded(&known[name as usize].part(part)).filter(agreed);
            let Some(value) = value else { return true };
            certificate.count_exact(value);
            values[name as usize][part] = value;
            false
        });
    }
}

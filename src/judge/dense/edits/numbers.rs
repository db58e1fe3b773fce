//! Numbers that are found: factors of z and of Δ, and coefficients of sums.

use nalgebra::{DMatrix, DVector};
use num_complex::Complex64;

use super::text::{SPECIFIED, Symbols, is_simple, multiple, shortest, simple, term_text, written};
use super::{Bounded, Failing, Hypothesis, SYSTEMS};
use crate::formula::{Fraction, Function, Term, Transition};
use crate::notation::joined;
use crate::tensor::DenseName;

/// The name of an edit that other ones of Δ are in Ā.
pub(super) const Z_SCALED: &str = "z-scaled";

/// Numbers by which the search for a factor begins, its steps, and the largest that is tried.
const STARTS: [f64; 6] = [1.0, 0.5, 2.0, 0.25, 4.0, -1.0];
const NEWTON: usize = 12;
const LARGEST_FACTOR: f64 = 64.0;

/// Numbers that are one but for how they are found, and coefficients that are none.
pub(super) const ALIKE: f64 = 1e-5;

/// Powers of Δ that a sum may have in common.
const POWERS: std::ops::RangeInclusive<i32> = 0..=3;

impl Failing<'_> {
    /// z or Δ times one number that is found.
    pub(super) fn factors(&self) -> Vec<Hypothesis<'_>> {
        let mut all = Vec::new();
        // A factor of the other sign is A's or Δ's.
        if let Some(factor) = self.one_factor(true).filter(|factor| factor.abs() != 1.0) {
            let number = shortest(factor);
            let is_squared = self.name == DenseName::ABar && self.formula().a_bar == Transition::Exponential;
            let what = match (number.as_str(), is_squared) {
                ("0.5", true) => "z is halved, or e^z squared once too seldom".to_owned(),
                ("2", true) => "z is doubled, or e^z squared once too often".to_owned(),
                _ => format!("z is multiplied by {number}"),
            };
            all.push(self.scaled(Z_SCALED, &what, &format!("{number} ΔA"), (true, move |_| Some(factor))));
        }
        if let Some(factor) = self.one_factor(false).filter(|factor| ![-1.0, 0.5, 2.0].contains(factor)) {
            let number = shortest(factor);
            let what = format!("the step is multiplied by {number}");
            all.push(self.scaled(
                "delta-scaled",
                &what,
                &format!("({number} Δ)"),
                (false, move |_| Some(factor)),
            ));
        }
        all
    }

    /// The factor that the first systems have in common.
    fn one_factor(&self, is_of_z: bool) -> Option<f64> {
        let &probe = self.systems.first()?;
        let first = STARTS.into_iter().find_map(|start| self.factor(probe, start, is_of_z))?;
        let is_alike = |factor: f64| (factor / first - 1.0).abs() < ALIKE;
        if (first - 1.0).abs() < ALIKE {
            return None;
        }
        let all = || self.first_systems().iter().map(|&place| self.factor(place, first, is_of_z));
        all().all(|factor| factor.is_some_and(is_alike)).then(|| simple(first))
    }

    /// One step for all systems that fail.
    pub(super) fn fixed_step(&self) -> Option<Hypothesis<'_>> {
        let systems = self.first_systems();
        let factors = self.found(systems, false)?;
        let steps: Vec<f64> =
            systems.iter().zip(&factors).map(|(&at, by)| self.system(at).delta * by).collect();
        let step = simple(steps[0]);
        if steps.len() < 2 || steps.iter().any(|one| (one / step - 1.0).abs() >= ALIKE) {
            return None;
        }
        let number = shortest(step);
        let is_limit = factors.iter().all(|&by| by < 1.0) || factors.iter().all(|&by| by > 1.0);
        let what =
            format!("the step is {number}{}", if is_limit { ", as a limit of it would have it" } else { "" });
        let of = move |place: usize| Some(step / self.system(place).delta);
        Some(self.scaled("delta-fixed", &what, &number, (false, of)))
    }

    /// e^z squared more or less often than z was halved.
    pub(super) fn other_squarings(&self) -> Option<Hypothesis<'_>> {
        let is_exponential = self.formula().a_bar == Transition::Exponential;
        if self.name != DenseName::ABar || !is_exponential || self.systems.len() > SYSTEMS {
            return None;
        }
        let factors = self.found(&self.systems, true)?;
        let exponents: Vec<f64> = factors.iter().map(|factor| factor.abs().log2().round()).collect();
        let is_power = |(factor, exponent): (&f64, &f64)| (factor / exponent.exp2() - 1.0).abs() < ALIKE;
        if !factors.iter().zip(&exponents).all(is_power) {
            return None;
        }
        let of = move |place: usize| {
            let at = self.systems.iter().position(|&one| one == place)?;
            Some(exponents[at].exp2())
        };
        let what = "e^z is squared another number of times than z was halved, each system its own";
        Some(self.scaled("other-squarings", what, "2ᵏΔA", (true, of)))
    }

    /// The tensor with a factor of z, or else of Δ, for each system.
    fn scaled<'h>(
        &'h self,
        name: &str,
        what: &str,
        symbol: &str,
        (is_of_z, factor): (bool, impl Fn(usize) -> Option<f64> + Sync + 'h),
    ) -> Hypothesis<'h> {
        let slack = 0.5f64.powi(self.got.format.precision);
        let values = move |place: usize| {
            let factor = factor(place)?;
            let known = self.with(place, factor, is_of_z)?;
            let near = self.with(place, factor * (1.0 + slack), is_of_z)?;
            // Roundings of what the factor is found of.
            let error = known.error + (near.value - &known.value).map(Complex64::norm) * 4.0;
            Some(Bounded::by_entries(known.value, error))
        };
        let symbols = match is_of_z {
            true => Symbols { z: Some("§"), ..SPECIFIED },
            false => Symbols { delta: "§", ..SPECIFIED },
        };
        let computed = written(self.name, self.formula(), symbols).replace('§', symbol);
        Hypothesis::new(name, what, &computed, Box::new(values)).with_numbers(1)
    }

    fn with(&self, place: usize, factor: f64, is_of_z: bool) -> Option<Bounded> {
        let (delta, a, b) = self.system(place).step();
        let step = if is_of_z { (delta, a * Complex64::from(factor), b) } else { (delta * factor, a, b) };
        (factor.is_finite() && factor.abs() < LARGEST_FACTOR)
            .then(|| self.tensor(&self.system(place).with(step)))
    }

    /// The factor of each of these systems; none unless each has one.
    fn found(&self, systems: &[usize], is_of_z: bool) -> Option<Vec<f64>> {
        let mut start = None;
        let mut of_system = |&place: &usize| {
            let found = start.into_iter().chain(STARTS).find_map(|start| self.factor(place, start, is_of_z));
            start = found.or(start);
            found
        };
        let factors = systems.iter().map(&mut of_system).collect::<Option<Vec<f64>>>()?;
        (!factors.is_empty()).then_some(factors)
    }

    /// The factor with which a system's values are right, as Newton's method finds it from a start.
    fn factor(&self, place: usize, start: f64, is_of_z: bool) -> Option<f64> {
        let formula = self.tensor(self.system(place));
        let mut factor = start;
        for _ in 0..NEWTON {
            if self.work.is_over() {
                return None;
            }
            let at = self.with(place, factor, is_of_z)?;
            let step = factor.abs() * 1e-6;
            let beside = self.with(place, factor + step, is_of_z)?;
            let value = (beside.value - &at.value) / Complex64::from(step);
            let (above, below) = self.normal(place, &value, &(at.value - &formula.value));
            let more = Some(above / below).filter(|more| more.is_finite())?;
            factor += more;
            if more.abs() < 1e-9 * factor.abs() {
                break;
            }
        }
        let near = self.with(place, factor, is_of_z)?;
        // Roundings of what it is found of.
        let beside =
            self.with(place, factor * (1.0 + 16.0 * 0.5f64.powi(self.got.format.precision)), is_of_z)?;
        let is_right = |at: usize| {
            let (one, want) = (self.element(at), self.part(&near.value, at));
            let slack = (self.part(&beside.value, at) - want).abs();
            (one.got - want).abs() <= 2.0 * self.error(&near, at) + 2.0 * one.store + slack
        };
        self.values(place).all(is_right).then_some(factor)
    }

    /// Sums of functions of z with coefficients that are found, in the place of a sum.
    pub(super) fn sums(&self) -> Vec<Hypothesis<'_>> {
        let formula = self.formula();
        let term = |delta: i32, of: Function| Term { factor: Fraction::ONE, delta, of };
        let bases: Vec<Vec<Term>> = match self.name {
            DenseName::ABar if matches!(formula.a_bar, Transition::Polynomial(_)) => {
                vec![(0..=4).map(|k| term(0, Function::Power(k))).collect()]
            }
            DenseName::ABar => Vec::new(),
            DenseName::BBar if formula.phis() > 0 => {
                let common = POWERS.map(|p| (1..=3).map(|k| term(p, Function::Phi(k))).collect());
                let own = (1..=3).map(|k| term(k as i32, Function::Phi(k))).collect();
                common.chain([own]).collect()
            }
            DenseName::BBar if formula.pole().is_none() => {
                POWERS.map(|p| (0..=3).map(|k| term(p, Function::Power(k))).collect()).collect()
            }
            DenseName::BBar => Vec::new(),
        };
        bases.into_iter().filter_map(|basis| self.sum(basis)).collect()
    }

    fn sum(&self, basis: Vec<Term>) -> Option<Hypothesis<'_>> {
        let count = basis.len();
        let (mut normal, mut right) = (DMatrix::<f64>::zeros(count, count), DVector::<f64>::zeros(count));
        for &place in self.first_systems() {
            if self.work.is_over() {
                return None;
            }
            let parts: Vec<Bounded> = basis.iter().map(|&term| self.of_term(place, term)).collect();
            for at in self.values(place) {
                let one = self.element(at);
                let row: Vec<f64> = parts.iter().map(|part| self.part(&part.value, at) / one.bound).collect();
                for i in 0..count {
                    right[i] += row[i] * one.got / one.bound;
                    (0..count).for_each(|j| normal[(i, j)] += row[i] * row[j]);
                }
            }
        }
        // Of one size, so that small terms count.
        let sizes: Vec<f64> = (0..count).map(|i| normal[(i, i)].sqrt()).collect();
        let scaled = DMatrix::from_fn(count, count, |i, j| normal[(i, j)] / (sizes[i] * sizes[j]));
        let solved = scaled.lu().solve(&DVector::from_fn(count, |i, _| right[i] / sizes[i]))?;
        let most = solved.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let coefficients: Vec<f64> = (0..count)
            .map(|i| if solved[i].abs() < ALIKE * most { 0.0 } else { simple(solved[i] / sizes[i]) })
            .collect();
        // Others may be noise.
        if !coefficients.iter().all(|&by| is_simple(by)) {
            return None;
        }
        let texts = basis.iter().zip(&coefficients).filter(|(_, coefficient)| **coefficient != 0.0);
        let computed = joined(texts.map(|(&term, &by)| multiple(by, &term_text(self.name, term, SPECIFIED))));
        // With room for roundings the formula is one, too.
        if computed == written(self.name, self.formula(), SPECIFIED) {
            return None;
        }
        let slack = 0.5f64.powi(self.got.format.precision);
        let values = move |place: usize| {
            let parts = basis.iter().zip(&coefficients).map(|(&term, &by)| {
                let Bounded { value, error, .. } = self.of_term(place, term);
                let error = (error + value.map(|x| x.norm() * slack)) * by.abs();
                Bounded::by_entries(value * Complex64::from(by), error)
            });
            parts.reduce(|a, b| Bounded::by_entries(a.value + b.value, a.error + b.error))
        };
        let sum = Hypothesis::new("other-sum", "another sum is computed", &computed, Box::new(values));
        Some(sum.with_numbers(count))
    }
}

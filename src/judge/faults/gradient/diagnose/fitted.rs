//! What explains a gradient with numbers that are found.

use super::super::catalogue::{self, Fault, SCAN};
use super::super::sums;
use super::super::variant::Variant;
use super::{Case, EXPONENT, Look, NOTICED, PAIRS, STEPS, TELLING};
use crate::formula::Transition;
use crate::parallel;
use crate::results::Diagnosis;
use crate::sorted;

impl Look<'_> {
    /// What explains it with numbers that are found: the first kind that does.
    pub(super) fn fits(&self) -> Vec<Diagnosis> {
        if self.wrong < TELLING {
            return Vec::new();
        }
        let parts = self.parts();
        let parts = if parts.is_empty() { sums::weighted(self) } else { parts };
        let parts = if parts.is_empty() { sums::slopes(self).into_iter().collect() } else { parts };
        if parts.is_empty() { self.exponent().into_iter().collect() } else { parts }
    }

    /// Parts that have another factor than 1.
    pub(super) fn parts(&self) -> Vec<Diagnosis> {
        let Case { form, problem, .. } = *self.case;
        let touching = catalogue::PARTS.iter();
        let touching = touching.filter(|part| {
            self.case.work.asks(part.name) && part.touches.contains(&self.name) && part.applies(form, problem)
        });
        let touching: Vec<&Fault> = touching.take(PAIRS / self.whole_cost()).collect();
        let mut found: Vec<Diagnosis> = parallel::filter_map(&touching, &|part| self.part_scaled(part));
        sorted::by_number(&mut found, &|one| one.residual);
        found
    }

    /// The factor that a part has, if that is all that is wrong.
    pub(super) fn part_scaled(&self, part: &Fault) -> Option<Diagnosis> {
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name].values);
        let without = &self.case.compute_in(&[part], &self.whole_scope())[self.name];
        let share: Vec<f64> = want.iter().zip(without).map(|(want, without)| want - without).collect();
        let error: Vec<f64> = got.iter().zip(want).map(|(got, want)| got - want).collect();
        let off = along(&error, &share).filter(|off| off.abs() > NOTICED)?;
        let model: Vec<f64> = want.iter().zip(&share).map(|(want, share)| want + share * off).collect();
        self.explained(part.name, &format!("{} has the factor {}", part.what, number(1.0 + off)), &model)
    }

    /// A factor on z in Ā = exp(z), as a truncated log₂e makes it.
    pub(super) fn exponent(&self) -> Option<Diagnosis> {
        let is_exponential = self.case.form.formula().a_bar == Transition::Exponential;
        if !is_exponential || self.whole_cost() * 2 * STEPS > PAIRS || !SCAN.contains(&self.name) {
            return None;
        }
        let got = &self.case.got[self.name].values;
        let compute = |exponent: f64| {
            let variant = Variant { exponent, ..Variant::specified(self.case.form) };
            self.case.sums(&variant, &self.whole_scope())[self.name].clone()
        };
        let less = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
        let (mut factor, mut model) = (1.0, self.case.want[self.name].values.clone());
        for _ in 0..STEPS {
            let slope = less(&compute(factor + NOTICED), &model);
            factor += along(&less(got, &model), &slope)? * NOTICED;
            model = compute(factor);
        }
        let log2e = std::f64::consts::LOG2_E * factor;
        let what = format!("Ā is exp(cz) with c = {factor:.6}, as with {log2e:.5} for log₂e");
        self.explained(EXPONENT.0, &what, &model).filter(|_| (0.5..2.0).contains(&factor))
    }
}

/// How often `direction` is in `values`; none where that is no number.
pub(super) fn along(values: &[f64], direction: &[f64]) -> Option<f64> {
    let square: f64 = direction.iter().map(|x| x * x).sum();
    let product: f64 = values.iter().zip(direction).map(|(value, x)| value * x).sum();
    Some(product / square).filter(|often| often.is_finite())
}

/// A number, as a simple fraction where it is close to one.
pub(in crate::judge::faults::gradient) fn number(value: f64) -> String {
    // Of −0, too, it is 0 that is said.
    let close = (1..=24).map(|below| ((value * f64::from(below)).round() + 0.0, f64::from(below)));
    let mut close = close.filter(|(above, below)| (value - above / below).abs() < NOTICED / below);
    match close.next() {
        Some((above, 1.0)) => format!("{above}"),
        Some((above, below)) => format!("{above}/{below}, fitted {value:.6}"),
        None => format!("{value:.6}"),
    }
}

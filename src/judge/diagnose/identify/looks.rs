//! The few elements that a hypothesis is tried on first: nearly all are refuted there.

use super::Case;
use crate::judge::faults::around::{Delay, FoundTerm};
use crate::judge::faults::inputs::Read;
use crate::judge::faults::scan::{self, Row};
use crate::judge::faults::variant::Variant;
use crate::judge::ulp::Format;
use crate::parallel;
use crate::tensor::TensorName;

/// Positions of the first of all looks.
const SOON: usize = 4;

/// The first positions of one judged channel.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Among the judged channels.
    pub row: usize,
    pub channel: (usize, usize),
    pub len: usize,
}

/// Recorded values at some looks beside those that a variant computes, with its bound. In the place of what is no number stands 0
/// with an infinite bound, so that it has no weight in a fit.
pub fn weighed(case: &Case, looks: &[Look], variant: &Variant) -> Vec<(f64, (f64, f64))> {
    let of_look = |look: &Look| -> Vec<(f64, (f64, f64))> {
        let Row { values, bound, .. } = look.outputs(case, variant);
        let elements = look.got(case).iter().copied().zip(values.into_iter().zip(bound));
        elements.map(|one| if one.0.is_finite() { one } else { (0.0, (0.0, f64::INFINITY)) }).collect()
    };
    looks.iter().flat_map(of_look).collect()
}

/// What stands around the readout at one position.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around {
    pub z: Option<f64>,
    pub u: f64,
    pub u_of_skip: f64,
    /// Of B̄.
    pub delta: f64,
    pub d: Option<f64>,
}

impl Look {
    /// What was recorded there.
    pub fn got<'a>(&self, case: &'a Case) -> &'a [f64] {
        let seqlen = case.problem.shape.seqlen;
        &case.got[TensorName::Out].values[self.row * seqlen..self.row * seqlen + self.len]
    }

    /// What a variant computes there.
    pub fn outputs(&self, case: &Case, variant: &Variant) -> Row {
        case.beginning(variant, self.channel, self.len).unwrap_or_else(|| {
            let mut out = std::mem::take(&mut case.channel(variant, self.channel).tensors[TensorName::Out]);
            out.values.truncate(self.len);
            out.bound.truncate(self.len);
            out.beyond.truncate(self.len);
            out
        })
    }

    /// What it computes there where B̄ is each of these terms alone.
    pub fn outputs_of_terms(&self, case: &Case, variant: &Variant, terms: &[FoundTerm]) -> Vec<Vec<f64>> {
        case.work.add(terms.len() * self.len * case.problem.shape.dstate);
        scan::of_terms(variant, case.problem, self.channel, self.len, terms).unwrap_or_else(|| {
            parallel::map(terms, &|term| self.outputs(case, &variant.of_terms(&[*term])).values)
        })
    }

    /// Whether what was recorded there is beyond a variant's bounds. Nearly always the first positions say so.
    pub fn refutes(&self, case: &Case, variant: &Variant) -> bool {
        if case.work.is_over() {
            return true;
        }
        // Where outputs depend on all positions, all of them are computed, however few are looked at.
        let is_short = |len: &usize| *len < self.len && !scan::looks_ahead(variant);
        let sooner = [1, SOON, 8 * SOON].into_iter().filter(is_short);
        let mut looks = sooner.map(|len| Look { len, ..*self }).chain([*self]);
        looks.any(|look| look.first_failure(case, variant).is_some())
    }

    /// The first position that is beyond a variant's bounds.
    pub fn first_failure(&self, case: &Case, variant: &Variant) -> Option<usize> {
        self.fails(case, variant).iter().position(|fails| *fails)
    }

    /// The last one.
    pub fn last_failure(&self, case: &Case, variant: &Variant) -> Option<usize> {
        self.fails(case, variant).iter().rposition(|fails| *fails)
    }

    /// How many elements are.
    pub fn failures(&self, case: &Case, variant: &Variant) -> usize {
        self.fails(case, variant).iter().filter(|fails| **fails).count()
    }

    /// Which elements are.
    fn fails(&self, case: &Case, variant: &Variant) -> Vec<bool> {
        let row = self.outputs(case, variant);
        let fails = |(l, got): (usize, &f64)| {
            let error = (got - row.values[l]).abs();
            let within = error == 0.0 || error <= row.bound[l];
            if got.is_finite() { !within } else { !row.beyond[l] }
        };
        self.got(case).iter().enumerate().map(fails).collect()
    }

    /// Errors in units of bounds, of what is finite. What is not says nothing of how far a number is off.
    pub fn errors(&self, case: &Case, variant: &Variant) -> Vec<f64> {
        let Row { values, bound, .. } = self.outputs(case, variant);
        let elements = self.got(case).iter().zip(values.iter().zip(&bound));
        let error = |(got, (value, bound)): (&f64, (&f64, &f64))| {
            if got.is_finite() { (got - value) / bound } else { 0.0 }
        };
        elements.map(error).collect()
    }

    /// The sum of their squares.
    pub fn distance(&self, case: &Case, variant: &Variant) -> f64 {
        let sum: f64 = self.errors(case, variant).iter().map(|error| error * error).sum();
        if sum.is_nan() { f64::INFINITY } else { sum }
    }

    /// z, u and D beside each output, as a variant reads them.
    pub fn around(&self, case: &Case, variant: &Variant) -> Vec<Around> {
        let problem = case.problem;
        let seqlen = problem.shape.seqlen;
        let read = Read::new(variant, problem, self.channel, if variant.reverse { seqlen } else { self.len });
        let late = if let Delay::Output(by) = variant.delay { by } else { 0 };
        let at = |l: usize| {
            let Some(l) = read.in_memory(l).checked_sub(late) else { return Around::default() };
            Around {
                z: read.z.get(l).copied(),
                u: read.u_given[l],
                u_of_skip: read.u_of_skip[l],
                delta: read.steps[1].get(l).map_or(f64::NAN, |step| step.0),
                d: problem.d.as_ref().map(|d| read.of_channel(crate::judge::faults::place::Input::D, d)),
            }
        };
        (0..self.len).map(at).collect()
    }

    /// What rounding an output to the storage type may take.
    pub fn rounding(case: &Case, value: f64) -> f64 {
        Format::for_input(case.problem.stored(TensorName::Out)).rounding_error(value.abs())
    }
}

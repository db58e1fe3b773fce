//! Two faults in one gradient.

use std::collections::HashSet;

use super::super::catalogue::Fault;
use super::super::edges;
use super::{ALIKE, ELEMENTS, Fit, LIKELY, Look, Model, TELLING, TOGETHER, TOGETHER_OF_FEW};
use crate::judge::diagnose::NEEDED;
use crate::parallel;
use crate::sorted;

impl Look<'_> {
    /// Pairs that explain the gradient. Those with what explains others come first, then those whose members remove most of the
    /// error, as far as the effort goes.
    pub(super) fn pairs(&self, singles: &[Model], bases: &[&str], effort: usize) -> Vec<Model> {
        if self.wrong < TELLING || self.case.work.is_over() {
            return Vec::new();
        }
        // Two of very many agree with a few numbers by chance.
        let is_few = self.range.len() < 4 * TELLING;
        let any = edges::OF_ANY_LENGTH.as_ptr_range();
        let is_tried = |model: &Model| !is_few || !any.contains(&std::ptr::from_ref(model.faults[0]));
        let singles = singles.iter().filter(|model| is_tried(model));
        let mut ranked: Vec<(usize, &Model)> = singles.enumerate().collect();
        sorted::by_number(&mut ranked, &|(_, model)| model.fit.residual);
        // What leaves the error as it is has no effect here, and of what leaves as much the first stands for all.
        ranked.retain(|(_, model)| (model.fit.residual - 1.0).abs() > ALIKE);
        ranked.dedup_by(|b, a| {
            let is_same = b.1.fit.residual <= a.1.fit.residual * (1.0 + ALIKE);
            if is_same && b.0 < a.0 && !is_few {
                *a = *b;
            }
            is_same
        });
        let ranked: Vec<&Model> = ranked.into_iter().map(|(_, model)| model).collect();
        let pairs = (0..ranked.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
        let is_base = |at: &usize| bases.contains(&ranked[*at].faults[0].name);
        let with_base = (0..ranked.len()).filter(is_base).flat_map(|base| {
            (0..ranked.len()).filter(move |&at| at != base).map(move |at| (at.min(base), at.max(base)))
        });
        let mut seen = HashSet::new();
        let pairs = with_base.chain(self.likely(&ranked)).chain(pairs).filter(|&pair| seen.insert(pair));
        let pairs: Vec<(usize, usize)> = pairs.take((effort / self.cost()).max(LIKELY)).collect();
        let explains = |&(first, second): &(usize, usize)| {
            let (a, b) = (ranked[first], ranked[second]);
            let is_needed = |fit: Fit, a: Fit, b: Fit| {
                fit.explains() && fit.residual <= NEEDED * a.residual.min(b.residual)
            };
            let faults = vec![a.faults[0], b.faults[0]];
            // Their product is one factor, which fits by chance.
            if faults.iter().all(|fault| fault.is_factor()) {
                return None;
            }
            if !is_needed(self.looked_at(faults.clone()).fit, a.fit, b.fit) {
                return None;
            }
            let whole =
                |faults: Vec<&'static Fault>| self.fitted(faults.clone(), &self.case.compute(&faults));
            let [both, a, b] = [faults.clone(), vec![faults[0]], vec![faults[1]]].map(whole);
            is_needed(both.fit, a.fit, b.fit).then_some(both)
        };
        parallel::filter_map(&pairs, &explains)
    }

    /// Pairs whose effects on their own add up or multiply to what is found, the best first: almost all do where they are in
    /// different terms, or where one is a factor of the whole.
    pub(super) fn likely(&self, ranked: &[&Model]) -> Vec<(usize, usize)> {
        let len = self.range.len();
        let some: Vec<usize> = (0..len).step_by(len.div_ceil(ELEMENTS).max(1)).collect();
        let (got, want) = (&self.case.got[self.name].values, &self.case.want[self.name]);
        let unit = |i: usize| self.case.bounds[self.name][(self.range.start + i) / want.width];
        let at = |values: &[f64]| -> Vec<f64> {
            some.iter().map(|&i| values[self.range.start + i] / unit(i)).collect()
        };
        let (got, want) = (at(got), at(&want.values));
        let count = ranked.len().min(if len < 4 * TELLING { TOGETHER_OF_FEW } else { TOGETHER });
        let of = |model: &&Model| -> Vec<f64> { some.iter().map(|&i| model.values[i] / unit(i)).collect() };
        let all: Vec<Vec<f64>> = parallel::map(&ranked[..count], &of);
        let score = |(a, b): (usize, usize)| {
            let (mut sum, mut product) = (0.0, 0.0);
            for (i, (&got, &want)) in got.iter().zip(&want).enumerate() {
                let (x, y) = (all[a][i], all[b][i]);
                let added = got - (x + y - want);
                sum += added * added;
                let multiplied = if want == 0.0 { added } else { got - x * y / want };
                product += multiplied * multiplied;
            }
            f64::min(sum, product)
        };
        let scored = parallel::each(count, &|second| {
            let pairs = (0..second).map(|first| (score((first, second)), (first, second)));
            pairs.filter(|(score, _)| score.is_finite()).collect::<Vec<_>>()
        });
        let mut scored = scored.concat();
        sorted::by(&mut scored, &|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        scored.truncate(LIKELY);
        scored.into_iter().map(|(_, pair)| pair).collect()
    }
}

//! What explains a range along one axis, where the gradient is right elsewhere.

use super::super::catalogue::Fault;
use super::super::{sums, where_it_holds};
use super::{Computed, Look, NAMED, TELLING};
use crate::results::Diagnosis;

impl Look<'_> {
    /// What explains a range along one axis, where the gradient is right elsewhere.
    pub(super) fn in_part<'c>(&self, computed: impl Iterator<Item = &'c Computed>) -> Vec<Diagnosis> {
        if self.wrong < TELLING {
            return Vec::new();
        }
        let touching = computed.filter(|computed| computed.fault.touches.contains(&self.name));
        let named = touching.filter_map(|computed| self.of_part(computed.fault, &computed.values[self.name]));
        named.take(NAMED).collect()
    }

    pub(super) fn of_part(&self, fault: &Fault, model: &[f64]) -> Option<Diagnosis> {
        let (want, bounds) = (&self.case.want[self.name], &self.case.bounds[self.name]);
        let got = &self.case.got[self.name].values;
        let width = want.width;
        let is_near = |values: &[f64], i: usize| {
            (i * width..(i + 1) * width).all(|at| (got[at] - values[at]).abs() <= bounds[i])
        };
        let wrong: Vec<usize> = (0..bounds.len()).filter(|&i| !is_near(&want.values, i)).collect();
        if !wrong.iter().all(|&i| is_near(model, i)) {
            return None;
        }
        let of_range = (0..want.shape.len()).rev().find_map(|axis| {
            let (len, stride) = (want.shape[axis], want.shape[axis + 1..].iter().product::<usize>());
            let at = |i: usize| i / stride % len;
            let (from, to) = (wrong.iter().map(|&i| at(i)).min()?, wrong.iter().map(|&i| at(i)).max()?);
            let is_in = |i: usize| (from..=to).contains(&at(i));
            let mixed = (0..model.len()).map(|i| if is_in(i / width) { model[i] } else { want.values[i] });
            let mixed: Vec<f64> = mixed.collect();
            let item = sums::item(self, axis);
            let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
            let what = format!("at {item} {range} of 0 to {} alone: {}", len - 1, fault.what);
            let found = self.explained(fault.name, &what, &mixed);
            found.filter(|_| to - from + 1 < len)
        });
        of_range.or_else(|| {
            let limit = where_it_holds::limit(self, model)?;
            self.explained(fault.name, &format!("{limit} alone: {}", fault.what), &limit.of(self, model))
        })
    }
}

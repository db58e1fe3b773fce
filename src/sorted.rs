//! Stable sorts that are compiled once for each type: those of the standard library are compiled again for each order.

use std::cmp::Ordering;

/// The least number first.
pub fn by_number<T>(all: &mut [T], number: &dyn Fn(&T) -> f64) {
    by(all, &|a, b| number(a).total_cmp(&number(b)));
}

pub fn by_key<T, K: Ord>(all: &mut [T], key: &dyn Fn(&T) -> K) {
    by(all, &|a, b| key(a).cmp(&key(b)));
}

pub fn by<T>(all: &mut [T], order: &dyn Fn(&T, &T) -> Ordering) {
    let mut from = sorted(all.len(), &|a, b| order(&all[a], &all[b]));
    // Each cycle by exchanges.
    for first in 0..from.len() {
        let mut at = first;
        while from[at] != first {
            all.swap(at, from[at]);
            at = std::mem::replace(&mut from[at], at);
        }
        from[at] = at;
    }
}

fn sorted(count: usize, order: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    all.sort_by(|&a, &b| order(a, b));
    all
}

//! Blocks in which a backward pass sums exponents ([`super`], "In log space").

use crate::formula::{ReadsNow, Transition};
use crate::judge::budget::Lead;
use crate::judge::budget::state::{Lanes, State, WIDTH};
use crate::judge::lanes::Value;
use crate::problem::stages::LogSpace;
use crate::promise::allowance::{self, Arithmetic};

/// Roundings of the products that a term of a running sum is made of, in u: a choice, above the μ of two, those of a decay and of Δ.
pub const PRODUCTS: f64 = 16.0;

/// How a backward pass scans, if in log space: forms of one direction whose Ā is an exponential.
pub fn log_space_of(form: ReadsNow, arithmetic: Arithmetic) -> Option<LogSpace> {
    let is_exponential = form.formula().a_bar == Transition::Exponential;
    arithmetic.stages.log_space.filter(|_| is_exponential && !form.is_bidirectional())
}

/// Blocks in which exponents are summed, and what they come to in each.
pub struct Blocks {
    /// Positions of each.
    pub len: usize,
    /// Those of the first one that come before.
    lead: usize,
    exponents: Vec<Lanes>,
    positions: usize,
    /// Joins of a tree that adds the exponents of one.
    pub joins: f64,
}

impl Blocks {
    pub fn new(log_space: LogSpace, z: &[Lanes], around: Lead, before: Lanes) -> Blocks {
        let (lead, item) = (around.len, around.item.max(z.len()));
        let len = log_space.block.map_or(item, |block| block.get().min(item)).max(1);
        let mut exponents = vec![Lanes::ZERO; (lead + z.len()).div_ceil(len)];
        exponents[0] = before;
        for (l, z) in z.iter().enumerate() {
            exponents[(lead + l) / len] = exponents[(lead + l) / len] + *z;
        }
        Blocks { len, lead, exponents, positions: z.len(), joins: allowance::scan_joins(len) }
    }

    /// The block of a position.
    pub fn of(&self, l: usize) -> usize {
        (self.lead + l) / self.len
    }

    /// Whether a block ends at l.
    pub fn ends(&self, l: usize) -> bool {
        l + 1 == self.positions || self.of(l + 1) != self.of(l)
    }

    /// Comes to a position. Exponents are as large as they become in its block: a walk backwards has the sums from the block's start, too.
    pub fn enter<V: Value<WIDTH>>(&self, l: usize, backwards: bool, state: &mut State<V>) {
        let begins = if backwards { self.ends(l) } else { l == 0 || self.ends(l - 1) };
        if begins {
            state.begin_block(self.exponents[self.of(l)]);
        }
    }

    /// Error of a running sum of each block: of so many additions of what is met in it, whose exponents are rounded.
    pub fn spread(&self, len: usize, met: impl Fn(usize) -> Lanes, additions: f64, u: f64) -> Vec<Lanes> {
        let mut all = vec![Lanes::ZERO; self.exponents.len()];
        (0..len).for_each(|l| all[self.of(l)] = all[self.of(l)] + met(l));
        for (all, exponents) in all.iter_mut().zip(&self.exponents) {
            let off = *exponents * (4.0 * (self.joins + 1.0) * u);
            *all = all.times(off.over_one_less().times(off) + Lanes::all(additions * u));
        }
        all
    }
}

//! Work of a diagnosis: how much was done, what is asked for, and when it ends.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::problem::Problem;

/// Work that a diagnosis takes: a count, not a time, and the same whenever the same is asked. The unit is about a position × a state of a
/// scan that is computed; what is compared or solved by least squares counts with its elements × terms. What is begun and then computed
/// as a whole counts for both, and both directions of a scan for one.
#[derive(Debug, Default)]
pub struct Work {
    done: AtomicU64,
    /// Names of the changes that are looked for; none for all.
    asked: Vec<String>,
    /// When it ends; none where that is with the last of the search.
    until: Option<Instant>,
    most: Option<u64>,
    /// Whether each stage of a search goes on to its end.
    is_thorough: bool,
    is_cut: AtomicBool,
    /// Whether a stage was ended before its end.
    is_shortened: AtomicBool,
}

impl Work {
    /// Work that asks whether changes of these names explain a case, and looks for no others.
    pub fn for_names(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Work { asked: names.into_iter().map(Into::into).collect(), ..Work::default() }
    }

    /// The same, which ends at a time.
    pub fn until(self, until: Option<Instant>) -> Self {
        Work { until, ..self }
    }

    /// The same, which ends when so much of it is done.
    pub fn up_to(self, most: u64) -> Self {
        Work { most: Some(most), ..self }
    }

    /// The same, in which each stage goes on to its end.
    pub fn thorough(self) -> Self {
        Work { is_thorough: true, ..self }
    }

    /// The work that is done when a stage ends that may take so much more.
    pub(in crate::judge) fn end_of_stage(&self, most: u64) -> u64 {
        if self.is_thorough { u64::MAX } else { self.done() + most }
    }

    /// Whether a stage that ends there is over.
    pub(in crate::judge) fn is_stage_over(&self, end: u64) -> bool {
        let is_over = self.done() >= end;
        if is_over {
            self.is_shortened.store(true, Ordering::Relaxed);
        }
        is_over || self.is_over()
    }

    /// Whether more of it might say more: it was ended before its end, or a stage was and nothing is named.
    pub fn is_open(&self, is_named: bool) -> bool {
        self.is_cut() || !is_named && self.is_shortened.load(Ordering::Relaxed)
    }

    /// Whether its time is over: then it is to end, and what its last step found counts for nothing.
    pub fn is_over(&self) -> bool {
        // Asking the clock takes as long as the least that is looked at.
        let is_over = self.is_cut()
            || self.most.is_some_and(|most| self.done() >= most)
            || self.until.is_some_and(|until| Instant::now() >= until);
        if is_over {
            self.is_cut.store(true, Ordering::Relaxed);
        }
        is_over
    }

    /// Whether it was ended before its end.
    pub fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    /// Whether a change is looked for, alone or as part of one that has a longer name.
    pub(in crate::judge) fn asks(&self, name: &str) -> bool {
        self.asked.is_empty() || self.asked.iter().any(|asked| asked.contains(name))
    }

    /// Whether everything that is known is looked for.
    pub(in crate::judge) fn asks_for_all(&self) -> bool {
        self.asked.is_empty()
    }

    /// So many positions of a problem: of a dense A each has as much as a product of matrices.
    pub(in crate::judge) fn add_positions(&self, problem: &Problem, count: usize) {
        let dstate = problem.shape.dstate;
        self.add(count * if problem.is_dense() { dstate.pow(3) } else { dstate });
    }

    pub(in crate::judge) fn add(&self, values: usize) {
        self.done.fetch_add(values as u64, Ordering::Relaxed);
    }

    /// All of it until now.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

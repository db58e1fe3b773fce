//! Work of a diagnosis: how much was done, and what is asked for.

use std::sync::atomic::{AtomicU64, Ordering};

/// Work that a diagnosis takes: a count, not a time, and the same whenever the same is asked. The unit is about a position × a state of a
/// scan that is computed; what is compared or solved by least squares counts with its elements × terms. What is begun and then computed
/// as a whole counts for both, and both directions of a scan for one.
#[derive(Debug, Default)]
pub struct Work {
    done: AtomicU64,
    /// Names of the changes that are looked for; none for all.
    asked: Vec<String>,
}

impl Work {
    /// Work that asks whether changes of these names explain a case, and looks for no others.
    pub fn for_names(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Work { asked: names.into_iter().map(Into::into).collect(), ..Work::default() }
    }

    /// Whether a change is looked for, alone or as part of one that has a longer name.
    pub(in crate::judge) fn asks(&self, name: &str) -> bool {
        self.asked.is_empty() || self.asked.iter().any(|asked| asked.contains(name))
    }

    pub(in crate::judge) fn add(&self, values: usize) {
        self.done.fetch_add(values as u64, Ordering::Relaxed);
    }

    /// All of it until now.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

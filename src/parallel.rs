//! Loops over all threads. What they take of rayon is compiled here, once: its own iterators are compiled again for every loop.

use std::sync::{Mutex, OnceLock};

use rayon::prelude::*;

fn run(count: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(task);
}

/// All that a task gives for the indices below `count`, in their order.
fn gather<T: Send>(count: usize, task: &(dyn Fn(usize) -> Vec<T> + Sync)) -> Vec<T> {
    let mut slots = Vec::with_capacity(count);
    slots.resize_with(count, || Mutex::new(Vec::new()));
    run(count, &|at| {
        let found = task(at);
        if let Ok(mut slot) = slots[at].lock() {
            *slot = found;
        }
    });
    let mut all = Vec::with_capacity(count);
    for slot in slots {
        all.append(&mut slot.into_inner().unwrap_or_default());
    }
    all
}

/// Results of a task for each index below `count`, in order.
pub fn each<T: Send>(count: usize, task: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    gather(count, &|at| vec![task(at)])
}

/// Results as [`each`] has them, or an error: tasks that have not begun when there is one are left out.
pub fn try_each<T: Send, E: Send + Sync>(
    count: usize,
    task: &(dyn Fn(usize) -> Result<T, E> + Sync),
) -> Result<Vec<T>, E> {
    let failed = OnceLock::new();
    let done = gather(count, &|at| {
        let done =
            if failed.get().is_none() { task(at).map_err(|error| failed.set(error)).ok() } else { None };
        done.map_or(Vec::new(), |done| vec![done])
    });
    failed.into_inner().map_or(Ok(done), Err)
}

/// Results of a task for each item, in order.
pub fn map<A: Sync, T: Send>(all: &[A], task: &(dyn Fn(&A) -> T + Sync)) -> Vec<T> {
    gather(all.len(), &|at| vec![task(&all[at])])
}

/// Results of a task that gives any number for each item.
pub fn flat_map<A: Sync, T: Send>(all: &[A], task: &(dyn Fn(&A) -> Vec<T> + Sync)) -> Vec<T> {
    gather(all.len(), &|at| task(&all[at]))
}

/// Those of which a task says so.
pub fn filter<A: Send + Sync>(all: Vec<A>, task: &(dyn Fn(&A) -> bool + Sync)) -> Vec<A> {
    let stays = map(&all, task);
    all.into_iter().zip(stays).filter_map(|(one, stays)| stays.then_some(one)).collect()
}

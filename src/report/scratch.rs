//! Temporary files and folders that an interrupt does not leave behind.
//!
//! A temporary removes itself when it is dropped, but a signal ends the process without dropping anything. So each is
//! listed here while it exists, and [`remove_all`], which a signal handler calls, removes those that are listed. What
//! must not be torn apart (a finished report taking the place of an older one) runs under the list's lock: the
//! handler waits for it.

use std::fs;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static LISTED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// How often removing is tried anew while another thread still writes.
const ATTEMPTS: usize = 100;

fn listed() -> MutexGuard<'static, Vec<PathBuf>> {
    // A panic elsewhere leaves the list as good as it was.
    LISTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something temporary, listed until it is dropped.
#[derive(Debug)]
pub struct Scratch<T> {
    path: PathBuf,
    inner: Option<T>,
}

/// Creates a temporary and lists it, in one step as far as an interrupt can see.
pub fn create<T>(
    create: impl FnOnce() -> io::Result<T>,
    path: impl FnOnce(&T) -> &Path,
) -> io::Result<Scratch<T>> {
    let mut listed = listed();
    let inner = create()?;
    let path = path(&inner).to_owned();
    listed.push(path.clone());
    Ok(Scratch { path, inner: Some(inner) })
}

impl<T> Scratch<T> {
    /// Moves it to where it belongs by `publish`, undisturbed by an interrupt, and takes it off the list.
    pub fn publish<R>(mut self, publish: impl FnOnce(T) -> R) -> Option<R> {
        let mut listed = listed();
        listed.retain(|path| *path != self.path);
        self.inner.take().map(publish)
    }
}

impl<T> Deref for Scratch<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().expect("there until it is published")
    }
}

impl<T> std::ops::DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("there until it is published")
    }
}

impl<T> Drop for Scratch<T> {
    fn drop(&mut self) {
        // First removed, then off the list.
        if self.inner.take().is_some() {
            listed().retain(|path| *path != self.path);
        }
    }
}

/// Whether something can be written into `folder`, or into the nearest folder above it that there is.
pub fn probe(folder: &Path) -> io::Result<()> {
    let is_there = |folder: &&Path| fs::symlink_metadata(folder).is_ok();
    let nearest = folder.ancestors().find(is_there).unwrap_or(Path::new("."));
    let file = || tempfile::Builder::new().prefix(".holdfast-probe-").tempfile_in(nearest);
    // The kind alone: nobody asked for a file of the probe's name.
    create(file, |file| file.path()).map(drop).map_err(|error| error.kind().into())
}

/// Removes everything that is listed, and never lets go of the list: for a handler that ends the process.
pub fn remove_all() {
    let listed = listed();
    for path in listed.iter() {
        for _ in 0..ATTEMPTS {
            let gone = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            if gone.is_ok() || !path.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    std::mem::forget(listed);
}

//! Temporary files and folders that an interrupt does not leave behind.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::listed;

/// Something temporary, listed until it is dropped.
#[derive(Debug)]
pub struct Scratch<T> {
    path: PathBuf,
    inner: Option<T>,
}

/// Creates a temporary and lists it, in one step as far as an interrupt can see.
///
/// # Errors
/// Those of `create`, which must clean up after itself then.
pub fn create<T, E>(
    create: impl FnOnce() -> Result<T, E>,
    path: impl FnOnce(&T) -> &Path,
) -> Result<Scratch<T>, E> {
    let mut listed = listed();
    let inner = create()?;
    let path = path(&inner).to_owned();
    listed.paths.push(path.clone());
    Ok(Scratch { path, inner: Some(inner) })
}

impl<T> Scratch<T> {
    /// Moves it to where it belongs by `publish`, undisturbed by an interrupt, and takes it off the list.
    pub fn publish<R>(mut self, publish: impl FnOnce(T) -> R) -> Option<R> {
        let mut listed = listed();
        listed.paths.retain(|path| *path != self.path);
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
            listed().paths.retain(|path| *path != self.path);
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

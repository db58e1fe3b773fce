//! Temporary files and folders that are removed on an interrupt.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::NamedTempFile;

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

/// Creates and lists a file that is to become one of `folder`, once it is complete.
pub fn file(folder: &Path, prefix: &str) -> io::Result<Scratch<NamedTempFile>> {
    create(|| readable(prefix, 0o666).tempfile_in(folder), NamedTempFile::path)
}

/// For temporaries that stay once they have moved to their place: as readable as anything new of this mode, from which
/// the process's umask takes what it takes. The default would lock other readers out.
pub fn readable(prefix: &str, mode: u32) -> tempfile::Builder<'_, '_> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    let _ = mode;
    builder
}

/// The folder that a file is or will be in.
pub fn parent(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
        // It is removed first, and then taken off the list.
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
    // Only the kind of the error: the name of the probe's file would confuse its reader.
    create(file, |file| file.path()).map(drop).map_err(|error| error.kind().into())
}

//! The temporary folders of compiled headers, listed so that an interrupt can remove them: a signal ends the process
//! without dropping anything.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::ForeignError;

static LISTED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// How a folder's name begins.
pub const PREFIX: &str = "holdfast-header-";

/// How often removing is tried anew while a compiler still writes.
const ATTEMPTS: usize = 100;

fn listed() -> MutexGuard<'static, Vec<PathBuf>> {
    // A panic elsewhere leaves the list as good as it was.
    LISTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary folder, listed until it is dropped.
#[derive(Debug)]
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// Creates one, fills and lists it, in one step as far as an interrupt can see: what is being filled must not be
    /// created anew behind a handler's back.
    ///
    /// # Errors
    /// It cannot be created or filled.
    pub fn create_in(
        parent: &Path,
        fill: impl FnOnce(&Path) -> Result<(), ForeignError>,
    ) -> Result<Self, ForeignError> {
        let mut listed = listed();
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent);
        let folder = folder.map_err(|error| ForeignError::Folder(error.to_string()))?;
        fill(folder.path())?;
        listed.push(folder.path().to_owned());
        Ok(Folder(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let mut listed = listed();
        let _ = fs::remove_dir_all(self.path());
        listed.retain(|path| path != self.path());
    }
}

/// Removes every folder that is listed, and never lets go of the list: for a handler that ends the process.
pub fn remove_all() {
    let listed = listed();
    for path in listed.iter() {
        for _ in 0..ATTEMPTS {
            if fs::remove_dir_all(path).is_ok() || !path.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    std::mem::forget(listed);
}

//! What was compiled, in the user's cache directory: kernels for GPUs, and foreign headers' programs for this CPU. An entry is trusted only if its checksum holds; a directory that
//! cannot be read or written costs time, never a result.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::arch::Arch;
use super::nvrtc::{self, Resources};
use crate::hexfloat;
use crate::kernel::registry::Kernel;
use crate::kernel::sources;

/// Names the cache directory itself.
pub const VARIABLE: &str = "HOLDFAST_CACHE_DIR";

/// Changes with the layout of an entry.
const MAGIC: &[u8] = b"holdfast image 1\n";

/// One compiled kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// What it was made of: see [`key`].
    pub key: String,
    /// Its symbol in the machine code.
    pub symbol: String,
    pub resources: Resources,
    /// Machine code for one architecture.
    pub cubin: Vec<u8>,
}

/// SHA-256, in hex, of everything that a compiled kernel depends on: sources, architecture, flags, NVRTC's version
/// and the name expression.
pub fn key(kernel: Kernel, arch: &Arch, version: (i32, i32)) -> String {
    let mut hash = Sha256::new();
    let mut add = |field: &[u8]| {
        // With its length, so that no two lists of fields run together.
        hash.update((field.len() as u64).to_le_bytes());
        hash.update(field);
    };
    add(&sources::program(kernel.source()).map_or([0; 32], sources::hash));
    add(arch.to_string().as_bytes());
    add(nvrtc::flags(kernel.tier()).join(" ").as_bytes());
    add(format!("{}.{}", version.0, version.1).as_bytes());
    add(kernel.name_expression().as_bytes());
    hexfloat::bytes(&hash.finalize())
}

/// A directory of what was compiled, or none where there is no place for one.
#[derive(Clone, Debug)]
pub struct Cache {
    directory: Option<PathBuf>,
}

impl Cache {
    /// In this directory, which need not exist yet.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Cache { directory: Some(directory.into()) }
    }

    /// Where the environment says: [`VARIABLE`], else `holdfast` in `$XDG_CACHE_HOME`, else in `~/.cache`.
    pub fn from_environment() -> Self {
        Cache { directory: place(|name| std::env::var_os(name)) }
    }

    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Why nothing can be kept, or `None` if it can.
    pub fn trouble(&self) -> Option<String> {
        let Some(directory) = self.directory() else {
            return Some(format!("no place for it (hint: set HOME, XDG_CACHE_HOME or {VARIABLE})"));
        };
        let attempt =
            std::fs::create_dir_all(directory).and_then(|()| tempfile::tempfile_in(directory).map(drop));
        attempt.err().map(|error| format!("{error} (hint: {VARIABLE} names another)"))
    }

    /// The image, if there is one and it is whole.
    pub fn load(&self, key: &str) -> Option<Image> {
        let content = self.read(&format!("{key}.image"))?;
        postcard::from_bytes::<Image>(&content).ok().filter(|image| image.key == key)
    }

    /// Keeps an image. Whether it was kept.
    pub fn store(&self, image: &Image) -> bool {
        let content = postcard::to_stdvec(image);
        content.is_ok_and(|content| self.write(&format!("{}.image", image.key), &content))
    }

    /// The file of that name, if there is one and it is whole.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.directory.as_ref()?.join(name)).ok()?;
        let (checksum, content) = bytes.strip_prefix(MAGIC)?.split_at_checked(32)?;
        (Sha256::digest(content).as_slice() == checksum).then(|| content.to_vec())
    }

    /// Keeps a file, all of it or nothing: readers never see a part. Whether it was kept.
    pub fn write(&self, name: &str, content: &[u8]) -> bool {
        let Some(directory) = &self.directory else { return false };
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(directory)?;
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(MAGIC)?;
            file.write_all(&Sha256::digest(content))?;
            file.write_all(content)?;
            file.persist(directory.join(name))?;
            Ok(())
        };
        write().is_ok()
    }
}

/// The cache directory, from the environment's variables. An empty variable counts as unset.
pub fn place(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(VARIABLE)
        .or_else(|| Some(set("XDG_CACHE_HOME").filter(|p| p.is_absolute())?.join("holdfast")))
        .or_else(|| Some(set("HOME")?.join(".cache").join("holdfast")))
}

//! The files that a header includes from its own folder: part of what is judged, so part of its hash.
//!
//! They are found by reading, not by a preprocessor, so that the hash is the same whatever compiles the header and
//! wherever it lies. Every name in quotes or angle brackets on a line with a `#` counts, whether its branch is compiled or
//! not, and so does the one behind a macro (`#define FILE "phi.cuh"`, `#include FILE`): rather a file too many than one
//! that changes the verdict and not the hash. A name that a macro pastes together is not seen.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use super::runtime;

/// Bytes of all of them together that are read.
pub const LARGEST: u64 = 64 << 20;

/// An included file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Included {
    /// Where it is as seen from the header's folder.
    pub name: String,
    pub sha256: [u8; 32],
    pub text: String,
}

/// Every file that the header (its `text`, in `folder`) includes from its folder or from where such a file lies, and what
/// these include in their turn, in the order of names.
///
/// # Errors
/// One of them cannot be read, or they are larger than [`LARGEST`]; with the file's path.
pub fn find(text: &[u8], folder: &Path) -> Result<Vec<Included>, (PathBuf, io::Error)> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut left = LARGEST;
    // From the header itself, the harness's own files come first.
    let names = names(text).into_iter().filter(|name| !is_ours(name));
    let mut waiting: VecDeque<PathBuf> = names.map(|name| normal(Path::new(&name))).collect();
    while let Some(name) = waiting.pop_front() {
        let path = folder.join(&name);
        let Ok(canonical) = path.canonicalize() else { continue };
        if !canonical.is_file() || !seen.insert(canonical) {
            continue;
        }
        let text = read(&path, left).map_err(|error| (path, error))?;
        left -= text.len() as u64;
        for inner in self::names(&text) {
            // A compiler looks beside the file that includes it, then where the header is.
            waiting.extend(name.parent().map(|beside| normal(&beside.join(&inner))));
            waiting.extend((!is_ours(&inner)).then(|| normal(Path::new(&inner))));
        }
        let name = name.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>();
        let sha256 = Sha256::digest(&text).into();
        let text = String::from_utf8_lossy(&text).into_owned();
        found.push(Included { name: name.join("/"), sha256, text });
    }
    found.sort();
    Ok(found)
}

fn is_ours(name: &str) -> bool {
    runtime::SOURCES.iter().any(|source| source.name == name) || runtime::EMPTY.contains(&name)
}

fn read(path: &Path, left: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(left + 1).read_to_end(&mut text)?;
    if text.len() as u64 > left {
        let reason = format!("found more than {LARGEST} bytes in all that the header includes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(text)
}

/// The path without `.` and with `x/..` taken away.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(normal.components().next_back(), Some(Component::Normal(_))) => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// What may be a file's name on a preprocessor's line.
fn names(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text).replace("\\\r\n", "").replace("\\\n", "");
    let mut names = Vec::new();
    for line in text.lines() {
        let Some((_, directive)) = line.split_once('#') else { continue };
        for (open, close) in [('"', '"'), ('<', '>')] {
            let mut rest = directive;
            while let Some((_, after)) = rest.split_once(open) {
                let Some((name, after)) = after.split_once(close) else { break };
                if !name.is_empty() {
                    names.push(name.to_owned());
                }
                rest = after;
            }
        }
    }
    names
}

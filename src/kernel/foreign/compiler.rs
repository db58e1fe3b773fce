//! The system's C++ compiler, as far as a foreign header needs it.
//!
//! What it made of a header is kept in the user's cache directory. The same text after the preprocessor, by the same
//! compiler with the same options, is the same program: whatever the header includes is in that text.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::header::{self, CallForm, Header, Piece};
use super::{ForeignError, runtime};
use crate::hexfloat;
use crate::kernel::cuda::cache::Cache;
use crate::leftovers::process::Process;
use crate::leftovers::scratch::{self, Scratch};
use crate::problem::Weights;

/// The variable that chooses the compiler, with options if need be.
pub const VARIABLE: &str = "CXX";

/// A header that takes longer than this to compile has templates that never end.
const LIMIT: Duration = Duration::from_secs(60);

/// Lines of a compiler's message that are shown.
const LINES: usize = 8;

/// Bytes of a compiler's message that are looked at.
const MESSAGE: u64 = 1 << 20;

/// In which arithmetic a header is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Single,
    /// Every float of the header a double, to tell a wrong formula from lost digits.
    Lifted,
    /// The same of a header that includes more of the standard library than its callers give it.
    LiftedWithLibrary,
}

/// A compiler that runs here.
#[derive(Clone, Debug)]
pub struct Compiler {
    program: String,
    options: Vec<String>,
    /// The first line of what it says of itself.
    pub version: String,
    cache: Cache,
}

impl Compiler {
    /// `CXX`, or else the first of the usual names.
    ///
    /// # Errors
    /// [`ForeignError::NoCompiler`] where none runs.
    pub fn find() -> Result<Self, ForeignError> {
        let named = std::env::var(VARIABLE).ok().filter(|value| !value.trim().is_empty());
        Compiler::find_among(named.as_deref(), &["c++", "g++", "clang++"])
    }

    /// The compiler that was named, or else the first of `usual`.
    pub fn find_among(named: Option<&str>, usual: &[&str]) -> Result<Self, ForeignError> {
        let candidates: Vec<&str> = named.map_or_else(|| usual.to_vec(), |name| vec![name]);
        let found = candidates.iter().find_map(|candidate| Compiler::run(candidate));
        found.ok_or_else(|| ForeignError::NoCompiler {
            tried: candidates.join(", "),
            from: if named.is_some() { format!(" ({VARIABLE})") } else { String::new() },
        })
    }

    fn run(candidate: &str) -> Option<Self> {
        let mut words = candidate.split_whitespace().map(str::to_owned);
        let program = words.next()?;
        let output = Command::new(&program).arg("--version").stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.lines().next().unwrap_or("unknown compiler").trim().to_owned();
        let cache = Cache::from_environment();
        output.status.success().then(|| Compiler { program, options: words.collect(), version, cache })
    }

    /// The same, which keeps what it compiles there.
    pub fn keeping_in(self, cache: Cache) -> Self {
        Compiler { cache, ..self }
    }

    /// Compiles the worker of a piece of a header for one weight type into `folder`; the program's path, or the compiler's own
    /// lines.
    ///
    /// # Errors
    /// Files that cannot be written; a compiler that cannot be started.
    pub fn compile(
        &self,
        header: &Header,
        (weights, piece): (Weights, Piece),
        precision: Precision,
        folder: &Path,
    ) -> Result<Result<PathBuf, String>, ForeignError> {
        // Of forms that do not compile, the first one's lines are shown.
        let mut is_first = true;
        header::first_that_compiles(header, weights, piece, |form| {
            let is_shown = std::mem::take(&mut is_first);
            self.attempt(header, weights, (precision, form), is_shown, folder)
        })
    }

    fn attempt(
        &self,
        header: &Header,
        weights: Weights,
        (precision, form): (Precision, CallForm),
        is_shown: bool,
        folder: &Path,
    ) -> Result<Result<PathBuf, String>, ForeignError> {
        let program = folder.join(format!("{}-{}-{precision:?}", weights.name(), form.piece.name()));
        let text = program.with_extension("ii");
        let worker = folder.join("worker.cpp");
        let mut flags = vec![format!("-DHOLDFAST_COMPLEX={}", u8::from(weights == Weights::Complex))];
        flags.extend(header.macros(form).iter().map(|name| format!("-D{name}")));
        let precision_macros: &[&str] = match precision {
            Precision::Single => &[],
            Precision::Lifted => &["-DHOLDFAST_LIFTED"],
            Precision::LiftedWithLibrary => &["-DHOLDFAST_LIFTED", "-DHOLDFAST_LIBRARY"],
        };
        flags.extend(precision_macros.iter().map(|&name| name.to_owned()));
        let run = |stage: &[&str], source: &Path, to: &Path| -> Result<Ended, ForeignError> {
            let mut command = Command::new(&self.program);
            command.args(&self.options).args(stage).args(FLAGS).args(&flags);
            command.arg("-iquote").arg(folder).arg("-I").arg(folder).arg("-idirafter").arg(&header.folder);
            command.arg("-o").arg(to).arg(source);
            // The lines should be those that the harness looks for.
            command.env("LC_ALL", "C");
            // What the compiler leaves behind goes with the folder.
            command.env("TMPDIR", folder);
            run(command).map_err(|error| ForeignError::Compiler(format!("{}: {error}", self.program)))
        };
        let mut ended = run(&["-x", "c++", "-E"], &worker, &text)?;
        if matches!(ended, Ended::Well)
            && let Some(name) = self.name(&text, folder)
        {
            let kept = self.cache.read(&name);
            if kept.is_some_and(|kept| write_program(&program, &kept).is_ok()) {
                return Ok(Ok(program));
            }
            ended = run(&["-x", "c++-cpp-output"], &text, &program)?;
            if matches!(ended, Ended::Well) {
                if let Ok(compiled) = std::fs::read(&program) {
                    self.cache.write(&name, &compiled);
                }
                return Ok(Ok(program));
            }
        }
        if is_shown && !matches!(ended, Ended::TooLate) {
            // What does not compile is said in the compiler's words on the files themselves.
            ended = run(&["-x", "c++"], &worker, &program)?;
        }
        match ended {
            Ended::Well => Ok(Ok(program)),
            Ended::Badly(message) => Ok(Err(trimmed(&message, folder, &header.shown()))),
            Ended::TooLate => Ok(Err(format!("the compiler did not finish within {} s", LIMIT.as_secs()))),
        }
    }

    /// The name in the cache of what this compiler makes of a preprocessed text, wherever the folder is. None for a
    /// program that only this machine may be able to run: others may share the cache.
    fn name(&self, text: &Path, folder: &Path) -> Option<String> {
        if self.options.iter().any(|option| option.contains("native")) {
            return None;
        }
        let text = std::fs::read_to_string(text).ok()?;
        let mut hash = Sha256::new();
        let compiler = [&self.program, &self.version].into_iter().chain(&self.options).map(String::as_str);
        let text = text.replace(&*folder.to_string_lossy(), "");
        for field in compiler.chain(FLAGS).chain([std::env::consts::ARCH, &text]) {
            hash.update((field.len() as u64).to_le_bytes());
            hash.update(field);
        }
        Some(format!("{}.worker", hexfloat::bytes(&hash.finalize())))
    }
}

/// What every program is compiled with.
const FLAGS: [&str; 7] = [
    "-std=c++17",
    // More optimization computes the same, and compiling is most of what judging a header takes.
    "-O1",
    "-ffp-contract=off",
    "-w",
    // A few errors are enough, and each in a line of its own.
    "-fmax-errors=4",
    "-fdiagnostics-color=never",
    "-fno-diagnostics-show-caret",
];

fn write_program(path: &Path, content: &[u8]) -> std::io::Result<()> {
    std::fs::write(path, content)?;
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

/// A temporary folder for what a header is compiled with and into.
pub type Folder = Scratch<tempfile::TempDir>;

/// How such a folder's name begins.
pub const PREFIX: &str = "holdfast-header-";

/// Creates the folder in `parent` and lays out what the header is compiled with, in one step as far as an interrupt can
/// see: what is being filled must not be created anew behind a handler's back.
pub fn folder(header: &Header, parent: &Path) -> Result<Folder, ForeignError> {
    let create = || {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent);
        let folder = folder.map_err(|error| ForeignError::Folder(error.to_string()))?;
        lay_out(header, folder.path())?;
        Ok(folder)
    };
    scratch::create(create, tempfile::TempDir::path)
}

/// Lays out what a header is compiled with.
pub fn lay_out(header: &Header, folder: &Path) -> Result<(), ForeignError> {
    let write = |name: &str, text: &[u8]| {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| ForeignError::Folder(error.to_string()))
    };
    // A C++ compiler has its own <type_traits>.
    for source in runtime::SOURCES.iter().filter(|source| source.name != "type_traits") {
        write(source.name, source.text.as_bytes())?;
    }
    for name in runtime::EMPTY {
        write(name, runtime::EMPTY_TEXT.as_bytes())?;
    }
    write(runtime::HEADER, &header.located())
}

enum Ended {
    Well,
    Badly(String),
    TooLate,
}

/// Runs a command to its end, or to its time limit.
fn run(mut command: Command) -> std::io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut compiler = Process::spawn(&mut command)?;
    let stderr = compiler.pipes().stderr;
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.by_ref().take(MESSAGE).read_to_end(&mut text);
            // The rest is thrown away, so that the compiler does not wait for a reader.
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    // Dropping it ends it.
    let Some(status) = compiler.wait_for(LIMIT)? else { return Ok(Ended::TooLate) };
    let message = reader.join().unwrap_or_default();
    Ok(if status.success() { Ended::Well } else { Ended::Badly(message) })
}

/// The lines that say what is wrong, the author's own first, and where in the user's file (`path`) the reason lies, with what the harness added
/// to paths taken away; the first lines where there are none of this kind.
pub fn trimmed(message: &str, folder: &Path, path: &str) -> String {
    let prefix = format!("{}/", folder.display());
    let lines: Vec<String> = message.lines().map(|line| line.trim_end().replace(&prefix, "")).collect();
    let wrong = |line: &&String| {
        let noted = line.contains(": note") && line.starts_with(path);
        // Where a header is not closed, NVRTC cannot find the kernels that were asked for, either.
        if line.contains("__nv_name_map") {
            return false;
        }
        noted || line.contains("error") || line.contains("undefined reference")
    };
    let telling: Vec<&String> = lines.iter().filter(wrong).collect();
    let mut shown: Vec<&String> = if telling.is_empty() { lines.iter().collect() } else { telling };
    shown.retain(|line| !line.is_empty());
    // The author's own mistakes first, then calls that fail, then notes; what is wrong twice for one reason is said once.
    shown.sort_by_key(|line| match (line.contains("error"), line.starts_with(path)) {
        (true, true) => 0,
        (true, false) => 1,
        (false, _) => 2,
    });
    let mut said = BTreeSet::new();
    shown.retain(|line| line.split_once("error: ").is_none_or(|(_, what)| said.insert(what)));
    let left_out = shown.len().saturating_sub(LINES);
    shown.truncate(LINES);
    let mut text =
        shown.into_iter().map(|line| crate::tensor_file::shown(line)).collect::<Vec<_>>().join("\n");
    if left_out > 0 {
        text.push_str(&format!("\n… and {left_out} more lines"));
    }
    if text.is_empty() { "the compiler failed without a word".to_owned() } else { text }
}

//! Builds a mutant of the kernels as a library, as `build.rs` builds the kernels themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use holdfast::method::Method;

use crate::table::{Kind, Mutant};

/// What the compiler is told, beside what it is to read and write. More optimization computes the same.
const OPTIONS: [&str; 7] = [
    "-std=c++17",
    "-O1",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fno-exceptions",
    "-fno-rtti",
];

/// What no mutant changes: how blocks run on a CPU.
const COMMON: [&str; 3] = ["block", "choices", "context"];

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where mutants are built; what is there already is used again.
pub fn folder() -> PathBuf {
    root().join("target/mutants")
}

/// A file of the kernels.
pub fn source(name: &str) -> String {
    let path = root().join("kernels").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn compiler() -> Command {
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned()));
    command.args(OPTIONS).current_dir(root());
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("fma") {
        command.arg("-mfma");
    }
    command
}

fn run(mut command: Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("no C++ compiler: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Compiles what all mutants share.
pub fn common() -> Result<(), String> {
    let folder = folder();
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for name in COMMON {
        let mut command = compiler();
        command.arg("-Ikernels").arg("-c").arg(format!("kernels/host/{name}.cpp"));
        command.arg("-o").arg(folder.join(format!("{name}.o")));
        run(command)?;
    }
    Ok(())
}

/// The library of a mutant. `common` has run.
pub fn library(mutant: &Mutant) -> Result<PathBuf, String> {
    let folder = folder();
    let own = folder.join(mutant.id);
    let path = own.join("kernels.so");
    let methods: Vec<String> = mutant.methods.iter().map(|method: &Method| method.id().to_string()).collect();
    let kinds = mutant.kinds();
    let scans = kinds.iter().any(|kind| *kind != Kind::Sweep).then_some("SCANS");
    let lifted = kinds.contains(&Kind::Lifted).then_some("LIFTED");
    let switches = [scans, lifted, mutant.variant.switch()];
    let switches = switches.into_iter().flatten().map(|name| format!("-DHOLDFAST_MUTANT_{name}"));
    let mut macros = vec![format!("-DHOLDFAST_MUTANT_METHODS={}", methods.join(","))];
    macros.extend(switches);
    if !write_sources(mutant, &own, &macros).map_err(|error| error.to_string())? && path.exists() {
        return Ok(path);
    }
    let object = own.join("library.o");
    let mut command = compiler();
    command.arg("-I").arg(&own).args(&macros);
    command.args(["-w", "-c", "tests/mutants/library.cpp", "-o"]).arg(&object);
    run(command)?;
    let mut command = compiler();
    command.args(["-shared", "-Wl,-Bsymbolic"]).arg(&object);
    command.args(COMMON.map(|name| folder.join(format!("{name}.o")))).arg("-o").arg(&path);
    run(command)?;
    Ok(path)
}

/// Writes a file, if it is not there yet.
fn write(to: &Path, text: &str) -> std::io::Result<bool> {
    let new = fs::read_to_string(to).ok().as_deref() != Some(text);
    if new { fs::write(to, text).map(|()| true) } else { Ok(false) }
}

/// Copies the kernels' sources with the substitution in them, and what else decides what is built; whether anything is new.
fn write_sources(mutant: &Mutant, folder: &Path, macros: &[String]) -> std::io::Result<bool> {
    fs::create_dir_all(folder)?;
    let mut new = write(&folder.join("macros"), &macros.join(" "))?;
    let driver = fs::read_to_string(root().join("tests/mutants/library.cpp"))?;
    new |= write(&folder.join("library"), &driver)?;
    for part in ["", "host", "faults"] {
        fs::create_dir_all(folder.join(part))?;
        for entry in fs::read_dir(root().join("kernels").join(part))? {
            let entry = entry?;
            if !entry.file_type()?.is_file() {
                continue;
            }
            let mut text = fs::read_to_string(entry.path())?;
            if part.is_empty() && entry.file_name() == mutant.file {
                text = text.replacen(mutant.old, mutant.new, 1);
            }
            new |= write(&folder.join(part).join(entry.file_name()), &text)?;
        }
    }
    Ok(new)
}

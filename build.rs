//! Builds the CUDA kernels of `kernels/` for the CPU, through `kernels/host/`, three times: the production
//! kernels; a copy (f32 inputs only) whose faults are chosen at run time, for tests of the harness itself; and that
//! copy with its arithmetic in double, for precision lifting.
//!
//! `HOLDFAST_PLANT=<fault>` plants a fault of `kernels/faults.cuh` in the production kernels: everything that
//! judges them must then fail. Exports `HOLDFAST_KERNEL_SHA256` and `HOLDFAST_CXX_VERSION` to the crate.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use sha2::{Digest, Sha256};

const KERNELS: &str = "kernels";
/// The folder in it that is no part of the production kernels.
const FOREIGN: &str = "foreign";

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("cargo::error={message}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    watch()?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HOLDFAST_PLANT");
    println!("cargo::rustc-env=HOLDFAST_KERNEL_SHA256={}", source_hash(Path::new(KERNELS))?);

    let planted = planted_fault()?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        // Not the profile's: an unoptimized kernel would run ten times slower in `cargo test`.
        .opt_level(2)
        .debug(false)
        .include(KERNELS)
        .warnings(true)
        .extra_warnings(true)
        // Error terms rely on every product and sum being rounded where the source says so.
        .flag("-ffp-contract=off")
        // Vector loads read arrays through a wider type, as CUDA does.
        .flag("-fno-strict-aliasing")
        .flag("-fno-exceptions")
        .flag("-fno-rtti");
    if this_machine_fuses() {
        // The same bits as the library function, which is called for every fma otherwise.
        build.flag("-mfma");
        println!("cargo::rustc-cfg=holdfast_fma");
    }
    println!("cargo::rustc-check-cfg=cfg(holdfast_fma)");
    println!("cargo::rustc-env=HOLDFAST_CXX_VERSION={}", compiler_version(&build)?);

    for source in ["block.cpp", "context.cpp", "elementary.cpp", "misbehave.cpp"] {
        build.file(Path::new(KERNELS).join("host").join(source));
    }
    let plant = planted.map_or(String::new(), |number| format!("#define HOLDFAST_FAULT {number}\n"));
    build.file(written(&out, "dispatch", &format!("{plant}#include \"host/dispatch.cpp\"\n"))?);
    // One file per method and weight type, so that several cores share the work.
    for method in 0..6 {
        for complex in 0..2 {
            let table = format!(
                "#define HOLDFAST_TABLE_METHOD {method}\n#define HOLDFAST_TABLE_COMPLEX {complex}\n\
                 #define HOLDFAST_TABLE_NAME table_{method}_{complex}\n"
            );
            let production = format!(
                "{plant}{table}#define HOLDFAST_TABLE_ARITHMETIC float\n\
                 #define HOLDFAST_TABLE_INPUTS 3\n#include \"host/table.inc\"\n"
            );
            build.file(written(&out, &format!("table_{method}_{complex}"), &production)?);
            for (copy, arithmetic) in [("faulty", "float"), ("lifted", "double")] {
                let source = format!(
                    "#include \"host/interface.h\"\n#define HOLDFAST_FAULT (*holdfast_runtime_fault())\n\
                     #define HOLDFAST_PERTURBATION holdfast_runtime_perturbation()\n\
                     #define HOLDFAST_NAMESPACE holdfast_{copy}\n{table}\
                     #define HOLDFAST_TABLE_ARITHMETIC {arithmetic}\n\
                     #define HOLDFAST_TABLE_INPUTS 1\n#include \"host/table.inc\"\n"
                );
                build.file(written(&out, &format!("{copy}_{method}_{complex}"), &source)?);
            }
        }
    }
    build.try_compile("holdfast_kernels").map_err(|error| {
        format!("the kernels did not compile: {error} (hint: a C++17 compiler is needed, for instance g++ 9 or clang++ 9; CXX chooses one)")
    })
}

/// Rebuilds when a kernel changes. What foreign headers are compiled with ([`FOREIGN`]) is none of this build's.
fn watch() -> Result<(), String> {
    let entries = fs::read_dir(KERNELS).map_err(|error| format!("cannot list {KERNELS}: {error}"))?;
    for entry in entries {
        let path = entry.map_err(|error| format!("cannot list {KERNELS}: {error}"))?.path();
        if !path.ends_with(FOREIGN) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    Ok(())
}

/// Whether the kernels run where they are built, on an x86-64 processor with fused multiply-add. (Other
/// architectures need no flag for theirs.)
fn this_machine_fuses() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        env::var("HOST") == env::var("TARGET") && std::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Writes a source file.
fn written(out: &Path, stem: &str, text: &str) -> Result<PathBuf, String> {
    let path = out.join(format!("{stem}.cpp"));
    fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}

/// The first line of what the compiler says of itself.
fn compiler_version(build: &cc::Build) -> Result<String, String> {
    const HINT: &str = "hint: install one, for instance `apt install g++`, or point CXX at it";
    let compiler = build.try_get_compiler().map_err(|error| format!("no C++ compiler: {error} ({HINT})"))?;
    let output = Command::new(compiler.path()).arg("--version").output().map_err(|error| {
        format!("cannot run the C++ compiler {}: {error} ({HINT})", compiler.path().display())
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or("unknown compiler").trim().to_owned())
}

/// The number in faults.cuh of the fault that `HOLDFAST_PLANT` names.
fn planted_fault() -> Result<Option<usize>, String> {
    let Some(name) = env::var("HOLDFAST_PLANT").ok().filter(|name| !name.is_empty()) else { return Ok(None) };
    let names = fault_names()?;
    match names.iter().position(|n| *n == name) {
        Some(0) => Ok(None),
        Some(number) => {
            println!("cargo::warning=the kernels of this build have the fault `{name}` planted in them");
            Ok(Some(number))
        }
        None => {
            Err(format!("HOLDFAST_PLANT names no fault: `{name}` (hint: one of {})", names[1..].join(", ")))
        }
    }
}

/// The second column of faults.cuh's list.
fn fault_names() -> Result<Vec<String>, String> {
    let path = Path::new(KERNELS).join("faults.cuh");
    let text =
        fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let names: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("X(k"))
        .filter_map(|entry| entry.split('"').nth(1))
        .map(str::to_owned)
        .collect();
    if names.is_empty() { Err(format!("{} lists no faults", path.display())) } else { Ok(names) }
}

/// SHA-256 over all kernel sources: each file's path, length and bytes, in the order of the paths.
fn source_hash(root: &Path) -> Result<String, String> {
    let mut files = Vec::new();
    collect(root, &mut files)?;
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let bytes = fs::read(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        // The same on every system.
        let name = file.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
        hash.update(format!("{name}\0{}\0", bytes.len()));
        hash.update(&bytes);
    }
    Ok(hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}

/// Every source file of the production kernels below `directory`; prose does not change what a kernel computes.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries =
        fs::read_dir(directory).map_err(|error| format!("cannot list {}: {error}", directory.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| format!("cannot list {}: {error}", directory.display()))?.path();
        if path.ends_with(FOREIGN) {
            continue;
        } else if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| ["cu", "cuh", "h", "cpp", "inc"].iter().any(|x| e == *x)) {
            files.push(path);
        }
    }
    Ok(())
}

//! Builds the CUDA kernels of `kernels/` for the CPU, through `kernels/host/`: the production kernels, and copies
//! (f32 inputs only, and in double for precision lifting) whose faults are chosen at run time, for tests of the harness
//! itself.
//!
//! `HOLDFAST_PLANT=<fault>` plants a fault of `kernels/faults/list.cuh` in the production kernels: everything that
//! judges them must then fail. Exports `HOLDFAST_CXX_VERSION` to the crate.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use holdfast_methods::formula::{self, Form, Formula, Function, OFFSETS, Transition};
use holdfast_methods::method::Method;
use holdfast_methods::scalar_function::ScalarFunction;

#[path = "src/kernel/cpu/params.rs"]
#[allow(dead_code, reason = "only the layouts are asked for")]
mod params;
/// From the package, `src/crates/kernel`, in which this runs.
const KERNELS: &str = "../../../kernels";
/// The folder in it that is no part of this build.
const FOREIGN: &str = "foreign";
/// The library that is kept of them, and the kinds of sources that it is made of.
const LIBRARY: &str = "holdfast_kernels";
const SOURCES: [&str; 5] = ["cpp", "cu", "cuh", "h", "inc"];
/// Variables that name folders of headers.
const COMPILERS_READ: [&str; 3] = ["CPATH", "CPLUS_INCLUDE_PATH", "INCLUDE"];
/// What building them takes.
const COST: &str = "about a minute of processor time";

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
    println!("cargo::rustc-check-cfg=cfg(holdfast_fma)");
    watch()?;
    println!("cargo::rerun-if-changed=../../../build.rs");
    println!("cargo::rerun-if-changed=../../kernel/cpu/params.rs");
    println!("cargo::rerun-if-env-changed=HOLDFAST_PLANT");

    let planted = planted_fault()?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    fs::create_dir_all(out.join("faults")).map_err(|error| format!("cannot create a folder: {error}"))?;
    written(&out, "faults/forms.cuh", &forms())?;
    written(&out, "selective_scan.h", &foreign_methods())?;
    written(&out, "scalar_functions.h", &scalar_functions())?;
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        // Not the profile's: an unoptimized kernel would run ten times slower in `cargo test`. More takes twice as long to compile.
        .opt_level(1)
        .debug(false)
        .include(KERNELS)
        .include(&out)
        .warnings(true)
        .extra_warnings(true)
        // Error terms rely on every product and sum being rounded where the source says so.
        .flag("-ffp-contract=off")
        // Vector loads read arrays through a wider type, as CUDA does.
        .flag("-fno-strict-aliasing")
        .flag("-fno-exceptions")
        .flag("-fno-rtti");
    build_judge(build.clone())?;
    if this_machine_fuses() {
        // The same bits as the library function, which is called for every fma otherwise.
        build.flag("-mfma");
        println!("cargo::rustc-cfg=holdfast_fma");
    }
    println!("cargo::rustc-env=HOLDFAST_CXX_VERSION={}", compiler_version(&build)?);

    for folder in ["functions", "bench"] {
        build.file(Path::new(KERNELS).join(folder).join("host.cpp"));
    }
    for source in [
        "backward.cpp",
        "block.cpp",
        "choices.cpp",
        "context.cpp",
        "dense.cpp",
        "elementary.cpp",
        "fork.cpp",
        "misbehave.cpp",
    ] {
        build.file(Path::new(KERNELS).join("host").join(source));
    }

    let plant = planted.map_or(String::new(), |number| format!("#define HOLDFAST_FAULT {number}\n"));
    let dispatch = format!(
        "{plant}#include \"host/dispatch.cpp\"\n#include \"functions/params.h\"\n#include \"judge/params.h\"\n#include \"bench/params.h\"\n{}",
        layout_assertions()
    );
    build.file(written(&out, "dispatch.cpp", &dispatch)?);
    // Files of their own, so that several cores share the work.
    for method in Method::ALL.map(Method::id) {
        let method_is = format!("#define HOLDFAST_TABLE_METHOD {method}\n");
        let production = format!("{plant}{method_is}#include \"host/production.inc\"\n");
        build.file(written(&out, &format!("production_{method}.cpp"), &production)?);
        let fast = format!("{method_is}#include \"host/fast.inc\"\n");
        build.file(written(&out, &format!("fast_{method}.cpp"), &fast)?);
        let backward = format!("{plant}{method_is}#include \"host/backward.inc\"\n");
        build.file(written(&out, &format!("backward_{method}.cpp"), &backward)?);
        let copies = format!("{method_is}#include \"faults/copies.inc\"\n");
        build.file(written(&out, &format!("copies_{method}.cpp"), &copies)?);
    }
    let library = out.join(format!("lib{LIBRARY}.a"));
    let kept = kept(&out, &build)?;
    if kept.as_ref().is_some_and(|kept| fs::copy(kept, &library).is_ok()) {
        println!("cargo::rustc-link-search=native={}", out.display());
        println!("cargo::rustc-link-lib=static={LIBRARY}");
        return Ok(());
    }
    announce();
    build.try_compile(LIBRARY).map_err(|error| {
        format!("the kernels did not compile: {error} (hint: a C++17 compiler is needed, for instance g++ 9 or clang++ 9; CXX chooses one)")
    })?;
    if let Some(kept) = kept {
        // Nobody waits for it: where it cannot be kept, the next build compiles again.
        let _ = keep(&library, &kept);
    }
    Ok(())
}

/// Where the compiled kernels are kept for builds of other profiles and features, which would compile the same once more: by everything
/// that they are made of, beside the folders of the profiles, in one of which `out` is `build/PACKAGE/out`. None where it is elsewhere.
fn kept(out: &Path, build: &cc::Build) -> Result<Option<PathBuf>, String> {
    let folders: Vec<&Path> = out.ancestors().collect();
    let [_, _, build_folder, _, target, ..] = folders[..] else { return Ok(None) };
    if !build_folder.ends_with("build") {
        return Ok(None);
    }
    let mut hasher = DefaultHasher::new();
    (compiler_version(build)?, include_str!("build.rs")).hash(&mut hasher);
    env::var_os("HOLDFAST_PLANT").hash(&mut hasher);
    // All flags, wherever they come from, and what compilers read of the environment: Cargo's own part of it is another one of each build.
    let compiler = build.try_get_compiler().map_err(|error| format!("no C++ compiler: {error}"))?;
    (compiler.path(), COMPILERS_READ.map(env::var_os)).hash(&mut hasher);
    compiler.args().iter().filter(|arg| Path::new(arg) != out).for_each(|arg| arg.hash(&mut hasher));
    hash_folder(Path::new(KERNELS), &mut hasher)
        .map_err(|error| format!("cannot read {KERNELS}: {error}"))?;
    hash_folder(out, &mut hasher).map_err(|error| format!("cannot read {}: {error}", out.display()))?;
    Ok(Some(target.join("holdfast-kernels").join(format!("{:016x}.a", hasher.finish()))))
}

/// All sources in a folder, in an order.
fn hash_folder(folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.ends_with(FOREIGN) {
            hash_folder(&path, hasher)?;
        } else if path.extension().is_some_and(|kind| SOURCES.iter().any(|source| kind == *source)) {
            (path.file_name(), fs::read(&path)?).hash(hasher);
        }
    }
    Ok(())
}

fn keep(library: &Path, kept: &Path) -> io::Result<()> {
    fs::create_dir_all(kept.parent().unwrap_or(kept))?;
    let beside = kept.with_extension(std::process::id().to_string());
    fs::copy(library, &beside)?;
    fs::rename(&beside, kept)
}

/// The judge, for the CPU in the place of a GPU: a library of its own, since its bits are to be those of the Rust code. GCC 12
/// makes fused multiply-adds of complex products where the processor has them and it may vectorize, whatever
/// `-ffp-contract=off` says: it may do neither.
fn build_judge(mut build: cc::Build) -> Result<(), String> {
    build.flag("-fno-tree-slp-vectorize").flag("-fno-tree-vectorize");
    build.define("HOLDFAST_JUDGE_LANES", params::JUDGE_LANES.to_string().as_str());
    build.define("HOLDFAST_JUDGE_KEPT", params::JUDGE_KEPT.to_string().as_str());
    build.file(Path::new(KERNELS).join("judge").join("host.cpp"));
    build.try_compile("holdfast_judge").map_err(|error| format!("the judge did not compile: {error}"))
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
fn written(out: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    let path = out.join(name);
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

/// What `src/formula.rs` says of every form, for the copies with faults: the methods by id, then the textbook forms. Lists
/// for macros: the faults `runs-as-…` and `b-bar-of-…`, and the terms of Ā (of a polynomial one) and of B̄.
fn forms() -> String {
    let methods = || Method::ALL.into_iter().map(|method| format!("{method:?}"));
    let textbooks = formula::Textbook::ALL.map(|textbook| format!("{textbook:?}"));
    let names: Vec<String> = methods().chain(textbooks).collect();
    let mut text =
        "// Made by build.rs of src/formula.rs: the forms by number, the methods first.\n#pragma once\n"
            .to_owned();
    let mut line = |line: String| text.push_str(&(line + "\n"));
    let faults = |prefix: &str, names: &[String]| {
        let entry = |(name, form): (&String, Form)| {
            let member: String =
                prefix.split('-').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
            format!(" X(k{member}{name}, \"{prefix}-{form}\")")
        };
        names.iter().zip(Form::all()).map(entry).collect::<String>()
    };
    line(format!("#define HOLDFAST_RUNS_AS(X){}", faults("runs-as", &names)));
    line(format!("#define HOLDFAST_B_BAR_OF(X){}", faults("b-bar-of", &names[..Method::ALL.len()])));
    let members: Vec<String> = names.iter().map(|name| format!("kOf{name}")).collect();
    line(format!("#define HOLDFAST_FORMS {}", members.join(", ")));
    let (mut a_bars, mut terms) = (String::new(), String::new());
    for (member, form) in members.iter().zip(Form::all()) {
        let formula: Formula = form.formula();
        match formula.a_bar {
            Transition::Exponential => {}
            Transition::Quotient(alpha) => {
                a_bars += &format!(" X({member}, kQuotient, {}, 0.0)", pole(alpha))
            }
            Transition::Polynomial(factors) => {
                for (k, factor) in factors.iter().enumerate() {
                    a_bars += &format!(" X({member}, kPower, {k}, {:?})", factor.value());
                }
            }
        }
        for (of, offset) in formula.b_bar.into_iter().zip(OFFSETS) {
            for term in of {
                let (function, k) = match term.of {
                    Function::Phi(k) => ("kPhi", k),
                    Function::Power(k) => ("kPower", k),
                    Function::Resolvent(alpha) => ("kResolvent", pole(alpha)),
                };
                let higher = term.order() > formula.leading_order();
                let (factor, delta) = (term.factor.value(), term.delta);
                terms += &format!(" X({member}, {offset}, {higher}, {factor:?}, {delta}, {function}, {k})");
            }
        }
    }
    line(format!("#define HOLDFAST_A_BARS(X){a_bars}"));
    line(format!("#define HOLDFAST_TERMS(X){terms}"));
    text
}

/// The functions of one float by number, for the kernels and for the judge.
fn scalar_functions() -> String {
    let members = ScalarFunction::ALL.map(|function| format!("k{function:?}")).join(", ");
    format!(
        "// Made by build.rs of src/scalar_function.rs.\n#pragma once\n\nnamespace holdfast_functions {{\n\n\
         enum class ScalarFunction : int {{ {members} }};\nconstexpr int kScalarFunctions = {};\n\n\
         }}  // namespace holdfast_functions\n",
        ScalarFunction::ALL.len()
    )
}

/// Where 1 − αz vanishes.
fn pole(alpha: formula::Fraction) -> usize {
    (1.0 / alpha.value()) as usize
}

/// What a foreign header of coefficients finds as selective_scan.h: the methods by number (spec.md §2).
fn foreign_methods() -> String {
    let member =
        |method: Method| format!("  DISCRETIZATION_{} = {},\n", method.name().to_uppercase(), method.id());
    format!(
        "// The methods by number (spec.md, section 2). Left out where the header brings its own; the harness asks for methods\n\
         // by number either way.\n#pragma once\n\n#if !defined(HOLDFAST_HEADER_HAS_METHODS)\n\
         enum DiscretizationMethod {{\n{}}};\n#endif\n",
        Method::ALL.map(member).concat()
    )
}

/// C++ that compiles only where the structs of `params.rs` are those of the kernels.
fn layout_assertions() -> String {
    // Some begin with another one's fields.
    let mut text = "#pragma GCC diagnostic ignored \"-Winvalid-offsetof\"\n".to_owned();
    let mut assert = |what: String, is: usize| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "static_assert({what} == {is}, \"src/kernel/cpu/params.rs is out of step\");");
    };
    for (name, size, fields) in params::LAYOUTS {
        assert(format!("sizeof({name})"), size);
        for (field, offset, size) in fields {
            assert(format!("offsetof({name}, {field})"), *offset);
            assert(format!("sizeof({name}::{field})"), *size);
        }
    }
    text
}

/// Says on cargo's own terminal, or in the pipe that its messages go through, that this takes a while: cargo itself
/// shows what a build script prints only when it is over. Nowhere else, and not again while nothing has changed.
fn announce() {
    #[cfg(target_os = "linux")]
    {
        use std::io::{IsTerminal as _, Write as _};
        let path = format!("/proc/{}/fd/2", std::os::unix::process::parent_id());
        if fs::metadata(&path).is_ok_and(|messages| !messages.is_file())
            && let Ok(mut messages) = fs::OpenOptions::new().write(true).open(&path)
        {
            // Over cargo's progress bar, which it draws again.
            let (start, end) = if messages.is_terminal() { ("\r", "\x1b[K") } else { ("", "") };
            let _ =
                writeln!(messages, "{start}    Building the CUDA kernels for this CPU: {COST}, once{end}");
        }
    }
}

/// The number in list.cuh of the fault that `HOLDFAST_PLANT` names.
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

/// The second column of list.cuh, and of the lists of [`forms`] that it names.
fn fault_names() -> Result<Vec<String>, String> {
    let path = Path::new(KERNELS).join("faults/list.cuh");
    let list =
        fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let forms = forms();
    let entries = list.lines().filter_map(|line| {
        let line = line.trim_start();
        let list = line.strip_prefix("HOLDFAST_").and_then(|rest| rest.split_once('('));
        let made = list.and_then(|(list, _)| {
            forms.lines().find(|line| line.starts_with(&format!("#define HOLDFAST_{list}(")))
        });
        made.or(line.starts_with("X(k").then_some(line))
    });
    // Names are all that is quoted.
    Ok(entries.flat_map(|entry| entry.split('"').skip(1).step_by(2)).map(str::to_owned).collect())
}

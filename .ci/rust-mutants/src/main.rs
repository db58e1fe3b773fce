//! Mutation testing of the truth and the judge. The list of mutants is cargo-mutants', which would build the crate anew for
//! each: some three minutes. Here all are compiled at once, into a copy of the crate that asks at run time which of them is
//! on, and a mutant costs as much as the tests that do not see it.
//!
//! `rust-mutants TREE CARGO-MUTANTS [--sample N] [--seed S] [--minutes N] [--only WORD] [--part verdicts|causes]
//! [--tests NAME,…] [--survivors]`, in the folder to work in.

mod instrument;
mod list;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use list::Mutant;
use serde_json::Value;

/// What is mutated.
const MUTATED: &[&str] = &["src/truth/", "src/judge/"];
/// What says why a run fails, or is for reports alone. All else that is mutated decides whether it does: the truth, the bounds, the
/// verdicts.
const CAUSES: [&str; 8] = [
    "src/judge/diagnose",
    "src/judge/faults/",
    "src/judge/lost_digits.rs",
    "src/judge/one_step.rs",
    "src/judge/profile.rs",
    "src/judge/recommendation.rs",
    "src/judge/reconstruct/",
    "src/judge/revisions.rs",
];
/// The test programs, the quickest to find something first.
const TESTS: [&str; 8] =
    ["truth", "judge", "recorded", "kernel", "verify", "report", "command_line", "headers"];
/// Survivors that are no loss, one to a line: the name without its place, a tab, the line of the source where the function has more
/// mutants of that name, a tab, and why.
const ACCEPTED: &str = ".ci/rust-mutants/accepted.txt";

/// The crates' roots, and how each comes by the module that says which mutant is on.
const SWITCHED: [(&str, &str); 4] = [
    ("src/crates/methods/lib.rs", "#[path = \"../../mutant.rs\"]\npub mod mutant;"),
    ("src/crates/base/lib.rs", "pub use holdfast_methods::mutant;"),
    ("src/crates/truth/lib.rs", "pub use holdfast_base::mutant;"),
    ("src/crates/judge/lib.rs", "pub use holdfast_methods::mutant;"),
];

/// What became of each, a line for a mutant, as soon as it is known.
const FATES: &str = "fates.txt";

/// What a mutant is part of.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Verdicts,
    Causes,
}

impl Part {
    fn of(mutant: &Mutant) -> Part {
        let cause = CAUSES.iter().any(|place| mutant.file.starts_with(place));
        if cause { Part::Causes } else { Part::Verdicts }
    }

    fn name(self) -> &'static str {
        match self {
            Part::Verdicts => "verdicts",
            Part::Causes => "causes",
        }
    }
}

struct Options {
    tree: PathBuf,
    cargo_mutants: PathBuf,
    sample: usize,
    seed: u64,
    /// How long to try mutants for, once all is ready.
    time: Duration,
    only: String,
    part: Option<Part>,
    /// Only those that survived the last time.
    survivors: bool,
    /// The test programs that are run, in this order.
    tests: Vec<String>,
}

fn main() -> ExitCode {
    match options().and_then(|options| measure(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("rust-mutants: {message}");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Options, String> {
    let mut words = std::env::args().skip(1);
    let mut place = || words.next().map(PathBuf::from).ok_or("usage: rust-mutants TREE CARGO-MUTANTS");
    let (tree, cargo_mutants) = (place()?, place()?);
    let mut options = Options {
        tree,
        cargo_mutants,
        sample: usize::MAX,
        seed: 1,
        time: Duration::MAX,
        only: String::new(),
        part: None,
        survivors: false,
        tests: TESTS.map(str::to_owned).to_vec(),
    };
    while let Some(word) = words.next() {
        if word == "--survivors" {
            options.survivors = true;
            continue;
        }
        let value = words.next().ok_or(format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|e| format!("{word} {value}: {e}"));
        match word.as_str() {
            "--sample" => options.sample = number()? as usize,
            "--seed" => options.seed = number()?,
            "--minutes" => options.time = Duration::from_secs(60 * number()?),
            "--only" => options.only = value,
            "--part" => {
                let part = [Part::Verdicts, Part::Causes].into_iter().find(|part| part.name() == value);
                options.part = Some(part.ok_or(format!("no part {value} (hint: verdicts, causes)"))?);
            }
            "--tests" => options.tests = value.split(',').map(str::to_owned).collect(),
            _ => {
                return Err(format!(
                    "no option {word} (hint: --sample, --seed, --minutes, --only, --part, --tests, --survivors)"
                ));
            }
        }
    }
    Ok(options)
}

/// Tries the mutants asked for. Whether none survived that is not accepted.
fn measure(options: &Options) -> Result<bool, String> {
    let copy = copy_of(&options.tree)?;
    let accepted = Accepted::read(&options.tree)?;
    let mut mutants = list::all(&copy, &options.cargo_mutants, MUTATED)?;
    let of_all = mutants.len();
    mutants.retain(|m| m.name.contains(&options.only));
    mutants.retain(|m| options.part.is_none_or(|part| Part::of(m) == part));
    let mut earlier = String::new();
    if options.survivors {
        earlier = fs::read_to_string(FATES).map_err(|e| format!("{FATES} of an earlier run: {e}"))?;
        let survived = |line: &&str| line.contains(&format!("\t{}", run::SURVIVED));
        // Lines may have moved meanwhile.
        let names: BTreeSet<String> = earlier
            .lines()
            .filter(survived)
            .filter_map(|line| Some(list::lasting(line.split('\t').next()?)))
            .collect();
        mutants.retain(|m| names.contains(&m.lasting_name()));
    }
    let drawn = list::sample(mutants, options.sample, options.seed);
    // They would run every test that comes by them, which takes minutes.
    let (harmless, drawn): (Vec<Mutant>, Vec<Mutant>) = drawn.into_iter().partition(|m| accepted.contains(m));
    let (ready, left_out) = compile(&copy, &drawn)?;
    println!(
        "{of_all} mutants; {} to try, {left_out} do not compile or have no place, {} are accepted survivors",
        ready.len(),
        harmless.len()
    );
    let programs = run::programs(&copy, &options.tests, of_all as u32)?;
    let mut fates = fs::File::create(FATES).map_err(|e| format!("{FATES}: {e}"))?;
    let tried = run::all(&copy, &programs, &ready, options.time, |mutant, fate| {
        writeln!(fates, "{}\t{fate}", mutant.name).map_err(|e| format!("{FATES}: {e}"))
    })?;
    // What survived and is not tried again is still known to survive.
    let names: BTreeSet<String> = tried.iter().map(|(mutant, _)| mutant.lasting_name()).collect();
    let is_left = |line: &&str| !names.contains(&list::lasting(line.split('\t').next().unwrap_or("")));
    for line in earlier.lines().filter(is_left) {
        writeln!(fates, "{line}").map_err(|e| format!("{FATES}: {e}"))?;
    }
    let untried = ready.len() - tried.len();
    if untried > 0 {
        println!("{untried} were not tried for want of time");
    }
    Ok(report(&tried))
}

/// Survivors that are no loss.
struct Accepted(BTreeSet<(String, String)>);

impl Accepted {
    fn read(tree: &Path) -> Result<Accepted, String> {
        let text = fs::read_to_string(tree.join(ACCEPTED)).map_err(|e| format!("{ACCEPTED}: {e}"))?;
        let columns = |line| match str::split(line, '\t').collect::<Vec<_>>()[..] {
            [name, at, _why] => Ok((name.to_owned(), at.to_owned())),
            _ => Err(format!("{ACCEPTED}: expected a name, a line or nothing, and a reason, found {line:?}")),
        };
        Ok(Accepted(text.lines().map(columns).collect::<Result<_, String>>()?))
    }

    fn contains(&self, mutant: &Mutant) -> bool {
        let name = mutant.lasting_name();
        [String::new(), mutant.line.clone()].into_iter().any(|at| self.0.contains(&(name.clone(), at)))
    }
}

/// A copy of what git tracks, or would, to be changed.
fn copy_of(tree: &Path) -> Result<PathBuf, String> {
    let copy = std::env::current_dir().map_err(|e| e.to_string())?.join("tree");
    let files = Command::new("git")
        .arg("-C")
        .arg(tree)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output();
    let listed = files.map_err(|e| format!("git: {e}"))?;
    if !listed.status.success() {
        return Err(format!("git: {}", String::from_utf8_lossy(&listed.stderr)));
    }
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    // One that is gone, and not yet in git's eyes, is not there to be copied.
    let files: BTreeSet<&str> =
        listed.split_terminator('\0').filter(|name| tree.join(name).exists()).collect();
    remove_others(&copy, &copy, &files)?;
    for name in files {
        let (from, to) = (tree.join(name), copy.join(name));
        let folder = to.parent().unwrap_or(&copy);
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        // As it was where nothing changed, so that nothing is built again.
        let text = fs::read(&from).map_err(|e| format!("{}: {e}", from.display()))?;
        if fs::read(&to).ok().as_ref() != Some(&text) {
            fs::write(&to, text).map_err(|e| format!("{}: {e}", to.display()))?;
        }
    }
    Ok(copy)
}

/// Removes what an earlier run copied and the tree no longer has; not what was built.
fn remove_others(folder: &Path, copy: &Path, files: &BTreeSet<&str>) -> Result<(), String> {
    let error = |e: std::io::Error| format!("{}: {e}", folder.display());
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        let name = path.strip_prefix(copy).map_err(|e| e.to_string())?;
        if name == Path::new("target") {
            continue;
        }
        if path.is_dir() {
            remove_others(&path, copy, files)?;
        } else if !files.contains(&*name.to_string_lossy()) {
            fs::remove_file(&path).map_err(error)?;
        }
    }
    Ok(())
}

/// Compiles the copy with as many of `mutants` as the compiler takes. Returns them, and how many it does not take.
fn compile(copy: &Path, mutants: &[Mutant]) -> Result<(Vec<Mutant>, usize), String> {
    let mut originals = BTreeMap::new();
    let roots = SWITCHED.map(|(root, _)| root.to_owned());
    for file in mutants.iter().map(|m| &m.file).chain(&roots) {
        let path = copy.join(file);
        originals.insert(path.clone(), fs::read_to_string(&path).map_err(|e| format!("{file}: {e}"))?);
    }
    let write =
        |path: &Path, text: &str| fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()));
    write(&copy.join("src/mutant.rs"), instrument::SWITCH)?;
    let mut refused: BTreeSet<u32> =
        mutants.iter().filter(|m| m.genre == "StructField").map(|m| m.id).collect();
    loop {
        for (path, text) in &originals {
            write(path, text)?;
        }
        for (root, switch) in SWITCHED {
            let root = copy.join(root);
            write(&root, &format!("{}\n#[doc(hidden)]\n{switch}\n", originals[&root]))?;
        }
        let kept = || mutants.iter().filter(|m| !refused.contains(&m.id));
        let files: BTreeSet<&str> = kept().map(|m| m.file.as_str()).collect();
        let mut without_place = Vec::new();
        for file in files {
            let of_file: Vec<&Mutant> = kept().filter(|m| m.file == file).collect();
            without_place.extend(instrument::rewrite(&copy.join(file), &of_file)?);
        }
        let errors = errors(copy)?;
        if errors.is_empty() {
            refused.extend(without_place);
            let tried: Vec<Mutant> = mutants.iter().filter(|m| !refused.contains(&m.id)).cloned().collect();
            return Ok((tried, refused.len()));
        }
        let before = refused.len();
        let of_arms: BTreeSet<u32> = mutants.iter().filter(|m| m.genre == "MatchArm").map(|m| m.id).collect();
        for error in errors {
            refused.extend(nearest(copy, &error, &of_arms));
        }
        if refused.len() == before {
            return Err("the copy does not compile, and no mutant is near the errors".to_owned());
        }
    }
}

/// An error of the compiler.
struct CompileError {
    file: String,
    /// The first and the last line that it is about.
    lines: (usize, usize),
    /// A match lacks an arm: what did that is below.
    is_of_match: bool,
}

/// Every error of the compiler.
fn errors(copy: &Path) -> Result<Vec<CompileError>, String> {
    let mut command = Command::new("cargo");
    command.current_dir(copy).args(["check", "--quiet", "--message-format", "json"]);
    let output = command.output().map_err(|e| format!("cargo: {e}"))?;
    let mut errors = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        if message["message"]["level"] != "error" {
            continue;
        }
        let spans = message["message"]["spans"].as_array().into_iter().flatten();
        let primary = spans.filter(|span| span["is_primary"] == true).filter_map(|span| {
            Some(CompileError {
                file: span["file_name"].as_str()?.to_owned(),
                lines: (span["line_start"].as_u64()? as usize, span["line_end"].as_u64()? as usize),
                is_of_match: message["message"]["code"]["code"] == "E0004",
            })
        });
        errors.extend(primary);
    }
    if errors.is_empty() && !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(errors)
}

/// How far from an error a mutant is that may have made it.
const NEAR: usize = 12;
const NEAR_IN_MATCH: usize = 100;

/// The mutants in the nearest line that has any: in what an error is about, or above it; of a match that lacks an arm the nearest
/// below, of those that take arms away.
fn nearest(copy: &Path, error: &CompileError, of_arms: &BTreeSet<u32>) -> Vec<u32> {
    let text = fs::read_to_string(copy.join(&error.file)).unwrap_or_default();
    let numbers = |line: &str| {
        let parts = line.split("mutant::on(").skip(1);
        let numbers = parts.filter_map(|part| part.split("u32").next()?.parse().ok());
        numbers.filter(|id| !error.is_of_match || of_arms.contains(id)).collect::<Vec<u32>>()
    };
    let (first, last) = error.lines;
    let end = if error.is_of_match { last + NEAR_IN_MATCH } else { last };
    let lines: Vec<&str> = text.lines().take(end).collect();
    let (above, below) = lines.split_at(lines.len().min(first.saturating_sub(1)));
    let mut found = below.iter().chain(above.iter().rev().take(NEAR)).map(|line| numbers(line));
    found.find(|found| !found.is_empty()).unwrap_or_default()
}

/// Prints the verdict. Whether none survived.
fn report(tried: &[(&Mutant, run::Fate)]) -> bool {
    let mut parts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut none_survived = true;
    for (mutant, fate) in tried {
        let survived = matches!(fate, run::Fate::Survived { .. });
        let (caught, all) = parts.entry(Part::of(mutant).name()).or_default();
        *all += 1;
        *caught += usize::from(!survived);
        none_survived &= !survived;
        if survived {
            println!("{}: {fate}", mutant.name);
        }
    }
    for (part, (caught, all)) in parts {
        println!("{part}: {caught} of {all} caught ({:.1} %)", 100.0 * caught as f64 / all as f64);
    }
    none_survived
}

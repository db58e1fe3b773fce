//! Runs the tests with one mutant on at a time, until the first test that fails.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::list::Mutant;

/// What makes a test slow.
const SLOW: Duration = Duration::from_secs(1);
/// A mutant that takes this many times as long as none hangs.
const PATIENCE: u32 = 5;

/// What became of a mutant.
pub enum Fate {
    /// By this test.
    Caught(String),
    Hung,
    Survived,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Caught(test) => write!(f, "caught by {test}"),
            Fate::Hung => f.write_str("hung"),
            Fate::Survived => f.write_str("survived"),
        }
    }
}

/// A test program.
pub struct Program {
    name: String,
    path: PathBuf,
    /// How long all of it takes on one thread.
    takes: Duration,
    /// Tests that are left for last: most mutants need none of them.
    slow: Vec<String>,
}

/// Builds the test programs, and runs each without a mutant.
///
/// # Errors
/// A program that cannot be built, or fails.
pub fn programs(copy: &Path, names: &[String]) -> Result<Vec<Program>, String> {
    let mut command = Command::new("cargo");
    command.current_dir(copy).args(["test", "--quiet", "--no-run", "--message-format", "json"]);
    names.iter().for_each(|name| {
        command.args(["--test", name]);
    });
    let output = command.stderr(Stdio::inherit()).output().map_err(|e| format!("cargo: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let built = messages.filter(|m| m["target"]["kind"][0] == "test" && m["executable"].is_string());
    let built: Vec<(String, PathBuf)> = built
        .map(|m| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(&m["target"]["name"]), PathBuf::from(text(&m["executable"])))
        })
        .collect();
    names
        .iter()
        .map(|name| {
            let path = built.iter().find(|(built, _)| built == name).map(|(_, path)| path.clone());
            let path = path.ok_or(format!("the test program {name} was not built"))?;
            let (mut last, mut slow, start) = (Instant::now(), Vec::new(), Instant::now());
            let ended = |test: &str| {
                if last.elapsed() > SLOW {
                    slow.push(test.to_owned());
                }
                last = Instant::now();
            };
            match run(copy, (&path, &[]), 0, Duration::from_secs(3600), ended)? {
                Fate::Survived => Ok(Program { name: name.clone(), path, takes: start.elapsed(), slow }),
                fate => Err(format!("without a mutant, {name}: {fate}")),
            }
        })
        .collect()
}

/// What becomes of each.
///
/// # Errors
/// A program that cannot be started.
pub fn all(copy: &Path, programs: &[Program], mutants: &[Mutant]) -> Result<Vec<Fate>, String> {
    let next = AtomicUsize::new(0);
    let fates: Mutex<Vec<Option<Result<Fate, String>>>> = Mutex::new(mutants.iter().map(|_| None).collect());
    let work = || {
        while let Some((i, mutant)) = mutants.get(next.load(Ordering::Relaxed)).and_then(|_| {
            let i = next.fetch_add(1, Ordering::Relaxed);
            mutants.get(i).map(|mutant| (i, mutant))
        }) {
            let fate = fate(copy, programs, mutant);
            if let Ok(fate) = &fate {
                println!("{}: {fate}", mutant.name);
            }
            if let Ok(mut fates) = fates.lock() {
                fates[i] = Some(fate);
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    let fates = fates.into_inner().map_err(|e| e.to_string())?;
    fates.into_iter().map(|fate| fate.unwrap_or(Err("not tried".to_owned()))).collect()
}

fn fate(copy: &Path, programs: &[Program], mutant: &Mutant) -> Result<Fate, String> {
    let mut order: Vec<&Program> = programs.iter().collect();
    // That of the mutant's own room first.
    order.sort_by_key(|program| !mutant.file.contains(&format!("/{}/", program.name)));
    // The quick tests of all programs, then the slow ones.
    for slow in [false, true] {
        for program in &order {
            let mut arguments = Vec::new();
            for test in &program.slow {
                arguments.extend((!slow).then(|| "--skip".to_owned()));
                arguments.push(test.clone());
            }
            arguments.push("--exact".to_owned());
            if slow && program.slow.is_empty() {
                continue;
            }
            // Other mutants are at work beside.
            let limit = program.takes * PATIENCE + Duration::from_secs(20);
            match run(copy, (&program.path, &arguments), mutant.id, limit, |_| ())? {
                Fate::Survived => {}
                fate => return Ok(fate),
            }
        }
    }
    Ok(Fate::Survived)
}

/// Runs tests of one program, one after the other, until one fails. `ended` hears of each that passes.
fn run(
    copy: &Path,
    (program, arguments): (&Path, &[String]),
    mutant: u32,
    limit: Duration,
    mut ended: impl FnMut(&str),
) -> Result<Fate, String> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &limit.as_secs().to_string()]).arg(program).args(arguments);
    command.env("MUTANT", mutant.to_string()).env("INSTA_UPDATE", "no").env("CARGO_MANIFEST_DIR", copy);
    let mut child = command
        .env("RAYON_NUM_THREADS", "1")
        .env("RUST_TEST_THREADS", "1")
        .current_dir(copy)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    let mut failed = None;
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
        let Ok(line) = line else { break };
        let Some((test, result)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "))
        else {
            continue;
        };
        ended(test);
        if result == "FAILED" {
            failed = Some(test.to_owned());
            // timeout passes it on to the program.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            break;
        }
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    Ok(match failed {
        Some(test) => Fate::Caught(test),
        None if status.code() == Some(124) || status.code() == Some(137) => Fate::Hung,
        None if status.success() => Fate::Survived,
        None => Fate::Caught(format!("an abort ({status})")),
    })
}

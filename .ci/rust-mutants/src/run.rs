//! Runs the tests with one mutant on at a time, until the first test that fails.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, fs};

use memmap2::MmapMut;
use serde_json::Value;

use crate::list::Mutant;

/// The quick tests of all programs are run first, those that take up to twice, four times as long and so on after them: most
/// mutants need none of the slow ones.
const QUICK: Duration = Duration::from_secs(1);
/// A mutant that takes this many times as long as none hangs.
const PATIENCE: u32 = 5;

/// What became of a mutant.
pub enum Fate {
    /// By this test.
    Caught(String),
    Hung,
    /// All of the tests that come by it, which are this many.
    Survived {
        tests: usize,
    },
}

/// What the fate of a survivor begins with.
pub const SURVIVED: &str = "survived";

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Caught(test) => write!(f, "caught by {test}"),
            Fate::Hung => f.write_str("hung"),
            Fate::Survived { tests: 0 } => write!(f, "{SURVIVED}: no test comes by it"),
            Fate::Survived { tests } => write!(f, "{SURVIVED} {tests} tests"),
        }
    }
}

/// A test program.
pub struct Program {
    name: String,
    path: PathBuf,
    tests: Vec<Test>,
}

impl Program {
    /// The tests that come by it.
    fn reaching(&self, mutant: &Mutant) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| test.reaches.contains(&mutant.id))
    }
}

#[derive(Clone)]
struct Test {
    name: String,
    /// How long it takes on one thread, with what it is the first to ask for.
    takes: Duration,
    /// The mutants that it, or what it starts, comes by. A value that tests share belongs to the first that asks for it, so
    /// that a mutant may seem to survive that another of them would see, and never the other way.
    reaches: BTreeSet<u32>,
}

impl Test {
    /// How slow it is: 0 for a quick one, 1 for up to twice as long, 2 for up to four times.
    fn class(&self) -> u32 {
        let times = self.takes.as_secs_f64() / QUICK.as_secs_f64();
        times.max(1.0).log2().ceil() as u32
    }
}

/// Builds the test programs, and runs each without a mutant. `last` is the last mutant's number.
///
/// # Errors
/// A program that cannot be built, or does not come to its end.
pub fn programs(copy: &Path, names: &[String], last: u32) -> Result<Vec<Program>, String> {
    let mut command = Command::new("cargo");
    command.current_dir(copy).args(["test", "--quiet", "--no-run", "--message-format", "json"]);
    names.iter().for_each(|name| {
        command.args(["--test", name]);
    });
    let output = command.stderr(Stdio::inherit()).output().map_err(|e| format!("cargo: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let built = messages.filter(|m| m["target"]["kind"][0] == "test" && m["executable"].is_string());
    let built: BTreeMap<String, PathBuf> = built
        .map(|m| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(&m["target"]["name"]), PathBuf::from(text(&m["executable"])))
        })
        .collect();
    let cores = cores();
    let parts: Vec<(&String, usize)> =
        names.iter().flat_map(|name| (0..cores).map(move |part| (name, part))).collect();
    let tests = on_all_cores(&parts, |&(name, part)| {
        let path = built.get(name).ok_or(format!("the test program {name} was not built"))?;
        tests(copy, path, (part, cores), last).map_err(|e| format!("without a mutant, {name}: {e}"))
    })?;
    let program = |(name, tests): (&String, &[Vec<Test>])| Program {
        name: name.clone(),
        path: built[name].clone(),
        tests: tests.concat(),
    };
    Ok(names.iter().zip(tests.chunks(cores)).map(program).collect())
}

/// One of `parts` of a program's tests, every so manieth, and what each comes by.
fn tests(copy: &Path, program: &Path, (part, parts): (usize, usize), last: u32) -> Result<Vec<Test>, String> {
    let list = Command::new(program).args(["--list", "--format", "terse"]).current_dir(copy).output();
    let list = list.map_err(|e| format!("{}: {e}", program.display()))?.stdout;
    let list = String::from_utf8_lossy(&list).into_owned();
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let mut arguments: Vec<&str> = names.skip(part).step_by(parts).collect();
    if arguments.is_empty() {
        return Ok(Vec::new());
    }
    arguments.push("--exact");
    let record = program.with_extension(format!("reached-{part}"));
    let error = |e: std::io::Error| format!("{}: {e}", record.display());
    fs::write(&record, vec![0; last as usize + 1]).map_err(error)?;
    let file = fs::File::options().read(true).write(true).open(&record).map_err(error)?;
    // SAFETY: this run alone has the file, and a byte that the program writes meanwhile is read now or the next time.
    let mut reached = unsafe { MmapMut::map_mut(&file) }.map_err(error)?;
    let (mut tests, mut start) = (Vec::new(), Instant::now());
    let ended = |test: &str, passes: bool| {
        let ids: BTreeSet<u32> = (0..)
            .zip(reached.iter_mut())
            .filter_map(|(id, byte)| (std::mem::take(byte) != 0).then_some(id))
            .collect();
        if passes {
            tests.push(Test { name: test.to_owned(), takes: start.elapsed(), reaches: ids });
        } else {
            println!("fails without a mutant, and is left out: {test}");
        }
        start = Instant::now();
        true
    };
    let recording = [("MUTANTS_REACHED", record.as_os_str())];
    match run(copy, (program, &arguments), recording, Duration::from_secs(3600), ended)? {
        Fate::Survived { .. } => Ok(tests),
        fate => Err(fate.to_string()),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What `work` makes of each, in their order.
fn on_all_cores<'a, T: Sync, R: Send>(
    all: &'a [T],
    work: impl Fn(&'a T) -> Result<R, String> + Sync,
) -> Result<Vec<R>, String> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Result<R, String>>>> = Mutex::new(all.iter().map(|_| None).collect());
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(i) else { break };
            let result = work(one);
            if let Ok(mut done) = done.lock() {
                done[i] = Some(result);
            }
        }
    };
    std::thread::scope(|scope| (0..cores()).for_each(|_| drop(scope.spawn(work))));
    let done = done.into_inner().map_err(|e| e.to_string())?;
    done.into_iter().map(|result| result.unwrap_or(Err("not tried".to_owned()))).collect()
}

/// What becomes of each that is begun in `time`, in this order. `tell` hears of it at once.
///
/// # Errors
/// A program that cannot be started; one of `tell`.
pub fn all<'a>(
    copy: &Path,
    programs: &[Program],
    mutants: &'a [Mutant],
    time: Duration,
    tell: impl FnMut(&Mutant, &Fate) -> Result<(), String> + Send,
) -> Result<Vec<(&'a Mutant, Fate)>, String> {
    let (start, tell) = (Instant::now(), Mutex::new(tell));
    let fates = on_all_cores(mutants, |mutant| {
        if start.elapsed() > time {
            return Ok(None);
        }
        let fate = fate(copy, programs, mutant)?;
        println!("{}: {fate}", mutant.name);
        let mut tell = tell.lock().map_err(|e| e.to_string())?;
        tell(mutant, &fate)?;
        Ok(Some((mutant, fate)))
    })?;
    Ok(fates.into_iter().flatten().collect())
}

fn fate(copy: &Path, programs: &[Program], mutant: &Mutant) -> Result<Fate, String> {
    let mut order: Vec<&Program> = programs.iter().collect();
    // That of the mutant's own room first.
    order.sort_by_key(|program| !mutant.file.contains(&format!("/{}/", program.name)));
    let classes: BTreeSet<u32> =
        programs.iter().flat_map(|program| program.reaching(mutant)).map(Test::class).collect();
    let mut run_by = 0;
    for class in classes {
        for program in &order {
            let chosen: Vec<&Test> = program.reaching(mutant).filter(|test| test.class() == class).collect();
            if chosen.is_empty() {
                continue;
            }
            let mut arguments: Vec<&str> = chosen.iter().map(|test| &*test.name).collect();
            arguments.push("--exact");
            // Other mutants are at work beside.
            let takes: Duration = chosen.iter().map(|test| test.takes).sum();
            let limit = takes * PATIENCE + Duration::from_secs(20);
            let one = mutant.id.to_string();
            match run(copy, (&program.path, &arguments), [("MUTANT", one.as_ref())], limit, |_, passes| {
                passes
            })? {
                Fate::Survived { .. } => run_by += chosen.len(),
                fate => return Ok(fate),
            }
        }
    }
    Ok(Fate::Survived { tests: run_by })
}

/// Runs tests of one program, one after the other. `ended` hears of each, and whether it passes, and says whether to go on.
fn run(
    copy: &Path,
    (program, arguments): (&Path, &[&str]),
    environment: [(&str, &OsStr); 1],
    limit: Duration,
    mut ended: impl FnMut(&str, bool) -> bool,
) -> Result<Fate, String> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &limit.as_secs().to_string()]).arg(program).args(arguments);
    command.env("INSTA_UPDATE", "no").env("CARGO_MANIFEST_DIR", copy);
    let mut child = command
        .envs(environment)
        .env("RAYON_NUM_THREADS", "1")
        .env("RUST_TEST_THREADS", "1")
        .current_dir(copy)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    let (mut caught, mut failures) = (None, 0);
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
        let Ok(line) = line else { break };
        let Some((test, result)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "))
        else {
            continue;
        };
        let passes = result != "FAILED";
        failures += usize::from(!passes);
        if !ended(test, passes) {
            caught = Some(test.to_owned());
            // timeout passes it on to the program.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            break;
        }
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    Ok(match caught {
        Some(test) => Fate::Caught(test),
        None if status.code() == Some(124) || status.code() == Some(137) => Fate::Hung,
        None if status.success() || failures > 0 && status.code() == Some(101) => Fate::Survived { tests: 0 },
        None => Fate::Caught(format!("an abort ({status})")),
    })
}

//! The console samples of the README and the guide: where they stand, and whether an output is the one that they show.
//!
//! A sample is a fenced block of `console`. A line `$ …` is a command; what follows is what it says. A line `...` stands
//! for one line or more that the page leaves out, and [`PLACEHOLDERS`] for what differs from machine to machine. How long a run took is
//! not compared.

use std::path::{Path, PathBuf};

/// Whether a character may be part of what a placeholder stands for.
type Stands = fn(char) -> bool;

/// What a sample does not spell out, and what may stand there.
const PLACEHOLDERS: [(&str, Stands); 2] =
    [("<compiler>", |c| !c.is_control()), ("<sha256>", |c| c.is_ascii_hexdigit())];

/// What stands for lines left out.
const SKIPPED: &str = "...";

/// Commands that take long, and that other tests have the answers of: those call [`hold`].
pub const HELD_ELSEWHERE: [&str; 6] = [
    "cargo run --release",
    "holdfast verify --header tests/headers/rk4-is-zoh.cuh --regime short --weights real",
    "holdfast verify --header tests/headers/early-formulas.cuh --regime short --weights real",
    "holdfast verify --header tests/headers/naive.cuh --regime tiny-z --weights real",
    "holdfast verify --header tests/headers/backward/of-zoh.cuh --method foh --weights real",
    "holdfast diff tests/headers/foh-exact-zoh.cuh tests/headers/accurate.cuh --method foh --weights real",
];

/// A command, and what a page says that it prints.
pub struct Sample {
    pub command: String,
    shown: Vec<String>,
    /// The page and the command's line in it.
    at: String,
}

/// Whether this machine rounds as the one that the samples were taken on: softplus, gate and headers call its libm.
pub fn comparable() -> bool {
    let alike = cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"));
    if !alike {
        println!("unmeasured: the guide's samples were taken on x86-64 Linux with glibc");
    }
    alike
}

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The README and every page of the guide.
pub fn pages() -> Vec<PathBuf> {
    let guide = std::fs::read_dir(root().join("src/guide")).expect("the guide");
    let pages = guide.map(|entry| entry.expect("readable").path());
    let mut pages: Vec<PathBuf> = pages
        .filter(|path| path.extension().is_some_and(|e| e == "md") && !path.ends_with("links.md"))
        .collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

pub fn read(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The samples of every page, block by block: the commands of one block share a folder.
pub fn blocks() -> Vec<Vec<Sample>> {
    let mut blocks = Vec::new();
    for page in pages() {
        let mut block: Option<Vec<Sample>> = None;
        for (number, line) in read(&page).lines().enumerate() {
            match (&mut block, line) {
                (None, "```console") => block = Some(Vec::new()),
                (Some(_), "```") => blocks.extend(block.take()),
                (Some(samples), line) => {
                    let at = format!("{}:{}", page.display(), number + 1);
                    match (line.strip_prefix("$ "), samples.last_mut()) {
                        (Some(command), _) => {
                            samples.push(Sample { command: command.to_owned(), shown: Vec::new(), at });
                        }
                        (None, Some(sample)) => sample.shown.push(line.to_owned()),
                        (None, None) => panic!("{at}: a sample begins with its command"),
                    }
                }
                (None, _) => {}
            }
        }
        assert!(block.is_none(), "{}: a sample has no end", page.display());
    }
    blocks
}

impl Sample {
    /// Panics if the command does not say what the page shows.
    pub fn hold(&self, output: &str) {
        let shown: Vec<&str> = self.shown.iter().map(String::as_str).collect();
        let lines: Vec<&str> = output.lines().map(str::trim_end).collect();
        let begins =
            |count: usize| fits(&[&shown[..count], &[SKIPPED]].concat(), &[&lines[..], &[""]].concat());
        let wrong =
            (1..=shown.len()).find(|&count| !begins(count)).map_or("its end", |count| shown[count - 1]);
        assert!(
            fits(&shown, &lines),
            "{}: `{}` does not say this; the first line that differs is\n{wrong}\n\nIt says\n{output}",
            self.at,
            self.command
        );
    }
}

/// Holds every sample of a command that is [`HELD_ELSEWHERE`] against what it says.
pub fn hold(command: &str, output: &str) {
    assert!(HELD_ELSEWHERE.contains(&command), "`{command}` is held twice");
    let samples: Vec<Sample> = blocks().into_iter().flatten().filter(|s| s.command == command).collect();
    assert!(!samples.is_empty(), "no page shows `{command}`");
    samples.iter().for_each(|sample| sample.hold(output));
}

/// Whether these lines are what a page shows.
pub fn fits(shown: &[&str], lines: &[&str]) -> bool {
    match shown.split_first() {
        None => lines.is_empty(),
        Some((&SKIPPED, rest)) => (1..=lines.len()).any(|skipped| fits(rest, &lines[skipped..])),
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, others)| alike(first, line) && fits(rest, others))
        }
    }
}

/// A line without the time that its run took.
fn timeless(line: &str) -> &str {
    let split = line.rsplit_once(", in ").filter(|(_, time)| {
        time.starts_with(|c: char| c.is_ascii_digit()) && (time.ends_with(" s") || time.ends_with(" min"))
    });
    split.map_or(line, |(before, _)| before)
}

fn alike(shown: &str, line: &str) -> bool {
    let (shown, line) = (timeless(shown), timeless(line));
    let Some((before, after, allowed)) = PLACEHOLDERS.iter().find_map(|(name, allowed)| {
        let (before, after) = shown.split_once(name)?;
        Some((before, after, allowed))
    }) else {
        return shown == line;
    };
    let value = line.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    value.is_some_and(|value| !value.is_empty() && value.chars().all(allowed))
}

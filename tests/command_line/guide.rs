//! Promise: the README and the guide say what is so. Their samples are what the commands print, their links lead
//! somewhere, and what they count is counted in the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use holdfast::judge::invariants::Invariant;
use holdfast::problem::{Operand, Weights};
use holdfast::report::html::confusion;
use holdfast::results::{HeaderInstantiation, HeaderNote};
use rayon::prelude::*;
use serde_json::Value;

use crate::support::binary::{command, output, text};
use crate::support::samples::{self, Sample, blocks, pages, read, root};

/// The files that samples read, copied into the folder that they run in.
const FILES: &str = "golden/recorded";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir_all(folder.path().join(FILES)).expect("created");
    for entry in fs::read_dir(root().join(FILES)).expect("in the repository") {
        let file = entry.expect("readable").path();
        let name = file.file_name().expect("a file has a name");
        fs::copy(&file, folder.path().join(FILES).join(name)).expect("copied");
    }
    folder
}

/// What a command says on a machine without a GPU, and its exit status.
fn run(line: &str, folder: &Path) -> (String, i32) {
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[0], "holdfast", "`{line}`: only holdfast is run");
    let said = output(command().args(&words[1..]).current_dir(folder).env("CUDA_VISIBLE_DEVICES", ""));
    let status = said.status.code().expect("it ended by itself");
    // How far it is.
    let is_progress = |line: &&str| {
        line.contains(", about ") && line.trim_end().ends_with(" left")
            || line.starts_with("FAIL: looking for the cause of ")
    };
    let errors = text(&said.stderr);
    let errors: String = errors.split_inclusive('\n').filter(|line| !is_progress(line)).collect();
    (text(&said.stdout) + &errors, status)
}

/// Runs the commands of a block, one after another in one folder, and holds each against every block that shows the same.
fn hold(block: &[Sample], alike: &[&Vec<Sample>]) {
    let folder = folder();
    let mut status = None;
    for (place, sample) in block.iter().enumerate() {
        let said = match (sample.command.as_str(), status) {
            ("echo $?", Some(status)) => format!("{status}\n"),
            (line, _) => {
                let (said, code) = run(line, folder.path());
                status = Some(code);
                said
            }
        };
        alike.iter().for_each(|other| other[place].hold(&said));
    }
}

#[test]
fn every_sample_is_what_the_command_prints() {
    if !samples::comparable() {
        return;
    }
    let blocks = blocks();
    let (elsewhere, here): (Vec<_>, Vec<_>) =
        blocks.iter().partition(|block| samples::HELD_ELSEWHERE.contains(&block[0].command.as_str()));
    assert!(elsewhere.iter().all(|block| block.len() == 1), "a command that is held elsewhere stands alone");
    let commands = |block: &[Sample]| block.iter().map(|s| s.command.clone()).collect::<Vec<_>>();
    let mut distinct: BTreeMap<Vec<String>, Vec<&Vec<Sample>>> = BTreeMap::new();
    here.iter().for_each(|block| distinct.entry(commands(block)).or_default().push(block));
    distinct.par_iter().for_each(|(_, alike)| hold(alike[0], alike));
    assert!(distinct.len() >= 10 && !elsewhere.is_empty());
}

#[test]
fn the_readme_is_short() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(lines <= 180, "{lines} lines");
}

/// Text outside fenced blocks and code.
fn prose(text: &str) -> String {
    let outside =
        text.split("\n```").step_by(2).map(|part| part.split_once('\n').map_or("", |(_, rest)| rest));
    outside.collect::<Vec<_>>().join("\n").split('`').step_by(2).collect()
}

/// Where a page's links lead: `[text](target)` and `[label]: target`, those on the web left out.
fn targets(text: &str) -> Vec<&str> {
    let inline = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let defined = definitions(text).into_iter().map(|(_, target)| target);
    inline.chain(defined).filter(|target| !target.starts_with("http")).collect()
}

/// `[label]: target` at the end of a page.
fn definitions(text: &str) -> Vec<(&str, &str)> {
    text.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: ")).collect()
}

/// The anchors that headings get, on a page and in the documentation alike.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let anchor =
        |heading: &str| heading.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect();
    headings.map(anchor).map(|text: String| text.replace(' ', "-")).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let others = ["kernels/README.md", ".github/CONTRIBUTING.md", "golden/recorded/README.md"];
    for page in pages().into_iter().chain(others.map(|page| root().join(page))) {
        let text = read(&page);
        for target in targets(&text) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file =
                if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
            assert!(file.exists(), "{}: {target}", page.display());
            assert!(
                anchor.is_empty() || anchors(&read(&file)).contains(anchor),
                "{}: {target}",
                page.display()
            );
        }
    }
}

/// Whether a text links to this label, as `[text][label]` or as `[label]`.
fn links_to(text: &str, label: &str) -> bool {
    text.split(&format!("[{label}]")).skip(1).any(|rest| !rest.starts_with(['[', '(']))
}

/// What a page's link is called in the documentation: `links.md` has the same link for `cargo doc`.
fn documented(target: &str) -> String {
    let (file, anchor) =
        target.split_once('#').map_or((target, String::new()), |(f, a)| (f, format!("#{a}")));
    let path =
        file.trim_end_matches(".md").trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
    match path.strip_prefix("..::") {
        Some(outside) => format!("crate::{outside}{anchor}"),
        None => format!("crate::guide::{path}{anchor}"),
    }
}

#[test]
fn a_link_of_the_guide_is_the_same_in_the_documentation() {
    let links = read(&root().join("src/guide/links.md"));
    let links = definitions(&links);
    let mut used = BTreeSet::new();
    for page in pages().iter().filter(|page| !page.ends_with("README.md")) {
        let text = read(page);
        let defined = definitions(&text);
        let body = prose(&text[..text.rfind("\n\n[").expect("a page ends with its links")]);
        for &(label, target) in &defined {
            assert!(links_to(&body, label), "{}: [{label}] is not used", page.display());
            assert!(
                links.contains(&(label, &documented(target))),
                "{}: [{label}] in links.md",
                page.display()
            );
            used.insert(label.to_owned());
        }
        for (label, _) in &links {
            let known = defined.iter().any(|(other, _)| other == label);
            assert!(known || !links_to(&body, label), "{}: [{label}] has no target", page.display());
        }
    }
    let unused: Vec<_> = links.iter().filter(|(label, _)| !used.contains(*label)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn every_word_of_the_glossary_is_linked() {
    let texts: Vec<String> = pages().iter().map(|page| read(page)).collect();
    let linked: BTreeSet<&str> =
        texts.iter().flat_map(|text| targets(text)).filter_map(|t| t.split_once('#')).map(|t| t.1).collect();
    let words = anchors(&read(&root().join("src/guide/glossary.md")));
    let missing: Vec<_> =
        words.iter().filter(|word| *word != "glossary" && !linked.contains(word.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            found.insert(key.clone());
            // What the analysis has is documented where its types are.
            if key != "analysis" {
                keys(value, found);
            }
        }),
        _ => {}
    }
}

#[test]
fn the_page_of_results_json_has_every_field() {
    let page = read(&root().join("src/guide/results.md"));
    let words: BTreeSet<&str> = page.split('`').skip(1).step_by(2).collect();
    let mut found = BTreeSet::new();
    for line in [
        "holdfast check golden/recorded/foh-as-exact-zoh.safetensors",
        "holdfast verify --method zoh --weights real --input f32 --regime short --b variable --backend cpu",
        "holdfast verify --method zoh --weights real --invariants-only --backend cpu",
    ] {
        let folder = folder();
        run(&format!("{line} --quiet --json r.json"), folder.path());
        keys(&serde_json::from_str(&read(&folder.path().join("r.json"))).expect("JSON"), &mut found);
    }
    let instantiation = HeaderInstantiation {
        weights: Weights::Real,
        b: Some(Operand::Constant),
        compiles: true,
        lines: Vec::new(),
    };
    let backward = Some(vec![instantiation.clone()]);
    let header = HeaderNote { path: String::new(), instantiations: vec![instantiation], backward };
    keys(&serde_json::to_value(header).expect("JSON"), &mut found);
    assert!(found.contains("diagnosis") && found.contains("sensitivity"));
    let missing: Vec<_> = found.iter().filter(|key| !words.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn what_the_guide_counts_is_so() {
    let page = |name: &str| read(&root().join("src/guide").join(name));
    let golden = |name: &str| read(&root().join("golden").join(name));
    let diagnosis = page("diagnosis.md");
    let marks: String = confusion::record().iter().flat_map(|row| row.marks.clone()).collect();
    let (named, unnamed) = (marks.matches('=').count(), marks.matches('?').count());
    let planted = format!("{} are caught, and {named} of them named", named + unnamed);
    assert!(diagnosis.contains(&planted), "diagnosis.md: {planted}");
    let laws = format!("There are {}:", Invariant::ALL.len());
    assert!(page("invariants.md").contains(&laws), "invariants.md: {laws}");
    let snapshots = golden("verdict-table.snap") + &golden("error-table.snap");
    let page = page("snapshots.md");
    let removed: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("-f")).collect();
    assert!(removed.len() > 3);
    for line in removed {
        assert!(snapshots.contains(&format!("\nf{line}\n")), "snapshots.md: f{line}");
    }
}

/// Every file below `folder` that is text of ours; Python leaves its compiled files beside the sources.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path());
    let others = ["json", "safetensors", "pyc", "so"];
    let text = |path: &PathBuf| path.extension().is_some_and(|e| others.iter().all(|other| e != *other));
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).filter(text).collect()
}

#[test]
fn no_document_is_cited_that_the_repository_does_not_hold() {
    let folders = ["src", "tests", "kernels", ".github"].map(|folder| sources(&root().join(folder)));
    let files: Vec<PathBuf> = folders
        .into_iter()
        .flatten()
        .chain(["README.md", "CHANGELOG.md"].map(|file| root().join(file)))
        .collect();
    let mut held: BTreeSet<&str> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
    held.insert("report.md"); // every report has one
    for file in &files {
        let text = read(file);
        let word = |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '_'));
        for cited in
            text.split(word).map(|w| w.trim_end_matches('.')).filter(|w| w.len() > 3 && w.ends_with(".md"))
        {
            assert!(held.contains(cited), "{}: {cited}", file.display());
        }
    }
}

#[test]
fn a_sample_fits_what_it_shows_and_nothing_else() {
    let lines = ["a", "b", "by gcc 12, 0af3", ""];
    for shown in [
        &["a", "...", ""][..],
        &["..."],
        &["a", "b", "by <compiler>, 0af3", ""],
        &["...", "by gcc 12, <sha256>", ""],
    ] {
        assert!(samples::fits(shown, &lines), "{shown:?}");
    }
    for shown in
        [&["a"][..], &["a", "...", "b", "..."], &["a", "b", "by gcc <sha256>", ""], &["...", "c", "..."], &[]]
    {
        assert!(!samples::fits(shown, &lines), "{shown:?}");
    }
}

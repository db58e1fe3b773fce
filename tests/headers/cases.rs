//! Sets of headers by other authors, each header written down as what differs from a base: `cases.txt` in the set's folder.
//!
//! Before the first header stands what its author knew. The rest goes by the first sign of a line:
//!
//! ```text
//! # NAME of BASE                 a header, made of the file BASE.cuh, or else NAME.cuh as it is; then, where it is so,
//!   , real alone                 the only type of weights that it takes,
//!   , base two: zoh              the methods whose callers scale A,
//!   , 3 unnamed                  and of how many methods and types of weights that fail nothing is said
//! > foh poly complex: WORDS      the methods at fault, with this type of weights or with both, and why, in the author's words;
//!                                `all` of them, or `none` of a right header
//! = PART                         what is said of a failure
//! * PART                         what is said of each
//!  -+                            a change: lines with a blank or a minus stand in the base together, once; those with a plus take
//!                                the place of those with a minus
//! ```

use std::iter;

use holdfast::kernel::foreign::Header;
use holdfast::method::Method;
use holdfast::problem::Weights;

use crate::fixtures::path;

/// The folders of the sets, in `tests/headers/`.
pub const SETS: [&str; 8] = [
    "blind",
    "blind_second",
    "blind_third",
    "blind_fourth",
    "blind_fifth",
    "blind_sixth",
    "blind_seventh",
    "blind_eighth",
];

pub struct Case {
    pub header: Header,
    /// Those that it takes; both, if none is named.
    pub weights: Option<Weights>,
    /// Where it fails, in the order of the report.
    pub at_fault: Vec<(Method, Weights)>,
    /// How many of these have no name.
    pub unnamed: usize,
    /// Parts of what is said of one of them.
    pub said: Vec<String>,
    /// Parts of what is said of each.
    pub said_of_each: Vec<String>,
}

/// The headers of a set.
pub fn of(set: &str) -> Vec<Case> {
    let file = path(set).with_extension("").join("cases.txt");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (_, cases) = text.split_once("\n\n# ").expect("a first header");
    cases.split("\n\n# ").map(|case| read(set, case)).collect()
}

fn read(set: &str, text: &str) -> Case {
    let mut lines = text.lines();
    let first = lines.next().expect("its name");
    let mut attributes = first.split(", ");
    let own = attributes.next().expect("its name");
    let (name, base) = own.split_once(" of ").unwrap_or((own, own));
    let (mut weights, mut base_two, mut unnamed) = (None, Vec::new(), 0);
    for attribute in attributes {
        match (attribute.split_once(": "), attribute.split_once(' ')) {
            (Some(("base two", named)), _) => base_two = methods(named),
            (_, Some((only, "alone"))) => weights = Some(only.parse().expect("a type of weights")),
            (_, Some((count, "unnamed"))) => unnamed = count.parse().expect("a number"),
            _ => panic!("{first}"),
        }
    }
    let (mut faults, mut said, mut said_of_each, mut changes) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        match line.split_at(1) {
            (">", words) => faults.push(at_fault(words.split_once(": ").map_or(words, |(places, _)| places))),
            ("=", part) => said.push(part.trim_start().to_owned()),
            ("*", part) => said_of_each.push(part.trim_start().to_owned()),
            (" " | "-" | "+", _) => changes.push(line),
            _ => panic!("{first}: {line}"),
        }
    }
    let every = Method::ALL.into_iter().flat_map(|method| Weights::ALL.map(|weights| (method, weights)));
    let is_at_fault = |(method, weights): &(Method, Weights)| {
        faults.iter().any(|(methods, of)| methods.contains(method) && of.contains(weights))
    };
    let base = Header::read(&path(&format!("{set}/{base}"))).expect("a base");
    let text = changed(std::str::from_utf8(&base.text).expect("UTF-8"), &changes);
    let header = Header { path: path(&format!("{set}/{name}")), text: text.into_bytes(), base_two, ..base };
    Case { header, weights, at_fault: every.filter(is_at_fault).collect(), unnamed, said, said_of_each }
}

/// The places `foh poly complex`.
fn at_fault(places: &str) -> (Vec<Method>, Vec<Weights>) {
    let places = places.trim();
    match places.rsplit_once(' ').and_then(|(methods, last)| Some((methods, last.parse().ok()?))) {
        Some((named, weights)) => (methods(named), vec![weights]),
        None => (methods(places), Weights::ALL.to_vec()),
    }
}

fn methods(named: &str) -> Vec<Method> {
    match named {
        "all" => Method::ALL.to_vec(),
        "none" => Vec::new(),
        _ => named.split(' ').map(|name| name.parse().expect("a method")).collect(),
    }
}

/// The base with every change made.
fn changed(base: &str, changes: &[&str]) -> String {
    let mut text = format!("\n{base}");
    // What does not begin with a plus after one that does belongs to the next change.
    for change in changes.chunk_by(|before, line| line.starts_with('+') || !before.starts_with('+')) {
        let without = |sign| -> String {
            let lines = change.iter().filter(|line| !line.starts_with(sign));
            iter::once("").chain(lines.map(|line| &line[1..])).chain([""]).collect::<Vec<_>>().join("\n")
        };
        let (old, new) = (without('+'), without('-'));
        assert_eq!(text.matches(&old).count(), 1, "in the base once: {old}");
        text = text.replacen(&old, &new, 1);
    }
    text.split_off(1)
}

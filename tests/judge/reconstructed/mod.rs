//! What is said of wrong step functions does not change unseen, nor what they are asked for it. Each file here has its own list.

mod formulas;
mod single;
mod somewhere;

use std::sync::atomic::{AtomicUsize, Ordering};

use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;
use rayon::prelude::*;

use super::figures::{ANEW, golden_in};
use super::reconstruct::{found_of, right};

/// A step: Δ, A, B and u.
#[derive(Clone, Copy)]
pub struct Step {
    delta: f64,
    a: C,
    b: C,
    u: f64,
}

impl Step {
    fn z(&self) -> C {
        self.a * self.delta
    }
}

/// A method's own Ā and B̄u.
pub type Own<'a> = &'a (dyn Fn(Step) -> [C; 2] + Sync);

type Change = dyn Fn(Own, Step) -> [C; 2] + Sync;

/// What is wrong, and what is computed in place of the specified step: the method's own of another step, changed or not.
pub struct Wrong {
    what: String,
    step: Box<Change>,
}

impl Wrong {
    pub fn new(what: impl Into<String>, step: impl Fn(Own, Step) -> [C; 2] + Sync + 'static) -> Wrong {
        Wrong { what: what.into(), step: Box::new(step) }
    }
}

/// Wrong steps in place of a method's own, under a name.
pub struct List {
    name: String,
    of: (Method, Weights),
    wrong: Vec<Wrong>,
}

pub fn list(
    name: &str,
    (method, weights): (Method, Weights),
    wrong: impl IntoIterator<Item = Wrong>,
) -> List {
    let name = format!("# {name}: {method}, {weights}");
    List { name, of: (method, weights), wrong: wrong.into_iter().collect() }
}

/// What is said of one, and how many elements it is asked for.
fn said((method, weights): (Method, Weights), wrong: &Wrong) -> (String, usize) {
    let own = |s: Step| right(method, s.delta, s.a, s.b, s.u);
    let asked = AtomicUsize::new(0);
    let step = |delta: f64, a: C, b: C, u: f64| {
        asked.fetch_add(1, Ordering::Relaxed);
        (wrong.step)(&own, Step { delta, a, b, u })
    };
    let said = found_of(method, weights, &step).map(|said| said.whole());
    let said = said.map_or("(nothing)".to_owned(), |said| format!("{}: {}", said.name, said.what));
    (format!("{} → {said}", wrong.what), asked.into_inner())
}

/// Every file of them, under the name of its snapshot.
const ALL: [(&str, fn() -> Vec<List>); 3] =
    [("single", single::lists), ("formulas", formulas::lists), ("somewhere", somewhere::lists)];

#[test]
#[ignore = "`cargo test` tries some of each list: .ci/long"]
fn what_is_said_of_wrong_steps_is_as_recorded() {
    let description = "Wrong step functions, and what is said of them. Beside each list stands how many elements they were asked for. \
                       `cargo test` tries one in 80.";
    for (name, lists) in ALL {
        let of = |list: &List| {
            let all: Vec<(String, usize)> = list.wrong.par_iter().map(|wrong| said(list.of, wrong)).collect();
            let asked: usize = all.iter().map(|(_, asked)| asked).sum();
            let lines: Vec<String> = all.into_iter().map(|(line, _)| line + "\n").collect();
            format!("{} | {asked} asked\n{}", list.name, lines.concat())
        };
        let table: String = lists().iter().map(of).collect();
        golden_in("steps", name, description, &table);
    }
}

/// One in 80, counted through all lists.
#[test]
fn what_is_said_of_some_wrong_steps_is_as_recorded() {
    let mut some: Vec<(String, Vec<String>)> = Vec::new();
    let mut count = 0;
    for (name, lists) in ALL {
        let file = format!("{}/golden/steps/{name}.snap", env!("CARGO_MANIFEST_DIR"));
        let golden = std::fs::read_to_string(&file).expect("a snapshot");
        for list in lists() {
            let of_list = golden.lines().skip_while(|line| line.split(" | ").next() != Some(&list.name));
            let known: Vec<&str> = of_list.skip(1).take_while(|line| !line.starts_with("# ")).collect();
            assert_eq!(known.len(), list.wrong.len(), "{file}: {}", list.name);
            let at = (0..list.wrong.len()).filter(|i| (count + i) % 80 == 0);
            let at: Vec<usize> = at.collect();
            count += list.wrong.len();
            some.extend(
                at.par_iter()
                    .filter_map(|&i| {
                        let (line, _) = said(list.of, &list.wrong[i]);
                        (line != known[i]).then(|| (list.name.clone(), vec![line, known[i].to_owned()]))
                    })
                    .collect::<Vec<_>>(),
            );
        }
    }
    assert!(some.is_empty(), "said is, and recorded is: {some:#?}\n{ANEW}");
}

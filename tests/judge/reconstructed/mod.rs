//! What is said of wrong step functions does not change unseen, nor what they are asked for it. Each file here has its own list.

mod formulas;
mod single;
mod somewhere;

use std::fmt::Write as _;
use std::sync::Mutex;

use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;
use rayon::prelude::*;

use super::figures::{Figure, golden_in};
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

/// What is said of each is as recorded under this name.
pub fn recorded(name: &str, (method, weights): (Method, Weights), wrong: &[Wrong]) {
    let description = "Wrong step functions: what is said of them, of how many elements they are asked, and of what these are of \
                       Σ v/(1 + |v|), weighted.";
    let own = |s: Step| right(method, s.delta, s.a, s.b, s.u);
    let lines = |wrong: &Wrong| {
        let asked: Mutex<(usize, Figure)> = Mutex::default();
        let step = |delta: f64, a: C, b: C, u: f64| {
            let mut asked = asked.lock().expect("no test fails here");
            asked.0 += 1;
            [delta, a.re, a.im, b.re, b.im, u].into_iter().for_each(|number| asked.1.add(number));
            (wrong.step)(&own, Step { delta, a, b, u })
        };
        let said = found_of(method, weights, &step).map(|said| said.whole());
        let (elements, figure) = *asked.lock().expect("no test fails here");
        let mut text = format!("{} | {elements} asked, {:.6}\n", wrong.what, figure.sum);
        let _ = match said {
            Some(said) => writeln!(text, "    {}: {}", said.name, said.what),
            None => writeln!(text, "    (nothing)"),
        };
        text
    };
    let table: String = wrong.par_iter().map(lines).collect();
    golden_in("steps", &format!("{name}-{method}-{weights}"), description, &table);
}

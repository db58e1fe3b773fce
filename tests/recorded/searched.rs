//! Tables of recordings with what is wrong with them. Each twentieth case of a table is searched for everything that is known, as
//! `holdfast check` does, unless it is several changes at once, which are searched for long. Of the others it is asked whether
//! what they expect explains them, and nothing but the names in it is looked for, one before two: that takes milliseconds.
//! `.ci/long` searches all of them for everything.

use std::io::{Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};

use holdfast::case;
use holdfast::check::{self, Options};
use holdfast::judge::budget::{self, gradient::Pass};
use holdfast::judge::diagnose::Budget;
use holdfast::judge::diagnose::{Case, Work};
use holdfast::judge::explain::explained;
use holdfast::judge::quick;
use holdfast::problem::recorded::{RecordedBackward, Recording};
use holdfast::promise::Promise;
use holdfast::results::{Diagnosis, TensorResult, Verdict};
use holdfast::tensor::{GradientName, Named};
use rayon::prelude::*;

/// Leaves lines of a table as they are: one for each case.
macro_rules! table {
    { $($line:tt)* } => { &[$($line)*] };
}

/// A test of each table, and one of all of it that runs on request.
macro_rules! tables {
    { $($(#[doc = $doc:literal])* $test:ident: $table:expr, $hold:expr;)* } => {
        mod tables {
            use super::*;

            $(pub fn $test(on_request: bool) {
                $crate::searched::each($table, on_request, $hold);
            })*
        }

        $($(#[doc = $doc])*
        #[test]
        fn $test() {
            tables::$test(false);
        })*

        mod on_request {
            $(#[test]
            #[ignore = "searches for everything in each case: .ci/long"]
            fn $test() {
                super::tables::$test(true);
            })*
        }
    };
}

/// Whether everything is looked for, or what a case expects.
#[derive(Clone, Copy)]
pub struct Asked {
    everything: bool,
    is_on_request: bool,
}

impl Asked {
    pub const FOR_ALL: Asked = Asked { everything: true, is_on_request: true };

    /// The names that are looked for, where this one is expected; the verdict alone, where none is.
    pub fn of(self, name: &str) -> Option<&str> {
        let is_searched = self.everything && (self.is_on_request || !name.contains(" + "));
        (!is_searched).then_some(name)
    }

    pub fn is_on_request(self) -> bool {
        self.is_on_request
    }

    /// Of what is searched for everything on request alone.
    pub fn on_request(self) -> Asked {
        Asked { everything: self.is_on_request, ..self }
    }
}

/// Holds every case to what it expects.
pub fn each<T: Sync>(table: &[T], on_request: bool, hold: impl Fn(&T, Asked) + Sync) {
    of_numbers(table.len(), on_request, &|i, asked| hold(&table[i], asked));
}

/// Says of all cases that are not as they are expected to be.
fn of_numbers(count: usize, is_on_request: bool, hold: &(dyn Fn(usize, Asked) + Sync)) {
    let tried = |i: usize| {
        let listed = std::env::var("CASES").ok().map(|l| l.split(',').any(|n| n == i.to_string()));
        if listed == Some(false) {
            return None;
        }
        let is_on_request = is_on_request || listed == Some(true);
        let asked = Asked { everything: is_on_request || i % 20 == 19, is_on_request };
        let panic = catch_unwind(AssertUnwindSafe(|| hold(i, asked))).err()?;
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| said.to_string()));
        Some(format!("case {i}: {}", said.unwrap_or_default()))
    };
    let failed: Vec<String> = (0..count).into_par_iter().filter_map(tried).collect();
    assert!(failed.is_empty(), "{} of {count}:\n{}", failed.len(), failed.join("\n"));
}

/// What is said of a recorded output.
#[derive(Debug)]
pub struct Said {
    pub verdict: Verdict,
    reason: String,
    /// The likeliest first.
    pub found: Vec<Diagnosis>,
}

impl Said {
    #[track_caller]
    pub fn is_first(&self, name: &str, says: &str) {
        assert_eq!(self.verdict, Verdict::Fail, "{name}: {}", self.reason);
        let is_it = |found: &Diagnosis| found.name == name && found.what.contains(says);
        assert!(self.found.first().is_some_and(is_it), "{name} and {says}: {:?}", self.found);
    }

    /// The same, not necessarily first.
    #[track_caller]
    pub fn has(&self, place: &str, name: &str, says: &str) {
        assert_eq!(self.verdict, Verdict::Fail, "{place}: {}", self.reason);
        let is_it = |found: &Diagnosis| found.name == name && found.what.contains(says);
        assert!(self.found.iter().any(is_it), "{place}: {name} and {says}: {:?}", self.found);
    }

    #[track_caller]
    pub fn is_right(&self, place: &str) {
        assert_eq!((self.verdict, self.found.len()), (Verdict::Pass, 0), "{place}: {}", self.reason);
    }

    /// It fails, and nothing is said of why: better than something wrong.
    #[track_caller]
    pub fn is_nothing(&self, place: &str) {
        assert_eq!((self.verdict, self.found.len()), (Verdict::Fail, 0), "{place}: {:?}", self.found);
    }
}

/// What is said of the first output where changes of these names alone are looked for, or all that are known where none is given.
pub fn said<R: Read + Seek + Send>(recording: &Recording<R>, asked: Option<&str>) -> Said {
    match asked {
        None => whole(recording, Options::EVERYTHING),
        Some("") => whole(recording, Options { diagnosis: Budget::Off, ..Options::EVERYTHING }),
        // What a statement of the recording would accept is tried with the whole of it.
        Some(names) => narrowed(recording, names).unwrap_or_else(|| whole(recording, asking(names))),
    }
}

/// Asks whether these names explain a recording.
pub fn asking(names: &str) -> Options {
    Options { causes: names.split(" + ").map(str::to_owned).collect(), ..Options::EVERYTHING }
}

fn whole<R: Read + Seek + Send>(recording: &Recording<R>, options: Options) -> Said {
    let case = check::check("run", "run", recording, &options, &|| ()).expect("a run").cases.swap_remove(0);
    // A name of one tensor is said of it alone where another one that fails has none.
    let of_tensors = || case.tensors.values().flat_map(|tensor| tensor.diagnosis.clone()).collect();
    let found = if case.diagnosis.is_empty() { of_tensors() } else { case.diagnosis };
    Said { verdict: case.verdict, reason: case.reason, found }
}

/// By the quick route, whose values stand for the truth in what is asked.
fn narrowed<R: Read + Seek + Send>(recording: &Recording<R>, names: &str) -> Option<Said> {
    let layout = recording.layout();
    let all: Vec<usize> = (0..layout.shape.batch * layout.shape.dim).collect();
    let run = recording.read(&all).expect("a run");
    let (problem, output) = (&run.problem, &run.outputs[0]);
    let (form, contract) = (output.name.form, Promise::recorded(layout.stages).contract);
    let tallies = problem
        .judged_channels
        .iter()
        .map(|at| quick::judge((form, &contract), problem, *at, &output.tensors));
    let tallies: Vec<_> = tallies.collect();
    let count = |name, of: fn(&quick::QuickTally) -> usize| {
        tallies.iter().map(|tally| of(&tally[name])).sum::<usize>()
    };
    let failing: Vec<_> = output
        .tensors
        .iter()
        .map(|(name, _)| name)
        .filter(|name| count(*name, |tally| tally.failed) > 0)
        .collect();
    if failing.is_empty() {
        return None;
    }
    let budget = budget::scan(form, problem, &contract);
    let want =
        budget.tensors.iter().map(|(name, bounds)| (name, problem.judged_tensor(name, bounds.value.clone())));
    let case = Case {
        form,
        problem,
        got: &problem.judged(&output.tensors),
        want: &want.collect(),
        budget: &budget,
        work: &Work::for_names(names.split(" + ")),
    };
    let found = explained(&case, &failing);
    let found: Vec<Diagnosis> = found.values().flatten().cloned().collect();
    (!found.is_empty()).then_some(Said { verdict: Verdict::Fail, reason: String::new(), found })
}

/// The verdict on each gradient of the first recorded pass, and what is said of those that fail.
pub type JudgedGradients = Named<TensorResult, GradientName>;

pub fn of_gradients<R: Read + Seek + Send>(recording: &Recording<R>, asked: Option<&str>) -> JudgedGradients {
    let RecordedBackward { problem, given, passes } =
        recording.read_backward().expect("numbers").expect("a pass");
    let (name, got) = &passes[0];
    let contract = Promise::recorded(recording.layout().stages).contract;
    let form = name.form.try_into().expect("gradients");
    let pass = Pass { form, problem: &problem, given: &given, contract: &contract };
    let mut tensors = case::gradients(pass, got, false, &|| ()).tensors;
    let work = asked.map_or_else(Work::default, |names| Work::for_names(names.split(" + ")));
    let failing: Vec<GradientName> =
        tensors.iter().filter(|(_, one)| one.verdict == Verdict::Fail).map(|(name, _)| name).collect();
    for (name, diagnosis) in case::diagnose_gradients(pass, got, &failing, &work) {
        tensors[name].diagnosis = diagnosis;
    }
    tensors
}

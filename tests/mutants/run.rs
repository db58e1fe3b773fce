//! Tries mutants at seeds, and says what became of them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::judge::{Known, first_failure};
use crate::kernel::MutantBackend;
use crate::table::{self, Fate, Kind, Mutant};
use crate::{compile, record};

/// Those of the long run.
pub const SEEDS: RangeInclusive<u64> = 1..=8;

/// What became of one mutant.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// At how many seeds each kind of verdict failed it, of those that were tried.
    pub caught: BTreeMap<Kind, usize>,
    /// The first verdict that failed, for each kind.
    pub by: BTreeMap<Kind, String>,
    /// It does not compile.
    pub rejected: Option<String>,
}

impl Outcome {
    /// Whether it was caught by all that must catch it, at this many seeds; if it is harmless by nothing.
    pub fn is_as_it_must_be(&self, mutant: &Mutant, seeds: usize) -> bool {
        self.rejected.is_none()
            && match mutant.fate {
                Fate::Caught { by, .. } => by.iter().all(|kind| self.caught.get(kind) == Some(&seeds)),
                Fate::Harmless(_) => self.caught.is_empty(),
            }
    }
}

/// Tries each mutant at each seed.
pub fn try_all(mutants: &[Mutant], seeds: RangeInclusive<u64>) -> Vec<Outcome> {
    compile::common().expect("the CPU's blocks compile");
    let outcomes: Vec<Mutex<Outcome>> = mutants.iter().map(|_| Mutex::default()).collect();
    for seed in seeds {
        let known = Known::new(seed);
        let next = AtomicUsize::new(0);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        // Threads of their own: truths are computed on a pool, whose threads must not wait for one another's.
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let take = || {
                        let at = next.fetch_add(1, Ordering::SeqCst);
                        mutants.get(at).zip(outcomes.get(at))
                    };
                    while let Some((mutant, outcome)) = take() {
                        try_one(mutant, &known, outcome);
                    }
                });
            }
        });
    }
    outcomes.into_iter().map(|outcome| outcome.into_inner().expect("no thread panicked")).collect()
}

fn try_one(mutant: &Mutant, known: &Known, outcome: &Mutex<Outcome>) {
    let start = Instant::now();
    let library = match compile::library(mutant) {
        Ok(library) => library,
        Err(lines) => {
            eprintln!("{} does not compile:\n{lines}", mutant.id);
            outcome.lock().expect("one thread at a time").rejected = Some(lines);
            return;
        }
    };
    // What catches nothing goes through everything: there large problems are left to others.
    let (first, largest) = match mutant.fate {
        Fate::Caught { regimes, .. } => (regimes, usize::MAX),
        Fate::Harmless(_) => (&[][..], mutant.variant.largest_uncaught()),
    };
    let mut said = Vec::new();
    for &kind in mutant.kinds() {
        let backend = MutantBackend::new(&library, mutant.variant, kind == Kind::Lifted);
        let failure = first_failure(known, &backend, mutant, kind, (first, largest));
        if let Some(id) = failure {
            said.push(format!("{} ({id})", kind.name()));
            let mut outcome = outcome.lock().expect("one thread at a time");
            *outcome.caught.entry(kind).or_default() += 1;
            outcome.by.entry(kind).or_insert(id);
        } else {
            said.push(format!("not by {}", kind.name()));
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("seed {} {:32} {seconds:5.1} s  {}", known.seed, mutant.id, said.join(", "));
}

/// The long run, of every mutant or of those whose ids have one of these words in them, at all seeds or, with `--seeds`, at the first
/// ones. Of what it tries at all seeds it renews the record.
pub fn all(words: &[&str]) -> ExitCode {
    let (words, last) = match words {
        [rest @ .., "--seeds", last] => (rest, last.parse().expect("--seeds takes a number")),
        _ => (words, *SEEDS.end()),
    };
    let asked = |mutant: &Mutant| words.is_empty() || words.iter().any(|word| mutant.id.contains(word));
    let mutants: Vec<Mutant> = table::all().into_iter().filter(asked).collect();
    let outcomes = try_all(&mutants, *SEEDS.start()..=last);
    let mut wrong = 0;
    for (mutant, outcome) in mutants.iter().zip(&outcomes) {
        if !outcome.is_as_it_must_be(mutant, last as usize) {
            wrong += 1;
            println!("WRONG {}: {:?} {:?}", mutant.id, outcome.caught, outcome.by);
        }
    }
    println!("{} mutants at {last} seeds, {wrong} not as they must be", mutants.len());
    if last == *SEEDS.end() {
        let tried: Vec<(&Mutant, &Outcome)> = mutants.iter().zip(&outcomes).collect();
        record::renew(&tried, last as usize).expect("the record can be written");
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

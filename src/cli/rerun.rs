//! `--rerun-failed`: what an earlier run did not pass.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::judge::invariants::Invariant;
use crate::method::Method;
use crate::problem::InputType;
use crate::problem::plan::Filter;
use crate::promise::Tier;
use crate::report::json::{self, ReadError};
use crate::results::{BACKWARD, Results, Verdict};
use crate::verify::Passes;

/// The backend of recorded runs.
const RECORDED: &str = "recorded";

/// Why an earlier run's failures cannot be run again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(
        "`{}` is of {found}, expected {expected} as on this command line (hint: repeat the options of `{command}`)",
        path.display()
    )]
    OtherSubject { path: PathBuf, found: String, expected: String, command: String },
    #[error(
        "`{}` did not pass, but no case, sweep or invariant in it failed: its pairs did, or it judged nothing \
         (hint: `{command}` repeats it)",
        path.display()
    )]
    NothingAlone { path: PathBuf, command: String },
    #[error(
        "`{}` has {count} failures that are not in this version's plan, expected none; the first is `{first}` \
         (hint: repeat the whole run)",
        path.display()
    )]
    Unplanned { path: PathBuf, count: usize, first: String },
}

/// What did not pass, by the ids of results, and the seeds that it was drawn with.
#[derive(Clone, Debug)]
pub struct Failed {
    pub ids: BTreeSet<String>,
    pub methods: Vec<Method>,
    /// Covers the problems of all of them, and others.
    pub filter: Filter,
    /// Ascending, at least one.
    pub seeds: Vec<u64>,
}

impl Failed {
    /// What their run has to judge.
    pub fn passes(&self) -> Passes {
        let gradient_laws = Invariant::ALL.into_iter().filter(|law| law.is_of_gradients());
        let of_laws: Vec<String> = gradient_laws.map(|law| format!("invariant/{}/", law.name())).collect();
        let of_gradients =
            |id: &&String| id.ends_with(BACKWARD) || of_laws.iter().any(|law| id.starts_with(law.as_str()));
        match self.ids.iter().filter(of_gradients).count() {
            0 => Passes::Forward,
            count if count == self.ids.len() => Passes::Backward,
            _ => Passes::Both,
        }
    }

    /// Whether all of them are planned: what is not would be missed silently.
    pub fn are_in(&self, plan: &[String], path: &Path) -> Result<(), Error> {
        let planned: BTreeSet<&String> = plan.iter().collect();
        let missing: Vec<&String> = self.ids.iter().filter(|id| !planned.contains(id)).collect();
        missing.first().map_or(Ok(()), |first| {
            Err(Error::Unplanned { path: path.to_owned(), count: missing.len(), first: (*first).clone() })
        })
    }
}

/// Reads results of `holdfast verify` on the same header, or on none and kernels of the same tier.
pub fn read(path: &Path, header: Option<&Path>, tier: Tier) -> Result<Failed, Error> {
    let results = json::read(path)?;
    let subject = |header: Option<String>, tier: &str| match header {
        Some(path) => format!("the header {path}"),
        None => format!("the kernels of the {tier} tier"),
    };
    let found = match results.backend == RECORDED {
        true => "recorded runs".to_owned(),
        false => subject(
            results.header.as_ref().map(|header| header.path.clone()),
            results.tier.as_deref().unwrap_or(Tier::default().name()),
        ),
    };
    let expected = subject(header.map(|path| path.display().to_string()), tier.name());
    if found != expected {
        let command = results.command.clone();
        return Err(Error::OtherSubject { path: path.to_owned(), found, expected, command });
    }
    let failed = failed(&results);
    if failed.is_empty() && results.verdict() != Verdict::Pass {
        return Err(Error::NothingAlone { path: path.to_owned(), command: results.command });
    }
    let filter = filter(&results, &failed);
    let has = |method: &Method| failed.iter().any(|(_, of)| of == method);
    Ok(Failed {
        methods: Method::ALL.into_iter().filter(has).collect(),
        filter,
        ids: failed.into_iter().map(|(id, _)| id).collect(),
        seeds: seeds(&results),
    })
}

/// The seeds with which something did not pass.
fn seeds(results: &Results) -> Vec<u64> {
    let cases = results.cases.iter().map(|case| &case.seeds);
    let sweeps = results.coefficients.iter().map(|sweep| &sweep.seeds);
    let of_items = cases.chain(sweeps).chain(results.invariants.iter().map(|law| &law.seeds)).flatten();
    let seeds: BTreeSet<u64> =
        of_items.flat_map(|seeds| seeds.failed.iter().chain(&seeds.unmeasured)).copied().collect();
    if seeds.is_empty() { vec![results.seed] } else { seeds.into_iter().collect() }
}

/// Input types and layouts that a run was asked for beyond its regimes' own stand in no other plan: they are named.
fn filter(results: &Results, failed: &[(String, Method)]) -> Filter {
    let cases = || results.cases.iter().filter(|case| failed.iter().any(|(id, _)| *id == case.id));
    let mut inputs: BTreeSet<InputType> =
        InputType::ALL.into_iter().filter(|&input| cases().any(|case| case.input == input.into())).collect();
    if !inputs.is_empty() && cases().count() < failed.len() {
        // Sweeps and invariants are of f32.
        inputs.insert(InputType::F32);
    }
    Filter {
        inputs: inputs.into_iter().collect(),
        b: cases().map(|case| case.b).collect::<BTreeSet<_>>().into_iter().collect(),
        c: cases().map(|case| case.c).collect::<BTreeSet<_>>().into_iter().collect(),
        ..Filter::default()
    }
}

/// Each with its method.
fn failed(results: &Results) -> Vec<(String, Method)> {
    let passes = |verdict: Verdict, lifted: Option<Verdict>| {
        Verdict::of_all([verdict].into_iter().chain(lifted)) == Verdict::Pass
    };
    let mut failed = Vec::new();
    for case in &results.cases {
        let lifted = case.lifted.as_ref().map(|lifted| lifted.verdict);
        if let (false, Some(method)) = (passes(case.verdict, lifted), case.method.method()) {
            failed.push((case.id.clone(), method));
        }
    }
    for sweep in &results.coefficients {
        if !passes(sweep.verdict, sweep.lifted.as_ref().map(|lifted| lifted.verdict)) {
            failed.push((sweep.id(), sweep.method));
        }
    }
    let laws = results.invariants.iter().filter(|law| !passes(law.verdict, None));
    failed.extend(laws.map(|law| (law.id(), law.method)));
    failed
}

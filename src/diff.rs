//! Two revisions of a kernel header through truth and judge: what [`crate::verify`] is for one. Silent, and free of
//! verdict logic of its own.

use rayon::prelude::*;

use crate::judge::diagnose::{Budget, Searches};
use crate::judge::recommendation;
use crate::judge::revisions::{self, NoOutput, RevisionOutput};
use crate::kernel::foreign::ForeignBackend;
use crate::kernel::{Backend, Coefficients, KernelError};
use crate::method::Method;
use crate::problem::elements::Elements;
use crate::problem::{Operand, Weights, elements};
use crate::results::revisions::MethodDiff;
pub use crate::results::revisions::{Diff, Revision};
use crate::results::{SCHEMA, Search};
use crate::truth;

#[derive(Clone, Debug)]
pub struct Request {
    /// In the order of ids.
    pub methods: Vec<Method>,
    pub weights: Vec<Weights>,
    pub b: Vec<Operand>,
    pub seed: u64,
    /// Time that the cause of each revision's failure is looked for.
    pub diagnosis: Budget,
}

/// Compares two headers, compiled for the same backend and named by `paths`.
pub fn diff(request: &Request, old: &ForeignBackend, new: &ForeignBackend, paths: (String, String)) -> Diff {
    let (headers, searches) = ([old, new], request.diagnosis.begin());
    let combinations: Vec<(Weights, Method)> =
        request.weights.iter().flat_map(|&w| request.methods.iter().map(move |&m| (w, m))).collect();
    let drawn: Vec<_> = Weights::ALL.iter().map(|&weights| elements::draw(weights, request.seed)).collect();
    let mut comparisons: Vec<MethodDiff> = combinations
        .par_iter()
        .flat_map_iter(|&(weights, method)| {
            let elements = &drawn[weights.width() - 1];
            let truth = truth::coefficient::solve(method, &elements.coefficients);
            let want = truth.as_ref().map(|t| (&t.a_bar[..], &t.b_bar[..])).map_err(ToString::to_string);
            let run = |header: &ForeignBackend, b| header.elements(method, b, elements).map_err(no_output);
            let of = |&b: &Operand| {
                let (old, new) = (run(old, b), run(new, b));
                let found =
                    revisions::compare(method, b, elements, outcome(&old), outcome(&new), want.clone());
                match &want {
                    Ok(want) if request.diagnosis != Budget::Off => {
                        with_causes(found, elements, headers, *want, &searches)
                    }
                    _ => found,
                }
            };
            request.b.iter().map(of).collect::<Vec<_>>()
        })
        .collect();
    comparisons.sort_by_key(|c| (c.method, c.weights, c.b));
    Diff {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: request.seed,
        backend: new.name().to_owned(),
        device: new.device(),
        old: revision(old, paths.0),
        new: revision(new, paths.1),
        recommendation: recommendation::recommend(&comparisons),
        worse: recommendation::is_worse(&comparisons),
        comparisons,
    }
}

/// Names what each revision computes instead, where it is beyond its bounds.
fn with_causes(
    mut found: MethodDiff,
    elements: &Elements,
    headers: [&ForeignBackend; 2],
    want: (&[f64], &[f64]),
    searches: &Searches,
) -> MethodDiff {
    let (method, b) = (found.method, found.b);
    let mut search = None;
    let mut of = |header: &ForeignBackend, worst: Option<f64>| {
        worst.filter(|worst| *worst > 1.0)?;
        let Some(work) = searches.of_case(&[]) else {
            search = Some(Search::NotBegun(searches.of_all()));
            return None;
        };
        let evaluate = |points: &Elements| header.probed(method, b, points)?.ok();
        let got = || {
            let u = vec![1.0; elements.u.len()];
            let got = header.elements(method, b, &Elements { u, ..elements.clone() }).ok()?;
            Some([got.a_bar, got.b_bar])
        };
        let cause = revisions::cause(method, elements, (&evaluate, &work), got, want);
        if cause.is_none() && work.is_cut() {
            search = Some(Search::Ended(searches.of_each()));
        }
        cause
    };
    found.old_cause = of(headers[0], found.old_worst);
    found.new_cause = of(headers[1], found.new_worst);
    found.search = search;
    found
}

fn no_output(error: KernelError) -> NoOutput {
    NoOutput { reason: error.to_string(), is_fault: error.is_fault() }
}

fn outcome(run: &Result<Coefficients, NoOutput>) -> RevisionOutput<'_> {
    run.as_ref().map(|values| (&values.a_bar[..], &values.b_bar[..])).map_err(Clone::clone)
}

fn revision(header: &ForeignBackend, path: String) -> Revision {
    let rejected = Weights::ALL.into_iter().filter_map(|weights| {
        let lines = Operand::ALL.into_iter().find_map(|b| header.rejected(weights, b))?;
        Some((weights, lines.lines().map(str::to_owned).collect()))
    });
    Revision { path, sha256: header.source(), rejected: rejected.collect() }
}

//! Recorded steps of dense systems (spec.md §8) through truth and judge.

use std::collections::BTreeMap;

use super::{BACKEND, Checked, Options, Reason, Searching};
use crate::case::{Compared, dense};
use crate::judge::dense::{Stored, System};
use crate::judge::scan;
use crate::judge::ulp::Format;
use crate::problem::Stages;
use crate::problem::recorded::{Computed, DenseRun, DenseValues};
use crate::promise::DensePromise;
use crate::results::{CaseResult, Verdict};
use crate::tensor::{DenseName, Named};
use crate::tensor_file;

/// Multiplications of truths that take some seconds on two cores, were each of them one product of matrices.
const CERTIFIED: usize = 2_000_000;

/// Multiplications that stand for the rest of a system's truth.
const EACH: usize = 500;

/// Judges Ā and B̄ of every output.
pub(super) fn check(
    (name, argument): (&str, &str),
    run: &DenseRun,
    options: &Options,
    advance: &(dyn Fn() + Sync),
) -> Result<Checked, Reason> {
    let problem = &run.problem;
    let count = problem.delta.len();
    let chosen = chosen(name, count, options);
    let of_file = super::place((name, argument), options, options.channels, problem.fingerprint());
    let certified = certified(run, &chosen);
    let mut cases: Vec<CaseResult> = Vec::new();
    // Outputs of one arithmetic have one.
    let mut known: Option<(DensePromise, Vec<System>)> = None;
    let mut groups: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (output, got) in &run.outputs {
        let place = scan::Place { id: format!("{name}/{output}"), ..of_file.clone() };
        cases.push(match promise(run.computed, options.stages, got) {
            Ok(promise) => {
                let of_promise = known.take().filter(|(other, _)| *other == promise);
                let (_, systems) = known.insert(
                    of_promise.unwrap_or_else(|| (promise, dense::systems(problem, &chosen, promise))),
                );
                let wanted = dense::wanted(output.form, problem, systems, certified);
                let got = got.map(|_, values| of_systems(run, values, &chosen));
                if let Ok(wanted) = &wanted {
                    groups.entry(&output.label).or_default().push(dense::outputs(wanted, &got, certified));
                }
                dense::judge((output.form, problem), place, wanted.as_ref(), &got)
            }
            Err(reason) => {
                let (form, verdict) = (output.form, Verdict::Unmeasured);
                scan::without_output(form, dense::described(problem), place, verdict, reason)
            }
        });
        (0..count).for_each(|_| advance());
    }
    cases.iter_mut().for_each(|case| case.input = run.input);
    let matrices = |(label, outputs): (&str, Vec<_>)| {
        let id = super::id_of(name, label);
        let compared = Compared { problem, source: BACKEND, regime: name, id: &id };
        compared.coefficients(&chosen[..certified], outputs).into_iter().flatten().collect::<Vec<_>>()
    };
    let mut pairwise: Vec<_> = groups.into_iter().flat_map(matrices).collect();
    pairwise.iter_mut().for_each(|matrix| matrix.input = run.input);
    let mut why = format!("recorded steps of {count} dense systems of {} states", problem.n);
    why.push_str(&match chosen.len() {
        judged if judged == count => {
            format!("; every entry judged, of {certified} systems by a certified truth")
        }
        judged => {
            let seed = options.seed;
            format!(
                "; sampled: {judged} systems judged, {certified} by a certified truth, drawn by seed {seed}"
            )
        }
    });
    if let (Some(computed), None) = (run.computed, options.stages) {
        let said = if computed == Computed::InDouble { "f64" } else { "f32" };
        why.push_str(&format!("; its arithmetic is stated: {said}"));
    }
    why.push_str(&super::unused(&run.provenance));
    let sampled = chosen.len() < count;
    Ok(Checked::new((name, why), &run.provenance, options, sampled, (cases, pairwise)))
}

/// Looks for what failing cases are computed as, within the budget.
pub(super) fn explain(
    name: &str,
    run: &DenseRun,
    options: &Options,
    cases: &mut [CaseResult],
    searching: &mut Searching,
) -> Result<(), Reason> {
    let problem = &run.problem;
    let chosen = chosen(name, problem.delta.len(), options);
    for ((output, got), case) in run.outputs.iter().zip(cases) {
        searching.case(case, &mut |case, work| {
            // What fails has been judged.
            let Ok(promise) = promise(run.computed, options.stages, got) else { return Ok(()) };
            let systems = dense::systems(problem, &chosen, promise);
            let Ok(wanted) = dense::wanted(output.form, problem, &systems, certified(run, &chosen)) else {
                return Ok(());
            };
            let got = got.map(|_, values| of_systems(run, values, &chosen));
            dense::explain(case, &wanted, &got, work);
            Ok(())
        })?;
    }
    Ok(())
}

/// How many systems get a certified truth: as many as take some seconds.
fn certified(run: &DenseRun, chosen: &[usize]) -> usize {
    let (n, m) = (run.problem.n, run.problem.m);
    let each = EACH + n.pow(2).saturating_mul(n.saturating_add(m));
    (CERTIFIED / each).max(1).min(chosen.len())
}

/// Systems to judge: all, or as many as channels are asked for, drawn by the seed.
fn chosen(name: &str, count: usize, options: &Options) -> Vec<usize> {
    super::drawn(name, options, options.channels.unwrap_or(count), count)
}

/// As it is stated, or as outputs are stored.
fn promise(
    computed: Option<Computed>,
    asked: Option<Stages>,
    got: &Named<DenseValues, DenseName>,
) -> Result<DensePromise, String> {
    let is_double = got.values().any(|values| values.stored == tensor_file::Stored::F64);
    match (asked, computed) {
        (Some(Stages::NONE), _) => Ok(DensePromise::SINGLE),
        (Some(stages), _) => Err(format!("dense steps are judged in f32 or f64, and {stages} is stated")),
        (None, Some(Computed::InDouble)) => Ok(DensePromise::DOUBLE),
        (None, None) if is_double => Ok(DensePromise::DOUBLE),
        (None, _) => Ok(DensePromise::SINGLE),
    }
}

/// Values of some systems in a whole tensor.
fn of_systems(run: &DenseRun, of: &DenseValues, chosen: &[usize]) -> Stored {
    let each = of.values.len() / run.problem.delta.len();
    let values = chosen.iter().flat_map(|&i| of.values[i * each..(i + 1) * each].iter().copied()).collect();
    let format = match of.stored {
        tensor_file::Stored::F16 => Format::F16,
        tensor_file::Stored::Bf16 => Format::BF16,
        tensor_file::Stored::F64 => Format::F64,
        _ => Format::F32,
    };
    Stored { values, format }
}

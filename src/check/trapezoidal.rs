//! A recorded run of Mamba-3's rule (spec.md §7) through truth and judge.

use std::fmt::Display;

use super::{Checked, Options, Reason, TooLarge};
use crate::formula::Textbook;
use crate::judge::scan::{self, Described, Place};
use crate::judge::trapezoidal::{self as judge, Bounded, Wanted};
use crate::problem::fingerprint::of_inputs;
use crate::problem::recorded::TrapezoidalRun;
use crate::problem::trapezoidal::{Input, Output, Sizes, Trapezoidal, Unit, Values};
use crate::problem::{Operand, Shape, Stages, Weights};
use crate::results::{BACKWARD, CaseResult, Search, TensorResult, Verdict};
use crate::tensor::{ComputedName, Named};
use crate::trapezoidal::{self, Writing};
use crate::truth::trapezoidal::{self as truth, Certified};

/// Positions × channels × states whose truth takes some seconds on two cores.
const CERTIFIED: usize = 1_000_000;

/// Positions × channels × states whose gradients take as long.
const CERTIFIED_BACKWARD: usize = 250_000;

/// Elements of all tensors that are held with their bounds.
const MOST_ELEMENTS: usize = 1 << 26;

/// Error of values in double precision, of their bounds in f32: 2⁻⁵³ for 2⁻²⁴, with room for the bounds' own roundings.
const OF_DOUBLES: f64 = 1.0 / (1u64 << 28) as f64;

/// Judges every output and every gradient.
pub(super) fn check(
    (name, argument): (&str, &str),
    run: &TrapezoidalRun,
    options: &Options,
    advance: &(dyn Fn() + Sync),
) -> Result<Checked, Reason> {
    let (problem, sizes) = (&run.problem, run.problem.sizes);
    fits(problem)?;
    let stages = options.stages.unwrap_or(run.stages);
    let of_file = super::place((name, argument), options, options.channels, of_inputs(problem));
    let units = units(problem, name, options);
    let described = described(problem);
    let all = problem.units().len();
    let case = |label: &str, suffix: &str, known: Result<Named<TensorResult, ComputedName>, String>| {
        (0..all).for_each(|_| advance());
        let form = Textbook::ExpTrapezoidal;
        let dot = if label.is_empty() { "" } else { "." };
        let place = Place { id: format!("{name}/{form}{dot}{label}{suffix}"), ..of_file.clone() };
        match known {
            Ok(tensors) => {
                let case = scan::case(form, described, place, tensors);
                let search = (case.verdict == Verdict::Fail).then_some(Search::NoModels);
                CaseResult { search, ..case }
            }
            Err(reason) => scan::without_output(form, described, place, Verdict::Unmeasured, reason),
        }
    };
    let mut why =
        format!("recorded run of Mamba-3's rule, {}, {} heads of {}", described.shape, sizes.h, sizes.p);
    let mut cases: Vec<CaseResult> = Vec::new();
    let in_f32 = stages.log_space.map_or(Stages::NONE, |log_space| Stages::NONE.in_log_space(log_space));
    let unjudged = (stages != in_f32).then(|| {
        format!("runs of Mamba-3's rule are judged in f32, or with scan=log-space, and {stages} is stated")
    });
    let mut certified = 0;
    if !run.outputs.is_empty() {
        let known =
            unjudged.clone().map_or_else(|| known_outputs(problem, &units, stages, &mut certified), Err);
        for (label, got) in &run.outputs {
            let tensors = judged(sizes, got, &known, |name| (name.computed(), name.axes()));
            cases.push(case(label, "", tensors));
        }
        why.push_str(&match (&known, units.len()) {
            (Err(_), _) => "; its outputs are not judged".to_owned(),
            (Ok(_), judged) if judged == all => {
                format!(
                    "; every element of its {all} heads of sequences judged, {certified} of them certified"
                )
            }
            (Ok(_), judged) => {
                format!(
                    "; sampled: {judged} of {all} heads of sequences judged, drawn by seed {}",
                    options.seed
                )
            }
        });
    }
    if !run.passes.is_empty() {
        let mut is_certified = false;
        let known = unjudged.map_or_else(|| known_gradients(run, stages, &mut is_certified), Err);
        for (label, got) in &run.passes {
            let tensors = judged(sizes, got, &known, |name| (name.gradient(), name.axes()));
            cases.push(case(label, BACKWARD, tensors));
        }
        why.push_str(match (&known, is_certified) {
            (Err(_), _) => "; its gradients are not judged",
            (Ok(_), true) => "; every element of its gradients judged, by a certified truth",
            (Ok(_), false) => "; every element of its gradients judged, by values of f64",
        });
    }
    if stages != Stages::NONE {
        why.push_str(&format!("; its arithmetic is stated: {stages}"));
    }
    if problem.padding() > 0 {
        why.push_str("; padding is not judged");
    }
    why.push_str(&super::unused(&run.provenance));
    Ok(Checked::new((name, why), &run.provenance, options, units.len() < all, (cases, Vec::new())))
}

/// The verdicts on tensors of these names and axes, where it is known what they have to be.
fn judged<K: Ord + Copy + Display>(
    sizes: Sizes,
    got: &Named<Values, K>,
    known: &Result<Named<Wanted, K>, String>,
    of: impl Fn(K) -> (ComputedName, &'static str),
) -> Result<Named<TensorResult, ComputedName>, String> {
    let one = |(name, got, wanted)| {
        let (name, axes) = of(name);
        (name, judge::judge((name, axes, sizes), got, wanted))
    };
    Ok(got.zip(known.as_ref().map_err(Clone::clone)?).map(one).collect())
}

fn described(problem: &Trapezoidal) -> Described {
    let Sizes { b, l, h, p, g, n, .. } = problem.sizes;
    Described {
        shape: Shape { batch: b, dim: h * p, dstate: n, seqlen: l, groups: g },
        weights: Weights::Real,
        input: problem.inputs[Input::U].stored.into(),
        b: Operand::Variable,
        c: Operand::Variable,
    }
}

/// The heads to judge: all, or as many as have so many channels, drawn by the seed.
fn units(problem: &Trapezoidal, name: &str, options: &Options) -> Vec<Unit> {
    let all = problem.units();
    let count = options.channels.map_or(all.len(), |channels| channels.div_ceil(problem.sizes.p));
    super::drawn(name, options, count, all.len()).into_iter().map(|at| all[at]).collect()
}

/// Outputs of these heads with their bounds; and how many have a certified truth.
fn known_outputs(
    problem: &Trapezoidal,
    units: &[Unit],
    stages: Stages,
    certified: &mut usize,
) -> Result<Named<Wanted, Output>, String> {
    let bounds: Vec<Named<Vec<Bounded>, Output>> =
        trapezoidal::outputs(problem, units, (Writing::AsSpecified, stages.log_space));
    let each = (problem.steps() / problem.units().len().max(1)).max(1);
    // One at least, where it is not a matter of minutes.
    let count = (CERTIFIED / each).max(usize::from(each <= 8 * CERTIFIED)).min(units.len());
    let (truths, _) = truth::outputs(problem, &units[..count]).map_err(|error| error.to_string())?;
    *certified = count;
    let blank = |name: Output| vec![None; problem.sizes.shape(name.axes()).iter().product()];
    let mut whole: Named<Wanted, Output> = Output::ALL.into_iter().map(|name| (name, blank(name))).collect();
    for (i, (&unit, bounds)) in units.iter().zip(&bounds).enumerate() {
        for (name, bounds) in bounds.iter() {
            let truth = truths.get(i).map(|truth| &truth[name][..]);
            let wanted = wanted(bounds, truth);
            problem
                .places(name.axes(), unit)
                .into_iter()
                .zip(wanted)
                .for_each(|(at, wanted)| whole[name][at] = wanted);
        }
    }
    Ok(whole)
}

/// Gradients, and what they may be off.
fn known_gradients(
    TrapezoidalRun { problem, given, .. }: &TrapezoidalRun,
    stages: Stages,
    certified: &mut bool,
) -> Result<Named<Wanted, Input>, String> {
    let bounds: Named<Vec<Bounded>, Input> =
        trapezoidal::gradients(problem, given, (Writing::AsSpecified, stages.log_space));
    *certified = problem.steps() <= CERTIFIED_BACKWARD;
    let truth = match *certified {
        true => Some(truth::gradients(problem, given).map_err(|error| error.to_string())?.0),
        false => None,
    };
    let judged = |name: Input| -> Vec<bool> {
        let mut is_judged = vec![false; problem.inputs[name].values.len()];
        for unit in problem.units() {
            problem.places(name.axes(), unit).into_iter().for_each(|at| is_judged[at] = true);
        }
        is_judged
    };
    Ok(bounds.map(|name, bounds| {
        let wanted = wanted(bounds, truth.as_ref().map(|truth| &truth[name][..]));
        wanted.into_iter().zip(judged(name)).map(|(wanted, is_judged)| wanted.filter(|_| is_judged)).collect()
    }))
}

fn wanted(bounds: &[Bounded], truth: Option<&[Certified]>) -> Wanted {
    let one = |(i, bounded): (usize, &Bounded)| match truth {
        Some(truth) => Some((truth[i].value, bounded.error + truth[i].off)),
        None => Some((bounded.value, bounded.error * (1.0 + OF_DOUBLES))),
    };
    bounds.iter().enumerate().map(one).collect()
}

fn fits(problem: &Trapezoidal) -> Result<(), TooLarge> {
    let elements: usize = problem.inputs.values().map(|tensor| tensor.values.len()).sum();
    match elements <= MOST_ELEMENTS {
        true => Ok(()),
        false => Err(TooLarge::Elements { elements, most: MOST_ELEMENTS }),
    }
}

//! What is wrong with each method, in one entry for each weight type: for the console and both pages alike.

use serde::Serialize;

use super::text;
use crate::results::causes::{self, Cause, KINDS};
use crate::results::{Diagnosis, Results};

/// Explanations of one method that are shown where its failures differ.
const SHOWN: usize = 3;

/// One method that fails for some weights, as texts.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// `foh, real weights`
    pub title: String,
    /// `226 of 250 cases and 3 of 6 sweeps`
    pub failing: String,
    /// What explains it, or why there is no output; empty where nothing is known.
    pub looks_like: String,
    pub rerun: String,
}

/// Of runs in which a method has several cases or sweeps: of a single one all is said where it is shown.
pub fn lines(results: &Results) -> Vec<Line> {
    let is_one = |cause: &Cause| cause.failing.iter().map(|(_, all)| all).sum::<usize>() == 1;
    let causes = causes::of(results).into_iter().filter(|cause| !is_one(cause));
    let mut lines: Vec<Line> = Vec::new();
    let mut last: Option<Cause> = None;
    for cause in causes {
        match (last.take(), lines.last_mut()) {
            // What real and complex weights have in common is said once.
            (Some(other), Some(line)) if alike(&other, &cause) => {
                let mut failing = other.failing;
                let both = failing.iter_mut().zip(cause.failing);
                both.for_each(|(sum, one)| *sum = (sum.0 + one.0, sum.1 + one.1));
                let unexplained = other.unexplained + cause.unexplained;
                let mut found = other.found;
                found.iter_mut().zip(&cause.found).for_each(|((_, sum), (_, one))| *sum += one);
                *line = self::line(
                    &Cause { failing, unexplained, found, ..cause.clone() },
                    "real and complex weights".to_owned(),
                );
            }
            _ => lines.push(line(&cause, format!("{} weights", cause.weights))),
        }
        last = Some(cause);
    }
    lines
}

/// Whether both fail in one and the same way.
fn alike(a: &Cause, b: &Cause) -> bool {
    let said = |cause: &Cause| {
        cause.found.iter().map(|(d, _)| (d.name.clone(), d.sentence().to_owned())).collect::<Vec<_>>()
    };
    a.method == b.method && a.found.len() == 1 && said(a) == said(b)
}

fn line(cause: &Cause, weights: String) -> Line {
    let failing = cause.failing.into_iter().zip(KINDS).filter(|((failing, _), _)| *failing > 0);
    let failing: Vec<_> =
        failing.map(|((failing, all), noun)| format!("{failing} of {}", text::count(all, noun))).collect();
    let named: usize = cause.found.iter().map(|(_, count)| count).sum();
    let looked_at = named + cause.unexplained;
    // What has the same name in other words, or at another place, counts with it: the commonest sentence is shown.
    let mut names: Vec<(&Diagnosis, usize, usize)> = Vec::new();
    for &(diagnosis, count) in &cause.found {
        match names.iter_mut().find(|(known, ..)| known.name == diagnosis.name) {
            Some((.., all)) => *all += count,
            None => names.push((diagnosis, count, count)),
        }
    }
    names.sort_by_key(|(.., all)| std::cmp::Reverse(*all));
    let said = |&(diagnosis, same, all): &(&Diagnosis, usize, usize)| {
        let in_some = if all == looked_at { String::new() } else { format!("in {all} of {looked_at} ") };
        let so_in = if same == all { String::new() } else { format!(", in {same} of the {all}") };
        format!("{in_some}{}{so_in}: {}", diagnosis.name, diagnosis.what)
    };
    let mut looks_like: Vec<String> = names.iter().take(SHOWN).map(said).collect();
    let others: usize = names.iter().skip(SHOWN).map(|(.., all)| all).sum();
    if others > 0 {
        looks_like.push(format!("in {others} of {looked_at} other names"));
    }
    if !looks_like.is_empty() && cause.unexplained > 0 {
        looks_like.push(format!("{} unexplained", cause.unexplained));
    }
    let mut looks_like = looks_like.join("; ");
    if looks_like.is_empty() {
        cause.reason.clone_into(&mut looks_like);
    }
    Line {
        title: format!("{}, {weights}", cause.method),
        failing: failing.join(" and "),
        looks_like,
        rerun: cause.rerun.to_owned(),
    }
}

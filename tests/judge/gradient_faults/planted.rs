//! Faults of the catalogue, planted one by one.

use std::collections::BTreeSet;
use std::fmt::Write;

use holdfast::judge::faults::gradient::catalogue::{self, Fault};
use holdfast::judge::faults::gradient::find;
use holdfast::method::Method;
use holdfast::problem::Weights;
use rayon::prelude::*;

use super::{Known, noisy, problems};
use crate::support::problems::generator;

/// What became of a planted fault, on the first problem on which all gradients that fail get its name, or else on the first on
/// which some fail.
pub(super) struct Outcome {
    fault: &'static Fault,
    method: Method,
    weights: Weights,
    /// The worst mark of its gradients: `=` named first, `~` named first is what is the same there, `?` no name, `x` another
    /// name, `.` no gradient fails.
    pub(super) mark: char,
    /// What is the same.
    same: BTreeSet<String>,
    /// Other names, or none.
    pub(super) wrong: Vec<String>,
}

pub(super) fn outcome(fault: &'static Fault, weights: Weights, known: &[Known]) -> Outcome {
    let mut outcome = Outcome {
        fault,
        method: known[0].method,
        weights,
        mark: '.',
        same: BTreeSet::new(),
        wrong: Vec::new(),
    };
    for known in known.iter().filter(|known| fault.applies(known.method.into(), known.problem)) {
        let planted = known.compute(fault);
        for (name, planted) in planted.iter() {
            let changes = !known.same(&known.want[name].values, &planted.values);
            assert!(!changes || fault.touches.contains(&name), "{} touches {name}", fault.name);
        }
        let mut diagnoses = known.judged(&noisy(&planted, &mut generator(fault.name)));
        // What is hardly beyond its bounds is mostly noise, and shows nothing of its cause.
        diagnoses = diagnoses.into_iter().filter(|(name, _)| known.beyond(*name, &planted) > 2.0).collect();
        let (mut mark, mut same) = (if diagnoses.is_empty() { '.' } else { '=' }, BTreeSet::new());
        for (name, diagnosis) in diagnoses.iter() {
            let first = diagnosis.first().map_or("(nothing)", |first| &first.name);
            let equal = |first: &Fault| known.same(&planted[name].values, &known.compute(first)[name].values);
            match find(first) {
                _ if first == fault.name => {}
                Some(first) if equal(first) => {
                    same.insert(first.name.to_owned());
                    mark = if mark == '=' { '~' } else { mark };
                }
                _ => {
                    outcome.wrong.push(format!("{name}: {first}"));
                    mark = if first == "(nothing)" { '?' } else { 'x' };
                }
            }
        }
        if mark == '=' || outcome.mark == '.' {
            (outcome.mark, outcome.same) = (mark, same);
        }
        if mark == '=' {
            break;
        }
    }
    outcome
}

/// One line for each fault, one column for each method with a mark for real and one for complex weights.
fn confusion_matrix(outcomes: &[Outcome]) -> String {
    let mut text = format!("{:34}", "planted");
    Method::ALL.iter().for_each(|method| write!(text, "{method:>10}").unwrap());
    text.push_str("  the same\n");
    for fault in catalogue::ALL.iter() {
        write!(text, "{:34}", fault.name).unwrap();
        let of = |o: &&Outcome| o.fault.name == fault.name;
        for method in Method::ALL {
            let of_method = outcomes.iter().filter(of).filter(|o| o.method == method);
            let marks: String = of_method.map(|o| o.mark).collect();
            write!(text, "{marks:>10}").unwrap();
        }
        let same: BTreeSet<&str> =
            outcomes.iter().filter(of).flat_map(|o| o.same.iter().map(String::as_str)).collect();
        let same: Vec<&str> = same.into_iter().collect();
        let line = format!("  {}", same.join(", "));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let count = |mark| outcomes.iter().filter(|o| o.mark == mark).count();
    writeln!(
        text,
        "\n{} faults, {} planted: {} named first in every gradient (=), {} with what is the same in some of them (~), \
         {} under another name (x), {} unnamed (?); a dot where nothing fails",
        catalogue::ALL.len(),
        outcomes.len() - count('.'),
        count('='),
        count('~'),
        count('x'),
        count('?'),
    )
    .unwrap();
    text
}

/// One before and one after a multiple of every length below `longest`.
fn long(method: Method, weights: Weights, longest: usize) -> Option<usize> {
    match (method, weights) {
        (Method::Zoh, Weights::Real) => Some(longest - 1),
        (Method::Poly, Weights::Complex) => Some(longest + 1),
        _ => None,
    }
}

/// What has another name, or none, on some problem: a line for each fault, method and weight type.
fn misnamed(outcomes: &[Outcome]) -> String {
    let wrong = outcomes.iter().filter(|o| !o.wrong.is_empty());
    let line =
        |o: &Outcome| format!("{} in {} {}: {}\n", o.fault.name, o.method, o.weights, o.wrong.join(", "));
    wrong.map(line).collect()
}

/// Each fault has one of these marks somewhere.
fn check_names(outcomes: &[Outcome], matrix: &str, planted: &[&'static Fault], marks: &str) {
    let unnamed: Vec<&str> = planted
        .iter()
        .filter(|fault| !outcomes.iter().any(|o| o.fault.name == fault.name && marks.contains(o.mark)))
        .map(|fault| fault.name)
        .collect();
    assert!(unnamed.is_empty(), "{matrix}\nnowhere named in every gradient: {unnamed:?}");
}

/// Those with a length in their names up to this one, and those without.
fn up_to(longest: usize) -> Vec<&'static Fault> {
    let is_short = |fault: &&Fault| {
        fault.name.split('-').filter_map(|part| part.parse().ok()).all(|length: usize| length <= longest)
    };
    catalogue::ALL.iter().filter(is_short).collect()
}

/// Each in the first method that shows it: a different one for each fault, to see them all.
fn are_named_somewhere(planted: &[&'static Fault]) {
    let drawn: Vec<_> = Method::ALL
        .into_iter()
        .flat_map(|method| Weights::ALL.map(|weights| (method, weights)))
        .map(|(method, weights)| (method, weights, problems(weights, long(method, weights, 128))))
        .collect();
    let known: Vec<(Weights, Vec<Known>)> = drawn
        .iter()
        .map(|(method, weights, problems)| {
            (*weights, problems.iter().map(|drawn| Known::new(*method, drawn)).collect())
        })
        .collect();
    let outcomes = planted.par_iter().enumerate().map(|(i, fault)| {
        let mut last: Option<Outcome> = None;
        for at in 0..known.len() {
            let (weights, known) = &known[(i + at) % known.len()];
            let outcome = outcome(fault, *weights, known);
            let is_done = outcome.mark == '=' || !outcome.wrong.is_empty();
            if outcome.mark != '.' || last.is_none() {
                last = Some(outcome);
            }
            if is_done {
                break;
            }
        }
        last.expect("a method")
    });
    // With so few positions some lengths are the same as others.
    let outcomes: Vec<Outcome> = outcomes.collect();
    assert_eq!(misnamed(&outcomes), "");
    check_names(&outcomes, "", planted, "=~");
}

/// One in twenty, as they are listed. Of chunks and tiles, these are the lengths up to 64; longer ones differ in nothing else.
#[test]
fn one_gradient_fault_in_twenty_is_named_somewhere() {
    are_named_somewhere(&up_to(64).into_iter().step_by(20).collect::<Vec<_>>());
}

#[test]
#[ignore = "one fault in twenty is planted in `cargo test`: .ci/long"]
fn every_gradient_fault_is_named_somewhere() {
    are_named_somewhere(&up_to(64));
}

#[test]
#[ignore = "minutes of computing: every fault in every method: .ci/long"]
fn every_planted_gradient_fault_is_named_first() {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for method in Method::ALL {
        for weights in Weights::ALL {
            let problems = problems(weights, long(method, weights, 4096));
            let known: Vec<Known> = problems.iter().map(|drawn| Known::new(method, drawn)).collect();
            for known in &known {
                let sound = noisy(&known.want, &mut generator("sound"));
                assert!(known.judged(&sound).is_empty(), "{method} {weights}: sound gradients fail");
            }
            outcomes.par_extend(catalogue::ALL.par_iter().map(|fault| outcome(fault, weights, &known)));
        }
    }
    let mut matrix = confusion_matrix(&outcomes);
    // A name may be wrong on one problem and right on the next, which is what the matrix has.
    write!(matrix, "\nunder another name, or none, on some problem:\n{}", misnamed(&outcomes)).unwrap();
    check_names(&outcomes, &matrix, &up_to(1024), "=");
    // The whole chunks of 2048 in 4095 positions are the first one, and in 4097 all but the last position.
    check_names(&outcomes, &matrix, &up_to(usize::MAX), "=~");
    insta::with_settings!({
        snapshot_path => "../../../golden",
        prepend_module_to_snapshot => false,
        description => "Faults planted in gradients, one method and weight type at a time.",
        omit_expression => true,
    }, { insta::assert_snapshot!("gradient-confusion-matrix", matrix) });
}

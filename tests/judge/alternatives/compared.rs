//! What a scan with a change computes is what the change says: each is compared with a plain scan ([`super::plain`]), which was
//! written from the sentences. It shares the data of the fault models, and of their code what decides at which places a change
//! holds and what is specified elsewhere (`Only`, `Variant::elsewhere`, `Variant::of_other_scan`).

use std::collections::BTreeMap;

use holdfast::judge::diagnose::{Alternative, alternatives};
use holdfast::judge::faults::around::Guarded;
use holdfast::judge::faults::only::{Every, Only};
use holdfast::judge::faults::scan;
use holdfast::judge::faults::variant::Variant;
use holdfast::method::Method;
use holdfast::problem::Problem;
use holdfast::tensor::TensorName;

use super::numbers::{PLACES, numbers};
use super::plain::plain;
use super::{LENGTH, problems};

/// How far apart two f64 computations of the same formula may be, relative to the largest number of their row.
const ROUNDING: f64 = 1e-11;

/// By method and name, how many alternatives there are.
type Counts = BTreeMap<(Method, String), usize>;

/// What has been compared.
#[derive(Default)]
struct Compared {
    /// How many scans agree or disagree.
    all: usize,
    /// Those that disagree.
    disagree: Counts,
    /// Those that are not modelled, by the field.
    left_out: BTreeMap<&'static str, usize>,
}

/// The first of the elements that disagree, and how many there are.
fn disagreement(want: &[f64], got: &[f64]) -> Option<(usize, usize)> {
    let finite = want.iter().chain(got).filter(|value| value.is_finite());
    let scale = finite.fold(0.0, |most: f64, value| most.max(value.abs()));
    let agrees = |i: &usize| {
        let (want, got) = (want[*i], got[*i]);
        want == got || want.is_nan() && got.is_nan() || (want - got).abs() <= ROUNDING * scale
    };
    let all: Vec<usize> = (0..got.len()).filter(|i| !agrees(i)).collect();
    Some((*all.first()?, all.len()))
}

/// In words, where the scan of a variant is not what it plainly is.
fn disagreements(variant: &Variant, problem: &Problem) -> Result<Vec<String>, &'static str> {
    let want = plain(variant, problem)?;
    let states = problem.shape.dstate * problem.weights.width();
    let mut all = Vec::new();
    for (row, channel) in problem.channels().enumerate() {
        let got = scan::channel(variant, problem, channel).tensors;
        let tensors = [
            (TensorName::Out, &want.out, problem.shape.seqlen),
            (TensorName::LastState, &want.last_state, states),
        ];
        for (name, want, length) in tensors {
            let Some(got) = got.get(name) else {
                all.push(format!("no {}", name.name()));
                continue;
            };
            let want = &want[row * length..][..length];
            if got.values.len() != length {
                all.push(format!("{} has {} numbers", name.name(), got.values.len()));
            } else if let Some((i, count)) = disagreement(want, &got.values) {
                let (name, want, got) = (name.name(), want[i], got.values[i]);
                all.push(format!(
                    "{name} {channel:?}[{i}], {count} of {length} | want {want:e} | got {got:e}"
                ));
            }
        }
    }
    Ok(all)
}

/// A variant, and what is said of it.
struct Said {
    name: String,
    what: String,
    variant: Variant,
}

impl Said {
    fn of(alternative: Alternative) -> Said {
        Said { name: alternative.name.clone(), what: alternative.what.clone(), variant: alternative.variant }
    }
}

/// Compares each of these, and prints where they disagree.
fn compare(compared: &mut Compared, (method, problem): &(Method, Problem), all: &[Said]) {
    let (before, mut disagreeing) = (compared.all, 0);
    for Said { name, what, variant } in all {
        match disagreements(variant, problem) {
            Err(field) => *compared.left_out.entry(field).or_default() += 1,
            Ok(lines) => {
                compared.all += 1;
                lines.iter().for_each(|line| println!("{method} | {name} | {what} | {line}"));
                if !lines.is_empty() {
                    disagreeing += 1;
                    *compared.disagree.entry((*method, name.clone())).or_default() += 1;
                }
            }
        }
    }
    println!("{method}: {} of {} compared, {disagreeing} disagree", compared.all - before, all.len());
}

impl Compared {
    /// All agree, none is left out, and they are this many at least.
    fn check(&self, least: usize) {
        assert_eq!(self.left_out, BTreeMap::new(), "fields that are left out");
        assert_eq!(self.disagree, BTreeMap::new(), "changes that compute something else");
        assert!(self.all > least, "{} have been compared", self.all);
    }
}

/// Of every method's alternatives one in so many, beginning with another one in each.
fn some_of(step: usize) -> impl Iterator<Item = ((Method, Problem), Vec<Alternative>)> {
    problems().into_iter().enumerate().map(move |(i, case)| {
        let all = alternatives(case.0, &case.1, LENGTH);
        (case, all.into_iter().skip(i % step).step_by(step).collect())
    })
}

fn alternatives_compute_what_their_sentences_say(step: usize) {
    let mut compared = Compared::default();
    for (case, all) in some_of(step) {
        compare(&mut compared, &case, &all.into_iter().map(Said::of).collect::<Vec<_>>());
    }
    compared.check(25_000 / step);
}

fn changes_at_some_places_leave_the_others_as_specified(step: usize) {
    let places = [
        (Only::Positions(Every::Of { length: 4, at: 1 }), "at positions 1 modulo 4"),
        (Only::Positions(Every::From(5)), "from position 5 on"),
        (Only::Reads(Every::Below(5)), "before position 5 as for reading states"),
        (Only::States(Every::one(1)), "in state 1"),
        (Only::Below(Guarded::Z, 0.2), "where |ΔA| is below 0.2"),
        (Only::Above(Guarded::Delta, 0.1), "where Δ is at least 0.1"),
    ];
    let mut compared = Compared::default();
    for (case, alternatives) in some_of(step) {
        let mut all = Vec::new();
        for alternative in alternatives {
            // A guard is a place of its own, and so is one of two scans.
            let is_everywhere = alternative.variant.other_below == f64::INFINITY;
            if !is_everywhere || alternative.variant.in_one_scan.is_some() {
                continue;
            }
            for (only, place) in places {
                let what = format!("{}, {place}", alternative.what);
                let variant = Variant { only, ..alternative.variant };
                all.push(Said { name: alternative.name.clone(), what, variant });
            }
        }
        compare(&mut compared, &case, &all);
    }
    compared.check(40_000 / step);
}

#[test]
fn one_in_forty_computes_what_its_sentence_says() {
    alternatives_compute_what_their_sentences_say(40);
}

#[test]
fn one_in_200_leaves_other_places_as_specified() {
    changes_at_some_places_leave_the_others_as_specified(200);
}

#[test]
#[ignore = "one in forty is compared in `cargo test`, one in 200 at some places: .ci/long"]
fn all_compute_what_their_sentences_say() {
    alternatives_compute_what_their_sentences_say(1);
    changes_at_some_places_leave_the_others_as_specified(1);
}

#[test]
fn numbers_that_are_found_mean_what_is_said_of_them() {
    let mut compared = Compared::default();
    for case in problems() {
        let all: Vec<Said> = numbers(case.1.weights)
            .chain(PLACES)
            .map(|(what, change)| {
                let mut variant = Variant::specified(case.0);
                change(&mut variant);
                Said { name: (*what).to_owned(), what: (*what).to_owned(), variant }
            })
            .collect();
        compare(&mut compared, &case, &all);
    }
    compared.check(300);
}

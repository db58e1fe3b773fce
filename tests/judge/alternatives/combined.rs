//! What is said of changes that have a number, hold somewhere only, or come in twos.

use std::collections::BTreeMap;

use holdfast::judge::diagnose::{Alternative, Work, alternatives, identify};
use holdfast::judge::faults::variant::Variant;
use holdfast::results::Diagnosis;
use holdfast::tensor::{Named, Tensors};
use rand::RngExt as _;
use rayon::prelude::*;
use rstest::rstest;

use super::numbers::{Change, PLACES, numbers};
use super::{LENGTH, problems};
use crate::figures::golden;
use crate::planting::Planting;
use crate::support::problems::generator;

/// What is planted: a sentence, and what comes of it.
pub struct Planted {
    pub what: String,
    pub got: Tensors<f64>,
}

/// Every third of them, so that each is tried on two problems.
fn alone(planting: &Planting, changes: impl Iterator<Item = &'static Change>, of: usize) -> Vec<Planted> {
    let changes = changes.skip(of % 3).step_by(3);
    let planted = |(what, change): &Change| {
        let mut variant = Variant::specified(planting.method);
        change(&mut variant);
        Planted { what: (*what).to_owned(), got: planting.got(&variant) }
    };
    changes.map(planted).collect()
}

/// Alternatives by their names: what differs in a place or a number alone counts once.
pub fn by_name(all: &[Alternative]) -> Vec<Vec<&Alternative>> {
    let mut names: BTreeMap<&str, Vec<&Alternative>> = BTreeMap::new();
    all.iter().for_each(|one| names.entry(&one.name).or_default().push(one));
    names.into_values().collect()
}

/// Two changes at random, each of which shows beside the other.
fn pairs(planting: &Planting, count: usize) -> Vec<Planted> {
    let mut rng = generator("two changes at random");
    let all = alternatives(planting.method, &planting.problem, LENGTH);
    let names = by_name(&all);
    let mut planted = Vec::new();
    while planted.len() < count {
        let [first, second] = [(); 2].map(|()| {
            let of = &names[rng.random_range(0..names.len())];
            of[rng.random_range(0..of.len())]
        });
        let mut variant = first.variant;
        second.change(&mut variant);
        let got = planting.got(&variant);
        let shows = |other: &Alternative| planting.got(&other.variant) != got;
        if shows(first) && shows(second) && !planting.failing(&got).is_empty() {
            planted.push(Planted { what: format!("{}; {}", first.what, second.what), got });
        }
    }
    planted
}

/// One change at random in the channels of a batch, or in every other channel, where all others are right.
fn in_some_channels(planting: &Planting, count: usize) -> Vec<Planted> {
    let mut rng = generator("a change in some channels");
    let all = alternatives(planting.method, &planting.problem, LENGTH);
    let names = by_name(&all);
    let right = planting.got(&Variant::specified(planting.method));
    let channels = planting.problem.judged_channels.len();
    let mut planted = Vec::new();
    while planted.len() < count {
        let of = &names[rng.random_range(0..names.len())];
        let one = of[rng.random_range(0..of.len())];
        let is_even = rng.random();
        let mut got = planting.got(&one.variant);
        for (name, tensor) in right.iter() {
            let row = tensor.values.len() / channels;
            for (i, right) in tensor.values.iter().enumerate() {
                let channel = i / row;
                let is_wrong = if is_even { channel % 2 == 1 } else { channel < channels / 2 };
                if !is_wrong {
                    got[name].values[i] = *right;
                }
            }
        }
        if !planting.failing(&got).is_empty() {
            let place = if is_even { "every other channel" } else { "the first half of the channels" };
            planted.push(Planted { what: format!("{}; in {place}", one.what), got });
        }
    }
    planted
}

/// What is said of it: at once, or after a longer search (»); and what that takes.
fn line(planting: &Planting, planted: &Planted) -> String {
    let failing = planting.failing(&planted.got);
    let sentence = |one: &Diagnosis| format!("{}: {}", one.name, one.what);
    let sentences = |found: &Named<Vec<Diagnosis>>| -> Vec<String> {
        found
            .iter()
            .filter_map(|(name, all)| all.first().map(|first| format!("{name}: {}", sentence(first))))
            .collect()
    };
    let work = Work::default();
    let at_once = planting.by_tensor(&planted.got, &failing, &work);
    let (mark, said) = match sentences(&at_once) {
        said if said.is_empty() => ("»", sentences(&identify(&planting.case(&planted.got, &work), &failing))),
        said => ("→", said),
    };
    format!("{} [{}]\n    {mark} {}\n", planted.what, work.done(), said.join("\n      "))
}

pub fn table(planting: &Planting, all: &[Planted]) -> String {
    all.par_iter().map(|planted| line(planting, planted)).collect()
}

#[rstest]
fn what_is_said_of_numbers_places_and_pairs_is_as_recorded(#[values(0, 1, 2, 3, 4, 5)] at: usize) {
    let description = "Changes to a scan with a number, at some places, and in twos, planted; what is said of each tensor at \
                       once (→) or after a longer search (»). In brackets how many positions × states that takes.";
    let (method, problem) = problems().swap_remove(at);
    let planting = Planting::new(method, problem);
    let mut all = alone(&planting, numbers(planting.problem.weights), at);
    all.extend(alone(&planting, PLACES.iter(), at));
    all.retain(|planted| !planting.failing(&planted.got).is_empty());
    all.extend(in_some_channels(&planting, 5));
    all.extend(pairs(&planting, 10));
    golden(&format!("combined-{method}"), description, &table(&planting, &all));
}

//! What is said of a scan that computes another method's step and is wrong in another way, too.

use holdfast::judge::diagnose::alternatives;
use holdfast::judge::faults::variant::Variant;
use holdfast::method::Method;
use holdfast::problem::Problem;
use holdfast::problem::conventions::Reads;
use rand::RngExt as _;
use rstest::rstest;

use super::combined::{Planted, by_name, table};
use super::{LENGTH, problems};
use crate::figures::golden;
use crate::planting::Planting;
use crate::support::problems::generator;

#[rstest]
fn what_is_said_of_other_methods_with_another_change_is_as_recorded(#[values(0, 1, 3, 5)] at: usize) {
    let (method, problem) = problems().swap_remove(at);
    is_as_recorded(&format!("other-forms-{method}"), method, problem);
}

/// What is read before the update is not put together of pieces: pairs are computed as a whole.
#[test]
fn what_is_said_of_them_where_states_are_read_before_the_update_is_as_recorded() {
    let (method, mut problem) = problems().swap_remove(5);
    problem.conventions.reads = Reads::BeforeUpdate;
    is_as_recorded("other-forms-before", method, problem);
}

fn is_as_recorded(name: &str, method: Method, problem: Problem) {
    let planting = Planting::new(method, problem);
    let mut rng = generator("other methods with another change");
    let mut planted = Vec::new();
    for other in Method::ALL.into_iter().filter(|other| *other != method) {
        let all = alternatives(other, &planting.problem, LENGTH);
        let names = by_name(&all);
        // Every other one with a factor on the readout: beside it, no pair alone holds.
        let factor = if planted.len().is_multiple_of(2) { 1.0 } else { 1.5 };
        let form = Variant { readout_factor: factor, ..Variant::specified(other) };
        let (change, got) = loop {
            let of = &names[rng.random_range(0..names.len())];
            let change = of[rng.random_range(0..of.len())];
            let mut variant = form;
            change.change(&mut variant);
            let got = planting.got(&variant);
            // It shows beside the other method.
            if got != planting.got(&form) && !planting.failing(&got).is_empty() {
                break (change, got);
            }
        };
        planted.push(Planted { what: format!("{other}; {}; readout × {factor}", change.what), got });
    }
    let description = "Changes to a scan that computes another method's step, planted; what is said of each tensor at once (→) or \
                       after a longer search (»). In brackets how many positions × states that takes.";
    golden(name, description, &table(&planting, &planted));
}

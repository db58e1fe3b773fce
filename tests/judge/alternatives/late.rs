//! What is said of what goes wrong late in a long sequence: looks that end early show nothing of it.

use holdfast::judge::diagnose::alternatives;
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Shape, Weights};
use rstest::rstest;

use super::combined::{Planted, by_name, table};
use crate::figures::golden;
use crate::planting::Planting;
use crate::support::problems::{Layout, generator};

/// Of chunks and blocks.
const LENGTH: usize = 100;

/// Positions that are right: more than a short look has.
const RIGHT: usize = 80;

#[rstest]
#[case(Method::Zoh, Weights::Real, (2, 3, 4, 201, 1))]
#[case(Method::Foh, Weights::Complex, (1, 4, 3, 180, 2))]
#[case(Method::Poly, Weights::Real, (2, 2, 2, 170, 1))]
fn what_is_said_of_what_goes_wrong_late_is_as_recorded(
    #[case] method: Method,
    #[case] weights: Weights,
    #[case] (batch, dim, dstate, seqlen, groups): (usize, usize, usize, usize, usize),
) {
    let shape = Shape { batch, dim, dstate, seqlen, groups };
    let (b, c, input) = (Operand::Variable, Operand::Variable, InputType::F32);
    let layout = Layout { shape, weights, input, b, c, gate: true, extras: true };
    let mut problem = layout.random(&mut generator("long sequences"));
    problem.judged_channels = problem.channels().collect();
    let planting = Planting::new(method, problem);
    // One change of every fifth name.
    let all = alternatives(method, &planting.problem, LENGTH);
    let planted: Vec<Planted> = by_name(&all)
        .iter()
        .step_by(5)
        .filter_map(|of| {
            let got = of.iter().map(|one| (one, planting.got(&one.variant)));
            let late = |got: &_| planting.first_failure(got).is_some_and(|first| first >= RIGHT);
            got.filter(|(_, got)| late(got)).map(|(one, got)| Planted { what: one.what.clone(), got }).next()
        })
        .collect();
    assert!(planted.len() >= 5, "{} go wrong late", planted.len());
    let description = "Changes to a scan of a long sequence that show late, planted; what is said of each tensor at once (→) or \
                       after a longer search (»). In brackets how many positions × states that takes.";
    golden(&format!("late-{method}"), description, &table(&planting, &planted));
}

//! Promise: causes are looked for within a budget, which changes no name.

use std::io::Cursor;

use holdfast::check::{self, Options};
use holdfast::judge::diagnose::Budget;
use holdfast::method::Method;
use holdfast::problem::Problem;
use holdfast::problem::recorded::Recording;
use holdfast::results::{CaseResult, Search, Verdict};
use holdfast::tensor::{ComputedName, GradientName};
use rstest::rstest;

use crate::backward::{self, plain, rounded};
use crate::conventions::truth;
use crate::support::problems::{Layout, generator};
use crate::written::{ComplexAs, File, named, single};

type Change = fn(&mut Problem);

pub fn problem() -> Problem {
    drawn(Layout::plain(2, 8, 3, 32))
}

/// Numbers enough for a search that explains nothing, which looks for everything.
fn small() -> Problem {
    drawn(Layout::plain(1, 3, 2, 16))
}

fn drawn(layout: Layout) -> Problem {
    Layout { gate: true, extras: true, ..layout }.random(&mut generator("a budget"))
}

pub fn outputs(problem: &Problem) -> [Vec<f32>; 2] {
    truth(problem, Method::Zoh.into()).map(|values| single(&values))
}

/// Outputs under these labels, each of a problem with a change.
fn recorded(problem: &Problem, all: &[(&str, Change)]) -> Recording<Cursor<Vec<u8>>> {
    let mut file = File::of(problem, ComplexAs::Trailing);
    for (label, change) in all {
        let mut changed = problem.clone();
        change(&mut changed);
        let [out, last] = outputs(&changed);
        file.add_output(problem, &format!("zoh.{label}"), &out, Some(&last), ComplexAs::Trailing);
    }
    file.recording()
}

pub fn checked(recording: &Recording<Cursor<Vec<u8>>>, diagnosis: Budget) -> Vec<CaseResult> {
    let options = Options { diagnosis, ..Options::EVERYTHING };
    check::check("run", "run", recording, &options, &|| ()).expect("a run").cases
}

fn names(case: &CaseResult) -> Vec<(ComputedName, Vec<&str>)> {
    let with = case.tensors.iter().filter_map(|(name, tensor)| tensor.diagnosis.first().map(|_| name));
    with.map(|name| (name, named(&case.tensors[name].diagnosis))).collect()
}

const NO_BIAS: Change = |problem| problem.delta_bias = None;
const NO_SKIP: Change = |problem| problem.d = None;
/// No mistake of this catalogue.
const NOISE: Change = |problem| {
    let spoil = |(i, u): (usize, &mut f32)| *u *= 1.0 + (i as f32 * 1.7).sin();
    problem.u.iter_mut().enumerate().for_each(spoil);
};

#[rstest]
#[case::of_a_model(problem(), NO_BIAS)]
#[case::of_two(problem(), |problem: &mut Problem| { NO_BIAS(problem); NO_SKIP(problem) })]
#[case::of_a_number(problem(), |problem: &mut Problem| problem.c.iter_mut().for_each(|c| *c *= 1.3))]
#[case::of_nothing(small(), NOISE)]
fn a_search_that_ends_early_names_what_a_whole_one_does_or_nothing(
    #[case] problem: Problem,
    #[case] change: Change,
) {
    let recording = recorded(&problem, &[("a", change)]);
    let whole = &checked(&recording, Budget::Thorough)[0];
    assert_eq!((whole.verdict, &whole.search), (Verdict::Fail, &None));
    for most in (0..24).step_by(3).map(|power| 1u64 << power) {
        let cut = &checked(&recording, Budget::Work(most))[0];
        assert_eq!(cut.verdict, Verdict::Fail);
        let said = names(cut);
        assert!(said.iter().all(|one| names(whole).contains(one)), "{most}: {said:?}, {:?}", names(whole));
        let is_whole = cut.search.is_none();
        assert!(is_whole || cut.search == Some(Search::Ended(format!("{most} units of work"))));
        assert!(!is_whole || said == names(whole), "{most}");
        // Searches that may take more are the same one.
        if is_whole {
            break;
        }
    }
    let none = &checked(&recording, Budget::Work(0))[0];
    assert!(names(none).is_empty() && none.search.is_some());
}

/// A backward pass of another method, with one gradient that nothing explains.
#[test]
fn a_search_in_gradients_that_ends_early_names_what_a_whole_one_does_or_nothing() {
    let (problem, given) = plain();
    let mut gradients = rounded(&problem, &given, Method::Foh);
    let spoil = |(i, value): (usize, &mut f32)| *value *= 1.0 + (i as f32 * 1.7).sin();
    gradients[GradientName::C].values.iter_mut().enumerate().for_each(spoil);
    let file = backward::recorded((&problem, &given), "zoh", &gradients, ComplexAs::Trailing);
    let whole = &checked(&file.recording(), Budget::Thorough)[0];
    assert!(whole.search.is_none() && !names(whole).is_empty());
    let cut = |most: u64| checked(&file.recording(), Budget::Work(most)).remove(0);
    // Ends with the first whole one, of which those that may take more are repetitions.
    let mut all: Vec<CaseResult> = Vec::new();
    let mut most = (6..32).step_by(2).map(|power| 1 << power);
    while all.last().is_none_or(|cut| cut.search.is_some()) {
        all.push(cut(most.next().expect("it is whole at last")));
    }
    for cut in &all {
        assert!(names(cut).iter().all(|one| names(whole).contains(one)), "{:?}", names(cut));
        assert!(cut.search.is_some() || names(cut) == names(whole));
    }
    assert!(names(&all[0]).is_empty() && all.len() > 4);
}

#[test]
fn two_of_cases_that_fail_alike_are_searched() {
    let recording = recorded(&problem(), &[("a", NO_BIAS), ("b", NO_BIAS), ("c", NO_BIAS), ("d", NO_SKIP)]);
    let cases = checked(&recording, Budget::Work(u64::MAX));
    let [a, b, c, d] = &cases[..] else { panic!("{}", cases.len()) };
    for case in [a, b, d] {
        assert!(!case.diagnosis.is_empty() && case.search.is_none(), "{}", case.id);
    }
    assert_eq!((&c.search, names(c).len()), (&Some(Search::As(a.id.clone())), 0));
    assert!(checked(&recording, Budget::Thorough).iter().all(|case| case.search.is_none()));

    // A failure without a cause is searched each time: another case may show it. So is what has another one, however alike it looks.
    let recording = recorded(&small(), &[("a", NOISE), ("b", NOISE), ("c", NOISE)]);
    let cases = checked(&recording, Budget::Work(u64::MAX));
    assert!(cases.iter().all(|case| case.diagnosis.is_empty()));
    assert_eq!(cases.map_search(), [None, None, None]);
    let other: Change = |problem| problem.delta_bias.iter_mut().flatten().for_each(|bias| *bias *= 2.0);
    let recording = recorded(&problem(), &[("a", NO_BIAS), ("b", NO_BIAS), ("c", other)]);
    let cases = checked(&recording, Budget::Work(u64::MAX));
    assert_eq!(cases.map_search(), [None, None, None]);
    assert_ne!(names(&cases[2]), names(&cases[0]));
}

trait Searches {
    fn map_search(&self) -> Vec<Option<Search>>;
}

impl Searches for Vec<CaseResult> {
    fn map_search(&self) -> Vec<Option<Search>> {
        self.iter().map(|case| case.search.clone()).collect()
    }
}

#[rstest]
#[case("10", Some(Budget::USUAL))]
#[case("off", Some(Budget::Off))]
#[case("thorough", Some(Budget::Thorough))]
#[case("0", None)]
#[case("-1", None)]
#[case("nan", None)]
#[case("1e30", None)]
#[case("long", None)]
fn a_budget_is_seconds_or_a_word(#[case] text: &str, #[case] budget: Option<Budget>) {
    assert_eq!(text.parse().ok(), budget);
    assert!(budget.is_none_or(|budget| budget.to_string() == text));
}

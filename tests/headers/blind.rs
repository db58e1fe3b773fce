//! Promise: of headers that somebody wrote without having seen the diagnosis, each faulty one gets its cause, where it is and
//! only there, and each right one passes. `cases.txt` of each set has the author's own words for every cause.
//!
//! Compiling them takes minutes, so that they are run on request: `.ci/long blind`.

use holdfast::kernel::foreign::Header;
use holdfast::method::Method::{self, Foh, HighOrder, Poly};
use holdfast::problem::plan::Filter;
use holdfast::problem::{InputType, Operand, Weights, regime};
use holdfast::results::{Verdict, causes};
use holdfast::verify::Request;
use rstest::rstest;

use crate::cases::{self, Case, SETS};
use crate::fixtures::{compiled, header, path};
use crate::support::run::verify;

/// What the headers are judged on.
const REGIMES: [&str; 5] = ["short", "trained-delta", "tiny-z", "zero-a", "growing"];

#[rstest]
#[ignore = "compiles 185 headers: minutes"]
fn the_cause_is_said_where_it_is(
    #[values(
        "blind",
        "blind_second",
        "blind_third",
        "blind_fourth",
        "blind_fifth",
        "blind_sixth",
        "blind_seventh",
        "blind_eighth"
    )]
    set: &str,
) {
    let wrong: Vec<String> = cases::of(set).into_iter().filter_map(|case| held(case).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is said otherwise than the case has it.
fn held(case: Case) -> Result<(), String> {
    let name = case.header.shown();
    let causes = causes(case.header, case.weights, &REGIMES, [&Operand::ALL; 2]);
    let failing: Vec<(Method, Weights)> = causes.iter().map(|(place, _)| *place).collect();
    if failing != case.at_fault {
        return Err(format!("{name}: fails at {failing:?}"));
    }
    let says = |texts: &[String], part: &str| texts.iter().any(|text| text.contains(part));
    let unnamed = causes.iter().filter(|(_, texts)| texts.is_empty()).count();
    let some = case.said.iter().find(|part| !causes.iter().any(|(_, texts)| says(texts, part)));
    let each = case.said_of_each.iter().find(|part| !causes.iter().all(|(_, texts)| says(texts, part)));
    match some.or(each) {
        Some(part) => Err(format!("{name}: {part}: {causes:?}")),
        None if unnamed != case.unnamed => Err(format!("{name}: {unnamed} unnamed: {causes:?}")),
        None => Ok(()),
    }
}

/// Every change of every header fits its base, and every faulty header has its words and what is said of it.
#[test]
fn the_headers_of_every_set_can_be_made() {
    let sets = SETS.map(cases::of);
    assert_eq!(sets.each_ref().map(Vec::len), [25, 25, 10, 25, 25, 25, 25, 25]);
    let all = sets.iter().flatten();
    let said = |case: &&Case| case.said.len() + case.said_of_each.len() > 0;
    assert!(all.clone().all(|case| said(&case) != case.at_fault.is_empty()));
    assert_eq!(all.filter(said).count(), 149);
}

/// The second one cancels at hard places alone, where no case shows it.
#[rstest]
#[case("naive", "coefficients/real axis/real/foh", Foh)]
#[ignore = "a header compiled for this alone: .ci/long"]
#[case("blind_seventh/c03", "coefficients/hard complex places/complex/highorder", HighOrder)]
fn what_cancels_in_a_sweep_has_lost_its_digits(#[case] name: &str, #[case] id: &str, #[case] method: Method) {
    let (methods, only) = (vec![method], Some([id.to_owned()].into()));
    let request = Request { methods, only, sensitivity: false, ..Request::everything(1) };
    let results = verify(&request, header(name).as_ref());
    let [sweep] = &results.coefficients[..] else { panic!("{:?}", results.coefficients) };
    let names: Vec<&str> = sweep.diagnosis.iter().map(|one| &one.name[..]).collect();
    assert_eq!((sweep.verdict, &names[..]), (Verdict::Fail, &["lost-digits"][..]));
}

/// One header with a limit, two of them, a factor, and the length of a series: numbers that are found, in the specified formula.
#[test]
fn numbers_in_the_specified_formula_are_found() {
    let header = Header::read(&path("found")).expect("a header");
    let regimes = ["short", "trained-delta", "zero-a", "growing"];
    let causes = causes(header, None, &regimes, [&[Operand::Variable]; 2]);
    // Poly's real weights alone are right.
    let every = Method::ALL.into_iter().flat_map(|method| Weights::ALL.map(|weights| (method, weights)));
    let at_fault: Vec<_> = every.filter(|place| *place != (Poly, Weights::Real)).collect();
    assert_eq!(causes.iter().map(|(place, _)| *place).collect::<Vec<_>>(), at_fault);
    assert!(causes.iter().all(|(_, texts)| !texts.is_empty()), "{causes:?}");
    let texts: Vec<&String> = causes.iter().flat_map(|(_, texts)| texts).collect();
    let said = [
        "Ā is taken with Re z held at 0 where Re z > 0",
        "Ā is taken with Δ held at 0.001 where Δ < 0.001",
        "B̄ is taken with Δ held at 0.1 (not in Δu) where Δ > 0.1",
        "Ā is the specified one with 0.97·z in the place of z",
        "B̄ is Δφ₁ (cut after its term in z¹⁸) + ½Δ²φ₂ (cut after its term in z¹⁷) where |Re z| < 1.75",
        "B̄ is taken with Re z held at -10 where Re z < -10",
        "Ā is taken with |Im z| held at 3 where |Im z| > 3",
        "B̄ is taken with Re z held at 0 where Re z > 0",
        "b-bar-formula: B̄ is NaN where z = 0",
    ];
    for part in said {
        assert!(texts.iter().any(|text| text.contains(part)), "{part}: {texts:?}");
    }
}

/// What is said of each method and type of weights that fails.
fn causes(
    header: Header,
    weights: Option<Weights>,
    regimes: &[&str],
    layouts: [&[Operand]; 2],
) -> Vec<((Method, Weights), Vec<String>)> {
    let regimes = regimes.iter().map(|name| regime::find(name).expect("a regime")).collect();
    let (inputs, weights) = (vec![InputType::F32], weights.into_iter().collect());
    let [b, c] = layouts.map(<[Operand]>::to_vec);
    let filter = Filter { regimes, inputs, weights, b, c };
    let request = Request { filter, sensitivity: false, ..Request::everything(1) };
    let results = verify(&request, &compiled(header));
    let causes = causes::of(&results);
    assert_eq!(results.verdict() == Verdict::Pass, causes.is_empty());
    let said = |cause: &causes::Cause| {
        let texts = cause.found.iter().map(|(found, _)| format!("{}: {}", found.name, found.what)).collect();
        Some(((cause.method.method()?, cause.weights), texts))
    };
    causes.iter().filter_map(said).collect()
}

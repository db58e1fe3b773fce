//! Promise: a failure is named. Every fault that the kernels list is planted in a copy of them, for every method and weight type; where it
//! shows it must be named as the record has it. `cargo test` looks at each fault in one method, `.ci/long` in all.

use std::collections::BTreeMap;
use std::iter;

use holdfast::judge::coefficient;
use holdfast::judge::diagnose::{Case, Work, sweep};
use holdfast::judge::explain::explained;
use holdfast::kernel::{Backend, CpuBackend};
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{CoefficientProblem, InputType, Operand, Weights, sweep as sweeps};
use holdfast::promise::Contract;
use holdfast::report::console;
use holdfast::report::html::confusion::{RecordedFault, record};
use holdfast::results::{Diagnosis, Verdict};
use holdfast::truth;
use holdfast::verify::Request;
use rayon::prelude::*;

use crate::cases::{crossed, each};
use crate::solved::{Kind, Run, Solved, solve};
use crate::support::run::verify;

/// Cut off outputs are no fault of f32 kernels: they are planted in what these return.
const CUT_OFF: &str = "store-truncated";

/// Faults in the kernels' order, but for `none` and those of no size that a bug has.
fn faults() -> Vec<&'static str> {
    let all = (1..).map_while(CpuBackend::fault_name);
    all.filter(|name| !SMALL.contains(name) && *name != CUT_OFF).chain(iter::once(CUT_OFF)).collect()
}

/// Ā or B̄ off by 2⁻¹⁸ of itself.
const SMALL: [&str; 2] = ["a-bar-2e-18", "b-bar-2e-18"];

/// Work after which nothing more is looked for: some seconds.
const WORK: u64 = 60_000_000;

fn run(fault: &str, solved: &Solved) -> Option<Run> {
    let is_narrow = solved.problem.input != InputType::F32;
    match (fault == CUT_OFF, is_narrow) {
        (true, true) => Some(solved.run_cut_off()),
        (false, false) => Some(solved.run(&planted(fault))),
        _ => None,
    }
}

fn planted(fault: &str) -> CpuBackend {
    CpuBackend::with_faults(fault, None).expect("in the kernels' list")
}

/// Diagnoses of the first failing tensor that is named.
fn said(solved: &Solved, run: &Run) -> Vec<Diagnosis> {
    let work = Work::default().up_to(WORK);
    let case = Case { work: &work, ..solved.case(run) };
    explained(&case, &run.failing).values().find(|found| !found.is_empty()).cloned().unwrap_or_default()
}

/// A method with each weight type.
fn cells() -> Vec<(Method, Weights)> {
    crossed(Method::ALL, Weights::ALL).into_iter().collect()
}

/// Each fault in every cell in which it fails a problem, the first such problem; its name is looked for everywhere, or in one of the cells
/// in which a record has one.
fn named(
    record: Option<&[RecordedFault]>,
) -> Vec<(&'static str, BTreeMap<(Method, Weights), Option<String>>)> {
    let problems: BTreeMap<(Method, Weights), Vec<Solved>> = cells()
        .into_iter()
        .map(|(method, weights)| {
            let kinds = Kind::ALL.into_iter().chain(Kind::NARROW);
            ((method, weights), kinds.map(|kind| solve(kind, weights, method)).collect())
        })
        .collect();
    for solved in problems.values().flatten() {
        assert_eq!(
            solved.run(&CpuBackend::new()).verdict,
            Verdict::Pass,
            "{} {:?}",
            solved.method,
            solved.kind
        );
    }
    let of_fault = |(number, fault): (usize, &'static str)| {
        let shown = problems.iter().filter_map(|(cell, problems)| {
            let mut runs = problems.iter().filter_map(|solved| Some((solved, run(fault, solved)?)));
            Some((*cell, runs.find(|(_, run)| run.verdict == Verdict::Fail)?))
        });
        let shown: Vec<_> = shown.collect();
        let is_named = |cell: &(Method, Weights)| {
            let marks: String = record?[number].marks.concat();
            let at = cells().iter().position(|other| other == cell)?;
            Some(marks.as_bytes()[at] == b'=')
        };
        let of_record: Vec<usize> =
            (0..shown.len()).filter(|at| is_named(&shown[*at].0) == Some(true)).collect();
        let turn = of_record.get(number % of_record.len().max(1)).copied();
        let name = |(at, (cell, (solved, run))): (usize, &((Method, Weights), (&Solved, Run)))| {
            let asked = record.is_none() || Some(at) == turn;
            let name =
                asked.then(|| said(solved, run).first().map_or_else(String::new, |one| one.name.clone()));
            (*cell, name)
        };
        (fault, shown.iter().enumerate().map(name).collect())
    };
    faults().into_par_iter().enumerate().map(of_fault).collect()
}

#[test]
fn every_planted_fault_is_caught_and_named_as_recorded() {
    let record = record();
    let found = named(Some(&record));
    assert_eq!(found.len(), record.len());
    for ((fault, cells), recorded) in found.iter().zip(&record) {
        assert_eq!(*fault, recorded.fault);
        let marks: String = recorded.marks.concat();
        for ((cell, mark), at) in self::cells().iter().zip(marks.chars()).zip(0..) {
            assert_eq!(cells.contains_key(cell), mark != '.', "{fault} in cell {at}");
        }
        // Cells are named by turns of those that the record has a name in.
        let asked: Vec<&String> = cells.values().flatten().collect();
        let is_recorded = |name: &&String| recorded.named.iter().any(|(known, _)| known == *name);
        assert_eq!(asked.len(), usize::from(marks.contains('=')), "{fault}");
        assert!(asked.iter().all(is_recorded), "{fault}: {asked:?}, recorded {:?}", recorded.named);
    }
}

/// A cause of each is known but for a few, which the record shows.
#[test]
fn most_planted_faults_have_a_name() {
    let marks = || record().into_iter().flat_map(|row| row.marks.concat().chars().collect::<Vec<_>>());
    let (named, unnamed) = (marks().filter(|c| *c == '=').count(), marks().filter(|c| *c == '?').count());
    assert!(named > 1000 && unnamed * 50 < named, "{named} and {unnamed}");
}

#[test]
#[ignore = "names each fault in every cell, in minutes: .ci/long"]
fn every_planted_fault_is_named_everywhere() {
    let row = |(fault, cells): (&str, BTreeMap<(Method, Weights), Option<String>>)| {
        let mark = |cell| match cells.get(&cell) {
            None => '.',
            Some(Some(name)) if !name.is_empty() => '=',
            Some(_) => '?',
        };
        let marks =
            Method::ALL.map(|method| Weights::ALL.map(|weights| mark((method, weights))).iter().collect());
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for name in cells.values().flatten() {
            *names.entry(if name.is_empty() { "(nothing)" } else { name }).or_default() += 1;
        }
        let named = names.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        serde_json::to_string(&RecordedFault { fault: fault.to_owned(), marks, named }).expect("JSON")
    };
    let rows: Vec<String> = named(None).into_iter().map(row).collect();
    insta::with_settings!({
        snapshot_path => "../../golden",
        prepend_module_to_snapshot => false,
        description => "Faults planted in the kernels' CPU build, one method and weight type at a time.",
        omit_expression => true,
    }, { insta::assert_binary_snapshot!("fault-catalogue.json", format!("[\n{}\n]\n", rows.join(",\n")).into_bytes()) });
}

/// Two at once, as a careless kernel might have them.
#[test]
fn two_planted_faults_are_both_named() {
    let cases: [(Method, [&str; 2], &str); 3] = [
        (Method::Foh, ["phi-taylor-3", "bias-missing"], "phi-taylor-3 + bias-missing"),
        (
            Method::Bilinear,
            ["bilinear-a-bar-swapped", "skip-missing"],
            "exponent-negated-in-a-bar + skip-missing",
        ),
        // Of two groups the other one is that of the remainder, too.
        (Method::Rk4, ["group-modulo", "gate-missing"], "gate-missing + b-and-c-of-another-group"),
    ];
    each(cases, |(method, [first, second], names): (Method, [&str; 2], &str)| {
        let solved = solve(Kind::Full, Weights::Real, method);
        let backend = CpuBackend::with_faults(first, Some(second)).expect("in the kernels' list");
        let run = solved.run(&backend);
        assert_eq!(run.verdict, Verdict::Fail);
        let found = said(&solved, &run);
        assert_eq!(found.first().map_or("", |one| &one.name), names, "{found:?}");
    });
}

/// A factor that is off by very little is said as that number, or not at all: any other name would be false.
#[test]
fn what_is_off_by_very_little_gets_no_other_name() {
    each(crossed([0, 1], Method::ALL), |(which, method): (usize, Method)| {
        let solved = solve(Kind::Plain, Weights::Real, method);
        let run = solved.run(&planted(SMALL[which]));
        let found = if run.verdict == Verdict::Fail { said(&solved, &run) } else { Vec::new() };
        assert!(found.iter().all(|one| one.name.ends_with("-scaled")), "{found:?}");
    });
}

/// The first sweep of these weights: the kernels' whole range of z.
fn swept(weights: Weights) -> CoefficientProblem {
    sweeps::all().into_iter().find(|s| s.weights == weights).expect("one for each weight type").draw(1)
}

/// The verdict on a sweep, and what is said of it.
fn of_sweep(backend: &CpuBackend, method: Method, problem: &CoefficientProblem) -> (Verdict, Vec<Diagnosis>) {
    let want = truth::coefficient::solve(method, problem).expect("certified");
    let got = backend.coefficients(method, problem).expect("runs");
    let (got, want) = ((&got.a_bar[..], &got.b_bar[..]), (&want.a_bar[..], &want.b_bar[..]));
    let verdict = coefficient::judge(method, problem, got, want, &Contract::PRODUCTION).verdict;
    let found = if verdict == Verdict::Fail {
        sweep::diagnose(method, problem, got, want, &Work::default())
    } else {
        Vec::new()
    };
    (verdict, found)
}

/// Ā and B̄ by themselves show what is wrong with them, by the names that scans have.
#[test]
fn a_failing_sweep_is_named() {
    let cases: [(&str, Method, Weights, &str); 11] = [
        ("poly-causal", Method::Poly, Weights::Complex, ""),
        ("phi-taylor-4", Method::Foh, Weights::Complex, "phi-taylor-4"),
        ("runs-as-zoh", Method::Rk4, Weights::Complex, "runs-as-zoh"),
        ("runs-as-poly", Method::HighOrder, Weights::Real, "runs-as-poly"),
        ("log2e-twice-imaginary", Method::Zoh, Weights::Complex, "log2e-twice-imaginary"),
        ("base-2", Method::HighOrder, Weights::Real, "base-2"),
        ("bilinear-swapped", Method::Bilinear, Weights::Complex, "exponent-negated"),
        ("bilinear-inverse-only-a-bar", Method::Bilinear, Weights::Real, "bilinear-inverse-only-a-bar"),
        ("b-bar-delta-missing", Method::Poly, Weights::Real, "b-bar-delta-missing"),
        ("b-conjugated", Method::Rk4, Weights::Complex, "b-conjugated"),
        ("b-bar-2e-18", Method::Zoh, Weights::Real, ""),
    ];
    each(cases, |(fault, method, weights, name): (&str, Method, Weights, &str)| {
        let (verdict, found) = of_sweep(&planted(fault), method, &swept(weights));
        assert_eq!(found.first().map_or("", |one| &one.name), name, "{found:?}");
        assert_eq!(verdict == Verdict::Pass, fault == "poly-causal");
    });
}

#[test]
fn a_failing_run_reports_the_names() {
    let filter = Filter {
        weights: vec![Weights::Real],
        inputs: vec![InputType::F32],
        b: vec![Operand::Constant],
        c: vec![Operand::Constant],
        ..Filter::default()
    };
    let methods = vec![Method::Zoh, Method::Bilinear];
    let request = Request { filter, methods, ..Request::everything(1) };
    let results = verify(&request, &planted("bilinear-inverse-only-a-bar"));
    for case in &results.cases {
        assert!(case.verdict == Verdict::Pass || case.method == Method::Bilinear, "{}", case.id);
        assert!(case.verdict == Verdict::Fail || case.diagnosis.is_empty(), "{}", case.id);
    }
    let cases = results.cases.iter().flat_map(|case| case.diagnosis.first());
    let sweeps = results.coefficients.iter().filter(|one| one.verdict == Verdict::Fail);
    assert!(sweeps.clone().count() >= 6);
    let first: Vec<&str> =
        cases.chain(sweeps.map(|one| one.diagnosis.first().expect("named"))).map(|one| &*one.name).collect();
    assert!(first.len() >= 12, "{first:?}");
    // Where |ΔA| is tiny both compute the same, to within rounding.
    let is_it = |name: &&&str| ["bilinear-inverse-only-a-bar", "runs-as-zoh"].contains(*name);
    assert_eq!(first.iter().filter(is_it).count(), first.len(), "{first:?}");
    assert!(first.iter().filter(|name| **name == "runs-as-zoh").count() <= 2, "{first:?}");
    let text = console::render(&results, None, false);
    assert!(text.contains("looks like bilinear-inverse-only-a-bar"), "{text}");
}

//! Promise: a failing coefficient sweep is named. Every fault model that Ā and B̄ can show is planted in the kernels,
//! for every method and weight type that it applies to.

use std::collections::BTreeSet;

use holdfast::judge::coefficient;
use holdfast::judge::diagnose::sweep::diagnose;
use holdfast::judge::faults::Fault;
use holdfast::judge::faults::catalogue::{self, Entry};
use holdfast::kernel::{Backend, CpuBackend};
use holdfast::method::Method;
use holdfast::problem::plan::Filter;
use holdfast::problem::{CoefficientProblem, InputType, Operand, Weights, sweep};
use holdfast::promise::Contract;
use holdfast::report::console;
use holdfast::results::{Diagnosis, Verdict};
use holdfast::truth;
use holdfast::truth::coefficient::CoefficientTruth;
use holdfast::verify::Request;
use rayon::prelude::*;

use crate::cases::each;
use crate::support::run::verify;

/// The first sweep of these weights: the kernels' whole range of z.
fn problem(weights: Weights) -> CoefficientProblem {
    sweep::all().into_iter().find(|s| s.weights == weights).expect("one for each weight type").draw(1)
}

fn found(
    backend: &CpuBackend,
    method: Method,
    problem: &CoefficientProblem,
    want: &CoefficientTruth,
) -> (Verdict, Vec<Diagnosis>) {
    let got = backend.coefficients(method, problem).expect("runs");
    let (got, want) = ((&got.a_bar[..], &got.b_bar[..]), (&want.a_bar[..], &want.b_bar[..]));
    let verdict = coefficient::judge(method, problem, got, want, &Contract::PRODUCTION).verdict;
    (verdict, if verdict == Verdict::Fail { diagnose(method, problem, got, want) } else { Vec::new() })
}

/// Named first; or, where the scan alone would tell two models apart, among those that fit equally well.
fn is_named(name: &str, found: &[Diagnosis]) -> bool {
    let best = found.first().map_or(f64::NAN, |d| d.residual);
    found.iter().any(|d| d.name == name && d.residual <= best * (1.0 + 1e-6))
}

/// Of each type of weights every fault in one method that shows it, by turns, or in all.
fn is_named_where_it_shows(everywhere: bool) {
    let shows = |entry: &Entry, method: Method, weights| {
        entry.fault.applies_to(method) && entry.fault.shows_in_coefficients(weights)
    };
    let is_its_turn = |i: usize, method, weights| {
        let of_it = || Method::ALL.into_iter().filter(|method| shows(&catalogue::ALL[i], *method, weights));
        everywhere || of_it().nth(i % of_it().count()) == Some(method)
    };
    each([Weights::Real, Weights::Complex], |weights: Weights| {
        let problem = problem(weights);
        for method in Method::ALL {
            let want = truth::coefficient::solve(method, &problem).expect("certified");
            let healthy = found(&CpuBackend::new(), method, &problem, &want);
            assert_eq!(healthy, (Verdict::Pass, Vec::new()));
            let entries = catalogue::ALL.iter().enumerate().filter(|(_, e)| shows(e, method, weights));
            let entries: Vec<_> = entries.collect();
            assert!(entries.len() > 20, "{method}: {}", entries.len());
            entries.par_iter().filter(|(i, _)| is_its_turn(*i, method, weights)).for_each(|(_, entry)| {
                let backend =
                    CpuBackend::with_faults(entry.name, None).expect("the kernels list every model");
                let (verdict, found) = found(&backend, method, &problem, &want);
                assert_eq!(verdict, Verdict::Fail, "{} in {method}", entry.name);
                assert!(is_named(entry.name, &found), "{} in {method} {weights}: {found:?}", entry.name);
            });
        }
    });
}

#[test]
fn every_fault_that_coefficients_show_is_named_in_one_method() {
    is_named_where_it_shows(false);
}

#[test]
#[ignore = "`cargo test` plants each fault in one method: .ci/long"]
fn every_fault_that_coefficients_show_is_named() {
    is_named_where_it_shows(true);
}

/// What the scan's part of the catalogue is about leaves Ā and B̄ as they are: nothing to name, nothing named.
#[test]
fn faults_of_the_scan_alone_pass_a_sweep() {
    let problem = problem(Weights::Complex);
    let want = truth::coefficient::solve(Method::Poly, &problem).expect("certified");
    let hidden = |e: &&catalogue::Entry| {
        e.fault.applies_to(Method::Poly)
            && !matches!(e.fault, Fault::RunsAs(_))
            && !e.fault.shows_in_coefficients(Weights::Complex)
    };
    let names: BTreeSet<&str> = catalogue::ALL.iter().filter(hidden).map(|e| e.name).collect();
    assert!(names.len() > 30 && names.contains("poly-causal"));
    for name in names {
        let backend = CpuBackend::with_faults(name, None).expect("the kernels list every model");
        assert_eq!(found(&backend, Method::Poly, &problem, &want).0, Verdict::Pass, "{name}");
    }
}

/// A form that reads two inputs has the same coefficients, summed, as one that reads one.
#[test]
fn forms_that_read_two_inputs_go_by_the_name_of_their_sum() {
    let cases: [(&str, &str); 2] =
        [("runs-as-foh-textbook", "runs-as-zoh-exact"), ("runs-as-bilinear-averaged", "runs-as-bilinear")];
    each(cases, |(fault, name)| {
        let problem = problem(Weights::Complex);
        let want = truth::coefficient::solve(Method::Zoh, &problem).expect("certified");
        let backend = CpuBackend::with_faults(fault, None).expect("the kernels list every model");
        let (verdict, found) = found(&backend, Method::Zoh, &problem, &want);
        assert_eq!((verdict, found[0].name.as_str()), (Verdict::Fail, name), "{found:?}");
    });
}

#[test]
fn a_fault_that_shows_in_coefficients_comes_first() {
    let cases: [(&str, Method); 4] = [
        ("phi-taylor-4", Method::Foh),
        ("runs-as-zoh", Method::Rk4),
        ("runs-as-poly", Method::HighOrder),
        ("log2e-twice-imaginary", Method::Zoh),
    ];
    each(cases, |(fault, method)| {
        let problem = problem(Weights::Complex);
        let want = truth::coefficient::solve(method, &problem).expect("certified");
        let backend = CpuBackend::with_faults(fault, None).expect("in the kernels' list");
        let (verdict, found) = found(&backend, method, &problem, &want);
        assert_eq!(verdict, Verdict::Fail);
        assert_eq!(found.first().map(|d| d.name.as_str()), Some(fault), "{found:?}");
    });
}

#[test]
fn pairs_are_named() {
    let cases: [(Method, &str, &str); 3] = [
        (Method::Zoh, "log2e-twice", "b-twice"),
        (Method::Bilinear, "bilinear-a-bar-swapped", "b-bar-delta-doubled"),
        (Method::HighOrder, "phi-taylor-3", "base-2"),
    ];
    each(cases, |(method, first, second)| {
        let problem = problem(Weights::Real);
        let want = truth::coefficient::solve(method, &problem).expect("certified");
        let backend = CpuBackend::with_faults(first, Some(second)).expect("in the kernels' list");
        let (_, found) = found(&backend, method, &problem, &want);
        let names: BTreeSet<&str> = found.first().expect("named").name.split(" + ").collect();
        assert_eq!(names, BTreeSet::from([first, second]), "{found:?}");
    });
}

/// A wrong name would be worse than none.
#[test]
fn what_no_model_explains_gets_no_name() {
    each([0, 1], |which: usize| {
        let (fault, _) = catalogue::NOT_NAMED[which];
        for weights in Weights::ALL {
            let problem = problem(weights);
            for method in Method::ALL {
                let want = truth::coefficient::solve(method, &problem).expect("certified");
                let backend = CpuBackend::with_faults(fault, None).expect("in the kernels' list");
                assert_eq!(found(&backend, method, &problem, &want), (Verdict::Fail, Vec::new()), "{method}");
            }
        }
    });
}

#[test]
fn a_failing_run_reports_what_its_sweeps_look_like() {
    let backend = CpuBackend::with_faults("bilinear-inverse-only-a-bar", None).expect("in the list");
    let request = Request {
        filter: Filter {
            weights: vec![Weights::Real],
            inputs: vec![InputType::F32],
            b: vec![Operand::Constant],
            c: vec![Operand::Constant],
            ..Filter::default()
        },
        methods: vec![Method::Bilinear],
        ..Request::everything(1)
    };
    let mut results = verify(&request, &backend);
    assert_eq!(results.coefficients.len(), 6);
    for sweep in &results.coefficients {
        let first = sweep.diagnosis.first().map(|d| d.name.as_str());
        assert_eq!(first, Some("bilinear-inverse-only-a-bar"), "{}", sweep.sweep);
    }
    results.cases.clear();
    let text = console::render(&results, None, false);
    assert!(text.contains("looks like bilinear-inverse-only-a-bar"), "{text}");
}

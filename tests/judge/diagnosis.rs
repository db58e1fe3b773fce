//! Promise: a failure is named. Every fault model is planted in the kernels, for every method and weight type that
//! it applies to; each must fail its case and be named first. Pairs must fail always and be named in most.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

use holdfast::judge::diagnose::{Effort, Models, by_tensor, diagnose};
use holdfast::judge::faults::Fault;
use holdfast::judge::faults::catalogue::{self, Entry};
use holdfast::judge::faults::recorded::RecordedFault;
use holdfast::kernel::CpuBackend;
use holdfast::method::Method;
use holdfast::problem::plan::{Filter, plan};
use holdfast::problem::{InputType, Operand, Weights, regime};
use holdfast::report::console;
use holdfast::results::{Diagnosis, Verdict};
use holdfast::tensor::{Tensor, TensorName};
use holdfast::verify::Request;
use rayon::prelude::*;

use crate::cases::{crossed, each};
use crate::solved::{Kind, Run, Solved, solve};
use crate::support::run::verify;

fn planted(name: &str, second: Option<&str>) -> CpuBackend {
    CpuBackend::with_faults(name, second).expect("the kernels list every model")
}

/// What became of one fault, planted in one method.
struct Outcome {
    fault: &'static str,
    method: Method,
    weights: Weights,
    /// The problem that it shows on first, and its diagnosis there; `None` if it shows on none.
    shown: Option<(Kind, Vec<Diagnosis>)>,
}

impl Outcome {
    fn first_name(&self) -> Option<&str> {
        self.shown.as_ref()?.1.first().map(|diagnosis| diagnosis.name.as_str())
    }

    /// `=` named first, `x` another name, `?` no name, `-` not caught.
    fn mark(&self) -> char {
        match (&self.shown, self.first_name()) {
            (None, _) => '-',
            (_, None) => '?',
            (_, Some(name)) if name == self.fault => '=',
            _ => 'x',
        }
    }
}

/// A method on every problem, with its fault models.
fn prepared(method: Method, weights: Weights) -> Vec<(Solved, Models)> {
    let solved = Kind::ALL.into_iter().chain(Kind::NARROW).map(|kind| solve(kind, weights, method));
    solved.map(|s| (Models::compute(method, &s.problem), s)).map(|(m, s)| (s, m)).collect()
}

/// The fault planted: in a copy of the kernels, or, if it is one of 16-bit storage, in what they return.
fn run_planted(entry: &Entry, solved: &Solved) -> Run {
    match entry.fault {
        Fault::StoreTruncated => solved.run_cut_off(),
        _ => solved.run(&planted(entry.name, None)),
    }
}

/// Whether the fault can be planted in the problem and show there.
fn applies(entry: &Entry, solved: &Solved) -> bool {
    let narrow = solved.problem.input != InputType::F32;
    narrow == (entry.fault == Fault::StoreTruncated) && entry.fault.applies(solved.method, &solved.problem)
}

fn first_failing<'a>(
    problems: &'a [(Solved, Models)],
    entry: &Entry,
) -> Option<(&'a Solved, &'a Models, Run)> {
    let applying = problems.iter().filter(|(solved, _)| applies(entry, solved));
    let mut runs = applying.map(|(solved, models)| (solved, models, run_planted(entry, solved)));
    runs.find(|(_, _, run)| run.verdict == Verdict::Fail)
}

fn outcomes(method: Method, weights: Weights) -> Vec<Outcome> {
    let problems = prepared(method, weights);
    for (solved, _) in &problems {
        assert_eq!(
            solved.run(&CpuBackend::new()).verdict,
            Verdict::Pass,
            "{method} {weights} {:?}",
            solved.kind
        );
    }
    let outcome = |entry: &'static Entry| {
        let shown = first_failing(&problems, entry).map(|(solved, models, run)| {
            (solved.kind, diagnose(&solved.case(&run), models, Effort::default()))
        });
        Outcome { fault: entry.name, method, weights, shown }
    };
    let shows = |entry: &&Entry| problems.iter().any(|(solved, _)| applies(entry, solved));
    catalogue::ALL.par_iter().filter(|entry| shows(entry)).map(outcome).collect()
}

/// One line for each fault, one column for each method with a mark for real and one for complex weights.
fn confusion_matrix(outcomes: &[Outcome]) -> String {
    let mut text = format!("{:34}", "planted");
    Method::ALL.iter().for_each(|method| write!(text, "{method:>10}").unwrap());
    text.push_str("  named first\n");
    for entry in catalogue::ALL.iter() {
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        write!(text, "{:34}", entry.name).unwrap();
        for method in Method::ALL {
            let mut marks = String::new();
            for weights in Weights::ALL {
                let cell = |o: &&Outcome| (o.fault, o.method, o.weights) == (entry.name, method, weights);
                let outcome = outcomes.iter().find(cell);
                marks.push(outcome.map_or('.', Outcome::mark));
                if let Some(outcome) = outcome {
                    *names.entry(outcome.first_name().unwrap_or("(nothing)")).or_default() += 1;
                }
            }
            write!(text, "{marks:>10}").unwrap();
        }
        let names: Vec<String> = names.iter().map(|(name, count)| format!("{name} {count}")).collect();
        writeln!(text, "  {}", names.join(", ")).unwrap();
    }
    let count = |mark| outcomes.iter().filter(|o| o.mark() == mark).count();
    writeln!(
        text,
        "\n{} faults, {} planted: {} named first (=), {} under another name (x), {} unnamed (?), {} not caught (-); \
         a dot where a fault does not apply",
        catalogue::ALL.len(),
        outcomes.len(),
        count('='),
        count('x'),
        count('?'),
        count('-'),
    )
    .unwrap();
    text
}

/// The same for machines: the report's page shows it. One line for each fault.
fn confusion_data(outcomes: &[Outcome]) -> String {
    let mut rows = Vec::new();
    for entry in catalogue::ALL.iter() {
        let of_fault = || outcomes.iter().filter(|o| o.fault == entry.name);
        let mut named: BTreeMap<&str, usize> = BTreeMap::new();
        of_fault().for_each(|o| *named.entry(o.first_name().unwrap_or("(nothing)")).or_default() += 1);
        let marks = Method::ALL.map(|method| {
            let mark =
                |weights| of_fault().find(|o| (o.method, o.weights) == (method, weights)).map(Outcome::mark);
            Weights::ALL.map(|weights| mark(weights).unwrap_or('.')).into_iter().collect()
        });
        let named = named.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        let row = RecordedFault { fault: entry.name.to_owned(), marks, named };
        rows.push(serde_json::to_string(&row).unwrap());
    }
    format!("[\n{}\n]\n", rows.join(",\n"))
}

fn golden(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => "../../golden",
        prepend_module_to_snapshot => false,
        description => "Faults planted in the kernels' CPU build, one method and weight type at a time.",
        omit_expression => true,
    }, { insta::assert_snapshot!(name, text) });
}

#[test]
fn every_planted_fault_is_caught_and_named_first() {
    let start = Instant::now();
    let mut all = Vec::new();
    for method in Method::ALL {
        for weights in Weights::ALL {
            all.extend(outcomes(method, weights));
        }
    }
    println!("{} faults planted and diagnosed in {:.1?}", all.len(), start.elapsed());
    let matrix = confusion_matrix(&all);
    for entry in catalogue::ALL.iter() {
        assert!(all.iter().any(|o| o.fault == entry.name), "{} is planted nowhere", entry.name);
    }
    let wrong: Vec<String> = all
        .iter()
        .filter(|o| o.mark() != '=')
        .map(|o| format!("{} in {} {}: {:?}", o.fault, o.method, o.weights, o.shown))
        .collect();
    assert!(wrong.is_empty(), "{matrix}\n{}", wrong.join("\n"));
    golden("confusion-matrix", &matrix);
    insta::with_settings!({
        snapshot_path => "../../golden",
        prepend_module_to_snapshot => false,
        description => "Faults planted in the kernels' CPU build, one method and weight type at a time.",
        omit_expression => true,
    }, { insta::assert_binary_snapshot!("fault-catalogue.json", confusion_data(&all).into_bytes()) });
}

/// Pairs that a careless kernel might have at once.
const PAIRS: &[(Method, Weights, &str, &str)] = &[
    (Method::Zoh, Weights::Real, "log2e-twice", "skip-missing"),
    (Method::Zoh, Weights::Complex, "log2e-twice-real", "real-part-once"),
    (Method::Zoh, Weights::Complex, "b-conjugated", "gate-missing"),
    (Method::Zoh, Weights::Real, "b-twice", "softplus-missing"),
    (Method::Zoh, Weights::Real, "step-delta-doubled", "tail-8-ignored"),
    (Method::Zoh, Weights::Complex, "group-modulo", "skip-doubled"),
    (Method::Zoh, Weights::Real, "runs-as-foh", "chunk-512-state-lost"),
    (Method::Foh, Weights::Real, "phi-taylor-3", "bias-missing"),
    (Method::Foh, Weights::Complex, "phi-taylor-4", "base-2-real"),
    (Method::Foh, Weights::Real, "runs-as-zoh-exact", "last-element-ignored"),
    (Method::Foh, Weights::Complex, "b-missing", "imaginary-part"),
    (Method::Foh, Weights::Real, "b-bar-delta-missing", "gate-doubled"),
    (Method::Foh, Weights::Complex, "runs-as-foh-textbook", "skip-missing"),
    (Method::Bilinear, Weights::Real, "bilinear-swapped", "gate-sigmoid-only"),
    (Method::Bilinear, Weights::Complex, "bilinear-inverse-only-a-bar", "b-conjugated"),
    (Method::Bilinear, Weights::Real, "bilinear-a-bar-swapped", "skip-missing"),
    (Method::Bilinear, Weights::Real, "a-bar-of-zoh", "bias-after-softplus"),
    (Method::Bilinear, Weights::Complex, "runs-as-zoh", "real-part-once"),
    (Method::Bilinear, Weights::Real, "delta-at-most-0.1", "gate-before-skip"),
    (Method::Poly, Weights::Real, "poly-causal", "poly-half-missing"),
    (Method::Poly, Weights::Real, "poly-summed", "skip-doubled"),
    (Method::Poly, Weights::Complex, "poly-backward-only", "log2e-twice-imaginary"),
    (Method::Poly, Weights::Real, "poly-without-half-foh", "poly-reversed-off-by-one"),
    (Method::Poly, Weights::Complex, "poly-reversed-a-bar-off-by-one", "b-twice"),
    (Method::Poly, Weights::Real, "gate-before-average", "poly-half-extra"),
    (Method::Poly, Weights::Real, "skip-before-average", "gate-doubled"),
    (Method::Poly, Weights::Complex, "phi-taylor-2", "tail-4-ignored"),
    (Method::HighOrder, Weights::Real, "highorder-n1", "log2e-twice"),
    (Method::HighOrder, Weights::Complex, "highorder-n0", "b-conjugated"),
    (Method::HighOrder, Weights::Real, "highorder-without-factorials", "softplus-above-1"),
    (Method::HighOrder, Weights::Real, "inverse-delta-extra", "delta-at-most-1"),
    (Method::HighOrder, Weights::Complex, "u-missing-in-higher-terms", "c-transposed"),
    (Method::HighOrder, Weights::Real, "phi-taylor-5", "b-transposed"),
    (Method::Rk4, Weights::Real, "rk4-outer-products", "skip-missing"),
    (Method::Rk4, Weights::Complex, "rk4-outer-products", "real-part-once"),
    (Method::Rk4, Weights::Real, "runs-as-zoh", "group-modulo"),
    (Method::Rk4, Weights::Real, "runs-as-rk4-classical", "gate-missing"),
    (Method::Rk4, Weights::Complex, "phi-taylor-3", "base-2"),
    (Method::Rk4, Weights::Real, "u-missing-in-higher-terms", "tail-16-ignored"),
    (Method::Rk4, Weights::Complex, "a-bar-delta-missing", "b-transposed"),
];

#[test]
fn mixed_pairs_are_always_caught_and_named_in_most() {
    let start = Instant::now();
    // A method that has none of its own has one of what any can have.
    let own = |method: &Method| PAIRS.iter().any(|pair| pair.0 == *method);
    let others = Method::ALL.into_iter().filter(|method| !own(method));
    let others = others.map(|method| (method, Weights::Real, "step-delta-doubled", "skip-missing"));
    let lines: Vec<(bool, String)> = PAIRS
        .iter()
        .copied()
        .chain(others)
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|(method, weights, first, second)| {
            let entries = [first, second].map(|name| catalogue::find(name).expect("in the catalogue"));
            // The first problem on which both can show.
            let mut kinds = Kind::ALL.into_iter().map(|kind| solve(kind, weights, method));
            let solved = kinds.find(|s| entries.iter().all(|entry| s.shows(entry))).unwrap_or_else(|| {
                panic!("no problem shows both {first} and {second} in {method} {weights}")
            });
            let run = solved.run(&planted(first, Some(second)));
            assert_eq!(run.verdict, Verdict::Fail, "{first} and {second} in {method}");
            let models = Models::compute(method, &solved.problem);
            let found = diagnose(&solved.case(&run), &models, Effort::default());
            let best = found.first().map_or("(nothing)", |d| d.name.as_str()).to_owned();
            let named = [format!("{first} + {second}"), format!("{second} + {first}")].contains(&best);
            let says = if named { "named" } else { best.as_str() };
            (named, format!("{method:10}{weights:8} {:65} {says}", format!("{first} + {second}")))
        })
        .collect();
    println!("{} pairs in {:.1?}", lines.len(), start.elapsed());
    let named = lines.iter().filter(|(named, _)| *named).count();
    let text: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    let text = format!("{}\n\n{} pairs, all caught, {named} named", text.join("\n"), lines.len());
    assert!(named * 10 >= lines.len() * 8, "{text}");
    golden("confusion-pairs", &text);
}

/// A wrong name would be worse than none.
#[test]
fn what_no_model_explains_gets_no_name() {
    each([0, 1], |which: usize| {
        let (fault, _) = catalogue::NOT_NAMED[which];
        for method in Method::ALL {
            for (weights, kind) in [(Weights::Real, Kind::Plain), (Weights::Complex, Kind::Full)] {
                let solved = solve(kind, weights, method);
                let run = solved.run(&planted(fault, None));
                if run.verdict == Verdict::Fail {
                    let models = Models::compute(method, &solved.problem);
                    let found = diagnose(&solved.case(&run), &models, Effort::default());
                    assert!(found.is_empty(), "{fault} in {method} {weights} {kind:?}: {found:?}");
                }
            }
        }
    });
}

/// One fault in several methods, on more problems than the first that shows it.
#[test]
fn a_fault_is_named_on_every_problem_that_shows_it() {
    let cases: [(&str, Method); 6] = [
        ("phi-taylor-4", Method::Foh),
        ("runs-as-zoh", Method::Rk4),
        ("runs-as-highorder", Method::Poly),
        ("runs-as-poly", Method::HighOrder),
        ("log2e-twice-imaginary", Method::Zoh),
        ("log2e-twice-imaginary", Method::Poly),
    ];
    each(
        crossed(crossed(cases, [Weights::Real, Weights::Complex]), [Kind::Plain, Kind::Full]),
        |(((fault, method), weights), kind): ((_, Weights), Kind)| {
            let solved = solve(kind, weights, method);
            let run = solved.run(&planted(fault, None));
            if fault == "log2e-twice-imaginary" && weights == Weights::Real {
                assert_eq!(run.verdict, Verdict::Pass);
                return;
            }
            assert_eq!(run.verdict, Verdict::Fail);
            let found =
                diagnose(&solved.case(&run), &Models::compute(method, &solved.problem), Effort::default());
            assert_eq!(found.first().map(|d| d.name.as_str()), Some(fault), "{found:?}");
        },
    );
}

/// Outputs rounded to 16 bits tell as much: what zoh returns, recorded under rk4.
#[test]
fn a_method_that_ran_as_another_is_named_for_every_input_type() {
    each(
        crossed([InputType::F32, InputType::F16, InputType::Bf16], [Weights::Real, Weights::Complex]),
        |(input, weights): (InputType, Weights)| {
            let filter = Filter {
                regimes: regime::all()
                    .iter()
                    .filter(|r| ["short", "everything-on"].contains(&r.name.as_str()))
                    .collect(),
                weights: vec![weights],
                inputs: vec![input],
                ..Filter::default()
            };
            for spec in plan(&filter) {
                let solved = Solved::of(Kind::Full, spec.draw(1), Method::Rk4);
                let run = solved.run_as(Method::Zoh, &CpuBackend::new());
                assert_eq!(run.verdict, Verdict::Fail, "{}", spec.id());
                let models = Models::compute(Method::Rk4, &solved.problem);
                let found = diagnose(&solved.case(&run), &models, Effort::default());
                assert_eq!(
                    found.first().map(|d| d.name.as_str()),
                    Some("runs-as-zoh"),
                    "{}: {found:?}",
                    spec.id()
                );
            }
        },
    );
}

/// A last state that nothing explains hides nothing of what is wrong with the output, and the other way round.
#[test]
fn each_tensor_is_explained_on_its_own() {
    each([Weights::Real, Weights::Complex], |weights: Weights| {
        let solved = solve(Kind::Full, weights, Method::Rk4);
        let (wrong, right) = (solved.run_as(Method::Zoh, &CpuBackend::new()), solved.run(&CpuBackend::new()));
        let models = Models::compute(Method::Rk4, &solved.problem);
        let names = |run: &Run, failing: &[TensorName]| {
            let found = by_tensor(&solved.case(run), failing, &models, Effort::SINGLE);
            found.map(|_, models| models.first().map(|model| model.name.clone()))
        };
        let named = |name: &str| Some(name.to_owned());
        let garbage =
            |tensor: &Tensor<f64>| tensor.with(tensor.values.iter().map(|x| 3.0 * x + 1.0).collect());
        for (keep, other) in
            [(TensorName::Out, TensorName::LastState), (TensorName::LastState, TensorName::Out)]
        {
            // One tensor of the wrong method, the other one right, or nothing that has a name.
            let mut mixed = Run { tensors: right.tensors.clone(), verdict: Verdict::Fail };
            mixed.tensors[keep] = wrong.tensors[keep].clone();
            assert_eq!(names(&mixed, &[keep])[keep], named("runs-as-zoh"), "{keep}");
            mixed.tensors[other] = garbage(&right.tensors[other]);
            let found = names(&mixed, &[keep, other]);
            assert_eq!((&found[keep], &found[other]), (&named("runs-as-zoh"), &None), "{keep}");
        }
        let found = names(&wrong, &TensorName::SCANNED);
        assert!(found.values().all(|name| *name == named("runs-as-zoh")), "{found:?}");
    });
}

/// Kernels of the Mamba family keep a constant B out of the state: their outputs are right, their last states are not.
#[test]
fn a_state_without_b_is_named_for_the_last_state_alone() {
    let filter = Filter {
        regimes: vec![regime::find("short").expect("in the table")],
        inputs: vec![InputType::F32],
        ..Filter::default()
    };
    let request = Request { filter, sensitivity: false, ..Request::everything(1) };
    let results = verify(&request, &planted("state-without-b", None));
    let mut named = 0;
    for case in &results.cases {
        let (out, last_state) = (&case.tensors[TensorName::Out], &case.tensors[TensorName::LastState]);
        let expected = if case.b == Operand::Constant { Verdict::Fail } else { Verdict::Pass };
        assert_eq!((out.verdict, last_state.verdict), (Verdict::Pass, expected), "{}", case.id);
        assert!(out.diagnosis.is_empty() && case.verdict == expected, "{}", case.id);
        if let Some(model) = last_state.diagnosis.first() {
            assert_eq!(model.name, "state-without-b", "{}", case.id);
            assert_eq!(case.diagnosis.first().map(|first| &first.name), Some(&model.name), "{}", case.id);
            named += 1;
        }
    }
    assert!(named >= Method::ALL.len(), "{named}");
    let text = console::render(&results, None, false);
    assert!(text.contains("out passes; last_state fails: state-without-b"), "{text}");
}

/// Faults of the last state alone: the outputs pass, in one chunk and in two.
#[test]
fn a_wrong_last_state_is_named_and_no_output() {
    each(
        crossed(
            crossed(["last-state-one-chunk-early", "last-state-doubled"], [Kind::Full, Kind::Long]),
            [Weights::Real, Weights::Complex],
        ),
        |((fault, kind), weights): ((&str, Kind), Weights)| {
            for method in Method::ALL {
                let solved = solve(kind, weights, method);
                let (run, right) = (solved.run(&planted(fault, None)), solved.run(&CpuBackend::new()));
                let same = |name| run.tensors[name] == right.tensors[name];
                assert!(same(TensorName::Out) && !same(TensorName::LastState), "{method}");
                assert_eq!(run.verdict, Verdict::Fail, "{method}");
                let models = Models::compute(method, &solved.problem);
                let found =
                    by_tensor(&solved.case(&run), &[TensorName::LastState], &models, Effort::default());
                let first = found[TensorName::LastState].first().map(|model| model.name.as_str());
                assert_eq!(first, Some(fault), "{method}: {found:?}");
            }
        },
    );
}

/// A rounding to the other side of what is stored: a fault of both 16-bit types, and of no other.
#[test]
fn outputs_that_are_cut_off_are_named() {
    each(
        crossed([InputType::F16, InputType::Bf16], [Weights::Real, Weights::Complex]),
        |(input, weights): (InputType, Weights)| {
            for method in Method::ALL {
                let solved = solve(Kind::Narrow(input), weights, method);
                let run = solved.run_cut_off();
                assert_eq!(run.verdict, Verdict::Fail, "{method}");
                let models = Models::compute(method, &solved.problem);
                let found = diagnose(&solved.case(&run), &models, Effort::default());
                assert_eq!(
                    found.first().map(|d| d.name.as_str()),
                    Some("store-truncated"),
                    "{method}: {found:?}"
                );
                let right = solved.run(&CpuBackend::new());
                assert_eq!(right.verdict, Verdict::Pass, "{method}");
            }
        },
    );
}

#[test]
fn a_failing_run_reports_the_names() {
    let filter = Filter {
        regimes: regime::all()
            .iter()
            .filter(|r| ["short", "n1", "groups"].contains(&r.name.as_str()))
            .collect(),
        inputs: vec![InputType::F32],
        ..Filter::default()
    };
    let request = Request { filter, ..Request::everything(1) };
    let results = verify(&request, &planted("bilinear-inverse-only-a-bar", None));
    for case in &results.cases {
        assert_eq!(case.verdict == Verdict::Fail, case.method == Method::Bilinear, "{}", case.id);
        assert!(case.verdict == Verdict::Fail || case.diagnosis.is_empty(), "{}", case.id);
    }
    let first: Vec<&str> =
        results.cases.iter().filter_map(|c| c.diagnosis.first()).map(|d| d.name.as_str()).collect();
    assert!(first.len() >= 6, "{first:?}");
    assert!(first.iter().all(|name| *name == "bilinear-inverse-only-a-bar"), "{first:?}");
    let text = console::render(&results, None, false);
    assert!(text.contains("looks like bilinear-inverse-only-a-bar"), "{text}");
}

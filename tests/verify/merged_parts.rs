//! Promise: the parts of one plan, merged, are the undivided run, however they were divided; and nothing else is merged.

use std::fs;
use std::path::Path;

use holdfast::judge::diagnose::Budget;
use holdfast::kernel::{Backend, Coefficients, CpuBackend, KernelError, ReferenceBackend};
use holdfast::method::Method;
use holdfast::parts::{self, Divisible, Part, PartError, PartRun, State, merge, status};
use holdfast::problem::plan::Filter;
use holdfast::problem::{CoefficientProblem, InputType, Problem, Weights};
use holdfast::promise::Promise;
use holdfast::report::console;
use holdfast::results::{Results, Verdict};
use holdfast::tensor::Tensors;
use holdfast::verify::part::Divided;
use holdfast::verify::{Known, Plan, Request};
use rstest::rstest;

use crate::support::run::{known, verify};

/// Cases and sweeps of two methods, and invariants of one: of each some.
fn request(more_seeds: Vec<u64>) -> Request {
    let filter = Filter { weights: vec![Weights::Real], inputs: vec![InputType::F32], ..Filter::default() };
    let all = Request {
        filter,
        methods: vec![Method::Zoh, Method::Rk4],
        sensitivity: more_seeds.is_empty(),
        more_seeds,
        ..Request::everything(1)
    };
    let is_one = |id: &String| {
        let some = ["short/", "l1/", "n1/", "groups/", "coefficients/real axis/", "coefficients/real roots/"];
        some.iter().any(|begin| id.starts_with(begin)) || id.starts_with("invariant/") && id.ends_with("/rk4")
    };
    let only = all.plan(faulty().promise()).into_iter().filter(is_one).collect();
    Request { only: Some(only), ..all }
}

/// The kernels with a fault in rk4: something to explain.
fn faulty() -> CpuBackend {
    CpuBackend::with_faults("runs-as-zoh", None).expect("in the list")
}

fn run(
    request: &Request,
    backend: &dyn Backend,
    (number, of): (usize, usize),
    folder: &Path,
) -> Result<PartRun, PartError> {
    let plan = Plan::new(request, backend);
    let divided = Divided { plan: &plan, known: known(), header: None };
    parts::run(&divided, &divided.part(Part { number, of }), folder, &|_| {})
}

fn same(merged: &Results, whole: &Results) {
    let text = |results: &Results| format!("{results:?}");
    assert_eq!(text(merged), text(whole));
    // Page and tables are made of these values alone.
    assert_eq!(console::render(merged, None, false), console::render(whole, None, false));
}

#[rstest]
#[case(3, vec![])]
#[case(5, vec![3, 2])]
fn merged_parts_are_the_undivided_run(#[case] of: usize, #[case] more_seeds: Vec<u64>) {
    let (request, backend) = (request(more_seeds), faulty());
    let whole = verify(&request, &backend);
    assert_eq!(whole.verdict(), Verdict::Fail);
    assert!(whole.cases.iter().any(|case| !case.diagnosis.is_empty()));
    let folders: Vec<tempfile::TempDir> = (0..of).map(|_| tempfile::tempdir().expect("a folder")).collect();
    for (at, folder) in folders.iter().enumerate() {
        let part = run(&request, &backend, (at + 1, of), folder.path()).expect("run");
        assert_eq!(part.before, 0);
    }
    let mut places: Vec<_> = folders.iter().map(|folder| folder.path().to_owned()).collect();
    same(&merge(&places).expect("all parts of one plan"), &whole);
    places.reverse();
    // What is named twice counts once.
    places.push(places[0].clone());
    same(&merge(&places).expect("all parts of one plan"), &whole);
}

/// The seeds of a plan are folded: of each item the worst one is shown, and all that did not pass are named.
#[test]
fn of_several_seeds_the_worst_is_shown() {
    let backend = faulty();
    let of = |seed, more_seeds| {
        let diagnosis = Budget::Off;
        let request = Request { seed, sensitivity: false, diagnosis, ..request(more_seeds) };
        verify(&request, &backend)
    };
    let several = of(1, vec![2, 3]);
    let alone = [1, 2, 3].map(|seed| of(seed, vec![]));
    assert_eq!(several.seeds, [1, 2, 3]);
    for case in &several.cases {
        let seeds = case.seeds.as_ref().expect("of several");
        let of_each =
            alone.each_ref().map(|run| run.cases.iter().find(|one| one.id == case.id).expect("in each"));
        let failed: Vec<u64> = (1..)
            .zip(of_each)
            .filter(|(_, one)| one.verdict == Verdict::Fail)
            .map(|(seed, _)| seed)
            .collect();
        assert_eq!((seeds.judged, &seeds.failed), (3, &failed), "{}", case.id);
        let ratio =
            |case: &holdfast::results::CaseResult| case.worst.as_ref().map_or(0.0, |worst| worst.ratio);
        let worst = of_each.map(ratio).into_iter().fold(0.0, f64::max);
        assert!(failed.is_empty() || ratio(case) == worst, "{}", case.id);
        assert!(case.rerun.contains(&format!("--seed {}", seeds.shown)), "{}", case.rerun);
        assert_eq!(case.verdict, of_each.map(|one| one.verdict).into_iter().max().expect("three"));
    }
    let pairs = |f: fn(&Results) -> usize| alone.iter().map(f).sum::<usize>();
    assert_eq!(several.pairs.agree, pairs(|run| run.pairs.agree));
    assert_eq!(several.pairs.failing(), pairs(|run| run.pairs.failing()));
}

/// The CPU's kernels, on another machine.
struct Other {
    cpu: CpuBackend,
    what: &'static str,
}

impl Other {
    /// The same but for its `source`, its `device`, or its `outputs`.
    fn of(what: &'static str) -> Self {
        Other { cpu: CpuBackend::new(), what }
    }
}

impl Backend for Other {
    fn name(&self) -> &'static str {
        self.cpu.name()
    }
    fn device(&self) -> String {
        if self.what == "device" { "another one".to_owned() } else { self.cpu.device() }
    }
    fn source(&self) -> String {
        if self.what == "source" { "another one".to_owned() } else { self.cpu.source() }
    }
    fn promise(&self) -> Promise {
        self.cpu.promise()
    }
    fn scan(&self, method: Method, problem: &Problem) -> Result<Tensors<f32>, KernelError> {
        if self.what == "outputs" {
            ReferenceBackend.scan(method, problem)
        } else {
            self.cpu.scan(method, problem)
        }
    }
    fn coefficients(&self, method: Method, p: &CoefficientProblem) -> Result<Coefficients, KernelError> {
        self.cpu.coefficients(method, p)
    }
}

/// A small plan that passes.
fn small(seed: u64) -> Request {
    let filter = Filter {
        regimes: ["l1", "short"]
            .iter()
            .map(|name| holdfast::problem::regime::find(name).expect("there"))
            .collect(),
        weights: vec![Weights::Real],
        ..Filter::default()
    };
    Request { filter, methods: vec![Method::Zoh], ..Request::everything(seed) }
}

#[test]
fn what_is_missing_is_named_and_other_runs_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (folder, backend) = (folder.path(), CpuBackend::new());
    let places = [folder.to_owned()];
    assert!(matches!(merge(&places), Err(PartError::NoParts { .. })));
    run(&small(1), &backend, (1, 2), folder).expect("run");
    let error = merge(&places).expect_err("a part is missing").to_string();
    assert!(error.contains("part 2 of 2 is not finished") && error.contains("--partition 2/2"), "{error}");
    // Another run into the same folder, and one beside it.
    let refused = |what: &str, request: &Request, backend: &dyn Backend, part| {
        let error = run(request, backend, part, folder).map(drop).expect_err("of another run");
        assert!(matches!(&error, PartError::Other { what: found, .. } if *found == what), "{error}");
        let beside = tempfile::tempdir().expect("a folder");
        run(request, backend, part, beside.path()).expect("run");
        let error = merge(&[folder.to_owned(), beside.path().to_owned()]).expect_err("of another run");
        assert!(matches!(&error, PartError::Other { what: found, .. } if *found == what), "{error}");
    };
    refused("seed", &small(2), &backend, (2, 2));
    refused("backend", &small(1), &ReferenceBackend, (2, 2));
    refused("kernel source", &small(1), &Other::of("source"), (2, 2));
    refused("device", &small(1), &Other::of("device"), (2, 2));
    refused("number of parts", &small(1), &backend, (2, 3));
    let other_plan = Request { command: "holdfast verify --method zoh".to_owned(), ..small(1) };
    refused("command", &other_plan, &backend, (2, 2));
    refused("plan", &Request { methods: vec![Method::Foh], ..small(1) }, &backend, (2, 2));
    run(&small(1), &backend, (2, 2), folder).expect("run");
    same(&merge(&places).expect("complete"), &verify(&small(1), &backend));
}

/// No part has more to do than its share and one unit.
#[test]
fn parts_cost_about_the_same() {
    let backend = CpuBackend::new();
    let plan = Plan::new(&Request::everything(1), &backend);
    let divided = Divided { plan: &plan, known: &Known::default(), header: None };
    let head = divided.part(Part { number: 1, of: 8 });
    let shares = head.shares();
    let loads: Vec<u64> =
        shares.iter().map(|units| units.iter().map(|&unit| head.cost(unit)).sum()).collect();
    let largest = (0..head.count()).map(|unit| head.cost(unit)).max().expect("units");
    let share = loads.iter().sum::<u64>() / 8;
    assert!(loads.iter().all(|load| load.abs_diff(share) <= largest), "{loads:?}");
    let mut all: Vec<usize> = shares.concat();
    all.sort_unstable();
    assert_eq!(all, (0..plan.len()).collect::<Vec<_>>());
}

/// The file of the only part in a folder.
fn file(folder: &Path) -> std::path::PathBuf {
    fs::read_dir(folder).expect("there").next().expect("a file").expect("readable").path()
}

/// A process may be killed at any byte: what is cut off is done again, and nothing twice.
#[test]
fn a_file_that_ends_anywhere_is_gone_on_with() {
    let (request, backend) = (small(1), CpuBackend::new());
    let whole = verify(&request, &backend);
    let complete = tempfile::tempdir().expect("a folder");
    let all = run(&request, &backend, (1, 1), complete.path()).expect("run").units;
    let bytes = fs::read(file(complete.path())).expect("readable");
    let mut before = Vec::new();
    for cut in (0..bytes.len()).step_by(bytes.len() / 12).chain([bytes.len() - 1]) {
        let folder = tempfile::tempdir().expect("a folder");
        let name = file(complete.path()).file_name().expect("a name").to_owned();
        fs::write(folder.path().join(name), &bytes[..cut]).expect("written");
        let part = run(&request, &backend, (1, 1), folder.path()).expect("gone on with");
        assert_eq!(part.units, all);
        before.push(part.before);
        same(&part.results, &whole);
        same(&merge(&[folder.path().to_owned()]).expect("complete"), &whole);
        // Nothing is left to do.
        let again = run(&request, &backend, (1, 1), folder.path()).expect("nothing");
        assert_eq!(again.before, all);
        same(&again.results, &whole);
    }
    assert!(before.is_sorted() && before[0] == 0 && before.last() == Some(&all), "{before:?}");
}

/// Bytes that are not what was written count as not written.
#[test]
fn a_damaged_record_is_done_again() {
    let (request, backend) = (small(1), CpuBackend::new());
    let folder = tempfile::tempdir().expect("a folder");
    let all = run(&request, &backend, (1, 1), folder.path()).expect("run").units;
    let path = file(folder.path());
    let mut bytes = fs::read(&path).expect("readable");
    let at = bytes.len() * 9 / 10;
    bytes[at] ^= 1;
    fs::write(&path, &bytes).expect("written");
    assert!(matches!(merge(&[folder.path().to_owned()]), Err(PartError::Missing { .. })));
    let part = run(&request, &backend, (1, 1), folder.path()).expect("gone on with");
    assert!(part.before < all);
    same(&merge(&[folder.path().to_owned()]).expect("complete"), &verify(&request, &backend));
}

/// Two machines that found the same are one; two that did not are not chosen from.
#[test]
fn a_part_that_was_run_twice_counts_once_or_is_refused() {
    let (request, backend) = (small(1), CpuBackend::new());
    let folders = [tempfile::tempdir(), tempfile::tempdir()].map(|folder| folder.expect("a folder"));
    for folder in &folders {
        run(&request, &backend, (1, 1), folder.path()).expect("run");
    }
    let places = folders.each_ref().map(|folder| folder.path().to_owned());
    same(&merge(&places).expect("the same twice"), &verify(&request, &backend));
    let other = tempfile::tempdir().expect("a folder");
    run(&request, &Other::of("outputs"), (1, 1), other.path()).expect("run");
    let error = merge(&[places[0].clone(), other.path().to_owned()]).expect_err("not the same");
    assert!(matches!(&error, PartError::Differs { .. }), "{error}");
}

#[test]
fn status_knows_what_is_done() {
    let (request, backend) = (small(1), CpuBackend::new());
    let folder = tempfile::tempdir().expect("a folder");
    run(&request, &backend, (2, 3), folder.path()).expect("run");
    run(&request, &backend, (3, 3), folder.path()).expect("run");
    let bytes = fs::read(file(folder.path())).expect("readable");
    fs::write(file(folder.path()), &bytes[..bytes.len() - 1]).expect("written");
    let parts = status(folder.path()).expect("readable");
    let mut states: Vec<State> = parts.iter().map(|part| part.state).collect();
    assert_eq!(states.remove(0), State::Waiting);
    assert!(states.contains(&State::Done) && states.contains(&State::Failed), "{states:?}");
    assert!(parts[1..].iter().all(|part| part.done == part.all && part.all > 0));
    assert_eq!(parts.iter().map(|part| part.all).sum::<usize>(), Plan::new(&request, &backend).len());
}

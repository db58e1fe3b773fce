//! Promise: what is timed in parts is, put together, what one run times.

use std::sync::LazyLock;

use holdfast::bench::runner::Runner;
use holdfast::bench::{Plan, Preset, Wanted};
use holdfast::kernel::launch::Repeats;
use holdfast::method::Method;
use holdfast::operation::Operation;
use holdfast::parts::{self, Divisible, Part};
use holdfast::problem::{InputType, Shape, Weights};
use holdfast::report;
use holdfast::results::bench::Work;
use holdfast::results::{Results, Verdict};

use crate::timed::on_cpu;

/// Small scans, or dense systems.
fn plan_of(shapes: Vec<Shape>, dense: Vec<Shape>, operations: Vec<Operation>) -> Plan {
    let wanted = Wanted {
        methods: vec![Method::Zoh, Method::Poly],
        shapes,
        dense,
        weights: vec![Weights::Complex],
        inputs: vec![InputType::F32],
        passes: vec![Work::Forward, Work::Backward],
        operations,
        repeats: Repeats { warmups: 1, samples: 2, seconds: 0.01 },
        peers: Vec::new(),
        command: "holdfast bench".to_owned(),
    };
    Plan::new(&wanted, vec![on_cpu(), Runner::Reference])
}

const SMALL: Shape = Shape { batch: 1, dim: 3, seqlen: 9, dstate: 2, groups: 1 };

pub fn plan() -> Plan {
    let shapes = vec![SMALL, Shape { seqlen: 18, ..SMALL }, Shape { seqlen: 36, ..SMALL }];
    plan_of(shapes, Vec::new(), vec![Operation::Exp])
}

/// A plan, which measures its machine once, and its run, for all tests that show it.
static RUN: LazyLock<(Plan, Results)> = LazyLock::new(|| {
    let plan = plan();
    let run = plan.run(&|| {});
    (plan, run)
});

pub fn run() -> &'static Results {
    &RUN.1
}

fn ids(results: &Results) -> Vec<String> {
    results.bench.iter().map(|timed| timed.id.clone()).collect()
}

#[test]
fn parts_make_the_whole() {
    let (plan, whole) = &*RUN;
    assert_eq!(ids(whole), plan.units());
    assert_eq!(whole.bench.len(), 1 + 3 * 2 * 2 * 2);
    assert_eq!(whole.verdict(), Verdict::Pass);
    assert!(whole.bench.iter().all(|timed| timed.warm.is_some()));
    let with_cold = |timed: &&holdfast::results::bench::Timed| timed.cold.is_some();
    assert_eq!(whole.bench.iter().filter(with_cold).count(), 3 * 2 * 2, "scans of kernels");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for number in [1, 2] {
        let head = plan.part(Part { number, of: 2 });
        parts::run(plan, &head, folder.path(), &|_| {}).expect("it runs");
    }
    let merged = parts::merge(&[folder.path().to_owned()]).expect("all parts are there");
    assert_eq!(ids(&merged), ids(whole));
    assert_eq!(merged.machines, whole.machines, "a CPU tells no clock");
    // What is written is read again, as it was.
    let file = folder.path().join("bench.json");
    report::json::write(whole, &file).expect("written");
    let read = report::json::read(&file).expect("read");
    let (timings, machines, created) = (&whole.bench, &whole.machines, &whole.created);
    assert_eq!((&read.bench, &read.machines, &read.created), (timings, machines, created));
}

#[test]
fn dense_systems_are_timed_by_kernels_and_judged() {
    // Of no whole tile.
    let run = plan_of(Vec::new(), vec![Shape { dstate: 5, seqlen: 1, ..SMALL }], Vec::new()).run(&|| {});
    assert_eq!(
        ids(&run),
        ["dense/complex/f32/b1-d3-n5-l1/zoh/cpu", "dense/complex/f32/b1-d3-n5-l1/poly/cpu"]
    );
    let is_rounded_once = |error: f64| error > 0.0 && error < f64::from(f32::EPSILON) / 2.0;
    assert!(run.bench.iter().all(|timed| timed.warm.is_some() && timed.error.is_some_and(is_rounded_once)));
    assert_eq!(run.verdict(), Verdict::Pass);
}

#[test]
fn scans_with_a_dense_a_are_timed_and_judged() {
    let run = plan_of(Vec::new(), vec![Shape { dstate: 5, ..SMALL }], Vec::new()).run(&|| {});
    let of_work = |work| ["zoh", "poly"].map(|method| format!("{work}/complex/f32/b1-d3-n5-l9/{method}/cpu"));
    assert_eq!(ids(&run), Work::DENSE_SCANS.map(of_work).concat());
    let is_small = |error: f64| error > 0.0 && error < f64::from(f32::EPSILON);
    assert!(run.bench.iter().all(|timed| timed.warm.is_some() && timed.error.is_some_and(is_small)));
    assert_eq!(run.verdict(), Verdict::Pass);
}

#[test]
fn a_sweep_differs_in_one_size_at_a_time() {
    for gpu in [false, true] {
        let shapes = Preset::Sweep.shapes(gpu);
        let base = shapes[0];
        let others = |shape: &Shape| {
            [
                shape.batch != base.batch,
                shape.dim != base.dim,
                shape.seqlen != base.seqlen,
                shape.dstate != base.dstate,
            ]
        };
        assert!(shapes[1..].iter().all(|shape| others(shape).iter().filter(|&&other| other).count() == 1));
        assert!(shapes.iter().all(|shape| shape.dstate <= Shape::MAX_DSTATE));
    }
}

//! Promises of `--pass`: gradients are planned, judged and run again as outputs are.

use holdfast::kernel::CpuBackend;
use holdfast::method::Method;
use holdfast::problem::output_gradients::Loss;
use holdfast::problem::plan::{Filter, plan};
use holdfast::problem::regime;
use holdfast::results::Verdict;
use holdfast::verify::{Passes, Request, verify};

fn request(passes: Passes, regime: &str) -> Request {
    let regimes = vec![regime::find(regime).expect("in the table")];
    let filter = Filter { regimes, ..Filter::default() };
    Request { passes, filter, sensitivity: false, ..Request::everything(1) }
}

/// Every layout, weight and input type.
#[test]
fn the_gradients_of_every_method_pass() {
    let backend = CpuBackend::new();
    let request = request(Passes::Backward, "short");
    let results = verify(&request, &backend, &|| {});
    assert_eq!(results.cases.len(), 24 * 6);
    for case in &results.cases {
        assert_eq!(case.verdict, Verdict::Pass, "{}: {:?}", case.id, case.worst);
        assert!(case.id.ends_with("/backward"), "{}", case.id);
        assert!(case.rerun.contains("--pass backward"), "{}", case.rerun);
        assert!(case.tensors.values().count() >= 5 && case.judged > 100, "{}", case.id);
    }
    assert!(results.coefficients.is_empty() && results.invariants.is_empty());
}

#[test]
fn both_passes_are_what_each_of_them_is() {
    let backend = CpuBackend::new();
    let ids = |passes| {
        let request = Request { methods: vec![Method::Poly], ..request(passes, "l1") };
        let results = verify(&request, &backend, &|| {});
        let ids: Vec<String> = results.cases.iter().map(|case| case.id.clone()).collect();
        assert_eq!(results.planned.expect("a plan"), ids);
        ids
    };
    let [forward, backward, both] = [Passes::Forward, Passes::Backward, Passes::Both].map(ids);
    assert_eq!(both.len(), forward.len() + backward.len());
    assert!(forward.iter().chain(&backward).all(|id| both.contains(id)));
}

/// The kind of loss is drawn with the problem.
#[test]
fn every_kind_of_loss_occurs() {
    let mut seen = [0; Loss::ALL.len()];
    for spec in plan(&Filter::default()) {
        let problem = spec.draw(1);
        let dout = spec.draw_given(&problem, 1).dout;
        let row = &dout[..problem.shape.seqlen];
        let nonzero = row.iter().filter(|x| **x != 0.0).count();
        let kind = match () {
            () if row.len() < 3 => continue,
            () if row.iter().all(|x| *x == 1.0) => Loss::Sum,
            () if nonzero == 1 && *row.last().expect("not empty") == 1.0 => Loss::Last,
            () if nonzero == 1 => Loss::OneHot,
            () if row[0] == -row[1] => Loss::Cancelling,
            () => Loss::Random,
        };
        seen[kind as usize] += 1;
    }
    assert!(seen.iter().all(|&count| count >= 10), "{seen:?}");
}

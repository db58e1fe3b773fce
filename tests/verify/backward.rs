//! Promises of `--pass`: gradients are planned, judged and run again as outputs are.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use holdfast::judge::diagnose::Budget;
use holdfast::kernel::CpuBackend;
use holdfast::method::Method;
use holdfast::problem::output_gradients::Loss;
use holdfast::problem::plan::{Filter, plan};
use holdfast::problem::{InputType, Operand, Weights, regime};
use holdfast::results::{PairStatus, Results, Verdict};
use holdfast::tensor::ComputedName;
use holdfast::tensor::GradientName::{B, Delta, U};
use holdfast::verify::{Passes, Request, verify};

use crate::altered::{FOH_AS_ZOH, WITHOUT_FOH};

fn request(passes: Passes, regime: &str) -> Request {
    let regimes = vec![regime::find(regime).expect("in the table")];
    let filter = Filter { regimes, ..Filter::default() };
    Request { passes, filter, sensitivity: false, diagnosis: Budget::Off, ..Request::everything(1) }
}

/// Every weight and input type; f32 in every layout.
fn short() -> &'static Results {
    static RUN: LazyLock<Results> =
        LazyLock::new(|| verify(&request(Passes::Backward, "short"), &CpuBackend::new(), &|| {}));
    &RUN
}

#[test]
fn the_gradients_of_every_method_pass() {
    let results = short();
    assert_eq!(results.cases.len(), 12 * 6);
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

/// How the kernel's pairs of gradients are: those with foh, and those without.
fn statuses(results: &Results) -> [BTreeSet<&'static str>; 2] {
    [true, false].map(|with_foh| {
        let kernels =
            results.pairwise.iter().filter(|m| m.source != "truth" && m.tensor.gradient().is_some());
        let pairs = kernels.flat_map(|m| &m.pairs);
        let of = pairs.filter(|p| with_foh == [p.left, p.right].contains(&Method::Foh.into()));
        of.map(|pair| pair.status.name()).collect()
    })
}

/// Of every tensor, on each problem; those of one problem of each weight type are shown.
#[test]
fn methods_are_as_far_apart_in_their_gradients_as_the_truth_says() {
    let results = short();
    assert_eq!(results.pairs.all(), 0);
    let tensors: usize = results.cases.iter().map(|case| case.tensors.iter().count()).sum();
    assert_eq!(results.gradient_pairs.problems, 12);
    assert_eq!(results.gradient_pairs.agree, tensors / 6 * 15);
    assert_eq!(results.gradient_pairs.all(), results.gradient_pairs.agree);
    let shown: Vec<_> = results.pairwise.iter().map(|m| (m.tensor, m.weights, &*m.source)).collect();
    for weights in Weights::ALL {
        for source in ["truth", "cpu"] {
            let is_shown =
                |name: ComputedName| shown.iter().filter(|&&m| m == (name, weights, source)).count();
            assert_eq!((is_shown(U.into()), is_shown(B.into())), (1, 1), "{shown:?}");
        }
    }
    assert_eq!(statuses(results), [BTreeSet::from(["agrees"]), BTreeSet::from(["agrees"])]);
}

/// Whatever the gradients are within: a pass that runs as another method's coincides with it.
#[test]
fn a_backward_pass_of_another_method_coincides_with_it() {
    let request = request(Passes::Backward, "short");
    let results = verify(&request, &FOH_AS_ZOH, &|| {});
    let totals = &results.gradient_pairs;
    assert!(totals.coincide > 50 && totals.off > 100 && totals.unmeasured == 0, "{totals:?}");
    let [with_foh, without] = statuses(&results);
    assert!(with_foh.contains("coincides") && with_foh.contains("off"), "{with_foh:?}");
    assert_eq!(without, BTreeSet::from(["agrees"]));
    let of_u = |m: &&holdfast::results::PairwiseMatrix| m.source == "cpu" && m.tensor == U.into();
    // Beside one problem of each weight type, a failing one: one of the first two is shown already.
    assert_eq!(results.pairwise.iter().filter(of_u).count(), 3);
    for matrix in results.pairwise.iter().filter(of_u) {
        let is_it =
            |left, right| matrix.pairs.iter().find(|p| (p.left, p.right) == (left, right)).expect("a pair");
        assert_eq!(is_it(Method::Zoh.into(), Method::Foh.into()).status, PairStatus::Coincides);
    }
}

#[test]
fn what_was_not_computed_is_no_pair_that_agrees() {
    let request = request(Passes::Backward, "l1");
    let results = verify(&request, &WITHOUT_FOH, &|| {});
    let totals = &results.gradient_pairs;
    // 5 of the 15 pairs are with foh.
    assert!(totals.agree > 0 && totals.failing() == 0, "{totals:?}");
    assert_eq!(totals.unmeasured * 2, totals.agree);
    assert_eq!(statuses(&results), [BTreeSet::from(["unmeasured"]), BTreeSet::from(["agrees"])]);
}

/// The stretch with the largest share has the element that the verdict shows.
#[test]
fn errors_of_gradients_along_the_sequence_reach_the_worst_one() {
    let mut request = request(Passes::Both, "short");
    let (inputs, variable) = (vec![InputType::F32], vec![Operand::Variable]);
    request.filter = Filter { inputs, b: variable.clone(), c: variable, ..request.filter };
    let results = verify(&request, &CpuBackend::new(), &|| {});
    let of_gradients: Vec<_> =
        results.errors.sequences.iter().filter(|s| s.tensor.gradient().is_some()).collect();
    for weights in Weights::ALL {
        for tensor in [U, Delta, B].map(ComputedName::from) {
            let methods = of_gradients.iter().filter(|s| (s.weights, s.tensor) == (weights, tensor)).count();
            assert_eq!(methods, 6, "{tensor} {weights}");
        }
    }
    for sequence in of_gradients {
        let case = results.cases.iter().find(|case| case.id == sequence.case).expect("a case");
        let worst = case.tensors[sequence.tensor].worst.as_ref().expect("judged");
        let shares = sequence.error.iter().zip(&sequence.bound).map(|(error, bound)| error / bound);
        assert_eq!(shares.clone().fold(0.0, f64::max), worst.share, "{} {}", sequence.case, sequence.tensor);
        let at =
            shares.zip(&sequence.position).find(|(share, _)| *share == worst.share).expect("it is there").1;
        assert_eq!(worst.index.last(), Some(at), "{} {}", sequence.case, sequence.tensor);
        assert!(sequence.position.is_sorted_by(|a, b| a < b) && sequence.position.len() <= case.shape.seqlen);
    }
    assert_eq!(results.errors.sequences.iter().filter(|s| s.tensor.output().is_some()).count(), 12);
}

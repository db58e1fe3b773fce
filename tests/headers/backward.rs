//! Promise: where a header has `compute_discretization_backward`, `verify --header` judges it as it judges coefficients.

use holdfast::problem::plan::Filter;
use holdfast::problem::InputType;
use holdfast::results::{Results, Verdict};
use holdfast::verify::{Passes, Request};

use crate::fixtures::header;
use crate::support::run::verify;

fn judged(name: &str) -> Results {
    let filter = Filter { inputs: vec![InputType::F32], ..Filter::default() };
    let request =
        Request { filter, sensitivity: false, passes: Passes::Backward, ..Request::everything(1) };
    verify(&request, header(&format!("backward/{name}")).as_ref())
}

#[test]
fn scratch() {
    let names = std::env::var("NAMES").unwrap();
    for name in names.split(',') {
        let start = std::time::Instant::now();
        let results = judged(name);
        println!("== {name} {:?}", start.elapsed());
        for case in &results.cases {
            if case.verdict == Verdict::Pass && name != "right" { continue }
            println!("{} {:?} {}", case.id, case.verdict, case.reason);
            for (n, t) in case.tensors.iter() {
                println!("   {n} {:?} share {:?} judged {} {} {:?}", t.verdict, t.worst.as_ref().map(|w| w.share), t.judged, t.reason,
                    t.diagnosis.iter().map(|d| format!("{} {:.1e}", d.name, d.residual)).collect::<Vec<_>>());
            }
        }
    }
}

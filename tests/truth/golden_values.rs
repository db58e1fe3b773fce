//! Promise: certified values and the truth's pairwise matrices never change unnoticed. They are exact, so the
//! snapshots under `golden/` are compared to the letter; `cargo insta review` shows what moved.

use std::fmt::Write;

use holdfast::hexfloat;
use holdfast::judge::budget;
use holdfast::judge::pairwise::{MethodOutputs, matrices};
use holdfast::judge::ulp::Format;
use holdfast::method::Method;
use holdfast::problem::plan::{Filter, plan};
use holdfast::problem::{CoefficientProblem, InputType, Operand, Weights, regime};
use holdfast::promise::Contract;
use holdfast::tensor::TensorName;
use holdfast::truth;
use rstest::rstest;

const SEED: u64 = 1;

fn golden(name: &str, provenance: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => "../../golden",
        prepend_module_to_snapshot => false,
        description => provenance,
        omit_expression => true,
    }, { insta::assert_snapshot!(name, text) });
}

/// (Δ, A) that reach every branch: zero, tiny, moderate, stiff, near the pole, oscillating.
fn places(weights: Weights) -> CoefficientProblem {
    let (delta, a): (Vec<f32>, Vec<f32>) = match weights {
        Weights::Real => {
            let z = [0.0, -1e-9, -1e-4, -0.05, -1.0, -2.785, -16.0, -80.0, -104.0, 1.9, 2.1, 40.0];
            z.iter().map(|&z: &f32| (0.125, z * 8.0)).unzip()
        }
        Weights::Complex => {
            let z: [[f32; 2]; 8] = [
                [0.0, 0.0],
                [-1e-9, 1e-9],
                [-0.05, 0.3],
                [0.0, 3.0],
                [0.0, 6.283_185_5],
                [-0.5, 50.0],
                [-80.0, 1.0],
                [2.088_843, 7.461_489],
            ];
            (vec![0.125; z.len()], z.iter().flatten().map(|&part| part * 8.0).collect())
        }
    };
    let b = match weights {
        Weights::Real => vec![1.5; delta.len()],
        Weights::Complex => [1.5, -0.5].repeat(delta.len()),
    };
    CoefficientProblem { weights, delta, a, b }
}

#[rstest]
fn certified_coefficients(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    let problem = places(weights);
    let w = weights.width();
    let mut text = String::new();
    for method in Method::ALL {
        let truth = truth::coefficient::solve(method, &problem).expect("certified");
        for i in 0..problem.delta.len() {
            // Each line says where it is: a difference shows little of what is around it.
            let place = format!("{method} delta {} A {:?}", problem.delta[i], &problem.a[i * w..(i + 1) * w]);
            for (name, values) in [("a_bar", &truth.a_bar), ("b_bar", &truth.b_bar)] {
                let shown = values[i * w..(i + 1) * w]
                    .iter()
                    .map(|&v| format!("{:<24} {v:e}", hexfloat::f64(v)))
                    .collect::<Vec<_>>();
                writeln!(text, "{place:42} {name} {}", shown.join("  i ")).unwrap();
            }
        }
    }
    let provenance = format!(
        "Certified A-bar and B-bar, correctly rounded to f64 from two routes; {weights} weights, B fixed."
    );
    golden(&format!("certified-coefficients-{weights}"), &provenance, &text);
}

#[rstest]
fn truth_pairwise_matrix(#[values(Weights::Real, Weights::Complex)] weights: Weights) {
    let filter = Filter {
        regimes: vec![regime::find("short").expect("in the table")],
        weights: vec![weights],
        inputs: vec![InputType::F32],
        b: vec![Operand::Variable],
        c: vec![Operand::Variable],
    };
    let specs = plan(&filter);
    assert_eq!(specs.len(), 1);
    let problem = specs[0].draw(SEED);
    let truths = truth::scan::solve(&problem, &Method::ALL).expect("certified");
    let outputs: Vec<MethodOutputs> = truths
        .into_iter()
        .map(|t| MethodOutputs {
            form: t.method.into(),
            format: Format::F32,
            bound: budget::scan(t.method, &problem, &Contract::PRODUCTION).tensors[TensorName::Out]
                .bound
                .clone(),
            truth: t.tensors[TensorName::Out].values.clone(),
            kernel: None,
        })
        .collect();
    let (pairs, _) = matrices(&outputs, |i| vec![i]);
    let mut text = format!(
        "{}\n{:>21} {:>12} {:>12} {:>12} {:>12}\n",
        specs[0].id(),
        "",
        "mean",
        "max",
        "rel l2",
        "max ulp"
    );
    for pair in &pairs {
        let name = format!("{} - {}", pair.left, pair.right);
        let (mean, max) = (pair.mean, pair.max);
        writeln!(
            text,
            "{name:>21} {mean:>12.6e} {max:>12.6e} {:>12.6e} {:>12.6e}",
            pair.rel_l2, pair.max_ulp
        )
        .unwrap();
    }
    let provenance =
        format!("Differences between the methods' certified outputs, seed {SEED}; no kernel is involved.");
    golden(&format!("truth-pairwise-{weights}"), &provenance, &text);
}

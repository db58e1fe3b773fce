//! Dense systems beside what else computes the same.

use holdfast::kernel::{Backend, CpuBackend, KernelError};
use holdfast::method::Method;
use holdfast::problem::dense::{self, DenseProblem};
use holdfast::problem::{CoefficientProblem, Weights};
use holdfast::promise::Tier;
use num_complex::Complex64;
use rstest::rstest;

/// u of f32, times what the diagonal kernels promise at most, and what these here do.
const ALLOWED: f64 = 12.0 / 16_777_216.0;

/// Blocks [[a, ω], [−ω, a]] on (x₀, x₁) are a + iω on x₀ − i x₁.
#[rstest]
fn pairs_that_turn_are_diagonal_systems(#[values(Tier::Accurate, Tier::Fast)] tier: Tier) {
    let regime = dense::all().into_iter().find(|regime| regime.name == "pairs").expect("in the list");
    let problem = regime.draw(1);
    let backend = CpuBackend::in_tier(tier);
    for method in Method::ALL {
        let got = backend.dense(method, &problem).expect("a kernel").expect("runs");
        for i in 0..problem.delta.len() {
            let (_, a, b) = problem.system(i);
            let mut diagonal = CoefficientProblem::new(Weights::Complex);
            for k in (0..problem.n).step_by(2) {
                let b = Complex64::new(b[(k, 0)].re, -b[(k + 1, 0)].re);
                diagonal.push(problem.delta[i], Complex64::new(a[(k, k)].re, a[(k, k + 1)].re), b);
            }
            let want = CpuBackend::new().coefficients(method, &diagonal).expect("runs");
            let (a_bar, b_bar) = (problem.matrix(&got.a_bar, i, problem.n), problem.matrix(&got.b_bar, i, 1));
            // Beside a block nothing is coupled.
            let coupled = |r: usize, c: usize| r / 2 == c / 2 || a_bar[(r, c)].re == 0.0;
            assert!((0..problem.n).all(|r| (0..problem.n).all(|c| coupled(r, c))), "{method} {i}");
            for (k, want) in want.a_bar.chunks(2).zip(want.b_bar.chunks(2)).enumerate() {
                let of = |parts: &[f32]| Complex64::new(parts[0].into(), parts[1].into());
                let (want_a, want_b) = (of(want.0), of(want.1));
                let at = 2 * k;
                let got_a = Complex64::new(a_bar[(at, at)].re, a_bar[(at, at + 1)].re);
                let got_b = Complex64::new(b_bar[(at, 0)].re, -b_bar[(at + 1, 0)].re);
                // In f32 the squares of e^z add up.
                let allowed = if tier == Tier::Fast { 20.0 * ALLOWED } else { ALLOWED };
                assert!(
                    (got_a - want_a).norm() <= allowed * want_a.norm(),
                    "{method} {i} {k}: {got_a} {want_a}"
                );
                assert!(
                    (got_b - want_b).norm() <= allowed * want_b.norm(),
                    "{method} {i} {k}: {got_b} {want_b}"
                );
            }
        }
    }
}

/// As many systems of n states as the step has values, all zero.
fn zeros(n: usize, m: usize, count: usize) -> DenseProblem {
    let len = |columns: usize| vec![0.0; count * n * columns];
    DenseProblem { weights: Weights::Real, n, m, delta: vec![1.0; count], a: len(n), b: len(m) }
}

#[rstest]
#[case(zeros(65, 1, 1), "n of 65 is not supported, expected 1 to 64")]
#[case(zeros(0, 1, 1), "n of 0 is not supported, expected 1 to 64")]
#[case(zeros(4, 0, 1), "B of 1 systems of 0 inputs is not supported")]
#[case(zeros(4, 1, 0), "B of 0 systems of 1 inputs is not supported")]
#[case(DenseProblem { a: vec![0.0; 15], ..zeros(4, 1, 1) }, "A of 15 values is not supported, expected 16 values")]
#[case(DenseProblem { b: vec![0.0; 5], ..zeros(4, 1, 1) }, "B of 5 values is not supported, expected 4 values")]
fn bad_sizes_are_refused(#[case] problem: DenseProblem, #[case] said: &str) {
    let refused: Result<_, KernelError> = CpuBackend::new().dense(Method::Zoh, &problem).expect("a kernel");
    let error = refused.expect_err("sizes that do not fit").to_string();
    assert!(error.starts_with(said), "{error}");
}

//! grad.D without a gate: Σ dout·u, whose members are known without any model.

use holdfast::problem::{OutputGradients, Problem, Shape};

use super::drawn;
use crate::support::problems::{Layout, generator};

/// A problem with a skip and no gate, whose u and dout are all in ½…1 or −1…−½.
pub fn plain(batch: usize, dim: usize, seqlen: usize) -> (Problem, OutputGradients) {
    let mut rng = generator("a skip and no gate");
    let mut problem = Layout::plain(batch, dim, 1, seqlen).random(&mut rng);
    let away = |x: f32| x.signum() * (0.5 + 0.5 * x.abs());
    problem.d = Some(drawn(dim, &mut rng));
    problem.u = drawn(problem.u.len(), &mut rng).into_iter().map(away).collect();
    let dout = drawn(problem.u.len(), &mut rng).into_iter().map(away).collect();
    (problem, OutputGradients { dout, dlast_state: None })
}

/// Σ dout·u over the batch and the positions, each as often as `weight` says.
pub fn grad_d(
    (problem, given): &(Problem, OutputGradients),
    weight: impl Fn(usize, usize) -> f64,
) -> Vec<f64> {
    let Shape { batch, dim, seqlen, .. } = problem.shape;
    let added = |b: usize, d: usize, l: usize| {
        let at = (b * dim + d) * seqlen + l;
        weight(b, l) * f64::from(given.dout[at]) * f64::from(problem.u[at])
    };
    let of = |d: usize| -> f64 { (0..batch).map(|b| (0..seqlen).map(|l| added(b, d, l)).sum::<f64>()).sum() };
    (0..dim).map(of).collect()
}

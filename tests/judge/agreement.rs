//! Promise: two runs agree where they are at most two bounds apart, and what is not finite agrees with itself alone.

use holdfast::judge::agreement::{Agreement, agreement};
use holdfast::judge::budget::{Bounds, Budget};
use holdfast::problem::probe::Probe;
use holdfast::problem::{Problem, Shape, Weights};
use holdfast::tensor::{TensorName, Tensors};

/// Of one channel whose output has these values in two runs, with these bounds.
fn of(values: &[(f64, f64, f64)]) -> Agreement {
    let problem = Problem {
        shape: Shape { batch: 1, dim: 1, dstate: 1, seqlen: values.len(), groups: 1 },
        judged_channels: vec![(0, 0)],
        ..Probe::Constant.draw(Weights::Real, 1)
    };
    let run = |value: fn(&(f64, f64, f64)) -> f64| -> Tensors<f32> {
        let values = values.iter().map(|values| value(values) as f32).collect();
        [(TensorName::Out, problem.tensor(TensorName::Out, values))].into_iter().collect()
    };
    let bounds = Bounds { bound: values.iter().map(|values| values.2).collect(), ..Bounds::default() };
    let budget = Budget { tensors: [(TensorName::Out, bounds)].into_iter().collect(), repeats: 0.0 };
    agreement(&problem, &run(|values| values.0), &run(|values| values.1), &budget)
}

#[test]
fn twice_the_bound_is_one() {
    assert_eq!(of(&[(1.0, 1.5, 0.25)]).ratio, 1.0);
    assert_eq!(of(&[(1.0, 1.0, 0.0)]), Agreement { ratio: 0.0, equal: 1, values: 1 });
    assert_eq!(of(&[(0.0, -0.0, 0.0)]), Agreement { ratio: 0.0, equal: 0, values: 1 });
    assert_eq!(of(&[(1.0, 2.0, 0.0), (1.0, 1.5, 1.0)]).ratio, f64::INFINITY);
}

#[test]
fn what_is_not_finite_agrees_only_with_itself() {
    assert_eq!(of(&[(f64::NAN, f64::NAN, 1.0), (f64::INFINITY, f64::INFINITY, 1.0)]).ratio, 0.0);
    for other in [f64::NAN, f64::INFINITY] {
        assert_eq!(of(&[(other, 1.0, 1.0), (1.0, 1.5, 1.0)]).ratio, f64::INFINITY);
        assert_eq!(of(&[(1.0, other, f64::INFINITY)]).ratio, f64::INFINITY);
    }
}

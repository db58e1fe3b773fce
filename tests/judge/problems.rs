//! Promise: what invariants do to problems changes what they say and nothing else, and a fingerprint sees every change.

use holdfast::problem::plan::{self, Filter};
use holdfast::problem::probe::Probe;
use holdfast::problem::roots::{self, Combination};
use holdfast::problem::transform::{grafted, prepended, select};
use holdfast::problem::{InputType, Operand, Problem, Weights, regime};
use num_complex::Complex64;

fn variable(weights: Weights) -> Problem {
    Probe::Grouped.draw(weights, 1)
}

fn all(n: usize) -> Vec<usize> {
    (0..n).collect()
}

#[test]
fn selecting_everything_changes_nothing_and_reversing_twice_neither() {
    for weights in Weights::ALL {
        for problem in [variable(weights), Probe::Constant.draw(weights, 1)] {
            let (states, positions) = (all(problem.shape.dstate), all(problem.shape.seqlen));
            let backwards: Vec<usize> = positions.iter().rev().copied().collect();
            let same = select(&problem, &states, &positions);
            let twice = select(&select(&problem, &states, &backwards), &states, &backwards);
            for other in [same, twice] {
                assert_eq!((&other.u, &other.b, &other.c), (&problem.u, &problem.b, &problem.c));
                assert_eq!((&other.a, &other.z, &other.delta), (&problem.a, &problem.z, &problem.delta));
            }
        }
    }
}

/// By the index functions that everything else reads a problem with.
#[test]
fn a_selected_value_is_the_one_listed() {
    for weights in Weights::ALL {
        let problem = variable(weights);
        let (states, positions) = ([2, 0, 0], [7, 3]);
        let picked = select(&problem, &states, &positions);
        for (n, &state) in states.iter().enumerate() {
            assert_eq!(picked.a[picked.weight_index(1, n)], problem.a[problem.weight_index(1, state)]);
            for (l, &position) in positions.iter().enumerate() {
                let from = problem.operand_index(Operand::Variable, (1, 3), state, position);
                let to = picked.operand_index(Operand::Variable, (1, 3), n, l);
                assert_eq!(picked.b[to], problem.b[from]);
            }
        }
        assert_eq!(picked.u[picked.sequence_index(1, 2, 0)], problem.u[problem.sequence_index(1, 2, 7)]);
    }
}

#[test]
fn a_prepended_position_comes_first_in_every_row() {
    for weights in Weights::ALL {
        let problem = variable(weights);
        let width = weights.width();
        let rows = problem.shape.batch * problem.shape.groups * problem.shape.dstate;
        let b: Vec<f32> = (0..rows * width).map(|i| i as f32).collect();
        let longer = prepended(&problem, 0.25, 1.0, &b);
        for n in 0..problem.shape.dstate {
            let at = longer.operand_index(Operand::Variable, (1, 0), n, 0);
            assert_eq!(longer.b[at], b[(problem.shape.groups * problem.shape.dstate + n) * width]);
            assert_eq!(longer.c[at], 0.0);
        }
        let back = select(&longer, &all(3), &(1..longer.shape.seqlen).collect::<Vec<_>>());
        assert_eq!((back.u, back.b, back.z), (problem.u, problem.b, problem.z));
    }
}

#[test]
fn grafting_changes_what_is_picked_only() {
    let (problem, other) = (variable(Weights::Complex), Probe::Grouped.draw_other(Weights::Complex, 1));
    let grafted = grafted(&problem, &other, &|place| place.group == Some(1));
    assert_eq!((&grafted.u, &grafted.a), (&problem.u, &problem.a));
    for channel in 0..4 {
        let at = problem.operand_index(Operand::Variable, (1, channel), 2, 5);
        let from = if channel < 2 { &problem } else { &other };
        assert_eq!((grafted.b[at], grafted.c[at]), (from.b[at], from.c[at]));
    }
}

fn everything_on() -> Problem {
    let regimes = vec![regime::find("everything-on").expect("a regime")];
    let filter =
        Filter { regimes, inputs: vec![InputType::F32], weights: vec![Weights::Real], ..Default::default() };
    plan::plan(&filter)[0].draw(1)
}

#[test]
fn every_input_counts_and_nothing_else() {
    let of = |change: fn(&mut Problem)| {
        let mut problem = everything_on();
        change(&mut problem);
        problem.fingerprint()
    };
    let same = of(|_| {});
    assert_eq!(same.len(), 16);
    assert_eq!(of(|p| p.judged_channels.truncate(1)), same);
    let changes: [fn(&mut Problem); 9] = [
        |p| p.u[0] = p.u[0].next_up(),
        |p| p.delta[1] = p.delta[1].next_up(),
        |p| p.a[0] = p.a[0].next_up(),
        |p| *p.b.last_mut().expect("not empty") = 7.0,
        |p| p.c.swap(0, 1),
        |p| p.d = None,
        |p| p.z.as_mut().expect("a gate")[0] = 7.0,
        |p| p.delta_softplus = !p.delta_softplus,
        |p| p.input = InputType::Bf16,
    ];
    for (i, change) in changes.into_iter().enumerate() {
        assert_ne!(of(change), same, "{i}");
    }
}

#[test]
fn roots_are_found_for_almost_every_step() {
    for sum in Combination::ALL {
        for sign in [1.0, -1.0] {
            let found = |k: &i32| roots::nearest(sum, sign * 8.0 * 2f64.powi(-k), 1.0).is_some();
            assert!((0..13).filter(found).count() >= 11, "{sum:?}");
        }
    }
    for z in [-60.0, -3.0, -0.05, 0.05, 3.0, 60.0] {
        let delta = roots::step_of_poly(z);
        let again = roots::from(Combination::Poly, delta, z.into());
        assert!(delta < -2.0 && (again - z).norm() < 1e-9 * z.abs(), "{z}: {delta}, {again}");
    }
    for delta in [-2.05, -2.5] {
        let z = roots::far_left(delta);
        let without = Complex64::new(-1.0, 1.0) * (delta / (2.0 + delta));
        assert!(
            (z - without).norm() < 0.1 * z.norm() && Combination::HighOrder.at(delta, z).norm() < 1e-14,
            "{z}"
        );
    }
    let phi2 = roots::nearest(Combination::Foh, 1.0, 1.0).expect("found");
    let known = Complex64::new(2.088_843_015_613_044, 7.461_489_285_654_255);
    assert!((phi2 - known).norm() < 1e-9, "{phi2}");
}

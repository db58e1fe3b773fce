//! Where a state leaves the range of f32: in any state, in either direction, at any position.

use holdfast::judge::faults::variant::{LastState, Variant};
use holdfast::method::Method;
use holdfast::problem::{Operand, Problem};

use super::{changed, channel_of, last_state, out, run};
use crate::cases::{crossed, each};

fn overflows(variant: &Variant, problem: &Problem) -> bool {
    run(variant, problem).tensors.values().any(|row| row.beyond.contains(&true))
}

/// Two states with inputs of 1e20, in turn to each state: B of 1e20 at one of them leaves the range at once.
fn problem(leaving: [&[usize]; 2]) -> Problem {
    let seqlen = 4;
    let mut problem = channel_of(&[-50.0, -50.0], &[1.0; 4]);
    problem.b_operand = Operand::Variable;
    problem.u = vec![1e20; seqlen];
    problem.b = vec![1.0; 2 * seqlen];
    for (n, positions) in leaving.into_iter().enumerate() {
        positions.iter().for_each(|l| problem.b[n * seqlen + l] = 1e20);
    }
    problem
}

#[test]
fn a_state_that_leaves_the_range_of_f32_is_seen_wherever_it_is() {
    let cases: [(&str, &[usize], &[usize], bool); 7] = [
        ("none", &[], &[], false),
        ("the first state", &[1], &[], true),
        ("the last state", &[], &[1], true),
        ("both", &[1], &[1], true),
        ("at two positions", &[1, 2], &[], true),
        ("at two positions of the last state", &[], &[1, 2], true),
        ("at the last position", &[3], &[3], true),
    ];
    each(
        crossed(
            cases,
            [
                LastState::Right,
                LastState::Early(1),
                LastState::Early(3),
                LastState::Times(0.0),
                LastState::WithoutInput,
            ],
        ),
        |((_, first, second, leaves), last_state): (_, LastState)| {
            let variant = changed(Method::Zoh, |v| v.last_state = last_state);
            assert_eq!(overflows(&variant, &problem([first, second])), leaves);
        },
    );
}

/// Within f32 there is room up to its largest number, and none beyond.
#[test]
fn the_range_ends_at_the_largest_number() {
    let mut problem = channel_of(&[-50.0], &[1.0]);
    let overflows =
        |problem: &Problem| last_state(&run(&Variant::specified(Method::Zoh), problem)).beyond == [true];
    problem.u = vec![f32::MAX];
    assert!(!overflows(&problem));
    problem.b = vec![1.0f32.next_up()];
    assert!(overflows(&problem));
}

/// Ā is about 1e13: an input of 1e20 leaves the range one step later.
#[test]
fn either_of_two_scans_may_leave_it() {
    let cases: [(&str, usize); 2] = [("of the forward scan", 0), ("of the reversed scan", 1)];
    each(crossed(cases, [1, 2]), |((_, at), states): (_, usize)| {
        let mut problem = channel_of(&[30.0, 30.0][..states], &[1.0; 2]);
        problem.u.fill(0.0);
        let poly = Variant::specified(Method::Poly);
        assert!(!overflows(&poly, &problem));
        problem.u[at] = 1e20;
        assert!(overflows(&poly, &problem));
        // The step itself does not.
        let alone = Problem { u: vec![1e20], ..channel_of(&[30.0, 30.0][..states], &[1.0]) };
        assert!(!overflows(&poly, &alone));
    });
}

/// What is returned without B is a state of its own.
#[test]
fn a_last_state_of_u_alone_counts_as_it_is() {
    let mut problem = channel_of(&[-50.0, -50.0], &[1.0]);
    (problem.u, problem.b) = (vec![1e30], vec![1e-30, 1e-30]);
    let without_b = changed(Method::Zoh, |v| v.last_state = LastState::WithoutB);
    assert!(!overflows(&without_b, &problem));
    // Δ of 1e10 alone makes u too large; B keeps the state itself small.
    problem.delta = vec![1e10];
    problem.a = vec![-1e-9, -1e-9];
    assert!(!overflows(&Variant::specified(Method::Zoh), &problem));
    assert!(overflows(&without_b, &problem));
}

/// Outputs follow from it from there on, the reversed scan's in its own order, and so does the last state that it is of.
#[test]
fn what_follows_is_beyond_the_range_and_nothing_before() {
    let cases: [(&str, Method, [bool; 4]); 2] = [
        ("forward", Method::Zoh, [false, true, true, true]),
        // From position 1 on in one scan, and up to it in the other.
        ("both", Method::Poly, [true; 4]),
    ];
    each(cases, |(_, method, beyond)| {
        let mut problem = problem([&[1], &[]]);
        // B̄ of poly is 0.03 here.
        problem.u.fill(2e20);
        let channel = run(&Variant::specified(method), &problem);
        assert_eq!(out(&channel).beyond, beyond);
        assert_eq!(last_state(&channel).beyond, [true, false]);
    });
    // Within the scans, what is read of one state may be too large.
    let mut large = channel_of(&[-50.0], &[1.0; 3]);
    (large.u, large.c) = (vec![1.0, 1e30, 1.0], vec![1e10]);
    assert_eq!(out(&run(&Variant::specified(Method::Zoh), &large)).beyond, [false, true, false]);
}

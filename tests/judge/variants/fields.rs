//! Fields of a variant that only two changes together set, and inputs that are no numbers.

use holdfast::formula::{Fraction, Function, Term};
use holdfast::judge::faults::around::{Carry, Chunks, Delay, FoundTerm, Guarded, Initial, Stage};
use holdfast::judge::faults::complex::Product;
use holdfast::judge::faults::only::{Every, Only};
use holdfast::judge::faults::variant::{BUse, Clamp, Directions, Power, Reversed, Tail, Variant};
use holdfast::method::Method;
use holdfast::problem::{InputType, Problem, Weights};
use num_complex::Complex64;

use super::{assert_near, changed, channel_of, last_state, out, run};
use crate::cases::{crossed, each};

const DELTA: [f32; 7] = [0.5, 0.25, 1.0, 0.125, 0.75, 0.375, 0.0625];

/// Ā of A = −1 at each step, which zoh multiplies a state with; the step itself is what enters it.
fn zoh(l: usize) -> f64 {
    (-f64::from(DELTA[l])).exp()
}

fn problem() -> Problem {
    let mut problem = channel_of(&[-1.0], &DELTA);
    problem.initial_state = Some(vec![2.0]);
    problem
}

/// x → a x + Δ at each of these steps, one after the other.
fn states(start: f64, steps: &[usize], a: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut x = start;
    let step = |l: &usize| {
        x = a(*l) * x + f64::from(DELTA[*l]);
        x
    };
    steps.iter().map(step).collect()
}

/// A chunk that begins at a position which is overlooked does not begin.
#[test]
fn a_chunk_begins_where_there_is_a_position() {
    let cases: [(&str, Tail, &[usize], &[usize]); 2] = [
        ("overlooked", Tail::LastIgnored, &[0, 1, 2, 3, 4, 5], &[3]),
        ("there", Tail::Whole, &[0, 1, 2, 3, 4, 5, 6], &[3, 6]),
    ];
    each(cases, |(_, tail, steps, begin)| {
        let variant = changed(Method::Zoh, |v| {
            (v.tail, v.chunks) = (tail, Some(Chunks::new(3, Carry::Times(0.5))));
        });
        let want = states(2.0, steps, |l| if begin.contains(&l) { 0.5 * zoh(l) } else { zoh(l) });
        let channel = run(&variant, &problem());
        assert_near(&out(&channel).values[..want.len()], &want);
        assert!(out(&channel).values[want.len()..].iter().all(|value| *value == 0.0));
        assert_near(&last_state(&channel).values, &want[want.len() - 1..]);
    });
}

/// Of a reversed scan the positions that are overlooked leave its state as it is, whichever Ā the others take.
#[test]
fn what_is_overlooked_does_not_decay() {
    let cases: [(&str, Reversed, fn(usize) -> f64); 2] =
        [("own", Reversed::Right, zoh), ("of the next", Reversed::ABarOffByOne, |l: usize| zoh(l + 1))];
    each(cases, |(_, reversed, a_bar)| {
        let variant = changed(Method::Poly, |v| {
            (v.tail, v.reversed, v.initial) = (Tail::Ignored(4), reversed, Initial::InBoth);
            v.directions = Directions::BackwardOnly;
            v.b_bar = Method::Zoh.into();
        });
        let want = states(2.0, &[3, 2, 1, 0], a_bar);
        let channel = run(&variant, &problem());
        let got: Vec<f64> = out(&channel).values[..4].iter().rev().copied().collect();
        assert_near(&got, &want);
    });
}

/// What arrives late arrives in both scans, and nothing before the first.
#[test]
fn a_late_state_of_a_reversed_scan_is_that_of_positions_after_it() {
    let variant = changed(Method::Poly, |v| {
        (v.delay, v.b_bar) = (Delay::State(2), Method::Zoh.into());
        v.directions = Directions::BackwardOnly;
    });
    let all = states(0.0, &[6, 5, 4, 3, 2, 1, 0], zoh);
    let want: Vec<f64> = (0..7).map(|k: usize| k.checked_sub(2).map_or(0.0, |before| all[before])).collect();
    let channel = run(&variant, &problem());
    let got: Vec<f64> = out(&channel).values.iter().rev().copied().collect();
    assert_near(&got, &want);
}

/// B̄ that was found holds where its guard selects it: the first step is 0.5 itself, and is not below that.
#[test]
fn terms_that_are_found_hold_where_their_guard_says() {
    let term = Term { factor: Fraction(3, 1), delta: 1, of: Function::Power(0) };
    let found = FoundTerm { term, b: 1, u: 1, offset: 0 };
    let variant = changed(Method::Zoh, |v| {
        *v = v.of_terms(&[found]);
        (v.guarded, v.other_below) = (Guarded::Delta, 0.5);
    });
    let mut x = 2.0;
    let want: Vec<f64> = (0..7)
        .map(|l| {
            let delta = f64::from(DELTA[l]);
            x = zoh(l) * x + if delta < 0.5 { 3.0 * delta } else { delta };
            x
        })
        .collect();
    assert_near(&out(&run(&variant, &problem())).values, &want);
}

/// Where u multiplies the first term alone, products with B that are no linear ones are of each term, too.
#[test]
fn moduli_are_of_what_is_multiplied() {
    let cases: [(&str, bool); 2] = [("whole", true), ("each", false)];
    each(cases, |(_, u_in_higher_terms)| {
        let mut problem = channel_of(&[-1.0], &[0.5]);
        problem.weights = Weights::Complex;
        (problem.a, problem.b, problem.c) = (vec![-1.0, 2.0], vec![3.0, 4.0], vec![1.0, 0.0]);
        problem.u = vec![0.5];
        let variant = changed(Method::Rk4, |v| {
            (v.products[1], v.u_in_higher_terms) = (Product::Moduli, u_in_higher_terms);
        });
        let z = Complex64::new(-0.5, 1.0);
        let (first, higher) = (Complex64::from(0.5), 0.5 * (z / 2.0 + z * z / 6.0 + z * z * z / 24.0));
        let want = if u_in_higher_terms {
            (first + higher).norm() * 5.0 * 0.5
        } else {
            first.norm() * 5.0 * 0.5 + higher.norm() * 5.0
        };
        assert_near(&last_state(&run(&variant, &problem)).values, &[want, 0.0]);
    });
}

/// A step is what is made of it last: limits, then a power, then a factor, in Ā and B̄ each by its own.
#[test]
fn a_step_is_made_in_this_order() {
    let variant = changed(Method::Zoh, |v| {
        v.step_delta = Power::Squared;
        v.clamp = Clamp::AtMost(0.5);
        v.step_sizes[1].factor = 3.0;
    });
    let step = |l: usize| f64::from(DELTA[l]).min(0.5).powi(2);
    let mut x = 2.0;
    let want: Vec<f64> = (0..7)
        .map(|l| {
            x = (-step(l)).exp() * x + 3.0 * step(l);
            x
        })
        .collect();
    assert_near(&out(&run(&variant, &problem())).values, &want);
}

/// An input that is no number makes all later states none, and no earlier one; nothing is taken for 0 or for a limit.
#[test]
fn what_is_no_number_stays_none() {
    let cases: [(&str, fn(&mut Variant)); 8] = [
        ("as specified", |_: &mut Variant| {}),
        ("limited", |v: &mut Variant| v.limits.fill((-10.0, 10.0))),
        ("a bar limited", |v: &mut Variant| v.a_bar_limits = (0.0, 1.0)),
        ("zeros skipped", |v: &mut Variant| v.skips_zeros = true),
        ("rounded", |v: &mut Variant| v.stages.fill(InputType::Bf16)),
        ("chunks", |v: &mut Variant| v.chunks = Some(Chunks::new(3, Carry::WithoutDecay))),
        ("somewhere", |v: &mut Variant| {
            (v.b_use, v.only) = (BUse::Negated, Only::Below(Guarded::Delta, 0.3));
        }),
        ("at positions", |v: &mut Variant| {
            (v.b_use, v.only) = (BUse::Negated, Only::Positions(Every::From(4)));
        }),
    ];
    each(crossed(cases, [false, true]), |((_, change), is_u): (_, bool)| {
        let variant = changed(Method::Zoh, change);
        let mut spoilt = problem();
        let spoil = if is_u { &mut spoilt.u } else { &mut spoilt.delta };
        spoil[3] = f32::NAN;
        let (right, channel) = (run(&variant, &problem()), run(&variant, &spoilt));
        assert_eq!(out(&channel).values[..3], out(&right).values[..3]);
        assert!(out(&channel).values[3..].iter().all(|value| value.is_nan()), "{:?}", out(&channel).values);
        assert!(last_state(&channel).values[0].is_nan());
    });
}

/// Where u is 0 there is nothing that it could be divided out of.
#[test]
fn a_narrow_coefficient_of_no_input_gives_nothing() {
    let mut problem = problem();
    problem.u[1] = 0.0;
    let variant = changed(Method::Zoh, |v| {
        v.stages[Stage::BBar as usize] = InputType::F16;
        v.stages[Stage::DrivenB as usize] = InputType::F16;
    });
    // Steps and B are numbers of f16 as they are.
    let mut x = 2.0;
    let want: Vec<f64> = (0..7)
        .map(|l| {
            x = zoh(l) * x + if l == 1 { 0.0 } else { f64::from(DELTA[l]) };
            x
        })
        .collect();
    assert_near(&out(&run(&variant, &problem)).values, &want);
}

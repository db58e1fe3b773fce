//! Promise: members of a sum that count more or less often than once are found, and so are the terms of a derivative of the gate or
//! of softplus, if there are numbers enough to tell.

use holdfast::judge::diagnose::Work;
use holdfast::judge::faults::gradient::adjoint::{self, Scope};
use holdfast::judge::faults::gradient::find;
use holdfast::judge::faults::gradient::variant::Variant;
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::tensor::GradientName::{self, B, C, D, Delta, DeltaBias, U, Z};
use rand::RngExt as _;

use super::blank::told;
use super::skip::{grad_d, plain};
use super::{Known, drawn, random};
use crate::cases::each;
use crate::support::problems::{Layout, generator};

/// What is said of grad.D where the items of the batch and the positions count so often.
fn said_of_d(
    sizes: (usize, usize, usize),
    bound: Option<f64>,
    weight: impl Fn(usize, usize) -> f64,
) -> Vec<String> {
    let drawn = plain(sizes.0, sizes.1, sizes.2);
    let mut known = Known::new(Method::Zoh, &drawn);
    if let Some(bound) = bound {
        known.bounds[D].fill(bound);
    }
    let mut got = known.want.clone();
    got[D].values = grad_d(&drawn, weight);
    told(&known.judged(&got)[D])
}

fn in_the_sum(members: &str) -> String {
    format!("sum-weighted: in the sum, {members}")
}

#[test]
fn items_of_a_batch() {
    let cases: [([f64; 3], &str); 7] = [
        ([1.0, 1.0, 2.0], "item of the batch 2 has the factor 2 (of 0 to 2)"),
        ([0.5, 1.0, 1.0], "item of the batch 0 has the factor 1/2, fitted 0.500000 (of 0 to 2)"),
        ([3.0, 3.0, 1.0], "each item of the batch from 0 to 1 has the factor 3 (of 0 to 2)"),
        ([1.0, -1.0, 1.0], "item of the batch 1 has the factor -1 (of 0 to 2)"),
        ([1.0, 11.0 / 6.0, 1.0], "item of the batch 1 has the factor 11/6, fitted 1.833333 (of 0 to 2)"),
        ([1.0, 1.0, 1.125], "item of the batch 2 has the factor 9/8, fitted 1.125000 (of 0 to 2)"),
        (
            [4.0 / 3.0, 1.25, 1.0],
            "item of the batch 0 has the factor 4/3, fitted 1.333333, item of the batch 1 has the \
             factor 5/4, fitted 1.250000 (of 0 to 2)",
        ),
    ];
    each(cases, |(weights, words)| {
        assert_eq!(said_of_d((3, 16, 5), None, |b, _| weights[b]), [in_the_sum(words)]);
    });
}

/// A fifth is no simple fraction, and what is a thousandth off one is none.
#[test]
fn factors_are_simple_fractions() {
    let cases: [(f64, Option<f64>, Option<&str>); 5] = [
        (1.2, None, None),
        (1.5009, Some(0.05), Some("item of the batch 2 has the factor 3/2, fitted 1.500000 (of 0 to 2)")),
        (1.5011, Some(0.05), None),
        (1.4991, Some(0.05), Some("item of the batch 2 has the factor 3/2, fitted 1.500000 (of 0 to 2)")),
        (1.4989, Some(0.05), None),
    ];
    each(cases, |(factor, bound, words)| {
        let said = said_of_d((3, 16, 5), bound, |b, _| if b == 2 { factor } else { 1.0 });
        let weighted: Vec<String> =
            said.into_iter().filter(|said| said.starts_with("sum-weighted")).collect();
        assert_eq!(weighted, words.into_iter().map(in_the_sum).collect::<Vec<_>>());
    });
}

/// Positions one by one, in chunks, or in turn; whatever of these it can be.
#[test]
fn positions() {
    let cases: [(&str, (usize, usize, usize), fn(usize) -> f64, &[&str]); 7] = [
        (
            "one position of four",
            (3, 16, 4),
            |l: usize| if l == 2 { 3.0 } else { 1.0 },
            &["position 2 has the factor 3 (of 0 to 3)"],
        ),
        (
            "one position of five",
            (3, 16, 5),
            |l: usize| if l == 2 { 3.0 } else { 1.0 },
            &[
                "position 2 has the factor 3 (of 0 to 4)",
                "remainder of a position divided by 4 2 has the factor 3 (of 0 to 3)",
            ],
        ),
        (
            "every other position",
            (3, 16, 6),
            |l: usize| if l % 2 == 1 { 0.0 } else { 1.0 },
            &[
                "position 1 has the factor 0, position 3 has the factor 0, position 5 has the factor 0 \
             (of 0 to 5)",
                "remainder of a position divided by 2 1 has the factor 0 (of 0 to 1)",
                "remainder of a position divided by 4 1 has the factor 0, remainder of a position \
             divided by 4 3 has the factor 0 (of 0 to 3)",
            ],
        ),
        (
            "a chunk",
            (3, 16, 17),
            |l: usize| if (8..16).contains(&l) { 2.0 } else { 1.0 },
            &["chunk of 8 positions 1 has the factor 2 (of 0 to 2)"],
        ),
        (
            "a longer chunk",
            (1, 16, 40),
            |l: usize| if (16..32).contains(&l) { 0.5 } else { 1.0 },
            &[
                "each chunk of 8 positions from 2 to 3 has the factor 1/2, fitted 0.500000 (of 0 to 4)",
                "chunk of 16 positions 1 has the factor 1/2, fitted 0.500000 (of 0 to 2)",
            ],
        ),
        (
            "of eight lanes",
            (3, 16, 17),
            |l: usize| if l % 8 == 3 { 2.0 } else { 1.0 },
            &["remainder of a position divided by 8 3 has the factor 2 (of 0 to 7)"],
        ),
        (
            "of 64 positions",
            (1, 128, 64),
            |l: usize| if l == 5 { 3.0 } else { 1.0 },
            &["position 5 has the factor 3 (of 0 to 63)"],
        ),
    ];
    each(cases, |(_, sizes, weight, words)| {
        let expected: Vec<String> = words.iter().map(|words| in_the_sum(words)).collect();
        assert_eq!(said_of_d(sizes, None, |_, l| weight(l)), expected);
    });
}

/// Eight members take sixteen numbers.
#[test]
fn members_take_two_numbers_each() {
    let said = said_of_d((3, 15, 17), None, |_, l| if l % 8 == 3 { 2.0 } else { 1.0 });
    assert!(!said.iter().any(|said| said.starts_with("sum-weighted")), "{said:?}");
}

fn operands(weights: Weights) -> (Problem, OutputGradients) {
    let shape = Shape { batch: 2, dim: 6, dstate: 2, seqlen: 5, groups: 2 };
    let (b, c) = (Operand::Variable, Operand::Variable);
    let layout = Layout { shape, weights, input: InputType::F32, b, c, gate: true, extras: true };
    random(&layout, &mut generator("members of sums"))
}

/// The first that is said of a gradient in which a part of the sum counts so often.
fn first_said(
    known: &Known,
    name: GradientName,
    (variant, scope): (&Variant, &Scope),
    factor: f64,
) -> String {
    let part = &adjoint::sums(variant, known.problem, known.given, scope)[name];
    let mut got = known.want.clone();
    got[name].values.iter_mut().zip(part).for_each(|(got, part)| *got += part * (factor - 1.0));
    told(&known.judged(&got)[name]).into_iter().next().unwrap_or_default()
}

#[test]
fn channels_of_a_group() {
    let cases: [(Weights, GradientName, usize, f64, &str); 4] = [
        (Weights::Real, B, 1, 2.0, "channel of a group 1 has the factor 2 (of 0 to 2)"),
        (Weights::Complex, B, 2, 3.0, "channel of a group 2 has the factor 3 (of 0 to 2)"),
        (Weights::Real, C, 0, 0.5, "channel of a group 0 has the factor 1/2, fitted 0.500000 (of 0 to 2)"),
        (Weights::Complex, C, 1, -1.0, "channel of a group 1 has the factor -1 (of 0 to 2)"),
    ];
    each(cases, |(weights, name, channel, factor, words)| {
        let drawn = operands(weights);
        let known = Known::new(Method::Zoh, &drawn);
        let channels = known.problem.channels().filter(|at| at.1 % 3 == channel).collect();
        let scope = Scope { channels, ..Scope::whole(known.problem) };
        let specified = Variant::specified(Method::Zoh.into());
        assert_eq!(first_said(&known, name, (&specified, &scope), factor), in_the_sum(words));
    });
}

/// The skip is of no state.
#[test]
fn states() {
    let cases: [(GradientName, usize, f64, &str); 4] = [
        (U, 1, 3.0, "state 1 has the factor 3 (of 0 to 1)"),
        (Delta, 0, 2.0, "state 0 has the factor 2 (of 0 to 1)"),
        (DeltaBias, 1, 2.0, "state 1 has the factor 2 (of 0 to 1)"),
        (Z, 0, 0.5, "state 0 has the factor 1/2, fitted 0.500000 (of 0 to 1)"),
    ];
    each(cases, |(name, state, factor, words)| {
        let drawn = operands(Weights::Real);
        let known = Known::new(Method::Zoh, &drawn);
        let scope = Scope { state: Some(state), ..Scope::whole(known.problem) };
        let variant = Variant { skip: 0.0, gated: [1.0, 0.0], ..Variant::specified(Method::Zoh.into()) };
        assert_eq!(first_said(&known, name, (&variant, &scope), factor), in_the_sum(words));
    });
}

/// A problem with softplus and a bias, and steps on both sides of 0.
fn softplus(batch: usize, dim: usize, seqlen: usize, has_softplus: bool) -> (Problem, OutputGradients) {
    let mut rng = generator("softplus and a bias");
    let mut problem = Layout::plain(batch, dim, 1, seqlen).random(&mut rng);
    problem.delta_softplus = has_softplus;
    if has_softplus {
        problem.delta.iter_mut().for_each(|delta| *delta = rng.random_range(-4.0f32..2.0));
    }
    problem.delta_bias = Some(drawn(dim, &mut rng));
    let dout = drawn(problem.u.len(), &mut rng);
    (problem, OutputGradients { dout, dlast_state: None })
}

/// Of delta with its bias, and of its sigmoid.
type Slope = fn(f64, f64) -> f64;

/// What is said of grad.delta with another derivative of softplus.
fn said_of_slope(drawn: &(Problem, OutputGradients), slope: Slope, work: &Work) -> Vec<String> {
    let known = Known::new(Method::Zoh, drawn);
    let Shape { dim, seqlen, .. } = drawn.0.shape;
    let base = known.compute(find("softplus-slope-missing").expect("a fault"));
    let biases = drawn.0.delta_bias.as_ref().expect("a bias");
    let mut got = known.want.clone();
    for (i, base) in base[Delta].values.iter().enumerate() {
        let x = f64::from(drawn.0.delta[i]) + f64::from(biases[i / seqlen % dim]);
        got[Delta].values[i] = base * slope(x, 1.0 / (1.0 + (-x).exp()));
    }
    told(&known.judged_by(&got, work)[Delta])
}

/// Forty numbers for five functions.
#[test]
fn slopes_of_softplus() {
    let cases: [(Slope, &str); 5] = [
        (|_: f64, s: f64| 2.0 * s - s * s, "2·σ − σ²"),
        (|x: f64, s: f64| 3.0 * s * s - 2.0 * x, "3·σ² − 2·x"),
        (|x: f64, s: f64| s + 0.5 * x, "σ + 1/2, fitted 0.500000·x"),
        (|x: f64, _: f64| 1.0 + x.exp(), "1 + eˣ"),
        (|x: f64, _: f64| 2.0 - x.exp(), "2·1 − eˣ"),
    ];
    each(cases, |(slope, words)| {
        let said = said_of_slope(&softplus(2, 4, 5, true), slope, &Work::default());
        let expected = format!("slope-of-other-terms: the derivative of softplus is {words}");
        assert_eq!(said.first(), Some(&expected), "{said:?}");
    });
}

#[test]
fn slopes_that_are_not_told() {
    let cases: [(&str, (usize, usize, usize), bool, bool); 3] = [
        ("enough", (2, 4, 5), true, true),
        ("too few", (3, 1, 13), true, false),
        ("without softplus", (2, 4, 5), false, false),
    ];
    each(cases, |(_, sizes, has_softplus, is_told)| {
        let drawn = softplus(sizes.0, sizes.1, sizes.2, has_softplus);
        // Terms of sums are looked for whatever is asked for, and other faults are not.
        let work = Work::for_names(["slope-of-other-terms"]);
        let said = said_of_slope(&drawn, |_, s| 2.0 * s - s * s, &work);
        assert_eq!(said.iter().any(|said| said.starts_with("slope-of-other-terms")), is_told, "{said:?}");
    });
}

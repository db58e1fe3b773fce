//! Promise: what a recorded backward pass does wrong is named, by whomever it was written.
//!
//! The pass in `backward_identified/pass.rs` is written anew from spec.md, in f64 and plainly, and shares nothing with the
//! search. Each slip is written from the sentence that its name stands for; gradients in which it is another edit have names of their own.

mod pass;

use std::f64::consts::{LN_2, LOG2_E};

use half::{bf16, f16};
use holdfast::method::Method::{self, Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};
use holdfast::problem::Weights::{self, Complex, Real};
use holdfast::problem::{InputType, Operand};
use holdfast::results::Verdict;
use holdfast::tensor::GradientName::{self, A, B, Delta, InitialState, U};
use holdfast::tensor::Gradients;
use num_complex::Complex64;

use self::pass::{
    Carried, Function, Given, Of, Pass, RIGHT, drawn, of_phi, of_power, resized, run, sigmoid, silu,
    silu_slope, slope, softplus,
};
use crate::backward;
use crate::searched::{Asked, JudgedGradients, of_gradients};
use crate::written::ComplexAs;

fn checked(
    method: Method,
    (problem, given): &Given,
    gradients: &Gradients<f32>,
    asked: Option<&str>,
) -> JudgedGradients {
    let file = backward::recorded((problem, given), method.name(), gradients, ComplexAs::Trailing);
    of_gradients(&file.recording(), asked)
}

#[test]
fn the_plain_pass_is_right() {
    let operands = [
        (Operand::Constant, InputType::F32),
        (Operand::Variable, InputType::F32),
        (Operand::Variable, InputType::Bf16),
    ];
    for (method, weights) in Method::ALL.into_iter().flat_map(|method| [(method, Real), (method, Complex)]) {
        for (operands, input) in operands {
            let given = drawn(weights, operands, input);
            let judged = checked(method, &given, &run(&RIGHT, method, &given), None);
            for (name, tensor) in judged.iter() {
                assert_eq!(tensor.verdict, Verdict::Pass, "{method} {weights} {name}: {tensor:?}");
            }
            assert_eq!(judged.iter().count(), 9);
        }
    }
}

/// Gradients fail that the slip changes, and each of these has one of the names before all others: each that fails, where none is
/// listed. The sentences that say so.
#[track_caller]
fn is_named(
    asked: Asked,
    name: &str,
    (method, weights): (Method, Weights),
    pass: &Pass,
    of: &[GradientName],
) -> Vec<String> {
    let given = drawn(weights, Operand::Variable, InputType::F32);
    let (wrong, right) = (run(pass, method, &given), run(&RIGHT, method, &given));
    let judged = checked(method, &given, &wrong, asked.of(&name.replace(" or ", " + ")));
    let mut sentences = Vec::new();
    for (gradient, wrong, right) in wrong.zip(&right) {
        let tensor = &judged[gradient];
        let largest = right.values.iter().fold(0.0f32, |all, x| all.max(x.abs()));
        let change =
            wrong.values.iter().zip(&right.values).fold(0.0f32, |all, (x, y)| all.max((x - y).abs()));
        match tensor.verdict {
            Verdict::Fail => assert!(change > 0.0, "{name}: {gradient} is right"),
            _ => assert!(change < 1e-3 * largest, "{name}: {gradient} is wrong by {change}"),
        }
        if tensor.verdict == Verdict::Fail && (of.is_empty() || of.contains(&gradient)) {
            let found: Vec<_> =
                tensor.diagnosis.iter().map(|found| (&found.name[..], &found.what[..])).collect();
            let is_named = found.first().is_some_and(|found| name.split(" or ").any(|name| name == found.0));
            assert!(is_named, "{name} for {gradient}: {found:?}");
            sentences.push(found[0].1.to_owned());
        }
    }
    assert!(sentences.len() >= of.len().max(1), "of {of:?}: {sentences:?}");
    sentences
}

type C = Complex64;

fn to_bf16(x: f64) -> f64 {
    bf16::from_f64(x).to_f64()
}

fn to_f16(x: f64) -> f64 {
    f16::from_f64(x).to_f64()
}

fn as_is(x: f64) -> f64 {
    x
}

fn parts(x: C, of: fn(f64) -> f64) -> C {
    C::new(of(x.re), of(x.im))
}

/// A sum that is rounded after each of its shares, which are.
fn added<'a>(shares: impl IntoIterator<Item = &'a C>, share: fn(f64) -> f64, sum: fn(f64) -> f64) -> C {
    shares.into_iter().fold(C::ZERO, |all, &x| parts(all + parts(x, share), sum))
}

/// The sum over the batch of what is made of each item's positions.
fn items(rows: &[&[C]], of: fn(&[C]) -> C) -> C {
    rows.iter().map(|row| of(row)).sum()
}

fn total(shares: &[C]) -> C {
    shares.iter().sum()
}

/// An adjoint that passes multiples of 8 in another way.
fn at_chunks(c: Carried, other: fn(C, C) -> C) -> C {
    if c.edge.is_multiple_of(8) { other(c.a_bar, c.adjoint) } else { c.a_bar * c.adjoint }
}

fn first_for_all(values: &mut [f32]) {
    let item = values.len() / 2;
    values.copy_within(..item, item);
}

/// One change to what is there, in the gradients of real weights by zoh.
const SLIPS: &[(&str, Pass)] = table! {
    ("delta-without-a-bar", Pass { delta: |_, h| h, ..RIGHT }),
    ("gradient-times-a", Pass { a: |a_bar, h, a| (a_bar + h) * a, ..RIGHT }),
    ("state-first-alone", Pass { over_states: |shares| shares[0], ..RIGHT }),
    ("state-last-alone", Pass { over_states: |shares| shares[2], ..RIGHT }),
    ("masked-dropped", Pass { skipped: |u, delta| u == 0.0 && delta == 0.0, ..RIGHT }),
    ("softplus-for-its-slope", Pass { step_slope: |x, bias| softplus(x + bias), ..RIGHT }),
    ("gate-missing-in-skip or gate-missing", Pass { gated: |dout, z| [dout * silu(z), dout], ..RIGHT }),
    ("gate-missing", Pass { gated: |dout, _| [dout; 2], ..RIGHT }),
    ("gate-twice-in-backward", Pass { gated: |dout, z| [dout * silu(z).powi(2); 2], ..RIGHT }),
    ("gate-slope-silu", Pass { z: |y, skip, z| (y + skip) * silu(z), ..RIGHT }),
    ("gate-slope-sigmoid", Pass { z: |y, skip, z| (y + skip) * sigmoid(z), ..RIGHT }),
    ("gate-slope-parenthesis", Pass { z: |y, skip, z| (y + skip) * sigmoid(z) * (1.0 + z) * sigmoid(-z), ..RIGHT }),
    ("gate-slope-without-complement", Pass { z: |y, skip, z| (y + skip) * sigmoid(z) * (1.0 + z), ..RIGHT }),
    ("gate-slope-sum", Pass { z: |y, skip, z| (y + skip) * (sigmoid(z) + z * sigmoid(-z)), ..RIGHT }),
    ("gate-slope-without-sigmoid", Pass { z: |y, skip, z| (y + skip) * (1.0 + z * sigmoid(-z)), ..RIGHT }),
    ("gate-slope-missing", Pass { z: |y, skip, _| y + skip, ..RIGHT }),
    ("z-of-gated-output", Pass { z: |y, skip, z| (y + skip) * silu(z) * silu_slope(z), ..RIGHT }),
    ("readout-missing", Pass { z: |_, skip, z| skip * silu_slope(z), ..RIGHT }),
    ("skip-doubled", Pass { z: |y, skip, z| (y + 2.0 * skip) * silu_slope(z), ..RIGHT }),
    ("readout-halved", Pass { z: |y, skip, z| (y / 2.0 + skip) * silu_slope(z), ..RIGHT }),
    ("readout-doubled", Pass { z: |y, skip, z| (2.0 * y + skip) * silu_slope(z), ..RIGHT }),
    ("skip-doubled", Pass { u: |scan, skip| scan + 2.0 * skip, ..RIGHT }),
    ("b-missing", Pass { u_product: |p| p.g * p.h, ..RIGHT }),
    ("b-late", Pass { u_product: |p| p.g * p.h * p.b_before, ..RIGHT }),
    ("b-early", Pass { u_product: |p| p.g * p.h * p.b_after, ..RIGHT }),
    ("carry-without-a-bar", Pass { carried: |c| c.adjoint, ..RIGHT }),
    ("dlast-state-everywhere", Pass { dlast: |x, _, _| x, ..RIGHT }),
    ("last-position-without-gradient", Pass { reads: |p, given| resized(p, given, 27), ..RIGHT }),
    ("tail-8-without-gradient", Pass { reads: |p, given| resized(p, given, 24), ..RIGHT }),
    ("padded-to-8", Pass { reads: |p, given| resized(p, given, 32), ..RIGHT }),
    ("adjoint-lost-at-8", Pass { carried: |c| at_chunks(c, |_, _| C::ZERO), ..RIGHT }),
    ("adjoint-doubled-at-8", Pass { carried: |c| at_chunks(c, |a_bar, adjoint| 2.0 * a_bar * adjoint), ..RIGHT }),
    ("adjoint-undecayed-at-8", Pass { carried: |c| at_chunks(c, |_, adjoint| adjoint), ..RIGHT }),
    ("state-in-share-lost-at-8 or state-lost-at-8", Pass { start: |x, _, l| if l > 0 && l % 8 == 0 { C::ZERO } else { x }, ..RIGHT }),
    ("state-in-share-zero-at-8", Pass { states: |x| [if x.l > 0 && x.l % 8 == 0 { C::ZERO } else { x.before }, C::ZERO], ..RIGHT }),
    ("state-in-share-bf16-at-8 or state-bf16-at-8", Pass { start: |x, exact, l| if l > 0 && l % 8 == 0 { parts(exact, to_bf16) } else { x }, ..RIGHT }),
    ("state-in-share-f16-at-8 or state-f16-at-8", Pass { start: |x, exact, l| if l > 0 && l % 8 == 0 { parts(exact, to_f16) } else { x }, ..RIGHT }),
    ("dout-clipped-to-1", Pass { reads: |_, given| given.dout.iter_mut().for_each(|x| *x = x.clamp(-1.0, 1.0)), ..RIGHT }),
    ("gated-dout-bf16", Pass { gated: |dout, z| [to_bf16(dout * silu(z)); 2], ..RIGHT }),
    ("gated-dout-f16", Pass { gated: |dout, z| [to_f16(dout * silu(z)); 2], ..RIGHT }),
    ("adjoint-bf16", Pass { adjoint: |g| parts(g, to_bf16), ..RIGHT }),
    ("adjoint-f16", Pass { adjoint: |g| parts(g, to_f16), ..RIGHT }),
    ("state-in-share-bf16 or state-bf16", Pass { kept: |x| parts(x, to_bf16), ..RIGHT }),
    ("state-in-share-f16 or state-f16", Pass { kept: |x| parts(x, to_f16), ..RIGHT }),
    ("state-sum-in-bf16", Pass { over_states: |shares| shares.iter().fold(0.0, |sum, x| to_bf16(sum + x)), ..RIGHT }),
    ("rounded-state-sum-in-f16", Pass { over_states: |shares| shares.iter().fold(0.0, |sum, x| to_f16(sum + to_f16(*x))), ..RIGHT }),
    ("u-share-bf16 or state-share-bf16", Pass { over_states: |shares| shares.iter().copied().map(to_bf16).sum(), ..RIGHT }),
};

/// Where h and its derivatives are more than Δ.
const OF_H: &[(&str, Method, Pass)] = table! {
    ("phi-slope-next", HighOrder, Pass { slope: |f, z| of_phi(f, z, |_, [_, _, next]| next), ..RIGHT }),
    ("phi-slope-k-next", HighOrder, Pass { slope: |f, z| of_phi(f, z, |k, [_, _, next]| k * next), ..RIGHT }),
    ("phi-slope-same", Foh, Pass { slope: |f, z| of_phi(f, z, |_, [_, same, _]| same), ..RIGHT }),
    ("phi-slope-plus", Foh, Pass { slope: |f, z| of_phi(f, z, |k, [_, same, next]| same + k * next), ..RIGHT }),
    ("phi-slope-before", Poly, Pass { slope: |f, z| of_phi(f, z, |_, [before, _, _]| before), ..RIGHT }),
    ("power-slope-next-k", Rk4, Pass { slope: |f, z| of_power(f, z, |k, z| f64::from(k + 1) * z.powi(k - 1)), ..RIGHT }),
    ("power-slope-k-before", Rk4, Pass { slope: |f, z| of_power(f, z, |k, z| f64::from(k - 1) * z.powi(k - 1)), ..RIGHT }),
    ("power-slope-not-lowered", Rk4, Pass { slope: |f, z| of_power(f, z, |k, z| f64::from(k) * z.powi(k)), ..RIGHT }),
    ("power-slope-same", Rk4, Pass { slope: |f, z| of_power(f, z, |k, z| z.powi(k)), ..RIGHT }),
    ("a-bar-slope-exponential", Bilinear, Pass { a_bar_slope: |_, z| (1.0 + z / 2.0) / (1.0 - z / 2.0), ..RIGHT }),
    ("phi-slope-scaled", HighOrder, Pass { slope: |f, z| if f == Function::Phi(2) { 0.37 * slope(f, z) } else { slope(f, z) }, ..RIGHT }),
    ("delta-slope-without-a", HighOrder, Pass { inner: |delta, _| [1.0.into(), delta.into()], ..RIGHT }),
    ("a-slope-without-delta", Poly, Pass { inner: |_, a| [a, 1.0.into()], ..RIGHT }),
    ("a-bar-slope-by-delta-times-log2e", Rk4, Pass { delta: |a_bar, h| a_bar * LOG2_E + h, ..RIGHT }),
    ("a-bar-slope-by-a-times-log2e", Rk4, Pass { a: |a_bar, h, _| a_bar * LOG2_E + h, ..RIGHT }),
    ("a-bar-slope-by-a-times-ln2", Foh, Pass { a: |a_bar, h, _| a_bar * LN_2 + h, ..RIGHT }),
    ("u-share-over-delta", HighOrder, Pass { u_product: |p| p.g * p.h * p.b / p.delta, ..RIGHT }),
    ("h-missing", HighOrder, Pass { u_product: |p| p.g * p.b, ..RIGHT }),
    ("h-missing", Foh, Pass { b_product: |p| p.g * p.u, ..RIGHT }),
};

/// Of poly's two directions.
const OF_TWO_SCANS: &[(&str, Pass)] = table! {
    ("reversed-no-recurrence", Pass { carried: |c| if c.reversed { C::ZERO } else { c.a_bar * c.adjoint }, ..RIGHT }),
    ("reversed-carry-without-a-bar", Pass { carried: |c| if c.reversed { c.adjoint } else { c.a_bar * c.adjoint }, ..RIGHT }),
    ("dlast-state-in-both-scans", Pass { dlast: |x, _, begins| if begins { x } else { C::ZERO }, ..RIGHT }),
    ("dlast-state-halved", Pass { dlast: |x, reversed, begins| (RIGHT.dlast)(x / 2.0, reversed, begins), ..RIGHT }),
    ("reversed-state-of-other-side", Pass { states: |x| [x.before, x.reversed_before], ..RIGHT }),
    ("reversed-state-of-forward", Pass { states: |x| [x.before; 2], ..RIGHT }),
    ("reversed-adjoint-lost-at-8", Pass { carried: |c| if c.reversed { at_chunks(c, |_, _| C::ZERO) } else { c.a_bar * c.adjoint }, ..RIGHT }),
    ("reversed-adjoint-undecayed-at-8", Pass { carried: |c| if c.reversed { at_chunks(c, |_, adjoint| adjoint) } else { c.a_bar * c.adjoint }, ..RIGHT }),
    ("reversed-missing", Pass { factors: |factor| [factor, 0.0], ..RIGHT }),
    ("forward-no-recurrence", Pass { carried: |c| if c.reversed { c.a_bar * c.adjoint } else { C::ZERO }, ..RIGHT }),
    ("forward-carry-without-a-bar", Pass { carried: |c| if c.reversed { c.a_bar * c.adjoint } else { c.adjoint }, ..RIGHT }),
    ("forward-adjoint-lost-at-8", Pass { carried: |c| if c.reversed { c.a_bar * c.adjoint } else { at_chunks(c, |_, _| C::ZERO) }, ..RIGHT }),
};

/// Several gradients each see a part of what is wrong: what explains them all comes first.
const OF_SEVERAL: &[(&str, Method, Pass)] = table! {
    ("dout-in-adjoint-missing or c-share-missing", Poly, Pass { factors: |factor| [0.0, factor], ..RIGHT }),
    ("reversed-missing + half-missing or reversed-state-is-state or half-missing", Poly, Pass { factors: |factor| [2.0 * factor, 0.0], ..RIGHT }),
    ("half-missing", Poly, Pass { factors: |factor| [2.0 * factor; 2], ..RIGHT }),
    ("u-of-first-batch", Zoh, Pass { reads: |p, _| first_for_all(&mut p.u), ..RIGHT }),
    ("delta-of-first-batch", Zoh, Pass { reads: |p, _| first_for_all(&mut p.delta), ..RIGHT }),
    ("b-of-modulo-group", Zoh, Pass { operand_of: |name, d| if name == 'B' { d % 2 * 3 } else { d }, ..RIGHT }),
    ("c-of-modulo-group", Zoh, Pass { operand_of: |name, d| if name == 'C' { d % 2 * 3 } else { d }, ..RIGHT }),
};

/// Of complex weights.
const OF_COMPLEX: &[(&str, Method, Pass)] = table! {
    ("dout-in-scan-doubled", Foh, Pass { factors: |factor| [2.0 * factor; 2], ..RIGHT }),
    ("dlast-state-doubled", Foh, Pass { dlast: |x, reversed, begins| (RIGHT.dlast)(2.0 * x, reversed, begins), ..RIGHT }),
    ("a-bar-unconjugated", Poly, Pass { conj: |of, x| if of == Of::ABar { x } else { x.conj() }, ..RIGHT }),
    ("c-unconjugated", Zoh, Pass { conj: |of, x| if of == Of::C { x } else { x.conj() }, ..RIGHT }),
    ("b-unconjugated", Foh, Pass { conj: |of, x| if of == Of::B { x } else { x.conj() }, ..RIGHT }),
    ("h-unconjugated", Foh, Pass { conj: |of, x| if of == Of::H { x } else { x.conj() }, ..RIGHT }),
    ("a-bar-slope-by-delta-unconjugated or a-bar-slope-by-a-unconjugated", HighOrder, Pass { conj: |of, x| if matches!(of, Of::ABarSlope | Of::HSlope | Of::A) { x } else { x.conj() }, ..RIGHT }),
    ("a-bar-slope-by-delta-unconjugated or a-bar-slope-by-a-unconjugated", Rk4, Pass { conj: |of, x| if matches!(of, Of::ABarSlope | Of::A) { x } else { x.conj() }, ..RIGHT }),
    ("h-slope-by-delta-unconjugated or h-slope-by-a-unconjugated", Poly, Pass { conj: |of, x| if of == Of::HSlope { x } else { x.conj() }, ..RIGHT }),
    ("conjugate-of-exponent + a-bar-slope-by-delta-unconjugated", Bilinear, Pass { conj: |of, x| if of == Of::A { x } else { x.conj() }, ..RIGHT }),
};

/// Of positions and batch. The first whole chunks of a length are the first chunk of a longer one as well.
const SUMS: &[(&str, fn(&[&[C]]) -> C)] = table! {
    ("batch-last-alone", |rows: &[&[C]]| total(rows[1])),
    ("position-first-alone", |rows: &[&[C]]| items(rows, |row| row[0])),
    ("position-last-alone", |rows: &[&[C]]| items(rows, |row| row[27])),
    ("position-averaged", |rows: &[&[C]]| items(rows, |row| total(row) / 28.0)),
    ("sum-without-first", |rows: &[&[C]]| items(rows, |row| total(&row[1..]))),
    ("sum-without-last", |rows: &[&[C]]| items(rows, |row| total(&row[..27]))),
    ("sum-of-first-8", |rows: &[&[C]]| items(rows, |row| total(&row[..8]))),
    ("sum-of-last-4", |rows: &[&[C]]| items(rows, |row| total(&row[24..]))),
    ("sum-in-bf16", |rows: &[&[C]]| items(rows, |row| added(row, as_is, to_bf16))),
    ("sum-from-last-in-f16", |rows: &[&[C]]| items(rows, |row| added(row.iter().rev(), as_is, to_f16))),
    ("sum-over-batch-in-bf16", |rows: &[&[C]]| added(rows.iter().copied().flatten(), as_is, to_bf16)),
    ("sum-over-batch-from-last-in-f16", |rows: &[&[C]]| added(rows.iter().flat_map(|row| row.iter().rev()), as_is, to_f16)),
    ("rounded-sum-in-f16", |rows: &[&[C]]| items(rows, |row| added(row, to_f16, to_f16))),
    ("rounded-sum-from-last-in-bf16", |rows: &[&[C]]| items(rows, |row| added(row.iter().rev(), to_bf16, to_bf16))),
    ("rounded-sum-over-batch-in-f16", |rows: &[&[C]]| added(rows.iter().copied().flatten(), to_f16, to_f16)),
    ("rounded-sum-over-batch-from-last-in-bf16", |rows: &[&[C]]| added(rows.iter().flat_map(|row| row.iter().rev()), to_bf16, to_bf16)),
    ("a-bar-share-of-a-bf16 or position-share-bf16", |rows: &[&[C]]| items(rows, |row| added(row, to_bf16, as_is))),
    ("sum-of-first-24", |rows: &[&[C]]| items(rows, |row| total(&row[..24]))),
};

const OF_GROUPS: &[(&str, fn(&[C]) -> C)] = table! {
    ("group-last-alone", |shares: &[C]| shares[2]),
    ("group-averaged", |shares: &[C]| total(shares) / 3.0),
    ("group-sum-in-bf16", |shares: &[C]| added(shares, as_is, to_bf16)),
    ("group-sum-from-last-in-f16", |shares: &[C]| added(shares.iter().rev(), as_is, to_f16)),
    ("rounded-group-sum-in-f16", |shares: &[C]| added(shares, to_f16, to_f16)),
    ("rounded-group-sum-from-last-in-bf16", |shares: &[C]| added(shares.iter().rev(), to_bf16, to_bf16)),
    ("b-share-bf16 or c-share-bf16", |shares: &[C]| added(shares, to_bf16, as_is)),
};

/// A factor that nobody has listed.
const FACTORS: &[(&str, Pass)] = table! {
    ("a-bar-slope-by-delta-scaled or a-bar-slope-by-a-scaled", Pass { delta: |a_bar, h| 0.37 * a_bar + h, a: |a_bar, h, _| 0.37 * a_bar + h, ..RIGHT }),
    ("h-slope-by-delta-scaled or h-slope-by-a-scaled", Pass { delta: |a_bar, h| a_bar + 0.37 * h, a: |a_bar, h, _| a_bar + 0.37 * h, ..RIGHT }),
    ("d-scaled", Pass { u: |scan, skip| scan + 0.37 * skip, ..RIGHT }),
    ("sum-scaled", Pass { z: |y, skip, z| (0.37 * y + skip) * silu_slope(z), ..RIGHT }),
    ("skip-scaled", Pass { z: |y, skip, z| (y + 0.37 * skip) * silu_slope(z), ..RIGHT }),
    ("dlast-state-scaled", Pass { dlast: |x, reversed, begins| (RIGHT.dlast)(0.37 * x, reversed, begins), ..RIGHT }),
    ("initial-state-scaled", Pass { reads: |p, _| p.initial_state.iter_mut().flatten().for_each(|x| *x *= 0.37), ..RIGHT }),
    ("c-scaled", Pass { entering: |x| 0.37 * x, ..RIGHT }),
    ("dout-in-scan-scaled", Pass { factors: |factor| [0.37 * factor; 2], ..RIGHT }),
    ("first-position-scaled", Pass { sum: |rows| items(rows, |row| 0.37 * row[0] + total(&row[1..])), ..RIGHT }),
    ("last-position-scaled", Pass { sum: |rows| items(rows, |row| total(&row[..27]) + 0.37 * row[27]), ..RIGHT }),
    ("sum-weighted", Pass { sum: |rows| items(rows, |row| 0.37 * total(&row[..16]) + total(&row[16..])), ..RIGHT }),
    ("sum-weighted", Pass { sum: |rows| items(rows, |row| total(&row[..16]) + 0.37 * total(&row[16..])), ..RIGHT }),
    ("reversed-adjoint-scaled or reversed-state-scaled", Pass { factors: |factor| [factor, 0.37 * factor], ..RIGHT }),
    ("dout-in-adjoint-scaled", Pass { factors: |factor| [0.37 * factor, factor], ..RIGHT }),
};

/// In some places only, which are said.
const PLACES: &[(&str, &[GradientName], &str, Pass)] = table! {
    ("gate-slope-sigmoid", &[GradientName::Z], "where z_l is below -0.5 alone", Pass { z: |y, skip, z| (y + skip) * if z < -0.5 { sigmoid(z) } else { silu_slope(z) }, ..RIGHT }),
    ("softplus-slope-missing", &[Delta, GradientName::DeltaBias], "where Δ_l is at least 0.9 alone", Pass { step_slope: |x, bias| if softplus(x + bias) > 0.9 { 1.0 } else { sigmoid(x + bias) }, ..RIGHT }),
    ("gradient-negated", &[U], "from item 1 on alone", Pass { spoilt: Some((U, |values, _| { let half = values.len() / 2; values[half..].iter_mut().for_each(|x| *x = -*x) })), ..RIGHT }),
    ("gradient-doubled", &[Delta], "at channels 2 to 3 alone", Pass { spoilt: Some((Delta, |values, seqlen| values.chunks_mut(6 * seqlen).for_each(|item| item[2 * seqlen..4 * seqlen].iter_mut().for_each(|x| *x *= 2.0)))), ..RIGHT }),
};

/// What becomes of one gradient in the end.
const SPOILT: &[(&str, GradientName, fn(&mut [f32], usize))] = table! {
    ("gradient-halved", U, |values: &mut [f32], _| values.iter_mut().for_each(|x| *x /= 2.0)),
    ("gradient-zero", A, |values: &mut [f32], _| values.fill(0.0)),
    ("gradient-reversed", Delta, |values: &mut [f32], seqlen| values.chunks_mut(seqlen).for_each(<[f32]>::reverse)),
    ("gradient-real-part", B, |values: &mut [f32], _| values.chunks_mut(2).for_each(|x| x[1] = 0.0)),
    ("gradient-real-part", InitialState, |values: &mut [f32], _| values.chunks_mut(2).for_each(|x| x[1] = 0.0)),
    ("gradient-parts-exchanged", A, |values: &mut [f32], _| values.chunks_mut(2).for_each(<[f32]>::reverse)),
};

/// Of two scans one alone begins at the initial state, and what else would make its gradient 0 says less.
const WITHOUT: &[(Method, Weights)] = table! { (Zoh, Real), (Zoh, Complex), (Poly, Real), (Poly, Complex) };

tables! {
    a_slip_is_named: SLIPS, |(name, pass), asked| {
        is_named(asked, name, (Zoh, Real), pass, &[]);
    };
    a_slip_in_h_is_named: OF_H, |(name, method, pass), asked| {
        for weights in Weights::ALL {
            is_named(asked, name, (*method, weights), pass, &[]);
        }
    };
    a_slip_in_one_of_two_scans_is_named: OF_TWO_SCANS, |(name, pass), asked| {
        for weights in Weights::ALL {
            is_named(asked, name, (Poly, weights), pass, &[]);
        }
    };
    a_slip_in_several_gradients_is_named: OF_SEVERAL, |(name, method, pass), asked| {
        is_named(asked, name, (*method, Real), pass, &[]);
    };
    a_missing_conjugate_or_factor_is_named: OF_COMPLEX, |(name, method, pass), asked| {
        is_named(asked, name, (*method, Complex), pass, &[]);
    };
    a_wrong_sum_is_named: SUMS, |(name, sum), asked| {
        is_named(asked, name, (Zoh, Real), &Pass { sum: *sum, ..RIGHT }, &[]);
    };
    a_wrong_sum_over_a_group_is_named: OF_GROUPS, |(name, group), asked| {
        is_named(asked, name, (Zoh, Real), &Pass { group: *group, ..RIGHT }, &[]);
    };
    a_factor_is_named: FACTORS, |(name, pass), asked| {
        // What arrives at the initial state is of the forward scan alone, and cannot tell it from both.
        let of: &[GradientName] = if *name == "dout-in-adjoint-scaled" { &[U, Delta, A, B] } else { &[] };
        for sentence in is_named(asked, name, (Poly, Complex), pass, of) {
            assert!(sentence.contains("0.37"), "{name}: {sentence}");
        }
    };
    what_is_wrong_in_places_is_named_with_them: PLACES, |(name, of, says, pass), asked| {
        for sentence in is_named(asked, name, (Foh, Real), pass, of) {
            assert!(sentence.contains(says), "{name}: {sentence}");
        }
    };
    a_gradient_that_is_spoilt_is_named: SPOILT, |(name, of, spoil), asked| {
        is_named(asked, name, (Foh, Complex), &Pass { spoilt: Some((*of, *spoil)), ..RIGHT }, &[*of]);
    };
    an_initial_state_without_a_gradient_is_named: WITHOUT, |of, asked| {
        let spoil: fn(&mut [f32], usize) = |values, _| values.fill(0.0);
        let pass = Pass { spoilt: Some((InitialState, spoil)), ..RIGHT };
        is_named(asked, "gradient-zero", *of, &pass, &[InitialState]);
    };
}

/// What is stored in 16 bits is rounded as much as it is large: no second fault.
#[test]
fn a_sum_that_is_stored_in_16_bits_has_one_name() {
    for (method, weights, input) in
        [(Zoh, Real, InputType::Bf16), (HighOrder, Real, InputType::F16), (Poly, Complex, InputType::F16)]
    {
        let given = drawn(weights, Operand::Variable, input);
        let wrong = run(&Pass { group: |shares| shares[2], ..RIGHT }, method, &given);
        let judged = checked(method, &given, &wrong, None);
        for name in [B, GradientName::C] {
            let found: Vec<&str> = judged[name].diagnosis.iter().map(|found| &found.name[..]).collect();
            assert_eq!(found, ["group-last-alone"], "{method} {name}");
        }
    }
}

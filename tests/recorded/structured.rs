//! Promise: mistakes of structure are identified with their numbers: chunks, lags, flips, layouts, and what is left out.
//!
//! The scan here is written anew, in f64 and plainly, and shares nothing with the fault models.

use holdfast::problem::inputs::{self, Draw};
use holdfast::problem::regime::{self, Recipe, StateMatrix};
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use num_complex::Complex64;

use crate::searched::{Asked, Said, said};
use crate::written::{ComplexAs, File};

const VARIABLE: (Operand, Operand) = (Operand::Variable, Operand::Variable);
const LEN: usize = 45;

type C = Complex64;
/// C x of a reversed scan, of Ā, B̄u and C.
type Reversed = fn(&[C], &[C], &[C]) -> Vec<C>;
type Walk = fn(&[C], &[C]) -> (Vec<C>, C);

/// What the scan of one channel reads.
struct Channel {
    steps: Vec<f64>,
    /// Δ where delta is 0.
    of_0: f64,
    /// Of Ā and of B̄.
    a: [Vec<C>; 2],
    b: Vec<Vec<C>>,
    c: Vec<Vec<C>>,
    u: Vec<f64>,
}

/// A scan, and what may be wrong with it.
#[derive(Clone, Copy)]
struct Kernel {
    method: &'static str,
    alter: fn(&mut Channel),
    /// Ā of z = ΔA.
    a_bar: fn(C) -> C,
    /// B̄/B of Δ and A.
    b_bar: fn(f64, C) -> C,
    /// B̄/B with B.
    enter: fn(C, C) -> C,
    /// The states that are read, and the last one, of Ā and B̄u.
    walk: Walk,
    /// Whether what is read of the states is flipped along the sequence.
    flips_back: bool,
    /// C x of the reversed scan, where there is one.
    reversed: Option<Reversed>,
    /// The skip of D, u and y.
    skip: fn(f64, f64, f64) -> f64,
    /// The output of y, the skip and z.
    output: fn(f64, f64, f64) -> f64,
    /// What is returned as the last state n.
    last: fn(&Channel, usize, C) -> C,
}

const ZOH: Kernel = Kernel {
    method: "zoh",
    alter: |_| {},
    a_bar: |z| z.exp(),
    b_bar: |delta, _| delta.into(),
    enter: |b_bar, b| b_bar * b,
    walk: plain,
    flips_back: false,
    reversed: None,
    skip: |d, u, _| d * u,
    output: |y, skip, z| (y + skip) * z / (1.0 + (-z).exp()),
    last: |_, _, x| x,
};
const BILINEAR: Kernel = Kernel {
    method: "bilinear",
    a_bar: |z| (1.0 + z / 2.0) / (1.0 - z / 2.0),
    b_bar: |delta, a| delta / (1.0 - delta * a / 2.0),
    ..ZOH
};
const POLY: Kernel = Kernel {
    method: "poly",
    b_bar: |delta, a| phi(1, delta * a) * delta + phi_2(delta * a) * (delta * delta / 2.0),
    reversed: Some(reversed),
    ..ZOH
};
const FOH: Kernel = Kernel { method: "foh", b_bar: |delta, a| phi_2(delta * a) * delta * delta, ..ZOH };

fn plain(a_bar: &[C], input: &[C]) -> (Vec<C>, C) {
    let mut x = C::ZERO;
    let step = |(a_bar, input): (&C, &C)| {
        x = a_bar * x + input;
        x
    };
    let states: Vec<C> = a_bar.iter().zip(input).map(step).collect();
    (states, x)
}

fn reversed(a_bar: &[C], input: &[C], c: &[C]) -> Vec<C> {
    let backwards = |values: &[C]| values.iter().rev().copied().collect::<Vec<C>>();
    let mut states = plain(&backwards(a_bar), &backwards(input)).0;
    states.reverse();
    states.iter().zip(c).map(|(x, c)| c * x).collect()
}

/// The same, which begins anew every so many positions from an end.
fn reversed_in_chunks(a_bar: &[C], input: &[C], c: &[C], length: usize, end: usize) -> Vec<C> {
    let mut x = C::ZERO;
    let mut read = vec![C::ZERO; a_bar.len()];
    for l in (0..a_bar.len()).rev() {
        let is_first = (end - 1 - l).is_multiple_of(length);
        x = input[l] + if is_first { C::ZERO } else { a_bar[l] * x };
        read[l] = c[l] * x;
    }
    read
}

/// By its series, of as many terms as double takes.
fn phi(k: u32, z: C) -> C {
    let mut term = C::from(1.0 / (1..=k).map(f64::from).product::<f64>());
    let mut sum = C::ZERO;
    for i in 0..40 {
        sum += term;
        term *= z / f64::from(i + 1 + k);
    }
    sum
}

fn phi_2(z: C) -> C {
    phi(2, z)
}

/// Chunks of so many positions, each with the weight that the state it is given has at position l of the chunk from s.
fn chunked(
    (a_bar, input): (&[C], &[C]),
    length: usize,
    weight: impl Fn(&[C], usize, usize) -> C,
) -> (Vec<C>, C) {
    let (mut states, mut given) = (Vec::new(), C::ZERO);
    for s in (0..a_bar.len()).step_by(length) {
        let end = a_bar.len().min(s + length);
        let (own, last) = plain(&a_bar[s..end], &input[s..end]);
        states
            .extend((s..end).map(|l| own[l - s] + if s > 0 { weight(a_bar, s, l) * given } else { C::ZERO }));
        given = last + a_bar[s..end].iter().product::<C>() * given;
    }
    (states, given)
}

/// Chunks of so many positions, each of which goes on from the state before the last position.
fn last_but_one(a_bar: &[C], input: &[C], length: usize) -> (Vec<C>, C) {
    let (mut x, mut before, mut states) = (C::ZERO, C::ZERO, Vec::new());
    for (l, (a, b)) in a_bar.iter().zip(input).enumerate() {
        let from = if l > 0 && l % length == 0 { before } else { x };
        (before, x) = (x, a * from + b);
        states.push(x);
    }
    (states, x)
}

/// Inputs that are decayed by the steps before them, in chunks.
fn exchanged(a_bar: &[C], input: &[C], length: usize) -> (Vec<C>, C) {
    let (mut states, mut given) = (Vec::new(), C::ZERO);
    for s in (0..a_bar.len()).step_by(length) {
        let (mut product, mut own) = (C::ONE, C::ZERO);
        for l in s..a_bar.len().min(s + length) {
            own += product * input[l];
            product *= a_bar[l];
            states.push(own + product * given);
        }
        given = own + product * given;
    }
    (states, given)
}

/// P Σ b/P, with P the product of all Ā so far, or what stands in its place below.
fn log_space(a_bar: &[C], input: &[C], below: fn(C) -> C) -> (Vec<C>, C) {
    let (mut product, mut sum, mut states) = (C::ONE, C::ZERO, Vec::new());
    for (a, b) in a_bar.iter().zip(input) {
        product *= a;
        sum += b / below(product);
        states.push(product * sum);
    }
    let last = states[states.len() - 1];
    (states, last)
}

fn from(mut x: C, a_bar: &[C], input: &[C]) -> (Vec<C>, C) {
    let step = |(a_bar, input): (&C, &C)| {
        x = a_bar * x + input;
        x
    };
    let states: Vec<C> = a_bar.iter().zip(input).map(step).collect();
    (states, x)
}

fn rolled(values: &[C]) -> Vec<C> {
    [&values[values.len() - 1..], &values[..values.len() - 1]].concat()
}

fn problem(seed: u64, weights: Weights) -> Problem {
    drawn(seed, weights, Shape { batch: 2, dim: 6, dstate: 5, seqlen: LEN, groups: 1 })
}

fn drawn(seed: u64, weights: Weights, shape: Shape) -> Problem {
    let recipe = Recipe { shape, a: StateMatrix::Stable(0.3, 3.0), ..regime::EVERYTHING };
    let mut draw = Draw::new(seed, "structured");
    let mut problem = inputs::draw(&recipe, weights, InputType::F32, VARIABLE, &mut draw);
    problem.judged_channels = problem.channels().collect();
    problem
}

fn run(kernel: &Kernel, problem: &Problem) -> (Vec<f32>, Vec<f32>) {
    let Shape { dstate, seqlen, .. } = problem.shape;
    let is_complex = problem.weights == Weights::Complex;
    let width = problem.weights.width();
    let number = |values: &[f32], index: usize| {
        C::new(f64::from(values[index]), if is_complex { f64::from(values[index + 1]) } else { 0.0 })
    };
    let of_channel = |values: &Option<Vec<f32>>, d: usize| values.as_ref().map_or(0.0, |v| f64::from(v[d]));
    let softplus = |x: f64| x.exp().ln_1p();
    let (mut out, mut last) = (Vec::new(), Vec::new());
    for (batch, d) in problem.channels() {
        let sequence = |values: &[f32]| -> Vec<f64> {
            (0..seqlen).map(|l| f64::from(values[problem.sequence_index(batch, d, l)])).collect()
        };
        let bias = of_channel(&problem.delta_bias, d);
        let a: Vec<C> = (0..dstate).map(|n| number(&problem.a, problem.weight_index(d, n))).collect();
        let operand = |values: &[f32]| -> Vec<Vec<C>> {
            let at = |n, l| number(values, problem.operand_index(Operand::Variable, (batch, d), n, l));
            (0..dstate).map(|n| (0..seqlen).map(|l| at(n, l)).collect()).collect()
        };
        let mut channel = Channel {
            steps: sequence(&problem.delta).into_iter().map(|x| softplus(x + bias)).collect(),
            of_0: softplus(bias),
            a: [a.clone(), a],
            b: operand(&problem.b),
            c: operand(&problem.c),
            u: sequence(&problem.u),
        };
        let given = channel.u.clone();
        (kernel.alter)(&mut channel);
        let mut y = vec![0.0; seqlen];
        for n in 0..dstate {
            let a_bar: Vec<C> =
                channel.steps.iter().map(|delta| (kernel.a_bar)(channel.a[0][n] * delta)).collect();
            let input = |l: usize| {
                let b_bar = (kernel.b_bar)(channel.steps[l], channel.a[1][n]);
                (kernel.enter)(b_bar, channel.b[n][l]) * channel.u[l]
            };
            let input: Vec<C> = (0..seqlen).map(input).collect();
            let (states, x) = (kernel.walk)(&a_bar, &input);
            let mut read: Vec<C> = states.iter().zip(&channel.c[n]).map(|(x, c)| c * x).collect();
            if let Some(reversed) = kernel.reversed {
                let other = reversed(&a_bar, &input, &channel.c[n]);
                read.iter_mut().zip(other).for_each(|(read, other)| *read = (*read + other) / 2.0);
            }
            for (l, read) in read.iter().enumerate() {
                y[l] += if is_complex { 2.0 } else { 1.0 } * read.re;
            }
            let x = (kernel.last)(&channel, n, x);
            last.extend([x.re as f32, x.im as f32].into_iter().take(width));
        }
        if kernel.flips_back {
            y.reverse();
        }
        let z = problem.z.as_ref().map_or_else(Vec::new, |z| sequence(z));
        let skip = |l: usize| (kernel.skip)(of_channel(&problem.d, d), given[l], y[l]);
        out.extend((0..seqlen).map(|l| (kernel.output)(y[l], skip(l), z[l]) as f32));
    }
    (out, last)
}

/// What is said of what this computes of other inputs than are recorded, where `name` is expected.
fn of(asked: Asked, kernel: &Kernel, (given, computed): (&Problem, &Problem), name: &str) -> Said {
    recorded(asked, given, (kernel.method, &run(kernel, computed)), name)
}

fn recorded(
    asked: Asked,
    given: &Problem,
    (method, (out, last)): (&str, &(Vec<f32>, Vec<f32>)),
    name: &str,
) -> Said {
    let mut file = File::of(given, ComplexAs::Trailing);
    file.add_output(given, method, out, Some(last), ComplexAs::Trailing);
    said(&file.recording(), asked.of(name))
}

#[test]
fn the_plain_scan_is_sound() {
    for kernel in [ZOH, FOH, BILINEAR, POLY] {
        for weights in Weights::ALL {
            let problem = problem(1, weights);
            let (out, last) = run(&kernel, &problem);
            let mut file = File::of(&problem, ComplexAs::Trailing);
            file.add_output(&problem, kernel.method, &out, Some(&last), ComplexAs::Trailing);
            said(&file.recording(), None).is_right(kernel.method);
        }
    }
}

/// A name, what is said with it, and the scan.
type Wrong = (&'static str, &'static str, Kernel);

const STRUCTURE: &[Wrong] = table! {
    ("scan-operands-exchanged", "decayed by the steps before it", Kernel { walk: |a, b| exchanged(a, b, usize::MAX), ..ZOH }),
    ("scan-operands-exchanged", "within chunks of 11", Kernel { walk: |a, b| exchanged(a, b, 11), ..ZOH }),
    ("chunk-carry-decayed-too-little", "into a chunk of 13", Kernel { walk: |a, b| chunked((a, b), 13, |a, s, l| a[s..l].iter().product()), ..ZOH }),
    ("chunk-carry-decayed-too-little", "not by the chunk's first step", Kernel { walk: |a, b| chunked((a, b), 17, |a, s, l| a[s + 1..=l].iter().product()), ..ZOH }),
    ("chunk-carry-decayed-too-much", "the last step of the chunk before", Kernel { walk: |a, b| chunked((a, b), 10, |a, s, l| a[s - 1..=l].iter().product()), ..ZOH }),
    ("chunk-carry-decayed-too-little", "at position l by the step of l alone", Kernel { walk: |a, b| chunked((a, b), 10, |a, _, l| a[l]), ..ZOH }),
    ("chunk-carry-last-but-one", "a chunk of 12 is given the state of the last position but one", Kernel { walk: |a, b| last_but_one(a, b, 12), ..ZOH }),
    ("skip-of-readout", "D multiplies what is read of the states", Kernel { skip: |d, _, y| d * y, ..ZOH }),
    ("gate-sigmoid-negated", "z·sigmoid(−z)", Kernel { output: |y, skip, z| (y + skip) * z / (1.0 + z.exp()), ..ZOH }),
    ("b-stale-at-chunks", "first position of each chunk of 9", Kernel { alter: |c| for row in &mut c.b { for l in (9..LEN).step_by(9) { row[l] = row[l - 1]; } }, ..ZOH }),
    ("delta-stale-at-chunks", "position after at the last position of each chunk of 8", Kernel { alter: |c| for l in (7..LEN - 1).step_by(8) { c.steps[l] = c.steps[l + 1]; }, ..ZOH }),
    ("c-missing-at-chunks", "first position of each chunk of 14", Kernel { alter: |c| for row in &mut c.c { for l in (14..LEN).step_by(14) { row[l] = C::ZERO; } }, ..ZOH }),
    ("flipped-in-part", "B flipped along the sequence before the scan", Kernel { alter: |c| c.b.iter_mut().for_each(|row| row.reverse()), flips_back: true, ..ZOH }),
    ("flipped-in-part", "Δ, C of the scan flipped along the sequence, and nothing", Kernel { alter: |c| { c.steps.reverse(); c.c.iter_mut().for_each(|row| row.reverse()); }, ..ZOH }),
    ("flipped-in-part", "u of the scan flipped along the sequence, and nothing", Kernel { alter: |c| c.u.reverse(), ..ZOH }),
    ("b-late", "l − 7, around the end", Kernel { alter: |c| c.b.iter_mut().for_each(|row| row.rotate_right(7)), ..ZOH }),
    ("delta-late", "l − 3, around the end", Kernel { alter: |c| c.steps.rotate_right(3), ..ZOH }),
    ("states-left-out", "states from 3 on", Kernel { alter: |c| c.b[3..].iter_mut().for_each(|row| row.fill(C::ZERO)), ..ZOH }),
    ("states-not-read", "state 2 is left out of the output", Kernel { alter: |c| c.c[2].fill(C::ZERO), ..ZOH }),
    ("states-not-read", "counts states 0, 3 not at all, and the others once", Kernel { alter: |c| [0, 3].iter().for_each(|n| c.c[*n].fill(C::ZERO)), ..ZOH }),
    ("states-counted-otherwise", "counts state 4 half, state 1 twice, and the others once", Kernel { alter: |c| for (n, factor) in [(1, 2.0), (4, 0.5)] { c.c[n].iter_mut().for_each(|c| *c *= factor) }, ..ZOH }),
    ("b-bar-other-near-0", "lacks a factor Δ where |ΔA| is below 0.3", Kernel { b_bar: |delta, a| phi_2(delta * a) * delta * if (delta * a).norm() < 0.3 { 1.0 } else { delta }, ..FOH }),
    ("chunk-state-forgotten", "chunks of 13 start from 0; in the reversed scan alone, whose chunks are counted from the end", Kernel { reversed: Some(|a, b, c| reversed_in_chunks(a, b, c, 13, LEN)), ..POLY }),
    ("chunk-state-forgotten", "chunks of 16 start from 0; in the reversed scan alone, whose chunks are counted from the first position", Kernel { reversed: Some(|a, b, c| reversed_in_chunks(a, b, c, 16, LEN.next_multiple_of(16))), ..POLY }),
    ("phi-taylor-1-near-0", "its first term where |ΔA| is below 0.3", Kernel { b_bar: |delta, a| delta * delta * if (delta * a).norm() < 0.3 { C::from(0.5) } else { phi_2(delta * a) }, ..FOH }),
    ("last-state-after-padding", "3 padded positions more, to a multiple of 16, with u = 0 and delta = 0", Kernel { last: |c, n, x| (c.a[0][n] * c.of_0 * 3.0).exp() * x, ..ZOH }),
    ("last-state-after-padding", "19 padded positions more, to a multiple of 64, with u = 0 and the last", Kernel { last: |c, n, x| (c.a[0][n] * c.steps[LEN - 1] * 19.0).exp() * x, ..ZOH }),
    ("delta-held-in-last-block", "in the last block of", Kernel { alter: |c| { let held = c.steps[31]; c.steps[32..].fill(held); }, ..ZOH }),
    ("c-stale-in-last-block", "the block before in the last block of 20", Kernel { alter: |c| for row in &mut c.c { for l in 40..LEN { row[l] = row[l - 20]; } }, ..ZOH }),
    ("b-bar-of-zoh-near-0", "where Δ is below 0.05", Kernel { b_bar: |delta, a| if delta < 0.05 { delta.into() } else { phi_2(delta * a) * delta * delta }, ..FOH }),
    ("division-guarded", "divided by A − 0.3", Kernel { b_bar: |delta, a| phi_2(delta * a) * delta * delta * (a / (a - 0.3)).powi(2), ..FOH }),
    ("a-scaled-in-a-bar", "by 0.7 in Ā only", Kernel { a_bar: |z| (0.7 * z).exp(), ..FOH }),
    ("a-offset", "−0.05 is added to A", Kernel { alter: |c| c.a.iter_mut().flatten().for_each(|a| *a -= 0.05), ..ZOH }),
    ("reads-without-input", "without the input of its own position", Kernel { walk: |a, b| { let (states, x) = plain(a, b); (states.iter().zip(b).map(|(x, b)| x - b).collect(), x) }, ..ZOH }),
    ("poly-input-once", "one of the two scans is exclusive", Kernel { walk: |a, b| { let (states, x) = plain(a, b); (states.iter().zip(b).map(|(x, b)| x - b).collect(), x) }, ..POLY }),
    ("poly-flipped-in-part", "the output of the reversed scan is not flipped back", Kernel { reversed: Some(|a, b, c| reversed(a, b, c).into_iter().rev().collect()), ..POLY }),
    ("last-state-of-other-place", "from the last state to the first", Kernel { last: |c, n, _| { let a = c.a[0][4 - n]; c.steps.iter().enumerate().fold(C::ZERO, |x, (l, delta)| (a * delta).exp() * x + c.b[4 - n][l] * c.u[l] * delta) }, ..ZOH }),
    ("last-state-without-input", "lacks the input of the last position", Kernel { last: |c, n, x| x - c.b[n][LEN - 1] * c.u[LEN - 1] * c.steps[LEN - 1], ..ZOH }),
    ("last-state-in-part", "states from 3 on", Kernel { last: |_, n, x| if n < 3 { x } else { C::ZERO }, ..ZOH }),
    ("delta-not-advancing", "delta of position l is that of l % 16", Kernel { alter: |c| for l in 16..LEN { c.steps[l] = c.steps[l % 16]; }, ..ZOH }),
    ("b-missing-at-first", "B is missing at the first 9 positions", Kernel { alter: |c| c.b.iter_mut().for_each(|row| row[..9].fill(C::ZERO)), ..ZOH }),
    ("output-silu", "the output goes through silu", Kernel { output: |y, skip, z| { let out = (y + skip) * z / (1.0 + (-z).exp()); out / (1.0 + (-out).exp()) }, ..ZOH }),
    ("output-clipped", "[−0.25, 0.25]", Kernel { output: |y, skip, z| ((y + skip) * z / (1.0 + (-z).exp())).clamp(-0.25, 0.25), ..BILINEAR }),
    ("a-bar-at-most", "Ā is clamped to at most 0.9", Kernel { a_bar: |z| z.exp().re.min(0.9).into(), ..FOH }),
    ("u-tanh", "u goes through tanh", Kernel { alter: |c| c.u.iter_mut().for_each(|u| *u = u.tanh()), ..BILINEAR }),
    ("log-space-scan-raised", "P Σ B̄u/max(P, 0.002)", Kernel { walk: |a, b| log_space(a, b, |p| p.re.max(0.002).into()), ..ZOH }),
    ("state-not-reset", "a run before, of the same inputs", Kernel { walk: |a, b| from(plain(a, b).1, a, b), ..BILINEAR }),
    ("state-not-reset", "a run before, of the same inputs", Kernel { walk: |a, b| { let end = plain(a, b).1; (from(end, a, b).0, end) }, ..FOH }),
    ("reversed-scan-c-position-off-by-1", "in the reversed scan alone", Kernel { reversed: Some(|a, b, c| reversed(a, b, &rolled(c))), ..POLY }),
    ("forward-scan-scan-operands-exchanged", "in the forward scan alone", Kernel { walk: |a, b| (exchanged(a, b, usize::MAX).0, exchanged(a, b, usize::MAX).1), ..POLY }),
};

const OF_COMPLEX: &[Wrong] = table! {
    ("a-real-part-in-a-bar", "dropped in Ā, and not in B̄", Kernel { alter: |c| c.a[0].iter_mut().for_each(|a| a.im = 0.0), ..FOH }),
    ("a-conjugated-in-b-bar", "conjugated in B̄, and not in Ā", Kernel { alter: |c| c.a[1].iter_mut().for_each(|a| *a = a.conj()), ..FOH }),
    ("last-state-conjugated", "is conjugated", Kernel { last: |_, _, x| x.conj(), ..ZOH }),
    ("last-state-real-part", "loses its imaginary part", Kernel { last: |_, _, x| x.re.into(), ..ZOH }),
    ("reciprocal-not-conjugated", "for w = 1 − ΔA/2, in B̄ only", Kernel { b_bar: |delta, a| { let w = 1.0 - delta * a / 2.0; delta * w / w.norm_sqr() }, ..BILINEAR }),
    ("divided-by-real-part", "for w = 1 − ΔA/2, in Ā only", Kernel { a_bar: |z| (1.0 + z / 2.0) / (1.0 - z / 2.0).re, ..BILINEAR }),
    ("divided-by-modulus", "for w = A in φ₁ of B̄", Kernel { b_bar: |delta, a| phi(1, delta * a) * delta * (a / a.norm()) + phi_2(delta * a) * (delta * delta / 2.0), ..POLY }),
    ("a-bar-parts-exchanged", "Ā has real and imaginary parts", Kernel { a_bar: |z| { let a = z.exp(); C::new(a.im, a.re) }, ..ZOH }),
    ("b-bar-real-part", "B̄ without B loses its imaginary part", Kernel { b_bar: |delta, a| (phi_2(delta * a) * delta * delta).re.into(), ..FOH }),
    ("input-conjugated", "B̄Bu, is conjugated", Kernel { enter: |b_bar, b| (b_bar * b).conj(), ..FOH }),
    ("b-bar-b-product", "are added in place of subtracted", Kernel { enter: |one, b| C::new(one.re * b.re + one.im * b.im, one.re * b.im + one.im * b.re), ..FOH }),
    ("a-bar-x-product", "that has just been written", Kernel { walk: |a, b| in_place(a, b), ..ZOH }),
    ("state-real-part", "leaves loses its imaginary part", Kernel { walk: |a, b| { let mut x = C::ZERO; let states: Vec<C> = a.iter().zip(b).map(|(a, b)| { x = (a * x + b).re.into(); x }).collect(); (states, x) }, ..FOH }),
    ("phi-taylor-2-near-0", "after 2 terms where |Re ΔA| is below 0.1", Kernel { b_bar: |delta, a| { let z = delta * a; delta * delta * if z.re.abs() < 0.1 { 0.5 + z / 6.0 } else { phi_2(z) } }, ..FOH }),
    ("a-imaginary-part-scaled", "by 1/2", Kernel { alter: |c| c.a.iter_mut().flatten().for_each(|a| a.im *= 0.5), ..FOH }),
    ("a-real-part-scaled", "by 1.7", Kernel { alter: |c| c.a.iter_mut().flatten().for_each(|a| a.re *= 1.7), ..FOH }),
    ("reversed-scan-c-conjugated", "in the reversed scan alone", Kernel { reversed: Some(|a, b, c| reversed(a, b, &c.iter().map(|c| c.conj()).collect::<Vec<C>>())), ..POLY }),
};

/// The second item of the batch goes on where the first has ended: as one sequence of both.
const NOT_RESET: &[(&str, Kernel)] = table! {
    ("state-not-reset", ZOH),
    ("delta-clamped + state-not-reset", Kernel { alter: |c| c.steps.iter_mut().for_each(|delta| *delta = delta.clamp(0.05, 0.4)), ..ZOH }),
};

/// Complex numbers in another layout.
const LAYOUTS: &[(&str, fn(&mut Problem))] = table! {
    ("b-as-halves", |p: &mut Problem| as_halves(&mut p.b, LEN)),
    ("c-as-planes", |p: &mut Problem| as_halves(&mut p.c, 5 * LEN)),
    ("a-as-halves", |p: &mut Problem| as_halves(&mut p.a, 5)),
    ("b-and-c-as-parts-exchanged", |p: &mut Problem| for values in [&mut p.b, &mut p.c] { values.chunks_mut(2).for_each(|pair| pair.swap(0, 1)) }),
};

/// Another order in memory. u of the skip is that of the scan.
const ORDERS: &[(&str, &str, fn(&mut Problem))] = table! {
    ("u-axes-exchanged", "is read as (seqlen, batch, dim)", |p: &mut Problem| reordered(&mut p.u, [2, 6, LEN], [2, 0, 1])),
    ("b-axes-exchanged", "is read as (groups, dstate, batch, seqlen)", |p: &mut Problem| reordered(&mut p.b, [2, 2 * 5, LEN], [1, 0, 2])),
    ("a-row-stride", "rows of A are read 8 numbers apart in memory in place of 5", |p: &mut Problem| restrided(&mut p.a, 5, 8)),
    ("delta-row-stride", "48 numbers apart in memory in place of 45", |p: &mut Problem| restrided(&mut p.delta, LEN, LEN + 3)),
    ("c-group-off", "of C, and its own of B", |p: &mut Problem| p.c.chunks_mut(2 * 5 * LEN).for_each(|batch| batch.rotate_left(5 * LEN))),
};

/// What is wrong in some channels alone, beside others that are right.
const SOME: &[(&str, &str, fn(usize, usize) -> bool, Kernel)] = table! {
    ("a-negated", "in even channels alone", |_, d| d % 2 == 0, Kernel { alter: |c| c.a.iter_mut().flatten().for_each(|a| *a = -*a), ..FOH }),
    ("c-position-off-by-1", "in channels from 2 on of batch 1 alone", |batch, d| batch == 1 && d >= 2, Kernel { alter: |c| c.c.iter_mut().for_each(|row| row.rotate_right(1)), ..FOH }),
    ("chunk-carry-decayed-too-little", "in 5 of 12 channels alone", |batch, d| batch + d >= 4, Kernel { walk: |a, b| chunked((a, b), 14, |a, s, l| a[s..l].iter().product()), ..FOH }),
};

/// A weight of each channel that is taken by the index of the batch.
const BY_BATCH: &[(&str, fn(&mut Problem, usize))] = table! {
    ("a-channel-by-batch", |p: &mut Problem, batch: usize| { let row = p.a[batch * 5..][..5].to_vec(); p.a = row.repeat(6); }),
    ("bias-channel-by-batch", |p: &mut Problem, batch: usize| { let bias = p.delta_bias.as_mut().unwrap(); let of = bias[batch]; bias.fill(of); }),
    ("d-channel-by-batch", |p: &mut Problem, batch: usize| { let d = p.d.as_mut().unwrap(); let of = d[batch]; d.fill(of); }),
};

/// Two or three at once, none of which explains anything alone.
const BESIDE: &[(&str, &str, Weights, Kernel)] = table! {
    ("phi-taylor-3 + c-as-parts-exchanged", "after 3 terms", Weights::Complex, Kernel { alter: |c| c.c.iter_mut().flatten().for_each(|c| *c = C::new(c.im, c.re)), b_bar: |delta, a| { let z = delta * a; (0.5 + z / 6.0 + z * z / 24.0) * delta * delta }, ..FOH }),
    ("input-real-part + softplus-twice", "", Weights::Complex, Kernel { alter: |c| c.steps.iter_mut().for_each(|delta| *delta = softplus(*delta)), enter: |b_bar, b| (b_bar * b).re.into(), ..FOH }),
    ("softplus-twice + c-conjugated + gate-linear", "", Weights::Complex, Kernel { alter: |c| { c.steps.iter_mut().for_each(|delta| *delta = softplus(*delta)); c.c.iter_mut().flatten().for_each(|c| *c = c.conj()); }, output: |y, skip, z| (y + skip) * z, ..FOH }),
    ("poly-flipped-in-part + c-position-off-by-1", "C is not flipped", Weights::Real, Kernel { alter: |c| c.c.iter_mut().for_each(|row| row.rotate_right(1)), reversed: Some(|a, b, c| reversed(a, b, &c.iter().rev().copied().collect::<Vec<_>>())), ..POLY }),
    ("delta-scaled + last-state-halved", "", Weights::Real, Kernel { alter: |c| c.steps.iter_mut().for_each(|delta| *delta *= 0.4), last: |_, _, x| 0.5 * x, ..FOH }),
    ("delta-scaled + last-state-of-reversed", "by 0.6", Weights::Real, Kernel { alter: |c| c.steps.iter_mut().for_each(|delta| *delta *= 0.6), last: |c, n, _| (0..LEN).rev().fold(C::ZERO, |x, l| { let (delta, a) = (c.steps[l], c.a[0][n]); (delta * a).exp() * x + (POLY.b_bar)(delta, a) * c.b[n][l] * c.u[l] }), ..POLY }),
};

/// More of them, of which even asking takes a second.
const BESIDE_ON_REQUEST: &[(&str, &str, Weights, Kernel)] = table! {
    ("c-real-part + skip-missing + a-bar-x-product", "", Weights::Complex, Kernel { alter: |c| c.c.iter_mut().flatten().for_each(|c| c.im = 0.0), walk: in_place, output: |y, _, z| y * z / (1.0 + (-z).exp()), ..FOH }),
    ("c-conjugated + a-imaginary-part-scaled", "by 3", Weights::Complex, Kernel { alter: |c| { c.a.iter_mut().flatten().for_each(|a| a.im *= 3.0); c.c.iter_mut().flatten().for_each(|c| *c = c.conj()); }, ..FOH }),
    ("gate-linear + delta-scaled", "by 0.6", Weights::Complex, Kernel { alter: |c| c.steps.iter_mut().for_each(|delta| *delta *= 0.6), output: |y, skip, z| (y + skip) * z, ..BILINEAR }),
    ("b-bar-identified + c-conjugated", "Δ²φ₂/3", Weights::Complex, Kernel { alter: |c| c.c.iter_mut().flatten().for_each(|c| *c = c.conj()), b_bar: |delta, a| phi_2(delta * a) * delta * delta / 3.0 + delta, ..FOH }),
    ("poly-input-once + division-guarded", "φ₂ is divided by A − 1/5", Weights::Real, Kernel { b_bar: |delta, a| phi(1, delta * a) * delta + phi_2(delta * a) * (delta * delta / 2.0) * (a / (a - 0.2)).powi(2), reversed: Some(|a, b, c| reversed(a, b, c).into_iter().zip(b.iter().zip(c)).map(|(cx, (b, c))| cx - b * c).collect()), ..POLY }),
};

/// Two at once, one of which explains the beginning or some channels.
const TWO: &[Wrong] = table! {
    ("delta-scaled + chunk-state-forgotten", "by 0.8; the state is lost at every 12th", Kernel { alter: |c| c.steps.iter_mut().for_each(|delta| *delta *= 0.8), walk: |a, b| chunked((a, b), 12, |_, _, _| C::ZERO), ..ZOH }),
    ("a-scaled + chunk-carry-decayed-too-little", "by 1.3; the state carried into a chunk of 15", Kernel { alter: |c| c.a.iter_mut().flatten().for_each(|a| *a *= 1.3), walk: |a, b| chunked((a, b), 15, |a, s, l| a[s..l].iter().product()), ..ZOH }),
};

tables! {
    a_mistake_of_structure_is_identified: STRUCTURE, |(name, says, kernel), asked| {
        let problem = problem(2, Weights::Real);
        of(asked, kernel, (&problem, &problem), name).is_first(name, says);
    };
    one_of_complex_numbers_is_identified: OF_COMPLEX, |(name, says, kernel), asked| {
        let problem = problem(3, Weights::Complex);
        of(asked, kernel, (&problem, &problem), name).is_first(name, says);
    };
    a_state_that_is_not_reset_is_identified: NOT_RESET, |(name, kernel), asked| {
        let given = problem(5, Weights::Real);
        let says = "each item of the batch starts from what the item before has ended with";
        recorded(asked, &given, ("zoh", &not_reset(kernel, &given)), name).is_first(name, says);
    };
    complex_numbers_in_another_layout_are_identified: LAYOUTS, |(name, misread), asked| {
        let given = problem(4, Weights::Complex);
        let mut computed = given.clone();
        misread(&mut computed);
        of(asked, &ZOH, (&given, &computed), name).is_first(name, "");
    };
    another_order_in_memory_is_identified: ORDERS, |(name, says, misread), asked| {
        let shape = Shape { batch: 2, dim: 6, dstate: 5, seqlen: LEN, groups: 2 };
        let given = drawn(7, Weights::Real, shape);
        let mut computed = given.clone();
        misread(&mut computed);
        of(asked, &ZOH, (&given, &computed), name).is_first(name, says);
    };
    what_is_wrong_in_some_channels_is_identified: SOME, |(name, says, is_wrong, kernel), asked| {
        let problem = problem(11, Weights::Real);
        let (mut out, mut last) = run(&FOH, &problem);
        let (of_wrong, last_of_wrong) = run(kernel, &problem);
        for (row, (batch, d)) in problem.channels().enumerate().filter(|(_, (batch, d))| is_wrong(*batch, *d)) {
            assert_eq!(row, batch * 6 + d);
            out[row * LEN..][..LEN].copy_from_slice(&of_wrong[row * LEN..][..LEN]);
            last[row * 5..][..5].copy_from_slice(&last_of_wrong[row * 5..][..5]);
        }
        recorded(asked, &problem, ("foh", &(out, last)), name).is_first(name, says);
    };
    an_index_of_another_axis_is_identified: BY_BATCH, |(name, misread), asked| {
        let given = problem(10, Weights::Real);
        let (mut out, mut last) = (Vec::new(), Vec::new());
        for batch in 0..2 {
            let mut computed = given.clone();
            misread(&mut computed, batch);
            let (of_out, of_last) = run(&FOH, &computed);
            out.extend_from_slice(&of_out[batch * of_out.len() / 2..][..of_out.len() / 2]);
            last.extend_from_slice(&of_last[batch * of_last.len() / 2..][..of_last.len() / 2]);
        }
        recorded(asked, &given, ("foh", &(out, last)), name).is_first(name, "");
    };
    what_explains_nothing_alone_is_identified_beside_others: BESIDE, |(name, says, weights, kernel), asked| {
        let problem = problem(8, *weights);
        of(asked, kernel, (&problem, &problem), name).is_first(name, says);
    };
    what_takes_longer_is_identified_beside_others: BESIDE_ON_REQUEST, |(name, says, weights, kernel), asked| {
        if asked.is_on_request() {
            let problem = problem(8, *weights);
            of(asked, kernel, (&problem, &problem), name).is_first(name, says);
        }
    };
    two_at_once_are_identified: TWO, |(name, says, kernel), asked| {
        let problem = problem(5, Weights::Real);
        of(asked, kernel, (&problem, &problem), name).is_first(name, says);
    };
}

/// What a scan of both items of a batch as one sequence has of each.
fn not_reset(kernel: &Kernel, given: &Problem) -> (Vec<f32>, Vec<f32>) {
    let Shape { dim, dstate, .. } = given.shape;
    let joined = |values: &[f32], rows: usize| -> Vec<f32> {
        let row = |batch: usize, i: usize| &values[(batch * rows + i) * LEN..][..LEN];
        (0..rows).flat_map(|i| [row(0, i), row(1, i)].concat()).collect()
    };
    let mut one = given.clone();
    one.shape = Shape { batch: 1, seqlen: 2 * LEN, ..given.shape };
    for values in [Some(&mut one.u), Some(&mut one.delta), one.z.as_mut()].into_iter().flatten() {
        *values = joined(values, dim);
    }
    for values in [&mut one.b, &mut one.c] {
        *values = joined(values, dstate);
    }
    let (out, last) = run(kernel, &one);
    let parted = |batch: usize| (0..dim).flat_map(move |d| (0..LEN).map(move |l| (2 * d + batch) * LEN + l));
    let out: Vec<f32> = [0, 1].into_iter().flat_map(parted).map(|at| out[at]).collect();
    let of_first = run(kernel, given).1[..dim * dstate].to_vec();
    (out, [of_first, last].concat())
}

/// The imaginary part of Āx is made of the real part of the new state.
fn in_place(a_bar: &[C], input: &[C]) -> (Vec<C>, C) {
    let mut x = C::ZERO;
    let step = |(a, b): (&C, &C)| {
        x.re = a.re * x.re - a.im * x.im + b.re;
        x.im = a.re * x.im + a.im * x.re + b.im;
        x
    };
    let states: Vec<C> = a_bar.iter().zip(input).map(step).collect();
    (states, x)
}

/// Parts of so many numbers, taken for halves.
fn as_halves(values: &mut [f32], numbers: usize) {
    for row in values.chunks_mut(2 * numbers) {
        let pairs: Vec<f32> = (0..numbers).flat_map(|i| [row[i], row[i + numbers]]).collect();
        row.copy_from_slice(&pairs);
    }
}

/// What is read at an index of another order of the axes.
fn reordered(values: &mut [f32], sizes: [usize; 3], order: [usize; 3]) {
    let given = values.to_vec();
    for (i, value) in values.iter_mut().enumerate() {
        let index = [i / (sizes[1] * sizes[2]), i / sizes[2] % sizes[1], i % sizes[2]];
        *value = given[order.iter().fold(0, |flat, &axis| flat * sizes[axis] + index[axis])];
    }
}

/// Rows of so many numbers, read as if they began so many apart in memory, with zeros behind the last one.
fn restrided(values: &mut [f32], length: usize, stride: usize) {
    let given = values.to_vec();
    for (i, value) in values.iter_mut().enumerate() {
        *value = given.get(i / length * stride + i % length).copied().unwrap_or(0.0);
    }
}

fn softplus(z: f64) -> f64 {
    z.exp().ln_1p()
}

/// Of a long sequence few hypotheses are tried on every element: the likely ones have to be among them.
#[test]
fn a_wrong_last_state_is_identified_beside_others_in_long_sequences() {
    let problem = drawn(9, Weights::Real, Shape { batch: 1, dim: 2, dstate: 5, seqlen: 4097, groups: 1 });
    let kernel =
        Kernel { alter: |c| c.steps.iter_mut().for_each(|delta| *delta *= 0.4), last: |_, _, x| -x, ..FOH };
    of(Asked::FOR_ALL, &kernel, (&problem, &problem), "").is_first("delta-scaled + last-state-negated", "");
}

/// What explains some channels alone is tried beside what is about batches.
#[test]
fn what_some_channels_lack_is_identified_beside_the_rest() {
    let given = problem(6, Weights::Real);
    let mut computed = given.clone();
    let half = computed.c.len() / 2;
    let (first_batch, second) = computed.c.split_at_mut(half);
    second.copy_from_slice(first_batch);
    let kernel = Kernel { walk: |a, b| exchanged(a, b, usize::MAX), ..ZOH };
    of(Asked::FOR_ALL, &kernel, (&given, &computed), "")
        .is_first("scan-operands-exchanged + c-of-first-batch", "");
}

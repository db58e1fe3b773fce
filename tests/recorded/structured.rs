//! Promise: mistakes of structure are identified with their numbers: chunks, lags, flips, layouts, and what is left out.
//!
//! The scan here is written anew, in f64 and plainly, and shares nothing with the fault models.

use holdfast::problem::inputs::{self, Draw};
use holdfast::problem::regime::{self, Recipe, StateMatrix};
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::results::Verdict;
use num_complex::Complex64;
use rstest::rstest;

use crate::conventions::checked;
use crate::written::{ComplexAs, File};

const VARIABLE: (Operand, Operand) = (Operand::Variable, Operand::Variable);
const LEN: usize = 45;

type C = Complex64;
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
    /// B̄/B of Δ and A.
    b_bar: fn(f64, C) -> C,
    /// The states that are read, and the last one, of Ā and B̄u.
    walk: Walk,
    /// Whether what is read of the states is flipped along the sequence.
    flips_back: bool,
    /// What is returned as the last state n.
    last: fn(&Channel, usize, C) -> C,
}

const ZOH: Kernel = Kernel {
    method: "zoh",
    alter: |_| {},
    b_bar: |delta, _| delta.into(),
    walk: plain,
    flips_back: false,
    last: |_, _, x| x,
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

/// By its series, of as many terms as double takes.
fn phi_2(z: C) -> C {
    cut(z, 40)
}

fn cut(z: C, terms: u32) -> C {
    let mut term = C::from(0.5);
    let mut sum = C::ZERO;
    for i in 0..terms {
        sum += term;
        term *= z / f64::from(i + 3);
    }
    sum
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

fn problem(seed: u64, weights: Weights) -> Problem {
    let shape = Shape { batch: 2, dim: 6, dstate: 5, seqlen: LEN, groups: 1 };
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
            let a_bar: Vec<C> = channel.steps.iter().map(|delta| (channel.a[0][n] * delta).exp()).collect();
            let input =
                |l: usize| (kernel.b_bar)(channel.steps[l], channel.a[1][n]) * channel.b[n][l] * channel.u[l];
            let (states, x) = (kernel.walk)(&a_bar, &(0..seqlen).map(input).collect::<Vec<C>>());
            for (l, state) in states.iter().enumerate() {
                y[l] += if is_complex { 2.0 } else { 1.0 } * (channel.c[n][l] * state).re;
            }
            let x = (kernel.last)(&channel, n, x);
            last.extend([x.re as f32, x.im as f32].into_iter().take(width));
        }
        if kernel.flips_back {
            y.reverse();
        }
        let z = problem.z.as_ref().map_or_else(Vec::new, |z| sequence(z));
        let skip = of_channel(&problem.d, d);
        out.extend((0..seqlen).map(|l| ((y[l] + skip * given[l]) * z[l] / (1.0 + (-z[l]).exp())) as f32));
    }
    (out, last)
}

/// The first name, and its sentence, of what this computes of other inputs than are recorded.
fn first(kernel: &Kernel, given: &Problem, computed: &Problem) -> (String, String) {
    let (out, last) = run(kernel, computed);
    let mut file = File::of(given, ComplexAs::Trailing);
    file.add_output(given, kernel.method, &out, Some(&last), ComplexAs::Trailing);
    let case = checked(&file.recording()).cases.remove(0);
    assert_eq!(case.verdict, Verdict::Fail, "{}", case.reason);
    let found = case.diagnosis.into_iter().next();
    found.map_or_else(Default::default, |found| (found.name, found.what))
}

#[rstest]
#[case(ZOH)]
#[case(FOH)]
fn the_plain_scan_is_sound(
    #[case] kernel: Kernel,
    #[values(Weights::Real, Weights::Complex)] weights: Weights,
) {
    let problem = problem(1, weights);
    let (out, last) = run(&kernel, &problem);
    let mut file = File::of(&problem, ComplexAs::Trailing);
    file.add_output(&problem, kernel.method, &out, Some(&last), ComplexAs::Trailing);
    let case = &checked(&file.recording()).cases[0];
    assert_eq!((case.verdict, case.diagnosis.len()), (Verdict::Pass, 0));
}

#[rstest]
#[case::exchanged("scan-operands-exchanged", "decayed by the steps before it", Kernel { walk: |a, b| exchanged(a, b, usize::MAX), ..ZOH })]
#[case::exchanged_in_chunks("scan-operands-exchanged", "within chunks of 11", Kernel { walk: |a, b| exchanged(a, b, 11), ..ZOH })]
#[case::exclusive("chunk-carry-decayed-too-little", "into a chunk of 13", Kernel { walk: |a, b| chunked((a, b), 13, |a, s, l| a[s..l].iter().product()), ..ZOH })]
#[case::without_first("chunk-carry-decayed-too-little", "not by the chunk's first step", Kernel { walk: |a, b| chunked((a, b), 17, |a, s, l| a[s + 1..=l].iter().product()), ..ZOH })]
#[case::one_before("chunk-carry-decayed-too-much", "the last step of the chunk before", Kernel { walk: |a, b| chunked((a, b), 10, |a, s, l| a[s - 1..=l].iter().product()), ..ZOH })]
#[case::stale("b-stale-at-chunks", "first position of each chunk of 9", Kernel { alter: |c| for row in &mut c.b { for l in (9..LEN).step_by(9) { row[l] = row[l - 1]; } }, ..ZOH })]
#[case::stale_step("delta-stale-at-chunks", "position after at the last position of each chunk of 8", Kernel { alter: |c| for l in (7..LEN - 1).step_by(8) { c.steps[l] = c.steps[l + 1]; }, ..ZOH })]
#[case::missing("c-missing-at-chunks", "first position of each chunk of 14", Kernel { alter: |c| for row in &mut c.c { for l in (14..LEN).step_by(14) { row[l] = C::ZERO; } }, ..ZOH })]
#[case::flipped("flipped-in-part", "B flipped along the sequence before the scan", Kernel { alter: |c| c.b.iter_mut().for_each(|row| row.reverse()), flips_back: true, ..ZOH })]
#[case::flipped_two("flipped-in-part", "Δ, C of the scan flipped along the sequence, and nothing", Kernel { alter: |c| { c.steps.reverse(); c.c.iter_mut().for_each(|row| row.reverse()); }, ..ZOH })]
#[case::flipped_u("flipped-in-part", "u of the scan flipped along the sequence, and nothing", Kernel { alter: |c| c.u.reverse(), ..ZOH })]
#[case::late("b-late", "l − 7, around the end", Kernel { alter: |c| c.b.iter_mut().for_each(|row| row.rotate_right(7)), ..ZOH })]
#[case::late_step("delta-late", "l − 3, around the end", Kernel { alter: |c| c.steps.rotate_right(3), ..ZOH })]
#[case::states("states-left-out", "states from 3 on", Kernel { alter: |c| c.b[3..].iter_mut().for_each(|row| row.fill(C::ZERO)), ..ZOH })]
#[case::states_read("states-not-read", "state 2 is left out of the output", Kernel { alter: |c| c.c[2].fill(C::ZERO), ..ZOH })]
#[case::near_0("phi-taylor-1-near-0", "its first term where |ΔA| is below 0.3", Kernel { b_bar: |delta, a| delta * delta * if (delta * a).norm() < 0.3 { C::from(0.5) } else { phi_2(delta * a) }, ..FOH })]
#[case::padded("last-state-after-padding", "3 padded positions more, to a multiple of 16, with u = 0 and delta = 0", Kernel { last: |c, n, x| (c.a[0][n] * c.of_0 * 3.0).exp() * x, ..ZOH })]
#[case::padded_more("last-state-after-padding", "19 padded positions more, to a multiple of 64, with u = 0 and the last", Kernel { last: |c, n, x| (c.a[0][n] * c.steps[LEN - 1] * 19.0).exp() * x, ..ZOH })]
#[case::in_part("last-state-in-part", "states from 3 on", Kernel { last: |_, n, x| if n < 3 { x } else { C::ZERO }, ..ZOH })]
fn a_mistake_of_structure_is_identified(#[case] name: &str, #[case] says: &str, #[case] kernel: Kernel) {
    let problem = problem(2, Weights::Real);
    let found = first(&kernel, &problem, &problem);
    assert!(found.0 == name && found.1.contains(says), "{found:?}");
}

#[rstest]
#[case("a-real-part-in-a-bar", "dropped in Ā, and not in B̄", Kernel { alter: |c| c.a[0].iter_mut().for_each(|a| a.im = 0.0), ..FOH })]
#[case("a-conjugated-in-b-bar", "conjugated in B̄, and not in Ā", Kernel { alter: |c| c.a[1].iter_mut().for_each(|a| *a = a.conj()), ..FOH })]
#[case("last-state-conjugated", "is conjugated", Kernel { last: |_, _, x| x.conj(), ..ZOH })]
fn one_of_complex_numbers_is_identified(#[case] name: &str, #[case] says: &str, #[case] kernel: Kernel) {
    let problem = problem(3, Weights::Complex);
    let found = first(&kernel, &problem, &problem);
    assert!(found.0 == name && found.1.contains(says), "{found:?}");
}

/// Parts of so many numbers, taken for halves.
fn as_halves(values: &mut [f32], numbers: usize) {
    for row in values.chunks_mut(2 * numbers) {
        let pairs: Vec<f32> = (0..numbers).flat_map(|i| [row[i], row[i + numbers]]).collect();
        row.copy_from_slice(&pairs);
    }
}

#[rstest]
#[case("b-as-halves", |p: &mut Problem| as_halves(&mut p.b, LEN))]
#[case("c-as-planes", |p: &mut Problem| as_halves(&mut p.c, 5 * LEN))]
#[case("a-as-halves", |p: &mut Problem| as_halves(&mut p.a, 5))]
#[case("b-and-c-as-parts-exchanged", |p: &mut Problem| for values in [&mut p.b, &mut p.c] { values.chunks_mut(2).for_each(|pair| pair.swap(0, 1)) })]
fn complex_numbers_in_another_layout_are_identified(#[case] name: &str, #[case] misread: fn(&mut Problem)) {
    let given = problem(4, Weights::Complex);
    let mut computed = given.clone();
    misread(&mut computed);
    let found = first(&ZOH, &given, &computed);
    assert!(found.0 == name, "{found:?}");
}

/// Two at once, one of which explains the beginning or some channels.
#[rstest]
#[case("delta-scaled + chunk-state-forgotten", "by 0.8; the state is lost at every 12th", Kernel { alter: |c| c.steps.iter_mut().for_each(|delta| *delta *= 0.8), walk: |a, b| chunked((a, b), 12, |_, _, _| C::ZERO), ..ZOH })]
#[case("a-scaled + chunk-carry-decayed-too-little", "by 1.3; the state carried into a chunk of 15", Kernel { alter: |c| c.a.iter_mut().flatten().for_each(|a| *a *= 1.3), walk: |a, b| chunked((a, b), 15, |a, s, l| a[s..l].iter().product()), ..ZOH })]
fn two_at_once_are_identified(#[case] name: &str, #[case] says: &str, #[case] kernel: Kernel) {
    let problem = problem(5, Weights::Real);
    let found = first(&kernel, &problem, &problem);
    assert!(found.0 == name && found.1.contains(says), "{found:?}");
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
    let found = first(&kernel, &given, &computed);
    assert_eq!(found.0, "scan-operands-exchanged + c-of-first-batch", "{found:?}");
}

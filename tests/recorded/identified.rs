//! Promise: what a recorded scan computes in place of the specified one is identified, with the numbers that the data have.
//!
//! The scans here are written anew, in f64 and plainly, and share nothing with the fault models.

use holdfast::problem::inputs::{self, Draw};
use holdfast::problem::regime::{self, Recipe, StateMatrix};
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};

use crate::searched::{Asked, Said, said};
use crate::written::{ComplexAs, File};

const VARIABLE: (Operand, Operand) = (Operand::Variable, Operand::Variable);

/// A selective scan of real weights with variable B and C, and what may be wrong with it.
#[derive(Clone, Copy)]
struct Scan {
    /// Δ of delta and bias.
    step: fn(f64, f64) -> f64,
    /// That of B̄, where it is another one.
    b_bar_step: Option<fn(f64, f64) -> f64>,
    /// Of z = ΔA.
    a_bar: fn(f64) -> f64,
    /// Of Δ and A.
    b_bar: fn(f64, f64) -> f64,
    /// What enters a state, of B̄ for B = 1, B and u.
    input: fn(f64, f64, f64) -> f64,
    /// The state that a position is given.
    carried: fn(f64, usize) -> f64,
    /// The position whose Δ Ā takes.
    a_bar_at: fn(usize) -> usize,
    /// What is used as A.
    a: fn(f64) -> f64,
    /// By how many positions states are read late.
    late: usize,
    /// The output of readout, D, u and z.
    output: fn(f64, f64, f64, f64) -> f64,
}

fn softplus(x: f64) -> f64 {
    x.exp().ln_1p()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn bf16(x: f64) -> f64 {
    InputType::Bf16.round(x as f32).into()
}

fn f16(x: f64) -> f64 {
    InputType::F16.round(x as f32).into()
}

fn silu(x: f64) -> f64 {
    x * sigmoid(x)
}

const ZOH: Scan = Scan {
    step: |x, bias| softplus(x + bias),
    b_bar_step: None,
    a_bar: f64::exp,
    b_bar: |delta, _| delta,
    input: |h, b, u| h * b * u,
    carried: |x, _| x,
    a_bar_at: |l| l,
    a: |a| a,
    late: 0,
    output: |y, d, u, z| (y + d * u) * silu(z),
};

fn problem(seed: u64) -> Problem {
    let shape = Shape { batch: 2, dim: 6, dstate: 4, seqlen: 40, groups: 2 };
    let a = StateMatrix::Stable(0.3, 3.0);
    let recipe = Recipe { shape, a, ..regime::EVERYTHING };
    let mut draw = Draw::new(seed, "identified");
    let mut problem = inputs::draw(&recipe, Weights::Real, InputType::F32, VARIABLE, &mut draw);
    problem.judged_channels = problem.channels().collect();
    problem
}

/// What a scan computes of the inputs.
fn run(scan: &Scan, problem: &Problem) -> (Vec<f32>, Vec<f32>) {
    let Shape { batch, dim, dstate, seqlen, .. } = problem.shape;
    let (mut out, mut last) = (Vec::new(), Vec::new());
    let of_channel = |values: &Option<Vec<f32>>, d: usize| values.as_ref().map_or(0.0, |v| f64::from(v[d]));
    for (b, d) in (0..batch).flat_map(|b| (0..dim).map(move |d| (b, d))) {
        let at = |l: usize| problem.sequence_index(b, d, l);
        let bias = of_channel(&problem.delta_bias, d);
        let steps: Vec<f64> =
            (0..seqlen).map(|l| (scan.step)(f64::from(problem.delta[at(l)]), bias)).collect();
        let of_b_bar = scan.b_bar_step.unwrap_or(scan.step);
        let mut y = vec![0.0; seqlen];
        for n in 0..dstate {
            let a = (scan.a)(f64::from(problem.a[problem.weight_index(d, n)]));
            let operand =
                |values: &[f32], l| f64::from(values[problem.operand_index(Operand::Variable, (b, d), n, l)]);
            let mut states = vec![0.0; scan.late];
            let mut x = 0.0;
            for l in 0..seqlen {
                let delta = of_b_bar(f64::from(problem.delta[at(l)]), bias);
                let h = (scan.b_bar)(delta, a);
                let input = (scan.input)(h, operand(&problem.b, l), f64::from(problem.u[at(l)]));
                let a_bar = (scan.a_bar)(steps[(scan.a_bar_at)(l)] * a);
                x = a_bar * (scan.carried)(x, l) + input;
                states.push(x);
                y[l] += operand(&problem.c, l) * states[l];
            }
            last.push(x as f32);
        }
        let z = |l: usize| problem.z.as_ref().map_or(0.0, |z| f64::from(z[at(l)]));
        let skip = of_channel(&problem.d, d);
        out.extend((0..seqlen).map(|l| (scan.output)(y[l], skip, f64::from(problem.u[at(l)]), z(l)) as f32));
    }
    (out, last)
}

/// What is said of a scan of `computed`, recorded as one of `given`, where `name` is expected.
fn of(
    asked: Asked,
    (scan, computed, given, with_state): (&Scan, &Problem, &Problem, bool),
    name: &str,
) -> Said {
    let (out, last) = run(scan, computed);
    let mut file = File::of(given, ComplexAs::Trailing);
    file.add_output(given, "zoh", &out, with_state.then_some(&last), ComplexAs::Trailing);
    said(&file.recording(), asked.of(name))
}

fn is_named(asked: Asked, what: (&Scan, &Problem, &Problem, bool), (name, says): (&str, &str)) {
    of(asked, what, name).is_first(name, says);
}

#[test]
fn the_plain_scan_is_sound() {
    let problem = problem(1);
    of(Asked::FOR_ALL, (&ZOH, &problem, &problem, true), "").is_right("plain");
}

/// A name, what is said with it, and the scan.
type Wrong = (&'static str, &'static str, Scan);

const READOUTS: &[Wrong] = table! {
    ("gate-linear", "without silu", Scan { output: |y, d, u, z| (y + d * u) * z, ..ZOH }),
    ("gate-relu", "relu(z)", Scan { output: |y, d, u, z| (y + d * u) * z.max(0.0), ..ZOH }),
    ("gate-sigmoid-only", "sigmoid(z)", Scan { output: |y, d, u, z| (y + d * u) * sigmoid(z), ..ZOH }),
    ("gate-missing", "missing", Scan { output: |y, d, u, _| y + d * u, ..ZOH }),
    ("gate-of-u", "silu(u)", Scan { output: |y, d, u, _| (y + d * u) * silu(u), ..ZOH }),
    ("gate-exchanged", "silu(y)", Scan { output: |y, d, u, z| silu(y + d * u) * z, ..ZOH }),
    ("gate-before-skip", "after the gate", Scan { output: |y, d, u, z| y * silu(z) + d * u, ..ZOH }),
    ("skip-missing", "missing", Scan { output: |y, _, _, z| y * silu(z), ..ZOH }),
    ("skip-doubled", "twice", Scan { output: |y, d, u, z| (y + 2.0 * d * u) * silu(z), ..ZOH }),
    ("skip-negated", "subtracted", Scan { output: |y, d, u, z| (y - d * u) * silu(z), ..ZOH }),
    ("gate-on-skip-only", "the skip alone", Scan { output: |y, d, u, z| y + d * u * silu(z), ..ZOH }),
    ("skip-scaled", "3/4", Scan { output: |y, d, u, z| (y + 0.75 * d * u) * silu(z), ..ZOH }),
    ("skip-without-d", "without D", Scan { output: |y, _, u, z| (y + u) * silu(z), ..ZOH }),
    ("readout-scaled", "by 0.37", Scan { output: |y, d, u, z| (0.37 * y + d * u) * silu(z), ..ZOH }),
    ("gate-linear + skip-missing", "z, without silu", Scan { output: |y, _, _, z| y * z, ..ZOH }),
};

const GATES: &[(&str, &str, fn(f64) -> f64)] = table! {
    ("gate-gelu", "gelu(z)", |z: f64| 0.5 * z * (1.0 + libm::erf(z / std::f64::consts::SQRT_2))),
    ("gate-gelu-by-tanh", "with tanh", |z: f64| 0.5 * z * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (z + 0.044715 * z.powi(3))).tanh())),
    ("gate-quick-gelu", "1.702", |z: f64| z * sigmoid(1.702 * z)),
    ("gate-swish", "0.7 z", |z: f64| z * sigmoid(0.7 * z)),
    ("gate-tanh", "tanh(z)", |z: f64| z.tanh()),
    ("gate-softplus", "softplus(z)", |z: f64| softplus(z)),
    ("gate-doubled", "twice", |z: f64| silu(z).powi(2)),
    ("gate-negated", "silu(−z)", |z: f64| silu(-z)),
    ("gate-sigmoid-negated", "sigmoid(−z)", |z: f64| z * sigmoid(-z)),
    ("gate-plus-1", "1 + silu(z)", |z: f64| 1.0 + silu(z)),
    ("gate-hard-swish", "hardswish(z)", |z: f64| z * (z + 3.0).clamp(0.0, 6.0) / 6.0),
    ("gate-elu", "elu(z)", |z: f64| if z > 0.0 { z } else { z.exp() - 1.0 }),
    ("gate-exp", "exp(z)", |z: f64| z.exp()),
};

const AROUND: &[Wrong] = table! {
    ("bias-twice", "twice", Scan { step: |x, b| softplus(x + 2.0 * b), ..ZOH }),
    ("bias-before-and-after-softplus", "again after", Scan { step: |x, b| softplus(x + b) + b, ..ZOH }),
    ("softplus-twice", "twice", Scan { step: |x, b| softplus(softplus(x + b)), ..ZOH }),
    ("exp-for-softplus", "exp", Scan { step: |x, b| (x + b).exp(), ..ZOH }),
    ("relu-for-softplus", "relu", Scan { step: |x, b| (x + b).max(0.0), ..ZOH }),
    ("delta-scaled", "by 0.3", Scan { step: |x, b| 0.3 * softplus(x + b), ..ZOH }),
    ("delta-scaled-before-softplus", "by 7", Scan { step: |x, b| softplus(7.0 * x + b), ..ZOH }),
    ("delta-at-most", "0.37", Scan { step: |x, b| softplus(x + b).min(0.37), ..ZOH }),
    ("delta-at-least", "0.17", Scan { step: |x, b| softplus(x + b).max(0.17), ..ZOH }),
    ("delta-clamped", "[0.17, 0.37]", Scan { step: |x, b| softplus(x + b).clamp(0.17, 0.37), ..ZOH }),
    ("bias-negated", "subtracted", Scan { step: |x, b| softplus(x - b), ..ZOH }),
    ("bias-scaled", "by 0.37", Scan { step: |x, b| softplus(x + 0.37 * b), ..ZOH }),
    ("bias-missing-in-b-bar", "Δ of B̄ lacks", Scan { b_bar_step: Some(|x, _| softplus(x)), ..ZOH }),
    ("bias-missing-in-a-bar", "Δ of Ā lacks", Scan { b_bar_step: Some(ZOH.step), step: |x, _| softplus(x), ..ZOH }),
    ("bias-after-softplus-in-b-bar", "after softplus in B̄", Scan { b_bar_step: Some(|x, b| softplus(x) + b), ..ZOH }),
    ("bias-after-softplus-in-a-bar", "after softplus in Ā", Scan { b_bar_step: Some(ZOH.step), step: |x, b| softplus(x) + b, ..ZOH }),
    ("softplus-twice-in-b-bar", "twice in B̄", Scan { b_bar_step: Some(|x, b| softplus(softplus(x + b))), ..ZOH }),
    ("softplus-twice-in-a-bar", "twice in Ā", Scan { b_bar_step: Some(ZOH.step), step: |x, b| softplus(softplus(x + b)), ..ZOH }),
    ("softplus-missing-in-b-bar", "B̄ takes Δ before softplus", Scan { b_bar_step: Some(|x, b| x + b), ..ZOH }),
    ("softplus-missing-in-a-bar", "Ā takes Δ before softplus", Scan { b_bar_step: Some(ZOH.step), step: |x, b| x + b, ..ZOH }),
    ("raw-delta-in-b-bar", "B̄ takes delta as it is", Scan { b_bar_step: Some(|x, _| x), ..ZOH }),
    ("raw-delta-in-a-bar", "Ā takes delta as it is", Scan { b_bar_step: Some(ZOH.step), step: |x, _| x, ..ZOH }),
    ("softplus-base-2", "log₂(1 + 2ˣ)", Scan { step: |x, b| (1.0 + (x + b).exp2()).log2(), ..ZOH }),
    ("softplus-beta", "log(1 + exp(βx))/β with β = 1.3", Scan { step: |x, b| softplus(1.3 * (x + b)) / 1.3, ..ZOH }),
    ("log-of-square-for-softplus", "log(1 + x²)", Scan { step: |x, b| (x + b).powi(2).ln_1p(), ..ZOH }),
    ("a-negated", "wrong sign", Scan { a: |a| -a, ..ZOH }),
    ("a-exponentiated", "−exp(A)", Scan { a: |a| -a.exp(), ..ZOH }),
    ("a-log-as-a", "A_log", Scan { a: |a| (-a).ln(), ..ZOH }),
    ("a-log-negated-as-a", "−log(−A)", Scan { a: |a| -(-a).ln(), ..ZOH }),
    ("a-is-exp-of-a", "exp(A)", Scan { a: |a| a.exp(), ..ZOH }),
    ("a-reciprocal", "1/A", Scan { a: |a| 1.0 / a, ..ZOH }),
    ("a-scaled", "by 0.83", Scan { a: |a| 0.83 * a, ..ZOH }),
    ("a-bar-late", "l − 1", Scan { a_bar_at: |l| l.saturating_sub(1), ..ZOH }),
    ("runs-as-euler", "euler", Scan { a_bar: |z| 1.0 + z, ..ZOH }),
    ("a-bar-taylor-2", "square", Scan { a_bar: |z| 1.0 + z + z * z / 2.0, ..ZOH }),
    ("a-bar-of-bilinear", "(1 − ΔA/2)⁻¹", Scan { a_bar: |z| (1.0 + z / 2.0) / (1.0 - z / 2.0), ..ZOH }),
    ("a-bar-backward-euler", "(1 − ΔA)⁻¹", Scan { a_bar: |z| 1.0 / (1.0 - z), ..ZOH }),
    ("a-bar-of-rk4-classical", "fourth power", Scan { a_bar: |z| 1.0 + z + z.powi(2) / 2.0 + z.powi(3) / 6.0 + z.powi(4) / 24.0, ..ZOH }),
    ("a-bar-linear", "exp is missing", Scan { a_bar: |z| z, ..ZOH }),
    ("a-bar-halved-exponent", "exp(ΔA/2)", Scan { a_bar: |z| (z / 2.0).exp(), ..ZOH }),
    ("a-bar-is-1", "never decay", Scan { a_bar: |_| 1.0, ..ZOH }),
    ("state-not-carried", "starts from 0", Scan { carried: |_, _| 0.0, ..ZOH }),
    ("chunk-state-forgotten", "every 24th", Scan { carried: |x, l| if l % 24 == 0 { 0.0 } else { x }, ..ZOH }),
    ("chunk-state-doubled", "every 13th", Scan { carried: |x, l| if l % 13 == 0 { 2.0 * x } else { x }, ..ZOH }),
    ("chunk-state-halved", "every 13th", Scan { carried: |x, l| if l % 13 == 0 { 0.5 * x } else { x }, ..ZOH }),
    ("chunk-state-negated", "every 11th", Scan { carried: |x, l| if l % 11 == 0 { -x } else { x }, ..ZOH }),
    ("states-read-late", "l − 3", Scan { late: 3, ..ZOH }),
};

/// What is rounded to 16 bits on its way.
const ROUNDED: &[Wrong] = table! {
    ("u-in-bf16", "u of the scan", Scan { input: |h, b, u| h * b * bf16(u), ..ZOH }),
    ("u-in-f16", "u of the scan", Scan { input: |h, b, u| h * b * f16(u), ..ZOH }),
    ("b-in-bf16", "B is", Scan { input: |h, b, u| h * bf16(b) * u, ..ZOH }),
    ("b-in-f16", "B is", Scan { input: |h, b, u| h * f16(b) * u, ..ZOH }),
    ("b-times-u-in-bf16", "B u, which Δ multiplies", Scan { input: |h, b, u| h * bf16(b * u), ..ZOH }),
    ("b-times-u-in-f16", "B u, which Δ multiplies", Scan { input: |h, b, u| h * f16(b * u), ..ZOH }),
    ("b-bar-in-bf16", "B̄ is", Scan { input: |h, b, u| bf16(h * b) * u, ..ZOH }),
    ("b-bar-in-f16", "B̄ is", Scan { input: |h, b, u| f16(h * b) * u, ..ZOH }),
    ("input-in-bf16", "what enters the states", Scan { input: |h, b, u| bf16(h * b * u), ..ZOH }),
    ("input-in-f16", "what enters the states", Scan { input: |h, b, u| f16(h * b * u), ..ZOH }),
    ("delta-in-bf16", "Δ", Scan { step: |x, b| bf16(softplus(x + b)), ..ZOH }),
    ("delta-in-f16", "Δ", Scan { step: |x, b| f16(softplus(x + b)), ..ZOH }),
    ("a-in-bf16", "A is", Scan { a: bf16, ..ZOH }),
    ("a-in-f16", "A is", Scan { a: f16, ..ZOH }),
    ("a-bar-in-bf16", "Ā is", Scan { a_bar: |z| bf16(z.exp()), ..ZOH }),
    ("a-bar-in-f16", "Ā is", Scan { a_bar: |z| f16(z.exp()), ..ZOH }),
    ("readout-in-bf16", "before skip and gate", Scan { output: |y, d, u, z| (bf16(y) + d * u) * silu(z), ..ZOH }),
    ("readout-in-f16", "before skip and gate", Scan { output: |y, d, u, z| (f16(y) + d * u) * silu(z), ..ZOH }),
};

/// Factors next to 1, with which what is computed is nearly right: as they are found, whichever number they multiply.
const FACTORS: &[(&str, f64)] = table! {
    ("delta-scaled", 0.77), ("delta-scaled", 0.95), ("delta-scaled", 1.002), ("delta-scaled", 1.3),
    ("delta-scaled-before-softplus", 0.77), ("delta-scaled-before-softplus", 0.95), ("delta-scaled-before-softplus", 1.002), ("delta-scaled-before-softplus", 1.3),
    ("softplus-beta", 0.77), ("softplus-beta", 0.95), ("softplus-beta", 1.002), ("softplus-beta", 1.3),
    ("bias-scaled", 0.77), ("bias-scaled", 0.95), ("bias-scaled", 1.002), ("bias-scaled", 1.3),
    ("a-scaled", 0.77), ("a-scaled", 0.95), ("a-scaled", 1.002), ("a-scaled", 1.3),
    ("gate-swish", 0.77), ("gate-swish", 0.95), ("gate-swish", 1.002), ("gate-swish", 1.3),
};

/// B̄ itself, with coefficients that nobody has listed.
const B_BARS: &[(&str, fn(f64, f64) -> f64)] = table! {
    ("Δ + Δ²A/3; specified is Δ;", |delta: f64, a: f64| delta * (1.0 + delta * a / 3.0)),
    ("Δ + Δ²/2;", |delta: f64, _: f64| delta + delta * delta / 2.0),
    ("Δ/2 + Δe^(ΔA)/2;", |delta: f64, a: f64| delta * (1.0 + (delta * a).exp()) / 2.0),
    ("Δ + 3Δ²A/8 + Δ³A²/10;", |delta: f64, a: f64| delta * (1.0 + delta * a * 0.375 + (delta * a).powi(2) / 10.0)),
    ("it has A/3 in place of nothing", |delta: f64, a: f64| delta * (1.0 + delta * a / 3.0)),
};

/// What is read of the inputs is that of another place.
const PLACES: &[(&str, &str, fn(&mut Problem))] = table! {
    ("a-channel-off-by-1", "A of channel i is that of i + 1", |p: &mut Problem| p.a.rotate_left(p.shape.dstate)),
    ("a-of-first-channel", "A is that of channel 0", |p: &mut Problem| { let a = p.a[..4].to_vec(); p.a.chunks_mut(4).for_each(|row| row.copy_from_slice(&a)); }),
    ("a-mean", "the mean A of its channel", |p: &mut Problem| p.a.chunks_mut(4).for_each(|row| row.fill(row.iter().sum::<f32>() / 4.0))),
    ("d-channel-off-by-1", "D of channel i is that of i − 1", |p: &mut Problem| if let Some(d) = &mut p.d { d.rotate_right(1) }),
    ("bias-of-first-channel", "delta_bias is that of channel 0", |p: &mut Problem| if let Some(bias) = &mut p.delta_bias { let first = bias[0]; bias.fill(first) }),
    ("b-of-first-batch", "B is that of batch 0", |p: &mut Problem| { let half = p.b.len() / 2; let (first, second) = p.b.split_at_mut(half); second.copy_from_slice(first) }),
    ("c-in-bf16", "C is rounded", |p: &mut Problem| p.c.iter_mut().for_each(|c| *c = InputType::Bf16.round(*c))),
    ("c-in-f16", "C is rounded", |p: &mut Problem| p.c.iter_mut().for_each(|c| *c = InputType::F16.round(*c))),
    ("group-off", "reads group g + 1", |p: &mut Problem| { for values in [&mut p.b, &mut p.c] { let rows = values.len() / 4; values.chunks_mut(2 * rows).for_each(|batch| batch.rotate_left(rows)) } }),
    ("u-channels-reversed", "from the last channel", |p: &mut Problem| p.u.chunks_mut(240).for_each(|batch| { let rows: Vec<f32> = batch.chunks(40).rev().flatten().copied().collect(); batch.copy_from_slice(&rows) })),
};

/// Two at once, each with its numbers.
const TWO: &[Wrong] = table! {
    ("runs-as-euler + gate-linear", "euler", Scan { a_bar: |z| 1.0 + z, output: |y, d, u, z| (y + d * u) * z, ..ZOH }),
    ("bias-twice + skip-missing", "twice", Scan { step: |x, b| softplus(x + 2.0 * b), output: |y, _, _, z| y * silu(z), ..ZOH }),
    ("b-bar-identified + chunk-state-forgotten", "every 16th", Scan { b_bar: |delta, a| delta * (1.0 + delta * a / 3.0), carried: |x, l| if l % 16 == 0 { 0.0 } else { x }, ..ZOH }),
    ("b-bar-identified + gate-sigmoid-only", "Δ + Δ²A/3", Scan { b_bar: |delta, a| delta * (1.0 + delta * a / 3.0), output: |y, d, u, z| (y + d * u) * sigmoid(z), ..ZOH }),
    ("runs-as-euler + delta-scaled", "by 0.6", Scan { a_bar: |z| 1.0 + z, step: |x, b| 0.6 * softplus(x + b), ..ZOH }),
};

/// What is no formula of this kind: each depends on something that no hypothesis has.
const UNKNOWN: &[Scan] = table! {
    Scan { output: |y, d, u, z| (y + d * u) * silu(z) + 0.3 * (y * z).sin(), ..ZOH },
    Scan { b_bar: |delta, a| delta * (1.0 + 0.3 * (3.0 * delta * a).sin()), ..ZOH },
    Scan { a_bar: |z| z.exp() * (1.0 + 0.2 * (5.0 * z).cos()), ..ZOH },
};

tables! {
    what_is_done_with_the_readout_is_identified: READOUTS, |(name, says, scan), asked| {
        let problem = problem(2);
        [true, false].into_iter().for_each(|with_state| is_named(asked, (scan, &problem, &problem, with_state), (name, says)));
    };
    each_gate_is_identified: GATES, |(name, says, gate), asked| {
        let problem = problem(2);
        // The recorded gate is z: what is made of it stands in its place.
        let mut computed = problem.clone();
        computed.z.iter_mut().flatten().for_each(|z| *z = gate(f64::from(*z)) as f32);
        let scan = Scan { output: |y, d, u, gate| (y + d * u) * gate, ..ZOH };
        is_named(asked, (&scan, &computed, &problem, true), (name, says));
    };
    what_is_around_the_formula_is_identified: AROUND, |(name, says, scan), asked| {
        let problem = problem(3);
        is_named(asked, (scan, &problem, &problem, true), (name, says));
    };
    what_is_rounded_on_its_way_is_identified: ROUNDED, |(name, says, scan), asked| {
        let problem = problem(9);
        is_named(asked, (scan, &problem, &problem, true), (name, says));
    };
    a_factor_next_to_1_is_identified: FACTORS, |(name, factor), asked| {
        let problem = problem(2);
        let (scan, computed) = with_factor(&problem, name, *factor);
        is_named(asked, (&scan, &computed, &problem, true), (name, &factor.to_string()));
    };
    b_bar_is_identified: B_BARS, |(says, b_bar), asked| {
        let problem = problem(4);
        let scan = Scan { b_bar: *b_bar, ..ZOH };
        is_named(asked, (&scan, &problem, &problem, true), ("b-bar-identified", says));
    };
    a_wrong_place_is_identified: PLACES, |(name, says, misread), asked| {
        let given = problem(5);
        let mut computed = given.clone();
        misread(&mut computed);
        is_named(asked, (&ZOH, &computed, &given, true), (name, says));
    };
    two_at_once_are_identified: TWO, |(name, says, scan), asked| {
        let problem = problem(6);
        is_named(asked, (scan, &problem, &problem, true), (name, says));
    };
    what_is_nothing_known_gets_no_name: UNKNOWN, |scan, asked| {
        let problem = problem(7);
        of(asked, (scan, &problem, &problem, true), "").is_nothing("unknown");
    };
}

/// A scan of what is computed where this has a factor: what is made of an input stands in its place.
fn with_factor(problem: &Problem, name: &str, factor: f64) -> (Scan, Problem) {
    let (mut scan, mut computed) = (ZOH, problem.clone());
    let each = |values: &mut [f32], of: &dyn Fn(f64) -> f64| {
        values.iter_mut().for_each(|x| *x = of(f64::from(*x)) as f32);
    };
    match name {
        "a-scaled" => each(&mut computed.a, &|a| a * factor),
        "gate-swish" => {
            scan.output = |y, d, u, gate| (y + d * u) * gate;
            each(computed.z.as_mut().expect("a gate"), &|z| z * sigmoid(z * factor));
        }
        "bias-scaled" => each(computed.delta_bias.as_mut().expect("a bias"), &|bias| bias * factor),
        _ => {
            scan.step = |x, _| x;
            let Shape { dim, seqlen, .. } = computed.shape;
            let bias = computed.delta_bias.clone().expect("a bias");
            for (i, x) in computed.delta.iter_mut().enumerate() {
                let (raw, bias) = (f64::from(*x), f64::from(bias[i / seqlen % dim]));
                let step = match name {
                    "delta-scaled" => factor * softplus(raw + bias),
                    "softplus-beta" => softplus(factor * (raw + bias)) / factor,
                    _ => softplus(factor * raw + bias),
                };
                *x = step as f32;
            }
        }
    }
    (scan, computed)
}

/// A last state that is written with its last two axes in each other's place.
#[test]
fn a_transposed_last_state_is_identified() {
    let problem = problem(8);
    let Shape { dim, dstate, .. } = problem.shape;
    let (out, last) = run(&ZOH, &problem);
    let transposed: Vec<f32> = last
        .chunks(dim * dstate)
        .flat_map(|batch| (0..dim * dstate).map(|at| batch[at % dim * dstate + at / dim]))
        .collect();
    let mut file = File::of(&problem, ComplexAs::Trailing);
    file.add_output(&problem, "zoh", &out, Some(&transposed), ComplexAs::Trailing);
    said(&file.recording(), None).is_first("last-state-of-other-place", "(batch, dstate, dim)");
}

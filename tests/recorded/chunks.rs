//! Promise: what a chunked scan keeps of its chunks is judged by itself, every number of it.

use std::num::NonZeroUsize;
use std::sync::Arc;

use holdfast::check::{Options, check};
use holdfast::judge::diagnose::Budget;
use holdfast::judge::{budget, quick};
use holdfast::method::Method;
use holdfast::problem::{InputType, Order, Packed, Problem, Shape, Weights};
use holdfast::promise::{Contract, Promise};
use holdfast::tensor::TensorName;
use holdfast::truth;
use safetensors::Dtype;

use crate::conventions::whole;
use crate::layouts::{SHAPE, headed, laid_out, permuted};
use crate::packed::integers;
use crate::written::{self, File};

/// What an SSD scan computes of each channel: out and last_state, the state before each chunk, and running sums of ΔA within each.
pub struct Ssd {
    pub out: Vec<f32>,
    pub last_state: Vec<f32>,
    pub chunk_states: Vec<f32>,
    pub cumsum: Vec<f32>,
}

/// zoh in chunks, in f32, by products whose operands are rounded so, as mamba_ssm's kernels have them. Each channel has one A.
pub fn ssd(problem: &Problem, chunk: usize, round: impl Fn(f32) -> f32) -> Ssd {
    let Shape { dstate, seqlen, .. } = problem.shape;
    let mut all = Ssd { out: vec![], last_state: vec![], chunk_states: vec![], cumsum: vec![] };
    for at in problem.channels() {
        let operand = |values: &[f32], operand, l| -> Vec<f32> {
            (0..dstate).map(|n| values[problem.operand_index(operand, at, n, l)]).collect()
        };
        let a = problem.a[problem.weight_index(at.1, 0)];
        let bias = problem.delta_bias.as_ref().map_or(0.0, |bias| bias[at.1]);
        let index = |l| problem.sequence_index(at.0, at.1, l);
        let delta: Vec<f32> = (0..seqlen)
            .map(|l| problem.delta[index(l)] + bias)
            .map(|x| if problem.delta_softplus { x.exp().ln_1p() } else { x })
            .collect();
        let start = problem.state_index(at, 0);
        let mut x =
            problem.initial_state.as_ref().map_or(vec![0.0; dstate], |x| x[start..start + dstate].to_vec());
        for first in (0..seqlen).step_by(chunk) {
            let positions = first..seqlen.min(first + chunk);
            all.chunk_states.extend(&x);
            let mut sum = 0.0f32;
            let sums: Vec<f32> = positions
                .clone()
                .map(|l| {
                    sum += delta[l] * a;
                    sum
                })
                .collect();
            for (i, l) in positions.clone().enumerate() {
                let c = operand(&problem.c, problem.c_operand, l);
                let dot = |b: &[f32]| c.iter().zip(b).map(|(c, b)| round(*c) * round(*b)).sum::<f32>();
                let mut y = dot(&x) * sums[i].exp();
                for (j, k) in (first..=l).enumerate() {
                    let score = dot(&operand(&problem.b, problem.b_operand, k));
                    y += round(score * (sums[i] - sums[j]).exp() * delta[k]) * round(problem.u[index(k)]);
                }
                y += problem.d.as_ref().map_or(0.0, |d| d[at.1] * problem.u[index(l)]);
                let gate = problem.z.as_ref().map_or(1.0, |z| z[index(l)] / (1.0 + (-z[index(l)]).exp()));
                all.out.push(problem.input.round(y * gate));
            }
            x.iter_mut().for_each(|x| *x *= sum.exp());
            for (j, k) in positions.clone().enumerate() {
                let b = operand(&problem.b, problem.b_operand, k);
                for (x, b) in x.iter_mut().zip(b) {
                    *x += round(b * (sum - sums[j]).exp() * delta[k]) * round(problem.u[index(k)]);
                }
            }
            all.cumsum.extend(sums);
        }
        all.last_state.extend(x);
    }
    all
}

const CHUNK: usize = 3;
/// The last one is not full.
const CHUNKS: usize = 3;

/// The file of heads, with everything that the scan has computed, and what is stated of it.
pub fn recorded(problem: &Problem, scan: &Ssd, metadata: &[(&str, &str)]) -> File {
    laid_out(&plain(problem, scan), Order::Blhp).stating(metadata)
}

fn plain(problem: &Problem, scan: &Ssd) -> File {
    File::of_output(problem, "zoh", &scan.out, Some(&scan.last_state))
}

/// Tensors of chunks as the kernel has them: states (b, c, h, p, n), and sums (b, h, c, k), of which anything is past the end.
pub fn with_chunks(file: &File, shape: Shape, chunk: usize, scan: &Ssd) -> File {
    let Shape { batch, dim, dstate, seqlen, .. } = shape;
    let chunks = seqlen.div_ceil(chunk);
    let states = written::tensor(Dtype::F32, &[batch, dim, chunks, dstate], &scan.chunk_states);
    let mut states = permuted(&states, &[0, 2, 1, 3]);
    states.shape = vec![batch, chunks, dim / 2, 2, dstate];
    let rows = scan.cumsum.chunks(seqlen).step_by(2);
    let rows = rows.flat_map(|row| [row, &vec![f32::NAN; chunks * chunk - seqlen]].concat());
    let sums = [batch, dim / 2, chunks, chunk];
    let sums = written::tensor(Dtype::F32, &sums, &rows.collect::<Vec<_>>());
    let file = file.with("chunk_states.zoh", states).with("dA_cumsum.zoh", sums);
    file.stating(&[("chunk", &chunk.to_string())])
}

/// What fails of a file, by the certified route, and by the quick one, which must say the same.
fn failing(file: &File) -> Vec<&'static str> {
    // A chunk is walked in several stretches.
    let (options, run) = (Options { diagnosis: Budget::Off, ..Options::EVERYTHING }, file.recording());
    let case = check("run", "run", &run.by_positions(2), &options, &|| {}).expect("a run").cases.remove(0);
    let run = whole(&file.recording());
    let contract = Promise::recorded(file.recording().layout().stages).contract;
    let of = |at| quick::judge((Method::Zoh, &contract), &run.problem, at, &run.outputs[0].tensors);
    let tallies: Vec<_> = run.problem.channels().map(of).collect();
    let mut by_quick = Vec::new();
    for (name, tensor) in case.tensors.iter() {
        let of_tensor = || tallies.iter().map(|tallies| &tallies[name.output().expect("an output")]);
        if of_tensor().any(|tally| tally.passed < tally.elements()) {
            by_quick.push(name.name());
        }
        assert_eq!(of_tensor().map(|tally| tally.elements()).sum::<usize>(), tensor.judged, "{name}");
    }
    let failing = written::failing(&case);
    assert_eq!(failing, by_quick);
    failing
}

const STATED: [(&str, &str); 2] = [("chunk", "3"), ("scan", "log-space-3")];

#[test]
fn tensors_of_chunks_are_judged_by_themselves() {
    let (problem, _) = headed(Weights::Real, InputType::F32);
    let scan = ssd(&problem, CHUNK, |x| x);
    let right = with_chunks(&recorded(&problem, &scan, &STATED), SHAPE, CHUNK, &scan);
    assert_eq!(failing(&right), [""; 0]);
    let case = right.judged();
    assert_eq!(case.tensors[TensorName::DaCumsum].judged, problem.u.len());
    for (name, tensor) in case.tensors.iter() {
        let share = tensor.worst.as_ref().expect("judged").share;
        assert!(share < 0.5, "{name}: {share}");
    }
    let (dstate, row) = (SHAPE.dstate, CHUNKS * SHAPE.dstate);
    let slips: [(&str, fn(&mut [f32])); 6] = [
        ("chunk_states", |row| row[SHAPE.dstate..].rotate_left(SHAPE.dstate)),
        ("chunk_states", |row| row[SHAPE.dstate] *= 1.0001),
        // The initial state is kept as it is.
        ("chunk_states", |row| row[0] = row[0].next_up()),
        ("dA_cumsum", |row| row.rotate_left(1)),
        ("dA_cumsum", |row| row[4] *= 1.0001),
        // Sums that do not begin anew.
        ("dA_cumsum", |row| (3..7).for_each(|l| row[l] += row[l / 3 * 3 - 1])),
    ];
    for (name, slip) in slips {
        let mut wrong = ssd(&problem, CHUNK, |x| x);
        match name {
            "chunk_states" => wrong.chunk_states.chunks_mut(row).for_each(slip),
            _ => wrong.cumsum.chunks_mut(SHAPE.seqlen).for_each(slip),
        }
        assert_eq!(failing(&with_chunks(&right, SHAPE, CHUNK, &wrong)), [name]);
    }
    // A position late, and without decay.
    let mut late = problem.clone();
    late.delta.chunks_mut(7).for_each(|row| row.rotate_right(1));
    late.u.chunks_mut(7).for_each(|row| row.rotate_right(1));
    let mut endless = problem.clone();
    endless.a.fill(-1e-9);
    for wrong in [late, endless] {
        let wrong = Ssd { cumsum: scan.cumsum.clone(), ..ssd(&wrong, CHUNK, |x| x) };
        assert_eq!(failing(&with_chunks(&right, SHAPE, CHUNK, &wrong)), ["chunk_states"]);
    }
    // Places are the file's own: (b, c, h, p, n) and (b, h, c, k).
    let mut wrong = ssd(&problem, CHUNK, |x| x);
    wrong.chunk_states[(6 + 5) * row + 2 * dstate + 1] += 1.0;
    wrong.cumsum[(6 + 5) * 7 + 4] += 1.0;
    wrong.cumsum[(6 + 4) * 7 + 4] += 1.0;
    let case = with_chunks(&right, SHAPE, CHUNK, &wrong).judged();
    let place = |name| case.tensors[name].worst.as_ref().expect("one").place.clone();
    assert_eq!(place(TensorName::ChunkStates), "item 1, chunk 2, head 2, channel 1, state 1");
    assert_eq!(place(TensorName::DaCumsum), "item 1, head 2, chunk 1, position 1");
    let places = &case.tensors[TensorName::ChunkStates].wrong[0].places;
    assert_eq!(places.join(", "), "item 1, chunk 2, head 2, channel 1, state 1");
}

/// The state before a chunk is the last one of what comes before it, by both routes, with bounds of its own.
#[test]
fn a_state_before_a_chunk_is_the_last_one_of_what_is_before() {
    for weights in Weights::ALL {
        let (mut problem, _) = headed(weights, InputType::F32);
        problem.conventions.chunk = NonZeroUsize::new(CHUNK);
        for method in [Method::Zoh, Method::Bilinear, Method::Poly] {
            let solve = |problem: &Problem| {
                truth::scan::solve(problem, &[method]).expect("certified").remove(0).tensors
            };
            let (whole, quick) = (solve(&problem), quick::values(method, &problem));
            let bounds = budget::scan(method, &problem, &Contract::FRAMEWORK).tensors;
            let len = SHAPE.dstate * weights.width();
            for chunk in 1..CHUNKS {
                let indices = |i| if i % SHAPE.seqlen < chunk * CHUNK { 0 } else { -1 };
                let indices: Vec<i64> = (0..SHAPE.batch * SHAPE.seqlen).map(indices).collect();
                let packed = Some(Arc::new(Packed::by_indices(&indices, SHAPE.seqlen)));
                let before = Problem { packed, conventions: Default::default(), ..problem.clone() };
                let (want, state) = (solve(&before), TensorName::ChunkStates);
                let want = &want[TensorName::LastState].values;
                let of_row = |values: &[f64]| -> Vec<f64> {
                    values.chunks(CHUNKS * len).flat_map(|row| row[chunk * len..][..len].to_vec()).collect()
                };
                assert_eq!(of_row(&whole[state].values), *want, "{weights} {method}");
                let of_quick = of_row(&quick[state]);
                for (i, (quick, want)) in of_quick.iter().zip(want).enumerate() {
                    let n = i / weights.width();
                    let at = (n / SHAPE.dstate * CHUNKS + chunk) * SHAPE.dstate + n % SHAPE.dstate;
                    let bound = bounds[state].bound[at];
                    assert!((quick - want).abs() < bound / 256.0 && bound < 1e-4, "{weights} {method}");
                }
            }
        }
    }
}

/// Without heads too, under either name; and of one chunk nothing has to be stated.
#[test]
fn states_of_one_chunk_need_no_statement() {
    let (problem, _) = headed(Weights::Real, InputType::F32);
    let scan = ssd(&problem, SHAPE.seqlen, |x| x);
    let shape = [SHAPE.batch, 1, SHAPE.dim, SHAPE.dstate];
    for (name, wrong) in [("states.zoh", 0.0), ("states.zoh", 1e-3), ("chunk_states.zoh", 1e-3)] {
        let mut states = scan.chunk_states.clone();
        states[5] += wrong;
        let file = plain(&problem, &scan).with(name, written::tensor(Dtype::F32, &shape, &states));
        let expected: &[&str] = if wrong == 0.0 { &[] } else { &["chunk_states"] };
        assert_eq!(written::failing(&file.judged()), expected, "{name}");
    }
}

#[test]
fn what_says_no_chunks_is_refused() {
    let (problem, _) = headed(Weights::Real, InputType::F32);
    let scan = ssd(&problem, CHUNK, |x| x);
    let without = recorded(&problem, &scan, &STATED);
    let right = with_chunks(&without, SHAPE, CHUNK, &scan);
    let sums = written::Tensor { shape: vec![2, 3, 9, 1], ..right.get("dA_cumsum.zoh").clone() };
    for (file, says) in [
        (
            right.without("chunk"),
            "`chunk_states.zoh` is of chunks, expected the metadata `chunk` (hint: state chunk=64",
        ),
        (right.stating(&[("chunk", "0")]), "metadata `chunk` is `0`, expected a number of positions"),
        (
            right.stating(&[("chunk", "4")]),
            "`chunk_states.zoh` has shape (2, 3, 3, 2, 4), expected (2, 2, 3, 2, 4)",
        ),
        (right.stating(&[("direction", "reverse")]), "expected a scan from the first position on"),
        (right.stating(&[("chunk_size", "3")]), "chunk the length of chunks whose states are recorded"),
        (right.with("seq_idx", integers(&[0; 14], &[2, 7])), "expected sequences that are not packed"),
        (
            right.with("dA_cumsum.zoh", sums),
            "tensor `dA_cumsum.zoh` has shape (2, 3, 9, 1), expected (2, 3, 3, 3)",
        ),
        (without, "metadata `chunk` is `3`, expected none without chunk_states or dA_cumsum"),
    ] {
        file.is_refused(says);
    }
}

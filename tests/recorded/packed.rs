//! Promise: sequences that are packed into one item are judged as if each were alone, forwards and backwards.

use std::ops::Range;
use std::sync::Arc;

use holdfast::judge::quick;
use holdfast::kernel::{Backend as _, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::stretch::Inputs as _;
use holdfast::problem::{InputType, Operand, OutputGradients, Packed, Problem, Shape, Weights};
use holdfast::promise::Promise;
use holdfast::results::Verdict;
use holdfast::tensor::GradientName::InitialState;
use holdfast::tensor::{Gradients, TensorName};
use holdfast::truth;
use safetensors::Dtype;

use crate::conventions;
use crate::support::problems::{Layout, generator, uniform};
use crate::written::{ComplexAs, File, Tensor, dtype, failing, single, tensor};

/// One item of three sequences, or two items of which one has padding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    Starts,
    Indices,
}

const STARTS: [usize; 4] = [0, 1, 5, 11];
const INDICES: [[i64; 11]; 2] = [[4, 4, 4, 9, 9, 9, 9, 9, 4, 4, 4], [0, 0, -1, -2, 7, 7, 7, 7, 7, 7, 7]];

/// A sequence: its item and positions, and the places of its initial state and its last one among those of the item.
type Own = (usize, Range<usize>, [Option<usize>; 2]);

/// A sequence as a problem of its own, and its part of a loss.
type Part = (Problem, OutputGradients);

impl By {
    fn sequences(self) -> Vec<Own> {
        match self {
            By::Starts => (0..3).map(|i| (0, STARTS[i]..STARTS[i + 1], [Some(i); 2])).collect(),
            By::Indices => vec![
                (0, 0..3, [Some(0), None]),
                (0, 3..8, [None, None]),
                (0, 8..11, [None, Some(0)]),
                (1, 0..2, [Some(0), None]),
                (1, 4..11, [None, Some(0)]),
            ],
        }
    }

    fn packed(self) -> Packed {
        match self {
            By::Starts => Packed::by_starts(&STARTS, 11, [3, 3]),
            By::Indices => Packed::by_indices(INDICES.as_flattened(), 11),
        }
    }

    /// Items, and states of each.
    fn counts(self) -> [usize; 2] {
        if self == By::Starts { [1, 3] } else { [2, 1] }
    }
}

/// Each sequence by itself; all of them have one A, D and bias.
fn apart(by: By, weights: Weights, operand: Operand) -> Vec<Part> {
    let mut rng = generator("packed");
    let mut first: Option<Problem> = None;
    let of = |(_, positions, [initial, last]): Own| {
        let shape = Shape { batch: 1, dim: 4, dstate: 3, seqlen: positions.len(), groups: 2 };
        let layout = Layout { weights, b: operand, c: operand, ..Layout::whole(shape) };
        let mut problem = layout.random(&mut rng);
        let mut values = |len: usize| uniform(len, InputType::F32, &mut rng);
        problem.initial_state = initial.map(|_| values(problem.a.len()));
        let dlast_state = last.map(|_| values(problem.a.len()));
        let given = OutputGradients { dout: values(problem.u.len()), dlast_state };
        let Problem { a, b, c, d, delta_bias, .. } = first.get_or_insert_with(|| problem.clone()).clone();
        if operand == Operand::Constant {
            (problem.b, problem.c) = (b, c);
        }
        (Problem { a, d, delta_bias, ..problem }, given)
    };
    by.sequences().into_iter().map(of).collect()
}

/// The sequences in their items. Padding has zeros.
fn together(by: By, parts: &[Part]) -> Part {
    let (first, [items, _]) = (&parts[0].0, by.counts());
    let width = first.weights.width();
    let all = |of: fn(&Part) -> Option<&Vec<f32>>| -> Vec<Vec<f32>> {
        parts.iter().map(|part| of(part).cloned().unwrap_or_default()).collect()
    };
    let rows = |width: usize, of| put(by, width, None, &all(of));
    let states = |slot: usize, of| Some(put(by, width, Some(slot), &all(of)));
    let operand = |operand, values: &[f32], of| match operand {
        Operand::Constant => values.to_vec(),
        Operand::Variable => rows(width, of),
    };
    let mut problem = Problem {
        shape: Shape { batch: items, seqlen: 11, ..first.shape },
        u: rows(1, |(part, _)| Some(&part.u)),
        delta: rows(1, |(part, _)| Some(&part.delta)),
        b: operand(first.b_operand, &first.b, |(part, _)| Some(&part.b)),
        c: operand(first.c_operand, &first.c, |(part, _)| Some(&part.c)),
        z: Some(rows(1, |(part, _)| part.z.as_ref())),
        initial_state: states(0, |(part, _)| part.initial_state.as_ref()),
        packed: Some(Arc::new(by.packed())),
        ..first.clone()
    };
    problem.judged_channels = problem.channels().collect();
    let dout = rows(1, |(_, given)| Some(&given.dout));
    (problem, OutputGradients { dout, dlast_state: states(1, |(_, given)| given.dlast_state.as_ref()) })
}

/// A problem that starts from given states.
pub fn drawn(by: By, weights: Weights, operand: Operand) -> Problem {
    together(by, &apart(by, weights, operand)).0
}

/// Values of sequences, put where they belong: `of` has them in rows of positions, or of initial states (0) or last ones (1).
fn put<T: Copy + Default>(by: By, width: usize, states: Option<usize>, of: &[Vec<T>]) -> Vec<T> {
    let ([items, count], (dim, dstate)) = (by.counts(), (4, 3));
    let (rows, row) = match states {
        Some(_) => (dim, count * dstate),
        None => (of[0].len() / by.sequences()[0].1.len() / width, 11),
    };
    let mut whole = vec![T::default(); items * rows * row * width];
    for ((item, positions, slots), values) in by.sequences().into_iter().zip(of) {
        let own = match states.map(|which| slots[which]) {
            Some(Some(slot)) => slot * dstate * width..(slot + 1) * dstate * width,
            Some(None) => continue,
            None => positions.start * width..positions.end * width,
        };
        for (i, values) in values.chunks(own.len()).enumerate() {
            whole[(item * rows + i) * row * width..][own.clone()].copy_from_slice(values);
        }
    }
    whole
}

/// A tensor of I32.
pub fn integers(values: &[i64], shape: &[usize]) -> Tensor {
    let bytes = values.iter().flat_map(|&value| (value as i32).to_le_bytes());
    Tensor { dtype: Dtype::I32, shape: shape.to_vec(), bytes: bytes.collect() }
}

/// A tensor of where sequences begin.
pub fn starts(values: &[usize]) -> Tensor {
    let values: Vec<i64> = values.iter().map(|&start| start as i64).collect();
    integers(&values, &[values.len()])
}

/// The file of a packed problem, with states in the order of sequences.
pub fn file(by: By, problem: &Problem) -> File {
    let plain = Problem { initial_state: None, packed: None, ..problem.clone() };
    let mut file = File::of(&plain, ComplexAs::Trailing);
    match by {
        By::Starts => file.set("cu_seqlens", starts(&STARTS)),
        By::Indices => file.set("seq_idx", integers(INDICES.as_flattened(), &[2, 11])),
    }
    file.set("initial_state", states(by, problem, problem.initial_state.as_ref().expect("given")));
    file
}

fn states(by: By, problem: &Problem, values: &[f32]) -> Tensor {
    let Shape { batch, dim, dstate, .. } = problem.shape;
    let (len, [_, count]) = (dstate * problem.weights.width(), by.counts());
    let mut turned = values.to_vec();
    for (i, values) in values.chunks(len).enumerate() {
        let (channel, slot) = (i / count, i % count);
        turned[(slot * batch * dim + channel) * len..][..len].copy_from_slice(values);
    }
    let mut shape = vec![batch * count, dim, dstate];
    shape.extend((problem.weights == Weights::Complex).then_some(2));
    tensor(Dtype::F32, &shape, &turned)
}

pub fn add(by: By, file: &mut File, problem: &Problem, method: Method, out: &[f64], last: &[f64]) {
    let shape = [problem.shape.batch, 4, 11];
    file.set(&format!("out.{method}"), tensor(dtype(problem.input), &shape, &single(out)));
    file.set(&format!("last_state.{method}"), states(by, problem, &single(last)));
}

/// A truth as what a scan returned.
pub fn add_truth(by: By, file: &mut File, problem: &Problem, method: Method) {
    let [out, last] = conventions::truth(problem, method.into());
    add(by, file, problem, method, &out, &last);
}

fn kinds() -> impl Iterator<Item = (By, Weights, Operand)> {
    [
        (By::Starts, Weights::Real, Operand::Variable),
        (By::Indices, Weights::Complex, Operand::Variable),
        (By::Indices, Weights::Real, Operand::Constant),
        (By::Starts, Weights::Complex, Operand::Constant),
    ]
    .into_iter()
}

fn widened(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&x| f64::from(x)).collect()
}

/// Truth of a packed problem is that of its sequences, and a kernel that scans them apart passes; one that scans on fails.
#[test]
fn sequences_are_scanned_apart() {
    for (by, weights, operand) in kinds() {
        let parts = apart(by, weights, operand);
        let (problem, _) = together(by, &parts);
        let truths = truth::scan::solve(&problem, &Method::ALL).expect("certified");
        let mut good = file(by, &problem);
        let mut bad = good.clone();
        let plain = Problem { initial_state: None, packed: None, ..problem.clone() };
        for truth in &truths {
            let scan = |(part, _): &Part| {
                let want = truth::scan::solve(part, &[truth.method]).expect("certified").remove(0).tensors;
                (want, ReferenceBackend.scan(truth.method, part).expect("it runs"))
            };
            let scanned: Vec<_> = parts.iter().map(scan).collect();
            let tensors = [(TensorName::Out, 1, None), (TensorName::LastState, weights.width(), Some(1))];
            let [out, last] = tensors.map(|(name, width, states)| {
                let wants: Vec<_> = scanned.iter().map(|(want, _)| want[name].values.clone()).collect();
                let (want, form) = (&truth.tensors[name].values, truth.method);
                assert_eq!(*want, put(by, width, states, &wants), "{by:?} {weights} {operand} {form} {name}");
                let got: Vec<_> = scanned.iter().map(|(_, scan)| widened(&scan[name].values)).collect();
                put(by, width, states, &got)
            });
            add(by, &mut good, &problem, truth.method, &out, &last);
            let on = ReferenceBackend.scan(truth.method, &plain).expect("it runs");
            add(by, &mut bad, &problem, truth.method, &widened(&on[TensorName::Out].values), &last);
        }
        for case in good.checked().cases {
            assert_eq!(case.verdict, Verdict::Pass, "{by:?} {weights} {operand} {}", case.id);
        }
        for case in bad.checked().cases {
            assert!(failing(&case).contains(&"out"), "{by:?} {weights} {operand} {}", case.id);
        }
    }
}

/// A recording is walked as it lies, whatever is walked at a time, and says of every element what is said of it in memory.
#[test]
fn stretches_end_where_sequences_do() {
    for (by, weights, operand) in kinds() {
        let problem = drawn(by, weights, operand);
        let mut file = file(by, &problem);
        let (contract, rows) =
            (Promise::recorded(Default::default()).contract, problem.judged_channels.len());
        for truth in truth::scan::solve(&problem, &[Method::Foh, Method::Poly]).expect("certified") {
            add_truth(by, &mut file, &problem, truth.method);
            let in_memory = truth.tensors.map(|name, tensor| problem.tensor(name, single(&tensor.values)));
            for count in [1, 4, 11] {
                let recording = file.recording().by_positions(count);
                let (_, tensors) = recording
                    .layout()
                    .outputs
                    .iter()
                    .find(|(name, _)| name.form == truth.method)
                    .expect("it is recorded");
                for row in 0..rows {
                    let at = (row / 4, row % 4);
                    let got = |name, elements| recording.outputs(tensors, name, at, elements);
                    let promised = (truth.method, &contract);
                    let read = quick::judge_stretches(promised, &recording, at, &got, quick::LONG)
                        .expect("it reads");
                    let held = quick::judge(promised, &problem, at, &in_memory);
                    for ((name, read), (_, held)) in read.iter().zip(held.iter()) {
                        assert_eq!(read.difference(held), None, "{by:?} {name}");
                        assert_eq!(read.passed, read.elements(), "{by:?} {weights} {name} {count}");
                    }
                }
                assert_eq!(recording.sequences(0).len(), 3);
            }
        }
    }
}

/// Gradients do not cross a border, and sums over positions are over all sequences.
#[test]
fn gradients_are_those_of_sequences() {
    for (by, weights, operand) in kinds() {
        let parts = apart(by, weights, operand);
        let (problem, given) = together(by, &parts);
        let methods = [Method::Zoh, Method::Poly];
        let truths = truth::gradient::solve(&problem, &given, &methods).expect("certified");
        let plain = Problem { initial_state: None, packed: None, ..problem.clone() };
        let on =
            truth::gradient::solve(&plain, &OutputGradients { dlast_state: None, ..given.clone() }, &methods);
        let on = on.expect("certified");
        for (truth, on) in truths.iter().zip(&on) {
            let of_part = |(part, given): &Part| {
                truth::gradient::solve(part, given, &[truth.method]).expect("certified").remove(0).tensors
            };
            let of_parts: Vec<Gradients<f64>> = parts.iter().map(of_part).collect();
            for (name, want) in truth.tensors.iter() {
                let parts: Vec<Vec<f64>> =
                    of_parts.iter().map(|of| of.get(name).map_or(vec![], |of| of.values.clone())).collect();
                let varies = problem.varies(name) || name == InitialState;
                let sums = match varies {
                    true => put(by, want.width, (name == InitialState).then_some(0), &parts),
                    false => (0..want.values.len()).map(|i| parts.iter().map(|part| part[i]).sum()).collect(),
                };
                for (i, (want, sum)) in want.values.iter().zip(sums).enumerate() {
                    let close =
                        if varies { *want == sum } else { (want - sum).abs() < 1e-14 * (1.0 + sum.abs()) };
                    assert!(close, "{by:?} {weights} {operand} {} {name}[{i}]: {want} {sum}", truth.method);
                }
            }
            let recorded = |gradients: &Gradients<f64>| {
                let dout = tensor(Dtype::F32, &[problem.shape.batch, 4, 11], &given.dout);
                let of_states = states(by, &problem, given.dlast_state.as_ref().expect("it sees them"));
                let mut file = file(by, &problem).with("dout", dout).with("dlast_state", of_states);
                for (name, gradient) in gradients.iter() {
                    let values = single(&gradient.values);
                    let stored = match name {
                        InitialState => states(by, &problem, &values),
                        _ => tensor(Dtype::F32, &file.get(name.input()).shape, &values),
                    };
                    file.set(&format!("{name}.{}", truth.method), stored);
                }
                file.judged()
            };
            assert_eq!(recorded(&truth.tensors).verdict, Verdict::Pass, "{by:?} {weights} {operand}");
            let across = truth.tensors.map(|name, tensor| on.tensors.get(name).unwrap_or(tensor).clone());
            let failing = failing(&recorded(&across));
            for name in ["grad.u", "grad.delta", "grad.A", "grad.B"] {
                assert!(failing.contains(&name), "{by:?} {weights} {operand} {name}: {failing:?}");
            }
        }
    }
}

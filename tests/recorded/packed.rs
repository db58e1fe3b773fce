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
use holdfast::tensor::GradientName::{self, InitialState};
use holdfast::tensor::{Gradients, TensorName};
use holdfast::truth::{self, scan::ScanTruth};
use rand::RngExt as _;
use safetensors::Dtype;

use crate::support::problems::{Layout, generator};
use crate::written::{ComplexAs, File, Tensor, dtype, failing, tensor};

/// One item of three sequences, or two items of which one has padding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    Starts,
    Indices,
}

const STARTS: [usize; 4] = [0, 1, 5, 11];
const INDICES: [[i64; 11]; 2] = [[4, 4, 4, 9, 9, 9, 9, 9, 4, 4, 4], [0, 0, -1, -2, 7, 7, 7, 7, 7, 7, 7]];

impl By {
    /// The sequences: their item, positions, and whether they have the item's initial state and its last one.
    fn sequences(self) -> Vec<(usize, Range<usize>, [Option<usize>; 2])> {
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

    fn states(self) -> usize {
        if self == By::Starts { 3 } else { 1 }
    }

    /// Whether a position is of a sequence.
    fn has(self, item: usize, l: usize) -> bool {
        self.sequences().iter().any(|(of, positions, _)| *of == item && positions.contains(&l))
    }
}

/// A problem that starts from given states, and a loss that sees the last ones. Padding has zeros.
pub fn drawn(by: By, weights: Weights, operand: Operand, input: InputType) -> (Problem, OutputGradients) {
    let shape =
        Shape { batch: if by == By::Starts { 1 } else { 2 }, dim: 4, dstate: 3, seqlen: 11, groups: 2 };
    let mut rng = generator("packed");
    let layout = Layout { shape, weights, input, b: operand, c: operand, gate: true, extras: true };
    let mut problem = layout.random(&mut rng);
    let mut values = |len: usize, input: InputType| {
        (0..len).map(|_| input.round(rng.random_range(-1.0f32..1.0))).collect::<Vec<f32>>()
    };
    let states = shape.batch * shape.dim * by.states() * shape.dstate * weights.width();
    problem.initial_state = Some(values(states, InputType::F32));
    let mut dout = values(problem.u.len(), input);
    let dlast_state = Some(values(states, InputType::F32));
    problem.judged_channels = problem.channels().collect();
    let clear = |values: &mut [f32], rows: usize, width: usize| {
        for (i, value) in values.iter_mut().enumerate() {
            if !by.has(i / (rows * shape.seqlen * width), i / width % shape.seqlen) {
                *value = 0.0;
            }
        }
    };
    let Problem { u, delta, z, b, c, .. } = &mut problem;
    [Some(u), Some(delta), z.as_mut()].into_iter().flatten().for_each(|values| clear(values, shape.dim, 1));
    if operand == Operand::Variable {
        [b, c].into_iter().for_each(|values| clear(values, shape.groups * shape.dstate, weights.width()));
    }
    clear(&mut dout, shape.dim, 1);
    problem.packed = Some(Arc::new(by.packed()));
    (problem, OutputGradients { dout, dlast_state })
}

/// Some positions of each row of an item.
fn cut(values: &[f32], (items, item): (usize, usize), width: usize, positions: &Range<usize>) -> Vec<f32> {
    let of_item = values.len() / items;
    let rows = values[item * of_item..(item + 1) * of_item].chunks(11 * width);
    rows.flat_map(|row| row[positions.start * width..positions.end * width].to_vec()).collect()
}

/// A sequence by itself.
fn part(
    (problem, given): (&Problem, &OutputGradients),
    (item, positions, [initial, last]): &(usize, Range<usize>, [Option<usize>; 2]),
    count: usize,
) -> (Problem, OutputGradients) {
    let (items, width) = (problem.shape.batch, problem.weights.width());
    let rows = |values: &Vec<f32>, width| cut(values, (items, *item), width, positions);
    let states = |values: &Vec<f32>, slot: usize| -> Vec<f32> {
        let len = 3 * width;
        let own = &values[item * 4 * count * len..][..4 * count * len];
        own.chunks(count * len).flat_map(|channel| channel[slot * len..(slot + 1) * len].to_vec()).collect()
    };
    let operand = |operand, values: &Vec<f32>| match operand {
        Operand::Constant => values.clone(),
        Operand::Variable => rows(values, width),
    };
    let alone = Problem {
        shape: Shape { batch: 1, seqlen: positions.len(), ..problem.shape },
        u: rows(&problem.u, 1),
        delta: rows(&problem.delta, 1),
        b: operand(problem.b_operand, &problem.b),
        c: operand(problem.c_operand, &problem.c),
        z: problem.z.as_ref().map(|z| rows(z, 1)),
        initial_state: initial.map(|slot| states(problem.initial_state.as_ref().expect("given"), slot)),
        judged_channels: (0..4).map(|channel| (0, channel)).collect(),
        packed: None,
        ..problem.clone()
    };
    let dlast_state = given.dlast_state.as_ref().zip(*last).map(|(values, slot)| states(values, slot));
    (alone, OutputGradients { dout: rows(&given.dout, 1), dlast_state })
}

/// Values of sequences alone, put where they belong: `of` has them in rows of positions, or of states.
fn put(
    by: By,
    (problem, width): (&Problem, usize),
    name: Result<TensorName, GradientName>,
    of: &[Vec<f64>],
) -> Vec<f64> {
    let Shape { batch, dim, dstate, .. } = problem.shape;
    let slot = match name {
        Ok(TensorName::LastState) => Some(1),
        Err(InitialState) => Some(0),
        _ => None,
    };
    let rows = of[0].len() / by.sequences()[0].1.len() / width;
    let (rows, row) = if slot.is_some() { (dim, by.states() * dstate) } else { (rows, 11) };
    let mut whole = vec![0.0; batch * rows * row * width];
    for ((item, positions, slots), values) in by.sequences().into_iter().zip(of) {
        let own = match slot {
            Some(which) => match slots[which] {
                Some(slot) => slot * dstate * width..(slot + 1) * dstate * width,
                None => continue,
            },
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
    let (len, count) = (dstate * problem.weights.width(), by.states());
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
    let [out, last]: [Vec<f32>; 2] = [out, last].map(|values| values.iter().map(|&x| x as f32).collect());
    let stored = dtype(problem.input);
    file.set(&format!("out.{method}"), tensor(stored, &[problem.shape.batch, 4, 11], &out));
    file.set(&format!("last_state.{method}"), states(by, problem, &last));
}

/// A truth as what a scan returned.
pub fn add_truth(by: By, file: &mut File, problem: &Problem, truth: &ScanTruth) {
    let [out, last] = [TensorName::Out, TensorName::LastState].map(|name| &truth.tensors[name].values);
    add(by, file, problem, truth.method, out, last);
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

/// Truth of a packed problem is that of its sequences, and a kernel that scans them apart passes; one that scans on fails.
#[test]
fn sequences_are_scanned_apart() {
    for (by, weights, operand) in kinds() {
        let (problem, given) = drawn(by, weights, operand, InputType::F32);
        let parts: Vec<Problem> =
            by.sequences().iter().map(|own| part((&problem, &given), own, by.states()).0).collect();
        let truths = truth::scan::solve(&problem, &Method::ALL).expect("certified");
        let mut good = file(by, &problem);
        let mut bad = good.clone();
        let plain = Problem { initial_state: None, packed: None, ..problem.clone() };
        for truth in &truths {
            let scanned: Vec<_> = parts
                .iter()
                .map(|part| {
                    let truth = truth::scan::solve(part, &[truth.method]).expect("certified").remove(0);
                    (truth.tensors, ReferenceBackend.scan(truth.method, part).expect("it runs"))
                })
                .collect();
            let width = |name| if name == TensorName::Out { 1 } else { weights.width() };
            let of = |name: TensorName| {
                let wants: Vec<Vec<f64>> =
                    scanned.iter().map(|(want, _)| want[name].values.clone()).collect();
                assert_eq!(
                    truth.tensors[name].values,
                    put(by, (&problem, width(name)), Ok(name), &wants),
                    "{by:?} {weights} {operand} {} {name}",
                    truth.method
                );
                let got = |got: &Vec<f32>| got.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
                let got: Vec<Vec<f64>> = scanned.iter().map(|(_, scan)| got(&scan[name].values)).collect();
                put(by, (&problem, width(name)), Ok(name), &got)
            };
            let (out, last) = (of(TensorName::Out), of(TensorName::LastState));
            add(by, &mut good, &problem, truth.method, &out, &last);
            let on = ReferenceBackend.scan(truth.method, &plain).expect("it runs");
            let on: Vec<f64> = on[TensorName::Out].values.iter().map(|&x| f64::from(x)).collect();
            add(by, &mut bad, &problem, truth.method, &on, &last);
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
        let (problem, _) = drawn(by, weights, operand, InputType::F32);
        let mut file = file(by, &problem);
        let (contract, rows) =
            (Promise::recorded(Default::default()).contract, problem.judged_channels.len());
        for truth in truth::scan::solve(&problem, &[Method::Foh, Method::Poly]).expect("certified") {
            add_truth(by, &mut file, &problem, &truth);
            let in_memory = truth
                .tensors
                .map(|name, tensor| problem.tensor(name, tensor.values.iter().map(|&x| x as f32).collect()));
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
        let (problem, given) = drawn(by, weights, operand, InputType::F32);
        let methods = [Method::Zoh, Method::Poly];
        let truths = truth::gradient::solve(&problem, &given, &methods).expect("certified");
        let plain = Problem { initial_state: None, packed: None, ..problem.clone() };
        let on =
            truth::gradient::solve(&plain, &OutputGradients { dlast_state: None, ..given.clone() }, &methods);
        let on = on.expect("certified");
        for (truth, on) in truths.iter().zip(&on) {
            let of_part = |own: &(usize, Range<usize>, [Option<usize>; 2])| {
                let (part, given) = part((&problem, &given), own, by.states());
                truth::gradient::solve(&part, &given, &[truth.method]).expect("certified").remove(0).tensors
            };
            let of_parts: Vec<Gradients<f64>> = by.sequences().iter().map(of_part).collect();
            for (name, want) in truth.tensors.iter() {
                let parts: Vec<Vec<f64>> =
                    of_parts.iter().map(|of| of.get(name).map_or(vec![], |of| of.values.clone())).collect();
                let varies = problem.varies(name) || name == InitialState;
                let sums = match varies {
                    true => put(by, (&problem, want.width), Err(name), &parts),
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
                let mut file = file(by, &problem).with("dout", dout);
                file.set(
                    "dlast_state",
                    states(by, &problem, given.dlast_state.as_ref().expect("it sees them")),
                );
                for (name, gradient) in gradients.iter() {
                    let values: Vec<f32> = gradient.values.iter().map(|&x| x as f32).collect();
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

//! Promises of forward scans whose sequence is in chunks: what is exact stays exact, a product that overflows costs nothing but time, and
//! only scans with few channels have them. That the results keep their bounds is a promise of whole runs (`tests/verify/chunks.rs`).

use holdfast::kernel::{Backend, CpuBackend, Instantiation, Lanes, Spread};
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::promise::Tier;
use holdfast::tensor::TensorName;
use rand::RngExt;

use crate::support::problems::{Layout, bits, generator};

/// Outputs and last states; one NaN is as good as another.
fn run(backend: &CpuBackend, method: Method, problem: &Problem) -> [Vec<u32>; 2] {
    let output = backend.scan(method, problem).expect("the kernel runs");
    [TensorName::Out, TensorName::LastState].map(|name| {
        let values = output[name].values.iter().map(|&x| if x.is_nan() { f32::NAN } else { x });
        bits(&values.collect::<Vec<f32>>())
    })
}

fn backends(chunks: usize) -> impl Iterator<Item = CpuBackend> {
    let of = move |(tier, lanes)| CpuBackend::in_tier(tier).with_lanes(lanes).with_chunks(chunks);
    [Tier::Accurate, Tier::Fast]
        .into_iter()
        .flat_map(|tier| [(tier, Lanes::Few), (tier, Lanes::Eight)])
        .map(of)
}

fn assert_same(method: Method, problem: &Problem, chunks: usize, what: &str) {
    for (split, whole) in backends(chunks).zip(backends(1)) {
        let [split, whole] = [split, whole].map(|backend| run(&backend, method, problem));
        for (tensor, (split, whole)) in split.iter().zip(&whole).enumerate() {
            let apart = split.iter().zip(whole).position(|(split, whole)| split != whole);
            assert_eq!(
                apart, None,
                "{what}, {method}, {chunks} chunks: tensor {tensor} differs at this index"
            );
        }
    }
}

/// Layouts with every operand; states of three blocks, and of one; tails of chunks, of tiles and of packets; and chunks that each is
/// tried in, the largest in one number of them alone.
fn layouts() -> impl Iterator<Item = (Layout, &'static [usize])> {
    let shapes: [(_, &[usize]); 3] =
        [((1, 34, 2, 40, 197), &[5]), ((2, 3, 1, 16, 321), &[2, 3, 5]), ((2, 65, 1, 5, 130), &[3])];
    shapes.into_iter().enumerate().flat_map(|(i, ((batch, dim, groups, dstate, seqlen), chunks))| {
        let of = move |weights| Layout {
            shape: Shape { batch, dim, dstate, seqlen, groups },
            weights,
            input: InputType::ALL[i],
            b: if i == 1 { Operand::Constant } else { Operand::Variable },
            c: if i == 0 { Operand::Constant } else { Operand::Variable },
            gate: i != 1,
            extras: false,
        };
        Weights::ALL.map(|weights| (of(weights), chunks))
    })
}

/// Where Ā is 1 and every number a small multiple of a power of two, no sum is rounded: then chunks must not show at all. A state that
/// is one chunk late, left out or added twice shows.
#[test]
fn exact_sums_are_the_same_in_chunks() {
    let mut rng = generator("exact_sums_are_the_same_in_chunks");
    for (layout, numbers) in layouts() {
        let mut problem = layout.random(&mut rng);
        problem.a.fill(0.0);
        // So that the twelfth of its cube, which highorder has, is 9/256.
        problem.delta.fill(0.75);
        let tensors = [&mut problem.u, &mut problem.b, &mut problem.c];
        for value in tensors.into_iter().flatten() {
            *value = rng.random_range(-2i8..=2).into();
        }
        for method in Method::ALL {
            for &chunks in numbers {
                assert_same(method, &problem, chunks, &format!("{layout:?}"));
            }
        }
    }
}

/// Whatever the channels' number, a chunk has steps enough to show: with decay every method's outputs move by a rounding somewhere.
#[test]
fn chunks_round_otherwise() {
    let layout = Layout { b: Operand::Variable, c: Operand::Variable, ..Layout::plain(1, 70, 16, 700) };
    let mut problem = layout.random(&mut generator("chunks_round_otherwise"));
    problem.delta.fill(0.001);
    for method in Method::ALL {
        for (split, whole) in backends(5).zip(backends(1)) {
            let [split, whole] = [split, whole].map(|backend| run(&backend, method, &problem));
            // Else one kernel ran twice.
            assert_ne!(split, whole, "{method}");
        }
    }
}

/// The product of Ā overflows in some chunk, of some channel, while the states do not: they are 0 before, or decay first.
#[test]
fn products_that_overflow_leave_no_trace() {
    let mut rng = generator("products_that_overflow_leave_no_trace");
    for (layout, _) in layouts() {
        let mut problem = layout.random(&mut rng);
        let Shape { dim, dstate, .. } = problem.shape;
        let (width, grows) = (problem.weights.width(), 1);
        let row = dstate * width;
        // All states of this channel grow, so that its product over a chunk is beyond any float; it has no input.
        problem.a[grows * row..(grows + 1) * row].iter_mut().step_by(width).for_each(|a| *a = 9.0);
        for (channel, u) in problem.u.chunks_mut(problem.shape.seqlen).enumerate() {
            if channel % dim == grows {
                u.fill(0.0);
            }
        }
        for method in Method::ALL {
            let whole = run(&CpuBackend::new(), method, &problem);
            assert!(
                whole[1].iter().all(|&bits| !f32::from_bits(bits).is_nan()),
                "nothing is lost in one chunk"
            );
            // Blocks of other channels are in chunks all the same, and round otherwise.
            let first = grows * problem.shape.seqlen;
            for split in backends(3) {
                let split = run(&split, method, &problem);
                let of_channel = |all: &[Vec<u32>; 2]| all[0][first..first + problem.shape.seqlen].to_vec();
                assert_eq!(of_channel(&split), of_channel(&whole), "{layout:?}, {method}");
                assert!(
                    split.iter().flatten().all(|&bits| !f32::from_bits(bits).is_nan()),
                    "{layout:?}, {method}"
                );
            }
        }
    }
}

/// An H200's multiprocessors.
const MULTIPROCESSORS: u32 = 132;

#[test]
fn chunks_are_for_channels_that_leave_the_device_idle() {
    let layout = Layout { b: Operand::Variable, c: Operand::Variable, ..Layout::plain(1, 1, 1, 1) };
    let problem = layout.random(&mut generator("chunks_are_for_channels_that_leave_the_device_idle"));
    let spread = |method, (batch, dim, dstate, seqlen)| {
        let which = Instantiation::for_problem(method, &problem);
        let shape = Shape { batch, dim, dstate, seqlen, groups: 1 };
        let Spread { which, chunk_len, chunks } = which.fastest_for(shape, MULTIPROCESSORS);
        assert!(chunks == 1 || chunk_len % 64 == 0, "{method}: {chunk_len}");
        assert!(
            chunk_len * (chunks - 1) < seqlen.max(1) && seqlen <= chunk_len * chunks,
            "{method}: {chunk_len} × {chunks}"
        );
        (which.lanes, chunks)
    };
    for (shape, zoh, foh) in [
        // Full as they are.
        ((8, 4096, 16, 2048), (Lanes::Few, 1), (Lanes::Eight, 1)),
        ((8, 512, 16, 1024), (Lanes::Eight, 1), (Lanes::Eight, 1)),
        // A block a multiprocessor, or almost.
        ((1, 2048, 16, 65536), (Lanes::Few, 16), (Lanes::Eight, 1)),
        ((1, 1536, 16, 16896), (Lanes::Few, 22), (Lanes::Eight, 5)),
        // Few lanes would have too many chunks, or too short ones.
        ((2, 768, 16, 2048), (Lanes::Eight, 5), (Lanes::Eight, 5)),
        ((1, 64, 16, 65536), (Lanes::Eight, 128), (Lanes::Eight, 128)),
        ((1, 2560, 16, 2048), (Lanes::Eight, 3), (Lanes::Eight, 1)),
        // More states than few lanes have.
        ((1, 512, 64, 4096), (Lanes::Eight, 16), (Lanes::Eight, 16)),
        // Too short for three.
        ((1, 16, 16, 383), (Lanes::Eight, 1), (Lanes::Eight, 1)),
        ((1, 16, 16, 384), (Lanes::Eight, 3), (Lanes::Eight, 3)),
        ((1, 16, 16, 0), (Lanes::Eight, 1), (Lanes::Eight, 1)),
    ] {
        assert_eq!(spread(Method::Zoh, shape), zoh, "{shape:?}");
        assert_eq!(spread(Method::Foh, shape), foh, "{shape:?}");
    }
    // A multiprocessor has room for fewer of its blocks.
    assert_eq!(spread(Method::Poly, (1, 1536, 16, 4096)), (Lanes::Eight, 4));
}

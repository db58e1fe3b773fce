//! Promise: how many threads share a channel changes no bit of a forward scan.

use holdfast::kernel::{Backend, CpuBackend, Instantiation, Lanes};
use holdfast::method::Method;
use holdfast::problem::plan::{Filter, plan};
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::promise::Tier;
use holdfast::tensor::TensorName;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::support::problems::{Layout, bits, generator};

const WITH_FEW: [Method; 2] = [Method::Zoh, Method::Bilinear];

/// Outputs and last states; one NaN is as good as another.
fn run(backend: CpuBackend, method: Method, problem: &Problem) -> [Vec<u32>; 2] {
    let output = backend.scan(method, problem).expect("the kernel runs");
    [TensorName::Out, TensorName::LastState].map(|name| {
        let values = output[name].values.iter().map(|&x| if x.is_nan() { f32::NAN } else { x });
        bits(&values.collect::<Vec<f32>>())
    })
}

fn assert_same(problem: &Problem, what: &str) {
    for tier in [Tier::Accurate, Tier::Fast] {
        for method in WITH_FEW {
            let which = Instantiation::for_problem(method, problem);
            // Or the same kernel runs twice.
            assert!(which.has_few_lanes(problem.shape.dstate), "{what}, {method}");
            let [few, eight] = [Lanes::Few, Lanes::Eight]
                .map(|lanes| run(CpuBackend::in_tier(tier).with_lanes(lanes), method, problem));
            for (tensor, (few, eight)) in few.iter().zip(&eight).enumerate() {
                let apart = few.iter().zip(eight).position(|(few, eight)| few != eight);
                assert_eq!(apart, None, "{what}, {method}, {tier}: tensor {tensor} differs at this index");
            }
        }
    }
}

/// What the kernels take for rare, here and there: most packets have one such element, and some have none.
fn with_rare_elements(mut problem: Problem, rng: &mut ChaCha8Rng) -> Problem {
    let steps = [0.0, 40.0, 1e30, 1e-30, 1e-42, -0.5, f32::INFINITY, f32::NAN];
    let inputs = [0.0, 1e30, 1e-30, 1e-42, 3e38, f32::INFINITY, f32::NAN];
    let rates = [0.0, 1e-33, 2.0, -1e30, -4.0, -90.0];
    let mut scatter = |values: &mut [f32], rare: &[f32], each: usize| {
        for value in values.iter_mut() {
            if rng.random_range(0..each) == 0 {
                *value = rare[rng.random_range(0..rare.len())];
            }
        }
    };
    scatter(&mut problem.delta, &steps, 40);
    scatter(&mut problem.u, &inputs, 40);
    scatter(&mut problem.a, &rates, 60);
    scatter(&mut problem.b, &inputs, 200);
    problem
}

/// An H200's multiprocessors.
const MULTIPROCESSORS: u32 = 132;

#[test]
fn few_lanes_are_for_channels_that_fill_the_device() {
    let lanes = |method, weights, (batch, dim, dstate), groups| {
        let layout =
            Layout { weights, b: Operand::Variable, c: Operand::Variable, ..Layout::plain(1, 1, 1, 1) };
        let mut rng = generator("few_lanes_are_for_channels_that_fill_the_device");
        let which = Instantiation::for_problem(method, &layout.random(&mut rng));
        let shape = Shape { batch, dim, dstate, seqlen: 2048, groups };
        which.fastest_for(shape, MULTIPROCESSORS).which.lanes
    };
    // A round of blocks with few lanes, one on each multiprocessor, has 8448 channels.
    for (shape, expected) in [
        ((8, 4096, 16), Lanes::Few),
        ((16, 4096, 16), Lanes::Few),
        ((8, 2048, 16), Lanes::Few),
        ((128, 384, 16), Lanes::Few),
        ((4, 5120, 16), Lanes::Few),
        ((16, 512, 16), Lanes::Eight),
        ((4, 3072, 16), Lanes::Eight),
        ((1, 64, 16), Lanes::Eight),
        ((1 << 40, 1 << 40, 16), Lanes::Eight),
        ((8, 4096, 17), Lanes::Eight),
        // Blocks of 64 and 32 channels.
        ((352, 96, 16), Lanes::Eight),
    ] {
        for method in WITH_FEW {
            assert_eq!(lanes(method, Weights::Real, shape, 1), expected, "{method}, {shape:?}");
        }
    }
    let layer = (8, 4096, 16);
    assert_eq!(lanes(Method::Zoh, Weights::Real, layer, 64), Lanes::Few);
    assert_eq!(lanes(Method::Zoh, Weights::Real, layer, 2048), Lanes::Eight);
    assert_eq!(lanes(Method::Zoh, Weights::Real, layer, 0), Lanes::Eight);
    assert_eq!(lanes(Method::Foh, Weights::Real, layer, 1), Lanes::Eight);
    assert_eq!(lanes(Method::Zoh, Weights::Complex, layer, 1), Lanes::Eight);
}

#[test]
fn few_lanes_compute_the_bits_of_eight() {
    let mut rng = generator("few_lanes_compute_the_bits_of_eight");
    // Up to two blocks of a group; tails of packets and of tiles of either; states that some lanes lack.
    for (dim, groups, dstate, seqlen) in
        [(65, 1, 16, 65), (130, 2, 16, 36), (3, 3, 13, 197), (4, 1, 9, 64), (2, 1, 1, 33), (1, 1, 8, 3)]
    {
        for (input, gate) in [(InputType::F32, true), (InputType::F16, false), (InputType::Bf16, true)] {
            let layout = Layout {
                shape: Shape { batch: 2, dim, dstate, seqlen, groups },
                weights: Weights::Real,
                input,
                b: Operand::Variable,
                c: Operand::Variable,
                gate,
                extras: gate,
            };
            let problem = layout.random(&mut rng);
            assert_same(&problem, &format!("{layout:?}"));
            if input == InputType::F32 {
                let problem = with_rare_elements(problem, &mut rng);
                assert_same(&problem, &format!("{layout:?} with rare elements"));
            }
        }
    }
}

/// A sum of −0 alone, where some lanes go one state after another and lanes with a state too few do not. Which ones they are depends on
/// their number.
#[test]
fn few_lanes_have_the_zeros_of_eight() {
    let layout = Layout {
        shape: Shape { batch: 1, dim: 1, dstate: 13, seqlen: 64, groups: 1 },
        weights: Weights::Real,
        input: InputType::F32,
        b: Operand::Variable,
        c: Operand::Variable,
        gate: false,
        extras: false,
    };
    let mut problem = layout.random(&mut generator("few_lanes_have_the_zeros_of_eight"));
    problem.delta.fill(0.01);
    problem.u.fill(1.0);
    problem.b.fill(1e-30);
    problem.c.fill(-1e-30);
    problem.a.fill(-1.0);
    problem.a[..2].fill(-1e30);
    assert_same(&problem, "products that underflow");
}

#[test]
fn few_lanes_compute_the_bits_of_eight_in_every_regime() {
    let filter = Filter {
        weights: vec![Weights::Real],
        inputs: vec![InputType::F32],
        b: vec![Operand::Variable],
        c: vec![Operand::Variable],
        ..Filter::default()
    };
    let cases = plan(&filter);
    let mut compared = 0;
    for case in cases {
        // Long ones are the same tiles again and again.
        let problem = case.draw(1);
        if problem.shape.dstate <= 16 && problem.shape.sequence_len() <= 1 << 16 {
            assert_same(&problem, &case.id());
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared} of them");
}

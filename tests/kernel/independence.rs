//! Results depend on a channel's own inputs and on nothing else: not on time, threads, neighbours or position.

use holdfast::kernel::{Backend, CpuBackend};
use holdfast::method::Method;
use holdfast::problem::{Operand, Problem, Shape, Weights};
use holdfast::tensor::TensorName;

use crate::support::problems::{Layout, bits, generator};

fn everything_on(shape: Shape, weights: Weights) -> Layout {
    Layout {
        shape,
        weights,
        b: Operand::Variable,
        c: Operand::Variable,
        gate: true,
        extras: true,
        ..Layout::plain(1, 1, 1, 1)
    }
}

fn run(method: Method, problem: &Problem) -> (Vec<u32>, Vec<u32>) {
    let output = CpuBackend::new().scan(method, problem).expect("the kernel runs");
    (bits(&output[TensorName::Out].values), bits(&output[TensorName::LastState].values))
}

#[test]
fn ten_runs_are_bitwise_identical_in_thread_pools_of_any_size() {
    let mut rng = generator("ten_runs_are_bitwise_identical_in_thread_pools_of_any_size");
    for weights in Weights::ALL {
        // So many states that lanes step through several together.
        let shape = Shape { batch: 2, dim: 4, dstate: 12, seqlen: 300, groups: 2 };
        let problem = everything_on(shape, weights).random(&mut rng);
        for method in Method::ALL {
            let first = run(method, &problem);
            for repeat in 0..10 {
                let pool =
                    rayon::ThreadPoolBuilder::new().num_threads(1 + repeat % 5).build().expect("a pool");
                assert_eq!(
                    pool.install(|| run(method, &problem)),
                    first,
                    "{method}, {weights}, run {repeat}"
                );
            }
        }
    }
}

/// Channel `channel` of batch entry `batch` as a problem of its own. Groups must be as many as channels.
fn alone(problem: &Problem, batch: usize, channel: usize) -> Problem {
    let Shape { dim, dstate, seqlen, .. } = problem.shape;
    let w = problem.weights.width();
    let row = |values: &[f32]| values[(batch * dim + channel) * seqlen..][..seqlen].to_vec();
    let weight = |values: &[f32]| values[channel * dstate * w..][..dstate * w].to_vec();
    let operand = |values: &[f32]| {
        values[(batch * dim + channel) * dstate * seqlen * w..][..dstate * seqlen * w].to_vec()
    };
    Problem {
        shape: Shape { batch: 1, dim: 1, groups: 1, ..problem.shape },
        u: row(&problem.u),
        delta: row(&problem.delta),
        a: weight(&problem.a),
        b: operand(&problem.b),
        c: operand(&problem.c),
        d: problem.d.as_ref().map(|d| vec![d[channel]]),
        z: problem.z.as_deref().map(row),
        delta_bias: problem.delta_bias.as_ref().map(|bias| vec![bias[channel]]),
        ..problem.clone()
    }
}

#[test]
fn a_channel_computes_the_same_alone_as_anywhere_in_a_batch() {
    let mut rng = generator("a_channel_computes_the_same_alone_as_anywhere_in_a_batch");
    for weights in Weights::ALL {
        let shape = Shape { batch: 3, dim: 3, dstate: 12, seqlen: 133, groups: 3 };
        let problem = everything_on(shape, weights).random(&mut rng);
        let states = shape.dstate * weights.width();
        for method in Method::ALL {
            let (out, last_state) = run(method, &problem);
            for (i, (batch, channel)) in (0..3).flat_map(|b| (0..3).map(move |d| (b, d))).enumerate() {
                let (own_out, own_state) = run(method, &alone(&problem, batch, channel));
                assert_eq!(
                    out[i * shape.seqlen..][..shape.seqlen],
                    own_out,
                    "{method}, {weights}: channel {i}"
                );
                assert_eq!(last_state[i * states..][..states], own_state, "{method}, {weights}: channel {i}");
            }
        }
    }
}

#[test]
fn a_nan_stays_in_its_channel() {
    let mut rng = generator("a_nan_stays_in_its_channel");
    let mut problem = Layout::plain(2, 2, 12, 200).random(&mut rng);
    problem.u[250] = f32::NAN;
    for method in Method::ALL {
        let output = CpuBackend::new().scan(method, &problem).expect("the kernel runs");
        for (i, y) in output[TensorName::Out].values.iter().enumerate() {
            // poly reads the future, too.
            let reached = i / 200 == 1 && (i >= 250 || method == Method::Poly);
            assert_eq!(y.is_nan(), reached, "{method}: out[{i}] is {y}");
        }
    }
}

/// Twelve states are two for four of a channel's lanes, and one for the others.
#[test]
fn an_infinite_input_is_infinite_where_a_lane_has_fewer_states() {
    let mut rng = generator("an_infinite_input_is_infinite_where_a_lane_has_fewer_states");
    let mut problem = Layout::plain(1, 1, 12, 40).random(&mut rng);
    for values in [&mut problem.b, &mut problem.c] {
        values.iter_mut().for_each(|value| *value = value.abs());
    }
    problem.a.fill(-0.5);
    problem.delta.fill(0.1);
    problem.u[20] = f32::INFINITY;
    for method in Method::ALL {
        let output = CpuBackend::new().scan(method, &problem).expect("the kernel runs");
        for (i, y) in output[TensorName::Out].values.iter().enumerate() {
            let reached = i >= 20 || method == Method::Poly;
            assert_eq!(*y == f32::INFINITY, reached, "{method}: out[{i}] is {y}");
        }
    }
}

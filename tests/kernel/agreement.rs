//! The kernels agree with the sequential reference on every instantiation, and at every chunk edge.
//!
//! It looks for wrong layouts and lost states, which are errors of order 1, where a certified truth would cost too
//! much time. The truth is the fine gate.

use holdfast::judge::budget;
use holdfast::kernel::{Backend, CpuBackend, Instantiation, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::promise::Contract;
use holdfast::tensor::TensorName;

use crate::support::problems::{Layout, generator, layouts};

/// Each stays within its own derived bound of the exact outputs, so they are at most the sum of the two apart.
fn assert_agreement(method: Method, problem: &Problem, what: &str) {
    let got = CpuBackend::new().scan(method, problem).expect("the kernel runs");
    let want = ReferenceBackend.scan(method, problem).expect("the reference runs");
    assert_eq!(got[TensorName::Out].values.len(), problem.shape.sequence_len());
    assert!(got[TensorName::Out].values.iter().any(|&y| y != 0.0), "{what}: nothing but zeros");
    let (dim, width) = (problem.shape.dim, problem.weights.width());
    let every = (0..problem.shape.batch * dim).map(|i| (i / dim, i % dim)).collect();
    let problem = &Problem { judged_channels: every, ..problem.clone() };
    let bounds = |contract| {
        let budget = budget::scan(method, problem, &contract);
        let states = budget.tensors[TensorName::LastState]
            .bound
            .iter()
            .flat_map(|&bound| std::iter::repeat_n(bound, width));
        budget.tensors[TensorName::Out].bound.iter().copied().chain(states).collect::<Vec<f64>>()
    };
    let bounds = bounds(Contract::PRODUCTION).into_iter().zip(bounds(Contract::FRAMEWORK));
    let values = got[TensorName::Out]
        .values
        .iter()
        .chain(&got[TensorName::LastState].values)
        .zip(want[TensorName::Out].values.iter().chain(&want[TensorName::LastState].values));
    for (i, ((&got, &want), (kernel, reference))) in values.zip(bounds).enumerate() {
        let error = (f64::from(got) - f64::from(want)).abs();
        assert!(
            error <= kernel + reference,
            "{what}, {method}: element {i}: kernel {got:e}, reference {want:e}, bounds {kernel:e} and {reference:e}"
        );
    }
}

#[test]
fn every_instantiation_agrees_with_the_reference() {
    let mut rng = generator("every_instantiation_agrees_with_the_reference");
    let shape = Shape { batch: 2, dim: 4, dstate: 3, seqlen: 131, groups: 2 };
    let mut seen = Vec::new();
    for layout in layouts(shape) {
        let problem = layout.random(&mut rng);
        for method in Method::ALL {
            assert_agreement(method, &problem, &format!("{layout:?}"));
            seen.push(Instantiation::for_problem(method, &problem));
        }
    }
    assert_eq!(seen.len(), Instantiation::all().count());
    for instantiation in Instantiation::all() {
        assert!(seen.contains(&instantiation), "{instantiation:?} was not run");
    }
}

#[test]
fn every_chunk_edge_agrees_with_the_reference() {
    let mut rng = generator("every_chunk_edge_agrees_with_the_reference");
    for seqlen in [
        1, 2, 3, 4, 5, 31, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049,
        4099,
    ] {
        for weights in Weights::ALL {
            let mut layout = Layout::plain(1, 1, 2, seqlen);
            layout.weights = weights;
            layout.b = Operand::Variable;
            layout.gate = true;
            layout.extras = true;
            let problem = layout.random(&mut rng);
            for method in Method::ALL {
                assert_agreement(method, &problem, &format!("seqlen {seqlen}, {weights}"));
            }
        }
    }
}

#[test]
fn a_long_sequence_of_f16_keeps_polys_backward_sums_in_full_precision() {
    // Sums held in f16 between the passes would differ from the reference's, which are not, in almost every element.
    let mut rng = generator("a_long_sequence_of_f16_keeps_polys_backward_sums_in_full_precision");
    let mut layout = Layout::plain(1, 2, 4, 4100);
    layout.input = InputType::F16;
    let problem = layout.random(&mut rng);
    let got = CpuBackend::new().scan(Method::Poly, &problem).expect("the kernel runs");
    let want = ReferenceBackend.scan(Method::Poly, &problem).expect("the reference runs");
    let differ = got[TensorName::Out]
        .values
        .iter()
        .zip(&want[TensorName::Out].values)
        .filter(|(got, want)| got != want)
        .count();
    assert!(
        differ * 20 < got[TensorName::Out].values.len(),
        "{differ} of {} differ after rounding to f16",
        got[TensorName::Out].values.len()
    );
}

/// A group of as many channels as a block has, or twice as many, in more than one item.
#[test]
fn groups_that_fill_blocks_agree_with_the_reference() {
    let mut rng = generator("groups_that_fill_blocks");
    for dim in [16, 32] {
        let mut layout = Layout::plain(2, dim, 3, 20);
        layout.b = Operand::Variable;
        let problem = layout.random(&mut rng);
        for method in Method::ALL {
            assert_agreement(method, &problem, &format!("{dim} channels of a group"));
        }
    }
}

/// One state that decays at once, with all others beside it, at the ends of f32's range.
#[test]
fn a_steep_state_beside_plain_ones_agrees_with_the_reference() {
    let mut problem = Layout::plain(1, 2, 16, 16).random(&mut generator("a_steep_state"));
    (problem.delta_softplus, problem.delta_bias) = (false, None);
    problem.delta.fill(1e-38);
    problem.u.fill(1e30);
    problem.b.fill(1e30);
    problem.a.iter_mut().enumerate().for_each(|(i, a)| *a = if i % 16 == 0 { -3e38 } else { -1.0 });
    assert_agreement(Method::Zoh, &problem, "a steep state");
}

#[test]
fn a_state_of_256_and_one_channel_per_group_agree_with_the_reference() {
    let mut rng = generator("a_state_of_256");
    for weights in Weights::ALL {
        let mut layout = Layout::plain(1, 3, 256, 70);
        layout.shape.groups = 3;
        layout.weights = weights;
        layout.c = Operand::Variable;
        let problem = layout.random(&mut rng);
        for method in Method::ALL {
            assert_agreement(method, &problem, "dstate 256");
        }
    }
}

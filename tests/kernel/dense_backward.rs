//! Gradients of scans with a dense A beside those of a diagonal one, and beside themselves.

use holdfast::kernel::{Backend, CpuBackend};
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::tensor::{GradientName, Gradients};
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rstest::rstest;

use crate::dense_scan::{as_matrices, random};
use crate::support::problems::{Layout, bits, generator};

fn given(problem: &Problem, rng: &mut ChaCha8Rng) -> OutputGradients {
    let Shape { batch, dim, dstate, .. } = problem.shape;
    let mut draw = |len: usize, stored: InputType| -> Vec<f32> {
        (0..len).map(|_| stored.round(rng.random_range(-1.0..1.0))).collect()
    };
    OutputGradients {
        dout: draw(problem.shape.sequence_len(), problem.input),
        dlast_state: Some(draw(batch * dim * dstate * problem.weights.width(), InputType::F32)),
    }
}

fn gradients(method: Method, problem: &Problem, given: &OutputGradients) -> Gradients<f32> {
    CpuBackend::new().gradients(method, problem, given).expect("a kernel").expect("runs")
}

#[rstest]
fn a_diagonal_matrix_has_a_diagonal_scans_gradients(
    #[values(Weights::Real, Weights::Complex)] weights: Weights,
    #[values(InputType::F32, InputType::F16, InputType::Bf16)] input: InputType,
    #[values(true, false)] full: bool,
) {
    let mut rng = generator("a_diagonal_matrix_has_a_diagonal_scans_gradients");
    let shape = Shape { batch: 2, dim: 4, dstate: 6, seqlen: 21, groups: 2 };
    let varies = |is: bool| if is { Operand::Variable } else { Operand::Constant };
    let (b, c) = (varies(full), varies(full != (input == InputType::F16)));
    let diagonal = Layout { shape, weights, input, b, c, gate: full, extras: full }.random(&mut rng);
    let (n, width) = (shape.dstate, weights.width());
    let dense = as_matrices(&diagonal);
    let given = given(&diagonal, &mut rng);
    for method in Method::ALL {
        let (got, want) = (gradients(method, &dense, &given), gradients(method, &diagonal, &given));
        for (name, want) in want.iter() {
            let size = want.values.iter().fold(0.0f32, |size, value| size.max(value.abs()));
            let own: Vec<f32> = match name {
                GradientName::A => {
                    let rows = got[name].values.chunks(n * width).enumerate();
                    rows.flat_map(|(i, row)| row[i % n * width..][..width].to_vec()).collect()
                }
                _ => got[name].values.clone(),
            };
            assert_eq!(own.len(), want.values.len(), "{method} {name}");
            // Two roundings on store, of which the diagonal scan's may follow other ones.
            let unit = match (name, input) {
                (GradientName::A | GradientName::D | GradientName::DeltaBias, _) | (_, InputType::F32) => {
                    1e-5
                }
                (_, InputType::F16) => 1e-3,
                (_, InputType::Bf16) => 8e-3,
            };
            for (i, (got, want)) in own.iter().zip(&want.values).enumerate() {
                assert!((got - want).abs() <= unit * size, "{method} {name} {i}: {got}, not {want}");
            }
        }
    }
}

/// Teams of a warp differentiate their steps together, each of which ends where it ends alone.
#[rstest]
fn a_row_alone_has_the_same_bits(#[values((3, 1), (1, 3))] (batch, dim): (usize, usize)) {
    use GradientName::{A, B, C, Delta, InitialState, U};
    let mut rng = generator("a_row_alone_has_the_same_bits");
    for n in [1, 5, 16] {
        let mut all = random(&Layout::plain(batch, dim, n, 12), &mut rng);
        all.initial_state = Some((0..3 * n).map(|_| rng.random_range(-1.0..1.0)).collect());
        let given = given(&all, &mut rng);
        for method in Method::ALL {
            let got = gradients(method, &all, &given);
            let again = gradients(method, &all, &given);
            assert!(got.zip(&again).all(|(_, l, r)| bits(&l.values) == bits(&r.values)), "{method} {n}");
            for row in 0..3 {
                let one = |values: &[f32], len: usize| values[row * len..][..len].to_vec();
                let own =
                    |values: &[f32], len: usize| if dim == 1 { values.to_vec() } else { one(values, len) };
                let alone = Problem {
                    shape: Shape { batch: 1, dim: 1, ..all.shape },
                    u: one(&all.u, 12),
                    delta: one(&all.delta, 12),
                    a: own(&all.a, n * n),
                    b: own(&all.b, n),
                    c: own(&all.c, n),
                    initial_state: all.initial_state.as_ref().map(|values| one(values, n)),
                    ..all.clone()
                };
                let given = OutputGradients {
                    dout: one(&given.dout, 12),
                    dlast_state: given.dlast_state.as_ref().map(|values| one(values, n)),
                };
                let of_one = gradients(method, &alone, &given);
                // Those of weights are sums over items.
                for name in [U, Delta, InitialState, A, B, C].into_iter().take(if dim == 1 { 3 } else { 6 }) {
                    let of_all = one(&got[name].values, of_one[name].values.len());
                    assert_eq!(bits(&of_one[name].values), bits(&of_all), "{method} {n} {name} {row}");
                }
            }
        }
    }
}

/// Δ of 0 leaves a state as it is, and has a gradient; a step of its own at each position, and one for all.
#[test]
fn what_a_loss_does_not_see_has_no_gradient() {
    let mut rng = generator("what_a_loss_does_not_see_has_no_gradient");
    for (weights, n) in [(Weights::Real, 5), (Weights::Complex, 17)] {
        let mut problem = random(&Layout { weights, ..Layout::plain(1, 2, n, 6) }, &mut rng);
        problem.delta[2] = 0.0;
        let nothing = OutputGradients { dout: vec![0.0; 12], dlast_state: None };
        let mut first = nothing.clone();
        first.dout[0] = 1.0;
        for method in Method::ALL {
            let all_zero = |values: &[f32]| values.iter().all(|&value| value == 0.0);
            let got = gradients(method, &problem, &nothing);
            assert!(got.iter().all(|(_, tensor)| all_zero(&tensor.values)), "{method}");
            let got = gradients(method, &problem, &first);
            let delta = &got[GradientName::Delta].values;
            let after = if method == Method::Poly { 6 } else { 1 };
            assert!(delta[0] != 0.0 && all_zero(&delta[after..]), "{method}: {delta:?}");
        }
    }
}

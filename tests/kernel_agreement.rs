//! The kernels agree with the sequential reference on every instantiation, and at every chunk edge.
//!
//! The comparison is coarse on purpose: it looks for wrong layouts and lost states, which are errors of order 1.
//! The harness's own judge is the fine gate.

mod kernel_support;

use holdfast::kernel::{Backend, CpuBackend, Instantiation, ReferenceBackend, ScanOutput};
use holdfast::method::Method;
use holdfast::problem::{CoefficientProblem, InputType, Operand, Problem, Shape, Weights};
use kernel_support::{Layout, generator, layouts};

/// For each output, how far two f32 computations of it may be apart.
///
/// Both round each step's Ā and B̄ by at most c u with c = 16 + 2 max|z| (z rounded, a dozen operations; u = 2⁻²⁴), and
/// the scan by a few u per level; over l steps the relative errors of a product add up, so x_l is off by at most
/// (l + 16) c u X_l, where X is the same recurrence over absolute values. y sums |C| X over the states, both ways
/// through the sequence for poly. The gate's slope is below 1.1 |z| + 1, and storage rounds once.
fn tolerance(method: Method, problem: &Problem) -> Vec<f64> {
    let shape = problem.shape;
    let width = problem.weights.width();
    let mut result = vec![0.0; shape.sequence_len()];
    for batch in 0..shape.batch {
        for channel in 0..shape.dim {
            let at = problem.sequence_index(batch, channel, 0);
            let bias = problem.delta_bias.as_ref().map_or(0.0, |bias| bias[channel]);
            let delta: Vec<f32> = (0..shape.seqlen)
                .map(|l| {
                    let delta = problem.delta[at + l] + bias;
                    if problem.delta_softplus { delta.exp().ln_1p() } else { delta }
                })
                .collect();
            let mut sums = vec![0.0; shape.seqlen];
            for n in 0..shape.dstate {
                let weight = problem.weight_index(channel, n);
                let a = &problem.a[weight..weight + width];
                let operand = |operand, values: &[f32], l| {
                    let at = problem.operand_index(operand, (batch, channel), n, l);
                    values[at..at + width].to_vec()
                };
                let k = ReferenceBackend
                    .coefficients(
                        method,
                        &CoefficientProblem {
                            weights: problem.weights,
                            delta: delta.clone(),
                            a: a.repeat(shape.seqlen),
                            b: (0..shape.seqlen)
                                .flat_map(|l| operand(problem.b_operand, &problem.b, l))
                                .collect(),
                        },
                    )
                    .expect("the reference runs");
                let norm = |values: &[f32]| values.iter().map(|&v| f64::from(v).abs()).sum::<f64>();
                let z = delta.iter().fold(0.0f64, |z, &d| z.max(f64::from(d) * norm(a)));
                let c = 16.0 + 2.0 * z;
                let mut walk = |order: &mut dyn Iterator<Item = usize>| {
                    let mut x = 0.0;
                    for (steps, l) in order.enumerate() {
                        let part = l * width..(l + 1) * width;
                        let drive = norm(&k.b_bar[part.clone()]) * f64::from(problem.u[at + l]).abs();
                        x = norm(&k.a_bar[part]).min(1.0) * x + drive;
                        let readout = norm(&operand(problem.c_operand, &problem.c, l)) * width as f64;
                        sums[l] += (steps + 16) as f64 * c * x * readout;
                    }
                };
                walk(&mut (0..shape.seqlen));
                if method.is_bidirectional() {
                    walk(&mut (0..shape.seqlen).rev());
                }
            }
            let storage = match problem.input {
                InputType::F32 => 2f64.powi(-24),
                InputType::F16 => 2f64.powi(-11),
                InputType::Bf16 => 2f64.powi(-8),
            };
            for (l, sum) in sums.into_iter().enumerate() {
                let z = problem.z.as_ref().map_or(0.0, |z| f64::from(z[at + l]).abs());
                let skip = problem.d.as_ref().map_or(0.0, |d| f64::from(d[channel]).abs());
                let size = sum / 16.0 + skip;
                result[at + l] =
                    (1.1 * z + 1.0) * (sum * 2f64.powi(-24) + size * (storage + 2f64.powi(-22))) + 1e-7;
            }
        }
    }
    result
}

/// The index, both values and the tolerance of the first output that is off.
fn first_disagreement(
    method: Method,
    problem: &Problem,
    got: &ScanOutput,
    want: &ScanOutput,
) -> Option<String> {
    let bounds = tolerance(method, problem);
    got.out.iter().zip(&want.out).zip(&bounds).enumerate().find_map(|(i, ((&got, &want), &bound))| {
        let error = (f64::from(got) - f64::from(want)).abs();
        (error.is_nan() || error > bound)
            .then(|| format!("out[{i}]: kernel {got:e}, reference {want:e}, tolerance {bound:e}"))
    })
}

fn assert_agreement(method: Method, problem: &Problem, what: &str) {
    let got = CpuBackend::new().scan(method, problem).expect("the kernel runs");
    let want = ReferenceBackend.scan(method, problem).expect("the reference runs");
    assert_eq!(got.out.len(), problem.shape.sequence_len());
    assert!(got.out.iter().any(|&y| y != 0.0), "{what}: nothing but zeros");
    if let Some(message) = first_disagreement(method, problem, &got, &want) {
        panic!("{what}, {method}: {message}");
    }
    for (i, (&got, &want)) in got.last_state.iter().zip(&want.last_state).enumerate() {
        // |x| is below |B̄u| / (1 − |Ā|), itself below 20 here.
        assert!(
            (got - want).abs() < 1e-4,
            "{what}, {method}: last_state[{i}]: kernel {got:e}, reference {want:e}"
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
            seen.push(Instantiation::of(method, &problem));
        }
    }
    assert_eq!(seen.len(), 288);
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
    let differ = got.out.iter().zip(&want.out).filter(|(got, want)| got != want).count();
    assert!(differ * 20 < got.out.len(), "{differ} of {} differ after rounding to f16", got.out.len());
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

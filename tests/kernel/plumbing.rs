//! Exact tests of layout: with A = 0 and small powers of two every sum is exact in f32, whatever its order, so a value
//! read from the wrong place cannot hide in rounding.

use holdfast::judge::budget;
use holdfast::kernel::{Backend, CpuBackend, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::{Operand, Problem, Shape, Weights};
use holdfast::promise::Contract;
use holdfast::promise::allowance::{Arithmetic, HALF_SUBNORMAL};
use holdfast::tensor::{TensorName, Tensors};
use holdfast::truth;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;

use super::coefficients::step_in_96ths;
use crate::support::problems::{Layout, generator, layouts};

/// A = 0, Δ = ¼ + a bias of ¼, B a multiple of 96, everything else a small integer, z of 0, 32 or 64.
fn integers(layout: Layout, rng: &mut ChaCha8Rng) -> Problem {
    let mut problem = layout.random(rng);
    let mut fill = |values: &mut [f32], range: i32, factor: f32| {
        values.iter_mut().for_each(|value| *value = rng.random_range(-range..=range) as f32 * factor);
    };
    fill(&mut problem.u, 2, 1.0);
    fill(&mut problem.b, 2, 96.0);
    fill(&mut problem.c, 2, 1.0);
    problem.a.fill(0.0);
    problem.delta.fill(0.25);
    problem.delta_bias = Some(vec![0.25; problem.shape.dim]);
    problem.delta_softplus = false;
    if let Some(d) = &mut problem.d {
        fill(d, 4, 1.0);
    }
    if let Some(z) = &mut problem.z {
        z.iter_mut().for_each(|value| *value = [0.0, 32.0, 64.0][rng.random_range(0..3)]);
    }
    problem
}

/// The scan in integers, with the layouts of spec.md §3 written out once more.
fn expected(method: Method, p: &Problem) -> Tensors<f32> {
    let Shape { batch, dim, dstate, seqlen, groups } = p.shape;
    let w = p.weights.width();
    let at = |operand: Operand, b: usize, d: usize, n: usize, l: usize| match operand {
        Operand::Constant => (d * dstate + n) * w,
        Operand::Variable => (((b * groups + d / (dim / groups)) * dstate + n) * seqlen + l) * w,
    };
    let mut out = vec![0.0; batch * dim * seqlen];
    let mut last_state = vec![0.0; batch * dim * dstate * w];
    for b in 0..batch {
        for d in 0..dim {
            let u: Vec<i64> = (0..seqlen).map(|l| p.u[(b * dim + d) * seqlen + l] as i64).collect();
            let mut y = vec![0i64; seqlen];
            for n in 0..dstate {
                // B̄u in 1/1: B is a multiple of 96.
                let drive = |l: usize, part: usize| {
                    p.b[at(p.b_operand, b, d, n, l) + part] as i64 / 96 * step_in_96ths(method) * u[l]
                };
                let readout = |x: [i64; 2], l: usize| {
                    let c = at(p.c_operand, b, d, n, l);
                    match p.weights {
                        Weights::Real => p.c[c] as i64 * x[0],
                        Weights::Complex => 2 * (p.c[c] as i64 * x[0] - p.c[c + 1] as i64 * x[1]),
                    }
                };
                let mut x = [0; 2];
                for (l, y) in y.iter_mut().enumerate() {
                    (0..w).for_each(|part| x[part] += drive(l, part));
                    *y += readout(x, l);
                }
                (0..w).for_each(|part| last_state[((b * dim + d) * dstate + n) * w + part] = x[part] as f32);
                if method == Method::Poly {
                    let mut x = [0; 2];
                    for (l, y) in y.iter_mut().enumerate().rev() {
                        (0..w).for_each(|part| x[part] += drive(l, part));
                        *y += readout(x, l);
                    }
                }
            }
            for l in 0..seqlen {
                let i = (b * dim + d) * seqlen + l;
                let mut value = y[l] as f64 * if method == Method::Poly { 0.5 } else { 1.0 };
                assert!(value.abs() < f64::from(1 << 23), "the test's numbers are too large to be exact");
                value += p.d.as_ref().map_or(0.0, |skip| f64::from(skip[d])) * u[l] as f64;
                // The sigmoid of 32 and of 64 rounds to 1.
                value *= p.z.as_ref().map_or(1.0, |z| f64::from(z[i]));
                out[i] = p.input.round(value as f32);
            }
        }
    }
    [(TensorName::Out, out), (TensorName::LastState, last_state)]
        .into_iter()
        .map(|(name, values)| (name, p.tensor(name, values)))
        .collect()
}

fn assert_exact(backend: &dyn Backend, method: Method, problem: &Problem, what: &str) {
    let got = backend.scan(method, problem).expect("the kernel runs");
    let want = expected(method, problem);
    for (name, got, want) in [
        ("out", &got[TensorName::Out].values, &want[TensorName::Out].values),
        ("last_state", &got[TensorName::LastState].values, &want[TensorName::LastState].values),
    ] {
        assert_eq!(got.len(), want.len(), "{what}, {method}: {name}");
        for (i, (got, want)) in got.iter().zip(want).enumerate() {
            assert!(got == want, "{what}, {method}: {name}[{i}] is {got}, not {want}");
        }
    }
}

#[test]
fn every_layout_is_read_exactly() {
    let mut rng = generator("every_layout_is_read_exactly");
    for shape in [
        Shape { batch: 2, dim: 6, dstate: 3, seqlen: 5, groups: 3 },
        Shape { batch: 3, dim: 2, dstate: 2, seqlen: 132, groups: 1 },
    ] {
        for layout in layouts(shape) {
            let problem = integers(layout, &mut rng);
            for method in Method::ALL {
                assert_exact(&CpuBackend::new(), method, &problem, &format!("{layout:?}"));
            }
        }
    }
}

#[test]
fn the_reference_reads_every_layout_exactly() {
    // Not highorder: the reference multiplies by a rounded 1/6.
    let mut rng = generator("the_reference_reads_every_layout_exactly");
    for layout in layouts(Shape { batch: 2, dim: 6, dstate: 3, seqlen: 5, groups: 3 }) {
        let problem = integers(layout, &mut rng);
        for method in Method::ALL.into_iter().filter(|&method| method != Method::HighOrder) {
            assert_exact(&ReferenceBackend, method, &problem, &format!("{layout:?}"));
        }
    }
}

#[test]
fn states_are_carried_exactly_across_every_chunk_edge() {
    let mut rng = generator("states_are_carried_exactly_across_every_chunk_edge");
    for seqlen in [
        1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048,
        2049, 4095, 4096, 4097, 6145,
    ] {
        for weights in Weights::ALL {
            // One state: every chunk's barrier is the next chunk's, too.
            for dstate in [1, 2] {
                let mut layout = Layout::plain(1, 1, dstate, seqlen);
                layout.weights = weights;
                layout.b = Operand::Variable;
                layout.c = Operand::Variable;
                let problem = integers(layout, &mut rng);
                for method in Method::ALL {
                    assert_exact(
                        &CpuBackend::new(),
                        method,
                        &problem,
                        &format!("seqlen {seqlen}, {weights}"),
                    );
                }
            }
        }
    }
}

#[test]
fn softplus_is_the_identity_above_20_and_comes_after_the_bias() {
    let mut rng = generator("softplus_is_the_identity_above_20_and_comes_after_the_bias");
    let mut problem = integers(Layout::plain(1, 2, 2, 40), &mut rng);
    let plain = CpuBackend::new().scan(Method::Zoh, &problem).expect("the kernel runs");
    problem.delta.fill(24.0);
    problem.delta_bias = Some(vec![8.0; 2]);
    problem.delta_softplus = true;
    let soft = CpuBackend::new().scan(Method::Zoh, &problem).expect("the kernel runs");
    // Δ = 32 instead of ½.
    for (soft, plain) in soft[TensorName::Out].values.iter().zip(&plain[TensorName::Out].values) {
        assert_eq!(*soft, 64.0 * plain);
    }
    // 1 − 1: softplus is log 2, so every output is 2 log 2 times the plain one.
    problem.delta.fill(1.0);
    problem.delta_bias = Some(vec![-1.0; 2]);
    problem.judged_channels = vec![(0, 0), (0, 1)];
    let budget = budget::scan(Method::Zoh, &problem, &Contract::PRODUCTION);
    let soft = CpuBackend::new().scan(Method::Zoh, &problem).expect("the kernel runs");
    for ((soft, plain), bound) in soft[TensorName::Out]
        .values
        .iter()
        .zip(&plain[TensorName::Out].values)
        .zip(&budget.tensors[TensorName::Out].bound)
    {
        let want = 2.0 * std::f64::consts::LN_2 * f64::from(*plain);
        assert!((f64::from(*soft) - want).abs() <= *bound, "{soft} is not {want}");
    }
}

#[test]
fn blocks_are_what_the_kernels_readme_says() {
    assert_eq!(CpuBackend::block_threads(), 128);
    assert_eq!(Weights::ALL.map(CpuBackend::tile_len), [64, 32]);
}

/// A = 0 and ones everywhere else: the output is Δ itself, and nothing but softplus rounds.
fn bare_steps(raw: Vec<f32>) -> Problem {
    let layout = Layout::plain(1, raw.len(), 1, 1);
    let mut problem = layout.random(&mut generator("bare steps"));
    problem.a.fill(0.0);
    for ones in [&mut problem.u, &mut problem.b, &mut problem.c] {
        ones.fill(1.0);
    }
    problem.delta = raw;
    problem.delta_softplus = true;
    problem.judged_channels = (0..problem.shape.dim).map(|channel| (0, channel)).collect();
    problem
}

#[test]
fn a_step_is_softplus_within_its_allowance_over_a_dense_band() {
    let raw = |i: u16| -20.0 + f32::from(i) / 100.0;
    let problem = bare_steps((0..5000).map(raw).collect());
    let methods = [Method::Zoh, Method::Bilinear, Method::Rk4];
    let want = truth::scan::solve(&problem, &methods).expect("certified");
    let first_beyond = |got: &[f32], want: &[f64]| {
        let within = |(&got, want): (&f32, &f64)| {
            (f64::from(got) - want).abs() <= Arithmetic::SINGLE.softplus() * want + HALF_SUBNORMAL
        };
        got.iter().zip(want).position(|pair| !within(pair)).map(|at| problem.delta[at])
    };
    for truth in &want {
        for name in TensorName::SCANNED {
            let want = &truth.tensors[name].values;
            let beyond = |backend: &dyn Backend| {
                let got = backend.scan(truth.method, &problem).expect("runs");
                first_beyond(&got[name].values, want)
            };
            assert_eq!(beyond(&CpuBackend::new()), None, "{} {name}", truth.method);
            let planted = CpuBackend::with_faults("softplus-above-8", None).expect("in the list");
            assert!(beyond(&planted).is_some_and(|raw| raw > 8.0), "{} {name}", truth.method);
        }
    }
    // As near as 12: a threshold that costs 8.6 roundings there.
    let by = |threshold: f32| -> Vec<f32> {
        problem.delta.iter().map(|&x| if x > threshold { x } else { x.exp().ln_1p() }).collect()
    };
    let want = &want[0].tensors[TensorName::Out].values;
    assert_eq!(first_beyond(&by(20.0), want), None);
    assert!(first_beyond(&by(12.0), want).is_some_and(|raw| raw < 12.1));
}

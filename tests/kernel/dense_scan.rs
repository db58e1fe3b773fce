//! Scans with a dense A beside a loop in double that shares nothing with the kernels.

use holdfast::kernel::{Backend, CpuBackend};
use holdfast::method::Method;
use holdfast::problem::conventions::Coupling;
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::promise::Tier;
use holdfast::tensor::TensorName;
use nalgebra::{DMatrix, DVector};
use num_complex::Complex64;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rstest::rstest;

use crate::support::problems::{Layout, bits, channel, generator};

type Matrix = DMatrix<Complex64>;
type Vector = DVector<Complex64>;

/// A problem of this layout with a random stable matrix for each channel, whose odd channels keep their first Δ throughout.
pub fn random(layout: &Layout, rng: &mut ChaCha8Rng) -> Problem {
    let mut problem = layout.random(rng);
    let Shape { batch, dim, dstate: n, seqlen, .. } = problem.shape;
    let width = problem.weights.width();
    let root = (n as f32).sqrt();
    problem.conventions.coupling = Coupling::Dense;
    let entry = |at: usize, x: f32| x / root - if at.is_multiple_of((n + 1) * width) { 1.5 } else { 0.0 };
    let floats = (0..dim).flat_map(|_| 0..n * n * width);
    problem.a = floats.map(|at| entry(at, rng.random_range(-1.0..1.0))).collect();
    // Long steps, which are halved by some teams of a warp.
    if !layout.extras {
        problem.delta.iter_mut().for_each(|delta| *delta *= 4.0);
    }
    for row in (0..batch * dim).filter(|row| row % 2 == 1) {
        let row = &mut problem.delta[row * seqlen..][..seqlen];
        row.fill(row[0]);
    }
    problem
}

/// Problem with a diagonal matrix for each channel in the place of a diagonal A.
pub fn as_matrices(diagonal: &Problem) -> Problem {
    let (n, width) = (diagonal.shape.dstate, diagonal.weights.width());
    let mut dense = diagonal.clone();
    dense.conventions.coupling = Coupling::Dense;
    dense.a = vec![0.0; dense.shape.dim * dense.floats_of_a()];
    for (i, own) in diagonal.a.chunks(width).enumerate() {
        let at = (i * n + i % n) * width;
        dense.a[at..at + width].copy_from_slice(own);
    }
    dense
}

/// Complex number `i` of what begins at a float.
fn number(values: &[f32], first: usize, i: usize, width: usize) -> Complex64 {
    let at = first + i * width;
    Complex64::new(values[at].into(), if width == 2 { values[at + 1].into() } else { 0.0 })
}

/// Σ zʲ/(j + k)! B, of a z that is not large.
fn phi(k: u32, z: &Matrix, b: &Vector) -> Vector {
    let mut term = b / Complex64::from((1..=k).map(f64::from).product::<f64>());
    let mut sum = term.clone();
    for j in 1..60 {
        term = z * term / Complex64::from(f64::from(j + k));
        sum += &term;
    }
    sum
}

/// Ā and B̄ by spec.md §2.
fn step(method: Method, delta: f64, a: &Matrix, b: &Vector) -> (Matrix, Vector) {
    let real = |x: f64| Complex64::from(x);
    let (z, one) = (a * real(delta), Matrix::identity(a.nrows(), a.nrows()));
    let of = |k: u32| phi(k, &z, b) * real(delta.powi(k as i32));
    let b_bar = match method {
        Method::Zoh => b * real(delta),
        Method::Foh => of(2),
        Method::Poly => of(1) + of(2) * real(0.5),
        Method::HighOrder => of(1) + of(2) + of(3) * real(0.5),
        Method::Rk4 => {
            (&one + &z / real(2.0) + &z * &z / real(6.0) + &z * &z * &z / real(24.0)) * b * real(delta)
        }
        Method::Bilinear => {
            let inverse = (&one - &z / real(2.0)).try_inverse().expect("no pole");
            return (&inverse * (&one + &z / real(2.0)), inverse * b * real(delta));
        }
    };
    let small = &z / real(32.0);
    let (mut term, mut a_bar) = (one.clone(), one);
    for j in 1..18 {
        term = &small * term / real(f64::from(j));
        a_bar += &term;
    }
    (0..5).for_each(|_| a_bar = &a_bar * &a_bar);
    (a_bar, b_bar)
}

/// `out` and `last_state`, each with the size of what it is a sum of.
fn naive(method: Method, problem: &Problem) -> [Vec<(f64, f64)>; 2] {
    let Shape { dstate: n, seqlen, .. } = problem.shape;
    let width = problem.weights.width();
    let (mut out, mut states) = (Vec::new(), Vec::new());
    for (batch, channel) in problem.channels() {
        let at = |values: &[f32], l: usize| f64::from(values[problem.sequence_index(batch, channel, l)]);
        let first = channel * problem.floats_of_a();
        let a = Matrix::from_fn(n, n, |r, c| number(&problem.a, first, r * n + c, width));
        let operand = |which, values: &[f32], l: usize| {
            Vector::from_fn(n, |r, _| {
                number(values, problem.operand_index(which, (batch, channel), r, l), 0, width)
            })
        };
        let of_channel =
            |values: &Option<Vec<f32>>| values.as_ref().map_or(0.0, |values| values[channel].into());
        let steps = Vec::from_iter((0..seqlen).map(|l| {
            let raw = at(&problem.delta, l) + of_channel(&problem.delta_bias);
            let delta = if problem.delta_softplus { raw.exp().ln_1p() } else { raw };
            let (a_bar, b_bar) = step(method, delta, &a, &operand(problem.b_operand, &problem.b, l));
            (a_bar, b_bar * Complex64::from(at(&problem.u, l)))
        }));
        let mut y = vec![(0.0, 0.0); seqlen];
        // The next state, and the size of its terms, which may cancel.
        let mut advance = |l: usize, before: &Vector| {
            let (a_bar, b_bar_u) = &steps[l];
            let (x, size) = (a_bar * before + b_bar_u, before.camax() + b_bar_u.camax());
            let c = operand(problem.c_operand, &problem.c, l);
            let factor = width as f64 * if method == Method::Poly { 0.5 } else { 1.0 };
            y[l] = (y[l].0 + factor * c.dot(&x).re, y[l].1 + factor * c.lp_norm(1) * size);
            (x, size)
        };
        if method == Method::Poly {
            (0..seqlen).rev().fold(Vector::zeros(n), |x, l| advance(l, &x).0);
        }
        let initial = problem.initial_state.as_ref().map_or(Vector::zeros(n), |values| {
            let first = problem.state_index((batch, channel), 0);
            Vector::from_fn(n, |r, _| number(values, first, r, width))
        });
        let (x, size) = (0..seqlen).fold((initial, 0.0), |(x, _), l| advance(l, &x));
        out.extend(y.into_iter().enumerate().map(|(l, (y, size))| {
            let skip = of_channel(&problem.d) * at(&problem.u, l);
            let z = problem.z.as_ref().map(|z| at(z, l));
            let gate = z.map_or(1.0, |z| z / (1.0 + (-z).exp()));
            ((y + skip) * gate, (size + skip.abs()) * gate.abs())
        }));
        let parts = |x: &Complex64| [x.re, x.im].into_iter().take(width).collect::<Vec<_>>();
        states.extend(x.iter().flat_map(parts).map(|part| (part, size)));
    }
    [out, states]
}

/// Half an ulp of the type, relative.
fn unit(input: InputType) -> f64 {
    match input {
        InputType::F32 => f64::powi(2.0, -24),
        InputType::F16 => f64::powi(2.0, -11),
        InputType::Bf16 => f64::powi(2.0, -8),
    }
}

#[rstest]
fn scans_are_those_of_a_plain_loop(
    #[values(Weights::Real, Weights::Complex)] weights: Weights,
    #[values(Tier::Accurate, Tier::Fast)] tier: Tier,
) {
    use InputType::{Bf16, F16, F32};
    use Operand::{Constant, Variable};
    let mut rng = generator("scans_are_those_of_a_plain_loop");
    // B, C, the input type, a gate, D with softplus and bias, an initial state.
    let layouts = [
        (Constant, Constant, F32, false, false, false),
        (Variable, Variable, F32, true, true, true),
        (Variable, Constant, F32, false, false, true),
        (Constant, Variable, Bf16, true, true, false),
        (Variable, Variable, F16, false, true, true),
        (Variable, Variable, F32, false, false, false),
    ];
    let backend = CpuBackend::in_tier(tier);
    for method in Method::ALL {
        for (i, n) in [1, 3, 5, 16, 17, 33, 64].into_iter().enumerate() {
            let (b, c, input, gate, extras, is_given) =
                layouts[(i + usize::from(method.id())) % layouts.len()];
            // As much shared memory as there can be, of either kind of step.
            if n == 64 && ![Method::Bilinear, Method::HighOrder].contains(&method) {
                continue;
            }
            // Larger matrices have a warp or several each.
            let (batch, dim, seqlen) = if n > 16 { (1, 2, 128 / n) } else { (3, 4, 7) };
            let shape = Shape { batch, dim, dstate: n, seqlen, groups: 2 };
            let mut problem = random(&Layout { shape, weights, input, b, c, gate, extras }, &mut rng);
            let states = shape.batch * shape.dim * n * weights.width();
            problem.initial_state =
                is_given.then(|| (0..states).map(|_| rng.random_range(-1.0..1.0)).collect());
            let got = backend.dense_scan(method, &problem).expect("a kernel").expect("runs");
            let want = naive(method, &problem);
            let stored = [(TensorName::Out, input), (TensorName::LastState, F32)];
            for ((name, stored), want) in stored.into_iter().zip(&want) {
                assert_eq!(got[name].values.len(), want.len());
                let slack = if tier == Tier::Fast { 1e-4 } else { 1e-11 };
                for (i, (&got, &(want, size))) in got[name].values.iter().zip(want).enumerate() {
                    let allowed = unit(stored) * want.abs() + slack * size + 1e-7 * f64::from(stored == F16);
                    let off = (f64::from(got) - want).abs();
                    assert!(off <= allowed, "{method} {n} {name} {i}: {got}, not {want} ± {allowed}");
                }
            }
        }
    }
}

#[rstest]
fn a_diagonal_matrix_is_a_diagonal_scan(
    #[values(Weights::Real, Weights::Complex)] weights: Weights,
    #[values(Tier::Accurate, Tier::Fast)] tier: Tier,
) {
    let mut rng = generator("a_diagonal_matrix_is_a_diagonal_scan");
    let shape = Shape { batch: 1, dim: 3, dstate: 6, seqlen: 40, groups: 1 };
    let (b, c) = (Operand::Variable, Operand::Variable);
    let layout = Layout { shape, weights, input: InputType::F32, b, c, gate: true, extras: true };
    let diagonal = layout.random(&mut rng);
    let dense = as_matrices(&diagonal);
    let backend = CpuBackend::in_tier(tier);
    for method in Method::ALL {
        let got = backend.dense_scan(method, &dense).expect("a kernel").expect("runs");
        let want = backend.scan(method, &diagonal).expect("runs");
        for (name, want) in want.iter() {
            let size = want.values.iter().fold(0.0f32, |size, value| size.max(value.abs()));
            for (got, want) in got[name].values.iter().zip(&want.values) {
                assert!((got - want).abs() <= 1e-5 * size, "{method} {name}: {got}, not {want}");
            }
        }
    }
}

/// Teams of a warp compute their steps together, and one alone has the same bits.
#[test]
fn a_channel_alone_has_the_same_bits() {
    let mut rng = generator("a_channel_alone_has_the_same_bits");
    for n in [1, 5, 16] {
        let all = random(&Layout::plain(1, 5, n, 12), &mut rng);
        let floats = all.floats_of_a();
        for method in Method::ALL {
            let scan = |problem: &Problem| {
                CpuBackend::new().dense_scan(method, problem).expect("a kernel").expect("runs")
            };
            let got = scan(&all);
            for channel in 0..5 {
                let one = |values: &[f32], len: usize| values[channel * len..][..len].to_vec();
                let alone = Problem {
                    shape: Shape { dim: 1, ..all.shape },
                    u: one(&all.u, 12),
                    delta: one(&all.delta, 12),
                    a: one(&all.a, floats),
                    b: one(&all.b, n),
                    c: one(&all.c, n),
                    ..all.clone()
                };
                for (name, of_one) in scan(&alone).iter() {
                    let of_all = one(&got[name].values, of_one.values.len());
                    assert_eq!(bits(&of_one.values), bits(&of_all), "{method} {n} {name} {channel}");
                }
            }
        }
    }
}

/// 1 + half an ulp + 2⁻⁴⁰, which f32 on the way would round to a tie, and the tie to 1.
#[rstest]
fn results_of_16_bits_are_rounded_once(
    #[values(InputType::F16, InputType::Bf16)] input: InputType,
    #[values(1.0, -1.0)] sign: f32,
) {
    let ulp = 2.0 * unit(input) as f32;
    let mut problem = channel(&[0.0], &[1.0], &[1.0]);
    problem.conventions.coupling = Coupling::Dense;
    problem.input = input;
    problem.c = vec![sign * f32::powi(2.0, -40)];
    problem.d = Some(vec![sign * (1.0 + ulp / 2.0)]);
    let got = CpuBackend::new().dense_scan(Method::Zoh, &problem).expect("a kernel").expect("runs");
    assert_eq!(got[TensorName::Out].values, [sign * (1.0 + ulp)]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut rng = generator("what_does_not_fit_is_refused");
    let dense = random(&Layout::plain(1, 2, 3, 4), &mut rng);
    let large = random(&Layout::plain(1, 1, 65, 1), &mut rng);
    let diagonal = Layout::plain(1, 2, 3, 4).random(&mut rng);
    let backend = CpuBackend::new();
    let scanned = |problem| backend.dense_scan(Method::Zoh, problem).expect("a kernel");
    let short = Problem { a: diagonal.a.clone(), ..dense.clone() };
    let said = [
        (scanned(&large), "dstate of 65 is not supported, expected at most 64 with a dense A"),
        (scanned(&diagonal), "state_matrix of diagonal is not supported, expected dense"),
        (scanned(&short), "A of 6 values is not supported, expected 18 values"),
        (backend.scan(Method::Zoh, &dense), "state_matrix of dense is not supported, expected diagonal"),
    ];
    for (refused, said) in said {
        let error = refused.expect_err("what does not fit").to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

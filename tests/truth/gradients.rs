//! Promises of the gradients' truth on its own: the adjoint is the derivative in every direction, and the places where no
//! precision settles a value.

use holdfast::formula::{Form, ReadsNow, Textbook};
use holdfast::hexfloat;
use holdfast::method::Method;
use holdfast::problem::conventions::{ComplexOutput, Conventions, Reads, StateHolds, StepLimit};
use holdfast::problem::plan::{Filter, plan};
use holdfast::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use holdfast::tensor::TensorName::Out;
use holdfast::truth::certify::{REQUIRED_OF_TWO_DOUBLES, settle};
use holdfast::truth::exact::rational;
use holdfast::truth::gradient::adjoint::Scan;
use holdfast::truth::gradient::rules::{Rules, Slow};
use holdfast::truth::gradient::{GradientTruth, solve};
use holdfast::truth::number::ball::Ball;
use holdfast::truth::number::big::Big;
use holdfast::truth::number::double_double::DoubleDouble;
use holdfast::truth::number::elementary::Exponent;
use holdfast::truth::number::scalar::Real;
use holdfast::truth::number::wide::Wide;
use holdfast::truth::scan;
use nalgebra::Complex;
use rand_chacha::ChaCha8Rng;
use rstest::rstest;

use crate::directional::{Direction, derivative};
use crate::support::problems::{Layout, generator, layouts, uniform};

/// A problem of a layout, with an initial state where it has a gate, and the gradients of its outputs.
fn random(layout: &Layout, rng: &mut ChaCha8Rng) -> (Problem, OutputGradients) {
    let mut problem = layout.random(rng);
    let states = problem.shape.batch * problem.a.len();
    problem.initial_state = layout.gate.then(|| uniform(states, InputType::F32, rng));
    let dout = uniform(problem.u.len(), InputType::F32, rng);
    let dlast_state =
        (layout.gate || layout.b == Operand::Variable).then(|| uniform(states, InputType::F32, rng));
    (problem, OutputGradients { dout, dlast_state })
}

fn only(problem: &Problem, given: &OutputGradients, method: Method) -> GradientTruth {
    solve(problem, given, &[method]).expect("certified").remove(0)
}

/// Weights × B × C, each with and without gate, D, bias, softplus and an initial state.
fn all(shape: Shape) -> impl Iterator<Item = Layout> {
    layouts(shape).filter(|layout| layout.input == InputType::F32)
}

/// Bit for bit: what 237 bits round off is far below the distance of these values to a boundary.
#[rstest]
fn adjoint_is_the_derivative_along_every_axis(#[values(0, 1, 2, 3, 4, 5)] method: usize) {
    let method = Method::ALL[method];
    let mut rng = generator("adjoint_is_the_derivative_along_every_axis");
    let usual = Conventions::default();
    let stated = Conventions {
        reads: Reads::BeforeUpdate,
        output: ComplexOutput::RealPart,
        state: StateHolds::InputAlone,
        ..usual
    };
    let limited = Conventions { limit: StepLimit::new(0.05, 0.125).expect("two limits"), ..usual };
    let shapes =
        [(2, 2, 2, 2, 1, usual), (1, 4, 1, 2, 2, usual), (1, 1, 2, 3, 1, stated), (1, 1, 2, 4, 1, limited)];
    for (batch, dim, dstate, seqlen, groups, conventions) in shapes {
        for layout in all(Shape { batch, dim, dstate, seqlen, groups }) {
            let (mut problem, given) = random(&layout, &mut rng);
            problem.conventions = conventions;
            let truth = only(&problem, &given, method);
            for (name, tensor) in truth.tensors.iter() {
                for (i, &value) in tensor.values.iter().enumerate() {
                    let mut axis = vec![0.0; tensor.values.len()];
                    axis[i] = 1.0;
                    let along: Direction = [(name, axis)].into_iter().collect();
                    let want = derivative(&problem, &given, method.into(), &along).to_nearest_f64();
                    let place = tensor.index(i);
                    let (found, want) = (hexfloat::f64(value), hexfloat::f64(want + 0.0));
                    assert_eq!(found, want, "{method}, {name} at {place:?} of {layout:?}");
                }
            }
        }
    }
}

/// ⟨dout, J v⟩ = ⟨Jᵀ dout, v⟩, but for the rounding of each gradient to an f64.
#[rstest]
fn products_with_a_direction_agree(#[values(0, 1, 2, 3, 4, 5)] method: usize) {
    let method = Method::ALL[method];
    let mut rng = generator("products_with_a_direction_agree");
    for layout in all(Shape { batch: 2, dim: 4, dstate: 3, seqlen: 9, groups: 2 }) {
        let (problem, given) = random(&layout, &mut rng);
        let tensors = only(&problem, &given, method).tensors;
        let along: Direction = tensors.map(|_, tensor| {
            uniform(tensor.values.len(), InputType::F32, &mut rng)
                .into_iter()
                .map(f64::from)
                .collect::<Vec<_>>()
        });
        let (mut product, mut size) = (Wide::exact(0.0), 0.0);
        for (_, tensor, v) in tensors.zip(&along) {
            for (&gradient, &v) in tensor.values.iter().zip(v) {
                product += Wide::exact(gradient) * Wide::exact(v);
                size += (gradient * v).abs();
            }
        }
        let error = (product - derivative(&problem, &given, method.into(), &along)).to_nearest_f64().abs();
        assert!(size > 0.01 && error <= size * f64::EPSILON / 2.0, "{method}, {layout:?}: {error:e}");
    }
}

/// An output is linear in the inputs, so that the gradient by u_l is what the scan itself makes of u_l = 1 alone. The terms at
/// position l are not all of it where a form reads its neighbours, and the routes would agree on what is missing.
#[test]
fn a_form_that_reads_neighbours_has_no_gradient() {
    let (silent, given) = (channel(&[-1.5, -0.5], &[0.5, 0.25, 0.75], &[0.0; 3]), seen(&[1.0, -0.5, 0.25]));
    let mut refused = Vec::new();
    for form in Form::all() {
        let Ok(reads_now) = ReadsNow::try_from(form) else {
            refused.push(form.name());
            continue;
        };
        let adjoint = Scan { problem: &silent, form: reads_now, given: &given };
        let literal = adjoint.sums(&Rules::<Wide>::literal(), &[(0, 0)]).expect("steps");
        let bounded = adjoint.sums(&Rules::<Ball<Wide>>::bounded(), &[(0, 0)]).expect("steps");
        for l in 0..3 {
            let mut unit = silent.clone();
            unit.u[l] = 1.0;
            let out = scan::solve(&unit, &[form]).expect("certified").remove(0).tensors[Out].values.clone();
            let want: f64 = out.iter().zip(&given.dout).map(|(y, &dout)| y * f64::from(dout)).sum();
            let moves = unit.u.iter().copied().map(f64::from).collect();
            let along: Direction = [(U, moves)].into_iter().collect();
            let found = [literal[U][l], bounded[U][l].mid, derivative(&silent, &given, reads_now, &along)];
            for found in found.map(|found| found.to_nearest_f64()) {
                assert!((found - want).abs() <= 1e-15, "{form} by u[{l}]: {found}, {want}");
            }
        }
    }
    assert_eq!(refused, ["foh-textbook", "bilinear-averaged", "exp-trapezoidal", "foh-causal"]);
    let error = ReadsNow::try_from(Form::from(Textbook::FohCausal)).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "gradients are asked for of foh-causal, which reads u_{l−1} or u_{l+1}, expected a form that reads u_l alone \
         (hint: its outputs can be judged)"
    );
}

/// One channel of real, constant weights.
fn channel(a: &[f32], delta: &[f32], u: &[f32]) -> Problem {
    let ones = vec![1.0; a.len()];
    Problem {
        u: u.to_vec(),
        delta: delta.to_vec(),
        a: a.to_vec(),
        b: ones.clone(),
        c: ones,
        judged_channels: vec![(0, 0)],
        ..Layout::plain(1, 1, a.len(), u.len()).random(&mut generator("channel"))
    }
}

fn seen(dout: &[f32]) -> OutputGradients {
    OutputGradients { dout: dout.to_vec(), dlast_state: None }
}

fn values(truth: &GradientTruth, name: GradientName) -> &[f64] {
    &truth.tensors[name].values
}

#[test]
fn every_input_has_a_gradient_in_its_own_layout() {
    let shape = Shape { batch: 2, dim: 4, dstate: 3, seqlen: 5, groups: 2 };
    let mut rng = generator("every_input_has_a_gradient_in_its_own_layout");
    for layout in all(shape) {
        let (problem, given) = random(&layout, &mut rng);
        let truth = only(&problem, &given, Method::Zoh);
        let names = [U, Delta, A, B, C, D, Z, DeltaBias, InitialState];
        for (name, (input, tensor, len)) in names.into_iter().zip(problem.inputs()) {
            assert!(name.name() == format!("grad.{input}"));
            let found = truth.tensors.get(name);
            assert_eq!(found.is_some(), tensor.is_some(), "{name}");
            let Some(found) = found else { continue };
            assert_eq!(found.values.len(), len, "{name}");
            assert_eq!(found.shape.iter().product::<usize>() * found.width, len, "{name}");
        }
    }
}

#[test]
fn without_input_or_loss_zeros_are_proved() {
    let silent = channel(&[-1.0, -2.0], &[0.1; 3], &[0.0; 3]);
    for truth in solve(&silent, &seen(&[1.0, -0.5, 0.25]), &Method::ALL).expect("certified") {
        assert_eq!(values(&truth, Delta), [0.0; 3], "{}", truth.method);
        assert_eq!(values(&truth, A), [0.0; 2]);
        assert!(values(&truth, U).iter().all(|&x| x != 0.0));
        // Δ, A, B, C
        assert_eq!(truth.certificate.proved_zero, 3 + 3 * 2);
    }
    let loud = channel(&[-1.0, -2.0], &[0.1; 3], &[1.0; 3]);
    for truth in solve(&loud, &seen(&[0.0; 3]), &Method::ALL).expect("certified") {
        assert!(truth.tensors.values().all(|tensor| tensor.values.iter().all(|&x| x == 0.0)));
        assert_eq!(truth.certificate.compared, 0);
    }
}

/// Two positions whose A = 0 sums the inputs: the loss sees x₀ − x₁ = −u₁.
#[test]
fn an_exact_cancellation_is_proved_by_rational_arithmetic() {
    let problem = channel(&[0.0], &[1.0; 2], &[0.75, 0.5]);
    let truth = only(&problem, &seen(&[1.0, -1.0]), Method::Zoh);
    assert_eq!(values(&truth, U), [0.0, -1.0]);
    assert_eq!(values(&truth, C), [-0.5]);
}

/// Of a state that is no other channel's: C·dout + dlast_state is 0 for one of many.
#[test]
fn a_gradient_that_cancels_is_solved_again_for_its_own_channel() {
    let shape = Shape { batch: 2, dim: 3, dstate: 2, seqlen: 1, groups: 1 };
    let states = shape.batch * shape.dim * shape.dstate;
    for cancels in 0..states {
        let drawn = Layout { shape, ..Layout::plain(2, 3, 2, 1) }.random(&mut generator("cancels"));
        let problem = Problem {
            a: vec![0.0; shape.dim * shape.dstate],
            c: vec![1.0; shape.dim * shape.dstate],
            initial_state: Some(vec![0.5; states]),
            ..drawn
        };
        let dlast_state = (0..states).map(|i| if i == cancels { -1.0 } else { 2.0 }).collect();
        let given = OutputGradients { dout: vec![1.0; shape.sequence_len()], dlast_state: Some(dlast_state) };
        let truth = only(&problem, &given, Method::Zoh);
        let want: Vec<f64> = (0..states).map(|i| if i == cancels { 0.0 } else { 3.0 }).collect();
        assert_eq!(values(&truth, InitialState), want);
    }
}

/// The same of a weight that all items of the batch have a share in: with A = 0 a state is its input.
#[test]
fn a_weight_s_gradient_that_cancels_is_solved_again_for_its_own_channel() {
    let shape = Shape { batch: 2, dim: 3, dstate: 2, seqlen: 1, groups: 1 };
    for cancels in 0..shape.dim {
        let drawn = Layout { shape, ..Layout::plain(2, 3, 2, 1) }.random(&mut generator("cancels"));
        let weights = shape.dim * shape.dstate;
        let second = |d: usize| if d == cancels { 2.0f32 } else { 3.0 };
        let problem = Problem {
            a: vec![0.0; weights],
            b: vec![1.0; weights],
            c: vec![1.0; weights],
            delta: vec![1.0; 6],
            u: vec![2.0, 2.0, 2.0, second(0), second(1), second(2)],
            ..drawn
        };
        let truth = only(&problem, &seen(&[1.0, 1.0, 1.0, -1.0, -1.0, -1.0]), Method::Zoh);
        let want: Vec<f64> = (0..weights).map(|i| 2.0 - f64::from(second(i / shape.dstate))).collect();
        assert_eq!(values(&truth, C), want);
    }
}

/// What a mask leaves: Δ = 0 with an input still has a derivative (spec.md §6, Edges).
#[test]
fn a_step_of_zero_has_the_derivative_of_its_limit() {
    let problem = channel(&[-1.5], &[0.5, 0.0], &[0.75, 2.0]);
    for truth in solve(&problem, &seen(&[0.0, 1.0]), &Method::ALL).expect("certified") {
        let state = values(&truth, C)[0];
        let forced = if truth.method == Method::Foh { 0.0 } else { 2.0 };
        // x₁ = x₀ at Δ = 0, but for poly's average of it with x₁'s own input, which is 0.
        let want = match truth.method {
            Method::Poly => (-1.5 * (2.0 * state) + 2.0 * forced) / 2.0,
            _ => -1.5 * state + forced,
        };
        let found = values(&truth, Delta)[1];
        assert!((found - want).abs() <= 1e-15, "{}: {found} is not {want}", truth.method);
    }
}

/// Δ, u, B and dout whose product is an odd integer of 54 bits.
const TIE: [u64; 4] = [3, 4_097, 1_048_577, 1_048_579];

/// delta + bias is exact, and so is the side of a limit that it is on: on a border the slope is 1, an ulp beyond it 0.
#[test]
fn a_step_on_its_limit_has_the_slope_of_those_within() {
    let limit = StepLimit::new(0.0625, 0.125).expect("two limits");
    let with = |bias: f32, limit| Problem {
        delta_bias: Some(vec![bias]),
        conventions: Conventions { limit, ..Conventions::default() },
        ..channel(&[-1.0], &[0.0625; 2], &[1.0, 3.0])
    };
    let by_delta = |bias: f32, limit| {
        let truth = only(&with(bias, limit), &seen(&[1.0, 1.0]), Method::Foh);
        values(&truth, GradientName::Delta).to_vec()
    };
    // 10⁻²⁰ is too small a change to be seen in an f64.
    for within in [0.0625, 0.0, 1e-20] {
        assert_eq!(by_delta(within, limit), by_delta(within, StepLimit::NONE), "{within:e}");
    }
    for outside in [0.0625f32.next_up(), -1e-20, -0.5] {
        assert_eq!(by_delta(outside, limit), [0.0; 2], "{outside:e}");
    }
}

#[test]
fn a_tie_is_settled_by_rational_arithmetic() {
    let product: u64 = TIE.iter().product();
    assert_eq!((product.ilog2(), product % 2), (53, 1));
    let [delta, u, b, dout] = TIE.map(|x| x as f32);
    let mut problem = channel(&[-64.0], &[delta], &[u]);
    problem.b = vec![b];
    let truth = only(&problem, &seen(&[dout]), Method::Zoh);
    assert_eq!(values(&truth, C), [rational::round(&product.into())]);
    assert!(truth.certificate.exact > 0);
}

/// Ties of sums over the batch (D, and B and C where they are constant) and over the channels of a group (where they vary):
/// what settles them has to sum over all of those again. 2⁵³, 2 and 1 make an odd integer of 54 bits, and no two of them round
/// to what it does.
#[rstest]
#[case::over_the_batch(Operand::Constant, 3, &[B, C, D])]
#[case::over_a_group(Operand::Variable, 1, &[B, C])]
fn ties_of_sums_over_channels_are_settled(
    #[case] operand: Operand,
    #[case] batch: usize,
    #[case] names: &[GradientName],
) {
    let mut layout = Layout::plain(batch, 6, 1, 1);
    layout.shape.groups = 2;
    (layout.b, layout.c) = (operand, operand);
    let mut problem = layout.random(&mut generator("ties_of_sums_over_channels_are_settled"));
    let share = |row: usize| (row / 6 + row % 6) % 3;
    let big = |n: i32| 2f32.powi(n);
    problem.u = (0..6 * batch).map(|row| [big(26), 2.0, 1.0][share(row)]).collect();
    problem.delta.fill(1.0);
    problem.a.fill(0.0);
    problem.b.fill(1.0);
    problem.c.fill(1.0);
    problem.d = names.contains(&D).then(|| vec![0.0; 6]);
    let dout = (0..6 * batch).map(|row| if share(row) == 0 { big(27) } else { 1.0 }).collect();
    let truth = only(&problem, &OutputGradients { dout, dlast_state: None }, Method::Rk4);
    let sum = ((1u64 << 53) + 4) as f64;
    for &name in names {
        assert!(values(&truth, name).iter().all(|&x| x == sum), "{name}: {:?}", values(&truth, name));
    }
    // Nothing else is in doubt, so that these alone say what is summed again.
    let ties: usize = names.iter().map(|&name| values(&truth, name).len()).sum();
    let halves = if batch > 1 { 6 } else { 0 };
    assert_eq!(truth.certificate.exact, ties + halves, "{}", truth.certificate);
}

/// φₖ(0) = 1/k!, and their slopes: at A = 0 and Δ = 6 the B̄ for B = 1 is an integer, as is its derivative by A.
#[rstest]
#[case(Method::Foh, C, 18, 262_145)]
#[case(Method::Foh, A, 36, 262_145)]
#[case(Method::Poly, C, 15, 262_143)]
#[case(Method::Poly, A, 36, 262_145)]
#[case(Method::HighOrder, C, 42, 131_073)]
#[case(Method::HighOrder, A, 81, 32_769)]
fn ties_of_phi_functions_are_settled(
    #[case] method: Method,
    #[case] name: GradientName,
    #[case] factor: u64,
    #[case] dout: u64,
) {
    let product = factor * 4_097 * 1_048_577 * dout;
    assert_eq!(product.ilog2() - product.trailing_zeros(), 53);
    let mut problem = channel(&[0.0], &[6.0], &[4_097.0]);
    problem.b = vec![1_048_577.0];
    let truth = only(&problem, &seen(&[dout as f32]), method);
    assert_eq!(values(&truth, name), [rational::round(&product.into())]);
    assert!(truth.certificate.exact > 0, "{}", truth.certificate);
}

/// 2 Re(i e^−735 i) is out of the range of two doubles; that the parts of B and C are imaginary makes it no zero.
#[test]
fn what_two_doubles_cannot_hold_takes_more_bits() {
    let mut problem = channel(&[-735.0], &[1.0; 2], &[1.0; 2]);
    problem.weights = Weights::Complex;
    [problem.a, problem.b, problem.c] = [vec![-735.0, 0.0], vec![0.0, 1.0], vec![0.0, 1.0]];
    let given = seen(&[0.0, 1.0]);
    let along: Direction = [(U, vec![1.0, 0.0])].into_iter().collect();
    for truth in solve(&problem, &given, &[Method::Zoh, Method::Poly]).expect("certified") {
        let want = derivative(&problem, &given, truth.method.into(), &along).to_nearest_f64();
        assert!(want < 0.0 && want > -1e-318);
        assert_eq!(values(&truth, U)[0], want, "{}", truth.method);
        assert_eq!(truth.certificate.bits, Wide::BITS);
    }
}

/// As in `a_tie_is_settled_by_rational_arithmetic`, beside the last of a state that e^−192 has left: 277 bits below.
#[rstest]
#[case::above(1.0, 1)]
#[case::below(-1.0, 0)]
fn a_tie_is_decided_in_more_than_237_bits(#[case] before: f32, #[case] side: u64) {
    let product: u64 = TIE.iter().product();
    let [delta, u, b, dout] = TIE.map(|x| x as f32);
    let mut problem = channel(&[-64.0], &[delta; 2], &[before, u]);
    problem.b = vec![b];
    let truth = only(&problem, &seen(&[0.0, dout]), Method::Zoh);
    assert_eq!(values(&truth, C), [(product - 1 + 2 * side) as f64]);
    assert_eq!(truth.certificate.bits, 512);
}

/// Every regime of few values, in two doubles and in 237 bits.
#[test]
fn two_doubles_give_the_values_of_237_bits() {
    fn hold<T: Exponent>(problem: &Problem, given: &OutputGradients, id: &str) -> usize {
        let channels: Vec<_> = problem.channels().collect();
        let mut compared = 0;
        for truth in solve(problem, given, &Method::ALL).unwrap_or_else(|e| panic!("{id}: {e}")) {
            let scan = Scan { problem, form: truth.method.into(), given };
            let literal = scan.sums(&Rules::<T>::literal(), &channels).expect("steps");
            let bounded = scan.sums(&Rules::<Ball<T>>::bounded(), &channels).expect("steps");
            for (name, tensor) in truth.tensors.iter() {
                for (i, value) in tensor.values.iter().enumerate() {
                    let settled = settle(&literal[name][i], &bounded[name][i]);
                    let Ok(settled) = settled else { continue };
                    assert_eq!(value.to_bits(), settled.value.to_bits(), "{id}, {name} at {i}");
                    compared += 1;
                }
            }
            assert_eq!(truth.certificate.bits, DoubleDouble::BITS, "{id}: {}", truth.certificate);
        }
        compared
    }
    let mut specs = plan(&Filter::default());
    specs.dedup_by_key(|spec| (spec.regime.name.clone(), spec.weights));
    let (mut compared, mut regimes) = (0, 0);
    for spec in specs {
        let problem = spec.draw(3);
        if problem.shape.sequence_len() * problem.shape.dstate > 600 {
            continue;
        }
        let mut rng = generator(&spec.id());
        let given =
            OutputGradients { dout: uniform(problem.u.len(), InputType::F32, &mut rng), dlast_state: None };
        compared += match spec.weights {
            Weights::Real => hold::<Wide>(&problem, &given, &spec.id()),
            Weights::Complex => hold::<Complex<Wide>>(&problem, &given, &spec.id()),
        };
        regimes += 1;
    }
    assert!(regimes > 20 && compared > 10_000, "{compared} values of {regimes} regimes");
}

/// Where 237 bits leave something open, complex steps, gates and every φ of the slow scalars take part.
#[rstest]
fn slow_scalars_give_the_derivative_too(#[values(0, 1, 2, 3, 4, 5)] method: usize) {
    let mut rng = generator("slow_scalars_give_the_derivative_too");
    let mut layout = Layout::plain(1, 1, 2, 2);
    (layout.weights, layout.gate) = (Weights::Complex, true);
    let (mut problem, given) = random(&layout, &mut rng);
    // The power series takes the place of the literal formulas.
    problem.a[..2].fill(0.0);
    let scan = Scan { problem: &problem, form: Method::ALL[method].into(), given: &given };
    let wide = scan.sums(&Rules::<Complex<Wide>>::literal(), &[(0, 0)]).expect("steps");
    let literal = scan.sums(&Slow::literal::<Complex<Big<512>>>(), &[(0, 0)]).expect("steps");
    let bounded = scan.sums(&Slow::bounded::<Complex<Big<512>>>(), &[(0, 0)]).expect("steps");
    for (name, wide, literal) in wide.zip(&literal) {
        for (i, (wide, literal)) in wide.iter().zip(literal).enumerate() {
            let ball = &bounded[name][i];
            assert_eq!(wide.to_nearest_f64(), literal.to_nearest_f64(), "{name}");
            assert_eq!(ball.mid.to_nearest_f64(), literal.to_nearest_f64(), "{name}");
            assert!(ball.radius.at_most_pow2(-470), "{name}: {:?}", ball.radius);
        }
    }
}

/// σ(z)(1 + zσ(−z)) is 1 far to the right, where eᶻ is beyond every range.
#[rstest]
fn a_large_gate_has_a_gradient(
    #[values(1e5, 1e12, 3e38)] z: f32,
    #[values(false, true)] delta_softplus: bool,
) {
    let problem = Problem { z: Some(vec![z]), delta_softplus, ..channel(&[-1.0], &[0.5], &[1.0]) };
    let plain = Problem { z: None, ..problem.clone() };
    let given = seen(&[1.0]);
    let (gated, out) = (only(&problem, &given, Method::Zoh), only(&plain, &given, Method::Zoh));
    // ∂L/∂z is then y, which is Σ C ∂L/∂C.
    assert_eq!(values(&gated, Z), values(&out, C));
}

/// Where ΔA is so small that the literal formulas are left, a certificate says so.
#[test]
fn a_certificate_says_where_a_series_stands_in() {
    let given = seen(&[1.0]);
    let with = |delta: f32, method| only(&channel(&[-1.0], &[delta], &[1.0]), &given, method).certificate;
    assert!(with(1e-6, Method::HighOrder).unavailable.is_some());
    assert!(with(0.5, Method::HighOrder).unavailable.is_none());
    assert!(with(1e-6, Method::Zoh).unavailable.is_none());
}

/// No two routes round alike throughout: a certificate that says so has compared a number with itself.
#[test]
fn routes_are_two() {
    let mut rng = generator("routes_are_two");
    let layout = Layout { gate: true, extras: true, ..Layout::plain(1, 2, 2, 3) };
    let (problem, given) = random(&layout, &mut rng);
    for truth in solve(&problem, &given, &Method::ALL).expect("certified") {
        let agreement = truth.certificate.agreement.expect("values were compared");
        let itself = i64::from(DoubleDouble::BITS) - 53;
        assert!((REQUIRED_OF_TWO_DOUBLES..itself).contains(&agreement), "{}", truth.certificate);
        assert_eq!(truth.certificate.bits, DoubleDouble::BITS, "{}", truth.certificate);
    }
}

#[test]
fn requests_are_checked_before_any_work() {
    let good = channel(&[-1.0], &[0.1; 3], &[1.0; 3]);
    let refuse = |change: fn(&mut Problem, &mut OutputGradients)| {
        let (mut problem, mut given) = (good.clone(), seen(&[1.0; 3]));
        change(&mut problem, &mut given);
        solve(&problem, &given, &[Method::Bilinear]).expect_err("refused").to_string()
    };
    assert!(refuse(|_, given| given.dout.truncate(2)).starts_with("dout has shape 2 numbers, expected 3"));
    assert!(refuse(|_, given| given.dlast_state = Some(vec![0.0; 2])).starts_with("dlast_state has shape"));
    assert!(refuse(|_, given| given.dout[1] = f32::NAN).starts_with("dout[1] is NaN"));
    assert!(refuse(|p, _| p.u.truncate(2)).starts_with("u has shape"));
    assert!(refuse(|p, _| (p.a[0], p.delta[1]) = (2.0, 1.0)).contains("singular"));
    assert!(refuse(|p, _| p.a[0] = -1e30).contains("log2 of the size"));
}

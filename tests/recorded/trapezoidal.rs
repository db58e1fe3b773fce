//! Promise: a run of Mamba-3's rule is judged as one, forwards and backwards, by a truth that is its own derivative.

use holdfast::judge::trapezoidal::Bounded;
use holdfast::problem::InputType;
use holdfast::problem::trapezoidal::{Input, Output, Sizes, Trapezoidal, Unit, Values};
use holdfast::results::{Search, TensorResult, Verdict};
use holdfast::tensor::Named;
use holdfast::trapezoidal::{Outputs, Writing, outputs};
use holdfast::truth::trapezoidal::{self as truth, Certified};
use rand::RngExt as _;
use safetensors::Dtype;

use crate::packed::starts;
use crate::support::problems::generator;
use crate::written::{File, failing, tensor};

const SIZES: Sizes = Sizes { b: 1, l: 12, h: 4, p: 2, g: 2, n: 5, k: 2, s: 2 };
/// Where the second of two packed sequences begins.
const BORDER: usize = 5;

/// Two packed sequences with all inputs that there are.
fn drawn() -> Trapezoidal {
    let mut rng = generator("trapezoidal");
    let mut inputs = Named::default();
    for input in Input::ALL.into_iter().filter(|input| !matches!(input, Input::A | Input::Lambda)) {
        let len = SIZES.shape(input.axes()).iter().product();
        let of = |_| match input {
            Input::Adt => -rng.random_range(0.05f32..0.8),
            _ => rng.random_range(-1.0f32..1.0),
        };
        inputs.insert(input, Values { stored: InputType::F32, values: (0..len).map(of).collect() });
    }
    let sequences = vec![(0, 0..BORDER), (0, BORDER..SIZES.l)];
    Trapezoidal { sizes: SIZES, inputs, delta_softplus: true, sequences }
}

/// A mistake of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slip {
    None,
    LambdaOfOther,
    BOfNow,
    BeforeIsLost,
    Border,
    AnglesApart,
    LastBUnturned,
}

/// The rule in f32, a position after the other.
fn scanned(problem: &Trapezoidal, slip: Slip) -> Named<Vec<f32>, Output> {
    let Sizes { l: len, h: heads, p: channels, n: states, k: angles, s, g, .. } = SIZES;
    let of = |input: Input, at: usize| problem.inputs[input].values[at];
    let sized = |output: Output| vec![0.0f32; SIZES.shape(output.axes()).iter().product()];
    let mut all: Named<Vec<f32>, Output> = Output::ALL.into_iter().map(|o| (o, sized(o))).collect();
    for h in 0..heads {
        let mut x = vec![0.0f32; channels * states];
        let (mut theta, mut w) = (vec![0.0f32; angles], vec![0.0f32; channels * states]);
        for l in 0..len {
            let sequence = usize::from(l >= BORDER);
            let start = sequence * heads + h;
            if l == 0 || (l == BORDER && slip != Slip::Border) {
                theta = (0..angles).map(|k| of(Input::InitialAngle, start * angles + k)).collect();
                for i in 0..channels * states {
                    let (p, n) = (i / states, i % states);
                    x[i] = of(Input::InitialState, start * channels * states + i);
                    w[i] =
                        of(Input::InitialB, start * states + n) * of(Input::InitialU, start * channels + p);
                }
                if slip == Slip::BeforeIsLost {
                    w.fill(0.0);
                }
            }
            let at = l * heads + h;
            let raw = of(Input::Delta, at) + of(Input::DeltaBias, h);
            let delta = raw.exp().ln_1p();
            let decay = of(Input::Adt, at).exp();
            let lambda = 1.0 / (1.0 + (-of(Input::Trap, at)).exp());
            let other = if slip == Slip::LambdaOfOther { lambda } else { 1.0 - lambda };
            for (k, theta) in theta.iter_mut().enumerate() {
                let turn = of(Input::Angles, at * angles + k).tanh() * std::f32::consts::PI * delta;
                *theta = if slip == Slip::AnglesApart { turn } else { *theta + turn };
            }
            let turned = |operand: Input, bias: Input, turns: bool| -> Vec<f32> {
                let value =
                    |n| of(operand, (l * g + h / (heads / g)) * states + n) + of(bias, h * states + n);
                let one = |n: usize| match theta.get(n / 2).filter(|_| turns) {
                    None => value(n),
                    Some(theta) if n.is_multiple_of(2) => value(n) * theta.cos() - value(n + 1) * theta.sin(),
                    Some(theta) => value(n - 1) * theta.sin() + value(n) * theta.cos(),
                };
                (0..states).map(one).collect()
            };
            let b = turned(Input::B, Input::BBias, true);
            let c = turned(Input::C, Input::CBias, true);
            for p in 0..channels {
                let u = of(Input::U, at * channels + p);
                let mut y = of(Input::D, h) * u;
                for n in 0..states {
                    let i = p * states + n;
                    let now = b[n] * u;
                    let before = if slip == Slip::BOfNow { now } else { w[i] };
                    x[i] = decay * x[i] + other * delta * decay * before + lambda * delta * now;
                    w[i] = now;
                    y += c[n] * x[i];
                }
                let z = of(Input::Z, at * channels + p);
                all[Output::Out][at * channels + p] = y * z / (1.0 + (-z).exp());
                all[Output::LastU][start * channels + p] = u;
            }
            all[Output::LastState][start * channels * states..][..channels * states].copy_from_slice(&x);
            all[Output::LastAngle][start * angles..][..angles].copy_from_slice(&theta);
            let last_b = turned(Input::B, Input::BBias, slip != Slip::LastBUnturned);
            all[Output::LastB][start * states..][..states].copy_from_slice(&last_b);
        }
    }
    assert_eq!(s, 2);
    // A kernel counts angles modulo 2π.
    all[Output::LastAngle].iter_mut().for_each(|theta| *theta = theta.rem_euclid(std::f32::consts::TAU));
    all
}

/// The file of the inputs, and of tensors that have a name and axes.
fn file_of<'v>(
    problem: &'v Trapezoidal,
    more: impl IntoIterator<Item = (String, &'static str, &'v Vec<f32>)>,
) -> File {
    let mut file = File::default().stating(&[("delta_softplus", "true")]);
    file.set("cu_seqlens", starts(&[0, BORDER, SIZES.l]));
    let inputs = problem.inputs.iter().map(|(input, of)| (input.to_string(), input.axes(), &of.values));
    for (name, axes, values) in inputs.chain(more) {
        file.set(&name, tensor(Dtype::F32, &SIZES.shape(axes), values));
    }
    file
}

fn with_outputs(problem: &Trapezoidal, slip: Slip) -> File {
    let outputs = scanned(problem, slip);
    let named = outputs.iter().map(|(output, all)| (format!("{output}.trapezoidal"), output.axes(), all));
    file_of(problem, named)
}

#[test]
fn a_scan_passes_and_slips_fail() {
    let problem = drawn();
    let right = with_outputs(&problem, Slip::None).judged();
    assert_eq!(right.verdict, Verdict::Pass, "{right:?}");
    assert_eq!(right.tensors.iter().count(), Output::ALL.len());
    let share = |tensor: &TensorResult| tensor.worst.as_ref().expect("judged").share;
    assert!(right.tensors.values().all(|tensor| share(tensor) < 0.5), "{right:?}");
    let fails = |slip: Slip| {
        let case = with_outputs(&problem, slip).judged();
        assert_eq!(case.search, Some(Search::NoModels));
        failing(&case)
    };
    for slip in [Slip::LambdaOfOther, Slip::BOfNow, Slip::BeforeIsLost, Slip::Border, Slip::AnglesApart] {
        assert!(fails(slip).contains(&"out"), "{slip:?}");
    }
    assert_eq!(fails(Slip::LastBUnturned), ["last_B"]);
}

/// Gradients of Σ cotangent × output by one element, by differences of the certified outputs, extrapolated twice.
fn by_differences(problem: &Trapezoidal, given: &Named<Vec<f32>, Output>, input: Input, at: usize) -> f64 {
    let units: Vec<Unit> = problem.units();
    let loss = |step: f32| -> f64 {
        let mut moved = problem.clone();
        let value = &mut moved.inputs[input].values[at];
        *value += step;
        let (outputs, _) = truth::outputs(&moved, &units).expect("certified");
        let of = |(unit, of): (&Unit, &Named<Vec<Certified>, Output>)| -> f64 {
            let own = problem.cotangents_of(given, *unit);
            own.zip(of)
                .map(|(_, g, y)| g.iter().zip(y).map(|(g, y)| f64::from(*g) * y.value).sum::<f64>())
                .sum()
        };
        units.iter().zip(&outputs).map(of).sum()
    };
    // Steps of powers of two keep an f32 of few bits exact.
    let slope = |k: i32| (loss(0.5f32.powi(k)) - loss(-(0.5f32.powi(k)))) / 2.0 * 2f64.powi(k);
    let [d5, d6, d7] = [5, 6, 7].map(slope);
    let (e5, e6) = ((4.0 * d6 - d5) / 3.0, (4.0 * d7 - d6) / 3.0);
    (16.0 * e6 - e5) / 15.0
}

#[test]
fn gradients_are_those_of_the_outputs() {
    let mut problem = drawn();
    let mut rng = generator("trapezoidal gradients");
    for (_, tensor) in problem.inputs.iter_mut() {
        tensor.values.iter_mut().for_each(|value| *value = (*value * 256.0).round() / 256.0);
    }
    let of_output = |output: Output| {
        let len = SIZES.shape(output.axes()).iter().product();
        let values = (0..len).map(|_| (rng.random_range(-1.0f32..1.0) * 64.0).round() / 64.0);
        (output, values.collect())
    };
    let given: Named<Vec<f32>, Output> = Output::ALL.map(of_output).into_iter().collect();
    let (gradients, certificate) = truth::gradients(&problem, &given).expect("certified");
    assert!(certificate.compared > 0);
    for (input, values) in gradients.iter() {
        let at = values.len() / 2;
        let scale = values.iter().fold(0.0f64, |most, value| most.max(value.value.abs()));
        let error = (values[at].value - by_differences(&problem, &given, input, at)).abs() / scale;
        assert!(error < 1e-8, "{input}: {error:e} of {scale:e}");
    }
    // A pass of those passes, and one that is off by a part in 1000 does not.
    for (factor, verdict) in [(1.0, Verdict::Pass), (1.001, Verdict::Fail)] {
        let gradients =
            gradients.map(|_, all| all.iter().map(|of| (of.value * factor) as f32).collect::<Vec<_>>());
        let given = given.iter().map(|(output, all)| (output.cotangent(), output.axes(), all));
        let gradients =
            gradients.iter().map(|(input, all)| (format!("grad.{input}.trapezoidal"), input.axes(), all));
        let case = file_of(&problem, given.chain(gradients)).judged();
        for (name, tensor) in case.tensors.iter() {
            assert_eq!(tensor.verdict, verdict, "{name} of {factor}");
        }
    }
}

#[test]
fn what_is_no_such_run_is_refused() {
    let problem = drawn();
    let file = with_outputs(&problem, Slip::None);
    let of = |shape: &[usize], value: f32| tensor(Dtype::F32, shape, &vec![value; shape.iter().product()]);
    let turned = tensor(Dtype::F32, &[SIZES.b, SIZES.h, SIZES.l], &problem.inputs[Input::Trap].values);
    for (file, says) in [
        (file.with("A", of(&[4], -1.0)), "`A` and `ADT` are the same"),
        (file.without("trap"), "`lambda` is missing, expected u, delta, A or ADT, lambda or trap"),
        (file.with("trap", turned), "transpose it to (b, l, h)"),
        (file.without("initial_u"), "`initial_u` is missing"),
        (file.with("angles", of(&[1, 12, 4, 3], 0.0)), "at most half of the 5 states"),
        (file.with("Angles", of(&[1, 12, 4, 2], 0.0)), "tensors `Angles` and `angles` are the same one"),
        (file.with("final_states.trapezoidal", of(&[2, 4, 2, 5], 0.0)), "are the same one"),
        (file.with("cu_seqlens", of(&[3], 0.0)), "expected I32 or I64"),
        (
            file.with("D", tensor(Dtype::F64, &[4], &[0.0; 4])),
            "tensor `D` is of type F64, expected F32, F16 or BF16",
        ),
        (file.with("z", of(&[1, 12, 4, 2], f32::NAN)), "tensor `z` is NaN at (0, 0, 0, 0)"),
        (file.without("C"), "`C` is missing"),
        (file.with("dt_biass", of(&[4], 0.0)), "its method is `trapezoidal`"),
        (file.stating(&[("dt_limit", "0 1")]), "no such statement in a run of Mamba-3's rule"),
    ] {
        file.is_refused(says);
    }
}

#[test]
fn arithmetic_that_no_bound_knows_is_unmeasured() {
    let file = with_outputs(&drawn(), Slip::None);
    for (stated, verdict) in [("delta=bf16", Verdict::Unmeasured), ("scan=log-space-4", Verdict::Pass)] {
        assert_eq!(file.stating(&[("arithmetic", stated)]).verdict(), verdict, "{stated}");
    }
}

/// Steps that an angle is too large to show are lost one after the other, which adds up.
#[test]
fn an_angle_that_stands_still_is_within_its_bound() {
    let sizes = Sizes { b: 1, l: 40_000, h: 1, p: 1, g: 1, n: 2, k: 1, s: 1 };
    let mut problem =
        Trapezoidal { sizes, sequences: vec![(0, 0..sizes.l)], delta_softplus: false, ..drawn() };
    let mut rng = generator("an angle that stands still");
    for (input, tensor) in problem.inputs.iter_mut() {
        let len = sizes.shape(input.axes()).iter().product();
        let of = |_| match input {
            Input::InitialAngle => 6.0,
            Input::Angles => rng.random_range(0.9e-7f32..1.1e-7),
            Input::DeltaBias => 0.0,
            _ => 0.5,
        };
        tensor.values = (0..len).map(of).collect();
    }
    let found: Vec<Outputs<Bounded>> = outputs(&problem, &problem.units(), (Writing::AsSpecified, None));
    let theta = found[0][Output::LastAngle][0];
    // f32 stays at 6: each step is below half an ulp of it.
    let error = (theta.value - 6.0).abs();
    assert!(error > 5e-3 && error < theta.error, "{error:e} of {:e}", theta.error);
}

//! Promise: an implementation that rounds to 16 bits on the way fails with the stage's name, passes where it is stated, and
//! one that is worse still fails; and inputs that betray a mistake of the recording are pointed at.

use holdfast::check::{self, Checked, Options};
use holdfast::problem::inputs::{self, Draw};
use holdfast::problem::regime::{self, Recipe};
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights};
use holdfast::problem::{Stage, Stages};
use holdfast::results::Verdict;
use rstest::rstest;

use crate::written::{ComplexAs, File};

/// A layer with everything on.
fn problem(input: InputType) -> Problem {
    let shape = Shape { batch: 1, dim: 12, dstate: 8, seqlen: 160, groups: 1 };
    let recipe = Recipe { shape, ..regime::EVERYTHING };
    let operands = (Operand::Variable, Operand::Variable);
    inputs::draw(&recipe, Weights::Real, input, operands, &mut Draw::new(3, "arithmetic"))
}

/// zoh in plain f32, one position after the other, with some stages rounded as frameworks do.
fn scan(problem: &Problem, is_narrow: impl Fn(Stage) -> bool, factor: f32) -> Vec<f32> {
    scan_by(problem, is_narrow, factor, |x| x.exp().ln_1p())
}

fn scan_by(
    problem: &Problem,
    is_narrow: impl Fn(Stage) -> bool,
    factor: f32,
    softplus: impl Fn(f32) -> f32,
) -> Vec<f32> {
    let round = |stage: Stage, value: f32| if is_narrow(stage) { problem.input.round(value) } else { value };
    let Shape { dim, dstate, seqlen, .. } = problem.shape;
    let (bias, skip) = (problem.delta_bias.as_ref().expect("a bias"), problem.d.as_ref().expect("a skip"));
    let gate = problem.z.as_ref().expect("a gate");
    let mut out = Vec::new();
    for d in 0..dim {
        let mut states = vec![0.0f32; dstate];
        for l in 0..seqlen {
            let at = problem.sequence_index(0, d, l);
            let raw = round(Stage::Delta, problem.delta[at] + bias[d]);
            let delta = round(Stage::Delta, softplus(raw));
            let mut y = 0.0f32;
            for (n, x) in states.iter_mut().enumerate() {
                let of = |values: &[f32], operand| values[problem.operand_index(operand, (0, d), n, l)];
                let (b, c) = (of(&problem.b, problem.b_operand), of(&problem.c, problem.c_operand));
                let z = round(Stage::State, delta * problem.a[problem.weight_index(d, n)]);
                let a_bar = round(Stage::State, z.exp());
                let b_u = round(Stage::Du, round(Stage::Du, delta * b) * problem.u[at]);
                *x = round(Stage::State, round(Stage::State, a_bar * *x) + b_u);
                y += round(Stage::Y, *x) * c;
            }
            let skipped = round(Stage::Y, skip[d] * problem.u[at]);
            let y = round(Stage::Y, round(Stage::Y, y) + skipped);
            let silu = round(Stage::Gate, gate[at] / (1.0 + (-gate[at]).exp()));
            out.push(problem.input.round(factor * y * silu));
        }
    }
    out
}

fn check(problem: &Problem, out: Vec<f32>, stages: Option<Stages>) -> Checked {
    let mut file = File::of(problem, ComplexAs::Trailing);
    file.add_output(problem, "zoh", &out, None, ComplexAs::Trailing);
    file.metadata.extend(stages.map(|stages| ("arithmetic".to_owned(), stages.to_string())));
    let options = Options { channels: None, seed: 1, stages: None };
    check::check("run", "run", &file.recording(), &options, &|| ()).expect("fits")
}

#[rstest]
fn a_stage_in_16_bits_is_named_and_passes_where_it_is_stated(
    #[values(InputType::Bf16, InputType::F16)] input: InputType,
    #[values(
        Some(Stage::Delta),
        Some(Stage::Du),
        Some(Stage::State),
        Some(Stage::Y),
        Some(Stage::Gate),
        None
    )]
    stage: Option<Stage>,
) {
    let problem = problem(input);
    let is_narrow = |other| stage.is_none_or(|stage| stage == other);
    let stages = stage.map_or(Stages::all(input), |stage| Stages::alone(stage, input));
    let out = scan(&problem, is_narrow, 1.0);

    let unstated = &check(&problem, out.clone(), None).cases[0];
    assert_eq!(unstated.verdict, Verdict::Fail);
    let name = format!("{}-in-{input}", stage.map_or("arithmetic", Stage::name));
    let names: Vec<&str> = unstated.diagnosis.iter().map(|d| d.name.as_str()).collect();
    assert!(names.contains(&name.as_str()), "{names:?} without {name}");

    let stated = &check(&problem, out, Some(stages)).cases[0];
    assert_eq!(stated.verdict, Verdict::Pass, "{:?}", stated.worst);
    // Not by much: a wrong factor still shows.
    let worse = check(&problem, scan(&problem, is_narrow, 1.25), Some(stages));
    assert_eq!(worse.cases[0].verdict, Verdict::Fail);
}

/// A state that is gone after one step has a bound, however loose its Δ and z.
#[test]
fn fast_states_are_measured_in_16_bits_too() {
    let mut problem = problem(InputType::Bf16);
    problem.a.iter_mut().step_by(2).for_each(|a| *a *= -300.0 / *a);
    problem.delta_bias = Some(vec![2.0; problem.shape.dim]);
    for text in ["bf16", "delta=bf16"] {
        let stages: Stages = text.parse().expect("an arithmetic");
        let is_narrow = |stage| text == "bf16" || stage == Stage::Delta;
        let case = &check(&problem, scan(&problem, is_narrow, 1.0), Some(stages)).cases[0];
        assert_eq!(case.verdict, Verdict::Pass, "{text}: {} {:?}", case.reason, case.worst);
    }
}

/// Small steps, of which log(1 + exp(x)) loses the digits.
#[test]
fn a_naive_softplus_is_named_and_passes_where_it_is_stated() {
    let mut problem = problem(InputType::F32);
    problem.delta_bias = Some(vec![-9.0; problem.shape.dim]);
    problem.d = Some(vec![0.0; problem.shape.dim]);
    let naive = |x: f32| (1.0f32 + x.exp()).ln();
    let out = scan_by(&problem, |_| false, 1.0, naive);
    let case = &check(&problem, out.clone(), None).cases[0];
    assert_eq!(case.verdict, Verdict::Fail);
    assert_eq!(case.diagnosis[0].name, "naive-softplus");
    let stated = Some(Stages::NAIVE_SOFTPLUS);
    let case = &check(&problem, out, stated).cases[0];
    assert_eq!(case.verdict, Verdict::Pass, "{} {:?}", case.reason, case.worst);
    let worse = scan_by(&problem, |_| false, 1.05, naive);
    assert_eq!(check(&problem, worse, stated).cases[0].verdict, Verdict::Fail);
}

#[test]
fn what_is_all_in_f32_passes_unstated() {
    for input in [InputType::Bf16, InputType::F16] {
        let problem = problem(input);
        assert_eq!(check(&problem, scan(&problem, |_| false, 1.0), None).cases[0].verdict, Verdict::Pass);
    }
}

#[test]
fn a_stated_arithmetic_reads_as_it_is_written() {
    for text in [
        "f32",
        "bf16",
        "f16",
        "gate=bf16",
        "delta=f16, gate=bf16",
        "softplus=naive",
        "gate=bf16, softplus=naive",
        "bf16, softplus=naive",
    ] {
        assert_eq!(text.parse::<Stages>().expect("read").to_string(), text);
    }
    for text in [
        "",
        "f64",
        "gate",
        "gate=f64",
        "gates=bf16",
        "gate=bf16;delta=bf16",
        "gate=bf16, gate=f32",
        "softplus=bf16",
        "softplus=naive, softplus=naive",
        "bf16, gate=bf16",
    ] {
        let error = text.parse::<Stages>().expect_err("no arithmetic").to_string();
        assert!(error.contains("delta, du, state, y, gate"), "{error}");
    }
}

#[test]
fn inputs_that_betray_a_mistake_are_pointed_at() {
    let sound = problem(InputType::F32);
    let hints = |problem: &Problem| {
        let why = check(problem, scan(problem, |_| false, 1.0), None).note.why;
        ["softplus", "A_log", "input_type"].map(|word| why.contains("hint") && why.contains(word))
    };
    assert_eq!(hints(&sound), [false; 3]);

    let mut raw = sound.clone();
    raw.delta_softplus = false;
    raw.delta.iter_mut().for_each(|delta| *delta = -delta.abs());
    assert_eq!(hints(&raw), [true, false, false]);

    // log 1, log 2, …
    let mut logarithms = sound.clone();
    let dstate = sound.shape.dstate;
    logarithms.a.iter_mut().enumerate().for_each(|(i, a)| *a = ((i % dstate + 1) as f32).ln());
    assert_eq!(hints(&logarithms), [false, true, false]);

    let narrow = Problem { input: InputType::F32, ..problem(InputType::Bf16) };
    let out = scan(&narrow, |_| false, 1.0).into_iter().map(|y| InputType::Bf16.round(y)).collect();
    let why = check(&narrow, out, None).note.why;
    assert!(why.contains("input_type = bf16"), "{why}");
}

//! Promise: an implementation that rounds to 16 bits on the way fails with the stage's name, passes where it is stated, and
//! one that is worse still fails; and inputs that betray a mistake of the recording are pointed at.

use std::path::Path;

use holdfast::check::{self, Checked, Options};
use holdfast::judge::budget;
use holdfast::judge::diagnose::Budget;
use holdfast::method::Method;
use holdfast::problem::recorded::Recording;
use holdfast::problem::regime;
use holdfast::problem::stages::LogSpace;
use holdfast::problem::{InputType, Problem, Shape, Stage, Stages, Weights};
use holdfast::promise::Promise;
use holdfast::results::{CaseResult, Verdict};
use holdfast::tensor::TensorName;

use crate::searched::asking;
use crate::written::{File, REAL, VARIABLE, drawn, named, stepped};

/// A layer with everything on.
fn problem(input: InputType) -> Problem {
    let shape = Shape { batch: 1, dim: 6, dstate: 8, seqlen: 160, groups: 1 };
    drawn(regime::EVERYTHING, shape, (Weights::Real, input), VARIABLE, (3, "arithmetic"))
}

/// zoh in plain f32, one position after the other, with some stages rounded as frameworks do.
fn scan(problem: &Problem, is_narrow: impl Fn(Stage) -> bool, factor: f32) -> Vec<f32> {
    let round = |stage: Stage, value: f32| if is_narrow(stage) { problem.input.round(value) } else { value };
    scan_by(problem, round, Factors { out: factor, ..Factors::NONE }, softplus)
}

pub fn softplus(x: f32) -> f32 {
    x.exp().ln_1p()
}

/// Factors that a scan multiplies by in the wrong.
#[derive(Clone, Copy)]
pub struct Factors {
    pub out: f32,
    pub b_bar: f32,
    pub skip: f32,
    pub log2_e: Option<f32>,
    /// e^x of Ā and of the gate.
    pub exp: fn(f32) -> f32,
}

impl Factors {
    pub const NONE: Factors = Factors { out: 1.0, b_bar: 1.0, skip: 1.0, log2_e: None, exp: f32::exp };
}

pub fn scan_by(
    problem: &Problem,
    round: impl Fn(Stage, f32) -> f32,
    factors: Factors,
    softplus: impl Fn(f32) -> f32,
) -> Vec<f32> {
    let (bias, skip) = (problem.delta_bias.as_ref().expect("a bias"), problem.d.as_ref().expect("a skip"));
    let gate = problem.z.as_ref().expect("a gate");
    let given = Problem { initial_state: None, ..problem.clone() };
    let [mut out, _] = stepped(&given, |x, (at, n, l)| {
        let of = |values: &[f32], operand| values[problem.operand_index(operand, at, n, l)];
        let i = problem.sequence_index(at.0, at.1, l);
        let raw = round(Stage::Delta, problem.delta[i] + bias[at.1]);
        let delta = round(Stage::Delta, softplus(raw));
        let z = round(Stage::State, delta * problem.a[problem.weight_index(at.1, n)]);
        let exponential = factors.log2_e.map_or_else(|| (factors.exp)(z), |log2_e| (z * log2_e).exp2());
        let a_bar = round(Stage::State, exponential);
        let b_bar = factors.b_bar * round(Stage::Du, delta * of(&problem.b, problem.b_operand));
        let b_u = round(Stage::Du, b_bar * problem.u[i]);
        *x = round(Stage::State, round(Stage::State, a_bar * *x) + b_u);
        round(Stage::Y, *x) * of(&problem.c, problem.c_operand)
    });
    for (i, y) in out.iter_mut().enumerate() {
        let skipped = round(Stage::Y, factors.skip * skip[i / problem.shape.seqlen] * problem.u[i]);
        let summed = round(Stage::Y, round(Stage::Y, *y) + skipped);
        let silu = round(Stage::Gate, gate[i] / (1.0 + (factors.exp)(-gate[i])));
        *y = problem.input.round(factors.out * summed * silu);
    }
    out
}

/// The verdict, by what is stated.
pub fn check(problem: &Problem, out: Vec<f32>, stages: Option<Stages>) -> Checked {
    check_for(problem, out, stages, Options { diagnosis: Budget::Off, ..Options::EVERYTHING })
}

/// With what is said where nothing is stated and these causes are asked about, or all.
pub fn caused(problem: &Problem, out: Vec<f32>, causes: Option<&str>) -> CaseResult {
    check_for(problem, out, None, causes.map_or(Options::EVERYTHING, asking)).cases.remove(0)
}

fn check_for(problem: &Problem, out: Vec<f32>, stages: Option<Stages>, options: Options) -> Checked {
    computing(File::of_output(problem, "zoh", &out, None), stages).checked_by(&options)
}

/// The file with its arithmetic, where that is stated.
fn computing(mut file: File, stages: Option<Stages>) -> File {
    file.metadata.extend(stages.map(|stages| ("arithmetic".to_owned(), stages.to_string())));
    file
}

#[test]
fn a_stage_in_16_bits_is_named_and_passes_where_it_is_stated() {
    // Stages by themselves in one type: the other is another number.
    let stages = Stage::ALL.into_iter().map(|stage| (InputType::Bf16, Some(stage)));
    for (input, stage) in stages.chain([InputType::Bf16, InputType::F16].map(|input| (input, None))) {
        let problem = problem(input);
        let is_narrow = |other| stage.is_none_or(|stage| stage == other);
        let stages = stage.map_or(Stages::all(input), |stage| Stages::alone(stage, input));
        let out = scan(&problem, is_narrow, 1.0);

        let name = format!("{}-in-{input}", stage.map_or("arithmetic", Stage::name));
        // All that is known is looked for in one of them.
        let is_first = (input, stage) == (InputType::Bf16, Some(Stage::Delta));
        let unstated = caused(&problem, out.clone(), (!is_first).then_some(&name[..]));
        assert_eq!(unstated.verdict, Verdict::Fail);
        let names = named(&unstated.diagnosis);
        assert!(names.contains(&name.as_str()), "{names:?} without {name}");
        // The tightest bounds that accept it come first, and none are tighter than the gate's.
        assert!(stage != Some(Stage::Gate) || names[0] == name, "{names:?}");
        // Roundings that are the very ones come before all others.
        assert!(!is_first || names[0] == name, "{names:?}");

        let stated = &check(&problem, out, Some(stages)).cases[0];
        assert_eq!(stated.verdict, Verdict::Pass, "{:?}", stated.worst);
        // Not by much: a wrong factor still shows.
        let worse = check(&problem, scan(&problem, is_narrow, 1.25), Some(stages));
        assert_eq!(worse.cases[0].verdict, Verdict::Fail);
    }
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
    let out = scan_by(&problem, |_, value| value, Factors::NONE, naive);
    let case = caused(&problem, out.clone(), None);
    assert_eq!(case.verdict, Verdict::Fail);
    assert_eq!(case.diagnosis[0].name, "naive-softplus");
    let stated = Some(Stages::NAIVE_SOFTPLUS);
    let case = &check(&problem, out, stated).cases[0];
    assert_eq!(case.verdict, Verdict::Pass, "{} {:?}", case.reason, case.worst);
    let worse = scan_by(&problem, |_, value| value, Factors { out: 1.05, ..Factors::NONE }, naive);
    assert_eq!(check(&problem, worse, stated).cases[0].verdict, Verdict::Fail);
}

/// foh by φ₂ = (eᶻ − 1 − z)/z² at every z, in f32.
fn closed_foh(problem: &Problem, factor: f32) -> Vec<f32> {
    let [out, _] = stepped(problem, |x, (at, n, l)| {
        let of = |values: &[f32], operand| values[problem.operand_index(operand, at, n, l)];
        let i = problem.sequence_index(at.0, at.1, l);
        let delta = problem.delta[i].exp().ln_1p();
        let z = delta * problem.a[problem.weight_index(at.1, n)];
        let phi = (z.exp() - 1.0 - z) / (z * z);
        let input = delta * delta * phi * of(&problem.b, problem.b_operand) * problem.u[i];
        *x = z.exp() * *x + factor * input;
        *x * of(&problem.c, problem.c_operand)
    });
    out
}

/// Closed forms, which have lost some digits where z is about 0.01.
#[test]
fn naive_phi_functions_are_named_and_pass_where_they_are_stated() {
    let mut problem = problem(InputType::F32);
    (problem.d, problem.z, problem.delta_bias) = (None, None, None);
    problem.delta.iter_mut().for_each(|delta| *delta = -5.0 + 0.2 * delta.clamp(-2.0, 2.0));
    let check = |out: Vec<f32>, stages: Option<Stages>| {
        let diagnosis = if stages.is_none() { Budget::Thorough } else { Budget::Off };
        let file = computing(File::of_output(&problem, "foh", &out, None), stages);
        file.judged_by(&Options { diagnosis, ..asking("naive-phi") })
    };
    let case = check(closed_foh(&problem, 1.0), None);
    assert_eq!(case.verdict, Verdict::Fail);
    assert_eq!(named(&case.diagnosis), ["naive-phi"], "{:?}", case.worst);
    let stated = Some(Stages::NAIVE_PHI);
    let case = check(closed_foh(&problem, 1.0), stated);
    assert_eq!(case.verdict, Verdict::Pass, "{} {:?}", case.reason, case.worst);
    let case = check(closed_foh(&problem, 1.05), stated);
    assert_eq!(case.verdict, Verdict::Fail);
}

/// Of mamba_ssm's own code, run unchanged: its reference takes silu of a bf16 gate in bf16, its minimal SSD scans in log
/// space, and its Triton kernels multiply on tensor cores.
#[test]
fn code_of_others_is_named_and_passes_where_its_arithmetic_is_stated() {
    for (file, name, arithmetic) in [
        ("mamba-bf16-real", "gate-in-bf16", "gate=bf16"),
        ("mamba-bf16-complex", "gate-in-bf16", "gate=bf16"),
        ("ssd-minimal-f32", "log-space-scan-of-256", "scan=log-space-256"),
        ("ssd-triton-f32", "arithmetic-in-tf32", "tf32"),
    ] {
        let path = format!("{}/golden/recorded/{file}.safetensors", env!("CARGO_MANIFEST_DIR"));
        let recording = Recording::open(Path::new(&path)).expect("a recording");
        let judged = |stages| {
            // Of what is off by a few bounds all that is known is looked for, in less work than a search for an edit takes.
            let soon = Options { diagnosis: Budget::Work(10_000_000), ..Options::EVERYTHING };
            let options =
                Options { stages, ..if name == "arithmetic-in-tf32" { asking(name) } else { soon } };
            check::check(file, file, &recording, &options, &|| ()).expect("a run").cases.swap_remove(0)
        };
        let unstated = judged(None);
        assert_eq!(unstated.verdict, Verdict::Fail);
        assert_eq!(unstated.diagnosis[0].name, name);
        let stated = judged(Some(arithmetic.parse().expect("an arithmetic")));
        assert_eq!(stated.verdict, Verdict::Pass, "{:?}", stated.worst);
    }
}

/// How a running sum is added.
#[derive(Clone, Copy, Debug)]
enum Summed {
    /// One after the other.
    Serially,
    /// By halves.
    AsATree,
    /// By doubling distances, so that neighbours are summed in different orders.
    ByDoubling,
    /// One after the other, with 12 bits.
    Coarsely,
}

/// Running sums in f32.
fn running_sums(values: &[f32], summed: Summed) -> Vec<f32> {
    match (summed, values) {
        (Summed::AsATree, [first]) => vec![*first],
        (Summed::AsATree, _) => {
            let (left, right) = values.split_at(values.len() / 2);
            let mut sums = running_sums(left, summed);
            let before = sums[sums.len() - 1];
            sums.extend(running_sums(right, summed).into_iter().map(|sum| before + sum));
            sums
        }
        (Summed::ByDoubling, _) => {
            let mut sums = values.to_vec();
            let mut distance = 1;
            while distance < sums.len() {
                (distance..sums.len()).rev().for_each(|i| sums[i] += sums[i - distance]);
                distance *= 2;
            }
            sums
        }
        _ => {
            let coarse = |sum: f32| f32::from_bits(sum.to_bits() & !0xfff);
            let add = |sum: &mut f32, value: &f32| {
                *sum += value;
                *sum = if matches!(summed, Summed::Coarsely) { coarse(*sum) } else { *sum };
                Some(*sum)
            };
            values.iter().scan(0.0, add).collect()
        }
    }
}

/// zoh by exponentials of differences of running sums, which begin anew with each block.
fn scan_in_log_space(problem: &Problem, block: usize, summed: Summed) -> Vec<f32> {
    let Shape { dim, dstate, seqlen, .. } = problem.shape;
    let mut out = vec![0.0f32; dim * seqlen];
    for d in 0..dim {
        for n in 0..dstate {
            let of = |values: &[f32], operand, l| values[problem.operand_index(operand, (0, d), n, l)];
            let at = |l| problem.sequence_index(0, d, l);
            let a = problem.a[problem.weight_index(d, n)];
            let mut passed = 0.0f32;
            for start in (0..seqlen).step_by(block) {
                let end = seqlen.min(start + block);
                let z: Vec<f32> = (start..end).map(|l| problem.delta[at(l)] * a).collect();
                let sums = running_sums(&z, summed);
                let mut last = 0.0;
                for l in start..end {
                    let mut x = sums[l - start].exp() * passed;
                    for k in start..=l {
                        let input =
                            problem.delta[at(k)] * of(&problem.b, problem.b_operand, k) * problem.u[at(k)];
                        x += (sums[l - start] - sums[k - start]).exp() * input;
                    }
                    out[d * seqlen + l] += x * of(&problem.c, problem.c_operand, l);
                    last = x;
                }
                passed = last;
            }
        }
    }
    out
}

/// Steps so large that running sums lose digits, and a slow state to show it.
fn far_sums() -> Problem {
    let shape = Shape { batch: 1, dim: 3, dstate: 3, seqlen: 600, groups: 1 };
    let mut problem = drawn(regime::PLAIN, shape, REAL, VARIABLE, (5, "far sums"));
    problem.delta.iter_mut().enumerate().for_each(|(l, delta)| *delta = 0.4 + 0.3 * (l as f32 * 0.37).sin());
    problem.a.iter_mut().enumerate().for_each(|(n, a)| *a = -[0.9, 1.7, 2.3][n % 3]);
    problem
}

#[test]
fn a_scan_in_log_space_is_named_and_passes_where_it_is_stated() {
    in_log_space(600, "log-space", Summed::AsATree);
    in_log_space(256, "log-space-256", Summed::Serially);
}

#[test]
#[ignore = "the same with each way to sum: .ci/long"]
fn sums_of_a_scan_in_log_space_may_be_added_either_way() {
    in_log_space(600, "log-space", Summed::Serially);
    in_log_space(256, "log-space-256", Summed::AsATree);
}

fn in_log_space(block: usize, statement: &str, summed: Summed) {
    let problem = far_sums();
    let out = scan_in_log_space(&problem, block, summed);
    let unstated = caused(&problem, out.clone(), Some("log-space-scan"));
    assert_eq!(unstated.verdict, Verdict::Fail);
    assert!(unstated.diagnosis[0].name.starts_with("log-space-scan"), "{:?}", unstated.diagnosis);
    let stages: Stages = format!("scan={statement}").parse().expect("an arithmetic");
    let stated = &check(&problem, out.clone(), Some(stages)).cases[0];
    assert_eq!(stated.verdict, Verdict::Pass, "{:?}", stated.worst);
    // The metadata `scan` state the same.
    let file = File::of_output(&problem, "zoh", &out, None).stating(&[("scan", statement)]);
    assert_eq!(file.recording().layout().stages, stages);
    // What loses more than f32 does still fails, and so does another formula.
    let worse = scan_in_log_space(&problem, block, Summed::Coarsely);
    assert_eq!(check(&problem, worse, Some(stages)).cases[0].verdict, Verdict::Fail);
    let wrong = out.iter().map(|y| y * 1.01).collect();
    assert_eq!(check(&problem, wrong, Some(stages)).cases[0].verdict, Verdict::Fail);
}

/// Small equal steps after large ones: what they add to a large sum rounds the same way each time.
#[test]
fn sums_of_equal_steps_drift_and_pass_where_they_are_stated() {
    let mut problem = far_sums();
    let seqlen = problem.shape.seqlen;
    for (i, delta) in problem.delta.iter_mut().enumerate() {
        *delta = if i % seqlen < 64 { 30.0 + *delta } else { 7e-4 };
    }
    let out = scan_in_log_space(&problem, seqlen, Summed::Serially);
    let stages = Stages::NONE.in_log_space(LogSpace::WHOLE);
    let case = &check(&problem, out, Some(stages)).cases[0];
    assert_eq!(case.verdict, Verdict::Pass, "{:?}", case.worst);
}

/// Each output is that of one input a step before, by the difference of two large sums that were added in different orders.
#[test]
fn neighbouring_sums_of_a_tree_differ_by_more_than_a_rounding() {
    let mut problem = far_sums();
    let seqlen = problem.shape.seqlen;
    for (i, delta) in problem.delta.iter_mut().enumerate() {
        *delta = if i % seqlen < 64 { 30.0 + *delta } else { *delta * 1e-3 };
    }
    for (i, u) in problem.u.iter_mut().enumerate() {
        *u = if i % seqlen >= 64 && i % 60 == 1 { 1.0 } else { 0.0 };
    }
    problem.c.iter_mut().enumerate().for_each(|(i, c)| *c *= f32::from(u8::from(i % 60 == 2)));
    let out = scan_in_log_space(&problem, seqlen, Summed::ByDoubling);
    let stages = Stages::NONE.in_log_space(LogSpace::WHOLE);
    let case = &check(&problem, out, Some(stages)).cases[0];
    assert_eq!(case.verdict, Verdict::Pass, "{:?}", case.worst);
}

/// An Ā that is no exponential has no running sums: the statement allows it nothing more.
#[test]
fn a_scan_in_log_space_is_one_of_exponentials() {
    let problem = far_sums();
    let bounds = |method: Method, stages| {
        let bounds = budget::scan(method, &problem, &Promise::recorded(stages).contract);
        bounds.tensors[TensorName::Out].worst_case.clone()
    };
    let stated = Stages::NONE.in_log_space(LogSpace::WHOLE);
    assert_eq!(bounds(Method::Bilinear, Stages::NONE), bounds(Method::Bilinear, stated));
    for method in [Method::Zoh, Method::Poly] {
        // Sums that begin anew are off by less.
        let [whole, blocks] = [LogSpace::WHOLE, LogSpace::blocks_of(64)]
            .map(|scan| bounds(method, Stages::NONE.in_log_space(scan))[problem.shape.seqlen - 1]);
        assert!(2.0 * blocks < whole, "{blocks:e} of {whole:e}");
        assert!(
            bounds(method, Stages::NONE)
                .iter()
                .zip(bounds(method, stated))
                .all(|(usual, more)| *usual < more)
        );
    }
}

#[test]
fn a_scan_that_is_stated_twice_or_unheard_of_is_an_error() {
    for (scan, arithmetic) in [("linear", "f32"), ("log-space-0", "f32"), ("log-space", "scan=log-space-64")]
    {
        let problem = far_sums();
        let file = File::of_output(&problem, "zoh", &vec![0.0; problem.u.len()], None);
        let stated = file.stating(&[("scan", scan), ("arithmetic", arithmetic)]);
        stated.is_refused("log-space-64 where sums begin anew");
    }
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
        "phi=naive",
        "softplus=naive, phi=naive",
        "exp=fast",
        "y=bf16, exp=fast, scan=log-space",
        "tf32",
        "du=tf32, y=tf32",
        "scan=log-space",
        "scan=log-space-64",
        "gate=bf16, softplus=naive, scan=log-space-256",
        "ssd=bf16, scan=log-space-256",
        "y=bf16, ssd=tf32, scan=log-space",
        "state_type=bf16, state_read=unrounded",
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
        "phi=bf16",
        "exp=naive",
        "exp=fast, exp=fast",
        "softplus=naive, softplus=naive",
        "bf16, gate=bf16",
        "scan=linear",
        "scan=log-space-0",
        "scan=log-space, scan=log-space",
        "ssd=int8",
        "ssd=bf16, ssd=bf16",
        "ssd=bf16, state_type=bf16",
        "state_read=stored",
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

//! Promise: what a recording states of its conventions is what it is judged by, and the textbook forms are judged as themselves.

use std::io::{Read, Seek};
use std::path::Path;

use holdfast::check::{self, Checked, Options};
use holdfast::formula::{Form, Textbook};
use holdfast::judge::diagnose::Budget;
use holdfast::judge::{budget, quick};
use holdfast::kernel::{Backend, CpuBackend, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::conventions::{ComplexOutput, Conventions, Reads, StateHolds};
use holdfast::problem::recorded::{RecordedRun, Recording};
use holdfast::problem::regime;
use holdfast::problem::{InputType, Operand, Problem, Shape, Stage, Weights, transform};
use holdfast::promise::{Contract, Promise};
use holdfast::results::{CaseResult, Verdict};
use holdfast::tensor::{TensorName, Tensors};
use holdfast::truth;

use crate::searched::asking;
use crate::written::{CONSTANT, ComplexAs, File, REAL, drawn, named, single, stepped};

fn scipy(name: &str) -> Recording<std::fs::File> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/recorded");
    Recording::open(&folder.join(format!("scipy-{name}.safetensors"))).expect("a run")
}

pub fn whole<R: Read + Seek + Send>(recording: &Recording<R>) -> RecordedRun {
    let shape = recording.layout().shape;
    let run = recording.read(&(0..shape.batch * shape.dim).collect::<Vec<_>>()).expect("readable");
    RecordedRun { problem: Problem { held: None, ..run.problem }, ..run }
}

pub fn checked<R: Read + Seek + Send>(recording: &Recording<R>) -> Checked {
    check::check("run", "run", recording, &Options::EVERYTHING, &|| ()).expect("fits")
}

/// These tensors, recorded under a name.
pub fn recorded(problem: &Problem, name: &str, tensors: &Tensors<f32>) -> Checked {
    File::of_tensors(problem, name, tensors).checked_by(&Options::EVERYTHING)
}

/// zoh, foh, bilinear, euler, backward_diff, impulse and gbt, as `cont2discrete` and `dlsim` have them.
#[test]
fn scipy_passes_under_its_own_forms() {
    for (weights, reads) in ["real", "complex"]
        .into_iter()
        .flat_map(|weights| ["after-update", "before-update"].map(|reads| (weights, reads)))
    {
        let expected = if reads == "after-update" { 6 } else { 3 };
        let Checked { cases, note, .. } = checked(&scipy(&format!("{weights}-{reads}")));
        assert_eq!(
            note.why.contains("reads = before-update is stated"),
            reads == "before-update",
            "{}",
            note.why
        );
        assert_eq!(cases.len(), expected);
        for case in &cases {
            assert_eq!(case.verdict, Verdict::Pass, "{}: {} {:?}", case.id, case.reason, case.worst);
        }
    }
}

#[test]
fn scipy_fails_under_any_other_form() {
    let RecordedRun { problem, outputs } = whole(&scipy("real-after-update"));
    let foh =
        outputs.iter().find(|output| output.name.form == Form::Textbook(Textbook::FohCausal)).expect("foh");
    for form in Form::all().filter(|form| *form != Form::Textbook(Textbook::FohCausal)) {
        let cases = recorded(&problem, form.name(), &foh.tensors).cases;
        assert_eq!(cases[0].verdict, Verdict::Fail, "{form}");
        assert_eq!(cases[0].diagnosis[0].name, "runs-as-foh-causal", "{form}");
    }
}

/// A scan without skip and gate, of a few states and positions.
pub fn plain(weights: Weights, operands: (Operand, Operand)) -> Problem {
    let shape = Shape { batch: 2, dim: 2, dstate: 3, seqlen: 9, groups: 1 };
    drawn(regime::PLAIN, shape, (weights, InputType::F32), operands, (5, "conventions"))
}

pub fn truth(problem: &Problem, form: Form) -> [Vec<f64>; 2] {
    let truth = truth::scan::solve(problem, &[form]).expect("a truth").remove(0);
    [TensorName::Out, TensorName::LastState].map(|name| truth.tensors[name].values.clone())
}

/// The truth is rounded correctly: what is equal in mathematics is equal bit by bit.
#[test]
fn conventions_are_what_they_say() {
    for weights in Weights::ALL {
        let problem = plain(weights, CONSTANT);
        let seqlen = problem.shape.seqlen;
        for form in Form::all() {
            let [out, last] = truth(&problem, form);
            let stating = |conventions| truth(&Problem { conventions, ..problem.clone() }, form);

            let reads = Conventions { reads: Reads::BeforeUpdate, ..Conventions::default() };
            let [before, same_last] = stating(reads);
            assert_eq!(same_last, last);
            if !form.is_bidirectional() {
                for (before, after) in before.chunks(seqlen).zip(out.chunks(seqlen)) {
                    assert_eq!(before[0], 0.0, "{form}");
                    assert_eq!(before[1..], after[..seqlen - 1], "{form}");
                }
            }

            let state = Conventions { state: StateHolds::InputAlone, ..Conventions::default() };
            let [same_out, without_b] = stating(state);
            assert_eq!(same_out, out, "{form}");
            let ones = problem.b.iter().enumerate();
            let ones = ones.map(|(i, _)| f32::from(u8::from(i % weights.width() == 0))).collect();
            assert_eq!(without_b, truth(&Problem { b: ones, ..problem.clone() }, form)[1], "{form}");

            if weights == Weights::Complex {
                let output = Conventions { output: ComplexOutput::RealPart, ..Conventions::default() };
                let [once, _] = stating(output);
                assert!(once.iter().zip(&out).all(|(once, twice)| 2.0 * once == *twice), "{form}");
            }
        }
    }
}

/// Backward Euler with z = −1 halves its state at each step, which is exact in f32.
#[test]
fn an_initial_state_decays() {
    for weights in Weights::ALL {
        let mut problem = plain(weights, CONSTANT);
        problem.u.fill(0.0);
        problem.delta.fill(1.0);
        let width = weights.width();
        problem.a = (0..problem.a.len()).map(|i| if i % width == 0 { -1.0 } else { 0.0 }).collect();
        let states = problem.shape.batch * problem.shape.dim * problem.shape.dstate * width;
        let initial: Vec<f32> = (0..states).map(|i| (i % 11) as f32 - 5.0).collect();
        problem.initial_state = Some(initial.clone());
        let [_, last] = truth(&problem, Form::Textbook(Textbook::BackwardEuler));
        let halved = 0.5f64.powi(problem.shape.seqlen as i32);
        assert!(initial.iter().zip(&last).all(|(first, last)| f64::from(*first) * halved == *last));
    }
}

/// poly's two scans, each read one position late: the mean of the other positions' own halves.
#[test]
fn poly_reads_both_scans_before_their_update() {
    let problem = plain(Weights::Real, CONSTANT);
    let seqlen = problem.shape.seqlen;
    let states: Vec<usize> = (0..problem.shape.dstate).collect();
    let back: Vec<usize> = (0..seqlen).rev().collect();
    // One scan alone, of whole outputs: C x of foh and zoh-exact with poly's weights is that of its B̄.
    let forward = |problem: &Problem| {
        let [exact, _] = truth(problem, Form::Textbook(Textbook::ZohExact));
        let [foh, _] = truth(problem, Form::Method(Method::Foh));
        exact.iter().zip(&foh).map(|(exact, foh)| exact + 0.5 * foh).collect::<Vec<f64>>()
    };
    let (ahead, behind) = (forward(&problem), forward(&transform::select(&problem, &states, &back)));
    let reads = Conventions { reads: Reads::BeforeUpdate, ..Conventions::default() };
    let [got, _] = truth(&Problem { conventions: reads, ..problem.clone() }, Form::Method(Method::Poly));
    for (i, got) in got.iter().enumerate() {
        let (row, l) = (i / seqlen * seqlen, i % seqlen);
        let from_start = if l > 0 { ahead[row + l - 1] } else { 0.0 };
        // The reversed problem's position of l + 1.
        let from_end = if l + 1 < seqlen { behind[row + seqlen - 2 - l] } else { 0.0 };
        let want = 0.5 * (from_start + from_end);
        assert!((got - want).abs() <= 1e-12 * (1.0 + want.abs()), "{i}: {got} {want}");
    }
}

/// A scan that goes on from the state of another is the second half of both together. Sums of small numbers are exact in f32,
/// so that the state between the halves is the very one.
#[test]
fn a_scan_goes_on_from_its_initial_state() {
    for (weights, b) in Weights::ALL.into_iter().flat_map(|weights| Operand::ALL.map(|b| (weights, b))) {
        let mut whole = plain(weights, (b, Operand::Variable));
        whole.delta.fill(0.5);
        whole.a.fill(0.0);
        whole.b.iter_mut().chain(&mut whole.u).for_each(|value| *value = (8.0 * *value).round() / 8.0);
        let states: Vec<usize> = (0..whole.shape.dstate).collect();
        let (first, second): (Vec<usize>, Vec<usize>) = (0..whole.shape.seqlen).partition(|l| *l < 4);
        let [first, mut second] = [first, second].map(|l| transform::select(&whole, &states, &l));
        let mut compared = 0;
        // What reads a neighbour sees the seam.
        for form in Form::all().filter(|form| !form.is_bidirectional()) {
            if !form.formula().b_bar[1].is_empty() || !form.formula().b_bar[2].is_empty() {
                continue;
            }
            for reads in [Reads::AfterUpdate, Reads::BeforeUpdate] {
                whole.conventions.reads = reads;
                second.conventions.reads = reads;
                let [all, last] = truth(&whole, form);
                let between = &truth(&first, form)[1];
                let rounded = single(between);
                if rounded.iter().zip(between).any(|(rounded, exact)| f64::from(*rounded) != *exact) {
                    // Thirds: the state is no f32.
                    continue;
                }
                compared += 1;
                second.initial_state = Some(rounded);
                let [out, last_of_second] = truth(&second, form);
                assert_eq!(last_of_second, last, "{form}");
                for (out, all) in out.chunks(second.shape.seqlen).zip(all.chunks(whole.shape.seqlen)) {
                    assert_eq!(out, &all[4..], "{form}");
                }
            }
        }
        assert!(compared >= 8, "{compared}");
    }
}

#[test]
fn what_differs_in_its_conventions_alone_is_another_problem() {
    let problem = plain(Weights::Complex, CONSTANT);
    let mut prints = vec![problem.fingerprint()];
    for conventions in [
        Conventions { reads: Reads::BeforeUpdate, ..Conventions::default() },
        Conventions { output: ComplexOutput::RealPart, ..Conventions::default() },
        Conventions { state: StateHolds::InputAlone, ..Conventions::default() },
    ] {
        prints.push(Problem { conventions, ..problem.clone() }.fingerprint());
    }
    let initial_state = Some(vec![0.0; 24]);
    prints.push(Problem { initial_state, ..problem.clone() }.fingerprint());
    let count = prints.len();
    prints.sort_unstable();
    prints.dedup();
    assert_eq!(prints.len(), count);
}

/// zoh in plain f32 as the problem's conventions have it: out and last_state.
fn f32_scan(problem: &Problem) -> [Vec<f32>; 2] {
    stepped(problem, |x, (at, n, l)| {
        let of = |values: &[f32], operand| values[problem.operand_index(operand, at, n, l)];
        let index = problem.sequence_index(at.0, at.1, l);
        let (u, delta) = (problem.u[index], problem.delta[index]);
        let (b, c) = (of(&problem.b, problem.b_operand), of(&problem.c, problem.c_operand));
        let (b, c) = if problem.reads_with_b() { (1.0, b * c) } else { (b, c) };
        let before = *x;
        *x = (delta * problem.a[problem.weight_index(at.1, n)]).exp() * before + delta * b * u;
        c * if problem.reads_before() { before } else { *x }
    })
}

fn zoh(problem: &Problem, outputs: [Vec<f32>; 2]) -> CaseResult {
    recorded(problem, "zoh", &tensors(problem, outputs)).cases.remove(0)
}

/// With what is said where these causes are asked about, or nothing.
fn asked(problem: &Problem, [out, last]: &[Vec<f32>; 2], causes: Option<&str>) -> CaseResult {
    let diagnosis = if causes.is_some() { Budget::Thorough } else { Budget::Off };
    let options = Options { diagnosis, ..asking(causes.unwrap_or_default()) };
    File::of_output(problem, "zoh", out, Some(last)).judged_by(&options)
}

pub fn tensors(problem: &Problem, [out, last]: [Vec<f32>; 2]) -> Tensors<f32> {
    let named = [(TensorName::Out, out), (TensorName::LastState, last)];
    named.map(|(name, values)| (name, problem.tensor(name, values))).into_iter().collect()
}

#[test]
fn a_sound_scan_passes_where_its_conventions_are_stated_and_is_named_where_not() {
    in_conventions(Operand::Variable);
}

#[test]
#[ignore = "the same of a constant C: .ci/long"]
fn a_constant_c_is_as_a_variable_one_in_every_convention() {
    in_conventions(Operand::Constant);
}

fn in_conventions(c: Operand) {
    let shape = Shape { batch: 2, dim: 3, dstate: 16, seqlen: 300, groups: 1 };
    let drawn = drawn(regime::PLAIN, shape, REAL, (Operand::Constant, c), (5, "conventions/f32"));
    let before = Conventions { reads: Reads::BeforeUpdate, ..Conventions::default() };
    let without_b = Conventions { state: StateHolds::InputAlone, ..Conventions::default() };
    let both = Conventions { state: StateHolds::InputAlone, ..before };
    let expected =
        [(before, "reads-before-update"), (without_b, "state-without-b"), (both, "state-without-b")];
    for (conventions, name) in expected {
        let mut problem = Problem { conventions, ..drawn.clone() };
        let outputs = f32_scan(&problem);
        let case = &zoh(&problem, outputs.clone());
        assert_eq!(case.verdict, Verdict::Pass, "{conventions:?}: {} {:?}", case.reason, case.worst);
        problem.conventions = Conventions::default();
        let case = &asked(&problem, &outputs, Some(name));
        assert_eq!(case.verdict, Verdict::Fail, "{conventions:?}");
        let named =
            |case: &CaseResult, tensor| case.tensors[tensor].diagnosis.first().map(|d| d.name.clone());
        let of_out = (conventions.reads == Reads::BeforeUpdate).then(|| "reads-before-update".to_owned());
        assert_eq!(named(case, TensorName::Out), of_out, "{conventions:?}");
        assert_eq!(case.diagnosis[0].name, name, "{conventions:?}");

        // With a state to start from as well; without it nothing passes.
        problem.conventions = conventions;
        problem.initial_state = Some((0..96).map(|i| (i % 13) as f32 - 6.0).collect());
        let outputs = f32_scan(&problem);
        let case = &zoh(&problem, outputs.clone());
        assert_eq!(case.verdict, Verdict::Pass, "{conventions:?}: {} {:?}", case.reason, case.worst);
        problem.initial_state = None;
        assert_eq!(asked(&problem, &outputs, None).verdict, Verdict::Fail, "{conventions:?}");
    }
}

#[test]
fn exchanged_b_and_c_are_named() {
    for (weights, operand) in
        Weights::ALL.into_iter().flat_map(|weights| Operand::ALL.map(|operand| (weights, operand)))
    {
        let problem = plain(weights, (operand, operand));
        let exchanged = Problem { b: problem.c.clone(), c: problem.b.clone(), ..problem.clone() };
        for form in Form::all() {
            let outputs = truth(&exchanged, form).map(|values| single(&values));
            let case = &recorded(&problem, form.name(), &tensors(&problem, outputs)).cases[0];
            assert_eq!(case.verdict, Verdict::Fail, "{form}");
            assert_eq!(case.diagnosis[0].name, "b-and-c-exchanged", "{form}");
        }
    }
}

/// SciPy's zoh under the name of Mamba's: two differences at once.
#[test]
fn a_textbook_form_that_reads_before_the_update_is_named() {
    let RecordedRun { mut problem, mut outputs } = whole(&scipy("real-before-update"));
    problem.conventions = Conventions::default();
    outputs.retain(|output| output.name.form == Form::Textbook(Textbook::ZohExact));
    let case = &recorded(&problem, "zoh", &outputs[0].tensors).cases[0];
    assert_eq!(case.verdict, Verdict::Fail);
    assert_eq!(case.diagnosis[0].name, "runs-as-zoh-exact + reads-before-update");
}

/// Initial states and neighbours across the borders of stretches.
#[test]
fn stretches_change_nothing() {
    for weights in Weights::ALL {
        let mut problem = plain(weights, CONSTANT);
        let states = problem.shape.batch * problem.shape.dim * problem.shape.dstate * weights.width();
        problem.initial_state = Some((0..states).map(|i| (i % 7) as f32 - 3.0).collect());
        problem.conventions = Conventions {
            reads: Reads::BeforeUpdate,
            state: StateHolds::InputAlone,
            ..Conventions::default()
        };
        let mut file = File::of(&problem, ComplexAs::Trailing);
        for form in Form::all() {
            let [out, last] = truth(&problem, form).map(|values| single(&values));
            file.add_output(&problem, form.name(), &out, Some(&last), ComplexAs::Trailing);
        }
        // Without a truth of any channel the quick route alone decides: its values must be those of the whole.
        let tallies = |recording: Recording<std::io::Cursor<Vec<u8>>>| {
            let mut all = Vec::new();
            for (name, tensors) in &recording.layout().outputs {
                for at in problem.channels() {
                    let got = |tensor, elements| recording.outputs(tensors, tensor, at, elements);
                    let promised = (name.form, &Contract::FRAMEWORK);
                    let tallies = quick::judge_stretches(promised, &recording, at, &got, quick::LONG)
                        .expect("readable");
                    all.extend(tallies.values().map(|tally| {
                        assert_eq!(tally.passed, tally.elements(), "{name} {at:?}: {tally:?}");
                        (tally.passed, tally.share)
                    }));
                }
            }
            all
        };
        let whole = tallies(file.recording());
        for count in [1, 2, 5] {
            assert_eq!(tallies(file.recording().by_positions(count)), whole, "{count}");
        }
    }
}

/// A lag of one position is within the bounds of states in 16 bits where Ā is near 1. The tighter explanation is named.
#[test]
fn a_convention_is_named_before_an_arithmetic() {
    let shape = Shape { batch: 1, dim: 3, dstate: 4, seqlen: 120, groups: 1 };
    let bf16 = (Weights::Real, InputType::Bf16);
    let mut problem = drawn(regime::PLAIN, shape, bf16, CONSTANT, (6, "conventions/bf16"));
    problem.delta.fill(0.0078125);
    problem.conventions.reads = Reads::BeforeUpdate;
    let [out, last] = f32_scan(&problem);
    let out = out.into_iter().map(|y| InputType::Bf16.round(y)).collect();
    let outputs = [out, last];
    assert_eq!(zoh(&problem, outputs.clone()).verdict, Verdict::Pass);
    problem.conventions = Conventions::default();
    let case = zoh(&problem, outputs);
    assert_eq!(case.verdict, Verdict::Fail);
    assert_eq!(named(&case.diagnosis), ["reads-before-update"]);
}

/// With small steps several forms are alike: all that fit are named.
#[test]
fn forms_that_fit_alike_are_all_named() {
    let mut problem = plain(Weights::Real, CONSTANT);
    problem.delta.iter_mut().for_each(|delta| *delta = 0.01 * delta.abs().min(1.0));
    problem.conventions.reads = Reads::BeforeUpdate;
    let outputs = truth(&problem, Form::Textbook(Textbook::ZohExact)).map(|values| single(&values));
    problem.conventions = Conventions::default();
    let case = zoh(&problem, outputs);
    assert_eq!(case.verdict, Verdict::Fail);
    let is_named = |name: &str| case.diagnosis.iter().any(|found| found.name == name);
    assert!(is_named("runs-as-zoh-exact + reads-before-update"), "{:?}", case.diagnosis);
}

/// Every state of a scan in bf16 is rounded: where it is given, after the product, and after each of two sums, which take
/// different signs here.
#[test]
fn states_in_16_bits_round_what_they_are_given_and_each_input_that_they_add() {
    let shape = Shape { batch: 1, dim: 4, dstate: 1, seqlen: 60, groups: 1 };
    let mut problem = drawn(regime::PLAIN, shape, REAL, CONSTANT, (7, "conventions/states"));
    problem.delta.iter_mut().for_each(|delta| *delta = 0.3 + 0.2 * delta.abs().min(1.0));
    problem.a = vec![-0.1, -0.2, -0.4, -1.0];
    problem.u.iter_mut().enumerate().for_each(|(i, u)| *u = if i % 2 == 0 { 1.0 } else { -1.0 });
    problem.initial_state = Some(vec![1.0039, -3.0117, 0.77, 100.3]);
    problem.conventions.reads = Reads::BeforeUpdate;
    let round = |x: f32| InputType::Bf16.round(x);
    let [out, last] = stepped(&problem, |x, (at, _, l)| {
        let (a, b, c) = (problem.a[at.1], problem.b[at.1], problem.c[at.1]);
        if l == 0 {
            *x = round(*x);
        }
        let read = c * *x;
        let delta = problem.delta[at.1 * shape.seqlen + l];
        let half = round(delta * a) / 2.0;
        let a_bar = round((1.0 + half) / (1.0 - half));
        let b_bar = delta * b / (1.0 - half) / 2.0;
        let [now, before] = [0, -1].map(|offset| round(b_bar * problem.u_at(at, l as isize + offset)));
        *x = round(round(round(a_bar * *x) + before) + now);
        read
    });
    let file = File::of_output(&problem, "bilinear-averaged", &out, Some(&last));
    assert_eq!(file.verdict(), Verdict::Fail);
    let stated = file.stating(&[("arithmetic", "state=bf16")]).judged();
    assert_eq!(stated.verdict, Verdict::Pass, "{} {:?}", stated.reason, stated.worst);
}

/// A large state in bf16 that two small inputs are added to: its bound has room for each rounding of what is as large as it.
#[test]
fn each_rounding_of_a_narrow_state_has_room() {
    let shape = Shape { batch: 1, dim: 1, dstate: 1, seqlen: 2, groups: 1 };
    let mut problem = drawn(regime::PLAIN, shape, REAL, CONSTANT, (11, "conventions/room"));
    problem.a = vec![-1e-4];
    problem.delta.fill(1.0);
    problem.u.fill(1e-6);
    problem.initial_state = Some(vec![1.0]);
    let contract = Promise::recorded("state=bf16".parse().expect("an arithmetic")).contract;
    let form: Form = "bilinear-averaged".parse().expect("a form");
    let bounds = budget::scan(form, &problem, &contract);
    let unit = contract.arithmetic.stages.rounding(Stage::State).unit;
    // Where it is given; Ā and the product of each step; a sum in the first step, where nothing comes before, and two in the
    // second.
    let roundings = 1.0 + 2.0 * 2.0 + 1.0 + 2.0;
    let worst_case = bounds.tensors[TensorName::LastState].worst_case[0];
    assert!(worst_case > 0.999 * roundings * unit, "{:e} roundings", worst_case / unit);
    // And for little more: what else is allowed is of f32, or of the second order.
    assert!(worst_case < 1.2 * (roundings + 1.0) * unit, "{:e} roundings", worst_case / unit);
}

#[test]
fn kernels_refuse_what_they_do_not_compute() {
    let problem = plain(Weights::Real, CONSTANT);
    let conventions = Conventions { reads: Reads::BeforeUpdate, ..Conventions::default() };
    let stated = Problem { conventions, ..problem.clone() };
    let refused = |backend: &dyn Backend, problem: &Problem, hint: &str| {
        let error = backend.scan(Method::Zoh, problem).expect_err("no kernel has it").to_string();
        assert!(error.contains(hint), "{error}");
    };
    for backend in [&CpuBackend::new() as &dyn Backend, &ReferenceBackend] {
        assert!(backend.scan(Method::Zoh, &problem).is_ok());
        refused(backend, &stated, "recordings alone have others");
    }
    // The reference path goes on from a state, of which this one is none.
    let given = Problem { initial_state: Some(vec![0.0; 12]), ..problem.clone() };
    refused(&CpuBackend::new(), &given, "goes on from one");
    let scan = |problem| ReferenceBackend.scan(Method::Zoh, problem).expect("a scan");
    assert!(scan(&given).iter().all(|(name, tensor)| tensor.values == scan(&problem)[name].values));
}

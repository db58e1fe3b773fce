//! Promise: `holdfast check` judges recorded runs of any framework, and says what is wrong with the ones that it
//! cannot judge. The reader's errors and its fuzzing are in `recorded_files.rs`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use holdfast::check::{self, Options};
use holdfast::judge::diagnose::Budget;
use holdfast::kernel::{Backend, CpuBackend};
use holdfast::method::Method;
use holdfast::problem::plan::{self, Filter};
use holdfast::problem::{InputType, Operand, Problem, Shape, Weights, regime};
use holdfast::results::{CaseResult, PairStatus, Verdict};
use holdfast::tensor::{TensorName, Tensors};
use serde_json::Value;

use crate::conventions::whole;
use crate::searched::asking;
use crate::support::binary::{holdfast, text};
use crate::written::{ComplexAs, File, REAL, VARIABLE, drawn};

const ALL: Options = Options::EVERYTHING;
const VERDICTS: Options =
    Options { channels: None, seed: 1, stages: None, diagnosis: Budget::Off, causes: Vec::new() };

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/recorded").join(name)
}

fn problem(regime: &str, weights: Weights, input: InputType, b: Operand, c: Operand) -> Problem {
    let filter = Filter {
        regimes: vec![regime::find(regime).expect("in the table")],
        weights: vec![weights],
        inputs: vec![input],
        b: vec![b],
        c: vec![c],
    };
    plan::plan(&filter)[0].draw(1)
}

fn recorded(problem: &Problem, methods: &[Method], complex: ComplexAs) -> File {
    let mut file = File::of(problem, complex);
    for &method in methods {
        let output = CpuBackend::new().scan(method, problem).expect("runs");
        let [out, last] = [TensorName::Out, TensorName::LastState].map(|name| &output[name].values[..]);
        file.add_output(problem, method.name(), out, Some(last), complex);
    }
    file
}

#[test]
fn runs_recorded_by_pytorch_pass() {
    for name in ["torch-f32-complex", "torch-f16-complex", "torch-bf16-real"] {
        let path = golden(&format!("{name}.safetensors"));
        let output = holdfast(&["check", path.to_str().expect("UTF-8")]);
        assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
        let console = text(&output.stdout);
        for says in
            ["6 cases: 6 pass", "15 agree", "backend  recorded, on", "torch 2.", "all 8 rows (2 items × 4"]
        {
            assert!(console.contains(says), "{says} in\n{console}");
        }
        assert!(!console.contains("kernels "), "{console}");
    }
}

#[test]
fn foh_computed_as_exact_zoh_fails_with_status_1_and_the_contract_s_fields() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("UTF-8").to_owned();
    let run = golden("foh-as-exact-zoh.safetensors");
    let run = run.to_str().expect("UTF-8");
    let (file, report) = (path("results.json"), path("report"));
    let output = holdfast(&["check", run, "--json", &file, "--out", &report]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(Path::new(&report).join("index.html").is_file());
    let json = std::fs::read_to_string(file).expect("results");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["schema"], &json["backend"]), (&Value::from(3), &Value::from("recorded")));
    assert!(json["device"].as_str().expect("a text").contains("planted bug"), "{}", json["device"]);
    let verdicts: Vec<_> = json["cases"].as_array().expect("a list").iter().map(|c| &c["verdict"]).collect();
    assert_eq!(verdicts, ["pass", "fail"]);
    let case = &json["cases"][1];
    assert_eq!(case["id"], "foh-as-exact-zoh.safetensors/foh");
    assert_eq!(case["regime"], "foh-as-exact-zoh.safetensors");
    assert_eq!((&case["b"], &case["c"]), (&Value::from("variable"), &Value::from("variable")));
    assert!(case["worst"]["ratio"].as_f64().expect("a number") > 1e3);
    assert_eq!(case["diagnosis"][0]["name"], "runs-as-zoh-exact");
    assert_eq!(json["pairwise"][1]["pairs"][0]["status"], "off");
    // The command that it gives leads to the same verdict.
    let rerun = case["rerun"].as_str().expect("a command");
    let words: Vec<&str> = rerun.split_whitespace().skip(1).collect();
    assert_eq!(holdfast(&words).status.code(), Some(1), "{rerun}");
}

/// What is read is what was recorded, whatever the layout.
#[test]
fn every_layout_is_read_back() {
    use Operand::{Constant, Variable};
    for weights in Weights::ALL {
        for input in InputType::ALL {
            for (b, c) in
                [(Constant, Constant), (Constant, Variable), (Variable, Constant), (Variable, Variable)]
            {
                let mut problem = problem("everything-on", weights, input, b, c);
                if (b, c) == (Constant, Constant) {
                    // Nothing in a file tells of groups that share nothing.
                    problem.shape.groups = 1;
                }
                for complex in ComplexAs::all(weights, input) {
                    let run = whole(&recorded(&problem, &[Method::Zoh], complex).recording());
                    let got = &run.problem;
                    let place = format!("{weights} {input} {b} {c} {complex:?}");
                    assert_eq!(
                        (got.shape, got.weights, got.input),
                        (problem.shape, weights, input),
                        "{place}"
                    );
                    assert_eq!((got.b_operand, got.c_operand), (b, c), "{place}");
                    assert_eq!(
                        (&got.u, &got.delta, &got.a),
                        (&problem.u, &problem.delta, &problem.a),
                        "{place}"
                    );
                    assert_eq!((&got.b, &got.c), (&problem.b, &problem.c), "{place}");
                    assert_eq!((&got.d, &got.z), (&problem.d, &problem.z), "{place}");
                    assert_eq!(got.delta_bias, problem.delta_bias, "{place}");
                    assert_eq!(got.delta_softplus, problem.delta_softplus, "{place}");
                    assert_eq!(
                        run.outputs[0].tensors.get(TensorName::LastState).map(|t| t.values.len()),
                        Some(states(&problem))
                    );
                }
            }
        }
    }
}

fn states(problem: &Problem) -> usize {
    problem.shape.batch * problem.shape.dim * problem.shape.dstate * problem.weights.width()
}

#[test]
fn a_kernel_s_recorded_run_passes_as_it_does_live() {
    for (weights, input) in
        Weights::ALL.into_iter().flat_map(|weights| [(weights, InputType::F32), (weights, InputType::F16)])
    {
        let problem = problem("groups", weights, input, Operand::Variable, Operand::Constant);
        let complex = ComplexAs::Trailing;
        let checked = recorded(&problem, &Method::ALL, complex).checked_by(&ALL);
        for case in &checked.cases {
            assert_eq!(case.verdict, Verdict::Pass, "{} {}", case.id, case.reason);
        }
        let recorded = checked.pairwise.iter().find(|m| m.source == "recorded").expect("a matrix");
        assert!(recorded.pairs.len() == 15 && recorded.pairs.iter().all(|p| p.status == PairStatus::Agrees));
    }
}

/// By outputs alone, too: last states are optional in a recording, and a large run is diagnosed by its worst channels.
#[test]
fn a_failed_case_is_named_without_its_last_state() {
    for (regime, channels) in [("groups", None), ("vim-tiny", Some(8))] {
        let problem = problem(regime, Weights::Real, InputType::F32, Operand::Variable, Operand::Variable);
        let kernel = CpuBackend::with_faults("log2e-twice", None).expect("in the kernels' list");
        let mut file = File::of(&problem, ComplexAs::Trailing);
        for method in [Method::Zoh, Method::Bilinear, Method::Rk4] {
            let out = &kernel.scan(method, &problem).expect("runs")[TensorName::Out].values;
            file.add_output(&problem, method.name(), out, None, ComplexAs::Trailing);
        }
        let asked = if channels.is_some() { asking("log2e-twice") } else { ALL };
        let checked = file.checked_by(&Options { channels, ..asked });
        let names: Vec<_> =
            checked.cases.iter().map(|c| c.diagnosis.first().map(|d| d.name.as_str())).collect();
        // Bilinear has no exponential.
        assert_eq!(names, [Some("log2e-twice"), None, Some("log2e-twice")]);
        assert_eq!(checked.cases[1].verdict, Verdict::Pass);
    }
}

#[test]
fn labels_are_cases_of_their_own_and_compared_among_themselves() {
    let problem = problem("groups", Weights::Real, InputType::F32, Operand::Variable, Operand::Variable);
    let mut file = recorded(&problem, &[Method::Zoh], ComplexAs::Trailing);
    let scan =
        |method| CpuBackend::new().scan(method, &problem).expect("runs")[TensorName::Out].values.clone();
    file.add_output(&problem, "zoh.new", &scan(Method::Zoh), None, ComplexAs::Trailing);
    // A kernel that ignores which method it was asked for.
    file.add_output(&problem, "rk4.new", &scan(Method::Zoh), None, ComplexAs::Trailing);
    let checked = file.checked_by(&ALL);
    let cases: Vec<_> = checked.cases.iter().map(|c| (c.id.as_str(), c.verdict)).collect();
    let expected =
        [("run/zoh", Verdict::Pass), ("run/zoh.new", Verdict::Pass), ("run/rk4.new", Verdict::Fail)];
    assert_eq!(cases, expected);
    let problems: Vec<_> = checked.pairwise.iter().map(|m| m.problem.as_str()).collect();
    assert_eq!(problems, ["run/new", "run/new"]);
    assert_eq!(checked.pairwise[1].pairs[0].status, PairStatus::Coincides);
    // Without a last state the outputs alone are judged.
    assert_eq!(checked.cases[0].judged - checked.cases[1].judged, states(&problem));
}

#[test]
fn an_output_of_nan_is_a_failed_case_even_where_few_channels_are_judged() {
    let problem = problem("groups", Weights::Real, InputType::F16, Operand::Variable, Operand::Variable);
    let mut output = CpuBackend::new().scan(Method::Foh, &problem).expect("runs");
    let last = output[TensorName::Out].values.len() - 1;
    output[TensorName::Out].values[last] = f32::NAN;
    let file = File::of_output(&problem, "foh", &output[TensorName::Out].values, None);
    for seed in 0..3 {
        let case = file.judged_by(&Options { channels: Some(1), seed, ..ALL });
        assert_eq!(case.verdict, Verdict::Fail);
        let worst = case.worst.as_ref().expect("an element");
        assert!(worst.got.is_nan() && worst.index[2] == problem.shape.seqlen - 1);
    }
}

/// A layer with more channels than are given a truth, and what a sound kernel makes of it.
fn layer() -> (Problem, Tensors<f32>) {
    let shape = Shape { batch: 1, dim: 24, dstate: 16, seqlen: 2048, groups: 1 };
    let problem = drawn(regime::EVERYTHING, shape, REAL, VARIABLE, (1, "layer"));
    let output = CpuBackend::new().scan(Method::Zoh, &problem).expect("runs");
    (problem, output)
}

/// Of a large run, too; where a second output is in the file; and of a last state.
#[test]
fn every_channel_of_every_tensor_is_judged() {
    let (problem, right) = layer();
    let scaled = |tensor: TensorName, channel: usize| {
        let mut wrong = right.clone();
        let row = wrong[tensor].values.len() / problem.shape.dim;
        for value in &mut wrong[tensor].values[channel * row..(channel + 1) * row] {
            *value *= 1.001;
        }
        wrong
    };
    let mut file = File::of(&problem, ComplexAs::Trailing);
    let outputs = [
        ("zoh.a-right", right.clone()),
        ("zoh.b-out", scaled(TensorName::Out, 17)),
        ("zoh.c-state", scaled(TensorName::LastState, 5)),
    ];
    for (name, output) in &outputs {
        let [out, last_state] = [TensorName::Out, TensorName::LastState].map(|name| &output[name].values[..]);
        file.add_output(&problem, name, out, Some(last_state), ComplexAs::Trailing);
    }
    let told = AtomicUsize::new(0);
    let advance = || {
        told.fetch_add(1, Ordering::Relaxed);
    };
    let checked = check::check("run", "run", &file.recording(), &VERDICTS, &advance).expect("fits");
    assert!(!checked.sampled && checked.note.why.contains("all 24 channels judged"), "{}", checked.note.why);
    assert_eq!(told.into_inner(), 3 * problem.shape.dim);
    let elements = problem.shape.sequence_len() + problem.shape.dim * problem.shape.dstate;
    let verdicts = |case: &CaseResult| case.tensors.values().map(|t| t.verdict).collect::<Vec<_>>();
    let (pass, fail) = (Verdict::Pass, Verdict::Fail);
    for (case, (expected, channel)) in
        checked.cases.iter().zip([([pass, pass], None), ([fail, pass], Some(17)), ([pass, fail], Some(5))])
    {
        assert_eq!(
            (verdicts(case), case.judged),
            (expected.to_vec(), elements),
            "{} {}",
            case.id,
            case.reason
        );
        let quick: usize = case.tensors.values().map(|t| t.quick).sum();
        assert!(quick > 0 && quick < elements, "{quick}");
        let worst = case.worst.as_ref().expect("an element");
        assert!(channel.is_none_or(|channel| worst.index[1] == channel), "{:?}", worst.index);
    }
}

/// The quick route leaves open what the truth refuses, so that nothing passes that nobody can vouch for.
#[test]
fn a_step_beyond_the_truth_is_unmeasured_wherever_it_is() {
    let (mut problem, _) = layer();
    let n = problem.weight_index(17, 3);
    problem.a[n] = -1e9;
    let output = CpuBackend::new().scan(Method::Zoh, &problem).expect("runs");
    // It hides no failure of another channel.
    let right = &output[TensorName::Out].values;
    let mut wrong = right.clone();
    wrong[3 * problem.shape.seqlen..4 * problem.shape.seqlen].iter_mut().for_each(|y| *y *= 1.001);
    let mut file = File::of(&problem, ComplexAs::Trailing);
    for (name, output) in [("zoh.a-right", right), ("zoh.b-wrong", &wrong)] {
        file.add_output(&problem, name, output, None, ComplexAs::Trailing);
    }
    let cases = file.checked().cases;
    let [right, wrong] = &cases[..] else { panic!("{}", cases.len()) };
    assert_eq!([right.verdict, wrong.verdict], [Verdict::Unmeasured, Verdict::Fail]);
    assert!(right.reason.contains("size of ΔA"), "{}", right.reason);
}

/// An infinity where the exact value is an ordinary number is wrong by any truth: no channel needs one for that.
#[test]
fn an_infinity_in_every_channel_fails_without_a_truth_of_each() {
    let (problem, right) = layer();
    let mut output = right[TensorName::Out].values.clone();
    output.iter_mut().step_by(problem.shape.seqlen).for_each(|y| *y = f32::INFINITY);
    let case = File::of_output(&problem, "zoh", &output, None).judged();
    let out = &case.tensors[TensorName::Out];
    assert_eq!(out.verdict, Verdict::Fail);
    assert!(out.quick > 0, "every channel was solved");
}

/// A quick look sees some channels, and says so.
#[test]
fn a_sample_is_called_one() {
    let (problem, right) = layer();
    let file = File::of_output(&problem, "zoh", &right[TensorName::Out].values, None);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.safetensors");
    std::fs::write(&path, file.bytes()).expect("writable");
    let output = holdfast(&["check", path.to_str().expect("UTF-8"), "--channels", "1"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains(": PASS (sampled)") && said.contains("1 of 24 channels judged"), "{said}");
}

#[test]
fn bilinear_s_pole_leaves_the_other_methods_of_a_run_measured() {
    let mut problem = problem("n1", Weights::Real, InputType::F32, Operand::Variable, Operand::Variable);
    problem.a.fill(2.0);
    problem.delta.fill(1.0);
    (problem.delta_bias, problem.delta_softplus) = (None, false);
    let file = recorded(&problem, &[Method::Zoh, Method::Bilinear], ComplexAs::Trailing);
    let checked = file.checked_by(&Options { channels: Some(1), ..ALL });
    assert_eq!(checked.cases[1].verdict, Verdict::Unmeasured);
    assert!(checked.cases[1].reason.contains("singular"), "{}", checked.cases[1].reason);
    assert_ne!(checked.cases[0].verdict, Verdict::Unmeasured);
}

#[test]
fn runs_of_the_same_name_are_told_apart_by_their_paths() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let copy = |name: &str| {
        let path = directory.path().join(name).join("run.safetensors");
        std::fs::create_dir(directory.path().join(name)).expect("created");
        std::fs::copy(golden("torch-bf16-real.safetensors"), &path).expect("copied");
        path.to_str().expect("UTF-8").to_owned()
    };
    let (one, two) = (copy("one"), copy("it's two"));
    let output = holdfast(&["check", &one, &two, &one, "--channels", "1"]);
    let console = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(console.contains("12 cases: 12 pass"), "{console}");
    assert!(
        console.contains(&format!("{one}:\n  recorded run")) && console.contains("it'\\''s two"),
        "{console}"
    );
}

#[test]
fn bad_input_has_status_2_names_the_file_and_prints_no_report() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let good = golden("torch-bf16-real.safetensors");
    let bad = directory.path().join("bad.safetensors");
    let bytes = std::fs::read(&good).expect("a fixture");
    std::fs::write(&bad, &bytes[..bytes.len() - 1]).expect("written");
    let run =
        |path: &Path| holdfast(&["check", good.to_str().expect("UTF-8"), path.to_str().expect("UTF-8")]);
    for (path, says) in [(bad.as_path(), "may be truncated"), (directory.path(), "no regular file")] {
        let output = run(path);
        assert_eq!(output.status.code(), Some(2));
        let message = text(&output.stderr);
        assert!(message.contains(says) && message.contains(path.to_str().expect("UTF-8")), "{message}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(run(Path::new("/no/such/run")).status.code(), Some(2));
    assert_eq!(holdfast(&["check"]).status.code(), Some(2));
}

/// The file is small, its truth is not.
#[test]
fn a_channel_whose_truth_does_not_fit_is_judged_by_the_quick_route_alone() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("long.safetensors");
    let len = 1_000_000;
    let mut at = 0;
    let mut tensor = |name: &str, shape: &[usize]| {
        let start = at;
        at += 4 * shape.iter().product::<usize>();
        format!("\"{name}\":{{\"dtype\":\"F32\",\"shape\":{shape:?},\"data_offsets\":[{start},{at}]}}")
    };
    let sequence = [1, 1, len];
    let tensors = [
        tensor("u", &sequence),
        tensor("delta", &sequence),
        tensor("A", &[1, 1]),
        tensor("B", &[1, 1]),
        tensor("C", &[1, 1]),
        tensor("out.zoh", &sequence),
    ];
    let header = format!("{{{}}}", tensors.join(","));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    std::fs::write(&path, &bytes).expect("writable");
    let file = std::fs::File::options().write(true).open(&path).expect("there");
    file.set_len((bytes.len() + at) as u64).expect("writable");
    let output = holdfast(&["check", path.to_str().expect("UTF-8")]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("by the quick route") && said.contains("1 case: 1 pass"), "{said}");
    // Asked for by number it is refused before anything is read.
    let output = holdfast(&["check", path.to_str().expect("UTF-8"), "--channels", "1"]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    let says = ["long.safetensors", "1000000 positions with 1 states", "2 GiB", "hint:"];
    assert!(says.iter().all(|words| message.contains(words)), "{message}");
    assert!(output.stdout.is_empty());
}

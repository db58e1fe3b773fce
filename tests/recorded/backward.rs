//! Recorded backward passes: read whole or refused, and every element of every gradient judged.

use std::path::Path;

use holdfast::check::{Checked, Options, check};
use holdfast::judge::quick::LARGEST_Z;
use holdfast::method::Method;
use holdfast::problem::conventions::Coupling;
use holdfast::problem::recorded::{RecordError, Recording};
use holdfast::problem::{InputType, OutputGradients, Problem, Shape};
use holdfast::results::{CaseResult, PairStatus, Verdict};
use holdfast::tensor::{GradientName, Gradients};
use holdfast::truth::gradient::solve;
use safetensors::Dtype;

use crate::searched::asking;
use crate::support::binary::{holdfast, text};
use crate::support::problems::{Layout, generator, layouts, uniform};
use crate::written::{ComplexAs, File, dtype, failing, tensor};

const SHAPE: Shape = Shape { batch: 2, dim: 4, dstate: 3, seqlen: 9, groups: 2 };

pub fn random(layout: &Layout) -> (Problem, OutputGradients) {
    layout.with_loss(&mut generator("recorded backward"))
}

/// The truth, rounded to what each gradient is stored in.
pub fn rounded(problem: &Problem, given: &OutputGradients, method: Method) -> Gradients<f32> {
    let truth = solve(problem, given, &[method]).expect("certified").remove(0);
    truth
        .tensors
        .map(|_, tensor| tensor.with(tensor.values.iter().map(|&x| tensor.element.round(x as f32)).collect()))
}

/// A file of a backward pass alone.
pub fn recorded(
    (problem, given): (&Problem, &OutputGradients),
    name: &str,
    gradients: &Gradients<f32>,
    complex: ComplexAs,
) -> File {
    let mut file = File::of(problem, complex);
    let s = problem.shape;
    file.set("dout", tensor(dtype(problem.input), &[s.batch, s.dim, s.seqlen], &given.dout));
    if let Some(values) = &given.dlast_state {
        let like = file.get("initial_state");
        file.set("dlast_state", tensor(like.dtype, &like.shape.clone(), values));
    }
    add(&mut file, name, gradients);
    file
}

/// One pass more.
fn add(file: &mut File, name: &str, gradients: &Gradients<f32>) {
    for (gradient, values) in gradients.iter() {
        let input = gradient.name().strip_prefix("grad.").expect("it is one");
        let like = file.get(input).clone();
        file.set(&format!("{gradient}.{name}"), tensor(like.dtype, &like.shape, &values.values));
    }
}

pub fn checked(file: &File) -> Vec<CaseResult> {
    checked_whole(file).cases
}

fn checked_whole(file: &File) -> Checked {
    file.checked_by(&Options::EVERYTHING)
}

/// Of one label: passes of two methods differ by what their truths do, or are one under two names.
#[test]
fn passes_of_one_label_are_compared_gradient_by_gradient() {
    let (problem, given) = plain();
    let [zoh, rk4] = [Method::Zoh, Method::Rk4].map(|method| rounded(&problem, &given, method));
    for (second, status) in [(&rk4, PairStatus::Agrees), (&zoh, PairStatus::Coincides)] {
        let mut file = recorded((&problem, &given), "zoh", &zoh, ComplexAs::Trailing);
        add(&mut file, "rk4", second);
        let checked = checked_whole(&file);
        assert_eq!(checked.pairwise.len(), 2 * zoh.iter().count());
        let of = |name: GradientName| {
            let of_name = checked.pairwise.iter().filter(move |m| m.tensor == name.into());
            of_name.map(|m| (&*m.source, &*m.problem, &m.pairs[0])).collect::<Vec<_>>()
        };
        for name in [GradientName::U, GradientName::A] {
            let [("truth", "run", truth), ("recorded", "run", pair)] = of(name)[..] else {
                panic!("{name}: {:?}", of(name))
            };
            assert!(truth.rel_l2 > 0.0 && truth.status == PairStatus::Oracle);
            assert_eq!(pair.status, status, "{name}");
        }
    }
    let mut file = recorded((&problem, &given), "zoh", &zoh, ComplexAs::Trailing);
    add(&mut file, "rk4.other", &rk4);
    assert!(checked_whole(&file).pairwise.is_empty());
}

/// A certified truth has every gradient: those that no file has are no pairs that could not be measured.
#[test]
fn gradients_that_are_not_recorded_are_not_compared() {
    let (mut problem, given) = plain();
    // Beyond what the quick route takes, by which only recorded gradients are known.
    problem.a.iter_mut().for_each(|a| *a = -(LARGEST_Z as f32) / 2.0);
    problem.delta.iter_mut().for_each(|delta| *delta = 2.5);
    let of_u = |method| {
        let mut gradients = rounded(&problem, &given, method);
        let others: Vec<GradientName> = gradients.iter().map(|(name, _)| name).collect();
        others.into_iter().filter(|name| *name != GradientName::U).for_each(|name| {
            gradients.remove(name);
        });
        gradients
    };
    let mut file = recorded((&problem, &given), "zoh", &of_u(Method::Zoh), ComplexAs::Trailing);
    add(&mut file, "bilinear", &of_u(Method::Bilinear));
    let checked = checked_whole(&file);
    assert!(
        checked.cases.iter().all(|case| case.verdict == Verdict::Pass && case.tensors.iter().count() == 1)
    );
    assert!(checked.pairwise.iter().all(|matrix| matrix.tensor == GradientName::U.into()));
    let of_kernels =
        checked.pairwise.iter().find(|matrix| matrix.source == "recorded").expect("of both passes");
    assert_eq!(of_kernels.pairs[0].status, PairStatus::Agrees);
}

pub fn plain() -> (Problem, OutputGradients) {
    random(&Layout::whole(SHAPE))
}

/// Every layout, complex ones in each way that they can be stored.
#[test]
fn the_truth_passes_in_every_layout() {
    for method in Method::ALL {
        for layout in layouts(SHAPE) {
            let (problem, given) = random(&layout);
            let gradients = rounded(&problem, &given, method);
            for complex in ComplexAs::all(layout.weights, layout.input) {
                let file = recorded((&problem, &given), method.name(), &gradients, complex);
                let cases = checked(&file);
                assert_eq!(cases.len(), 1);
                assert_eq!(cases[0].id, format!("run/{method}/backward"));
                for (name, gradient) in gradients.iter() {
                    let tensor = &cases[0].tensors[name];
                    assert_eq!(tensor.verdict, Verdict::Pass, "{method} {name} of {layout:?}: {tensor:?}");
                    assert_eq!(tensor.judged, gradient.values.len(), "{method} {name} of {layout:?}");
                }
            }
        }
    }
}

/// By one element, in each gradient alone: the others pass.
#[test]
fn one_wrong_element_fails_its_gradient_alone() {
    for method in Method::ALL {
        let (problem, given) = plain();
        let right = rounded(&problem, &given, method);
        for (wrong, _) in right.iter() {
            for spoil in [|x: f32| x * 1.001 + 1e-4, |_| f32::NAN, |_| f32::INFINITY] {
                let mut gradients = right.clone();
                let values = &mut gradients[wrong].values;
                let last = values.len() - 1;
                values[last] = spoil(values[last]);
                let file = recorded((&problem, &given), method.name(), &gradients, ComplexAs::Trailing);
                let case = file.judged();
                assert_eq!(case.verdict, Verdict::Fail, "{method} {wrong}");
                for (name, _) in right.iter() {
                    let want = if name == wrong { Verdict::Fail } else { Verdict::Pass };
                    assert_eq!(case.tensors[name].verdict, want, "{method}: {name} where {wrong} is wrong");
                }
                let worst = case.worst.expect("it is shown");
                assert_eq!((worst.tensor.as_str(), worst.index), (wrong.name(), right[wrong].index(last)));
            }
        }
    }
}

#[test]
fn outputs_and_gradients_of_one_file_are_cases_of_their_own() {
    let (problem, given) = plain();
    let gradients = rounded(&problem, &given, Method::Foh);
    let mut file = recorded((&problem, &given), "foh.mine", &gradients, ComplexAs::Trailing);
    file.add_output(&problem, "zoh", &vec![0.0; problem.u.len()], None, ComplexAs::Trailing);
    let cases = checked(&file);
    let found: Vec<_> = cases.iter().map(|case| (case.id.as_str(), case.verdict)).collect();
    assert_eq!(found, [("run/zoh", Verdict::Fail), ("run/foh.mine/backward", Verdict::Pass)]);
}

/// Other positions than those of the file.
#[test]
fn a_scan_from_the_end_has_its_gradients_in_the_file_s_order() {
    let (mut problem, given) = plain();
    let gradients = rounded(&problem, &given, Method::Bilinear);
    problem.conventions.direction = holdfast::problem::conventions::Direction::Reverse;
    let mut file = recorded((&problem, &given), "bilinear", &gradients, ComplexAs::Trailing);
    for (name, stored) in &mut file.tensors {
        let role = name.split('.').find(|part| !["grad", "bilinear"].contains(part)).unwrap_or(name);
        if ["u", "delta", "z", "B", "C", "dout"].contains(&role) {
            let row = problem.shape.seqlen * 4;
            stored.bytes.chunks_mut(row).for_each(|row| {
                row.reverse();
                row.chunks_mut(4).for_each(<[u8]>::reverse);
            });
        }
    }
    let case = checked(&file).remove(0);
    assert_eq!(case.verdict, Verdict::Pass, "{:?}", case.tensors);
}

#[test]
fn what_is_no_backward_pass_is_refused_by_name() {
    let (problem, given) = plain();
    let gradients = rounded(&problem, &given, Method::Zoh);
    let file = recorded((&problem, &given), "zoh", &gradients, ComplexAs::Trailing);
    let Shape { batch, dim, dstate, seqlen, .. } = problem.shape;
    let zeros = |dtype, shape: &[usize]| tensor(dtype, shape, &vec![0.0; shape.iter().product()]);
    for name in ["dout", "z"] {
        file.without(name).is_refused(&format!("tensor `{name}` is missing"));
    }
    for (name, put, says) in [
        ("grad.q.zoh", zeros(Dtype::F32, &[1]), "`grad.q.zoh`"),
        ("grad.u", zeros(Dtype::F32, &[1]), "`grad.u`"),
        ("grad.u.nosuch", zeros(Dtype::F32, &[1]), "is of no known method"),
        ("grad.u.zoh", zeros(Dtype::F32, &[batch, seqlen, dim]), "has shape (2, 9, 4), expected (2, 4, 9)"),
        ("grad.A.zoh", zeros(Dtype::F64, &[dim, dstate]), "is of type F64, expected F32, F16 or BF16"),
        ("grad.u.zoh-exact", zeros(Dtype::F32, &[batch, dim, seqlen]), "is of a textbook form"),
    ] {
        file.with(name, put).is_refused(says);
    }
    let mut broken = given.clone();
    broken.dout[3] = f32::NAN;
    let file = recorded((&problem, &broken), "zoh", &gradients, ComplexAs::Trailing);
    let options = Options::EVERYTHING;
    let error = check("run", "run", &file.recording(), &options, &|| {}).expect_err("no number");
    assert!(error.to_string().contains("tensor `dout` is NaN"), "{error}");
    let error = file.recording().read_backward().expect_err("no number");
    assert!(matches!(error, RecordError::NotFinite { .. }), "{error}");
}

#[test]
fn another_arithmetic_leaves_gradients_unmeasured() {
    let (problem, given) = plain();
    let gradients = rounded(&problem, &given, Method::Zoh);
    let file = recorded((&problem, &given), "zoh", &gradients, ComplexAs::Trailing);
    // The type of what tensor cores take is no type that a y is kept in.
    for arithmetic in ["gate=bf16", "y=tf32"] {
        let case = file.stating(&[("arithmetic", arithmetic)]).judged();
        assert_eq!(case.verdict, Verdict::Unmeasured, "{arithmetic}");
        assert!(case.reason.contains(&format!("{arithmetic} is stated")), "{}", case.reason);
    }
}

#[test]
fn the_command_shows_each_gradient_s_verdict() {
    let (problem, given) = plain();
    let mut gradients = rounded(&problem, &given, Method::Poly);
    gradients[GradientName::A].values[2] *= 1.5;
    let file = recorded((&problem, &given), "poly", &gradients, ComplexAs::Trailing);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("back.safetensors");
    std::fs::write(&path, file.bytes()).expect("written");
    let output = holdfast(&["check", path.to_str().expect("UTF-8"), "--diagnosis", "off"]);
    let console = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{console}{}", text(&output.stderr));
    for says in ["grad.u passes", "grad.A fails", "grad.A[0, 2]", "back.safetensors/poly/backward"] {
        assert!(console.contains(says), "{says} in\n{console}");
    }
}

/// Matrices that channels share have no gradients here: sums over channels are not judged.
#[test]
fn gradients_of_a_dense_a_have_a_matrix_for_each_channel() {
    let (mut problem, given) = plain();
    problem.conventions.coupling = Coupling::Dense;
    let Shape { dim, dstate, .. } = problem.shape;
    problem.a = uniform(dim * dstate * dstate, InputType::F32, &mut generator("dense"));
    for method in Method::ALL {
        let mut gradients = rounded(&problem, &given, method);
        let file = |gradients: &Gradients<f32>| {
            let of = |values: &[f32]| tensor(Dtype::F32, &[dim, dstate, dstate], values);
            recorded((&problem, &given), method.name(), gradients, ComplexAs::Trailing)
                .with("A", of(&problem.a))
                .with(&format!("grad.A.{method}"), of(&gradients[GradientName::A].values))
        };
        let whole = file(&gradients);
        assert_eq!(whole.verdict(), Verdict::Pass, "{method}");
        gradients[GradientName::A].values[1] += 0.125;
        let case = file(&gradients).judged();
        assert_eq!((case.verdict, failing(&case)), (Verdict::Fail, vec!["grad.A"]), "{method}");

        let shared = tensor(Dtype::F32, &[2, dstate, dstate], &problem.a[..2 * dstate * dstate]);
        let name = format!("grad.A.{method}");
        let says = "expected (4, 3, 3), and A likewise (hint: sums over channels that share a matrix";
        whole.with("A", shared.clone()).with(&name, shared.clone()).is_refused(says);
        whole.with("A", shared.clone()).is_refused(says);
        whole.with(&name, tensor(Dtype::F32, &[dim, dstate], &vec![0.0; dim * dstate])).is_refused(says);
        let others = whole.with("A", shared).without(&name).checked().cases.remove(0);
        assert_eq!(others.verdict, Verdict::Fail, "another A has other gradients");
    }
}

/// Made by golden/recorded/make_backward.py.
#[test]
fn gradients_of_pytorch_s_autograd_pass() {
    for (name, cases) in [("backward-torch-real", 6), ("backward-torch-complex", 6)] {
        let output = holdfast(&[
            "check",
            &format!("{}/golden/recorded/{name}.safetensors", env!("CARGO_MANIFEST_DIR")),
        ]);
        let console = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{console}{}", text(&output.stderr));
        assert!(console.contains(&format!("{cases} backward cases: {cases} pass")), "{console}");
    }
}

/// Asks for this name; a page of the guide shows what the command says where all that is known is looked for.
#[test]
fn the_backward_pass_of_another_method_is_named() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/recorded/backward-of-zoh-for-foh.safetensors");
    let recording = Recording::open(Path::new(path)).expect("a recording");
    let options = asking("backward-of-zoh");
    let case = check("run", "run", &recording, &options, &|| {}).expect("a run").cases.remove(0);
    assert_eq!(case.verdict, Verdict::Fail);
    let found = &case.diagnosis[0];
    assert!(found.name == "backward-of-zoh" && found.what == "it is the backward pass of zoh", "{found:?}");
    let passing = case.tensors.iter().filter(|(_, tensor)| tensor.verdict == Verdict::Pass);
    assert_eq!(passing.map(|(name, _)| name).collect::<Vec<_>>(), [GradientName::D.into()]);
}

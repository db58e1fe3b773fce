//! Promise: steps of dense systems that others computed are read or refused, judged in the arithmetic that they are stored or stated
//! in, and what is wrong with them is said.

use std::path::Path;

use approx::assert_relative_eq;
use holdfast::check::{Checked, Options, check_recorded};
use holdfast::judge::diagnose::Budget;
use holdfast::problem::recorded::Recorded;
use holdfast::results::{CaseResult, PairStatus, Verdict};
use holdfast::tensor::ElementType;
use rstest::rstest;
use safetensors::Dtype;

use crate::support::binary::{holdfast, text};
use crate::written::{File, Tensor, tensor};

/// SciPy, PyTorch, JAX and NumPy pass in both, and what divides by A has its name.
#[rstest]
#[case("float32")]
#[case("float64")]
fn libraries_pass_and_a_division_by_a_does_not(#[case] name: &str) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/recorded/dense-legs-{name}.safetensors"));
    let output = holdfast(&["check", path.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let console = text(&output.stdout);
    for says in [
        "10 cases: 9 pass, 1 fail",
        "zoh-exact.inverse",
        "looks like divided-by-a",
        "of 3 systems by a certified",
    ] {
        assert!(console.contains(says), "{says} in\n{console}");
    }
}

/// Two systems of two states and one input, and their e^z and ΔB: [[0, 1], [0, 0]] and the identity.
fn file(dtype: Dtype) -> File {
    let e = std::f32::consts::E;
    let mut file = File::default();
    let of = |shape: &[usize], values: &[f32]| tensor(dtype, shape, values);
    file.set("delta", of(&[2], &[0.5, 1.0]));
    file.set("A", of(&[2, 2, 2], &[0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]));
    file.set("B", of(&[2, 2, 1], &[1.0, 2.0, 3.0, 4.0]));
    file.set("A_bar.zoh", of(&[2, 2, 2], &[1.0, 0.5, 0.0, 1.0, e, 0.0, 0.0, e]));
    file.set("B_bar.zoh", of(&[2, 2, 1], &[0.5, 1.0, 3.0, 4.0]));
    file
}

fn check(file: &File, channels: Option<usize>) -> Result<(CaseResult, String), String> {
    let mut checked = checked(file, channels)?;
    Ok((checked.cases.swap_remove(0), checked.note.why))
}

fn checked(file: &File, channels: Option<usize>) -> Result<Checked, String> {
    let bytes = file.bytes();
    let file = holdfast::tensor_file::TensorFile::new(std::io::Cursor::new(&bytes), bytes.len() as u64);
    let recorded =
        Recorded::new(file.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    let options = Options { channels, diagnosis: Budget::Thorough, ..Options::EVERYTHING };
    let checked = check_recorded(None, ("run", "run"), &recorded, &options, &|| {});
    checked.map_err(|error| error.to_string())
}

/// Results have the type in which A is stored.
#[rstest]
#[case(Dtype::F64, ElementType::F64)]
#[case(Dtype::BF16, ElementType::Bf16)]
fn the_input_type_is_that_of_a(#[case] dtype: Dtype, #[case] input: ElementType) {
    assert_eq!(check(&file(dtype), None).expect("a run").0.input, input);
}

/// e rounded to f32 is right in f32, and where f64 is computed and rounded, and in f64 it is not.
#[test]
fn the_arithmetic_is_what_is_stored_or_stated() {
    let verdict = |file: &File| check(file, None).expect("a run").0.verdict;
    assert_eq!(verdict(&file(Dtype::F32)), Verdict::Pass);
    assert_eq!(verdict(&file(Dtype::F32).stating(&[("arithmetic", "f64")])), Verdict::Pass);
    assert_eq!(verdict(&file(Dtype::F64)), Verdict::Fail);
    assert_eq!(verdict(&file(Dtype::F64).stating(&[("arithmetic", "f32")])), Verdict::Pass);
    // An ulp of f32 is more than what rounding leaves.
    let mut off = file(Dtype::F32);
    off.set(
        "A_bar.zoh",
        tensor(Dtype::F32, &[2, 2, 2], &[1.0, 0.5, 0.0, 1.0, 2.718_282_2, 0.0, 0.0, 2.718_282_2]),
    );
    assert_eq!(verdict(&off), Verdict::Pass);
    assert_eq!(verdict(&off.stating(&[("arithmetic", "f64")])), Verdict::Fail);
}

/// φ₂(z) left out of foh's B̄ makes it zoh's.
#[test]
fn methods_are_as_far_apart_as_the_truth_says() {
    let mut file = file(Dtype::F32);
    for (name, tensor) in file.tensors.clone() {
        if let Some(name) = name.strip_suffix(".zoh") {
            file.set(&format!("{name}.foh"), tensor);
        }
    }
    let pairwise = checked(&file, Some(1)).expect("a run").pairwise;
    let shown: Vec<_> = pairwise.iter().map(|m| (m.tensor.name(), m.pairs[0].status)).collect();
    use PairStatus::{Agrees, Coincides, Oracle};
    assert_eq!(shown, [("A_bar", Oracle), ("A_bar", Agrees), ("B_bar", Oracle), ("B_bar", Coincides)]);
    // Of the second system: 4 φ₂(1) = 4 (e − 2) beside 4.
    let [truth, kernel] = [&pairwise[2].pairs[0], &pairwise[3].pairs[0]];
    assert_eq!((&truth.worst_index[..], &kernel.worst_index[..]), (&[1, 1, 0][..], &[1, 1, 0][..]));
    assert_relative_eq!(truth.max, 4.0 * (3.0 - std::f64::consts::E), max_relative = 1e-15);
    assert_eq!(kernel.max, 0.0);
}

/// One A for all systems, names of others, and complex numbers in either layout; and one system alone of a wrong run.
#[test]
fn systems_share_matrices_and_are_sampled() {
    let shared = |dtype| {
        let mut file = File::default();
        let of = |shape: &[usize], values: &[f32]| match dtype {
            Dtype::C64 => tensor(Dtype::C64, &shape[..shape.len() - 1], values),
            _ => tensor(dtype, shape, values),
        };
        // A = [[0, i], [0, 0]]
        file.set("dt", tensor(Dtype::F32, &[3], &[0.5, 1.0, 2.0]));
        file.set("A", of(&[1, 2, 2, 2], &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]));
        file.set("B", of(&[3, 2, 1, 2], &[1.0; 12]));
        let a_bar = |delta: f32| [1.0, 0.0, 0.0, delta, 0.0, 0.0, 1.0, 0.0];
        file.set("A_bar.bilinear.mine", of(&[3, 2, 2, 2], &[0.5, 1.0, 2.0].map(a_bar).concat()));
        file
    };
    for dtype in [Dtype::F32, Dtype::C64] {
        let (case, why) = check(&shared(dtype), None).expect("a run");
        assert_eq!((case.verdict, case.judged), (Verdict::Pass, 24), "{}", case.reason);
        assert_eq!(case.id, "run/bilinear.mine");
        assert!(why.starts_with("recorded steps of 3 dense systems of 2 states"), "{why}");
    }
    let (case, why) = check(&shared(Dtype::F32), Some(2)).expect("a run");
    assert_eq!((case.verdict, case.judged), (Verdict::Pass, 16));
    assert!(why.contains("sampled: 2 systems judged"), "{why}");
}

#[rstest]
#[case::no_b(|file: File| file.without("B"), "tensor `B` is missing")]
#[case::not_square(|file: File| file.with("A", zeros(&[2, 2, 3])), "tensor `A` has shape (2, 2, 3), expected (2, 2, 2)")]
#[case::no_systems_in_front(|file: File| file.with("A", zeros(&[2, 2])), "tensor `A` has shape (2, 2), expected (systems, n, n)")]
#[case::not_shared_evenly(|file: File| file.with("B", zeros(&[3, 2, 1])), "tensor `B` has shape (3, 2, 1), expected (2, 2, 1)")]
#[case::many_states(|file: File| file.with("A", zeros(&[2, 65, 65])), "tensor `A` has n = 65, expected at most 64")]
#[case::nothing(|file: File| file.with("delta", zeros(&[0])), "tensor `delta` has systems = 0, expected at least 1")]
#[case::a_scan_beside(|file: File| file.with("u", zeros(&[2])), "tensor `u` is none of a recorded run's, expected delta, A, B, A_bar.METHOD")]
#[case::a_wrong_method(|file: File| file.with("A_bar.zho", zeros(&[2, 2, 2])), "tensor `A_bar.zho` is of no known method")]
#[case::two_inputs(|file: File| file.with("B_bar.foh-causal", zeros(&[2, 2, 1])), "tensor `B_bar.foh-causal` is none of a recorded run's, expected a METHOD of zoh, foh, bilinear, poly, highorder, rk4, zoh-exact,")]
#[case::integers(|file: File| file.with("B_bar.zoh", Tensor { dtype: Dtype::I32, ..zeros(&[2, 2, 1]) }), "tensor `B_bar.zoh` is of type I32")]
#[case::b_of_vectors(|file: File| file.with("B", zeros(&[2, 2])), "tensor `B` has shape (2, 2), expected (systems, n, m) (hint: with one input it is B[..., None])")]
#[case::not_finite(|file: File| file.with("B", tensor(Dtype::F32, &[2, 2, 1], &[1.0, f32::NAN, 1.0, 1.0])), "tensor `B` is NaN at (0, 1, 0)")]
#[case::a_statement_of_scans(|file: File| file.stating(&[("delta_softplus", "true")]), "metadata `delta_softplus` is `true`, expected no such statement")]
#[case::other_arithmetic(|file: File| file.stating(&[("arithmetic", "bf16")]), "metadata `arithmetic` is `bf16`, expected f32 or f64")]
fn what_is_no_run_is_refused(#[case] wrong: fn(File) -> File, #[case] said: &str) {
    let error = check(&wrong(file(Dtype::F32)), None).expect_err("refused");
    assert!(error.starts_with(said), "{error}");
}

fn zeros(shape: &[usize]) -> Tensor {
    tensor(Dtype::F32, shape, &vec![0.0; shape.iter().product()])
}

/// A scan of one channel of three states that A turns, in f32.
fn scan() -> File {
    let mut file = File::default();
    let of = |shape: &[usize], values: &[f32]| tensor(Dtype::F32, shape, values);
    file.set("u", of(&[1, 1, 2], &[1.0, 0.0]));
    file.set("delta", of(&[1, 1, 2], &[1.0, 1.0]));
    file.set("A", of(&[1, 3, 3], &[0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    file.set("B", of(&[1, 3], &[1.0, 0.0, 0.0]));
    file.set("C", of(&[1, 3], &[0.0, 1.0, 0.0]));
    // x = B, then e^A B = (1, 2, 0).
    file.set("out.zoh", of(&[1, 1, 2], &[0.0, 2.0]));
    file
}

#[test]
fn a_scan_with_a_dense_a_is_judged_in_f32_alone() {
    let passes = |options: &Options| {
        let bytes = scan().bytes();
        let file = holdfast::tensor_file::TensorFile::new(std::io::Cursor::new(&bytes), bytes.len() as u64);
        let recorded = Recorded::new(file.expect("a file")).expect("a run");
        check_recorded(None, ("run", "run"), &recorded, options, &|| {})
            .map(|checked| checked.cases[0].verdict)
    };
    assert_eq!(passes(&Options::EVERYTHING).ok(), Some(Verdict::Pass));
    let stages = Some("y=bf16".parse().expect("an arithmetic"));
    let refused = passes(&Options { stages, ..Options::EVERYTHING }).expect_err("no such bounds").to_string();
    assert!(refused.contains("needs f32 throughout"), "{refused}");
}

#[rstest]
#[case(("state_matrix", "diagonal"), "metadata `state_matrix` is `diagonal`, which needs an A (dim, dstate)")]
#[case(("state_matrix", "dnese"), "metadata `state_matrix` is `dnese`, expected one of diagonal, dense")]
#[case(("state_type", "bf16"), "which needs f32 throughout")]
#[case(("chunk", "2"), "which needs no tensors of chunks")]
#[case(("state", "without-b"), "which needs states with B")]
fn what_is_stated_of_a_dense_a_has_to_go_with_it(#[case] stated: (&str, &str), #[case] says: &str) {
    scan().stating(&[stated]).is_refused(says);
}

//! Promise: `verify --header` judges other people's headers as it judges the production kernels. The correct fixtures
//! pass (two of them on every sweep and on all but the slow regimes), each faulty one fails exactly where its fault is, and the fault is named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use holdfast::judge::diagnose::Budget;
use holdfast::kernel::Backend;
use holdfast::kernel::cuda::cache::Cache;
use holdfast::kernel::foreign::compiler::{self, Compiler, Precision};
use holdfast::kernel::foreign::header::Piece;
use holdfast::kernel::foreign::{ForeignBackend, Header, HeaderError};
use holdfast::method::Method::{self, Bilinear, Foh, HighOrder, Poly, Rk4, Zoh};
use holdfast::parts::{self, Divisible, Part, merge};
use holdfast::problem::plan::Filter;
use holdfast::problem::regime;
use holdfast::problem::sweep::Sweep;
use holdfast::problem::{CoefficientProblem, InputType, Operand, Weights};
use holdfast::promise::Contract;
use holdfast::results::{CaseResult, Results, Verdict};
use holdfast::truth::coefficient::CoefficientTruth;
use holdfast::verify::part::Divided;
use holdfast::verify::{Known, Passes, Plan, Request};
use rstest::rstest;

use crate::fixtures::{compiled, compiled_with, compiler, header, path};
use crate::support::binary::{command, holdfast, output, text};
use crate::support::run::verify;

const EXPONENTIALS: &[Method] = &[Zoh, Foh, Poly, HighOrder, Rk4];

fn judged(name: &str, regimes: &[&str]) -> Results {
    judged_with(name, regimes, &Operand::ALL, &Operand::ALL)
}

/// With these layouts of B and C.
fn judged_with(name: &str, regimes: &[&str], b: &[Operand], c: &[Operand]) -> Results {
    let filter = Filter {
        regimes: regimes.iter().map(|name| regime::find(name).expect("a regime")).collect(),
        inputs: vec![InputType::F32],
        b: b.to_vec(),
        c: c.to_vec(),
        ..Filter::default()
    };
    let request = Request { filter, sensitivity: false, ..Request::everything(1) };
    verify(&request, header(name).as_ref())
}

fn of(results: &Results, method: Method, weights: Weights) -> Vec<&CaseResult> {
    results.cases.iter().filter(|c| c.method == method && c.weights == weights).collect()
}

#[rstest]
#[case("accurate", &Operand::ALL, 4)]
#[ignore = "every regime: .ci/long"]
#[case("accurate", &Operand::ALL, 1)]
#[ignore = "every regime: .ci/long"]
#[case("base-2", &[Operand::Variable], 1)]
fn a_correct_header_passes_every_regime_and_sweep(
    #[case] name: &str,
    #[case] b: &[Operand],
    #[case] each: usize,
) {
    // The launch edges of production kernels are no edges of the serial driver, and the two slowest are no harder.
    let slow = |name: &&str| name.starts_with("seqlen-") || ["vim-tiny", "dstate-256"].contains(name);
    let regimes = regime::all().iter().map(|r| r.name.as_str()).filter(|name| !slow(name));
    // A header never sees C.
    let scans = judged_with(name, &regimes.step_by(each).collect::<Vec<_>>(), b, &[Operand::Variable]);
    assert_eq!(scans.verdict(), Verdict::Pass);
    assert!(scans.cases.len() > 125 * b.len() / each && scans.pairs.agree > 250 * b.len() / each);
    for (sweep, problem, method, want) in SWEEPS.iter() {
        let got = header(name).coefficients(*method, problem).expect("it runs");
        let (got, want) = ((&got.a_bar[..], &got.b_bar[..]), (&want.a_bar[..], &want.b_bar[..]));
        let judged = holdfast::judge::coefficient::judge(*method, problem, got, want, &Contract::FOREIGN);
        assert_eq!(judged.verdict, Verdict::Pass, "{method}, {}, {}", sweep.name, sweep.weights);
    }
}

/// Every sweep by every method, solved once for all headers.
static SWEEPS: LazyLock<Vec<(Sweep, CoefficientProblem, Method, CoefficientTruth)>> = LazyLock::new(|| {
    let solved = |sweep: Sweep| {
        Method::ALL.map(|method| {
            let problem = sweep.draw(1);
            let want = holdfast::truth::coefficient::solve(method, &problem).expect("certified");
            (sweep, problem, method, want)
        })
    };
    holdfast::problem::sweep::all().into_iter().filter(|sweep| !sweep.whole_range).flat_map(solved).collect()
});

#[test]
fn unqualified_functions_of_a_float_are_those_of_a_float() {
    let results = judged("unqualified", &["short", "tiny-z"]);
    for case in &results.cases {
        assert_eq!(case.verdict, Verdict::Pass, "{}: {}", case.id, case.reason);
    }
    assert!(results.cases.len() >= 48);
}

/// One header with faults of many kinds, each at a place of its own, with what it is called there.
#[test]
fn each_fault_fails_where_it_is_and_is_named() {
    let results = judged_with("several", &["short"], &Operand::ALL, &[Operand::Variable]);
    let faults = [
        (Zoh, Weights::Real, "log2e-twice", "the exponent has the factor log₂e"),
        (Zoh, Weights::Complex, "log2e-twice-imaginary", ""),
        // In double expf must not become a call of the class's own `exp`, which would never return.
        (Foh, Weights::Real, "b-bar-formula", "B̄ computes Δ²φ₁ − Δ²φ₂"),
        (Foh, Weights::Complex, "b-bar-formula", "B̄ computes Δ²φ₂·z²/(z² + 1e-6)"),
        (Poly, Weights::Real, "b-twice", ""),
        (Poly, Weights::Complex, "a-bar-formula", "Ā computes (1 + (z/64))⁶⁴"),
        (Rk4, Weights::Complex, "complex-power-wrong", "where z² is Re(z)² + Im(z)² + 2i Re(z) Im(z)"),
    ];
    for (method, weights) in Method::ALL.into_iter().flat_map(|m| Weights::ALL.map(|w| (m, w))) {
        let cases = of(&results, method, weights);
        assert_eq!(cases.len(), 2);
        let fault = faults.iter().find(|(m, w, ..)| (*m, *w) == (method, weights));
        for case in &cases {
            let expected = if fault.is_some() { Verdict::Fail } else { Verdict::Pass };
            assert_eq!(case.verdict, expected, "{}: {}", case.id, case.reason);
        }
        let found: Vec<_> = cases.iter().filter_map(|case| case.diagnosis.first()).collect();
        assert_eq!(found.is_empty(), fault.is_none(), "{method}, {weights}");
        for (one, (_, _, name, what)) in found.iter().flat_map(|one| fault.map(|fault| (one, fault))) {
            assert!(one.name == *name && one.what.contains(what), "{method}, {weights}: {one:?}");
        }
    }
}

/// Highorder's in the same header, which no other steps meet.
#[test]
fn a_guard_against_small_steps_is_found_among_trained_steps() {
    let (regimes, weights) = (vec![regime::find("trained-delta").expect("a regime")], vec![Weights::Real]);
    let filter = Filter { regimes, weights, inputs: vec![InputType::F32], ..Filter::default() };
    let methods = vec![HighOrder];
    let request = Request { filter, methods, sensitivity: false, ..Request::everything(1) };
    let results = verify(&request, header("several").as_ref());
    let named: Vec<_> = results.cases.iter().filter_map(|case| case.diagnosis.first()).collect();
    assert!(!named.is_empty() && named.iter().all(|d| d.name == "zero-for-input-near-0"), "{named:?}");
}

#[rstest]
#[case("log2e-twice", EXPONENTIALS, &["log2e-twice", "log2e-twice-real"])]
#[case("bilinear-unstable", &[Bilinear], &["bilinear-swapped"])]
#[case("foh-exact-zoh", &[Foh], &["runs-as-zoh-exact"])]
#[case("foh-taylor", &[Foh], &["phi-taylor-4"])]
#[case("b-twice", &Method::ALL, &["b-twice"])]
#[case("ids-shifted", &[Foh, Bilinear], &["runs-as-bilinear", "runs-as-foh"])]
#[case("rk4-is-zoh", &[Rk4], &["runs-as-zoh"])]
#[ignore = "`several.cuh` has a fault of each kind: .ci/long"]
fn a_fault_fails_where_it_is_and_is_named(
    #[case] name: &str,
    #[case] methods: &[Method],
    #[case] names: &[&str],
) {
    let results = judged(name, &["short"]);
    for method in Method::ALL {
        for which in Weights::ALL {
            let cases = of(&results, method, which);
            assert_eq!(cases.len(), 4);
            let faulty = methods.contains(&method);
            let expected = if faulty { Verdict::Fail } else { Verdict::Pass };
            for case in &cases {
                assert_eq!(case.verdict, expected, "{}: {}", case.id, case.reason);
            }
            let named: Vec<_> = cases.iter().filter_map(|c| c.diagnosis.first()).collect();
            assert_eq!(!named.is_empty(), faulty, "{method}, {which}: named where it fails, and only there");
            for diagnosis in named {
                assert!(names.contains(&diagnosis.name.as_str()), "{method}, {which}: {}", diagnosis.name);
            }
        }
    }
}

#[test]
#[ignore = "the guide shows it of real weights: .ci/long"]
fn every_early_formula_gets_its_own_name() {
    let results = judged("early-formulas", &["short"]);
    let names = [
        (Zoh, None),
        (Foh, Some("runs-as-zoh-exact")),
        (Bilinear, Some("bilinear-swapped")),
        (Poly, Some("b-bar-series-3")),
        (HighOrder, Some("b-bar-series-2")),
        (Rk4, None),
    ];
    for (method, name) in names {
        let cases = results.cases.iter().filter(|case| case.method == method);
        for case in cases.clone() {
            let expected = if name.is_some() { Verdict::Fail } else { Verdict::Pass };
            assert_eq!(case.verdict, expected, "{}: {}", case.id, case.reason);
        }
        // Not every case of a method is diagnosed.
        let named: Vec<_> = cases.filter_map(|case| case.diagnosis.first()).collect();
        assert_eq!(named.is_empty(), name.is_none(), "{method}");
        assert!(named.iter().all(|d| Some(d.name.as_str()) == name), "{method}: {named:?}");
    }
}

#[rstest]
#[case("premultiplied", &[Zoh], &[])]
#[ignore = "another case has a method of each kind: .ci/long"]
#[case("premultiplied", &[Zoh, Bilinear], &[])]
#[ignore = "headers compiled for this alone: .ci/long"]
#[case("accurate", &[Zoh, Bilinear], &["log2e-twice", "log2e-twice-real"])]
#[ignore = "headers compiled for this alone: .ci/long"]
#[case("premultiplied", &[], &["base-2", "base-2-real"])]
fn a_header_is_called_with_a_as_its_callers_scale_it(
    #[case] name: &str,
    #[case] base_two: &[Method],
    #[case] names: &[&str],
) {
    let header = Header { base_two: base_two.to_vec(), ..Header::read(&path(name)).expect("a fixture") };
    let backend = compiled(header);
    let regimes = vec![regime::find("short").expect("a regime")];
    let (inputs, c) = (vec![InputType::F32], vec![Operand::Variable]);
    let filter = Filter { regimes, inputs, c, ..Filter::default() };
    let methods = vec![Zoh, Bilinear];
    let diagnosis = if names.is_empty() { Budget::Off } else { Budget::Thorough };
    let request = Request { filter, methods, diagnosis, sensitivity: false, ..Request::everything(1) };
    let results = verify(&request, &backend);
    for weights in Weights::ALL {
        let cases = of(&results, Zoh, weights);
        let expected = if names.is_empty() { Verdict::Pass } else { Verdict::Fail };
        assert!(cases.len() == 2 && cases.iter().all(|case| case.verdict == expected), "{weights}");
        for diagnosis in cases.iter().filter_map(|case| case.diagnosis.first()) {
            assert!(names.contains(&diagnosis.name.as_str()), "{weights}: {}", diagnosis.name);
        }
    }
    // Each method has callers of its own.
    let scaled = |method: &Method| base_two.contains(method) == (name == "premultiplied");
    assert_eq!(results.verdict() == Verdict::Pass, [Zoh, Bilinear].iter().all(scaled));
}

#[test]
#[ignore = "the guide shows it of real weights: .ci/long"]
fn lost_digits_are_told_from_a_wrong_formula() {
    let results = judged("naive", &["tiny-z", "short"]);
    for weights in Weights::ALL {
        for method in Method::ALL {
            for case in of(&results, method, weights) {
                let expected = if method == Foh { Verdict::Fail } else { Verdict::Pass };
                assert_eq!(case.verdict, expected, "{}", case.id);
                if let Some(diagnosis) = case.diagnosis.first() {
                    assert_eq!(diagnosis.name, "lost-digits");
                    assert!(diagnosis.residual <= 1.0 / (1 << 20) as f64, "{}", diagnosis.residual);
                }
            }
        }
        assert!(of(&results, Foh, weights).iter().any(|case| !case.diagnosis.is_empty()));
    }
}

#[test]
fn a_header_whose_complex_case_does_not_compile_is_judged_on_its_real_one() {
    let results = judged("complex-does-not-compile", &["n1"]);
    for method in Method::ALL {
        assert!(of(&results, method, Weights::Real).iter().all(|c| c.verdict == Verdict::Pass));
        for case in of(&results, method, Weights::Complex) {
            assert_eq!(case.verdict, Verdict::Fail);
            assert!(case.reason.contains("does not compile for complex weights"), "{}", case.reason);
        }
    }
    let header = header("complex-does-not-compile");
    assert_eq!(header.rejected(Weights::Real, Operand::Constant), None);
    let lines = header.rejected(Weights::Complex, Operand::Variable).expect("the compiler's lines");
    assert!(
        lines.contains("error: ") && lines.contains("tests/headers/complex-does-not-compile.cuh:"),
        "{lines}"
    );
    assert!(lines.lines().count() <= 9);
}

/// One that takes Δu as a float, which BΔu is not where B is complex.
#[test]
fn a_header_that_compiles_for_one_layout_alone_is_judged_on_that() {
    let home = tempfile::tempdir().expect("a folder");
    let text = "#include \"selective_scan_common.h\"\n#include \"selective_scan.h\"\n\
                template <typename weight_t, bool kIsComplex> __device__ inline auto\n\
                compute_discretization(float delta, weight_t a, float delta_u, weight_t, DiscretizationMethod) {\n\
                  if constexpr (kIsComplex) {\n\
                    const complex_t e = cexp2f(complex_t(a.real_ * delta * float(M_LOG2E), a.imag_ * delta));\n\
                    return make_float4(e.real_, e.imag_, delta_u, 0.0f);\n\
                  } else {\n\
                    return make_float2(expf(a * delta), delta_u);\n\
                  }\n\
                }\n";
    let backend = compiled(written(home.path(), &[("header.cuh", text)]));
    assert!(Operand::ALL.iter().all(|&b| backend.rejected(Weights::Real, b).is_none()));
    assert_eq!(backend.rejected(Weights::Complex, Operand::Constant), None);
    let lines = backend.rejected(Weights::Complex, Operand::Variable).expect("it does not compile");
    assert!(lines.contains("header.cuh") && lines.contains("error: "), "{lines}");
    let filter = Filter { regimes: vec![regime::find("short").expect("a regime")], ..Filter::default() };
    let filter = Filter { inputs: vec![InputType::F32], ..filter };
    let request = Request { filter, methods: vec![Zoh], sensitivity: false, ..Request::everything(1) };
    let results = verify(&request, &backend);
    for case in of(&results, Zoh, Weights::Complex) {
        match case.b {
            Operand::Constant => assert_eq!(case.verdict, Verdict::Pass, "{}: {:?}", case.id, case.worst),
            Operand::Variable => {
                let said = "the header does not compile for complex weights and variable B";
                assert!(case.verdict == Verdict::Fail && case.reason.contains(said), "{}", case.reason);
            }
        }
    }
}

#[test]
fn a_syntax_error_is_shown_in_the_users_file() {
    let header = Header::read(&path("syntax-error")).expect("a fixture");
    let folder = compiler::folder(&header, Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("a folder");
    let piece = (Weights::Real, Piece::Forward(None));
    let compiled = compiler().compile(&header, piece, Precision::Single, folder.path()).expect("it runs");
    let lines = compiled.expect_err("it does not compile");
    assert!(lines.contains("tests/headers/syntax-error.cuh:") && lines.contains("error: "), "{lines}");
}

/// Foh crashes, and rk4 never returns.
#[test]
fn a_crash_fails_its_own_cases_only_and_a_hang_is_given_up_after_a_few() {
    let start = Instant::now();
    let read = Header::read(&path("hang")).expect("a fixture");
    let backend = compiled_with(read, Duration::from_millis(500));
    let (regimes, inputs) = (vec![regime::find("n1").expect("a regime")], vec![InputType::F32]);
    let filter = Filter { regimes, inputs, weights: vec![Weights::Real], ..Filter::default() };
    let results = verify(&Request { filter, sensitivity: false, ..Request::everything(1) }, &backend);
    for case in &results.cases {
        let reasons: &[&str] = match case.method.method() {
            Some(Foh) => &["signal 11"],
            Some(Rk4) => &["no result after 0.5 s", "hung in 2 other"],
            _ => &[],
        };
        let expected = if reasons.is_empty() { Verdict::Pass } else { Verdict::Fail };
        assert_eq!(case.verdict, expected, "{}: {}", case.id, case.reason);
        assert!(reasons.is_empty() || reasons.iter().any(|why| case.reason.contains(why)), "{}", case.reason);
    }
    // Four cases hang, of which at most three are waited for, two at a time.
    let given_up = results.cases.iter().filter(|case| case.reason.contains("hung in 2 other")).count();
    assert!(given_up > 0 && start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// Correct for no method, but it compiles, with its methods from where `declaration` says.
fn header_text(declaration: &str) -> String {
    let signature = "__device__ auto compute_discretization(float delta, weight_t A, DU delta_u, weight_t B, \
                     DiscretizationMethod method)";
    format!(
        "#pragma once\n#include \"selective_scan_common.h\"\n#include \"selective_scan.h\"\n{declaration}\n\
         template <typename weight_t, bool kIsComplex, typename DU>\n{signature} {{\n  \
         if constexpr (kIsComplex) return float4{{1, 0, 0, 0}}; else return float2{{expf(delta * A), delta_u}};\n}}\n"
    )
}

fn written(folder: &std::path::Path, files: &[(&str, &str)]) -> Header {
    for (name, text) in files {
        std::fs::write(folder.join(name), text).expect("writable");
    }
    Header::read(&folder.join("header.cuh")).expect("a header")
}

/// Neither its own text nor a name beside `enum` says so: what the compiler complains of does.
#[test]
fn a_header_may_declare_the_methods_in_a_file_of_its_own() {
    let home = tempfile::tempdir().expect("a folder");
    let method = "#pragma once\ntypedef enum { DISCRETIZATION_ZOH = 0, OTHER } DiscretizationMethod;";
    let text = header_text("#include \"method.h\"");
    let backend = compiled(written(home.path(), &[("header.cuh", &text), ("method.h", method)]));
    for weights in Weights::ALL {
        assert!(Operand::ALL.iter().all(|&b| backend.rejected(weights, b).is_none()), "{weights}");
    }
}

/// What was compiled before is found again, wherever the header's worker lies, and nothing else is taken for it.
#[test]
fn the_same_text_is_compiled_once() {
    let home = tempfile::tempdir().expect("a folder");
    let (kept, parent) = (home.path().join("kept"), Path::new(env!("CARGO_TARGET_TMPDIR")));
    let entries = || {
        let entries =
            std::fs::read_dir(&kept).expect("the cache").map(|entry| entry.expect("an entry").path());
        entries.collect::<BTreeSet<_>>()
    };
    let compile = |text: &str| {
        let header =
            written(home.path(), &[("header.cuh", text), ("value.h", "inline float value() { return 1; }")]);
        let compiler = compiler().keeping_in(Cache::at(&kept));
        let backend = ForeignBackend::on_cpu_with(header, compiler, Duration::from_secs(9), parent);
        let backend = backend.expect("a folder");
        let sweeps = holdfast::problem::sweep::all();
        let problem = sweeps.iter().find(|sweep| sweep.weights == Weights::Real).expect("one").draw(1);
        backend.coefficients(Zoh, &problem).expect("it runs").a_bar[0]
    };
    let text = header_text("#include \"value.h\"");
    let first = compile(&text);
    let once = entries();
    assert_eq!(once.len(), 2, "one for each weight type");
    let modified = |path: &PathBuf| std::fs::metadata(path).and_then(|meta| meta.modified()).expect("a time");
    let times: Vec<_> = once.iter().map(modified).collect();
    assert_eq!(compile(&text), first);
    assert_eq!(entries().iter().map(modified).collect::<Vec<_>>(), times, "nothing was compiled again");
    // A damaged entry is mended.
    let path = once.first().expect("two");
    let bytes = std::fs::read(path).expect("an entry");
    std::fs::write(path, &bytes[..bytes.len() / 2]).expect("writable");
    assert_eq!(compile(&text), first);
    assert_eq!(std::fs::read(path).expect("an entry"), bytes);
    // Another text is another program.
    assert_ne!(compile(&text.replace("expf(", "2.0f * expf(")), first);
    assert_eq!(entries().len(), 4);
}

#[test]
fn the_hash_is_of_what_a_header_includes_as_well_and_of_no_path() {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let [first, second] = folders.each_ref().map(|folder| folder.path());
    let of = |folder, inner: &str| {
        let text = header_text("#include \"phi.cuh\"");
        let files = [("header.cuh", text.as_str()), ("phi.cuh", "#include \"inner.h\""), ("inner.h", inner)];
        written(folder, &files).sha256()
    };
    let hash = of(first, "int x;");
    assert_eq!(of(second, "int x;"), hash, "wherever it lies");
    assert_ne!(of(first, "int y;"), hash);
    std::fs::write(first.join("unrelated.h"), "int z;").expect("writable");
    assert_eq!(of(first, "int x;"), hash, "what is not included does not count");
}

#[test]
fn what_is_no_header_is_a_typed_error() {
    let read = |path: &std::path::Path| Header::read(path).expect_err("no header");
    assert!(matches!(read(&path("no-such-file")), HeaderError::Unreadable { .. }));
    assert!(matches!(read(path("x").parent().expect("a folder")), HeaderError::Directory { .. }));
    let without = read(&path("phi"));
    assert!(matches!(without, HeaderError::NoFunction { .. }));
    let file = tempfile::NamedTempFile::new().expect("a file");
    // What is to be filled in is a header, and the guide's.
    let said = without.to_string();
    let (_, example) = said.split_once("\n\n").expect("an example");
    assert!(include_str!("../../src/guide/headers.md").contains(example), "{example}");
    std::fs::write(file.path(), example).expect("written");
    let file_name = file.path().to_str().expect("UTF-8");
    let judged = holdfast(&["verify", "--header", file_name, "--method", "zoh", "--regime", "short"]);
    assert_eq!(judged.status.code(), Some(0), "{}", text(&judged.stdout));
    std::fs::write(file.path(), b"compute_discretization\0").expect("written");
    assert!(matches!(read(file.path()), HeaderError::NotText { .. }));
    let compiler = Compiler::find_among(Some("no-such-compiler"), &[]).expect_err("none");
    assert!(compiler.to_string().contains("no-such-compiler") && compiler.to_string().contains("hint:"));
}

#[test]
fn the_command_judges_a_header_and_says_how_to_repeat_it() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let json = file.path().to_str().expect("UTF-8");
    let fixture = "tests/headers/complex-does-not-compile.cuh";
    let args = ["verify", "--header", fixture, "--backend", "cpu", "--regime", "l1", "--method", "zoh"];
    let output = holdfast(&[&args[..], &["--json", json]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("does not compile for complex weights:") && shown.contains("error: "), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file.path()).expect("results")).expect("JSON");
    assert_eq!((&json["schema"], &json["header"]["path"]), (&3.into(), &fixture.into()));
    assert_eq!(json["header"]["instantiations"][0]["compiles"], true);
    assert_eq!(json["header"]["instantiations"][1]["compiles"], false);
    let rerun = json["cases"][0]["rerun"].as_str().expect("a command");
    assert!(rerun.ends_with(&format!("--header {fixture}")), "{rerun}");
}

#[rstest]
#[case(&["--header", "no-such-file.cuh"], 2)]
#[case(&["--header", "tests"], 2)]
#[case(&["--header", "Cargo.toml"], 2)]
#[case(&["--header", "tests/headers/accurate.cuh", "--input", "bf16"], 2)]
#[case(&["--header", "tests/headers/accurate.cuh", "--backend", "reference"], 2)]
fn bad_input_exits_with_status_2_and_a_hint(#[case] args: &[&str], #[case] status: i32) {
    let output = holdfast(&[&["verify"], args].concat());
    assert_eq!(output.status.code(), Some(status));
    assert!(text(&output.stderr).contains("hint:") && output.stdout.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn a_machine_without_a_compiler_says_so_with_status_3() {
    let mut command = command();
    command.args(["verify", "--backend", "cpu", "--header"]).arg(path("accurate"));
    let output = output(command.env("CXX", "no-such-compiler"));
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("no C++ compiler runs here"), "{}", text(&output.stderr));
}

/// What a header computes is found out where it fails: the parts of a run say what the whole run says.
#[test]
fn the_merged_parts_of_a_header_s_run_are_explained_as_the_whole_run() {
    let backend = header("several");
    let regimes = vec![regime::find("short").expect("a regime")];
    let (inputs, c) = (vec![InputType::F32], vec![Operand::Variable]);
    let filter = Filter { regimes, inputs, weights: vec![Weights::Real], c, ..Filter::default() };
    let methods = vec![Zoh, Bilinear];
    let request =
        Request { filter, methods, passes: Passes::Forward, sensitivity: false, ..Request::everything(1) };
    let whole = verify(&request, backend.as_ref());
    assert!(whole.cases.iter().any(|case| !case.diagnosis.is_empty()));
    let (folder, plan) = (tempfile::tempdir().expect("a folder"), Plan::new(&request, backend.as_ref()));
    for number in 1..=3 {
        let divided = Divided { plan: &plan, known: &Known::default(), header: None };
        let head = divided.part(Part { number, of: 3 });
        parts::run(&divided, &head, folder.path(), &|_| {}).expect("run");
    }
    let merged = merge(&[folder.path().to_owned()]).expect("complete");
    let text = |results: &Results| format!("{results:?}");
    assert!(text(&merged) == text(&whole));
}

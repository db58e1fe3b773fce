//! Promise: `holdfast compare` says what changed between two runs, exits 1 on a regression, and refuses what cannot be
//! compared.

use std::fs;
use std::path::{Path, PathBuf};

use holdfast::report::compare::render;
use holdfast::report::console::Detail;
use holdfast::report::{json, junit};
use holdfast::results::compare::{Incomparable, RunComparison, compare};
use holdfast::results::{ErrorPart, Lifting};
use holdfast::results::{Results, Verdict};
use holdfast::scalar_function::ScalarFunction;
use rstest::rstest;

use holdfast::tensor::TensorName;

use crate::fixture;
use crate::support::binary::holdfast;

fn compared(change: impl FnOnce(&mut Results)) -> RunComparison {
    compared_to(fixture::passing(), change)
}

fn compared_to(old: Results, change: impl FnOnce(&mut Results)) -> RunComparison {
    let mut new = old.clone();
    change(&mut new);
    compare(&old, &new).expect("of one seed")
}

fn share(results: &mut Results, index: usize, share: f64) {
    let case = &mut results.cases[index];
    case.verdict = if share <= 1.0 { Verdict::Pass } else { Verdict::Fail };
    case.worst = Some(fixture::worst("out", share));
}

#[test]
fn a_run_equals_itself() {
    let same = compared(|_| {});
    assert!(!same.regressed() && same.verdicts.is_empty() && same.errors.is_empty());
    let run = fixture::passing();
    assert_eq!(same.unchanged, run.cases.len() + run.coefficients.len() + run.invariants.len());
}

#[test]
fn a_verdict_that_is_worse_is_a_regression_and_comes_first() {
    let mut old = fixture::passing();
    share(&mut old, 0, 7.0);
    let mut new = fixture::passing();
    share(&mut new, 5, 3.0);
    let change = compare(&old, &new).expect("of one seed");
    let ids: Vec<_> = change.verdicts.iter().map(|c| (c.new.id.clone(), c.is_worse())).collect();
    assert_eq!(ids, [(new.cases[5].id.clone(), true), (new.cases[0].id.clone(), false)]);
    assert!(change.regressed());
    assert!(!compare(&old, &fixture::passing()).expect("of one seed").regressed(), "only mended");
}

#[test]
fn a_failure_that_is_no_longer_measured_is_not_mended() {
    let mut old = fixture::passing();
    share(&mut old, 0, 7.0);
    let mut new = old.clone();
    new.cases[0].verdict = Verdict::Unmeasured;
    new.cases[0].worst = None;
    assert!(compare(&old, &new).expect("of one seed").regressed());
}

/// A case that fails either way hides nothing of what changed in its tensors.
#[test]
fn a_tensor_that_fails_as_well_is_a_regression() {
    let mut old = fixture::passing();
    share(&mut old, 0, 7.0);
    old.cases[0].tensors[TensorName::LastState] = fixture::tensor("last_state", 7.0);
    let mut new = old.clone();
    new.cases[0].tensors[TensorName::Out] = fixture::tensor("out", 3.0);
    let change = compare(&old, &new).expect("of one seed");
    let ids: Vec<_> = change.verdicts.iter().map(|c| (c.new.id.clone(), c.is_worse())).collect();
    assert_eq!(ids, [(format!("{}/out", new.cases[0].id), true)]);
    assert!(change.regressed() && !compare(&new, &old).expect("of one seed").regressed());
}

/// Files of schema 1 have no tensors; everything else in them means what it meant.
#[test]
fn runs_of_the_first_schema_are_still_compared() {
    let new = fixture::spoil(fixture::passing());
    let mut value = serde_json::to_value(&new).expect("JSON");
    value["schema"] = 1.into();
    for case in value["cases"].as_array_mut().expect("a list") {
        case.as_object_mut().expect("a case").remove("tensors");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("old.json");
    fs::write(&file, value.to_string()).expect("written");
    let old = json::read(&file).expect("an earlier version's results");
    assert!(old.cases.iter().all(|case| case.tensors.is_empty()));
    let change = compare(&old, &new).expect("of one seed");
    assert!(change.verdicts.is_empty() && change.errors.is_empty() && change.gone.is_empty(), "{change:?}");
}

/// Files of schema 2 have all of the tensors that pass, and names for the numbers of points.
#[test]
fn runs_of_the_second_schema_are_still_compared() {
    let new = fixture::passing();
    let mut value = serde_json::to_value(&new).expect("JSON");
    value["schema"] = 2.into();
    let names = ["z_re", "z_im", "a_bar_ulp", "b_bar_ulp", "a_bar_allowed", "b_bar_allowed"];
    for sweep in value["coefficients"].as_array_mut().expect("a list") {
        for point in sweep["points"].as_array_mut().expect("a list") {
            let numbers = point.as_array().expect("six numbers").clone();
            *point = names.iter().map(|name| (*name).to_owned()).zip(numbers).collect();
        }
    }
    for (case, of) in value["cases"].as_array_mut().expect("a list").iter_mut().zip(&new.cases) {
        let whole = of.worst.as_ref().expect("measured");
        case["tensors"]["out"]["worst"] = serde_json::to_value(whole).expect("JSON");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("old.json");
    fs::write(&file, value.to_string()).expect("written");
    let old = json::read(&file).expect("an earlier version's results");
    // Points are written with four digits.
    let first = |results: &Results| results.coefficients[0].points[3].b_bar_ulp;
    assert!((first(&old) / first(&new) - 1.0).abs() < 5e-4);
    let change = compare(&old, &new).expect("of one seed");
    assert!(change.verdicts.is_empty() && change.errors.is_empty() && change.gone.is_empty(), "{change:?}");
}

/// A tensor that passes has its share in a file, one that fails has everything.
#[test]
fn what_is_written_can_be_read_and_compared() {
    let results = fixture::spoil(fixture::small());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    json::write(&results, &file).expect("written");
    let read = json::read(&file).expect("read");
    for (was, is) in results.cases.iter().zip(&read.cases) {
        for (name, was, is) in was.tensors.zip(&is.tensors) {
            let [old, new] = [was, is].map(|tensor| tensor.worst.as_ref().expect("measured"));
            let alike = (old.share / new.share - 1.0).abs() < 1e-5 || !old.share.is_finite();
            assert!(alike && was.verdict == is.verdict && was.judged == is.judged, "{name}");
            let fails = was.verdict == Verdict::Fail;
            assert_eq!((new.got_hex == old.got_hex, is.diagnosis == was.diagnosis), (fails, true), "{name}");
        }
    }
    assert_eq!(json::to_string(&read).expect("JSON"), json::to_string(&results).expect("JSON"));
    let change = compare(&read, &results).expect("of one seed");
    assert!(change.verdicts.is_empty() && change.errors.is_empty(), "{change:?}");
    // A line for each case, and its number of lines for all else.
    let text = fs::read_to_string(&file).expect("readable");
    let lines = text.lines().filter(|line| line.starts_with("    {\"id\":\""));
    assert_eq!(lines.count(), results.cases.len());
}

/// Files of earlier versions tell no tensors of pairs and sequences: they have those of outputs.
#[test]
fn runs_without_pairs_of_gradients_are_still_compared() {
    let old = fixture::passing();
    let mut value = serde_json::to_value(&old).expect("JSON");
    value.as_object_mut().expect("results").remove("gradient_pairs").expect("a total");
    for list in ["/pairwise", "/errors/sequences"] {
        for one in value.pointer_mut(list).and_then(|list| list.as_array_mut()).expect("a list") {
            one.as_object_mut().expect("one").remove("tensor").expect("a name");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("old.json");
    fs::write(&file, value.to_string()).expect("written");
    let read = json::read(&file).expect("an earlier version's results");
    assert!(read.pairwise.iter().all(|matrix| matrix.tensor == TensorName::Out.into()));
    let new = fixture::with_gradients(old);
    assert!(!compare(&read, &new).expect("of one seed").regressed());
    let worse = fixture::spoil_gradients(new);
    let change = compare(&read, &worse).expect("of one seed");
    assert!(change.regressed());
    let problem = "s4d-real/real/f32/b-variable/c-variable";
    assert_eq!(change.failing_pairs, [format!("{problem}: zoh vs foh in grad.A")]);
    let text = render(&change, ("old", &read), ("new", &worse), false, Detail::Normal);
    assert!(text.contains("pairs of gradients worse: 0 agree, 0 fail"), "{text}");
    assert!(!text.contains("\npairs worse"), "{text}");
}

#[rstest]
#[case::gone(|r: &mut Results| drop(r.cases.pop()), true)]
#[case::sweep_gone(|r: &mut Results| drop(r.coefficients.pop()), true)]
#[case::sweep_fails(|r: &mut Results| r.coefficients[0].verdict = Verdict::Fail, true)]
#[case::invariant_fails(|r: &mut Results| r.invariants[0].verdict = Verdict::Fail, true)]
#[case::invariant_unmeasured(|r: &mut Results| r.invariants[0].verdict = Verdict::Unmeasured, true)]
#[case::invariant_gone(|r: &mut Results| drop(r.invariants.pop()), true)]
#[case::invariants_gone(|r: &mut Results| r.invariants.clear(), true)]
#[case::pair_fails(|r: &mut Results| { r.pairs.off += 1; r.pairs.agree -= 1 }, true)]
#[case::pairs_not_compared(|r: &mut Results| r.pairs.problems -= 1, true)]
#[case::gradient_pair_fails(|r: &mut Results| { r.gradient_pairs.off += 1; r.gradient_pairs.agree -= 1 }, true)]
#[case::gradient_pairs_not_compared(|r: &mut Results| r.gradient_pairs.problems -= 1, true)]
#[case::larger_error(|r: &mut Results| share(r, 0, 0.9), false)]
fn regressions(#[case] change: fn(&mut Results), #[case] regressed: bool) {
    let old = fixture::with_gradients(fixture::passing());
    assert_eq!(compared_to(old, change).regressed(), regressed);
}

/// Two recordings of the same name may be of other problems: that is no comparison.
#[rstest]
#[case::weights(|r: &mut Results| r.cases[0].weights = holdfast::problem::Weights::Complex, "weights")]
#[case::input(|r: &mut Results| r.cases[0].input = holdfast::tensor::ElementType::F16, "input type")]
#[case::shape(|r: &mut Results| r.cases[0].shape.seqlen += 1, "shape")]
#[case::operand(|r: &mut Results| r.cases[0].b = holdfast::problem::Operand::Constant, "B")]
#[case::hash(|r: &mut Results| r.cases[0].inputs = "fedcba9876543210".to_owned(), "inputs of hash")]
fn cases_of_another_problem_are_not_compared(#[case] change: fn(&mut Results), #[case] which: &str) {
    let mut old = fixture::passing();
    old.cases[0].b = holdfast::problem::Operand::Variable;
    old.cases[0].inputs = "0123456789abcdef".to_owned();
    let mut new = old.clone();
    assert!(compare(&old, &new).is_ok());
    change(&mut new);
    match compare(&old, &new) {
        Err(Incomparable::OtherProblem { id, what, .. }) => {
            assert_eq!((id.as_str(), what), (old.cases[0].id.as_str(), which));
        }
        other => panic!("{other:?}"),
    }
    // A file of an earlier version has no hash.
    if which == "inputs of hash" {
        old.cases[0].inputs.clear();
        assert!(!compare(&old, &new).expect("of one seed").regressed());
    }
}

#[rstest]
#[case::case(|r: &mut Results| r.cases[0].judged -= 1, 1)]
#[case::invariant(|r: &mut Results| r.invariants[0].judged -= 1, 1)]
#[case::sweep(|r: &mut Results| r.coefficients[0].points.truncate(1), 1)]
#[case::more(|r: &mut Results| r.cases[0].judged += 1, 0)]
#[case::same(|_: &mut Results| (), 0)]
fn fewer_judged_elements_are_a_regression(#[case] change: fn(&mut Results), #[case] count: usize) {
    let change = compared(change);
    assert_eq!((change.narrower.len(), change.regressed()), (count, count > 0));
    assert_eq!(change.compared(), compared(|_| {}).compared());
    let run = fixture::passing();
    let text = render(&change, ("a", &run), ("b", &run), false, Detail::Normal);
    assert_eq!(text.contains("fewer elements judged, which is a regression"), count > 0, "{text}");
}

#[test]
fn recordings_that_share_a_name_only_are_refused_with_status_2() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let checked = |name: &str| {
        let folder = home.path().join(name);
        fs::create_dir(&folder).expect("writable");
        let golden =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/recorded/{name}.safetensors"));
        fs::copy(golden, folder.join("run.safetensors")).expect("a golden");
        let (run, json) = (folder.join("run.safetensors"), folder.join("results.json"));
        assert_eq!(holdfast(&["check", path(&run), "--json", path(&json)]).status.code(), Some(0));
        json
    };
    let (complex, real) = (checked("torch-f32-complex"), checked("torch-bf16-real"));
    let output = holdfast(&["compare", path(&complex), path(&real)]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("`run.safetensors/") && message.contains("hint:"), "{message}");
    assert_eq!(holdfast(&["compare", path(&real), path(&real)]).status.code(), Some(0));
}

#[test]
fn invariants_are_named_and_have_shares() {
    let change = compared(|results| {
        for invariant in &mut results.invariants[..3] {
            (invariant.verdict, invariant.worst) = (Verdict::Fail, Some(fixture::worst("out", 7.0)));
        }
    });
    let worse: Vec<_> = change.verdicts.iter().map(|c| (c.new.id.clone(), c.new.share)).collect();
    let run = fixture::passing();
    let of = |i: usize| {
        let invariant = &run.invariants[i];
        format!("invariant/{}/{}/{}", invariant.name, invariant.weights, invariant.method)
    };
    assert_eq!(of(0), "invariant/b-homogeneous/real/zoh");
    assert_eq!(worse, [(of(0), Some(7.0)), (of(1), Some(7.0)), (of(2), Some(7.0))]);
    assert!(change.regressed());
}

/// A lifted run that passes with this share.
fn lifting(share: f64) -> Lifting {
    let part = |share| ErrorPart { share, max: share * 1e-16, rel_l2: share * 1e-16 };
    Lifting {
        verdict: if share <= 1.0 { Verdict::Pass } else { Verdict::Fail },
        reason: String::new(),
        shrink: Some(29.0),
        conclusion: None,
        rounding: part(0.2),
        truncation: part(share),
    }
}

/// Its first case and its first sweep have lifted runs.
fn lifted() -> Results {
    let mut results = fixture::passing();
    results.cases[0].lifted = Some(lifting(0.1));
    results.coefficients[0].lifted = Some(lifting(0.1));
    results
}

#[rstest]
#[case::same(|_: &mut Results| (), 0, 0, false)]
#[case::case_fails(|r: &mut Results| r.cases[0].lifted = Some(lifting(9.0)), 1, 0, true)]
#[case::sweep_fails(|r: &mut Results| r.coefficients[0].lifted = Some(lifting(9.0)), 1, 0, true)]
#[case::larger_share(|r: &mut Results| r.cases[0].lifted = Some(lifting(0.5)), 0, 1, false)]
#[case::gone(|r: &mut Results| r.cases[0].lifted = None, 0, 0, true)]
#[case::all_gone(|r: &mut Results| (r.cases[0].lifted, r.coefficients[0].lifted) = (None, None), 0, 0, true)]
fn lifted_runs_are_compared(
    #[case] change: fn(&mut Results),
    #[case] verdicts: usize,
    #[case] errors: usize,
    #[case] regressed: bool,
) {
    let old = lifted();
    let mut new = old.clone();
    change(&mut new);
    let change = compare(&old, &new).expect("of one seed");
    assert_eq!((change.verdicts.len(), change.errors.len()), (verdicts, errors));
    assert_eq!(change.regressed(), regressed);
    let all = compared(|_| {}).unchanged + 2;
    assert_eq!(change.compared() + change.gone.len(), all);
    let ids = [old.cases[0].id.clone() + "/lifted", "coefficients/real axis/real/zoh/lifted".to_owned()];
    let mut changed = change.verdicts.iter().chain(&change.errors).map(|c| &c.new).chain(&change.gone);
    assert!(changed.all(|item| ids.contains(&item.id)));
}

#[test]
fn another_backend_without_a_double_build_lost_nothing() {
    let mut other = fixture::passing();
    other.backend = "reference".to_owned();
    for (old, new) in [(&lifted(), &other), (&other, &lifted())] {
        let change = compare(old, new).expect("of one seed");
        assert!(!change.regressed() && change.gone.is_empty() && change.added.is_empty());
    }
}

#[test]
fn runs_that_have_nothing_in_common_are_a_regression() {
    let (full, none) = (fixture::passing(), fixture::empty());
    for (old, new) in [(&full, &none), (&none, &full), (&none, &none)] {
        let change = compare(old, new).expect("of one seed");
        assert!(change.regressed() && change.compared() == 0);
        let text = render(&change, ("a", old), ("b", new), false, Detail::Normal);
        let (gone, new) = (change.gone.len(), change.added.len());
        let first = format!("holdfast compare: REGRESSION; nothing was compared: {gone} gone, {new} new\n");
        assert!(text.starts_with(&first), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
    assert_eq!(compare(&full, &none).expect("of one seed").gone.len(), compared(|_| {}).unchanged);
}

#[test]
fn a_new_case_is_a_regression_only_if_it_does_not_pass() {
    for (ratio, regressed) in [(0.5, false), (2.0, true)] {
        let change = compared(|results| {
            let mut case = results.cases[0].clone();
            case.id = "brand-new/real/f32/b-constant/c-variable/zoh".to_owned();
            results.cases.push(case);
            let last = results.cases.len() - 1;
            share(results, last, ratio);
        });
        assert_eq!((change.added.len(), change.regressed()), (1, regressed));
    }
}

/// More than a factor of two, where it reaches a sixteenth of the bound.
#[rstest]
#[case(0.10, 0.19, false)]
#[case(0.10, 0.21, true)]
#[case(0.21, 0.10, true)]
#[case(0.001, 0.05, false)]
#[case(0.001, 0.07, true)]
#[case(0.0, 0.07, true)]
#[case(2.0, 1e6, true)]
#[case(2.0, f64::NAN, true)]
#[case(f64::INFINITY, f64::NAN, false)]
fn errors_that_moved(#[case] old_share: f64, #[case] new_share: f64, #[case] moved: bool) {
    let (mut old, mut new) = (fixture::passing(), fixture::passing());
    share(&mut old, 3, old_share);
    share(&mut new, 3, new_share);
    let change = compare(&old, &new).expect("of one seed");
    assert_eq!(change.errors.len(), usize::from(moved));
    if moved {
        assert_eq!(change.errors[0].grew(), new_share.is_nan() || new_share > old_share);
    }
}

#[test]
fn numbers_that_json_cannot_hold_come_back_as_nan() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = home.path().join("results.json");
    let mut results = fixture::spoil(fixture::passing());
    share(&mut results, 0, f64::INFINITY);
    results.cases[1].max_ulp = f64::NAN;
    json::write(&results, &file).expect("written");
    let again = json::read(&file).expect("read");
    assert!(again.cases[0].worst.as_ref().expect("measured").share.is_nan());
    assert!(again.cases[1].max_ulp.is_nan());
    // Everything else is what it was: what is read writes the same text.
    assert_eq!(json::to_string(&again).expect("text"), json::to_string(&results).expect("text"));
}

#[test]
fn the_text_is_narrow_and_held() {
    let (old, mut new) = (fixture::passing(), fixture::spoil(fixture::passing()));
    new.cases.truncate(new.cases.len() - 2);
    let change = compare(&old, &new).expect("of one seed");
    let normal = render(&change, ("a.json", &old), ("b.json", &new), false, Detail::Normal);
    let verbose = render(&change, ("a.json", &old), ("b.json", &new), false, Detail::Verbose);
    for line in normal.lines().chain(verbose.lines()) {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert!(verbose.lines().count() >= normal.lines().count());
    assert_eq!(render(&change, ("a", &old), ("b", &new), false, Detail::Quiet).lines().count(), 1);
    insta::with_settings!({
        snapshot_path => "../../golden/report",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, { insta::assert_snapshot!("compare", normal) });
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A folder with a passing run, and a file that `change` makes of its text.
fn files(change: impl FnOnce(String) -> String) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (good, other) = (home.path().join("good.json"), home.path().join("other.json"));
    let text = json::to_string(&fixture::passing()).expect("text");
    fs::write(&good, &text).expect("written");
    fs::write(&other, change(text)).expect("written");
    (home, good, other)
}

#[rstest]
#[case::truncated(|t: String| t[..t.len() / 2].to_owned(), "ends in the middle")]
#[case::empty(|_: String| String::new(), "ends in the middle")]
#[case::schema(|t: String| t.replacen("\"schema\": 3", "\"schema\": 4", 1), "has schema 4, expected 1 to 3")]
#[case::no_json(|_: String| "<html>".to_owned(), "is no JSON")]
#[case::other_json(|_: String| "[1, 2]".to_owned(), "no field `schema`")]
#[case::cases_of_something_else(|_: String| "{\"schema\": 3, \"cases\": 7}".to_owned(), "none of holdfast's results")]
#[case::seed(|t: String| t.replacen("\"seed\": 20260101", "\"seed\": 7", 1), "seeds 20260101 and 7")]
fn files_that_cannot_be_compared_have_status_2(#[case] change: fn(String) -> String, #[case] says: &str) {
    let (_home, good, other) = files(change);
    let output = holdfast(&["compare", path(&good), path(&other)]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains(says) && message.contains("hint:") && message.contains("other.json"),
        "{message}"
    );
    assert!(output.stdout.is_empty());
}

/// Files of an earlier version lack what was added since; unknown fields of a later one are no error.
#[test]
fn fields_that_were_added_later_may_be_missing() {
    let (_home, good, other) = files(|text| {
        let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for sweep in json["coefficients"].as_array_mut().expect("a list") {
            assert!(sweep.as_object_mut().expect("an object").remove("diagnosis").is_some());
        }
        json["of a later version"] = 7.into();
        json.to_string()
    });
    assert_eq!(holdfast(&["compare", path(&good), path(&other)]).status.code(), Some(0));
}

#[test]
fn a_broken_kernel_is_a_regression_of_its_method() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str| home.path().join(name);
    let run = |backend: &holdfast::kernel::CpuBackend, name: &str| {
        let filter = holdfast::problem::plan::Filter {
            regimes: vec![holdfast::problem::regime::find("short").expect("in the table")],
            inputs: vec![holdfast::problem::InputType::F32],
            ..Default::default()
        };
        // The copies with faults have no backward pass.
        let passes = holdfast::verify::Passes::Forward;
        let request =
            holdfast::verify::Request { filter, passes, ..holdfast::verify::Request::everything(1) };
        let results = holdfast::verify::verify(&request, backend, &|| {});
        json::write(&results, &file(name)).expect("written");
    };
    run(&holdfast::kernel::CpuBackend::new(), "good.json");
    let broken = holdfast::kernel::CpuBackend::with_faults("rk4-outer-products", None).expect("in the list");
    run(&broken, "bad.json");
    let (good, bad, out) = (file("good.json"), file("bad.json"), file("comparison.json"));
    let output = holdfast(&["compare", path(&good), path(&bad), "--json", path(&out)]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("holdfast compare: REGRESSION; "), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&fs::read(&out).expect("written")).expect("JSON");
    let worse = json["verdicts"].as_array().expect("a list");
    assert!(text.contains(&format!("{} verdicts changed (rk4 {0})", worse.len())), "{text}");
    let id = |change: &serde_json::Value| change["new"]["id"].as_str().expect("a text").to_owned();
    let lifted = worse.iter().filter(|change| id(change).ends_with("/lifted")).count();
    let invariants = worse.iter().filter(|change| id(change).starts_with("invariant/")).count();
    assert_eq!((worse.len() - lifted - invariants, lifted), (8, 8), "{text}");
    assert_eq!((&json["schema"], &json["regressed"]), (&3.into(), &true.into()));
    assert_eq!(json["verdicts"][0]["new"]["method"], "rk4");
    assert_eq!(holdfast(&["compare", path(&bad), path(&good)]).status.code(), Some(0));
}

/// A sweep over all of f32 has functions alone.
#[test]
fn functions_are_compared_by_name() {
    let of = |functions: [ScalarFunction; 2]| {
        let judged = functions.into_iter().flat_map(|function| {
            [126, 127].map(|exponent| holdfast::functions::judge(function, false, exponent, 65_521))
        });
        Results { functions: judged.collect(), ..Results::empty(1, "cpu", String::new(), String::new()) }
    };
    let old = of([ScalarFunction::Exp, ScalarFunction::FohBBar]);
    let same = compare(&old, &old).expect("comparable");
    assert_eq!((same.regressed(), same.unchanged), (false, 2));
    let mut worse = old.clone();
    worse.functions[3].verdict = Verdict::Fail;
    let change = compare(&old, &worse).expect("comparable");
    assert!(change.regressed() && change.verdicts[0].new.id == "functions/foh-b-bar", "{change:?}");
    // It is a test of its own where tests are shown, and an error where it is not measured.
    let shown = |results: &Results| junit::to_string(results).expect("XML");
    assert!(shown(&old).contains("tests=\"2\" skipped=\"0\" failures=\"0\" errors=\"0\""), "{}", shown(&old));
    assert!(
        shown(&worse).contains("tests=\"2\" skipped=\"0\" failures=\"1\" errors=\"0\""),
        "{}",
        shown(&worse)
    );
    worse.functions[3].verdict = Verdict::Unmeasured;
    assert!(
        shown(&worse).contains("tests=\"2\" skipped=\"0\" failures=\"0\" errors=\"1\""),
        "{}",
        shown(&worse)
    );
    let other = compare(&old, &of([ScalarFunction::Exp, ScalarFunction::Sin])).expect("comparable");
    assert!(other.regressed() && other.gone[0].id == "functions/foh-b-bar", "{other:?}");
}

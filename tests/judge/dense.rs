//! Bounds of dense systems: what passes and what does not, of matrices that are not normal, and where a failure is.

use holdfast::case::dense as dense_case;
use holdfast::formula::{Form, Textbook};
use holdfast::judge::budget::{self, Bounds, Budget};
use holdfast::judge::dense::{Matrix, Stored, System, Wanted, stored};
use holdfast::judge::diagnose::Work;
use holdfast::judge::quick::RADIUS;
use holdfast::judge::scan::{self, Place};
use holdfast::judge::ulp::Format;
use holdfast::method::Method;
use holdfast::problem::dense::{self, DenseProblem};
use holdfast::problem::{Problem, Weights};
use holdfast::promise::{Contract, DensePromise};
use holdfast::results::{CaseResult, Verdict};
use holdfast::tensor::{Coefficients, DenseName, InputType, Named, Tensors};
use holdfast::truth::TruthError;
use holdfast::truth::dense_systems::solve as truth;
use nalgebra::DMatrix;
use rstest::rstest;

fn drawn(name: &str) -> DenseProblem {
    dense::all().into_iter().find(|regime| regime.name == name).expect("in the list").draw(1)
}

fn judged(
    method: impl Into<Form>,
    promise: DensePromise,
    problem: &DenseProblem,
    got: &Coefficients,
) -> CaseResult {
    let form = method.into();
    let all: Vec<usize> = (0..problem.delta.len()).collect();
    let systems = dense_case::systems(problem, &all, promise);
    let wanted = dense_case::wanted(form, problem, &systems, all.len());
    explained((form, problem), &wanted, &stored(got))
}

/// The verdict, and what it is computed as where it fails.
fn explained<T>(
    of: (Form, &DenseProblem<T>),
    wanted: &Result<Wanted, TruthError>,
    got: &Named<Stored, DenseName>,
) -> CaseResult {
    let mut case = dense_case::judge(of, place(), wanted.as_ref(), got);
    if let (Ok(wanted), Verdict::Fail) = (wanted, case.verdict) {
        dense_case::explain(&mut case, wanted, got, &Work::default());
    }
    case
}

fn place() -> Place {
    let none = String::new;
    Place { id: none(), regime: none(), inputs: none(), backend: none(), rerun: none() }
}

/// Results of a careful kernel: the truth, rounded.
fn rounded(method: impl Into<Form>, problem: &DenseProblem) -> Coefficients {
    let Coefficients { a_bar, b_bar } = truth(method, problem).expect("certified");
    let narrow = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
    Coefficients { a_bar: narrow(a_bar), b_bar: narrow(b_bar) }
}

/// e^z in f32: a Taylor series, of z or of so much of it as has a norm below 1, and squares.
fn exponentials(problem: &DenseProblem, halves: bool) -> Vec<f32> {
    let n = problem.n;
    let exponential = |i: usize| {
        let (delta, a, _) = problem.system(i);
        let norm =
            a.row_iter().map(|row| row.iter().map(|a| a.norm()).sum::<f64>()).fold(0.0, f64::max) * delta;
        let halvings = if halves { norm.log2().ceil().max(0.0) as i32 } else { 0 };
        let x = a.map(|a| a.re as f32) * (delta as f32 * 0.5f32.powi(halvings));
        let identity = DMatrix::<f32>::identity(n, n);
        let mut e = identity.clone();
        for k in (1..=40).rev() {
            e = &identity + &x * e / k as f32;
        }
        for _ in 0..halvings {
            e = &e * &e;
        }
        e.transpose().iter().copied().collect::<Vec<f32>>()
    };
    (0..problem.delta.len()).flat_map(exponential).collect()
}

/// The unscaled series loses every digit to cancellation where ‖z‖ is large, and so must not pass; nor must a scaled one fail.
#[rstest]
#[case::not_normal("grcar")]
#[case::contracting("legs")]
fn a_careful_exponential_passes_and_a_bare_series_does_not(#[case] name: &str) {
    let problem = drawn(name);
    let b_bar = rounded(Method::Zoh, &problem).b_bar;
    let with = |halves| {
        let got = Coefficients { a_bar: exponentials(&problem, halves), b_bar: b_bar.clone() };
        judged(Method::Zoh, DensePromise::FAST, &problem, &got).tensors[DenseName::ABar].verdict
    };
    assert_eq!(with(true), Verdict::Pass);
    assert_eq!(with(false), Verdict::Fail);
}

/// By one and a half units of an entry's last place.
#[rstest]
fn what_is_off_by_more_than_a_rounding_fails_where_it_is(
    #[values(Method::Zoh, Method::Bilinear, Method::HighOrder)] method: Method,
) {
    let problem = drawn("stable");
    let right = rounded(method, &problem);
    let all = judged(method, DensePromise::ACCURATE, &problem, &right);
    assert_eq!(all.verdict, Verdict::Pass);

    let n = problem.n;
    let mut got = right.clone();
    for value in &mut got.a_bar[n * n + 3 * n..n * n + 4 * n] {
        *value *= 1.0 + 3.0 * f32::EPSILON;
    }
    let tensors = judged(method, DensePromise::ACCURATE, &problem, &got).tensors;
    let [a_bar, b_bar] = [&tensors[DenseName::ABar], &tensors[DenseName::BBar]];
    assert_eq!((a_bar.verdict, b_bar.verdict), (Verdict::Fail, Verdict::Pass));
    let wrong = &a_bar.wrong[0];
    assert_eq!((wrong.elements, &wrong.first[..]), (n, &[1, 3, 0][..]));
    assert_eq!(wrong.places, ["system 1", "row 3", "all columns"]);
}

#[test]
fn a_nan_fails() {
    let problem = drawn("stable");
    let mut got = rounded(Method::Bilinear, &problem);
    got.a_bar[5] = f32::NAN;
    assert_eq!(judged(Method::Bilinear, DensePromise::ACCURATE, &problem, &got).verdict, Verdict::Fail);
}

/// So near to a pole that f32 cannot tell the matrix from a singular one, and double can; and at the pole itself there is no truth.
#[test]
fn nothing_can_be_judged_beside_a_pole() {
    let mut problem = drawn("stable");

    let n = problem.n;
    assert_eq!(problem.delta[1], 1.0);
    problem.a[n * n..2 * n * n].fill(0.0);
    (0..n).for_each(|i| problem.a[n * n + i * n + i] = 2.0 - 2.0 * f32::EPSILON);
    let right = rounded(Method::Bilinear, &problem);
    let verdict =
        |promise| judged(Method::Bilinear, promise, &problem, &right).tensors[DenseName::ABar].verdict;
    assert_eq!(verdict(DensePromise::ACCURATE), Verdict::Pass);
    assert_eq!(verdict(DensePromise::FAST), Verdict::Unmeasured);
    (0..n).for_each(|i| problem.a[n * n + i * n + i] = 2.0);
    let error = truth(Method::Bilinear, &problem).expect_err("a pole").to_string();
    assert!(error.contains("system 1"), "{error}");
}

/// Names of the causes of Ā and B̄; none of what passes, or has no name.
fn causes(case: &CaseResult) -> [Vec<&str>; 2] {
    [DenseName::ABar, DenseName::BBar]
        .map(|name| case.tensors[name].diagnosis.iter().map(|one| one.name.as_str()).collect())
}

type Wrong = fn(&DenseProblem) -> Coefficients;

/// Results of other inputs.
fn with(method: Method, problem: &DenseProblem, edit: fn(&mut DenseProblem)) -> Coefficients {
    let mut edited = problem.clone();
    edit(&mut edited);
    rounded(method, &edited)
}

fn transpose(problem: &mut DenseProblem) {
    let n = problem.n;
    for a in problem.a.chunks_mut(n * n) {
        let own = a.to_vec();
        (0..n * n).for_each(|at| a[at] = own[at % n * n + at / n]);
    }
}

/// M⁻¹(I + z/2) and M⁻¹ΔB in f32, each pivot as it comes.
fn eliminated(problem: &DenseProblem) -> Coefficients {
    let (n, m) = (problem.n, problem.m);
    let (mut a_bar, mut b_bar) = (Vec::new(), Vec::new());
    for i in 0..problem.delta.len() {
        let (delta, a, b) = problem.system(i);
        let z = a.map(|a| a.re as f32 * delta as f32 / 2.0);
        let identity = DMatrix::<f32>::identity(n, n);
        let mut rows = DMatrix::<f32>::zeros(n, 2 * n + m);
        rows.columns_mut(0, n).copy_from(&(&identity - &z));
        rows.columns_mut(n, n).copy_from(&(&identity + &z));
        rows.columns_mut(2 * n, m).copy_from(&b.map(|b| b.re as f32 * delta as f32));
        for k in 0..n {
            let pivot = rows.row(k) / rows[(k, k)];
            for r in 0..n {
                let factor = rows[(r, k)];
                let row = if r == k { pivot.clone() } else { rows.row(r) - &pivot * factor };
                rows.set_row(r, &row);
            }
        }
        a_bar.extend(rows.columns(n, n).transpose().iter());
        b_bar.extend(rows.columns(2 * n, m).transpose().iter());
    }
    Coefficients { a_bar, b_bar }
}

/// `**` where a power of a matrix is meant: e^z squared three times so, and rk4's polynomial.
fn by_entries(problem: &DenseProblem) -> Coefficients {
    let mut eighth = problem.clone();
    eighth.a.iter_mut().for_each(|a| *a /= 8.0);
    let root = truth(Method::Rk4, &eighth).expect("certified").a_bar;
    let a_bar = root.into_iter().map(|x| x.powi(8) as f32).collect();
    let mut b_bar = Vec::new();
    for i in 0..problem.delta.len() {
        let (delta, a, b) = problem.system(i);
        let of_z = a.map(|a| {
            let z = a.re * delta;
            z / 2.0 + z.powi(2) / 6.0 + z.powi(3) / 24.0
        });
        let sum = of_z + DMatrix::identity(problem.n, problem.n);
        b_bar.extend((sum * b.map(|b| b.re) * delta).transpose().iter().map(|&x| x as f32));
    }
    Coefficients { a_bar, b_bar }
}

/// One of each kind of edit: other inputs, of other systems, functions, terms, factors of z, types and ways that lose digits. What is wrong
/// in one tensor alone is said of it.
#[rstest]
#[case::inputs(Method::Bilinear, "legt", |problem: &DenseProblem| with(Method::Bilinear, problem, transpose), ["a-transposed"; 2])]
#[case::other_systems(Method::Foh, "defective", |problem: &DenseProblem| with(Method::Foh, problem, |other| {
        let first = other.delta[0];
        other.delta.fill(first);
    }), ["delta-of-first"; 2])]
#[case::another_form(Method::Zoh, "stable", |problem: &DenseProblem| rounded(Textbook::ZohExact, problem), ["", "b-bar-of-zoh-exact"])]
#[case::another_term(Method::Poly, "stable", |problem: &DenseProblem| {
    let [first, second] = [Method::Poly, Method::Foh].map(|method| truth(method, problem).expect("certified"));
    let b_bar = first.b_bar.iter().zip(second.b_bar).map(|(first, second)| (first + second / 2.0) as f32);
    Coefficients { b_bar: b_bar.collect(), ..rounded(Method::Poly, problem) }
}, ["", "other-coefficient"])]
#[case::half_of_z(Method::Zoh, "legt", |problem: &DenseProblem| {
    let a_bar = with(Method::Zoh, problem, |other| other.a.iter_mut().for_each(|a| *a /= 2.0)).a_bar;
    Coefficients { a_bar, ..rounded(Method::Zoh, problem) }
}, ["z-scaled", ""])]
#[case::a_type(Method::Rk4, "legt", |problem: &DenseProblem| with(Method::Rk4, problem, |other| {
    other.b.iter_mut().for_each(|b| *b = InputType::Bf16.round(*b));
}), ["", "b-in-bf16"])]
#[case::products_by_entries(Method::Rk4, "stable", by_entries, ["squares-of-entries", "powers-of-entries"])]
#[case::lost_digits(Method::Bilinear, "pivots", eliminated, ["pivots-missing"; 2])]
#[case::zeros_have_a_place_and_no_cause(Method::Zoh, "stable", |problem: &DenseProblem| {
    let mut got = rounded(Method::Zoh, problem);
    got.a_bar[..40].fill(0.0);
    got
}, ["", ""])]
#[case::noise_is_no_division(Method::Poly, "frank", |problem: &DenseProblem| {
    let mut got = rounded(Method::Poly, problem);
    got.b_bar.iter_mut().enumerate().for_each(|(i, b)| *b += 6.4e-6 * (1.7 * i as f32).sin());
    got
}, ["", ""])]
#[case::noise_is_no_elimination(Method::Bilinear, "pivots", |problem: &DenseProblem| {
    let mut got = rounded(Method::Bilinear, problem);
    got.a_bar.iter_mut().enumerate().for_each(|(i, a)| *a *= 1.0 + 0.3 * (i as f32).sin());
    got
}, ["", ""])]
#[case::noise_has_no_cause(Method::Zoh, "stable", |problem: &DenseProblem| {
    let mut got = rounded(Method::Zoh, problem);
    got.a_bar.iter_mut().enumerate().for_each(|(i, a)| *a *= 1.0 + 1e-3 * (i as f32).sin());
    got
}, ["", ""])]
fn a_failure_is_named_by_its_edit(
    #[case] method: Method,
    #[case] regime: &str,
    #[case] wrong: Wrong,
    #[case] expected: [&str; 2],
) {
    let problem = drawn(regime);
    // Where digits are lost in f32, that is the arithmetic.
    let promise = if regime == "pivots" { DensePromise::SINGLE } else { DensePromise::ACCURATE };
    let case = judged(method, promise, &problem, &wrong(&problem));
    assert_eq!(case.verdict, Verdict::Fail);
    let found = causes(&case);
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.first().copied().unwrap_or_default(), expected, "{found:?}");
    }
}

/// At z_ii ≈ −2 the numerator of bilinear is what its own roundings leave, and others have 0 there; and 2M⁻¹ − I is a way of others, too.
#[rstest]
#[case::numerator_of_nothing(0.4, -5.0, 0.0)]
#[case::by_an_inverse(1.0, -1.9, 2.0 * (1.0f32 / (1.0 + 0.95)) - 1.0)]
fn every_way_to_a_quotient_passes(#[case] delta: f32, #[case] a: f32, #[case] a_bar: f32) {
    let problem =
        DenseProblem { weights: Weights::Real, n: 1, m: 1, delta: vec![delta], a: vec![a], b: vec![0.0] };
    let got = Coefficients { a_bar: vec![a_bar], b_bar: vec![0.0] };
    assert_eq!(judged(Method::Bilinear, DensePromise::SINGLE, &problem, &got).verdict, Verdict::Pass);
}

/// One of two systems has no truth: what is wrong with the other one fails all the same, and what is right leaves it open.
#[test]
fn a_pole_of_one_system_hides_no_other() {
    let mut problem = drawn("stable");
    let n = problem.n;
    let right = rounded(Method::Bilinear, &problem);
    assert_eq!(problem.delta[1], 1.0);
    problem.a[n * n..2 * n * n].fill(0.0);
    (0..n).for_each(|i| problem.a[n * n + i * n + i] = 2.0);
    let verdict =
        |got: &Coefficients| judged(Method::Bilinear, DensePromise::ACCURATE, &problem, got).verdict;
    assert_eq!(verdict(&right), Verdict::Unmeasured);
    let mut wrong = right.clone();
    wrong.a_bar[1] += 1.0;
    assert_eq!(verdict(&wrong), Verdict::Fail);
}

/// Results with more digits than f32 has: an error of a few units of f64 passes, and a step rounded to f32 does not.
#[test]
fn results_in_double_are_judged_in_double() {
    let drawn = drawn("legt");
    let wide = |values: &[f32], by: f64| values.iter().map(|&value| f64::from(value) * by).collect();
    let problem = DenseProblem {
        weights: drawn.weights,
        n: drawn.n,
        m: drawn.m,
        delta: wide(&drawn.delta, 1.1),
        a: wide(&drawn.a, 1.0),
        b: wide(&drawn.b, 1.0),
    };
    let of = |problem: &DenseProblem<f64>| {
        let Coefficients { a_bar, b_bar } = truth(Method::Poly, problem).expect("certified");
        let stored = |values: Vec<f64>| Stored {
            values: values.into_iter().map(|value| value * (1.0 + f64::EPSILON)).collect(),
            format: Format::F64,
        };
        [(DenseName::ABar, stored(a_bar)), (DenseName::BBar, stored(b_bar))].into_iter().collect()
    };
    let case = |got: &Named<Stored, DenseName>| {
        let systems = dense_case::systems(&problem, &[0, 1, 2], DensePromise::DOUBLE);
        // One is certified, and the others are judged by values of f64.
        let wanted = dense_case::wanted(Method::Poly.into(), &problem, &systems, 1);
        explained((Method::Poly.into(), &problem), &wanted, got)
    };
    assert_eq!(case(&of(&problem)).verdict, Verdict::Pass);
    let narrow = problem.delta.iter().map(|&delta| f64::from(delta as f32)).collect();
    let wrong = case(&of(&DenseProblem { delta: narrow, ..problem.clone() }));
    assert!(causes(&wrong).iter().all(|names| names[0] == "delta-in-f32"));
    // One wrong number is within anything that is found of it.
    let mut one = of(&problem);
    one[DenseName::ABar].values[3] += 0.25;
    let wrong = case(&one);
    assert_eq!(wrong.verdict, Verdict::Fail);
    assert_eq!(causes(&wrong), [[""; 0]; 2]);
}

/// Outputs and last states of a scan that a careful kernel returns, and bounds that are its own promise's. Without a skip and a gate the
/// sums over states are all that is rounded.
fn scanned(name: &str, contract: &Contract, is_bare: bool) -> (Problem, Tensors<f64>, Budget) {
    let mut problem =
        dense::all().into_iter().find(|regime| regime.name == name).expect("in the list").scan(1);
    if is_bare {
        (problem.d, problem.z) = (None, None);
    }
    let truth = holdfast::truth::scan::solve(&problem, &[Method::Bilinear]).expect("certified").remove(0);
    let bounds = budget::scan(Method::Bilinear, &problem, contract);
    (problem, truth.tensors, bounds)
}

/// Nothing is lost of what a promise allows, and an error of a part in a thousand is no rounding.
#[rstest]
#[case(&Contract::PRODUCTION, 1e-6)]
#[case(&Contract::FAST, 1e-3)]
#[case(&Contract::FRAMEWORK, 1e-3)]
fn a_scan_passes_as_it_is_and_fails_with_a_small_error(#[case] contract: &Contract, #[case] off: f64) {
    for (name, is_bare) in [("pairs", false), ("3 states", true), ("legs", false), ("legs", true)] {
        let (problem, want, bounds) = scanned(name, contract, is_bare);
        for is_off in [false, true] {
            let factor = if is_off { 1.0 + off } else { 1.0 };
            let got = want
                .map(|_, tensor| tensor.with(tensor.values.iter().map(|x| (x * factor) as f32).collect()));
            let judged = scan::judge(Method::Bilinear, &problem, &got, &want, &bounds);
            for (tensor, judged) in judged.iter() {
                let fails = judged.verdict == Verdict::Fail;
                assert_eq!(fails, is_off, "{name} {tensor} by {contract:?}: {:?}", judged.worst);
            }
        }
    }
}

/// Values of f64 err by far less than what is allowed, so that large runs are judged by them.
#[test]
fn quick_values_of_scans_are_near_the_truth() {
    for regime in dense::all().into_iter().filter(|regime| regime.n <= 20) {
        let problem = regime.scan(1);
        for method in Method::ALL {
            let truth = holdfast::truth::scan::solve(&problem, &[method]).expect("certified").remove(0);
            let bounds = budget::scan(method, &problem, &Contract::FRAMEWORK);
            for (name, want) in truth.tensors.iter() {
                let Bounds { value, worst_case, .. } = &bounds.tensors[name];
                for (i, (value, want_of)) in value.iter().zip(&want.values).enumerate() {
                    let most = RADIUS * worst_case[i / want.width];
                    assert!((value - want_of).abs() <= most, "{} {method} {name} {i}", regime.title());
                }
            }
        }
    }
}

/// Approximants of others fill zeros with roundings, which these kernels' series and squares leave as they are.
#[rstest]
#[case(DensePromise::FAST, true)]
#[case(DensePromise::SINGLE, false)]
fn zeros_of_a_triangle_are_certain_where_it_is_known_how_they_are_made(
    #[case] promise: DensePromise,
    #[case] are_certain: bool,
) {
    let problem = drawn("legs");
    let all: Vec<usize> = (0..problem.delta.len()).collect();
    for system in dense_case::systems(&problem, &all, promise) {
        let [a_bar, _] = system.solved(Method::Zoh.into());
        assert_eq!(a_bar.value[(0, 5)].norm(), 0.0);
        assert_eq!(a_bar.error[(0, 5)] < 1e-30, are_certain, "{}", a_bar.error[(0, 5)]);
    }
}

/// At z = 1 the terms that the kernels' series leaves of a derivative come to 457 roundings, and to none after one halving.
#[test]
fn a_series_that_is_halved_once_more_hides_no_rest() {
    let one = || Matrix::from_element(1, 1, 1.0.into());
    let system = System::new(Weights::Real, 0, (1.0, one(), one()), DensePromise::ACCURATE);
    let bound = |halvings| system.derivative(&one(), &DMatrix::zeros(1, 1), halvings).of.error[(0, 0)];
    let rest = 457.0 * DensePromise::ACCURATE.unit;
    assert!(bound([1, 1]) < rest && bound([0, 1]) >= rest, "{} {}", bound([1, 1]), bound([0, 1]));
}

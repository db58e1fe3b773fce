//! The truth against mpmath, bit for bit: `golden/reference/make_reference.py` made the values.

use std::sync::LazyLock;

use holdfast::hexfloat;
use holdfast::method::Method;
use holdfast::problem::conventions::StepLimit;
use holdfast::problem::{CoefficientProblem, Conventions, InputType, Operand, Problem, Shape, Weights};
use holdfast::tensor::TensorName;
use holdfast::truth::dense::{Input, discretize};
use holdfast::truth::{Form, TruthError, coefficient, scan};
use nalgebra::{Complex, DMatrix};
use rstest::rstest;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Parts of a number, as decimal texts (inputs) or hex floats (results).
type Parts = Vec<String>;

#[derive(Deserialize)]
struct Reference {
    scalar: Vec<Scalars>,
    dense: Vec<Dense>,
    scan: Vec<Scan>,
}

#[derive(Deserialize)]
struct Scalars {
    width: usize,
    delta: Vec<String>,
    a: Vec<Parts>,
    b: Vec<Parts>,
    /// An element without values is at the pole.
    forms: BTreeMap<String, Vec<Option<Vec<Parts>>>>,
}

#[derive(Deserialize)]
struct Dense {
    name: String,
    width: usize,
    delta: String,
    a: Vec<Vec<Parts>>,
    b: Vec<Vec<Parts>>,
    forms: BTreeMap<String, Vec<Option<Vec<Vec<Parts>>>>>,
}

#[derive(Deserialize)]
struct Scan {
    width: usize,
    variable_b: bool,
    variable_c: bool,
    softplus: bool,
    batch: usize,
    dim: usize,
    dstate: usize,
    seqlen: usize,
    groups: usize,
    u: Vec<String>,
    delta: Vec<String>,
    a: Vec<String>,
    b: Vec<String>,
    c: Vec<String>,
    d: Option<Vec<String>>,
    z: Option<Vec<String>>,
    delta_bias: Option<Vec<String>>,
    channels: Vec<(usize, usize)>,
    #[serde(default)]
    limit: Option<(String, String)>,
    forms: BTreeMap<String, ScanResult>,
}

#[derive(Deserialize)]
struct ScanResult {
    out: Vec<String>,
    last_state: Vec<String>,
}

static REFERENCE: LazyLock<Reference> = LazyLock::new(|| {
    let text = include_str!("../../golden/reference/reference.json");
    serde_json::from_str(text).expect("golden/reference/reference.json is what the script wrote")
});

fn single(text: &str) -> f32 {
    text.parse::<f64>().expect(text) as f32
}

fn double(text: &str) -> f64 {
    text.parse().expect(text)
}

fn weights(width: usize) -> Weights {
    if width == 1 { Weights::Real } else { Weights::Complex }
}

fn all_forms() -> impl Iterator<Item = Form> {
    Form::all()
}

#[test]
fn reference_covers_every_form() {
    for form in all_forms() {
        let name = form.name();
        assert!(REFERENCE.scalar.iter().all(|c| c.forms.contains_key(name)), "{name}");
        assert!(REFERENCE.dense.iter().all(|c| c.forms.contains_key(name)), "{name}");
        assert!(REFERENCE.scan.iter().all(|c| c.forms.contains_key(name)), "{name}");
    }
    assert_eq!(REFERENCE.scalar.len(), 2);
    assert!(REFERENCE.dense.len() >= 20 && REFERENCE.scan.len() >= 6);
}

#[rstest]
fn coefficients_match_mpmath_bit_for_bit(#[values(0, 1)] case: usize) {
    let case = &REFERENCE.scalar[case];
    for form in all_forms() {
        let expected = &case.forms[form.name()];
        let kept: Vec<usize> = (0..expected.len()).filter(|&i| expected[i].is_some()).collect();
        let problem = |indices: &[usize]| CoefficientProblem {
            weights: weights(case.width),
            delta: indices.iter().map(|&i| single(&case.delta[i])).collect(),
            a: indices.iter().flat_map(|&i| case.a[i].iter().map(|x| single(x))).collect(),
            b: indices.iter().flat_map(|&i| case.b[i].iter().map(|x| single(x))).collect(),
        };
        let truth = coefficient::solve(form, &problem(&kept)).expect("certified");
        for (k, &i) in kept.iter().enumerate() {
            let got: [Parts; 4] = [&truth.a_bar, &truth.b_bar, &truth.b_bar_prev, &truth.b_bar_next]
                .map(|v| v[k * case.width..(k + 1) * case.width].iter().map(|&x| hexfloat::f64(x)).collect());
            let want: [Parts; 4] = expected[i].clone().expect("kept").try_into().expect("four panels");
            assert_eq!(got, want, "{form} at delta {}, a {:?}, b {:?}", case.delta[i], case.a[i], case.b[i]);
        }
        for i in (0..expected.len()).filter(|&i| expected[i].is_none()) {
            let error = coefficient::solve(form, &problem(&[i])).expect_err("at the pole");
            assert!(matches!(error, TruthError::Pole { .. }), "{error}");
        }
    }
}

fn compare_dense<I: Input>(case: &Dense, read: fn(&Parts) -> I) {
    let matrix =
        |rows: &Vec<Vec<Parts>>| DMatrix::from_fn(rows.len(), rows[0].len(), |i, j| read(&rows[i][j]));
    let (a, b, delta) = (matrix(&case.a), matrix(&case.b), double(&case.delta));
    for form in all_forms() {
        let context = format!("{} (width {}), {form}", case.name, case.width);
        let truth = discretize(form, &a, &b, delta).unwrap_or_else(|e| panic!("{context}: {e}"));
        let panels = [Some(truth.a_bar), Some(truth.b_bar), truth.b_bar_prev, truth.b_bar_next];
        for (which, (got, want)) in panels.iter().zip(&case.forms[form.name()]).enumerate() {
            assert_eq!(got.is_some(), want.is_some(), "{context}, panel {which}");
            let (Some(got), Some(want)) = (got, want) else { continue };
            for (i, j) in (0..got.nrows()).flat_map(|i| (0..got.ncols()).map(move |j| (i, j))) {
                let parts = got[(i, j)].parts();
                let found: Parts = parts[..case.width].iter().map(|&x| hexfloat::f64(x)).collect();
                assert_eq!(found, want[i][j], "{context}, panel {which} at [{i}, {j}]: {parts:?}");
            }
        }
    }
}

#[test]
fn dense_real_steps_match_mpmath_bit_for_bit() {
    for case in REFERENCE.dense.iter().filter(|c| c.width == 1) {
        compare_dense(case, |parts| double(&parts[0]));
    }
}

#[test]
fn dense_complex_steps_match_mpmath_bit_for_bit() {
    for case in REFERENCE.dense.iter().filter(|c| c.width == 2) {
        compare_dense(case, |parts| Complex::new(double(&parts[0]), double(&parts[1])));
    }
}

fn problem(case: &Scan) -> Problem {
    let read = |texts: &Vec<String>| texts.iter().map(|t| single(t)).collect::<Vec<f32>>();
    let operand = |variable| if variable { Operand::Variable } else { Operand::Constant };
    let limits = case.limit.as_ref().map(|(low, high)| StepLimit::new(double(low), double(high)));
    let limit = limits.map_or(StepLimit::NONE, |limits| limits.expect("two limits"));
    Problem {
        shape: Shape {
            batch: case.batch,
            dim: case.dim,
            dstate: case.dstate,
            seqlen: case.seqlen,
            groups: case.groups,
        },
        weights: weights(case.width),
        input: InputType::F32,
        b_operand: operand(case.variable_b),
        c_operand: operand(case.variable_c),
        u: read(&case.u),
        delta: read(&case.delta),
        a: read(&case.a),
        b: read(&case.b),
        c: read(&case.c),
        d: case.d.as_ref().map(read),
        z: case.z.as_ref().map(read),
        delta_bias: case.delta_bias.as_ref().map(read),
        delta_softplus: case.softplus,
        initial_state: None,
        conventions: Conventions { limit, ..Conventions::default() },
        judged_channels: case.channels.clone(),
        held: None,
        packed: None,
    }
}

#[rstest]
fn scans_match_mpmath_bit_for_bit(#[values(0, 1, 2, 3, 4, 5, 6, 7, 8)] case: usize) {
    let case = &REFERENCE.scan[case];
    let forms: Vec<Form> = all_forms().collect();
    let hex = |values: &[f64]| values.iter().map(|&x| hexfloat::f64(x)).collect::<Vec<_>>();
    for truth in scan::solve(&problem(case), &forms).expect("certified") {
        let want = &case.forms[truth.method.name()];
        assert_eq!(hex(&truth.tensors[TensorName::Out].values), want.out, "{} output", truth.method);
        assert_eq!(
            hex(&truth.tensors[TensorName::LastState].values),
            want.last_state,
            "{} last state",
            truth.method
        );
    }
}

#[test]
fn a_method_solved_alone_is_the_same_as_among_all() {
    let problem = problem(&REFERENCE.scan[4]);
    let together = scan::solve(&problem, &Method::ALL).expect("certified");
    for truth in together {
        let alone = scan::solve(&problem, &[truth.method]).expect("certified").remove(0);
        assert_eq!(alone.tensors, truth.tensors, "{}", truth.method);
    }
}

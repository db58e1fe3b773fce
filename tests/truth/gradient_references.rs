//! The gradients' truth against mpmath, bit for bit, and against PyTorch's autograd for its conventions:
//! `golden/reference/make_gradients.py` and `make_gradients_torch.py` made the values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use holdfast::hexfloat;
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::tensor::GradientName;
use holdfast::truth::gradient::{GradientTruth, solve};
use rayon::prelude::*;
use serde::Deserialize;

/// A tensor's values, decimal texts or hex floats.
type Texts = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Reference<C> {
    cases: Vec<C>,
}

#[derive(Deserialize)]
struct Case {
    kind: String,
    method: Method,
    width: usize,
    /// batch, dim, dstate, seqlen, groups
    shape: [usize; 5],
    variable_b: bool,
    variable_c: bool,
    softplus: bool,
    inputs: Texts,
    given: Texts,
    /// By the input's name.
    gradients: Texts,
}

#[derive(Deserialize)]
struct TorchCase {
    /// Which of the others it is.
    case: usize,
    gradients: BTreeMap<String, Vec<f64>>,
}

static REFERENCE: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let text = include_str!("../../golden/reference/gradients.json");
    serde_json::from_str::<Reference<Case>>(text).expect("what the script wrote").cases
});

fn input_of(name: GradientName) -> &'static str {
    name.name().strip_prefix("grad.").expect("the gradient of an input")
}

fn solved(case: &Case) -> GradientTruth {
    let read = |texts: &Texts, name: &str| {
        let single = |text: &str| text.parse::<f64>().expect("a number") as f32;
        texts.get(name).map(|text| text.split(' ').map(single).collect::<Vec<f32>>())
    };
    let [batch, dim, dstate, seqlen, groups] = case.shape;
    let input = |name| read(&case.inputs, name);
    let needed = |name| input(name).expect(name);
    let operand = |variable| if variable { Operand::Variable } else { Operand::Constant };
    let problem = Problem {
        shape: Shape { batch, dim, dstate, seqlen, groups },
        weights: if case.width == 1 { Weights::Real } else { Weights::Complex },
        input: InputType::F32,
        b_operand: operand(case.variable_b),
        c_operand: operand(case.variable_c),
        u: needed("u"),
        delta: needed("delta"),
        a: needed("A"),
        b: needed("B"),
        c: needed("C"),
        d: input("D"),
        z: input("z"),
        delta_bias: input("delta_bias"),
        delta_softplus: case.softplus,
        initial_state: input("initial_state"),
        conventions: Default::default(),
        judged_channels: Vec::new(),
        held: None,
        packed: None,
    };
    let given = |name| read(&case.given, name);
    let given = OutputGradients { dout: given("dout").expect("dout"), dlast_state: given("dlast_state") };
    solve(&problem, &given, &[case.method]).expect("certified").remove(0)
}

#[test]
fn references_cover_every_method_and_layout() {
    let of = |case: &Case| (case.method, case.width, case.variable_b, case.variable_c, case.kind.clone());
    let covered: BTreeSet<_> = REFERENCE.iter().map(of).collect();
    let kinds: BTreeSet<&str> = REFERENCE.iter().map(|case| case.kind.as_str()).collect();
    assert_eq!(covered.len(), Method::ALL.len() * Weights::ALL.len() * 4 * kinds.len());
    assert!(covered.len() >= 200);
    let named: BTreeSet<_> = REFERENCE.iter().flat_map(|case| case.gradients.keys()).collect();
    assert_eq!(named.len(), GradientName::ALL.len());
}

#[test]
fn gradients_match_mpmath_bit_for_bit() {
    REFERENCE.par_iter().enumerate().for_each(|(i, case)| {
        let truth = solved(case);
        assert_eq!(truth.tensors.iter().count(), case.gradients.len(), "case {i}");
        for (name, tensor) in truth.tensors.iter() {
            let found: Vec<String> = tensor.values.iter().map(|&x| hexfloat::f64(x)).collect();
            assert_eq!(
                found.join(" "),
                case.gradients[input_of(name)],
                "case {i}, {}, {}: {name}",
                case.kind,
                case.method
            );
        }
    });
}

/// Of the published formulas in double φ₃ loses most: 4·log₂(1/|z|) bits with its derivative, 19 for these steps' least |z| of
/// 0.04. That leaves 34 bits, a few of which sums take.
const OF_DOUBLES: f64 = 1.0 / (1u64 << 30) as f64;

#[test]
fn gradients_are_pytorchs_but_for_its_rounding() {
    let text = include_str!("../../golden/reference/gradients_torch.json");
    let torch: Reference<TorchCase> = serde_json::from_str(text).expect("what the script wrote");
    assert!(torch.cases.len() >= 50);
    for TorchCase { case, gradients } in &torch.cases {
        let truth = solved(&REFERENCE[*case]);
        assert_eq!(truth.tensors.iter().count(), gradients.len(), "case {case}");
        for (name, tensor) in truth.tensors.iter() {
            let largest = tensor.values.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
            for (found, want) in tensor.values.iter().zip(&gradients[input_of(name)]) {
                let error = (found - want).abs();
                assert!(error <= OF_DOUBLES * largest, "case {case}, {name}: {found} is not {want}");
            }
        }
    }
}

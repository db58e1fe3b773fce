//! Promise: digits are called lost up to the limits themselves, and of a case's tensor by its own bounds.

use holdfast::formula::Form;
use holdfast::judge::budget::{Bounds, Budget};
use holdfast::judge::diagnose::{Case, Work};
use holdfast::judge::lost_digits::{NAME, diagnose, found};
use holdfast::method::Method;
use holdfast::problem::InputType;
use holdfast::tensor::{Tensor, TensorName, Tensors};

use crate::cases::each;
use crate::support::problems::{Layout, generator};

fn tensor(values: &[f64]) -> Tensor<f64> {
    Tensor { shape: vec![values.len()], width: 1, element: InputType::F32, values: values.to_vec() }
}

/// Errors in bounds of 1 around 0, so that nothing rounds. 2⁻²⁰ of the error may be left, whatever it is, or a quarter within its bounds.
#[test]
fn digits_are_lost_up_to_the_limits() {
    let cases: [(&str, [f64; 2], [f64; 2], Option<f64>); 10] = [
        ("a quarter within", [4.0, 0.0], [1.0, 0.0], Some(0.25)),
        ("a quarter beyond", [8.0, 0.0], [2.0, 0.0], None),
        ("more than a quarter", [4.0, 0.0], [1.0, 0.125], None),
        ("up to the bound", [0.0, 64.0], [0.0, -1.0], Some(1.0 / 64.0)),
        ("beyond the bound", [0.0, 64.0], [0.0, -1.0 - f64::EPSILON], None),
        ("so little of much", [0.0, 2097152.0], [2.0, 0.0], Some(1.0 / 1048576.0)),
        ("a little more of much", [0.0, 2097152.0], [2.0 + 1e-9, 0.0], None),
        ("nothing is left", [0.5, 3.0], [0.0, 0.0], Some(0.0)),
        ("nothing was wrong", [0.0, 0.0], [0.0, 0.0], None),
        ("double is off alone", [0.0, 0.0], [0.5, 0.0], None),
    ];
    each(cases, |(_, single, double, residual)| {
        let lost = found((&tensor(&single), &tensor(&[0.0; 2])), &double, &[1.0; 2]);
        assert_eq!(lost.map(|lost| lost.residual), residual);
    });
}

/// The output has lost its digits, the last state is wrong in double, too. Each is asked for by its name and judged by its bounds.
#[test]
fn a_tensor_of_a_case_is_judged_by_its_own_bounds() {
    let problem = Layout::plain(1, 1, 1, 2).random(&mut generator("lost digits of a case"));
    let both = |out: [f64; 2], last_state: f64| -> Tensors<f64> {
        let tensors = [(TensorName::Out, tensor(&out)), (TensorName::LastState, tensor(&[last_state]))];
        tensors.into_iter().collect()
    };
    let bounds = |bound: &[f64]| Bounds { bound: bound.to_vec(), ..Bounds::default() };
    let tensors = [(TensorName::Out, bounds(&[0.5, 2.0])), (TensorName::LastState, bounds(&[0.25]))];
    let budget = Budget { tensors: tensors.into_iter().collect(), repeats: 1.0 };
    // In bounds: 16 and 0 of the output in single, 0 and 1 in double; 8 and 6 of the state.
    let (got, want, lifted) = (both([9.0, 2.0], 7.0), both([1.0, 2.0], 5.0), both([1.0, 4.0], 6.5));
    let case = Case {
        form: Form::Method(Method::Zoh),
        problem: &problem,
        got: &got,
        want: &want,
        budget: &budget,
        work: &Work::default(),
    };
    let lost = diagnose(&case, TensorName::Out, &lifted).expect("lost digits");
    assert_eq!((lost.name.as_str(), lost.residual), (NAME, 1.0 / 16.0));
    assert!(diagnose(&case, TensorName::LastState, &lifted).is_none());
    let alone: Tensors<f64> = [(TensorName::LastState, tensor(&[5.0]))].into_iter().collect();
    assert!(diagnose(&case, TensorName::Out, &alone).is_none(), "double has no output");
    assert_eq!(diagnose(&case, TensorName::LastState, &alone).map(|lost| lost.residual), Some(0.0));
}

//! Promise: digits are called lost up to the limits themselves, and of a case's tensor by its own bounds.

use holdfast::formula::Form;
use holdfast::judge::budget::{Bounds, Budget};
use holdfast::judge::diagnose::{Case, Work};
use holdfast::judge::lost_digits::{NAME, diagnose, found};
use holdfast::method::Method;
use holdfast::problem::InputType;
use holdfast::tensor::{Tensor, TensorName, Tensors};
use rstest::rstest;

use crate::support::problems::{Layout, generator};

fn tensor(values: &[f64]) -> Tensor<f64> {
    Tensor { shape: vec![values.len()], width: 1, element: InputType::F32, values: values.to_vec() }
}

/// Errors in bounds of 1 around 0, so that nothing rounds. 2⁻²⁰ of the error may be left, whatever it is, or a quarter within its bounds.
#[rstest]
#[case::a_quarter_within([4.0, 0.0], [1.0, 0.0], Some(0.25))]
#[case::a_quarter_beyond([8.0, 0.0], [2.0, 0.0], None)]
#[case::more_than_a_quarter([4.0, 0.0], [1.0, 0.125], None)]
#[case::up_to_the_bound([0.0, 64.0], [0.0, -1.0], Some(1.0 / 64.0))]
#[case::beyond_the_bound([0.0, 64.0], [0.0, -1.0 - f64::EPSILON], None)]
#[case::so_little_of_much([0.0, 2097152.0], [2.0, 0.0], Some(1.0 / 1048576.0))]
#[case::a_little_more_of_much([0.0, 2097152.0], [2.0 + 1e-9, 0.0], None)]
#[case::nothing_is_left([0.5, 3.0], [0.0, 0.0], Some(0.0))]
#[case::nothing_was_wrong([0.0, 0.0], [0.0, 0.0], None)]
#[case::double_is_off_alone([0.0, 0.0], [0.5, 0.0], None)]
fn digits_are_lost_up_to_the_limits(
    #[case] single: [f64; 2],
    #[case] double: [f64; 2],
    #[case] residual: Option<f64>,
) {
    let lost = found((&tensor(&single), &tensor(&[0.0; 2])), &double, &[1.0; 2]);
    assert_eq!(lost.map(|lost| lost.residual), residual);
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

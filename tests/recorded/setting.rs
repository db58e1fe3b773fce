//! Promise: what a regime poses with heads, packed or from a state is read from its tensors as it was drawn.

use holdfast::problem::plan::Spec;
use holdfast::problem::setting::{PackedBy, Setting};
use holdfast::problem::{InputType, Operand, Order, Problem, Shape, Weights, regime};
use holdfast::tensor::GradientName;
use safetensors::Dtype;

use crate::conventions::whole;
use crate::packed::{integers, starts};
use crate::written::{File, tensor};

/// The file of a problem, whose output is its u.
fn file(problem: &Problem, setting: &Setting) -> File {
    let layout = ("layout", setting.order.name());
    let mut file = File::default().stating(&[layout, ("delta_softplus", "true")]);
    for (like, (name, values, _)) in GradientName::ALL.into_iter().zip(problem.inputs()) {
        let (mut shape, values) = problem.recorded(like, values.expect("everything is on"));
        let dtype = if problem.grid(like)[0] == 2 { Dtype::C64 } else { Dtype::F32 };
        shape.truncate(shape.len() - usize::from(dtype == Dtype::C64));
        file.set(name, tensor(dtype, &shape, &values));
    }
    file.set("out.zoh", file.get("u").clone());
    let Shape { batch, seqlen, .. } = problem.shape;
    let begin = |item: usize| {
        problem.sequences(item).iter().map(|sequence| sequence.positions.start).collect::<Vec<_>>()
    };
    match setting.packed {
        Some(PackedBy::Starts) => file.set("cu_seqlens", starts(&[begin(0), vec![seqlen]].concat())),
        Some(PackedBy::Indices) => {
            let of_item = |item| {
                let begin = begin(item);
                (0..seqlen).map(move |l| begin.iter().filter(|&&start| start <= l).count() as i64)
            };
            let indices: Vec<i64> = (0..batch).flat_map(of_item).collect();
            file.set("seq_idx", integers(&indices, &[batch, seqlen]));
        }
        None => {}
    }
    file
}

#[test]
fn a_problem_of_a_setting_is_what_its_tensors_are_read_as() {
    let regime = regime::find("everything-on").expect("a regime");
    let packings = [None, Some(PackedBy::Indices), Some(PackedBy::Starts)];
    for (order, packed) in Order::ALL.into_iter().flat_map(|order| packings.map(|packed| (order, packed))) {
        for weights in Weights::ALL {
            let (input, b, c) = (InputType::F32, Operand::Variable, Operand::Variable);
            let spec = Spec { regime, weights, input, b, c };
            let setting = Setting { order, headdim: 3, packed, steps: Some(9), state: InputType::Bf16 };
            let problem = spec.draw_in(&setting, 1);
            let sequences: usize = (0..problem.shape.batch).map(|item| problem.sequences(item).len()).sum();
            assert!(packed.is_none() || sequences > 2 * problem.shape.batch, "{sequences}");
            let read = whole(&file(&problem, &setting).recording()).problem;
            assert_eq!((read.shape, &read.packed), (problem.shape, &problem.packed), "{setting:?}");
            for (read, drawn) in read.inputs().into_iter().zip(problem.inputs()) {
                assert_eq!(read, drawn, "{setting:?}, {weights}");
            }
        }
    }
}

//! Promise: what a regime poses with heads, packed or from a state is read from its tensors as it was drawn.

use holdfast::problem::plan::Spec;
use holdfast::problem::setting::{PackedBy, Setting};
use holdfast::problem::{InputType, Operand, Order, Problem, Weights, regime};
use holdfast::tensor::GradientName;
use safetensors::Dtype;

use crate::conventions::whole;
use crate::packed::{integers, starts};
use crate::written::{File, tensor};

/// The file of a problem, whose output is its u.
fn file(problem: &Problem, setting: &Setting) -> File {
    let mut file = File::default();
    let mut set = |name: &str, like, values: &[f32]| {
        let (mut shape, values) = problem.recorded(like, values);
        let is_complex = problem.gradient(like, Vec::<f32>::new()).width == 2;
        let dtype = if is_complex { Dtype::C64 } else { Dtype::F32 };
        shape.truncate(shape.len() - usize::from(is_complex));
        file.set(name, tensor(dtype, &shape, &values));
    };
    for (like, (name, values, _)) in GradientName::ALL.into_iter().zip(problem.inputs()) {
        set(name, like, values.expect("everything is on"));
    }
    set("out.zoh", GradientName::U, &problem.u);
    let begin = |item: usize| {
        let sequences = problem.sequences(item).into_owned();
        sequences.iter().map(|sequence| sequence.positions.start).collect::<Vec<_>>()
    };
    let seqlen = problem.shape.seqlen;
    match setting.packed {
        Some(PackedBy::Starts) => file.set("cu_seqlens", starts(&[begin(0), vec![seqlen]].concat())),
        Some(PackedBy::Indices) => {
            let of_item = |item: usize| {
                let begin = begin(item);
                (0..seqlen).map(move |l| begin.iter().filter(|&&start| start <= l).count() as i64)
            };
            let indices: Vec<i64> = (0..problem.shape.batch).flat_map(of_item).collect();
            file.set("seq_idx", integers(&indices, &[problem.shape.batch, seqlen]));
        }
        None => {}
    }
    file.metadata = [("layout", setting.order.name()), ("delta_softplus", "true")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
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

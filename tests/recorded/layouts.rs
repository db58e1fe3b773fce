//! Promise: a run is judged as it lies in its file: in each order of the axes, with heads, and with steps that channels share. Places are
//! said in the file's own order and words, and what does not fit is told what would.

use holdfast::check::{Options, check};
use holdfast::judge::diagnose::Budget;
use holdfast::kernel::{Backend as _, ReferenceBackend};
use holdfast::method::Method;
use holdfast::problem::conventions::Direction;
use holdfast::problem::recorded::Recording;
use holdfast::problem::{InputType, Order, OutputGradients, Problem, Shape, Shared, Weights};
use holdfast::results::Verdict;
use holdfast::tensor::GradientName::{self, A, D, Delta, DeltaBias};
use holdfast::tensor::{Gradients, TensorName};
use holdfast::truth::gradient::solve;
use safetensors::Dtype;

use crate::backward::{self, rounded};
use crate::support::problems::{Layout, generator};
use crate::written::{ComplexAs, File, Tensor, dtype, failing, tensor};

/// Channels of a head.
const P: usize = 2;
pub const SHAPE: Shape = Shape { batch: 2, dim: 6, dstate: 4, seqlen: 7, groups: 3 };

/// A problem whose heads of `P` channels have one Δ, A, D and bias.
pub fn headed(weights: Weights, input: InputType) -> (Problem, OutputGradients) {
    headed_of(SHAPE, weights, input)
}

pub fn headed_of(shape: Shape, weights: Weights, input: InputType) -> (Problem, OutputGradients) {
    let (mut problem, given) =
        Layout { weights, input, ..Layout::whole(shape) }.with_loss(&mut generator("layouts"));
    share(&mut problem);
    (problem, given)
}

/// Gives the channels of a head the Δ, A, D and bias of its first one.
pub fn share(problem: &mut Problem) {
    let (Shape { dstate, seqlen, .. }, width) = (problem.shape, problem.weights.width());
    let first = |values: &mut Vec<f32>, row: usize, own: usize| {
        for head in values.chunks_mut(row * P) {
            let shared = head[..own].to_vec();
            head.chunks_mut(own).for_each(|to| to.copy_from_slice(&shared));
        }
    };
    first(&mut problem.delta, seqlen, seqlen);
    first(&mut problem.a, dstate * width, width);
    problem.d.iter_mut().chain(&mut problem.delta_bias).for_each(|values| first(values, 1, 1));
}

/// The tensor with its axes in this order.
pub fn permuted(from: &Tensor, order: &[usize]) -> Tensor {
    let shape: Vec<usize> = order.iter().map(|&axis| from.shape[axis]).collect();
    let count: usize = from.shape.iter().product();
    let size = from.bytes.len() / count;
    let stride = |axis: usize| from.shape[axis + 1..].iter().product::<usize>();
    let mut bytes = Vec::with_capacity(from.bytes.len());
    for i in 0..count {
        let (mut rest, mut at) = (i, 0);
        for (to, &axis) in order.iter().enumerate().rev() {
            at += rest % shape[to] * stride(axis);
            rest /= shape[to];
        }
        bytes.extend(&from.bytes[at * size..(at + 1) * size]);
    }
    Tensor { dtype: from.dtype, shape, bytes }
}

/// Each `step`-th index along an axis.
pub fn every(from: &Tensor, axis: usize, step: usize) -> Tensor {
    let inner = from.bytes.len() / from.shape[..=axis].iter().product::<usize>();
    let rows =
        from.bytes.chunks(inner).enumerate().filter(|(i, _)| (i % from.shape[axis]).is_multiple_of(step));
    let mut shape = from.shape.clone();
    shape[axis] = shape[axis].div_ceil(step);
    Tensor { dtype: from.dtype, shape, bytes: rows.flat_map(|(_, row)| row.to_vec()).collect() }
}

/// Heads of `P` in place of channels, which are this axis.
fn split(from: Tensor, axis: usize) -> Tensor {
    let mut shape = from.shape.clone();
    shape.splice(axis..=axis, [from.shape[axis] / P, P]);
    Tensor { shape, ..from }
}

/// The file in another layout. Gradients of what heads share are sums already.
pub fn laid_out(plain: &File, order: Order) -> File {
    if order == Order::Bdl {
        return plain.clone();
    }
    let mut file = File { metadata: plain.metadata.clone(), ..File::default() };
    file.metadata.insert("layout".to_owned(), order.name().to_owned());
    for (name, from) in &plain.tensors {
        let mut parts = name.split('.');
        let is_gradient = name.starts_with("grad.");
        let role = parts.nth(usize::from(is_gradient)).expect("it has a name");
        let heads = order == Order::Blhp;
        let of_head = |t: &Tensor, axis| if heads && !is_gradient { every(t, axis, P) } else { t.clone() };
        let tensor = match role {
            "u" | "z" | "out" | "dout" if heads => split(permuted(from, &[0, 2, 1]), 2),
            "u" | "z" | "out" | "dout" => permuted(from, &[0, 2, 1]),
            "delta" => permuted(&of_head(from, 1), &[0, 2, 1]),
            "B" | "C" if from.shape.len() == 5 => permuted(from, &[0, 3, 1, 2, 4]),
            "B" | "C" => permuted(from, &[0, 3, 1, 2]),
            "A" if heads && !is_gradient => {
                let one = every(&of_head(from, 0), 1, from.shape[1]);
                Tensor { shape: vec![one.shape[0]], ..one }
            }
            "D" | "delta_bias" => of_head(from, 0),
            "initial_state" | "last_state" | "dlast_state" if heads => split(from.clone(), 1),
            _ => from.clone(),
        };
        file.set(name, tensor);
    }
    file
}

/// A plain file of what the kernels make of the problem.
fn recorded(problem: &Problem, complex: ComplexAs) -> File {
    let mut file = File::of(problem, complex);
    let output = ReferenceBackend.scan(Method::Zoh, problem).expect("it runs");
    let [out, state] = [TensorName::Out, TensorName::LastState].map(|name| &output[name].values[..]);
    file.add_output(problem, "zoh", out, Some(state), complex);
    file
}

/// The numbers of every layout are those of the plain one, in every type, and so are its fingerprint and its verdict.
#[test]
fn every_layout_is_the_same_run() {
    for weights in Weights::ALL {
        for input in InputType::ALL {
            let (problem, _) = headed(weights, input);
            let complex = if input == InputType::F32 { ComplexAs::C64 } else { ComplexAs::Trailing };
            let plain = recorded(&problem, complex);
            let rows: Vec<usize> = (0..SHAPE.batch * SHAPE.dim).collect();
            let fingerprint = plain.recording().overview().expect("a run").fingerprint;
            let orders = [Order::Bld, Order::Blhp];
            // A complex A of heads is complex64.
            let orders = orders.into_iter().filter(|order| {
                *order == Order::Bld || weights == Weights::Real || complex == ComplexAs::C64
            });
            for order in orders {
                let file = laid_out(&plain, order);
                assert_eq!(file.recording().overview().expect("a run").fingerprint, fingerprint);
                assert_eq!(file.verdict(), Verdict::Pass, "{weights} {input} {order}");
                // Four axes of u are Mamba-2's, whether the metadata say so or not.
                assert!(order != Order::Blhp || file.without("layout").verdict() == Verdict::Pass);
                // As the scan goes, from the last position on as well.
                for direction in Direction::ALL {
                    let [want, got] = [&plain, &file].map(|file| {
                        let file = file.stating(&[("direction", direction.name())]);
                        file.recording().by_positions(3).read(&rows).expect("a run")
                    });
                    let inputs = got.problem.inputs().into_iter().zip(want.problem.inputs());
                    for ((name, got, _), (_, want, _)) in inputs {
                        assert_eq!(got, want, "{weights} {input} {order} {name} {direction}");
                    }
                    assert_eq!(got.outputs[0].tensors, want.outputs[0].tensors);
                }
            }
        }
    }
}

/// A head that reads another head's Δ fails, and is said to be that head, in the order of the file.
#[test]
fn a_head_that_reads_another_is_named() {
    let (problem, _) = headed(Weights::Real, InputType::F32);
    let mut wrong = problem.clone();
    for row in [4, 5] {
        let start = (SHAPE.dim + row) * SHAPE.seqlen;
        wrong.delta.copy_within(SHAPE.dim * SHAPE.seqlen..(SHAPE.dim + 1) * SHAPE.seqlen, start);
    }
    let right = laid_out(&recorded(&problem, ComplexAs::Trailing), Order::Blhp);
    let mut file = laid_out(&recorded(&wrong, ComplexAs::Trailing), Order::Blhp);
    assert_eq!(right.verdict(), Verdict::Pass);
    file.set("delta", right.get("delta").clone());
    let case = file.judged();
    assert_eq!(case.verdict, Verdict::Fail);
    let out = &case.tensors[TensorName::Out];
    let places = out.wrong[0].places.join(", ");
    assert!(places.starts_with("item 1, ") && places.contains("head 2, all channels"), "{places}");
    let worst = out.worst.as_ref().expect("one");
    let [item, l, head, channel] = worst.index[..] else { panic!("{:?}", worst.index) };
    assert_eq!(worst.place, format!("item {item}, position {l}, head {head}, channel {channel}"));
    assert_eq!((item, head), (1, 2));
    for given in [format!("A[{head}] = "), format!("B[{item}, {l}, {head}, 0] = ")] {
        assert!(worst.inputs.iter().any(|one| one.starts_with(&given)), "{worst:?}");
    }
    let state = &case.tensors[TensorName::LastState].worst.as_ref().expect("one").index;
    assert!(matches!(state[..], [1, 2, _, _]), "{state:?}");
}

/// A shape that does not fit is told its axes, and how to bring them into order.
#[test]
fn a_wrong_shape_is_told_what_would_fit() {
    let (problem, _) = headed(Weights::Real, InputType::F32);
    let plain = recorded(&problem, ComplexAs::Trailing);
    let of_heads = laid_out(&plain, Order::Blhp);
    let turned = laid_out(&plain, Order::Bld);
    let zeros = |shape: &[usize]| tensor(Dtype::F32, shape, &vec![0.0; shape.iter().product()]);
    let (bdl, bld, blhp) = (&plain, &turned, &of_heads);
    for (file, name, shape, says) in table! {
        (blhp, "delta", vec![2usize, 3, 7], "delta is (b, h, l): transpose it to (b, l, h) by delta.transpose(1, 2).contiguous()"),
        (blhp, "B", vec![2, 3, 4, 7], "B is (b, g, n, l): transpose it to (b, l, g, n) by B.permute(0, 3, 1, 2).contiguous()"),
        (blhp, "B", vec![2, 7, 4], "expected (2, 7, groups, 4) (hint: B and C are (b, l, g, n): B.unsqueeze(2) for a single group"),
        (blhp, "out.zoh", vec![2, 3, 2, 7], "expected (2, 7, 3, 2) (hint: out.zoh is (b, h, p, l): transpose it"),
        (blhp, "delta", vec![2, 7, 6], "expected (2, 7, 3) (hint: layout `blhp` has u, z, out (b, l, h, p); delta (b, l, h)"),
        (blhp, "A", vec![6, 3], "expected (heads)"),
        (blhp, "A", vec![4], "expected (3): u has as many heads"),
        (blhp, "A", vec![2], "tensor `u` has shape (2, 7, 3, 2), expected (batch, seqlen, heads, p): A has 2 heads (hint: heads and p are swapped"),
        (blhp, "last_state.zoh", vec![2, 6, 3], "expected (2, 3, 2, 4)"),
        (blhp, "u", vec![2, 7, 6], "expected (batch, seqlen, heads, p)"),
        (bdl, "u", vec![2, 7, 6], "state the metadata `layout` = `bld` if u, delta, z and outputs are (b, l, d)"),
        (bdl, "delta", vec![2, 7, 6], "delta is (b, l, d): transpose it to (b, d, l) by delta.transpose(1, 2).contiguous(); or state the metadata `layout` = `bld`"),
        (bdl, "delta", vec![2, 4, 7], "expected (2, 6, 7) (hint: layout `bdl` has u, z, out (b, d, l); delta (b, d, l), or (b, k, l) of k shared steps"),
        (bdl, "B", vec![2, 7, 3, 4], "B is (b, l, g, n): transpose it to (b, g, n, l)"),
        (bdl, "A", vec![4], "(heads) of what their channels share, with h that divide dim = 6"),
        (bdl, "D", vec![3], "tensor `D` has shape (3), expected (6)"),
        (bld, "u", vec![2, 6, 7], "leave out the metadata `layout` if u, delta, z and outputs are (b, d, l)"),
        (bld, "C", vec![2, 7, 3], "B.unsqueeze(2) for a single group"),
    } {
        file.with(name, zeros(shape)).is_refused(says);
    }
    plain
        .stating(&[("layout", "lbd")])
        .is_refused("metadata `layout` is `lbd`, expected one of bdl, bld, blhp");
}

/// Without heads in u: steps of `P` channels each, and A of heads, in the plain order and in the other one.
#[test]
fn channels_share_steps_without_heads() {
    let (problem, _) = headed(Weights::Real, InputType::F32);
    let mut plain = recorded(&problem, ComplexAs::Trailing);
    for name in ["delta", "delta_bias", "A", "D"] {
        let mut shared = every(plain.get(name), usize::from(name == "delta"), P);
        if name == "A" {
            shared = every(&shared, 1, SHAPE.dstate);
            shared.shape.pop();
        }
        plain.set(name, shared);
        assert_eq!(plain.verdict(), Verdict::Pass, "{name} shared");
    }
    assert_eq!(laid_out(&plain, Order::Bld).verdict(), Verdict::Pass);
    // Channel c takes step c // P, and no other one.
    let mut wrong = problem.clone();
    let Shape { dim, seqlen, .. } = SHAPE;
    for (row, steps) in wrong.delta.chunks_mut(seqlen).enumerate() {
        let other = row / dim * dim + row % (dim / P) * P;
        steps.copy_from_slice(&problem.delta[other * seqlen..][..seqlen]);
    }
    let output = ReferenceBackend.scan(Method::Zoh, &wrong).expect("it runs");
    plain.set("out.zoh", tensor(Dtype::F32, &[2, 6, 7], &output[TensorName::Out].values));
    assert_eq!(plain.verdict(), Verdict::Fail);
}

/// All that heads share.
fn shared() -> Shared {
    Shared { delta: Some(P), delta_bias: Some(P), a: Some(P), d: Some(P) }
}

/// A file of a backward pass whose gradients have these shapes.
fn with_gradients(problem: &Problem, given: &OutputGradients, gradients: &Gradients<f32>) -> File {
    let complex = if problem.weights == Weights::Complex { ComplexAs::C64 } else { ComplexAs::Trailing };
    let of_weights = if problem.weights == Weights::Complex { Dtype::C64 } else { Dtype::F32 };
    let mut file = backward::recorded((problem, given), "zoh", &Gradients::default(), complex);
    for (name, gradient) in gradients.iter() {
        let dtype = if gradient.width == 2 { of_weights } else { dtype(gradient.element) };
        file.set(&format!("{name}.zoh"), tensor(dtype, &gradient.shape, &gradient.values));
    }
    file
}

/// A gradient that heads share is the sum of what it would be by channels, and by states of A: of the truth, whose roundings to f64
/// add up; and of a pass, which is judged by the bound of that sum, in every layout and beside inputs of every channel's own. A sum that
/// lacks a channel fails, and its head is named.
#[test]
fn gradients_of_heads_are_sums() {
    for weights in Weights::ALL {
        let (mut problem, given) = headed(weights, InputType::F32);
        let each = solve(&problem, &given, &[Method::Zoh]).expect("certified").remove(0).tensors;
        problem.conventions.axes.shared = shared();
        let whole = solve(&problem, &given, &[Method::Zoh]).expect("certified").remove(0).tensors;
        for name in [Delta, DeltaBias, A, D] {
            let width = each[name].width;
            let (row, own) = match name {
                Delta => (SHAPE.seqlen, SHAPE.seqlen),
                A => (SHAPE.dstate * width, width),
                _ => (1, 1),
            };
            // Heads may share this one alone.
            let mut alone = problem.clone();
            alone.conventions.axes.shared = Shared::default();
            *alone.conventions.axes.shared.of(name).expect("heads share it") = Some(P);
            let mut gradients = rounded(&alone, &given, Method::Zoh);
            assert_eq!(
                with_gradients(&alone, &given, &gradients).verdict(),
                Verdict::Pass,
                "{weights} {name}"
            );
            for (i, got) in whole[name].values.iter().enumerate() {
                let (head, at) = (i / own, i % own);
                let terms = || each[name].values[head * row * P..][..row * P].iter().skip(at).step_by(own);
                let (sum, size) = (terms().sum::<f64>(), terms().map(|term| term.abs()).sum::<f64>());
                assert!((got - sum).abs() <= 1e-14 * size, "{weights} {name}[{i}]: {got}, {sum}");
                if head == 1 {
                    // Without its first channel.
                    gradients[name].values[i] -= terms().take(row / own).sum::<f64>() as f32;
                }
            }
            let case = with_gradients(&alone, &given, &gradients).judged();
            let places = &case.tensors[name].wrong[0].places;
            assert!(places.contains(&"head 1".to_owned()), "{weights} {name}: {places:?}");
        }
        let plain = with_gradients(&problem, &given, &rounded(&problem, &given, Method::Zoh));
        for order in Order::ALL {
            let case = laid_out(&plain, order).judged();
            assert_eq!(case.verdict, Verdict::Pass, "{weights} {order}");
            assert_eq!(case.tensors.iter().count(), 9);
        }
    }
}

/// Complex gradients are pairs of floats or complex64, whichever their inputs are, in the file's order; those of real inputs are real.
#[test]
fn gradients_are_complex_as_they_like() {
    let (mut problem, given) = headed(Weights::Complex, InputType::F32);
    problem.conventions.axes.shared = shared();
    let gradients = rounded(&problem, &given, Method::Zoh);
    let plain = with_gradients(&problem, &given, &gradients);
    for order in Order::ALL {
        let of_order = laid_out(&plain, order);
        let mut pairs = of_order.clone();
        for (name, tensor) in &of_order.tensors {
            if name.starts_with("grad.") && tensor.dtype == Dtype::C64 {
                let shape = [&tensor.shape[..], &[2]].concat();
                pairs.set(name, Tensor { dtype: Dtype::F32, shape, bytes: tensor.bytes.clone() });
            }
        }
        assert_eq!(pairs.verdict(), Verdict::Pass, "{order}");
        let complex = of_order.with("grad.delta.zoh", tensor(Dtype::C64, &[2, 3, 7], &[0.0; 84]));
        complex.is_refused("tensor `grad.delta.zoh` is of type C64");
    }
    let zeros = vec![0.0; gradients[GradientName::B].values.len()];
    let other = laid_out(&plain, Order::Bld).with("grad.B.zoh", tensor(Dtype::F32, &[2, 3, 4, 7, 2], &zeros));
    other.is_refused("tensor `grad.B.zoh` has shape (2, 3, 4, 7, 2)");
}

#[test]
fn sizes_of_nothing_are_told_before_they_are_multiplied() {
    let mut file = File::default();
    let huge = 1usize << 60;
    for (name, shape) in
        [("u", vec![0, huge, 1]), ("delta", vec![0, huge, 1]), ("A", vec![1]), ("B", vec![0, huge, 16, 1])]
    {
        let count = shape.iter().product();
        file.set(name, tensor(Dtype::F32, &shape, &vec![0.0; count]));
    }
    file.set("C", tensor(Dtype::F32, &[0, huge, 16, 1], &[]));
    file.set("out.zoh", tensor(Dtype::F32, &[0, huge, 1], &[]));
    file.is_refused("batch = 0");
}

/// Shapes that differ from pass to pass are refused: they are compared with each other.
#[test]
fn passes_share_alike() {
    let (mut problem, given) = headed(Weights::Real, InputType::F32);
    let plain = rounded(&problem, &given, Method::Zoh);
    let mut file = with_gradients(&problem, &given, &plain);
    problem.conventions.axes.shared = shared();
    let of_heads = rounded(&problem, &given, Method::Zoh);
    file.set("grad.A.foh", tensor(Dtype::F32, &of_heads[A].shape, &of_heads[A].values));
    file.is_refused("the shape of the first grad.A");
    let file = with_gradients(&problem, &given, &plain);
    file.with("grad.delta.zoh", tensor(Dtype::F32, &[2, 4, 7], &[0.0; 56])).is_refused(
        "expected (2, 6, 7) (hint: a gradient has the shape of its input, or of what heads share",
    );
}

/// A run of NumPy's with heads, and a backward pass that lacks rows of each chunk: only what sums them up is wrong.
#[test]
fn rows_that_a_backward_pass_lacks_show_in_what_heads_sum() {
    let judged = |name: &str| {
        let path = format!("{}/golden/recorded/{name}.safetensors", env!("CARGO_MANIFEST_DIR"));
        let options = Options { diagnosis: Budget::Off, ..Options::EVERYTHING };
        let recording = Recording::open(path.as_ref()).expect("a run");
        check("run", "run", &recording, &options, &|| {}).expect("a run").cases
    };
    let [right, wrong] = ["heads", "heads-lost-rows"].map(judged);
    for (name, tensor) in right.iter().flat_map(|case| case.tensors.iter()) {
        let share = tensor.worst.as_ref().expect("judged").share;
        assert!(share < 0.5, "{name} at {share} of its bound");
    }
    let failing: Vec<&str> = wrong.iter().flat_map(failing).collect();
    assert_eq!(failing, ["grad.delta", "grad.A", "grad.delta_bias"]);
}

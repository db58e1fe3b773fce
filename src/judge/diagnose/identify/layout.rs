//! Inputs that are taken to lie in memory otherwise than they do: the order of their axes, how far apart their rows are, and where
//! the parts of complex numbers stand.

use super::changes::{Change, Part};
use crate::judge::faults::place::{Input, Order, Pairs, Place};
use crate::judge::faults::variant::Variant;
use crate::problem::{Operand, Problem, Weights};
use crate::sorted;

/// Inputs whose axes are taken to lie in memory in another order.
pub fn orders(problem: &Problem) -> Vec<Change> {
    let shape = problem.shape;
    let variable = |operand| operand == Operand::Variable;
    let (b, c) = (variable(problem.b_operand), variable(problem.c_operand));
    let operand = ["batch", "groups", "dstate", "seqlen"];
    let sequence = ["batch", "dim", "", "seqlen"];
    let (of_operand, of_sequence) =
        ([shape.batch, shape.groups, shape.dstate, shape.seqlen], [shape.batch, shape.dim, 1, shape.seqlen]);
    let inputs: [(&str, &str, &'static [Input], bool, bool); 6] = [
        ("u", "u", &[Input::U], true, false),
        ("delta", "delta", &[Input::Delta], true, false),
        ("z", "z", &[Input::Z], problem.z.is_some(), false),
        ("b", "B", &[Input::B], b, true),
        ("c", "C", &[Input::C], c, true),
        ("b-and-c", "each of B and C", &[Input::B, Input::C], b && c, true),
    ];
    let mut all = Vec::new();
    for (name, written, inputs, _, is_operand) in inputs.into_iter().filter(|(.., has, _)| *has) {
        let (axes, sizes) = if is_operand { (operand, of_operand) } else { (sequence, of_sequence) };
        let shows = |order: &Order| -> Vec<u8> {
            order.iter().copied().filter(|axis| sizes[usize::from(*axis)] > 1).collect()
        };
        let mut known = vec![shows(&Place::RIGHT.order)];
        // What is read along the wrong one of its last two axes is named otherwise, but for both of B and C.
        if inputs.len() == 1 {
            known.push(shows(if is_operand { &[0, 1, 3, 2] } else { &[0, 3, 2, 1] }));
        }
        for order in permutations() {
            let shown = shows(&order);
            if known.contains(&shown) {
                continue;
            }
            known.push(shown);
            let list = |order: &Order| {
                let names = order.iter().map(|axis| axes[usize::from(*axis)]).filter(|name| !name.is_empty());
                names.collect::<Vec<_>>().join(", ")
            };
            let what = format!(
                "the memory of {written}, ({}), is read as ({})",
                list(&Place::RIGHT.order),
                list(&order)
            );
            let change = move |v: &mut Variant| {
                inputs.iter().for_each(|&input| v.places[input as usize].order = order);
            };
            all.push(Change::new(
                Part::Place(inputs[0] as usize),
                format!("{name}-axes-exchanged"),
                what,
                change,
            ));
        }
    }
    all
}

/// Of four axes; those that exchange two come first.
fn permutations() -> Vec<Order> {
    let mut all: Vec<Order> = Vec::new();
    for code in 0..256u32 {
        let order = [0, 2, 4, 6].map(|shift| (code >> shift & 3) as u8);
        if (0..4).all(|axis| order.contains(&axis)) {
            all.push(order);
        }
    }
    sorted::by_key(&mut all, &|order| (0..4u8).filter(|&axis| order[usize::from(axis)] != axis).count());
    all
}

/// Complex numbers whose parts lie otherwise in memory.
pub fn pairs(problem: &Problem) -> Vec<Change> {
    if problem.weights == Weights::Real {
        return Vec::new();
    }
    let layouts = [
        (
            Pairs::Halves,
            "halves",
            "is read as halves: along its last axis all real parts, then all imaginary parts",
        ),
        (Pairs::Planes, "planes", "is read as two planes: all real parts, then all imaginary parts"),
        (Pairs::Exchanged, "parts-exchanged", "is read with real and imaginary parts in each other's place"),
    ];
    let of: [(&str, &str, &'static [Input]); 5] = [
        ("c", "C", &[Input::C]),
        ("b", "B", &[Input::B]),
        ("a", "A", &[Input::A]),
        ("b-and-c", "each of B and C", &[Input::B, Input::C]),
        ("a-b-and-c", "each of A, B and C", &[Input::A, Input::B, Input::C]),
    ];
    let mut all = Vec::new();
    for (layout, short, what) in layouts {
        for (name, written, inputs) in of {
            all.push(Change::new(
                Part::Place(inputs[0] as usize),
                format!("{name}-as-{short}"),
                format!("{written} {what}"),
                move |v: &mut Variant| {
                    inputs.iter().for_each(|&input| v.places[input as usize].pairs = layout);
                },
            ));
        }
    }
    all
}

/// Inputs whose rows are taken to begin in memory at multiples of another number than their length.
pub fn row_strides(problem: &Problem) -> Vec<Change> {
    let shape = problem.shape;
    let constant = |operand| operand == Operand::Constant;
    let (b, c) = (constant(problem.b_operand), constant(problem.c_operand));
    let sequences = shape.batch * shape.dim;
    let of_operand = |is_constant: bool| match is_constant {
        true => (true, shape.dstate, shape.dim),
        false => (false, shape.seqlen, shape.batch * shape.groups * shape.dstate),
    };
    let inputs = [
        ("a", "A", Input::A, (true, shape.dstate, shape.dim)),
        ("b", "B", Input::B, of_operand(b)),
        ("c", "C", Input::C, of_operand(c)),
        ("u", "u", Input::U, (false, shape.seqlen, sequences)),
        ("delta", "delta", Input::Delta, (false, shape.seqlen, sequences)),
        ("z", "z", Input::Z, (false, shape.seqlen, if problem.z.is_some() { sequences } else { 0 })),
    ];
    let mut all = Vec::new();
    for (name, written, input, (is_constant, length, rows)) in inputs {
        let mut strides: Vec<usize> =
            [8, 16, 32, 64, 128].map(|multiple| length.next_multiple_of(multiple)).into();
        strides.extend([8, 16, 32, 64, 128].map(|multiple| length / multiple * multiple));
        strides.extend([length.saturating_sub(1), length + 1, shape.dim, shape.seqlen, shape.dstate]);
        if is_constant {
            strides.extend(1..2 * length);
        }
        // Further apart all rows but the first would be beyond the end.
        strides.retain(|stride| (1..rows * length).contains(stride) && *stride != length && rows > 1);
        strides.sort_unstable();
        strides.dedup();
        for stride in strides {
            let s = if stride == 1 { "" } else { "s" };
            let what =
                format!("rows of {written} are read {stride} number{s} apart in memory in place of {length}");
            all.push(Change::new(
                Part::Place(input as usize),
                format!("{name}-row-stride"),
                what,
                move |v: &mut Variant| {
                    v.places[input as usize].row_stride = Some(stride);
                },
            ));
        }
    }
    all
}

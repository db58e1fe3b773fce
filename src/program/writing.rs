//! Other ways of writing what a form specifies, and other forms: slips of an implementation are small edits of the way in which it is
//! written.

use super::build::Parts;
use super::graph::{Axis, Function, Graph, Index, Input, Op, Scan};
use super::mask::{Place, Set};
use super::{Program, Symbol};
use crate::formula::Form;
use crate::problem::Problem;

/// A way of writing a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// As spec.md has it.
    Specified,
    /// Ā, B̄ or both of another form.
    Other { a_bar: Form, b_bar: Form },
    /// B̄ by powers of A⁻¹ in the place of φ-functions (spec.md §2, the table's fourth column).
    Inverses,
    /// A scan in chunks of so many positions: what begins in a chunk by itself, and what is carried into it, decayed to each position.
    Chunked(u32),
}

impl Writing {
    /// The program written like this; none where that is no other way.
    pub fn program(self, form: Form, problem: &Problem, graph: &mut Graph) -> Option<Program> {
        let specified = Program::specified(form, problem, graph);
        match self {
            Writing::Specified => Some(specified),
            Writing::Other { a_bar, b_bar } => {
                let other = Program::of(Parts { a_bar, b_bar }, problem, graph);
                (other != specified).then_some(other)
            }
            Writing::Inverses => by_inverses(&specified, graph).filter(|other| *other != specified),
            Writing::Chunked(length) => chunked(&specified, length, graph),
        }
    }

    /// Bits that it takes to say it.
    pub fn cost(self) -> f64 {
        match self {
            Writing::Specified => 0.0,
            Writing::Other { a_bar, b_bar } if a_bar == b_bar => 4.0,
            Writing::Other { .. } => 5.0,
            Writing::Inverses => 1.0,
            Writing::Chunked(_) => 4.0,
        }
    }

    /// Forms whose parts may stand in the place of a form's own.
    pub fn others(form: Form) -> Vec<Writing> {
        let mut all = Vec::new();
        for other in Form::all().filter(|other| *other != form) {
            all.push(Writing::Other { a_bar: other, b_bar: other });
            all.push(Writing::Other { a_bar: form, b_bar: other });
            all.push(Writing::Other { a_bar: other, b_bar: form });
        }
        all
    }
}

/// φₖ(z) of a product with Δᵏ becomes A⁻ᵏ (eᶻ − Σ_{i<k} zⁱ/i!).
fn by_inverses(program: &Program, graph: &mut Graph) -> Option<Program> {
    let step = program.find(Symbol::StepSize)?;
    let a = graph.input(Input::A);
    let exponent = graph.product([step, a]);
    let inverse = graph.apply(Function::Reciprocal, a);
    let mut nodes = program.nodes();
    for id in graph.reached(&nodes) {
        let Op::Product(mut factors) = graph.op(id).clone() else { continue };
        let phi = factors.iter().find_map(|factor| match graph.op(*factor) {
            Op::Apply(Function::Phi(k), _) if *k > 0 => Some((*factor, usize::from(*k))),
            _ => None,
        });
        let Some((phi, k)) = phi else { continue };
        if factors.iter().filter(|factor| **factor == step).count() != k {
            continue;
        }
        factors.retain(|factor| *factor != step && *factor != phi);
        let mut terms = vec![graph.apply(Function::Exp, exponent)];
        let mut factorial = 1.0;
        for i in 0..k {
            factorial *= (i as f64).max(1.0);
            let number = graph.number(-1.0 / factorial);
            let powers = [vec![number], vec![exponent; i]].concat();
            terms.push(graph.product(powers));
        }
        let rest = graph.sum(terms);
        let written = graph.product([factors, vec![inverse; k], vec![rest]].concat());
        nodes = graph.replaced(&nodes, id, written);
    }
    Some(program.of_nodes(&nodes))
}

/// x_l = x of this chunk alone + P_l x at the end of the chunk before, P the product of decays since the chunk's start.
fn chunked(program: &Program, length: u32, graph: &mut Graph) -> Option<Program> {
    let state = program.find(Symbol::State)?;
    let Op::Scan(scan) = *graph.op(state) else { return None };
    let (zero, one) = (graph.number(0.0), graph.number(1.0));
    let starts = Place::positions(Set::Multiples(length));
    let within = graph.add(Op::Choose { at: starts, yes: zero, no: scan.decay });
    let local = graph.add(Op::Scan(Scan { decay: within, ..scan }));
    let first = graph.add(Op::Choose { at: starts, yes: scan.decay, no: zero });
    let product = graph.add(Op::Scan(Scan { decay: within, drive: first, start: one, ..scan }));
    let index = Index::BlockBefore(length);
    let carried = graph.add(Op::At { of: state, axis: Axis::Position, index });
    let decayed = graph.product([product, carried]);
    let written = graph.sum([local, decayed]);
    // The last state stays that of the scan itself, which is carried on.
    let nodes = graph.replaced(&program.nodes(), state, written);
    Some(Program { last_state: program.last_state, ..program.of_nodes(&nodes) })
}

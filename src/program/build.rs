//! The program that a form specifies for a problem (spec.md §2 and §3).

use super::graph::{Axis, Function, Graph, Id, Index, Input, Op, Over, Real, Scan};
use super::{Program, Symbol};
use crate::formula::{self, Form, OFFSETS, Term, Transition};
use crate::problem::{Problem, Weights};

/// Forms that Ā, and B̄ with the direction of the scan, are those of.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    pub a_bar: Form,
    pub b_bar: Form,
}

impl Program {
    /// What `form` specifies, with the problem's own conventions.
    pub fn specified(form: Form, problem: &Problem, graph: &mut Graph) -> Program {
        Program::of(Parts { a_bar: form, b_bar: form }, problem, graph)
    }

    pub(super) fn of(parts: Parts, problem: &Problem, graph: &mut Graph) -> Program {
        let (formula, of_a_bar) = (parts.b_bar.formula(), parts.a_bar.formula());
        let step = step_size(problem, graph);
        let a = graph.input(Input::A);
        let exponent = graph.product([step, a]);
        let decay = transition(of_a_bar.a_bar, exponent, graph);
        let drive = drive(formula.b_bar, problem, step, graph);
        let start = match problem.initial_state {
            Some(_) => graph.input(Input::InitialState),
            None => graph.number(0.0),
        };
        let exclusive = problem.reads_before();
        let state = |graph: &mut Graph, start, reversed, exclusive| {
            graph.add(Op::Scan(Scan { reversed, exclusive, ..Scan::of(decay, drive, start) }))
        };
        let forward = state(graph, start, false, false);
        let read = state(graph, start, false, exclusive);
        let mut readout = read_out(problem, read, graph);
        let mut named = vec![(Symbol::StepSize, step), (Symbol::State, forward)];
        if formula.bidirectional {
            let nothing = graph.number(0.0);
            let backward = state(graph, nothing, true, exclusive);
            named.push((Symbol::ReversedState, backward));
            let other = read_out(problem, backward, graph);
            let (half, both) = (graph.number(0.5), graph.sum([readout, other]));
            readout = graph.product([half, both]);
        }
        named.push((Symbol::Readout, readout));
        let mut out = readout;
        if problem.d.is_some() {
            let (d, u) = (graph.input(Input::D), graph.input(Input::U));
            let skip = graph.product([d, u]);
            out = graph.sum([out, skip]);
        }
        if problem.z.is_some() {
            let z = graph.input(Input::Z);
            let gate = graph.apply(Function::Silu, z);
            out = graph.product([out, gate]);
        }
        let last_state = graph.add(Op::Last(forward));
        Program { out, last_state, named }
    }
}

/// Builds what enters the state: the coefficients of the inputs that are read, with B and these.
pub fn drive(b_bar: [&[Term]; 3], problem: &Problem, step: Id, graph: &mut Graph) -> Id {
    let a = graph.input(Input::A);
    let exponent = graph.product([step, a]);
    let b = (!problem.reads_with_b()).then(|| graph.input(Input::B));
    let mut driven = Vec::new();
    for (terms, offset) in b_bar.into_iter().zip(OFFSETS).filter(|(terms, _)| !terms.is_empty()) {
        let u = graph.input(Input::U);
        let u = match offset {
            0 => u,
            by => graph.add(Op::At { of: u, axis: Axis::Position, index: Index::Held(by as i32) }),
        };
        let mut factors = coefficient(terms, step, exponent, graph);
        factors.extend(b);
        factors.push(u);
        driven.push(graph.product(factors));
    }
    graph.sum(driven)
}

/// Δ from delta: bias, softplus, limits.
fn step_size(problem: &Problem, graph: &mut Graph) -> Id {
    let mut step = graph.input(Input::Delta);
    if problem.delta_bias.is_some() {
        let bias = graph.input(Input::DeltaBias);
        step = graph.sum([step, bias]);
    }
    if problem.delta_softplus {
        step = graph.apply(Function::Softplus, step);
    }
    if !problem.conventions.limit.is_none() {
        let [low, high] = problem.conventions.limit.ends().map(|end| Real::new(f64::from(end)));
        step = graph.add(Op::Limit { of: step, low, high });
    }
    step
}

fn transition(of: Transition, exponent: Id, graph: &mut Graph) -> Id {
    match of {
        Transition::Exponential => graph.apply(Function::Exp, exponent),
        Transition::Quotient(alpha) => {
            let inverse = graph.apply(Function::Resolvent(alpha), exponent);
            let complement = alpha.complement().value();
            if complement == 0.0 {
                return inverse;
            }
            let (one, share) = (graph.number(1.0), graph.number(complement));
            let scaled = graph.product([share, exponent]);
            let above = graph.sum([one, scaled]);
            graph.product([inverse, above])
        }
        Transition::Polynomial(factors) => {
            let term = |(power, factor): (usize, &formula::Fraction)| {
                let factor = (factor.value() != 1.0 || power == 0).then(|| graph.number(factor.value()));
                let factors: Vec<Id> = factor.into_iter().chain(vec![exponent; power]).collect();
                graph.product(factors)
            };
            let terms: Vec<Id> = factors.iter().enumerate().map(term).collect();
            graph.sum(terms)
        }
    }
}

/// Factors of Σ c·Δᵖ f(z).
fn coefficient(terms: &[Term], step: Id, exponent: Id, graph: &mut Graph) -> Vec<Id> {
    let factors = |term: &Term, graph: &mut Graph| -> Vec<Id> {
        let mut factors = Vec::new();
        if term.factor.value() != 1.0 {
            factors.push(graph.number(term.factor.value()));
        }
        factors.extend(vec![step; term.delta as usize]);
        match term.of {
            formula::Function::Power(k) => factors.extend(vec![exponent; k]),
            formula::Function::Phi(0) => factors.push(graph.apply(Function::Exp, exponent)),
            formula::Function::Phi(k) => factors.push(graph.apply(Function::Phi(k as u8), exponent)),
            formula::Function::Resolvent(alpha) => {
                factors.push(graph.apply(Function::Resolvent(alpha), exponent));
            }
        }
        factors
    };
    if let [one] = terms {
        return factors(one, graph);
    }
    let products: Vec<Id> = terms
        .iter()
        .map(|term| {
            let factors = factors(term, graph);
            graph.product(factors)
        })
        .collect();
    vec![graph.sum(products)]
}

/// What C reads of a state, summed.
pub(super) fn read_out(problem: &Problem, state: Id, graph: &mut Graph) -> Id {
    let mut factors = vec![graph.input(Input::C)];
    if problem.reads_with_b() {
        factors.push(graph.input(Input::B));
    }
    factors.push(state);
    let read = graph.product(factors);
    let sum = graph.add(Op::Fold(read, Over::States));
    if problem.weights == Weights::Real {
        return sum;
    }
    let real = graph.apply(Function::RealPart, sum);
    match problem.output_factor() {
        1.0 => real,
        factor => {
            let factor = graph.number(factor);
            graph.product([factor, real])
        }
    }
}

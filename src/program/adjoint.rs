//! The backward pass of a program, by reverse mode on its graph (spec.md §6).
//!
//! A cotangent is the conjugate of a gradient, so that no product needs a conjugate; gradients are conjugated at the end. A node's
//! cotangent is the sum of what its uses give it, summed over the axes that the node has not, and the real part of that where the node is
//! real. A scan's is a scan the other way.

mod matrices;

use std::collections::HashMap;

use super::build::Parts;
use super::graph::{Axis, Borders, Function, Graph, Id, Index, Input, Op, Over, Scan};
use super::mask::{Condition, Place, Set};
use super::{Program, Symbol};
use crate::formula::Form;
use crate::problem::{Operand, Problem, Weights};
use crate::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};

/// Inputs with the names of their gradients.
const INPUTS: [(Input, GradientName); 9] = [
    (Input::U, U),
    (Input::Delta, Delta),
    (Input::A, A),
    (Input::B, B),
    (Input::C, C),
    (Input::D, D),
    (Input::Z, Z),
    (Input::DeltaBias, DeltaBias),
    (Input::InitialState, InitialState),
];

/// A way of differentiating a program: what a step's Ā and h are differentiated as, and by which rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Derivation {
    /// Node by node, as automatic differentiation has it; else Ā and h by Δ and by A, as spec.md §6 has it.
    pub by_chain: bool,
    /// Another form whose Ā and h are differentiated, and one whose h stands in gradients of u and B.
    pub slopes_of: Option<Form>,
    pub products_of: Option<Form>,
    pub phi: PhiRule,
    pub power: PowerRule,
    pub chain: ChainRule,
    /// The positions that are walked, where those behind them are left out.
    pub until: Option<u32>,
}

/// What is made of z = ΔA in derivatives of Ā and h by Δ and by A.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChainRule {
    #[default]
    Right,
    /// h's derivative by Δ takes z for a constant, or the powers of Δ beside it.
    WithoutArgument,
    ArgumentAlone,
    /// Derivatives by Δ lack the factor A of z, or those by A the factor Δ.
    WithoutA,
    WithoutDelta,
    /// Ā is differentiated as an exponential.
    Exponential,
}

/// What φₖ is differentiated as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PhiRule {
    /// φₖ − k φₖ₊₁
    #[default]
    Right,
    WithoutK,
    Next,
    KNext,
    Same,
    Plus,
    Before,
}

/// What zᵏ is differentiated as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PowerRule {
    /// k zᵏ⁻¹
    #[default]
    Right,
    WithoutK,
    NextK,
    KBefore,
    NotLowered,
    Same,
}

impl Program {
    /// The program with a gradient of each of its inputs, of a loss that sees the last state or does not. None of a program that reads
    /// what is computed at other positions.
    pub fn with_gradients(
        &self,
        problem: &Problem,
        sees_state: bool,
        derivation: Derivation,
        graph: &mut Graph,
    ) -> Option<Program> {
        let step = self.find(Symbol::StepSize)?;
        let reached = graph.reached(&[self.out, self.last_state]);
        let mut reverse = Reverse {
            problem,
            graph,
            reached: reached.clone(),
            step,
            derivation,
            named: Vec::new(),
            shares: HashMap::new(),
            is_of_h: false,
        };
        let mut program = self.clone();
        let mut dout = reverse.graph.input(Input::OutGradient);
        if let Some(end) = derivation.until {
            let when = Condition::At(Place::positions(Set::Until(end)));
            let no = reverse.graph.number(0.0);
            dout = reverse.graph.add(Op::Choose { when, yes: dout, no });
        }
        reverse.give(self.out, dout);
        if sees_state {
            let seen = reverse.graph.input(Input::LastStateGradient);
            let seen = reverse.conjugated(seen);
            reverse.give(self.last_state, seen);
        }
        let mut gradients = Vec::new();
        for id in reached.into_iter().rev() {
            let Some(shares) = reverse.shares.remove(&id) else { continue };
            let cotangent = reverse.joined(id, shares);
            match *reverse.graph.op(id) {
                Op::Input(input) => {
                    let name = INPUTS.iter().find(|(known, _)| *known == input)?.1;
                    gradients.push((name, reverse.gradient(name, cotangent)));
                }
                Op::Scan(scan) => {
                    if let Some(adjoint) = reverse.scan(scan, cotangent)? {
                        let symbol = if scan.reversed { Symbol::ReversedAdjoint } else { Symbol::Adjoint };
                        program.named.push((symbol, adjoint));
                    }
                }
                _ => reverse.through(id, cotangent)?,
            }
        }
        gradients.sort_by_key(|(name, _)| *name);
        program.named.extend(std::mem::take(&mut reverse.named));
        program.named.extend(gradients.into_iter().map(|(name, id)| (Symbol::Gradient(name), id)));
        Some(program)
    }
}

struct Reverse<'a> {
    problem: &'a Problem,
    graph: &'a mut Graph,
    /// Nodes of the program.
    reached: Vec<Id>,
    /// Δ
    step: Id,
    derivation: Derivation,
    /// Names of what a step is made of.
    named: Vec<(Symbol, Id)>,
    /// What uses give to nodes that are not done.
    shares: HashMap<Id, Vec<Id>>,
    /// Whether h is differentiated by Δ.
    is_of_h: bool,
}

impl Reverse<'_> {
    fn give(&mut self, to: Id, share: Id) {
        if !matches!(self.graph.op(to), Op::Number(_)) {
            self.shares.entry(to).or_default().push(share);
        }
    }

    /// Whether a node's numbers are complex.
    fn is_complex(&self, id: Id) -> bool {
        match self.graph.op(id) {
            Op::Input(Input::A | Input::B | Input::C | Input::InitialState | Input::LastStateGradient) => {
                self.problem.weights == Weights::Complex
            }
            Op::Apply(Function::RealPart | Function::ImaginaryPart | Function::Abs, _) => false,
            op => op.operands().into_iter().any(|of| self.is_complex(of)),
        }
    }

    fn conjugated(&mut self, id: Id) -> Id {
        if self.is_complex(id) { self.graph.apply(Function::Conjugate, id) } else { id }
    }

    /// Sum of what a node is given, over the axes that the node has not.
    fn joined(&mut self, id: Id, shares: Vec<Id>) -> Id {
        let own = self.graph.extent(id);
        let is_real = !self.is_complex(id);
        let mut parts: Vec<((bool, bool), Vec<Id>)> = Vec::new();
        for share in shares {
            let extent = self.graph.extent(share);
            let over = (extent.state && !own.state, extent.position && !own.position);
            match parts.iter_mut().find(|(known, _)| *known == over) {
                Some((_, part)) => part.push(share),
                None => parts.push((over, vec![share])),
            }
        }
        let mut sums = Vec::new();
        for ((over_states, over_positions), part) in parts {
            let mut sum = self.graph.sum(part);
            for (is_over, over) in [(over_states, Over::States), (over_positions, Over::Positions)] {
                if is_over {
                    sum = self.graph.add(Op::Fold(sum, over));
                }
            }
            if is_real && self.is_complex(sum) {
                sum = self.graph.apply(Function::RealPart, sum);
            }
            sums.push(sum);
        }
        self.graph.sum(sums)
    }

    /// A gradient in the layout of its input: conjugated, and summed over what shares it.
    fn gradient(&mut self, name: GradientName, cotangent: Id) -> Id {
        let shape = self.problem.shape;
        let shared = self.problem.shared_by(name).map(|by| by as u32);
        let group = (shape.dim / shape.groups) as u32;
        let is_constant = |operand| operand == Operand::Constant;
        let (items, channels) = match name {
            U | Z | InitialState => (false, None),
            Delta => (false, shared),
            A | D | DeltaBias => (true, shared),
            B if is_constant(self.problem.b_operand) => (true, None),
            C if is_constant(self.problem.c_operand) => (true, None),
            B | C => (false, Some(group)),
        };
        let mut gradient = cotangent;
        let mut fold = |over, graph: &mut Graph| gradient = graph.add(Op::Fold(gradient, over));
        if name == A && shared.is_some() && !self.problem.is_dense() {
            fold(Over::States, self.graph);
        }
        if let Some(channels) = channels.filter(|count| *count > 1) {
            fold(Over::Channels(channels), self.graph);
        }
        if items && shape.batch > 1 {
            fold(Over::Items, self.graph);
        }
        self.conjugated(gradient)
    }

    /// Adjoint p of a scan whose positions have this cotangent, by the spec's p_l = g_l + Ā_{l+1} p_{l+1}. What is read of the state before
    /// arrives there.
    fn scan(&mut self, scan: Scan, given: Id) -> Option<Option<Id>> {
        let next = Index::Shifted(if scan.reversed { -1 } else { 1 });
        let first =
            |graph: &mut Graph, of| graph.add(if scan.reversed { Op::Last(of) } else { Op::First(of) });
        let axis = Axis::Position;
        // Shares of states that are read before a packed sequence would be those of its initial state.
        if scan.exclusive && self.problem.packed.is_some() {
            return None;
        }
        if scan.exclusive {
            let state = Scan { exclusive: false, ..scan };
            let share = self.graph.add(Op::At { of: given, axis, index: next });
            let start = first(self.graph, given);
            self.give(scan.start, start);
            let known = self.graph.find(&Op::Scan(state)).filter(|id| self.reached.contains(id));
            let Some(known) = known else { return self.scan(state, share) };
            self.give(known, share);
            return Some(None);
        }
        let is_matrix = self.graph.is_matrix(scan.decay);
        let transposed = self.transposed(scan.decay);
        let decay = self.graph.add(Op::At { of: transposed, axis, index: next });
        let start = self.graph.number(0.0);
        let reversed = !scan.reversed;
        let drive = given;
        let borders = match scan.borders {
            Borders::Late(by) => Borders::Late(-by),
            same => same,
        };
        let adjoint = Scan { reversed, borders, ..Scan::of(decay, drive, start) };
        let adjoint = self.graph.add(Op::Scan(adjoint));
        let before = self.graph.add(Op::Scan(Scan { exclusive: true, ..scan }));
        let (of_decay, of_start) = match is_matrix {
            true => (self.graph.add(Op::Outer(adjoint, before)), self.graph.product([transposed, adjoint])),
            false => (self.graph.product([adjoint, before]), self.graph.product([adjoint, scan.decay])),
        };
        let of_start = first(self.graph, of_start);
        self.give(scan.start, of_start);
        match self.derivation.by_chain || is_matrix {
            true => {
                self.give(scan.decay, of_decay);
                self.give(scan.drive, adjoint);
            }
            false => self.through_step(scan, (of_decay, adjoint))?,
        }
        Some(Some(adjoint))
    }

    /// Gives Δ, A, B and u what the cotangents of Ā and of the drive come to, by the derivatives of Ā and h (spec.md §6, "Step").
    fn through_step(&mut self, scan: Scan, (of_decay, adjoint): (Id, Id)) -> Option<()> {
        let (step, a) = (self.step, self.graph.input(Input::A));
        let (h, rest) = self.parts(scan.drive)?;
        self.name(Symbol::ABar, scan.decay);
        self.name(Symbol::H, h);
        let of_h = self.graph.product([vec![adjoint], rest.clone()].concat());
        let other = |form: Option<Form>, reverse: &mut Self| match form {
            None => Some((scan.decay, h)),
            Some(form) => {
                let parts = Parts { a_bar: form, b_bar: form };
                let other = Program::of(parts, reverse.problem, reverse.graph);
                let Op::Scan(other) = *reverse.graph.op(other.find(Symbol::State)?) else { return None };
                Some((other.decay, reverse.parts(other.drive)?.0))
            }
        };
        let (decay, differentiated) = other(self.derivation.slopes_of, self)?;
        let symbols = [[Symbol::ABarByDelta, Symbol::HByDelta], [Symbol::ABarByA, Symbol::HByA]];
        for (by, symbols) in [step, a].into_iter().zip(symbols) {
            for ((of, given), symbol) in [(decay, of_decay), (differentiated, of_h)].into_iter().zip(symbols)
            {
                if let Some(slope) = self.derivative((of, of == decay), by)? {
                    self.name(symbol, slope);
                    let share = self.graph.product([given, slope]);
                    self.give(by, share);
                }
            }
        }
        let (_, h) = other(self.derivation.products_of, self)?;
        for operand in &rest {
            let others = rest.iter().filter(|other| *other != operand).copied();
            let share = self.graph.product([adjoint, h].into_iter().chain(others).collect::<Vec<_>>());
            self.give(*operand, share);
        }
        Some(())
    }

    fn name(&mut self, symbol: Symbol, id: Id) {
        if !self.named.contains(&(symbol, id)) {
            self.named.push((symbol, id));
        }
    }

    /// h of a drive, and the factors that it multiplies.
    fn parts(&mut self, drive: Id) -> Option<(Id, Vec<Id>)> {
        let Op::Product(factors) = self.graph.op(drive).clone() else { return None };
        let is_input = |id: &Id| matches!(self.graph.op(*id), Op::Input(Input::B | Input::U));
        let (rest, of_h): (Vec<Id>, Vec<Id>) = factors.into_iter().partition(is_input);
        Some((self.graph.product(of_h), rest))
    }

    /// Derivative of Ā or of h by Δ or by A, as the chain rule is taken.
    fn derivative(&mut self, (of, is_a_bar): (Id, bool), by: Id) -> Option<Option<Id>> {
        let a = self.graph.input(Input::A);
        if self.derivation.chain == ChainRule::Exponential && is_a_bar {
            let other = if by == a { self.step } else { a };
            return Some(Some(self.graph.product([of, other])));
        }
        self.is_of_h = !is_a_bar && by == self.step;
        let slope = self.tangent(of, by);
        self.is_of_h = false;
        slope
    }

    /// The derivative of z by Δ or by A where the chain rule is not taken right; the outer none where it is.
    fn argument_slope(&mut self, of: Id, by: Id) -> Option<Option<Id>> {
        let a = self.graph.input(Input::A);
        if self.graph.find(&Op::Product(vec![self.step, a])) != Some(of) {
            return None;
        }
        match self.derivation.chain {
            ChainRule::WithoutArgument if self.is_of_h => Some(None),
            ChainRule::ArgumentAlone if self.is_of_h => Some(Some(a)),
            ChainRule::WithoutA if by == self.step => Some(Some(self.graph.number(1.0))),
            ChainRule::WithoutDelta if by == a => Some(Some(self.graph.number(1.0))),
            _ => None,
        }
    }

    /// Derivative of a node by another one: the outer none where there is no rule, the inner one where it is 0.
    fn tangent(&mut self, of: Id, by: Id) -> Option<Option<Id>> {
        if of == by {
            let is_constant = self.is_of_h && self.derivation.chain == ChainRule::ArgumentAlone;
            return Some((!is_constant).then(|| self.graph.number(1.0)));
        }
        if let Some(slope) = self.argument_slope(of, by) {
            return Some(slope);
        }
        if !self.graph.reached(&[of]).contains(&by) {
            return Some(None);
        }
        let terms: Vec<Id> = match self.graph.op(of).clone() {
            Op::Sum(of) => {
                let terms = of.into_iter().map(|of| self.tangent(of, by)).collect::<Option<Vec<_>>>()?;
                terms.into_iter().flatten().collect()
            }
            Op::Product(factors) => {
                let mut terms = Vec::new();
                let distinct = |at: &usize| !factors[..*at].contains(&factors[*at]);
                for operand in (0..factors.len()).filter(distinct).map(|at| factors[at]) {
                    if let Some(tangent) = self.tangent(operand, by)? {
                        let rest = self.rest(&factors, operand);
                        terms.push(self.graph.product([rest, vec![tangent]].concat()));
                    }
                }
                terms
            }
            Op::Apply(function, operand) => {
                let Some(tangent) = self.tangent(operand, by)? else { return Some(None) };
                let slope = self.slope(function, (of, operand))?;
                vec![self.graph.product([slope, tangent])]
            }
            _ => return None,
        };
        Some(Some(self.graph.sum(terms)))
    }

    /// Factors of a product's derivative by one of them.
    fn rest(&mut self, factors: &[Id], operand: Id) -> Vec<Id> {
        let count = factors.iter().filter(|other| **other == operand).count();
        // z, the product of Δ and A.
        let a = self.graph.input(Input::A);
        let is_argument = *self.graph.op(operand) == Op::Product(vec![self.step, a]);
        let (by, left) = match self.derivation.power {
            rule if !is_argument || rule == PowerRule::Right => (count, count - 1),
            PowerRule::WithoutK => (1, count - 1),
            PowerRule::NextK => (count + 1, count - 1),
            PowerRule::KBefore => (count - 1, count - 1),
            PowerRule::NotLowered => (count, count),
            _ => (1, count),
        };
        let number = (by != 1).then(|| self.graph.number(by as f64));
        let others = factors.iter().filter(|other| **other != operand).copied();
        number.into_iter().chain(others).chain(vec![operand; left]).collect()
    }

    /// Gives a node's operands what its cotangent comes to.
    fn through(&mut self, id: Id, given: Id) -> Option<()> {
        let graph = &mut *self.graph;
        match graph.op(id).clone() {
            Op::Number(_) | Op::Input(_) | Op::Scan(_) => {}
            Op::Sum(of) => {
                for operand in of {
                    let graph = &mut *self.graph;
                    // A number stands for as many times the identity among matrices.
                    let is_number = graph.is_matrix(given) && !graph.extent(operand).state;
                    let one = graph.number(1.0);
                    let share = if is_number { graph.add(Op::Inner(given, one)) } else { given };
                    self.give(operand, share);
                }
            }
            Op::Product(of) if of.iter().any(|id| graph.is_matrix(*id)) => self.through_matrices(&of, given),
            Op::Product(of) => {
                let distinct = |at: &usize| !of[..*at].contains(&of[*at]);
                for operand in (0..of.len()).filter(distinct).map(|at| of[at]) {
                    let rest = self.rest(&of, operand);
                    let share = self.graph.product([vec![given], rest].concat());
                    self.give(operand, share);
                }
            }
            // No specified program has these.
            Op::Quotient(..) | Op::Each(..) | Op::Outer(..) | Op::Inner(..) | Op::Along(..) => return None,
            Op::Apply(Function::RealPart, of) => self.give(of, given),
            Op::Apply(Function::Conjugate, of) => {
                let share = graph.apply(Function::Conjugate, given);
                self.give(of, share);
            }
            Op::Apply(function, of) if graph.is_matrix(of) => {
                let transposed = self.transposed(of);
                let share = self.graph.add(Op::Along(function, transposed, given));
                self.give(of, share);
            }
            Op::Apply(function, of) => {
                let slope = self.slope(function, (id, of))?;
                let share = self.graph.product([given, slope]);
                self.give(of, share);
            }
            Op::Limit { of, low, high } => {
                let slope = graph.apply(Function::Within(low, high), of);
                let share = graph.product([given, slope]);
                self.give(of, share);
            }
            Op::Turned(of, by) => {
                let share = graph.add(Op::Turned(given, by));
                self.give(of, share);
            }
            Op::Round(of, _) | Op::CutOff(of, _) | Op::Fold(of, _) | Op::Accumulate(of, ..) => {
                self.give(of, given)
            }
            Op::First(of) | Op::Last(of) if self.problem.packed.is_some() => {
                let is_first = matches!(graph.op(id), Op::First(_));
                let there = graph.input(if is_first { Input::Begins } else { Input::Ends });
                let share = graph.product([there, given]);
                self.give(of, share);
            }
            Op::First(of) => self.give_at(of, given, 0),
            Op::Last(of) => {
                let end = self.derivation.until.map(|end| end as usize);
                self.give_at(of, given, end.unwrap_or(self.problem.shape.seqlen) - 1);
            }
            Op::Choose { when, yes, no } => {
                let zero = graph.number(0.0);
                let of_yes = graph.add(Op::Choose { when, yes: given, no: zero });
                let of_no = graph.add(Op::Choose { when, yes: zero, no: given });
                self.give(yes, of_yes);
                self.give(no, of_no);
            }
            Op::At { of, axis, index } => {
                let back = match index {
                    Index::Shifted(by) => Index::Shifted(-by),
                    Index::Rolled(by) => Index::Rolled(-by),
                    Index::Reversed => Index::Reversed,
                    _ => return None,
                };
                let share = graph.add(Op::At { of: given, axis, index: back });
                self.give(of, share);
            }
        }
        Some(())
    }

    /// Gives a node something at one position.
    fn give_at(&mut self, to: Id, given: Id, position: usize) {
        let no = self.graph.number(0.0);
        let when = Condition::At(Place::positions(Set::Only(position as u32)));
        let share = self.graph.add(Op::Choose { when, yes: given, no });
        self.give(to, share);
    }

    /// Derivative of a function, whose value is the first of two nodes and whose argument the second (spec.md §6, "Step").
    fn slope(&mut self, function: Function, (value, of): (Id, Id)) -> Option<Id> {
        let graph = &mut *self.graph;
        let sigmoid_of_opposite = |graph: &mut Graph| {
            let minus = graph.number(-1.0);
            let opposite = graph.product([minus, of]);
            graph.apply(Function::Sigmoid, opposite)
        };
        let (one, minus) = (graph.number(1.0), graph.number(-1.0));
        Some(match function {
            Function::Exp | Function::NegatedExp => value,
            Function::OnePlus => one,
            Function::Phi(k) => {
                let (next, factor) = (graph.apply(Function::Phi(k + 1), of), f64::from(k));
                let by = match self.derivation.phi {
                    PhiRule::Right => -factor,
                    PhiRule::WithoutK => -1.0,
                    PhiRule::Plus => factor,
                    PhiRule::Next => return Some(next),
                    PhiRule::Same => return Some(value),
                    PhiRule::KNext => {
                        let by = graph.number(factor);
                        return Some(graph.product([by, next]));
                    }
                    PhiRule::Before if k == 1 => return Some(graph.apply(Function::Exp, of)),
                    PhiRule::Before => return Some(graph.apply(Function::Phi(k - 1), of)),
                };
                let by = graph.number(by);
                let term = graph.product([by, next]);
                graph.sum([value, term])
            }
            Function::Series(0, terms) => graph.apply(Function::Series(0, terms.checked_sub(1)?), of),
            Function::Resolvent(alpha) => {
                let by = graph.number(alpha.value());
                graph.product([by, value, value])
            }
            Function::Softplus | Function::NaiveSoftplus => graph.apply(Function::Sigmoid, of),
            Function::Sigmoid => {
                let other = sigmoid_of_opposite(graph);
                graph.product([value, other])
            }
            Function::Silu => {
                let sigmoid = graph.apply(Function::Sigmoid, of);
                // By hand it is mostly σ(−z), and 1 − σ(z) where functions are differentiated one by one.
                let other = match self.derivation.by_chain {
                    false => sigmoid_of_opposite(graph),
                    true => {
                        let opposite = graph.product([minus, sigmoid]);
                        graph.sum([one, opposite])
                    }
                };
                let term = graph.product([of, other]);
                let sum = graph.sum([one, term]);
                graph.product([sigmoid, sum])
            }
            Function::Reciprocal => graph.product([minus, value, value]),
            Function::Exp2 => {
                let by = graph.number(std::f64::consts::LN_2);
                graph.product([by, value])
            }
            _ => return None,
        })
    }
}

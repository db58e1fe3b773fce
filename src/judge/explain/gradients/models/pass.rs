//! A backward pass that is edited: its parts, and what may become of them.

use crate::problem::{InputType, Problem, Weights};
use crate::program::edit::{Edit, Patch, Site};
use crate::program::{
    Axis, Condition, Function, Graph, Id, Index, Input, Op, Over, Place, Program, Real, Scan, Set, Symbol,
};
use crate::tensor::GradientName::{self, A, B, C, Delta, DeltaBias, InitialState, U, Z};

use super::Side;

/// A backward pass that is edited.
pub(super) struct Pass<'a> {
    pub graph: &'a mut Graph,
    pub program: Program,
    pub problem: &'a Problem,
}

impl Pass<'_> {
    pub(super) fn find(&self, symbol: Symbol) -> Option<Id> {
        self.program.find(symbol)
    }

    pub(super) fn input(&self, input: Input) -> Option<Id> {
        self.graph.find(&Op::Input(input))
    }

    pub(super) fn product(&mut self, of: impl Into<Vec<Id>>) -> Id {
        self.graph.product(of)
    }

    pub(super) fn number(&mut self, number: f64) -> Id {
        self.graph.number(number)
    }

    pub(super) fn apply(&mut self, function: Function, of: Id) -> Id {
        self.graph.apply(function, of)
    }

    pub(super) fn scan(&self, id: Id) -> Option<Scan> {
        match self.graph.op(id) {
            Op::Scan(scan) => Some(*scan),
            _ => None,
        }
    }

    /// Puts one node in the place of another in all gradients.
    pub(super) fn replace(&mut self, old: Id, new: Id) {
        let edit = Edit { site: Site::Value(old), patch: Patch::Other(new), when: None };
        self.program = edit.apply(self.graph, &self.program);
    }

    pub(super) fn within(&mut self, root: Id, old: Id, new: Id) -> Id {
        self.graph.replaced(&[root], old, new)[0]
    }

    pub(super) fn gradients(&self) -> Vec<(GradientName, Id)> {
        let of = |(symbol, id): &(Symbol, Id)| match symbol {
            Symbol::Gradient(name) => Some((*name, *id)),
            _ => None,
        };
        self.program.named.iter().filter_map(of).collect()
    }

    pub(super) fn gradient(&self, name: GradientName) -> Option<Id> {
        self.find(Symbol::Gradient(name))
    }

    /// Another node for one gradient alone.
    pub(super) fn set(&mut self, name: GradientName, new: Id) {
        let of_name = |(symbol, _): &&mut (Symbol, Id)| *symbol == Symbol::Gradient(name);
        if let Some((_, id)) = self.program.named.iter_mut().find(of_name) {
            *id = new;
        }
    }

    pub(super) fn each_gradient(
        &mut self,
        mut change: impl FnMut(&mut Self, GradientName, Id) -> Option<Id>,
    ) {
        for (name, id) in self.gradients() {
            if let Some(new) = change(self, name, id) {
                self.set(name, new);
            }
        }
    }

    /// Puts one node in the place of another in one gradient.
    pub(super) fn in_gradient(&mut self, name: GradientName, old: Id, new: Id) -> Option<()> {
        let root = self.gradient(name)?;
        let new = self.within(root, old, new);
        self.set(name, new);
        Some(())
    }

    /// Nodes that gradients are made of.
    pub(super) fn reached(&self) -> Vec<Id> {
        let gradients: Vec<Id> = self.gradients().into_iter().map(|(_, id)| id).collect();
        self.graph.reached(&gradients)
    }

    /// Products of gradients that have all of these factors.
    pub(super) fn products(&self, with: &[Id]) -> Vec<Id> {
        let is_it = |id: &Id| match self.graph.op(*id) {
            Op::Product(of) => with.iter().all(|factor| of.contains(factor)),
            _ => false,
        };
        self.reached().into_iter().filter(is_it).collect()
    }

    /// Another factor in these products.
    pub(super) fn refactor(&mut self, products: &[Id], old: Id, new: Id) -> Option<()> {
        products.first()?;
        for &product in products.iter().rev() {
            let mut factors = self.graph.op(product).operands();
            factors.iter_mut().filter(|factor| **factor == old).for_each(|factor| *factor = new);
            let changed = self.product(factors);
            self.replace(product, changed);
        }
        Some(())
    }

    pub(super) fn is_bidirectional(&self) -> bool {
        self.find(Symbol::ReversedState).is_some()
    }

    pub(super) fn is_complex(&self) -> bool {
        self.problem.weights == Weights::Complex
    }

    /// Adjoints of the scans, that of the forward one first, with whether it is of the reversed one.
    pub(super) fn adjoint_ids(&self) -> Vec<(Id, bool)> {
        let of = [(Symbol::Adjoint, false), (Symbol::ReversedAdjoint, true)];
        of.into_iter().filter_map(|(symbol, is_reversed)| Some((self.find(symbol)?, is_reversed))).collect()
    }

    /// Other scans for adjoints.
    pub(super) fn adjoints(
        &mut self,
        side: Side,
        change: impl Fn(&mut Self, Scan) -> Option<Scan>,
    ) -> Option<()> {
        for (id, is_reversed) in self.adjoint_ids() {
            if side.has(is_reversed) {
                let scan = self.scan(id)?;
                let new = change(self, scan)?;
                let new = self.graph.add(Op::Scan(new));
                self.replace(id, new);
            }
        }
        Some(())
    }

    /// Scans of states, as they are after and before each step.
    pub(super) fn state_ids(&self) -> Vec<(Id, bool)> {
        let mut all = Vec::new();
        for (symbol, is_reversed) in [(Symbol::State, false), (Symbol::ReversedState, true)] {
            let Some(scan) = self.find(symbol).and_then(|id| self.scan(id)) else { continue };
            let both = [true, false].map(|exclusive| self.graph.find(&Op::Scan(Scan { exclusive, ..scan })));
            all.extend(both.into_iter().flatten().map(|id| (id, is_reversed)));
        }
        all
    }

    /// Other scans for states.
    pub(super) fn states(
        &mut self,
        side: Side,
        change: impl Fn(&mut Self, Scan) -> Option<Id>,
    ) -> Option<()> {
        for (id, is_reversed) in self.state_ids() {
            if side.has(is_reversed) {
                let scan = self.scan(id)?;
                let new = change(self, scan)?;
                self.replace(id, new);
            }
        }
        Some(())
    }

    /// Products of adjoints and the states before, with these.
    pub(super) fn shares(&self) -> Vec<(Id, Id, bool)> {
        let states = self.state_ids();
        let mut all = Vec::new();
        for (adjoint, is_reversed) in self.adjoint_ids() {
            for (state, of_reversed) in &states {
                if is_reversed == *of_reversed && self.scan(*state).is_some_and(|scan| scan.exclusive) {
                    let product = self.graph.find(&Op::Product(vec![adjoint, *state]));
                    all.extend(product.map(|product| (product, *state, is_reversed)));
                }
            }
        }
        all
    }

    /// Other states for those that Ā's share has.
    pub(super) fn shared_states(
        &mut self,
        side: Side,
        change: impl Fn(&mut Self, Id, Scan) -> Option<Id>,
    ) -> Option<()> {
        let shares = self.shares();
        shares.first()?;
        for (product, state, is_reversed) in shares.into_iter().rev() {
            if side.has(is_reversed) {
                let scan = self.scan(state)?;
                let new = change(self, state, scan)?;
                self.refactor(&[product], state, new)?;
            }
        }
        Some(())
    }

    /// Another derivative of Ā or h, or a share of it.
    pub(super) fn slope(&mut self, symbol: Symbol, change: impl Fn(&mut Self, Id) -> Id) -> Option<()> {
        let slope = self.find(symbol)?;
        let new = change(self, slope);
        if !matches!(self.graph.op(slope), Op::Number(_)) {
            self.replace(slope, new);
            return Some(());
        }
        // A factor of 1 is no node: what it would be a factor of is.
        let [b, u] = [Input::B, Input::U].map(|input| self.input(input));
        for (adjoint, _) in self.adjoint_ids().into_iter().rev() {
            let share = self.graph.find(&Op::Product(vec![adjoint, b?, u?]))?;
            let changed = self.product([share, new]);
            self.replace(share, changed);
        }
        Some(())
    }

    pub(super) fn slopes(
        &mut self,
        symbols: [Symbol; 2],
        change: impl Fn(&mut Self, Id) -> Id,
    ) -> Option<()> {
        let [one, other] = symbols.map(|symbol| self.slope(symbol, &change).is_some());
        (one || other).then_some(())
    }

    /// Products that make grad.u, or grad.B, of adjoints: with h and the other input.
    pub(super) fn input_products(&self, with: Input) -> Option<(Vec<Id>, Id)> {
        let (h, with) = (self.find(Symbol::H)?, self.input(with)?);
        let of = |(adjoint, _): (Id, bool)| self.graph.find(&Op::Product(vec![adjoint, h, with]));
        Some((self.adjoint_ids().into_iter().filter_map(of).collect(), h))
    }

    /// h without one factor Δ in each of its terms.
    pub(super) fn without_step(&mut self, h: Id) -> Option<Id> {
        let step = self.find(Symbol::StepSize)?;
        if h == step {
            return Some(self.number(1.0));
        }
        match self.graph.op(h).clone() {
            Op::Sum(terms) => {
                let terms =
                    terms.into_iter().map(|term| self.without_step(term)).collect::<Option<Vec<_>>>()?;
                Some(self.graph.sum(terms))
            }
            Op::Product(mut factors) => {
                let at = factors.iter().position(|factor| *factor == step)?;
                factors.remove(at);
                Some(self.product(factors))
            }
            _ => None,
        }
    }

    /// Nodes that gradients of the outputs are as they enter an adjoint: products with C, each with its other factor.
    pub(super) fn entering(&self, adjoint: Id) -> Vec<(Id, Id)> {
        let (Some(scan), Some(c)) = (self.scan(adjoint), self.input(Input::C)) else { return Vec::new() };
        let states = self.state_ids();
        let is_state = |of: &Id| states.iter().any(|(state, _)| state == of);
        let of = |id: Id| match self.graph.op(id) {
            Op::Product(of) if of.contains(&c) && !of.iter().any(is_state) => {
                Some((id, of.iter().copied().find(|factor| *factor != c)?))
            }
            _ => None,
        };
        self.graph.reached(&[scan.drive]).into_iter().filter_map(of).collect()
    }

    /// The gradients of the outputs times a factor, as they enter adjoints and grad.C, or adjoints alone.
    pub(super) fn entering_times(&mut self, side: Side, factor: Id, enters_c: bool) -> Option<()> {
        let given: Vec<Id> = self
            .adjoint_ids()
            .first()
            .map(|(id, _)| self.entering(*id))
            .into_iter()
            .flatten()
            .map(|(_, e)| e)
            .collect();
        if enters_c {
            let states = self.state_ids().into_iter().filter(|(_, is_reversed)| side.has(*is_reversed));
            for (state, _) in states {
                for product in self.products(&[state]).into_iter().rev() {
                    let factors = self.graph.op(product).operands();
                    if factors.iter().any(|factor| given.contains(factor)) {
                        let changed = self.product([vec![factor], factors].concat());
                        self.replace(product, changed);
                    }
                }
            }
        }
        for (id, _) in self.adjoint_ids().into_iter().filter(|(_, is_reversed)| side.has(*is_reversed)) {
            let mut scan = self.scan(id)?;
            for (product, _) in self.entering(id) {
                let changed = self.product([factor, product]);
                scan.drive = self.within(scan.drive, product, changed);
            }
            let new = self.graph.add(Op::Scan(scan));
            self.replace(id, new);
        }
        Some(())
    }

    /// What dlast_state is where it enters, and whether with its choice of a position.
    pub(super) fn last(&self) -> Option<(Id, Id)> {
        let given = self.input(Input::LastStateGradient)?;
        let scan = self.scan(self.find(Symbol::Adjoint)?)?;
        self.graph.reached(&[scan.drive]).into_iter().find_map(|id| match *self.graph.op(id) {
            Op::Choose { when: Condition::At(_), yes, .. } if self.graph.reached(&[yes]).contains(&given) => {
                Some((id, yes))
            }
            _ => None,
        })
    }

    /// dlast_state times a factor.
    pub(super) fn last_times(&mut self, factor: Id) -> Option<()> {
        let (id, _) = self.last()?;
        let new = self.product([factor, id]);
        self.replace(id, new);
        Some(())
    }

    /// Another decay of adjoints.
    pub(super) fn decays(&mut self, side: Side, change: impl Fn(&mut Self, Id) -> Id) -> Option<()> {
        if side != Side::Both && !self.is_bidirectional() {
            return None;
        }
        self.adjoints(side, |pass, scan| {
            let decay = change(pass, scan.decay);
            Some(Scan { decay, ..scan })
        })
    }

    /// dout times the gate, and dout.
    pub(super) fn gated(&self) -> Option<(Id, Id, Id)> {
        let (dout, z) = (self.input(Input::OutGradient)?, self.input(Input::Z)?);
        let gate = self.graph.find(&Op::Apply(Function::Silu, z))?;
        Some((self.graph.find(&Op::Product(vec![dout, gate]))?, dout, gate))
    }

    /// Products of dout times the gate on the path of D, or all others that have it.
    pub(super) fn gated_products(&self, gated: Id, are_of_skip: bool) -> Option<Vec<Id>> {
        let (d, u) = (self.input(Input::D), self.input(Input::U)?);
        let is_skip = |id: &Id| self.graph.op(*id).operands().iter().any(|of| Some(*of) == d || *of == u);
        let all = self.products(&[gated]);
        Some(all.into_iter().filter(|id| is_skip(id) == are_of_skip).collect())
    }

    /// The gate's derivative, σ(z), zσ(−z) and the product with dout that grad.z is.
    pub(super) fn gate_slope(&mut self, change: impl Fn(&mut Self, [Id; 3]) -> Id) -> Option<()> {
        let z = self.input(Input::Z)?;
        let (sigmoid, minus, one) = (self.apply(Function::Sigmoid, z), self.number(-1.0), self.number(1.0));
        let opposite = self.product([minus, z]);
        let other = self.apply(Function::Sigmoid, opposite);
        let term = self.product([z, other]);
        let sum = self.graph.sum([one, term]);
        let slope = self.product([sigmoid, sum]);
        let new = change(self, [z, sigmoid, other]);
        self.in_gradient(Z, slope, new)
    }

    /// What the gate multiplies, of grad.z alone: y and D·u, with others for these.
    pub(super) fn before_gate(&mut self, change: impl Fn(&mut Self, Id, Id) -> Id) -> Option<()> {
        let readout = self.find(Symbol::Readout)?;
        let (d, u) = (self.input(Input::D)?, self.input(Input::U)?);
        let skip = self.graph.find(&Op::Product(vec![d, u]))?;
        let sum = self.graph.find(&Op::Sum(vec![readout, skip]))?;
        let new = change(self, readout, skip);
        self.input(Input::Z)?;
        self.in_gradient(Z, sum, new)
    }

    /// The derivative of softplus, and its argument.
    pub(super) fn softplus_slope(&mut self, change: impl Fn(&mut Self, Id) -> Option<Id>) -> Option<()> {
        let softplus = self.reached().into_iter().find_map(|id| match *self.graph.op(id) {
            Op::Apply(Function::Softplus, of) => Some(of),
            _ => None,
        })?;
        let slope = self.graph.find(&Op::Apply(Function::Sigmoid, softplus))?;
        let new = change(self, slope)?;
        self.replace(slope, new);
        Some(())
    }

    /// An input that the backward pass reads elsewhere.
    pub(super) fn misread(&mut self, input: Input, (axis, index): (Axis, Index)) -> Option<()> {
        let id = self.input(input)?;
        let new = self.graph.add(Op::At { of: id, axis, index });
        self.replace(id, new);
        Some(())
    }

    /// Nodes that grad.delta, grad.A and grad.delta_bias have at each position, without those of masked ones.
    pub(super) fn without_masked(&mut self) -> Option<()> {
        let [delta, u] = [self.input(Input::Delta)?, self.input(Input::U)?];
        let none = |pass: &mut Self, of: Id| {
            let zero = pass.number(0.0);
            let is_zero = |id| Condition::Below(id, Real::new(1e-30));
            let inner = pass.graph.add(Op::Choose { when: is_zero(u), yes: zero, no: of });
            pass.graph.add(Op::Choose { when: is_zero(delta), yes: inner, no: of })
        };
        for name in [Delta, A, DeltaBias] {
            let Some(root) = self.gradient(name) else { continue };
            let summed = self.graph.reached(&[root]).into_iter().find_map(|id| match *self.graph.op(id) {
                Op::Fold(of, Over::Positions) => Some(of),
                _ => None,
            });
            let old = summed.unwrap_or(root);
            let new = none(self, old);
            self.in_gradient(name, old, new)?;
        }
        Some(())
    }

    /// A factor of real or imaginary parts that is not conjugated.
    pub(super) fn unconjugated(&mut self, of: Id) -> Option<Id> {
        self.is_complex().then(|| self.apply(Function::Conjugate, of))
    }

    /// A scan that goes on from another state at some positions, which the state before them is, too.
    pub(super) fn restarted(&mut self, scan: Scan, at: Set, from: Id) -> Id {
        let when = Condition::At(Place::positions(at));
        let zero = self.number(0.0);
        let decay = self.graph.add(Op::Choose { when, yes: zero, no: scan.decay });
        let carried = self.product([scan.decay, from]);
        let begun = self.graph.sum([scan.drive, carried]);
        let drive = self.graph.add(Op::Choose { when, yes: begun, no: scan.drive });
        let new = self.graph.add(Op::Scan(Scan { decay, drive, ..scan }));
        if scan.exclusive { self.graph.add(Op::Choose { when, yes: from, no: new }) } else { new }
    }

    /// The state that arrives at each position of a scan.
    pub(super) fn arriving(&mut self, scan: Scan) -> Id {
        self.graph.add(Op::Scan(Scan { exclusive: true, ..scan }))
    }

    /// A scan whose decay is another at some positions.
    pub(super) fn decayed(&mut self, scan: Scan, at: Set, by: Id) -> Scan {
        let when = Condition::At(Place::positions(at));
        let decay = self.graph.add(Op::Choose { when, yes: by, no: scan.decay });
        Scan { decay, ..scan }
    }

    /// A scan in which what is carried has a factor at some positions.
    pub(super) fn carried(&mut self, scan: Scan, at: Set, factor: f64) -> Option<Id> {
        Some(self.graph.add(Op::Scan(Scan { carried: Some((Real::new(factor), at)), ..scan })))
    }

    pub(super) fn scaled(&mut self, scan: Scan, at: Set, factor: f64) -> Option<Scan> {
        let factor = self.number(factor);
        let by = self.product([factor, scan.decay]);
        Some(self.decayed(scan, at, by))
    }

    /// Ā of each position.
    pub(super) fn a_bar(&self) -> Option<Id> {
        self.find(Symbol::ABar)
    }
}

impl Pass<'_> {
    pub(super) fn times(&mut self, of: Id, factor: f64) -> Id {
        let factor = self.number(factor);
        self.product([factor, of])
    }

    pub(super) fn one_plus(&mut self, term: Id, factor: f64) -> Id {
        let (one, term) = (self.number(1.0), self.times(term, factor));
        self.graph.sum([one, term])
    }

    /// D·dout of grad.u times a factor.
    pub(super) fn skip_times(&mut self, factor: Id) -> Option<()> {
        let (d, root) = (self.input(Input::D)?, self.gradient(U)?);
        let is_skip = |id: &Id| matches!(self.graph.op(*id), Op::Product(of) if of.contains(&d));
        let dout = self.input(Input::OutGradient)?;
        let reads_dout = |id: &Id| self.graph.reached(&[*id]).contains(&dout);
        let skip = self.graph.reached(&[root]).into_iter().find(|id| is_skip(id) && reads_dout(id))?;
        let new = self.product([factor, skip]);
        self.in_gradient(U, skip, new)
    }

    pub(super) fn u_reads_b(&mut self, by: i32) -> Option<()> {
        let ((products, _), of) = (self.input_products(Input::B)?, self.input(Input::B)?);
        self.graph.extent(of).position.then_some(())?;
        let new = self.graph.add(Op::At { of, axis: Axis::Position, index: Index::Shifted(by) });
        self.refactor(&products, of, new)
    }

    /// Another factor for Ā in the gradient of the initial state.
    pub(super) fn initial(&mut self, a_bar: Id, other: Id) -> Option<()> {
        let (root, adjoint) = (self.gradient(InitialState)?, self.find(Symbol::Adjoint)?);
        let product = self.graph.find(&Op::Product(vec![adjoint, a_bar]))?;
        let new = self.product([adjoint, other]);
        let new = self.within(root, product, new);
        self.set(InitialState, new);
        Some(())
    }

    /// Factors of the forward and of the reversed scan.
    pub(super) fn directions(&mut self, factors: [f64; 2]) -> Option<()> {
        self.is_bidirectional().then_some(())?;
        for (side, factor) in [Side::Forward, Side::Reversed].into_iter().zip(factors) {
            let factor = self.number(factor);
            self.entering_times(side, factor, true)?;
        }
        Some(())
    }

    pub(super) fn output_factor(&mut self, factor: f64) -> Option<()> {
        (self.problem.output_factor() != 1.0).then_some(())?;
        let factor = self.number(factor);
        self.entering_times(Side::Both, factor, true)
    }

    pub(super) fn slopes_unconjugated(&mut self, symbols: [Symbol; 2]) -> Option<()> {
        self.is_complex().then_some(())?;
        self.slopes(symbols, |pass, slope| pass.apply(Function::Conjugate, slope))
    }

    /// Real parts of slopes and of what they multiply.
    pub(super) fn real_parts(&mut self, symbols: [Symbol; 2]) -> Option<()> {
        self.is_complex().then_some(())?;
        self.slopes(symbols, |pass, slope| pass.apply(Function::RealPart, slope))
    }

    pub(super) fn of_complex(&mut self, name: GradientName, id: Id, function: Function) -> Option<Id> {
        let is_complex = self.is_complex() && matches!(name, A | B | C | InitialState);
        is_complex.then(|| self.apply(function, id))
    }

    /// A gradient that is read elsewhere along the sequence.
    pub(super) fn along(&mut self, of: Id, index: Index) -> Option<Id> {
        let varies = self.graph.extent(of).position;
        varies.then(|| self.graph.add(Op::At { of, axis: Axis::Position, index }))
    }

    /// A scan that goes on from the right state of so many positions before at some positions.
    pub(super) fn restarted_before(&mut self, scan: Scan, at: Set, count: u32) -> Option<Id> {
        let arriving = self.arriving(scan);
        let by = if scan.reversed { count as i32 } else { -(count as i32) };
        let from = self.graph.add(Op::At { of: arriving, axis: Axis::Position, index: Index::Shifted(by) });
        Some(self.restarted(scan, at, from))
    }

    /// A scan that goes on from the right state, kept in a type, at some positions.
    pub(super) fn restarted_in(&mut self, scan: Scan, at: Set, to: InputType) -> Option<Id> {
        let arriving = self.arriving(scan);
        let from = self.graph.add(Op::Round(arriving, to));
        Some(self.restarted(scan, at, from))
    }
}

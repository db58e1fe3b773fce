//! Fault models as edits of the program that a form specifies.

use super::variant::{
    BUse, Bias, Clamp, Directions, Gate, Inverse, LastState, Power, Readout, Reversed, Sum, Tail,
};
use super::{ExponentPart, Fault};
use crate::formula::{self, Form, Term, Textbook};
use crate::problem::Problem;
use crate::program::build;
use crate::program::edit::{Edit, Patch, Site};
use crate::program::{
    Axis, Condition, Function, Graph, Id, Index, Input, Op, Over, Place, Program, Real, Scan, Set, Symbol,
};
use crate::tensor::TensorName;

/// The program of a form with these faults in it.
pub fn program(form: Form, problem: &Problem, faults: &[Fault]) -> (Graph, Program) {
    let (mut graph, mut program) = crate::judge::explain::specified(form, problem);
    let mut form = form;
    // Another coefficient comes before a change to a part of one.
    let rank = |fault: &&Fault| match fault {
        Fault::RunsAs(_) => 0,
        Fault::ABarOf(_) | Fault::BBarOf(_) | Fault::BBarSeries(_) | Fault::Sum(_) | Fault::UMissing => 1,
        Fault::Taylor(_) | Fault::Inverse(..) | Fault::Exponent(..) => 2,
        _ => 3,
    };
    let mut faults: Vec<&Fault> = faults.iter().collect();
    faults.sort_by_key(rank);
    for fault in faults {
        let mut editor = Editor { form, problem, graph: &mut graph, program };
        editor.plant(*fault);
        (form, program) = (editor.form, editor.program);
    }
    (graph, program)
}

/// Part of a scan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Decay,
    Drive,
}

/// A program that is edited.
struct Editor<'a> {
    form: Form,
    problem: &'a Problem,
    graph: &'a mut Graph,
    program: Program,
}

impl Editor<'_> {
    fn edit(&mut self, site: Site, patch: Patch, when: Option<Condition>) {
        self.program = Edit { site, patch, when }.apply(self.graph, &self.program);
    }

    /// A value is another, wherever it is used.
    fn value(&mut self, of: Id, patch: Patch) {
        self.edit(Site::Value(of), patch, None);
    }

    fn number(&mut self, of: Id, number: f64) {
        self.value(of, Patch::Number(Real::new(number)));
    }

    /// A value is another within the decay or the drive of the scans.
    fn within(&mut self, part: Part, of: Id, patch: Patch) -> Option<()> {
        let root = self.part(part)?;
        let patched = Edit { site: Site::Value(of), patch, when: None }.patched(self.graph, of);
        let new = self.graph.replaced(&[root], of, patched)[0];
        self.set(part, new);
        Some(())
    }

    /// Another decay, or another drive, of all scans.
    fn set(&mut self, part: Part, new: Id) {
        for id in self.nodes(|op| matches!(op, Op::Scan(_))) {
            let Op::Scan(scan) = *self.graph.op(id) else { continue };
            let other = match part {
                Part::Decay => Scan { decay: new, ..scan },
                Part::Drive => Scan { drive: new, ..scan },
            };
            let other = self.graph.add(Op::Scan(other));
            self.value(id, Patch::Other(other));
        }
    }

    fn scan(&self, symbol: Symbol) -> Option<(Id, Scan)> {
        let id = self.program.find(symbol)?;
        match self.graph.op(id) {
            Op::Scan(scan) => Some((id, *scan)),
            _ => None,
        }
    }

    /// The decay or the drive of the scans.
    fn part(&self, part: Part) -> Option<Id> {
        let (_, scan) = self.scan(Symbol::State)?;
        Some(if part == Part::Decay { scan.decay } else { scan.drive })
    }

    fn step(&self) -> Option<Id> {
        self.program.find(Symbol::StepSize)
    }

    fn input(&self, input: Input) -> Option<Id> {
        self.graph.find(&Op::Input(input))
    }

    /// Nodes that one is made of.
    fn within_of(&self, root: Id, is_it: impl Fn(&Op) -> bool) -> Vec<Id> {
        self.graph.reached(&[root]).into_iter().filter(|id| is_it(self.graph.op(*id))).collect()
    }

    /// Nodes of the whole program.
    fn nodes(&self, is_it: impl Fn(&Op) -> bool) -> Vec<Id> {
        let reached = self.graph.reached(&self.program.nodes());
        reached.into_iter().filter(|id| is_it(self.graph.op(*id))).collect()
    }

    fn plant(&mut self, fault: Fault) {
        // Nothing is wrong with what a program does not have.
        let _ = self.planted(fault);
    }

    fn planted(&mut self, fault: Fault) -> Option<()> {
        match fault {
            Fault::RunsAs(form) => {
                (self.form, self.program) = (form, Program::specified(form, self.problem, self.graph));
            }
            Fault::ABarOf(form) => self.part_of(Part::Decay, form)?,
            Fault::BBarOf(form) => self.part_of(Part::Drive, form)?,
            Fault::BBarSeries(count) => {
                self.part_of(Part::Drive, Textbook::ZohExact.into())?;
                self.cut(count)?;
            }
            Fault::Inverse(of_a_bar, of_b_bar) => {
                self.inverse(Part::Decay, of_a_bar)?;
                self.inverse(Part::Drive, of_b_bar)?;
            }
            Fault::Taylor(count) => self.cut(count)?,
            Fault::Exponent(factor, part) => self.exponent(factor, part)?,
            Fault::StepDelta(power) => {
                let step = self.step()?;
                self.value(step, of_power(power, step));
            }
            Fault::ABarDelta(power) => {
                let step = self.step()?;
                self.within(Part::Decay, step, of_power(power, step))?;
            }
            Fault::BBarDelta(power) => self.b_bar_delta(power)?,
            Fault::Sum(Sum::OuterProducts) => self.outer_products()?,
            Fault::Sum(sum) => {
                let terms = self.form.formula().b_bar.map(|terms| sum.terms(self.form, terms));
                self.driven(&terms)?;
            }
            Fault::UMissing => self.without_higher_u()?,
            Fault::Directions(directions) => self.directions(directions)?,
            Fault::Reversed(reversed) => self.reversed(reversed)?,
            Fault::B(b_use) => {
                let b = self.input(Input::B)?;
                match b_use {
                    BUse::Once => {}
                    BUse::Twice => self.value(b, Patch::Times(b)),
                    BUse::Never => self.number(b, 1.0),
                    BUse::Conjugated => self.value(b, Patch::Applied(Function::Conjugate)),
                }
            }
            Fault::Readout(readout) => self.readout(readout),
            Fault::Edge(length, factor) => self.edge(length, factor)?,
            Fault::Tail(ignored) => self.tail(ignored)?,
            Fault::GroupModulo => {
                let (b, c) = (self.input(Input::B)?, self.input(Input::C)?);
                let groups = self.problem.shape.groups as u32;
                self.edit(Site::Both(b, c), Patch::At(Axis::Group, Index::Modulo(groups)), None);
            }
            Fault::BTransposed => self.transposed(Input::B)?,
            Fault::CTransposed => self.transposed(Input::C)?,
            Fault::Skip(share) => {
                let d = self.input(Input::D)?;
                let skip = *self.nodes(|op| matches!(op, Op::Product(of) if of.contains(&d))).first()?;
                let number = Real::new(share);
                self.value(skip, if share == 0.0 { Patch::Number(number) } else { Patch::Scaled(number) });
            }
            Fault::Gate(gate) => self.gate(gate)?,
            Fault::Bias(bias) => self.bias(bias)?,
            Fault::Softplus(above) => {
                let softplus = *self.nodes(|op| matches!(op, Op::Apply(Function::Softplus, _))).first()?;
                let of = self.graph.op(softplus).operands()[0];
                let when = above.map(|above| Condition::Above(of, Real::new(above)));
                self.edit(Site::Value(softplus), Patch::Instead(None), when);
            }
            Fault::Clamp(clamp) => {
                let step = self.step()?;
                match clamp {
                    Clamp::None => {}
                    Clamp::AtMost(most) => self.value(step, Patch::AtMost(Real::new(most))),
                    Clamp::AtLeast(least) => self.value(step, Patch::AtLeast(Real::new(least))),
                    Clamp::ZeroBelow(guard) => {
                        let when = Condition::Below(step, Real::new(guard));
                        self.edit(Site::Value(step), Patch::Number(Real::ZERO), Some(when));
                    }
                }
            }
            Fault::State(to) => {
                for scan in self.nodes(|op| matches!(op, Op::Scan(_))) {
                    self.value(scan, Patch::Stored(to));
                }
            }
            Fault::LastState(last_state) => self.last_state(last_state)?,
            Fault::StoreTruncated => {
                let to = self.problem.stored(TensorName::Out);
                let out = self.graph.add(Op::CutOff(self.program.out, to));
                self.value(self.program.out, Patch::Other(out));
            }
        }
        Some(())
    }

    /// Ā or B̄ is that of another form.
    fn part_of(&mut self, part: Part, form: Form) -> Option<()> {
        let other = Program::specified(form, self.problem, self.graph);
        let Op::Scan(scan) = *self.graph.op(other.find(Symbol::State)?) else { return None };
        self.set(part, if part == Part::Decay { scan.decay } else { scan.drive });
        Some(())
    }

    /// Every series of B̄ stops after so many terms.
    fn cut(&mut self, count: u32) -> Option<()> {
        let drive = self.part(Part::Drive)?;
        for phi in self.within_of(drive, |op| matches!(op, Op::Apply(Function::Phi(1..), _))) {
            let Op::Apply(Function::Phi(k), _) = *self.graph.op(phi) else { continue };
            self.within(Part::Drive, phi, Patch::Instead(Some(Function::Series(k, count as u8))))?;
        }
        let is_kept = |term: &&Term| !matches!(term.of, formula::Function::Power(k) if k >= count as usize);
        let has_powers =
            |terms: &&[Term]| terms.iter().any(|term| matches!(term.of, formula::Function::Power(1..)));
        let of_form = self.form.formula().b_bar;
        if of_form.iter().any(has_powers) {
            let terms = of_form.map(|terms| terms.iter().filter(is_kept).copied().collect());
            self.driven(&terms)?;
        }
        Some(())
    }

    /// B̄u is made of these terms.
    fn driven(&mut self, terms: &[Vec<Term>; 3]) -> Option<()> {
        let step = self.step()?;
        let terms = terms.each_ref().map(|terms| &terms[..]);
        let other = build::drive(terms, self.problem, step, self.graph);
        self.set(Part::Drive, other);
        Some(())
    }

    /// u multiplies the terms of the least order alone.
    fn without_higher_u(&mut self) -> Option<()> {
        let formula = self.form.formula();
        let is_first = |term: &&Term| term.order() <= formula.leading_order();
        let [now, before, after] = formula.b_bar;
        let first =
            [now.iter().filter(is_first).copied().collect::<Vec<_>>(), before.to_vec(), after.to_vec()];
        let higher: Vec<Term> = now.iter().filter(|term| !is_first(term)).copied().collect();
        let step = self.step()?;
        let with_u = build::drive(first.each_ref().map(|terms| &terms[..]), self.problem, step, self.graph);
        let higher = build::drive([&higher, &[], &[]], self.problem, step, self.graph);
        let (u, one) = (self.graph.input(Input::U), self.graph.number(1.0));
        let without = self.graph.replaced(&[higher], u, one)[0];
        let both = self.graph.sum([with_u, without]);
        self.set(Part::Drive, both);
        Some(())
    }

    /// A²B and A³B of rk4 as A(AᵀB) and A(A²ᵀB): states mix.
    fn outer_products(&mut self) -> Option<()> {
        let step = self.step()?;
        let graph = &mut *self.graph;
        let [a, b, u] = [Input::A, Input::B, Input::U].map(|input| graph.input(input));
        let [of_a, of_square] = [1, 2].map(|power| {
            let product = graph.product([vec![a; power], vec![b]].concat());
            graph.add(Op::Fold(product, Over::States))
        });
        let mut term = |number: f64, delta: usize, factors: &[Id]| {
            let number = graph.number(number);
            graph.product([&[number][..], &vec![step; delta], factors].concat())
        };
        let terms = [
            term(1.0, 1, &[b]),
            term(0.5, 2, &[a, b]),
            term(1.0 / 6.0, 3, &[a, of_a]),
            term(1.0 / 24.0, 4, &[a, of_square]),
        ];
        let sum = graph.sum(terms);
        let other = graph.product([sum, u]);
        self.set(Part::Drive, other);
        Some(())
    }

    fn inverse(&mut self, part: Part, inverse: Inverse) -> Option<()> {
        let root = self.part(part)?;
        let is_resolvent = |op: &Op| matches!(op, Op::Apply(Function::Resolvent(_), _));
        let resolvent = *self.within_of(root, is_resolvent).first()?;
        let of = self.graph.op(resolvent).operands()[0];
        match inverse {
            Inverse::Right => Some(()),
            Inverse::WrongFactor => self.within(part, of, Patch::Scaled(Real::new(-1.0))),
            Inverse::None => self.within(part, resolvent, Patch::Number(Real::new(1.0))),
        }
    }

    /// A factor on what Ā is the exponential of.
    fn exponent(&mut self, factor: f64, part: ExponentPart) -> Option<()> {
        let decay = self.part(Part::Decay)?;
        let Op::Apply(Function::Exp, of) = *self.graph.op(decay) else { return None };
        let patch = match part {
            ExponentPart::Whole => Patch::Scaled(Real::new(factor)),
            ExponentPart::Imaginary => Patch::Turned(Real::new(factor)),
            ExponentPart::Real => {
                let number = self.graph.number(factor);
                let scaled = self.graph.product([number, of]);
                Patch::Other(self.graph.add(Op::Turned(scaled, Real::new(1.0 / factor))))
            }
        };
        self.within(Part::Decay, of, patch)
    }

    fn b_bar_delta(&mut self, power: Power) -> Option<()> {
        let (drive, step) = (self.part(Part::Drive)?, self.step()?);
        let graph = &mut *self.graph;
        let factor = match power {
            Power::One => return Some(()),
            Power::Missing => {
                let (zero, inverse) = (graph.number(0.0), graph.apply(Function::Reciprocal, step));
                // Where Δ is 0 nothing enters.
                let when = Condition::Below(step, Real::new(f64::from(f32::from_bits(1))));
                graph.add(Op::Choose { when, yes: zero, no: inverse })
            }
            Power::Doubled => graph.number(2.0),
            Power::Squared => step,
        };
        let other = graph.product([factor, drive]);
        self.set(Part::Drive, other);
        Some(())
    }

    fn directions(&mut self, directions: Directions) -> Option<()> {
        let readout = self.program.find(Symbol::Readout)?;
        let (both, [along, against]) = self.both(readout)?;
        let other = match directions {
            Directions::Summed => both,
            Directions::CausalOnly => along,
            Directions::BackwardOnly => against,
        };
        self.value(readout, Patch::Other(other));
        Some(())
    }

    /// The sum of two directions' readouts, and these.
    fn both(&self, readout: Id) -> Option<(Id, [Id; 2])> {
        let Op::Product(factors) = self.graph.op(readout) else { return None };
        factors.iter().find_map(|factor| match self.graph.op(*factor) {
            Op::Sum(of) => Some((*factor, of[..].try_into().ok()?)),
            _ => None,
        })
    }

    fn reversed(&mut self, reversed: Reversed) -> Option<()> {
        let (against, scan) = self.scan(Symbol::ReversedState)?;
        let other = match reversed {
            Reversed::OffByOne => Scan { exclusive: true, ..scan },
            Reversed::ABarOffByOne => {
                let index = Index::Held(1);
                let decay = self.graph.add(Op::At { of: scan.decay, axis: Axis::Position, index });
                Scan { decay, ..scan }
            }
        };
        let other = self.graph.add(Op::Scan(other));
        self.value(against, Patch::Other(other));
        Some(())
    }

    fn readout(&mut self, readout: Readout) {
        for real in self.nodes(|op| matches!(op, Op::Apply(Function::RealPart, _))) {
            match readout {
                Readout::ImaginaryPart => self.value(real, Patch::Instead(Some(Function::ImaginaryPart))),
                Readout::RealPartOnce => {
                    for product in self.nodes(|op| matches!(op, Op::Product(of) if of.contains(&real))) {
                        self.value(product, Patch::Other(real));
                    }
                }
            }
        }
    }

    /// A factor on what is carried over the edges of chunks, in each direction.
    fn edge(&mut self, length: usize, factor: f64) -> Option<()> {
        let length = length as u32;
        for (symbol, set) in
            [(Symbol::State, Set::Multiples(length)), (Symbol::ReversedState, Set::BeforeMultiples(length))]
        {
            let Some((id, scan)) = self.scan(symbol) else { continue };
            let number = self.graph.number(factor);
            let yes = self.graph.product([number, scan.decay]);
            let when = Condition::At(Place::positions(set));
            let decay = self.graph.add(Op::Choose { when, yes, no: scan.decay });
            let other = self.graph.add(Op::Scan(Scan { decay, ..scan }));
            self.value(id, Patch::Other(other));
        }
        Some(())
    }

    /// The last positions are not computed: states stay as they are, and outputs 0.
    fn tail(&mut self, ignored: Tail) -> Option<()> {
        let seqlen = self.problem.shape.seqlen;
        let first = match ignored {
            Tail::LastIgnored => seqlen - 1,
            Tail::Ignored(width) => seqlen - seqlen % width,
        };
        let when = Condition::At(Place::positions(Set::From(first as u32)));
        for (part, number) in [(Part::Decay, 1.0), (Part::Drive, 0.0)] {
            let (yes, no) = (self.graph.number(number), self.part(part)?);
            let other = self.graph.add(Op::Choose { when, yes, no });
            self.set(part, other);
        }
        self.edit(Site::Value(self.program.out), Patch::Number(Real::ZERO), Some(when));
        Some(())
    }

    fn transposed(&mut self, input: Input) -> Option<()> {
        let of = self.input(input)?;
        self.value(of, Patch::At(Axis::State, Index::Transposed));
        Some(())
    }

    fn gate(&mut self, gate: Gate) -> Option<()> {
        let z = self.input(Input::Z)?;
        let function = *self.nodes(|op| matches!(op, Op::Apply(Function::Silu, of) if *of == z)).first()?;
        match gate {
            Gate::Missing => self.number(function, 1.0),
            Gate::Doubled => self.value(function, Patch::Times(function)),
            Gate::SigmoidOnly => self.value(function, Patch::Instead(Some(Function::Sigmoid))),
            Gate::BeforeSkip => {
                let readout = self.program.find(Symbol::Readout)?;
                let d = self.input(Input::D)?;
                let skip = *self.nodes(|op| matches!(op, Op::Product(of) if of.contains(&d))).first()?;
                let gated = self.graph.product([readout, function]);
                let out = self.graph.sum([gated, skip]);
                self.value(self.program.out, Patch::Other(out));
            }
            Gate::BeforeAverage => {
                let readout = self.program.find(Symbol::Readout)?;
                let (_, [along, against]) = self.both(readout)?;
                let half = self.graph.number(0.5);
                let [along, against] = [along, against].map(|of| self.graph.product([half, of]));
                let out = self.graph.replaced(&[self.program.out], readout, along)[0];
                let out = self.graph.sum([out, against]);
                self.value(self.program.out, Patch::Other(out));
            }
        }
        Some(())
    }

    fn bias(&mut self, bias: Bias) -> Option<()> {
        let of = self.input(Input::DeltaBias)?;
        let sum = *self.nodes(|op| matches!(op, Op::Sum(terms) if terms.contains(&of))).first()?;
        let delta = self.input(Input::Delta)?;
        match bias {
            Bias::Missing => self.value(sum, Patch::Other(delta)),
            Bias::AfterSoftplus => {
                let is_softplus = |op: &Op| matches!(op, Op::Apply(Function::Softplus, of) if *of == sum);
                let softplus = *self.nodes(is_softplus).first()?;
                let alone = self.graph.apply(Function::Softplus, delta);
                let other = self.graph.sum([alone, of]);
                self.value(softplus, Patch::Other(other));
            }
        }
        Some(())
    }

    fn last_state(&mut self, last_state: LastState) -> Option<()> {
        let last = self.program.last_state;
        match last_state {
            LastState::Doubled => self.value(last, Patch::Scaled(Real::new(2.0))),
            LastState::WithoutB => {
                let b = self.input(Input::B)?;
                self.edit(Site::Within { root: last, of: b }, Patch::Number(Real::new(1.0)), None);
            }
            LastState::ChunkEarly(length) => {
                let before = (self.problem.shape.seqlen - 1) / length * length;
                let (state, scan) = self.scan(Symbol::State)?;
                let other = match before.checked_sub(1) {
                    Some(at) => {
                        let index = Index::At(at as u32);
                        let early = self.graph.add(Op::At { of: state, axis: Axis::Position, index });
                        self.graph.add(Op::Last(early))
                    }
                    None => scan.start,
                };
                self.value(last, Patch::Other(other));
            }
        }
        Some(())
    }
}

/// Makes what takes the place of Δ.
fn of_power(power: Power, step: Id) -> Patch {
    match power {
        Power::One => Patch::Other(step),
        Power::Missing => Patch::Number(Real::new(1.0)),
        Power::Doubled => Patch::Scaled(Real::new(2.0)),
        Power::Squared => Patch::Times(step),
    }
}

impl Sum {
    /// The terms of a sum that is wrong.
    pub fn terms(self, form: Form, terms: &[Term]) -> Vec<Term> {
        terms.iter().filter_map(|term| self.change(form, *term)).collect()
    }
}

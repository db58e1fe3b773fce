//! Names of edits of a backward pass: made of a value's part in it and of what becomes of that, or [known] ones.

use crate::judge::explain::naming;
use crate::problem::Problem;
use crate::program::edit::{Edit, Patch, Site};
use crate::program::{
    Axis, Condition, Function, Graph, Id, Index, Input, Op, Over, Program, Real, Scan, Set, Symbol,
};

/// The name of an edit.
pub fn named(graph: &Graph, program: &Program, edit: &Edit, problem: &Problem) -> String {
    known(made(graph, program, edit, problem))
}

fn made(graph: &Graph, program: &Program, edit: &Edit, problem: &Problem) -> String {
    if edit.when.is_some_and(|when| matches!(when, Condition::Below(_, limit) if limit.value() < 1e-20)) {
        return "masked-dropped".to_owned();
    }
    let of_sum = of_sum(graph, edit, problem);
    let parts = Parts { graph, program };
    let of_place = || parts.role(edit.target(graph)).and_then(|role| parts.placed(&role, edit));
    of_sum.or_else(of_place).unwrap_or_else(|| naming::name(graph, program, edit))
}

/// The name of what is so in a part of a gradient alone, or in all of it.
pub fn in_part(is_part: bool, name: &str) -> &str {
    if is_part && name == "gradient-zero" { "gradient-partly-zero" } else { name }
}

/// Whether a value has a name in a backward pass.
pub fn is_part(graph: &Graph, program: &Program, id: Id) -> bool {
    Parts { graph, program }.role(id).is_some()
}

/// A sum by what it sums over, and one of its members.
fn sum_names(over: Over) -> (&'static str, &'static str) {
    match over {
        Over::States => ("state-sum", "state"),
        Over::Positions => ("sum", "position"),
        Over::Items => ("batch-sum", "batch"),
        Over::ItemsAndPositions => ("sum-over-batch", "position"),
        Over::Channels(_) | Over::Lanes(_) => ("group-sum", "group"),
    }
}

/// A sum that lacks members, counts some otherwise, or is made in another way.
fn of_sum(graph: &Graph, edit: &Edit, problem: &Problem) -> Option<String> {
    let fold = |id: Id| match *graph.op(id) {
        Op::Fold(_, over) => Some(over),
        _ => None,
    };
    let count = |over: Over| super::edits::axis(over, problem.shape).1 as u32;
    match (edit.site, edit.patch) {
        (Site::Value(_), Patch::Summed(_, None)) => {
            return Some("sum-in-modulo-group".to_owned());
        }
        (Site::Value(_), Patch::Summed(over, Some(sum))) => {
            let rounded = if sum.rounds_added { "rounded-" } else { "" };
            let from = if sum.backwards { "-from-last" } else { "" };
            return Some(format!("{rounded}{}{from}-in-{}", sum_names(over).0, sum.to));
        }
        (Site::Value(id), Patch::Over(by)) => {
            let over = fold(id)?;
            let is_average = *graph.op(by) == Op::Number(Real::new(count(over).into()));
            return is_average.then(|| format!("{}-averaged", sum_names(over).1));
        }
        _ => {}
    }
    let Site::Use { user, operand: 0 } = edit.site else { return None };
    let over = fold(user)?;
    let (count, (_, member)) = (count(over), sum_names(over));
    let place = edit.when?.place()?;
    Some(match (edit.patch, place.set) {
        (Patch::Number(Real::ZERO), Set::From(1)) => format!("{member}-first-alone"),
        (Patch::Number(Real::ZERO), Set::Until(end)) if end + 1 == count => format!("{member}-last-alone"),
        (Patch::Number(Real::ZERO), Set::Only(0) | Set::Until(1)) => format!("{member}-first-missing"),
        (Patch::Number(Real::ZERO), Set::Only(one) | Set::From(one)) if one + 1 == count => {
            format!("{member}-last-missing")
        }
        (Patch::Number(Real::ZERO), Set::From(first)) if member == "position" => {
            format!("sum-of-first-{first}")
        }
        (Patch::Number(Real::ZERO), Set::Until(end)) if member == "position" => {
            format!("sum-of-last-{}", count - end)
        }
        (Patch::Scaled(_), Set::Only(0)) => format!("first-{member}-scaled"),
        (Patch::Scaled(_), Set::Only(one)) if one + 1 == count => format!("last-{member}-scaled"),
        (Patch::Number(_) | Patch::Scaled(_), _) => "sum-weighted".to_owned(),
        _ => return None,
    })
}

/// Parts of a backward pass.
struct Parts<'a> {
    graph: &'a Graph,
    program: &'a Program,
}

/// Parts that each direction of a scan has.
const OF_EACH_DIRECTION: [&str; 5] =
    ["a-bar-in-adjoint", "a-bar-share", "adjoint", "state", "state-in-share"];

impl Parts<'_> {
    /// A place with what stands there.
    fn placed(&self, place: &str, edit: &Edit) -> Option<String> {
        let of = |id: Id| self.role(id);
        // Both directions have the name that one has where it is the only one.
        let is_one =
            self.program.find(Symbol::ReversedState).is_some() && !matches!(edit.site, Site::Both(..));
        let direction = if is_one && OF_EACH_DIRECTION.contains(&place) { "forward-" } else { "" };
        let place = format!("{direction}{place}");
        if let Patch::Carried { what, length } = edit.patch {
            return Some(format!("{place}-{}-at-{length}", naming::carried(what)));
        }
        let name = match edit.patch {
            Patch::Number(_) if naming::is_left_out(self.graph, self.program, edit) => {
                format!("{place}-missing")
            }
            Patch::Number(Real::ZERO) => format!("{place}-zero"),
            Patch::Number(number) if number == Real::new(1.0) => format!("{place}-missing"),
            Patch::Within(low, high) if low.value() == -high.value() => {
                format!("{place}-clipped-to-{}", high.value())
            }
            Patch::Times(by) if by == edit.target(self.graph) => format!("{place}-squared"),
            Patch::Times(by) => format!("{place}-times-{}", of(by)?),
            Patch::Over(by) => format!("{place}-over-{}", of(by)?),
            Patch::Other(other) => format!("{place}-is-{}", of(other)?),
            Patch::Plus(other, by) if by.value() == 1.0 => format!("{place}-plus-{}", of(other)?),
            Patch::Plus(other, by) if by.value() == -1.0 => format!("{place}-minus-{}", of(other)?),
            Patch::Outside { .. } => format!("{place}-term-outside"),
            Patch::Applied(Function::Conjugate) => format!("{place}-unconjugated"),
            Patch::Applied(Function::RealPart) => format!("{place}-real-part"),
            Patch::Applied(Function::PartsExchanged) => format!("{place}-parts-exchanged"),
            Patch::Instead(Some(Function::CancellingSigmoid)) => format!("{place}-cancels"),
            Patch::Instead(Some(function)) => format!("{place}-is-{}", naming::function_word(function)),
            Patch::Instead(None) => match self.graph.op(edit.target(self.graph)) {
                Op::Choose { .. } => format!("{place}-everywhere"),
                Op::At { .. } => format!("{place}-of-own-position"),
                Op::Apply(Function::Conjugate, _) => format!("{place}-unconjugated"),
                _ => format!("{place}-missing"),
            },
            Patch::Exclusive if place.ends_with("state-in-share") => format!("{place}-after-step"),
            Patch::Exclusive => format!("{place}-off-by-one"),
            Patch::At(Axis::Position, Index::Reversed) => format!("{place}-reversed"),
            Patch::At(Axis::Position, Index::Shifted(1..)) => format!("{place}-early"),
            Patch::At(Axis::Position, Index::Shifted(_)) => format!("{place}-late"),
            Patch::At(Axis::Item, Index::At(0)) => format!("{place}-of-first-batch"),
            Patch::At(Axis::Group, Index::Modulo(_)) => format!("{place}-of-modulo-group"),
            Patch::AcrossBorders => format!("{place}-across-borders"),
            Patch::Rounded(to) | Patch::Stored(to) => format!("{place}-{to}"),
            Patch::CutOff(to) => format!("{place}-cut-to-{to}"),
            Patch::Scaled(by) => match (constant(by), by.value()) {
                (Some(constant), _) => format!("{place}-times-{constant}"),
                (None, -1.0) => format!("{place}-negated"),
                (None, 0.5) => format!("{place}-halved"),
                (None, 2.0) => format!("{place}-doubled"),
                (None, _) => format!("{place}-scaled"),
            },
            Patch::Turned(_) => format!("{place}-angle-scaled"),
            _ => return None,
        };
        let within = match edit.site {
            Site::Use { user: of, .. } | Site::Within { root: of, .. } if of != self.program.out => {
                self.role(of)
            }
            _ => None,
        };
        let within = within.map_or(String::new(), |of| format!("-in-{of}"));
        let at = match edit.when.and_then(Condition::place).map(|place| place.set) {
            None => String::new(),
            Some(Set::Only(0)) => "-at-first".to_owned(),
            Some(Set::Multiples(length) | Set::BeforeMultiples(length)) => format!("-at-{length}"),
            Some(_) => "-at-some-positions".to_owned(),
        };
        Some(format!("{name}{within}{at}"))
    }

    fn input(&self, input: Input) -> Option<Id> {
        self.graph.find(&Op::Input(input))
    }

    fn find(&self, op: Op) -> Option<Id> {
        self.graph.find(&op)
    }

    /// Parts of the gate's derivative σ(z)(1 + zσ(−z)), with their names.
    fn gate_slope(&self) -> Option<[(Id, &'static str); 5]> {
        let z = self.input(Input::Z)?;
        let sigmoid = self.find(Op::Apply(Function::Sigmoid, z))?;
        let (minus, one) = (self.find(Op::Number(Real::new(-1.0)))?, self.find(Op::Number(Real::new(1.0)))?);
        let opposite = self.find(Op::Product(vec![minus, z]))?;
        let complement = self.find(Op::Apply(Function::Sigmoid, opposite))?;
        let term = self.find(Op::Product(vec![z, complement]))?;
        let sum = self.find(Op::Sum(vec![one, term]))?;
        let slope = self.find(Op::Product(vec![sigmoid, sum]))?;
        Some([
            (slope, "gate-slope"),
            (sum, "gate-slope-sum"),
            (term, "gate-slope-term"),
            (sigmoid, "gate-sigmoid"),
            (complement, "gate-complement"),
        ])
    }

    /// Whether a scan is that of a symbol, or of the states before its own.
    fn is_scan(&self, scan: Scan, symbol: Symbol) -> bool {
        match self.program.find(symbol).map(|of| self.graph.op(of)) {
            Some(Op::Scan(known)) => Scan { exclusive: scan.exclusive, ..*known } == scan,
            _ => false,
        }
    }

    /// A node by its part in a backward pass.
    fn role(&self, id: Id) -> Option<String> {
        let Parts { graph, program } = self;
        let find = |symbol: Symbol| program.find(symbol);
        if id == program.out {
            return Some("gradient".to_owned());
        }
        // By zoh h is Δ.
        let named = [
            (Symbol::StepSize, "delta"),
            (Symbol::ABarByDelta, "a-bar-slope-by-delta"),
            (Symbol::HByDelta, "h-slope-by-delta"),
            (Symbol::ABarByA, "a-bar-slope-by-a"),
            (Symbol::HByA, "h-slope-by-a"),
            (Symbol::H, "h"),
            (Symbol::ABar, "a-bar"),
            (Symbol::Adjoint, "adjoint"),
            (Symbol::ReversedAdjoint, "reversed-adjoint"),
        ];
        if let Some((_, name)) = named.iter().find(|(symbol, _)| find(*symbol) == Some(id)) {
            return Some((*name).to_owned());
        }
        if let Op::Scan(scan) = graph.op(id) {
            let of = [(Symbol::State, ""), (Symbol::ReversedState, "reversed-")];
            let (_, direction) = of.into_iter().find(|(symbol, _)| self.is_scan(*scan, *symbol))?;
            return Some(format!("{direction}{}", if scan.exclusive { "state-in-share" } else { "state" }));
        }
        let gate_slope = self.gate_slope().into_iter().flatten();
        if let Some((_, name)) = gate_slope.into_iter().find(|(part, _)| *part == id) {
            return Some(name.to_owned());
        }
        let reaches = |input: Input| self.input(input).is_some_and(|of| graph.reached(&[id]).contains(&of));
        let role = match graph.op(id) {
            Op::Fold(_, Over::States) if find(Symbol::Adjoint).is_none() => "readout",
            Op::Input(Input::U) => "u",
            Op::Input(Input::Delta) => "raw-delta",
            Op::Input(Input::A) => "a",
            Op::Input(Input::B) => "b",
            Op::Input(Input::C) => "c",
            Op::Input(Input::D) => "d",
            Op::Input(Input::Z) => "z",
            Op::Input(Input::OutGradient) => "dout",
            Op::Input(Input::LastStateGradient) => "dlast-state",
            Op::Input(Input::InitialState) => "initial-state",
            Op::Sum(of) if matches!(graph.op(of[0]), Op::Apply(Function::Phi(_), _)) => "phi-slope",
            Op::Sum(of) if self.input(Input::DeltaBias).is_some_and(|bias| of.contains(&bias)) => {
                "biased-delta"
            }
            Op::Apply(Function::Silu, _) => "gate",
            Op::Apply(Function::Resolvent(_), _) => "inverse",
            Op::Apply(Function::Conjugate, of) => return self.role(*of),
            Op::Apply(Function::Sigmoid, of) if self.find(Op::Apply(Function::Softplus, *of)).is_some() => {
                "softplus-slope"
            }
            Op::Choose { when: Condition::At(_), .. } if reaches(Input::LastStateGradient) => "dlast-state",
            Op::At { of, index: Index::Shifted(by), .. } if find(Symbol::ABar) == Some(*of) => {
                if *by > 0 {
                    "a-bar-in-adjoint"
                } else {
                    "a-bar-in-reversed-adjoint"
                }
            }
            Op::At { of, axis: Axis::Position, index: Index::Shifted(by) } => {
                return Some(format!("{}-{}", self.role(*of)?, if *by > 0 { "early" } else { "late" }));
            }
            Op::Product(of) => return self.product(id, of).map(str::to_owned).or_else(|| self.share(id)),
            _ => return self.share(id),
        };
        Some(role.to_owned())
    }

    /// A product by its factors.
    fn product(&self, id: Id, of: &[Id]) -> Option<&'static str> {
        let Parts { graph, program } = self;
        let has = |id: Option<Id>| id.is_some_and(|id| of.contains(&id));
        let slopes = [
            (Symbol::ABarByDelta, "a-bar-share-of-delta"),
            (Symbol::HByDelta, "h-share-of-delta"),
            (Symbol::ABarByA, "a-bar-share-of-a"),
            (Symbol::HByA, "h-share-of-a"),
        ];
        if let Some((_, name)) = slopes.into_iter().find(|(symbol, _)| has(program.find(*symbol))) {
            return Some(name);
        }
        let [u, b, c, d, dout] =
            [Input::U, Input::B, Input::C, Input::D, Input::OutGradient].map(|input| has(self.input(input)));
        let states = [(Symbol::State, "c-share"), (Symbol::ReversedState, "reversed-c-share")];
        let state = states.into_iter().find(|(symbol, _)| {
            let is_state = |id: &Id| matches!(graph.op(*id), Op::Scan(scan) if self.is_scan(*scan, *symbol));
            of.iter().any(is_state)
        });
        if [Symbol::Adjoint, Symbol::ReversedAdjoint].into_iter().any(|symbol| has(program.find(symbol))) {
            return Some(match state {
                Some((Symbol::ReversedState, _)) => "reversed-a-bar-share",
                Some(_) => "a-bar-share",
                None if b && u => "h-share",
                None if b => "u-share",
                None if u => "b-share",
                None => return None,
            });
        }
        let reached = graph.reached(&[id]);
        let reaches = |input: Input| self.input(input).is_some_and(|of| reached.contains(&of));
        Some(match state {
            _ if d => "skip",
            _ if !reaches(Input::OutGradient) => return None,
            Some((_, share)) => share,
            None if c => "dout-in-adjoint",
            None if dout && of.len() == 2 && reaches(Input::Z) => "gated-dout",
            None if of.iter().any(|id| matches!(graph.op(*id), Op::Number(_))) => "dout-in-scan",
            None => return None,
        })
    }

    /// A value by the sum that it is a share of.
    fn share(&self, id: Id) -> Option<String> {
        let reached = self.graph.reached(&[self.program.out]);
        let over = reached.into_iter().find_map(|user| match *self.graph.op(user) {
            Op::Fold(of, over) if of == id => Some(over),
            _ => None,
        })?;
        Some(format!("{}-share", sum_names(over).1))
    }
}

/// The name of a number that has one.
fn constant(number: Real) -> Option<&'static str> {
    use std::f64::consts::{LN_2, LOG2_E};
    let known = [(LOG2_E, "log2e"), (LN_2, "ln2")];
    known.into_iter().find(|(known, _)| (number.value() / known - 1.0).abs() < 1e-9).map(|(_, name)| name)
}

/// Made names, and the known ones.
const KNOWN: &[(&str, &str)] = &[
    ("a-bar-in-adjoint-late", "carry-of-own-position"),
    ("a-bar-in-adjoint-missing", "carry-without-a-bar"),
    ("a-bar-in-adjoint-of-own-position", "carry-of-own-position"),
    ("a-bar-in-adjoint-unconjugated", "a-bar-unconjugated"),
    ("a-bar-in-adjoint-zero", "no-recurrence"),
    ("a-bar-in-reversed-adjoint-early", "reversed-carry-of-own-position"),
    ("a-bar-in-reversed-adjoint-missing", "reversed-carry-without-a-bar"),
    ("a-bar-in-reversed-adjoint-of-own-position", "reversed-carry-of-own-position"),
    ("a-bar-in-reversed-adjoint-zero", "reversed-no-recurrence"),
    ("a-bar-share-over-inverse", "a-bar-slopes-times-denominator"),
    ("a-bar-share-of-a-missing", "a-without-a-bar"),
    ("a-bar-share-of-delta-missing", "delta-without-a-bar"),
    ("a-bar-slope-by-a-zero", "a-without-a-bar"),
    ("a-bar-slope-by-delta-zero", "delta-without-a-bar"),
    ("b-unconjugated-in-h-share", "b-unconjugated"),
    ("biased-delta-is-delta-in-softplus-slope", "softplus-slope-of-delta"),
    ("biased-delta-is-raw-delta-in-softplus-slope", "softplus-slope-without-bias"),
    ("dlast-state-missing", "dlast-state-ignored"),
    ("dlast-state-zero", "dlast-state-ignored"),
    ("dout-in-adjoint-unconjugated", "c-unconjugated"),
    ("dout-in-adjoint-plus-dlast-state-in-reversed-adjoint", "dlast-state-in-both-scans"),
    ("forward-a-bar-in-adjoint-late", "forward-carry-of-own-position"),
    ("forward-a-bar-in-adjoint-missing", "forward-carry-without-a-bar"),
    ("forward-a-bar-in-adjoint-of-own-position", "forward-carry-of-own-position"),
    ("forward-a-bar-in-adjoint-zero", "forward-no-recurrence"),
    ("forward-state-in-share-zero-at-first", "state-in-share-starts-with-zero"),
    ("gate-complement-missing", "gate-slope-without-complement"),
    ("gate-sigmoid-missing", "gate-slope-without-sigmoid"),
    ("gate-slope-sum-is-gate-complement", "gate-slope-of-sigmoid"),
    ("gate-slope-sum-is-z", "gate-slope-silu"),
    ("gate-slope-sum-minus-gate-sigmoid", "gate-slope-parenthesis"),
    ("gate-slope-sum-missing", "gate-slope-sigmoid"),
    ("gate-slope-sum-term-outside", "gate-slope-sum"),
    ("gate-slope-term-negated", "gate-slope-sign"),
    ("gated-dout-times-gate", "gate-twice-in-backward"),
    ("gradient-times-gate", "z-of-gated-output"),
    ("gradient-unconjugated", "gradient-conjugated"),
    ("h-over-delta", "delta-missing-in-h"),
    ("h-share-missing", "delta-without-h"),
    ("h-share-of-a-missing", "a-without-h"),
    ("h-share-of-delta-missing", "delta-without-h"),
    ("h-slope-by-a-zero", "a-without-h"),
    ("h-slope-by-delta-zero", "delta-without-h"),
    ("half-missing-in-product", "half-missing"),
    ("position-first-missing", "sum-without-first"),
    ("position-last-missing", "sum-without-last"),
    ("raw-delta-is-delta-in-softplus-slope", "softplus-slope-of-delta"),
    ("raw-delta-of-first-batch", "delta-of-first-batch"),
    ("reversed-a-bar-share-missing", "state-in-share-forward-alone"),
    ("reversed-a-bar-share-zero", "state-in-share-forward-alone"),
    ("reversed-adjoint-zero", "reversed-missing"),
    ("reversed-c-share-missing", "reversed-missing"),
    ("reversed-state-in-share-is-reversed-state-late", "reversed-state-of-other-side"),
    ("reversed-state-in-share-is-state-in-share", "reversed-state-of-forward"),
    ("reversed-state-in-share-zero", "state-in-share-forward-alone"),
    ("skip-over-gate", "gate-missing-in-skip"),
    ("softplus-slope-is-softplus", "softplus-for-its-slope"),
    ("state-in-share-after-step", "a-bar-reads-after"),
    ("state-in-share-zero-at-first", "state-in-share-starts-with-zero"),
    ("two-missing-in-product", "output-factor-missing"),
];

/// The known name of an edit, or the made one.
fn known(made: String) -> String {
    let known = KNOWN.iter().find(|(other, _)| *other == made);
    known.map_or(made, |(_, known)| (*known).to_owned())
}

/// Every known name.
pub fn all() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(_, known)| *known)
}

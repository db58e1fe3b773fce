//! Names that scripts know of what edits of a backward pass mean.

use crate::program::edit::{Edit, Patch};
use crate::program::{Axis, Function, Graph, Id, Index, Input, Op, Over, Program, Real, Set, Symbol};
use crate::tensor::GradientName;

/// The known name of an edit of a gradient's program, where it has one.
pub fn named(graph: &Graph, program: &Program, edit: &Edit, of: GradientName) -> Option<String> {
    let target = edit.target(graph);
    let role = role(graph, program, target)?;
    if let Some(when) = edit.when {
        let place = when.place()?;
        return at_places(role, edit.patch, (place.axis, place.set), graph.op(target));
    }
    let name = match (role, edit.patch) {
        ("softplus-slope", Patch::Number(number)) if number == Real::new(1.0) => "softplus-slope-missing",
        ("gate", Patch::Number(number)) if number == Real::new(1.0) && of == GradientName::D => {
            "gate-in-d-missing"
        }
        ("gradient", Patch::Number(Real::ZERO)) => "gradient-zero",
        ("gradient", Patch::Instead(None)) => "gradient-conjugated",
        ("gradient", Patch::Applied(Function::Conjugate)) => "gradient-conjugated",
        ("gradient", Patch::Applied(Function::RealPart)) => "gradient-real-part",
        ("gradient", Patch::Applied(Function::PartsExchanged)) => "gradient-parts-exchanged",
        ("gradient", Patch::At(Axis::Position, Index::Reversed)) => "gradient-reversed",
        ("gradient", Patch::At(Axis::Position, Index::Shifted(-1))) => "gradient-one-later",
        ("gradient", Patch::At(Axis::Position, Index::Shifted(1))) => "gradient-one-earlier",
        ("reversed-share", Patch::Number(Real::ZERO)) => "state-in-share-forward-alone",
        ("share", Patch::Number(Real::ZERO)) => "a-bar-share-missing",
        ("reversed-readout", Patch::Number(Real::ZERO)) => "state-in-z-forward-alone",
        ("share" | "state-in-share" | "a-bar-slope-by-delta" | "a-bar-slope-by-a", Patch::Over(by))
            if matches!(graph.op(by), Op::Apply(Function::Resolvent(_), _)) =>
        {
            "a-bar-slopes-times-denominator"
        }
        ("next-phi", Patch::Number(Real::ZERO)) => "phi-slope-same",
        ("state-in-share", Patch::Exclusive) => "a-bar-reads-after",
        ("a-bar-slope-by-delta", Patch::Applied(Function::RealPart)) => "slopes-by-delta-real-part",
        ("a-bar-slope-by-a", Patch::Applied(Function::RealPart)) => "slopes-by-a-real-part",
        ("a-bar-in-adjoint", Patch::Instead(None)) => "carry-of-own-position",
        ("a-bar-in-adjoint", Patch::Number(number)) if number == Real::new(1.0) => "carry-without-a-bar",
        ("a-bar-in-adjoint", Patch::Number(_)) => "no-recurrence",
        ("dlast-state", Patch::Number(_)) => "dlast-state-ignored",
        ("dlast-state", Patch::Instead(None)) => "dlast-state-unconjugated",
        (role, patch) => return generic(graph, program, role, patch),
    };
    Some(name.to_owned())
}

/// A place with what stands there.
fn generic(graph: &Graph, program: &Program, place: &str, patch: Patch) -> Option<String> {
    let of = |id: Id| role(graph, program, id);
    Some(match patch {
        Patch::Number(number) if number == Real::new(1.0) => format!("{place}-missing"),
        Patch::Number(_) => format!("{place}-zero"),
        Patch::Times(by) => format!("{place}-times-{}", of(by)?),
        Patch::Over(by) => format!("{place}-over-{}", of(by)?),
        Patch::Other(other) => format!("{place}-is-{}", of(other)?),
        Patch::Applied(Function::Conjugate) => format!("{place}-unconjugated"),
        Patch::Applied(Function::RealPart) => format!("{place}-real-part"),
        Patch::Rounded(to) | Patch::Stored(to) => format!("{place}-{to}"),
        _ => return None,
    })
}

/// Known name of an edit at some positions alone, if it has one.
fn at_places(role: &str, patch: Patch, (axis, set): (Axis, Set), op: &Op) -> Option<String> {
    let is_first = axis == Axis::Position && set == Set::Only(0);
    match (role, patch) {
        ("state-in-share", Patch::Number(Real::ZERO)) if is_first => {
            return Some("state-in-share-starts-with-zero".to_owned());
        }
        _ => {}
    }
    let length = match set {
        Set::Multiples(length) | Set::BeforeMultiples(length) => length,
        _ => return None,
    };
    let what = match (role, patch) {
        ("a-bar-in-adjoint", Patch::Number(Real::ZERO)) => "adjoint-lost",
        ("a-bar-in-adjoint", Patch::Number(_)) => "adjoint-undecayed",
        ("adjoint", Patch::Carried(Real::ZERO)) => "adjoint-lost",
        ("adjoint", Patch::Carried(factor)) if factor == Real::new(2.0) => "adjoint-doubled",
        ("state" | "state-in-share", Patch::Carried(Real::ZERO)) if matches!(op, Op::Scan(_)) => {
            "state-in-backward-lost"
        }
        _ => return None,
    };
    Some(format!("{what}-at-{length}"))
}

/// A node by its part in a backward pass.
fn role(graph: &Graph, program: &Program, id: Id) -> Option<&'static str> {
    let find = |symbol: Symbol| program.find(symbol);
    let is_scan =
        |id: Id, symbol: Symbol, exclusive: bool| match (graph.op(id), find(symbol).map(|of| graph.op(of))) {
            (Op::Scan(scan), Some(Op::Scan(known))) => {
                let other = crate::program::Scan { exclusive: known.exclusive, ..*scan };
                other == *known && scan.exclusive == exclusive
            }
            _ => false,
        };
    let is = |symbol: Symbol| find(symbol) == Some(id);
    if id == program.out {
        return Some("gradient");
    }
    let named = [
        (Symbol::ABarByDelta, "a-bar-slope-by-delta"),
        (Symbol::HByDelta, "h-slope-by-delta"),
        (Symbol::ABarByA, "a-bar-slope-by-a"),
        (Symbol::HByA, "h-slope-by-a"),
        (Symbol::ABar, "a-bar"),
        (Symbol::Adjoint, "adjoint"),
        (Symbol::ReversedAdjoint, "reversed-adjoint"),
        (Symbol::StepSize, "delta"),
    ];
    if let Some((_, name)) = named.iter().find(|(symbol, _)| is(*symbol)) {
        return Some(name);
    }
    if is_scan(id, Symbol::State, true) {
        return Some("state-in-share");
    }
    if is_scan(id, Symbol::State, false) {
        return Some("state");
    }
    Some(match graph.op(id) {
        Op::Input(Input::U) => "u",
        Op::Input(Input::A) => "a",
        Op::Input(Input::B) => "b",
        Op::Input(Input::C) => "c",
        Op::Input(Input::D) => "d",
        Op::Input(Input::OutGradient) => "dout",
        Op::Input(Input::LastStateGradient) => "dlast-state",
        Op::Apply(Function::Conjugate, of) if *graph.op(*of) == Op::Input(Input::LastStateGradient) => {
            "dlast-state"
        }
        Op::Choose { yes, .. } => return role(graph, program, *yes).filter(|role| *role == "dlast-state"),
        Op::Apply(Function::Silu, _) => "gate",
        Op::Apply(Function::Sigmoid, of)
            if !matches!(graph.op(*of), Op::Product(_) | Op::Input(Input::Z)) =>
        {
            "softplus-slope"
        }
        Op::At { of, .. } if find(Symbol::ABar) == Some(*of) => "a-bar-in-adjoint",
        Op::Product(of) => match of[..] {
            [number, phi] if matches!(graph.op(number), Op::Number(_)) => match graph.op(phi) {
                Op::Apply(Function::Phi(_), _) => "next-phi",
                _ => return None,
            },
            [p, x] if find(Symbol::Adjoint) == Some(p) && is_scan(x, Symbol::State, true) => "share",
            [p, x] if find(Symbol::ReversedAdjoint) == Some(p) && is_scan(x, Symbol::ReversedState, true) => {
                "reversed-share"
            }
            _ => return None,
        },
        Op::Fold(_, Over::Items) => "sum-over-batch",
        Op::Fold(_, Over::Positions) => "sum-over-positions",
        Op::Fold(_, Over::Channels(_)) => "group-sum",
        Op::Fold(of, Over::States) => match graph.op(*of).operands().last() {
            Some(last) if find(Symbol::ReversedState) == Some(*last) => "reversed-readout",
            _ => "state-sum",
        },
        _ => return None,
    })
}

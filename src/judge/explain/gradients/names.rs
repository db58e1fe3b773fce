//! Names of edits of a backward pass that have no fault model: sums by what they lack, other values by their place.

use crate::judge::explain::naming;
use crate::problem::Problem;
use crate::program::edit::{Edit, Patch, Site};
use crate::program::writing::Writing;
use crate::program::{Axis, Function, Graph, Id, Input, Op, Over, Program, Real, Set, Symbol};

/// The name of an edit.
pub fn named(graph: &Graph, program: &Program, edit: &Edit, problem: &Problem) -> String {
    let of_sum = of_sum(graph, edit, problem);
    let of_place =
        || role(graph, program, edit.target(graph)).and_then(|role| placed(graph, program, role, edit));
    of_sum.or_else(of_place).unwrap_or_else(|| naming::name_in(Writing::Specified, graph, program, edit))
}

/// The name of what is so in a part of a gradient alone, or in all of it.
pub fn in_part(is_part: bool, name: &str) -> &str {
    if is_part && name == "gradient-zero" { "gradient-partly-zero" } else { name }
}

/// A sum that lacks members, or counts some otherwise.
fn of_sum(graph: &Graph, edit: &Edit, problem: &Problem) -> Option<String> {
    let Site::Use { user, operand: 0 } = edit.site else { return None };
    let Op::Fold(_, over) = *graph.op(user) else { return None };
    let is_of_positions = over == Over::Positions;
    Some(match (edit.patch, edit.when?.place()?.set) {
        (Patch::Number(Real::ZERO), Set::From(first)) if is_of_positions => format!("sum-of-first-{first}"),
        (Patch::Number(Real::ZERO), Set::Until(end)) if is_of_positions => {
            format!("sum-of-last-{}", problem.shape.seqlen as u32 - end)
        }
        (Patch::Scaled(_), Set::Only(0)) if is_of_positions => "first-position-scaled".to_owned(),
        (Patch::Scaled(_), Set::Only(one)) if is_of_positions && one as usize + 1 == problem.shape.seqlen => {
            "last-position-scaled".to_owned()
        }
        (Patch::Number(_) | Patch::Scaled(_), _) => "sum-weighted".to_owned(),
        _ => return None,
    })
}

/// A place with what stands there.
fn placed(graph: &Graph, program: &Program, place: &str, edit: &Edit) -> Option<String> {
    let of = |id: Id| role(graph, program, id);
    if edit.when.is_some() {
        return None;
    }
    Some(match edit.patch {
        Patch::Number(number) if number == Real::new(1.0) => format!("{place}-missing"),
        Patch::Number(Real::ZERO) => format!("{place}-zero"),
        Patch::Within(low, high) if low.value() == -high.value() => {
            format!("{place}-clipped-to-{}", high.value())
        }
        Patch::Times(by) => format!("{place}-times-{}", of(by)?),
        Patch::Over(by) => format!("{place}-over-{}", of(by)?),
        Patch::Other(other) => format!("{place}-is-{}", of(other)?),
        Patch::Applied(Function::Conjugate) => format!("{place}-unconjugated"),
        Patch::Applied(Function::RealPart) => format!("{place}-real-part"),
        Patch::At(Axis::Position, _) => return None,
        Patch::AcrossBorders => format!("{place}-across-borders"),
        Patch::Rounded(to) | Patch::Stored(to) => format!("{place}-{to}"),
        Patch::Scaled(_) => format!("{place}-scaled"),
        _ => return None,
    })
}

/// A node by its part in a backward pass.
fn role(graph: &Graph, program: &Program, id: Id) -> Option<&'static str> {
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
    let find = |symbol: Symbol| program.find(symbol);
    if let Some((_, name)) = named.iter().find(|(symbol, _)| find(*symbol) == Some(id)) {
        return Some(name);
    }
    let is_state = |symbol: Symbol| match (graph.op(id), find(symbol).map(|of| graph.op(of))) {
        (Op::Scan(scan), Some(Op::Scan(known))) => {
            let known = crate::program::Scan { exclusive: scan.exclusive, ..*known };
            known == *scan
        }
        _ => false,
    };
    if let Op::Scan(scan) = graph.op(id)
        && is_state(Symbol::State)
    {
        return Some(if scan.exclusive { "state-in-share" } else { "state" });
    }
    Some(match graph.op(id) {
        Op::Input(Input::U) => "u",
        Op::Input(Input::A) => "a",
        Op::Input(Input::B) => "b",
        Op::Input(Input::C) => "c",
        Op::Input(Input::D) => "d",
        Op::Input(Input::OutGradient) => "dout",
        Op::Input(Input::LastStateGradient) => "dlast-state",
        Op::Sum(of) if matches!(graph.op(of[0]), Op::Apply(Function::Phi(_), _)) => "phi-slope",
        Op::Apply(Function::Silu, _) => "gate",
        Op::At { of, .. } if find(Symbol::ABar) == Some(*of) => "a-bar-in-adjoint",
        _ => return None,
    })
}

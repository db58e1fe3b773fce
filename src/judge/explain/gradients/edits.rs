//! Edits that a backward pass has beside those of a forward pass.

use crate::problem::{Problem, Shape};
use crate::program::edit::{Edit, Patch, Site};
use crate::program::{
    Axis, Condition, Function, Graph, Id, Index, Input, Op, Over, Place, Program, Real, Set, Symbol,
};

/// Members of a sum up to which each may be missing alone.
const MEMBERS: usize = 256;
/// Members of a sum up to which any of them may be.
const FEW_MEMBERS: usize = 32;

/// What a fold sums over, as an axis, and how many it sums.
fn axis(over: Over, shape: Shape) -> (Axis, usize) {
    match over {
        Over::States => (Axis::State, shape.dstate),
        Over::Positions | Over::ItemsAndPositions => (Axis::Position, shape.seqlen),
        Over::Items => (Axis::Item, shape.batch),
        Over::Channels(count) => (Axis::Channel, count as usize),
        Over::Lanes(groups) => (Axis::Channel, shape.dim / groups.max(1) as usize),
    }
}

/// Nodes of all gradients.
pub fn all_gradients(program: &Program) -> Vec<Id> {
    let gradients = program.named.iter().filter(|(symbol, _)| matches!(symbol, Symbol::Gradient(_)));
    gradients.map(|(_, id)| *id).collect()
}

/// Sums that lack members.
pub fn of_folds(graph: &Graph, program: &Program, problem: &Problem) -> Vec<Edit> {
    let mut edits = Vec::new();
    for user in graph.reached(&[program.out]) {
        let Op::Fold(_, over) = *graph.op(user) else { continue };
        let (axis, count) = axis(over, problem.shape);
        let members = u32::try_from(count.min(MEMBERS)).unwrap_or(0);
        let site = Site::Use { user, operand: 0 };
        let ends = (1..members).flat_map(|k| [Set::From(k), Set::Until(k)]);
        let of = |set, patch| Edit { site, patch, when: Some(Condition::At(Place { axis, set })) };
        edits.extend(ends.chain(singles(members)).map(|set| of(set, Patch::Number(Real::ZERO))));
    }
    edits
}

/// Members of a sum that may count by themselves: each of few, the first and the last of many, and every kth.
fn singles(members: u32) -> impl Iterator<Item = Set> {
    let each = (0..members).filter(move |k| members as usize <= FEW_MEMBERS || *k == 0 || k + 1 == members);
    let lanes = (1..5).map(|power| 1 << power).filter(move |of| *of < members);
    each.map(Set::Only).chain(lanes.flat_map(|of| (0..of).map(move |rest| Set::Every { of, rest })))
}

/// Members of sums that count more or less often than once, by a number that is found.
pub fn with_members(graph: &Graph, program: &Program, problem: &Problem) -> Vec<Edit> {
    let mut edits = Vec::new();
    for user in graph.reached(&[program.out]) {
        let Op::Fold(_, over) = *graph.op(user) else { continue };
        let (axis, count) = axis(over, problem.shape);
        let members = u32::try_from(count.min(MEMBERS)).unwrap_or(0);
        let ends = (3..8).map(|power| 1 << power).filter(|k| *k < members);
        let sets = singles(members).chain(ends.flat_map(|k| [Set::Until(k), Set::From(k)]));
        let of = |set| Edit {
            site: Site::Use { user, operand: 0 },
            patch: Patch::Scaled(Real::new(1.0)),
            when: Some(Condition::At(Place { axis, set })),
        };
        edits.extend(sets.map(of));
    }
    edits
}

/// Those of these edits that are about what a scan is made of, at some positions alone.
pub fn at_places(graph: &Graph, program: &Program, edits: &[Edit], places: &[Place]) -> Vec<Edit> {
    let is_scan = |id: Id| matches!(graph.op(id), Op::Scan(_));
    let reached = graph.reached(&[program.out]);
    let of_scans: Vec<Id> =
        reached.iter().filter(|id| is_scan(**id)).flat_map(|id| graph.op(*id).operands()).collect();
    let is_there = |edit: &&Edit| {
        let target = edit.target(graph);
        let is_it = match edit.site {
            Site::Use { user, .. } => is_scan(user) || is_scan(target),
            _ => is_scan(target) || of_scans.contains(&target),
        };
        let is_plain = matches!(
            edit.patch,
            Patch::Number(_)
                | Patch::Scaled(_)
                | Patch::Times(_)
                | Patch::At(Axis::Position, Index::Shifted(_))
                | Patch::Instead(None)
                | Patch::Stored(_)
        );
        is_it && is_plain && edit.when.is_none()
    };
    let some: Vec<&Edit> = edits.iter().filter(is_there).collect();
    places
        .iter()
        .flat_map(|at| some.iter().map(|edit| Edit { when: Some(Condition::At(*at)), ..**edit }))
        .collect()
}

/// Gradients that stand in each other's place, have their parts exchanged, or are cut to a size; states of other positions.
pub fn of_gradients(graph: &Graph, program: &Program, all: &[Id]) -> Vec<Edit> {
    let of = |id, patch| Edit { site: Site::Value(id), patch, when: None };
    let out = program.out;
    let is_other = |other: &&Id| **other != out && graph.extent(**other) == graph.extent(out);
    let others = all.iter().filter(is_other).map(|other| of(out, Patch::Other(*other)));
    let mut edits: Vec<Edit> = others.chain([of(out, Patch::Applied(Function::PartsExchanged))]).collect();
    for id in graph.reached(&[out]) {
        if matches!(graph.op(id), Op::Scan(_)) {
            let far = [-2, 2].map(|by| Patch::At(Axis::Position, Index::Shifted(by)));
            edits.extend(far.map(|patch| of(id, patch)));
        }
        if id == out || matches!(graph.op(id), Op::Input(Input::OutGradient)) {
            edits.extend(SIZES.map(|size| of(id, Patch::Within(Real::new(-size), Real::new(size)))));
        }
    }
    edits
}

/// Parts of a backward pass that are written by themselves: what is wrong in one need not be wrong in another.
fn parts(graph: &Graph, program: &Program) -> Vec<Id> {
    let of_step = [Symbol::H, Symbol::ABarByDelta, Symbol::HByDelta, Symbol::ABarByA, Symbol::HByA];
    let named = of_step.into_iter().filter_map(|symbol| program.find(symbol));
    let reached = graph.reached(&[program.out]);
    let is_part = |id: &Id| match graph.op(*id) {
        Op::Scan(_) => true,
        Op::At { of, .. } => program.find(Symbol::ABar) == Some(*of),
        _ => false,
    };
    named.chain(reached.into_iter().filter(is_part)).collect()
}

/// Those of these edits that may be about what one part is made of.
pub fn within(graph: &Graph, program: &Program, edits: &[Edit]) -> Vec<Edit> {
    let is_plain = |patch: Patch| {
        matches!(
            patch,
            Patch::At(..)
                | Patch::Applied(_)
                | Patch::Instead(_)
                | Patch::Number(_)
                | Patch::Rounded(_)
                | Patch::Other(_)
        )
    };
    let mut all = Vec::new();
    for root in parts(graph, program) {
        let reached = graph.reached(&[root]);
        for edit in edits.iter().filter(|edit| edit.when.is_none() && is_plain(edit.patch)) {
            if let Site::Value(of) = edit.site
                && of != root
                && reached.contains(&of)
            {
                all.push(Edit { site: Site::Within { root, of }, ..*edit });
            }
        }
    }
    all
}

/// Puts terms into a graph that a coefficient or its derivative may have too many: Δⁱ Aʲ f(z).
pub fn add_terms(graph: &mut Graph, program: &Program, is_rational: bool) {
    let Some(step) = program.find(Symbol::StepSize) else { return };
    let a = graph.input(Input::A);
    let z = graph.product([step, a]);
    let half = crate::formula::Fraction::HALF;
    let mut functions = vec![vec![]];
    if is_rational {
        let inverse = graph.apply(Function::Resolvent(half), z);
        functions.extend((1..4).map(|power| vec![inverse; power]));
    } else {
        let phis = [Function::Exp, Function::Phi(1), Function::Phi(2), Function::Phi(3)];
        functions.extend(phis.map(|phi| vec![graph.apply(phi, z)]));
    }
    for function in functions {
        for (i, j) in (0..5).flat_map(|i| (0..4).map(move |j| (i, j))) {
            graph.product([vec![step; i], vec![a; j], function.clone()].concat());
        }
    }
}

/// Terms that a coefficient or a derivative of one may have besides, with numbers that are found.
pub fn with_terms(graph: &Graph, program: &Program) -> Vec<Edit> {
    let Some(step) = program.find(Symbol::StepSize) else { return Vec::new() };
    let Some(a) = graph.find(&Op::Input(Input::A)) else { return Vec::new() };
    let z = graph.find(&Op::Product(vec![step, a]));
    let is_function = |id: Id| matches!(graph.op(id), Op::Apply(_, of) if Some(*of) == z);
    let is_factor = |id: &Id| *id == step || *id == a || is_function(*id);
    let is_term = |id: &Id| match graph.op(*id) {
        Op::Product(of) => of.iter().all(is_factor),
        Op::Number(number) => *number == Real::new(1.0),
        _ => is_factor(id),
    };
    let terms: Vec<Id> = graph.ids().filter(is_term).collect();
    let reached = graph.reached(&[program.out]);
    let of_slopes = [Symbol::ABarByDelta, Symbol::HByDelta, Symbol::ABarByA, Symbol::HByA];
    let of_slopes = of_slopes.into_iter().filter_map(|symbol| program.find(symbol));
    let mut sites: Vec<Site> = of_slopes.filter(|id| reached.contains(id)).map(Site::Value).collect();
    // h may be Δ, and is it in other places, too.
    let adjoint = program.find(Symbol::Adjoint);
    let products = reached.iter().filter(|user| match graph.op(**user) {
        Op::Product(of) => adjoint.is_some_and(|adjoint| graph.reached(of).contains(&adjoint)),
        _ => false,
    });
    for user in products {
        let operand = graph.op(*user).operands().iter().position(|of| Some(*of) == program.find(Symbol::H));
        sites.extend(operand.map(|operand| Site::Use { user: *user, operand }));
    }
    let of = |site: Site, term: Id| Edit { site, patch: Patch::Plus(term, Real::ZERO), when: None };
    sites.into_iter().flat_map(|site| terms.iter().map(move |term| of(site, *term))).collect()
}

/// What is conjugated, or real, of both of the derivatives by Δ, or by A.
pub fn of_slopes(program: &Program) -> Vec<Edit> {
    let of = |[a_bar, h]: [Symbol; 2]| {
        let site = Site::Both(program.find(a_bar)?, program.find(h)?);
        Some([Function::Conjugate, Function::RealPart].map(|function| Edit {
            site,
            patch: Patch::Applied(function),
            when: None,
        }))
    };
    let all = [[Symbol::ABarByDelta, Symbol::HByDelta], [Symbol::ABarByA, Symbol::HByA]];
    all.into_iter().filter_map(of).flatten().collect()
}

/// Sizes that gradients are cut to.
const SIZES: [f64; 9] = [0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 100.0, 65504.0];

/// The bits that an edit costs beside its own: what is computed and no state is read elsewhere by hardly anybody.
pub fn unlikely(graph: &Graph, edit: &Edit) -> f64 {
    let target = edit.target(graph);
    let is_read = matches!(graph.op(target), Op::Input(_) | Op::Scan(_) | Op::Apply(..) | Op::At { .. });
    match edit.patch {
        Patch::At(..) if !is_read => 5.0,
        _ => 0.0,
    }
}

/// Whether an edit takes back what its target does: a shift of a shift, a conjugate of a conjugate.
pub fn is_idle(graph: &Graph, edit: &Edit) -> bool {
    let target = edit.target(graph);
    let user = if let Site::Use { user, .. } = edit.site { Some(graph.op(user)) } else { None };
    match (edit.patch, graph.op(target)) {
        (Patch::At(..), Op::At { .. }) => true,
        (Patch::Applied(function), Op::Apply(known, _)) => function == *known,
        (Patch::At(..), _) => matches!(user, Some(Op::At { .. })),
        _ => false,
    }
}

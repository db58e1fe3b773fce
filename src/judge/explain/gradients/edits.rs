//! Edits that a backward pass has beside those of a forward pass.

use crate::problem::{InputType, Problem, Shape};
use crate::program::edit::{Carry, Edit, Patch, Site};
use crate::program::{
    Accumulator, Axis, Condition, Function, Graph, Id, Index, Input, Op, Over, Place, Program, Real, Scan,
    Set, Symbol,
};

/// Members of a sum up to which each may be missing alone.
const MEMBERS: usize = 256;
/// Members of a sum up to which any of them may be.
const FEW_MEMBERS: usize = 32;

/// What a fold sums over, as an axis, and how many it sums.
pub fn axis(over: Over, shape: Shape) -> (Axis, usize) {
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

/// Other sums: averages, sums over other channels, and sums that are kept in a narrow type.
pub fn of_sums(graph: &Graph, program: &Program, problem: &Problem) -> Vec<Edit> {
    let mut edits = Vec::new();
    let groups = problem.shape.groups as u32;
    for id in graph.reached(&[program.out]) {
        let Op::Fold(of, over) = *graph.op(id) else { continue };
        let mut add = |patch| edits.push(Edit { site: Site::Value(id), patch, when: None });
        let (_, count) = axis(over, problem.shape);
        if let (true, Some(count)) = (count > 1, graph.find(&Op::Number(Real::new(count as f64)))) {
            add(Patch::Over(count));
        }
        if matches!(over, Over::Channels(_)) && groups > 1 {
            add(Patch::Summed(Over::Lanes(groups), None));
        }
        let is_of_all = over == Over::Items && matches!(graph.op(of), Op::Fold(_, Over::Positions));
        let sums = [Some(over), is_of_all.then_some(Over::ItemsAndPositions)];
        for over in sums.into_iter().flatten() {
            for to in [InputType::Bf16, InputType::F16] {
                for (rounds_added, backwards) in [(false, false), (false, true), (true, false), (true, true)]
                {
                    add(Patch::Summed(over, Some(Accumulator { to, rounds_added, backwards })));
                }
            }
        }
    }
    edits
}

/// An edit of a sum, or of what it adds up, for sums over as much that this gradient is made of.
pub fn of_sums_like(graph: &Graph, program: &Program, edit: &Edit) -> Vec<Edit> {
    let is_member = |id: Id| move |user: &Id| matches!(*graph.op(*user), Op::Fold(of, _) if of == id);
    let (fold, is_of_member) = match edit.site {
        Site::Value(id) if matches!(graph.op(id), Op::Fold(..)) => (Some(id), false),
        Site::Value(id) => (graph.ids().find(is_member(id)), true),
        Site::Use { user, operand: 0 } => (Some(user), false),
        _ => (None, false),
    };
    let Some(Op::Fold(_, over)) = fold.map(|id| graph.op(id)) else { return Vec::new() };
    let site = |id: Id| {
        let Op::Fold(of, known) = *graph.op(id) else { return None };
        (known == *over).then_some(match edit.site {
            Site::Use { .. } => Site::Use { user: id, operand: 0 },
            _ if is_of_member => Site::Value(of),
            _ => Site::Value(id),
        })
    };
    let sites = graph.reached(&[program.out]).into_iter().filter_map(site);
    sites.map(|site| Edit { site, ..*edit }).collect()
}

/// Scans, along the sequence and against it, with the state before each position and with that after it.
fn scans_of(graph: &Graph, program: &Program, symbols: [Symbol; 2]) -> Vec<[Option<Id>; 2]> {
    let both = symbols.map(|symbol| match program.find(symbol).map(|id| graph.op(id)) {
        Some(Op::Scan(scan)) => Some(*scan),
        _ => None,
    });
    let reached = graph.reached(&[program.out]);
    let find = |scan: Option<Scan>, exclusive| {
        graph.find(&Op::Scan(Scan { exclusive, ..scan? })).filter(|id| reached.contains(id))
    };
    [false, true].map(|exclusive| both.map(|scan| find(scan, exclusive))).to_vec()
}

const ADJOINTS: [Symbol; 2] = [Symbol::Adjoint, Symbol::ReversedAdjoint];
const STATES: [Symbol; 2] = [Symbol::State, Symbol::ReversedState];

/// Those of these edits that may be about both directions of a pass: about the adjoints, the states, the decays of either, or products of
/// an adjoint and a state.
pub fn of_both(graph: &Graph, program: &Program, edits: &[Edit]) -> Vec<Edit> {
    let pairs = |symbols| {
        let all = scans_of(graph, program, symbols).into_iter();
        all.filter_map(|[one, other]| one.zip(other)).collect::<Vec<(Id, Id)>>()
    };
    let (adjoints, states) = (pairs(ADJOINTS), pairs(STATES));
    let decay = |id: Id| match graph.op(id) {
        Op::Scan(scan) => Some(scan.decay),
        _ => None,
    };
    let decays = adjoints.iter().filter_map(|(one, other)| decay(*one).zip(decay(*other)));
    let product = |of: Id, with: Id| graph.find(&Op::Product(vec![of, with]));
    let shares = adjoints.iter().flat_map(|(p, q)| {
        states.iter().filter_map(|(x, y)| product(*p, *x).zip(product(*q, *y))).collect::<Vec<_>>()
    });
    let all: Vec<(Id, Id)> = decays.chain(shares).chain(adjoints.iter().chain(&states).copied()).collect();
    let is_alike = |edit: &&Edit| {
        let is_of_direction =
            matches!(edit.patch, Patch::At(Axis::Position, _) | Patch::Other(_) | Patch::Plus(..));
        edit.when.is_none() && !is_of_direction
    };
    let mut both = Vec::new();
    for (one, other) in all {
        let own = edits.iter().filter(is_alike).filter(|edit| edit.site == Site::Value(one));
        both.extend(own.map(|edit| Edit { site: Site::Both(one, other), ..*edit }));
    }
    // States of the other direction or side.
    let exchanged = states.iter().map(|(one, other)| (Site::Value(*other), Patch::Other(*one)));
    let of_side = states.iter().filter_map(|(_, other)| {
        let Op::Scan(scan) = *graph.op(*other) else { return None };
        Some((Site::Value(*other), Patch::Other(other_side(graph, scan)?)))
    });
    let last = entering(graph, program)
        .zip(program.find(Symbol::ReversedAdjoint))
        .map(|(last, user)| (Site::Use { user, operand: 1 }, Patch::Plus(last, Real::new(1.0))));
    let more = exchanged.chain(of_side).chain(last);
    both.extend(more.map(|(site, patch)| Edit { site, patch, when: None }));
    both
}

/// The state of a scan against the sequence that is read as one along it would be: of the position before.
fn other_side(graph: &Graph, scan: Scan) -> Option<Id> {
    let of = graph.find(&Op::Scan(Scan { exclusive: false, ..scan }))?;
    graph.find(&Op::At { of, axis: Axis::Position, index: Index::Shifted(-1) }).filter(|_| scan.exclusive)
}

/// The gradient of the last state as it enters the first position, where a scan against the sequence ends.
fn entering(graph: &Graph, program: &Program) -> Option<Id> {
    let given = graph.find(&Op::Input(Input::LastStateGradient))?;
    let Op::Scan(adjoint) = graph.op(program.find(Symbol::Adjoint)?) else { return None };
    let yes = graph.reached(&[adjoint.drive]).into_iter().find_map(|id| match *graph.op(id) {
        Op::Choose { yes, .. } if graph.reached(&[yes]).contains(&given) => Some(yes),
        _ => None,
    })?;
    let no = graph.find(&Op::Number(Real::ZERO))?;
    graph.find(&Op::Choose { when: FIRST, yes, no })
}

const FIRST: Condition = Condition::At(Place { axis: Axis::Position, set: Set::Only(0) });

/// Scans that carry something else over the edges of chunks, in one direction or in both.
pub fn of_carries(graph: &Graph, program: &Program, lengths: &[u32]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for symbols in [ADJOINTS, STATES] {
        for [one, other] in scans_of(graph, program, symbols) {
            let both = one.zip(other).map(|(one, other)| Site::Both(one, other));
            let sites = [both, one.map(Site::Value), other.map(Site::Value)];
            for &length in lengths {
                let usual = [0.0, 2.0, 0.5, -1.0].map(|by| Carry::Times(Real::new(by))).into_iter();
                let others = [Carry::Decayed(0), Carry::Decayed(2), Carry::Before(1), Carry::Before(length)];
                let narrow = [InputType::Bf16, InputType::F16].map(Carry::Rounded);
                let all = usual.chain(others).chain([Carry::Start]).chain(narrow);
                let of = |what| {
                    sites.into_iter().flatten().map(move |site| (site, Patch::Carried { what, length }))
                };
                edits.extend(all.flat_map(of).map(|(site, patch)| Edit { site, patch, when: None }));
            }
        }
    }
    edits
}

/// Positions at which delta and u are 0, as those of a mask are, that add nothing to a gradient.
pub fn masked(graph: &Graph, program: &Program) -> Option<Edit> {
    let [delta, u] = [Input::Delta, Input::U].map(|input| graph.find(&Op::Input(input)));
    let sizes = [delta?, u?].map(|of| graph.find(&Op::Apply(Function::Abs, of)));
    let size = graph.find(&Op::Sum(vec![sizes[0]?, sizes[1]?]))?;
    let summed = graph.reached(&[program.out]).into_iter().find_map(|id| match *graph.op(id) {
        Op::Fold(of, Over::Positions) => Some(of),
        _ => None,
    });
    let when = Some(Condition::Below(size, Real::new(1e-30)));
    Some(Edit { site: Site::Value(summed.unwrap_or(program.out)), patch: Patch::Number(Real::ZERO), when })
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
                | Patch::Exclusive
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
    // The gate, where its derivative alone is read.
    let gate = graph.find(&Op::Input(Input::Z)).and_then(|z| graph.find(&Op::Apply(Function::Silu, z)));
    edits.extend(gate.map(|gate| of(out, Patch::Times(gate))));
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
pub fn add_terms(graph: &mut Graph, program: &Program, (problem, is_rational): (&Problem, bool)) {
    let Some(step) = program.find(Symbol::StepSize) else { return };
    // Numbers of members, by which averages divide.
    let shape = problem.shape;
    let group = shape.dim / shape.groups;
    for count in [shape.batch, shape.seqlen, shape.dstate, group] {
        graph.number(count as f64);
    }
    if let Some(Op::Scan(scan)) = program.find(Symbol::ReversedState).map(|id| graph.op(id)) {
        let of = graph.add(Op::Scan(Scan { exclusive: false, ..*scan }));
        graph.add(Op::At { of, axis: Axis::Position, index: Index::Shifted(-1) });
    }
    let given = graph.find(&Op::Input(Input::LastStateGradient));
    let entering = graph.ids().filter_map(|id| match *graph.op(id) {
        Op::Choose { yes, .. } if given.is_some_and(|given| graph.reached(&[yes]).contains(&given)) => {
            Some(yes)
        }
        _ => None,
    });
    let (entering, no) = (entering.collect::<Vec<Id>>(), graph.number(0.0));
    entering.into_iter().for_each(|yes| {
        graph.add(Op::Choose { when: FIRST, yes, no });
    });
    let a = graph.input(Input::A);
    let z = graph.product([step, a]);
    // Sizes by which a mask is seen.
    let sizes = [Input::Delta, Input::U].map(|input| {
        let of = graph.input(input);
        graph.apply(Function::Abs, of)
    });
    graph.sum(sizes);
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

/// Decays of the position that an adjoint arrives at, of one direction or of both.
pub fn of_decays(graph: &Graph, program: &Program) -> Vec<Edit> {
    let decays = ADJOINTS.map(|symbol| match program.find(symbol).map(|id| graph.op(id)) {
        Some(Op::Scan(scan)) if matches!(graph.op(scan.decay), Op::At { .. }) => Some(scan.decay),
        _ => None,
    });
    let both = decays[0].zip(decays[1]).map(|(one, other)| Site::Both(one, other));
    let sites = decays.map(|decay| decay.map(Site::Value)).into_iter().chain([both]).flatten();
    sites.map(|site| Edit { site, patch: Patch::Instead(None), when: None }).collect()
}

/// Derivatives of Ā and h that lack, or have, what exp2 needs.
pub fn of_constants(program: &Program) -> Vec<Edit> {
    use std::f64::consts::{LN_2, LOG2_E};
    let slopes = [Symbol::ABarByDelta, Symbol::HByDelta, Symbol::ABarByA, Symbol::HByA];
    let times = |id| [LOG2_E, LN_2].map(|by| (Site::Value(id), Patch::Scaled(Real::new(by))));
    let all = slopes.into_iter().filter_map(|symbol| program.find(symbol)).flat_map(times);
    all.map(|(site, patch)| Edit { site, patch, when: None }).collect()
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

/// Bits that an edit costs beside its own: what is computed and no state is read elsewhere by hardly anybody, and a power of a denominator
/// is forgotten in many a derivative.
pub fn beside(graph: &Graph, edit: &Edit) -> f64 {
    let target = edit.target(graph);
    let is_read = matches!(graph.op(target), Op::Input(_) | Op::Scan(_) | Op::Apply(..) | Op::At { .. });
    match edit.patch {
        Patch::At(..) if !is_read => 5.5,
        Patch::Over(by) if matches!(graph.op(by), Op::Apply(Function::Resolvent(_), _)) => -2.75,
        _ => 0.0,
    }
}

/// Whether an edit takes back what its target does: a shift of a shift, a conjugate of a conjugate.
pub fn is_idle(graph: &Graph, edit: &Edit) -> bool {
    let target = edit.target(graph);
    let user = if let Site::Use { user, .. } = edit.site { Some(graph.op(user)) } else { None };
    match (edit.patch, graph.op(target)) {
        (Patch::At(..), Op::At { .. }) => true,
        (Patch::At(..), _) if matches!(edit.site, Site::Within { root, .. } if matches!(graph.op(root), Op::At { .. })) => {
            true
        }
        // A sum of one member is said as that.
        (Patch::Other(other) | Patch::Plus(other, _), Op::Fold(of, _)) => other == *of,
        (Patch::Applied(function), Op::Apply(known, _)) => function == *known,
        (Patch::At(..), _) => matches!(user, Some(Op::At { .. })),
        _ => false,
    }
}

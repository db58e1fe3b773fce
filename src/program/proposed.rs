//! Edits that are tried: at each value and each use of a program, what somebody may write there by mistake.

use std::f64::consts::{LN_2, LOG2_E};

use super::complex::{Powers, Product, Slip};
use super::edit::{Carry, Each, Edit, FACTORS, Patch, Site, Start};
use super::graph::{Axis, Borders, Function, Graph, Id, Index, Input, Op, Real, Scan};
use super::mask::{Condition, Place, Set};
use super::matrices::Map;
use super::reads::indices;
use super::{Program, Symbol};
use crate::formula::Fraction;
use crate::problem::{InputType, Problem, Weights};
use crate::tensor::TensorName;

/// Guards that are added to divisors against division by 0.
const GUARDS: [f64; 9] = [1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3];

/// Limits of exponents that people type against overflow.
const EXPONENTS: [f64; 8] = [10.0, 15.0, 20.0, 30.0, 50.0, 60.0, 80.0, 88.0];

/// Values of a program that an edit may be about, each use by itself where there are several.
pub fn sites(graph: &Graph, program: &Program) -> Vec<Site> {
    let reached = graph.reached(&[program.out, program.last_state]);
    let mut users: Vec<Vec<Site>> = vec![Vec::new(); graph.len()];
    for &user in &reached {
        for (operand, of) in graph.op(user).operands().into_iter().enumerate() {
            users[of.index()].push(Site::Use { user, operand });
        }
    }
    let [b, c] =
        [Input::B, Input::C].map(|input| graph.find(&Op::Input(input)).filter(|id| reached.contains(id)));
    let [delta, bias] = [Input::Delta, Input::DeltaBias]
        .map(|input| graph.find(&Op::Input(input)).filter(|id| reached.contains(id)));
    let both = [b.zip(c), delta.zip(bias)].into_iter().flatten();
    let mut sites: Vec<Site> = both.map(|(one, other)| Site::Both(one, other)).collect();
    if let Some(Op::Scan(scan)) = program.find(Symbol::State).map(|state| graph.op(state)) {
        let [of_decay, of_drive] = [scan.decay, scan.drive].map(|root| graph.reached(&[root]));
        for of in
            of_decay.into_iter().filter(|of| of_drive.contains(of) && !matches!(graph.op(*of), Op::Number(_)))
        {
            sites.extend([scan.decay, scan.drive].map(|root| Site::Within { root, of }));
        }
    }
    // What a scan takes from other scans, as chunks do, may be another one's alone.
    let scans = |within: &[Id]| -> Vec<Scan> {
        let of = |id: &Id| match graph.op(*id) {
            Op::Scan(scan) => Some(*scan),
            _ => None,
        };
        within.iter().filter_map(of).collect()
    };
    for outer in scans(&reached) {
        let roots = [outer.decay, outer.drive].into_iter();
        let inner =
            roots.flat_map(|root| scans(&graph.reached(&[root])).into_iter().map(move |scan| (root, scan)));
        sites.extend(
            inner.flat_map(|(root, scan)| [scan.decay, scan.drive].map(|of| Site::Within { root, of })),
        );
    }
    // Nobody writes where sequences begin and end as numbers.
    let is_there =
        |id: &&Id| !matches!(graph.op(**id), Op::Number(_) | Op::Input(Input::Begins | Input::Ends));
    for &id in reached.iter().filter(is_there) {
        sites.push(Site::Value(id));
        let uses = &users[id.index()];
        if uses.len() > 1 {
            sites.extend(uses);
        }
    }
    sites
}

/// Parts of Ā, h and the input, each in one part of a scan in chunks or by running sums alone, and in one use of that.
fn parts_of_chunks(graph: &Graph, program: &Program) -> Vec<Site> {
    let symbols = [Symbol::ChunkState, Symbol::ChunkDecay, Symbol::ChunkCarry, Symbol::ExponentSum];
    let (Some(state), Some(first)) =
        (program.find(Symbol::State), symbols.iter().find_map(|one| program.find(*one)))
    else {
        return Vec::new();
    };
    let mut sites = Vec::new();
    let used = graph.reached(&[state]);
    // Nodes that were there before the chunks, and scans that have borders of packed sequences.
    let is_plain = |root: Id, of: Id| {
        of < first || graph.is_packed() && of != root && matches!(graph.op(of), Op::Scan(_))
    };
    let plain =
        |root: Id| graph.reached(&[root]).into_iter().filter(|of| is_plain(root, *of)).collect::<Vec<_>>();
    for root in symbols.iter().filter_map(|symbol| program.find(*symbol)) {
        sites.extend(plain(root).into_iter().map(|of| Site::Within { root, of }));
        for &user in &used {
            let operands = graph.op(user).operands();
            let uses = operands.iter().enumerate().filter(|(_, of)| **of == root);
            sites.extend(uses.flat_map(|(operand, _)| {
                plain(root).into_iter().map(move |of| Site::WithinUse { user, operand, of })
            }));
        }
    }
    sites.retain(|site| !matches!(site, Site::Within { of, .. } | Site::WithinUse { of, .. } if matches!(graph.op(*of), Op::Number(_))));
    sites
}

/// Nodes that may be read at a site: those that come before it, and the step size, which an edit may have made anew.
fn readable(graph: &Graph, program: &Program, reached: &[Id], (site, target): (Site, Id)) -> Vec<Id> {
    let before = match site {
        Site::Value(id) | Site::Both(id, _) => id,
        Site::Within { of, .. } | Site::WithinUse { of, .. } => of,
        Site::Use { user, .. } => user,
    };
    let step = program.find(Symbol::StepSize).filter(|step| !graph.reached(&[*step]).contains(&target));
    let is_number = |id: &Id| matches!(graph.op(*id), Op::Number(_));
    let is_it = |id: &Id| (*id < before || Some(*id) == step) && *id != target && !is_number(id);
    reached.iter().copied().filter(is_it).collect()
}

/// The use that a site is, where it is one alone.
fn used_once(graph: &Graph, reached: &[Id], site: Site) -> Site {
    let Site::Value(id) = site else { return site };
    let mut uses = reached.iter().flat_map(|&user| {
        let operands = graph.op(user).operands().into_iter().enumerate();
        operands
            .filter(|(_, of)| *of == id)
            .map(move |(operand, _)| Site::Use { user, operand })
            .collect::<Vec<_>>()
    });
    match (uses.next(), uses.next()) {
        (Some(one), None) => one,
        _ => site,
    }
}

/// Edits without a number that is found, at all sites.
pub fn plain(graph: &Graph, program: &Program, problem: &Problem) -> Vec<Edit> {
    let sites = sites(graph, program).into_iter().chain(parts_of_chunks(graph, program));
    let reached = graph.reached(&[program.out, program.last_state]);
    let mut edits = Vec::new();
    for site in sites {
        let mut add = |patch| edits.push(Edit { site, patch, when: None });
        let alone = Edit { site, patch: Patch::Number(Real::ZERO), when: None };
        let target = alone.target(graph);
        let (op, extent) = (graph.op(target), graph.extent(target));
        if let Site::Both(..) = site {
            let is_shared = |(axis, index): &(Axis, Index)| {
                let is_delta = *graph.op(target) == Op::Input(Input::Delta);
                !is_delta || *axis == Axis::Channel && *index != Index::Transposed
            };
            let all = indices(graph, target, problem).into_iter().filter(is_shared);
            all.for_each(|(axis, index)| add(Patch::At(axis, index)));
            continue;
        }
        [0.0, 1.0].into_iter().for_each(|number| add(Patch::Number(Real::new(number))));
        for other in readable(graph, program, &reached, (site, target)) {
            if graph.extent(other) == extent {
                add(Patch::Other(other));
            }
            if graph.extent(other).is_within(extent) {
                add(Patch::Times(other));
                add(Patch::Over(other));
                add(Patch::Plus(other, Real::new(1.0)));
                add(Patch::Plus(other, Real::new(-1.0)));
            }
        }
        add(Patch::Times(target));
        if let Op::Apply(function, _) = op {
            add(Patch::Instead(None));
            let is_other = |other: &Function| extent.matrix || !matches!(other, Function::Unexchanged(_));
            let all = others(*function).into_iter().filter(is_other);
            all.for_each(|other| add(Patch::Instead(Some(other))));
        }
        if matches!(op, Op::Limit { .. } | Op::Last(_) | Op::Choose { when: Condition::At(_), .. }) {
            add(Patch::Instead(None));
        }
        if let Op::Limit { low, high, .. } = op
            && [low, high].iter().all(|end| end.value().is_finite())
        {
            [true, false].into_iter().for_each(|upper| add(Patch::LimitMissing { upper }));
        }
        let is_divisor = |user: &Id| match *graph.op(*user) {
            Op::Apply(Function::Reciprocal, of) | Op::Quotient(_, of) => of == target,
            _ => false,
        };
        let is_exponent = |user: &Id| *graph.op(*user) == Op::Apply(Function::Exp, target);
        if reached.iter().any(is_exponent) {
            for most in EXPONENTS {
                add(Patch::AtMost(Real::new(most)));
                add(Patch::AtLeast(Real::new(-most)));
            }
            // Of an exponent that is scaled for powers of 2, twice or never.
            for factor in [LOG2_E, LN_2].map(Real::new) {
                add(Patch::Scaled(factor));
                if problem.weights == Weights::Complex {
                    add(Patch::Turned(factor));
                    add(Patch::Stretched(factor));
                }
            }
        }
        let one = graph.find(&Op::Number(Real::new(1.0))).filter(|_| reached.iter().any(is_divisor));
        if let Some(one) = one {
            GUARDS.into_iter().for_each(|guard| add(Patch::Plus(one, Real::new(guard))));
        }
        if problem.weights == Weights::Complex && extent.state {
            slips(op).into_iter().for_each(&mut add);
        }
        // Maps of a multiple are multiples of maps, and said of what is multiplied.
        let is_multiple = |of: &[Id]| of.iter().filter(|id| graph.is_matrix(**id)).count() == 1;
        if extent.matrix && !matches!(op, Op::Product(of) if is_multiple(of)) {
            let of_complex = |map: &Map| *map != Map::Adjoint || problem.weights == Weights::Complex;
            let maps = Map::ALL.into_iter().filter(of_complex);
            maps.for_each(|map| add(Patch::Applied(Function::Mapped(map))));
            match op {
                Op::Apply(..) | Op::Product(_) => add(Patch::ByEntries),
                Op::Along(..) => [true, false].into_iter().for_each(|left| add(Patch::Commuting { left })),
                _ => {}
            }
        }
        if matches!(op, Op::Last(_)) {
            add(Patch::OtherDirection);
            add(Patch::At(Axis::State, Index::Transposed));
            let head = problem.channels_of_a_head();
            if head > 1 && head < problem.shape.dim {
                add(Patch::At(Axis::State, Index::TransposedIn(head as u32)));
            }
        }
        if matches!(op, Op::Limit { of, .. } if matches!(graph.op(*of), Op::Apply(..))) {
            add(Patch::FunctionMoved);
        }
        if let Op::Product(factors) = op
            && factors.iter().any(|factor| matches!(graph.op(*factor), Op::Apply(..)))
        {
            add(Patch::FunctionMoved);
        }
        if let (Op::Sum(terms), Site::Use { user, .. }) = (op, used_once(graph, &reached, site)) {
            (0..terms.len()).for_each(|term| add(Patch::Outside { user, term }));
        }
        let reads_beside = matches!(
            op,
            Op::Scan(_) | Op::Last(_) | Op::At { axis: Axis::Position, index: Index::Held(_), .. }
        );
        if problem.packed.is_some() && reads_beside {
            add(Patch::AcrossBorders);
        }
        if let Op::Scan(scan) = op {
            if graph.is_matrix(scan.decay) {
                add(Patch::InPlace);
            }
            [InputType::Bf16, InputType::F16].into_iter().for_each(|to| add(Patch::Stored(to)));
            [Patch::Reversed, Patch::Exclusive, Patch::Exchanged].into_iter().for_each(&mut add);
            if !graph.is_matrix(scan.decay) {
                add(Patch::Circular);
            }
            borders(problem).for_each(|borders| add(Patch::Borders(borders)));
            starts(graph, target, problem).into_iter().for_each(|start| add(Patch::Starting(start)));
        }
        applied(graph, target, problem).into_iter().for_each(|function| add(Patch::Applied(function)));
        for (axis, index) in indices(graph, target, problem) {
            add(Patch::At(axis, index));
        }
        [InputType::Bf16, InputType::F16].into_iter().for_each(|to| add(Patch::Rounded(to)));
        if *op == Op::Input(Input::A) && problem.weights == Weights::Real && !extent.matrix {
            [InputType::Bf16, InputType::F16].into_iter().for_each(|to| add(Patch::LogRounded(to)));
        }
        FACTORS.into_iter().for_each(|factor| add(Patch::Scaled(Real::new(factor))));
        terms(graph, op).into_iter().for_each(|term| add(Patch::OnlyTerm(term)));
    }
    edits.extend(cut_off(program, problem));
    edits.extend(of_matrices(graph, program, problem));
    edits.extend(in_each(graph, program, problem.weights == Weights::Complex));
    edits.extend(carried(graph, program, problem));
    edits.extend(constants(graph, &reached));
    edits.extend(chunk_starts(graph, program));
    edits.extend(chunk_decays(graph, program));
    edits
}

/// States that chunks may start from in the place of what is carried into them; a [way of writing](super::writing) has a node for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkStart {
    /// The state that a chunk ends with itself.
    OwnEnd,
    /// The state that the chunk before has a position before its end.
    OneEarly,
}

impl ChunkStart {
    /// The one that an edit of what is carried puts there; none of any other edit.
    pub fn of(graph: &Graph, program: &Program, edit: &Edit) -> Option<ChunkStart> {
        let carried = program.find(Symbol::ChunkCarry).filter(|id| edit.site == Site::Value(*id))?;
        match (edit.patch, program.find(Symbol::State)) {
            (Patch::Other(other), Some(state)) => match graph.op(other) {
                Op::At { of, index: Index::BlockEnd(_), .. } if *of == state => Some(ChunkStart::OwnEnd),
                Op::Scan(scan) if scan.exclusive && other > carried => Some(ChunkStart::OneEarly),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The exponential in the place of Ā, where that is another function, in what decays over a chunk.
fn chunk_decays(graph: &Graph, program: &Program) -> Option<Edit> {
    let [product, step] = [program.find(Symbol::ChunkDecay)?, program.find(Symbol::StepSize)?];
    let Op::Scan(scan) = graph.op(program.find(Symbol::ChunkState)?) else { return None };
    let Op::Choose { no: of, .. } = *graph.op(scan.decay) else { return None };
    let exponent = graph.find(&Op::Product(vec![step, graph.find(&Op::Input(Input::A))?]))?;
    let other = graph.find(&Op::Apply(Function::Exp, exponent)).filter(|other| *other != of)?;
    Some(Edit { site: Site::Within { root: product, of }, patch: Patch::Other(other), when: None })
}

/// Edits by which chunks start from another state.
fn chunk_starts(graph: &Graph, program: &Program) -> Vec<Edit> {
    let Some(carried) = program.find(Symbol::ChunkCarry) else { return Vec::new() };
    let of = |other| Edit { site: Site::Value(carried), patch: Patch::Other(other), when: None };
    graph.ids().map(of).filter(|edit| ChunkStart::of(graph, program, edit).is_some()).collect()
}

/// Δ in the place of B̄ or of what it is made of, as where a limit of B̄ is taken for it.
pub fn step_for_values(graph: &Graph, program: &Program) -> Vec<Edit> {
    let (Some(step), Some(Op::Scan(scan))) =
        (program.find(Symbol::StepSize), program.find(Symbol::State).map(|state| graph.op(state)))
    else {
        return Vec::new();
    };
    let nodes = graph.reached(&[scan.drive]).into_iter().filter(|id| *id > step);
    let of_state = nodes.filter(|id| graph.extent(*id).state && graph.extent(*id).position);
    of_state.map(|id| Edit { site: Site::Value(id), patch: Patch::Other(step), when: None }).collect()
}

/// Terms of a sum that a product has as a factor, beside numbers alone: one may be all there is.
fn terms(graph: &Graph, op: &Op) -> Vec<Id> {
    let Op::Product(factors) = op else { return Vec::new() };
    let mut others = factors.iter().filter(|id| !matches!(graph.op(**id), Op::Number(_)));
    match (others.next().map(|id| graph.op(*id)), others.next()) {
        (Some(Op::Sum(terms)), None) => terms.clone(),
        _ => Vec::new(),
    }
}

/// Parts of Ā that are lost, and all functions and powers of matrices entry by entry.
fn of_matrices(graph: &Graph, program: &Program, problem: &Problem) -> Vec<Edit> {
    let Some(Op::Scan(scan)) = program.find(Symbol::State).map(|state| graph.op(state)) else {
        return Vec::new();
    };
    if !graph.is_matrix(scan.decay) {
        return Vec::new();
    }
    let lost =
        Map::lost(problem.shape.dstate as u8).into_iter().map(|map| Patch::Applied(Function::Mapped(map)));
    let of_decay = lost.map(|patch| (scan.decay, patch));
    let by_entries = [scan.decay, scan.drive].map(|id| (id, Patch::InEach(Each::ByEntries)));
    let all = of_decay.chain(by_entries);
    all.map(|(id, patch)| Edit { site: Site::Value(id), patch, when: None }).collect()
}

/// All φ-functions of what enters a state as series, and all of its products with one Δ.
fn in_each(graph: &Graph, program: &Program, is_complex: bool) -> Vec<Edit> {
    let (Some(step), Some(Op::Scan(scan))) =
        (program.find(Symbol::StepSize), program.find(Symbol::State).map(|state| graph.op(state)))
    else {
        return Vec::new();
    };
    let parts = graph.reached(&[scan.drive]);
    let phis = parts.iter().filter(|id| matches!(graph.op(**id), Op::Apply(Function::Phi(1..), _))).count();
    let repeats = |id: &&Id| matches!(graph.op(**id), Op::Product(of) if of.iter().filter(|factor| **factor == step).count() > 1);
    // One alone is an edit of that.
    let series = (1..9).map(Each::Series).filter(|_| phis > 1);
    let once = (parts.iter().filter(repeats).count() > 1).then_some(Each::Once(step));
    // Powers of z are complex with A.
    let z = graph.find(&Op::Input(Input::A)).and_then(|a| graph.find(&Op::Product(vec![step, a])));
    let has_powers = |id: &&Id| matches!(graph.op(**id), Op::Product(of) if of.iter().filter(|factor| Some(**factor) == z).count() > 1);
    let are_more = is_complex && parts.iter().filter(has_powers).count() > 1;
    let powers = Powers::wrong().map(Each::Powers).filter(|_| are_more);
    let all = series.chain(once).chain(powers);
    all.map(|each| Edit { site: Site::Value(scan.drive), patch: Patch::InEach(each), when: None }).collect()
}

/// States that are lost, or count twice, at the edges of chunks of usual lengths, in each direction that there is.
fn carried(graph: &Graph, program: &Program, problem: &Problem) -> Vec<Edit> {
    // Another way of writing has other edges.
    let is_scan = |id: &Id| matches!(graph.op(*id), Op::Scan(_));
    let Some(state) = program.find(Symbol::State).filter(is_scan) else { return Vec::new() };
    let against = program.find(Symbol::ReversedState);
    let site = against.map_or(Site::Value(state), |against| Site::Both(state, against));
    let lengths =
        (3..12).map(|power| 1u32 << power).filter(|length| (*length as usize) < problem.shape.seqlen);
    let of = |length| [0.0, 2.0].map(|by| Patch::Carried { what: Carry::Times(Real::new(by)), length });
    lengths.flat_map(of).map(|patch| Edit { site, patch, when: None }).collect()
}

/// Outputs in 16 bits that are cut off, and not rounded to nearest.
pub fn cut_off(program: &Program, problem: &Problem) -> Option<Edit> {
    let to = problem.stored(TensorName::Out);
    let edit = Edit { site: Site::Value(program.out), patch: Patch::CutOff(to), when: None };
    (to != InputType::F32).then_some(edit)
}

/// Constant factors that are left out.
fn constants(graph: &Graph, reached: &[Id]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for &user in reached {
        let Op::Product(of) = graph.op(user) else { continue };
        for (operand, id) in of.iter().enumerate() {
            if matches!(graph.op(*id), Op::Number(number) if number.value().abs() != 1.0) {
                let patch = Patch::Number(Real::new(1.0));
                edits.push(Edit { site: Site::Use { user, operand }, patch, when: None });
            }
        }
    }
    edits
}

/// Inputs that are read some blocks before, or held, of a run that goes wrong at the start of one.
pub fn of_blocks(graph: &Graph, program: &Program, place: Place) -> Vec<Edit> {
    let (Axis::Position, Set::From(first) | Set::Multiples(first)) = (place.axis, place.set) else {
        return Vec::new();
    };
    let is_input = |site: &Site| matches!(site, Site::Value(id) | Site::Within { of: id, .. } if matches!(graph.op(*id), Op::Input(_)));
    let sites =
        sites(graph, program).into_iter().filter(|site| is_input(site) || matches!(site, Site::Use { .. }));
    let powers = (2..9).map(|k| 1u32 << k);
    let divisors =
        [1, 2, 3].into_iter().map(|by| first / by).chain(powers).filter(|k| *k > 2 && first % k == 0);
    let mut lengths: Vec<i32> = divisors.map(|k| k as i32).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let earlier = lengths.into_iter().map(|length| Index::Shifted(-length));
    // The last one before, for all that follow: what lies behind the end of whole blocks is clamped.
    let held = matches!(place.set, Set::From(_)).then(|| Index::At(first - 1));
    let indices: Vec<Index> = earlier.chain(held).collect();
    let edits = sites.flat_map(|site| {
        let of = |index| Edit { site, patch: Patch::At(Axis::Position, index), when: None };
        indices.iter().copied().map(of).collect::<Vec<_>>()
    });
    let is_sequence = |edit: &Edit| {
        let target = edit.target(graph);
        matches!(graph.op(target), Op::Input(_)) && graph.extent(target).position
    };
    edits.filter(is_sequence).collect()
}

/// Those of these edits that are about what a way of writing adds to the nodes of the specified program, so many, in the state or in
/// the product that it forms first.
pub fn of_writing(graph: &Graph, program: &Program, edits: Vec<Edit>, specified: usize) -> Vec<Edit> {
    if let Some(group) = program.find(Symbol::Group) {
        return edits.into_iter().filter(|edit| edit.site == Site::Value(group)).collect();
    }
    let within = program.find(Symbol::State).map_or_else(Vec::new, |state| graph.reached(&[state]));
    let is_new = |edit: &Edit| {
        let at = match edit.site {
            Site::Value(id) | Site::Both(id, _) | Site::Within { root: id, .. } => id,
            Site::Use { user, .. } | Site::WithinUse { user, .. } => user,
        };
        at.index() >= specified && within.contains(&at)
    };
    edits.into_iter().filter(is_new).collect()
}

/// Sites at which a factor, or a multiple of another node, may be looked for.
pub fn with_number(graph: &Graph, program: &Program, problem: &Problem) -> Vec<Edit> {
    let reached = graph.reached(&[program.out, program.last_state]);
    let mut edits = Vec::new();
    for site in sites(graph, program) {
        if matches!(site, Site::Both(..)) {
            continue;
        }
        let mut add = |patch| edits.push(Edit { site, patch, when: None });
        add(Patch::Scaled(Real::new(1.0)));
        let edit = Edit { site, patch: Patch::Scaled(Real::new(1.0)), when: None };
        let target = edit.target(graph);
        let extent = graph.extent(target);
        // A constant in the place of a coefficient.
        if matches!(graph.op(target), Op::Apply(..) | Op::Sum(_)) && extent.state {
            add(Patch::Number(Real::new(0.5)));
        }
        if problem.weights == Weights::Complex && extent.state {
            [Patch::Turned, Patch::Stretched].into_iter().for_each(|part| add(part(Real::new(1.0))));
        }
        if extent.position || extent.state {
            add(Patch::AtLeast(Real::new(f64::NEG_INFINITY)));
            add(Patch::AtMost(Real::new(f64::INFINITY)));
            let [low, high] = [f64::NEG_INFINITY, f64::INFINITY].map(Real::new);
            add(Patch::Within(low, high));
            if matches!(graph.op(target), Op::Scan(_)) {
                add(Patch::KeptWithin(low, high));
            }
        }
        for other in readable(graph, program, &reached, (site, target)) {
            if graph.extent(other).is_within(graph.extent(target)) {
                add(Patch::Plus(other, Real::ZERO));
            }
        }
    }
    edits
}

/// Slips in an operation on complex numbers.
fn slips(op: &Op) -> Vec<Patch> {
    match op {
        Op::Product(of) if of.iter().any(|id| of.iter().filter(|other| *other == id).count() > 1) => {
            Powers::wrong().map(Patch::Powers).collect()
        }
        Op::Apply(Function::Resolvent(_) | Function::Reciprocal, _) => {
            Slip::all().map(Patch::Slipped).collect()
        }
        Op::Scan(_) => Product::WRONG.map(Patch::Multiplied).to_vec(),
        _ => Vec::new(),
    }
}

/// Functions that are written in the place of one.
fn others(of: Function) -> Vec<Function> {
    use Function::{
        Exp, Exp2, NaiveSoftplus, OnePlus, Phi, Relu, Resolvent, Series, SharpSoftplus, Sigmoid, Softplus,
        SoftplusRest, Tanh, Unexchanged,
    };
    match of {
        Exp => {
            let series = (3..7).map(|terms| Series(0, terms));
            let others = [Exp2, OnePlus, Phi(1), Resolvent(Fraction::HALF), Resolvent(Fraction::ONE)];
            others.into_iter().chain(series).collect()
        }
        Phi(k) => {
            let series = (1..9).map(|terms| Series(k, terms));
            let phis = (1..4).filter(|other| *other != k).map(Phi);
            phis.chain([Exp]).chain(series).collect()
        }
        Resolvent(alpha) => {
            let opposite = Fraction(-alpha.0, alpha.1);
            let others = [opposite, Fraction::ONE, Fraction::HALF].map(Resolvent).into_iter();
            others
                .chain([Unexchanged(alpha)])
                .filter(|other| *other != of)
                .chain((2..5).flat_map(|terms| [alpha, opposite].map(|of| Function::Geometric(of, terms))))
                .collect()
        }
        // The threshold of 20, given in the place of beta.
        Softplus => vec![NaiveSoftplus, SoftplusRest, Exp, Relu, Sigmoid, SharpSoftplus(Real::new(20.0))],
        Sigmoid => vec![Tanh, Softplus, Relu, Function::Silu, Function::CancellingSigmoid],
        Function::Silu => vec![Sigmoid, Function::QuickGelu, Relu, Tanh, Softplus],
        Function::RealPart => vec![Function::ImaginaryPart, Function::Abs],
        _ => Vec::new(),
    }
}

/// Functions that may be applied once more to a node.
fn applied(graph: &Graph, target: Id, problem: &Problem) -> Vec<Function> {
    use Function::{
        Abs, Conjugate, Exp, ImaginaryPart, LogOfNegated, NegatedExp, NegatedLogOfNegated, PartsExchanged,
        RealPart, Relu, Sigmoid, Silu, Softplus, Tanh,
    };
    let extent = graph.extent(target);
    match graph.op(target) {
        Op::Input(Input::A) if problem.weights == Weights::Complex => {
            vec![Conjugate, RealPart, ImaginaryPart, Exp, NegatedExp, LogOfNegated, NegatedLogOfNegated, Abs]
        }
        Op::Input(Input::A) => vec![Exp, NegatedExp, LogOfNegated, NegatedLogOfNegated, Abs],
        _ if extent.state && problem.weights == Weights::Complex => {
            vec![Conjugate, RealPart, ImaginaryPart, Abs, PartsExchanged]
        }
        _ if extent.state => vec![Abs],
        _ if extent.position => vec![Softplus, Sigmoid, Silu, Tanh, Relu, Exp, Abs],
        _ => vec![Exp, Sigmoid],
    }
}

/// Other borders of packed sequences at which a scan may start anew.
pub fn borders(problem: &Problem) -> impl Iterator<Item = Borders> + use<> {
    // The longest one comes first of lengths that no border tells apart.
    let lengths = (3..9).rev().map(|power| 1u32 << power);
    let blocks = lengths.clone().map(Borders::OfBlocks).chain(lengths.map(Borders::BetweenBlocks));
    let of_item = (problem.shape.batch > 1).then_some(Borders::OfFirstItem);
    let moved = [Borders::Late(1), Borders::Late(-1)];
    let all = [Borders::None].into_iter().chain(moved).chain(of_item).chain(blocks);
    let is_packed = problem.packed.is_some();
    all.filter(move |_| is_packed)
}

/// What else a scan may start from.
fn starts(graph: &Graph, scan: Id, problem: &Problem) -> Vec<Start> {
    let is_against = matches!(graph.op(scan), Op::Scan(scan) if scan.reversed);
    let mut all = Vec::new();
    all.push(Start::Last);
    if problem.initial_state.is_some() {
        all.push(if is_against { Start::Initial } else { Start::Undecayed });
    }
    if problem.initial_state.is_some() && problem.packed.is_some() && !is_against {
        // The longest that the borders allow.
        let lengths = (3..12).rev().map(|power| 1u32 << power);
        let lengths = lengths.filter(|of| (*of as usize) < problem.shape.seqlen);
        // Decays of a dense A are matrices, whose product is no column.
        let of_chunk = |length| (!problem.is_dense()).then_some(Start::OfChunk(length));
        all.extend(lengths.flat_map(|length| of_chunk(length).into_iter().chain([Start::AtChunks(length)])));
    }
    // Packed sequences start anew by themselves.
    if problem.shape.batch > 1 && problem.packed.is_none() {
        all.push(Start::ItemBefore);
    }
    all
}

//! Names of edits, which scripts may know: made of what is edited and how, or [known](aliases) ones.

use super::aliases;
use crate::program::edit::{Carry, Each, Edit, Patch, Site, Start};
use crate::program::proposed::ChunkStart;
use crate::program::writing::Writing;
use crate::program::{
    Axis, Borders, Condition, Function, Graph, Id, Index, Input, Op, Over, Program, Real, Set, Symbol,
};

/// Whether a number leaves out what it stands for: 1 of a product, 0 of a sum or of what a scan starts from, in each use.
pub fn is_left_out(graph: &Graph, program: &Program, edit: &Edit) -> bool {
    let Patch::Number(number) = edit.patch else { return false };
    let target = edit.target(graph);
    let leaves_out = |user: Id| match graph.op(user) {
        Op::Product(_) => number.value() == 1.0,
        Op::Sum(_) => number.value() == 0.0,
        Op::Scan(scan) => number.value() == 0.0 && scan.start == target && scan.drive != target,
        _ => false,
    };
    match edit.site {
        Site::Use { user, .. } => leaves_out(user),
        Site::WithinUse { .. } => false,
        _ => {
            let reached = graph.reached(&[program.out, program.last_state]);
            let mut users =
                reached.into_iter().filter(|user| graph.op(*user).operands().contains(&target)).peekable();
            users.peek().is_some() && users.all(leaves_out)
        }
    }
}

/// The name of an edit of a way of writing.
pub fn name_in(writing: Writing, graph: &Graph, program: &Program, edit: &Edit) -> String {
    match writing {
        Writing::Inverses if is_arithmetic(edit) => "phi-closed-form".to_owned(),
        Writing::Stages => of_stage(graph, program, edit),
        Writing::Chunked(_) => aliases::known(format!("chunk-{}", name(graph, program, edit))),
        Writing::RunningSums { .. } | Writing::SumsFromEnd => {
            aliases::known(format!("running-{}", name(graph, program, edit)))
        }
        _ => aliases::known(name(graph, program, edit)),
    }
}

/// The stage of rk4 that an edit is about, or the sum of all.
fn of_stage(graph: &Graph, program: &Program, edit: &Edit) -> String {
    let at = match edit.site {
        Site::Use { user, .. } | Site::WithinUse { user, .. } => user,
        _ => edit.target(graph),
    };
    let is_there = |number: &u8| {
        program.find(Symbol::Stage(*number)).is_some_and(|stage| graph.reached(&[stage]).contains(&at))
    };
    match (2..5).find(is_there) {
        Some(number) => format!("rk4-stage-{number}-wrong"),
        None => "rk4-weights-wrong".to_owned(),
    }
}

/// Whether it is about a number, a term or a factor.
fn is_arithmetic(edit: &Edit) -> bool {
    matches!(
        edit.patch,
        Patch::Number(_)
            | Patch::Other(_)
            | Patch::Times(_)
            | Patch::Over(_)
            | Patch::Scaled(_)
            | Patch::Plus(..)
    )
}

/// A name in the form of all others.
pub fn name(graph: &Graph, program: &Program, edit: &Edit) -> String {
    let target = edit.target(graph);
    let of = match edit.site {
        Site::Both(..) if matches!(graph.op(target), Op::Input(Input::Delta)) => "delta-and-bias".to_owned(),
        Site::Both(_, other) if matches!(graph.op(other), Op::Input(Input::C)) => "b-and-c".to_owned(),
        _ => word(graph, program, target),
    };
    // What Ā is the exponential of, and what it is the product of there.
    let in_a_bar = matches!(edit.site, Site::Within { root, .. } if word(graph, program, root) == "a-bar");
    let is_exponent = in_a_bar || matches!(of.as_str(), "a" | "exponent");
    let is_of_powers = in_a_bar
        && matches!(edit.patch, Patch::Scaled(by) | Patch::Turned(by) | Patch::Stretched(by) if constant(by).is_some());
    let patch = match edit.patch {
        Patch::Number(number) if !is_left_out(graph, program, edit) => {
            let number = match number.value() {
                0.0 => "zero",
                1.0 => "one",
                _ => "a-number",
            };
            format!("{number}-for-{of}")
        }
        Patch::Number(_) => match (edit.site, graph.op(target)) {
            // A constant says nothing without what it is a factor of.
            (Site::Use { user, .. }, Op::Number(factor)) => {
                let factor = match factor.value() {
                    0.5 => "half",
                    2.0 => "two",
                    _ => "number",
                };
                format!("{factor}-missing-in-{}", word(graph, program, user))
            }
            _ => format!("{of}-missing"),
        },
        Patch::Instead(None) => match graph.op(target) {
            Op::Apply(function, _) => format!("{}-missing", function_word(*function)),
            Op::Limit { .. } => format!("limits-of-{of}-missing"),
            _ => format!("{of}-missing"),
        },
        Patch::Other(other) => match ChunkStart::of(graph, program, edit) {
            Some(ChunkStart::OwnEnd) => "carry-of-own-end".to_owned(),
            Some(ChunkStart::OneEarly) => "carry-one-early".to_owned(),
            None => format!("{}-for-{of}", word(graph, program, other)),
        },
        Patch::Instead(Some(Function::Series(0, terms))) => format!("{of}-taylor-{}", terms - 1),
        Patch::Instead(Some(Function::Series(_, terms))) => format!("phi-taylor-{terms}"),
        Patch::Instead(Some(function)) => match graph.op(target) {
            Op::Apply(old, _) => format!("{}-for-{}", function_word(function), function_word(*old)),
            _ => format!("{}-for-{of}", function_word(function)),
        },
        Patch::Applied(Function::Mapped(map)) => format!("{of}-{}", map.word()),
        Patch::Applied(function) => format!("{}-of-{of}", function_word(function)),
        Patch::Commuting { .. } => format!("{of}-as-if-commuting"),
        Patch::ByEntries | Patch::InEach(Each::ByEntries) => format!("{of}-by-entries"),
        Patch::At(axis, index) => format!("{of}-{}", index_word(axis, index)),
        Patch::Rounded(to) => format!("{of}-in-{to}"),
        Patch::LogRounded(to) => format!("{of}-log-in-{to}"),
        Patch::Times(other) if other == target => format!("{of}-squared"),
        Patch::Times(other) => format!("{of}-times-{}", word(graph, program, other)),
        Patch::Over(other) => format!("{of}-over-{}", word(graph, program, other)),
        Patch::Scaled(by) if by.value() == -1.0 => format!("{of}-negated"),
        Patch::Scaled(by) => match (constant(by).filter(|_| is_exponent), by.value()) {
            (Some(constant), _) => constant.to_owned(),
            (None, 2.0) => format!("{of}-doubled"),
            (None, 0.5) => format!("{of}-halved"),
            (None, _) => format!("{of}-scaled"),
        },
        Patch::Plus(other, by) if by.value() == -1.0 => {
            format!("{}-subtracted-from-{of}", word(graph, program, other))
        }
        Patch::Plus(other, _) => format!("{}-added-to-{of}", word(graph, program, other)),
        Patch::AtLeast(_) => format!("{of}-at-least"),
        Patch::AtMost(_) => format!("{of}-at-most"),
        Patch::Within(..) => format!("{of}-clipped"),
        Patch::KeptWithin(..) => format!("{of}-clipped"),
        Patch::LimitMissing { .. } => format!("limit-of-{of}-missing"),
        Patch::Powers(_) => "complex-power-wrong".to_owned(),
        Patch::Slipped(_) => "complex-inverse-wrong".to_owned(),
        Patch::InPlace => format!("{of}-product-in-place"),
        Patch::Multiplied(_) => "complex-product-wrong".to_owned(),
        Patch::OtherDirection => "last-state-of-reversed".to_owned(),
        Patch::FunctionMoved if matches!(graph.op(target), Op::Limit { .. }) => {
            format!("limits-of-{of}-before-function")
        }
        Patch::FunctionMoved => format!("function-of-other-factor-in-{of}"),
        Patch::AcrossBorders => format!("{of}-across-borders"),
        Patch::Borders(at) => format!("{of}-{}", borders_name(at)),
        Patch::Circular => "circular".to_owned(),
        Patch::Starting(Start::Initial) => format!("{of}-from-initial-state"),
        Patch::Starting(Start::Undecayed) => "initial-state-not-decayed".to_owned(),
        Patch::Starting(Start::OfChunk(_)) => "initial-state-decayed-from-chunk".to_owned(),
        Patch::Starting(Start::AtChunks(_)) => "initial-state-at-chunks-alone".to_owned(),
        Patch::Starting(Start::Last) => format!("{of}-not-reset"),
        Patch::Starting(Start::ItemBefore) => format!("{of}-not-reset-between-items"),
        Patch::Turned(by) => match constant(by).filter(|_| is_exponent) {
            Some(constant) => format!("{constant}-imaginary"),
            None => format!("{of}-angle-scaled"),
        },
        Patch::Stretched(by) => match constant(by).filter(|_| is_exponent) {
            Some(constant) => format!("{constant}-real"),
            None => format!("{of}-real-part-scaled"),
        },
        Patch::Carried { what: Carry::Times(Real::ZERO), .. } => "chunk-state-forgotten".to_owned(),
        Patch::Carried { what, .. } => format!("chunk-state-{}", carried(what)),
        Patch::Summed(..) => format!("{of}-otherwise"),
        Patch::CutOff(_) => "store-truncated".to_owned(),
        Patch::InEach(Each::Series(terms)) => format!("phi-taylor-{terms}"),
        Patch::InEach(Each::Powers(_)) => "complex-power-wrong".to_owned(),
        Patch::InEach(Each::Once(_)) => "inverse-delta-extra".to_owned(),
        Patch::OnlyTerm(term) => {
            let against = program.find(Symbol::ReversedState);
            let is_against = against.is_some_and(|state| graph.reached(&[term]).contains(&state));
            match program.find(Symbol::Readout) == Some(target) {
                true if is_against => "poly-backward-only".to_owned(),
                true => "poly-causal".to_owned(),
                false => format!("only-one-term-of-{of}"),
            }
        }
        Patch::Stored(to) => format!("{of}-in-{to}"),
        Patch::Padded(_) => format!("{of}-after-padding"),
        Patch::Outside { .. } => format!("term-outside-of-{of}"),
        Patch::Reversed => "scan-reversed".to_owned(),
        Patch::Exclusive if program.find(Symbol::ReversedState) == Some(target) => format!("{of}-off-by-one"),
        Patch::Exclusive => "state-off-by-one".to_owned(),
        Patch::Exchanged => "scan-operands-exchanged".to_owned(),
    };
    // A coefficient is named as such, whatever of it is another.
    let patch = if of == "b-bar" && is_arithmetic(edit) { "b-bar-identified".to_owned() } else { patch };
    let within = match edit.site {
        Site::Within { .. } if is_of_powers => "",
        Site::Use { user, .. }
            if patch == "a-bar-early" && program.find(Symbol::ReversedState) == Some(user) =>
        {
            "-in-reversed-state"
        }
        Site::Within { root, .. } => match word(graph, program, root).as_str() {
            "a-bar" => "-in-a-bar",
            "input" => "-in-b-bar",
            _ => "",
        },
        _ => "",
    };
    let patch = format!("{patch}{within}");
    match edit.when {
        None => patch,
        Some(Condition::At(place)) if place.axis == Axis::State => format!("{patch}-at-states"),
        Some(Condition::At(place)) => match place.set {
            Set::Only(0) => format!("{patch}-at-first"),
            Set::Only(_) => format!("{patch}-at-one-position"),
            Set::From(_) => format!("{patch}-from-some-position"),
            Set::Until(_) => format!("{patch}-until-some-position"),
            Set::Between(..) => format!("{patch}-at-some-positions"),
            Set::Multiples(_) | Set::BeforeMultiples(_) | Set::Every { .. } | Set::InBlocks { .. } => {
                format!("{patch}-at-chunks")
            }
        },
        Some(Condition::Below(_, limit)) if limit.value() < 1e-30 => format!("{patch}-at-0"),
        Some(Condition::Below(..)) => format!("{patch}-near-0"),
        Some(Condition::Beyond(..)) => format!("{patch}-far-from-0"),
        Some(Condition::Above(..)) => format!("{patch}-above-limit"),
    }
}

/// A part of a name that says what becomes of what is carried over the edge of a chunk.
pub fn carried(what: Carry) -> String {
    match what {
        Carry::Times(by) => match by.value() {
            0.0 => "lost",
            -1.0 => "negated",
            0.5 => "halved",
            2.0 => "doubled",
            _ => "scaled",
        },
        Carry::Decayed(0) => "undecayed",
        Carry::Decayed(_) => "decayed-twice",
        Carry::Start => "from-start",
        Carry::Before(1) => "one-before",
        Carry::Before(_) => "of-chunk-before",
        Carry::Rounded(to) => return to.to_string(),
    }
    .to_owned()
}

/// A part of a name for log₂e, or its inverse, as a factor of an exponent.
fn constant(by: Real) -> Option<&'static str> {
    use std::f64::consts::{LN_2, LOG2_E};
    let is = |constant: f64| (by.value() / constant - 1.0).abs() < 1e-9;
    [(LOG2_E, "log2e-twice"), (LN_2, "base-2")]
        .into_iter()
        .find(|(number, _)| is(*number))
        .map(|(_, name)| name)
}

/// An index that is read in the place of another.
fn index_word(axis: Axis, index: Index) -> String {
    let of = match axis {
        Axis::Item => "item",
        Axis::Channel => "channel",
        Axis::Group => "group",
        Axis::State => "state",
        Axis::Position | Axis::Offset => "position",
    };
    match (axis, index) {
        (_, Index::Transposed) => "transposed".to_owned(),
        (_, Index::TransposedIn(_)) => "transposed-in-heads".to_owned(),
        (_, Index::Halves) => "as-halves".to_owned(),
        (_, Index::FirstSequence) => "of-first-sequence".to_owned(),
        (_, Index::OnlyFirstSequence) => "of-first-sequence-alone".to_owned(),
        (_, Index::Across(_)) => "across-borders".to_owned(),
        (_, Index::SequencesReversed) => "sequences-reversed".to_owned(),
        (_, Index::Sequence(_)) => "of-another-sequence".to_owned(),
        (Axis::Position, Index::Shifted(by) | Index::Held(by) | Index::Clamped(by)) => {
            if by < 0 { "late" } else { "early" }.to_owned()
        }
        (_, Index::Shifted(_) | Index::Held(_) | Index::Clamped(_) | Index::Rolled(_)) => {
            format!("of-another-{of}")
        }
        (_, Index::Reversed) => format!("{of}s-reversed"),
        (_, Index::At(_)) => format!("of-one-{of}"),
        (_, Index::Modulo(_) | Index::Strided(_)) => format!("of-{of}-modulo"),
        (_, Index::Divided(_)) => format!("of-{of}-divided"),
        (_, Index::Exchanged(_)) => "transposed".to_owned(),
        (_, Index::ReversedIn(_)) => format!("reversed-in-blocks-of-{of}s"),
        (_, Index::BlockStart(_) | Index::BlockBefore(_) | Index::BlockEnd(_)) => {
            format!("of-blocks-of-{of}s")
        }
    }
}

fn is_exclusive(graph: &Graph, id: Id) -> bool {
    matches!(graph.op(id), Op::Scan(scan) if scan.exclusive)
}

/// Names a sum or a product by its part in the scan.
fn part(graph: &Graph, program: &Program, id: Id) -> Option<&'static str> {
    let operands = graph.op(id).operands();
    let is = |input: Input| move |id: &Id| *graph.op(*id) == Op::Input(input);
    let has = |input: Input| operands.iter().any(is(input));
    let driven = || match program.find(Symbol::State).map(|state| graph.op(state)) {
        Some(Op::Scan(scan)) => graph.reached(&[scan.drive]).contains(&id),
        _ => false,
    };
    match graph.op(id) {
        Op::Product(_) if has(Input::A) && operands.len() == 2 => Some("exponent"),
        Op::Product(_) if has(Input::D) => Some("skip"),
        Op::Product(_) if has(Input::C) => Some("read-state"),
        // Chunks take it from those before.
        Op::Product(_) if operands.iter().any(|of| is_exclusive(graph, *of)) => Some("carried"),
        Op::Scan(_) if is_exclusive(graph, id) && program.find(Symbol::State) != Some(id) => Some("carried"),
        Op::Sum(_) if has(Input::DeltaBias) => Some("biased-delta"),
        Op::Apply(_, of) if is(Input::Z)(of) => Some("gate"),
        Op::Product(_) | Op::Sum(_) if driven() => Some("b-bar"),
        _ => None,
    }
}

/// Names a product of some factors of the input.
fn group(graph: &Graph, id: Id) -> &'static str {
    let factors = graph.op(id).operands();
    let has = |input: Input| factors.iter().any(|id| *graph.op(*id) == Op::Input(input));
    match (has(Input::B), has(Input::U)) {
        (true, true) => "b-times-u",
        (_, true) => "du",
        _ => "b-bar",
    }
}

/// A node by its part in the program.
fn word(graph: &Graph, program: &Program, id: Id) -> String {
    if let Some((symbol, _)) = program.named.iter().find(|(_, named)| *named == id) {
        return match symbol {
            Symbol::StepSize => "step-size",
            Symbol::State => "state",
            Symbol::ReversedState => "reversed-state",
            Symbol::Readout => "readout",
            Symbol::Adjoint => "adjoint",
            Symbol::ReversedAdjoint => "reversed-adjoint",
            Symbol::ABar => "a-bar",
            Symbol::H => "h",
            Symbol::ABarByDelta => "a-bar-slope-by-delta",
            Symbol::HByDelta => "h-slope-by-delta",
            Symbol::ABarByA => "a-bar-slope-by-a",
            Symbol::HByA => "h-slope-by-a",
            Symbol::ChunkState => "scan",
            Symbol::ChunkDecay => "product",
            Symbol::ChunkCarry => "carried",
            Symbol::ExponentSum => "exponent-sum",
            Symbol::Stage(number) => return format!("stage-{number}"),
            Symbol::Group => group(graph, id),
            Symbol::Gradient(_) => "gradient",
        }
        .to_owned();
    }
    if let Some(Op::Scan(scan)) = program.find(Symbol::State).map(|state| graph.op(state)) {
        for (part, name) in [(scan.decay, "a-bar"), (scan.drive, "input")] {
            if part == id {
                return name.to_owned();
            }
        }
    }
    if id == program.out {
        return "out".to_owned();
    }
    if id == program.last_state {
        return "last-state".to_owned();
    }
    if let Some(name) = part(graph, program, id) {
        return name.to_owned();
    }
    match graph.op(id) {
        Op::Input(input) => match input {
            Input::U => "u",
            Input::Delta => "delta",
            Input::A => "a",
            Input::B => "b",
            Input::C => "c",
            Input::D => "d",
            Input::Z => "z",
            Input::DeltaBias => "bias",
            Input::InitialState => "initial-state",
            Input::OutGradient => "dout",
            Input::LastStateGradient => "dlast-state",
            Input::Begins => "begins",
            Input::Ends => "ends",
        }
        .to_owned(),
        Op::Number(_) => "number".to_owned(),
        Op::Sum(_) => "sum".to_owned(),
        Op::Product(_) => "product".to_owned(),
        Op::Quotient(..) => "quotient".to_owned(),
        Op::Apply(function, _) | Op::Each(function, _) => function_word(*function),
        Op::Outer(..) => "outer-product".to_owned(),
        Op::Inner(..) => "inner-product".to_owned(),
        Op::Along(function, ..) => format!("slope-of-{}", function_word(*function)),
        Op::At { of, .. } => format!("other-{}", word(graph, program, *of)),
        Op::Scan(_) => "scan".to_owned(),
        Op::First(_) => "first".to_owned(),
        Op::Last(_) => "last".to_owned(),
        Op::Fold(_, Over::States) => "sum-over-states".to_owned(),
        Op::Fold(_, Over::Positions) => "sum-over-positions".to_owned(),
        Op::Fold(_, Over::Items) => "sum-over-batch".to_owned(),
        Op::Fold(_, Over::ItemsAndPositions) => "sum-over-batch".to_owned(),
        Op::Fold(_, Over::Channels(_)) => "sum-over-group".to_owned(),
        Op::Fold(_, Over::Lanes(_)) => "sum-over-modulo-group".to_owned(),
        Op::Accumulate(_, _, sum) => format!("sum-in-{}", sum.to),
        Op::Round(..) | Op::CutOff(..) => "rounded".to_owned(),
        Op::Limit { .. } => "limit".to_owned(),
        Op::Turned(..) => "turned".to_owned(),
        Op::Choose { .. } => "choice".to_owned(),
    }
}

/// A function as a part of a name.
pub fn function_word(function: Function) -> String {
    match function {
        Function::Exp => "exp",
        Function::Exp2 => "exp2",
        Function::OnePlus => "one-plus",
        Function::Phi(k) => return format!("phi-{k}"),
        Function::Series(k, terms) => return format!("phi-{k}-cut-after-{terms}"),
        Function::Resolvent(_) => "inverse",
        Function::Unexchanged(_) => "rows-not-exchanged",
        Function::Mapped(map) => map.word(),
        Function::Geometric(..) => "cut-inverse",
        Function::Softplus => "softplus",
        Function::SharpSoftplus(_) => "softplus-of-beta",
        Function::NaiveSoftplus => "naive-softplus",
        Function::SoftplusRest => "softplus-rest",
        Function::Sigmoid => "sigmoid",
        Function::CancellingSigmoid => "cancelling-sigmoid",
        Function::Silu => "silu",
        Function::QuickGelu => "quick-gelu",
        Function::NegatedExp => "negated-exp",
        Function::LogOfNegated => "log-of-negated",
        Function::NegatedLogOfNegated => "negated-log-of-negated",
        Function::Tanh => "tanh",
        Function::Relu => "relu",
        Function::Abs => "modulus",
        Function::Reciprocal => "reciprocal",
        Function::Conjugate => "conjugate",
        Function::RealPart => "real-part",
        Function::ImaginaryPart => "imaginary-part",
        Function::PartsExchanged => "parts-exchanged",
        Function::Within(..) => "within-limits",
        Function::Single => "single",
        Function::Power(..) => "power",
        Function::SlippedInverse(_) => "inverse",
    }
    .to_owned()
}

/// The name of other borders.
pub fn borders_name(at: Borders) -> &'static str {
    match at {
        Borders::All => "starts-anew",
        Borders::None => "crosses-borders",
        Borders::OfBlocks(_) => "crosses-borders-within-blocks",
        Borders::BetweenBlocks(_) => "crosses-borders-at-blocks",
        Borders::OfFirstItem => "borders-of-first-item",
        Borders::Late(_) => "reset-off-by-one",
    }
}

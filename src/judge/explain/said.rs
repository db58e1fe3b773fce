//! An edit in words: a name that scripts may know, what differs in one sentence, and the lines of the program that do.

use super::naming::{is_left_out, name_in};
use crate::formula::Form;
use crate::program::edit::{Carry, Each, Edit, Patch, Site, Start};
use crate::program::matrices::Map;
use crate::program::print::{Printer, number_text};
use crate::program::proposed::ChunkStart;
use crate::program::writing::{Level, Shuffled, Writing};
use crate::program::{Borders, Function, Graph, Id, Op, Program, Real, Symbol};
use crate::results::{Diagnosis, Edited};

/// Lines of a program that are shown beside the specified ones.
const LINES: usize = 2;

/// Edits one after the other, with the lines of the program that differ.
pub fn diagnosis(
    graph: &mut Graph,
    specified: &Program,
    (writing, written): (Writing, &Program),
    edits: &[Edit],
    residual: f64,
) -> Diagnosis {
    let (mut names, mut whats, mut program) = (Vec::new(), Vec::new(), written.clone());
    let mut edited = Vec::new();
    if let Writing::Chunked(length) = writing {
        let parts =
            "s_l the state of a chunk by itself, P_l the decay since its start, c_l what is carried into it";
        whats.push(format!("in chunks of {length}, as x_l = s_l + P_l c_l ({parts})"));
    } else if writing == Writing::Stages {
        whats.push("in stages, B̄ = Δ/6 (1 + 2κ₂ + 2κ₃ + κ₄) B with κᵢ = kᵢ/k₁".to_owned());
    } else if (writing, edits.is_empty()) == (Writing::SumsFromEnd, false) {
        whats.push("in a scan by running sums, x_l = Σ_{k≤l} (input)_k P_k / P_l, P_l the product of the decays behind l".to_owned());
    } else if let (Writing::RunningSums { .. }, false) = (writing, edits.is_empty()) {
        whats.push("in a scan by running sums, x_l = P_l Σ_{k≤l} (input)_k / P_k, P_l the product of the decays so far".to_owned());
    } else if let Some((name, what)) = self::writing(writing, specified) {
        names.push(name);
        whats.push(what);
    }
    for edit in edits {
        let name = name_in(writing, graph, &program, edit);
        whats.push(sentence(graph, &program, edit));
        edited.push(self::edited(graph, &program, edit, name.clone()));
        // Two of a kind have one name.
        if names.last() != Some(&name) {
            names.push(name);
        }
        program = edit.apply(graph, &program);
    }
    // What is written in another way is compared with that.
    let (right, label) = match writing {
        Writing::Chunked(_) | Writing::RunningSums { .. } | Writing::SumsFromEnd | Writing::Stages
            if !edits.is_empty() =>
        {
            (written, "right")
        }
        _ => (specified, "specified"),
    };
    // Levels that are made of each other are no lines to read.
    let differing = match writing {
        Writing::Shuffled(_) => String::new(),
        _ => differing((&lines(graph, right), label), &lines(graph, &program)),
    };
    let what = whats.join("; ") + &differing;
    Diagnosis { edits: edited, ..Diagnosis::new(names.join(" + "), what, residual) }
}

/// Lines of a program.
pub fn lines(graph: &Graph, program: &Program) -> Vec<String> {
    Printer::new(graph, program).lines()
}

/// A node of a program.
pub fn text(graph: &Graph, program: &Program, id: Id) -> String {
    Printer::new(graph, program).text(id)
}

/// The first lines that differ from these, which have a label, in parentheses; nothing where none does.
pub fn differing((before, label): (&[String], &str), after: &[String]) -> String {
    let of_name = |line: &str| line.split(" = ").next().map(|name| name.replace("_{l+1}", "_l"));
    let differing = after.iter().filter_map(|line| {
        let before = before.iter().find(|other| of_name(other) == of_name(line))?;
        // A scan without a name within another line is hard to read, and the sentence says it.
        let is_readable = !line.contains("scan[") || before.contains("scan[");
        (before != line && is_readable).then(|| format!("{label} {before}; computed {line}"))
    });
    let lines: Vec<String> = differing.take(LINES).collect();
    if lines.is_empty() { String::new() } else { format!(" ({})", lines.join("; ")) }
}

/// The name of another form, or of what is written wrongly, and what it does.
pub fn writing(writing: Writing, specified: &Program) -> Option<(String, String)> {
    match writing {
        Writing::Specified | Writing::Inverses | Writing::Stages | Writing::Chunked(_) | Writing::Grouped(_) => None,
        Writing::RunningSums { divided: false } => Some((
            "running-weights-overflow".to_owned(),
            "the scan multiplies inputs by e to the negated sum of the exponents so far, which is infinite in f32 from some position on".to_owned(),
        )),
        Writing::SumsFromEnd | Writing::RunningSums { divided: true } => Some((
            "division-by-underflowed-product".to_owned(),
            "the scan divides inputs by the product P_l of the decays so far, which is 0 in f32 from some position on".to_owned(),
        )),
        Writing::Other { a_bar, b_bar } => match (a_bar.map(Form::name), b_bar.map(Form::name)) {
            (Some(other), Some(_)) => Some((format!("runs-as-{other}"), format!("it computes {other}"))),
            (Some(other), None) => Some((format!("a-bar-of-{other}"), format!("Ā is that of {other}"))),
            (None, Some(other)) => Some((format!("b-bar-of-{other}"), format!("B̄ is that of {other}"))),
            (None, None) => None,
        },
        Writing::Shuffled(Shuffled { threads, positions, slip }) => {
            let (name, what) = match slip {
                Level::FirstIdle => ("first-idle", "thread k takes nothing: what the first thread has is lost"),
                Level::OwnTwice => ("own-twice", "the threads before thread k take their own once more"),
                Level::LastMissing => ("last-level-missing", "the last level is missing"),
                Level::DecayFirst => ("decay-first", "what is taken is decayed by the product that is updated already"),
            };
            let of = format!(
                "in a scan by shuffles ({threads} threads; positions of each: {positions}), in which a thread takes what the one k \
                 before has, for k = 1, 2, 4, …"
            );
            Some((format!("shuffle-{name}"), format!("{of}, {what}")))
        }
        Writing::FlippedInPart(flips) => {
            let which = |is: bool| -> String {
                let names = flips.named().into_iter().filter(|(_, flipped)| *flipped == is);
                names.map(|(name, _)| name).collect::<Vec<_>>().join(", ")
            };
            Some(match specified.find(Symbol::ReversedState) {
                Some(_) => (
                    "poly-flipped-in-part".to_owned(),
                    format!("of a scan over the flipped sequence not flipped: {}", which(false)),
                ),
                None => (
                    "flipped-in-part".to_owned(),
                    format!("flipped along the sequence: {}; not flipped: {}", which(true), which(false)),
                ),
            })
        }
    }
}

/// Says what one edit does.
pub fn sentence(graph: &mut Graph, program: &Program, edit: &Edit) -> String {
    let target = edit.target(graph);
    let patched = edit.patched(graph, target);
    let chunk_start = ChunkStart::of(graph, program, edit);
    let printer = Printer::new(graph, program);
    let old = printer.text(target);
    let where_used = where_used(graph, &printer, edit);
    let place = edit.when.map_or_else(String::new, |when| format!(" {}", printer.condition(when)));
    let mut what = match edit.patch {
        _ if chunk_start == Some(ChunkStart::OwnEnd) => {
            "a chunk starts from the state that it ends with itself".to_owned()
        }
        _ if chunk_start == Some(ChunkStart::OneEarly) => {
            "a chunk starts from the state that the one before has a position before its end".to_owned()
        }
        Patch::Number(number) if is_left_out(graph, program, edit) => {
            let noun = if number.value() == 1.0 { "the factor " } else { "" };
            format!("{noun}{old} is missing")
        }
        Patch::Number(number) => format!("{} stands in the place of {old}", number_text(number)),
        Patch::Plus(other, by) => {
            let is_one = *graph.op(other) == Op::Number(Real::new(1.0));
            let other = printer.text(other);
            let (verb, size) =
                if by.value() < 0.0 { ("subtracted from", -by.value()) } else { ("added to", by.value()) };
            let times =
                if size == 1.0 { String::new() } else { format!("{} ", number_text(Real::new(size))) };
            // A guard is a number alone.
            let added = if is_one && size != 1.0 { times.trim_end().to_owned() } else { times + &other };
            format!("{added} is {verb} {old}")
        }
        Patch::Scaled(by) => format!("{old} is multiplied by {}", number_text(by)),
        Patch::Within(low, high) => {
            format!("{old} is kept within [{}, {}]", number_text(low), number_text(high))
        }
        Patch::KeptWithin(low, high) => {
            format!("{old} is kept within [{}, {}] as it is carried on", number_text(low), number_text(high))
        }
        Patch::Instead(None) if matches!(graph.op(target), Op::Limit { .. }) => {
            format!("the limits of {old} are missing")
        }
        Patch::LimitMissing { upper } => {
            format!("the {} limit of {old} is missing", if upper { "upper" } else { "lower" })
        }
        Patch::Powers(powers) => {
            format!("in {old}, z being what stands there more than once, {}", powers.text())
        }
        Patch::InPlace => {
            format!(
                "in the scan of {old} each row of the product is written over the state that the rows after it read"
            )
        }
        Patch::Multiplied(product) => format!(
            "the product (a + ib)(c + id) of decay and state is {} in the scan of {old}",
            product.text()
        ),
        Patch::FunctionMoved if matches!(graph.op(target), Op::Limit { .. }) => {
            format!("{} stands in the place of {old}: limits before the function", printer.text(patched))
        }
        Patch::FunctionMoved => {
            format!("{} stands in the place of {old}: a function of another factor", printer.text(patched))
        }
        Patch::AcrossBorders if matches!(graph.op(target), Op::Last(_)) => {
            "last_state of a packed sequence is the state before its first position".to_owned()
        }
        Patch::AcrossBorders => format!("{old} is read over the borders of packed sequences"),
        Patch::Borders(at) => {
            let is_decay = program
                .find(Symbol::ChunkDecay)
                .is_some_and(|decay| graph.reached(&[decay]).contains(&target));
            let old = if is_decay { "P_l" } else { &old };
            format!(
                "the scan of {old} {}",
                borders(at, matches!(graph.op(target), Op::Scan(scan) if scan.reversed))
            )
        }
        Patch::Circular => format!("the end of the sequence goes on at its start in the scan of {old}"),
        Patch::OtherDirection => "last_state is that of a scan against the sequence".to_owned(),
        Patch::Starting(start) => {
            let from = match start {
                Start::Initial => "the initial state".to_owned(),
                Start::Last => "the last state of the scan along the sequence".to_owned(),
                Start::ItemBefore => "what the batch item before has ended with".to_owned(),
                Start::Undecayed => "the initial state, which the first step does not decay".to_owned(),
                Start::OfChunk(length) => format!(
                    "the initial states of sequences, which decay from where a chunk of {length} begins, before their sequence does"
                ),
                Start::AtChunks(length) => {
                    format!(
                        "the initial state where a sequence begins at a multiple of {length}, and from 0 else"
                    )
                }
            };
            format!("the scan of {old} starts from {from}")
        }
        Patch::InEach(Each::Series(terms)) => {
            let plural = if terms == 1 { "" } else { "s" };
            format!("the series of every φ in {old} stops after {terms} term{plural}")
        }
        Patch::InEach(Each::Powers(powers)) => {
            format!("in every term of {old}, z being what stands there more than once, {}", powers.text())
        }
        Patch::Applied(Function::Mapped(map @ Map::Without { .. })) => {
            format!("{} of {old} are 0", map.lost_part())
        }
        Patch::Commuting { .. } => {
            format!("{} stands in the place of {old}, as if the two matrices commuted", printer.text(patched))
        }
        Patch::ByEntries | Patch::InEach(Each::ByEntries) => {
            format!("functions and powers in {old} are taken of each entry, and not of the matrix")
        }
        Patch::InEach(Each::Once(factor)) => {
            format!("every term of {old} has one factor {}", printer.text(factor))
        }
        Patch::Carried { what, length } => {
            let becomes = match what {
                Carry::Times(Real::ZERO) => "is lost".to_owned(),
                Carry::Times(by) if by.value() == 2.0 => "counts twice".to_owned(),
                Carry::Times(by) => format!("is multiplied by {}", number_text(by)),
                Carry::Decayed(0) => "is not decayed".to_owned(),
                Carry::Decayed(times) => format!("is decayed {times} times"),
                Carry::Start => "is what the scan has started from".to_owned(),
                Carry::Before(1) => "is that of one position before".to_owned(),
                Carry::Before(count) => format!("is that of {count} positions before"),
                Carry::Rounded(to) => format!("is in {to}"),
            };
            format!("the state that the scan of {old} carries {becomes} at multiples of {length}")
        }
        Patch::Summed(_, Some(sum)) => {
            let what = if sum.rounds_added { " and what is added to it are" } else { " is" };
            let from = if sum.backwards { ", from the last on" } else { "" };
            format!("{old}{what} kept in {}{from}", sum.to)
        }
        Patch::CutOff(to) => format!("{old} is cut off to {to} as it is stored, not rounded to nearest"),
        Patch::OnlyTerm(_) => format!("{} alone stands in the place of {old}", printer.text(patched)),
        Patch::Stretched(by) => format!("the real part of {old} is multiplied by {}", number_text(by)),
        Patch::Turned(by) => format!("the imaginary part of {old} is multiplied by {}", number_text(by)),
        Patch::Times(other) => format!("{old} is multiplied by {}", printer.text(other)),
        Patch::Over(other) => format!("{old} is divided by {}", printer.text(other)),
        Patch::AtLeast(low) => format!("{old} is at least {}", number_text(low)),
        Patch::AtMost(high) => format!("{old} is at most {}", number_text(high)),
        Patch::Padded(count) => {
            format!("{old} has gone on through {count} padded positions, with delta and u of 0")
        }
        Patch::Stored(to) => format!("{old} is rounded to {to} as it is carried on"),
        Patch::Exchanged => "the scan's operator has its operands exchanged".to_owned(),
        Patch::Reversed => format!("the scan of {old} runs the other way"),
        Patch::Outside { user, term } => {
            let term = graph.op(target).operands()[term];
            format!("{} is added after {} and not within it", printer.text(term), printer.text(user))
        }
        _ => format!("{} stands in the place of {old}", printer.text(patched)),
    };
    what += &where_used;
    what += &place;
    what
}

/// Where a scan of packed sequences starts anew, in words.
pub fn borders(at: Borders, is_reversed: bool) -> String {
    match at {
        Borders::All => "starts anew at each border of packed sequences".to_owned(),
        Borders::None => "goes on over the borders of packed sequences".to_owned(),
        Borders::OfBlocks(k) => {
            format!(
                "goes on over the borders of packed sequences that are not at multiples of a length, as of {k} positions"
            )
        }
        Borders::BetweenBlocks(k) => format!(
            "goes on over the borders of packed sequences that are at multiples of {k} positions, and starts anew at the others"
        ),
        Borders::OfFirstItem => "starts anew at the borders of item 0 in all items".to_owned(),
        Borders::Late(by) => {
            let is_after = (by > 0) != is_reversed;
            let side = if is_after { "after" } else { "before" };
            let count =
                if by.abs() == 1 { "a position".to_owned() } else { format!("{} positions", by.abs()) };
            format!("starts anew {count} {side} the borders of packed sequences")
        }
    }
}

/// Which use of a value an edit is about; nothing where it is about all.
fn where_used(graph: &Graph, printer: &Printer, edit: &Edit) -> String {
    match edit.site {
        Site::Value(_) => String::new(),
        Site::Within { root, .. } => format!(" in {}", printer.text(root)),
        Site::WithinUse { user, operand, .. } => {
            let of = graph.op(user).operands()[operand];
            format!(" in {} of {}", printer.text(of), printer.meaning(user))
        }
        Site::Both(_, other) => format!(", and likewise of {}", printer.text(other)),
        Site::Use { .. } if matches!(edit.patch, Patch::Outside { .. }) => String::new(),
        Site::Use { user, .. } => format!(" in {}", printer.meaning(user)),
    }
}

/// An edit as data, under its name.
pub fn edited(graph: &mut Graph, program: &Program, edit: &Edit, name: String) -> Edited {
    let target = edit.target(graph);
    let patched = edit.patched(graph, target);
    let printer = Printer::new(graph, program);
    let when = edit.when.map(|when| printer.condition(when));
    let place = [Some(where_used(graph, &printer, edit)), when].into_iter().flatten();
    let place: Vec<String> =
        place.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect();
    let (specified, computed) = (printer.text(target), printer.text(patched));
    Edited { name, specified, computed, place: place.join(", ") }
}

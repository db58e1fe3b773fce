//! What the scan itself may do otherwise: when states are read, in which direction it runs, what Ā is, and how states are
//! carried from chunk to chunk.

use super::changes::{Change, Part};
use super::last_state;
use crate::formula::{Form, Fraction, Transition};
use crate::judge::faults::around::{Carry, Chunks, Delay, ExponentSums, Initial};
use crate::judge::faults::variant::Variant;
use crate::problem::{InputType, Problem, Weights};

/// The scan itself.
pub fn all(problem: &Problem, form: Form) -> Vec<Change> {
    let mut all = Vec::new();
    if problem.reads_before() {
        // Stated as before: what reads after the update is out by one the other way.
        all.push(Change::new(
            Part::Delay,
            "reads-after-update",
            "y reads the state after its update (off by one)",
            |v| v.delay = Delay::Readout(-1),
        ));
    }
    for k in 1..=4usize {
        let change = Change::new(
            Part::Delay,
            if k == 1 { "reads-before-update".to_owned() } else { "states-read-late".to_owned() },
            if k == 1 {
                "y reads the state before its update (off by one): position l reads that of l − 1".to_owned()
            } else {
                format!("y of position l reads the state of l − {k}")
            },
            move |v: &mut Variant| v.delay = Delay::State(k),
        );
        all.push(Change { is_statement: k == 1, ..change });
    }
    for k in [1isize, 2, 3, 4, 5, 6, 7, 8, -1, -2] {
        let (name, way) = if k > 0 { ("readout-late", "−") } else { ("readout-early", "+") };
        all.push(Change::new(
            Part::Delay,
            name,
            format!("C·state at position l is that of l {way} {}; skip and gate are in place", k.abs()),
            move |v: &mut Variant| v.delay = Delay::Readout(k),
        ));
    }
    for k in 1..=8usize {
        all.push(Change::new(
            Part::Delay,
            "output-late",
            format!("the whole output of position l is that of l − {k}"),
            move |v: &mut Variant| v.delay = Delay::Output(k),
        ));
    }
    let what = "Ā multiplies what its own position adds, too: x = Ā(x + B̄u)";
    all.push(Change::new(Part::Scan, "input-decayed", what, |v| v.decays_input = true));
    let what = "the scan runs from the last position to the first";
    let reverse = Change::new(Part::Scan, "direction-reverse", what, |v| v.reverse = true);
    all.push(Change { is_statement: true, ..reverse });
    let none = |v: &mut Variant| v.chunks = Some(Chunks::new(1, Carry::Times(0.0)));
    let what = "no state is carried: every position starts from 0";
    all.push(Change::new(Part::Carry, "state-not-carried", what, none));
    const ONE: Transition = Transition::Polynomial(&[Fraction::ONE]);
    all.push(Change::new(Part::ABar, "a-bar-is-1", "Ā is 1: states never decay", |v| {
        v.transition = Some(ONE)
    }));
    all.extend(transitions());
    if form.formula().a_bar == Transition::Exponential {
        let exponents = [
            ("a-bar-exponent-negated", "Ā is exp(−ΔA)", -1.0),
            ("a-bar-halved-exponent", "Ā is exp(ΔA/2)", 0.5),
        ];
        all.extend(exponents.map(|(name, what, by)| {
            Change::new(Part::ABar, name, what, move |v: &mut Variant| v.exponent = (by, by))
        }));
    }
    if problem.initial_state.is_some() {
        let mut starts = |name, what: &str, initial| {
            all.push(Change::new(Part::Other, name, what, move |v: &mut Variant| v.initial = initial));
        };
        let what = "the scan starts from 0, not from initial_state";
        starts("initial-state-ignored", what, Initial::Ignored);
        let what = "initial_state enters without the first Ā";
        starts("initial-state-not-decayed", what, Initial::WithoutFirstDecay);
        if form.is_bidirectional() {
            let what = "the reversed scan starts from initial_state, too";
            starts("initial-state-in-both", what, Initial::InBoth);
        }
        if problem.weights == Weights::Complex {
            starts("initial-state-conjugated", "initial_state is conjugated", Initial::Conjugated);
        }
    }
    all.extend(exponent_sums(problem));
    all.extend((1..=2).map(last_state::early));
    all.extend(
        [2, 4, 8, 16, 32, 64].into_iter().filter(|length| *length < problem.shape.seqlen).flat_map(chunked),
    );
    all
}

/// Decays that are differences of running sums, which are kept in 16 bits.
fn exponent_sums(problem: &Problem) -> Vec<Change> {
    if problem.weights == Weights::Complex {
        return Vec::new();
    }
    let types = [(InputType::F16, "f16"), (InputType::Bf16, "bf16")];
    let ways = [(true, "each of them, and each exponent, is"), (false, "what is kept of each is")];
    let all = types.into_iter().flat_map(|to| ways.map(|way| (to, way)));
    let change = |((to, short), (each, what)): ((InputType, &str), (bool, &str))| {
        let what = format!("decays are differences of running sums of log Ā: {what} rounded to {short}");
        let sums = Some(ExponentSums { to, each });
        Change::new(Part::ABar, format!("exponent-sums-in-{short}"), what, move |v: &mut Variant| {
            v.exponent_sums = sums;
        })
    };
    all.map(change).collect()
}

const CUT_2: &[Fraction] = &[Fraction::ONE, Fraction::ONE, Fraction::HALF];
const CUT_3: &[Fraction] = &[Fraction::ONE, Fraction::ONE, Fraction::HALF, Fraction(1, 6)];
const CUT_4: &[Fraction] = &[Fraction::ONE, Fraction::ONE, Fraction::HALF, Fraction(1, 6), Fraction(1, 24)];
const CUT_5: &[Fraction] =
    &[Fraction::ONE, Fraction::ONE, Fraction::HALF, Fraction(1, 6), Fraction(1, 24), Fraction(1, 120)];

/// Other kinds of Ā.
pub fn transitions() -> Vec<Change> {
    let all = [
        ("a-bar-exponential", "Ā is exp(ΔA)", Transition::Exponential),
        ("a-bar-euler", "Ā is 1 + ΔA", Transition::Polynomial(&[Fraction::ONE, Fraction::ONE])),
        ("a-bar-taylor-2", "Ā is the series of exp(ΔA) up to its square", Transition::Polynomial(CUT_2)),
        ("a-bar-taylor-3", "Ā is the series of exp(ΔA) up to its third power", Transition::Polynomial(CUT_3)),
        (
            "a-bar-taylor-4",
            "Ā is the series of exp(ΔA) up to its fourth power",
            Transition::Polynomial(CUT_4),
        ),
        ("a-bar-taylor-5", "Ā is the series of exp(ΔA) up to its fifth power", Transition::Polynomial(CUT_5)),
        ("a-bar-bilinear", "Ā is (1 − ΔA/2)⁻¹(1 + ΔA/2)", Transition::Quotient(Fraction::HALF)),
        ("a-bar-backward-euler", "Ā is (1 − ΔA)⁻¹", Transition::Quotient(Fraction::ONE)),
        ("a-bar-linear", "Ā is ΔA: exp is missing", Transition::Polynomial(&[Fraction(0, 1), Fraction::ONE])),
    ];
    all.into_iter()
        .map(|(name, what, kind)| {
            Change::new(Part::ABar, name, what, move |v: &mut Variant| v.transition = Some(kind))
        })
        .collect()
}

/// 1st, 2nd, …
fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

const INITIAL_AGAIN: &str = "chunk-initial-state-again";

/// Whether a change does nothing where the scan starts from 0.
pub fn needs_initial_state(change: &Change) -> bool {
    change.name == INITIAL_AGAIN
}

/// Mistakes with the state between chunks: a name, how the state is carried, and a sentence, in which `{nth}` stands for the
/// length as an ordinal and `{length}` for itself.
#[rustfmt::skip]
const CARRIES: [(&str, Carry, &str); 16] = [
    ("chunk-state-forgotten", Carry::Times(0.0),
        "the state is lost at every {nth} position: chunks of {length} start from 0"),
    ("chunk-state-doubled", Carry::Times(2.0), "the carried state counts twice at every {nth} position"),
    ("chunk-state-halved", Carry::Times(0.5), "the carried state counts half at every {nth} position"),
    ("chunk-state-negated", Carry::Times(-1.0), "the carried state changes its sign at every {nth} position"),
    ("chunk-first-decay-missing", Carry::WithoutFirstDecay,
        "the carried state skips Ā at every {nth} position"),
    ("chunk-carry-not-decayed", Carry::WithoutDecay,
        "the state carried into a chunk of {length} is added to all of its positions without decaying"),
    ("chunk-carry-not-accumulated", Carry::NotAccumulated,
        "a chunk of {length} is given what the one before has added, and nothing from before that"),
    ("chunk-carry-accumulated-without-decay", Carry::AccumulatedWithoutDecay,
        "carried states are added up over chunks of {length} without the decay between"),
    ("chunk-carry-stale", Carry::Stale, "a chunk of {length} is given the state of one chunk too early"),
    ("chunk-carry-last-but-one", Carry::LastButOne,
        "a chunk of {length} is given the state of the last position but one of the chunk before"),
    ("chunk-operands-exchanged", Carry::OperandsExchanged,
        "chunks of {length} are joined with operands exchanged: what a chunk adds is decayed by all chunks before it, and what comes from before it is not"),
    (INITIAL_AGAIN, Carry::InitialAgain,
        "the initial state is added to what is carried into each chunk of {length}"),
    ("chunk-inputs-decayed", Carry::InputsDecayed,
        "the state handed to the next chunk of {length} has each input decayed by its own step, too; within a chunk all is right"),
    ("chunk-carry-in-bf16", Carry::Rounded(InputType::Bf16),
        "the state carried into a chunk of {length} is rounded to bf16"),
    ("chunk-carry-in-f16", Carry::Rounded(InputType::F16),
        "the state carried into a chunk of {length} is rounded to f16"),
    ("chunk-carry-in-first-position-only", Carry::FirstPositionOnly,
        "the carried state reaches the first position of each chunk of {length} only"),
];

/// What may happen to the state between chunks of this length.
pub fn chunked(length: usize) -> Vec<Change> {
    let (nth, by) = (ordinal(length), length.to_string());
    let change = |(name, carry, what): (&str, Carry, &str)| {
        let what = what.replace("{nth}", &nth).replace("{length}", &by);
        Change::new(Part::Carry, name, what, move |v: &mut Variant| {
            v.chunks = Some(Chunks::new(length, carry))
        })
    };
    CARRIES.into_iter().map(change).collect()
}

/// The same where both scans have chunks, and something is wrong with those of one of them: the reversed scan may count them
/// from the first position or from the last.
pub fn chunked_in_one_direction(form: Form, length: usize) -> Vec<Change> {
    if !form.is_bidirectional() {
        return Vec::new();
    }
    let sides = [
        ([true, false], false, "in the forward scan alone"),
        ([false, true], true, "in the reversed scan alone, whose chunks are counted from the end"),
        (
            [false, true],
            false,
            "in the reversed scan alone, whose chunks are counted from the first position",
        ),
        ([true, true], true, "in both scans, the reversed one's chunks counted from the end"),
    ];
    let mut all = Vec::new();
    for change in chunked(length) {
        for (of, from_end, text) in sides {
            let both = change.change.clone();
            let what = format!("{}; {text}", change.what);
            all.push(Change::new(Part::Carry, change.name.clone(), what, move |v: &mut Variant| {
                both(v);
                v.chunks = v.chunks.map(|chunks| Chunks { of, from_end, ..chunks });
            }));
        }
    }
    all
}

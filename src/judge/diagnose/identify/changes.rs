//! What may be otherwise around the formula, one change at a time: by structure (each input along each of its axes, each
//! step of Δ, gate and scan), not by a list of known bugs.

use std::sync::Arc;

use crate::formula::{Fraction, Transition};
use crate::judge::faults::Fault;
use crate::judge::faults::around::{
    AUse, Activation, Carry, Chunks, Delay, Initial, Input, Map, Place, StepSize, UUse,
};
use crate::judge::faults::catalogue::Entry;
use crate::judge::faults::variant::{BUse, Group, LastState, Variant};
use crate::problem::{Operand, Problem, Weights};

/// Which part of a scan a change is about: of each, a combination has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Formula,
    ABar,
    BBar,
    Step,
    StepOrder,
    Clamp,
    AValue,
    BValue,
    CValue,
    UValue,
    Place(usize),
    Group,
    Scan,
    Delay,
    Carry,
    Readout,
    Epilogue,
    LastState,
    Other,
}

/// One change to the specified scan.
#[derive(Clone)]
pub struct Change {
    pub name: String,
    /// One sentence.
    pub what: String,
    pub part: Part,
    pub change: Arc<dyn Fn(&mut Variant) + Send + Sync>,
    /// Whether a statement of the recording accepts it, so that it is named elsewhere where it is all that is wrong.
    pub is_statement: bool,
}

impl Change {
    pub fn new(
        part: Part,
        name: impl Into<String>,
        what: impl Into<String>,
        change: impl Fn(&mut Variant) + Send + Sync + 'static,
    ) -> Self {
        Change { name: name.into(), what: what.into(), part, change: Arc::new(change), is_statement: false }
    }

    /// A fault model of the catalogue.
    pub fn of(entry: &'static Entry) -> Self {
        let fault = entry.fault;
        Change::new(part(fault), entry.name, entry.what, move |variant| fault.change(variant))
    }
}

fn part(fault: Fault) -> Part {
    match fault {
        Fault::RunsAs(_) => Part::Formula,
        Fault::ABarOf(_) | Fault::Exponent(..) | Fault::ABarDelta(_) => Part::ABar,
        Fault::BBarOf(_) | Fault::Taylor(_) | Fault::BBarSeries(_) | Fault::Sum(_) | Fault::Inverse(..) => {
            Part::BBar
        }
        Fault::UMissing | Fault::BBarDelta(_) => Part::BBar,
        Fault::StepDelta(_) => Part::Step,
        Fault::Bias(_) => Part::StepOrder,
        Fault::Softplus(_) => Part::Step,
        Fault::Clamp(_) => Part::Clamp,
        Fault::B(_) => Part::BValue,
        Fault::BTransposed => Part::Place(Input::B as usize),
        Fault::CTransposed => Part::Place(Input::C as usize),
        Fault::GroupModulo => Part::Group,
        Fault::Edge(..) => Part::Carry,
        Fault::Readout(_) => Part::Readout,
        Fault::Skip(_) | Fault::Gate(_) => Part::Epilogue,
        Fault::LastState(_) => Part::LastState,
        _ => Part::Other,
    }
}

/// Every change that can show on this problem, the likelier ones first.
pub fn all(problem: &Problem) -> Vec<Change> {
    let mut all = steps(problem);
    all.extend(weights(problem));
    all.extend(scans(problem));
    all.extend(inputs_as_used(problem));
    all.extend(places(problem));
    all
}

fn steps(problem: &Problem) -> Vec<Change> {
    let mut all = Vec::new();
    let mut add = |part, name: &str, what: &str, change: fn(&mut StepSize), which: &'static [usize]| {
        all.push(Change::new(part, name, what, move |v: &mut Variant| {
            which.iter().for_each(|&i| change(&mut v.step_sizes[i]));
        }));
    };
    const BOTH: &[usize] = &[0, 1];
    if problem.delta_bias.is_some() {
        let part = Part::StepOrder;
        add(part, "bias-twice", "delta_bias is added twice", |s| s.before = 2.0, BOTH);
        add(part, "bias-negated", "delta_bias is subtracted", |s| s.before = -1.0, BOTH);
        add(part, "bias-missing-in-b-bar", "Δ of B̄ lacks delta_bias, that of Ā has it", |s| s.before = 0.0, &[1]);
        add(part, "bias-missing-in-a-bar", "Δ of Ā lacks delta_bias, that of B̄ has it", |s| s.before = 0.0, &[0]);
        if problem.delta_softplus {
            add(part, "bias-before-and-after-softplus", "delta_bias is added before softplus and again after it", |s| s.after = 1.0, BOTH);
            add(part, "bias-after-softplus-in-b-bar", "delta_bias is added after softplus in B̄, before it in Ā", |s| (s.before, s.after) = (0.0, 1.0), &[1]);
            add(part, "bias-after-softplus-in-a-bar", "delta_bias is added after softplus in Ā, before it in B̄", |s| (s.before, s.after) = (0.0, 1.0), &[0]);
        }
    }
    if problem.delta_softplus {
        add(Part::Step, "softplus-twice", "softplus is applied twice", |s| s.again = true, BOTH);
        add(Part::Step, "softplus-missing-in-b-bar", "B̄ takes Δ before softplus, Ā after it", |s| s.activation = Activation::None, &[1]);
        add(Part::Step, "softplus-missing-in-a-bar", "Ā takes Δ before softplus, B̄ after it", |s| s.activation = Activation::None, &[0]);
        add(Part::Step, "softplus-twice-in-b-bar", "softplus is applied twice in B̄, once in Ā", |s| s.again = true, &[1]);
        add(Part::Step, "softplus-twice-in-a-bar", "softplus is applied twice in Ā, once in B̄", |s| s.again = true, &[0]);
        add(Part::Step, "raw-delta-in-b-bar", "B̄ takes delta as it is, without bias and softplus", |s| (s.before, s.activation) = (0.0, Activation::None), &[1]);
        add(Part::Step, "raw-delta-in-a-bar", "Ā takes delta as it is, without bias and softplus", |s| (s.before, s.activation) = (0.0, Activation::None), &[0]);
        add(Part::Step, "softplus-base-2", "softplus is log₂(1 + 2ˣ)", |s| s.activation = Activation::Softplus { beta: std::f64::consts::LN_2, above: f64::INFINITY }, BOTH);
    } else {
        add(Part::Step, "softplus-not-stated", "softplus is applied, which is not stated (the metadata delta_softplus = true states it)", |s| s.activation = Activation::SOFTPLUS, BOTH);
    }
    let place = if problem.delta_softplus { "in place of softplus" } else { "is applied to delta" };
    let functions: [(&str, &str, Activation); 7] = [
        ("exp", "exp", Activation::Exp),
        ("relu", "relu", Activation::Relu),
        ("sigmoid", "sigmoid", Activation::Sigmoid),
        ("silu", "silu", Activation::Silu),
        ("square", "the square", Activation::Square),
        ("abs", "the modulus", Activation::Abs),
        ("log-of-square", "log(1 + x²)", Activation::LogOfSquare),
    ];
    for (name, what, activation) in functions {
        let name = if problem.delta_softplus { format!("{name}-for-softplus") } else { format!("{name}-of-delta") };
        all.push(Change::new(Part::Step, name, format!("{what} {place}"), move |v: &mut Variant| {
            v.step_sizes.iter_mut().for_each(|s| s.activation = activation);
        }));
    }
    for (by, of) in [(-1, "l − 1"), (1, "l + 1")] {
        let off = if by < 0 { "late" } else { "early" };
        let mut shifted = |name: &str, what: String, which: &'static [usize]| {
            for (end, map) in [("0", Map::Shifted(by)), ("the last one", Map::Held(by)), ("those of the other end", Map::Rolled(by))] {
                let what = format!("{what}, {end} beyond the end");
                all.push(Change::new(Part::Scan, format!("{name}-{off}"), what, move |v: &mut Variant| {
                    which.iter().for_each(|&i| v.step_sizes[i].l = map);
                }));
            }
        };
        shifted("a-bar", format!("position l takes Ā of {of}"), &[0]);
        shifted("b-bar-delta", format!("B̄ of position l takes Δ of {of}"), &[1]);
        shifted("delta", format!("position l takes Δ of {of}"), BOTH);
    }
    all
}

/// A, B and C as they are used.
fn weights(problem: &Problem) -> Vec<Change> {
    let mut all = Vec::new();
    let mut a = |name: &str, what: &str, of: AUse| {
        all.push(Change::new(Part::AValue, name, what, move |v: &mut Variant| v.a_use = of));
    };
    a("a-negated", "A has the wrong sign: −A is used, as where exp(A_log) is taken for A", AUse::Negated);
    a("a-exponentiated", "A is −exp(A): A, which is given, is taken for A_log", AUse::NegativeExponential);
    a("a-is-exp-of-a", "exp(A) is used as A", AUse::Exponential);
    a("a-log-as-a", "A is log(−A): A_log is used as A, without −exp", AUse::Logarithm);
    a("a-log-negated-as-a", "A is −log(−A): −A_log is used as A, without exp", AUse::NegativeLogarithm);
    a("a-reciprocal", "1/A is used as A", AUse::Reciprocal);
    if problem.shape.dstate > 1 {
        a("a-mean", "every state has the mean A of its channel", AUse::Mean);
    }
    if problem.weights == Weights::Complex {
        a("a-real-part", "the imaginary part of A is dropped", AUse::RealPart);
        a("a-conjugated", "A is conjugated", AUse::Conjugated);
    }
    let uses: [(&str, &str, BUse); 8] = [
        ("twice", "is applied twice", BUse::Twice),
        ("missing", "is not applied", BUse::Never),
        ("negated", "has the wrong sign", BUse::Negated),
        ("normalized", "is divided by its norm over the states", BUse::Normalized),
        ("rms-normalized", "is divided by its root mean square over the states", BUse::RmsNormalized),
        ("softmax", "goes through a softmax over the states", BUse::Softmax),
        ("conjugated", "is conjugated", BUse::Conjugated),
        ("real-part", "loses its imaginary part", BUse::RealPart),
    ];
    for (name, what, of) in uses {
        let needs_complex = matches!(of, BUse::Conjugated | BUse::RealPart);
        if needs_complex && problem.weights == Weights::Real {
            continue;
        }
        // What the catalogue has of B.
        if !matches!(of, BUse::Twice | BUse::Never | BUse::Conjugated) {
            all.push(Change::new(Part::BValue, format!("b-{name}"), format!("B {what}"), move |v: &mut Variant| v.b_use = of));
        }
        all.push(Change::new(Part::CValue, format!("c-{name}"), format!("C {what}"), move |v: &mut Variant| v.c_use = of));
    }
    if problem.b_operand == problem.c_operand {
        let exchanged = |v: &mut Variant| (v.b_use, v.c_use) = (BUse::Exchanged, BUse::Exchanged);
        let both = Change::new(Part::BValue, "b-and-c-exchanged", "B and C are in each other's place", exchanged);
        all.push(Change { is_statement: true, ..both });
        all.push(Change::new(Part::BValue, "c-for-b", "C is read in place of B", |v| v.b_use = BUse::Exchanged));
        all.push(Change::new(Part::CValue, "b-for-c", "B is read in place of C", |v| v.c_use = BUse::Exchanged));
    }
    all
}

/// The scan itself.
fn scans(problem: &Problem) -> Vec<Change> {
    let mut all = Vec::new();
    if problem.reads_before() {
        // Stated as before: what reads after the update is out by one the other way.
        all.push(Change::new(Part::Delay, "reads-after-update", "states are read after their update", |v| v.delay = Delay::Readout(-1)));
    }
    for k in 1..=4usize {
        let change = Change::new(Part::Delay, if k == 1 { "reads-before-update".to_owned() } else { "states-read-late".to_owned() },
            if k == 1 { "the scan is exclusive: C of position l reads the state of l − 1".to_owned() } else { format!("C of position l reads the state of l − {k}") },
            move |v: &mut Variant| v.delay = Delay::State(k));
        all.push(Change { is_statement: k == 1, ..change });
    }
    for k in [1isize, 2, 3, 4, 5, 6, 7, 8, -1, -2] {
        let (name, way) = if k > 0 { ("readout-late", "−") } else { ("readout-early", "+") };
        all.push(Change::new(Part::Delay, name, format!("what is read of the states at l is that of l {way} {}; skip and gate are in place", k.abs()), move |v: &mut Variant| v.delay = Delay::Readout(k)));
    }
    for k in 1..=8usize {
        all.push(Change::new(Part::Delay, "output-late", format!("the whole output of position l is that of l − {k}"), move |v: &mut Variant| v.delay = Delay::Output(k)));
    }
    all.push(Change::new(Part::Scan, "input-decayed", "Ā multiplies what its own position adds, too: x = Ā(x + B̄u)", |v| v.decays_input = true));
    let reverse = Change::new(Part::Scan, "direction-reverse", "the scan runs from the last position to the first", |v| v.reverse = true);
    all.push(Change { is_statement: true, ..reverse });
    let none = |v: &mut Variant| v.chunks = Some(Chunks { length: 1, carry: Carry::Times(0.0) });
    all.push(Change::new(Part::Carry, "state-not-carried", "no state is carried: every position starts from 0", none));
    const ONE: Transition = Transition::Polynomial(&[Fraction::ONE]);
    all.push(Change::new(Part::ABar, "a-bar-is-1", "Ā is 1: states never decay", |v| v.transition = Some(ONE)));
    all.extend(transitions());
    for (name, what, by) in [("a-bar-exponent-negated", "Ā is exp(−ΔA)", -1.0), ("a-bar-halved-exponent", "Ā is exp(ΔA/2)", 0.5)] {
        all.push(Change::new(Part::ABar, name, what, move |v: &mut Variant| v.exponent = (by, by)));
    }
    if problem.initial_state.is_some() {
        all.push(Change::new(Part::Other, "initial-state-ignored", "the scan starts from 0, not from initial_state", |v| v.initial = Initial::Ignored));
        all.push(Change::new(Part::Other, "initial-state-not-decayed", "initial_state enters without the first Ā", |v| v.initial = Initial::WithoutFirstDecay));
        if problem.weights == Weights::Complex {
            all.push(Change::new(Part::Other, "initial-state-conjugated", "initial_state is conjugated", |v| v.initial = Initial::Conjugated));
        }
    }
    for k in 1..=2usize {
        all.push(Change::new(Part::LastState, "last-state-early", format!("the last state is that before the last {k} position{}: only last_state shows it", if k == 1 { "" } else { "s" }), move |v: &mut Variant| v.last_state = LastState::Early(k)));
    }
    all.extend([2, 4, 8, 16, 32, 64].into_iter().filter(|length| *length < problem.shape.seqlen).flat_map(chunked));
    all
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
        ("a-bar-taylor-4", "Ā is the series of exp(ΔA) up to its fourth power", Transition::Polynomial(CUT_4)),
        ("a-bar-taylor-5", "Ā is the series of exp(ΔA) up to its fifth power", Transition::Polynomial(CUT_5)),
        ("a-bar-bilinear", "Ā is (1 − ΔA/2)⁻¹(1 + ΔA/2)", Transition::Quotient(Fraction::HALF)),
        ("a-bar-backward-euler", "Ā is (1 − ΔA)⁻¹", Transition::Quotient(Fraction::ONE)),
        ("a-bar-linear", "Ā is ΔA: exp is missing", Transition::Polynomial(&[Fraction(0, 1), Fraction::ONE])),
    ];
    all.into_iter()
        .map(|(name, what, kind)| Change::new(Part::ABar, name, what, move |v: &mut Variant| v.transition = Some(kind)))
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

/// What may happen to the state between chunks of this length.
pub fn chunked(length: usize) -> Vec<Change> {
    let nth = ordinal(length);
    let kinds = [
        ("chunk-state-forgotten", format!("the state is lost at every {nth} position: chunks of {length} start from 0"), Carry::Times(0.0)),
        ("chunk-state-doubled", format!("the carried state counts twice at every {nth} position"), Carry::Times(2.0)),
        ("chunk-state-halved", format!("the carried state counts half at every {nth} position"), Carry::Times(0.5)),
        ("chunk-state-negated", format!("the carried state changes its sign at every {nth} position"), Carry::Times(-1.0)),
        ("chunk-first-decay-missing", format!("the carried state skips Ā at every {nth} position"), Carry::WithoutFirstDecay),
        ("chunk-carry-not-decayed", format!("the state carried into a chunk of {length} is added to all of its positions without decaying"), Carry::WithoutDecay),
        ("chunk-carry-not-accumulated", format!("a chunk of {length} is given what the one before has added, and nothing from before that"), Carry::NotAccumulated),
        ("chunk-carry-accumulated-without-decay", format!("carried states are added up over chunks of {length} without the decay between"), Carry::AccumulatedWithoutDecay),
        ("chunk-carry-stale", format!("a chunk of {length} is given the state of one chunk too early"), Carry::Stale),
        ("chunk-carry-in-first-position-only", format!("the carried state reaches the first position of each chunk of {length} only"), Carry::FirstPositionOnly),
    ];
    kinds
        .into_iter()
        .map(|(name, what, carry)| {
            Change::new(Part::Carry, name, what, move |v: &mut Variant| v.chunks = Some(Chunks { length, carry }))
        })
        .collect()
}

/// u as it is used.
fn inputs_as_used(problem: &Problem) -> Vec<Change> {
    let mut all = Vec::new();
    let uses = [
        ("silu", "goes through silu", UUse::Silu),
        ("gated", "is gated", UUse::Gated),
        ("missing", "is missing", UUse::One),
        ("squared", "is squared", UUse::Squared),
        ("times-delta", "is multiplied by Δ once more", UUse::TimesDelta),
        ("late", "is that of l − 1", UUse::At(-1)),
        ("early", "is that of l + 1", UUse::At(1)),
    ];
    for (name, what, of) in uses {
        if of == UUse::Gated && problem.z.is_none() {
            continue;
        }
        if of != UUse::TimesDelta {
            let what = format!("u {what} on its way into the scan{}", if problem.d.is_some() { ", not in the skip" } else { "" });
            all.push(Change::new(Part::UValue, format!("u-{name}"), what, move |v: &mut Variant| v.u_use[0] = of));
        }
        if problem.d.is_some() {
            let what_of_skip = format!("u {what} in the skip, not in the scan");
            all.push(Change::new(Part::UValue, format!("u-{name}-in-skip"), what_of_skip, move |v: &mut Variant| v.u_use[1] = of));
            if !matches!(of, UUse::At(_) | UUse::TimesDelta) {
                let what = format!("u {what}, in scan and skip");
                all.push(Change::new(Part::UValue, format!("u-{name}-in-both"), what, move |v: &mut Variant| v.u_use = [of; 2]));
            }
        }
    }
    all
}

/// Each input along each of its axes.
fn places(problem: &Problem) -> Vec<Change> {
    let shape = problem.shape;
    let (variable_b, variable_c) = (problem.b_operand == Operand::Variable, problem.c_operand == Operand::Variable);
    // Name, the inputs that are read together, and which axes they have: batch, channel, state, position.
    let inputs: [(&str, &'static [Input], [bool; 4]); 11] = [
        ("u", &[Input::U], [true, true, false, true]),
        ("delta", &[Input::Delta], [true, true, false, true]),
        ("z", &[Input::Z], [problem.z.is_some(), problem.z.is_some(), false, problem.z.is_some()]),
        ("a", &[Input::A], [false, true, true, false]),
        ("b", &[Input::B], [variable_b, !variable_b, true, variable_b]),
        ("c", &[Input::C], [variable_c, !variable_c, true, variable_c]),
        ("d", &[Input::D], [false, problem.d.is_some(), false, false]),
        ("bias", &[Input::Bias], [false, problem.delta_bias.is_some(), false, false]),
        ("b-and-c", &[Input::B, Input::C], [variable_b && variable_c, false, true, variable_b && variable_c]),
        ("a-d-and-bias", &[Input::A, Input::D, Input::Bias], [false, problem.d.is_some() || problem.delta_bias.is_some(), false, false]),
        ("every-input", &[Input::U, Input::Delta, Input::Z, Input::B, Input::C], [variable_b || variable_c, false, false, true]),
    ];
    let written = |name: &str| match name {
        "u" | "z" => name.to_owned(),
        "a" | "b" | "c" | "d" => name.to_uppercase(),
        "bias" => "delta_bias".to_owned(),
        "b-and-c" => "B and C".to_owned(),
        "a-d-and-bias" => "A, D and delta_bias".to_owned(),
        "every-input" => "every input".to_owned(),
        other => other.to_owned(),
    };
    let mut all = Vec::new();
    for (name, inputs, has) in inputs {
        let axes: [(&str, usize, fn(&mut Place) -> &mut Map); 4] = [
            ("batch", shape.batch, |p| &mut p.batch),
            ("channel", shape.dim, |p| &mut p.channel),
            ("state", shape.dstate, |p| &mut p.state),
            ("position", shape.seqlen, |p| &mut p.l),
        ];
        for (axis, n, of) in axes.into_iter().zip(has).filter(|(axis, has)| *has && axis.1 > 1).map(|(axis, _)| axis) {
            let mut maps = vec![
                (format!("{name}-of-first-{axis}"), format!("is that of {axis} 0 for all"), Map::At(0)),
                (format!("{name}-{axis}s-reversed"), format!("is read from the last {axis} to the first"), Map::Reversed),
            ];
            for by in [1isize, -1, 2, -2] {
                let sign = if by > 0 { "+" } else { "−" };
                let what = format!("of {axis} i is that of i {sign} {}", by.abs());
                maps.push((format!("{name}-{axis}-off-by-{}", by.abs()), format!("{what}, around the end"), Map::Rolled(by)));
                if axis == "position" {
                    maps.push((format!("{name}-{axis}-off-by-{}", by.abs()), format!("{what}, 0 beyond the ends"), Map::Shifted(by)));
                }
            }
            if axis == "channel" {
                maps.push((format!("{name}-of-last-{axis}"), format!("is that of the last {axis} for all"), Map::At(n - 1)));
                maps.extend((2..n.min(9)).map(|k| (format!("{name}-{axis}-modulo"), format!("of {axis} i is that of i % {k}"), Map::Modulo(k))));
                maps.extend((2..n.min(9)).map(|k| (format!("{name}-{axis}-divided"), format!("of {axis} i is that of i / {k}"), Map::Divided(k))));
            }
            for (name, what, map) in maps {
                let part = Part::Place(inputs[0] as usize);
                let what = format!("{} {what}", written(&name_of(inputs)));
                all.push(Change::new(part, name, what, move |v: &mut Variant| {
                    inputs.iter().for_each(|&input| *of(&mut v.places[input as usize]) = map);
                }));
            }
        }
        let transposes = matches!(name, "u" | "delta" | "z" | "a") && has[1] && (name == "a" && shape.dstate > 1 || shape.seqlen > 1);
        if transposes {
            let part = Part::Place(inputs[0] as usize);
            let what = format!("{} is read along the wrong axis", written(name));
            all.push(Change::new(part, format!("{name}-transposed"), what, move |v: &mut Variant| v.places[inputs[0] as usize].transposed = true));
        }
    }
    if shape.groups > 1 && (variable_b || variable_c) {
        for group in 0..shape.groups {
            let what = format!("every channel reads group {group}");
            all.push(Change::new(Part::Group, "group-for-all", what, move |v: &mut Variant| v.group = Group::At(group)));
        }
        for by in 1..shape.groups {
            let what = format!("a channel of group g reads group g + {by}, around the end");
            all.push(Change::new(Part::Group, "group-off", what, move |v: &mut Variant| v.group = Group::Rolled(by)));
        }
    }
    all
}

fn name_of(inputs: &[Input]) -> String {
    match inputs {
        [Input::U] => "u",
        [Input::Delta] => "delta",
        [Input::Z] => "z",
        [Input::A] => "a",
        [Input::B] => "b",
        [Input::C] => "c",
        [Input::D] => "d",
        [Input::Bias] => "bias",
        [Input::B, ..] => "b-and-c",
        [Input::A, ..] => "a-d-and-bias",
        _ => "every-input",
    }
    .to_owned()
}

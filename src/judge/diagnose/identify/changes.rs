//! What may be otherwise around the formula, one change at a time: by structure (each input along each of its axes, each
//! step of Δ, gate and scan), not by a list of known bugs.

use std::sync::Arc;

use super::{places, scans};
use crate::formula::Form;
use crate::judge::faults::Fault;
use crate::judge::faults::around::{AUse, Activation, Stage, StepSize};
use crate::judge::faults::catalogue::Entry;
use crate::judge::faults::place::{Input, Map};
use crate::judge::faults::variant::{BUse, Power, Variant};
use crate::problem::{InputType, Problem, Weights};

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
pub fn all(problem: &Problem, form: Form) -> Vec<Change> {
    let mut all = steps(problem);
    all.extend(weights(problem));
    all.extend(scans::all(problem, form));
    all.extend(places::inputs_as_used(problem));
    all.extend(places::all(problem));
    all.extend(roundings());
    all
}

/// What is rounded to 16 bits on its way.
fn roundings() -> Vec<Change> {
    let stages = [
        (Stage::U, Part::UValue, "u", "u of the scan"),
        (Stage::Delta, Part::Step, "delta", "Δ, after bias and softplus,"),
        (Stage::A, Part::AValue, "a", "A"),
        (Stage::B, Part::BValue, "b", "B"),
        (Stage::C, Part::CValue, "c", "C"),
        (Stage::ABar, Part::ABar, "a-bar", "Ā"),
        (Stage::DrivenB, Part::BBar, "b-times-u", "B u, which Δ multiplies afterwards,"),
        (Stage::BBar, Part::BBar, "b-bar", "B̄"),
        (Stage::Input, Part::BBar, "input", "what enters the states, B̄u,"),
        (Stage::Sum, Part::Readout, "readout", "what is read of the states, before skip and gate,"),
    ];
    let types = [(InputType::Bf16, "bf16"), (InputType::F16, "f16")];
    let all = stages.into_iter().flat_map(|stage| types.map(|to| (stage, to)));
    all.map(|((stage, part, name, written), (to, short))| {
        let what = format!("{written} is rounded to {short}");
        Change::new(part, format!("{name}-in-{short}"), what, move |v: &mut Variant| {
            v.stages[stage as usize] = to
        })
    })
    .collect()
}

/// Which channels these rows are, in words.
pub fn some_channels(problem: &Problem, rows: &[usize]) -> String {
    let all: Vec<(usize, usize)> = rows.iter().map(|&row| problem.judged_channels[row]).collect();
    let of = |axis: fn(&(usize, usize)) -> usize, of: &[(usize, usize)]| -> Vec<usize> {
        let mut chosen: Vec<usize> = of.iter().map(axis).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    };
    let judged = &problem.judged_channels;
    let (batches, channels) = (of(|c| c.0, &all), of(|c| c.1, &all));
    let (of_batches, of_channels) = (of(|c| c.0, judged), of(|c| c.1, judged));
    let within = |one: &(usize, usize)| batches.contains(&one.0) && channels.contains(&one.1);
    if judged.iter().filter(|one| within(one)).count() > all.len() {
        return format!("{} of {} channels", all.len(), judged.len());
    }
    let list = |name: &str, plural: &str, chosen: &[usize], of: &[usize]| {
        let is_all = |test: &dyn Fn(usize) -> bool| of.iter().all(|i| test(*i) == chosen.contains(i));
        let (first, last) = (chosen[0], chosen[chosen.len() - 1]);
        match () {
            () if chosen.len() == 1 => format!("{name} {first}"),
            () if is_all(&|i| i % 2 == 1) => format!("odd {plural}"),
            () if is_all(&|i| i % 2 == 0) => format!("even {plural}"),
            () if is_all(&|i| i >= first) => format!("{plural} from {first} on"),
            () if is_all(&|i| i <= last) => format!("{plural} up to {last}"),
            () => {
                let numbers: Vec<String> = chosen.iter().map(usize::to_string).collect();
                format!("{plural} {}", numbers.join(", "))
            }
        }
    };
    let mut said = Vec::new();
    if channels.len() < of_channels.len() {
        said.push(list("channel", "channels", &channels, &of_channels));
    }
    if batches.len() < of_batches.len() {
        said.push(list("batch", "batches", &batches, &of_batches));
    }
    said.join(" of ")
}

/// Ā and B̄, each of which takes a Δ.
const BOTH: &[usize] = &[0, 1];

/// One of them, where the other one is as specified: with the ending of its names.
const APART: [(&str, &str, &str, &[usize]); 2] = [("B̄", "Ā", "in-b-bar", &[1]), ("Ā", "B̄", "in-a-bar", &[0])];

fn steps(problem: &Problem) -> Vec<Change> {
    let mut all = Vec::new();
    let mut add = |part, name: &str, what: &str, change: fn(&mut StepSize), which: &'static [usize]| {
        all.push(Change::new(part, name, what, move |v: &mut Variant| {
            which.iter().for_each(|&i| change(&mut v.step_sizes[i]));
        }));
    };
    if problem.delta_bias.is_some() {
        let part = Part::StepOrder;
        add(part, "bias-twice", "delta_bias is added twice", |s| s.before = 2.0, BOTH);
        add(part, "bias-negated", "delta_bias is subtracted", |s| s.before = -1.0, BOTH);
        for (one, other, ending, which) in APART {
            let what = format!("Δ of {one} lacks delta_bias, that of {other} has it");
            add(part, &format!("bias-missing-{ending}"), &what, |s| s.before = 0.0, which);
        }
        if problem.delta_softplus {
            let what = "delta_bias is added before softplus and again after it";
            add(part, "bias-before-and-after-softplus", what, |s| s.after = 1.0, BOTH);
            for (one, other, ending, which) in APART {
                let what = format!("delta_bias is added after softplus in {one}, before it in {other}");
                let name = format!("bias-after-softplus-{ending}");
                add(part, &name, &what, |s| (s.before, s.after) = (0.0, 1.0), which);
            }
        }
    }
    let part = Part::Step;
    if problem.delta_softplus {
        let what = "softplus is log(1 + eˣ) as it is written, which is infinite for x above 88.7";
        add(part, "softplus-overflows", what, |s| s.activation = Activation::Naive, BOTH);
        add(part, "softplus-twice", "softplus is applied twice", |s| s.again = true, BOTH);
        for (one, other, ending, which) in APART {
            let what = format!("{one} takes Δ before softplus, {other} after it");
            let name = format!("softplus-missing-{ending}");
            add(part, &name, &what, |s| s.activation = Activation::None, which);
        }
        for (one, other, ending, which) in APART {
            let what = format!("softplus is applied twice in {one}, once in {other}");
            add(part, &format!("softplus-twice-{ending}"), &what, |s| s.again = true, which);
        }
        for (one, _, ending, which) in APART {
            let what = format!("{one} takes delta as it is, without bias and softplus");
            let raw: fn(&mut StepSize) = |s| (s.before, s.activation) = (0.0, Activation::None);
            add(part, &format!("raw-delta-{ending}"), &what, raw, which);
        }
        let what = "softplus is log₂(1 + eˣ), without the factor ln 2";
        add(part, "softplus-in-log-2", what, |s| s.factor = std::f64::consts::LOG2_E, BOTH);
        let base_2: fn(&mut StepSize) =
            |s| s.activation = Activation::Softplus { beta: std::f64::consts::LN_2, above: f64::INFINITY };
        add(part, "softplus-base-2", "softplus is log₂(1 + 2ˣ)", base_2, BOTH);
    } else {
        let what = "softplus is applied, which is not stated (the metadata delta_softplus = true states it)";
        add(part, "softplus-not-stated", what, |s| s.activation = Activation::SOFTPLUS, BOTH);
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
        let name =
            if problem.delta_softplus { format!("{name}-for-softplus") } else { format!("{name}-of-delta") };
        all.push(Change::new(Part::Step, name, format!("{what} {place}"), move |v: &mut Variant| {
            v.step_sizes.iter_mut().for_each(|s| s.activation = activation);
        }));
    }
    for (by, of) in [(-1, "l − 1"), (1, "l + 1")] {
        let off = if by < 0 { "late" } else { "early" };
        let mut shifted = |name: &str, what: String, which: &'static [usize]| {
            for (end, map) in [
                ("0", Map::Shifted(by)),
                ("the last one", Map::Held(by)),
                ("those of the other end", Map::Rolled(by)),
            ] {
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
        all.push(Change::new(Part::AValue, name, what, move |v: &mut Variant| v.a_use = [of; 2]));
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
        let what = "Re A is −exp(Re A): the real part, which is given, is taken for its logarithm";
        a("a-real-part-exponentiated", what, AUse::ExponentialOfRealPart);
        let what = "Re A is log(−Re A): the logarithm of the real part is used as it is, without −exp";
        a("a-log-of-real-part", what, AUse::LogarithmOfRealPart);
        let parts = [(0, "decay", "real"), (1, "angle", "imaginary")];
        let powers = [(Power::Missing, "missing", "lacks its Δ"), (Power::Squared, "squared", "has Δ²")];
        for (part, name, written) in parts {
            for (power, of, what) in powers {
                let what = format!("the {written} part of Ā's exponent {what}; the other one is right");
                all.push(Change::new(
                    Part::ABar,
                    format!("a-bar-{name}-delta-{of}"),
                    what,
                    move |v: &mut Variant| {
                        v.a_bar_delta_parts[part] = power;
                    },
                ));
            }
        }
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
            all.push(Change::new(
                Part::BValue,
                format!("b-{name}"),
                format!("B {what}"),
                move |v: &mut Variant| v.b_use = of,
            ));
        }
        all.push(Change::new(
            Part::CValue,
            format!("c-{name}"),
            format!("C {what}"),
            move |v: &mut Variant| v.c_use = of,
        ));
    }
    if problem.b_operand == problem.c_operand {
        let exchanged = |v: &mut Variant| (v.b_use, v.c_use) = (BUse::Exchanged, BUse::Exchanged);
        let both =
            Change::new(Part::BValue, "b-and-c-exchanged", "B and C are in each other's place", exchanged);
        all.push(Change { is_statement: true, ..both });
        all.push(Change::new(Part::BValue, "c-for-b", "C is read in place of B", |v| {
            v.b_use = BUse::Exchanged
        }));
        all.push(Change::new(Part::CValue, "b-for-c", "B is read in place of C", |v| {
            v.c_use = BUse::Exchanged
        }));
    }
    all
}

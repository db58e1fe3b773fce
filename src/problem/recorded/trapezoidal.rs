//! Recorded runs of Mamba-3's rule (spec.md §7): the tensors of [`crate::problem::trapezoidal`] by their names, in layout `blhp`.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use super::layout::{misshapen, missing_of, mistyped, size};
use super::metadata::{STATEMENTS, check_keys, is_statement, softplus, stages};
use super::names::{CU_SEQLENS, own_name};
use super::packing::{sequences, starts};
use super::shapes::{Axis, fits, shape_of, turned};
use super::{RecordError, Result};
use crate::formula::Textbook;
use crate::problem::conventions::LAYOUT;
use crate::problem::trapezoidal::{Cotangents, Input, Output, Sizes, Trapezoidal, Values};
use crate::problem::{InputType, Order, Shape, Stages};
use crate::tensor::Named;
use crate::tensor_file::{Stored, TensorFile, TensorInfo, shape_text, shown};

/// Names of Mamba-3's own kernels.
const TAKEN: [(&str, Input); 10] = [
    ("Q", Input::C),
    ("K", Input::B),
    ("V", Input::U),
    ("DT", Input::Delta),
    ("Trap", Input::Trap),
    ("Q_bias", Input::CBias),
    ("K_bias", Input::BBias),
    ("Angles", Input::Angles),
    ("Z", Input::Z),
    ("initial_x", Input::InitialU),
];

/// The rule's name in a file, beside that of the textbook form.
const RULE: &str = "trapezoidal";

/// What such a run needs.
const NEEDED: &str = "u, delta, A or ADT, lambda or trap, B and C";

/// Metadata that such a run may have.
const STATED: [&str; 4] = [LAYOUT, "delta_softplus", "arithmetic", "scan"];

/// A run: inputs, and by their labels what was computed of them.
#[derive(Clone, Debug)]
pub struct TrapezoidalRun {
    pub problem: Trapezoidal,
    pub stages: Stages,
    pub outputs: BTreeMap<String, Named<Values, Output>>,
    /// What backward passes start from.
    pub given: Cotangents,
    pub passes: BTreeMap<String, Named<Values, Input>>,
    /// What the file says of itself.
    pub provenance: BTreeMap<String, String>,
}

/// What a tensor of a file is.
enum Kind {
    Input(Input),
    Given(Output),
    Output(Output, String),
    Gradient(Input, String),
}

/// The label behind the rule's name; empty where there is none.
fn label(rest: &str) -> Option<String> {
    let (form, label) = rest.split_once('.').unwrap_or((rest, ""));
    let is_rule = form == RULE || form == Textbook::ExpTrapezoidal.name();
    (is_rule && shown(label) == label).then(|| label.to_owned())
}

fn input(name: &str) -> Option<Input> {
    let taken = TAKEN.iter().find(|(taken, _)| *taken == name).map(|(_, input)| *input);
    taken.or_else(|| name.parse().ok())
}

fn kind(name: &str) -> Option<Kind> {
    let own = own_name(name).unwrap_or_else(|| name.to_owned());
    if let Some(input) = input(&own) {
        return Some(Kind::Input(input));
    }
    if let Some(given) = Output::ALL.into_iter().find(|output| output.cotangent() == own) {
        return Some(Kind::Given(given));
    }
    let (first, rest) = own.split_once('.')?;
    match first {
        "grad" => {
            let (of, rest) = rest.split_once('.')?;
            Some(Kind::Gradient(input(of)?, label(rest)?))
        }
        output => Some(Kind::Output(output.parse().ok()?, label(rest)?)),
    }
}

/// Whether a file is of such a run: it has tensors that no other has.
pub(super) fn is_of_rule<R>(file: &TensorFile<R>) -> bool {
    let only = |input: Input| {
        use Input::{Adt, Angles, BBias, CBias, InitialAngle, InitialB, InitialU, Lambda, Trap};
        matches!(input, Adt | Lambda | Trap | BBias | CBias | Angles | InitialAngle | InitialB | InitialU)
    };
    file.names().any(|name| match kind(name) {
        Some(Kind::Input(input)) => only(input),
        Some(Kind::Output(..)) => name.split('.').nth(1) == Some(RULE),
        Some(Kind::Gradient(..)) => name.split('.').nth(2) == Some(RULE),
        _ => false,
    })
}

fn missing<R>(file: &TensorFile<R>, name: &str, hint: &'static str) -> RecordError {
    missing_of(NEEDED, file, name, hint)
}

fn required<'f, R>(file: &'f TensorFile<R>, name: &str) -> Result<&'f TensorInfo> {
    file.info(name).ok_or_else(|| missing(file, name, "spec.md §7 lists the names of Mamba-3's rule"))
}

/// A letter as a shape has it.
fn letter(letter: char) -> &'static str {
    match letter {
        'b' => "b",
        'l' => "l",
        'h' => "h",
        'p' => "p",
        'g' => "g",
        'n' => "n",
        'k' => "k",
        _ => "s",
    }
}

fn axes(letters: &'static str, sizes: Sizes) -> Vec<Axis> {
    letters.chars().map(|of| (letter(of), sizes.of(of))).collect()
}

const SHAPES: &str = "spec.md §7 lists the shapes, in layout `blhp`";

/// A file, and its tensors by what they are.
struct Reader<'f, R> {
    file: &'f TensorFile<R>,
    sizes: Sizes,
    /// Where the last sequence ends: what is behind it is not read.
    end: usize,
}

impl<R: Read + Seek> Reader<'_, R> {
    /// The numbers of a tensor with these axes.
    fn values(&self, name: &str, letters: &'static str, is_finite: bool) -> Result<Values> {
        let info = required(self.file, name)?;
        let expected = axes(letters, self.sizes);
        if !fits(info, &expected) {
            let hint = turned(info, &expected, Order::Blhp).unwrap_or_else(|| SHAPES.to_owned());
            return Err(misshapen(name, info, shape_of(&expected), hint));
        }
        let stored = match info.stored {
            Stored::F32 => InputType::F32,
            Stored::F16 => InputType::F16,
            Stored::Bf16 => InputType::Bf16,
            _ => {
                let hint = "numbers of this rule are real, of 32 or 16 bits";
                return Err(mistyped(name, info, "F32, F16 or BF16".to_owned(), hint));
            }
        };
        let values = self.file.floats(name, 0..info.len)?.unwrap_or_default();
        let is_read = |at: usize| {
            let of_position = letters.find('l').map(|axis| place(info, at)[axis]);
            of_position.is_none_or(|position| position < self.end)
        };
        let wrong = |&at: &usize| !values[at].is_finite() && is_read(at);
        if let Some(at) = (0..values.len()).filter(|_| is_finite).find(wrong) {
            let index = shape_text(&place(info, at));
            return Err(RecordError::NotFinite { name: info.called(name), index, value: values[at] });
        }
        Ok(Values { stored, values })
    }
}

/// Checks that a tensor is not there under another name already.
fn once(is_there: bool, name: &str, other: &str) -> Result<()> {
    match is_there {
        false => Ok(()),
        true => Err(RecordError::Twice { name: shown(name), other: shown(other) }),
    }
}

fn place(info: &TensorInfo, mut at: usize) -> Vec<usize> {
    let mut index: Vec<usize> = info.shape.iter().rev().map(|size| (at % size, at /= size).0).collect();
    index.reverse();
    index
}

impl TrapezoidalRun {
    /// All of a file.
    ///
    /// # Errors
    /// [`RecordError`], naming the tensor that is wrong.
    pub fn read<R: Read + Seek>(file: &TensorFile<R>) -> Result<Self> {
        check_keys(file.metadata().keys().map(String::as_str))?;
        for key in STATEMENTS.into_iter().filter(|key| !STATED.contains(key)) {
            if let Some(found) = file.metadata().get(key) {
                let expected = "no such statement in a run of Mamba-3's rule";
                return Err(RecordError::Metadata { key, found: shown(found), expected });
            }
        }
        if let Some(found) = file.metadata().get(LAYOUT).filter(|layout| *layout != Order::Blhp.name()) {
            return Err(RecordError::Metadata {
                key: LAYOUT,
                found: shown(found),
                expected: "blhp, or none",
            });
        }
        let mut kinds = Vec::new();
        for name in file.names().filter(|name| *name != CU_SEQLENS) {
            let unknown = || RecordError::Unknown {
                name: shown(name),
                expected: format!(
                    "{}, {}",
                    Input::ALL.map(Input::name).join(", "),
                    Output::ALL.map(|output| format!("{output}.trapezoidal")).join(", ")
                ),
                hint: "spec.md §7 lists the tensors of Mamba-3's rule; its method is `trapezoidal`"
                    .to_owned(),
            };
            kinds.push((name.to_owned(), kind(name).ok_or_else(unknown)?));
        }
        let named = |wanted: Input| {
            let is = |(_, kind): &&(String, Kind)| matches!(kind, Kind::Input(input) if *input == wanted);
            kinds.iter().find(is).map(|(name, _)| name.as_str())
        };
        let mut reader = Reader { file, sizes: sizes(file, &named)?, end: 0 };
        if let Some(info) = file.info(CU_SEQLENS) {
            sequences(info, reader.sizes.b)?;
        }
        let sequences = match file.integers(CU_SEQLENS)? {
            Some(ends) => {
                let starts = starts(&ends, reader.sizes.l)?;
                starts.windows(2).map(|ends| (0, ends[0]..ends[1])).collect()
            }
            None => (0..reader.sizes.b).map(|item| (item, 0..reader.sizes.l)).collect::<Vec<_>>(),
        };
        reader.sizes.s = sequences.len();
        reader.end = sequences.last().map_or(0, |(_, positions)| positions.end);
        for input in [Input::U, Input::Delta, Input::B, Input::C] {
            required(file, named(input).unwrap_or(input.name()))?;
        }
        for (one, other) in [(Input::A, Input::Adt), (Input::Lambda, Input::Trap)] {
            match (named(one), named(other)) {
                (Some(name), Some(other)) => {
                    return Err(RecordError::Twice { name: name.to_owned(), other: other.to_owned() });
                }
                (None, None) => {
                    return Err(missing(
                        file,
                        one.name(),
                        "ADT has ΔA in place of A, and trap λ before a sigmoid",
                    ));
                }
                _ => {}
            }
        }
        if named(Input::InitialB).is_some() != named(Input::InitialU).is_some() {
            let absent = if named(Input::InitialB).is_some() { Input::InitialU } else { Input::InitialB };
            return Err(missing(file, absent.name(), "initial_B and initial_u make one product"));
        }
        let (mut inputs, mut given) = (Named::default(), Cotangents::default());
        let mut outputs: BTreeMap<String, Named<Values, Output>> = BTreeMap::new();
        let mut passes: BTreeMap<String, Named<Values, Input>> = BTreeMap::new();
        for (name, kind) in &kinds {
            match kind {
                Kind::Input(input) => {
                    once(inputs.get(*input).is_some(), name, named(*input).unwrap_or(input.name()))?;
                    inputs.insert(*input, reader.values(name, input.axes(), true)?);
                }
                Kind::Given(output) => {
                    once(given.get(*output).is_some(), name, &output.cotangent())?;
                    given.insert(*output, reader.values(name, output.axes(), true)?.values);
                }
                Kind::Output(output, label) => {
                    let (values, own) = (
                        reader.values(name, output.axes(), false)?,
                        outputs.entry(label.clone()).or_default(),
                    );
                    once(own.get(*output).is_some(), name, output.name())?;
                    own.insert(*output, values);
                }
                Kind::Gradient(input, label) => {
                    if named(*input).is_none() {
                        return Err(missing(
                            file,
                            input.name(),
                            "a gradient belongs to an input of the file",
                        ));
                    }
                    let (values, own) =
                        (reader.values(name, input.axes(), false)?, passes.entry(label.clone()).or_default());
                    once(own.get(*input).is_some(), name, &format!("grad.{input}"))?;
                    own.insert(*input, values);
                }
            }
        }
        if outputs.is_empty() && passes.is_empty() {
            return Err(RecordError::NoOutput);
        }
        if !passes.is_empty() && given.is_empty() {
            return Err(missing(file, &Output::Out.cotangent(), "a gradient needs what it starts from"));
        }
        let mut provenance = file.metadata().clone();
        provenance.retain(|key, _| !is_statement(key));
        let problem = Trapezoidal { sizes: reader.sizes, inputs, delta_softplus: softplus(file)?, sequences };
        Ok(TrapezoidalRun { problem, stages: stages(file)?, outputs, given, passes, provenance })
    }
}

/// Sizes, as u, B and angles have them.
fn sizes<'n, R>(file: &TensorFile<R>, named: &dyn Fn(Input) -> Option<&'n str>) -> Result<Sizes> {
    let info = |input: Input| required(file, named(input).unwrap_or(input.name()));
    let of = |input: Input| {
        let info = info(input)?;
        let shape: [usize; 4] = info.shape[..].try_into().map_err(|_| {
            misshapen(input.name(), info, shape_of(&axes(input.axes(), Sizes::default())), SHAPES)
        })?;
        match info.shape.iter().position(|&size| size == 0) {
            Some(at) => {
                let what = letter(input.axes().chars().nth(at).unwrap_or('s'));
                let hint = "an empty run has nothing to judge";
                Err(size(input.name(), what, 0, "at least 1".to_owned(), hint))
            }
            None => Ok(shape),
        }
    };
    let [b, l, h, p] = of(Input::U)?;
    let [_, _, g, n] = of(Input::B)?;
    let k = if named(Input::Angles).is_some() { of(Input::Angles)?[3] } else { 0 };
    if !h.is_multiple_of(g) {
        let hint = "each group serves as many heads";
        return Err(size("B", "groups", g, format!("a divisor of the {h} heads"), hint));
    }
    if 2 * k > n {
        let hint = "each angle turns two states";
        return Err(size("angles", "angles", k, format!("at most half of the {n} states"), hint));
    }
    if n > Shape::MAX_DSTATE {
        let expected = format!("at most {}", Shape::MAX_DSTATE);
        return Err(size("B", "dstate", n, expected, "spec.md §3 limits the state size"));
    }
    Ok(Sizes { b, l, h, p, g, n, k, s: b })
}

//! Recorded runs of Mamba-3's rule (spec.md §7): the tensors of [`crate::problem::trapezoidal`] by their names, in layout `blhp`.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use super::layout::{FLOATS, empty, misshapen, missing_of, mistyped, size, weight_type};
use super::metadata::{check_statements, provenance, softplus, stages};
use super::names::{self, CU_SEQLENS};
use super::packing::{sequences, starts};
use super::shapes::{Axis, check_axes, shape_of};
use super::{RecordError, Result, renamed};
use crate::formula::Textbook;
use crate::problem::conventions::LAYOUT;
use crate::problem::trapezoidal::{Cotangents, Input, Output, Sizes, Trapezoidal, Values};
use crate::problem::{Order, Shape, Stages};
use crate::tensor::{Named, unravel};
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

/// The name that a tensor has here, which may be another one in other code.
fn own_name(name: &str) -> String {
    let name = names::own_name(name).unwrap_or_else(|| name.to_owned());
    let mut parts: Vec<&str> = name.split('.').collect();
    let first = usize::from(parts[0] == "grad" && parts.len() > 1);
    if let Some((_, input)) = TAKEN.iter().find(|(taken, _)| *taken == parts[first]) {
        parts[first] = input.name();
    }
    if parts.get(first + 1) == Some(&Textbook::ExpTrapezoidal.name()) {
        parts[first + 1] = RULE;
    }
    parts.join(".")
}

/// What a tensor is, by its name here.
fn kind(name: &str) -> Option<Kind> {
    if let Ok(input) = name.parse() {
        return Some(Kind::Input(input));
    }
    if let Some(given) = Output::ALL.into_iter().find(|output| output.cotangent() == name) {
        return Some(Kind::Given(given));
    }
    let (tensor, rest) = match name.strip_prefix("grad.") {
        Some(gradient) => gradient.split_once('.')?,
        None => name.split_once('.')?,
    };
    let (form, label) = rest.split_once('.').unwrap_or((rest, ""));
    let label = (form == RULE && shown(label) == label).then(|| label.to_owned())?;
    match name.starts_with("grad.") {
        true => Some(Kind::Gradient(tensor.parse().ok()?, label)),
        false => Some(Kind::Output(tensor.parse().ok()?, label)),
    }
}

/// Whether a file is of such a run: it has tensors that no other has.
pub(super) fn is_of_rule<R>(file: &TensorFile<R>) -> bool {
    let only = |input: Input| {
        use Input::{Adt, Angles, BBias, CBias, InitialAngle, InitialB, InitialU, Lambda, Trap};
        matches!(input, Adt | Lambda | Trap | BBias | CBias | Angles | InitialAngle | InitialB | InitialU)
    };
    file.names().any(|name| match kind(&own_name(name)) {
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

fn axes(letters: &'static str, sizes: Sizes) -> Vec<Axis> {
    letters.char_indices().map(|(at, letter)| (&letters[at..=at], sizes.of(letter))).collect()
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
        check_axes(name, info, &axes(letters, self.sizes), (Order::Blhp, SHAPES))?;
        let stored = match info.stored {
            Stored::C64 => Err(mistyped(name, info, FLOATS.to_owned(), "numbers of this rule are real")),
            _ => weight_type(name, info),
        }?;
        let values = self.file.floats(name, 0..info.len)?.unwrap_or_default();
        let is_read = |at: usize| {
            let of_position = letters.find('l').map(|axis| unravel(&info.shape, at)[axis]);
            of_position.is_none_or(|position| position < self.end)
        };
        let wrong = |&at: &usize| !values[at].is_finite() && is_read(at);
        if let Some(at) = (0..values.len()).filter(|_| is_finite).find(wrong) {
            let index = shape_text(&unravel(&info.shape, at));
            return Err(RecordError::NotFinite { name: info.called(name), index, value: values[at] });
        }
        Ok(Values { stored, values })
    }
}

impl TrapezoidalRun {
    /// All of a file.
    ///
    /// # Errors
    /// [`RecordError`], naming the tensor that is wrong.
    pub fn read<R: Read + Seek>(file: TensorFile<R>) -> Result<Self> {
        let file = renamed(file, |name| Some(own_name(name)))?;
        check_statements(&file, &STATED, "no such statement in a run of Mamba-3's rule")?;
        if let Some(found) = file.metadata().get(LAYOUT).filter(|layout| *layout != Order::Blhp.name()) {
            let (key, found, expected) = (LAYOUT, shown(found), "blhp, or none");
            return Err(RecordError::Metadata { key, found, expected });
        }
        let unknown = |name: &str| RecordError::Unknown {
            name: file.info(name).map_or_else(|| shown(name), |info| shown(&info.name)),
            expected: format!(
                "{}, {}",
                Input::ALL.map(Input::name).join(", "),
                Output::ALL.map(|output| format!("{output}.trapezoidal")).join(", ")
            ),
            hint: "spec.md §7 lists the tensors of Mamba-3's rule; its method is `trapezoidal`".to_owned(),
        };
        let known = |name| Ok((name, kind(name).ok_or_else(|| unknown(name))?));
        let kinds: Vec<(&str, Kind)> =
            file.names().filter(|name| *name != CU_SEQLENS).map(known).collect::<Result<_>>()?;
        let has = |input: Input| file.info(input.name()).is_some();
        let mut reader = Reader { file: &file, sizes: sizes(&file)?, end: 0 };
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
            required(&file, input.name())?;
        }
        for (one, other) in [(Input::A, Input::Adt), (Input::Lambda, Input::Trap)] {
            match (has(one), has(other)) {
                (true, true) => {
                    let [name, other] = [one, other].map(|input| input.name().to_owned());
                    return Err(RecordError::Twice { name, other });
                }
                (false, false) => {
                    let hint = "ADT has ΔA in place of A, and trap λ before a sigmoid";
                    return Err(missing(&file, one.name(), hint));
                }
                _ => {}
            }
        }
        for (one, other) in [(Input::InitialB, Input::InitialU), (Input::InitialU, Input::InitialB)] {
            if has(one) && !has(other) {
                let hint = "initial_B and initial_u make one product";
                return Err(missing(&file, other.name(), hint));
            }
        }
        let (mut inputs, mut given) = (Named::default(), Cotangents::default());
        let mut outputs: BTreeMap<String, Named<Values, Output>> = BTreeMap::new();
        let mut passes: BTreeMap<String, Named<Values, Input>> = BTreeMap::new();
        for (name, kind) in kinds {
            match kind {
                Kind::Input(input) => inputs.insert(input, reader.values(name, input.axes(), true)?),
                Kind::Given(output) => {
                    given.insert(output, reader.values(name, output.axes(), true)?.values);
                }
                Kind::Output(output, label) => {
                    let values = reader.values(name, output.axes(), false)?;
                    outputs.entry(label).or_default().insert(output, values);
                }
                Kind::Gradient(input, _) if !has(input) => {
                    let hint = "a gradient belongs to an input of the file";
                    return Err(missing(&file, input.name(), hint));
                }
                Kind::Gradient(input, label) => {
                    let values = reader.values(name, input.axes(), false)?;
                    passes.entry(label).or_default().insert(input, values);
                }
            }
        }
        if outputs.is_empty() && passes.is_empty() {
            return Err(RecordError::NoOutput);
        }
        if !passes.is_empty() && given.is_empty() {
            return Err(missing(&file, &Output::Out.cotangent(), "a gradient needs what it starts from"));
        }
        let provenance = provenance(&file);
        let problem =
            Trapezoidal { sizes: reader.sizes, inputs, delta_softplus: softplus(&file)?, sequences };
        Ok(TrapezoidalRun { problem, stages: stages(&file)?, outputs, given, passes, provenance })
    }
}

/// Sizes, as u, B and angles have them.
fn sizes<R>(file: &TensorFile<R>) -> Result<Sizes> {
    let of = |input: Input| {
        let info = required(file, input.name())?;
        let expected = axes(input.axes(), Sizes::default());
        let shape: [usize; 4] = info.shape[..]
            .try_into()
            .map_err(|_| misshapen(input.name(), info, shape_of(&expected), SHAPES))?;
        match shape.iter().zip(expected).find(|(size, _)| **size == 0) {
            Some((_, (letter, _))) => Err(empty(input.name(), letter)),
            None => Ok(shape),
        }
    };
    let [b, l, h, p] = of(Input::U)?;
    let [_, _, g, n] = of(Input::B)?;
    let k = if file.info(Input::Angles.name()).is_some() { of(Input::Angles)?[3] } else { 0 };
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

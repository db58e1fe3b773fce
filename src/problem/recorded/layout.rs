//! Sizes, layouts and types of a recorded run, from the header alone. A number's rank and type decide how a tensor
//! is read (module documentation of [`super`]), so that no shape has two readings.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::metadata::{ARITHMETIC, DELTA_SOFTPLUS, INPUT_TYPE, check_keys, step_limit};
use super::{InputType, RecordError};
use crate::formula::Form;
use crate::method::Method;
use crate::named::{UnknownName, likeliest};
use crate::problem::conventions::{
    ComplexOutput, DIRECTION, INITIAL_STATE, OUTPUT, READS, STATE, StateHolds, Types,
};
use crate::problem::output_gradients::varies;
use crate::problem::recorded::Result;
use crate::problem::stages::SCAN;
use crate::problem::{Conventions, Operand, Shape, Stages, Weights};
use crate::tensor::{ComputedName, GradientName, Named, TensorName};
use crate::tensor_file::{Stored, TensorFile, TensorInfo, shape_text, shown};

/// `METHOD[.LABEL]`: what it is an output of, a method or a textbook form. The label tells runs of the same one apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutputName {
    /// Empty when there is none.
    pub label: String,
    pub form: Form,
}

impl std::fmt::Display for OutputName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.form)?;
        if self.label.is_empty() { Ok(()) } else { write!(f, ".{}", self.label) }
    }
}

/// Inputs that every run has.
const REQUIRED: [&str; 5] = ["u", "delta", "A", "B", "C"];
const OPTIONAL: [&str; 6] = ["D", "z", "delta_bias", INITIAL_STATE, DOUT, DLAST_STATE];
/// What a backward pass starts from.
pub(super) const DOUT: &str = "dout";
pub(super) const DLAST_STATE: &str = "dlast_state";

/// What a gradient's name starts with.
const GRADIENT: &str = "grad.";

/// Which computed tensor it is, and whose; none for an input.
fn computed(name: &str) -> Result<Option<(ComputedName, OutputName)>> {
    if REQUIRED.contains(&name) || OPTIONAL.contains(&name) {
        return Ok(None);
    }
    // The name of a gradient has a dot of its own.
    let own = if name.starts_with(GRADIENT) { GRADIENT.len() } else { 0 };
    let end = name[own..].find('.').map(|at| own + at);
    let parts = end.and_then(|end| Some((name[..end].parse().ok()?, &name[end + 1..])));
    let (tensor, rest) = parts.ok_or_else(|| unknown(name))?;
    Ok(Some((tensor, output_name(name, rest)?)))
}

fn output_name(name: &str, rest: &str) -> Result<OutputName> {
    let (form, label) = rest.split_once('.').map_or((rest, None), |(form, label)| (form, Some(label)));
    match (form.parse(), label) {
        (Ok(form), None) => Ok(OutputName { label: String::new(), form }),
        // Labels become part of ids: short, printable ones.
        (Ok(form), Some(label)) if !label.is_empty() && shown(label) == label => {
            Ok(OutputName { label: label.to_owned(), form })
        }
        (Ok(_), _) => {
            let hint = "a label is short, printable and not empty".to_owned();
            Err(RecordError::Unknown { name: shown(name), hint })
        }
        (Err(_), _) => {
            let tensor = &name[..name.len() - rest.len()];
            let hint = meant_form(rest).map(|meant| format!("did you mean `{tensor}{meant}`?"));
            let hint = hint.unwrap_or_else(|| "labels come after it".to_owned());
            Err(RecordError::UnknownMethod { name: shown(name), hint })
        }
    }
}

/// Names of other code by which a run may have its tensors.
const TAKEN: [(&str, &str); 6] = [
    ("x", "u"),
    ("dt", "delta"),
    ("dt_bias", "delta_bias"),
    ("initial_states", INITIAL_STATE),
    ("final_states", "last_state"),
    ("dfinal_states", DLAST_STATE),
];

/// Name that a tensor has here, if it has another one in other code.
pub(super) fn own_name(name: &str) -> Option<String> {
    let own = |name: &str| TAKEN.iter().find(|(taken, _)| *taken == name).map(|(_, own)| *own);
    let Some((first, rest)) = name.split_once('.') else {
        return own(name).filter(|own| *own != "last_state").map(str::to_owned);
    };
    match (own(first), rest.split_once('.')) {
        (Some(own @ "last_state"), _) => Some(format!("{own}.{rest}")),
        (None, Some((input, rest))) if first == "grad" => Some(format!("{GRADIENT}{}.{rest}", own(input)?)),
        _ => None,
    }
}

/// Names of other code for what a run has, which are no names here.
const ELSEWHERE: [(&str, &str); 8] = [
    ("h0", INITIAL_STATE),
    ("y", "out"),
    ("ys", "out"),
    ("output", "out"),
    ("final_state", "last_state"),
    ("final_states", "last_state"),
    ("last_states", "last_state"),
    ("dy", DOUT),
];

fn unknown(name: &str) -> RecordError {
    let hint = meant(name).map(|meant| format!("did you mean `{meant}`?"));
    let hint = hint.unwrap_or_else(|| "put notes into the metadata".to_owned());
    RecordError::Unknown { name: shown(name), hint }
}

/// The name that a tensor was probably meant to have.
fn meant(name: &str) -> Option<String> {
    let inputs = || REQUIRED.into_iter().chain(OPTIONAL);
    if let Some(rest) = name.strip_prefix(GRADIENT) {
        let (input, form) = rest.split_once('.').unwrap_or((rest, ""));
        return Some(format!("{GRADIENT}{}.{}", meant_of(input, inputs())?, form_or_example(form)));
    }
    let has_form = |parts: &(&str, &str)| parts.1.parse::<Form>().is_ok();
    let parts = name.split_once('.').or_else(|| name.rsplit_once('_').filter(has_form));
    let (tensor, form) = parts.unwrap_or((name, ""));
    let outputs = TensorName::ALL.map(TensorName::name);
    let meant = meant_of(tensor, inputs().chain(outputs))?;
    Some(if outputs.contains(&meant) {
        format!("{meant}.{}", form_or_example(form))
    } else {
        meant.to_owned()
    })
}

/// One of these names, which `found` is elsewhere or is like: a name that begins otherwise is another one, and of one letter every
/// other.
fn meant_of(found: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let known = ELSEWHERE.iter().find(|(elsewhere, _)| elsewhere.eq_ignore_ascii_case(found));
    let initial = |name: &str| name.chars().next().map(|first| first.to_ascii_lowercase());
    let is_longer = |name: &str| name.len().min(found.len()) > 1;
    let alike = |name: &&str| {
        name.eq_ignore_ascii_case(found) || (is_longer(name) && initial(name) == initial(found))
    };
    known.map(|(_, name)| *name).or_else(|| likeliest(found, names.filter(alike)))
}

/// A method and its label, or a method for one that is not there.
fn form_or_example(form: &str) -> String {
    let known = form.split('.').next().is_some_and(|form| form.parse::<Form>().is_ok());
    if known { shown(form) } else { meant_form(form).unwrap_or_else(|| Method::Zoh.to_string()) }
}

/// The method and label that were probably meant: a method that is like the first word, or the one that stands behind a label.
fn meant_form(rest: &str) -> Option<String> {
    let (first, label) = rest.split_once('.').unwrap_or((rest, ""));
    if !label.is_empty() && label.parse::<Form>().is_ok() {
        return Some(format!("{label}.{}", shown(first)));
    }
    let meant = likeliest(first, Form::all().map(Form::name))?;
    Some(if label.is_empty() { meant.to_owned() } else { format!("{meant}.{}", shown(label)) })
}

/// How a recorded run is to be read.
#[derive(Clone, Debug)]
pub struct Layout {
    pub shape: Shape,
    pub weights: Weights,
    pub input: InputType,
    /// Type that the metadata claim of u, delta, z, variable B and C, and out, where these are stored in F32.
    pub claimed: Option<InputType>,
    pub b_operand: Operand,
    pub c_operand: Operand,
    pub delta_softplus: bool,
    pub stages: Stages,
    pub conventions: Conventions,
    /// Of each output the tensors that were recorded, by their names in the file.
    pub outputs: BTreeMap<OutputName, Named<String>>,
    /// The same of each backward pass.
    pub gradients: BTreeMap<OutputName, Named<String, GradientName>>,
}

const FLOATS: &str = "F32, F16 or BF16";
const SHAPES: &str = "spec.md §3 lists the shapes";
const TRANSPOSED: &str = "u, delta, z and outputs have the sequence last: transpose(1, 2).contiguous()";
const GROUPS: &str = "a variable B or C has a dimension of groups: B.unsqueeze(1) for a single one";
const WEIGHTS: &str = "A decides whether weights are real or complex";

impl Layout {
    /// The layout of what `file`'s header tells.
    ///
    /// # Errors
    /// [`RecordError`], naming the tensor that does not fit.
    pub fn read<R>(file: &TensorFile<R>) -> Result<Layout> {
        check_keys(file.metadata().keys().map(String::as_str))?;
        let Computed { outputs, gradients } = computed_tensors(file)?;
        let (u, a) = (required(file, "u")?, required(file, "A")?);
        let claimed = claimed(file)?;
        let input = real_type("u", u, claimed)?;
        let [batch, dim, seqlen] = u.shape[..] else {
            return Err(misshapen("u", u, "(batch, dim, seqlen)".into(), SHAPES));
        };
        weight_type("A", a)?;
        let (weights, a_sizes) = match (a.stored, &a.shape[..]) {
            (Stored::C64, &[d, n]) => (Weights::Complex, (d, n)),
            (stored, &[d, n, 2]) if stored != Stored::C64 => (Weights::Complex, (d, n)),
            (stored, &[d, n]) if stored != Stored::C64 => (Weights::Real, (d, n)),
            _ => {
                let expected = "(dim, dstate), or (dim, dstate, 2) for complex F32".into();
                return Err(misshapen("A", a, expected, SHAPES));
            }
        };
        let dstate = a_sizes.1;
        if a_sizes.0 != dim && a_sizes.0 == seqlen {
            let expected = format!("(batch, dim, seqlen): A has {seqlen} channels");
            return Err(misshapen("u", u, expected, TRANSPOSED));
        }
        if a_sizes.0 != dim {
            return Err(misshapen("A", a, format!("({dim}, dstate): u has dim = {dim}"), SHAPES));
        }
        if dstate > Shape::MAX_DSTATE {
            let expected = format!("at most {}", Shape::MAX_DSTATE);
            return Err(size("A", "dstate", dstate, expected, "spec.md §3 limits the state size"));
        }
        let mut layout = Layout {
            shape: Shape { batch, dim, dstate, seqlen, groups: 1 },
            weights,
            input,
            claimed,
            b_operand: Operand::Constant,
            c_operand: Operand::Constant,
            delta_softplus: softplus(file)?,
            stages: stages(file)?,
            conventions: Conventions {
                reads: stated(file, READS)?,
                output: stated(file, OUTPUT)?,
                state: stated(file, STATE)?,
                direction: stated(file, DIRECTION)?,
                limit: step_limit(file)?,
                types: Types::default(),
            },
            outputs,
            gradients,
        };
        let mut groups = None;
        layout.b_operand = layout.operand("B", required(file, "B")?, &mut groups)?;
        layout.c_operand = layout.operand("C", required(file, "C")?, &mut groups)?;
        layout.shape.groups = groups.unwrap_or(1);
        layout.check_sequences(file)?;
        layout.check_conventions(file)?;
        layout.check_outputs(file)?;
        layout.conventions.types = layout.types(file)?;
        layout.check_gradients(file)?;
        Ok(layout)
    }

    /// Whether B or C is constant or varies; `groups` is what the other one said.
    fn operand(&self, name: &str, info: &TensorInfo, groups: &mut Option<usize>) -> Result<Operand> {
        let Shape { batch, dim, dstate, seqlen, .. } = self.shape;
        let variable = match (self.weights, info.stored, &info.shape[..]) {
            // Constant: a weight, laid out as A.
            (Weights::Real, _, [_, _]) | (Weights::Complex, Stored::C64, [_, _]) => false,
            (Weights::Complex, _, [_, _, 2]) => false,
            (Weights::Real, _, [_, _, _, _]) | (Weights::Complex, _, [_, _, _, _] | [_, _, _, _, _]) => true,
            (Weights::Real, ..) => {
                let expected = format!("({dim}, {dstate}) or ({batch}, groups, {dstate}, {seqlen})");
                return Err(misshapen(name, info, expected, GROUPS));
            }
            (Weights::Complex, ..) => {
                let expected = format!(
                    "({dim}, {dstate}) as C64, ({dim}, {dstate}, 2), ({batch}, groups, {dstate}, {}) or \
                     ({batch}, groups, {dstate}, {seqlen}, 2): A is complex",
                    2 * seqlen as u128
                );
                return Err(misshapen(name, info, expected, GROUPS));
            }
        };
        let complex64 = self.weights == Weights::Complex && info.stored == Stored::C64;
        weight_type(name, info)?;
        if info.stored == Stored::C64 && !complex64 {
            return Err(mistyped(name, info, FLOATS.to_owned(), WEIGHTS));
        }
        if !variable {
            if info.shape[..2] != [dim, dstate] {
                return Err(misshapen(name, info, format!("({dim}, {dstate}) as A"), SHAPES));
            }
            return Ok(Operand::Constant);
        }
        let length: &[usize] = match (self.weights, complex64, info.shape.len()) {
            (Weights::Real, ..) | (_, true, _) => &[seqlen],
            (_, _, 4) => &[seqlen.saturating_mul(2)],
            _ => &[seqlen, 2],
        };
        let own = info.shape[1];
        if [&[batch, own, dstate], length].concat() != info.shape {
            let length: Vec<String> = length.iter().map(usize::to_string).collect();
            let expected = format!("({batch}, groups, {dstate}, {})", length.join(", "));
            let hint = match self.weights {
                Weights::Complex => "A is complex: re and im of B and C alternate along the sequence",
                Weights::Real => SHAPES,
            };
            return Err(misshapen(name, info, expected, hint));
        }
        if own == 0 || dim % own != 0 {
            let expected = format!("a divisor of dim = {dim}");
            return Err(size(name, "groups", own, expected, "each group serves as many channels"));
        }
        if let Some(other) = groups.filter(|&other| other != own) {
            return Err(size(name, "groups", own, format!("{other} as B"), "B and C share their groups"));
        }
        *groups = Some(own);
        Ok(Operand::Variable)
    }

    /// delta, z, D and delta_bias; that no size of u and A is zero.
    fn check_sequences<R>(&self, file: &TensorFile<R>) -> Result<()> {
        let Shape { batch, dim, dstate, seqlen, .. } = self.shape;
        for (name, what, found) in
            [("u", "batch", batch), ("u", "dim", dim), ("u", "seqlen", seqlen), ("A", "dstate", dstate)]
        {
            if found == 0 {
                return Err(size(name, what, 0, "at least 1".into(), "an empty run has nothing to judge"));
            }
        }
        required(file, "delta")?;
        for name in ["delta", "z"] {
            let Some(info) = file.info(name) else { continue };
            real_type(name, info, self.claimed)?;
            self.check_shape(name, info, &[batch, dim, seqlen])?;
        }
        for name in ["D", "delta_bias"] {
            let Some(info) = file.info(name) else { continue };
            real_type(name, info, None)?;
            self.check_shape(name, info, &[dim])?;
        }
        Ok(())
    }

    /// That what is stated makes sense for these tensors, and the initial state.
    fn check_conventions<R>(&self, file: &TensorFile<R>) -> Result<()> {
        let contradicts = |key, found, needs| Err(RecordError::Contradiction { key, found, needs });
        let Conventions { output, state, .. } = self.conventions;
        if self.weights == Weights::Real && output == ComplexOutput::RealPart {
            return contradicts(OUTPUT, output.name(), "complex weights");
        }
        if self.b_operand == Operand::Variable && state == StateHolds::InputAlone {
            return contradicts(STATE, state.name(), "a constant B");
        }
        match file.info(INITIAL_STATE) {
            Some(info) => self.check_state(INITIAL_STATE, info),
            None => Ok(()),
        }
    }

    /// A state of every channel.
    fn check_state(&self, name: &str, info: &TensorInfo) -> Result<()> {
        let Shape { batch, dim, dstate, .. } = self.shape;
        match (self.weights, info.stored) {
            (Weights::Complex, Stored::C64) => self.check_shape(name, info, &[batch, dim, dstate]),
            (Weights::Real, Stored::C64) => {
                Err(mistyped(name, info, FLOATS.to_owned(), "A is real, and so are its states"))
            }
            (weights, _) => {
                weight_type(name, info)?;
                let shape = [batch, dim, dstate, 2];
                self.check_shape(name, info, &shape[..2 + weights.width()])
            }
        }
    }

    fn check_outputs<R>(&self, file: &TensorFile<R>) -> Result<()> {
        let Shape { batch, dim, seqlen, .. } = self.shape;
        for tensors in self.outputs.values() {
            let Some(name) = tensors.get(TensorName::Out) else { continue };
            let info = required(file, name)?;
            real_type(name, info, self.claimed)?;
            self.check_shape(name, info, &[batch, dim, seqlen])?;
            let Some(name) = tensors.get(TensorName::LastState) else { continue };
            self.check_state(name, required(file, name)?)?;
        }
        Ok(())
    }

    /// Types of tensors that have another one than spec.md §3 gives them; of an input with gradients these gradients', as what is
    /// rounded here. All of one kind are of one type.
    fn types<R>(&self, file: &TensorFile<R>) -> Result<Types> {
        let mut types = Types::default();
        let mut set = |name: ComputedName, varies: bool, names: Vec<&str>| -> Result<()> {
            let usual = if varies { self.input } else { InputType::F32 };
            let mut first = None;
            for tensor in names {
                let info = required(file, tensor)?;
                let claimed = self.claimed.filter(|_| varies);
                let found = sequence_type(tensor, info, claimed)?;
                if *first.get_or_insert(found) != found {
                    let hint = "outputs of one file are of one type, and so are last states, and gradients by one input: save others apart";
                    return Err(mistyped(
                        tensor,
                        info,
                        first.map_or(String::new(), |first| stored_as(first).to_string()),
                        hint,
                    ));
                }
            }
            first.filter(|found| *found != usual).into_iter().for_each(|found| types.set(name, found));
            Ok(())
        };
        for input in GradientName::ALL {
            let own = file.info(input.input()).map(|_| input.input());
            let gradients = self.gradients.values().filter_map(|all| all.get(input)).map(String::as_str);
            let gradients: Vec<&str> = gradients.collect();
            let names = if gradients.is_empty() { own.into_iter().collect() } else { gradients };
            set(input.into(), varies(input, self.b_operand, self.c_operand), names)?;
        }
        for output in TensorName::ALL {
            let names = self.outputs.values().filter_map(|all| all.get(output)).map(String::as_str);
            set(output.into(), output == TensorName::Out, names.collect())?;
        }
        Ok(types)
    }

    /// The gradients, each of the shape of its input, and what they are gradients by.
    fn check_gradients<R>(&self, file: &TensorFile<R>) -> Result<()> {
        let Shape { batch, dim, seqlen, .. } = self.shape;
        if let Some(info) = file.info(DLAST_STATE) {
            self.check_state(DLAST_STATE, info)?;
        }
        if let Some(info) = file.info(DOUT) {
            real_type(DOUT, info, self.claimed)?;
            self.check_shape(DOUT, info, &[batch, dim, seqlen])?;
        } else if !self.gradients.is_empty() {
            return Err(missing(
                file,
                DOUT,
                "a gradient needs what it starts from: the loss's by the output",
            ));
        }
        for (output, tensors) in &self.gradients {
            if output.form.method().is_none() {
                let (_, name) = tensors.iter().next().expect("a backward pass has a gradient");
                return Err(RecordError::GradientOfForm { name: shown(name) });
            }
            for (gradient, name) in tensors.iter() {
                let input = gradient.input();
                let (info, like) = (required(file, name)?, file.info(input));
                let Some(like) = like else {
                    return Err(missing(file, input, "a gradient belongs to an input of the file"));
                };
                let is_pair = |info: &TensorInfo| info.stored != Stored::C64;
                let floats = |info: &TensorInfo| info.len * if is_pair(info) { 1 } else { 2 };
                let same = info.shape == like.shape || is_pair(info) != is_pair(like);
                if !same || floats(info) != floats(like) {
                    return Err(misshapen(
                        name,
                        info,
                        shape_text(&like.shape),
                        "a gradient has the shape of its input",
                    ));
                }
            }
        }
        Ok(())
    }

    fn check_shape(&self, name: &str, info: &TensorInfo, expected: &[usize]) -> Result<()> {
        if info.shape == expected {
            return Ok(());
        }
        let is_turned =
            matches!((&info.shape[..], expected), (&[a, b, c], &[x, y, z]) if [a, c, b] == [x, y, z]);
        Err(misshapen(name, info, shape_text(expected), if is_turned { TRANSPOSED } else { SHAPES }))
    }
}

/// What was computed, by the names in the file.
#[derive(Default)]
struct Computed {
    outputs: BTreeMap<OutputName, Named<String>>,
    gradients: BTreeMap<OutputName, Named<String, GradientName>>,
}

/// The tensors of each output and of each backward pass. Any other tensor is an error: a misspelt one would change the verdict.
fn computed_tensors<R>(file: &TensorFile<R>) -> Result<Computed> {
    let mut all = Computed::default();
    for name in file.names() {
        match computed(name)? {
            Some((ComputedName::Output(tensor), output)) => {
                all.outputs.entry(output).or_default().insert(tensor, name.to_owned());
            }
            Some((ComputedName::Gradient(tensor), output)) => {
                all.gradients.entry(output).or_default().insert(tensor, name.to_owned());
            }
            // No scan returns any.
            Some((ComputedName::Step(_), _)) => return Err(unknown(name)),
            None => {}
        }
    }
    if all.outputs.is_empty() && all.gradients.is_empty() {
        return Err(RecordError::NoOutput);
    }
    for (output, tensors) in &all.outputs {
        if tensors.get(TensorName::Out).is_none() {
            return Err(missing(file, &format!("out.{output}"), "a last state needs its output"));
        }
    }
    Ok(all)
}

/// Type that the metadata claim of tensors that are stored wider than they were.
fn claimed<R>(file: &TensorFile<R>) -> Result<Option<InputType>> {
    let Some(text) = file.metadata().get(INPUT_TYPE) else { return Ok(None) };
    let claimed = InputType::ALL.into_iter().find(|input| input.name() == text);
    let expected = "f32, f16 or bf16";
    match claimed {
        None => Err(RecordError::Metadata { key: INPUT_TYPE, found: shown(text), expected }),
        claimed => Ok(claimed),
    }
}

/// Type of a tensor that is real whatever A is.
fn real_type(name: &str, info: &TensorInfo, claimed: Option<InputType>) -> Result<InputType> {
    match info.stored {
        Stored::C64 => Err(mistyped(name, info, FLOATS.to_owned(), "it is real, whatever A is")),
        _ => sequence_type(name, info, claimed),
    }
}

/// Type of a tensor that varies along the sequence.
fn sequence_type(name: &str, info: &TensorInfo, claimed: Option<InputType>) -> Result<InputType> {
    let own = weight_type(name, info)?;
    match (claimed, info.stored) {
        (Some(claimed), Stored::F32 | Stored::C64) => Ok(claimed),
        (Some(claimed), _) if name == "u" && own != claimed => {
            let expected = format!("{} as the metadata `input_type` claims, or F32", stored_as(claimed));
            Err(mistyped(name, info, expected, "the metadata may be of another run"))
        }
        _ => Ok(own),
    }
}

/// Type of a weight or a state, complex or not.
fn weight_type(name: &str, info: &TensorInfo) -> Result<InputType> {
    match info.stored {
        Stored::F32 | Stored::C64 => Ok(InputType::F32),
        Stored::F16 => Ok(InputType::F16),
        Stored::Bf16 => Ok(InputType::Bf16),
        Stored::F64 => {
            let hint = "a kernel has 32 or 16 bits: record what it read and wrote";
            Err(mistyped(name, info, FLOATS.to_owned(), hint))
        }
    }
}

fn stored_as(input: InputType) -> Stored {
    match input {
        InputType::F32 => Stored::F32,
        InputType::F16 => Stored::F16,
        InputType::Bf16 => Stored::Bf16,
    }
}

fn softplus<R>(file: &TensorFile<R>) -> Result<bool> {
    match file.metadata().get(DELTA_SOFTPLUS).map(String::as_str) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(text) => Err(RecordError::Metadata {
            key: DELTA_SOFTPLUS,
            found: shown(text),
            expected: "true or false, in lower case",
        }),
    }
}

/// The arithmetic that is stated, the scan's in a text of its own if need be.
fn stages<R>(file: &TensorFile<R>) -> Result<Stages> {
    let stated = file.metadata().get(ARITHMETIC).map_or(Ok(Stages::NONE), |text| text.parse())?;
    let Some(text) = file.metadata().get(SCAN) else { return Ok(stated) };
    let log_space = text.parse().ok().filter(|scan| stated.log_space.is_none_or(|other| other == *scan));
    match log_space {
        Some(log_space) => Ok(stated.in_log_space(log_space)),
        None => Err(RecordError::Metadata {
            key: SCAN,
            found: shown(text),
            expected: "log-space, or log-space-64 where sums begin anew every 64 positions, and no other in `arithmetic`",
        }),
    }
}

/// What a metadata text states; the default where there is none.
fn stated<R, T: FromStr<Err = UnknownName> + Default>(file: &TensorFile<R>, key: &'static str) -> Result<T> {
    let Some(text) = file.metadata().get(key) else { return Ok(T::default()) };
    let unknown = |UnknownName { known, .. }| RecordError::Statement { key, found: shown(text), known };
    text.parse().map_err(unknown)
}

fn required<'f, R>(file: &'f TensorFile<R>, name: &str) -> Result<&'f TensorInfo> {
    file.info(name).ok_or_else(|| missing(file, name, "the names are spec.md §3's, in its case"))
}

fn missing<R>(file: &TensorFile<R>, name: &str, hint: &'static str) -> RecordError {
    let names: Vec<&str> = file.names().collect();
    let found = if names.is_empty() { "none".to_owned() } else { shown(&names.join(", ")) };
    RecordError::Missing { name: name.to_owned(), found, hint }
}

fn mistyped(name: &str, info: &TensorInfo, expected: String, hint: &'static str) -> RecordError {
    RecordError::Dtype { name: info.called(name), found: info.stored.to_string(), expected, hint }
}

fn misshapen(name: &str, info: &TensorInfo, expected: String, hint: &'static str) -> RecordError {
    RecordError::Shape { name: info.called(name), found: shape_text(&info.shape), expected, hint }
}

fn size(name: &str, what: &'static str, found: usize, expected: String, hint: &'static str) -> RecordError {
    RecordError::Size { name: name.to_owned(), what, found, expected, hint }
}

//! Sizes, layouts and types of a recorded run, from the header alone. A number's rank and type decide how a tensor
//! is read (module documentation of [`super`]), so that no shape has two readings.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::matrices;
use super::metadata::{check_keys, chunk, claimed, softplus, stages, stated, step_limit};
use super::names::{DLAST_STATE, DOUT, OutputName, computed, unknown};
use super::packing::Packing;
use super::shapes::{Axis, complex_shape, dstate_of, fits, shape_of, turned};
use super::{InputType, RecordError};
use crate::problem::axes::View;
use crate::problem::conventions::{
    ComplexOutput, Coupling, DIRECTION, INITIAL_STATE, LAYOUT, OUTPUT, READS, STATE, StateHolds, Types,
};
use crate::problem::output_gradients::varies;
use crate::problem::recorded::Result;
use crate::problem::{Axes, Conventions, Operand, Order, Packed, Shape, Stages, Weights};
use crate::tensor::{ComputedName, GradientName, Named, TensorName};
use crate::tensor_file::{Stored, TensorFile, TensorInfo, shape_text, shown};

/// Channels by what A says of them: each has one of its own, or a head of several; of a dense A a matrix.
#[derive(Clone, Copy)]
enum Channels {
    Each(usize),
    Heads(usize),
    Matrices(usize),
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
    /// How tensors are found that do not have the plain order, by their names in the file.
    pub views: BTreeMap<String, View>,
    /// Floats of an element of each tensor that has one for each position, by their names in the file.
    pub positions: BTreeMap<String, usize>,
    pub packing: Packing,
    /// Sequences that are packed; none where each item is one.
    pub packed: Option<Arc<Packed>>,
}

pub(super) const FLOATS: &str = "F32, F16 or BF16";
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
        let order = order(file, u)?;
        let (batch, dim, seqlen, headdim) = match (order, &u.shape[..]) {
            (Order::Bdl, &[batch, dim, seqlen]) | (Order::Bld, &[batch, seqlen, dim]) => {
                (batch, dim, seqlen, 0)
            }
            // No file is as large as what overflows here.
            (Order::Blhp, &[batch, seqlen, heads, p]) => (batch, heads.saturating_mul(p), seqlen, p),
            _ => return Err(misshapen("u", u, order.sequence(), order.shapes())),
        };
        weight_type("A", a)?;
        let complex64 = a.stored == Stored::C64;
        let coupling = matrices::coupling(file, a)?;
        let (weights, channels, dstate) = match a.shape[..] {
            _ if coupling == Coupling::Dense => {
                let (weights, rows, n) = matrices::sizes(a)?;
                (weights, Channels::Matrices(rows), n)
            }
            [heads] => {
                let weights = if complex64 { Weights::Complex } else { Weights::Real };
                (weights, Channels::Heads(heads), dstate_of(file, order, seqlen)?)
            }
            [d, n] if complex64 && order != Order::Blhp => (Weights::Complex, Channels::Each(d), n),
            [d, n, 2] if !complex64 && order != Order::Blhp => (Weights::Complex, Channels::Each(d), n),
            [d, n] if order != Order::Blhp => (Weights::Real, Channels::Each(d), n),
            _ => return Err(misshapen("A", a, order.weight(), order.shapes())),
        };
        match channels {
            Channels::Each(found) if found != dim && found == seqlen => {
                let expected = format!("{}: A has {seqlen} channels", order.sequence());
                return Err(misshapen("u", u, expected, order.other()));
            }
            Channels::Each(found) if found != dim => {
                let expected = format!("({dim}, dstate): u has dim = {dim}");
                return Err(misshapen("A", a, expected, order.shapes()));
            }
            Channels::Heads(heads) if order == Order::Blhp && heads == headdim && heads != u.shape[2] => {
                let expected = format!("{}: A has {heads} heads", order.sequence());
                return Err(misshapen("u", u, expected, "heads and p are swapped: u.swapaxes(2, 3)"));
            }
            Channels::Heads(heads) if order == Order::Blhp && heads.saturating_mul(headdim) != dim => {
                let expected = format!("({}): u has as many heads", u.shape[2]);
                return Err(misshapen("A", a, expected, order.shapes()));
            }
            Channels::Heads(heads) if heads == 0 || !dim.is_multiple_of(heads) => {
                let expected = format!("{}, with h that divide dim = {dim}", order.weight());
                return Err(misshapen("A", a, expected, order.shapes()));
            }
            Channels::Matrices(rows) => matrices::check_sizes(a, (rows, dstate), dim)?,
            _ => {}
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
                coupling,
                limit: step_limit(file)?,
                types: Types::default(),
                chunk: chunk(file)?,
                axes: Axes { order, headdim, ..Axes::default() },
            },
            outputs,
            gradients,
            views: BTreeMap::new(),
            positions: BTreeMap::new(),
            packing: Packing::NONE,
            packed: None,
        };
        layout.check_sizes()?;
        layout.packing = layout.packing_of(file)?;
        let mut groups = None;
        layout.b_operand = layout.operand("B", required(file, "B")?, &mut groups)?;
        layout.c_operand = layout.operand("C", required(file, "C")?, &mut groups)?;
        layout.shape.groups = groups.unwrap_or(1);
        layout.check_sequences(file, channels)?;
        layout.check_conventions(file)?;
        layout.check_outputs(file)?;
        layout.conventions.types = layout.types(file)?;
        layout.check_gradients(file)?;
        Ok(layout)
    }

    /// Whether B or C is constant or varies; `groups` is what the other one said.
    fn operand(&mut self, name: &str, info: &TensorInfo, groups: &mut Option<usize>) -> Result<Operand> {
        let Shape { batch, dim, dstate, seqlen, .. } = self.shape;
        let order = self.conventions.axes.order;
        let complex64 = self.weights == Weights::Complex && info.stored == Stored::C64;
        // Re and im of what varies may alternate along the sequence, where that is the last axis.
        let alternates = self.weights == Weights::Complex && !complex64 && info.shape.len() == 4;
        let variable = match (self.weights, &info.shape[..]) {
            // Constant: a weight, laid out as A.
            (Weights::Real, [_, _]) if order != Order::Blhp => false,
            (Weights::Complex, [_, _]) if complex64 && order != Order::Blhp => false,
            (Weights::Complex, [_, _, 2]) if order != Order::Blhp => false,
            (Weights::Real, [_, _, _, _]) => true,
            (Weights::Complex, [_, _, _, _]) if complex64 || order == Order::Bdl => true,
            (Weights::Complex, [_, _, _, _, _]) => true,
            _ => {
                let variable = shape_of(&order.operand([batch, 0, dstate, seqlen]));
                let constant = format!("({dim}, {dstate})");
                let pairs =
                    format!("{variable} as C64, or {variable} and a last dimension of 2: A is complex");
                let expected = match (self.weights, order) {
                    (Weights::Real, Order::Blhp) => variable,
                    (Weights::Real, _) => format!("{constant} or {variable}"),
                    (Weights::Complex, Order::Blhp) => pairs,
                    (Weights::Complex, _) => format!("{constant} as C64, ({dim}, {dstate}, 2), {pairs}"),
                };
                return Err(misshapen(name, info, expected, order.groups()));
            }
        };
        weight_type(name, info)?;
        if info.stored == Stored::C64 && !complex64 {
            return Err(mistyped(name, info, FLOATS.to_owned(), WEIGHTS));
        }
        if !variable {
            if info.shape[..2] != [dim, dstate] {
                return Err(misshapen(name, info, format!("({dim}, {dstate}) as A"), order.shapes()));
            }
            return Ok(Operand::Constant);
        }
        let own = info.shape[if order == Order::Bdl { 1 } else { 2 }];
        let mut expected = order.operand([batch, own, dstate, seqlen]);
        match self.weights {
            Weights::Complex if alternates => expected[3].1 = seqlen.saturating_mul(2),
            Weights::Complex if !complex64 => expected.push(("2", 2)),
            _ => {}
        }
        if !fits(info, &expected) {
            expected.iter_mut().filter(|(letter, _)| *letter == "g").for_each(|(_, groups)| *groups = 0);
            let turned = turned(info, &expected, order);
            let hint = match self.weights {
                Weights::Complex if turned.is_none() => {
                    "A is complex: re and im of B and C alternate along the sequence, or are a last dimension of 2".to_owned()
                }
                _ => turned.unwrap_or_else(|| order.shapes().to_owned()),
            };
            return Err(misshapen(name, info, shape_of(&expected), hint));
        }
        if own == 0 || dim % own != 0 {
            let expected = format!("a divisor of dim = {dim}");
            return Err(size(name, "groups", own, expected, "each group serves as many channels"));
        }
        if let Some(other) = groups.filter(|&other| other != own) {
            return Err(size(name, "groups", own, format!("{other} as B"), "B and C share their groups"));
        }
        *groups = Some(own);
        self.see_positions(name, own * dstate, self.weights.width());
        Ok(Operand::Variable)
    }

    /// Checks that no size of u and A is zero: whatever other sizes there are, the file then holds as much.
    fn check_sizes(&self) -> Result<()> {
        let Shape { batch, dim, dstate, seqlen, .. } = self.shape;
        for (name, what, found) in
            [("u", "batch", batch), ("u", "dim", dim), ("u", "seqlen", seqlen), ("A", "dstate", dstate)]
        {
            if found == 0 {
                return Err(empty(name, what));
            }
        }
        Ok(())
    }

    /// u, delta, z, A, D and delta_bias.
    fn check_sequences<R>(&mut self, file: &TensorFile<R>, channels: Channels) -> Result<()> {
        let Shape { dim, dstate, seqlen, .. } = self.shape;
        required(file, "delta")?;
        let mut shared_rows = Vec::new();
        for name in ["u", "delta", "z"] {
            let Some(info) = file.info(name) else { continue };
            real_type(name, info, self.claimed)?;
            let rows = self.check_sequence(name, info, name == "delta")?;
            if name == "delta" {
                shared_rows.push(rows);
                let view = View { shared_by: dim / rows, row: seqlen, own: seqlen, turned: None };
                self.see(name, View { turned: self.conventions.axes.order.turned(seqlen, rows), ..view });
            }
        }
        let width = self.weights.width();
        match channels {
            Channels::Each(_) => {}
            Channels::Heads(heads) => {
                shared_rows.push(heads);
                self.see("A", View { shared_by: dim / heads, row: dstate * width, own: width, turned: None });
            }
            Channels::Matrices(rows) => {
                let floats = dstate * dstate * width;
                self.see("A", View { shared_by: dim / rows, row: floats, own: floats, turned: None });
            }
        }
        for name in ["D", "delta_bias"] {
            let Some(info) = file.info(name) else { continue };
            real_type(name, info, None)?;
            let rows = self.check_channels(name, info, &shared_rows)?;
            self.see(name, View { shared_by: dim / rows, ..View::PLAIN });
        }
        Ok(())
    }

    /// That what is stated makes sense for these tensors, and the initial state.
    fn check_conventions<R>(&mut self, file: &TensorFile<R>) -> Result<()> {
        let contradicts = |key, found, needs| Err(RecordError::Contradiction { key, found, needs });
        self.check_coupling()?;
        let Conventions { output, state, .. } = self.conventions;
        if self.weights == Weights::Real && output == ComplexOutput::RealPart {
            return contradicts(OUTPUT, output.name(), "complex weights");
        }
        if self.b_operand == Operand::Variable && state == StateHolds::InputAlone {
            return contradicts(STATE, state.name(), "a constant B");
        }
        match file.info(INITIAL_STATE) {
            Some(info) => self.check_states(INITIAL_STATE, info, self.packing.initial_states),
            None => Ok(()),
        }
    }

    /// A state of every channel, or one for each sequence.
    fn check_states(&mut self, name: &str, info: &TensorInfo, count: usize) -> Result<()> {
        let first = if count == 1 { ("b", self.shape.batch) } else { ("s", count) };
        self.check_state(name, info, vec![first], count)
    }

    /// So many states of every channel, behind the first axes.
    pub(super) fn check_state(
        &mut self,
        name: &str,
        info: &TensorInfo,
        mut axes: Vec<Axis>,
        count: usize,
    ) -> Result<()> {
        let Shape { dim, dstate, .. } = self.shape;
        axes.extend(self.channel_axes(dim));
        axes.push(("n", dstate));
        match (self.weights, info.stored) {
            (Weights::Complex, Stored::C64) => {}
            (Weights::Real, Stored::C64) => {
                let hint = "A is real, and so are its states";
                return Err(mistyped(name, info, FLOATS.to_owned(), hint));
            }
            (Weights::Complex, _) => axes.push(("2", 2)),
            (Weights::Real, _) => {}
        }
        weight_type(name, info)?;
        self.check_shape(name, info, &axes)?;
        self.see_states(name, count);
        Ok(())
    }

    fn check_outputs<R>(&mut self, file: &TensorFile<R>) -> Result<()> {
        for tensors in self.outputs.clone().values() {
            let Some(name) = tensors.get(TensorName::Out) else { continue };
            let info = required(file, name)?;
            real_type(name, info, self.claimed)?;
            self.check_sequence(name, info, false)?;
            if let Some(name) = tensors.get(TensorName::LastState) {
                self.check_states(name, required(file, name)?, self.packing.last_states)?;
            }
        }
        self.check_chunks(file)
    }

    /// Types of tensors that have another one than spec.md §3 gives them. All of one kind are of one type.
    fn types<R>(&self, file: &TensorFile<R>) -> Result<Types> {
        let mut types = Types::default();
        // The type of these tensors; none where there are none.
        let found = |varies: bool, names: Vec<&str>| -> Result<Option<InputType>> {
            let mut first = None;
            for tensor in names {
                let info = required(file, tensor)?;
                let found = sequence_type(tensor, info, self.claimed.filter(|_| varies))?;
                let first = *first.get_or_insert(found);
                if first != found {
                    let hint = "outputs of one file are of one type, and so are last states, and gradients by one input: save others apart";
                    return Err(mistyped(tensor, info, stored_as(first).to_string(), hint));
                }
            }
            Ok(first)
        };
        for of in GradientName::ALL {
            let varies = varies(of, self.b_operand, self.c_operand);
            let usual = if varies { self.input } else { InputType::F32 };
            let own = file.info(of.input()).map(|_| of.input());
            let own = found(varies, own.into_iter().collect())?.unwrap_or(usual);
            if own != usual {
                types.set_input(of, own);
            }
            let names = self.gradients.values().filter_map(|all| all.get(of)).map(String::as_str);
            let gradient = found(varies, names.collect())?.filter(|gradient| *gradient != own);
            gradient.into_iter().for_each(|stored| types.set(of, stored));
        }
        for output in TensorName::ALL {
            let is_out = output == TensorName::Out;
            let usual = if is_out { self.input } else { InputType::F32 };
            let names = self.outputs.values().filter_map(|all| all.get(output)).map(String::as_str);
            let found = found(is_out, names.collect())?.filter(|found| *found != usual);
            found.into_iter().for_each(|stored| types.set(output, stored));
        }
        Ok(types)
    }

    /// The gradients, each of the shape of its input or of what heads share of it, and what they are gradients by.
    fn check_gradients<R>(&mut self, file: &TensorFile<R>) -> Result<()> {
        if let Some(info) = file.info(DLAST_STATE) {
            self.check_states(DLAST_STATE, info, self.packing.last_states)?;
        }
        if let Some(info) = file.info(DOUT) {
            real_type(DOUT, info, self.claimed)?;
            self.check_sequence(DOUT, info, false)?;
        } else if !self.gradients.is_empty() {
            return Err(missing(
                file,
                DOUT,
                "a gradient needs what it starts from: the loss's by the output",
            ));
        }
        for (output, tensors) in &self.gradients.clone() {
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
                let is_varied = varies(gradient, self.b_operand, self.c_operand);
                let is_complex = self.weights == Weights::Complex
                    && matches!(
                        gradient,
                        GradientName::A | GradientName::B | GradientName::C | GradientName::InitialState
                    );
                if info.stored == Stored::C64 && !is_complex {
                    return Err(mistyped(name, info, FLOATS.to_owned(), "its input is real"));
                }
                let of_elements = |info: &TensorInfo| match is_complex {
                    true => complex_shape(info, is_varied),
                    false => Some(info.shape.clone()),
                };
                let elements = of_elements(info);
                let same = elements.is_some() && elements == of_elements(like);
                if gradient == GradientName::A && self.conventions.coupling == Coupling::Dense {
                    self.check_matrices(name, info, elements.as_ref().filter(|_| same))?;
                }
                let shared = elements.and_then(|shape| {
                    let mut info = info.clone();
                    info.shape = shape;
                    self.shared(gradient, &info)
                });
                if !(same || shared.is_some()) {
                    return Err(misshapen(
                        name,
                        info,
                        shape_text(&like.shape),
                        "a gradient has the shape of its input, or of what heads share of it",
                    ));
                }
                self.see_gradient(gradient, name, info, shared)?;
            }
        }
        Ok(())
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
            // No such scan returns any.
            Some((ComputedName::Step(_) | ComputedName::Trapezoidal(_) | ComputedName::Dense(_), _)) => {
                return Err(unknown(name));
            }
            None => {}
        }
    }
    if all.outputs.is_empty() && all.gradients.is_empty() {
        return Err(RecordError::NoOutput);
    }
    for (output, tensors) in &all.outputs {
        if tensors.get(TensorName::Out).is_none() {
            return Err(missing(file, &format!("out.{output}"), "a state needs its output"));
        }
    }
    Ok(all)
}

/// Type of a tensor that is real whatever A is.
pub(super) fn real_type(name: &str, info: &TensorInfo, claimed: Option<InputType>) -> Result<InputType> {
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
pub(super) fn weight_type(name: &str, info: &TensorInfo) -> Result<InputType> {
    match info.stored {
        Stored::F32 | Stored::C64 => Ok(InputType::F32),
        Stored::F16 => Ok(InputType::F16),
        Stored::Bf16 => Ok(InputType::Bf16),
        Stored::F64 | Stored::I32 | Stored::I64 => {
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

/// The order that is stated, or the one of Mamba-2's kernels for what has their axes.
fn order<R>(file: &TensorFile<R>, u: &TensorInfo) -> Result<Order> {
    match file.metadata().contains_key(LAYOUT) {
        false if u.shape.len() == 4 => Ok(Order::Blhp),
        _ => stated(file, LAYOUT),
    }
}

pub(super) fn required<'f, R>(file: &'f TensorFile<R>, name: &str) -> Result<&'f TensorInfo> {
    file.info(name).ok_or_else(|| missing(file, name, "the names are spec.md §3's, in its case"))
}

fn missing<R>(file: &TensorFile<R>, name: &str, hint: &'static str) -> RecordError {
    missing_of("u, delta, A, B and C", file, name, hint)
}

/// A tensor that is missing among others that are expected.
pub(super) fn missing_of<R>(
    expected: &'static str,
    file: &TensorFile<R>,
    name: &str,
    hint: &'static str,
) -> RecordError {
    let names: Vec<&str> = file.names().collect();
    let found = if names.is_empty() { "none".to_owned() } else { shown(&names.join(", ")) };
    RecordError::Missing { name: name.to_owned(), expected, found, hint }
}

pub(super) fn mistyped(name: &str, info: &TensorInfo, expected: String, hint: &'static str) -> RecordError {
    RecordError::Dtype { name: info.called(name), found: info.stored.to_string(), expected, hint }
}

pub(super) fn misshapen(
    name: &str,
    info: &TensorInfo,
    expected: impl Into<String>,
    hint: impl Into<String>,
) -> RecordError {
    let (expected, hint) = (expected.into(), hint.into());
    RecordError::Shape { name: info.called(name), found: shape_text(&info.shape), expected, hint }
}

/// Error for a size of 0.
pub(super) fn empty(name: &str, what: &'static str) -> RecordError {
    size(name, what, 0, "at least 1".to_owned(), "an empty run has nothing to judge")
}

pub(super) fn size(
    name: &str,
    what: &'static str,
    found: usize,
    expected: String,
    hint: &'static str,
) -> RecordError {
    RecordError::Size { name: name.to_owned(), what, found, expected, hint }
}

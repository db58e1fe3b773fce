//! Recorded runs: the inputs and outputs of somebody's selective scan, read from a safetensors file.
//!
//! # The format
//!
//! Tensors `u`, `delta`, `A`, `B`, `C` and optionally `D`, `z`, `delta_bias`, `initial_state`, shaped as in spec.md §3;
//! outputs `out.<form>[.<label>]` and optionally `last_state.<form>[.<label>]`, a form being a method or a textbook form; and
//! of backward passes `dout`, optionally `dlast_state`, and `grad.<input>.<method>[.<label>]`, each shaped as its
//! input (spec.md §6). Either may be left out.
//! Of scans in chunks also `chunk_states.<form>[.<label>]` (batch, chunks, dim, dstate), the state before each chunk, and of heads
//! `dA_cumsum.<form>[.<label>]` (batch, heads, chunks, chunk), the running sums of ΔA within each; past the last position anything. Metadata
//! `chunk` is the positions of a chunk, and may be left out where there is one.
//! `seq_idx` (batch, seqlen) or `cu_seqlens` (sequences + 1), integers, tell which sequences are packed into an item; with the latter
//! `initial_state` and `last_state` may be (sequences, …).
//! Metadata `layout` (the order of the axes, [`crate::problem::Order`]), `delta_softplus` (`true` or `false`, the default), `input_type`
//! (below), `reads`, `complex_output`, `state`, `direction` and `dt_limit` ([`crate::problem::conventions`]), and notes, which are not
//! used. A key that is a statement but for a typing error, or has a name that other scans have for an argument, is an error; one that
//! begins with `note.` never is.
//!
//! `x`, `dt`, `dt_bias`, `initial_states`, `final_states` or `varlen_states`, and `dfinal_states` are other names of `u`, `delta`,
//! `delta_bias`, `initial_state`, `last_state` and `dlast_state`, in gradients' names too; `states` is one of `chunk_states`.
//!
//! Files with tensors that only Mamba-3's rule has are [`TrapezoidalRun`]s (spec.md §7), and those with steps of dense systems
//! [`DenseRun`]s (§8).
//!
//! - The rank and type of `A`, `B` and `C` say what they are, so no shape has two readings: `A` is real as F32
//!   (dim, dstate), complex as C64 (dim, dstate) or F32 (dim, dstate, 2). A constant `B` or `C` looks like `A`. A
//!   variable one is (batch, groups, dstate, seqlen) when `A` is real, and (batch, groups, dstate, seqlen·2) or
//!   (batch, groups, dstate, seqlen, 2) when it is complex, or C64 (batch, groups, dstate, seqlen).
//! - Each tensor is F32, F16 or BF16 on its own; the input type is that of `u`. Tensors of one kind, as `out` of several forms, are
//!   of one type.
//! - `u`, `delta`, `z`, variable `B` and `C`, `dout` and outputs may be stored widened to F32 when the metadata `input_type` is `f16` or
//!   `bf16`. Each number of these must then be one of that type: for inputs since the kernel saw the rounded ones, and for outputs
//!   since their rounding on store is part of what is judged.
//! - What is rounded to fewer bits on the way, beside inputs and outputs, may be stated as the metadata `arithmetic`, and a
//!   scan in log space as `scan` ([`crate::problem::stages`]).
//! - Inputs must be finite. Outputs may be anything: a NaN there is for the judge.

mod chunks;
mod dense;
mod layout;
mod matrices;
mod metadata;
mod names;
mod overview;
mod packing;
mod shapes;
mod trapezoidal;
mod turned;
mod values;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::sync::Arc;

use super::{Conventions, InputType, OutputGradients, Problem};
use crate::formula::Form;
use crate::problem::conventions::INITIAL_STATE;
use crate::problem::stages::StagesError;
use crate::tensor::{Gradients, Tensors};
use crate::tensor_file::{TensorFile, TensorFileError, shown};

pub use dense::{Computed, DenseRun, DenseValues};
pub use layout::Layout;
pub use metadata::{check_keys, elsewhere};
pub use names::OutputName;
use names::own_name;
pub use overview::{Overview, Strays};
pub use trapezoidal::TrapezoidalRun;
use turned::Turned;

/// Some channels of a run.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// They are to be judged.
    pub problem: Problem,
    /// In the order of label and method.
    pub outputs: Vec<RecordedOutput>,
}

/// One method's recorded output.
#[derive(Clone, Debug)]
pub struct RecordedOutput {
    pub name: OutputName,
    /// `out`, and what else was recorded beside it; widened. Of the channels that the problem holds.
    pub tensors: Tensors<f32>,
}

/// A run's backward passes, and all that they were computed of.
#[derive(Clone, Debug)]
pub struct RecordedBackward {
    /// Whole: weights collect from all channels.
    pub problem: Problem,
    pub given: OutputGradients,
    /// In the order of label and method.
    pub passes: Vec<(OutputName, Gradients<f32>)>,
}

/// Result of reading a recorded run.
pub type Result<T, E = RecordError> = std::result::Result<T, E>;

/// Why a file is no recorded run.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(transparent)]
    File(#[from] TensorFileError),
    #[error("tensor `{name}` is missing, expected {expected}; found {found} (hint: {hint})")]
    Missing { name: String, expected: &'static str, found: String, hint: &'static str },
    #[error(
        "tensor `{name}` is of a textbook form, expected one of the methods (hint: gradients are judged of these)"
    )]
    GradientOfForm { name: String },
    #[error(
        "found no output, expected at least one tensor `out.METHOD` or `grad.INPUT.METHOD` (hint: METHOD is one of {})",
        Form::names()
    )]
    NoOutput,
    #[error(
        "tensor `{name}` is none of a recorded run's, expected {expected}, out.METHOD[.LABEL], last_state.METHOD[.LABEL], \
         chunk_states.METHOD[.LABEL], dA_cumsum.METHOD[.LABEL] or grad.INPUT.METHOD[.LABEL] (hint: {hint})"
    )]
    Unknown { name: String, expected: String, hint: String },
    #[error("tensors `{name}` and `{other}` are the same one, expected one of them (hint: leave one out)")]
    Twice { name: String, other: String },
    #[error(
        "metadata `{key}` is no statement of a recorded run's, expected one of {known}, or a note (hint: a note would be \
         `note.{key}`; {hint})"
    )]
    Key { key: String, known: String, hint: String },
    #[error("tensor `{name}` is of no known method, expected one of {} (hint: {hint})", Form::names())]
    UnknownMethod { name: String, hint: String },
    #[error("tensor `{name}` is of type {found}, expected {expected} (hint: {hint})")]
    Dtype { name: String, found: String, expected: String, hint: &'static str },
    #[error("tensor `{name}` has shape {found}, expected {expected} (hint: {hint})")]
    Shape { name: String, found: String, expected: String, hint: String },
    #[error(
        "the tensors of layout `bld` or `blhp` take {found} bytes as channels, expected at most {} \
         (hint: save them as `bdl`, which is read where it is walked, or fewer items of the batch)",
        turned::MOST
    )]
    TooLargeToTurn { found: usize },
    #[error("tensor `{name}` is of chunks, expected {expected} (hint: {hint})")]
    Chunks { name: String, expected: &'static str, hint: &'static str },
    #[error("tensor `{name}` has {what} = {found}, expected {expected} (hint: {hint})")]
    Size { name: String, what: &'static str, found: usize, expected: String, hint: &'static str },
    #[error(
        "tensor `{name}` is {value} at {index}, expected a finite number (hint: look at what produced it)"
    )]
    NotFinite { name: String, index: String, value: f32 },
    #[error(
        "tensor `{name}` is {value:e} at {index}, expected a number that {input} can hold, as the metadata claims \
         (hint: record what the kernel read and wrote; its neighbour in {input} is {rounded:e})"
    )]
    NotRounded { name: String, index: String, value: f32, rounded: f32, input: InputType },
    #[error("metadata `{key}` is `{found}`, expected one of {known} (hint: left out, it is the first one)")]
    Statement { key: &'static str, found: String, known: String },
    #[error(
        "metadata `{key}` is `{found}`, which needs {needs} (hint: leave it out, or look at the tensors)"
    )]
    Contradiction { key: &'static str, found: &'static str, needs: &'static str },
    #[error(
        "tensor `{name}` is {found} at {at}, expected {expected} (hint: cu_seqlens has 0, then the end of each sequence, none of them empty; \
         seq_idx the sequence of each position, below 0 for padding)"
    )]
    Sequence { name: &'static str, found: i64, at: String, expected: String },
    #[error("metadata `arithmetic`: {0}")]
    Stages(#[from] StagesError),
    #[error("metadata `{key}` is `{found}`, expected {expected} (hint: metadata are texts)")]
    Metadata { key: &'static str, found: String, expected: &'static str },
}

/// A file that has the names, types and shapes of a recorded run. Its numbers are read, and checked, when they are asked for.
#[derive(Debug)]
pub struct Recording<R> {
    file: Arc<TensorFile<R>>,
    turned: Arc<Turned>,
    layout: Box<Layout>,
    positions_at_once: Option<usize>,
}

/// A file of either kind of run.
#[derive(Debug)]
pub enum Recorded<R> {
    Scan(Recording<R>),
    /// Of Mamba-3's rule.
    Trapezoidal(Box<TrapezoidalRun>),
    /// Ā and B̄ of dense systems, without a scan.
    Dense(Box<DenseRun>),
}

impl Recorded<File> {
    /// Opens the file at `path` and checks what its header says.
    ///
    /// # Errors
    /// [`RecordError`], naming the tensor that is wrong.
    pub fn open(path: &Path) -> Result<Self> {
        Recorded::new(TensorFile::open(path)?)
    }
}

impl<R: Read + Seek + Send> Recorded<R> {
    /// Checks what the file's header says. A run of Mamba-3's rule, or of dense systems, is read whole.
    ///
    /// # Errors
    /// [`RecordError`], naming the tensor that is wrong.
    pub fn new(file: TensorFile<R>) -> Result<Self> {
        match () {
            () if dense::is_of_dense(&file) => Ok(Recorded::Dense(Box::new(DenseRun::read(file)?))),
            () if trapezoidal::is_of_rule(&file) => {
                Ok(Recorded::Trapezoidal(Box::new(TrapezoidalRun::read(file)?)))
            }
            () => Ok(Recorded::Scan(Recording::new(file)?)),
        }
    }
}

/// The file with the names that tensors have here. Two that come to one are an error.
fn renamed<R>(file: TensorFile<R>, own_name: impl Fn(&str) -> Option<String>) -> Result<TensorFile<R>> {
    let twice = |[name, other]: [String; 2]| RecordError::Twice { name: shown(&name), other: shown(&other) };
    file.renamed(own_name).map_err(twice)
}

impl Recording<File> {
    /// Opens the file at `path` and checks what its header says.
    ///
    /// # Errors
    /// [`RecordError`], naming the tensor that is wrong.
    pub fn open(path: &Path) -> Result<Self> {
        Recording::new(TensorFile::open(path)?)
    }
}

impl<R: Read + Seek + Send> Recording<R> {
    /// Checks what the file's header says.
    ///
    /// # Errors
    /// [`RecordError`], naming the tensor that is wrong.
    pub fn new(file: TensorFile<R>) -> Result<Self> {
        let file = renamed(file, own_name)?;
        let mut layout = Layout::read(&file)?;
        layout.packed = layout.packed(&file)?;
        let recording = Recording {
            file: Arc::new(file),
            turned: Arc::default(),
            layout: Box::new(layout),
            positions_at_once: None,
        };
        recording.check_turned()?;
        Ok(recording)
    }

    /// The same numbers under other statements.
    pub fn under(&self, conventions: Conventions) -> Self {
        let layout = Box::new(Layout { conventions, ..Layout::clone(&self.layout) });
        let (file, turned) = (Arc::clone(&self.file), Arc::clone(&self.turned));
        Recording { file, turned, layout, positions_at_once: self.positions_at_once }
    }

    /// The same, walked so many positions at a time. Changes no result.
    pub fn by_positions(self, count: usize) -> Self {
        Recording { positions_at_once: Some(count), ..self }
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether its scans start from another state than 0.
    pub fn has_initial_state(&self) -> bool {
        self.file.info(INITIAL_STATE).is_some()
    }

    /// Statements of the file on its origin, which change nothing in how it is read.
    pub fn provenance(&self) -> BTreeMap<String, String> {
        metadata::provenance(&self.file)
    }
}

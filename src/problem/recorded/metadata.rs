//! Metadata of a recorded run by their keys: statements, names that the field has for what a recording says otherwise, and notes,
//! which are not used.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::str::FromStr;

use super::{InputType, RecordError, Result};
use crate::named::{UnknownName, mistyped};
use crate::problem::Stages;
use crate::problem::conventions::{
    CHUNK, DIRECTION, DT_LIMIT, LAYOUT, OUTPUT, READS, STATE, STATE_MATRIX, StepLimit, TIME_STEP_LIMIT,
};
use crate::problem::stages::{SCAN, STATE_READ, STATE_TYPE};
use crate::tensor_file::{TensorFile, shown};

pub(super) const ARITHMETIC: &str = "arithmetic";
const DELTA_SOFTPLUS: &str = "delta_softplus";
const INPUT_TYPE: &str = "input_type";

/// Metadata that say how the tensors are to be read, and what was to be computed.
const STATEMENTS: [&str; 15] = [
    ARITHMETIC,
    DELTA_SOFTPLUS,
    INPUT_TYPE,
    READS,
    OUTPUT,
    STATE,
    DIRECTION,
    STATE_MATRIX,
    LAYOUT,
    CHUNK,
    SCAN,
    STATE_TYPE,
    STATE_READ,
    DT_LIMIT,
    TIME_STEP_LIMIT,
];

/// Beginning of a key that is a note's, whatever follows.
const NOTE: &str = "note.";

/// Arguments of other people's scans, and what a recording has in their place.
const ELSEWHERE: [(&[&str], &str); 14] = [
    (&["dt_softplus", "softplus"], "delta_softplus states it"),
    (
        &["chunk_size"],
        "scan=log-space-64 states where running sums begin anew, and chunk the length of chunks whose states are recorded",
    ),
    (&["seq_idx", "cu_seqlens", "seqlens"], "the tensor seq_idx or cu_seqlens has it"),
    (
        &["return_final_states", "return_last_state", "return_varlen_states"],
        "leave it out: last_state.METHOD is there or is not",
    ),
    (&["initial_states", "initial_state", "h0"], "leave it out: the tensor initial_state is there or is not"),
    (&["state_batch_indices"], "initial_state and last_state have the order of the batch"),
    (&["state_dtype", "states_in_fp32"], "state_type states a state that is stored so after each step"),
    (
        &["dtype", "itype", "wtype", "out_dtype", "out_float"],
        "input_type states what is stored wider than it was",
    ),
    (&["method", "discretization", "discretization_method"], "an output's name has it, as out.foh"),
    (&["is_complex", "complex"], "the type of A has it"),
    (&["reverse", "reversed", "backwards"], "direction=reverse states it"),
    (&["dt_layout"], "layout states it, of all tensors"),
    (&["delta_bias", "dt_bias"], "the tensor delta_bias has it"),
    (&["use_fast_math", "fast_math"], "arithmetic=exp=fast states it"),
];

/// Advice for an argument of other people's scans: what a recording has in its place. None for another name.
pub fn elsewhere(name: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(names, _)| names.contains(&name)).map(|(_, instead)| *instead)
}

/// Checks that no key is a statement with a typing error, or in other words: taken for a note it would change the verdict.
///
/// # Errors
/// [`RecordError::Key`], with what to do.
pub fn check_keys<'k>(keys: impl IntoIterator<Item = &'k str>) -> Result<()> {
    for key in keys.into_iter().filter(|key| !STATEMENTS.contains(key) && !key.starts_with(NOTE)) {
        let meant = || mistyped(key, STATEMENTS).map(|meant| format!("did you mean `{meant}`?"));
        if let Some(hint) = elsewhere(key).map(str::to_owned).or_else(meant) {
            let known = STATEMENTS.join(", ");
            return Err(RecordError::Key { key: shown(key), known, hint });
        }
    }
    Ok(())
}

/// Checks that a file states nothing but what runs of its kind do.
pub(super) fn check_statements<R>(
    file: &TensorFile<R>,
    known: &[&str],
    expected: &'static str,
) -> Result<()> {
    check_keys(file.metadata().keys().map(String::as_str))?;
    for key in STATEMENTS.into_iter().filter(|key| !known.contains(key)) {
        if let Some(found) = file.metadata().get(key) {
            return Err(RecordError::Metadata { key, found: shown(found), expected });
        }
    }
    Ok(())
}

/// Statements of the file on its origin, which change nothing in how it is read.
pub(super) fn provenance<R>(file: &TensorFile<R>) -> BTreeMap<String, String> {
    let mut provenance = file.metadata().clone();
    provenance.retain(|key, _| !STATEMENTS.contains(&&**key));
    provenance
}

/// Type that the metadata claim of tensors that are stored wider than they were.
pub(super) fn claimed<R>(file: &TensorFile<R>) -> Result<Option<InputType>> {
    let Some(text) = file.metadata().get(INPUT_TYPE) else { return Ok(None) };
    let claimed = InputType::ALL.into_iter().find(|input| input.name() == text);
    let expected = "f32, f16 or bf16";
    match claimed {
        None => Err(RecordError::Metadata { key: INPUT_TYPE, found: shown(text), expected }),
        claimed => Ok(claimed),
    }
}

pub(super) fn softplus<R>(file: &TensorFile<R>) -> Result<bool> {
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

/// Positions of a chunk, where they are stated.
pub(super) fn chunk<R>(file: &TensorFile<R>) -> Result<Option<NonZeroUsize>> {
    let wrong = |text: &String| RecordError::Metadata {
        key: CHUNK,
        found: shown(text),
        expected: "a number of positions, as 64",
    };
    file.metadata().get(CHUNK).map(|text| text.parse().map_err(|_| wrong(text))).transpose()
}

/// Parts of the arithmetic that may be stated in texts of their own, and what they are.
const PARTS: [(&str, &str); 3] = [
    (
        STATE_TYPE,
        "f32, f16 or bf16; none beside `ssd`, of which states between chunks are operands; and no other in `arithmetic`",
    ),
    (
        STATE_READ,
        "none where no `state_type` = bf16 or f16 is stated, and there stored or unrounded, what outputs read, and no other in `arithmetic`",
    ),
    (
        SCAN,
        "log-space, or log-space-64 where sums begin anew every 64 positions, and no other in `arithmetic`",
    ),
];

/// The arithmetic that is stated, parts of it in texts of their own if need be.
pub(super) fn stages<R>(file: &TensorFile<R>) -> Result<Stages> {
    let mut text = file.metadata().get(ARITHMETIC).map_or(Stages::NONE.to_string(), String::clone);
    let mut stages: Stages = text.parse()?;
    for (key, expected) in PARTS {
        let Some(found) = file.metadata().get(key) else { continue };
        let part = format!("{key}={}", found.trim());
        if stages.to_string().split(", ").any(|stated| stated == part) {
            continue;
        }
        text = format!("{text}, {part}");
        let whole = text.parse().ok().filter(|_| !found.contains(','));
        stages = whole.ok_or_else(|| RecordError::Metadata { key, found: shown(found), expected })?;
    }
    Ok(stages)
}

/// A statement; the default where there is none.
pub(super) fn stated<R, T: FromStr<Err = UnknownName> + Default>(
    file: &TensorFile<R>,
    key: &'static str,
) -> Result<T> {
    let Some(text) = file.metadata().get(key) else { return Ok(T::default()) };
    let unknown = |UnknownName { known, .. }| RecordError::Statement { key, found: shown(text), known };
    text.parse().map_err(unknown)
}

/// Limits of Δ that are stated.
pub(super) fn step_limit<R>(file: &TensorFile<R>) -> Result<StepLimit> {
    let stated = |key: &'static str| file.metadata().get(key).map(|text| (key, text));
    if let (Some(_), Some((key, text))) = (stated(DT_LIMIT), stated(TIME_STEP_LIMIT)) {
        return Err(RecordError::Metadata { key, found: shown(text), expected: "none beside `dt_limit`" });
    }
    let Some((key, text)) = stated(DT_LIMIT).or_else(|| stated(TIME_STEP_LIMIT)) else {
        return Ok(StepLimit::NONE);
    };
    let expected = "two numbers with 0 ≤ low ≤ high and 0 < high, as 0.001 0.1, 0 inf or [0.001, 0.1]";
    text.parse().map_err(|_| RecordError::Metadata { key, found: shown(text), expected })
}

//! Names of a recorded run's tensors: inputs, and those of outputs and gradients with the form that they are of.

use super::{RecordError, Result};
use crate::formula::Form;
use crate::method::Method;
use crate::named::likeliest;
use crate::problem::conventions::INITIAL_STATE;
use crate::tensor::{ComputedName, TensorName};
use crate::tensor_file::shown;

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
const OPTIONAL: [&str; 8] = ["D", "z", "delta_bias", INITIAL_STATE, DOUT, DLAST_STATE, SEQ_IDX, CU_SEQLENS];
/// Gradients that a backward pass starts from.
pub(super) const DOUT: &str = "dout";
pub(super) const DLAST_STATE: &str = "dlast_state";
/// Sequences that are packed: which one each position belongs to, or where each begins.
pub(super) const SEQ_IDX: &str = "seq_idx";
pub(super) const CU_SEQLENS: &str = "cu_seqlens";

/// Start of a gradient's name.
const GRADIENT: &str = "grad.";

/// Which computed tensor it is, and whose; none for an input.
pub(super) fn computed(name: &str) -> Result<Option<(ComputedName, OutputName)>> {
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
            Err(unknown_because(name, hint))
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
const TAKEN: [(&str, &str); 8] = [
    ("x", "u"),
    ("dt", "delta"),
    ("dt_bias", "delta_bias"),
    ("initial_states", INITIAL_STATE),
    ("final_states", "last_state"),
    ("varlen_states", "last_state"),
    ("states", "chunk_states"),
    ("dfinal_states", DLAST_STATE),
];

/// Name that a tensor has here, if it has another one in other code.
pub(super) fn own_name(name: &str) -> Option<String> {
    let own = |name: &str| TAKEN.iter().find(|(taken, _)| *taken == name).map(|(_, own)| *own);
    let is_output = |name: &str| name.parse::<TensorName>().is_ok();
    let Some((first, rest)) = name.split_once('.') else {
        return own(name).filter(|own| !is_output(own)).map(str::to_owned);
    };
    match (own(first), rest.split_once('.')) {
        (Some(own), _) if is_output(own) => Some(format!("{own}.{rest}")),
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

pub(super) fn unknown(name: &str) -> RecordError {
    let hint = meant(name).map(|meant| format!("did you mean `{meant}`?"));
    let hint = hint.unwrap_or_else(|| "put notes into the metadata".to_owned());
    unknown_because(name, hint)
}

fn unknown_because(name: &str, hint: String) -> RecordError {
    let expected = [&REQUIRED[..], &OPTIONAL[..]].concat().join(", ");
    RecordError::Unknown { name: shown(name), expected, hint }
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

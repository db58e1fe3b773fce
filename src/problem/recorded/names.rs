//! What a tensor of a recorded run is, by its name.

use super::RecordError;
use crate::method::Method;
use crate::tensor::TensorName;
use crate::tensor_file::shown;

/// `METHOD[.LABEL]`: whose output it is. The label tells runs of the same method apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutputName {
    /// Empty when there is none.
    pub label: String,
    pub method: Method,
}

impl std::fmt::Display for OutputName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.method)?;
        if self.label.is_empty() { Ok(()) } else { write!(f, ".{}", self.label) }
    }
}

/// Inputs that every run has.
pub(super) const REQUIRED: [&str; 5] = ["u", "delta", "A", "B", "C"];
const OPTIONAL: [&str; 3] = ["D", "z", "delta_bias"];

/// Which computed tensor it is, and whose; none for an input.
pub(super) fn computed(name: &str) -> Result<Option<(TensorName, OutputName)>, RecordError> {
    if REQUIRED.contains(&name) || OPTIONAL.contains(&name) {
        return Ok(None);
    }
    let parts = name.split_once('.').and_then(|(tensor, rest)| Some((tensor.parse().ok()?, rest)));
    let (tensor, rest) = parts.ok_or_else(|| RecordError::Unknown { name: shown(name) })?;
    Ok(Some((tensor, output_name(name, rest)?)))
}

fn output_name(name: &str, rest: &str) -> Result<OutputName, RecordError> {
    let (method, label) = rest.split_once('.').map_or((rest, None), |(method, label)| (method, Some(label)));
    // By name alone: an id would be a second way to say the same.
    let method = Method::ALL.into_iter().find(|m| m.name() == method);
    match (method, label) {
        (Some(method), None) => Ok(OutputName { label: String::new(), method }),
        // Labels become part of ids: short, printable ones.
        (Some(method), Some(label)) if !label.is_empty() && shown(label) == label => {
            Ok(OutputName { label: label.to_owned(), method })
        }
        (Some(_), _) => Err(RecordError::Unknown { name: shown(name) }),
        (None, _) => Err(RecordError::UnknownMethod { name: shown(name) }),
    }
}

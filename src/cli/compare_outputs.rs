//! `holdfast compare A.safetensors:out.zoh B.safetensors:out.foh`: two recorded outputs against each other.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::compare::Error;
use super::{CliError, FAILED, Outcome, PASSED, output};
use crate::check::outputs::{self, ComparedOutputs, JudgedOutput, OneOutput};
use crate::problem::Stages;
use crate::problem::recorded::{RecordedOutput, RecordedRun, Recording};
use crate::report::console::width;
use crate::report::{json, text};
use crate::results::PairStatus;
use crate::tensor::TensorName;
use crate::tensor_file::shown;

/// Where an output is: `FILE.safetensors:TENSOR.FORM[.LABEL]`.
pub struct Address {
    path: PathBuf,
    tensor: String,
}

impl Address {
    /// None for what names no output, as a results.json.
    pub fn read(argument: &Path) -> Option<Self> {
        let text = argument.to_str()?;
        let (path, tensor) = text.rsplit_once(".safetensors:")?;
        Some(Address { path: format!("{path}.safetensors").into(), tensor: tensor.to_owned() })
    }

    fn open(&self) -> Result<(RecordedRun, Stages), Error> {
        let read = |recording: Recording<File>| {
            let layout = recording.layout();
            let rows: Vec<usize> = (0..layout.shape.batch * layout.shape.dim).collect();
            Ok((recording.read(&rows)?, layout.stages))
        };
        let run = Recording::open(&self.path).and_then(read);
        run.map_err(|source| Error::Recording { path: self.path.clone(), source })
    }

    fn find<'a>(&self, (run, stages): &'a (RecordedRun, Stages)) -> Result<OneOutput<'a>, Error> {
        let named = |output: &'a RecordedOutput| {
            output
                .tensors
                .iter()
                .map(move |(tensor, _)| (format!("{tensor}.{}", output.name), tensor, output))
        };
        let all: Vec<(String, TensorName, _)> = run.outputs.iter().flat_map(named).collect();
        let found = all.iter().find(|(name, ..)| *name == self.tensor);
        let (_, tensor, output) = found.ok_or_else(|| Error::NoSuchOutput {
            path: self.path.clone(),
            found: shown(&self.tensor),
            known: all.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>().join(", "),
        })?;
        Ok(OneOutput { run, stages: *stages, output, tensor: *tensor })
    }
}

/// Compares the two, and says whether they differ by what their truths differ by.
///
/// # Errors
/// Files that are no recordings, or have no such output; outputs of different shapes.
pub fn run([left, right]: [&Address; 2], json: Option<&Path>) -> Result<Outcome, CliError> {
    let runs = [left.open()?, right.open()?];
    let compared = outputs::compare(left.find(&runs[0])?, right.find(&runs[1])?).map_err(Error::from)?;
    let (json, written) = output::put_json(json, || json::to_string(&compared))?;
    let status = if compared.outputs.status == PairStatus::Agrees { PASSED } else { FAILED };
    Ok(Outcome::new(render([left, right], &compared) + &written, status).with_json(json))
}

fn render(addresses: [&Address; 2], compared: &ComparedOutputs) -> String {
    let ComparedOutputs { left, right, same_inputs, truth, outputs } = compared;
    let verdict = match outputs.status {
        PairStatus::Agrees => "AGREE",
        PairStatus::Unmeasured => "UNMEASURED",
        _ => "DISAGREE",
    };
    let mut lines = vec![format!("holdfast compare: {verdict}; {}", outputs.status.what())];
    let said = |judged: &JudgedOutput| {
        let share = text::share(judged.share);
        format!("{}; {} elements, worst {share} of its bound", text::verdict(judged.verdict), judged.elements)
    };
    for (name, address, judged) in [("first ", addresses[0], left), ("second", addresses[1], right)] {
        let named =
            format!("{}:{}: {}", shown(&address.path.to_string_lossy()), address.tensor, said(judged));
        lines.push(text::wrap(&format!("  {name}  "), &named, width()));
    }
    if !same_inputs {
        lines.push("  inputs  differ: each output is compared with the truth of its own".to_owned());
    }
    let tensor = addresses[0].tensor.split('.').next().unwrap_or_default();
    for (name, pair) in [("outputs", outputs), ("truths ", truth)] {
        lines.push(format!(
            "  {name} differ by {} at most, {} on average, relative L2 {}",
            text::number(pair.max, 3),
            text::number(pair.mean, 3),
            text::number(pair.rel_l2, 3)
        ));
    }
    lines.push(format!(
        "  that is {} of both bounds together, worst at {}",
        text::share(outputs.ratio),
        text::element(tensor, &outputs.worst_index)
    ));
    lines.join("\n") + "\n"
}

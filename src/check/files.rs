//! Many recorded runs: one after another, or in parts, where a file is a unit of work.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::on_device::DeviceJudge;
use super::{Checked, Options, Reason, Searching, Solved, affordable, device, head, memory, methods};
use crate::judge::diagnose::{Budget, Searches};
use crate::parts::{Divisible, PartError};
use crate::problem::recorded::{DenseRun, Layout, RecordError, Recorded, TrapezoidalRun};
use crate::results::explained::Explanations;
use crate::results::whole::{Found, Whole};
use crate::results::{CaseResult, Results, Verdict};
use crate::tensor_file::{TensorFileError, shown};

/// What is wrong with a recorded run: bad input.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", shown(&path.to_string_lossy()))]
pub struct FileError {
    pub path: PathBuf,
    pub source: Reason,
}

#[derive(Clone, Debug)]
pub struct Run {
    pub path: PathBuf,
    /// What identifies it in results: unique among all.
    pub name: String,
    /// As a shell takes its path.
    pub argument: String,
}

/// Recorded runs whose headers are sound.
pub struct Files {
    runs: Vec<Run>,
    /// What each of them says of itself, and what it costs.
    about: Vec<About>,
    options: Options,
    command: String,
    /// What computes the quick route in place of the CPU.
    judge: RefCell<Option<DeviceJudge>>,
}

/// Runs that fail, by their place, and what is known of their outputs.
#[derive(Default)]
pub struct Failing(Vec<(usize, Option<Solved>)>);

struct About {
    device: String,
    channels: usize,
    cost: u64,
}

impl Files {
    /// Opens every file before any truth is computed: a mistake in the last one should not cost the time of the others. `command`
    /// repeats the run.
    ///
    /// # Errors
    /// A file that is no recorded run, or that does not fit into memory.
    pub fn open(
        runs: Vec<Run>,
        options: Options,
        command: String,
        judge: Option<DeviceJudge>,
    ) -> Result<Self, FileError> {
        let about = |run: &Run| {
            let recording = match Recorded::open(&run.path)? {
                Recorded::Scan(recording) => recording,
                Recorded::Trapezoidal(run) => return Ok(about_rule(&run)),
                Recorded::Dense(run) => return Ok(about_dense(&run)),
            };
            let layout = recording.layout();
            memory::fitting(super::held(layout), layout.outputs.len(), options.channels, 1)?;
            let tensors = layout.outputs.len() + layout.gradients.len();
            Ok(About {
                device: device(&recording.provenance()),
                channels: layout.shape.batch * layout.shape.dim * tensors,
                cost: cost(layout, &options),
            })
        };
        let about = runs.iter().map(|run| about(run).map_err(|source| wrong(run, source)));
        let about = about.collect::<Result<Vec<About>, FileError>>()?;
        Ok(Files { runs, about, options, command, judge: RefCell::new(judge) })
    }

    /// Channels of all outputs and gradients.
    pub fn channels(&self) -> usize {
        self.about.iter().map(|about| about.channels).sum()
    }

    /// Judges all of them, and looks for why some fail.
    pub fn check(&self, advance: &(dyn Fn() + Sync)) -> Result<Results, FileError> {
        let (mut results, failing) = self.judge(advance)?;
        self.explain(failing, &mut results, (self.options.diagnosis.begin(), &|| {}))?;
        Ok(results)
    }

    /// Judges all of them, one after another; `advance` is told of each channel of each output. What is known of those that fail
    /// comes with the verdicts.
    ///
    /// # Errors
    /// The first file with numbers that are not what it claims.
    pub fn judge(&self, advance: &(dyn Fn() + Sync)) -> Result<(Results, Failing), FileError> {
        let (mut whole, mut failing) = (Whole::new(false), Vec::new());
        for place in 0..self.runs.len() {
            let (checked, solved) = self.judge_one(place, advance)?;
            if checked.cases.iter().any(|case| case.verdict == Verdict::Fail) {
                failing.push((place, solved));
            }
            whole.add(place, self.options.seed, checked.found());
        }
        Ok((whole.results(self.head()), Failing(failing)))
    }

    /// Looks for why cases fail, and adds what it finds. `told` is called after each of them.
    ///
    /// # Errors
    /// A file that is no longer what it was.
    pub fn explain(
        &self,
        Failing(failing): Failing,
        results: &mut Results,
        (searches, told): (Searches, &dyn Fn()),
    ) -> Result<(), FileError> {
        let searching = &mut Searching::new(searches, &self.options, told);
        for (place, solved) in failing {
            let run = &self.runs[place];
            let first = results.cases.iter().position(|case| case.regime == run.name).unwrap_or_default();
            let of_run = results.cases[first..].chunk_by_mut(|a, b| a.regime == b.regime).next();
            self.explain_one(place, solved.as_ref(), of_run.unwrap_or_default(), searching)?;
        }
        Ok(())
    }

    fn judge_one(
        &self,
        place: usize,
        advance: &(dyn Fn() + Sync),
    ) -> Result<(Checked, Option<Solved>), FileError> {
        let run = &self.runs[place];
        let judged = Recorded::open(&run.path).map_err(Reason::from).and_then(|recorded| {
            let names = (run.name.as_str(), run.argument.as_str());
            match recorded {
                Recorded::Scan(recording) => {
                    let mut judge = self.judge.borrow_mut();
                    super::judge_with(judge.as_mut(), names, &recording, &self.options, advance)
                }
                Recorded::Trapezoidal(run) => {
                    Ok((super::trapezoidal::check(names, &run, &self.options, advance)?, None))
                }
                Recorded::Dense(run) => Ok((super::dense::check(names, &run, &self.options, advance)?, None)),
            }
        });
        judged.map_err(|source| wrong(run, source))
    }

    fn explain_one(
        &self,
        place: usize,
        solved: Option<&Solved>,
        cases: &mut [CaseResult],
        searching: &mut Searching,
    ) -> Result<(), FileError> {
        let run = &self.runs[place];
        let recorded = Recorded::open(&run.path).map_err(Reason::from);
        let explained = recorded.and_then(|recorded| match recorded {
            Recorded::Scan(recording) => super::explain(&recording, &self.options, solved, cases, searching),
            // No model knows Mamba-3's rule.
            Recorded::Trapezoidal(_) => Ok(()),
            Recorded::Dense(dense) => {
                super::dense::explain(&run.name, &dense, &self.options, cases, searching)
            }
        });
        explained.map_err(|source| wrong(run, source))
    }

    fn head(&self) -> Results {
        let devices = self.about.iter().map(|about| about.device.as_str());
        head(devices, self.options.diagnosis == Budget::Off, self.options.seed, self.command.clone())
    }

    /// As what can be done in parts.
    pub fn divided(&self) -> Result<Divided<'_>, FileError> {
        let id = |run: &Run| match fingerprint(&run.path) {
            Ok(fingerprint) => Ok(format!("{} of {fingerprint}", run.name)),
            Err(error) => Err(wrong(run, RecordError::from(TensorFileError::from(error)).into())),
        };
        let ids = self.runs.iter().map(id).collect::<Result<_, _>>()?;
        Ok(Divided { files: self, ids })
    }
}

fn wrong(run: &Run, source: Reason) -> FileError {
    FileError { path: run.path.clone(), source }
}

/// A run of Mamba-3's rule: its own words, and its costs.
fn about_rule(run: &TrapezoidalRun) -> About {
    let tensors = run.outputs.len() + run.passes.len();
    let steps = run.problem.steps().saturating_mul(tensors).min(1 << 40);
    About {
        device: device(&run.provenance),
        channels: run.problem.units().len() * tensors,
        cost: 1_000 + steps as u64 / 10,
    }
}

/// Steps of dense systems: a bound takes some 60 products.
fn about_dense(run: &DenseRun) -> About {
    let systems = run.problem.delta.len() * run.outputs.len();
    let cost = 1_000 + (systems as u64).saturating_mul(run.problem.n.pow(3) as u64) / 5;
    About { device: device(&run.provenance), channels: systems, cost: cost.min(1 << 40) }
}

/// About how long a file takes one core, in microseconds, if it passes: what files are to each other is all that matters.
fn cost(layout: &Layout, options: &Options) -> u64 {
    /// More than any file takes, and little enough that a million of them have a sum.
    const MOST: usize = 1 << 40;
    let product = |factors: [usize; 4]| factors.into_iter().fold(1, usize::saturating_mul).min(MOST);
    let channels = product([layout.shape.batch, layout.shape.dim, 1, 1]);
    let steps = product([layout.shape.seqlen, layout.shape.dstate, layout.weights.width().pow(2), 1]);
    let methods = methods(layout).len();
    let certified = options.channels.unwrap_or_else(|| affordable(layout, methods)).min(channels);
    let truths = if methods == 0 { 0 } else { product([3, 2 + methods, certified, steps]) };
    // The quick route takes some 20 ns for a position and state; a gradient is certified where that leaves it open.
    let quick =
        if options.channels.is_some() { 0 } else { product([layout.outputs.len(), channels, steps, 1]) / 50 };
    let gradients = product([10, layout.gradients.len(), channels, steps]);
    (1_000 + truths + quick + gradients).min(MOST) as u64
}

/// Pieces that the fingerprint of a large file is of, and the bytes of each.
const PIECES: u64 = 64;
const PIECE: u64 = 1 << 16;

/// The beginning of the SHA-256, in hex, of a file's length and content; of more than 4 MiB, of pieces spread evenly over it.
/// Parts of a plan have to agree on their files, and each of them judges its own only: all of them would read all there is.
fn fingerprint(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut hash = Sha256::new();
    hash.update(length.to_le_bytes());
    let mut piece = Vec::new();
    let mut start = 0;
    while start < length {
        file.seek(SeekFrom::Start(start))?;
        piece.clear();
        file.by_ref().take(PIECE).read_to_end(&mut piece)?;
        hash.update(&piece);
        start += PIECE.max(length / PIECES);
    }
    Ok(hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Recorded runs whose content is known.
pub struct Divided<'a> {
    files: &'a Files,
    ids: Vec<String>,
}

impl Divisible for Divided<'_> {
    /// Of each file its name and its fingerprint: another file of that name is another unit.
    fn units(&self) -> Vec<String> {
        self.ids.clone()
    }

    fn costs(&self) -> Vec<u64> {
        self.files.about.iter().map(|about| about.cost).collect()
    }

    fn head(&self) -> Results {
        self.files.head()
    }

    /// One after another: each of them takes all cores, and its share of the memory.
    fn solve(
        &self,
        units: &[usize],
        found: &(dyn Fn(usize, Found) -> Result<(), PartError> + Sync),
    ) -> Result<(), PartError> {
        let searching =
            &mut Searching::new(self.files.options.diagnosis.begin(), &self.files.options, &|| {});
        let check_one = |unit, searching: &mut Searching| {
            let (mut checked, solved) = self.files.judge_one(unit, &|| {})?;
            self.files.explain_one(unit, solved.as_ref(), &mut checked.cases, searching)?;
            Ok(checked.found())
        };
        units.iter().try_for_each(|&unit| {
            let checked = check_one(unit, searching);
            found(unit, checked.map_err(|error: FileError| PartError::Unit(error.into()))?)
        })
    }

    /// A file explains its own failures.
    fn explain(&self, _: &Results) -> Explanations {
        Explanations::default()
    }
}

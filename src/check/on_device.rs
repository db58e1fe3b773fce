//! The quick route on a GPU: every channel's first try by the judge of `kernels/judge/`, with the same numbers, bit by bit, as
//! [`crate::judge::quick`] has on the CPU. What that settles is done with; every other channel goes to the CPU, where repeats
//! are counted and long channels are at home.
//!
//! In every run some channels, drawn by the seed, are walked on the CPU as well, and one number that differs ends the run: the
//! theorem of the quick route is about those numbers.

mod launch;
mod pieces;

use std::io::{Read, Seek};
use std::sync::mpsc;

use rayon::prelude::*;

use self::launch::Launcher;
use self::pieces::{Piece, Plan};
use super::every::{self, Survey};
use crate::judge::quick::{self, QuickTally};
use crate::kernel::cuda::CudaError;
use crate::kernel::launch::{Device, DeviceError};
use crate::kernel::local::LocalDevice;
use crate::problem::conventions::Coupling;
use crate::problem::inputs::Draw;
use crate::problem::recorded::{OutputName, RecordError, Recording};
use crate::problem::stretch::Inputs;
use crate::promise::Contract;
use crate::promise::contract::Sums;
use crate::tensor::{InputType, Named, TensorName};

/// One of so many channels is walked on the CPU as well, at least [`FEWEST`] of each output, beside the first and the last one
/// of each piece.
const ONE_OF: usize = 1000;
const FEWEST: usize = 8;

/// A device that judges.
pub struct DeviceJudge {
    local: LocalDevice,
    /// What a piece of a recording may take of this machine's memory.
    piece: usize,
}

/// Why a device's verdicts cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DeviceJudgeError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Cuda(#[from] CudaError),
    #[error("the device failed: {0}")]
    Device(#[from] DeviceError),
    #[error(
        "channel {batch}, {channel} of {output} on the device: {what} is {found:e}, expected {expected:e}, as the CPU has it"
    )]
    Differs { output: String, batch: usize, channel: usize, what: String, found: f64, expected: f64 },
}

/// What was done where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    pub device: String,
    /// Channels of outputs that it settled, and all of them.
    pub settled: usize,
    pub all: usize,
    /// How many of them were walked on both, with equal numbers.
    pub checked: usize,
}

impl std::fmt::Display for Shares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shares { device, settled, all, checked } = self;
        let handed = all - settled;
        write!(
            f,
            "the quick route ran on {device} ({checked} of {all} channels and outputs cross-checked with the CPU, every number equal"
        )?;
        if handed > 0 { write!(f, "; {handed} handed to the CPU)") } else { f.write_str(")") }
    }
}

/// What the first try says of a channel: its tallies, and the largest |ΔA|.
pub type FirstTry = (Named<QuickTally>, f64);

impl DeviceJudge {
    /// The first visible GPU.
    pub fn open() -> Result<Self, CudaError> {
        Ok(DeviceJudge { local: LocalDevice::open()?, piece: pieces::PIECE })
    }

    /// This machine's CPU in the place of a GPU, by the same source.
    pub fn stand_in() -> Self {
        DeviceJudge { local: LocalDevice::stand_in(), piece: pieces::PIECE }
    }

    /// On a device that has the judge built in.
    pub fn on(device: Box<dyn Device>) -> Self {
        DeviceJudge { local: LocalDevice::on(device), piece: pieces::PIECE }
    }

    /// The same with so many bytes for a piece of a recording: it changes no result.
    pub fn by_pieces_of(self, bytes: usize) -> Self {
        DeviceJudge { piece: bytes, ..self }
    }

    /// The device, in words.
    pub fn name(&self) -> String {
        self.local.device.info().name
    }

    /// Why it cannot judge such a run, if so. A long channel is walked by eight of its threads: the CPU is as fast.
    pub fn lacks<R: Read + Seek + Send>(
        recording: &Recording<R>,
        contract: &Contract,
    ) -> Option<&'static str> {
        let shape = recording.layout().shape;
        if contract.sums == Sums::Closed {
            return Some("phi=naive is not known to a device");
        }
        if contract.arithmetic.stages.fast.is_some() {
            return Some("exp=fast is not known to a device");
        }
        if contract.arithmetic.stages.ssd.is_some() {
            return Some("ssd is not known to a device");
        }
        if contract.sums != Sums::Plain || contract.arithmetic.stages.log_space.is_some() {
            return Some("a scan in log space is not known to a device");
        }
        if recording.outline().layout(TensorName::LastState).2 != InputType::F32 {
            return Some("a last state of 16 bits is not known to a device");
        }
        if contract.arithmetic.stages.stored_state.is_some() {
            return Some("state_type is not known to a device");
        }
        if recording.outline().chunk.is_some() {
            return Some("chunk_states and dA_cumsum are not known to a device");
        }
        if recording.outline().coupling == Coupling::Dense {
            return Some("a dense A is not known to a device");
        }
        if recording.layout().packed.is_some() {
            return Some("packed sequences are not known to a device");
        }
        let is_long = shape.seqlen.saturating_mul(shape.dstate) > quick::LONG;
        is_long.then_some("its channels are too long for a device")
    }

    /// Judges every channel of every output, as the survey on the CPU does. `advance` is told of each channel. Not to be called
    /// from a thread of rayon's pool, whose other threads read the file meanwhile.
    ///
    /// # Errors
    /// What cannot be read; a device that fails, or has other numbers than the CPU.
    pub fn survey<R: Read + Seek + Send>(
        &mut self,
        recording: &Recording<R>,
        contract: &Contract,
        draw: Draw,
        advance: &(dyn Fn() + Sync),
    ) -> Result<(Vec<Survey>, Shares), DeviceJudgeError> {
        let device = self.name();
        let tries = self.first_tries(recording, contract);
        self.local.device.free_all();
        let tries = tries?;
        let all = recording.layout().shape.batch * recording.layout().shape.dim;
        // Where pieces begin and end, and others by lot.
        let plan = Plan::new(recording, self.piece, self.local.device.info().memory_bytes)?;
        let edges: Vec<usize> = plan.pieces().flat_map(|rows| [rows.start, rows.end - 1]).collect();
        let count = edges.len() + (all / ONE_OF).max(FEWEST);
        let sample = every::chosen(all, count.min(all), edges.into_iter(), draw);
        let mut shares = Shares { device, settled: 0, all: all * tries.len(), checked: 0 };
        let mut surveys = Vec::new();
        for (output, tries) in recording.layout().outputs.iter().zip(tries) {
            let check = |&row: &usize| cross_check(recording, output, contract, row, &tries[row]);
            sample.par_iter().map(check).collect::<Result<Vec<()>, _>>()?;
            shares.checked += sample.len();
            let settle = |(row, (tallies, largest_z)): (usize, FirstTry)| {
                let is_settled = is_complete(recording, output.1, &tallies)
                    && quick::is_settled(tallies.values(), largest_z);
                let tallies =
                    if is_settled { Ok(tallies) } else { every::judge(recording, output, contract, row) };
                advance();
                tallies.map(|tallies| (tallies, is_settled))
            };
            let settled = tries.into_par_iter().enumerate().map(settle).collect::<Result<Vec<_>, _>>()?;
            let mut survey: Survey = output.1.map(|_, _| Vec::with_capacity(all));
            for (tallies, is_settled) in settled {
                shares.settled += usize::from(is_settled);
                tallies.into_iter().for_each(|(name, tally)| survey[name].push(tally));
            }
            surveys.push(survey);
        }
        Ok((surveys, shares))
    }

    /// What the device says of every channel, output by output, before any of it is checked. The next rows are read while it
    /// works. Not to be called from a thread of rayon's pool, either.
    pub fn first_tries<R: Read + Seek + Send>(
        &mut self,
        recording: &Recording<R>,
        contract: &Contract,
    ) -> Result<Vec<Vec<FirstTry>>, DeviceJudgeError> {
        let mut tries: Vec<Vec<FirstTry>> = recording.layout().outputs.iter().map(|_| Vec::new()).collect();
        let plan = Plan::new(recording, self.piece, self.local.device.info().memory_bytes)?;
        let mut launcher = Launcher::new(
            self.local.device.as_mut(),
            self.local.images.as_ref(),
            recording,
            contract,
            &plan,
        )?;
        std::thread::scope(|scope| {
            // Without room for any: one piece is read while one is judged.
            let (send, receive) = mpsc::sync_channel::<Result<Piece, RecordError>>(0);
            let plan = &plan;
            scope.spawn(move || {
                for rows in plan.pieces() {
                    let piece = plan.read(recording, contract, rows);
                    let failed = piece.is_err();
                    if send.send(piece).is_err() || failed {
                        return;
                    }
                }
            });
            // Where the device fails the receiver goes, and the reader with it.
            for piece in receive {
                let piece = piece?;
                launcher.load(&piece)?;
                for (i, tries) in tries.iter_mut().enumerate() {
                    tries.extend(launcher.judge(&piece, i)?);
                }
            }
            Ok(tries)
        })
    }
}

/// Whether every element of every recorded tensor has passed: what was not looked at settles nothing.
fn is_complete<R: Read + Seek + Send>(
    recording: &Recording<R>,
    tensors: &Named<String>,
    tallies: &Named<QuickTally>,
) -> bool {
    let outline = recording.outline();
    tensors.iter().all(|(name, _)| {
        let (rest, width, _) = outline.layout(name);
        let len = rest.iter().product::<usize>() * width;
        tallies.get(name).is_some_and(|tally| {
            let others = [tally.failed, tally.open, tally.unbounded];
            let place_is_there = tally.worst.is_some_and(|(_, at, _)| at < len);
            tally.passed == len && others == [0; 3] && place_is_there
        })
    })
}

/// Walks a channel on the CPU, too.
fn cross_check<R: Read + Seek + Send>(
    recording: &Recording<R>,
    (name, tensors): (&OutputName, &Named<String>),
    contract: &Contract,
    row: usize,
    (found, found_z): &FirstTry,
) -> Result<(), DeviceJudgeError> {
    let dim = recording.layout().shape.dim;
    let (batch, channel) = (row / dim, row % dim);
    let got = |tensor, elements| recording.outputs(tensors, tensor, (batch, channel), elements);
    let (expected, expected_z) = quick::first_try((name.form, contract), recording, (batch, channel), &got)?;
    let differs = |what: String, found: f64, expected: f64| {
        let output = name.to_string();
        Err(DeviceJudgeError::Differs { output, batch, channel, what, found, expected })
    };
    for tensor in TensorName::SCANNED {
        let [found, expected] =
            [found, &expected].map(|tallies| tallies.get(tensor).copied().unwrap_or_default());
        if let Some((what, found, expected)) = found.difference(&expected) {
            return differs(format!("{what} of {tensor}"), found, expected);
        }
    }
    if found_z.to_bits() != expected_z.to_bits() {
        return differs("the largest |ΔA|".to_owned(), *found_z, expected_z);
    }
    Ok(())
}

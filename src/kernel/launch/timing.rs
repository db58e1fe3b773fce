//! How long a job takes on a device, again and again, its tensors loaded once.

use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::buffer::Guarding;
use super::device::{Device, DeviceError, Footprint, Launch};
use super::job::{Bytes, Job};
use super::loaded::Loaded;
use super::peer::Peer;
use crate::kernel::launch::Result;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Clock {
    /// The device's own, around the launches alone; the host's where it has none.
    #[default]
    Device,
    /// The host's, until the device is done.
    Host,
    /// The host's, until the launches are on their way: what is measured by those who forget to wait.
    Launch,
}

/// How often something is timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// Runs before those that count.
    pub warmups: usize,
    /// Runs that count, at most.
    pub samples: usize,
    /// After so much time no further one is begun; one of each kind is run all the same.
    pub seconds: f64,
}

/// What is to be timed of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timing {
    pub repeats: Repeats,
    pub clock: Clock,
    /// What is run before each cold run, untimed: it reads more than a cache holds. None: warm runs alone.
    pub flush: Option<Job>,
    /// Whether the outputs come back.
    pub collect: bool,
    /// Libraries of other people, which are timed in turn with the kernels.
    pub peers: Vec<PathBuf>,
}

impl Timing {
    /// Of one job by itself: warm runs by the device's clock, and nothing comes back.
    pub fn warm(repeats: Repeats) -> Self {
        Timing { repeats, clock: Clock::Device, flush: None, collect: false, peers: Vec::new() }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Seconds of each run whose data an earlier one has left in the caches, in order.
    pub warm: Vec<f64>,
    /// Seconds of each run after a flush of the caches.
    pub cold: Vec<f64>,
    /// Seconds of the very first run, which nothing had warmed up.
    pub first: f64,
    /// Of each launch.
    pub footprints: Vec<Footprint>,
}

/// Somebody else's scan, timed in turn with the kernels.
pub trait Opponent {
    /// Computes what a launch does, from the tensors that it names. On a GPU its work is on the default stream, and need not be done.
    ///
    /// # Errors
    /// [`DeviceError::Fault`] where it cannot, and is timed no more; anything else ends everybody's timing.
    fn compute(&self, launch: &Launch, gpu: bool) -> Result<()>;

    /// What the last run returned, where it does not write to the launch's own outputs.
    fn returned(&self) -> Option<Bytes> {
        None
    }
}

/// One of those who compute a job in turn.
enum Contestant<'a> {
    /// The kernels.
    Ours,
    Peer(&'a dyn Opponent),
}

/// Times a job, and the libraries of [`Timing::peers`] in turn with it.
pub fn time(device: &mut dyn Device, job: &Job, timing: &Timing) -> Result<Vec<Run>> {
    let peers: Vec<Result<Peer>> = timing.peers.iter().map(|path| Peer::load(path)).collect();
    let opponents = peers.iter().map(|peer| peer.as_ref().map(|peer| peer as &dyn Opponent));
    race(device, job, timing, opponents.map(|peer| peer.map_err(Clone::clone)).collect())
}

/// Loads a job, runs it as often as is asked for, and frees everything: the kernels first, then each opponent, all in turn. What an
/// opponent cannot do is its own error.
pub fn race(
    device: &mut dyn Device,
    job: &Job,
    timing: &Timing,
    opponents: Vec<Result<&dyn Opponent>>,
) -> Result<Vec<Run>> {
    let run = |device: &mut dyn Device| {
        let loaded = job.load(device, Guarding::Off)?;
        let flush = timing.flush.as_ref().map(|flush| flush.load(device, Guarding::Off)).transpose()?;
        let mut race = Race {
            gpu: device.info().needs_images,
            launches: &loaded.launches,
            flush: flush.as_ref().map(|flush| &flush.launches[..]),
            timing,
            alone: opponents.is_empty(),
        };
        let mut runs = vec![Ok(Contestant::Ours)];
        runs.extend(opponents.into_iter().map(|opponent| opponent.map(Contestant::Peer)));
        let all = race.series(device, runs)?;
        let mut runs = Vec::new();
        for one in all {
            runs.push(match one {
                Ok((series, contestant)) if timing.collect => {
                    let outputs = collect(device, &loaded, &race, &contestant);
                    match (outputs, contestant) {
                        (Ok(outputs), _) => Run { series: Ok(series), outputs },
                        (Err(error @ DeviceError::Fault(_)), Contestant::Peer(_)) => {
                            Run { series: Err(error), outputs: Vec::new() }
                        }
                        (Err(error), _) => return Err(error),
                    }
                }
                Ok((series, _)) => Run { series: Ok(series), outputs: Vec::new() },
                Err(error) => Run { series: Err(error), outputs: Vec::new() },
            });
        }
        Ok(runs)
    };
    let timed = run(device);
    device.free_all();
    timed
}

/// The outputs of one more run, of inputs that no peer has changed: one that writes to them is wrong alone.
fn collect(device: &mut dyn Device, loaded: &Loaded, race: &Race, contestant: &Contestant) -> Result<Bytes> {
    if !race.alone {
        loaded.restore(device)?;
    }
    loaded.poison(device)?;
    race.compute(device, contestant)?;
    device.wait()?;
    if matches!(contestant, Contestant::Peer(_)) && !loaded.is_unchanged(device)? {
        return Err(DeviceError::Fault(
            "the peer changes its inputs, expected to read them alone".to_owned(),
        ));
    }
    let own = match contestant {
        Contestant::Peer(peer) => peer.returned(),
        Contestant::Ours => None,
    };
    own.map_or_else(|| loaded.collect(device), Ok)
}

/// What came of one of those who computed a job.
#[derive(Clone, Debug)]
pub struct Run {
    pub series: Result<Series>,
    /// Where they were asked for.
    pub outputs: Bytes,
}

struct Race<'a> {
    gpu: bool,
    launches: &'a [Launch<'a>],
    flush: Option<&'a [Launch<'a>]>,
    timing: &'a Timing,
    alone: bool,
}

type Running<'a> = Result<(Series, Contestant<'a>)>;

impl Race<'_> {
    fn series<'p>(
        &mut self,
        device: &mut dyn Device,
        contestants: Vec<Result<Contestant<'p>>>,
    ) -> Result<Vec<Running<'p>>> {
        let Repeats { warmups, samples, seconds } = self.timing.repeats;
        let begun = Instant::now();
        let elapsed = || begun.elapsed().as_secs_f64();
        let start = |one: Result<Contestant<'p>>| one.map(|one| (Series::default(), one));
        let mut all: Vec<Running> = contestants.into_iter().map(start).collect();
        if let Some(Ok((ours, _))) = all.first_mut() {
            let footprints = self.launches.iter().map(|launch| device.footprint(launch));
            ours.footprints = footprints.collect::<Result<_, _>>()?;
        }
        if samples == 0 {
            return Ok(all);
        }
        self.each(device, &mut all, |series, time| series.first = time)?;
        // The first run is a warm-up, too.
        for _ in 1..warmups {
            if elapsed() > seconds / 8.0 {
                break;
            }
            self.each(device, &mut all, |_, _| {})?;
        }
        // Half of the time for each kind.
        let half = if self.flush.is_some() { seconds / 2.0 } else { seconds };
        for round in 0..samples {
            if round > 0 && elapsed() >= half {
                break;
            }
            self.each(device, &mut all, |series, time| series.warm.push(time))?;
        }
        let Some(flush) = self.flush else { return Ok(all) };
        for round in 0..samples {
            if round > 0 && elapsed() >= seconds {
                break;
            }
            self.each_after(device, &mut all, flush, |series, time| series.cold.push(time))?;
        }
        Ok(all)
    }

    fn each(
        &self,
        device: &mut dyn Device,
        all: &mut [Running],
        keep: impl Fn(&mut Series, f64),
    ) -> Result<()> {
        self.each_after(device, all, &[], keep)
    }

    /// One run of each, after these launches. Whoever fails runs no more; that the device or a kernel of ours does is everybody's end.
    fn each_after(
        &self,
        device: &mut dyn Device,
        all: &mut [Running],
        before: &[Launch],
        keep: impl Fn(&mut Series, f64),
    ) -> Result<()> {
        for running in all {
            let Ok((series, contestant)) = running else { continue };
            before.iter().try_for_each(|launch| device.enqueue(launch))?;
            device.wait()?;
            match self.once(device, contestant) {
                Ok(time) => keep(series, time),
                Err(error @ DeviceError::Fault(_)) if matches!(contestant, Contestant::Peer(_)) => {
                    *running = Err(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Seconds of one run.
    fn once(&self, device: &mut dyn Device, contestant: &Contestant) -> Result<f64> {
        let begun = Instant::now();
        let clock = self.timing.clock;
        if clock == Clock::Device {
            device.start()?;
        }
        self.compute(device, contestant)?;
        match clock {
            Clock::Device => {
                let told = device.stop()?;
                Ok(told.unwrap_or_else(|| begun.elapsed().as_secs_f64()))
            }
            Clock::Host => device.wait().map(|()| begun.elapsed().as_secs_f64()),
            Clock::Launch => {
                let left = begun.elapsed().as_secs_f64();
                device.wait().map(|()| left)
            }
        }
    }

    /// Computes the job, without waiting.
    fn compute(&self, device: &mut dyn Device, contestant: &Contestant) -> Result<()> {
        match contestant {
            Contestant::Ours => self.launches.iter().try_for_each(|launch| device.enqueue(launch)),
            Contestant::Peer(peer) => match self.launches.first() {
                Some(launch) => peer.compute(launch, self.gpu),
                None => Ok(()),
            },
        }
    }
}

//! How long a job takes on a device, again and again, its tensors loaded once.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::buffer::Guarding;
use super::device::{Device, DeviceError, Footprint, Launch};
use super::job::{Bytes, Job};

/// What tells the time.
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
}

/// What was measured of a job.
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

/// Loads a job, runs it as often as is asked for, and frees everything.
///
/// # Errors
/// Those of the device.
pub fn time(device: &mut dyn Device, job: &Job, timing: &Timing) -> Result<(Series, Bytes), DeviceError> {
    let run = |device: &mut dyn Device| {
        let loaded = job.load(device, Guarding::Off)?;
        let flush = timing.flush.as_ref().map(|flush| flush.load(device, Guarding::Off)).transpose()?;
        let flush: Option<&[Launch]> = flush.as_ref().map(|flush| &flush.launches[..]);
        let series = series(device, &loaded.launches, flush, timing)?;
        let outputs = if timing.collect { loaded.collect(device)? } else { Vec::new() };
        Ok((series, outputs))
    };
    let timed = run(device);
    device.free_all();
    timed
}

fn series(
    device: &mut dyn Device,
    launches: &[Launch],
    flush: Option<&[Launch]>,
    timing: &Timing,
) -> Result<Series, DeviceError> {
    let Repeats { warmups, samples, seconds } = timing.repeats;
    let begun = Instant::now();
    let footprints = launches.iter().map(|launch| device.footprint(launch)).collect::<Result<_, _>>()?;
    let mut series = Series { footprints, ..Series::default() };
    if samples == 0 {
        return Ok(series);
    }
    series.first = once(device, launches, timing.clock)?;
    // The first run is a warm-up, too.
    for _ in 1..warmups {
        if begun.elapsed().as_secs_f64() > seconds / 8.0 {
            break;
        }
        once(device, launches, timing.clock)?;
    }
    // Half of the time for each kind.
    let half = if flush.is_some() { seconds / 2.0 } else { seconds };
    while series.warm.len() < samples && (series.warm.is_empty() || begun.elapsed().as_secs_f64() < half) {
        series.warm.push(once(device, launches, timing.clock)?);
    }
    let Some(flush) = flush else { return Ok(series) };
    while series.cold.len() < samples && (series.cold.is_empty() || begun.elapsed().as_secs_f64() < seconds) {
        flush.iter().try_for_each(|launch| device.enqueue(launch))?;
        device.wait()?;
        series.cold.push(once(device, launches, timing.clock)?);
    }
    Ok(series)
}

/// Seconds that the launches take together, one after the other.
fn once(device: &mut dyn Device, launches: &[Launch], clock: Clock) -> Result<f64, DeviceError> {
    let begun = Instant::now();
    if clock == Clock::Device {
        device.start()?;
    }
    launches.iter().try_for_each(|launch| device.enqueue(launch))?;
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

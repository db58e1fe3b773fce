//! A function of the caller's own beside the kernels, in this very process: what a shared library is to [`super::peers`], a closure is here.
//! It is not kept from harming the process, which is the caller's.

use super::machine;
use super::peers::Jury;
use super::plan::{Drawn, raced_timing};
use super::runner::Runner;
use crate::kernel::KernelError;
use crate::kernel::launch::{Clock, DeviceError, Opponent, Repeats, Timing, timing};
use crate::kernel::local::LocalDevice;
use crate::kernel::select::Choice;
use crate::promise::Tier;
use crate::results::Results;
use crate::results::bench::{TimedScan, Work};
use crate::truth;

#[derive(Clone, Debug)]
pub struct Asked {
    /// What the function is called.
    pub name: String,
    pub scan: TimedScan,
    /// [`Choice::Cuda`], or [`Choice::Cpu`] for the kernels' source on this machine's CPU.
    pub choice: Choice,
    pub tier: Tier,
    pub repeats: Repeats,
    /// The device's own where the function's work is on the default stream of this thread's device, else the host's.
    pub clock: Clock,
    pub command: String,
}

/// Times the forward kernel and the function in turn, both on the values that were drawn for the scan, and judges what they computed by the
/// truth of the judged channels.
///
/// # Errors
/// The kernels cannot run here, or have no truth; [`KernelError::Fault`] of what [`Opponent::compute`] ends everything by.
pub fn compare(asked: &Asked, drawn: &Drawn, opponent: &dyn Opponent) -> Result<Results, KernelError> {
    let unavailable = |error: &dyn std::fmt::Display| KernelError::Unavailable(error.to_string());
    let Asked { ref name, scan, choice, tier, repeats, clock, ref command } = *asked;
    let runner = Runner::open(choice, tier).map_err(|error| unavailable(&error))?;
    let truths = truth::scan::solve(&drawn.problem, &[scan.method]).map_err(|error| unavailable(&error))?;
    let truth = truths.first().ok_or_else(|| unavailable(&"it has no truth"))?;
    let machine = machine::measure(&runner, repeats.seconds.min(0.5));
    let what = drawn.scan(Work::Forward, scan.method, &runner);
    let (kernel, mut job) = (what.kernel(), what.job());
    let mut local = match choice {
        Choice::Cuda => LocalDevice::open().map_err(|error| unavailable(&error))?,
        _ => LocalDevice::stand_in(),
    };
    let mut flush = runner.flush();
    {
        let image = |kernel| local.image(kernel).map(|image| image.map(|image| (*image).clone()));
        job.image = image(kernel).map_err(|error| unavailable(&error))?;
        if let Some(then) = kernel.then() {
            job.image_then = image(then).map_err(|error| unavailable(&error))?;
        }
        if let Some(flush) = &mut flush {
            flush.image = image(flush.kernel).map_err(|error| unavailable(&error))?;
        }
    }
    // Each has as long as it would have alone.
    let repeats = Repeats { seconds: 2.0 * repeats.seconds, ..repeats };
    let timing = Timing { repeats, clock, flush, collect: true, peers: Vec::new() };
    let of_device = |error: DeviceError| KernelError::from(error);
    let runs = timing::race(local.device.as_mut(), &job, &timing, vec![Ok(opponent)]).map_err(of_device)?;
    let jury = Jury { scan: what, truth, tier, workspace: job.workspace.bytes() };
    let names = [runner.name(), name.as_str()];
    let timed = runs.into_iter().zip(names).enumerate().map(|(at, (run, name))| {
        let one = run.series.map_err(of_device);
        let raced =
            one.and_then(|series| Ok(jury.judged(at, (series, Some(job.returned_some(&run.outputs)?)))));
        let mut timed = raced_timing(scan, &drawn.problem, name, raced);
        if at > 0 {
            timed.kernel = None;
        }
        timed
    });
    let bench = timed.collect();
    Ok(Results {
        bench,
        machines: vec![machine],
        kernel_source: crate::kernel::production_hash().to_owned(),
        ..Results::empty(1, runner.name(), runner.device(), command.clone())
    })
}

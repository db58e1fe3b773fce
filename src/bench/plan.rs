//! What is timed, in which order, and what is kept of each timing.

use std::sync::{Arc, Mutex, PoisonError};

use super::peers::Raced;
use super::runner::{Runner, Scan};
use super::{Peer, cost, machine, peers, problems};
use crate::kernel::launch::{Footprint, Job, Repeats, Series, Timing};
use crate::kernel::registry::{Dense, Kernel};
use crate::kernel::{self, KernelError};
use crate::method::Method;
use crate::operation::Operation;
use crate::parts::{Divisible, PartError};
use crate::problem::{InputType, OutputGradients, Problem, Shape, Weights};
use crate::promise::Tier;
use crate::results::bench::{Cost, KernelUse, Machine, Spread, Timed, TimedScan, Work};
use crate::results::explained::Explanations;
use crate::results::whole::{Found, Whole};
use crate::results::{Results, Verdict};
use crate::truth;

#[derive(Clone, Debug)]
pub struct Wanted {
    pub methods: Vec<Method>,
    pub shapes: Vec<Shape>,
    /// Those of dense systems, and of more positions than one those of scans with them.
    pub dense: Vec<Shape>,
    pub weights: Vec<Weights>,
    pub inputs: Vec<InputType>,
    /// [`Work::Forward`], [`Work::Backward`] or both.
    pub passes: Vec<Work>,
    /// None: scans alone.
    pub operations: Vec<Operation>,
    pub repeats: Repeats,
    /// Who computes forward scans beside the kernels.
    pub peers: Vec<Peer>,
    pub command: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    Operation {
        operation: Operation,
        runner: usize,
    },
    Scan {
        work: Work,
        scan: TimedScan,
        runner: usize,
    },
    /// As many dense systems as the shape has channels, of its states, or a scan with them.
    Dense {
        work: Work,
        scan: TimedScan,
        runner: usize,
    },
}

pub struct Plan {
    runners: Vec<Runner>,
    units: Vec<Unit>,
    repeats: Repeats,
    peers: Vec<Peer>,
    head: Results,
    /// The problem that was drawn last: units that stand beside each other share it.
    drawn: Mutex<Option<Arc<Drawn>>>,
}

/// A problem, and the gradients that its backward pass is given.
pub struct Drawn {
    of: (Shape, Weights, InputType),
    pub problem: Problem,
    pub given: OutputGradients,
}

impl Drawn {
    pub fn new(shape: Shape, weights: Weights, input: InputType) -> Self {
        let problem = problems::draw(shape, weights, input);
        let given = problems::output_gradients(&problem);
        Drawn { of: (shape, weights, input), problem, given }
    }

    /// Shape of a scan with a dense A.
    fn dense(TimedScan { shape, weights, input, .. }: TimedScan, work: Work) -> Self {
        let is_constant = matches!(work, Work::DenseScanConstant | Work::DenseBackwardConstant);
        let (problem, given) = problems::dense_scan(shape, weights, is_constant);
        Drawn { of: (shape, weights, input), problem, given }
    }

    /// One of its scans, by the kernels of a runner.
    pub fn scan(&self, work: Work, method: Method, runner: &Runner) -> Scan<'_> {
        let given = work.is_backward().then_some(&self.given);
        let forward = runner.spread(method, &self.problem);
        Scan { work, method, problem: &self.problem, given, forward }
    }
}

impl Plan {
    /// Measures what the devices of the runners can do, and lists what is to be timed on each: operations, then scans, problem by
    /// problem, so that what is compared is timed in turn.
    pub fn new(wanted: &Wanted, runners: Vec<Runner>) -> Self {
        let mut units = Vec::new();
        for &operation in &wanted.operations {
            let with_kernels =
                |(_, runner): &(usize, &Runner)| runner.worker().is_some() && !repeats(runner, &runners);
            let of_all = runners.iter().enumerate().filter(with_kernels);
            units.extend(of_all.map(|(runner, _)| Unit::Operation { operation, runner }));
        }
        for &shape in &wanted.dense {
            let works = if shape.seqlen == 1 { &[Work::Dense][..] } else { &Work::DENSE_SCANS };
            for (&weights, &work) in
                wanted.weights.iter().flat_map(|w| works.iter().map(move |work| (w, work)))
            {
                for runner in (0..runners.len()).filter(|&runner| runners[runner].worker().is_some()) {
                    if work.is_backward() && repeats(&runners[runner], &runners) {
                        continue;
                    }
                    let scan = |method| TimedScan { method, weights, input: InputType::F32, shape };
                    let of = |&method| Unit::Dense { work, scan: scan(method), runner };
                    units.extend(wanted.methods.iter().map(of));
                }
            }
        }
        for &shape in &wanted.shapes {
            for &weights in &wanted.weights {
                for &input in &wanted.inputs {
                    for &work in &wanted.passes {
                        for runner in 0..runners.len() {
                            if work == Work::Backward && repeats(&runners[runner], &runners) {
                                continue;
                            }
                            let scan = |method| TimedScan { method, weights, input, shape };
                            let of = |&method| Unit::Scan { work, scan: scan(method), runner };
                            units.extend(wanted.methods.iter().map(of));
                        }
                    }
                }
            }
        }
        let names: Vec<&str> = runners.iter().map(Runner::name).collect();
        let machines: Vec<Machine> =
            runners.iter().map(|runner| machine::measure(runner, wanted.repeats.seconds)).collect();
        let mut devices: Vec<&str> = machines.iter().map(|machine| machine.device.as_str()).collect();
        // Of two tiers.
        devices.dedup();
        let mut head = Results::empty(1, &names.join(","), devices.join("; "), wanted.command.clone());
        head.kernel_source = kernel::production_hash().to_owned();
        head.created = crate::results::date::now();
        head.machines = machines;
        Plan {
            runners,
            units,
            repeats: wanted.repeats,
            peers: wanted.peers.clone(),
            head,
            drawn: Mutex::default(),
        }
    }

    /// Times everything; `progress` is called after each.
    pub fn run(&self, progress: &(dyn Fn() + Sync)) -> Results {
        let whole = Mutex::new(Whole::new(false));
        let lock = || whole.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<usize> = (0..self.units.len()).collect();
        // What is found is only kept: nothing can fail.
        let _ = self.solve(&all, &|unit, found| {
            lock().add(unit, 1, found);
            progress();
            Ok(())
        });
        let whole = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut results = whole.results(self.head.clone());
        for (runner, machine) in self.runners.iter().zip(&mut results.machines) {
            machine.clocks.extend(machine::clock(runner));
        }
        results
    }

    pub fn runners(&self) -> &[Runner] {
        &self.runners
    }

    fn drawn(&self, shape: Shape, weights: Weights, input: InputType) -> Arc<Drawn> {
        let mut last = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(drawn) if drawn.of == (shape, weights, input) => drawn.clone(),
            _ => {
                // Not both at once: they may be large.
                *last = None;
                let drawn = Arc::new(Drawn::new(shape, weights, input));
                *last = Some(drawn.clone());
                drawn
            }
        }
    }

    /// The timings of a unit: of several, where peers compute the same.
    fn time(&self, unit: usize) -> Vec<Timed> {
        match self.units[unit] {
            Unit::Scan { work: Work::Forward, scan, runner }
                if !self.peers.is_empty()
                    && self.runners[runner].worker().is_some()
                    && !repeats(&self.runners[runner], &self.runners) =>
            {
                self.race(scan, &self.runners[runner])
            }
            _ => vec![self.alone(unit)],
        }
    }

    /// A forward scan by the kernels and by every peer.
    fn race(&self, scan: TimedScan, runner: &Runner) -> Vec<Timed> {
        let drawn = self.drawn(scan.shape, scan.weights, scan.input);
        let what = drawn.scan(Work::Forward, scan.method, runner);
        let solved = truth::scan::solve(&drawn.problem, &[scan.method]);
        let solved = solved.map_err(|error| KernelError::Unavailable(error.to_string()));
        let raced = solved.and_then(|truths| match truths.first() {
            Some(truth) => peers::race(runner, what, truth, &self.peers, self.repeats),
            None => Err(KernelError::Unavailable("it has no truth".to_owned())),
        });
        let names = std::iter::once(None).chain(self.peers.iter().map(|peer| Some(&peer.name)));
        let mut all = raced.map(|all| all.into_iter());
        let timed = |name: Option<&String>| {
            let one = match &mut all {
                Ok(all) => {
                    all.next().unwrap_or_else(|| Err(KernelError::Unavailable("it was not run".to_owned())))
                }
                Err(error) => Err(error.clone()),
            };
            let backend = name.map_or(runner.name(), String::as_str);
            let mut timed = raced_timing(scan, &drawn.problem, backend, one);
            if name.is_some() {
                timed.kernel = None;
            }
            timed
        };
        names.map(timed).collect()
    }

    fn alone(&self, unit: usize) -> Timed {
        let id = self.id(unit);
        match self.units[unit] {
            Unit::Operation { operation, runner } => {
                let runner = &self.runners[runner];
                let n = if runner.is_gpu() { 1 << 24 } else { 1 << 15 };
                let job = Job::operation(operation, &problems::arguments(n));
                let series = runner.time(Kernel::Measure(operation), || job, &Timing::warm(self.repeats));
                let cost = cost::operation(operation, n);
                let series = series.map(|(series, _)| (series, 0));
                let timed = timed((id, runner.name()), Work::Operation, cost, series);
                Timed { operation: Some(operation), ..timed }
            }
            Unit::Dense { work, scan, runner } => dense(id, work, scan, &self.runners[runner], self.repeats),
            Unit::Scan { work, scan, runner } => {
                let runner = &self.runners[runner];
                let drawn = self.drawn(scan.shape, scan.weights, scan.input);
                let what = drawn.scan(work, scan.method, runner);
                let series = runner.scan(what, self.repeats);
                let cost = cost::scan(scan.method, work, &drawn.problem);
                let timed = timed((id, runner.name()), work, cost, series);
                Timed { scan: Some(scan), ..timed }
            }
        }
    }

    fn id(&self, unit: usize) -> String {
        match self.units[unit] {
            Unit::Operation { operation, runner } => {
                format!("operation/{operation}/{}", self.runners[runner].name())
            }
            Unit::Scan { work, scan, runner } => scan_id(work, scan, self.runners[runner].name()),
            Unit::Dense { work, scan, runner } => scan_id(work, scan, self.runners[runner].name()),
        }
    }
}

fn scan_id(work: Work, scan: TimedScan, backend: &str) -> String {
    let TimedScan { method, weights, input, shape: Shape { batch, dim, dstate, seqlen, .. } } = scan;
    format!("{work}/{weights}/{input}/b{batch}-d{dim}-n{dstate}-l{seqlen}/{method}/{backend}")
}

/// Times dense systems or a scan with them, and judges some of them.
fn dense(id: String, work: Work, scan: TimedScan, runner: &Runner, repeats: Repeats) -> Timed {
    let TimedScan { method, weights, shape, .. } = scan;
    let (cost, series, judged) = if work == Work::Dense {
        let problem = problems::dense(shape, weights);
        let which = Dense::new(method, weights, runner.tier(), shape.dstate);
        let job = || Job::dense(which, &problem);
        let series = runner.time(Kernel::Dense(which), job, &Timing::warm(repeats));
        let few = problems::dense(Shape { batch: 1, dim: JUDGED, ..shape }, weights);
        let cost = cost::dense(method, &problem);
        (cost, series.map(|(series, _)| (series, 0)), runner.judge_dense(method, &few))
    } else {
        let drawn = Drawn::dense(scan, work);
        let short = Shape { batch: 1, dim: 1, seqlen: JUDGED_POSITIONS, ..shape };
        let few = Drawn::dense(TimedScan { shape: short, ..scan }, work);
        let series = runner.scan(drawn.scan(work, method, runner), repeats);
        let cost = cost::dense_scan(method, work, &drawn.problem);
        (cost, series, runner.judge_dense_scan(few.scan(work, method, runner)))
    };
    let mut timed = timed((id, runner.name()), work, cost, series);
    match judged {
        Ok(judged) => {
            (timed.verdict, timed.share, timed.error) =
                (timed.verdict.max(judged.verdict), Some(judged.share), Some(judged.error))
        }
        Err(error) => (timed.verdict, timed.reason) = (Verdict::Unmeasured, error.to_string()),
    }
    Timed { scan: Some(scan), ..timed }
}

/// Dense systems whose results are judged.
const JUDGED: usize = 16;

/// Positions of a channel that are judged: truths of 64 states take long.
const JUDGED_POSITIONS: usize = 2;

/// What is kept of one of those who raced.
pub(super) fn raced_timing(
    scan: TimedScan,
    problem: &Problem,
    backend: &str,
    raced: Result<Raced, KernelError>,
) -> Timed {
    let (series, found) = match raced {
        Ok(raced) => (Ok((raced.series, raced.workspace)), Some((raced.verdict, raced.share, raced.reason))),
        Err(error) => (Err(error), None),
    };
    let cost = cost::scan(scan.method, Work::Forward, problem);
    let id = scan_id(Work::Forward, scan, backend);
    let mut timed = Timed { scan: Some(scan), ..timed((id, backend), Work::Forward, cost, series) };
    if let Some((verdict, share, reason)) = found {
        timed.verdict = timed.verdict.max(verdict);
        timed.share = share;
        let both = [timed.reason, reason];
        timed.reason = both.into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join("; ");
    }
    timed
}

/// Whether a runner is of another tier than one on the same device: what has no tier, and what peers do, is then timed once.
fn repeats(runner: &Runner, all: &[Runner]) -> bool {
    let is_accurate = |other: &Runner| other.choice() == runner.choice() && other.tier() == Tier::Accurate;
    runner.tier() != Tier::Accurate && all.iter().any(is_accurate)
}

/// What is kept of a series.
fn timed(
    (id, backend): (String, &str),
    work: Work,
    cost: Cost,
    series: Result<(Series, usize), KernelError>,
) -> Timed {
    let ((series, workspace), reason) = match series {
        Ok(series) => (series, String::new()),
        Err(error) => (Default::default(), error.to_string()),
    };
    let warm = Spread::of(&series.warm);
    let verdict = if warm.is_some() { Verdict::Pass } else { Verdict::Unmeasured };
    // The launch that does the work: before a scan come the steps of its chunks, and after a backward one its sums.
    let kernel = if work.is_backward() { series.footprints.first() } else { series.footprints.last() };
    Timed {
        id,
        work,
        scan: None,
        operation: None,
        backend: backend.to_owned(),
        verdict,
        reason: if warm.is_none() && reason.is_empty() { "no run was asked for".to_owned() } else { reason },
        cost,
        warm,
        cold: Spread::of(&series.cold),
        first: warm.map(|_| series.first),
        kernel: kernel.map(|kernel| kernel_use(kernel, workspace)),
        share: None,
        error: None,
    }
}

fn kernel_use(footprint: &Footprint, workspace: usize) -> KernelUse {
    let &Footprint { blocks, threads, registers, local_bytes, shared_bytes, occupancy } = footprint;
    let workspace_bytes = workspace as f64;
    KernelUse { blocks, threads, registers, local_bytes, shared_bytes, occupancy, workspace_bytes }
}

impl Divisible for Plan {
    fn units(&self) -> Vec<String> {
        (0..self.units.len()).map(|unit| self.id(unit)).collect()
    }

    fn costs(&self) -> Vec<u64> {
        // A timing takes its seconds, whatever it is of; drawing the problem comes to that.
        let cost = |unit: &Unit| match unit {
            Unit::Operation { .. } | Unit::Dense { .. } => 1,
            Unit::Scan { scan, .. } => 1 + (scan.shape.sequence_len() >> 24) as u64,
        };
        self.units.iter().map(cost).collect()
    }

    fn head(&self) -> Results {
        self.head.clone()
    }

    /// One after the other: what is timed runs alone.
    fn solve(
        &self,
        units: &[usize],
        found: &(dyn Fn(usize, Found) -> Result<(), PartError> + Sync),
    ) -> Result<(), PartError> {
        units.iter().try_for_each(|&unit| found(unit, Found { bench: self.time(unit), ..Found::default() }))
    }

    fn explain(&self, _: &Results) -> Explanations {
        Explanations::default()
    }
}

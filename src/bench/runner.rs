//! What times a kernel: a worker process, on a GPU or with the CPU in its place; the reference path is timed in this one.

use std::cell::Cell;
use std::time::Instant;

use crate::case;
use crate::judge::budget::gradient::Pass;
use crate::judge::dense::{self, Bounded};
use crate::judge::{self, budget};
use crate::kernel::cuda::{CudaBackend, CudaError, Setup, worker};
use crate::kernel::launch::{Job, Repeats, Returned, Series, Timing};
use crate::kernel::registry::{Instantiation, Kernel, Spread};
use crate::kernel::select::Choice;
use crate::kernel::{Backend, CpuBackend, KernelError, ReferenceBackend};
use crate::method::Method;
use crate::operation::Operation;
use crate::problem::dense::DenseProblem;
use crate::problem::{OutputGradients, Problem};
use crate::promise::{Promise, Tier};
use crate::results::bench::Work;
use crate::results::{TensorResult, Verdict};
use crate::truth;

/// What is flushed where a cache's size is not known.
const SOME_CACHE: u64 = 32 << 20;
/// The most that is read to flush a cache.
const MOST_FLUSHED: u64 = 1 << 30;

/// What times kernels.
pub enum Runner {
    /// The production kernels, under the name of their backend.
    Kernels { choice: Choice, worker: Box<CudaBackend> },
    /// The sequential f32 path.
    Reference,
}

/// Judgement of dense systems: the worst share of a bound, and the largest error of an Ā over its size, in Frobenius' norm.
pub struct JudgedDense {
    pub verdict: Verdict,
    pub share: f64,
    pub error: f64,
}

/// A scan that is timed.
#[derive(Clone, Copy)]
pub struct Scan<'a> {
    pub work: Work,
    pub method: Method,
    pub problem: &'a Problem,
    /// Of a backward one.
    pub given: Option<&'a OutputGradients>,
    /// How a forward one is spread over the device.
    pub forward: Spread,
}

impl Scan<'_> {
    pub fn job(&self) -> Job {
        match self.given {
            Some(given) => Job::backward(self.method, self.problem, given, self.problem.input.into()),
            None if self.problem.is_dense() => Job::dense_scan(self.forward.which, self.problem),
            None => Job::spread_scan(self.forward, self.problem, self.problem.input.into()),
        }
    }

    pub fn kernel(&self) -> Kernel {
        let which = Instantiation::for_problem(self.method, self.problem);
        match self.given {
            Some(_) if self.problem.is_dense() => Kernel::DenseBackward(which),
            Some(_) => Kernel::Backward(which),
            None if self.problem.is_dense() => Kernel::DenseScan(self.forward.which),
            None => self.forward.kernel(),
        }
    }
}

impl Runner {
    /// The runner of a backend and tier; of `auto` a GPU's where there is one.
    pub fn open(choice: Choice, tier: Tier) -> Result<Runner, CudaError> {
        match choice {
            Choice::Reference => Ok(Runner::Reference),
            Choice::Cpu => Runner::on_cpu(Setup::from_environment(worker::this_program()?), tier),
            Choice::Cuda => {
                let worker = Box::new(CudaBackend::new()?.in_tier(tier));
                Ok(Runner::Kernels { choice, worker })
            }
            Choice::Auto => Runner::open(Choice::Cuda, tier).or_else(|_| Runner::open(Choice::Cpu, tier)),
        }
    }

    /// The kernels built for this CPU, in a worker that is set up so.
    pub fn on_cpu(mut setup: Setup, tier: Tier) -> Result<Runner, CudaError> {
        setup.program.arguments.extend(["--stand-in".to_owned(), usize::MAX.to_string()]);
        let worker = Box::new(CudaBackend::with_setup(setup)?.in_tier(tier));
        Ok(Runner::Kernels { choice: Choice::Cpu, worker })
    }

    /// As `--backend` has it, with the tier where that is not the accurate one.
    pub fn name(&self) -> &'static str {
        match (self.choice(), self.tier()) {
            (Choice::Cuda, Tier::Fast) => "cuda-fast",
            (Choice::Cpu, Tier::Fast) => "cpu-fast",
            (choice, _) => choice.name(),
        }
    }

    pub fn choice(&self) -> Choice {
        match self {
            Runner::Kernels { choice, .. } => *choice,
            Runner::Reference => Choice::Reference,
        }
    }

    /// How it scans a problem forward; the reference path has one way.
    pub fn spread(&self, method: Method, problem: &Problem) -> Spread {
        match self.worker() {
            Some(worker) => worker.spread(method, problem),
            None => Spread::unsplit(Instantiation::for_problem(method, problem), problem.shape.seqlen),
        }
    }

    pub fn tier(&self) -> Tier {
        self.worker().map_or(Tier::Accurate, |worker| worker.tier())
    }

    pub fn is_gpu(&self) -> bool {
        self.choice() == Choice::Cuda
    }

    pub fn device(&self) -> String {
        match self {
            Runner::Kernels { worker, .. } if self.is_gpu() => worker.device(),
            Runner::Kernels { .. } => CpuBackend::new().device(),
            Runner::Reference => ReferenceBackend.device(),
        }
    }

    pub fn worker(&self) -> Option<&CudaBackend> {
        match self {
            Runner::Kernels { worker, .. } => Some(worker),
            Runner::Reference => None,
        }
    }

    /// Reads more than the device's cache holds.
    pub fn flush(&self) -> Option<Job> {
        let cache = match self.worker()?.info().cache_bytes {
            0 => SOME_CACHE,
            known => known,
        };
        let floats = (2 * cache).min(MOST_FLUSHED) / 16 * 4;
        Some(Job::machine(Operation::Read, floats as usize, 0))
    }

    /// Times a scan, warm and cold; with the bytes that its kernel takes beside inputs and outputs.
    pub fn scan(&self, scan: Scan, repeats: Repeats) -> Result<(Series, usize), KernelError> {
        match self {
            Runner::Kernels { .. } => {
                let timing = Timing { flush: self.flush(), ..Timing::warm(repeats) };
                let workspace = Cell::new(0);
                let job = || {
                    let job = scan.job();
                    workspace.set(job.workspace.bytes());
                    job
                };
                let (series, _) = self.time(scan.kernel(), job, &timing)?;
                Ok((series, workspace.get()))
            }
            Runner::Reference => here(repeats, || match scan.given {
                None => ReferenceBackend.scan(scan.method, scan.problem).map(drop),
                Some(given) => match ReferenceBackend.gradients(scan.method, scan.problem, given) {
                    Some(result) => result.map(drop),
                    None => Err(KernelError::Unavailable("it has no backward pass".to_owned())),
                },
            })
            .map(|series| (series, 0)),
        }
    }

    /// Runs dense systems and judges them.
    ///
    /// # Errors
    /// They cannot be run, or have no truth.
    pub fn judge_dense(&self, method: Method, problem: &DenseProblem) -> Result<JudgedDense, KernelError> {
        let none = || KernelError::Unavailable("it has no kernel of dense systems".to_owned());
        let worker = self.worker().ok_or_else(none)?;
        let promise = Promise::of_tier(self.tier()).dense.ok_or_else(none)?;
        let got = worker.dense(method, problem).ok_or_else(none)??;
        let all: Vec<usize> = (0..problem.delta.len()).collect();
        let systems = case::dense::systems(problem, &all, promise);
        let wanted = case::dense::wanted(method.into(), problem, &systems, systems.len());
        let wanted = wanted.map_err(|error| KernelError::Unavailable(error.to_string()))?;
        let tensors = dense::judge(&wanted, &dense::stored(&got));
        let relative = |(at, both): (usize, &[Bounded; 2])| {
            let got = problem.matrix(&got.a_bar, at, problem.n);
            (got - &both[0].value).norm() / both[0].value.norm()
        };
        Ok(JudgedDense {
            verdict: Verdict::of_all(tensors.values().map(|tensor| tensor.verdict)),
            share: tensors.values().map(share).fold(0.0, f64::max),
            error: wanted.matrices.iter().enumerate().map(relative).fold(0.0, f64::max),
        })
    }

    /// Runs a scan with a dense A, or its gradients, and judges it; the error is the largest of its tensors.
    ///
    /// # Errors
    /// It cannot be run, or has no truth.
    pub fn judge_dense_scan(&self, scan: Scan) -> Result<JudgedDense, KernelError> {
        let Scan { method, problem, given, .. } = scan;
        let none = || KernelError::Unavailable("it has no kernel of scans with a dense A".to_owned());
        let worker = self.worker().ok_or_else(none)?;
        let promise = Promise::of_tier(self.tier());
        let tensors: Vec<TensorResult> = match given {
            Some(given) => {
                let contract = &promise.backward.ok_or_else(none)?;
                let got = worker.gradients(method, problem, given).ok_or_else(none)??;
                let pass = Pass { form: method.into(), problem, given, contract };
                case::gradients(pass, &got, false, &|| {}).tensors.values().cloned().collect()
            }
            None => {
                let got = worker.dense_scan(method, problem).ok_or_else(none)??;
                let truth = truth::scan::solve(problem, &[method]);
                let truth = truth.map_err(|error| KernelError::Unavailable(error.to_string()))?;
                let budget = budget::scan(method, problem, &promise.contract);
                judge::scan::judge(method, problem, &got, &truth[0].tensors, &budget)
                    .values()
                    .cloned()
                    .collect()
            }
        };
        Ok(JudgedDense {
            verdict: Verdict::of_all(tensors.iter().map(|tensor| tensor.verdict)),
            share: tensors.iter().map(share).fold(0.0, f64::max),
            error: tensors.iter().map(|tensor| tensor.rel_l2).fold(0.0, f64::max),
        })
    }

    /// Times a job in the worker.
    ///
    /// # Errors
    /// It cannot run; there is no worker.
    pub fn time(
        &self,
        kernel: Kernel,
        job: impl FnOnce() -> Job,
        timing: &Timing,
    ) -> Result<(Series, Option<Returned>), KernelError> {
        match self.worker() {
            Some(worker) => worker.time(kernel, job, timing),
            None => Err(KernelError::Unavailable("the reference path has no kernels".to_owned())),
        }
    }
}

/// Worst share of a bound.
fn share(tensor: &TensorResult) -> f64 {
    tensor.worst.as_ref().map_or(0.0, |worst| worst.share)
}

/// Times work of this process. Its caches cannot be flushed: what it reads is the allocator's matter.
fn here(repeats: Repeats, work: impl Fn() -> Result<(), KernelError>) -> Result<Series, KernelError> {
    let Repeats { warmups, samples, seconds } = repeats;
    let begun = Instant::now();
    let once = || {
        let begun = Instant::now();
        work().map(|()| begun.elapsed().as_secs_f64())
    };
    let mut series = Series { first: once()?, ..Series::default() };
    for _ in 1..warmups {
        if begun.elapsed().as_secs_f64() > seconds / 8.0 {
            break;
        }
        once()?;
    }
    while series.warm.len() < samples && (series.warm.is_empty() || begun.elapsed().as_secs_f64() < seconds) {
        series.warm.push(once()?);
    }
    Ok(series)
}

//! **holdfast** answers one question for people who write state-space-model kernels: *does this kernel
//! compute what its formula says, as accurately as its arithmetic allows, and if not, what is wrong with it?*
//!
//! The [`guide`] says how to run it and how to read its answers. This page is the map of the code.
//!
//! # The rooms
//!
//! ```text
//! problem ──► truth  ──┐
//!     │                ├──► judge ──► results ──► report
//!     └────► kernel ───┘
//! ```
//!
//! - [`problem`]: shapes, named regimes, inputs from a seed, recorded runs. Knows nothing of the rest.
//! - [`truth`]: high-precision results for a problem, with certificates. Never sees a kernel.
//! - [`kernel`]: everything that computes the same problem in production precision. Never sees the truth.
//! - [`promise`]: what a kernel, a header or a recording states of itself, and the judge may count on.
//! - [`analysis`]: what the methods are as approximations, measured with the truth; no kernel involved.
//! - [`judge`]: plain arrays from both sides in; bounds, verdicts and pairwise matrices out.
//! - [`results`]: what a run found, as plain values; verdicts made of many; two runs compared.
//! - [`report`]: renders results. Computes nothing.
//!
//! Each room opens with an example of its own; this is the way through all of them:
//!
//! ```no_run
//! use holdfast::kernel::CpuBackend;
//! use holdfast::verify::{Request, verify};
//!
//! let results = verify(&Request::everything(1), &CpuBackend::new(), &|| {});
//! print!("{}", holdfast::report::console::render(&results, None, false));
//! holdfast::report::write(&results, "reports/latest".as_ref())?;
//! # Ok::<(), holdfast::report::ReportError>(())
//! ```
//!
//! # Where to look
//!
//! | for | see |
//! |---|---|
//! | what the methods are, and what every number means | [`spec`], which comments cite as `spec.md` |
//! | why a bound is what it is | [`judge::budget`], [`promise::allowance`] |
//! | why the truth is one | [`truth::dense::floor`], [`truth::certify`] |
//! | why a bound of a dense step is what it is | [`judge::dense::bounds`] |
//! | what a gradient is | [`truth::gradient`] |
//! | how Mamba-3's rule is judged | [`trapezoidal`], [`judge::trapezoidal`] |
//! | which inputs are hard | [`problem::regime`] |
//! | where a failure is | [`judge::location`] |
//! | what a failure can look like | [`judge::explain`], [`judge::diagnose`] |
//! | what a kernel computes, as a program with edits | [`program`], [`judge::explain`] |
//! | what a failure of gradients can look like | [`judge::explain::gradients`] |
//! | what a word means | [`guide::glossary`] |
//! | what `results.json` holds | [`guide::results`], [`results`] |
//! | how two runs are compared | [`results::compare`] |
//! | how the functions inside a kernel are tried at every f32 | [`functions`], [`scalar_function`] |
//! | how one run is done in parts, on many machines | [`parts`], [`results::whole`], [`verify::Plan`], [`check::files`] |
//! | what a table of results holds | [`report::parquet`] |
//!
//! [`verify`] walks a problem through all of them, [`check`](mod@check) a recorded run through all but the
//! kernel, [`diff`](mod@diff) two revisions of a foreign header through all; [`case`] is what the first two do to each
//! case, [`parts`] are the files of a run that is divided, [`cli`] is the command line around them.
//! `src/python/`, a crate of its own, is the Python package.
//! [`functions`] walks single functions over all of f32, which [`scalar_function`] names.
//! [`program`] is a run's specification as a small graph that can be edited, in which the judge looks for what a wrong kernel computes.
//! [`trapezoidal`] is Mamba-3's rule as a program over any numbers, with which truth and judge each do their part.
//! [`method`] names the methods, [`formula`] says what they compute, [`tensor`] gives tensors their names, [`hexfloat`]
//! writes numbers exactly, `notation` powers and sums, [`tensor_file`] reads safetensors files without trusting them, and [`leftovers`] is what an
//! interrupt must not leave behind.

#[doc(inline)]
pub use holdfast_base::{
    formula, hexfloat, leftovers, method, named, operation, problem, promise, results, scalar_function,
    tensor, tensor_file, trapezoidal,
};
#[doc(inline)]
pub use holdfast_judge::{judge, program};
#[cfg(feature = "kernels")]
#[doc(inline)]
pub use holdfast_kernel::kernel;
#[cfg(feature = "report")]
#[doc(inline)]
pub use holdfast_report::report;
#[cfg(feature = "cli")]
#[doc(inline)]
pub use holdfast_runs::cli;
#[cfg(feature = "kernels")]
#[doc(inline)]
pub use holdfast_runs::{bench, diff, functions, verify};
#[doc(inline)]
pub use holdfast_runs::{case, check, parts, testing};
#[doc(inline)]
pub use holdfast_truth::{analysis, truth};

#[cfg(doc)]
pub mod guide;
#[doc = include_str!("spec.md")]
pub mod spec {}

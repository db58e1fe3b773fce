//! `holdfast list`: the names that other commands take, each with what there is to know about it.

use clap::ValueEnum;

use super::{Outcome, PASSED};
use crate::judge::explain::{self, gradients};
use crate::kernel::cpu::CpuBackend;
use crate::kernel::cuda::CudaBackend;
use crate::kernel::select::Choice;
use crate::kernel::{Backend, ReferenceBackend};
use crate::method::Method;
use crate::problem::dense;
use crate::problem::regime::{self, Regime};
use crate::problem::sweep;
use crate::report::console;
use crate::report::text::{count, wrap};
use crate::results::bench::Check;
use crate::scalar_function::ScalarFunction;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    holdfast list                 which lists there are\n  \
    holdfast list regimes         what `--regime` takes, and why each is hard\n  \
    holdfast list faults          what a failure is compared with")]
pub struct Args {
    /// Name of the list [default: which lists there are]
    pub what: Option<What>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Methods and their formulas
    Methods,
    /// Regimes and sweeps of hard inputs
    Regimes,
    /// Functions of one float that `holdfast sweep` judges
    Functions,
    /// Backends, which run the kernels, and whether they can here
    Backends,
    /// Fault models: what a failure is compared with
    Faults,
    /// Mistakes of benchmarks that `holdfast bench --checks` tries
    Checks,
}

pub fn run(args: &Args) -> Outcome {
    Outcome::new(args.what.map_or_else(index, What::text), PASSED)
}

/// A line for each list.
fn index() -> String {
    let mut text = String::new();
    for what in What::value_variants() {
        let value = what.to_possible_value().expect("no list is hidden");
        let about = value.get_help().map(|help| help.to_string().to_lowercase()).unwrap_or_default();
        text += &row(value.get_name(), 9, &format!("{} {about}", what.count()));
    }
    text + "`holdfast list regimes` shows one of them, each name with what it stands for\n"
}

impl What {
    fn count(self) -> usize {
        match self {
            What::Methods => Method::ALL.len(),
            What::Regimes => regime::all().len() + sweep::all().len() + dense::all().len(),
            What::Functions => ScalarFunction::ALL.len(),
            What::Backends => Choice::ALL.len(),
            What::Faults => {
                let (of_edits, of_rules) = gradients::listed();
                explain::names().len() + of_edits.len() + of_rules.len()
            }
            What::Checks => Check::ALL.len(),
        }
    }

    fn text(self) -> String {
        match self {
            What::Methods => methods(),
            What::Regimes => regimes(),
            What::Functions => functions(),
            What::Backends => backends(),
            What::Faults => faults(),
            What::Checks => checks(),
        }
    }
}

/// `name` in a column, and then what belongs to it, wrapped.
fn row(name: &str, width: usize, text: &str) -> String {
    wrap(&format!("  {name:width$}  "), text, console::width()) + "\n"
}

fn methods() -> String {
    let mut text = format!("{} (z = ΔA; spec.md §2)\n", count(Method::ALL.len(), "method"));
    for method in Method::ALL {
        let scan = if method.is_bidirectional() { ", scanned in both directions and averaged" } else { "" };
        let formula = format!("Ā = {}, B̄ = {}{scan}", method.a_bar_formula(), method.b_bar_formula());
        text += &row(&format!("{} {method}", method.id()), 11, &formula);
    }
    text
}

fn regimes() -> String {
    let mut text = format!("{} of scans\n", count(regime::all().len(), "regime"));
    for Regime { name, why, weights, recipe, .. } in regime::all() {
        let weights: Vec<_> = weights.iter().map(|w| w.name()).collect();
        text += &row(name, 16, &format!("{why} ({} weights, {})", weights.join(" and "), recipe.shape));
    }
    let sweeps = sweep::all();
    text += &format!("\n{} of coefficients, run whenever no regime is named\n", count(sweeps.len(), "sweep"));
    for sweep in sweeps {
        text += &row(sweep.name, 19, &format!("{} ({} weights)", sweep.why, sweep.weights));
    }
    let dense = dense::all();
    text += &format!(
        "\n{} of dense systems, run whenever no regime is named, or alone by --dense\n",
        count(dense.len(), "regime")
    );
    for regime in dense {
        text += &row(
            regime.name,
            16,
            &format!("{} ({} weights, n{} m{})", regime.why, regime.weights, regime.n, regime.m),
        );
    }
    text
}

fn functions() -> String {
    let mut text = format!(
        "{} of one float that the kernels are made of\n",
        count(ScalarFunction::ALL.len(), "function")
    );
    for function in ScalarFunction::ALL {
        text += &row(function.name(), 20, function.what());
    }
    text
}

fn checks() -> String {
    let mut text = format!("{} of timings (holdfast bench --checks)\n", count(Check::ALL.len(), "check"));
    for check in Check::ALL {
        text += &row(check.name(), 14, check.what());
    }
    text
}

fn backends() -> String {
    let about = |choice| match choice {
        Choice::Auto => {
            "cuda where it can run, else cpu; VIM_USE_CUDA_KERNEL=1 or 0 decides as in production".to_owned()
        }
        Choice::Cuda => match CudaBackend::new() {
            Ok(backend) => format!("the CUDA kernels on a GPU; runs here: {}", backend.device()),
            Err(error) => format!("the CUDA kernels on a GPU; cannot run here: {error}"),
        },
        Choice::Cpu => {
            format!("the same kernel source on the CPU; runs here: {}", CpuBackend::new().device())
        }
        Choice::Reference => {
            format!("a baseline without a kernel; runs here: {}", ReferenceBackend.device())
        }
    };
    let mut text = format!("{} (holdfast doctor says more)\n", count(Choice::ALL.len(), "backend"));
    for choice in Choice::ALL {
        text += &row(choice.name(), 9, &about(choice));
    }
    text
}

fn faults() -> String {
    let (names, (of_gradients, of_rules)) = (explain::names(), gradients::listed());
    let heading = format!(
        "{} of edits of forward passes that scripts may know; any other edit has a name that is made of its place and of what is there, \
         as skip-missing, delta-late or c-states-reversed. Then {} of backward passes, and {} of ways to differentiate. What is computed \
         in the place of what is specified is said in words with each",
        count(names.len(), "name"),
        of_gradients.len(),
        of_rules.len()
    );
    let mut text = wrap("", &heading, console::width()) + "\n";
    text += &wrap("  ", &names.join(", "), console::width());
    text += &format!("\n\n{} of edits of backward passes\n", count(of_gradients.len(), "name"));
    text += &wrap("  ", &of_gradients.join(", "), console::width());
    text += &format!("\n\n{} to differentiate\n", count(of_rules.len(), "way"));
    for (name, what) in of_rules {
        text += &row(&name, 40, &what);
    }
    text
}

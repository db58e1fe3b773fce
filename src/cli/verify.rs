//! `holdfast verify`: runs a backend over the planned problems and writes the report.

use std::path::{Path, PathBuf};

use super::check::quoted;
use super::output::{self, Progress};
use super::show::Show;
use super::{CliError, Outcome, names};
use crate::kernel::Backend;
use crate::kernel::foreign::Header;
use crate::kernel::select::{self, Choice};
use crate::method::Method;
use crate::problem::plan::Filter;
use crate::problem::regime::Regime;
use crate::problem::{InputType, Operand, Weights};
use crate::results::{HeaderInstantiation, HeaderNote, Verdict};
use crate::verify::{Request, verify};

/// What takes the place of the lifted runs' line where a header is judged.
const NOT_LIFTED: &str =
    "lifted to double: not compared for a header; it only helps to diagnose what fails on a CPU\n";

/// For a header that fails and computes with powers of two: the likeliest mistake is one of usage.
const MAYBE_LOG2E: &str =
    "hint: this header calls exp2; if its callers pass A·log₂e, say so by --a-times-log2e\n";

/// Where the report of an unfiltered run goes.
pub const DEFAULT_REPORT: &str = "reports/latest";

#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = "Examples:\n  \
    holdfast verify                                       everything, report into reports/latest/\n  \
    holdfast verify --method foh --weights complex        one method's complex kernels\n  \
    holdfast verify --regime stiff --seed 7 --out /tmp/r  other random inputs, report elsewhere\n  \
    holdfast verify --header discretization_kernels.cuh   somebody else's coefficients, in f32\n\n\
    A filtered run writes a report only where --out names a directory. `holdfast list` shows every name.\n\n\
    Exit status: 0 all verdicts pass; 1 some verdict fails or could not be measured; 2 bad input or usage; \
    3 the requested backend cannot run here; 130 interrupted.")]
pub struct Args {
    /// Methods to run, by name or id; may be repeated [default: all]
    #[arg(long = "method", value_name = "M", value_parser = names::method())]
    pub methods: Vec<Method>,
    /// Only real or only complex weights
    #[arg(long, value_parser = names::weights())]
    pub weights: Option<Weights>,
    /// Only this input type
    #[arg(long, value_parser = names::input())]
    pub input: Option<InputType>,
    /// Only this layout of B
    #[arg(long, value_parser = names::operand())]
    pub b: Option<Operand>,
    /// Only this layout of C
    #[arg(long, value_parser = names::operand())]
    pub c: Option<Operand>,
    /// Regimes to run, as `holdfast list regimes` names them; may be repeated [default: all]
    #[arg(long = "regime", value_name = "R", value_parser = names::regime(), hide_possible_values = true)]
    pub regimes: Vec<&'static Regime>,
    /// Only the invariants: no case, no sweep, no truth
    #[arg(long, conflicts_with_all = ["regimes", "input", "b", "c"])]
    pub invariants_only: bool,
    /// Judge this header of coefficients in place of the production kernels
    #[arg(long, value_name = "FILE.cuh", value_hint = clap::ValueHint::FilePath)]
    pub header: Option<PathBuf>,
    /// The header's callers pass A·log₂e (of a complex A, the real part times log₂e) in place of A
    #[arg(long, requires = "header")]
    pub a_times_log2e: bool,
    /// What runs the kernels
    #[arg(long, default_value = "auto", value_parser = names::backend())]
    pub backend: Choice,
    #[command(flatten)]
    pub output: output::Args,
}

/// What runs, why, and what the compiler said of a header.
struct RunSetup {
    backend: Box<dyn Backend>,
    why: String,
    header: Option<HeaderNote>,
    /// Whether it is a header that computes with powers of two.
    calls_exp2: bool,
}

impl Args {
    fn request(&self) -> Request {
        Request {
            filter: Filter {
                regimes: self.regimes.clone(),
                weights: self.weights.into_iter().collect(),
                inputs: self.input.or(self.header.as_ref().map(|_| InputType::F32)).into_iter().collect(),
                b: self.b.into_iter().collect(),
                c: self.c.into_iter().collect(),
            },
            methods: names::methods_or_all(&self.methods),
            seed: self.output.seed,
            invariants_only: self.invariants_only,
            rerun: self.header_option().map(|option| format!(" {option}")).unwrap_or_default(),
            command: self.command(),
            // Measured on the production kernels' own build.
            part: None,
            sensitivity: self.header.is_none(),
        }
    }

    /// The command line that repeats this run.
    fn command(&self) -> String {
        let mut words = vec!["holdfast verify".to_owned()];
        words.extend(self.methods.iter().map(|m| format!("--method {m}")));
        words.extend(self.weights.map(|w| format!("--weights {w}")));
        words.extend(self.input.map(|i| format!("--input {i}")));
        words.extend(self.b.map(|b| format!("--b {b}")));
        words.extend(self.c.map(|c| format!("--c {c}")));
        words.extend(self.regimes.iter().map(|r| format!("--regime {}", r.name)));
        words.extend(self.invariants_only.then(|| "--invariants-only".to_owned()));
        words.extend(self.header_option());
        words.push(format!("--backend {} --seed {}", self.backend.name(), self.output.seed));
        words.join(" ")
    }

    fn header_option(&self) -> Option<String> {
        let convention = if self.a_times_log2e { " --a-times-log2e" } else { "" };
        self.header.as_ref().map(|path| format!("--header {}{convention}", quoted(path)))
    }

    fn backend(&self) -> Result<RunSetup, CliError> {
        let variable = std::env::var(select::VARIABLE).ok();
        let Some(path) = &self.header else {
            let selection = select::select(self.backend, variable.as_deref())?;
            let (backend, why) = (selection.backend, selection.why);
            return Ok(RunSetup { backend, why, header: None, calls_exp2: false });
        };
        if let Some(input) = self.input.filter(|&input| input != InputType::F32) {
            return Err(CliError::HeaderInput(input));
        }
        let header = Header { a_times_log2e: self.a_times_log2e, ..Header::read(path)? };
        let calls_exp2 = header.text.windows(4).any(|word| word == b"exp2");
        let selection = select::select_for_header(header, self.backend, variable.as_deref())?;
        let instantiations = Weights::ALL.map(|weights| {
            let lines = selection.backend.rejected(weights);
            let compiles = lines.is_none();
            let lines = lines.unwrap_or_default().lines().map(str::to_owned).collect();
            HeaderInstantiation { weights, compiles, lines }
        });
        let note = HeaderNote { path: path.display().to_string(), instantiations: instantiations.to_vec() };
        let backend = Box::new(selection.backend);
        Ok(RunSetup { backend, why: selection.why, header: Some(note), calls_exp2 })
    }

    fn is_filtered(&self) -> bool {
        self.header.is_some()
            || self.invariants_only
            || !(self.methods.is_empty()
                && self.regimes.is_empty()
                && (self.weights, self.input, self.b, self.c) == (None, None, None, None))
    }

    fn report_directory(&self) -> Option<&Path> {
        match &self.output.out {
            Some(directory) => Some(directory),
            None if self.is_filtered() => None,
            None => Some(Path::new(DEFAULT_REPORT)),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, show: Show) -> Result<Outcome, CliError> {
    output::prepare(args.report_directory(), args.output.json.as_deref())?;
    let RunSetup { backend, why, header, calls_exp2 } = args.backend()?;
    let request = args.request();
    let units = request.units_of_work(backend.promise());
    if units == 0 {
        return Err(CliError::NothingToRun(request.command));
    }
    let bar = Progress::new(units, "problems", show);
    let mut results = verify(&request, backend.as_ref(), &|| bar.advance());
    bar.finish();
    results.header = header;
    let mut note = output::backend_line(&results.backend, &why);
    if args.header.is_some() {
        note += NOT_LIFTED;
    }
    if calls_exp2 && !args.a_times_log2e && results.verdict() == Verdict::Fail {
        note += MAYBE_LOG2E;
    }
    output::finish(&results, args.report_directory(), args.output.json.as_deref(), &note, show)
}

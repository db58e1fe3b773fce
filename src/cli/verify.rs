//! `holdfast verify`: runs a backend over the planned problems and writes the report.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::check::quoted;
use super::{CliError, FAILED, Outcome, PASSED};
use crate::judge::contract::Contract;
use crate::judge::results::{HeaderInstantiation, HeaderNote, Verdict};
use crate::kernel::Backend;
use crate::kernel::foreign::{self, Header};
use crate::kernel::select::{self, Choice};
use crate::method::Method;
use crate::problem::plan::Filter;
use crate::problem::regime::{self, Regime};
use crate::problem::{InputType, Operand, Weights};
use crate::report;
use crate::verify::{Request, verify};

/// Where the report of an unfiltered run goes.
pub const DEFAULT_REPORT: &str = "reports/latest";

/// Drawn once, and kept, so that two runs judge the same numbers.
pub const DEFAULT_SEED: u64 = 1;

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    holdfast verify                                       everything, report into reports/latest/\n  \
    holdfast verify --method foh --weights complex        one method's complex kernels\n  \
    holdfast verify --regime stiff --seed 7 --out /tmp/r  other random inputs, report elsewhere\n  \
    holdfast verify --header discretization_kernels.cuh   somebody else's coefficients, in f32\n\n\
    A filtered run writes a report only where --out names a directory.")]
pub struct Args {
    /// Methods to run, by name or id; may be repeated [default: all six]
    #[arg(long = "method", value_name = "M", value_parser = method_parser())]
    pub methods: Vec<Method>,
    /// Only real or only complex weights
    #[arg(long, value_parser = name_parser::<Weights>(Weights::ALL.map(Weights::name)))]
    pub weights: Option<Weights>,
    /// Only this input type
    #[arg(long, value_parser = name_parser::<InputType>(InputType::ALL.map(InputType::name)))]
    pub input: Option<InputType>,
    /// Only this layout of B
    #[arg(long, value_parser = name_parser::<Operand>(Operand::ALL.map(Operand::name)))]
    pub b: Option<Operand>,
    /// Only this layout of C
    #[arg(long, value_parser = name_parser::<Operand>(Operand::ALL.map(Operand::name)))]
    pub c: Option<Operand>,
    /// Regimes to run; may be repeated [default: all]
    #[arg(long = "regime", value_name = "R", value_parser = regime_parser(), hide_possible_values = true)]
    pub regimes: Vec<&'static Regime>,
    /// Judge this header of coefficients in place of the production kernels
    #[arg(long, value_name = "FILE.cuh")]
    pub header: Option<PathBuf>,
    /// What runs the kernels
    #[arg(long, default_value = "auto", value_parser = backend_parser())]
    pub backend: Choice,
    /// Seed of the random inputs
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// Directory for the report [default: reports/latest, for an unfiltered run]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// File for the machine-readable results
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl Default for Args {
    fn default() -> Self {
        Args {
            methods: Vec::new(),
            weights: None,
            input: None,
            b: None,
            c: None,
            regimes: Vec::new(),
            header: None,
            backend: Choice::Auto,
            seed: DEFAULT_SEED,
            out: None,
            json: None,
        }
    }
}

/// What runs, why, and what the compiler said of a header.
struct Chosen {
    backend: Box<dyn Backend>,
    why: String,
    header: Option<HeaderNote>,
}

impl Args {
    fn request(&self) -> Request {
        let mut methods = if self.methods.is_empty() { Method::ALL.to_vec() } else { self.methods.clone() };
        methods.sort_unstable();
        methods.dedup();
        Request {
            filter: Filter {
                regimes: self.regimes.clone(),
                weights: self.weights.into_iter().collect(),
                inputs: self.input.or(self.header.as_ref().map(|_| InputType::F32)).into_iter().collect(),
                b: self.b.into_iter().collect(),
                c: self.c.into_iter().collect(),
            },
            methods,
            seed: self.seed,
            contract: if self.header.is_some() { Contract::FOREIGN } else { Contract::PRODUCTION },
            rerun: self.header_option().map(|option| format!(" {option}")).unwrap_or_default(),
            command: self.command(),
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
        words.extend(self.header_option());
        words.push(format!("--backend {} --seed {}", self.backend.name(), self.seed));
        words.join(" ")
    }

    fn header_option(&self) -> Option<String> {
        self.header.as_ref().map(|path| format!("--header {}", quoted(path)))
    }

    fn backend(&self) -> Result<Chosen, CliError> {
        let variable = std::env::var(select::VARIABLE).ok();
        let Some(path) = &self.header else {
            let selection = select::select(self.backend, variable.as_deref())?;
            return Ok(Chosen { backend: selection.backend, why: selection.why, header: None });
        };
        if let Some(input) = self.input.filter(|&input| input != InputType::F32) {
            return Err(CliError::HeaderInput(input));
        }
        let selection = foreign::select::select(Header::read(path)?, self.backend, variable.as_deref())?;
        let instantiations = Weights::ALL.map(|weights| {
            let lines = selection.backend.rejected(weights);
            let compiles = lines.is_none();
            let lines = lines.unwrap_or_default().lines().map(str::to_owned).collect();
            HeaderInstantiation { weights, compiles, lines }
        });
        let note = HeaderNote { path: path.display().to_string(), instantiations: instantiations.to_vec() };
        Ok(Chosen { backend: selection.backend, why: selection.why, header: Some(note) })
    }

    fn is_filtered(&self) -> bool {
        self.header.is_some()
            || !(self.methods.is_empty()
                && self.regimes.is_empty()
                && (self.weights, self.input, self.b, self.c) == (None, None, None, None))
    }

    fn report_directory(&self) -> Option<&Path> {
        match &self.out {
            Some(directory) => Some(directory),
            None if self.is_filtered() => None,
            None => Some(Path::new(DEFAULT_REPORT)),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let Chosen { backend, why, header } = args.backend()?;
    let request = args.request();
    if request.units_of_work() == 0 {
        return Err(CliError::NothingToRun(request.command));
    }
    let bar = Progress::new(request.units_of_work());
    let mut results = verify(&request, backend.as_ref(), &|| bar.advance());
    bar.finish();
    results.header = header;
    let directory = args.report_directory();
    if let Some(directory) = directory {
        report::write(&results, directory)?;
    }
    let mut text = report::console::render(&results, directory, colour());
    text.push_str(&format!("backend `{}`: {}\n", results.backend, why));
    if let Some(file) = &args.json {
        report::json::write(&results, file)?;
        text.push_str(&format!("results: {}\n", file.display()));
    }
    let status = if results.verdict() == Verdict::Pass { PASSED } else { FAILED };
    Ok(Outcome { text, status })
}

/// Colour only where a person looks, and does not mind (https://no-color.org).
pub(super) fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A progress bar on standard error, where a person looks, and only for work of more than a second.
pub(super) struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: Once,
}

impl Progress {
    pub(super) fn new(units: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(units as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} problems, {eta} left") {
            bar.set_style(style);
        }
        Progress { bar, started: Instant::now(), shown: Once::new() }
    }

    pub(super) fn advance(&self) {
        if self.started.elapsed() > Duration::from_secs(1) {
            self.shown.call_once(|| self.bar.set_draw_target(ProgressDrawTarget::stderr()));
        }
        self.bar.inc(1);
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

pub(super) fn method_parser() -> impl TypedValueParser<Value = Method> {
    let values = Method::ALL.map(|m| PossibleValue::new(m.name()).alias(METHOD_IDS[m.id() as usize]));
    PossibleValuesParser::new(values).try_map(|text| text.parse::<Method>())
}

const METHOD_IDS: [&str; 6] = ["0", "1", "2", "3", "4", "5"];

fn regime_parser() -> impl TypedValueParser<Value = &'static Regime> {
    let values = regime::all().iter().map(|r| PossibleValue::new(r.name.as_str()).help(r.why));
    PossibleValuesParser::new(values).try_map(|text| regime::find(&text).ok_or("unknown regime"))
}

fn backend_parser() -> impl TypedValueParser<Value = Choice> {
    PossibleValuesParser::new(Choice::ALL.map(Choice::name))
        .try_map(|text| Choice::ALL.into_iter().find(|c| c.name() == text).ok_or("unknown backend"))
}

pub(super) fn name_parser<T>(
    names: impl IntoIterator<Item = &'static str>,
) -> impl TypedValueParser<Value = T>
where
    T: std::str::FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    let names: Vec<_> = names.into_iter().collect();
    PossibleValuesParser::new(names)
        .try_map(|text| text.parse::<T>().map_err(Box::<dyn std::error::Error + Send + Sync>::from))
}

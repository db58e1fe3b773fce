//! `holdfast verify`: runs a backend over the planned problems and writes the report.

use std::path::{Path, PathBuf};

use super::check::quoted;
use super::names::Selection;
use super::output::{self, Progress};
use super::seeds::Seeds;
use super::show::Show;
use super::{CliError, Outcome, PASSED, names, partition, planted, rerun};
use crate::judge::diagnose::Budget;
use crate::kernel::Backend;
use crate::kernel::foreign::Header;
use crate::kernel::select::{self, Choice, SelectError};
use crate::method::Method;
use crate::parts::Part;
use crate::problem::plan::Filter;
use crate::problem::regime::Regime;
use crate::problem::{InputType, Operand, Weights};
use crate::promise::Tier;
use crate::report;
use crate::results::{HeaderInstantiation, HeaderNote, Results, Verdict, explained, seeds_text};
use crate::verify::part::Divided;
use crate::verify::{self, Known, Passes, Plan, Request};

/// What takes the place of the lifted runs' line where a header is judged.
const NOT_LIFTED: &str =
    "lifted to double: not compared for a header; it only helps to diagnose what fails on a CPU\n";

/// Of a header that has none.
const NO_BACKWARD: &str = "no derivatives judged: the header has no compute_discretization_backward\n";

/// What a header cannot show.
const NO_CALLER: &str = "not judged: the header's caller (its arithmetic, direction and backward scan); \
                         `holdfast check` judges what a whole kernel wrote";

/// Where the report of an unfiltered run goes.
pub const DEFAULT_REPORT: &str = "reports/latest";

#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = "Examples:\n  \
    holdfast verify                                       everything, report into reports/latest/\n  \
    holdfast verify --method foh --weights complex        one method's complex kernels\n  \
    holdfast verify --regime stiff --seed 7 --out /tmp/r  other random inputs, report elsewhere\n  \
    holdfast verify --tier accurate,fast --out /tmp/r     both tiers: reports in /tmp/r and /tmp/r-fast\n  \
    holdfast verify --header discretization_kernels.cuh   somebody else's coefficients, in f32\n  \
    holdfast verify --seed 1..200 --partition 3/8 --out d the third of eight shares of a large run\n\n\
    A filtered run writes a report only where --out names a directory. `holdfast list` says where every name is.\n\n\
    Exit status: 0 all verdicts pass; 1 some verdict fails or could not be measured; 2 bad input or usage; \
    3 the requested backend cannot run here; 130 interrupted.")]
pub struct Args {
    /// Methods to run, by name or id; several with commas or patterns, `'*hold*'` say [default: all]
    #[arg(long = "method", value_name = "M", value_parser = names::method().several())]
    pub methods: Vec<Selection<Method>>,
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
    /// Regimes to run, as `holdfast list regimes` names them; several with commas or patterns [default: all]
    #[arg(long = "regime", value_name = "R", value_parser = names::regime().several(), hide_possible_values = true)]
    pub regimes: Vec<Selection<&'static Regime>>,
    /// Only the invariants: no case, no sweep, no truth
    #[arg(long, conflicts_with_all = ["regimes", "input", "b", "c"])]
    pub invariants_only: bool,
    /// Only dense systems, whose A is a matrix: Ā and B̄ of each method, scans with them, and their gradients
    #[arg(long, conflicts_with_all = ["regimes", "input", "b", "c", "header", "invariants_only"])]
    pub dense: bool,
    /// Judge outputs, gradients, or both; of a header both, for --invariants-only outputs [default: both]
    #[arg(long, value_parser = names::passes(), conflicts_with_all = ["header", "invariants_only"])]
    pub pass: Option<Passes>,
    /// The forward kernels of this tier, by its own promise; of both with a comma, each with a report of its own. Gradients
    /// have one tier [default: accurate]
    #[arg(long = "tier", value_name = "T", value_parser = names::tier().several(), conflicts_with = "header")]
    pub tiers: Vec<Selection<Tier>>,
    /// Judge this header of coefficients in place of the production kernels
    #[arg(long, value_name = "FILE.cuh", value_hint = clap::ValueHint::FilePath)]
    pub header: Option<PathBuf>,
    /// The header's callers pass A·log₂e (of a complex A, the real part times log₂e) in place of A, for these methods:
    /// `zoh`, `zoh,foh`, `'*'`
    #[arg(long, value_name = "M", requires = "header", value_parser = names::method().several(), hide_possible_values = true)]
    pub a_times_log2e: Vec<Selection<Method>>,
    /// Only what did not pass in these results of an earlier run, drawn with their seed
    #[arg(long, value_name = "RESULTS.json", value_hint = clap::ValueHint::FilePath,
          conflicts_with_all = ["methods", "regimes", "input", "b", "c", "weights", "invariants_only", "dense", "seeds", "pass"])]
    pub rerun_failed: Option<PathBuf>,
    /// Seeds of everything that is drawn; of several (7, 1,5,9 or 1..200, both ends included) each result is the worst one's
    #[arg(long = "seed", value_name = "N", default_value = "1")]
    pub seeds: Seeds,
    /// Only this share of the work, as 3/8: what it finds goes into a file in --out, for `holdfast merge`; finished units of
    /// that part are not repeated
    #[arg(long, value_name = "K/M", requires = "out", conflicts_with_all = ["fail_fast", "json", "junit", "parquet"])]
    pub partition: Option<Part>,
    /// Begin nothing more once something fails
    #[arg(long)]
    pub fail_fast: bool,
    /// How long the cause of each failing case is looked for, and six times that in all; `thorough` to the end, `off` for
    /// verdicts alone
    #[arg(long, value_name = "SECONDS", default_value_t = Budget::USUAL)]
    pub diagnosis: Budget,
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
    /// What the program does without a command: everything, in every tier that its backend has.
    pub fn main_job() -> Self {
        let tiers = if has_tiers(Choice::Auto) { Tier::ALL.map(Selection::of).to_vec() } else { Vec::new() };
        Args { tiers, ..Args::default() }
    }

    /// Each once, in their own order.
    fn tiers(&self) -> Vec<Tier> {
        let named = Selection::all(&self.tiers);
        let tiers: Vec<Tier> = Tier::ALL.into_iter().filter(|tier| named.contains(tier)).collect();
        if tiers.is_empty() { vec![Tier::default()] } else { tiers }
    }

    /// The command for one of several tiers: of every other than the usual one, what it writes has its name.
    ///
    /// # Errors
    /// An option that is for one tier alone.
    fn of_tier(&self, tier: Tier) -> Result<Args, CliError> {
        let for_one_alone = [
            ("--partition", self.partition.is_some()),
            ("--rerun-failed", self.rerun_failed.is_some()),
            ("--pass backward", self.pass == Some(Passes::Backward)),
            ("--json -", self.output.json.as_deref().is_some_and(output::is_standard_output)),
        ];
        if let Some((option, _)) = for_one_alone.into_iter().find(|(_, is_there)| *is_there) {
            return Err(CliError::OneTierAlone(option));
        }
        if tier == Tier::default() {
            return Ok(Args { tiers: Vec::new(), ..self.clone() });
        }
        let pass = self.pass.filter(|&pass| pass != Passes::Both);
        let whole = Args { tiers: Vec::new(), ..self.clone() };
        let output = self.output.named_after(tier.name(), whole.report_directory());
        Ok(Args { tiers: vec![Selection::of(tier)], pass, output, ..self.clone() })
    }

    fn filter(&self) -> Filter {
        Filter {
            regimes: Selection::all(&self.regimes),
            weights: self.weights.into_iter().collect(),
            inputs: self.input.or(self.header.as_ref().map(|_| InputType::F32)).into_iter().collect(),
            b: self.b.into_iter().collect(),
            c: self.c.into_iter().collect(),
        }
    }

    fn request(&self, failed: Option<&rerun::Failed>) -> Request {
        let methods = match failed {
            Some(failed) => failed.methods.clone(),
            None => names::methods_or_all(&Selection::all(&self.methods)),
        };
        let seeds = failed.map_or(self.seeds.all(), |failed| &failed.seeds);
        let filter = failed.map_or_else(|| self.filter(), |failed| failed.filter.clone());
        Request {
            passes: failed.map_or(self.pass.unwrap_or_default(), rerun::Failed::passes),
            filter,
            methods,
            seed: seeds[0],
            more_seeds: seeds[1..].to_vec(),
            only: failed.map(|failed| failed.ids.clone()),
            fail_fast: self.fail_fast,
            diagnosis: self.diagnosis,
            invariants_only: self.invariants_only,
            dense_only: self.dense,
            rerun: self
                .header_option()
                .or(self.tier_option())
                .map_or(String::new(), |option| format!(" {option}"))
                + &self.diagnosis.again(),
            command: self.command(),
            // Measured on the production kernels' own build.
            sensitivity: self.header.is_none(),
        }
    }

    fn command(&self) -> String {
        let mut words = vec!["holdfast verify".to_owned()];
        words.extend(Selection::all(&self.methods).iter().map(|m| format!("--method {m}")));
        words.extend(self.weights.map(|w| format!("--weights {w}")));
        words.extend(self.input.map(|i| format!("--input {i}")));
        words.extend(self.b.map(|b| format!("--b {b}")));
        words.extend(self.c.map(|c| format!("--c {c}")));
        words.extend(Selection::all(&self.regimes).iter().map(|r| format!("--regime {}", r.name)));
        words.extend(self.invariants_only.then(|| "--invariants-only".to_owned()));
        words.extend(self.dense.then(|| "--dense".to_owned()));
        words.extend(self.pass.map(|pass| format!("--pass {pass}")));
        words.extend(self.tier_option());
        words.extend(self.header_option());
        words.extend(self.rerun_failed.as_ref().map(|path| format!("--rerun-failed {}", quoted(path))));
        words.extend(self.fail_fast.then(|| "--fail-fast".to_owned()));
        words.extend(output::diagnosis_option(self.diagnosis));
        words.push(format!("--backend {}", self.backend.name()));
        words.extend(self.rerun_failed.is_none().then(|| format!("--seed {}", seeds_text(self.seeds.all()))));
        words.join(" ")
    }

    fn tier_option(&self) -> Option<String> {
        let tiers: Vec<&str> = self.tiers().into_iter().map(Tier::name).collect();
        (!self.tiers.is_empty()).then(|| format!("--tier {}", tiers.join(",")))
    }

    fn header_option(&self) -> Option<String> {
        let convention = names::option("--a-times-log2e", &self.base_two());
        self.header.as_ref().map(|path| format!("--header {}{convention}", quoted(path)))
    }

    /// The methods whose callers pass A·log₂e.
    fn base_two(&self) -> Vec<Method> {
        Selection::all(&self.a_times_log2e)
    }

    /// For a header that computes with powers of two, whether it passes or fails: the likeliest mistake is one of usage.
    fn assumed_of_callers(&self) -> String {
        let base_two = names::listed(&self.base_two());
        let (assumed, other) = match base_two.is_empty() {
            true => ("A itself".to_owned(), "where they pass A·log₂e, --a-times-log2e zoh (or '*') decides"),
            false => (
                format!("A·log₂e for {base_two}, else A itself"),
                "another list for --a-times-log2e decides otherwise",
            ),
        };
        let said = format!("this header calls exp2; its callers are taken to pass {assumed}; {other}");
        report::text::wrap("assumed: ", &said, report::console::width()) + "\n"
    }

    fn backend(&self, tier: Tier) -> Result<RunSetup, CliError> {
        let variable = std::env::var(select::VARIABLE).ok();
        let Some(path) = &self.header else {
            let selection = select::select(self.backend, tier, variable.as_deref())?;
            let (backend, why) = (selection.backend, selection.why);
            return Ok(RunSetup { backend, why, header: None, calls_exp2: false });
        };
        if let Some(input) = self.input.filter(|&input| input != InputType::F32) {
            return Err(CliError::HeaderInput(input));
        }
        let header = Header { base_two: self.base_two(), ..Header::read(path)? };
        let calls_exp2 = header.says("exp2");
        let selection = select::select_for_header(header, self.backend, variable.as_deref())?;
        let one = |weights, b, lines: Option<&str>| HeaderInstantiation {
            weights,
            b,
            compiles: lines.is_none(),
            lines: lines.unwrap_or_default().lines().map(str::to_owned).collect(),
        };
        let backend = selection.backend;
        let forward = |weights| {
            let said = Operand::ALL.map(|b| (b, backend.rejected(weights, b)));
            let alike = said[0].1 == said[1].1;
            let some = said.into_iter().take(if alike { 1 } else { 2 });
            some.map(|(b, lines)| one(weights, (!alike).then_some(b), lines)).collect::<Vec<_>>()
        };
        let backward = |weights| one(weights, None, backend.rejected_backward(weights));
        let note = HeaderNote {
            path: path.display().to_string(),
            instantiations: Weights::ALL.into_iter().flat_map(forward).collect(),
            backward: backend.has_backward().then(|| Weights::ALL.map(backward).to_vec()),
        };
        let backend = Box::new(backend);
        Ok(RunSetup { backend, why: selection.why, header: Some(note), calls_exp2 })
    }

    fn is_filtered(&self) -> bool {
        self.header.is_some()
            || self.invariants_only
            || self.dense
            || self.rerun_failed.is_some()
            || self.fail_fast
            || self.diagnosis == Budget::Off
            || self.pass.is_some_and(|pass| pass != Passes::Both)
            || self.tiers() != [Tier::default()]
            || !(self.methods.is_empty()
                && self.regimes.is_empty()
                && (self.weights, self.input, self.b, self.c) == (None, None, None, None))
    }

    /// Whether all that is to be written can be.
    fn prepare(&self) -> Result<(), CliError> {
        self.output.prepare(self.report_directory(), self.partition)
    }

    fn report_directory(&self) -> Option<&Path> {
        match &self.output.out {
            Some(directory) => Some(directory),
            None if self.is_filtered() => None,
            None => Some(Path::new(DEFAULT_REPORT)),
        }
    }
}

/// Runs the command: for several tiers one after the other, which share what is known of their problems.
///
/// # Errors
/// A backend that cannot run here, a header that cannot be read, nothing to run, results that cannot be read or written.
pub fn run(args: &Args, show: Show) -> Result<Outcome, CliError> {
    planted::check()?;
    let [tier] = args.tiers()[..] else { return run_tiers(args, show) };
    if tier == Tier::Fast && args.pass.is_some_and(|pass| pass != Passes::Forward) {
        return Err(CliError::NoTierOfGradients);
    }
    args.prepare()?;
    run_tier(args, tier, &Known::default(), show)
}

fn has_tiers(backend: Choice) -> bool {
    select::has_tiers(backend, std::env::var(select::VARIABLE).ok().as_deref())
}

fn run_tiers(args: &Args, show: Show) -> Result<Outcome, CliError> {
    // Before the first of them runs.
    if !has_tiers(args.backend) {
        return Err(SelectError::NoTierOfReference.into());
    }
    let commands = args.tiers().into_iter().map(|tier| Ok((tier, args.of_tier(tier)?)));
    let commands = commands.collect::<Result<Vec<_>, CliError>>()?;
    commands.iter().try_for_each(|(_, command)| command.prepare())?;
    let known = Known::keeping();
    let mut all = Outcome::default();
    for (tier, command) in &commands {
        all = all.and(run_tier(command, *tier, &known, show)?);
        if args.fail_fast && all.status != PASSED {
            break;
        }
    }
    Ok(all)
}

fn run_tier(args: &Args, tier: Tier, known: &Known, show: Show) -> Result<Outcome, CliError> {
    let header = args.header.as_deref();
    let failed = args.rerun_failed.as_deref().map(|path| rerun::read(path, header, tier)).transpose()?;
    if let (Some(failed), Some(path)) = (&failed, &args.rerun_failed)
        && failed.ids.is_empty()
    {
        let text =
            format!("holdfast verify: everything in {} passed, nothing is to be run again\n", path.display());
        return Ok(Outcome::new(text, PASSED));
    }
    let RunSetup { backend, why, header, calls_exp2 } = args.backend(tier)?;
    let request = args.request(failed.as_ref());
    if let (Some(failed), Some(path)) = (&failed, &args.rerun_failed) {
        failed.are_in(&request.plan(backend.promise()), path)?;
    }
    let plan = Plan::new(&request, backend.as_ref());
    if plan.is_empty() {
        return Err(CliError::NothingToRun(request.command));
    }
    if let (Some(part), Some(folder)) = (args.partition, args.output.out.as_deref()) {
        let divided = Divided { plan: &plan, known, header };
        let notes = output::backend_line(backend.name(), &why);
        return partition::run(&divided, (part, folder), ("problems", |_: &Results| notes), show);
    }
    let bar = Progress::new(plan.len(), "problems", show);
    let mut results = verify::judge(&plan, known, &|| bar.advance());
    let (done, all) = (bar.done(), bar.all());
    output::stamp(&mut results, Some(bar.finish()));
    results.header = header;
    let mut notes = output::backend_line(&results.backend, &why);
    if let Some(header) = &results.header {
        notes += NOT_LIFTED;
        if header.backward.is_none() {
            notes += NO_BACKWARD;
        }
        if calls_exp2 {
            notes += &args.assumed_of_callers();
        }
        notes += &report::text::wrap("", NO_CALLER, report::console::width());
        notes += "\n";
    }
    if done < all {
        notes += &format!("stopped at the first failure (--fail-fast): {done} of {all} problems were run\n");
    }
    let places = (&args.output, args.report_directory());
    let sweep_fails = results.coefficients.iter().any(|sweep| sweep.verdict == Verdict::Fail);
    let failures = explained::chosen(&results.cases).len().max(usize::from(sweep_fails));
    let explain = |results: &mut Results, searches, told: &(dyn Fn() + Sync)| {
        plan.explain(known, results, (searches, told)).apply(results);
        Ok::<(), CliError>(())
    };
    let write = output::explained(&mut results, places, (args.diagnosis, failures), show, explain)?;
    let took = bar.finish();
    output::stamp(&mut results, Some(took));
    output::finish_by(write, &results, places, &notes, took, show)
}

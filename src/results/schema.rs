//! The layout of `results.json`.

use serde::{Deserialize, Serialize, Serializer};

use super::analysis::MethodAnalysis;
use super::bench::{Checked, Machine, Timed};
use super::functions::FunctionRange;
use super::nullable;
use super::pairs::{PairTotals, PairwiseMatrix};
use super::precision::{GradientSensitivity, Lifting, Relative, Sensitivity};
use super::profile::ErrorProfile;
use super::verdict::{Beyond, Verdict};
use crate::formula::Form;
use crate::method::Method;
use crate::problem::{InputType, Operand, Shape, Weights};
use crate::tensor::{ComputedName, Named};

/// The version of the machine output's layout. That of 2 has all of the tensors that pass, and names for the numbers of points.
pub const SCHEMA: u32 = 3;
/// What an id of derivatives over a sweep begins with.
pub const SWEPT: &str = "derivatives/";
/// What an id of a backward pass ends with.
pub const BACKWARD: &str = "/backward";

impl CaseResult {
    /// Whether it is of a backward pass: its tensors are gradients, or what it takes of a step.
    pub fn is_backward(&self) -> bool {
        self.id.ends_with(BACKWARD)
    }

    /// Whether its elements have no scan around them: derivatives over a sweep, in the place of a regime.
    pub fn is_of_a_sweep(&self) -> bool {
        self.id.starts_with(SWEPT)
    }
}

/// The oldest layout that can still be read: its cases say nothing of single tensors.
pub const OLDEST_SCHEMA: u32 = 1;

/// One whole run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    pub schema: u32,
    /// The harness's own version.
    pub version: String,
    /// The first one, where there are several.
    pub seed: u64,
    /// Every seed that was drawn with, ascending, where there are several: what is shown of a case, a sweep or an invariant is
    /// then its worst seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<u64>,
    pub backend: String,
    /// What the backend ran on, in words.
    pub device: String,
    /// The tier of its forward kernels, where that is not the accurate one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// SHA-256 of the kernel sources, in hex; empty for recorded runs, whose kernels are unknown.
    pub kernel_source: String,
    /// The command line that repeats the run.
    pub command: String,
    /// The regimes and sweeps that were run, each with why it is hard.
    pub regimes: Vec<RegimeNote>,
    pub cases: Vec<CaseResult>,
    pub coefficients: Vec<CoefficientResult>,
    /// Of each method and weight type; none where regimes or 16-bit inputs alone were asked for.
    pub invariants: Vec<InvariantResult>,
    /// The matrices worth showing, of outputs and of each gradient: one problem for each weight type, and failing ones.
    pub pairwise: Vec<PairwiseMatrix>,
    /// What all pairs of the kernel's outputs came to, shown or not.
    pub pairs: PairTotals,
    /// The same of its gradients.
    #[serde(default)]
    pub gradient_pairs: PairTotals,
    pub curves: Vec<MethodCurve>,
    /// How the errors spread over their bounds and along the sequence.
    #[serde(default)]
    pub errors: ErrorProfile,
    /// What the methods are, whoever computes them.
    #[serde(default)]
    pub analysis: MethodAnalysis,
    /// How small an error of a coefficient is caught, by method, weight type and regime; empty where it was not measured.
    #[serde(default)]
    pub sensitivity: Vec<Sensitivity>,
    /// The same of the derivatives that gradients are made of.
    #[serde(default)]
    pub gradient_sensitivity: Vec<GradientSensitivity>,
    /// Of sweeps over all of f32, in order ([`FunctionRange::order`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionRange>,
    /// Of a benchmark: what was timed, in the order of its plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bench: Vec<Timed>,
    /// What it was timed on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<Machine>,
    /// Whether its timings can be believed, where that was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Checked>,
    /// When it began, as 2026-11-23T16:40:00Z.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub created: String,
    /// How long it took, in seconds; none of what was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<f64>,
    /// The revision of the harness's sources, where it was built in their repository.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// Whether only some of the channels were judged, as was asked for.
    #[serde(default)]
    pub sampled: bool,
    /// Whether nothing was to be said of failures but that they are, as was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undiagnosed: bool,
    /// The ids of all cases, sweeps and invariants that were asked for; none of recorded runs, and in files of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Vec<String>>,
    /// The header that was judged in place of the production kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderNote>,
}

/// A foreign header, and what the compiler said of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeaderNote {
    /// As it was named.
    pub path: String,
    pub instantiations: Vec<HeaderInstantiation>,
    /// Of its `compute_discretization_backward`; none where it has no such function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backward: Option<Vec<HeaderInstantiation>>,
}

/// A header's function for one weight type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeaderInstantiation {
    pub weights: Weights,
    /// The layout of B that alone is meant, where the header compiles for one of both only.
    #[serde(default)]
    pub b: Option<Operand>,
    pub compiles: bool,
    /// The compiler's own lines, where it does not.
    pub lines: Vec<String>,
}

/// What several seeds came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfSeeds {
    /// The one whose numbers are shown: the worst.
    pub shown: u64,
    /// With how many it was judged.
    pub judged: usize,
    /// Those with which it, or its lifted run, failed.
    pub failed: Vec<u64>,
    /// Those with which it, or its lifted run, could not be measured.
    pub unmeasured: Vec<u64>,
}

/// Why a regime or a sweep is hard.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RegimeNote {
    pub name: String,
    pub why: String,
    /// Whether its inputs are such as models have them: the best examples of what is wrong.
    #[serde(default)]
    pub ordinary: bool,
}

/// One method's scan of one problem, judged element by element.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseResult {
    /// `regime/weights/input/b-OPERAND/c-OPERAND/method`, of a recorded run `file/method[.label]`; unique.
    pub id: String,
    /// What it is judged as: a method, or a textbook form.
    pub method: Form,
    pub weights: Weights,
    pub input: InputType,
    pub b: Operand,
    pub c: Operand,
    pub regime: String,
    pub shape: Shape,
    /// A hash of every input (`Problem::fingerprint`): two runs may have other inputs under the same id. Empty in files of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inputs: String,
    pub backend: String,
    /// The worst one of its tensors' and of the relative gate.
    pub verdict: Verdict,
    /// Why it was not measured, or what faulted; empty otherwise. Of the worst tensor, as are the next fields that tensors
    /// have too, unless they say otherwise.
    pub reason: String,
    /// Which bounds some element is beyond.
    pub beyond: Beyond,
    /// Largest error over its worst-case bound, of all tensors.
    #[serde(default, with = "nullable::short")]
    pub worst_case_ratio: f64,
    /// The error against that of the same-precision reference path; none where that was not run.
    pub relative: Option<Relative>,
    /// The same source in double, and with it truncation and rounding apart; none where there is no such build.
    pub lifted: Option<Lifting>,
    /// Elements compared, over all tensors.
    pub judged: usize,
    /// The element with the largest share of its allowance used, over all tensors; none when nothing was measured.
    pub worst: Option<Worst>,
    /// Of the first tensor, `out`.
    #[serde(with = "nullable::short")]
    pub max_ulp: f64,
    /// Of the first tensor, `out`.
    #[serde(with = "nullable::short")]
    pub rel_l2: f64,
    /// Fault models that explain a failure, best first.
    pub diagnosis: Vec<Diagnosis>,
    /// How far that was looked for, where not to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// Each judged tensor on its own; none in files of schema 1.
    #[serde(default, serialize_with = "tensors")]
    pub tensors: Named<TensorResult, ComputedName>,
    /// What all its seeds came to, in a run over several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<OfSeeds>,
    /// The command that reruns just this case.
    pub rerun: String,
}

/// One tensor of a case, judged element by element.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TensorResult {
    pub verdict: Verdict,
    /// Why it was not measured, or what is wrong beyond any element; empty otherwise.
    #[serde(default)]
    pub reason: String,
    /// Which bounds some element is beyond.
    #[serde(default)]
    pub beyond: Beyond,
    /// Largest error over its worst-case bound.
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub worst_case_ratio: f64,
    /// Elements compared; a complex one counts its parts.
    pub judged: usize,
    /// Of these, the ones whose verdict is the quick route's (`judge::quick`). The rest have a certified truth.
    #[serde(default)]
    pub quick: usize,
    /// The element with the largest share of its allowance used: of those with a certified truth, unless only an element that
    /// the quick route decided fails. None when nothing was measured.
    #[serde(default)]
    pub worst: Option<Worst>,
    /// Largest error in units in the last place of the tensor's type, fractional.
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub max_ulp: f64,
    /// ‖got − want‖₂ / ‖want‖₂ over the judged elements.
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub rel_l2: f64,
    /// Where it fails: all elements that do, and then those that are no numbers or 0, if some but not all are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<Wrong>,
    /// Fault models that explain a failure, best first.
    #[serde(default)]
    pub diagnosis: Vec<Diagnosis>,
}

/// Search for the cause of a failed case that has an end before its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Search {
    /// Ended after this time: what has no diagnosis may have a cause that takes longer to find.
    Ended(String),
    /// Not begun, as the command had spent this time on other cases.
    NotBegun(String),
    /// Looked for in the case of this id, which fails alike: the cause that it has, if any, explains this one, too.
    As(String),
}

/// Elements of a tensor that are beyond their bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrong {
    /// Their value, `NaN`, `infinite` or `0`, if it is that of all of them; empty otherwise.
    pub values: String,
    /// How many there are.
    pub elements: usize,
    /// Of how many.
    pub judged: usize,
    /// Index of the first one that has a truth; empty where none has.
    pub first: Vec<usize>,
    /// Rules, one for each axis that is longer than 1, for the indices at which some of them are: `item 1`, `odd channels`,
    /// `positions from 16 on`.
    pub places: Vec<String>,
}

/// A tensor as a text has it: of one that passes only its share, since a run has thirty thousand of them, and tables have the rest.
#[derive(Serialize)]
#[serde(untagged)]
enum Written<'a> {
    Passing { verdict: Verdict, judged: usize, worst: Option<Share> },
    Whole(&'a TensorResult),
}

#[derive(Serialize)]
struct Share {
    #[serde(with = "nullable::short")]
    share: f64,
}

fn tensors<S: Serializer>(tensors: &Named<TensorResult, ComputedName>, to: S) -> Result<S::Ok, S::Error> {
    let readable = to.is_human_readable();
    to.collect_map(tensors.iter().map(|(name, tensor)| match *tensor {
        TensorResult { verdict: verdict @ Verdict::Pass, judged, ref worst, .. } if readable => {
            let worst = worst.as_ref().map(|worst| Share { share: worst.share });
            (name, Written::Passing { verdict, judged, worst })
        }
        _ => (name, Written::Whole(tensor)),
    }))
}

/// A fault model that explains a failed case, and how well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The model's name, or two names joined by ` + `.
    pub name: String,
    /// What is wrong, in words.
    pub what: String,
    /// What the model leaves of the error: ‖got − model‖ / ‖got − specified‖, in units of the bounds.
    #[serde(with = "nullable::short")]
    pub residual: f64,
}

/// One element's error against its allowance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Worst {
    /// `out`, `last_state`, `a_bar` or `b_bar`; a complex one names its part: `last_state.re`.
    #[serde(default)]
    pub tensor: String,
    /// Index into the tensor, as shaped in spec.md §3.
    #[serde(default)]
    pub index: Vec<usize>,
    /// The same with a noun for each axis, where the run's layout is not spec.md §3's; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    #[serde(default = "nullable::nan", deserialize_with = "nullable::one")]
    pub got: f64,
    #[serde(default)]
    pub got_hex: String,
    #[serde(default = "nullable::nan", deserialize_with = "nullable::one")]
    pub want: f64,
    #[serde(default)]
    pub want_hex: String,
    /// Real and imaginary part of a complex Ā or B̄, of which `got` and `want` are the moduli; empty for a real one.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable::many")]
    pub got_parts: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable::many")]
    pub want_parts: Vec<f64>,
    /// |got − want|
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub error: f64,
    /// The derived bound on `error`.
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub bound: f64,
    /// error/bound; above 1 the verdict is `fail`.
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub ratio: f64,
    /// The share of the kernel's allowance used: error/bound once the rounding to 16 bits on store, which no
    /// kernel can avoid, is taken from both. Above 1 exactly when `ratio` is; equal to it for f32.
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub share: f64,
    /// The error in units in the last place of the tensor's type.
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub ulp: f64,
    /// The inputs that matter at this element, as `name = value` texts.
    #[serde(default)]
    pub inputs: Vec<String>,
}

/// One method's (Ā, B̄) over a sweep of z, each element judged on its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CoefficientResult {
    pub method: Method,
    pub weights: Weights,
    /// The sweep's name, for instance `real axis` or `complex plane`.
    pub sweep: String,
    pub backend: String,
    pub verdict: Verdict,
    pub reason: String,
    pub worst_a_bar: Option<Worst>,
    pub worst_b_bar: Option<Worst>,
    pub points: Vec<CoefficientPoint>,
    /// Fault models that explain a failure, best first.
    #[serde(default)]
    pub diagnosis: Vec<Diagnosis>,
    /// The same source in double; none where there is no such build.
    #[serde(default)]
    pub lifted: Option<Lifting>,
    /// What all its seeds came to, in a run over several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<OfSeeds>,
    /// The command that reruns this sweep.
    pub rerun: String,
}

/// Errors of Ā and B̄ at one (Δ, A, B). `ulp` is in f32 ulps for real weights, and normwise
/// (|got − want| / |want|, in units of 2⁻²⁴) for complex ones; `allowed` is the bound in the same units. Written as the list of its
/// numbers, in this order: there are forty thousand.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct CoefficientPoint {
    #[serde(deserialize_with = "nullable::one")]
    pub z_re: f64,
    #[serde(deserialize_with = "nullable::one")]
    pub z_im: f64,
    #[serde(deserialize_with = "nullable::one")]
    pub a_bar_ulp: f64,
    #[serde(deserialize_with = "nullable::one")]
    pub b_bar_ulp: f64,
    #[serde(default, deserialize_with = "nullable::one")]
    pub a_bar_allowed: f64,
    #[serde(default, deserialize_with = "nullable::one")]
    pub b_bar_allowed: f64,
}

impl Serialize for CoefficientPoint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { z_re, z_im, a_bar_ulp, b_bar_ulp, a_bar_allowed, b_bar_allowed } = *self;
        let numbers = [z_re, z_im, a_bar_ulp, b_bar_ulp, a_bar_allowed, b_bar_allowed];
        // For pictures.
        nullable::short_list(&numbers, 4, to)
    }
}

/// |Ā| and |B̄/Δ| of one method against |z|, from the truth, for A = `a`, B = 1 and Δ = |z/A|.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MethodCurve {
    pub method: Method,
    pub weights: Weights,
    /// A in words, for instance `-1` or `-0.5+3i`.
    pub a: String,
    #[serde(with = "nullable::shorts")]
    pub z_abs: Vec<f64>,
    #[serde(with = "nullable::shorts")]
    pub a_bar_abs: Vec<f64>,
    #[serde(with = "nullable::shorts")]
    pub b_bar_over_delta_abs: Vec<f64>,
}

impl CaseResult {
    /// The seed that it was drawn with, in a run with this seed or with several.
    pub fn shown_seed(&self, seed: u64) -> u64 {
        self.seeds.as_ref().map_or(seed, |seeds| seeds.shown)
    }

    /// The id of the problem that it is about: that of a planned case without its method.
    pub fn problem(&self) -> String {
        format!("{}/{}/{}/b-{}/c-{}", self.regime, self.weights, self.input, self.b, self.c)
    }
}

impl CoefficientResult {
    /// The seed that it was drawn with, in a run with this seed or with several.
    pub fn shown_seed(&self, seed: u64) -> u64 {
        self.seeds.as_ref().map_or(seed, |seeds| seeds.shown)
    }

    /// Unique in a run.
    pub fn id(&self) -> String {
        format!("coefficients/{}/{}/{}", self.sweep, self.weights, self.method)
    }
}

impl InvariantResult {
    /// Unique in a run.
    pub fn id(&self) -> String {
        format!("invariant/{}/{}/{}", self.name, self.weights, self.method)
    }
}

/// Ascending seeds as `--seed` takes them: `1..200,300`.
pub fn seeds_text(seeds: &[u64]) -> String {
    let runs = seeds.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let text = |run: &[u64]| match run {
        [first, .., last] => format!("{first}..{last}"),
        one => one.iter().map(u64::to_string).collect(),
    };
    runs.map(text).collect::<Vec<_>>().join(",")
}

impl Results {
    /// Of a run that has judged nothing yet.
    pub fn empty(seed: u64, backend: &str, device: String, command: String) -> Self {
        Results {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed,
            backend: backend.to_owned(),
            device,
            command,
            ..Results::default()
        }
    }

    /// Every seed that was drawn with, as `--seed` takes them.
    pub fn all_seeds(&self) -> String {
        if self.seeds.is_empty() { self.seed.to_string() } else { seeds_text(&self.seeds) }
    }

    /// The lifted runs of cases and coefficient sweeps.
    pub fn lifted(&self) -> impl Iterator<Item = &Lifting> {
        let cases = self.cases.iter().map(|case| &case.lifted);
        cases.chain(self.coefficients.iter().map(|sweep| &sweep.lifted)).flatten()
    }

    /// Every verdict in the run but that of pairs, and the reason for it: of cases, coefficient sweeps, invariants and lifted
    /// runs.
    pub fn verdicts(&self) -> impl Iterator<Item = (Verdict, &str)> {
        let cases = self.cases.iter().map(|c| (c.verdict, &c.reason));
        let sweeps = self.coefficients.iter().map(|c| (c.verdict, &c.reason));
        let invariants = self.invariants.iter().map(|i| (i.verdict, &i.reason));
        let lifted = self.lifted().map(|lifting| (lifting.verdict, &lifting.reason));
        let all = cases.chain(sweeps).chain(invariants).chain(lifted);
        let functions = self.functions.iter().map(|range| (range.verdict, ""));
        let bench = self.bench.iter().map(|timed| (timed.verdict, timed.reason.as_str()));
        let run = self.checks.iter().filter(|checked| !checked.skipped);
        let checks = run.map(|checked| (checked.verdict, checked.reason.as_str()));
        all.map(|(verdict, reason)| (verdict, reason.as_str())).chain(functions).chain(bench).chain(checks)
    }

    /// Whether anything in the run fails.
    pub fn failed(&self) -> bool {
        self.verdict() == Verdict::Fail
    }

    /// The run's verdict ([`Verdict::of_all`]).
    pub fn verdict(&self) -> Verdict {
        let pairs = [&self.pairs, &self.gradient_pairs].into_iter().flat_map(|pairs| {
            [
                (pairs.agree, Verdict::Pass),
                (pairs.failing(), Verdict::Fail),
                (pairs.unmeasured, Verdict::Unmeasured),
            ]
        });
        let pairs = pairs.filter(|(count, _)| *count > 0).map(|(_, verdict)| verdict);
        Verdict::of_all(self.verdicts().map(|(verdict, _)| verdict).chain(pairs))
    }
}

/// One invariant of one method, over all problems that it is probed on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InvariantResult {
    /// For instance `u-additive`; [`name`](crate::judge::invariants::Invariant::name).
    pub name: String,
    /// What must hold, in one sentence.
    pub what: String,
    pub method: Method,
    pub weights: Weights,
    /// The problem of the worst element, with its shape, for instance `carried b2 d2 n3 l149 g2`.
    pub problem: String,
    pub backend: String,
    pub verdict: Verdict,
    /// Why it failed or was not measured, where no element tells; empty otherwise.
    pub reason: String,
    /// Elements compared.
    pub judged: usize,
    /// The element with the largest share of its budget used: `want` is what the invariant asks for, made of the
    /// kernel's own numbers, and a `bound` of 0 asks for it exactly.
    pub worst: Option<Worst>,
    /// What all its seeds came to, in a run over several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<OfSeeds>,
    /// The command that reruns it.
    pub rerun: String,
}

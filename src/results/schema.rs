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
use crate::problem::{Operand, Shape, Weights};
use crate::tensor::{ComputedName, ElementType, Named};

/// The version of the machine output's layout. That of 2 has all of the tensors that pass, and names for the numbers of points.
pub const SCHEMA: u32 = 3;
/// What an id of derivatives over a sweep begins with.
pub const SWEPT: &str = "derivatives/";
/// Beginning of an id of dense systems.
pub const DENSE: &str = "dense/";
/// What an id of a backward pass ends with.
pub const BACKWARD: &str = "/backward";

impl CaseResult {
    /// Whether it is of a backward pass: its tensors are gradients, or what it takes of a step.
    pub fn is_backward(&self) -> bool {
        self.id.ends_with(BACKWARD)
    }

    /// Whether its elements have no scan around them: derivatives over a sweep, in the place of a regime, or dense systems.
    pub fn has_no_scan(&self) -> bool {
        self.id.starts_with(SWEPT) || self.id.starts_with(DENSE)
    }
}

/// The oldest layout that can still be read: its cases say nothing of single tensors.
pub const OLDEST_SCHEMA: u32 = 1;

/// One whole run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    pub schema: u32,
    pub version: String,
    /// The first one, where there are several.
    pub seed: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<u64>,
    pub backend: String,
    pub device: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    pub kernel_source: String,
    pub command: String,
    pub regimes: Vec<RegimeNote>,
    pub cases: Vec<CaseResult>,
    pub coefficients: Vec<CoefficientResult>,
    /// Of each method and weight type; none where regimes or 16-bit inputs alone were asked for.
    pub invariants: Vec<InvariantResult>,
    pub pairwise: Vec<PairwiseMatrix>,
    pub pairs: PairTotals,
    #[serde(default)]
    pub gradient_pairs: PairTotals,
    pub curves: Vec<MethodCurve>,
    #[serde(default)]
    pub errors: ErrorProfile,
    #[serde(default)]
    pub analysis: MethodAnalysis,
    #[serde(default)]
    pub sensitivity: Vec<Sensitivity>,
    #[serde(default)]
    pub gradient_sensitivity: Vec<GradientSensitivity>,
    /// Of sweeps over all of f32, in order ([`FunctionRange::order`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionRange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bench: Vec<Timed>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<Machine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Checked>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub created: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<f64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
    #[serde(default)]
    pub sampled: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undiagnosed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderNote>,
}

/// A foreign header, and what the compiler said of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeaderNote {
    pub path: String,
    pub instantiations: Vec<HeaderInstantiation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backward: Option<Vec<HeaderInstantiation>>,
}

/// A header's function for one weight type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeaderInstantiation {
    pub weights: Weights,
    #[serde(default)]
    pub b: Option<Operand>,
    pub compiles: bool,
    pub lines: Vec<String>,
}

/// What several seeds came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfSeeds {
    pub shown: u64,
    pub judged: usize,
    pub failed: Vec<u64>,
    pub unmeasured: Vec<u64>,
}

/// Why a regime or a sweep is hard.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RegimeNote {
    pub name: String,
    pub why: String,
    #[serde(default)]
    pub ordinary: bool,
}

/// One method's scan of one problem, judged element by element.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseResult {
    pub id: String,
    pub method: Form,
    pub weights: Weights,
    pub input: ElementType,
    pub b: Operand,
    pub c: Operand,
    pub regime: String,
    pub shape: Shape,
    /// A hash of every input (`Problem::fingerprint`): two runs may have other inputs under the same id. Empty in files of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inputs: String,
    pub backend: String,
    pub verdict: Verdict,
    pub reason: String,
    pub beyond: Beyond,
    #[serde(default, with = "nullable::short")]
    pub worst_case_ratio: f64,
    pub relative: Option<Relative>,
    pub lifted: Option<Lifting>,
    pub judged: usize,
    pub worst: Option<Worst>,
    #[serde(with = "nullable::short")]
    pub max_ulp: f64,
    #[serde(with = "nullable::short")]
    pub rel_l2: f64,
    pub diagnosis: Vec<Diagnosis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    #[serde(default, serialize_with = "tensors")]
    pub tensors: Named<TensorResult, ComputedName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<OfSeeds>,
    pub rerun: String,
}

/// One tensor of a case, judged element by element.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TensorResult {
    pub verdict: Verdict,
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub beyond: Beyond,
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub worst_case_ratio: f64,
    /// Elements compared; a complex one counts its parts.
    pub judged: usize,
    #[serde(default)]
    pub quick: usize,
    /// The element with the largest share of its allowance used: of those with a certified truth, unless only an element that
    /// the quick route decided fails. None when nothing was measured.
    #[serde(default)]
    pub worst: Option<Worst>,
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub max_ulp: f64,
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub rel_l2: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<Wrong>,
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
    /// Not begun, as no fault model knows runs of its kind.
    NoModels,
}

/// Elements of a tensor that are beyond their bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrong {
    pub values: String,
    pub elements: usize,
    pub judged: usize,
    pub first: Vec<usize>,
    pub places: Vec<String>,
    /// Judged elements at those places; 0 where that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub covers: usize,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub like: String,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
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
    pub what: String,
    /// What the model leaves of the error: ‖got − model‖ / ‖got − specified‖, in units of the bounds.
    #[serde(with = "nullable::short")]
    pub residual: f64,
    /// The edits of the specified program that it is, in the order in which they are made; none of what is named otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edited>,
}

impl Diagnosis {
    /// Without edits.
    pub fn new(name: impl Into<String>, what: impl Into<String>, residual: f64) -> Self {
        Diagnosis { name: name.into(), what: what.into(), residual, edits: Vec::new() }
    }

    /// The sentence without the lines of the program, which are those of its own problem: constant B, or a step that is made of another one.
    pub fn sentence(&self) -> &str {
        self.what.split(" (specified ").next().unwrap_or_default()
    }

    /// As it holds in a part alone, in words.
    #[must_use]
    pub fn in_part(mut self, part: &str) -> Self {
        self.what = format!("{part}: {}", self.what);
        for edit in &mut self.edits {
            let comma = if edit.place.is_empty() { "" } else { ", " };
            edit.place += &format!("{comma}{part}");
        }
        self
    }
}

/// One edit of the specified program, in the notation of spec.md.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edited {
    pub name: String,
    /// The value that is specified, and what is computed in its place.
    pub specified: String,
    pub computed: String,
    /// Which use of the value, and where; nothing where all are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
}

/// One element's error against its allowance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Worst {
    #[serde(default)]
    pub tensor: String,
    #[serde(default)]
    pub index: Vec<usize>,
    /// Index with a noun for each axis, where the run's layout is not spec.md §3's; else empty.
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
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable::many")]
    pub got_parts: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable::many")]
    pub want_parts: Vec<f64>,
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub error: f64,
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub bound: f64,
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub ratio: f64,
    /// The share of the kernel's allowance used: error/bound once the rounding to 16 bits on store, which no
    /// kernel can avoid, is taken from both. Above 1 exactly when `ratio` is, and equal to it there and for f32.
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub share: f64,
    #[serde(default = "nullable::nan", with = "nullable::short")]
    pub ulp: f64,
    #[serde(default)]
    pub inputs: Vec<String>,
}

/// One method's (Ā, B̄) over a sweep of z, each element judged on its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CoefficientResult {
    pub method: Method,
    pub weights: Weights,
    pub sweep: String,
    pub backend: String,
    pub verdict: Verdict,
    pub reason: String,
    pub worst_a_bar: Option<Worst>,
    pub worst_b_bar: Option<Worst>,
    pub points: Vec<CoefficientPoint>,
    #[serde(default)]
    pub diagnosis: Vec<Diagnosis>,
    #[serde(default)]
    pub lifted: Option<Lifting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<OfSeeds>,
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
    pub what: String,
    pub method: Method,
    pub weights: Weights,
    pub problem: String,
    pub backend: String,
    pub verdict: Verdict,
    pub reason: String,
    pub judged: usize,
    pub worst: Option<Worst>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<OfSeeds>,
    pub rerun: String,
}

//! A whole run, made of what its units of work found: one after another, in whatever order they come, on one machine or on
//! many. What depends on all of them is settled at the end, so that it does not matter how they were divided.
//!
//! A unit is run once for each seed of the plan. What is kept of an item (a case, a sweep, an invariant) is its worst seed, with
//! the names of the other ones that did not pass: a run over a thousand seeds is as large as a run over one.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::bench::Timed;
use super::functions::FunctionRange;
use super::pairs::{PairTotals, PairwiseMatrix, shown};
use super::precision::{GradientSensitivity, Lifting, Sensitivity};
use super::profile::{ErrorHistogram, ErrorProfile, ErrorSequence};
use super::schema::{CaseResult, CoefficientResult, InvariantResult, OfSeeds, RegimeNote, Results, Worst};
use super::verdict::Verdict;
use crate::tensor::ComputedName;

/// What one unit of work found with one seed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Found {
    pub cases: Vec<CaseResult>,
    pub coefficients: Vec<CoefficientResult>,
    pub invariants: Vec<InvariantResult>,
    /// The truth's, and the kernel's, of outputs and of gradients; of these only such as may be shown.
    pub matrices: Vec<[PairwiseMatrix; 2]>,
    /// What all pairs of outputs, and all of gradients, came to.
    pub pairs: [PairTotals; 2],
    /// Of f32 outputs.
    pub histograms: Vec<ErrorHistogram>,
    /// Of the problems that are to show them.
    pub sequences: Vec<ErrorSequence>,
    pub sensitivity: Vec<Sensitivity>,
    #[serde(default)]
    pub gradient_sensitivity: Vec<GradientSensitivity>,
    #[serde(default)]
    pub functions: Vec<FunctionRange>,
    #[serde(default)]
    pub bench: Vec<Timed>,
    /// Of a recorded run: what it is, and how it was judged.
    #[serde(default)]
    pub regimes: Vec<RegimeNote>,
    /// Whether only some of its channels were judged.
    #[serde(default)]
    pub sampled: bool,
    /// Its matrices, all of which are shown.
    #[serde(default)]
    pub pairwise: Vec<PairwiseMatrix>,
}

impl Found {
    /// Adds the matrices of gradients of a problem that is to show them, or keeps only what fails.
    pub fn add_gradients(&mut self, matrices: Vec<[PairwiseMatrix; 2]>, shows: bool) {
        let totals = PairTotals::of_passes(matrices.iter().flatten());
        self.pairs = PairTotals::sums(self.pairs, totals);
        self.matrices.extend(matrices.into_iter().filter(|[_, kernel]| shows || kernel.fails()));
    }

    /// Adds what a backward pass finds of the same problem: these five, and nothing else.
    pub fn add_backward(&mut self, found: Found) {
        let Found { cases, matrices, pairs, sequences, gradient_sensitivity, .. } = found;
        self.cases.extend(cases);
        self.matrices.extend(matrices);
        self.pairs = PairTotals::sums(self.pairs, pairs);
        self.sequences.extend(sequences);
        self.gradient_sensitivity.extend(gradient_sensitivity);
    }

    /// The verdicts of everything but pairs.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        let cases = self.cases.iter().map(Item::worst_verdict);
        let sweeps = self.coefficients.iter().map(Item::worst_verdict);
        let functions = self.functions.iter().map(|range| range.verdict);
        let bench = self.bench.iter().map(|timed| timed.verdict);
        cases
            .chain(sweeps)
            .chain(self.invariants.iter().map(Item::worst_verdict))
            .chain(functions)
            .chain(bench)
    }
}

/// What a run judges once for each seed.
trait Item {
    fn id(&self) -> String;
    fn verdict(&self) -> Verdict;
    /// With that of its lifted run.
    fn worst_verdict(&self) -> Verdict;
    /// The largest error over its bound.
    fn ratio(&self) -> f64;
    fn of_seeds(&mut self) -> &mut Option<OfSeeds>;
}

fn ratio(worst: &Option<Worst>) -> f64 {
    worst.as_ref().map_or(f64::NEG_INFINITY, |worst| worst.ratio)
}

macro_rules! item {
    ($item:ty, $id:expr, $lifted:expr, $ratio:expr) => {
        impl Item for $item {
            fn id(&self) -> String {
                let id: fn(&Self) -> String = $id;
                id(self)
            }
            fn verdict(&self) -> Verdict {
                self.verdict
            }
            fn worst_verdict(&self) -> Verdict {
                let lifted: fn(&Self) -> Option<&Lifting> = $lifted;
                self.verdict.max(lifted(self).map_or(Verdict::Pass, |lifted| lifted.verdict))
            }
            fn ratio(&self) -> f64 {
                let ratio: fn(&Self) -> f64 = $ratio;
                ratio(self)
            }
            fn of_seeds(&mut self) -> &mut Option<OfSeeds> {
                &mut self.seeds
            }
        }
    };
}

item!(CaseResult, |case| case.id.clone(), |case| case.lifted.as_ref(), |case| ratio(&case.worst));
item!(CoefficientResult, CoefficientResult::id, |sweep| sweep.lifted.as_ref(), |sweep| ratio(
    &sweep.worst_a_bar
)
.max(ratio(&sweep.worst_b_bar)));
item!(InvariantResult, InvariantResult::id, |_| None, |law| ratio(&law.worst));

/// Each item by its id, as its worst seed has it, with the place of its unit and its own in what that found.
struct Kept<T>(HashMap<String, ((usize, usize), T)>);

impl<T: Item> Kept<T> {
    fn add_all(&mut self, place: usize, seed: Option<u64>, items: Vec<T>) {
        items.into_iter().enumerate().for_each(|(at, item)| self.add((place, at), seed, item));
    }

    fn add(&mut self, place: (usize, usize), seed: Option<u64>, mut new: T) {
        if let Some(seed) = seed {
            let verdict = new.worst_verdict();
            let if_it = |is: Verdict| if verdict == is { vec![seed] } else { Vec::new() };
            let (failed, unmeasured) = (if_it(Verdict::Fail), if_it(Verdict::Unmeasured));
            *new.of_seeds() = Some(OfSeeds { shown: seed, judged: 1, failed, unmeasured });
        }
        let id = new.id();
        let Some((place, mut known)) = self.0.remove(&id) else {
            self.0.insert(id, (place, new));
            return;
        };
        if worse(&mut new, &mut known) {
            std::mem::swap(&mut new, &mut known);
        }
        if let (Some(all), Some(more)) = (known.of_seeds().as_mut(), new.of_seeds().take()) {
            all.judged += more.judged;
            all.failed.extend(more.failed);
            all.unmeasured.extend(more.unmeasured);
        }
        self.0.insert(id, (place, known));
    }

    /// In the order of the plan; where that names none, in the order of its units.
    fn in_order(self, order: &HashMap<&str, usize>) -> Vec<T> {
        let placed = |(id, (place, item)): (String, (_, T))| {
            ((order.get(id.as_str()).copied().unwrap_or(usize::MAX), place), item)
        };
        let mut items: Vec<_> = self.0.into_iter().map(placed).collect();
        items.sort_unstable_by_key(|(key, _)| *key);
        let mut items: Vec<T> = items.into_iter().map(|(_, item)| item).collect();
        for seeds in items.iter_mut().filter_map(|item| item.of_seeds().as_mut()) {
            seeds.failed.sort_unstable();
            seeds.unmeasured.sort_unstable();
        }
        items
    }
}

/// Whether this is the one to show; of equals the smaller seed.
fn worse<T: Item>(new: &mut T, known: &mut T) -> bool {
    let seed = |item: &mut T| item.of_seeds().as_ref().map_or(0, |seeds| seeds.shown);
    let ordered = new
        .worst_verdict()
        .cmp(&known.worst_verdict())
        .then(new.verdict().cmp(&known.verdict()))
        .then(new.ratio().total_cmp(&known.ratio()))
        .then(seed(known).cmp(&seed(new)));
    ordered.is_gt()
}

/// The matrices of one tensor of one problem, of the first seed with which a pair fails, or else of the first one.
struct KeptMatrices {
    fails: bool,
    seed: u64,
    matrices: [PairwiseMatrix; 2],
}

/// What was found so far.
pub struct Whole {
    /// Whether the plan has several seeds.
    several: bool,
    cases: Kept<CaseResult>,
    coefficients: Kept<CoefficientResult>,
    invariants: Kept<InvariantResult>,
    /// By tensor and the place of the problem.
    matrices: BTreeMap<(usize, ComputedName), KeptMatrices>,
    pairs: [PairTotals; 2],
    histograms: Vec<ErrorHistogram>,
    sequences: BTreeMap<usize, Vec<ErrorSequence>>,
    sensitivity: BTreeMap<usize, Vec<Sensitivity>>,
    gradient_sensitivity: BTreeMap<usize, Vec<GradientSensitivity>>,
    functions: Vec<FunctionRange>,
    bench: BTreeMap<usize, Vec<Timed>>,
    regimes: BTreeMap<usize, Vec<RegimeNote>>,
    sampled: bool,
    pairwise: BTreeMap<usize, Vec<PairwiseMatrix>>,
}

impl Whole {
    /// Of a plan with one seed, or with several.
    pub fn new(several: bool) -> Self {
        Whole {
            several,
            cases: Kept(HashMap::new()),
            coefficients: Kept(HashMap::new()),
            invariants: Kept(HashMap::new()),
            matrices: BTreeMap::new(),
            pairs: Default::default(),
            histograms: Vec::new(),
            sequences: BTreeMap::new(),
            sensitivity: BTreeMap::new(),
            gradient_sensitivity: BTreeMap::new(),
            functions: Vec::new(),
            bench: BTreeMap::new(),
            regimes: BTreeMap::new(),
            sampled: false,
            pairwise: BTreeMap::new(),
        }
    }

    /// Adds what the unit at this place of the plan found with this seed: once.
    pub fn add(&mut self, place: usize, seed: u64, found: Found) {
        let of_several = self.several.then_some(seed);
        self.cases.add_all(place, of_several, found.cases);
        self.coefficients.add_all(place, of_several, found.coefficients);
        self.invariants.add_all(place, of_several, found.invariants);
        self.pairs = PairTotals::sums(self.pairs, found.pairs);
        for matrices in found.matrices {
            let (fails, key) = (matrices[1].fails(), (place, matrices[0].tensor));
            let known = self.matrices.get(&key);
            if known.is_none_or(|known| (!fails, seed) < (!known.fails, known.seed)) {
                self.matrices.insert(key, KeptMatrices { fails, seed, matrices });
            }
        }
        let histograms = self.histograms.iter().chain(&found.histograms);
        self.histograms = ErrorProfile::collect(histograms, Vec::new()).histograms;
        self.sequences.entry(place).or_default().extend(found.sequences);
        self.sensitivity.entry(place).or_default().extend(found.sensitivity);
        self.gradient_sensitivity.entry(place).or_default().extend(found.gradient_sensitivity);
        self.functions.extend(found.functions);
        self.bench.entry(place).or_default().extend(found.bench);
        self.regimes.entry(place).or_default().extend(found.regimes);
        self.sampled |= found.sampled;
        self.pairwise.entry(place).or_default().extend(found.pairwise);
    }

    /// The results, of which `head` has all that no unit finds; not explained yet.
    pub fn results(self, head: Results) -> Results {
        let planned = head.planned.as_deref().unwrap_or_default();
        let order: HashMap<&str, usize> =
            planned.iter().enumerate().map(|(place, id)| (id.as_str(), place)).collect();
        let matrices: Vec<[PairwiseMatrix; 2]> =
            self.matrices.into_values().map(|kept| kept.matrices).collect();
        let mut sequences: Vec<ErrorSequence> = self.sequences.into_values().flatten().collect();
        sequences.sort_by_key(|sequence| sequence.weights);
        let mut functions = self.functions;
        functions.sort_by_key(FunctionRange::order);
        let of_recordings = self.pairwise.into_values().flatten();
        let [pairs, gradient_pairs] = self.pairs;
        Results {
            regimes: head.regimes.into_iter().chain(self.regimes.into_values().flatten()).collect(),
            sampled: head.sampled || self.sampled,
            cases: self.cases.in_order(&order),
            coefficients: self.coefficients.in_order(&order),
            invariants: self.invariants.in_order(&order),
            pairwise: shown(&matrices).into_iter().chain(of_recordings).collect(),
            pairs,
            gradient_pairs,
            errors: ErrorProfile::collect(self.histograms.iter(), sequences),
            sensitivity: self.sensitivity.into_values().flatten().collect(),
            gradient_sensitivity: self.gradient_sensitivity.into_values().flatten().collect(),
            functions,
            bench: self.bench.into_values().flatten().collect(),
            ..head
        }
    }
}

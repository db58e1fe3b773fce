//! Conditions on values under which alone an edit may hold: a series near 0, a threshold above which a function is another, zeros that are
//! skipped.

use std::collections::{BTreeSet, HashSet};
use std::mem::{Discriminant, discriminant};

use super::evaluate::Evaluator;
use super::functions::modulus;
use super::{Found, Search};
use crate::problem::Weights;
use crate::program::edit::{Edit, Patch, Site};
use crate::program::proposed;
use crate::program::{Condition, Function, Id, Op, Real, Symbol};
use crate::tensor::TensorName;

/// Limits that people type.
const LIMITS: [f64; 30] = [
    1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6,
    0.75, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 8.0, 10.0, 15.0, 20.0,
];
/// Below this only 0 is.
const ZERO: f64 = f32::MIN_POSITIVE as f64;
/// Channels in whose values limits have to differ.
const CHANNELS: usize = 3;

impl Search<'_> {
    /// One edit more where a value is small or large.
    pub(super) fn at_values(&mut self) -> Vec<Found> {
        if !self.tensors.contains(&TensorName::Out) {
            return Vec::new();
        }
        let mut plain = proposed::plain(&self.graph, &self.program, self.case.problem);
        plain.extend(proposed::step_for_values(&self.graph, &self.program));
        let conditioned = conditioned(self, &plain);
        self.tried(conditioned)
    }

    /// A factor more there.
    pub(super) fn scaled_at_values(&mut self) -> Vec<Found> {
        if !self.tensors.contains(&TensorName::Out) {
            return Vec::new();
        }
        let mut factors = proposed::with_number(&self.graph, &self.program, self.case.problem);
        factors.retain(|edit| matches!(edit.patch, Patch::Scaled(_)));
        self.with_numbers_by_exponents(&factors)
    }

    /// A coefficient of a series, or of a closed form, that is another where the exponent is small, or is not.
    pub(super) fn coefficients_at_values(&mut self) -> Vec<Found> {
        if !self.tensors.contains(&TensorName::Out) {
            return Vec::new();
        }
        let terms = self.terms_of_series();
        self.with_numbers_by_exponents(&terms)
    }

    /// A series that stops after a few terms where the exponent is small, and the last of them with another coefficient.
    pub(super) fn cut_series_at_values(&mut self) -> Vec<Found> {
        if !self.tensors.contains(&TensorName::Out) {
            return Vec::new();
        }
        let of_phi = |id: &Id| match *self.graph.op(*id) {
            Op::Apply(Function::Phi(k @ 1..), z) => Some((*id, k, z)),
            _ => None,
        };
        let nodes = self.graph.reached(&[self.program.out]);
        let phis: Vec<(Id, u8, Id)> = nodes.iter().filter_map(of_phi).collect();
        for ((phi, k, z), terms) in phis.into_iter().flat_map(|phi| (2..=4).map(move |terms| (phi, terms))) {
            let series = Function::Series(k, terms);
            let cut = Edit { site: Site::Value(phi), patch: Patch::Instead(Some(series)), when: None };
            let is_below = |edit: &Edit| matches!(edit.when, Some(Condition::Below(of, _)) if of == z);
            for first in conditioned(self, &[cut]).into_iter().filter(is_below) {
                let found = self.beside(first, &|search| {
                    let last = search.graph.product(vec![z; usize::from(terms) - 1]);
                    let site = Site::Value(search.graph.apply(series, z));
                    search.nodes = search.graph.len();
                    search.with_numbers(&[Edit { site, patch: Patch::Plus(last, Real::ZERO), when: None }])
                });
                if !found.is_empty() || self.is_over() {
                    return found;
                }
            }
        }
        Vec::new()
    }

    /// Series and closed forms are chosen by the exponent.
    fn with_numbers_by_exponents(&mut self, edits: &[Edit]) -> Vec<Found> {
        let mut conditioned = conditioned(self, edits);
        let is_exponent = |edit: &Edit| {
            let of = edit.when.and_then(Condition::of);
            of.is_some_and(|of| matches!(self.graph.op(of), Op::Product(_)) && self.graph.extent(of).state)
        };
        conditioned.retain(is_exponent);
        self.with_numbers(&conditioned)
    }
}

impl Search<'_> {
    /// Powers of z that a φ-function has too many or too few of: a coefficient of its series, or of what its closed form takes away.
    fn terms_of_series(&mut self) -> Vec<Edit> {
        let is_phi = |id: &Id| matches!(self.graph.op(*id), Op::Apply(Function::Phi(1..), _));
        let nodes = self.graph.reached(&[self.program.out, self.program.last_state]);
        let mut edits = Vec::new();
        for phi in nodes.into_iter().filter(is_phi).collect::<Vec<_>>() {
            let z = self.graph.op(phi).operands()[0];
            let inverse = self.graph.apply(Function::Reciprocal, z);
            let powers = [vec![], vec![z], vec![z, z], vec![inverse], vec![inverse, inverse]];
            for power in powers {
                let patch = Patch::Plus(self.graph.product(power), Real::ZERO);
                edits.push(Edit { site: Site::Value(phi), patch, when: None });
            }
        }
        // The search reads them.
        self.nodes = self.graph.len();
        edits
    }
}

/// Edits under each condition that divides the values of the most wrong channels in another way.
fn conditioned(search: &mut Search, plain: &[Edit]) -> Vec<Edit> {
    let nodes = search.graph.reached(&[search.program.out, search.program.last_state]);
    let real_parts = real_parts(search, &nodes);
    let is_argument =
        |id: &Id| nodes.iter().any(|user| matches!(search.graph.op(*user), Op::Apply(_, of) if of == id));
    let is_input = |id: &Id| matches!(search.graph.op(*id), Op::Input(_));
    let step = search.program.find(Symbol::StepSize);
    let deciding = |id: &Id| is_argument(id) || is_input(id) || Some(*id) == step;
    let deciding: Vec<Id> = nodes.iter().copied().filter(deciding).collect();
    let deciding = deciding.into_iter().map(|id| (id, is_argument(&id) || Some(id) == step));
    let deciding: Vec<(Id, bool)> = deciding.chain(real_parts.into_iter().map(|id| (id, true))).collect();
    let conditions: Vec<Condition> = deciding.into_iter().flat_map(|of| dividing(search, of)).collect();
    let graph = &search.graph;
    let mut edits = Vec::new();
    for edit in plain {
        let is_value =
            matches!(edit.patch, Patch::Number(_) | Patch::Instead(_) | Patch::Other(_) | Patch::InEach(_));
        let is_tried = is_value
            || matches!(
                edit.patch,
                Patch::Times(_) | Patch::Over(_) | Patch::Scaled(_) | Patch::Plus(_, Real::ZERO)
            );
        let target = edit.target(graph);
        let extent_of = match edit.site {
            Site::Use { user, .. } => graph.extent(user),
            _ => graph.extent(target),
        };
        let holds = |when: &Condition| {
            let Some(of) = when.of() else { return false };
            let at = match edit.site {
                Site::Use { user, .. } => user,
                _ => target,
            };
            let base = match *graph.op(of) {
                Op::Apply(Function::RealPart, base) => base,
                _ => of,
            };
            let is_before = base < at || base == target || matches!(graph.op(of), Op::Input(_));
            let extent = graph.extent(of);
            // Thresholds are those of functions of one number for each position.
            let is_threshold = matches!(edit.patch, Patch::Instead(_)) && !extent.state;
            let is_kind = !matches!(when, Condition::Above(..)) || is_threshold;
            is_before && is_kind && extent.is_within(extent_of) && (extent.position || extent.state)
        };
        if is_tried {
            let conditions = conditions.iter().filter(|when| holds(when));
            edits.extend(conditions.map(|when| Edit { when: Some(*when), ..*edit }));
        }
    }
    edits
}

/// Real parts of complex exponents, which a test may take for their sizes.
fn real_parts(search: &mut Search, nodes: &[Id]) -> Vec<Id> {
    let is_complex = search.case.problem.weights == Weights::Complex;
    let argument = |id: &Id| match *search.graph.op(*id) {
        Op::Apply(_, of) if search.graph.extent(of).state => Some(of),
        _ => None,
    };
    let is_product = |id: &Id| is_complex && matches!(search.graph.op(*id), Op::Product(_));
    let exponents: BTreeSet<Id> = nodes.iter().filter_map(argument).filter(is_product).collect();
    let all = exponents.into_iter().map(|id| search.graph.apply(Function::RealPart, id)).collect();
    search.nodes = search.graph.len();
    all
}

/// Conditions on a value that hold somewhere and not everywhere; of inputs whether they are 0.
fn dividing(search: &Search, (of, is_argument): (Id, bool)) -> Vec<Condition> {
    let is_input = matches!(search.graph.op(of), Op::Input(_)) && !is_argument;
    // A coefficient is a channel of one value.
    let count = if search.of_coefficients { search.order.len() } else { CHANNELS };
    let columns = search.order.iter().take(count).map(|&row| {
        let at = search.case.problem.judged_channels[row];
        Evaluator::whole(search.case.problem, at).column(&search.graph, of, at)
    });
    let values: Vec<_> = columns.flat_map(|column| column.values().collect::<Vec<_>>()).collect();
    let below = LIMITS.into_iter().filter(|_| !is_input).chain(is_input.then_some(ZERO));
    let below = below.map(|limit| Condition::Below(of, Real::new(limit)));
    let beyond =
        LIMITS.into_iter().filter(|_| !is_input).map(|limit| Condition::Beyond(of, Real::new(limit)));
    let above = LIMITS.into_iter().filter(|_| !is_input).map(|limit| Condition::Above(of, Real::new(limit)));
    let mut known: HashSet<(Discriminant<Condition>, usize)> = HashSet::new();
    let mut divides = |when: &Condition| {
        let count = values.iter().filter(|value| match when {
            Condition::Below(_, limit) => modulus(**value) < limit.value(),
            Condition::Beyond(_, limit) => modulus(**value) >= limit.value(),
            Condition::Above(_, limit) => value.re > limit.value(),
            Condition::At(_) => false,
        });
        let count = count.count();
        // Limits that divide values alike have as many below them.
        let is_new = known.insert((discriminant(when), count));
        is_new && count > 0 && count < values.len()
    };
    below.chain(beyond).chain(above).filter(|when| divides(when)).collect()
}

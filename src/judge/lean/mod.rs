//! Whether the errors of many elements are roundings together, as each of them may be alone.
//!
//! Where an arithmetic is stated ([`crate::problem::stages`]), the bounds are wide, and leave room for a factor of 1.0001 or a
//! constant that is typed with four digits. But roundings go both ways, and a factor goes one. So the errors of a tensor are also
//! judged by sums of all of them.
//!
//! # What is summed
//!
//! T = Σ gᵢ(gotᵢ − wantᵢ) over the elements of a channel, all of its packed sequences together, and over those of all judged channels,
//! for g = w/bound² with what a mistake would move: w = want for a factor, the part of it that comes from states for a factor of those, 1 for an offset. That is least squares:
//! T/Σgw is the factor or the offset that fits best, errors being in units of their bounds, as far as these are finite.
//!
//! # How far a sound T may be from 0
//!
//! T is a real functional of the run as any element is, and the theory of [`super::budget`] holds for it: a rounding of an intermediate
//! value v by a relative δ adds δκ, κ = v·∂T/∂v, to first order. The derivatives are those of reverse mode:
//! q_l = g_l C_l s_l + Ā_{l+1} q_{l+1}, s_l being what follows y, for ∂T/∂x_l. With |δ| at most the unit of a stage, |T| ≤ D + λ√V:
//!
//! - V = Σ(unit·|κ|)² over the roundings of stages, λ as there: a sound T is beyond with probability below 2.6·10⁻¹⁴, and one of the
//!   some thousand of a run with less than 10⁻¹⁰. Roundings of one value after another are taken as one while the value moves by less than
//!   [`MOVES`] of their units: V has the square of their sum. V is taken as often as the most frequent z or b of a channel occurs, and
//!   for what is rounded after the states as often as the most frequent output does, up to [`ALIKE`] of a unit.
//! - V has the products and sums of f32, too. D has all else, as if it never cancelled: for each element what of its bound with all stages
//!   in f32 is not taken as random there either, and what is of second order and has no mean of 0: δ² of an exponent, [`SECOND`] times at
//!   most, of all terms.
//! - Where a stage is in tf32, tensor cores may cut bits off: each δ may be anything in [−unit, 0], and T may be off by that as a whole.
//!   A factor above 1 shows all the same; one below, down to 1 − unit, does not.
//! - What CUDA's approximations of e^x are stated to be off is in V and, of a verdict, in D as well: approximations are systematic.
//! - Exponents that are summed in log space: one sum after the other, δ of step l is at most u·Σ|z| since its block began. As a tree, a sum
//!   of 2ʲ exponents moves as many factors eˢ where states are read and e⁻ˢ where inputs enter. Both are allowed.
//!
//! Stages that are stated to be in f32 are not judged so: there the bounds of elements are as narrow.
//!
//! # What looks like roundings
//!
//! A run that fails is named after an arithmetic only if its errors look like that arithmetic's ([`Asked::Likeness`]): T of all channels is
//! near 0 or, in tf32, near what cutting off gives where it is done: between a quarter and half of a unit on average, as mantissas lie
//! between 1 and 2, in all of the roundings of a place or in none. Near is within D + [`ALIKENESS`]·√V, where D has [`CAREFUL`] times the
//! level of rounding in the place of what f32 allows. And the errors of out are as large as such roundings make them, root mean square,
//! up to a factor of [`AS_LARGE`]: the scan is computed with them. Of several arithmetics that fit, one whose simulated roundings are those
//! that are seen, digit by digit, comes first.

mod gradients;
mod roundings;

pub use self::gradients::{explaining, leaning_of_z};
use self::roundings::ROUNDED;
use super::budget::{Budget, ChannelBudget, LAMBDA};
use super::linearized::Channel;
use crate::formula::Form;
use crate::parallel;
use crate::problem::{InputType, Problem, Sequence, Stages};
use crate::promise::Contract;
use crate::promise::allowance::{Arithmetic, U};
use crate::tensor::{Tensor, TensorName, Tensors};

/// Units that a value has to move by before its next rounding is as good as another one.
const MOVES: f64 = 4.0;
/// The part of a unit within which outputs are equal.
const ALIKE: f64 = 1.0 / 16.0;
/// Squares of a unit that errors of second order may be off the level of rounding, of which terms have some units: e^{zδ} is off by
/// (zδ)²/2, and e^{−s} of a sum s of such z is at most 0.6/s². Products of independent roundings have a mean of 0. A choice.
const SECOND: f64 = 1.0;

/// How strictly errors are compared with roundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Whether any roundings of the stages may be these errors: for a verdict.
    Possibility,
    /// Whether they look like them: for a name.
    Likeness,
}

/// λ of a likeness, of all channels together. A choice: units are hard bounds, so that this is some three standard deviations of errors
/// that are spread evenly.
const ALIKENESS: f64 = 1.5;

/// How much larger or smaller than simulated ones errors may be, root mean square. A choice: a kernel rounds elsewhere in a stage, or
/// more often.
const AS_LARGE: f64 = 2.5;

/// The least correlation of errors with those of a naive softplus, which loses the same digits wherever it runs. A choice: an eˣ that
/// is off by an ulp changes few of the sums.
const ONE_WAY: f64 = 0.5;

/// The least correlation of errors with simulated roundings of operands on tensor cores. A choice: a kernel that rounds one of its four
/// operands elsewhere has some three quarters, and what rounds no operands 0.
const OF_OPERANDS: f64 = 0.5;

/// Errors that are expected of f32, in [`super::budget::Bounds::rounding`]. A choice.
const CAREFUL: f64 = 4.0;

/// Errors of a tensor that go one way by more than roundings do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lean {
    pub kind: Kind,
    /// The weighted mean of the errors: of what is wanted for a factor, else as they are.
    pub mean: f64,
    /// The most that it may be on that side, above 0 or below.
    pub allowed: f64,
    /// The row of a judged channel; none for all of them together.
    pub row: Option<usize>,
    pub elements: usize,
}

/// Which way errors may go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// With the values.
    Factor,
    /// With what of them comes from states, without the skip.
    FactorOfStates,
    /// Up or down.
    Offset,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Factor, Kind::FactorOfStates, Kind::Offset];
}

impl Lean {
    /// One sentence, for the arithmetic that is stated.
    pub fn reason(&self, stages: Stages) -> String {
        let Lean { kind, mean, allowed, elements, .. } = *self;
        let (size, most) = (mean.abs(), allowed.abs());
        let seen = match (kind, mean > 0.0) {
            (Kind::Factor, true) => format!("values are too large by {size:.1e} of themselves"),
            (Kind::Factor, false) => format!("values are too small by {size:.1e} of themselves"),
            (Kind::FactorOfStates, true) => {
                format!("sums over states are too large by {size:.1e} of themselves")
            }
            (Kind::FactorOfStates, false) => {
                format!("sums over states are too small by {size:.1e} of themselves")
            }
            (Kind::Offset, true) => format!("values are too high by {size:.1e}"),
            (Kind::Offset, false) => format!("values are too low by {size:.1e}"),
        };
        format!(
            "{seen}, on average over {elements} elements, where roundings of {stages} come to {most:.1e} at most: each element is within its \
             bound, but roundings go both ways, and these errors go one way"
        )
    }
}

/// Which of the tensors have errors that no roundings of the contract's stages have together. `got` and `want` are the judged
/// channels, with the bounds for that contract.
pub fn leaning(
    form: Form,
    problem: &Problem,
    contract: &Contract,
    (got, want): (&Tensors<f64>, &Tensors<f64>),
    budget: &Budget,
    asked: Asked,
) -> Vec<(TensorName, Lean)> {
    let stages = contract.arithmetic.stages;
    let narrow = match asked {
        Asked::Possibility => stages.in_f32(),
        Asked::Likeness => stages.in_f32().with_library_functions(),
    };
    // Exponents of what comes before a packed sequence in its block are not known to it.
    let knows = problem.packed.is_none() || stages.log_space.is_none();
    if narrow == stages || !knows {
        return Vec::new();
    }
    let single = Contract { arithmetic: Arithmetic { stages: narrow, ..contract.arithmetic }, ..*contract };
    let tensors: Vec<(TensorName, &Tensor<f64>, &Tensor<f64>)> = got.zip(want).collect();
    let rows = problem.judged_channels.len();
    let of_sequence = |row: usize,
                       (sequence, repeats): (&Sequence, f64),
                       of_tensors: &mut [(Sums, Vec<f64>)]| {
        let (alone, at) = problem.alone(problem.judged_channels[row], sequence);
        let channel = Channel::new(form, &alone, contract, if problem.packed.is_some() { 0 } else { row });
        let unit = channel.largest_unit();
        let systematic = ChannelBudget::new(form, &*alone, at, &single).systematic();
        for ((name, got, want), of_tensor) in tensors.iter().zip(of_tensors.chunks_mut(Kind::ALL.len())) {
            let Some(within) = problem.within_row(sequence, *name) else { continue };
            let first = row * (want.values.len() / rows);
            let own = first + within.start..first + within.end;
            let (wide, narrow) = (&budget.tensors[*name], &systematic[*name]);
            for (kind, (of_kind, of_row)) in Kind::ALL.into_iter().zip(of_tensor) {
                let mut sums = Sums::default();
                let ways = ways(&channel, kind, *name, &want.values[own.clone()]);
                let mut weights = vec![0.0; own.len()];
                for (i, at) in own.clone().enumerate() {
                    let (got, exact, bounds) = (got.values[at], want.values[at], at / want.width);
                    let bound = wide.bound[bounds];
                    if !(got.is_finite() && exact.is_finite() && bound.is_finite() && bound > 0.0) {
                        continue;
                    }
                    let weight = ways[i] / bound / bound;
                    weights[i] = weight;
                    let level = narrow.rounding[i / want.width];
                    let coherent = match asked {
                        Asked::Possibility => narrow.bound[i / want.width] + SECOND * unit * unit * level / U,
                        Asked::Likeness => CAREFUL * level,
                    };
                    sums.add((weight, ways[i]), got - exact, coherent);
                }
                let stored =
                    (want.element != InputType::F32).then_some(&wide.store[own.start / want.width..]);
                roundings::add(
                    &channel,
                    (*name, &want.values[own.clone()]),
                    &weights,
                    stored,
                    repeats,
                    &mut sums,
                );
                of_row[within.clone()].copy_from_slice(&weights);
                of_kind.absorb(&sums);
            }
        }
    };
    let of_row = |&row: &usize| {
        let len = |want: &Tensor<f64>| want.values.len() / rows;
        let blank = |(_, _, want): &(TensorName, &Tensor<f64>, &Tensor<f64>)| {
            Kind::ALL.map(|_| (Sums::default(), vec![0.0; len(want)]))
        };
        let mut of_tensors: Vec<(Sums, Vec<f64>)> = tensors.iter().flat_map(blank).collect();
        let at = problem.judged_channels[row];
        // Equal values of several sequences round alike.
        let repeats = match problem.packed.is_some() {
            true => {
                let Ok(together) = ChannelBudget::new(form, problem, at, contract).repeats_together();
                together
            }
            false => budget.repeats,
        };
        for sequence in problem.sequences(at.0).iter().filter(|own| !own.is_padding) {
            of_sequence(row, (sequence, repeats), &mut of_tensors);
        }
        let wants = tensors
            .iter()
            .flat_map(|(_, _, want)| Kind::ALL.map(|_| &want.values[row * len(want)..][..len(want)]));
        let whole = of_tensors.into_iter().zip(wants).map(|((mut sums, weights), want)| {
            sums.variance += sums.read * roundings::alike(&weights, want, stages);
            sums
        });
        whole.collect::<Vec<Sums>>()
    };
    let by_row = parallel::map(&(0..rows).collect::<Vec<_>>(), &of_row);
    let mut found = Vec::new();
    for (i, (name, ..)) in tensors.iter().enumerate() {
        for (k, kind) in Kind::ALL.into_iter().enumerate() {
            let of_kind = by_row.iter().map(|sums| sums[i * Kind::ALL.len() + k]);
            found.extend(Sums::leaning(of_kind, kind, asked).into_iter().map(|lean| (*name, lean)));
        }
    }
    found
}

/// Likeness of the errors of out to simulated roundings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Likeness {
    /// How much they differ in size, as a logarithm; of products on tensor cores, what their correlation lacks.
    pub apart: f64,
    /// Their correlation.
    pub alike: f64,
}

/// How much the errors of out are like simulated roundings of the contract's stages; none where they do not look like them
/// ([`Asked::Likeness`]).
pub fn looks_like(
    form: Form,
    problem: &Problem,
    contract: &Contract,
    (got, want): (&Tensors<f64>, &Tensors<f64>),
    budget: &Budget,
) -> Option<Likeness> {
    let stages = contract.arithmetic.stages;
    if !leaning(form, problem, contract, (got, want), budget, Asked::Likeness).is_empty() {
        return None;
    }
    // Errors that are documented are the largest there may be, and no size that they have.
    if stages.in_f32() == stages && stages.ssd.is_none() {
        return Some(Likeness::default());
    }
    let (Some(got), Some(want)) = (got.get(TensorName::Out), want.get(TensorName::Out)) else {
        return Some(Likeness::default());
    };
    let bounds = &budget.tensors[TensorName::Out].bound;
    let length = problem.shape.seqlen;
    let of_row = |&row: &usize| {
        let channel = Channel::new(form, problem, contract, row);
        let simulated = [false, true].map(|cuts| channel.simulated(cuts));
        let mut sums = [0.0; 5];
        for (l, at) in (row * length..(row + 1) * length).enumerate() {
            let errors = [
                got.values[at] - want.values[at],
                simulated[0][l] - want.values[at],
                simulated[1][l] - want.values[at],
            ];
            if errors.iter().all(|error| error.is_finite()) && bounds[at].is_finite() {
                let [seen, rounded, cut] = errors.map(|error| error / bounds[at]);
                let products = [seen * seen, rounded * rounded, cut * cut, seen * rounded, seen * cut];
                sums.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
            }
        }
        sums
    };
    let rows: Vec<usize> = (0..problem.judged_channels.len()).collect();
    let add = |sums: [f64; 5], row: [f64; 5]| std::array::from_fn(|i| sums[i] + row[i]);
    let [seen, rounded, cut, both, both_cut] = parallel::map(&rows, &of_row).into_iter().fold([0.0; 5], add);
    let alike = both / (seen * rounded).sqrt();
    // Bounds of products on tensor cores leave room for much else: their roundings have to be the very ones, for the most part.
    if stages.ssd.is_some() {
        let alike = alike.max(both_cut / (seen * cut).sqrt());
        return (alike >= OF_OPERANDS).then_some(Likeness { apart: 1.0 - alike, alike });
    }
    // The digits of a sum of 1 and eˣ are lost in one way only.
    if stages.naive_softplus && both < ONE_WAY * (seen * rounded).sqrt() {
        return None;
    }
    // Sums of squares. A quotient that is no number is far off.
    let apart = |simulated: f64| (0.5 * (seen / simulated).ln()).abs();
    let nearest = apart(rounded).min(apart(cut));
    (nearest <= AS_LARGE.ln()).then_some(Likeness { apart: nearest, alike })
}

/// How far a mistake of this kind moves the elements of a tensor.
fn ways(channel: &Channel, kind: Kind, name: TensorName, want: &[f64]) -> Vec<f64> {
    match kind {
        Kind::Factor => want.to_vec(),
        Kind::Offset => vec![1.0; want.len()],
        // The state is such a part by itself.
        Kind::FactorOfStates if name == TensorName::LastState || channel.problem.d.is_none() => {
            vec![0.0; want.len()]
        }
        Kind::FactorOfStates => channel.seen(|state| [state.before, state.x]).0,
    }
}

/// T, and what it may be.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    error: f64,
    /// T for values twice as large, or for errors of 1.
    whole: f64,
    /// D
    coherent: f64,
    /// The share of T that cutting a whole unit off has, by what is rounded.
    cuts: [f64; ROUNDED],
    /// V
    variance: f64,
    /// The part of V that is rounded after the states, as if no two values were equal.
    read: f64,
    elements: usize,
}

impl Sums {
    /// Adds an element: its weight in T, how far a mistake moves it, and its part of D.
    fn add(&mut self, (weight, way): (f64, f64), error: f64, coherent: f64) {
        self.error += weight * error;
        self.whole += weight * way;
        self.coherent += weight.abs() * coherent;
        self.elements += usize::from(weight != 0.0);
    }

    /// What is found in each row, where it is asked for a possibility, and in all of them together.
    fn leaning(rows: impl Iterator<Item = Sums>, kind: Kind, asked: Asked) -> Vec<Lean> {
        let (mut whole, mut found) = (Sums::default(), Vec::new());
        for (row, sums) in rows.enumerate() {
            whole.absorb(&sums);
            found.extend(sums.lean(kind, Some(row), asked).filter(|_| asked == Asked::Possibility));
        }
        found.extend(whole.lean(kind, None, asked));
        found
    }

    fn absorb(&mut self, other: &Sums) {
        self.error += other.error;
        self.whole += other.whole;
        self.coherent += other.coherent;
        self.cuts.iter_mut().zip(other.cuts).for_each(|(cut, other)| *cut += other);
        self.variance += other.variance;
        self.read += other.read;
        self.elements += other.elements;
    }

    fn lean(&self, kind: Kind, row: Option<usize>, asked: Asked) -> Option<Lean> {
        let lambda = if asked == Asked::Likeness { ALIKENESS } else { LAMBDA };
        let random = self.coherent + lambda * self.variance.sqrt();
        let moved = |[low, high]: [f64; 2], [a, b]: [f64; 2]| [low + a.min(b), high + a.max(b)];
        let mut possible = vec![[-random, random]];
        for cut in self.cuts.into_iter().filter(|cut| *cut != 0.0) {
            match asked {
                // Anything up to a unit.
                Asked::Possibility => possible[0] = moved(possible[0], [0.0, cut]),
                // Bits are cut off in the whole of a place, or not at all.
                Asked::Likeness => {
                    let with_it: Vec<_> =
                        possible.iter().map(|one| moved(*one, [0.25 * cut, 0.5 * cut])).collect();
                    possible.extend(with_it);
                }
            }
        }
        let Sums { error, whole, elements, .. } = *self;
        // A bound that is no number bounds nothing.
        if possible.iter().any(|[low, high]| !(error < *low || error > *high)) {
            return None;
        }
        let ends = possible.iter().map(|[low, high]| if error > 0.0 { *high } else { *low });
        let allowed = ends.fold(0.0, |most: f64, end| if end.abs() > most.abs() { end } else { most });
        Some(Lean { kind, mean: error / whole, allowed: allowed / whole, row, elements })
    }
}

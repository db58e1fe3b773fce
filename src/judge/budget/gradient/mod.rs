//! The derived bounds on every element of every gradient (spec.md §6), for any order in which a backward pass adds things up.
//!
//! # States and cotangents
//!
//! A backward pass recomputes the states, or keeps them: they are off by what [`super`] derives. The cotangents
//! p_l = C_l e_l + Ā_{l+1} p_{l+1} are a scan, backwards, of the same Ā and of inputs C_l e_l, and so bounded by the same
//! recurrences: E, D, V and M of [`super`], with e known to what the gate's arithmetic is off. Nothing there is assumed of the
//! order of the operations, so that it holds for serial scans, trees and chunks.
//!
//! Where e^x is stated to be CUDA's approximation (`exp=fast`), what that is off is in Ā, in its derivative, in Δ and its slope, and in the
//! gate and its slope ([`crate::promise::allowance`]): systematic, all of it.
//!
//! # Products
//!
//! A gradient's terms are products of a cotangent p, of x or of an input, and of a derivative of Ā or h, known to
//! `derivatives.rs`' allowance. For p̂ = p + δ and x̂ = x + ε, p̂x̂ − px = δx̂ + pε. In the worst case |δ| ≤ E_p and |ε| ≤ E_x. Of what is
//! systematic D stands in place of E. What is random is a martingale in the roundings of the states first and then of the
//! cotangents, which come later, with differences that are those of δ times |x̂| ≤ |x| + E_x, and those of ε times |p|:
//! V_p(|x| + E_x)² + |p|²V_x. A product rounds by μ, a sum by u, likewise (`estimate.rs`).
//!
//! A product that underflows is off by η at most, half a subnormal. Automatic differentiation has ∂L/∂z = p x Ā (p F u h′ by B̄)
//! first, which is small where Ā is, and then multiplies by A: where p x underflows and where its product with Ā does, ∂L/∂Δ is
//! off by |A|(|Ā| + 1)η, and by |A|η more by B̄; ∂L/∂A by as much with Δ in the place of A. Of a product of three or four, such as
//! p h u, any two may come first and underflow: p h by η, which u multiplies, and p u by η, which h multiplies.
//!
//! # Sums over states
//!
//! N terms in any order: N·u Σ|terms|, never taken as random, since N is small. The skip's D·∂L/∂s is one of the terms of ∂L/∂u.
//!
//! # What is kept of y
//!
//! `grad.z`_l = dout_l s_l g′(z_l) is linear in s_l = y_l + D·u_l. Where a forward pass keeps s in 16 bits for the way back, stated as `y`
//! ([`crate::problem::stages`]), it is rounded once: ŝ is off by ε(|s_l| + what s itself may be off) + η, ε the unit of that type and η half
//! its smallest subnormal, beside what it is off in f32. That is never taken as random, as what rounds after the states in the forward
//! pass is not. Nothing else is made of s, so that no other gradient's bound has it.
//!
//! # In log space
//!
//! A backward pass of a chunked scan (`scan=log-space`) has exponents of running sums cs: dL/dcs_l is the sum of all terms
//! t_{ls} = e_l C_l e^{cs_l − cs_s} b_s that end at l, less that of those which begin there, and ∂L/∂z_k is the sum of these over the rest of
//! the block. What begins and ends within that rest cancels there, but for its rounding: where ∂L/∂z is 0 as x is, it is not computed as 0.
//! So each ∂L/∂z of a block is off by as much as the sum of all of its terms may be, whichever end it begins from: (n + 16)u of
//! Σ_j |C_j e_j| M_j + |b_j| P_j over all sequences of the block, M and P being the largest that states and cotangents may be, and M P more
//! at the end of the block, where states go on into the next. n counts additions as of heads below: over positions twice, over states, and over the channels of a head.
//! Exponents are off as [`super`] has it; a cotangent's have what the block's sum comes to from the start, whichever way it is walked. Never
//! taken as random. Forms of two directions are not judged so.
//!
//! # Sums over positions
//!
//! In Σ_l p_l g_l one rounding of p_m reaches every p_l that comes after it, l ≤ m, and so the sum by at most
//! S_m = |g_m| + |Â_m| S_{m−1}. The roundings of the states and cotangents therefore add Σ_m v_m S_m² to the sum's variance, v_m what
//! step m itself adds to V; those of joins, J u M̂ at each position, whatever they share, (Σ_l |g_l| √J u M̂_l)². The same with the
//! states, in the other order. D, E and what the products round are added position by position. n terms in any order add
//! n·u Σ|terms|, or as random roundings n u² (Σ|terms|)²; those that are below 16u of all together round in the direction
//! that they are given, and count with u Σ|terms| each.
//!
//! # Sums over channels and batch
//!
//! Packed sequences are passes of their own, whose shares are added as those of items of the batch; equal ones at other positions are not
//! looked for in other channels. Two channels share no rounding, unless they have the same Δ: repeats count as often as a row of Δ occurs.
//! Totals are added.
//!
//! Heads: a gradient that the p channels of a head share is a sum over these too, and that of an A of all N states over them. Each is
//! taken one axis after the other, in any order of the axes and along each in any order of its terms: a term then takes part in no more
//! than n + p + N additions, n of them over positions and batch. All channels of a head have the same Δ, and its states the same z, so
//! that their roundings of Ā are the same ones; repeats count both. Plain channels are heads with p = 1.
//!
//! # The level of rounding
//!
//! The relative gate ([`crate::judge::relative`]) counts errors in units of what a scan in order rounds at least. Of an output that is
//! u Σ|terms|, each term rounded once: it is a sum of many terms, whose own errors cancel in it. A cotangent may be one term
//! alone, the product of thousands of Ā, where the loss sees few positions. Its relative error is then the sum of
//! all of their roundings, a random walk; every element before that position has the same one, and however many there are, they are
//! no more than one draw of it. Two sound passes make two draws, whose quotient has no mean: of 80 such chains of 3700 steps the kernels
//! and the f32 reference are both unbiased and off by 0.76 and 0.62 u√n (root mean square), and yet one is more than three times the
//! other in 19 of 100. So a state or cotangent x_l of magnitude M_l counts as
//!
//! ```text
//! max(u M_l, √W_l),   W_l = |Â_l|² W_{l−1} + (μ² + 2u²)|x_l|² + u²t_l² + (2η)²
//! ```
//!
//! with a rounding of at most μ of the product, of u each of the sum and of Ā, and of u of what h B u is a sum of without signs, t_l (near a
//! root of rk4's h they cancel, and a rounding of Δ alone moves it by u t), as random as those of V but of the values
//! that a scan in order has: for n equal steps √3·u√n, more than twice what was measured. Where terms are many √W is no more than M, and
//! nothing changes. Products multiply these sizes, and sums add them: what one walk does to many terms does not cancel. What a product
//! may lose to an underflow is added: where z is −100, p x Ā is subnormal and A has four digits, one that multiplies by A last is off by
//! hundreds of the smallest numbers, and one that does so first by none. Near a zero of the gate's slope, or of h, its terms count, not
//! their sum.
//!
//! # Dense A
//!
//! Where states are coupled nothing is taken as random but the additions over positions and channels (`coupled.rs`).
//!
//! # The bound that is judged by
//!
//! D + λ√V, or the worst case where that is smaller, as in [`super`]; then the rounding to the storage type.

mod channel;
mod coupled;
mod derivatives;
mod estimate;
mod log_space;
mod readout;
mod total;

use std::collections::HashMap;

use self::channel::{Channel, Shares};
use self::total::{Finish, Total};
use super::state::Lanes;
use super::{Bounds, ChannelBudget, Lead};
use crate::formula::ReadsNow;
use crate::parallel;
use crate::problem::{InputType, Operand, OutputGradients, Problem, Sequence, Shape};
use crate::promise::Contract;
use crate::promise::allowance::Arithmetic;
use crate::tensor::{GradientName, Named};

/// Channels that are walked at a time: bounds the memory without idling a thread.
const CHANNELS_AT_ONCE: usize = 16;

/// The bounds of a backward pass's tensors.
#[derive(Clone, Debug, Default)]
pub struct GradientBudget {
    /// Of each element, in the layout of the gradient.
    pub tensors: Named<Bounds, GradientName>,
    pub walked: Walked,
}

/// What a walk has met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walked {
    /// How often one nonzero z or b occurs in the channel that has most repeats.
    pub repeats: f64,
    /// The largest |ΔA|.
    pub largest_z: f64,
}

/// A backward pass's inputs, and what is expected of it.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    pub form: ReadsNow,
    /// Whole: weights collect from all channels.
    pub problem: &'a Problem,
    /// Of the problem's shapes.
    pub given: &'a OutputGradients,
    pub contract: &'a Contract,
}

/// Gives `each` the bounds of some elements of a gradient, with the place of the first one: rows of a channel as they are
/// done, sums over channels at the end. `advance` is told of each channel.
pub fn walk(
    pass: Pass,
    advance: &(dyn Fn() + Sync),
    each: &mut dyn FnMut(GradientName, usize, Bounds),
) -> Walked {
    let Pass { form, problem, given, contract } = pass;
    let mut sums = Sums::new(problem);
    let mut walked = Walked::default();
    let channels: Vec<(usize, usize)> = problem.channels().collect();
    for some in channels.chunks(CHANNELS_AT_ONCE) {
        let shares_of = |&at: &(usize, usize)| {
            let sequences = problem.sequences(at.0);
            let Ok(leads) = ChannelBudget::new(*form, problem, at, contract).leads();
            let of_sequence = |(sequence, lead): (&Sequence, &Lead), spread: Option<&[Vec<Lanes>]>| {
                if sequence.is_padding {
                    return None;
                }
                let given = problem.given_alone(given, at, sequence);
                let (problem, at) = problem.alone(at, sequence);
                let channel =
                    Channel { form, problem: &problem, given: &given, at, contract, lead: *lead, spread };
                Some(Shares::new(channel))
            };
            let of_all = |spread: Option<&[Vec<Lanes>]>| -> Vec<Option<Shares>> {
                sequences.iter().zip(&leads).map(|own| of_sequence(own, spread)).collect()
            };
            let mut shares = of_all(None);
            // Running sums of a block have the terms of all of its sequences.
            if sequences.len() > 1 && shares.iter().flatten().any(|shares| !shares.spread.is_empty()) {
                let mut spread: Vec<Vec<Lanes>> = Vec::new();
                for (shares, lead) in shares.iter().zip(&leads) {
                    let Some(shares) = shares else { continue };
                    spread.resize(shares.spread.len(), Vec::new());
                    for (all, own) in spread.iter_mut().zip(&shares.spread) {
                        all.resize(all.len().max(lead.block + own.len()), Lanes::ZERO);
                        all[lead.block..].iter_mut().zip(own).for_each(|(all, own)| *all = *all + *own);
                    }
                }
                shares = of_all(Some(&spread));
            }
            advance();
            shares
        };
        let shares = parallel::map(some, &shares_of);
        for (&at, shares) in some.iter().zip(&shares) {
            // Equal values in two sequences of a channel round alike, and are added up.
            let repeats = shares.iter().flatten().map(|shares| shares.repeats).sum();
            walked.repeats = walked.repeats.max(repeats);
            for (sequence, shares) in problem.sequences(at.0).iter().zip(shares) {
                let Some(shares) = shares else {
                    pad((problem, at), sequence, each);
                    continue;
                };
                walked.largest_z = walked.largest_z.max(shares.largest_z);
                rows((problem, at, contract), sequence, shares, each);
                sums.add(problem, at, sequence, shares);
            }
        }
    }
    sums.finish((problem, contract), walked.repeats * sharing(problem), form.is_bidirectional(), each);
    walked
}

/// The bounds of all elements.
pub fn bounds(pass: Pass) -> GradientBudget {
    let mut tensors: Named<Bounds, GradientName> = Named::default();
    let walked = walk(pass, &|| {}, &mut |name, _, bounds| match tensors.get_mut(name) {
        Some(known) => known.extend(bounds),
        None => tensors.insert(name, bounds),
    });
    GradientBudget { tensors, walked }
}

/// How many channels have the same Δ at most.
fn sharing(problem: &Problem) -> f64 {
    let mut rows: HashMap<Vec<u32>, usize> = HashMap::new();
    for row in problem.delta.chunks(problem.shape.seqlen.max(1)) {
        *rows.entry(row.iter().map(|delta| delta.to_bits()).collect()).or_default() += 1;
    }
    rows.into_values().max().unwrap_or(1) as f64
}

/// Whether channels or items of the batch add to the values of a gradient.
fn is_summed(problem: &Problem, name: GradientName) -> bool {
    use GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
    match name {
        A | B | C | D | DeltaBias => true,
        Delta => problem.shared_by(Delta).is_some(),
        U | Z | InitialState => false,
    }
}

/// The totals of what is summed over channels.
struct Sums {
    totals: Named<Vec<Total>, GradientName>,
}

impl Sums {
    fn new(problem: &Problem) -> Self {
        let blank = |(name, len)| {
            let width = problem.gradient(name, Vec::<f32>::new()).width;
            (name, vec![Total::default(); len / width])
        };
        let summed = problem.gradients().into_iter().filter(|(name, _)| is_summed(problem, *name));
        Sums { totals: summed.map(blank).collect() }
    }

    fn add(&mut self, problem: &Problem, at: (usize, usize), sequence: &Sequence, shares: &Shares) {
        use GradientName::{A, B, C, D, Delta, DeltaBias};
        let width = problem.weights.width();
        // One A of all states collects from all of them.
        let mut of_head = Total::default();
        shares.a.iter().for_each(|share| of_head.add(share));
        let of_a =
            if problem.shared_by(A).is_some() { std::slice::from_ref(&of_head) } else { &shares.a[..] };
        let each: [(GradientName, usize, &[Total]); 6] = [
            (A, width, of_a),
            (B, width, &shares.b),
            (C, width, &shares.c),
            (D, 1, std::slice::from_ref(&shares.d)),
            (Delta, 1, &shares.delta),
            (DeltaBias, 1, std::slice::from_ref(&shares.bias)),
        ];
        for (name, width, shares) in each {
            let Some(totals) = self.totals.get_mut(name) else { continue };
            let (places, run) = problem.places_alone(name, at, sequence, shares.len() * width);
            for (shares, start) in shares.chunks((run / width).max(1)).zip(places) {
                totals[start / width..].iter_mut().zip(shares).for_each(|(total, share)| total.add(share));
            }
        }
    }

    fn finish(
        self,
        (problem, contract): (&Problem, &Contract),
        repeats: f64,
        bidirectional: bool,
        each: &mut dyn FnMut(GradientName, usize, Bounds),
    ) {
        use GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
        let Shape { batch, dim, dstate, seqlen, groups } = problem.shape;
        let weight = problem.weights.width();
        let directions = if bidirectional { 2.0 } else { 1.0 };
        let positions = (batch * seqlen) as f64;
        for (name, totals) in self.totals {
            let operand = |operand| match operand {
                Operand::Constant => (positions * directions, weight),
                Operand::Variable => ((dim / groups) as f64 * directions, weight),
            };
            let states = (dstate * weight) as f64 * directions;
            let (additions, width) = match name {
                A if problem.shared_by(A).is_some() => (positions * directions + states, weight),
                A => operand(Operand::Constant),
                B => operand(problem.b_operand),
                C => operand(problem.c_operand),
                // A position's states are summed first.
                DeltaBias => (positions + states, 1),
                // Its states are summed already.
                Delta => (0.0, 1),
                D | U | Z | InitialState => (positions, 1),
            };
            let additions = additions + problem.shared_by(name).unwrap_or(0) as f64;
            let (arithmetic, store) = stored(problem, contract, name);
            let finish = Finish { arithmetic, additions, repeats, store, width };
            each(name, 0, bounds_of(&totals, &finish));
        }
    }
}

/// Bounds of padding's gradients, which are read as 0.
fn pad(
    (problem, at): (&Problem, (usize, usize)),
    sequence: &Sequence,
    each: &mut dyn FnMut(GradientName, usize, Bounds),
) {
    use GradientName::{Delta, U, Z};
    let has = |name: GradientName| name != Z || problem.z.is_some();
    for name in [U, Delta, Z].into_iter().filter(|name| has(*name) && !is_summed(problem, *name)) {
        let start = problem.sequence_index(at.0, at.1, sequence.positions.start);
        each(name, start, Bounds::of_nothing(sequence.positions.len(), 1));
    }
}

/// Bounds of gradients that belong to a sequence of one channel alone.
fn rows(
    (problem, at, contract): (&Problem, (usize, usize), &Contract),
    sequence: &Sequence,
    shares: &Shares,
    each: &mut dyn FnMut(GradientName, usize, Bounds),
) {
    use GradientName::{Delta, InitialState, U, Z};
    let weight = problem.weights.width();
    let finish = |name: GradientName, width| {
        let (arithmetic, store) = stored(problem, contract, name);
        Finish { arithmetic, additions: 0.0, repeats: shares.repeats, store, width }
    };
    let start = problem.sequence_index(at.0, at.1, sequence.positions.start);
    let delta = (!is_summed(problem, Delta)).then_some(&shares.delta);
    for (name, totals) in [(U, Some(&shares.u)), (Delta, delta), (Z, shares.z.as_ref())] {
        if let Some(totals) = totals {
            each(name, start, bounds_of(totals, &finish(name, 1)));
        }
    }
    if let (Some(_), Some(slot)) = (&problem.initial_state, sequence.initial) {
        let start = problem.state_index(at, 0) / weight + slot * problem.shape.dstate;
        each(InitialState, start, bounds_of(&shares.initial, &finish(InitialState, weight)));
    }
}

/// Arithmetic of a gradient's last additions, and the type that it is rounded to behind them. The last operation in f32 is rounded like any other.
fn stored(problem: &Problem, contract: &Contract, name: GradientName) -> (Arithmetic, Option<InputType>) {
    let own = if problem.is_dense() { contract.of_dense_gradients() } else { *contract }.arithmetic;
    let to = problem.stored(name);
    (own, (to != InputType::F32 || own != contract.arithmetic).then_some(to))
}

/// The bounds of these totals; weights' cotangents become gradients.
fn bounds_of(totals: &[Total], finish: &Finish) -> Bounds {
    let mut bounds = Bounds::default();
    for total in totals {
        let gradient = Total { value: [total.value[0], -total.value[1]], ..*total };
        gradient.push_to(&mut bounds, finish);
    }
    bounds
}

//! The derived bounds on every output element and last state of a selective scan: the one that is judged by, and
//! the worst case beyond which no rounding explains an error.
//!
//! # What is computed
//!
//! x_l = Ā_l x_{l−1} + b_l with b_l = B̄_l u_l. The kernel's coefficients are off by |Â − Ā_l| ≤ α_l and
//! |b̂ − b_l| ≤ β_l ([`super::model`], [`crate::promise::contract`]). Unrolled, x_l = Σ_{k≤l} (Π_{j=k+1..l} Ā_j) b_k. However a
//! scan associates its (Ā, b) pairs, serially or as a tree, the computed term k is the product of the same l−k computed
//! Â_j and b̂_k (an initial state is b₋₁, without an error unless states are stated to be of 16 bits), rounded in exactly
//! l−k products (μ each), and passes at most l−k+J additions (u each): one for each join to its left neighbours and J for
//! those to its right ([`crate::promise::allowance::scan_joins`]; at most as many as there are terms before it). A form that
//! reads a neighbour of u adds each such input apart: one addition more in each step. Everything below holds for every such
//! association.
//!
//! # Worst case
//!
//! ```text
//! M_l = |Ā_l| M_{l−1} + |b_l|                                          (the exact terms' magnitudes)
//! M̂_l = (|Ā_l| + α_l)(1+μ)(1+u) M̂_{l−1} + (|b_l| + β_l)(1+u)^J          (the computed terms' magnitudes)
//! |x̂_l − x_l| ≤ E_l = M̂_l − M_l
//! ```
//!
//! E_l is accumulated by its own recurrence, free of cancellation. The output adds, for y = Σₙ Cₙ xₙ, Σ|Cₙ|Eₙ
//! and, for each product and the sum of N terms (2N for complex weights, whose parts are added one by one) in any order,
//! (μ + N·u) Σ|Cₙ|(|xₙ| + Eₙ); then skip, gate and the one rounding to the storage type. `poly` averages two scans,
//! each with its own E.
//!
//! # The bound that is judged by
//!
//! The error splits exactly, in two steps. First coefficients: the scan with Â, b̂ in exact arithmetic is off by at
//! most D_l = (|Ā_l| + α_l) D_{l−1} + α_l|x_{l−1}| + β_l. Approximations are systematic, and are never assumed to cancel.
//! Then roundings: replaced by exact operations one at a time, each rounding δ_r of an intermediate value contributes δ_r
//! times what that value contributes to the result, of modulus at most the sum of the |T̂_k| of the terms k in it.
//! Following Higham and Mary (2019, "A new approach to probabilistic rounding error analysis"; mean independence as
//! in Connolly, Higham and Mary 2021) take the δ_r as random with mean zero given the earlier ones. The rounding error
//! of any real functional of the states is then a martingale with differences of at most c_r, and by Azuma and
//! Hoeffding exceeds λ√(Σc_r²) with probability at most 2exp(−λ²/2): no γ̃ₙ and no term of second order, since
//! coefficients enter as they were computed, and magnitudes as M̂. Two terms k, k' have at most l − max(k, k') products and
//! as many additions and J more in common, whatever the tree, so that over all roundings r
//!
//! ```text
//! Σ_r c_r² ≤ Σ_{k,k'} |T̂_k||T̂_k'| ((l − max(k,k'))(μ² + u²) + J u²) = V_l + J u² M̂_l²
//! V_l = (|Â_l|(1+μ)(1+u))² V_{l−1} + (μ |Â_l| M̂_{l−1})² + (u M̂_l)² + (ι|b̂_l|)²         (ι: of forming b̂ from B̄ and u)
//! ```
//!
//! This is √n for n. States add as Σ|Cₙ|²Vₙ, the readout (μ² Σ|Cₙxₙ|² + N u² (Σ|Cₙxₙ|)²), and the bound is
//! Σ|Cₙ|Dₙ + λ√ΣV, or the worst case where that is smaller (always for short sequences). Skip, gate and store stay
//! worst-case: they are few.
//!
//! λ = 8 ([`LAMBDA`]): one element of a sound kernel is beyond with probability at most 2e⁻³² < 2.6·10⁻¹⁴, some element of a
//! run of 10⁷ with less than 2.6·10⁻⁷ (the union bound). The default run judges about two million.
//!
//! # Packed sequences
//!
//! Each is a problem of its own: nothing of it is rounded with anything of another. One channel is judged by the count of repeats of that
//! of its sequences which has most.
//!
//! # In log space
//!
//! A scan that is stated to be in log space ([`crate::problem::stages`]) has Π Āⱼ = exp(s_l − s_k) for the running sums s of
//! z = ΔA since the block's start, with Ā = eᶻ. Let S_l = Σ|zⱼ| since then, with a factor 1 + u for each sum, so that it bounds
//! the computed ones. (What z itself is off is counted with Ā.) Added one after the other, sum j rounds by at most
//! uS_j, and what exp(s_l − s_k) is off for it is what Āⱼ(1 + δⱼ), |δⱼ| ≤ e^{uS_j} − 1, for each j in k+1..l would be: one more
//! rounding of each step, of uS_j/(1 − uS_j). It is taken as random like a product, and enters D_l where |z_l| < 16u·S_l.
//! Added as a tree, s_l and s_k are each off by at most J·uS_l, and their difference rounds once: with what is of second
//! order at most (2J + 2)uS_l of each term, whatever k, which is added to E_l and D_l where a state is read. Both are allowed. Blocks pass their states on by
//! products.
//!
//! Limits of Δ, tensors of chunks and products on tensor cores are derived where their numbers are, in `step_size.rs`, `exponents.rs` and
//! `tensor_cores.rs`.
//!
//! # Where roundings are not independent
//!
//! Rounding is deterministic: the same operation on the same operands errs the same way every time, and n equal
//! errors add to n, not √n. Two cases are detected, and stay linear in just the part that they touch:
//!
//! - **Repeats.** Equal z have the same Ā, and all products of them the same error; equal b are added the same way as a
//!   state settles (constant Δ and u, repeated eigenvalues; the two directions of `poly`, which share their products).
//!   With m the most often that one nonzero z, or one nonzero b, occurs among a channel's states and positions (twice
//!   that for `poly`), each group of equal roundings has at most m members, (Σ_group c)² ≤ m Σ_group c², and V is taken
//!   m times. All equal gives back n for √n.
//! - **Stagnation.** A rounding is as good as random only if it discards several bits of something. Where
//!   |Ā_l − 1| < 16u the product with Ā_l, and where |b_l| < 16u·|Ā_l|M_{l−1} the sum, errs in the direction that its
//!   operands give it (a b below half an ulp of x is lost entirely, each time). Such roundings enter D_l, not V_l, and
//!   J u M̂_l does from there on. So does adding a state to y that is below 16u of all of them together.
//!
//! Other dependence is not detected: inputs with few bits, b that differ by less than x can show, or distinct z with one
//! rounded Ā (over some thousands of positions such inputs have been made to exceed the judged bound twice, within a
//! quarter of the worst case). It is not hidden either: an error beyond the judged
//! bound fails its case, and says whether it is beyond the worst case too, which no assumption underlies. `cargo test`
//! measures on every regime that no correct path is beyond either.

mod bounds;
pub mod coupled;
mod exponents;
pub mod gradient;
mod numbers;
mod readout;
mod repeats;
mod state;
mod states;
mod step_size;
mod tensor_cores;

use std::num::NonZeroUsize;
use std::ops::Range;

use num_complex::Complex64;

pub use self::bounds::{Bounds, store_error};
use self::coupled::Coupled;
use self::exponents::Exponents;
pub use self::numbers::Numbers;
use self::readout::Readout;
pub use self::readout::{ReadoutRoundings, silu};
use self::repeats::{Repeats, Share};
pub use self::states::Lead;
use self::states::{Channel, Running, States, Sums};
pub use self::step_size::{limit_slope, limited, softplus, step_size, step_size_of};
use crate::formula::Form;
use crate::problem::conventions::Coupling;
use crate::problem::stretch::{Inputs, Outline, Stretch};
use crate::problem::{Problem, Sequence, Shape, Weights};
use crate::promise::Contract;
use crate::tensor::{Named, TensorName};

/// How many standard deviations, so to speak, the judged bound allows (module docs).
pub const LAMBDA: f64 = 8.0;

/// Below this many u a relative change is so small that its rounding is not random (module docs).
pub const GENERIC: f64 = 16.0;

/// The bounds of a scan's tensors.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    pub tensors: Named<Bounds>,
    /// How often one nonzero z or b occurs in the channel that has most repeats (module docs).
    pub repeats: f64,
}

/// The bounds for `form` on `problem`, for kernels that keep the `contract`.
pub fn scan(form: impl Into<Form>, problem: &Problem, contract: &Contract) -> Budget {
    let form = form.into();
    scan_of(form, problem, contract, &repeats(form, problem))
}

/// How often the most frequent z or b occurs in each judged channel, whatever a kernel promises.
pub fn repeats(form: impl Into<Form>, problem: &Problem) -> Vec<f64> {
    let form = form.into();
    let of_channel = |&at: &(usize, usize)| {
        let Ok(repeats) = ChannelBudget::new(form, problem, at, &Contract::PRODUCTION).repeats();
        repeats
    };
    problem.judged_channels.iter().map(of_channel).collect()
}

/// Bounds as [`scan`] has them, of a problem whose [`repeats`] are known: they are the same for every promise.
pub fn scan_of(form: impl Into<Form>, problem: &Problem, contract: &Contract, repeats: &[f64]) -> Budget {
    let form = form.into();
    let mut budget = Budget { tensors: blank(problem.outline()), repeats: 0.0 };
    for (&at, &repeats) in problem.judged_channels.iter().zip(repeats) {
        budget.repeats = budget.repeats.max(repeats);
        ChannelBudget::new(form, problem, at, contract).add_to(&mut budget.tensors, repeats);
    }
    budget
}

fn blank(outline: Outline) -> Named<Bounds> {
    let named = TensorName::ALL.into_iter().filter(|name| outline.has(*name));
    named.map(|name| (name, Bounds::default())).collect()
}

/// What is walked at a time may take so many bytes: enough that a stretch is worth its start.
const STRETCH: usize = 4 << 20;

/// What counts repeats may take so many bytes, on all threads together, and a third more while a table grows.
const COUNTS: usize = 256 << 20;

/// What a number that is counted takes, in a table that is not full.
const COUNTED: usize = 64;

/// One channel's values, and bounds on them: walked a stretch at a time, and nothing of it is kept.
pub struct ChannelBudget<'a, I = Problem> {
    form: Form,
    inputs: &'a I,
    at: (usize, usize),
    contract: &'a Contract,
}

impl<'a, I: Inputs> ChannelBudget<'a, I> {
    pub fn new(form: impl Into<Form>, inputs: &'a I, at: (usize, usize), contract: &'a Contract) -> Self {
        ChannelBudget { form: form.into(), inputs, at, contract }
    }

    /// How many scans are averaged, and so the least that repeats come to: as if nothing repeated.
    pub fn directions(&self) -> f64 {
        if self.form.is_bidirectional() { 2.0 } else { 1.0 }
    }

    /// As if all z were one, or all b.
    pub fn most_repeats(&self) -> f64 {
        self.directions() * self.steps() as f64
    }

    /// Positions × states.
    pub fn steps(&self) -> usize {
        let Shape { seqlen, dstate, .. } = self.inputs.outline().shape;
        seqlen.saturating_mul(dstate)
    }

    /// What the recurrences allow, for a walk elsewhere.
    pub fn numbers(&self) -> Result<Numbers, I::Error> {
        let sequence = &self.inputs.sequences(self.at.0)[0];
        let stretch = self.stretch(sequence, &(0..1))?;
        Ok(Numbers::new(self.channel(&stretch, sequence)))
    }

    /// How often the most frequent z or b occurs, in all directions.
    pub fn repeats(&self) -> Result<f64, I::Error> {
        self.repeats_within(COUNTS / rayon::current_num_threads() / COUNTED)
    }

    /// The same, by tables of at most so many different numbers: where there are more, in several walks.
    pub fn repeats_within(&self, capacity: usize) -> Result<f64, I::Error> {
        let mut most = self.directions();
        for sequence in self.inputs.sequences(self.at.0).iter() {
            most = most.max(self.repeats_among(std::slice::from_ref(sequence), capacity)?);
        }
        Ok(most)
    }

    /// How often the most frequent z or b occurs in all sequences of an item together.
    pub fn repeats_together(&self) -> Result<f64, I::Error> {
        self.repeats_among(&self.inputs.sequences(self.at.0), COUNTS / rayon::current_num_threads() / COUNTED)
    }

    fn repeats_among(&self, sequences: &[Sequence], capacity: usize) -> Result<f64, I::Error> {
        if self.inputs.outline().coupling == Coupling::Dense {
            return Ok(self.directions());
        }
        let (mut most, mut left) = (1, vec![Share::WHOLE]);
        while let Some(share) = left.pop() {
            let mut repeats = Repeats::new(share, capacity.max(1));
            for sequence in sequences.iter().filter(|sequence| !sequence.is_padding) {
                for positions in self.stretches(sequence) {
                    let stretch = self.stretch(sequence, &positions)?;
                    states::count(self.channel(&stretch, sequence), positions, &mut repeats);
                }
            }
            most = most.max(repeats.most());
            left.append(&mut repeats.left);
        }
        Ok(self.directions() * most as f64)
    }

    /// Gives `each` the bounds where one z or b occurs so often, for each such count: of `out` stretch by stretch, with the
    /// position of the first element, of `last_state`, and of tensors of chunks chunk by chunk. Returns the largest |ΔA|, infinite at a pole.
    ///
    /// # Errors
    /// What cannot be read, or what `each` returns.
    pub fn walk(
        &self,
        repeats: &[f64],
        mut each: impl FnMut(TensorName, usize, Vec<Bounds>) -> Result<(), I::Error>,
    ) -> Result<f64, I::Error> {
        let sequences = self.inputs.sequences(self.at.0);
        let item = self.inputs.outline().shape.seqlen;
        let (mut sums, mut running) = (
            Sums::default(),
            Running::new(self.contract.arithmetic, if sequences.len() > 1 { item } else { 0 }),
        );
        for some in self.together(&sequences) {
            let [first, .., last] = some else {
                self.walk_from((&some[0], 0), &mut running, repeats, &mut sums, &mut each)?;
                continue;
            };
            // Short ones are read at a time.
            let span = self.inputs.stretch(self.at, first.positions.start..last.positions.end)?;
            let ChannelBudget { form, contract, .. } = *self;
            let held = ChannelBudget { form, inputs: &*span.problem, at: span.at, contract };
            for sequence in some {
                let mut found = Vec::new();
                let positions = sequence.positions.start - span.first..sequence.positions.end - span.first;
                let own = Sequence { positions, ..sequence.clone() };
                let mut keep = |name, at, bounds| {
                    let at = if name == TensorName::Out { span.first + at } else { at };
                    found.push((name, at, bounds));
                    Ok(())
                };
                let Ok(()) = held.walk_from((&own, span.first), &mut running, repeats, &mut sums, &mut keep);
                found.into_iter().try_for_each(|(name, at, bounds)| each(name, at, bounds))?;
            }
        }
        Ok(sums.largest_z)
    }

    /// Sequences that are walked one after the other, in groups that are read at a time.
    fn together<'s>(&self, sequences: &'s [Sequence]) -> Vec<&'s [Sequence]> {
        let (mut groups, mut begin) = (Vec::new(), 0);
        for end in 1..=sequences.len() {
            let length = |end: usize| sequences[end - 1].positions.end - sequences[begin].positions.start;
            if end == sequences.len() || length(end + 1) > self.worth() {
                groups.push(&sequences[begin..end]);
                begin = end;
            }
        }
        groups
    }

    /// Bounds of what is not judged, and read as 0.
    fn pad(
        &self,
        sequence: &Sequence,
        repeats: &[f64],
        each: &mut impl FnMut(TensorName, usize, Vec<Bounds>) -> Result<(), I::Error>,
    ) -> Result<(), I::Error> {
        let Outline { shape, weights, .. } = self.inputs.outline();
        let nothing = |len, width| repeats.iter().map(|_| Bounds::of_nothing(len, width)).collect();
        each(TensorName::Out, sequence.positions.start, nothing(sequence.positions.len(), 1))?;
        match sequence.last {
            Some(slot) => {
                each(TensorName::LastState, slot * shape.dstate, nothing(shape.dstate, weights.width()))
            }
            None => Ok(()),
        }
    }

    /// Walks a sequence of inputs whose first position is `before` of the item.
    fn walk_from(
        &self,
        (sequence, before): (&Sequence, usize),
        running: &mut Running,
        repeats: &[f64],
        sums: &mut Sums,
        each: &mut impl FnMut(TensorName, usize, Vec<Bounds>) -> Result<(), I::Error>,
    ) -> Result<(), I::Error> {
        if sequence.is_padding {
            running.pad();
            return self.pad(sequence, repeats, each);
        }
        let Outline { shape, weights, .. } = self.inputs.outline();
        let start = before + sequence.positions.start;
        let in_item = Sequence { positions: start..start + sequence.positions.len(), ..sequence.clone() };
        if self.inputs.outline().coupling == Coupling::Dense {
            return self.walk_coupled(sequence, repeats, sums, each);
        }
        let (seqlen, lead) = (sequence.positions.len(), running.lead(&in_item));
        let nothing = States::new(weights, shape.dstate);
        let stretches = self.stretches(sequence);
        // Of a scan in both directions: where each stretch begins from behind. It is walked backwards once more when its turn
        // comes.
        let mut behind = vec![nothing.clone()];
        if self.form.is_bidirectional() {
            for positions in stretches.iter().skip(1).rev() {
                let stretch = self.stretch(sequence, positions)?;
                let channel = Channel { lead, ..self.channel(&stretch, sequence) };
                let mut states = behind[behind.len() - 1].clone();
                sums.clear(channel, positions.len());
                states.walk(channel, positions.clone(), true, sums);
                behind.push(states);
            }
        }
        let mut states = nothing;
        let (outline, mut exponents) = (self.inputs.outline(), Exponents::default());
        for positions in stretches {
            let stretch = self.stretch(sequence, &positions)?;
            let channel = Channel { lead, ..self.channel(&stretch, sequence) };
            let passed = start + positions.start..start + positions.end;
            running.pass(
                channel.problem,
                channel.at,
                start + channel.first,
                channel.contract.arithmetic,
                passed,
            );
            if positions.start == 0 {
                states = States::initial(channel);
                sums.lost = 0.0;
            }
            let of_states = |states: &States, name, after, lost| -> Vec<Bounds> {
                let kept = states.kept(channel, after);
                let of = |&repeats: &f64| Bounds::of_states(channel, name, (&kept, lost), repeats);
                repeats.iter().map(of).collect()
            };
            if let Some(chunk) = outline.chunk.filter(|chunk| positions.start % chunk.get() == 0) {
                let name = TensorName::ChunkStates;
                let first = positions.start / chunk.get() * shape.dstate;
                each(name, first, of_states(&states, name, positions.start, sums.lost))?;
                exponents = Exponents::default();
            }
            if outline.has(TensorName::DaCumsum) {
                let bounds = exponents.walk(channel, positions.clone());
                each(TensorName::DaCumsum, positions.start, vec![bounds; repeats.len()])?;
            }
            sums.clear(channel, positions.len());
            if let (true, Some(mut states)) = (self.form.is_bidirectional(), behind.pop()) {
                states.walk(channel, positions.clone(), true, sums);
            }
            states.walk(channel, positions.clone(), false, sums);
            let readout = Readout::new(channel);
            let of = |&repeats: &f64| {
                let mut bounds = Bounds::default();
                for (l, position) in (positions.start - stretch.first..).zip(&sums.positions) {
                    bounds.push_output(&readout.bounds(l, position, repeats));
                }
                bounds
            };
            let first = sequence.positions.start + positions.start;
            each(TensorName::Out, first, repeats.iter().map(of).collect())?;
            if let Some(slot) = sequence.last.filter(|_| positions.end == seqlen) {
                let name = TensorName::LastState;
                each(name, slot * shape.dstate, of_states(&states, name, seqlen, sums.lost))?;
            }
        }
        Ok(())
    }

    /// Walks a sequence whose states are coupled.
    fn walk_coupled(
        &self,
        sequence: &Sequence,
        repeats: &[f64],
        sums: &mut Sums,
        each: &mut impl FnMut(TensorName, usize, Vec<Bounds>) -> Result<(), I::Error>,
    ) -> Result<(), I::Error> {
        let seqlen = sequence.positions.len();
        let stretch = self.stretch(sequence, &(0..seqlen))?;
        let channel = self.channel(&stretch, sequence);
        let (out, states, largest_z) = of_coupled(channel, sums);
        sums.largest_z = sums.largest_z.max(largest_z);
        each(TensorName::Out, sequence.positions.start, vec![out; repeats.len()])?;
        let Some(slot) = sequence.last else { return Ok(()) };
        let first = slot * self.inputs.outline().shape.dstate;
        each(TensorName::LastState, first, vec![states; repeats.len()])
    }

    /// Inputs at these positions, counted from the start of the sequence.
    fn stretch(&self, sequence: &Sequence, positions: &Range<usize>) -> Result<Stretch<'a>, I::Error> {
        let start = sequence.positions.start;
        let stretch = self.inputs.stretch(self.at, start + positions.start..start + positions.end)?;
        Ok(Stretch { first: stretch.first - start, ..stretch })
    }

    fn channel<'b>(&'b self, stretch: &'b Stretch, sequence: &Sequence) -> Channel<'b> {
        let ChannelBudget { form, contract, .. } = *self;
        let (problem, at, first) = (&*stretch.problem, stretch.at, stretch.first);
        Channel {
            form,
            problem,
            at,
            contract,
            first,
            seqlen: sequence.positions.len(),
            lead: Lead::default(),
        }
    }

    /// Surroundings of each of an item's sequences.
    pub fn leads(&self) -> Result<Vec<Lead>, I::Error> {
        let (arithmetic, sequences) = (self.contract.arithmetic, self.inputs.sequences(self.at.0));
        if arithmetic.stages.log_space.is_none() {
            return Ok(vec![Lead::default(); sequences.len()]);
        }
        let mut running = Running::new(arithmetic, self.inputs.outline().shape.seqlen);
        let mut leads = Vec::new();
        for sequence in sequences.iter() {
            leads.push(running.lead(sequence));
            if sequence.is_padding {
                running.pad();
                continue;
            }
            let positions = sequence.positions.clone();
            let Stretch { problem, at, first } = self.inputs.stretch(self.at, positions.clone())?;
            running.pass(&problem, at, first, arithmetic, positions);
        }
        Ok(leads)
    }

    /// Bytes that a position takes while it is walked.
    fn bytes(&self) -> usize {
        let Outline { shape: Shape { dstate, .. }, weights, .. } = self.inputs.outline();
        // B and C, as many as there may be, and u, delta, z and bounds.
        let read = 2 * dstate * weights.width() * size_of::<f32>() + 128;
        Sums::bytes(self.form, weights, dstate) + read
    }

    /// Positions that are worth their memory.
    fn worth(&self) -> usize {
        self.inputs.positions_at_once().unwrap_or(STRETCH / self.bytes())
    }

    /// The positions of a sequence, in parts of a length that bounds the memory. Each chunk whose state is asked for begins one.
    fn stretches(&self, sequence: &Sequence) -> Vec<Range<usize>> {
        let Outline { shape: Shape { dstate, .. }, weights, .. } = self.inputs.outline();
        let (seqlen, each) = (sequence.positions.len(), self.bytes());
        // A scan in both directions keeps its states between stretches, too: those are fewest together where both are as large.
        let balanced = match self.form.is_bidirectional() {
            true => (seqlen as f64 * States::bytes(weights, dstate) as f64 / each as f64).sqrt() as usize,
            false => 0,
        };
        let length = self.inputs.positions_at_once().unwrap_or(self.worth().max(balanced)).max(1);
        let chunk = self.inputs.outline().chunk.map_or(seqlen, NonZeroUsize::get).max(1);
        let of_chunk = |first: usize| {
            let end = seqlen.min(first.saturating_add(chunk));
            (first..end).step_by(length).map(move |start| start..end.min(start.saturating_add(length)))
        };
        (0..seqlen).step_by(chunk).flat_map(of_chunk).collect()
    }
}

impl ChannelBudget<'_> {
    /// Bounds as if nothing repeated: at most those that are judged by, and found without counting.
    pub fn least(&self) -> Named<Bounds> {
        self.bounds(self.directions())
    }

    /// The bounds that are judged by.
    pub fn judged(&self) -> Named<Bounds> {
        let Ok(repeats) = self.repeats();
        self.bounds(repeats)
    }

    /// Bounds without what is taken as random: D, and skip, gate and store.
    pub fn systematic(&self) -> Named<Bounds> {
        self.bounds(0.0)
    }

    fn bounds(&self, repeats: f64) -> Named<Bounds> {
        let mut all = blank(self.inputs.outline());
        self.add_to(&mut all, repeats);
        all
    }

    /// Adds the bounds where one z or b occurs so often.
    fn add_to(&self, all: &mut Named<Bounds>, repeats: f64) {
        let Ok(_) = self.walk(&[repeats], |name, _, bounds| {
            bounds.into_iter().for_each(|bounds| all[name].extend(bounds));
            Ok(())
        });
    }
}

/// Bounds of outputs and last states that are coupled, and the largest ‖ΔA‖.
fn of_coupled(channel: Channel, sums: &mut Sums) -> (Bounds, Bounds, f64) {
    let coupled = Coupled::new(channel);
    let kept = coupled.walk(sums);
    let readout = Readout::new(channel);
    let mut out = Bounds::default();
    // Nothing is taken as random, and what is computed in double is rounded on store.
    let Contract { dense, arithmetic, .. } = channel.contract;
    for (l, position) in sums.positions.iter_mut().enumerate() {
        let sums = readout.of_sums(dense.unit.min(arithmetic.unit), position);
        let store =
            if dense.unit < arithmetic.unit { arithmetic.unit * (position.y.abs() + sums) } else { 0.0 };
        position.linear += sums + store;
        out.push_output(&readout.bounds(l, position, 0.0));
    }
    let states = Bounds::of_states(channel, TensorName::LastState, (&kept, 0.0), 0.0);
    (out, states, coupled.largest_z)
}

/// The smaller one, where the first may be a NaN made of infinities.
fn or_less(judged: f64, worst: f64) -> f64 {
    if judged < worst { judged } else { worst }
}

/// The weight at `index`, widened.
#[inline]
pub fn complex_at(weights: Weights, values: &[f32], index: usize) -> Complex64 {
    match weights {
        Weights::Real => Complex64::new(f64::from(values[index]), 0.0),
        Weights::Complex => Complex64::new(f64::from(values[index]), f64::from(values[index + 1])),
    }
}

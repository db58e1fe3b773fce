//! One channel's shares of every gradient: walked forwards for its states, backwards for their cotangents, and eight states
//! at a time.

use super::derivatives::{DerivativeModel, Derivatives};
use super::estimate::{Estimate, Roundings};
use super::log_space::{Blocks, PRODUCTS, log_space_of};
use super::readout::Readout;
use super::total::Total;
use crate::formula::ReadsNow;
use crate::judge::budget::repeats::{Repeats, Share};
use crate::judge::budget::state::{Lanes, Seen, State, StepInput, StepRoundings, WIDTH};
use crate::judge::budget::states::Weight;
use crate::judge::budget::{GENERIC, Lead};
use crate::judge::lanes::{ComplexLanes, Value};
use crate::judge::model::{Model, Step};
use crate::problem::stages::Rounding;
use crate::problem::{Operand, OutputGradients, Problem, Weights};
use crate::promise::{Contract, allowance};
use crate::tensor::GradientName;

/// Where and how a channel is walked.
#[derive(Clone, Copy)]
pub struct Channel<'a> {
    pub form: ReadsNow,
    pub problem: &'a Problem,
    pub given: &'a OutputGradients,
    /// Batch and channel.
    pub at: (usize, usize),
    pub contract: &'a Contract,
    pub lead: Lead,
    /// Errors of running sums in each block of the item, of a scan in log space, for eight states at a time; none where this sequence is all
    /// that they meet.
    pub spread: Option<&'a [Vec<Lanes>]>,
}

/// What a channel adds to each gradient. A weight's values are cotangents: conjugated, they are gradients.
pub struct Shares {
    /// One for each position.
    pub u: Vec<Total>,
    pub delta: Vec<Total>,
    pub z: Option<Vec<Total>>,
    /// One for each state, or each entry of a dense A; for a variable operand one for each position of the first state, then of the next.
    pub a: Vec<Total>,
    pub b: Vec<Total>,
    pub c: Vec<Total>,
    pub initial: Vec<Total>,
    pub d: Total,
    /// Nothing where there is none.
    pub bias: Total,
    /// This sequence's part of the errors of running sums, in each block that it is in, for eight states at a time; nothing of a scan that
    /// is not in log space.
    pub spread: Vec<Vec<Lanes>>,
    /// How often one nonzero z or b occurs, in all directions.
    pub repeats: f64,
    /// The largest |ΔA|.
    pub largest_z: f64,
}

impl Shares {
    pub fn new(channel: Channel) -> Shares {
        match channel.problem.weights {
            _ if channel.problem.is_dense() => {
                Channel { contract: &channel.contract.of_dense_gradients(), ..channel }.coupled()
            }
            Weights::Real => channel.shares::<Lanes>(),
            Weights::Complex => channel.shares::<ComplexLanes<WIDTH>>(),
        }
    }
}

/// One direction's states, or their cotangents, at every position.
struct Track<V> {
    seen: Vec<Seen<V>>,
    /// The size of each.
    norms: Vec<Lanes>,
    /// What carried each from the one before, at most.
    carried: Vec<Lanes>,
    /// W of each, in u² ([`super`], "The level of rounding").
    walked: Vec<Lanes>,
    /// Whether the last position came first.
    backwards: bool,
    /// Joins of a tree that adds exponents, of a scan in log space.
    exponent_joins: Option<f64>,
}

impl<V: Value<WIDTH>> Track<V> {
    /// What is known of a position's.
    #[inline(always)]
    fn estimate(&self, l: usize) -> Estimate<V> {
        let Seen { x, magnitude, worst, linear, variance, .. } = self.seen[l];
        let (norm, size) = (self.norms[l], magnitude.max(self.walked[l].sqrt()));
        Estimate { value: x, norm, worst, linear, variance, size }
    }

    /// Σc² of what the roundings of these states add to Σ wₗ xₗ. A rounding at one position reaches all that come after.
    #[inline(never)]
    fn gathered(&self, weights: &[Lanes]) -> Lanes {
        let len = weights.len();
        let (mut reach, mut variance, mut joined) = (Lanes::ZERO, Lanes::ZERO, Lanes::ZERO);
        for step in 0..len {
            let l = if self.backwards { step } else { len - 1 - step };
            let reached = weights[l] + reach;
            variance = variance + self.seen[l].injected.times(reached * reached);
            joined = joined + weights[l].times(self.seen[l].joined);
            reach = self.carried[l].times(reached);
        }
        variance + joined * joined
    }
}

/// A sum over positions, state by state.
struct Reduction<V> {
    terms: Vec<Estimate<V>>,
}

impl<V: Value<WIDTH>> Reduction<V> {
    fn new(len: usize) -> Self {
        Reduction { terms: Vec::with_capacity(len) }
    }

    /// Its totals, where the states and cotangents in its terms add this variance. `u` is that of a sum.
    #[inline(never)]
    fn totals(&self, carried: Lanes, u: f64) -> [Total; WIDTH] {
        let zero = Lanes::ZERO;
        let (mut worst, mut linear, mut variance) = (zero, zero, carried);
        let (mut size, mut weight, mut value) = (zero, zero, V::all(0.0));
        for term in &self.terms {
            value = value + term.value;
            worst = worst + term.worst;
            linear = linear + term.linear;
            variance = variance + term.variance;
            size = size + term.size;
            weight = weight + term.reach();
        }
        // Beside what they are added to these round in the direction that they give it.
        let small = weight * (GENERIC * u);
        let mut stagnating = zero;
        for term in &self.terms {
            let reach = term.reach();
            let below = Lanes::if_less(reach, small, Lanes::ONE, zero);
            stagnating = stagnating + below.unless_zero(reach);
        }
        std::array::from_fn(|lane| {
            let at = value.at(lane);
            Total {
                value: [at.re, at.im],
                worst: worst.0[lane],
                linear: linear.0[lane],
                variance: variance.0[lane],
                size: size.0[lane],
                weight: weight.0[lane],
                stagnating: stagnating.0[lane],
            }
        })
    }
}

impl Channel<'_> {
    pub(super) fn directions(&self) -> f64 {
        if self.form.is_bidirectional() { 2.0 } else { 1.0 }
    }

    fn shares<V: Value<WIDTH>>(self) -> Shares {
        let Channel { form, problem, given, at, contract, lead, spread } = self;
        let arithmetic = contract.arithmetic;
        let shape = problem.shape;
        let (len, chunks) = (shape.seqlen, shape.dstate.div_ceil(WIDTH));
        let u = arithmetic.unit;
        let readout = Readout::new(&self);
        let model = Model::new(*form, problem.weights, contract);
        let derivative_model = DerivativeModel::new(form, problem.weights, contract);
        let weight = |values, operand| Weight::<V>::of(problem, at, values, operand);
        let a_weight = weight(&problem.a, Operand::Constant);
        let b_weight = weight(&problem.b, problem.b_operand);
        let c_weight = weight(&problem.c, problem.c_operand);
        let initial_weight = Weight::<V>::of_states(problem, at, problem.initial_state.as_ref());
        let last_weight = Weight::<V>::of_states(problem, at, given.dlast_state.as_ref());
        let mu = arithmetic.product(problem.weights);
        // A product with a real number rounds part by part.
        let (r, by_real) = (Roundings::new(arithmetic, mu), Roundings::new(arithmetic, u));
        let log_space = log_space_of(form, arithmetic);
        let roundings =
            StepRoundings { arithmetic, mu, further_sums: 0.0, in_log_space: log_space.is_some() };
        let all_joins = allowance::scan_joins(len);
        let joins = |before: usize| all_joins.min((before + 1) as f64);
        let (reads_before, reads_with_b) = (problem.reads_before(), problem.reads_with_b());
        let bidirectional = form.is_bidirectional();
        let underflow = 2.0 * arithmetic.underflow;
        let mut repeats = Repeats::new(Share::WHOLE, usize::MAX);
        let mut largest_z = Lanes::ZERO;
        let has_bias = problem.delta_bias.is_some();

        let positions = || vec![Total::default(); len];
        let (mut du, mut ddelta, mut y) = (positions(), positions(), positions());
        let (mut da, mut db, mut dc, mut initial) = (vec![], vec![], vec![], vec![]);
        let (mut bias, mut spreads) = (Total::default(), Vec::new());
        for chunk in 0..chunks {
            let states = WIDTH.min(shape.dstate - chunk * WIDTH);
            let a = a_weight.at(0, chunk);
            let x_initial = initial_weight.as_ref().map_or(V::all(0.0), |x| x.load(0, chunk));
            let p_last = last_weight.as_ref().map_or(V::all(0.0), |p| conjugate(p.load(0, chunk)));
            let one = V::all(1.0);
            let (a_size, mut z_sizes) = (a.norm(), Vec::with_capacity(len));
            let mut steps: Vec<Step<V, Lanes>> = Vec::with_capacity(len);
            let mut slopes: Vec<Derivatives<V>> = Vec::with_capacity(len);
            // What multiplies h u, and what multiplies the states that are read.
            let (mut forces, mut reads) = (Vec::with_capacity(len), Vec::with_capacity(len));
            for l in 0..len {
                let delta = readout.steps[l].delta;
                steps.push(coefficients(&model, delta, a));
                slopes.push(derivative_model.at(delta, a));
                let (b, c) = (b_weight.at(l, chunk), c_weight.at(l, chunk));
                let (force, read) = match reads_with_b {
                    true => (one, Estimate::exact(c).times(&Estimate::exact(b), r)),
                    false => (b, Estimate::exact(c)),
                };
                forces.push(force);
                reads.push(read);
                let z = a * delta.0;
                z_sizes.push(z.norm());
                largest_z = largest_z.max(z_sizes[l]);
                let b_u = steps[l].b_bar * force * readout.steps[l].u;
                for lane in 0..states {
                    repeats.count(z.at(lane), b_u.at(lane));
                }
            }
            let blocks = log_space.map(|log_space| {
                Blocks::new(log_space, &z_sizes, lead, (a_size * lead.steps).unless_zero(a_size))
            });
            let input = |l: usize| {
                let u = readout.steps[l].u;
                forcing_input(&steps[l], forces[l], u, (contract.input_error(problem.weights), underflow))
            };
            let scan = |backwards: bool, first: V| {
                let mut state = State::new(first, Rounding::NONE);
                let mut track = Track::new(len, backwards);
                track.exponent_joins = blocks.as_ref().map(|blocks| blocks.joins);
                for before in 0..len {
                    let l = if backwards { len - 1 - before } else { before };
                    blocks.iter().for_each(|blocks| blocks.enter(l, backwards, &mut state));
                    let terms = slopes[l].terms.times(forces[l].norm()) * readout.steps[l].u.abs();
                    track.step(
                        &mut state,
                        (&steps[l], &input(l), z_sizes[l]),
                        joins(before),
                        roundings,
                        terms,
                    );
                }
                track.in_order()
            };
            // What arrives at the state that is read at l.
            let arriving = |l: Option<usize>| {
                let Some(l) = l else { return StepInput::none() };
                read_input(&reads[l], readout.steps[l].read, (u, underflow))
            };
            let identity = Step { a_bar: one, a_bar_error: Lanes::ZERO, ..steps[0] };
            // The cotangents of the scan that went the other way.
            let adjoint = |backwards: bool, first: V| {
                let mut state = State::new(first, Rounding::NONE);
                let mut track = Track::new(len, backwards);
                track.exponent_joins = blocks.as_ref().map(|blocks| blocks.joins);
                for before in 0..len {
                    let l = if backwards { len - 1 - before } else { before };
                    blocks.iter().for_each(|blocks| blocks.enter(l, backwards, &mut state));
                    let later = if backwards { (l + 1 < len).then_some(l + 1) } else { l.checked_sub(1) };
                    let (step, z) = later.map_or((&identity, Lanes::ZERO), |k| (&steps[k], z_sizes[k]));
                    let from = if reads_before { later } else { Some(l) };
                    track.step(&mut state, (step, &arriving(from), z), joins(before), roundings, Lanes::ZERO);
                }
                (track.in_order(), state)
            };
            let forwards = scan(false, x_initial);
            let (cotangents, at_first) = adjoint(true, p_last);
            {
                // x₋₁ has Ā₀p₀, and what is read before the first update.
                let (mut state, mut track) = (at_first, Track::new(1, true));
                let from = if reads_before { arriving(Some(0)) } else { StepInput::none() };
                track.step(&mut state, (&steps[0], &from, z_sizes[0]), joins(len), roundings, Lanes::ZERO);
                let seen = track.estimate(0);
                initial.extend((0..states).map(|lane| Total::of(&seen, lane)));
            }
            // Errors of running sums of ∂L/∂z ([`super`], "In log space").
            let of_z = blocks.as_ref().map(|blocks| {
                let size = |track: &Track<V>, l: usize| track.seen[l].magnitude + track.seen[l].worst;
                let met = |l: usize| {
                    let read = match (reads_before, l.checked_sub(1)) {
                        (false, _) => size(&forwards, l),
                        (true, Some(before)) => size(&forwards, before),
                        (true, None) => x_initial.norm(),
                    };
                    let (e, e_error) = readout.steps[l].read;
                    let above = reads[l].reach().times(read) * (e.abs() + e_error);
                    let below = (input(l).size + input(l).coefficient).times(size(&cotangents, l));
                    // Terms that go on into the next block.
                    let on = size(&forwards, l).times(size(&cotangents, l));
                    above + below + if blocks.ends(l) { on } else { Lanes::ZERO }
                };
                let shared = problem.shared_by(GradientName::Delta).unwrap_or(1);
                let additions = (2 * blocks.len + shape.dstate + shared) as f64 + PRODUCTS;
                let own = blocks.spread(len, met, additions, u);
                let of_all = spread.map_or(&own[..], |spread| &spread[chunk][lead.block..]);
                let of_z: Vec<Lanes> = (0..len).map(|l| of_all[blocks.of(l)]).collect();
                spreads.push(own);
                of_z
            });
            let mut ways = vec![(forwards, cotangents)];
            if bidirectional {
                ways.push((scan(true, V::all(0.0)), adjoint(false, V::all(0.0)).0));
            }
            let nothing = Estimate::exact(V::all(0.0));
            let given_first = Estimate::exact(x_initial);

            let (mut of_a, mut of_bias) = (Reduction::new(len), Reduction::new(len));
            let (mut of_b, mut of_c) = (Reduction::new(len), Reduction::new(len));
            let blank = || vec![Lanes::ZERO; len];
            // What each reduction multiplies cotangents by, and states.
            let each = |count: usize| (0..count).map(|_| [blank(), blank()]).collect::<Vec<_>>();
            let (mut by_a, mut by_bias) = (each(ways.len()), each(ways.len()));
            let (mut by_b, mut by_c) = (blank(), blank());
            for l in 0..len {
                let step = &readout.steps[l];
                let Derivatives {
                    a_bar_by: [by_delta, by_weight], b_bar_by: [h_by_delta, h_by_weight], ..
                } = &slopes[l];
                let force = Estimate::exact(forces[l]);
                let u_l = Estimate::exact(V::all(step.u));
                let input = force.times(&u_l, by_real);
                let mut h = Estimate::known(steps[l].b_bar, steps[l].b_bar_error);
                h.size = slopes[l].terms;
                let e = Estimate::known(V::all(step.read.0), Lanes::all(step.read.1));
                let forcing = h_by_delta.times(&input, r);
                let forcing_by_a = h_by_weight.times(&input, r);
                let (mut seen, mut cotangent) = (None, None);
                let (mut t_delta, mut t_bias, mut t_a) = (None, None, None);
                let add = |sum: &mut Option<Estimate<V>>, term: &Estimate<V>| {
                    *sum = Some(match sum {
                        Some(sum) => sum.plus(term, r),
                        None => *term,
                    });
                };
                // ∂L/∂z, which A or Δ multiplies yet, has underflowed in each of its products.
                let by_z = (steps[l].a_bar.norm() + 2.0) * underflow;
                let by_z = by_z + of_z.as_ref().map_or(Lanes::ZERO, |of_z| of_z[l]);
                let (lost, lost_by_a) = (by_z.times(a_size), by_z * step.delta.0.abs());
                // Whatever else is multiplied by the cotangent first has underflowed, and the rest multiplies that.
                let forced = |h_by: &Estimate<V>| {
                    input.reach() + h_by.reach().times(force.reach()) + h_by.reach().times(u_l.reach())
                };
                let lost = lost + (by_delta.reach() + forced(h_by_delta)) * underflow;
                let lost_by_a = lost_by_a + (by_weight.reach() + forced(h_by_weight)) * underflow;
                for (way, (x, p)) in ways.iter().enumerate() {
                    let earlier = if x.backwards { (l + 1 < len).then_some(l + 1) } else { l.checked_sub(1) };
                    let before = match earlier {
                        Some(k) => x.estimate(k),
                        None if x.backwards => nothing,
                        None => given_first,
                    };
                    let p = p.estimate(l);
                    // Of sums over positions the states' and cotangents' own roundings are gathered apart.
                    let (p_sure, x_sure) = (p.without_variance(), before.without_variance());
                    let by_state = by_delta.times(&before, r);
                    let g_delta = by_state.plus(&forcing, r);
                    let g_a = by_weight.times(&x_sure, r).plus(&forcing_by_a, r);
                    let read = before.reach() * underflow;
                    let (lost, lost_by_a) = (lost + read, lost_by_a + read);
                    let mut by_step = p.times(&g_delta, r).off_by(lost, r);
                    add(&mut t_delta, &by_step);
                    add(&mut t_a, &p_sure.times(&g_a, r).off_by(lost_by_a, r));
                    add(&mut cotangent, &p);
                    let state = if reads_before { before } else { x.estimate(l) };
                    add(&mut seen, &state);
                    by_a[way][0][l] = g_a.reach();
                    if let Some(k) = earlier {
                        by_a[way][1][k] = by_weight.reach().times(p.reach());
                    }
                    if has_bias {
                        by_bias[way][0][l] = g_delta.reach() * step.slope.0;
                        if let Some(k) = earlier {
                            by_bias[way][1][k] = by_delta.reach().times(p.reach()) * step.slope.0;
                        }
                        // The same but for its variance.
                        let (mut by_state, mut g_delta) = (by_state, g_delta);
                        by_state.variance = by_delta.product_variance(&x_sure, r);
                        g_delta.variance = by_state.sum_variance(&forcing, r);
                        by_step.variance = p_sure.product_variance(&g_delta, r);
                        add(&mut t_bias, &by_step);
                    }
                    if let (true, Some(k)) = (reads_before, earlier) {
                        by_c[k] = by_c[k] + e.reach();
                    }
                }
                let [seen, cotangent, t_delta, t_bias, t_a] =
                    [&seen, &cotangent, &t_delta, &t_bias, &t_a].map(|sum| sum.as_ref().unwrap_or(&nothing));
                if !reads_before {
                    by_c[l] = e.reach();
                }
                let h_u = h.times(&u_l, by_real);
                by_b[l] = h_u.reach();
                let (read, b, c) = (&reads[l], b_weight.at(l, chunk), c_weight.at(l, chunk));
                let within = |operand, estimate: &Estimate<V>| match operand {
                    Operand::Variable => *estimate,
                    Operand::Constant => estimate.without_variance(),
                };
                let read_by = |operand| e.times(&within(operand, seen), by_real);
                let (t_b, t_c) = match reads_with_b {
                    true => (
                        read_by(problem.b_operand).times(&Estimate::exact(c), r),
                        read_by(problem.c_operand).times(&Estimate::exact(b), r),
                    ),
                    false => {
                        let lost = (h.reach() + u_l.reach()) * underflow;
                        let by_b = within(problem.b_operand, cotangent).times(&h_u, r).off_by(lost, r);
                        (by_b, read_by(problem.c_operand))
                    }
                };
                let lost_by_u = (h.reach() + force.reach()) * underflow;
                y[l].add_real_lanes(&read.times(seen, r));
                du[l].add_real_lanes(&cotangent.times(&h.times(&force, r), r).off_by(lost_by_u, r));
                ddelta[l].add_real_lanes(t_delta);
                of_a.terms.push(*t_a);
                if has_bias {
                    let slope = Estimate::known(V::all(step.slope.0), Lanes::all(step.slope.1));
                    of_bias.terms.push(real_part(t_bias.times(&slope, by_real)));
                }
                of_b.terms.push(t_b);
                of_c.terms.push(t_c);
            }
            let over_ways = |weights: &[[Vec<Lanes>; 2]]| {
                ways.iter().zip(weights).fold(Lanes::ZERO, |sum, ((x, p), [by_p, by_x])| {
                    sum + p.gathered(by_p) + x.gathered(by_x)
                })
            };
            da.extend(of_a.totals(over_ways(&by_a), u).into_iter().take(states));
            if has_bias {
                for total in of_bias.totals(over_ways(&by_bias), u).into_iter().take(states) {
                    bias.add(&total);
                }
            }
            let operand = |operand, of: Reduction<V>, carried: Lanes, into: &mut Vec<Total>| match operand {
                Operand::Variable => {
                    let first = into.len();
                    into.resize(first + states * len, Total::default());
                    for (l, term) in of.terms.iter().enumerate() {
                        (0..states).for_each(|lane| into[first + lane * len + l] = Total::of(term, lane));
                    }
                }
                Operand::Constant => into.extend(of.totals(carried, u).into_iter().take(states)),
            };
            let through_states =
                |weights: &[Lanes]| ways.iter().fold(Lanes::ZERO, |sum, (x, _)| sum + x.gathered(weights));
            let through_cotangents =
                |weights: &[Lanes]| ways.iter().fold(Lanes::ZERO, |sum, (_, p)| sum + p.gathered(weights));
            let scaled = |weights: &[Lanes], by: &dyn Fn(usize) -> Lanes| {
                weights.iter().enumerate().map(|(l, w)| w.times(by(l))).collect::<Vec<_>>()
            };
            let (carried_b, carried_c) = match reads_with_b {
                true => (
                    through_states(&scaled(&by_c, &|l| c_weight.at(l, chunk).norm())),
                    through_states(&scaled(&by_c, &|l| b_weight.at(l, chunk).norm())),
                ),
                false => (through_cotangents(&by_b), through_states(&by_c)),
            };
            operand(problem.b_operand, of_b, carried_b, &mut db);
            operand(problem.c_operand, of_c, carried_c, &mut dc);
        }
        readout.finish(&mut du, &mut ddelta, &mut y, (shape.dstate, problem.weights.width()));
        let (z, d) = (readout.gate_gradients(&y), readout.skip_gradient());
        Shares {
            u: du,
            delta: ddelta,
            z,
            a: da,
            b: db,
            c: dc,
            initial,
            d,
            bias,
            spread: spreads,
            repeats: self.directions() * repeats.most() as f64,
            largest_z: largest_z.0.into_iter().fold(0.0, f64::max),
        }
    }
}

impl<V: Value<WIDTH>> Track<V> {
    fn new(len: usize, backwards: bool) -> Self {
        let lanes = || Vec::with_capacity(len);
        let (seen, exponent_joins) = (Vec::with_capacity(len), None);
        Track { seen, norms: lanes(), carried: lanes(), walked: lanes(), backwards, exponent_joins }
    }

    /// Takes a state on, of which a tree joins so many later, and keeps it. `terms` is what its input is a sum of, without signs, where
    /// they may cancel.
    #[inline(never)]
    fn step(
        &mut self,
        state: &mut State<V>,
        (step, input, z): (&Step<V, Lanes>, &StepInput<V>, Lanes),
        joins: f64,
        roundings: StepRoundings,
        terms: Lanes,
    ) {
        let (old, carried) = (*state, roundings.carried(step));
        state.advance((step.a_bar, step.a_bar_error), input, z, joins, roundings);
        let unit = roundings.arithmetic.unit;
        let read = match self.exponent_joins {
            Some(exponent_joins) => state.summed_as_a_tree(unit, exponent_joins),
            None => *state,
        };
        let seen = read.read(&old, carried, unit, joins);
        // The product, its Ā and the sum; the input's terms; what underflows.
        let (mu, size) = (roundings.mu / unit, seen.x.norm());
        let underflow = 2.0 * roundings.arithmetic.underflow / unit;
        let own = size * size * (mu * mu + 2.0) + terms * terms + Lanes::all(underflow * underflow);
        let before = self.walked.last().copied().unwrap_or(Lanes::ZERO);
        self.walked.push((carried * carried).times(before) + own);
        self.seen.push(seen);
        self.norms.push(size);
        self.carried.push(carried);
    }

    /// By position.
    fn in_order(mut self) -> Self {
        if self.backwards {
            self.seen.reverse();
            self.norms.reverse();
            self.carried.reverse();
            self.walked.reverse();
        }
        self
    }
}

/// h F u of a position, and what its products round: relative, and where they underflow.
#[inline(never)]
fn forcing_input<V: Value<WIDTH>>(
    step: &Step<V, Lanes>,
    force: V,
    u: f64,
    (input_error, underflow): (f64, f64),
) -> StepInput<V> {
    let b_u = step.b_bar * force * u;
    let (size, force) = (b_u.norm(), force.norm() * u.abs());
    let error = step.b_bar_error.times(force) * (1.0 + input_error);
    let vanished = (force + u.abs() + 1.0) * underflow;
    StepInput {
        b_u,
        size: size + error,
        coefficient: (error + vanished).unless_zero(force),
        product: size * input_error,
    }
}

/// C e, for e and its error. It may be the same at every position, and rounds the same way then.
#[inline(never)]
fn read_input<V: Value<WIDTH>>(
    read: &Estimate<V>,
    (e, e_error): (f64, f64),
    (u, underflow): (f64, f64),
) -> StepInput<V> {
    let c_e = read.value * e;
    let size = c_e.norm();
    let error = read.reach() * e_error + read.worst * e.abs();
    let rounded = size * u + Lanes::all(underflow);
    StepInput {
        b_u: c_e,
        size: size + error,
        coefficient: (error + rounded).unless_zero(read.reach()),
        product: Lanes::ZERO,
    }
}

/// The step of B = 1.
#[inline(never)]
fn coefficients<V: Value<WIDTH>>(model: &Model, delta: (f64, f64), a: V) -> Step<V, Lanes> {
    model.step(delta, a, V::all(1.0))
}

fn conjugate<V: Value<WIDTH>>(value: V) -> V {
    V::from_parts(value.re().0, std::array::from_fn(|lane| -value.at(lane).im))
}

/// Of what is then a real sum.
fn real_part<V: Value<WIDTH>>(estimate: Estimate<V>) -> Estimate<V> {
    let value = V::from_parts(estimate.value.re().0, [0.0; WIDTH]);
    Estimate { value, norm: value.norm(), ..estimate }
}

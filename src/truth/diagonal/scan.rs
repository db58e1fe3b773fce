//! The truth of the selective scan (spec.md §3), for the judged channels of a problem.
//!
//! Two scans run side by side: one on the literal coefficients, with states summed in ascending order, one on
//! the inverse-free coefficients, with other associations and the states summed in descending order. The
//! latter is computed with [`Ball`]s: Δ (with bias and softplus), coefficients, states, sums, skip and gate
//! all carry a proven bound of their error, so an output that cancels is known to have lost its bits.
//!
//! A channel is scanned in two doubles first. A state carries its error, so what a doubt about one output or last state would
//! need is the same scan with more bits: the forms with a doubt, of that channel, are scanned again in 237 bits.

mod coupled;
mod exponents;

use nalgebra::Complex;
use num_traits::{One, Zero};

use self::coupled::Scanned;
use super::coefficient::{check_exponent, validate};
use super::element::{InverseFree, Literal, Needs, ROUTES};
use super::rescue::{Rescue, Wanted};
use crate::formula::{Form, Fraction, Panels};
use crate::method::Method;
use crate::parallel;
use crate::problem::stretch::Inputs as _;
use crate::problem::{Operand, Problem, Sequence, Weights};
use crate::tensor::{Named, TensorName, Tensors};
use crate::truth::certify::{Certificate, Settled, settle};
use crate::truth::exact::rational;
use crate::truth::exact::scan::ExactScan;
use crate::truth::limit::clamped;
use crate::truth::number::ball::{self, Ball, Enclosure};
use crate::truth::number::double_double::DoubleDouble;
use crate::truth::number::elementary::{
    Exponent, Scalar, exp_by_doubling, exp_by_halving, softplus_by_artanh, softplus_by_halley,
};
use crate::truth::number::mag::Mag;
use crate::truth::number::scalar::{Entry, Real};
use crate::truth::number::wide::Wide;
use crate::truth::{Result, TruthError};

/// One method's scan, correctly rounded. `M` is a [`Method`], a [`crate::formula::Textbook`] form, or a [`Form`].
#[derive(Clone, Debug)]
pub struct ScanTruth<M = Method> {
    pub method: M,
    /// `out` and `last_state` of the judged channels, and tensors of chunks where they are asked for; poly's states are the forward ones.
    pub tensors: Tensors<f64>,
    pub certificate: Certificate,
}

/// States whose sums are held at a time: bounds the memory without idling a thread.
const NODES_AT_ONCE: usize = 32;

/// Δ by each route, the literal one first, from delta + delta_bias; before its limits.
pub type StepsOf<R> = fn(&Ball<R>) -> (R, Ball<R>);

/// The same in each arithmetic that a scan is tried in.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    pub two_doubles: StepsOf<DoubleDouble>,
    pub wide: StepsOf<Wide>,
}

/// Scans the judged channels of `problem` by each of `methods`. What the methods share is computed once.
///
/// # Errors
/// Shapes that disagree, numbers that are not finite, a form's pole, |ΔA| beyond 2¹⁶, and values that
/// cannot be certified.
pub fn solve<M>(problem: &Problem, methods: &[M]) -> Result<Vec<ScanTruth<M>>>
where
    M: Copy + Into<Form> + Sync,
{
    solve_by(Steps::of(problem), problem, methods)
}

impl Steps {
    /// What the problem asks for: softplus, or nothing.
    pub fn of(problem: &Problem) -> Steps {
        fn by_softplus<R: Scalar>(raw: &Ball<R>) -> (R, Ball<R>) {
            (softplus_by_halley(raw.mid), softplus_by_artanh(raw))
        }
        fn as_given<R: Scalar>(raw: &Ball<R>) -> (R, Ball<R>) {
            (raw.mid, *raw)
        }
        match problem.delta_softplus {
            true => Steps { two_doubles: by_softplus, wide: by_softplus },
            false => Steps { two_doubles: as_given, wide: as_given },
        }
    }
}

/// [`solve`] with a Δ of the caller's own: where the two routes' differ, nothing may be certified that depends on it.
///
/// # Errors
/// As [`solve`]'s.
pub fn solve_by<M>(steps: Steps, problem: &Problem, methods: &[M]) -> Result<Vec<ScanTruth<M>>>
where
    M: Copy + Into<Form> + Sync,
{
    let forms: Vec<Form> = methods.iter().map(|&m| m.into()).collect();
    let truth = |(&method, whole): (&M, ChannelTruth)| {
        let named = whole.tensors.into_iter();
        let tensors = named.map(|(name, values)| (name, problem.judged_tensor(name, values)));
        ScanTruth { method, tensors: tensors.collect(), certificate: whole.certificate }
    };
    Ok(methods.iter().zip(solve_forms(steps, problem, &forms)?).map(truth).collect())
}

/// All judged channels by each form. Not generic, so that it is compiled once, and here.
fn solve_forms(steps: Steps, problem: &Problem, forms: &[Form]) -> Result<Vec<ChannelTruth>> {
    validate(problem)?;
    let channels = &problem.judged_channels;
    let blank = || {
        let named = TensorName::ALL.into_iter().filter(|name| problem.outline().has(*name));
        let tensors = named.map(|name| (name, Vec::new())).collect();
        ChannelTruth { tensors, certificate: Certificate::new(ROUTES) }
    };
    let join = |wholes: &mut Vec<ChannelTruth>, parts: Vec<ChannelTruth>| {
        wholes.resize_with(forms.len(), blank);
        for (whole, part) in wholes.iter_mut().zip(parts) {
            part.tensors.into_iter().for_each(|(name, values)| whole.tensors[name].extend(values));
            whole.certificate.absorb(&part.certificate);
        }
    };
    let of_sequence = |at: (usize, usize), sequence: &Sequence| -> Result<Vec<ChannelTruth>> {
        if sequence.is_padding {
            let states = sequence.last.map_or(0, |_| problem.shape.dstate * problem.weights.width());
            let mut nothing = blank();
            nothing.tensors[TensorName::Out].resize(sequence.positions.len(), 0.0);
            nothing.tensors[TensorName::LastState].resize(states, 0.0);
            return Ok(vec![nothing; forms.len()]);
        }
        let (problem, at) = problem.alone(at, sequence);
        let mut parts = match problem.weights {
            Weights::Real => solve_channel::<DoubleDouble, Wide>(steps, &problem, forms, at)?,
            Weights::Complex => {
                solve_channel::<Complex<DoubleDouble>, Complex<Wide>>(steps, &problem, forms, at)?
            }
        };
        if sequence.last.is_none() {
            parts.iter_mut().for_each(|part| part.tensors[TensorName::LastState].clear());
        }
        Ok(parts)
    };
    let of_channel = |i: usize| {
        let mut wholes = Vec::new();
        for sequence in problem.sequences(channels[i].0).iter() {
            join(
                &mut wholes,
                of_sequence(channels[i], sequence).map_err(|error| {
                    let (item, channel) = channels[i];
                    match &problem.packed {
                        Some(_) => error.at(format!(
                            "sequence from position {} of channel ({item}, {channel})",
                            sequence.positions.start
                        )),
                        None => error,
                    }
                })?,
            );
        }
        Ok(wholes)
    };
    let mut wholes = Vec::new();
    for parts in parallel::try_each(channels.len(), &of_channel)? {
        join(&mut wholes, parts);
    }
    wholes.resize_with(forms.len(), blank);
    Ok(wholes)
}

/// One channel by each form, in the arithmetic of N, or in that of T where the former leaves a doubt.
fn solve_channel<N, T>(
    steps: Steps,
    problem: &Problem,
    forms: &[Form],
    channel: (usize, usize),
) -> Result<Vec<ChannelTruth>>
where
    N: Exponent<Part = DoubleDouble>,
    T: Exponent<Part = Wide>,
{
    // What it refuses as a whole, a pole say, is for the wider arithmetic to refuse.
    let narrow = ChannelScan::<N>::new(steps.two_doubles, problem, forms, channel).solve();
    let mut found = narrow.unwrap_or_else(|_| forms.iter().map(|_| None).collect());
    let is_open = |found: &Option<ChannelTruth>| found.is_none();
    let open: Vec<Form> =
        forms.iter().zip(&found).filter(|(_, found)| is_open(found)).map(|(&form, _)| form).collect();
    if !open.is_empty() {
        let wide = ChannelScan::<T>::new(steps.wide, problem, &open, channel).solve()?;
        found.iter_mut().filter(|found| is_open(found)).zip(wide).for_each(|(found, wide)| *found = wide);
    }
    Ok(found.into_iter().flatten().collect())
}

/// One channel's share of a [`ScanTruth`].
#[derive(Clone)]
struct ChannelTruth {
    tensors: Named<Vec<f64>>,
    certificate: Certificate,
}

/// Which parts of a number can be other than zero: an exact zero of the arithmetic is proved where every
/// product that adds to it has a zero factor.
type Pattern = [bool; 2];

fn pattern<T: Entry>(x: &T) -> Pattern {
    std::array::from_fn(|i| i < T::WIDTH && !x.part(i).is_zero())
}

/// Of a coefficient, a power series in A with real terms: real for a real A. That a part came out as zero
/// proves nothing, unless it is zero without an error.
fn coefficient_pattern<T: Entry>(coefficient: &Ball<T>, a: &T) -> Pattern {
    let live = !coefficient.is_exact_zero();
    [live, live && pattern(a)[1]]
}

fn product(p: Pattern, q: Pattern) -> Pattern {
    [(p[0] && q[0]) || (p[1] && q[1]), (p[0] && q[1]) || (p[1] && q[0])]
}

fn sum(p: Pattern, q: Pattern) -> Pattern {
    [p[0] || q[0], p[1] || q[1]]
}

/// One form's sums over states: at each position, by each route, and whether they can be other than zero.
#[derive(Clone)]
struct OutputSums<R> {
    literal: Vec<R>,
    bounded: Vec<Ball<R>>,
    live: Vec<bool>,
}

impl<R: Scalar> OutputSums<R> {
    fn new(len: usize) -> Self {
        OutputSums { literal: vec![R::zero(); len], bounded: vec![Ball::zero(); len], live: vec![false; len] }
    }

    fn add_literal(&mut self, other: &OutputSums<R>) {
        self.literal.iter_mut().zip(&other.literal).for_each(|(total, value)| *total += *value);
    }

    fn add_bounded(&mut self, other: &OutputSums<R>) {
        self.bounded.iter_mut().zip(&other.bounded).for_each(|(total, value)| *total = total.plus(value));
        self.live.iter_mut().zip(&other.live).for_each(|(total, live)| *total |= live);
    }
}

/// A state by both routes.
#[derive(Clone, Copy)]
struct CarriedState<T> {
    literal: T,
    bounded: Ball<T>,
    live: Pattern,
}

/// A coefficient by both routes.
type Routed<T> = (T, Ball<T>);

/// Ā, and what multiplies u_l, u_{l−1} and u_{l+1} if they are read.
type RoutedStep<T> = (Routed<T>, [Option<Routed<T>>; 3]);

fn pair<T: Exponent>(literal: Panels<T>, bounded: Panels<Ball<T>>) -> RoutedStep<T> {
    let mut pairs = literal.into_iter().zip(bounded).map(|(x, y)| x.zip(y));
    let a_bar = pairs.next().flatten().unwrap_or((T::zero(), Ball::zero()));
    (a_bar, std::array::from_fn(|_| pairs.next().flatten()))
}

impl<T: Exponent> CarriedState<T> {
    fn zero() -> Self {
        CarriedState { literal: T::zero(), bounded: Ball::zero(), live: [false; 2] }
    }

    fn given(x: T) -> Self {
        CarriedState { literal: x, bounded: Ball::exact(x), live: pattern(&x) }
    }

    /// b x
    fn times(&self, b: T) -> Self {
        CarriedState {
            literal: b * self.literal,
            bounded: Ball::exact(b).times(&self.bounded),
            live: product(pattern(&b), self.live),
        }
    }

    /// One step for the weights a and b, and the inputs u_l, u_{l−1} and u_{l+1}.
    fn advance(&mut self, a: T, (a_bar, b_bars): &RoutedStep<T>, inputs: [T::Part; 3], b: T) {
        let mut live = product(coefficient_pattern(&a_bar.1, &a), self.live);
        let (mut literal, mut bounded) = (T::zero(), Ball::zero());
        for (b_bar, u) in b_bars.iter().zip(inputs) {
            let Some((first, second)) = *b_bar else { continue };
            if u.is_zero() || b.is_zero() || second.is_exact_zero() {
                continue;
            }
            // The routes associate (coefficient · B) u and coefficient (B u). The latter product of two
            // numbers of 24 bits is exact.
            literal += (first * b).scale(u);
            bounded = bounded.plus(&second.times(&Ball::exact(b.scale(u))));
            live = sum(live, product(coefficient_pattern(&second, &a), pattern(&b)));
        }
        if self.live != [false; 2] {
            literal += a_bar.0 * self.literal;
            bounded = a_bar.1.times(&self.bounded).plus(&bounded);
        }
        *self = CarriedState { literal, bounded, live };
    }
}

struct Node<T: Exponent> {
    sums: Vec<OutputSums<T::Part>>,
    /// Of each form, those that are asked for.
    states: Vec<Vec<CarriedState<T>>>,
    stood_in: bool,
}

struct ChannelScan<'p, T: Exponent> {
    problem: &'p Problem,
    forms: &'p [Form],
    at: (usize, usize),
    u: Vec<T::Part>,
    /// Δ after bias and softplus, by each route.
    delta: Vec<Routed<T::Part>>,
}

fn exact<R: Real>(x: f32) -> R {
    R::exact(f64::from(x))
}

impl<'p, T: Exponent> ChannelScan<'p, T> {
    fn new(steps: StepsOf<T::Part>, problem: &'p Problem, forms: &'p [Form], at: (usize, usize)) -> Self {
        let (batch, d) = at;
        let start = problem.sequence_index(batch, d, 0);
        let range = start..start + problem.shape.seqlen;
        let bias = problem.delta_bias.as_ref().map_or(T::Part::zero(), |b| exact(b[d]));
        let step = |&value: &f32| match clamped(problem, d, value) {
            Some(limit) => (exact(limit), Ball::exact(exact(limit))),
            None => steps(&Ball::exact(exact(value)).plus(&Ball::exact(bias))),
        };
        let delta = parallel::map(&problem.delta[range.clone()], &step);
        let u = problem.u[range].iter().map(|&v| exact(v)).collect();
        ChannelScan { problem, forms, at, u, delta }
    }

    fn weight(&self, values: &[f32], start: usize) -> T {
        T::entry_from_parts(exact(values[start]), exact(values[start + T::WIDTH - 1]))
    }

    fn operand(&self, values: &[f32], operand: Operand, n: usize, l: usize) -> T {
        self.weight(values, self.problem.operand_index(operand, self.at, n, l))
    }

    /// One truth for each form; none where two doubles leave a doubt.
    fn solve(&self) -> Result<Vec<Option<ChannelTruth>>> {
        let scanned = if self.problem.is_dense() { self.coupled()? } else { self.uncoupled()? };
        let Scanned { totals, states, stood_in } = scanned;
        let finish = |f: usize| self.finish(self.forms[f], &totals[f], &states[f], stood_in);
        parallel::try_each(self.forms.len(), &finish)
    }

    /// All states, each of which is a recurrence of its own.
    fn uncoupled(&self) -> Result<Scanned<T>> {
        let (len, dstate) = (self.problem.shape.seqlen, self.problem.shape.dstate);
        let mut totals = vec![OutputSums::<T::Part>::new(len); self.forms.len()];
        let mut states: Vec<Vec<Vec<CarriedState<T>>>> = vec![Vec::new(); self.forms.len()];
        let mut stood_in = false;
        for start in (0..dstate).step_by(NODES_AT_ONCE) {
            let count = NODES_AT_ONCE.min(dstate - start);
            let nodes = parallel::try_each(count, &|i| self.node(start + i))?;
            for (f, total) in totals.iter_mut().enumerate() {
                let mut subtotal = OutputSums::new(len);
                nodes.iter().for_each(|node| total.add_literal(&node.sums[f]));
                nodes.iter().rev().for_each(|node| subtotal.add_bounded(&node.sums[f]));
                total.add_bounded(&subtotal);
                states[f].extend(nodes.iter().map(|node| node.states[f].clone()));
            }
            stood_in |= nodes.iter().any(|node| node.stood_in);
        }
        Ok(Scanned { totals, states, stood_in })
    }

    /// One state's scan by every form.
    fn node(&self, n: usize) -> Result<Node<T>> {
        let p = self.problem;
        let len = p.shape.seqlen;
        let needs = Needs::of(self.forms);
        let poles: Vec<Fraction> = self.forms.iter().filter_map(|form| form.formula().pole()).collect();
        let a = self.weight(&p.a, p.weight_index(self.at.1, n));
        let initial = p.initial_state.as_ref().map(|values| self.weight(values, p.state_index(self.at, n)));
        let first = initial.map_or(CarriedState::zero(), CarriedState::given);
        let mut node = Node {
            sums: vec![OutputSums::new(len); self.forms.len()],
            states: vec![Vec::new(); self.forms.len()],
            stood_in: false,
        };
        let (mut carried, asked) = (vec![first; self.forms.len()], p.asked_states());
        // For the way back.
        let mut kept: Vec<Vec<RoutedStep<T>>> = vec![Vec::new(); self.forms.len()];
        // Equal steps in a row have the same coefficients.
        let mut last_shared = None;
        for l in 0..len {
            if asked.binary_search(&l).is_ok() {
                node.states.iter_mut().zip(&carried).for_each(|(states, carried)| states.push(*carried));
            }
            let (first, second) = self.delta[l];
            check_exponent(a.scale(first), &poles, || {
                format!("batch {}, channel {}, state {n}, position {l}", self.at.0, self.at.1)
            })?;
            let (literal, bounded) = match last_shared {
                Some(shared) if self.delta[l] == self.delta[l - 1] => shared,
                _ => (Literal::new(needs, first, a), InverseFree::new(needs, second, a)),
            };
            last_shared = Some((literal, bounded));
            node.stood_in |= literal.stood_in;
            for (f, &form) in self.forms.iter().enumerate() {
                let step = pair(literal.step(form), bounded.step(form));
                self.visit((n, l), a, &step, &mut carried[f], &mut node.sums[f]);
                if form.formula().bidirectional {
                    kept[f].push(step);
                }
            }
        }
        node.states.iter_mut().zip(&carried).for_each(|(states, carried)| states.push(*carried));
        for (f, steps) in kept.iter().enumerate() {
            let mut backward = CarriedState::zero();
            for (l, step) in steps.iter().enumerate().rev() {
                self.visit((n, l), a, step, &mut backward, &mut node.sums[f]);
            }
        }
        Ok(node)
    }

    /// Takes state n from one position to the next, and reads it there.
    fn visit(
        &self,
        (n, l): (usize, usize),
        a: T,
        step: &RoutedStep<T>,
        state: &mut CarriedState<T>,
        sums: &mut OutputSums<T::Part>,
    ) {
        let p = self.problem;
        let b = self.operand(&p.b, p.b_operand, n, l);
        let c = self.operand(&p.c, p.c_operand, n, l);
        let before = *state;
        state.advance(a, step, self.inputs(l), if p.reads_with_b() { T::one() } else { b });
        let read = if p.reads_before() { before } else { *state };
        self.observe(sums, l, c, &if p.reads_with_b() { read.times(b) } else { read });
    }

    /// u_l, u_{l−1} and u_{l+1}; before the start there is none, past the end it is held.
    fn inputs(&self, l: usize) -> [T::Part; 3] {
        let before = if l > 0 { self.u[l - 1] } else { T::Part::zero() };
        [self.u[l], before, self.u[(l + 1).min(self.u.len() - 1)]]
    }

    /// Adds Re(C x) to the sums at l.
    fn observe(&self, sums: &mut OutputSums<T::Part>, l: usize, c: T, state: &CarriedState<T>) {
        if product(pattern(&c), state.live)[0] {
            sums.live[l] = true;
            let real = |x: &T| {
                let y = c.part(0) * x.part(0);
                if T::WIDTH == 2 { y - c.part(1) * x.part(1) } else { y }
            };
            sums.literal[l] += real(&state.literal);
            // The real part alone errs by no more than the whole product.
            let whole = ball::product_radius::<T::Part>(
                (c.size(), Mag::ZERO),
                (state.bounded.mid.size(), state.bounded.radius),
            );
            let y = Ball { mid: real(&state.bounded.mid), radius: whole };
            sums.bounded[l] = sums.bounded[l].plus(&y);
        }
    }

    /// y = 2 Re Σ C x, averaged for poly, then skip and gate, then the certificate.
    fn finish(
        &self,
        form: Form,
        sums: &OutputSums<T::Part>,
        states: &[Vec<CarriedState<T>>],
        stood_in: bool,
    ) -> Result<Option<ChannelTruth>> {
        let p = self.problem;
        let (batch, d) = self.at;
        let mut certificate = Certificate::new(ROUTES);
        if stood_in {
            certificate.unavailable = Some("A⁻¹ and its powers lose the bits as ΔA → 0");
        }
        let doubling = i64::from(p.output_factor() == 2.0) - i64::from(form.is_bidirectional());
        let skip = p.d.as_ref().map_or(T::Part::zero(), |skip| exact(skip[d]));
        let rational = ExactScan::new(p, form, self.at);
        // More than 237 bits are for states that are recurrences of their own.
        let rescue = Some(()).filter(|()| !p.is_dense()).and_then(|()| Rescue::new(p, form, self.at));
        let mut out = Vec::with_capacity(sums.live.len());
        for (l, &live) in sums.live.iter().enumerate() {
            let (mut literal, mut bounded) =
                (sums.literal[l].times_pow2(doubling), sums.bounded[l].shifted(doubling));
            let mut live = live;
            // 24 bits by 24: exact.
            let skipped = skip * self.u[l];
            live |= !skipped.is_zero();
            literal += skipped;
            bounded = Ball::exact(skipped).plus(&bounded);
            if let Some(gate) = &p.z {
                let z: T::Part = exact(gate[p.sequence_index(batch, d, l)]);
                live &= !z.is_zero();
                // z sigmoid(z), by either exponential
                literal *= z / (T::Part::one() + exp_by_halving(-z));
                let denominator = Ball::one().plus(&exp_by_doubling(&Ball::exact(-z)));
                bounded = bounded.times(&Ball::exact(z)).over(&denominator);
            }
            let fallback = Fallback {
                exact: &|| rational.as_ref()?.output(l),
                wider: &|| rescue.as_ref()?.settle(Wanted::Output { l }),
            };
            let place = || format!("{form}: output at batch {batch}, channel {d}, position {l}");
            let fallback = if T::Part::NARROW { None } else { Some(fallback) };
            let Some(value) = conclude(&mut certificate, &literal, &bounded, live, fallback, place)? else {
                return Ok(None);
            };
            out.push(value);
        }
        let asked = p.asked_states();
        let mut values = Vec::with_capacity(asked.len() * states.len() * T::WIDTH);
        for (place, &after) in asked.iter().enumerate() {
            for (n, part) in (0..states.len()).flat_map(|n| (0..T::WIDTH).map(move |part| (n, part))) {
                let state = &states[n][place];
                let fallback = Fallback {
                    exact: &|| Some(rational::round(rational.as_ref()?.state_after(n, after)?.part(part))),
                    wider: &|| rescue.as_ref()?.settle(Wanted::State { place, n, part }),
                };
                let place = || {
                    format!(
                        "{form}: state after {after} positions of batch {batch}, channel {d}, state {n}, part {part}"
                    )
                };
                let (x, y) = (state.literal.part(part), state.bounded.part(part));
                let fallback = if T::Part::NARROW { None } else { Some(fallback) };
                let Some(value) = conclude(&mut certificate, &x, &y, state.live[part], fallback, place)?
                else {
                    return Ok(None);
                };
                values.push(value);
            }
        }
        let last_state = values.split_off((asked.len() - 1) * states.len() * T::WIDTH);
        let mut tensors: Named<Vec<f64>> =
            [(TensorName::Out, out), (TensorName::LastState, last_state)].into_iter().collect();
        if let Some(chunk) = p.conventions.chunk {
            tensors.insert(TensorName::ChunkStates, values);
            if p.outline().has(TensorName::DaCumsum) {
                let sums = self.exponents(chunk.get(), rational.as_ref(), &mut certificate)?;
                let Some(sums) = sums else { return Ok(None) };
                tensors.insert(TensorName::DaCumsum, sums);
            }
        }
        Ok(Some(ChannelTruth { tensors, certificate }))
    }
}

/// Where to turn when 237 bits leave a value open.
struct Fallback<'f> {
    exact: &'f dyn Fn() -> Option<f64>,
    wider: &'f dyn Fn() -> Option<(Settled, u32)>,
}

/// The rounding of a value that two routes computed, or that `fallback` knows. A value that is not `live` is
/// exactly zero. None where there is a doubt and nowhere to turn yet.
fn conclude<R: Real>(
    certificate: &mut Certificate,
    x: &R,
    y: &Ball<R>,
    live: bool,
    fallback: Option<Fallback>,
    place: impl FnOnce() -> String,
) -> Result<Option<f64>> {
    if !live {
        certificate.count_exact(0.0);
        return Ok(Some(0.0));
    }
    let doubt = match settle(x, y) {
        Ok(settled) => {
            certificate.count(settled, R::BITS);
            return Ok(Some(settled.value));
        }
        Err(doubt) => doubt,
    };
    let Some(fallback) = fallback else { return Ok(None) };
    if let Some(value) = (fallback.exact)() {
        certificate.count_exact(value);
        return Ok(Some(value));
    }
    if let Some((settled, bits)) = (fallback.wider)() {
        certificate.count(settled, bits);
        return Ok(Some(settled.value));
    }
    Err(TruthError::Uncertified { place: place(), reason: doubt.reason(), bits: R::BITS })
}

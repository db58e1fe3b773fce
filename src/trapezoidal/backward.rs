//! Reverse mode of the same program (spec.md §7, "Gradients"): p_l is the cotangent of x_l, q_l that of w_l.

use super::forward::skipped;
use super::{Gradients, Head, Number, Prepared, Writing};
use crate::problem::trapezoidal::{Cotangents, Input, Output, Sizes};
use crate::promise::allowance::U;

/// Cotangents of what the channels of a head share, summed over these.
struct Shared<N> {
    decay: Vec<N>,
    before: Vec<N>,
    now: Vec<N>,
    b: Vec<N>,
    c: Vec<N>,
    b_before: Vec<N>,
    skip: N,
}

/// Gradients by what each channel has of its own.
struct Own<N> {
    u: Vec<N>,
    z: Vec<N>,
    initial_state: Vec<N>,
    initial_u: Vec<N>,
}

fn add<N: Number>(sum: &mut N, term: &N) {
    *sum = sum.joined(term);
}

/// Sums of so many terms each.
fn all_summed<N: Number>(values: &mut [N], terms: usize) {
    values.iter_mut().for_each(|value| *value = value.clone().summed(terms.saturating_sub(1)));
}

pub(super) fn gradients<N: Number>(
    head: &Head,
    prepared: &Prepared<N>,
    writing: Writing,
    cotangents: &Cotangents,
) -> Gradients<N> {
    let Sizes { l: len, p: channels, n: states, .. } = head.sizes;
    let given =
        |name: Output, at: usize| cotangents.get(name).map_or_else(N::zero, |values| N::exact(values[at]));
    let zeros = |count: usize| vec![N::zero(); count];
    let of_b = |n| given(Output::LastB, n);
    let mut b = zeros((len - 1) * states);
    b.extend((0..states).map(of_b));
    let mut shared = Shared {
        decay: zeros(len),
        before: zeros(len),
        now: zeros(len),
        b,
        c: zeros(len * states),
        b_before: zeros(states),
        skip: N::zero(),
    };
    let mut own = Own {
        u: zeros(len * channels),
        z: zeros(len * channels),
        initial_state: Vec::with_capacity(channels * states),
        initial_u: Vec::with_capacity(channels),
    };
    for p in 0..channels {
        channel(head, (prepared, writing), p, &given, (&mut shared, &mut own));
    }
    for of_states in [&mut shared.decay, &mut shared.before, &mut shared.now] {
        all_summed(of_states, channels * states);
    }
    for of_channels in [&mut shared.b, &mut shared.c, &mut shared.b_before] {
        all_summed(of_channels, channels + 1);
    }
    shared.skip = shared.skip.summed(channels * len);
    let log_space = prepared.block.map(|block| running(head, &shared, prepared, block));
    let of_angles = |k| given(Output::LastAngle, k);
    finished(head, (prepared, log_space), of_angles, shared, own)
}

/// One channel, from its last position to its first.
fn channel<N: Number>(
    head: &Head,
    (prepared, writing): (&Prepared<N>, Writing),
    p: usize,
    given: &dyn Fn(Output, usize) -> N,
    (shared, own): (&mut Shared<N>, &mut Own<N>),
) {
    let Sizes { l: len, p: channels, n: states, .. } = head.sizes;
    let x = prepared.states(head, writing, p);
    let u = |l: usize| head.or_zero::<N>(Input::U, l * channels + p);
    let u_before: Option<N> = head.number(Input::InitialU, p);
    // p_{l+1} by what it is carried with: α_{l+1} p_{l+1}, and β_{l+1} p_{l+1}.
    let mut carried: Vec<N> = (0..states).map(|n| given(Output::LastState, p * states + n)).collect();
    let mut held: Vec<Option<N>> = vec![None; states];
    own.u[(len - 1) * channels + p] = given(Output::LastU, p);
    for l in (0..len).rev() {
        let (at, now, before) =
            (l * channels + p, &x[(l + 1) * states..(l + 2) * states], &x[l * states..(l + 1) * states]);
        let mut of_y = given(Output::Out, at);
        if let Some(z) = head.number::<N>(Input::Z, at) {
            let sigma = z.sigmoid();
            let y = skipped(head, (l, p), prepared.read(now, l));
            // d/dz z σ(z) = σ (1 + z (1 − σ))
            let slope = sigma.times(&N::one().plus(&z.times(&N::one().minus(&sigma))));
            own.z[at] = of_y.times(&y).times(&slope);
            of_y = of_y.times(&z.times(&sigma));
        }
        add(&mut shared.skip, &of_y.times(&u(l)));
        let mut of_u = of_y.times(&head.or_zero(Input::D, 0));
        let (b, c) = (&prepared.b[l * states..], &prepared.c[l * states..]);
        for n in 0..states {
            let whole = carried[n].plus(&of_y.times(&c[n]));
            let of_x = whole.clone().off_by(prepared.of_reads[l]);
            add(&mut shared.c[l * states + n], &of_y.times(&now[n].clone().off_by(prepared.of_reads[l])));
            add(&mut shared.decay[l], &of_x.times(&before[n]));
            add(&mut shared.now[l], &of_x.times(&b[n]).times(&u(l)));
            let of_before = of_x.times(&prepared.before[l]);
            if l > 0 {
                add(&mut shared.before[l], &of_x.times(&prepared.b[(l - 1) * states + n]).times(&u(l - 1)));
            } else if let Some(w) = prepared.input_before(head, (p, n)) {
                add(&mut shared.before[0], &of_x.times(&w));
            }
            let by_now = of_x.times(&prepared.now[l]);
            let of_w = held[n].as_ref().map_or(by_now.clone(), |held| by_now.plus(held));
            add(&mut of_u, &of_w.times(&b[n]));
            add(&mut shared.b[l * states + n], &of_w.times(&u(l)));
            carried[n] = whole.times(&prepared.decay[l]);
            held[n] = Some(of_before);
        }
        add(&mut own.u[at], &of_u);
        own.u[at] = own.u[at].clone().summed(states + 2);
    }
    own.initial_state.append(&mut carried);
    let held = || held.iter().flatten();
    for (sum, held) in shared.b_before.iter_mut().zip(held()) {
        add(sum, &held.times(u_before.as_ref().unwrap_or(&N::zero())));
    }
    let held: Vec<N> = held().cloned().collect();
    own.initial_u.push(prepared.b_before.as_ref().map_or_else(N::zero, |b| N::dot(&held, b)));
}

/// Error of ∂L/∂(ΔA) of a scan in log space at each position, by blocks of so many: it is what is left of running sums over the block
/// of derivatives by running sums, each a row and a column of products of an output and an input. Of the former there are the block's
/// positions, of the latter as many, and of the channels and states of each.
fn running<N: Number>(head: &Head, shared: &Shared<N>, prepared: &Prepared<N>, block: usize) -> Vec<f64> {
    let Sizes { l: len, p: channels, n: states, .. } = head.sizes;
    let met = |l: usize| {
        let of_decay = shared.decay[l].reach() * prepared.decay[l].reach();
        of_decay
            + shared.now[l].reach() * prepared.now[l].reach()
            + shared.before[l].reach() * prepared.before[l].reach()
    };
    let mut off = vec![0.0; len];
    for (chunk, first) in off.chunks_mut(block).zip((0..len).step_by(block)) {
        let all: f64 = (first..first + chunk.len()).map(met).sum();
        let roundings = (2 * block.min(len) + channels * states) as f64 + PRODUCTS;
        let sums = prepared.of_reads[first];
        chunk.fill(2.0 * all * (roundings * U + sums));
    }
    off
}

/// Roundings of the products of an output and an input: decays, Δ, λ and both sides.
const PRODUCTS: f64 = 16.0;

/// Cotangents that are shared, down to the inputs that it was made of.
fn finished<N: Number>(
    head: &Head,
    (prepared, log_space): (&Prepared<N>, Option<Vec<f64>>),
    of_angle: impl Fn(usize) -> N,
    mut shared: Shared<N>,
    own: Own<N>,
) -> Gradients<N> {
    let Sizes { l: len, n: states, k: angles, .. } = head.sizes;
    let zeros = |count: usize| vec![N::zero(); count];
    let mut of_delta = zeros(len);
    let (mut of_lambda, mut of_trap, mut of_rate) = (zeros(len), zeros(len), zeros(len));
    let mut of_tanh = zeros(len * angles);
    let mut of_theta: Vec<N> = (0..angles).map(of_angle).collect();
    let mut of_a = N::zero();
    for l in (0..len).rev() {
        let (before, now) = (&shared.before[l], &shared.now[l]);
        // β = (1 − λ)Δα, γ = λΔ
        let held = before.times(&prepared.decay[l]);
        let mut delta = now.times(&prepared.lambda[l]).plus(&held.times(&prepared.rest[l]));
        of_lambda[l] = now.times(&prepared.delta[l]).minus(&held.times(&prepared.delta[l]));
        // Whichever of λ and 1 − λ is made of the other is off by u.
        let whole = of_lambda[l].times(&prepared.lambda[l]).times(&prepared.rest[l]);
        of_trap[l] = whole.off(2.0 * U * of_lambda[l].reach());
        let of_decay = shared.decay[l].plus(&before.times(&prepared.held[l]));
        of_rate[l] = of_decay.times(&prepared.decay[l]);
        if let Some(log_space) = &log_space {
            of_rate[l] = of_rate[l].clone().off(log_space[l]);
        }
        if head.inputs.get(Input::Adt).is_none() {
            add(&mut of_a, &of_rate[l].times(&prepared.delta[l]));
            delta = delta.plus(&of_rate[l].times(&head.or_zero(Input::A, 0)));
        }
        for k in 0..angles {
            for (turned, of) in [(&prepared.b, &mut shared.b), (&prepared.c, &mut shared.c)] {
                let at = l * states + 2 * k;
                let [cos, sin] = &prepared.turns[l * angles + k];
                let (even, odd) = (of[at].clone(), of[at + 1].clone());
                // d(turned)/dθ is (−odd, even) of the turned pair.
                add(&mut of_theta[k], &odd.times(&turned[at]).minus(&even.times(&turned[at + 1])));
                of[at] = even.times(cos).plus(&odd.times(sin));
                of[at + 1] = odd.times(cos).minus(&even.times(sin));
            }
            let tanh = &prepared.tanh[l * angles + k];
            let by_delta = of_theta[k].clone().summed(2 * (len - l)).times(&N::pi());
            add(&mut delta, &by_delta.times(tanh));
            of_tanh[l * angles + k] =
                by_delta.times(&prepared.delta[l]).times(&N::one().minus(&tanh.times(tanh)));
        }
        delta = delta.summed(angles);
        of_delta[l] = if head.delta_softplus { delta.times(&prepared.raw[l].sigmoid()) } else { delta };
    }
    let summed = |values: &[N], width: usize| -> Vec<N> {
        let of = |at| values.iter().skip(at).step_by(width).fold(N::zero(), |sum, value| sum.joined(value));
        (0..width).map(|at| of(at).summed(values.len() / width)).collect()
    };
    let all = [
        (Input::U, own.u),
        (Input::A, vec![of_a.summed(len)]),
        (Input::Adt, of_rate),
        (Input::Lambda, of_lambda),
        (Input::Trap, of_trap),
        (Input::BBias, summed(&shared.b, states)),
        (Input::CBias, summed(&shared.c, states)),
        (Input::B, shared.b),
        (Input::C, shared.c),
        (Input::Angles, of_tanh),
        (Input::D, vec![shared.skip]),
        (Input::Z, own.z),
        (Input::DeltaBias, summed(&of_delta, 1)),
        (Input::Delta, of_delta),
        (Input::InitialState, own.initial_state),
        (Input::InitialAngle, of_theta.into_iter().map(|theta| theta.summed(2 * len)).collect()),
        (Input::InitialB, shared.b_before),
        (Input::InitialU, own.initial_u),
    ];
    all.into_iter().filter(|(name, _)| head.inputs.get(*name).is_some()).collect()
}

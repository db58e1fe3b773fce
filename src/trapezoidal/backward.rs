//! Reverse mode of the same program (spec.md §7, "Gradients"): p_l is the cotangent of x_l, q_l that of w_l.

use super::forward::skipped;
use super::{Gradients, Head, Number, Prepared, Writing};
use crate::problem::trapezoidal::{Cotangents, Input, Output, Sizes};
use crate::promise::allowance::U;

/// Cotangents of what the channels of a head share, summed over these, and of what each of them has of its sums.
struct Sums<N> {
    decay: Vec<N>,
    before: Vec<N>,
    now: Vec<N>,
    b: Vec<N>,
    c: Vec<N>,
    b_before: Vec<N>,
    skip: N,
    u: Vec<N>,
    z: Vec<N>,
    initial_state: Vec<N>,
    initial_u: Vec<N>,
}

fn zeros<N: Number>(count: usize) -> Vec<N> {
    vec![N::zero(); count]
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
    let mut b = zeros((len - 1) * states);
    b.extend((0..states).map(|n| given(Output::LastB, n)));
    let mut sums = Sums {
        decay: zeros(len),
        before: zeros(len),
        now: zeros(len),
        b,
        c: zeros(len * states),
        b_before: zeros(states),
        skip: N::zero(),
        u: zeros(len * channels),
        z: zeros(len * channels),
        initial_state: Vec::with_capacity(channels * states),
        initial_u: Vec::with_capacity(channels),
    };
    for p in 0..channels {
        channel(head, (prepared, writing), p, &given, &mut sums);
    }
    for of_states in [&mut sums.decay, &mut sums.before, &mut sums.now] {
        all_summed(of_states, channels * states);
    }
    for of_channels in [&mut sums.b, &mut sums.c, &mut sums.b_before] {
        all_summed(of_channels, channels + 1);
    }
    sums.skip = sums.skip.summed(channels * len);
    let log_space = prepared.block.map(|block| running(head, &sums, prepared, block));
    finished(head, (prepared, log_space), |k| given(Output::LastAngle, k), sums)
}

/// One channel, from its last position to its first.
fn channel<N: Number>(
    head: &Head,
    (prepared, writing): (&Prepared<N>, Writing),
    p: usize,
    given: &dyn Fn(Output, usize) -> N,
    sums: &mut Sums<N>,
) {
    let Sizes { l: len, p: channels, n: states, .. } = head.sizes;
    let x = prepared.states(head, writing, p);
    let u = |l: usize| head.or_zero::<N>(Input::U, l * channels + p);
    let u_before: Option<N> = head.number(Input::InitialU, p);
    // p_{l+1} by what it is carried with: α_{l+1} p_{l+1}, and β_{l+1} p_{l+1}.
    let mut carried: Vec<N> = (0..states).map(|n| given(Output::LastState, p * states + n)).collect();
    let mut held: Vec<Option<N>> = vec![None; states];
    sums.u[(len - 1) * channels + p] = given(Output::LastU, p);
    for l in (0..len).rev() {
        let (at, now, before) =
            (l * channels + p, &x[(l + 1) * states..(l + 2) * states], &x[l * states..(l + 1) * states]);
        let mut of_y = given(Output::Out, at);
        if let Some(z) = head.number::<N>(Input::Z, at) {
            let sigma = z.sigmoid();
            let y = skipped(head, (l, p), prepared.read(now, l));
            // d/dz z σ(z) = σ (1 + z (1 − σ))
            let slope = sigma.times(&N::one().plus(&z.times(&N::one().minus(&sigma))));
            sums.z[at] = of_y.times(&y).times(&slope);
            of_y = of_y.times(&z.times(&sigma));
        }
        add(&mut sums.skip, &of_y.times(&u(l)));
        let mut of_u = of_y.times(&head.or_zero(Input::D, 0));
        let (b, c) = (&prepared.b[l * states..], &prepared.c[l * states..]);
        for n in 0..states {
            let whole = carried[n].plus(&of_y.times(&c[n]));
            let of_x = whole.clone().off_by(prepared.of_reads[l]);
            add(&mut sums.c[l * states + n], &of_y.times(&now[n].clone().off_by(prepared.of_reads[l])));
            add(&mut sums.decay[l], &of_x.times(&before[n]));
            add(&mut sums.now[l], &of_x.times(&b[n]).times(&u(l)));
            let of_before = of_x.times(&prepared.at[l].before);
            if l > 0 {
                add(&mut sums.before[l], &of_x.times(&prepared.b[(l - 1) * states + n]).times(&u(l - 1)));
            } else if let Some(w) = prepared.input_before(head, (p, n)) {
                add(&mut sums.before[0], &of_x.times(&w));
            }
            let by_now = of_x.times(&prepared.at[l].now);
            let of_w = held[n].as_ref().map_or(by_now.clone(), |held| by_now.plus(held));
            add(&mut of_u, &of_w.times(&b[n]));
            add(&mut sums.b[l * states + n], &of_w.times(&u(l)));
            carried[n] = whole.times(&prepared.at[l].decay);
            held[n] = Some(of_before);
        }
        add(&mut sums.u[at], &of_u);
        sums.u[at] = sums.u[at].clone().summed(states + 2);
    }
    sums.initial_state.append(&mut carried);
    let held = || held.iter().flatten();
    for (sum, held) in sums.b_before.iter_mut().zip(held()) {
        add(sum, &held.times(u_before.as_ref().unwrap_or(&N::zero())));
    }
    let held: Vec<N> = held().cloned().collect();
    sums.initial_u.push(prepared.b_before.as_ref().map_or_else(N::zero, |b| N::dot(&held, b)));
}

/// Error of ∂L/∂(ΔA) of a scan in log space at each position, by blocks of so many: it is what is left of running sums over the block
/// of derivatives by running sums, each a row and a column of products of an output and an input. Of the former there are the block's
/// positions, of the latter as many, and of the channels and states of each.
fn running<N: Number>(head: &Head, sums: &Sums<N>, prepared: &Prepared<N>, block: usize) -> Vec<f64> {
    let Sizes { l: len, p: channels, n: states, .. } = head.sizes;
    let met = |l: usize| {
        let at = &prepared.at[l];
        let products = [(&sums.decay, &at.decay), (&sums.now, &at.now), (&sums.before, &at.before)];
        products.into_iter().map(|(of, by)| of[l].reach() * by.reach()).sum::<f64>()
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

/// Cotangents of what heads share, down to the inputs that it was made of.
fn finished<N: Number>(
    head: &Head,
    (prepared, log_space): (&Prepared<N>, Option<Vec<f64>>),
    of_angle: impl Fn(usize) -> N,
    mut sums: Sums<N>,
) -> Gradients<N> {
    let Sizes { l: len, n: states, k: angles, .. } = head.sizes;
    let mut of_delta = zeros(len);
    let (mut of_lambda, mut of_trap, mut of_rate) = (zeros(len), zeros(len), zeros(len));
    let mut of_tanh = zeros(len * angles);
    let mut of_theta: Vec<N> = (0..angles).map(of_angle).collect();
    let mut of_a = N::zero();
    for l in (0..len).rev() {
        let (before, now) = (&sums.before[l], &sums.now[l]);
        // β = (1 − λ)Δα, γ = λΔ
        let held = before.times(&prepared.at[l].decay);
        let mut delta = now.times(&prepared.at[l].lambda).plus(&held.times(&prepared.at[l].rest));
        of_lambda[l] = now.times(&prepared.at[l].delta).minus(&held.times(&prepared.at[l].delta));
        // Whichever of λ and 1 − λ is made of the other is off by u.
        let whole = of_lambda[l].times(&prepared.at[l].lambda).times(&prepared.at[l].rest);
        of_trap[l] = whole.off(2.0 * U * of_lambda[l].reach());
        let of_decay = sums.decay[l].plus(&before.times(&prepared.at[l].held));
        of_rate[l] = of_decay.times(&prepared.at[l].decay);
        if let Some(log_space) = &log_space {
            of_rate[l] = of_rate[l].clone().off(log_space[l]);
        }
        if head.inputs.get(Input::Adt).is_none() {
            add(&mut of_a, &of_rate[l].times(&prepared.at[l].delta));
            delta = delta.plus(&of_rate[l].times(&head.or_zero(Input::A, 0)));
        }
        for k in 0..angles {
            for (turned, of) in [(&prepared.b, &mut sums.b), (&prepared.c, &mut sums.c)] {
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
                by_delta.times(&prepared.at[l].delta).times(&N::one().minus(&tanh.times(tanh)));
        }
        delta = delta.summed(angles);
        of_delta[l] = if head.delta_softplus { delta.times(&prepared.at[l].raw.sigmoid()) } else { delta };
    }
    let summed = |values: &[N], width: usize| -> Vec<N> {
        let of = |at| values.iter().skip(at).step_by(width).fold(N::zero(), |sum, value| sum.joined(value));
        (0..width).map(|at| of(at).summed(values.len() / width)).collect()
    };
    let all = [
        (Input::U, sums.u),
        (Input::A, vec![of_a.summed(len)]),
        (Input::Adt, of_rate),
        (Input::Lambda, of_lambda),
        (Input::Trap, of_trap),
        (Input::BBias, summed(&sums.b, states)),
        (Input::CBias, summed(&sums.c, states)),
        (Input::B, sums.b),
        (Input::C, sums.c),
        (Input::Angles, of_tanh),
        (Input::D, vec![sums.skip]),
        (Input::Z, sums.z),
        (Input::DeltaBias, summed(&of_delta, 1)),
        (Input::Delta, of_delta),
        (Input::InitialState, sums.initial_state),
        (Input::InitialAngle, of_theta.into_iter().map(|theta| theta.summed(2 * len)).collect()),
        (Input::InitialB, sums.b_before),
        (Input::InitialU, sums.initial_u),
    ];
    all.into_iter().filter(|(name, _)| head.inputs.get(*name).is_some()).collect()
}

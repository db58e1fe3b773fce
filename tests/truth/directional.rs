//! The derivative of a loss along one direction of the inputs, by a scan of dual numbers: each value goes with its own
//! derivative, forward and without an adjoint. One direction costs a scan, so that this is for small problems, where it holds
//! [`holdfast::truth::gradient::solve`] to account.

use holdfast::formula::ReadsNow;
use holdfast::problem::{OutputGradients, Problem, Weights};
use holdfast::tensor::{GradientName, Named};
use holdfast::truth::gradient::rules::Rules;
use holdfast::truth::number::elementary::{Exponent, exp_by_halving, softplus_by_halley};
use holdfast::truth::number::scalar::Real;
use holdfast::truth::number::wide::Wide;
use nalgebra::Complex;
use num_traits::{One, Zero};

/// How the inputs move: by name, in the layouts of the inputs. What is left out stays.
pub type Direction = Named<Vec<f64>, GradientName>;

/// A number and its derivative along the direction.
#[derive(Clone, Copy)]
struct Moving<T> {
    value: T,
    by: T,
}

impl<T: Exponent> Moving<T> {
    fn zero() -> Self {
        Moving { value: T::zero(), by: T::zero() }
    }

    fn plus(self, other: Self) -> Self {
        Moving { value: self.value + other.value, by: self.by + other.by }
    }

    fn times(self, other: Self) -> Self {
        Moving { value: self.value * other.value, by: self.by * other.value + self.value * other.by }
    }

    fn over(self, other: Self) -> Self {
        let value = self.value / other.value;
        Moving { value, by: (self.by - value * other.by) / other.value }
    }
}

/// ⟨dout, J v⟩ + Re⟨dlast_state, J v⟩ for the Jacobian J of a form's scan and the direction v. Nothing is certified.
pub fn derivative(problem: &Problem, given: &OutputGradients, form: ReadsNow, along: &Direction) -> Wide {
    let of = |channel| match problem.weights {
        Weights::Real => by_channel::<Wide>(problem, given, form, along, channel),
        Weights::Complex => by_channel::<Complex<Wide>>(problem, given, form, along, channel),
    };
    problem.channels().map(of).fold(Wide::zero(), |sum, share| sum + share)
}

fn by_channel<T: Exponent<Part = Wide>>(
    p: &Problem,
    given: &OutputGradients,
    form: ReadsNow,
    along: &Direction,
    at: (usize, usize),
) -> Wide {
    use GradientName::{A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
    let len = p.shape.seqlen;
    let moves = |name: GradientName, i: usize| Wide::exact(along.get(name).map_or(0.0, |values| values[i]));
    let real = |name: GradientName, values: &[f32], i: usize| Moving {
        value: Wide::from(values[i]),
        by: moves(name, i),
    };
    let optional = |name, values: &Option<Vec<f32>>| {
        values.as_ref().map_or(Moving::zero(), |values| real(name, values, at.1))
    };
    let weight = |name: GradientName, values: &[f32], i: usize| {
        let last = i + T::WIDTH - 1;
        Moving {
            value: T::entry_from_parts(Wide::from(values[i]), Wide::from(values[last])),
            by: T::entry_from_parts(moves(name, i), moves(name, last)),
        }
    };
    let lift = |x: Moving<Wide>| Moving { value: T::from_real(x.value), by: T::from_real(x.by) };
    let place = |l: usize| p.sequence_index(at.0, at.1, l);
    let exp = |x: Moving<Wide>| {
        let value = exp_by_halving(x.value);
        Moving { value, by: value * x.by }
    };
    let one = Moving { value: Wide::one(), by: Wide::zero() };
    let unit = Moving { value: T::one(), by: T::zero() };
    let u: Vec<Moving<Wide>> = (0..len).map(|l| real(U, &p.u, place(l))).collect();
    let bias = optional(DeltaBias, &p.delta_bias);
    let delta = |l: usize| {
        let raw = real(Delta, &p.delta, place(l)).plus(bias);
        // eˢ = 1 + eˣ, so s′ eˢ = x′ eˣ.
        let above = exp(raw);
        let by = above.by / above.plus(one).value;
        let step = if p.delta_softplus { Moving { value: softplus_by_halley(raw.value), by } } else { raw };
        let stays = |limit: f32| Moving { value: Wide::exact(f64::from(limit)), by: Wide::zero() };
        let sign = |limit: f32| {
            if limit.is_finite() {
                (step.value - stays(limit).value).to_nearest_f64()
            } else {
                -f64::from(limit)
            }
        };
        match p.conventions.limit.ends() {
            [low, _] if sign(low) < 0.0 => stays(low),
            [_, high] if sign(high) > 0.0 => stays(high),
            _ => step,
        }
    };
    let deltas: Vec<Moving<Wide>> = (0..len).map(delta).collect();

    let mut y = vec![Moving::<Wide>::zero(); len];
    let mut loss = Wide::zero();
    for n in 0..p.shape.dstate {
        let a = weight(A, &p.a, p.weight_index(at.1, n));
        let b = |l| weight(B, &p.b, p.operand_index(p.b_operand, at, n, l));
        let c = |l| weight(C, &p.c, p.operand_index(p.c_operand, at, n, l));
        let step = |l: usize| {
            let delta = deltas[l];
            let step = (Rules::<T>::literal().step)(form, &delta.value, &a.value);
            let step = step.expect("no literal step of a number fails");
            let moved = |value: T, by: [T; 2]| Moving { value, by: by[0].scale(delta.by) + by[1] * a.by };
            let forcing = moved(step.b_bar, step.b_bar_by)
                .times(if p.reads_with_b() { unit } else { b(l) })
                .times(lift(u[l]));
            (moved(step.a_bar, step.a_bar_by), forcing)
        };
        let steps: Vec<_> = (0..len).map(step).collect();
        let mut visit = |l: usize, x: Moving<T>| {
            let next = steps[l].0.times(x).plus(steps[l].1);
            let mut read = c(l).times(if p.reads_before() { x } else { next });
            if p.reads_with_b() {
                read = read.times(b(l));
            }
            y[l] = y[l].plus(Moving { value: read.value.part(0), by: read.by.part(0) });
            next
        };
        let state = p.state_index(at, n);
        let initial = p.initial_state.as_ref().map(|values| weight(InitialState, values, state));
        let last = (0..len).fold(initial.unwrap_or(Moving::zero()), |x, l| visit(l, x));
        if form.is_bidirectional() {
            (0..len).rev().fold(Moving::zero(), |x, l| visit(l, x));
        }
        if let Some(values) = &given.dlast_state {
            let parts = (0..T::WIDTH).map(|i| Wide::from(values[state + i]) * last.by.part(i));
            loss = parts.fold(loss, |sum, part| sum + part);
        }
    }
    let factor = p.output_factor() / if form.is_bidirectional() { 2.0 } else { 1.0 };
    let factor = Moving { value: Wide::exact(factor), by: Wide::zero() };
    let skip = optional(D, &p.d);
    for l in 0..len {
        let mut out = y[l].times(factor).plus(skip.times(u[l]));
        if let Some(gate) = &p.z {
            let z = real(Z, gate, place(l));
            let falling = exp(Moving { value: -z.value, by: -z.by });
            out = out.times(z.over(one.plus(falling)));
        }
        loss += Wide::from(given.dout[place(l)]) * out.by;
    }
    loss
}

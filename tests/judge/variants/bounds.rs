//! What a state may be off, term by term: terms of second order are lost among the others in any sum of bounds.

use holdfast::judge::faults::around::{Carry, Chunks, Decay, Pad, Raised, Stage, Steps};
use holdfast::judge::faults::variant::{LastState, Variant};
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, Problem, Weights};
use holdfast::promise::allowance::{COEFFICIENT, HALF_SUBNORMAL, SUM, U, product, scan_joins};
use num_complex::Complex64;

use super::{assert_near, changed, channel_of, last_state, out, run};
use crate::cases::each;

/// A number, and what it may be off.
#[derive(Clone, Copy)]
struct Off {
    value: Complex64,
    error: f64,
}

const ONE: Off = Off { value: Complex64::ONE, error: 0.0 };

/// A state, what it may be off, and Σ |…| of what it is the sum of.
#[derive(Clone, Copy)]
struct State {
    at: Off,
    size: f64,
    /// The largest state so far, with its error, and at least 1: products of Ā alone may have underflowed beside it.
    largest: f64,
}

impl State {
    fn new(x: Complex64) -> State {
        State { at: Off { value: x, error: 0.0 }, size: x.norm(), largest: x.norm().max(1.0) }
    }

    /// x → a x + b: a product and a sum round, an input is joined to the earlier ones, and what underflows is lost.
    fn step(self, a: Off, b: Off, (mu, joins): (f64, f64)) -> State {
        let growth = (1.0 + mu) * (1.0 + SUM);
        let moved = a.error * growth + a.value.norm() * (growth - 1.0);
        let underflow = if self.size > 0.0 { 2.0 * HALF_SUBNORMAL * self.largest } else { 0.0 };
        let error = (a.value.norm() + a.error) * growth * self.at.error
            + moved * self.size
            + b.error
            + b.error * joins
            + joins * b.value.norm()
            + underflow;
        let size = a.value.norm() * self.size + b.value.norm();
        let at = Off { value: a.value * self.at.value + b.value, error };
        State { at, size, largest: self.largest.max(size + error) }
    }

    /// What is carried beside a chunk's own state, multiplied with Ā.
    fn times(self, a: Off) -> State {
        let (size, eight) = (a.value.norm(), 8.0 * U);
        let error = (size + a.error) * (1.0 + eight) * self.at.error + (a.error + eight * size) * self.size;
        State {
            at: Off { value: self.at.value * a.value, error },
            size: self.size * size,
            largest: self.largest,
        }
    }

    /// One sum more.
    fn plus(self, other: State) -> State {
        let size = self.size + other.size;
        let error = self.at.error + other.at.error + SUM * size;
        State { at: Off { value: self.at.value + other.at.value, error }, size, largest: self.largest }
    }
}

/// Ā of zoh: the exponential's contract, and |z| times what z is off. Δ is off by one rounding, which counts twice, and the
/// product by one more.
fn a_bar(z: Complex64) -> Off {
    let value = z.exp();
    Off { value, error: value.norm() * (COEFFICIENT + z.norm() * (U + 2.0 * U)) }
}

/// B̄u of zoh.
fn b_u(z: Complex64, delta: f64, b: Complex64, u: f64, mu: f64) -> Off {
    let (value, half) = (b * delta * u, z / 2.0);
    let of_inverse = half.norm() * (1.0 / (1.0 - half).norm() + 1.0 / (1.0 + half).norm());
    let relative = COEFFICIENT + (U + U) * (9.0 + z.norm() + of_inverse);
    let vanished = if value == Complex64::ZERO { 0.0 } else { 4.0 * HALF_SUBNORMAL };
    Off { value, error: value.norm() * (relative + 4.0 * mu) + vanished }
}

const DELTA: [f32; 5] = [0.25, 0.5, 1.5, 0.125, 0.75];
const INPUT: [f32; 5] = [0.5, -1.25, 0.0, 2.0, -0.75];

/// One state that starts from something.
fn problem(weights: Weights) -> Problem {
    let mut problem = channel_of(&[-0.75], &DELTA);
    problem.u = INPUT.to_vec();
    (problem.b, problem.c, problem.initial_state) = (vec![1.5], vec![-0.5], Some(vec![3.0]));
    if weights == Weights::Complex {
        problem.weights = weights;
        (problem.a, problem.b) = (vec![-0.75, 2.0], vec![1.5, -0.25]);
        (problem.c, problem.initial_state) = (vec![-0.5, 0.75], Some(vec![3.0, -1.0]));
    }
    problem
}

/// Its first number.
fn weight(weights: Weights, values: &[f32]) -> Complex64 {
    let im = if weights == Weights::Complex { values[1] } else { 0.0 };
    Complex64::new(values[0].into(), im.into())
}

/// A problem with what happens at each of its steps.
struct Stepped {
    problem: Problem,
    a: Vec<Off>,
    b: Vec<Off>,
    start: State,
    roundings: (f64, f64),
}

fn stepped(weights: Weights) -> Stepped {
    let problem = problem(weights);
    let mu = product(weights);
    let (a, b) = (weight(weights, &problem.a), weight(weights, &problem.b));
    let z = |l: usize| a * f64::from(DELTA[l]);
    let input = |l: usize| b_u(z(l), f64::from(DELTA[l]), b, f64::from(INPUT[l]), mu);
    let start = problem.initial_state.as_ref().map_or(Complex64::ZERO, |x| weight(weights, x));
    Stepped {
        a: (0..DELTA.len()).map(|l| a_bar(z(l))).collect(),
        b: (0..DELTA.len()).map(input).collect(),
        start: State::new(start),
        // Of five positions: the levels of a tree over eight, and four more.
        roundings: (mu, 7.0 * SUM),
        problem,
    }
}

impl Stepped {
    /// The states after each step.
    fn states(&self) -> Vec<State> {
        let mut x = self.start;
        (0..self.a.len())
            .map(|l| {
                x = x.step(self.a[l], self.b[l], self.roundings);
                x
            })
            .collect()
    }

    #[track_caller]
    fn assert_last(&self, variant: &Variant, want: State) {
        let channel = run(variant, &self.problem);
        let row = last_state(&channel);
        assert_near(&[row.values[0]], &[want.at.value.re]);
        assert_near(&row.bound, &[want.at.error + HALF_SUBNORMAL]);
    }
}

#[test]
fn a_scan_joins_as_many_levels_as_a_tree_has_and_four_more() {
    assert_eq!(scan_joins(5) * SUM, stepped(Weights::Real).roundings.1);
}

#[test]
fn a_state_and_what_is_read_of_it_are_off_by_what_each_step_adds() {
    each([Weights::Real, Weights::Complex], |weights: Weights| {
        let stepped = stepped(weights);
        let (mu, states) = (product(weights), stepped.states());
        let variant = Variant::specified(Method::Zoh);
        stepped.assert_last(&variant, states[4]);
        let c = weight(weights, &stepped.problem.c);
        // Twice the real part of complex numbers; each part of a state is added, and may underflow.
        let (scale, parts) = if weights == Weights::Complex { (2.0, 2.0) } else { (1.0, 1.0) };
        let output = |x: &State| {
            let magnitude = c.norm() * (x.at.value.norm() + x.at.error);
            let read = (mu * (1.0 + U) + parts * SUM) * magnitude + 2.0 * HALF_SUBNORMAL * parts;
            let bound = scale * (c.norm() * x.at.error + read);
            let value = scale * (c * x.at.value).re;
            (value, bound + 2.0 * SUM * (value.abs() + bound) + HALF_SUBNORMAL)
        };
        let (values, bounds): (Vec<f64>, Vec<f64>) = states.iter().map(output).unzip();
        let channel = run(&variant, &stepped.problem);
        assert_near(&out(&channel).values, &values);
        assert_near(&out(&channel).bound, &bounds);
    });
}

/// Ā = 0: all that is left of a state is that a product may have underflowed beside it.
#[test]
fn a_state_that_has_decayed_to_0_may_be_a_subnormal_number() {
    let cases: [(&str, f32, f64); 2] = [("of at least one", 0.5, 1.0), ("of what it starts from", 8.0, 8.0)];
    each(cases, |(_, start, largest)| {
        let mut problem = channel_of(&[-1000.0], &[1.0, 1.0]);
        problem.u.fill(0.0);
        let variant = Variant::specified(Method::Zoh);
        // Nothing underflows of nothing.
        assert_eq!(last_state(&run(&variant, &problem)).bound, [HALF_SUBNORMAL]);
        problem.initial_state = Some(vec![start]);
        let of_one = channel_of(&[-1000.0], &[1.0]);
        let of_one = Problem { u: vec![0.0], initial_state: problem.initial_state.clone(), ..of_one };
        let channel = run(&variant, &of_one);
        assert_eq!(last_state(&channel).values, [0.0]);
        assert_near(&last_state(&channel).bound, &[(2.0 * largest + 1.0) * HALF_SUBNORMAL]);
        // One step later there is nothing left that could.
        assert_eq!(last_state(&run(&variant, &problem)).bound, [HALF_SUBNORMAL]);
    });
}

#[test]
fn a_product_may_underflow_beside_the_largest_state_that_there_has_been() {
    let mut problem = channel_of(&[-1000.0], &[1.0, 1.0]);
    problem.u = vec![16.0, 0.0];
    let channel = run(&Variant::specified(Method::Zoh), &problem);
    let bound = last_state(&channel).bound[0] / HALF_SUBNORMAL;
    assert!((33.0..33.01).contains(&bound), "{bound}");
}

#[test]
fn a_last_state_after_padding_is_off_by_what_each_position_adds() {
    each([Pad::LastStep, Pad::LastPosition], |pad: Pad| {
        let stepped = stepped(Weights::Real);
        let mut x = stepped.states()[4];
        let (a, b) = (stepped.a[4], stepped.b[4]);
        let b = if pad == Pad::LastPosition { b } else { Off { value: Complex64::ZERO, error: 0.0 } };
        for _ in 0..3 {
            let (size, a_abs) = (x.at.value.norm() + x.at.error, a.value.norm());
            let error = (a_abs + a.error) * x.at.error
                + (a.error + U * a_abs) * size
                + b.error
                + SUM * (a_abs * size + b.value.norm());
            x.at = Off { value: a.value * x.at.value + b.value, error };
        }
        let variant = changed(Method::Zoh, |v| v.last_state = LastState::Padded(3, pad));
        stepped.assert_last(&variant, x);
    });
}

#[test]
fn a_last_state_without_its_input_is_the_one_before_times_a_bar() {
    let stepped = stepped(Weights::Real);
    let before = stepped.states()[3];
    let want = State { size: before.at.value.norm(), ..before }.times(stepped.a[4]);
    stepped.assert_last(&changed(Method::Zoh, |v| v.last_state = LastState::WithoutInput), want);
}

/// Chunks of three: what the second one is given decays on its own from position 3 on.
#[test]
fn what_is_carried_is_off_by_each_step_that_it_decays_by() {
    let cases: [(&str, Carry, &[usize]); 8] = [
        ("all that there is", Carry::FirstPositionOnly, &[3]),
        ("without the first step", decayed(Steps::WithoutFirst), &[4]),
        ("by all steps before", decayed(Steps::Exclusive), &[3]),
        ("by the step before", decayed(Steps::OneBefore), &[2, 3, 4]),
        ("by the first step twice", decayed(Steps::FirstTwice), &[3, 3, 4]),
        ("by its own step", decayed(Steps::OwnAlone), &[4]),
        ("by one step more", decayed(Steps::OneMore), &[3, 4]),
        ("by nothing", decayed(Steps::Nothing), &[]),
    ];
    each(cases, |(_, carry, steps)| {
        let stepped = stepped(Weights::Real);
        let given = stepped.states()[2];
        let mut own = State { largest: given.largest, ..State::new(Complex64::ZERO) };
        for l in 3..5 {
            own = own.step(stepped.a[l], stepped.b[l], stepped.roundings);
        }
        let carried = steps.iter().fold(given, |x, l| x.times(stepped.a[*l]));
        // Behind the last position there is no step more; one that reaches the first position only is 0 behind it.
        let carried = match carry {
            Carry::FirstPositionOnly => State::new(Complex64::ZERO),
            Carry::Decayed(Decay { steps: Steps::OneMore, .. }) => {
                given.times(stepped.a[3]).times(stepped.a[4]).times(ONE)
            }
            _ => carried,
        };
        let variant = changed(Method::Zoh, |v| v.chunks = Some(Chunks::new(3, carry)));
        stepped.assert_last(&variant, carried.plus(own));
    });
}

fn decayed(steps: Steps) -> Carry {
    Carry::Decayed(Decay { steps, passed_right: false, last_right: false })
}

/// An input decayed by the steps before it: the product of these is off, too.
#[test]
fn inputs_decayed_by_the_steps_before_them_are_off_by_their_product() {
    let stepped = stepped(Weights::Real);
    let growth = (1.0 + U) * (1.0 + SUM);
    let (mut given, mut x, mut product) = (stepped.start, State::new(Complex64::ZERO), ONE);
    x.largest = given.largest;
    for (a, b) in stepped.a.iter().copied().zip(stepped.b.iter().copied()) {
        let (a_abs, size) = (a.value.norm(), product.value.norm());
        let error = (size + product.error) * b.error + (product.error + U * size) * b.value.norm();
        x = x.step(ONE, Off { value: b.value * product.value, error }, stepped.roundings);
        product = Off {
            value: product.value * a.value,
            error: (a_abs + a.error) * growth * product.error + (a.error + U * a_abs) * size,
        };
        given = given.times(a);
    }
    stepped.assert_last(&changed(Method::Zoh, |v| v.exchanged = Some(8)), given.plus(x));
}

/// P/(P + ε) and P/max(P, ε) of each input, with the errors that the product has gathered.
#[test]
fn inputs_divided_by_raised_products_are_off_by_their_product() {
    let cases: [(&str, Raised, fn(f64) -> f64); 2] = [
        ("added", Raised::Added(0.25), |p: f64| p + 0.25),
        ("at least", Raised::AtLeast(0.375), |p: f64| p.max(0.375)),
    ];
    each(cases, |(_, raised, below)| {
        let stepped = stepped(Weights::Real);
        let growth = (1.0 + U) * (1.0 + SUM);
        let (mut x, mut product) = (stepped.start, ONE);
        for (a, b) in stepped.a.iter().copied().zip(stepped.b.iter().copied()) {
            let a_abs = a.value.norm();
            product = Off {
                value: product.value * a.value,
                error: (a_abs + a.error) * growth * product.error
                    + (a.error + U * a_abs) * product.value.norm(),
            };
            let (size, least) = (product.value.norm(), below(product.value.norm()));
            let (factor, relative) = (size / least, product.error / least);
            let error = factor * (b.error + (2.0 * relative + 4.0 * U) * b.value.norm());
            x = x.step(a, Off { value: b.value * factor, error }, stepped.roundings);
        }
        stepped.assert_last(&changed(Method::Zoh, |v| v.raised = raised), x);
    });
}

/// B u next to a tie may be rounded either way, but where both are exact in 16 bits, which a constant B, in f32, is not.
#[test]
fn a_narrow_product_next_to_a_tie_may_go_either_way() {
    let cases: [(&str, InputType, Operand, f64); 3] = [
        ("rounded before", InputType::F32, Operand::Variable, 1.0),
        ("exact", InputType::F16, Operand::Variable, 0.0),
        ("of a constant b", InputType::F16, Operand::Constant, 1.0),
    ];
    each(cases, |(_, input, b, ways)| {
        let last_place: f64 = 1.0 / 1024.0;
        let mut problem = channel_of(&[-0.5], &[0.5]);
        (problem.input, problem.b_operand) = (input, b);
        // 1.5 and one and a half of the last place, half way between two numbers.
        (problem.b, problem.u) = (vec![1.5], vec![1.0 + last_place as f32]);
        let variant = changed(Method::Zoh, |v| v.stages[Stage::DrivenB as usize] = InputType::F16);
        let channel = run(&variant, &problem);
        let z = Complex64::from(-0.25);
        let right = b_u(z, 0.5, Complex64::from(1.5), 1.0 + last_place, U);
        // To the even one of both.
        let value = 0.5 * (1.5 + 2.0 * last_place);
        assert_near(&last_state(&channel).values, &[value]);
        // The imaginary part, which is 0, is next to a tie of subnormal numbers.
        let error = right.error + 0.5 * ways * last_place.hypot(2.0 * U);
        let joins = 4.0 * SUM;
        let want = error * (1.0 + joins) + joins * value + HALF_SUBNORMAL;
        assert_near(&last_state(&channel).bound, &[want]);
    });
}

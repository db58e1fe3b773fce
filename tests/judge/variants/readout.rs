//! Skip, gate, finish and store of outputs, and what these may be off, where the numbers are those that one term alone decides.

use holdfast::judge::faults::around::{Finish, GateFunction, Gated, Residual};
use holdfast::judge::faults::variant::Variant;
use holdfast::judge::ulp::Format;
use holdfast::method::Method;
use holdfast::problem::conventions::Reads;
use holdfast::problem::{InputType, Problem};
use holdfast::promise::allowance::{GATE, HALF_SUBNORMAL, SUM, U};

use super::{assert_near, changed, channel_of, out, run};
use crate::cases::{crossed, each};

/// As small as what is lost of it: its error is no smaller than the number itself.
const SUBNORMAL: f32 = 4.2e-45;

/// One output that is the skip alone, as C is 0; what is read of the state may have underflowed all the same.
fn skipped(u: f32, z: Option<f32>) -> Problem {
    let mut problem = channel_of(&[-1.0], &[0.5]);
    (problem.u, problem.c) = (vec![u], vec![0.0]);
    (problem.d, problem.z) = (Some(vec![1.0]), z.map(|z| vec![z]));
    problem
}

/// A skip of this size and a readout of 0, before the gate.
fn before_gate(size: f64) -> f64 {
    let read = 2.0 * HALF_SUBNORMAL;
    read + 2.0 * SUM * (size + read)
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// What multiplies the skip, how steep the gate is, and what has cancelled in it.
struct Slope {
    factor: f64,
    steepest: f64,
    cancelled: f64,
}

/// Of silu(z) times what is returned, and of z times silu of that: its slope exceeds a sigmoid by 0.3 at most.
fn slope(gate: GateFunction, z: f64, u: f64) -> Slope {
    let factor = z * sigmoid(if gate == GateFunction::OfOutput { u } else { z });
    let steepest = factor.abs() + if gate == GateFunction::OfOutput { 0.3 * z.abs() } else { 0.0 };
    Slope { factor, steepest, cancelled: 0.0 }
}

#[track_caller]
fn assert_gated(variant: &Variant, u: f32, z: f32, slope: &Slope) {
    let (size, z_given) = (f64::from(u).abs(), f64::from(z));
    let bound = before_gate(size);
    let gated = slope.steepest * (bound + 2.0 * GATE * (size + bound)) + slope.cancelled * (size + bound);
    let subnormal = if z == 0.0 { 0.0 } else { 2.0 * HALF_SUBNORMAL };
    let gated = gated + subnormal * (size + gated);
    // Where the exponential may overflow, all of it may be lost.
    let lost = if z_given < -87.0 { slope.factor.abs() } else { 0.0 };
    let want = gated + lost * (size + gated) + HALF_SUBNORMAL;
    let channel = run(variant, &skipped(u, Some(z)));
    assert_near(&out(&channel).values, &[f64::from(u) * slope.factor]);
    assert_near(&out(&channel).bound, &[want]);
}

#[test]
fn a_gated_output_is_off_by_what_it_was_and_by_the_gate() {
    each(
        crossed(
            crossed([GateFunction::Silu, GateFunction::OfOutput], [0.0, SUBNORMAL, -SUBNORMAL, 1.0, -3.0]),
            [0.0, 1.5, -2.0, -80.0, -87.0, -87.5, -90.0, -100.0],
        ),
        |((gate, u), z): ((GateFunction, f32), f32)| {
            let variant = changed(Method::Zoh, |v| v.gate = gate);
            assert_gated(&variant, u, z, &slope(gate, z.into(), u.into()));
        },
    );
}

/// exp(90) is within f32, exp of a little more is not: the gate may be 0, and all that is returned lost.
#[test]
fn a_gate_that_may_underflow_bounds_what_is_lost() {
    each([-87.5, -90.0, -100.0], |z: f32| {
        let channel = run(&Variant::specified(Method::Zoh), &skipped(1.0, Some(z)));
        let (value, bound) = (out(&channel).values[0].abs(), out(&channel).bound[0]);
        assert!(value <= bound && bound < 1.001 * value + 1e-44, "{value:e} {bound:e}");
    });
}

/// Far below 0 the error function and tanh are −1 but for a rounding, however small their sum with 1 is.
#[test]
fn a_gate_that_is_a_difference_is_off_where_that_cancels() {
    let cases: [GateFunction; 2] = [GateFunction::Gelu, GateFunction::GeluByTanh];
    each(cases, |gate| {
        let z = -12.0_f32;
        let variant = changed(Method::Zoh, |v| v.gate = gate);
        let factor = gate.of(z.into(), 0.0, 0.0);
        assert!(factor.abs() < 1e-12, "{factor:e}");
        for u in [0.0, SUBNORMAL, 1.0] {
            let slope = Slope { factor, steepest: factor.abs(), cancelled: 2.0 * U * 12.0 };
            assert_gated(&variant, u, z, &slope);
        }
    });
}

/// What the gate leaves as it is, is as far off behind it as before.
#[test]
fn what_is_not_gated_is_not_made_smaller() {
    let cases: [(&str, Gated, f64, f64); 4] = [
        ("of all", Gated::All, 0.0, 1.0),
        ("of the readout", Gated::Readout, 1.0, 0.0),
        ("of the skip", Gated::Skip, 0.0, 1.0),
        ("of forward and skip", Gated::ForwardAndSkip, 0.0, 1.0),
    ];
    each(crossed(cases, [SUBNORMAL, 2.0]), |((_, gated, beside, multiplied), u): (_, f32)| {
        let z = -3.0_f64;
        let variant = changed(Method::Zoh, |v| v.gated = gated);
        let channel = run(&variant, &skipped(u, Some(-3.0)));
        let factor = z * sigmoid(z);
        let size = f64::from(u);
        assert_near(&out(&channel).values, &[size * (beside + multiplied * factor)]);
        let bound = before_gate(size);
        let widest = if beside == 0.0 { factor.abs() } else { 1.0 };
        let bound = widest * (bound + 2.0 * GATE * (size + bound));
        assert_near(&out(&channel).bound, &[bound + 2.0 * HALF_SUBNORMAL * (size + bound) + HALF_SUBNORMAL]);
    });
}

/// u itself beside the skip is part of what is gated; behind the gate it is one sum more.
#[test]
fn a_residual_is_one_sum_more() {
    let cases: [(&str, Residual); 2] = [("before", Residual::BeforeGate), ("after", Residual::AfterGate)];
    each(
        crossed(crossed(cases, [None, Some(-2.0)]), [SUBNORMAL, -1.5]),
        |(((_, residual), z), u): ((_, Option<f32>), f32)| {
            let variant = changed(Method::Zoh, |v| v.residual = residual);
            let channel = run(&variant, &skipped(u, z));
            let u = f64::from(u);
            let (skip, added) = if residual == Residual::BeforeGate { (2.0 * u, 0.0) } else { (u, u) };
            let size = skip.abs();
            let mut bound = before_gate(size);
            let mut value = skip;
            if let Some(z) = z {
                let factor = f64::from(z) * sigmoid(z.into());
                value *= factor;
                bound = factor.abs() * (bound + 2.0 * GATE * (size + bound));
                bound += 2.0 * HALF_SUBNORMAL * (size + bound);
            }
            value += added;
            bound += 2.0 * SUM * (value.abs() + added.abs() + size);
            assert_near(&out(&channel).values, &[value]);
            assert_near(&out(&channel).bound, &[bound + HALF_SUBNORMAL]);
        },
    );
}

/// No slope is above 1.1, and what is applied to an output at last is off by as much as a gate.
#[test]
fn a_finished_output_is_off_by_the_slope_and_by_its_own_roundings() {
    let cases: [(Finish, fn(f64) -> f64); 5] = [
        (Finish::Tanh, f64::tanh),
        (Finish::Relu, |x: f64| x.max(0.0)),
        (Finish::Silu, |x: f64| x * sigmoid(x)),
        (Finish::Sigmoid, sigmoid),
        (Finish::Clipped(0.5), |x: f64| x.clamp(-0.5, 0.5)),
    ];
    each(crossed(cases, [SUBNORMAL, -0.75, 2.0]), |((finish, function), u): (_, f32)| {
        let channel = run(&changed(Method::Zoh, |v| v.finish = finish), &skipped(u, None));
        let value = function(u.into());
        let before = before_gate(f64::from(u).abs()) + HALF_SUBNORMAL;
        assert_near(&out(&channel).values, &[value]);
        assert_near(&out(&channel).bound, &[1.1 * before + 2.0 * GATE * value.abs()]);
    });
}

/// Half of the last place of what it may be; or, where it is cut off, as far as the error reaches over numbers of the type.
#[test]
fn a_stored_output_is_rounded_or_cut_off() {
    each(
        crossed([InputType::F16, InputType::Bf16], [1.0, 1.3, 1.5, 1.999, -2.0]),
        |(input, u): (InputType, f32)| {
            let problem = Problem { input, ..skipped(u, None) };
            let format = Format::for_input(input);
            let (value, error) = (f64::from(u), before_gate(f64::from(u).abs()) + HALF_SUBNORMAL);
            let channel = run(&Variant::specified(Method::Zoh), &problem);
            assert_near(&out(&channel).values, &[value]);
            assert_near(&out(&channel).bound, &[error + 0.5 * format.ulp(value.abs() + error)]);
            let channel = run(&changed(Method::Zoh, |v| v.store_truncated = true), &problem);
            let ulp = format.ulp(value);
            let stored = (value / ulp).trunc() * ulp;
            assert_near(&out(&channel).values, &[stored]);
            // A number of the type itself may be a little less, and be cut off to the one before: nearer to 0, whatever its sign.
            let reaches = if stored != value {
                0.0
            } else if value == 1.0 || value == -2.0 {
                // Below a power of two they are half as far apart.
                ulp / 2.0
            } else {
                ulp
            };
            assert_near(&out(&channel).bound, &[reaches]);
        },
    );
}

/// In f32 nothing is cut off.
#[test]
fn an_output_in_f32_is_stored_as_it_is() {
    let of = |variant: &Variant| out(&run(variant, &skipped(1.3, None))).clone();
    let [right, cut_off] = [false, true].map(|is| of(&changed(Method::Zoh, |v| v.store_truncated = is)));
    assert_eq!((right.values, right.bound), (cut_off.values, cut_off.bound));
}

/// D times what is read, in place of D u: 1 + D, which may cancel.
#[test]
fn a_skip_of_what_is_read_is_a_product_and_a_sum() {
    let cases: [(f32, f64); 2] = [(1.0, 2.0), (-0.9375, 0.0625)];
    each(cases, |(d, factor)| {
        let start = 2.0_f32;
        let mut problem = channel_of(&[-1.0], &[0.5]);
        problem.conventions.reads = Reads::BeforeUpdate;
        (problem.initial_state, problem.d) = (Some(vec![start]), Some(vec![d]));
        let channel = run(&changed(Method::Zoh, |v| v.skip_of_readout = true), &problem);
        let value = 2.0 * factor;
        let scaled = 2.0 * U * (1.0 + f64::from(d).abs()) / factor;
        let read = (U * (1.0 + U) + SUM + scaled) * 2.0 + 2.0 * HALF_SUBNORMAL;
        let bound = factor * read;
        assert_near(&out(&channel).values, &[value]);
        assert_near(&out(&channel).bound, &[bound + 2.0 * SUM * (value + bound) + HALF_SUBNORMAL]);
    });
}

/// A factor on what is read rounds twice more.
#[test]
fn a_scaled_readout_is_off_by_two_roundings_more() {
    let mut problem = channel_of(&[-1.0], &[0.5]);
    problem.conventions.reads = Reads::BeforeUpdate;
    problem.initial_state = Some(vec![2.0]);
    let channel = run(&changed(Method::Zoh, |v| v.readout_factor = -0.75), &problem);
    let bound = 0.75 * ((U * (1.0 + U) + SUM + 2.0 * U) * 2.0 + 2.0 * HALF_SUBNORMAL);
    assert_near(&out(&channel).values, &[-1.5]);
    assert_near(&out(&channel).bound, &[bound + 2.0 * SUM * (1.5 + bound) + HALF_SUBNORMAL]);
}

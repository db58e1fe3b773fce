//! Where alone a change holds, what is specified elsewhere, and the roundest number of an interval.

use holdfast::judge::faults::around::{
    Carry, Chunks, Delay, ExponentSums, Finish, Flips, GateFunction, Gated, Guarded, Initial, Limited,
    NO_RESETS, Raised, Residual, Stage, UUse,
};
use holdfast::judge::faults::complex::{OfComplex, Way};
use holdfast::judge::faults::only::{Every, Only, roundest};
use holdfast::judge::faults::place::{Input, Map};
use holdfast::judge::faults::variant::{
    BUse, Directions, Group, LastState, Power, Readout, Reversed, Tail, Variant,
};
use holdfast::method::Method;
use holdfast::problem::InputType;
use num_complex::Complex64;

use super::changed;
use crate::cases::each;

#[test]
fn some_indices_of_an_axis() {
    let cases: [(Every, &[usize]); 5] = [
        (Every::Of { length: 3, at: 1 }, &[1, 4, 7]),
        (Every::Of { length: 1, at: 0 }, &[0, 1, 2, 3, 4, 5, 6, 7]),
        (Every::one(5), &[5]),
        (Every::From(5), &[5, 6, 7]),
        (Every::Below(2), &[0, 1]),
    ];
    each(cases, |(every, want)| {
        let got: Vec<usize> = (0..8).filter(|i| every.has(*i)).collect();
        assert_eq!(got, want);
    });
}

/// Of state 1 and position 4, of state 4 and position 1: whether it moves, is read and is returned as changed. There |z| is 1.
#[test]
fn a_change_holds_here() {
    let cases: [(Only, [bool; 3], [bool; 3]); 8] = [
        (Only::Everywhere, [true, true, true], [true, true, true]),
        (Only::Positions(Every::one(4)), [true, true, true], [false, false, false]),
        (Only::Reads(Every::one(4)), [true, true, true], [true, false, false]),
        (Only::States(Every::one(4)), [false, false, true], [true, true, true]),
        (Only::Below(Guarded::Z, 1.0), [false, true, true], [false, true, true]),
        (Only::Below(Guarded::Z, 1.5), [true, true, true], [true, true, true]),
        (Only::Above(Guarded::Z, 1.0), [true, true, true], [true, true, true]),
        (Only::Above(Guarded::Z, 1.5), [false, true, true], [false, true, true]),
    ];
    each(cases, |(only, first, second)| {
        let step = || (0.5, Complex64::new(-2.0, 0.0));
        let holds = |n, l| [only.holds((n, l), step), only.reads(n, l), only.has_output(l)];
        assert_eq!((holds(1, 4), holds(4, 1)), (first, second));
    });
}

/// Every part of a scan that is about how states are carried, or about all positions and states together.
fn carried(v: &mut Variant) {
    v.bidirectional = true;
    v.reverse = true;
    v.exchanged = Some(3);
    v.initial = Initial::Conjugated;
    v.resets[0] = 2;
    v.chunks = Some(Chunks::new(3, Carry::Stale));
    v.tail = Tail::LastIgnored;
    v.directions = Directions::Summed;
    v.flips = Flips { u: false, ..Flips::RIGHT };
    v.state = InputType::Bf16;
    v.last_state = LastState::Doubled;
    v.finish = Finish::Tanh;
    v.store_truncated = true;
    v.raised = Raised::Added(0.5);
    v.exponent_sums = Some(ExponentSums { to: InputType::F16, each: true });
}

/// What multiplies a state and what is given to it.
fn coefficients(v: &mut Variant) {
    v.a_bar = Method::Rk4.into();
    v.b_bar = Method::Rk4.into();
    v.exponent = (2.0, 2.0);
    v.b_use = BUse::Twice;
    v.input_factor = 3.0;
    v.step_delta = Power::Doubled;
    v.places[Input::U as usize].l = Map::Shifted(1);
    v.places[Input::B as usize].l = Map::Shifted(1);
    v.groups[0] = Group::Modulo;
    v.u_use[0] = UUse::Squared;
    v.ways[Way::B as usize] = OfComplex::Conjugated;
    v.ways[Way::Kept as usize] = OfComplex::Conjugated;
    v.limits[Limited::U as usize] = (-1.0, 1.0);
    v.stages[Stage::A as usize] = InputType::F16;
}

/// How states are read.
fn reads(v: &mut Variant) {
    v.c_use = BUse::Negated;
    v.groups[1] = Group::At(1);
    v.places[Input::C as usize].l = Map::Reversed;
    v.ways[Way::C as usize] = OfComplex::Modulus;
    v.ways[Way::Read as usize] = OfComplex::RealPart;
    v.delay = Delay::State(2);
    v.without_input = true;
    v.reversed = Reversed::OffByOne;
    v.counts = Some([4; 64]);
    v.readout = Readout::ImaginaryPart;
    v.readout_factor = 0.5;
}

/// What follows the sum of all states.
fn epilogue(v: &mut Variant) {
    v.places[Input::Z as usize].l = Map::Held(1);
    v.places[Input::D as usize].channel = Map::At(1);
    v.limits[Limited::Gate as usize] = (-2.0, 2.0);
    v.limits[Limited::Sum as usize] = (-3.0, 3.0);
    v.stages[Stage::Sum as usize] = InputType::Bf16;
    v.skip = 2.0;
    v.skip_of_readout = true;
    v.skip_has_d = false;
    v.residual = Residual::AfterGate;
    v.gate = GateFunction::Sigmoid;
    v.gated = Gated::Skip;
    v.u_use[1] = UUse::Silu;
}

fn everything(v: &mut Variant) {
    [carried, coefficients, reads, epilogue].iter().for_each(|change| change(v));
}

/// What is right everywhere else, but for these parts.
#[test]
fn elsewhere_a_scan_is_carried_as_changed() {
    let cases: [(&str, Only, &[fn(&mut Variant)]); 3] = [
        ("positions", Only::Positions(Every::one(1)), &[]),
        ("small steps", Only::Below(Guarded::Z, 0.5), &[reads, epilogue]),
        ("large steps", Only::Above(Guarded::Z, 0.5), &[reads, epilogue]),
    ];
    each(cases, |(_, only, more)| {
        let variant = changed(Method::Zoh, |v| {
            everything(v);
            v.only = only;
        });
        let want = changed(Method::Zoh, |v| {
            carried(v);
            more.iter().for_each(|change| change(v));
        });
        assert_eq!(variant.elsewhere(Method::Zoh.into()), want);
    });
}

/// Other states are read as specified, but for what is about all of them together.
#[test]
fn elsewhere_other_states_are_read_as_specified() {
    let variant = changed(Method::Zoh, |v| {
        everything(v);
        v.only = Only::States(Every::one(1));
    });
    let want = changed(Method::Zoh, |v| {
        carried(v);
        epilogue(v);
        (v.readout, v.readout_factor) = (Readout::ImaginaryPart, 0.5);
    });
    let elsewhere = variant.elsewhere(Method::Zoh.into());
    assert_eq!(elsewhere, want);
    // What arrives late after all states have been summed is late for all.
    for (delay, of_others) in [
        (Delay::State(2), Delay::None),
        (Delay::Readout(2), Delay::Readout(2)),
        (Delay::Output(2), Delay::Output(2)),
    ] {
        let variant = Variant { delay, ..variant };
        assert_eq!(variant.elsewhere(Method::Zoh.into()).delay, of_others);
    }
}

/// Where some positions alone are read otherwise, all else is as changed everywhere.
#[test]
fn elsewhere_states_are_read_as_specified() {
    let cases: [(&str, Reversed, Reversed); 3] = [
        ("which state", Reversed::OffByOne, Reversed::Right),
        ("without input", Reversed::WithoutInput, Reversed::Right),
        ("which a bar", Reversed::ABarOffByOne, Reversed::ABarOffByOne),
    ];
    each(cases, |(_, reversed, of_others)| {
        let variant = changed(Method::Zoh, |v| {
            everything(v);
            (v.only, v.reversed) = (Only::Reads(Every::one(1)), reversed);
        });
        let want = changed(Method::Zoh, |v| {
            [carried, coefficients, epilogue].iter().for_each(|change| change(v));
            v.reversed = of_others;
        });
        assert_eq!(variant.elsewhere(Method::Zoh.into()), want);
        assert_eq!(variant.reading_right(), want);
    });
}

/// Of two scans the other one has what happens to both together, and nothing else.
#[test]
fn the_other_scan_has_what_happens_to_both() {
    let want = changed(Method::Poly, |v| {
        (v.directions, v.readout, v.readout_factor) = (Directions::Summed, Readout::ImaginaryPart, 0.5);
        (v.skip, v.skip_of_readout, v.skip_has_d) = (2.0, true, false);
        (v.residual, v.gate, v.gated) = (Residual::AfterGate, GateFunction::Sigmoid, Gated::Skip);
        (v.state, v.last_state) = (InputType::Bf16, LastState::Doubled);
        (v.finish, v.store_truncated) = (Finish::Tanh, true);
    });
    assert_eq!(changed(Method::Poly, everything).of_other_scan(Method::Poly), want);
    assert_eq!(Variant::specified(Method::Poly).resets, NO_RESETS);
}

/// The upper end is in the interval, the lower one is not; of as few digits 1 comes before 5, and 5 before 2; else it is
/// the middle one.
#[test]
fn the_number_of_fewest_digits() {
    let cases: [(f64, f64, Option<f64>); 15] = [
        (0.25, 0.5, Some(0.5)),
        (0.5, 2.0, Some(1.0)),
        (1.0, 2.0, Some(2.0)),
        (1.0, 4.0, Some(2.0)),
        (1.0, 8.0, Some(5.0)),
        (2.0, 4.0, Some(4.0)),
        (6.0, 8.0, Some(8.0)),
        (5.0, 9.0, Some(8.0)),
        (12.0, 19.0, Some(16.0)),
        (40.0, f64::INFINITY, Some(100.0)),
        (40.0, 300.0, Some(100.0)),
        (2.0, 2.0, None),
        (3.0, 2.0, None),
        (-1.0, 0.0, None),
        (f64::NAN, 1.0, None),
    ];
    each(cases, |(low, high, want)| {
        assert_eq!(roundest(low, high), want);
    });
}

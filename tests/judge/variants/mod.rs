//! Promise: fault models compute what their fields say, and are off by no more than their bounds, where no change that is looked
//! for in recordings comes by: conventions, rows that are not held, numbers at the ends of f32, terms of second order, fields
//! that only two changes together set.

mod applies;
mod beginnings;
mod bounds;
mod complex;
mod conventions;
mod fields;
mod held;
mod maps;
mod only;
mod overflow;
mod readout;
mod steps;

use holdfast::formula::Form;
use holdfast::judge::faults::scan::{self, Channel, Row};
use holdfast::judge::faults::variant::Variant;
use holdfast::problem::Problem;
use holdfast::tensor::TensorName;

use crate::support::problems::channel;

/// One channel, of as many positions as there are steps; u is 1.
fn channel_of(a: &[f32], delta: &[f32]) -> Problem {
    channel(a, delta, &vec![1.0; delta.len()])
}

/// What is specified, with a change.
fn changed(form: impl Into<Form>, change: impl FnOnce(&mut Variant)) -> Variant {
    let mut variant = Variant::specified(form);
    change(&mut variant);
    variant
}

fn run(variant: &Variant, problem: &Problem) -> Channel {
    scan::channel(variant, problem, (0, 0))
}

fn out(channel: &Channel) -> &Row {
    &channel.tensors[TensorName::Out]
}

fn last_state(channel: &Channel) -> &Row {
    &channel.tensors[TensorName::LastState]
}

/// Two computations of one formula in f64.
fn is_near(got: f64, want: f64) -> bool {
    got == want || (got - want).abs() <= 1e-12 * want.abs()
}

#[track_caller]
fn assert_near(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{got:?}");
    let is_same = got.iter().zip(want).all(|(got, want)| is_near(*got, *want));
    assert!(is_same, "got {got:?}, want {want:?}");
}

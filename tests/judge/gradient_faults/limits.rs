//! Promise: where a gradient is 0 above or below a limit of what stands at the same position, and right elsewhere, the limit is
//! said: of the likeliest quantity that separates the two, as the number of the fewest digits between them.

use holdfast::problem::{Operand, Shape, Weights};
use holdfast::tensor::GradientName::{InitialState, Z};

use super::blank::{Blank, irregular};
use crate::cases::each;

const NOTHING: [&str; 0] = [];

fn said(limit: &str) -> String {
    format!("gradient-partly-zero: the gradient is 0 where {limit}, and right elsewhere")
}

/// Two items of a batch with two channels of six positions each.
fn blank() -> Blank {
    Blank::real(2, 2, 6)
}

/// Six values in each of the four rows, in each another one first: no range of an axis has some of them alone.
fn spread<T: Copy>(values: [T; 6]) -> Vec<T> {
    (0..24).map(|i| values[(i % 6 + i / 6) % 6]).collect()
}

/// Puts values where they belong.
type Put = fn(&mut Blank, Vec<f32>);

fn put_z(blank: &mut Blank, values: Vec<f32>) {
    blank.problem.z = Some(values);
}

fn put_u(blank: &mut Blank, values: Vec<f32>) {
    blank.problem.u = values;
}

fn put_dout(blank: &mut Blank, values: Vec<f32>) {
    blank.given.dout = values;
}

fn put_delta(blank: &mut Blank, values: Vec<f32>) {
    blank.problem.delta = values;
}

/// With a bias that puts the second channel elsewhere.
fn put_delta_beside_bias(blank: &mut Blank, values: Vec<f32>) {
    blank.problem.delta = values;
    blank.problem.delta_bias = Some(vec![0.0, 16.0]);
}

fn put_delta_without_bias(blank: &mut Blank, values: Vec<f32>) {
    blank.problem.delta = values;
    blank.problem.delta_bias = None;
}

fn put_softplus(blank: &mut Blank, values: Vec<f32>) {
    put_delta(blank, values);
    blank.problem.delta_softplus = true;
}

fn put_softplus_beside_bias(blank: &mut Blank, values: Vec<f32>) {
    put_delta_beside_bias(blank, values);
    blank.problem.delta_softplus = true;
}

/// The values, which of them the gradient is 0 at, and what is said.
#[test]
fn limits_in_words() {
    let cases: [(Put, [f32; 6], fn(f32) -> bool, &str); 21] = [
        (put_z, [0.5, -0.75, 1.0, -2.0, 2.5, 3.0], |z: f32| z.abs() > 1.5, "|z| is at least 2"),
        (put_z, [0.5, -0.75, 1.0, -2.0, 2.5, 3.0], |z: f32| z.abs() < 1.5, "|z| is below 2"),
        (put_z, [0.0, 0.0, 0.0, 2.0, -3.0, 2.5], |z: f32| z != 0.0, "|z| is at least 1"),
        (put_z, [-3.0, -0.5, -1.5, 1.0, 2.0, 0.25], |z: f32| z > 0.0, "z is at least 0"),
        (put_z, [-3.0, -0.5, -1.5, 1.0, 2.0, 0.25], |z: f32| z < 0.0, "z is below 0"),
        (put_z, [-6.0, -7.0, -9.0, -4.0, 8.0, 3.0], |z: f32| z < -5.0, "z is below -5"),
        (put_z, [-6.0, -7.0, -9.0, -4.0, 8.0, 3.0], |z: f32| z > -5.0, "z is at least -5"),
        (put_z, [-6.0, -7.0, -9.0, -5.0, 8.0, 3.0], |z: f32| z < -5.0, "z is below -5"),
        (put_z, [-6.0, -5.0, -9.0, -4.0, 8.0, 3.0], |z: f32| z > -5.0, "z is at least -4"),
        (put_z, [-6.0, -7.0, -9.0, 0.0, 8.0, 3.0], |z: f32| z > -5.0, "z is at least -1"),
        (put_u, [0.5, -0.75, 1.0, -2.0, 2.5, 3.0], |u: f32| u.abs() > 1.5, "|u| is at least 2"),
        (put_u, [-3.0, -0.5, -1.5, 1.0, 2.0, 0.25], |u: f32| u > 0.0, "u is at least 0"),
        (put_dout, [0.5, -0.75, 1.0, -2.0, 2.5, 3.0], |dout: f32| dout.abs() > 1.5, "|dout| is at least 2"),
        (put_dout, [-3.0, -0.5, -1.5, 1.0, 2.0, 0.25], |dout: f32| dout > 0.0, "dout is at least 0"),
        (put_delta, [0.125, 0.1875, 0.25, 0.5, 0.625, 0.75], |delta: f32| delta > 0.4, "Δ is at least 0.5"),
        (put_delta, [0.125, 0.1875, 0.25, 0.5, 0.625, 0.75], |delta: f32| delta < 0.4, "Δ is below 0.5"),
        (
            put_delta_without_bias,
            [0.125, 0.1875, 0.25, 0.5, 0.625, 0.75],
            |delta: f32| delta > 0.4,
            "Δ is at least 0.5",
        ),
        (
            put_delta_beside_bias,
            [0.125, 0.1875, 0.25, 0.5, 0.625, 0.75],
            |delta: f32| delta > 0.4,
            "delta is at least 0.5",
        ),
        (put_softplus, [-2.0, -1.5, -1.0, 1.0, 1.5, 2.0], |delta: f32| delta > 0.0, "Δ is at least 1"),
        (
            put_softplus,
            [-910.0, -920.0, -930.0, -800.0, -790.0, -780.0],
            |delta: f32| delta < -900.0,
            "delta + bias is below -900",
        ),
        (
            put_softplus_beside_bias,
            [-2.0, -1.5, -1.0, 1.0, 1.5, 2.0],
            |delta: f32| delta > 0.0,
            "delta is at least 0",
        ),
    ];
    each(cases, |(put, values, is_zero, limit)| {
        let (mut blank, values) = (blank(), spread(values));
        let want = irregular(24);
        let at = |i: usize| if is_zero(values[i]) { 0.0 } else { want[i] };
        let got: Vec<f64> = (0..24).map(at).collect();
        put(&mut blank, values.clone());
        assert_eq!(blank.said(Z, &want, &got, 0.01), [said(limit)]);
    });
}

/// Last of all, the size of the gradient itself.
#[test]
fn limits_of_a_gradient_itself() {
    let cases: [(&str, fn(f64) -> bool, &str); 2] = [
        ("below", |size: f64| size < 1.0, "its size is below 1"),
        ("above", |size: f64| size > 1.0, "its size is at least 1"),
    ];
    each(cases, |(_, is_zero, limit)| {
        let want = spread([0.25, -0.5, 0.125, 2.0, -3.0, 4.0]);
        let got: Vec<f64> =
            want.iter().map(|want: &f64| if is_zero(want.abs()) { 0.0 } else { *want }).collect();
        assert_eq!(blank().said(Z, &want, &got, 0.01), [said(limit)]);
    });
}

/// Of all that separates them, what is likeliest is said.
#[test]
fn the_likeliest_limit_is_said() {
    let (want, large) = (irregular(24), [0.5, 0.5, 0.5, 2.0, 2.0, 2.0]);
    let is_large = spread(large);
    let got: Vec<f64> = (0..24).map(|i| if is_large[i] > 1.0 { 0.0 } else { want[i] }).collect();
    let all: [(Put, &str); 4] = [(put_dout, "|dout|"), (put_u, "|u|"), (put_z, "|z|"), (put_delta, "Δ")];
    let mut blank = blank();
    for (put, what) in all {
        put(&mut blank, spread(large));
        let limit = said(&format!("{what} is at least 1"));
        assert_eq!(blank.said(Z, &want, &got, 0.01), [limit]);
    }
}

/// Four that are 0 and four that are not.
#[test]
fn enough_are_on_either_side() {
    let cases: [(&str, [[f32; 4]; 2], bool); 3] = [
        ("four and four", [[2.0, 1.0, 2.0, 1.0], [1.0, 2.0, 1.0, 2.0]], true),
        ("five and three", [[2.0, 1.0, 2.0, 2.0], [1.0, 2.0, 1.0, 2.0]], false),
        ("three and five", [[2.0, 1.0, 1.0, 1.0], [1.0, 2.0, 1.0, 2.0]], false),
    ];
    each(cases, |(_, z, is_said)| {
        let mut blank = Blank::real(1, 2, 4);
        let (z, want) = (z.concat(), irregular(8));
        let got: Vec<f64> = (0..8).map(|i| if z[i] > 1.5 { 0.0 } else { want[i] }).collect();
        blank.problem.z = Some(z);
        let expected = if is_said { vec![said("|z| is at least 2")] } else { vec![] };
        assert_eq!(blank.said(Z, &want, &got, 0.01), expected);
    });
}

/// What is on the wrong side, what is wrong otherwise, and what has no positions, have no limit.
#[test]
fn what_no_limit_separates_has_none() {
    let mut blank = blank();
    let (z, want) = (spread([0.5f32, -0.75, 1.0, -2.0, 2.5, 3.0]), irregular(24));
    let right: Vec<f64> = (0..24).map(|i| if z[i].abs() > 1.5 { 0.0 } else { want[i] }).collect();
    blank.problem.z = Some(z.clone());
    let small = (0..24).find(|&i| z[i].abs() < 1.5).expect("small ones");
    let large = (0..24).find(|&i| z[i].abs() > 1.5).expect("large ones");
    for (at, value) in [(small, 0.0), (large, want[large]), (small, 9.0)] {
        let mut got = right.clone();
        got[at] = value;
        assert_eq!(blank.said(Z, &want, &got, 0.01), NOTHING, "{at}: {value}");
    }
    // What is within its bound of both is on neither side.
    let (mut want, mut got) = (want, right);
    (want[large], got[large]) = (0.005, 0.0);
    assert_eq!(blank.said(Z, &want, &got, 0.01), [said("|z| is at least 2")]);
    let shape = Shape { batch: 2, dim: 2, dstate: 6, seqlen: 1, groups: 1 };
    let blank = Blank::new(shape, Weights::Real, Operand::Constant);
    let want = spread([0.25, -0.5, 0.125, 2.0, -3.0, 4.0]);
    let got: Vec<f64> = want.iter().map(|want: &f64| if want.abs() < 1.0 { 0.0 } else { *want }).collect();
    assert_eq!(blank.said(InitialState, &want, &got, 0.01), NOTHING);
}

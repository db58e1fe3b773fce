//! Promise: shapes are read as they are written, dates are those of the calendar, and costs are what a formula asks for.

use holdfast::bench::{Preset, cost, problems, sizes};
use holdfast::method::Method;
use holdfast::operation::Operation;
use holdfast::problem::{InputType, Shape, Weights};
use holdfast::results::bench::{Cost, Peaks, Work};
use holdfast::results::date::now;

#[test]
fn a_shape_is_read_in_the_order_of_its_sizes() {
    let shape = Shape { batch: 8, dim: 512, seqlen: 1024, dstate: 16, groups: 1 };
    assert_eq!(sizes::parse("8,512,1024,16"), Ok(shape));
    assert_eq!(sizes::parse(" 8, 512 ,1024,16"), Ok(shape));
    for wrong in [
        "",
        "8,512,1024",
        "8,512,1024,16,1",
        "0,1,1,1",
        "1,1,1,257",
        "1,-1,1,1",
        "2,2000000000,1,1",
        "a,b,c,d",
    ] {
        assert!(sizes::parse(wrong).is_err_and(|why| why.contains("batch,dim,seqlen,dstate")), "{wrong}");
    }
    assert_eq!(Preset::Seed.shapes(true), [shape]);
}

#[test]
fn a_date_is_that_of_the_calendar() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (951_868_800, "2000-03-01T00:00:00Z"),
        (1_735_689_599, "2024-12-31T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
    ] {
        assert_eq!(holdfast::results::date::text(seconds), text);
    }
    assert!(now().as_str() > "2025");
}

#[test]
fn a_problem_of_many_channels_repeats_few() {
    let shape = Shape { batch: 2, dim: 130, seqlen: 5, dstate: 3, groups: 1 };
    let problem = problems::draw(shape, Weights::Complex, InputType::Bf16);
    for (name, values, len) in problem.inputs() {
        assert!(values.is_none_or(|values| values.len() == len), "{name}");
    }
    let row = |row: usize| &problem.u[row * 5..(row + 1) * 5];
    assert_eq!(row(0), row(64));
    assert_eq!(row(0), row(130), "the second batch begins with the first channel");
    assert_ne!(row(0), row(1));
    assert_eq!(problem.a[..6], problem.a[64 * 6..65 * 6]);
}

#[test]
fn bytes_are_those_of_every_tensor_once() {
    let shape = Shape { batch: 2, dim: 3, seqlen: 5, dstate: 4, groups: 1 };
    let of = |input, work| {
        let problem = problems::draw(shape, Weights::Real, input);
        cost::scan(Method::Zoh, work, &problem).bytes as usize
    };
    // u, delta: 30 each; B, C: 40 each; A: 12, D and bias: 3 each, of f32. The output is like u, the last state has 24.
    assert_eq!(of(InputType::F32, Work::Forward), 4 * (60 + 80 + 18 + 30 + 24));
    assert_eq!(of(InputType::F16, Work::Forward), 2 * (60 + 80 + 30) + 4 * (18 + 24));
    // Inputs and their gradients, and the gradients of outputs.
    assert_eq!(of(InputType::F32, Work::Backward), 4 * (2 * (60 + 80 + 18) + 30 + 24));
}

#[test]
fn flops_are_those_of_the_formula() {
    let shape = Shape { batch: 1, dim: 1, seqlen: 10, dstate: 1, groups: 1 };
    let of =
        |method| cost::scan(method, Work::Forward, &problems::draw(shape, Weights::Real, InputType::F32));
    // zoh: z; ΔB; u; x → Āx + it; y + C x: seven for each of ten positions.
    assert_eq!(of(Method::Zoh).flops, 70.0);
    // eᶻ, and an exponential and a logarithm of softplus.
    assert_eq!(of(Method::Zoh).specials, 30.0);
    assert_eq!(of(Method::Bilinear).specials, 20.0);
    // Of one state at one position, by the comments in src/bench/cost.rs; poly takes the recurrence twice.
    assert_eq!(Method::ALL.map(|method| of(method).flops / 10.0), [7.0, 10.0, 13.0, 16.0, 17.0, 14.0]);
    let complex = |method| {
        let problem = problems::draw(shape, Weights::Complex, InputType::F32);
        cost::scan(method, Work::Forward, &problem).flops / 10.0
    };
    // zoh: ΔA, ΔB and (ΔB)u 2 each; Āx + it 8; y + Re(Cx) 4. foh: h takes 6 + 4, and hB 6.
    assert_eq!([Method::Zoh, Method::Foh].map(complex), [18.0, 32.0]);
}

#[test]
fn the_least_time_is_that_of_the_scarcest() {
    let peaks = Peaks { copy: 10.0, fused: 100.0, special: 5.0 };
    let cost = |bytes, flops, specials| Cost { elements: 1.0, bytes, flops, specials };
    assert_eq!(cost(20.0, 20.0, 1.0).least_time(&peaks), (2.0, "memory"));
    assert_eq!(cost(20.0, 300.0, 1.0).least_time(&peaks), (3.0, "arithmetic"));
    assert_eq!(cost(20.0, 300.0, 20.0).least_time(&peaks), (4.0, "special functions"));
    assert_eq!(cost::operation(Operation::InverseMatrix, 16).flops, 4.0 * 16f64.powi(3));
}

//! The adjoint of the selective scan (spec.md §6) as a [`Variant`] has it, in f64.
//!
//! Cotangents are the conjugates of gradients, as there: a factor that a backward pass forgets to conjugate is one that is
//! conjugated here. Real numbers are complex ones without an imaginary part.

mod node;
mod pass;
mod place;
mod row;
mod scan;
mod shares;
mod step;
mod stored;

use std::borrow::Cow;
use std::collections::HashMap;

use num_complex::Complex64;

use self::stored::{accumulate, store};
use super::variant::{Over, Variant};
use crate::formula::Form;
use crate::parallel;
use crate::problem::{OutputGradients, Problem};
use crate::tensor::GradientName::{self, B, C};
use crate::tensor::{Gradients, InputType, Named};

pub use self::stored::is_summed;

/// Gradients by name, each in the layout of its input.
pub type Sums = Named<Vec<f64>, GradientName>;

/// What is computed of a backward pass.
#[derive(Clone, Debug)]
pub struct Scope {
    pub names: Vec<GradientName>,
    /// Gradients that others have a share in are not whole.
    pub channels: Vec<(usize, usize)>,
    /// One alone, or all.
    pub state: Option<usize>,
}

impl Scope {
    pub fn whole(problem: &Problem) -> Self {
        Scope { names: GradientName::ALL.to_vec(), channels: problem.channels().collect(), state: None }
    }
}

/// Every gradient that a problem has.
pub fn gradients(variant: &Variant, problem: &Problem, given: &OutputGradients) -> Gradients<f64> {
    let values = sums(variant, problem, given, &Scope::whole(problem));
    values.map(|name, values| problem.gradient(name, values.clone()))
}

/// The sums over a scope, 0 where it does not reach.
pub fn sums(variant: &Variant, problem: &Problem, given: &OutputGradients, scope: &Scope) -> Sums {
    sums_with(None, variant, problem, given, scope)
}

/// The same with steps that are known.
pub fn sums_with(
    known: Option<&Known>,
    variant: &Variant,
    problem: &Problem,
    given: &OutputGradients,
    scope: &Scope,
) -> Sums {
    let known = known.filter(|known| variant.has_steps_of(known.form));
    let names = problem.gradients().into_iter().filter(|(name, _)| scope.names.contains(name));
    let mut sums: Sums = names.map(|(name, len)| (name, vec![0.0; len])).collect();
    let of_group = variant.sum_over(Over::Group);
    let mut channels = Cow::from(&scope.channels);
    if of_group.is_some_and(|of| of.backwards) {
        channels.to_mut().reverse();
    }
    // So many at a time bound the memory without idling a thread.
    for some in channels.chunks(64) {
        let names = &scope.names;
        let channel = |&at| Channel { variant, problem, given, at, names, known }.shares(scope.state);
        let parts: Vec<&[(usize, usize)]> = some.chunks(8).collect();
        let shares: Vec<Vec<Share>> = parallel::flat_map(&parts, &|some| some.iter().map(channel).collect());
        for (name, start, values) in shares.into_iter().flatten() {
            let Some(sum) = sums.get_mut(name) else { continue };
            let is_of_group = matches!(name, B | C) && !is_summed(problem, name);
            match (variant.of_positions(), of_group) {
                (Some(of), _) if is_summed(problem, name) => {
                    let width = problem.gradient::<f64>(name, Vec::new()).width;
                    accumulate(of, &mut sum[start..][..width], &values);
                }
                (_, Some(of)) if is_of_group => {
                    sum[start..].iter_mut().zip(values).for_each(|(sum, value)| *sum = of.add(*sum, value));
                }
                _ => sum[start..].iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
            }
        }
    }
    store(variant, problem, &mut sums);
    sums
}

/// Of its parts.
fn complex<T: Copy + Into<f64>>(parts: &[T]) -> Complex64 {
    Complex64::new(parts[0].into(), parts.get(1).map_or(0.0, |&im| im.into()))
}

fn put(parts: &mut [f64], value: Complex64) {
    parts[0] = value.re;
    parts.iter_mut().skip(1).for_each(|im| *im = value.im);
}

/// Ā and h of one state at one position, each with its derivatives by Δ and by A.
#[derive(Clone, Copy)]
struct Step {
    a_bar: Complex64,
    h: Complex64,
    a_bar_by: [Complex64; 2],
    h_by: [Complex64; 2],
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// What may be read elsewhere than where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    U,
    Dout,
    Z,
    B,
    C,
    LastState,
    InitialState,
}

/// A gradient's values from a place on.
type Share = (GradientName, usize, Vec<f64>);

struct Channel<'a> {
    variant: &'a Variant,
    problem: &'a Problem,
    given: &'a OutputGradients,
    at: (usize, usize),
    names: &'a [GradientName],
    known: Option<&'a Known>,
}

/// The steps of a backward pass as specified, which most of the others share: for each channel and state.
pub struct Known {
    form: Form,
    /// By item of the batch, channel and state.
    steps: HashMap<(usize, usize, usize), Vec<Step>>,
}

impl Known {
    pub fn new(form: Form, problem: &Problem, given: &OutputGradients, scope: &Scope) -> Self {
        let variant = &Variant::specified(form);
        let states: Vec<usize> = scope.state.map_or((0..problem.shape.dstate).collect(), |n| vec![n]);
        let names = &scope.names;
        let of = |&at: &(usize, usize)| {
            let channel = Channel { variant, problem, given, at, names, known: None };
            let row = channel.row(problem.shape.seqlen);
            let steps = |&n: &usize| ((at.0, at.1, n), channel.steps(&row, n));
            states.iter().map(steps).collect::<Vec<_>>()
        };
        Known { form, steps: scope.channels.iter().flat_map(of).collect() }
    }
}

/// What the states of a channel share, position by position: as many as the pass runs over.
struct Row {
    u: Vec<f64>,
    /// Δ
    step: Vec<f64>,
    /// Its derivative by delta.
    slope: Vec<f64>,
    gate: Vec<f64>,
    /// ∂L/∂s where it enters the scan, the skip in grad.u and grad.D.
    gated: [Vec<f64>; 3],
    /// The gradient of Re Σ C x of a scan, for the adjoint and for grad.C.
    read: [Vec<f64>; 2],
    is_dropped: Vec<bool>,
}

/// What one state's scans are made of, position by position.
struct Scan<'a> {
    a: Complex64,
    b: Vec<Complex64>,
    c: Vec<Complex64>,
    steps: Cow<'a, [Step]>,
    /// What multiplies h u, and the states that are read.
    forces: Vec<Complex64>,
    reads: Vec<Complex64>,
}

/// What one state adds.
struct Node {
    y: Vec<f64>,
    u: Vec<f64>,
    delta: Vec<f64>,
    /// One for each position, where their order matters.
    a: Vec<Complex64>,
    b: Vec<Complex64>,
    c: Vec<Complex64>,
    initial: Complex64,
}

/// One direction of a scan.
struct Pass {
    /// The states before and after each step.
    before: Vec<Complex64>,
    after: Vec<Complex64>,
    /// Their cotangents, and what of these is each position's own.
    p: Vec<Complex64>,
    own: Vec<Complex64>,
    /// What arrives at the state before the first step.
    initial: Complex64,
}

fn rounded(to: InputType, value: Complex64) -> Complex64 {
    let round = |part: f64| f64::from(to.round(part as f32));
    Complex64::new(round(value.re), round(value.im))
}

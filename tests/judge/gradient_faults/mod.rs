//! Promise: what is wrong with a backward pass is named, gradient by gradient, and what is wrong in no known way is not.

mod blank;
mod computed;
mod factors;
mod fitted;
mod limits;
mod models;
mod numbers;
mod orders;
mod pairs;
mod places;
mod planted;
mod ranges;
mod said;
mod skip;
mod slices;
mod stands;
mod sums;
mod thresholds;
mod unknown;
mod zeros;

use holdfast::judge::diagnose::Work;
use holdfast::judge::faults::gradient::catalogue::Fault;
use holdfast::judge::faults::gradient::variant::Variant;
use holdfast::judge::faults::gradient::{Case, adjoint, compute, diagnose};
use holdfast::method::Method;
use holdfast::problem::conventions::{ComplexOutput, Conventions, Reads, StateHolds};
use holdfast::problem::{Axes, Operand, OutputGradients, Problem, Shape, Shared, Weights};
use holdfast::results::Diagnosis;
use holdfast::tensor::GradientName;
use holdfast::tensor::{Gradients, Named};
use holdfast::truth::gradient::solve;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::support::problems::{Layout, generator, layouts};

fn drawn(len: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    (0..len).map(|_| rng.random_range(-1.0f32..1.0)).collect()
}

/// A problem of a layout, with an initial state where it has a gate, and a loss that sees all outputs.
fn random(layout: &Layout, rng: &mut ChaCha8Rng) -> (Problem, OutputGradients) {
    let mut problem = layout.random(rng);
    let states = problem.shape.batch * problem.a.len();
    problem.initial_state = layout.gate.then(|| drawn(states, rng));
    let dlast_state = (layout.gate || layout.b == Operand::Variable).then(|| drawn(states, rng));
    let dout = drawn(problem.u.len(), rng);
    (problem, OutputGradients { dout, dlast_state })
}

fn faultless(method: Method, problem: &Problem, given: &OutputGradients) -> Gradients<f64> {
    adjoint::gradients(&Variant::specified(method.into()), problem, given)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).filter(|size| size.is_finite()).fold(0.0, f64::max)
}

#[test]
fn without_a_fault_it_is_the_truth() {
    let mut rng = generator("without_a_fault_it_is_the_truth");
    let usual = Conventions::default();
    let stated = Conventions {
        reads: Reads::BeforeUpdate,
        output: ComplexOutput::RealPart,
        state: StateHolds::InputAlone,
        ..usual
    };
    // Two channels of a head share what heads may share.
    let by = Some(2);
    let shared = Shared { delta: by, delta_bias: by, a: by, d: by };
    let heads = Conventions { axes: Axes { shared, ..Axes::default() }, ..usual };
    for (dstate, seqlen, conventions) in [(3, 7, usual), (2, 5, stated), (2, 5, heads)] {
        for layout in layouts(Shape { batch: 2, dim: 4, dstate, seqlen, groups: 2 }) {
            let (mut problem, given) = random(&layout, &mut rng);
            problem.conventions = conventions;
            if layout.b == Operand::Variable {
                problem.conventions.state = usual.state;
            }
            for truth in solve(&problem, &given, &Method::ALL).expect("certified") {
                let found = faultless(truth.method, &problem, &given);
                assert_eq!(found.iter().count(), truth.tensors.iter().count());
                for (name, found, want) in found.zip(&truth.tensors) {
                    assert_eq!((&found.shape, found.width), (&want.shape, want.width));
                    let allowed = 1e-12 * largest(&want.values);
                    for (found, want) in found.values.iter().zip(&want.values) {
                        let error = (found - want).abs();
                        assert!(error <= allowed, "{}, {name}, {layout:?}: {found} {want}", truth.method);
                    }
                }
            }
        }
    }
}

/// What faults are planted in: what shows on one problem may not on another. A long sequence, for what only
/// it shows, is for some alone.
fn problems(weights: Weights, long: Option<usize>) -> Vec<(Problem, OutputGradients)> {
    let mut rng = generator("every_planted_gradient_fault_is_named_first");
    let mut draw = |(batch, dim, dstate, seqlen, groups), operand, loud: f32| {
        let shape = Shape { batch, dim, dstate, seqlen, groups };
        let plain = Layout::plain(batch, dim, dstate, seqlen);
        let layout = Layout { shape, weights, b: operand, c: operand, gate: true, extras: true, ..plain };
        let (mut problem, mut given) = random(&layout, &mut rng);
        let states = given.dlast_state.iter_mut().flatten();
        given.dout.iter_mut().chain(states).for_each(|value| *value *= loud);
        // A mask.
        for l in (5..problem.u.len()).step_by(9) {
            (problem.u[l], problem.delta[l]) = (0.0, 0.0);
        }
        (problem, given)
    };
    let mut problems = vec![
        draw((3, 6, 2, 33, 2), Operand::Variable, 1.0),
        draw((3, 3, 2, 31, 1), Operand::Constant, 1.0),
        // What f16 cannot hold.
        draw((2, 4, 2, 31, 2), Operand::Variable, 1e5),
    ];
    if let Some(seqlen) = long {
        let (mut problem, given) = draw((1, 1, 1, seqlen, 1), Operand::Variable, 1.0);
        // Steps beyond the end are so small that a padding of any length shows.
        problem.delta.iter_mut().filter(|delta| **delta != 0.0).for_each(|delta| *delta += 7.0);
        problem.delta_bias.iter_mut().flatten().for_each(|bias| *bias -= 7.0);
        problems.push((problem, given));
    }
    problems
}

/// What a kernel with these gradients in mind returns: they are off by a few roundings, and stored in f32.
fn noisy(gradients: &Gradients<f64>, rng: &mut ChaCha8Rng) -> Gradients<f64> {
    let ulp = f64::from(f32::EPSILON);
    gradients.map(|_, tensor| {
        let size = largest(&tensor.values);
        let values = tensor.values.iter().map(|&value| {
            let mut noise = || f64::from(rng.random_range(-1.0f32..1.0)) * ulp;
            let off = value + if value.is_finite() { noise() * 4.0 * value + noise() * size } else { 0.0 };
            f64::from(off as f32)
        });
        tensor.with(values.collect())
    })
}

/// 64 roundings to f32 of the largest value.
fn bounds(want: &Gradients<f64>) -> Named<Vec<f64>, GradientName> {
    want.map(|_, tensor| {
        let bound = 64.0 * f64::from(f32::EPSILON / 2.0) * largest(&tensor.values);
        vec![bound; tensor.values.len() / tensor.width]
    })
}

/// The truth of one method on one problem.
struct Known<'a> {
    method: Method,
    problem: &'a Problem,
    given: &'a OutputGradients,
    want: Gradients<f64>,
    bounds: Named<Vec<f64>, GradientName>,
}

impl<'a> Known<'a> {
    fn new(method: Method, (problem, given): &'a (Problem, OutputGradients)) -> Self {
        let want = faultless(method, problem, given);
        Known { method, problem, given, bounds: bounds(&want), want }
    }

    /// What is said of the gradients that are beyond their bounds.
    fn judged(&self, got: &Gradients<f64>) -> Named<Vec<Diagnosis>, GradientName> {
        self.judged_by(got, &Work::default())
    }

    /// Looks for this one alone of the catalogue's faults, and for all that is fitted.
    fn judged_for(&self, got: &Gradients<f64>, name: &str) -> Named<Vec<Diagnosis>, GradientName> {
        self.judged_by(got, &Work::for_names([name]))
    }

    fn judged_by(&self, got: &Gradients<f64>, work: &Work) -> Named<Vec<Diagnosis>, GradientName> {
        let Known { problem, given, want, bounds, .. } = self;
        let case = Case { form: self.method.into(), problem, given, got, want, bounds, work };
        let fails = |name: GradientName| {
            let (got, want) = (&got[name].values, &want[name]);
            let within = |i: usize| (got[i] - want.values[i]).abs() <= bounds[name][i / want.width];
            !(0..got.len()).all(within)
        };
        let failing: Vec<GradientName> =
            got.iter().map(|(name, _)| name).filter(|&name| fails(name)).collect();
        diagnose(&case, &failing)
    }

    /// The largest error over its bound.
    fn beyond(&self, name: GradientName, got: &Gradients<f64>) -> f64 {
        let (got, want) = (&got[name].values, &self.want[name]);
        let share = |i: usize| {
            let error = (got[i] - want.values[i]).abs() / self.bounds[name][i / want.width];
            if error.is_nan() { f64::INFINITY } else { error }
        };
        (0..got.len()).map(share).fold(0.0, f64::max)
    }

    fn compute(&self, fault: &Fault) -> Gradients<f64> {
        compute(self.method.into(), self.problem, self.given, fault)
    }

    /// Whether nothing tells two gradients apart once they are noisy.
    fn same(&self, a: &[f64], b: &[f64]) -> bool {
        let allowed = 2.0 * f64::from(f32::EPSILON) * largest(a);
        a.iter().zip(b).all(|(a, b)| a == b || (a - b).abs() <= allowed)
    }
}

/// The first name of each gradient that fails.
fn firsts(diagnoses: &Named<Vec<Diagnosis>, GradientName>) -> Vec<(GradientName, &str)> {
    let named = diagnoses.iter();
    named.map(|(name, list)| (name, list.first().map_or("(nothing)", |first| &first.name))).collect()
}

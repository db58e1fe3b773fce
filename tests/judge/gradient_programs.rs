//! Promise: an edit that was planted in a backward pass is found, as it is or as another that computes the same, by what fails alone;
//! and of what no edit computes nothing is said.

use holdfast::judge::budget::gradient::{Pass, bounds};
use holdfast::judge::diagnose::Work;
use holdfast::judge::explain::{Evaluator, gradients};
use holdfast::method::Method;
use holdfast::problem::{Operand, OutputGradients, Problem, Weights};
use holdfast::program::edit::{Edit, Patch, Site};
use holdfast::program::proposed;
use holdfast::program::{Function, Graph, Id, Op, Program, Real, Symbol};
use holdfast::promise::Contract;
use holdfast::results::Diagnosis;
use holdfast::tensor::GradientName::{self, A, U, Z};
use holdfast::tensor::{Gradients, Named};
use rand::RngExt as _;

use crate::cases::each;
use crate::programs::problem;
use crate::support::problems::generator;

/// Bits of an edit that somebody may well make.
const LIKELY: f64 = 5.5;

struct Planting {
    method: Method,
    problem: Problem,
    given: OutputGradients,
    want: Gradients<f64>,
    bounds: Named<Vec<f64>, GradientName>,
}

impl Planting {
    fn new(method: Method, weights: Weights) -> Self {
        let problem = problem(weights, Operand::Variable);
        let mut random = generator("edits of gradients");
        let mut drawn = |len: usize| (0..len).map(|_| random.random_range(-1.0f32..1.0)).collect::<Vec<_>>();
        let states = problem.shape.batch * problem.a.len();
        let given = OutputGradients { dout: drawn(problem.u.len()), dlast_state: Some(drawn(states)) };
        let (want, bounds) = (Named::default(), Named::default());
        let mut planting = Planting { method, problem, given, want, bounds };
        planting.judge_anew();
        planting
    }

    /// Computes the truth and the bounds of the problem as it is now.
    fn judge_anew(&mut self) {
        let Planting { method, problem, given, .. } = self;
        let contract = &Contract::PRODUCTION;
        let known = bounds(Pass { form: (*method).into(), problem, given, contract }).tensors;
        self.want = known.map(|name, bounds| problem.gradient(name, bounds.value.clone()));
        self.bounds = known.map(|_, bounds| bounds.bound.clone());
    }

    /// The program of one gradient alone, with its graph.
    fn program(&self, name: GradientName) -> (Graph, Program) {
        let (graph, program) =
            gradients::specified(self.method.into(), &self.problem, &self.given).expect("an adjoint");
        let out = program.find(Symbol::Gradient(name)).expect("a gradient");
        (graph, Program { out, last_state: out, named: program.named })
    }

    /// All gradients right but for this one, which a program computes.
    fn with(&self, name: GradientName, graph: &Graph, program: &Program) -> Gradients<f64> {
        let (mut got, mut evaluator) = (self.want.clone(), Evaluator::backward(&self.problem, &self.given));
        for row in gradients::rows(&self.problem, name) {
            let of = (&self.problem, name);
            gradients::row(&mut evaluator, (graph, program.out), of, &row, &mut |at, value, _| {
                got[name].values[at] = f64::from(value as f32);
            });
        }
        got
    }

    fn fails(&self, got: &Gradients<f64>, name: GradientName) -> bool {
        let (got, want) = (&got[name].values, &self.want[name]);
        got.iter()
            .zip(&want.values)
            .enumerate()
            .any(|(i, (got, want_value))| (got - want_value).abs() > self.bounds[name][i / want.width])
    }

    fn said(&self, got: &Gradients<f64>, name: GradientName) -> Vec<Diagnosis> {
        self.said_by(got, name, &Work::default())
    }

    fn said_by(&self, got: &Gradients<f64>, name: GradientName, work: &Work) -> Vec<Diagnosis> {
        let Planting { problem, given, want, bounds, .. } = self;
        let form = self.method.into();
        let case = gradients::Case { form, problem, given, got, want, bounds, work };
        gradients::diagnose(&case, &[name])[name].clone()
    }
}

/// Each 997th edit of every method that takes few words, in two gradients.
#[test]
fn an_edit_of_a_gradient_that_is_planted_is_found() {
    each(Method::ALL, |method| {
        for weights in Weights::ALL {
            let planting = Planting::new(method, weights);
            for name in [A, Z] {
                let (mut graph, program) = planting.program(name);
                let nodes = graph.len();
                let mut edits = proposed::plain(&graph, &program, &planting.problem);
                // What is computed is hardly read at another position.
                edits.retain(|edit| edit.cost() <= LIKELY && !matches!(edit.patch, Patch::At(..)));
                for edit in edits.into_iter().skip(5).step_by(997) {
                    let edited = edit.apply(&mut graph, &program);
                    let got = planting.with(name, &graph, &edited);
                    graph.truncate(nodes);
                    let is_finite = got[name].values.iter().all(|value| value.is_finite());
                    if is_finite && planting.fails(&got, name) {
                        assert!(!planting.said(&got, name).is_empty(), "{method} {weights} {name}: {edit:?}");
                    }
                }
            }
        }
    });
}

/// The line of the program that differs is said with the cause, and where others are right.
#[test]
fn a_cause_of_a_gradient_is_said_as_a_program() {
    let planting = Planting::new(Method::Foh, Weights::Real);
    let (mut graph, program) = planting.program(A);
    let slope = program.find(Symbol::HByA).expect("a slope");
    let step = program.find(Symbol::StepSize).expect("a step");
    let missing = Edit { site: Site::Value(slope), patch: Patch::Number(Real::ZERO), when: None };
    let added = Edit { site: Site::Value(slope), patch: Patch::Plus(step, Real::new(0.375)), when: None };
    let mut said = |edit: Edit| {
        let edited = edit.apply(&mut graph, &program);
        planting.said(&planting.with(A, &graph, &edited), A)[0].what.clone()
    };
    let what = said(missing);
    assert!(what.contains("(∂h/∂A)_l is missing") && what.contains("computed grad.A = "), "{what}");
    let what = said(added);
    assert!(what.contains("3/8") || what.contains("0.375"), "{what}");
}

#[test]
fn of_a_gradient_that_no_edit_computes_nothing_is_said() {
    let planting = Planting::new(Method::Zoh, Weights::Real);
    let mut random = generator("no edit of a gradient");
    let mut noise = planting.want.clone();
    noise[U].values.iter_mut().for_each(|value| *value += random.random_range(-1e-3..1e-3));
    let mut lost = planting.want.clone();
    lost[U]
        .values
        .iter_mut()
        .enumerate()
        .filter(|(i, _)| i % 40 >= 30)
        .for_each(|(_, value)| *value = f64::NAN);
    for got in [noise, lost] {
        assert_eq!(planting.said(&got, U), []);
    }
}

/// A pass with raw steps from this size on, which softplus takes to its exponential.
fn with_small_steps(from: f32) -> Planting {
    let mut planting = Planting::new(Method::Zoh, Weights::Real);
    let mut random = generator("small steps");
    planting.problem.delta.iter_mut().for_each(|delta| *delta = random.random_range(from..1.0));
    planting.judge_anew();
    planting
}

/// Step sizes down to e^−40, where a slope of 1/2 in the place of one that is next to nothing is all that there is; with errors of some
/// roundings, as any kernel has them.
#[test]
fn what_stands_in_the_place_of_next_to_nothing_is_named() {
    let (planting, mut random) = (with_small_steps(-40.0), generator("roundings"));
    let (mut graph, program) = planting.program(GradientName::Delta);
    let step = program.find(Symbol::StepSize).expect("a step");
    let is_slope = |id: &Id| matches!(graph.op(*id), Op::Apply(Function::Sigmoid, of) if *of != step);
    let slope = graph.reached(&[program.out]).into_iter().find(is_slope).expect("a slope of softplus");
    let of_step = Edit { site: Site::Use { user: slope, operand: 0 }, patch: Patch::Other(step), when: None };
    let edited = of_step.apply(&mut graph, &program);
    let mut got = planting.with(GradientName::Delta, &graph, &edited);
    for (_, tensor) in got.iter_mut() {
        tensor.values.iter_mut().for_each(|value| *value *= 1.0 + random.random_range(-4e-7..4e-7));
    }
    let said = planting.said(&got, GradientName::Delta);
    assert_eq!(said.first().map(|one| &*one.name), Some("softplus-slope-of-delta"));
}

/// 1 − e^−Δ in f32 lies on a grid, as f16 has one where Δ is small: what is no rounding to f16 elsewhere is none.
#[test]
fn a_slope_that_cancels_is_not_taken_for_a_narrow_type() {
    let planting = with_small_steps(-14.0);
    let Problem { shape, ref delta, ref delta_bias, .. } = planting.problem;
    let bias = delta_bias.as_ref().expect("a bias");
    let mut got = planting.want.clone();
    for (i, value) in got[GradientName::Delta].values.iter_mut().enumerate() {
        let raw = f64::from(delta[i]) + f64::from(bias[i / shape.seqlen % shape.dim]);
        let slope = 1.0 / (1.0 + (-raw).exp());
        let lost = 1.0 - ((-raw.exp().ln_1p()).exp() as f32);
        *value *= f64::from(lost) / slope;
    }
    let said = planting.said(&got, GradientName::Delta);
    assert_eq!(said.first().map(|one| &*one.name), Some("softplus-slope-cancels"));
    let narrow = planting.said_by(&got, GradientName::Delta, &Work::for_names(["sigmoid-in-f16"]));
    assert_eq!(narrow, []);
}

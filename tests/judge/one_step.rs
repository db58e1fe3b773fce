//! Promise: a wrong gradient of coefficients gets a cause where, beyond doubt, it is one: another method's, one that is nowhere
//! conjugated, or digits that double has.

use holdfast::formula::Form;
use holdfast::judge::budget::gradient::{self as budgets, GradientBudget, Pass};
use holdfast::judge::diagnose::Work;
use holdfast::judge::explain::gradients;
use holdfast::judge::lost_digits;
use holdfast::judge::one_step::{Judged, UNCONJUGATED, diagnose, in_range};
use holdfast::method::Method;
use holdfast::problem::inputs::Draw;
use holdfast::problem::one_step::OneStep;
use holdfast::problem::{CoefficientProblem, Weights};
use holdfast::promise::Contract;
use holdfast::results::Diagnosis;
use holdfast::tensor::GradientName::{self, A, B, Delta};
use holdfast::tensor::{Gradients, Named};
use num_complex::Complex64;

use crate::cases::{crossed, each};

const ALL: [GradientName; 3] = [Delta, A, B];

/// Elements at which every method differs from every other.
fn elements(weights: Weights) -> OneStep {
    let mut elements = CoefficientProblem::new(weights);
    for i in 0..24 {
        let size = 0.4 + 0.1 * f64::from(i);
        let angle = if weights == Weights::Complex { 0.3 + f64::from(i) } else { 0.0 };
        let a = Complex64::from_polar(-size, 0.2 * angle.sin());
        elements.push(1.0 + 0.03125 * i as f32, a, Complex64::from_polar(1.0 + size, angle));
    }
    OneStep::new(elements, &mut Draw::new(3, "one step"))
}

/// Of derivatives that may be off by as much as they are. What differs by few of these bounds is known for another method's by
/// that method's own bounds alone, and not by what a fault model leaves of it.
const COARSE: Contract = Contract { derivatives: [1.6e7; 2], ..Contract::FOREIGN };

fn budget(elements: &OneStep, method: Method) -> GradientBudget {
    budgets::bounds(pass(elements, method))
}

fn pass(elements: &OneStep, method: Method) -> Pass<'_> {
    Pass { form: method.into(), problem: &elements.problem, given: &elements.given, contract: &COARSE }
}

fn values(elements: &OneStep, budget: &GradientBudget) -> Gradients<f64> {
    let gradient = |name| (name, elements.problem.gradient(name, budget.tensors[name].value.clone()));
    ALL.into_iter().map(gradient).collect()
}

/// What is said of these gradients of a method that is to be `zoh`.
struct Case {
    elements: OneStep,
    budget: GradientBudget,
    want: Gradients<f64>,
}

const ASKED: Method = Method::Zoh;

impl Case {
    fn new(weights: Weights) -> Case {
        let elements = elements(weights);
        let budget = budget(&elements, ASKED);
        let want = values(&elements, &budget);
        Case { elements, budget, want }
    }

    fn said(
        &self,
        got: &Gradients<f64>,
        lifted: Option<&Gradients<f64>>,
    ) -> Named<Vec<Diagnosis>, GradientName> {
        let pass = pass(&self.elements, ASKED);
        let judged =
            Judged { pass, got, want: &self.want, budget: &self.budget, lifted, work: &Work::default() };
        diagnose(&judged, &ALL)
    }

    /// √(Σ(off/bound)² / Σ(error/bound)²)
    fn residual(&self, name: GradientName, got: &Gradients<f64>, model: &Gradients<f64>) -> f64 {
        let width = self.want[name].width;
        let bounds = &self.budget.tensors[name].bound;
        let sum = |from: &Gradients<f64>| {
            let parts = got[name].values.iter().zip(&from[name].values).enumerate();
            parts.map(|(i, (got, value))| ((got - value) / bounds[i / width]).powi(2)).sum::<f64>()
        };
        (sum(model) / sum(&self.want)).sqrt()
    }
}

fn of_model<'a>(
    said: &'a Named<Vec<Diagnosis>, GradientName>,
    name: GradientName,
    model: &str,
) -> Option<&'a Diagnosis> {
    let mut found = said[name].iter().filter(|one| one.name == model);
    let first = found.next();
    assert!(found.next().is_none(), "{name}: {model} twice");
    first
}

/// Each value moved by so much of the model's own bound, up and down by turns.
fn moved(gradients: &Gradients<f64>, budget: &GradientBudget, by: f64) -> Gradients<f64> {
    gradients.map(|name, tensor| {
        let bounds = &budget.tensors[name].bound;
        let value = |(i, value): (usize, &f64)| {
            let by = if i % 2 == 0 { by } else { -by };
            value + by * bounds[i / tensor.width]
        };
        tensor.with(tensor.values.iter().enumerate().map(value).collect())
    })
}

/// Up to that method's own bounds, and no farther.
fn is_called_so(weights: Weights, other: Method) {
    let case = Case::new(weights);
    let model = budget(&case.elements, other);
    let exact = values(&case.elements, &model);
    let name = format!("backward-of-{other}");
    for share in [0.0, 0.9] {
        let got = moved(&exact, &model, share);
        let said = case.said(&got, None);
        for gradient in ALL {
            let first = &said[gradient][0];
            let what = format!("it is the backward pass of {other}");
            assert_eq!((&*first.name, &*first.what), (&*name, &*what));
            let residual = case.residual(gradient, &got, &exact);
            assert!((first.residual - residual).abs() <= 1e-9 * residual, "{} {residual}", first.residual);
            let of_name = of_model(&said, gradient, &name).map(|one| one.residual);
            assert_eq!(of_name, Some(first.residual));
        }
    }
    // Beyond a bound of that method in one value of one gradient it is none of that method.
    for (gradient, last) in [(Delta, false), (A, true)] {
        let mut got = moved(&exact, &model, 0.9);
        let (width, of_all) = (got[gradient].width, got[gradient].values.len());
        let at = if last { of_all - 1 } else { 0 };
        let beyond = exact[gradient].values[at] + 1.01 * model.tensors[gradient].bound[at / width];
        for value in [beyond, f64::NAN] {
            got[gradient].values[at] = value;
            let said = case.said(&got, None);
            assert!([Delta, A].iter().all(|&one| of_model(&said, one, &name).is_none()), "{gradient}");
        }
    }
}

#[test]
fn gradients_of_another_method_are_called_so() {
    is_called_so(Weights::Real, Method::Foh);
}

#[test]
#[ignore = "one of them is tried in `cargo test`: .ci/long"]
fn gradients_of_any_other_method_are_called_so() {
    let others = [Method::Foh, Method::Bilinear, Method::Poly, Method::HighOrder, Method::Rk4];
    each(crossed(Weights::ALL, others), |(weights, other)| is_called_so(weights, other));
}

/// One that nobody asks about speaks against another method, too.
#[test]
fn of_another_method_are_all_gradients_or_none() {
    let case = Case::new(Weights::Real);
    let model = budget(&case.elements, Method::Foh);
    let exact = values(&case.elements, &model);
    let mut got = moved(&exact, &model, 0.9);
    let named = |got: &Gradients<f64>| {
        let pass = pass(&case.elements, ASKED);
        let judged = Judged {
            pass,
            got,
            want: &case.want,
            budget: &case.budget,
            lifted: None,
            work: &Work::default(),
        };
        let said = diagnose(&judged, &[Delta, B]);
        assert!(said.get(A).is_none());
        of_model(&said, Delta, "backward-of-foh").is_some()
    };
    assert!(named(&got));
    got[A] = moved(&exact, &model, 1.5)[A].clone();
    assert!(!named(&got));
}

/// Ā = e^(ΔA) and B̄ = ΔB, and their derivatives; with or without conjugates.
fn by_hand(elements: &OneStep, conjugates: bool) -> Gradients<f64> {
    let weights = elements.coefficients.weights;
    let complex = |values: &[f32], i: usize| match weights {
        Weights::Real => Complex64::from(f64::from(values[i])),
        Weights::Complex => Complex64::new(values[2 * i].into(), values[2 * i + 1].into()),
    };
    let mut gradients: [Vec<f64>; 3] = Default::default();
    for i in 0..elements.coefficients.delta.len() {
        let delta = f64::from(elements.coefficients.delta[i]);
        let (a, b) = (complex(&elements.coefficients.a, i), complex(&elements.coefficients.b, i));
        let exp = (a * delta).exp();
        let (of_a_bar, of_b_bar) = (complex(&elements.grad_a_bar, i), complex(&elements.grad_b_bar, i));
        let times = |derivative: Complex64, by: Complex64| {
            if conjugates { derivative.conj() * by } else { derivative * by }
        };
        let by_delta = times(exp * a, of_a_bar) + times(b, of_b_bar);
        let by_a = times(exp * delta, of_a_bar);
        gradients[0].push(by_delta.re);
        gradients[1].extend(&[by_a.re, by_a.im][..weights.width()]);
        let by_b = of_b_bar * delta;
        gradients[2].extend(&[by_b.re, by_b.im][..weights.width()]);
    }
    ALL.into_iter()
        .zip(gradients)
        .map(|(name, values)| (name, elements.problem.gradient(name, values)))
        .collect()
}

#[test]
fn gradients_without_conjugates_are_called_so() {
    let case = Case::new(Weights::Complex);
    for (gradient, by_hand, want) in by_hand(&case.elements, true).zip(&case.want) {
        let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * (1.0 + b.abs());
        assert!(by_hand.values.iter().zip(&want.values).all(same), "{gradient}");
    }
    let got = by_hand(&case.elements, false);
    let said = case.said(&got, None);
    for gradient in ALL {
        let first = &said[gradient][0];
        assert_eq!((&*first.name, &*first.what), UNCONJUGATED);
        assert!(first.residual < 1e-9, "{gradient}: {}", first.residual);
        assert!(of_model(&said, gradient, UNCONJUGATED.0).is_some());
    }
    // Each gradient is asked for itself, unlike other methods'.
    let mut one = got.clone();
    one[A] = moved(&case.want, &case.budget, 50.0)[A].clone();
    let said = case.said(&one, None);
    let is_said = |gradient| of_model(&said, gradient, UNCONJUGATED.0).is_some();
    assert_eq!(ALL.map(is_said), [true, false, true]);
}

/// Real gradients have no conjugates, and what is of the scan around the coefficients is no cause of theirs.
#[test]
fn what_coefficients_cannot_have_is_not_said() {
    const OF_THE_SCAN: [&str; 6] = ["adjoint", "batch", "channel", "group", "position", "state"];
    let is_of_scan = |one: &Diagnosis| OF_THE_SCAN.iter().any(|part| one.name.contains(part));
    let mut of_scan = false;
    for weights in Weights::ALL {
        let case = Case::new(weights);
        let OneStep { problem, given, .. } = &case.elements;
        let bounds = &case.budget.tensors.map(|_, bounds| bounds.bound.clone());
        let (form, want, work) = (Form::Method(ASKED), &case.want, &Work::default());
        for factor in [-1.0, 2.0] {
            let got = case.want.map(|_, tensor| {
                tensor.with(tensor.values.iter().map(|value| factor * value).collect::<Vec<f64>>())
            });
            if !of_scan {
                let of_pass = gradients::Case { form, problem, given, got: &got, want, bounds, work };
                of_scan = gradients::diagnose(&of_pass, &ALL).values().flatten().any(is_of_scan);
            }
            for (gradient, models) in case.said(&got, None).iter() {
                for one in models {
                    assert!(!is_of_scan(one), "{gradient}: {}", one.name);
                    assert!(weights == Weights::Complex || one.name != UNCONJUGATED.0, "{gradient}");
                }
            }
        }
    }
    assert!(of_scan, "of a backward pass the scan is a cause");
}

/// Digits are lost in one gradient, and another one is wrong.
#[test]
fn lost_digits_are_said_of_a_gradient_before_anything_else() {
    let case = Case::new(Weights::Real);
    let foh = values(&case.elements, &budget(&case.elements, Method::Foh));
    let lost = moved(&case.want, &case.budget, 1e6);
    let mut double = case.want.clone();
    let said = case.said(&lost, Some(&double));
    for gradient in ALL {
        assert_eq!(said[gradient].iter().map(|one| &*one.name).collect::<Vec<_>>(), [lost_digits::NAME]);
    }
    let mut got = foh.clone();
    got[Delta] = lost[Delta].clone();
    double[A] = foh[A].clone();
    double[B] = foh[B].clone();
    let said = case.said(&got, Some(&double));
    let names = |gradient| said[gradient].iter().map(|one: &Diagnosis| &*one.name).collect::<Vec<_>>();
    assert_eq!(names(Delta), [lost_digits::NAME]);
    assert!([A, B].iter().all(|&gradient| !names(gradient).contains(&lost_digits::NAME)));
}

#[test]
fn an_infinity_that_is_right_is_the_number() {
    let cases: [(&str, f32, f64, f64); 7] = [
        ("a number", 1.5, 2.0, 1.5),
        ("beyond the range", f32::INFINITY, 1e39, 1e39),
        ("beyond it below", f32::NEG_INFINITY, -1e39, -1e39),
        ("of the other sign", f32::NEG_INFINITY, 1e39, f64::NEG_INFINITY),
        ("in range", f32::INFINITY, 1e38, f64::INFINITY),
        ("no number", f32::NAN, 1e39, f64::NAN),
        ("a number for what is beyond", 3e38, 1e39, f64::from(3e38f32)),
    ];
    each(cases, |(_, got, want, taken)| {
        let elements = elements(Weights::Real);
        let of = |value: f32| elements.problem.gradient(B, vec![0.5, value]);
        let want = elements.problem.gradient(B, vec![0.25, want]);
        let found = in_range(&[(B, of(got))].into_iter().collect(), &[(B, want)].into_iter().collect());
        let values = &found[B].values;
        assert_eq!(values[0], 0.5);
        assert_eq!(values[1].to_bits(), taken.to_bits(), "{}", values[1]);
    });
}

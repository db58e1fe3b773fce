//! Promise: gradients of coefficients are another method's up to that method's bounds themselves; what is said of all wrong ones comes
//! first.

use holdfast::judge::budget::gradient::{self as budgets, GradientBudget, Pass};
use holdfast::judge::diagnose::Work;
use holdfast::judge::one_step::{Judged, UNCONJUGATED, diagnose, in_range};
use holdfast::method::Method;
use holdfast::problem::inputs::Draw;
use holdfast::problem::one_step::OneStep;
use holdfast::problem::{CoefficientProblem, Weights};
use holdfast::promise::Contract;
use holdfast::promise::allowance::U;
use holdfast::results::Diagnosis;
use holdfast::tensor::GradientName::{self, A, B, Delta};
use holdfast::tensor::{Gradients, Named};
use num_complex::Complex64;

use crate::cases::each;

const ALL: [GradientName; 3] = [Delta, A, B];
const OTHER: Method = Method::Bilinear;
const NAME: &str = "backward-of-bilinear";

/// As in the tests of wrong gradients: derivatives so coarse that a method's own bounds alone know it.
const COARSE: Contract = Contract { derivatives: [1.6e7; 2], ..Contract::FOREIGN };

fn pass<'a>(elements: &'a OneStep, method: Method, contract: &'a Contract) -> Pass<'a> {
    Pass { form: method.into(), problem: &elements.problem, given: &elements.given, contract }
}

fn budget(elements: &OneStep, method: Method, contract: &Contract) -> GradientBudget {
    budgets::bounds(pass(elements, method, contract))
}

fn values(elements: &OneStep, budget: &GradientBudget) -> Gradients<f64> {
    let gradient = |name| (name, elements.problem.gradient(name, budget.tensors[name].value.clone()));
    ALL.into_iter().map(gradient).collect()
}

/// Real elements at which every method differs from every other. One has no input: its gradient by B is 0.
fn elements() -> OneStep {
    let mut elements = CoefficientProblem::new(Weights::Real);
    for i in 0..10 {
        let size = 0.4 + 0.1 * f64::from(i);
        elements.push(1.0 + 0.03125 * i as f32, (-size).into(), (1.0 + size).into());
    }
    let mut elements = OneStep::new(elements, &mut Draw::new(3, "one step"));
    elements.problem.u[WITHOUT_INPUT] = 0.0;
    elements
}

const WITHOUT_INPUT: usize = 5;

/// Gradients that are to be those of zoh, and are those of another method, by so much of its bounds.
struct Case {
    elements: OneStep,
    budget: GradientBudget,
    want: Gradients<f64>,
    other: GradientBudget,
    got: Gradients<f64>,
}

impl Case {
    fn new() -> Case {
        let elements = elements();
        let budget = budget(&elements, Method::Zoh, &COARSE);
        let other = self::budget(&elements, OTHER, &COARSE);
        let want = values(&elements, &budget);
        let got = values(&elements, &other).map(|name, tensor| {
            let bounds = &other.tensors[name].bound;
            let value = |(i, value): (usize, &f64)| {
                let by = if i % 2 == 0 { 0.9 } else { -0.9 };
                value + by * bounds[i]
            };
            tensor.with(tensor.values.iter().enumerate().map(value).collect())
        });
        Case { elements, budget, want, other, got }
    }

    /// Of these, whose other causes are searched for as well.
    fn said(&self, failing: &[GradientName]) -> Named<Vec<Diagnosis>, GradientName> {
        let pass = pass(&self.elements, Method::Zoh, &COARSE);
        let judged = Judged {
            pass,
            got: &self.got,
            want: &self.want,
            budget: &self.budget,
            lifted: None,
            work: &Work::default(),
        };
        diagnose(&judged, failing)
    }

    /// Whether it is called the other method's, which all gradients have to be within.
    fn is_named(&self) -> bool {
        self.said(&[Delta])[Delta].iter().any(|one| one.name == NAME)
    }
}

/// Beyond the bound there is only what the model's own value is off, of 40 bits.
fn is_known_to_40_bits(signs: impl Fn(GradientName) -> &'static [f64]) {
    each([Delta, A, B], |gradient: GradientName| {
        let mut case = Case::new();
        let (value, bound) = (&case.other.tensors[gradient].value, &case.other.tensors[gradient].bound);
        let largest = |a: &usize, b: &usize| value[*a].abs().total_cmp(&value[*b].abs());
        let at = (0..value.len()).max_by(largest).expect("there are elements");
        let (value, bound) = (value[at], bound[at]);
        let of_the_value = value.abs() / (1u64 << 40) as f64;
        let off = |sign: &f64| [(0.5, *sign, true), (2.0, *sign, false)];
        for (share, sign, is_named) in signs(gradient).iter().flat_map(off) {
            case.got[gradient].values[at] = value + sign * (bound + share * of_the_value);
            assert_eq!(case.is_named(), is_named, "{share} {sign}");
        }
    });
}

#[test]
fn a_value_is_known_to_40_bits() {
    is_known_to_40_bits(|gradient| if gradient == A { &[-1.0] } else { &[1.0] });
}

#[test]
#[ignore = "`cargo test` tries each gradient to one side: .ci/long"]
fn a_value_is_known_to_40_bits_to_either_side() {
    is_known_to_40_bits(|_| &[1.0, -1.0]);
}

/// A gradient of 0 is known exactly, and may be off by its bound.
#[test]
fn a_bound_itself_is_within_it() {
    let mut case = Case::new();
    let (value, bound) =
        (case.other.tensors[B].value[WITHOUT_INPUT], case.other.tensors[B].bound[WITHOUT_INPUT]);
    assert!(value == 0.0 && bound > 0.0);
    for (off, is_named) in [(bound, true), (-bound, true), (bound.next_up(), false)] {
        case.got[B].values[WITHOUT_INPUT] = off;
        assert_eq!(case.is_named(), is_named, "{off} of {bound}");
    }
}

/// What nothing is allowed, and what everything is, says nothing of how much a model leaves.
#[test]
fn what_a_method_leaves_is_counted_where_there_is_a_bound() {
    let mut case = Case::new();
    for gradient in ALL {
        let bounds = &mut case.budget.tensors[gradient].bound;
        (bounds[2], bounds[3]) = (0.0, f64::INFINITY);
    }
    let said = case.said(&ALL);
    let exact = values(&case.elements, &case.other);
    for gradient in ALL {
        let bounds = &case.budget.tensors[gradient].bound;
        let sum = |from: &Gradients<f64>| {
            let parts = case.got[gradient].values.iter().zip(&from[gradient].values).zip(bounds).enumerate();
            let counted = parts.filter(|(i, _)| ![2, 3].contains(i));
            counted.map(|(_, ((got, value), bound))| ((got - value) / bound).powi(2)).sum::<f64>()
        };
        let residual = (sum(&exact) / sum(&case.want)).sqrt();
        let named = said[gradient].iter().find(|one| one.name == NAME).expect("named");
        assert!((named.residual / residual - 1.0).abs() < 1e-9, "{gradient}: {} {residual}", named.residual);
    }
}

/// Steps so short that another method's gradient by B is, to a hundredth, zoh's, which conjugates do not change. The other two gradients
/// tell them apart, and what is said of all three stands before what is said of one.
#[test]
fn what_explains_all_wrong_gradients_comes_first() {
    let coarse = Contract { derivatives: [0.01 / U; 2], ..Contract::uniform(0.01 / U, 1.0) };
    let mut elements = CoefficientProblem::new(Weights::Complex);
    for i in 0..24 {
        let (size, angle) = (1.0 + 0.1 * f64::from(i), 0.3 + f64::from(i));
        let a = Complex64::new(-5.0, 5.0 + 0.0625 * f64::from(i));
        elements.push(1e-3 * (1.0 + 0.015625 * i as f32), a, Complex64::from_polar(size, angle));
    }
    let elements = OneStep::new(elements, &mut Draw::new(3, "short steps"));
    let budget = budget(&elements, Method::Zoh, &Contract::FOREIGN);
    let want = values(&elements, &budget);
    let got = values(&elements, &self::budget(&elements, OTHER, &Contract::FOREIGN));
    let pass = pass(&elements, Method::Zoh, &coarse);
    let said = diagnose(
        &Judged { pass, got: &got, want: &want, budget: &budget, lifted: None, work: &Work::default() },
        &ALL,
    );
    let place = |gradient: GradientName, name: &str| said[gradient].iter().position(|one| one.name == name);
    assert_eq!(place(Delta, UNCONJUGATED.0), None);
    let (common, other) = (place(B, NAME).expect("named"), place(B, UNCONJUGATED.0).expect("named"));
    assert!(common < other, "{:?}", said[B]);
    assert!([Delta, A].iter().all(|&gradient| place(gradient, NAME).is_some()));
}

/// Also of a zero the sign stays.
#[test]
fn a_finite_value_is_taken_as_it_is() {
    let cases: [(f32, f64); 2] = [(0.0, -0.0), (-0.0, 0.0)];
    each(cases, |(got, want)| {
        let elements = elements();
        let tensor = elements.problem.gradient(B, vec![got]);
        let want = elements.problem.gradient(B, vec![want]);
        let found = in_range(&[(B, tensor)].into_iter().collect(), &[(B, want)].into_iter().collect());
        assert_eq!(found[B].values[0].to_bits(), f64::from(got).to_bits());
    });
}

//! The bounds on gradients: their values are the truth's, and what a plain f32 backward pass returns is within them.

use holdfast::formula::{Form, Fraction, ReadsNow};
use holdfast::judge::budget::gradient::{GradientBudget, Pass, bounds};
use holdfast::method::Method;
use holdfast::problem::{InputType, OutputGradients, Problem, Shape, Weights};
use holdfast::promise::Contract;
use holdfast::promise::derivatives::{Units, production};
use holdfast::tensor::{GradientName, Gradients, TensorName};
use holdfast::truth::gradient::adjoint::Scan;
use holdfast::truth::gradient::number::Number;
use holdfast::truth::gradient::rules::Rules;
use holdfast::truth::gradient::solve;
use holdfast::truth::gradient::step::{Functions, Step};
use holdfast::truth::scan;

use crate::cases::each;
use crate::support::problems::{Layout, generator, layouts};

/// A number in f32, real ones with an imaginary part of 0.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Single {
    re: f32,
    im: f32,
}

impl Number for Single {
    type Real = Single;

    fn zero() -> Self {
        Single { re: 0.0, im: 0.0 }
    }

    fn one() -> Self {
        Single { re: 1.0, im: 0.0 }
    }

    fn given(parts: &[f32]) -> Self {
        Single { re: parts[0], im: parts.get(1).copied().unwrap_or(0.0) }
    }

    fn plus(&self, other: &Self) -> Self {
        Single { re: self.re + other.re, im: self.im + other.im }
    }

    fn times(&self, other: &Self) -> Self {
        Single { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }

    fn scaled(&self, factor: &Self) -> Self {
        Single { re: self.re * factor.re, im: self.im * factor.re }
    }

    fn ratio(&self, factor: Fraction) -> Self {
        let factor = factor.value() as f32;
        Single { re: self.re * factor, im: self.im * factor }
    }

    fn shifted(&self, n: i64) -> Self {
        let factor = 2f32.powi(n as i32);
        Single { re: self.re * factor, im: self.im * factor }
    }

    fn part(&self, index: usize) -> Self {
        Single { re: if index == 0 { self.re } else { self.im }, im: 0.0 }
    }
}

impl Single {
    fn size(self) -> f32 {
        self.re.hypot(self.im)
    }

    fn over(self, below: Self) -> Self {
        let square = below.re * below.re + below.im * below.im;
        Single {
            re: (self.re * below.re + self.im * below.im) / square,
            im: (self.im * below.re - self.re * below.im) / square,
        }
    }

    fn exp(self) -> Self {
        let size = self.re.exp();
        match self.im {
            0.0 => Single { re: size, im: 0.0 },
            im => Single { re: size * im.cos(), im: size * im.sin() },
        }
    }
}

fn step(form: ReadsNow, delta: &Single, a: &Single) -> Option<Step<Single>> {
    let one = Single::one();
    let z = a.scaled(delta);
    let exp = z.exp();
    let mut phis = [exp, one, one, one, one];
    if z.size() < 1.0 {
        let mut four = Single::zero();
        for k in (0..12).rev() {
            let factorial = (1..=k + 4).map(|i| i as f32).product::<f32>();
            four = four.times(&z).plus(&Single { re: 1.0 / factorial, im: 0.0 });
        }
        phis[4] = four;
        for (k, inverse) in [(3, 1.0 / 6.0), (2, 0.5), (1, 1.0)] {
            phis[k] = z.times(&phis[k + 1]).plus(&Single { re: inverse, im: 0.0 });
        }
    } else {
        for (k, inverse) in [(1, 1.0), (2, 1.0), (3, 0.5), (4, 1.0 / 6.0)] {
            phis[k] = phis[k - 1].minus(&Single { re: inverse, im: 0.0 }).over(z);
        }
    }
    let formula = form.formula();
    let resolvent = formula.pole().map_or(one, |alpha| one.over(one.minus(&z.ratio(alpha))));
    Some(Functions { delta: *delta, a: *a, z, phis, resolvent }.step(form))
}

/// A plain backward pass in f32.
fn plain() -> Rules<Single> {
    Rules {
        softplus: |raw| {
            let x = raw.re;
            let softplus = if x > 20.0 { x } else { x.exp().ln_1p() };
            [softplus, 1.0 / (1.0 + (-x).exp())].map(|re| Single { re, im: 0.0 })
        },
        gate: |z| {
            let z = z.re;
            let sigmoid = 1.0 / (1.0 + (-z).exp());
            [z * sigmoid, sigmoid * (1.0 + z * (1.0 - sigmoid))].map(|re| Single { re, im: 0.0 })
        },
        step,
        exponential: |_, _| None,
        inverse: |_, _| None,
    }
}

fn of_framework(method: Method, problem: &Problem, given: &OutputGradients) -> GradientBudget {
    bounds(Pass { form: method.into(), problem, given, contract: &Contract::FRAMEWORK })
}

/// What the plain pass returns, rounded to what it is stored in.
fn computed(
    method: Method,
    problem: &Problem,
    given: &OutputGradients,
    like: &Gradients<f64>,
) -> Gradients<f64> {
    let scan = Scan { problem, form: method.into(), given };
    let channels: Vec<_> = problem.channels().collect();
    let sums = scan.sums(&plain(), &channels).expect("every step is finite");
    like.map(|name, tensor| {
        tensor.with(sums[name].iter().map(|x| f64::from(tensor.element.round(x.re))).collect())
    })
}

/// The largest share of each tensor's bounds that `got` takes, and of its worst case.
fn shares(
    got: &Gradients<f64>,
    want: &Gradients<f64>,
    budget: &GradientBudget,
) -> Vec<(GradientName, f64, f64)> {
    got.zip(want)
        .map(|(name, got, want)| {
            let bounds = &budget.tensors[name];
            assert_eq!(bounds.bound.len() * want.width, want.values.len(), "{name}");
            let mut most = (0.0f64, 0.0f64);
            for (i, (got, want_value)) in got.values.iter().zip(&want.values).enumerate() {
                let error = (got - want_value).abs();
                let at = i / want.width;
                most.0 = most.0.max(error / bounds.bound[at]);
                most.1 = most.1.max(error / bounds.worst_case[at]);
            }
            (name, most.0, most.1)
        })
        .collect()
}

/// What the kernels' authors count of each derivative, with a product behind it, is no more than the judge allows.
#[test]
fn the_kernels_count_is_what_is_allowed() {
    for method in Method::ALL {
        for weights in Weights::ALL {
            let Units { a_bar, slope, h, h_by_delta, h_by_a } = production(method, weights);
            let product = if weights == Weights::Real { 1.0 } else { 5f64.sqrt() };
            let most = [slope, h, h_by_delta, h_by_a].into_iter().fold(0.0, f64::max) + product;
            let backward = Contract::BACKWARD;
            let allowed = backward.derivatives[weights.width() - 1];
            assert!(most <= allowed, "{method} {weights}: {most} of {allowed}");
            let units = 2f64.powi(24);
            let (of_a_bar, of_b_bar) = (
                backward.a_bar_error(method, weights) * units,
                backward.b_bar_error(method, weights) * units,
            );
            assert!(a_bar <= of_a_bar, "{method} {weights}: {a_bar} of {of_a_bar}");
            // Of zoh's Δ the product is of two real parts with a real number.
            let product = if method == Method::Zoh { 1.0 } else { product };
            assert!(h + product <= of_b_bar + 1e-9, "{method} {weights}: {h} + {product} of {of_b_bar}");
        }
    }
}

/// The theorem of the quick route needs q within 2⁻²⁷ of the worst case.
#[test]
fn values_are_the_truth() {
    each([0, 1, 2, 3, 4, 5], |method: usize| {
        let method = Method::ALL[method];
        let mut rng = generator("values_are_the_truth");
        let mut largest = 0.0f64;
        for layout in layouts(Shape { batch: 2, dim: 4, dstate: 3, seqlen: 7, groups: 2 }) {
            let (problem, given) = layout.with_loss(&mut rng);
            let truth = solve(&problem, &given, &[method]).expect("certified").remove(0);
            let budget = of_framework(method, &problem, &given);
            for (name, want) in truth.tensors.iter() {
                let bounds = &budget.tensors[name];
                assert_eq!(bounds.value.len(), want.values.len(), "{name}");
                for (i, (&q, &want_value)) in bounds.value.iter().zip(&want.values).enumerate() {
                    let radius = bounds.worst_case[i / want.width] / f64::from(1 << 27);
                    largest = largest.max((q - want_value).abs() / radius);
                    assert!(
                        (q - want_value).abs() <= radius,
                        "{method} {name}[{i}] of {layout:?}: {q:e}, {want_value:e}"
                    );
                }
            }
        }
        println!("{method}: |q − w|/r {largest:.3}");
    });
}

#[test]
fn a_plain_backward_pass_is_within() {
    each([0, 1, 2, 3, 4, 5], |method: usize| {
        let method = Method::ALL[method];
        let mut rng = generator("a_plain_backward_pass_is_within");
        for (batch, dim, dstate, seqlen, groups) in [(2, 4, 3, 7, 2), (1, 2, 5, 32, 1)] {
            for layout in layouts(Shape { batch, dim, dstate, seqlen, groups }) {
                let (problem, given) = layout.with_loss(&mut rng);
                let truth = solve(&problem, &given, &[method]).expect("certified").remove(0);
                let budget = of_framework(method, &problem, &given);
                let got = computed(method, &problem, &given, &truth.tensors);
                let shares = shares(&got, &truth.tensors, &budget);
                let shown: Vec<String> =
                    shares.iter().map(|(n, s, w)| format!("{n} {s:.2} {w:.3}")).collect();
                if layout.input == InputType::F32 {
                    println!("{method} {layout:?}: {}", shown.join(", "));
                }
                for (name, share, _) in shares {
                    assert!(share <= 1.0, "{method} {name} of {layout:?}: {share}");
                }
            }
        }
    });
}

/// What the scan itself makes of u_l = 1 alone is the gradient by u_l: a form that reads its neighbours has more terms than are bounded.
#[test]
fn a_form_that_reads_neighbours_has_no_bounds() {
    let mut problem = Layout::plain(1, 1, 2, 4).random(&mut generator("reads_neighbours"));
    (problem.u, problem.judged_channels) = (vec![0.0; 4], vec![(0, 0)]);
    let given = OutputGradients { dout: vec![1.0, -0.5, 0.25, 2.0], dlast_state: None };
    let mut refused = Vec::new();
    for form in Form::all() {
        let Ok(reads_now) = ReadsNow::try_from(form) else {
            refused.push(form.name());
            continue;
        };
        let pass = Pass { form: reads_now, problem: &problem, given: &given, contract: &Contract::FRAMEWORK };
        let budget = bounds(pass).tensors;
        let of_u = &budget[GradientName::U];
        for (l, (found, worst)) in of_u.value.iter().zip(&of_u.worst_case).enumerate() {
            let mut unit = problem.clone();
            unit.u[l] = 1.0;
            let truth = scan::solve(&unit, &[form]).expect("certified").remove(0);
            let out = &truth.tensors[TensorName::Out].values;
            let want: f64 = out.iter().zip(&given.dout).map(|(y, &dout)| y * f64::from(dout)).sum();
            assert!((found - want).abs() <= worst / f64::from(1 << 27), "{form} by u[{l}]: {found}, {want}");
        }
    }
    assert_eq!(refused, ["foh-textbook", "bilinear-averaged", "exp-trapezoidal", "foh-causal"]);
}

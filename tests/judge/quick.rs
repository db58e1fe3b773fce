//! Promise: a quick verdict equals the certified one, on every kind of input, or there is none.

use holdfast::formula::Form;
use holdfast::judge::budget::{self, Bounds, ChannelBudget};
use holdfast::judge::quick::{self, Decision, RADIUS, decide};
use holdfast::judge::ulp::Format;
use holdfast::judge::verdict::Element;
use holdfast::method::Method;
use holdfast::problem::conventions::{ComplexOutput, Reads, StateHolds};
use holdfast::problem::inputs::{self, Draw};
use holdfast::problem::plan::{self, Filter};
use holdfast::problem::regime::{self, Recipe};
use holdfast::problem::{
    CoefficientProblem, Conventions, InputType, Operand, Problem, Shape, Weights, sweep,
};
use holdfast::promise::{Contract, Promise};
use holdfast::tensor::{TensorName, Tensors};
use holdfast::truth;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// What a comparison of both routes comes to.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    elements: usize,
    open: usize,
    /// The largest |q − w|/r.
    radius: f64,
}

impl Compared {
    fn with(self, other: Compared) -> Compared {
        Compared {
            elements: self.elements + other.elements,
            open: self.open + other.open,
            radius: self.radius.max(other.radius),
        }
    }
}

/// Both routes on every judged element of a problem, with errors planted around the bound.
fn compare(problem: &Problem) -> Compared {
    let forms: Vec<Form> = Form::all().collect();
    let mut compared = Compared::default();
    for truth in truth::scan::solve(problem, &forms).expect("a truth") {
        let budget = budget::scan(truth.method, problem, &Contract::FRAMEWORK);
        for (name, want, bounds) in truth.tensors.zip(&budget.tensors) {
            let format = Format::for_input(want.element);
            for (i, (&exact, &quick)) in want.values.iter().zip(&bounds.value).enumerate() {
                let at = i / want.width;
                let (bound, worst_case, store) = (bounds.bound[at], bounds.worst_case[at], bounds.store[at]);
                compared.elements += 1;
                let place = || {
                    format!("{} {name} {i}: {quick:e} for {exact:e}, {bound:e}, {worst_case:e}", truth.method)
                };
                if worst_case.is_finite() {
                    let share = (quick - exact).abs() / (RADIUS * worst_case);
                    assert!(share <= 1.0, "{}, {share}", place());
                    compared.radius = compared.radius.max(share);
                }
                // What may overflow is left open, and is no sign of a route that decides nothing.
                let in_range = exact.abs() + 2.0 * bound < f64::from(f32::MAX);
                let mut open = false;
                for planted in [-1.01, -1.0, -0.99, 0.0, 0.5, 0.99, 1.0, 1.01] {
                    let got = exact + planted * bound;
                    let certified = Element { got, want: exact, bound, store }.distance(format).ratio <= 1.0;
                    let decision =
                        decide(Element { got, want: quick, bound, store }, RADIUS * worst_case, format);
                    match decision {
                        Decision::Open => open |= in_range && planted.abs() != 1.0,
                        Decision::Unbounded => assert_eq!(bound, f64::INFINITY, "{}", place()),
                        decided => {
                            assert_eq!(decided == Decision::Pass, certified, "{} at {planted}", place())
                        }
                    }
                }
                compared.open += usize::from(open);
            }
        }
    }
    compared
}

/// Many steps that are hard, as scans of three positions with one state each.
fn scans(steps: &CoefficientProblem, random: &mut ChaCha8Rng) -> Problem {
    let width = steps.weights.width();
    // What the truth refuses: an exponent beyond its range, the poles themselves.
    let keep = |i: &usize| {
        let a = &steps.a[i * width..(i + 1) * width];
        let z = a.iter().map(|part| f64::from(*part) * f64::from(steps.delta[*i])).collect::<Vec<_>>();
        let at_pole = [1.0, 2.0].contains(&z[0]) && z[1..].iter().all(|part| *part == 0.0);
        z.iter().all(|part| part.abs() < 16_384.0) && !at_pole
    };
    let kept: Vec<usize> = (0..steps.delta.len()).filter(keep).collect();
    let (dim, seqlen) = (kept.len(), 3);
    let of = |values: &[f32]| {
        kept.iter().flat_map(|i| values[i * width..(i + 1) * width].to_vec()).collect::<Vec<_>>()
    };
    let delta =
        kept.iter().flat_map(|i| [steps.delta[*i], steps.delta[*i], 0.75 * steps.delta[*i]]).collect();
    Problem {
        shape: Shape { batch: 1, dim, dstate: 1, seqlen, groups: 1 },
        weights: steps.weights,
        input: InputType::F32,
        b_operand: Operand::Constant,
        c_operand: Operand::Constant,
        u: (0..dim * seqlen).map(|_| random.random_range(-2.0..2.0)).collect(),
        delta,
        a: of(&steps.a),
        b: of(&steps.b),
        c: (0..dim * width).map(|_| random.random_range(-2.0..2.0)).collect(),
        d: None,
        z: None,
        delta_bias: None,
        delta_softplus: false,
        initial_state: None,
        conventions: Default::default(),
        judged_channels: (0..dim).map(|d| (0, d)).collect(),
        held: None,
        packed: None,
    }
}

/// Steps of all sizes and signs, beside the pole and beside zero.
fn random_steps(weights: Weights, count: usize, random: &mut ChaCha8Rng) -> CoefficientProblem {
    use num_complex::Complex64;
    let mut steps = CoefficientProblem::new(weights);
    for i in 0..count {
        let mut sized = |from: f64, to: f64| {
            let sign = if random.random::<bool>() { 1.0 } else { -1.0 };
            sign * 10f64.powf(random.random_range(from..to))
        };
        let delta = sized(-4.0, 1.0);
        let z = match i % 4 {
            0 => Complex64::new(sized(-6.0, 2.0), sized(-6.0, 2.0)),
            1 => Complex64::new(2.0 + sized(-9.0, -1.0), sized(-9.0, -1.0)),
            2 => Complex64::new(-sized(-3.0, 3.0).abs(), sized(-3.0, 3.5)),
            _ => Complex64::new(sized(-42.0, -6.0), sized(-42.0, -6.0)),
        };
        steps.push(delta as f32, z / delta, Complex64::new(sized(-2.0, 2.0), sized(-2.0, 2.0)));
    }
    steps
}

#[test]
fn recordings_are_judged_by_the_contract_that_the_theorem_is_about() {
    assert_eq!(Promise::RECORDED.contract, Contract::FRAMEWORK);
}

/// All points of the sweeps, and as many elements of steps by lot.
fn both_routes_agree_on(elements: usize) {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut problems: Vec<Problem> = Vec::new();
    for sweep in sweep::all() {
        problems.push(scans(&sweep.draw(1), &mut random));
    }
    for weights in Weights::ALL {
        // Three outputs and a last state of each step by each form.
        let (count, each) = (elements / 2 / (4 * Form::COUNT), 200);
        problems.extend(
            (0..count.div_ceil(each)).map(|_| scans(&random_steps(weights, each, &mut random), &mut random)),
        );
    }
    let compared = problems.par_iter().map(compare).reduce(Compared::default, Compared::with);
    println!("{compared:?}");
    assert!(compared.elements >= elements);
    // Few are too hard: a route that leaves everything open would agree with any other.
    assert!(compared.open * 1000 < compared.elements, "{compared:?}");
    // And r is no bound that anything keeps.
    assert!(compared.radius > 0.01, "{compared:?}");
}

#[test]
fn both_routes_agree_on_hard_elements() {
    both_routes_agree_on(200_000);
}

#[test]
#[ignore = "`cargo test` draws a fifth of them: .ci/long"]
fn both_routes_agree_on_a_million_hard_elements() {
    both_routes_agree_on(1_000_000);
}

/// Steps whose B̄/B cancels so far that f64 makes it 0, which it is not: the bounds are those of what was cancelled.
#[test]
fn both_routes_agree_where_a_coefficient_comes_out_as_zero() {
    use num_complex::Complex64;
    let mut random = ChaCha8Rng::seed_from_u64(5);
    for weights in Weights::ALL {
        let mut steps = CoefficientProblem::new(weights);
        let half = Complex64::new(-0.5, 0.0);
        for (delta, a) in [(-100.0, half), (-150.0, half), (-2.03125, Complex64::new(32.0, 32.0))] {
            steps.push(delta, a, Complex64::new(0.3, -0.2));
        }
        let problem = scans(&steps, &mut random);
        let comes_out_as_zero = |form| quick::values(form, &problem)[TensorName::Out].contains(&0.0);
        assert!(Form::all().any(comes_out_as_zero));
        compare(&problem);
    }
}

#[test]
fn both_routes_agree_on_every_regime_method_weight_and_input_type() {
    let mut specs = plan::plan(&Filter::default());
    let mut seen = std::collections::BTreeSet::new();
    specs.retain(|spec| seen.insert((spec.regime.name.clone(), spec.weights, spec.input)));
    let of = |spec: &plan::Spec| {
        let mut problem = spec.draw(1);
        problem.judged_channels.truncate(1);
        let small = problem.shape.seqlen * problem.shape.dstate <= 1_100;
        if small { compare(&problem) } else { Compared::default() }
    };
    let compared = specs.par_iter().map(of).reduce(Compared::default, Compared::with);
    println!("{compared:?}");
    assert!(compared.open * 1000 < compared.elements, "{compared:?}");
}

#[test]
fn both_routes_agree_under_every_convention() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut problems = Vec::new();
    for weights in Weights::ALL {
        for b in Operand::ALL {
            let shape = Shape { batch: 2, dim: 3, dstate: 10, seqlen: 20, groups: 1 };
            let recipe = Recipe { shape, ..regime::EVERYTHING };
            let mut draw = Draw::new(1, "quick/conventions");
            let drawn = inputs::draw(&recipe, weights, InputType::F32, (b, Operand::Variable), &mut draw);
            for reads in Reads::ALL {
                for state in
                    StateHolds::ALL.into_iter().filter(|s| *s == StateHolds::B || b == Operand::Constant)
                {
                    for output in ComplexOutput::ALL {
                        let states = 2 * 3 * 10 * weights.width();
                        let initial = (0..states).map(|_| random.random_range(-4.0..4.0)).collect();
                        problems.push(Problem {
                            conventions: Conventions { reads, state, output, ..Conventions::default() },
                            initial_state: Some(initial),
                            judged_channels: drawn.channels().collect(),
                            ..drawn.clone()
                        });
                    }
                }
            }
        }
    }
    let compared = problems.par_iter().map(compare).reduce(Compared::default, Compared::with);
    println!("{compared:?}");
    assert!(compared.open * 1000 < compared.elements, "{compared:?}");
    assert!(compared.radius > 0.01, "{compared:?}");
}

/// Where z and b repeat, the bound that is judged by is far above the one without repeats; every channel is judged by its own
/// row, and every element by its own place.
#[test]
fn channels_are_judged_by_the_bounds_that_count_repeats() {
    let mut raised = 0;
    for weights in Weights::ALL {
        let shape = Shape { batch: 2, dim: 3, dstate: 3, seqlen: 600, groups: 1 };
        let recipe = Recipe { shape, ..regime::PLAIN };
        let operands = (Operand::Constant, Operand::Constant);
        let mut problem =
            inputs::draw(&recipe, weights, InputType::F32, operands, &mut Draw::new(1, "quick/repeats"));
        problem.delta.fill(0.0625);
        problem.u.fill(1.5);
        problem.judged_channels = problem.channels().collect();
        let (method, contract) = (Method::Zoh, Contract::FRAMEWORK);
        let budget = budget::scan(method, &problem, &contract);
        assert!(budget.repeats >= 600.0);
        let planted = |share: f64| -> Tensors<f32> {
            let value = |bounds: &Bounds, width: usize| -> Vec<f32> {
                let off = |(i, value): (usize, &f64)| (value + share * bounds.bound[i / width]) as f32;
                bounds.value.iter().enumerate().map(off).collect()
            };
            let tensor = |(name, bounds): (TensorName, &Bounds)| {
                let width = bounds.value.len() / bounds.bound.len();
                (name, problem.tensor(name, value(bounds, width)))
            };
            budget.tensors.iter().map(tensor).collect()
        };
        for (share, right) in [(0.9, true), (1.1, false)] {
            let got = planted(share);
            for &at in &problem.judged_channels {
                let least = ChannelBudget::new(method, &problem, at, &contract).least();
                for (name, tally) in quick::judge((method, &contract), &problem, at, &got).iter() {
                    let decided = if right { tally.passed } else { tally.failed };
                    assert_eq!(decided, tally.elements(), "{weights} {at:?} {name} at {share}: {tally:?}");
                }
                let row = at.0 * shape.dim + at.1;
                let judged = &budget.tensors[TensorName::Out].bound[row * shape.seqlen..];
                let bounds = least[TensorName::Out].bound.iter().zip(judged);
                raised += bounds.filter(|(least, judged)| **least < 0.8 * **judged).count();
            }
        }
    }
    assert!(raised > 0, "nothing here needs the count of repeats");
}

#[test]
fn what_is_no_number_fails_in_its_own_channel_alone() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let problem = scans(&random_steps(Weights::Real, 40, &mut random), &mut random);
    let (method, contract) = (Method::Zoh, Contract::FRAMEWORK);
    let mut got: Tensors<f32> = quick::values(method, &problem)
        .into_iter()
        .map(|(name, values)| {
            (name, problem.tensor(name, values.iter().map(|value| *value as f32).collect()))
        })
        .collect();
    let clean: Vec<usize> = (0..problem.shape.dim).filter(|row| passes(&problem, *row, &got)).collect();
    assert!(clean.len() > 4);
    for (wrong, row) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY].into_iter().zip(&clean) {
        got[TensorName::Out].values[row * problem.shape.seqlen + 1] = wrong;
        let tallies = quick::judge((method, &contract), &problem, (0, *row), &got);
        assert_eq!(tallies[TensorName::Out].failed, 1, "{wrong}");
        assert_eq!(tallies[TensorName::LastState].failed, 0, "{wrong}");
    }
    assert!(clean[3..].iter().all(|row| passes(&problem, *row, &got)));
}

fn passes(problem: &Problem, row: usize, got: &Tensors<f32>) -> bool {
    let tallies = quick::judge((Method::Zoh, &Contract::FRAMEWORK), problem, (0, row), got);
    tallies.values().all(|tally| tally.passed == tally.elements())
}

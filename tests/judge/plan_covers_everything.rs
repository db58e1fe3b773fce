//! Promise: the default run covers every combination that the kernels offer, on inputs that are what their
//! regime says, and on inputs that can tell every two methods apart.

use std::collections::BTreeSet;

use holdfast::judge::budget;
use holdfast::judge::pairwise::{MethodOutputs, distinguishable};
use holdfast::judge::ulp::Format;
use holdfast::method::Method;
use holdfast::problem::plan::{Filter, Spec, plan};
use holdfast::problem::regime::{self, LAUNCH_EDGES, STRETCH};
use holdfast::problem::roots::Combination;
use holdfast::problem::{InputType, Operand, Problem, Weights, sweep};
use holdfast::promise::Contract;
use holdfast::tensor::TensorName;
use holdfast::truth;
use num_complex::Complex64;

use crate::cases::each;

fn drawn(regime_name: &str) -> Vec<Problem> {
    let regimes = vec![regime::find(regime_name).unwrap_or_else(|| panic!("no regime {regime_name}"))];
    plan(&Filter { regimes, ..Filter::default() }).iter().map(|spec| spec.draw(1)).collect()
}

/// |ΔA| of every element, for problems without bias and softplus.
fn z_range(problem: &Problem) -> (f64, f64) {
    let w = problem.weights.width();
    let mut range = (f64::INFINITY, 0.0f64);
    for channel in 0..problem.shape.dim {
        for l in 0..problem.shape.seqlen {
            let delta = f64::from(problem.delta[problem.sequence_index(0, channel, l)]);
            for n in 0..problem.shape.dstate {
                let at = problem.weight_index(channel, n);
                let a = problem.a[at..at + w].iter().fold(0.0, |norm: f64, &x| norm.hypot(f64::from(x)));
                range = (range.0.min(delta * a), range.1.max(delta * a));
            }
        }
    }
    range
}

#[test]
fn default_plan_covers_every_weight_input_and_layout() {
    let covered: BTreeSet<_> =
        plan(&Filter::default()).iter().map(|s| (s.weights, s.input, s.b, s.c)).collect();
    let all = Weights::ALL.len() * InputType::ALL.len() * Operand::ALL.len() * Operand::ALL.len();
    assert_eq!(covered.len(), all);
}

#[test]
fn default_plan_tries_each_launch_edge_and_its_neighbours_with_both_weights() {
    let specs = plan(&Filter::default());
    for edge in LAUNCH_EDGES {
        for seqlen in [edge - 1, edge, edge + 1] {
            for weights in Weights::ALL {
                let runs = |s: &&Spec| s.weights == weights && s.regime.recipe.shape.seqlen == seqlen;
                assert!(specs.iter().any(|s| runs(&s)), "seqlen {seqlen}, {weights}");
            }
        }
    }
}

#[test]
fn problem_ids_are_unique_and_say_what_is_drawn() {
    let specs = plan(&Filter::default());
    let ids: BTreeSet<String> = specs.iter().map(Spec::id).collect();
    assert_eq!(ids.len(), specs.len());
    for spec in specs {
        let problem = spec.draw(1);
        assert_eq!((problem.weights, problem.input), (spec.weights, spec.input), "{}", spec.id());
        assert_eq!((problem.b_operand, problem.c_operand), (spec.b, spec.c), "{}", spec.id());
    }
}

#[test]
fn asking_for_an_input_type_runs_it_in_every_regime() {
    for input in InputType::ALL {
        let specs = plan(&Filter { inputs: vec![input], ..Filter::default() });
        let regimes: BTreeSet<&str> = specs.iter().map(|s| s.regime.name.as_str()).collect();
        assert_eq!(regimes.len(), regime::all().len());
        assert!(specs.iter().all(|s| s.input == input));
    }
}

#[test]
fn the_same_seed_draws_the_same_problem_and_another_seed_another() {
    let spec = &plan(&Filter::default())[0];
    let (one, again, other) = (spec.draw(7), spec.draw(7), spec.draw(8));
    assert_eq!((&one.u, &one.a, &one.b, &one.c), (&again.u, &again.a, &again.b, &again.c));
    assert_ne!(one.u, other.u);
}

#[test]
fn z_lies_where_the_regime_says() {
    let cases: [(&str, &str, f64, f64); 4] = [
        ("tiny", "tiny-z", 1e-9, 1e-3),
        ("stiff", "stiff", 1.0, 200.0),
        ("imaginary", "imaginary", 7e-4, 5.0),
        ("zero", "zero-a", 0.0, 0.0),
    ];
    each(cases, |(_, name, lo, hi)| {
        for problem in drawn(name) {
            let (least, most) = z_range(&problem);
            // bf16 and f16 steps are rounded, by at most 2⁻⁸.
            let slack = 1.0 + 2f64.powi(-8);
            assert!(least >= lo / slack && most <= hi * slack, "{name}: |z| from {least} to {most}");
            assert!(most >= hi / 10.0, "{name} does not reach its range: |z| only up to {most}");
        }
    });
}

#[test]
fn bilinear_pole_regime_comes_within_ten_percent_of_the_pole() {
    for problem in drawn("bilinear-pole") {
        let w = problem.weights.width();
        let near = (0..problem.shape.dim).all(|channel| {
            (0..problem.shape.seqlen).any(|l| {
                let delta = problem.delta[problem.sequence_index(0, channel, l)];
                (0..problem.shape.dstate)
                    .any(|n| (delta * problem.a[(channel * problem.shape.dstate + n) * w] - 2.0).abs() < 0.25)
            })
        });
        assert!(near);
    }
}

#[test]
fn zeros_are_where_the_regime_says() {
    assert!(drawn("u-zero").iter().all(|p| p.u.iter().all(|&u| u == 0.0)));
    assert!(drawn("b-zero").iter().all(|p| p.b.iter().all(|&b| b == 0.0)));
    for problem in drawn("delta-zero") {
        let zeros = problem.delta.iter().filter(|&&d| d == 0.0).count();
        assert!(zeros * 4 > problem.delta.len() && zeros * 2 < problem.delta.len());
    }
    for problem in drawn("imaginary") {
        assert!(problem.a.chunks(2).all(|a| a[0] == 0.0 && a[1] != 0.0));
    }
}

#[test]
fn everything_on_switches_everything_on() {
    for problem in drawn("everything-on") {
        assert!(problem.d.is_some() && problem.z.is_some() && problem.delta_bias.is_some());
        assert!(problem.delta_softplus && problem.shape.groups > 1);
    }
}

#[test]
fn channels_of_the_wide_regime_share_nothing() {
    fn different<T: PartialEq>(rows: &[T]) -> bool {
        rows.iter().enumerate().all(|(i, row)| !rows[i + 1..].contains(row))
    }
    for problem in drawn("wide") {
        let row = problem.shape.dstate * problem.weights.width();
        assert!(problem.shape.dim > 256 && problem.shape.groups > 128);
        assert!(different(&problem.a.chunks(row).collect::<Vec<_>>()));
        let per_channel = [problem.d.as_deref(), problem.delta_bias.as_deref()];
        assert!(per_channel.into_iter().all(|values| different(values.expect("there"))));
        assert_eq!(problem.judged_channels.len(), problem.shape.batch * problem.shape.dim);
    }
}

#[test]
fn softplus_band_has_many_steps_beside_any_threshold() {
    for problem in drawn("softplus-band") {
        assert!(problem.delta_softplus && problem.delta_bias.is_none() && problem.shape.seqlen == 1);
        for from in 8..20 {
            let range = f32::from(from as u8)..=f32::from(from as u8 + 1);
            let count = problem.delta.iter().filter(|delta| range.contains(delta)).count();
            assert!(count >= 15, "{count} from {from} on");
        }
    }
}

#[test]
fn outputs_of_the_16_bit_range_reach_beyond_both_ends() {
    for problem in drawn("16-bit-range") {
        let truths = truth::scan::solve(&problem, &[Method::Zoh]).expect("certified");
        let out = &truths[0].tensors[TensorName::Out].values;
        let count = |inside: &dyn Fn(f64) -> bool| out.iter().filter(|y| inside(y.abs())).count();
        // Subnormal f16, and beyond its largest number.
        assert!(count(&|y| y < 6e-5) >= 8 && count(&|y| y > 65520.0) >= 2, "{:?}", problem.input);
    }
}

#[test]
fn everything_is_on_at_every_launch_and_over_several_chunks() {
    for seqlen in LAUNCH_EDGES.into_iter().chain([2049, 4097, 6145]) {
        let problems = drawn(&format!("everything-{seqlen}"));
        assert_eq!(problems.len(), Weights::ALL.len());
        for problem in problems {
            assert!(problem.d.is_some() && problem.z.is_some() && problem.delta_bias.is_some());
            assert!(problem.delta_softplus && problem.shape.groups > 1 && problem.shape.seqlen == seqlen);
        }
    }
}

/// Two states of some 34 grow beyond f32 in one stretch of each batch entry; whatever the method, nothing that is computed does.
#[test]
fn products_overflow_where_no_state_does() {
    for problem in drawn("overflowing-products") {
        let (shape, width) = (problem.shape, problem.weights.width());
        for batch in 0..shape.batch {
            let grows = |n: usize, stretch: usize| -> f64 {
                let positions = stretch * STRETCH..(stretch + 1) * STRETCH;
                let steps = positions.map(|l| f64::from(problem.delta[problem.sequence_index(batch, 0, l)]));
                steps.sum::<f64>() * f64::from(problem.a[n * width])
            };
            for stretch in 0..shape.seqlen / STRETCH {
                let beyond = (0..shape.dstate).filter(|&n| grows(n, stretch) > f64::from(f32::MAX).ln());
                let expected: &[usize] = if stretch == batch { &[16, 17] } else { &[] };
                assert_eq!(beyond.collect::<Vec<_>>(), expected, "batch {batch}, stretch {stretch}");
            }
        }
        for truth in truth::scan::solve(&problem, &Method::ALL).expect("certified") {
            let largest = truth.tensors.values().flat_map(|tensor| &tensor.values);
            let largest = largest.fold(0.0f64, |most, x| most.max(x.abs()));
            assert!((1e15..1e37).contains(&largest), "{}: {largest:e}", truth.method);
        }
    }
}

/// z = ΔA of every element of a sweep.
fn swept(name: &str) -> Vec<Complex64> {
    elements(name).into_iter().map(|(_, z)| z).collect()
}

/// Δ and z = ΔA of every element of a sweep.
fn elements(name: &str) -> Vec<(f64, Complex64)> {
    let sweep = sweep::all().into_iter().find(|sweep| sweep.name == name).expect("in the table");
    let problem = sweep.draw(1);
    let width = problem.weights.width();
    let a = |i: usize, part: usize| if part < width { f64::from(problem.a[i * width + part]) } else { 0.0 };
    let element = |(i, &delta): (usize, &f32)| {
        let delta = f64::from(delta);
        (delta, Complex64::new(a(i, 0), a(i, 1)) * delta)
    };
    problem.delta.iter().enumerate().map(element).collect()
}

#[test]
fn sweeps_lie_where_they_say() {
    for name in ["dense real band", "dense complex band"] {
        assert!(swept(name).iter().all(|z| (0.049..4.01).contains(&z.norm())), "{name}");
    }
    for name in ["real far right", "complex far right"] {
        assert!(swept(name).iter().all(|z| (79.9..200.1).contains(&z.re)), "{name}");
    }
    assert!(swept("fast turns").iter().all(|z| (999.0..30001.0).contains(&z.im.abs())));
    let rk4 = |z: &Complex64| 24.0 + z * (12.0 + z * (4.0 + z));
    for name in ["real roots", "complex roots"] {
        let nearest =
            swept(name).iter().map(|z| rk4(z).norm()).filter(|p| *p < 24.0 * 2f64.powi(-20)).count();
        assert!(nearest >= 40, "{name}: {nearest} near a root of rk4's polynomial");
    }
    // Nearer than an f32 can be: a product of two comes to 2⁻⁴⁸.
    let nearest = swept("real roots").iter().filter(|z| rk4(z).norm() < 24.0 * 2f64.powi(-40)).count();
    assert_eq!(nearest, 3);
    // Roots for steps of either sign, a few of them nearer than pairs of floats or double can do.
    for (name, sum, sign, beside, beyond) in [
        ("real roots", Combination::Poly, -1.0, 80, 20),
        ("complex roots", Combination::Poly, 1.0, 60, 1),
        ("complex roots", Combination::Poly, -1.0, 100, 10),
        ("complex roots", Combination::HighOrder, 1.0, 60, 1),
        ("complex roots", Combination::HighOrder, -1.0, 100, 40),
    ] {
        let losing = |bits: f64| {
            let loses = |(delta, z): &(f64, Complex64)| {
                delta * sign > 0.0 && z.norm() > 0.05 && lost(sum, *delta, *z) > bits
            };
            elements(name).iter().filter(|element| loses(element)).count()
        };
        let found = (losing(15.0), losing(30.0));
        assert!(found.0 >= beside && found.1 >= beyond, "{name}, {sum:?}, {sign}: {found:?}");
    }
}

/// Bits by which a sum of φ-functions is less than its terms.
fn lost(sum: Combination, delta: f64, z: Complex64) -> f64 {
    let magnitude = |step: f64| sum.at(step, z).norm();
    let foh = Combination::Foh.at(1.0, z).norm();
    let terms = match sum {
        Combination::Foh => foh,
        // φ₁ is the sum at Δ = 0.
        Combination::Poly => magnitude(0.0) + 0.5 * delta.abs() * foh,
        Combination::HighOrder => magnitude(0.0) + delta.abs() * foh,
    };
    (terms / magnitude(delta)).log2()
}

/// Without this the pairwise verdict could be vacuous: two methods that no problem tells apart.
#[test]
fn short_regime_tells_every_two_methods_apart() {
    each([Weights::Real, Weights::Complex], |weights: Weights| {
        let filter = Filter {
            regimes: vec![regime::find("short").expect("named in the table")],
            weights: vec![weights],
            inputs: vec![InputType::F32],
            ..Filter::default()
        };
        for spec in plan(&filter) {
            let problem = spec.draw(1);
            let truths = truth::scan::solve(&problem, &Method::ALL).expect("certified");
            let outputs: Vec<MethodOutputs> = truths
                .into_iter()
                .map(|t| MethodOutputs {
                    form: t.method.into(),
                    format: Format::F32,
                    truth: t.tensors[TensorName::Out].values.clone(),
                    kernel: None,
                    bound: budget::scan(t.method, &problem, &Contract::PRODUCTION).tensors[TensorName::Out]
                        .bound
                        .clone(),
                })
                .collect();
            for (i, left) in outputs.iter().enumerate() {
                for right in &outputs[i + 1..] {
                    assert!(
                        distinguishable(left, right),
                        "{} and {} in {}",
                        left.form,
                        right.form,
                        spec.id()
                    );
                }
            }
        }
    });
}

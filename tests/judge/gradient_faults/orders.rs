//! Promise: of several that explain a gradient the one comes first that leaves what is right as it is, explains the most, and says
//! the most; and what one gradient has, those that are made of it have, too.

use holdfast::judge::diagnose::Work;
use holdfast::judge::faults::gradient::catalogue::{self, Fault};
use holdfast::judge::faults::gradient::{Case, all, diagnose, edges, find};
use holdfast::method::Method;
use holdfast::problem::{InputType, Operand, OutputGradients, Problem, Shape, Weights};
use holdfast::results::Diagnosis;
use holdfast::tensor::GradientName::{self, A, B, C, D, Delta, DeltaBias, InitialState, U, Z};
use holdfast::tensor::Gradients;

use super::blank::{Blank, Numbers, irregular, told};
use super::skip::plain;
use super::{Known, largest, noisy, random};
use crate::cases::{crossed, each};
use crate::support::problems::{Layout, generator};

fn names(all: &[Diagnosis]) -> Vec<&str> {
    all.iter().map(|one| one.name.as_str()).collect()
}

fn fault(name: &str) -> &'static Fault {
    find(name).unwrap_or_else(|| panic!("{name} is no fault"))
}

fn halve(got: &mut Gradients<f64>, name: GradientName) {
    got[name].values.iter_mut().for_each(|value| *value *= 0.5);
}

/// With whatever a problem can have, but for a second group: three channels share B and C.
fn drawn(weights: Weights, seqlen: usize) -> (Problem, OutputGradients) {
    let shape = Shape { batch: 2, dim: 3, dstate: 2, seqlen, groups: 1 };
    let (b, c) = (Operand::Variable, Operand::Variable);
    let layout = Layout { shape, weights, input: InputType::F32, b, c, gate: true, extras: true };
    random(&layout, &mut generator("what comes first"))
}

/// What is known of these gradients alone.
fn only(known: &mut Known, names: &[GradientName]) {
    known.want = known.want.clone().into_iter().filter(|(name, _)| names.contains(name)).collect();
    known.bounds = known.bounds.clone().into_iter().filter(|(name, _)| names.contains(name)).collect();
}

/// What explains more gradients is likelier, and comes first; else the catalogue's order is kept.
#[test]
fn what_explains_more_comes_first() {
    let drawn = plain(2, 5, 7);
    let known = Known::new(Method::Zoh, &drawn);
    let mut got = known.want.clone();
    halve(&mut got, D);
    assert_eq!(names(&known.judged(&got)[D]), ["batch-averaged", "gradient-halved"]);
    halve(&mut got, U);
    let judged = known.judged(&got);
    assert_eq!(names(&judged[D]), ["gradient-halved", "batch-averaged"]);
    assert_eq!(names(&judged[U]), ["gradient-halved"]);
}

/// A factor that is of all gradients says more than one of the whole gradient, and less if it would change what is right.
#[test]
fn a_factor_of_all_comes_before_that_of_one() {
    let drawn = drawn(Weights::Complex, 9);
    let mut known = Known::new(Method::Zoh, &drawn);
    let mut got = known.want.clone();
    halve(&mut got, C);
    let noisy = noisy(&got, &mut generator("half of grad.C"));
    let judged = known.judged(&noisy);
    assert_eq!(names(&judged[C]), ["gradient-halved", "output-factor-missing"]);
    // Where nothing else is known, the factor is missing wherever it could be.
    only(&mut known, &[C]);
    let noisy: Gradients<f64> = noisy.into_iter().filter(|(name, _)| *name == C).collect();
    assert_eq!(names(&known.judged(&noisy)[C]), ["output-factor-missing", "gradient-halved"]);
}

/// Real outputs of one direction have no factor that a place could lack: what is half is said to be.
#[test]
fn where_nothing_has_a_factor_none_is_looked_for() {
    let drawn = drawn(Weights::Real, 9);
    let known = Known::new(Method::Zoh, &drawn);
    let mut got = known.want.clone();
    halve(&mut got, C);
    let judged = known.judged(&noisy(&got, &mut generator("half of grad.C")));
    assert_eq!(names(&judged[C]), ["gradient-halved"]);
}

/// That a gradient is 0 says all.
#[test]
fn what_is_nothing_is_said_to_be() {
    let drawn = drawn(Weights::Complex, 9);
    let mut known = Known::new(Method::Zoh, &drawn);
    only(&mut known, &[C]);
    let mut got = known.want.clone();
    got[C].values.fill(0.0);
    let judged = known.judged(&got);
    let names = names(&judged[C]);
    assert_eq!(names, [catalogue::ZERO]);
}

/// What a fault would change by more than four bounds is not right as it is.
#[test]
fn what_would_change_what_is_right_comes_later() {
    let cases: [(&str, f64, bool); 2] = [("within four bounds", 3.9, true), ("beyond", 4.1, false)];
    each(cases, |(_, bounds, agrees)| {
        let drawn = drawn(Weights::Real, 9);
        let mut known = Known::new(Method::Zoh, &drawn);
        only(&mut known, &[U, Z]);
        let last = known.compute(fault("last-position-without-gradient"));
        let change: Vec<f64> = last[U].values.iter().zip(&known.want[U].values).map(|(a, b)| a - b).collect();
        known.bounds[U].fill(largest(&change) / bounds);
        let mut got = known.want.clone();
        got[Z] = last[Z].clone();
        let judged = known.judged(&got);
        let names = names(&judged[Z]);
        let zero = "gradient-partly-zero";
        if agrees {
            assert_eq!(names[0], "last-position-without-gradient");
            assert!(!names.contains(&zero), "{names:?}");
        } else {
            assert_eq!(names[..2], [zero, "last-position-without-gradient"]);
            let at = "the gradient is 0 at position 8 of 0 to 8, and right elsewhere";
            assert_eq!(judged[Z][0].what, at);
        }
    });
}

/// A pass that keeps its outputs has grad.z right, whatever it reads wrongly later: that tells nothing against a fault, and no
/// place is looked for.
#[test]
fn a_right_gradient_of_the_gate_tells_nothing() {
    let drawn = drawn(Weights::Real, 9);
    let mut known = Known::new(Method::Zoh, &drawn);
    only(&mut known, &[C, Z]);
    let ignored = fault("initial-state-ignored");
    let mut got = known.want.clone();
    got[C] = known.compute(ignored)[C].clone();
    let judged = known.judged(&noisy(&got, &mut generator("an initial state that is ignored")));
    let names = names(&judged[C]);
    assert_eq!(names[0], ignored.name);
    assert!(names.iter().all(|name| catalogue::find(name).is_some()), "{names:?}");
}

/// Which gradients have a part with a factor, and which were recorded at all.
#[test]
fn a_part_is_shared() {
    let cases: [(&str, &[GradientName], Option<&[GradientName]>, usize); 4] = [
        ("all", &[U, Delta, A, B, DeltaBias, InitialState], None, 2),
        ("some while others are right", &[Delta, A], None, 1),
        ("some while nothing is known of others", &[Delta, A], Some(&[Delta, A][..]), 2),
        ("one", &[A], Some(&[A][..]), 1),
    ];
    each(cases, |(_, wrong, recorded, count)| {
        let shape = Shape { batch: 2, dim: 6, dstate: 2, seqlen: 9, groups: 2 };
        let (weights, b, c) = (Weights::Real, Operand::Variable, Operand::Variable);
        let layout = Layout { shape, weights, input: InputType::F32, b, c, gate: true, extras: true };
        let drawn = random(&layout, &mut generator("a part that is shared"));
        let known = Known::new(Method::Zoh, &drawn);
        let absent = known.compute(fault("dlast-state-ignored"));
        let mut got = known.want.clone();
        for &name in wrong {
            let with = known.want[name].values.iter().zip(&absent[name].values);
            got[name].values = with.map(|(want, absent)| absent + 1.4 * (want - absent)).collect();
        }
        let is_recorded = |name: &GradientName| recorded.is_none_or(|recorded| recorded.contains(name));
        let got: Gradients<f64> = got.into_iter().filter(|(name, _)| is_recorded(name)).collect();
        let judged = known.judged(&got);
        assert_eq!(judged.iter().map(|(name, _)| name).collect::<Vec<_>>(), wrong);
        let said = "dlast-state-scaled: dlast_state has the factor 7/5, fitted 1.400000";
        for (name, all) in judged.iter() {
            let said: Vec<String> = told(all).into_iter().filter(|one| one == said).collect();
            assert_eq!(said.len(), count, "{name}: {:?}", told(all));
        }
    });
}

/// A gradient that fails and was not recorded has no diagnosis.
#[test]
fn what_was_not_recorded_has_none() {
    let drawn = plain(2, 5, 7);
    let Known { problem, given, want, bounds, .. } = Known::new(Method::Zoh, &drawn);
    let mut got: Gradients<f64> = want.clone().into_iter().filter(|(name, _)| *name == A).collect();
    halve(&mut got, A);
    let (form, work) = (Method::Zoh.into(), &Work::default());
    let case = Case { form, problem, given, got: &got, want: &want, bounds: &bounds, work };
    let judged = diagnose(&case, &[A, U]);
    assert!(judged[U].is_empty() && !judged[A].is_empty(), "{judged:?}");
}

/// Every name that may be said has one sentence, and no other has.
#[test]
fn all_names_are_listed() {
    let listed = catalogue::ALL.len() + edges::ALL.len() + catalogue::PARTS.len();
    let fitted = ["gradient-scaled", "gradient-narrow", "sum-weighted"];
    assert_eq!(all().count(), listed + 12);
    assert!(fitted.iter().all(|name| all().any(|(other, what)| other == *name && !what.is_empty())));
}

/// Of grad.delta and grad.delta_bias, with two items of the batch, three channels and four positions.
fn steps(input: InputType) -> (Blank, Vec<f64>, Vec<f64>) {
    let mut blank = Blank::real(2, 3, 4);
    blank.problem.input = input;
    let want = irregular(24);
    let got: Vec<f64> = want.iter().map(|want| 0.7 * want).collect();
    (blank, want, got)
}

/// The sum that the bias's gradient is of what was recorded, and the sum of the sizes.
fn summed(got: &[f64]) -> [(f64, f64); 3] {
    [0, 1, 2].map(|d| {
        let of_channel =
            || got.iter().enumerate().filter(move |(i, _)| i / 4 % 3 == d).map(|(_, value)| *value);
        (of_channel().sum(), of_channel().map(f64::abs).sum())
    })
}

/// Where grad.delta_bias is the sum of a grad.delta that is wrong, it has the same cause, as far as what was stored can say.
#[test]
fn the_bias_has_what_the_step_has() {
    each(
        crossed(
            crossed([(InputType::F32, 24), (InputType::F16, 11), (InputType::Bf16, 8)], [0, 1, 2]),
            [0.97, -0.97, 1.03, -1.03],
        ),
        |((of, channel), share): (((InputType, i32), usize), f64)| {
            let (blank, want, got) = steps(of.0);
            let sums = summed(&got);
            let bound = 1e-7;
            let most = |sizes: f64| bound + sizes * 0.5f64.powi(of.1);
            let mut bias = sums.map(|(sum, _)| sum);
            bias[channel] += share * most(sums[channel].1);
            let delta = Numbers { name: Delta, want, got, bounds: vec![0.01; 24] };
            let of_bias =
                Numbers { name: DeltaBias, want: vec![99.0; 3], got: bias.to_vec(), bounds: vec![bound; 3] };
            let judged = blank.judged(&[delta, of_bias]);
            assert_eq!(told(&judged[Delta]), ["gradient-scaled: the whole gradient has the factor 0.700000"]);
            let expected = if share.abs() < 1.0 { judged[Delta].clone() } else { vec![] };
            assert_eq!(judged[DeltaBias], expected);
        },
    );
}

/// It keeps its own cause, and has none of a grad.delta that passes or that it is no sum of.
#[test]
fn the_bias_keeps_its_own_cause() {
    let blank = Blank::real(2, 4, 3);
    let want = irregular(24);
    let got: Vec<f64> = want.iter().map(|want| 0.7 * want).collect();
    let of_channel = |d: usize| (0..24).filter(|i| i / 3 % 4 == d).map(|i| got[i]).sum::<f64>();
    let bias: Vec<f64> = (0..4).map(of_channel).collect();
    let own: Vec<f64> = bias.iter().map(|bias| bias / 0.3).collect();
    let delta = Numbers { name: Delta, want: want.clone(), got: got.clone(), bounds: vec![0.01; 24] };
    let of_bias = Numbers { name: DeltaBias, want: own, got: bias.clone(), bounds: vec![1e-7; 4] };
    let judged = blank.judged(&[delta, of_bias]);
    assert_eq!(told(&judged[DeltaBias]), ["gradient-scaled: the whole gradient has the factor 0.300000"]);
    let alone =
        Numbers { name: DeltaBias, want: vec![99.0, -98.0, 7.0, 3.0], got: bias, bounds: vec![1e-7; 4] };
    assert!(blank.judged(&[alone])[DeltaBias].is_empty());
}

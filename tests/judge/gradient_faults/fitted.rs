//! What is found with numbers, places and types of its own.

use holdfast::judge::faults::gradient::catalogue;
use holdfast::judge::faults::gradient::variant::{GateSlope, Variant};
use holdfast::judge::faults::gradient::{adjoint, all};
use holdfast::method::Method;
use holdfast::problem::{Shape, Weights};
use holdfast::tensor::GradientName::{self, A, B, C, Delta, U, Z};

use super::{Known, faultless, firsts, largest, noisy, problems, random};
use crate::support::problems::{Layout, generator};

/// Members of sums, slices along axes, types and sizes.
#[test]
fn what_counts_otherwise_is_found() {
    let problems = problems(Weights::Real, None);
    let known = Known::new(Method::Zoh, &problems[0]);
    let Shape { batch, dim, seqlen, .. } = known.problem.shape;
    let specified = Variant::specified(Method::Zoh.into());
    let sums = |variant: &Variant, scope: &adjoint::Scope, name: GradientName| {
        adjoint::sums(variant, known.problem, known.given, scope)[name].clone()
    };
    let plus = |name: GradientName, part: Vec<f64>, factor: f64| -> Vec<f64> {
        known.want[name].values.iter().zip(part).map(|(want, part)| want + part * factor).collect()
    };
    let whole = adjoint::Scope::whole(known.problem);
    let of_state = adjoint::Scope { state: Some(1), ..whole.clone() };
    let second = sums(&Variant { skip: 0.0, ..specified }, &of_state, U);
    let of_batch = adjoint::Scope { channels: (0..dim).map(|d| (2, d)).collect(), ..whole.clone() };
    let last = sums(&specified, &of_batch, A);
    let missing = sums(&Variant { gate_slope: GateSlope::Missing, ..specified }, &whole, Z);
    let z = known.problem.z.as_ref().expect("a gate");
    let slope = |z: f64| {
        let s = 1.0 / (1.0 + (-z).exp());
        2.0 * s + z * s * (1.0 - s)
    };
    let of_gate = missing.iter().zip(z).map(|(base, &z)| base * slope(z.into())).collect();
    let each = known.want[C].values.len() / batch;
    let c = &known.want[C].values;
    let so_far: Vec<f64> =
        (0..c.len()).map(|i| (0..=i / each).map(|b| c[b * each + i % each]).sum()).collect();
    let u = &known.want[U].values;
    let rows: Vec<f64> = (0..u.len()).map(|i| u[(i + dim * seqlen) % u.len()]).collect();
    let delta = &known.want[Delta].values;
    let most = f64::from((0.3 * largest(delta)) as f32);
    let cases = [
        (U, plus(U, second, 2.0), "sum-weighted", "in the sum, state 1 has the factor 3"),
        (A, plus(A, last, 1.0), "sum-weighted", "in the sum, item of the batch 2 has the factor 2"),
        (C, so_far, "slices-mixed", "each item of the batch has the sum of all up to it"),
        (
            U,
            rows,
            "slices-mixed",
            "each item of the batch has the gradient of the one 1 after it, around the end",
        ),
        (Z, of_gate, "slope-of-other-terms", "the gate's derivative is 2·σ + zσ − zσ²"),
        (
            Delta,
            delta.iter().map(|d| d.clamp(-most, most)).collect(),
            "gradient-clipped",
            "what is larger than",
        ),
        (
            Delta,
            delta.iter().map(|&d| half::bf16::from_f64(d).to_f64()).collect(),
            "gradient-narrow",
            "the gradient is rounded to bf16",
        ),
        (
            Delta,
            delta.iter().map(|&d| cut_to_bf16(d)).collect(),
            "gradient-narrow",
            "the gradient is cut to bf16",
        ),
    ];
    for (name, values, expected, what) in cases {
        let mut got = known.want.clone();
        got[name].values = values.into_iter().map(|value| f64::from(value as f32)).collect();
        let diagnoses = known.judged(&got);
        let first = diagnoses[name].first().unwrap_or_else(|| panic!("{expected} gets no name"));
        assert_eq!(first.name, expected, "{first:?}");
        assert!(first.what.starts_with(what), "{}", first.what);
        assert!(all().any(|(name, _)| name == first.name), "{expected}");
    }
}

fn cut_to_bf16(x: f64) -> f64 {
    f64::from(f32::from_bits((x as f32).to_bits() & 0xffff_0000))
}

/// Values of a narrow type that rounding or cutting does not lead to are not called so.
#[test]
fn what_is_narrow_by_other_means_is_not_called_rounded() {
    let drawn = random(&Layout::plain(2, 3, 1, 9), &mut generator("narrow by other means"));
    let known = Known::new(Method::Zoh, &drawn);
    let away = |d: f64| {
        let cut = cut_to_bf16(d);
        if cut == d { d } else { f64::from(f32::from_bits((cut as f32).to_bits() + 0x1_0000)) }
    };
    let larger = |d: f64| half::bf16::from_f64(d * 1.0025).to_f64();
    for spoil in [&away as &dyn Fn(f64) -> f64, &larger] {
        let mut got = known.want.clone();
        got[Delta].values.iter_mut().for_each(|d| *d = spoil(*d));
        let diagnoses = known.judged_for(&got, "gradient-narrow");
        assert!(diagnoses[Delta].iter().all(|found| found.name != "gradient-narrow"), "{diagnoses:?}");
    }
}

/// A bias that is doubled is there: what stands in its place is not a multiple of nothing.
#[test]
fn a_small_bias_that_counts_twice_is_not_called_missing() {
    let layout = Layout { gate: true, extras: true, ..Layout::plain(2, 3, 1, 9) };
    let (mut problem, given) = random(&layout, &mut generator("a small bias"));
    problem.delta_bias.iter_mut().flatten().for_each(|bias| *bias *= 1e-3);
    let drawn = (problem.clone(), given);
    let known = Known::new(Method::Zoh, &drawn);
    problem.delta_bias.iter_mut().flatten().for_each(|bias| *bias *= 2.0);
    let got = faultless(Method::Zoh, &problem, &drawn.1);
    for (name, diagnosis) in known.judged(&got).iter() {
        let has_none = |text: &str| text.contains("without the bias");
        assert!(!diagnosis.iter().any(|found| has_none(&found.what)), "{name}: {diagnosis:?}");
    }
}

/// Many items of a batch cost no more than as many channels, whatever one could have left for the next.
#[test]
fn a_large_batch_is_no_deep_recursion() {
    let layout = Layout::plain(3000, 1, 1, 1);
    let drawn = random(&layout, &mut generator("a_large_batch_is_no_deep_recursion"));
    let known = Known::new(Method::Zoh, &drawn);
    let mut got = known.want.clone();
    got[Delta].values.iter_mut().enumerate().for_each(|(i, d)| *d *= if i % 7 == 3 { 1.3 } else { 1.0 });
    assert!(!known.judged(&got).is_empty());
}

#[test]
fn a_factor_is_found() {
    let problems = problems(Weights::Complex, None);
    let known = Known::new(Method::Rk4, &problems[0]);
    let mut got = known.want.clone();
    got[A].values.iter_mut().for_each(|value| *value *= 0.3);
    let diagnoses = known.judged(&noisy(&got, &mut generator("a_factor_is_found")));
    assert_eq!(firsts(&diagnoses), [(A, "gradient-scaled")]);
    assert!(diagnoses[A][0].what.starts_with("the whole gradient has the factor 0.300000"), "{diagnoses:?}");
    assert!(all().any(|(name, _)| name == diagnoses[A][0].name));
}

/// A gradient that is wrong in a way with a number or a place that is found.
#[test]
fn what_is_fitted_is_named_with_its_numbers() {
    let problems = problems(Weights::Real, None);
    let without = |part: &str| {
        let part = catalogue::PARTS.iter().find(|fault| fault.name == part).expect("a part");
        move |variant: &mut Variant| part.change(variant)
    };
    let judged = |known: &Known, name: GradientName, values: Vec<f64>| {
        let mut got = known.want.clone();
        got[name].values = values.clone();
        let mut got = noisy(&got, &mut generator("what_is_fitted"));
        // What is not written has no noise.
        let unwritten = got[name].values.iter_mut().zip(values).filter(|(_, value)| *value == 0.0);
        unwritten.for_each(|(got, _)| *got = 0.0);
        let diagnoses = known.judged(&got);
        diagnoses.get(name).and_then(|list| list.first().cloned()).map(|first| (first.name, first.what))
    };
    let parts = [
        (
            Method::Rk4,
            Delta,
            "h-slope-term-4-scaled",
            0.25,
            "the derivative of term 4 of B̄ has the factor 1/4",
        ),
        (
            Method::HighOrder,
            A,
            "h-slope-term-2-scaled",
            0.5,
            "the derivative of term 2 of B̄ has the factor 1/2",
        ),
        (Method::Zoh, Z, "z-output-scaled", 0.3, "y has the factor 3/10"),
        (Method::Foh, U, "dlast-state-scaled", 1.4, "dlast_state has the factor 7/5"),
    ];
    for (method, name, part, factor, what) in parts {
        let known = Known::new(method, &problems[0]);
        let mut variant = Variant::specified(method.into());
        without(part)(&mut variant);
        let absent = adjoint::gradients(&variant, known.problem, known.given)[name].values.clone();
        let want = &known.want[name].values;
        let values = want.iter().zip(absent).map(|(want, absent)| absent + (want - absent) * factor);
        let (found, text) = judged(&known, name, values.collect()).unwrap_or_default();
        assert_eq!(found, part, "{text}");
        assert!(text.starts_with(what), "{text}");
    }
    let known = Known::new(Method::Zoh, &problems[0]);
    let Shape { seqlen, .. } = known.problem.shape;
    let exponent =
        Variant { exponent: 1.44 / std::f64::consts::LOG2_E, ..Variant::specified(Method::Zoh.into()) };
    let spoilt = adjoint::gradients(&exponent, known.problem, known.given);
    for name in [U, Delta, A, B] {
        let (found, what) = judged(&known, name, spoilt[name].values.clone()).unwrap_or_default();
        assert_eq!((found.as_str(), what.contains("1.44000")), ("exponent-scaled", true), "{name}: {what}");
    }
    let moved = |name: GradientName, from: &dyn Fn(usize) -> Option<usize>| -> Vec<f64> {
        let want = &known.want[name].values;
        (0..want.len()).map(|i| from(i).map_or(0.0, |at| want[at])).collect()
    };
    let cases = [
        (U, moved(U, &|i| (!i.is_multiple_of(seqlen)).then(|| i - 1)), "gradient-one-later"),
        (B, moved(B, &|i| (i % seqlen + 1 < seqlen).then_some(i + 1)), "gradient-one-earlier"),
        (A, moved(A, &|i| Some(i % 6 * 2 + i / 6)), "gradient-transposed"),
        (Delta, moved(Delta, &|i| (!i.is_multiple_of(seqlen)).then_some(i)), "gradient-partly-zero"),
        (C, moved(C, &|i| (i / seqlen % 2 == 0).then_some(i)), "gradient-partly-zero"),
        (A, moved(A, &|i| (i / 2 < 4).then_some(i)), "gradient-partly-zero"),
    ];
    for (name, values, expected) in cases {
        let (found, what) = judged(&known, name, values).unwrap_or_default();
        assert_eq!(found, expected, "{name}: {what}");
    }
}

#[test]
fn two_factors_are_no_pair() {
    let factors = ["gradient-halved", "batch-averaged", "half-missing", "output-factor-missing"];
    for name in factors {
        assert!(catalogue::find(name).expect("in the catalogue").is_factor(), "{name}");
    }
    for name in ["reversed-missing", "delta-without-h", "gradient-reversed"] {
        assert!(!catalogue::find(name).expect("in the catalogue").is_factor(), "{name}");
    }
}

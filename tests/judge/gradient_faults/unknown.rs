//! What nothing models; in small problems there is more of it in [`super::said`].

use holdfast::formula::{Form, Textbook};
use holdfast::judge::diagnose::Work;
use holdfast::judge::faults::gradient::{Case, diagnose};
use holdfast::method::Method;
use holdfast::problem::{OutputGradients, Problem, Weights};
use holdfast::tensor::GradientName::{A, U};
use holdfast::tensor::Gradients;

use super::{Known, faultless, firsts, largest, noisy, problems};
use crate::cases::each;
use crate::support::problems::generator;

#[test]
fn textbook_forms_get_no_diagnosis() {
    let problems = problems(Weights::Real, None);
    let Known { problem, given, want, bounds, .. } = Known::new(Method::Zoh, &problems[0]);
    let got = want.map(|_, tensor| tensor.with(vec![1.0; tensor.values.len()]));
    let form = Form::Textbook(Textbook::ZohExact);
    let case = Case { form, problem, given, got: &got, want: &want, bounds: &bounds, work: &Work::default() };
    assert_eq!(diagnose(&case, &[A, U]), [(A, vec![]), (U, vec![])].into_iter().collect());
}

/// Changes to the problem that a backward pass computes, or to what it returns, in no way that is modelled.
type Change = fn(&mut Problem, &mut OutputGradients);
const UNPLANNED: [(&str, Change); 10] = [
    ("A is too large by 0.02", |p, _| p.a.iter_mut().for_each(|a| *a += 0.02)),
    ("B is too large by 0.1", |p, _| p.b.iter_mut().for_each(|b| *b += 0.1)),
    ("u is that of four positions after", |p, _| p.u.rotate_left(4)),
    ("Δ is that of three positions after", |p, _| p.delta.rotate_left(3)),
    ("dout is cubed", |_, given| given.dout.iter_mut().for_each(|dout| *dout = dout.powi(3))),
    ("the gate is too large by 0.1", |p, _| p.z.iter_mut().flatten().for_each(|z| *z += 0.1)),
    ("the bias is twice what it is", |p, _| p.delta_bias.iter_mut().flatten().for_each(|bias| *bias *= 2.0)),
    ("the initial state is cubed", |p, _| p.initial_state.iter_mut().flatten().for_each(|x| *x = x.powi(3))),
    ("C is read three numbers further", |p, _| p.c.rotate_left(3)),
    ("u is cubed", |p, _| p.u.iter_mut().for_each(|u| *u = u.powi(3))),
];
/// Of a value's place, itself and the largest one.
type Spoil = fn(usize, f64, f64) -> f64;
const SPOILED: [(&str, Spoil); 4] = [
    ("every seventh is 0", |i, value, _| if i % 7 == 0 { 0.0 } else { value }),
    ("bent", |_, value, largest| (2.0 * value / largest).tanh() * largest),
    ("cubed", |_, value, largest| value.powi(3) / largest.powi(2)),
    ("every third has the wrong sign", |i, value, _| if i % 3 > 0 { value } else { -value }),
];

/// Every third change, and every third way to spoil what is right.
fn what_nothing_models_gets_no_name(method: Method, drawn: &(Problem, OutputGradients), of_three: usize) {
    let known = Known::new(method, drawn);
    let nameless = |what: &str, got: &Gradients<f64>| {
        let diagnoses = known.judged(&noisy(got, &mut generator(what)));
        assert!(!diagnoses.is_empty(), "{what} shows nowhere");
        let is_nameless = diagnoses.values().all(Vec::is_empty);
        assert!(is_nameless, "{method}, {what}: {:?}", firsts(&diagnoses));
    };
    for (what, change) in UNPLANNED.into_iter().skip(of_three).step_by(3) {
        let (mut problem, mut given) = drawn.clone();
        change(&mut problem, &mut given);
        nameless(what, &faultless(method, &problem, &given));
    }
    for (what, spoil) in SPOILED.into_iter().skip(of_three).step_by(3) {
        let spoiled = known.want.map(|_, tensor| {
            let largest = largest(&tensor.values);
            let values = tensor.values.iter().enumerate();
            tensor.with(values.map(|(i, &value)| spoil(i, value, largest)).collect())
        });
        nameless(what, &spoiled);
    }
}

/// The first three methods have all changes, and so have the others.
#[test]
#[ignore = "some thirty changes, of some six seconds each: .ci/long"]
fn what_nothing_models_gets_no_name_in_any_method() {
    each(0..6, |i: usize| {
        let drawn = &problems(Weights::ALL[i % 2], None)[i / 3];
        what_nothing_models_gets_no_name(Method::ALL[i], drawn, i % 3);
    });
}

//! Which tensor is explained by what: both by one change, each by its own, or one alone; and what is no number.

use holdfast::method::Method;
use holdfast::problem::Weights;
use holdfast::results::Diagnosis;
use holdfast::tensor::{Named, TensorName, Tensors};
use num_complex::Complex64 as C;

use super::{Planting, Step, drawn, plain, sentence};
use crate::cases::each;
use crate::support::problems::Layout;

const BOTH: [TensorName; 2] = [TensorName::Out, TensorName::LastState];

fn sentences(found: &Named<Vec<Diagnosis>>) -> [String; 2] {
    BOTH.map(|name| found.get(name).map_or(String::new(), |said| sentence(said)))
}

fn with_state_of(mut got: Tensors<f64>, other: &Tensors<f64>) -> Tensors<f64> {
    got[TensorName::LastState] = other[TensorName::LastState].clone();
    got
}

/// States that grow leave the range of f32: what is infinite or no number there agrees, and the steps before say what is wrong.
#[test]
fn states_that_grow_out_of_range_are_explained() {
    let cases: [f64; 2] = [f64::INFINITY, f64::NAN];
    each(cases, |beyond| {
        let mut problem = drawn(plain(1, 2, 40));
        problem.a = vec![-3.0, -2.0];
        problem.delta.fill(1.25);
        let planting = Planting::new(Method::Zoh, problem);
        let mut got = planting.with_step(|s| [(-s.z()).exp(), planting.right(s)[1]]);
        for name in BOTH {
            got[name].values.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = beyond);
        }
        assert!(got[TensorName::Out].values[..8].iter().all(|x| x.is_finite()));
        assert!(!got[TensorName::Out].values[39].is_finite());
        assert_eq!(
            planting.at_once(&got),
            "a-negated: A has the wrong sign: −A is used, as where exp(A_log) is taken for A"
        );
    });
}

/// What nobody computes explains no NaN: one alone, and nothing is said.
#[test]
fn a_nan_among_finite_numbers_is_not_explained() {
    let cases: [usize; 3] = [0, 7, 13];
    each(cases, |at| {
        let planting = Planting::new(Method::Zoh, drawn(plain(1, 2, 14)));
        let mut got = planting.with_step(|s| {
            let [a_bar, input] = planting.right(s);
            [a_bar * a_bar, input]
        });
        got[TensorName::Out].values[at] = f64::NAN;
        let found = planting.found(&got, &BOTH, true);
        // The last state has no NaN in it, and is explained alone.
        assert_eq!(sentences(&found), ["", "a-bar-delta-doubled: Δ is doubled in Ā"]);
    });
}

/// Two changes, each of which shows in one tensor: they are named together for both.
#[test]
fn a_wrong_output_and_another_mistake_in_last_state_are_named_together() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 3, 20)));
    let mut got = planting.with_step(|s| planting.right(Step { delta: 1.3 * s.delta, ..s }));
    got[TensorName::LastState].values.iter_mut().for_each(|x| *x *= 0.5);
    let expected = "delta-scaled + last-state-halved: Δ is multiplied by 1.3; last_state is half of what it should be: only \
                    last_state shows it";
    assert_eq!(sentences(&planting.found(&got, &BOTH, true)), [expected, expected]);
}

/// A factor on what is read shows in outputs alone: right last states have nothing to be said of.
#[test]
fn of_a_right_last_state_nothing_is_said() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 3, 16)));
    let got = planting.with_output(|y| 0.7 * y.readout());
    assert_eq!(planting.failing(&got), [TensorName::Out]);
    let found = planting.found(&got, &[TensorName::Out], true);
    assert_eq!(found.iter().map(|(name, _)| name).collect::<Vec<_>>(), [TensorName::Out]);
}

/// A last state that nothing explains hides nothing of what explains the output.
#[test]
fn an_output_is_explained_beside_a_last_state_that_is_not() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 3, 16)));
    let mut got = planting.with_step(|s| planting.right(Step { delta: 1.3 * s.delta, ..s }));
    got[TensorName::LastState].values.iter_mut().for_each(|x| *x = f64::from((3.0 * *x + 1.0) as f32));
    let found = planting.found(&got, &BOTH, true);
    assert_eq!(sentences(&found), ["delta-scaled: Δ is multiplied by 1.3", ""]);
}

/// The last state of the method that has run says so where the output is right, or of nothing that has a name.
#[test]
fn each_is_named_alone_where_no_change_has_both() {
    let planting = Planting::new(Method::Zoh, drawn(plain(2, 3, 16)));
    let exact = |s: Step| {
        let z = s.z();
        [z.exp(), s.driven(s.delta * (z.exp() - 1.0) / z)]
    };
    let right = planting.with_step(|s| planting.right(s));
    let got = with_state_of(right, &planting.with_step(exact));
    let found = planting.found(&got, &[TensorName::LastState], true);
    let expected = "runs-as-zoh-exact: it computes the textbook form zoh-exact";
    assert_eq!(sentences(&found), ["", expected]);
}

/// What a longer search finds is named for all that it explains, asked for or not; of what is right nothing is said.
#[test]
fn a_longer_search_names_what_is_wrong() {
    let mut problem = drawn(plain(1, 4, 12));
    problem.a = vec![-2.0, -1.0, -0.5, -3.0];
    let planting = Planting::new(Method::Zoh, problem);
    let negated = planting.with_step(|s| {
        let [a_bar, input] = planting.right(s);
        [a_bar, if s.n % 2 == 1 { -input } else { input }]
    });
    let expected = "b-negated-in-part: B has the wrong sign: in odd states alone";
    assert_eq!(sentences(&planting.found(&negated, &[TensorName::Out], false)), [expected, expected]);
    assert_eq!(sentences(&planting.found(&negated, &[TensorName::LastState], false)), [expected, expected]);
}

/// Channels in which something is wrong alone.
#[test]
fn some_channels_are_named() {
    let cases: [(&str, fn(usize) -> bool, &str); 5] = [
        ("one", |channel: usize| channel == 2, "channel 2"),
        ("odd", |channel: usize| channel % 2 == 1, "odd channels"),
        ("from one on", |channel: usize| channel >= 3, "channels from 3 on"),
        ("up to one", |channel: usize| channel <= 2, "channels up to 2"),
        ("a list", |channel: usize| [0, 1, 4].contains(&channel), "channels 0, 1, 4"),
    ];
    each(cases, |(_, is_wrong, place)| {
        let planting = Planting::new(Method::Zoh, drawn(plain(6, 2, 12)));
        let got = planting.with_step(|s| {
            let [a_bar, input] = planting.right(s);
            [if is_wrong(s.channel) { a_bar * a_bar } else { a_bar }, input]
        });
        let expected = format!("a-bar-delta-doubled: Δ is doubled in Ā; in {place} alone");
        assert_eq!(planting.after_long(&got), expected);
    });
}

/// A pair of elements that are wrong is no other formula.
#[test]
fn of_few_wrong_elements_nothing_is_said_after_long() {
    let planting = Planting::new(Method::Zoh, drawn(Layout { weights: Weights::Complex, ..plain(1, 2, 12) }));
    let mut got = planting.with_step(|s| planting.right(s));
    for at in [3, 5, 8] {
        got[TensorName::Out].values[at] += 0.25;
    }
    assert_eq!(planting.after_long(&got), "");
}

/// A step that is right, with what enters conjugated, is named by that.
#[test]
fn what_enters_is_conjugated() {
    let planting = Planting::new(Method::Zoh, drawn(Layout { weights: Weights::Complex, ..plain(1, 2, 12) }));
    let got = planting.with_step(|s| {
        let [a_bar, input]: [C; 2] = planting.right(s);
        [a_bar, input.conj()]
    });
    // With real Δ and u it is B that is conjugated.
    assert_eq!(planting.at_once(&got), "b-conjugated: B is conjugated");
}

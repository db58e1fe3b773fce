//! Promise: terms that a coefficient or its derivative has too many are found and said as they are written, the simplest ones that
//! explain a gradient.

use holdfast::judge::faults::gradient::adjoint::{self, Scope};
use holdfast::judge::faults::gradient::structure::{By, Of, Site, Swap, Term};
use holdfast::judge::faults::gradient::variant::Variant;
use holdfast::method::Method;
use holdfast::problem::{OutputGradients, Problem, Weights};
use holdfast::tensor::GradientName::{self, A, B, Delta, DeltaBias, U};

use super::blank::told;
use super::{Known, drawn};
use crate::cases::each;
use crate::support::problems::{Layout, generator};

/// A place, a term there, and how often it is there too much.
type Added = (&'static [Site], Term, f64);

const fn term(delta: u8, a: u8, of: Of) -> Term {
    Term { delta, a, of }
}

/// Small, and without a gate, a skip and softplus.
fn plain(weights: Weights, dim: usize, dstate: usize) -> (Problem, OutputGradients) {
    let mut rng = generator("terms too many");
    let layout = Layout { weights, ..Layout::plain(2, dim, dstate, 6) };
    let mut problem = layout.random(&mut rng);
    problem.delta_bias =
        Some(drawn(dim, &mut rng).into_iter().map(|bias| 0.0625 + bias.abs() / 16.0).collect());
    let dout = drawn(problem.u.len(), &mut rng);
    (problem, OutputGradients { dout, dlast_state: None })
}

/// What is said of a gradient with terms too many: of its own products, which are linear in its coefficients.
fn said(known: &Known, name: GradientName, added: &[Added]) -> Vec<String> {
    let mut got = known.want.clone();
    for &(sites, term, factor) in added {
        let compute = |by: By| {
            let mut variant = Variant::specified(known.method.into());
            variant.swap(Swap { sites, by, side: None });
            adjoint::sums(&variant, known.problem, known.given, &Scope::whole(known.problem))[name].clone()
        };
        let (with, without) = (compute(By::Term(term)), compute(By::Zero));
        let added = with.iter().zip(&without).map(|(with, without)| factor * (with - without));
        got[name].values.iter_mut().zip(added).for_each(|(got, added)| *got += added);
    }
    told(&known.judged(&got)[name])
}

const H_IN_U: &[Site] = &[Site::HInU];
const H_IN_B: &[Site] = &[Site::HInB];
const H_BY_DELTA: &[Site] = &[Site::HByDelta];
const A_BAR_BY_DELTA: &[Site] = &[Site::ABarByDelta];
const H_BY_A: &[Site] = &[Site::HByA];
const A_BAR_BY_A: &[Site] = &[Site::ABarByA];

#[test]
fn terms_in_words() {
    let cases: [(GradientName, &[Added], &str); 19] = [
        (U, &[(H_IN_U, term(2, 1, Of::One), 0.375)], "B̄/B in grad.u has 3/8, fitted 0.375000·Δ²A too much"),
        (U, &[(H_IN_U, term(2, 1, Of::One), -0.375)], "B̄/B in grad.u has −3/8, fitted 0.375000·Δ²A too much"),
        (U, &[(H_IN_U, term(3, 2, Of::One), 1.0)], "B̄/B in grad.u has Δ³A² too much"),
        (U, &[(H_IN_U, term(3, 2, Of::One), -1.0)], "B̄/B in grad.u has −Δ³A² too much"),
        (U, &[(H_IN_U, term(0, 0, Of::One), 3.0)], "B̄/B in grad.u has 3 too much"),
        (U, &[(H_IN_U, term(0, 0, Of::One), 1.0)], "B̄/B in grad.u has 1 too much"),
        (U, &[(H_IN_U, term(1, 0, Of::Phi(0)), 2.0)], "B̄/B in grad.u has 2·Δexp(ΔA) too much"),
        (U, &[(H_IN_U, term(2, 1, Of::Phi(3)), 3.0)], "B̄/B in grad.u has 3·Δ²Aφ₃ too much"),
        (U, &[(H_IN_U, term(4, 3, Of::Phi(1)), 5.0)], "B̄/B in grad.u has 5·Δ⁴A³φ₁ too much"),
        (
            U,
            &[(H_IN_U, term(3, 0, Of::One), 2.0), (H_IN_U, term(2, 1, Of::One), 0.375)],
            "B̄/B in grad.u has 2·Δ³ + 3/8, fitted 0.375000·Δ²A too much",
        ),
        (
            U,
            &[(H_IN_U, term(3, 0, Of::One), -2.0), (H_IN_U, term(2, 1, Of::One), 0.375)],
            "B̄/B in grad.u has −2·Δ³ + 3/8, fitted 0.375000·Δ²A too much",
        ),
        (
            U,
            &[(H_IN_U, term(3, 0, Of::One), 2.0), (H_IN_U, term(2, 1, Of::One), -1.0)],
            "B̄/B in grad.u has 2·Δ³ − Δ²A too much",
        ),
        (B, &[(H_IN_B, term(2, 2, Of::One), 0.75)], "B̄/B in grad.B has 3/4, fitted 0.750000·Δ²A² too much"),
        (Delta, &[(H_BY_DELTA, term(1, 1, Of::One), 3.0)], "B̄'s derivative by Δ has 3·ΔA too much"),
        (
            Delta,
            &[(A_BAR_BY_DELTA, term(1, 2, Of::One), -0.375)],
            "Ā's derivative by Δ has −3/8, fitted 0.375000·ΔA² too much",
        ),
        (
            Delta,
            &[(A_BAR_BY_DELTA, term(0, 2, Of::One), -1.0), (H_BY_DELTA, term(1, 0, Of::One), 3.0)],
            "Ā's derivative by Δ has −A² too much, and B̄'s derivative by Δ has 3·Δ too much",
        ),
        (DeltaBias, &[(H_BY_DELTA, term(1, 1, Of::One), 3.0)], "B̄'s derivative by Δ has 3·ΔA too much"),
        (
            A,
            &[(H_BY_A, term(2, 0, Of::One), 0.75)],
            "B̄'s derivative by A has 3/4, fitted 0.750000·Δ² too much",
        ),
        (A, &[(A_BAR_BY_A, term(2, 0, Of::One), -2.0)], "Ā's derivative by A has −2·Δ² too much"),
    ];
    each(cases, |(name, added, words)| {
        let drawn = plain(Weights::Real, 8, 2);
        let known = Known::new(Method::Zoh, &drawn);
        let said = said(&known, name, added);
        let expected = format!("coefficient-of-other-terms: {words}");
        assert_eq!(said.first(), Some(&expected), "{said:?}");
    });
}

/// Where Ā is no exponential, powers of 1/(1 − ΔA/2) stand in place of φ-functions.
#[test]
fn terms_of_rational_forms() {
    let cases: [(Weights, &[Added], &str); 4] = [
        (Weights::Real, &[(H_IN_U, term(0, 0, Of::Resolvent(1)), 1.0)], "1/(1 − ΔA/2)"),
        (Weights::Real, &[(H_IN_U, term(0, 0, Of::Resolvent(2)), 3.0)], "3/(1 − ΔA/2)²"),
        (Weights::Real, &[(H_IN_U, term(1, 0, Of::Resolvent(3)), 3.0)], "3·Δ/(1 − ΔA/2)³"),
        (Weights::Complex, &[(H_IN_U, term(2, 0, Of::One), 3.0)], "3·Δ²"),
    ];
    each(cases, |(weights, added, words)| {
        let drawn = plain(weights, 8, 2);
        let known = Known::new(Method::Bilinear, &drawn);
        let said = said(&known, U, added);
        let expected = format!("coefficient-of-other-terms: B̄/B in grad.u has {words} too much");
        assert_eq!(said.first(), Some(&expected), "{said:?}");
    });
}

/// Of complex weights each element has two parts, and one bound.
#[test]
fn terms_of_complex_weights() {
    let drawn = plain(Weights::Complex, 8, 2);
    let known = Known::new(Method::Zoh, &drawn);
    let said = said(&known, A, &[(A_BAR_BY_A, term(2, 0, Of::One), -2.0)]);
    let expected = "coefficient-of-other-terms: Ā's derivative by A has −2·Δ² too much".to_owned();
    assert_eq!(said.first(), Some(&expected), "{said:?}");
}

/// Eight numbers say something of a term, and seven do not.
#[test]
fn terms_of_few_numbers() {
    let cases: [(usize, bool); 2] = [(8, true), (7, false)];
    each(cases, |(dim, is_said)| {
        let drawn = plain(Weights::Real, dim, 1);
        let known = Known::new(Method::Zoh, &drawn);
        let said = said(&known, A, &[(A_BAR_BY_A, term(2, 0, Of::One), -2.0)]);
        let is = said.iter().any(|said| said.starts_with("coefficient-of-other-terms"));
        assert_eq!(is, is_said, "{said:?}");
    });
}

/// Factors that are no simple fractions are none.
#[test]
fn a_term_with_an_odd_factor_is_none() {
    let drawn = plain(Weights::Real, 8, 1);
    let known = Known::new(Method::Zoh, &drawn);
    let said = said(&known, A, &[(A_BAR_BY_A, term(2, 0, Of::One), 0.7)]);
    assert!(!said.iter().any(|said| said.starts_with("coefficient-of-other-terms")), "{said:?}");
}

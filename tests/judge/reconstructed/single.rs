//! One thing is wrong at a time, in Ā, in B̄ or in both, of each method in turn.

use holdfast::judge::model::phi;
use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;

use super::{List, Own, Step, Wrong, list};

type Change = fn(Own, Step) -> [C; 2];

fn with(step: Step, a: C) -> Step {
    Step { a, ..step }
}

/// One coefficient of one step, the other of another.
fn mixed(own: Own, a_bar: Step, b_bar: Step) -> [C; 2] {
    [own(a_bar)[0], own(b_bar)[1]]
}

fn is_small(x: C, limit: f64) -> bool {
    x.norm() < limit
}

const WRONG: &[(&str, Change)] = &[
    ("B̄ × 0.9", |own, s| [own(s)[0], 0.9 * own(s)[1]]),
    ("B̄ × −3", |own, s| [own(s)[0], -3.0 * own(s)[1]]),
    ("Ā × 1.01", |own, s| [1.01 * own(s)[0], own(s)[1]]),
    ("Ā + 0.001", |own, s| [own(s)[0] + 0.001, own(s)[1]]),
    ("Ā = 1 + z", |own, s| [1.0 + s.z(), own(s)[1]]),
    ("Ā = 1 + z + z²/2", |own, s| [1.0 + s.z() + s.z() * s.z() / 2.0, own(s)[1]]),
    ("Ā = 1/(1 − z)", |own, s| [1.0 / (1.0 - s.z()), own(s)[1]]),
    ("Ā = −1/(1 − z/3)²", |own, s| [-(1.0 - s.z() / 3.0).inv().powi(2), own(s)[1]]),
    ("Ā = 1/(1 − z/3)³", |own, s| [(1.0 - s.z() / 3.0).inv().powi(3), own(s)[1]]),
    ("Ā = (1 + z/4)⁴", |own, s| [(1.0 + s.z() / 4.0).powi(4), own(s)[1]]),
    ("Ā = exp(z/2)", |own, s| [(s.z() / 2.0).exp(), own(s)[1]]),
    ("Ā = exp(−z)", |own, s| [(-s.z()).exp(), own(s)[1]]),
    ("Ā = 2ᶻ", |own, s| [(s.z() * 2f64.ln()).exp(), own(s)[1]]),
    ("Ā = exp(A)", |own, s| [s.a.exp(), own(s)[1]]),
    ("Ā = exp(Δ²A)", |own, s| [(s.z() * s.delta).exp(), own(s)[1]]),
    ("Ā = exp(z) + z³/1000", |own, s| [s.z().exp() + s.z().powi(3) / 1000.0, own(s)[1]]),
    ("Ā = exp(z) − 1", |own, s| [s.z().exp() - 1.0, own(s)[1]]),
    ("Δ doubled", |own, s| own(Step { delta: 2.0 * s.delta, ..s })),
    ("Δ squared in B̄", |own, s| mixed(own, s, Step { delta: s.delta * s.delta, ..s })),
    ("Δ + 0.001", |own, s| own(Step { delta: s.delta + 0.001, ..s })),
    ("Δ ≤ 0.5", |own, s| own(Step { delta: s.delta.min(0.5), ..s })),
    ("Δ ≥ 0.02", |own, s| own(Step { delta: s.delta.max(0.02), ..s })),
    ("−A", |own, s| own(with(s, -s.a))),
    ("conj A", |own, s| own(with(s, s.a.conj()))),
    ("Re A", |own, s| own(with(s, s.a.re.into()))),
    ("|A| in B̄", |own, s| mixed(own, s, with(s, s.a.norm().into()))),
    ("A − 0.01 in B̄", |own, s| mixed(own, s, with(s, s.a - 0.01))),
    ("1.5 A in Ā", |own, s| mixed(own, with(s, 1.5 * s.a), s)),
    ("Re A ≥ −2", |own, s| own(with(s, C::new(s.a.re.max(-2.0), s.a.im)))),
    ("Re z ≥ −3 in Ā", |own, s| mixed(own, with(s, C::new(s.a.re.max(-3.0 / s.delta), s.a.im)), s)),
    ("B̄ = 0 where |z| < 0.01", |own, s| {
        [own(s)[0], if is_small(s.z(), 0.01) { C::ZERO } else { own(s)[1] }]
    }),
    ("B̄ = Δ where |A| < 0.1", |own, s| {
        [own(s)[0], if is_small(s.a, 0.1) { s.b * s.u * s.delta } else { own(s)[1] }]
    }),
    ("B̄ = Δ where Δ < 0.01", |own, s| {
        [own(s)[0], if s.delta < 0.01 { s.b * s.u * s.delta } else { own(s)[1] }]
    }),
    ("B̄ = −1/A where Re z < −8", |own, s| {
        [own(s)[0], if s.z().re < -8.0 { -s.b * s.u / s.a } else { own(s)[1] }]
    }),
    ("Ā = 0 where Re z < −10", |own, s| [if s.z().re < -10.0 { C::ZERO } else { own(s)[0] }, own(s)[1]]),
    ("Ā = 1 where |z| < 0.001", |own, s| {
        [if is_small(s.z(), 0.001) { C::ONE } else { own(s)[0] }, own(s)[1]]
    }),
    ("NaN where z = 0", |own, s| if s.z() == C::ZERO { [C::from(f64::NAN); 2] } else { own(s) }),
    ("NaN where Re z > 5", |own, s| [own(s)[0], if s.z().re > 5.0 { C::from(f64::NAN) } else { own(s)[1] }]),
    ("B twice", |own, s| own(Step { b: s.b * s.b, ..s })),
    ("conj B", |own, s| own(Step { b: s.b.conj(), ..s })),
    ("Re B", |own, s| own(Step { b: s.b.re.into(), ..s })),
    ("no B", |own, s| own(Step { b: C::ONE, ..s })),
    ("u twice", |own, s| own(Step { u: s.u * s.u, ..s })),
    ("no u", |own, s| own(Step { u: 1.0, ..s })),
    ("silu(u)", |own, s| own(Step { u: s.u / (1.0 + (-s.u).exp()), ..s })),
    ("Ā and B̄ exchanged", |own, s| [own(s)[1], own(s)[0]]),
    ("Ā conjugated", |own, s| [own(s)[0].conj(), own(s)[1]]),
    ("B̄ by its modulus", |own, s| [own(s)[0], own(s)[1].norm().into()]),
    ("B̄ = φ₁Δ cut after z³", |own, s| {
        let z = s.z();
        [own(s)[0], s.b * s.u * s.delta * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 4.0)))]
    }),
    ("B̄ = φ₁Δ by a wrong nest", |own, s| {
        let z = s.z();
        [own(s)[0], s.b * s.u * s.delta * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 5.0)))]
    }),
    ("B̄ = Δ(φ₁ + φ₂)", |own, s| {
        let [_, p1, p2, _] = phi(s.z());
        [own(s)[0], s.b * s.u * s.delta * (p1 + p2)]
    }),
    ("B̄ = Δ(φ₁ − zφ₂/2)", |own, s| {
        let [_, p1, p2, _] = phi(s.z());
        [own(s)[0], s.b * s.u * s.delta * (p1 - s.z() * p2 / 2.0)]
    }),
    ("B̄ = Δ·(exp(z) − 1)/(z + 0.01)", |own, s| {
        [own(s)[0], s.b * s.u * s.delta * (s.z().exp() - 1.0) / (s.z() + 0.01)]
    }),
    ("B̄ = Δ·(exp(z) − 0.999)/z", |own, s| {
        [own(s)[0], s.b * s.u * s.delta * (s.z().exp() - 0.999) / s.z()]
    }),
    ("B̄ = ½Δ(1 + exp(z))", |own, s| [own(s)[0], s.b * s.u * s.delta * (1.0 + s.z().exp()) / 2.0]),
    ("B̄ = Δ exp(z/2)", |own, s| [own(s)[0], s.b * s.u * s.delta * (s.z() / 2.0).exp()]),
    ("B̄ = Δ/(1 − z)", |own, s| [own(s)[0], s.b * s.u * s.delta / (1.0 - s.z())]),
    ("B̄ = Δ/(1 − conj(z)/2)", |own, s| [own(s)[0], s.b * s.u * s.delta / (1.0 - s.z().conj() / 2.0)]),
    ("B̄ = Δ/(1 + z²/12)", |own, s| [own(s)[0], s.b * s.u * s.delta / (1.0 + s.z() * s.z() / 12.0)]),
    ("B̄ = Δ + Δ²", |own, s| [own(s)[0], s.b * s.u * (s.delta + s.delta * s.delta)]),
    ("B̄ = √Δ", |own, s| [own(s)[0], s.b * s.u * s.delta.sqrt()]),
    ("B̄ = tanh(Δ)", |own, s| [own(s)[0], s.b * s.u * s.delta.tanh()]),
];

/// Every third change in a method, so that each is tried in two, with real weights in one and complex ones in the other.
pub fn lists() -> Vec<List> {
    [0, 1, 2, 3, 4, 5]
        .into_iter()
        .map(|at: usize| {
            let some = WRONG.iter().enumerate().filter(|(i, _)| i % 3 == at % 3);
            let some: Vec<Wrong> = some.map(|(_, (what, step))| Wrong::new(*what, *step)).collect();
            list("single", (Method::ALL[at], Weights::ALL[at / 3]), some)
        })
        .collect()
}

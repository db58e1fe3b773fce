//! Steps of which an argument is another one, and results that stand elsewhere.

use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;

use super::{Function, In, OF_A, beside_drive, with_z};
use crate::reconstructed::{List, Step, Wrong, list};

/// A step in the place of the one that is asked about.
type Moved = (&'static str, fn(Step) -> Step);

fn moved(of: In, (text, other): Moved) -> Wrong {
    Wrong::new(format!("{text} in {}", of.name()), move |own, s| of.of(own(other(s)), own(s)))
}

/// Something else in the place of A everywhere.
fn another_a() -> Vec<List> {
    let cases: [(Method, Weights, &[(&'static str, Function)]); 2] =
        [(Method::Foh, Weights::Real, &OF_A[..6]), (Method::HighOrder, Weights::Complex, OF_A)];
    cases
        .into_iter()
        .map(|(method, weights, of_a)| {
            let all = of_a.iter().enumerate().map(|(i, &(name, other))| {
                let of = In::turn(i);
                let what = format!("{name} in {}", of.name());
                Wrong::new(what, move |own, s| of.of(own(Step { a: other(s.a), ..s }), own(s)))
            });
            list("another-a", (method, weights), all)
        })
        .collect()
}

/// A function of Δ.
type OfDelta = fn(f64) -> f64;

/// What may stand in the place of Δ; the last ones are not known.
const OF_DELTA: &[(&str, OfDelta)] = &[
    ("softplus(Δ)", |x| x.exp().ln_1p()),
    ("exp(Δ)", |x| x.exp()),
    ("log(1 + Δ)", |x| x.ln_1p()),
    ("1", |_| 1.0),
    ("Δ²", |x| x * x),
    ("√Δ", |x| x.sqrt()),
    ("tanh(Δ)", |x| x.tanh()),
    ("1/Δ", |x| 1.0 / x),
    ("Δ³", |x| x.powi(3)),
    ("sin(Δ)", |x| x.sin()),
];

/// Something else in the place of Δ everywhere.
fn another_delta() -> Vec<List> {
    let all = OF_DELTA.iter().enumerate().map(|(i, &(name, other))| {
        let of = In::turn(i);
        let what = format!("{name} for Δ in {}", of.name());
        Wrong::new(what, move |own, s| of.of(own(Step { delta: other(s.delta), ..s }), own(s)))
    });
    vec![list("another-delta", (Method::Poly, Weights::Real), all)]
}

/// The same in B̄, in which Δu keeps its Δ.
fn another_delta_but_in_the_drive() -> Vec<List> {
    let all = OF_DELTA[..5].iter().map(|&(name, other)| {
        Wrong::new(format!("{name} for Δ in B̄, not in Δu"), move |own, s| {
            [own(s)[0], own(beside_drive(s, other(s.delta)))[1]]
        })
    });
    vec![list("another-delta", (Method::Bilinear, Weights::Complex), all)]
}

/// Something else for both Δ and A.
fn another_delta_and_another_a() -> Vec<List> {
    let pairs = [(0, 1), (5, 4), (3, 3), (4, 5), (1, 2), (2, 1)];
    let all = pairs.into_iter().enumerate().map(|(i, (of_delta, of_a))| {
        let ((delta, of_delta), (a, of_a)) = (OF_DELTA[of_delta], OF_A[of_a]);
        let of = In::turn(i);
        let what = format!("{delta} for Δ and {a} for A in {}", of.name());
        Wrong::new(what, move |own, s| {
            of.of(own(Step { delta: of_delta(s.delta), a: of_a(s.a), ..s }), own(s))
        })
    });
    vec![list("another-delta-and-a", (Method::Rk4, Weights::Real), all)]
}

/// Other powers of Δ in z, for each part of A its own with complex weights, beside Δ as it is.
fn another_power_of_delta_in_z() -> Vec<List> {
    let cases: [(Method, Weights); 2] = [(Method::Foh, Weights::Real), (Method::Bilinear, Weights::Complex)];
    cases
        .into_iter()
        .map(|(method, weights)| {
            let pairs = (0..4).flat_map(|re| (0..4).map(move |im| (re, im)));
            let pairs =
                pairs.filter(|(re, im)| (*re, *im) != (1, 1) && (weights == Weights::Complex || re == im));
            let mut all: Vec<Wrong> = pairs
                .enumerate()
                .map(|(i, (re, im))| {
                    // Where both powers are one, Ā is that of another Δ.
                    let of = if re == im { In::BBar } else { In::turn(i) };
                    let what = format!("z = Δ^{re} Re A + i Δ^{im} Im A in {}", of.name());
                    Wrong::new(what, move |own, s| {
                        let z = C::new(s.delta.powi(re) * s.a.re, s.delta.powi(im) * s.a.im);
                        of.of(own(with_z(s, z)), own(s))
                    })
                })
                .collect();
            all.push(moved(In::BBar, ("z = Δ + A", |s| with_z(s, s.a + s.delta))));
            list("powers-in-z", (method, weights), all)
        })
        .collect()
}

/// One operand in the place of another, and B and u changed.
const EXCHANGED: &[Moved] = &[
    ("A for B", |s| Step { b: s.a, ..s }),
    ("Δ for B", |s| Step { b: s.delta.into(), ..s }),
    ("0 for B", |s| Step { b: C::ZERO, ..s }),
    ("|B| for B", |s| Step { b: s.b.norm().into(), ..s }),
    ("B + 0.1 for B", |s| Step { b: s.b + 0.1, ..s }),
    ("0 for u", |s| Step { u: 0.0, ..s }),
    ("|u| for u", |s| Step { u: s.u.abs(), ..s }),
    ("u + 0.1 for u", |s| Step { u: s.u + 0.1, ..s }),
    ("Δ for u", |s| Step { u: s.delta, ..s }),
    ("B for A", |s| Step { a: s.b, ..s }),
    ("Δ for A", |s| Step { a: s.delta.into(), ..s }),
    ("u for Δ", |s| Step { delta: s.u, ..s }),
];

fn one_operand_for_another() -> Vec<List> {
    let all: Vec<Wrong> = EXCHANGED.iter().map(|&one| moved(In::Both, one)).collect();
    vec![list("operands", (Method::Rk4, Weights::Complex), all)]
}

/// z, Δ or A off by a number; the last two are of the imaginary part, and those before them of what is not found.
const NUMBERED: &[Moved] = &[
    ("z + 0.01", |s| with_z(s, s.z() + 0.01)),
    ("z − 0.3", |s| with_z(s, s.z() - 0.3)),
    ("Δ + 0.05", |s| Step { delta: s.delta + 0.05, ..s }),
    ("Δ − 0.01", |s| Step { delta: s.delta - 0.01, ..s }),
    ("A + 0.25", |s| Step { a: s.a + 0.25, ..s }),
    ("1.3z", |s| with_z(s, 1.3 * s.z())),
    ("−0.7z", |s| with_z(s, -0.7 * s.z())),
    ("1.3Δ", |s| Step { delta: 1.3 * s.delta, ..s }),
    ("Δ + 0.05, not in Δu", |s| beside_drive(s, s.delta + 0.05)),
    ("0.3Δ, not in Δu", |s| beside_drive(s, 0.3 * s.delta)),
    ("1.3 Re A", |s| Step { a: C::new(1.3 * s.a.re, s.a.im), ..s }),
    ("z + 0.012345", |s| with_z(s, s.z() + 0.012345)),
    ("1.0000001Δ", |s| Step { delta: 1.0000001 * s.delta, ..s }),
    ("0.4 Im A", |s| Step { a: C::new(s.a.re, 0.4 * s.a.im), ..s }),
    ("−2.5 Im A", |s| Step { a: C::new(s.a.re, -2.5 * s.a.im), ..s }),
];

fn off_by_a_number() -> Vec<List> {
    let cases: [(Method, Weights, &[Moved], [In; 3]); 2] = [
        (Method::Foh, Weights::Real, &NUMBERED[..10], [In::BBar; 3]),
        (Method::Bilinear, Weights::Complex, &NUMBERED[6..], [0, 1, 2].map(In::turn)),
    ];
    cases
        .into_iter()
        .map(|(method, weights, numbered, of)| {
            let all: Vec<Wrong> =
                numbered.iter().enumerate().map(|(i, &one)| moved(of[i % 3], one)).collect();
            list("off-by-numbers", (method, weights), all)
        })
        .collect()
}

/// What is made of Ā and B̄u.
type OfBoth = fn([C; 2]) -> [C; 2];

/// What is returned in other places; the first ones are of real numbers, too.
const RETURNED: &[(&str, OfBoth)] = &[
    ("exchanged", |[a, b]| [b, a]),
    ("exchanged, −B̄u", |[a, b]| [-b, a]),
    ("Ā twice", |[a, _]| [a, a]),
    ("B̄u twice", |[_, b]| [b, b]),
    ("−Ā for B̄u", |[a, _]| [a, -a]),
    ("−Ā, −B̄u", |[a, b]| [-a, -b]),
    ("parts of Ā exchanged", |[a, b]| [C::new(a.im, a.re), b]),
    ("parts of B̄u exchanged", |[a, b]| [a, C::new(b.im, b.re)]),
    ("Re Ā and Re B̄u exchanged", |[a, b]| [C::new(b.re, a.im), C::new(a.re, b.im)]),
    ("i B̄u for Ā", |[_, b]| [C::I * b, b]),
    ("−Re Ā", |[a, b]| [C::new(-a.re, a.im), b]),
    ("−Im B̄u for Im Ā", |[a, b]| [C::new(a.re, -b.im), b]),
    ("Re Ā twice", |[a, b]| [C::new(a.re, a.re), b]),
    ("−Re B̄u, −Im Ā", |[a, b]| [a.conj(), -b.conj()]),
];

fn results_in_other_places() -> Vec<List> {
    let cases: [(Method, Weights, &[(&'static str, OfBoth)]); 2] = [
        (Method::Bilinear, Weights::Real, &RETURNED[..6]),
        (Method::Bilinear, Weights::Complex, &RETURNED[5..]),
    ];
    cases
        .into_iter()
        .map(|(method, weights, returned)| {
            let all: Vec<Wrong> = returned
                .iter()
                .map(|&(what, change)| Wrong::new(what, move |own, s| change(own(s))))
                .collect();
            list("returned", (method, weights), all)
        })
        .collect()
}

pub fn lists() -> Vec<List> {
    let all: [fn() -> Vec<List>; 8] = [
        another_a,
        another_delta,
        another_delta_but_in_the_drive,
        another_delta_and_another_a,
        another_power_of_delta_in_z,
        one_operand_for_another,
        off_by_a_number,
        results_in_other_places,
    ];
    all.into_iter().flat_map(|of| of()).collect()
}

//! Sums of functions and powers, quotients and series that are cut.

use std::f64::consts::{LN_2, LOG2_E, PI};

use holdfast::judge::model::phi;
use holdfast::method::Method;
use holdfast::problem::Weights;
use num_complex::Complex64 as C;

use super::{OfZ, a_bar, b_bar, cut, method_of, polynomial, term, usual, with_phi};
use crate::reconstructed::{List, Wrong, list};

/// (P/Q)ᵐ of z/m
fn raised(above: &[f64], below: &[f64], m: i32, z: C) -> C {
    let x = z / f64::from(m);
    (polynomial(above, x) / polynomial(below, x)).powi(m)
}

/// Exponentials by squarings, and by other powers: of what is small enough, of what is taken for a polynomial, of no power
/// that is looked for.
fn of_squarings() -> Vec<List> {
    [Weights::Real, Weights::Complex]
        .into_iter()
        .map(|weights: Weights| {
            type Root = (&'static str, &'static [f64], &'static [f64], &'static [i32]);
            const REAL: &[Root] = &[
                ("1 + x", &[1.0, 1.0], &[1.0], &[5, 7, 1000, 16, 1 << 20]),
                ("1/(1 − x)", &[1.0], &[1.0, -1.0], &[4, 10]),
                ("1 + x + x²/2", &[1.0, 1.0, 0.5], &[1.0], &[4]),
                ("(1 + x/2)/(1 − x/2)", &[1.0, 0.5], &[1.0, -0.5], &[10]),
                ("1 + x + x²/2 + x³/6", &[1.0, 1.0, 0.5, 1.0 / 6.0], &[1.0], &[3, 8]),
                ("1 + x + x²/3", &[1.0, 1.0, 1.0 / 3.0], &[1.0], &[16]),
            ];
            const COMPLEX: &[Root] = &[
                ("1 + x", &[1.0, 1.0], &[1.0], &[1024]),
                ("(1 + x/2)/(1 − x/2)", &[1.0, 0.5], &[1.0, -0.5], &[5]),
            ];
            let roots = if weights == Weights::Real { REAL } else { COMPLEX };
            let all = roots.iter().flat_map(|&(text, above, below, powers)| {
                powers.iter().map(move |&m| {
                    let what = format!("Ā = ({text}) to the power of {m}, x = z/{m}");
                    a_bar(what, move |z| raised(above, below, m, z))
                })
            });
            let in_b = term("B̄ = Δ(1 + z/256)²⁵⁶", 1, |z| raised(&[1.0, 1.0], &[1.0], 256, z));
            list("squarings", (Method::Zoh, weights), all.chain([in_b]))
        })
        .collect()
}

/// Quotients of polynomials: those nearest to exp(z) of all degrees, with one factor that is no fraction, with two.
fn of_quotients() -> Vec<List> {
    [Weights::Real, Weights::Complex]
        .into_iter()
        .map(|weights: Weights| {
            type Quotient = (&'static str, &'static [f64], &'static [f64]);
            const ALL: &[Quotient] = &[
                ("1/(1 − z)", &[1.0], &[1.0, -1.0]),
                ("1/(1 − z + z²/2)", &[1.0], &[1.0, -1.0, 0.5]),
                ("[1/2]", &[1.0, 1.0 / 3.0], &[1.0, -2.0 / 3.0, 1.0 / 6.0]),
                ("[2/1]", &[1.0, 2.0 / 3.0, 1.0 / 6.0], &[1.0, -1.0 / 3.0]),
                ("[2/2]", &[1.0, 0.5, 1.0 / 12.0], &[1.0, -0.5, 1.0 / 12.0]),
                ("[1/3]", &[1.0, 0.25], &[1.0, -0.75, 0.25, -1.0 / 24.0]),
                ("[3/1]", &[1.0, 0.75, 0.25, 1.0 / 24.0], &[1.0, -0.25]),
                ("[3/2]", &[1.0, 0.6, 0.15, 1.0 / 60.0], &[1.0, -0.4, 0.05]),
                ("[3/3]", &[1.0, 0.5, 0.1, 1.0 / 120.0], &[1.0, -0.5, 0.1, -1.0 / 120.0]),
                ("[1/4]", &[1.0, 0.2], &[1.0, -0.8, 0.3, -1.0 / 15.0, 1.0 / 120.0]),
                ("0.1234567/(1 − z/3)", &[0.1234567], &[1.0, -1.0 / 3.0]),
                ("(1 + 0.1234567z)/(1 − z/3)", &[1.0, 0.1234567], &[1.0, -1.0 / 3.0]),
                ("(1 + 0.1234567z)/(1 − 0.7654321z)", &[1.0, 0.1234567], &[1.0, -0.7654321]),
                ("1 + z/5 as a single one, 0 at −5", &[1.0, 0.2f32 as f64], &[1.0]),
            ];
            // Fewer of complex numbers.
            let step = if weights == Weights::Real { 1 } else { 7 };
            let wrong = ALL.iter().step_by(step).map(|&(text, above, below)| {
                a_bar(format!("Ā = {text}"), move |z| polynomial(above, z) / polynomial(below, z))
            });
            list("quotients", (Method::Zoh, weights), wrong)
        })
        .collect()
}

/// Polynomials up to the highest degree and one beyond, and what differs from one that is specified: terms that are wrong,
/// missing, too many.
fn of_polynomials() -> Vec<List> {
    const ALL: &[(&str, &[f64])] = &[
        ("1 + z/2 + z²/6 + z³/24 + z⁴/120", &[1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0]),
        ("1 + z/3 + z²/6 + z³/24", &[1.0, 1.0 / 3.0, 1.0 / 6.0, 1.0 / 24.0]),
        ("1 + z/3 + z²/5 + z³/24", &[1.0, 1.0 / 3.0, 0.2, 1.0 / 24.0]),
        ("1 + z²/6 + z³/24", &[1.0, 0.0, 1.0 / 6.0, 1.0 / 24.0]),
        ("1 + z/2 + z²/3", &[1.0, 0.5, 1.0 / 3.0]),
        ("2 + z + z²/3 + z³/12", &[2.0, 1.0, 1.0 / 3.0, 1.0 / 12.0]),
        ("1 + z/2 + 0.1654321z² + 0.0412345z³", &[1.0, 0.5, 0.1654321, 0.0412345]),
        ("1 + z/2 + z²/6.00002 + z³/24", &[1.0, 0.5, 1.0 / 6.00002, 1.0 / 24.0]),
    ];
    let mut wrong: Vec<Wrong> = [5, 8, 9]
        .into_iter()
        .map(|degree| {
            let coefficients: Vec<f64> = (0..=degree).map(|j| 1.0 / (f64::from(j) + 2.0)).collect();
            term(format!("B̄ = Δ Σ zʲ/(j + 2) up to z{degree}"), 1, move |z| polynomial(&coefficients, z))
        })
        .collect();
    let listed = ALL.iter().map(|&(text, coefficients)| {
        term(format!("B̄ = Δ({text})"), 1, move |z| polynomial(coefficients, z))
    });
    wrong.extend(listed);
    vec![list("polynomials", (Method::Rk4, Weights::Real), wrong)]
}

/// What is specified is no polynomial: its series cut, and wrong in a term or two.
fn of_series_of_quotients() -> Vec<List> {
    let series = [1.0, 1.0, 0.5, 0.25];
    let mut wrong: Vec<Wrong> = (1..4)
        .map(|last| {
            let what = format!("Ā up to z{last}");
            a_bar(what, move |z| polynomial(&series[..=last], z))
        })
        .collect();
    wrong.extend([0, 2].map(|last| {
        let what = format!("B̄ up to z{last}");
        term(what, 1, move |z| (0..=last).map(|j| z.powi(j) * 0.5f64.powi(j)).sum())
    }));
    wrong.extend([
        a_bar("Ā = 1 + z + z²/3", |z| 1.0 + z + z * z / 3.0),
        a_bar("Ā = −(1 + z/2)/(1 − z/2)", |z| -(1.0 + z / 2.0) / (1.0 - z / 2.0)),
        term("B̄ = Δ/(1 + z/2)", 1, |z| 1.0 / (1.0 + z / 2.0)),
        term("B̄ = Δ²/(1 − z/2)", 2, |z| 1.0 / (1.0 - z / 2.0)),
        term("B̄ = Δ/(1 − z/2)²", 1, |z| (1.0 - z / 2.0).powi(-2)),
        term("B̄ = Δ/((1 − z)(1 + z))", 1, |z| 1.0 / ((1.0 - z) * (1.0 + z))),
        term("B̄ = Δ/((1 − z)(1 + z)(1 − z/5))", 1, |z| {
            1.0 / ((1.0 - z) * (1.0 + z) * (1.0 - z / 5.0))
        }),
    ]);
    vec![list("series", (Method::Bilinear, Weights::Real), wrong)]
}

/// φ₄, by its series or of φ₃.
fn phi4(z: C) -> C {
    match z.norm() < 2.0 {
        true => (5..40).rev().fold(C::ONE, |sum, j| 1.0 + z * sum / f64::from(j)) / 24.0,
        false => (phi(z)[3] - 1.0 / 6.0) / z,
    }
}

/// What sums are made of.
const FUNCTIONS: [(&str, OfZ); 11] = [
    ("1", |_| C::ONE),
    ("φ₁", |z| phi(z)[1]),
    ("φ₂", |z| phi(z)[2]),
    ("φ₃", |z| phi(z)[3]),
    ("exp(z)", |z| z.exp()),
    ("z", |z| z),
    ("1/(1 − z/2)", |z| 1.0 / (1.0 - z / 2.0)),
    ("1/(1 + z/2)", |z| 1.0 / (1.0 + z / 2.0)),
    ("1/(1 − z)", |z| 1.0 / (1.0 - z)),
    ("z²", |z| z * z),
    ("φ₄", phi4),
];

/// Each function beside another one, alone, and with factors that are no fractions.
fn of_one_function_or_two() -> Vec<List> {
    let count = FUNCTIONS.len();
    let pairs = (0..count).step_by(2).map(|i| {
        let ((f, of), (g, other)) = (FUNCTIONS[i], FUNCTIONS[(i + 3) % count]);
        term(format!("B̄ = Δ({f} − {g}/2)"), 1, move |z| of(z) - other(z) / 2.0)
    });
    let [_, one, two, three, exponential, ..] = FUNCTIONS.map(|(_, f)| f);
    let odd = [
        term("B̄ = 0.1234567Δφ₄", 1, |z| 0.1234567 * phi4(z)),
        term("B̄ = Δ(φ₁ + 0.1234567φ₂)", 1, move |z| one(z) + 0.1234567 * two(z)),
        term("B̄ = Δ(0.1234567φ₁ + 0.7654321φ₂)", 1, move |z| {
            0.1234567 * one(z) + 0.7654321 * two(z)
        }),
        term("B̄ = Δ(exp(z) + φ₃/2 + 0.1234567z)", 1, move |z| {
            exponential(z) + three(z) / 2.0 + 0.1234567 * z
        }),
    ];
    vec![list("sums", (Method::Zoh, Weights::Real), pairs.chain(odd))]
}

/// Three functions, in both coefficients by turns.
fn of_three_functions() -> Vec<List> {
    let count = FUNCTIONS.len();
    let wrong = (0..count).step_by(3).map(|i| {
        let [(f, first), (g, second), (h, third)] = [i, i + 1, i + 4].map(|i| FUNCTIONS[i % count]);
        let sum = move |z: C| first(z) + 2.0 * second(z) - third(z) / 3.0;
        match i % 2 {
            0 => term(format!("B̄ = Δ²({f} + 2·{g} − {h}/3)"), 2, sum),
            _ => a_bar(format!("Ā = {f} + 2·{g} − {h}/3"), sum),
        }
    });
    vec![list("sums", (Method::Foh, Weights::Complex), wrong)]
}

/// The beginnings of series that are too long for a polynomial, up to one that is longer than any that is looked for.
fn of_long_series() -> Vec<List> {
    [1, 2, 3]
        .into_iter()
        .map(|k: usize| {
            let in_b = [8, 24, 25].into_iter().map(|last| {
                with_phi(format!("φ{k} up to z{last}"), (k, usual(k)), move |z| cut(k, last, z))
            });
            // One of the exponential, and one with a factor that is no fraction.
            let more = match k {
                1 => a_bar("Ā = exp(z) up to z9", |z| cut(0, 9, z)),
                _ => with_phi(format!("0.1234567φ{k} up to z12"), (k, 0.1234567), move |z| cut(k, 12, z)),
            };
            list("long-series", (method_of(k), Weights::Real), in_b.chain([more]))
        })
        .collect()
}

/// Several φ-functions that are cut: all at one order in Δ, or each at its own.
fn of_several_series() -> Vec<List> {
    let cases: [(Method, Weights); 2] =
        [(Method::Poly, Weights::Complex), (Method::HighOrder, Weights::Real)];
    cases
        .into_iter()
        .map(|(method, weights)| {
            let factors = if method == Method::Poly { [1.0, 0.5, 0.0] } else { [1.0, 1.0, 0.5] };
            let orders = [[13, 13, 13], [4, 5, 6], [0, 12, 12]];
            let wrong = orders.map(|orders| {
                let what = format!("cut at orders {orders:?}; 0 is whole");
                b_bar(what, move |delta, z| {
                    let of_phi = |k: usize| match orders[k - 1] {
                        0 => phi(z)[k],
                        order => cut(k, order - k, z),
                    };
                    (1..=3).map(|k| of_phi(k) * (factors[k - 1] * delta.powi(k as i32))).sum()
                })
            });
            list("several-series", (method, weights), wrong)
        })
        .collect()
}

/// One coefficient of a series is wrong: beside a φ-function stands a power of z.
fn of_a_wrong_coefficient_of_a_series() -> Vec<List> {
    [Weights::Real, Weights::Complex]
        .into_iter()
        .map(|weights: Weights| {
            let powers: &[i32] = if weights == Weights::Real { &[3, 4, 10, 11] } else { &[6] };
            let at = |power: i32| {
                let k = (power % 4) as usize;
                // As large as the function at some arguments.
                let factor = 0.02 / (1..=power).map(f64::from).product::<f64>();
                (k, move |z: C| phi(z)[k] + z.powi(power) * factor)
            };
            let all = powers.iter().map(|&power| {
                let (k, f) = at(power);
                match k {
                    0 => a_bar(format!("Ā = exp(z) + c z{power}"), f),
                    _ => term(format!("B̄ = Δ(φ{k} + c z{power})"), 1, f),
                }
            });
            let odd =
                term("B̄ = Δ(0.1234567φ₂ + z³/100)", 1, |z| 0.1234567 * phi(z)[2] + z * z * z / 100.0);
            list("beside-a-power", (Method::Zoh, weights), all.chain([odd]))
        })
        .collect()
}

/// Divided by z once more than should be, twice, three times; and closed forms with wrong numbers.
fn over_powers_of_z() -> Vec<List> {
    const ALL: &[(&str, OfZ)] = &[
        ("φ₁/z", |z| phi(z)[1] / z),
        ("φ₂/(2z²)", |z| phi(z)[2] / (2.0 * z * z)),
        ("1/z³", |z| 1.0 / (z * z * z)),
        ("1/z⁴", |z| 1.0 / (z * z * z * z)),
        ("(exp(z) − 2)/z", |z| (z.exp() - 2.0) / z),
        ("(exp(z) − 1 − 2z)/z²", |z| (z.exp() - 1.0 - 2.0 * z) / (z * z)),
        ("(exp(z) − 1 − z/2)/z³", |z| (z.exp() - 1.0 - z / 2.0) / (z * z * z)),
        ("(φ₁ + φ₂)/z", |z| (phi(z)[1] + phi(z)[2]) / z),
        ("(exp(z) − 1.2345678)/z", |z| (z.exp() - 1.2345678) / z),
        ("(exp(z) − 2 − 3z + φ₁)/z²", |z| (z.exp() - 2.0 - 3.0 * z + phi(z)[1]) / (z * z)),
    ];
    let wrong = ALL.iter().map(|&(text, f)| term(format!("B̄ = Δ·{text}"), 1, f));
    vec![list("over-powers", (Method::Zoh, Weights::Real), wrong)]
}

/// The same with exponentials of one part of z alone, or of conj(z).
fn over_powers_of_z_with_parts_of_an_exponential() -> Vec<List> {
    const ALL: &[(&str, OfZ)] = &[
        ("cos(Im z)", |z| z.im.cos().into()),
        ("exp(i Im z)/z²", |z| C::new(0.0, z.im).exp() / (z * z)),
        ("(exp(Re z) − 1)/z", |z| (z.re.exp() - 1.0) / z),
        ("(exp(i Im z) − 1)/z", |z| (C::new(0.0, z.im).exp() - 1.0) / z),
        ("(exp(conj(z)) − 1)/z", |z| (z.conj().exp() - 1.0) / z),
        ("(exp(z) − cos(Im z))/z", |z| (z.exp() - z.im.cos()) / z),
        ("(exp(z) − exp(Re z))/z", |z| (z.exp() - z.re.exp()) / z),
        ("(exp(Re z) − 1 − z)/z²", |z| (z.re.exp() - 1.0 - z) / (z * z)),
        ("exp(Re z) + exp(i Im z)", |z| z.re.exp() + C::new(0.0, z.im).exp()),
    ];
    let wrong = ALL.iter().map(|&(text, f)| term(format!("B̄ = Δ·{text}"), 1, f));
    vec![list("over-powers", (Method::Zoh, Weights::Complex), wrong)]
}

/// What B̄u and Ā have of u and B: all monomials that are looked for, fewer of real numbers, sums of several, and some that
/// are not.
fn of_other_monomials() -> Vec<List> {
    [Weights::Real, Weights::Complex]
        .into_iter()
        .map(|weights: Weights| {
            let of_b: [(&str, OfZ); 5] = [
                ("", |_| C::ONE),
                ("B", |b| b),
                ("B²", |b| b * b),
                ("conj(B)", |b| b.conj()),
                ("|B|²", |b| b.norm_sqr().into()),
            ];
            let (count, step) = if weights == Weights::Real { (3, 2) } else { (5, 1) };
            let all =
                (0..3_usize).flat_map(|power| (0..count).map(move |i| (power, i))).filter(|&at| at != (1, 1));
            let mut wrong: Vec<Wrong> = all
                .step_by(step)
                .map(|(power, i)| {
                    let (text, of) = of_b[i];
                    let what = format!("B̄u of {}{text}", ["1·", "u", "u²"][power]);
                    Wrong::new(what, move |_, s| {
                        let [p0, p1, p2, _] = phi(s.z());
                        let h = p1 * s.delta + p2 * (0.5 * s.delta * s.delta);
                        [p0, h * of(s.b) * s.u.powi(power as i32)]
                    })
                })
                .collect();
            wrong.extend([
                Wrong::new("Ā times B", |own, s| [own(s)[0] * s.b, own(s)[1]]),
                Wrong::new("B̄u + 0.001Δu²", |own, s| {
                    [own(s)[0], own(s)[1] + 0.001 * s.delta * s.u * s.u]
                }),
                Wrong::new("B̄u + ΔzB² + u", |own, s| {
                    [own(s)[0], own(s)[1] + s.z() * s.delta * s.b * s.b + s.u]
                }),
                Wrong::new("Δφ₁uB + ½Δ²φ₂u²", |_, s| {
                    let [p0, p1, p2, _] = phi(s.z());
                    let (first, second) = (p1 * s.delta, p2 * (0.5 * s.delta * s.delta));
                    [p0, first * s.b * s.u + second * s.u * s.u]
                }),
                Wrong::new("B̄u³", |own, s| [own(s)[0], own(s)[1] * s.u * s.u]),
                Wrong::new("both are 0", |_, _| [C::ZERO; 2]),
            ]);
            list("monomials", (Method::Poly, weights), wrong)
        })
        .collect()
}

/// Powers of Δ, alone and in sums, and powers of A that they come with.
fn of_powers_of_the_step() -> Vec<List> {
    const SUMS: [&[i32]; 4] = [&[-1, 3], &[-2, 0, 2, 4], &[0, 1, 2, 3, 4], &[1, 6]];
    let f = |z: C| phi(z)[2];
    let alone = [-3, -2, 0, 1, 5, 6].map(|power| term(format!("B̄ = Δ^{power} φ₂"), power, f));
    let sums = SUMS.map(|powers| {
        let what = format!("B̄ = Σ Δ^p φ₂, p in {powers:?}");
        b_bar(what, move |delta, z| f(z) * powers.iter().map(|&p| delta.powi(p)).sum::<f64>())
    });
    let mixed = [
        b_bar("B̄ = Aφ₂", move |delta, z| f(z) * z / delta),
        b_bar("B̄ = A²/3", |delta, z| z * z / (3.0 * delta * delta)),
        b_bar("B̄ = Δ − Δ³A²/7 + Δ²", |delta, z| (1.0 - z * z / 7.0) * delta + delta * delta),
        b_bar("B̄ = Δφ₂ + Δ³φ₁ + A/5", move |delta, z| {
            f(z) * delta + phi(z)[1] * delta.powi(3) + z / delta / 5.0
        }),
    ];
    let wrong: Vec<Wrong> = alone.into_iter().chain(sums).chain(mixed).collect();
    vec![list("powers-of-the-step", (Method::Foh, Weights::Real), wrong)]
}

/// Factors beside the borders of what is taken for a fraction, a constant, a single number or nothing at all.
fn of_factors() -> Vec<List> {
    let all = [
        ("1 + 0.9·2⁻²⁰", 1.0 + 0.9 / (1 << 20) as f64),
        ("1 + 3.6·2⁻²⁰", 1.0 + 3.6 / (1 << 20) as f64),
        ("1 + 4.4·2⁻²⁰", 1.0 + 4.4 / (1 << 20) as f64),
        ("1/65", 1.0 / 65.0),
        ("1/40320", 1.0 / 40320.0),
        ("1/40321", 1.0 / 40321.0),
        ("1001", 1001.0),
        ("0.166667", 0.166667),
        ("π", PI),
        ("−log₂e", -LOG2_E),
        ("3.9·log₂e", 3.9 * LOG2_E),
        ("4.1·ln 2", 4.1 * LN_2),
        ("1.23456·10⁻⁷", 1.23456e-7),
    ];
    let wrong = all.map(|(text, factor)| {
        Wrong::new(format!("B̄ × {text}"), move |own, s| [own(s)[0], own(s)[1] * factor])
    });
    vec![list("factors", (Method::Zoh, Weights::Real), wrong)]
}

/// Terms of a sum that are missing, too many, in each other's places or at another power of Δ, or have a wrong factor.
fn of_wrong_terms() -> Vec<List> {
    type OfStep = fn(f64, [C; 4]) -> C;
    const ALL: &[(&str, OfStep)] = &[
        ("Δφ₁ + Δ²φ₂", |d, [_, p1, p2, _]| p1 * d + p2 * d * d),
        ("Δ²φ₂ + ½Δ³φ₃", |d, [_, _, p2, p3]| p2 * d * d + p3 * 0.5 * d.powi(3)),
        ("Δφ₁ − Δ²φ₂ + ½Δ³φ₃", |d, [_, p1, p2, p3]| {
            p1 * d - p2 * d * d + p3 * 0.5 * d.powi(3)
        }),
        ("Δφ₁ + πΔ²φ₂ + ½Δ³φ₃", |d, [_, p1, p2, p3]| {
            p1 * d + p2 * PI * d * d + p3 * 0.5 * d.powi(3)
        }),
        ("Δφ₁ + Δ²φ₂ + 0.1234567Δ³φ₃", |d, [_, p1, p2, p3]| {
            p1 * d + p2 * d * d + p3 * 0.1234567 * d.powi(3)
        }),
        ("Δφ₁ + Δ⁴φ₂ + ½Δ³φ₃", |d, [_, p1, p2, p3]| {
            p1 * d + p2 * d.powi(4) + p3 * 0.5 * d.powi(3)
        }),
        ("Δφ₁ + Δ²φ₃ + ½Δ³φ₂", |d, [_, p1, p2, p3]| {
            p1 * d + p3 * d * d + p2 * 0.5 * d.powi(3)
        }),
        ("Δφ₂ + Δ²φ₂ + ½Δ³φ₃", |d, [_, _, p2, p3]| p2 * d + p2 * d * d + p3 * 0.5 * d.powi(3)),
        ("Δφ₁ + Δ²/2 + ½Δ³φ₃", |d, [_, p1, _, p3]| p1 * d + p3 * 0.5 * d.powi(3) + d * d / 2.0),
        ("Δφ₁ + Δ²φ₂ + ½Δ³φ₃ + Δ", |d, [_, p1, p2, p3]| {
            p1 * d + p2 * d * d + p3 * 0.5 * d.powi(3) + d
        }),
        ("Δφ₁ + Δφ₂ + Δ²φ₂ + ½Δ³φ₃", |d, [_, p1, p2, p3]| {
            p1 * d + p2 * d + p2 * d * d + p3 * 0.5 * d.powi(3)
        }),
        ("Δ²φ₁ + Δ³φ₂ + ½Δ⁴φ₃", |d, [_, p1, p2, p3]| {
            p1 * d * d + p2 * d.powi(3) + p3 * 0.5 * d.powi(4)
        }),
    ];
    let wrong = ALL.iter().map(|&(text, f)| b_bar(format!("B̄ = {text}"), move |delta, z| f(delta, phi(z))));
    vec![list("terms", (Method::HighOrder, Weights::Real), wrong)]
}

/// Series that are cut in a place, which is chosen by |z| or by something else: those of all φ-functions together, or of one
/// alone, or each after another order. 0 is whole.
fn of_series_in_a_place() -> Vec<List> {
    type Place = (&'static str, fn(f64, C) -> bool);
    let places: [(Place, [usize; 3]); 6] = [
        (("|z| < 2", |_, z| z.norm() < 2.0), [6, 6, 6]),
        (("|z| < 5", |_, z| z.norm() < 5.0), [12, 12, 12]),
        (("|Re z| + |Im z| < 3", |_, z| z.re.abs() + z.im.abs() < 3.0), [8, 0, 0]),
        (("Δ < 0.5", |delta, _| delta < 0.5), [0, 6, 0]),
        (("|A| < 2", |delta, z| z.norm() < 2.0 * delta), [0, 0, 7]),
        (("Re z > −3", |_, z| z.re > -3.0), [6, 7, 8]),
    ];
    let wrong = places.map(|((text, is_there), orders)| {
        b_bar(format!("cut at orders {orders:?} where {text}"), move |delta, z| {
            let of_phi = |k: usize| match orders[k - 1] {
                0 => phi(z)[k],
                _ if !is_there(delta, z) => phi(z)[k],
                order => cut(k, order - k, z),
            };
            of_phi(1) * delta + of_phi(2) * delta * delta + of_phi(3) * (0.5 * delta * delta * delta)
        })
    });
    vec![list("cut-in-a-place", (Method::HighOrder, Weights::Complex), wrong)]
}

/// The same where the function is wrong elsewhere, too.
fn of_series_in_a_place_beside_what_is_wrong() -> Vec<List> {
    let wrong = [
        term("B̄ = 3Δ²φ₂, cut after z⁴ where |z| < 2", 2, |z| {
            3.0 * if z.norm() < 2.0 { cut(2, 4, z) } else { phi(z)[2] }
        }),
        term("B̄ = Δ²φ₁, cut after z⁵ where |z| < 2", 2, |z| {
            if z.norm() < 2.0 { cut(1, 5, z) } else { phi(z)[1] }
        }),
        term("B̄ = Δ²φ₂, cut after z³³ where Re z < −12", 2, |z| {
            if z.re < -12.0 { cut(2, 33, z) } else { phi(z)[2] }
        }),
        term("B̄ = Δ²φ₂, cut after z³⁰ where Re z < −12", 2, |z| {
            if z.re < -12.0 { cut(2, 30, z) } else { phi(z)[2] }
        }),
    ];
    vec![list("cut-beside", (Method::Foh, Weights::Real), wrong)]
}

pub fn lists() -> Vec<List> {
    let all: [fn() -> Vec<List>; 17] = [
        of_squarings,
        of_quotients,
        of_polynomials,
        of_series_of_quotients,
        of_one_function_or_two,
        of_three_functions,
        of_long_series,
        of_several_series,
        of_a_wrong_coefficient_of_a_series,
        over_powers_of_z,
        over_powers_of_z_with_parts_of_an_exponential,
        of_other_monomials,
        of_powers_of_the_step,
        of_factors,
        of_wrong_terms,
        of_series_in_a_place,
        of_series_in_a_place_beside_what_is_wrong,
    ];
    all.into_iter().flat_map(|of| of()).collect()
}
